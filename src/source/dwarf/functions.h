/* functions.h: the functions of a unit and the calls inlined into them, as the entries nest. Private to this folder. */
#ifndef SXT_SOURCE_DWARF_FUNCTIONS_H
#define SXT_SOURCE_DWARF_FUNCTIONS_H

#include "source/dwarf/ranges.h"
#include "source/dwarf/unit.h"

#define DWARF_NONE UINT32_MAX

/* A function that has code (a root), or an inlined call in one. Nodes are in the order of their entries. */
struct dwarf_node {
    uint64_t entry;  /* offset in .debug_info */
    uint64_t origin; /* the entry with the name: the entry itself or its abstract origin */
    bool origin_is_alternate;
    uint32_t parent; /* DWARF_NONE for a root */
    uint32_t root;   /* itself for a root */
    uint32_t next;   /* the next node of the same root, in entry order, or DWARF_NONE */
    uint32_t last;   /* of a root: the node added last */
    uint32_t depth;  /* 0 for a root */
    uint32_t first_range, range_count;
    uint32_t call_file; /* one more than the number in the line table; 0 if absent */
    uint32_t call_line;
};

/* A namespace, a class, or a function with a class in it. Scope 0 is the unit itself. */
struct dwarf_scope {
    uint32_t parent;
    uint16_t tag;
    uint32_t nameless; /* how many classes without a name are in it */
    uint32_t ordinal;  /* of a class without a name: its number among those of the parent, from 1 */
    sxt_string name;   /* absent for a function */
    uint64_t function; /* of a function: its entry; 0 otherwise */
};

/* A function without a linkage name that is in a scope. */
struct dwarf_scoped_function {
    uint64_t entry;
    uint32_t scope;
};

/* A call that names the function it calls. */
struct dwarf_call {
    uint64_t return_address;
    uint64_t origin; /* the entry of the function */
    bool origin_is_alternate;
};

/* An open entry on the stack of the walk. */
struct dwarf_open {
    uint64_t level;
    uint64_t function; /* the entry of a function; 0 for anything else */
    uint32_t node;
    uint32_t scope;          /* of the functions directly in it */
    uint32_t function_scope; /* of the classes in a function; 0 if there is none yet */
};

struct dwarf_functions {
    struct dwarf_node *nodes;
    size_t node_count, node_capacity;
    struct dwarf_ranges ranges;
    struct dwarf_scope *scopes;
    size_t scope_count, scope_capacity;
    struct dwarf_scoped_function *scoped_functions; /* ascending */
    size_t scoped_function_count, scoped_function_capacity;
    struct dwarf_call *calls; /* if they are wanted */
    size_t call_count, call_capacity;
    bool wants_calls; /* set by the caller of the walk */
    struct dwarf_open *open;
    size_t open_count, open_capacity;
    bool no_memory;
};

/* What a walk collects. */
enum sxt_dwarf_walk {
    DWARF_WALK_FUNCTIONS, /* everything */
    DWARF_WALK_ROOTS,     /* no inlined calls */
    DWARF_WALK_GNU,       /* everything that GNU addr2line reads: it does not support range lists by index */
    DWARF_WALK_SCOPES,    /* only scopes and the functions in them */
};

/*
 * Walks over all entries of the unit. Returns UINT64_MAX, or the offset where the entries are damaged; everything
 * before it is kept.
 */
uint64_t sxt_dwarf_walk(const struct dwarf_context *context, const struct dwarf_root *root,
                        const struct dwarf_dead *dead, enum sxt_dwarf_walk mode, struct dwarf_functions *functions);

/* Returns the scope of the function at ENTRY. */
uint32_t sxt_dwarf_scope_of(const struct dwarf_functions *functions, uint64_t entry);

void sxt_dwarf_functions_free(struct dwarf_functions *functions);

/* Says whether functions of this language are in scopes. */
bool sxt_dwarf_has_scopes(uint16_t language);

#endif
