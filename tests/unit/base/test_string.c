/* test_string.c: equality, beginnings, ends and order of views. */
#include "base/string.h"

#include "support/test.h"

TEST(compares_by_bytes)
{
    const sxt_string absent = sxt_string_of(NULL), empty = {"", 0}, a = {"abc", 3}, b = {"abd", 3}, part = {"abc", 2};
    assert_null(absent.data);
    assert_true(sxt_string_equal(absent, empty) && sxt_string_equal(empty, absent));
    assert_true(sxt_string_equal(a, sxt_string_of("abc")));
    assert_false(sxt_string_equal(a, b) || sxt_string_equal(a, part));
    assert_true(sxt_string_is(a, "abc") && sxt_string_is(part, "ab") && sxt_string_is(absent, ""));
    assert_false(sxt_string_is(a, "ab") || sxt_string_is(a, "abcd") || sxt_string_is(absent, "a"));
}

TEST(finds_prefixes_and_suffixes)
{
    const sxt_string absent = {NULL, 0}, text = {"abcab", 4};
    assert_true(sxt_string_begins(text, "ab") && sxt_string_begins(text, "abca") && sxt_string_begins(text, ""));
    assert_false(sxt_string_begins(text, "b") || sxt_string_begins(text, "abcab"));
    assert_true(sxt_string_ends(text, "ca") && sxt_string_ends(text, "abca") && sxt_string_ends(text, ""));
    assert_false(sxt_string_ends(text, "ab") || sxt_string_ends(text, "xabca"));
    assert_true(sxt_string_begins(absent, "") && sxt_string_ends(absent, ""));
    assert_false(sxt_string_begins(absent, "a") || sxt_string_ends(absent, "a"));
    assert_true(sxt_string_has_prefix(text, absent) && sxt_string_has_suffix(text, absent));
    assert_true(sxt_string_has_prefix(text, text) && sxt_string_has_suffix(text, text));
    assert_true(sxt_string_has_prefix(text, (sxt_string){"abx", 2}));
    assert_false(sxt_string_has_suffix(text, (sxt_string){"abx", 2}));
}

TEST(orders_a_string_before_those_that_continue_it)
{
    const sxt_string absent = {NULL, 0}, a = {"a", 1}, ab = {"ab", 2}, high = {"\xff", 1};
    assert_true(sxt_string_compare(a, ab) < 0 && sxt_string_compare(ab, a) > 0);
    assert_true(sxt_string_compare(ab, high) < 0);
    assert_true(sxt_string_compare(absent, a) < 0);
    assert_int_equal(sxt_string_compare(ab, ab), 0);
}
