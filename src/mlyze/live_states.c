/*
 * live_states.c: FILE.live: what was live at any moment, without reading all events before it.
 *
 *      0  "MLIV"                                24  u64 number of states
 *      4  u32 version 1                         32  u32 CRC32C of what is before, and of the directory
 *      8  u64 size of the trace                 36  u32 0
 *     16  u64 what the trace begins and         40  directory: an entry of 56 bytes for each state
 *         ends with, as two CRCs
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

#define HEADER_SIZE 40
#define ENTRY_SIZE  56
#define AT_CRC      32
#define BATCH       1024

/* --- writing --- */

struct state_maker {
    struct sxt_live live;   /* blocks; `site` is the id of the stack, `sequence` the number of the event */
    struct sxt_live stacks; /* by id: bytes in `size`, blocks in `time` */
    struct sxt_buffer directory, states;
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
    if (maker->directory.size == 0)
        return;
    uint8_t *entry = maker->directory.data + maker->directory.size - ENTRY_SIZE;
    sxt_buffer_varint(&maker->states, maker->replaced_count);
    sxt_buffer_append(&maker->states, maker->replaced.data, maker->replaced.size);
    sxt_buffer_append(&maker->states, maker->freed.data, maker->freed.size);
    maker->no_memory |= maker->states.failed || maker->replaced.failed || maker->freed.failed;
    if (maker->no_memory)
        return;
    uint64_t start = sxt_load_u64le(entry + 32), size = maker->states.size - start;
    sxt_store_u64le(entry + 40, size);
    sxt_store_u32le(entry + 48, sxt_crc32c(0, maker->states.data + start, size));
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
    sxt_buffer_varint(&maker->states, count);
    for (size_t i = 0; i < count; i++) {
        const struct sxt_live_block *sum = sxt_live_at(&maker->stacks, sxt_live_find(&maker->stacks, ids[i]));
        sxt_buffer_varint(&maker->states, ids[i]);
        sxt_buffer_varint(&maker->states, sum->size);
        sxt_buffer_varint(&maker->states, sum->time);
    }
    free(ids);
}

static void open_state(struct state_maker *maker, const struct sxt_mlyze_index_entry *entry)
{
    close_state(maker);
    sxt_buffer_u64le(&maker->directory, entry->offset);
    sxt_buffer_u64le(&maker->directory, entry->event);
    sxt_buffer_u64le(&maker->directory, entry->time);
    sxt_buffer_u32le(&maker->directory, entry->stored_size);
    sxt_buffer_u32le(&maker->directory, entry->size);
    sxt_buffer_u64le(&maker->directory, maker->states.size);
    sxt_buffer_u64le(&maker->directory, 0);
    sxt_buffer_u64le(&maker->directory, 0);
    maker->no_memory |= maker->directory.failed;
    put_stacks(maker);
    maker->first = maker->replaced_last = entry->event;
    maker->replaced_count = 0;
}

static void take_events(struct state_maker *maker, const sxt_trace_event *events, size_t count,
                        const struct sxt_mlyze_index *index, size_t *next)
{
    for (size_t i = 0; i < count && !maker->no_memory; i++, maker->event++) {
        while (*next < index->count && index->entries[*next].event <= maker->event) {
            if (*next == 0 || maker->event - maker->first >= maker->distance)
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
            status = sxt_fail_memory(error, maker->states.size);
        else if (maker->is_too_much)
            status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "sizes add up to more than 64 bits can hold");
    }
    sxt_mlyze_cursor_close(&cursor);
    free(events);
    return status;
}

static void put_file(struct state_maker *maker, const struct sxt_mlyze *trace, struct sxt_buffer *out)
{
    uint64_t count = maker->directory.size / ENTRY_SIZE, base = HEADER_SIZE + maker->directory.size;
    size_t start = out->size;
    sxt_buffer_append(out, "MLIV", 4);
    sxt_buffer_u32le(out, 1);
    sxt_buffer_u64le(out, sxt_mlyze_bytes(trace).size);
    sxt_buffer_u64le(out, sxt_mlyze_mark(trace));
    sxt_buffer_u64le(out, count);
    sxt_buffer_u64le(out, 0);
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *place = maker->directory.data + i * ENTRY_SIZE + 32;
        sxt_store_u64le(place, sxt_load_u64le(place) + base);
    }
    sxt_buffer_append(out, maker->directory.data, maker->directory.size);
    if (!out->failed) {
        uint32_t crc = sxt_crc32c(0, out->data + start, AT_CRC);
        crc = sxt_crc32c(crc, out->data + start + HEADER_SIZE, maker->directory.size);
        sxt_store_u32le(out->data + start + AT_CRC, crc);
    }
    sxt_buffer_append(out, maker->states.data, maker->states.size);
}

int sxt_heap_states_make(const struct sxt_mlyze *trace, const struct sxt_mlyze_index *index, uint64_t distance,
                         struct sxt_buffer *out, sxt_error *error)
{
    struct state_maker maker = {.distance = distance};
    struct sxt_buffer *buffers[] = {&maker.directory, &maker.states, &maker.replaced, &maker.freed};
    for (size_t i = 0; i < 4; i++)
        sxt_buffer_init(buffers[i], SIZE_MAX / 4);
    int status = sxt_live_init(&maker.live) && sxt_live_init(&maker.stacks) ? read_all(&maker, trace, index, error)
                                                                            : sxt_fail_memory(error, sizeof maker);
    if (status == SXT_OK) {
        close_state(&maker);
        if (maker.no_memory)
            status = sxt_fail_memory(error, maker.states.size);
    }
    if (status == SXT_OK) {
        put_file(&maker, trace, out);
        status = sxt_buffer_status(out, error);
    }
    for (size_t i = 0; i < 4; i++)
        sxt_buffer_free(buffers[i]);
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
