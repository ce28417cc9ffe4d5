/* order.c: ranges by (address, depth). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sort.h"
#include "symbols/symbols.h"

static bool in_order(const struct sxt_model_range *ranges, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ranges[i - 1].address > ranges[i].address ||
            (ranges[i - 1].address == ranges[i].address && ranges[i - 1].depth > ranges[i].depth))
            return false;
    return true;
}

int sxt_ranges_sort(struct sxt_model_range *ranges, size_t count, sxt_error *error)
{
    if (in_order(ranges, count))
        return SXT_OK;
    struct sxt_sort_item *items = malloc(2 * count * sizeof *items);
    struct sxt_model_range *sorted = malloc(count * sizeof *sorted);
    int status = items != NULL && sorted != NULL ? SXT_OK : sxt_fail_memory(error, 2 * count * sizeof *items);
    if (status == SXT_OK) {
        /* Least significant key first: the sort is stable. */
        for (size_t i = 0; i < count; i++)
            items[i] = (struct sxt_sort_item){ranges[i].depth, (uint32_t)i};
        sxt_sort(items, items + count, count);
        for (size_t i = 0; i < count; i++)
            items[i].key = ranges[items[i].index].address;
        sxt_sort(items, items + count, count);
        for (size_t i = 0; i < count; i++)
            sorted[i] = ranges[items[i].index];
        memcpy(ranges, sorted, count * sizeof *sorted);
    }
    free(items);
    free(sorted);
    return status;
}
