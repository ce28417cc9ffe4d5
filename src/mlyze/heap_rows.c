/* heap_rows.c: sums by stack, function, file, thread or size, the highest cost first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/strings.h"
#include "mlyze/heap.h"

/* --- costs --- */

uint64_t sxt_heap_bytes_of(const struct sxt_heap_sums *sums, enum sxt_heap_cost cost)
{
    switch (cost) {
    case SXT_HEAP_BYTES:
    case SXT_HEAP_COUNT:
        return sums->bytes;
    case SXT_HEAP_LIVE:
        return sums->live_bytes;
    case SXT_HEAP_PEAK:
        return sums->peak_bytes;
    case SXT_HEAP_LEAKED:
        return sums->leaked_bytes;
    case SXT_HEAP_TEMPORARY:
        return sums->temporary_bytes;
    case SXT_HEAP_CHURN:
        return sums->churned_bytes;
    case SXT_HEAP_GROWTH:
        return sums->live_bytes > sums->before_bytes ? sums->live_bytes - sums->before_bytes : 0;
    }
    return 0;
}

uint64_t sxt_heap_count_of(const struct sxt_heap_sums *sums, enum sxt_heap_cost cost)
{
    switch (cost) {
    case SXT_HEAP_BYTES:
    case SXT_HEAP_COUNT:
        return sums->count;
    case SXT_HEAP_LIVE:
        return sums->live_count;
    case SXT_HEAP_PEAK:
        return sums->peak_count;
    case SXT_HEAP_LEAKED:
        return sums->leaked_count;
    case SXT_HEAP_TEMPORARY:
        return sums->temporary_count;
    case SXT_HEAP_CHURN:
        return sums->churned_count;
    case SXT_HEAP_GROWTH:
        return sums->live_count > sums->before_count ? sums->live_count - sums->before_count : 0;
    }
    return 0;
}

uint64_t sxt_heap_cost_of(const struct sxt_heap_sums *sums, enum sxt_heap_cost cost)
{
    bool is_count = cost == SXT_HEAP_COUNT || cost == SXT_HEAP_TEMPORARY || cost == SXT_HEAP_CHURN;
    return is_count ? sxt_heap_count_of(sums, cost) : sxt_heap_bytes_of(sums, cost);
}

void sxt_heap_add_sums(struct sxt_heap_sums *to, const struct sxt_heap_sums *from)
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
    const struct sxt_heap_usage *usage;
    enum sxt_heap_key key;
    enum sxt_heap_cost cost;
    struct sxt_heap_rows *out;
    struct sxt_strings names; /* FUNCTION and FILE: number N + 1 is the label of row N */
    uint32_t *last_site;      /* by row: the site + 1 that was added to `inclusive` last */
    size_t last_capacity;
};

static struct sxt_heap_row *new_row(struct row_maker *maker)
{
    struct sxt_heap_rows *rows = maker->out;
    struct sxt_heap_row *moved = sxt_array_grow(rows->rows, &rows->capacity, rows->count + 1, sizeof *moved);
    if (moved == NULL)
        return NULL;
    rows->rows = moved;
    rows->rows[rows->count] = (struct sxt_heap_row){.number = (uint32_t)rows->count};
    return &rows->rows[rows->count++];
}

static sxt_string name_of(const struct row_maker *maker, const struct sxt_mlyze_frame *frame, char room[24])
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(maker->usage->trace);
    return maker->key == SXT_HEAP_FUNCTION ? sxt_mlyze_function(metadata, frame->function, room)
                                           : sxt_mlyze_file(metadata, frame->file, room);
}

/* The row of a function or file; NULL when memory is short. */
static struct sxt_heap_row *named_row(struct row_maker *maker, sxt_string name)
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

/* A function that calls itself has the cost of a stack once. */
static bool add_inclusive(struct row_maker *maker, uint32_t site, sxt_string name, uint64_t cost)
{
    struct sxt_heap_row *row = named_row(maker, name);
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
    const struct sxt_heap_site *site = &maker->usage->sites[number];
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(maker->usage, site->stack);
    uint64_t cost = sxt_heap_cost_of(&site->sums, maker->cost);
    char room[24];
    sxt_string leaf = {room, 0};
    if (stack == NULL || stack->count == 0)
        leaf.size = (size_t)snprintf(room, sizeof room, "stack_%u", site->stack);
    else
        leaf = name_of(maker, &stack->frames[0], room);
    struct sxt_heap_row *row = named_row(maker, leaf);
    if (row == NULL || !add_inclusive(maker, number, leaf, cost))
        return false;
    sxt_heap_add_sums(&row->sums, &site->sums);
    for (uint32_t i = 1; stack != NULL && i < stack->count; i++)
        if (!add_inclusive(maker, number, name_of(maker, &stack->frames[i], room), cost))
            return false;
    return true;
}

/* Blocks may have no bytes; and what shrank is of interest where growth is. */
static bool has_any(const struct sxt_heap_sums *sums, enum sxt_heap_cost cost)
{
    if (cost == SXT_HEAP_GROWTH)
        return sums->live_bytes != sums->before_bytes || sums->live_count != sums->before_count;
    return sxt_heap_bytes_of(sums, cost) > 0 || sxt_heap_count_of(sums, cost) > 0;
}

static bool add_sites(struct row_maker *maker)
{
    const struct sxt_heap_usage *usage = maker->usage;
    for (uint32_t i = 0; i < usage->site_count; i++) {
        const struct sxt_heap_site *site = &usage->sites[i];
        if (!has_any(&site->sums, maker->cost))
            continue;
        if (maker->cost == SXT_HEAP_LEAKED && site->is_suppressed)
            continue;
        if (maker->key != SXT_HEAP_STACK) {
            if (!add_named(maker, i))
                return false;
            continue;
        }
        struct sxt_heap_row *row = new_row(maker);
        if (row == NULL)
            return false;
        row->number = i;
        row->id = site->stack;
        row->sums = site->sums;
    }
    return true;
}

static bool add_array(struct row_maker *maker, const struct sxt_heap_sums *sums, size_t count)
{
    for (size_t i = 0; i < count && sums != NULL; i++) {
        if (!has_any(&sums[i], maker->cost))
            continue;
        struct sxt_heap_row *row = new_row(maker);
        if (row == NULL)
            return false;
        row->number = row->id = (uint32_t)i;
        row->sums = sums[i];
    }
    return true;
}

/* Labels outlive the table that made them unique. */
static bool take_labels(struct row_maker *maker)
{
    struct sxt_heap_rows *rows = maker->out;
    for (size_t i = 0; i < rows->count; i++) {
        sxt_string name = sxt_strings_get(&maker->names, (uint32_t)i + 1);
        rows->rows[i].label = (sxt_string){sxt_arena_copy(&rows->arena, name.data, name.size), name.size};
        if (rows->rows[i].label.data == NULL)
            return false;
    }
    return true;
}

static int compare_rows(const void *left, const void *right, void *cost_of)
{
    const struct sxt_heap_row *a = left, *b = right;
    enum sxt_heap_cost cost = *(enum sxt_heap_cost *)cost_of;
    uint64_t of_a = sxt_heap_cost_of(&a->sums, cost), of_b = sxt_heap_cost_of(&b->sums, cost);
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    if (a->inclusive != b->inclusive)
        return a->inclusive < b->inclusive ? 1 : -1;
    if (a->label.data != NULL && b->label.data != NULL)
        return strcmp(a->label.data, b->label.data);
    return (a->id > b->id) - (a->id < b->id);
}

static bool make_rows(struct row_maker *maker)
{
    const struct sxt_heap_usage *usage = maker->usage;
    if (maker->key == SXT_HEAP_THREAD)
        return add_array(maker, usage->threads, (size_t)UINT16_MAX + 1);
    if (maker->key == SXT_HEAP_SIZE)
        return add_array(maker, usage->sizes, SXT_HEAP_POWERS);
    return add_sites(maker) && (maker->key == SXT_HEAP_STACK || take_labels(maker));
}

int sxt_heap_rows(const struct sxt_heap_usage *usage, enum sxt_heap_key key, enum sxt_heap_cost cost, uint64_t limit,
                  struct sxt_heap_rows *out, sxt_error *error)
{
    struct row_maker maker = {.usage = usage, .key = key, .cost = cost, .out = out};
    *out = (struct sxt_heap_rows){0};
    sxt_arena_init(&out->arena, 0, sxt_arena_separate_default);
    int status = sxt_strings_init(&maker.names, 0, error);
    if (status == SXT_OK && !make_rows(&maker))
        status = sxt_fail_memory(error, out->capacity * sizeof *out->rows);
    if (status == SXT_OK && out->count > 0)
        qsort_r(out->rows, out->count, sizeof *out->rows, compare_rows, &cost);
    out->all = out->count;
    out->count = out->count < limit ? out->count : (size_t)limit;
    sxt_strings_free(&maker.names);
    free(maker.last_site);
    if (status != SXT_OK)
        sxt_heap_rows_free(out);
    return status;
}

void sxt_heap_rows_free(struct sxt_heap_rows *rows)
{
    free(rows->rows);
    sxt_arena_free(&rows->arena);
    *rows = (struct sxt_heap_rows){0};
}
