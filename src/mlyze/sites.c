/* sites.c: what each stack allocated. */
#include "mlyze/sites.h"

#include <stdlib.h>

#include "mlyze/analysis.h"
#include "mlyze/live.h"

_Static_assert(sizeof(struct sxt_heap_record) == 64, "a record is a line of the cache");
_Static_assert(SXT_HEAP_CHUNK * sizeof(struct sxt_heap_record) == SXT_LARGE_PAGE, "a chunk is a large page");

/* --- room --- */

/* The first chunk is not a large page: unused parts of it take no memory. */
static bool add_chunk(struct sxt_heap_sites *sites)
{
    size_t count = sites->chunk_count + 1;
    struct sxt_heap_record **chunks = realloc(sites->chunks, count * sizeof(struct sxt_heap_record *));
    if (chunks == NULL)
        return false;
    sites->chunks = chunks;
    struct sxt_heap_beside *beside = realloc(sites->beside, count * sizeof *beside);
    if (beside == NULL)
        return false;
    sites->beside = beside;
    beside[count - 1] = (struct sxt_heap_beside){0};
    chunks[count - 1] = count == 1 ? aligned_alloc(sizeof **chunks, SXT_LARGE_PAGE) : sxt_large_alloc(SXT_LARGE_PAGE);
    if (chunks[count - 1] == NULL)
        return false;
    sites->chunk_count = count;
    return true;
}

uint32_t sxt_heap_sites_add(struct sxt_heap_sites *sites, uint32_t stack, uint64_t epoch)
{
    if (sites->count >= UINT32_MAX - 1 ||
        (sites->count == sites->chunk_count << SXT_HEAP_CHUNK_BITS && !add_chunk(sites)))
        return SXT_HEAP_NO_SITE;
    *sxt_heap_record(sites, sites->count) = (struct sxt_heap_record){.stack = stack, .epoch = (uint32_t)epoch};
    return (uint32_t)sites->count++;
}

/* --- what is beside the records --- */

static struct sxt_heap_beside *beside_of(const struct sxt_heap_sites *sites, size_t site)
{
    return &sites->beside[site >> SXT_HEAP_CHUNK_BITS];
}

struct sxt_heap_pair sxt_heap_sites_pair(const struct sxt_heap_sites *sites, size_t site, enum sxt_heap_pair_kind kind)
{
    const struct sxt_heap_pair *pairs = beside_of(sites, site)->pairs[kind];
    return pairs == NULL ? (struct sxt_heap_pair){0, 0} : pairs[site & (SXT_HEAP_CHUNK - 1)];
}

struct sxt_heap_pair *sxt_heap_sites_make_pairs(struct sxt_heap_sites *sites, size_t site, enum sxt_heap_pair_kind kind)
{
    struct sxt_heap_pair **pairs = &beside_of(sites, site)->pairs[kind];
    if (*pairs == NULL)
        *pairs = calloc(SXT_HEAP_CHUNK, sizeof **pairs);
    sites->no_memory |= *pairs == NULL;
    return *pairs;
}

static void set_pair(struct sxt_heap_sites *sites, size_t site, enum sxt_heap_pair_kind kind, uint64_t bytes,
                     uint64_t count)
{
    bool is_needed = bytes != 0 || count != 0 || beside_of(sites, site)->pairs[kind] != NULL;
    struct sxt_heap_pair *pairs = is_needed ? sxt_heap_sites_make_pairs(sites, site, kind) : NULL;
    if (pairs != NULL)
        pairs[site & (SXT_HEAP_CHUNK - 1)] = (struct sxt_heap_pair){bytes, count};
}

static struct sxt_heap_upper upper_of(const struct sxt_heap_sites *sites, size_t site)
{
    const struct sxt_heap_upper *upper = beside_of(sites, site)->upper;
    return upper == NULL ? (struct sxt_heap_upper){0, 0, 0} : upper[site & (SXT_HEAP_CHUNK - 1)];
}

static struct sxt_heap_upper *make_upper(struct sxt_heap_sites *sites, size_t site)
{
    struct sxt_heap_upper **upper = &beside_of(sites, site)->upper;
    if (*upper == NULL)
        *upper = calloc(SXT_HEAP_CHUNK, sizeof **upper);
    sites->no_memory |= *upper == NULL;
    return *upper == NULL ? NULL : &(*upper)[site & (SXT_HEAP_CHUNK - 1)];
}

void sxt_heap_sites_carry_count(struct sxt_heap_sites *sites, size_t site)
{
    struct sxt_heap_upper *upper = make_upper(sites, site);
    if (upper != NULL)
        upper->count++;
}

void sxt_heap_sites_carry_live(struct sxt_heap_sites *sites, size_t site, int32_t carry)
{
    struct sxt_heap_upper *upper = make_upper(sites, site);
    if (upper != NULL)
        upper->live += (uint32_t)carry;
}

void sxt_heap_sites_remember_upper(struct sxt_heap_sites *sites, size_t site)
{
    struct sxt_heap_upper *upper = make_upper(sites, site);
    if (upper != NULL)
        upper->peak = upper->live;
}

void sxt_heap_sites_free(struct sxt_heap_sites *sites)
{
    for (size_t i = 0; i < sites->chunk_count; i++) {
        free(sites->chunks[i]);
        for (unsigned kind = 0; kind < SXT_HEAP_PAIRS; kind++)
            free(sites->beside[i].pairs[kind]);
        free(sites->beside[i].upper);
    }
    free(sites->chunks);
    free(sites->beside);
    while (sites->found != NULL) {
        struct sxt_heap_found *next = sites->found->next;
        free(sites->found);
        sites->found = next;
    }
    *sites = (struct sxt_heap_sites){0};
}

/* --- sums --- */

static uint64_t join(uint32_t lower, uint32_t upper)
{
    return (uint64_t)upper << 32 | lower;
}

void sxt_heap_sites_get(const struct sxt_heap_sites *sites, size_t site, sxt_heap_sums *out)
{
    const struct sxt_heap_record *record = sxt_heap_record(sites, site);
    struct sxt_heap_upper upper = upper_of(sites, site);
    struct sxt_heap_pair pairs[SXT_HEAP_PAIRS];
    for (unsigned kind = 0; kind < SXT_HEAP_PAIRS; kind++)
        pairs[kind] = sxt_heap_sites_pair(sites, site, kind);
    *out = (sxt_heap_sums){
        .bytes = record->bytes,
        .count = join(record->count, upper.count),
        .live_bytes = record->live_bytes,
        .live_count = join(record->live_count, upper.live),
        .peak_bytes = record->peak_bytes,
        .peak_count = join(record->peak_count, upper.peak),
        .epoch = record->epoch,
        .lifetime_sum = record->lifetime_sum,
        .lifetime_max = record->lifetime_max,
        .temporary_bytes = pairs[SXT_HEAP_TEMPORARY].bytes,
        .temporary_count = pairs[SXT_HEAP_TEMPORARY].count,
        .churned_bytes = pairs[SXT_HEAP_CHURNED].bytes,
        .churned_count = pairs[SXT_HEAP_CHURNED].count,
        .leaked_bytes = pairs[SXT_HEAP_LEAKED].bytes,
        .leaked_count = pairs[SXT_HEAP_LEAKED].count,
        .before_bytes = pairs[SXT_HEAP_BEFORE].bytes,
        .before_count = pairs[SXT_HEAP_BEFORE].count,
    };
    out->freed_bytes = out->before_bytes + out->bytes - out->live_bytes - pairs[SXT_HEAP_UNFREED].bytes;
    out->freed_count = out->before_count + out->count - out->live_count - pairs[SXT_HEAP_UNFREED].count;
}

void sxt_heap_sites_set(struct sxt_heap_sites *sites, size_t site, const sxt_heap_sums *sums)
{
    struct sxt_heap_record *record = sxt_heap_record(sites, site);
    record->bytes = sums->bytes;
    record->count = (uint32_t)sums->count;
    record->live_bytes = sums->live_bytes;
    record->live_count = (uint32_t)sums->live_count;
    record->peak_bytes = sums->peak_bytes;
    record->peak_count = (uint32_t)sums->peak_count;
    record->epoch = (uint32_t)sums->epoch;
    record->lifetime_sum = sums->lifetime_sum;
    record->lifetime_max = sums->lifetime_max;
    set_pair(sites, site, SXT_HEAP_TEMPORARY, sums->temporary_bytes, sums->temporary_count);
    set_pair(sites, site, SXT_HEAP_CHURNED, sums->churned_bytes, sums->churned_count);
    set_pair(sites, site, SXT_HEAP_LEAKED, sums->leaked_bytes, sums->leaked_count);
    set_pair(sites, site, SXT_HEAP_BEFORE, sums->before_bytes, sums->before_count);
    set_pair(sites, site, SXT_HEAP_UNFREED, sums->before_bytes + sums->bytes - sums->live_bytes - sums->freed_bytes,
             sums->before_count + sums->count - sums->live_count - sums->freed_count);
    struct sxt_heap_upper upper = {(uint32_t)(sums->count >> 32), (uint32_t)(sums->live_count >> 32),
                                   (uint32_t)(sums->peak_count >> 32)};
    bool is_needed = upper.count != 0 || upper.live != 0 || upper.peak != 0 || beside_of(sites, site)->upper != NULL;
    struct sxt_heap_upper *place = is_needed ? make_upper(sites, site) : NULL;
    if (place != NULL)
        *place = upper;
}

void sxt_heap_sites_restart_epochs(struct sxt_heap_sites *sites, uint64_t epoch)
{
    for (size_t i = 0; i < sites->count; i++) {
        struct sxt_heap_record *record = sxt_heap_record(sites, i);
        record->epoch = (uint32_t)epoch - 1;
        sxt_heap_sites_remember_peak(sites, record, i, epoch);
    }
}

/* --- costs --- */

/* Costs that need only the record are the most frequent: they need no other memory. */
uint64_t sxt_heap_sites_bytes(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost)
{
    const struct sxt_heap_record *record = sxt_heap_record(sites, site);
    switch (cost) {
    case SXT_HEAP_COST_BYTES:
    case SXT_HEAP_COST_COUNT:
        return record->bytes;
    case SXT_HEAP_COST_LIVE:
        return record->live_bytes;
    case SXT_HEAP_COST_PEAK:
        return record->peak_bytes;
    case SXT_HEAP_COST_LEAKED:
        return sxt_heap_sites_pair(sites, site, SXT_HEAP_LEAKED).bytes;
    default:
        break;
    }
    sxt_heap_sums sums;
    sxt_heap_sites_get(sites, site, &sums);
    return sxt_heap_bytes_of(&sums, cost);
}

uint64_t sxt_heap_sites_count(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost)
{
    const struct sxt_heap_record *record = sxt_heap_record(sites, site);
    struct sxt_heap_upper upper = upper_of(sites, site);
    switch (cost) {
    case SXT_HEAP_COST_BYTES:
    case SXT_HEAP_COST_COUNT:
        return join(record->count, upper.count);
    case SXT_HEAP_COST_LIVE:
        return join(record->live_count, upper.live);
    case SXT_HEAP_COST_PEAK:
        return join(record->peak_count, upper.peak);
    case SXT_HEAP_COST_LEAKED:
        return sxt_heap_sites_pair(sites, site, SXT_HEAP_LEAKED).count;
    default:
        break;
    }
    sxt_heap_sums sums;
    sxt_heap_sites_get(sites, site, &sums);
    return sxt_heap_count_of(&sums, cost);
}

uint64_t sxt_heap_sites_cost(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost)
{
    return sxt_heap_is_count(cost) ? sxt_heap_sites_count(sites, site, cost) : sxt_heap_sites_bytes(sites, site, cost);
}

bool sxt_heap_sites_has_any(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost)
{
    sxt_heap_sums sums;
    if (cost != SXT_HEAP_COST_GROWTH)
        return sxt_heap_sites_bytes(sites, site, cost) > 0 || sxt_heap_sites_count(sites, site, cost) > 0;
    sxt_heap_sites_get(sites, site, &sums);
    return sxt_heap_has_any(&sums, cost);
}

bool sxt_heap_sites_is_shown(const struct sxt_heap_sites *sites, size_t site, sxt_heap_cost cost)
{
    return sxt_heap_sites_has_any(sites, site, cost) &&
           !(cost == SXT_HEAP_COST_LEAKED && sxt_heap_record(sites, site)->is_suppressed);
}
