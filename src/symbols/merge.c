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
#include "symbols/alias_rule.h"
#include "symbols/aliases.h"
#include "symbols/entry_names.h"
#include "symbols/merge.h"
#include "symbols/nest.h"

static int collect_candidates(struct sxt_merge *merge, sxt_error *error);
static void name_functions(struct sxt_merge *merge);
static bool sweep(struct sxt_merge *merge);
static void note_sources(struct sxt_symbols *symbols);

int sxt_symbols_finish(struct sxt_symbols *symbols, sxt_error *error)
{
    if (symbols->failed)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting symbols");
    struct sxt_merge merge = {.symbols = symbols};
    int status = sxt_symbols_order(symbols, error);
    if (status == SXT_OK)
        status = sxt_ranges_nest(symbols, &merge.trees, error);
    if (status == SXT_OK)
        status = collect_candidates(&merge, error);
    if (status == SXT_OK)
        name_functions(&merge);
    if (status == SXT_OK && (symbols->failed || !sxt_aliases_finish(symbols) || !sweep(&merge)))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while merging symbols");
    if (status == SXT_OK)
        status = sxt_pieces_emit(&merge, error);
    if (status == SXT_OK) {
        free(symbols->ranges);
        symbols->ranges = merge.ranges;
        symbols->range_count = merge.range_count;
        symbols->range_capacity = merge.range_count;
        note_sources(symbols);
    } else {
        free(merge.ranges);
    }
    sxt_trees_free(&merge.trees);
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
int sxt_symbols_order(struct sxt_symbols *symbols, sxt_error *error)
{
    size_t count = symbols->symbol_count;
    if (count == symbols->ordered_count)
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
        symbols->symbol_count = symbols->ordered_count = kept;
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

#define LABEL_RANK 3

static uint8_t source_rank(uint8_t source)
{
    return source == SXT_SOURCE_DWARF ? 0 : source == SXT_SOURCE_GO ? 1 : 2;
}

/* Adds CANDIDATE with these bytes, if it has any. */
static void add_candidate(struct sxt_merge *merge, uint64_t start, uint64_t size, struct sxt_candidate candidate)
{
    if (size == 0)
        return;
    candidate.start = start;
    if (!sxt_add_u64(start, size, &candidate.end))
        candidate.end = UINT64_MAX;
    merge->candidates[merge->candidate_count++] = candidate;
}

/*
 * A symbol without a size owns nothing, and one without a type may not be code. But if the address has lines without a
 * function, the symbol is a label in assembler code. Without a size it extends to the next symbol or the end of those
 * lines. Mapping symbols ($x) and the assembler's local labels (.L1) are ignored.
 */
static uint64_t labelled_size(const struct sxt_merge *merge, size_t index, size_t *next)
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

static int collect_candidates(struct sxt_merge *merge, sxt_error *error)
{
    struct sxt_symbols *symbols = merge->symbols;
    size_t most = symbols->symbol_count + merge->trees.count;
    if (most >= UINT32_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "more than 4294967294 symbols and ranges");
    merge->candidates = malloc((most + 1) * sizeof *merge->candidates);
    merge->order = malloc((most + 1) * sizeof *merge->order);
    merge->scratch = malloc((most + 1) * sizeof *merge->scratch);
    merge->open.items = malloc((most + 1) * sizeof *merge->open.items);
    if (merge->candidates == NULL || merge->order == NULL || merge->scratch == NULL || merge->open.items == NULL)
        return sxt_fail_memory(error, most * sizeof *merge->candidates);
    if (!sxt_nameless_collect(&merge->nameless, symbols, &merge->trees))
        return sxt_fail_memory(error, merge->trees.count * sizeof *merge->nameless.parts);

    for (size_t i = 0; i < merge->trees.count; i++) {
        uint32_t first = merge->trees.first[i], range_count = merge->trees.first[i + 1] - first;
        const struct sxt_model_range *range = &symbols->ranges[first];
        bool says_something =
            range->function != 0 || ((range->flags & SXT_RANGE_KEEP) && (range->line_count > 0 || range_count > 1));
        if (says_something)
            add_candidate(merge, range->address, range->length,
                          (struct sxt_candidate){
                              .range = first,
                              .range_count = range_count,
                              .rank = range->function != 0 ? source_rank(range->source) : SXT_NAMELESS_RANK,
                          });
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
        add_candidate(merge, symbol->address, size,
                      (struct sxt_candidate){.range = SXT_NO_RANGE, .symbol = (uint32_t)i, .rank = rank});
    }
    for (size_t i = 0; i < merge->candidate_count; i++)
        merge->order[i] = (struct sxt_sort_item){merge->candidates[i].start, (uint32_t)i};
    sxt_sort(merge->order, merge->scratch, merge->candidate_count);
    return SXT_OK;
}

/*
 * Two functions of DWARF begin together: their code was folded into one. If the linker does not do that, or if they are
 * of an assembler source, they are two names of one function.
 */
static void add_folded(struct sxt_symbols *symbols, const struct sxt_model_range *a, const struct sxt_model_range *b)
{
    bool is_one = symbols->cannot_be_folded || (a->flags & b->flags & SXT_RANGE_ASSEMBLER) != 0;
    bool ambiguous = !is_one && !sxt_names_are_variants(sxt_symbols_view(symbols, a->function),
                                                        sxt_symbols_view(symbols, b->function));
    sxt_symbols_add_alias(symbols, &(struct sxt_model_alias){a->address, a->function, ambiguous});
    sxt_symbols_add_alias(symbols, &(struct sxt_model_alias){b->address, b->function, ambiguous});
}

/* Does another function of a better source than symbols begin where the one at INDEX of the order does? */
static bool begins_again(const struct sxt_merge *merge, size_t index)
{
    return index + 1 < merge->candidate_count && merge->order[index + 1].key == merge->order[index].key &&
           merge->candidates[merge->order[index + 1].index].range != SXT_NO_RANGE;
}

/* Gives functions of DWARF the names of the symbols at their addresses. Both lists are in order of address. */
static void name_functions(struct sxt_merge *merge)
{
    struct sxt_symbols *symbols = merge->symbols;
    size_t first = 0, end = 0;
    bool unnamed = false;
    const struct sxt_model_range *before = NULL; /* the function that was named last */
    for (size_t i = 0; i < merge->candidate_count; i++) {
        const struct sxt_candidate *candidate = &merge->candidates[merge->order[i].index];
        if (candidate->range == SXT_NO_RANGE || candidate->rank == SXT_NAMELESS_RANK ||
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
    const struct sxt_merge *merge = context;
    const struct sxt_candidate *first = &merge->candidates[a];
    const struct sxt_candidate *second = &merge->candidates[b];
    if (first->rank != second->rank)
        return first->rank < second->rank;
    if (first->start != second->start)
        return first->start > second->start;
    return a < b;
}

/* Notes that CANDIDATE has [start, end). A piece that continues its last one extends it. */
static bool add_piece(struct sxt_merge *merge, uint32_t candidate, uint64_t start, uint64_t end)
{
    struct sxt_piece *last = merge->piece_count > 0 ? &merge->pieces[merge->piece_count - 1] : NULL;
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
    merge->pieces[merge->piece_count++] = (struct sxt_piece){start, end, candidate};
    return true;
}

static bool sweep(struct sxt_merge *merge)
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

static void note_sources(struct sxt_symbols *symbols)
{
    for (size_t i = 0; i < symbols->symbol_count; i++)
        symbols->sources |= symbols->symbols[i].source;
    for (size_t i = 0; i < symbols->range_count; i++)
        symbols->sources |= symbols->ranges[i].source;
}
