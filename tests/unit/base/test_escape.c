/* test_escape.c: what is escaped for terminals and for JSON, at every place of a run of plain characters. */
#include "base/escape.h"

#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "support/test.h"

static struct sxt_buffer buffer;

SET_UP()
{
    sxt_buffer_init(&buffer, 1 << 20);
}

TEAR_DOWN()
{
    sxt_buffer_free(&buffer);
}

static void assert_escaped(void (*escape)(struct sxt_buffer *, sxt_string), const char *text, const char *expected)
{
    sxt_buffer_clear(&buffer);
    escape(&buffer, sxt_string_of(text));
    sxt_test_assert_text((sxt_string){(const char *)buffer.data, buffer.size}, expected);
}

TEST(escapes_for_a_terminal)
{
    assert_escaped(sxt_escape_text, "a\"b\\c", "a\"b\\c");
    assert_escaped(sxt_escape_text, "\033[1m\x7f\n", "\\x1b[1m\\x7f\\x0a");
    assert_escaped(sxt_escape_text, "\xc3\xa9\xc2\x9b\xff", "\xc3\xa9\\xc2\\x9b\\xff");
}

TEST(escapes_for_json)
{
    assert_escaped(sxt_escape_json, "a\"b\\c/", "a\\\"b\\\\c/");
    assert_escaped(sxt_escape_json, "\b\t\n\f\r\x01\x7f", "\\b\\t\\n\\f\\r\\u0001\\u007f");
    assert_escaped(sxt_escape_json, "\xc3\xa9\xc2\x9b\xff\xe2\x82",
                   "\xc3\xa9\\u009b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(escapes_for_json_in_ascii)
{
    assert_escaped(sxt_escape_json_ascii, "a\"b\\c/", "a\\\"b\\\\c/");
    assert_escaped(sxt_escape_json_ascii, "\b\t\n\f\r\x01\x7f", "\\b\\t\\n\\f\\r\\u0001\\u007f");
    assert_escaped(sxt_escape_json_ascii, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff",
                   "\\u00e9\\u20ac\\ud83d\\ude00\\u00ff");
}

static void escape_numbers(struct sxt_buffer *out, sxt_string text)
{
    sxt_escape_json_numbers(out, text, false);
}

static void escape_numbers_with_delete(struct sxt_buffer *out, sxt_string text)
{
    sxt_escape_json_numbers(out, text, true);
}

TEST(escapes_for_json_by_number)
{
    assert_escaped(escape_numbers, "a\"b\\c/", "a\\\"b\\\\c/");
    assert_escaped(escape_numbers, "\b\t\n\f\r\x01\x7f", "\\u0008\\u0009\\u000a\\u000c\\u000d\\u0001\x7f");
    assert_escaped(escape_numbers_with_delete, "\t\x7f", "\\u0009\\u007f");
    assert_escaped(escape_numbers, "\xc3\xa9\xc2\x9b\xff\xe2\x82",
                   "\xc3\xa9\xc2\x9b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(finds_the_end_of_plain_text_at_every_place)
{
    static const char stops[] = "\"\\\x1f\x7f\x80\xff";
    char text[50];
    for (size_t size = 0; size <= sizeof text; size++) {
        memset(text, ' ', sizeof text);
        assert_int_equal(sxt_escape_plain_size(text, size), size);
        for (size_t at = 0; at < size; at++)
            for (const char *stop = stops; *stop != 0; stop++) {
                memset(text, '~', sizeof text);
                text[at] = *stop;
                assert_int_equal(sxt_escape_plain_size(text, size), at);
            }
    }
}
