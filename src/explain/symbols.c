/* symbols.c: which symbol gave a name, other names of its address, and the symbols near an address. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/inflate.h"
#include "base/string.h"
#include "demangle/demangle.h"
#include "explain/private.h"

#define ALIASES_MAX 8
/* As in extract.c. */
#define MINI_DEBUG_INFO_TIMES 64
#define MINI_DEBUG_INFO_MORE  ((uint64_t)64 << 20)

static bool open_mini_debug_info(struct sxt_explainer *explainer);

/* Leaves out a table that cannot be read: opening the archive has warned of it. */
static void open_table(struct sxt_explainer *explainer, struct sxt_elf *elf, uint32_t type, uint32_t source,
                       const char *path, const char *section_name)
{
    const struct sxt_elf_section *section = sxt_elf_section_typed(elf, type);
    struct sxt_explain_table *table = &explainer->tables[explainer->table_count];
    *table = (struct sxt_explain_table){.source = source, .path = path, .section = section_name};
    if (section == NULL || sxt_elf_symbol_table_open(elf, section, &table->table, NULL) != SXT_OK ||
        sxt_symbols_new(&table->symbols, NULL) != SXT_OK)
        return;
    (void)sxt_elf_add_symbols(elf, section, (uint8_t)source, table->symbols, NULL);
    explainer->table_count++;
}

static void open_plt(struct sxt_explainer *explainer)
{
    struct sxt_explain_table *table = &explainer->tables[explainer->table_count];
    *table = (struct sxt_explain_table){.source = SXT_SOURCE_DYNSYM, .path = explainer->path, .section = ".plt"};
    if (sxt_symbols_new(&table->symbols, NULL) != SXT_OK)
        return;
    (void)sxt_elf_add_plt(&explainer->elf, table->symbols, NULL);
    table->is_plt = true;
    explainer->table_count++;
}

void sxt_explain_open_tables(struct sxt_explainer *explainer)
{
    struct sxt_elf *elf = &explainer->elf;
    open_table(explainer, elf, SHT_SYMTAB, SXT_SOURCE_SYMTAB, explainer->path, ".symtab");
    if (explainer->origins.debug.found)
        open_table(explainer, &explainer->origins.debug.elf, SHT_SYMTAB, SXT_SOURCE_SYMTAB,
                   explainer->origins.debug.path, ".symtab");
    if (open_mini_debug_info(explainer))
        open_table(explainer, &explainer->mini, SHT_SYMTAB, SXT_SOURCE_SYMTAB, explainer->path,
                   ".symtab in .gnu_debugdata");
    open_table(explainer, elf, SHT_DYNSYM, SXT_SOURCE_DYNSYM, explainer->path, ".dynsym");
    open_plt(explainer);
}

static bool open_mini_debug_info(struct sxt_explainer *explainer)
{
    struct sxt_elf *elf = &explainer->elf;
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".gnu_debugdata");
    struct sxt_elf_bytes bytes;
    size_t size;
    if (section == NULL || sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
        return false;
    uint64_t most = explainer->options.extract.inflate_limit;
    uint64_t limit = (uint64_t)bytes.size * MINI_DEBUG_INFO_TIMES + MINI_DEBUG_INFO_MORE;
    return sxt_inflate(SXT_COMPRESSION_XZ, bytes.data, bytes.size, limit < most ? limit : most, &explainer->mini_bytes,
                       &size, NULL) == SXT_OK &&
           sxt_elf_open(&explainer->mini, explainer->mini_bytes, size, most, NULL) == SXT_OK;
}

void sxt_explain_close_tables(struct sxt_explainer *explainer)
{
    for (size_t i = 0; i < explainer->table_count; i++)
        sxt_symbols_free(&explainer->tables[i].symbols);
    sxt_elf_close(&explainer->mini);
    free(explainer->mini_bytes);
}

static bool is_function(const struct sxt_model_symbol *symbol)
{
    return symbol->type == 'F' || symbol->type == 'I' || symbol->type == 'P';
}

static uint64_t end_of(const struct sxt_model_symbol *symbol)
{
    uint64_t end;
    return sxt_add_u64(symbol->address, symbol->size, &end) ? end : UINT64_MAX;
}

/* Whether the mangled NAME is TEXT in the answer. */
static bool is_called(const struct sxt_explainer *explainer, sxt_string name, sxt_string text)
{
    struct sxt_buffer readable;
    sxt_buffer_init(&readable, (size_t)2 << 20);
    if (!explainer->options.open.mangled && name.size > 1 && sxt_demangle(name, &readable))
        name = (sxt_string){(const char *)readable.data, readable.size};
    bool same = sxt_string_equal(name, text);
    sxt_buffer_free(&readable);
    return same;
}

/* The index of SYMBOL in its table: the entry with its name, its size, and its address before adjustment. */
static uint64_t index_of(struct sxt_explain_table *table, const struct sxt_model_symbol *symbol)
{
    struct sxt_elf_symbol_table *raw = &table->table;
    sxt_string name = sxt_symbols_view(table->symbols, symbol->name);
    uint64_t found = SXT_NO_INDEX;
    raw->budget = sxt_elf_names_budget(raw->strings.size);
    raw->exhausted = false;
    for (size_t i = 1; i < raw->count; i++) {
        struct sxt_elf_symbol entry = sxt_elf_symbol_at(raw, i);
        if (entry.size != symbol->size || entry.name >= raw->strings.size ||
            raw->strings.size - entry.name <= name.size ||
            memcmp(raw->strings.data + entry.name, name.data, name.size) != 0 ||
            raw->strings.data[entry.name + name.size] != 0)
            continue;
        uint64_t base = raw->elf->type == ET_REL && entry.section < raw->elf->section_count
                            ? raw->elf->sections[entry.section].address
                            : 0;
        if (entry.value + base == symbol->address || (entry.value & ~(uint64_t)1) + base == symbol->address)
            return i;
        if (found == SXT_NO_INDEX)
            found = i;
    }
    return found;
}

/* The symbol that gave the answer: of those with the name that have the address, the one that starts last. */
static const struct sxt_model_symbol *find_symbol(struct sxt_explainer *explainer, uint64_t address, sxt_string name,
                                                  struct sxt_explain_table **table)
{
    const struct sxt_model_symbol *best = NULL;
    for (size_t i = 0; i < explainer->table_count; i++) {
        struct sxt_explain_table *each = &explainer->tables[i];
        for (size_t k = 0; sxt_explain_wants(explainer, each->source) && k < each->symbols->symbol_count; k++) {
            const struct sxt_model_symbol *symbol = &each->symbols->symbols[k];
            if ((!is_function(symbol) && symbol->type != 'N') || symbol->address > address ||
                (symbol->size > 0 && end_of(symbol) <= address))
                continue;
            bool sized = symbol->size > 0, best_is_sized = best != NULL && best->size > 0;
            if (best != NULL && (sized != best_is_sized ? best_is_sized : symbol->address <= best->address))
                continue;
            if (!is_called(explainer, sxt_symbols_view(each->symbols, symbol->name), name))
                continue;
            best = symbol;
            *table = each;
        }
    }
    return best;
}

static void describe_plt(struct sxt_explainer *explainer, const struct sxt_explain_table *table,
                         const struct sxt_model_symbol *symbol, sxt_explained_frame *out)
{
    out->record = SXT_RECORD_PLT_ENTRY;
    out->section = sxt_symbols_view(table->symbols, symbol->section);
    for (size_t i = 0; i < explainer->elf.section_count; i++)
        if (symbol->address - explainer->elf.sections[i].address < explainer->elf.sections[i].size &&
            sxt_string_equal(explainer->elf.sections[i].name, out->section))
            out->entry = symbol->address - explainer->elf.sections[i].address;
    out->name_from = sxt_explain_print(explainer, "the symbol of .dynsym whose address its slot gets");
}

bool sxt_explain_symbol(struct sxt_explainer *explainer, uint64_t address, sxt_explained_frame *out)
{
    struct sxt_explain_table *table = NULL;
    sxt_string name = explainer->frames[explainer->count - 1].function;
    const struct sxt_model_symbol *symbol = find_symbol(explainer, address, name, &table);
    if (symbol == NULL)
        return false;
    *out = (sxt_explained_frame){
        .function = name,
        .record = SXT_RECORD_SYMBOL,
        .file = sxt_explain_string(table->path),
        .section = sxt_explain_string(table->section),
        .index = SXT_NO_INDEX,
        .start = symbol->address,
        .end = end_of(symbol),
    };
    if (table->is_plt) {
        describe_plt(explainer, table, symbol, out);
    } else {
        out->index = index_of(table, symbol);
        if (out->index != SXT_NO_INDEX)
            out->entry = out->index * (table->table.elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
    }
    sxt_explain_aliases(explainer, symbol->address, name, out);
    return true;
}

sxt_string sxt_explain_entry_symbol(struct sxt_explainer *explainer, uint64_t start, sxt_string name)
{
    struct sxt_explain_table *table = NULL;
    const struct sxt_model_symbol *symbol = find_symbol(explainer, start, name, &table);
    uint64_t index = symbol != NULL && !table->is_plt ? index_of(table, symbol) : SXT_NO_INDEX;
    if (symbol == NULL || symbol->address != start || index == SXT_NO_INDEX)
        return sxt_explain_print(explainer, "the symbol where the function begins");
    return sxt_explain_print(explainer, "the symbol where its code begins, %llu of %s of %s", (unsigned long long)index,
                             table->section, table->path);
}

void sxt_explain_aliases(struct sxt_explainer *explainer, uint64_t start, sxt_string name, sxt_explained_frame *out)
{
    sxt_string *aliases = sxt_arena_calloc(&explainer->arena, ALIASES_MAX, sizeof *aliases);
    size_t count = 0;
    for (size_t i = 0; i < explainer->table_count && aliases != NULL; i++) {
        const struct sxt_explain_table *table = &explainer->tables[i];
        if (!sxt_explain_wants(explainer, table->source))
            continue;
        for (size_t k = 0; k < table->symbols->symbol_count && count < ALIASES_MAX; k++) {
            const struct sxt_model_symbol *other = &table->symbols->symbols[k];
            sxt_string linked = sxt_symbols_view(table->symbols, other->name);
            if (other->address != start || !is_function(other) || is_called(explainer, linked, name))
                continue;
            bool known = false;
            for (size_t n = 0; n < count && !known; n++)
                known = is_called(explainer, linked, aliases[n]);
            if (!known)
                aliases[count++] = sxt_explain_readable(explainer, linked);
        }
    }
    out->aliases = aliases;
    out->alias_count = count;
}

const struct sxt_model_symbol *sxt_explain_symbol_at(const struct sxt_explainer *explainer, uint64_t address,
                                                     uint32_t sources, bool data,
                                                     const struct sxt_explain_table **table)
{
    const struct sxt_model_symbol *best = NULL;
    for (size_t i = 0; i < explainer->table_count; i++) {
        const struct sxt_explain_table *each = &explainer->tables[i];
        for (size_t k = 0; (each->source & sources) != 0 && k < each->symbols->symbol_count; k++) {
            const struct sxt_model_symbol *symbol = &each->symbols->symbols[k];
            if ((data ? symbol->type != 'O' : !is_function(symbol)) || symbol->address > address ||
                end_of(symbol) <= address || (best != NULL && symbol->address <= best->address))
                continue;
            best = symbol;
            *table = each;
        }
    }
    return best;
}

/* Keeps a symbol as the nearest one on its side. */
static void note_near(struct sxt_explain_near *near, const struct sxt_explain_table *table,
                      const struct sxt_model_symbol *symbol)
{
    *near = (struct sxt_explain_near){sxt_symbols_view(table->symbols, symbol->name), symbol->address, end_of(symbol)};
}

void sxt_explain_near_symbols(struct sxt_explainer *explainer, uint64_t address, struct sxt_explain_near *before,
                              struct sxt_explain_near *after, struct sxt_explain_near *unsized)
{
    *before = *after = *unsized = (struct sxt_explain_near){.start = 0};
    for (size_t i = 0; i < explainer->table_count; i++) {
        const struct sxt_explain_table *table = &explainer->tables[i];
        for (size_t k = 0; sxt_explain_wants(explainer, table->source) && k < table->symbols->symbol_count; k++) {
            const struct sxt_model_symbol *symbol = &table->symbols->symbols[k];
            if (!is_function(symbol))
                continue;
            if (symbol->size == 0 && symbol->address <= address) {
                if (unsized->name.data == NULL || symbol->address > unsized->start)
                    note_near(unsized, table, symbol);
            } else if (symbol->address > address) {
                if (after->name.data == NULL || symbol->address < after->start)
                    note_near(after, table, symbol);
            } else if (end_of(symbol) <= address && (before->name.data == NULL || end_of(symbol) > before->end)) {
                note_near(before, table, symbol);
            }
        }
    }
}

size_t sxt_explain_function_count(const struct sxt_explainer *explainer, uint32_t sources)
{
    size_t count = 0;
    for (size_t i = 0; i < explainer->table_count; i++)
        for (size_t k = 0; k < explainer->tables[i].symbols->symbol_count; k++)
            count +=
                (explainer->tables[i].source & sources) != 0 && is_function(&explainer->tables[i].symbols->symbols[k]);
    return count;
}
