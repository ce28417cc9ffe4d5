/*
 * write.c: a Lidia file from the model. Sizes are added up first, then every table is written once into its place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/strings.h"
#include "lidia/lidia.h"

#define NOT_PLACED UINT64_MAX

/* Strings in the order in which they are first used, and where each lies in the file. */
struct pool {
    const struct sxt_symbols *symbols;
    const struct sxt_lidia_settings *settings;
    bool renames;               /* are there other forms of names or paths? */
    struct sxt_strings renamed; /* all strings then, in the form that goes out */
    struct sxt_buffer scratch;
    struct sxt_buffer bytes;  /* the string table */
    uint64_t *path_of;        /* by number in the model, as a path */
    uint64_t *function_of;    /* by number in the model, as a function's name */
    uint64_t *renamed_offset; /* by number in `renamed` */
    size_t renamed_capacity;
};

/* The file that is being put together. */
struct layout {
    struct sxt_range_list list;
    uint64_t *functions; /* string offsets, by row */
    uint64_t *files;
    uint64_t *call_files;
    uint64_t line_count;
    unsigned address_size, field_size, line_size, parent_size;
    uint64_t rows_at, strings_at, lines_at, index_at, size;
};

static int collect(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings, struct layout *layout,
                   struct pool *pool, sxt_error *error);
static int open_pool(struct pool *pool, sxt_error *error);
static void close_pool(struct pool *pool);
static int place_strings(struct layout *layout, struct pool *pool, sxt_error *error);
static void choose_sizes(struct layout *layout, const struct pool *pool, uint32_t *parents);
static void write_tables(const struct layout *layout, const struct pool *pool, const uint32_t *parents, uint8_t *file);
static uint32_t *find_parents(const struct sxt_range_list *list);

int sxt_lidia_encode(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings, uint8_t **data,
                     size_t *size, sxt_error *error)
{
    *data = NULL;
    *size = 0;
    struct layout layout = {0};
    struct pool pool = {.symbols = symbols, .settings = settings};
    uint32_t *parents = NULL;
    int status = collect(symbols, settings, &layout, &pool, error);
    if (status == SXT_OK && !settings->no_index && !settings->reference) {
        parents = find_parents(&layout.list);
        if (parents == NULL)
            status = sxt_fail_memory(error, layout.list.range_count * sizeof *parents);
    }
    if (status == SXT_OK) {
        choose_sizes(&layout, &pool, parents);
        *data = layout.size <= SIZE_MAX ? malloc(layout.size) : NULL;
        if (*data != NULL) {
            write_tables(&layout, &pool, parents, *data);
            *size = layout.size;
        } else {
            status = sxt_fail_memory(error, layout.size);
        }
    }
    free(parents);
    free(layout.functions);
    free(layout.files);
    free(layout.call_files);
    sxt_range_list_free(&layout.list);
    close_pool(&pool);
    return status;
}

/* The rows in file order, and the string table. */
static int collect(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings, struct layout *layout,
                   struct pool *pool, sxt_error *error)
{
    int status = open_pool(pool, error);
    if (status != SXT_OK)
        return status;
    struct sxt_range_list *list = &layout->list;
    if (!settings->reference) {
        status = sxt_ranges_one_file(symbols, list, error);
        return status == SXT_OK ? place_strings(layout, pool, error) : status;
    }
    /* The reference lays its strings out before it sorts, so its rows carry the order of adding through the sort. */
    list->ranges = malloc((symbols->range_count + 1) * sizeof *list->ranges);
    if (list->ranges == NULL)
        return sxt_fail_memory(error, symbols->range_count * sizeof *list->ranges);
    list->range_count = symbols->range_count;
    if (list->range_count > 0)
        memcpy(list->ranges, symbols->ranges, list->range_count * sizeof *list->ranges);
    status = place_strings(layout, pool, error);
    if (status == SXT_OK) {
        status = sxt_ranges_sort(list->ranges, list->range_count, error);
        for (size_t i = 0; i < list->range_count; i++)
            layout->functions[i] = pool->function_of[list->ranges[i].function];
    }
    return status;
}

static int open_pool(struct pool *pool, sxt_error *error)
{
    sxt_buffer_init(&pool->bytes, SIZE_MAX);
    sxt_buffer_init(&pool->scratch, SIZE_MAX);
    uint32_t count = pool->symbols->strings.count;
    pool->path_of = malloc(count * sizeof *pool->path_of);
    pool->function_of = malloc(count * sizeof *pool->function_of);
    if (pool->path_of == NULL || pool->function_of == NULL)
        return sxt_fail_memory(error, 2 * count * sizeof *pool->path_of);
    for (uint32_t i = 0; i < count; i++)
        pool->path_of[i] = pool->function_of[i] = NOT_PLACED;
    pool->path_of[0] = pool->function_of[0] = 0;
    pool->renames = pool->settings->rename != NULL || pool->settings->map_path != NULL;
    return pool->renames ? sxt_strings_init(&pool->renamed, 0, error) : SXT_OK;
}

static void close_pool(struct pool *pool)
{
    if (pool->renamed.views != NULL)
        sxt_strings_free(&pool->renamed);
    sxt_buffer_free(&pool->bytes);
    sxt_buffer_free(&pool->scratch);
    free(pool->path_of);
    free(pool->function_of);
    free(pool->renamed_offset);
}

/* Writes a string behind the others and returns its offset. */
static uint64_t append_string(struct pool *pool, sxt_string text)
{
    uint64_t offset = pool->bytes.size;
    if (pool->settings->nul_strings) {
        /* A string cannot hold the byte that ends it. */
        sxt_buffer_append(&pool->bytes, text.data, strnlen(text.data, text.size));
        sxt_buffer_u8(&pool->bytes, 0);
    } else {
        sxt_buffer_u32le(&pool->bytes, (uint32_t)text.size);
        sxt_buffer_append(&pool->bytes, text.data, text.size);
    }
    return offset;
}

/* A string that is there already under its text, or is now. */
static uint64_t intern_renamed(struct pool *pool, const char *data, size_t size)
{
    uint32_t before = pool->renamed.count;
    uint32_t number = sxt_strings_add(&pool->renamed, data, size);
    if (number == SXT_STRINGS_FULL) {
        pool->bytes.failed = true;
        return 0;
    }
    if (number >= pool->renamed_capacity) {
        size_t capacity = pool->renamed_capacity < 64 ? 64 : pool->renamed_capacity * 2;
        uint64_t *moved = realloc(pool->renamed_offset, capacity * sizeof *moved);
        if (moved == NULL) {
            pool->bytes.failed = true;
            return 0;
        }
        pool->renamed_offset = moved;
        pool->renamed_capacity = capacity;
    }
    if (number == 0)
        pool->renamed_offset[0] = 0;
    else if (number >= before)
        pool->renamed_offset[number] = append_string(pool, (sxt_string){data, size});
    return pool->renamed_offset[number];
}

/* The offset of a string of the model as it is. With other forms about, two strings may become one: the text decides.
 */
static uint64_t place_unchanged(struct pool *pool, uint32_t number)
{
    sxt_string text = sxt_symbols_view(pool->symbols, number);
    return pool->renames ? intern_renamed(pool, text.data, text.size) : append_string(pool, text);
}

static uint64_t place_path(struct pool *pool, uint32_t number)
{
    uint64_t *offset = &pool->path_of[number];
    if (*offset != NOT_PLACED)
        return *offset;
    const struct sxt_lidia_settings *settings = pool->settings;
    sxt_buffer_clear(&pool->scratch);
    if (settings->map_path != NULL &&
        settings->map_path(settings->map_context, sxt_symbols_view(pool->symbols, number), &pool->scratch))
        *offset = intern_renamed(pool, (const char *)pool->scratch.data, pool->scratch.size);
    else
        *offset = pool->renames || pool->function_of[number] == NOT_PLACED ? place_unchanged(pool, number)
                                                                           : pool->function_of[number];
    return *offset;
}

static uint64_t place_function(struct pool *pool, uint32_t number)
{
    uint64_t *offset = &pool->function_of[number];
    if (*offset != NOT_PLACED)
        return *offset;
    sxt_buffer_clear(&pool->scratch);
    if (pool->settings->rename != NULL &&
        pool->settings->rename(sxt_symbols_view(pool->symbols, number), &pool->scratch))
        *offset = intern_renamed(pool, (const char *)pool->scratch.data, pool->scratch.size);
    else
        *offset = pool->renames || pool->path_of[number] == NOT_PLACED ? place_unchanged(pool, number)
                                                                       : pool->path_of[number];
    return *offset;
}

static int place_strings(struct layout *layout, struct pool *pool, sxt_error *error)
{
    const struct sxt_range_list *list = &layout->list;
    size_t bytes = (list->range_count + 1) * sizeof *layout->functions;
    layout->functions = malloc(bytes);
    layout->files = malloc(bytes);
    layout->call_files = malloc(bytes);
    if (layout->functions == NULL || layout->files == NULL || layout->call_files == NULL)
        return sxt_fail_memory(error, 3 * bytes);
    append_string(pool, (sxt_string){"", 0});
    if (!pool->settings->nul_strings) {
        static const char overflow[] = "[overflow]";
        if (pool->renames) {
            intern_renamed(pool, overflow, sizeof overflow - 1);
        } else {
            uint64_t offset = append_string(pool, (sxt_string){overflow, sizeof overflow - 1});
            uint32_t number = sxt_strings_find(&pool->symbols->strings, overflow, sizeof overflow - 1);
            if (number != SXT_STRINGS_FULL)
                pool->path_of[number] = pool->function_of[number] = offset;
        }
    }
    for (size_t i = 0; i < list->range_count; i++) {
        const struct sxt_model_range *range = &list->ranges[i];
        layout->functions[i] = place_function(pool, range->function);
        layout->files[i] = place_path(pool, range->file);
        layout->call_files[i] = place_path(pool, range->call_file);
    }
    return sxt_buffer_status(&pool->bytes, error);
}

/* For each row how many rows back the nearest one is that covers its address; 0 for none. */
static uint32_t *find_parents(const struct sxt_range_list *list)
{
    uint32_t *parents = malloc((list->range_count + 1) * sizeof *parents);
    uint32_t *open = malloc((list->range_count + 1) * sizeof *open);
    size_t levels = 0;
    if (parents == NULL || open == NULL) {
        free(parents);
        free(open);
        return NULL;
    }
    for (size_t i = 0; i < list->range_count; i++) {
        uint64_t address = list->ranges[i].address;
        while (levels > 0 && address - list->ranges[open[levels - 1]].address >= list->ranges[open[levels - 1]].length)
            levels--;
        parents[i] = levels > 0 ? (uint32_t)(i - open[levels - 1]) : 0;
        open[levels++] = (uint32_t)i;
    }
    free(open);
    return parents;
}

/* Consecutive entries with one line say the same. */
static bool repeats_line(const struct sxt_range_list *list, const struct sxt_model_range *range, uint32_t index)
{
    const struct sxt_model_line *line = &list->lines[range->first_line + index];
    return index > 0 && line[-1].line == line->line;
}

static void choose_sizes(struct layout *layout, const struct pool *pool, uint32_t *parents)
{
    const struct sxt_range_list *list = &layout->list;
    uint64_t largest_field = 0, largest_line = 0;
    uint32_t farthest = 0;
    for (size_t i = 0; i < list->range_count; i++) {
        const struct sxt_model_range *range = &list->ranges[i];
        largest_field |= range->length | range->depth | range->call_line | layout->functions[i] | layout->files[i] |
                         layout->call_files[i];
        for (uint32_t k = 0; k < range->line_count; k++) {
            const struct sxt_model_line *line = &list->lines[range->first_line + k];
            if (repeats_line(list, range, k))
                continue;
            largest_line |= line->offset | line->line;
            layout->line_count++;
        }
        if (parents != NULL && parents[i] > farthest)
            farthest = parents[i];
    }
    largest_field |= layout->line_count;
    uint64_t last = list->range_count > 0 ? list->ranges[list->range_count - 1].address : 0;
    layout->address_size = last > UINT32_MAX ? 8 : 4;
    layout->field_size = largest_field > UINT32_MAX ? 8 : 4;
    layout->line_size = largest_line > UINT16_MAX ? 4 : 2;
    /* Without inlined ranges nobody has a parent, and there is nothing to shorten. */
    layout->parent_size = farthest == 0 ? 0 : farthest > UINT16_MAX ? 4 : farthest > UINT8_MAX ? 2 : 1;

    layout->rows_at = SXT_LIDIA_HEADER_SIZE + (uint64_t)list->range_count * layout->address_size;
    layout->strings_at = layout->rows_at + (uint64_t)list->range_count * SXT_LIDIA_FIELDS * layout->field_size;
    layout->lines_at = layout->strings_at + pool->bytes.size;
    layout->index_at = layout->lines_at + layout->line_count * 2 * layout->line_size;
    layout->size = layout->index_at;
    if (layout->parent_size != 0)
        layout->size += SXT_LIDIA_INDEX_HEADER_SIZE + (uint64_t)list->range_count * layout->parent_size;
}

static uint8_t *put(uint8_t *to, uint64_t value, unsigned width)
{
    switch (width) {
    case 1:
        *to = (uint8_t)value;
        break;
    case 2:
        sxt_store_u16le(to, (uint16_t)value);
        break;
    case 4:
        sxt_store_u32le(to, (uint32_t)value);
        break;
    default:
        sxt_store_u64le(to, value);
    }
    return to + width;
}

/* A table's part of the header: item size (where it has one), count, offset, CRC. */
static void put_header(uint8_t *at, unsigned item_size, uint64_t count, uint64_t offset, uint32_t crc)
{
    if (item_size != 0)
        at = put(at, item_size, 8);
    at = put(at, count, 8);
    at = put(at, offset, 8);
    at = put(at, crc, 4);
    put(at, 0, 4);
}

static void write_rows(const struct layout *layout, uint8_t *file, uint8_t *lines)
{
    const struct sxt_range_list *list = &layout->list;
    uint8_t *addresses = file + SXT_LIDIA_HEADER_SIZE;
    uint8_t *row = file + layout->rows_at;
    uint64_t next_line = 0;
    for (size_t i = 0; i < list->range_count; i++) {
        const struct sxt_model_range *range = &list->ranges[i];
        uint64_t first_line = next_line;
        for (uint32_t k = 0; k < range->line_count; k++) {
            if (repeats_line(list, range, k))
                continue;
            lines = put(lines, list->lines[range->first_line + k].offset, layout->line_size);
            lines = put(lines, list->lines[range->first_line + k].line, layout->line_size);
            next_line++;
        }
        const uint64_t fields[SXT_LIDIA_FIELDS] = {
            range->length,
            range->depth,
            layout->functions[i],
            layout->files[i],
            next_line > first_line ? first_line : 0,
            next_line - first_line,
            layout->call_files[i],
            range->call_line,
        };
        addresses = put(addresses, range->address, layout->address_size);
        for (unsigned k = 0; k < SXT_LIDIA_FIELDS; k++)
            row = put(row, fields[k], layout->field_size);
    }
}

static void write_index(const struct layout *layout, const uint32_t *parents, uint8_t *file)
{
    uint8_t *header = file + layout->index_at;
    uint8_t *entries = header + SXT_LIDIA_INDEX_HEADER_SIZE;
    uint8_t *to = entries;
    for (size_t i = 0; i < layout->list.range_count; i++)
        to = put(to, parents[i], layout->parent_size);
    memcpy(header, "sxti", 4);
    put(header + 0x04, 1, 4);
    put(header + 0x08, layout->list.range_count, 8);
    put(header + 0x10, layout->parent_size, 4);
    put(header + 0x14, 0, 4);
    put(header + 0x18, sxt_crc32c(0, entries, (size_t)(to - entries)), 4);
    put(header + 0x1c, sxt_crc32c(0, header, 0x1c), 4);
}

static void write_tables(const struct layout *layout, const struct pool *pool, const uint32_t *parents, uint8_t *file)
{
    uint64_t count = layout->list.range_count;
    write_rows(layout, file, file + layout->lines_at);
    memcpy(file + layout->strings_at, pool->bytes.data, pool->bytes.size);

    memcpy(file, ".dia", 4);
    put(file + 4, 1, 4);
    put_header(file + 0x08, layout->address_size, count, SXT_LIDIA_HEADER_SIZE,
               sxt_crc32c(0, file + SXT_LIDIA_HEADER_SIZE, layout->rows_at - SXT_LIDIA_HEADER_SIZE));
    put_header(file + 0x28, layout->field_size, count, layout->rows_at,
               sxt_crc32c(0, file + layout->rows_at, layout->strings_at - layout->rows_at));
    put_header(file + 0x48, 0, pool->bytes.size, layout->strings_at,
               sxt_crc32c(0, file + layout->strings_at, pool->bytes.size));
    put_header(file + 0x60, layout->line_size, layout->line_count, layout->lines_at,
               sxt_crc32c(0, file + layout->lines_at, layout->index_at - layout->lines_at));
    if (layout->parent_size != 0)
        write_index(layout, parents, file);
}
