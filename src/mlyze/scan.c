/* scan.c: JSON (RFC 8259) without a tree and without recursion. */
#include "mlyze/scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

int sxt_scan_fail(struct sxt_scan *scan, size_t position, const char *format, ...)
{
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return sxt_fail(scan->error, SXT_ERROR_FORMAT, position, "metadata: %s", text);
}

int sxt_scan_peek(struct sxt_scan *scan)
{
    while (scan->position < scan->size) {
        char c = scan->text[scan->position];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return (unsigned char)c;
        scan->position++;
    }
    return -1;
}

bool sxt_scan_take(struct sxt_scan *scan, char c)
{
    bool there = sxt_scan_peek(scan) == c;
    scan->position += there;
    return there;
}

int sxt_scan_begin(struct sxt_scan *scan, char open, const char *what)
{
    if (sxt_scan_take(scan, open))
        return SXT_OK;
    return sxt_scan_fail(scan, scan->position, "%s is no %s", what, open == '{' ? "object" : "array");
}

int sxt_scan_more(struct sxt_scan *scan, char close, bool *first, bool *more)
{
    bool begins = *first;
    *first = false;
    *more = !sxt_scan_take(scan, close);
    if (!*more || begins || sxt_scan_take(scan, ','))
        return SXT_OK;
    return sxt_scan_fail(scan, scan->position, "expected ',' or '%c'", close);
}

/* Steps over a string, with its quotes. */
static int skip_string(struct sxt_scan *scan, bool *escaped)
{
    static const char escapes[] = "\"\\/bfnrtu";
    const char *text = scan->text;
    *escaped = false;
    for (size_t at = scan->position + 1; at < scan->size; at++) {
        unsigned char c = (unsigned char)text[at];
        if (c == '"') {
            scan->position = at + 1;
            return SXT_OK;
        }
        if (c < 0x20)
            return sxt_scan_fail(scan, at, "a control character in a string");
        if (c != '\\')
            continue;
        *escaped = true;
        at++;
        if (at == scan->size || text[at] == 0 || strchr(escapes, text[at]) == NULL)
            return sxt_scan_fail(scan, at, "unknown escape");
        for (size_t i = 1; text[at] == 'u' && i <= 4; i++)
            if (at + i >= scan->size || text[at + i] == 0 || strchr("0123456789abcdefABCDEF", text[at + i]) == NULL)
                return sxt_scan_fail(scan, at, "expected four hexadecimal digits");
    }
    return sxt_scan_fail(scan, scan->size, "ends inside a string");
}

static int read_string(struct sxt_scan *scan, sxt_string *out)
{
    size_t start = scan->position;
    bool escaped;
    int status = skip_string(scan, &escaped);
    if (status != SXT_OK)
        return status;
    *out = (sxt_string){scan->text + start + 1, scan->position - start - 2};
    if (!escaped)
        return SXT_OK;
    sxt_string quoted = {scan->text + start, scan->position - start};
    char *mended = sxt_scan_mend_surrogates(scan->arena, quoted);
    struct sxt_json *value;
    if (mended == NULL)
        return sxt_fail_memory(scan->error, quoted.size);
    status = sxt_json_parse(mended, quoted.size, (struct sxt_json_limits){1, 1}, scan->arena, &value, scan->error);
    if (status == SXT_OK)
        *out = value->string;
    return status;
}

int sxt_scan_string(struct sxt_scan *scan, const char *what, sxt_string *out)
{
    if (sxt_scan_peek(scan) != '"')
        return sxt_scan_fail(scan, scan->position, "%s is no string", what);
    return read_string(scan, out);
}

int sxt_scan_key(struct sxt_scan *scan, sxt_string *key, size_t *position)
{
    bool quoted = sxt_scan_peek(scan) == '"';
    *position = scan->position;
    if (!quoted)
        return sxt_scan_fail(scan, scan->position, "expected a key in quotes");
    int status = read_string(scan, key);
    if (status != SXT_OK || sxt_scan_take(scan, ':'))
        return status;
    return sxt_scan_fail(scan, scan->position, "expected ':' behind a key");
}

static bool is_digit(const struct sxt_scan *scan)
{
    return scan->position < scan->size && scan->text[scan->position] >= '0' && scan->text[scan->position] <= '9';
}

static bool take_one_of(struct sxt_scan *scan, const char *choices)
{
    bool there = scan->position < scan->size && scan->text[scan->position] != 0 &&
                 strchr(choices, scan->text[scan->position]) != NULL;
    scan->position += there;
    return there;
}

static bool skip_digits(struct sxt_scan *scan)
{
    size_t start = scan->position;
    while (is_digit(scan))
        scan->position++;
    return scan->position > start;
}

static int skip_number(struct sxt_scan *scan)
{
    take_one_of(scan, "-");
    bool good = take_one_of(scan, "0") || skip_digits(scan);
    if (good && take_one_of(scan, "."))
        good = skip_digits(scan);
    if (good && take_one_of(scan, "eE")) {
        take_one_of(scan, "+-");
        good = skip_digits(scan);
    }
    return good ? SXT_OK : sxt_scan_fail(scan, scan->position, "expected a value");
}

static bool take_word(struct sxt_scan *scan, const char *word)
{
    size_t length = strlen(word);
    bool there = scan->size - scan->position >= length && memcmp(scan->text + scan->position, word, length) == 0;
    scan->position += there ? length : 0;
    return there;
}

int sxt_scan_unsigned(struct sxt_scan *scan, const char *what, uint64_t *out)
{
    sxt_scan_peek(scan);
    size_t start = scan->position;
    if (take_word(scan, "null"))
        return SXT_OK;
    if (!is_digit(scan))
        return sxt_scan_fail(scan, start, "%s is no number from 0 on", what);
    int status = skip_number(scan);
    if (status != SXT_OK)
        return status;
    uint64_t value = 0;
    for (size_t i = start; i < scan->position; i++) {
        if (scan->text[i] < '0' || scan->text[i] > '9')
            return sxt_scan_fail(scan, start, "%s is no whole number", what);
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(scan->text[i] - '0'), &value)) {
            value = UINT64_MAX;
            break;
        }
    }
    *out = value;
    return SXT_OK;
}

static int skip_scalar(struct sxt_scan *scan)
{
    bool escaped;
    if (sxt_scan_peek(scan) == '"')
        return skip_string(scan, &escaped);
    if (take_word(scan, "null") || take_word(scan, "true") || take_word(scan, "false"))
        return SXT_OK;
    return skip_number(scan);
}

/* Behind a value: closes what ends here. *DONE when that was all, otherwise another value follows. */
static int close_all(struct sxt_scan *scan, const char *open, unsigned *depth, bool *done)
{
    sxt_string key;
    size_t position;
    while (*depth > 0) {
        char close = open[*depth - 1] == '{' ? '}' : ']';
        bool first = false, more;
        int status = sxt_scan_more(scan, close, &first, &more);
        if (status != SXT_OK)
            return status;
        if (more)
            return close == '}' ? sxt_scan_key(scan, &key, &position) : SXT_OK;
        --*depth;
    }
    *done = true;
    return SXT_OK;
}

int sxt_scan_skip(struct sxt_scan *scan, sxt_string *out)
{
    char open[SXT_SCAN_DEPTH];
    unsigned depth = 0;
    sxt_string key;
    size_t key_position;
    sxt_scan_peek(scan);
    size_t start = scan->position;
    for (bool done = false; !done;) {
        int c = sxt_scan_peek(scan), status = SXT_OK;
        bool complete = true;
        if (c == '{' || c == '[') {
            if (depth == SXT_SCAN_DEPTH)
                return sxt_fail(scan->error, SXT_ERROR_LIMIT, scan->position,
                                "metadata: nested more than %d levels deep", SXT_SCAN_DEPTH);
            scan->position++;
            complete = sxt_scan_take(scan, c == '{' ? '}' : ']');
            if (!complete)
                open[depth++] = (char)c;
            if (!complete && c == '{')
                status = sxt_scan_key(scan, &key, &key_position);
        } else {
            status = skip_scalar(scan);
        }
        if (status == SXT_OK && complete)
            status = close_all(scan, open, &depth, &done);
        if (status != SXT_OK)
            return status;
    }
    *out = (sxt_string){scan->text + start, scan->position - start};
    return SXT_OK;
}

/* The value of "\uXXXX" at AT, or 0 when it is something else. */
static unsigned unit_at(const char *text, size_t size, size_t at)
{
    unsigned unit = 0;
    if (size - at < 6 || text[at] != '\\' || text[at + 1] != 'u')
        return 0;
    for (size_t i = 2; i < 6; i++) {
        char c = text[at + i];
        unit = unit << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return unit;
}

char *sxt_scan_mend_surrogates(struct sxt_arena *arena, sxt_string json)
{
    char *copy = sxt_arena_copy(arena, json.data, json.size);
    for (size_t i = 0; copy != NULL && i < json.size; i++) {
        if (copy[i] != '\\')
            continue;
        unsigned unit = unit_at(copy, json.size, i);
        unsigned low = unit >= 0xd800 && unit < 0xdc00 ? unit_at(copy, json.size, i + 6) : 0;
        if (low >= 0xdc00 && low < 0xe000)
            i += 11;
        else if (unit >= 0xd800 && unit < 0xe000)
            memcpy(copy + i + 2, "fffd", 4);
        else
            i++;
    }
    return copy;
}
