/* test_checkpoints.c: windows that begin with a state are what a whole pass finds, and so are their bins. */
#include "base/unnamed.h"
#include "heap_trace.h"
#include "support/random.h"
#include "support/test.h"

struct fixture {
    struct sxt_buffer bytes;
    struct sxt_file file; /* in blocks */
    struct sxt_mlyze *trace;
    struct sxt_heap_checkpoints *states;
    uint64_t end;
};

static void compress(struct fixture *fixture)
{
    struct sxt_mlyze_settings settings = {.start_us = HEAP_START, .codec = SXT_MLYZE_COLUMNS, .threads = 1};
    struct sxt_mlyze_writer *writer;
    struct sxt_output output;
    struct sxt_mlyze *plain = fixture->trace;
    assert_int_equal(sxt_unnamed_open(&output, NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_writer_open(&output, &settings, sxt_mlyze_metadata_text(plain), &writer, NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_copy(plain, writer, NULL, NULL, NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_writer_finish(writer, NULL), SXT_OK);
    sxt_mlyze_writer_close(&writer);
    assert_int_equal(sxt_unnamed_read(&output, &fixture->file, NULL), SXT_OK);
    sxt_mlyze_close(&fixture->trace);
    assert_int_equal(sxt_mlyze_open(fixture->file.data, fixture->file.size, &fixture->trace, NULL), SXT_OK);
}

static void prepare(struct fixture *fixture, uint64_t seed, uint32_t events, bool in_blocks)
{
    sxt_heap_usage usage;
    const sxt_heap_options options = {0};
    *fixture = (struct fixture){.end = 0};
    heap_trace_begin(&fixture->bytes);
    heap_trace_random(&fixture->bytes, seed, events);
    assert_int_equal(sxt_mlyze_open(fixture->bytes.data, fixture->bytes.size, &fixture->trace, NULL), SXT_OK);
    if (in_blocks)
        compress(fixture);
    fixture->states = sxt_heap_checkpoints_new(2000);
    assert_non_null(fixture->states);
    const struct sxt_heap_watcher watcher = {.save = fixture->states};
    assert_int_equal(sxt_heap_run_watched(fixture->trace, &options, NULL, &watcher, &usage, NULL), SXT_OK);
    fixture->end = usage.end;
    sxt_heap_free(&usage);
}

static void drop(struct fixture *fixture)
{
    sxt_heap_checkpoints_free(&fixture->states);
    sxt_mlyze_close(&fixture->trace);
    sxt_file_close(&fixture->file);
    sxt_buffer_free(&fixture->bytes);
}

static void check_usage(const sxt_heap_usage *a, const sxt_heap_usage *b)
{
    assert_int_equal(a->start, b->start);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->events, b->events);
    assert_int_equal(a->frees, b->frees);
    assert_int_equal(a->unmatched_frees, b->unmatched_frees);
    assert_int_equal(a->implicit_frees, b->implicit_frees);
    assert_int_equal(a->peak_time, b->peak_time);
    sxt_heap_sums one = a->total, other = b->total;
    one.epoch = other.epoch = 0;
    assert_memory_equal(&one, &other, sizeof one);
    assert_memory_equal(&a->lifetimes, &b->lifetimes, sizeof a->lifetimes);
}

/* Bins have the sums of the window, and what was live before it. */
static void check_bins(const struct sxt_heap_bins *bins, const sxt_heap_usage *usage)
{
    uint64_t before = 0, bytes = 0, freed = 0, temporary = 0, leaked = 0, peak = 0;
    for (size_t i = 0; i < sxt_heap_bins_row_count(bins); i++)
        before += sxt_heap_bins_rows(bins)[i].before_bytes;
    for (size_t i = 0; i < sxt_heap_bins_entry_count(bins); i++) {
        const struct sxt_heap_bin_entry *entry = &sxt_heap_bins_entries(bins)[i];
        bytes += entry->bytes;
        freed += entry->freed_bytes;
        temporary += entry->temporary_bytes;
        leaked += entry->leaked_bytes;
    }
    for (size_t i = 0; i < sxt_heap_bins_count(bins); i++)
        if (sxt_heap_bins_get(bins, i)->peak_bytes > peak)
            peak = sxt_heap_bins_get(bins, i)->peak_bytes;
    assert_int_equal(before, usage->total.before_bytes);
    assert_int_equal(bytes, usage->total.bytes);
    assert_int_equal(before + bytes - freed, usage->total.live_bytes);
    assert_int_equal(temporary, usage->total.temporary_bytes);
    assert_int_equal(leaked, usage->total.leaked_bytes);
    assert_int_equal(peak, usage->total.peak_bytes);
}

static void check_window(const struct fixture *fixture, uint64_t from, uint64_t until)
{
    sxt_heap_usage quick, whole;
    struct sxt_heap_bins *bins = sxt_heap_bins_new(0);
    const struct sxt_heap_watcher watcher = {.bins = bins, .from = fixture->states};
    const sxt_heap_options options = {
        .from = {SXT_HEAP_MOMENT_TIME, from, {NULL, 0}},
        .to = {SXT_HEAP_MOMENT_TIME, until, {NULL, 0}},
    };
    assert_non_null(bins);
    assert_int_equal(sxt_heap_run(fixture->trace, &options, &whole, NULL), SXT_OK);
    assert_int_equal(sxt_heap_run_watched(fixture->trace, &options, NULL, &watcher, &quick, NULL), SXT_OK);
    check_usage(&quick, &whole);
    check_bins(bins, &quick);
    sxt_heap_free(&quick);
    sxt_heap_free(&whole);
    sxt_heap_bins_free(&bins);
}

static void check_trace(uint64_t seed, uint32_t events, bool in_blocks)
{
    struct fixture fixture;
    struct sxt_test_random random = {seed};
    prepare(&fixture, seed, events, in_blocks);
    uint32_t duration = (uint32_t)(fixture.end - HEAP_START);
    for (int i = 0; i < 40; i++) {
        uint64_t from = HEAP_START + sxt_test_below(&random, duration + 2);
        check_window(&fixture, from, from + sxt_test_below(&random, i % 2 == 0 ? 20 : duration + 10));
    }
    /* A window is read from the state before it, not from the beginning. */
    assert_true(sxt_heap_checkpoints_effort(fixture.states, fixture.end, fixture.end) < events / 2);
    assert_true(sxt_heap_checkpoints_effort(fixture.states, HEAP_START, fixture.end) >= events / 2);
    drop(&fixture);
}

TEST(windows_from_a_state_are_what_a_whole_pass_says)
{
    for (uint64_t seed = 1; seed < 4; seed++) {
        check_trace(seed, 30000, false);
        check_trace(seed, 30000, true);
    }
}

TEST(a_short_trace_has_no_states)
{
    struct fixture fixture;
    prepare(&fixture, 5, 100, false);
    check_window(&fixture, HEAP_START, fixture.end);
    check_window(&fixture, HEAP_START + 50, HEAP_START + 60);
    drop(&fixture);
}
