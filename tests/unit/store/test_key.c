/* Tests of store/key.c: names of objects. */
#include "store/key.h"

#include <string.h>

#include "support/test.h"

TEST(accepts_words_with_slashes_between)
{
    const char *good[] = {"a", "a/b", "blob/0f/0f3c", "t/-/id/b.00ff/entry/99-0-a", "=t~x_Y/9", "-", "a..b", "a."};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(sxt_key_is_valid(good[i]));
}

TEST(refuses_what_leads_elsewhere_or_needs_an_escape)
{
    const char *bad[] = {"",      "/",        "/a",   "a/",  "a//b",   ".",      "..",    "a/..",  "../a", "a/../b",
                         ".tmp/", ".tmp",     "a/.b", "a b", "a%2f",   "a\\b",   "a\nb",  "a:b",   "a?b",  "a#b",
                         "a+b",   "\xc3\xa4", "a&b",  "a*b", "~/\x7f", "a/\x01", "C:\\x", "a/./b", "./a",  "a\"b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(sxt_key_is_valid(bad[i]));
}

TEST(limits_the_length_of_words_and_keys)
{
    char key[SXT_KEY_MAX + 2];
    memset(key, 'a', sizeof key);
    key[SXT_KEY_WORD_MAX] = 0;
    assert_true(sxt_key_is_valid(key));
    key[SXT_KEY_WORD_MAX] = 'a';
    key[SXT_KEY_WORD_MAX + 1] = 0;
    assert_false(sxt_key_is_valid(key));
    key[SXT_KEY_WORD_MAX + 1] = 'a';
    key[200] = key[400] = '/';
    key[SXT_KEY_MAX] = 0;
    assert_true(sxt_key_is_valid(key));
    key[SXT_KEY_MAX] = 'a';
    key[SXT_KEY_MAX + 1] = 0;
    assert_false(sxt_key_is_valid(key));
}

TEST(a_prefix_is_empty_or_ends_with_a_slash)
{
    assert_true(sxt_key_is_prefix(""));
    assert_true(sxt_key_is_prefix("a/"));
    assert_true(sxt_key_is_prefix("a/b=/"));
    assert_false(sxt_key_is_prefix("a"));
    assert_false(sxt_key_is_prefix("/"));
    assert_false(sxt_key_is_prefix("a//"));
    assert_false(sxt_key_is_prefix("../"));
    assert_false(sxt_key_is_prefix("a/../"));
}
