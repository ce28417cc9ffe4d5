/* byte_count.c: numbers of bytes as people write them. */
#include "base/byte_count.h"

static double unit_of(char letter)
{
    switch (letter) {
    case 'k':
    case 'K':
        return 1024.0;
    case 'm':
    case 'M':
        return 1024.0 * 1024;
    case 'g':
    case 'G':
        return 1024.0 * 1024 * 1024;
    default:
        return 0;
    }
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What may follow the digits: "k", "kb", "KiB", "b". */
static bool parse_unit(const char *at, const char *end, double *unit)
{
    *unit = 1;
    if (at < end && unit_of(*at) != 0) {
        *unit = unit_of(*at++);
        if (at + 1 < end && *at == 'i')
            at++;
    }
    if (at < end && (*at == 'b' || *at == 'B'))
        at++;
    return at == end;
}

bool sxt_byte_count_parse_hexadecimal(const char *text, size_t size, uint64_t *out)
{
    const char *at = text, *end = text + size;
    *out = 0;
    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
        at += 2;
    if (at == end || end - at > 16)
        return false;
    for (; at < end; at++) {
        char c = *at | 0x20;
        if (!is_digit(*at) && (c < 'a' || c > 'f'))
            return false;
        *out = *out << 4 | (uint64_t)(is_digit(*at) ? *at - '0' : c - 'a' + 10);
    }
    return true;
}

bool sxt_byte_count_parse(const char *text, size_t size, double *out)
{
    const char *at = text, *end = text + size;
    bool negative = at < end && *at == '-';
    at += negative || (at < end && *at == '+') ? 1 : 0;
    uint64_t hexadecimal;
    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        bool good = sxt_byte_count_parse_hexadecimal(at, (size_t)(end - at), &hexadecimal);
        *out = negative ? -(double)hexadecimal : (double)hexadecimal;
        return good;
    }
    double value = 0, scale = 1, unit;
    const char *digits = at;
    for (; at < end && is_digit(*at) && at - digits < 20; at++)
        value = value * 10 + (*at - '0');
    if (at == digits)
        return false;
    if (at + 1 < end && *at == '.' && is_digit(at[1]))
        for (at++; at < end && is_digit(*at) && scale > 1e-12; at++)
            value += (*at - '0') * (scale /= 10);
    *out = 0;
    if (!parse_unit(at, end, &unit))
        return false;
    *out = negative ? -value * unit : value * unit;
    return true;
}
