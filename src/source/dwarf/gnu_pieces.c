/*
 * gnu_pieces.c: which function has the smallest range at an address.
 *
 * The ranges of a unit are as they were read. A few questions are answered by looking at all of them; a unit that is
 * asked more often gets pieces, each with the one function that counts there.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/priority_queue.h"
#include "source/dwarf/gnu.h"

/* Questions after which pieces are worth making. */
#define QUESTIONS_BEFORE 8

/* Making pieces. */
struct sweep {
    struct dwarf_claim *claims; /* by start */
    size_t claim_count;
    struct sxt_queue open; /* claims that have begun */
    struct gnu_piece *pieces;
    size_t piece_count, piece_capacity;
};

static int by_start(const void *a, const void *b)
{
    const struct dwarf_claim *first = a;
    const struct dwarf_claim *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return first->node < second->node ? -1 : first->node > second->node;
}

/* Of two functions at an address the one with the smaller range counts, and of equals the later one. */
static bool is_better(const void *claims, uint32_t a, uint32_t b)
{
    const struct dwarf_claim *first = (const struct dwarf_claim *)claims + a;
    const struct dwarf_claim *second = (const struct dwarf_claim *)claims + b;
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

/* Goes over the addresses where a range begins or ends. */
static bool go_over(struct sweep *sweep)
{
    const struct dwarf_claim *claims = sweep->claims;
    struct sxt_queue *open = &sweep->open;
    size_t next = 0;
    uint64_t at = 0;
    while (next < sweep->claim_count || open->count > 0) {
        if (open->count == 0)
            at = claims[next].start;
        while (next < sweep->claim_count && claims[next].start <= at)
            sxt_queue_push(open, (uint32_t)next++, is_better, claims);
        while (open->count > 0 && claims[open->items[0]].end <= at)
            sxt_queue_pop(open, is_better, claims);
        uint32_t owner = open->count > 0 ? claims[open->items[0]].node : DWARF_NONE;
        if (!add_piece(sweep, at, owner))
            return false;
        if (open->count == 0)
            continue;
        at = claims[open->items[0]].end;
        if (next < sweep->claim_count && claims[next].start < at)
            at = claims[next].start;
    }
    return true;
}

/* Turns the unit's claims into pieces. Where memory is short for that, it stays as it is. */
static void make_pieces(struct gnu_unit *unit)
{
    struct sweep sweep = {.claims = unit->claims, .claim_count = unit->claim_count};
    qsort(unit->claims, unit->claim_count, sizeof *unit->claims, by_start);
    sweep.open.items = malloc((unit->claim_count + 1) * sizeof *sweep.open.items);
    if (sweep.open.items != NULL && go_over(&sweep) && sweep.pieces != NULL) {
        unit->pieces = sweep.pieces;
        unit->piece_count = sweep.piece_count;
        free(unit->claims);
        unit->claims = NULL;
        unit->claim_count = 0;
    } else {
        free(sweep.pieces);
    }
    free(sweep.open.items);
}

static uint32_t look_at_all(const struct gnu_unit *unit, uint64_t address)
{
    const struct dwarf_claim *claims = unit->claims;
    uint32_t best = DWARF_NONE;
    for (uint32_t i = 0; i < unit->claim_count; i++)
        if (address >= claims[i].start && address < claims[i].end && (best == DWARF_NONE || is_better(claims, i, best)))
            best = i;
    return best != DWARF_NONE ? claims[best].node : DWARF_NONE;
}

uint32_t sxt_gnu_dwarf_function_at(struct gnu_unit *unit, uint64_t address)
{
    if (unit->pieces == NULL && unit->questions++ == QUESTIONS_BEFORE)
        make_pieces(unit);
    if (unit->pieces == NULL)
        return look_at_all(unit, address);
    size_t low = 0, high = unit->piece_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unit->pieces[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? unit->pieces[low - 1].function : DWARF_NONE;
}
