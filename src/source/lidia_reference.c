/*
 * lidia_reference.c: selects symbols as the reference Lidia writer does.
 *
 * Its rules are simple and sometimes wrong, so they are kept separate from our own in elf/symbols.c: .dynsym is used
 * only if .symtab is missing or damaged; the section of a symbol is ignored; sizes are truncated to 32 bits; values are
 * not adjusted.
 */
#include "source/lidia_reference.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "source/elf/elf.h"
#include "source/go/go.h"

/* The result of opening a symbol table. */
enum outcome { TABLE_READ, TABLE_ABSENT, TABLE_BAD };

static int check_file(struct sxt_elf *elf, sxt_error *error);
static enum outcome open_table(struct sxt_elf *elf, uint32_t type, struct sxt_elf_symbol_table *table,
                               sxt_error *error);
static bool versions_are_good(struct sxt_elf *elf, sxt_error *error);
static int add_functions(struct sxt_elf_symbol_table *table, uint8_t source, struct sxt_symbols *symbols,
                         sxt_error *error);

int sxt_lidia_reference_read(struct sxt_elf *elf, uint32_t sources, struct sxt_symbols *symbols, sxt_error *error)
{
    struct sxt_elf_symbol_table table;
    sxt_error first = {0}, second = {0};
    enum outcome symtab = TABLE_ABSENT, dynsym = TABLE_ABSENT;
    int status = check_file(elf, error);
    if (status != SXT_OK)
        return status;
    if (sources & SXT_SOURCE_SYMTAB)
        symtab = open_table(elf, SHT_SYMTAB, &table, &first);
    if (symtab == TABLE_READ) {
        status = add_functions(&table, SXT_SOURCE_SYMTAB, symbols, error);
    } else {
        if (sources & SXT_SOURCE_DYNSYM) {
            dynsym = open_table(elf, SHT_DYNSYM, &table, &second);
            if (dynsym == TABLE_READ && !versions_are_good(elf, &second))
                dynsym = TABLE_BAD;
        }
        if (dynsym == TABLE_READ)
            status = add_functions(&table, SXT_SOURCE_DYNSYM, symbols, error);
        else if (symtab == TABLE_BAD || dynsym == TABLE_BAD)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                            "failed to read symbols from ELF file: %.90s, %.90s",
                            symtab == TABLE_BAD ? first.text : "no symbol section",
                            dynsym == TABLE_BAD ? second.text : "no symbol section");
    }
    if (status != SXT_OK || (sources & SXT_SOURCE_GO) == 0)
        return status;
    return sxt_go_read_reference(elf, symbols, error);
}

/* The reference rejects a file whose sections have invalid names, though it needs only two of them. */
static int check_file(struct sxt_elf *elf, sxt_error *error)
{
    const char *problem = NULL;
    struct sxt_elf_bytes names = {0};
    sxt_error cause = {0};
    if (elf->version != EV_CURRENT)
        problem = "mismatched ELF version";
    else if (elf->section_count == 0 || elf->names == 0)
        return SXT_OK;
    else if (elf->names >= elf->section_count)
        problem = "invalid ELF shstrndx";
    else if (elf->sections[elf->names].type != SHT_STRTAB)
        problem = "invalid ELF section name string table type";
    else if (sxt_elf_section_bytes(elf, &elf->sections[elf->names], &names, &cause) != SXT_OK)
        problem = cause.text;
    /* A name is valid if there is a NUL at or after its offset. */
    size_t end = names.size;
    while (end > 0 && names.data[end - 1] != 0)
        end--;
    for (size_t i = 0; i < elf->section_count && problem == NULL; i++)
        if (elf->sections[i].name_offset >= end)
            problem = "bad section name index";
    if (problem == NULL)
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "failed to parse ELF file: %.150s", problem);
}

static enum outcome open_table(struct sxt_elf *elf, uint32_t type, struct sxt_elf_symbol_table *table, sxt_error *error)
{
    const struct sxt_elf_section *section = sxt_elf_section_typed(elf, type);
    if (section == NULL)
        return TABLE_ABSENT;
    size_t entry = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    *table = (struct sxt_elf_symbol_table){.elf = elf, .section = section};
    sxt_error cause = {0};
    if (section->type == SHT_NOBITS || sxt_elf_section_bytes(elf, section, &table->entries, &cause) != SXT_OK) {
        sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "cannot load symbol section: %.60s", cause.text);
        return TABLE_BAD;
    }
    if (table->entries.size == 0)
        return TABLE_ABSENT;
    if (table->entries.size % entry != 0) {
        sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "length of symbol section is not a multiple of %s",
                 elf->is_64 ? "Sym64Size" : "SymSize");
        return TABLE_BAD;
    }
    if (section->link == 0 || section->link >= elf->section_count) {
        sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                 "cannot load string table section: section has invalid string table link");
        return TABLE_BAD;
    }
    if (sxt_elf_section_bytes(elf, &elf->sections[section->link], &table->strings, &cause) != SXT_OK) {
        sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "cannot load string table section: %.60s", cause.text);
        return TABLE_BAD;
    }
    table->count = table->entries.size / entry;
    table->budget = sxt_elf_names_budget(table->strings.size);
    return TABLE_READ;
}

/* The reference reads the version tables together with .dynsym, and fails if a record is not of version 1. */
static bool version_records_are_good(struct sxt_elf *elf, uint32_t type, size_t record_size, const char *what,
                                     sxt_error *error)
{
    const struct sxt_elf_section *section = sxt_elf_section_typed(elf, type);
    struct sxt_elf_bytes bytes;
    if (section == NULL || sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
        return true;
    uint64_t at = 0;
    while (at + record_size <= bytes.size) {
        uint16_t version = sxt_load_u16(bytes.data + at, elf->big_endian);
        if (version != 1) {
            sxt_fail(error, SXT_ERROR_FORMAT, section->offset + at, "%s %u", what, version);
            return false;
        }
        if (type == SHT_GNU_verdef && sxt_load_u16(bytes.data + at + 6, elf->big_endian) == 0) {
            sxt_fail(error, SXT_ERROR_FORMAT, section->offset + at, "dynamic version has no name");
            return false;
        }
        uint32_t next = sxt_load_u32(bytes.data + at + record_size - 4, elf->big_endian);
        if (next == 0)
            break;
        at += next;
    }
    return true;
}

static bool versions_are_good(struct sxt_elf *elf, sxt_error *error)
{
    if (sxt_elf_section_typed(elf, SHT_GNU_versym) == NULL)
        return true;
    return version_records_are_good(elf, SHT_GNU_verdef, 20, "unexpected dynamic version", error) &&
           version_records_are_good(elf, SHT_GNU_verneed, 16, "unexpected dynamic need version", error);
}

static int add_functions(struct sxt_elf_symbol_table *table, uint8_t source, struct sxt_symbols *symbols,
                         sxt_error *error)
{
    for (size_t i = 1; i < table->count; i++) {
        struct sxt_elf_symbol symbol = sxt_elf_symbol_at(table, i);
        if ((symbol.info & 15) != STT_FUNC)
            continue;
        sxt_string name = sxt_elf_symbol_name(table, &symbol);
        if (table->exhausted)
            return sxt_elf_fail_exhausted(table, error);
        if (name.size == 0)
            continue;
        sxt_symbols_add_range(symbols, &(struct sxt_model_range){
                                           .address = symbol.value,
                                           .length = (uint32_t)symbol.size,
                                           .function = sxt_symbols_string(symbols, name.data, name.size),
                                           .source = source,
                                       });
    }
    return SXT_OK;
}
