/* heap_time.c: a heap trace over time. */
#include <inttypes.h>
#include <string.h>

#include "cli/heap.h"

#define BAR_WIDTH 40

static struct cli_number thousands(uint64_t value)
{
    return cli_thousands((double)value);
}

static void emit_interval(struct sxt_emit *emit, const sxt_heap_interval *interval)
{
    sxt_emit_record(emit);
    sxt_emit_number(emit, "start_us", interval->start);
    sxt_emit_number(emit, "width_us", interval->width);
    sxt_emit_number(emit, "peak_bytes", interval->peak_bytes);
    sxt_emit_number(emit, "live_bytes", interval->live_bytes);
    sxt_emit_number(emit, "allocated_bytes", interval->bytes);
    sxt_emit_number(emit, "allocations", interval->count);
    sxt_emit_number(emit, "freed_bytes", interval->freed_bytes);
    sxt_emit_number(emit, "freed_allocations", interval->freed_count);
    sxt_emit_record_end(emit);
}

static void print_bar(struct sxt_emit *emit, uint64_t value, uint64_t most)
{
    static const char bar[] = "########################################";
    int size = most == 0 ? 0 : (int)((double)value / (double)most * BAR_WIDTH + 0.5);
    sxt_emit_text(emit, "%.*s\n", size, bar);
}

/* The columns are the keys of the JSON form. */
static void print_csv_timeline(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_interval *point;
    sxt_emit_text(emit, "start_us,width_us,peak_bytes,live_bytes,allocated_bytes,allocations,freed_bytes,"
                        "freed_allocations\n");
    for (size_t i = 0; (point = sxt_heap_get_point(heap->usage, i)) != NULL; i++) {
        const uint64_t values[] = {point->start, point->width, point->peak_bytes,  point->live_bytes,
                                   point->bytes, point->count, point->freed_bytes, point->freed_count};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            sxt_emit_text(emit, "%s%" PRIu64, k == 0 ? "" : ",", values[k]);
        sxt_emit_text(emit, "\n");
    }
}

void cli_heap_print_timeline(struct sxt_emit *emit, const struct cli_heap *heap, enum cli_form form)
{
    const sxt_heap_interval *point;
    uint64_t most = 0;
    if (form == CLI_CSV) {
        print_csv_timeline(emit, heap);
        return;
    }
    for (size_t i = 0; (point = sxt_heap_get_point(heap->usage, i)) != NULL; i++)
        most = point->peak_bytes > most ? point->peak_bytes : most;
    sxt_emit_text(emit, "%12s  %15s  %15s  %11s\n", "after", "most live", "allocated", "allocations");
    for (size_t i = 0; (point = sxt_heap_get_point(heap->usage, i)) != NULL; i++) {
        if (sxt_emit_is_json(emit)) {
            emit_interval(emit, point);
            continue;
        }
        sxt_emit_text(emit, "%12s  %15s  %15s  %11s  ", cli_duration(point->start - heap->summary.start).text,
                      thousands(point->peak_bytes).text, thousands(point->bytes).text, thousands(point->count).text);
        print_bar(emit, point->peak_bytes, most);
    }
}

void cli_heap_print_windows(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_interval *window;
    sxt_emit_text(emit, "busiest windows of %s\n%12s  %15s  %11s  %15s  %15s\n", cli_duration(heap->options.churn).text,
                  "after", "allocated", "allocations", "a second", "freed");
    for (size_t i = 0; (window = sxt_heap_get_window(heap->usage, i)) != NULL; i++) {
        if (sxt_emit_is_json(emit)) {
            emit_interval(emit, window);
            continue;
        }
        sxt_emit_text(emit, "%12s  %15s  %11s  %15s  %15s\n", cli_duration(window->start - heap->summary.start).text,
                      thousands(window->bytes).text, thousands(window->count).text,
                      cli_thousands((double)window->count * 1e6 / (double)window->width).text,
                      thousands(window->freed_bytes).text);
    }
}

static void print_lifetime(struct sxt_emit *emit, const sxt_heap_lifetimes *lifetimes, unsigned power, uint64_t most)
{
    uint64_t count = lifetimes->count[power], bytes = lifetimes->bytes[power];
    uint64_t from = power == 0 ? 0 : (uint64_t)1 << (power - 1), to = power == 0 ? 0 : from + (from - 1);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_emit_number(emit, "lifetime_from_us", from);
        sxt_emit_number(emit, "lifetime_to_us", to);
        sxt_emit_number(emit, "freed_allocations", count);
        sxt_emit_number(emit, "freed_bytes", bytes);
        sxt_emit_record_end(emit);
        return;
    }
    sxt_emit_text(emit, "%12s  %15s  %11s  ", power == 0 ? "0 us" : cli_duration(from).text, thousands(bytes).text,
                  thousands(count).text);
    print_bar(emit, count, most);
}

void cli_heap_print_lifetimes(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_lifetimes *lifetimes = sxt_heap_get_lifetimes(heap->usage);
    const sxt_heap_sums *total = sxt_heap_total(heap->usage);
    uint64_t most = 0;
    unsigned first = SXT_HEAP_POWERS, last = 0;
    for (unsigned i = 0; i < SXT_HEAP_POWERS; i++) {
        if (lifetimes->count[i] == 0)
            continue;
        first = i < first ? i : first;
        last = i;
        most = lifetimes->count[i] > most ? lifetimes->count[i] : most;
    }
    sxt_emit_text(emit, "%12s  %15s  %11s\n", "at least", "bytes", "blocks");
    for (unsigned i = first; i <= last && i < SXT_HEAP_POWERS; i++)
        print_lifetime(emit, lifetimes, i, most);
    sxt_emit_text(emit, "%12s  %15s  %11s\n\n", "not freed", thousands(total->live_bytes).text,
                  thousands(total->live_count).text);
}

void cli_heap_print_markers(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_marker *marker;
    size_t shown = 0;
    sxt_emit_text(emit, "%12s  %15s  %11s  %15s  marker\n", "after", "live bytes", "blocks", "peak after it");
    for (; (marker = sxt_heap_get_marker(heap->usage, shown)) != NULL; shown++) {
        char room[24];
        sxt_string name =
            cli_heap_name(sxt_trace_function_name(heap->trace, marker->name), marker->name, "marker", room);
        if (sxt_emit_is_json(emit)) {
            sxt_emit_record(emit);
            sxt_emit_string(emit, "marker", name);
            sxt_emit_number(emit, "time_us", marker->time);
            sxt_emit_number(emit, "live_bytes", marker->live_bytes);
            sxt_emit_number(emit, "live_allocations", marker->live_count);
            sxt_emit_number(emit, "peak_bytes", marker->peak_bytes);
            sxt_emit_record_end(emit);
            continue;
        }
        sxt_emit_text(emit, "%12s  %15s  %11s  %15s  ", cli_duration(marker->time - heap->summary.start).text,
                      thousands(marker->live_bytes).text, thousands(marker->live_count).text,
                      thousands(marker->peak_bytes).text);
        sxt_emit_name(emit, name);
        sxt_emit_text(emit, "\n");
    }
    if (shown < heap->summary.markers)
        sxt_emit_text(emit, "%s of %s marker%s\n", thousands(shown).text, thousands(heap->summary.markers).text,
                      heap->summary.markers == 1 ? "" : "s");
}

static void print_moment(struct sxt_emit *emit, uint64_t after, uint64_t bytes, uint64_t count)
{
    sxt_emit_text(emit, "after %s: %s byte%s in %s block%s\n", cli_duration(after).text, thousands(bytes).text,
                  bytes == 1 ? "" : "s", thousands(count).text, count == 1 ? "" : "s");
}

static void print_change(struct sxt_emit *emit, double bytes, double count)
{
    sxt_emit_text(emit, "change: %s byte%s, %s block%s\n", cli_change(bytes).text, bytes == 1 || bytes == -1 ? "" : "s",
                  cli_change(count).text, count == 1 || count == -1 ? "" : "s");
}

void cli_heap_print_state(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const sxt_heap_sums *total = sxt_heap_total(heap->usage);
    bool has_begin = heap->options.from.kind != SXT_HEAP_MOMENT_NONE;
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_emit_number(emit, "time_us", heap->summary.end);
        sxt_emit_number(emit, "live_bytes", total->live_bytes);
        sxt_emit_number(emit, "live_allocations", total->live_count);
        if (has_begin)
            cli_heap_emit_growth(emit, total);
        sxt_emit_record_end(emit);
        return;
    }
    if (has_begin)
        print_moment(emit, heap->summary.start - heap->info.start_us, total->before_bytes, total->before_count);
    print_moment(emit, heap->summary.end - heap->info.start_us, total->live_bytes, total->live_count);
    if (has_begin)
        print_change(emit, (double)total->live_bytes - (double)total->before_bytes,
                     (double)total->live_count - (double)total->before_count);
    sxt_emit_text(emit, "\n");
}
