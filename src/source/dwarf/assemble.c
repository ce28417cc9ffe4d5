/*
 * assemble.c: sweeps over the addresses of each function, with its inlined calls and the rows of the line table.
 *
 *     claims     f [                                  ]        segments   f [    ] g [   ] h [  ] g [ ] f [       ]
 *                     g [              ]                  ▶    ranges     f [                                     ]
 *                          h [   ]                                             g [               ]
 *                                                                                    h [  ]
 *     rows       |  |   |      |  |        |    |              lines      each to the owner of its segment
 */
#include "source/dwarf/assemble.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/priority_queue.h"

/* One function under way. */
struct sweep {
    struct dwarf_assembly *assembly;
    struct dwarf_names *names;
    const struct dwarf_unit_parts *unit;
    struct dwarf_output *out;
    uint32_t open_count;   /* levels that are open */
    uint64_t previous_end; /* of the segment before */
    size_t row;            /* of the line table: the one in effect at the start of the segment */
    size_t first_range;    /* of this function, in the output */
};

static void assemble_root(struct sweep *sweep, uint32_t root);
static void assemble_rest(struct sweep *sweep);
static size_t collect_claims(struct sweep *sweep, uint32_t root);
static void sweep_claims(struct sweep *sweep, uint32_t root, size_t count);
static void add_segment(struct sweep *sweep, uint32_t owner, uint64_t start, uint64_t end);
static void close_ranges(struct sweep *sweep, uint32_t depth);
static void add_lines(struct sweep *sweep, uint32_t range, uint64_t start, uint64_t end);
static void sort_lines(struct sweep *sweep);

void sxt_dwarf_assembly_free(struct dwarf_assembly *assembly)
{
    free(assembly->claims);
    free(assembly->heap);
    free(assembly->loose);
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
    sweep->assembly->loose_count = 0;
    sweep->open_count = 0;
    sweep->previous_end = 0;
    sweep->row = 0;
    size_t count = collect_claims(sweep, root);
    if (count == 0)
        return;
    sweep_claims(sweep, root, count);
    close_ranges(sweep, 0);
    sort_lines(sweep);
}

static int by_start(const void *a, const void *b)
{
    const struct dwarf_claim *first = a;
    const struct dwarf_claim *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return first->node < second->node ? -1 : first->node > second->node;
}

/* The ranges of the function and everything inlined into it, by address. Mostly they come in that order. */
static size_t collect_claims(struct sweep *sweep, uint32_t root)
{
    const struct dwarf_functions *functions = sweep->unit->functions;
    struct dwarf_assembly *assembly = sweep->assembly;
    size_t count = 0;
    bool ordered = true;
    for (uint32_t node = root; node != DWARF_NONE; node = functions->nodes[node].next) {
        const struct dwarf_range *ranges =
            functions->nodes[node].range_count > 0 ? &functions->ranges.list[functions->nodes[node].first_range] : NULL;
        size_t more = functions->nodes[node].range_count;
        struct dwarf_claim *claims =
            sxt_array_grow(assembly->claims, &assembly->claim_capacity, count + more + 1, sizeof *claims);
        if (claims == NULL) {
            sweep->out->no_memory = true;
            return 0;
        }
        assembly->claims = claims;
        for (size_t i = 0; i < more; i++) {
            claims[count] = (struct dwarf_claim){ranges[i].start, ranges[i].end, node};
            ordered = ordered && (count == 0 || claims[count - 1].start <= ranges[i].start);
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
        qsort(assembly->claims, count, sizeof *assembly->claims, by_start);
    return count;
}

/* The claim of the later entry counts. */
static bool is_later(const void *claims, uint32_t a, uint32_t b)
{
    const struct dwarf_claim *all = claims;
    return all[a].node > all[b].node;
}

/* Cuts the addresses into segments with one owner each. What the function itself does not cover is left out. */
static void sweep_claims(struct sweep *sweep, uint32_t root, size_t count)
{
    const struct dwarf_claim *claims = sweep->assembly->claims;
    struct sxt_queue open = {.items = sweep->assembly->heap};
    uint64_t at = 0, root_end = 0; /* the function's own ranges that have begun end here */
    size_t next = 0;
    while (next < count || open.count > 0) {
        if (open.count == 0)
            at = claims[next].start;
        for (; next < count && claims[next].start <= at; next++) {
            if (claims[next].node == root && claims[next].end > root_end)
                root_end = claims[next].end;
            sxt_queue_push(&open, (uint32_t)next, is_later, claims);
        }
        while (open.count > 0 && claims[open.items[0]].end <= at)
            sxt_queue_pop(&open, is_later, claims);
        if (open.count == 0)
            continue;
        uint64_t until = claims[open.items[0]].end;
        if (next < count && claims[next].start < until)
            until = claims[next].start;
        if (at < root_end)
            add_segment(sweep, claims[open.items[0]].node, at, until < root_end ? until : root_end);
        if (sweep->out->no_memory || sweep->out->cut_short)
            return;
        at = until;
    }
}

/* The ranges of all functions of the unit, by start; returns how many. */
static size_t collect_roots(struct sweep *sweep)
{
    const struct dwarf_functions *functions = sweep->unit->functions;
    struct dwarf_assembly *assembly = sweep->assembly;
    size_t count = 0;
    for (uint32_t i = 0; i < functions->node_count; i++)
        count += functions->nodes[i].parent == DWARF_NONE ? functions->nodes[i].range_count : 0;
    struct dwarf_claim *claims = sxt_array_grow(assembly->claims, &assembly->claim_capacity, count + 1, sizeof *claims);
    if (claims == NULL) {
        sweep->out->no_memory = true;
        return 0;
    }
    assembly->claims = claims;
    count = 0;
    for (uint32_t i = 0; i < functions->node_count; i++)
        for (uint32_t k = 0; functions->nodes[i].parent == DWARF_NONE && k < functions->nodes[i].range_count; k++) {
            const struct dwarf_range *range = &functions->ranges.list[functions->nodes[i].first_range + k];
            claims[count++] = (struct dwarf_claim){range->start, range->end, i};
        }
    qsort(claims, count, sizeof *claims, by_start);
    return count;
}

/* Room for one more range in the output; false when memory or what the unit may do is used up. */
static bool make_room(struct sweep *sweep)
{
    struct dwarf_output *out = sweep->out;
    if (out->range_count >= UINT32_MAX - 1 || !dwarf_effort_pay(sweep->names->effort, sizeof *out->ranges)) {
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

/* A range without a name, for code that has lines but no function: it tells the lines of whatever symbol is there. */
static void add_nameless(struct sweep *sweep, uint64_t start, uint64_t end)
{
    struct dwarf_output *out = sweep->out;
    if (!make_room(sweep))
        return;
    sweep->first_range = out->range_count;
    sweep->assembly->loose_count = 0;
    out->ranges[out->range_count++] =
        (struct sxt_model_range){.address = start, .length = end - start, .source = SXT_SOURCE_DWARF};
    add_lines(sweep, (uint32_t)sweep->first_range, start, end);
    sort_lines(sweep);
}

/*
 * Of what no function covers, only that which the unit claims as its own: by that claim units are chosen when not all
 * of them are read.
 */
static void add_claimed(struct sweep *sweep, uint64_t start, uint64_t end)
{
    const struct dwarf_ranges *extents = sweep->unit->extents;
    if (extents == NULL) {
        add_nameless(sweep, start, end);
        return;
    }
    size_t low = 0, high = extents->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents->list[middle].end <= start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < extents->count && extents->list[low].start < end && !sweep->out->no_memory; low++) {
        uint64_t from = extents->list[low].start > start ? extents->list[low].start : start;
        uint64_t until = extents->list[low].end < end ? extents->list[low].end : end;
        if (from < until)
            add_nameless(sweep, from, until);
        start = until > start ? until : start;
    }
}

/* What the line table covers and no function does: assembler code, mostly, and the bytes between functions. */
static void assemble_rest(struct sweep *sweep)
{
    const struct dwarf_lines *lines = sweep->unit->lines;
    size_t count = collect_roots(sweep);
    const struct dwarf_claim *claims = sweep->assembly->claims;
    size_t next = 0;
    uint64_t taken = 0;
    for (size_t i = 0; i < lines->sequence_count; i++) {
        const struct dwarf_sequence *sequence = &lines->sequences[i];
        uint64_t at = sequence->start > taken ? sequence->start : taken;
        while (at < sequence->end && !sweep->out->no_memory && !sweep->out->cut_short) {
            for (; next < count && claims[next].start <= at; next++)
                if (claims[next].end > taken)
                    taken = claims[next].end;
            uint64_t until = next < count && claims[next].start < sequence->end ? claims[next].start : sequence->end;
            if (taken > at)
                at = taken;
            else {
                add_claimed(sweep, at, until);
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

/* Begins a range of NODE. Its length is set when it ends. */
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
    };
}

static bool is_open(const struct sweep *sweep, uint32_t number)
{
    uint32_t depth = sweep->unit->functions->nodes[number].depth;
    return depth < sweep->open_count && sweep->assembly->open_nodes[depth] == number;
}

/* Ends the open ranges from DEPTH on, where the segment before ended. */
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
    uint32_t chain[SXT_SYMBOLS_MAX_DEPTH + 1]; /* by depth: what has to be opened */
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
    if (!dwarf_effort_pay(sweep->names->effort, sizeof *sweep->assembly->loose)) {
        sweep->out->cut_short = true;
        return;
    }
    struct dwarf_loose_line *loose =
        sxt_array_grow(assembly->loose, &assembly->loose_capacity, assembly->loose_count + 1, sizeof *loose);
    if (loose == NULL) {
        sweep->out->no_memory = true;
        return;
    }
    assembly->loose = loose;
    loose[assembly->loose_count++] = (struct dwarf_loose_line){
        .range = range,
        .line = {.offset = (uint32_t)offset,
                 .file = path_of(sweep, row->file),
                 .line = row->line,
                 .column = row->column,
                 .discriminator = row->discriminator},
    };
}

/* The first row behind ADDRESS. */
static size_t row_behind(const struct dwarf_lines *lines, uint64_t address)
{
    size_t low = 0, high = lines->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->rows[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The rows in effect from START to END, for RANGE. */
static void add_lines(struct sweep *sweep, uint32_t range, uint64_t start, uint64_t end)
{
    const struct dwarf_lines *lines = sweep->unit->lines;
    static const struct dwarf_row unknown = {.address = 0};
    uint64_t base = sweep->out->ranges[range].address;
    size_t row = sweep->row;
    /* Segments come by address, so the row is mostly near the last one. */
    if (row == 0 || lines->rows[row - 1].address > start)
        row = row_behind(lines, start);
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
 * Brings the lines of each range together; they are in order of address already. One that says what the last one of its
 * range said is left out: lines of an inlined call stand between the two.
 */
static void sort_lines(struct sweep *sweep)
{
    struct dwarf_assembly *assembly = sweep->assembly;
    struct dwarf_output *out = sweep->out;
    size_t range_count = out->range_count - sweep->first_range;
    uint32_t *counts =
        sxt_array_grow(assembly->counts, &assembly->count_capacity, range_count + 1, sizeof *assembly->counts);
    void *room = sxt_array_grow(out->lines, &out->line_capacity, out->line_count + assembly->loose_count + 1,
                                sizeof *out->lines);
    if (counts != NULL)
        assembly->counts = counts;
    if (room != NULL)
        out->lines = room;
    if (counts == NULL || room == NULL || out->line_count + assembly->loose_count >= UINT32_MAX) {
        out->no_memory = true;
        return;
    }
    struct sxt_model_range *ranges = out->ranges + sweep->first_range;
    memset(counts, 0, (range_count + 1) * sizeof *counts);
    for (size_t i = 0; i < assembly->loose_count; i++)
        counts[assembly->loose[i].range - sweep->first_range]++;
    uint32_t at = (uint32_t)out->line_count;
    for (size_t i = 0; i < range_count; i++) {
        ranges[i].first_line = at;
        at += counts[i];
    }
    for (size_t i = 0; i < assembly->loose_count; i++) {
        struct sxt_model_range *range = &out->ranges[assembly->loose[i].range];
        const struct sxt_model_line *line = &assembly->loose[i].line;
        struct sxt_model_line *to = &out->lines[range->first_line + range->line_count];
        if (range->file == 0)
            range->file = line->file;
        if (sweep->unit->no_lines ||
            (range->line_count > 0 ? says_the_same(to - 1, line) : line->file == 0 && line->line == 0))
            continue;
        *to = *line;
        range->line_count++;
    }
    /* Close the gaps that were left. */
    uint32_t kept = (uint32_t)out->line_count;
    for (size_t i = 0; i < range_count; i++) {
        if (ranges[i].first_line != kept)
            memmove(&out->lines[kept], &out->lines[ranges[i].first_line], ranges[i].line_count * sizeof *out->lines);
        ranges[i].first_line = kept;
        kept += ranges[i].line_count;
    }
    out->line_count = kept;
}
