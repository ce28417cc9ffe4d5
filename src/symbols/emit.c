/*
 * emit.c: makes ranges of the pieces that the candidates were picked for.
 *
 * Nearly all candidates of DWARF have all of their bytes. Their trees are copied as they are, on several threads. What
 * is left of the others, and the ranges of symbols, are collected in a list, sorted and put between the trees.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "symbols/merge.h"
#include "symbols/nest.h"

/* State while ranges are made. */
struct emission {
    struct sxt_merge *merge;
    struct sxt_model_range *ranges; /* those that are not copied as whole trees */
    size_t range_count, range_capacity;
    size_t range_limit;         /* exceeded only if ranges overlap more than in any compiler's output */
    struct sxt_range_run *runs; /* the trees that are copied as a whole, in order of address */
    size_t run_count;
    size_t copied; /* ranges in them */
};

static void find_whole_trees(struct emission *emission);
static bool emit_parts_of_all(struct emission *emission, struct sxt_sort_item *pieces);
static int put_together(struct emission *emission, sxt_error *error);

int sxt_pieces_emit(struct sxt_merge *merge, sxt_error *error)
{
    size_t count = merge->piece_count;
    uint64_t most = 16 * ((uint64_t)merge->symbols->range_count + count) + ((uint64_t)1 << 20);
    size_t limit = most < UINT32_MAX ? (size_t)most : UINT32_MAX;
    struct emission emission = {.merge = merge, .runs = malloc((count + 1) * sizeof *emission.runs)};
    struct sxt_sort_item *pieces = malloc((2 * count + 1) * sizeof *pieces);
    int status = SXT_OK;
    if (pieces == NULL || emission.runs == NULL) {
        status = sxt_fail_memory(error, 2 * count * sizeof *pieces);
    } else {
        find_whole_trees(&emission);
        emission.range_limit = limit - emission.copied;
        if (emit_parts_of_all(&emission, pieces))
            status = put_together(&emission, error);
        else if (emission.range_count >= emission.range_limit)
            status =
                sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                         "functions and inlined calls overlap so much that they would make over %zu ranges", limit);
        else
            status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while merging symbols");
    }
    free(emission.ranges);
    free(emission.runs);
    free(pieces);
    return status;
}

/* Is PIECE all of a candidate that is a range? */
static bool is_whole_tree(const struct sxt_merge *merge, const struct sxt_piece *piece)
{
    const struct sxt_candidate *candidate = &merge->candidates[piece->candidate];
    return candidate->range != SXT_NO_RANGE && piece->start == candidate->start && piece->end == candidate->end;
}

static void find_whole_trees(struct emission *emission)
{
    const struct sxt_merge *merge = emission->merge;
    for (size_t i = 0; i < merge->piece_count; i++) {
        if (!is_whole_tree(merge, &merge->pieces[i]))
            continue;
        const struct sxt_candidate *candidate = &merge->candidates[merge->pieces[i].candidate];
        emission->runs[emission->run_count++] = (struct sxt_range_run){candidate->range, candidate->range_count};
        emission->copied += candidate->range_count;
    }
}

static bool emit_range(struct emission *emission, const struct sxt_model_range *range)
{
    if (emission->range_count >= emission->range_limit)
        return false;
    void *moved = sxt_array_grow(emission->ranges, &emission->range_capacity, emission->range_count + 1,
                                 sizeof *emission->ranges);
    if (moved == NULL)
        return false;
    emission->ranges = moved;
    emission->ranges[emission->range_count++] = *range;
    return true;
}

/* The parts of RANGE in the COUNT pieces of its tree's root. */
static bool emit_parts(struct emission *emission, const struct sxt_model_range *range,
                       const struct sxt_sort_item *pieces, size_t count)
{
    const struct sxt_merge *merge = emission->merge;
    uint64_t range_end = sxt_range_end(range);
    /* The first piece that ends after the start of the range. */
    struct sxt_bisection search = {.high = count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, merge->pieces[pieces[search.middle].index].end <= range->address);
    for (size_t i = search.low; i < count && merge->pieces[pieces[i].index].start < range_end; i++) {
        const struct sxt_piece *piece = &merge->pieces[pieces[i].index];
        struct sxt_model_range part;
        if (!sxt_range_cut(merge->symbols, range, piece->start > range->address ? piece->start : range->address,
                           piece->end < range_end ? piece->end : range_end, &part))
            return false;
        if (i > search.low)
            part.flags |= SXT_RANGE_CONTINUES;
        if (!emit_range(emission, &part))
            return false;
    }
    return true;
}

/* Adds what is left of one candidate that is not a whole tree. PIECES are its COUNT pieces, ascending. */
static bool emit_candidate(struct emission *emission, const struct sxt_candidate *candidate,
                           const struct sxt_sort_item *pieces, size_t count)
{
    const struct sxt_merge *merge = emission->merge;
    const struct sxt_symbols *symbols = merge->symbols;
    if (candidate->range == SXT_NO_RANGE) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[candidate->symbol];
        for (size_t i = 0; i < count; i++) {
            const struct sxt_piece *piece = &merge->pieces[pieces[i].index];
            struct sxt_model_range range = {.address = piece->start,
                                            .length = piece->end - piece->start,
                                            .function = symbol->name,
                                            .source = symbol->source,
                                            .flags = i > 0 ? SXT_RANGE_CONTINUES : 0};
            if (!sxt_nameless_lend(&merge->nameless, merge->symbols, &range) || !emit_range(emission, &range))
                return false;
        }
        return true;
    }
    /* If symbols have some of its bytes, the rest is padding. */
    if (candidate->rank == SXT_NAMELESS_RANK)
        return true;
    for (uint32_t i = 0; i < candidate->range_count; i++)
        if (!emit_parts(emission, &symbols->ranges[candidate->range + i], pieces, count))
            return false;
    return true;
}

/* Adds the calls inlined into nameless code to the symbols there. PIECES has room for all pieces. */
static bool emit_nameless_calls(struct emission *emission, struct sxt_sort_item *pieces)
{
    const struct sxt_merge *merge = emission->merge;
    const struct sxt_symbols *symbols = merge->symbols;
    size_t count = 0;
    for (size_t i = 0; i < merge->piece_count; i++)
        if (merge->candidates[merge->pieces[i].candidate].range == SXT_NO_RANGE)
            pieces[count++].index = (uint32_t)i;
    for (size_t i = 0; i < merge->nameless.count; i++) {
        const struct sxt_nameless_part *part = &merge->nameless.parts[i];
        for (size_t k = part->range + (size_t)1; k < symbols->range_count && symbols->ranges[k].depth > 0; k++) {
            struct sxt_model_range call = symbols->ranges[k];
            uint64_t end = sxt_range_end(&call), start = call.address;
            start = start > part->start ? start : part->start;
            end = end < part->end ? end : part->end;
            if (start < end && (!sxt_range_cut(merge->symbols, &symbols->ranges[k], start, end, &call) ||
                                !emit_parts(emission, &call, pieces, count)))
                return false;
        }
    }
    return true;
}

/* Adds the ranges of everything except whole trees. PIECES has room for all pieces twice. */
static bool emit_parts_of_all(struct emission *emission, struct sxt_sort_item *pieces)
{
    const struct sxt_merge *merge = emission->merge;
    size_t count = 0;
    for (size_t i = 0; i < merge->piece_count; i++)
        if (!is_whole_tree(merge, &merge->pieces[i]))
            pieces[count++] = (struct sxt_sort_item){merge->pieces[i].candidate, (uint32_t)i};
    /* Stable, so the pieces of a candidate stay ascending. */
    sxt_sort(pieces, pieces + count, count);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && pieces[end].key == pieces[i].key; end++)
            ;
        if (!emit_candidate(emission, &merge->candidates[pieces[i].key], pieces + i, end - i))
            return false;
    }
    return !merge->nameless.has_calls || emit_nameless_calls(emission, pieces);
}

/* Each tree is in order already, and none of the other ranges begins inside one. */
static int put_together(struct emission *emission, sxt_error *error)
{
    struct sxt_merge *merge = emission->merge;
    int status = sxt_ranges_sort(emission->ranges, emission->range_count, error);
    if (status != SXT_OK)
        return status;
    merge->range_count = emission->copied + emission->range_count;
    merge->ranges = malloc((merge->range_count + 1) * sizeof *merge->ranges);
    if (merge->ranges == NULL)
        return sxt_fail_memory(error, merge->range_count * sizeof *merge->ranges);
    const struct sxt_range_mix mix = {
        .source = merge->symbols->ranges,
        .runs = emission->runs,
        .run_count = emission->run_count,
        .others = emission->ranges,
        .other_count = emission->range_count,
    };
    sxt_ranges_mix(&mix, merge->symbols->threads, merge->ranges);
    return SXT_OK;
}
