/* sources.c: the source files of code and data, from DWARF. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/string.h"
#include "measure/private.h"

/* How many inlined calls are read to find the file of a function without lines. */
#define CALLS_MOST 64

static int by_address(const void *a, const void *b)
{
    const struct sxt_model_variable *first = a;
    const struct sxt_model_variable *second = b;
    if (first->is_thread_local != second->is_thread_local)
        return first->is_thread_local ? 1 : -1;
    return first->address < second->address ? -1 : first->address > second->address;
}

static bool is_before(sxt_string a, sxt_string b)
{
    return sxt_string_compare(a, b) < 0;
}

/*
 * Several variables at one address (the linker has made one of them, or one is in the other) come in an order that
 * depends on threads. The first of them gets the file that is first by name.
 */
static void choose_files(struct sxt_symbols *symbols)
{
    struct sxt_model_variable *first = symbols->variables;
    for (size_t i = 1; i < symbols->variable_count; i++) {
        struct sxt_model_variable *variable = &symbols->variables[i];
        if (by_address(first, variable) != 0)
            first = variable;
        else if (variable->file != 0 && (first->file == 0 || is_before(sxt_symbols_view(symbols, variable->file),
                                                                       sxt_symbols_view(symbols, first->file))))
            first->file = variable->file;
    }
}

bool sxt_measure_sources_init(struct measure_sources *sources, struct sxt_symbols *symbols, uint64_t thread_local_data)
{
    *sources = (struct measure_sources){.symbols = symbols, .thread_local_data = thread_local_data};
    sources->roots = malloc((symbols->range_count + 1) * sizeof *sources->roots);
    if (sources->roots == NULL)
        return false;
    for (size_t i = 0; i < symbols->range_count; i++)
        if (symbols->ranges[i].depth == 0)
            sources->roots[sources->root_count++] = (uint32_t)i;
    if (symbols->variable_count > 1)
        qsort(symbols->variables, symbols->variable_count, sizeof *symbols->variables, by_address);
    choose_files(symbols);
    return true;
}

void sxt_measure_sources_free(struct measure_sources *sources)
{
    free(sources->roots);
    sources->roots = NULL;
}

size_t sxt_measure_first_root(const struct measure_sources *sources, uint64_t address)
{
    struct sxt_bisection search = {.high = sources->root_count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sources->symbols->ranges[sources->roots[search.middle]].address < address);
    return search.low;
}

/* A function without lines that has inlined calls is in the file of the first of them. */
static uint32_t file_of_function(const struct sxt_symbols *symbols, size_t index)
{
    const struct sxt_model_range *range = &symbols->ranges[index];
    if (range->file != 0)
        return range->file;
    if (range->line_count > 0)
        return symbols->lines[range->first_line].file;
    size_t end = symbols->range_count - index < CALLS_MOST ? symbols->range_count : index + CALLS_MOST;
    for (size_t i = index + 1; i < end && symbols->ranges[i].depth > 0; i++)
        if (symbols->ranges[i].depth == 1 && symbols->ranges[i].call_file != 0)
            return symbols->ranges[i].call_file;
    return 0;
}

static uint32_t file_of_code(const struct measure_sources *sources, uint64_t address)
{
    size_t after = address < UINT64_MAX ? sxt_measure_first_root(sources, address + 1) : sources->root_count;
    if (after == 0)
        return 0;
    size_t index = sources->roots[after - 1];
    const struct sxt_model_range *range = &sources->symbols->ranges[index];
    return address - range->address < range->length ? file_of_function(sources->symbols, index) : 0;
}

static uint32_t file_of_data(const struct measure_sources *sources, uint64_t address, bool is_thread_local)
{
    const struct sxt_symbols *symbols = sources->symbols;
    const struct sxt_model_variable wanted = {
        .address = is_thread_local ? address - sources->thread_local_data : address,
        .is_thread_local = is_thread_local,
    };
    struct sxt_bisection search = {.high = symbols->variable_count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, by_address(&symbols->variables[search.middle], &wanted) < 0);
    if (search.low == symbols->variable_count)
        return 0;
    const struct sxt_model_variable *found = &symbols->variables[search.low];
    return by_address(found, &wanted) == 0 ? found->file : 0;
}

sxt_string sxt_measure_source_at(const struct measure_sources *sources, uint64_t section_flags, uint64_t address)
{
    uint32_t file = section_flags & SHF_EXECINSTR ? file_of_code(sources, address)
                                                  : file_of_data(sources, address, (section_flags & SHF_TLS) != 0);
    return file != 0 ? sxt_symbols_view(sources->symbols, file) : (sxt_string){"", 0};
}
