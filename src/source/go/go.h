/*
 * go.h: the function table that every Go binary carries for its runtime, stripped or not.
 * Versions 1.2, 1.16, 1.18 and 1.20+, 32 and 64 bit, both byte orders.
 */
#ifndef SXT_SOURCE_GO_GO_H
#define SXT_SOURCE_GO_GO_H

#include <stdbool.h>

#include "source/elf/elf.h"
#include "symbols/symbols.h"

/*
 * Adds every Go function to SYMBOLS as ranges (source SXT_SOURCE_GO) with files and lines, and the calls inlined into
 * it where the table has them. Returns SXT_OK also when the file is not Go (*FOUND tells); an error describes a Go
 * table that is there but cannot be used, or only in part. Whatever was readable has been added then.
 */
int sxt_gopclntab_read(struct sxt_elf *elf, const sxt_extract_options *options, struct sxt_symbols *symbols,
                       bool *found, sxt_error *error);

/*
 * What the reference Lidia writer makes of the same file: entry, length to the next entry, name, in table order, with
 * its limits (section names, text start). An error here is where the reference fails, with its reason.
 */
int sxt_gopclntab_read_reference(struct sxt_elf *elf, struct sxt_symbols *symbols, sxt_error *error);

#endif
