/*
 * fuzz_mlyze.c: any bytes as a heap trace, plain or in blocks. A magic, a version and checksums that a fuzzer would not
 * find are put right first. Batches of any size must give the same events, verify must not pass what cannot be read,
 * every entry of an index must lead to where it says, and copies in all forms must come back byte for byte.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/output.h"
#include "mlyze/private.h"
#include "property.h"

#define COPY_MOST ((size_t)4 << 20)

/* What a trace has, as a number, and how it ended. */
struct content {
    uint64_t sum, count, time;
    int status;
};

static void mend(uint8_t *data, size_t size);
static struct content read_all(const struct sxt_mlyze *trace, size_t batch);
static void check_index(const struct sxt_mlyze *trace, const struct content *content);
static void check_copies(const struct sxt_mlyze *trace, const struct content *content);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *mended = malloc(size + 1);
    SXT_HOLDS(mended != NULL);
    memcpy(mended, data, size);
    mend(mended, size);
    struct sxt_mlyze *trace;
    uint64_t problems = sxt_mlyze_verify(mended, size, NULL, NULL);
    if (sxt_mlyze_open(mended, size, &trace, NULL) == SXT_OK) {
        struct content content = read_all(trace, 64);
        struct content again = read_all(trace, 1 + size % 7);
        SXT_HOLDS(content.sum == again.sum && content.count == again.count && content.status == again.status);
        SXT_HOLDS(content.status == SXT_OK || problems > 0);
        if (!sxt_mlyze_header(trace)->has_unknown) {
            check_index(trace, &content);
            check_copies(trace, &content);
        }
        sxt_mlyze_close(&trace);
    } else {
        SXT_HOLDS(problems > 0);
    }
    free(mended);
    return 0;
}

/* Sums of blocks of which the size is right, so that damage gets further than the sum. */
static void mend_blocks(uint8_t *data, size_t size, size_t offset)
{
    uint8_t *room = malloc(SXT_MLYZE_COLUMNS_MOST);
    struct sxt_mlyze_block block;
    struct ZSTD_DCtx_s *unpacker = NULL;
    SXT_HOLDS(room != NULL);
    while (sxt_mlyze_block_read(data, size, offset, &block, NULL) == SXT_OK) {
        const uint8_t *bytes;
        int status = sxt_mlyze_block_expand(&block, &unpacker, offset, room, &bytes, NULL);
        if (status != SXT_OK && !block.is_stored)
            sxt_store_u32le(data + offset + 12, sxt_crc32c(0, room, block.size));
        else if (status != SXT_OK)
            sxt_store_u32le(data + offset + 12, sxt_crc32c(0, bytes, block.size));
        offset += SXT_MLYZE_BLOCK_HEADER + block.stored_size;
    }
    sxt_mlyze_unpacker_free(&unpacker);
    free(room);
}

static void mend(uint8_t *data, size_t size)
{
    if (size < SXT_MLYZE_HEADER_SIZE)
        return;
    memcpy(data, "MTRC\1\0\0\0", 8);
    uint64_t text = sxt_load_u32le(data + 16);
    uint64_t offset = SXT_MLYZE_HEADER_SIZE;
    if ((data[SXT_MLYZE_AT_FLAGS] & SXT_MLYZE_METADATA_END) != 0)
        offset = sxt_load_u64le(data + SXT_MLYZE_AT_METADATA);
    if (sxt_fits(offset, text, 1, size))
        sxt_store_u32le(data + SXT_MLYZE_AT_METADATA_CRC,
                        (data[SXT_MLYZE_AT_FLAGS] & SXT_MLYZE_CHECKSUMS) != 0 ? sxt_crc32c(0, data + offset, text) : 0);
    sxt_store_u32le(data + SXT_MLYZE_AT_HEADER_CRC, 0);
    if ((data[SXT_MLYZE_AT_FLAGS] & SXT_MLYZE_CHECKSUMS) != 0)
        sxt_store_u32le(data + SXT_MLYZE_AT_HEADER_CRC, sxt_mlyze_header_crc(data));
    uint64_t events = sxt_load_u64le(data + SXT_MLYZE_AT_EVENTS);
    if ((data[SXT_MLYZE_AT_FLAGS] & SXT_MLYZE_BLOCKS) != 0 && events < size)
        mend_blocks(data, size, events);
}

static void add(struct content *content, const sxt_trace_event *event)
{
    uint64_t fields[] = {event->kind,    event->type, event->thread, event->stack,
                         event->address, event->size, event->time,   event->objects};
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        content->sum = (content->sum ^ fields[i]) * 0x100000001b3;
    if (event->kind == SXT_TRACE_OTHER && event->size > 0)
        content->sum += event->payload[0] + 3u * event->payload[event->size - 1];
    content->count++;
    content->time = event->time;
}

static struct content read_all(const struct sxt_mlyze *trace, size_t batch)
{
    struct content content = {.time = sxt_mlyze_header(trace)->start_us};
    sxt_trace_event events[64];
    struct sxt_mlyze_cursor *cursor;
    size_t count = 0;
    content.status = sxt_mlyze_cursor_open(trace, &cursor, NULL);
    if (content.status != SXT_OK)
        return content;
    do {
        SXT_HOLDS(sxt_mlyze_position(cursor) == content.count);
        content.status = sxt_mlyze_read(cursor, events, batch, &count, NULL);
        for (size_t i = 0; content.status == SXT_OK && i < count; i++) {
            SXT_HOLDS(events[i].time >= content.time);
            add(&content, &events[i]);
        }
    } while (content.status == SXT_OK && count > 0);
    sxt_mlyze_cursor_close(&cursor);
    return content;
}

static void check_index(const struct sxt_mlyze *trace, const struct content *content)
{
    struct sxt_mlyze_index index, again;
    struct sxt_mlyze_cursor *cursor;
    struct sxt_buffer bytes;
    SXT_HOLDS(sxt_mlyze_index_make(trace, &index, NULL) == SXT_OK);
    SXT_HOLDS(index.event_count == content->count && index.last_time == content->time);
    SXT_HOLDS(sxt_mlyze_cursor_open(trace, &cursor, NULL) == SXT_OK);
    for (size_t i = 0; i < index.count; i++) {
        sxt_trace_event event;
        size_t count;
        SXT_HOLDS(sxt_mlyze_seek(cursor, &index.entries[i], NULL) == SXT_OK);
        SXT_HOLDS(sxt_mlyze_position(cursor) == index.entries[i].event);
        SXT_HOLDS(sxt_mlyze_read(cursor, &event, 1, &count, NULL) == SXT_OK && count == 1);
    }
    sxt_mlyze_cursor_close(&cursor);
    sxt_buffer_init(&bytes, SIZE_MAX / 2);
    SXT_HOLDS(sxt_mlyze_index_write(trace, &index, &bytes, NULL) == SXT_OK);
    SXT_HOLDS(sxt_mlyze_index_read(trace, bytes.data, bytes.size, &again, NULL) == SXT_OK);
    SXT_HOLDS(again.count == index.count && again.event_count == index.event_count);
    sxt_mlyze_index_free(&again);
    sxt_mlyze_index_free(&index);
    sxt_buffer_free(&bytes);
}

/* A copy in memory, by way of a file that has no name. */
static uint8_t *copy(const struct sxt_mlyze *trace, enum sxt_mlyze_codec codec, bool recover, size_t *size)
{
    char name[] = "/tmp/fuzz_mlyze.XXXXXX";
    struct sxt_output output = {.fd = mkstemp(name)};
    struct sxt_mlyze_writer *writer;
    const struct sxt_mlyze_header *header = sxt_mlyze_header(trace);
    struct sxt_mlyze_settings settings = {.start_us = header->start_us, .codec = codec};
    uint64_t lost;
    SXT_HOLDS(output.fd >= 0 && unlink(name) == 0);
    SXT_HOLDS(sxt_mlyze_writer_open(&output, &settings, sxt_mlyze_metadata_text(trace), &writer, NULL) == SXT_OK);
    SXT_HOLDS(sxt_mlyze_copy(trace, writer, recover ? &lost : NULL, NULL, NULL) == SXT_OK);
    SXT_HOLDS(sxt_mlyze_writer_finish(writer, NULL) == SXT_OK);
    sxt_mlyze_writer_close(&writer);
    *size = output.size;
    uint8_t *data = malloc(*size);
    SXT_HOLDS(data != NULL && pread(output.fd, data, *size, 0) == (ssize_t)*size);
    close(output.fd);
    return data;
}

static void check_copies(const struct sxt_mlyze *trace, const struct content *content)
{
    static const enum sxt_mlyze_codec codecs[] = {SXT_MLYZE_LZ4, SXT_MLYZE_COLUMNS, SXT_MLYZE_COLUMNS_ZSTD};
    size_t plain_size, size, back_size;
    if (sxt_mlyze_events(trace).size > COPY_MOST)
        return;
    uint8_t *plain = copy(trace, SXT_MLYZE_RAW, true, &plain_size);
    for (unsigned i = 0; i < 3; i++) {
        struct sxt_mlyze *first, *second;
        SXT_HOLDS(sxt_mlyze_open(plain, plain_size, &first, NULL) == SXT_OK);
        uint8_t *compressed = copy(first, codecs[i], false, &size);
        SXT_HOLDS(sxt_mlyze_open(compressed, size, &second, NULL) == SXT_OK);
        struct content read = read_all(second, 64);
        SXT_HOLDS(read.status == SXT_OK);
        SXT_HOLDS(content->status != SXT_OK || (read.sum == content->sum && read.count == content->count));
        uint8_t *back = copy(second, SXT_MLYZE_RAW, false, &back_size);
        SXT_HOLDS(back_size == plain_size && memcmp(back, plain, back_size) == 0);
        sxt_mlyze_close(&first);
        sxt_mlyze_close(&second);
        free(compressed);
        free(back);
    }
    free(plain);
}
