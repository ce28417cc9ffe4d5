/*
 * live_states.c: FILE.live: what was live at any moment, without reading all events before it.
 *
 *      0  "MLIV"                                24  u64 number of states
 *      4  u32 version 1                         32  u32 CRC32C of what is before, and of the directory
 *      8  u64 size of the trace                 36  u32 0
 *     16  u64 what the trace begins and         40  directory: an entry of 56 bytes for each state
 *         ends with, as two CRCs                    (unused bytes may follow), then the states
 *
 *     entry:  u64 offset in the trace, u64 event, u64 time, u32 stored size, u32 size of the block there,
 *             u64 offset of the state in this file, u64 its size, u32 its CRC32C, u32 0
 *
 *     state:  stacks that have something live: count, then (id, bytes, blocks) each
 *             blocks that end, before the next state, because their address is allocated again: count, then
 *             (event, counted from the one before; id of the stack, bytes) each
 *             for each FREE before the next state, of a block that was there already: (id + 1, bytes); 0 if there is
 *             no such block
 *
 * All numbers of a state are varints. To find what is live at a time, the reader takes the last state before it and
 * goes on from there: it sees which blocks are allocated, and the lists say which older blocks end. This is a cache,
 * like the index.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/search.h"
#include "mlyze/analysis.h"
#include "mlyze/live.h"

#define HEADER_SIZE  40
#define ENTRY_SIZE   56
#define AT_CRC       32
#define BATCH        1024
#define STACK_EVENTS 2 /* that states are further apart for each stack */

/* --- writing --- */

struct state_maker {
    struct sxt_live live;              /* blocks; `site` is the id of the stack, `sequence` the number of the event */
    struct sxt_live stacks;            /* by id: bytes in `size`, blocks in `time` */
    struct sxt_buffer *out;            /* header, directory, and states, of which the last is open */
    size_t start;                      /* of the file in `out` */
    uint64_t count, most;              /* states, and how many the directory has room for */
    struct sxt_buffer replaced, freed; /* lists of the state that is open */
    uint64_t replaced_count, replaced_last;
    uint64_t first; /* event of the state that is open */
    uint64_t event;
    uint64_t bytes;    /* allocated in total */
    bool is_too_much;  /* more than 64 bits hold */
    uint64_t distance; /* events between two states, at least */
    bool no_memory;
};

static void count_stack(struct state_maker *maker, uint32_t stack, uint64_t bytes, int64_t blocks)
{
    bool is_new;
    size_t place = sxt_live_add(&maker->stacks, stack, &is_new);
    if (place == SXT_LIVE_NOWHERE) {
        maker->no_memory = true;
        return;
    }
    struct sxt_live_block *sum = sxt_live_at(&maker->stacks, place);
    if (is_new) {
        sum->site = stack;
        sum->size = sum->time = 0;
    }
    sum->size += bytes;
    sum->time += (uint64_t)blocks;
    if (sum->time == 0)
        sxt_live_remove(&maker->stacks, place);
}

static void take_alloc(struct state_maker *maker, const sxt_trace_event *event)
{
    bool is_new;
    size_t place = sxt_live_add(&maker->live, event->address, &is_new);
    if (place == SXT_LIVE_NOWHERE) {
        maker->no_memory = true;
        return;
    }
    struct sxt_live_block *block = sxt_live_at(&maker->live, place);
    if (!is_new) {
        count_stack(maker, block->site, 0 - block->size, -1);
        if (block->sequence < maker->first) {
            sxt_buffer_varint(&maker->replaced, maker->event - maker->replaced_last);
            sxt_buffer_varint(&maker->replaced, block->site);
            sxt_buffer_varint(&maker->replaced, block->size);
            maker->replaced_last = maker->event;
            maker->replaced_count++;
        }
    }
    block->size = event->size;
    block->site = event->stack;
    block->sequence = maker->event & (((uint64_t)1 << 47) - 1);
    count_stack(maker, event->stack, event->size, 1);
    maker->is_too_much |= !sxt_add_u64(maker->bytes, event->size, &maker->bytes);
}

static void take_free(struct state_maker *maker, const sxt_trace_event *event)
{
    size_t place = sxt_live_find(&maker->live, event->address);
    if (place == SXT_LIVE_NOWHERE) {
        sxt_buffer_u8(&maker->freed, 0);
        return;
    }
    const struct sxt_live_block *block = sxt_live_at(&maker->live, place);
    if (block->sequence < maker->first) {
        sxt_buffer_varint(&maker->freed, (uint64_t)block->site + 1);
        sxt_buffer_varint(&maker->freed, block->size);
    }
    count_stack(maker, block->site, 0 - block->size, -1);
    sxt_live_remove(&maker->live, place);
}

/* The lists of the state that is open are complete. */
static void close_state(struct state_maker *maker)
{
    struct sxt_buffer *out = maker->out;
    if (maker->count == 0)
        return;
    sxt_buffer_varint(out, maker->replaced_count);
    sxt_buffer_append(out, maker->replaced.data, maker->replaced.size);
    sxt_buffer_append(out, maker->freed.data, maker->freed.size);
    maker->no_memory |= out->failed || maker->replaced.failed || maker->freed.failed;
    if (maker->no_memory)
        return;
    uint8_t *file = out->data + maker->start, *entry = file + HEADER_SIZE + (maker->count - 1) * ENTRY_SIZE;
    uint64_t start = sxt_load_u64le(entry + 32), size = out->size - maker->start - start;
    sxt_store_u64le(entry + 40, size);
    sxt_store_u32le(entry + 48, sxt_crc32c(0, file + start, size));
    sxt_buffer_clear(&maker->replaced);
    sxt_buffer_clear(&maker->freed);
}

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* In the order of their ids, so that the same trace gives the same file. */
static void put_stacks(struct state_maker *maker)
{
    uint32_t *ids = malloc((maker->stacks.count + 1) * sizeof *ids);
    size_t count = 0;
    maker->no_memory |= ids == NULL;
    if (ids == NULL)
        return;
    for (size_t at = SXT_LIVE_NOWHERE; (at = sxt_live_next(&maker->stacks, at)) != SXT_LIVE_NOWHERE;)
        ids[count++] = sxt_live_at(&maker->stacks, at)->site;
    qsort(ids, count, sizeof *ids, compare_ids);
    sxt_buffer_varint(maker->out, count);
    for (size_t i = 0; i < count; i++) {
        const struct sxt_live_block *sum = sxt_live_at(&maker->stacks, sxt_live_find(&maker->stacks, ids[i]));
        sxt_buffer_varint(maker->out, ids[i]);
        sxt_buffer_varint(maker->out, sum->size);
        sxt_buffer_varint(maker->out, sum->time);
    }
    free(ids);
}

static void open_state(struct state_maker *maker, const struct sxt_mlyze_index_entry *entry)
{
    close_state(maker);
    maker->no_memory |= maker->out->failed;
    if (maker->no_memory)
        return;
    uint8_t *to = maker->out->data + maker->start + HEADER_SIZE + maker->count++ * ENTRY_SIZE;
    sxt_store_u64le(to, entry->offset);
    sxt_store_u64le(to + 8, entry->event);
    sxt_store_u64le(to + 16, entry->time);
    sxt_store_u32le(to + 24, entry->stored_size);
    sxt_store_u32le(to + 28, entry->size);
    sxt_store_u64le(to + 32, maker->out->size - maker->start);
    put_stacks(maker);
    maker->first = maker->replaced_last = entry->event;
    maker->replaced_count = 0;
}

/* Whether a new state may begin here. One of many stacks is larger, so the next one comes later. */
static bool is_far(const struct state_maker *maker)
{
    return maker->event - maker->first >= maker->distance + STACK_EVENTS * maker->stacks.count &&
           maker->count < maker->most;
}

static void take_events(struct state_maker *maker, const sxt_trace_event *events, size_t count,
                        const struct sxt_mlyze_index *index, size_t *next)
{
    for (size_t i = 0; i < count && !maker->no_memory; i++, maker->event++) {
        while (*next < index->count && index->entries[*next].event <= maker->event) {
            if (maker->count == 0 || is_far(maker))
                open_state(maker, &index->entries[*next]);
            ++*next;
        }
        sxt_live_look_ahead(&maker->live, events, count, i);
        if (events[i].kind == SXT_TRACE_ALLOC)
            take_alloc(maker, &events[i]);
        else if (events[i].kind == SXT_TRACE_FREE)
            take_free(maker, &events[i]);
    }
}

static int read_all(struct state_maker *maker, const struct sxt_mlyze *trace, const struct sxt_mlyze_index *index,
                    sxt_error *error)
{
    struct sxt_mlyze_cursor *cursor = NULL;
    sxt_trace_event *events = malloc(BATCH * sizeof *events);
    size_t next = 0, count = 1;
    int status = events == NULL ? sxt_fail_memory(error, BATCH * sizeof *events) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_mlyze_cursor_open(trace, &cursor, error);
    while (status == SXT_OK && count > 0) {
        status = sxt_mlyze_read(cursor, events, BATCH, &count, error);
        if (status == SXT_OK)
            take_events(maker, events, count, index, &next);
        if (maker->no_memory)
            status = sxt_fail_memory(error, maker->out->size);
        else if (maker->is_too_much)
            status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "sizes add up to more than 64 bits can hold");
    }
    sxt_mlyze_cursor_close(&cursor);
    free(events);
    return status;
}

/* Room for the header and for as many entries as there can be: states follow, and their number is known at the end. */
static void begin_file(struct state_maker *maker, const struct sxt_mlyze_index *index)
{
    uint64_t most = index->event_count / (maker->distance > 0 ? maker->distance : 1) + 1;
    maker->start = maker->out->size;
    maker->most = most < index->count ? most : index->count;
    size_t size = HEADER_SIZE + (size_t)maker->most * ENTRY_SIZE;
    uint8_t *room = sxt_buffer_extend(maker->out, size);
    if (room != NULL)
        memset(room, 0, size);
}

static void end_file(struct state_maker *maker, const struct sxt_mlyze *trace)
{
    uint8_t *header = maker->out->data + maker->start;
    memcpy(header, "MLIV", 4);
    sxt_store_u32le(header + 4, 1);
    sxt_store_u64le(header + 8, sxt_mlyze_bytes(trace).size);
    sxt_store_u64le(header + 16, sxt_mlyze_mark(trace));
    sxt_store_u64le(header + 24, maker->count);
    uint32_t crc = sxt_crc32c(0, header, AT_CRC);
    sxt_store_u32le(header + AT_CRC, sxt_crc32c(crc, header + HEADER_SIZE, maker->count * ENTRY_SIZE));
}

int sxt_heap_states_make(const struct sxt_mlyze *trace, const struct sxt_mlyze_index *index, uint64_t distance,
                         struct sxt_buffer *out, sxt_error *error)
{
    struct state_maker maker = {.distance = distance, .out = out};
    sxt_buffer_init(&maker.replaced, SIZE_MAX / 4);
    sxt_buffer_init(&maker.freed, SIZE_MAX / 4);
    begin_file(&maker, index);
    int status = sxt_live_init(&maker.live) && sxt_live_init(&maker.stacks) ? read_all(&maker, trace, index, error)
                                                                            : sxt_fail_memory(error, sizeof maker);
    if (status == SXT_OK) {
        close_state(&maker);
        if (maker.no_memory)
            status = sxt_fail_memory(error, out->size);
    }
    if (status == SXT_OK)
        status = sxt_buffer_status(out, error);
    if (status == SXT_OK)
        end_file(&maker, trace);
    sxt_buffer_free(&maker.replaced);
    sxt_buffer_free(&maker.freed);
    sxt_live_free(&maker.live);
    sxt_live_free(&maker.stacks);
    return status;
}

/* --- reading --- */

/* What is live of a stack. */
struct state_sum {
    uint64_t bytes, blocks;
};

struct state_reader {
    sxt_heap_usage *usage;
    struct sxt_live live;     /* blocks that were allocated since the state; `site` is the id of the stack */
    struct state_sum *near;   /* by id, of the stacks of the metadata */
    size_t near_count;        /* higher ids are in `far` */
    struct sxt_live far;      /* by id: bytes in `size`, blocks in `time` */
    struct sxt_cursor closed; /* what happens to older ones: replaced, then freed */
    struct sxt_cursor freed;
    uint64_t replaced_left, replaced_event; /* the next that is replaced, and by which event */
    uint64_t event;
    bool is_wrong, no_memory;
};

#define NEAR_MOST ((size_t)1 << 22)

static bool open_reader(struct state_reader *reader, const struct sxt_mlyze *trace)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace);
    size_t count = metadata->stack_count;
    size_t limit = count == 0 ? 0 : (size_t)sxt_mlyze_id_at(metadata->stack_ids, count - 1) + 1;
    reader->near_count = limit < NEAR_MOST ? limit : NEAR_MOST;
    reader->near = calloc(reader->near_count + 1, sizeof *reader->near);
    sxt_large_advise(reader->near, reader->near_count * sizeof *reader->near);
    return reader->near != NULL && sxt_live_init(&reader->live) && sxt_live_init(&reader->far);
}

static void close_reader(struct state_reader *reader)
{
    sxt_live_free(&reader->live);
    sxt_live_free(&reader->far);
    free(reader->near);
}

/* Adds what SUM says to a site or takes it away. False if that is less than nothing, or more than 64 bits hold. */
static inline bool change(uint64_t *bytes, uint64_t *blocks, struct state_sum sum, bool ends)
{
    if (ends ? *bytes < sum.bytes || *blocks < sum.blocks
             : sum.bytes > UINT64_MAX - *bytes || sum.blocks > UINT64_MAX - *blocks)
        return false;
    *bytes = ends ? *bytes - sum.bytes : *bytes + sum.bytes;
    *blocks = ends ? *blocks - sum.blocks : *blocks + sum.blocks;
    return true;
}

static bool change_far(struct state_reader *reader, uint64_t stack, struct state_sum sum, bool ends)
{
    bool is_new;
    size_t place = stack > UINT32_MAX ? SXT_LIVE_NOWHERE : sxt_live_add(&reader->far, stack, &is_new);
    if (place == SXT_LIVE_NOWHERE) {
        reader->no_memory = stack <= UINT32_MAX;
        return false;
    }
    struct sxt_live_block *far = sxt_live_at(&reader->far, place);
    if (is_new) {
        far->site = (uint32_t)stack;
        far->size = far->time = 0;
    }
    return change(&far->size, &far->time, sum, ends);
}

static inline void change_live(struct state_reader *reader, uint64_t stack, struct state_sum sum, bool ends)
{
    sxt_heap_sums *total = &reader->usage->total;
    bool is_right;
    if (__builtin_expect(stack < reader->near_count, 1))
        is_right = change(&reader->near[stack].bytes, &reader->near[stack].blocks, sum, ends);
    else
        is_right = change_far(reader, stack, sum, ends);
    reader->is_wrong |= !is_right || !change(&total->live_bytes, &total->live_count, sum, ends);
}

/* Makes sites of the stacks that have something live. False if memory is short. */
static bool add_site(sxt_heap_usage *usage, uint32_t stack, struct state_sum sum)
{
    if (sum.bytes == 0 && sum.blocks == 0)
        return true;
    uint32_t site = sxt_heap_sites_add(&usage->sites, stack, 0);
    const sxt_heap_sums sums = {.live_bytes = sum.bytes, .live_count = sum.blocks};
    if (site != SXT_HEAP_NO_SITE)
        sxt_heap_sites_set(&usage->sites, site, &sums);
    return site != SXT_HEAP_NO_SITE && !usage->sites.no_memory;
}

static bool add_sites(struct state_reader *reader)
{
    bool is_good = true;
    for (size_t i = 0; i < reader->near_count && is_good; i++)
        is_good = add_site(reader->usage, (uint32_t)i, reader->near[i]);
    for (size_t at = SXT_LIVE_NOWHERE; is_good && (at = sxt_live_next(&reader->far, at)) != SXT_LIVE_NOWHERE;) {
        const struct sxt_live_block *far = sxt_live_at(&reader->far, at);
        is_good = add_site(reader->usage, far->site, (struct state_sum){far->size, far->time});
    }
    return is_good;
}

static void next_replaced(struct state_reader *reader)
{
    reader->replaced_event = UINT64_MAX;
    if (reader->replaced_left == 0)
        return;
    reader->replaced_left--;
    reader->replaced_event = reader->event + sxt_cursor_uleb128(&reader->closed);
}

/* Fills in what the state says, and finds its lists. */
static void start(struct state_reader *reader, const uint8_t *data, size_t size)
{
    struct sxt_cursor *cursor = &reader->closed;
    *cursor = sxt_cursor_make(data, size, 0, false);
    uint64_t count = sxt_cursor_uleb128(cursor);
    for (uint64_t i = 0; i < count && !cursor->failed && !reader->no_memory && !reader->is_wrong; i++) {
        uint64_t stack = sxt_cursor_uleb128(cursor);
        struct state_sum sum = {.bytes = sxt_cursor_uleb128(cursor)};
        sum.blocks = sxt_cursor_uleb128(cursor);
        change_live(reader, stack, sum, false);
    }
    reader->replaced_left = sxt_cursor_uleb128(cursor);
    reader->freed = *cursor;
    for (uint64_t i = 0; i < reader->replaced_left && !reader->freed.failed; i++)
        for (int k = 0; k < 3; k++)
            sxt_cursor_uleb128(&reader->freed);
    next_replaced(reader);
}

static void replay_alloc(struct state_reader *reader, const sxt_trace_event *event)
{
    bool is_new;
    size_t place = sxt_live_add(&reader->live, event->address, &is_new);
    if (place == SXT_LIVE_NOWHERE) {
        reader->no_memory = true;
        return;
    }
    struct sxt_live_block *block = sxt_live_at(&reader->live, place);
    if (!is_new)
        change_live(reader, block->site, (struct state_sum){block->size, 1}, true);
    if (reader->event == reader->replaced_event) {
        uint64_t stack = sxt_cursor_uleb128(&reader->closed);
        change_live(reader, stack, (struct state_sum){sxt_cursor_uleb128(&reader->closed), 1}, true);
        next_replaced(reader);
    }
    block->size = event->size;
    block->site = event->stack;
    change_live(reader, event->stack, (struct state_sum){event->size, 1}, false);
}

static void replay_free(struct state_reader *reader, const sxt_trace_event *event)
{
    size_t place = sxt_live_find(&reader->live, event->address);
    if (place != SXT_LIVE_NOWHERE) {
        const struct sxt_live_block *block = sxt_live_at(&reader->live, place);
        change_live(reader, block->site, (struct state_sum){block->size, 1}, true);
        sxt_live_remove(&reader->live, place);
        return;
    }
    uint64_t stack = sxt_cursor_uleb128(&reader->freed);
    if (stack > 0)
        change_live(reader, stack - 1, (struct state_sum){sxt_cursor_uleb128(&reader->freed), 1}, true);
}

/* Prefetches the sum that an allocation will change. */
static inline __attribute__((always_inline)) void look_at_stack(const struct state_reader *reader,
                                                                const sxt_trace_event *events, size_t count, size_t at)
{
    if (at < count && events[at].kind == SXT_TRACE_ALLOC && events[at].stack < reader->near_count)
        __builtin_prefetch(&reader->near[events[at].stack], 1);
}

/* Goes on from a state until TIME. */
static int replay(struct state_reader *reader, const struct sxt_mlyze_index_entry *entry, uint64_t time,
                  sxt_error *error)
{
    struct sxt_mlyze_cursor *cursor = NULL;
    sxt_trace_event *events = malloc(BATCH * sizeof *events);
    size_t count = 1;
    bool is_done = false;
    int status = events == NULL ? sxt_fail_memory(error, BATCH * sizeof *events) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_mlyze_cursor_open(reader->usage->trace, &cursor, error);
    if (status == SXT_OK)
        status = sxt_mlyze_seek(cursor, entry, error);
    reader->usage->end = entry->time;
    while (status == SXT_OK && count > 0 && !is_done && !reader->is_wrong && !reader->no_memory) {
        status = sxt_mlyze_read(cursor, events, BATCH, &count, error);
        for (size_t i = 0; status == SXT_OK && i < count && !reader->is_wrong && !reader->no_memory;
             i++, reader->event++) {
            is_done = events[i].time > time;
            if (is_done)
                break;
            reader->usage->end = events[i].time;
            sxt_live_look_ahead(&reader->live, events, count, i);
            look_at_stack(reader, events, count, i + SXT_LIVE_AHEAD);
            if (events[i].kind == SXT_TRACE_ALLOC)
                replay_alloc(reader, &events[i]);
            else if (events[i].kind == SXT_TRACE_FREE)
                replay_free(reader, &events[i]);
        }
    }
    if (is_done && time > reader->usage->end)
        reader->usage->end = time;
    sxt_mlyze_cursor_close(&cursor);
    free(events);
    return status;
}

static int fail_unusable(sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the states cannot be used");
}

/* The place of the last state that is not later than TIME; NULL if the file cannot be used. */
static const uint8_t *find_state(const struct sxt_mlyze *trace, const uint8_t *data, size_t size, uint64_t time)
{
    if (size < HEADER_SIZE || memcmp(data, "MLIV", 4) != 0 || sxt_load_u32le(data + 4) != 1 ||
        sxt_load_u64le(data + 8) != sxt_mlyze_bytes(trace).size || sxt_load_u64le(data + 16) != sxt_mlyze_mark(trace))
        return NULL;
    uint64_t count = sxt_load_u64le(data + 24);
    if (count == 0 || !sxt_fits(HEADER_SIZE, count, ENTRY_SIZE, size))
        return NULL;
    uint32_t crc = sxt_crc32c(0, data, AT_CRC);
    if (sxt_crc32c(crc, data + HEADER_SIZE, count * ENTRY_SIZE) != sxt_load_u32le(data + AT_CRC))
        return NULL;
    struct sxt_bisection search = {.high = count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sxt_load_u64le(data + HEADER_SIZE + search.middle * ENTRY_SIZE + 16) <= time);
    const uint8_t *entry = data + HEADER_SIZE + (search.low > 0 ? search.low - 1 : 0) * ENTRY_SIZE;
    uint64_t at = sxt_load_u64le(entry + 32), length = sxt_load_u64le(entry + 40);
    if (!sxt_fits(at, length, 1, size) || sxt_crc32c(0, data + at, length) != sxt_load_u32le(entry + 48))
        return NULL;
    return entry;
}

int sxt_heap_states_ask(const struct sxt_mlyze *trace, const uint8_t *data, size_t size, uint64_t time,
                        sxt_heap_usage *out, sxt_error *error)
{
    const uint8_t *place = find_state(trace, data, size, time);
    *out = (sxt_heap_usage){.trace = trace, .start = sxt_mlyze_header(trace)->start_us};
    if (place == NULL)
        return fail_unusable(error);
    struct sxt_mlyze_index_entry entry = {.offset = sxt_load_u64le(place),
                                          .event = sxt_load_u64le(place + 8),
                                          .time = sxt_load_u64le(place + 16),
                                          .stored_size = sxt_load_u32le(place + 24),
                                          .size = sxt_load_u32le(place + 28)};
    struct state_reader reader = {.usage = out, .event = entry.event};
    int status = open_reader(&reader, trace) ? SXT_OK : sxt_fail_memory(error, reader.near_count * sizeof *reader.near);
    if (status == SXT_OK) {
        start(&reader, data + sxt_load_u64le(place + 32), sxt_load_u64le(place + 40));
        status = replay(&reader, &entry, time, error);
    }
    if (reader.no_memory)
        status = sxt_fail_memory(error, sizeof reader);
    else if (reader.is_wrong || reader.closed.failed || reader.freed.failed ||
             (status != SXT_OK && status != SXT_ERROR_MEMORY))
        status = fail_unusable(error);
    if (status == SXT_OK)
        status = add_sites(&reader) ? sxt_heap_merge_sites(out, error) : sxt_fail_memory(error, sizeof reader);
    close_reader(&reader);
    if (status != SXT_OK)
        sxt_heap_free(out);
    return status;
}
