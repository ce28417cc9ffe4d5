/*
 * alias_rule.h: which of several symbols at one address gives it its name.
 *
 * In this order: a symbol with a size, then a global one, then a weak one, then a local one. Among equals the first
 * that was added wins; tables are added in the order .symtab, .dynsym.
 */
#ifndef SXT_SYMBOLS_ALIAS_RULE_H
#define SXT_SYMBOLS_ALIAS_RULE_H

#include "symbols/symbols.h"

/* The lowest rank wins. */
static inline uint64_t sxt_alias_rank(const struct sxt_model_symbol *symbol)
{
    unsigned binding = symbol->binding == 'G' || symbol->binding == 'U' ? 0 : symbol->binding == 'W' ? 1 : 2;
    return (uint64_t)(symbol->size == 0) << 2 | binding;
}

#endif
