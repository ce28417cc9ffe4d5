/*
 * test_lidia_reference.c: the symbols that the reference Lidia writer selects, with its oddities, and where it fails.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "source/lidia_reference.h"
#include "support/elf_builder.h"
#include "support/model.h"
#include "support/test.h"

#define TEXT   0x401000
#define TABLES (SXT_SOURCE_SYMTAB | SXT_SOURCE_DYNSYM)
#define LIMIT  ((uint64_t)64 << 20)

struct reading {
    struct sxt_builder builder;
    struct sxt_elf elf;
    struct sxt_symbols *symbols;
    sxt_error error;
};

static void begin_kind(struct reading *reading, bool is_64, bool big_endian, uint16_t type, uint16_t machine)
{
    static const char code[256];
    memset(reading, 0, sizeof *reading);
    sxt_builder_init(&reading->builder, is_64, big_endian, type, machine);
    unsigned text =
        sxt_builder_section(&reading->builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    sxt_builder_at(&reading->builder, text)->address = TEXT;
}

static void begin(struct reading *reading)
{
    begin_kind(reading, true, false, ET_EXEC, EM_X86_64);
}

static void add(struct reading *reading, uint32_t table, const char *name, uint64_t offset, uint64_t size)
{
    sxt_builder_function(&reading->builder, table, name, TEXT + offset, size, 1);
}

static int read_rows(struct reading *reading, uint32_t sources)
{
    if (reading->builder.data == NULL)
        sxt_builder_finish(&reading->builder);
    assert_int_equal(sxt_elf_open(&reading->elf, reading->builder.data, reading->builder.size, LIMIT, NULL), SXT_OK);
    assert_int_equal(sxt_symbols_new(&reading->symbols, NULL), SXT_OK);
    return sxt_lidia_reference_read(&reading->elf, sources, reading->symbols, &reading->error);
}

static void end(struct reading *reading)
{
    sxt_symbols_free(&reading->symbols);
    sxt_elf_close(&reading->elf);
    sxt_builder_free(&reading->builder);
}

/* The rows in their order, in the form of sxt_test_ranges_text. */
static void expect(struct reading *reading, const char *rows)
{
    if (read_rows(reading, SXT_SOURCE_ALL) != SXT_OK)
        fail_msg("%s", reading->error.text);
    sxt_test_assert_model(reading->symbols, rows);
    end(reading);
}

static void expect_failure(struct reading *reading, const char *words)
{
    assert_int_not_equal(read_rows(reading, SXT_SOURCE_ALL), SXT_OK);
    if (strstr(reading->error.text, words) == NULL)
        fail_msg("'%s' does not contain '%s'", reading->error.text, words);
    end(reading);
}

/* --- 0: which files --- */

TEST(a_file_that_the_reference_elf_reader_rejects_is_refused)
{
    const struct {
        unsigned offset, width;
        uint64_t value;
        const char *words;
    } changes[] = {
        {20, 4, 2, "mismatched ELF version"},
        {62, 2, 200, "invalid ELF shstrndx"},
        {62, 2, 1, "invalid ELF section name string table type"},
    };
    struct reading reading;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        begin(&reading);
        add(&reading, SHT_SYMTAB, "f", 0x10, 4);
        sxt_builder_finish(&reading.builder);
        sxt_builder_poke(&reading.builder, changes[i].offset, changes[i].value, changes[i].width);
        expect_failure(&reading, changes[i].words);
    }
    begin(&reading);
    add(&reading, SHT_SYMTAB, "f", 0x10, 4);
    sxt_builder_finish(&reading.builder);
    sxt_builder_lie_section(&reading.builder, 1, SXT_SECTION_NAME, 0x7fffffff);
    expect_failure(&reading, "bad section name index");
}

/* --- 1: which table --- */

TEST(symtab_is_used_and_dynsym_is_ignored)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_DYNSYM, "dynamic", 0x20, 4);
    add(&reading, SHT_SYMTAB, "static", 0x10, 4);
    expect(&reading, "static@401010-401014");
}

TEST(a_symtab_without_functions_does_not_fall_back)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_DYNSYM, "dynamic", 0x20, 4);
    sxt_builder_symbol(&reading.builder, SHT_SYMTAB,
                       &(struct sxt_builder_symbol){.name = "data", .type = STT_OBJECT, .section = 1});
    expect(&reading, "");
}

TEST(dynsym_is_used_if_symtab_cannot_be_read)
{
    const struct {
        enum sxt_builder_section_field field;
        uint64_t value;
    } lies[] = {
        {SXT_SECTION_TYPE, SHT_PROGBITS}, /* absent */
        {SXT_SECTION_SIZE, 0},            /* empty */
        {SXT_SECTION_SIZE, 25},           /* not a multiple */
        {SXT_SECTION_LINK, 0},            /* no strings */
        {SXT_SECTION_LINK, 1000},
        {SXT_SECTION_SIZE, 24u << 20}, /* outside the file */
        {SXT_SECTION_OFFSET, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct reading reading;
        begin(&reading);
        add(&reading, SHT_DYNSYM, "dynamic", 0x20, 4);
        add(&reading, SHT_SYMTAB, "static", 0x10, 4);
        sxt_builder_finish(&reading.builder);
        sxt_builder_lie_section(&reading.builder, reading.builder.symtab, lies[i].field, lies[i].value);
        expect(&reading, "dynamic@401020-401024");
    }
}

TEST(the_entry_size_is_ignored)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_SYMTAB, "static", 0x10, 4);
    sxt_builder_at(&reading.builder, reading.builder.symtab)->entry_size = 77;
    expect(&reading, "static@401010-401014");
}

/* --- 2: where both fail --- */

TEST(a_file_with_neither_table_is_empty)
{
    struct reading reading;
    begin(&reading);
    expect(&reading, "");
}

TEST(two_tables_that_cannot_be_read_are_an_error_with_both_reasons)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_DYNSYM, "dynamic", 0x20, 4);
    add(&reading, SHT_SYMTAB, "static", 0x10, 4);
    sxt_builder_finish(&reading.builder);
    sxt_builder_lie_section(&reading.builder, reading.builder.symtab, SXT_SECTION_LINK, 0);
    sxt_builder_lie_section(&reading.builder, reading.builder.dynsym, SXT_SECTION_SIZE, 25);
    expect_failure(&reading,
                   "failed to read symbols from ELF file: cannot load string table section: section has invalid string "
                   "table link, length of symbol section is not a multiple of Sym64Size");
}

TEST(one_damaged_table_alone_is_an_error)
{
    for (unsigned dynamic = 0; dynamic < 2; dynamic++) {
        struct reading reading;
        begin_kind(&reading, false, true, ET_EXEC, EM_PPC);
        add(&reading, dynamic ? SHT_DYNSYM : SHT_SYMTAB, "f", 0x20, 4);
        sxt_builder_finish(&reading.builder);
        sxt_builder_lie_section(&reading.builder, dynamic ? reading.builder.dynsym : reading.builder.symtab,
                                SXT_SECTION_SIZE, 17);
        expect_failure(&reading, dynamic ? "no symbol section, length of symbol section is not a multiple of SymSize"
                                         : "length of symbol section is not a multiple of SymSize, no symbol section");
    }
}

/* A dynsym with its GNU version sections: VERDEF and VERNEED begin with these versions. */
static void build_versions(struct reading *reading, unsigned definition, unsigned need, unsigned name_count)
{
    struct sxt_builder *builder = &reading->builder;
    begin(reading);
    add(reading, SHT_DYNSYM, "f", 0x20, 4);
    sxt_builder_section(builder, ".gnu.version", SHT_GNU_versym, SHF_ALLOC, "\1\0\1\0", 4);
    unsigned section = sxt_builder_section(builder, ".gnu.version_d", SHT_GNU_verdef, SHF_ALLOC, NULL, 0);
    const unsigned fields[] = {1, 0, 1, 1}, second[] = {definition, 0, 1, name_count};
    for (unsigned record = 0; record < 2; record++) {
        for (unsigned i = 0; i < 4; i++)
            sxt_builder_word(builder, section, record == 0 ? fields[i] : second[i], 2);
        sxt_builder_word(builder, section, 0, 4);
        sxt_builder_word(builder, section, 20, 4);
        sxt_builder_word(builder, section, record == 0 ? 20 : 0, 4);
    }
    section = sxt_builder_section(builder, ".gnu.version_r", SHT_GNU_verneed, SHF_ALLOC, NULL, 0);
    sxt_builder_word(builder, section, need, 2);
    sxt_builder_word(builder, section, 0, 2);
    for (unsigned i = 0; i < 3; i++)
        sxt_builder_word(builder, section, 0, 4);
}

TEST(versions_that_are_not_1_are_an_error_but_only_with_dynsym)
{
    struct reading reading;
    build_versions(&reading, 1, 1, 1);
    expect(&reading, "f@401020-401024");
    build_versions(&reading, 2, 1, 1);
    expect_failure(&reading, "unexpected dynamic version 2");
    build_versions(&reading, 1, 0, 1);
    expect_failure(&reading, "unexpected dynamic need version 0");
    build_versions(&reading, 2, 2, 1);
    add(&reading, SHT_SYMTAB, "g", 0x30, 4);
    expect(&reading, "g@401030-401034");
}

TEST(a_version_without_a_name_is_an_error)
{
    struct reading reading;
    build_versions(&reading, 1, 1, 0);
    expect_failure(&reading, "dynamic version has no name");
}

/* --- 3: which symbols --- */

TEST(only_functions_with_a_name_are_kept_undefined_ones_too)
{
    struct reading reading;
    begin(&reading);
    const struct sxt_builder_symbol symbols[] = {
        {.name = "notype", .value = TEXT, .type = STT_NOTYPE, .section = 1},
        {.name = "object", .value = TEXT, .type = STT_OBJECT, .section = 1},
        {.name = "ifunc", .value = TEXT, .type = 10, .section = 1},
        {.name = "tls", .value = TEXT, .type = STT_TLS, .section = 1},
        {.name = "", .value = TEXT, .type = STT_FUNC, .section = 1},
        {.name_offset = UINT32_MAX, .value = TEXT, .type = STT_FUNC, .section = 1},
        {.name = "undefined", .type = STT_FUNC, .binding = STB_GLOBAL},
        {.name = "weak", .value = TEXT + 1, .size = 1, .type = STT_FUNC, .binding = STB_WEAK, .section = 1},
        {.name = "local", .value = TEXT + 2, .size = 1, .type = STT_FUNC, .section = 1},
        {.name = "absolute", .value = 3, .size = 1, .type = STT_FUNC, .section = SHN_ABS},
        {.name = "common", .value = 4, .size = 1, .type = STT_FUNC, .section = SHN_COMMON},
        {.name = "nowhere", .value = 5, .size = 1, .type = STT_FUNC, .section = 0x1234},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        sxt_builder_symbol(&reading.builder, SHT_SYMTAB, &symbols[i]);
    expect(&reading, "undefined@0-0 weak@401001-401002 local@401002-401003 absolute@3-4 common@4-5 nowhere@5-6");
}

TEST(a_name_without_end_is_dropped)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_SYMTAB, "kept", 0, 1);
    add(&reading, SHT_SYMTAB, "endless", 0, 1);
    unsigned strings = sxt_builder_at(&reading.builder, reading.builder.symtab)->link;
    sxt_builder_at(&reading.builder, strings)->bytes.size--;
    expect(&reading, "kept@401000-401001");
}

/* --- 4: values are not adjusted --- */

TEST(values_are_not_adjusted)
{
    struct reading reading;
    begin_kind(&reading, false, false, ET_EXEC, EM_ARM);
    add(&reading, SHT_SYMTAB, "thumb", 5, 2);
    expect(&reading, "thumb@401005-401007");
    begin_kind(&reading, true, false, ET_REL, EM_X86_64);
    unsigned second = sxt_builder_section(&reading.builder, ".text.f", SHT_PROGBITS, SHF_ALLOC, "0123", 4);
    sxt_builder_function(&reading.builder, SHT_SYMTAB, "f", 1, 2, second);
    expect(&reading, "f@1-3");
}

/* --- 5: sizes --- */

TEST(sizes_lose_their_upper_half_and_zero_is_kept)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_SYMTAB, "zero", 0, 0);
    add(&reading, SHT_SYMTAB, "huge", 0, 0x100000002);
    add(&reading, SHT_SYMTAB, "largest", 0, UINT64_MAX);
    expect(&reading, "zero@401000-401000 huge@401000-401002 largest@401000-100400fff");
}

/* --- 6: not sorted, nothing dropped --- */

TEST(rows_keep_their_order_and_duplicates_stay)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_SYMTAB, "b", 0x20, 1);
    add(&reading, SHT_SYMTAB, "a", 0x10, 1);
    add(&reading, SHT_SYMTAB, "b", 0x20, 1);
    add(&reading, SHT_SYMTAB, "_ZN3foo3barEv", 0x20, 1);
    expect(&reading, "b@401020-401021 a@401010-401011 b@401020-401021 _ZN3foo3barEv@401020-401021");
}

/* --- other failures --- */

TEST(a_file_without_text_fails)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_SYMTAB, "f", 0, 1);
    sxt_builder_at(&reading.builder, 1)->name = ".code";
    expect_failure(&reading, "empty text");
    begin(&reading);
    add(&reading, SHT_SYMTAB, "f", 0, 1);
    sxt_builder_at(&reading.builder, 1)->name = ".code";
    assert_int_equal(read_rows(&reading, TABLES), SXT_OK);
    end(&reading);
}

TEST(sources_that_are_not_requested_are_absent)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_SYMTAB, "static", 0x10, 4);
    add(&reading, SHT_DYNSYM, "dynamic", 0x20, 4);
    assert_int_equal(read_rows(&reading, SXT_SOURCE_DYNSYM), SXT_OK);
    sxt_test_assert_model(reading.symbols, "dynamic@401020-401024");
    end(&reading);
    begin(&reading);
    add(&reading, SHT_SYMTAB, "static", 0x10, 4);
    assert_int_equal(read_rows(&reading, SXT_SOURCE_GO), SXT_OK);
    sxt_test_assert_model(reading.symbols, "");
    end(&reading);
}

/* The reference would copy five gigabytes. */
TEST(overlapping_names_reach_a_limit_soon)
{
    struct reading reading;
    begin(&reading);
    add(&reading, SHT_SYMTAB, "first", 0, 1);
    unsigned strings = sxt_builder_at(&reading.builder, reading.builder.symtab)->link;
    size_t size = (size_t)512 << 10;
    uint8_t *text = sxt_buffer_extend(&sxt_builder_at(&reading.builder, strings)->bytes, size);
    memset(text, 'n', size);
    text[size - 1] = 0;
    for (unsigned i = 0; i < 4000; i++)
        sxt_builder_symbol(&reading.builder, SHT_SYMTAB,
                           &(struct sxt_builder_symbol){.name_offset = 7 + i, .type = STT_FUNC, .section = 1});
    int status = read_rows(&reading, TABLES);
    uint64_t bytes = reading.symbols->strings.bytes;
    end(&reading);
    if (bytes > (uint64_t)16 << 20)
        fail_msg("%llu bytes of names", (unsigned long long)bytes);
    assert_int_equal(status, SXT_ERROR_LIMIT);
}
