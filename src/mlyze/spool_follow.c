/*
 * spool_follow.c: reads a spool while the recorder still writes it.
 *
 * Windows are found again and again. Those that their stream has left do not change any more; the last one of each
 * stream is copied, and counts if its header is the same afterwards. A record that is not there yet gets a time that is
 * not long before now. So all records up to a moment shortly before a search are known after it, but for those of a
 * thread that the system stopped between taking the time and writing: such a record comes late. Nothing depends on it
 * before it is written, so the order of events at an address is right, and only its time is too late.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "mlyze/spool_private.h"

#define DELAY_US 20000 /* a thread rarely takes longer to write a record */

/* A window in the file. */
struct window {
    uint64_t offset;
    struct sxt_spool_window header;
};

struct windows {
    struct window *list;
    size_t count, capacity;
};

int sxt_spool_follow(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error)
{
    struct sxt_spool *spool;
    int status = sxt_spool_new(data, size, &spool, error);
    if (status == SXT_OK) {
        spool->is_followed = true;
        spool->image = sxt_spool_read_control(data).image;
        status = sxt_spool_merge_begin(spool, error);
    }
    if (status != SXT_OK)
        sxt_spool_close(&spool);
    *out = spool;
    return status;
}

/* --- windows --- */

static uint64_t size_of_file(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

static uint32_t sequence_of(const struct sxt_spool *spool, const struct sxt_spool_way *way)
{
    return spool->pieces[way->piece].sequence;
}

/* Content moves towards the end of the file, so nothing is missed by a search in this direction. */
static int find_windows(const struct sxt_spool *spool, const uint8_t *data, int fd, struct windows *windows,
                        sxt_error *error)
{
    const struct sxt_spool_way *way = NULL;
    uint64_t end = size_of_file(fd), step;
    size_t next = 0;
    for (uint64_t at = SXT_SPOOL_WINDOWS_OFFSET;; at += step) {
        at = sxt_spool_skip(spool, at, &next);
        if (at + SXT_SPOOL_UNIT > end && at + SXT_SPOOL_UNIT > (end = size_of_file(fd)))
            return SXT_OK;
        struct sxt_spool_window header = sxt_spool_read_header(data, at);
        uint64_t chunk = sxt_spool_is_window(&header) ? 0 : sxt_spool_chunk_room(data, end, at);
        step = sxt_spool_is_window(&header) ? header.size : chunk > 0 ? chunk : SXT_SPOOL_UNIT;
        if (!sxt_spool_is_window(&header) || header.image != spool->image || at + step > end)
            continue;
        if (way == NULL || way->stream != header.stream)
            way = sxt_spool_way_of(spool, header.stream);
        if (way != NULL && header.sequence < sequence_of(spool, way))
            continue;
        void *moved = sxt_array_grow(windows->list, &windows->capacity, windows->count + 1, sizeof *windows->list);
        if (moved == NULL)
            return sxt_fail_memory(error, windows->count * sizeof *windows->list);
        windows->list = moved;
        windows->list[windows->count++] = (struct window){at, header};
    }
}

static int by_stream(const void *a, const void *b)
{
    const struct window *first = a, *second = b;
    if (first->header.stream != second->header.stream)
        return first->header.stream < second->header.stream ? -1 : 1;
    if (first->header.sequence != second->header.sequence)
        return first->header.sequence < second->header.sequence ? -1 : 1;
    return first->offset < second->offset ? -1 : first->offset > second->offset;
}

/* --- pieces --- */

/* What a search makes: pieces, and copies of windows that are still written to. */
struct found {
    struct sxt_spool_piece *pieces;
    size_t piece_count, piece_capacity;
    uint8_t **copies;
    size_t copy_count, copy_capacity;
    bool is_complete; /* nothing moved while it was searched for */
};

static void free_copies(uint8_t **copies, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(copies[i]);
    free(copies);
}

/* In the order in which records are written: what a first word announces is there once the word is. */
static uint8_t *copy_window(const uint8_t *from, size_t size)
{
    uint64_t *copy = malloc(size);
    for (size_t i = 0; copy != NULL && i < size / 8; i++)
        copy[i] = __atomic_load_n((const uint64_t *)(const void *)from + i, __ATOMIC_ACQUIRE);
    return (uint8_t *)copy;
}

static bool is_unchanged(const uint8_t *data, const struct window *window)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    struct sxt_spool_window now = sxt_spool_read_header(data, window->offset);
    return now.magic == SXT_SPOOL_WINDOW_MAGIC && now.stream == window->header.stream &&
           now.sequence == window->header.sequence && now.image == window->header.image;
}

static struct sxt_spool_piece piece_of(const struct window *window, const uint8_t *bytes, bool is_copy)
{
    return (struct sxt_spool_piece){
        .words = bytes + sizeof window->header,
        .word_count = (window->header.size - sizeof window->header) / 8,
        .tick = window->header.tick,
        .stream = window->header.stream,
        .sequence = window->header.sequence,
        .thread = window->header.thread,
        .is_copy = is_copy,
    };
}

/* Adds the fullest of COUNT windows with the same stream and sequence. They are copied if they may change. */
static int add_fullest(struct found *found, const uint8_t *data, const struct window *windows, size_t count,
                       bool may_change, sxt_error *error)
{
    struct sxt_spool_piece best = {0};
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *bytes = data + windows[i].offset;
        if (may_change) {
            uint8_t **moved =
                sxt_array_grow(found->copies, &found->copy_capacity, found->copy_count + 1, sizeof *moved);
            if (moved == NULL)
                return sxt_fail_memory(error, windows[i].header.size);
            found->copies = moved;
            if ((bytes = found->copies[found->copy_count] = copy_window(bytes, windows[i].header.size)) == NULL)
                return sxt_fail_memory(error, windows[i].header.size);
            found->copy_count++;
        }
        struct sxt_spool_piece piece = piece_of(&windows[i], bytes, may_change);
        size_t here = count > 1 ? sxt_spool_used_words(&piece) : 1;
        if (!is_unchanged(data, &windows[i]) || (best.words != NULL && here <= used))
            continue;
        best = piece;
        used = here;
    }
    found->is_complete &= best.words != NULL;
    if (best.words == NULL)
        return SXT_OK;
    void *moved = sxt_array_grow(found->pieces, &found->piece_capacity, found->piece_count + 1, sizeof *found->pieces);
    if (moved == NULL)
        return sxt_fail_memory(error, found->piece_count * sizeof *found->pieces);
    found->pieces = moved;
    found->pieces[found->piece_count++] = best;
    return SXT_OK;
}

static bool is_same(const struct window *a, const struct window *b)
{
    return a->header.stream == b->header.stream && a->header.sequence == b->header.sequence;
}

static int make_pieces(const struct sxt_spool *spool, const uint8_t *data, const struct windows *windows, bool is_ended,
                       struct found *found, sxt_error *error)
{
    int status = SXT_OK;
    uint32_t expected = 0;
    for (size_t i = 0; i < windows->count && status == SXT_OK && found->is_complete;) {
        const struct window *first = &windows->list[i];
        size_t end = i + 1;
        while (end < windows->count && is_same(&windows->list[end], first))
            end++;
        bool is_new = i == 0 || windows->list[i - 1].header.stream != first->header.stream;
        bool is_last = end == windows->count || windows->list[end].header.stream != first->header.stream;
        const struct sxt_spool_way *way = is_new ? sxt_spool_way_of(spool, first->header.stream) : NULL;
        if (is_new)
            expected = way != NULL ? sequence_of(spool, way) : 0;
        found->is_complete = is_ended || first->header.sequence == expected;
        if (found->is_complete)
            status = add_fullest(found, data, first, end - i, is_last && !is_ended, error);
        expected = first->header.sequence + 1;
        i = end;
    }
    return status;
}

/* --- ways --- */

/* The note that comes next may be in a copy that will be freed. */
static bool keep_note(struct sxt_spool *spool, struct sxt_spool_way *way)
{
    if (!way->is_queued || way->record.kind != SXT_SPOOL_NOTE)
        return true;
    way->record.data = (const uint8_t *)sxt_arena_copy(&spool->kept, way->record.data, way->record.data_size);
    return way->record.data != NULL;
}

/* Points the way of a stream to its pieces from FIRST up to END; the first one is that which it was at. */
static bool set_pieces(struct sxt_spool *spool, size_t first, size_t end)
{
    const struct sxt_spool_piece *piece = &spool->pieces[first];
    struct sxt_spool_way *way = sxt_spool_way_of(spool, piece->stream);
    if (way == NULL) {
        if (!sxt_spool_make_ways(spool, spool->way_count + 1))
            return false;
        way = &spool->ways[spool->way_count++];
        way->stream = piece->stream;
        way->tick = piece->tick;
        way->thread = piece->thread;
        way->noted_sequence = piece->sequence;
    }
    way->piece = first;
    way->piece_end = end;
    if (way->word > piece->word_count) /* of a checkpoint that belongs to other windows */
        way->word = piece->word_count;
    return true;
}

static bool is_stopped(const struct sxt_spool *spool)
{
    return spool->stop != NULL && atomic_load(spool->stop);
}

/* Reads the notes of a stream, a piece at a time. */
static int read_notes_of_way(struct sxt_spool *spool, struct sxt_spool_way *way, sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = way->piece; i < way->piece_end && status == SXT_OK && !is_stopped(spool); i++) {
        uint32_t sequence = spool->pieces[i].sequence;
        if (sequence < way->noted_sequence)
            continue;
        size_t most = spool->pieces[i].word_count, word = sequence == way->noted_sequence ? way->noted_word : 0;
        struct sxt_spool_way notes = {.piece = i, .piece_end = i + 1, .word = word < most ? word : most};
        status = sxt_spool_read_notes_of(spool, &notes, error);
        way->noted_sequence = sequence;
        way->noted_word = notes.word;
    }
    return status;
}

static int read_notes(struct sxt_spool *spool, sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = 0; i < spool->way_count && status == SXT_OK; i++)
        status = read_notes_of_way(spool, &spool->ways[i], error);
    return status;
}

/* Streams whose pieces all went away cannot be continued. */
static int install(struct sxt_spool *spool, struct found *found, sxt_error *error)
{
    bool is_good = true;
    for (size_t i = 0; i < spool->way_count && is_good; i++)
        is_good = keep_note(spool, &spool->ways[i]);
    free(spool->pieces);
    free_copies(spool->copies, spool->copy_count);
    spool->pieces = found->pieces;
    spool->piece_count = found->piece_count;
    spool->copies = found->copies;
    spool->copy_count = found->copy_count;
    *found = (struct found){0};
    size_t seen = 0, ways = spool->way_count;
    for (size_t i = 0; i < spool->piece_count && is_good;) {
        size_t end = i + 1;
        while (end < spool->piece_count && spool->pieces[end].stream == spool->pieces[i].stream)
            end++;
        seen += sxt_spool_way_of(spool, spool->pieces[i].stream) != NULL;
        is_good = set_pieces(spool, i, end);
        i = end;
    }
    if (!is_good)
        return sxt_fail_memory(error, spool->piece_count * sizeof *spool->pieces);
    if (seen != ways)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "a part of the recording is missing");
    int status = read_notes(spool, error);
    for (uint32_t i = 0; i < spool->way_count && status == SXT_OK; i++)
        sxt_spool_wake(spool, i);
    return status;
}

/* --- the search --- */

/* Records up to this tick will be found. */
static uint64_t moment_before(const struct sxt_spool *spool, const struct sxt_spool_control *control)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t tick = (control->options & SXT_SPOOL_TSC) != 0
                        ? sxt_spool_counter()
                        : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    uint64_t delay = (uint64_t)(DELAY_US / spool->us_per_tick);
    return tick > delay ? tick - delay : 0;
}

void sxt_spool_set_stop(struct sxt_spool *spool, const atomic_bool *stop)
{
    spool->stop = stop;
}

bool sxt_spool_is_over(const struct sxt_spool *spool, const uint8_t *data)
{
    return sxt_spool_read_control(data).image != spool->image;
}

int sxt_spool_catch_up(struct sxt_spool *spool, const uint8_t *data, int fd, bool is_ended, bool *is_done,
                       sxt_error *error)
{
    struct sxt_spool_control control = sxt_spool_read_control(data);
    struct windows windows = {0};
    struct found found = {.is_complete = true};
    *is_done = false;
    spool->stop = is_ended ? NULL : spool->stop;
    if (control.image != spool->image)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "the process executed another program");
    int status = sxt_spool_take_control(spool, data, error);
    uint64_t limit = is_ended ? UINT64_MAX : moment_before(spool, &control);
    if (status == SXT_OK)
        status = find_windows(spool, data, fd, &windows, error);
    if (status == SXT_OK && windows.count > 1)
        qsort(windows.list, windows.count, sizeof *windows.list, by_stream);
    if (status == SXT_OK)
        status = make_pieces(spool, data, &windows, is_ended, &found, error);
    *is_done = status == SXT_OK && found.is_complete;
    if (*is_done)
        status = install(spool, &found, error);
    *is_done &= is_ended || !is_stopped(spool); /* otherwise there may be notes that were not read */
    if (*is_done && status == SXT_OK) {
        spool->limit = limit;
        if (is_ended)
            sxt_spool_end_notes(spool);
    }
    free(windows.list);
    free(found.pieces);
    free_copies(found.copies, found.copy_count);
    return status;
}
