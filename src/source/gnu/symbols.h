/*
 * symbols.h: a symbol table as GNU addr2line looks at it.
 *
 * The function at an address is the last symbol of its section that begins at or before it, whether it reaches there or
 * not. It may be anything but data: a symbol without a type does, too. The file is the one whose name stands before the
 * symbol in the table, where that can be relied on.
 */
#ifndef SXT_SOURCE_GNU_SYMBOLS_H
#define SXT_SOURCE_GNU_SYMBOLS_H

#include "base/strings.h"
#include "demangle/demangle.h"
#include "source/elf/elf.h"

/* A symbol that may be a function. */
struct sxt_gnu_function {
    uint64_t offset; /* in its section */
    uint64_t size;   /* at least 1 */
    uint32_t symbol; /* index in the table */
    uint32_t file;   /* index of the symbol that names the file; 0 for none */
};

/* Names of all symbols, each with the first symbol that has it. */
struct sxt_gnu_names {
    struct sxt_strings strings;
    uint32_t *symbols; /* by number of the name; 0: none (the empty name may be nobody's) */
    size_t count, capacity;
    bool is_made;
};

struct sxt_gnu_symbols {
    struct sxt_elf_symbol_table table;
    bool is_there;
    bool is_indexed;
    struct sxt_gnu_function *functions; /* by section, then offset, then place in the table */
    size_t *first;                      /* by section: in `functions`; one more than there are sections */
    struct sxt_gnu_function *data;      /* all symbols of sections that have no code, in the same order */
    size_t *first_data;
    struct sxt_gnu_names linked, demangled;
    /* What was found last serves again as long as addresses stay inside it, whatever else begins there. */
    const struct sxt_gnu_function *last;
    uint32_t last_section;
};

/* The table of ELF: .symtab, or if it has no symbols (and DYNAMIC) .dynsym. It may be that there is none. */
void sxt_gnu_symbols_open(struct sxt_gnu_symbols *symbols, struct sxt_elf *elf, bool dynamic);
void sxt_gnu_symbols_close(struct sxt_gnu_symbols *symbols);

struct sxt_gnu_found {
    sxt_string name;
    sxt_string file; /* absent when unknown */
    uint64_t offset; /* of the symbol in its section */
};

/* The function at OFFSET of a section. False when there is none, or memory is short. */
bool sxt_gnu_symbols_function(struct sxt_gnu_symbols *symbols, uint32_t section, uint64_t offset,
                              struct sxt_gnu_found *found);

/* The name of a symbol that is exactly there, in a section without code; of several a global one. */
bool sxt_gnu_symbols_at(struct sxt_gnu_symbols *symbols, uint32_t section, uint64_t offset, sxt_string *name);

/* The address of the first symbol called NAME, as linked or else demangled. */
bool sxt_gnu_symbols_named(struct sxt_gnu_symbols *symbols, sxt_string name, enum sxt_gnu_style style, bool no_limit,
                           uint64_t *address);

#endif
