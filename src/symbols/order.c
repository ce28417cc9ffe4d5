/* order.c: ranges by (address, depth). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "symbols/symbols.h"

/* Another way to sort is faster if a range has to go further than this, or if all together have to. */
#define FAR             512
#define MOVES_PER_RANGE 4

static bool is_before(const struct sxt_model_range *a, const struct sxt_model_range *b)
{
    return a->address < b->address || (a->address == b->address && a->depth < b->depth);
}

/*
 * Sorts ranges that are almost in order, which is usual: a range that was cut comes before the calls in its first part.
 * Returns false if too many would have to be moved; the ranges are then in another order, but equal ones are not.
 */
static bool sort_in_place(struct sxt_model_range *ranges, size_t count)
{
    size_t left = count * MOVES_PER_RANGE;
    for (size_t i = 1; i < count; i++) {
        if (!is_before(&ranges[i], &ranges[i - 1]))
            continue;
        struct sxt_model_range range = ranges[i];
        if (left < FAR || (i >= FAR && is_before(&range, &ranges[i - FAR])))
            return false;
        size_t place = i;
        for (; place > 0 && is_before(&range, &ranges[place - 1]); left--, place--)
            ranges[place] = ranges[place - 1];
        ranges[place] = range;
    }
    return true;
}

/* Says whether ranges with the same address are in order of depth. Usually they are: calls are added after callers. */
static bool depths_ascend(const struct sxt_model_range *ranges, const struct sxt_sort_item *items, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (items[i - 1].key == items[i].key && ranges[items[i - 1].index].depth > ranges[items[i].index].depth)
            return false;
    return true;
}

/* Least significant key first: the sort is stable. */
static void sort_by_both(const struct sxt_model_range *ranges, struct sxt_sort_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        items[i] = (struct sxt_sort_item){ranges[i].depth, (uint32_t)i};
    sxt_sort(items, items + count, count);
    for (size_t i = 0; i < count; i++)
        items[i].key = ranges[items[i].index].address;
    sxt_sort(items, items + count, count);
}

int sxt_ranges_sort(struct sxt_model_range *ranges, size_t count, sxt_error *error)
{
    if (sort_in_place(ranges, count))
        return SXT_OK;
    struct sxt_sort_item *items = malloc(2 * count * sizeof *items);
    struct sxt_model_range *sorted = malloc(count * sizeof *sorted);
    int status = items != NULL && sorted != NULL ? SXT_OK : sxt_fail_memory(error, 2 * count * sizeof *items);
    if (status == SXT_OK) {
        for (size_t i = 0; i < count; i++)
            items[i] = (struct sxt_sort_item){ranges[i].address, (uint32_t)i};
        sxt_sort(items, items + count, count);
        if (!depths_ascend(ranges, items, count))
            sort_by_both(ranges, items, count);
        for (size_t i = 0; i < count; i++)
            sorted[i] = ranges[items[i].index];
        memcpy(ranges, sorted, count * sizeof *sorted);
    }
    free(items);
    free(sorted);
    return status;
}
