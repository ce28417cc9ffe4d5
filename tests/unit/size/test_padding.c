/*
 * test_padding.c: what is known of sections by their names, and bytes between symbols as the reference derives
 * them, rule by rule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size/size.h"
#include "support/test.h"

struct row {
    int64_t address, size;
    const char *name;
    unsigned segment, group;
};

/* Sizes and paddings of ROWS, as "size(padding)"; two segments, of SECTION and .rodata. */
static uint64_t assert_paddings(const char *section, const struct row *rows, size_t count, const char *expected)
{
    struct sxt_size_segment segments[2] = {{.section = {section, strlen(section)}}, {.section = {".rodata", 7}}};
    struct sxt_size_model_symbol *symbols = calloc(count, sizeof *symbols);
    struct sxt_size_group groups[2] = {{0, 2}, {2, 2}};
    assert_non_null(symbols);
    sxt_size_classify(&segments[0]);
    sxt_size_classify(&segments[1]);
    for (size_t i = 0; i < count; i++) {
        symbols[i] = (struct sxt_size_model_symbol){.address = rows[i].address, .size = rows[i].size};
        symbols[i].full_name = rows[i].name;
        symbols[i].full_name_size = (uint32_t)strlen(rows[i].name);
        symbols[i].segment = rows[i].segment;
        symbols[i].group = rows[i].group;
    }
    struct sxt_size_info size = {.segments = segments, .segment_count = 2, .symbols = symbols, .symbol_count = count};
    size.groups = groups;
    size.group_count = 2;
    uint64_t conflicts = 99;
    sxt_size_derive_padding(&size, &conflicts);
    char text[400] = "";
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld(%lld)", i > 0 ? " " : "",
                 (long long)symbols[i].size, (long long)symbols[i].padding);
    assert_string_equal(text, expected);
    free(symbols);
    return conflicts;
}

#define ASSERT_PADDINGS(section, rows, expected)                                                                       \
    assert_paddings(section, rows, sizeof(rows) / sizeof(rows)[0], expected)

TEST(gap_before_a_symbol)
{
    const struct row rows[] = {{100, 10, "a", 0, 0}, {112, 8, "b", 0, 0}, {120, 8, "c", 0, 0}, {126, 8, "d", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".text", rows, "10(0) 10(2) 8(0) 6(-2)"), 0);
    assert_int_equal(ASSERT_PADDINGS(".tbss", rows, "10(0) 10(2) 8(0) 6(-2)"), 0);
}

TEST(segments_begin_without)
{
    const struct row rows[] = {{100, 10, "a", 0, 0}, {200, 8, "b", 1, 0}, {210, 8, "c", 1, 0}};
    assert_int_equal(ASSERT_PADDINGS(".text", rows, "10(0) 8(0) 10(2)"), 0);
}

TEST(only_native_sections_have_it)
{
    const struct row rows[] = {{100, 10, "a", 0, 0}, {112, 8, "b", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".dex", rows, "10(0) 8(0)"), 0);
    assert_int_equal(ASSERT_PADDINGS(".strange", rows, "10(0) 8(0)"), 0);
}

TEST(symbols_without_address)
{
    const struct row rows[] = {{0, 10, "a", 0, 0}, {0, 8, "b", 0, 0}, {50, 8, "c", 0, 0}, {0, 8, "d", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".text", rows, "10(0) 8(0) 8(0) 8(0)"), 0);
}

TEST(aliases_share_it)
{
    const struct row rows[] = {{90, 5, "x", 0, 1}, {90, 5, "y", 0, 1}, {100, 8, "a", 0, 2}, {100, 8, "b", 0, 2}};
    assert_int_equal(ASSERT_PADDINGS(".text", rows, "5(0) 5(0) 13(5) 13(5)"), 0);
}

TEST(overhead_is_all_padding)
{
    const struct row rows[] = {{0, 7, "Overhead: first", 0, 0}, {0, 9, "Overhead: second", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".other", rows, "7(0) 9(9)"), 0);
    const struct row native[] = {{10, 7, "f", 0, 0}, {90, 9, "Overhead: x", 0, 0}, {100, 1, "g", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".text", native, "7(0) 9(9) 11(10)"), 0);
}

/* A symbol that is nothing but a gap may share its address with the one after it. */
TEST(symbol_gap)
{
    const struct row rows[] = {{90, 5, "f", 0, 0}, {100, 0, "** symbol gap 1", 0, 0}, {100, 8, "g", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".text", rows, "5(0) 5(5) 8(0)"), 0);
}

TEST(what_the_reference_aborts_on)
{
    const struct row same[] = {{90, 5, "f", 0, 0}, {90, 6, "g", 0, 0}, {100, 8, "h", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".text", same, "5(0) 6(0) 12(4)"), 1);
    const struct row covered[] = {{90, 50, "f", 0, 0}, {95, 6, "g", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".text", covered, "50(0) 6(0)"), 1);
    const struct row unequal[] = {{90, 5, "f", 0, 1}, {90, 6, "g", 0, 1}};
    assert_int_equal(ASSERT_PADDINGS(".text", unequal, "5(0) 6(0)"), 1);
    const struct row huge[] = {{INT64_MAX, INT64_MAX, "f", 0, 0}, {1, INT64_MIN, "g", 0, 0}, {2, 1, "h", 0, 0}};
    assert_int_equal(ASSERT_PADDINGS(".text", huge, "9223372036854775807(0) -9223372036854775808(0) 1(0)"), 2);
}

TEST(sections)
{
    static const struct {
        const char *name, *kind; /* letter, then native, bss, pak, dex */
    } expected[] = {{".text", "tn"},
                    {".rodata", "rn"},
                    {".data.rel.ro", "Rn"},
                    {".tdata.rel.ro", "Rn"},
                    {".data.rel.ro.local", "Rn"},
                    {".data", "dn"},
                    {".tdata", "dn"},
                    {".bss", "bnb"},
                    {".bss.rel.ro", "bnb"},
                    {".part.end", "bnb"},
                    {".relro_padding", "bnb"},
                    {".tbss", "bnb"},
                    {".dex", "xd"},
                    {".dex.method", "md"},
                    {".pak.translations", "pp"},
                    {".arsc", "a"},
                    {".pak.nontranslated", "Pp"},
                    {".other", "o"},
                    {".strange", "o"},
                    {"google_malloc_bss", "bnb"}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct sxt_size_segment segment = {.section = {expected[i].name, strlen(expected[i].name)}};
        sxt_size_classify(&segment);
        char kind[8];
        snprintf(kind, sizeof kind, "%c%s%s%s%s", segment.letter, segment.is_native ? "n" : "",
                 segment.is_bss ? "b" : "", segment.is_pak ? "p" : "", segment.is_dex ? "d" : "");
        assert_string_equal(kind, expected[i].kind);
        assert_int_equal(sxt_size_is_bss(segment.section), segment.is_bss);
        assert_int_equal(sxt_size_is_known(segment.section), strcmp(expected[i].name, ".strange") != 0);
    }
    static const char letters[] = "atrRdbxmpPo";
    static const char *const names[] = {".arsc", ".text", ".rodata",     ".data.rel.ro",      ".data",
                                        ".bss",  ".dex",  ".dex.method", ".pak.translations", ".pak.nontranslated",
                                        ".other"};
    for (size_t i = 0; letters[i] != '\0'; i++)
        assert_string_equal(sxt_size_section_of_letter(letters[i]), names[i]);
    assert_null(sxt_size_section_of_letter('*'));
}
