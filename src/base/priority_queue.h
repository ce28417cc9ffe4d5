/*
 * priority_queue.h: a binary heap of numbers, whose meaning the caller knows: its function says which of two is better.
 * All functions are inlined, the comparison too.
 */
#ifndef SXT_BASE_PRIORITY_QUEUE_H
#define SXT_BASE_PRIORITY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sxt_queue {
    uint32_t *items; /* the best first; the caller's memory, with room for the largest number at once */
    size_t count;
};

/* Is A better than B? */
typedef bool sxt_queue_better(const void *context, uint32_t a, uint32_t b);

static inline void sxt_queue_push(struct sxt_queue *queue, uint32_t item, sxt_queue_better *better, const void *context)
{
    size_t at = queue->count++;
    for (; at > 0 && better(context, item, queue->items[(at - 1) / 2]); at = (at - 1) / 2)
        queue->items[at] = queue->items[(at - 1) / 2];
    queue->items[at] = item;
}

/* Takes the best one out; there must be one. */
static inline void sxt_queue_pop(struct sxt_queue *queue, sxt_queue_better *better, const void *context)
{
    uint32_t last = queue->items[--queue->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= queue->count)
            break;
        if (child + 1 < queue->count && better(context, queue->items[child + 1], queue->items[child]))
            child++;
        if (!better(context, queue->items[child], last))
            break;
        queue->items[at] = queue->items[child];
        at = child;
    }
    queue->items[at] = last;
}

#endif
