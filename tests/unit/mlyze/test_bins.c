/* test_bins.c: figures over time, compared with those of an analysis of each window, and with a plain count. */
#include "heap_trace.h"
#include "support/failing_allocations.h"
#include "support/test.h"

#define THREADS 3
#define STACKS  5

static struct sxt_mlyze *open_trace(const struct sxt_buffer *bytes)
{
    struct sxt_mlyze *trace;
    assert_int_equal(sxt_mlyze_open(bytes->data, bytes->size, &trace, NULL), SXT_OK);
    return trace;
}

static int run(const struct sxt_mlyze *trace, struct sxt_heap_bins *bins, sxt_heap_usage *usage, sxt_error *error)
{
    const sxt_heap_options options = {0};
    const struct sxt_heap_watcher watcher = {.bins = bins};
    return sxt_heap_run_watched(trace, &options, NULL, &watcher, usage, error);
}

static size_t end_of(const struct sxt_heap_bins *bins, size_t bin)
{
    return bin + 1 < sxt_heap_bins_count(bins) ? sxt_heap_bins_get(bins, bin + 1)->first
                                               : sxt_heap_bins_entry_count(bins);
}

static void add(sxt_heap_sums *sums, const struct sxt_heap_bin_entry *entry)
{
    sums->bytes += entry->bytes;
    sums->count += entry->count;
    sums->live_bytes += entry->bytes - entry->freed_bytes;
    sums->live_count += entry->count - entry->freed_count;
    sums->freed_bytes += entry->freed_bytes;
    sums->freed_count += entry->freed_count;
    sums->temporary_bytes += entry->temporary_bytes;
    sums->temporary_count += entry->temporary_count;
    sums->leaked_bytes += entry->leaked_bytes;
    sums->leaked_count += entry->leaked_count;
}

/* The bin with the first of the highest peaks from FROM to before TO. */
static size_t find_peak(const struct sxt_heap_bins *bins, size_t from, size_t to)
{
    size_t best = from;
    for (size_t i = from; i < to; i++)
        if (sxt_heap_bins_get(bins, i)->peak_bytes > sxt_heap_bins_get(bins, best)->peak_bytes)
            best = i;
    return best;
}

/* Sums by stack over the bins from FROM to before TO, as a page makes them. */
static void sum_window(const struct sxt_heap_bins *bins, size_t from, size_t to, sxt_heap_sums sums[STACKS])
{
    const struct sxt_heap_bin_row *rows = sxt_heap_bins_rows(bins);
    size_t peak = find_peak(bins, from, to);
    memset(sums, 0, STACKS * sizeof *sums);
    for (size_t bin = 0; bin < to; bin++)
        for (size_t i = sxt_heap_bins_get(bins, bin)->first; i < end_of(bins, bin); i++) {
            const struct sxt_heap_bin_entry *entry = &sxt_heap_bins_entries(bins)[i];
            sxt_heap_sums *of = &sums[rows[entry->row].stack];
            if (i > sxt_heap_bins_get(bins, bin)->first)
                assert_true(entry[-1].row < entry->row);
            if (bin < peak) {
                of->peak_bytes += entry->bytes - entry->freed_bytes;
                of->peak_count += entry->count - entry->freed_count;
            } else if (bin == peak) {
                of->peak_bytes += (uint64_t)entry->peak_bytes;
                of->peak_count += (uint64_t)entry->peak_count;
            }
            if (bin >= from)
                add(of, entry);
        }
}

static void check_sums(const sxt_heap_sums *a, const sxt_heap_sums *b)
{
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->peak_bytes, b->peak_bytes);
    assert_int_equal(a->peak_count, b->peak_count);
    assert_int_equal(a->freed_bytes, b->freed_bytes);
    assert_int_equal(a->freed_count, b->freed_count);
}

/* The whole trace: everything is as the analysis has it. */
static void check_whole(const struct sxt_heap_bins *bins, const sxt_heap_usage *usage)
{
    sxt_heap_sums sums[STACKS], site, all = {0};
    sum_window(bins, 0, sxt_heap_bins_count(bins), sums);
    for (size_t i = 0; i < usage->sites.count; i++) {
        const sxt_heap_sums *of = &sums[sxt_heap_record(&usage->sites, i)->stack];
        sxt_heap_sites_get(&usage->sites, i, &site);
        check_sums(of, &site);
        assert_int_equal(of->live_bytes, site.live_bytes);
        assert_int_equal(of->temporary_bytes, site.temporary_bytes);
        assert_int_equal(of->temporary_count, site.temporary_count);
        assert_int_equal(of->leaked_bytes, site.leaked_bytes);
        assert_int_equal(of->leaked_count, site.leaked_count);
        sxt_heap_add_sums(&all, of);
    }
    assert_int_equal(all.peak_bytes, usage->total.peak_bytes);
    size_t peak = find_peak(bins, 0, sxt_heap_bins_count(bins));
    assert_int_equal(sxt_heap_bins_get(bins, peak)->peak_bytes, usage->total.peak_bytes);
    assert_int_equal(sxt_heap_bins_get(bins, peak)->peak_time, usage->peak_time);
}

/* A window of some bins is what an analysis of that window says. */
static void check_window(const struct sxt_mlyze *trace, const struct sxt_heap_bins *bins, size_t from, size_t to)
{
    uint64_t width = sxt_heap_bins_width(bins);
    const sxt_heap_options options = {
        .from = {SXT_HEAP_MOMENT_TIME, HEAP_START + from * width, {NULL, 0}},
        .to = {SXT_HEAP_MOMENT_TIME, HEAP_START + to * width - 1, {NULL, 0}},
    };
    sxt_heap_usage usage;
    sxt_heap_sums sums[STACKS], site;
    assert_int_equal(sxt_heap_run(trace, &options, &usage, NULL), SXT_OK);
    sum_window(bins, from, to, sums);
    for (size_t i = 0; i < usage.sites.count; i++) {
        sxt_heap_sites_get(&usage.sites, i, &site);
        check_sums(&sums[sxt_heap_record(&usage.sites, i)->stack], &site);
    }
    sxt_heap_free(&usage);
}

/* Of a plain count by bin: what was allocated, by size, and freed, by lifetime. */
static void check_powers(const struct sxt_heap_bins *bins, const sxt_heap_usage *usage)
{
    uint64_t sizes = 0, lives[SXT_HEAP_POWERS] = {0};
    for (size_t bin = 0; bin < sxt_heap_bins_count(bins); bin++)
        for (unsigned i = 0; i < SXT_HEAP_POWERS; i++) {
            sizes += sxt_heap_bins_get(bins, bin)->size_bytes[i];
            lives[i] += sxt_heap_bins_get(bins, bin)->life_count[i];
        }
    assert_int_equal(sizes, usage->total.bytes);
    for (unsigned i = 0; i < SXT_HEAP_POWERS; i++)
        assert_int_equal(lives[i], usage->lifetimes.count[i]);
}

static void check_trace(uint64_t seed, uint32_t events, size_t most)
{
    struct sxt_buffer bytes;
    struct sxt_test_random random = {seed + 1};
    heap_trace_begin(&bytes);
    heap_trace_random(&bytes, seed, events);
    struct sxt_mlyze *trace = open_trace(&bytes);
    struct sxt_heap_bins *bins = sxt_heap_bins_new(most);
    sxt_heap_usage usage;
    assert_non_null(bins);
    assert_int_equal(run(trace, bins, &usage, NULL), SXT_OK);
    size_t count = sxt_heap_bins_count(bins);
    assert_true(count <= SXT_HEAP_BINS_MOST);
    assert_true(sxt_heap_bins_row_count(bins) <= STACKS * THREADS);
    check_whole(bins, &usage);
    check_powers(bins, &usage);
    for (int i = 0; i < 10; i++) {
        size_t from = sxt_test_below(&random, (uint32_t)count);
        check_window(trace, bins, from, from + 1 + sxt_test_below(&random, (uint32_t)(count - from)));
    }
    sxt_heap_free(&usage);
    sxt_heap_bins_free(&bins);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}

TEST(windows_of_bins_are_what_an_analysis_of_them_says)
{
    for (uint64_t seed = 1; seed < 6; seed++)
        check_trace(seed, 3000, 0);
    check_trace(7, 1, 0);
    check_trace(8, 40000, 0);
}

TEST(few_entries_make_wider_bins)
{
    for (uint64_t seed = 1; seed < 6; seed++)
        check_trace(seed, 6000, 500);
    check_trace(9, 6000, 1);
}

TEST(an_empty_trace_has_one_empty_bin)
{
    struct sxt_buffer bytes;
    heap_trace_begin(&bytes);
    struct sxt_mlyze *trace = open_trace(&bytes);
    struct sxt_heap_bins *bins = sxt_heap_bins_new(0);
    sxt_heap_usage usage;
    assert_int_equal(run(trace, bins, &usage, NULL), SXT_OK);
    assert_int_equal(sxt_heap_bins_count(bins), 1);
    assert_int_equal(sxt_heap_bins_entry_count(bins), 0);
    sxt_heap_free(&usage);
    sxt_heap_bins_free(&bins);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}

/* An event that is later than any width of bins can hold next to the first. */
TEST(times_may_be_far_apart)
{
    struct sxt_buffer bytes;
    heap_trace_begin(&bytes);
    heap_trace_alloc(&bytes, 1, 16, 100, 0, 0);
    heap_trace_alloc(&bytes, (uint64_t)1 << 62, 32, 50, 1, 1);
    heap_trace_free(&bytes, 0, 16);
    struct sxt_mlyze *trace = open_trace(&bytes);
    struct sxt_heap_bins *bins = sxt_heap_bins_new(0);
    sxt_heap_usage usage;
    assert_int_equal(run(trace, bins, &usage, NULL), SXT_OK);
    check_whole(bins, &usage);
    assert_true(sxt_heap_bins_count(bins) > SXT_HEAP_BINS_MOST / 2);
    sxt_heap_free(&usage);
    sxt_heap_bins_free(&bins);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}

/* Every allocation that can fail does so once. */
TEST(memory_may_be_short)
{
    struct sxt_buffer bytes;
    heap_trace_begin(&bytes);
    heap_trace_random(&bytes, 3, 3000);
    struct sxt_mlyze *trace = open_trace(&bytes);
    int status = SXT_ERROR_MEMORY;
    unsigned long denied = 0;
    for (; status != SXT_OK && denied < 10000; denied++) {
        sxt_heap_usage usage;
        counted = 0;
        failing = denied + 1;
        struct sxt_heap_bins *bins = sxt_heap_bins_new(1000);
        status = bins != NULL ? run(trace, bins, &usage, NULL) : SXT_ERROR_MEMORY;
        failing = 0;
        assert_true(status == SXT_OK || status == SXT_ERROR_MEMORY);
        if (status == SXT_OK)
            sxt_heap_free(&usage);
        sxt_heap_bins_free(&bins);
    }
    assert_true(denied > 10 && denied < 10000);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}
