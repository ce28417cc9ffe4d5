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
