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

static int value_of(char letter, bool is_url)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    return letter == (is_url ? '-' : '+') ? 62 : letter == (is_url ? '_' : '/') ? 63 : -1;
}

/* The number of letters before the padding; SXT_BASE64_WRONG if there is no such text. */
static size_t without_padding(const char *text, size_t size)
{
    size_t letters = size;
    while (letters > 0 && text[letters - 1] == '=')
        letters--;
    bool is_padded = letters < size;
    if (letters % 4 == 1 || (is_padded && (size % 4 != 0 || size - letters > 2)))
        return SXT_BASE64_WRONG;
    return letters;
}

static size_t decode(uint8_t *to, size_t room, const char *text, size_t size, bool is_url)
{
    size_t letters = without_padding(text, size), done = 0;
    if (letters == SXT_BASE64_WRONG || letters / 4 * 3 + letters % 4 * 3 / 4 > room)
        return SXT_BASE64_WRONG;
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < letters; i++) {
        int value = value_of(text[i], is_url);
        if (value < 0)
            return SXT_BASE64_WRONG;
        bits = (bits << 6 | (uint32_t)value) & 0xfff;
        count += 6;
        if (count >= 8) {
            count -= 8;
            to[done++] = (uint8_t)(bits >> count);
        }
    }
    return (bits & ((1u << count) - 1)) == 0 ? done : SXT_BASE64_WRONG;
}

size_t sxt_base64_decode(uint8_t *to, size_t room, const char *text, size_t size)
{
    bool is_url = false;
    for (size_t i = 0; i < size && !is_url; i++)
        is_url = text[i] == '-' || text[i] == '_';
    return decode(to, room, text, size, is_url);
}

bool sxt_base64url_decode(uint8_t *to, size_t size, const char *text, size_t text_size)
{
    return decode(to, size, text, text_size, true) == size;
}
