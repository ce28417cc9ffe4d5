/* analysis_private.h: a pass over a trace while it runs. Private to analysis*.c of this room. */
#ifndef SXT_MLYZE_ANALYSIS_PRIVATE_H
#define SXT_MLYZE_ANALYSIS_PRIVATE_H

#include "base/priority_queue.h"
#include "mlyze/analysis.h"
#include "mlyze/live.h"

#define SXT_HEAP_THREADS ((size_t)UINT16_MAX + 1)

/* A block of whole pages that has ended; see analysis_trimmed.c. */
struct heap_cut {
    struct sxt_live_block block;
    uint64_t address, time;
};

#define SXT_HEAP_CUTS 4 /* at the same time */

struct heap_pass {
    sxt_heap_usage *usage;
    const struct sxt_heap_watcher *watcher; /* may be NULL */
    struct sxt_live live;
    uint32_t *near;               /* by id of a stack: number of its site + 1, or 0 */
    size_t near_count;            /* higher ids are in `far` */
    struct sxt_live far;          /* of ids that are too high for an array, as addresses */
    uint64_t *sequences;          /* by thread: how many allocations it has made */
    uint64_t checked;             /* plain, with checksums: up to here they were compared */
    uint32_t part_count;          /* parts that were */
    double carry;                 /* what rounding the weights of samples has left over */
    double period;                /* of sampling */
    bool is_unusual;              /* sampled, filtered, or with sums by thread or by size */
    struct sxt_heap_sieve *sieve; /* NULL: everything counts */
    const bool *threads;          /* whose allocations count; NULL: all */
    uint32_t other_site;          /* of the allocations of other threads */
    bool has_begun;               /* the window */
    bool has_stopped;             /* at the marker that ends it */
    bool no_memory;
    uint64_t passed;      /* the offset that the watcher knows */
    uint64_t recent_peak; /* the most live bytes since the last update of intervals */
    uint64_t phase_peak;  /* the same since the last marker, without recent_peak */

    /* analysis_trimmed.c */
    struct heap_cut cuts[SXT_HEAP_CUTS];
    unsigned cut_count;

    /* analysis_timeline.c */
    sxt_heap_interval seen; /* totals at the last update */
    uint64_t next_end;      /* of the point or the window, whichever comes first; UINT64_MAX without any */
    uint64_t point_end, window_end;
    unsigned point_shift; /* the width of a point, as a power of two */
    sxt_heap_interval window;
    struct sxt_queue least; /* numbers of the windows that are kept, the one with the least bytes on top */
};

/* --- analysis.c --- */

/* The live bytes of SUMS are about to change: keep what they were at the peak, unless a later peak came. */
static inline void sxt_heap_remember_peak(const sxt_heap_usage *usage, sxt_heap_sums *sums)
{
    if (sums->epoch == usage->epoch)
        return;
    sums->epoch = usage->epoch;
    sums->peak_bytes = sums->live_bytes;
    sums->peak_count = sums->live_count;
}

/* The index of a value by power of two: see SXT_HEAP_POWERS. */
static inline unsigned sxt_heap_power_of(uint64_t value)
{
    return value == 0 ? 0 : 64 - (unsigned)__builtin_clzll(value);
}

/*
 * The same of the size of a block. That of a sample is scaled up, and a sample does not show what is temporary, so
 * `sequence` has the power of the size that the block really had.
 */
static inline unsigned sxt_heap_power_of_block(const sxt_heap_usage *usage, const struct sxt_live_block *block)
{
    return usage->is_sampled ? (unsigned)block->sequence : sxt_heap_power_of(block->size);
}

/* A block as the bins count it. */
static inline struct sxt_heap_bin_block sxt_heap_bin_block(const sxt_heap_usage *usage,
                                                           const struct sxt_live_block *block, uint32_t weight)
{
    return (struct sxt_heap_bin_block){
        .site = block->site,
        .stack = sxt_heap_record(&usage->sites, block->site)->stack,
        .thread = block->thread,
        .size = block->size,
        .weight = weight,
        .power = sxt_heap_power_of_block(usage, block),
    };
}

/* Takes COUNT events, and begins or ends the window where they cross its ends. */
void sxt_heap_take_batch(struct heap_pass *pass, const sxt_trace_event *events, size_t count);

void sxt_heap_begin_window(struct heap_pass *pass, uint64_t time);

/* A marker or the end: the peak since the last marker is known. */
void sxt_heap_end_phase(struct heap_pass *pass);

/* Puts a block back that was live; STACK is that of its site. The window has not begun. Memory: see no_memory. */
void sxt_heap_restore_block(struct heap_pass *pass, uint64_t hash, const struct sxt_live_block *block, uint32_t stack,
                            uint32_t weight);

/* --- analysis_checkpoints.c --- */

/* Keeps a state for watcher->save if it is time. TIME is that of the last event. */
void sxt_heap_checkpoints_save(struct heap_pass *pass, const struct sxt_mlyze_cursor *cursor, uint64_t time);

/* Goes on from the last state of watcher->from before the time FROM. */
int sxt_heap_checkpoints_restore(struct heap_pass *pass, struct sxt_mlyze_cursor *cursor, uint64_t from,
                                 sxt_error *error);

/* --- analysis_leaks.c --- */

/* Counts what leaked, once all events were taken. */
void sxt_heap_find_leaks(struct heap_pass *pass);

/* --- analysis_trimmed.c --- */

/* Only mappings are cut. */
static inline bool sxt_heap_is_in_pages(uint64_t address, uint64_t size)
{
    return ((address | size) & 4095) == 0 && size > 0;
}

/* EVENT has ended a block of whole pages. Whether it was temporary is decided later. */
void sxt_heap_postpone(struct heap_pass *pass, const struct sxt_live_block *block, const sxt_trace_event *event);

/* EVENT is an allocation at SITE. There are cuts. */
void sxt_heap_decide_cuts(struct heap_pass *pass, const sxt_trace_event *event, uint32_t site);

/* Counts what was postponed. */
void sxt_heap_end_cuts(struct heap_pass *pass);

/* --- analysis_timeline.c: the timeline and the windows of churn --- */

/* May be called again to begin anew. False if memory is short. */
bool sxt_heap_begin_intervals(struct heap_pass *pass);

/* Adds what happened so far to the intervals that are open. */
void sxt_heap_update_intervals(struct heap_pass *pass);

/* For an event at a TIME after the end of a point or a window. */
void sxt_heap_next_interval(struct heap_pass *pass, uint64_t time);
void sxt_heap_end_intervals(struct heap_pass *pass);
void sxt_heap_free_intervals(struct heap_pass *pass);

#endif
