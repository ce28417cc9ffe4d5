/*
 * analysis_diff.c: what changed between the runs of two sides. A figure of a side is the median of its runs, and a
 * change that other runs could undo is noise:
 *
 *     before   |---x--|                              growth: the ranges of the runs do not overlap, and the medians x
 *     after              |-x--|                      are further apart than either range is wide
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "base/string.h"
#include "base/strings.h"
#include "mlyze/analysis_match.h"

struct sxt_heap_diff {
    struct sxt_matches matches;
    struct diff_row {
        uint32_t row; /* of the matches */
        bool is_noise;
        uint64_t distance; /* of the cost that sorts */
        sxt_heap_sums sums[2];
    } * rows;
};

/* A value of each run: a figure is made of it. */
struct run_values {
    uint64_t items[2 * SXT_HEAP_RUNS_MOST];
};

/* --- figures --- */

static enum sxt_match_figure figure_of(sxt_heap_metric metric)
{
    static const enum sxt_match_figure figures[] = {SXT_MATCH_PEAK_BYTES, SXT_MATCH_LEAKED_BYTES, SXT_MATCH_BYTES,
                                                    SXT_MATCH_COUNT, SXT_MATCH_LEAKED_COUNT};
    return figures[metric];
}

static int compare_values(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The median, and the ends of the range. VALUES are sorted. */
static uint64_t summarise(uint64_t *values, size_t count, uint64_t *least, uint64_t *most)
{
    qsort(values, count, sizeof *values, compare_values);
    *least = values[0];
    *most = values[count - 1];
    uint64_t low = values[(count - 1) / 2], high = values[count / 2];
    return low + (high - low) / 2;
}

static bool is_noise(const sxt_heap_figure *figure)
{
    uint64_t change = figure->after > figure->before ? figure->after - figure->before : figure->before - figure->after;
    uint64_t spread_before = figure->before_most - figure->before_least;
    uint64_t spread_after = figure->after_most - figure->after_least;
    bool overlap = figure->before_least <= figure->after_most && figure->after_least <= figure->before_most;
    return change > 0 && (overlap || change <= spread_before || change <= spread_after);
}

/* The order of VALUES changes. */
static sxt_heap_figure make_figure(const sxt_heap_diff *diff, struct run_values *values)
{
    size_t before = diff->matches.before_count, after = diff->matches.run_count - before;
    sxt_heap_figure figure = {0};
    figure.before = summarise(values->items, before, &figure.before_least, &figure.before_most);
    figure.after = summarise(values->items + before, after, &figure.after_least, &figure.after_most);
    figure.is_noise = is_noise(&figure);
    return figure;
}

static sxt_heap_figure row_figure(const sxt_heap_diff *diff, uint32_t row, enum sxt_match_figure which)
{
    struct run_values values;
    for (size_t run = 0; run < diff->matches.run_count; run++)
        values.items[run] = sxt_match_value(&diff->matches, row, run, which);
    return make_figure(diff, &values);
}

static uint64_t total_of(const sxt_heap_usage *usage, sxt_heap_metric metric)
{
    uint64_t bytes, count;
    switch (metric) {
    case SXT_HEAP_METRIC_PEAK:
        return usage->total.peak_bytes;
    case SXT_HEAP_METRIC_LEAKED:
        sxt_heap_suppressed(usage, &bytes, &count);
        return usage->total.leaked_bytes - bytes;
    case SXT_HEAP_METRIC_LEAKED_BLOCKS:
        sxt_heap_suppressed(usage, &bytes, &count);
        return usage->total.leaked_count - count;
    case SXT_HEAP_METRIC_ALLOCATED:
        return usage->total.bytes;
    case SXT_HEAP_METRIC_ALLOCATIONS:
        return usage->total.count;
    }
    return 0;
}

void sxt_heap_diff_total(const sxt_heap_diff *diff, sxt_heap_metric metric, sxt_heap_figure *out)
{
    struct run_values values;
    for (size_t run = 0; run < diff->matches.run_count; run++)
        values.items[run] = total_of(diff->matches.runs[run], metric);
    sxt_heap_figure figure = make_figure(diff, &values);
    sxt_result_give(out, &figure, sizeof figure);
}

bool sxt_heap_diff_figure(const sxt_heap_diff *diff, size_t index, sxt_heap_metric metric, sxt_heap_figure *out)
{
    if (index >= diff->matches.row_count)
        return false;
    sxt_heap_figure figure = row_figure(diff, diff->rows[index].row, figure_of(metric));
    sxt_result_give(out, &figure, sizeof figure);
    return true;
}

/* --- one function --- */

/* "f(int)" is called f, and "operator()(int)" operator(). IS_SHORT: "f<>(int)" is called f, too. */
static bool is_called(sxt_string name, sxt_string function, bool is_short)
{
    if (name.size < function.size || memcmp(name.data, function.data, function.size) != 0 || function.size == 0)
        return false;
    if (name.size == function.size)
        return true;
    sxt_string rest = {name.data + function.size, name.size - function.size};
    if (function.size >= 8 && memcmp(function.data + function.size - 8, "operator", 8) == 0)
        return false;
    if (is_short && sxt_string_begins(rest, "<>"))
        rest = (sxt_string){rest.data + 2, rest.size - 2};
    return rest.size == 0 || rest.data[0] == '(';
}

/* By number of a name, whether FUNCTION means it: as it is stored, or as it is shown. NULL if memory is short. */
static bool *find_meant(const struct sxt_strings *names, sxt_string function)
{
    bool *is_meant = calloc((size_t)names->count + 1, 1);
    char *shortened = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; is_meant != NULL && i < names->count; i++) {
        sxt_string name = sxt_strings_get(names, i);
        is_meant[i] = is_called(name, function, false);
        char *moved = is_meant[i] ? NULL : sxt_array_grow(shortened, &capacity, name.size + 1, 1);
        if (moved == NULL)
            continue;
        shortened = moved;
        is_meant[i] = is_called((sxt_string){moved, sxt_trace_shorten_name(name, moved)}, function, true);
    }
    free(shortened);
    return is_meant;
}

int sxt_heap_diff_function(const sxt_heap_diff *diff, sxt_string function, sxt_heap_metric metric, sxt_heap_figure *out,
                           sxt_error *error)
{
    const struct sxt_matches *matches = &diff->matches;
    struct run_values values = {0};
    bool *is_meant = find_meant(&matches->functions, function), *has_it = NULL, is_known = false;
    if (is_meant != NULL)
        has_it = sxt_match_find_functions(matches, is_meant);
    free(is_meant);
    if (has_it == NULL)
        return sxt_fail_memory(error, matches->nodes.count);
    for (size_t row = 0; row < matches->row_count; row++) {
        if (!has_it[matches->rows[row].node])
            continue;
        is_known = true;
        for (size_t run = 0; run < matches->run_count; run++)
            values.items[run] += sxt_match_value(matches, row, run, figure_of(metric));
    }
    free(has_it);
    sxt_heap_figure figure = make_figure(diff, &values);
    sxt_result_give(out, &figure, sizeof figure);
    return is_known ? SXT_OK
                    : sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no stack has the function '%.*s'",
                               (int)(function.size < 200 ? function.size : 200), function.data);
}

/* --- rows --- */

/* Fills in the medians. The row is noise if all figures that changed are; what leaked is live, but may be suppressed.
 */
static bool fill_row(const sxt_heap_diff *diff, struct diff_row *row)
{
    bool has_changed = false, is_certain = false;
    for (enum sxt_match_figure which = 0; which < SXT_MATCH_FIGURES; which++) {
        sxt_heap_figure figure = row_figure(diff, row->row, which);
        const uint64_t medians[2] = {figure.before, figure.after};
        for (int side = 0; side < 2; side++) {
            sxt_heap_sums *sums = &row->sums[side];
            uint64_t *const places[SXT_MATCH_FIGURES] = {&sums->bytes,        &sums->count,       &sums->peak_bytes,
                                                         &sums->peak_count,   &sums->live_bytes,  &sums->live_count,
                                                         &sums->leaked_bytes, &sums->leaked_count};
            *places[which] = medians[side];
        }
        bool counts = which != SXT_MATCH_LIVE_BYTES && which != SXT_MATCH_LIVE_COUNT && figure.before != figure.after;
        has_changed |= counts;
        is_certain |= counts && !figure.is_noise;
    }
    return has_changed && !is_certain;
}

static uint64_t distance_of(const struct diff_row *row, sxt_heap_cost cost)
{
    uint64_t before = sxt_heap_cost_of(&row->sums[0], cost), after = sxt_heap_cost_of(&row->sums[1], cost);
    return before > after ? before - after : after - before;
}

/* What is certain first, then the largest change. */
static int compare_rows(const void *left, const void *right)
{
    const struct diff_row *a = left, *b = right;
    if (a->is_noise != b->is_noise)
        return a->is_noise ? 1 : -1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? 1 : -1;
    return (a->row > b->row) - (a->row < b->row);
}

static int make_rows(sxt_heap_diff *diff, sxt_heap_cost cost, sxt_error *error)
{
    size_t count = diff->matches.row_count;
    diff->rows = calloc(count + 1, sizeof *diff->rows);
    if (diff->rows == NULL)
        return sxt_fail_memory(error, count * sizeof *diff->rows);
    for (size_t i = 0; i < count; i++) {
        struct diff_row *row = &diff->rows[i];
        row->row = (uint32_t)i;
        row->is_noise = fill_row(diff, row);
        row->distance = distance_of(row, cost);
    }
    qsort(diff->rows, count, sizeof *diff->rows, compare_rows);
    return SXT_OK;
}

/* --- the public functions --- */

void sxt_heap_diff_options_init(sxt_heap_diff_options *options)
{
    *options = (sxt_heap_diff_options){.struct_size = sizeof *options};
}

int sxt_heap_diff_runs(const sxt_heap_usage *const *before, size_t before_count, const sxt_heap_usage *const *after,
                       size_t after_count, const sxt_heap_diff_options *given, sxt_heap_diff **out, sxt_error *error)
{
    sxt_heap_diff_options options;
    *out = NULL;
    sxt_heap_diff_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_heap_diff_options_init", error);
    if (status != SXT_OK)
        return status;
    if (before_count == 0 || after_count == 0 || before_count > SXT_HEAP_RUNS_MOST || after_count > SXT_HEAP_RUNS_MOST)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "each side needs 1 to %d runs", SXT_HEAP_RUNS_MOST);
    sxt_heap_diff *diff = calloc(1, sizeof *diff);
    size_t count = before_count + after_count;
    if (diff != NULL)
        diff->matches.runs = calloc(count, sizeof *diff->matches.runs);
    if (diff == NULL || diff->matches.runs == NULL) {
        sxt_heap_diff_free(&diff);
        return sxt_fail_memory(error, sizeof *diff);
    }
    memcpy(diff->matches.runs, before, before_count * sizeof *before);
    memcpy(diff->matches.runs + before_count, after, after_count * sizeof *after);
    diff->matches.run_count = count;
    diff->matches.before_count = before_count;
    diff->matches.maps = (struct sxt_path_maps){options.path_maps, options.path_map_count};
    status = sxt_matches_make(&diff->matches, error);
    if (status == SXT_OK)
        status = make_rows(diff, options.cost, error);
    if (status == SXT_OK)
        *out = diff;
    else
        sxt_heap_diff_free(&diff);
    return status;
}

int sxt_heap_diff_make(const sxt_heap_usage *before, const sxt_heap_usage *after, sxt_heap_cost cost,
                       sxt_heap_diff **out, sxt_error *error)
{
    sxt_heap_diff_options options;
    sxt_heap_diff_options_init(&options);
    options.cost = cost;
    return sxt_heap_diff_runs(&before, 1, &after, 1, &options, out, error);
}

void sxt_heap_diff_free(sxt_heap_diff **diff)
{
    if (*diff == NULL)
        return;
    sxt_matches_free(&(*diff)->matches);
    free((*diff)->rows);
    free(*diff);
    *diff = NULL;
}

size_t sxt_heap_diff_count(const sxt_heap_diff *diff)
{
    return diff->matches.row_count;
}

bool sxt_heap_diff_get(const sxt_heap_diff *diff, size_t index, sxt_heap_change *out)
{
    if (index >= diff->matches.row_count)
        return false;
    const struct diff_row *row = &diff->rows[index];
    const struct sxt_match_row *match = &diff->matches.rows[row->row];
    *out = (sxt_heap_change){
        .before = match->stacks[0],
        .after = match->stacks[1],
        .sums_before = &row->sums[0],
        .sums_after = &row->sums[1],
    };
    return true;
}

bool sxt_heap_diff_get_origin(const sxt_heap_diff *diff, size_t index, sxt_heap_origin *out)
{
    if (index >= diff->matches.row_count)
        return false;
    const struct sxt_match_row *match = &diff->matches.rows[diff->rows[index].row];
    uint32_t before_count = (uint32_t)diff->matches.before_count;
    sxt_heap_origin origin = {
        .run_before = match->runs[0],
        .run_after = match->stacks[1] == SXT_TRACE_NO_ID ? 0 : match->runs[1] - before_count,
        .is_noise = diff->rows[index].is_noise,
    };
    sxt_result_give(out, &origin, sizeof origin);
    return true;
}
