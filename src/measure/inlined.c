/*
 * inlined.c: what inlined calls cost. A function that is inlined in a hundred places has no symbol, and no tool that
 * looks at symbols sees it; DWARF knows all of its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/private.h"
#include "base/array.h"
#include "base/error.h"
#include "demangle/demangle.h"
#include "measure/measure.h"

/* Costs by the number of a function in the model. */
struct costs {
    struct sxt_inlined_list *out;
    uint32_t *index_of; /* in the list, plus 1 */
    uint32_t *numbers;  /* of the functions in the list */
    size_t capacity, number_capacity;
};

static struct sxt_inlined *cost_of(struct costs *costs, const struct sxt_symbols *symbols,
                                   const struct sxt_model_range *range)
{
    struct sxt_inlined_list *out = costs->out;
    if (costs->index_of[range->function] != 0)
        return &out->list[costs->index_of[range->function] - 1];
    struct sxt_inlined *list = sxt_array_grow(out->list, &costs->capacity, out->count + 1, sizeof *list);
    uint32_t *numbers = sxt_array_grow(costs->numbers, &costs->number_capacity, out->count + 1, sizeof *numbers);
    if (list != NULL)
        out->list = list;
    if (numbers != NULL)
        costs->numbers = numbers;
    if (list == NULL || numbers == NULL)
        return NULL;
    numbers[out->count] = range->function;
    list[out->count] = (struct sxt_inlined){.function = sxt_symbols_view(symbols, range->function)};
    costs->index_of[range->function] = (uint32_t)++out->count;
    return &list[out->count - 1];
}

/* Is the function inlined into itself, so that its bytes are counted already? */
static bool is_around(const struct sxt_model_range *const *around, const struct sxt_model_range *range)
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
        struct sxt_inlined *cost = cost_of(costs, symbols, range);
        if (cost == NULL)
            return false;
        cost->size += range->length;
        if (!is_around(around, range))
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
    const struct sxt_inlined *first = a;
    const struct sxt_inlined *second = b;
    if (first->size != second->size)
        return first->size > second->size ? -1 : 1;
    size_t size = first->function.size < second->function.size ? first->function.size : second->function.size;
    int order = memcmp(first->function.data, second->function.data, size);
    return order != 0 ? order : first->function.size < second->function.size ? -1 : 1;
}

static bool make_readable(struct sxt_inlined_list *out)
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

int sxt_inlined_read(const char *path, const sxt_extract_options *options, struct sxt_inlined_list *out,
                     sxt_error *error)
{
    *out = (struct sxt_inlined_list){.count = 0};
    int status = sxt_symbols_from_path(path, options, &out->symbols, error);
    if (status != SXT_OK)
        return status;
    struct costs costs = {.out = out};
    costs.index_of = calloc((size_t)out->symbols->strings.count + 1, sizeof *costs.index_of);
    if (costs.index_of == NULL || !add_up(&costs, out->symbols) || !make_readable(out))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while adding up inlined calls");
    free(costs.index_of);
    free(costs.numbers);
    if (status == SXT_OK && out->count > 1)
        qsort(out->list, out->count, sizeof *out->list, by_size);
    if (status != SXT_OK)
        sxt_inlined_free(out);
    return status;
}

void sxt_inlined_free(struct sxt_inlined_list *list)
{
    for (size_t i = 0; list->names != NULL && i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    free(list->list);
    sxt_symbols_free(&list->symbols);
    *list = (struct sxt_inlined_list){.count = 0};
}
