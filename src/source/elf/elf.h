/*
 * elf.h: an ELF file taken apart: header, sections, segments. 32 and 64 bit, both byte orders.
 *
 * Nothing in the file is trusted: a section or segment that does not lie inside the file is kept with its numbers, but
 * asking for its bytes fails. Tables of sections are limited by the bytes that are really there.
 */
#ifndef SXT_SOURCE_ELF_ELF_H
#define SXT_SOURCE_ELF_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "symbols/symbols.h"

struct sxt_elf_section {
    sxt_string name; /* "" when it cannot be read */
    uint32_t name_offset;
    uint32_t type;
    uint64_t flags;
    uint64_t address; /* in a relocatable file: where it was laid out (see sxt_elf_open) */
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
    bool is_64;
    bool big_endian;
    uint16_t type;    /* ET_... */
    uint16_t machine; /* EM_... */
    uint32_t version; /* e_version, which nobody looks at */
    uint32_t flags;
    uint64_t entry;
    uint32_t names; /* the section that holds the names of sections; 0 for none */
    struct sxt_elf_section *sections;
    size_t section_count;
    struct sxt_elf_segment *segments;
    size_t segment_count;
    uint64_t inflate_limit; /* the most that one section, and all that were asked for together, may expand to */
    uint64_t inflated;      /* so far */
    uint64_t handed_out; /* bytes of sections so far: sections may overlap, and the same bytes come again and again */
    struct sxt_arena arena; /* the two tables and inflated sections */
};

/* The bytes of a section, inflated when they are compressed. Borrowed from the file or from the sxt_elf. */
struct sxt_elf_bytes {
    const uint8_t *data;
    size_t size;
    uint64_t offset; /* of the section in the file, for messages */
    bool inflated;   /* offsets inside the bytes are not offsets in the file */
};

/*
 * Reads the header and the two tables. Core files are refused. In a relocatable file (ET_REL) the allocated sections
 * get addresses one after another in file order, each aligned as it asks. DATA must outlive ELF. On failure ELF is
 * empty.
 */
int sxt_elf_open(struct sxt_elf *elf, const uint8_t *data, size_t size, uint64_t inflate_limit, sxt_error *error);
void sxt_elf_close(struct sxt_elf *elf);

/* Is it an ELF file, by its magic? */
bool sxt_elf_is(const uint8_t *data, size_t size);

/* The first section with that name or type, or NULL. */
const struct sxt_elf_section *sxt_elf_section_named(const struct sxt_elf *elf, const char *name);
const struct sxt_elf_section *sxt_elf_section_typed(const struct sxt_elf *elf, uint32_t type);

/*
 * Its bytes; fails for a section without bytes (NOBITS), outside the file, or with a damaged compressed stream. In all,
 * a few times the size of the file is given out, and then SXT_ERROR_LIMIT: a file that needs more is made to waste
 * time.
 */
int sxt_elf_section_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                          sxt_error *error);

/* SIZE bytes that are loaded at virtual ADDRESS (by segments, otherwise by allocated sections), or NULL. */
const uint8_t *sxt_elf_at_address(const struct sxt_elf *elf, uint64_t address, uint64_t size);

/* How many bytes of the file are loaded contiguously from ADDRESS on; 0 when none. */
uint64_t sxt_elf_available_at(const struct sxt_elf *elf, uint64_t address);

/* A cursor over bytes, in the file's byte order. */
struct sxt_cursor sxt_elf_cursor(const struct sxt_elf *elf, const struct sxt_elf_bytes *bytes);

/* "x86_64", "aarch64", ...; NULL for a machine that has no name here. */
const char *sxt_elf_arch(const struct sxt_elf *elf);

/* The GNU build ID (from the note sections or segments); returns its size, 0 when there is none. */
size_t sxt_elf_build_id(const struct sxt_elf *elf, uint8_t *out, size_t capacity);

/* --- symbols.c: symbol tables, PLT entries and mapping symbols, read one by one or into the model --- */

/* One entry of a symbol table, in the file's own terms. */
struct sxt_elf_symbol {
    uint32_t name; /* offset in the string table */
    uint8_t info;
    uint8_t other;
    uint16_t section;
    uint64_t value;
    uint64_t size;
};

/* A symbol table with its strings, ready to be read by index. */
struct sxt_elf_symbol_table {
    const struct sxt_elf *elf;
    const struct sxt_elf_section *section;
    struct sxt_elf_bytes entries;
    struct sxt_elf_bytes strings;
    struct sxt_elf_bytes indices; /* section numbers above 0xfeff; empty when there are none */
    size_t count;
    uint64_t budget; /* bytes of names that are still looked at */
    bool exhausted;  /* a name was not read because there was no more of it */
};

/* Opens the table in SECTION (SHT_SYMTAB or SHT_DYNSYM). */
int sxt_elf_symbol_table_open(struct sxt_elf *elf, const struct sxt_elf_section *section,
                              struct sxt_elf_symbol_table *table, sxt_error *error);

/* Entry INDEX, which must be below count. */
struct sxt_elf_symbol sxt_elf_symbol_at(const struct sxt_elf_symbol_table *table, size_t index);

/*
 * Its name; absent when the offset lies outside the strings, they do not end there, or it is over 1 MiB. Names may
 * share their tails, but a table where they overlap so much that reading them is a waste is exhausted after a while.
 */
sxt_string sxt_elf_symbol_name(struct sxt_elf_symbol_table *table, const struct sxt_elf_symbol *symbol);

/* How many bytes of names a table of strings of SIZE bytes is good for. */
uint64_t sxt_elf_names_budget(size_t size);

/* The error of an exhausted table. */
int sxt_elf_fail_exhausted(const struct sxt_elf_symbol_table *table, sxt_error *error);

/* Adds all defined symbols of a table. SOURCE is SXT_SOURCE_SYMTAB or SXT_SOURCE_DYNSYM. */
int sxt_elf_add_symbols(struct sxt_elf *elf, const struct sxt_elf_section *section, uint8_t source,
                        struct sxt_symbols *symbols, sxt_error *error);

/* Adds a function "name@plt" for every PLT entry whose target can be told (x86, ARM and RISC-V). */
int sxt_elf_add_plt(struct sxt_elf *elf, struct sxt_symbols *symbols, sxt_error *error);

/*
 * Where code ends and data begins, by the mapping symbols of ARM, AArch64 and RISC-V ($x, $d); ascending. Files of
 * other machines have none.
 */
struct sxt_elf_mark {
    uint64_t address;
    bool is_data;
};

struct sxt_elf_marks {
    struct sxt_elf_mark *list; /* to be freed */
    size_t count, capacity;
};

/* Fails only when memory is short: what cannot be read marks nothing. */
int sxt_elf_read_marks(struct sxt_elf *elf, struct sxt_elf_marks *marks, sxt_error *error);

/* --- relocate.c: the debug sections of object files and kernel modules --- */

/*
 * The bytes of SECTION, one of ELF's own, as sxt_elf_section_bytes gives them, with its relocations applied when the
 * file is relocatable (ET_REL). In any other file they are as they stand: a vmlinux is an executable that still carries
 * .rela.debug_info, applied already, and they must never be applied again. Relocated bytes are a copy in ELF's arena.
 *
 * A relocation of an unknown kind, out of bounds, or of a symbol that is not there is left alone; *SKIPPED (may be
 * NULL) says how many. An undefined symbol is 0. Fails, with nothing in *OUT, where the bytes, the relocations or their
 * symbol table cannot be read: without them, addresses would be wrong and look right.
 */
int sxt_elf_relocated_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                            uint64_t *skipped, sxt_error *error);

/* --- verify.c: what is wrong in an ELF file, as far as symbols are concerned --- */

/* Reports every problem in tables of sections and segments and in symbol tables. Returns how many there are. */
uint64_t sxt_elf_verify(const uint8_t *data, size_t size, uint64_t inflate_limit,
                        void (*problem)(void *context, const sxt_problem *problem), void *context);

/* Is ADDRESS in a loaded segment that is executable? */
bool sxt_elf_in_code_segment(const struct sxt_elf *elf, uint64_t address);

#endif
