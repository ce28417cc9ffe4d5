/*
 * analysis_processes.c: two analyses of joined traces as one. What was allocated, freed and leaked is a matter of each
 * process; what was live at a moment also depends on when processes ended.
 */
#include "mlyze/analysis_private.h"

static void take_sums(const sxt_heap_usage *usage, sxt_heap_sums *to, const sxt_heap_sums *from)
{
    to->peak_bytes = from->peak_bytes;
    to->peak_count = from->peak_count;
    if (usage->options.to.kind == SXT_HEAP_MOMENT_NONE && usage->options.from.kind == SXT_HEAP_MOMENT_NONE)
        return;
    to->live_bytes = from->live_bytes;
    to->live_count = from->live_count;
    to->before_bytes = from->before_bytes;
    to->before_count = from->before_count;
}

void sxt_heap_take_peaks(sxt_heap_usage *usage, sxt_heap_usage *ended)
{
    /* Both have the same allocations in the same order, and so the same sites. */
    for (size_t i = 0; i < usage->sites.count && i < ended->sites.count; i++) {
        sxt_heap_sums sums, others;
        if (sxt_heap_record(&usage->sites, i)->stack != sxt_heap_record(&ended->sites, i)->stack)
            continue;
        sxt_heap_sites_get(&usage->sites, i, &sums);
        sxt_heap_sites_get(&ended->sites, i, &others);
        take_sums(usage, &sums, &others);
        sxt_heap_sites_set(&usage->sites, i, &sums);
    }
    for (size_t i = 0; usage->threads != NULL && ended->threads != NULL && i < SXT_HEAP_THREADS; i++)
        take_sums(usage, &usage->threads[i], &ended->threads[i]);
    for (size_t i = 0; usage->sizes != NULL && ended->sizes != NULL && i < SXT_HEAP_POWERS; i++)
        take_sums(usage, &usage->sizes[i], &ended->sizes[i]);
    take_sums(usage, &usage->total, &ended->total);
    take_sums(usage, &usage->whole, &ended->whole);
    usage->peak_time = ended->peak_time;
    struct sxt_heap_intervals timeline = usage->timeline;
    usage->timeline = ended->timeline;
    ended->timeline = timeline;
    sxt_heap_marker *markers = usage->markers;
    usage->markers = ended->markers;
    ended->markers = markers;
}
