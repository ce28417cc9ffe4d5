/* symbol_list.c: all functions of an archive, their other names, and their orders. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "archive/archive.h"
#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "base/sort.h"
#include "base/string.h"
#include "symbols/symbols.h"
#include "view/symbols.h"

/* The most bytes of names that are expanded from a ksym blob. */
#define NAMES_MAX ((size_t)256 << 20)

/* The other names of a function that are searched. */
#define ALIASES_MAX 64

/* After how many functions it is asked whether the other names take too long. */
#define BETWEEN     256

#define SECONDS_MAX 3

bool sxt_view_is_over(struct sxt_view_budget *budget)
{
    struct timespec used;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) != 0)
        return false;
    if (budget->until == 0)
        budget->until = (int64_t)used.tv_sec + 1 + SECONDS_MAX;
    return used.tv_sec >= budget->until;
}

sxt_string sxt_view_shown(sxt_string name)
{
    size_t size = SXT_VIEW_NAME_SHOWN;
    if (name.size <= size)
        return name;
    while (size > SXT_VIEW_NAME_SHOWN - 4 && ((unsigned char)name.data[size] & 0xc0) == 0x80)
        size--;
    return (sxt_string){name.data, size};
}

static int add_function(struct sxt_view_functions *functions, size_t *capacity, const struct sxt_view_function *item,
                        sxt_error *error)
{
    struct sxt_view_function *items = sxt_array_grow(functions->items, capacity, functions->count + 1, sizeof *items);
    if (items == NULL)
        return sxt_fail_memory(error, (functions->count + 1) * sizeof *items);
    functions->items = items;
    items[functions->count++] = *item;
    return SXT_OK;
}

/* The rows of depth 0. */
static int read_rows(struct sxt_view_functions *functions, const sxt_archive *archive, sxt_error *error)
{
    size_t capacity = 0, rows = sxt_archive_row_count(archive);
    sxt_range row;
    int status = SXT_OK;
    if (rows > UINT32_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "more than %u rows", UINT32_MAX);
    for (size_t i = 0; status == SXT_OK && i < rows && sxt_archive_row(archive, i, &row) == SXT_OK; i++) {
        size_t size = row.function.size < UINT32_MAX ? row.function.size : UINT32_MAX;
        const struct sxt_view_function item = {row.address, row.length, row.function.data, (uint32_t)size, (uint32_t)i};
        if (row.depth == 0)
            status = add_function(functions, &capacity, &item, error);
    }
    return status;
}

struct ksym_reader {
    struct sxt_view_functions *functions;
    size_t capacity;
    sxt_error *error;
    int status;
};

static bool read_symbol(void *data, const sxt_named *symbol)
{
    struct ksym_reader *reader = data;
    const char *name = sxt_arena_copy(&reader->functions->names, symbol->name.data, symbol->name.size);
    if (name == NULL) {
        reader->status = sxt_fail(reader->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                                  "the names have more than %zu MiB in all", NAMES_MAX >> 20);
        return false;
    }
    const struct sxt_view_function item = {symbol->address, symbol->size, name, (uint32_t)symbol->name.size,
                                           (unsigned char)symbol->letter};
    reader->status = add_function(reader->functions, &reader->capacity, &item, reader->error);
    return reader->status == SXT_OK;
}

static int read_ksym(struct sxt_view_functions *functions, const sxt_archive *archive, sxt_error *error)
{
    struct ksym_reader reader = {.functions = functions, .error = error};
    sxt_record_visitor visitor;
    sxt_record_visitor_init(&visitor);
    visitor.symbol = read_symbol;
    visitor.data = &reader;
    int status = sxt_archive_visit(archive, &visitor, error);
    return status != SXT_OK ? status : reader.status;
}

static int make_linked(struct sxt_view_functions *functions, sxt_error *error)
{
    functions->linked = functions->count > 0 ? calloc(functions->count, sizeof *functions->linked) : NULL;
    return functions->linked != NULL ? SXT_OK : sxt_fail_memory(error, functions->count * sizeof *functions->linked);
}

/* The names as linked that the model of an ELF file has: its ranges are in the same order as the rows. */
static int read_linked(struct sxt_view_functions *functions, const struct sxt_symbols *model, sxt_error *error)
{
    size_t next = 0, covering = model->range_count;
    for (size_t i = 0; i < functions->count; i++) {
        const struct sxt_view_function *item = &functions->items[i];
        for (; next < model->range_count && model->ranges[next].address <= item->address; next++)
            if (model->ranges[next].depth == 0)
                covering = next;
        if (covering == model->range_count)
            continue;
        sxt_string linked = sxt_symbols_view(model, model->ranges[covering].function);
        if (linked.size == 0 || sxt_string_equal(linked, (sxt_string){item->name, item->name_size}))
            continue;
        if (functions->linked == NULL && make_linked(functions, error) != SXT_OK)
            return error->code;
        functions->linked[i] = linked;
    }
    return SXT_OK;
}

static bool is_mangled(const struct sxt_view_function *item)
{
    return item->name_size > 2 && item->name[0] == '_' &&
           (item->name[1] == 'Z' || item->name[1] == 'R' || item->name[1] == 'D');
}

static sxt_string name_at(const void *data, size_t index)
{
    const struct sxt_view_function *item = &((const struct sxt_view_functions *)data)->items[index];
    return is_mangled(item) ? (sxt_string){item->name, item->name_size} : (sxt_string){"", 0};
}

/* An archive may have its names as linked: then they get readable forms here. */
static int read_readable(struct sxt_view_functions *functions, unsigned threads, sxt_error *error)
{
    size_t mangled = 0;
    for (size_t i = 0; i < functions->count; i++)
        mangled += is_mangled(&functions->items[i]);
    if (mangled == 0)
        return SXT_OK;
    int status = functions->linked == NULL ? make_linked(functions, error) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_demangle_all(&functions->readable, functions->count, name_at, functions, NULL, threads, error);
    for (size_t i = 0; status == SXT_OK && i < functions->count; i++) {
        struct sxt_view_function *item = &functions->items[i];
        sxt_string form = functions->readable.forms[i];
        if (form.data == NULL)
            continue;
        functions->linked[i] = (sxt_string){item->name, item->name_size};
        item->name = form.data;
        item->name_size = (uint32_t)form.size;
    }
    return status;
}

static int read_aliases(struct sxt_view_functions *functions, const sxt_archive *archive, sxt_error *error)
{
    sxt_string names[ALIASES_MAX];
    struct sxt_view_budget budget = {0};
    for (size_t i = 0; i < functions->count; i++) {
        if (i % BETWEEN == 0 && sxt_view_is_over(&budget))
            break; /* the rest is found by its name only */
        const struct sxt_view_function *item = &functions->items[i];
        const sxt_frame frame = {
            .function = sxt_view_function_stored(functions, i), .start = item->address, .length = item->size};
        size_t count = sxt_archive_aliases(archive, &frame, names, ALIASES_MAX, NULL);
        for (size_t k = 0; k < count && k < ALIASES_MAX; k++) {
            struct sxt_view_alias *aliases = sxt_array_grow(functions->aliases, &functions->alias_capacity,
                                                            functions->alias_count + 1, sizeof *aliases);
            if (aliases == NULL)
                return sxt_fail_memory(error, (functions->alias_count + 1) * sizeof *aliases);
            functions->aliases = aliases;
            aliases[functions->alias_count++] = (struct sxt_view_alias){(uint32_t)i, names[k]};
        }
    }
    return SXT_OK;
}

int sxt_view_functions_read(struct sxt_view_functions *functions, const sxt_archive *archive, unsigned threads,
                            sxt_error *error)
{
    *functions = (struct sxt_view_functions){.is_ksym = sxt_archive_kind(archive) == SXT_KIND_KSYM};
    sxt_arena_init(&functions->names, NAMES_MAX, sxt_arena_separate_default);
    const struct sxt_symbols *model = sxt_archive_model(archive);
    int status = functions->is_ksym ? read_ksym(functions, archive, error) : read_rows(functions, archive, error);
    if (status == SXT_OK && model != NULL)
        status = read_linked(functions, model, error);
    if (status == SXT_OK)
        status = read_readable(functions, threads, error);
    if (status == SXT_OK && !functions->is_ksym)
        status = read_aliases(functions, archive, error);
    if (status != SXT_OK)
        sxt_view_functions_free(functions);
    return status;
}

void sxt_view_functions_free(struct sxt_view_functions *functions)
{
    for (size_t i = 0; i < SXT_VIEW_ORDERS; i++)
        free(functions->orders[i]);
    free(functions->items);
    free(functions->linked);
    free(functions->aliases);
    sxt_demangled_free(&functions->readable);
    sxt_arena_free(&functions->names);
    *functions = (struct sxt_view_functions){0};
}

sxt_string sxt_view_function_name(const struct sxt_view_functions *functions, size_t index)
{
    return (sxt_string){functions->items[index].name, functions->items[index].name_size};
}

sxt_string sxt_view_function_linked(const struct sxt_view_functions *functions, size_t index)
{
    return functions->linked != NULL ? functions->linked[index] : (sxt_string){NULL, 0};
}

sxt_string sxt_view_function_stored(const struct sxt_view_functions *functions, size_t index)
{
    bool is_made = functions->readable.forms != NULL && functions->readable.forms[index].data != NULL;
    return is_made ? functions->linked[index] : sxt_view_function_name(functions, index);
}

size_t sxt_view_first_alias(const struct sxt_view_functions *functions, size_t index)
{
    return SXT_SEARCH_FROM(functions->aliases, functions->alias_count, function, index);
}

static int by_name(const void *a, const void *b, void *data)
{
    const struct sxt_view_functions *functions = data;
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    int order = sxt_string_compare(sxt_view_shown(sxt_view_function_name(functions, first)),
                                   sxt_view_shown(sxt_view_function_name(functions, second)));
    return order != 0 ? order : (first > second) - (first < second);
}

static bool sort_by_size(const struct sxt_view_functions *functions, uint32_t *order)
{
    size_t count = functions->count;
    struct sxt_sort_item *items = malloc(2 * count * sizeof *items + 1);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct sxt_sort_item){functions->items[i].size, (uint32_t)i};
    sxt_sort(items, items + count, count);
    for (size_t i = 0; i < count; i++)
        order[i] = items[i].index;
    free(items);
    return true;
}

const uint32_t *sxt_view_functions_order(struct sxt_view_functions *functions, enum sxt_view_order order)
{
    uint32_t *list = functions->orders[order];
    if (list != NULL)
        return list;
    list = malloc(functions->count * sizeof *list + 1);
    if (list == NULL)
        return NULL;
    for (size_t i = 0; i < functions->count; i++)
        list[i] = (uint32_t)i;
    if (order == SXT_VIEW_BY_NAME && functions->count > 1)
        qsort_r(list, functions->count, sizeof *list, by_name, functions);
    if (order == SXT_VIEW_BY_SIZE && !sort_by_size(functions, list)) {
        free(list);
        return NULL;
    }
    return functions->orders[order] = list;
}
