/*
 * query.c: runs a query. Items go through the filter one by one, into rows or into groups; groups go through the filter
 * after "group"; the rest is sorted, added up and cut to the limit.
 */
#include "size/query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/priority_queue.h"
#include "base/string.h"
#include "size/query_private.h"

static const char padding_name[] = "Overhead: aggregate padding of diff'ed symbols";

const char *sxt_size_status_name(sxt_size_status status)
{
    static const char *const names[] = {"unchanged", "changed", "added", "removed"};
    return names[status & 3];
}

/* --- items --- */

size_t sxt_size_query_item_count(const struct sxt_size_query_subject *subject)
{
    if (subject->delta != NULL)
        return subject->delta->pair_count + subject->delta->padding_count;
    return subject->size->symbol_count;
}

/* The fields of an item that depend on its symbol alone. */
static void describe(const struct sxt_size_info *owner, const struct sxt_size_model_symbol *symbol,
                     struct sxt_size_query_item *out)
{
    const struct sxt_size_segment *segment = &owner->segments[symbol->segment];
    *out = (struct sxt_size_query_item){
        .owner = owner,
        .symbol = symbol,
        .container = owner->containers[segment->container].name,
        .section = segment->section,
        .full_name = sxt_size_full_name(symbol),
        .size = symbol->size,
        .padding = symbol->padding,
        .aliases = sxt_size_alias_count(owner, symbol),
        .is_bss = segment->is_bss,
    };
    out->pss = (double)out->size / out->aliases;
}

static void describe_pair(const struct sxt_size_delta *delta, const struct sxt_size_pair *pair,
                          struct sxt_size_query_item *out)
{
    if (pair->after != SXT_SIZE_NONE)
        describe(delta->after, &delta->after->symbols[pair->after], out);
    else
        describe(delta->before, &delta->before->symbols[pair->before], out);
    out->status = pair->status;
    out->size = sxt_size_pair_size(delta, pair);
    out->pss = sxt_size_pair_pss(delta, pair);
    if (pair->status == SXT_SIZE_REMOVED)
        out->padding = -out->padding;
    else if (pair->status != SXT_SIZE_ADDED)
        out->padding = 0;
}

static void describe_padding(const struct sxt_size_delta *delta, const struct sxt_size_padding_change *change,
                             struct sxt_size_query_item *out)
{
    *out = (struct sxt_size_query_item){
        .owner = delta->after,
        .container = change->container,
        .section = change->section,
        .full_name = {padding_name, sizeof padding_name - 1},
        .size = change->bytes,
        .padding = change->bytes,
        .pss = (double)change->bytes,
        .aliases = 1,
        .is_bss = sxt_size_is_bss(change->section),
        .status = SXT_SIZE_ADDED,
    };
}

void sxt_size_query_get_item(const struct sxt_size_query_subject *subject, size_t index,
                             struct sxt_size_query_item *out)
{
    const struct sxt_size_delta *delta = subject->delta;
    if (delta == NULL)
        describe(subject->size, &subject->size->symbols[index], out);
    else if (index < delta->pair_count)
        describe_pair(delta, &delta->pairs[index], out);
    else
        describe_padding(delta, &delta->paddings[index - delta->pair_count], out);
}

/* --- rows --- */

struct run {
    const struct sxt_size_query *query;
    const struct sxt_size_query_subject *subject;
    struct filter filter;
    struct groups groups;
    struct group_sum total;
    bool counts_items; /* all that pass the filter are in the result, in some row */
    struct sxt_size_result *result;
    size_t capacity;
};

static int add_row(struct run *run, const struct sxt_size_result_row *row, sxt_error *error)
{
    struct sxt_size_result *result = run->result;
    struct sxt_size_result_row *moved =
        sxt_array_grow(result->rows, &run->capacity, result->row_count + 1, sizeof *moved);
    if (moved == NULL)
        return sxt_fail_memory(error, run->capacity * sizeof *moved);
    result->rows = moved;
    result->rows[result->row_count++] = *row;
    return SXT_OK;
}

static int add_item(struct run *run, const struct sxt_size_query_item *item, size_t index, sxt_error *error)
{
    if (run->counts_items)
        sxt_group_add_to_sum(&run->total, item, index);
    if (run->query->key_count > 0)
        return sxt_groups_add(&run->groups, item, index, error);
    struct sxt_size_result_row row = {.pss = item->pss,
                                      .size = item->size,
                                      .padding = item->padding,
                                      .count = 1,
                                      .item = (uint32_t)index,
                                      .status = item->status};
    return add_row(run, &row, error);
}

static int choose_items(struct run *run, sxt_error *error)
{
    size_t count = sxt_size_query_item_count(run->subject);
    int status = SXT_OK;
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        struct sxt_size_query_item item;
        sxt_size_query_get_item(run->subject, i, &item);
        if (sxt_filter_item(&run->filter, &item))
            status = add_item(run, &item, i, error);
        if (run->filter.failed || run->filter.buffer.failed)
            status = sxt_fail_memory(error, run->filter.buffer.size);
    }
    return status;
}

/*
 * Where groups are left out, the rest is summed up by group. A list of aliases that is in several of them is in the sum
 * of sizes as often; that of pss is exact.
 */
static void add_group_to_total(struct run *run, const struct sxt_size_result_row *row, bool is_bss)
{
    struct sxt_size_query_item sum = {
        .size = row->size, .padding = row->padding, .pss = row->pss, .status = row->status};
    sum.is_bss = is_bss;
    sxt_group_add_to_sum(&run->total, &sum, row->item);
    run->total.bss_count += is_bss ? row->count - 1 : 0;
    run->total.row.count += row->count - 1;
}

static int choose_groups(struct run *run, sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = 0; i < run->groups.count && status == SXT_OK; i++) {
        struct sxt_size_result_row row = sxt_group_finish_sum(&run->groups.sums[i]);
        if (!sxt_filter_group(&run->filter, &row, sxt_size_row_label(run->result, &row, 0)))
            continue;
        if (!run->counts_items)
            add_group_to_total(run, &row, run->groups.sums[i].bss_count == row.count);
        status = add_row(run, &row, error);
    }
    return status;
}

/* --- order --- */

static int compare_names(const struct run *run, const struct sxt_size_result_row *a,
                         const struct sxt_size_result_row *b)
{
    const struct sxt_size_result *result = run->result;
    int order = 0;
    for (size_t i = 0; i < result->key_count && order == 0; i++)
        order = sxt_string_compare(sxt_size_row_label(result, a, i), sxt_size_row_label(result, b, i));
    if (result->key_count > 0)
        return order;
    struct sxt_size_query_item left, right;
    sxt_size_query_get_item(run->subject, a->item, &left);
    sxt_size_query_get_item(run->subject, b->item, &right);
    order = sxt_string_compare(left.full_name, right.full_name);
    if (order == 0)
        order = sxt_string_compare(sxt_size_query_object(&left), sxt_size_query_object(&right));
    return order != 0 ? order : sxt_string_compare(left.section, right.section);
}

/* What a row is sorted by, when that is a number: how much it is, or how much it changed. */
static double sort_number(const struct run *run, const struct sxt_size_result_row *row)
{
    struct sxt_size_query_item item;
    switch (run->query->sort) {
    case SORT_PSS:
        return fabs(row->pss);
    case SORT_SIZE:
        return fabs((double)row->size);
    case SORT_PADDING:
        return fabs((double)row->padding);
    case SORT_COUNT:
        return (double)row->count;
    case SORT_ALIASES:
        sxt_size_query_get_item(run->subject, row->item, &item);
        return item.aliases;
    default:
        return 0;
    }
}

static uint64_t address_of(const struct run *run, const struct sxt_size_result_row *row)
{
    struct sxt_size_query_item item;
    sxt_size_query_get_item(run->subject, row->item, &item);
    return item.symbol != NULL ? item.symbol->address : 0;
}

static int compare_two(const struct sxt_size_result_row *a, const struct sxt_size_result_row *b, const struct run *run)
{
    int order = 0;
    if (run->query->sort == SORT_ADDRESS) {
        uint64_t first = address_of(run, a), second = address_of(run, b);
        order = (first > second) - (first < second);
    } else if (run->query->sort != SORT_NAME) {
        double first = sort_number(run, a), second = sort_number(run, b);
        order = (first > second) - (first < second);
    }
    /* Only the sort key is reversed; equal rows are in the order of their names, and then of the file. */
    if (order != 0)
        return run->query->ascending ? order : -order;
    order = compare_names(run, a, b);
    if (order != 0)
        return run->query->sort == SORT_NAME && !run->query->ascending ? -order : order;
    return (a->item > b->item) - (a->item < b->item);
}

static int compare_rows(const void *left, const void *right, void *run)
{
    return compare_two(left, right, run);
}

/* --- the first of many --- */

static bool comes_later(const void *context, uint32_t a, uint32_t b)
{
    const struct run *run = context;
    return compare_two(&run->result->rows[a], &run->result->rows[b], run) > 0;
}

/* Moves the rows that will be shown to the front, so that only they have to be sorted. */
static int keep_first(struct run *run, sxt_error *error)
{
    struct sxt_size_result *result = run->result;
    size_t wanted = (size_t)run->query->limit;
    struct sxt_queue heap = {.items = malloc((wanted + 1) * sizeof *heap.items)};
    if (heap.items == NULL)
        return sxt_fail_memory(error, wanted * sizeof *heap.items);
    for (uint32_t i = 0; i < result->row_count; i++) {
        if (heap.count == wanted && (wanted == 0 || !comes_later(run, heap.items[0], i)))
            continue;
        sxt_queue_push(&heap, i, comes_later, run);
        if (heap.count > wanted)
            sxt_queue_pop(&heap, comes_later, run);
    }
    struct sxt_size_result_row *rows = calloc(wanted + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < heap.count; i++)
        rows[i] = result->rows[heap.items[i]];
    free(heap.items);
    if (rows == NULL)
        return sxt_fail_memory(error, wanted * sizeof *rows);
    free(result->rows);
    result->rows = rows;
    result->row_count = heap.count;
    return SXT_OK;
}

/* --- running a query --- */

static int run_query(struct run *run, sxt_error *error)
{
    struct sxt_size_result *result = run->result;
    int status = choose_items(run, error);
    if (status == SXT_OK && run->query->key_count > 0)
        status = choose_groups(run, error);
    if (status != SXT_OK)
        return status;
    result->total = sxt_group_finish_sum(&run->total);
    result->all_rows = result->row_count;
    if (run->query->limit < result->row_count / 8)
        status = keep_first(run, error);
    if (status == SXT_OK && result->row_count > 1)
        qsort_r(result->rows, result->row_count, sizeof *result->rows, compare_rows, run);
    if (status == SXT_OK && result->row_count > run->query->limit)
        result->row_count = (size_t)run->query->limit;
    return status;
}

int sxt_size_query_run(const struct sxt_size_query *query, const struct sxt_size_query_subject *subject,
                       struct sxt_size_result *out, sxt_error *error)
{
    memset(out, 0, sizeof *out);
    if (query->asks_for_status && subject->delta == NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "only a diff has a status, and this is not a diff");
    if (sxt_size_query_item_count(subject) >= SXT_SIZE_NONE)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "a query takes at most 2^32 symbols");
    struct run run = {.query = query, .subject = subject, .result = out};
    run.counts_items = query->groups_filter == NO_NODE && !query->drops_nameless;
    int status = sxt_strings_init(&out->texts, 0, error);
    if (status != SXT_OK)
        return status;
    out->key_count = query->key_count;
    for (size_t i = 0; i < query->key_count; i++)
        out->keys[i] = query->keys[i].name;
    sxt_filter_init(&run.filter, query, subject);
    sxt_group_start_sum(&run.total);
    status = sxt_groups_init(&run.groups, query, subject, &out->texts, error);
    if (status == SXT_OK)
        status = run_query(&run, error);
    sxt_groups_free(&run.groups);
    sxt_filter_free(&run.filter);
    if (status != SXT_OK)
        sxt_size_result_clear(out);
    return status;
}

void sxt_size_result_clear(struct sxt_size_result *result)
{
    free(result->rows);
    sxt_strings_free(&result->texts);
    memset(result, 0, sizeof *result);
}

sxt_string sxt_size_row_label(const struct sxt_size_result *result, const struct sxt_size_result_row *row, size_t key)
{
    return sxt_strings_get(&result->texts, row->labels[key]);
}
