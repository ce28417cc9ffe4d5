/*
 * assemble.c: visits the addresses of each function in order, with its inlined calls and the rows of the line table.
 *
 *     ranges of  f [                                  ]        segments   f [    ] g [   ] h [  ] g [ ] f [       ]
 *     nodes           g [              ]                  ▶    ranges     f [                                     ]
 *                          h [   ]                                             g [               ]
 *                                                                                    h [  ]
 *     rows       |  |   |      |  |        |    |              lines      each to the owner of its segment
 */
#include "source/dwarf/assemble.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/priority_queue.h"
#include "base/search.h"

/* The most ranges for which an insertion sort is faster. */
#define INSERTION_MAX 48

/* State while one function is processed. */
struct sweep {
    struct dwarf_assembly *assembly;
    struct dwarf_names *names;
    const struct dwarf_unit_parts *unit;
    struct dwarf_output *out;
    uint32_t open_count;   /* number of open levels */
    uint64_t previous_end; /* end of the previous segment */
    size_t row;            /* row of the line table at the start of the segment */
    size_t first_range;    /* first range of this function in the output */
};

static void assemble_root(struct sweep *sweep, uint32_t root);
static void assemble_rest(struct sweep *sweep);
static size_t collect_node_ranges(struct sweep *sweep, uint32_t root);
static void sweep_node_ranges(struct sweep *sweep, uint32_t root, size_t count);
static void add_segment(struct sweep *sweep, uint32_t owner, uint64_t start, uint64_t end);
static void close_ranges(struct sweep *sweep, uint32_t depth);
static void add_lines(struct sweep *sweep, uint32_t range, uint64_t start, uint64_t end);
static void sort_lines(struct sweep *sweep);

void sxt_dwarf_assembly_free(struct dwarf_assembly *assembly)
{
    free(assembly->node_ranges);
    free(assembly->heap);
    free(assembly->unsorted);
    free(assembly->counts);
    free(assembly->files);
    memset(assembly, 0, sizeof *assembly);
}

void sxt_dwarf_assemble(struct dwarf_assembly *assembly, struct dwarf_names *names, const struct dwarf_unit_parts *unit,
                        struct dwarf_output *out)
{
    const struct dwarf_functions *functions = unit->functions;
    size_t file_count = unit->lines != NULL ? unit->lines->file_count : 0;
    uint32_t *files = sxt_array_grow(assembly->files, &assembly->file_capacity, file_count + 1, sizeof *files);
    if (files == NULL) {
        out->no_memory = true;
        return;
    }
    assembly->files = files;
    memset(files, 0, (file_count + 1) * sizeof *files);
    struct sweep sweep = {.assembly = assembly, .names = names, .unit = unit, .out = out};
    for (uint32_t i = 0; i < functions->node_count; i++)
        if (functions->nodes[i].parent == DWARF_NONE && functions->nodes[i].range_count > 0 && !out->no_memory &&
            !out->cut_short)
            assemble_root(&sweep, i);
    if (unit->lines != NULL && !out->no_memory && !out->cut_short)
        assemble_rest(&sweep);
    if (names->no_memory)
        out->no_memory = true;
}

static void assemble_root(struct sweep *sweep, uint32_t root)
{
    sweep->first_range = sweep->out->range_count;
    sweep->assembly->unsorted_count = 0;
    sweep->open_count = 0;
    sweep->previous_end = 0;
    sweep->row = 0;
    size_t count = collect_node_ranges(sweep, root);
    if (count == 0)
        return;
    sweep_node_ranges(sweep, root, count);
    close_ranges(sweep, 0);
    sort_lines(sweep);
}

int sxt_dwarf_compare_node_ranges(const void *a, const void *b)
{
    const struct dwarf_node_range *first = a;
    const struct dwarf_node_range *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return first->node < second->node ? -1 : first->node > second->node;
}

/* Sorts node ranges, which are in order already or few; otherwise most of them are near their places. */
static void sort_node_ranges(struct dwarf_node_range *ranges, size_t count)
{
    if (count > INSERTION_MAX) {
        qsort(ranges, count, sizeof *ranges, sxt_dwarf_compare_node_ranges);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct dwarf_node_range range = ranges[i];
        size_t place = i;
        for (; place > 0 && sxt_dwarf_compare_node_ranges(&ranges[place - 1], &range) > 0; place--)
            ranges[place] = ranges[place - 1];
        ranges[place] = range;
    }
}

/*
 * Collects the ranges of the function and of everything inlined into it, sorted by address. Usually they are sorted
 * already.
 */
static size_t collect_node_ranges(struct sweep *sweep, uint32_t root)
{
    const struct dwarf_functions *functions = sweep->unit->functions;
    struct dwarf_assembly *assembly = sweep->assembly;
    size_t count = 0;
    bool ordered = true;
    for (uint32_t node = root; node != DWARF_NONE; node = functions->nodes[node].next) {
        const struct dwarf_range *ranges =
            functions->nodes[node].range_count > 0 ? &functions->ranges.list[functions->nodes[node].first_range] : NULL;
        size_t more = functions->nodes[node].range_count;
        struct dwarf_node_range *node_ranges = sxt_array_grow(assembly->node_ranges, &assembly->node_range_capacity,
                                                              count + more + 1, sizeof *node_ranges);
        if (node_ranges == NULL) {
            sweep->out->no_memory = true;
            return 0;
        }
        assembly->node_ranges = node_ranges;
        for (size_t i = 0; i < more; i++) {
            node_ranges[count] = (struct dwarf_node_range){ranges[i].start, ranges[i].end, node};
            ordered = ordered && (count == 0 || node_ranges[count - 1].start <= ranges[i].start);
            count++;
        }
    }
    uint32_t *heap = sxt_array_grow(assembly->heap, &assembly->heap_capacity, count + 1, sizeof *heap);
    if (heap == NULL) {
        sweep->out->no_memory = true;
        return 0;
    }
    assembly->heap = heap;
    if (!ordered)
        sort_node_ranges(assembly->node_ranges, count);
    return count;
}

/* The range of the later entry wins. */
static bool is_later(const void *node_ranges, uint32_t a, uint32_t b)
{
    const struct dwarf_node_range *all = node_ranges;
    return all[a].node > all[b].node;
}

/*
 * Splits the addresses into segments with one owner each. Addresses that the function itself does not cover are
 * dropped.
 */
static void sweep_node_ranges(struct sweep *sweep, uint32_t root, size_t count)
{
    const struct dwarf_node_range *node_ranges = sweep->assembly->node_ranges;
    struct sxt_queue open = {.items = sweep->assembly->heap};
    uint64_t at = 0, root_end = 0; /* end of the ranges of the function itself that have begun */
    size_t next = 0;
    while (next < count || open.count > 0) {
        if (open.count == 0)
            at = node_ranges[next].start;
        for (; next < count && node_ranges[next].start <= at; next++) {
            if (node_ranges[next].node == root && node_ranges[next].end > root_end)
                root_end = node_ranges[next].end;
            sxt_queue_push(&open, (uint32_t)next, is_later, node_ranges);
        }
        while (open.count > 0 && node_ranges[open.items[0]].end <= at)
            sxt_queue_pop(&open, is_later, node_ranges);
        if (open.count == 0)
            continue;
        uint64_t until = node_ranges[open.items[0]].end;
        if (next < count && node_ranges[next].start < until)
            until = node_ranges[next].start;
        if (at < root_end)
            add_segment(sweep, node_ranges[open.items[0]].node, at, until < root_end ? until : root_end);
        if (sweep->out->no_memory || sweep->out->cut_short)
            return;
        at = until;
    }
}

/* Collects the ranges of all functions of the unit, sorted by start. Returns how many there are. */
static size_t collect_roots(struct sweep *sweep)
{
    const struct dwarf_functions *functions = sweep->unit->functions;
    struct dwarf_assembly *assembly = sweep->assembly;
    size_t count = 0;
    for (uint32_t i = 0; i < functions->node_count; i++)
        count += functions->nodes[i].parent == DWARF_NONE ? functions->nodes[i].range_count : 0;
    struct dwarf_node_range *node_ranges =
        sxt_array_grow(assembly->node_ranges, &assembly->node_range_capacity, count + 1, sizeof *node_ranges);
    if (node_ranges == NULL) {
        sweep->out->no_memory = true;
        return 0;
    }
    assembly->node_ranges = node_ranges;
    count = 0;
    bool ordered = true;
    for (uint32_t i = 0; i < functions->node_count; i++)
        for (uint32_t k = 0; functions->nodes[i].parent == DWARF_NONE && k < functions->nodes[i].range_count; k++) {
            const struct dwarf_range *range = &functions->ranges.list[functions->nodes[i].first_range + k];
            node_ranges[count] = (struct dwarf_node_range){range->start, range->end, i};
            ordered = ordered && (count == 0 || node_ranges[count - 1].start <= range->start);
            count++;
        }
    if (!ordered)
        sort_node_ranges(node_ranges, count);
    return count;
}

/* Makes room for one more range in the output. Returns false if out of memory or budget. */
static bool make_room(struct sweep *sweep)
{
    struct dwarf_output *out = sweep->out;
    if (out->range_count >= UINT32_MAX - 1 || !dwarf_budget_spend(sweep->names->budget, sizeof *out->ranges)) {
        out->cut_short = true;
        return false;
    }
    struct sxt_model_range *ranges =
        sxt_array_grow(out->ranges, &out->range_capacity, out->range_count + 1, sizeof *ranges);
    if (ranges == NULL) {
        out->no_memory = true;
        return false;
    }
    out->ranges = ranges;
    return true;
}

/* Adds a range without a name for code that has lines but no function: any symbol there gets its lines. */
static void add_nameless(struct sweep *sweep, uint64_t start, uint64_t end)
{
    struct dwarf_output *out = sweep->out;
    if (!make_room(sweep))
        return;
    sweep->first_range = out->range_count;
    sweep->assembly->unsorted_count = 0;
    out->ranges[out->range_count++] = (struct sxt_model_range){.address = start,
                                                               .length = end - start,
                                                               .source = SXT_SOURCE_DWARF,
                                                               .flags = sweep->unit->is_skeleton ? SXT_RANGE_KEEP : 0};
    add_lines(sweep, (uint32_t)sweep->first_range, start, end);
    sort_lines(sweep);
}

/*
 * Adds code that no function covers only if it is within the ranges of the unit's root entry: units are selected by
 * those ranges if not all of them are read.
 */
static void add_within_extents(struct sweep *sweep, uint64_t start, uint64_t end)
{
    const struct dwarf_ranges *extents = sweep->unit->extents;
    if (extents == NULL) {
        add_nameless(sweep, start, end);
        return;
    }
    size_t i = SXT_SEARCH_ABOVE(extents->list, extents->count, end, start);
    for (; i < extents->count && extents->list[i].start < end && !sweep->out->no_memory; i++) {
        uint64_t from = extents->list[i].start > start ? extents->list[i].start : start;
        uint64_t until = extents->list[i].end < end ? extents->list[i].end : end;
        if (from < until)
            add_nameless(sweep, from, until);
        start = until > start ? until : start;
    }
}

/* Adds code that the line table covers, but no function: mostly assembler code, and bytes between functions. */
static void assemble_rest(struct sweep *sweep)
{
    const struct dwarf_lines *lines = sweep->unit->lines;
    size_t count = collect_roots(sweep);
    const struct dwarf_node_range *node_ranges = sweep->assembly->node_ranges;
    size_t next = 0;
    uint64_t taken = 0;
    for (size_t i = 0; i < lines->sequence_count; i++) {
        const struct dwarf_sequence *sequence = &lines->sequences[i];
        uint64_t at = sequence->start > taken ? sequence->start : taken;
        while (at < sequence->end && !sweep->out->no_memory && !sweep->out->cut_short) {
            for (; next < count && node_ranges[next].start <= at; next++)
                if (node_ranges[next].end > taken)
                    taken = node_ranges[next].end;
            uint64_t until =
                next < count && node_ranges[next].start < sequence->end ? node_ranges[next].start : sequence->end;
            if (taken > at)
                at = taken;
            else {
                add_within_extents(sweep, at, until);
                at = until;
            }
        }
        if (at > taken)
            taken = at;
    }
}

static uint32_t path_of(struct sweep *sweep, uint32_t file)
{
    if (file == 0 || sweep->unit->no_files || sweep->unit->lines == NULL || file > sweep->unit->lines->file_count)
        return 0;
    uint32_t *known = &sweep->assembly->files[file - 1];
    if (*known == 0)
        *known = sxt_dwarf_file_name(sweep->names, sweep->unit->lines, sweep->unit->root, file - 1) + 1;
    return *known - 1;
}

/* Begins a range of a node. Its length is set when it ends. */
static void open_range(struct sweep *sweep, uint32_t number, uint64_t start)
{
    struct dwarf_output *out = sweep->out;
    const struct dwarf_node *node = &sweep->unit->functions->nodes[number];
    if (!make_room(sweep))
        return;
    bool is_linkage;
    uint32_t name =
        sxt_dwarf_function_name(sweep->names, sweep->unit->context, sweep->unit->root, sweep->unit->functions,
                                node->origin, node->origin_is_alternate, &is_linkage);
    unsigned flags = (is_linkage ? SXT_RANGE_LINKAGE_NAME : 0) | (node->depth == 0 ? SXT_RANGE_KEEP : 0);
    if (node->depth == 0) {
        /* The ranges are in the order of the entry's list, which begins with the one that the function is entered at.
         */
        flags |= sweep->unit->functions->ranges.list[node->first_range].start == start ? SXT_RANGE_ENTRY : 0;
        flags |= out->range_count > sweep->first_range ? SXT_RANGE_PART : 0;
        uint16_t language = sweep->unit->root->language;
        flags |= language == DW_LANG_Mips_Assembler || language == DW_LANG_Assembly ? SXT_RANGE_ASSEMBLER : 0;
    }
    sweep->assembly->open_nodes[sweep->open_count] = number;
    sweep->assembly->open_ranges[sweep->open_count] = (uint32_t)out->range_count;
    sweep->open_count++;
    out->ranges[out->range_count++] = (struct sxt_model_range){
        .address = start,
        .depth = node->depth,
        .function = name,
        .call_file = node->depth > 0 ? path_of(sweep, node->call_file) : 0,
        .call_line = node->depth > 0 && !sweep->unit->no_lines ? node->call_line : 0,
        .source = SXT_SOURCE_DWARF,
        .flags = (uint16_t)flags,
    };
}

static bool is_open(const struct sweep *sweep, uint32_t number)
{
    uint32_t depth = sweep->unit->functions->nodes[number].depth;
    return depth < sweep->open_count && sweep->assembly->open_nodes[depth] == number;
}

/* Ends the open ranges from DEPTH on at the end of the previous segment. */
static void close_ranges(struct sweep *sweep, uint32_t depth)
{
    while (sweep->open_count > depth) {
        uint32_t number = sweep->assembly->open_ranges[--sweep->open_count];
        struct sxt_model_range *range = &sweep->out->ranges[number];
        range->length = sweep->previous_end - range->address;
    }
}

static void add_segment(struct sweep *sweep, uint32_t owner, uint64_t start, uint64_t end)
{
    const struct dwarf_node *nodes = sweep->unit->functions->nodes;
    uint32_t chain[SXT_SYMBOLS_MAX_DEPTH + 1]; /* by depth: the nodes to open */
    if (start != sweep->previous_end)
        close_ranges(sweep, 0);
    uint32_t depth = nodes[owner].depth, same = depth + 1;
    for (uint32_t node = owner; node != DWARF_NONE && !is_open(sweep, node); node = nodes[node].parent)
        chain[--same] = node;
    close_ranges(sweep, same);
    sweep->previous_end = start;
    for (uint32_t i = same; i <= depth; i++) {
        open_range(sweep, chain[i], start);
        if (sweep->open_count != i + 1)
            return;
    }
    sweep->previous_end = end;
    if (sweep->unit->lines != NULL)
        add_lines(sweep, sweep->assembly->open_ranges[depth], start, end);
}

static void add_line(struct sweep *sweep, uint32_t range, uint64_t offset, const struct dwarf_row *row)
{
    struct dwarf_assembly *assembly = sweep->assembly;
    if (offset > UINT32_MAX)
        return;
    if (!dwarf_budget_spend(sweep->names->budget, sizeof *sweep->assembly->unsorted)) {
        sweep->out->cut_short = true;
        return;
    }
    struct dwarf_unsorted_line *unsorted = sxt_array_grow(assembly->unsorted, &assembly->unsorted_capacity,
                                                          assembly->unsorted_count + 1, sizeof *unsorted);
    if (unsorted == NULL) {
        sweep->out->no_memory = true;
        return;
    }
    assembly->unsorted = unsorted;
    unsorted[assembly->unsorted_count++] = (struct dwarf_unsorted_line){
        .range = range,
        .line = {.offset = (uint32_t)offset,
                 .file = path_of(sweep, row->file),
                 .line = row->line,
                 .column = row->column,
                 .discriminator = row->discriminator},
    };
}

/* Adds the rows from START to END to RANGE. */
static void add_lines(struct sweep *sweep, uint32_t range, uint64_t start, uint64_t end)
{
    const struct dwarf_lines *lines = sweep->unit->lines;
    static const struct dwarf_row unknown = {.address = 0};
    uint64_t base = sweep->out->ranges[range].address;
    size_t row = sweep->row;
    /* Segments are sorted by address, so the row is usually close to the last one. */
    if (row == 0 || lines->rows[row - 1].address > start)
        row = dwarf_first_row_after(lines, start);
    while (row < lines->row_count && lines->rows[row].address <= start)
        row++;
    add_line(sweep, range, start - base, row > 0 ? &lines->rows[row - 1] : &unknown);
    for (; row < lines->row_count && lines->rows[row].address < end && !sweep->out->cut_short; row++) {
        if (row + 1 < lines->row_count && lines->rows[row + 1].address == lines->rows[row].address)
            continue;
        add_line(sweep, range, lines->rows[row].address - base, &lines->rows[row]);
    }
    sweep->row = row;
}

static bool says_the_same(const struct sxt_model_line *a, const struct sxt_model_line *b)
{
    return a->line == b->line && a->file == b->file && a->column == b->column && a->discriminator == b->discriminator;
}

/*
 * Puts the lines of each range together; they are sorted by address already. A line that repeats the last one of its
 * range is dropped: only lines of an inlined call are between the two.
 */
static void sort_lines(struct sweep *sweep)
{
    struct dwarf_assembly *assembly = sweep->assembly;
    struct dwarf_output *out = sweep->out;
    size_t range_count = out->range_count - sweep->first_range;
    uint32_t *counts =
        sxt_array_grow(assembly->counts, &assembly->count_capacity, range_count + 1, sizeof *assembly->counts);
    void *room = sxt_array_grow(out->lines, &out->line_capacity, out->line_count + assembly->unsorted_count + 1,
                                sizeof *out->lines);
    if (counts != NULL)
        assembly->counts = counts;
    if (room != NULL)
        out->lines = room;
    if (counts == NULL || room == NULL || out->line_count + assembly->unsorted_count >= UINT32_MAX) {
        out->no_memory = true;
        return;
    }
    struct sxt_model_range *ranges = out->ranges + sweep->first_range;
    memset(counts, 0, (range_count + 1) * sizeof *counts);
    for (size_t i = 0; i < assembly->unsorted_count; i++)
        counts[assembly->unsorted[i].range - sweep->first_range]++;
    uint32_t at = (uint32_t)out->line_count;
    for (size_t i = 0; i < range_count; i++) {
        ranges[i].first_line = at;
        at += counts[i];
    }
    for (size_t i = 0; i < assembly->unsorted_count; i++) {
        struct sxt_model_range *range = &out->ranges[assembly->unsorted[i].range];
        const struct sxt_model_line *line = &assembly->unsorted[i].line;
        struct sxt_model_line *to = &out->lines[range->first_line + range->line_count];
        if (range->file == 0)
            range->file = line->file;
        if (sweep->unit->no_lines ||
            (range->line_count > 0 ? says_the_same(to - 1, line) : line->file == 0 && line->line == 0))
            continue;
        *to = *line;
        range->line_count++;
    }
    /* Remove the gaps. */
    uint32_t kept = (uint32_t)out->line_count;
    for (size_t i = 0; i < range_count; i++) {
        if (ranges[i].first_line != kept)
            memmove(&out->lines[kept], &out->lines[ranges[i].first_line], ranges[i].line_count * sizeof *out->lines);
        ranges[i].first_line = kept;
        kept += ranges[i].line_count;
    }
    out->line_count = kept;
}
