/*
 * fuzz_heap.c: any bytes as a heap trace, through every analysis. What stacks, threads, sizes and points of time say
 * adds up to the totals, and what was live at a moment is the same from states as from a whole pass.
 */
#include <stdlib.h>

#include "mlyze/analysis.h"
#include "property.h"

/* Adds the sums of all sites. */
static void add_sites(const sxt_heap_usage *usage, sxt_heap_sums *sums)
{
    for (size_t i = 0; i < usage->sites.count; i++) {
        sxt_heap_sums site;
        sxt_heap_sites_get(&usage->sites, i, &site);
        sxt_heap_add_sums(sums, &site);
    }
}

static void check_sums(const sxt_heap_usage *usage);
static void check_tables(const sxt_heap_usage *usage);
static void check_views(sxt_heap_usage *usage);
static void check_filters(const struct sxt_mlyze *trace, const sxt_heap_usage *usage);
static void check_states(const struct sxt_mlyze *trace, const sxt_heap_usage *usage);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sxt_mlyze *trace;
    sxt_heap_usage usage, window;
    if (sxt_mlyze_open(data, size, &trace, NULL) != SXT_OK)
        return 0;
    sxt_heap_options options = {.timeline = 7, .churn = 50, .windows = 5, .by_thread = true, .by_size = true};
    options.temporary = size % 3;
    /* Events may be of a kind that nobody here reads. */
    if (sxt_heap_run(trace, &options, &usage, NULL) != SXT_OK) {
        sxt_mlyze_close(&trace);
        return 0;
    }
    check_sums(&usage);
    check_tables(&usage);
    check_filters(trace, &usage);
    check_views(&usage);
    if (!usage.is_damaged && !usage.is_sampled)
        check_states(trace, &usage);
    uint64_t third = (usage.end - usage.start) / 3;
    options.from = (sxt_heap_moment){.kind = SXT_HEAP_MOMENT_TIME, .time = usage.start + third};
    options.to = (sxt_heap_moment){.kind = SXT_HEAP_MOMENT_TIME, .time = usage.end - third};
    SXT_HOLDS(sxt_heap_run(trace, &options, &window, NULL) == SXT_OK);
    check_sums(&window);
    sxt_heap_diff *changes;
    SXT_HOLDS(sxt_heap_diff_make(&usage, &window, SXT_HEAP_COST_LIVE, &changes, NULL) == SXT_OK);
    sxt_heap_diff_free(&changes);
    sxt_heap_free(&usage);
    sxt_heap_free(&window);
    sxt_mlyze_close(&trace);
    return 0;
}

static void check_same(const sxt_heap_sums *sum, const sxt_heap_sums *total)
{
    SXT_HOLDS(sum->bytes == total->bytes && sum->count == total->count);
    SXT_HOLDS(sum->live_bytes == total->live_bytes && sum->live_count == total->live_count);
    SXT_HOLDS(sum->peak_bytes == total->peak_bytes && sum->peak_count == total->peak_count);
    SXT_HOLDS(sum->leaked_bytes == total->leaked_bytes && sum->leaked_count == total->leaked_count);
    SXT_HOLDS(sum->freed_bytes == total->freed_bytes && sum->temporary_count == total->temporary_count);
    SXT_HOLDS(sum->before_bytes == total->before_bytes && sum->churned_count == total->churned_count);
}

static void check_sums(const sxt_heap_usage *usage)
{
    sxt_heap_sums sites = {0}, threads = {0}, sizes = {0};
    add_sites(usage, &sites);
    for (size_t i = 0; i <= UINT16_MAX; i++)
        sxt_heap_add_sums(&threads, &usage->threads[i]);
    for (size_t i = 0; i < SXT_HEAP_POWERS; i++)
        sxt_heap_add_sums(&sizes, &usage->sizes[i]);
    check_same(&sites, &usage->total);
    check_same(&threads, &usage->total);
    check_same(&sizes, &usage->total);
    SXT_HOLDS(usage->total.before_bytes + usage->total.bytes - usage->total.freed_bytes == usage->total.live_bytes);
    uint64_t bytes = 0, peak = 0;
    for (size_t i = 0; i < usage->timeline.count; i++) {
        bytes += usage->timeline.items[i].bytes;
        peak = usage->timeline.items[i].peak_bytes > peak ? usage->timeline.items[i].peak_bytes : peak;
    }
    SXT_HOLDS(usage->timeline.count > 0 && usage->timeline.count <= 7);
    SXT_HOLDS(bytes == usage->total.bytes && peak == usage->total.peak_bytes);
}

static void check_tables(const sxt_heap_usage *usage)
{
    for (sxt_heap_cost cost = SXT_HEAP_COST_BYTES; cost <= SXT_HEAP_COST_GROWTH; cost++) {
        sxt_heap_tree *tree;
        for (sxt_heap_key key = SXT_HEAP_BY_STACK; key <= SXT_HEAP_BY_SIZE; key++) {
            sxt_heap_table *rows;
            uint64_t sum = 0;
            SXT_HOLDS(sxt_heap_table_make(usage, key, cost, UINT64_MAX, &rows, NULL) == SXT_OK);
            for (size_t i = 0; i < rows->count; i++)
                sum += sxt_heap_cost_of(&rows->rows[i].sums, cost);
            SXT_HOLDS(sum == sxt_heap_cost_of(&usage->total, cost));
            sxt_heap_table_free(&rows);
        }
        SXT_HOLDS(sxt_heap_tree_make(usage, cost, cost % 2 == 0, &tree, NULL) == SXT_OK);
        SXT_HOLDS(tree->nodes[0].cost == sxt_heap_cost_of(&usage->total, cost));
        sxt_heap_tree_free(&tree);
    }
    struct sxt_buffer out;
    sxt_buffer_init(&out, (size_t)1 << 30);
    SXT_HOLDS(sxt_heap_export_folded(usage, SXT_HEAP_COST_BYTES, &out, NULL) == SXT_OK);
    SXT_HOLDS(sxt_heap_export_pprof(usage, &out, NULL) == SXT_OK);
    SXT_HOLDS(sxt_heap_export_speedscope(usage, &out, NULL) == SXT_OK);
    sxt_buffer_free(&out);
}

/* What is shown may be less, but it adds up to the same. */
static void check_views(sxt_heap_usage *usage)
{
    const sxt_heap_view view = {.frames = 3, .folds_library = true, .shortens_names = true};
    for (sxt_heap_key key = SXT_HEAP_BY_STACK; key <= SXT_HEAP_BY_FUNCTION; key++) {
        sxt_heap_table *rows;
        uint64_t sum = 0;
        SXT_HOLDS(sxt_heap_table_make_view(usage, key, SXT_HEAP_COST_BYTES, UINT64_MAX, &view, &rows, NULL) == SXT_OK);
        for (size_t i = 0; i < rows->count; i++)
            sum += rows->rows[i].sums.bytes;
        SXT_HOLDS(sum == usage->total.bytes);
        /* A table of functions also has those that only called others. */
        SXT_HOLDS(key == SXT_HEAP_BY_FUNCTION || rows->count <= usage->sites.count);
        sxt_heap_table_free(&rows);
    }
    sxt_heap_tree *tree;
    SXT_HOLDS(sxt_heap_tree_make_view(usage, SXT_HEAP_COST_PEAK, true, &view, &tree, NULL) == SXT_OK);
    SXT_HOLDS(tree->nodes[0].cost == usage->total.peak_bytes);
    sxt_heap_tree_free(&tree);
    sxt_heap_summary summary = {.struct_size = sizeof summary};
    SXT_HOLDS(sxt_heap_suppress_known(usage, NULL) == SXT_OK);
    sxt_heap_get_summary(usage, &summary);
    SXT_HOLDS(summary.suppressed_bytes <= usage->total.leaked_bytes);
}

/* What is kept is a part of the whole, whose figures are those without a filter. */
static void check_filters(const struct sxt_mlyze *trace, const sxt_heap_usage *usage)
{
    static const char *const focus[] = {"[a-m]"}, *const threads[] = {"0", "1"}, *const modules[] = {"lib"};
    sxt_heap_filter filter;
    for (unsigned kind = 0; kind < 4; kind++) {
        sxt_heap_options options = {.timeline = 5, .by_thread = true, .filter = &filter, .depth = kind};
        sxt_heap_usage kept;
        sxt_heap_sums sites = {0}, of_threads = {0};
        sxt_heap_filter_init(&filter);
        filter.focus = focus;
        filter.focus_count = kind == 0;
        filter.threads = threads;
        filter.thread_count = kind == 1 ? 2 : 0;
        filter.modules = modules;
        filter.module_count = kind == 2;
        SXT_HOLDS(sxt_heap_run(trace, &options, &kept, NULL) == SXT_OK);
        add_sites(&kept, &sites);
        for (size_t i = 0; i <= UINT16_MAX; i++)
            sxt_heap_add_sums(&of_threads, &kept.threads[i]);
        check_same(&sites, &kept.total);
        check_same(&of_threads, &kept.total);
        const sxt_heap_sums *whole = kind < 3 ? &kept.whole : &kept.total;
        SXT_HOLDS(whole->bytes == usage->total.bytes && whole->peak_bytes == usage->total.peak_bytes);
        SXT_HOLDS(whole->leaked_count == usage->total.leaked_count && kept.peak_time == usage->peak_time);
        sxt_heap_free(&kept);
    }
}

static void check_states(const struct sxt_mlyze *trace, const sxt_heap_usage *usage)
{
    struct sxt_mlyze_index index;
    struct sxt_buffer out;
    SXT_HOLDS(sxt_mlyze_index_make(trace, &index, NULL) == SXT_OK);
    sxt_buffer_init(&out, (size_t)1 << 30);
    if (sxt_heap_states_make(trace, &index, 1, &out, NULL) == SXT_OK && usage->events > 0) {
        uint64_t time = usage->start + (usage->end - usage->start) / 2;
        sxt_heap_options options = {.to = {.kind = SXT_HEAP_MOMENT_TIME, .time = time}};
        sxt_heap_usage slow, quick;
        SXT_HOLDS(sxt_heap_run(trace, &options, &slow, NULL) == SXT_OK);
        SXT_HOLDS(sxt_heap_states_ask(trace, out.data, out.size, time, &quick, NULL) == SXT_OK);
        SXT_HOLDS(slow.total.live_bytes == quick.total.live_bytes && slow.total.live_count == quick.total.live_count);
        SXT_HOLDS(slow.end == quick.end);
        sxt_heap_free(&slow);
        sxt_heap_free(&quick);
    }
    sxt_buffer_free(&out);
    sxt_mlyze_index_free(&index);
}
