/* heap_fold.c: the rows of a heap page, with small stacks folded. */
#include "report/heap_fold.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define METRICS 4    /* allocated, temporary, leaked, at the peak */
#define MUCH    2000 /* a caller takes much if it has this part of any metric */

struct folding {
    const struct sxt_heap_bins *bins;
    struct sxt_heap_calls *calls;
    struct sxt_heap_fold *fold;
    size_t rows, nodes;
    double *row_parts;  /* METRICS of each row */
    double *node_parts; /* the same of each node, with everything below it */
    uint32_t *counts;   /* of each row: its entries */
    uint32_t *order;    /* rows, those that take most first */
    uint32_t *to;       /* by row of the bins: row of the page */
};

static size_t end_of(const struct sxt_heap_bins *bins, size_t bin)
{
    return bin + 1 < sxt_heap_bins_count(bins) ? sxt_heap_bins_get(bins, bin + 1)->first
                                               : sxt_heap_bins_entry_count(bins);
}

void sxt_heap_fold_free(struct sxt_heap_fold *fold)
{
    free(fold->rows);
    free(fold->first);
    free(fold->own);
    *fold = (struct sxt_heap_fold){.rows = NULL};
}

/* --- what rows and nodes take --- */

static size_t find_peak(const struct sxt_heap_bins *bins)
{
    size_t best = 0;
    for (size_t i = 1; i < sxt_heap_bins_count(bins); i++)
        if (sxt_heap_bins_get(bins, i)->peak_bytes > sxt_heap_bins_get(bins, best)->peak_bytes)
            best = i;
    return best;
}

static void sum_rows(struct folding *folding)
{
    const struct sxt_heap_bins *bins = folding->bins;
    const struct sxt_heap_bin_entry *entries = sxt_heap_bins_entries(bins);
    size_t peak = find_peak(bins);
    for (size_t bin = 0; bin < sxt_heap_bins_count(bins); bin++)
        for (size_t i = sxt_heap_bins_get(bins, bin)->first; i < end_of(bins, bin); i++) {
            const struct sxt_heap_bin_entry *entry = &entries[i];
            double *parts = &folding->row_parts[METRICS * (size_t)entry->row];
            parts[0] += (double)entry->bytes;
            parts[1] += (double)entry->temporary_bytes;
            parts[2] += (double)entry->leaked_bytes;
            parts[3] += bin < peak    ? (double)entry->bytes - (double)entry->freed_bytes
                        : bin == peak ? (double)entry->peak_bytes
                                      : 0;
            folding->counts[entry->row]++;
        }
}

/* Makes parts of the whole of all sums. */
static void divide(struct folding *folding)
{
    double totals[METRICS] = {0};
    for (size_t i = 0; i < METRICS * folding->rows; i++)
        totals[i % METRICS] += folding->row_parts[i];
    for (size_t i = 0; i < METRICS * folding->rows; i++)
        folding->row_parts[i] = totals[i % METRICS] > 0 ? folding->row_parts[i] / totals[i % METRICS] : 0;
}

static void sum_nodes(struct folding *folding)
{
    for (size_t row = 0; row < folding->rows; row++)
        for (int i = 0; i < METRICS; i++)
            folding->node_parts[METRICS * (size_t)folding->fold->rows[row].node + i] +=
                folding->row_parts[METRICS * row + i];
    for (size_t node = folding->nodes; node-- > 1;)
        for (int i = 0; i < METRICS; i++)
            folding->node_parts[METRICS * (size_t)folding->calls->nodes[node].parent + i] +=
                folding->node_parts[METRICS * node + i];
}

static double largest(const double *parts)
{
    double most = 0;
    for (int i = 0; i < METRICS; i++)
        most = parts[i] > most ? parts[i] : most;
    return most;
}

static int compare_rows(const void *left, const void *right, void *of_parts)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const double *parts = of_parts;
    double first = largest(parts + METRICS * (size_t)a), second = largest(parts + METRICS * (size_t)b);
    if (first != second)
        return first > second ? -1 : 1;
    return (a > b) - (a < b);
}

/* --- rows of the page --- */

/* The innermost caller of a node that takes much, or the root. */
static uint32_t find_caller(const struct folding *folding, uint32_t node)
{
    while (node != 0 && largest(folding->node_parts + METRICS * (size_t)node) < 1.0 / MUCH)
        node = folding->calls->nodes[node].parent;
    return node;
}

/* The number of the row for small stacks below a caller. It is searched by a key, as strings are. */
static uint32_t find_folded(struct folding *folding, struct sxt_strings *keys, struct sxt_heap_fold_row *rows,
                            const struct sxt_heap_fold_row *row, size_t kept)
{
    uint32_t user = sxt_heap_calls_user_frame(folding->calls, row->node), leaf = folding->calls->nodes[row->node].frame;
    uint32_t key[5] = {find_caller(folding, row->node), row->thread, row->is_suppressed, user, leaf};
    uint32_t number = sxt_strings_add(keys, (const char *)key, sizeof key);
    folding->calls->no_memory |= number == SXT_STRINGS_FULL;
    if (number == SXT_STRINGS_FULL)
        return 0;
    size_t to = kept + number - 1;
    if (to == folding->fold->row_count) {
        rows[to] = *row;
        rows[to].node = sxt_heap_calls_add_small(folding->calls, key[0], user, leaf);
        folding->fold->row_count++;
    }
    return (uint32_t)to;
}

/* The rows that take most stay. */
static int choose_rows(struct folding *folding, size_t most, sxt_error *error)
{
    struct sxt_heap_fold *fold = folding->fold;
    struct sxt_heap_fold_row *rows = malloc((folding->rows + 1) * sizeof *rows);
    struct sxt_strings keys = {.count = 0};
    int status =
        rows != NULL ? sxt_strings_init(&keys, 0, error) : sxt_fail_memory(error, folding->rows * sizeof *rows);
    if (status != SXT_OK) {
        free(rows);
        return status;
    }
    qsort_r(folding->order, folding->rows, sizeof *folding->order, compare_rows, folding->row_parts);
    size_t kept = 0, entries = 0;
    for (; kept < folding->rows && entries + folding->counts[folding->order[kept]] <= most; kept++) {
        entries += folding->counts[folding->order[kept]];
        rows[kept] = fold->rows[folding->order[kept]];
        folding->to[folding->order[kept]] = (uint32_t)kept;
    }
    fold->row_count = kept;
    fold->folded = folding->rows - kept;
    for (size_t i = kept; i < folding->rows && !folding->calls->no_memory; i++)
        folding->to[folding->order[i]] = find_folded(folding, &keys, rows, &fold->rows[folding->order[i]], kept);
    sxt_strings_free(&keys);
    free(fold->rows);
    fold->rows = rows;
    return folding->calls->no_memory ? sxt_fail_memory(error, folding->rows) : SXT_OK;
}

/* --- entries of the page --- */

static void add(struct sxt_heap_bin_entry *to, const struct sxt_heap_bin_entry *from)
{
    to->bytes += from->bytes;
    to->count += from->count;
    to->freed_bytes += from->freed_bytes;
    to->freed_count += from->freed_count;
    to->temporary_bytes += from->temporary_bytes;
    to->temporary_count += from->temporary_count;
    to->leaked_bytes += from->leaked_bytes;
    to->leaked_count += from->leaked_count;
    to->peak_bytes += from->peak_bytes;
    to->peak_count += from->peak_count;
}

static int compare_entries(const void *left, const void *right)
{
    const struct sxt_heap_bin_entry *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

static int join_entries(struct folding *folding, sxt_error *error)
{
    const struct sxt_heap_bins *bins = folding->bins;
    struct sxt_heap_fold *fold = folding->fold;
    size_t all = sxt_heap_bins_entry_count(bins);
    fold->own = malloc((all + 1) * sizeof *fold->own);
    size_t *places = calloc(fold->row_count + 1, sizeof *places); /* by row: 1 more than the place of its last entry */
    if (fold->own == NULL || places == NULL) {
        free(places);
        return sxt_fail_memory(error, all * sizeof *fold->own);
    }
    fold->entry_count = 0;
    for (size_t bin = 0; bin < sxt_heap_bins_count(bins); bin++) {
        size_t first = fold->first[bin] = fold->entry_count;
        for (size_t i = sxt_heap_bins_get(bins, bin)->first; i < end_of(bins, bin); i++) {
            const struct sxt_heap_bin_entry *entry = &sxt_heap_bins_entries(bins)[i];
            uint32_t row = folding->to[entry->row];
            if (places[row] <= first) {
                fold->own[fold->entry_count++] = (struct sxt_heap_bin_entry){.row = row};
                places[row] = fold->entry_count;
            }
            add(&fold->own[places[row] - 1], entry);
        }
        qsort(fold->own + first, fold->entry_count - first, sizeof *fold->own, compare_entries);
    }
    fold->first[sxt_heap_bins_count(bins)] = fold->entry_count;
    fold->entries = fold->own;
    free(places);
    return SXT_OK;
}

/* Drops the nodes of stacks that are folded: the page computes with every node that it has. */
static int drop_nodes(struct folding *folding, sxt_error *error)
{
    struct sxt_heap_fold *fold = folding->fold;
    uint32_t *to = calloc(folding->calls->node_count, sizeof *to);
    if (to == NULL)
        return sxt_fail_memory(error, folding->calls->node_count * sizeof *to);
    for (size_t i = 0; i < fold->row_count; i++)
        to[fold->rows[i].node] = 1;
    int status = sxt_heap_calls_prune(folding->calls, to, error);
    for (size_t i = 0; i < fold->row_count; i++)
        fold->rows[i].node = to[fold->rows[i].node];
    free(to);
    return status;
}

/* --- both --- */

static int fold_rows(struct folding *folding, size_t most, sxt_error *error)
{
    folding->row_parts = calloc(METRICS * (folding->rows + 1), sizeof *folding->row_parts);
    folding->node_parts = calloc(METRICS * (folding->nodes + 1), sizeof *folding->node_parts);
    folding->counts = calloc(folding->rows + 1, sizeof *folding->counts);
    folding->order = calloc(folding->rows + 1, sizeof *folding->order);
    folding->to = calloc(folding->rows + 1, sizeof *folding->to);
    int status = SXT_OK;
    if (folding->row_parts == NULL || folding->node_parts == NULL || folding->counts == NULL ||
        folding->order == NULL || folding->to == NULL)
        status = sxt_fail_memory(error, METRICS * folding->nodes * sizeof *folding->node_parts);
    if (status == SXT_OK) {
        for (size_t i = 0; i < folding->rows; i++)
            folding->order[i] = (uint32_t)i;
        sum_rows(folding);
        divide(folding);
        sum_nodes(folding);
        status = choose_rows(folding, most, error);
    }
    if (status == SXT_OK)
        status = join_entries(folding, error);
    if (status == SXT_OK)
        status = drop_nodes(folding, error);
    free(folding->row_parts);
    free(folding->node_parts);
    free(folding->counts);
    free(folding->order);
    free(folding->to);
    return status;
}

int sxt_heap_fold_make(struct sxt_heap_fold *fold, const struct sxt_heap_bins *bins, struct sxt_heap_fold_row *rows,
                       struct sxt_heap_calls *calls, size_t most, sxt_error *error)
{
    size_t count = sxt_heap_bins_count(bins);
    *fold = (struct sxt_heap_fold){
        .rows = rows,
        .row_count = sxt_heap_bins_row_count(bins),
        .entries = sxt_heap_bins_entries(bins),
        .entry_count = sxt_heap_bins_entry_count(bins),
        .first = malloc((count + 1) * sizeof *fold->first),
    };
    int status = fold->first != NULL ? SXT_OK : sxt_fail_memory(error, count * sizeof *fold->first);
    if (status == SXT_OK && fold->entry_count > most) {
        struct folding folding = {
            .bins = bins, .calls = calls, .fold = fold, .rows = fold->row_count, .nodes = calls->node_count};
        status = fold_rows(&folding, most, error);
    } else if (status == SXT_OK) {
        for (size_t i = 0; i <= count; i++)
            fold->first[i] = i < count ? sxt_heap_bins_get(bins, i)->first : fold->entry_count;
    }
    if (status != SXT_OK)
        sxt_heap_fold_free(fold);
    return status;
}
