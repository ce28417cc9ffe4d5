/*
 * entry_names.h: gives functions of DWARF the names that the symbol table has for them. Private to this room.
 *
 * Compilers leave out the linkage name of a function that is not visible outside its unit, and its plain name is often
 * not unique: every lambda is called operator(). A clone (f.constprop.0) and a part that was moved away (f.cold) have
 * the name of the function they were made from. The symbol at the address where the code starts has the whole name.
 */
#ifndef SXT_SYMBOLS_ENTRY_NAMES_H
#define SXT_SYMBOLS_ENTRY_NAMES_H

#include "symbols/symbols.h"

/*
 * The number of the name that RANGE, of depth 0, takes from the COUNT symbols at its address, which are in the order of
 * the alias rule:
 *
 * - the name it has, if a symbol has it too;
 * - the name of a symbol that adds a suffix to the name it has ("f.cold");
 * - if it has no linkage name: the first function symbol, one that mentions its plain name before others. If the range
 *   IS_FOLDED, because another function of DWARF begins there too, others are of those functions.
 *
 * The version of a symbol (f@@V1) does not count. 0 if no symbol there has a name for it.
 */
uint32_t sxt_entry_name(struct sxt_symbols *symbols, const struct sxt_model_range *range,
                        const struct sxt_model_symbol *at_address, size_t count, bool is_folded);

/*
 * Ranges of functions without a linkage name that have no symbol at their start take the name that the range with the
 * function's entry has from a symbol.
 */
void sxt_entry_names_spread(struct sxt_symbols *symbols);

#endif
