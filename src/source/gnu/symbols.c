/* symbols.c: finds functions by address and symbols by name, with indexes that are made when first needed. */
#include "source/gnu/symbols.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/search.h"
#include "base/sort.h"

#define NO_SECTION UINT32_MAX

static bool make_index(struct sxt_gnu_symbols *symbols);

void sxt_gnu_symbols_open(struct sxt_gnu_symbols *symbols, struct sxt_elf *elf, bool dynamic)
{
    memset(symbols, 0, sizeof *symbols);
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (int i = 0; i < (dynamic ? 2 : 1) && !symbols->exists; i++) {
        const struct sxt_elf_section *section = sxt_elf_section_typed(elf, types[i]);
        symbols->exists = section != NULL && sxt_elf_symbol_table_open(elf, section, &symbols->table, NULL) == SXT_OK &&
                          symbols->table.count > 1 && symbols->table.count < UINT32_MAX;
    }
}

static void free_names(struct sxt_gnu_names *names)
{
    if (names->is_made)
        sxt_strings_free(&names->strings);
    free(names->symbols);
}

void sxt_gnu_symbols_close(struct sxt_gnu_symbols *symbols)
{
    free(symbols->functions);
    free(symbols->first);
    free(symbols->data);
    free(symbols->first_data);
    free_names(&symbols->linked);
    free_names(&symbols->demangled);
    memset(symbols, 0, sizeof *symbols);
}

/* Returns the index of the section that a symbol is in, or NO_SECTION. */
static uint32_t section_of(const struct sxt_elf_symbol_table *table, size_t index, const struct sxt_elf_symbol *symbol)
{
    uint32_t number = symbol->section;
    if (number == SHN_XINDEX && sxt_fits((uint64_t)index * 4, 1, 4, table->indices.size))
        number = sxt_load_u32(table->indices.data + index * 4, table->elf->big_endian);
    else if (number >= SHN_LORESERVE)
        return NO_SECTION;
    return number != SHN_UNDEF && number < table->elf->section_count ? number : NO_SECTION;
}

static void reset_budget(struct sxt_elf_symbol_table *table)
{
    table->budget = sxt_elf_names_budget(table->strings.size);
    table->exhausted = false;
}

static sxt_string next_name(struct sxt_gnu_symbols *symbols, size_t index)
{
    struct sxt_elf_symbol_table *table = &symbols->table;
    struct sxt_elf_symbol symbol = sxt_elf_symbol_at(table, index);
    sxt_string name = sxt_elf_symbol_name(table, &symbol);
    uint32_t section = section_of(table, index, &symbol);
    if ((symbol.info & 15) == STT_SECTION && name.size == 0 && section != NO_SECTION)
        name = table->elf->sections[section].name;
    return name;
}

/* Reads a single name with a new budget: the same name may be read any number of times. */
static sxt_string name_of(struct sxt_gnu_symbols *symbols, size_t index)
{
    reset_budget(&symbols->table);
    return next_name(symbols, index);
}

/* "$x" and others, which ARM and RISC-V assemblers put where code or data begins. */
static bool is_mapping_symbol(const struct sxt_elf_symbol_table *table, const struct sxt_elf_symbol *symbol)
{
    uint16_t machine = table->elf->machine;
    if ((machine != EM_ARM && machine != EM_AARCH64 && machine != EM_RISCV) || symbol->info >> 4 != STB_LOCAL ||
        symbol->name >= table->strings.size || table->strings.size - symbol->name < 3)
        return false;
    const char *name = (const char *)table->strings.data + symbol->name;
    return name[0] == '$' && strchr("adtx", name[1]) != NULL && (name[2] == 0 || name[2] == '.' || machine == EM_RISCV);
}

static bool may_be_function(const struct sxt_elf_symbol_table *table, const struct sxt_elf_symbol *symbol)
{
    switch (symbol->info & 15) {
    case STT_NOTYPE:
    case STT_FUNC:
    case STT_GNU_IFUNC:
        return !is_mapping_symbol(table, symbol);
    default:
        return false;
    }
}

/* Symbols with their sections, before sorting. */
struct collection {
    struct sxt_gnu_function *list;
    uint32_t *sections; /* of each */
    size_t count;
};

static void collect(struct collection *collection, uint32_t section, uint64_t offset, uint64_t size, size_t symbol,
                    uint32_t file)
{
    collection->sections[collection->count] = section;
    collection->list[collection->count++] = (struct sxt_gnu_function){
        .offset = offset, .size = size > 0 ? size : 1, .symbol = (uint32_t)symbol, .file = file};
}

/*
 * Reads the table once. A file symbol applies to the local symbols after it; to others only if no symbol precedes it.
 */
static void collect_symbols(struct sxt_gnu_symbols *symbols, struct collection *functions, struct collection *data)
{
    const struct sxt_elf_symbol_table *table = &symbols->table;
    const struct sxt_elf *elf = table->elf;
    uint32_t file = 0;
    bool symbol_seen = false, file_after_symbol = false;
    for (size_t i = 1; i < table->count; i++) {
        struct sxt_elf_symbol symbol = sxt_elf_symbol_at(table, i);
        uint8_t type = symbol.info & 15;
        if (type == STT_FILE) {
            file = (uint32_t)i;
            file_after_symbol = file_after_symbol || symbol_seen;
            continue;
        }
        symbol_seen = true;
        uint32_t section = section_of(table, i, &symbol);
        if (section == NO_SECTION)
            continue;
        uint64_t offset = elf->type == ET_REL ? symbol.value : symbol.value - elf->sections[section].address;
        if (elf->machine == EM_ARM && type == STT_FUNC)
            offset &= ~(uint64_t)1;
        bool is_local = symbol.info >> 4 == STB_LOCAL;
        if (may_be_function(table, &symbol))
            collect(functions, section, offset, symbol.size, i, is_local || !file_after_symbol ? file : 0);
        if ((elf->sections[section].flags & SHF_EXECINSTR) == 0 && type != STT_SECTION)
            collect(data, section, offset, symbol.size, i, 0);
    }
}

/* Sorts the list by section and offset, and finds where each section begins in it. */
static bool sort_by_section(struct collection *collection, size_t section_count, struct sxt_gnu_function **list,
                            size_t **first)
{
    size_t count = collection->count;
    struct sxt_sort_item *items = malloc((count + 1) * sizeof *items);
    struct sxt_sort_item *scratch = malloc((count + 1) * sizeof *scratch);
    *list = malloc((count + 1) * sizeof **list);
    *first = calloc(section_count + 2, sizeof **first);
    bool done = items != NULL && scratch != NULL && *list != NULL && *first != NULL;
    if (done) {
        for (size_t i = 0; i < count; i++) {
            items[i] = (struct sxt_sort_item){collection->list[i].offset, (uint32_t)i};
            (*first)[collection->sections[i] + 2]++;
        }
        sxt_sort(items, scratch, count);
        for (size_t i = 2; i < section_count + 2; i++)
            (*first)[i] += (*first)[i - 1];
        for (size_t i = 0; i < count; i++)
            (*list)[(*first)[collection->sections[items[i].index] + 1]++] = collection->list[items[i].index];
    }
    free(items);
    free(scratch);
    return done;
}

static bool make_index(struct sxt_gnu_symbols *symbols)
{
    if (symbols->is_indexed || !symbols->exists)
        return symbols->exists;
    size_t count = symbols->table.count;
    struct collection lists[2];
    bool done = true;
    for (int i = 0; i < 2; i++) {
        lists[i] = (struct collection){malloc(count * sizeof *lists[i].list), malloc(count * sizeof(uint32_t)), 0};
        done = done && lists[i].list != NULL && lists[i].sections != NULL;
    }
    if (done) {
        size_t section_count = symbols->table.elf->section_count;
        collect_symbols(symbols, &lists[0], &lists[1]);
        done = sort_by_section(&lists[0], section_count, &symbols->functions, &symbols->first) &&
               sort_by_section(&lists[1], section_count, &symbols->data, &symbols->first_data);
    }
    for (int i = 0; i < 2; i++) {
        free(lists[i].list);
        free(lists[i].sections);
    }
    symbols->exists = done;
    symbols->is_indexed = true;
    return done;
}

/* Returns the index of the first of COUNT symbols that begins after OFFSET. */
static size_t first_after(const struct sxt_gnu_function *list, size_t count, uint64_t offset)
{
    return SXT_SEARCH_ABOVE(list, count, offset, offset);
}

static const struct sxt_gnu_function *search(struct sxt_gnu_symbols *symbols, uint32_t section, uint64_t offset)
{
    const struct sxt_gnu_function *last = symbols->last;
    if (last != NULL && symbols->last_section == section && offset >= last->offset &&
        offset - last->offset < last->size)
        return last;
    symbols->last = NULL;
    const struct sxt_gnu_function *list = symbols->functions + symbols->first[section];
    size_t count = symbols->first[section + 1] - symbols->first[section];
    size_t next = first_after(list, count, offset);
    if (next == 0)
        return NULL;
    size_t at = next - 1;
    while (at > 0 && list[at - 1].offset == list[next - 1].offset)
        at--;
    /* Of the symbols that begin there, the largest wins; of equal ones, the first. */
    const struct sxt_gnu_function *best = &list[at];
    for (at++; at < next; at++)
        if (list[at].size > best->size)
            best = &list[at];
    symbols->last = best;
    symbols->last_section = section;
    return best;
}

bool sxt_gnu_symbols_function(struct sxt_gnu_symbols *symbols, uint32_t section, uint64_t offset,
                              struct sxt_gnu_found *found)
{
    if (!make_index(symbols))
        return false;
    const struct sxt_gnu_function *function = search(symbols, section, offset);
    if (function == NULL)
        return false;
    *found = (struct sxt_gnu_found){.name = name_of(symbols, function->symbol), .offset = function->offset};
    if (function->file != 0)
        found->file = name_of(symbols, function->file);
    return true;
}

bool sxt_gnu_symbols_at(struct sxt_gnu_symbols *symbols, uint32_t section, uint64_t offset, sxt_string *name)
{
    if (!make_index(symbols))
        return false;
    const struct sxt_gnu_function *list = symbols->data + symbols->first_data[section];
    size_t count = symbols->first_data[section + 1] - symbols->first_data[section];
    size_t end = first_after(list, count, offset), at = end;
    while (at > 0 && list[at - 1].offset == offset)
        at--;
    if (at == end)
        return false;
    uint32_t chosen = list[end - 1].symbol;
    for (; at < end; at++)
        if (sxt_elf_symbol_at(&symbols->table, list[at].symbol).info >> 4 == STB_GLOBAL) {
            chosen = list[at].symbol;
            break;
        }
    *name = name_of(symbols, chosen);
    return true;
}

/* Makes the index of names. Returns false if out of memory. */
static bool make_names(struct sxt_gnu_symbols *symbols, struct sxt_gnu_names *names, bool demangled,
                       enum sxt_gnu_style style, bool no_limit)
{
    if (sxt_strings_init(&names->strings, 0, NULL) != SXT_OK)
        return false;
    names->is_made = true;
    struct sxt_buffer text;
    sxt_buffer_init(&text, (size_t)1 << 21);
    bool done = true;
    reset_budget(&symbols->table);
    for (size_t i = 1; i < symbols->table.count && done; i++) {
        sxt_string name = next_name(symbols, i);
        sxt_buffer_clear(&text);
        if (demangled && !sxt_gnu_demangle(name, style, no_limit, &text))
            continue;
        if (demangled)
            name = (sxt_string){(const char *)text.data, text.size};
        uint32_t number = name.data != NULL ? sxt_strings_add(&names->strings, name.data, name.size) : SXT_STRINGS_FULL;
        if (number == SXT_STRINGS_FULL || (number < names->count && names->symbols[number] != 0))
            continue;
        uint32_t *list = sxt_array_grow(names->symbols, &names->capacity, names->strings.count, sizeof *list);
        done = list != NULL;
        if (done) {
            names->symbols = list;
            for (; names->count < names->strings.count; names->count++)
                list[names->count] = 0;
            list[number] = (uint32_t)i;
        }
    }
    sxt_buffer_free(&text);
    return done;
}

static bool find_name(struct sxt_gnu_symbols *symbols, struct sxt_gnu_names *names, bool demangled, sxt_string name,
                      enum sxt_gnu_style style, bool no_limit, uint32_t *symbol)
{
    if (!names->is_made && !make_names(symbols, names, demangled, style, no_limit))
        return false;
    uint32_t number = sxt_strings_find(&names->strings, name.data, name.size);
    if (number >= names->count || names->symbols[number] == 0)
        return false;
    *symbol = names->symbols[number];
    return true;
}

bool sxt_gnu_symbols_named(struct sxt_gnu_symbols *symbols, sxt_string name, enum sxt_gnu_style style, bool no_limit,
                           uint64_t *address)
{
    uint32_t index;
    if (!symbols->exists || (!find_name(symbols, &symbols->linked, false, name, style, no_limit, &index) &&
                             !find_name(symbols, &symbols->demangled, true, name, style, no_limit, &index)))
        return false;
    struct sxt_elf_symbol symbol = sxt_elf_symbol_at(&symbols->table, index);
    /* A common symbol has no address yet; GNU addr2line uses its size instead. */
    *address = symbol.section == SHN_COMMON ? symbol.size : symbol.value;
    if (symbols->table.elf->machine == EM_ARM && (symbol.info & 15) == STT_FUNC)
        *address &= ~(uint64_t)1;
    return true;
}
