/*
 * spool_consume.c: releases the windows of a spool whose records are elsewhere.
 *
 * A window may be released if its stream has gone on to another one, and if its events and notes come before those of
 * the checkpoint. Nothing writes to it any more: a stream has one window that it writes to, and only that one has the
 * highest sequence. It keeps its place, so a spool has a few windows at its beginning and holes between them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "mlyze/spool_private.h"

void sxt_spool_consume(struct sxt_spool *spool)
{
    spool->is_consumed = true;
    sxt_buffer_init(&spool->log, SIZE_MAX / 4);
}

void sxt_spool_inherit(struct sxt_spool *spool, struct sxt_spool *from)
{
    spool->spans = from->spans;
    spool->span_count = from->span_count;
    spool->span_capacity = from->span_capacity;
    from->spans = NULL;
    from->span_count = from->span_capacity = 0;
}

uint64_t sxt_spool_left(const struct sxt_spool *spool, uint64_t size)
{
    for (size_t i = 0; i < spool->span_count; i++) {
        uint64_t released = spool->spans[i].end - spool->spans[i].start;
        size -= released < size ? released : size;
    }
    return size;
}

bool sxt_spool_next_part(const struct sxt_spool *spool, uint64_t size, uint64_t *start, uint64_t *end)
{
    size_t next = 0;
    *start = sxt_spool_skip(spool, *start, &next);
    while (next < spool->span_count && spool->spans[next].end <= *start)
        next++;
    *end = next < spool->span_count && spool->spans[next].start < size ? spool->spans[next].start : size;
    return *start < *end;
}

/* --- what can be released --- */

struct spans {
    struct sxt_spool_span *list;
    size_t count, capacity;
};

/* SPAN comes after all others of the list. */
static bool append(struct spans *spans, struct sxt_spool_span span)
{
    struct sxt_spool_span *last = spans->count > 0 ? &spans->list[spans->count - 1] : NULL;
    if (last != NULL && last->end == span.start) {
        last->end = span.end;
        return true;
    }
    void *moved = sxt_array_grow(spans->list, &spans->capacity, spans->count + 1, sizeof *spans->list);
    if (moved == NULL)
        return false;
    spans->list = moved;
    spans->list[spans->count++] = span;
    return true;
}

static bool is_needed(const struct sxt_spool *spool, const struct sxt_spool_window *header,
                      const struct sxt_spool_way **way)
{
    if (header->image != spool->image)
        return header->image > spool->image;
    if (*way == NULL || (*way)->stream != header->stream)
        *way = sxt_spool_way_of(spool, header->stream);
    return *way == NULL || header->sequence >= spool->pieces[(*way)->piece].sequence ||
           header->sequence >= (*way)->noted_sequence;
}

/* Of the chunks, only the checkpoint and the notes of this program are needed. */
static bool is_needed_chunk(const struct sxt_spool *spool, const uint8_t *data, uint64_t offset)
{
    struct sxt_spool_chunk chunk;
    memcpy(&chunk, data + offset, sizeof chunk);
    return chunk.kind == SXT_SPOOL_NOTES ? chunk.image == spool->image
                                         : sxt_spool_read_control(data).checkpoint == offset;
}

static bool find_released(const struct sxt_spool *spool, const uint8_t *data, uint64_t size, struct spans *found)
{
    const struct sxt_spool_way *way = NULL;
    size_t next = 0;
    uint64_t step;
    for (uint64_t at = SXT_SPOOL_WINDOWS_OFFSET;; at += step) {
        at = sxt_spool_skip(spool, at, &next);
        if (at + SXT_SPOOL_UNIT > size)
            return true;
        struct sxt_spool_window header = sxt_spool_read_header(data, at);
        bool is_window = sxt_spool_is_window(&header);
        uint64_t chunk = is_window ? 0 : sxt_spool_chunk_room(data, size, at);
        step = is_window ? header.size : chunk > 0 ? chunk : SXT_SPOOL_UNIT;
        if (at + step > size || (!is_window && chunk == 0) || (is_window && is_needed(spool, &header, &way)) ||
            (chunk > 0 && is_needed_chunk(spool, data, at)))
            continue;
        if (!append(found, (struct sxt_spool_span){at, at + step}))
            return false;
    }
}

/* Adds the parts in FOUND to those of the spool. Neither overlap each other. */
static bool add_spans(struct sxt_spool *spool, const struct spans *found)
{
    struct spans all = {0};
    size_t i = 0, k = 0;
    bool is_good = true;
    while (is_good && (i < spool->span_count || k < found->count)) {
        bool is_old = k == found->count || (i < spool->span_count && spool->spans[i].start < found->list[k].start);
        is_good = append(&all, is_old ? spool->spans[i++] : found->list[k++]);
    }
    if (!is_good) {
        free(all.list);
        return false;
    }
    free(spool->spans);
    spool->spans = all.list;
    spool->span_count = all.count;
    spool->span_capacity = all.capacity;
    return true;
}

/* An error other than that it cannot be done is one as well: the room stays taken, and nothing else changes. */
static uint64_t punch_all(const struct spans *found, int fd, sxt_spool_punch *punch, bool *is_punched)
{
    uint64_t released = 0;
    for (size_t i = 0; i < found->count && *is_punched; i++) {
        uint64_t size = found->list[i].end - found->list[i].start;
        int status;
        do
            status =
                punch(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (int64_t)found->list[i].start, (int64_t)size);
        while (status != 0 && errno == EINTR);
        *is_punched = status == 0;
        released += status == 0 ? size : 0;
    }
    return released;
}

int sxt_spool_release(struct sxt_spool *spool, const uint8_t *data, uint8_t *head, int fd, sxt_spool_punch *punch,
                      bool *is_punched, sxt_error *error)
{
    struct sxt_spool_control *control = (void *)(head + SXT_SPOOL_CONTROL_OFFSET);
    struct spans found = {0};
    struct stat file;
    *is_punched = true;
    if (fstat(fd, &file) != 0)
        return sxt_fail_errno(error, errno, "cannot be examined");
    bool is_good = find_released(spool, data, (uint64_t)file.st_size, &found) && add_spans(spool, &found);
    if (is_good) {
        uint64_t released = punch_all(&found, fd, punch, is_punched);
        __atomic_fetch_add(&control->released, released, __ATOMIC_RELAXED);
    }
    free(found.list);
    return is_good ? SXT_OK : sxt_fail_memory(error, found.count * sizeof *found.list);
}
