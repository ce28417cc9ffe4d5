/* Tests of catalog/ids.c: how clients spell the identity of a binary. */
#include "catalog/private.h"

#include <string.h>

#include "base/string.h"
#include "support/test.h"

static const char *file_id(const char *text)
{
    static struct sxt_catalog_id id;
    bool is_one = sxt_catalog_parse_file_id(sxt_string_of(text), &id);
    assert_int_equal(is_one, id.text[0] != 0);
    assert_true(!is_one || sxt_catalog_id_is_valid(sxt_string_of(id.text)));
    return is_one ? id.text : NULL;
}

static const char *build_id(const char *text)
{
    static struct sxt_catalog_id id;
    bool is_one = sxt_catalog_parse_build_id(sxt_string_of(text), &id);
    assert_int_equal(is_one, id.text[0] != 0);
    assert_true(!is_one || sxt_catalog_id_is_valid(sxt_string_of(id.text)));
    return is_one ? id.text : NULL;
}

TEST(takes_a_file_id_in_both_spellings)
{
    assert_string_equal(file_id("77EFA716a912a49217445787329fd29a"), "f.77efa716a912a49217445787329fd29a");
    assert_string_equal(file_id("d--nFqkSpJIXRFeHMp_Smg"), "f.77efa716a912a49217445787329fd29a");
    assert_string_equal(file_id("d--nFqkSpJIXRFeHMp_Smg=="), "f.77efa716a912a49217445787329fd29a");
}

TEST(refuses_what_is_not_a_file_id)
{
    static const char *const texts[] = {"",
                                        "d--nFqkSpJIXRFeHMp_Sm",
                                        "d--nFqkSpJIXRFeHMp_Smgg",
                                        "d--nFqkSpJIXRFeHMp_Smg=",
                                        "d--nFqkSpJIXRFeHMp_Smg===",
                                        "d--nFqkSpJIXRFeHMp_Smh",
                                        "d++nFqkSpJIXRFeHMp/Smg",
                                        "77efa716a912a49217445787329fd29",
                                        "77efa716a912a49217445787329fd29g",
                                        "77efa716a912a49217445787329fd29a0",
                                        "../../../../../../../../../../a",
                                        "%2e%2e%2fetc%2fpasswd%00%00%00%00",
                                        " 7efa716a912a49217445787329fd29a"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(file_id(texts[i]));
    struct sxt_catalog_id id;
    assert_false(sxt_catalog_parse_file_id((sxt_string){"77efa716a912a492\000744578732 fd29a", 32}, &id));
    assert_false(sxt_catalog_parse_file_id((sxt_string){NULL, 0}, &id));
}

static const char *debug_id(const char *text)
{
    static struct sxt_catalog_id id;
    bool is_one = sxt_catalog_parse_debug_id(sxt_string_of(text), &id);
    assert_int_equal(is_one, id.text[0] != 0);
    assert_true(!is_one || sxt_catalog_id_is_valid(sxt_string_of(id.text)));
    return is_one ? id.text : NULL;
}

TEST(takes_a_debug_id_as_tools_spell_it)
{
    static const char *const texts[] = {"627B03B886604653802321DD2256B8AD0", "627b03b886604653802321dd2256b8ad0",
                                        "627B03B886604653802321DD2256B8AD", "627B03B8-8660-4653-8023-21DD2256B8AD",
                                        "627b03b8-8660-4653-8023-21dd2256b8ad-0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(debug_id(texts[i]), "d.627b03b886604653802321dd2256b8ad");
}

TEST(refuses_what_is_not_a_debug_id_of_an_elf_file)
{
    static const char *const texts[] = {"",
                                        "0",
                                        "-",
                                        "627B03B886604653802321DD2256B8A",
                                        "627B03B886604653802321DD2256B8ADA",
                                        "627B03B886604653802321DD2256B8AD00",
                                        "627B03B886604653802321DD2256B8AG0",
                                        "627B03B886604653802321DD2256B8AD 0",
                                        "../627B03B886604653802321DD2256B8AD0"};
    struct sxt_catalog_id id;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_null(debug_id(texts[i]));
    assert_false(sxt_catalog_parse_debug_id((sxt_string){NULL, 0}, &id));
}

TEST(a_debug_id_has_the_first_bytes_of_the_build_id)
{
    static const uint8_t build_id[] = {0xb8, 0x03, 0x7b, 0x62, 0x60, 0x86, 0x53, 0x46, 0x80, 0x23,
                                       0x21, 0xdd, 0x22, 0x56, 0xb8, 0xad, 0x57, 0xc0, 0xff, 0xee};
    struct sxt_catalog_id id;
    sxt_catalog_debug_id_of(build_id, sizeof build_id, true, &id);
    assert_string_equal(id.text, "d.627b03b886604653802321dd2256b8ad");
    sxt_catalog_debug_id_of(build_id, sizeof build_id, false, &id);
    assert_string_equal(id.text, "d.b8037b6260865346802321dd2256b8ad");
    sxt_catalog_debug_id_of(build_id, 3, true, &id);
    assert_string_equal(id.text, "d.007b03b8000000000000000000000000");
    assert_true(sxt_catalog_debug_id_of_id("b.b8037b6260865346802321dd2256b8ad57c0ffee", &id));
    assert_string_equal(id.text, "d.627b03b886604653802321dd2256b8ad");
    assert_false(sxt_catalog_debug_id_of_id("f.b8037b6260865346802321dd2256b8ad", &id));
    assert_false(sxt_catalog_debug_id_of_id("b.b", &id));
    assert_false(sxt_catalog_debug_id_of_id("", &id));
}

TEST(takes_a_build_id_of_any_even_length)
{
    char longest[130];
    memset(longest, 'A', 128);
    longest[128] = 0;
    assert_string_equal(build_id("0A"), "b.0a");
    assert_string_equal(build_id("c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"),
                        "b.c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00");
    assert_int_equal(strlen(build_id(longest)), 130);
    longest[128] = 'A';
    longest[129] = 0;
    assert_null(build_id(longest));
}

TEST(refuses_what_is_not_a_build_id)
{
    assert_null(build_id(""));
    assert_null(build_id("a"));
    assert_null(build_id("abc"));
    assert_null(build_id("0x12"));
    assert_null(build_id("zz"));
    assert_null(build_id("../a"));
    char too_long[200];
    memset(too_long, 'a', sizeof too_long);
    struct sxt_catalog_id id;
    assert_false(sxt_catalog_parse_build_id((sxt_string){too_long, 130}, &id));
}

TEST(asks_for_both_if_a_text_may_be_either)
{
    struct sxt_catalog_id ids[2];
    size_t count;
    assert_true(sxt_catalog_parse_id(sxt_string_of("77efa716a912a49217445787329fd29a"), ids, &count));
    assert_int_equal(count, 2);
    assert_string_equal(ids[0].text, "f.77efa716a912a49217445787329fd29a");
    assert_string_equal(ids[1].text, "b.77efa716a912a49217445787329fd29a");
    assert_true(sxt_catalog_parse_id(sxt_string_of("d--nFqkSpJIXRFeHMp_Smg"), ids, &count));
    assert_int_equal(count, 1);
    assert_true(sxt_catalog_parse_id(sxt_string_of("c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"), ids, &count));
    assert_int_equal(count, 1);
    assert_string_equal(ids[0].text, "b.c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00");
    assert_true(sxt_catalog_parse_id(sxt_string_of("aaaaaaaaaaaaaaaaaaaaaA"), ids, &count));
    assert_int_equal(count, 2);
    assert_false(sxt_catalog_parse_id(sxt_string_of("xyz"), ids, &count));
    assert_int_equal(count, 0);
}
