/* read.c: an open trace, and cursors over its events. header.c reads the header. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "mlyze/private.h"

/* A hostile file can be full of bytes that look like the beginning of a block, so the search for one is bounded. */
#define EFFORT_LEAST ((uint64_t)64 << 20)
#define EFFORT_TIMES 8

struct sxt_mlyze {
    const uint8_t *data;
    uint64_t size;
    uint64_t events_end;
    struct sxt_mlyze_header header;
    struct sxt_mlyze_metadata metadata;
    sxt_string text;                   /* of the metadata */
    sxt_string stored_text;            /* as the file has it, expanded */
    char *unpacked;                    /* the same, where it was compressed */
    char *replaced;                    /* other metadata */
    bool has_tables;                   /* the metadata is stored as tables, and was not replaced: `text` is absent */
    _Atomic(struct sxt_buffer *) made; /* then: the text, once it was asked for */
    bool root_first;                   /* stacks begin with the root, whatever the metadata says */
};

struct sxt_mlyze_cursor {
    const struct sxt_mlyze *trace;
    struct sxt_mlyze_stream stream; /* of the events that come next: of the file, or of a block */
    uint64_t position;
    const uint8_t *limit; /* plain: the end of the part that counts as a block; NULL outside of one */
    bool has_blocks;
    bool is_columns;       /* what comes next is in `columns` */
    bool is_open;          /* a block is being read */
    uint64_t block_offset; /* of that block */
    uint64_t block_event;  /* number of its first event */
    uint64_t block_time;   /* before that */
    uint64_t next_offset;  /* of the next one */
    uint64_t block_count;  /* blocks that were opened or passed */
    const uint8_t *block_bytes;
    uint8_t *room;   /* for a block that was expanded */
    uint64_t effort; /* bytes that a search for a block may still read */
    struct sxt_mlyze_columns *columns;
    struct ZSTD_DCtx_s *unpacker; /* NULL at first */
};

/* Compares the checksums of a plain file with its header and metadata. It can be read without them, as others do. */
static void check_sums(struct sxt_mlyze *trace)
{
    struct sxt_mlyze_header *header = &trace->header;
    struct sxt_mlyze_sums sums;
    size_t at = (header->flags & SXT_MLYZE_BLOCKS) == 0 ? sxt_mlyze_sums_find(trace->text) : 0;
    if (at == 0 || !sxt_mlyze_sums_read(trace->text.data + at, &sums))
        return;
    header->has_sums = true;
    header->is_header_wrong = sums.header != sxt_crc32c(0, trace->data, SXT_MLYZE_HEADER_SIZE);
    header->is_metadata_wrong = sums.is_damaged || sums.metadata != sxt_mlyze_sums_of_metadata(trace->text, at);
}

/* The text of the metadata. */
static int open_text(struct sxt_mlyze *trace, sxt_error *error)
{
    const struct sxt_mlyze_header *header = &trace->header;
    const uint8_t *text = trace->data + header->metadata_offset;
    if ((header->flags & SXT_MLYZE_CHECKSUMS) != 0 &&
        sxt_crc32c(0, text, header->metadata_size) != sxt_load_u32le(trace->data + SXT_MLYZE_AT_METADATA_CRC))
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_MLYZE_AT_METADATA_CRC, "the checksum of the metadata is wrong");
    trace->text = (sxt_string){(const char *)text, header->metadata_size};
    trace->has_tables = (header->flags & SXT_MLYZE_METADATA_TABLES) != 0;
    if ((header->flags & SXT_MLYZE_METADATA_LZ4) == 0 || trace->has_tables)
        return SXT_OK;
    size_t size;
    int status =
        sxt_mlyze_text_unpack(text, header->metadata_size, header->metadata_offset, &trace->unpacked, &size, error);
    if (status == SXT_OK)
        trace->text = (sxt_string){trace->unpacked, size};
    return status;
}

/* Reads the metadata of the file. */
static int read_metadata(const struct sxt_mlyze *trace, bool root_first, struct sxt_mlyze_metadata *out,
                         sxt_error *error)
{
    const struct sxt_mlyze_header *header = &trace->header;
    if (trace->has_tables)
        return sxt_mlyze_tables_unpack(trace->data + header->metadata_offset, header->metadata_size,
                                       header->metadata_offset, root_first, out, error);
    bool is_packed = (header->flags & SXT_MLYZE_METADATA_LZ4) != 0;
    sxt_error inner;
    int status = sxt_mlyze_metadata_read(trace->text.data, trace->text.size, root_first, out, &inner);
    if (status == SXT_OK || error == NULL)
        return status;
    /* Offsets in the text become offsets in the file, unless it is compressed. */
    const char *end = strstr(inner.text, " (offset 0x");
    size_t length = end != NULL ? (size_t)(end - inner.text) : strlen(inner.text);
    uint64_t offset =
        inner.offset == SXT_NO_OFFSET ? inner.offset : header->metadata_offset + (is_packed ? 0 : inner.offset);
    return sxt_fail(error, inner.code, offset, "%.*s", (int)length, inner.text);
}

static int open_trace(const uint8_t *data, size_t size, bool reads_metadata, struct sxt_mlyze **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_mlyze *trace = calloc(1, sizeof *trace);
    if (trace == NULL)
        return sxt_fail_memory(error, sizeof *trace);
    trace->data = data;
    trace->size = size;
    int status = sxt_mlyze_header_read(data, size, &trace->header, error);
    if (status == SXT_OK && (trace->header.flags & SXT_MLYZE_UNCLEAN) != 0)
        status = sxt_fail_reason(error, SXT_ERROR_UNSUPPORTED, SXT_REASON_CUT_OFF, SXT_MLYZE_AT_FLAGS,
                                 "the recording was cut off");
    if (status == SXT_OK)
        status = open_text(trace, error);
    trace->stored_text = trace->text;
    if (status == SXT_OK)
        check_sums(trace);
    if (status == SXT_OK && reads_metadata)
        status = read_metadata(trace, false, &trace->metadata, error);
    if (status != SXT_OK) {
        free(trace->unpacked);
        free(trace);
        return status;
    }
    trace->events_end = (trace->header.flags & SXT_MLYZE_METADATA_END) != 0 ? trace->header.metadata_offset : size;
    *out = trace;
    return SXT_OK;
}

int sxt_mlyze_open(const uint8_t *data, size_t size, struct sxt_mlyze **out, sxt_error *error)
{
    return open_trace(data, size, true, out, error);
}

int sxt_mlyze_open_unread(const uint8_t *data, size_t size, struct sxt_mlyze **out, sxt_error *error)
{
    return open_trace(data, size, false, out, error);
}

static void forget_text(struct sxt_mlyze *trace)
{
    struct sxt_buffer *made = atomic_load(&trace->made);
    if (made != NULL)
        sxt_buffer_free(made);
    free(made);
    atomic_store(&trace->made, NULL);
}

void sxt_mlyze_close(struct sxt_mlyze **trace)
{
    if (*trace == NULL)
        return;
    sxt_mlyze_metadata_free(&(*trace)->metadata);
    free((*trace)->unpacked);
    free((*trace)->replaced);
    forget_text(*trace);
    free(*trace);
    *trace = NULL;
}

int sxt_mlyze_replace_metadata(struct sxt_mlyze *trace, char *text, size_t size, sxt_error *error)
{
    struct sxt_mlyze_metadata metadata;
    int status = sxt_mlyze_metadata_read(text, size, trace->root_first, &metadata, error);
    if (status != SXT_OK) {
        free(text);
        return status;
    }
    sxt_mlyze_metadata_free(&trace->metadata);
    free(trace->replaced);
    forget_text(trace);
    trace->has_tables = false;
    trace->metadata = metadata;
    trace->replaced = text;
    trace->text = (sxt_string){text, size};
    return SXT_OK;
}

int sxt_mlyze_set_root_first(struct sxt_mlyze *trace, sxt_error *error)
{
    struct sxt_mlyze_metadata metadata;
    int status = trace->replaced != NULL
                     ? sxt_mlyze_metadata_read(trace->text.data, trace->text.size, true, &metadata, error)
                     : read_metadata(trace, true, &metadata, error);
    if (status != SXT_OK)
        return status;
    sxt_mlyze_metadata_free(&trace->metadata);
    trace->metadata = metadata;
    trace->root_first = true;
    return SXT_OK;
}

const struct sxt_mlyze_header *sxt_mlyze_header(const struct sxt_mlyze *trace)
{
    return &trace->header;
}

const struct sxt_mlyze_metadata *sxt_mlyze_metadata(const struct sxt_mlyze *trace)
{
    return &trace->metadata;
}

/* The text of metadata that is stored as tables; NULL if memory is short. Other threads may ask for it too. */
static struct sxt_buffer *make_text(const struct sxt_mlyze *trace)
{
    _Atomic(struct sxt_buffer *) *made = (_Atomic(struct sxt_buffer *) *)(uintptr_t)&trace->made;
    struct sxt_buffer *text = atomic_load(made), *expected = NULL;
    if (text != NULL)
        return text;
    text = calloc(1, sizeof *text);
    if (text == NULL)
        return NULL;
    sxt_buffer_init(text, UINT32_MAX);
    bool is_good = sxt_mlyze_text_make(&trace->metadata, trace->metadata.rest, text, NULL) == SXT_OK;
    if (is_good && atomic_compare_exchange_strong(made, &expected, text))
        return text;
    sxt_buffer_free(text);
    free(text);
    return expected;
}

sxt_string sxt_mlyze_metadata_text(const struct sxt_mlyze *trace)
{
    if (!trace->has_tables)
        return trace->text;
    const struct sxt_buffer *made = make_text(trace);
    return made != NULL ? (sxt_string){(const char *)made->data, made->size} : (sxt_string){NULL, 0};
}

bool sxt_mlyze_has_tables(const struct sxt_mlyze *trace)
{
    return trace->has_tables;
}

sxt_string sxt_mlyze_stored_text(const struct sxt_mlyze *trace)
{
    return trace->stored_text;
}

sxt_string sxt_mlyze_events(const struct sxt_mlyze *trace)
{
    return (sxt_string){(const char *)trace->data + trace->header.events_offset,
                        trace->events_end - trace->header.events_offset};
}

sxt_string sxt_mlyze_bytes(const struct sxt_mlyze *trace)
{
    return (sxt_string){(const char *)trace->data, trace->size};
}

/* --- cursors --- */

int sxt_mlyze_cursor_open(const struct sxt_mlyze *trace, struct sxt_mlyze_cursor **out, sxt_error *error)
{
    *out = NULL;
    if (trace->header.has_unknown)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, trace->header.unknown_offset,
                        "the header has fields of a newer version; the events may have another meaning");
    struct sxt_mlyze_cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor == NULL)
        return sxt_fail_memory(error, sizeof *cursor);
    cursor->trace = trace;
    cursor->has_blocks = (trace->header.flags & SXT_MLYZE_BLOCKS) != 0;
    cursor->next_offset = trace->header.events_offset;
    cursor->stream.time = trace->header.start_us;
    cursor->effort = EFFORT_LEAST + EFFORT_TIMES * trace->size;
    if (cursor->has_blocks) {
        cursor->room = malloc(SXT_MLYZE_COLUMNS_MOST);
        cursor->columns = sxt_mlyze_columns_new();
        if (cursor->room == NULL || cursor->columns == NULL) {
            sxt_mlyze_cursor_close(&cursor);
            return sxt_fail_memory(error, SXT_MLYZE_COLUMNS_MOST);
        }
    } else {
        cursor->stream.next = trace->data + trace->header.events_offset;
        cursor->stream.end = trace->data + trace->events_end;
    }
    *out = cursor;
    return SXT_OK;
}

void sxt_mlyze_cursor_close(struct sxt_mlyze_cursor **cursor)
{
    if (*cursor == NULL)
        return;
    free((*cursor)->room);
    sxt_mlyze_columns_free(&(*cursor)->columns);
    sxt_mlyze_unpacker_free(&(*cursor)->unpacker);
    free(*cursor);
    *cursor = NULL;
}

uint64_t sxt_mlyze_offset(const struct sxt_mlyze_cursor *cursor)
{
    if (!cursor->has_blocks)
        return (uint64_t)(cursor->stream.next - cursor->trace->data);
    return cursor->is_open ? cursor->block_offset : cursor->next_offset;
}

uint64_t sxt_mlyze_position(const struct sxt_mlyze_cursor *cursor)
{
    return cursor->position;
}

void sxt_mlyze_get_place(const struct sxt_mlyze_cursor *cursor, struct sxt_mlyze_index_entry *place, uint64_t *skipped)
{
    *place = (struct sxt_mlyze_index_entry){
        .offset = sxt_mlyze_offset(cursor), .event = cursor->position, .time = cursor->stream.time};
    *skipped = 0;
    if (cursor->has_blocks && cursor->is_open) {
        *skipped = cursor->position - cursor->block_event;
        place->event = cursor->block_event;
        place->time = cursor->block_time;
    }
}

/* The block at next_offset becomes the one that is read. */
static int open_block(struct sxt_mlyze_cursor *cursor, sxt_error *error)
{
    const struct sxt_mlyze *trace = cursor->trace;
    struct sxt_mlyze_block block;
    uint64_t offset = cursor->next_offset;
    int status = sxt_mlyze_block_read(trace->data, trace->events_end, offset, &block, error);
    if (status != SXT_OK)
        return status;
    if (block.event != cursor->position || block.time != cursor->stream.time)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset + (block.event != cursor->position ? 24 : 16),
                        "the block does not continue the one before it");
    const uint8_t *bytes;
    status = sxt_mlyze_block_expand(&block, &cursor->unpacker, offset, cursor->room, &bytes, error);
    if (status != SXT_OK)
        return status;
    cursor->is_columns = sxt_mlyze_codec_has_columns(block.codec);
    if (cursor->is_columns) {
        status = sxt_mlyze_columns_open(cursor->columns, bytes, block.size, block.time, offset, error);
        if (status != SXT_OK)
            return status;
    }
    cursor->block_bytes = bytes;
    cursor->stream.next = bytes;
    cursor->stream.end = bytes + block.size;
    cursor->block_offset = offset;
    cursor->block_event = block.event;
    cursor->block_time = block.time;
    cursor->next_offset = offset + SXT_MLYZE_BLOCK_HEADER + block.stored_size;
    cursor->block_count++;
    cursor->is_open = true;
    return SXT_OK;
}

/* Reads from the open block; 0 events mean its end. */
static int read_open_block(struct sxt_mlyze_cursor *cursor, sxt_trace_event *events, size_t capacity, size_t *count,
                           sxt_error *error)
{
    if (cursor->is_columns) {
        int status = sxt_mlyze_columns_read(cursor->columns, events, capacity, count, &cursor->stream.time, error);
        if (status != SXT_OK)
            return status;
    } else {
        *count = sxt_mlyze_decode(&cursor->stream, events, capacity);
        if (*count == 0 && cursor->stream.next != cursor->stream.end)
            return sxt_mlyze_fail_fault(&cursor->stream, cursor->block_offset, error);
    }
    cursor->is_open = *count > 0;
    return SXT_OK;
}

static int read_block(struct sxt_mlyze_cursor *cursor, sxt_trace_event *events, size_t capacity, size_t *count,
                      sxt_error *error)
{
    *count = 0;
    while (*count == 0 && (cursor->is_open || cursor->next_offset < cursor->trace->events_end)) {
        int status = cursor->is_open ? SXT_OK : open_block(cursor, error);
        if (status == SXT_OK)
            status = read_open_block(cursor, events, capacity, count, error);
        if (status != SXT_OK)
            return status;
    }
    return SXT_OK;
}

static int fail_plain(const struct sxt_mlyze_cursor *cursor, sxt_error *error)
{
    const struct sxt_mlyze_stream *stream = &cursor->stream;
    return sxt_mlyze_fail_fault(stream, (uint64_t)(stream->fault_at - cursor->trace->data), error);
}

int sxt_mlyze_read(struct sxt_mlyze_cursor *cursor, sxt_trace_event *events, size_t capacity, size_t *count,
                   sxt_error *error)
{
    int status = SXT_OK;
    if (cursor->has_blocks) {
        status = read_block(cursor, events, capacity, count, error);
    } else {
        cursor->stream.end = cursor->trace->data + cursor->trace->events_end;
        *count = sxt_mlyze_decode(&cursor->stream, events, capacity);
        if (*count == 0 && cursor->stream.next != cursor->stream.end)
            status = fail_plain(cursor, error);
    }
    cursor->position += status == SXT_OK ? *count : 0;
    return status;
}

/* --- a block at a time --- */

int sxt_mlyze_next_block(struct sxt_mlyze_cursor *cursor, struct sxt_mlyze_index_entry *out, bool *is_there,
                         sxt_error *error)
{
    const struct sxt_mlyze *trace = cursor->trace;
    uint64_t offset = sxt_mlyze_offset(cursor);
    *is_there = offset < trace->events_end;
    *out = (struct sxt_mlyze_index_entry){.offset = offset, .event = cursor->position, .time = cursor->stream.time};
    if (!*is_there)
        return SXT_OK;
    if (cursor->has_blocks) {
        int status = open_block(cursor, error);
        out->size = (uint32_t)(cursor->stream.end - cursor->stream.next);
        out->stored_size = (uint32_t)(cursor->next_offset - offset);
        return status;
    }
    uint64_t left = trace->events_end - offset;
    cursor->limit = trace->data + offset + (left < SXT_MLYZE_BLOCK_MOST ? left : SXT_MLYZE_BLOCK_MOST);
    cursor->block_offset = offset;
    return SXT_OK;
}

/* Plain: events up to the limit; an event that is larger than a block is a block by itself. */
static int read_to_limit(struct sxt_mlyze_cursor *cursor, sxt_trace_event *events, size_t capacity, size_t *count,
                         sxt_error *error)
{
    const struct sxt_mlyze *trace = cursor->trace;
    struct sxt_mlyze_stream *stream = &cursor->stream;
    stream->end = cursor->limit;
    *count = stream->next < cursor->limit ? sxt_mlyze_decode(stream, events, capacity) : 0;
    if (*count > 0 || stream->next >= cursor->limit)
        return SXT_OK;
    bool is_first = stream->next == trace->data + cursor->block_offset;
    stream->end = trace->data + trace->events_end;
    if (stream->fault == SXT_MLYZE_CUT && (is_first || cursor->limit == stream->end)) {
        *count = sxt_mlyze_decode(stream, events, 1);
        cursor->limit = stream->next;
    } else if (stream->fault == SXT_MLYZE_CUT) {
        return SXT_OK;
    }
    return *count > 0 ? SXT_OK : fail_plain(cursor, error);
}

int sxt_mlyze_read_in_block(struct sxt_mlyze_cursor *cursor, sxt_trace_event *events, size_t capacity, size_t *count,
                            sxt_error *error)
{
    int status = SXT_OK;
    *count = 0;
    if (!cursor->has_blocks)
        status = read_to_limit(cursor, events, capacity, count, error);
    else if (cursor->is_open)
        status = read_open_block(cursor, events, capacity, count, error);
    cursor->position += status == SXT_OK ? *count : 0;
    return status;
}

const uint8_t *sxt_mlyze_block_bytes(const struct sxt_mlyze_cursor *cursor, size_t *size)
{
    const uint8_t *from = cursor->has_blocks ? cursor->block_bytes : cursor->trace->data + cursor->block_offset;
    const uint8_t *to = cursor->stream.next;
    *size = (size_t)(to - from);
    return cursor->has_blocks && cursor->is_columns ? NULL : from;
}

int sxt_mlyze_seek(struct sxt_mlyze_cursor *cursor, const struct sxt_mlyze_index_entry *entry, sxt_error *error)
{
    const struct sxt_mlyze *trace = cursor->trace;
    if (entry->offset < trace->header.events_offset || entry->offset > trace->events_end)
        return sxt_fail(error, SXT_ERROR_USAGE, entry->offset, "the index points outside the file");
    cursor->position = entry->event;
    cursor->stream.time = entry->time;
    cursor->next_offset = entry->offset;
    cursor->is_open = false;
    if (cursor->has_blocks)
        return entry->offset == trace->events_end ? SXT_OK : open_block(cursor, error);
    cursor->stream.next = trace->data + entry->offset;
    cursor->stream.end = trace->data + trace->events_end;
    return SXT_OK;
}

/* Whether a whole block begins at OFFSET. */
static bool is_block(struct sxt_mlyze_cursor *cursor, uint64_t offset, struct sxt_mlyze_block *block)
{
    const struct sxt_mlyze *trace = cursor->trace;
    const uint8_t *bytes;
    if (sxt_mlyze_block_read(trace->data, trace->events_end, offset, block, NULL) != SXT_OK ||
        block->event < cursor->position || block->time < cursor->stream.time)
        return false;
    uint64_t effort = (uint64_t)block->size + block->stored_size;
    if (effort > cursor->effort)
        return false;
    cursor->effort -= effort;
    return sxt_mlyze_block_expand(block, &cursor->unpacker, offset, cursor->room, &bytes, NULL) == SXT_OK;
}

/* The next whole block from OFFSET on becomes the one to read; false if there is none. */
static bool find_block(struct sxt_mlyze_cursor *cursor, uint64_t offset)
{
    const struct sxt_mlyze *trace = cursor->trace;
    while (offset < trace->events_end) {
        const uint8_t *mark = memchr(trace->data + offset, SXT_MLYZE_BLOCK_MARK, trace->events_end - offset);
        struct sxt_mlyze_block block;
        if (mark == NULL)
            return false;
        offset = (uint64_t)(mark - trace->data);
        if (is_block(cursor, offset, &block)) {
            cursor->is_open = false;
            cursor->next_offset = offset;
            cursor->position = block.event;
            cursor->stream.time = block.time;
            return true;
        }
        offset++;
    }
    return false;
}

/* How many blocks there are from one offset to another, by their headers; a damaged one is the last. */
static uint64_t count_blocks(const struct sxt_mlyze *trace, uint64_t from, uint64_t to, bool *is_exact)
{
    uint64_t count = 0;
    struct sxt_mlyze_block block;
    *is_exact = true;
    for (; from < to; count++) {
        *is_exact = sxt_mlyze_block_read(trace->data, trace->events_end, from, &block, NULL) == SXT_OK &&
                    block.stored_size <= to - from - SXT_MLYZE_BLOCK_HEADER;
        from = *is_exact ? from + SXT_MLYZE_BLOCK_HEADER + block.stored_size : to;
    }
    return count;
}

bool sxt_mlyze_skip_damage(struct sxt_mlyze_cursor *cursor, struct sxt_mlyze_loss *loss)
{
    const struct sxt_mlyze *trace = cursor->trace;
    struct sxt_mlyze_loss unused;
    loss = loss != NULL ? loss : &unused;
    *loss = (struct sxt_mlyze_loss){.offset = sxt_mlyze_offset(cursor), .events = SXT_MLYZE_NOT_KNOWN};
    if (!cursor->has_blocks)
        return false;
    uint64_t position = cursor->position, passed = cursor->block_count - cursor->is_open;
    bool is_found = find_block(cursor, loss->offset + 1);
    uint64_t end = is_found ? cursor->next_offset : trace->events_end;
    loss->block = passed + 1;
    loss->blocks = count_blocks(trace, loss->offset, end, &loss->is_bounded);
    cursor->block_count = passed + loss->blocks;
    if (is_found)
        loss->events = cursor->position - position;
    else if (trace->header.event_count >= position && trace->header.event_count != 0)
        loss->events = trace->header.event_count - position;
    return is_found;
}

void sxt_mlyze_fill_offsets(const struct sxt_mlyze_cursor *cursor, uint64_t offset, uint64_t time,
                            sxt_trace_event *events, size_t count)
{
    const struct sxt_mlyze *trace = cursor->trace;
    struct sxt_mlyze_stream stream = {
        .next = trace->data + offset, .end = trace->data + trace->events_end, .time = time};
    size_t last = count;
    while (last > 0 && events[last - 1].kind != SXT_TRACE_OTHER)
        last--;
    for (size_t i = 0; i < last; i++) {
        sxt_trace_event again;
        uint64_t at = cursor->has_blocks ? sxt_mlyze_offset(cursor) : (uint64_t)(stream.next - trace->data);
        if (events[i].kind == SXT_TRACE_OTHER)
            events[i].address = at;
        if (!cursor->has_blocks && sxt_mlyze_decode(&stream, &again, 1) != 1)
            return;
    }
}
