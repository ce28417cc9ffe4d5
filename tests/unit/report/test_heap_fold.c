/* test_heap_fold.c: small stacks are folded, and no sum changes. */
#include "../mlyze/heap_trace.h"
#include "report/heap_fold.h"
#include "support/test.h"
#include "trace/trace.h"

struct opened {
    struct sxt_buffer bytes;
    sxt_trace *trace;
    sxt_heap_usage *usage;
    struct sxt_heap_bins *bins;
    struct sxt_heap_calls calls;
    struct sxt_heap_fold fold;
};

static void open_folded(struct opened *out, uint32_t events, size_t most)
{
    heap_trace_begin(&out->bytes);
    heap_trace_random(&out->bytes, 5, events);
    out->bins = sxt_heap_bins_new(0);
    assert_int_equal(sxt_trace_open_memory(out->bytes.data, out->bytes.size, NULL, &out->trace, NULL), SXT_OK);
    assert_int_equal(sxt_trace_analyse_bins(out->trace, NULL, out->bins, &out->usage, NULL), SXT_OK);
    assert_int_equal(sxt_heap_calls_init(&out->calls, NULL), SXT_OK);
    size_t count = sxt_heap_bins_row_count(out->bins);
    struct sxt_heap_fold_row *rows = calloc(count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct sxt_heap_bin_row *row = &sxt_heap_bins_rows(out->bins)[i];
        rows[i] = (struct sxt_heap_fold_row){.node = sxt_heap_calls_add(&out->calls, out->trace, row->stack),
                                             .stack = row->stack,
                                             .thread = row->thread,
                                             .is_suppressed = row->stack == 1};
    }
    assert_int_equal(sxt_heap_fold_make(&out->fold, out->bins, rows, &out->calls, most, NULL), SXT_OK);
}

static void close_folded(struct opened *opened)
{
    sxt_heap_fold_free(&opened->fold);
    sxt_heap_calls_free(&opened->calls);
    sxt_heap_usage_free(&opened->usage);
    sxt_heap_bins_free(&opened->bins);
    sxt_trace_close(&opened->trace);
    sxt_buffer_free(&opened->bytes);
}

/* Sums of all figures of one thread, or of what is suppressed on it, in a bin. */
static void sum(struct sxt_heap_bin_entry *sum, const struct sxt_heap_bin_entry *entry)
{
    sum->bytes += entry->bytes;
    sum->count += entry->count;
    sum->freed_bytes += entry->freed_bytes;
    sum->freed_count += entry->freed_count;
    sum->temporary_bytes += entry->temporary_bytes;
    sum->temporary_count += entry->temporary_count;
    sum->leaked_bytes += entry->leaked_bytes;
    sum->leaked_count += entry->leaked_count;
    sum->peak_bytes += entry->peak_bytes;
    sum->peak_count += entry->peak_count;
}

static void check_sums(const struct opened *opened)
{
    const struct sxt_heap_fold *fold = &opened->fold;
    size_t count = sxt_heap_bins_count(opened->bins);
    for (size_t bin = 0; bin < count; bin++) {
        struct sxt_heap_bin_entry before[3][2] = {0}, after[3][2] = {0};
        size_t end =
            bin + 1 < count ? sxt_heap_bins_get(opened->bins, bin + 1)->first : sxt_heap_bins_entry_count(opened->bins);
        for (size_t i = sxt_heap_bins_get(opened->bins, bin)->first; i < end; i++) {
            const struct sxt_heap_bin_entry *entry = &sxt_heap_bins_entries(opened->bins)[i];
            const struct sxt_heap_bin_row *row = &sxt_heap_bins_rows(opened->bins)[entry->row];
            sum(&before[row->thread][row->stack == 1], entry);
        }
        for (size_t i = fold->first[bin]; i < fold->first[bin + 1]; i++) {
            assert_true(fold->entries[i].row < fold->row_count);
            assert_true(i == fold->first[bin] || fold->entries[i - 1].row < fold->entries[i].row);
            const struct sxt_heap_fold_row *row = &fold->rows[fold->entries[i].row];
            sum(&after[row->thread][row->is_suppressed], &fold->entries[i]);
        }
        assert_memory_equal(before, after, sizeof before);
    }
    assert_int_equal(fold->first[count], fold->entry_count);
}

/* A node is a row, or calls one. */
static void check_nodes(const struct opened *opened)
{
    const struct sxt_heap_calls *calls = &opened->calls;
    bool *is_used = calloc(calls->node_count, sizeof *is_used);
    for (size_t row = 0; row < opened->fold.row_count; row++) {
        assert_true(opened->fold.rows[row].node < calls->node_count);
        is_used[opened->fold.rows[row].node] = true;
    }
    for (size_t i = calls->node_count; i-- > 1;) {
        assert_true(is_used[i]);
        assert_true(calls->nodes[i].parent < i);
        is_used[calls->nodes[i].parent] = true;
    }
    free(is_used);
}

TEST(few_entries_are_not_folded)
{
    struct opened opened;
    open_folded(&opened, 1000, 100000);
    assert_int_equal(opened.fold.folded, 0);
    assert_int_equal(opened.fold.row_count, sxt_heap_bins_row_count(opened.bins));
    assert_int_equal(opened.fold.entry_count, sxt_heap_bins_entry_count(opened.bins));
    check_sums(&opened);
    close_folded(&opened);
}

TEST(small_stacks_are_folded_and_no_sum_changes)
{
    static const size_t most[] = {0, 1, 100, 300, 1000};
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        struct opened opened;
        open_folded(&opened, 3000, most[i]);
        assert_true(opened.fold.folded > 0);
        assert_true(opened.fold.row_count <= sxt_heap_bins_row_count(opened.bins));
        assert_true(opened.fold.entry_count <= sxt_heap_bins_entry_count(opened.bins));
        check_nodes(&opened);
        size_t nodes = opened.calls.node_count;
        uint32_t kept = sxt_heap_calls_add(&opened.calls, opened.trace, opened.fold.rows[0].stack);
        assert_true(kept <= nodes && opened.calls.nodes[kept].parent < kept);
        check_sums(&opened);
        close_folded(&opened);
    }
}

TEST(a_trace_without_events_has_no_rows)
{
    struct opened opened;
    open_folded(&opened, 0, 0);
    assert_int_equal(opened.fold.row_count, 0);
    check_sums(&opened);
    close_folded(&opened);
}
