/*
 * size_page.c: the data of a page about sizes, or about a diff of sizes.
 *
 * Block "symbols" has, for each row in the order of the file, columns in this order: segment (differences), path
 * (differences), component (differences), size without padding, padding, flags, aliases, address: the low and the high
 * half (see add_address); and in a diff also status, size before, size after, and the change in proportional size, 8
 * bytes each (IEEE 754).
 * Block "paths" has the lists of components, object paths and source paths: a path of a row is a pair of them.
 * Block "names" has the stored names, one a line.
 * Block "labels" has their short names and namespaces, see size_labels.h.
 * Block "disassembly" has a column of rows (differences), and for each of them the stored text: the list of those
 * before, and the list of those after. One side may be empty.
 * Block "inlined" has the functions that were inlined, see size_about.h; it is only there for a binary with DWARF.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "base/strings.h"
#include "report/columns.h"
#include "report/report.h"
#include "report/size_about.h"
#include "report/size_labels.h"
#include "report/size_small.h"

/* The columns of a row. */
enum {
    COLUMN_SEGMENT,
    COLUMN_PATH,
    COLUMN_COMPONENT,
    COLUMN_SIZE,
    COLUMN_PADDING,
    COLUMN_FLAGS,
    COLUMN_ALIASES,
    COLUMN_ADDRESS,
    COLUMN_ADDRESS_HIGH,
    COLUMNS_OF_SIZES,
    COLUMN_STATUS = COLUMNS_OF_SIZES,
    COLUMN_BEFORE,
    COLUMN_AFTER,
    COLUMNS
};

/* Pairs of strings, numbered in the order of first use. */
struct pairs {
    struct sxt_strings first, second, keys; /* a key is the two numbers */
    uint32_t (*list)[2];
    size_t capacity;
};

struct making {
    struct sxt_page *page;
    const struct sxt_page_sizes *sizes;
    const sxt_size_info *info;
    const sxt_size_diff *diff;
    struct sxt_column columns[COLUMNS];
    struct sxt_buffer changes; /* in proportional size */
    struct sxt_buffer names;
    struct sxt_strings components;
    struct pairs paths, segments;
    bool *is_bss; /* by segment */
    size_t is_bss_capacity;
    bool *is_left_out; /* by symbol: unchanged */
    struct sxt_size_small small;
    uint64_t next_address;
    size_t rows;
    sxt_error *error;
};

/* --- numbering --- */

static int pairs_init(struct pairs *pairs, sxt_error *error)
{
    int status = sxt_strings_init(&pairs->first, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&pairs->second, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&pairs->keys, 0, error);
    return status;
}

static void pairs_free(struct pairs *pairs)
{
    sxt_strings_free(&pairs->first);
    sxt_strings_free(&pairs->second);
    sxt_strings_free(&pairs->keys);
    free(pairs->list);
}

/* The number of a pair, from 0; SXT_STRINGS_FULL when memory is short. */
static uint32_t pairs_add(struct pairs *pairs, sxt_string first, sxt_string second)
{
    uint32_t key[2] = {sxt_strings_add(&pairs->first, first.data, first.size),
                       sxt_strings_add(&pairs->second, second.data, second.size)};
    size_t before = pairs->keys.count;
    uint32_t number = sxt_strings_add(&pairs->keys, (const char *)key, sizeof key);
    if (key[0] == SXT_STRINGS_FULL || key[1] == SXT_STRINGS_FULL || number == SXT_STRINGS_FULL)
        return SXT_STRINGS_FULL;
    number--; /* number 0 of the table is the empty string */
    if (pairs->keys.count > before) {
        void *moved = sxt_array_grow(pairs->list, &pairs->capacity, number + (size_t)1, sizeof *pairs->list);
        if (moved == NULL)
            return SXT_STRINGS_FULL;
        pairs->list = moved;
        memcpy(pairs->list[number], key, sizeof key);
    }
    return number;
}

/* --- rows --- */

/*
 * A symbol of a binary mostly begins where the one before it ends, so what is stored of the low half is how far it is
 * from there.
 */
static void add_address(struct making *making, const sxt_size_symbol *symbol)
{
    uint32_t expected = (uint32_t)making->next_address + (uint32_t)symbol->padding;
    sxt_column_add_signed(&making->columns[COLUMN_ADDRESS], (int32_t)((uint32_t)symbol->address - expected));
    sxt_column_add_next(&making->columns[COLUMN_ADDRESS_HIGH], (int64_t)(symbol->address >> 32));
    making->next_address = symbol->address + (uint64_t)(symbol->size - symbol->padding);
}

static bool note_segment(struct making *making, uint32_t number, bool is_bss)
{
    bool *moved = sxt_array_grow(making->is_bss, &making->is_bss_capacity, number + (size_t)1, sizeof *moved);
    if (moved == NULL)
        return false;
    making->is_bss = moved;
    making->is_bss[number] = is_bss;
    return true;
}

/* A name that has a line end itself is shown with a blank there. */
static void add_line(struct sxt_buffer *lines, sxt_string name)
{
    uint8_t *to = sxt_buffer_extend(lines, name.size + 1);
    if (to == NULL)
        return;
    for (size_t i = 0; i < name.size; i++)
        to[i] = name.data[i] == '\n' ? ' ' : (uint8_t)name.data[i];
    to[name.size] = '\n';
}

/* PLACE: the numbers of its segment, path and component. */
static void add_row(struct making *making, const uint32_t place[3], const sxt_size_symbol *symbol)
{
    struct sxt_column *columns = making->columns;
    sxt_column_add_next(&columns[COLUMN_SEGMENT], place[0]);
    sxt_column_add_next(&columns[COLUMN_PATH], place[1]);
    sxt_column_add_next(&columns[COLUMN_COMPONENT], place[2]);
    sxt_column_add_signed(&columns[COLUMN_SIZE], symbol->size - symbol->padding);
    sxt_column_add_signed(&columns[COLUMN_PADDING], symbol->padding);
    sxt_column_add(&columns[COLUMN_FLAGS], symbol->flags);
    sxt_column_add(&columns[COLUMN_ALIASES], symbol->aliases);
    add_address(making, symbol);
    if (making->diff != NULL) {
        sxt_column_add(&columns[COLUMN_STATUS], symbol->status);
        sxt_column_add_signed(&columns[COLUMN_BEFORE], symbol->size_before);
        sxt_column_add_signed(&columns[COLUMN_AFTER], symbol->size_after);
        sxt_buffer_append(&making->changes, &symbol->pss, sizeof symbol->pss);
    }
    add_line(&making->names, symbol->full_name);
    making->rows++;
}

/* Adds a symbol as a row, or to the small ones. False if memory is short. */
static bool add_symbol(struct making *making, const sxt_size_symbol *symbol, bool *is_folded)
{
    const uint32_t place[3] = {
        pairs_add(&making->segments, symbol->container, symbol->section),
        pairs_add(&making->paths, symbol->object_path, symbol->source_path),
        sxt_strings_add(&making->components, symbol->component.data, symbol->component.size),
    };
    if (place[0] == SXT_STRINGS_FULL || place[1] == SXT_STRINGS_FULL || place[2] == SXT_STRINGS_FULL ||
        !note_segment(making, place[0], symbol->is_bss))
        return false;
    *is_folded = making->small.below > 0 && sxt_size_small_folds(&making->small, symbol);
    if (*is_folded)
        return sxt_size_small_add(&making->small, place, symbol);
    add_row(making, place, symbol);
    return true;
}

static void add_small_rows(struct making *making)
{
    for (size_t i = 0; i < making->small.count; i++) {
        const struct sxt_size_small_sum *sum = &making->small.sums[i];
        const uint32_t place[3] = {sum->segment, sum->path, sum->component};
        char name[48];
        snprintf(name, sizeof name, "%llu small symbol%s", (unsigned long long)sum->count, sum->count == 1 ? "" : "s");
        sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
        symbol.size = sum->size;
        symbol.padding = sum->padding;
        symbol.aliases = 1;
        symbol.full_name = sxt_string_of(name);
        add_row(making, place, &symbol);
    }
}

static size_t count_symbols(const struct making *making)
{
    return making->diff != NULL ? sxt_size_diff_symbol_count(making->diff) : sxt_size_info_symbol_count(making->info);
}

static int add_rows(struct making *making)
{
    for (size_t i = 0; i < count_symbols(making); i++) {
        sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
        if (making->diff != NULL)
            sxt_size_diff_symbol(making->diff, i, &symbol);
        else
            sxt_size_info_symbol(making->info, i, &symbol);
        making->is_left_out[i] = making->diff != NULL && symbol.status == SXT_SIZE_UNCHANGED;
        if (!making->is_left_out[i] && !add_symbol(making, &symbol, &making->is_left_out[i]))
            return sxt_fail_memory(making->error, making->names.size);
    }
    add_small_rows(making);
    return SXT_OK;
}

/* --- blocks --- */

static int add_block(struct making *making, const char *name, struct sxt_buffer *table)
{
    int status = sxt_page_add_block(making->page, name, table, making->error);
    sxt_buffer_free(table);
    return status;
}

static int add_symbols(struct making *making)
{
    struct sxt_buffer table;
    sxt_buffer_init(&table, SIZE_MAX);
    for (int i = 0; i < (making->diff != NULL ? COLUMNS : COLUMNS_OF_SIZES); i++)
        sxt_column_finish(&making->columns[i], &table);
    sxt_buffer_append(&table, making->changes.data, making->changes.size);
    table.failed |= making->changes.failed;
    return add_block(making, "symbols", &table);
}

static void add_strings(struct sxt_buffer *table, const struct sxt_strings *strings)
{
    struct sxt_string_column column;
    sxt_string_column_init(&column);
    for (uint32_t i = 0; i < strings->count; i++)
        sxt_string_column_add(&column, sxt_strings_get(strings, i));
    sxt_string_column_finish(&column, table);
}

static int add_paths(struct making *making)
{
    struct sxt_buffer table;
    struct sxt_column objects, sources;
    sxt_buffer_init(&table, SIZE_MAX);
    sxt_column_init(&objects);
    sxt_column_init(&sources);
    for (uint32_t i = 0; i + 1 < making->paths.keys.count; i++) {
        sxt_column_add_next(&objects, making->paths.list[i][0]);
        sxt_column_add_next(&sources, making->paths.list[i][1]);
    }
    add_strings(&table, &making->components);
    add_strings(&table, &making->paths.first);
    add_strings(&table, &making->paths.second);
    sxt_column_finish(&objects, &table);
    sxt_column_finish(&sources, &table);
    return add_block(making, "paths", &table);
}

/* --- labels --- */

static int add_labels(struct making *making)
{
    const struct sxt_size_query_subject subject = {.size = making->info,
                                                   .delta = making->diff != NULL ? &making->diff->delta : NULL};
    struct sxt_buffer table;
    sxt_buffer_init(&table, SIZE_MAX);
    int status = sxt_page_write_labels(&subject, making->is_left_out, making->small.count, &table, making->error);
    if (status == SXT_OK)
        status = sxt_page_add_block(making->page, "labels", &table, making->error);
    sxt_buffer_free(&table);
    return status;
}

/* --- disassembly --- */

/* The text that is stored with one side of a symbol; empty if there is none. */
static sxt_string stored_text(const sxt_size_info *info, size_t index)
{
    sxt_string text = {NULL, 0};
    if (info == NULL || index == SXT_SIZE_NONE || sxt_size_info_disassembly(info, index, &text) != SXT_OK)
        return (sxt_string){"", 0};
    return text;
}

static void get_texts(const struct making *making, size_t index, sxt_string *before, sxt_string *after)
{
    const struct sxt_size_delta *delta = making->diff != NULL ? &making->diff->delta : NULL;
    *before = *after = (sxt_string){"", 0};
    if (delta == NULL) {
        *after = stored_text(making->info, index);
    } else if (index < delta->pair_count) {
        *before = stored_text(delta->before, delta->pairs[index].before);
        *after = stored_text(delta->after, delta->pairs[index].after);
    }
}

static int add_disassembly(struct making *making)
{
    struct sxt_buffer table;
    struct sxt_column rows;
    struct sxt_string_column befores, afters;
    size_t row = 0;
    sxt_buffer_init(&table, SIZE_MAX);
    sxt_column_init(&rows);
    sxt_string_column_init(&befores);
    sxt_string_column_init(&afters);
    for (size_t i = 0; i < count_symbols(making); i++) {
        sxt_string before, after;
        if (making->is_left_out[i])
            continue;
        get_texts(making, i, &before, &after);
        if (before.size > 0 || after.size > 0) {
            sxt_column_add_next(&rows, (int64_t)row);
            sxt_string_column_add(&befores, before);
            sxt_string_column_add(&afters, after);
        }
        row++;
    }
    sxt_column_finish(&rows, &table);
    sxt_string_column_finish(&befores, &table);
    sxt_string_column_finish(&afters, &table);
    return add_block(making, "disassembly", &table);
}

static int add_inlined(struct making *making)
{
    struct sxt_buffer table;
    if (making->sizes->inlined == NULL)
        return SXT_OK;
    sxt_buffer_init(&table, SIZE_MAX);
    sxt_page_write_inlined(making->sizes->inlined, &table);
    return add_block(making, "inlined", &table);
}

/* --- what the page is about --- */

static void write_segments(struct sxt_json_writer *json, const struct making *making)
{
    sxt_json_write_begin(json, "segments", '[');
    for (uint32_t i = 0; i + 1 < making->segments.keys.count; i++) {
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_string(json, "container", sxt_strings_get(&making->segments.first, making->segments.list[i][0]));
        sxt_json_write_string(json, "section", sxt_strings_get(&making->segments.second, making->segments.list[i][1]));
        sxt_json_write_bool(json, "is_bss", making->is_bss[i]);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
}

static int add_json(struct making *making)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    struct sxt_json_writer json = sxt_json_writer_make(&text, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_number(&json, "rows", making->rows);
    if (making->small.folded > 0) {
        sxt_json_write_number(&json, "small_symbols", making->small.folded);
        sxt_json_write_number(&json, "small_rows", making->small.count);
        sxt_json_write_number(&json, "small_below", (uint64_t)making->small.below);
    }
    write_segments(&json, making);
    int status = sxt_page_write_about(&json, making->sizes, making->error);
    sxt_json_write_end(&json, '}');
    if (status == SXT_OK)
        sxt_page_add_json(making->page, &text);
    sxt_buffer_free(&text);
    return status;
}

static int fill(struct making *making)
{
    making->is_left_out = calloc(count_symbols(making) + 1, sizeof *making->is_left_out);
    if (making->is_left_out == NULL)
        return sxt_fail_memory(making->error, count_symbols(making));
    int status = sxt_strings_init(&making->components, 0, making->error);
    if (status == SXT_OK)
        status = pairs_init(&making->paths, making->error);
    if (status == SXT_OK)
        status = pairs_init(&making->segments, making->error);
    if (status == SXT_OK)
        status = sxt_size_small_init(&making->small, making->info, making->sizes->row_most, making->error);
    if (status == SXT_OK)
        status = add_rows(making);
    if (status == SXT_OK)
        status = add_json(making);
    if (status == SXT_OK)
        status = add_symbols(making);
    if (status == SXT_OK)
        status = add_paths(making);
    if (status == SXT_OK)
        status = sxt_page_add_block(making->page, "names", &making->names, making->error);
    if (status == SXT_OK)
        status = add_labels(making);
    if (status == SXT_OK)
        status = add_disassembly(making);
    if (status == SXT_OK)
        status = add_inlined(making);
    return status;
}

int sxt_page_make_size(struct sxt_page *page, const struct sxt_page_sizes *sizes, sxt_error *error)
{
    struct making making = {.page = page, .sizes = sizes, .info = sizes->info, .diff = sizes->diff, .error = error};
    for (int i = 0; i < COLUMNS; i++)
        sxt_column_init(&making.columns[i]);
    sxt_buffer_init(&making.changes, SIZE_MAX);
    sxt_buffer_init(&making.names, SIZE_MAX);
    int status = fill(&making);
    for (int i = 0; i < COLUMNS; i++)
        sxt_buffer_free(&making.columns[i].bytes);
    sxt_buffer_free(&making.changes);
    sxt_buffer_free(&making.names);
    sxt_strings_free(&making.components);
    pairs_free(&making.paths);
    pairs_free(&making.segments);
    free(making.is_bss);
    free(making.is_left_out);
    sxt_size_small_free(&making.small);
    return status;
}
