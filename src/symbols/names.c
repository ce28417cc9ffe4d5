/* names.c: the readable forms of function names, each name decoded once. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "symbols/symbols.h"

/* place_of is one more than the place until all names are found, so that 0 means "not yet". */
static void list_name(struct sxt_names *names, uint32_t number)
{
    if (names->place_of[number] != 0)
        return;
    names->numbers[names->count++] = number;
    names->place_of[number] = (uint32_t)names->count;
}

static bool list_names(struct sxt_names *names, const struct sxt_symbols *symbols, const struct sxt_range_list *list)
{
    size_t most = list->range_count + symbols->alias_count + symbols->call_count;
    if (most > symbols->strings.count)
        most = symbols->strings.count;
    names->numbers = malloc((most + 1) * sizeof *names->numbers);
    names->place_of = calloc(symbols->strings.count, sizeof *names->place_of);
    if (names->numbers == NULL || names->place_of == NULL)
        return false;
    for (size_t i = 0; i < list->range_count; i++)
        list_name(names, list->ranges[i].function);
    for (size_t i = 0; i < symbols->alias_count; i++)
        list_name(names, symbols->aliases[i].name);
    for (size_t i = 0; i < symbols->call_count; i++)
        list_name(names, symbols->calls[i].function);
    for (size_t i = 0; i < names->count; i++)
        names->place_of[names->numbers[i]] = (uint32_t)i;
    return true;
}

/* The names that are being decoded. */
struct source {
    const struct sxt_names *names;
    const struct sxt_symbols *symbols;
};

static sxt_string name_at(const void *context, size_t index)
{
    const struct source *source = context;
    return sxt_symbols_view(source->symbols, source->names->numbers[index]);
}

int sxt_names_make(struct sxt_names *names, const struct sxt_symbols *symbols, const struct sxt_range_list *list,
                   const struct sxt_strings *table, unsigned threads, sxt_error *error)
{
    memset(names, 0, sizeof *names);
    if (!list_names(names, symbols, list))
        return sxt_fail_memory(error, symbols->strings.count * sizeof *names->place_of);
    const struct source source = {names, symbols};
    return sxt_demangle_all(&names->demangled, names->count, name_at, &source, table, threads, error);
}

void sxt_names_free(struct sxt_names *names)
{
    sxt_demangled_free(&names->demangled);
    free(names->numbers);
    free(names->place_of);
    memset(names, 0, sizeof *names);
}

sxt_string sxt_names_get(const struct sxt_names *names, uint32_t number)
{
    const sxt_string *forms = names->demangled.forms;
    return forms != NULL ? forms[names->place_of[number]] : (sxt_string){NULL, 0};
}
