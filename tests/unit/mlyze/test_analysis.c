/* test_analysis.c: a pass over a trace, what is made of it, and what happens when memory is short. */
#include "heap_trace.h"
#include "support/failing_allocations.h"
#include "support/test.h"

static struct sxt_mlyze *open_trace(const struct sxt_buffer *bytes)
{
    struct sxt_mlyze *trace;
    assert_int_equal(sxt_mlyze_open(bytes->data, bytes->size, &trace, NULL), SXT_OK);
    return trace;
}

#define PAGE ((uint64_t)4096)

/* The number and the bytes of temporary blocks, in all and by stack 0. */
static void check_temporary(struct sxt_buffer *bytes, uint64_t count, uint64_t size)
{
    struct sxt_mlyze *trace = open_trace(bytes);
    sxt_heap_options options = {0};
    sxt_heap_usage usage;
    sxt_heap_sums sums;
    assert_int_equal(sxt_heap_run(trace, &options, &usage, NULL), SXT_OK);
    sxt_heap_sites_get(&usage.sites, 0, &sums);
    assert_int_equal(usage.total.temporary_count, count);
    assert_int_equal(usage.total.temporary_bytes, size);
    assert_int_equal(sums.temporary_count, count);
    assert_int_equal(sums.temporary_bytes, size);
    sxt_heap_free(&usage);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(bytes);
}

/* What record --mmap writes of a mapping whose beginning and end are unmapped. */
TEST(a_mapping_that_is_cut_is_not_temporary)
{
    struct sxt_buffer bytes;
    heap_trace_begin(&bytes);
    heap_trace_alloc(&bytes, 1, 100 * PAGE, 50 * PAGE, 0, 0);
    heap_trace_free(&bytes, 1, 100 * PAGE);
    heap_trace_alloc(&bytes, 0, 110 * PAGE, 40 * PAGE, 0, 0);
    heap_trace_free(&bytes, 1, 110 * PAGE);
    heap_trace_alloc(&bytes, 0, 110 * PAGE, 30 * PAGE, 0, 0);
    /* A hole. */
    heap_trace_free(&bytes, 1, 110 * PAGE);
    heap_trace_alloc(&bytes, 0, 110 * PAGE, 5 * PAGE, 0, 0);
    heap_trace_alloc(&bytes, 0, 120 * PAGE, 20 * PAGE, 0, 0);
    check_temporary(&bytes, 0, 0);
    /* One call for two of them. */
    heap_trace_begin(&bytes);
    heap_trace_alloc(&bytes, 1, 100 * PAGE, 10 * PAGE, 0, 0);
    heap_trace_alloc(&bytes, 1, 110 * PAGE, 10 * PAGE, 0, 1);
    heap_trace_free(&bytes, 1, 100 * PAGE);
    heap_trace_free(&bytes, 0, 110 * PAGE);
    heap_trace_alloc(&bytes, 0, 100 * PAGE, 5 * PAGE, 0, 0);
    heap_trace_alloc(&bytes, 0, 115 * PAGE, 5 * PAGE, 0, 1);
    check_temporary(&bytes, 0, 0);
}

TEST(other_blocks_of_whole_pages_may_be_temporary)
{
    static const struct {
        uint64_t delta, address, size;
        uint32_t stack;
        uint16_t thread;
    } next[] = {
        {0, 100 * PAGE, 50 * PAGE, 0, 0}, /* the same again */
        {0, 90 * PAGE, 20 * PAGE, 0, 0},  /* elsewhere */
        {0, 140 * PAGE, 20 * PAGE, 0, 0}, /* more than there was */
        {0, 110 * PAGE, 10 * PAGE, 1, 0}, /* another stack */
        {0, 110 * PAGE, 10 * PAGE, 0, 1}, /* another thread */
        {1, 110 * PAGE, 10 * PAGE, 0, 0}, /* later */
        {0, 110 * PAGE, 100, 0, 0},       /* not whole pages */
    };
    struct sxt_buffer bytes;
    for (size_t i = 0; i <= sizeof next / sizeof *next; i++) {
        heap_trace_begin(&bytes);
        heap_trace_alloc(&bytes, 1, 100 * PAGE, 50 * PAGE, 0, 0);
        heap_trace_free(&bytes, 1, 100 * PAGE);
        if (i < sizeof next / sizeof *next)
            heap_trace_alloc(&bytes, next[i].delta, next[i].address, next[i].size, next[i].stack, next[i].thread);
        check_temporary(&bytes, 1, 50 * PAGE);
    }
    heap_trace_begin(&bytes); /* more at one time than are remembered */
    for (uint64_t i = 1; i <= 9; i++) {
        heap_trace_alloc(&bytes, 0, i * 100 * PAGE, PAGE, 0, (uint16_t)i);
    }
    for (uint64_t i = 1; i <= 9; i++)
        heap_trace_free(&bytes, 0, i * 100 * PAGE);
    check_temporary(&bytes, 9, 9 * PAGE);
}

TEST(durations)
{
    const struct {
        const char *text;
        uint64_t microseconds; /* UINT64_MAX: refused */
    } cases[] = {
        {"0", 0},
        {"17", 17},
        {"17us", 17},
        {"2ms", 2000},
        {"1.5s", 1500000},
        {".25s", 250000},
        {"1.0000019s", 1000001},
        {"2min", 120000000},
        {"1h", 3600000000},
        {"", UINT64_MAX},
        {".", UINT64_MAX},
        {"s", UINT64_MAX},
        {"1.2.3s", UINT64_MAX},
        {"1 s", UINT64_MAX},
        {"1days", UINT64_MAX},
        {"-1s", UINT64_MAX},
        {"18446744073709551616", UINT64_MAX},
        {"18446744073709551615s", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t found = UINT64_MAX;
        assert_int_equal(sxt_heap_parse_duration(cases[i].text, &found), cases[i].microseconds != UINT64_MAX);
        if (cases[i].microseconds != UINT64_MAX)
            assert_int_equal(found, cases[i].microseconds);
    }
}

TEST(moments)
{
    assert_int_equal(sxt_heap_moment_of("1.5s", 1000).time, 1501000);
    assert_int_equal(sxt_heap_moment_of("+7", 1000).time, 1007);
    assert_int_equal(sxt_heap_moment_of("1700000000000105", 1000).time, 1700000000000105);
    assert_int_equal(sxt_heap_moment_of("18446744073709551615us", 1000).time, UINT64_MAX);
    sxt_heap_moment marker = sxt_heap_moment_of("1st phase", 1000);
    assert_int_equal(marker.kind, SXT_HEAP_MOMENT_MARKER);
    assert_int_equal(marker.marker.size, 9);
}

/* The peak of each stack is what it had when all together had the most, not its own most. */
TEST(stacks_at_the_peak)
{
    struct sxt_buffer bytes;
    heap_trace_begin(&bytes);
    heap_trace_alloc(&bytes, 1, 16, 1000, 0, 0);
    heap_trace_free(&bytes, 1, 16);
    heap_trace_alloc(&bytes, 1, 32, 600, 1, 0);
    heap_trace_alloc(&bytes, 1, 48, 500, 0, 0);
    heap_trace_free(&bytes, 1, 32);
    struct sxt_mlyze *trace = open_trace(&bytes);
    sxt_heap_options options = {0};
    sxt_heap_usage usage;
    assert_int_equal(sxt_heap_run(trace, &options, &usage, NULL), SXT_OK);
    assert_int_equal(usage.total.peak_bytes, 1100);
    assert_int_equal(usage.peak_time, HEAP_START + 4);
    assert_int_equal(sxt_heap_sites_bytes(&usage.sites, 0, SXT_HEAP_COST_PEAK), 500);
    assert_int_equal(sxt_heap_sites_bytes(&usage.sites, 1, SXT_HEAP_COST_PEAK), 600);
    assert_int_equal(sxt_heap_sites_bytes(&usage.sites, 1, SXT_HEAP_COST_LIVE), 0);
    sxt_heap_free(&usage);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}

/* Times may be as far apart as 64 bits allow. */
TEST(a_timeline_of_all_time)
{
    struct sxt_buffer bytes;
    heap_trace_begin(&bytes);
    heap_trace_alloc(&bytes, 0, 16, 10, 0, 0);
    heap_trace_alloc(&bytes, UINT64_MAX - HEAP_START, 32, 20, 0, 0);
    heap_trace_free(&bytes, 0, 16);
    struct sxt_mlyze *trace = open_trace(&bytes);
    for (size_t points = 2; points < 70; points++) {
        sxt_heap_options options = {.timeline = points, .churn = points, .windows = 2};
        sxt_heap_usage usage;
        assert_int_equal(sxt_heap_run(trace, &options, &usage, NULL), SXT_OK);
        assert_true(usage.timeline.count <= points && usage.timeline.count * 2 >= points);
        uint64_t allocated = 0;
        for (size_t i = 0; i < usage.timeline.count; i++)
            allocated += usage.timeline.items[i].bytes;
        assert_int_equal(allocated, 30);
        assert_int_equal(usage.timeline.items[usage.timeline.count - 1].live_bytes, 20);
        assert_int_equal(usage.timeline.items[usage.timeline.count - 1].peak_bytes, 30);
        assert_int_equal(usage.windows.count, 2);
        sxt_heap_free(&usage);
    }
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}

/* The comparison of two runs with one, which has another window and so other stacks, and a budget. */
static int compare_runs(const sxt_heap_usage *usage)
{
    const sxt_path_map map = {"/app", "/other"};
    const sxt_heap_usage *before[] = {usage, usage};
    sxt_heap_options window = {.to = {.kind = SXT_HEAP_MOMENT_TIME, .time = HEAP_START + 100}};
    sxt_heap_diff_options how;
    sxt_heap_budget budget = {.struct_size = sizeof budget};
    sxt_heap_budget_result result = {.struct_size = sizeof result};
    sxt_heap_usage after;
    const sxt_heap_usage *const afters[] = {&after};
    sxt_heap_diff *changes;
    sxt_heap_diff_options_init(&how);
    how.path_maps = &map;
    how.path_map_count = 1;
    assert_int_equal(sxt_heap_budget_parse("peak:main=+10%", &budget, NULL), SXT_OK);
    int status = sxt_heap_run(usage->trace, &window, &after, NULL);
    if (status != SXT_OK)
        return status;
    status = sxt_heap_diff_runs(before, 2, afters, 1, &how, &changes, NULL);
    if (status == SXT_OK)
        status = sxt_heap_budget_check(changes, &budget, &result, NULL);
    sxt_heap_diff_free(&changes);
    sxt_heap_free(&after);
    return status;
}

/* Everything that there is. */
static int do_all(const struct sxt_mlyze *trace)
{
    sxt_heap_options options = {.timeline = 10, .churn = 100, .windows = 50, .by_thread = true, .by_size = true};
    sxt_heap_usage usage;
    sxt_heap_table *rows;
    sxt_heap_tree *tree;
    sxt_heap_diff *changes;
    struct sxt_buffer out;
    sxt_string known = {"leak:^f\nleak:nothing\n", 21};
    sxt_buffer_init(&out, (size_t)1 << 30);
    int status = sxt_heap_run(trace, &options, &usage, NULL);
    if (status != SXT_OK)
        return status;
    status = sxt_heap_suppress(&usage, known, NULL);
    for (sxt_heap_key key = SXT_HEAP_BY_STACK; key <= SXT_HEAP_BY_SIZE && status == SXT_OK; key++) {
        status = sxt_heap_table_make(&usage, key, SXT_HEAP_COST_BYTES, UINT64_MAX, &rows, NULL);
        if (status == SXT_OK)
            sxt_heap_table_free(&rows);
    }
    for (int i = 0; i < 2 && status == SXT_OK; i++) {
        status = sxt_heap_tree_make(&usage, SXT_HEAP_COST_PEAK, i == 1, &tree, NULL);
        if (status == SXT_OK)
            sxt_heap_tree_free(&tree);
    }
    if (status == SXT_OK)
        status = sxt_heap_diff_make(&usage, &usage, SXT_HEAP_COST_BYTES, &changes, NULL);
    if (status == SXT_OK)
        sxt_heap_diff_free(&changes);
    if (status == SXT_OK)
        status = compare_runs(&usage);
    if (status == SXT_OK)
        status = sxt_heap_export_folded(&usage, SXT_HEAP_COST_BYTES, &out, NULL);
    if (status == SXT_OK)
        status = sxt_heap_export_pprof(&usage, &out, NULL);
    if (status == SXT_OK)
        status = sxt_heap_export_speedscope(&usage, &out, NULL);
    sxt_buffer_free(&out);
    sxt_heap_free(&usage);
    return status;
}

static int do_states(const struct sxt_mlyze *trace)
{
    struct sxt_mlyze_index index;
    struct sxt_buffer out;
    sxt_heap_usage usage;
    int status = sxt_mlyze_index_make(trace, &index, NULL);
    if (status != SXT_OK)
        return status;
    sxt_buffer_init(&out, (size_t)1 << 30);
    status = sxt_heap_states_make(trace, &index, 1, &out, NULL);
    if (status == SXT_OK)
        status = sxt_heap_states_ask(trace, out.data, out.size, HEAP_START + 1000, &usage, NULL);
    if (status == SXT_OK)
        sxt_heap_free(&usage);
    sxt_buffer_free(&out);
    sxt_mlyze_index_free(&index);
    return status;
}

TEST(budgets)
{
    const struct {
        const char *text;
        sxt_heap_metric metric;
        const char *function;
        double limit;
        bool is_percent;
    } cases[] = {
        {"peak=+0", SXT_HEAP_METRIC_PEAK, NULL, 0, false},
        {"leaked=+12", SXT_HEAP_METRIC_LEAKED, NULL, 12, false},
        {"allocated=+1.5k", SXT_HEAP_METRIC_ALLOCATED, NULL, 1500, false},
        {"allocations=+2M", SXT_HEAP_METRIC_ALLOCATIONS, NULL, 2000000, false},
        {"peak=+3G", SXT_HEAP_METRIC_PEAK, NULL, 3e9, false},
        {"peak:f=+0.5%", SXT_HEAP_METRIC_PEAK, "f", 0.5, true},
        {"peak:a==b=+1", SXT_HEAP_METRIC_PEAK, "a==b", 1, false},
        {"leaked:a::b=+1", SXT_HEAP_METRIC_LEAKED, "a::b", 1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sxt_heap_budget budget = {.struct_size = sizeof budget};
        assert_int_equal(sxt_heap_budget_parse(cases[i].text, &budget, NULL), SXT_OK);
        assert_int_equal(budget.metric, cases[i].metric);
        assert_int_equal(budget.is_percent, cases[i].is_percent);
        assert_true(budget.limit == cases[i].limit);
        assert_int_equal(budget.function.data == NULL, cases[i].function == NULL);
        if (cases[i].function != NULL) {
            assert_int_equal(budget.function.size, strlen(cases[i].function));
            assert_memory_equal(budget.function.data, cases[i].function, budget.function.size);
        }
    }
}

TEST(each_side_needs_a_run)
{
    sxt_heap_diff *diff;
    assert_int_equal(sxt_heap_diff_runs(NULL, 0, NULL, 0, NULL, &diff, NULL), SXT_ERROR_USAGE);
    assert_null(diff);
    assert_int_equal(sxt_heap_diff_runs(NULL, SXT_HEAP_RUNS_MOST + 1, NULL, 1, NULL, &diff, NULL), SXT_ERROR_USAGE);
}

TEST(memory_that_is_short_is_an_error)
{
    int (*works[])(const struct sxt_mlyze *trace) = {do_all, do_states};
    struct sxt_buffer bytes;
    heap_trace_begin(&bytes);
    heap_trace_random(&bytes, 3, 8000);
    heap_trace_alloc(&bytes, 1, 8, 1, 4000000000, 0);
    for (uint64_t i = 0; i < 6000; i++)
        heap_trace_alloc(&bytes, 0, 16 * i + 8, 1, (uint32_t)(i % 100), 0);
    struct sxt_mlyze *trace = open_trace(&bytes);
    for (size_t i = 0; i < 2; i++) {
        int status = SXT_ERROR_MEMORY;
        long denied = 0;
        /* Under a sanitizer every label is an allocation of its own; a part of those will do. */
        for (; status != SXT_OK && denied < 10000; denied += denied < 150 ? 1 : 17) {
            counted = 0;
            failing = (unsigned long)denied + 1;
            status = works[i](trace);
            failing = 0;
            assert_true(status == SXT_OK || status == SXT_ERROR_MEMORY);
        }
        assert_true(denied > 10 && denied < 10000);
    }
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}
