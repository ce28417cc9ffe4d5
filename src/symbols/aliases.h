/*
 * aliases.h: several names for one function, and several functions at one address. Private to this room.
 *
 * A function can have several names in its source (aliases). A linker can also fold functions with identical code into
 * one: then the address alone does not say which of them was meant. Both look the same in a symbol table. They count as
 * folded if DWARF has several functions there, or if the linker can fold; then only a weak name that is not mangled,
 * and the variants of a constructor or destructor, count as further names of the same function.
 */
#ifndef SXT_SYMBOLS_ALIASES_H
#define SXT_SYMBOLS_ALIASES_H

#include "symbols/symbols.h"

/* Do two mangled names differ only in the variant of a constructor (C1, C2) or destructor (D0, D1, D2)? */
bool sxt_names_are_variants(sxt_string a, sxt_string b);

/*
 * Fills the aliases from the symbols, which are sorted, and from the aliases that were added (functions of DWARF that
 * begin together), and keeps only the calls that say which of several functions was meant. False when memory is short.
 */
bool sxt_aliases_finish(struct sxt_symbols *symbols);

#endif
