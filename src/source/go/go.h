/*
 * go.h: reads the function table that every Go binary contains for its runtime, stripped or not (.gopclntab). Versions
 * 1.2, 1.16, 1.18 and 1.20+, 32 and 64 bit, both byte orders.
 */
#ifndef SXT_SOURCE_GO_GO_H
#define SXT_SOURCE_GO_GO_H

#include <stdbool.h>

#include "source/elf/elf.h"
#include "symbols/symbols.h"

/*
 * Adds every Go function to SYMBOLS as ranges (source SXT_SOURCE_GO) with files and lines, and the calls inlined into
 * it if the table lists them. If the file is not Go, returns SXT_OK with *FOUND false. Fails if there is a Go table
 * that cannot be read, or not completely; everything readable has been added to SYMBOLS nevertheless.
 */
int sxt_go_read(struct sxt_elf *elf, const sxt_extract_options *options, struct sxt_symbols *symbols, bool *found,
                sxt_error *error);

/*
 * Adds what the reference Lidia writer makes of the same file: entry, length up to the next entry, and name, in table
 * order, with the limits of the reference (section names, text start). Fails where the reference fails, with its
 * message.
 */
int sxt_go_read_reference(struct sxt_elf *elf, struct sxt_symbols *symbols, sxt_error *error);

/* The table of a file, for lookups of single addresses. */
struct sxt_go_table;

/* Returns the table of ELF, allocated in ELF's arena, or NULL if there is no usable table. */
const struct sxt_go_table *sxt_go_open(struct sxt_elf *elf);

/* The position in the file of the table's records for one function. Offsets are file offsets. */
struct sxt_go_position {
    size_t index;   /* of the function in the table */
    uint64_t table; /* start of the table */
    uint64_t entry; /* of the function in functab */
    bool has_lines;
    uint64_t lines; /* of the function's pc-value table of lines */
};

/* Returns false if no function of the table contains ADDRESS. */
bool sxt_go_find_function(const struct sxt_go_table *table, uint64_t address, struct sxt_go_position *out);

#endif
