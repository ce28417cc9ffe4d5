/*
 * heap.h: the best of many, while some come and some go. A binary heap of numbers, whose meaning the caller knows: a
 * function of his tells which of two is better. All is inlined, so that this costs nothing.
 */
#ifndef SXT_BASE_HEAP_H
#define SXT_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sxt_heap {
    uint32_t *items; /* the best first; the caller's, with room for all that will be in it at once */
    size_t count;
};

/* Is A better than B? */
typedef bool sxt_heap_better(const void *context, uint32_t a, uint32_t b);

static inline void sxt_heap_push(struct sxt_heap *heap, uint32_t item, sxt_heap_better *better, const void *context)
{
    size_t at = heap->count++;
    for (; at > 0 && better(context, item, heap->items[(at - 1) / 2]); at = (at - 1) / 2)
        heap->items[at] = heap->items[(at - 1) / 2];
    heap->items[at] = item;
}

/* Takes the best one out; there must be one. */
static inline void sxt_heap_pop(struct sxt_heap *heap, sxt_heap_better *better, const void *context)
{
    uint32_t last = heap->items[--heap->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && better(context, heap->items[child + 1], heap->items[child]))
            child++;
        if (!better(context, heap->items[child], last))
            break;
        heap->items[at] = heap->items[child];
        at = child;
    }
    heap->items[at] = last;
}

#endif
