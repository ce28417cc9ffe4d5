/*
 * spool_merge.c: merges the streams of a spool.
 *
 * The record with the lowest tick comes next. But ticks of two processors may be equal, or off by a few; so a free of
 * a block that is not there waits for its allocation, and an allocation at an address that is taken waits for the free,
 * as long as another stream might have it: for a few microseconds.
 *
 * A free may not only seem to come before its allocation, but also before the free of the block that was there before:
 *
 *     one thread      free(X)  X = malloc()  hands X over
 *     another one                                         free(X)
 *     their ticks       0            104                    -26
 *
 * Then the free of the other thread ends the old block, and that of the first thread finds none. It must not wait: the
 * allocation that it would wait for may come after it in its own stream. So it is postponed, and comes right after the
 * next allocation at X.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "mlyze/private.h"
#include "mlyze/spool_private.h"

#define LONGEST_WAIT_US 20
#define WAITING_MOST    256 /* waiting streams; each event checks all of them */

static bool is_earlier(const void *context, uint32_t a, uint32_t b)
{
    const struct sxt_spool_way *ways = context;
    return ways[a].tick != ways[b].tick ? ways[a].tick < ways[b].tick : a < b;
}

/* The size in words of a record that begins with WORD. */
static inline size_t size_of(uint64_t word)
{
    switch (word & 7) {
    case SXT_SPOOL_ALLOC:
        return 2;
    case SXT_SPOOL_WIDE:
        return 4;
    case SXT_SPOOL_NOTE:
        return 1 + (size_t)((word >> 32) + 7) / 8;
    default:
        return 1;
    }
}

/* Fetches what the records some way ahead will need: the slot first, and for those half as far away, the block. */
static inline void look_ahead(const struct sxt_spool *spool, struct sxt_spool_way *way)
{
    const struct sxt_spool_piece *piece = &spool->pieces[way->piece];
    const struct sxt_live *live = &spool->live;
    size_t end = way->word + SXT_SPOOL_AHEAD;
    end = end < piece->word_count ? end : piece->word_count;
    way->ahead = way->ahead > way->word ? way->ahead : way->word;
    while (way->ahead < end) {
        uint64_t word = sxt_load_u64le(piece->words + way->ahead * 8);
        uint64_t hash = sxt_live_hash(live, word >> SXT_SPOOL_VALUE_SHIFT);
        uint64_t *before = &way->hashes[way->hash_count++ % (SXT_SPOOL_AHEAD / 2)];
        if (*before != 0)
            (void)sxt_live_expect(live, *before);
        sxt_live_fetch(live, hash);
        *before = (word & 7) == SXT_SPOOL_FREE ? hash : 0;
        way->ahead += size_of(word);
    }
}

/* Moves on to the next record that is an event; false at the end of the stream. */
static bool next_event(const struct sxt_spool *spool, struct sxt_spool_way *way)
{
    while (sxt_spool_step(spool, way)) {
        const struct sxt_spool_record *record = &way->record;
        if (record->kind != SXT_SPOOL_NOTE || record->note == SXT_SPOOL_MARKER ||
            (record->note == SXT_SPOOL_GC && record->data_size >= 16) ||
            (record->note == SXT_SPOOL_MAPPING && record->data_size >= sizeof(struct sxt_spool_mapping)))
            return true;
        if (record->note == SXT_SPOOL_THREAD && record->data_size >= 8)
            way->thread = sxt_load_u32le(record->data);
    }
    return false;
}

static void make_ready(struct sxt_spool *spool, uint32_t way)
{
    spool->ways[way].is_queued = true;
    uint32_t first = spool->earliest;
    if (first == SXT_SPOOL_NO_WAY && spool->ready.count > 0) {
        first = spool->ready.items[0];
        sxt_queue_pop(&spool->ready, is_earlier, spool->ways);
    }
    if (first == SXT_SPOOL_NO_WAY) {
        spool->earliest = way;
        return;
    }
    bool is_first = is_earlier(spool->ways, way, first);
    spool->earliest = is_first ? way : first;
    sxt_queue_push(&spool->ready, is_first ? first : way, is_earlier, spool->ways);
}

/* SXT_SPOOL_NO_WAY if all others wait. */
static uint32_t find_earliest(struct sxt_spool *spool)
{
    if (spool->earliest == SXT_SPOOL_NO_WAY && spool->ready.count > 0) {
        spool->earliest = spool->ready.items[0];
        sxt_queue_pop(&spool->ready, is_earlier, spool->ways);
    }
    return spool->earliest;
}

static size_t count_streams(const struct sxt_spool *spool)
{
    size_t count = 0;
    for (size_t i = 0; i < spool->piece_count; i++)
        count += i == 0 || spool->pieces[i].stream != spool->pieces[i - 1].stream;
    return count;
}

/* The way of a checkpoint goes on in the pieces from FIRST up to END. */
static void continue_way(const struct sxt_spool *spool, struct sxt_spool_way *way, size_t first, size_t end)
{
    while (first < end && spool->pieces[first].sequence < way->sequence)
        first++;
    if (first == end)
        return;
    way->piece = first;
    way->piece_end = end;
    const struct sxt_spool_piece *piece = &spool->pieces[first];
    if (piece->sequence == way->sequence) {
        way->word = way->word < piece->word_count ? way->word : piece->word_count;
        return;
    }
    way->word = 0;
    way->thread = piece->thread;
    way->tick = way->tick > piece->tick ? way->tick : piece->tick;
}

static void begin_ways(struct sxt_spool *spool)
{
    size_t resumed = spool->way_count; /* that have no pieces yet */
    for (size_t i = 0; i < resumed; i++)
        spool->ways[i].piece = spool->ways[i].piece_end = spool->piece_count;
    for (size_t i = 0; i < spool->piece_count;) {
        size_t end = i + 1;
        while (end < spool->piece_count && spool->pieces[end].stream == spool->pieces[i].stream)
            end++;
        struct sxt_spool_way *way = resumed > 0 ? sxt_spool_way_of(spool, spool->pieces[i].stream) : NULL;
        if (way != NULL)
            continue_way(spool, way, i, end);
        else
            spool->ways[spool->way_count++] = (struct sxt_spool_way){.piece = i,
                                                                     .piece_end = end,
                                                                     .tick = spool->pieces[i].tick,
                                                                     .thread = spool->pieces[i].thread,
                                                                     .stream = spool->pieces[i].stream};
        i = end;
    }
    for (size_t i = 0; i < spool->way_count; i++)
        if (spool->ways[i].is_queued || next_event(spool, &spool->ways[i]))
            make_ready(spool, (uint32_t)i);
}

void sxt_spool_wake(struct sxt_spool *spool, uint32_t way)
{
    if (!spool->ways[way].is_queued && next_event(spool, &spool->ways[way]))
        make_ready(spool, way);
}

/* New ways are all 0. */
bool sxt_spool_make_ways(struct sxt_spool *spool, size_t count)
{
    void *ways = realloc(spool->ways, (count + 1) * sizeof *spool->ways);
    spool->ways = ways != NULL ? ways : spool->ways;
    void *ready = realloc(spool->ready.items, (count + 1) * sizeof *spool->ready.items);
    spool->ready.items = ready != NULL ? ready : spool->ready.items;
    void *waiting = realloc(spool->waiting, (count + 1) * sizeof *spool->waiting);
    spool->waiting = waiting != NULL ? waiting : spool->waiting;
    if (ways == NULL || ready == NULL || waiting == NULL)
        return false;
    memset(spool->ways + spool->way_count, 0, (count + 1 - spool->way_count) * sizeof *spool->ways);
    if (count > 1 && spool->ends == NULL)
        spool->ends = calloc(SXT_SPOOL_ENDS, sizeof *spool->ends);
    if (count > 1 && spool->postponed == NULL)
        spool->postponed = calloc(SXT_SPOOL_POSTPONED_MOST, sizeof *spool->postponed);
    spool->longest_wait = (uint64_t)(LONGEST_WAIT_US / spool->us_per_tick);
    return count <= 1 || (spool->ends != NULL && spool->postponed != NULL);
}

/* Those of a checkpoint are in no order: the place of an end depends on random numbers of the table. */
static bool place_ends(struct sxt_spool *spool)
{
    size_t bytes = SXT_SPOOL_ENDS * sizeof *spool->ends;
    struct sxt_spool_end *given = spool->is_resumed && spool->ends != NULL ? malloc(bytes) : NULL;
    if (given == NULL)
        return !spool->is_resumed || spool->ends == NULL;
    memcpy(given, spool->ends, bytes);
    memset(spool->ends, 0, bytes);
    for (size_t i = 0; i < SXT_SPOOL_ENDS; i++) {
        struct sxt_spool_end *end = &spool->ends[sxt_live_hash(&spool->live, given[i].address) % SXT_SPOOL_ENDS];
        if (end->tick <= given[i].tick)
            *end = given[i];
    }
    free(given);
    return true;
}

int sxt_spool_merge_begin(struct sxt_spool *spool, sxt_error *error)
{
    size_t streams = count_streams(spool) + spool->way_count;
    if (!sxt_spool_make_ways(spool, streams) || !sxt_live_init(&spool->live) || !place_ends(spool))
        return sxt_fail_memory(error, streams * sizeof *spool->ways);
    spool->limit = UINT64_MAX;
    spool->last_time = spool->is_resumed ? spool->consumed.time : spool->facts.start_us;
    spool->earliest = SXT_SPOOL_NO_WAY;
    begin_ways(spool);
    return SXT_OK;
}

void sxt_spool_merge_end(struct sxt_spool *spool)
{
    free(spool->ways);
    free(spool->ready.items);
    free(spool->waiting);
    free(spool->ends);
    free(spool->postponed);
    sxt_live_free(&spool->live);
    sxt_mappings_free(&spool->mappings);
}

uint64_t sxt_spool_unmatched(const struct sxt_spool *spool)
{
    return spool->unmatched + spool->postponed_count;
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

/* The slot of the address of a record. */
struct found {
    uint64_t hash;
    size_t place;
    bool is_live;
};

static inline struct found look_up(const struct sxt_spool *spool, const struct sxt_spool_record *record)
{
    struct found found = {.hash = sxt_live_hash(&spool->live, record->address)};
    found.place = sxt_live_search(&spool->live, found.hash);
    found.is_live = spool->live.slots[found.place].number != 0;
    return found;
}

/* Whether the record has to wait for one of another stream. */
static inline bool is_out_of_place(const struct sxt_spool_record *record, const struct found *found)
{
    return record->kind != SXT_SPOOL_NOTE && found->is_live == (record->kind == SXT_SPOOL_ALLOC);
}

/* --- postponed frees --- */

/* Drops those that were postponed for too long. */
static void drop_expired(struct sxt_spool *spool, uint64_t tick)
{
    size_t kept = 0;
    for (size_t i = 0; i < spool->postponed_count; i++)
        if (tick - spool->postponed[i].tick <= spool->longest_wait)
            spool->postponed[kept++] = spool->postponed[i];
    spool->unmatched += spool->postponed_count - kept;
    spool->postponed_count = kept;
}

/* Postpones the record if it is a FREE whose block was ended by a FREE of another stream. False if it has to wait. */
static bool postpone_free(struct sxt_spool *spool, uint32_t number, const struct found *found)
{
    const struct sxt_spool_way *way = &spool->ways[number];
    if (spool->ends == NULL || way->record.kind != SXT_SPOOL_FREE)
        return false;
    const struct sxt_spool_end *end = &spool->ends[found->hash % SXT_SPOOL_ENDS];
    if (end->address != way->record.address || end->way == number || way->tick - end->tick > spool->longest_wait)
        return false;
    drop_expired(spool, way->tick);
    if (spool->postponed_count == SXT_SPOOL_POSTPONED_MOST)
        return false;
    spool->postponed[spool->postponed_count++] =
        (struct sxt_spool_postponed){.address = way->record.address, .tick = way->tick, .way = number};
    return true;
}

/* The block that was just allocated at ADDRESS ends immediately if its FREE was postponed. */
static void release_postponed(struct sxt_spool *spool, uint64_t address, uint64_t tick)
{
    drop_expired(spool, tick);
    for (size_t i = 0; i < spool->postponed_count && !spool->has_next_free; i++) {
        if (spool->postponed[i].address != address)
            continue;
        spool->next_free = spool->postponed[i];
        spool->next_free.tick = tick;
        spool->has_next_free = true;
        spool->postponed_count--;
        memmove(&spool->postponed[i], &spool->postponed[i + 1],
                (spool->postponed_count - i) * sizeof *spool->postponed);
    }
}

/* --- the next record --- */

/* The waiting stream with the lowest deadline; SIZE_MAX if none waits. */
static size_t find_oldest(const struct sxt_spool *spool)
{
    size_t oldest = SIZE_MAX;
    for (size_t i = 0; i < spool->waiting_count; i++)
        if (oldest == SIZE_MAX ||
            spool->ways[spool->waiting[i]].deadline < spool->ways[spool->waiting[oldest]].deadline)
            oldest = i;
    return oldest;
}

/* The stream whose record comes next. Streams that have to wait go to the waiting list. SXT_SPOOL_NO_WAY at the end. */
static uint32_t choose(struct sxt_spool *spool, struct found *found)
{
    for (;;) {
        uint32_t way = find_earliest(spool);
        size_t oldest = spool->waiting_count > 0 ? find_oldest(spool) : SIZE_MAX;
        uint64_t next =
            way != SXT_SPOOL_NO_WAY && spool->ways[way].tick < spool->limit ? spool->ways[way].tick : spool->limit;
        bool is_end = way == SXT_SPOOL_NO_WAY && spool->limit == UINT64_MAX;
        if (oldest != SIZE_MAX &&
            (is_end || spool->waiting_count == WAITING_MOST || spool->ways[spool->waiting[oldest]].deadline < next)) {
            way = spool->waiting[oldest];
            spool->waiting[oldest] = spool->waiting[--spool->waiting_count];
            spool->ways[way].is_queued = false;
            *found = look_up(spool, &spool->ways[way].record);
            return way;
        }
        if (way == SXT_SPOOL_NO_WAY || spool->ways[way].tick > spool->limit)
            return SXT_SPOOL_NO_WAY;
        spool->earliest = SXT_SPOOL_NO_WAY;
        spool->ways[way].is_queued = false;
        if (spool->ways[way].record.kind != SXT_SPOOL_NOTE)
            *found = look_up(spool, &spool->ways[way].record);
        if (!is_out_of_place(&spool->ways[way].record, found))
            return way;
        if (postpone_free(spool, way, found)) {
            if (next_event(spool, &spool->ways[way]))
                make_ready(spool, way);
            continue;
        }
        spool->ways[way].is_queued = true;
        spool->ways[way].deadline = spool->ways[way].tick + spool->longest_wait;
        spool->waiting[spool->waiting_count++] = way;
    }
}

/* Streams that waited for this address can continue. */
static void end_waiting(struct sxt_spool *spool, uint64_t address)
{
    for (size_t i = spool->waiting_count; i > 0; i--) {
        uint32_t way = spool->waiting[i - 1];
        const struct sxt_spool_record *record = &spool->ways[way].record;
        if (record->address != address)
            continue;
        struct found found = look_up(spool, record);
        if (is_out_of_place(record, &found))
            continue;
        spool->waiting[i - 1] = spool->waiting[--spool->waiting_count];
        make_ready(spool, way);
    }
}

/* BLOCK ends, if there is one. */
static void note_end(struct sxt_spool *spool, const struct sxt_live_block *block, bool is_there)
{
    spool->ended = (struct sxt_spool_ended){
        .size = block->size, .stack = block->site, .thread = block->thread, .is_there = is_there};
}

static int take_alloc(struct sxt_spool *spool, const struct sxt_spool_record *record, const struct found *found,
                      sxt_trace_event *event, sxt_error *error)
{
    bool is_new = !found->is_live;
    size_t place = found->place;
    if (is_new && spool->live.count < spool->live.most)
        sxt_live_put(&spool->live, place, found->hash);
    else if ((place = sxt_live_add_hash(&spool->live, found->hash, &is_new)) == SXT_LIVE_NOWHERE)
        return sxt_fail_memory(error, spool->live.count * sizeof(struct sxt_live_block));
    struct sxt_live_block *block = sxt_live_at(&spool->live, place);
    if (__builtin_expect(spool->is_watched, 0))
        note_end(spool, block, !is_new);
    spool->live_bytes += record->size - (is_new ? 0 : block->size);
    block->size = record->size;
    uint32_t stack = record->stack < SXT_SPOOL_STACKS_MOST ? record->stack : SXT_SPOOL_NO_STACK;
    event->kind = SXT_TRACE_ALLOC;
    event->stack = spool->stack_numbers[stack] - 1; /* every used stack has a number */
    event->size = record->size;
    if (__builtin_expect(spool->is_watched, 0)) {
        block->site = event->stack;
        block->thread = event->thread;
    }
    return SXT_OK;
}

/* False if the block is unknown. */
static bool take_free(struct sxt_spool *spool, uint64_t address, uint64_t tick, uint32_t way, const struct found *found,
                      sxt_trace_event *event)
{
    if (!found->is_live) {
        spool->unmatched++;
        return false;
    }
    if (__builtin_expect(spool->is_watched, 0))
        note_end(spool, sxt_live_at(&spool->live, found->place), true);
    spool->live_bytes -= sxt_live_at(&spool->live, found->place)->size;
    sxt_live_remove(&spool->live, found->place);
    if (spool->ends != NULL)
        spool->ends[found->hash % SXT_SPOOL_ENDS] = (struct sxt_spool_end){address, tick, way};
    event->kind = SXT_TRACE_FREE;
    return true;
}

static void take_note(struct sxt_spool *spool, const struct sxt_spool_record *record, sxt_trace_event *event)
{
    if (record->note == SXT_SPOOL_GC) {
        event->kind = SXT_TRACE_GC;
        event->objects = sxt_load_u64le(record->data);
        event->size = sxt_load_u64le(record->data + 8);
    } else {
        event->kind = SXT_TRACE_MARKER;
        sxt_string text = sxt_spool_marker_text(record);
        event->stack = sxt_strings_find(&spool->markers, text.data, text.size);
    }
}

/* The call of way NUMBER becomes events that come next. */
static int take_call(struct sxt_spool *spool, uint32_t number, sxt_error *error)
{
    const struct sxt_spool_way *way = &spool->ways[number];
    struct sxt_spool_mapping call;
    memcpy(&call, way->record.data, sizeof call);
    if (spool->mappings == NULL)
        spool->mappings = sxt_mappings_new(spool->facts.period);
    if (spool->mappings != NULL)
        spool->mapping_events =
            sxt_mappings_take(spool->mappings, &call, number, way->thread, &spool->mapping_event_count);
    if (spool->mappings != NULL && sxt_mappings_is_too_much(spool->mappings))
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                        "the recorded calls of mmap, munmap and mprotect change too many mappings too often");
    if (spool->mappings == NULL || spool->mapping_events == NULL)
        return sxt_fail_memory(error, sizeof call);
    spool->mapping_way = number;
    spool->mapping_tick = way->tick;
    return SXT_OK;
}

/* The record of way NUMBER becomes *EVENT; *IS_EVENT is false if it is to be left out. */
static int take_record(struct sxt_spool *spool, uint32_t number, const struct found *found, sxt_trace_event *event,
                       bool *is_event, sxt_error *error)
{
    const struct sxt_spool_way *way = &spool->ways[number];
    const struct sxt_spool_record *record = &way->record;
    int status = SXT_OK;
    *event = (sxt_trace_event){.address = record->address, .thread = (uint16_t)way->thread};
    *is_event = true;
    if (record->kind == SXT_SPOOL_ALLOC) {
        status = take_alloc(spool, record, found, event, error);
        if (spool->postponed_count > 0)
            release_postponed(spool, record->address, way->tick);
    } else if (record->kind == SXT_SPOOL_FREE) {
        *is_event = take_free(spool, record->address, way->tick, number, found, event);
    } else if (record->note == SXT_SPOOL_MAPPING) {
        *is_event = false;
        status = take_call(spool, number, error);
    } else {
        take_note(spool, record, event);
    }
    if (*is_event)
        event->time = time_of(spool, way->tick);
    return status;
}

/* Makes an event of the postponed FREE that comes next. */
static bool take_next_free(struct sxt_spool *spool, sxt_trace_event *event)
{
    const struct sxt_spool_postponed *next_free = &spool->next_free;
    struct sxt_spool_record record = {.address = next_free->address};
    struct found found = look_up(spool, &record);
    *event = (sxt_trace_event){.address = next_free->address,
                               .thread = (uint16_t)spool->ways[next_free->way].thread,
                               .time = spool->last_time};
    spool->has_next_free = false;
    bool is_event = take_free(spool, next_free->address, next_free->tick, next_free->way, &found, event);
    if (spool->waiting_count > 0)
        end_waiting(spool, next_free->address);
    return is_event;
}

/* Makes an event of the next one that follows from a call which changed what is mapped. */
static int take_mapping(struct sxt_spool *spool, sxt_trace_event *event, bool *is_event, sxt_error *error)
{
    const struct sxt_mapping_event *next = spool->mapping_events++;
    struct sxt_spool_record record = {.address = next->address, .size = next->size, .stack = next->stack};
    struct found found = look_up(spool, &record);
    spool->mapping_event_count--;
    int status = SXT_OK;
    *event = (sxt_trace_event){.address = next->address, .thread = (uint16_t)next->thread};
    *is_event = next->is_alloc || found.is_live; /* something else may have ended the block */
    if (next->is_alloc)
        status = take_alloc(spool, &record, &found, event, error);
    else if (found.is_live)
        (void)take_free(spool, next->address, spool->mapping_tick, spool->mapping_way, &found, event);
    event->time = time_of(spool, spool->mapping_tick);
    if (spool->waiting_count > 0)
        end_waiting(spool, next->address);
    return status;
}

/* False at the end. *IS_EVENT is false if the record is to be left out. */
static bool take_next(struct sxt_spool *spool, sxt_trace_event *event, bool *is_event, int *status, sxt_error *error)
{
    if (__builtin_expect(spool->has_next_free, 0)) {
        *is_event = take_next_free(spool, event);
        return true;
    }
    if (__builtin_expect(spool->mapping_event_count > 0, 0)) {
        *status = take_mapping(spool, event, is_event, error);
        return *status == SXT_OK;
    }
    struct found found = {0};
    uint32_t chosen = choose(spool, &found);
    if (chosen == SXT_SPOOL_NO_WAY)
        return false;
    struct sxt_spool_way *way = &spool->ways[chosen];
    uint64_t address = way->record.address;
    bool is_note = way->record.kind == SXT_SPOOL_NOTE;
    *status = take_record(spool, chosen, &found, event, is_event, error);
    if (*status != SXT_OK)
        return false;
    look_ahead(spool, way);
    if (next_event(spool, way))
        make_ready(spool, chosen);
    if (spool->waiting_count > 0 && !is_note && !spool->has_next_free)
        end_waiting(spool, address);
    return true;
}

double sxt_spool_weight(uint64_t period, uint64_t size)
{
    return 1 / sxt_one_minus_exp((size == 0 ? 1 : (double)size) / (double)period);
}

int sxt_spool_read_live(struct sxt_spool *spool, sxt_trace_event *events, struct sxt_spool_live *live, size_t capacity,
                        size_t *count, sxt_error *error)
{
    int status = SXT_OK;
    bool is_event;
    *count = 0;
    while (*count < capacity && take_next(spool, &events[*count], &is_event, &status, error)) {
        if (live != NULL)
            live[*count] = (struct sxt_spool_live){spool->live_bytes, spool->live.count};
        *count += is_event;
    }
    return status;
}

int sxt_spool_watch_read(struct sxt_spool *spool, sxt_trace_event *events, struct sxt_spool_ended *ended,
                         size_t capacity, size_t *count, sxt_error *error)
{
    int status = SXT_OK;
    bool is_event;
    *count = 0;
    spool->ended.is_there = false;
    while (*count < capacity && take_next(spool, &events[*count], &is_event, &status, error)) {
        ended[*count] = spool->ended;
        spool->ended.is_there = false;
        *count += is_event;
    }
    return status;
}

int sxt_spool_replay(struct sxt_spool *spool, const sxt_trace_event *events, struct sxt_spool_live *live, size_t count,
                     sxt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const sxt_trace_event *event = &events[i];
        bool is_new;
        if (event->kind == SXT_TRACE_ALLOC) {
            size_t place = sxt_live_add(&spool->live, event->address, &is_new);
            if (place == SXT_LIVE_NOWHERE)
                return sxt_fail_memory(error, spool->live.count * sizeof(struct sxt_live_block));
            struct sxt_live_block *block = sxt_live_at(&spool->live, place);
            spool->live_bytes += event->size - (is_new ? 0 : block->size);
            block->size = event->size;
        } else if (event->kind == SXT_TRACE_FREE) {
            size_t place = sxt_live_find(&spool->live, event->address);
            if (place != SXT_LIVE_NOWHERE) {
                spool->live_bytes -= sxt_live_at(&spool->live, place)->size;
                sxt_live_remove(&spool->live, place);
            }
        }
        live[i] = (struct sxt_spool_live){spool->live_bytes, spool->live.count};
    }
    return SXT_OK;
}

int sxt_spool_read(struct sxt_spool *spool, sxt_trace_event *events, size_t capacity, size_t *count, sxt_error *error)
{
    return sxt_spool_read_live(spool, events, NULL, capacity, count, error);
}
