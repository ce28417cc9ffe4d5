/*
 * spool_merge.c: the streams of a spool as one.
 *
 * The record with the lowest tick comes next. But ticks of two processors may be equal, or off by a few; so a free of
 * a block that is not there waits for its allocation, and an allocation at an address that is taken waits for the free,
 * as long as another stream might have it: for a few microseconds.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "mlyze/spool_private.h"

#define PATIENCE_US 20

static bool is_earlier(const void *context, uint32_t a, uint32_t b)
{
    const struct sxt_spool_way *ways = context;
    return ways[a].tick != ways[b].tick ? ways[a].tick < ways[b].tick : a < b;
}

/* The next record of a way that is an event; false at its end. */
static bool next_event(const struct sxt_spool *spool, struct sxt_spool_way *way)
{
    while (sxt_spool_step(spool, way)) {
        const struct sxt_spool_record *record = &way->record;
        if (record->kind != SXT_SPOOL_NOTE || record->note == SXT_SPOOL_MARKER ||
            (record->note == SXT_SPOOL_GC && record->data_size >= 16))
            return true;
        if (record->note == SXT_SPOOL_THREAD && record->data_size >= 8)
            way->thread = sxt_load_u32le(record->data);
    }
    return false;
}

static size_t count_streams(const struct sxt_spool *spool)
{
    size_t count = 0;
    for (size_t i = 0; i < spool->piece_count; i++)
        count += i == 0 || spool->pieces[i].stream != spool->pieces[i - 1].stream;
    return count;
}

static void begin_ways(struct sxt_spool *spool)
{
    for (size_t i = 0; i < spool->piece_count;) {
        size_t end = i + 1;
        while (end < spool->piece_count && spool->pieces[end].stream == spool->pieces[i].stream)
            end++;
        spool->ways[spool->way_count++] = (struct sxt_spool_way){
            .piece = i, .piece_end = end, .tick = spool->pieces[i].tick, .thread = spool->pieces[i].thread};
        i = end;
    }
    for (size_t i = 0; i < spool->way_count; i++)
        if (next_event(spool, &spool->ways[i]))
            sxt_heap_push(&spool->ready, (uint32_t)i, is_earlier, spool->ways);
}

int sxt_spool_merge_begin(struct sxt_spool *spool, sxt_error *error)
{
    size_t streams = count_streams(spool);
    spool->ways = calloc(streams + 1, sizeof *spool->ways);
    spool->ready.items = calloc(streams + 1, sizeof *spool->ready.items);
    spool->waiting = calloc(streams + 1, sizeof *spool->waiting);
    if (spool->ways == NULL || spool->ready.items == NULL || spool->waiting == NULL || !sxt_live_init(&spool->live))
        return sxt_fail_memory(error, streams * sizeof *spool->ways);
    spool->patience = (uint64_t)(PATIENCE_US / spool->us_per_tick);
    spool->last_time = spool->facts.start_us;
    begin_ways(spool);
    return SXT_OK;
}

void sxt_spool_merge_end(struct sxt_spool *spool)
{
    free(spool->ways);
    free(spool->ready.items);
    free(spool->waiting);
    sxt_live_free(&spool->live);
}

uint64_t sxt_spool_unmatched(const struct sxt_spool *spool)
{
    return spool->unmatched;
}

static uint64_t time_of(struct sxt_spool *spool, uint64_t tick)
{
    uint64_t since = tick > spool->first.tick ? tick - spool->first.tick : 0;
    double microseconds = (double)since * spool->us_per_tick;
    uint64_t time = microseconds < 1e18 ? spool->facts.start_us + (uint64_t)microseconds : spool->last_time;
    if (time > spool->last_time)
        spool->last_time = time;
    return spool->last_time;
}

/* Is the record one that another stream's must come before? */
static bool is_out_of_place(const struct sxt_spool *spool, const struct sxt_spool_record *record)
{
    if (record->kind == SXT_SPOOL_NOTE)
        return false;
    bool is_live = sxt_live_find(&spool->live, record->address) != SXT_LIVE_NOWHERE;
    return is_live == (record->kind == SXT_SPOOL_ALLOC);
}

/* Which way's record comes next; those that must wait are put aside. SIZE_MAX at the end of all. */
static size_t choose(struct sxt_spool *spool)
{
    for (;;) {
        size_t oldest = SIZE_MAX;
        for (size_t i = 0; i < spool->waiting_count; i++)
            if (oldest == SIZE_MAX ||
                spool->ways[spool->waiting[i]].deadline < spool->ways[spool->waiting[oldest]].deadline)
                oldest = i;
        bool none_ready = spool->ready.count == 0;
        if (oldest != SIZE_MAX &&
            (none_ready || spool->ways[spool->waiting[oldest]].deadline < spool->ways[spool->ready.items[0]].tick)) {
            uint32_t way = spool->waiting[oldest];
            spool->waiting[oldest] = spool->waiting[--spool->waiting_count];
            return way;
        }
        if (none_ready)
            return SIZE_MAX;
        uint32_t way = spool->ready.items[0];
        sxt_heap_pop(&spool->ready, is_earlier, spool->ways);
        if (!is_out_of_place(spool, &spool->ways[way].record))
            return way;
        spool->ways[way].deadline = spool->ways[way].tick + spool->patience;
        spool->waiting[spool->waiting_count++] = way;
    }
}

/* What waited for this address can come now. */
static void wake(struct sxt_spool *spool, uint64_t address)
{
    for (size_t i = spool->waiting_count; i > 0; i--) {
        uint32_t way = spool->waiting[i - 1];
        if (spool->ways[way].record.address != address || is_out_of_place(spool, &spool->ways[way].record))
            continue;
        spool->waiting[i - 1] = spool->waiting[--spool->waiting_count];
        sxt_heap_push(&spool->ready, way, is_earlier, spool->ways);
    }
}

static int take_alloc(struct sxt_spool *spool, const struct sxt_spool_record *record, struct sxt_mlyze_event *event,
                      sxt_error *error)
{
    bool is_new;
    if (sxt_live_add(&spool->live, record->address, &is_new) == SXT_LIVE_NOWHERE)
        return sxt_fail_memory(error, spool->live.count * sizeof(struct sxt_live_block));
    uint32_t stack = record->stack < SXT_SPOOL_STACKS_MOST ? record->stack : SXT_SPOOL_NO_STACK;
    event->kind = SXT_MLYZE_ALLOC;
    event->stack = spool->stack_numbers[stack] - 1; /* every stack that is used has got a number */
    event->size = record->size;
    return SXT_OK;
}

/* False when nobody knows the block. */
static bool take_free(struct sxt_spool *spool, const struct sxt_spool_record *record, struct sxt_mlyze_event *event)
{
    size_t place = sxt_live_find(&spool->live, record->address);
    if (place == SXT_LIVE_NOWHERE) {
        spool->unmatched++;
        return false;
    }
    sxt_live_remove(&spool->live, place);
    event->kind = SXT_MLYZE_FREE;
    return true;
}

static void take_note(struct sxt_spool *spool, const struct sxt_spool_record *record, struct sxt_mlyze_event *event)
{
    if (record->note == SXT_SPOOL_GC) {
        event->kind = SXT_MLYZE_GC;
        event->objects = sxt_load_u64le(record->data);
        event->size = sxt_load_u64le(record->data + 8);
    } else {
        event->kind = SXT_MLYZE_MARKER;
        event->stack = sxt_strings_find(&spool->markers, (const char *)record->data, record->data_size);
    }
}

int sxt_spool_read(struct sxt_spool *spool, struct sxt_mlyze_event *events, size_t capacity, size_t *count,
                   sxt_error *error)
{
    *count = 0;
    while (*count < capacity) {
        size_t chosen = choose(spool);
        if (chosen == SIZE_MAX)
            return SXT_OK;
        struct sxt_spool_way *way = &spool->ways[chosen];
        const struct sxt_spool_record *record = &way->record;
        uint64_t address = record->address;
        struct sxt_mlyze_event event = {.address = address, .thread = (uint16_t)way->thread};
        bool is_event = true;
        if (record->kind == SXT_SPOOL_FREE) {
            is_event = take_free(spool, record, &event);
        } else if (record->kind == SXT_SPOOL_NOTE) {
            take_note(spool, record, &event);
        } else {
            int status = take_alloc(spool, record, &event, error);
            if (status != SXT_OK)
                return status;
        }
        if (is_event) {
            event.time = time_of(spool, way->tick);
            events[(*count)++] = event;
        }
        bool is_note = record->kind == SXT_SPOOL_NOTE;
        if (next_event(spool, way))
            sxt_heap_push(&spool->ready, (uint32_t)chosen, is_earlier, spool->ways);
        if (spool->waiting_count > 0 && !is_note)
            wake(spool, address);
    }
    return SXT_OK;
}
