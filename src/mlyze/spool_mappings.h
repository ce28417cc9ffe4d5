/*
 * spool_mappings.h: which memory is mapped, from the calls by which a program changes that. A call becomes ALLOCs and
 * FREEs: a mapping that loses a part ends, and what is left of it begins again, as with realloc.
 */
#ifndef SXT_MLYZE_SPOOL_MAPPINGS_H
#define SXT_MLYZE_SPOOL_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "mlyze/encode.h"

/* A block that begins or ends. */
struct sxt_mapping_event {
    bool is_alloc;
    uint64_t address, size; /* a FREE has no size */
    uint32_t stack;         /* the recorder's number */
    uint32_t thread;
};

struct sxt_mappings;

/* PERIOD is that of sampling; 0: none. NULL: out of memory. */
struct sxt_mappings *sxt_mappings_new(uint64_t period);
void sxt_mappings_free(struct sxt_mappings **mappings);

/*
 * Takes a call that THREAD made; STREAM identifies what wrote it. *COUNT events follow from it, which are valid until
 * the next call. NULL: out of memory, or too many mappings change too often; then it cannot be used any more.
 */
const struct sxt_mapping_event *sxt_mappings_take(struct sxt_mappings *mappings, const struct sxt_spool_mapping *call,
                                                  uint32_t stream, uint32_t thread, size_t *count);

/* Why sxt_mappings_take has failed: not for lack of memory. */
bool sxt_mappings_is_too_much(const struct sxt_mappings *mappings);

/* Appends what is mapped; and reads that again. NULL if memory is short, or if it is not what was saved. */
void sxt_mappings_save(const struct sxt_mappings *mappings, struct sxt_buffer *out);
struct sxt_mappings *sxt_mappings_load(struct sxt_cursor *from, uint64_t period, const uint32_t *stack_numbers);

#endif
