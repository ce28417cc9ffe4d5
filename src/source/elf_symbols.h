/* elf_symbols.h: symbol tables of an ELF file into the model. */
#ifndef SXT_SOURCE_ELF_SYMBOLS_H
#define SXT_SOURCE_ELF_SYMBOLS_H

#include "source/elf.h"
#include "symbols/symbols.h"

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

#endif
