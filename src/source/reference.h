/* reference.h: the choice of symbols that the reference Lidia writer makes, for output that equals its own. */
#ifndef SXT_SOURCE_REFERENCE_H
#define SXT_SOURCE_REFERENCE_H

#include "source/elf/elf.h"
#include "symbols/symbols.h"

/*
 * Adds one range of depth 0 for every row that the reference would write, in its order: functions of .symtab, or of
 * .dynsym when .symtab cannot be read, undefined and zero-size ones included; then Go functions. SOURCES leaves parts
 * out. Fails where the reference fails, with its reason.
 */
int sxt_reference_read(struct sxt_elf *elf, uint32_t sources, struct sxt_symbols *symbols, sxt_error *error);

#endif
