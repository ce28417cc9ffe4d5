/* analysis_result.c: what an analysis found, for callers of the public API. */
#include <stdio.h>

#include "base/options.h"
#include "mlyze/analysis.h"

/* Of the markers that were kept. */
static uint64_t count_nameless(const sxt_heap_usage *usage)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    uint64_t nameless = 0;
    for (size_t i = 0; i < usage->marker_count; i++)
        nameless += sxt_mlyze_find_function(metadata, usage->markers[i].name).data == NULL;
    return nameless;
}

/* From the start to the end of the process, if the trace has that; in any case to the last event. */
static uint64_t duration_of(const sxt_heap_usage *usage)
{
    const struct sxt_json *known = sxt_json_member(sxt_mlyze_metadata(usage->trace)->root, "duration_us");
    uint64_t duration = usage->end - usage->start;
    bool is_window = usage->options.from.kind != SXT_HEAP_MOMENT_NONE || usage->options.to.kind != SXT_HEAP_MOMENT_NONE;
    if (is_window || known == NULL || known->type != SXT_JSON_NUMBER || !known->is_unsigned)
        return duration;
    return known->unsigned_value > duration ? known->unsigned_value : duration;
}

void sxt_heap_get_summary(const sxt_heap_usage *usage, sxt_heap_summary *out)
{
    sxt_heap_summary summary = {
        .start = usage->start,
        .end = usage->end,
        .peak_time = usage->peak_time,
        .events = usage->events,
        .frees = usage->frees,
        .unmatched_frees = usage->unmatched_frees,
        .implicit_frees = usage->implicit_frees,
        .gc_events = usage->gc_events,
        .gc_objects = usage->gc_objects,
        .gc_bytes = usage->gc_bytes,
        .samples = usage->samples,
        .stacks = usage->site_count,
        .markers = usage->all_markers,
        .dangling_stacks = usage->dangling,
        .dangling_names = count_nameless(usage),
        .zero_addresses = usage->zero_addresses,
        .unknown_events = usage->others,
        .is_sampled = usage->is_sampled,
        .is_saturated = usage->is_saturated,
        .is_damaged = usage->is_damaged,
        .damage = usage->is_damaged ? usage->damage.text : NULL,
        .damaged_blocks = usage->damaged_blocks,
        .lost_events = usage->lost_events,
        .duration = duration_of(usage),
        .kept_samples = usage->is_filtered ? usage->kept.samples : usage->samples,
        .kept_frees = usage->is_filtered ? usage->kept.ends - usage->kept.implicit_frees : usage->frees,
        .kept_implicit_frees = usage->is_filtered ? usage->kept.implicit_frees : usage->implicit_frees,
    };
    sxt_heap_suppressed(usage, &summary.suppressed_bytes, &summary.suppressed_count);
    sxt_result_give(out, &summary, sizeof summary);
}

const sxt_heap_sums *sxt_heap_total(const sxt_heap_usage *usage)
{
    return &usage->total;
}

const sxt_heap_sums *sxt_heap_unfiltered(const sxt_heap_usage *usage)
{
    return usage->is_filtered ? &usage->whole : NULL;
}

const sxt_heap_site *sxt_heap_find_site(const sxt_heap_usage *usage, uint32_t stack)
{
    stack = sxt_mlyze_same_stack(sxt_mlyze_metadata(usage->trace), stack);
    for (size_t i = 0; i < usage->site_count; i++)
        if (usage->sites[i].stack == stack)
            return &usage->sites[i];
    return NULL;
}

const sxt_heap_marker *sxt_heap_get_marker(const sxt_heap_usage *usage, size_t index)
{
    return index < usage->marker_count ? &usage->markers[index] : NULL;
}

const sxt_heap_damage *sxt_heap_get_damage(const sxt_heap_usage *usage, size_t index)
{
    return index < usage->damage_count ? &usage->damages[index] : NULL;
}

const sxt_heap_interval *sxt_heap_get_point(const sxt_heap_usage *usage, size_t index)
{
    return index < usage->timeline.count ? &usage->timeline.items[index] : NULL;
}

const sxt_heap_interval *sxt_heap_get_window(const sxt_heap_usage *usage, size_t index)
{
    return index < usage->windows.count ? &usage->windows.items[index] : NULL;
}

const sxt_heap_lifetimes *sxt_heap_get_lifetimes(const sxt_heap_usage *usage)
{
    return &usage->lifetimes;
}

const struct sxt_mlyze_stack *sxt_heap_frames(const sxt_heap_usage *usage, uint32_t stack)
{
    return sxt_mlyze_find_stack(sxt_mlyze_metadata(usage->trace), stack);
}
