/*
 * search.h: binary search.
 *
 * In an array that ascends by a field of 32 or 64 bits, without sign:
 *
 *     size_t next = SXT_SEARCH_ABOVE(mappings, count, start, address);
 *
 * Where the key is decoded, or made of several fields, the caller compares:
 *
 *     struct sxt_bisection search = {.high = count};
 *     while (sxt_bisect(&search))
 *         sxt_bisect_after(&search, strcmp(files[search.middle].name, name) < 0);
 *     size_t first = search.low;
 *
 * Everything is inlined: both compile to a plain loop.
 */
#ifndef SXT_BASE_SEARCH_H
#define SXT_BASE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The index of the first of COUNT items whose FIELD is greater than VALUE; COUNT when there is none. */
#define SXT_SEARCH_ABOVE(items, count, field, value)                                                                   \
    sxt_search_above((count) > 0 ? &(items)->field : NULL, count, sizeof *(items), sizeof(items)->field, value)

/* The index of the first of COUNT items whose FIELD is VALUE or greater; COUNT when there is none. */
#define SXT_SEARCH_FROM(items, count, field, value)                                                                    \
    sxt_search_from((count) > 0 ? &(items)->field : NULL, count, sizeof *(items), sizeof(items)->field, value)

/* The items from LOW to HIGH are not decided yet; MIDDLE is the one to look at. */
struct sxt_bisection {
    size_t low, high, middle;
};

/* Picks the next MIDDLE; false when the search is done: LOW is then the first item that is not before the place. */
static inline bool sxt_bisect(struct sxt_bisection *search)
{
    search->middle = search->low + (search->high - search->low) / 2;
    return search->low < search->high;
}

/* Continues after MIDDLE if that item IS_BEFORE the place, and up to it otherwise. */
static inline void sxt_bisect_after(struct sxt_bisection *search, bool is_before)
{
    if (is_before)
        search->low = search->middle + 1;
    else
        search->high = search->middle;
}

static inline uint64_t sxt_search_key(const void *first, size_t index, size_t distance, size_t width)
{
    const char *place = (const char *)first + index * distance;
    uint32_t narrow;
    uint64_t wide;
    if (width == sizeof narrow) {
        memcpy(&narrow, place, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, place, sizeof wide);
    return wide;
}

/* The same for keys of WIDTH bytes, 4 or 8, that are DISTANCE bytes apart, from FIRST on. */
static inline size_t sxt_search_above(const void *first, size_t count, size_t distance, size_t width, uint64_t value)
{
    struct sxt_bisection search = {.high = count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sxt_search_key(first, search.middle, distance, width) <= value);
    return search.low;
}

static inline size_t sxt_search_from(const void *first, size_t count, size_t distance, size_t width, uint64_t value)
{
    struct sxt_bisection search = {.high = count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sxt_search_key(first, search.middle, distance, width) < value);
    return search.low;
}

#endif
