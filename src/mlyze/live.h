/*
 * live.h: the blocks that are allocated at some moment, by address.
 *
 * A hash table with open addressing. A slot holds a part of the hash and the number of a block; the blocks are in
 * chunks of 2 MiB, which never move. A new block takes the number of one that has ended, so there are only as many
 * numbers as blocks were live at the same time, and an allocation reuses memory that is probably still cached.
 *
 *     slots   | tag number | - | tag number | ...     place: the upper bits of the tag
 *     chunk   | size time site key ... | ...          key: the rest of the hash
 *
 * The hash function is invertible, so tag and key together identify the address. It depends on random numbers that
 * differ for each table, so a hostile file cannot choose addresses that collide. Everything that runs for each event is
 * inlined.
 */
#ifndef SXT_MLYZE_LIVE_H
#define SXT_MLYZE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlyze/mlyze.h"

/* 32 bytes: two fit in a cache line, and none crosses one. */
struct sxt_live_block {
    uint64_t size;
    uint64_t time; /* of its allocation */
    uint32_t site;
    uint32_t key;           /* private to the table */
    uint64_t sequence : 47; /* which allocation of its thread it was; of a sample: see sxt_heap_power_of_block */
    uint64_t is_old : 1;    /* there when the window began */
    uint64_t thread : 16;
};

struct sxt_live_slot {
    uint32_t tag;
    uint32_t number; /* of the block; 0: empty */
};

#define SXT_LIVE_CHUNK_BITS 16

struct sxt_live {
    struct sxt_live_slot *slots;
    struct sxt_live_block **chunks;
    size_t chunk_count;
    uint32_t *weights; /* by number: see sxt_live_keep_weights */
    size_t count;
    size_t most;     /* before it grows */
    size_t mask;     /* number of slots - 1 */
    unsigned shift;  /* right shift of a tag that gives its place */
    uint32_t used;   /* the most blocks that were live at the same time */
    uint32_t vacant; /* number of a free block; `site` is the next one, 0 at the end */
    uint64_t secrets[2];
};

#define SXT_LIVE_NOWHERE SIZE_MAX

/* Memory that is accessed at random: large pages make that faster, if there are any. NULL if memory is short. */
#define SXT_LARGE_PAGE ((size_t)2 << 20)
void *sxt_large_alloc(size_t size);

/* The same for memory from malloc that was not used yet. Saves most of the page faults of a large array. */
void sxt_large_advise(void *memory, size_t size);

/* Makes an empty table. False if memory is short. */
bool sxt_live_init(struct sxt_live *live);
void sxt_live_free(struct sxt_live *live);

/*
 * Keeps a weight for each block from now on: the number of allocations that it counts for. For an empty table. False if
 * memory is short.
 */
bool sxt_live_keep_weights(struct sxt_live *live);

/* Doubles the number of slots. False if memory is short, and then nothing has changed. */
bool sxt_live_grow(struct sxt_live *live);

/* Removes the block at PLACE, and closes the gap. */
void sxt_live_remove(struct sxt_live *live, size_t place);

/* The place of the next block after PLACE, in no particular order. A walk begins and ends with SXT_LIVE_NOWHERE. */
size_t sxt_live_next(const struct sxt_live *live, size_t place);

/* Every step is invertible, so no two addresses have the same hash. */
static inline uint64_t sxt_live_hash(const struct sxt_live *live, uint64_t address)
{
    uint64_t hash = address ^ live->secrets[0];
    hash = (hash ^ hash >> 32) * 0xbf58476d1ce4e5b9 + live->secrets[1];
    return (hash ^ hash >> 29) * 0x94d049bb133111eb;
}

static inline size_t sxt_live_home(const struct sxt_live *live, uint32_t tag)
{
    return tag >> live->shift;
}

static inline struct sxt_live_block *sxt_live_block(const struct sxt_live *live, uint32_t number)
{
    return &live->chunks[number >> SXT_LIVE_CHUNK_BITS][number & (((uint32_t)1 << SXT_LIVE_CHUNK_BITS) - 1)];
}

static inline struct sxt_live_block *sxt_live_at(const struct sxt_live *live, size_t place)
{
    return sxt_live_block(live, live->slots[place].number);
}

static inline uint32_t sxt_live_weight(const struct sxt_live *live, size_t place)
{
    return live->weights == NULL ? 1 : live->weights[live->slots[place].number];
}

/* Where HASH is, or the empty slot where it would be. */
static inline size_t sxt_live_search(const struct sxt_live *live, uint64_t hash)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    size_t at = sxt_live_home(live, tag);
    for (; live->slots[at].number != 0; at = (at + 1) & live->mask)
        if (live->slots[at].tag == tag && sxt_live_at(live, at)->key == (uint32_t)hash)
            break;
    return at;
}

/* Where the address with HASH is, or SXT_LIVE_NOWHERE. */
static inline size_t sxt_live_find_hash(const struct sxt_live *live, uint64_t hash)
{
    size_t at = sxt_live_search(live, hash);
    return live->slots[at].number != 0 ? at : SXT_LIVE_NOWHERE;
}

static inline size_t sxt_live_find(const struct sxt_live *live, uint64_t address)
{
    return sxt_live_find_hash(live, sxt_live_hash(live, address));
}

/* Puts a new address into the empty slot AT, which sxt_live_search has found. The table must have room. */
static inline void sxt_live_put(struct sxt_live *live, size_t at, uint64_t hash)
{
    uint32_t number = live->vacant;
    if (number == 0) {
        number = ++live->used;
    } else {
        live->vacant = sxt_live_block(live, number)->site;
        __builtin_prefetch(sxt_live_block(live, live->vacant));
    }
    live->slots[at] = (struct sxt_live_slot){(uint32_t)(hash >> 32), number};
    sxt_live_block(live, number)->key = (uint32_t)hash;
    live->count++;
}

/*
 * The place of the address with HASH. If it is new, it is added, *IS_NEW is true, and the caller fills its block.
 * SXT_LIVE_NOWHERE if memory is short.
 */
static inline size_t sxt_live_add_hash(struct sxt_live *live, uint64_t hash, bool *is_new)
{
    *is_new = false;
    if (__builtin_expect(live->count >= live->most, 0) && !sxt_live_grow(live))
        return SXT_LIVE_NOWHERE;
    size_t at = sxt_live_search(live, hash);
    if (live->slots[at].number != 0)
        return at;
    sxt_live_put(live, at, hash);
    *is_new = true;
    return at;
}

static inline size_t sxt_live_add(struct sxt_live *live, uint64_t address, bool *is_new)
{
    return sxt_live_add_hash(live, sxt_live_hash(live, address), is_new);
}

/*
 * Prefetches memory that will be needed soon. The slot comes first; when it is there, sxt_live_expect says where HASH
 * probably is, and prefetches its block; sxt_live_find_expected looks there first. Compilers drop calls of a function
 * that only prefetches, unless they have to inline it.
 */
static inline __attribute__((always_inline)) void sxt_live_fetch(const struct sxt_live *live, uint64_t hash)
{
    __builtin_prefetch(&live->slots[sxt_live_home(live, (uint32_t)(hash >> 32))]);
}

static inline __attribute__((always_inline)) size_t sxt_live_expect(const struct sxt_live *live, uint64_t hash)
{
    uint32_t tag = (uint32_t)(hash >> 32);
    size_t at = sxt_live_home(live, tag);
    while (live->slots[at].number != 0 && live->slots[at].tag != tag)
        at = (at + 1) & live->mask;
    __builtin_prefetch(sxt_live_at(live, at));
    return at;
}

static inline size_t sxt_live_find_expected(const struct sxt_live *live, uint64_t hash, size_t expected)
{
    struct sxt_live_slot slot = live->slots[expected];
    bool is_there = slot.number != 0 && slot.tag == (uint32_t)(hash >> 32) &&
                    sxt_live_block(live, slot.number)->key == (uint32_t)hash;
    return __builtin_expect(is_there, 1) ? expected : sxt_live_find_hash(live, hash);
}

/* For callers that handle events one by one: prefetches what the events some way after AT will need. */
#define SXT_LIVE_AHEAD 16
static inline __attribute__((always_inline)) void
sxt_live_look_ahead(const struct sxt_live *live, const sxt_trace_event *events, size_t count, size_t at)
{
    size_t far = at + SXT_LIVE_AHEAD, near = at + SXT_LIVE_AHEAD / 2;
    if (far < count)
        sxt_live_fetch(live, sxt_live_hash(live, events[far].address));
    if (near < count && events[near].kind == SXT_TRACE_FREE)
        (void)sxt_live_expect(live, sxt_live_hash(live, events[near].address));
}

#endif
