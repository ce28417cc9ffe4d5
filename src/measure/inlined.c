/*
 * inlined.c: what inlined functions cost. A function that is inlined in a hundred places has no symbol, so tools that
 * read symbols do not see it; DWARF describes all of its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "base/string.h"
#include "demangle/demangle.h"
#include "measure/private.h"

struct sxt_inlined_list {
    sxt_inlined_function *list; /* the largest first */
    size_t count;
    uint64_t code; /* bytes of all functions of the file */
    struct sxt_symbols *symbols;
    char **names; /* demangled */
};

/* Costs by the number of a function in the model. */
struct costs {
    sxt_inlined_list *out;
    uint32_t *index_of; /* in the list, plus 1 */
    uint32_t *numbers;  /* of the functions in the list */
    size_t capacity, number_capacity;
};

static sxt_inlined_function *cost_of(struct costs *costs, const struct sxt_symbols *symbols,
                                     const struct sxt_model_range *range)
{
    sxt_inlined_list *out = costs->out;
    if (costs->index_of[range->function] != 0)
        return &out->list[costs->index_of[range->function] - 1];
    sxt_inlined_function *list = sxt_array_grow(out->list, &costs->capacity, out->count + 1, sizeof *list);
    uint32_t *numbers = sxt_array_grow(costs->numbers, &costs->number_capacity, out->count + 1, sizeof *numbers);
    if (list != NULL)
        out->list = list;
    if (numbers != NULL)
        costs->numbers = numbers;
    if (list == NULL || numbers == NULL)
        return NULL;
    numbers[out->count] = range->function;
    list[out->count] = (sxt_inlined_function){.function = sxt_symbols_view(symbols, range->function)};
    costs->index_of[range->function] = (uint32_t)++out->count;
    return &list[out->count - 1];
}

/* Whether the function is inlined into itself, so that its bytes are counted already. */
static bool is_recursive(const struct sxt_model_range *const *around, const struct sxt_model_range *range)
{
    for (uint32_t depth = 1; depth < range->depth; depth++)
        if (around[depth] != NULL && around[depth]->function == range->function)
            return true;
    return false;
}

/* The ranges come in order of address and depth: what one is inlined into is the last one before it, a depth less. */
static bool add_up(struct costs *costs, const struct sxt_symbols *symbols)
{
    const struct sxt_model_range *around[SXT_SYMBOLS_MAX_DEPTH + 1] = {NULL}; /* the last range, by depth */
    for (size_t i = 0; i < symbols->range_count; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        if (range->depth > SXT_SYMBOLS_MAX_DEPTH)
            continue;
        around[range->depth] = range;
        if (range->depth == 0) {
            costs->out->code += range->length;
            continue;
        }
        sxt_inlined_function *cost = cost_of(costs, symbols, range);
        if (cost == NULL)
            return false;
        cost->size += range->length;
        if (!is_recursive(around, range))
            cost->total += range->length;
        cost->places++;
        if (cost->file.data == NULL && range->file != 0)
            cost->file = sxt_symbols_view(symbols, range->file);
        if (range->depth > 1)
            costs->out->list[costs->index_of[around[range->depth - 1]->function] - 1].size -= range->length;
    }
    return true;
}

static int by_size(const void *a, const void *b)
{
    const sxt_inlined_function *first = a;
    const sxt_inlined_function *second = b;
    if (first->size != second->size)
        return first->size > second->size ? -1 : 1;
    return sxt_string_compare(first->function, second->function);
}

static bool demangle_names(sxt_inlined_list *out)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, (size_t)2 << 20);
    out->names = calloc(out->count + 1, sizeof *out->names);
    bool fine = out->names != NULL;
    for (size_t i = 0; fine && i < out->count; i++) {
        sxt_buffer_clear(&text);
        if (!sxt_demangle(out->list[i].function, &text))
            continue;
        out->names[i] = malloc(text.size + 1);
        fine = out->names[i] != NULL;
        if (!fine)
            break;
        memcpy(out->names[i], text.data, text.size);
        out->list[i].function = (sxt_string){out->names[i], text.size};
    }
    sxt_buffer_free(&text);
    return fine;
}

int sxt_inlined_list_read(const char *path, const sxt_extract_options *options, sxt_inlined_list **out,
                          sxt_error *error)
{
    sxt_inlined_list *made = calloc(1, sizeof *made);
    *out = NULL;
    if (made == NULL)
        return sxt_fail_memory(error, sizeof *made);
    int status = sxt_symbols_from_path(path, options, &made->symbols, error);
    if (status != SXT_OK) {
        sxt_inlined_list_free(&made);
        return status;
    }
    struct costs costs = {.out = made};
    costs.index_of = calloc((size_t)made->symbols->strings.count + 1, sizeof *costs.index_of);
    if (costs.index_of == NULL || !add_up(&costs, made->symbols) || !demangle_names(made))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while adding up inlined calls");
    free(costs.index_of);
    free(costs.numbers);
    if (status == SXT_OK && made->count > 1)
        qsort(made->list, made->count, sizeof *made->list, by_size);
    if (status != SXT_OK)
        sxt_inlined_list_free(&made);
    *out = made;
    return status;
}

void sxt_inlined_list_free(sxt_inlined_list **list)
{
    if (*list == NULL)
        return;
    for (size_t i = 0; (*list)->names != NULL && i < (*list)->count; i++)
        free((*list)->names[i]);
    free((*list)->names);
    free((*list)->list);
    sxt_symbols_free(&(*list)->symbols);
    free(*list);
    *list = NULL;
}

size_t sxt_inlined_list_count(const sxt_inlined_list *list)
{
    return list->count;
}

int sxt_inlined_list_get(const sxt_inlined_list *list, size_t index, sxt_inlined_function *out)
{
    if (index >= list->count)
        return SXT_ERROR_USAGE;
    sxt_result_give(out, &list->list[index], sizeof *out);
    return SXT_OK;
}

uint64_t sxt_inlined_list_code_size(const sxt_inlined_list *list)
{
    return list->code;
}
