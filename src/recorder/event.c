/* event.c: writes allocations and frees into the thread's window. This is the hot path of the recorder. */
#include "recorder/recorder.h"

#define ROOM 6 /* words that an event may need: a TIME, a WIDE, and the final 0 */

/* Makes room for one event. *TICKS is the time since the previous one; if it is too long, a TIME is written first. */
static inline bool prepare(struct writer *writer, uint64_t now, uint64_t *ticks)
{
    if (UNLIKELY(writer->end - writer->at < ROOM) && !sxt_window_next(writer))
        return false;
    uint64_t since = now - writer->last;
    if (UNLIKELY((int64_t)since < 0))
        since = 0;
    writer->last += since;
    if (since > SXT_SPOOL_TICKS_MOST) {
        sxt_put_time(writer, since);
        since = 0;
    }
    *ticks = since;
    return true;
}

static void write_alloc(struct writer *writer, uintptr_t address, size_t size, uint32_t stack)
{
    uint64_t ticks;
    if (!prepare(writer, sxt_ticks(), &ticks))
        return;
    if (UNLIKELY(address >= SXT_SPOOL_ADDRESS_LIMIT || size > UINT32_MAX)) {
        sxt_put_wide(writer, ticks, 1, address, size, stack);
        return;
    }
    uint64_t *at = writer->at;
    at[1] = (uint64_t)size | (uint64_t)stack << 32;
    __atomic_store_n(&at[0], sxt_spool_word(SXT_SPOOL_ALLOC, ticks, address), __ATOMIC_RELEASE);
    writer->at = at + 2;
}

void sxt_record_alloc(struct writer *writer, const void *block, size_t size, const struct place *place)
{
    if (UNLIKELY(__atomic_load_n(&sxt_recording.paused, __ATOMIC_RELAXED)))
        return;
    if (sxt_recording.period != 0 && !(sxt_sample_take(writer, size) && sxt_sample_remember((uintptr_t)block)))
        return;
    sxt_walk(writer, place);
    write_alloc(writer, (uintptr_t)block, size, sxt_stack_number(writer));
}

void sxt_record_free(struct writer *writer, const void *block, uint64_t now)
{
    uintptr_t address = (uintptr_t)block;
    uint64_t ticks;
    if (sxt_recording.period != 0 && !sxt_sample_forget(address))
        return;
    if (!prepare(writer, now, &ticks))
        return;
    if (UNLIKELY(address >= SXT_SPOOL_ADDRESS_LIMIT)) {
        sxt_put_wide(writer, ticks, 2, address, 0, 0);
        return;
    }
    __atomic_store_n(writer->at, sxt_spool_word(SXT_SPOOL_FREE, ticks, address), __ATOMIC_RELEASE);
    writer->at++;
}
