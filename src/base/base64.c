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
