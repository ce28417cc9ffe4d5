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
        uint8_t back[6];
        assert_true(sxt_base64url_decode(back, size, cases[i].url, strlen(cases[i].url)));
        assert_memory_equal(back, cases[i].text, size);
    }
}

TEST(decodes_only_what_is_exactly_one_value)
{
    uint8_t out[4];
    static const char *const right[] = {"Zm9vYg", "Zm9vYg==", "-__-AA"};
    static const char *const wrong[] = {"",       "Zm9vY",    "Zm9vYg=",   "Zm9vYg===", "Zm9vYh",   "Zm9v+g",
                                        "Zm9v/g", "Zm9vYgAA", "Zm9v Yg==", "Zm9vYg=A",  "Zm9vY\xff"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_true(sxt_base64url_decode(out, 4, right[i], strlen(right[i])));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(sxt_base64url_decode(out, 4, wrong[i], strlen(wrong[i])));
}
