/*
 * merge.c: from what the sources added to one ordered model.
 *
 * Symbols become candidates beside the ranges of better sources. A sweep over the addresses picks, at each one, the
 * best candidate that covers it; a candidate that wins in several places is cut into pieces, each with the part of its
 * inlined ranges and lines that lies inside.
 *
 *     symtab   [ outer                          ]          outer  inner  outer        late
 *     symtab          [ inner ]                       ▶   [     ][     ][     ][ dwarf    ][ ]
 *     dwarf                              [ dwarf    ]
 *     symtab                                    [ late ]
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/sort.h"
#include "symbols/symbols.h"

/* A range of depth 0 that wants its bytes. */
struct candidate {
    uint64_t start;
    uint64_t end;
    uint32_t range;  /* index of the added range, or NO_RANGE */
    uint32_t symbol; /* index of the symbol when there is no range */
    uint8_t rank;    /* of its source; lower is better */
};

#define NO_RANGE UINT32_MAX

struct merge {
    struct sxt_symbols *symbols;
    struct candidate *candidates; /* in order of adding; among symbols in order of the alias rule */
    size_t candidate_count;
    struct sxt_sort_item *order; /* candidates by start */
    struct sxt_sort_item *scratch;
    uint32_t *heap; /* candidates that are open at the current address, best first */
    size_t heap_count;

    struct sxt_model_range *ranges; /* the result */
    size_t range_count, range_capacity;
};

static int order_symbols(struct sxt_symbols *symbols, sxt_error *error);
static int collect_candidates(struct merge *merge, sxt_error *error);
static bool sweep(struct merge *merge);
static bool emit_piece(struct merge *merge, uint32_t which, uint64_t start, uint64_t end);
static void repair_nesting(struct merge *merge);
static void note_sources(struct sxt_symbols *symbols);

int sxt_symbols_finish(struct sxt_symbols *symbols, sxt_error *error)
{
    if (symbols->failed)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting symbols");
    int status = order_symbols(symbols, error);
    if (status != SXT_OK)
        return status;

    struct merge merge = {.symbols = symbols};
    status = collect_candidates(&merge, error);
    if (status == SXT_OK && !sweep(&merge))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while merging symbols");
    if (status == SXT_OK)
        status = sxt_ranges_sort(merge.ranges, merge.range_count, error);
    if (status == SXT_OK) {
        repair_nesting(&merge);
        free(symbols->ranges);
        symbols->ranges = merge.ranges;
        symbols->range_count = merge.range_count;
        symbols->range_capacity = merge.range_capacity;
        note_sources(symbols);
    } else {
        free(merge.ranges);
    }
    free(merge.candidates);
    free(merge.order);
    free(merge.scratch);
    free(merge.heap);
    return status;
}

static int binding_rank(char binding)
{
    return binding == 'G' || binding == 'U' ? 0 : binding == 'W' ? 1 : 2;
}

/* The alias rule as a number: the lower, the better. */
static uint64_t alias_rank(const struct sxt_model_symbol *symbol)
{
    return (uint64_t)(symbol->size == 0) << 2 | (uint64_t)binding_rank(symbol->binding);
}

/* Sorts by (address, alias rule, order of adding), and keeps one of those that agree in address, name and type. */
static int order_symbols(struct sxt_symbols *symbols, sxt_error *error)
{
    size_t count = symbols->symbol_count;
    if (count == 0)
        return SXT_OK;
    struct sxt_sort_item *items = malloc(2 * count * sizeof *items);
    struct sxt_model_symbol *sorted = malloc(count * sizeof *sorted);
    uint32_t *seen = calloc(symbols->strings.count, sizeof *seen);
    if (items == NULL || sorted == NULL || seen == NULL) {
        free(items);
        free(sorted);
        free(seen);
        return sxt_fail_memory(error, 2 * count * sizeof *items);
    }
    /* Least significant key first: the sort is stable. */
    for (size_t i = 0; i < count; i++)
        items[i] = (struct sxt_sort_item){alias_rank(&symbols->symbols[i]), (uint32_t)i};
    sxt_sort(items, items + count, count);
    for (size_t i = 0; i < count; i++)
        items[i].key = symbols->symbols[items[i].index].address;
    sxt_sort(items, items + count, count);

    size_t kept = 0;
    for (size_t i = 0, group = 0; i < count; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[items[i].index];
        if (i == 0 || items[i].key != items[i - 1].key)
            group = kept;
        /* seen[name] is one more than the place where a symbol of that name was kept last. */
        uint32_t before = seen[symbol->name];
        if (before > group && sorted[before - 1].type == symbol->type && sorted[before - 1].module == symbol->module)
            continue;
        sorted[kept++] = *symbol;
        seen[symbol->name] = (uint32_t)kept;
    }
    free(items);
    free(seen);
    free(symbols->symbols);
    symbols->symbols = sorted;
    symbols->symbol_count = kept;
    symbols->symbol_capacity = count;
    return SXT_OK;
}

static bool is_function(const struct sxt_model_symbol *symbol)
{
    return symbol->type == 'F' || symbol->type == 'I' || symbol->type == 'P';
}

/* A zero-size function reaches to the next symbol, but not out of its section. */
static uint64_t extended_size(const struct sxt_symbols *symbols, size_t index)
{
    const struct sxt_model_symbol *symbol = &symbols->symbols[index];
    uint64_t end = symbol->section_end;
    for (size_t i = index + 1; i < symbols->symbol_count; i++)
        if (symbols->symbols[i].address > symbol->address) {
            if (symbols->symbols[i].address < end)
                end = symbols->symbols[i].address;
            break;
        }
    return end > symbol->address ? end - symbol->address : 0;
}

static uint8_t source_rank(uint8_t source)
{
    return source == SXT_SOURCE_DWARF ? 0 : source == SXT_SOURCE_GO ? 1 : 2;
}

static void add_candidate(struct merge *merge, uint64_t start, uint64_t size, uint32_t range, uint32_t symbol,
                          uint8_t source)
{
    if (size == 0)
        return;
    uint64_t end;
    if (!sxt_add_u64(start, size, &end))
        end = UINT64_MAX;
    merge->candidates[merge->candidate_count++] = (struct candidate){start, end, range, symbol, source_rank(source)};
}

static int collect_candidates(struct merge *merge, sxt_error *error)
{
    struct sxt_symbols *symbols = merge->symbols;
    size_t most = symbols->symbol_count + symbols->range_count;
    if (most >= UINT32_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "more than 4294967294 symbols and ranges");
    merge->candidates = malloc((most + 1) * sizeof *merge->candidates);
    merge->order = malloc((most + 1) * sizeof *merge->order);
    merge->scratch = malloc((most + 1) * sizeof *merge->scratch);
    merge->heap = malloc((most + 1) * sizeof *merge->heap);
    if (merge->candidates == NULL || merge->order == NULL || merge->scratch == NULL || merge->heap == NULL)
        return sxt_fail_memory(error, most * sizeof *merge->candidates);

    for (size_t i = 0; i < symbols->range_count; i++)
        if (symbols->ranges[i].depth == 0)
            add_candidate(merge, symbols->ranges[i].address, symbols->ranges[i].length, (uint32_t)i, 0,
                          symbols->ranges[i].source);
    for (size_t i = 0; i < symbols->symbol_count; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[i];
        if (!is_function(symbol))
            continue;
        uint64_t size = symbol->size;
        if (size == 0 && symbols->extend_zero_size)
            size = extended_size(symbols, i);
        add_candidate(merge, symbol->address, size, NO_RANGE, (uint32_t)i, symbol->source);
    }
    for (size_t i = 0; i < merge->candidate_count; i++)
        merge->order[i] = (struct sxt_sort_item){merge->candidates[i].start, (uint32_t)i};
    sxt_sort(merge->order, merge->scratch, merge->candidate_count);
    return SXT_OK;
}

/* Which of two candidates that cover the same address has it? */
static bool is_better(const struct merge *merge, uint32_t a, uint32_t b)
{
    const struct candidate *first = &merge->candidates[a];
    const struct candidate *second = &merge->candidates[b];
    if (first->rank != second->rank)
        return first->rank < second->rank;
    if (first->start != second->start)
        return first->start > second->start;
    return a < b;
}

static void heap_push(struct merge *merge, uint32_t which)
{
    size_t at = merge->heap_count++;
    while (at > 0 && is_better(merge, which, merge->heap[(at - 1) / 2])) {
        merge->heap[at] = merge->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    merge->heap[at] = which;
}

static void heap_pop(struct merge *merge)
{
    uint32_t last = merge->heap[--merge->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= merge->heap_count)
            break;
        if (child + 1 < merge->heap_count && is_better(merge, merge->heap[child + 1], merge->heap[child]))
            child++;
        if (!is_better(merge, merge->heap[child], last))
            break;
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    if (merge->heap_count > 0)
        merge->heap[at] = last;
}

static bool sweep(struct merge *merge)
{
    size_t next = 0;
    uint64_t at = 0;
    uint32_t piece_of = 0;
    uint64_t piece_start = 0, piece_end = 0; /* the piece that may still grow; empty when start == end */
    while (next < merge->candidate_count || merge->heap_count > 0) {
        if (merge->heap_count == 0)
            at = merge->order[next].key;
        while (next < merge->candidate_count && merge->order[next].key <= at)
            heap_push(merge, merge->order[next++].index);
        while (merge->heap_count > 0 && merge->candidates[merge->heap[0]].end <= at)
            heap_pop(merge);
        if (merge->heap_count == 0)
            continue;

        uint32_t winner = merge->heap[0];
        uint64_t until = merge->candidates[winner].end;
        if (next < merge->candidate_count && merge->order[next].key < until)
            until = merge->order[next].key;
        if (piece_start != piece_end && piece_of == winner && piece_end == at) {
            piece_end = until;
        } else {
            if (piece_start != piece_end && !emit_piece(merge, piece_of, piece_start, piece_end))
                return false;
            piece_of = winner;
            piece_start = at;
            piece_end = until;
        }
        at = until;
    }
    return piece_start == piece_end || emit_piece(merge, piece_of, piece_start, piece_end);
}

static bool emit_range(struct merge *merge, const struct sxt_model_range *range)
{
    if (merge->range_count >= UINT32_MAX)
        return false;
    void *moved = sxt_array_grow(merge->ranges, &merge->range_capacity, merge->range_count + 1, sizeof *merge->ranges);
    if (moved == NULL)
        return false;
    merge->ranges = moved;
    merge->ranges[merge->range_count++] = *range;
    return true;
}

/* Lines of a range that lost CUT bytes at its front: the entry in effect there moves to offset 0. */
static bool move_lines(struct sxt_symbols *symbols, struct sxt_model_range *range, uint64_t cut)
{
    uint32_t first = range->first_line;
    uint32_t last = first + range->line_count;
    while (first + 1 < last && symbols->lines[first + 1].offset <= cut)
        first++;
    size_t start = symbols->line_count;
    for (uint32_t i = first; i < last; i++) {
        struct sxt_model_line line = symbols->lines[i];
        line.offset = line.offset > cut ? (uint32_t)(line.offset - cut) : 0;
        size_t count = symbols->line_count;
        void *moved = count < UINT32_MAX
                          ? sxt_array_grow(symbols->lines, &symbols->line_capacity, count + 1, sizeof *symbols->lines)
                          : NULL;
        if (moved == NULL)
            return false;
        symbols->lines = moved;
        symbols->lines[symbols->line_count++] = line;
    }
    range->first_line = (uint32_t)start;
    range->line_count = last - first;
    return true;
}

/* Line entries behind the end of a range say nothing. */
static void drop_late_lines(const struct sxt_symbols *symbols, struct sxt_model_range *range)
{
    while (range->line_count > 0 && symbols->lines[range->first_line + range->line_count - 1].offset >= range->length)
        range->line_count--;
}

/* The part of RANGE inside [start, end), as a range of its own; nothing when they do not meet. */
static bool emit_clipped(struct merge *merge, struct sxt_model_range range, uint64_t start, uint64_t end)
{
    uint64_t range_end;
    if (!sxt_add_u64(range.address, range.length, &range_end))
        range_end = UINT64_MAX;
    uint64_t from = range.address > start ? range.address : start;
    uint64_t to = range_end < end ? range_end : end;
    if (from >= to)
        return true;
    if (from > range.address && range.line_count > 0 && !move_lines(merge->symbols, &range, from - range.address))
        return false;
    range.address = from;
    range.length = to - from;
    drop_late_lines(merge->symbols, &range);
    return emit_range(merge, &range);
}

static bool emit_piece(struct merge *merge, uint32_t which, uint64_t start, uint64_t end)
{
    const struct candidate *candidate = &merge->candidates[which];
    const struct sxt_symbols *symbols = merge->symbols;
    if (candidate->range == NO_RANGE) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[candidate->symbol];
        return emit_range(
            merge, &(struct sxt_model_range){
                       .address = start, .length = end - start, .function = symbol->name, .source = symbol->source});
    }
    /* The root, and what was added behind it until the next root. */
    for (size_t i = candidate->range; i < symbols->range_count; i++) {
        if (i != candidate->range && symbols->ranges[i].depth == 0)
            break;
        if (symbols->ranges[i].depth <= SXT_SYMBOLS_MAX_DEPTH && !emit_clipped(merge, symbols->ranges[i], start, end))
            return false;
    }
    return true;
}

/*
 * An inlined range lies inside the range one level up, and beside the others of its level. One that sticks out is cut
 * off, one without a parent is dropped; of two that overlap on one level the later one keeps its bytes, and of two that
 * begin together the first is kept.
 */
static void repair_nesting(struct merge *merge)
{
    size_t open[SXT_SYMBOLS_MAX_DEPTH + 1]; /* by depth: the range that is open there */
    size_t levels = 0;
    size_t kept = 0;
    struct sxt_model_range *ranges = merge->ranges;
    for (size_t i = 0; i < merge->range_count; i++) {
        struct sxt_model_range range = ranges[i];
        while (levels > 0 && levels > range.depth &&
               ranges[open[levels - 1]].address + ranges[open[levels - 1]].length <= range.address)
            levels--;
        if (range.depth > levels)
            continue;
        if (range.depth > 0) {
            const struct sxt_model_range *parent = &ranges[open[range.depth - 1]];
            uint64_t left = parent->address + parent->length;
            if (range.address >= left)
                continue;
            left -= range.address;
            if (range.length > left)
                range.length = left;
        }
        if (range.depth < levels) {
            struct sxt_model_range *sibling = &ranges[open[range.depth]];
            if (sibling->address == range.address)
                continue;
            if (range.address - sibling->address < sibling->length) {
                sibling->length = range.address - sibling->address;
                drop_late_lines(merge->symbols, sibling);
            }
        }
        drop_late_lines(merge->symbols, &range);
        ranges[kept] = range;
        open[range.depth] = kept++;
        levels = range.depth + 1;
    }
    merge->range_count = kept;
}

static void note_sources(struct sxt_symbols *symbols)
{
    for (size_t i = 0; i < symbols->symbol_count; i++)
        symbols->sources |= symbols->symbols[i].source;
    for (size_t i = 0; i < symbols->range_count; i++)
        symbols->sources |= symbols->ranges[i].source;
}
