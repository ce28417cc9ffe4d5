/*
 * heap_diff_page.c: the data of a page that compares two heap traces. Stacks are matched as `diff` matches them.
 *
 * Block "calls" has the tree of the stacks of both (heap_calls.c); then of each row, a stack on one or both sides, the
 * number of its node, 1 more than the number of the stack before and after (0: it has none), and what it takes before
 * and after: bytes and blocks at the peak, leaked, and allocated.
 */
#include <string.h>

#include "base/string.h"
#include "report/columns.h"
#include "report/heap_page.h"

#define FIGURES 6
#define COLUMNS (3 + 2 * FIGURES)

struct counts {
    uint64_t rows, unchanged, changed, added, removed;
};

static void list_figures(const sxt_heap_sums *sums, uint64_t out[FIGURES])
{
    const uint64_t figures[FIGURES] = {sums->peak_bytes,   sums->peak_count, sums->leaked_bytes,
                                       sums->leaked_count, sums->bytes,      sums->count};
    memcpy(out, figures, sizeof figures);
}

static void add_row(const struct sxt_page_heap_diff *traces, struct sxt_heap_calls *calls,
                    const sxt_heap_change *change, struct sxt_column *columns, struct counts *counts)
{
    uint64_t before[FIGURES], after[FIGURES];
    bool is_after = change->after != SXT_TRACE_NO_ID, is_before = change->before != SXT_TRACE_NO_ID;
    list_figures(change->sums_before, before);
    list_figures(change->sums_after, after);
    uint32_t node = is_after ? sxt_heap_calls_add(calls, traces->after, change->after)
                             : sxt_heap_calls_add(calls, traces->before, change->before);
    sxt_column_add_next(&columns[0], node);
    sxt_column_add_next(&columns[1], is_before ? (int64_t)change->before + 1 : 0);
    sxt_column_add_next(&columns[2], is_after ? (int64_t)change->after + 1 : 0);
    for (int i = 0; i < FIGURES; i++) {
        sxt_column_add(&columns[3 + i], before[i]);
        sxt_column_add(&columns[3 + FIGURES + i], after[i]);
    }
    counts->rows++;
    if (memcmp(before, after, sizeof before) == 0)
        counts->unchanged++;
    else
        ++*(!is_before ? &counts->added : !is_after ? &counts->removed : &counts->changed);
}

/* The stacks after come first, so that files are where they are now. */
static void add_rows(const struct sxt_page_heap_diff *traces, const sxt_heap_diff *diff, struct sxt_heap_calls *calls,
                     struct sxt_column *columns, struct counts *counts)
{
    sxt_heap_change change;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; sxt_heap_diff_get(diff, i, &change); i++)
            if ((change.after == SXT_TRACE_NO_ID) == (pass == 1))
                add_row(traces, calls, &change, columns, counts);
}

static void write_json(const struct sxt_page_heap_diff *traces, const sxt_heap_usage *const usages[2],
                       const struct sxt_heap_calls *calls, const struct counts *counts, struct sxt_buffer *text)
{
    struct sxt_json_writer json = sxt_json_writer_make(text, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "kind", sxt_string_of("heapdiff"));
    sxt_json_write_string(&json, "name", sxt_string_of(traces->name));
    sxt_json_write_string(&json, "before_name", sxt_string_of(traces->before_name));
    sxt_heap_page_write_totals(&json, "before", usages[0], traces->before);
    sxt_heap_page_write_totals(&json, "after", usages[1], traces->after);
    sxt_json_write_number(&json, "rows", counts->rows);
    sxt_json_write_number(&json, "unchanged", counts->unchanged);
    sxt_json_write_number(&json, "changed", counts->changed);
    sxt_json_write_number(&json, "added", counts->added);
    sxt_json_write_number(&json, "removed", counts->removed);
    sxt_json_write_number(&json, "functions", calls->function_count);
    sxt_json_write_number(&json, "frames", calls->frame_count);
    sxt_json_write_number(&json, "nodes", calls->node_count);
    sxt_json_write_end(&json, '}');
}

static int fill(struct sxt_page *page, const struct sxt_page_heap_diff *traces, const sxt_heap_usage *const usages[2],
                const sxt_heap_diff *diff, struct sxt_heap_calls *calls, sxt_error *error)
{
    struct sxt_column columns[COLUMNS];
    struct counts counts = {0};
    struct sxt_buffer json, table;
    sxt_buffer_init(&json, SIZE_MAX);
    sxt_buffer_init(&table, SIZE_MAX);
    for (int i = 0; i < COLUMNS; i++)
        sxt_column_init(&columns[i]);
    add_rows(traces, diff, calls, columns, &counts);
    write_json(traces, usages, calls, &counts, &json);
    sxt_heap_calls_write(calls, &table);
    for (int i = 0; i < COLUMNS; i++)
        sxt_column_finish(&columns[i], &table);
    table.failed |= calls->no_memory;
    sxt_page_add_json(page, &json);
    int status = sxt_page_add_block(page, "calls", &table, error);
    sxt_buffer_free(&json);
    sxt_buffer_free(&table);
    return status;
}

int sxt_page_make_heap_diff(struct sxt_page *page, const struct sxt_page_heap_diff *traces, sxt_error *error)
{
    const sxt_trace *const sides[2] = {traces->before, traces->after};
    sxt_heap_usage *usages[2] = {NULL, NULL};
    sxt_heap_diff *diff = NULL;
    struct sxt_heap_calls calls;
    int status = sxt_heap_calls_init(&calls, error);
    calls.ignores_folders = true;
    for (int i = 0; i < 2 && status == SXT_OK; i++) {
        status = sxt_trace_analyse(sides[i], NULL, &usages[i], error);
        if (status == SXT_OK)
            status = sxt_heap_suppress_known(usages[i], error);
    }
    if (status == SXT_OK)
        status = sxt_heap_diff_make(usages[0], usages[1], SXT_HEAP_COST_PEAK, &diff, error);
    if (status == SXT_OK)
        status = fill(page, traces, (const sxt_heap_usage *const *)usages, diff, &calls, error);
    sxt_heap_diff_free(&diff);
    sxt_heap_usage_free(&usages[0]);
    sxt_heap_usage_free(&usages[1]);
    sxt_heap_calls_free(&calls);
    return status;
}
