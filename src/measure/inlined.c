/*
 * inlined.c: what inlined functions cost. A function that is inlined in a hundred places has no symbol, so tools that
 * read symbols do not see it; DWARF describes all of its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "base/search.h"
#include "base/string.h"
#include "demangle/demangle.h"
#include "measure/private.h"

struct sxt_inlined_list {
    sxt_inlined_function *list; /* the largest first */
    size_t count;
    uint64_t code; /* bytes of all functions of the file */
    struct sxt_symbols *symbols;
    char **names; /* demangled, by the number of the function in the model; NULL for one that is not mangled */
    size_t name_count;
};

/* How many ranges are read to find the file of a function without lines. */
#define RANGES_MOST 64

/* What a function of a file takes. Functions of internal linkage may have the same name in several files. */
struct cost {
    uint64_t size, total, places;
    uint32_t function, file; /* in the model; file 0: unknown */
    uint32_t next;           /* the next one of the same function, plus 1 */
};

struct costs {
    const struct sxt_symbols *symbols;
    struct cost *list;
    size_t count, capacity;
    uint32_t *first; /* by the number of a function in the model: its first cost, plus 1 */
    uint64_t code;
};

/* The file of the lines of the function in range INDEX, or without any, where the first call in it is written. */
static uint32_t file_of_lines(const struct sxt_symbols *symbols, size_t index)
{
    const struct sxt_model_range *range = &symbols->ranges[index];
    if (range->file != 0)
        return range->file;
    size_t end = symbols->range_count - index < RANGES_MOST ? symbols->range_count : index + RANGES_MOST;
    for (size_t i = index + 1; i < end && symbols->ranges[i].depth > range->depth; i++)
        if (symbols->ranges[i].depth == range->depth + 1 && symbols->ranges[i].call_file != 0)
            return symbols->ranges[i].call_file;
    return 0;
}

/* The declarations of a function: COUNT from FIRST on. */
struct declared {
    const struct sxt_model_variable *first;
    size_t count;
};

static struct declared declarations_of(const struct sxt_symbols *symbols, uint32_t function)
{
    size_t from = SXT_SEARCH_FROM(symbols->variables, symbols->variable_count, function, function);
    size_t to = SXT_SEARCH_ABOVE(symbols->variables, symbols->variable_count, function, function);
    return (struct declared){symbols->variables + from, to - from};
}

static bool is_declared_in(const struct declared *declared, uint32_t file)
{
    for (size_t i = 0; i < declared->count; i++)
        if (declared->first[i].file == file)
            return true;
    return false;
}

/*
 * The file that declares the function that is inlined in range INDEX. Functions of several files may have the same
 * name: the lines say which it is, or the place of the call.
 */
static uint32_t file_of(const struct sxt_symbols *symbols, size_t index)
{
    const struct sxt_model_range *range = &symbols->ranges[index];
    struct declared declared = declarations_of(symbols, range->function);
    uint32_t of_lines = declared.count == 1 ? declared.first->file : file_of_lines(symbols, index);
    if (declared.count <= 1 || is_declared_in(&declared, of_lines))
        return of_lines;
    return is_declared_in(&declared, range->call_file) ? range->call_file : declared.first->file;
}

/* By function and file, each once. */
static int by_declaration(const void *a, const void *b)
{
    const struct sxt_model_variable *first = a, *second = b;
    if (first->function != second->function)
        return first->function < second->function ? -1 : 1;
    return first->file < second->file ? -1 : first->file > second->file;
}

static void sort_declarations(struct sxt_symbols *symbols)
{
    struct sxt_model_variable *list = symbols->variables;
    size_t kept = 0;
    if (symbols->variable_count > 1)
        qsort(list, symbols->variable_count, sizeof *list, by_declaration);
    for (size_t i = 0; i < symbols->variable_count; i++)
        if (list[i].file != 0 && (kept == 0 || by_declaration(&list[kept - 1], &list[i]) != 0))
            list[kept++] = list[i];
    symbols->variable_count = kept;
}

/* The index of the cost of a function of a file; UINT32_MAX when memory is short. */
static uint32_t cost_of(struct costs *costs, uint32_t function, uint32_t file)
{
    for (uint32_t i = costs->first[function]; i != 0; i = costs->list[i - 1].next)
        if (costs->list[i - 1].file == file)
            return i - 1;
    struct cost *list = sxt_array_grow(costs->list, &costs->capacity, costs->count + 1, sizeof *list);
    if (list == NULL || costs->count >= UINT32_MAX - 1)
        return UINT32_MAX;
    costs->list = list;
    list[costs->count] = (struct cost){.function = function, .file = file, .next = costs->first[function]};
    costs->first[function] = (uint32_t)++costs->count;
    return (uint32_t)costs->count - 1;
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
static bool add_up(struct costs *costs)
{
    const struct sxt_model_range *around[SXT_SYMBOLS_MAX_DEPTH + 1] = {NULL}; /* the last range, by depth */
    uint32_t cost_around[SXT_SYMBOLS_MAX_DEPTH + 1] = {0};
    for (size_t i = 0; i < costs->symbols->range_count; i++) {
        const struct sxt_model_range *range = &costs->symbols->ranges[i];
        if (range->depth > SXT_SYMBOLS_MAX_DEPTH)
            continue;
        around[range->depth] = range;
        if (range->depth == 0) {
            costs->code += range->length;
            continue;
        }
        uint32_t number = cost_of(costs, range->function, file_of(costs->symbols, i));
        if (number == UINT32_MAX)
            return false;
        cost_around[range->depth] = number;
        struct cost *cost = &costs->list[number];
        cost->size += range->length;
        if (!is_recursive(around, range))
            cost->total += range->length;
        cost->places++;
        if (range->depth > 1)
            costs->list[cost_around[range->depth - 1]].size -= range->length;
    }
    return true;
}

/* --- one row a function --- */

/* A cost with its name, for sorting. */
struct named {
    sxt_string name, file;
    const struct cost *cost;
    bool is_unique; /* the name was mangled, and so is that of one function, whatever file it is found in */
};

static bool demangle_names(sxt_inlined_list *out, const struct costs *costs)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, (size_t)2 << 20);
    out->name_count = (size_t)out->symbols->strings.count;
    out->names = calloc(out->name_count + 1, sizeof *out->names);
    bool fine = out->names != NULL;
    for (size_t i = 0; fine && i < costs->count; i++) {
        uint32_t function = costs->list[i].function;
        sxt_buffer_clear(&text);
        if (out->names[function] != NULL || !sxt_demangle(sxt_symbols_view(out->symbols, function), &text)) {
            fine = !text.memory_was_short;
            continue;
        }
        sxt_buffer_u8(&text, 0);
        out->names[function] = text.failed ? NULL : strdup((const char *)text.data);
        fine = out->names[function] != NULL;
    }
    sxt_buffer_free(&text);
    return fine;
}

/* By name; of one name, known files first, and of those the one with the most bytes. */
static int by_name(const void *a, const void *b)
{
    const struct named *first = a, *second = b;
    int order = sxt_string_compare(first->name, second->name);
    if (order != 0)
        return order;
    if (first->is_unique != second->is_unique)
        return first->is_unique ? -1 : 1;
    if ((first->file.size == 0) != (second->file.size == 0))
        return first->file.size == 0 ? 1 : -1;
    if (first->cost->size != second->cost->size)
        return first->cost->size > second->cost->size ? -1 : 1;
    return sxt_string_compare(first->file, second->file);
}

static void give(sxt_inlined_function *to, const struct named *from)
{
    to->size += from->cost->size;
    to->total += from->cost->total;
    to->places += from->cost->places;
}

/* The row among those from FIRST on that a cost belongs to; the number of rows if it gets a new one. */
static size_t row_of(const sxt_inlined_list *out, size_t first, const struct named *one)
{
    if (first < out->count && (one->is_unique || one->file.size == 0))
        return first;
    size_t row = first;
    while (row < out->count && !sxt_string_equal(out->list[row].file, one->file))
        row++;
    return row;
}

static bool make_rows(sxt_inlined_list *out, const struct costs *costs)
{
    struct named *named = calloc(costs->count + 1, sizeof *named);
    out->list = calloc(costs->count + 1, sizeof *out->list);
    bool fine = named != NULL && out->list != NULL;
    for (size_t i = 0; fine && i < costs->count; i++) {
        const struct cost *cost = &costs->list[i];
        const char *readable = out->names[cost->function];
        named[i] = (struct named){
            .name = readable != NULL ? sxt_string_of(readable) : sxt_symbols_view(out->symbols, cost->function),
            .file = sxt_symbols_view(out->symbols, cost->file),
            .cost = cost,
            .is_unique = readable != NULL,
        };
    }
    if (fine && costs->count > 1)
        qsort(named, costs->count, sizeof *named, by_name);
    for (size_t i = 0, first = 0; fine && i < costs->count; i++) {
        bool is_same =
            i > 0 && sxt_string_equal(named[i - 1].name, named[i].name) && named[i - 1].is_unique == named[i].is_unique;
        first = is_same ? first : out->count;
        size_t row = row_of(out, first, &named[i]);
        if (row == out->count)
            out->list[out->count++] = (sxt_inlined_function){
                .function = named[i].name, .file = named[i].file.size > 0 ? named[i].file : (sxt_string){NULL, 0}};
        give(&out->list[row], &named[i]);
    }
    free(named);
    return fine;
}

static int by_size(const void *a, const void *b)
{
    const sxt_inlined_function *first = a;
    const sxt_inlined_function *second = b;
    if (first->size != second->size)
        return first->size > second->size ? -1 : 1;
    int order = sxt_string_compare(first->function, second->function);
    return order != 0 ? order : sxt_string_compare(first->file, second->file);
}

int sxt_inlined_list_read(const char *path, const sxt_extract_options *given, sxt_inlined_list **out, sxt_error *error)
{
    sxt_extract_options options;
    sxt_inlined_list *made = calloc(1, sizeof *made);
    *out = NULL;
    if (made == NULL)
        return sxt_fail_memory(error, sizeof *made);
    sxt_extract_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_extract_options_init", error);
    options.flags |= SXT_EXTRACT_DECLARATIONS;
    if (status == SXT_OK)
        status = sxt_symbols_from_path(path, &options, &made->symbols, error);
    if (status != SXT_OK) {
        sxt_inlined_list_free(&made);
        return status;
    }
    sort_declarations(made->symbols);
    struct costs costs = {.symbols = made->symbols};
    costs.first = calloc((size_t)made->symbols->strings.count + 1, sizeof *costs.first);
    if (costs.first == NULL || !add_up(&costs) || !demangle_names(made, &costs) || !make_rows(made, &costs))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while adding up inlined calls");
    made->code = costs.code;
    free(costs.first);
    free(costs.list);
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
    for (size_t i = 0; (*list)->names != NULL && i < (*list)->name_count; i++)
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
