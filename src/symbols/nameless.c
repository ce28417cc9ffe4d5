/* nameless.c: lines for symbols in code whose function has no name in a better source. */
#include "symbols/nameless.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "base/sort.h"
#include "symbols/nest.h"

static bool is_nameless(const struct sxt_model_range *range)
{
    return range->depth == 0 && range->function == 0;
}

bool sxt_nameless_collect(struct sxt_nameless *nameless, const struct sxt_symbols *symbols,
                          const struct sxt_trees *trees)
{
    memset(nameless, 0, sizeof *nameless);
    size_t count = 0;
    for (size_t i = 0; i < trees->count; i++)
        count += is_nameless(&symbols->ranges[trees->first[i]]);
    if (count == 0)
        return true;
    struct sxt_sort_item *items = malloc(2 * count * sizeof *items);
    nameless->parts = malloc(count * sizeof *nameless->parts);
    if (items == NULL || nameless->parts == NULL) {
        free(items);
        return false;
    }
    count = 0;
    for (size_t i = 0; i < trees->count; i++) {
        uint32_t first = trees->first[i];
        if (!is_nameless(&symbols->ranges[first]))
            continue;
        items[count++] = (struct sxt_sort_item){symbols->ranges[first].address, first};
        nameless->has_calls |= trees->first[i + 1] > first + 1;
    }
    sxt_sort(items, items + count, count);
    uint64_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = sxt_range_end(&symbols->ranges[items[i].index]);
        uint64_t start = items[i].key > taken ? items[i].key : taken;
        if (start < end) {
            nameless->parts[nameless->count++] = (struct sxt_nameless_part){start, end, items[i].index};
            taken = end;
        }
    }
    free(items);
    return true;
}

void sxt_nameless_free(struct sxt_nameless *nameless)
{
    free(nameless->parts);
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

/* The line of LENDER in effect at ADDRESS, or its first one. */
static uint32_t line_near(const struct sxt_symbols *symbols, const struct sxt_model_range *lender, uint64_t address)
{
    if (lender->line_count == 0)
        return 0;
    size_t low =
        SXT_SEARCH_ABOVE(symbols->lines + lender->first_line, lender->line_count, offset, address - lender->address);
    return low > 0 ? (uint32_t)low - 1 : 0;
}

/* The lines of LENDER from START up to END, for RANGE. */
static bool lend(struct sxt_symbols *symbols, const struct sxt_model_range *lender, uint64_t start, uint64_t end,
                 struct sxt_model_range *range)
{
    for (uint32_t i = line_near(symbols, lender, start); i < lender->line_count; i++) {
        struct sxt_model_line line = symbols->lines[lender->first_line + i];
        uint64_t from = lender->address + line.offset;
        uint64_t until =
            i + 1 < lender->line_count ? lender->address + symbols->lines[lender->first_line + i + 1].offset : end;
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

/* The first part that ends after ADDRESS. */
static size_t part_near(const struct sxt_nameless *nameless, uint64_t address)
{
    return SXT_SEARCH_ABOVE(nameless->parts, nameless->count, end, address);
}

uint64_t sxt_nameless_end(const struct sxt_nameless *nameless, uint64_t address)
{
    size_t part = part_near(nameless, address);
    return part < nameless->count && nameless->parts[part].start <= address ? nameless->parts[part].end : 0;
}

bool sxt_nameless_lend(const struct sxt_nameless *nameless, struct sxt_symbols *symbols, struct sxt_model_range *range)
{
    uint64_t end = sxt_range_end(range);
    uint64_t at = range->address;
    range->first_line = (uint32_t)symbols->line_count;
    for (size_t i = part_near(nameless, at); i < nameless->count && nameless->parts[i].start < end; i++) {
        const struct sxt_nameless_part *part = &nameless->parts[i];
        struct sxt_model_range lender = symbols->ranges[part->range];
        uint64_t start = part->start > at ? part->start : at;
        uint64_t until = part->end < end ? part->end : end;
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
