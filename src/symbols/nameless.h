/*
 * nameless.h: code that has lines but no function. Private to this room.
 *
 * An assembler writes a line table but often no functions; the symbol table has their names. A range of depth 0 without
 * a name is such a piece of a line table: it never becomes a range of the model, but the symbols that lie there get its
 * lines.
 */
#ifndef SXT_SYMBOLS_NAMELESS_H
#define SXT_SYMBOLS_NAMELESS_H

#include "base/sort.h"
#include "symbols/symbols.h"

struct sxt_nameless {
    struct sxt_sort_item *items; /* ranges, by address */
    size_t count;
    uint64_t longest;
};

/* False when memory is short. */
bool sxt_nameless_collect(struct sxt_nameless *nameless, const struct sxt_symbols *symbols);
void sxt_nameless_free(struct sxt_nameless *nameless);

/* Gives RANGE, which has no lines, those that stand at its addresses. False when memory is short. */
bool sxt_nameless_lend(const struct sxt_nameless *nameless, struct sxt_symbols *symbols,
                       struct sxt_model_range *range);

#endif
