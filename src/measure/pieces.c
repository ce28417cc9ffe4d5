/* pieces.c: symbols that overlap, cut into pieces that do not. */
#include <stdlib.h>

#include "base/array.h"
#include "measure/private.h"

static int by_start(const void *a, const void *b)
{
    const struct measure_claim *first = a;
    const struct measure_claim *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    /* The one that ends last encloses the others. */
    if (first->end != second->end)
        return first->end > second->end ? -1 : 1;
    return first->order < second->order ? -1 : first->order > second->order;
}

/* The state of cutting. */
struct cutting {
    const struct measure_claim *claims;
    struct measure_pieces *out;
    uint32_t *open; /* claims that have begun, the innermost last; of equal ones, the first */
    size_t open_count;
    uint64_t done; /* the bytes before it are assigned */
    bool no_memory;
};

/* How many claims from FIRST on are for the same bytes. */
static size_t equal_claims(const struct measure_claim *claims, size_t count, size_t first)
{
    size_t end = first + 1;
    while (end < count && claims[end].start == claims[first].start && claims[end].end == claims[first].end)
        end++;
    return end - first;
}

static void put(struct cutting *cutting, size_t count, uint32_t first, uint64_t end)
{
    if (end <= cutting->done)
        return;
    struct measure_pieces *out = cutting->out;
    /* Aliases are needed only where the claim begins: a piece that continues one has a single name. */
    bool begins = cutting->done == cutting->claims[first].start;
    size_t equal = begins ? equal_claims(cutting->claims, count, first) : 1;
    struct measure_piece *list = sxt_array_grow(out->list, &out->capacity, out->count + equal, sizeof *list);
    if (list == NULL) {
        cutting->no_memory = true;
        return;
    }
    out->list = list;
    for (size_t i = 0; i < equal; i++)
        list[out->count++] = (struct measure_piece){
            .start = cutting->done, .end = end, .name = cutting->claims[first + i].name, .joins = i > 0};
    cutting->done = end;
}

/* Assigns the bytes up to UNTIL to the open claims, and closes those that end before it. */
static void advance(struct cutting *cutting, size_t count, uint64_t until)
{
    while (cutting->open_count > 0 && cutting->done < until && !cutting->no_memory) {
        uint32_t innermost = cutting->open[cutting->open_count - 1];
        uint64_t end = cutting->claims[innermost].end;
        put(cutting, count, innermost, end < until ? end : until);
        if (end > until)
            return;
        cutting->open_count--;
    }
}

bool sxt_measure_cut(struct measure_claim *claims, size_t count, struct measure_pieces *out)
{
    struct cutting cutting = {.claims = claims, .out = out};
    cutting.open = malloc((count + 1) * sizeof *cutting.open);
    if (cutting.open == NULL)
        return false;
    if (count > 1)
        qsort(claims, count, sizeof *claims, by_start);
    for (size_t i = 0; i < count && !cutting.no_memory; i += equal_claims(claims, count, i)) {
        advance(&cutting, count, claims[i].start);
        if (claims[i].start > cutting.done)
            cutting.done = claims[i].start;
        cutting.open[cutting.open_count++] = (uint32_t)i;
    }
    advance(&cutting, count, UINT64_MAX);
    free(cutting.open);
    return !cutting.no_memory;
}
