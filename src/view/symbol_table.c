/* symbol_table.c: parts of the table of functions, as JSON. */
#include "view/symbols.h"

#include "base/error.h"

/* Other names of a function that a line of the table has. */
#define ALIASES_SHOWN 4

static void write_aliases(const struct sxt_view_functions *functions, size_t index, struct sxt_json_writer *json)
{
    size_t first = sxt_view_first_alias(functions, index), end = first;
    while (end < functions->alias_count && functions->aliases[end].function == index)
        end++;
    if (end == first)
        return;
    sxt_json_write_begin(json, "aliases", '[');
    for (size_t i = first; i < end && i < first + ALIASES_SHOWN; i++)
        sxt_json_write_string(json, NULL, sxt_view_shown(functions->aliases[i].name));
    sxt_json_write_end(json, ']');
    sxt_json_write_number(json, "alias_count", end - first);
}

/* Where the source of the function begins, as far as the archive says. */
static void write_source(const struct sxt_view_symbols_state *state, size_t index, struct sxt_json_writer *json)
{
    const struct sxt_view_function *item = &state->functions.items[index];
    bool is_last = index + 1 == state->functions.count;
    size_t next = is_last ? sxt_archive_row_count(state->archive) : item[1].row;
    sxt_range row;
    sxt_line line;
    if (sxt_archive_row(state->archive, item->row, &row) == SXT_OK && row.file.data != NULL)
        sxt_json_write_string(json, "file", sxt_view_shown(row.file));
    if (sxt_archive_line(state->archive, item->row, 0, &line) == SXT_OK && line.line != 0)
        sxt_json_write_number(json, "line", line.line);
    sxt_json_write_number(json, "inlines", next > item->row ? next - item->row - 1 : 0);
}

static void write_row(const struct sxt_view_symbols_state *state, size_t index, struct sxt_json_writer *json)
{
    const struct sxt_view_functions *functions = &state->functions;
    const struct sxt_view_function *item = &functions->items[index];
    sxt_string linked = sxt_view_function_linked(functions, index);
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_number(json, "index", index);
    sxt_json_write_address(json, "address", item->address);
    sxt_json_write_number(json, "size", item->size);
    sxt_json_write_string(json, "name", sxt_view_shown(sxt_view_function_name(functions, index)));
    if (item->name_size > SXT_VIEW_NAME_SHOWN)
        sxt_json_write_number(json, "name_size", item->name_size);
    if (linked.data != NULL)
        sxt_json_write_string(json, "linkage_name", sxt_view_shown(linked));
    if (functions->is_ksym)
        sxt_json_write_string(json, "type", (sxt_string){&(char){(char)item->row}, 1});
    else
        write_source(state, index, json);
    write_aliases(functions, index, json);
    sxt_json_write_end(json, '}');
}

/* The numbers of the functions that a search finds, in an order. */
static int choose(struct sxt_view_symbols_state *state, const struct sxt_view_search *search, enum sxt_view_order order,
                  const uint32_t **numbers, size_t *count, sxt_error *error)
{
    struct sxt_view_functions *functions = &state->functions;
    int status = SXT_OK;
    if (*search->text != 0) {
        status = sxt_view_search(functions, search, order, state->threads, &state->found, error);
        *numbers = state->found.list;
        *count = state->found.count;
        return status;
    }
    *count = functions->count;
    *numbers = sxt_view_functions_order(functions, order);
    return *numbers != NULL ? SXT_OK : sxt_fail_memory(error, functions->count * sizeof **numbers);
}

int sxt_view_write_functions(struct sxt_view_symbols_state *state, const struct sxt_view_search *search,
                             enum sxt_view_order order, bool descending, struct sxt_view_window window,
                             struct sxt_json_writer *json, sxt_error *error)
{
    const uint32_t *numbers;
    size_t count;
    int status = choose(state, search, order, &numbers, &count, error);
    if (status != SXT_OK)
        return status;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_number(json, "total", state->functions.count);
    sxt_json_write_number(json, "found", count);
    sxt_json_write_number(json, "from", window.from);
    sxt_json_write_begin(json, "rows", '[');
    for (uint64_t i = window.from; i < count && i - window.from < window.count; i++)
        write_row(state, numbers[descending ? count - 1 - i : i], json);
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
    return SXT_OK;
}

int sxt_view_write_position(struct sxt_view_symbols_state *state, const struct sxt_view_search *search,
                            enum sxt_view_order order, bool descending, size_t index, struct sxt_json_writer *json,
                            sxt_error *error)
{
    const uint32_t *numbers;
    size_t count, at = 0;
    int status = choose(state, search, order, &numbers, &count, error);
    if (status != SXT_OK)
        return status;
    while (at < count && numbers[at] != index)
        at++;
    sxt_json_write_begin(json, NULL, '{');
    if (at < count)
        sxt_json_write_number(json, "position", descending ? count - 1 - at : at);
    else
        sxt_json_write_null(json, "position");
    sxt_json_write_end(json, '}');
    return SXT_OK;
}
