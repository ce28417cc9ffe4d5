/* worker.c: reads one unit, from its header to ranges of the model. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "source/dwarf/variables.h"

/* The cost of searching and opening a file, in bytes charged to the budget. */
#define SPLIT_COST 4096

static void walk_unit(struct dwarf_worker *worker, struct dwarf_outcome *outcome);
static bool has_code(const struct dwarf_worker *worker);
static void name_calls(struct dwarf_worker *worker);
static const struct dwarf_lines *read_lines(struct dwarf_worker *worker, struct dwarf_outcome *outcome);

void sxt_dwarf_budget_begin(struct dwarf_budget *budget, const struct sxt_dwarf *dwarf, const struct dwarf_unit *unit)
{
    const struct dwarf_file *files[] = {&dwarf->main, &dwarf->alternate.dwarf, &dwarf->package.dwarf};
    uint64_t size = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t k = 0; k < DWARF_SECTION_COUNT; k++)
            size += files[i]->sections[k].size;
    uint64_t all = size * DWARF_BUDGET_FILE_TIMES + DWARF_BUDGET_FILE_MORE;
    budget->left = (unit->end - unit->offset) * DWARF_BUDGET_UNIT_TIMES + all / dwarf->main.info_unit_count;
    budget->exhausted = false;
}

bool sxt_dwarf_worker_init(struct dwarf_worker *worker, const struct sxt_dwarf *dwarf, sxt_error *error)
{
    memset(worker, 0, sizeof *worker);
    worker->dwarf = dwarf;
    worker->lines_offset = UINT64_MAX;
    sxt_dwarf_abbrevs_init(&worker->abbrevs);
    sxt_dwarf_abbrevs_init(&worker->split_abbrevs);
    worker->abbrevs.budget = worker->split_abbrevs.budget = &worker->budget;
    worker->functions.ranges.budget = worker->extents.budget = &worker->budget;
    worker->lines.budget = &worker->line_budget;
    worker->line_budget.left =
        (uint64_t)dwarf->main.sections[DWARF_LINE].size * DWARF_BUDGET_FILE_TIMES + DWARF_BUDGET_FILE_MORE;
    return sxt_dwarf_names_init(&worker->names, dwarf->settings.gnu, &worker->budget, error);
}

void sxt_dwarf_worker_free(struct dwarf_worker *worker)
{
    sxt_dwarf_abbrevs_free(&worker->abbrevs);
    sxt_dwarf_abbrevs_free(&worker->split_abbrevs);
    sxt_dwarf_functions_free(&worker->functions);
    sxt_dwarf_lines_free(&worker->lines);
    sxt_dwarf_names_free(&worker->names);
    sxt_dwarf_assembly_free(&worker->assembly);
    free(worker->extents.list);
    free(worker->output.ranges);
    free(worker->output.lines);
    free(worker->output.variables);
    free(worker->output.calls);
    memset(worker, 0, sizeof *worker);
}

static bool out_of_memory(const struct dwarf_worker *worker)
{
    return worker->output.no_memory || worker->functions.no_memory || worker->functions.ranges.no_memory ||
           worker->lines.no_memory || worker->names.no_memory || worker->abbrevs.no_memory ||
           worker->split_abbrevs.no_memory || worker->extents.no_memory;
}

bool sxt_dwarf_enter_split(struct dwarf_worker *worker, const struct dwarf_split *split)
{
    struct dwarf_context skeleton = worker->context;
    struct dwarf_root of_skeleton = worker->root;
    if (!sxt_dwarf_enter(&worker->context, &worker->root, &worker->split_abbrevs, &split->part, &split->unit,
                         &skeleton)) {
        worker->context = skeleton;
        worker->root = of_skeleton;
        return false;
    }
    worker->root.has_lines = of_skeleton.has_lines;
    worker->root.lines = of_skeleton.lines;
    worker->root.low = of_skeleton.low;
    if (of_skeleton.directory.size > 0)
        worker->root.directory = of_skeleton.directory;
    return true;
}

/* Reads what a skeleton has itself: lines, and inlined calls if clang was told to write them twice. */
static void walk_skeleton(struct dwarf_worker *worker, struct dwarf_outcome *outcome)
{
    outcome->is_skeleton = true;
    walk_unit(worker, outcome);
}

static void read_split(struct dwarf_worker *worker, uint64_t id, struct dwarf_outcome *outcome)
{
    struct dwarf_split split;
    sxt_dwarf_names_forget(&worker->names);
    sxt_dwarf_abbrevs_free(&worker->split_abbrevs);
    if (!dwarf_budget_spend(&worker->budget, SPLIT_COST))
        return;
    if (!sxt_dwarf_split_open(worker->dwarf, &worker->root, id, &split)) {
        outcome->missing_split = true;
        outcome->split_name = worker->root.split_name;
        walk_skeleton(worker, outcome);
        return;
    }
    /* The split unit adds its share to the budget. What was inflated for it is freed before the next unit. */
    worker->budget.left += (split.unit.end - split.unit.offset) * DWARF_BUDGET_UNIT_TIMES;
    if (dwarf_budget_spend(&worker->budget, split.external.elf.inflated) && sxt_dwarf_enter_split(worker, &split)) {
        walk_unit(worker, outcome);
    } else {
        walk_skeleton(worker, outcome);
        outcome->broken_at = split.unit.root;
    }
    sxt_dwarf_split_close(&split);
    sxt_dwarf_names_forget(&worker->names);
}

/* Reads the ranges of code in the unit's root entry. */
static void read_extents(struct dwarf_worker *worker)
{
    const struct dwarf_root *root = &worker->root;
    struct dwarf_ranges *extents = &worker->extents;
    extents->count = 0;
    if (!sxt_dwarf_read_ranges(&worker->context, &worker->dwarf->dead,
                               root->low.class == DWARF_ADDRESS ? root->low.number : 0, &root->low, &root->high,
                               &root->ranges, extents))
        extents->count = 0; /* ignore a damaged list */
    if (extents->count > 1)
        qsort(extents->list, extents->count, sizeof *extents->list, sxt_dwarf_compare_ranges);
    /* Make the ends ascend too, so that they can be searched. */
    for (size_t i = 1; i < extents->count; i++)
        if (extents->list[i].end < extents->list[i - 1].end)
            extents->list[i].end = extents->list[i - 1].end;
}

bool sxt_dwarf_read_unit(struct dwarf_worker *worker, const struct dwarf_unit *unit, struct dwarf_outcome *outcome)
{
    const struct dwarf_file *file = &worker->dwarf->main;
    struct dwarf_output *output = &worker->output;
    outcome->first_range = (uint32_t)output->range_count;
    outcome->first_line = (uint32_t)output->line_count;
    outcome->first_string = outcome->string_end = worker->names.strings.count;
    outcome->broken_at = UINT64_MAX;
    if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
        return true;
    sxt_dwarf_budget_begin(&worker->budget, worker->dwarf, unit);
    bool entered = sxt_dwarf_enter(&worker->context, &worker->root, &worker->abbrevs, file, unit, NULL);
    if (entered)
        read_extents(worker);
    if (!entered) {
        outcome->broken_at = unit->root;
    } else if (unit->type == DW_UT_skeleton || worker->root.split_name.size > 0) {
        read_split(worker, unit->type == DW_UT_skeleton ? unit->id : worker->root.split_id, outcome);
    } else if (worker->root.tag != DW_TAG_partial_unit || worker->root.low.class != DWARF_NOTHING ||
               worker->root.ranges.class != DWARF_NOTHING) {
        /* A partial unit that only contains what other units share has no code. */
        walk_unit(worker, outcome);
    }
    outcome->range_count = (uint32_t)(output->range_count - outcome->first_range);
    outcome->line_count = (uint32_t)(output->line_count - outcome->first_line);
    outcome->string_end = worker->names.strings.count;
    outcome->exhausted = worker->budget.exhausted;
    return !out_of_memory(worker);
}

static void walk_unit(struct dwarf_worker *worker, struct dwarf_outcome *outcome)
{
    uint32_t flags = worker->dwarf->settings.options->flags;
    enum sxt_dwarf_walk mode = flags & SXT_EXTRACT_NO_INLINES ? DWARF_WALK_ROOTS : DWARF_WALK_FUNCTIONS;
    worker->functions.wants_calls = worker->dwarf->settings.calls;
    outcome->broken_at =
        sxt_dwarf_walk(&worker->context, &worker->root, &worker->dwarf->dead, mode, &worker->functions);
    outcome->broken_ranges = worker->functions.ranges.damaged;
    bool wants_variables = (flags & (SXT_EXTRACT_VARIABLES | SXT_EXTRACT_DECLARATIONS)) != 0;
    if ((!has_code(worker) && !wants_variables) || out_of_memory(worker))
        return;
    const struct dwarf_lines *lines = read_lines(worker, outcome);
    if (wants_variables)
        sxt_dwarf_walk_variables(worker, lines);
    struct dwarf_unit_parts parts = {
        .context = &worker->context,
        .root = &worker->root,
        .functions = &worker->functions,
        .lines = lines,
        .extents = worker->extents.count > 0 ? &worker->extents : NULL,
        .is_skeleton = outcome->is_skeleton,
        .no_files = (flags & SXT_EXTRACT_NO_FILES) != 0,
        .no_lines = (flags & SXT_EXTRACT_NO_LINES) != 0,
    };
    if (has_code(worker))
        sxt_dwarf_assemble(&worker->assembly, &worker->names, &parts, &worker->output);
    name_calls(worker);
    worker->output.cut_short = false;
}

/* Adds the calls of the unit to the output, with the names of the functions that they call. */
static void name_calls(struct dwarf_worker *worker)
{
    const struct dwarf_functions *functions = &worker->functions;
    struct dwarf_output *output = &worker->output;
    if (functions->call_count == 0)
        return;
    struct sxt_model_call *calls = sxt_array_grow(output->calls, &output->call_capacity,
                                                  output->call_count + functions->call_count, sizeof *calls);
    if (calls == NULL) {
        output->no_memory = true;
        return;
    }
    output->calls = calls;
    for (size_t i = 0; i < functions->call_count && dwarf_budget_spend(&worker->budget, sizeof *calls); i++) {
        const struct dwarf_call *call = &functions->calls[i];
        bool is_linkage;
        uint32_t name = sxt_dwarf_function_name(&worker->names, &worker->context, &worker->root, functions,
                                                call->origin, call->origin_is_alternate, &is_linkage);
        if (name != 0 && !dwarf_start_is_dead(&worker->dwarf->dead, call->return_address))
            calls[output->call_count++] = (struct sxt_model_call){call->return_address, name};
    }
}

/* Units of assembler code say which code they have, but may have no functions. */
static bool has_code(const struct dwarf_worker *worker)
{
    const struct dwarf_functions *functions = &worker->functions;
    if (worker->root.low.class != DWARF_NOTHING || worker->root.ranges.class != DWARF_NOTHING)
        return true;
    for (size_t i = 0; i < functions->node_count; i++)
        if (functions->nodes[i].parent == DWARF_NONE && functions->nodes[i].range_count > 0)
            return true;
    return false;
}

static bool is_dead(const void *dead, uint64_t start)
{
    return dwarf_start_is_dead(dead, start);
}

/* Reads the files and, if requested, the rows. Units may share a table. */
static const struct dwarf_lines *read_lines(struct dwarf_worker *worker, struct dwarf_outcome *outcome)
{
    struct dwarf_lines *lines = &worker->lines;
    const struct sxt_dwarf_settings *settings = &worker->dwarf->settings;
    if (!worker->root.has_lines)
        return NULL;
    if (worker->lines_offset != worker->root.lines) {
        worker->lines_offset = UINT64_MAX;
        if (!sxt_dwarf_lines_read_header(lines, &worker->context, worker->root.lines)) {
            outcome->broken_lines = true;
            return NULL;
        }
        uint32_t neither = SXT_EXTRACT_NO_LINES | SXT_EXTRACT_NO_FILES;
        if ((settings->options->flags & neither) != neither)
            sxt_dwarf_lines_run(lines, settings->details, is_dead, &worker->dwarf->dead);
        worker->lines_offset = worker->root.lines;
    }
    outcome->broken_lines = lines->damaged;
    return lines;
}
