/*
 * names.h: the names of functions, and the paths of files. Private to this folder.
 *
 * A function's entry may leave its name to the entry it is an instance of, and that one to the entry that declares it,
 * in the same unit, another unit, or the alternate file. A linkage name anywhere in this chain is preferred; otherwise
 * it is the plain name, with the namespaces and classes around the last entry of the chain.
 */
#ifndef SXT_SOURCE_DWARF_NAMES_H
#define SXT_SOURCE_DWARF_NAMES_H

#include "base/buffer.h"
#include "base/strings.h"
#include "source/dwarf/functions.h"
#include "source/dwarf/line.h"

/* Another unit that names were read from, kept for the next names. */
struct dwarf_cached_unit {
    const struct dwarf_file *file; /* NULL if the slot is unused */
    const struct dwarf_unit *unit;
    struct dwarf_abbrevs abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    struct dwarf_functions scopes;
    bool has_scopes; /* scopes was filled */
    bool broken;
};

#define DWARF_CACHED_UNITS 64

struct dwarf_known_name {
    uint64_t key; /* 0: free slot */
    uint32_t name;
};

struct dwarf_names {
    struct sxt_strings strings; /* functions and files, by number */
    struct dwarf_cached_unit cached_units[DWARF_CACHED_UNITS];
    struct dwarf_known_name *known; /* of entries of the current file and its alternate file */
    size_t known_count, known_capacity;
    struct dwarf_budget *budget; /* limits the use of other units and the new names; NULL: no limit */
    struct sxt_buffer text;
    bool gnu; /* names and paths as in GNU addr2line: without scopes, not normalized */
    bool no_memory;
};

bool sxt_dwarf_names_init(struct dwarf_names *names, bool gnu, struct dwarf_budget *budget, sxt_error *error);
void sxt_dwarf_names_free(struct dwarf_names *names);

/* Discards what is known about entries, because another file comes next. */
void sxt_dwarf_names_forget(struct dwarf_names *names);

/*
 * Returns the number of the name of the function at ENTRY (of CONTEXT's file, or of its alternate file); 0 if it has
 * none. FUNCTIONS has the scopes of CONTEXT's unit. *IS_LINKAGE says whether it is a linkage
 * name; GNU addr2line takes plain names of C and similar languages for linkage names.
 */
uint32_t sxt_dwarf_function_name(struct dwarf_names *names, const struct dwarf_context *context,
                                 const struct dwarf_root *root, const struct dwarf_functions *functions, uint64_t entry,
                                 bool alternate, bool *is_linkage);

/*
 * Gets the name of the function at ENTRY of CONTEXT's unit as GNU addr2line does; absent if it has none. Returns false
 * if it may be in another unit. The name is valid as long as the file.
 */
bool sxt_dwarf_gnu_name(const struct dwarf_context *context, const struct dwarf_root *root, uint64_t entry,
                        sxt_string *name, bool *is_linkage);

/* Returns the number of the path of file NUMBER of the line table; 0 if there is none. */
uint32_t sxt_dwarf_file_name(struct dwarf_names *names, const struct dwarf_lines *lines, const struct dwarf_root *root,
                             uint64_t number);

#endif
