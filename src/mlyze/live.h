/*
 * live.h: the blocks that are allocated at some moment, by address.
 *
 * A hash table with open addressing: addresses in one array, what is known of their blocks in another, so that a search
 * reads one line of memory and a block that is found one more. Places depend on numbers that are drawn anew for each
 * table, so no file can be made whose addresses all meet in one place. Everything that happens for each event is
 * inlined.
 */
#ifndef SXT_MLYZE_LIVE_H
#define SXT_MLYZE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sxt_live_block {
    uint64_t size;
    uint64_t time; /* of its allocation */
    uint32_t site;
    uint32_t weight;        /* how many allocations it stands for; 1 unless the trace is sampled */
    uint64_t sequence : 47; /* which allocation of its thread it was */
    uint64_t is_old : 1;    /* there when the window began */
    uint64_t thread : 16;
};

struct sxt_live {
    uint64_t *addresses; /* 0 where nothing is */
    struct sxt_live_block *blocks;
    size_t count;
    size_t most;    /* before it grows */
    size_t mask;    /* number of places - 1 */
    unsigned shift; /* of a hash, to get a place */
    uint64_t secrets[2];
    bool has_null; /* address 0 is a key too, though an empty place looks like it */
    struct sxt_live_block null;
};

#define SXT_LIVE_NOWHERE SIZE_MAX
#define SXT_LIVE_NULL    (SIZE_MAX - 1) /* where address 0 is */

/* An empty table. False when memory is short. */
bool sxt_live_init(struct sxt_live *live);
void sxt_live_free(struct sxt_live *live);

/* Twice as many places; false when memory is short, and then nothing changed. */
bool sxt_live_grow(struct sxt_live *live);

/* Takes out what is at PLACE, and closes the gap. */
void sxt_live_remove(struct sxt_live *live, size_t place);

/* The place of the block behind the one at PLACE, in no order of use; a walk begins and ends with SXT_LIVE_NOWHERE. */
size_t sxt_live_next(const struct sxt_live *live, size_t place);

static inline size_t sxt_live_home(const struct sxt_live *live, uint64_t address)
{
    uint64_t hash = address ^ live->secrets[0];
    hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9 + live->secrets[1];
    hash = (hash ^ hash >> 29) * 0x94d049bb133111eb;
    return (size_t)(hash >> live->shift);
}

/* Tells the processor that ADDRESS will be asked for soon. */
static inline void sxt_live_prefetch(const struct sxt_live *live, uint64_t address)
{
    size_t home = sxt_live_home(live, address);
    __builtin_prefetch(&live->addresses[home]);
    __builtin_prefetch(&live->blocks[home]);
}

/* Where ADDRESS is, or SXT_LIVE_NOWHERE. */
static inline size_t sxt_live_find(const struct sxt_live *live, uint64_t address)
{
    if (__builtin_expect(address == 0, 0))
        return live->has_null ? SXT_LIVE_NULL : SXT_LIVE_NOWHERE;
    for (size_t at = sxt_live_home(live, address);; at = (at + 1) & live->mask) {
        if (live->addresses[at] == address)
            return at;
        if (live->addresses[at] == 0)
            return SXT_LIVE_NOWHERE;
    }
}

static inline struct sxt_live_block *sxt_live_at(struct sxt_live *live, size_t place)
{
    return place == SXT_LIVE_NULL ? &live->null : &live->blocks[place];
}

/*
 * Where ADDRESS is, or will be from now on: then *IS_NEW, and its block is to be filled. SXT_LIVE_NOWHERE when memory
 * is short.
 */
static inline size_t sxt_live_add(struct sxt_live *live, uint64_t address, bool *is_new)
{
    *is_new = false;
    if (__builtin_expect(address == 0, 0)) {
        *is_new = !live->has_null;
        live->count += *is_new;
        live->has_null = true;
        return SXT_LIVE_NULL;
    }
    if (__builtin_expect(live->count >= live->most, 0) && !sxt_live_grow(live))
        return SXT_LIVE_NOWHERE;
    for (size_t at = sxt_live_home(live, address);; at = (at + 1) & live->mask) {
        if (live->addresses[at] == address)
            return at;
        if (live->addresses[at] == 0) {
            live->addresses[at] = address;
            live->count++;
            *is_new = true;
            return at;
        }
    }
}

#endif
