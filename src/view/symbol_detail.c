/*
 * symbol_detail.c: what is known of one function: its ranges, the calls that were inlined into it, its lines, and its
 * return pads. The function is the whole range that a row of depth 0 is a piece of; pieces have lines of several files.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "view/symbols.h"

/* The most places where lines can change that are looked at. */
#define PLACES_MAX ((size_t)1 << 20)

/* The most other names that are listed, as in answers of lookup. */
#define ALIASES_MAX 256

/* After how many names it is asked whether that takes too long. */
#define BETWEEN 256

/* The rows of a function. */
struct whole {
    uint64_t start, end;
    size_t first, last; /* functions of the list that may be its pieces; those with its name are */
    sxt_string name;
};

static uint64_t end_of(uint64_t start, uint64_t size)
{
    return size <= UINT64_MAX - start ? start + size : UINT64_MAX;
}

static struct whole find_whole(const struct sxt_view_symbols_state *state, size_t index)
{
    const struct sxt_view_functions *functions = &state->functions;
    const struct sxt_view_function *items = functions->items;
    sxt_frame frame = {.function = sxt_view_function_stored(functions, index),
                       .start = items[index].address,
                       .length = items[index].size};
    if (!functions->is_ksym)
        sxt_archive_whole_range(state->archive, &frame);
    struct whole whole = {frame.start, end_of(frame.start, frame.length), index, index,
                          sxt_view_function_name(functions, index)};
    while (whole.first > 0 && items[whole.first - 1].address >= whole.start && items[index].address > whole.start)
        whole.first--;
    while (whole.last + 1 < functions->count && items[whole.last + 1].address > items[index].address &&
           items[whole.last + 1].address < whole.end)
        whole.last++;
    return whole;
}

/* Rows of one name mostly share its bytes. */
static bool same_name(sxt_string a, sxt_string b)
{
    return (a.data == b.data && a.size == b.size) || sxt_string_equal(a, b);
}

static bool is_piece(const struct sxt_view_symbols_state *state, const struct whole *whole, size_t index)
{
    return same_name(sxt_view_function_name(&state->functions, index), whole->name);
}

/* The row after those of a function of the list. */
static size_t end_row(const struct sxt_view_symbols_state *state, size_t index)
{
    const struct sxt_view_functions *functions = &state->functions;
    return index + 1 < functions->count ? functions->items[index + 1].row : sxt_archive_row_count(state->archive);
}

static void begin_part(struct sxt_json_writer *json, uint64_t total, struct sxt_view_window window)
{
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_number(json, "total", total);
    sxt_json_write_number(json, "from", window.from);
    sxt_json_write_begin(json, "items", '[');
}

static void end_part(struct sxt_json_writer *json)
{
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
}

static bool is_in(struct sxt_view_window window, uint64_t number)
{
    return number >= window.from && number - window.from < window.count;
}

static void write_optional(struct sxt_json_writer *json, const char *key, sxt_string value)
{
    if (value.data != NULL)
        sxt_json_write_string(json, key, value);
    else
        sxt_json_write_null(json, key);
}

static void write_known(struct sxt_json_writer *json, const char *key, uint64_t value)
{
    if (value != 0)
        sxt_json_write_number(json, key, value);
    else
        sxt_json_write_null(json, key);
}

static void write_aliases(const struct sxt_view_symbols_state *state, size_t index, struct sxt_json_writer *json)
{
    const struct sxt_view_function *item = &state->functions.items[index];
    sxt_string names[ALIASES_MAX];
    bool ambiguous = false;
    size_t count = 0;
    if (!state->functions.is_ksym) {
        const sxt_frame frame = {
            .function = sxt_view_function_name(&state->functions, index), .start = item->address, .length = item->size};
        count = sxt_archive_aliases(state->archive, &frame, names, ALIASES_MAX, &ambiguous);
    }
    sxt_json_write_begin(json, "aliases", '[');
    for (size_t i = 0; i < count && i < ALIASES_MAX; i++)
        sxt_json_write_string(json, NULL, sxt_view_shown(names[i]));
    sxt_json_write_end(json, ']');
    sxt_json_write_number(json, "alias_count", count);
    sxt_json_write_bool(json, "ambiguous", ambiguous);
}

static uint64_t count_inlines(const struct sxt_view_symbols_state *state, const struct whole *whole)
{
    uint64_t count = 0;
    for (size_t i = whole->first; i <= whole->last && !state->functions.is_ksym; i++)
        if (is_piece(state, whole, i) && end_row(state, i) > state->functions.items[i].row)
            count += end_row(state, i) - state->functions.items[i].row - 1;
    return count;
}

int sxt_view_write_function(struct sxt_view_symbols_state *state, size_t index, struct sxt_json_writer *json,
                            sxt_error *error)
{
    const struct sxt_view_functions *functions = &state->functions;
    const struct sxt_view_function *item = &functions->items[index];
    const struct whole whole = find_whole(state, index);
    sxt_range row = {0};
    (void)error;
    if (!functions->is_ksym)
        (void)sxt_archive_row(state->archive, item->row, &row);
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_number(json, "index", index);
    sxt_json_write_string(json, "name", whole.name);
    write_optional(json, "linkage_name", sxt_view_function_linked(functions, index));
    sxt_json_write_address(json, "address", item->address);
    sxt_json_write_number(json, "size", item->size);
    sxt_json_write_address(json, "whole_start", whole.start);
    sxt_json_write_number(json, "whole_size", whole.end - whole.start);
    if (functions->is_ksym)
        sxt_json_write_string(json, "type", (sxt_string){&(char){(char)item->row}, 1});
    write_optional(json, "file", row.file);
    write_aliases(state, index, json);
    sxt_json_write_number(json, "inlines", count_inlines(state, &whole));
    sxt_json_write_end(json, '}');
    return SXT_OK;
}

static void write_range(const struct sxt_view_symbols_state *state, size_t index, struct sxt_json_writer *json)
{
    const struct sxt_view_function *item = &state->functions.items[index];
    sxt_range row = {0};
    if (!state->functions.is_ksym)
        (void)sxt_archive_row(state->archive, item->row, &row);
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_number(json, "index", index);
    sxt_json_write_address(json, "address", item->address);
    sxt_json_write_number(json, "size", item->size);
    write_optional(json, "file", sxt_view_shown(row.file));
    sxt_json_write_end(json, '}');
}

/* All functions of that name: the pieces of one, or several. */
int sxt_view_write_ranges(struct sxt_view_symbols_state *state, size_t index, struct sxt_view_window window,
                          struct sxt_json_writer *json, sxt_error *error)
{
    const struct sxt_view_functions *functions = &state->functions;
    sxt_string name = sxt_view_function_name(functions, index);
    struct sxt_view_budget budget = {0};
    uint64_t total = 0, bytes = 0;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_number(json, "from", window.from);
    sxt_json_write_begin(json, "items", '[');
    for (size_t i = 0; i < functions->count; i++) {
        if (i % BETWEEN == 0 && sxt_view_is_over(&budget))
            return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "the names are too long to compare all of them");
        if (!same_name(sxt_view_function_name(functions, i), name))
            continue;
        if (is_in(window, total++))
            write_range(state, i, json);
        bytes = end_of(bytes, functions->items[i].size);
    }
    sxt_json_write_end(json, ']');
    sxt_json_write_number(json, "total", total);
    sxt_json_write_number(json, "bytes", bytes);
    sxt_json_write_end(json, '}');
    return SXT_OK;
}

/* In the order of the file, which is that of a tree: what is inlined into a call comes after it. */
int sxt_view_write_inlines(struct sxt_view_symbols_state *state, size_t index, struct sxt_view_window window,
                           struct sxt_json_writer *json, sxt_error *error)
{
    const struct whole whole = find_whole(state, index);
    uint64_t number = 0;
    (void)error;
    begin_part(json, count_inlines(state, &whole), window);
    for (size_t i = whole.first; i <= whole.last && !state->functions.is_ksym; i++) {
        if (!is_piece(state, &whole, i))
            continue;
        for (size_t at = (size_t)state->functions.items[i].row + 1; at < end_row(state, i); at++, number++) {
            sxt_range row;
            if (!is_in(window, number) || sxt_archive_row(state->archive, at, &row) != SXT_OK)
                continue;
            sxt_json_write_begin(json, NULL, '{');
            sxt_json_write_number(json, "depth", row.depth);
            sxt_json_write_string(json, "function", sxt_view_shown(row.function));
            sxt_json_write_address(json, "address", row.address);
            sxt_json_write_number(json, "size", row.length);
            write_optional(json, "file", sxt_view_shown(row.file));
            write_optional(json, "call_file", sxt_view_shown(row.call_file));
            write_known(json, "call_line", row.call_line);
            sxt_json_write_end(json, '}');
        }
    }
    end_part(json);
    return SXT_OK;
}

/* --- lines --- */

/* Addresses where the answer of a lookup may change. */
struct places {
    uint64_t *items;
    size_t count, capacity;
};

static bool add_place(struct places *places, const struct whole *whole, uint64_t address)
{
    if (address < whole->start || address >= whole->end || places->count == PLACES_MAX)
        return true;
    uint64_t *items = sxt_array_grow(places->items, &places->capacity, places->count + 1, sizeof *items);
    if (items == NULL)
        return false;
    places->items = items;
    items[places->count++] = address;
    return true;
}

static bool add_row(const struct sxt_view_symbols_state *state, size_t at, const struct whole *whole,
                    struct places *places)
{
    sxt_range row;
    sxt_line line;
    if (sxt_archive_row(state->archive, at, &row) != SXT_OK)
        return true;
    bool fits = add_place(places, whole, row.address) && add_place(places, whole, end_of(row.address, row.length));
    for (size_t i = 0; fits && i < row.line_count && places->count < PLACES_MAX; i++)
        if (sxt_archive_line(state->archive, at, i, &line) == SXT_OK && line.offset < row.length)
            fits = add_place(places, whole, row.address + line.offset);
    return fits;
}

static int by_address(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static bool same_line(const sxt_frame *a, const sxt_frame *b)
{
    return a->line == b->line && a->depth == b->depth && same_name(a->file, b->file) &&
           same_name(a->function, b->function);
}

/* Keeps the addresses at which the line changes; none if no address has a line. Returns how many. */
static size_t keep_changes(const struct sxt_view_symbols_state *state, struct places *places, bool *is_cut)
{
    struct sxt_view_budget budget = {0};
    size_t kept = 0, known = 0;
    uint64_t last = 0;
    sxt_frame before = {0};
    if (places->count > 1)
        qsort(places->items, places->count, sizeof *places->items, by_address);
    for (size_t i = 0; i < places->count; i++) {
        sxt_frame frame = {0};
        if (i > 0 && places->items[i] == last)
            continue;
        if (i % BETWEEN == 0 && (*is_cut |= sxt_view_is_over(&budget)))
            break;
        last = places->items[i];
        (void)sxt_archive_lookup(state->archive, places->items[i], &frame, 1);
        if (kept > 0 && same_line(&frame, &before))
            continue;
        before = frame;
        known += frame.line != 0;
        places->items[kept++] = places->items[i];
    }
    places->count = known > 0 ? kept : 0;
    return places->count;
}

static void write_line(const struct sxt_view_symbols_state *state, uint64_t start, uint64_t end,
                       struct sxt_json_writer *json)
{
    sxt_frame frame = {0};
    (void)sxt_archive_lookup(state->archive, start, &frame, 1);
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_address(json, "address", start);
    sxt_json_write_number(json, "size", end - start);
    write_optional(json, "file", sxt_view_shown(frame.file));
    write_known(json, "line", frame.line);
    sxt_json_write_number(json, "depth", frame.depth);
    write_optional(json, "function", frame.depth > 0 ? sxt_view_shown(frame.function) : (sxt_string){NULL, 0});
    sxt_json_write_end(json, '}');
}

/* The lines that lookups give in the range, from each address on where they change. */
int sxt_view_write_lines(struct sxt_view_symbols_state *state, size_t index, struct sxt_view_window window,
                         struct sxt_json_writer *json, sxt_error *error)
{
    const struct whole whole = find_whole(state, index);
    struct places places = {0};
    bool fits = true;
    for (size_t i = whole.first; i <= whole.last && !state->functions.is_ksym; i++)
        for (size_t at = state->functions.items[i].row; fits && at < end_row(state, i); at++)
            fits = add_row(state, at, &whole, &places);
    if (!fits) {
        free(places.items);
        return sxt_fail_memory(error, places.count * sizeof *places.items);
    }
    bool is_cut = places.count == PLACES_MAX;
    begin_part(json, keep_changes(state, &places, &is_cut), window);
    for (size_t i = 0; i < places.count; i++)
        if (is_in(window, i))
            write_line(state, places.items[i], i + 1 < places.count ? places.items[i + 1] : whole.end, json);
    sxt_json_write_end(json, ']');
    sxt_json_write_bool(json, "is_cut", is_cut);
    sxt_json_write_end(json, '}');
    free(places.items);
    return SXT_OK;
}

/* --- return pads --- */

struct pads {
    const struct whole *whole;
    struct sxt_view_window window;
    struct sxt_json_writer json;
    uint64_t count;
};

/* As dump prints it: outermost frame first. */
static bool write_pad(void *data, uint64_t address, const sxt_pad_frame *frames, size_t count)
{
    struct pads *pads = data;
    if (address < pads->whole->start || address >= pads->whole->end || !is_in(pads->window, pads->count++))
        return true;
    struct sxt_json_writer *json = &pads->json;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_address(json, "va", address);
    sxt_json_write_begin(json, "frames", '[');
    for (size_t i = 0; i < count; i++) {
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_string(json, "function", sxt_view_shown(frames[i].function));
        write_optional(json, "file", sxt_view_shown(frames[i].file));
        write_known(json, "line", frames[i].line);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
    return true;
}

int sxt_view_write_pads(struct sxt_view_symbols_state *state, size_t index, struct sxt_view_window window,
                        struct sxt_json_writer *json, sxt_error *error)
{
    const struct whole whole = find_whole(state, index);
    struct sxt_buffer items;
    sxt_buffer_init(&items, json->out->maximum);
    struct pads pads = {&whole, window, sxt_json_writer_make(&items, SXT_JSON_COMPACT), 0};
    sxt_record_visitor visitor;
    sxt_record_visitor_init(&visitor);
    visitor.pad = write_pad;
    visitor.data = &pads;
    sxt_json_write_begin(&pads.json, NULL, '[');
    int status = state->info.return_pads > 0 ? sxt_archive_visit(state->archive, &visitor, error) : SXT_OK;
    sxt_json_write_end(&pads.json, ']');
    if (status == SXT_OK)
        status = sxt_buffer_status(&items, error);
    if (status == SXT_OK) {
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_number(json, "total", pads.count);
        sxt_json_write_number(json, "from", window.from);
        sxt_json_write_text(json, "items", (sxt_string){(const char *)items.data, items.size});
        sxt_json_write_end(json, '}');
    }
    sxt_buffer_free(&items);
    return status;
}
