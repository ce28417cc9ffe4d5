/* aliases.c: several names for one function, and several functions at one address. */
#include "symbols/aliases.h"

#include <stdlib.h>
#include <string.h>

#include "base/string.h"

/* The most names at one address that are kept. */
#define NAMES_MAX 4096

static bool is_function(const struct sxt_model_symbol *symbol)
{
    return (symbol->type == 'F' || symbol->type == 'I') && symbol->size > 0;
}

static bool is_mangled(sxt_string name)
{
    return name.size > 2 && name.data[0] == '_' && (name.data[1] == 'Z' || name.data[1] == 'R');
}

bool sxt_names_are_variants(sxt_string a, sxt_string b)
{
    if (a.size != b.size || !is_mangled(a))
        return false;
    size_t different = 0;
    for (size_t i = 1; i < a.size; i++)
        if (a.data[i] != b.data[i]) {
            bool digits = a.data[i] >= '0' && a.data[i] <= '5' && b.data[i] >= '0' && b.data[i] <= '5';
            if (!digits || (a.data[i - 1] != 'C' && a.data[i - 1] != 'D'))
                return false;
            different++;
        }
    return different > 0;
}

/* Is the symbol a name of a function of its own, and not a further name of the function FIRST? */
static bool is_other_function(const struct sxt_symbols *symbols, const struct sxt_model_symbol *first,
                              const struct sxt_model_symbol *symbol)
{
    sxt_string name = sxt_symbols_view(symbols, symbol->name);
    if (symbol->name == first->name || sxt_names_are_variants(sxt_symbols_view(symbols, first->name), name))
        return false;
    return symbol->binding != 'W' || is_mangled(name);
}

/* Adds the names of the symbols from FIRST to END, which have one address, if there are several. */
static void add_group(struct sxt_symbols *symbols, size_t first, size_t end)
{
    size_t names = 0;
    bool folded = false;
    const struct sxt_model_symbol *one = NULL;
    for (size_t i = first; i < end; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[i];
        if (!is_function(symbol))
            continue;
        names++;
        if (one == NULL)
            one = symbol;
        else
            folded |= symbols->may_be_folded && is_other_function(symbols, one, symbol);
    }
    for (size_t i = first; i < end && names > 1 && i - first < NAMES_MAX; i++)
        if (is_function(&symbols->symbols[i]))
            sxt_symbols_add_alias(symbols, &(struct sxt_model_alias){.address = symbols->symbols[i].address,
                                                                     .name = symbols->symbols[i].name,
                                                                     .ambiguous = folded});
}

/* Not by the numbers of names: these depend on which thread adds a name first. */
static int by_address_and_name(const void *a, const void *b, void *symbols)
{
    const struct sxt_model_alias *first = a, *second = b;
    if (first->address != second->address)
        return first->address < second->address ? -1 : 1;
    return sxt_string_compare(sxt_symbols_view(symbols, first->name), sxt_symbols_view(symbols, second->name));
}

static int by_return_address(const void *a, const void *b)
{
    const struct sxt_model_call *first = a, *second = b;
    return first->return_address < second->return_address ? -1 : first->return_address > second->return_address;
}

/* Sorts, drops doubles, and makes all names of an address ambiguous if one is. */
static void order_aliases(struct sxt_symbols *symbols)
{
    struct sxt_model_alias *aliases = symbols->aliases;
    size_t count = symbols->alias_count, kept = 0;
    if (count > 0)
        qsort_r(aliases, count, sizeof *aliases, by_address_and_name, symbols);
    for (size_t i = 0, end; i < count; i = end) {
        bool ambiguous = false;
        size_t first = kept;
        for (end = i; end < count && aliases[end].address == aliases[i].address; end++) {
            ambiguous |= aliases[end].ambiguous;
            if (kept == first || aliases[kept - 1].name != aliases[end].name)
                aliases[kept++] = aliases[end];
        }
        if (kept - first < 2)
            kept = first;
        for (size_t k = first; k < kept; k++)
            aliases[k].ambiguous = ambiguous;
    }
    symbols->alias_count = kept;
}

/* The number of the readable form of a mangled name without its parameters; 0 if it has none. */
static uint32_t plain_form(struct sxt_symbols *symbols, uint32_t name, struct sxt_buffer *readable)
{
    sxt_string linked = sxt_symbols_view(symbols, name);
    sxt_buffer_clear(readable);
    if (!is_mangled(linked) || !sxt_demangle(linked, readable)) {
        symbols->failed |= readable->failed;
        return 0;
    }
    static const char nameless[] = "(anonymous namespace)";
    const char *text = (const char *)readable->data;
    size_t size = 0;
    for (size_t nesting = 0; size < readable->size; size++) {
        if (readable->size - size >= sizeof nameless - 1 && strncmp(text + size, nameless, sizeof nameless - 1) == 0)
            size += sizeof nameless - 2;
        else if (text[size] == '(' && nesting == 0)
            break;
        else if (text[size] == '<')
            nesting++;
        else if (text[size] == '>' && nesting > 0)
            nesting--;
    }
    return sxt_symbols_string(symbols, text, size);
}

/*
 * Keeps the calls of functions whose names are ambiguous. DWARF may have a function's name without parameters only; it
 * says which one is meant if no other function there has it.
 */
static bool choose_calls(struct sxt_symbols *symbols)
{
    struct sxt_buffer readable;
    size_t kept = 0, ambiguous = 0;
    for (size_t i = 0; i < symbols->alias_count; i++)
        ambiguous += symbols->aliases[i].ambiguous;
    if (ambiguous == 0 || symbols->call_count == 0) {
        symbols->call_count = 0;
        return true;
    }
    sxt_buffer_init(&readable, (size_t)2 << 20);
    uint32_t *plain = calloc(symbols->alias_count, sizeof *plain);
    for (size_t i = 0; i < symbols->alias_count && plain != NULL; i++)
        if (symbols->aliases[i].ambiguous)
            plain[i] = plain_form(symbols, symbols->aliases[i].name, &readable);
    sxt_buffer_free(&readable);
    /* By number of a name: the name that it means; UINT32_MAX for several. */
    uint32_t *meant = calloc(symbols->strings.count, sizeof *meant);
    if (meant == NULL || plain == NULL || symbols->failed) {
        free(meant);
        free(plain);
        return false;
    }
    for (size_t i = 0; i < symbols->alias_count; i++)
        if (plain[i] != 0)
            meant[plain[i]] = meant[plain[i]] == 0 || meant[plain[i]] == symbols->aliases[i].name
                                  ? symbols->aliases[i].name
                                  : UINT32_MAX;
    for (size_t i = 0; i < symbols->alias_count; i++)
        if (symbols->aliases[i].ambiguous)
            meant[symbols->aliases[i].name] = symbols->aliases[i].name;
    for (size_t i = 0; i < symbols->call_count; i++) {
        uint32_t function = meant[symbols->calls[i].function];
        if (function != 0 && function != UINT32_MAX)
            symbols->calls[kept++] = (struct sxt_model_call){symbols->calls[i].return_address, function};
    }
    symbols->call_count = kept;
    if (kept > 1)
        qsort(symbols->calls, kept, sizeof *symbols->calls, by_return_address);
    free(meant);
    free(plain);
    return true;
}

bool sxt_aliases_finish(struct sxt_symbols *symbols)
{
    for (size_t i = 0, end; i < symbols->symbol_count; i = end) {
        for (end = i + 1; end < symbols->symbol_count && symbols->symbols[end].address == symbols->symbols[i].address;)
            end++;
        if (end - i > 1)
            add_group(symbols, i, end);
    }
    order_aliases(symbols);
    return !symbols->failed && choose_calls(symbols);
}
