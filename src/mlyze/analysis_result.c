/* analysis_result.c: what an analysis found, for callers of the public API. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

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
        .stacks = usage->sites.count,
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

/* The place of the site of a stack; SIZE_MAX if it has none. */
static size_t search_site(const sxt_heap_usage *usage, uint32_t stack)
{
    for (size_t i = 0; i < usage->sites.count; i++)
        if (sxt_heap_record(&usage->sites, i)->stack == stack)
            return i;
    return SIZE_MAX;
}

/* A site stays where it is until the usage is freed. Any number of threads may ask at the same time. */
const sxt_heap_site *sxt_heap_find_site(const sxt_heap_usage *usage, uint32_t stack)
{
    stack = sxt_mlyze_same_stack(sxt_mlyze_metadata(usage->trace), stack);
    size_t place = search_site(usage, stack);
    if (place == SIZE_MAX)
        return NULL;
    const struct sxt_heap_record *record = sxt_heap_record(&usage->sites, place);
    struct sxt_heap_sites *sites = (struct sxt_heap_sites *)(uintptr_t)&usage->sites;
    struct sxt_heap_found *first = atomic_load(&sites->found), *found = first;
    while (found != NULL && (found->site.stack != stack || found->site.is_suppressed != record->is_suppressed))
        found = found->next;
    if (found != NULL)
        return &found->site;
    found = calloc(1, sizeof *found);
    if (found == NULL)
        return NULL;
    found->site = (sxt_heap_site){.stack = stack, .is_suppressed = record->is_suppressed};
    sxt_heap_sites_get(&usage->sites, place, &found->site.sums);
    do
        found->next = first;
    while (!atomic_compare_exchange_weak(&sites->found, &first, found));
    return &found->site;
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
