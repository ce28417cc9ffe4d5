/*
 * merge.c: turns what the sources added into one ordered model.
 *
 * Symbols and the ranges of better sources are candidates. A sweep over the addresses picks, at each one, the best
 * candidate that covers it. The result is the pieces of each candidate that were picked, each with the inlined ranges
 * and lines that lie inside.
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
#include "base/priority_queue.h"
#include "base/search.h"
#include "base/sort.h"
#include "symbols/alias_rule.h"
#include "symbols/aliases.h"
#include "symbols/entry_names.h"
#include "symbols/nameless.h"
#include "symbols/nest.h"

/* A range of depth 0 that competes for its bytes. */
struct candidate {
    uint64_t start;
    uint64_t end;
    uint32_t range;  /* index of the added range, or NO_RANGE */
    uint32_t symbol; /* index of the symbol when there is no range */
    uint8_t rank;    /* of its source; lower is better */
};

#define NO_RANGE UINT32_MAX

/* Addresses that a candidate was picked for. */
struct piece {
    uint64_t start;
    uint64_t end;
    uint32_t candidate;
};

struct merge {
    struct sxt_symbols *symbols;
    struct candidate *candidates; /* in order of adding; among symbols in order of the alias rule */
    size_t candidate_count;
    struct sxt_sort_item *order; /* candidates by start */
    struct sxt_sort_item *scratch;
    struct sxt_queue open; /* candidates that cover the current address */
    struct piece *pieces;  /* ascending */
    size_t piece_count, piece_capacity;

    struct sxt_model_range *ranges; /* the result */
    size_t range_count, range_capacity;
    size_t range_limit; /* exceeded only if ranges overlap more than in any compiler's output */
    struct sxt_nameless nameless;
};

static int order_symbols(struct sxt_symbols *symbols, sxt_error *error);
static int collect_candidates(struct merge *merge, sxt_error *error);
static void name_functions(struct merge *merge);
static bool sweep(struct merge *merge);
static int emit_pieces(struct merge *merge, sxt_error *error);
static void note_sources(struct sxt_symbols *symbols);

int sxt_symbols_finish(struct sxt_symbols *symbols, sxt_error *error)
{
    if (symbols->failed)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting symbols");
    int status = order_symbols(symbols, error);
    if (status == SXT_OK)
        status = sxt_ranges_nest(symbols, error);
    if (status != SXT_OK)
        return status;

    struct merge merge = {.symbols = symbols};
    status = collect_candidates(&merge, error);
    if (status == SXT_OK)
        name_functions(&merge);
    if (status == SXT_OK && (symbols->failed || !sxt_aliases_finish(symbols) || !sweep(&merge)))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while merging symbols");
    if (status == SXT_OK)
        status = emit_pieces(&merge, error);
    if (status == SXT_OK)
        status = sxt_ranges_sort(merge.ranges, merge.range_count, error);
    if (status == SXT_OK) {
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
    free(merge.open.items);
    free(merge.pieces);
    sxt_nameless_free(&merge.nameless);
    return status;
}

/* Was an equal symbol kept already in the group of symbols at its address, which begins at GROUP? */
static bool is_double(const struct sxt_model_symbol *symbol, const struct sxt_model_symbol *kept,
                      const uint32_t *previous, uint32_t last, size_t group)
{
    for (uint32_t at = last; at > group; at = previous[at - 1])
        if (kept[at - 1].type == symbol->type && kept[at - 1].module == symbol->module)
            return true;
    return false;
}

/*
 * Sorts by (address, alias rule, order of adding), and keeps one of those that agree in address, name, type and module.
 * last_named[name] is one more than the place of the last symbol of that name that was kept; previous[] leads to the
 * ones before.
 */
static int order_symbols(struct sxt_symbols *symbols, sxt_error *error)
{
    size_t count = symbols->symbol_count;
    if (count == 0)
        return SXT_OK;
    struct sxt_sort_item *items = malloc(2 * count * sizeof *items);
    struct sxt_model_symbol *sorted = malloc(count * sizeof *sorted);
    uint32_t *last_named = calloc(symbols->strings.count, sizeof *last_named);
    uint32_t *previous = malloc(count * sizeof *previous);
    int status = SXT_OK;
    if (items == NULL || sorted == NULL || last_named == NULL || previous == NULL) {
        status = sxt_fail_memory(error, 2 * count * sizeof *items);
        free(sorted);
    } else {
        /* Least significant key first: the sort is stable. */
        for (size_t i = 0; i < count; i++)
            items[i] = (struct sxt_sort_item){sxt_alias_rank(&symbols->symbols[i]), (uint32_t)i};
        sxt_sort(items, items + count, count);
        for (size_t i = 0; i < count; i++)
            items[i].key = symbols->symbols[items[i].index].address;
        sxt_sort(items, items + count, count);

        size_t kept = 0;
        for (size_t i = 0, group = 0; i < count; i++) {
            const struct sxt_model_symbol *symbol = &symbols->symbols[items[i].index];
            if (i == 0 || items[i].key != items[i - 1].key)
                group = kept;
            if (is_double(symbol, sorted, previous, last_named[symbol->name], group))
                continue;
            previous[kept] = last_named[symbol->name];
            sorted[kept++] = *symbol;
            last_named[symbol->name] = (uint32_t)kept;
        }
        free(symbols->symbols);
        symbols->symbols = sorted;
        symbols->symbol_count = kept;
        symbols->symbol_capacity = count;
    }
    free(items);
    free(last_named);
    free(previous);
    return status;
}

static bool is_function(const struct sxt_model_symbol *symbol)
{
    return symbol->type == 'F' || symbol->type == 'I' || symbol->type == 'P';
}

/*
 * A zero-size function extends to the next symbol, but not beyond its section. *NEXT is a symbol at or before the first
 * one after it, and is moved on.
 */
static uint64_t extended_size(const struct sxt_symbols *symbols, size_t index, size_t *next)
{
    const struct sxt_model_symbol *symbol = &symbols->symbols[index];
    uint64_t end = symbol->section_end;
    while (*next < symbols->symbol_count && symbols->symbols[*next].address <= symbol->address)
        *next += 1;
    if (*next < symbols->symbol_count && symbols->symbols[*next].address < end)
        end = symbols->symbols[*next].address;
    return end > symbol->address ? end - symbol->address : 0;
}

#define LABEL_RANK    3
#define NAMELESS_RANK 4

static uint8_t source_rank(uint8_t source)
{
    return source == SXT_SOURCE_DWARF ? 0 : source == SXT_SOURCE_GO ? 1 : 2;
}

static void add_candidate(struct merge *merge, uint64_t start, uint64_t size, uint32_t range, uint32_t symbol,
                          uint8_t rank)
{
    if (size == 0)
        return;
    uint64_t end;
    if (!sxt_add_u64(start, size, &end))
        end = UINT64_MAX;
    merge->candidates[merge->candidate_count++] = (struct candidate){start, end, range, symbol, rank};
}

/*
 * A symbol without a size owns nothing, and one without a type may not be code. But if the address has lines without a
 * function, the symbol is a label in assembler code. Without a size it extends to the next symbol or the end of those
 * lines. Mapping symbols ($x) and the assembler's local labels (.L1) are ignored.
 */
static uint64_t labelled_size(const struct merge *merge, size_t index, size_t *next)
{
    const struct sxt_symbols *symbols = merge->symbols;
    const struct sxt_model_symbol *symbol = &symbols->symbols[index];
    sxt_string name = sxt_symbols_view(symbols, symbol->name);
    uint64_t lines_end = sxt_nameless_end(&merge->nameless, symbol->address);
    if (lines_end <= symbol->address || name.size == 0 || name.data[0] == '$' || name.data[0] == '.')
        return 0;
    if (symbol->size > 0)
        return symbol->size;
    uint64_t size = extended_size(symbols, index, next);
    return size < lines_end - symbol->address ? size : lines_end - symbol->address;
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
    merge->open.items = malloc((most + 1) * sizeof *merge->open.items);
    if (merge->candidates == NULL || merge->order == NULL || merge->scratch == NULL || merge->open.items == NULL)
        return sxt_fail_memory(error, most * sizeof *merge->candidates);
    if (!sxt_nameless_collect(&merge->nameless, symbols))
        return sxt_fail_memory(error, symbols->range_count * sizeof *merge->nameless.parts);

    for (size_t i = 0; i < symbols->range_count; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        bool has_calls = i + 1 < symbols->range_count && symbols->ranges[i + 1].depth > 0;
        bool says_something =
            range->function != 0 || ((range->flags & SXT_RANGE_KEEP) && (range->line_count > 0 || has_calls));
        if (range->depth == 0 && says_something)
            add_candidate(merge, range->address, range->length, (uint32_t)i, 0,
                          range->function != 0 ? source_rank(range->source) : NAMELESS_RANK);
    }
    size_t next = 0;
    for (size_t i = 0; i < symbols->symbol_count; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[i];
        uint64_t size = symbol->size;
        uint8_t rank = source_rank(symbol->source);
        if (size == 0 && symbols->extend_zero_size && is_function(symbol)) {
            size = extended_size(symbols, i, &next);
        } else if (merge->nameless.count > 0 && (symbol->type == 'N' || (size == 0 && is_function(symbol)))) {
            size = labelled_size(merge, i, &next);
            rank = LABEL_RANK;
        } else if (!is_function(symbol)) {
            continue;
        }
        add_candidate(merge, symbol->address, size, NO_RANGE, (uint32_t)i, rank);
    }
    for (size_t i = 0; i < merge->candidate_count; i++)
        merge->order[i] = (struct sxt_sort_item){merge->candidates[i].start, (uint32_t)i};
    sxt_sort(merge->order, merge->scratch, merge->candidate_count);
    return SXT_OK;
}

/*
 * Two functions of DWARF begin together: their code was folded into one. If the linker does not do that, they are two
 * names that an assembler source gives to one function.
 */
static void add_folded(struct sxt_symbols *symbols, const struct sxt_model_range *a, const struct sxt_model_range *b)
{
    bool ambiguous = !symbols->cannot_be_folded && !sxt_names_are_variants(sxt_symbols_view(symbols, a->function),
                                                                           sxt_symbols_view(symbols, b->function));
    sxt_symbols_add_alias(symbols, &(struct sxt_model_alias){a->address, a->function, ambiguous});
    sxt_symbols_add_alias(symbols, &(struct sxt_model_alias){b->address, b->function, ambiguous});
}

/* Does another function of a better source than symbols begin where the one at INDEX of the order does? */
static bool begins_again(const struct merge *merge, size_t index)
{
    return index + 1 < merge->candidate_count && merge->order[index + 1].key == merge->order[index].key &&
           merge->candidates[merge->order[index + 1].index].range != NO_RANGE;
}

/* Gives functions of DWARF the names of the symbols at their addresses. Both lists are in order of address. */
static void name_functions(struct merge *merge)
{
    struct sxt_symbols *symbols = merge->symbols;
    size_t first = 0, end = 0;
    bool unnamed = false;
    const struct sxt_model_range *before = NULL; /* the function that was named last */
    for (size_t i = 0; i < merge->candidate_count; i++) {
        const struct candidate *candidate = &merge->candidates[merge->order[i].index];
        if (candidate->range == NO_RANGE || candidate->rank == NAMELESS_RANK ||
            symbols->ranges[candidate->range].source != SXT_SOURCE_DWARF)
            continue;
        if (end == 0 || symbols->symbols[end - 1].address != candidate->start) {
            for (first = end; first < symbols->symbol_count && symbols->symbols[first].address < candidate->start;)
                first++;
            for (end = first; end < symbols->symbol_count && symbols->symbols[end].address == candidate->start;)
                end++;
        }
        struct sxt_model_range *range = &symbols->ranges[candidate->range];
        bool is_folded = (before != NULL && before->address == range->address) || begins_again(merge, i);
        uint32_t name =
            first < end ? sxt_entry_name(symbols, range, &symbols->symbols[first], end - first, is_folded) : 0;
        if (name != 0) {
            range->function = name;
            range->flags |= SXT_RANGE_SYMBOL_NAME;
        }
        if (before != NULL && before->address == range->address && before->function != range->function)
            add_folded(symbols, before, range);
        before = range;
        unnamed |= name == 0 && !(range->flags & (SXT_RANGE_LINKAGE_NAME | SXT_RANGE_ENTRY));
    }
    if (unnamed)
        sxt_entry_names_spread(symbols);
}

/* Which of two candidates that cover the same address wins? */
static bool is_better(const void *context, uint32_t a, uint32_t b)
{
    const struct merge *merge = context;
    const struct candidate *first = &merge->candidates[a];
    const struct candidate *second = &merge->candidates[b];
    if (first->rank != second->rank)
        return first->rank < second->rank;
    if (first->start != second->start)
        return first->start > second->start;
    return a < b;
}

/* Notes that CANDIDATE has [start, end). A piece that continues its last one extends it. */
static bool add_piece(struct merge *merge, uint32_t candidate, uint64_t start, uint64_t end)
{
    struct piece *last = merge->piece_count > 0 ? &merge->pieces[merge->piece_count - 1] : NULL;
    if (last != NULL && last->candidate == candidate && last->end == start) {
        last->end = end;
        return true;
    }
    if (merge->piece_count >= UINT32_MAX)
        return false;
    void *moved = sxt_array_grow(merge->pieces, &merge->piece_capacity, merge->piece_count + 1, sizeof *merge->pieces);
    if (moved == NULL)
        return false;
    merge->pieces = moved;
    merge->pieces[merge->piece_count++] = (struct piece){start, end, candidate};
    return true;
}

static bool sweep(struct merge *merge)
{
    struct sxt_queue *open = &merge->open;
    size_t next = 0;
    uint64_t at = 0;
    while (next < merge->candidate_count || open->count > 0) {
        if (open->count == 0)
            at = merge->order[next].key;
        while (next < merge->candidate_count && merge->order[next].key <= at)
            sxt_queue_push(open, merge->order[next++].index, is_better, merge);
        while (open->count > 0 && merge->candidates[open->items[0]].end <= at)
            sxt_queue_pop(open, is_better, merge);
        if (open->count == 0)
            continue;
        uint32_t winner = open->items[0];
        uint64_t until = merge->candidates[winner].end;
        if (next < merge->candidate_count && merge->order[next].key < until)
            until = merge->order[next].key;
        if (!add_piece(merge, winner, at, until))
            return false;
        at = until;
    }
    return true;
}

static bool emit_range(struct merge *merge, const struct sxt_model_range *range)
{
    if (merge->range_count >= merge->range_limit)
        return false;
    void *moved = sxt_array_grow(merge->ranges, &merge->range_capacity, merge->range_count + 1, sizeof *merge->ranges);
    if (moved == NULL)
        return false;
    merge->ranges = moved;
    merge->ranges[merge->range_count++] = *range;
    return true;
}

/* The parts of RANGE in the COUNT pieces of its tree's root. */
static bool emit_parts(struct merge *merge, const struct sxt_model_range *range, const struct sxt_sort_item *pieces,
                       size_t count)
{
    uint64_t range_end = sxt_range_end(range);
    /* The first piece that ends after the start of the range. */
    struct sxt_bisection search = {.high = count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, merge->pieces[pieces[search.middle].index].end <= range->address);
    for (size_t i = search.low; i < count && merge->pieces[pieces[i].index].start < range_end; i++) {
        const struct piece *piece = &merge->pieces[pieces[i].index];
        struct sxt_model_range part;
        if (!sxt_range_cut(merge->symbols, range, piece->start > range->address ? piece->start : range->address,
                           piece->end < range_end ? piece->end : range_end, &part))
            return false;
        if (i > search.low)
            part.flags |= SXT_RANGE_CONTINUES;
        if (!emit_range(merge, &part))
            return false;
    }
    return true;
}

/* Adds what is left of one candidate. PIECES are its COUNT pieces, ascending. */
static bool emit_candidate(struct merge *merge, const struct candidate *candidate, const struct sxt_sort_item *pieces,
                           size_t count)
{
    const struct sxt_symbols *symbols = merge->symbols;
    if (candidate->range == NO_RANGE) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[candidate->symbol];
        for (size_t i = 0; i < count; i++) {
            const struct piece *piece = &merge->pieces[pieces[i].index];
            struct sxt_model_range range = {.address = piece->start,
                                            .length = piece->end - piece->start,
                                            .function = symbol->name,
                                            .source = symbol->source,
                                            .flags = i > 0 ? SXT_RANGE_CONTINUES : 0};
            if (!sxt_nameless_lend(&merge->nameless, merge->symbols, &range) || !emit_range(merge, &range))
                return false;
        }
        return true;
    }
    const struct piece *first = &merge->pieces[pieces[0].index];
    bool whole = count == 1 && first->start == candidate->start && first->end == candidate->end;
    /* If symbols have some of its bytes, the rest is padding. */
    if (candidate->rank == NAMELESS_RANK && !whole)
        return true;
    for (size_t i = candidate->range; i < symbols->range_count; i++) {
        struct sxt_model_range range = symbols->ranges[i];
        if (i != candidate->range && range.depth == 0)
            break;
        if (whole ? !emit_range(merge, &range) : !emit_parts(merge, &range, pieces, count))
            return false;
    }
    return true;
}

/* Adds the calls inlined into nameless code to the symbols there. PIECES has room for all pieces. */
static bool emit_nameless_calls(struct merge *merge, struct sxt_sort_item *pieces)
{
    const struct sxt_symbols *symbols = merge->symbols;
    size_t count = 0;
    for (size_t i = 0; i < merge->piece_count; i++)
        if (merge->candidates[merge->pieces[i].candidate].range == NO_RANGE)
            pieces[count++].index = (uint32_t)i;
    for (size_t i = 0; i < merge->nameless.count; i++) {
        const struct sxt_nameless_part *part = &merge->nameless.parts[i];
        for (size_t k = part->range + (size_t)1; k < symbols->range_count && symbols->ranges[k].depth > 0; k++) {
            struct sxt_model_range call = symbols->ranges[k];
            uint64_t end = sxt_range_end(&call), start = call.address;
            start = start > part->start ? start : part->start;
            end = end < part->end ? end : part->end;
            if (start < end && (!sxt_range_cut(merge->symbols, &symbols->ranges[k], start, end, &call) ||
                                !emit_parts(merge, &call, pieces, count)))
                return false;
        }
    }
    return true;
}

static int emit_pieces(struct merge *merge, sxt_error *error)
{
    size_t count = merge->piece_count;
    uint64_t most = 16 * ((uint64_t)merge->symbols->range_count + count) + ((uint64_t)1 << 20);
    merge->range_limit = most < UINT32_MAX ? (size_t)most : UINT32_MAX;
    struct sxt_sort_item *pieces = malloc((2 * count + 1) * sizeof *pieces);
    if (pieces == NULL)
        return sxt_fail_memory(error, 2 * count * sizeof *pieces);
    /* Stable, so the pieces of a candidate stay ascending. */
    for (size_t i = 0; i < count; i++)
        pieces[i] = (struct sxt_sort_item){merge->pieces[i].candidate, (uint32_t)i};
    sxt_sort(pieces, pieces + count, count);
    bool emitted = true;
    for (size_t i = 0, end; i < count && emitted; i = end) {
        for (end = i + 1; end < count && pieces[end].key == pieces[i].key; end++)
            ;
        emitted = emit_candidate(merge, &merge->candidates[pieces[i].key], pieces + i, end - i);
    }
    if (emitted && merge->nameless.has_calls)
        emitted = emit_nameless_calls(merge, pieces);
    free(pieces);
    if (emitted)
        return SXT_OK;
    if (merge->range_count >= merge->range_limit)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                        "functions and inlined calls overlap so much that they would make over %zu ranges",
                        merge->range_limit);
    return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while merging symbols");
}

static void note_sources(struct sxt_symbols *symbols)
{
    for (size_t i = 0; i < symbols->symbol_count; i++)
        symbols->sources |= symbols->symbols[i].source;
    for (size_t i = 0; i < symbols->range_count; i++)
        symbols->sources |= symbols->ranges[i].source;
}
