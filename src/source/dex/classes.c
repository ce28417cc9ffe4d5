/* classes.c: what a class takes: its definition, its lists, and its fields and methods. */
#include <string.h>

#include "base/bytes.h"
#include "source/dex/private.h"

/* How deep arrays and annotations in static values may be nested. */
#define NESTING_MOST 64

/* The tables of a class that need more than one place. */
struct class_parts {
    uint32_t number;
    uint64_t static_values; /* where the next static value begins; 0: there is none */
    uint64_t values_left;
    struct sxt_cursor annotations; /* the annotations of fields */
    uint32_t annotations_left;
    uint32_t annotated_field;
};

/* A list of COUNT items after its count. Lists are shared: the first class that has one pays for it. */
static uint64_t list_size(struct dex_file *file, uint64_t offset, uint64_t item_size)
{
    struct sxt_cursor list = sxt_dex_cursor(file, offset);
    uint64_t count = sxt_cursor_u32(&list);
    if (list.failed || !sxt_fits(list.at, count, item_size, file->size)) {
        sxt_dex_damage(file, offset, "a list reaches beyond the dex file");
        return 0;
    }
    return count > 0 ? sxt_dex_claim(file, offset, 4 + count * item_size) : 0;
}

/* The next annotated field of the class, if there is one. */
static void next_annotation(struct class_parts *parts)
{
    parts->annotated_field = UINT32_MAX;
    if (parts->annotations_left == 0)
        return;
    parts->annotations_left--;
    parts->annotated_field = sxt_cursor_u32(&parts->annotations);
    sxt_cursor_skip(&parts->annotations, 4);
    if (parts->annotations.failed)
        parts->annotated_field = UINT32_MAX;
}

/* The directory of annotations: four numbers, and the annotations of the class itself. */
static uint64_t directory_size(struct dex_file *file, struct class_parts *parts, uint64_t offset)
{
    struct sxt_cursor directory = sxt_dex_cursor(file, offset);
    uint32_t annotations = sxt_cursor_u32(&directory);
    uint32_t fields = sxt_cursor_u32(&directory);
    sxt_cursor_skip(&directory, 8);
    if (directory.failed) {
        sxt_dex_damage(file, offset, "annotations reach beyond the dex file");
        return 0;
    }
    /* A directory that another class has too is counted there, with its fields. */
    uint64_t size = sxt_dex_claim(file, offset, 16);
    parts->annotations = directory;
    parts->annotations_left = size == 16 ? fields : 0;
    return size + (annotations != 0 ? list_size(file, annotations, 4) : 0);
}

/* --- static values --- */

/* The bytes after the first one of a value that is neither an array nor an annotation. */
static uint64_t plain_value_size(uint8_t first)
{
    uint8_t type = first & 0x1f, argument = first >> 5;
    return type == 0x1e || type == 0x1f ? 0 : (uint64_t)argument + 1; /* null and booleans are in the first byte */
}

/* Passes over a value. It ends early where bytes are taken, which a correct file does not have. */
static bool skip_value(struct dex_file *file, struct sxt_cursor *cursor)
{
    uint64_t left[NESTING_MOST];
    bool is_annotation[NESTING_MOST];
    size_t depth = 0;
    for (;;) {
        if (sxt_dex_is_claimed(file, cursor->at))
            return false;
        uint8_t first = sxt_cursor_u8(cursor);
        uint8_t type = first & 0x1f;
        if (type == 0x1c || type == 0x1d) {
            if (depth == NESTING_MOST)
                return false;
            if (type == 0x1d)
                sxt_cursor_uleb128(cursor); /* the type of the annotation */
            left[depth] = sxt_cursor_uleb128(cursor);
            is_annotation[depth++] = type == 0x1d;
        } else {
            sxt_cursor_skip(cursor, plain_value_size(first));
        }
        while (depth > 0 && left[depth - 1] == 0)
            depth--;
        if (depth == 0 || cursor->failed)
            return !cursor->failed;
        left[depth - 1]--;
        if (is_annotation[depth - 1])
            sxt_cursor_uleb128(cursor); /* the name of the element */
    }
}

static uint64_t begin_static_values(struct dex_file *file, struct class_parts *parts, uint64_t offset)
{
    struct sxt_cursor cursor = sxt_dex_cursor(file, offset);
    if (sxt_dex_is_claimed(file, offset))
        return 0;
    uint64_t count = sxt_cursor_uleb128(&cursor);
    if (cursor.failed)
        return 0;
    parts->static_values = cursor.at;
    parts->values_left = count;
    return sxt_dex_claim(file, offset, cursor.at - offset);
}

static uint64_t static_value_size(struct dex_file *file, struct class_parts *parts)
{
    if (parts->values_left == 0)
        return 0;
    struct sxt_cursor cursor = sxt_dex_cursor(file, parts->static_values);
    if (!skip_value(file, &cursor)) {
        sxt_dex_damage(file, parts->static_values, "the static values of a class are damaged");
        parts->values_left = 0;
        return 0;
    }
    uint64_t start = parts->static_values;
    parts->static_values = cursor.at;
    parts->values_left--;
    return sxt_dex_claim(file, start, cursor.at - start);
}

/* --- fields and methods --- */

/* Marks an entry of a table as defined here, and takes its bytes. False if it is not in the table. */
static bool define(struct dex_file *file, enum dex_table_kind kind, uint64_t number, uint64_t *size)
{
    const struct dex_table *table = &file->tables[kind];
    if (number >= table->count)
        return false;
    file->defined[kind == DEX_METHODS][number] = 1;
    *size += sxt_dex_claim(file, table->offset + number * 8, 8);
    return true;
}

static bool read_fields(struct dex_file *file, struct class_parts *parts, struct sxt_cursor *data, uint64_t count,
                        bool are_static)
{
    uint64_t number = 0;
    for (; count > 0 && file->status == SXT_OK; count--) {
        uint64_t start = data->at;
        number += sxt_cursor_uleb128(data);
        sxt_cursor_uleb128(data);
        uint64_t size = sxt_dex_claim(file, start, data->at - start);
        if (data->failed || size == 0 || !define(file, DEX_FIELDS, number, &size))
            return false;
        while (parts->annotated_field < number)
            next_annotation(parts);
        if (parts->annotated_field == number)
            size += sxt_dex_claim(file, parts->annotations.at - 8, 8);
        size += are_static ? static_value_size(file, parts) : 0;
        sxt_dex_add_field(file, (uint32_t)number, size);
    }
    return true;
}

static bool read_methods(struct dex_file *file, const struct class_parts *parts, struct sxt_cursor *data,
                         uint64_t count)
{
    uint64_t number = 0;
    for (; count > 0 && file->status == SXT_OK; count--) {
        uint64_t start = data->at;
        number += sxt_cursor_uleb128(data);
        sxt_cursor_uleb128(data);
        uint64_t code = sxt_cursor_uleb128(data);
        uint64_t size = sxt_dex_claim(file, start, data->at - start);
        if (data->failed || size == 0 || !define(file, DEX_METHODS, number, &size))
            return false;
        size += code != 0 ? sxt_dex_read_code(file, code, parts->number) : 0;
        sxt_dex_add_method(file, (uint32_t)number, size);
    }
    return true;
}

/* The class is named already. Returns the bytes that are the class's own. */
static uint64_t read_class_data(struct dex_file *file, struct class_parts *parts, uint64_t offset)
{
    struct sxt_cursor data = sxt_dex_cursor(file, offset);
    uint64_t counts[4];
    for (int i = 0; i < 4; i++)
        counts[i] = sxt_cursor_uleb128(&data);
    uint64_t own = data.failed ? 0 : sxt_dex_claim(file, offset, data.at - offset);
    /* An entry takes at least one byte, and a byte is taken once: the counts need no other check. */
    next_annotation(parts);
    bool is_good = own > 0 && read_fields(file, parts, &data, counts[0], true);
    if (is_good && parts->annotated_field == UINT32_MAX)
        next_annotation(parts);
    is_good = is_good && read_fields(file, parts, &data, counts[1], false);
    is_good = is_good && read_methods(file, parts, &data, counts[2]) && read_methods(file, parts, &data, counts[3]);
    if (!is_good && file->status == SXT_OK)
        sxt_dex_damage(file, offset, "the fields and methods of a class are damaged");
    return own;
}

void sxt_dex_read_class(struct dex_file *file, uint32_t number)
{
    const uint8_t *item = sxt_dex_item(file, DEX_CLASSES, number);
    uint32_t type = sxt_load_u32le(item), interfaces = sxt_load_u32le(item + 12);
    uint32_t annotations = sxt_load_u32le(item + 20), data = sxt_load_u32le(item + 24);
    uint32_t static_values = sxt_load_u32le(item + 28);
    struct class_parts parts = {.number = number, .annotated_field = UINT32_MAX};
    uint64_t size = sxt_dex_claim(file, (uint64_t)(item - file->data), 32);
    if (sxt_dex_item(file, DEX_TYPES, type) != NULL)
        size += sxt_dex_claim(file, file->tables[DEX_TYPES].offset + (uint64_t)type * 4, 4);
    size += interfaces != 0 ? list_size(file, interfaces, 2) : 0;
    size += annotations != 0 ? directory_size(file, &parts, annotations) : 0;
    size += static_values != 0 ? begin_static_values(file, &parts, static_values) : 0;
    sxt_dex_name_class(file, type);
    size += data != 0 ? read_class_data(file, &parts, data) : 0;
    sxt_dex_add_class(file, size);
}
