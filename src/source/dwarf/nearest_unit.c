/* nearest_unit.c: reads a unit, and finds out which function has the smallest range at which address. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "source/dwarf/nearest.h"

#define BUDGET_TIMES 16
#define BUDGET_MORE  ((uint64_t)16 << 20)
/* Ranges of one function that a new one is compared with, to join it to one that it touches. */
#define TOUCH_MAX 64

static struct nearest_unit *make_unit(struct nearest_worker *worker, const struct dwarf_unit *header);
static bool collect_claims(struct nearest_worker *worker, size_t *count);
static bool sweep(struct nearest_worker *worker, size_t count);

void sxt_nearest_worker_init(struct nearest_worker *worker, const struct sxt_dwarf *dwarf)
{
    memset(worker, 0, sizeof *worker);
    sxt_dwarf_abbrevs_init(&worker->abbrevs);
    worker->effort.left = (uint64_t)dwarf->main.sections[DWARF_INFO].size * BUDGET_TIMES + BUDGET_MORE;
    worker->abbrevs.effort = worker->functions.ranges.effort = worker->lines.effort = &worker->effort;
}

void sxt_nearest_worker_free(struct nearest_worker *worker)
{
    sxt_dwarf_abbrevs_free(&worker->abbrevs);
    sxt_dwarf_functions_free(&worker->functions);
    sxt_dwarf_lines_free(&worker->lines);
    free(worker->claims);
    free(worker->heap);
    free(worker->pieces);
    memset(worker, 0, sizeof *worker);
}

void sxt_nearest_unit_free(struct nearest_unit *unit)
{
    if (unit == NULL)
        return;
    free(unit->functions);
    free(unit->pieces);
    free(unit->paths);
    sxt_dwarf_lines_free(&unit->lines);
    free(unit);
}

static bool nothing_is_dead(const void *context, uint64_t start)
{
    (void)context;
    (void)start;
    return false;
}

bool sxt_nearest_unit_read(struct nearest_worker *worker, const struct sxt_dwarf *dwarf, size_t number,
                           struct nearest_unit **out)
{
    /* GNU addr2line does not know that linkers throw code away. */
    static const struct dwarf_dead nothing = {.code_at_zero = true, .code_at_one = true};
    const struct dwarf_unit *header = &dwarf->main.units[number];
    *out = NULL;
    if (!sxt_dwarf_enter(&worker->context, &worker->root, &worker->abbrevs, &dwarf->main, header, NULL) ||
        !worker->root.has_lines || !sxt_dwarf_lines_read_header(&worker->lines, &worker->context, worker->root.lines))
        return true;
    if (worker->lines.version >= 5)
        worker->lines.first_file = 0;
    sxt_dwarf_lines_run(&worker->lines, true, nothing_is_dead, NULL);
    sxt_dwarf_walk(&worker->context, &worker->root, &nothing, DWARF_WALK_GNU, &worker->functions);
    size_t count;
    if (worker->lines.no_memory || worker->functions.no_memory || worker->functions.ranges.no_memory ||
        !collect_claims(worker, &count) || !sweep(worker, count))
        return false;
    *out = make_unit(worker, header);
    return *out != NULL;
}

/* A copy of COUNT items; for none, too, it is an allocation. */
static void *copy_of(const void *items, size_t count, size_t size)
{
    void *copy = malloc(count * size + 1);
    if (copy != NULL && count > 0)
        memcpy(copy, items, count * size);
    return copy;
}

/* Takes what is worth keeping out of the worker's memory. */
static struct nearest_unit *make_unit(struct nearest_worker *worker, const struct dwarf_unit *header)
{
    struct nearest_unit *unit = calloc(1, sizeof *unit);
    if (unit == NULL)
        return NULL;
    const struct dwarf_functions *functions = &worker->functions;
    unit->header = header;
    unit->directory = worker->root.directory;
    unit->function_count = functions->node_count;
    unit->functions = malloc(functions->node_count * sizeof *unit->functions + 1);
    unit->piece_count = worker->piece_count;
    unit->pieces = copy_of(worker->pieces, worker->piece_count, sizeof *unit->pieces);
    unit->lines = worker->lines;
    unit->lines.effort = NULL;
    unit->lines.sequences = NULL;
    unit->lines.sequence_count = unit->lines.sequence_capacity = 0;
    unit->lines.spare = NULL;
    unit->lines.spare_capacity = 0;
    unit->lines.directories = copy_of(worker->lines.directories, worker->lines.directory_count, sizeof(sxt_string));
    unit->lines.files = copy_of(worker->lines.files, worker->lines.file_count, sizeof(struct dwarf_file_entry));
    unit->lines.rows = copy_of(worker->lines.rows, worker->lines.row_count, sizeof(struct dwarf_row));
    if (unit->functions == NULL || unit->pieces == NULL || unit->lines.directories == NULL ||
        unit->lines.files == NULL || unit->lines.rows == NULL) {
        sxt_nearest_unit_free(unit);
        return NULL;
    }
    for (size_t i = 0; i < functions->node_count; i++) {
        const struct dwarf_node *node = &functions->nodes[i];
        unit->functions[i] = (struct nearest_function){
            .origin = node->origin,
            .start = node->range_count > 0 ? functions->ranges.list[node->first_range].start : 0,
            .parent = node->parent,
            .call_file = node->call_file,
            .call_line = node->call_line,
            .origin_is_alternate = node->origin_is_alternate,
        };
    }
    return unit;
}

/*
 * Joins ranges of one function that touch, as GNU addr2line does while it reads them: a range is added to the first one
 * that ends where it begins or begins where it ends, and the first of all is asked first, then the newest. Returns how
 * many are left.
 */
static uint32_t join_ranges(struct dwarf_range *list, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct dwarf_range range = list[i];
        uint32_t found = DWARF_NONE;
        for (uint32_t k = 0; k < kept && k < TOUCH_MAX && found == DWARF_NONE; k++) {
            uint32_t other = k == 0 ? 0 : kept - k;
            if (range.start == list[other].end || range.end == list[other].start)
                found = other;
        }
        if (found == DWARF_NONE)
            list[kept++] = range;
        else if (range.start == list[found].end)
            list[found].end = range.end;
        else
            list[found].start = range.start;
    }
    return kept;
}

static int by_start(const void *a, const void *b)
{
    const struct dwarf_claim *first = a;
    const struct dwarf_claim *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return first->node < second->node ? -1 : first->node > second->node;
}

static bool collect_claims(struct nearest_worker *worker, size_t *out_count)
{
    struct dwarf_functions *functions = &worker->functions;
    size_t most = functions->ranges.count + 1, count = 0;
    struct dwarf_claim *claims = sxt_array_grow(worker->claims, &worker->claim_capacity, most, sizeof *claims);
    if (claims != NULL)
        worker->claims = claims;
    uint32_t *heap = sxt_array_grow(worker->heap, &worker->heap_capacity, most, sizeof *heap);
    if (heap != NULL)
        worker->heap = heap;
    if (claims == NULL || heap == NULL)
        return false;
    bool ordered = true;
    for (uint32_t i = 0; i < functions->node_count; i++) {
        struct dwarf_node *node = &functions->nodes[i];
        struct dwarf_range *list = functions->ranges.list + node->first_range;
        if (node->range_count > 1)
            node->range_count = join_ranges(list, node->range_count);
        for (uint32_t k = 0; k < node->range_count; k++) {
            ordered = ordered && (count == 0 || claims[count - 1].start <= list[k].start);
            claims[count++] = (struct dwarf_claim){list[k].start, list[k].end, i};
        }
    }
    if (!ordered)
        qsort(claims, count, sizeof *claims, by_start);
    *out_count = count;
    return true;
}

/* Of two functions at an address the one with the smaller range counts, and of equals the later one. */
static bool is_better(const struct dwarf_claim *a, const struct dwarf_claim *b)
{
    uint64_t first = a->end - a->start, second = b->end - b->start;
    return first != second ? first < second : a->node > b->node;
}

static void heap_push(struct nearest_worker *worker, size_t *size, uint32_t claim)
{
    const struct dwarf_claim *claims = worker->claims;
    uint32_t *heap = worker->heap;
    size_t at = (*size)++;
    for (; at > 0 && is_better(&claims[claim], &claims[heap[(at - 1) / 2]]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = claim;
}

static void heap_pop(struct nearest_worker *worker, size_t *size)
{
    const struct dwarf_claim *claims = worker->claims;
    uint32_t *heap = worker->heap;
    uint32_t last = heap[--*size];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= *size)
            break;
        if (child + 1 < *size && is_better(&claims[heap[child + 1]], &claims[heap[child]]))
            child++;
        if (!is_better(&claims[heap[child]], &claims[last]))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
}

static bool add_piece(struct nearest_worker *worker, uint64_t start, uint32_t function)
{
    if (worker->piece_count > 0 && worker->pieces[worker->piece_count - 1].function == function)
        return true;
    struct nearest_piece *pieces =
        sxt_array_grow(worker->pieces, &worker->piece_capacity, worker->piece_count + 1, sizeof *pieces);
    if (pieces == NULL)
        return false;
    worker->pieces = pieces;
    pieces[worker->piece_count++] = (struct nearest_piece){start, function};
    return true;
}

/* Goes over the addresses where a range begins or ends; the best claim that has begun is on top of the heap. */
static bool sweep(struct nearest_worker *worker, size_t count)
{
    const struct dwarf_claim *claims = worker->claims;
    size_t next = 0, heap_size = 0;
    uint64_t at = 0;
    worker->piece_count = 0;
    while (next < count || heap_size > 0) {
        if (heap_size == 0)
            at = claims[next].start;
        while (next < count && claims[next].start <= at)
            heap_push(worker, &heap_size, (uint32_t)next++);
        while (heap_size > 0 && claims[worker->heap[0]].end <= at)
            heap_pop(worker, &heap_size);
        uint32_t owner = heap_size > 0 ? claims[worker->heap[0]].node : DWARF_NONE;
        if (!add_piece(worker, at, owner))
            return false;
        if (heap_size == 0)
            continue;
        at = claims[worker->heap[0]].end;
        if (next < count && claims[next].start < at)
            at = claims[next].start;
    }
    return true;
}
