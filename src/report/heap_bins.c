/* heap_bins.c: what happened over time, as tables of a page. */
#include "report/columns.h"
#include "report/heap_page.h"

enum {
    ENTRIES,
    PEAK_BYTES,
    PEAK_TIME,
    COLLECTIONS,
    COLLECTED_OBJECTS,
    COLLECTED_BYTES,
    SIZE_COUNT,
    SIZE_BYTES,
    LIFE_COUNT,
    LIFE_BYTES,
    BIN_COLUMNS
};

static void add_bin(struct sxt_column *columns, const struct sxt_heap_bin *bin, size_t entries)
{
    sxt_column_add(&columns[ENTRIES], entries);
    sxt_column_add(&columns[PEAK_BYTES], bin->peak_bytes);
    sxt_column_add_next(&columns[PEAK_TIME], (int64_t)bin->peak_time);
    sxt_column_add(&columns[COLLECTIONS], bin->collections);
    sxt_column_add(&columns[COLLECTED_OBJECTS], bin->collected_objects);
    sxt_column_add(&columns[COLLECTED_BYTES], bin->collected_bytes);
    for (unsigned i = 0; i < SXT_HEAP_POWERS; i++) {
        sxt_column_add(&columns[SIZE_COUNT], bin->size_count[i]);
        sxt_column_add(&columns[SIZE_BYTES], bin->size_bytes[i]);
        sxt_column_add(&columns[LIFE_COUNT], bin->life_count[i]);
        sxt_column_add(&columns[LIFE_BYTES], bin->life_bytes[i]);
    }
}

static int finish(struct sxt_page *page, const char *name, struct sxt_column *columns, size_t count, sxt_error *error)
{
    struct sxt_buffer table;
    sxt_buffer_init(&table, SIZE_MAX);
    for (size_t i = 0; i < count; i++)
        sxt_column_finish(&columns[i], &table);
    int status = sxt_page_add_block(page, name, &table, error);
    sxt_buffer_free(&table);
    return status;
}

static int add_entries(struct sxt_page *page, const struct sxt_heap_fold *fold, sxt_error *error)
{
    struct sxt_column columns[11];
    for (int i = 0; i < 11; i++)
        sxt_column_init(&columns[i]);
    for (size_t i = 0; i < fold->entry_count; i++) {
        const struct sxt_heap_bin_entry *entry = &fold->entries[i];
        sxt_column_add_next(&columns[0], entry->row);
        sxt_column_add(&columns[1], entry->bytes);
        sxt_column_add(&columns[2], entry->count);
        sxt_column_add(&columns[3], entry->freed_bytes);
        sxt_column_add(&columns[4], entry->freed_count);
        sxt_column_add(&columns[5], entry->temporary_bytes);
        sxt_column_add(&columns[6], entry->temporary_count);
        sxt_column_add(&columns[7], entry->leaked_bytes);
        sxt_column_add(&columns[8], entry->leaked_count);
        sxt_column_add_signed(&columns[9], entry->peak_bytes);
        sxt_column_add_signed(&columns[10], entry->peak_count);
    }
    return finish(page, "entries", columns, 11, error);
}

int sxt_heap_page_add_bins(struct sxt_page *page, const struct sxt_heap_bins *bins, const struct sxt_heap_fold *fold,
                           sxt_error *error)
{
    struct sxt_column columns[BIN_COLUMNS];
    size_t count = sxt_heap_bins_count(bins);
    for (int i = 0; i < BIN_COLUMNS; i++)
        sxt_column_init(&columns[i]);
    for (size_t i = 0; i < count; i++)
        add_bin(columns, sxt_heap_bins_get(bins, i), fold->first[i + 1] - fold->first[i]);
    int status = finish(page, "bins", columns, BIN_COLUMNS, error);
    return status == SXT_OK ? add_entries(page, fold, error) : status;
}

int sxt_heap_page_add_before(struct sxt_page *page, const struct sxt_heap_bins *bins, sxt_error *error)
{
    const struct sxt_heap_bin_row *rows = sxt_heap_bins_rows(bins);
    struct sxt_column columns[2];
    sxt_column_init(&columns[0]);
    sxt_column_init(&columns[1]);
    for (size_t i = 0; i < sxt_heap_bins_row_count(bins); i++) {
        sxt_column_add(&columns[0], rows[i].before_bytes);
        sxt_column_add(&columns[1], rows[i].before_count);
    }
    return finish(page, "before", columns, 2, error);
}

/* The points are narrower than the bins. */
int sxt_heap_page_add_timeline(struct sxt_page *page, const sxt_heap_usage *usage, sxt_error *error)
{
    struct sxt_column columns[4];
    const sxt_heap_interval *point;
    for (int i = 0; i < 4; i++)
        sxt_column_init(&columns[i]);
    for (size_t i = 0; (point = sxt_heap_get_point(usage, i)) != NULL; i++) {
        sxt_column_add(&columns[0], point->peak_bytes);
        sxt_column_add(&columns[1], point->live_bytes);
        sxt_column_add(&columns[2], point->bytes);
        sxt_column_add(&columns[3], point->freed_bytes);
    }
    return finish(page, "timeline", columns, 4, error);
}
