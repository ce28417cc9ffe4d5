/* analysis_address.c: what happened to one address: the blocks that it was in, one after the other. */
#include <stdlib.h>

#include "mlyze/analysis.h"
#include "mlyze/live.h"

bool sxt_heap_watch_open(struct sxt_heap_watch *watch)
{
    watch->live = malloc(sizeof *watch->live);
    if (watch->live != NULL && sxt_live_init(watch->live))
        return true;
    sxt_heap_watch_close(watch);
    return false;
}

void sxt_heap_watch_close(struct sxt_heap_watch *watch)
{
    if (watch->live != NULL)
        sxt_live_free(watch->live);
    free(watch->live);
    watch->live = NULL;
}

/* The end of the block at PLACE. */
static bool report_end(struct sxt_heap_watch *watch, const sxt_trace_event *event, size_t place, bool is_implicit)
{
    const struct sxt_live_block *block = sxt_live_at(watch->live, place);
    const sxt_heap_address_event ended = {
        .is_free = true,
        .is_implicit = is_implicit,
        .thread = block->thread,
        .stack = block->site,
        .time = event->time,
        .address = event->address,
        .size = block->size,
        .allocated = block->time,
    };
    sxt_live_remove(watch->live, place);
    return watch->visit(watch->data, &ended);
}

static bool take_alloc(struct sxt_heap_watch *watch, const sxt_trace_event *event)
{
    bool is_new, goes_on = true;
    size_t place = sxt_live_find(watch->live, event->address);
    if (place != SXT_LIVE_NOWHERE)
        goes_on = report_end(watch, event, place, true);
    bool is_inside = watch->address >= event->address &&
                     (watch->address - event->address < event->size || watch->address == event->address);
    if (!goes_on || !is_inside)
        return goes_on;
    place = sxt_live_add(watch->live, event->address, &is_new);
    watch->no_memory |= place == SXT_LIVE_NOWHERE;
    if (place == SXT_LIVE_NOWHERE)
        return false;
    const sxt_heap_address_event begun = {
        .thread = event->thread,
        .stack = sxt_mlyze_same_stack(watch->metadata, event->stack),
        .time = event->time,
        .address = event->address,
        .size = event->size,
        .allocated = event->time,
    };
    struct sxt_live_block *block = sxt_live_at(watch->live, place);
    block->size = event->size;
    block->time = event->time;
    block->site = begun.stack;
    block->thread = event->thread;
    return watch->visit(watch->data, &begun);
}

static bool take_free(struct sxt_heap_watch *watch, const sxt_trace_event *event)
{
    size_t place = sxt_live_find(watch->live, event->address);
    if (place != SXT_LIVE_NOWHERE)
        return report_end(watch, event, place, false);
    if (event->address != watch->address)
        return true;
    const sxt_heap_address_event unmatched = {
        .is_free = true,
        .is_unmatched = true,
        .stack = SXT_TRACE_NO_ID,
        .time = event->time,
        .address = event->address,
    };
    return watch->visit(watch->data, &unmatched);
}

bool sxt_heap_watch_take(void *of_watch, const sxt_trace_event *events, size_t count)
{
    struct sxt_heap_watch *watch = of_watch;
    bool goes_on = true;
    for (size_t i = 0; i < count && goes_on; i++) {
        if (events[i].kind == SXT_TRACE_ALLOC)
            goes_on = take_alloc(watch, &events[i]);
        else if (events[i].kind == SXT_TRACE_FREE)
            goes_on = take_free(watch, &events[i]);
    }
    return goes_on;
}
