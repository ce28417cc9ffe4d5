/*
 * assemble.h: makes ranges of the model from the functions and the line table of a unit. Private to this folder.
 *
 * An address belongs to the last entry that covers it: an inlined call wins over the function around it, and of two
 * that overlap, the later one wins. The frames around it follow the nesting of the entries, whether or not their own
 * ranges cover the address; only the ranges of the function itself must.
 */
#ifndef SXT_SOURCE_DWARF_ASSEMBLE_H
#define SXT_SOURCE_DWARF_ASSEMBLE_H

#include "source/dwarf/names.h"
#include "symbols/symbols.h"

/* Ranges and lines, in the order in which units were added; strings are numbers in the worker's names. */
struct dwarf_output {
    struct sxt_model_range *ranges;
    size_t range_count, range_capacity;
    struct sxt_model_line *lines;
    size_t line_count, line_capacity;
    struct sxt_model_variable *variables;
    size_t variable_count, variable_capacity;
    struct sxt_model_call *calls;
    size_t call_count, call_capacity;
    bool no_memory;
    bool cut_short; /* some ranges are missing because the budget was used up */
};

/* A range [start, end) of a node. */
struct dwarf_node_range {
    uint64_t start;
    uint64_t end;
    uint32_t node;
};

/* Orders node ranges by start, then by node, for qsort. */
int sxt_dwarf_compare_node_ranges(const void *a, const void *b);

/* A line entry and the range it belongs to. */
struct dwarf_unsorted_line {
    uint32_t range;
    struct sxt_model_line line;
};

/* Memory that is reused for each unit. */
struct dwarf_assembly {
    struct dwarf_node_range *node_ranges;
    size_t node_range_capacity;
    uint32_t *heap;
    size_t heap_capacity;
    struct dwarf_unsorted_line *unsorted;
    size_t unsorted_count, unsorted_capacity;
    uint32_t *counts;
    size_t count_capacity;
    uint32_t *files; /* by number in the line table: one more than the number of the path, 0 if not known yet */
    size_t file_capacity;
    uint32_t open_nodes[SXT_SYMBOLS_MAX_DEPTH + 1];
    uint32_t open_ranges[SXT_SYMBOLS_MAX_DEPTH + 1]; /* in the output */
};

/* The input: everything read from one unit. */
struct dwarf_unit_parts {
    const struct dwarf_context *context;
    const struct dwarf_root *root;
    const struct dwarf_functions *functions;
    const struct dwarf_lines *lines;    /* NULL if it has none */
    const struct dwarf_ranges *extents; /* the code of the unit by its root entry, ascending; NULL if unknown */
    bool is_skeleton;                   /* its split unit is missing, so its functions are unknown */
    bool no_files;
    bool no_lines; /* each range only has the file of its first line */
};

/* Appends the unit's ranges to OUT. */
void sxt_dwarf_assemble(struct dwarf_assembly *assembly, struct dwarf_names *names, const struct dwarf_unit_parts *unit,
                        struct dwarf_output *out);

void sxt_dwarf_assembly_free(struct dwarf_assembly *assembly);

#endif
