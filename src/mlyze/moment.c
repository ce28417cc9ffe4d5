/* moment.c: parses times and durations. */
#include <string.h>

#include "base/bytes.h"
#include "mlyze/analysis.h"

static const struct {
    const char *name;
    uint64_t microseconds;
} units[] = {{"us", 1},         {"ms", 1000},    {"s", 1000000},   {"sec", 1000000},
             {"min", 60000000}, {"m", 60000000}, {"h", 3600000000}};

/* Digits with at most one decimal point. Fractions of a microsecond are cut off. */
static bool parse_number(const char **text, uint64_t unit, uint64_t *out)
{
    const char *at = *text;
    uint64_t value = 0;
    bool has_digits = false;
    for (; *at >= '0' && *at <= '9'; at++, has_digits = true)
        if (!sxt_mul_u64(value, 10, &value) || !sxt_add_u64(value, (uint64_t)(*at - '0'), &value))
            return false;
    if (!sxt_mul_u64(value, unit, &value))
        return false;
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9'; at++, has_digits = true) {
            unit /= 10;
            if (!sxt_add_u64(value, (uint64_t)(*at - '0') * unit, &value))
                return false;
        }
    }
    *text = at;
    *out = value;
    return has_digits;
}

static bool parse(const char *text, bool *has_unit, uint64_t *out)
{
    size_t digits = strspn(text, "0123456789.");
    *has_unit = text[digits] != 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(text + digits, units[i].name) != 0 && (*has_unit || i > 0))
            continue;
        return parse_number(&text, units[i].microseconds, out) && (*text == 0 || strcmp(text, units[i].name) == 0);
    }
    return false;
}

bool sxt_heap_parse_duration(const char *text, uint64_t *microseconds)
{
    bool has_unit;
    return parse(text, &has_unit, microseconds);
}

sxt_heap_moment sxt_heap_moment_of(const char *text, uint64_t start)
{
    sxt_heap_moment moment = {.kind = SXT_HEAP_MOMENT_TIME};
    bool has_unit;
    bool is_relative = text[0] == '+';
    if (parse(text + is_relative, &has_unit, &moment.time)) {
        is_relative |= has_unit;
        if (is_relative && !sxt_add_u64(start, moment.time, &moment.time))
            moment.time = UINT64_MAX;
        return moment;
    }
    return (sxt_heap_moment){.kind = SXT_HEAP_MOMENT_MARKER, .marker = {text, strlen(text)}};
}
