/* json_reader.c: JSON (RFC 8259) a piece at a time, without a tree and without recursion. */
#include "base/json_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/utf8.h"

static int read_quoted(struct sxt_json_reader *reader, sxt_string *out);
static int skip_string(struct sxt_json_reader *reader, bool *has_escapes);
static int decode_string(struct sxt_json_reader *reader, size_t start, size_t end, sxt_string *out);

int sxt_json_reader_init(struct sxt_json_reader *reader, const char *subject, const char *text, size_t size,
                         struct sxt_arena *arena, sxt_error *error)
{
    *reader = (struct sxt_json_reader){.text = text, .size = size, .subject = subject, .arena = arena, .error = error};
    size_t valid = sxt_utf8_valid(text, size);
    return valid == size ? SXT_OK : sxt_json_read_fail(reader, valid, "not UTF-8");
}

int sxt_json_read_fail(struct sxt_json_reader *reader, size_t position, const char *format, ...)
{
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return sxt_fail(reader->error, SXT_ERROR_FORMAT, position, "%s: %s", reader->subject, text);
}

int sxt_json_read_no_memory(struct sxt_json_reader *reader, size_t wanted)
{
    const struct sxt_arena *arena = reader->arena;
    if (arena->limit != 0 && wanted > arena->limit - arena->used)
        return sxt_fail(reader->error, SXT_ERROR_LIMIT, reader->position, "%s: needs more than %zu bytes of memory",
                        reader->subject, arena->limit);
    return sxt_fail_memory(reader->error, wanted);
}

static int fail_here(struct sxt_json_reader *reader, const char *problem)
{
    return sxt_json_read_fail(reader, reader->position, "%s", problem);
}

int sxt_json_read_begin(struct sxt_json_reader *reader, char open, const char *what)
{
    reader->first = true;
    if (sxt_json_read_take(reader, open))
        return SXT_OK;
    return sxt_json_read_fail(reader, reader->position, "%s is not an %s", what, open == '{' ? "object" : "array");
}

int sxt_json_read_more(struct sxt_json_reader *reader, char close, bool *more)
{
    bool begins = reader->first;
    reader->first = false;
    *more = !sxt_json_read_take(reader, close);
    if (!*more || begins || sxt_json_read_take(reader, ','))
        return SXT_OK;
    return sxt_json_read_fail(reader, reader->position, "expected ',' or '%c'", close);
}

int sxt_json_read_key(struct sxt_json_reader *reader, sxt_string *key, sxt_string *quoted)
{
    if (sxt_json_read_peek(reader) != '"')
        return fail_here(reader, "expected a key in quotes");
    size_t start = reader->position;
    int status = read_quoted(reader, key);
    if (quoted != NULL)
        *quoted = (sxt_string){reader->text + start, reader->position - start};
    if (status != SXT_OK || sxt_json_read_take(reader, ':'))
        return status;
    return fail_here(reader, "expected ':' after a key");
}

int sxt_json_read_string(struct sxt_json_reader *reader, const char *what, sxt_string *out)
{
    if (sxt_json_read_peek(reader) != '"')
        return sxt_json_read_fail(reader, reader->position, "%s is not a string", what);
    return read_quoted(reader, out);
}

int sxt_json_read_end(struct sxt_json_reader *reader)
{
    return sxt_json_read_peek(reader) < 0 ? SXT_OK : fail_here(reader, "unexpected text after the value");
}

/* --- words and numbers --- */

bool sxt_json_read_word(struct sxt_json_reader *reader, const char *word)
{
    size_t length = strlen(word);
    bool there = sxt_json_read_peek(reader) == (unsigned char)word[0] && reader->size - reader->position >= length &&
                 memcmp(reader->text + reader->position, word, length) == 0;
    reader->position += there ? length : 0;
    return there;
}

static bool is_digit(const struct sxt_json_reader *reader)
{
    return reader->position < reader->size && reader->text[reader->position] >= '0' &&
           reader->text[reader->position] <= '9';
}

/* Takes C without skipping white space. */
static bool take_here(struct sxt_json_reader *reader, char c)
{
    bool there = reader->position < reader->size && reader->text[reader->position] == c;
    reader->position += there;
    return there;
}

/* Returns false when there is no digit. */
static bool skip_digits(struct sxt_json_reader *reader)
{
    size_t start = reader->position;
    while (is_digit(reader))
        reader->position++;
    return reader->position > start;
}

int sxt_json_read_number(struct sxt_json_reader *reader, sxt_string *out, bool *is_integer)
{
    sxt_json_read_peek(reader);
    size_t start = reader->position;
    bool is_negative = take_here(reader, '-');
    if (!take_here(reader, '0') && !skip_digits(reader))
        return fail_here(reader, is_negative ? "expected a digit" : "expected a value");
    *is_integer = true;
    if (take_here(reader, '.')) {
        *is_integer = false;
        if (!skip_digits(reader))
            return fail_here(reader, "expected a digit after the decimal point");
    }
    if (take_here(reader, 'e') || take_here(reader, 'E')) {
        *is_integer = false;
        if (!take_here(reader, '+'))
            take_here(reader, '-');
        if (!skip_digits(reader))
            return fail_here(reader, "expected a digit in the exponent");
    }
    *out = (sxt_string){reader->text + start, reader->position - start};
    return SXT_OK;
}

int sxt_json_read_unsigned(struct sxt_json_reader *reader, const char *what, uint64_t *out)
{
    if (sxt_json_read_word(reader, "null"))
        return SXT_OK;
    size_t start = reader->position;
    if (!is_digit(reader))
        return sxt_json_read_fail(reader, start, "%s is not a number of 0 or more", what);
    sxt_string digits;
    bool is_integer;
    int status = sxt_json_read_number(reader, &digits, &is_integer);
    if (status != SXT_OK)
        return status;
    if (!is_integer)
        return sxt_json_read_fail(reader, start, "%s is not an integer", what);
    uint64_t value = 0;
    for (size_t i = 0; i < digits.size; i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(digits.data[i] - '0'), &value)) {
            value = UINT64_MAX;
            break;
        }
    }
    *out = value;
    return SXT_OK;
}

/* --- strings --- */

static int read_quoted(struct sxt_json_reader *reader, sxt_string *out)
{
    size_t start = reader->position + 1;
    bool has_escapes;
    int status = skip_string(reader, &has_escapes);
    if (status != SXT_OK)
        return status;
    size_t end = reader->position - 1;
    if (has_escapes)
        return decode_string(reader, start, end, out);
    *out = (sxt_string){reader->text + start, end - start};
    return SXT_OK;
}

/* Reads the four digits of a \u escape at AT; returns how many of them are hexadecimal. */
static unsigned read_unit(const struct sxt_json_reader *reader, size_t at, uint32_t *unit)
{
    unsigned count = 0;
    *unit = 0;
    for (; count < 4 && at + count < reader->size; count++) {
        int digit = sxt_hex_digit(reader->text[at + count]);
        if (digit < 0)
            break;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return count;
}

/* Checks the escape whose backslash is before AT. Returns the position of its last character, SIZE_MAX on failure. */
static size_t check_escape(struct sxt_json_reader *reader, size_t at)
{
    static const char letters[] = "\"\\/bfnrtu";
    uint32_t unit;
    if (at >= reader->size || memchr(letters, reader->text[at], sizeof letters - 1) == NULL) {
        sxt_json_read_fail(reader, at, "unknown escape");
        return SIZE_MAX;
    }
    if (reader->text[at] != 'u')
        return at;
    unsigned digits = read_unit(reader, at + 1, &unit);
    if (digits == 4)
        return at + 4;
    sxt_json_read_fail(reader, at + 1 + digits, "expected four hexadecimal digits");
    return SIZE_MAX;
}

/* Steps over a string, with its quotes. */
static int skip_string(struct sxt_json_reader *reader, bool *has_escapes)
{
    const char *text = reader->text;
    const size_t size = reader->size;
    *has_escapes = false;
    for (size_t at = reader->position + 1; at < size; at++) {
        unsigned char c = (unsigned char)text[at];
        if (c == '"') {
            reader->position = at + 1;
            return SXT_OK;
        }
        if (c < 0x20)
            return sxt_json_read_fail(reader, at, "a control character in a string");
        if (c != '\\')
            continue;
        *has_escapes = true;
        at = check_escape(reader, at + 1);
        if (at == SIZE_MAX)
            return SXT_ERROR_FORMAT;
    }
    return sxt_json_read_fail(reader, size, "ends inside a string");
}

/* The character of the escape with four digits at *AT, or of two that make a surrogate pair. Steps over them. */
static int decode_unicode(struct sxt_json_reader *reader, size_t *at, uint32_t *code)
{
    size_t start = *at;
    uint32_t low;
    read_unit(reader, start, code);
    *at += 4;
    if (*code < 0xd800 || *code >= 0xe000)
        return SXT_OK;
    bool is_high = *code < 0xdc00 && reader->text[*at] == '\\' && reader->text[*at + 1] == 'u';
    if (is_high && read_unit(reader, *at + 2, &low) == 4 && low >= 0xdc00 && low < 0xe000) {
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
        return SXT_OK;
    }
    if (!reader->replace_surrogates)
        return sxt_json_read_fail(reader, start, "half of a surrogate pair");
    *code = 0xfffd;
    return SXT_OK;
}

/* Decodes the text from START to END, whose escapes are checked. None is shorter than the character that it gives. */
static int decode_string(struct sxt_json_reader *reader, size_t start, size_t end, sxt_string *out)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char *copy = sxt_arena_copy(reader->arena, reader->text + start, end - start);
    if (copy == NULL)
        return sxt_json_read_no_memory(reader, end - start + 1);
    char *to = copy;
    for (size_t at = start; at < end;) {
        char c = reader->text[at++];
        if (c != '\\') {
            *to++ = c;
            continue;
        }
        c = reader->text[at++];
        if (c != 'u') {
            *to++ = meanings[(const char *)memchr(letters, c, sizeof letters - 1) - letters];
            continue;
        }
        uint32_t code;
        int status = decode_unicode(reader, &at, &code);
        if (status != SXT_OK)
            return status;
        to += sxt_utf8_encode(to, code);
    }
    *to = '\0';
    *out = (sxt_string){copy, (size_t)(to - copy)};
    return SXT_OK;
}

/* --- any value --- */

static int skip_key(struct sxt_json_reader *reader)
{
    bool has_escapes;
    if (sxt_json_read_peek(reader) != '"')
        return fail_here(reader, "expected a key in quotes");
    int status = skip_string(reader, &has_escapes);
    if (status != SXT_OK || sxt_json_read_take(reader, ':'))
        return status;
    return fail_here(reader, "expected ':' after a key");
}

static int skip_scalar(struct sxt_json_reader *reader)
{
    bool ignored;
    sxt_string number;
    if (sxt_json_read_peek(reader) == '"')
        return skip_string(reader, &ignored);
    if (sxt_json_read_word(reader, "null") || sxt_json_read_word(reader, "true") || sxt_json_read_word(reader, "false"))
        return SXT_OK;
    return sxt_json_read_number(reader, &number, &ignored);
}

/* After a value: closes what ends here. Sets *DONE when that was all; otherwise another value follows. */
static int close_all(struct sxt_json_reader *reader, const char *open, unsigned *depth, bool *done)
{
    while (*depth > 0) {
        bool more;
        char close = open[*depth - 1] == '{' ? '}' : ']';
        int status = sxt_json_read_more(reader, close, &more);
        if (status != SXT_OK)
            return status;
        if (more)
            return close == '}' ? skip_key(reader) : SXT_OK;
        --*depth;
    }
    *done = true;
    return SXT_OK;
}

int sxt_json_read_skip(struct sxt_json_reader *reader, sxt_string *out)
{
    char open[SXT_JSON_SKIP_DEPTH];
    unsigned depth = 0;
    sxt_json_read_peek(reader);
    size_t start = reader->position;
    for (bool done = false; !done;) {
        int c = sxt_json_read_peek(reader), status = SXT_OK;
        bool complete = true;
        if (c == '{' || c == '[') {
            if (depth == SXT_JSON_SKIP_DEPTH)
                return sxt_fail(reader->error, SXT_ERROR_LIMIT, reader->position, "%s: nested more than %d levels deep",
                                reader->subject, SXT_JSON_SKIP_DEPTH);
            reader->position++;
            complete = sxt_json_read_take(reader, c == '{' ? '}' : ']');
            if (!complete)
                open[depth++] = (char)c;
            if (!complete && c == '{')
                status = skip_key(reader);
        } else {
            status = skip_scalar(reader);
        }
        reader->first = false;
        if (status == SXT_OK && complete)
            status = close_all(reader, open, &depth, &done);
        if (status != SXT_OK)
            return status;
    }
    if (out != NULL)
        *out = (sxt_string){reader->text + start, reader->position - start};
    return SXT_OK;
}
