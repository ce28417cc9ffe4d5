/*
 * json.c: making and printing JSON. Printed text is what Python's json.dumps(indent=2, sort_keys=True) gives, because a
 * file is to have the bytes that the reference would have given it. Numbers are printed as they were read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size/private.h"

static void print_value(const struct sxt_json *value, unsigned depth, struct sxt_buffer *out);

/* --- making --- */

static struct sxt_json *make(struct sxt_arena *arena, enum sxt_json_type type)
{
    struct sxt_json *value = sxt_arena_calloc(arena, 1, sizeof *value);
    if (value != NULL)
        value->type = type;
    return value;
}

struct sxt_json *sxt_size_json_object(struct sxt_arena *arena)
{
    return make(arena, SXT_JSON_OBJECT);
}

struct sxt_json *sxt_size_json_array(struct sxt_arena *arena)
{
    return make(arena, SXT_JSON_ARRAY);
}

static bool copy_string(struct sxt_arena *arena, sxt_string from, sxt_string *to)
{
    const char *copy = from.data == NULL ? NULL : sxt_arena_copy(arena, from.data, from.size);
    *to = (sxt_string){copy, copy == NULL ? 0 : from.size};
    return copy != NULL || from.data == NULL;
}

/* Nesting is bounded: what was read has a limit, and nobody makes deep ones. */
struct sxt_json *sxt_size_json_copy(struct sxt_arena *arena, const struct sxt_json *value)
{
    struct sxt_json *copy = sxt_arena_alloc(arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *value;
    copy->next = copy->child = NULL;
    if (!copy_string(arena, value->string, &copy->string) || !copy_string(arena, value->key, &copy->key))
        return NULL;
    struct sxt_json **tail = &copy->child;
    for (const struct sxt_json *child = value->child; child != NULL; child = child->next) {
        *tail = sxt_size_json_copy(arena, child);
        if (*tail == NULL)
            return NULL;
        tail = &(*tail)->next;
    }
    return copy;
}

bool sxt_size_json_add(struct sxt_arena *arena, struct sxt_json *object, const char *key, struct sxt_json *value)
{
    if (value == NULL || (key != NULL && !copy_string(arena, sxt_size_string(key), &value->key)))
        return false;
    struct sxt_json **tail = &object->child;
    while (*tail != NULL)
        tail = &(*tail)->next;
    *tail = value;
    object->count++;
    return true;
}

bool sxt_size_json_add_number(struct sxt_arena *arena, struct sxt_json *object, const char *key, int64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRId64, value);
    struct sxt_json *number = make(arena, SXT_JSON_NUMBER);
    if (number == NULL || !copy_string(arena, (sxt_string){digits, (size_t)size}, &number->string))
        return false;
    number->is_signed = true;
    number->signed_value = value;
    number->is_unsigned = value >= 0;
    number->unsigned_value = value >= 0 ? (uint64_t)value : 0;
    number->number = (double)value;
    return sxt_size_json_add(arena, object, key, number);
}

bool sxt_size_json_add_string(struct sxt_arena *arena, struct sxt_json *object, const char *key, sxt_string value)
{
    struct sxt_json *string = make(arena, SXT_JSON_STRING);
    return string != NULL && copy_string(arena, value, &string->string) &&
           sxt_size_json_add(arena, object, key, string);
}

struct sxt_json *sxt_size_json_take(struct sxt_json *object, const char *key)
{
    sxt_string wanted = sxt_size_string(key);
    struct sxt_json *found = NULL;
    struct sxt_json **link = &object->child;
    while (*link != NULL) {
        struct sxt_json *member = *link;
        if (sxt_size_equal(member->key, wanted)) {
            *link = member->next;
            object->count--;
            member->next = NULL;
            found = member;
        } else {
            link = &member->next;
        }
    }
    return found;
}

/* --- printing --- */

void sxt_size_print_json(const struct sxt_json *value, struct sxt_buffer *out)
{
    print_value(value, 0, out);
}

/* Decodes the character at TEXT[*AT] and steps over it. Bytes that are not UTF-8 stand for themselves. */
static uint32_t next_character(sxt_string text, size_t *at)
{
    const uint8_t *byte = (const uint8_t *)text.data + *at;
    size_t left = text.size - *at;
    unsigned size = byte[0] < 0xc0 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    if (size == 1 || size > left) {
        *at += 1;
        return byte[0];
    }
    uint32_t code = byte[0] & (0x7fu >> size);
    for (unsigned i = 1; i < size; i++)
        code = code << 6 | (byte[i] & 0x3f);
    *at += size;
    return code;
}

static void print_string(sxt_string text, struct sxt_buffer *out)
{
    static const char special[] = "\"\\\n\r\t\f\b", letters[] = "\"\\nrtfb";
    sxt_buffer_u8(out, '"');
    size_t at = 0;
    while (at < text.size) {
        uint32_t code = next_character(text, &at);
        const char *found = code != 0 && code < 0x80 ? strchr(special, (int)code) : NULL;
        if (found != NULL)
            sxt_buffer_print(out, "\\%c", letters[found - special]);
        else if (code >= ' ' && code <= '~')
            sxt_buffer_u8(out, (uint8_t)code);
        else if (code < 0x10000)
            sxt_buffer_print(out, "\\u%04x", code);
        else
            sxt_buffer_print(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
    }
    sxt_buffer_u8(out, '"');
}

static void print_line_start(unsigned depth, struct sxt_buffer *out)
{
    sxt_buffer_u8(out, '\n');
    for (unsigned i = 0; i < depth; i++)
        sxt_buffer_append(out, "  ", 2);
}

static int by_key(const void *a, const void *b)
{
    return sxt_size_compare((*(const struct sxt_json *const *)a)->key, (*(const struct sxt_json *const *)b)->key);
}

/* The children of an array or object in the order in which they are printed; to be freed. */
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

static void print_children(const struct sxt_json *value, unsigned depth, struct sxt_buffer *out)
{
    bool is_object = value->type == SXT_JSON_OBJECT;
    size_t count;
    const struct sxt_json **children = in_order(value, &count);
    if (children == NULL) {
        out->failed = out->memory_was_short = true;
        return;
    }
    sxt_buffer_u8(out, is_object ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            sxt_buffer_u8(out, ',');
        print_line_start(depth + 1, out);
        if (is_object) {
            print_string(children[i]->key, out);
            sxt_buffer_append(out, ": ", 2);
        }
        print_value(children[i], depth + 1, out);
    }
    if (count > 0)
        print_line_start(depth, out);
    sxt_buffer_u8(out, is_object ? '}' : ']');
    free(children);
}

static void print_value(const struct sxt_json *value, unsigned depth, struct sxt_buffer *out)
{
    switch (value->type) {
    case SXT_JSON_NULL:
        sxt_buffer_append(out, "null", 4);
        break;
    case SXT_JSON_BOOL:
        sxt_buffer_print(out, "%s", value->boolean ? "true" : "false");
        break;
    case SXT_JSON_NUMBER:
        sxt_buffer_append(out, value->string.data, value->string.size);
        break;
    case SXT_JSON_STRING:
        print_string(value->string, out);
        break;
    case SXT_JSON_ARRAY:
    case SXT_JSON_OBJECT:
        print_children(value, depth, out);
        break;
    }
}
