/* base64.c: six bits a letter, from the highest down. */
#include "base/base64.h"

static char *encode(char *to, const uint8_t *bytes, size_t size, const char *last_two)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (size_t bit = 0; bit < size * 8; bit += 6) {
        unsigned pair = (unsigned)bytes[bit / 8] << 8 | (bit / 8 + 1 < size ? bytes[bit / 8 + 1] : 0u);
        unsigned digit = pair >> (10 - bit % 8) & 63;
        *to++ = digit < 62 ? digits[digit] : last_two[digit - 62];
    }
    return to;
}

void sxt_base64_encode(char *to, const uint8_t *bytes, size_t size)
{
    to = encode(to, bytes, size, "+/");
    for (size_t i = size; i % 3 != 0; i++)
        *to++ = '=';
    *to = 0;
}

void sxt_base64url_encode(char *to, const uint8_t *bytes, size_t size)
{
    *encode(to, bytes, size, "-_") = 0;
}

static int value_of(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    return letter == '-' ? 62 : letter == '_' ? 63 : -1;
}

bool sxt_base64url_decode(uint8_t *to, size_t size, const char *text, size_t text_size)
{
    size_t letters = (size * 8 + 5) / 6, padded = (size + 2) / 3 * 4;
    if (text_size != letters && text_size != padded)
        return false;
    for (size_t i = letters; i < text_size; i++)
        if (text[i] != '=')
            return false;
    uint32_t bits = 0;
    unsigned count = 0;
    size_t done = 0;
    for (size_t i = 0; i < letters; i++) {
        int value = value_of(text[i]);
        if (value < 0)
            return false;
        bits = (bits << 6 | (uint32_t)value) & 0xfff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            to[done++] = (uint8_t)(bits >> count);
        }
    }
    return (bits & ((1u << count) - 1)) == 0;
}
