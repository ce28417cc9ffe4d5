/* gnu_unit.c: reads a unit, and keeps what lookups of addresses need. */
#include <stdlib.h>
#include <string.h>

#include "source/dwarf/gnu.h"

#define BUDGET_TIMES 16
#define BUDGET_MORE  ((uint64_t)16 << 20)
/* A new range of a function is compared with at most this many others, to join it to one that it adjoins. */
#define TOUCH_MAX 64

static struct gnu_unit *make_unit(struct gnu_worker *worker, const struct dwarf_unit *header);
static void join_all_ranges(struct dwarf_functions *functions);
static bool copy_node_ranges(struct gnu_unit *unit, const struct dwarf_functions *functions);

void sxt_gnu_dwarf_worker_init(struct gnu_worker *worker, const struct sxt_dwarf *dwarf)
{
    memset(worker, 0, sizeof *worker);
    sxt_dwarf_abbrevs_init(&worker->abbrevs);
    worker->budget.left = (uint64_t)dwarf->main.sections[DWARF_INFO].size * BUDGET_TIMES + BUDGET_MORE;
    worker->abbrevs.budget = worker->functions.ranges.budget = worker->lines.budget = &worker->budget;
}

void sxt_gnu_dwarf_worker_free(struct gnu_worker *worker)
{
    sxt_dwarf_abbrevs_free(&worker->abbrevs);
    sxt_dwarf_functions_free(&worker->functions);
    sxt_dwarf_lines_free(&worker->lines);
    memset(worker, 0, sizeof *worker);
}

void sxt_gnu_dwarf_unit_free(struct gnu_unit *unit)
{
    if (unit == NULL)
        return;
    free(unit->functions);
    free(unit->node_ranges);
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

bool sxt_gnu_dwarf_unit_read(struct gnu_worker *worker, const struct sxt_dwarf *dwarf, size_t number,
                             struct gnu_unit **out)
{
    /* GNU addr2line does not know that linkers discard code. */
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
    if (worker->lines.no_memory || worker->functions.no_memory || worker->functions.ranges.no_memory)
        return false;
    join_all_ranges(&worker->functions);
    *out = make_unit(worker, header);
    return *out != NULL;
}

void sxt_gnu_dwarf_name_frames(const struct gnu_worker *worker, struct gnu_unit *unit, uint64_t address)
{
    for (uint32_t number = sxt_gnu_dwarf_function_at(unit, address); number != DWARF_NONE;) {
        struct gnu_function *function = &unit->functions[number];
        if (function->is_named)
            return;
        if (!function->origin_is_alternate)
            function->is_named = sxt_dwarf_gnu_name(&worker->context, &worker->root, function->origin, &function->name,
                                                    &function->is_linkage);
        number = function->parent;
    }
}

/* Returns a copy of COUNT items; never NULL for 0 items, unless out of memory. */
static void *copy_of(const void *items, size_t count, size_t size)
{
    void *copy = malloc(count * size + 1);
    if (copy != NULL && count > 0)
        memcpy(copy, items, count * size);
    return copy;
}

/* Copies what must be kept out of the worker's memory. */
static struct gnu_unit *make_unit(struct gnu_worker *worker, const struct dwarf_unit *header)
{
    struct gnu_unit *unit = calloc(1, sizeof *unit);
    if (unit == NULL)
        return NULL;
    const struct dwarf_functions *functions = &worker->functions;
    unit->header = header;
    unit->directory = worker->root.directory;
    unit->function_count = functions->node_count;
    unit->functions = malloc(functions->node_count * sizeof *unit->functions + 1);
    unit->lines = worker->lines;
    unit->lines.budget = NULL;
    unit->lines.sequences = NULL;
    unit->lines.sequence_count = unit->lines.sequence_capacity = 0;
    unit->lines.spare = NULL;
    unit->lines.spare_capacity = 0;
    unit->lines.directories = copy_of(worker->lines.directories, worker->lines.directory_count, sizeof(sxt_string));
    unit->lines.files = copy_of(worker->lines.files, worker->lines.file_count, sizeof(struct dwarf_file_entry));
    unit->lines.rows = copy_of(worker->lines.rows, worker->lines.row_count, sizeof(struct dwarf_row));
    if (!copy_node_ranges(unit, functions) || unit->functions == NULL || unit->lines.directories == NULL ||
        unit->lines.files == NULL || unit->lines.rows == NULL) {
        sxt_gnu_dwarf_unit_free(unit);
        return NULL;
    }
    for (size_t i = 0; i < functions->node_count; i++) {
        const struct dwarf_node *node = &functions->nodes[i];
        unit->functions[i] = (struct gnu_function){
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
 * Joins adjoining ranges of one function, as GNU addr2line does while it reads them: a range is added to the first one
 * that ends where it begins, or begins where it ends. The first of all is compared first, then the newest. Returns how
 * many ranges are left.
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

static void join_all_ranges(struct dwarf_functions *functions)
{
    for (size_t i = 0; i < functions->node_count; i++) {
        struct dwarf_node *node = &functions->nodes[i];
        if (node->range_count > 1)
            node->range_count = join_ranges(functions->ranges.list + node->first_range, node->range_count);
    }
}

static bool copy_node_ranges(struct gnu_unit *unit, const struct dwarf_functions *functions)
{
    unit->node_ranges = malloc((functions->ranges.count + 1) * sizeof *unit->node_ranges);
    if (unit->node_ranges == NULL)
        return false;
    for (uint32_t i = 0; i < functions->node_count; i++) {
        const struct dwarf_range *list = functions->ranges.list + functions->nodes[i].first_range;
        for (uint32_t k = 0; k < functions->nodes[i].range_count; k++)
            unit->node_ranges[unit->node_range_count++] = (struct dwarf_node_range){list[k].start, list[k].end, i};
    }
    return true;
}
