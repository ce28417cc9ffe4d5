/*
 * names.h: what a function is called, and what a file is. Private to this folder.
 *
 * A function's entry may leave its name to the entry it is an instance of, and that one to the one that declares it, in
 * this unit, another one, or the alternate file. The linkage name comes first, wherever in that chain it is; otherwise
 * the name, with the namespaces and classes around the last entry of the chain.
 */
#ifndef SXT_SOURCE_DWARF_NAMES_H
#define SXT_SOURCE_DWARF_NAMES_H

#include "base/buffer.h"
#include "base/strings.h"
#include "source/dwarf/functions.h"
#include "source/dwarf/line.h"

/* A unit that names were asked of, ready to be asked again. */
struct dwarf_neighbour {
    const struct dwarf_file *file; /* NULL while unused */
    const struct dwarf_unit *unit;
    struct dwarf_abbrevs abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    struct dwarf_functions scopes;
    bool has_scopes; /* were walked */
    bool broken;
};

#define DWARF_NEIGHBOURS 64

struct dwarf_known_name {
    uint64_t key; /* 0: free */
    uint32_t name;
};

struct dwarf_names {
    struct sxt_strings strings; /* functions and files, by number */
    struct dwarf_neighbour neighbours[DWARF_NEIGHBOURS];
    struct dwarf_known_name *known; /* of entries of the current file and its alternate */
    size_t known_count, known_capacity;
    struct dwarf_effort *effort; /* pays for other units and for new names; NULL: nobody does */
    struct sxt_buffer text;
    bool gnu; /* names and paths as GNU addr2line gives them: no scopes, nothing normalised */
    bool no_memory;
};

bool sxt_dwarf_names_init(struct dwarf_names *names, bool gnu, struct dwarf_effort *effort, sxt_error *error);
void sxt_dwarf_names_free(struct dwarf_names *names);

/* Forgets what is known of entries: another file comes. */
void sxt_dwarf_names_forget(struct dwarf_names *names);

/*
 * The number of the name of the function at ENTRY (of CONTEXT's file, or of its alternate one); 0 when it has none.
 * FUNCTIONS has the scopes of CONTEXT's unit. *IS_LINKAGE tells whether it is the name the linker knows.
 */
uint32_t sxt_dwarf_function_name(struct dwarf_names *names, const struct dwarf_context *context,
                                 const struct dwarf_root *root, const struct dwarf_functions *functions, uint64_t entry,
                                 bool alternate, bool *is_linkage);

/* The number of the path of file NUMBER of the line table; 0 when there is none. */
uint32_t sxt_dwarf_file_name(struct dwarf_names *names, const struct dwarf_lines *lines, const struct dwarf_root *root,
                             uint64_t number);

#endif
