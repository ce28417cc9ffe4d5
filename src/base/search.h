/*
 * search.h: binary search in an array of structs that ascends by a field of 32 or 64 bits.
 *
 *     size_t next = sxt_search_above(mappings, count, sizeof *mappings, offsetof(struct mapping, start), 64, address);
 *
 * Everything is inlined: with constants for size, place and width of the field, this compiles to a plain loop.
 * Searches whose key is not a field (it is decoded, or two fields count) have their own loop.
 */
#ifndef SXT_BASE_SEARCH_H
#define SXT_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline size_t sxt_search(const void *items, size_t count, size_t item_size, size_t field, unsigned bits,
                                uint64_t value, bool above)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *place = (const char *)items + middle * item_size + field;
        uint64_t found;
        if (bits == 32) {
            uint32_t narrow;
            memcpy(&narrow, place, sizeof narrow);
            found = narrow;
        } else {
            memcpy(&found, place, sizeof found);
        }
        if (above ? found <= value : found < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The index of the first item whose field is greater than VALUE; COUNT when there is none. */
static inline size_t sxt_search_above(const void *items, size_t count, size_t item_size, size_t field, unsigned bits,
                                      uint64_t value)
{
    return sxt_search(items, count, item_size, field, bits, value, true);
}

/* The index of the first item whose field is VALUE or greater; COUNT when there is none. */
static inline size_t sxt_search_from(const void *items, size_t count, size_t item_size, size_t field, unsigned bits,
                                     uint64_t value)
{
    return sxt_search(items, count, item_size, field, bits, value, false);
}

#endif
