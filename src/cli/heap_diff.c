/* heap_diff.c: what changed between two heap traces, or between two moments of one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/heap.h"
#include "cli/verbs.h"

/* One side: FILE, or FILE@MOMENT. */
struct side {
    struct cli_heap heap;
    char *path;
    bool is_moment;
};

static int open_side(const char *text, struct side *side)
{
    const char *at = strrchr(text, '@');
    bool exists = access(text, F_OK) == 0;
    side->is_moment = at != NULL && at != text && !exists;
    side->path = strndup(text, side->is_moment ? (size_t)(at - text) : strlen(text));
    if (side->path == NULL)
        return cli_fail_text(text, "out of memory");
    int status = cli_heap_open(side->path, false, &side->heap);
    if (status != CLI_DONE)
        return status;
    if (side->is_moment)
        sxt_trace_parse_moment(side->heap.trace, at + 1, &side->heap.options.to);
    return cli_heap_analyse(&side->heap);
}

static void close_side(struct side *side)
{
    cli_heap_close(&side->heap);
    free(side->path);
}

static bool is_same(const sxt_heap_change *change)
{
    const sxt_heap_sums *a = change->sums_before, *b = change->sums_after;
    return a->bytes == b->bytes && a->count == b->count && a->live_bytes == b->live_bytes &&
           a->live_count == b->live_count && a->peak_bytes == b->peak_bytes && a->peak_count == b->peak_count;
}

static const char *status_of(const sxt_heap_change *change)
{
    return change->before == SXT_TRACE_NO_ID ? "added" : change->after == SXT_TRACE_NO_ID ? "removed" : "changed";
}

static const sxt_trace *shown_trace(const struct side sides[2], const sxt_heap_change *change, uint32_t *stack)
{
    bool is_after = change->after != SXT_TRACE_NO_ID;
    *stack = is_after ? change->after : change->before;
    return sides[is_after].heap.trace;
}

static void emit_sums(struct sxt_emit *emit, const sxt_heap_sums *before, const sxt_heap_sums *after)
{
    const struct {
        const char *keys[2];
        uint64_t values[2];
    } pairs[] = {
        {{"allocated_bytes_before", "allocated_bytes_after"}, {before->bytes, after->bytes}},
        {{"allocations_before", "allocations_after"}, {before->count, after->count}},
        {{"peak_bytes_before", "peak_bytes_after"}, {before->peak_bytes, after->peak_bytes}},
        {{"leaked_bytes_before", "leaked_bytes_after"}, {before->live_bytes, after->live_bytes}},
        {{"leaked_allocations_before", "leaked_allocations_after"}, {before->live_count, after->live_count}},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t k = 0; k < 2; k++)
            sxt_emit_number(emit, pairs[i].keys[k], pairs[i].values[k]);
}

static void emit_changes(struct sxt_emit *emit, const struct side sides[2], const sxt_heap_diff *diff,
                         const uint64_t counts[4])
{
    sxt_heap_change change;
    for (size_t i = 0; sxt_heap_diff_get(diff, i, &change); i++) {
        uint32_t stack;
        if (is_same(&change))
            continue;
        const sxt_trace *trace = shown_trace(sides, &change, &stack);
        sxt_emit_record(emit);
        sxt_emit_cstring(emit, "status", status_of(&change));
        emit_sums(emit, change.sums_before, change.sums_after);
        cli_heap_emit_frames(emit, trace, stack);
        sxt_emit_record_end(emit);
    }
    sxt_emit_record(emit);
    sxt_emit_object(emit, "summary");
    sxt_emit_number(emit, "unchanged", counts[0]);
    sxt_emit_number(emit, "changed", counts[1]);
    sxt_emit_number(emit, "added", counts[2]);
    sxt_emit_number(emit, "removed", counts[3]);
    emit_sums(emit, sxt_heap_total(sides[0].heap.usage), sxt_heap_total(sides[1].heap.usage));
    sxt_emit_object_end(emit);
    sxt_emit_record_end(emit);
}

static void print_total(struct sxt_emit *emit, const char *name, uint64_t before, uint64_t after)
{
    sxt_emit_text(emit, "%-12s %15s  %15s  %15s  %9s\n", name, cli_thousands((double)before).text,
                  cli_thousands((double)after).text, cli_change((double)after - (double)before).text,
                  cli_percent((double)after - (double)before, (double)before).text);
}

static void print_changes(struct sxt_emit *emit, const struct side sides[2], const sxt_heap_diff *diff,
                          const uint64_t counts[4])
{
    const sxt_heap_sums *before = sxt_heap_total(sides[0].heap.usage), *after = sxt_heap_total(sides[1].heap.usage);
    sxt_heap_change change;
    uint64_t shown = 0, most = 30;
    sxt_emit_text(emit, "%-12s %15s  %15s  %15s\n", "", "before", "after", "change");
    print_total(emit, "peak", before->peak_bytes, after->peak_bytes);
    print_total(emit, "live", before->live_bytes, after->live_bytes);
    print_total(emit, "allocated", before->bytes, after->bytes);
    print_total(emit, "allocations", before->count, after->count);
    sxt_emit_text(emit,
                  "\n%" PRIu64 " stack%s added, %" PRIu64 " removed, %" PRIu64 " changed, %" PRIu64 " unchanged\n",
                  counts[2], counts[2] == 1 ? "" : "s", counts[3], counts[1], counts[0]);
    sxt_emit_text(emit, "\n%15s  %15s  %13s  stack\n", "live", "allocated", "allocations");
    for (size_t i = 0; shown < most && sxt_heap_diff_get(diff, i, &change); i++) {
        const sxt_heap_sums *a = change.sums_before, *b = change.sums_after;
        uint32_t stack;
        if (is_same(&change))
            continue;
        shown++;
        const sxt_trace *trace = shown_trace(sides, &change, &stack);
        sxt_emit_text(emit, "%15s  %15s  %13s  ", cli_change((double)b->live_bytes - (double)a->live_bytes).text,
                      cli_change((double)b->bytes - (double)a->bytes).text,
                      cli_change((double)b->count - (double)a->count).text);
        cli_heap_print_frames(emit, trace, stack, 49, 8);
    }
}

static int compare(const struct cli_arguments *arguments, const struct side sides[2])
{
    /* Two runs differ in what they allocate; two moments in what is live. */
    bool are_moments = sides[0].is_moment || sides[1].is_moment;
    sxt_heap_diff *diff;
    sxt_heap_change change;
    uint64_t counts[4] = {0};
    sxt_error error;
    if (sxt_heap_diff_make(sides[0].heap.usage, sides[1].heap.usage,
                           are_moments ? SXT_HEAP_COST_LIVE : SXT_HEAP_COST_BYTES, &diff, &error) != SXT_OK)
        return cli_fail(sides[1].path, &error);
    for (size_t i = 0; sxt_heap_diff_get(diff, i, &change); i++) {
        const char *status = is_same(&change) ? "" : status_of(&change);
        counts[status[0] == 'c' ? 1 : status[0] == 'a' ? 2 : status[0] == 'r' ? 3 : 0]++;
    }
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, cli_given(arguments, "json"));
    if (sxt_emit_is_json(&emit))
        emit_changes(&emit, sides, diff, counts);
    else
        print_changes(&emit, sides, diff, counts);
    sxt_heap_diff_free(&diff);
    return cli_finish(&emit, CLI_DONE);
}

/* For two moments of one file, the later one covers all warnings. */
static int warn(const struct side sides[2])
{
    bool is_one_file = strcmp(sides[0].path, sides[1].path) == 0;
    int later = sides[0].heap.summary.events > sides[1].heap.summary.events ? 0 : 1, status = CLI_DONE;
    for (int i = 0; i < 2 && status == CLI_DONE; i++)
        if (!is_one_file || i == later)
            status = cli_heap_warn(&sides[i].heap);
    return status;
}

int cli_diff_heap(const struct cli_arguments *arguments, const char *before, const char *after)
{
    struct side sides[2] = {0};
    int status = open_side(before, &sides[0]);
    if (status == CLI_DONE)
        status = open_side(after, &sides[1]);
    for (int i = 0; i < 2 && status == CLI_DONE; i++)
        if (i == 0 || strcmp(sides[0].path, sides[1].path) != 0)
            cli_warn_state(sides[i].path, sides[i].heap.trace);
    if (status == CLI_DONE)
        status = compare(arguments, sides);
    if (status == CLI_DONE)
        status = warn(sides);
    for (int i = 0; i < 2; i++)
        close_side(&sides[i]);
    return status;
}
