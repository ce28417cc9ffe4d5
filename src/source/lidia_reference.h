/* lidia_reference.h: selects symbols as the reference Lidia writer does, for identical output. */
#ifndef SXT_SOURCE_LIDIA_REFERENCE_H
#define SXT_SOURCE_LIDIA_REFERENCE_H

#include "source/elf/elf.h"
#include "symbols/symbols.h"

/*
 * Adds one range of depth 0 for every row that the reference would write, in its order: functions of .symtab, or of
 * .dynsym if .symtab cannot be read, including undefined and zero-size ones; then Go functions. Only SOURCES are read.
 * Fails where the reference fails, with its message.
 */
int sxt_lidia_reference_read(struct sxt_elf *elf, uint32_t sources, struct sxt_symbols *symbols, sxt_error *error);

#endif
