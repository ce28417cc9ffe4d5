/* heap_diff.c: what changed between two heap traces, or between two moments of one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/heap.h"
#include "cli/verbs.h"

/* One side: FILE, or FILE@MOMENT. */
struct side {
    struct cli_trace trace;
    struct sxt_heap_usage usage;
    char *path;
    bool is_moment;
};

static int open_side(const char *text, struct side *side)
{
    struct sxt_heap_options options = {0};
    const char *at = strrchr(text, '@');
    bool exists = access(text, F_OK) == 0;
    side->is_moment = at != NULL && at != text && !exists;
    side->path = strndup(text, side->is_moment ? (size_t)(at - text) : strlen(text));
    if (side->path == NULL)
        return cli_fail_text(text, "out of memory");
    int status = cli_trace_open(side->path, &side->trace);
    if (status != CLI_DONE)
        return status;
    if (side->is_moment)
        options.to = sxt_heap_moment_of(at + 1, sxt_mlyze_header(side->trace.mlyze)->start_us);
    return cli_trace_run(&side->trace, &options, &side->usage);
}

static void close_side(struct side *side)
{
    sxt_heap_free(&side->usage);
    cli_trace_close(&side->trace);
    free(side->path);
}

static bool is_same(const struct sxt_heap_change *change)
{
    const struct sxt_heap_sums *a = &change->sums[0], *b = &change->sums[1];
    return a->bytes == b->bytes && a->count == b->count && a->live_bytes == b->live_bytes &&
           a->live_count == b->live_count && a->peak_bytes == b->peak_bytes && a->peak_count == b->peak_count;
}

static const char *status_of(const struct sxt_heap_change *change)
{
    return change->before == SXT_HEAP_NO_SITE ? "added" : change->after == SXT_HEAP_NO_SITE ? "removed" : "changed";
}

static const struct side *shown_side(const struct side sides[2], const struct sxt_heap_change *change, uint32_t *stack)
{
    const struct side *side = change->after != SXT_HEAP_NO_SITE ? &sides[1] : &sides[0];
    uint32_t site = change->after != SXT_HEAP_NO_SITE ? change->after : change->before;
    *stack = side->usage.sites[site].stack;
    return side;
}

static void emit_sums(struct sxt_emit *emit, const struct sxt_heap_sums *before, const struct sxt_heap_sums *after)
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

static void emit_changes(struct sxt_emit *emit, const struct side sides[2], const struct sxt_heap_changes *changes,
                         const uint64_t counts[4])
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct sxt_heap_change *change = &changes->items[i];
        uint32_t stack;
        if (is_same(change))
            continue;
        const struct side *side = shown_side(sides, change, &stack);
        sxt_emit_record(emit);
        sxt_emit_cstring(emit, "status", status_of(change));
        emit_sums(emit, &change->sums[0], &change->sums[1]);
        cli_heap_emit_frames(emit, &side->usage, stack);
        sxt_emit_record_end(emit);
    }
    sxt_emit_record(emit);
    sxt_emit_object(emit, "summary");
    sxt_emit_number(emit, "unchanged", counts[0]);
    sxt_emit_number(emit, "changed", counts[1]);
    sxt_emit_number(emit, "added", counts[2]);
    sxt_emit_number(emit, "removed", counts[3]);
    emit_sums(emit, &sides[0].usage.total, &sides[1].usage.total);
    sxt_emit_object_end(emit);
    sxt_emit_record_end(emit);
}

static void print_total(struct sxt_emit *emit, const char *name, uint64_t before, uint64_t after)
{
    sxt_emit_text(emit, "%-12s %15s  %15s  %15s  %9s\n", name, cli_thousands((double)before).text,
                  cli_thousands((double)after).text, cli_change((double)after - (double)before).text,
                  cli_percent((double)after - (double)before, (double)before).text);
}

static void print_changes(struct sxt_emit *emit, const struct side sides[2], const struct sxt_heap_changes *changes,
                          const uint64_t counts[4])
{
    const struct sxt_heap_sums *before = &sides[0].usage.total, *after = &sides[1].usage.total;
    uint64_t shown = 0, most = 30;
    sxt_emit_text(emit, "%-12s %15s  %15s  %15s\n", "", "before", "after", "change");
    print_total(emit, "peak", before->peak_bytes, after->peak_bytes);
    print_total(emit, "live", before->live_bytes, after->live_bytes);
    print_total(emit, "allocated", before->bytes, after->bytes);
    print_total(emit, "allocations", before->count, after->count);
    sxt_emit_text(emit, "\n%" PRIu64 " stacks added, %" PRIu64 " removed, %" PRIu64 " changed, %" PRIu64 " as before\n",
                  counts[2], counts[3], counts[1], counts[0]);
    sxt_emit_text(emit, "\n%15s  %15s  %13s  stack\n", "live", "allocated", "allocations");
    for (size_t i = 0; i < changes->count && shown < most; i++) {
        const struct sxt_heap_change *change = &changes->items[i];
        const struct sxt_heap_sums *a = &change->sums[0], *b = &change->sums[1];
        uint32_t stack;
        if (is_same(change))
            continue;
        shown++;
        const struct side *side = shown_side(sides, change, &stack);
        sxt_emit_text(emit, "%15s  %15s  %13s  ", cli_change((double)b->live_bytes - (double)a->live_bytes).text,
                      cli_change((double)b->bytes - (double)a->bytes).text,
                      cli_change((double)b->count - (double)a->count).text);
        cli_heap_print_frames(emit, &side->usage, stack, 49, 8);
    }
}

static int compare(const struct cli_arguments *arguments, const struct side sides[2])
{
    /* Two runs differ in what they allocate; two moments in what is live. */
    bool are_moments = sides[0].is_moment || sides[1].is_moment;
    struct sxt_heap_changes changes;
    uint64_t counts[4] = {0};
    sxt_error error;
    if (sxt_heap_diff(&sides[0].usage, &sides[1].usage, are_moments ? SXT_HEAP_LIVE : SXT_HEAP_BYTES, &changes,
                      &error) != SXT_OK)
        return cli_fail(sides[1].path, &error);
    for (size_t i = 0; i < changes.count; i++) {
        const char *status = is_same(&changes.items[i]) ? "" : status_of(&changes.items[i]);
        counts[status[0] == 'c' ? 1 : status[0] == 'a' ? 2 : status[0] == 'r' ? 3 : 0]++;
    }
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, cli_given(arguments, "json"));
    if (sxt_emit_is_json(&emit))
        emit_changes(&emit, sides, &changes, counts);
    else
        print_changes(&emit, sides, &changes, counts);
    sxt_heap_changes_free(&changes);
    return cli_finish(&emit, CLI_DONE);
}

/* Of two moments of one file, the later one has seen all that there is to say. */
static int warn(const struct side sides[2])
{
    bool is_one_file = strcmp(sides[0].path, sides[1].path) == 0;
    int later = sides[0].usage.events > sides[1].usage.events ? 0 : 1, status = CLI_DONE;
    for (int i = 0; i < 2 && status == CLI_DONE; i++)
        if (!is_one_file || i == later)
            status = cli_trace_warn(&sides[i].trace, &sides[i].usage);
    return status;
}

int cli_diff_heap(const struct cli_arguments *arguments, const char *before, const char *after)
{
    struct side sides[2] = {0};
    int status = open_side(before, &sides[0]);
    if (status == CLI_DONE)
        status = open_side(after, &sides[1]);
    for (int i = 0; i < 2 && status == CLI_DONE; i++)
        if (sides[i].trace.is_cut && (i == 0 || strcmp(sides[0].path, sides[1].path) != 0))
            cli_warn_cut(sides[i].path);
    if (status == CLI_DONE)
        status = compare(arguments, sides);
    if (status == CLI_DONE)
        status = warn(sides);
    for (int i = 0; i < 2; i++)
        close_side(&sides[i]);
    return status;
}
