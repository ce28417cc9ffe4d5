/*
 * explain.c: finds the frames at one address, and where in the file each part of them is.
 *
 * read.c converts all functions of a unit at once and does not store where they came from. This file follows one
 * address by the same rules: of the functions that contain it, the one that starts last; in that, the last entry that
 * covers the address; and around that, the entries that enclose it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "source/dwarf/dwarf.h"
#include "source/dwarf/external_paths.h"

/* The same limit as in names.c. */
#define REFERENCES_MAX 16
/* How many units are entered only to find an entry with a name. */
#define NAME_UNITS_MAX 256

/* State while one address is explained. */
struct explainer {
    struct sxt_dwarf *dwarf;
    uint64_t address;
    struct sxt_arena *arena;
    bool *wanted;   /* by unit: must be read */
    bool *contains; /* by unit: its root entry contains the address */
    /* The current unit. */
    struct dwarf_worker worker;
    struct dwarf_split split;
    struct dwarf_paths split_paths;
    bool is_missing; /* its split unit was not found */
    uint64_t damaged_at;

    struct dwarf_abbrevs name_abbrevs; /* of a unit that is entered for a name */
    unsigned name_unit_count;
    bool is_named;       /* a function with a name was found */
    uint64_t best_start; /* its start */
    bool has_rest;       /* code without a name was found */
    uint64_t rest_start; /* its start */
    bool uses_alternate;
    struct sxt_dwarf_explanation *out;
    bool no_memory;
};

static int begin(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                 struct sxt_dwarf_explanation *result, struct explainer **out, sxt_error *error);
static int finish(struct explainer *explainer, int status, sxt_error *error);
static bool enter_unit(struct explainer *explainer, size_t number);
static void find_function(struct explainer *explainer);
static void find_nameless(struct explainer *explainer);
static void describe_unit(struct explainer *explainer);
static void describe_frames(struct explainer *explainer, uint32_t root);
static void trace_name(struct explainer *explainer, const struct dwarf_node *node, struct sxt_dwarf_frame *frame);
static bool describe_lines(struct explainer *explainer);
static void describe_missing(struct explainer *explainer, sxt_string split_name);

int sxt_dwarf_explain(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                      struct sxt_dwarf_explanation *out, sxt_error *error)
{
    struct explainer *explainer;
    int status = begin(dwarf, address, arena, out, &explainer, error);
    if (status != SXT_OK)
        return status;
    sxt_string missing = {NULL, 0};
    struct dwarf_paths tried = {.count = 0};
    for (size_t i = 0; i < dwarf->main.info_unit_count && !explainer->no_memory; i++) {
        if (!explainer->wanted[i])
            continue;
        bool entered = enter_unit(explainer, i);
        if (explainer->contains[i] && !out->has_unit)
            describe_unit(explainer);
        if (explainer->contains[i] && explainer->is_missing && missing.data == NULL) {
            missing = explainer->worker.root.split_name;
            tried = explainer->split_paths;
        }
        if (entered)
            find_function(explainer);
        if (entered && !explainer->is_named)
            find_nameless(explainer);
    }
    explainer->split_paths = tried;
    describe_missing(explainer, missing);
    return finish(explainer, SXT_OK, error);
}

static int begin(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                 struct sxt_dwarf_explanation *result, struct explainer **out, sxt_error *error)
{
    *result = (struct sxt_dwarf_explanation){.damaged_at = UINT64_MAX};
    struct explainer *explainer = calloc(1, sizeof *explainer);
    if (explainer == NULL)
        return sxt_fail_memory(error, sizeof *explainer);
    explainer->dwarf = dwarf;
    explainer->address = address;
    explainer->arena = arena;
    explainer->out = result;
    sxt_dwarf_abbrevs_init(&explainer->name_abbrevs);
    int status = SXT_OK;
    explainer->wanted = calloc(dwarf->main.info_unit_count + 1, sizeof *explainer->wanted);
    explainer->contains = calloc(dwarf->main.info_unit_count + 1, sizeof *explainer->contains);
    if (explainer->wanted == NULL || explainer->contains == NULL)
        status = sxt_fail_memory(error, dwarf->main.info_unit_count + 1);
    /* An earlier call may have run out of memory. */
    else if (dwarf->unknown != NULL && dwarf->reach == NULL)
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading the units of DWARF");
    if (status == SXT_OK)
        status = sxt_dwarf_select_units(dwarf, &address, 1, explainer->wanted, error);
    if (status == SXT_OK && !sxt_dwarf_worker_init(&explainer->worker, dwarf, error))
        status = SXT_ERROR_MEMORY;
    explainer->name_abbrevs.budget = &explainer->worker.budget;
    for (size_t i = 0; status == SXT_OK && i < dwarf->extent_count; i++)
        if (dwarf->extents[i].start <= address && address < dwarf->extents[i].end)
            explainer->contains[dwarf->extents[i].unit] = true;
    *out = explainer;
    return status == SXT_OK ? status : finish(explainer, status, NULL);
}

static int finish(struct explainer *explainer, int status, sxt_error *error)
{
    const struct dwarf_worker *worker = &explainer->worker;
    bool no_memory = explainer->no_memory || worker->functions.no_memory || worker->functions.ranges.no_memory ||
                     worker->lines.no_memory || worker->names.no_memory;
    sxt_dwarf_split_close(&explainer->split);
    sxt_dwarf_worker_free(&explainer->worker);
    sxt_dwarf_abbrevs_free(&explainer->name_abbrevs);
    free(explainer->wanted);
    free(explainer->contains);
    free(explainer);
    if (status != SXT_OK || !no_memory)
        return status;
    return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while explaining an address");
}

/* Returns a copy that outlives the unit. */
static sxt_string keep(struct explainer *explainer, sxt_string text)
{
    char *copy = text.data != NULL ? sxt_arena_copy(explainer->arena, text.data, text.size) : NULL;
    if (copy == NULL && text.data != NULL)
        explainer->no_memory = true;
    return (sxt_string){copy, copy != NULL ? text.size : 0};
}

static void enter_split(struct explainer *explainer, uint64_t id)
{
    struct dwarf_worker *worker = &explainer->worker;
    sxt_dwarf_split_paths(explainer->dwarf, &worker->root, explainer->arena, &explainer->split_paths);
    if (!sxt_dwarf_split_open(explainer->dwarf, &worker->root, id, &explainer->split)) {
        explainer->is_missing = true;
        return;
    }
    /* The split unit adds its share to the budget. */
    worker->budget.left += (explainer->split.unit.end - explainer->split.unit.offset) * DWARF_BUDGET_UNIT_TIMES;
    if (!sxt_dwarf_enter_split(worker, &explainer->split))
        explainer->damaged_at = explainer->split.unit.root;
}

/*
 * Makes a unit the current one and walks over it. Returns false if there is nothing to find in it. If a split unit is
 * missing, its skeleton is the current unit.
 */
static bool enter_unit(struct explainer *explainer, size_t number)
{
    struct sxt_dwarf *dwarf = explainer->dwarf;
    struct dwarf_worker *worker = &explainer->worker;
    const struct dwarf_unit *unit = &dwarf->main.units[number];
    /* Nothing may point into the previous split unit any more. */
    sxt_dwarf_names_forget(&worker->names);
    sxt_dwarf_abbrevs_free(&worker->split_abbrevs);
    sxt_dwarf_split_close(&explainer->split);
    memset(&explainer->split, 0, sizeof explainer->split);
    explainer->is_missing = false;
    explainer->damaged_at = UINT64_MAX;
    sxt_dwarf_budget_begin(&worker->budget, dwarf, unit);
    if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
        return false;
    if (!sxt_dwarf_enter(&worker->context, &worker->root, &worker->abbrevs, &dwarf->main, unit, NULL)) {
        explainer->damaged_at = unit->root;
        return false;
    }
    if (unit->type == DW_UT_skeleton || worker->root.split_name.size > 0) {
        enter_split(explainer, unit->type == DW_UT_skeleton ? unit->id : worker->root.split_id);
    } else if (worker->root.tag == DW_TAG_partial_unit && worker->root.low.class == DWARF_NOTHING &&
               worker->root.ranges.class == DWARF_NOTHING) {
        return false;
    }
    bool no_inlines = (dwarf->settings.options->flags & SXT_EXTRACT_NO_INLINES) != 0;
    uint64_t damaged_at = sxt_dwarf_walk(&worker->context, &worker->root, &dwarf->dead,
                                         no_inlines ? DWARF_WALK_ROOTS : DWARF_WALK_FUNCTIONS, &worker->functions);
    if (explainer->damaged_at == UINT64_MAX)
        explainer->damaged_at = damaged_at;
    return true;
}

/* Returns what to add to offsets in the current unit: in a package, they are relative to the unit's part of it. */
static uint64_t offset_base(const struct explainer *explainer)
{
    const struct dwarf_file *file = explainer->worker.context.file;
    if (!file->split || explainer->split.external.is_open)
        return 0;
    return (uint64_t)(file->sections[DWARF_INFO].data - explainer->dwarf->package.dwarf.sections[DWARF_INFO].data);
}

static void describe_unit(struct explainer *explainer)
{
    const struct sxt_dwarf_settings *settings = &explainer->dwarf->settings;
    const struct dwarf_context *context = &explainer->worker.context;
    struct sxt_dwarf_explanation *out = explainer->out;
    out->has_unit = true;
    out->unit = context->unit->offset + offset_base(explainer);
    out->unit_name = keep(explainer, explainer->worker.root.name);
    out->section = context->file->split ? ".debug_info.dwo" : ".debug_info";
    out->damaged_at = explainer->damaged_at;
    out->file = (sxt_string){settings->path, settings->path != NULL ? strlen(settings->path) : 0};
    if (explainer->split.external.is_open)
        out->file = sxt_dwarf_external_path(&explainer->split.external, &explainer->split_paths,
                                            settings->options->inflate_limit);
    else if (context->file->split && explainer->split_paths.count > 0)
        out->file = explainer->split_paths.list[0];
}

/* Returns the range of NODE that covers the address, or NULL. */
static const struct dwarf_range *range_at(const struct explainer *explainer, const struct dwarf_node *node)
{
    const struct dwarf_ranges *ranges = &explainer->worker.functions.ranges;
    for (uint32_t i = 0; i < node->range_count; i++) {
        const struct dwarf_range *range = &ranges->list[node->first_range + i];
        if (range->start <= explainer->address && explainer->address < range->end)
            return range;
    }
    return NULL;
}

/* Returns the start of the contiguous code of a function around the address: adjoining ranges count as one. */
static uint64_t run_start(struct explainer *explainer, const struct dwarf_node *node)
{
    struct dwarf_range *ranges = malloc(node->range_count * sizeof *ranges);
    if (ranges == NULL) {
        explainer->no_memory = true;
        return 0;
    }
    memcpy(ranges, &explainer->worker.functions.ranges.list[node->first_range], node->range_count * sizeof *ranges);
    qsort(ranges, node->range_count, sizeof *ranges, sxt_dwarf_compare_ranges);
    uint64_t start = 0, end = 0;
    for (uint32_t i = 0; i < node->range_count && ranges[i].start <= explainer->address; i++) {
        if (i == 0 || ranges[i].start > end)
            start = ranges[i].start;
        if (i == 0 || ranges[i].end > end)
            end = ranges[i].end;
    }
    free(ranges);
    return start;
}

static sxt_string name_of(struct explainer *explainer, const struct dwarf_node *node)
{
    struct dwarf_worker *worker = &explainer->worker;
    bool linkage;
    uint32_t number = sxt_dwarf_function_name(&worker->names, &worker->context, &worker->root, &worker->functions,
                                              node->origin, node->origin_is_alternate, &linkage);
    return sxt_strings_get(&worker->names.strings, number);
}

/*
 * Finds the best function of the unit, if it is better than the one found before. Functions without a name are ignored.
 */
static void find_function(struct explainer *explainer)
{
    const struct dwarf_functions *functions = &explainer->worker.functions;
    struct sxt_dwarf_explanation *out = explainer->out;
    uint32_t best = DWARF_NONE;
    for (uint32_t i = 0; i < functions->node_count && !explainer->no_memory; i++) {
        const struct dwarf_node *node = &functions->nodes[i];
        if (node->parent != DWARF_NONE || range_at(explainer, node) == NULL)
            continue;
        uint64_t start = run_start(explainer, node);
        if ((explainer->is_named && start <= explainer->best_start) || name_of(explainer, node).size == 0)
            continue;
        explainer->is_named = true;
        explainer->best_start = start;
        best = i;
    }
    if (best == DWARF_NONE)
        return;
    out->has_nameless = false;
    describe_unit(explainer);
    describe_frames(explainer, best);
    describe_lines(explainer);
}

static void describe_frames(struct explainer *explainer, uint32_t root)
{
    const struct dwarf_node *nodes = explainer->worker.functions.nodes;
    struct sxt_dwarf_explanation *out = explainer->out;
    uint32_t owner = root;
    for (uint32_t node = root; node != DWARF_NONE; node = nodes[node].next)
        if (range_at(explainer, &nodes[node]) != NULL)
            owner = node;
    out->frame_count = 0;
    out->frames = sxt_arena_calloc(explainer->arena, nodes[owner].depth + 1, sizeof *out->frames);
    if (out->frames == NULL) {
        explainer->no_memory = true;
        return;
    }
    for (uint32_t number = owner; number != DWARF_NONE; number = nodes[number].parent) {
        const struct dwarf_node *node = &nodes[number];
        const struct dwarf_range *range = range_at(explainer, node);
        struct sxt_dwarf_frame *frame = &out->frames[out->frame_count++];
        *frame = (struct sxt_dwarf_frame){
            .name = keep(explainer, name_of(explainer, node)),
            .entry = node->entry + offset_base(explainer),
            .start = range != NULL ? range->start : 0,
            .end = range != NULL ? range->end : 0,
            .inlined = node->depth > 0,
        };
        trace_name(explainer, node, frame);
    }
}

/* The attributes of an entry that concern its name. */
struct naming {
    sxt_string linkage;
    sxt_string name;
    struct dwarf_value next;
    bool specification;
    bool is_elsewhere; /* its name is in a missing alternate file */
};

/* Prepares for reading ENTRY of FILE. Its unit is the current one, a cached one, or is entered now. */
static bool locate(struct explainer *explainer, const struct dwarf_file *file, uint64_t entry,
                   struct dwarf_context *out)
{
    struct dwarf_worker *worker = &explainer->worker;
    const struct dwarf_unit *own = worker->context.unit;
    *out = worker->context;
    if (file == worker->context.file && entry >= own->root && entry < own->end)
        return true;
    const struct dwarf_unit *unit = sxt_dwarf_unit_at(file, entry);
    if (unit == NULL)
        return false;
    const struct dwarf_cached_unit *cached =
        &worker->names.cached_units[(size_t)(unit - file->units) % DWARF_CACHED_UNITS];
    if (cached->file == file && cached->unit == unit) {
        *out = cached->context;
        return !cached->broken;
    }
    struct dwarf_root root;
    return explainer->name_unit_count++ < NAME_UNITS_MAX &&
           sxt_dwarf_enter(out, &root, &explainer->name_abbrevs, file, unit, NULL);
}

static bool read_naming(struct explainer *explainer, const struct dwarf_file *file, uint64_t entry, struct naming *out)
{
    struct dwarf_context context;
    *out = (struct naming){.specification = false};
    if (file == NULL || !locate(explainer, file, entry, &context))
        return false;
    const struct dwarf_bytes *section = dwarf_unit_section(context.file, context.unit);
    const uint8_t *end = section->data + context.unit->end;
    uint64_t code;
    const uint8_t *at = dwarf_uleb(section->data + entry, end, &code);
    const struct dwarf_abbrev *abbrev = at != NULL ? dwarf_abbrev_find(context.abbrevs, code) : NULL;
    for (uint32_t i = 0; abbrev != NULL && i < abbrev->count && at != NULL; i++) {
        const struct dwarf_attribute *attribute = &context.abbrevs->attributes[abbrev->first + i];
        struct dwarf_value value;
        if ((at = sxt_dwarf_read_value(&context, attribute, at, end, &value)) == NULL)
            break;
        if (attribute->name == DW_AT_linkage_name || attribute->name == DW_AT_MIPS_linkage_name)
            out->linkage = value.text;
        else if (attribute->name == DW_AT_name) {
            out->name = value.text;
            out->is_elsewhere = value.text.data == NULL && file->alternate == NULL;
        } else if (attribute->name == DW_AT_abstract_origin || attribute->name == DW_AT_specification) {
            out->next = value;
            out->specification = attribute->name == DW_AT_specification;
        }
    }
    return abbrev != NULL;
}

/* Follows the references as names.c does, and records those that lead to the entry with the name. */
static void trace_name(struct explainer *explainer, const struct dwarf_node *node, struct sxt_dwarf_frame *frame)
{
    const struct dwarf_file *own = explainer->worker.context.file, *file = own;
    struct sxt_dwarf_reference references[REFERENCES_MAX + 1];
    size_t count = 0, used = 0;
    sxt_string name = {NULL, 0};
    bool is_elsewhere = false;
    uint64_t entry = node->origin;
    if (node->origin_is_alternate)
        file = file->alternate;
    if (node->origin_is_alternate || node->origin != node->entry)
        references[count++] = (struct sxt_dwarf_reference){.entry = entry, .alternate = node->origin_is_alternate};
    while (count < REFERENCES_MAX) {
        struct naming naming;
        if (!read_naming(explainer, file, entry, &naming))
            break;
        is_elsewhere = is_elsewhere || naming.is_elsewhere;
        if (naming.linkage.size > 0 || (name.size == 0 && naming.name.size > 0))
            used = count;
        frame->linkage = naming.linkage.size > 0;
        if (name.size == 0)
            name = naming.name;
        if (frame->linkage || (naming.next.class != DWARF_REFERENCE && naming.next.class != DWARF_ALTERNATE))
            break;
        if (naming.next.class == DWARF_ALTERNATE)
            file = file->alternate;
        entry = naming.next.number;
        references[count++] = (struct sxt_dwarf_reference){entry, naming.specification, file != own};
    }
    frame->qualified = !frame->linkage && name.size > 0 && frame->name.size > name.size;
    frame->needs_alternate = name.size == 0 && !frame->linkage && (file == NULL || is_elsewhere);
    struct sxt_dwarf_reference *kept = sxt_arena_calloc(explainer->arena, used, sizeof *kept);
    for (size_t i = 0; i < used && kept != NULL; i++) {
        kept[i] = references[i];
        if (references[i].alternate)
            explainer->uses_alternate = true;
        else
            kept[i].entry += offset_base(explainer);
    }
    frame->references = kept;
    frame->reference_count = kept != NULL ? used : 0;
}

static bool is_dead(const void *dead, uint64_t start)
{
    return dwarf_start_is_dead(dead, start);
}

/* Returns the row of the unit's line table for the address, or NULL if there is none. */
static const struct dwarf_row *row_at(struct explainer *explainer)
{
    struct dwarf_worker *worker = &explainer->worker;
    struct dwarf_lines *lines = &worker->lines;
    if (!sxt_dwarf_lines_read_header(lines, &worker->context, worker->root.lines))
        return NULL;
    sxt_dwarf_lines_run(lines, true, is_dead, &explainer->dwarf->dead);
    return dwarf_row_at(lines, explainer->address);
}

/* Returns false if the current unit has no row for the address. */
static bool describe_lines(struct explainer *explainer)
{
    struct dwarf_worker *worker = &explainer->worker;
    struct sxt_dwarf_explanation *out = explainer->out;
    uint32_t flags = explainer->dwarf->settings.options->flags;
    out->has_lines = worker->root.has_lines && (flags & SXT_EXTRACT_NO_LINES) == 0;
    out->lines = worker->root.lines;
    const struct dwarf_row *row = out->has_lines ? row_at(explainer) : NULL;
    out->has_row = row != NULL;
    if (row == NULL)
        return false;
    uint32_t file = (flags & SXT_EXTRACT_NO_FILES) == 0
                        ? sxt_dwarf_file_name(&worker->names, &worker->lines, &worker->root, row->file - 1)
                        : 0;
    out->row = row->address;
    out->row_file = file != 0 ? keep(explainer, sxt_strings_get(&worker->names.strings, file)) : (sxt_string){NULL, 0};
    out->row_line = row->line;
    out->row_column = row->column;
    return true;
}

/* Returns where the code without a function around the address begins: after a function, or where the lines begin. */
static uint64_t rest_start(const struct explainer *explainer)
{
    const struct dwarf_lines *lines = &explainer->worker.lines;
    const struct dwarf_functions *functions = &explainer->worker.functions;
    uint64_t start = 0;
    for (size_t i = 0; i < lines->sequence_count; i++)
        if (lines->sequences[i].start <= explainer->address && explainer->address < lines->sequences[i].end) {
            start = lines->sequences[i].start;
            break;
        }
    for (uint32_t i = 0; i < functions->node_count; i++)
        for (uint32_t k = 0; functions->nodes[i].parent == DWARF_NONE && k < functions->nodes[i].range_count; k++) {
            uint64_t end = functions->ranges.list[functions->nodes[i].first_range + k].end;
            if (end <= explainer->address && end > start)
                start = end;
        }
    return start;
}

/* Returns the function without a name at the address that starts first, or DWARF_NONE. */
static uint32_t nameless_at(struct explainer *explainer, uint64_t *start)
{
    const struct dwarf_functions *functions = &explainer->worker.functions;
    uint32_t first = DWARF_NONE;
    for (uint32_t i = 0; i < functions->node_count && !explainer->no_memory; i++) {
        if (functions->nodes[i].parent != DWARF_NONE || range_at(explainer, &functions->nodes[i]) == NULL)
            continue;
        uint64_t here = run_start(explainer, &functions->nodes[i]);
        if (first != DWARF_NONE && here >= *start)
            continue;
        first = i;
        *start = here;
    }
    return first;
}

/* Of code without a name, of functions or only of lines, what begins first wins. */
static void find_nameless(struct explainer *explainer)
{
    struct sxt_dwarf_explanation *out = explainer->out, before = *out;
    uint64_t start = 0;
    uint32_t node = nameless_at(explainer, &start);
    bool found = describe_lines(explainer);
    if (node == DWARF_NONE && found)
        start = rest_start(explainer);
    if (explainer->has_rest && ((node == DWARF_NONE && !found) || start >= explainer->rest_start)) {
        *out = before;
        return;
    }
    if (node == DWARF_NONE && !found)
        return;
    explainer->has_rest = true;
    explainer->rest_start = start;
    describe_unit(explainer);
    out->frame_count = 0;
    out->has_nameless = node != DWARF_NONE;
    if (node == DWARF_NONE)
        return;
    out->nameless = explainer->worker.functions.nodes[node].entry + offset_base(explainer);
    describe_frames(explainer, node);
}

/* Reports the files that were not found, and the path of the alternate file that was. */
static void describe_missing(struct explainer *explainer, sxt_string split_name)
{
    struct sxt_dwarf *dwarf = explainer->dwarf;
    struct sxt_dwarf_explanation *out = explainer->out;
    struct dwarf_paths paths = {.count = 0};
    struct dwarf_link link = {.id_size = 0};
    if ((explainer->uses_alternate || !dwarf->alternate.is_open) && sxt_dwarf_alternate_link(dwarf->elf, &link))
        sxt_dwarf_alternate_paths(dwarf, &link, explainer->arena, &paths);
    if (dwarf->alternate.is_open)
        out->alternate = sxt_dwarf_external_path(&dwarf->alternate, &paths, dwarf->settings.options->inflate_limit);
    else
        out->missing_alternate = link.path;
    out->missing_split = keep(explainer, split_name);
    sxt_string *tried = sxt_arena_calloc(explainer->arena, (size_t)2 * DWARF_PATHS_MAX, sizeof *tried);
    if (tried == NULL) {
        explainer->no_memory = true;
        return;
    }
    for (size_t i = 0; out->missing_split.data != NULL && i < explainer->split_paths.count; i++)
        tried[out->tried_count++] = explainer->split_paths.list[i];
    for (size_t i = 0; out->missing_alternate.data != NULL && i < paths.count; i++)
        tried[out->tried_count++] = paths.list[i];
    out->tried = tried;
}

/* The closest extents on either side give the units to search. */
static void select_nearby_units(struct explainer *explainer)
{
    const struct sxt_dwarf *dwarf = explainer->dwarf;
    const struct dwarf_extent *before = NULL, *after = NULL;
    for (size_t i = 0; i < dwarf->extent_count; i++) {
        const struct dwarf_extent *extent = &dwarf->extents[i];
        if (extent->end <= explainer->address && (before == NULL || extent->end > before->end))
            before = extent;
        if (extent->start > explainer->address && (after == NULL || extent->start < after->start))
            after = extent;
    }
    if (before != NULL)
        explainer->wanted[before->unit] = true;
    if (after != NULL)
        explainer->wanted[after->unit] = true;
}

/* Finds the functions of the current unit that are closer than those found before. */
static void find_nearby(struct explainer *explainer, struct sxt_dwarf_nearby_function *before,
                        struct sxt_dwarf_nearby_function *after)
{
    const struct dwarf_functions *functions = &explainer->worker.functions;
    struct {
        uint32_t node;
        struct dwarf_range range;
    } left = {DWARF_NONE, {0, before->end}}, right = {DWARF_NONE, {after->start, 0}};
    for (uint32_t i = 0; i < functions->node_count; i++) {
        const struct dwarf_node *node = &functions->nodes[i];
        for (uint32_t k = 0; node->parent == DWARF_NONE && k < node->range_count; k++) {
            const struct dwarf_range *range = &functions->ranges.list[node->first_range + k];
            if (range->end <= explainer->address && range->end > left.range.end) {
                left.node = i;
                left.range = *range;
            }
            if (range->start > explainer->address && (range->start < right.range.start || right.range.start == 0)) {
                right.node = i;
                right.range = *range;
            }
        }
    }
    if (left.node != DWARF_NONE)
        *before = (struct sxt_dwarf_nearby_function){keep(explainer, name_of(explainer, &functions->nodes[left.node])),
                                                     left.range.start, left.range.end};
    if (right.node != DWARF_NONE)
        *after = (struct sxt_dwarf_nearby_function){keep(explainer, name_of(explainer, &functions->nodes[right.node])),
                                                    right.range.start, right.range.end};
}

int sxt_dwarf_find_nearby(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                          struct sxt_dwarf_nearby_function *before, struct sxt_dwarf_nearby_function *after,
                          sxt_error *error)
{
    struct sxt_dwarf_explanation ignored;
    struct explainer *explainer;
    *before = *after = (struct sxt_dwarf_nearby_function){.start = 0};
    int status = begin(dwarf, address, arena, &ignored, &explainer, error);
    if (status != SXT_OK)
        return status;
    select_nearby_units(explainer);
    for (size_t i = 0; i < dwarf->main.info_unit_count && !explainer->no_memory; i++)
        if (explainer->wanted[i] && enter_unit(explainer, i))
            find_nearby(explainer, before, after);
    return finish(explainer, SXT_OK, error);
}
