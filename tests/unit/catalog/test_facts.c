/* Tests of catalog/facts.c: the debug id and the name of an ELF file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "catalog/private.h"
#include "support/elf_builder.h"
#include "support/test.h"

static struct sxt_arena arena;

SET_UP()
{
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
}

TEAR_DOWN()
{
    sxt_arena_free(&arena);
}

/* The facts in a copy that ends where its memory ends; false if it cannot be read. */
static bool read_facts(const uint8_t *data, size_t size, struct sxt_catalog_facts *out)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, data, size);
    int status = sxt_catalog_read_facts(exact, size, &arena, out, NULL);
    free(exact);
    return status == SXT_OK;
}

/* A shared library with a name, and a link to a debug file; either may be NULL. */
static void build(struct sxt_builder *builder, bool is_64, bool big_endian, const char *soname, const char *link)
{
    static const uint8_t code[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0x80, 0, 0, 0x10};
    sxt_builder_init(builder, is_64, big_endian, ET_DYN, is_64 ? EM_X86_64 : EM_386);
    sxt_builder_section(builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    if (soname != NULL) {
        char strings[300] = "";
        snprintf(strings + 1, sizeof strings - 1, "%s", soname);
        unsigned names = sxt_builder_section(builder, ".dynstr", SHT_STRTAB, SHF_ALLOC, strings, strlen(soname) + 2);
        unsigned dynamic = sxt_builder_section(builder, ".dynamic", SHT_DYNAMIC, SHF_ALLOC, NULL, 0);
        sxt_builder_at(builder, dynamic)->link = names;
        const uint64_t entries[] = {DT_NEEDED, 0, DT_SONAME, 1, DT_NULL, 0};
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
            sxt_builder_address(builder, dynamic, entries[i]);
    }
    if (link != NULL)
        sxt_builder_section(builder, ".gnu_debuglink", SHT_PROGBITS, 0, link, strlen(link) + 1);
    sxt_builder_finish(builder);
}

static void check_name(const char *soname, const char *link, const char *wanted)
{
    for (int kind = 0; kind < 4; kind++) {
        struct sxt_builder builder;
        struct sxt_catalog_facts facts;
        build(&builder, kind & 1, kind & 2, soname, link);
        assert_true(read_facts(builder.data, builder.size, &facts));
        assert_true((facts.name == NULL) == (wanted == NULL));
        if (wanted != NULL)
            assert_string_equal(facts.name, wanted);
        sxt_builder_free(&builder);
    }
}

TEST(names_come_from_the_file)
{
    char longest[300];
    memset(longest, 'n', sizeof longest);
    longest[256] = 0;
    check_name(NULL, NULL, NULL);
    check_name("libx.so.1", "y.debug", "libx.so.1");
    check_name("/usr/lib/libx.so.1", NULL, "libx.so.1");
    check_name(NULL, "y.debug", "y");
    check_name("", "y.debug", "y");
    check_name("a\nb", "y.debug", "y");
    check_name("dir/", "y.debug", "y");
    check_name(longest, "y.debug", "y");
    check_name(longest + 1, NULL, longest + 1);
    check_name(NULL, "y", NULL);
    check_name(NULL, ".debug", NULL);
    check_name(NULL, "75a117bd6cffdd67dc4c4c36896c772893c013.debug", NULL);
    check_name(NULL, "beef.debug", "beef");
}

/* Block by block of 16 bytes; the fields of a GUID are swapped in a little-endian file. */
TEST(without_a_build_id_the_debug_id_is_that_of_the_code)
{
    struct sxt_builder builder;
    struct sxt_catalog_facts facts;
    build(&builder, true, false, NULL, NULL);
    assert_true(read_facts(builder.data, builder.size, &facts));
    assert_string_equal(facts.debug_id.text, "d.1403028106050807090a0b0c0d0e0f10");
    sxt_builder_free(&builder);
    build(&builder, false, true, NULL, NULL);
    assert_true(read_facts(builder.data, builder.size, &facts));
    assert_string_equal(facts.debug_id.text, "d.8102031405060708090a0b0c0d0e0f10");
    sxt_builder_free(&builder);
}

TEST(a_damaged_file_is_refused_or_read)
{
    struct sxt_builder builder;
    struct sxt_catalog_facts facts;
    build(&builder, true, false, "libx.so.1", "y.debug");
    for (size_t size = 0; size < builder.size; size++)
        read_facts(builder.data, size, &facts);
    for (size_t at = 0; at < builder.size; at++)
        for (int bit = 0; bit < 8; bit++) {
            builder.data[at] ^= (uint8_t)(1 << bit);
            if (read_facts(builder.data, builder.size, &facts))
                assert_true(facts.name == NULL || (facts.name[0] != 0 && strchr(facts.name, '/') == NULL));
            builder.data[at] ^= (uint8_t)(1 << bit);
        }
    sxt_builder_free(&builder);
}
