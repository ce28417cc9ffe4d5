/*
 * spool.h: reading what the recorder wrote while the program ran: all threads' events in one order.
 *
 * The order is that of the times, and then that of the addresses: a block is freed after it was allocated, and its
 * address is given out again after it was freed, though two processors may disagree by some ticks on when that was.
 * A spool may end anywhere and is still read up to there. Layout: encode.h.
 */
#ifndef SXT_MLYZE_SPOOL_H
#define SXT_MLYZE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlyze/encode.h"
#include "mlyze/mlyze.h"

struct sxt_spool;

struct sxt_spool_stack {
    const uint8_t *frames; /* return addresses, 8 bytes each, innermost first; not aligned */
    uint32_t count;
    uint32_t generation;
};

/* A loaded file, and in which generations. */
struct sxt_spool_file {
    uint64_t start, end, bias;
    uint32_t first_generation, end_generation;
    sxt_string path;
    sxt_string build_id; /* bytes */
};

struct sxt_spool_thread {
    uint32_t number; /* as events have it */
    uint32_t system_number;
    sxt_string name;
};

struct sxt_spool_facts {
    uint64_t start_us;
    uint64_t period;
    uint64_t dropped;
    uint32_t pid, parent;
    enum sxt_spool_state state;
    bool own_allocator;
    bool is_attached; /* did a recorder ever come? */
    const struct sxt_spool_stack *stacks;
    size_t stack_count; /* stacks in events are numbers below this */
    const struct sxt_spool_file *files;
    size_t file_count;
    const struct sxt_spool_thread *threads;
    size_t thread_count;
    const sxt_string *markers; /* `stack` of a MARKER is a number below the count */
    size_t marker_count;
    const uint32_t *children;
    size_t child_count;
};

bool sxt_spool_is(const uint8_t *data, size_t size);

/* DATA is borrowed, and must not change any more. */
int sxt_spool_open(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error);
void sxt_spool_close(struct sxt_spool **spool);
const struct sxt_spool_facts *sxt_spool_facts(const struct sxt_spool *spool);

/* Up to CAPACITY events, in order; *COUNT is 0 at the end. Frees of blocks that nobody saw allocated are left out. */
int sxt_spool_read(struct sxt_spool *spool, struct sxt_mlyze_event *events, size_t capacity, size_t *count,
                   sxt_error *error);

/* The same, with what is live behind each event. */
struct sxt_spool_live {
    uint64_t bytes, count;
};
int sxt_spool_read_live(struct sxt_spool *spool, struct sxt_mlyze_event *events, struct sxt_spool_live *live,
                        size_t capacity, size_t *count, sxt_error *error);

/* How many frees were left out so far. */
uint64_t sxt_spool_unmatched(const struct sxt_spool *spool);

#endif
