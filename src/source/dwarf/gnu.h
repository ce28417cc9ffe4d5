/*
 * gnu.h: a unit as GNU addr2line looks at it, and the variables of all units. Private to this folder.
 *
 *     functions   f [                        ]           pieces   f   g  h  g    f        -    which function has the
 *                   g [         ]                  ▶              |   |  |  |    |        |    smallest range here
 *                        h [ ]
 */
#ifndef SXT_SOURCE_DWARF_GNU_H
#define SXT_SOURCE_DWARF_GNU_H

#include "source/dwarf/private.h"

struct gnu_function {
    uint64_t origin; /* the entry that tells the name */
    uint64_t start;
    uint32_t parent;    /* DWARF_NONE for a function of its own */
    uint32_t call_file; /* as in dwarf_node */
    uint32_t call_line;
    uint32_t name; /* number in the names, once it is known */
    bool origin_is_alternate;
    bool is_named; /* the name was looked for */
    bool is_linkage;
};

/* From START to the start of the next one, FUNCTION has the smallest range. */
struct gnu_piece {
    uint64_t start;
    uint32_t function; /* DWARF_NONE: none has one */
};

struct gnu_unit {
    const struct dwarf_unit *header;
    sxt_string directory;
    struct gnu_function *functions;
    size_t function_count;
    struct dwarf_claim *claims; /* all ranges of all functions, until there are pieces */
    size_t claim_count;
    struct gnu_piece *pieces; /* NULL while few questions were asked */
    size_t piece_count;
    uint32_t questions;
    struct dwarf_lines lines;
    bool was_asked;  /* GNU addr2line knows its line table by now */
    uint32_t *paths; /* by file: one more than the number of its path, 0 while unknown; NULL until one is asked for */
};

/* What a thread works with. */
struct gnu_worker {
    struct dwarf_effort effort; /* for all its units */
    struct dwarf_abbrevs abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    struct dwarf_functions functions;
    struct dwarf_lines lines;
};

/* A variable that has an address. */
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
    struct gnu_unit **units; /* by number; NULL while they are not read */
    bool *is_read;
    uint32_t *first_user; /* by unit: the one that answers for its line table */
    uint32_t *unknown;    /* units that do not say which code they have */
    size_t unknown_count;
    bool is_ready;              /* the root entries of all units were looked at */
    struct dwarf_effort effort; /* for names */
    struct dwarf_names names;
    /* The unit that names were looked up in last. */
    const struct dwarf_unit *entered;
    struct dwarf_abbrevs abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    struct gnu_variables variables; /* by address */
    bool has_variables;             /* were looked for */
};

void sxt_gnu_dwarf_worker_init(struct gnu_worker *worker, const struct sxt_dwarf *dwarf);
void sxt_gnu_dwarf_worker_free(struct gnu_worker *worker);

/*
 * Reads unit NUMBER; *OUT is NULL when GNU addr2line can do nothing with it (no lines, or damaged ones). False when
 * memory is short.
 */
bool sxt_gnu_dwarf_unit_read(struct gnu_worker *worker, const struct sxt_dwarf *dwarf, size_t number,
                             struct gnu_unit **out);
void sxt_gnu_dwarf_unit_free(struct gnu_unit *unit);

/* The function or inlined call with the smallest range at ADDRESS; DWARF_NONE when there is none. */
uint32_t sxt_gnu_dwarf_function_at(struct gnu_unit *unit, uint64_t address);

/* Fills in first_user, once the root entries were looked at. False when memory is short. */
bool sxt_gnu_dwarf_find_first_users(struct sxt_gnu_dwarf *view);

/* The path of file NUMBER of a line table, as dwarf_node and dwarf_row count them (0: no file). */
sxt_string sxt_gnu_dwarf_path(struct sxt_gnu_dwarf *view, struct gnu_unit *unit, uint32_t number);

/* Makes the unit ready for questions about its entries. */
bool sxt_gnu_dwarf_enter(struct sxt_gnu_dwarf *view, const struct dwarf_unit *unit);

/* The unit with that number, read if need be; NULL when it cannot be. */
struct gnu_unit *sxt_gnu_dwarf_unit_at(struct sxt_gnu_dwarf *view, size_t number);

#endif
