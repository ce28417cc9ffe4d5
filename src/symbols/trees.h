/*
 * trees.h: work on the trees of a list of ranges, on several threads. Private to this room.
 *
 * A tree is a range of depth 0 with the ranges after it that are deeper. The first range of a list begins a tree
 * whatever its depth.
 */
#ifndef SXT_SYMBOLS_TREES_H
#define SXT_SYMBOLS_TREES_H

#include "symbols/symbols.h"

struct sxt_trees {
    uint32_t *first; /* of each tree, its first range; after the last one, the number of ranges */
    bool *marked;    /* of each tree, what the function said */
    size_t count;
    size_t marked_count;
};

/* Says something about the tree of the ranges from FIRST to END - 1. Called from several threads. */
typedef bool sxt_tree_check(const void *context, size_t first, size_t end);

/*
 * Finds the trees of at most UINT32_MAX - 1 ranges, and asks CHECK (NULL: nothing is asked) about each. THREADS: see
 * sxt_pool_threads. False when memory is short. The caller frees *TREES even after a failure.
 */
bool sxt_trees_find(struct sxt_trees *trees, const struct sxt_model_range *ranges, size_t count, sxt_tree_check *check,
                    const void *context, unsigned threads);
void sxt_trees_free(struct sxt_trees *trees);

/* Consecutive ranges that stay together. */
struct sxt_range_run {
    uint32_t first;
    uint32_t count;
};

/*
 * Copies the runs of SOURCE and the ranges of OTHERS to OUT, which has room for all, in order of address: a range of
 * OTHERS goes before the first run that begins after it. Both lists are in order of address.
 */
struct sxt_range_mix {
    const struct sxt_model_range *source;
    const struct sxt_range_run *runs;
    size_t run_count;
    const struct sxt_model_range *others;
    size_t other_count;
};
void sxt_ranges_mix(const struct sxt_range_mix *mix, unsigned threads, struct sxt_model_range *out);

/* How many of the THREADS that are allowed are worth starting for work on COUNT ranges. */
unsigned sxt_threads_for_ranges(unsigned threads, size_t count);

#endif
