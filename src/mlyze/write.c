/* write.c: writes a trace, plain or in blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/output.h"
#include "mlyze/private.h"

/* A plain file is written this much at a time. */
#define PLAIN_MOST ((size_t)256 << 10)

struct sxt_mlyze_writer {
    struct sxt_mlyze_sink sink;
    struct sxt_mlyze_settings settings;
    size_t metadata_size;   /* in the file */
    uint32_t metadata_form; /* the flag for how it is stored; 0: as text */
    uint32_t metadata_crc;
    uint64_t metadata_offset; /* 0: before the events */
    size_t sums_at;           /* where a plain file has the digits of its checksums; 0: nowhere */
    uint64_t time;            /* of the last event */
    uint64_t count;           /* of events */
    uint64_t events_size;     /* of blocks that are written */
    uint64_t live_bytes, live_count;
    struct sxt_mlyze_index_entry entry; /* of the first event that is in `events` */
    struct sxt_buffer events;           /* that are not written yet */
    struct sxt_mlyze_writing *writing;  /* NULL before the first piece is full, and without a second thread */
    bool is_alone;                      /* there is no second thread */
};

static bool has_blocks(const struct sxt_mlyze_writer *writer)
{
    return writer->settings.codec != SXT_MLYZE_RAW;
}

static void make_header(const struct sxt_mlyze_writer *writer, uint8_t to[SXT_MLYZE_HEADER_SIZE])
{
    const struct sxt_mlyze_settings *settings = &writer->settings;
    uint32_t flags = settings->period != 0 ? SXT_MLYZE_SAMPLED : 0;
    memset(to, 0, SXT_MLYZE_HEADER_SIZE);
    memcpy(to, "MTRC", 4);
    sxt_store_u32le(to + 4, settings->version != 0 ? settings->version : SXT_MLYZE_VERSION);
    sxt_store_u64le(to + 8, settings->start_us);
    sxt_store_u32le(to + 16, (uint32_t)writer->metadata_size);
    sxt_store_u64le(to + SXT_MLYZE_AT_PERIOD, settings->period);
    sxt_store_u64le(to + SXT_MLYZE_AT_DROPPED, settings->dropped);
    if (has_blocks(writer)) {
        flags |= SXT_MLYZE_BLOCKS | SXT_MLYZE_CHECKSUMS | writer->metadata_form;
        sxt_store_u32le(to + SXT_MLYZE_AT_CODEC, settings->codec);
        sxt_store_u32le(to + SXT_MLYZE_AT_BLOCK_SIZE, SXT_MLYZE_BLOCK_MOST);
        flags |= writer->metadata_offset != 0 ? SXT_MLYZE_METADATA_END : 0;
        sxt_store_u64le(to + SXT_MLYZE_AT_EVENTS,
                        SXT_MLYZE_HEADER_SIZE + (writer->metadata_offset != 0 ? 0 : writer->metadata_size));
        sxt_store_u64le(to + SXT_MLYZE_AT_EVENTS_SIZE, writer->events_size);
        sxt_store_u64le(to + SXT_MLYZE_AT_METADATA,
                        writer->metadata_offset != 0 ? writer->metadata_offset : SXT_MLYZE_HEADER_SIZE);
        sxt_store_u64le(to + SXT_MLYZE_AT_EVENT_COUNT, writer->count);
        sxt_store_u32le(to + SXT_MLYZE_AT_METADATA_CRC, writer->metadata_crc);
        sxt_store_u32le(to + SXT_MLYZE_AT_PID, settings->pid);
    }
    sxt_store_u32le(to + SXT_MLYZE_AT_FLAGS, flags);
    if (has_blocks(writer))
        sxt_store_u32le(to + SXT_MLYZE_AT_HEADER_CRC, sxt_mlyze_header_crc(to));
}

/* Writes metadata. The checksums in it are those of another file, or were not known when it was made. */
static int write_metadata(struct sxt_mlyze_writer *writer, sxt_string metadata, sxt_error *error)
{
    char zeros[SXT_MLYZE_SUMS_DIGITS];
    struct sxt_output *output = writer->sink.output;
    size_t at = has_blocks(writer) ? 0 : sxt_mlyze_sums_find(metadata);
    if (at == 0)
        return sxt_output_write(output, metadata.data, metadata.size, error);
    if (lseek(output->fd, 0, SEEK_CUR) >= 0) {
        writer->sums_at = SXT_MLYZE_HEADER_SIZE + at;
        sxt_mlyze_sums_begin(&writer->sink.sums);
        writer->metadata_crc = sxt_mlyze_sums_of_metadata(metadata, at);
    }
    memset(zeros, '0', sizeof zeros);
    int status = sxt_output_write(output, metadata.data, at, error);
    if (status == SXT_OK)
        status = sxt_output_write(output, zeros, sizeof zeros, error);
    at += sizeof zeros;
    return status == SXT_OK ? sxt_output_write(output, metadata.data + at, metadata.size - at, error) : status;
}

/* What is given as metadata: all of its text, or tables and the rest of it. */
struct given_metadata {
    sxt_string text;
    const struct sxt_mlyze_metadata *tables; /* may be NULL */
    bool is_absent;                          /* it comes after the events */
};

/* The text of a plain file as tables, if they are smaller. Its checksums are those of that file. */
static bool make_tables(sxt_string text, struct sxt_buffer *out)
{
    size_t at = sxt_mlyze_sums_find(text);
    char *copy = at != 0 ? malloc(text.size) : NULL;
    if (copy != NULL) {
        memcpy(copy, text.data, text.size);
        memset(copy + at, '0', SXT_MLYZE_SUMS_DIGITS);
        text.data = copy;
    }
    bool is_good = sxt_mlyze_text_to_tables(text, out) && out->size < text.size;
    free(copy);
    return is_good;
}

/* As tables, if a file with blocks can have them. */
static bool store_tables(const struct sxt_mlyze_writer *writer, const struct given_metadata *given,
                         struct sxt_buffer *out)
{
    if (!has_blocks(writer))
        return false;
    return given->tables != NULL ? sxt_mlyze_tables_pack(given->tables, given->text, out)
                                 : make_tables(given->text, out);
}

/* As text, compressed in a file with blocks. *STORED is in ROOM or what was given. */
static int store_text(struct sxt_mlyze_writer *writer, const struct given_metadata *given, struct sxt_buffer *room,
                      sxt_string *stored, sxt_error *error)
{
    struct sxt_buffer packed;
    *stored = given->text;
    if (given->tables != NULL) {
        int status = sxt_mlyze_text_make(given->tables, given->text, room, error);
        if (status != SXT_OK)
            return status;
        *stored = (sxt_string){(const char *)room->data, room->size};
    }
    sxt_buffer_init(&packed, UINT32_MAX);
    if (!has_blocks(writer) || !sxt_mlyze_text_pack(*stored, &packed)) {
        sxt_buffer_free(&packed);
        return SXT_OK;
    }
    writer->metadata_form = SXT_MLYZE_METADATA_LZ4;
    sxt_buffer_free(room);
    *room = packed;
    *stored = (sxt_string){(const char *)room->data, room->size};
    return SXT_OK;
}

static int add_metadata(struct sxt_mlyze_writer *writer, const struct given_metadata *given, bool with_header,
                        sxt_error *error)
{
    struct sxt_buffer room;
    sxt_string stored = {NULL, 0};
    sxt_buffer_init(&room, UINT32_MAX);
    int status = SXT_OK;
    if (store_tables(writer, given, &room)) {
        writer->metadata_form = SXT_MLYZE_METADATA_TABLES;
        stored = (sxt_string){(const char *)room.data, room.size};
    } else {
        sxt_buffer_clear(&room);
        status = store_text(writer, given, &room, &stored, error);
    }
    writer->metadata_size = stored.size;
    writer->metadata_crc = sxt_crc32c(0, stored.data, stored.size);
    uint8_t header[SXT_MLYZE_HEADER_SIZE];
    make_header(writer, header);
    if (status == SXT_OK && with_header)
        status = sxt_output_write(writer->sink.output, header, sizeof header, error);
    if (status == SXT_OK)
        status = write_metadata(writer, stored, error);
    sxt_buffer_free(&room);
    return status;
}

/* Writes header and metadata; only room for a header if there is no metadata yet. */
static int write_beginning(struct sxt_mlyze_writer *writer, const struct given_metadata *given, sxt_error *error)
{
    static const uint8_t nothing[SXT_MLYZE_HEADER_SIZE];
    if (!given->is_absent)
        return add_metadata(writer, given, true, error);
    return sxt_output_write(writer->sink.output, nothing, sizeof nothing, error);
}

/* A writer that has written nothing yet. */
static int make_writer(struct sxt_output *output, const struct sxt_mlyze_settings *settings,
                       struct sxt_mlyze_writer **out, sxt_error *error)
{
    *out = NULL;
    if (!sxt_mlyze_codec_is_known(settings->codec))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "unknown codec %d", (int)settings->codec);
    struct sxt_mlyze_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return sxt_fail_memory(error, sizeof *writer);
    *writer = (struct sxt_mlyze_writer){
        .sink = {.output = output, .codec = settings->codec, .keeps_index = settings->keeps_index},
        .settings = *settings,
        .time = settings->start_us,
        .entry.time = settings->start_us,
    };
    sxt_buffer_init(&writer->events, SIZE_MAX / 4);
    sxt_buffer_init(&writer->sink.block, SIZE_MAX / 2);
    if (has_blocks(writer) && lseek(output->fd, 0, SEEK_CUR) < 0) {
        free(writer);
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a compressed trace can only be written to a file");
    }
    *out = writer;
    return SXT_OK;
}

static int open_writer(struct sxt_output *output, const struct sxt_mlyze_settings *settings,
                       const struct given_metadata *given, struct sxt_mlyze_writer **out, sxt_error *error)
{
    *out = NULL;
    if (given->text.size > UINT32_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "metadata of more than 4 GiB");
    int status = make_writer(output, settings, out, error);
    if (status != SXT_OK)
        return status;
    status = write_beginning(*out, given, error);
    if (status != SXT_OK)
        sxt_mlyze_writer_close(out);
    return status;
}

int sxt_mlyze_writer_open(struct sxt_output *output, const struct sxt_mlyze_settings *settings, sxt_string metadata,
                          struct sxt_mlyze_writer **out, sxt_error *error)
{
    const struct given_metadata given = {.text = metadata};
    return open_writer(output, settings, &given, out, error);
}

int sxt_mlyze_writer_open_tables(struct sxt_output *output, const struct sxt_mlyze_settings *settings,
                                 const struct sxt_mlyze_metadata *metadata, sxt_string rest,
                                 struct sxt_mlyze_writer **out, sxt_error *error)
{
    const struct given_metadata given = {.text = rest, .tables = metadata};
    return open_writer(output, settings, &given, out, error);
}

int sxt_mlyze_writer_open_early(struct sxt_output *output, const struct sxt_mlyze_settings *settings,
                                struct sxt_mlyze_writer **out, sxt_error *error)
{
    const struct given_metadata nothing = {.is_absent = true};
    if (settings->codec == SXT_MLYZE_RAW)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a plain trace begins with its metadata");
    return open_writer(output, settings, &nothing, out, error);
}

void sxt_mlyze_writer_close(struct sxt_mlyze_writer **writer)
{
    if (*writer == NULL)
        return;
    (void)sxt_mlyze_writing_end(&(*writer)->writing, NULL);
    sxt_buffer_free(&(*writer)->events);
    sxt_buffer_free(&(*writer)->sink.block);
    sxt_mlyze_index_free(&(*writer)->sink.index);
    sxt_mlyze_packer_free(&(*writer)->sink.packer);
    free(*writer);
    *writer = NULL;
}

/* Writes the first SIZE bytes of the buffered events. */
static int flush(struct sxt_mlyze_writer *writer, size_t size, sxt_error *error)
{
    int status = sxt_buffer_status(&writer->events, error);
    if (status != SXT_OK || size == 0)
        return status;
    if (writer->writing != NULL) {
        status = sxt_mlyze_writing_put(writer->writing, &writer->events, size, writer->entry, error);
    } else {
        status = sxt_mlyze_sink_write(&writer->sink, writer->events.data, size, writer->entry, error);
        memmove(writer->events.data, writer->events.data + size, writer->events.size - size);
        writer->events.size -= size;
    }
    writer->events_size += size;
    writer->entry = (struct sxt_mlyze_index_entry){
        .event = writer->count,
        .time = writer->time,
        .live_bytes = writer->live_bytes,
        .live_count = writer->live_count < UINT32_MAX ? (uint32_t)writer->live_count : UINT32_MAX,
    };
    return status;
}

/* A piece is full and more events will come, so a second thread is worth it. */
static int flush_full(struct sxt_mlyze_writer *writer, size_t size, sxt_error *error)
{
    if (writer->writing == NULL && !writer->is_alone) {
        writer->writing = sxt_mlyze_writing_start(&writer->sink, writer->settings.threads);
        writer->is_alone = writer->writing == NULL;
    }
    return flush(writer, size, error);
}

int sxt_mlyze_write(struct sxt_mlyze_writer *writer, const sxt_trace_event *event, sxt_error *error)
{
    if (event->time < writer->time)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "an event is earlier than the one before it");
    if (event->kind == SXT_TRACE_OTHER && (event->type < SXT_TRACE_OTHER || event->type >= SXT_MLYZE_TYPE_END))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "an event cannot have type %u", event->type);
    size_t before = writer->events.size;
    sxt_mlyze_encode(&writer->events, event, writer->time);
    size_t most = has_blocks(writer) ? SXT_MLYZE_BLOCK_MOST : PLAIN_MOST;
    int status = SXT_OK;
    if (writer->events.failed || writer->events.size > most)
        status = flush_full(writer, before, error);
    writer->time = event->time;
    writer->count++;
    return status;
}

void sxt_mlyze_writer_set_dropped(struct sxt_mlyze_writer *writer, uint64_t dropped)
{
    writer->settings.dropped = dropped;
}

void sxt_mlyze_writer_live(struct sxt_mlyze_writer *writer, uint64_t bytes, uint64_t count)
{
    writer->live_bytes = bytes;
    writer->live_count = count;
}

void sxt_mlyze_writer_take_index(struct sxt_mlyze_writer *writer, struct sxt_mlyze_index *out)
{
    *out = writer->sink.index;
    out->event_count = writer->count;
    out->last_time = writer->time;
    writer->sink.index = (struct sxt_mlyze_index){0};
}

int sxt_mlyze_write_bytes(struct sxt_mlyze_writer *writer, const uint8_t *bytes, size_t size, uint64_t count,
                          uint64_t time, sxt_error *error)
{
    size_t most = has_blocks(writer) ? SXT_MLYZE_BLOCK_MOST : PLAIN_MOST;
    int status = SXT_OK;
    if (writer->events.size > 0 && writer->events.size + size > most)
        status = flush_full(writer, writer->events.size, error);
    if (status != SXT_OK)
        return status;
    sxt_buffer_append(&writer->events, bytes, size);
    writer->time = time;
    writer->count += count;
    return sxt_buffer_status(&writer->events, error);
}

static int write_at(const struct sxt_mlyze_writer *writer, const void *data, size_t size, uint64_t offset,
                    sxt_error *error)
{
    for (size_t done = 0; done < size;) {
        ssize_t written =
            pwrite(writer->sink.output->fd, (const char *)data + done, size - done, (off_t)(offset + done));
        if (written > 0)
            done += (size_t)written;
        else if (written == 0 || errno != EINTR)
            return sxt_fail_errno(error, written == 0 ? EIO : errno, "cannot write");
    }
    return SXT_OK;
}

int sxt_mlyze_writer_finish(struct sxt_mlyze_writer *writer, sxt_error *error)
{
    int status = flush(writer, writer->events.size, error);
    int writing_status = sxt_mlyze_writing_end(&writer->writing, status == SXT_OK ? error : NULL);
    status = status == SXT_OK ? writing_status : status;
    if (status != SXT_OK || (!has_blocks(writer) && writer->sums_at == 0))
        return status;
    uint8_t header[SXT_MLYZE_HEADER_SIZE];
    make_header(writer, header);
    if (has_blocks(writer))
        return write_at(writer, header, sizeof header, 0, error);
    struct sxt_mlyze_sums sums = writer->sink.sums;
    char digits[SXT_MLYZE_SUMS_DIGITS + 1];
    sums.header = sxt_crc32c(0, header, sizeof header);
    sums.metadata = writer->metadata_crc;
    sxt_mlyze_sums_write(&sums, digits);
    return write_at(writer, digits, SXT_MLYZE_SUMS_DIGITS, writer->sums_at, error);
}

int sxt_mlyze_writer_pause(struct sxt_mlyze_writer *writer, uint8_t header[SXT_MLYZE_HEADER_SIZE], sxt_error *error)
{
    int status = flush(writer, writer->events.size, error);
    int writing_status = sxt_mlyze_writing_end(&writer->writing, status == SXT_OK ? error : NULL);
    status = status == SXT_OK ? writing_status : status;
    writer->metadata_offset = writer->sink.output->size;
    make_header(writer, header);
    writer->metadata_offset = 0;
    return status;
}

int sxt_mlyze_writer_finish_tables(struct sxt_mlyze_writer *writer, const struct sxt_mlyze_metadata *metadata,
                                   sxt_string rest, sxt_error *error)
{
    const struct given_metadata given = {.text = rest, .tables = metadata};
    int status = flush(writer, writer->events.size, error);
    int writing_status = sxt_mlyze_writing_end(&writer->writing, status == SXT_OK ? error : NULL);
    status = status == SXT_OK ? writing_status : status;
    if (status != SXT_OK)
        return status;
    writer->metadata_offset = writer->sink.output->size;
    status = add_metadata(writer, &given, false, error);
    return status == SXT_OK ? sxt_mlyze_writer_finish(writer, error) : status;
}

int sxt_mlyze_writer_resume(struct sxt_output *output, const struct sxt_mlyze_settings *settings,
                            const uint8_t header[SXT_MLYZE_HEADER_SIZE], struct sxt_mlyze_writer **out,
                            sxt_error *error)
{
    output->size = sxt_load_u64le(header + SXT_MLYZE_AT_METADATA);
    *out = NULL;
    if (lseek(output->fd, (off_t)output->size, SEEK_SET) < 0)
        return sxt_fail_errno(error, errno, "cannot write");
    int status = make_writer(output, settings, out, error);
    if (status == SXT_OK) {
        (*out)->count = sxt_load_u64le(header + SXT_MLYZE_AT_EVENT_COUNT);
        (*out)->events_size = sxt_load_u64le(header + SXT_MLYZE_AT_EVENTS_SIZE);
    }
    return status;
}
