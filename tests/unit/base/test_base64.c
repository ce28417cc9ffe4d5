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

TEST(decodes_either_alphabet_with_or_without_padding)
{
    static const struct {
        const char *text, *bytes;
    } right[] = {
        {"", ""},
        {"Zg", "f"},
        {"Zg==", "f"},
        {"Zm8", "fo"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"bWU6c2VjcmV0", "me:secret"},
        {"+//+", "\xfb\xff\xfe"},
        {"-__-", "\xfb\xff\xfe"},
        {"_-8", "\xff\xef"},
        {"/+8=", "\xff\xef"},
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        uint8_t out[16];
        size_t size = strlen(right[i].bytes);
        assert_int_equal(sxt_base64_decode(out, sizeof out, right[i].text, strlen(right[i].text)), size);
        assert_memory_equal(out, right[i].bytes, size);
        assert_int_equal(sxt_base64_decode(out, size, right[i].text, strlen(right[i].text)), size);
        if (size > 0)
            assert_int_equal(sxt_base64_decode(out, size - 1, right[i].text, strlen(right[i].text)), SXT_BASE64_WRONG);
    }
    static const char *const wrong[] = {"Z",      "Zg=",      "Zg===",   "Zm8==",    "Zm9v=", "Zm9v====", "=",
                                        "==",     "====",     "Zh",      "Zm9",      "Z g=",  "Zg==\n",   "+_",
                                        "Zm9v-+", "Zg==Zg==", "Z\xffg=", "Zm9vYg=A", "Zm9vY"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t out[16];
        assert_int_equal(sxt_base64_decode(out, sizeof out, wrong[i], strlen(wrong[i])), SXT_BASE64_WRONG);
    }
    uint8_t out[1];
    assert_int_equal(sxt_base64_decode(out, 1, "AA\0A", 4), SXT_BASE64_WRONG);
}

TEST(decodes_what_it_encodes)
{
    uint8_t bytes[70], back[70];
    char text[SXT_BASE64_ROOM(70)];
    for (size_t size = 0; size <= sizeof bytes; size++) {
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(i * 151 + size * 31);
        sxt_base64_encode(text, bytes, size);
        assert_int_equal(sxt_base64_decode(back, size, text, strlen(text)), size);
        assert_memory_equal(back, bytes, size);
        sxt_base64url_encode(text, bytes, size);
        assert_int_equal(sxt_base64_decode(back, size, text, strlen(text)), size);
        assert_memory_equal(back, bytes, size);
    }
}
