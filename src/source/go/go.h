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

/* The table of a file, kept for questions about single addresses. */
struct sxt_go_table;

/* The table of ELF, in ELF's arena; NULL if the file has none that can be used. */
const struct sxt_go_table *sxt_go_open(struct sxt_elf *elf);

/* Where the table has the function at an address. Offsets are offsets in the file. */
struct sxt_go_evidence {
    size_t index;   /* of the function in the table */
    uint64_t table; /* where the table begins */
    uint64_t entry; /* of the function in the list of functions */
    bool has_lines;
    uint64_t lines; /* the function's table of lines */
};

/* False if no function of the table has ADDRESS. */
bool sxt_go_find_evidence(const struct sxt_go_table *table, uint64_t address, struct sxt_go_evidence *out);

#endif
