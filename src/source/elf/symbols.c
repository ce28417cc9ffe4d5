/*
 * symbols.c: reads .symtab and .dynsym into the model.
 *
 * Keeps all named symbols that are defined in the file: functions, data, thread-local data, and symbols without a type.
 * Drops section and file symbols, and the mapping symbols ("$x") that ARM and RISC-V assemblers put in code.
 */
#include "source/elf/elf.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define NAME_MAX_SIZE ((size_t)1 << 20)
#define BATCH         16 /* symbols that are added together */
#define CACHE_LINE    64

static bool convert(const struct sxt_elf_symbol_table *table, size_t index, struct sxt_model_symbol *out);
static uint64_t function_entry(const struct sxt_elf *elf, const struct sxt_elf_section *section, uint64_t address);
static bool is_mapping_symbol(const struct sxt_elf *elf, uint8_t type, sxt_string name);

int sxt_elf_symbol_table_open(struct sxt_elf *elf, const struct sxt_elf_section *section,
                              struct sxt_elf_symbol_table *table, sxt_error *error)
{
    *table = (struct sxt_elf_symbol_table){.elf = elf, .section = section};
    size_t entry = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (section->entry_size != entry && section->entry_size != 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, section->offset, "symbol table: entries of %llu bytes, not %zu",
                        (unsigned long long)section->entry_size, entry);
    int status = sxt_elf_section_bytes(elf, section, &table->entries, error);
    if (status != SXT_OK)
        return status;
    if (section->link == 0 || section->link >= elf->section_count)
        return sxt_fail(error, SXT_ERROR_FORMAT, section->offset, "symbol table: string table is section %u of %zu",
                        section->link, elf->section_count);
    status = sxt_elf_section_bytes(elf, &elf->sections[section->link], &table->strings, error);
    if (status != SXT_OK)
        return status;
    table->count = table->entries.size / entry;
    table->budget = sxt_elf_names_budget(table->strings.size);
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].type == SHT_SYMTAB_SHNDX && elf->sections[i].link < elf->section_count &&
            &elf->sections[elf->sections[i].link] == section &&
            sxt_elf_section_bytes(elf, &elf->sections[i], &table->indices, NULL) != SXT_OK)
            table->indices = (struct sxt_elf_bytes){0};
    return SXT_OK;
}

struct sxt_elf_symbol sxt_elf_symbol_at(const struct sxt_elf_symbol_table *table, size_t index)
{
    bool big = table->elf->big_endian;
    if (table->elf->is_64) {
        const uint8_t *at = table->entries.data + index * sizeof(Elf64_Sym);
        return (struct sxt_elf_symbol){
            .name = sxt_load_u32(at, big),
            .info = at[4],
            .other = at[5],
            .section = sxt_load_u16(at + 6, big),
            .value = sxt_load_u64(at + 8, big),
            .size = sxt_load_u64(at + 16, big),
        };
    }
    const uint8_t *at = table->entries.data + index * sizeof(Elf32_Sym);
    return (struct sxt_elf_symbol){
        .name = sxt_load_u32(at, big),
        .info = at[12],
        .other = at[13],
        .section = sxt_load_u16(at + 14, big),
        .value = sxt_load_u32(at + 4, big),
        .size = sxt_load_u32(at + 8, big),
    };
}

sxt_string sxt_elf_symbol_name(struct sxt_elf_symbol_table *table, const struct sxt_elf_symbol *symbol)
{
    if (symbol->name >= table->strings.size)
        return (sxt_string){NULL, 0};
    const char *start = (const char *)table->strings.data + symbol->name;
    size_t most = table->strings.size - symbol->name;
    if (most > NAME_MAX_SIZE)
        most = NAME_MAX_SIZE;
    size_t size = strnlen(start, most < table->budget ? most : table->budget);
    /* Searching for a missing terminator takes as long as reading a name. */
    table->exhausted = table->exhausted || (size == table->budget && size < most);
    table->budget -= size;
    if (table->exhausted || size == most)
        return (sxt_string){NULL, 0};
    return (sxt_string){start, size};
}

uint64_t sxt_elf_names_budget(size_t size)
{
    return (uint64_t)size * 16 + ((uint64_t)1 << 20);
}

int sxt_elf_fail_exhausted(const struct sxt_elf_symbol_table *table, sxt_error *error)
{
    return sxt_fail(error, SXT_ERROR_LIMIT, table->strings.offset, "symbol names overlap too much");
}

/* Symbols that are added together, and the section of the last one. */
struct batch {
    struct sxt_model_symbol symbols[BATCH];
    sxt_string names[BATCH];
    size_t count;
    uint32_t section_index, section_name;
};

static void add_batch(const struct sxt_elf *elf, struct batch *batch, struct sxt_symbols *symbols)
{
    uint32_t hashes[BATCH];
    sxt_strings_expect(&symbols->strings, batch->names, batch->count, hashes);
    for (size_t i = 0; i < batch->count; i++) {
        struct sxt_model_symbol *symbol = &batch->symbols[i];
        symbol->name = sxt_symbols_string_hashed(symbols, batch->names[i], hashes[i]);
        /* convert stored the section's index here; adjacent symbols usually have the same one. */
        if (symbol->section != batch->section_index) {
            batch->section_index = symbol->section;
            batch->section_name = symbol->section < elf->section_count
                                      ? sxt_symbols_string(symbols, elf->sections[symbol->section].name.data,
                                                           elf->sections[symbol->section].name.size)
                                      : 0;
        }
        symbol->section = batch->section_name;
        sxt_symbols_add_symbol(symbols, symbol);
    }
    batch->count = 0;
}

/* Names are not in the order of symbols, so each one would be waited for. */
static void prefetch_name(const struct sxt_elf_symbol_table *table, size_t index)
{
    if (index >= table->count)
        return;
    uint32_t name = sxt_elf_symbol_at(table, index).name;
    if (name < table->strings.size)
        __builtin_prefetch(table->strings.data + name);
    if (table->strings.size > CACHE_LINE && name < table->strings.size - CACHE_LINE)
        __builtin_prefetch(table->strings.data + name + CACHE_LINE);
}

int sxt_elf_add_symbols(struct sxt_elf *elf, const struct sxt_elf_section *section, uint8_t source,
                        struct sxt_symbols *symbols, sxt_error *error)
{
    struct sxt_elf_symbol_table table;
    int status = sxt_elf_symbol_table_open(elf, section, &table, error);
    if (status != SXT_OK)
        return status;
    sxt_symbols_reserve(symbols, table.count);
    struct batch batch;
    batch.count = batch.section_name = 0;
    batch.section_index = UINT32_MAX;
    for (size_t i = 1; i < table.count; i++) {
        struct sxt_model_symbol symbol = {.source = source};
        prefetch_name(&table, i + BATCH);
        if (!convert(&table, i, &symbol))
            continue;
        struct sxt_elf_symbol raw = sxt_elf_symbol_at(&table, i);
        sxt_string name = sxt_elf_symbol_name(&table, &raw);
        if (table.exhausted)
            return sxt_elf_fail_exhausted(&table, error);
        if (name.size == 0 || is_mapping_symbol(elf, raw.info & 15, name))
            continue;
        batch.symbols[batch.count] = symbol;
        batch.names[batch.count++] = name;
        if (batch.count == BATCH)
            add_batch(elf, &batch, symbols);
    }
    add_batch(elf, &batch, symbols);
    return SXT_OK;
}

static char type_letter(uint8_t type)
{
    switch (type) {
    case STT_FUNC:
        return 'F';
    case STT_GNU_IFUNC:
        return 'I';
    case STT_OBJECT:
    case STT_COMMON:
        return 'O';
    case STT_TLS:
        return 'T';
    case STT_NOTYPE:
        return 'N';
    default:
        return 0;
    }
}

static char binding_letter(uint8_t binding)
{
    return binding == STB_GLOBAL ? 'G' : binding == STB_WEAK ? 'W' : binding == STB_GNU_UNIQUE ? 'U' : 'L';
}

/* The letter that nm prints for a symbol. SECTION is NULL if the symbol is in no section. */
static char nm_letter(const struct sxt_model_symbol *symbol, const struct sxt_elf_section *section)
{
    char letter = 'a';
    if (symbol->type == 'I')
        return 'i';
    if (symbol->binding == 'W')
        return symbol->type == 'O' ? 'V' : 'W';
    if (symbol->binding == 'U')
        return 'u';
    if (section != NULL && section->flags & SHF_EXECINSTR)
        letter = 't';
    else if (section != NULL && section->type == SHT_NOBITS)
        letter = 'b';
    else if (section != NULL)
        letter = section->flags & SHF_WRITE ? 'd' : 'r';
    return symbol->binding == 'G' ? (char)(letter - 'a' + 'A') : letter;
}

/* Fills in everything except the name, with the section as its index. Returns false for a symbol that is not kept. */
static bool convert(const struct sxt_elf_symbol_table *table, size_t index, struct sxt_model_symbol *out)
{
    const struct sxt_elf *elf = table->elf;
    struct sxt_elf_symbol symbol = sxt_elf_symbol_at(table, index);
    out->type = type_letter(symbol.info & 15);
    out->binding = binding_letter(symbol.info >> 4);
    out->address = symbol.value;
    out->size = symbol.size;
    out->section = UINT32_MAX;
    if (out->type == 0 || symbol.section == SHN_UNDEF)
        return false;

    uint32_t number = symbol.section;
    if (number == SHN_XINDEX && sxt_fits((uint64_t)index * 4, 1, 4, table->indices.size))
        number = sxt_load_u32(table->indices.data + index * 4, elf->big_endian);
    else if (number >= SHN_LORESERVE)
        number = UINT32_MAX;
    if (number == SHN_UNDEF)
        return false;
    const struct sxt_elf_section *section = number < elf->section_count ? &elf->sections[number] : NULL;
    out->letter = nm_letter(out, section);
    if (section != NULL) {
        out->section = number;
        if ((section->flags & SHF_ALLOC) == 0)
            return false; /* its value is an offset in a section that is not loaded */
        if (elf->type == ET_REL)
            out->address += section->address;
        if (out->type == 'F' || out->type == 'I')
            out->address = function_entry(elf, section, out->address);
        if (!sxt_add_u64(section->address, section->size, &out->section_end))
            out->section_end = 0;
    } else if (symbol.section == SHN_COMMON) {
        return false; /* its value is an alignment, not an address */
    }
    if (elf->machine == EM_ARM && (out->type == 'F' || out->type == 'I'))
        out->address &= ~(uint64_t)1; /* the lowest bit marks Thumb code */
    return true;
}

/*
 * In version 1 of the PowerPC 64 ABI, a function symbol points to a descriptor in .opd, which begins with the address
 * of the code. In a relocatable file the linker has yet to fill it in.
 */
static uint64_t function_entry(const struct sxt_elf *elf, const struct sxt_elf_section *section, uint64_t address)
{
    if (elf->machine != EM_PPC64 || elf->type == ET_REL || (elf->flags & 3) == 2 || section->name.size != 4 ||
        memcmp(section->name.data, ".opd", 4) != 0)
        return address;
    if (section->type == SHT_NOBITS || (section->flags & SHF_COMPRESSED) ||
        !sxt_fits(section->offset, section->size, 1, elf->size) ||
        !sxt_fits(address - section->address, 1, 8, section->size))
        return address;
    return sxt_load_u64(elf->data + section->offset + (address - section->address), elf->big_endian);
}

static bool is_mapping_symbol(const struct sxt_elf *elf, uint8_t type, sxt_string name)
{
    if (elf->machine != EM_ARM && elf->machine != EM_AARCH64 && elf->machine != EM_RISCV)
        return false;
    return type == STT_NOTYPE && name.size >= 2 && name.data[0] == '$' && strchr("adtx", name.data[1]) != NULL &&
           (name.size == 2 || name.data[2] == '.' || name.data[1] == 'x');
}
