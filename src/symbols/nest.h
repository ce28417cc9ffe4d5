/* nest.h: makes sure that ranges lie inside each other. Private to this room. */
#ifndef SXT_SYMBOLS_NEST_H
#define SXT_SYMBOLS_NEST_H

#include "symbols/trees.h"

/*
 * Makes every tree of SYMBOLS->ranges (a range of depth 0 and those added after it) well formed, in place. A range that
 * extends beyond the one around it is cut; one without a parent or deeper than SXT_SYMBOLS_MAX_DEPTH is dropped with
 * everything inside it. Of two siblings that overlap the later one keeps its bytes, and of two that begin together the
 * first is kept. Afterwards each tree is ordered by (address, depth). *TREES gets the trees; the caller frees it even
 * after a failure.
 */
int sxt_ranges_nest(struct sxt_symbols *symbols, struct sxt_trees *trees, sxt_error *error);

/* The end of a range, at most the last address. */
uint64_t sxt_range_end(const struct sxt_model_range *range);

/*
 * The part of RANGE from START up to END, which must lie inside it: its line entries are those in effect there, moved
 * to count from START. New entries are appended to SYMBOLS->lines. False when memory is short.
 */
bool sxt_range_cut(struct sxt_symbols *symbols, const struct sxt_model_range *range, uint64_t start, uint64_t end,
                   struct sxt_model_range *out);

#endif
