/* symbols.c: builds the model, and gives the public view of it. */
#include "symbols/symbols.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

int sxt_symbols_new(struct sxt_symbols **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols == NULL)
        return sxt_fail_memory(error, sizeof *symbols);
    int status = sxt_strings_init(&symbols->strings, 0, error);
    if (status != SXT_OK) {
        free(symbols);
        return status;
    }
    *out = symbols;
    return SXT_OK;
}

void sxt_symbols_free(sxt_symbols **symbols)
{
    struct sxt_symbols *all = *symbols;
    if (all == NULL)
        return;
    sxt_strings_free(&all->strings);
    free(all->symbols);
    free(all->ranges);
    free(all->lines);
    free(all->variables);
    free(all->aliases);
    free(all->calls);
    free(all->bases);
    sxt_module_free(&all->module);
    free(all);
    *symbols = NULL;
}

uint32_t sxt_symbols_string(struct sxt_symbols *symbols, const char *data, size_t size)
{
    uint32_t number = sxt_strings_add(&symbols->strings, data, size);
    if (number != SXT_STRINGS_FULL)
        return number;
    symbols->failed = true;
    return 0;
}

uint32_t sxt_symbols_string_hashed(struct sxt_symbols *symbols, sxt_string text, uint32_t hash)
{
    uint32_t number = sxt_strings_add_hashed(&symbols->strings, text, hash);
    symbols->failed |= number == SXT_STRINGS_FULL;
    return number != SXT_STRINGS_FULL ? number : 0;
}

/* Appends one ITEM to an array of the model. Indices have 32 bits, which limits the size. */
#define APPEND(symbols, array, count, capacity, item)                                                                  \
    do {                                                                                                               \
        void *moved = (symbols)->count < UINT32_MAX ? sxt_array_grow((symbols)->array, &(symbols)->capacity,           \
                                                                     (symbols)->count + 1, sizeof *(symbols)->array)   \
                                                    : NULL;                                                            \
        if (moved == NULL) {                                                                                           \
            (symbols)->failed = true;                                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        (symbols)->array = moved;                                                                                      \
        (symbols)->array[(symbols)->count++] = (item);                                                                 \
    } while (0)

void sxt_symbols_reserve(struct sxt_symbols *symbols, size_t count)
{
    size_t wanted = count < UINT32_MAX ? symbols->symbol_count + count : 0;
    void *moved = sxt_array_grow(symbols->symbols, &symbols->symbol_capacity, wanted, sizeof *symbols->symbols);
    if (moved != NULL)
        symbols->symbols = moved;
    /* A second table has mostly the names of the first. */
    if (count > symbols->strings.count)
        sxt_strings_reserve(&symbols->strings, count);
}

void sxt_symbols_add_symbol(struct sxt_symbols *symbols, const struct sxt_model_symbol *symbol)
{
    APPEND(symbols, symbols, symbol_count, symbol_capacity, *symbol);
}

void sxt_symbols_add_range(struct sxt_symbols *symbols, const struct sxt_model_range *range)
{
    APPEND(symbols, ranges, range_count, range_capacity, *range);
    struct sxt_model_range *added = &symbols->ranges[symbols->range_count - 1];
    added->first_line = (uint32_t)symbols->line_count;
    added->line_count = 0;
}

void sxt_symbols_add_line(struct sxt_symbols *symbols, const struct sxt_model_line *line)
{
    if (symbols->range_count == 0 || symbols->failed)
        return;
    APPEND(symbols, lines, line_count, line_capacity, *line);
    symbols->ranges[symbols->range_count - 1].line_count++;
}

void sxt_symbols_add_alias(struct sxt_symbols *symbols, const struct sxt_model_alias *alias)
{
    APPEND(symbols, aliases, alias_count, alias_capacity, *alias);
}

void sxt_symbols_add_call(struct sxt_symbols *symbols, uint64_t return_address, uint32_t function)
{
    APPEND(symbols, calls, call_count, call_capacity, ((struct sxt_model_call){return_address, function}));
}

void sxt_symbols_add_base(struct sxt_symbols *symbols, uint32_t name, uint64_t base)
{
    APPEND(symbols, bases, base_count, base_capacity, ((struct sxt_model_base){name, base}));
}

void sxt_symbols_add_segment(struct sxt_symbols *symbols, const struct sxt_model_segment *segment)
{
    if (!sxt_module_add_segment(&symbols->module, segment))
        symbols->failed = true;
}

int sxt_symbols_finish_raw(struct sxt_symbols *symbols, sxt_error *error)
{
    symbols->reference = true;
    if (symbols->failed)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting symbols");
    return SXT_OK;
}

int sxt_symbols_finish_sorted(struct sxt_symbols *symbols, sxt_error *error)
{
    if (symbols->failed)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting ranges");
    return sxt_ranges_sort(symbols->ranges, symbols->range_count, error);
}

/* Unknown strings are absent in the public view. */
static sxt_string view_or_absent(const struct sxt_symbols *symbols, uint32_t number)
{
    return number == 0 ? (sxt_string){NULL, 0} : sxt_symbols_view(symbols, number);
}

sxt_units sxt_symbols_units(const sxt_symbols *symbols)
{
    return symbols->units;
}

size_t sxt_symbols_symbol_count(const sxt_symbols *symbols)
{
    return symbols->symbol_count;
}

int sxt_symbols_symbol(const sxt_symbols *symbols, size_t index, sxt_symbol *out)
{
    if (index >= symbols->symbol_count)
        return SXT_ERROR_USAGE;
    const struct sxt_model_symbol *symbol = &symbols->symbols[index];
    *out = (sxt_symbol){
        .address = symbol->address,
        .size = symbol->size,
        .name = sxt_symbols_view(symbols, symbol->name),
        .section = view_or_absent(symbols, symbol->section),
        .module = view_or_absent(symbols, symbol->module),
        .type = symbol->type,
        .binding = symbol->binding,
        .source = symbol->source,
    };
    return SXT_OK;
}

size_t sxt_symbols_range_count(const sxt_symbols *symbols)
{
    return symbols->range_count;
}

int sxt_symbols_range(const sxt_symbols *symbols, size_t index, sxt_range *out)
{
    if (index >= symbols->range_count)
        return SXT_ERROR_USAGE;
    const struct sxt_model_range *range = &symbols->ranges[index];
    *out = (sxt_range){
        .address = range->address,
        .length = range->length,
        .depth = range->depth,
        .call_line = range->call_line,
        .function = sxt_symbols_view(symbols, range->function),
        .file = view_or_absent(symbols, range->file),
        .call_file = view_or_absent(symbols, range->call_file),
        .line_count = range->line_count,
        .source = range->source,
    };
    return SXT_OK;
}

int sxt_symbols_line(const sxt_symbols *symbols, size_t range, size_t index, sxt_line *out)
{
    if (range >= symbols->range_count || index >= symbols->ranges[range].line_count)
        return SXT_ERROR_USAGE;
    const struct sxt_model_line *line = &symbols->lines[symbols->ranges[range].first_line + index];
    *out = (sxt_line){
        .offset = line->offset,
        .line = line->line,
        .column = line->column,
        .discriminator = line->discriminator,
        .file = view_or_absent(symbols, line->file),
    };
    return SXT_OK;
}
