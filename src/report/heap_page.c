/*
 * heap_page.c: the data of a page about a heap trace. Exact totals are in its JSON; everything over time is in bins, so
 * that the page can show any window of whole bins.
 *
 * Block "calls" has the tree of the stacks (heap_calls.c); then of each row, a stack on a thread, the number of its
 * node and of its stack, its thread, and whether its leaks are suppressed. docs/pages.md describes the other blocks.
 */
#include "report/heap_page.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/string.h"
#include "report/columns.h"
#include "report/heap_groups.h"
#include "trace/trace.h"

#define POINTS_MOST  2048   /* of the timeline */
#define ENTRIES_MOST 200000 /* of stacks that are not folded */
#define STACKS_MOST  1024   /* that bins of few entries are made for without groups */

struct sxt_heap_kept {
    struct sxt_heap_calls calls;
    struct sxt_heap_groups groups; /* is_grouped */
    bool is_grouped;
    struct sxt_heap_checkpoints *checkpoints; /* may be NULL */
};

/* A page while it is made. */
struct making {
    struct sxt_page *page;
    const struct sxt_page_heap *heap;
    struct sxt_heap_kept *kept;
    struct sxt_heap_bins *bins;
    struct sxt_buffer totals; /* JSON; of a whole trace that is grouped */
    sxt_heap_usage *usage;
    bool is_second; /* pass over the events, of two */
    bool is_window;
    uint64_t from, until; /* is_window */
};

/* --- totals --- */

static void write_whole(struct sxt_json_writer *json, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    sxt_json_write_string(json, key, sxt_string_of(text));
}

void sxt_heap_page_write_totals(struct sxt_json_writer *json, const char *key, const sxt_heap_usage *usage,
                                const sxt_trace *trace)
{
    sxt_heap_summary summary = {.struct_size = sizeof summary};
    sxt_trace_info info = {.struct_size = sizeof info};
    const sxt_heap_sums *total = sxt_heap_total(usage);
    sxt_heap_get_summary(usage, &summary);
    sxt_trace_get_info(trace, &info);
    sxt_json_write_begin(json, key, '{');
    write_whole(json, "peak_bytes", total->peak_bytes);
    write_whole(json, "peak_allocations", total->peak_count);
    write_whole(json, "peak_time", summary.peak_time - summary.start);
    write_whole(json, "allocated_bytes", total->bytes);
    write_whole(json, "allocations", total->count);
    write_whole(json, "leaked_bytes", total->leaked_bytes);
    write_whole(json, "leaked_allocations", total->leaked_count);
    write_whole(json, "suppressed_bytes", summary.suppressed_bytes);
    write_whole(json, "suppressed_allocations", summary.suppressed_count);
    write_whole(json, "temporary_bytes", total->temporary_bytes);
    write_whole(json, "temporary_allocations", total->temporary_count);
    write_whole(json, "frees", summary.frees);
    write_whole(json, "unmatched_frees", summary.unmatched_frees);
    write_whole(json, "implicit_frees", summary.implicit_frees);
    write_whole(json, "events", summary.events);
    write_whole(json, "stacks", summary.stacks);
    write_whole(json, "collections", summary.gc_events);
    write_whole(json, "collected_bytes", summary.gc_bytes);
    write_whole(json, "duration", summary.duration);
    write_whole(json, "start", summary.start);
    write_whole(json, "lost_events", summary.lost_events);
    write_whole(json, "dropped", info.dropped);
    sxt_json_write_bool(json, "is_damaged", summary.is_damaged || summary.damaged_blocks > 0);
    sxt_json_write_bool(json, "is_cut_off", info.is_cut_off);
    if (summary.is_sampled)
        write_whole(json, "sample_period", info.sample_period);
    sxt_json_write_end(json, '}');
}

/* --- rows --- */

/* Sorted stacks whose leaks are suppressed. */
struct suppressed {
    uint32_t *stacks;
    size_t count;
};

static int compare_stacks(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int list_suppressed(const sxt_heap_usage *usage, struct suppressed *out, sxt_error *error)
{
    *out = (struct suppressed){malloc((usage->sites.count + 1) * sizeof *out->stacks), 0};
    if (out->stacks == NULL)
        return sxt_fail_memory(error, usage->sites.count * sizeof *out->stacks);
    for (size_t i = 0; i < usage->sites.count; i++) {
        const struct sxt_heap_record *site = sxt_heap_record(&usage->sites, i);
        if (site->is_suppressed)
            out->stacks[out->count++] = site->stack;
    }
    qsort(out->stacks, out->count, sizeof *out->stacks, compare_stacks);
    return SXT_OK;
}

/* The rows of the bins, with their nodes. To be freed; NULL: memory is short. */
static struct sxt_heap_fold_row *list_rows(struct making *making, const struct suppressed *suppressed)
{
    const struct sxt_heap_bin_row *rows = sxt_heap_bins_rows(making->bins);
    const sxt_trace *trace = making->heap->trace;
    size_t count = sxt_heap_bins_row_count(making->bins);
    struct sxt_heap_fold_row *list = malloc((count + 1) * sizeof *list);
    for (size_t i = 0; i < count && list != NULL; i++) {
        uint32_t stack = sxt_trace_same_stack(trace, rows[i].stack);
        const struct sxt_heap_group *group =
            making->kept->is_grouped ? sxt_heap_groups_find(&making->kept->groups, rows[i].stack) : NULL;
        bool is_suppressed = group != NULL
                                 ? group->is_suppressed
                                 : suppressed->count > 0 && bsearch(&stack, suppressed->stacks, suppressed->count,
                                                                    sizeof *suppressed->stacks, compare_stacks) != NULL;
        list[i] = (struct sxt_heap_fold_row){
            .node = group != NULL ? group->node : sxt_heap_calls_add(&making->kept->calls, trace, stack),
            .stack = stack,
            .thread = rows[i].thread,
            .is_suppressed = is_suppressed,
        };
    }
    return list;
}

static void write_rows(const struct sxt_heap_fold *fold, struct sxt_buffer *table)
{
    struct sxt_column columns[4];
    for (int i = 0; i < 4; i++)
        sxt_column_init(&columns[i]);
    for (size_t i = 0; i < fold->row_count; i++) {
        sxt_column_add_next(&columns[0], fold->rows[i].node);
        sxt_column_add_next(&columns[1], fold->rows[i].stack);
        sxt_column_add_next(&columns[2], fold->rows[i].thread);
        sxt_column_add(&columns[3], fold->rows[i].is_suppressed);
    }
    for (int i = 0; i < 4; i++)
        sxt_column_finish(&columns[i], table);
}

static int add_calls(struct sxt_page *page, const struct sxt_heap_calls *calls, const struct sxt_heap_fold *fold,
                     sxt_error *error)
{
    struct sxt_buffer table;
    sxt_buffer_init(&table, SIZE_MAX);
    sxt_heap_calls_write(calls, &table);
    write_rows(fold, &table);
    int status = calls->no_memory ? sxt_fail_memory(error, calls->node_count) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_page_add_block(page, "calls", &table, error);
    sxt_buffer_free(&table);
    return status;
}

/* --- JSON --- */

static void write_threads(struct sxt_json_writer *json, const sxt_trace *trace, const struct sxt_heap_bins *bins)
{
    bool *is_there = calloc((size_t)UINT16_MAX + 1, sizeof *is_there);
    const struct sxt_heap_bin_row *rows = sxt_heap_bins_rows(bins);
    sxt_json_write_begin(json, "threads", '[');
    for (size_t i = 0; i < sxt_heap_bins_row_count(bins) && is_there != NULL; i++) {
        if (is_there[rows[i].thread])
            continue;
        is_there[rows[i].thread] = true;
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_number(json, "id", rows[i].thread);
        sxt_json_write_string(json, "name", sxt_trace_thread_name(trace, rows[i].thread));
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    free(is_there);
}

static void write_markers(struct sxt_json_writer *json, const sxt_trace *trace, const sxt_heap_usage *usage)
{
    const sxt_heap_marker *marker;
    sxt_json_write_begin(json, "markers", '[');
    for (size_t i = 0; (marker = sxt_heap_get_marker(usage, i)) != NULL; i++) {
        char room[24];
        sxt_string name = sxt_trace_function_name(trace, marker->name);
        if (name.data == NULL)
            name = (sxt_string){room, (size_t)snprintf(room, sizeof room, "marker_%u", marker->name)};
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_string(json, "name", name);
        sxt_json_write_number(json, "time", marker->time - usage->start);
        write_whole(json, "live_bytes", marker->live_bytes);
        write_whole(json, "live_allocations", marker->live_count);
        write_whole(json, "peak_bytes", marker->peak_bytes);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    sxt_json_write_number(json, "all_markers", usage->all_markers);
}

static void write_shape(struct sxt_json_writer *json, const struct sxt_heap_bins *bins,
                        const struct sxt_heap_fold *fold, const sxt_heap_usage *usage)
{
    const sxt_heap_interval *point = sxt_heap_get_point(usage, 0);
    sxt_json_write_number(json, "bins", sxt_heap_bins_count(bins));
    sxt_json_write_number(json, "bin_width", sxt_heap_bins_width(bins));
    sxt_json_write_number(json, "entries", fold->entry_count);
    sxt_json_write_number(json, "rows", fold->row_count);
    sxt_json_write_number(json, "folded", fold->folded);
    sxt_json_write_number(json, "points", usage->timeline.count);
    sxt_json_write_number(json, "point_width", point != NULL ? point->width : 1);
    sxt_json_write_number(json, "start", usage->start);
}

static void write_command(struct sxt_json_writer *json, const sxt_trace *trace)
{
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(trace, &info);
    sxt_json_write_begin(json, "command", '[');
    for (size_t i = 0; i < info.word_count && i < 100; i++)
        sxt_json_write_string(json, NULL, sxt_trace_command_word(trace, i));
    sxt_json_write_end(json, ']');
}

/* Which part of the trace it is, and how many events a window may have to be shown in finer bins. */
static void write_window(struct sxt_json_writer *json, const struct making *making)
{
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(making->heap->trace, &info);
    if (making->is_window)
        sxt_json_write_number(json, "window_start", making->usage->start - info.start_us);
    if (making->kept->checkpoints != NULL)
        sxt_json_write_number(json, "fine_events", SXT_HEAP_FINE_EVENTS);
}

static int write_json(struct making *making, const struct sxt_heap_fold *fold, struct sxt_buffer *text,
                      sxt_error *error)
{
    const struct sxt_page_heap *heap = making->heap;
    const struct sxt_heap_calls *calls = &making->kept->calls;
    struct sxt_json_writer json = sxt_json_writer_make(text, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "kind", sxt_string_of("heap"));
    sxt_json_write_string(&json, "name", sxt_string_of(heap->name));
    sxt_json_write_bool(&json, "has_sources", heap->with_sources);
    write_command(&json, heap->trace);
    if (making->totals.size > 0)
        sxt_json_write_text(&json, NULL, (sxt_string){(const char *)making->totals.data, making->totals.size});
    else
        sxt_heap_page_write_totals(&json, "totals", making->usage, heap->trace);
    write_shape(&json, making->bins, fold, making->usage);
    write_threads(&json, heap->trace, making->bins);
    write_markers(&json, heap->trace, making->usage);
    int status = sxt_heap_page_write_addresses(&json, &making->kept->calls, heap, error);
    write_window(&json, making);
    sxt_json_write_number(&json, "functions", calls->function_count);
    sxt_json_write_number(&json, "frames", calls->frame_count);
    sxt_json_write_number(&json, "nodes", calls->node_count);
    sxt_json_write_end(&json, '}');
    return status;
}

/* --- the page --- */

static int add_blocks(struct making *making, const struct sxt_heap_fold *fold, sxt_error *error)
{
    struct sxt_page *page = making->page;
    struct sxt_buffer json;
    sxt_buffer_init(&json, SIZE_MAX);
    int status = write_json(making, fold, &json, error);
    sxt_page_add_json(page, &json);
    sxt_buffer_free(&json);
    if (status == SXT_OK)
        status = add_calls(page, &making->kept->calls, fold, error);
    if (status == SXT_OK)
        status = sxt_heap_page_add_bins(page, making->bins, fold, error);
    if (status == SXT_OK)
        status = sxt_heap_page_add_timeline(page, making->usage, error);
    if (status == SXT_OK && making->is_window)
        status = sxt_heap_page_add_before(page, making->bins, error);
    if (status == SXT_OK && making->heap->with_sources)
        status = sxt_heap_page_add_sources(page, &making->kept->calls, error);
    return status;
}

static int fill(struct making *making, sxt_error *error)
{
    struct suppressed suppressed;
    struct sxt_heap_fold fold;
    int status = list_suppressed(making->usage, &suppressed, error);
    if (status != SXT_OK)
        return status;
    struct sxt_heap_fold_row *rows = list_rows(making, &suppressed);
    free(suppressed.stacks);
    if (rows == NULL || making->kept->calls.no_memory) {
        free(rows);
        return sxt_fail_memory(error, sxt_heap_bins_row_count(making->bins) * sizeof *rows);
    }
    status = sxt_heap_fold_make(&fold, making->bins, rows, &making->kept->calls,
                                making->is_window ? SIZE_MAX : ENTRIES_MOST, error);
    if (status != SXT_OK)
        return status;
    if (making->kept->is_grouped)
        fold.folded = making->kept->groups.folded;
    status = add_blocks(making, &fold, error);
    sxt_heap_fold_free(&fold);
    return status;
}

/* --- passes over the events --- */

/* Each pass of two is half of the work. */
static void report_progress(void *data, uint64_t done, uint64_t all)
{
    const struct making *making = data;
    const struct sxt_page_heap *heap = making->heap;
    if (heap->progress != NULL && making->kept->is_grouped && !making->is_window)
        heap->progress(heap->progress_data, making->is_second ? all + done : done, 2 * all);
    else if (heap->progress != NULL)
        heap->progress(heap->progress_data, done, all);
}

static int analyse(struct making *making, struct sxt_heap_bins *bins, sxt_error *error)
{
    sxt_heap_options options;
    sxt_heap_options_init(&options);
    options.timeline = bins != NULL ? POINTS_MOST : 0;
    options.progress = report_progress;
    options.progress_data = making;
    struct sxt_heap_watcher watcher = {.bins = bins};
    if (making->is_window) {
        options.from = (sxt_heap_moment){.kind = SXT_HEAP_MOMENT_TIME, .time = making->from};
        options.to = (sxt_heap_moment){.kind = SXT_HEAP_MOMENT_TIME, .time = making->until};
        watcher.from = making->kept->checkpoints;
    } else if (bins != NULL) {
        watcher.save = making->kept->checkpoints;
    }
    int status = sxt_trace_analyse_watched(making->heap->trace, &options, &watcher, &making->usage, error);
    return status == SXT_OK ? sxt_heap_suppress_known(making->usage, error) : status;
}

/* A first pass says what each stack takes. */
static int make_groups(struct making *making, sxt_error *error)
{
    struct sxt_heap_kept *kept = making->kept;
    kept->is_grouped = true;
    int status = analyse(making, NULL, error);
    if (status != SXT_OK)
        return status;
    struct sxt_json_writer json = sxt_json_writer_make(&making->totals, SXT_JSON_COMPACT);
    sxt_heap_page_write_totals(&json, "totals", making->usage, making->heap->trace);
    making->is_second = true;
    return sxt_heap_groups_make(&kept->groups, making->heap->trace, &making->usage, &kept->calls, error);
}

static int make_bins(struct making *making, sxt_error *error)
{
    making->bins = sxt_heap_bins_new(making->heap->entry_most);
    if (making->bins == NULL)
        return sxt_fail_memory(error, SXT_HEAP_BINS_MOST * sizeof(struct sxt_heap_bin));
    if (making->kept->is_grouped)
        sxt_heap_bins_set_groups(making->bins, sxt_heap_groups_stack, &making->kept->groups);
    int status = analyse(making, making->bins, error);
    return status == SXT_OK ? fill(making, error) : status;
}

static int make(struct making *making, sxt_error *error)
{
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(making->heap->trace, &info);
    int status = SXT_OK;
    if (!making->is_window && making->heap->entry_most > 0 && info.stacks > STACKS_MOST)
        status = make_groups(making, error);
    if (status == SXT_OK)
        status = make_bins(making, error);
    if (making->heap->usage != NULL && making->usage != NULL) {
        making->usage->bins = NULL;
        *making->heap->usage = making->usage;
    } else {
        sxt_heap_usage_free(&making->usage);
    }
    sxt_heap_bins_free(&making->bins);
    sxt_buffer_free(&making->totals);
    return status;
}

/* --- what is kept --- */

void sxt_heap_kept_free(struct sxt_heap_kept **kept)
{
    if (*kept == NULL)
        return;
    sxt_heap_calls_free(&(*kept)->calls);
    sxt_heap_groups_free(&(*kept)->groups);
    sxt_heap_checkpoints_free(&(*kept)->checkpoints);
    free(*kept);
    *kept = NULL;
}

uint64_t sxt_heap_kept_effort(const struct sxt_heap_kept *kept, uint64_t from, uint64_t until)
{
    return kept->checkpoints != NULL ? sxt_heap_checkpoints_effort(kept->checkpoints, from, until) : UINT64_MAX;
}

int sxt_page_make_heap(struct sxt_page *page, const struct sxt_page_heap *heap, sxt_error *error)
{
    struct making making = {.page = page, .heap = heap, .kept = calloc(1, sizeof *making.kept)};
    sxt_buffer_init(&making.totals, SIZE_MAX);
    if (making.kept == NULL)
        return sxt_fail_memory(error, sizeof *making.kept);
    int status = sxt_heap_calls_init(&making.kept->calls, error);
    if (status == SXT_OK && heap->kept != NULL)
        making.kept->checkpoints = sxt_heap_checkpoints_new(0);
    if (status == SXT_OK)
        status = make(&making, error);
    if (status == SXT_OK && heap->kept != NULL)
        *heap->kept = making.kept;
    else
        sxt_heap_kept_free(&making.kept);
    return status;
}

int sxt_page_make_heap_window(struct sxt_page *page, const struct sxt_page_heap *heap, struct sxt_heap_kept *kept,
                              uint64_t from, uint64_t until, sxt_error *error)
{
    struct making making = {.page = page, .heap = heap, .kept = kept, .is_window = true, .from = from, .until = until};
    sxt_buffer_init(&making.totals, SIZE_MAX);
    return make(&making, error);
}
