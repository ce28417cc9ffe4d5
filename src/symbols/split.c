/*
 * split.c: cuts ranges for formats that have room for one file per range.
 *
 *     depth 0  [ f   a.c      | table.inc | a.c ]          [ f  a.c ][ f  table.inc ][ f  a.c ]
 *     depth 1          [ g    a.h              ]     ▶          [ g ][ g            ][ g ]
 *
 * The cut goes through deeper ranges too, because a reader that walks back from an address stops at the first range of
 * depth 0 that it meets.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "symbols/nest.h"
#include "symbols/trees.h"

struct split {
    const struct sxt_symbols *symbols;
    struct sxt_range_list list;
    size_t range_capacity, line_count, line_capacity;
    uint64_t *cuts; /* of the ranges that are open now, level by level */
    size_t cut_count, cut_capacity;
    size_t first_cut[SXT_SYMBOLS_MAX_DEPTH + 2]; /* by depth: where the cuts of the open range begin in `cuts` */
    size_t end_cut[SXT_SYMBOLS_MAX_DEPTH + 2];
    bool failed;
};

static bool needs_cut(const void *context, size_t first, size_t end);
static bool are_apart(const struct sxt_symbols *symbols, const struct sxt_trees *trees);
static void split_tree(struct split *split, size_t first, size_t end);
static bool mix(const struct sxt_symbols *symbols, const struct sxt_trees *trees, struct split *split,
                unsigned threads);

int sxt_ranges_one_file(const struct sxt_symbols *symbols, unsigned threads, struct sxt_range_list *out,
                        sxt_error *error)
{
    struct split split = {.symbols = symbols, .list = {.lines = symbols->lines}};
    struct sxt_trees trees;
    split.failed = !sxt_trees_find(&trees, symbols->ranges, symbols->range_count, needs_cut, symbols, threads);
    bool apart = !split.failed && are_apart(symbols, &trees);
    for (size_t i = 0; i < trees.count && !split.failed; i++)
        if (trees.marked[i] || !apart)
            split_tree(&split, trees.first[i], trees.first[i + 1]);
    free(split.cuts);
    int status = split.failed ? sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while preparing ranges")
                              : sxt_ranges_sort(split.list.ranges, split.list.range_count, error);
    if (status == SXT_OK && apart && !mix(symbols, &trees, &split, threads))
        status = sxt_fail_memory(error, symbols->range_count * sizeof *split.list.ranges);
    sxt_trees_free(&trees);
    if (status != SXT_OK) {
        sxt_range_list_free(&split.list);
        return status;
    }
    *out = split.list;
    return SXT_OK;
}

void sxt_range_list_free(struct sxt_range_list *list)
{
    free(list->ranges);
    free(list->own_lines);
    memset(list, 0, sizeof *list);
}

static bool changes_file(const struct sxt_symbols *symbols, const struct sxt_model_range *range)
{
    uint32_t file = 0;
    for (uint32_t i = 0; i < range->line_count; i++) {
        uint32_t here = symbols->lines[range->first_line + i].file;
        if (here == 0)
            continue;
        if (file != 0 && here != file)
            return true;
        file = here;
    }
    return false;
}

/* Would a range of the tree be cut, get another file, or lose a line entry after its end? */
static bool needs_cut(const void *context, size_t first, size_t end)
{
    const struct sxt_symbols *symbols = context;
    for (size_t i = first; i < end; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        const struct sxt_model_line *lines = range->line_count > 0 ? &symbols->lines[range->first_line] : NULL;
        for (uint32_t k = 0; k < range->line_count; k++)
            if ((lines[k].file != 0 && lines[k].file != range->file) || lines[k].offset >= range->length)
                return true;
    }
    return false;
}

/*
 * Are the trees in order, and does none that is cut extend into the next one? Archives of other writers may have such
 * trees. Then all are cut and sorted together.
 */
static bool are_apart(const struct sxt_symbols *symbols, const struct sxt_trees *trees)
{
    const struct sxt_model_range *ranges = symbols->ranges;
    for (size_t i = 0; i + 1 < trees->count; i++) {
        uint64_t next = ranges[trees->first[i + 1]].address;
        if (ranges[trees->first[i]].address > next)
            return false;
        for (size_t k = trees->first[i]; k < trees->first[i + 1] && trees->marked[i]; k++)
            if (sxt_range_end(&ranges[k]) > next)
                return false;
    }
    return true;
}

/* Puts the trees that were not cut between those that were. */
static bool mix(const struct sxt_symbols *symbols, const struct sxt_trees *trees, struct split *split, unsigned threads)
{
    struct sxt_range_list *list = &split->list;
    struct sxt_range_run *runs = malloc((trees->count + 1) * sizeof *runs);
    size_t run_count = 0, copied = 0;
    for (size_t i = 0; i < trees->count && runs != NULL; i++) {
        if (trees->marked[i])
            continue;
        runs[run_count] = (struct sxt_range_run){trees->first[i], trees->first[i + 1] - trees->first[i]};
        copied += runs[run_count++].count;
    }
    size_t count = copied + list->range_count;
    struct sxt_model_range *all = runs != NULL ? malloc((count + 1) * sizeof *all) : NULL;
    if (all != NULL) {
        const struct sxt_range_mix mix = {.source = symbols->ranges,
                                          .runs = runs,
                                          .run_count = run_count,
                                          .others = list->ranges,
                                          .other_count = list->range_count};
        sxt_ranges_mix(&mix, threads, all);
        free(list->ranges);
        list->ranges = all;
        list->range_count = count;
    }
    free(runs);
    return all != NULL;
}

static void add_cut(struct split *split, uint64_t address)
{
    void *moved = sxt_array_grow(split->cuts, &split->cut_capacity, split->cut_count + 1, sizeof *split->cuts);
    if (moved == NULL) {
        split->failed = true;
        return;
    }
    split->cuts = moved;
    split->cuts[split->cut_count++] = address;
}

/* Copies the parent's cuts from *PARENT on that lie in the range and before ADDRESS. */
static void inherit_cuts(struct split *split, size_t *parent, size_t parent_end, uint64_t address)
{
    for (; *parent < parent_end && split->cuts[*parent] < address; *parent += 1)
        add_cut(split, split->cuts[*parent]);
}

/* Notes where RANGE is cut: where the range around it is, and where its own lines change file; in ascending order. */
static void find_cuts(struct split *split, const struct sxt_model_range *range, size_t parent, size_t parent_end)
{
    const struct sxt_symbols *symbols = split->symbols;
    /* The first cut of the parent that is inside. */
    if (parent < parent_end)
        parent += sxt_search_above(split->cuts + parent, parent_end - parent, sizeof *split->cuts, sizeof *split->cuts,
                                   range->address);
    uint32_t file = 0;
    uint64_t before = 0; /* offset of its last own cut */
    uint32_t line_count = changes_file(symbols, range) ? range->line_count : 0;
    for (uint32_t i = 0; i < line_count; i++) {
        const struct sxt_model_line *line = &symbols->lines[range->first_line + i];
        if (line->file == 0)
            continue;
        bool cut = file != 0 && line->file != file && line->offset > before && line->offset < range->length;
        file = line->file;
        if (!cut)
            continue;
        before = line->offset;
        inherit_cuts(split, &parent, parent_end, range->address + line->offset);
        if (parent < parent_end && split->cuts[parent] == range->address + line->offset)
            parent++;
        add_cut(split, range->address + line->offset);
    }
    inherit_cuts(split, &parent, parent_end, range->address + range->length);
}

/* Adds one piece of RANGE. *LINE is the first line entry that may begin inside it, and is moved on. */
static void add_piece(struct split *split, const struct sxt_model_range *range, uint64_t start, uint64_t end,
                      uint32_t *line)
{
    const struct sxt_model_line *lines = range->line_count > 0 ? &split->symbols->lines[range->first_line] : NULL;
    struct sxt_range_list *list = &split->list;
    void *ranges = sxt_array_grow(list->ranges, &split->range_capacity, list->range_count + 1, sizeof *list->ranges);
    void *room = sxt_array_grow(list->own_lines, &split->line_capacity, split->line_count + range->line_count + 1,
                                sizeof *list->own_lines);
    if (ranges != NULL)
        list->ranges = ranges;
    if (room != NULL)
        list->own_lines = room;
    if (ranges == NULL || room == NULL || list->range_count >= UINT32_MAX || split->line_count >= UINT32_MAX) {
        split->failed = true;
        return;
    }
    struct sxt_model_range piece = *range;
    piece.address = start;
    piece.length = end - start;
    piece.flags |= SXT_RANGE_OWN_LINES;
    if (start != range->address) {
        piece.flags &= (uint16_t)~SXT_RANGE_CONTINUES;
        piece.flags |= range->flags & SXT_RANGE_ASSUMED ? 0 : SXT_RANGE_CONTINUES;
    }
    piece.first_line = (uint32_t)split->line_count;
    uint64_t skipped = start - range->address;
    /* The entry in effect at the start of the piece may have begun before it. */
    uint32_t i = *line;
    while (i + 1 < range->line_count && lines[i + 1].offset <= skipped)
        i++;
    uint32_t file = 0;
    for (; i < range->line_count && lines[i].offset < end - range->address; i++) {
        struct sxt_model_line entry = lines[i];
        entry.offset = entry.offset > skipped ? (uint32_t)(entry.offset - skipped) : 0;
        if (file == 0)
            file = entry.file;
        list->own_lines[split->line_count++] = entry;
        *line = i;
    }
    piece.line_count = (uint32_t)split->line_count - piece.first_line;
    if (file != 0)
        piece.file = file;
    list->ranges[list->range_count++] = piece;
}

static void split_range(struct split *split, const struct sxt_model_range *range, size_t parent_cuts,
                        size_t parent_cut_count)
{
    size_t first = split->cut_count;
    find_cuts(split, range, parent_cuts, parent_cuts + parent_cut_count);
    uint64_t start = range->address;
    uint32_t line = 0;
    for (size_t i = first; i < split->cut_count && !split->failed; i++) {
        add_piece(split, range, start, split->cuts[i], &line);
        start = split->cuts[i];
    }
    add_piece(split, range, start, range->address + range->length, &line);
}

static void split_tree(struct split *split, size_t first, size_t end)
{
    const struct sxt_symbols *symbols = split->symbols;
    for (size_t i = first; i < end && !split->failed; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        size_t parent_first = 0, parent_count = 0;
        if (range->depth > 0 && range->depth <= SXT_SYMBOLS_MAX_DEPTH) {
            parent_first = split->first_cut[range->depth - 1];
            parent_count = split->end_cut[range->depth - 1] - parent_first;
            split->cut_count = split->end_cut[range->depth - 1];
        } else {
            split->cut_count = 0;
        }
        size_t level = range->depth <= SXT_SYMBOLS_MAX_DEPTH ? range->depth : SXT_SYMBOLS_MAX_DEPTH + 1;
        split->first_cut[level] = split->cut_count;
        split_range(split, range, parent_first, parent_count);
        split->end_cut[level] = split->cut_count;
    }
}
