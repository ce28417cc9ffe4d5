/*
 * gnu.h: a unit as GNU addr2line reads it, and the variables of all units. Private to this folder.
 *
 *     functions   f [                        ]           pieces   f   g  h  g    f        -    the function with the
 *                   g [         ]                  ▶              |   |  |  |    |        |    smallest range here
 *                        h [ ]
 */
#ifndef SXT_SOURCE_DWARF_GNU_H
#define SXT_SOURCE_DWARF_GNU_H

#include "source/dwarf/private.h"

struct gnu_function {
    uint64_t origin; /* the entry with the name */
    uint64_t start;
    uint32_t parent;    /* DWARF_NONE if it is not an inlined call */
    uint32_t call_file; /* as in dwarf_node */
    uint32_t call_line;
    sxt_string name; /* if is_named */
    bool origin_is_alternate;
    bool is_named; /* the name was searched */
    bool is_linkage;
};

/* From START to the start of the next piece, FUNCTION has the smallest range. */
struct gnu_piece {
    uint64_t start;
    uint32_t function; /* DWARF_NONE: no function */
};

struct gnu_unit {
    const struct dwarf_unit *header;
    sxt_string directory;
    struct gnu_function *functions;
    size_t function_count;
    struct dwarf_node_range *node_ranges; /* all ranges of all functions; freed once there are pieces */
    size_t node_range_count;
    struct gnu_piece *pieces; /* NULL until the unit has had several lookups */
    size_t piece_count;
    uint32_t lookups;
    struct dwarf_lines lines;
    bool was_searched; /* its line table is known to GNU addr2line */
    uint32_t *paths;   /* by file: one more than the number of its path, 0 if not known yet; NULL until first used */
};

/* The state of one thread. */
struct gnu_worker {
    struct dwarf_budget budget; /* for all its units */
    struct dwarf_abbrevs abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    struct dwarf_functions functions;
    struct dwarf_lines lines;
};

/* A variable with a fixed address. */
struct gnu_variable {
    uint64_t address;
    uint64_t entry;
    uint32_t unit;
};

struct gnu_variables {
    struct gnu_variable *list;
    size_t count, capacity;
};

struct sxt_gnu_dwarf {
    struct sxt_dwarf *dwarf;
    struct gnu_unit **units; /* by number; NULL if not read */
    bool *is_read;
    uint32_t *first_user; /* by unit: the unit that GNU addr2line uses for its line table */
    uint32_t *unknown;    /* units that do not say which code they have */
    size_t unknown_count;
    bool is_ready;              /* the root entries of all units were read */
    struct dwarf_budget budget; /* for names */
    struct dwarf_names names;
    /* The unit whose entries were read last. */
    const struct dwarf_unit *entered;
    struct dwarf_abbrevs abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    struct gnu_variables variables; /* sorted by address */
    bool has_variables;             /* variables was filled */
};

void sxt_gnu_dwarf_worker_init(struct gnu_worker *worker, const struct sxt_dwarf *dwarf);
void sxt_gnu_dwarf_worker_free(struct gnu_worker *worker);

/*
 * Reads unit NUMBER. *OUT is NULL if GNU addr2line cannot use the unit (no lines, or damaged ones). Returns false if
 * out of memory.
 */
bool sxt_gnu_dwarf_unit_read(struct gnu_worker *worker, const struct sxt_dwarf *dwarf, size_t number,
                             struct gnu_unit **out);

/* Finds the names of the frames at ADDRESS, as far as they are in UNIT, which the worker has just read. */
void sxt_gnu_dwarf_name_frames(const struct gnu_worker *worker, struct gnu_unit *unit, uint64_t address);
void sxt_gnu_dwarf_unit_free(struct gnu_unit *unit);

/* Returns the function or inlined call with the smallest range at ADDRESS, or DWARF_NONE. */
uint32_t sxt_gnu_dwarf_function_at(struct gnu_unit *unit, uint64_t address);

/* Fills in first_user after the root entries were read. Returns false if out of memory. */
bool sxt_gnu_dwarf_find_first_users(struct sxt_gnu_dwarf *view);

/* Returns the path of file NUMBER of a line table, numbered as in dwarf_node and dwarf_row (0: no file). */
sxt_string sxt_gnu_dwarf_path(struct sxt_gnu_dwarf *view, struct gnu_unit *unit, uint32_t number);

/* Prepares view->context for reading entries of UNIT. */
bool sxt_gnu_dwarf_enter(struct sxt_gnu_dwarf *view, const struct dwarf_unit *unit);

/* Returns the unit with this number and reads it if necessary; NULL if it cannot be read. */
struct gnu_unit *sxt_gnu_dwarf_unit_at(struct sxt_gnu_dwarf *view, size_t number);

#endif
