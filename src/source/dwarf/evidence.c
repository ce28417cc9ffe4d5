/*
 * evidence.c: the chain at one address, and where each part of it is written.
 *
 * The reader goes over all functions of a unit at once and forgets where they came from. Here one address is followed
 * by the same rules: of the functions that have it, the one that starts last; in that, the last entry that covers the
 * address; and around that, whatever its entry lies in.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "source/dwarf/dwarf.h"
#include "source/dwarf/evidence_places.h"

/* As in names.c. */
#define HOPS_MAX 16
/* Units that are entered only to see which of their entries has a name. */
#define VISITS_MAX 256

/* One address under way. */
struct explaining {
    struct sxt_dwarf *dwarf;
    uint64_t address;
    struct sxt_arena *arena;
    bool *wanted; /* by unit: has to be looked at */
    bool *owns;   /* by unit: its root entry says that it has the address */
    /* The unit at hand. */
    struct dwarf_worker worker;
    struct dwarf_split split;
    struct dwarf_places split_places;
    bool is_missing; /* only its skeleton is there */
    uint64_t damaged_at;

    struct dwarf_abbrevs visitor; /* of a unit that is visited for a name */
    unsigned visits;
    uint64_t best_start; /* where the function that was found starts */
    uint64_t rest_start; /* where the code with lines but without a function starts that was found */
    bool uses_alternate;
    struct sxt_dwarf_explanation *out;
    bool no_memory;
};

static int begin(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                 struct sxt_dwarf_explanation *result, struct explaining **out, sxt_error *error);
static int finish(struct explaining *explaining, int status, sxt_error *error);
static bool enter_unit(struct explaining *explaining, size_t number);
static void look_for_function(struct explaining *explaining);
static void look_for_lines(struct explaining *explaining);
static void describe_unit(struct explaining *explaining);
static void describe_frames(struct explaining *explaining, uint32_t root);
static void trace_name(struct explaining *explaining, const struct dwarf_node *node, struct sxt_dwarf_frame *frame);
static bool describe_lines(struct explaining *explaining);
static void describe_missing(struct explaining *explaining, sxt_string split_name);

int sxt_dwarf_explain(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                      struct sxt_dwarf_explanation *out, sxt_error *error)
{
    struct explaining *explaining;
    int status = begin(dwarf, address, arena, out, &explaining, error);
    if (status != SXT_OK)
        return status;
    sxt_string missing = {NULL, 0};
    struct dwarf_places tried = {.count = 0};
    for (size_t i = 0; i < dwarf->main.info_unit_count && !explaining->no_memory; i++) {
        if (!explaining->wanted[i])
            continue;
        bool entered = enter_unit(explaining, i);
        if (explaining->owns[i] && !out->has_unit)
            describe_unit(explaining);
        if (explaining->owns[i] && explaining->is_missing && missing.data == NULL) {
            missing = explaining->worker.root.split_name;
            tried = explaining->split_places;
        }
        if (entered)
            look_for_function(explaining);
        if (entered && out->frame_count == 0)
            look_for_lines(explaining);
    }
    explaining->split_places = tried;
    describe_missing(explaining, missing);
    return finish(explaining, SXT_OK, error);
}

static int begin(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                 struct sxt_dwarf_explanation *result, struct explaining **out, sxt_error *error)
{
    *result = (struct sxt_dwarf_explanation){.damaged_at = UINT64_MAX};
    struct explaining *explaining = calloc(1, sizeof *explaining);
    if (explaining == NULL)
        return sxt_fail_memory(error, sizeof *explaining);
    explaining->dwarf = dwarf;
    explaining->address = address;
    explaining->arena = arena;
    explaining->out = result;
    sxt_dwarf_abbrevs_init(&explaining->visitor);
    int status = SXT_OK;
    explaining->wanted = calloc(dwarf->main.info_unit_count + 1, sizeof *explaining->wanted);
    explaining->owns = calloc(dwarf->main.info_unit_count + 1, sizeof *explaining->owns);
    if (explaining->wanted == NULL || explaining->owns == NULL)
        status = sxt_fail_memory(error, dwarf->main.info_unit_count + 1);
    /* An earlier call may have run out of memory half-way. */
    else if (dwarf->unknown != NULL && dwarf->reach == NULL)
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while looking at the units of DWARF");
    if (status == SXT_OK)
        status = sxt_dwarf_choose(dwarf, &address, 1, explaining->wanted, error);
    if (status == SXT_OK && !sxt_dwarf_worker_init(&explaining->worker, dwarf, error))
        status = SXT_ERROR_MEMORY;
    explaining->visitor.effort = &explaining->worker.effort;
    for (size_t i = 0; status == SXT_OK && i < dwarf->extent_count; i++)
        if (dwarf->extents[i].start <= address && address < dwarf->extents[i].end)
            explaining->owns[dwarf->extents[i].unit] = true;
    *out = explaining;
    return status == SXT_OK ? status : finish(explaining, status, NULL);
}

static int finish(struct explaining *explaining, int status, sxt_error *error)
{
    const struct dwarf_worker *worker = &explaining->worker;
    bool no_memory = explaining->no_memory || worker->functions.no_memory || worker->functions.ranges.no_memory ||
                     worker->lines.no_memory || worker->names.no_memory;
    sxt_dwarf_split_close(&explaining->split);
    sxt_dwarf_worker_free(&explaining->worker);
    sxt_dwarf_abbrevs_free(&explaining->visitor);
    free(explaining->wanted);
    free(explaining->owns);
    free(explaining);
    if (status != SXT_OK || !no_memory)
        return status;
    return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while explaining an address");
}

/* A copy that outlives the unit. */
static sxt_string keep(struct explaining *explaining, sxt_string text)
{
    char *copy = text.data != NULL ? sxt_arena_copy(explaining->arena, text.data, text.size) : NULL;
    if (copy == NULL && text.data != NULL)
        explaining->no_memory = true;
    return (sxt_string){copy, copy != NULL ? text.size : 0};
}

static bool enter_split(struct explaining *explaining, uint64_t id)
{
    struct dwarf_worker *worker = &explaining->worker;
    sxt_dwarf_places_of_split(explaining->dwarf, &worker->root, explaining->arena, &explaining->split_places);
    if (!sxt_dwarf_split_open(explaining->dwarf, &worker->root, id, &explaining->split)) {
        explaining->is_missing = true;
        return false;
    }
    /* It brings its own share. */
    worker->effort.left += (explaining->split.unit.end - explaining->split.unit.offset) * DWARF_EFFORT_UNIT_TIMES;
    if (sxt_dwarf_enter_split(worker, &explaining->split))
        return true;
    explaining->damaged_at = explaining->split.unit.root;
    return false;
}

/* Turns to a unit and walks over it. False when there is nothing to be found in it. */
static bool enter_unit(struct explaining *explaining, size_t number)
{
    struct sxt_dwarf *dwarf = explaining->dwarf;
    struct dwarf_worker *worker = &explaining->worker;
    const struct dwarf_unit *unit = &dwarf->main.units[number];
    /* Nothing may be left that points into the split unit before. */
    sxt_dwarf_names_forget(&worker->names);
    sxt_dwarf_abbrevs_free(&worker->split_abbrevs);
    sxt_dwarf_split_close(&explaining->split);
    memset(&explaining->split, 0, sizeof explaining->split);
    explaining->is_missing = false;
    explaining->damaged_at = UINT64_MAX;
    sxt_dwarf_effort_begin(&worker->effort, dwarf, unit);
    if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
        return false;
    if (!sxt_dwarf_enter(&worker->context, &worker->root, &worker->abbrevs, &dwarf->main, unit, NULL)) {
        explaining->damaged_at = unit->root;
        return false;
    }
    if (unit->type == DW_UT_skeleton || worker->root.split_name.size > 0) {
        if (!enter_split(explaining, unit->type == DW_UT_skeleton ? unit->id : worker->root.split_id))
            return false;
    } else if (worker->root.tag == DW_TAG_partial_unit && worker->root.low.class == DWARF_NOTHING &&
               worker->root.ranges.class == DWARF_NOTHING) {
        return false;
    }
    bool no_inlines = (dwarf->settings.options->flags & SXT_EXTRACT_NO_INLINES) != 0;
    explaining->damaged_at = sxt_dwarf_walk(&worker->context, &worker->root, &dwarf->dead,
                                            no_inlines ? DWARF_WALK_ROOTS : DWARF_WALK_FUNCTIONS, &worker->functions);
    return true;
}

/* What has to be added to offsets inside the unit at hand: those of a package count from the unit's part of it. */
static uint64_t offset_base(const struct explaining *explaining)
{
    const struct dwarf_file *file = explaining->worker.context.file;
    if (!file->split || explaining->split.extra.is_open)
        return 0;
    return (uint64_t)(file->sections[DWARF_INFO].data - explaining->dwarf->package.dwarf.sections[DWARF_INFO].data);
}

static void describe_unit(struct explaining *explaining)
{
    const struct sxt_dwarf_settings *settings = &explaining->dwarf->settings;
    const struct dwarf_context *context = &explaining->worker.context;
    struct sxt_dwarf_explanation *out = explaining->out;
    out->has_unit = true;
    out->unit = context->unit->offset + offset_base(explaining);
    out->unit_name = keep(explaining, explaining->worker.root.name);
    out->section = context->file->split ? ".debug_info.dwo" : ".debug_info";
    out->damaged_at = explaining->damaged_at;
    out->file = (sxt_string){settings->path, settings->path != NULL ? strlen(settings->path) : 0};
    if (explaining->split.extra.is_open)
        out->file =
            sxt_dwarf_place_of(&explaining->split.extra, &explaining->split_places, settings->options->inflate_limit);
    else if (context->file->split && explaining->split_places.count > 0)
        out->file = explaining->split_places.paths[0];
}

/* The range of NODE that covers the address, or NULL. */
static const struct dwarf_range *range_at(const struct explaining *explaining, const struct dwarf_node *node)
{
    const struct dwarf_ranges *ranges = &explaining->worker.functions.ranges;
    for (uint32_t i = 0; i < node->range_count; i++) {
        const struct dwarf_range *range = &ranges->list[node->first_range + i];
        if (range->start <= explaining->address && explaining->address < range->end)
            return range;
    }
    return NULL;
}

static int by_start(const void *a, const void *b)
{
    const struct dwarf_range *first = a;
    const struct dwarf_range *second = b;
    return first->start < second->start ? -1 : first->start > second->start;
}

/* Where the contiguous code of a function begins that has the address: ranges that touch each other are one. */
static uint64_t run_start(struct explaining *explaining, const struct dwarf_node *node)
{
    struct dwarf_range *ranges = malloc(node->range_count * sizeof *ranges);
    if (ranges == NULL) {
        explaining->no_memory = true;
        return 0;
    }
    memcpy(ranges, &explaining->worker.functions.ranges.list[node->first_range], node->range_count * sizeof *ranges);
    qsort(ranges, node->range_count, sizeof *ranges, by_start);
    uint64_t start = 0, end = 0;
    for (uint32_t i = 0; i < node->range_count && ranges[i].start <= explaining->address; i++) {
        if (i == 0 || ranges[i].start > end)
            start = ranges[i].start;
        if (i == 0 || ranges[i].end > end)
            end = ranges[i].end;
    }
    free(ranges);
    return start;
}

static sxt_string name_of(struct explaining *explaining, const struct dwarf_node *node)
{
    struct dwarf_worker *worker = &explaining->worker;
    bool linkage;
    uint32_t number = sxt_dwarf_function_name(&worker->names, &worker->context, &worker->root, &worker->functions,
                                              node->origin, node->origin_is_alternate, &linkage);
    return sxt_strings_get(&worker->names.strings, number);
}

/* The best function of the unit, if it is better than what was found before. One without a name has no say. */
static void look_for_function(struct explaining *explaining)
{
    const struct dwarf_functions *functions = &explaining->worker.functions;
    struct sxt_dwarf_explanation *out = explaining->out;
    uint32_t best = DWARF_NONE;
    for (uint32_t i = 0; i < functions->node_count && !explaining->no_memory; i++) {
        const struct dwarf_node *node = &functions->nodes[i];
        if (node->parent != DWARF_NONE || range_at(explaining, node) == NULL)
            continue;
        uint64_t start = run_start(explaining, node);
        if ((best != DWARF_NONE || out->frame_count > 0) && start <= explaining->best_start)
            continue;
        if (name_of(explaining, node).size == 0) {
            if (!out->has_nameless)
                out->nameless = node->entry + offset_base(explaining);
            out->has_nameless = true;
            continue;
        }
        explaining->best_start = start;
        best = i;
    }
    if (best == DWARF_NONE)
        return;
    describe_unit(explaining);
    describe_frames(explaining, best);
    describe_lines(explaining);
}

static void describe_frames(struct explaining *explaining, uint32_t root)
{
    const struct dwarf_node *nodes = explaining->worker.functions.nodes;
    struct sxt_dwarf_explanation *out = explaining->out;
    uint32_t owner = root;
    for (uint32_t node = root; node != DWARF_NONE; node = nodes[node].next)
        if (range_at(explaining, &nodes[node]) != NULL)
            owner = node;
    out->frame_count = 0;
    out->frames = sxt_arena_calloc(explaining->arena, nodes[owner].depth + 1, sizeof *out->frames);
    if (out->frames == NULL) {
        explaining->no_memory = true;
        return;
    }
    for (uint32_t number = owner; number != DWARF_NONE; number = nodes[number].parent) {
        const struct dwarf_node *node = &nodes[number];
        const struct dwarf_range *range = range_at(explaining, node);
        struct sxt_dwarf_frame *frame = &out->frames[out->frame_count++];
        *frame = (struct sxt_dwarf_frame){
            .name = keep(explaining, name_of(explaining, node)),
            .entry = node->entry + offset_base(explaining),
            .start = range != NULL ? range->start : 0,
            .end = range != NULL ? range->end : 0,
            .inlined = node->depth > 0,
        };
        trace_name(explaining, node, frame);
    }
}

/* What an entry says of its name. */
struct naming {
    sxt_string linkage;
    sxt_string name;
    struct dwarf_value next;
    bool specification;
};

/* How to read ENTRY of FILE. The unit is at hand, was asked for a name just now, or is visited. */
static bool locate(struct explaining *explaining, const struct dwarf_file *file, uint64_t entry,
                   struct dwarf_context *out)
{
    struct dwarf_worker *worker = &explaining->worker;
    const struct dwarf_unit *own = worker->context.unit;
    *out = worker->context;
    if (file == worker->context.file && entry >= own->root && entry < own->end)
        return true;
    const struct dwarf_unit *unit = sxt_dwarf_unit_at(file, entry);
    if (unit == NULL)
        return false;
    const struct dwarf_neighbour *neighbour =
        &worker->names.neighbours[(size_t)(unit - file->units) % DWARF_NEIGHBOURS];
    if (neighbour->file == file && neighbour->unit == unit) {
        *out = neighbour->context;
        return !neighbour->broken;
    }
    struct dwarf_root root;
    return explaining->visits++ < VISITS_MAX && sxt_dwarf_enter(out, &root, &explaining->visitor, file, unit, NULL);
}

static bool read_naming(struct explaining *explaining, const struct dwarf_file *file, uint64_t entry,
                        struct naming *out)
{
    struct dwarf_context context;
    *out = (struct naming){.specification = false};
    if (file == NULL || !locate(explaining, file, entry, &context))
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
        else if (attribute->name == DW_AT_name)
            out->name = value.text;
        else if (attribute->name == DW_AT_abstract_origin || attribute->name == DW_AT_specification) {
            out->next = value;
            out->specification = attribute->name == DW_AT_specification;
        }
    }
    return abbrev != NULL;
}

/* Follows the entries as names.c does, and notes the way to the one that has the name. */
static void trace_name(struct explaining *explaining, const struct dwarf_node *node, struct sxt_dwarf_frame *frame)
{
    const struct dwarf_file *own = explaining->worker.context.file, *file = own;
    struct sxt_dwarf_hop hops[HOPS_MAX + 1];
    size_t count = 0, used = 0;
    sxt_string name = {NULL, 0};
    uint64_t entry = node->origin;
    if (node->origin_is_alternate)
        file = file->alternate;
    if (node->origin_is_alternate || node->origin != node->entry)
        hops[count++] = (struct sxt_dwarf_hop){.entry = entry, .alternate = node->origin_is_alternate};
    while (count < HOPS_MAX) {
        struct naming naming;
        if (!read_naming(explaining, file, entry, &naming))
            break;
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
        hops[count++] = (struct sxt_dwarf_hop){entry, naming.specification, file != own};
    }
    frame->qualified = !frame->linkage && name.size > 0 && frame->name.size > name.size;
    struct sxt_dwarf_hop *kept = sxt_arena_calloc(explaining->arena, used, sizeof *kept);
    for (size_t i = 0; i < used && kept != NULL; i++) {
        kept[i] = hops[i];
        if (hops[i].alternate)
            explaining->uses_alternate = true;
        else
            kept[i].entry += offset_base(explaining);
    }
    frame->hops = kept;
    frame->hop_count = kept != NULL ? used : 0;
}

static bool is_dead(const void *dead, uint64_t start)
{
    return dwarf_start_is_dead(dead, start);
}

/* The row of the unit's line table that is in effect at the address; NULL when nothing is known there. */
static const struct dwarf_row *row_at(struct explaining *explaining)
{
    struct dwarf_worker *worker = &explaining->worker;
    struct dwarf_lines *lines = &worker->lines;
    if (!sxt_dwarf_lines_read_header(lines, &worker->context, worker->root.lines))
        return NULL;
    sxt_dwarf_lines_run(lines, true, is_dead, &explaining->dwarf->dead);
    size_t low = 0, high = lines->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->rows[middle].address <= explaining->address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && lines->rows[low - 1].file != 0 ? &lines->rows[low - 1] : NULL;
}

/* False when the unit at hand has no row for the address. */
static bool describe_lines(struct explaining *explaining)
{
    struct dwarf_worker *worker = &explaining->worker;
    struct sxt_dwarf_explanation *out = explaining->out;
    uint32_t flags = explaining->dwarf->settings.options->flags;
    out->has_lines = worker->root.has_lines && (flags & SXT_EXTRACT_NO_LINES) == 0;
    out->lines = worker->root.lines;
    const struct dwarf_row *row = out->has_lines ? row_at(explaining) : NULL;
    out->has_row = row != NULL;
    if (row == NULL)
        return false;
    uint32_t file = (flags & SXT_EXTRACT_NO_FILES) == 0
                        ? sxt_dwarf_file_name(&worker->names, &worker->lines, &worker->root, row->file - 1)
                        : 0;
    out->row = row->address;
    out->row_file = file != 0 ? keep(explaining, sxt_strings_get(&worker->names.strings, file)) : (sxt_string){NULL, 0};
    out->row_line = row->line;
    out->row_column = row->column;
    return true;
}

/* Where the lines without a function begin that the unit at hand has: behind a function, or where its lines begin. */
static uint64_t rest_start(const struct explaining *explaining)
{
    const struct dwarf_lines *lines = &explaining->worker.lines;
    const struct dwarf_functions *functions = &explaining->worker.functions;
    uint64_t start = 0;
    for (size_t i = 0; i < lines->sequence_count; i++)
        if (lines->sequences[i].start <= explaining->address && explaining->address < lines->sequences[i].end) {
            start = lines->sequences[i].start;
            break;
        }
    for (uint32_t i = 0; i < functions->node_count; i++)
        for (uint32_t k = 0; functions->nodes[i].parent == DWARF_NONE && k < functions->nodes[i].range_count; k++) {
            uint64_t end = functions->ranges.list[functions->nodes[i].first_range + k].end;
            if (end <= explaining->address && end > start)
                start = end;
        }
    return start;
}

/* Of several units that have lines here but no function, the one counts whose lines begin first. */
static void look_for_lines(struct explaining *explaining)
{
    struct sxt_dwarf_explanation *out = explaining->out, before = *out;
    bool found = describe_lines(explaining);
    uint64_t start = found ? rest_start(explaining) : 0;
    if (before.has_row && (!found || start >= explaining->rest_start)) {
        *out = before;
        return;
    }
    if (!found)
        return;
    explaining->rest_start = start;
    describe_unit(explaining);
}

/* The files that were not found, and the path of the alternate one that was. */
static void describe_missing(struct explaining *explaining, sxt_string split_name)
{
    struct sxt_dwarf *dwarf = explaining->dwarf;
    struct sxt_dwarf_explanation *out = explaining->out;
    struct dwarf_places places = {.count = 0};
    sxt_string alternate = {NULL, 0};
    if (explaining->uses_alternate || !dwarf->alternate.is_open)
        sxt_dwarf_places_of_alternate(dwarf, explaining->arena, &alternate, &places);
    if (dwarf->alternate.is_open)
        out->alternate = sxt_dwarf_place_of(&dwarf->alternate, &places, dwarf->settings.options->inflate_limit);
    else
        out->missing_alternate = alternate;
    out->missing_split = keep(explaining, split_name);
    sxt_string *tried = sxt_arena_calloc(explaining->arena, (size_t)2 * DWARF_PLACES_MAX, sizeof *tried);
    if (tried == NULL) {
        explaining->no_memory = true;
        return;
    }
    for (size_t i = 0; out->missing_split.data != NULL && i < explaining->split_places.count; i++)
        tried[out->tried_count++] = explaining->split_places.paths[i];
    for (size_t i = 0; out->missing_alternate.data != NULL && i < places.count; i++)
        tried[out->tried_count++] = places.paths[i];
    out->tried = tried;
}

/* The nearest extents on either side lead to the units that are worth a look. */
static void want_neighbours(struct explaining *explaining)
{
    const struct sxt_dwarf *dwarf = explaining->dwarf;
    const struct dwarf_extent *before = NULL, *after = NULL;
    for (size_t i = 0; i < dwarf->extent_count; i++) {
        const struct dwarf_extent *extent = &dwarf->extents[i];
        if (extent->end <= explaining->address && (before == NULL || extent->end > before->end))
            before = extent;
        if (extent->start > explaining->address && (after == NULL || extent->start < after->start))
            after = extent;
    }
    if (before != NULL)
        explaining->wanted[before->unit] = true;
    if (after != NULL)
        explaining->wanted[after->unit] = true;
}

/* The functions of the unit at hand that are nearer than what was found before. */
static void look_for_near(struct explaining *explaining, struct sxt_dwarf_near *before, struct sxt_dwarf_near *after)
{
    const struct dwarf_functions *functions = &explaining->worker.functions;
    struct {
        uint32_t node;
        struct dwarf_range range;
    } left = {DWARF_NONE, {0, before->end}}, right = {DWARF_NONE, {after->start, 0}};
    for (uint32_t i = 0; i < functions->node_count; i++) {
        const struct dwarf_node *node = &functions->nodes[i];
        for (uint32_t k = 0; node->parent == DWARF_NONE && k < node->range_count; k++) {
            const struct dwarf_range *range = &functions->ranges.list[node->first_range + k];
            if (range->end <= explaining->address && range->end > left.range.end) {
                left.node = i;
                left.range = *range;
            }
            if (range->start > explaining->address && (range->start < right.range.start || right.range.start == 0)) {
                right.node = i;
                right.range = *range;
            }
        }
    }
    if (left.node != DWARF_NONE)
        *before = (struct sxt_dwarf_near){keep(explaining, name_of(explaining, &functions->nodes[left.node])),
                                          left.range.start, left.range.end};
    if (right.node != DWARF_NONE)
        *after = (struct sxt_dwarf_near){keep(explaining, name_of(explaining, &functions->nodes[right.node])),
                                         right.range.start, right.range.end};
}

int sxt_dwarf_around(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena, struct sxt_dwarf_near *before,
                     struct sxt_dwarf_near *after, sxt_error *error)
{
    struct sxt_dwarf_explanation ignored;
    struct explaining *explaining;
    *before = *after = (struct sxt_dwarf_near){.start = 0};
    int status = begin(dwarf, address, arena, &ignored, &explaining, error);
    if (status != SXT_OK)
        return status;
    want_neighbours(explaining);
    for (size_t i = 0; i < dwarf->main.info_unit_count && !explaining->no_memory; i++)
        if (explaining->wanted[i] && enter_unit(explaining, i))
            look_for_near(explaining, before, after);
    return finish(explaining, SXT_OK, error);
}
