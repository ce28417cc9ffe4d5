/*
 * spool_checkpoint.c: what `record` has consumed of a spool, and how to go on from there.
 *
 * `record` writes the events of a spool to another file while the program runs, and gives the room of their windows
 * back to the file system. From time to time it writes a checkpoint into the spool:
 *
 *     1. the events are written to the other file, up to the last one that was given out
 *     2. notes that were read since the last time are written as a NOTES chunk: later events use their stacks
 *     3. the checkpoint is written as a chunk
 *     4. control.checkpoint becomes its offset, by one store
 *     5. windows without anything that comes after the checkpoint are released, and so is the checkpoint before it
 *
 * All of it goes through the page cache, so the order holds for a process that is killed at any moment, but not if the
 * system itself crashes. Before step 4 the last checkpoint counts, and everything after it is still in the spool. Bytes
 * of the other file after the size that the checkpoint has do not count.
 *
 * A checkpoint is (little-endian, after decompression):
 *
 *     u64 size of the other file   u64 events   u64 time of the last   u64 frees that were left out
 *     256 bytes: the header that makes a trace of these bytes
 *     u16 size, and the name of the other file
 *     u32 number, and for each: u64 start, u64 end of a released part of the spool
 *     u32 number, and for each stream: where it is, and the record that comes next
 *     the state of the merge: postponed frees, ends of blocks, events of a mapping call; then mappings
 *
 * The blocks that are live are not in it: they follow from the events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zstd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/error.h"
#include "mlyze/spool_private.h"

#define LEVEL           1
#define EXPANSION_MOST  4096 /* of a chunk */
#define EXPANSION_LEAST ((uint64_t)1 << 20)
#define CHUNK_MOST      ((uint64_t)1 << 31)
#define NAME_MOST       255

/* --- chunks --- */

static uint64_t room_of(uint64_t stored_size)
{
    uint64_t size = sizeof(struct sxt_spool_chunk) + stored_size;
    return (size + SXT_SPOOL_UNIT - 1) / SXT_SPOOL_UNIT * SXT_SPOOL_UNIT;
}

/* The header of the chunk at an offset. False if there is none. */
static bool read_chunk_header(const uint8_t *data, uint64_t size, uint64_t offset, struct sxt_spool_chunk *chunk)
{
    if (offset < SXT_SPOOL_WINDOWS_OFFSET || offset > size || size - offset < sizeof *chunk ||
        (offset - SXT_SPOOL_WINDOWS_OFFSET) % SXT_SPOOL_UNIT != 0)
        return false;
    memcpy(chunk, data + offset, sizeof *chunk);
    return chunk->magic == SXT_SPOOL_CHUNK_MAGIC && chunk->stored_size <= size - offset - sizeof *chunk;
}

uint64_t sxt_spool_chunk_room(const uint8_t *data, uint64_t size, uint64_t offset)
{
    struct sxt_spool_chunk chunk;
    return read_chunk_header(data, size, offset, &chunk) ? room_of(chunk.stored_size) : 0;
}

static uint32_t sum_of(struct sxt_spool_chunk chunk, const uint8_t *stored)
{
    chunk.crc = 0;
    return sxt_crc32c(sxt_crc32c(0, &chunk, sizeof chunk), stored, chunk.stored_size);
}

/* *CONTENT is to be freed. */
static int read_chunk(const uint8_t *data, uint64_t size, uint64_t offset, enum sxt_spool_chunk_kind kind,
                      struct sxt_spool_chunk *chunk, uint8_t **content, sxt_error *error)
{
    *content = NULL;
    if (!read_chunk_header(data, size, offset, chunk) || chunk->kind != kind ||
        sum_of(*chunk, data + offset + sizeof *chunk) != chunk->crc)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "what was saved of the recording is damaged");
    if (chunk->size > CHUNK_MOST ||
        (chunk->size > EXPANSION_LEAST && chunk->size / EXPANSION_MOST > chunk->stored_size) ||
        (chunk->previous != 0 && chunk->previous >= offset))
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "what was saved of the recording contradicts itself");
    *content = malloc(chunk->size + 1);
    if (*content == NULL)
        return sxt_fail_memory(error, chunk->size);
    size_t made = ZSTD_decompress(*content, chunk->size, data + offset + sizeof *chunk, chunk->stored_size);
    if (!ZSTD_isError(made) && made == chunk->size)
        return SXT_OK;
    free(*content);
    *content = NULL;
    return sxt_fail(error, SXT_ERROR_FORMAT, offset, "what was saved of the recording cannot be decompressed");
}

static int write_at(int fd, const uint8_t *data, size_t size, uint64_t offset, sxt_error *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = pwrite(fd, data + done, size - done, (off_t)(offset + done));
        if (written > 0)
            done += (size_t)written;
        else if (written == 0 || errno != EINTR)
            return sxt_fail_errno(error, written == 0 ? EIO : errno, "cannot write");
    }
    return SXT_OK;
}

/* Adds a chunk at the end of the spool, where the recorder adds windows at the same time. */
static int write_chunk(const struct sxt_spool *spool, uint8_t *head, int fd, enum sxt_spool_chunk_kind kind,
                       const struct sxt_buffer *content, uint64_t *offset, sxt_error *error)
{
    struct sxt_spool_control *control = (void *)(head + SXT_SPOOL_CONTROL_OFFSET);
    struct sxt_spool_chunk chunk = {
        .magic = SXT_SPOOL_CHUNK_MAGIC,
        .kind = (uint32_t)kind,
        .image = spool->image,
        .size = content->size,
        .previous = spool->notes,
    };
    size_t bound = ZSTD_compressBound(content->size);
    uint8_t *bytes = malloc(sizeof chunk + bound);
    if (bytes == NULL)
        return sxt_fail_memory(error, sizeof chunk + bound);
    size_t made = ZSTD_compress(bytes + sizeof chunk, bound, content->data, content->size, LEVEL);
    int status = ZSTD_isError(made) || content->size > CHUNK_MOST
                     ? sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "cannot compress %zu bytes", content->size)
                     : SXT_OK;
    if (status == SXT_OK) {
        chunk.stored_size = made;
        chunk.crc = sum_of(chunk, bytes + sizeof chunk);
        memcpy(bytes, &chunk, sizeof chunk);
        *offset = __atomic_fetch_add(&control->tail, room_of(made), __ATOMIC_RELAXED);
        status = write_at(fd, bytes, sizeof chunk + made, *offset, error);
    }
    free(bytes);
    return status;
}

/* --- notes --- */

void sxt_spool_log_note(struct sxt_spool *spool, enum sxt_spool_note note, const void *data, uint32_t size)
{
    static const uint8_t zeros[8];
    sxt_buffer_u64le(&spool->log, sxt_spool_note_word(note, 0, size));
    sxt_buffer_append(&spool->log, data, size);
    sxt_buffer_append(&spool->log, zeros, (8 - size % 8) % 8);
}

/* The offsets of the NOTES chunks up to LAST, the newest first. *OFFSETS is to be freed. */
static int list_notes(const uint8_t *data, uint64_t size, uint64_t last, uint64_t **offsets, size_t *count,
                      sxt_error *error)
{
    struct sxt_buffer list;
    sxt_buffer_init(&list, SIZE_MAX / 2);
    while (last != 0) {
        struct sxt_spool_chunk chunk;
        sxt_buffer_append(&list, &last, sizeof last);
        if (!read_chunk_header(data, size, last, &chunk) || (chunk.previous != 0 && chunk.previous >= last)) {
            sxt_buffer_free(&list);
            return sxt_fail(error, SXT_ERROR_FORMAT, last, "what was saved of the recording is damaged");
        }
        last = chunk.previous;
    }
    int status = sxt_buffer_status(&list, error);
    size_t bytes = 0;
    *offsets = status == SXT_OK ? (uint64_t *)(void *)sxt_buffer_take(&list, &bytes) : NULL;
    *count = bytes / sizeof last;
    sxt_buffer_free(&list);
    return status;
}

/* Reads the notes of one chunk, as if they were in a window. */
static int read_notes_at(struct sxt_spool *spool, const uint8_t *data, uint64_t size, uint64_t offset, sxt_error *error)
{
    struct sxt_spool_chunk chunk;
    uint8_t *content;
    int status = read_chunk(data, size, offset, SXT_SPOOL_NOTES, &chunk, &content, error);
    if (status != SXT_OK)
        return status;
    struct sxt_spool_piece piece = {.words = content, .word_count = chunk.size / 8, .is_copy = true};
    struct sxt_spool_way way = {.piece_end = 1};
    spool->pieces = &piece;
    status = sxt_spool_read_notes_of(spool, &way, error);
    spool->pieces = NULL;
    free(content);
    return status;
}

static int read_kept_notes(struct sxt_spool *spool, const uint8_t *data, uint64_t size, uint64_t last, sxt_error *error)
{
    uint64_t *offsets = NULL;
    size_t count = 0;
    int status = list_notes(data, size, last, &offsets, &count, error);
    while (status == SXT_OK && count > 0)
        status = read_notes_at(spool, data, size, offsets[--count], error);
    free(offsets);
    return status;
}

/* --- writing --- */

static void put_record(struct sxt_buffer *out, const struct sxt_spool_record *record)
{
    bool is_note = record->kind == SXT_SPOOL_NOTE;
    sxt_buffer_u8(out, (uint8_t)record->kind);
    sxt_buffer_u16le(out, is_note ? (uint16_t)record->note : 0);
    sxt_buffer_u64le(out, record->address);
    sxt_buffer_u64le(out, record->kind == SXT_SPOOL_ALLOC ? record->size : 0);
    sxt_buffer_u32le(out, record->kind == SXT_SPOOL_ALLOC ? record->stack : 0);
    sxt_buffer_u32le(out, is_note ? record->data_size : 0);
    if (is_note)
        sxt_buffer_append(out, record->data, record->data_size);
}

static void put_ways(const struct sxt_spool *spool, struct sxt_buffer *out)
{
    sxt_buffer_u32le(out, (uint32_t)spool->way_count);
    for (size_t i = 0; i < spool->way_count; i++) {
        const struct sxt_spool_way *way = &spool->ways[i];
        sxt_buffer_u32le(out, way->stream);
        sxt_buffer_u32le(out, spool->pieces[way->piece].sequence);
        sxt_buffer_u64le(out, way->word);
        sxt_buffer_u64le(out, way->tick);
        sxt_buffer_u32le(out, way->thread);
        sxt_buffer_u32le(out, way->noted_sequence);
        sxt_buffer_u64le(out, way->noted_word);
        sxt_buffer_u8(out, way->is_queued);
        if (way->is_queued)
            put_record(out, &way->record);
    }
}

static void put_free(struct sxt_buffer *out, uint64_t address, uint64_t tick, uint32_t way)
{
    sxt_buffer_u64le(out, address);
    sxt_buffer_u64le(out, tick);
    sxt_buffer_u32le(out, way);
}

static void put_merge(const struct sxt_spool *spool, struct sxt_buffer *out)
{
    sxt_buffer_u32le(out, (uint32_t)spool->postponed_count);
    for (size_t i = 0; i < spool->postponed_count; i++)
        put_free(out, spool->postponed[i].address, spool->postponed[i].tick, spool->postponed[i].way);
    sxt_buffer_u8(out, spool->has_next_free);
    if (spool->has_next_free)
        put_free(out, spool->next_free.address, spool->next_free.tick, spool->next_free.way);
    sxt_buffer_u32le(out, spool->ends != NULL ? SXT_SPOOL_ENDS : 0);
    for (size_t i = 0; spool->ends != NULL && i < SXT_SPOOL_ENDS; i++)
        put_free(out, spool->ends[i].address, spool->ends[i].tick, spool->ends[i].way);
    sxt_buffer_u32le(out, (uint32_t)spool->mapping_event_count);
    sxt_buffer_u32le(out, spool->mapping_way);
    sxt_buffer_u64le(out, spool->mapping_tick);
    for (size_t i = 0; i < spool->mapping_event_count; i++) {
        const struct sxt_mapping_event *event = &spool->mapping_events[i];
        sxt_buffer_u8(out, event->is_alloc);
        sxt_buffer_u64le(out, event->address);
        sxt_buffer_u64le(out, event->size);
        sxt_buffer_u32le(out, event->stack);
        sxt_buffer_u32le(out, event->thread);
    }
    sxt_buffer_u8(out, spool->mappings != NULL);
    if (spool->mappings != NULL)
        sxt_mappings_save(spool->mappings, out);
}

static void put_checkpoint(const struct sxt_spool *spool, const struct sxt_spool_consumed *consumed,
                           struct sxt_buffer *out)
{
    sxt_buffer_u64le(out, consumed->size);
    sxt_buffer_u64le(out, consumed->event_count);
    sxt_buffer_u64le(out, spool->last_time);
    sxt_buffer_u64le(out, spool->unmatched);
    sxt_buffer_append(out, consumed->header, sizeof consumed->header);
    sxt_buffer_u16le(out, (uint16_t)consumed->name.size);
    sxt_buffer_append(out, consumed->name.data, consumed->name.size);
    sxt_buffer_u32le(out, (uint32_t)spool->span_count);
    for (size_t i = 0; i < spool->span_count; i++) {
        sxt_buffer_u64le(out, spool->spans[i].start);
        sxt_buffer_u64le(out, spool->spans[i].end);
    }
    put_ways(spool, out);
    put_merge(spool, out);
}

int sxt_spool_save_checkpoint(struct sxt_spool *spool, uint8_t *head, int fd, const struct sxt_spool_consumed *consumed,
                              sxt_error *error)
{
    struct sxt_spool_control *control = (void *)(head + SXT_SPOOL_CONTROL_OFFSET);
    struct sxt_buffer content;
    uint64_t offset;
    if (consumed->name.size > NAME_MOST)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "the name of the file is too long");
    int status = sxt_buffer_status(&spool->log, error);
    if (status == SXT_OK && spool->log.size > 0) {
        status = write_chunk(spool, head, fd, SXT_SPOOL_NOTES, &spool->log, &offset, error);
        if (status != SXT_OK)
            return status;
        spool->notes = offset;
        sxt_buffer_clear(&spool->log);
    }
    sxt_buffer_init(&content, SIZE_MAX / 4);
    put_checkpoint(spool, consumed, &content);
    if (status == SXT_OK)
        status = sxt_buffer_status(&content, error);
    if (status == SXT_OK)
        status = write_chunk(spool, head, fd, SXT_SPOOL_CHECKPOINT, &content, &offset, error);
    if (status == SXT_OK)
        __atomic_store_n(&control->checkpoint, offset, __ATOMIC_RELEASE);
    sxt_buffer_free(&content);
    return status;
}

/* --- reading --- */

/* A stack of a saved record has a number: its note was saved before. */
static bool is_known(const struct sxt_spool *spool, uint32_t stack)
{
    stack = stack < SXT_SPOOL_STACKS_MOST ? stack : SXT_SPOOL_NO_STACK;
    return spool->stack_numbers[stack] != 0;
}

static bool get_record(struct sxt_spool *spool, struct sxt_cursor *from, struct sxt_spool_record *record)
{
    unsigned kind = sxt_cursor_u8(from), note = sxt_cursor_u16(from);
    record->kind = (enum sxt_spool_kind)kind;
    record->note = (enum sxt_spool_note)note;
    record->address = sxt_cursor_u64(from);
    record->size = sxt_cursor_u64(from);
    record->stack = sxt_cursor_u32(from);
    record->data_size = sxt_cursor_u32(from);
    const uint8_t *data = sxt_cursor_bytes(from, record->data_size);
    if (from->failed || data == NULL)
        return false;
    if (kind == SXT_SPOOL_ALLOC)
        return is_known(spool, record->stack);
    if (kind != SXT_SPOOL_NOTE)
        return kind == SXT_SPOOL_FREE;
    record->data = (const uint8_t *)sxt_arena_copy(&spool->kept, data, record->data_size);
    bool is_marker = note == SXT_SPOOL_MARKER, is_gc = note == SXT_SPOOL_GC && record->data_size >= 16;
    if (record->data == NULL)
        return false;
    if (is_marker)
        return sxt_strings_find(&spool->markers, sxt_spool_marker_text(record).data,
                                sxt_spool_marker_text(record).size) != SXT_STRINGS_FULL;
    return is_gc || (note == SXT_SPOOL_MAPPING && record->data_size >= sizeof(struct sxt_spool_mapping) &&
                     is_known(spool, sxt_load_u32le(record->data + 4)));
}

static bool get_ways(struct sxt_spool *spool, struct sxt_cursor *from)
{
    enum { LEAST = 45 }; /* bytes of a stream */
    uint64_t count = sxt_cursor_u32(from);
    if (count > sxt_cursor_left(from) / LEAST || !sxt_spool_make_ways(spool, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct sxt_spool_way *way = &spool->ways[i];
        way->stream = sxt_cursor_u32(from);
        way->sequence = sxt_cursor_u32(from);
        way->word = (size_t)sxt_cursor_u64(from);
        way->tick = sxt_cursor_u64(from);
        way->thread = sxt_cursor_u32(from);
        way->noted_sequence = sxt_cursor_u32(from);
        way->noted_word = (size_t)sxt_cursor_u64(from);
        way->is_queued = sxt_cursor_u8(from) != 0;
        if (from->failed || (way->is_queued && !get_record(spool, from, &way->record)))
            return false;
        spool->way_count = i + 1;
    }
    return true;
}

static struct sxt_spool_postponed get_free(struct sxt_cursor *from)
{
    struct sxt_spool_postponed result = {.address = sxt_cursor_u64(from)};
    result.tick = sxt_cursor_u64(from);
    result.way = sxt_cursor_u32(from);
    return result;
}

static bool get_frees(struct sxt_spool *spool, struct sxt_cursor *from)
{
    uint32_t count = sxt_cursor_u32(from);
    if (count > SXT_SPOOL_POSTPONED_MOST || (count > 0 && spool->postponed == NULL))
        return false;
    for (; spool->postponed_count < count; spool->postponed_count++) {
        struct sxt_spool_postponed postponed = get_free(from);
        if (postponed.way >= spool->way_count)
            return false;
        spool->postponed[spool->postponed_count] = postponed;
    }
    spool->has_next_free = sxt_cursor_u8(from) != 0;
    if (spool->has_next_free && (spool->next_free = get_free(from)).way >= spool->way_count)
        return false;
    count = sxt_cursor_u32(from);
    if (count != 0 && (count != SXT_SPOOL_ENDS || spool->ends == NULL))
        return false;
    /* The place of an end depends on a hash with random numbers: they are sorted in when those are known. */
    for (uint32_t i = 0; i < count; i++) {
        struct sxt_spool_postponed end = get_free(from);
        spool->ends[i] = (struct sxt_spool_end){end.address, end.tick, end.way};
    }
    return !from->failed;
}

static bool get_mapping_events(struct sxt_spool *spool, struct sxt_cursor *from)
{
    enum { EACH = 25 };
    uint32_t count = sxt_cursor_u32(from);
    spool->mapping_way = sxt_cursor_u32(from);
    spool->mapping_tick = sxt_cursor_u64(from);
    if (count > sxt_cursor_left(from) / EACH)
        return false;
    struct sxt_mapping_event *events = sxt_arena_calloc(&spool->kept, (size_t)count + 1, sizeof *events);
    if (events == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        events[i].is_alloc = sxt_cursor_u8(from) != 0;
        events[i].address = sxt_cursor_u64(from);
        events[i].size = sxt_cursor_u64(from);
        events[i].stack = sxt_cursor_u32(from);
        events[i].thread = sxt_cursor_u32(from);
        if (!is_known(spool, events[i].stack))
            return false;
    }
    spool->mapping_events = events;
    spool->mapping_event_count = count;
    if (sxt_cursor_u8(from) == 0)
        return !from->failed;
    spool->mappings = sxt_mappings_load(from, spool->facts.period, spool->stack_numbers);
    return spool->mappings != NULL && !from->failed;
}

static bool get_spans(struct sxt_spool *spool, struct sxt_cursor *from)
{
    uint64_t count = sxt_cursor_u32(from), last = SXT_SPOOL_WINDOWS_OFFSET;
    if (from->failed || count > sxt_cursor_left(from) / 16)
        return false;
    spool->spans = malloc((count + 1) * sizeof *spool->spans);
    spool->span_capacity = count + 1;
    for (size_t i = 0; i < count && spool->spans != NULL; i++) {
        struct sxt_spool_span span = {.start = sxt_cursor_u64(from)};
        span.end = sxt_cursor_u64(from);
        if (span.start < last || span.end <= span.start)
            return false;
        spool->spans[spool->span_count++] = span;
        last = span.end;
    }
    return spool->spans != NULL && !from->failed;
}

/* The part of a checkpoint that says what was consumed. */
static bool get_consumed(struct sxt_spool *spool, struct sxt_cursor *from)
{
    struct sxt_spool_consumed *consumed = &spool->consumed;
    consumed->size = sxt_cursor_u64(from);
    consumed->event_count = sxt_cursor_u64(from);
    consumed->time = sxt_cursor_u64(from);
    spool->unmatched = sxt_cursor_u64(from);
    const uint8_t *header = sxt_cursor_bytes(from, sizeof consumed->header);
    uint16_t size = sxt_cursor_u16(from);
    const char *name = (const char *)sxt_cursor_bytes(from, size);
    if (header == NULL || name == NULL || size == 0 || size > NAME_MOST || memchr(name, 0, size) != NULL ||
        memchr(name, '/', size) != NULL || consumed->size < sizeof consumed->header)
        return false;
    memcpy(consumed->header, header, sizeof consumed->header);
    consumed->name = (sxt_string){sxt_arena_copy(&spool->kept, name, size), size};
    return consumed->name.data != NULL && get_spans(spool, from);
}

/*
 * Reads the newest checkpoint; *CONTENT is NULL if there is none. That of an earlier program of the process is void,
 * except for the parts of the file that were released, and the name of the other file.
 */
static int find_checkpoint(struct sxt_spool *spool, const uint8_t *data, size_t size, struct sxt_spool_chunk *chunk,
                           uint8_t **content, sxt_error *error)
{
    struct sxt_spool_control control = sxt_spool_read_control(data);
    *content = NULL;
    if (control.checkpoint == 0)
        return SXT_OK;
    int status = read_chunk(data, size, control.checkpoint, SXT_SPOOL_CHECKPOINT, chunk, content, error);
    if (status == SXT_OK && chunk->image != control.image) {
        struct sxt_cursor from = sxt_cursor_make(*content, chunk->size, 0, false);
        if (!get_consumed(spool, &from))
            spool->span_count = 0;
        spool->unmatched = 0;
        free(*content);
        *content = NULL;
    }
    spool->is_resumed = *content != NULL;
    return status;
}

static int fail_content(const uint8_t *data, sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_FORMAT, sxt_spool_read_control(data).checkpoint,
                    "what was saved of the recording contradicts itself");
}

int sxt_spool_resume(struct sxt_spool *spool, const uint8_t *data, size_t size, sxt_error *error)
{
    struct sxt_spool_chunk chunk;
    uint8_t *content;
    int status = find_checkpoint(spool, data, size, &chunk, &content, error);
    if (status != SXT_OK || content == NULL)
        return status;
    struct sxt_cursor from = sxt_cursor_make(content, chunk.size, 0, false);
    status = read_kept_notes(spool, data, size, chunk.previous, error);
    if (status == SXT_OK && (!get_consumed(spool, &from) || !get_ways(spool, &from) || !get_frees(spool, &from) ||
                             !get_mapping_events(spool, &from)))
        status = fail_content(data, error);
    free(content);
    return status;
}

int sxt_spool_peek(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error)
{
    struct sxt_spool_chunk chunk;
    uint8_t *content;
    *out = NULL;
    struct sxt_spool *spool = calloc(1, sizeof *spool);
    if (spool == NULL)
        return sxt_fail_memory(error, sizeof *spool);
    sxt_arena_init(&spool->kept, 0, sxt_arena_separate_default);
    int status = sxt_spool_check(data, size, error);
    if (status == SXT_OK)
        status = find_checkpoint(spool, data, size, &chunk, &content, error);
    if (status == SXT_OK && content != NULL) {
        struct sxt_cursor from = sxt_cursor_make(content, chunk.size, 0, false);
        status = get_consumed(spool, &from) ? SXT_OK : fail_content(data, error);
        free(content);
    }
    if (status != SXT_OK)
        sxt_spool_close(&spool);
    *out = spool;
    return status;
}

sxt_string sxt_spool_events_name(const struct sxt_spool *spool)
{
    return spool->consumed.name;
}

const struct sxt_spool_consumed *sxt_spool_get_consumed(const struct sxt_spool *spool)
{
    return spool->is_resumed ? &spool->consumed : NULL;
}
