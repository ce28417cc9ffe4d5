/* utf8.c: the well-formed byte sequences of the Unicode standard (table 3-7), with a fast way through ASCII. */
#include "base/utf8.h"

#include <string.h>

static size_t ascii_prefix(const uint8_t *data, size_t size);
static size_t multibyte_size(const uint8_t *data, size_t left);

size_t sxt_utf8_valid(const char *data, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)data;
    size_t at = 0;
    while (at < size) {
        at += ascii_prefix(bytes + at, size - at);
        while (at < size && bytes[at] >= 0x80) {
            size_t length = multibyte_size(bytes + at, size - at);
            if (length == 0)
                return at;
            at += length;
        }
    }
    return size;
}

size_t sxt_utf8_encode(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* How many bytes from the start are ASCII. */
static size_t ascii_prefix(const uint8_t *data, size_t size)
{
    size_t at = 0;
    for (; size - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, data + at, sizeof word);
        if (word & 0x8080808080808080)
            break;
    }
    while (at < size && data[at] < 0x80)
        at++;
    return at;
}

/* The size of the character of 2 to 4 bytes that DATA begins with; 0 when it is malformed or cut off. */
static size_t multibyte_size(const uint8_t *data, size_t left)
{
    uint8_t first = data[0];
    size_t length;
    /* Overlong forms, surrogates and values above U+10FFFF all show in the range of the second byte. */
    uint8_t second_lowest = 0x80;
    uint8_t second_highest = 0xbf;

    if (first >= 0xc2 && first <= 0xdf) {
        length = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        if (first == 0xe0)
            second_lowest = 0xa0;
        else if (first == 0xed)
            second_highest = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        if (first == 0xf0)
            second_lowest = 0x90;
        else if (first == 0xf4)
            second_highest = 0x8f;
    } else {
        return 0;
    }

    if (left < length || data[1] < second_lowest || data[1] > second_highest)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((data[i] & 0xc0) != 0x80)
            return 0;
    return length;
}
