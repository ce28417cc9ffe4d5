/*
 * inflate.c: zlib, liblzma and libzstd, driven by one loop.
 *
 * A job reads one member (gzip member, zlib stream, xz stream, zstd frame) after another from memory. A decoder takes
 * one step at a time into a window of the sink. The sink owns the limit: when it is full, its window is a single spare
 * byte, which distinguishes a stream that ends exactly there from one that continues.
 *
 * libdeflate takes a third of zlib's time for a zlib stream of known size. What it refuses, zlib reads again, so that
 * damage is reported as for any other stream.
 */
#define ZLIB_CONST
#include "base/inflate.h"

#include <libdeflate.h>
#include <limits.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"

#define FIRST_CAPACITY   ((size_t)64 << 10)
#define WINDOW_LOG_LIMIT 27
/* A dictionary of 128 MiB, and what the decoder needs beside it. */
#define XZ_MEMORY_LIMIT (((uint64_t)1 << WINDOW_LOG_LIMIT) + ((uint64_t)1 << 20))

struct sink {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t limit;
    uint8_t spare;
};

struct job {
    enum sxt_compression kind;
    const uint8_t *data;
    size_t size;
    size_t position; /* how far the input was read */
    struct sink sink;
    bool exact; /* the sink is the caller's memory; the limit is the length that must come out */
    sxt_error *error;
    union {
        z_stream deflate;
        lzma_stream xz;
        ZSTD_DCtx *zstd;
    } decoder;
};

struct codec {
    bool zero_padding; /* zero bytes between and after members are allowed */
    /* Prepares the decoder for the first member, restart for one more. */
    int (*open)(struct job *job);
    int (*restart)(struct job *job);
    /* Moves job->position on and writes at most ROOM bytes to TO; *ENDED at the end of a member. */
    int (*step)(struct job *job, uint8_t *to, size_t room, size_t *produced, bool *ended);
    void (*close)(struct job *job);
    bool (*begins)(const uint8_t *data, size_t size); /* may a further member begin like this? */
};

static const struct codec *codec_of(enum sxt_compression kind);
static int expand(struct job *job);
static bool is_skippable_frame(const uint8_t *data, size_t size);

enum sxt_compression sxt_compression_of(const void *data, size_t size)
{
    static const uint8_t gzip[] = {0x1f, 0x8b, 8};
    static const uint8_t xz[] = {0xfd, '7', 'z', 'X', 'Z', 0};
    static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (size >= sizeof gzip && memcmp(data, gzip, sizeof gzip) == 0)
        return SXT_COMPRESSION_GZIP;
    if (size >= sizeof xz && memcmp(data, xz, sizeof xz) == 0)
        return SXT_COMPRESSION_XZ;

    /* Parallel zstd tools put skippable frames in front; other formats have them too, so a real frame must follow. */
    const uint8_t *at = data;
    while (is_skippable_frame(at, size)) {
        uint64_t frame = 8 + ((uint64_t)at[4] | (uint64_t)at[5] << 8 | (uint64_t)at[6] << 16 | (uint64_t)at[7] << 24);
        if (frame > size)
            return SXT_COMPRESSION_NONE;
        at += frame;
        size -= (size_t)frame;
    }
    if (size >= sizeof zstd && memcmp(at, zstd, sizeof zstd) == 0)
        return SXT_COMPRESSION_ZSTD;
    return SXT_COMPRESSION_NONE;
}

const char *sxt_compression_name(enum sxt_compression kind)
{
    switch (kind) {
    case SXT_COMPRESSION_NONE:
        return "none";
    case SXT_COMPRESSION_GZIP:
        return "gzip";
    case SXT_COMPRESSION_ZLIB:
        return "zlib";
    case SXT_COMPRESSION_XZ:
        return "xz";
    case SXT_COMPRESSION_ZSTD:
        return "zstd";
    }
    return "unknown";
}

int sxt_inflate(enum sxt_compression kind, const void *data, size_t size, uint64_t limit, uint8_t **out,
                size_t *out_size, sxt_error *error)
{
    *out = NULL;
    *out_size = 0;
    struct job job = {.kind = kind, .data = data, .size = size, .error = error};
    job.sink.limit = limit < PTRDIFF_MAX ? (size_t)limit : PTRDIFF_MAX;
    int status = expand(&job);
    if (status != SXT_OK) {
        free(job.sink.data);
        return status;
    }
    uint8_t *fitted = realloc(job.sink.data, job.sink.size > 0 ? job.sink.size : 1);
    if (fitted == NULL && job.sink.data == NULL)
        return sxt_fail_memory(error, 1);
    *out = fitted != NULL ? fitted : job.sink.data;
    *out_size = job.sink.size;
    return SXT_OK;
}

/* Reads a good zlib stream of EXPECTED bytes. */
static bool inflate_fast(const void *data, size_t size, uint8_t *to, size_t expected)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    size_t taken = 0, given = 0;
    bool good =
        decompressor != NULL &&
        libdeflate_zlib_decompress_ex(decompressor, data, size, to, expected, &taken, &given) == LIBDEFLATE_SUCCESS &&
        taken == size && given == expected;
    libdeflate_free_decompressor(decompressor);
    return good;
}

int sxt_inflate_exactly(enum sxt_compression kind, const void *data, size_t size, uint8_t *to, size_t expected,
                        sxt_error *error)
{
    if (kind == SXT_COMPRESSION_ZLIB && inflate_fast(data, size, to, expected))
        return SXT_OK;
    struct job job = {.kind = kind, .data = data, .size = size, .error = error, .exact = true};
    job.sink.data = to;
    job.sink.capacity = job.sink.limit = expected;
    int status = expand(&job);
    if (status == SXT_OK && job.sink.size != expected)
        return sxt_fail(error, SXT_ERROR_FORMAT, size, "%s stream expands to %zu bytes where %zu are expected",
                        sxt_compression_name(kind), job.sink.size, expected);
    return status;
}

size_t sxt_inflate_start(enum sxt_compression kind, const void *data, size_t size, uint8_t *to, size_t room)
{
    struct job job = {.kind = kind, .data = data, .size = size, .exact = true};
    job.sink.data = to;
    job.sink.capacity = job.sink.limit = room;
    (void)expand(&job);
    return job.sink.size;
}

static int stream_error(struct job *job, sxt_status code, const char *problem)
{
    return sxt_fail(job->error, code, job->position, "%s stream: %s", sxt_compression_name(job->kind), problem);
}

static bool sink_grow(struct sink *sink)
{
    size_t capacity = sink->capacity > 0 ? sink->capacity : FIRST_CAPACITY / 2;
    capacity = capacity < sink->limit / 2 ? capacity * 2 : sink->limit;
    uint8_t *data = realloc(sink->data, capacity);
    if (data == NULL)
        return false;
    sink->data = data;
    sink->capacity = capacity;
    return true;
}

/* Where the next bytes go; never without room. NULL when memory is short. */
static uint8_t *sink_window(struct sink *sink, size_t *room)
{
    if (sink->size == sink->capacity && sink->capacity < sink->limit && !sink_grow(sink))
        return NULL;
    if (sink->size == sink->capacity) {
        *room = sizeof sink->spare;
        return &sink->spare;
    }
    *room = sink->capacity - sink->size;
    return sink->data + sink->size;
}

static int sink_accept(struct job *job, size_t produced)
{
    struct sink *sink = &job->sink;
    if (produced <= sink->capacity - sink->size) {
        sink->size += produced;
        return SXT_OK;
    }
    return sxt_fail(job->error, job->exact ? SXT_ERROR_FORMAT : SXT_ERROR_LIMIT, job->position,
                    "%s stream expands to more than %s %zu bytes", sxt_compression_name(job->kind),
                    job->exact ? "the expected" : "the limit of", sink->limit);
}

/* Whether another member begins at job->position; fails when something else does. */
static int next_member(struct job *job, const struct codec *codec, bool *more)
{
    size_t at = job->position;
    while (codec->zero_padding && at < job->size && job->data[at] == 0)
        at++;
    *more = false;
    if (at == job->size)
        return SXT_OK;
    *more = codec->begins(job->data + at, job->size - at);
    job->position = at;
    return *more ? codec->restart(job) : stream_error(job, SXT_ERROR_FORMAT, "other bytes after its end");
}

static int expand_members(struct job *job, const struct codec *codec)
{
    bool stalled = false;
    for (;;) {
        size_t room = 0, produced = 0, before = job->position;
        uint8_t *window = sink_window(&job->sink, &room);
        if (window == NULL)
            return sxt_fail_memory(job->error, job->sink.capacity);
        bool ended = false;
        int status = codec->step(job, window, room, &produced, &ended);
        if (status == SXT_OK)
            status = sink_accept(job, produced);
        if (status != SXT_OK)
            return status;

        bool progress = job->position != before || produced != 0;
        if (ended) {
            bool more = false;
            status = next_member(job, codec, &more);
            if (status != SXT_OK || !more)
                return status;
        } else if (!progress && stalled) {
            return stream_error(job, SXT_ERROR_FORMAT, "cut off");
        }
        stalled = !progress;
    }
}

static int expand(struct job *job)
{
    const struct codec *codec = codec_of(job->kind);
    if (codec == NULL)
        return sxt_fail(job->error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "no decompressor for '%s'",
                        sxt_compression_name(job->kind));
    if (job->size == 0)
        return stream_error(job, SXT_ERROR_FORMAT, "empty");
    int status = codec->open(job);
    if (status != SXT_OK)
        return status;
    status = expand_members(job, codec);
    codec->close(job);
    return status;
}

static int deflate_open(struct job *job)
{
    const int gzip_only = 16;
    int result = inflateInit2(&job->decoder.deflate, MAX_WBITS + (job->kind == SXT_COMPRESSION_GZIP ? gzip_only : 0));
    return result == Z_OK ? SXT_OK : sxt_fail_memory(job->error, (uint64_t)1 << MAX_WBITS);
}

static int deflate_restart(struct job *job)
{
    return inflateReset(&job->decoder.deflate) == Z_OK ? SXT_OK : stream_error(job, SXT_ERROR_FORMAT, "cannot go on");
}

static int deflate_step(struct job *job, uint8_t *to, size_t room, size_t *produced, bool *ended)
{
    z_stream *stream = &job->decoder.deflate;
    size_t left = job->size - job->position;
    uInt given = left < UINT_MAX ? (uInt)left : UINT_MAX;
    uInt taken = room < UINT_MAX ? (uInt)room : UINT_MAX;
    stream->next_in = job->data + job->position;
    stream->avail_in = given;
    stream->next_out = to;
    stream->avail_out = taken;
    int result = inflate(stream, Z_NO_FLUSH);
    job->position += given - stream->avail_in;
    *produced = taken - stream->avail_out;
    *ended = result == Z_STREAM_END;
    switch (result) {
    case Z_OK:
    case Z_STREAM_END:
    case Z_BUF_ERROR:
        return SXT_OK;
    case Z_MEM_ERROR:
        return sxt_fail_memory(job->error, (uint64_t)1 << MAX_WBITS);
    case Z_NEED_DICT:
        return stream_error(job, SXT_ERROR_UNSUPPORTED, "needs a dictionary");
    default:
        return stream_error(job, SXT_ERROR_FORMAT, stream->msg != NULL ? stream->msg : "damaged");
    }
}

static void deflate_close(struct job *job)
{
    inflateEnd(&job->decoder.deflate);
}

static bool gzip_begins(const uint8_t *data, size_t size)
{
    return sxt_compression_of(data, size) == SXT_COMPRESSION_GZIP;
}

/* A zlib stream has no magic number, so a second one cannot be distinguished from garbage. */
static bool zlib_begins(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return false;
}

/* liblzma reuses the memory of a stream that is already open. */
static int xz_restart(struct job *job)
{
    if (lzma_stream_decoder(&job->decoder.xz, XZ_MEMORY_LIMIT, 0) != LZMA_OK)
        return sxt_fail_memory(job->error, sizeof(lzma_stream));
    return SXT_OK;
}

static int xz_open(struct job *job)
{
    job->decoder.xz = (lzma_stream)LZMA_STREAM_INIT;
    return xz_restart(job);
}

static int xz_step(struct job *job, uint8_t *to, size_t room, size_t *produced, bool *ended)
{
    lzma_stream *stream = &job->decoder.xz;
    stream->next_in = job->data + job->position;
    stream->avail_in = job->size - job->position;
    stream->next_out = to;
    stream->avail_out = room;
    lzma_ret result = lzma_code(stream, LZMA_RUN);
    job->position = job->size - stream->avail_in;
    *produced = room - stream->avail_out;
    *ended = result == LZMA_STREAM_END;
    switch (result) {
    case LZMA_OK:
    case LZMA_STREAM_END:
    case LZMA_BUF_ERROR:
        return SXT_OK;
    case LZMA_MEM_ERROR:
        return sxt_fail_memory(job->error, lzma_memusage(stream));
    case LZMA_MEMLIMIT_ERROR:
        return stream_error(job, SXT_ERROR_LIMIT, "needs a dictionary of more than 128 MiB");
    case LZMA_OPTIONS_ERROR:
        return stream_error(job, SXT_ERROR_UNSUPPORTED, "has options that are not known here");
    case LZMA_FORMAT_ERROR:
        return stream_error(job, SXT_ERROR_FORMAT, "does not begin like one");
    default:
        return stream_error(job, SXT_ERROR_FORMAT, "damaged");
    }
}

static void xz_close(struct job *job)
{
    lzma_end(&job->decoder.xz);
}

static bool xz_begins(const uint8_t *data, size_t size)
{
    return sxt_compression_of(data, size) == SXT_COMPRESSION_XZ;
}

static int zstd_open(struct job *job)
{
    job->decoder.zstd = ZSTD_createDCtx();
    if (job->decoder.zstd == NULL)
        return sxt_fail_memory(job->error, ZSTD_DStreamInSize());
    size_t result = ZSTD_DCtx_setParameter(job->decoder.zstd, ZSTD_d_windowLogMax, WINDOW_LOG_LIMIT);
    if (!ZSTD_isError(result))
        return SXT_OK;
    ZSTD_freeDCtx(job->decoder.zstd);
    return stream_error(job, SXT_ERROR_UNSUPPORTED, ZSTD_getErrorName(result));
}

/* The decoder continues with the next frame by itself. */
static int zstd_restart(struct job *job)
{
    (void)job;
    return SXT_OK;
}

static int zstd_step(struct job *job, uint8_t *to, size_t room, size_t *produced, bool *ended)
{
    ZSTD_inBuffer input = {job->data, job->size, job->position};
    ZSTD_outBuffer output = {to, room, 0};
    size_t result = ZSTD_decompressStream(job->decoder.zstd, &output, &input);
    job->position = input.pos;
    *produced = output.pos;
    *ended = result == 0;
    if (!ZSTD_isError(result))
        return SXT_OK;
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return sxt_fail_memory(job->error, (uint64_t)1 << WINDOW_LOG_LIMIT);
    case ZSTD_error_frameParameter_windowTooLarge:
        return stream_error(job, SXT_ERROR_LIMIT, "needs a window of more than 128 MiB");
    case ZSTD_error_frameParameter_unsupported:
        return stream_error(job, SXT_ERROR_UNSUPPORTED, ZSTD_getErrorName(result));
    default:
        return stream_error(job, SXT_ERROR_FORMAT, ZSTD_getErrorName(result));
    }
}

static void zstd_close(struct job *job)
{
    ZSTD_freeDCtx(job->decoder.zstd);
}

static bool is_skippable_frame(const uint8_t *data, size_t size)
{
    return size >= 8 && (data[0] & 0xf0) == 0x50 && data[1] == 0x2a && data[2] == 0x4d && data[3] == 0x18;
}

static bool zstd_begins(const uint8_t *data, size_t size)
{
    return is_skippable_frame(data, size) || sxt_compression_of(data, size) == SXT_COMPRESSION_ZSTD;
}

static const struct codec *codec_of(enum sxt_compression kind)
{
    static const struct codec gzip = {true, deflate_open, deflate_restart, deflate_step, deflate_close, gzip_begins};
    static const struct codec zlib = {false, deflate_open, deflate_restart, deflate_step, deflate_close, zlib_begins};
    static const struct codec xz = {true, xz_open, xz_restart, xz_step, xz_close, xz_begins};
    static const struct codec zstd = {false, zstd_open, zstd_restart, zstd_step, zstd_close, zstd_begins};
    switch (kind) {
    case SXT_COMPRESSION_GZIP:
        return &gzip;
    case SXT_COMPRESSION_ZLIB:
        return &zlib;
    case SXT_COMPRESSION_XZ:
        return &xz;
    case SXT_COMPRESSION_ZSTD:
        return &zstd;
    case SXT_COMPRESSION_NONE:
        break;
    }
    return NULL;
}
