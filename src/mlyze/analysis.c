/* analysis.c: the events of a trace, one after another, and the sums that they change. This is the hot path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "base/string.h"
#include "mlyze/analysis_private.h"
#include "mlyze/private.h"

#define NEAR_MOST ((size_t)1 << 22) /* ids of stacks that are looked up in an array */

static void take_events(struct heap_pass *pass, const sxt_trace_event *events, size_t count);

/* --- sums --- */

static inline void add_block(const sxt_heap_usage *usage, sxt_heap_sums *sums, uint64_t size, uint32_t weight)
{
    sxt_heap_remember_peak(usage, sums);
    sums->bytes += size;
    sums->count += weight;
    sums->live_bytes += size;
    sums->live_count += weight;
}

struct ending {
    uint64_t size, lifetime;
    uint32_t weight;
    bool is_temporary, is_churn;
};

static inline void add_lifetime(uint64_t *sum, uint64_t *max, const struct ending *ending)
{
    uint64_t lived;
    if (__builtin_mul_overflow(ending->lifetime, ending->weight, &lived) || __builtin_add_overflow(*sum, lived, sum))
        *sum = UINT64_MAX;
    if (ending->lifetime > *max)
        *max = ending->lifetime;
}

static inline void end_block(const sxt_heap_usage *usage, sxt_heap_sums *sums, const struct ending *ending)
{
    sxt_heap_remember_peak(usage, sums);
    sums->live_bytes -= ending->size;
    sums->live_count -= ending->weight;
    sums->freed_bytes += ending->size;
    sums->freed_count += ending->weight;
    add_lifetime(&sums->lifetime_sum, &sums->lifetime_max, ending);
    if (ending->is_temporary) {
        sums->temporary_bytes += ending->size;
        sums->temporary_count += ending->weight;
    }
    if (ending->is_churn) {
        sums->churned_bytes += ending->size;
        sums->churned_count += ending->weight;
    }
}

/* As end_block, for the sums of a site. */
static inline void end_site_block(sxt_heap_usage *usage, uint32_t site, const struct ending *ending)
{
    struct sxt_heap_sites *sites = &usage->sites;
    struct sxt_heap_record *record = sxt_heap_sites_end_block(sites, site, usage->epoch, ending->size, ending->weight);
    add_lifetime(&record->lifetime_sum, &record->lifetime_max, ending);
    if (ending->is_temporary)
        sxt_heap_sites_add_pair(sites, site, SXT_HEAP_TEMPORARY, ending->size, ending->weight);
    if (ending->is_churn)
        sxt_heap_sites_add_pair(sites, site, SXT_HEAP_CHURNED, ending->size, ending->weight);
}

/* Counts a peak; returns its number. */
static inline uint64_t begin_epoch(sxt_heap_usage *usage)
{
    if (__builtin_expect((uint32_t)++usage->epoch == 0, 0))
        sxt_heap_sites_restart_epochs(&usage->sites, usage->epoch);
    return usage->epoch;
}

/* --- sites --- */

static bool grow_near(struct heap_pass *pass, size_t wanted)
{
    size_t capacity = pass->near_count;
    uint32_t *moved = sxt_array_grow(pass->near, &capacity, wanted, sizeof *moved);
    if (moved == NULL)
        return false;
    memset(moved + pass->near_count, 0, (capacity - pass->near_count) * sizeof *moved);
    pass->near = moved;
    pass->near_count = capacity;
    return true;
}

static uint32_t new_site(struct heap_pass *pass, uint32_t stack)
{
    struct sxt_heap_sites *sites = &pass->usage->sites;
    uint32_t site = sxt_heap_sites_add(sites, stack, pass->usage->epoch);
    if (site != SXT_HEAP_NO_SITE)
        sxt_heap_record(sites, site)->is_left_out = pass->sieve != NULL && !sxt_heap_sieve_keeps(pass->sieve, stack);
    return site;
}

static inline uint32_t find_site(struct heap_pass *pass, uint32_t stack);

/* The site of a stack that comes for the first time: its own, or that of the group that the bins count it in. */
static uint32_t first_site(struct heap_pass *pass, uint32_t stack)
{
    const struct sxt_heap_bins *bins = pass->watcher != NULL ? pass->watcher->bins : NULL;
    uint32_t group = bins != NULL ? sxt_heap_bins_group(bins, stack) : stack;
    return group == stack ? new_site(pass, stack) : find_site(pass, group);
}

static uint32_t find_far_site(struct heap_pass *pass, uint32_t stack)
{
    bool is_new;
    size_t place = sxt_live_add(&pass->far, stack, &is_new);
    if (place == SXT_LIVE_NOWHERE)
        return SXT_HEAP_NO_SITE;
    if (is_new) {
        uint32_t site = first_site(pass, stack); /* may add another one, and move this */
        place = sxt_live_find(&pass->far, stack);
        sxt_live_at(&pass->far, place)->site = site;
    }
    return sxt_live_at(&pass->far, place)->site;
}

static inline uint32_t find_site(struct heap_pass *pass, uint32_t stack)
{
    if (__builtin_expect(stack >= NEAR_MOST, 0))
        return find_far_site(pass, stack);
    if (__builtin_expect(stack >= pass->near_count, 0) && !grow_near(pass, (size_t)stack + 1))
        return SXT_HEAP_NO_SITE;
    if (__builtin_expect(pass->near[stack] == 0, 0)) {
        uint32_t site = first_site(pass, stack);
        pass->near[stack] = site + 1;
    }
    return pass->near[stack] - 1;
}

/* As find_site, if allocations of other threads are left out. */
static uint32_t find_site_of_thread(struct heap_pass *pass, const sxt_trace_event *event)
{
    if (pass->threads == NULL || pass->threads[event->thread])
        return find_site(pass, event->stack);
    if (pass->other_site == SXT_HEAP_NO_SITE && (pass->other_site = new_site(pass, 0)) != SXT_HEAP_NO_SITE)
        sxt_heap_record(&pass->usage->sites, pass->other_site)->is_left_out = true;
    return pass->other_site;
}

/* --- events --- */

/* Computed for a small part of X, which is then doubled until it is X. */
double sxt_one_minus_exp(double x)
{
    int doublings = 0;
    if (x > 40)
        return 1;
    for (; x > 1.0 / 1024; x /= 2)
        doublings++;
    double result = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5))));
    for (; doublings > 0; doublings--)
        result *= 2 - result;
    return result;
}

/* An allocation of SIZE bytes was sampled with a probability of 1 - exp(-SIZE / period), so it counts as several. */
static uint32_t scale(struct heap_pass *pass, uint64_t *size)
{
    double taken = *size == 0 ? 1 : (double)*size;
    double weight = 1 / sxt_one_minus_exp(taken / pass->period), bytes = (double)*size * weight;
    *size = bytes < 9e18 ? (uint64_t)(bytes + 0.5) : (uint64_t)9e18;
    weight += pass->carry;
    uint32_t whole = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
    pass->carry = weight < UINT32_MAX ? weight - whole : 0;
    return whole;
}

/* The sums of a block that has ended that not every pass has. False if the filter leaves it out. */
static bool end_unusual(sxt_heap_usage *usage, const struct sxt_live_block *block, const struct ending *ending)
{
    if (usage->is_filtered) {
        end_block(usage, &usage->whole, ending);
        if (sxt_heap_record(&usage->sites, block->site)->is_left_out)
            return false;
        usage->kept.ends++;
    }
    if (usage->threads != NULL)
        end_block(usage, &usage->threads[block->thread], ending);
    if (usage->sizes != NULL)
        end_block(usage, &usage->sizes[sxt_heap_power_of_block(usage, block)], ending);
    if (usage->bins != NULL) {
        struct sxt_heap_bin_block ended = sxt_heap_bin_block(usage, block, ending->weight);
        sxt_heap_bins_end(usage->bins, &ended, block->time + ending->lifetime, ending->lifetime);
        if (ending->is_temporary)
            sxt_heap_bins_temporary(usage->bins, &ended);
    }
    return true;
}

static void close_block(struct heap_pass *pass, size_t place, const sxt_trace_event *event)
{
    sxt_heap_usage *usage = pass->usage;
    const struct sxt_live_block *block = sxt_live_at(&pass->live, place);
    struct ending ending = {
        .size = block->size, .lifetime = event->time - block->time, .weight = sxt_live_weight(&pass->live, place)};
    uint64_t others = (pass->sequences[block->thread] - block->sequence) & (((uint64_t)1 << 47) - 1);
    ending.is_temporary = others <= usage->options.temporary && !usage->is_sampled;
    if (__builtin_expect(ending.is_temporary && sxt_heap_is_in_pages(event->address, block->size), 0)) {
        ending.is_temporary = false;
        sxt_heap_postpone(pass, block, event);
    }
    ending.is_churn = usage->options.churn > 0 && ending.lifetime < usage->options.churn;
    end_site_block(usage, block->site, &ending);
    if (__builtin_expect(pass->is_unusual, 0) && !end_unusual(usage, block, &ending))
        return;
    end_block(usage, &usage->total, &ending);
    unsigned power = sxt_heap_power_of(ending.lifetime);
    usage->lifetimes.count[power] += ending.weight;
    usage->lifetimes.bytes[power] += block->size;
}

/* No other sum exceeds that of all bytes, so one check protects all of them from overflow. */
static inline uint64_t bound_size(sxt_heap_usage *usage, const sxt_heap_sums *all, uint64_t size)
{
    uint64_t room = UINT64_MAX - all->bytes;
    if (__builtin_expect(size <= room, 1))
        return size;
    usage->is_saturated = true;
    return room;
}

static inline void look_for_peak(struct heap_pass *pass, uint64_t time)
{
    sxt_heap_usage *usage = pass->usage;
    uint64_t live = usage->total.live_bytes;
    if (live <= pass->recent_peak)
        return;
    pass->recent_peak = live;
    if (live > usage->total.peak_bytes) {
        usage->total.peak_bytes = live;
        usage->total.peak_count = usage->total.live_count;
        usage->peak_time = time;
        usage->total.epoch = begin_epoch(usage);
    }
}

/* The size and weight that a new block counts with. */
static uint32_t weigh(struct heap_pass *pass, size_t place, uint64_t *size)
{
    uint32_t weight = 1;
    if (pass->usage->is_sampled)
        weight = pass->live.weights[pass->live.slots[place].number] = scale(pass, size);
    if (pass->usage->is_filtered)
        *size = bound_size(pass->usage, &pass->usage->whole, *size);
    return weight;
}

/* The peak is that of the whole heap, also if a part of it is left out. */
static void add_filtered(struct heap_pass *pass, const struct sxt_heap_record *site, uint64_t size, uint32_t weight,
                         uint64_t time)
{
    sxt_heap_usage *usage = pass->usage;
    if (!site->is_left_out) {
        usage->kept.samples++;
        add_block(usage, &usage->total, size, weight);
        if (usage->total.live_bytes > pass->recent_peak)
            pass->recent_peak = usage->total.live_bytes;
    }
    add_block(usage, &usage->whole, size, weight);
    if (usage->whole.live_bytes <= usage->whole.peak_bytes)
        return;
    usage->whole.peak_bytes = usage->whole.live_bytes;
    usage->whole.peak_count = usage->whole.live_count;
    usage->peak_time = time;
    usage->whole.epoch = begin_epoch(usage);
}

/* The sums of a new block that not every pass has. False if the others are done too. */
static bool add_unusual(struct heap_pass *pass, const struct sxt_live_block *block, uint32_t weight)
{
    sxt_heap_usage *usage = pass->usage;
    const struct sxt_heap_record *site = sxt_heap_record(&usage->sites, block->site);
    if (usage->threads != NULL && !site->is_left_out)
        add_block(usage, &usage->threads[block->thread], block->size, weight);
    if (usage->sizes != NULL && !site->is_left_out)
        add_block(usage, &usage->sizes[sxt_heap_power_of_block(usage, block)], block->size, weight);
    if (usage->bins != NULL && !site->is_left_out) {
        struct sxt_heap_bin_block begun = sxt_heap_bin_block(usage, block, weight);
        sxt_heap_bins_add(usage->bins, &begun, block->time);
    }
    if (usage->is_filtered)
        add_filtered(pass, site, block->size, weight, block->time);
    return !usage->is_filtered;
}

static inline void take_alloc(struct heap_pass *pass, const sxt_trace_event *event, uint64_t hash)
{
    sxt_heap_usage *usage = pass->usage;
    bool is_new;
    bool is_unusual = pass->is_unusual;
    uint32_t site = __builtin_expect(is_unusual, 0) ? find_site_of_thread(pass, event) : find_site(pass, event->stack);
    uint32_t weight = 1;
    size_t place = site == SXT_HEAP_NO_SITE ? SXT_LIVE_NOWHERE : sxt_live_add_hash(&pass->live, hash, &is_new);
    if (place == SXT_LIVE_NOWHERE) {
        pass->no_memory = true;
        return;
    }
    if (!is_new) {
        uint64_t before = usage->kept.ends;
        usage->implicit_frees++;
        close_block(pass, place, event);
        usage->kept.implicit_frees += usage->kept.ends - before;
    }
    if (__builtin_expect(pass->cut_count > 0, 0))
        sxt_heap_decide_cuts(pass, event, site);
    uint64_t sequence = ++pass->sequences[event->thread], size = event->size;
    if (__builtin_expect(is_unusual, 0)) {
        weight = weigh(pass, place, &size);
        sequence = usage->is_sampled ? sxt_heap_power_of(event->size) : sequence;
    }
    size = bound_size(usage, &usage->total, size);
    struct sxt_live_block *block = sxt_live_at(&pass->live, place);
    block->size = size;
    block->time = event->time;
    block->site = site;
    block->sequence = sequence & (((uint64_t)1 << 47) - 1);
    block->is_old = false;
    block->thread = event->thread;
    usage->samples++;
    usage->zero_addresses += event->address == 0;
    sxt_heap_sites_add_block(&usage->sites, site, usage->epoch, size, weight);
    if (__builtin_expect(is_unusual, 0) && !add_unusual(pass, block, weight))
        return;
    add_block(usage, &usage->total, size, weight);
    look_for_peak(pass, event->time);
}

void sxt_heap_restore_block(struct heap_pass *pass, uint64_t hash, const struct sxt_live_block *block, uint32_t stack,
                            uint32_t weight)
{
    sxt_heap_usage *usage = pass->usage;
    bool is_new;
    uint32_t site = find_site(pass, stack);
    size_t place = site == SXT_HEAP_NO_SITE ? SXT_LIVE_NOWHERE : sxt_live_add_hash(&pass->live, hash, &is_new);
    pass->no_memory |= place == SXT_LIVE_NOWHERE;
    if (place == SXT_LIVE_NOWHERE)
        return;
    struct sxt_live_block *to = sxt_live_at(&pass->live, place);
    uint32_t key = to->key;
    *to = *block;
    to->site = site;
    to->key = key;
    if (usage->is_sampled)
        pass->live.weights[pass->live.slots[place].number] = weight;
    sxt_heap_sites_add_block(&usage->sites, site, usage->epoch, block->size, weight);
    add_block(usage, &usage->total, block->size, weight);
}

static inline void take_free(struct heap_pass *pass, const sxt_trace_event *event, uint64_t hash, size_t expected)
{
    sxt_heap_usage *usage = pass->usage;
    size_t place = sxt_live_find_expected(&pass->live, hash, expected);
    usage->frees++;
    usage->zero_addresses += event->address == 0;
    if (place == SXT_LIVE_NOWHERE) {
        usage->unmatched_frees++;
        return;
    }
    close_block(pass, place, event);
    sxt_live_remove(&pass->live, place);
}

void sxt_heap_end_phase(struct heap_pass *pass)
{
    sxt_heap_usage *usage = pass->usage;
    sxt_heap_update_intervals(pass);
    if (usage->marker_count > 0 && usage->marker_count == usage->all_markers)
        usage->markers[usage->marker_count - 1].peak_bytes = pass->phase_peak;
    pass->phase_peak = usage->total.live_bytes;
}

static bool is_marker(const sxt_heap_usage *usage, const sxt_heap_moment *moment, uint32_t name)
{
    char room[24];
    if (moment->kind != SXT_HEAP_MOMENT_MARKER)
        return false;
    sxt_string text = sxt_mlyze_function(sxt_mlyze_metadata(usage->trace), name, room);
    if (sxt_string_equal(text, moment->marker))
        return true;
    /* A marker whose name is not in the metadata. */
    int size = snprintf(room, sizeof room, "marker_%u", name);
    return sxt_mlyze_find_function(sxt_mlyze_metadata(usage->trace), name).data == NULL &&
           sxt_string_equal((sxt_string){room, (size_t)size}, moment->marker);
}

static void take_marker(struct heap_pass *pass, const sxt_trace_event *event)
{
    sxt_heap_usage *usage = pass->usage;
    if (!pass->has_begun && is_marker(usage, &usage->options.from, event->stack)) {
        sxt_heap_begin_window(pass, event->time);
        usage->events = 1;
    } else if (pass->has_begun && is_marker(usage, &usage->options.to, event->stack))
        pass->has_stopped = true;
    sxt_heap_end_phase(pass);
    usage->all_markers++;
    if (usage->marker_count >= SXT_HEAP_MARKERS_MOST)
        return;
    sxt_heap_marker *moved =
        sxt_array_grow(usage->markers, &usage->marker_capacity, usage->marker_count + 1, sizeof *moved);
    pass->no_memory |= moved == NULL;
    if (moved == NULL)
        return;
    usage->markers = moved;
    usage->markers[usage->marker_count++] = (sxt_heap_marker){.time = event->time,
                                                              .name = event->stack,
                                                              .live_bytes = usage->total.live_bytes,
                                                              .live_count = usage->total.live_count};
}

static void take_rare(struct heap_pass *pass, const sxt_trace_event *event)
{
    sxt_heap_usage *usage = pass->usage;
    if (event->kind == SXT_TRACE_MARKER) {
        take_marker(pass, event);
    } else if (event->kind == SXT_TRACE_GC) {
        usage->gc_events++;
        usage->gc_objects += event->objects;
        usage->gc_bytes += event->size;
        if (usage->bins != NULL)
            sxt_heap_bins_collect(usage->bins, event);
    } else {
        usage->others += event->type > SXT_MLYZE_TYPE_LAST;
    }
}

/*
 * Fetching the memory of a block takes as long as handling several events. So events are prepared ahead of time, in two
 * steps: first the slot is fetched, then the block that it points to. The result is kept until the event is handled.
 */
struct lookahead {
    uint64_t hashes[SXT_LIVE_AHEAD];
    size_t expected[SXT_LIVE_AHEAD]; /* of FREEs: where the block probably is */
};

static inline void look_at_slot(struct lookahead *ahead, const struct sxt_live *live, const sxt_trace_event *events,
                                size_t number)
{
    uint64_t hash = sxt_live_hash(live, events[number].address);
    ahead->hashes[number % SXT_LIVE_AHEAD] = hash;
    sxt_live_fetch(live, hash);
}

static inline void look_at_block(struct lookahead *ahead, const struct sxt_live *live, const sxt_trace_event *events,
                                 size_t number)
{
    if (events[number].kind == SXT_TRACE_FREE)
        ahead->expected[number % SXT_LIVE_AHEAD] = sxt_live_expect(live, ahead->hashes[number % SXT_LIVE_AHEAD]);
}

#define MANY_SITES 4096 /* more than the processor's caches hold */

static inline __attribute__((always_inline)) void fetch_site(const sxt_heap_usage *usage, uint32_t site)
{
    __builtin_prefetch(sxt_heap_record(&usage->sites, site), 1);
}

/*
 * The same for the sums of sites, if there are many. An allocation knows its stack, so its site can be fetched long
 * before; what a block that ends says about its site was fetched before.
 */
static inline __attribute__((always_inline)) void look_at_sites(const struct lookahead *ahead,
                                                                const struct heap_pass *pass,
                                                                const sxt_trace_event *events, size_t count, size_t at)
{
    size_t farther = at + 2 * SXT_LIVE_AHEAD, far = at + SXT_LIVE_AHEAD, next = at + SXT_LIVE_AHEAD / 4;
    if (farther < count && events[farther].kind == SXT_TRACE_ALLOC && events[farther].stack < pass->near_count)
        __builtin_prefetch(&pass->near[events[farther].stack]);
    if (far < count && events[far].kind == SXT_TRACE_ALLOC && events[far].stack < pass->near_count &&
        pass->near[events[far].stack] != 0)
        fetch_site(pass->usage, pass->near[events[far].stack] - 1);
    if (next >= count || events[next].kind != SXT_TRACE_FREE)
        return;
    size_t expected = ahead->expected[next % SXT_LIVE_AHEAD];
    if (expected != SXT_LIVE_NOWHERE && pass->live.slots[expected].number != 0) {
        uint32_t site = sxt_live_at(&pass->live, expected)->site;
        if (site < pass->usage->sites.count)
            fetch_site(pass->usage, site);
    }
}

static void take_events(struct heap_pass *pass, const sxt_trace_event *events, size_t count)
{
    struct lookahead ahead;
    bool has_many = pass->usage->sites.count > MANY_SITES;
    for (size_t i = 0; i < SXT_LIVE_AHEAD && i < count; i++)
        look_at_slot(&ahead, &pass->live, events, i);
    for (size_t i = 0; i < SXT_LIVE_AHEAD / 2 && i < count; i++)
        look_at_block(&ahead, &pass->live, events, i);
    for (size_t i = 0; i < count && !pass->has_stopped; i++) {
        const sxt_trace_event *event = &events[i];
        uint64_t hash = ahead.hashes[i % SXT_LIVE_AHEAD];
        size_t expected = ahead.expected[i % SXT_LIVE_AHEAD];
        if (i + SXT_LIVE_AHEAD / 2 < count)
            look_at_block(&ahead, &pass->live, events, i + SXT_LIVE_AHEAD / 2);
        if (i + SXT_LIVE_AHEAD < count)
            look_at_slot(&ahead, &pass->live, events, i + SXT_LIVE_AHEAD);
        if (__builtin_expect(has_many, 0))
            look_at_sites(&ahead, pass, events, count, i);
        if (__builtin_expect(event->time >= pass->next_end, 0))
            sxt_heap_next_interval(pass, event->time);
        pass->usage->events++;
        pass->usage->end = event->time;
        if (event->kind == SXT_TRACE_FREE)
            take_free(pass, event, hash, expected);
        else if (event->kind == SXT_TRACE_ALLOC)
            take_alloc(pass, event, hash);
        else
            take_rare(pass, event);
    }
}

/* --- the window --- */

/* What is live now was there before the window; all counts start again. */
static void begin_sums(const sxt_heap_usage *usage, sxt_heap_sums *sums)
{
    *sums = (sxt_heap_sums){.live_bytes = sums->live_bytes,
                            .live_count = sums->live_count,
                            .peak_bytes = sums->live_bytes,
                            .peak_count = sums->live_count,
                            .before_bytes = sums->live_bytes,
                            .before_count = sums->live_count,
                            .epoch = usage->epoch};
}

/* The bins begin with the window, and with what is live. */
static void begin_bins(struct heap_pass *pass, uint64_t time)
{
    sxt_heap_usage *usage = pass->usage;
    usage->bins = pass->watcher->bins;
    sxt_heap_bins_begin_with(usage->bins, time, usage->total.live_bytes);
    for (size_t at = SXT_LIVE_NOWHERE; (at = sxt_live_next(&pass->live, at)) != SXT_LIVE_NOWHERE;) {
        struct sxt_heap_bin_block block =
            sxt_heap_bin_block(usage, sxt_live_at(&pass->live, at), sxt_live_weight(&pass->live, at));
        sxt_heap_bins_before(usage->bins, &block);
    }
}

void sxt_heap_begin_window(struct heap_pass *pass, uint64_t time)
{
    sxt_heap_usage *usage = pass->usage;
    pass->has_begun = true;
    sxt_heap_end_cuts(pass);
    for (size_t i = 0; i < usage->sites.count; i++) {
        sxt_heap_sums sums;
        sxt_heap_sites_get(&usage->sites, i, &sums);
        begin_sums(usage, &sums);
        sxt_heap_sites_set(&usage->sites, i, &sums);
    }
    for (size_t i = 0; i < SXT_HEAP_THREADS && usage->threads != NULL; i++)
        begin_sums(usage, &usage->threads[i]);
    for (size_t i = 0; i < SXT_HEAP_POWERS && usage->sizes != NULL; i++)
        begin_sums(usage, &usage->sizes[i]);
    begin_sums(usage, &usage->total);
    begin_sums(usage, &usage->whole);
    for (size_t at = SXT_LIVE_NOWHERE; (at = sxt_live_next(&pass->live, at)) != SXT_LIVE_NOWHERE;)
        sxt_live_at(&pass->live, at)->is_old = true;
    if (pass->watcher != NULL && pass->watcher->bins != NULL)
        begin_bins(pass, time);
    usage->start = usage->end = usage->peak_time = time;
    usage->frees = usage->unmatched_frees = usage->implicit_frees = 0;
    usage->zero_addresses = usage->gc_events = usage->gc_objects = usage->gc_bytes = usage->others = 0;
    usage->events = usage->samples = usage->marker_count = usage->all_markers = 0;
    usage->lifetimes = (sxt_heap_lifetimes){0};
    usage->kept.ends = usage->kept.implicit_frees = usage->kept.samples = 0;
    pass->phase_peak = usage->total.live_bytes;
    pass->no_memory |= !sxt_heap_begin_intervals(pass);
}

static size_t count_before(const sxt_trace_event *events, size_t count, uint64_t time)
{
    return SXT_SEARCH_FROM(events, count, time, time);
}

/* Times never decrease, so a window that begins or ends at a time cuts a batch in two. */
void sxt_heap_take_batch(struct heap_pass *pass, const sxt_trace_event *events, size_t count)
{
    sxt_heap_usage *usage = pass->usage;
    const sxt_heap_moment *from = &usage->options.from, *to = &usage->options.to;
    size_t end = count, done = 0;
    if (to->kind == SXT_HEAP_MOMENT_TIME && to->time < UINT64_MAX)
        end = count_before(events, count, to->time + 1);
    if (!pass->has_begun && from->kind == SXT_HEAP_MOMENT_TIME) {
        size_t before = count_before(events, end, from->time);
        take_events(pass, events, before);
        done = before;
        if (before < count)
            sxt_heap_begin_window(pass, from->time);
    }
    take_events(pass, events + done, end - done);
    if (end < count && !pass->has_stopped) {
        pass->has_stopped = true;
        usage->end = to->time > usage->end ? to->time : usage->end;
    }
}
