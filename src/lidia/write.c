/*
 * write.c: a Lidia file from the model. Sizes are added up first, then every table is written once into its place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/task.h"
#include "lidia/rows.h"

#define ROWS_A_BUCKET 4 /* at least, on average; at most twice as many */

static int collect(const struct sxt_symbols *symbols, struct sxt_lidia_layout *layout, sxt_error *error);
static int collect_chunks(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings,
                          struct sxt_lidia_layout *layout, sxt_error *error);
static void lay_out(struct sxt_lidia_layout *layout);
static void write_tables(const struct sxt_lidia_layout *layout, uint8_t *file);

int sxt_lidia_encode(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings, uint8_t **data,
                     size_t *size, struct sxt_lidia_counts *counts, sxt_error *error)
{
    *data = NULL;
    *size = 0;
    struct sxt_lidia_layout layout = {.settings = settings};
    sxt_buffer_init(&layout.chunks, SIZE_MAX);
    int status = collect(symbols, &layout, error);
    if (status == SXT_OK && !settings->reference)
        status = collect_chunks(symbols, settings, &layout, error);
    if (status == SXT_OK) {
        lay_out(&layout);
        *data = layout.size <= SIZE_MAX ? malloc(layout.size) : NULL;
        if (*data != NULL) {
            write_tables(&layout, *data);
            *size = layout.size;
            if (counts != NULL)
                *counts = (struct sxt_lidia_counts){layout.rows.functions,
                                                    layout.list.range_count - layout.rows.functions, layout.rows.lines};
        } else {
            status = sxt_fail_memory(error, layout.size);
        }
    }
    if (status == SXT_OK && layout.indexed && settings->module)
        status = sxt_lidia_add_opening(data, size, error);
    sxt_lidia_rows_free(&layout.rows);
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
    list->lines = symbols->lines;
    if (list->range_count > 0)
        memcpy(list->ranges, symbols->ranges, list->range_count * sizeof *list->ranges);
    return SXT_OK;
}

/* The strings of the rows. */
static int collect_strings(struct sxt_lidia_layout *layout, sxt_error *error)
{
    const struct sxt_range_list *list = &layout->list;
    struct sxt_lidia_pool *pool = &layout->pool;
    int status = sxt_lidia_pool_make_names(pool, list, error);
    for (size_t i = 0; i < list->range_count && status == SXT_OK; i++) {
        sxt_lidia_pool_add_function(pool, list->ranges[i].function);
        sxt_lidia_pool_add_path(pool, list->ranges[i].file);
        sxt_lidia_pool_add_path(pool, list->ranges[i].call_file);
    }
    if (status == SXT_OK && pool->failed)
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting strings");
    return status;
}

static void measure(void *context)
{
    struct sxt_lidia_layout *layout = context;
    const struct sxt_lidia_settings *settings = layout->settings;
    bool wants_parents = !settings->no_index && !settings->reference;
    sxt_lidia_rows_measure(&layout->rows, &layout->list, wants_parents, settings->threads);
}

/* The rows in file order, and the strings. The reference adds its strings before it sorts. */
static int collect(const struct sxt_symbols *symbols, struct sxt_lidia_layout *layout, sxt_error *error)
{
    const struct sxt_lidia_settings *settings = layout->settings;
    struct sxt_range_list *list = &layout->list;
    int status = sxt_lidia_pool_open(&layout->pool, symbols, settings, error);
    if (status == SXT_OK)
        status = settings->reference ? copy_ranges(symbols, list, error)
                                     : sxt_ranges_one_file(symbols, settings->threads, list, error);
    if (status != SXT_OK)
        return status;
    struct sxt_task task;
    bool is_sorted = !settings->reference;
    if (is_sorted)
        sxt_task_start(&task, sxt_lidia_threads(list, settings->threads), measure, layout);
    status = collect_strings(layout, error);
    if (!is_sorted && status == SXT_OK)
        status = sxt_ranges_sort(list->ranges, list->range_count, error);
    if (is_sorted)
        sxt_task_finish(&task);
    else
        measure(layout);
    if (status == SXT_OK && layout->rows.no_memory)
        status = sxt_fail_memory(error, list->range_count * sizeof *layout->rows.parents);
    return status;
}

/* All extra parts, as they will be in the file. */
static int collect_chunks(const struct sxt_symbols *symbols, const struct sxt_lidia_settings *settings,
                          struct sxt_lidia_layout *layout, sxt_error *error)
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

static void lay_out(struct sxt_lidia_layout *layout)
{
    const struct sxt_range_list *list = &layout->list;
    const struct sxt_lidia_rows *rows = &layout->rows;
    uint64_t largest_field = rows->largest_field | rows->lines | layout->pool.last;
    uint64_t last = list->range_count > 0 ? list->ranges[list->range_count - 1].address : 0;
    layout->address_size = last > UINT32_MAX ? 8 : 4;
    layout->field_size = largest_field > UINT32_MAX ? 8 : 4;
    layout->line_size = rows->largest_line > UINT16_MAX ? 4 : 2;
    /* Without inlined ranges no row has a parent. */
    layout->parent_size = rows->farthest == 0           ? 0
                          : rows->farthest > UINT16_MAX ? 4
                          : rows->farthest > UINT8_MAX  ? 2
                                                        : 1;

    layout->rows_at = SXT_LIDIA_HEADER_SIZE + (uint64_t)list->range_count * layout->address_size;
    layout->strings_at = layout->rows_at + (uint64_t)list->range_count * SXT_LIDIA_FIELDS * layout->field_size;
    layout->lines_at = layout->strings_at + layout->pool.size;
    layout->index_at = layout->lines_at + rows->lines * 2 * layout->line_size;
    layout->size = layout->index_at;
    layout->indexed = rows->parents != NULL && list->range_count > 0;
    if (layout->indexed) {
        /*
         * As many buckets as possible with at least ROWS_A_BUCKET rows each, on average; for few rows, one is enough.
         */
        uint64_t span = last - list->ranges[0].address;
        while (layout->shift < 63 && (span >> layout->shift) >= list->range_count / ROWS_A_BUCKET + 1)
            layout->shift++;
        layout->bucket_count = (span >> layout->shift) + 1;
        layout->index_size = sxt_lidia_index_size(list->range_count, layout->bucket_count, layout->parent_size);
        layout->size += SXT_LIDIA_INDEX_HEADER_SIZE + layout->index_size;
    }
    layout->chunks_at = layout->size;
    layout->size += layout->chunks.size;
}

/* A table's part of the header: item size (if it has one), count, offset, CRC. */
static void put_header(uint8_t *at, unsigned item_size, uint64_t count, uint64_t offset, uint32_t crc)
{
    if (item_size != 0)
        at = sxt_lidia_put(at, item_size, 8);
    at = sxt_lidia_put(at, count, 8);
    at = sxt_lidia_put(at, offset, 8);
    at = sxt_lidia_put(at, crc, 4);
    sxt_lidia_put(at, 0, 4);
}

/* The parts of the file that have a CRC. */
enum table { ADDRESSES, ROWS, STRINGS, LINES, INDEX, TABLE_COUNT };

struct checking {
    const uint8_t *file;
    uint64_t start[TABLE_COUNT], end[TABLE_COUNT];
    uint32_t crc[TABLE_COUNT];
};

static int check_table(void *context, unsigned worker, size_t table)
{
    (void)worker;
    struct checking *checking = context;
    checking->crc[table] =
        sxt_crc32c(0, checking->file + checking->start[table], (size_t)(checking->end[table] - checking->start[table]));
    return SXT_OK;
}

static void write_index_header(const struct sxt_lidia_layout *layout, uint8_t *header, uint32_t crc)
{
    memcpy(header, "sxti", 4);
    sxt_lidia_put(header + 0x04, 1, 4);
    sxt_lidia_put(header + 0x08, layout->list.range_count, 8);
    sxt_lidia_put(header + 0x10, layout->parent_size, 4);
    sxt_lidia_put(header + 0x14, layout->shift, 4);
    sxt_lidia_put(header + 0x18, crc, 4);
    sxt_lidia_put(header + 0x1c, sxt_crc32c(0, header, 0x1c), 4);
}

static void write_tables(const struct sxt_lidia_layout *layout, uint8_t *file)
{
    uint64_t count = layout->list.range_count;
    unsigned threads = sxt_lidia_threads(&layout->list, layout->settings->threads);
    sxt_lidia_pool_write(&layout->pool, file + layout->strings_at);
    sxt_lidia_rows_write(layout, file);

    uint64_t index_content = layout->index_at + (layout->indexed ? SXT_LIDIA_INDEX_HEADER_SIZE : 0);
    struct checking checking = {
        .file = file,
        .start = {SXT_LIDIA_HEADER_SIZE, layout->rows_at, layout->strings_at, layout->lines_at, index_content},
        .end = {layout->rows_at, layout->strings_at, layout->lines_at, layout->index_at, layout->chunks_at},
    };
    sxt_pool_run(threads, TABLE_COUNT, check_table, &checking);
    memcpy(file, ".dia", 4);
    sxt_lidia_put(file + 4, 1, 4);
    put_header(file + 0x08, layout->address_size, count, SXT_LIDIA_HEADER_SIZE, checking.crc[ADDRESSES]);
    put_header(file + 0x28, layout->field_size, count, layout->rows_at, checking.crc[ROWS]);
    put_header(file + 0x48, 0, layout->pool.size, layout->strings_at, checking.crc[STRINGS]);
    put_header(file + 0x60, layout->line_size, layout->rows.lines, layout->lines_at, checking.crc[LINES]);
    if (layout->indexed)
        write_index_header(layout, file + layout->index_at, checking.crc[INDEX]);
    if (layout->chunks.size > 0)
        memcpy(file + layout->chunks_at, layout->chunks.data, layout->chunks.size);
}
