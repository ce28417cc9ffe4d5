/* array.h: making room in a growing array of any type. */
#ifndef SXT_BASE_ARRAY_H
#define SXT_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/bytes.h"

/*
 * The array at ITEMS with room for at least WANTED items of ITEM_SIZE bytes, moved if necessary. NULL when memory is
 * short; the old array and *CAPACITY are then unchanged. The capacity doubles, so that appending one by one is linear.
 */
static inline void *sxt_array_grow(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
    if (wanted <= *capacity)
        return items;
    size_t room = *capacity < 32 ? 64 : *capacity;
    while (room < wanted) {
        if (room > SIZE_MAX / 2)
            return NULL;
        room *= 2;
    }
    uint64_t bytes;
    if (!sxt_mul_u64(room, item_size, &bytes))
        return NULL;
    void *moved = realloc(items, bytes);
    if (moved != NULL)
        *capacity = room;
    return moved;
}

#endif
