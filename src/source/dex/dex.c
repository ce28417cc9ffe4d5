/* dex.c: opens a Dalvik executable, and goes through its tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "source/dex/private.h"

#define HEADER_SIZE 112
#define LITTLE      0x12345678u

/* Names longer than the file itself are made from repeated parts. More than this is made by hand. */
#define NAME_BUDGET(size) ((uint64_t)(size)*16 + ((uint64_t)1 << 20))

static const uint8_t item_sizes[DEX_TABLES] = {4, 4, 12, 8, 8, 32};

static int read_header(struct dex_file *file, uint64_t at, sxt_error *error);
static int read_file(struct dex_file *file, sxt_error *error);

bool sxt_dex_is(const uint8_t *data, size_t size)
{
    return size >= 8 && memcmp(data, "dex\n0", 5) == 0 && data[7] == 0;
}

int sxt_dex_tree_init(struct sxt_dex_tree *tree, sxt_error *error)
{
    *tree = (struct sxt_dex_tree){.nodes = NULL};
    return sxt_strings_init(&tree->names, 0, error);
}

void sxt_dex_tree_free(struct sxt_dex_tree *tree)
{
    sxt_strings_free(&tree->names);
    free(tree->nodes);
    *tree = (struct sxt_dex_tree){.nodes = NULL};
}

int sxt_dex_read(const uint8_t *data, size_t size, struct sxt_dex_reader *reader, sxt_error *error)
{
    struct dex_file file = {.data = data, .size = size, .reader = reader, .error = error};
    if (!sxt_dex_is(data, size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "not a dex file");
    file.claimed = calloc(size / 8 + 1, 1);
    sxt_buffer_init(&file.name, (size_t)1 << 16);
    file.name_budget = NAME_BUDGET(size);
    int status = file.claimed != NULL ? SXT_OK : sxt_fail_memory(error, size / 8);
    /* Since version 41, a file may hold several, one header after the other; all offsets count from the first. */
    for (uint64_t at = 0, next; status == SXT_OK; at = next) {
        bool is_first = at == 0;
        if (!is_first && (size - at < HEADER_SIZE || !sxt_dex_is(data + at, size - at)))
            break;
        status = read_header(&file, at, error);
        if (status == SXT_OK)
            status = read_file(&file, error);
        /* Nothing that was read is lost because of what follows it. */
        if (status == SXT_ERROR_LIMIT || (status == SXT_ERROR_FORMAT && !is_first)) {
            sxt_dex_damage(&file, at, "a part of the dex file is damaged, or its names expand without limit");
            status = SXT_OK;
            break;
        }
        /* The header of a file that was read is whole. */
        if (status != SXT_OK)
            break;
        next = at + sxt_load_u32le(data + at + 32);
        if (next <= at + HEADER_SIZE || next > size || memcmp(data + at + 4, "041", 3) < 0)
            break;
    }
    free(file.claimed);
    sxt_buffer_free(&file.name);
    return status;
}

static int read_header(struct dex_file *file, uint64_t at, sxt_error *error)
{
    struct sxt_cursor header = sxt_dex_cursor(file, at);
    sxt_cursor_skip(&header, 32);
    uint32_t file_size = sxt_cursor_u32(&header), header_size = sxt_cursor_u32(&header);
    uint32_t order = sxt_cursor_u32(&header);
    sxt_cursor_skip(&header, 8);
    file->map = sxt_cursor_u32(&header);
    for (int i = 0; i < DEX_TABLES; i++) {
        file->tables[i].count = sxt_cursor_u32(&header);
        file->tables[i].offset = sxt_cursor_u32(&header);
    }
    if (header.failed || header_size < HEADER_SIZE)
        return sxt_fail(error, SXT_ERROR_FORMAT, at, "the header of the dex file is cut off");
    if (order != LITTLE)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, at + 40, "the dex file is not little-endian");
    if (file_size > file->size - at)
        return sxt_fail(error, SXT_ERROR_FORMAT, at + 32, "the dex file is cut off: it should have %u bytes",
                        file_size);
    for (int i = 0; i < DEX_TABLES; i++)
        if (!sxt_fits(file->tables[i].offset, file->tables[i].count, item_sizes[i], file->size))
            return sxt_fail(error, SXT_ERROR_FORMAT, at + 56 + 8 * (uint64_t)i, "a table reaches beyond the dex file");
    return SXT_OK;
}

/* --- bytes, each of which counts once --- */

bool sxt_dex_is_claimed(const struct dex_file *file, uint64_t at)
{
    return at >= file->size || (file->claimed[at / 8] >> (at % 8) & 1) != 0;
}

uint64_t sxt_dex_claim(struct dex_file *file, uint64_t start, uint64_t size)
{
    uint64_t count = 0;
    for (; count < size && !sxt_dex_is_claimed(file, start + count); count++)
        file->claimed[(start + count) / 8] |= (uint8_t)(1 << ((start + count) % 8));
    return count;
}

void sxt_dex_damage(struct dex_file *file, uint64_t offset, const char *what)
{
    sxt_error problem;
    if (file->is_damaged)
        return;
    file->is_damaged = true;
    sxt_fail(&problem, SXT_ERROR_FORMAT, offset, "%s", what);
    if (file->reader->damage != NULL)
        file->reader->damage(file->reader->data, &problem);
}

const uint8_t *sxt_dex_item(struct dex_file *file, enum dex_table_kind kind, uint32_t index)
{
    const struct dex_table *table = &file->tables[kind];
    if (index < table->count)
        return file->data + table->offset + (uint64_t)index * item_sizes[kind];
    sxt_dex_damage(file, table->offset, "an item of the dex file refers to an entry that its table does not have");
    return NULL;
}

struct sxt_cursor sxt_dex_cursor(const struct dex_file *file, uint64_t offset)
{
    struct sxt_cursor cursor = sxt_cursor_make(file->data, file->size, 0, false);
    sxt_cursor_seek(&cursor, offset);
    return cursor;
}

/* --- the map: how much there is of each kind --- */

struct map_item {
    uint16_t type;
    uint32_t count;
    uint32_t offset;
};

static const char *type_name(uint16_t type, char *room, size_t size)
{
    static const struct {
        uint16_t type;
        const char *name;
    } types[] = {
        {0x0000, "HEADER"},
        {0x0001, "STRING_ID"},
        {0x0002, "TYPE_ID"},
        {0x0003, "PROTO_ID"},
        {0x0004, "FIELD_ID"},
        {0x0005, "METHOD_ID"},
        {0x0006, "CLASS_DEF"},
        {0x0007, "CALL_SITE_ID"},
        {0x0008, "METHOD_HANDLE"},
        {0x1000, "MAP"},
        {0x1001, "TYPE"},
        {0x1002, "ANNOTATION_SET_REF"},
        {0x1003, "ANNOTATION_SET"},
        {0x2000, "CLASS_DATA"},
        {0x2001, "CODE"},
        {0x2002, "STRING_DATA"},
        {0x2003, "DEBUG_INFO"},
        {0x2004, "ANNOTATION"},
        {0x2005, "ENCODED_ARRAY"},
        {0x2006, "ANNOTATIONS_DIRECTORY"},
        {0xf000, "HIDDENAPI_CLASS_DATA"},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == type)
            return types[i].name;
    snprintf(room, size, "(Type code %04x)", type);
    return room;
}

static int by_offset(const void *a, const void *b)
{
    const struct map_item *first = a;
    const struct map_item *second = b;
    return first->offset < second->offset ? -1 : first->offset > second->offset;
}

/* The kinds of item are few: a map with more than this is made by hand. */
#define MAP_MOST 64

static void report_map(struct dex_file *file)
{
    struct sxt_cursor cursor = sxt_dex_cursor(file, file->map);
    struct map_item items[MAP_MOST];
    uint32_t count = sxt_cursor_u32(&cursor);
    for (uint32_t i = 0; i < count && i < MAP_MOST; i++) {
        items[i].type = sxt_cursor_u16(&cursor);
        sxt_cursor_skip(&cursor, 2);
        items[i].count = sxt_cursor_u32(&cursor);
        items[i].offset = sxt_cursor_u32(&cursor);
        cursor.failed |= items[i].offset > file->size;
    }
    if (cursor.failed || count > MAP_MOST) {
        sxt_dex_damage(file, file->map, "the map list of the dex file is damaged");
        return;
    }
    qsort(items, count, sizeof *items, by_offset);
    for (uint32_t i = 0; i < count && file->reader->item != NULL; i++) {
        char room[32];
        uint64_t end = i + 1 < count ? items[i + 1].offset : file->size;
        file->reader->item(file->reader->data, type_name(items[i].type, room, sizeof room), items[i].count,
                           end - items[i].offset);
    }
}

/* --- what is used here and defined elsewhere --- */

static void read_references(struct dex_file *file)
{
    for (int i = 0; i < 2; i++) {
        enum dex_table_kind kind = i == 0 ? DEX_FIELDS : DEX_METHODS;
        const struct dex_table *table = &file->tables[kind];
        for (uint32_t number = 0; number < table->count && file->status == SXT_OK; number++) {
            if (file->defined[i][number] != 0)
                continue;
            uint64_t bytes = sxt_dex_claim(file, table->offset + (uint64_t)number * 8, 8);
            sxt_dex_name_class(file, sxt_load_u16le(sxt_dex_item(file, kind, number)));
            sxt_dex_add_class(file, 0);
            if (kind == DEX_FIELDS)
                sxt_dex_add_field(file, number, bytes);
            else
                sxt_dex_add_method(file, number, bytes);
        }
    }
}

static int read_file(struct dex_file *file, sxt_error *error)
{
    file->use_count = 0;
    file->status = SXT_OK;
    file->defined[0] = calloc((size_t)file->tables[DEX_FIELDS].count + 1, 1);
    file->defined[1] = calloc((size_t)file->tables[DEX_METHODS].count + 1, 1);
    if (file->defined[0] == NULL || file->defined[1] == NULL)
        file->status = sxt_fail_memory(error, file->tables[DEX_METHODS].count);
    if (file->status == SXT_OK)
        report_map(file);
    for (uint32_t i = 0; i < file->tables[DEX_CLASSES].count && file->status == SXT_OK; i++)
        sxt_dex_read_class(file, i);
    if (file->status == SXT_OK)
        read_references(file);
    if (file->status == SXT_OK)
        sxt_dex_read_strings(file);
    free(file->defined[0]);
    free(file->defined[1]);
    free(file->uses);
    file->uses = NULL;
    file->use_capacity = 0;
    return file->status;
}
