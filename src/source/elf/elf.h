/*
 * elf.h: reads ELF files, 32 and 64 bit, in both byte orders: header, sections, segments, symbol tables, relocations.
 *
 * Nothing in the file is trusted. A section or segment that lies outside the file keeps the numbers of its header, but
 * reading its bytes fails. The tables of sections and segments must fit in the file before they are allocated.
 */
#ifndef SXT_SOURCE_ELF_ELF_H
#define SXT_SOURCE_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/inflate.h"
#include "symbols/symbols.h"

struct sxt_elf_section {
    sxt_string name; /* "" if it cannot be read */
    uint32_t name_offset;
    uint32_t type;
    uint64_t flags;
    uint64_t address; /* in a relocatable file: assigned by sxt_elf_open */
    uint64_t offset;
    uint64_t size;
    uint32_t link;
    uint32_t info;
    uint64_t alignment;
    uint64_t entry_size;
};

struct sxt_elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
    uint64_t alignment;
};

struct sxt_elf {
    const uint8_t *data; /* borrowed */
    size_t size;
    bool is_mapped; /* the data is that of a mapped file; false unless who opened it sets it */
    bool is_64;
    bool big_endian;
    uint16_t type;    /* ET_... */
    uint16_t machine; /* EM_... */
    uint32_t version; /* e_version; not checked */
    uint32_t flags;
    uint64_t entry;
    uint32_t names; /* index of the section with the names of sections; 0 if there is none */
    struct sxt_elf_section *sections;
    size_t section_count;
    struct sxt_elf_segment *segments;
    size_t segment_count;
    uint64_t inflate_limit; /* maximum for one section and for all sections together */
    uint64_t inflated;      /* bytes inflated so far */
    uint64_t handed_out; /* bytes of sections returned so far; sections may overlap, so this can exceed the file size */
    struct sxt_arena arena; /* the two tables and inflated sections */
};

/* The bytes of a section, inflated if they were compressed. They belong to the file or to the sxt_elf. */
struct sxt_elf_bytes {
    const uint8_t *data;
    size_t size;
    uint64_t offset; /* file offset of the section, for messages */
    bool inflated;   /* true: offsets within the bytes are not file offsets */
};

/*
 * Reads the header and both tables. Fails for core files. In a relocatable file (ET_REL), assigns addresses to the
 * allocated sections: one after another in file order, each with its alignment. DATA must outlive ELF. On failure ELF
 * is empty.
 */
int sxt_elf_open(struct sxt_elf *elf, const uint8_t *data, size_t size, uint64_t inflate_limit, sxt_error *error);
void sxt_elf_close(struct sxt_elf *elf);

/* Says whether DATA begins with the ELF magic. */
bool sxt_elf_is(const uint8_t *data, size_t size);

/* Returns the first section with this name or type, or NULL. */
const struct sxt_elf_section *sxt_elf_section_named(const struct sxt_elf *elf, const char *name);

/*
 * Whether the linker that made the file can fold identical functions: gold, lld and mold can, and leave their names.
 * GNU ld cannot.
 */
bool sxt_elf_may_be_folded(struct sxt_elf *elf);

/* Whether the compilers left their names in the file, and none of those linkers did: then GNU ld made it. */
bool sxt_elf_cannot_be_folded(struct sxt_elf *elf);

const struct sxt_elf_section *sxt_elf_section_typed(const struct sxt_elf *elf, uint32_t type);

/*
 * Gets the bytes of a section. Fails if the section has no bytes (NOBITS), lies outside the file or has a damaged
 * compressed stream. Fails with SXT_ERROR_LIMIT once all calls together have returned several times the size of the
 * file: only a file made to waste time needs that much.
 */
int sxt_elf_section_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                          sxt_error *error);

/* What remains to be done before the bytes of a compressed section can be used. */
struct sxt_elf_inflation {
    enum sxt_compression kind;
    const uint8_t *data;
    size_t size;
    uint8_t *to; /* NULL: nothing */
    size_t expected;
    uint64_t offset; /* of the section, for messages */
};

/*
 * The two halves of sxt_elf_section_bytes. The second one may be called from any thread, so that several sections can
 * be inflated at a time. If it fails, the bytes must not be used.
 */
int sxt_elf_section_begin(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                          struct sxt_elf_inflation *inflation, sxt_error *error);
int sxt_elf_inflate(const struct sxt_elf_inflation *inflation, sxt_error *error);

/*
 * Returns SIZE bytes that are loaded at virtual ADDRESS, or NULL. Looks in segments, and in allocated sections if the
 * file has no segments.
 */
const uint8_t *sxt_elf_at_address(const struct sxt_elf *elf, uint64_t address, uint64_t size);

/* Returns how many bytes of the file are loaded contiguously from ADDRESS on; 0 if none. */
uint64_t sxt_elf_available_at(const struct sxt_elf *elf, uint64_t address);

/* Returns a cursor over BYTES in the file's byte order. */
struct sxt_cursor sxt_elf_cursor(const struct sxt_elf *elf, const struct sxt_elf_bytes *bytes);

/* Returns "x86_64", "aarch64" and so on, or NULL for an unknown machine. */
const char *sxt_elf_arch(const struct sxt_elf *elf);

/* Copies the GNU build ID from the note sections or segments. Returns its size, or 0 if there is none. */
size_t sxt_elf_build_id(const struct sxt_elf *elf, uint8_t *out, size_t capacity);

/* --- symbols.c: symbol tables --- */

/* One entry of a symbol table, with the values of the file. */
struct sxt_elf_symbol {
    uint32_t name; /* offset in the string table */
    uint8_t info;
    uint8_t other;
    uint16_t section;
    uint64_t value;
    uint64_t size;
};

/* A symbol table with its strings. Entries are read by index. */
struct sxt_elf_symbol_table {
    const struct sxt_elf *elf;
    const struct sxt_elf_section *section;
    struct sxt_elf_bytes entries;
    struct sxt_elf_bytes strings;
    struct sxt_elf_bytes indices; /* section numbers above 0xfeff; empty if there are none */
    size_t count;
    uint64_t budget; /* how many more bytes of names may be read */
    bool exhausted;  /* a name was not read because the budget was used up */
};

/* Opens the table in SECTION (SHT_SYMTAB or SHT_DYNSYM). */
int sxt_elf_symbol_table_open(struct sxt_elf *elf, const struct sxt_elf_section *section,
                              struct sxt_elf_symbol_table *table, sxt_error *error);

/* Returns entry INDEX, which must be less than count. */
struct sxt_elf_symbol sxt_elf_symbol_at(const struct sxt_elf_symbol_table *table, size_t index);

/*
 * Returns the name of SYMBOL. It is absent (NULL) if its offset lies outside the string table, if it has no terminating
 * zero, or if it is longer than 1 MiB. Names may share their tails; a table whose names overlap so much that reading
 * them is a waste of time becomes exhausted.
 */
sxt_string sxt_elf_symbol_name(struct sxt_elf_symbol_table *table, const struct sxt_elf_symbol *symbol);

/* Returns how many bytes of names may be read from a string table of SIZE bytes. */
uint64_t sxt_elf_names_budget(size_t size);

/* Fills in the error for an exhausted table. */
int sxt_elf_fail_exhausted(const struct sxt_elf_symbol_table *table, sxt_error *error);

/* Adds all defined symbols of a table to the model. SOURCE is SXT_SOURCE_SYMTAB or SXT_SOURCE_DYNSYM. */
int sxt_elf_add_symbols(struct sxt_elf *elf, const struct sxt_elf_section *section, uint8_t source,
                        struct sxt_symbols *symbols, sxt_error *error);

/* --- plt.c: names for PLT entries --- */

/* Adds a function "name@plt" for every PLT entry whose target can be determined (x86, ARM and RISC-V). */
int sxt_elf_add_plt(struct sxt_elf *elf, struct sxt_symbols *symbols, sxt_error *error);

/* --- mapping_symbols.c: data between code --- */

/* A mapping symbol of ARM, AArch64 or RISC-V ($x, $d): from its address on, there is code or data. */
struct sxt_elf_mapping_symbol {
    uint64_t address;
    bool is_data;
};

/* In ascending order of address. Empty for other machines. */
struct sxt_elf_mapping_symbols {
    struct sxt_elf_mapping_symbol *list; /* the caller frees it */
    size_t count, capacity;
};

/* Symbols that cannot be read are left out; fails only if out of memory. */
int sxt_elf_read_mapping_symbols(struct sxt_elf *elf, struct sxt_elf_mapping_symbols *symbols, sxt_error *error);

/* --- relocate.c: debug sections of object files and kernel modules --- */

/*
 * Gets the bytes of SECTION, a section of ELF, as sxt_elf_section_bytes does, and applies its relocations if the file
 * is relocatable (ET_REL). Relocations of any other file must not be applied: a vmlinux is an executable that still
 * contains .rela.debug_info, but the linker has applied it already. Relocated bytes are a copy in ELF's arena.
 *
 * A relocation of an unknown type, out of bounds, or with a symbol that does not exist is skipped; *SKIPPED (may be
 * NULL) is the number of skipped ones. An undefined symbol has the value 0. Fails, with *OUT empty, if the bytes, the
 * relocations or their symbol table cannot be read: without them, addresses would be wrong but look right.
 */
int sxt_elf_relocated_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                            uint64_t *skipped, sxt_error *error);

/* --- verify.c --- */

/*
 * Reports every problem in the tables of sections and segments and in the symbol tables. Returns the number of
 * problems.
 */
uint64_t sxt_elf_verify(const uint8_t *data, size_t size, uint64_t inflate_limit,
                        void (*problem)(void *context, const sxt_problem *problem), void *context);

/* Is ADDRESS in a loaded segment that is executable? */
bool sxt_elf_in_code_segment(const struct sxt_elf *elf, uint64_t address);

#endif
