/* heap_time.c: what a heap trace tells along the time. */
#include <inttypes.h>
#include <string.h>

#include "cli/heap.h"

#define BAR_WIDTH 40

static struct cli_number thousands(uint64_t value)
{
    return cli_thousands((double)value);
}

static void emit_stretch(struct sxt_emit *emit, const struct sxt_heap_stretch *stretch)
{
    sxt_emit_record(emit);
    sxt_emit_number(emit, "start_us", stretch->start);
    sxt_emit_number(emit, "width_us", stretch->width);
    sxt_emit_number(emit, "peak_bytes", stretch->peak_bytes);
    sxt_emit_number(emit, "live_bytes", stretch->live_bytes);
    sxt_emit_number(emit, "allocated_bytes", stretch->bytes);
    sxt_emit_number(emit, "allocations", stretch->count);
    sxt_emit_number(emit, "freed_bytes", stretch->freed_bytes);
    sxt_emit_number(emit, "freed_allocations", stretch->freed_count);
    sxt_emit_record_end(emit);
}

static void print_bar(struct sxt_emit *emit, uint64_t value, uint64_t most)
{
    static const char bar[] = "########################################";
    int size = most == 0 ? 0 : (int)((double)value / (double)most * BAR_WIDTH + 0.5);
    sxt_emit_text(emit, "%.*s\n", size, bar);
}

void cli_heap_print_timeline(struct sxt_emit *emit, const struct sxt_heap_usage *usage)
{
    uint64_t most = 0;
    for (size_t i = 0; i < usage->timeline.count; i++)
        if (usage->timeline.items[i].peak_bytes > most)
            most = usage->timeline.items[i].peak_bytes;
    sxt_emit_text(emit, "%12s  %15s  %15s  %11s\n", "after", "most live", "allocated", "allocations");
    for (size_t i = 0; i < usage->timeline.count; i++) {
        const struct sxt_heap_stretch *point = &usage->timeline.items[i];
        if (sxt_emit_is_json(emit)) {
            emit_stretch(emit, point);
            continue;
        }
        sxt_emit_text(emit, "%12s  %15s  %15s  %11s  ", cli_duration(point->start - usage->start).text,
                      thousands(point->peak_bytes).text, thousands(point->bytes).text, thousands(point->count).text);
        print_bar(emit, point->peak_bytes, most);
    }
}

void cli_heap_print_windows(struct sxt_emit *emit, const struct sxt_heap_usage *usage)
{
    sxt_emit_text(emit, "busiest windows of %s\n%12s  %15s  %11s  %15s  %15s\n",
                  cli_duration(usage->options.churn).text, "after", "allocated", "allocations", "a second", "freed");
    for (size_t i = 0; i < usage->windows.count; i++) {
        const struct sxt_heap_stretch *window = &usage->windows.items[i];
        if (sxt_emit_is_json(emit)) {
            emit_stretch(emit, window);
            continue;
        }
        sxt_emit_text(emit, "%12s  %15s  %11s  %15s  %15s\n", cli_duration(window->start - usage->start).text,
                      thousands(window->bytes).text, thousands(window->count).text,
                      cli_thousands((double)window->count * 1e6 / (double)window->width).text,
                      thousands(window->freed_bytes).text);
    }
}

static void print_lifetime(struct sxt_emit *emit, const struct sxt_heap_usage *usage, unsigned power, uint64_t most)
{
    uint64_t count = usage->lifetimes.count[power], bytes = usage->lifetimes.bytes[power];
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

void cli_heap_print_lifetimes(struct sxt_emit *emit, const struct sxt_heap_usage *usage)
{
    uint64_t most = 0;
    unsigned first = SXT_HEAP_POWERS, last = 0;
    for (unsigned i = 0; i < SXT_HEAP_POWERS; i++) {
        if (usage->lifetimes.count[i] == 0)
            continue;
        first = i < first ? i : first;
        last = i;
        most = usage->lifetimes.count[i] > most ? usage->lifetimes.count[i] : most;
    }
    sxt_emit_text(emit, "%12s  %15s  %11s\n", "at least", "bytes", "blocks");
    for (unsigned i = first; i <= last && i < SXT_HEAP_POWERS; i++)
        print_lifetime(emit, usage, i, most);
    sxt_emit_text(emit, "%12s  %15s  %11s\n\n", "not freed", thousands(usage->total.live_bytes).text,
                  thousands(usage->total.live_count).text);
}

void cli_heap_print_markers(struct sxt_emit *emit, const struct sxt_heap_usage *usage)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    sxt_emit_text(emit, "%12s  %15s  %11s  %15s  marker\n", "after", "live bytes", "blocks", "peak behind it");
    for (size_t i = 0; i < usage->marker_count; i++) {
        const struct sxt_heap_marker *marker = &usage->markers[i];
        char room[24];
        sxt_string name = sxt_mlyze_function(metadata, marker->name, room);
        if (marker->name >= metadata->function_count || metadata->functions[marker->name].data == NULL)
            name = (sxt_string){room, (size_t)snprintf(room, sizeof room, "marker_%u", marker->name)};
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
        sxt_emit_text(emit, "%12s  %15s  %11s  %15s  ", cli_duration(marker->time - usage->start).text,
                      thousands(marker->live_bytes).text, thousands(marker->live_count).text,
                      thousands(marker->peak_bytes).text);
        sxt_emit_name(emit, name);
        sxt_emit_text(emit, "\n");
    }
    if (usage->marker_count < usage->all_markers)
        sxt_emit_text(emit, "%s of %s markers\n", thousands(usage->marker_count).text,
                      thousands(usage->all_markers).text);
}

void cli_heap_print_state(struct sxt_emit *emit, const struct sxt_heap_usage *usage)
{
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_emit_number(emit, "time_us", usage->end);
        sxt_emit_number(emit, "live_bytes", usage->total.live_bytes);
        sxt_emit_number(emit, "live_allocations", usage->total.live_count);
        sxt_emit_record_end(emit);
        return;
    }
    sxt_emit_text(emit, "after %s: %s bytes in %s blocks\n\n",
                  cli_duration(usage->end - sxt_mlyze_header(usage->trace)->start_us).text,
                  thousands(usage->total.live_bytes).text, thousands(usage->total.live_count).text);
}
