/* entry_names.c: gives functions of DWARF the names that the symbol table has for them. */
#include "symbols/entry_names.h"

#include <stdio.h>
#include <string.h>

#include "base/string.h"

/* The most symbols at one address that are compared. Folded code may have thousands. */
#define SYMBOLS_MAX 256

/* The name of a symbol without its version. */
static sxt_string without_version(sxt_string name)
{
    const char *at = name.size > 0 ? memchr(name.data + 1, '@', name.size - 1) : NULL;
    return at != NULL ? (sxt_string){name.data, (size_t)(at - name.data)} : name;
}

static bool is_function(const struct sxt_model_symbol *symbol)
{
    return symbol->type == 'F' || symbol->type == 'I';
}

/* Is SYMBOL the symbol of NAME? Go's linker adds the calling convention to a symbol; the runtime's table does not. */
static bool is_symbol_of(sxt_string symbol, sxt_string name)
{
    static const char *const conventions[] = {"", ".abi0", ".abiinternal"};
    if (symbol.size < name.size || name.size == 0 || memcmp(symbol.data, name.data, name.size) != 0)
        return false;
    for (size_t i = 0; i < sizeof conventions / sizeof *conventions; i++)
        if (sxt_string_is((sxt_string){symbol.data + name.size, symbol.size - name.size}, conventions[i]))
            return true;
    return false;
}

/* Is LONGER the name with a suffix that compilers add to clones and parts of a function? */
static bool adds_suffix(sxt_string longer, sxt_string name)
{
    return name.size > 0 && longer.size > name.size + 1 && longer.data[name.size] == '.' &&
           memcmp(longer.data, name.data, name.size) == 0;
}

/* The last part of a qualified name, without template arguments: "get" of "ns::Box<a::b>::get<int>". */
static sxt_string plain_part(sxt_string name)
{
    size_t start = 0, end = name.size, nesting = 0;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (c == '<' || c == '(') {
            if (nesting++ == 0)
                end = i;
        } else if ((c == '>' || c == ')') && nesting > 0) {
            nesting--;
        } else if (c == ':' && nesting == 0 && i + 1 < name.size && name.data[i + 1] == ':') {
            start = i + 2;
            end = name.size;
            i++;
        }
    }
    return start < end ? (sxt_string){name.data + start, end - start} : (sxt_string){name.data, 0};
}

/* Is it a name that a mangled name contains? An operator has a code there. */
static bool is_identifier(sxt_string name)
{
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
            return false;
    }
    return name.size > 0 && (name.size < 8 || memcmp(name.data, "operator", 8) != 0);
}

/* Is AT after the name of an anonymous namespace, which ends with a digit? */
static bool is_after_nameless(sxt_string mangled, size_t at)
{
    static const char nameless[] = "_GLOBAL__N_1";
    size_t size = sizeof nameless - 1;
    return at >= size && memcmp(mangled.data + at - size, nameless, size) == 0;
}

/* Does a mangled name contain PLAIN? A mangled name has the length of an identifier before it: "_ZN2ns3getEv". */
static bool mentions(sxt_string mangled, sxt_string plain)
{
    char coded[24];
    int digits = snprintf(coded, sizeof coded, "%zu", plain.size);
    if (plain.size == 0 || digits <= 0)
        return false;
    size_t size = (size_t)digits + plain.size;
    for (size_t i = 0; i + size <= mangled.size; i++)
        if (memcmp(mangled.data + i, coded, (size_t)digits) == 0 &&
            memcmp(mangled.data + i + digits, plain.data, plain.size) == 0 &&
            (i == 0 || mangled.data[i - 1] < '0' || mangled.data[i - 1] > '9' || is_after_nameless(mangled, i)))
            return true;
    return false;
}

uint32_t sxt_entry_name(struct sxt_symbols *symbols, const struct sxt_model_range *range,
                        const struct sxt_model_symbol *at_address, size_t count, bool is_folded)
{
    sxt_string name = sxt_symbols_view(symbols, range->function);
    const struct sxt_model_symbol *clone = NULL, *mentioned = NULL, *first = NULL;
    bool plain = (range->flags & SXT_RANGE_LINKAGE_NAME) == 0;
    bool may_be_other = !is_folded || !is_identifier(plain_part(name));
    for (size_t i = 0; i < count && i < SYMBOLS_MAX; i++) {
        const struct sxt_model_symbol *symbol = &at_address[i];
        if (!is_function(symbol))
            continue;
        if (symbol->name == range->function)
            return range->function;
        sxt_string called = without_version(sxt_symbols_view(symbols, symbol->name));
        if (is_symbol_of(called, name))
            return range->function;
        if (clone == NULL && adds_suffix(called, name))
            clone = symbol;
        if (plain && symbol->size > 0) {
            if (first == NULL && may_be_other)
                first = symbol;
            if (mentioned == NULL && (count > 1 || is_folded) && mentions(called, plain_part(name)))
                mentioned = symbol;
        }
    }
    if (count > SYMBOLS_MAX && !plain)
        return 0;
    const struct sxt_model_symbol *best = clone != NULL ? clone : mentioned != NULL ? mentioned : first;
    if (best == NULL)
        return 0;
    sxt_string full = sxt_symbols_view(symbols, best->name), called = without_version(full);
    return called.size == full.size ? best->name : sxt_symbols_string(symbols, called.data, called.size);
}

void sxt_entry_names_spread(struct sxt_symbols *symbols)
{
    struct sxt_model_range *ranges = symbols->ranges;
    for (size_t i = 0, end; i < symbols->range_count; i = end) {
        uint32_t entry_name = 0;
        for (end = i;
             end < symbols->range_count && (end == i || ranges[end].depth > 0 || (ranges[end].flags & SXT_RANGE_PART));
             end++)
            if (ranges[end].depth == 0 && (ranges[end].flags & SXT_RANGE_ENTRY) &&
                (ranges[end].flags & SXT_RANGE_SYMBOL_NAME))
                entry_name = ranges[end].function;
        for (size_t k = i; k < end && entry_name != 0; k++)
            if (ranges[k].depth == 0 && !(ranges[k].flags & (SXT_RANGE_LINKAGE_NAME | SXT_RANGE_SYMBOL_NAME)))
                ranges[k].function = entry_name;
    }
}
