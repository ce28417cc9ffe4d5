/* json_writer.c: one place in the buffer is taken for separator, key and value together, so that a field is cheap. */
#include "base/json_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/escape.h"
#include "base/hex.h"
#include "base/string.h"

static size_t separator_size(const struct sxt_json_writer *writer)
{
    if (writer->state == SXT_JSON_AFTER_KEY)
        return 0;
    bool has_comma = writer->state == SXT_JSON_AFTER_VALUE;
    switch (writer->layout) {
    case SXT_JSON_COMPACT:
        return has_comma;
    case SXT_JSON_SPACED:
        return has_comma ? 2 : 0;
    case SXT_JSON_INDENTED:
    default:
        return has_comma + (writer->depth > 0 ? 1 + 2 * (size_t)writer->depth : 0);
    }
}

static uint8_t *put_line_start(uint8_t *at, unsigned depth)
{
    *at++ = '\n';
    memset(at, ' ', 2 * (size_t)depth);
    return at + 2 * (size_t)depth;
}

static uint8_t *put_separator(const struct sxt_json_writer *writer, uint8_t *at)
{
    if (writer->state == SXT_JSON_AFTER_KEY)
        return at;
    if (writer->state == SXT_JSON_AFTER_VALUE) {
        *at++ = ',';
        if (writer->layout == SXT_JSON_SPACED)
            *at++ = ' ';
    }
    if (writer->layout == SXT_JSON_INDENTED && writer->depth > 0)
        at = put_line_start(at, writer->depth);
    return at;
}

/* A separator where one is due, the key, and SIZE bytes for the value. Returns the place of the value, or NULL. */
static uint8_t *begin_value(struct sxt_json_writer *writer, const char *key, size_t size)
{
    size_t length = key != NULL ? strlen(key) : 0;
    bool has_space = writer->layout != SXT_JSON_COMPACT;
    size_t key_size = key != NULL ? length + 3 + has_space : 0;
    uint8_t *at = sxt_buffer_extend(writer->out, separator_size(writer) + key_size + size);
    if (at == NULL)
        return NULL;
    at = put_separator(writer, at);
    writer->state = SXT_JSON_AFTER_VALUE;
    if (key != NULL) {
        *at++ = '"';
        memcpy(at, key, length);
        at += length;
        *at++ = '"';
        *at++ = ':';
        if (has_space)
            *at++ = ' ';
    }
    return at;
}

static void put_plain(struct sxt_json_writer *writer, const char *key, const char *text, size_t size)
{
    uint8_t *at = begin_value(writer, key, size);
    if (at != NULL)
        memcpy(at, text, size);
}

static void end_key(struct sxt_json_writer *writer)
{
    sxt_buffer_append(writer->out, ": ", writer->layout == SXT_JSON_COMPACT ? 1 : 2);
    writer->state = SXT_JSON_AFTER_KEY;
}

void sxt_json_write_key(struct sxt_json_writer *writer, sxt_string key)
{
    sxt_json_write_string(writer, NULL, key);
    end_key(writer);
}

void sxt_json_write_key_number(struct sxt_json_writer *writer, uint64_t key)
{
    char text[SXT_DIGITS_MAX + 2];
    char *end = text + sizeof text, *at = sxt_digits_before(end - 1, key);
    end[-1] = '"';
    *--at = '"';
    put_plain(writer, NULL, at, (size_t)(end - at));
    end_key(writer);
}

void sxt_json_write_key_text(struct sxt_json_writer *writer, sxt_string quoted)
{
    put_plain(writer, NULL, quoted.data, quoted.size);
    end_key(writer);
}

void sxt_json_write_begin(struct sxt_json_writer *writer, const char *key, char open)
{
    put_plain(writer, key, &open, 1);
    writer->depth++;
    writer->state = SXT_JSON_AT_FIRST;
}

void sxt_json_write_end(struct sxt_json_writer *writer, char close)
{
    writer->depth--;
    if (writer->layout == SXT_JSON_INDENTED && writer->state == SXT_JSON_AFTER_VALUE) {
        uint8_t *at = sxt_buffer_extend(writer->out, 1 + 2 * (size_t)writer->depth);
        if (at != NULL)
            put_line_start(at, writer->depth);
    }
    sxt_buffer_u8(writer->out, (uint8_t)close);
    writer->state = SXT_JSON_AFTER_VALUE;
}

void sxt_json_write_string(struct sxt_json_writer *writer, const char *key, sxt_string value)
{
    if (sxt_escape_plain_size(value.data, value.size) == value.size) {
        uint8_t *at = begin_value(writer, key, value.size + 2);
        if (at != NULL) {
            *at = '"';
            if (value.size > 0)
                memcpy(at + 1, value.data, value.size);
            at[value.size + 1] = '"';
        }
        return;
    }
    begin_value(writer, key, 0);
    sxt_buffer_u8(writer->out, '"');
    switch (writer->escapes) {
    case SXT_JSON_ESCAPES_ASCII:
        sxt_escape_json_ascii(writer->out, value);
        break;
    case SXT_JSON_ESCAPES_NUMBERS:
    case SXT_JSON_ESCAPES_NUMBERS_WITH_DELETE:
        sxt_escape_json_numbers(writer->out, value, writer->escapes == SXT_JSON_ESCAPES_NUMBERS_WITH_DELETE);
        break;
    default:
        sxt_escape_json(writer->out, value);
    }
    sxt_buffer_u8(writer->out, '"');
}

void sxt_json_write_number(struct sxt_json_writer *writer, const char *key, uint64_t value)
{
    char digits[SXT_DIGITS_MAX];
    char *end = digits + sizeof digits, *at = sxt_digits_before(end, value);
    put_plain(writer, key, at, (size_t)(end - at));
}

void sxt_json_write_address(struct sxt_json_writer *writer, const char *key, uint64_t value)
{
    char text[SXT_DIGITS_MAX + 2];
    char *end = text + sizeof text, *at = sxt_address_before(end - 1, value);
    end[-1] = '"';
    *--at = '"';
    put_plain(writer, key, at, (size_t)(end - at));
}

void sxt_json_write_hex(struct sxt_json_writer *writer, const char *key, const void *data, size_t size)
{
    char *at = (char *)begin_value(writer, key, 2 * size + 2);
    if (at == NULL)
        return;
    *at = '"';
    sxt_hex_encode(at + 1, data, size);
    at[2 * size + 1] = '"';
}

void sxt_json_write_bool(struct sxt_json_writer *writer, const char *key, bool value)
{
    put_plain(writer, key, value ? "true" : "false", value ? 4 : 5);
}

void sxt_json_write_null(struct sxt_json_writer *writer, const char *key)
{
    put_plain(writer, key, "null", 4);
}

void sxt_json_write_text(struct sxt_json_writer *writer, const char *key, sxt_string json)
{
    put_plain(writer, key, json.data, json.size);
}

/* --- trees --- */

static int by_key(const void *a, const void *b)
{
    return sxt_string_compare((*(const struct sxt_json *const *)a)->key, (*(const struct sxt_json *const *)b)->key);
}

/* The children of an array or object in the order in which they are written; to be freed. */
static const struct sxt_json **in_order(const struct sxt_json *value, size_t *count)
{
    *count = 0;
    for (const struct sxt_json *child = value->child; child != NULL; child = child->next)
        ++*count;
    const struct sxt_json **children = calloc(*count + 1, sizeof *children);
    if (children == NULL)
        return NULL;
    size_t index = 0;
    for (const struct sxt_json *child = value->child; child != NULL; child = child->next)
        children[index++] = child;
    if (value->type == SXT_JSON_OBJECT)
        qsort(children, *count, sizeof *children, by_key);
    return children;
}

static void write_children(struct sxt_json_writer *writer, const struct sxt_json *value)
{
    bool is_object = value->type == SXT_JSON_OBJECT;
    size_t count;
    const struct sxt_json **children = in_order(value, &count);
    if (children == NULL) {
        writer->out->failed = writer->out->memory_was_short = true;
        return;
    }
    sxt_json_write_begin(writer, NULL, is_object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        if (is_object)
            sxt_json_write_key(writer, children[i]->key);
        sxt_json_write_tree_sorted(writer, children[i]);
    }
    sxt_json_write_end(writer, is_object ? '}' : ']');
    free(children);
}

void sxt_json_write_tree_sorted(struct sxt_json_writer *writer, const struct sxt_json *value)
{
    switch (value->type) {
    case SXT_JSON_NULL:
        sxt_json_write_null(writer, NULL);
        break;
    case SXT_JSON_BOOL:
        sxt_json_write_bool(writer, NULL, value->boolean);
        break;
    case SXT_JSON_NUMBER:
        sxt_json_write_text(writer, NULL, value->string);
        break;
    case SXT_JSON_STRING:
        sxt_json_write_string(writer, NULL, value->string);
        break;
    case SXT_JSON_ARRAY:
    case SXT_JSON_OBJECT:
        write_children(writer, value);
        break;
    }
}
