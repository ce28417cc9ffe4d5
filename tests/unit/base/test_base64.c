/* test_base64.c: the examples of RFC 4648, and both alphabets. */
#include <string.h>

#include "base/base64.h"
#include "support/test.h"

TEST(agrees_with_the_published_examples)
{
    static const struct {
        const char *text, *padded, *url;
    } cases[] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xfb\xff\xfe", "+//+", "-__-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].text);
        char out[SXT_BASE64_ROOM(6)];
        memset(out, 'x', sizeof out);
        sxt_base64_encode(out, (const uint8_t *)cases[i].text, size);
        assert_string_equal(out, cases[i].padded);
        assert_true(strlen(out) < SXT_BASE64_ROOM(size));
        sxt_base64url_encode(out, (const uint8_t *)cases[i].text, size);
        assert_string_equal(out, cases[i].url);
    }
}
