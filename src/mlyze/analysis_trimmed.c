/*
 * analysis_trimmed.c: mappings that are cut.
 *
 * If a program unmaps a part of a mapping, the trace has a FREE of the whole and an ALLOC of what is left, at the same
 * time and with the same stack. The mapping has not ended, so it is not temporary, even if it was cut at once, as
 * allocators do for the sake of alignment. When a block of whole pages ends that would count as temporary, this is
 * decided with the next allocation.
 */
#include "mlyze/analysis_private.h"

static void add_temporary(sxt_heap_sums *sums, uint64_t size)
{
    sums->temporary_bytes += size;
    sums->temporary_count++;
}

/* The same sums as when a block ends. */
static void count(sxt_heap_usage *usage, const struct heap_cut *cut)
{
    const struct sxt_live_block *block = &cut->block;
    sxt_heap_sites_add_pair(&usage->sites, block->site, SXT_HEAP_TEMPORARY, block->size, 1);
    if (usage->is_filtered) {
        add_temporary(&usage->whole, block->size);
        if (sxt_heap_record(&usage->sites, block->site)->is_left_out)
            return;
    }
    if (usage->threads != NULL)
        add_temporary(&usage->threads[block->thread], block->size);
    if (usage->sizes != NULL)
        add_temporary(&usage->sizes[sxt_heap_power_of_block(usage, block)], block->size);
    if (usage->bins != NULL) {
        struct sxt_heap_bin_block ended = sxt_heap_bin_block(usage, block, 1);
        sxt_heap_bins_temporary(usage->bins, &ended);
    }
    add_temporary(&usage->total, block->size);
}

void sxt_heap_end_cuts(struct heap_pass *pass)
{
    for (unsigned i = 0; i < pass->cut_count; i++)
        count(pass->usage, &pass->cuts[i]);
    pass->cut_count = 0;
}

void sxt_heap_postpone(struct heap_pass *pass, const struct sxt_live_block *block, const sxt_trace_event *event)
{
    if (pass->cut_count == SXT_HEAP_CUTS || (pass->cut_count > 0 && pass->cuts[0].time != event->time))
        sxt_heap_end_cuts(pass);
    pass->cuts[pass->cut_count++] = (struct heap_cut){.block = *block, .address = event->address, .time = event->time};
}

/* Whether the new block is a part of what was cut. */
static bool is_left_of(const struct heap_cut *cut, const sxt_trace_event *event, uint32_t site)
{
    uint64_t offset = event->address - cut->address;
    return sxt_heap_is_in_pages(event->address, event->size) && site == cut->block.site &&
           event->thread == cut->block.thread && offset < cut->block.size && event->size < cut->block.size &&
           event->size <= cut->block.size - offset;
}

void sxt_heap_decide_cuts(struct heap_pass *pass, const sxt_trace_event *event, uint32_t site)
{
    if (pass->cuts[0].time != event->time) {
        sxt_heap_end_cuts(pass);
        return;
    }
    for (unsigned i = 0; i < pass->cut_count; i++)
        if (is_left_of(&pass->cuts[i], event, site)) {
            pass->cuts[i] = pass->cuts[--pass->cut_count];
            return;
        }
}
