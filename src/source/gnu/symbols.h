/*
 * symbols.h: looks up functions and names in a symbol table as GNU addr2line does.
 *
 * The function at an address is the last symbol of the section that begins at or before the address, even if it ends
 * before it. Any symbol except data qualifies, also one without a type. The file is the one whose symbol comes before
 * the function in the table, if that is reliable.
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
    uint32_t file;   /* index of the symbol that names the file; 0 if there is none */
};

/* The names of all symbols, each with the first symbol that has this name. */
struct sxt_gnu_names {
    struct sxt_strings strings;
    uint32_t *symbols; /* by number of the name; 0: no symbol (a number may be unused) */
    size_t count, capacity;
    bool is_made;
};

struct sxt_gnu_symbols {
    struct sxt_elf_symbol_table table;
    bool exists;
    bool is_indexed;
    struct sxt_gnu_function *functions; /* sorted by section, offset, and position in the table */
    size_t *first;                 /* by section: index in `functions`; has one more entry than there are sections */
    struct sxt_gnu_function *data; /* all symbols of sections without code, in the same order */
    size_t *first_data;
    struct sxt_gnu_names linked, demangled;
    /* The last result. It is used again for addresses inside it, even if another symbol begins there. */
    const struct sxt_gnu_function *last;
    uint32_t last_section;
};

/* Opens the table of ELF: .symtab or, if that has no symbols and DYNAMIC is true, .dynsym. There may be none. */
void sxt_gnu_symbols_open(struct sxt_gnu_symbols *symbols, struct sxt_elf *elf, bool dynamic);
void sxt_gnu_symbols_close(struct sxt_gnu_symbols *symbols);

struct sxt_gnu_found {
    sxt_string name;
    sxt_string file; /* absent if unknown */
    uint64_t offset; /* of the symbol in its section */
};

/* Gets the function at OFFSET of a section. Returns false if there is none, or if out of memory. */
bool sxt_gnu_symbols_function(struct sxt_gnu_symbols *symbols, uint32_t section, uint64_t offset,
                              struct sxt_gnu_found *found);

/* Gets the name of a symbol that begins exactly at OFFSET in a section without code; of several, a global one. */
bool sxt_gnu_symbols_at(struct sxt_gnu_symbols *symbols, uint32_t section, uint64_t offset, sxt_string *name);

/* Gets the address of the first symbol named NAME, as linked or otherwise as demangled. */
bool sxt_gnu_symbols_named(struct sxt_gnu_symbols *symbols, sxt_string name, enum sxt_gnu_style style, bool no_limit,
                           uint64_t *address);

#endif
