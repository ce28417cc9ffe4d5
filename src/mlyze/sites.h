/*
 * sites.h: what each stack allocated: sums by number of a site, in the order in which stacks are first used.
 *
 * Every event changes the sums of one site, and with many stacks each of them is a miss of the cache. So a record is
 * one line of it, and has only what every stack has. Blocks that are temporary or leaked, and the upper halves of
 * counts, are in lists beside the records, which exist once a site needs them.
 *
 *     records   | bytes, live, peak, lifetimes, counts, stack | ...      64 bytes each, in chunks of 2 MiB
 *     pairs     | bytes, count | ...                                     for each kind, if any site of the chunk has it
 *     upper     | count, live, peak | ...                                if a count of the chunk exceeds 32 bits
 */
#ifndef SXT_MLYZE_SITES_H
#define SXT_MLYZE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/trace.h>

struct sxt_heap_record {
    uint64_t bytes, live_bytes, peak_bytes;
    uint64_t lifetime_sum, lifetime_max;
    uint32_t count, live_count, peak_count; /* their lower halves */
    uint32_t epoch;                         /* the lower half of the number of the peak that peak_bytes belongs to */
    uint32_t stack;
    bool is_suppressed;
    bool is_left_out; /* by a filter */
};

/* What not every site has. Freed are all blocks of a site that are not live, less SXT_HEAP_UNFREED. */
enum sxt_heap_pair_kind {
    SXT_HEAP_TEMPORARY,
    SXT_HEAP_CHURNED,
    SXT_HEAP_LEAKED,
    SXT_HEAP_BEFORE,
    SXT_HEAP_UNFREED,
    SXT_HEAP_PAIRS
};

struct sxt_heap_pair {
    uint64_t bytes, count;
};

/* The upper halves of counts. */
struct sxt_heap_upper {
    uint32_t count, live, peak;
};

struct sxt_heap_beside {
    struct sxt_heap_pair *pairs[SXT_HEAP_PAIRS]; /* NULL: all zero */
    struct sxt_heap_upper *upper;
};

/* A site that sxt_heap_find_site has returned. */
struct sxt_heap_found {
    sxt_heap_site site;
    struct sxt_heap_found *next;
};

/* Begins as {0}. */
struct sxt_heap_sites {
    struct sxt_heap_record **chunks;
    struct sxt_heap_beside *beside; /* by chunk */
    size_t chunk_count;
    size_t count;
    bool no_memory; /* some sums are wrong */
    _Atomic(struct sxt_heap_found *) found;
};

#define SXT_HEAP_CHUNK_BITS 15
#define SXT_HEAP_CHUNK      ((size_t)1 << SXT_HEAP_CHUNK_BITS)
#define SXT_HEAP_NO_SITE    UINT32_MAX

/* A new site, whose sums are zero; SXT_HEAP_NO_SITE if memory is short. */
uint32_t sxt_heap_sites_add(struct sxt_heap_sites *sites, uint32_t stack, uint64_t epoch);
void sxt_heap_sites_free(struct sxt_heap_sites *sites);

static inline struct sxt_heap_record *sxt_heap_record(const struct sxt_heap_sites *sites, size_t site)
{
    return &sites->chunks[site >> SXT_HEAP_CHUNK_BITS][site & (SXT_HEAP_CHUNK - 1)];
}

/* All sums of a site, and their change. Setting them may need memory: see no_memory. */
void sxt_heap_sites_get(const struct sxt_heap_sites *sites, size_t site, sxt_heap_sums *out);
void sxt_heap_sites_set(struct sxt_heap_sites *sites, size_t site, const sxt_heap_sums *sums);

/* As sxt_heap_bytes_of, sxt_heap_count_of, sxt_heap_cost_of and sxt_heap_has_any with the sums of a site. */
uint64_t sxt_heap_sites_bytes(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost);
uint64_t sxt_heap_sites_count(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost);
uint64_t sxt_heap_sites_cost(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost);
bool sxt_heap_sites_has_any(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost);

/* Whether a table, tree or profile of COST has the site: a suppressed leak is in none. */
bool sxt_heap_sites_is_shown(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost);

struct sxt_heap_pair sxt_heap_sites_pair(const struct sxt_heap_sites *sites, size_t site, enum sxt_heap_pair_kind kind);
/* Makes the pairs of a kind for the chunk of a site; NULL if memory is short. */
struct sxt_heap_pair *sxt_heap_sites_make_pairs(struct sxt_heap_sites *sites, size_t site,
                                                enum sxt_heap_pair_kind kind);

static inline void sxt_heap_sites_add_pair(struct sxt_heap_sites *sites, size_t site, enum sxt_heap_pair_kind kind,
                                           uint64_t bytes, uint64_t count)
{
    struct sxt_heap_pair *pairs = sites->beside[site >> SXT_HEAP_CHUNK_BITS].pairs[kind];
    if (__builtin_expect(pairs == NULL, 0) && (pairs = sxt_heap_sites_make_pairs(sites, site, kind)) == NULL)
        return;
    pairs[site & (SXT_HEAP_CHUNK - 1)].bytes += bytes;
    pairs[site & (SXT_HEAP_CHUNK - 1)].count += count;
}

/* A peak came whose number has 0 as lower half: what is live is what was live at the peak. */
void sxt_heap_sites_restart_epochs(struct sxt_heap_sites *sites, uint64_t epoch);

/* Adds to the upper half of a count: +1 for a carry, -1 for a borrow. */
void sxt_heap_sites_carry_count(struct sxt_heap_sites *sites, size_t site);
void sxt_heap_sites_carry_live(struct sxt_heap_sites *sites, size_t site, int32_t carry);
void sxt_heap_sites_remember_upper(struct sxt_heap_sites *sites, size_t site);

/* The live bytes of a site are about to change: see sxt_heap_remember_peak. */
static inline void sxt_heap_sites_remember_peak(struct sxt_heap_sites *sites, struct sxt_heap_record *record,
                                                size_t site, uint64_t epoch)
{
    if (record->epoch == (uint32_t)epoch)
        return;
    record->epoch = (uint32_t)epoch;
    record->peak_bytes = record->live_bytes;
    record->peak_count = record->live_count;
    if (__builtin_expect(sites->beside[site >> SXT_HEAP_CHUNK_BITS].upper != NULL, 0))
        sxt_heap_sites_remember_upper(sites, site);
}

/* Blocks that count as WEIGHT blocks of SIZE bytes together begin and end. */
static inline void sxt_heap_sites_add_block(struct sxt_heap_sites *sites, size_t site, uint64_t epoch, uint64_t size,
                                            uint32_t weight)
{
    struct sxt_heap_record *record = sxt_heap_record(sites, site);
    sxt_heap_sites_remember_peak(sites, record, site, epoch);
    record->bytes += size;
    record->live_bytes += size;
    if (__builtin_expect(__builtin_add_overflow(record->count, weight, &record->count), 0))
        sxt_heap_sites_carry_count(sites, site);
    if (__builtin_expect(__builtin_add_overflow(record->live_count, weight, &record->live_count), 0))
        sxt_heap_sites_carry_live(sites, site, 1);
}

static inline struct sxt_heap_record *sxt_heap_sites_end_block(struct sxt_heap_sites *sites, size_t site,
                                                               uint64_t epoch, uint64_t size, uint32_t weight)
{
    struct sxt_heap_record *record = sxt_heap_record(sites, site);
    sxt_heap_sites_remember_peak(sites, record, site, epoch);
    record->live_bytes -= size;
    if (__builtin_expect(__builtin_sub_overflow(record->live_count, weight, &record->live_count), 0))
        sxt_heap_sites_carry_live(sites, site, -1);
    return record;
}

#endif
