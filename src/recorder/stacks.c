/*
 * stacks.c: gives each distinct stack a number.
 *
 * Entries are only added to the table, and the number of a stack is its index there. So a second thread with the same
 * stack does not wait until the first has written it. Stacks are identified by a hash of 64 bits: among a million
 * stacks, the probability that two share a hash is below 1 in 10 million.
 */
#include "recorder/recorder.h"

#define TABLE_BITS  22
#define PROBES_MOST 64

static uint64_t *table;

bool sxt_stacks_make(void)
{
    if (table == NULL)
        table = sxt_map_memory(sizeof *table << TABLE_BITS);
    return table != NULL;
}

void sxt_stacks_forget(void)
{
    if (table != NULL)
        sxt_unmap_memory(table, sizeof *table << TABLE_BITS);
    table = NULL;
}

static void write_stack(struct writer *writer, uint32_t number)
{
    uint32_t numbers[2] = {number, writer->generation};
    unsigned count = writer->frame_count;
    uint64_t mark = 0; /* of the next frame */
    for (unsigned i = 0; i < count; i++) {
        const struct known_frame *frame = &writer->frames[count - 1 - i];
        bool is_signal = frame->link_slot == FRAME_SIGNAL, is_base = frame->link_slot == FRAME_BASE;
        writer->pcs[i] =
            frame->pc | (is_signal ? SXT_SPOOL_FRAME_SIGNAL : 0) | (is_base ? SXT_SPOOL_FRAME_INTERRUPTED : mark);
        mark = is_signal ? SXT_SPOOL_FRAME_INTERRUPTED : 0;
    }
    if (count == FRAMES_MOST && writer->is_cut)
        writer->pcs[count++] = SXT_SPOOL_FRAME_CUT;
    sxt_put_note(writer, SXT_SPOOL_STACK, numbers, sizeof numbers, writer->pcs, count * sizeof *writer->pcs, NULL, 0);
}

uint32_t sxt_stack_number(struct writer *writer)
{
    uint64_t hash = writer->frames[writer->frame_count - 1].hash;
    hash += hash == 0;
    uint32_t index = (uint32_t)(hash >> (64 - TABLE_BITS));
    for (unsigned probe = 0; probe < PROBES_MOST; probe++) {
        uint32_t number = (index + probe) & ((1u << TABLE_BITS) - 1);
        if (UNLIKELY(number == SXT_SPOOL_NO_STACK))
            continue;
        uint64_t found = __atomic_load_n(&table[number], __ATOMIC_RELAXED);
        if (LIKELY(found == hash))
            return number;
        if (found != 0)
            continue;
        if (__atomic_compare_exchange_n(&table[number], &found, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            write_stack(writer, number);
            return number;
        }
        if (found == hash)
            return number;
    }
    return SXT_SPOOL_NO_STACK;
}
