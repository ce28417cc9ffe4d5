/* kernel_symbols.c: reads the symbols of a kernel from any archive, and finds what a line of an oops means. */
#include "profile/kernel_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "base/string.h"
#include "base/strings.h"
#include "symbols/symbols.h"

#define PAGE      ((uint64_t)4096)
#define NONE      UINT32_MAX
#define NO_SIZE   UINT64_MAX
#define MOST      ((size_t)1 << 26)
#define NAME_ROOM 512
/* Functions of one name that are looked at; a kernel has at most a few hundred. */
#define SAME_NAME_MAX 10000

struct entry {
    uint64_t address;
    uint64_t size;          /* as the file says; 0 if it does not */
    uint32_t name;          /* without the module */
    uint32_t module;        /* in a ksym blob; 0 for none */
    uint32_t section;       /* in a relocatable file, whose sections the kernel moves apart; otherwise 0 */
    uint32_t next_of_name;  /* another entry of the same name, or NONE */
    uint32_t next;          /* the first entry of the section with a higher address, or NONE */
    uint32_t next_function; /* the same among functions */
    bool is_function;
};

struct sxt_kernel_symbols {
    struct sxt_strings names;
    struct entry *entries; /* in order of section and address */
    size_t count, capacity;
    uint32_t *first;     /* by number of a name: an entry that has it, or NONE */
    bool is_partial;     /* there may be symbols that are not in the archive */
    bool is_relocatable; /* a module: its sections are loaded anywhere */
    bool failed;
};

static void read_table(struct sxt_kernel_symbols *symbols, const struct sxt_symbols *model);
static void read_blob(struct sxt_kernel_symbols *symbols, const sxt_archive *archive);
static void read_rows(struct sxt_kernel_symbols *symbols, const sxt_archive *archive);
static void link_entries(struct sxt_kernel_symbols *symbols);

struct sxt_kernel_symbols *sxt_kernel_symbols_read(const sxt_archive *archive)
{
    struct sxt_kernel_symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL)
        return NULL;
    symbols->failed = sxt_strings_init(&symbols->names, 0, NULL) != SXT_OK;
    const struct sxt_symbols *model = sxt_archive_model(archive);
    if (model != NULL && !symbols->failed)
        read_table(symbols, model);
    else if (sxt_archive_kind(archive) == SXT_KIND_KSYM && !symbols->failed)
        read_blob(symbols, archive);
    if (symbols->count == 0 && !symbols->failed)
        read_rows(symbols, archive);
    if (!symbols->failed)
        link_entries(symbols);
    if (symbols->failed)
        sxt_kernel_symbols_free(&symbols);
    return symbols;
}

void sxt_kernel_symbols_free(struct sxt_kernel_symbols **symbols)
{
    if (*symbols == NULL)
        return;
    sxt_strings_free(&(*symbols)->names);
    free((*symbols)->entries);
    free((*symbols)->first);
    free(*symbols);
    *symbols = NULL;
}

static uint32_t add_name(struct sxt_kernel_symbols *symbols, sxt_string name)
{
    uint32_t number = name.size > 0 ? sxt_strings_add(&symbols->names, name.data, name.size) : 0;
    symbols->failed |= number == SXT_STRINGS_FULL;
    return number;
}

static void add_entry(struct sxt_kernel_symbols *symbols, const struct entry *entry)
{
    void *moved = symbols->count < MOST ? sxt_array_grow(symbols->entries, &symbols->capacity, symbols->count + 1,
                                                         sizeof *symbols->entries)
                                        : NULL;
    if (moved == NULL) {
        symbols->failed = true;
        return;
    }
    symbols->entries = moved;
    symbols->entries[symbols->count++] = *entry;
}

/* Names that a kernel's table does not have: marks of the assembler and the compiler. */
static bool is_mark(sxt_string name)
{
    return name.data[0] == '$' || (name.size > 1 && name.data[0] == '.' && name.data[1] == 'L') ||
           (name.size > 1 && name.data[0] == 'L' && name.data[1] == '0');
}

/* A name without the ending that clang gives to copies of static functions; kernels print it without. */
static sxt_string without_copy_number(sxt_string name)
{
    const char *ending = name.size > 0 ? memmem(name.data, name.size, ".llvm.", 6) : NULL;
    return ending != NULL && ending > name.data ? (sxt_string){name.data, (size_t)(ending - name.data)} : name;
}

static void read_table(struct sxt_kernel_symbols *symbols, const struct sxt_symbols *model)
{
    symbols->is_relocatable = model->base_count > 0;
    uint8_t source = model->sources & SXT_SOURCE_SYMTAB ? SXT_SOURCE_SYMTAB : SXT_SOURCE_DYNSYM;
    for (size_t i = 0; i < model->symbol_count && !symbols->failed; i++) {
        const struct sxt_model_symbol *symbol = &model->symbols[i];
        sxt_string name = sxt_symbols_view(model, symbol->name);
        if (symbol->source != source || symbol->letter == 0 || name.size == 0 || is_mark(name))
            continue;
        struct entry entry = {
            .address = symbol->address,
            .size = symbol->size,
            .name = add_name(symbols, name),
            .section = symbols->is_relocatable ? symbol->section : 0,
            .is_function = symbol->type == 'F' || symbol->type == 'I',
        };
        sxt_string shorter = without_copy_number(name);
        add_entry(symbols, &entry);
        if (shorter.size < name.size) {
            entry.name = add_name(symbols, shorter);
            add_entry(symbols, &entry);
        }
    }
}

static bool add_blob_symbol(void *data, const sxt_named *symbol)
{
    struct sxt_kernel_symbols *symbols = data;
    sxt_string name = symbol->name;
    if (symbol->module.size > 0 && name.size > symbol->module.size + 3)
        name.size -= symbol->module.size + 3;
    if (name.size == 0 || is_mark(name))
        return true;
    uint32_t module = add_name(symbols, symbol->module);
    add_entry(symbols, &(struct entry){symbol->address, 0, add_name(symbols, name), module, .is_function = true});
    return !symbols->failed;
}

static void read_blob(struct sxt_kernel_symbols *symbols, const sxt_archive *archive)
{
    sxt_record_visitor visitor;
    sxt_record_visitor_init(&visitor);
    visitor.symbol = add_blob_symbol;
    visitor.data = symbols;
    symbols->is_partial = true;
    symbols->failed |= sxt_archive_visit(archive, &visitor, NULL) != SXT_OK;
}

/* Whether the row continues the function of the row before it, which has the same name and ends where it begins. */
static bool continues(const sxt_archive *archive, const sxt_range *row)
{
    sxt_frame frames[64];
    size_t count = sxt_archive_lookup(archive, row->address, frames, 64);
    if (count == 0 || count > 64)
        return false;
    sxt_archive_whole_range(archive, &frames[count - 1]);
    return frames[count - 1].start < row->address;
}

static void read_rows(struct sxt_kernel_symbols *symbols, const sxt_archive *archive)
{
    symbols->is_partial = true;
    sxt_range row;
    for (size_t i = 0; !symbols->failed && sxt_archive_row(archive, i, &row) == SXT_OK; i++) {
        if (row.depth > 0 || row.function.size == 0)
            continue;
        struct entry *last = symbols->count > 0 ? &symbols->entries[symbols->count - 1] : NULL;
        bool is_next = last != NULL && last->address + last->size == row.address &&
                       sxt_string_equal(sxt_strings_get(&symbols->names, last->name), row.function);
        if (is_next && continues(archive, &row))
            last->size += row.length;
        else
            add_entry(symbols,
                      &(struct entry){row.address, row.length, add_name(symbols, row.function), .is_function = true});
    }
}

static int by_place(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    if (left->section != right->section)
        return left->section < right->section ? -1 : 1;
    return left->address < right->address ? -1 : left->address > right->address;
}

static void link_entries(struct sxt_kernel_symbols *symbols)
{
    struct entry *entries = symbols->entries;
    symbols->first = malloc(((size_t)symbols->names.count + 1) * sizeof *symbols->first);
    if (symbols->first == NULL) {
        symbols->failed = true;
        return;
    }
    memset(symbols->first, 0xff, ((size_t)symbols->names.count + 1) * sizeof *symbols->first);
    if (symbols->count > 1)
        qsort(entries, symbols->count, sizeof *entries, by_place);
    for (size_t i = symbols->count; i > 0; i--) {
        struct entry *entry = &entries[i - 1];
        const struct entry *after = i < symbols->count && entries[i].section == entry->section ? &entries[i] : NULL;
        entry->next = entry->next_function = NONE;
        if (after != NULL) {
            bool is_alias = after->address == entry->address;
            entry->next = is_alias ? after->next : (uint32_t)i;
            entry->next_function = is_alias || !after->is_function ? after->next_function : (uint32_t)i;
        }
        entry->next_of_name = symbols->first[entry->name];
        symbols->first[entry->name] = (uint32_t)(i - 1);
    }
}

static uint64_t distance(const struct sxt_kernel_symbols *symbols, const struct entry *entry, uint32_t next)
{
    return next != NONE ? symbols->entries[next].address - entry->address : NO_SIZE;
}

static bool has_symbol_at(const struct sxt_kernel_symbols *symbols, uint32_t section, uint64_t address)
{
    struct sxt_bisection search = {.high = symbols->count};
    while (sxt_bisect(&search)) {
        const struct entry *entry = &symbols->entries[search.middle];
        sxt_bisect_after(&search, entry->section < section || (entry->section == section && entry->address < address));
    }
    return search.low < symbols->count && symbols->entries[search.low].section == section &&
           symbols->entries[search.low].address == address;
}

/*
 * Whether one of the next few functions begins SIZE bytes after the entry. Those between them may be weak functions
 * that another one replaces: their code and DWARF are there, their symbols are not.
 */
static bool is_near_function(const struct sxt_kernel_symbols *symbols, const struct entry *entry, uint64_t size)
{
    uint32_t next = entry->next;
    for (unsigned i = 0; i < 4 && next != NONE; i++) {
        if (distance(symbols, entry, next) == size)
            return true;
        next = symbols->entries[next].next;
    }
    return false;
}

/*
 * How well a symbol fits a size that was printed: 0 for not at all, 2 for exactly. In an archive of a kernel module,
 * the next function may be one of another section, which the kernel loads elsewhere.
 */
static unsigned size_fits(const struct sxt_kernel_symbols *symbols, const struct entry *entry, uint64_t size,
                          bool is_module)
{
    uint64_t next = distance(symbols, entry, entry->next);
    uint64_t function = distance(symbols, entry, entry->next_function);
    if (size == next || size == entry->size)
        return 2;
    if (entry->size <= size && (next == NO_SIZE || (symbols->is_partial && size < next)))
        return 1;
    if (symbols->is_partial && is_module && entry->size > 0 && size >= entry->size && size - entry->size < PAGE)
        return 1;
    if (symbols->is_partial && entry->size <= size && is_near_function(symbols, entry, size))
        return 1;
    /* The table may have symbols that the kernel's does not; then the next one that it has is meant. */
    return !symbols->is_partial && size > 0 && size <= function && entry->address + size > entry->address &&
                   has_symbol_at(symbols, entry->section, entry->address + size)
               ? 2
               : 0;
}

/* Kernels move by whole pages. */
static bool address_fits(const struct sxt_kernel_symbols *symbols, const struct entry *entry,
                         const struct sxt_text_match *match)
{
    return !match->has_address || symbols->is_relocatable ||
           (entry->address + match->offset - match->address) % PAGE == 0;
}

struct search {
    const struct sxt_kernel_symbols *symbols;
    const struct sxt_text_match *match;
    sxt_string module;
    struct sxt_kernel_place *places;
    size_t count;
    unsigned best;
    uint64_t other_size;
    bool has_name;
    bool has_size; /* a symbol has the name and the size, even if the address or the offset contradicts */
};

static void consider(struct search *search, const struct entry *entry)
{
    const struct sxt_kernel_symbols *symbols = search->symbols;
    const struct sxt_text_match *match = search->match;
    if (!sxt_string_equal(sxt_strings_get(&symbols->names, entry->module), search->module))
        return;
    uint64_t next = distance(symbols, entry, entry->next);
    search->has_name = true;
    search->other_size = next != NO_SIZE ? next : entry->size;
    unsigned fit = match->has_size ? size_fits(symbols, entry, match->size, match->module.size > 0) : 1;
    search->has_size |= fit > 0;
    if (fit == 0 || fit < search->best || !address_fits(symbols, entry, match) ||
        match->offset > (match->has_size ? match->size : next))
        return;
    if (fit > search->best)
        search->count = 0;
    search->best = fit;
    for (size_t i = 0; i < search->count; i++)
        if (search->places[i].address == entry->address + match->offset)
            return;
    if (search->count < SXT_KERNEL_PLACES_MAX)
        search->places[search->count++] = (struct sxt_kernel_place){.address = entry->address + match->offset};
}

static void consider_name(struct search *search, sxt_string name)
{
    const struct sxt_kernel_symbols *symbols = search->symbols;
    uint32_t number = name.size > 0 ? sxt_strings_find(&symbols->names, name.data, name.size) : SXT_STRINGS_FULL;
    if (number == SXT_STRINGS_FULL)
        return;
    size_t seen = 0;
    for (uint32_t i = symbols->first[number]; i != NONE && seen < SAME_NAME_MAX; seen++) {
        consider(search, &symbols->entries[i]);
        i = symbols->entries[i].next_of_name;
    }
}

/*
 * "foo.isra.0.cold" is part of foo. An archive made from DWARF has the name of the source. If no part of foo has the
 * size, nothing is wrong: the archive may not have this part.
 */
static void consider_parts(struct search *search, sxt_string name)
{
    bool has_name = search->has_name;
    for (size_t i = name.size; i > 1 && search->count == 0; i--)
        if (name.data[i - 1] == '.')
            consider_name(search, (sxt_string){name.data, i - 1});
    search->has_name = has_name;
}

enum sxt_kernel_fit sxt_kernel_symbols_place(const struct sxt_kernel_symbols *symbols,
                                             const struct sxt_text_match *match, sxt_string module,
                                             struct sxt_kernel_place places[SXT_KERNEL_PLACES_MAX], size_t *count)
{
    struct search search = {symbols, match, module, .places = places};
    sxt_string name = match->symbol;
    consider_name(&search, name);
    /* On some machines the entry of a function has a dot before its name. */
    if (search.count == 0 && name.size > 1 && name.data[0] == '.')
        consider_name(&search, (sxt_string){name.data + 1, name.size - 1});
    if (search.count == 0 && symbols->is_partial && name.size < NAME_ROOM)
        consider_parts(&search, name);
    *count = search.count;
    if (search.count > 0)
        return SXT_KERNEL_FITS;
    if (!search.has_name || search.has_size)
        return SXT_KERNEL_NO_NAME;
    *count = 1;
    places[0] = (struct sxt_kernel_place){.size = search.other_size};
    return SXT_KERNEL_OTHER_SIZE;
}
