/*
 * gnu_smallest_range.c: finds the function with the smallest range at an address.
 *
 * The first lookups in a unit search all its ranges in the order in which they were read. After several lookups, the
 * ranges are converted into pieces, each with the one function that counts there.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/priority_queue.h"
#include "base/search.h"
#include "source/dwarf/gnu.h"

/* How many lookups search all ranges before pieces are made. */
#define LOOKUPS_BEFORE_PIECES 8

/* State while pieces are made. */
struct sweep {
    struct dwarf_node_range *node_ranges; /* sorted by start */
    size_t node_range_count;
    struct sxt_queue open; /* ranges that have begun */
    struct gnu_piece *pieces;
    size_t piece_count, piece_capacity;
};

/* Of two functions at an address, the one with the smaller range wins; if they are equal, the later one. */
static bool is_better(const void *node_ranges, uint32_t a, uint32_t b)
{
    const struct dwarf_node_range *first = (const struct dwarf_node_range *)node_ranges + a;
    const struct dwarf_node_range *second = (const struct dwarf_node_range *)node_ranges + b;
    uint64_t length = first->end - first->start, other = second->end - second->start;
    return length != other ? length < other : first->node > second->node;
}

static bool add_piece(struct sweep *sweep, uint64_t start, uint32_t function)
{
    if (sweep->piece_count > 0 && sweep->pieces[sweep->piece_count - 1].function == function)
        return true;
    struct gnu_piece *pieces =
        sxt_array_grow(sweep->pieces, &sweep->piece_capacity, sweep->piece_count + 1, sizeof *pieces);
    if (pieces == NULL)
        return false;
    sweep->pieces = pieces;
    pieces[sweep->piece_count++] = (struct gnu_piece){start, function};
    return true;
}

/* Visits the addresses where a range begins or ends. */
static bool make_list(struct sweep *sweep)
{
    const struct dwarf_node_range *node_ranges = sweep->node_ranges;
    struct sxt_queue *open = &sweep->open;
    size_t next = 0;
    uint64_t at = 0;
    while (next < sweep->node_range_count || open->count > 0) {
        if (open->count == 0)
            at = node_ranges[next].start;
        while (next < sweep->node_range_count && node_ranges[next].start <= at)
            sxt_queue_push(open, (uint32_t)next++, is_better, node_ranges);
        while (open->count > 0 && node_ranges[open->items[0]].end <= at)
            sxt_queue_pop(open, is_better, node_ranges);
        uint32_t owner = open->count > 0 ? node_ranges[open->items[0]].node : DWARF_NONE;
        if (!add_piece(sweep, at, owner))
            return false;
        if (open->count == 0)
            continue;
        at = node_ranges[open->items[0]].end;
        if (next < sweep->node_range_count && node_ranges[next].start < at)
            at = node_ranges[next].start;
    }
    return true;
}

/* Converts the unit's ranges into pieces. If out of memory, changes nothing. */
static void make_pieces(struct gnu_unit *unit)
{
    struct sweep sweep = {.node_ranges = unit->node_ranges, .node_range_count = unit->node_range_count};
    qsort(unit->node_ranges, unit->node_range_count, sizeof *unit->node_ranges, sxt_dwarf_compare_node_ranges);
    sweep.open.items = malloc((unit->node_range_count + 1) * sizeof *sweep.open.items);
    if (sweep.open.items != NULL && make_list(&sweep) && sweep.pieces != NULL) {
        unit->pieces = sweep.pieces;
        unit->piece_count = sweep.piece_count;
        free(unit->node_ranges);
        unit->node_ranges = NULL;
        unit->node_range_count = 0;
    } else {
        free(sweep.pieces);
    }
    free(sweep.open.items);
}

static uint32_t search_all_ranges(const struct gnu_unit *unit, uint64_t address)
{
    const struct dwarf_node_range *node_ranges = unit->node_ranges;
    uint32_t best = DWARF_NONE;
    for (uint32_t i = 0; i < unit->node_range_count; i++)
        if (address >= node_ranges[i].start && address < node_ranges[i].end &&
            (best == DWARF_NONE || is_better(node_ranges, i, best)))
            best = i;
    return best != DWARF_NONE ? node_ranges[best].node : DWARF_NONE;
}

uint32_t sxt_gnu_dwarf_function_at(struct gnu_unit *unit, uint64_t address)
{
    if (unit->pieces == NULL && unit->lookups++ == LOOKUPS_BEFORE_PIECES)
        make_pieces(unit);
    if (unit->pieces == NULL)
        return search_all_ranges(unit, address);
    size_t next = SXT_SEARCH_ABOVE(unit->pieces, unit->piece_count, start, address);
    return next > 0 ? unit->pieces[next - 1].function : DWARF_NONE;
}
