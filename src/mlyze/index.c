/*
 * index.c: FILE.idx: where each block begins, and what was live there.
 *
 *      0  "MIDX"                    16  u64 size of the trace         48  u32 CRC32C of this file without this field
 *      4  u32 version 1             24  u64 what the trace begins     52  u32 0
 *      8  u32 48, size of an entry      and ends with, as two CRCs    56  u64 time of the last event
 *     12  u32 65536                 32  u64 number of entries         64  entries
 *                                   40  u64 number of events
 *
 *     entry:  u64 offset, u64 event, u64 time, u64 live bytes, u32 live blocks, u32 stored size, u32 size, u32 0
 *
 * It is a cache: if anything is wrong with it, it is made again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "mlyze/live.h"
#include "mlyze/private.h"

#define HEADER_SIZE 64
#define ENTRY_SIZE  48
#define AT_CRC      48
#define BATCH       512
#define TAIL        4096

/* --- making it --- */

struct making {
    struct sxt_mlyze_index *index;
    size_t capacity;
    struct sxt_live live;
    uint64_t live_bytes;
    sxt_trace_event events[BATCH];
};

static bool count_event(struct making *making, const sxt_trace_event *event)
{
    bool is_new;
    if (event->kind == SXT_TRACE_ALLOC) {
        size_t place = sxt_live_add(&making->live, event->address, &is_new);
        if (place == SXT_LIVE_NOWHERE)
            return false;
        struct sxt_live_block *block = sxt_live_at(&making->live, place);
        making->live_bytes += event->size - (is_new ? 0 : block->size);
        block->size = event->size;
    } else if (event->kind == SXT_TRACE_FREE) {
        size_t place = sxt_live_find(&making->live, event->address);
        if (place == SXT_LIVE_NOWHERE)
            return true;
        making->live_bytes -= sxt_live_at(&making->live, place)->size;
        sxt_live_remove(&making->live, place);
    }
    return true;
}

static bool count_events(struct making *making, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        sxt_live_look_ahead(&making->live, making->events, count, i);
        good = count_event(making, &making->events[i]);
    }
    return good;
}

static int make_entry(struct making *making, struct sxt_mlyze_cursor *cursor, bool *is_there, sxt_error *error)
{
    struct sxt_mlyze_index *index = making->index;
    void *grown = sxt_array_grow(index->entries, &making->capacity, index->count + 1, sizeof *index->entries);
    if (grown == NULL)
        return sxt_fail_memory(error, index->count * sizeof *index->entries);
    index->entries = grown;
    struct sxt_mlyze_index_entry *entry = &index->entries[index->count];
    int status = sxt_mlyze_next_block(cursor, entry, is_there, error);
    if (status != SXT_OK || !*is_there)
        return status;
    entry->live_bytes = making->live_bytes;
    entry->live_count = making->live.count < UINT32_MAX ? (uint32_t)making->live.count : UINT32_MAX;
    size_t count;
    do {
        status = sxt_mlyze_read_in_block(cursor, making->events, BATCH, &count, error);
        if (status != SXT_OK)
            break;
        if (!count_events(making, count))
            return sxt_fail_memory(error, making->live.count);
        if (count > 0)
            index->last_time = making->events[count - 1].time;
    } while (count > 0);
    /* If a block cannot be read, neither it nor anything after it can be trusted. */
    index->event_count = sxt_mlyze_position(cursor);
    index->count += index->event_count > entry->event;
    if (entry->size == 0)
        entry->size = entry->stored_size = (uint32_t)(sxt_mlyze_offset(cursor) - entry->offset);
    return status;
}

int sxt_mlyze_index_make(const struct sxt_mlyze *trace, struct sxt_mlyze_index *out, sxt_error *error)
{
    struct sxt_mlyze_cursor *cursor = NULL;
    struct making *making = calloc(1, sizeof *making);
    memset(out, 0, sizeof *out);
    if (making == NULL)
        return sxt_fail_memory(error, sizeof *making);
    making->index = out;
    out->last_time = sxt_mlyze_header(trace)->start_us;
    bool is_there = true;
    int status = sxt_live_init(&making->live) ? SXT_OK : sxt_fail_memory(error, sizeof making->live);
    if (status == SXT_OK)
        status = sxt_mlyze_cursor_open(trace, &cursor, error);
    while (status == SXT_OK && is_there)
        status = make_entry(making, cursor, &is_there, error);
    /* An index of the blocks before the damage is useful. */
    if (cursor != NULL && status != SXT_ERROR_MEMORY)
        status = SXT_OK;
    sxt_mlyze_cursor_close(&cursor);
    sxt_live_free(&making->live);
    free(making);
    if (status != SXT_OK)
        sxt_mlyze_index_free(out);
    return status;
}

void sxt_mlyze_index_free(struct sxt_mlyze_index *index)
{
    free(index->entries);
    memset(index, 0, sizeof *index);
}

/* --- the file --- */

uint64_t sxt_mlyze_mark(const struct sxt_mlyze *trace)
{
    sxt_string all = sxt_mlyze_bytes(trace), text = sxt_mlyze_stored_text(trace);
    uint64_t begin = sxt_crc32c(0, all.data, SXT_MLYZE_HEADER_SIZE);
    begin = sxt_crc32c((uint32_t)begin, text.data, text.size);
    size_t tail = all.size < TAIL ? all.size : TAIL;
    return begin << 32 | sxt_crc32c(0, all.data + all.size - tail, tail);
}

static uint32_t sum_of(const uint8_t *data, size_t size)
{
    uint32_t crc = sxt_crc32c(0, data, AT_CRC);
    return sxt_crc32c(crc, data + AT_CRC + 4, size - AT_CRC - 4);
}

int sxt_mlyze_index_write(const struct sxt_mlyze *trace, const struct sxt_mlyze_index *index, struct sxt_buffer *out,
                          sxt_error *error)
{
    size_t start = out->size;
    sxt_buffer_append(out, "MIDX", 4);
    sxt_buffer_u32le(out, 1);
    sxt_buffer_u32le(out, ENTRY_SIZE);
    sxt_buffer_u32le(out, SXT_MLYZE_BLOCK_MOST);
    sxt_buffer_u64le(out, sxt_mlyze_bytes(trace).size);
    sxt_buffer_u64le(out, sxt_mlyze_mark(trace));
    sxt_buffer_u64le(out, index->count);
    sxt_buffer_u64le(out, index->event_count);
    sxt_buffer_u64le(out, 0);
    sxt_buffer_u64le(out, index->last_time);
    for (size_t i = 0; i < index->count; i++) {
        const struct sxt_mlyze_index_entry *entry = &index->entries[i];
        sxt_buffer_u64le(out, entry->offset);
        sxt_buffer_u64le(out, entry->event);
        sxt_buffer_u64le(out, entry->time);
        sxt_buffer_u64le(out, entry->live_bytes);
        sxt_buffer_u32le(out, entry->live_count);
        sxt_buffer_u32le(out, entry->stored_size);
        sxt_buffer_u32le(out, entry->size);
        sxt_buffer_u32le(out, entry->flags);
    }
    int status = sxt_buffer_status(out, error);
    if (status == SXT_OK)
        sxt_store_u32le(out->data + start + AT_CRC, sum_of(out->data + start, out->size - start));
    return status;
}

static struct sxt_mlyze_index_entry load_entry(const uint8_t *at)
{
    return (struct sxt_mlyze_index_entry){
        .offset = sxt_load_u64le(at),
        .event = sxt_load_u64le(at + 8),
        .time = sxt_load_u64le(at + 16),
        .live_bytes = sxt_load_u64le(at + 24),
        .live_count = sxt_load_u32le(at + 32),
        .stored_size = sxt_load_u32le(at + 36),
        .size = sxt_load_u32le(at + 40),
        .flags = sxt_load_u32le(at + 44),
    };
}

static int fail_stale(sxt_error *error, const char *why)
{
    return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the index cannot be used: %s", why);
}

/* Whether the entries go through the trace from its beginning, forwards only. */
static bool are_in_order(const struct sxt_mlyze *trace, const struct sxt_mlyze_index *index)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(trace);
    uint64_t end = header->events_offset + sxt_mlyze_events(trace).size;
    struct sxt_mlyze_index_entry expected = {.offset = header->events_offset, .time = header->start_us};
    for (size_t i = 0; i < index->count; i++) {
        const struct sxt_mlyze_index_entry *entry = &index->entries[i];
        bool is_first = i == 0;
        if (is_first && (entry->offset != expected.offset || entry->event != 0 || entry->time != expected.time))
            return false;
        if (!is_first &&
            (entry->offset <= expected.offset || entry->event <= expected.event || entry->time < expected.time))
            return false;
        if (entry->offset >= end || entry->stored_size > end - entry->offset)
            return false;
        expected = *entry;
    }
    return index->event_count >= expected.event && index->last_time >= expected.time;
}

int sxt_mlyze_index_read(const struct sxt_mlyze *trace, const uint8_t *data, size_t size, struct sxt_mlyze_index *out,
                         sxt_error *error)
{
    memset(out, 0, sizeof *out);
    if (size < HEADER_SIZE || memcmp(data, "MIDX", 4) != 0 || sxt_load_u32le(data + 4) != 1 ||
        sxt_load_u32le(data + 8) != ENTRY_SIZE)
        return fail_stale(error, "not an index of version 1");
    uint64_t count = sxt_load_u64le(data + 32);
    if (count != (size - HEADER_SIZE) / ENTRY_SIZE || (size - HEADER_SIZE) % ENTRY_SIZE != 0)
        return fail_stale(error, "it is cut off");
    if (sxt_load_u64le(data + 16) != sxt_mlyze_bytes(trace).size || sxt_load_u64le(data + 24) != sxt_mlyze_mark(trace))
        return fail_stale(error, "it belongs to another trace");
    if (sum_of(data, size) != sxt_load_u32le(data + AT_CRC))
        return fail_stale(error, "its checksum is wrong");
    out->entries = malloc((count + 1) * sizeof *out->entries);
    if (out->entries == NULL)
        return sxt_fail_memory(error, (count + 1) * sizeof *out->entries);
    out->count = count;
    out->event_count = sxt_load_u64le(data + 40);
    out->last_time = sxt_load_u64le(data + 56);
    for (size_t i = 0; i < count; i++)
        out->entries[i] = load_entry(data + HEADER_SIZE + i * ENTRY_SIZE);
    if (are_in_order(trace, out))
        return SXT_OK;
    sxt_mlyze_index_free(out);
    return fail_stale(error, "it contradicts itself");
}
