/*
 * sink.c: compresses events if asked to, and writes them, in pieces; on a second thread, while the first one makes
 * more events.
 *
 * A few buffers circulate: the first thread hands over a full one and goes on with an empty one, or waits for one. Only
 * one thread writes, so everything stays in order. The first failure is sticky: after it nothing is written.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/output.h"
#include "base/pool.h"
#include "mlyze/private.h"

#define PIECES 4

struct piece {
    struct sxt_buffer events;
    struct sxt_mlyze_index_entry entry;
};

struct sxt_mlyze_writing {
    struct sxt_mlyze_sink *sink; /* used by the thread that writes, as long as there is one */
    pthread_t thread;
    pthread_mutex_t mutex; /* protects all fields below, but not pieces that are being filled or written */
    pthread_cond_t changed;
    struct piece pieces[PIECES]; /* a ring */
    size_t first, count;         /* of those that are to be written */
    bool is_ended;
    int status;
    sxt_error error;
};

static int add_entry(struct sxt_mlyze_sink *sink, struct sxt_mlyze_index_entry entry, sxt_error *error)
{
    struct sxt_mlyze_index *index = &sink->index;
    void *grown = sxt_array_grow(index->entries, &sink->index_capacity, index->count + 1, sizeof *index->entries);
    if (grown == NULL)
        return sxt_fail_memory(error, index->count * sizeof *index->entries);
    index->entries = grown;
    index->entries[index->count++] = entry;
    return SXT_OK;
}

int sxt_mlyze_sink_write(struct sxt_mlyze_sink *sink, const uint8_t *events, size_t size,
                         struct sxt_mlyze_index_entry entry, sxt_error *error)
{
    if (sink->codec == SXT_MLYZE_RAW) {
        if (sink->sums.power != 0)
            sxt_mlyze_sums_add(&sink->sums, events, size);
        return sxt_output_write(sink->output, events, size, error);
    }
    struct sxt_buffer *block = &sink->block;
    sxt_buffer_clear(block);
    int status = sxt_mlyze_block_write(block, sink->codec, &sink->packer, events, size, entry.time, entry.event, error);
    if (status == SXT_OK && sink->keeps_index) {
        entry.offset = sink->output->size;
        entry.stored_size = (uint32_t)block->size;
        entry.size = sxt_load_u32le(block->data + SXT_MLYZE_BLOCK_AT_SIZE);
        status = add_entry(sink, entry, error);
    }
    return status == SXT_OK ? sxt_output_write(sink->output, block->data, block->size, error) : status;
}

static void *run(void *context)
{
    struct sxt_mlyze_writing *writing = context;
    pthread_mutex_lock(&writing->mutex);
    for (;;) {
        while (writing->count == 0 && !writing->is_ended)
            pthread_cond_wait(&writing->changed, &writing->mutex);
        if (writing->count == 0)
            break;
        const struct piece *piece = &writing->pieces[writing->first];
        int status = writing->status;
        pthread_mutex_unlock(&writing->mutex);
        sxt_error error;
        bool is_new = status == SXT_OK;
        if (is_new)
            status = sxt_mlyze_sink_write(writing->sink, piece->events.data, piece->events.size, piece->entry, &error);
        pthread_mutex_lock(&writing->mutex);
        if (is_new && status != SXT_OK)
            writing->error = error;
        writing->status = status;
        writing->first = (writing->first + 1) % PIECES;
        writing->count--;
        pthread_cond_signal(&writing->changed);
    }
    pthread_mutex_unlock(&writing->mutex);
    return NULL;
}

/* Signals stay with the calling thread. */
static bool start_thread(struct sxt_mlyze_writing *writing)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&writing->thread, NULL, run, writing) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

struct sxt_mlyze_writing *sxt_mlyze_writing_start(struct sxt_mlyze_sink *sink, unsigned threads)
{
    struct sxt_mlyze_writing *writing = sxt_pool_threads(threads) > 1 ? calloc(1, sizeof *writing) : NULL;
    if (writing == NULL)
        return NULL;
    writing->sink = sink;
    for (size_t i = 0; i < PIECES; i++)
        sxt_buffer_init(&writing->pieces[i].events, SIZE_MAX / 4);
    pthread_mutex_init(&writing->mutex, NULL);
    pthread_cond_init(&writing->changed, NULL);
    if (start_thread(writing))
        return writing;
    pthread_cond_destroy(&writing->changed);
    pthread_mutex_destroy(&writing->mutex);
    free(writing);
    return NULL;
}

static int report(const struct sxt_mlyze_writing *writing, sxt_error *error)
{
    if (writing->status != SXT_OK && error != NULL)
        *error = writing->error;
    return writing->status;
}

int sxt_mlyze_writing_put(struct sxt_mlyze_writing *writing, struct sxt_buffer *events, size_t size,
                          struct sxt_mlyze_index_entry entry, sxt_error *error)
{
    pthread_mutex_lock(&writing->mutex);
    while (writing->count == PIECES)
        pthread_cond_wait(&writing->changed, &writing->mutex);
    struct piece *piece = &writing->pieces[(writing->first + writing->count) % PIECES];
    pthread_mutex_unlock(&writing->mutex);

    struct sxt_buffer full = *events;
    *events = piece->events;
    sxt_buffer_clear(events);
    sxt_buffer_append(events, full.data + size, full.size - size);
    full.size = size;
    *piece = (struct piece){full, entry};

    pthread_mutex_lock(&writing->mutex);
    writing->count++;
    pthread_cond_signal(&writing->changed);
    int status = report(writing, error);
    pthread_mutex_unlock(&writing->mutex);
    return status == SXT_OK ? sxt_buffer_status(events, error) : status;
}

int sxt_mlyze_writing_end(struct sxt_mlyze_writing **writing, sxt_error *error)
{
    struct sxt_mlyze_writing *all = *writing;
    if (all == NULL)
        return SXT_OK;
    pthread_mutex_lock(&all->mutex);
    all->is_ended = true;
    pthread_cond_signal(&all->changed);
    pthread_mutex_unlock(&all->mutex);
    pthread_join(all->thread, NULL);
    int status = report(all, error);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->mutex);
    for (size_t i = 0; i < PIECES; i++)
        sxt_buffer_free(&all->pieces[i].events);
    free(all);
    *writing = NULL;
    return status;
}
