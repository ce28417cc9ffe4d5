/* append.c: what one model got, at the end of another one. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "symbols/symbols.h"

/* Strings ahead of the one that is added whose place in the table is requested from memory. */
#define AHEAD 16

/* A model without DWARF has no strings yet: it takes those of OTHER, which keep their numbers. */
static void take_strings(struct sxt_symbols *symbols, struct sxt_symbols *other)
{
    struct sxt_strings empty = symbols->strings;
    symbols->strings = other->strings;
    other->strings = empty;
}

/* The numbers that the strings of OTHER have in SYMBOLS; NULL when memory is short. */
static uint32_t *number_strings(struct sxt_symbols *symbols, struct sxt_symbols *other)
{
    uint32_t *numbers = malloc((size_t)other->strings.count * sizeof *numbers);
    if (numbers != NULL && symbols->strings.count == 1) {
        take_strings(symbols, other);
        for (uint32_t i = 0; i < symbols->strings.count; i++)
            numbers[i] = i;
        return numbers;
    }
    sxt_strings_reserve(&symbols->strings, (size_t)symbols->strings.count + other->strings.count);
    for (uint32_t i = 0; i < other->strings.count && numbers != NULL; i++) {
        if (i + AHEAD < other->strings.count)
            sxt_strings_prefetch(&symbols->strings, other->strings.hashes[i + AHEAD]);
        numbers[i] = sxt_strings_add_from(&symbols->strings, &other->strings, i);
        if (numbers[i] == SXT_STRINGS_FULL) {
            free(numbers);
            numbers = NULL;
        }
    }
    return numbers;
}

static bool append_symbols(struct sxt_symbols *symbols, struct sxt_symbols *other, const uint32_t *numbers)
{
    size_t count = symbols->symbol_count;
    if (count == 0) {
        struct sxt_model_symbol *none = symbols->symbols;
        symbols->symbols = other->symbols;
        symbols->symbol_capacity = other->symbol_capacity;
        symbols->ordered_count = other->ordered_count;
        other->symbols = NULL;
        free(none);
    } else {
        void *moved = sxt_array_grow(symbols->symbols, &symbols->symbol_capacity, count + other->symbol_count,
                                     sizeof *symbols->symbols);
        if (moved == NULL)
            return false;
        symbols->symbols = moved;
        memcpy(symbols->symbols + count, other->symbols, other->symbol_count * sizeof *symbols->symbols);
    }
    symbols->symbol_count += other->symbol_count;
    for (size_t i = count; i < symbols->symbol_count; i++) {
        struct sxt_model_symbol *symbol = &symbols->symbols[i];
        symbol->name = numbers[symbol->name];
        symbol->section = numbers[symbol->section];
        symbol->module = numbers[symbol->module];
    }
    return symbols->symbol_count < UINT32_MAX;
}

static bool append_ranges(struct sxt_symbols *symbols, const struct sxt_symbols *other, const uint32_t *numbers)
{
    size_t range_count = symbols->range_count + other->range_count,
           line_count = symbols->line_count + other->line_count;
    if (range_count >= UINT32_MAX || line_count >= UINT32_MAX)
        return false;
    void *ranges = sxt_array_grow(symbols->ranges, &symbols->range_capacity, range_count, sizeof *symbols->ranges);
    if (ranges != NULL)
        symbols->ranges = ranges;
    void *lines = sxt_array_grow(symbols->lines, &symbols->line_capacity, line_count + 1, sizeof *symbols->lines);
    if (lines != NULL)
        symbols->lines = lines;
    if (ranges == NULL || lines == NULL)
        return false;
    for (size_t i = 0; i < other->range_count; i++) {
        struct sxt_model_range range = other->ranges[i];
        range.function = numbers[range.function];
        range.file = numbers[range.file];
        range.call_file = numbers[range.call_file];
        range.first_line += (uint32_t)symbols->line_count;
        symbols->ranges[symbols->range_count++] = range;
    }
    for (size_t i = 0; i < other->line_count; i++) {
        struct sxt_model_line line = other->lines[i];
        line.file = numbers[line.file];
        symbols->lines[symbols->line_count++] = line;
    }
    return true;
}

void sxt_symbols_append(struct sxt_symbols *symbols, struct sxt_symbols *other)
{
    uint32_t *numbers = number_strings(symbols, other);
    symbols->failed |= other->failed || numbers == NULL;
    if (numbers != NULL && other->symbol_count > 0 && !append_symbols(symbols, other, numbers))
        symbols->failed = true;
    if (numbers != NULL && other->range_count > 0 && !append_ranges(symbols, other, numbers))
        symbols->failed = true;
    symbols->sources |= other->sources;
    free(numbers);
}
