/*
 * assemble.h: from the functions and the line table of a unit to ranges of the model. Private to this folder.
 *
 * An address belongs to the last entry that covers it: an inlined call wins over what it is inlined into, and of two
 * that overlap the later one. The frames around it are those around its entry, whether their own ranges cover the
 * address or not; only the function itself has to.
 */
#ifndef SXT_SOURCE_DWARF_ASSEMBLE_H
#define SXT_SOURCE_DWARF_ASSEMBLE_H

#include "source/dwarf/names.h"
#include "symbols/symbols.h"

/* Ranges and lines, in the order of the units that were put in; strings are numbers in the names of the worker. */
struct dwarf_output {
    struct sxt_model_range *ranges;
    size_t range_count, range_capacity;
    struct sxt_model_line *lines;
    size_t line_count, line_capacity;
    struct sxt_model_variable *variables;
    size_t variable_count, variable_capacity;
    bool no_memory;
    bool cut_short; /* there would have been more than the unit can pay for */
};

/* Part of [start, end) that is claimed by a node. */
struct dwarf_claim {
    uint64_t start;
    uint64_t end;
    uint32_t node;
};

/* A line entry and the range it belongs to. */
struct dwarf_loose_line {
    uint32_t range;
    struct sxt_model_line line;
};

/* Memory that is used again for each unit. */
struct dwarf_assembly {
    struct dwarf_claim *claims;
    size_t claim_capacity;
    uint32_t *heap;
    size_t heap_capacity;
    struct dwarf_loose_line *loose;
    size_t loose_count, loose_capacity;
    uint32_t *counts;
    size_t count_capacity;
    uint32_t *files; /* by number in the line table: one more than the number of the path, 0 while unknown */
    size_t file_capacity;
    uint32_t open_nodes[SXT_SYMBOLS_MAX_DEPTH + 1];
    uint32_t open_ranges[SXT_SYMBOLS_MAX_DEPTH + 1]; /* in the output */
};

/* What a unit has to offer. */
struct dwarf_unit_parts {
    const struct dwarf_context *context;
    const struct dwarf_root *root;
    const struct dwarf_functions *functions;
    const struct dwarf_lines *lines;    /* NULL when it has none */
    const struct dwarf_ranges *extents; /* the code that its root entry claims, ascending; NULL when it claims none */
    bool no_files;
    bool no_lines; /* each range has the file of its first line */
};

/* Appends the unit's ranges to OUT. */
void sxt_dwarf_assemble(struct dwarf_assembly *assembly, struct dwarf_names *names, const struct dwarf_unit_parts *unit,
                        struct dwarf_output *out);

void sxt_dwarf_assembly_free(struct dwarf_assembly *assembly);

#endif
