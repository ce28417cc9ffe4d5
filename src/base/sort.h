/* sort.h: a stable radix sort of numbered 64-bit keys, linear in their count. */
#ifndef SXT_BASE_SORT_H
#define SXT_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sxt_sort_item {
    uint64_t key;
    uint32_t index; /* what the key belongs to */
};

/* Sorts ITEMS by key; equal keys keep their order. SCRATCH has room for COUNT items too. */
void sxt_sort(struct sxt_sort_item *items, struct sxt_sort_item *scratch, size_t count);

#endif
