/* heap.c: one pass over the events of a trace, and what they add up to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "mlyze/heap_private.h"

#define BATCH       1024
#define NEAR_MOST   ((size_t)1 << 22)   /* ids of stacks that are looked up in an array */
#define PASSED_STEP ((uint64_t)4 << 20) /* bytes of the file between two calls of `passed` */
#define THREADS     ((size_t)UINT16_MAX + 1)

static void take_events(struct heap_pass *pass, const struct sxt_mlyze_event *events, size_t count);
static void begin_window(struct heap_pass *pass, uint64_t time);

/* --- sums --- */

/* What is live of SUMS is about to change: keep what it was at the peak, unless a later peak came. */
static inline void remember_peak(const struct sxt_heap_usage *usage, struct sxt_heap_sums *sums)
{
    if (sums->epoch == usage->epoch)
        return;
    sums->epoch = usage->epoch;
    sums->peak_bytes = sums->live_bytes;
    sums->peak_count = sums->live_count;
}

static inline void add_block(const struct sxt_heap_usage *usage, struct sxt_heap_sums *sums, uint64_t size,
                             uint32_t weight)
{
    remember_peak(usage, sums);
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

static inline void end_block(const struct sxt_heap_usage *usage, struct sxt_heap_sums *sums,
                             const struct ending *ending)
{
    remember_peak(usage, sums);
    sums->live_bytes -= ending->size;
    sums->live_count -= ending->weight;
    sums->freed_bytes += ending->size;
    sums->freed_count += ending->weight;
    uint64_t lived;
    if (__builtin_mul_overflow(ending->lifetime, ending->weight, &lived) ||
        __builtin_add_overflow(sums->lifetime_sum, lived, &sums->lifetime_sum))
        sums->lifetime_sum = UINT64_MAX;
    if (ending->lifetime > sums->lifetime_max)
        sums->lifetime_max = ending->lifetime;
    if (ending->is_temporary) {
        sums->temporary_bytes += ending->size;
        sums->temporary_count += ending->weight;
    }
    if (ending->is_churn) {
        sums->churned_bytes += ending->size;
        sums->churned_count += ending->weight;
    }
}

static inline unsigned power_of(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

/* --- sites --- */

static bool widen_near(struct heap_pass *pass, size_t wanted)
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
    struct sxt_heap_usage *usage = pass->usage;
    struct sxt_heap_site *moved =
        usage->site_count >= UINT32_MAX - 1
            ? NULL
            : sxt_array_grow(usage->sites, &usage->site_capacity, usage->site_count + 1, sizeof *moved);
    if (moved == NULL)
        return SXT_HEAP_NO_SITE;
    usage->sites = moved;
    usage->sites[usage->site_count] = (struct sxt_heap_site){.stack = stack, .sums.epoch = usage->epoch};
    return (uint32_t)usage->site_count++;
}

static uint32_t find_far_site(struct heap_pass *pass, uint32_t stack)
{
    bool is_new;
    size_t place = sxt_live_add(&pass->far, stack, &is_new);
    if (place == SXT_LIVE_NOWHERE)
        return SXT_HEAP_NO_SITE;
    if (is_new)
        sxt_live_at(&pass->far, place)->site = new_site(pass, stack);
    return sxt_live_at(&pass->far, place)->site;
}

static inline uint32_t find_site(struct heap_pass *pass, uint32_t stack)
{
    if (__builtin_expect(stack >= NEAR_MOST, 0))
        return find_far_site(pass, stack);
    if (__builtin_expect(stack >= pass->near_count, 0) && !widen_near(pass, (size_t)stack + 1))
        return SXT_HEAP_NO_SITE;
    if (__builtin_expect(pass->near[stack] == 0, 0))
        pass->near[stack] = new_site(pass, stack) + 1;
    return pass->near[stack] - 1;
}

/* --- events --- */

/* 1 - exp(-X) for X > 0, exact also near 0: that of a small part of X, then of twice as much, as often as it takes. */
static double chance(double x)
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

/* An allocation of SIZE bytes was sampled with a probability of 1 - exp(-SIZE / period), so it stands for more. */
static uint32_t scale(struct heap_pass *pass, uint64_t *size)
{
    double taken = *size == 0 ? 1 : (double)*size;
    double weight = 1 / chance(taken / pass->period), bytes = (double)*size * weight;
    *size = bytes < 9e18 ? (uint64_t)(bytes + 0.5) : (uint64_t)9e18;
    weight += pass->carry;
    uint32_t whole = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
    pass->carry = weight < UINT32_MAX ? weight - whole : 0;
    return whole;
}

static void close_block(struct heap_pass *pass, size_t place, uint64_t time)
{
    struct sxt_heap_usage *usage = pass->usage;
    const struct sxt_live_block *block = sxt_live_at(&pass->live, place);
    struct ending ending = {
        .size = block->size, .lifetime = time - block->time, .weight = sxt_live_weight(&pass->live, place)};
    uint64_t others = (pass->sequences[block->thread] - block->sequence) & (((uint64_t)1 << 47) - 1);
    ending.is_temporary = others <= usage->options.temporary;
    ending.is_churn = usage->options.churn > 0 && ending.lifetime < usage->options.churn;
    end_block(usage, &usage->total, &ending);
    end_block(usage, &usage->sites[block->site].sums, &ending);
    if (usage->threads != NULL)
        end_block(usage, &usage->threads[block->thread], &ending);
    if (usage->sizes != NULL)
        end_block(usage, &usage->sizes[power_of(block->size)], &ending);
    unsigned power = power_of(ending.lifetime);
    usage->lifetimes.count[power] += ending.weight;
    usage->lifetimes.bytes[power] += block->size;
}

/* Every other sum is at most that of all bytes, so one check keeps them all from running over. */
static inline uint64_t bound_size(struct sxt_heap_usage *usage, uint64_t size)
{
    uint64_t room = UINT64_MAX - usage->total.bytes;
    if (__builtin_expect(size <= room, 1))
        return size;
    usage->is_cut = true;
    return room;
}

static inline void look_for_peak(struct heap_pass *pass, uint64_t time)
{
    struct sxt_heap_usage *usage = pass->usage;
    uint64_t live = usage->total.live_bytes;
    if (live <= pass->recent_peak)
        return;
    pass->recent_peak = live;
    if (live > usage->total.peak_bytes) {
        usage->total.peak_bytes = live;
        usage->total.peak_count = usage->total.live_count;
        usage->peak_time = time;
        usage->total.epoch = ++usage->epoch;
    }
}

static inline void take_alloc(struct heap_pass *pass, const struct sxt_mlyze_event *event, uint64_t hash)
{
    struct sxt_heap_usage *usage = pass->usage;
    bool is_new;
    uint32_t site = find_site(pass, event->stack), weight = 1;
    size_t place = site == SXT_HEAP_NO_SITE ? SXT_LIVE_NOWHERE : sxt_live_add_hash(&pass->live, hash, &is_new);
    if (place == SXT_LIVE_NOWHERE) {
        pass->no_memory = true;
        return;
    }
    if (!is_new) {
        usage->implicit_frees++;
        close_block(pass, place, event->time);
    }
    uint64_t sequence = ++pass->sequences[event->thread], size = event->size;
    if (__builtin_expect(usage->is_sampled, 0))
        weight = pass->live.weights[pass->live.slots[place].number] = scale(pass, &size);
    size = bound_size(usage, size);
    struct sxt_live_block *block = sxt_live_at(&pass->live, place);
    block->size = size;
    block->time = event->time;
    block->site = site;
    block->sequence = sequence & (((uint64_t)1 << 47) - 1);
    block->is_old = false;
    block->thread = event->thread;
    usage->samples++;
    usage->zero_addresses += event->address == 0;
    add_block(usage, &usage->sites[site].sums, size, weight);
    if (usage->threads != NULL)
        add_block(usage, &usage->threads[event->thread], size, weight);
    if (usage->sizes != NULL)
        add_block(usage, &usage->sizes[power_of(size)], size, weight);
    add_block(usage, &usage->total, size, weight);
    look_for_peak(pass, event->time);
}

static inline void take_free(struct heap_pass *pass, const struct sxt_mlyze_event *event, uint64_t hash,
                             size_t expected)
{
    struct sxt_heap_usage *usage = pass->usage;
    size_t place = sxt_live_find_expected(&pass->live, hash, expected);
    usage->frees++;
    usage->zero_addresses += event->address == 0;
    if (place == SXT_LIVE_NOWHERE) {
        usage->unmatched_frees++;
        return;
    }
    close_block(pass, place, event->time);
    sxt_live_remove(&pass->live, place);
}

static void end_phase(struct heap_pass *pass)
{
    struct sxt_heap_usage *usage = pass->usage;
    sxt_heap_settle(pass);
    if (usage->marker_count > 0 && usage->marker_count == usage->all_markers)
        usage->markers[usage->marker_count - 1].peak_bytes = pass->phase_peak;
    pass->phase_peak = usage->total.live_bytes;
}

static bool is_marker(const struct sxt_heap_usage *usage, const struct sxt_heap_moment *moment, uint32_t name)
{
    char room[24];
    if (moment->kind != SXT_HEAP_MARKER)
        return false;
    sxt_string text = sxt_mlyze_function(sxt_mlyze_metadata(usage->trace), name, room);
    if (sxt_string_equal(text, moment->marker))
        return true;
    /* The name of one that dangles. */
    int size = snprintf(room, sizeof room, "marker_%u", name);
    return name >= sxt_mlyze_metadata(usage->trace)->function_count && (size_t)size == moment->marker.size &&
           memcmp(room, moment->marker.data, (size_t)size) == 0;
}

static void take_marker(struct heap_pass *pass, const struct sxt_mlyze_event *event)
{
    struct sxt_heap_usage *usage = pass->usage;
    if (!pass->has_begun && is_marker(usage, &usage->options.from, event->stack)) {
        begin_window(pass, event->time);
        usage->events = 1;
    } else if (pass->has_begun && is_marker(usage, &usage->options.to, event->stack))
        pass->has_stopped = true;
    end_phase(pass);
    usage->all_markers++;
    if (usage->marker_count >= SXT_HEAP_MARKERS_MOST)
        return;
    struct sxt_heap_marker *moved =
        sxt_array_grow(usage->markers, &usage->marker_capacity, usage->marker_count + 1, sizeof *moved);
    pass->no_memory |= moved == NULL;
    if (moved == NULL)
        return;
    usage->markers = moved;
    usage->markers[usage->marker_count++] = (struct sxt_heap_marker){.time = event->time,
                                                                     .name = event->stack,
                                                                     .live_bytes = usage->total.live_bytes,
                                                                     .live_count = usage->total.live_count};
}

static void take_rare(struct heap_pass *pass, const struct sxt_mlyze_event *event)
{
    struct sxt_heap_usage *usage = pass->usage;
    if (event->kind == SXT_MLYZE_MARKER) {
        take_marker(pass, event);
    } else if (event->kind == SXT_MLYZE_GC) {
        usage->gc_events++;
        usage->gc_objects += event->objects;
        usage->gc_bytes += event->size;
    } else {
        usage->others++;
    }
}

/*
 * The memory of a block takes as long to arrive as several events take. So what lies ahead is looked at in two steps:
 * first the slot is fetched, then the block that it leads to. What was found is kept for when the event comes.
 */
struct lookahead {
    uint64_t hashes[SXT_LIVE_AHEAD];
    size_t expected[SXT_LIVE_AHEAD]; /* of FREEs: where its block seems to be */
};

static inline void look_at_slot(struct lookahead *ahead, const struct sxt_live *live,
                                const struct sxt_mlyze_event *events, size_t number)
{
    uint64_t hash = sxt_live_hash(live, events[number].address);
    ahead->hashes[number % SXT_LIVE_AHEAD] = hash;
    sxt_live_fetch(live, hash);
}

static inline void look_at_block(struct lookahead *ahead, const struct sxt_live *live,
                                 const struct sxt_mlyze_event *events, size_t number)
{
    if (events[number].kind == SXT_MLYZE_FREE)
        ahead->expected[number % SXT_LIVE_AHEAD] = sxt_live_expect(live, ahead->hashes[number % SXT_LIVE_AHEAD]);
}

static void take_events(struct heap_pass *pass, const struct sxt_mlyze_event *events, size_t count)
{
    struct lookahead ahead;
    for (size_t i = 0; i < SXT_LIVE_AHEAD && i < count; i++)
        look_at_slot(&ahead, &pass->live, events, i);
    for (size_t i = 0; i < SXT_LIVE_AHEAD / 2 && i < count; i++)
        look_at_block(&ahead, &pass->live, events, i);
    for (size_t i = 0; i < count && !pass->has_stopped; i++) {
        const struct sxt_mlyze_event *event = &events[i];
        uint64_t hash = ahead.hashes[i % SXT_LIVE_AHEAD];
        size_t expected = ahead.expected[i % SXT_LIVE_AHEAD];
        if (i + SXT_LIVE_AHEAD / 2 < count)
            look_at_block(&ahead, &pass->live, events, i + SXT_LIVE_AHEAD / 2);
        if (i + SXT_LIVE_AHEAD < count)
            look_at_slot(&ahead, &pass->live, events, i + SXT_LIVE_AHEAD);
        if (__builtin_expect(event->time >= pass->next_end, 0))
            sxt_heap_next_stretch(pass, event->time);
        pass->usage->events++;
        pass->usage->end = event->time;
        if (event->kind == SXT_MLYZE_FREE)
            take_free(pass, event, hash, expected);
        else if (event->kind == SXT_MLYZE_ALLOC)
            take_alloc(pass, event, hash);
        else
            take_rare(pass, event);
    }
}

/* --- the window --- */

/* What is live becomes what was there before; all that was counted is forgotten. */
static void begin_sums(const struct sxt_heap_usage *usage, struct sxt_heap_sums *sums)
{
    *sums = (struct sxt_heap_sums){.live_bytes = sums->live_bytes,
                                   .live_count = sums->live_count,
                                   .peak_bytes = sums->live_bytes,
                                   .peak_count = sums->live_count,
                                   .before_bytes = sums->live_bytes,
                                   .before_count = sums->live_count,
                                   .epoch = usage->epoch};
}

static void begin_window(struct heap_pass *pass, uint64_t time)
{
    struct sxt_heap_usage *usage = pass->usage;
    pass->has_begun = true;
    for (size_t i = 0; i < usage->site_count; i++)
        begin_sums(usage, &usage->sites[i].sums);
    for (size_t i = 0; i < THREADS && usage->threads != NULL; i++)
        begin_sums(usage, &usage->threads[i]);
    for (size_t i = 0; i < SXT_HEAP_POWERS && usage->sizes != NULL; i++)
        begin_sums(usage, &usage->sizes[i]);
    begin_sums(usage, &usage->total);
    for (size_t at = SXT_LIVE_NOWHERE; (at = sxt_live_next(&pass->live, at)) != SXT_LIVE_NOWHERE;)
        sxt_live_at(&pass->live, at)->is_old = true;
    usage->start = usage->end = usage->peak_time = time;
    usage->frees = usage->unmatched_frees = usage->implicit_frees = 0;
    usage->zero_addresses = usage->gc_events = usage->gc_objects = usage->gc_bytes = usage->others = 0;
    usage->events = usage->samples = usage->marker_count = usage->all_markers = 0;
    usage->lifetimes = (struct sxt_heap_lifetimes){0};
    pass->phase_peak = usage->total.live_bytes;
    pass->no_memory |= !sxt_heap_begin_stretches(pass);
}

static size_t count_before(const struct sxt_mlyze_event *events, size_t count, uint64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (events[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Times never go back, so an end or a beginning by time cuts a batch in two. */
static void take_batch(struct heap_pass *pass, const struct sxt_mlyze_event *events, size_t count)
{
    struct sxt_heap_usage *usage = pass->usage;
    const struct sxt_heap_moment *from = &usage->options.from, *to = &usage->options.to;
    size_t end = count, done = 0;
    if (to->kind == SXT_HEAP_TIME && to->time < UINT64_MAX)
        end = count_before(events, count, to->time + 1);
    if (!pass->has_begun && from->kind == SXT_HEAP_TIME) {
        size_t before = count_before(events, end, from->time);
        take_events(pass, events, before);
        done = before;
        if (before < count)
            begin_window(pass, from->time);
    }
    take_events(pass, events + done, end - done);
    if (end < count && !pass->has_stopped) {
        pass->has_stopped = true;
        usage->end = to->time > usage->end ? to->time : usage->end;
    }
}

/* --- the whole --- */

static int find_leaks(struct heap_pass *pass)
{
    struct sxt_heap_usage *usage = pass->usage;
    bool is_window = usage->options.from.kind != SXT_HEAP_OPEN;
    for (size_t at = SXT_LIVE_NOWHERE; (at = sxt_live_next(&pass->live, at)) != SXT_LIVE_NOWHERE;) {
        const struct sxt_live_block *block = sxt_live_at(&pass->live, at);
        if (usage->end - block->time < usage->options.min_age || (is_window && block->is_old))
            continue;
        struct sxt_heap_sums *all[] = {&usage->total, &usage->sites[block->site].sums,
                                       usage->threads == NULL ? NULL : &usage->threads[block->thread],
                                       usage->sizes == NULL ? NULL : &usage->sizes[power_of(block->size)]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            if (all[i] == NULL)
                continue;
            all[i]->leaked_bytes += block->size;
            all[i]->leaked_count += sxt_live_weight(&pass->live, at);
        }
    }
    return SXT_OK;
}

static int finish(struct heap_pass *pass, sxt_error *error)
{
    struct sxt_heap_usage *usage = pass->usage;
    const struct sxt_heap_options *options = &usage->options;
    if (!pass->has_begun && options->from.kind == SXT_HEAP_TIME)
        begin_window(pass, options->from.time);
    const struct sxt_heap_moment *missing = !pass->has_begun                                            ? &options->from
                                            : options->to.kind == SXT_HEAP_MARKER && !pass->has_stopped ? &options->to
                                                                                                        : NULL;
    if (missing != NULL && !usage->is_damaged)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "there is no marker '%.*s'%s",
                        (int)(missing->marker.size < 100 ? missing->marker.size : 100), missing->marker.data,
                        missing == &options->to && options->from.kind != SXT_HEAP_OPEN ? " behind the beginning" : "");
    end_phase(pass);
    sxt_heap_end_stretches(pass);
    for (size_t i = 0; i < usage->site_count; i++) {
        remember_peak(usage, &usage->sites[i].sums);
        if (sxt_heap_frames(usage, usage->sites[i].stack) == NULL)
            usage->dangling += usage->sites[i].sums.count;
    }
    for (size_t i = 0; i < THREADS && usage->threads != NULL; i++)
        remember_peak(usage, &usage->threads[i]);
    for (size_t i = 0; i < SXT_HEAP_POWERS && usage->sizes != NULL; i++)
        remember_peak(usage, &usage->sizes[i]);
    return find_leaks(pass);
}

static void tell_passed(struct heap_pass *pass, const struct sxt_mlyze_cursor *cursor)
{
    const struct sxt_heap_options *options = &pass->usage->options;
    uint64_t offset = options->passed != NULL ? sxt_mlyze_offset(cursor) : 0;
    if (offset < pass->passed || offset - pass->passed < PASSED_STEP)
        return;
    pass->passed = offset;
    options->passed(options->context, offset);
}

static int read_all(struct heap_pass *pass, struct sxt_mlyze_cursor *cursor, sxt_error *error)
{
    struct sxt_heap_usage *usage = pass->usage;
    struct sxt_mlyze_event *events = malloc(BATCH * sizeof *events);
    size_t count = events == NULL ? 0 : 1;
    int status = events == NULL ? sxt_fail_memory(error, BATCH * sizeof *events) : SXT_OK;
    while (status == SXT_OK && count > 0 && !pass->has_stopped) {
        int read = sxt_mlyze_read(cursor, events, BATCH, &count, &usage->damage);
        if (read == SXT_ERROR_MEMORY) {
            if (error != NULL)
                *error = usage->damage;
            status = read;
        } else if (read != SXT_OK) {
            usage->is_damaged = true;
            count = 0;
        } else {
            take_batch(pass, events, count);
            tell_passed(pass, cursor);
            if (pass->no_memory)
                status = sxt_fail_memory(error, (pass->live.mask + 1) * sizeof(struct sxt_live_block));
        }
    }
    free(events);
    return status;
}

static bool prepare(struct heap_pass *pass)
{
    struct sxt_heap_usage *usage = pass->usage;
    const struct sxt_mlyze_header *header = sxt_mlyze_header(usage->trace);
    usage->start = usage->end = usage->peak_time = header->start_us;
    usage->is_sampled = (header->flags & SXT_MLYZE_SAMPLED) != 0 && header->period > 0;
    pass->period = (double)header->period;
    pass->has_begun = usage->options.from.kind == SXT_HEAP_OPEN;
    pass->sequences = calloc(THREADS, sizeof *pass->sequences);
    if (usage->options.by_thread)
        usage->threads = calloc(THREADS, sizeof *usage->threads);
    if (usage->options.by_size)
        usage->sizes = calloc(SXT_HEAP_POWERS, sizeof *usage->sizes);
    return sxt_live_init(&pass->live) && (!usage->is_sampled || sxt_live_keep_weights(&pass->live)) &&
           sxt_live_init(&pass->far) && pass->sequences != NULL &&
           (usage->threads != NULL || !usage->options.by_thread) && (usage->sizes != NULL || !usage->options.by_size) &&
           sxt_heap_begin_stretches(pass);
}

int sxt_heap_run(const struct sxt_mlyze *trace, const struct sxt_heap_options *options, struct sxt_heap_usage *out,
                 sxt_error *error)
{
    struct heap_pass pass = {.usage = out};
    struct sxt_mlyze_cursor *cursor = NULL;
    *out = (struct sxt_heap_usage){.trace = trace, .options = *options};
    int status = prepare(&pass) ? SXT_OK : sxt_fail_memory(error, THREADS * sizeof *out->threads);
    if (status == SXT_OK)
        status = sxt_mlyze_cursor_open(trace, &cursor, error);
    if (status == SXT_OK)
        status = read_all(&pass, cursor, error);
    if (status == SXT_OK)
        status = finish(&pass, error);
    sxt_mlyze_cursor_close(&cursor);
    sxt_heap_free_stretches(&pass);
    sxt_live_free(&pass.live);
    sxt_live_free(&pass.far);
    free(pass.near);
    free(pass.sequences);
    if (status != SXT_OK)
        sxt_heap_free(out);
    return status;
}

void sxt_heap_free(struct sxt_heap_usage *usage)
{
    free(usage->sites);
    free(usage->threads);
    free(usage->sizes);
    free(usage->markers);
    free(usage->timeline.items);
    free(usage->windows.items);
    *usage = (struct sxt_heap_usage){0};
}
