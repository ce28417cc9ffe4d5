/* copy.c: copies the events of a trace into another, byte for byte, whatever form both have. */
#include <stdlib.h>

#include "base/error.h"
#include "mlyze/private.h"

#define BATCH 512

struct copying {
    struct sxt_mlyze_cursor *cursor;
    struct sxt_mlyze_writer *writer;
    uint64_t time;    /* of the last event that was written */
    uint64_t pending; /* events that were read, and will be written as bytes */
    const struct sxt_mlyze_metadata *metadata;
    sxt_trace_oddities oddities;
    sxt_trace_event events[BATCH];
};

/*
 * Copies the events of the current block. Their bytes are copied, unless the block has columns, or something before
 * them was lost and their times would be wrong.
 */
static int copy_batch(struct copying *copying, bool as_bytes, size_t count, sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = 0; !as_bytes && status == SXT_OK && i < count; i++)
        status = sxt_mlyze_write(copying->writer, &copying->events[i], error);
    sxt_mlyze_count_oddities(copying->metadata, copying->events, count, &copying->oddities);
    copying->pending += as_bytes ? count : 0;
    copying->time = copying->events[count - 1].time;
    return status;
}

static int copy_pending(struct copying *copying, sxt_error *error)
{
    size_t size;
    const uint8_t *bytes = sxt_mlyze_block_bytes(copying->cursor, &size);
    uint64_t count = copying->pending;
    copying->pending = 0;
    return count == 0 ? SXT_OK : sxt_mlyze_write_bytes(copying->writer, bytes, size, count, copying->time, error);
}

/* *DAMAGE is the status of reading; the status of writing is returned. Events before the damage are written. */
static int copy_block(struct copying *copying, int *damage, sxt_error *why, sxt_error *error)
{
    struct sxt_mlyze_index_entry entry;
    size_t count, size;
    bool is_there;
    *damage = sxt_mlyze_next_block(copying->cursor, &entry, &is_there, why);
    bool as_bytes = sxt_mlyze_block_bytes(copying->cursor, &size) != NULL && entry.time == copying->time;
    int status = SXT_OK;
    while (status == SXT_OK && *damage == SXT_OK) {
        *damage = sxt_mlyze_read_in_block(copying->cursor, copying->events, BATCH, &count, why);
        if (*damage == SXT_OK && count == 0)
            break;
        if (*damage == SXT_OK)
            status = copy_batch(copying, as_bytes, count, error);
    }
    return status == SXT_OK ? copy_pending(copying, error) : status;
}

static int copy_all(struct copying *copying, uint64_t end, uint64_t *lost, sxt_error *error)
{
    while (sxt_mlyze_offset(copying->cursor) < end) {
        sxt_error why;
        int damage, status = copy_block(copying, &damage, &why, error);
        if (status != SXT_OK || damage == SXT_OK) {
            if (status != SXT_OK)
                return status;
            continue;
        }
        if (lost == NULL || damage == SXT_ERROR_MEMORY) {
            if (error != NULL)
                *error = why;
            return damage;
        }
        uint64_t from = sxt_mlyze_offset(copying->cursor);
        bool goes_on = sxt_mlyze_skip_damage(copying->cursor, NULL);
        *lost += (goes_on ? sxt_mlyze_offset(copying->cursor) : end) - from;
        if (!goes_on)
            break;
    }
    return SXT_OK;
}

int sxt_mlyze_copy(const struct sxt_mlyze *trace, struct sxt_mlyze_writer *writer, uint64_t *lost,
                   sxt_trace_oddities *oddities, sxt_error *error)
{
    struct copying *copying = calloc(1, sizeof *copying);
    if (copying == NULL)
        return sxt_fail_memory(error, sizeof *copying);
    copying->writer = writer;
    copying->metadata = sxt_mlyze_metadata(trace);
    copying->time = sxt_mlyze_header(trace)->start_us;
    uint64_t end = sxt_mlyze_header(trace)->events_offset + sxt_mlyze_events(trace).size;
    if (lost != NULL)
        *lost = 0;
    /* A copy has checksums of its own, so what is wrong with those of a plain file would be hidden by it. */
    int status = lost == NULL ? sxt_mlyze_check_sums(trace, error) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_mlyze_cursor_open(trace, &copying->cursor, error);
    if (status == SXT_OK)
        status = copy_all(copying, end, lost, error);
    sxt_mlyze_cursor_close(&copying->cursor);
    if (oddities != NULL)
        *oddities = copying->oddities;
    free(copying);
    return status;
}
