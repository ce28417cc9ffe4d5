/*
 * analysis_checkpoints.c: what a pass knew at some moments, in a file without a name, so that a window can be analysed
 * without the events before it.
 *
 *     state:  secrets of the hash (2 x u64), what rounding left over, number of threads and of live blocks (u64 each);
 *             (thread, allocations) each; (hash, size, time, sequence, stack, thread, weight) each
 *
 * A window begins with the last state before it, and goes on from there. States are at least `distance` events apart;
 * if they take more than FILE_MOST bytes, every second one is dropped, and the distance is doubled.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/unnamed.h"
#include "mlyze/analysis_private.h"

#define FIRST_DISTANCE ((uint64_t)1 << 19)
#define FILE_MOST      ((uint64_t)512 << 20)
#define BATCH          1024

struct state_head {
    uint64_t secrets[2];
    double carry;
    uint64_t threads, blocks;
};

struct state_thread {
    uint64_t thread, sequence;
};

struct state_block {
    uint64_t hash, size, time, sequence;
    uint32_t stack, weight;
    uint32_t thread, unused;
};

struct state {
    struct sxt_mlyze_index_entry place;
    uint64_t skipped; /* events of the block that were taken already */
    uint64_t event;
    uint64_t time; /* of the last event that was taken */
    uint64_t offset, size, blocks;
};

struct sxt_heap_checkpoints {
    int descriptor;
    struct state *list;
    size_t count, capacity;
    uint64_t end;            /* of what was written */
    uint64_t stored;         /* bytes that are not dropped */
    uint64_t distance, next; /* event at which the next state is kept */
    uint64_t events;         /* of the trace */
    bool has_failed;         /* what is there can be used */
};

struct sxt_heap_checkpoints *sxt_heap_checkpoints_new(uint64_t distance)
{
    struct sxt_output output;
    sxt_error error;
    struct sxt_heap_checkpoints *points = calloc(1, sizeof *points);
    if (points == NULL || sxt_unnamed_open(&output, &error) != SXT_OK) {
        free(points);
        return NULL;
    }
    points->descriptor = output.fd;
    points->distance = points->next = distance > 0 ? distance : FIRST_DISTANCE;
    return points;
}

void sxt_heap_checkpoints_free(struct sxt_heap_checkpoints **of_points)
{
    struct sxt_heap_checkpoints *points = *of_points;
    if (points == NULL)
        return;
    close(points->descriptor);
    free(points->list);
    free(points);
    *of_points = NULL;
}

/* --- keeping a state --- */

/* Bytes on their way to the file. */
struct sink {
    struct sxt_heap_checkpoints *points;
    size_t used;
    uint8_t room[1 << 16];
};

static void flush(struct sink *sink)
{
    sxt_error error;
    if (!sink->points->has_failed && sxt_write_all(sink->points->descriptor, sink->room, sink->used, &error) != SXT_OK)
        sink->points->has_failed = true;
    sink->points->end += sink->used;
    sink->used = 0;
}

static void put(struct sink *sink, const void *data, size_t size)
{
    if (sink->used + size > sizeof sink->room)
        flush(sink);
    memcpy(sink->room + sink->used, data, size);
    sink->used += size;
}

static void put_threads(struct sink *sink, const struct heap_pass *pass)
{
    for (uint64_t i = 0; i < SXT_HEAP_THREADS; i++)
        if (pass->sequences[i] != 0)
            put(sink, &(struct state_thread){i, pass->sequences[i]}, sizeof(struct state_thread));
}

static void put_blocks(struct sink *sink, const struct heap_pass *pass)
{
    const struct sxt_live *live = &pass->live;
    for (size_t at = SXT_LIVE_NOWHERE; (at = sxt_live_next(live, at)) != SXT_LIVE_NOWHERE;) {
        const struct sxt_live_block *block = sxt_live_at(live, at);
        const struct state_block kept = {
            .hash = (uint64_t)live->slots[at].tag << 32 | block->key,
            .size = block->size,
            .time = block->time,
            .sequence = block->sequence,
            .stack = sxt_heap_record(&pass->usage->sites, block->site)->stack,
            .weight = sxt_live_weight(live, at),
            .thread = block->thread,
        };
        put(sink, &kept, sizeof kept);
    }
}

/* Every second state gives its place back. */
static void thin_out(struct sxt_heap_checkpoints *points)
{
    size_t left = 0;
    for (size_t i = 0; i < points->count; i++) {
        const struct state *state = &points->list[i];
        if (i % 2 == 1) {
            points->list[left++] = *state;
            continue;
        }
        (void)fallocate(points->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)state->offset,
                        (off_t)state->size);
        points->stored -= state->size;
    }
    points->count = left;
    points->distance *= 2;
}

static void keep(struct heap_pass *pass, const struct sxt_mlyze_cursor *cursor, uint64_t time)
{
    struct sxt_heap_checkpoints *points = pass->watcher->save;
    struct state *list = sxt_array_grow(points->list, &points->capacity, points->count + 1, sizeof *list);
    struct sink *sink = malloc(sizeof *sink);
    points->list = list != NULL ? list : points->list;
    if (list == NULL || sink == NULL) {
        points->has_failed = true;
        free(sink);
        return;
    }
    struct state state = {.time = time, .offset = points->end, .blocks = pass->live.count};
    struct state_head head = {
        .secrets = {pass->live.secrets[0], pass->live.secrets[1]}, .carry = pass->carry, .blocks = pass->live.count};
    for (size_t i = 0; i < SXT_HEAP_THREADS; i++)
        head.threads += pass->sequences[i] != 0;
    sink->points = points;
    sink->used = 0;
    sxt_mlyze_get_place(cursor, &state.place, &state.skipped);
    state.event = state.place.event + state.skipped;
    put(sink, &head, sizeof head);
    put_threads(sink, pass);
    put_blocks(sink, pass);
    flush(sink);
    free(sink);
    state.size = points->end - state.offset;
    if (points->has_failed)
        return;
    points->stored += state.size;
    points->list[points->count++] = state;
}

/* A block of whole pages about which is not decided yet (see analysis_trimmed.c) is in no state. */
void sxt_heap_checkpoints_save(struct heap_pass *pass, const struct sxt_mlyze_cursor *cursor, uint64_t time)
{
    struct sxt_heap_checkpoints *points = pass->watcher->save;
    points->events = sxt_mlyze_position(cursor);
    if (points->events < points->next || pass->cut_count > 0 || points->has_failed || pass->no_memory)
        return;
    uint64_t size = sizeof(struct state_head) + pass->live.count * sizeof(struct state_block);
    if (size <= FILE_MOST / 4) {
        while (points->stored + size > FILE_MOST && points->count > 1)
            thin_out(points);
        keep(pass, cursor, time);
    }
    points->next = points->events + points->distance;
}

/* --- going on from a state --- */

static const struct state *find_state(const struct sxt_heap_checkpoints *points, uint64_t from)
{
    const struct state *best = NULL;
    for (size_t i = 0; i < points->count && points->list[i].time < from; i++)
        best = &points->list[i];
    return best;
}

uint64_t sxt_heap_checkpoints_effort(const struct sxt_heap_checkpoints *points, uint64_t from, uint64_t until)
{
    const struct state *state = find_state(points, from);
    uint64_t end = points->events;
    for (size_t i = points->count; i-- > 0 && points->list[i].time > until;)
        end = points->list[i].event;
    return state != NULL ? end - state->event + state->blocks : end;
}

/* Reads SIZE bytes at *OFFSET, which is moved. */
static bool get(const struct sxt_heap_checkpoints *points, uint64_t *offset, void *data, size_t size)
{
    uint8_t *to = data;
    while (size > 0) {
        ssize_t got = pread(points->descriptor, to, size, (off_t)*offset);
        if (got <= 0)
            return false;
        to += got;
        size -= (size_t)got;
        *offset += (uint64_t)got;
    }
    return true;
}

static bool get_threads(struct heap_pass *pass, uint64_t count, uint64_t *offset)
{
    struct state_thread thread;
    for (uint64_t i = 0; i < count; i++) {
        if (!get(pass->watcher->from, offset, &thread, sizeof thread) || thread.thread >= SXT_HEAP_THREADS)
            return false;
        pass->sequences[thread.thread] = thread.sequence;
    }
    return true;
}

static bool get_blocks(struct heap_pass *pass, uint64_t count, uint64_t *offset)
{
    struct state_block *blocks = malloc(BATCH * sizeof *blocks);
    bool is_good = blocks != NULL;
    while (count > 0 && is_good) {
        size_t some = count < BATCH ? (size_t)count : BATCH;
        is_good = get(pass->watcher->from, offset, blocks, some * sizeof *blocks);
        for (size_t i = 0; i < some && is_good; i++) {
            const struct sxt_live_block block = {.size = blocks[i].size,
                                                 .time = blocks[i].time,
                                                 .sequence = blocks[i].sequence,
                                                 .thread = (uint16_t)blocks[i].thread};
            sxt_heap_restore_block(pass, blocks[i].hash, &block, blocks[i].stack, blocks[i].weight);
            is_good = !pass->no_memory;
        }
        count -= some;
    }
    free(blocks);
    return is_good;
}

/* Passes the events that the state has. */
static int skip(struct sxt_mlyze_cursor *cursor, uint64_t count, sxt_error *error)
{
    sxt_trace_event *events = malloc(BATCH * sizeof *events);
    int status = events != NULL ? SXT_OK : sxt_fail_memory(error, BATCH * sizeof *events);
    while (status == SXT_OK && count > 0) {
        size_t got = 0;
        status = sxt_mlyze_read(cursor, events, count < BATCH ? (size_t)count : BATCH, &got, error);
        count = got > 0 ? count - got : 0;
    }
    free(events);
    return status;
}

int sxt_heap_checkpoints_restore(struct heap_pass *pass, struct sxt_mlyze_cursor *cursor, uint64_t from,
                                 sxt_error *error)
{
    const struct sxt_heap_checkpoints *points = pass->watcher->from;
    const struct state *state = find_state(points, from);
    struct state_head head;
    if (state == NULL)
        return SXT_OK;
    uint64_t offset = state->offset;
    bool is_good = get(points, &offset, &head, sizeof head) && head.blocks == state->blocks;
    if (is_good) {
        memcpy(pass->live.secrets, head.secrets, sizeof head.secrets);
        pass->carry = head.carry;
        is_good = get_threads(pass, head.threads, &offset) && get_blocks(pass, head.blocks, &offset);
    }
    if (!is_good)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "a temporary file cannot be read, or memory is short");
    int status = sxt_mlyze_seek(cursor, &state->place, error);
    return status == SXT_OK ? skip(cursor, state->skipped, error) : status;
}
