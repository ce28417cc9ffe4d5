/*
 * write.c: a Lidia file from the model. Sizes are added up first, then every table is written once into its place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "lidia/lidia.h"
#include "lidia/pool.h"

#define ROWS_A_BUCKET 4 /* at least, on average; at most twice as many */

/* The file that is being put together. */
struct layout {
    struct sxt_range_list list;
    struct sxt_lidia_pool pool;
    uint64_t function_count; /* rows of depth 0 */
    uint64_t line_count;
    unsigned address_size, field_size, line_size, parent_size;
    bool indexed;
    unsigned shift; /* of the index's buckets */
    uint64_t bucket_count;
    struct sxt_buffer chunks;
    uint64_t rows_at, strings_at, lines_at, index_at, chunks_at, size;
};

static int collect(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings, struct layout *layout,
                   sxt_error *error);
static int collect_chunks(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings,
                          struct layout *layout, sxt_error *error);
static uint32_t *find_parents(const struct sxt_range_list *list);
static void choose_sizes(struct layout *layout, const uint32_t *parents);
static void write_tables(const struct layout *layout, const uint32_t *parents, uint8_t *file);

int sxt_lidia_encode(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings, uint8_t **data,
                     size_t *size, struct sxt_lidia_counts *counts, sxt_error *error)
{
    *data = NULL;
    *size = 0;
    struct layout layout = {0};
    uint32_t *parents = NULL;
    sxt_buffer_init(&layout.chunks, SIZE_MAX);
    int status = collect(symbols, settings, &layout, error);
    if (status == SXT_OK && !settings->reference)
        status = collect_chunks(symbols, settings, &layout, error);
    if (status == SXT_OK && !settings->no_index && !settings->reference) {
        parents = find_parents(&layout.list);
        if (parents == NULL)
            status = sxt_fail_memory(error, layout.list.range_count * sizeof *parents);
    }
    if (status == SXT_OK) {
        choose_sizes(&layout, parents);
        *data = layout.size <= SIZE_MAX ? malloc(layout.size) : NULL;
        if (*data != NULL) {
            write_tables(&layout, parents, *data);
            *size = layout.size;
            if (counts != NULL)
                *counts = (struct sxt_lidia_counts){layout.function_count,
                                                    layout.list.range_count - layout.function_count, layout.line_count};
        } else {
            status = sxt_fail_memory(error, layout.size);
        }
    }
    free(parents);
    sxt_range_list_free(&layout.list);
    sxt_lidia_pool_close(&layout.pool);
    sxt_buffer_free(&layout.chunks);
    return status;
}

/* The rows in the order of adding, as the reference writes them. */
static int copy_ranges(const struct sxt_symbols *symbols, struct sxt_range_list *list, sxt_error *error)
{
    list->ranges = malloc((symbols->range_count + 1) * sizeof *list->ranges);
    if (list->ranges == NULL)
        return sxt_fail_memory(error, symbols->range_count * sizeof *list->ranges);
    list->range_count = symbols->range_count;
    if (list->range_count > 0)
        memcpy(list->ranges, symbols->ranges, list->range_count * sizeof *list->ranges);
    return SXT_OK;
}

/* The rows in file order, and the strings. The reference adds its strings before it sorts. */
static int collect(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings, struct layout *layout,
                   sxt_error *error)
{
    struct sxt_range_list *list = &layout->list;
    struct sxt_lidia_pool *pool = &layout->pool;
    int status = sxt_lidia_pool_open(pool, symbols, settings, error);
    if (status == SXT_OK)
        status = settings->reference ? copy_ranges(symbols, list, error) : sxt_ranges_one_file(symbols, list, error);
    if (status == SXT_OK)
        status = sxt_lidia_pool_make_names(pool, list, error);
    for (size_t i = 0; i < list->range_count && status == SXT_OK; i++) {
        sxt_lidia_pool_add_function(pool, list->ranges[i].function);
        sxt_lidia_pool_add_path(pool, list->ranges[i].file);
        sxt_lidia_pool_add_path(pool, list->ranges[i].call_file);
    }
    if (status == SXT_OK && pool->failed)
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting strings");
    if (status != SXT_OK)
        return status;
    return settings->reference ? sxt_ranges_sort(list->ranges, list->range_count, error) : SXT_OK;
}

/* All extra parts, as they will be in the file. */
static int collect_chunks(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings,
                          struct layout *layout, sxt_error *error)
{
    struct sxt_buffer content, *chunks = &layout->chunks;
    sxt_buffer_init(&content, SIZE_MAX);
    if (settings->module && sxt_module_is_known(&symbols->module)) {
        sxt_module_encode_mapped(&symbols->module, &settings->path_maps, &content);
        sxt_lidia_add_chunk(chunks, SXT_LIDIA_MODULE, SXT_LIDIA_MODULE_VERSION, content.data, content.size);
    }
    sxt_lidia_add_cuts(chunks, &layout->list);
    int status = SXT_OK;
    if (!sxt_lidia_add_aliases(chunks, symbols, &layout->pool.names))
        status = sxt_fail_memory(error, symbols->alias_count * sizeof *symbols->aliases);
    if (status == SXT_OK)
        status = sxt_buffer_status(content.failed ? &content : chunks, error);
    sxt_buffer_free(&content);
    return status;
}

/* For each row, how many rows before it the nearest one is that covers its address; 0 if there is none. */
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

/*
 * Is line entry INDEX of RANGE written? Of several at one address only the last is written, and none that repeats LAST,
 * the entry written before it (NULL: none).
 */
static bool is_written(const struct sxt_range_list *list, const struct sxt_model_range *range, uint32_t index,
                       const struct sxt_model_line *last)
{
    const struct sxt_model_line *line = &list->lines[range->first_line + index];
    if (index + 1 < range->line_count && line[1].offset == line->offset)
        return false;
    return last == NULL || last->line != line->line;
}

static void choose_sizes(struct layout *layout, const uint32_t *parents)
{
    const struct sxt_range_list *list = &layout->list;
    const struct sxt_lidia_pool *pool = &layout->pool;
    uint64_t largest_field = 0, largest_line = 0;
    uint32_t farthest = 0;
    for (size_t i = 0; i < list->range_count; i++) {
        const struct sxt_model_range *range = &list->ranges[i];
        layout->function_count += range->depth == 0;
        largest_field |= range->length | range->depth | range->call_line | pool->function_of[range->function] |
                         pool->path_of[range->file] | pool->path_of[range->call_file];
        const struct sxt_model_line *last_line = NULL;
        for (uint32_t k = 0; k < range->line_count; k++) {
            if (!is_written(list, range, k, last_line))
                continue;
            last_line = &list->lines[range->first_line + k];
            largest_line |= last_line->offset | last_line->line;
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
    /* Without inlined ranges no row has a parent. */
    layout->parent_size = farthest == 0 ? 0 : farthest > UINT16_MAX ? 4 : farthest > UINT8_MAX ? 2 : 1;

    layout->rows_at = SXT_LIDIA_HEADER_SIZE + (uint64_t)list->range_count * layout->address_size;
    layout->strings_at = layout->rows_at + (uint64_t)list->range_count * SXT_LIDIA_FIELDS * layout->field_size;
    layout->lines_at = layout->strings_at + pool->size;
    layout->index_at = layout->lines_at + layout->line_count * 2 * layout->line_size;
    layout->size = layout->index_at;
    layout->indexed = parents != NULL && list->range_count > 0;
    if (layout->indexed) {
        /*
         * As many buckets as possible with at least ROWS_A_BUCKET rows each, on average; for few rows, one is enough.
         */
        uint64_t span = last - list->ranges[0].address;
        while (layout->shift < 63 && (span >> layout->shift) >= list->range_count / ROWS_A_BUCKET + 1)
            layout->shift++;
        layout->bucket_count = (span >> layout->shift) + 1;
        layout->size += SXT_LIDIA_INDEX_HEADER_SIZE +
                        sxt_lidia_index_size(list->range_count, layout->bucket_count, layout->parent_size);
    }
    layout->chunks_at = layout->size;
    layout->size += layout->chunks.size;
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

/* A table's part of the header: item size (if it has one), count, offset, CRC. */
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
    const struct sxt_lidia_pool *pool = &layout->pool;
    uint8_t *addresses = file + SXT_LIDIA_HEADER_SIZE;
    uint8_t *row = file + layout->rows_at;
    uint64_t next_line = 0;
    for (size_t i = 0; i < list->range_count; i++) {
        const struct sxt_model_range *range = &list->ranges[i];
        uint64_t first_line = next_line;
        const struct sxt_model_line *last_line = NULL;
        for (uint32_t k = 0; k < range->line_count; k++) {
            if (!is_written(list, range, k, last_line))
                continue;
            last_line = &list->lines[range->first_line + k];
            lines = put(lines, last_line->offset, layout->line_size);
            lines = put(lines, last_line->line, layout->line_size);
            next_line++;
        }
        const uint64_t fields[SXT_LIDIA_FIELDS] = {
            range->length,
            range->depth,
            pool->function_of[range->function],
            pool->path_of[range->file],
            next_line > first_line ? first_line : 0,
            next_line - first_line,
            pool->path_of[range->call_file],
            range->call_line,
        };
        addresses = put(addresses, range->address, layout->address_size);
        for (unsigned k = 0; k < SXT_LIDIA_FIELDS; k++)
            row = put(row, fields[k], layout->field_size);
    }
}

/* The strings are written already: a name has its size before it, or a NUL after it. */
static uint16_t name_size(const struct layout *layout, const uint8_t *file, uint32_t function)
{
    const uint8_t *name = file + layout->strings_at + layout->pool.function_of[function];
    size_t size = layout->pool.settings->nul_strings ? strlen((const char *)name) : sxt_load_u32le(name);
    return size < SXT_LIDIA_LONG_NAME ? (uint16_t)size : SXT_LIDIA_LONG_NAME;
}

static void write_index(const struct layout *layout, const uint32_t *parents, uint8_t *file)
{
    const struct sxt_range_list *list = &layout->list;
    uint8_t *header = file + layout->index_at;
    uint8_t *content = header + SXT_LIDIA_INDEX_HEADER_SIZE;
    uint8_t *to = content;
    size_t row = 0;
    for (uint64_t i = 0; i < layout->bucket_count; i++) {
        while (row < list->range_count && (list->ranges[row].address - list->ranges[0].address) >> layout->shift < i)
            row++;
        to = put(to, row, 4);
    }
    to = put(to, list->range_count, 4);
    for (size_t i = 0; i < list->range_count; i++)
        to = put(to, name_size(layout, file, list->ranges[i].function), 2);
    for (size_t i = 0; i < list->range_count && layout->parent_size != 0; i++)
        to = put(to, parents[i], layout->parent_size);
    memcpy(header, "sxti", 4);
    put(header + 0x04, 1, 4);
    put(header + 0x08, list->range_count, 8);
    put(header + 0x10, layout->parent_size, 4);
    put(header + 0x14, layout->shift, 4);
    put(header + 0x18, sxt_crc32c(0, content, (size_t)(to - content)), 4);
    put(header + 0x1c, sxt_crc32c(0, header, 0x1c), 4);
}

static void write_tables(const struct layout *layout, const uint32_t *parents, uint8_t *file)
{
    uint64_t count = layout->list.range_count;
    write_rows(layout, file, file + layout->lines_at);
    sxt_lidia_pool_write(&layout->pool, file + layout->strings_at);

    memcpy(file, ".dia", 4);
    put(file + 4, 1, 4);
    put_header(file + 0x08, layout->address_size, count, SXT_LIDIA_HEADER_SIZE,
               sxt_crc32c(0, file + SXT_LIDIA_HEADER_SIZE, layout->rows_at - SXT_LIDIA_HEADER_SIZE));
    put_header(file + 0x28, layout->field_size, count, layout->rows_at,
               sxt_crc32c(0, file + layout->rows_at, layout->strings_at - layout->rows_at));
    put_header(file + 0x48, 0, layout->pool.size, layout->strings_at,
               sxt_crc32c(0, file + layout->strings_at, layout->pool.size));
    put_header(file + 0x60, layout->line_size, layout->line_count, layout->lines_at,
               sxt_crc32c(0, file + layout->lines_at, layout->index_at - layout->lines_at));
    if (layout->indexed)
        write_index(layout, parents, file);
    if (layout->chunks.size > 0)
        memcpy(file + layout->chunks_at, layout->chunks.data, layout->chunks.size);
}
