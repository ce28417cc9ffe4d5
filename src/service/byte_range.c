/* byte_range.c: parses ranges and lists of entity tags (RFC 9110). */
#include "service/byte_range.h"

#include <string.h>

#include "base/bytes.h"

static bool parse_number(const char **text, uint64_t *value)
{
    const char *at = *text;
    uint64_t sum = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (!sxt_mul_u64(sum, 10, &sum) || !sxt_add_u64(sum, (uint64_t)(*at - '0'), &sum))
            return false;
    bool is_number = at > *text;
    *text = at;
    *value = sum;
    return is_number;
}

enum sxt_byte_range sxt_byte_range_parse(const char *text, uint64_t total, uint64_t *start, uint64_t *size)
{
    uint64_t first = 0, last = 0;
    if (strncmp(text, "bytes=", 6) != 0)
        return SXT_RANGE_WHOLE;
    text += 6;
    bool has_first = parse_number(&text, &first);
    if (*text != '-')
        return SXT_RANGE_WHOLE;
    text++;
    bool has_last = parse_number(&text, &last);
    if (*text != 0 || (!has_first && !has_last) || (has_first && has_last && last < first))
        return SXT_RANGE_WHOLE;
    if (has_first ? first >= total : last == 0 || total == 0)
        return SXT_RANGE_BEYOND;
    *start = has_first ? first : last < total ? total - last : 0;
    *size = total - *start;
    if (has_first && has_last && last - first < *size)
        *size = last - first + 1;
    return SXT_RANGE_PART;
}

bool sxt_etag_is_in(const char *list, const char *etag)
{
    size_t size = strlen(etag);
    for (const char *at = list; *at != 0;) {
        at += strspn(at, " \t,");
        if (at[0] == 'W' && at[1] == '/')
            at += 2;
        if (*at == '*')
            return true;
        if (strncmp(at, etag, size) == 0 && (at[size] == 0 || strchr(" \t,", at[size]) != NULL))
            return true;
        at += strcspn(at, ",");
    }
    return false;
}
