/* test_hex.c: digits, bytes and numbers in hexadecimal, both ways. */
#include "base/hex.h"

#include <string.h>

#include "base/digits.h"
#include "base/string.h"
#include "support/test.h"

TEST(knows_all_digits_and_nothing_else)
{
    static const char lower[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";
    for (int letter = 0; letter < 256; letter++) {
        const char *found = letter != 0 ? strchr(lower, letter) : NULL;
        const char *other = letter != 0 ? strchr(upper, letter) : NULL;
        int expected = found != NULL ? (int)(found - lower) : other != NULL ? (int)(other - upper) : -1;
        assert_int_equal(sxt_hex_digit((char)letter), expected);
    }
}

TEST(encodes_bytes)
{
    char text[SXT_HEX_ROOM(3)];
    assert_int_equal(sxt_hex_encode(text, "\x00\xff\x1a", 3), 6);
    assert_string_equal(text, "00ff1a");
    assert_int_equal(sxt_hex_encode(text, "", 0), 0);
    assert_string_equal(text, "");
    assert_true(sxt_hex_equals(sxt_string_of("00fF1a"), "\x00\xff\x1a", 3));
    assert_false(sxt_hex_equals(sxt_string_of("00ff1b"), "\x00\xff\x1a", 3));
    assert_false(sxt_hex_equals(sxt_string_of("00ff1"), "\x00\xff\x1a", 3));
}

TEST(parses_numbers_that_fit)
{
    uint64_t value;
    assert_true(sxt_hex_parse(sxt_string_of("0"), &value) && value == 0);
    assert_true(sxt_hex_parse(sxt_string_of("DeadBeef"), &value) && value == 0xdeadbeef);
    assert_true(sxt_hex_parse(sxt_string_of("ffffffffffffffff"), &value) && value == UINT64_MAX);
    assert_true(sxt_hex_parse(sxt_string_of("0000ffffffffffffffff"), &value) && value == UINT64_MAX);
    assert_false(sxt_hex_parse(sxt_string_of("10000000000000000"), &value));
    assert_false(sxt_hex_parse(sxt_string_of(""), &value));
    assert_false(sxt_hex_parse(sxt_string_of("0x1"), &value));
    assert_false(sxt_hex_parse(sxt_string_of("12 "), &value));
}

TEST(writes_numbers_backwards)
{
    char text[SXT_DIGITS_MAX + 1] = "";
    char *end = text + SXT_DIGITS_MAX;
    assert_string_equal(sxt_digits_before(end, 0), "0");
    assert_string_equal(sxt_digits_before(end, UINT64_MAX), "18446744073709551615");
    assert_string_equal(sxt_address_before(end, 0), "0x0");
    assert_string_equal(sxt_address_before(end, UINT64_MAX), "0xffffffffffffffff");
}
