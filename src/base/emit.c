/*
 * emit.c: results as JSON Lines or as text.
 *
 * Everything is collected in one buffer that goes out whenever it has grown large, so that a dump of millions of
 * records costs a few copies a field and hardly a system call. Keys are the program's own words and are not escaped;
 * values are somebody else's bytes and always are.
 *
 * In JSON, `depth` is the nesting. In text it says where the next value goes: 1 a line of its own, 2 an array of
 * scalars on one line; each level of something that text does not show adds HIDDEN to it.
 */
#include "base/emit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"

#define FLUSH_SIZE  ((size_t)64 << 10)
#define KEY_COLUMN  14
#define TEXT_RECORD 1
#define TEXT_ARRAY  2
#define HIDDEN      0x100
#define DIGITS_MAX  20 /* of a 64-bit number */

static bool colour_is_welcome(FILE *stream);
static void write_out(struct sxt_emit *emit);
static void write_out_when_large(struct sxt_emit *emit);
static bool begin_value(struct sxt_emit *emit, const char *key);
static void end_value(struct sxt_emit *emit);
static void put_plain(struct sxt_emit *emit, const char *key, const char *text, size_t size);
static void put_json_string(struct sxt_emit *emit, const char *key, sxt_string value);
static void begin_nested(struct sxt_emit *emit, const char *key, char bracket);
static void end_nested(struct sxt_emit *emit, char bracket);
static size_t plain_length(const char *data, size_t size);
static void put_escaped(struct sxt_emit *emit, sxt_string value);

void sxt_emit_init(struct sxt_emit *emit, FILE *stream, bool json)
{
    *emit = (struct sxt_emit){.stream = stream, .json = json, .colour = !json && colour_is_welcome(stream)};
    sxt_buffer_init(&emit->line, PTRDIFF_MAX);
}

int sxt_emit_finish(struct sxt_emit *emit, sxt_error *error)
{
    write_out(emit);
    errno = 0;
    if (!emit->failed && (fflush(emit->stream) != 0 || ferror(emit->stream) != 0)) {
        emit->failed = true;
        emit->reason = errno;
    }
    int status = sxt_buffer_status(&emit->line, error);
    sxt_buffer_free(&emit->line);
    if (status != SXT_OK || !emit->failed)
        return status;
    if (emit->reason == 0)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "cannot write the results");
    return sxt_fail_errno(error, emit->reason, "cannot write the results");
}

void sxt_emit_record(struct sxt_emit *emit)
{
    emit->depth = 1;
    emit->first[1] = true;
    if (emit->json)
        sxt_buffer_u8(&emit->line, '{');
}

void sxt_emit_record_end(struct sxt_emit *emit)
{
    emit->depth = 0;
    if (emit->json)
        sxt_buffer_append(&emit->line, "}\n", 2);
    write_out_when_large(emit);
}

void sxt_emit_string(struct sxt_emit *emit, const char *key, sxt_string value)
{
    if (value.data == NULL) {
        sxt_emit_null(emit, key);
    } else if (emit->json) {
        put_json_string(emit, key, value);
    } else if (begin_value(emit, key)) {
        put_escaped(emit, value);
        end_value(emit);
    }
}

void sxt_emit_cstring(struct sxt_emit *emit, const char *key, const char *value)
{
    sxt_emit_string(emit, key, (sxt_string){value, value != NULL ? strlen(value) : 0});
}

/* Puts the digits before *AT, and moves it there. */
static void put_digits(char **at, uint64_t value)
{
    do
        *--*at = (char)('0' + value % 10);
    while ((value /= 10) != 0);
}

void sxt_emit_number(struct sxt_emit *emit, const char *key, uint64_t value)
{
    char digits[DIGITS_MAX];
    char *at = digits + sizeof digits;
    put_digits(&at, value);
    put_plain(emit, key, at, (size_t)(digits + sizeof digits - at));
}

void sxt_emit_address(struct sxt_emit *emit, const char *key, uint64_t value)
{
    char text[DIGITS_MAX];
    char *at = text + sizeof text;
    if (emit->json)
        *--at = '"';
    do
        *--at = "0123456789abcdef"[value % 16];
    while ((value /= 16) != 0);
    *--at = 'x';
    *--at = '0';
    if (emit->json)
        *--at = '"';
    put_plain(emit, key, at, (size_t)(text + sizeof text - at));
}

void sxt_emit_bool(struct sxt_emit *emit, const char *key, bool value)
{
    const char *word = emit->json ? (value ? "true" : "false") : (value ? "yes" : "no");
    put_plain(emit, key, word, strlen(word));
}

void sxt_emit_null(struct sxt_emit *emit, const char *key)
{
    if (emit->json)
        put_plain(emit, key, "null", 4);
}

void sxt_emit_raw(struct sxt_emit *emit, const char *key, sxt_string json)
{
    if (emit->json)
        put_plain(emit, key, json.data, json.size);
}

void sxt_emit_array(struct sxt_emit *emit, const char *key)
{
    if (emit->json) {
        begin_nested(emit, key, '[');
    } else if (emit->depth == TEXT_RECORD && begin_value(emit, key)) {
        emit->depth = TEXT_ARRAY;
        emit->first[TEXT_ARRAY] = true;
    } else {
        emit->depth += HIDDEN;
    }
}

void sxt_emit_array_end(struct sxt_emit *emit)
{
    if (emit->json) {
        end_nested(emit, ']');
    } else if (emit->depth != TEXT_ARRAY) {
        emit->depth -= HIDDEN;
    } else {
        emit->depth = TEXT_RECORD;
        if (!emit->first[TEXT_ARRAY]) {
            end_value(emit);
            return;
        }
        /* Nothing to show, so the key, which is all there is on this line, goes away again. */
        while (emit->line.size > 0 && emit->line.data[emit->line.size - 1] != '\n')
            emit->line.size--;
    }
}

void sxt_emit_object(struct sxt_emit *emit, const char *key)
{
    if (emit->json)
        begin_nested(emit, key, '{');
    else
        emit->depth += HIDDEN;
}

void sxt_emit_object_end(struct sxt_emit *emit)
{
    if (emit->json)
        end_nested(emit, '}');
    else
        emit->depth -= HIDDEN;
}

void sxt_emit_text(struct sxt_emit *emit, const char *format, ...)
{
    if (emit->json)
        return;
    if (strchr(format, '%') == NULL) {
        sxt_buffer_append(&emit->line, format, strlen(format));
        write_out_when_large(emit);
        return;
    }
    char text[512];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(text, sizeof text, format, arguments);
    if (size >= 0 && (size_t)size < sizeof text) {
        sxt_buffer_append(&emit->line, text, (size_t)size);
    } else if (size >= 0) {
        uint8_t *place = sxt_buffer_reserve(&emit->line, (size_t)size + 1);
        if (place != NULL) {
            vsnprintf((char *)place, (size_t)size + 1, format, again);
            emit->line.size += (size_t)size;
        }
    }
    va_end(again);
    va_end(arguments);
    write_out_when_large(emit);
}

void sxt_emit_name(struct sxt_emit *emit, sxt_string name)
{
    if (emit->json)
        return;
    put_escaped(emit, name);
    write_out_when_large(emit);
}

void sxt_emit_digits(struct sxt_emit *emit, uint64_t value)
{
    char digits[DIGITS_MAX];
    char *at = digits + sizeof digits;
    put_digits(&at, value);
    if (!emit->json)
        sxt_buffer_append(&emit->line, at, (size_t)(digits + sizeof digits - at));
}

static bool colour_is_welcome(FILE *stream)
{
    const char *refused = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    int fd = fileno(stream);
    return (refused == NULL || *refused == '\0') && terminal != NULL && strcmp(terminal, "dumb") != 0 && fd >= 0 &&
           isatty(fd);
}

static void write_out(struct sxt_emit *emit)
{
    struct sxt_buffer *line = &emit->line;
    if (line->failed) {
        emit->failed = true;
        return;
    }
    errno = 0;
    if (line->size > 0 && !emit->failed && fwrite(line->data, 1, line->size, emit->stream) != line->size) {
        emit->failed = true;
        emit->reason = errno;
    }
    sxt_buffer_clear(line);
}

static void write_out_when_large(struct sxt_emit *emit)
{
    if (emit->line.size >= FLUSH_SIZE)
        write_out(emit);
}

/* A level that is too deep for its own mark shares the last one; begin_nested has noted the failure. */
static bool *first_here(struct sxt_emit *emit)
{
    return &emit->first[emit->depth < SXT_EMIT_DEPTH ? emit->depth : SXT_EMIT_DEPTH - 1];
}

/* A comma where one is due, the key, and SIZE bytes for the value. Returns the place of the value, or NULL. */
static uint8_t *put_key_json(struct sxt_emit *emit, const char *key, size_t size)
{
    bool *first = first_here(emit);
    bool comma = !*first;
    *first = false;
    size_t length = key != NULL ? strlen(key) : 0;
    uint8_t *at = sxt_buffer_extend(&emit->line, (comma ? 1 : 0) + (key != NULL ? length + 3 : 0) + size);
    if (at == NULL)
        return NULL;
    if (comma)
        *at++ = ',';
    if (key != NULL) {
        *at++ = '"';
        memcpy(at, key, length);
        at += length;
        *at++ = '"';
        *at++ = ':';
    }
    return at;
}

static void put_key_text(struct sxt_emit *emit, const char *key)
{
    if (key == NULL)
        return;
    if (emit->colour)
        sxt_buffer_append(&emit->line, "\033[1m", 4);
    size_t length = strlen(key);
    sxt_buffer_append(&emit->line, key, length);
    if (emit->colour)
        sxt_buffer_append(&emit->line, "\033[0m", 4);
    size_t spaces = length < KEY_COLUMN ? KEY_COLUMN - length : 1;
    uint8_t *at = sxt_buffer_extend(&emit->line, spaces);
    if (at != NULL)
        memset(at, ' ', spaces);
}

/* What comes before a value. False when the value is not shown. */
static bool begin_value(struct sxt_emit *emit, const char *key)
{
    if (emit->json) {
        put_key_json(emit, key, 0);
    } else if (emit->depth >= HIDDEN) {
        return false;
    } else if (emit->depth == TEXT_ARRAY) {
        if (!emit->first[TEXT_ARRAY])
            sxt_buffer_append(&emit->line, ", ", 2);
        emit->first[TEXT_ARRAY] = false;
    } else {
        put_key_text(emit, key);
    }
    return true;
}

static void end_value(struct sxt_emit *emit)
{
    if (!emit->json && emit->depth == TEXT_ARRAY)
        return;
    if (!emit->json)
        sxt_buffer_u8(&emit->line, '\n');
    write_out_when_large(emit);
}

/* A value that needs no escaping. */
static void put_plain(struct sxt_emit *emit, const char *key, const char *text, size_t size)
{
    if (emit->json) {
        uint8_t *at = put_key_json(emit, key, size);
        if (at != NULL)
            memcpy(at, text, size);
    } else if (begin_value(emit, key)) {
        sxt_buffer_append(&emit->line, text, size);
    } else {
        return;
    }
    end_value(emit);
}

static void put_json_string(struct sxt_emit *emit, const char *key, sxt_string value)
{
    if (plain_length(value.data, value.size) == value.size) {
        uint8_t *at = put_key_json(emit, key, value.size + 2);
        if (at != NULL) {
            *at = '"';
            memcpy(at + 1, value.data, value.size);
            at[value.size + 1] = '"';
        }
    } else {
        put_key_json(emit, key, 0);
        sxt_buffer_u8(&emit->line, '"');
        put_escaped(emit, value);
        sxt_buffer_u8(&emit->line, '"');
    }
    end_value(emit);
}

static void begin_nested(struct sxt_emit *emit, const char *key, char bracket)
{
    uint8_t *at = put_key_json(emit, key, 1);
    if (at != NULL)
        *at = (uint8_t)bracket;
    emit->depth++;
    *first_here(emit) = true;
    if (emit->depth >= SXT_EMIT_DEPTH)
        emit->failed = true;
}

static void end_nested(struct sxt_emit *emit, char bracket)
{
    sxt_buffer_u8(&emit->line, (uint8_t)bracket);
    emit->depth--;
    end_value(emit);
}

/* Sixteen bytes at a time, in whatever vectors the machine has. */
typedef uint8_t sixteen __attribute__((vector_size(16)));

/* True when one of the bytes is a control character, '"', '\\', DEL, or not ASCII. */
static bool needs_care(const char *data)
{
    sixteen bytes;
    memcpy(&bytes, data, sizeof bytes);
    sixteen found = (sixteen)((bytes < 0x20) | (bytes >= 0x7f) | (bytes == '"') | (bytes == '\\'));
    uint64_t halves[2];
    memcpy(halves, &found, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

/* How many bytes from the start can be copied as they are. */
static size_t plain_length(const char *data, size_t size)
{
    size_t at = 0;
    while (size - at >= sizeof(sixteen) && !needs_care(data + at))
        at += sizeof(sixteen);
    /* What is left of a longer string, together with some bytes for the second time. */
    if (size >= sizeof(sixteen) && size - at < sizeof(sixteen) && !needs_care(data + size - sizeof(sixteen)))
        return size;
    while (at < size && is_plain((unsigned char)data[at]))
        at++;
    return at;
}

static void put_hex_escape(struct sxt_emit *emit, const char *prefix, unsigned char byte)
{
    const char digits[2] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    sxt_buffer_append(&emit->line, prefix, strlen(prefix));
    sxt_buffer_append(&emit->line, digits, sizeof digits);
}

/* One ASCII character that plain_length stopped at. */
static void put_ascii(struct sxt_emit *emit, unsigned char byte)
{
    static const char controls[] = "\b\t\n\f\r", short_forms[] = "btnfr";
    const char *control = byte != 0 ? strchr(controls, byte) : NULL;
    char pair[2] = {'\\', (char)byte};
    if (control != NULL && emit->json) {
        pair[1] = short_forms[control - controls];
        sxt_buffer_append(&emit->line, pair, 2);
    } else if (byte < 0x20 || byte == 0x7f) {
        put_hex_escape(emit, emit->json ? "\\u00" : "\\x", byte);
    } else if (emit->json && !is_plain(byte)) {
        sxt_buffer_append(&emit->line, pair, 2);
    } else {
        sxt_buffer_u8(&emit->line, byte);
    }
}

/* One character of valid UTF-8 above ASCII; control characters among them are U+0080 to U+009F. Returns its size. */
static size_t put_character(struct sxt_emit *emit, const char *data)
{
    unsigned char lead = (unsigned char)data[0], second = (unsigned char)data[1];
    size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead != 0xc2 || second >= 0xa0) {
        sxt_buffer_append(&emit->line, data, size);
    } else if (emit->json) {
        put_hex_escape(emit, "\\u00", second);
    } else {
        put_hex_escape(emit, "\\x", lead);
        put_hex_escape(emit, "\\x", second);
    }
    return size;
}

/* The string as it may be shown. UTF-8 is checked up to the next bad byte, and only where there is more than ASCII. */
static void put_escaped(struct sxt_emit *emit, sxt_string value)
{
    size_t at = 0, valid = 0;
    while (at < value.size) {
        size_t plain = plain_length(value.data + at, value.size - at);
        sxt_buffer_append(&emit->line, value.data + at, plain);
        at += plain;
        if (at == value.size)
            return;
        unsigned char byte = (unsigned char)value.data[at];
        if (byte < 0x80) {
            put_ascii(emit, byte);
            at++;
            continue;
        }
        if (at >= valid)
            valid = at + sxt_utf8_valid(value.data + at, value.size - at);
        if (at < valid) {
            at += put_character(emit, value.data + at);
        } else {
            if (emit->json)
                sxt_buffer_append(&emit->line, "\xef\xbf\xbd", 3);
            else
                put_hex_escape(emit, "\\x", byte);
            at++;
        }
    }
}
