/* text.c: lines, words and numbers of a linker map. */
#include <string.h>

#include "base/hex.h"
#include "source/linker_map/builder.h"

bool sxt_map_lines_next(struct sxt_map_lines *lines, sxt_string *line)
{
    if (lines->next == lines->end)
        return false;
    size_t left = (size_t)(lines->end - lines->next);
    const char *newline = memchr(lines->next, '\n', left);
    size_t size = newline == NULL ? left : (size_t)(newline - lines->next);
    *line = (sxt_string){lines->next, size};
    lines->next = newline == NULL ? lines->end : newline + 1;
    lines->number++;
    if (size > 0 && line->data[size - 1] == '\r')
        line->size--;
    return true;
}

sxt_string sxt_map_trim(sxt_string string)
{
    while (string.size > 0 && string.data[0] == ' ')
        string = sxt_map_cut(string, 1);
    while (string.size > 0 && string.data[string.size - 1] == ' ')
        string.size--;
    return string;
}

sxt_string sxt_map_cut(sxt_string string, size_t count)
{
    return (sxt_string){string.data + count, string.size - count};
}

int sxt_map_number(sxt_string *text, unsigned base, uint64_t *value)
{
    const char *at = text->data;
    const char *end = at + text->size;
    while (at < end && *at == ' ')
        at++;
    if (base == 16 && end - at >= 2 && at[0] == '0' && at[1] == 'x')
        at += 2;
    const char *digits = at;
    uint64_t number = 0;
    bool overflow = false;
    for (; at < end && *at != ' '; at++) {
        /* -1 becomes a large number. */
        unsigned digit = (unsigned)sxt_hex_digit(*at);
        if (digit >= base)
            return 0;
        overflow = overflow || number > (UINT64_MAX - digit) / base;
        number = number * base + digit;
    }
    if (at == digits)
        return 0;
    *value = number;
    *text = (sxt_string){at, (size_t)(end - at)};
    return overflow ? -1 : 1;
}
