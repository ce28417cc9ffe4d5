/* heap_summary.c: the totals of a heap trace, and where most of the memory went. */
#include <stdio.h>
#include <string.h>

#include "cli/heap.h"

static struct cli_number thousands(uint64_t value)
{
    return cli_thousands((double)value);
}

static const char *ending(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* --- for programs --- */

static void emit_pair(struct sxt_emit *emit, const char *bytes_key, uint64_t bytes, const char *count_key,
                      uint64_t count)
{
    sxt_emit_number(emit, bytes_key, bytes);
    sxt_emit_number(emit, count_key, count);
}

/* A duration is what the file says. */
static uint64_t end_of(const sxt_heap_summary *summary)
{
    return summary->duration <= UINT64_MAX - summary->start ? summary->start + summary->duration : UINT64_MAX;
}

/* What there is without the filter. */
static void emit_unfiltered(struct sxt_emit *emit, const struct cli_heap_totals *totals)
{
    const sxt_heap_sums *whole = totals->whole;
    const sxt_heap_summary *summary = totals->summary;
    sxt_emit_bool(emit, "filtered", whole != NULL);
    if (whole == NULL)
        return;
    sxt_emit_object(emit, "unfiltered");
    emit_pair(emit, "peak_bytes", whole->peak_bytes, "peak_allocations", whole->peak_count);
    emit_pair(emit, "allocated_bytes", whole->bytes, "allocations", whole->count);
    sxt_emit_number(emit, "frees", summary->frees);
    emit_pair(emit, "leaked_bytes", whole->leaked_bytes, "leaked_allocations", whole->leaked_count);
    sxt_emit_number(emit, "unmatched_frees", summary->unmatched_frees);
    sxt_emit_number(emit, "implicit_frees", summary->implicit_frees);
    emit_pair(emit, "live_bytes", whole->live_bytes, "live_allocations", whole->live_count);
    cli_heap_emit_temporary(emit, summary->is_sampled, whole);
    sxt_emit_number(emit, "events", summary->events);
    if (summary->is_sampled)
        sxt_emit_number(emit, "samples", summary->samples);
    sxt_emit_object_end(emit);
}

/* With a filter, the events are the allocations and frees that it keeps. */
static uint64_t events_of(const struct cli_heap_totals *totals)
{
    const sxt_heap_summary *summary = totals->summary;
    return totals->whole == NULL ? summary->events : summary->kept_samples + summary->kept_frees;
}

static void emit_events(struct sxt_emit *emit, const struct cli_heap_totals *totals)
{
    const sxt_heap_summary *summary = totals->summary;
    sxt_emit_number(emit, "stacks", summary->stacks);
    sxt_emit_number(emit, "markers", summary->markers);
    sxt_emit_number(emit, "gc_events", summary->gc_events);
    emit_pair(emit, "gc_bytes", summary->gc_bytes, "gc_objects", summary->gc_objects);
    sxt_emit_number(emit, "events", events_of(totals));
    sxt_emit_number(emit, "start_us", summary->start);
    sxt_emit_number(emit, "end_us", end_of(summary));
    sxt_emit_number(emit, "duration_us", summary->duration);
    sxt_emit_number(emit, "damaged_blocks", summary->damaged_blocks);
    sxt_emit_number(emit, "lost_events", summary->lost_events);
    sxt_emit_bool(emit, "estimated", summary->is_sampled);
    if (summary->is_sampled) {
        sxt_emit_number(emit, "sample_period", totals->sample_period);
        sxt_emit_number(emit, "samples", summary->kept_samples);
    }
}

/* A free without a block has no stack, so it is not known whether a filter would keep it. */
void cli_heap_emit_totals(struct sxt_emit *emit, const struct cli_heap_totals *totals)
{
    const sxt_heap_sums *total = totals->total;
    const sxt_heap_summary *summary = totals->summary;
    sxt_emit_number(emit, "peak_bytes", total->peak_bytes);
    sxt_emit_number(emit, "peak_allocations", total->peak_count);
    sxt_emit_number(emit, "peak_time_us", summary->peak_time);
    emit_pair(emit, "allocated_bytes", total->bytes, "allocations", total->count);
    sxt_emit_number(emit, "frees", summary->kept_frees);
    emit_pair(emit, "leaked_bytes", total->leaked_bytes, "leaked_allocations", total->leaked_count);
    emit_pair(emit, "suppressed_bytes", summary->suppressed_bytes, "suppressed_allocations", summary->suppressed_count);
    if (totals->whole == NULL)
        sxt_emit_number(emit, "unmatched_frees", summary->unmatched_frees);
    else
        sxt_emit_null(emit, "unmatched_frees");
    sxt_emit_number(emit, "implicit_frees", summary->kept_implicit_frees);
    emit_pair(emit, "live_bytes", total->live_bytes, "live_allocations", total->live_count);
    cli_heap_emit_temporary(emit, summary->is_sampled, total);
    emit_events(emit, totals);
    emit_unfiltered(emit, totals);
}

struct cli_heap_totals cli_heap_totals_of(const struct cli_heap *heap)
{
    return (struct cli_heap_totals){
        .summary = &heap->summary,
        .total = sxt_heap_total(heap->usage),
        .whole = sxt_heap_unfiltered(heap->usage),
        .sample_period = heap->info.sample_period,
    };
}

static void emit_summary(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const struct cli_heap_totals totals = cli_heap_totals_of(heap);
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "file", heap->path);
    cli_heap_emit_totals(emit, &totals);
    sxt_emit_record_end(emit);
}

/* --- for people --- */

void cli_heap_print_amount(struct sxt_emit *emit, const char *name, uint64_t bytes, uint64_t count)
{
    sxt_emit_text(emit, "%-10s %12s   %s byte%s in %s block%s", name, cli_bytes((double)bytes).text,
                  thousands(bytes).text, ending(bytes), thousands(count).text, ending(count));
}

void cli_heap_print_estimated(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_summary *summary = &heap->summary;
    if (summary->is_sampled)
        sxt_emit_text(emit, "estimated  from %s sample%s, one for every %s\n", thousands(summary->kept_samples).text,
                      ending(summary->kept_samples), cli_bytes((double)heap->info.sample_period).text);
}

static void print_events(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_summary *summary = &heap->summary;
    const struct cli_heap_totals totals = cli_heap_totals_of(heap);
    uint64_t events = events_of(&totals);
    sxt_emit_text(emit, "%-10s %12s   %s event%s: %s free%s", "time", cli_duration(summary->duration).text,
                  thousands(events).text, ending(events), thousands(summary->kept_frees).text,
                  ending(summary->kept_frees));
    if (summary->unmatched_frees > 0 && totals.whole == NULL)
        sxt_emit_text(emit, ", %s of them of blocks that were not allocated here",
                      thousands(summary->unmatched_frees).text);
    if (summary->kept_implicit_frees > 0)
        sxt_emit_text(emit, "; %s address%s allocated twice", thousands(summary->kept_implicit_frees).text,
                      summary->kept_implicit_frees == 1 ? "" : "es");
    sxt_emit_text(emit, "\n");
    if (summary->gc_events > 0)
        sxt_emit_text(emit, "%-10s %12s   %s object%s, %s byte%s\n", "collected", thousands(summary->gc_events).text,
                      thousands(summary->gc_objects).text, ending(summary->gc_objects),
                      thousands(summary->gc_bytes).text, ending(summary->gc_bytes));
    cli_heap_print_estimated(emit, heap);
}

static void print_totals(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_sums *total = sxt_heap_total(heap->usage);
    const sxt_heap_summary *summary = &heap->summary;
    double seconds = (double)summary->duration / 1e6;
    cli_heap_print_amount(emit, "peak", total->peak_bytes, total->peak_count);
    sxt_emit_text(emit, ", after %s\n", cli_duration(summary->peak_time - summary->start).text);
    cli_heap_print_amount(emit, "leaked", total->leaked_bytes, total->leaked_count);
    if (summary->suppressed_count > 0)
        sxt_emit_text(emit, ", of which %s suppressed", cli_bytes((double)summary->suppressed_bytes).text);
    sxt_emit_text(emit, "\n");
    cli_heap_print_amount(emit, "allocated", total->bytes, total->count);
    if (seconds > 0)
        sxt_emit_text(emit, ", %s a second", cli_thousands((double)total->count / seconds).text);
    sxt_emit_text(emit, "\n");
    if (!summary->is_sampled) {
        cli_heap_print_amount(emit, "temporary", total->temporary_bytes, total->temporary_count);
        sxt_emit_text(emit, "\n");
    }
    print_events(emit, heap);
}

static int print_sites(struct sxt_emit *emit, const struct cli_heap *heap, uint64_t limit)
{
    static const struct {
        sxt_heap_cost cost;
        const char *heading;
    } parts[] = {
        {SXT_HEAP_COST_PEAK, "live at the peak"}, {SXT_HEAP_COST_LEAKED, "leaked"}, {SXT_HEAP_COST_BYTES, "allocated"}};
    const sxt_heap_sums *total = sxt_heap_total(heap->usage);
    int status = CLI_DONE;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == CLI_DONE; i++) {
        uint64_t hidden = parts[i].cost == SXT_HEAP_COST_LEAKED ? heap->summary.suppressed_count : 0;
        if (sxt_heap_count_of(total, parts[i].cost) <= hidden)
            continue;
        const struct cli_heap_table table = {.cost = parts[i].cost, .form = CLI_TABLE, .limit = limit};
        sxt_emit_text(emit, "\n%s\n", parts[i].heading);
        status = cli_heap_print_table(emit, heap, &table);
    }
    return status;
}

int cli_heap_print_summary(struct sxt_emit *emit, const struct cli_heap *heap, uint64_t limit)
{
    if (sxt_emit_is_json(emit)) {
        emit_summary(emit, heap);
        return CLI_DONE;
    }
    cli_heap_print_filter(emit, heap);
    print_totals(emit, heap);
    return print_sites(emit, heap, limit);
}

void cli_heap_print_suppressed(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_summary *summary = &heap->summary;
    if (summary->suppressed_count == 0)
        return;
    sxt_emit_text(emit, "%s byte%s in %s block%s %s suppressed\n", thousands(summary->suppressed_bytes).text,
                  ending(summary->suppressed_bytes), thousands(summary->suppressed_count).text,
                  ending(summary->suppressed_count), summary->suppressed_count == 1 ? "is" : "are");
}

/* --- filters --- */

/* "filtered: 12,345 of 586,754 bytes allocated, in 3 of 9 blocks"; nothing without a filter. */
static bool describe_filter(const struct cli_heap *heap, char *text, size_t size)
{
    const sxt_heap_sums *whole = sxt_heap_unfiltered(heap->usage), *total = sxt_heap_total(heap->usage);
    if (whole == NULL)
        return false;
    bool is_state = heap->options.only_live;
    uint64_t bytes = is_state ? whole->live_bytes : whole->bytes, count = is_state ? whole->live_count : whole->count;
    snprintf(text, size, "filtered: %s of %s byte%s %s, in %s of %s block%s",
             thousands(is_state ? total->live_bytes : total->bytes).text, thousands(bytes).text, ending(bytes),
             is_state ? "live" : "allocated", thousands(is_state ? total->live_count : total->count).text,
             thousands(count).text, ending(count));
    return true;
}

void cli_heap_print_filter(struct sxt_emit *emit, const struct cli_heap *heap)
{
    char text[240];
    if (describe_filter(heap, text, sizeof text))
        sxt_emit_text(emit, "%s\n\n", text);
}

void cli_heap_note_filter(const struct cli_heap *heap)
{
    char text[240];
    if (describe_filter(heap, text, sizeof text))
        cli_note(heap->path, "%s", text);
}
