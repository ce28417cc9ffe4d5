/*
 * emit.c: results as JSON Lines or as text.
 *
 * Everything is collected in one buffer that goes out whenever it has grown large, so that a dump of millions of
 * records costs a few copies per field and few system calls. Keys are the program's own words and are not escaped;
 * values come from files and always are.
 *
 * In text, `depth` says where the next value goes: TEXT_RECORD its own line, TEXT_ARRAY a list of scalars on one
 * line; each level of something that text does not show adds HIDDEN to it.
 */
#include "base/emit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/string.h"

#define FLUSH_SIZE  ((size_t)64 << 10)
#define KEY_COLUMN  14
#define TEXT_RECORD 1
#define TEXT_ARRAY  2
#define HIDDEN      0x100

static bool wants_colour(FILE *stream);
static void write_out(struct sxt_emit *emit);
static void write_out_when_large(struct sxt_emit *emit);
static bool begin_text(struct sxt_emit *emit, const char *key);
static void end_text(struct sxt_emit *emit);
static void put_text(struct sxt_emit *emit, const char *key, const char *text, size_t size);

void sxt_emit_init(struct sxt_emit *emit, FILE *stream, bool json)
{
    *emit = (struct sxt_emit){.stream = stream, .json = json, .colour = !json && wants_colour(stream)};
    sxt_buffer_init(&emit->line, PTRDIFF_MAX);
    emit->writer = sxt_json_writer_make(&emit->line, SXT_JSON_COMPACT);
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
    if (emit->json) {
        emit->writer.depth = 0;
        emit->writer.state = SXT_JSON_AT_FIRST;
        sxt_json_write_begin(&emit->writer, NULL, '{');
    } else {
        emit->depth = TEXT_RECORD;
    }
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
        sxt_json_write_string(&emit->writer, key, value);
        write_out_when_large(emit);
    } else if (begin_text(emit, key)) {
        sxt_escape_text(&emit->line, value);
        end_text(emit);
    }
}

void sxt_emit_cstring(struct sxt_emit *emit, const char *key, const char *value)
{
    sxt_emit_string(emit, key, sxt_string_of(value));
}

void sxt_emit_number(struct sxt_emit *emit, const char *key, uint64_t value)
{
    if (emit->json) {
        sxt_json_write_number(&emit->writer, key, value);
        write_out_when_large(emit);
    } else {
        char digits[SXT_DIGITS_MAX];
        char *end = digits + sizeof digits, *at = sxt_digits_before(end, value);
        put_text(emit, key, at, (size_t)(end - at));
    }
}

void sxt_emit_known(struct sxt_emit *emit, const char *key, uint64_t value)
{
    if (value != 0)
        sxt_emit_number(emit, key, value);
    else
        sxt_emit_null(emit, key);
}

void sxt_emit_address(struct sxt_emit *emit, const char *key, uint64_t value)
{
    if (emit->json) {
        sxt_json_write_address(&emit->writer, key, value);
        write_out_when_large(emit);
    } else {
        char digits[SXT_DIGITS_MAX];
        char *end = digits + sizeof digits, *at = sxt_address_before(end, value);
        put_text(emit, key, at, (size_t)(end - at));
    }
}

void sxt_emit_bool(struct sxt_emit *emit, const char *key, bool value)
{
    if (emit->json)
        sxt_json_write_bool(&emit->writer, key, value);
    else
        put_text(emit, key, value ? "yes" : "no", value ? 3 : 2);
}

void sxt_emit_null(struct sxt_emit *emit, const char *key)
{
    if (emit->json)
        sxt_json_write_null(&emit->writer, key);
}

void sxt_emit_raw(struct sxt_emit *emit, const char *key, sxt_string json)
{
    if (emit->json) {
        sxt_json_write_text(&emit->writer, key, json);
        write_out_when_large(emit);
    }
}

void sxt_emit_array(struct sxt_emit *emit, const char *key)
{
    if (emit->json) {
        sxt_json_write_begin(&emit->writer, key, '[');
    } else if (emit->depth == TEXT_RECORD && begin_text(emit, key)) {
        emit->depth = TEXT_ARRAY;
        emit->array_is_empty = true;
    } else {
        emit->depth += HIDDEN;
    }
}

void sxt_emit_array_end(struct sxt_emit *emit)
{
    if (emit->json) {
        sxt_json_write_end(&emit->writer, ']');
        write_out_when_large(emit);
    } else if (emit->depth != TEXT_ARRAY) {
        emit->depth -= HIDDEN;
    } else {
        emit->depth = TEXT_RECORD;
        if (!emit->array_is_empty) {
            end_text(emit);
            return;
        }
        /* Nothing to show: remove the key, which is all there is on this line. */
        while (emit->line.size > 0 && emit->line.data[emit->line.size - 1] != '\n')
            emit->line.size--;
    }
}

void sxt_emit_object(struct sxt_emit *emit, const char *key)
{
    if (emit->json)
        sxt_json_write_begin(&emit->writer, key, '{');
    else
        emit->depth += HIDDEN;
}

void sxt_emit_object_end(struct sxt_emit *emit)
{
    if (emit->json) {
        sxt_json_write_end(&emit->writer, '}');
        write_out_when_large(emit);
    } else {
        emit->depth -= HIDDEN;
    }
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
    sxt_escape_text(&emit->line, name);
    write_out_when_large(emit);
}

void sxt_emit_digits(struct sxt_emit *emit, uint64_t value)
{
    char digits[SXT_DIGITS_MAX];
    char *end = digits + sizeof digits, *at = sxt_digits_before(end, value);
    if (!emit->json)
        sxt_buffer_append(&emit->line, at, (size_t)(end - at));
}

static bool wants_colour(FILE *stream)
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

/* The text before a value. False when the value is not shown. */
static bool begin_text(struct sxt_emit *emit, const char *key)
{
    if (emit->depth >= HIDDEN)
        return false;
    if (emit->depth == TEXT_ARRAY) {
        if (!emit->array_is_empty)
            sxt_buffer_append(&emit->line, ", ", 2);
        emit->array_is_empty = false;
    } else {
        put_key_text(emit, key);
    }
    return true;
}

static void end_text(struct sxt_emit *emit)
{
    if (emit->depth == TEXT_ARRAY)
        return;
    sxt_buffer_u8(&emit->line, '\n');
    write_out_when_large(emit);
}

/* A value that needs no escaping. */
static void put_text(struct sxt_emit *emit, const char *key, const char *text, size_t size)
{
    if (begin_text(emit, key)) {
        sxt_buffer_append(&emit->line, text, size);
        end_text(emit);
    }
}
