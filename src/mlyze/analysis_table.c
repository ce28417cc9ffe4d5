/* analysis_table.c: sums by stack, function, file, thread or size, the highest cost first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/strings.h"
#include "mlyze/analysis.h"
#include "mlyze/frame_names.h"

/* --- costs --- */

uint64_t sxt_heap_bytes_of(const sxt_heap_sums *sums, sxt_heap_cost cost)
{
    switch (cost) {
    case SXT_HEAP_COST_BYTES:
    case SXT_HEAP_COST_COUNT:
        return sums->bytes;
    case SXT_HEAP_COST_LIVE:
        return sums->live_bytes;
    case SXT_HEAP_COST_PEAK:
        return sums->peak_bytes;
    case SXT_HEAP_COST_LEAKED:
        return sums->leaked_bytes;
    case SXT_HEAP_COST_TEMPORARY:
        return sums->temporary_bytes;
    case SXT_HEAP_COST_CHURN:
        return sums->churned_bytes;
    case SXT_HEAP_COST_GROWTH:
        return sums->live_bytes > sums->before_bytes ? sums->live_bytes - sums->before_bytes : 0;
    }
    return 0;
}

uint64_t sxt_heap_count_of(const sxt_heap_sums *sums, sxt_heap_cost cost)
{
    switch (cost) {
    case SXT_HEAP_COST_BYTES:
    case SXT_HEAP_COST_COUNT:
        return sums->count;
    case SXT_HEAP_COST_LIVE:
        return sums->live_count;
    case SXT_HEAP_COST_PEAK:
        return sums->peak_count;
    case SXT_HEAP_COST_LEAKED:
        return sums->leaked_count;
    case SXT_HEAP_COST_TEMPORARY:
        return sums->temporary_count;
    case SXT_HEAP_COST_CHURN:
        return sums->churned_count;
    case SXT_HEAP_COST_GROWTH:
        return sums->live_count > sums->before_count ? sums->live_count - sums->before_count : 0;
    }
    return 0;
}

uint64_t sxt_heap_cost_of(const sxt_heap_sums *sums, sxt_heap_cost cost)
{
    return sxt_heap_is_count(cost) ? sxt_heap_count_of(sums, cost) : sxt_heap_bytes_of(sums, cost);
}

/* A table of growth begins with what grew the most, and ends with what shrank the most. */
int sxt_heap_compare_sums(const sxt_heap_sums *a, const sxt_heap_sums *b, sxt_heap_cost cost)
{
    uint64_t of_a = sxt_heap_cost_of(a, cost), of_b = sxt_heap_cost_of(b, cost);
    if (cost == SXT_HEAP_COST_GROWTH && of_a == 0 && of_b == 0) {
        of_a = a->live_bytes - a->before_bytes;
        of_b = b->live_bytes - b->before_bytes;
        if ((of_a == 0) != (of_b == 0))
            return of_a == 0 ? -1 : 1;
    }
    return of_a == of_b ? 0 : of_a < of_b ? 1 : -1;
}

void sxt_heap_add_sums(sxt_heap_sums *to, const sxt_heap_sums *from)
{
    to->bytes += from->bytes;
    to->count += from->count;
    to->live_bytes += from->live_bytes;
    to->live_count += from->live_count;
    to->peak_bytes += from->peak_bytes;
    to->peak_count += from->peak_count;
    to->freed_bytes += from->freed_bytes;
    to->freed_count += from->freed_count;
    if (__builtin_add_overflow(to->lifetime_sum, from->lifetime_sum, &to->lifetime_sum))
        to->lifetime_sum = UINT64_MAX;
    to->lifetime_max = to->lifetime_max > from->lifetime_max ? to->lifetime_max : from->lifetime_max;
    to->temporary_bytes += from->temporary_bytes;
    to->temporary_count += from->temporary_count;
    to->churned_bytes += from->churned_bytes;
    to->churned_count += from->churned_count;
    to->leaked_bytes += from->leaked_bytes;
    to->leaked_count += from->leaked_count;
    to->before_bytes += from->before_bytes;
    to->before_count += from->before_count;
}

/* --- rows --- */

struct row_maker {
    const sxt_heap_usage *usage;
    sxt_heap_key key;
    sxt_heap_cost cost;
    uint64_t limit;
    sxt_heap_table *out;
    struct sxt_strings names; /* FUNCTION and FILE: number N + 1 is the label of row N */
    uint32_t *last_site;      /* by row: the site + 1 that was added to `inclusive` last */
    size_t last_capacity;
    struct sxt_frame_names shown; /* if names are shortened */
};

static sxt_heap_row *new_row(struct row_maker *maker)
{
    sxt_heap_table *rows = maker->out;
    sxt_heap_row *moved = sxt_array_grow(rows->rows, &rows->capacity, rows->count + 1, sizeof *moved);
    if (moved == NULL)
        return NULL;
    rows->rows = moved;
    rows->rows[rows->count] = (sxt_heap_row){.id = (uint32_t)rows->count};
    return &rows->rows[rows->count++];
}

static sxt_string name_of(struct row_maker *maker, const struct sxt_mlyze_frame *frame, char room[24])
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(maker->usage->trace);
    if (maker->key == SXT_HEAP_BY_FILE)
        return sxt_mlyze_file(metadata, frame->file, room);
    if (!maker->shown.shortens)
        return sxt_mlyze_function(metadata, frame->function, room);
    uint32_t number = sxt_frame_names_function(&maker->shown, frame->function);
    return number != SXT_STRINGS_FULL ? sxt_strings_get(&maker->shown.strings, number) : (sxt_string){"?", 1};
}

/* The row of a function or file; NULL if memory is short. */
static sxt_heap_row *named_row(struct row_maker *maker, sxt_string name)
{
    uint32_t number = sxt_strings_add(&maker->names, name.size > 0 ? name.data : "?", name.size > 0 ? name.size : 1);
    if (number == SXT_STRINGS_FULL)
        return NULL;
    if (number <= maker->out->count)
        return &maker->out->rows[number - 1];
    uint32_t *moved = sxt_array_grow(maker->last_site, &maker->last_capacity, number, sizeof *moved);
    if (moved == NULL)
        return NULL;
    maker->last_site = moved;
    maker->last_site[number - 1] = 0;
    return new_row(maker);
}

/* A recursive function gets the cost of a stack once. */
static bool add_inclusive(struct row_maker *maker, uint32_t site, sxt_string name, uint64_t cost)
{
    sxt_heap_row *row = named_row(maker, name);
    if (row == NULL)
        return false;
    uint32_t *last = &maker->last_site[row - maker->out->rows];
    if (*last != site + 1)
        row->inclusive += cost;
    *last = site + 1;
    return true;
}

static bool add_named(struct row_maker *maker, uint32_t number)
{
    uint32_t id = sxt_heap_record(&maker->usage->sites, number)->stack;
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(maker->usage, id);
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(maker->usage->trace);
    uint64_t cost = sxt_heap_sites_cost(&maker->usage->sites, number, maker->cost);
    sxt_heap_sums sums;
    char room[24];
    sxt_string leaf = {room, 0};
    if (stack == NULL || stack->count == 0)
        leaf.size = (size_t)snprintf(room, sizeof room, "stack_%u", id);
    else
        leaf = name_of(maker, sxt_mlyze_node_frame(metadata, stack->node), room);
    sxt_heap_row *row = named_row(maker, leaf);
    if (row == NULL || !add_inclusive(maker, number, leaf, cost))
        return false;
    sxt_heap_sites_get(&maker->usage->sites, number, &sums);
    sxt_heap_add_sums(&row->sums, &sums);
    if (stack == NULL || stack->count == 0)
        return true;
    uint32_t node = sxt_mlyze_node_at(metadata, stack->node)->parent, count = sxt_heap_depth(maker->usage, stack);
    for (uint32_t i = 1; i < count; i++, node = sxt_mlyze_node_at(metadata, node)->parent)
        if (!add_inclusive(maker, number, name_of(maker, sxt_mlyze_node_frame(metadata, node), room), cost))
            return false;
    return true;
}

/* Blocks may have 0 bytes. A table of growth also shows what shrank. */
bool sxt_heap_has_any(const sxt_heap_sums *sums, sxt_heap_cost cost)
{
    if (cost == SXT_HEAP_COST_GROWTH)
        return sums->live_bytes != sums->before_bytes || sums->live_count != sums->before_count;
    return sxt_heap_bytes_of(sums, cost) > 0 || sxt_heap_count_of(sums, cost) > 0;
}

/* Copies the labels, which have to outlive the string table. */
static bool take_labels(struct row_maker *maker)
{
    sxt_heap_table *rows = maker->out;
    for (size_t i = 0; i < rows->count; i++) {
        sxt_string name = sxt_strings_get(&maker->names, (uint32_t)i + 1);
        rows->rows[i].label = (sxt_string){sxt_arena_copy(&rows->arena, name.data, name.size), name.size};
        if (rows->rows[i].label.data == NULL)
            return false;
    }
    return true;
}

static bool is_shown(const struct row_maker *maker, size_t site)
{
    return sxt_heap_sites_is_shown(&maker->usage->sites, site, maker->cost);
}

static bool add_names(struct row_maker *maker)
{
    for (uint32_t i = 0; i < maker->usage->sites.count; i++)
        if (is_shown(maker, i) && (!add_named(maker, i) || maker->shown.no_memory))
            return false;
    return take_labels(maker);
}

static int compare_sites(const void *left, const void *right, void *of_maker)
{
    const struct row_maker *maker = of_maker;
    const struct sxt_heap_sites *sites = &maker->usage->sites;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint32_t stack_a = sxt_heap_record(sites, a)->stack, stack_b = sxt_heap_record(sites, b)->stack;
    int order;
    if (maker->cost == SXT_HEAP_COST_GROWTH) {
        sxt_heap_sums of_a, of_b;
        sxt_heap_sites_get(sites, a, &of_a);
        sxt_heap_sites_get(sites, b, &of_b);
        order = sxt_heap_compare_sums(&of_a, &of_b, maker->cost);
    } else {
        uint64_t of_a = sxt_heap_sites_cost(sites, a, maker->cost), of_b = sxt_heap_sites_cost(sites, b, maker->cost);
        order = of_a == of_b ? 0 : of_a < of_b ? 1 : -1;
    }
    return order != 0 ? order : (stack_a > stack_b) - (stack_a < stack_b);
}

/* Rows are large, so the sites are put in order first, and only those that are wanted become rows. */
static bool add_stacks(struct row_maker *maker)
{
    sxt_heap_table *table = maker->out;
    const sxt_heap_usage *usage = maker->usage;
    uint32_t *order = malloc((usage->sites.count + 1) * sizeof *order);
    size_t all = 0;
    for (uint32_t i = 0; order != NULL && i < usage->sites.count; i++)
        if (is_shown(maker, i))
            order[all++] = i;
    size_t count = all < maker->limit ? all : (size_t)maker->limit;
    table->rows = calloc(count + 1, sizeof *table->rows);
    if (order == NULL || table->rows == NULL) {
        free(order);
        return false;
    }
    if (all > 0)
        qsort_r(order, all, sizeof *order, compare_sites, maker);
    for (size_t i = 0; i < count; i++) {
        table->rows[i] = (sxt_heap_row){.id = sxt_heap_record(&usage->sites, order[i])->stack, .stacks = 1};
        sxt_heap_sites_get(&usage->sites, order[i], &table->rows[i].sums);
    }
    table->count = count;
    table->all = all;
    free(order);
    return true;
}

static bool add_array(struct row_maker *maker, const sxt_heap_sums *sums, size_t count)
{
    for (size_t i = 0; i < count && sums != NULL; i++) {
        if (!sxt_heap_has_any(&sums[i], maker->cost))
            continue;
        sxt_heap_row *row = new_row(maker);
        if (row == NULL)
            return false;
        row->id = (uint32_t)i;
        row->sums = sums[i];
    }
    return true;
}

/* The sizes of blocks are in order of size. */
static int compare_rows(const void *left, const void *right, void *of_maker)
{
    const sxt_heap_row *a = left, *b = right;
    const struct row_maker *maker = of_maker;
    int order = maker->key == SXT_HEAP_BY_SIZE ? 0 : sxt_heap_compare_sums(&a->sums, &b->sums, maker->cost);
    if (order != 0)
        return order;
    if (a->inclusive != b->inclusive)
        return a->inclusive < b->inclusive ? 1 : -1;
    if (a->label.data != NULL && b->label.data != NULL)
        return strcmp(a->label.data, b->label.data);
    return (a->id > b->id) - (a->id < b->id);
}

static bool make_rows(struct row_maker *maker)
{
    const sxt_heap_usage *usage = maker->usage;
    sxt_heap_table *table = maker->out;
    if (maker->key == SXT_HEAP_BY_STACK)
        return add_stacks(maker);
    if (maker->key == SXT_HEAP_BY_THREAD ? !add_array(maker, usage->threads, (size_t)UINT16_MAX + 1)
        : maker->key == SXT_HEAP_BY_SIZE ? !add_array(maker, usage->sizes, SXT_HEAP_POWERS)
                                         : !add_names(maker))
        return false;
    if (table->count > 0)
        qsort_r(table->rows, table->count, sizeof *table->rows, compare_rows, maker);
    table->all = table->count;
    table->count = table->count < maker->limit ? table->count : (size_t)maker->limit;
    return true;
}

int sxt_heap_table_make(const sxt_heap_usage *usage, sxt_heap_key key, sxt_heap_cost cost, uint64_t limit,
                        sxt_heap_table **out, sxt_error *error)
{
    const sxt_heap_view everything = {0};
    return sxt_heap_table_make_view(usage, key, cost, limit, &everything, out, error);
}

int sxt_heap_table_make_view(const sxt_heap_usage *usage, sxt_heap_key key, sxt_heap_cost cost, uint64_t limit,
                             const sxt_heap_view *view, sxt_heap_table **out, sxt_error *error)
{
    *out = NULL;
    if (key == SXT_HEAP_BY_STACK && (view->frames > 0 || view->folds_library || view->shortens_names))
        return sxt_heap_view_stacks(usage, cost, limit, view, out, error);
    sxt_heap_table *table = calloc(1, sizeof *table);
    if (table == NULL)
        return sxt_fail_memory(error, sizeof *table);
    struct row_maker maker = {.usage = usage, .key = key, .cost = cost, .limit = limit, .out = table};
    sxt_arena_init(&table->arena, 0, sxt_arena_separate_default);
    int status = sxt_strings_init(&maker.names, 0, error);
    if (status == SXT_OK && view->shortens_names)
        status = sxt_frame_names_init(&maker.shown, sxt_mlyze_metadata(usage->trace), true, error);
    if (status == SXT_OK && !make_rows(&maker))
        status = sxt_fail_memory(error, (usage->sites.count + table->capacity) * sizeof *table->rows);
    sxt_strings_free(&maker.names);
    if (maker.shown.metadata != NULL)
        sxt_frame_names_free(&maker.shown);
    free(maker.last_site);
    if (status == SXT_OK)
        *out = table;
    else
        sxt_heap_table_free(&table);
    return status;
}

void sxt_heap_table_free(sxt_heap_table **table)
{
    if (*table == NULL)
        return;
    free((*table)->rows);
    sxt_arena_free(&(*table)->arena);
    free(*table);
    *table = NULL;
}

size_t sxt_heap_table_count(const sxt_heap_table *table)
{
    return table->count;
}

size_t sxt_heap_table_unlimited_count(const sxt_heap_table *table)
{
    return table->all;
}

const sxt_heap_row *sxt_heap_table_row(const sxt_heap_table *table, size_t index)
{
    return index < table->count ? &table->rows[index] : NULL;
}
