/* test_byte_range.c: ranges and entity tags. */
#include "service/byte_range.h"
#include "support/test.h"

static void assert_part(const char *text, uint64_t total, uint64_t start, uint64_t size)
{
    uint64_t found_start = 0, found_size = 0;
    assert_int_equal(sxt_byte_range_parse(text, total, &found_start, &found_size), SXT_RANGE_PART);
    assert_int_equal(found_start, start);
    assert_int_equal(found_size, size);
}

static void assert_other(const char *text, uint64_t total, enum sxt_byte_range expected)
{
    uint64_t start, size;
    assert_int_equal(sxt_byte_range_parse(text, total, &start, &size), expected);
}

TEST(takes_ranges)
{
    assert_part("bytes=0-0", 10, 0, 1);
    assert_part("bytes=2-5", 10, 2, 4);
    assert_part("bytes=2-", 10, 2, 8);
    assert_part("bytes=2-100", 10, 2, 8);
    assert_part("bytes=-3", 10, 7, 3);
    assert_part("bytes=-100", 10, 0, 10);
    assert_part("bytes=9-9", 10, 9, 1);
    assert_part("bytes=0-18446744073709551615", 10, 0, 10);
}

TEST(refuses_ranges_beyond_the_end)
{
    assert_other("bytes=10-", 10, SXT_RANGE_BEYOND);
    assert_other("bytes=10-20", 10, SXT_RANGE_BEYOND);
    assert_other("bytes=-0", 10, SXT_RANGE_BEYOND);
    assert_other("bytes=-5", 0, SXT_RANGE_BEYOND);
    assert_other("bytes=0-", 0, SXT_RANGE_BEYOND);
}

TEST(ignores_what_is_not_a_range)
{
    static const char *const texts[] = {"",
                                        "bytes",
                                        "bytes=",
                                        "bytes=-",
                                        "bytes=a-b",
                                        "bytes=5-2",
                                        "bytes=1-2x",
                                        "bytes=1-2,4-5",
                                        "lines=1-2",
                                        "bytes=1",
                                        "bytes= 1-2",
                                        "bytes=18446744073709551616-",
                                        "bytes=1-99999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_other(texts[i], 10, SXT_RANGE_WHOLE);
}

TEST(finds_entity_tags)
{
    assert_true(sxt_etag_is_in("\"ab\"", "\"ab\""));
    assert_true(sxt_etag_is_in("*", "\"ab\""));
    assert_true(sxt_etag_is_in("\"x\", \"ab\"", "\"ab\""));
    assert_true(sxt_etag_is_in("W/\"ab\",\"x\"", "\"ab\""));
    assert_false(sxt_etag_is_in("", "\"ab\""));
    assert_false(sxt_etag_is_in("\"abc\"", "\"ab\""));
    assert_false(sxt_etag_is_in("ab", "\"ab\""));
    assert_false(sxt_etag_is_in("\"x\"ab\"", "\"ab\""));
}
