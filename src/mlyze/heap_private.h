/* heap_private.h: a pass over a trace, while it is on its way. Private to heap*.c of this room. */
#ifndef SXT_MLYZE_HEAP_PRIVATE_H
#define SXT_MLYZE_HEAP_PRIVATE_H

#include "base/priority_queue.h"
#include "mlyze/heap.h"
#include "mlyze/live.h"

struct heap_pass {
    struct sxt_heap_usage *usage;
    struct sxt_live live;
    uint32_t *near;      /* by id of a stack: number of its site + 1, or 0 */
    size_t near_count;   /* higher ids are in `far` */
    struct sxt_live far; /* of ids that are too high for an array, as addresses */
    uint64_t *sequences; /* by thread: how many allocations it has made */
    double carry;        /* what rounding the weights of samples has left over */
    double period;       /* of sampling */
    bool has_begun;      /* the window */
    bool has_stopped;    /* at the marker that ends it */
    bool no_memory;
    uint64_t passed;      /* what `passed` was told last */
    uint64_t recent_peak; /* the most that was live since it was looked at last */
    uint64_t phase_peak;  /* ... since the last marker, but for recent_peak */

    /* heap_stretch.c */
    struct sxt_heap_stretch seen; /* totals as of when recent_peak was looked at */
    uint64_t next_end;            /* of the point or the window, whichever comes first; UINT64_MAX without any */
    uint64_t point_end, window_end;
    unsigned point_shift; /* the width of a point, as a power of two */
    struct sxt_heap_stretch window;
    struct sxt_queue least; /* numbers of the windows that are kept, the one with the least bytes on top */
};

/*
 * heap_stretch.c: the timeline and the windows of churn. They begin with sxt_heap_begin_stretches, which may be called
 * again to begin anew; false when memory is short. SETTLE takes what happened so far into account, NEXT is for an event
 * at a TIME behind the end of a point or a window, END for the end of all.
 */
bool sxt_heap_begin_stretches(struct heap_pass *pass);
void sxt_heap_settle(struct heap_pass *pass);
void sxt_heap_next_stretch(struct heap_pass *pass, uint64_t time);
void sxt_heap_end_stretches(struct heap_pass *pass);
void sxt_heap_free_stretches(struct heap_pass *pass);

static inline void sxt_heap_enter_time(struct heap_pass *pass, uint64_t time)
{
    if (__builtin_expect(time >= pass->next_end, 0))
        sxt_heap_next_stretch(pass, time);
}

#endif
