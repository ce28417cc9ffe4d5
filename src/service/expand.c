/* expand.c: gzip by zlib, zstd by libzstd. */
#include "service/expand.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"

#define ROOM            ((size_t)64 << 10)
#define ZSTD_WINDOW_LOG 27
#define FEED_MAX        ((size_t)1 << 30) /* zlib counts in 32 bits */

struct sxt_expander {
    enum sxt_encoding encoding;
    uint64_t limit, read, written;
    bool is_complete; /* at the end of a member or frame */
    bool sink_failed;
    z_stream gzip;
    ZSTD_DStream *zstd;
    uint8_t room[ROOM];
};

bool sxt_encoding_parse(const char *text, enum sxt_encoding *out)
{
    static const struct {
        const char *name;
        enum sxt_encoding encoding;
    } known[] = {
        {"", SXT_ENCODING_IDENTITY},   {"identity", SXT_ENCODING_IDENTITY}, {"gzip", SXT_ENCODING_GZIP},
        {"x-gzip", SXT_ENCODING_GZIP}, {"zstd", SXT_ENCODING_ZSTD},
    };
    text = text != NULL ? text : "";
    text += strspn(text, " \t");
    size_t size = strcspn(text, " \t");
    if (text[size + strspn(text + size, " \t")] != 0)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == size && strncasecmp(known[i].name, text, size) == 0) {
            *out = known[i].encoding;
            return true;
        }
    return false;
}

int sxt_expander_open(enum sxt_encoding encoding, uint64_t limit, struct sxt_expander **out, sxt_error *error)
{
    struct sxt_expander *expander = *out = calloc(1, sizeof *expander);
    if (expander == NULL)
        return sxt_fail_memory(error, sizeof *expander);
    expander->encoding = encoding;
    expander->limit = limit;
    bool is_fine = true;
    if (encoding == SXT_ENCODING_GZIP)
        is_fine = inflateInit2(&expander->gzip, 15 + 16) == Z_OK;
    else if (encoding == SXT_ENCODING_ZSTD)
        is_fine = (expander->zstd = ZSTD_createDStream()) != NULL &&
                  !ZSTD_isError(ZSTD_DCtx_setParameter(expander->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
    if (is_fine)
        return SXT_OK;
    sxt_expander_close(out);
    return sxt_fail_memory(error, ROOM);
}

void sxt_expander_close(struct sxt_expander **pointer)
{
    struct sxt_expander *expander = *pointer;
    if (expander == NULL)
        return;
    if (expander->encoding == SXT_ENCODING_GZIP)
        inflateEnd(&expander->gzip);
    ZSTD_freeDStream(expander->zstd);
    free(expander);
    *pointer = NULL;
}

size_t sxt_expander_memory(const struct sxt_expander *expander)
{
    return expander->zstd != NULL ? ZSTD_sizeof_DStream(expander->zstd) : 0;
}

bool sxt_expander_sink_failed(const struct sxt_expander *expander)
{
    return expander->sink_failed;
}

static int damaged(const struct sxt_expander *expander, const char *why, sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_FORMAT, expander->read, "the body is not valid %s: %s",
                    expander->encoding == SXT_ENCODING_GZIP ? "gzip" : "zstd", why);
}

/* One step: *TAKEN bytes of DATA go in, *MADE bytes are in the room. */
static int step_gzip(struct sxt_expander *expander, const uint8_t *data, size_t size, size_t *taken, size_t *made,
                     sxt_error *error)
{
    z_stream *stream = &expander->gzip;
    if (expander->is_complete && inflateReset(stream) != Z_OK)
        return damaged(expander, "cannot begin another member", error);
    stream->next_in = (Bytef *)(uintptr_t)data;
    stream->avail_in = (uInt)(size < FEED_MAX ? size : FEED_MAX);
    stream->next_out = expander->room;
    stream->avail_out = ROOM;
    int result = inflate(stream, Z_NO_FLUSH);
    *taken = (size_t)(stream->next_in - data);
    *made = ROOM - stream->avail_out;
    expander->is_complete = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return damaged(expander, stream->msg != NULL ? stream->msg : "damaged", error);
    return SXT_OK;
}

static int step_zstd(struct sxt_expander *expander, const uint8_t *data, size_t size, size_t *taken, size_t *made,
                     sxt_error *error)
{
    ZSTD_inBuffer in = {.src = data, .size = size};
    ZSTD_outBuffer out = {.dst = expander->room, .size = ROOM};
    size_t result = ZSTD_decompressStream(expander->zstd, &out, &in);
    *taken = in.pos;
    *made = out.pos;
    if (ZSTD_isError(result))
        return damaged(expander, ZSTD_getErrorName(result), error);
    expander->is_complete = result == 0;
    return SXT_OK;
}

static int step_identity(struct sxt_expander *expander, const uint8_t *data, size_t size, size_t *taken, size_t *made)
{
    *taken = *made = size < ROOM ? size : ROOM;
    memcpy(expander->room, data, *made);
    expander->is_complete = true;
    return SXT_OK;
}

static int step(struct sxt_expander *expander, const uint8_t *data, size_t size, size_t *taken, size_t *made,
                sxt_error *error)
{
    switch (expander->encoding) {
    case SXT_ENCODING_GZIP:
        return step_gzip(expander, data, size, taken, made, error);
    case SXT_ENCODING_ZSTD:
        return step_zstd(expander, data, size, taken, made, error);
    case SXT_ENCODING_IDENTITY:
    default:
        return step_identity(expander, data, size, taken, made);
    }
}

int sxt_expander_feed(struct sxt_expander *expander, const void *data, size_t size, sxt_expand_sink *sink,
                      void *context, sxt_error *error)
{
    const uint8_t *at = data;
    size_t taken = 0, made = 0;
    expander->sink_failed = false;
    /* A full room may mean that there is more to come out. */
    while (size > 0 || (made == ROOM && !expander->is_complete)) {
        int status = step(expander, at, size, &taken, &made, error);
        if (status != SXT_OK)
            return status;
        at += taken;
        size -= taken;
        expander->read += taken;
        expander->written += made;
        if (expander->written > expander->limit)
            return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "the body expands to more than %llu bytes",
                            (unsigned long long)expander->limit);
        status = made > 0 ? sink(context, expander->room, made, error) : SXT_OK;
        if (status != SXT_OK) {
            expander->sink_failed = true;
            return status;
        }
        if (taken == 0 && made == 0)
            return size == 0 ? SXT_OK : damaged(expander, "it does not go on", error);
    }
    return SXT_OK;
}

int sxt_expander_finish(struct sxt_expander *expander, sxt_error *error)
{
    expander->sink_failed = false;
    if (expander->is_complete || (expander->encoding == SXT_ENCODING_IDENTITY && expander->read == 0))
        return SXT_OK;
    return damaged(expander, "it is cut off", error);
}
