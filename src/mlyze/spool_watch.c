/*
 * spool_watch.c: reads a spool that the recorder writes and that `record` consumes at the same time.
 *
 * `record` may release any window that comes before its newest checkpoint. So a reader goes on from a checkpoint: the
 * events before it are in the other file, and everything after it is in the spool as long as there is no newer one.
 * When there is one, the reader takes back what it read from the spool, reads what was added to the other file, and
 * opens the spool again. So it counts each event in the order that the finished trace will have.
 *
 * The blocks that are live move from one opened spool to the next, so they are stored once: 32 bytes a block, and a
 * table with 8 bytes a slot that is at most half full: 48 to 64 bytes a block.
 */
#include <stdlib.h>

#include "base/error.h"
#include "mlyze/spool_private.h"

/* A way of a checkpoint has no windows before the first search. It gets an empty piece, which has its sequence. */
static int place_ways(struct sxt_spool *spool, sxt_error *error)
{
    free(spool->pieces);
    spool->pieces = calloc(spool->way_count + 1, sizeof *spool->pieces);
    if (spool->pieces == NULL)
        return sxt_fail_memory(error, (spool->way_count + 1) * sizeof *spool->pieces);
    spool->piece_count = spool->way_count;
    spool->piece_capacity = spool->way_count + 1;
    for (size_t i = 0; i < spool->way_count; i++) {
        struct sxt_spool_way *way = &spool->ways[i];
        spool->pieces[i] = (struct sxt_spool_piece){.stream = way->stream, .sequence = way->sequence};
        way->piece = way->piece_end = i;
    }
    return SXT_OK;
}

int sxt_spool_watch(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error)
{
    struct sxt_spool *spool;
    int status = sxt_spool_new(data, size, &spool, error);
    if (status == SXT_OK) {
        struct sxt_spool_control control = sxt_spool_read_control(data);
        spool->is_followed = spool->is_watched = true;
        spool->image = control.image;
        spool->checkpoint = control.checkpoint;
        status = sxt_spool_resume(spool, data, size, error);
    }
    if (status == SXT_OK)
        status = sxt_spool_merge_begin(spool, error);
    if (status == SXT_OK)
        status = place_ways(spool, error);
    if (status != SXT_OK)
        sxt_spool_close(&spool);
    *out = spool;
    return status;
}

int sxt_spool_watch_whole(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error)
{
    int status = sxt_spool_open(data, size, out, error);
    if (status == SXT_OK) {
        struct sxt_spool_control control = sxt_spool_read_control(data);
        (*out)->is_watched = true;
        (*out)->image = control.image;
        (*out)->checkpoint = control.checkpoint;
    }
    return status;
}

bool sxt_spool_is_stale(const struct sxt_spool *spool, const uint8_t *data)
{
    struct sxt_spool_control control = sxt_spool_read_control(data);
    return control.image != spool->image || control.checkpoint != spool->checkpoint;
}

void sxt_spool_watch_move(struct sxt_spool *to, struct sxt_spool *from)
{
    sxt_live_free(&to->live);
    to->live = from->live;
    to->live_bytes = from->live_bytes;
    from->live = (struct sxt_live){0};
    from->live_bytes = 0;
}

const struct sxt_spool_facts *sxt_spool_watch_facts(struct sxt_spool *spool)
{
    sxt_spool_end_notes(spool);
    return &spool->facts;
}

/* --- events --- */

static struct sxt_live_block *add_block(struct sxt_spool *spool, uint64_t address, bool *is_new)
{
    size_t place = sxt_live_add(&spool->live, address, is_new);
    return place != SXT_LIVE_NOWHERE ? sxt_live_at(&spool->live, place) : NULL;
}

static void remove_block(struct sxt_spool *spool, size_t place)
{
    spool->live_bytes -= sxt_live_at(&spool->live, place)->size;
    sxt_live_remove(&spool->live, place);
}

static void fill_block(struct sxt_spool *spool, struct sxt_live_block *block, struct sxt_spool_ended content)
{
    spool->live_bytes += content.size;
    block->size = content.size;
    block->site = content.stack;
    block->thread = content.thread;
}

static struct sxt_spool_ended content_of(const struct sxt_live_block *block)
{
    return (struct sxt_spool_ended){
        .size = block->size, .stack = block->site, .thread = block->thread, .is_there = true};
}

int sxt_spool_watch_replay(struct sxt_spool *spool, const sxt_trace_event *events, struct sxt_spool_ended *ended,
                           size_t count, sxt_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const sxt_trace_event *event = &events[i];
        sxt_live_look_ahead(&spool->live, events, count, i);
        ended[i] = (struct sxt_spool_ended){0};
        if (event->kind == SXT_TRACE_ALLOC) {
            bool is_new;
            struct sxt_live_block *block = add_block(spool, event->address, &is_new);
            if (block == NULL)
                return sxt_fail_memory(error, spool->live.count * sizeof(struct sxt_live_block));
            if (!is_new) {
                ended[i] = content_of(block);
                spool->live_bytes -= block->size;
            }
            fill_block(spool, block, (struct sxt_spool_ended){event->size, event->stack, event->thread, true});
        } else if (event->kind == SXT_TRACE_FREE) {
            size_t place = sxt_live_find(&spool->live, event->address);
            if (place == SXT_LIVE_NOWHERE)
                continue;
            ended[i] = content_of(sxt_live_at(&spool->live, place));
            remove_block(spool, place);
        }
    }
    return SXT_OK;
}

bool sxt_spool_watch_undo(struct sxt_spool *spool, const sxt_trace_event *event, const struct sxt_spool_ended *ended)
{
    size_t place = event->kind == SXT_TRACE_ALLOC ? sxt_live_find(&spool->live, event->address) : SXT_LIVE_NOWHERE;
    if (place != SXT_LIVE_NOWHERE)
        remove_block(spool, place);
    if (!ended->is_there)
        return true;
    bool is_new;
    struct sxt_live_block *block = add_block(spool, event->address, &is_new);
    if (block == NULL)
        return false;
    fill_block(spool, block, *ended);
    return true;
}
