/* test_utf8.c: every character is valid, and nothing else is. */
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "support/test.h"

/* The plain rule, written differently from the code under test: decode, then judge the number. */
static bool is_character(const uint8_t *bytes, size_t size)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    static const uint8_t marker[] = {0, 0, 0xc0, 0xe0, 0xf0};
    static const uint8_t marker_mask[] = {0, 0x80, 0xe0, 0xf0, 0xf8};
    if ((bytes[0] & marker_mask[size]) != marker[size])
        return false;
    uint32_t code = bytes[0] & (uint8_t)~marker_mask[size];
    for (size_t i = 1; i < size; i++) {
        if (bytes[i] >> 6 != 2)
            return false;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    return code >= lowest[size] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static size_t valid(const void *bytes, size_t size)
{
    return sxt_utf8_valid(bytes, size);
}

TEST(knows_every_sequence_of_two_bytes)
{
    for (unsigned n = 0; n <= 0xffff; n++) {
        uint8_t bytes[2] = {(uint8_t)(n >> 8), (uint8_t)n};
        size_t expected = is_character(bytes, 1) + (is_character(bytes, 1) && is_character(bytes + 1, 1));
        if (is_character(bytes, 2))
            expected = 2;
        assert_int_equal(valid(bytes, 2), expected);
    }
}

TEST(knows_every_sequence_of_three_bytes)
{
    for (unsigned n = 0xe00000; n <= 0xefffff; n++) {
        uint8_t bytes[3] = {(uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
        size_t expected = is_character(bytes, 3) ? 3 : 0;
        if (valid(bytes, 3) != expected)
            fail_msg("%02x %02x %02x", bytes[0], bytes[1], bytes[2]);
    }
}

TEST(knows_every_sequence_of_four_bytes)
{
    static const uint8_t ends[] = {0x00, 0x7f, 0x80, 0x81, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    for (unsigned first = 0xf0; first <= 0xff; first++) {
        for (unsigned second = 0; second <= 0xff; second++) {
            for (size_t third = 0; third < sizeof ends; third++) {
                for (size_t fourth = 0; fourth < sizeof ends; fourth++) {
                    uint8_t bytes[4] = {(uint8_t)first, (uint8_t)second, ends[third], ends[fourth]};
                    assert_int_equal(valid(bytes, 4), is_character(bytes, 4) ? 4 : 0);
                }
            }
        }
    }
}

TEST(stops_at_the_first_byte_that_is_wrong)
{
    static const struct {
        const char *bytes;
        size_t valid;
    } cases[] = {
        {"", 0},
        {"plain", 5},
        {"\xc3\xa4\xc3\xb6\xc3\xbc", 6},
        {"a\x80", 1},
        {"ab\xc0\x80", 2},                       /* overlong NUL */
        {"\xe0\x9f\xbf", 0},                     /* overlong */
        {"\xed\x9f\xbf\xed\xa0\x80", 3},         /* a surrogate */
        {"\xf0\x8f\xbf\xbf", 0},                 /* overlong */
        {"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80", 4}, /* above U+10FFFF */
        {"\xf5\x80\x80\x80", 0},
        {"abcdefgh\xff", 8},
        {"abcdefghi\xe2\x82", 9},
        {"\xe2\x82\xacx\xe2\x28\xa1", 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(valid(cases[i].bytes, strlen(cases[i].bytes)), cases[i].valid);
}

TEST(finds_a_wrong_byte_at_any_place)
{
    char text[41];
    for (size_t size = 1; size < sizeof text; size++) {
        for (size_t place = 0; place < size; place++) {
            memset(text, 'x', size);
            assert_int_equal(valid(text, size), size);
            text[place] = (char)0xbf;
            assert_int_equal(valid(text, size), place);
        }
    }
}

TEST(counts_whole_characters_of_a_cut_text)
{
    static const char text[] = "\xf0\x9f\x98\x80";
    for (size_t size = 0; size < 4; size++)
        assert_int_equal(valid(text, size), 0);
    assert_int_equal(valid(text, 4), 4);
    assert_int_equal(valid("\0", 1), 1);
    assert_int_equal(sxt_utf8_valid(NULL, 0), 0);
}
