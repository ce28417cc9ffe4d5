/*
 * nameless.h: code that has lines but no function. Private to this room.
 *
 * An assembler writes a line table but often no functions; the symbol table has their names. A range of depth 0 without
 * a name represents a piece of such a line table, or a function whose name is unknown. The symbols at its addresses get
 * its lines and the calls that were inlined into it. The range itself becomes part of the model only if no symbol has
 * any of its bytes and SXT_RANGE_KEEP is set.
 */
#ifndef SXT_SYMBOLS_NAMELESS_H
#define SXT_SYMBOLS_NAMELESS_H

#include "symbols/trees.h"

/* The part of a nameless range that none before it covers. */
struct sxt_nameless_part {
    uint64_t start;
    uint64_t end;
    uint32_t range;
};

struct sxt_nameless {
    struct sxt_nameless_part *parts; /* disjoint, ascending */
    size_t count;
    bool has_calls; /* one of them has inlined calls */
};

/* Collects the nameless ranges among the first ones of TREES. False when memory is short. */
bool sxt_nameless_collect(struct sxt_nameless *nameless, const struct sxt_symbols *symbols,
                          const struct sxt_trees *trees);
void sxt_nameless_free(struct sxt_nameless *nameless);

/* Where the nameless range that covers ADDRESS ends; 0 when there is none. */
uint64_t sxt_nameless_end(const struct sxt_nameless *nameless, uint64_t address);

/* Gives RANGE, which has no lines, the lines at its addresses. False when memory is short. */
bool sxt_nameless_lend(const struct sxt_nameless *nameless, struct sxt_symbols *symbols, struct sxt_model_range *range);

#endif
