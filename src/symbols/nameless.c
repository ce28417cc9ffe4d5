/* nameless.c: lines for symbols that no function of a better source covers. */
#include "symbols/nameless.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbols/nest.h"

static bool is_nameless(const struct sxt_model_range *range)
{
    return range->depth == 0 && range->function == 0;
}

bool sxt_nameless_collect(struct sxt_nameless *nameless, const struct sxt_symbols *symbols)
{
    memset(nameless, 0, sizeof *nameless);
    for (size_t i = 0; i < symbols->range_count; i++)
        nameless->count += is_nameless(&symbols->ranges[i]);
    if (nameless->count == 0)
        return true;
    nameless->items = malloc(2 * nameless->count * sizeof *nameless->items);
    if (nameless->items == NULL)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < symbols->range_count; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        if (!is_nameless(range))
            continue;
        nameless->items[count++] = (struct sxt_sort_item){range->address, (uint32_t)i};
        if (range->length > nameless->longest)
            nameless->longest = range->length;
    }
    sxt_sort(nameless->items, nameless->items + count, count);
    return true;
}

void sxt_nameless_free(struct sxt_nameless *nameless)
{
    free(nameless->items);
    memset(nameless, 0, sizeof *nameless);
}

static bool add_line(struct sxt_symbols *symbols, struct sxt_model_range *range, struct sxt_model_line line)
{
    void *moved = symbols->line_count < UINT32_MAX ? sxt_array_grow(symbols->lines, &symbols->line_capacity,
                                                                    symbols->line_count + 1, sizeof *symbols->lines)
                                                   : NULL;
    if (moved == NULL)
        return false;
    symbols->lines = moved;
    symbols->lines[symbols->line_count++] = line;
    range->line_count++;
    if (range->file == 0)
        range->file = line.file;
    return true;
}

/* The lines of LENDER from START up to END, for RANGE. */
static bool lend(struct sxt_symbols *symbols, const struct sxt_model_range *lender, uint64_t start, uint64_t end,
                 struct sxt_model_range *range)
{
    for (uint32_t i = 0; i < lender->line_count; i++) {
        struct sxt_model_line line = symbols->lines[lender->first_line + i];
        uint64_t from = lender->address + line.offset;
        uint64_t until = i + 1 < lender->line_count
                             ? lender->address + symbols->lines[lender->first_line + i + 1].offset
                             : end;
        if (until <= start)
            continue;
        if (from >= end)
            break;
        uint64_t offset = (from > start ? from : start) - range->address;
        line.offset = (uint32_t)offset;
        if (offset <= UINT32_MAX && !add_line(symbols, range, line))
            return false;
    }
    return true;
}

bool sxt_nameless_lend(const struct sxt_nameless *nameless, struct sxt_symbols *symbols, struct sxt_model_range *range)
{
    uint64_t end = sxt_range_end(range);
    uint64_t from = range->address > nameless->longest ? range->address - nameless->longest : 0;
    size_t low = 0, high = nameless->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (nameless->items[middle].key < from)
            low = middle + 1;
        else
            high = middle;
    }
    range->first_line = (uint32_t)symbols->line_count;
    uint64_t at = range->address;
    for (; low < nameless->count && nameless->items[low].key < end; low++) {
        struct sxt_model_range lender = symbols->ranges[nameless->items[low].index];
        uint64_t lender_end = sxt_range_end(&lender);
        uint64_t start = lender.address > at ? lender.address : at;
        uint64_t until = lender_end < end ? lender_end : end;
        if (start >= until)
            continue;
        /* Between two of them nothing is known. */
        bool gap = start > at && range->line_count > 0 && at - range->address <= UINT32_MAX;
        if (gap && !add_line(symbols, range, (struct sxt_model_line){.offset = (uint32_t)(at - range->address)}))
            return false;
        if (!lend(symbols, &lender, start, until, range))
            return false;
        at = until;
    }
    bool known_to_end = range->line_count == 0 || at >= end || at - range->address > UINT32_MAX;
    return known_to_end || add_line(symbols, range, (struct sxt_model_line){.offset = (uint32_t)(at - range->address)});
}
