/*
 * nest.c: well-formed trees of ranges.
 *
 * Nearly every tree is well formed from the start, which one pass confirms. The others are repaired level by level,
 * from the outside in: a range is cut to what is left of the one around it.
 */
#include "symbols/nest.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/search.h"

/* A range of a tree that is being repaired. */
struct node {
    uint64_t start, end;
    uint32_t range;  /* its index in the model */
    uint32_t parent; /* the node around it */
    uint32_t depth;
};

/* State while trees are repaired. */
struct mending {
    struct sxt_symbols *symbols;
    struct node *nodes; /* of one tree */
    size_t node_count, node_capacity;
    size_t kept; /* ranges that are done, at the front of the model's array */
    bool failed;
};

static bool is_malformed(const void *symbols, size_t first, size_t end);
static void keep_tree(struct mending *mending, size_t first, size_t end);
static void mend_tree(struct mending *mending, size_t first, size_t end);

int sxt_ranges_nest(struct sxt_symbols *symbols, struct sxt_trees *trees, sxt_error *error)
{
    if (!sxt_trees_find(trees, symbols->ranges, symbols->range_count, is_malformed, symbols, symbols->threads))
        return sxt_fail_memory(error, symbols->range_count * sizeof *trees->first);
    if (trees->marked_count == 0)
        return SXT_OK;
    struct mending mending = {.symbols = symbols};
    for (size_t i = 0; i < trees->count && !mending.failed; i++) {
        if (trees->marked[i])
            mend_tree(&mending, trees->first[i], trees->first[i + 1]);
        else
            keep_tree(&mending, trees->first[i], trees->first[i + 1]);
    }
    free(mending.nodes);
    if (mending.failed)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while nesting ranges");
    symbols->range_count = mending.kept;
    sxt_trees_free(trees);
    if (!sxt_trees_find(trees, symbols->ranges, symbols->range_count, NULL, NULL, symbols->threads))
        return sxt_fail_memory(error, symbols->range_count * sizeof *trees->first);
    return SXT_OK;
}

uint64_t sxt_range_end(const struct sxt_model_range *range)
{
    uint64_t end;
    return sxt_add_u64(range->address, range->length, &end) ? end : UINT64_MAX;
}

/* How many of the range's line entries begin at or before OFFSET. */
static uint32_t lines_until(const struct sxt_symbols *symbols, const struct sxt_model_range *range, uint64_t offset)
{
    if (range->line_count == 0)
        return 0;
    return (uint32_t)SXT_SEARCH_ABOVE(symbols->lines + range->first_line, range->line_count, offset, offset);
}

bool sxt_range_cut(struct sxt_symbols *symbols, const struct sxt_model_range *range, uint64_t start, uint64_t end,
                   struct sxt_model_range *out)
{
    uint64_t skipped = start - range->address;
    *out = *range;
    out->address = start;
    out->length = end - start;
    if (range->line_count == 0)
        return true;
    uint32_t last = end - range->address > 0 ? lines_until(symbols, range, end - range->address - 1) : 0;
    if (skipped == 0) {
        out->line_count = last;
        return true;
    }
    /* The entry in effect at the start may have begun before it. */
    uint32_t first = lines_until(symbols, range, skipped);
    first = first > 0 ? first - 1 : 0;
    size_t count = symbols->line_count;
    if (last - first >= UINT32_MAX - count)
        return false;
    void *moved =
        sxt_array_grow(symbols->lines, &symbols->line_capacity, count + (last - first) + 1, sizeof *symbols->lines);
    if (moved == NULL)
        return false;
    symbols->lines = moved;
    for (uint32_t i = first; i < last; i++) {
        struct sxt_model_line line = symbols->lines[range->first_line + i];
        line.offset = line.offset > skipped ? (uint32_t)(line.offset - skipped) : 0;
        symbols->lines[symbols->line_count++] = line;
    }
    out->first_line = (uint32_t)count;
    out->line_count = last - first;
    return true;
}

/* Is every range inside its parent and after its elder sibling, without line entries after its end? */
static bool is_well_formed(const struct sxt_symbols *symbols, size_t first, size_t end)
{
    uint64_t ends[SXT_SYMBOLS_MAX_DEPTH + 1];  /* of the open range at each depth */
    uint64_t taken[SXT_SYMBOLS_MAX_DEPTH + 2]; /* by depth: where the last range of that depth ended */
    size_t levels = 0;
    for (size_t i = first; i < end; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        uint64_t range_end;
        if (range->depth > levels || range->depth > SXT_SYMBOLS_MAX_DEPTH || range->length == 0 ||
            !sxt_add_u64(range->address, range->length, &range_end))
            return false;
        if (range->depth > 0 && (range->address < taken[range->depth] || range_end > ends[range->depth - 1]))
            return false;
        if (range->line_count > 0 && symbols->lines[range->first_line + range->line_count - 1].offset >= range->length)
            return false;
        ends[range->depth] = range_end;
        taken[range->depth] = range_end;
        taken[range->depth + 1] = range->address;
        levels = range->depth + 1;
    }
    return true;
}

static bool is_malformed(const void *symbols, size_t first, size_t end)
{
    return !is_well_formed(symbols, first, end);
}

static void keep_tree(struct mending *mending, size_t first, size_t end)
{
    struct sxt_model_range *ranges = mending->symbols->ranges;
    if (mending->kept != first)
        memmove(&ranges[mending->kept], &ranges[first], (end - first) * sizeof *ranges);
    mending->kept += end - first;
}

/* The nodes of a tree with their parents; those that have none are left out. */
static bool collect_nodes(struct mending *mending, size_t first, size_t end)
{
    uint32_t open[SXT_SYMBOLS_MAX_DEPTH + 1]; /* by depth: the node that is open there */
    size_t levels = 0;
    void *moved = sxt_array_grow(mending->nodes, &mending->node_capacity, end - first, sizeof *mending->nodes);
    if (moved == NULL)
        return false;
    mending->nodes = moved;
    mending->node_count = 0;
    for (size_t i = first; i < end; i++) {
        const struct sxt_model_range *range = &mending->symbols->ranges[i];
        if (range->depth > levels || range->depth > SXT_SYMBOLS_MAX_DEPTH)
            continue;
        struct node *node = &mending->nodes[mending->node_count];
        *node = (struct node){.start = range->address,
                              .end = sxt_range_end(range),
                              .range = (uint32_t)i,
                              .parent = range->depth > 0 ? open[range->depth - 1] : 0,
                              .depth = range->depth};
        open[range->depth] = (uint32_t)mending->node_count++;
        levels = range->depth + 1;
    }
    return true;
}

/* For one level: children of one parent together, by address, then in the order of adding. */
static int by_parent_and_start(const void *a, const void *b, void *nodes)
{
    const struct node *first = (const struct node *)nodes + *(const uint32_t *)a;
    const struct node *second = (const struct node *)nodes + *(const uint32_t *)b;
    if (first->parent != second->parent)
        return first->parent < second->parent ? -1 : 1;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return first->range < second->range ? -1 : first->range > second->range;
}

/* Cuts the COUNT nodes of one level to what is around and beside them. The level above is done. */
static void mend_level(struct mending *mending, uint32_t *level, size_t count)
{
    struct node *nodes = mending->nodes;
    for (size_t i = 0; i < count; i++) {
        struct node *node = &nodes[level[i]];
        const struct node *parent = &nodes[node->parent];
        if (node->start < parent->start)
            node->start = parent->start;
        if (node->end > parent->end)
            node->end = parent->end;
    }
    qsort_r(level, count, sizeof *level, by_parent_and_start, nodes);
    struct node *elder = NULL; /* the last sibling before it that has any bytes */
    for (size_t i = 0; i < count; i++) {
        struct node *node = &nodes[level[i]];
        if (node->start >= node->end)
            continue;
        if (elder != NULL && elder->parent == node->parent && elder->start == node->start)
            node->end = node->start;
        else if (elder != NULL && elder->parent == node->parent && elder->end > node->start)
            elder->end = node->start;
        if (node->start < node->end)
            elder = node;
    }
}

static int by_address(const void *a, const void *b)
{
    const struct node *first = a;
    const struct node *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return first->depth < second->depth ? -1 : first->depth > second->depth;
}

static void mend_tree(struct mending *mending, size_t first, size_t end)
{
    uint32_t *level = malloc((end - first) * sizeof *level);
    struct sxt_model_range *mended = malloc((end - first) * sizeof *mended);
    if (level == NULL || mended == NULL || !collect_nodes(mending, first, end)) {
        free(level);
        free(mended);
        mending->failed = true;
        return;
    }
    /* Each level is found by going through all nodes; trees with many nodes have few levels. */
    size_t done = 1;
    for (uint32_t depth = 1; done < mending->node_count; depth++) {
        size_t count = 0;
        for (size_t i = 0; i < mending->node_count; i++)
            if (mending->nodes[i].depth == depth)
                level[count++] = (uint32_t)i;
        mend_level(mending, level, count);
        done += count;
    }
    qsort(mending->nodes, mending->node_count, sizeof *mending->nodes, by_address);
    size_t count = 0;
    for (size_t i = 0; i < mending->node_count && !mending->failed; i++) {
        const struct node *node = &mending->nodes[i];
        if (node->start >= node->end)
            continue;
        if (!sxt_range_cut(mending->symbols, &mending->symbols->ranges[node->range], node->start, node->end,
                           &mended[count]))
            mending->failed = true;
        count++;
    }
    if (count > 0)
        memcpy(&mending->symbols->ranges[mending->kept], mended, count * sizeof *mended);
    mending->kept += count;
    free(level);
    free(mended);
}
