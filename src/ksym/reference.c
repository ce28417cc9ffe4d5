/*
 * reference.c: chooses the same tokens as the reference generator, in the same order: prefixes of fixed lengths, and
 * names that are shorter than all of these, ranked by count times length, without those that are a prefix of another
 * one. The reference makes 512 tokens, the last of which no reader can read; it is left out here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/sort.h"
#include "ksym/private.h"

static const uint16_t lengths[] = {SXT_KSYM_REFERENCE_SHORTEST,
                                   24,
                                   31,
                                   40,
                                   56,
                                   60,
                                   70,
                                   80,
                                   90,
                                   100,
                                   150,
                                   200,
                                   250,
                                   300,
                                   400,
                                   500,
                                   600,
                                   700,
                                   800,
                                   900,
                                   1000,
                                   1200,
                                   1400,
                                   1600,
                                   1800,
                                   2000};
#define LENGTH_COUNT (sizeof lengths / sizeof *lengths)

struct counted {
    struct sxt_ksym_token token;
    uint64_t symbols;
    uint64_t seen; /* when it was first counted */
};

struct counts {
    struct counted *items;
    size_t count;
    size_t capacity;
};

static bool count_short_names(struct counts *counts, const struct sxt_ksym_order *order);
static bool count_prefixes(struct counts *counts, const struct sxt_ksym_order *order, size_t which);
static void take(struct sxt_ksym_choice *choice, const struct sxt_ksym_order *order,
                 const struct sxt_ksym_token *token);

int sxt_ksym_choose_reference(struct sxt_ksym_choice *choice, const struct sxt_ksym_order *order, sxt_error *error)
{
    struct counts counts = {NULL, 0, 0};
    choice->count = 0;
    choice->most_saved = INT64_MAX;
    bool done = count_short_names(&counts, order);
    for (size_t which = 0; done && which < LENGTH_COUNT; which++)
        done = count_prefixes(&counts, order, which);
    struct sxt_sort_item *items = done ? malloc(2 * (counts.count + 1) * sizeof *items) : NULL;
    if (items == NULL) {
        free(counts.items);
        return sxt_fail_memory(error, (counts.count + 1) * sizeof *counts.items);
    }
    for (size_t i = 0; i < counts.count; i++)
        items[i] = (struct sxt_sort_item){counts.items[i].seen, (uint32_t)i};
    sxt_sort(items, items + counts.count, counts.count);
    for (size_t i = 0; i < counts.count; i++)
        items[i].key = ~(counts.items[items[i].index].symbols * counts.items[items[i].index].token.length);
    sxt_sort(items, items + counts.count, counts.count);
    for (size_t i = 0; i < counts.count && choice->count < SXT_KSYM_TOKENS_WRITTEN; i++)
        take(choice, order, &counts.items[items[i].index].token);
    free(items);
    free(counts.items);
    return SXT_OK;
}

/* Adds the prefix of LENGTH bytes that the names from FIRST to END - 1 share. */
static bool add(struct counts *counts, const struct sxt_ksym_order *order, uint32_t first, uint32_t end,
                uint32_t length, size_t which)
{
    struct counted *items = sxt_array_grow(counts->items, &counts->capacity, counts->count + 1, sizeof *items);
    if (items == NULL)
        return false;
    counts->items = items;
    uint64_t symbol = UINT64_MAX;
    for (size_t place = first; place < end; place++)
        if (order->sequence[order->starts[place]] < symbol)
            symbol = order->sequence[order->starts[place]];
    uint64_t symbols = order->starts[end] - order->starts[first];
    items[counts->count++] = (struct counted){{first, end, length, 0}, symbols, symbol * LENGTH_COUNT + which};
    return true;
}

static bool count_short_names(struct counts *counts, const struct sxt_ksym_order *order)
{
    for (uint32_t place = 0; place < order->count; place++) {
        size_t size = sxt_ksym_order_name(order, place).size;
        if (size < SXT_KSYM_REFERENCE_SHORTEST && !add(counts, order, place, place + 1, (uint32_t)size, 0))
            return false;
    }
    return true;
}

static bool count_prefixes(struct counts *counts, const struct sxt_ksym_order *order, size_t which)
{
    uint32_t length = lengths[which];
    for (uint32_t first = 0, end; first < order->count; first = end) {
        for (end = first + 1; end < order->count && order->common[end] >= length; end++)
            ;
        if (sxt_ksym_order_name(order, first).size >= length && !add(counts, order, first, end, length, which))
            return false;
    }
    return true;
}

static void take(struct sxt_ksym_choice *choice, const struct sxt_ksym_order *order, const struct sxt_ksym_token *token)
{
    const char *text = sxt_ksym_order_name(order, token->first).data;
    for (size_t i = 0; i < choice->count; i++) {
        const struct sxt_ksym_token *taken = &choice->tokens[i];
        if (taken->length >= token->length &&
            memcmp(sxt_ksym_order_name(order, taken->first).data, text, token->length) == 0)
            return;
    }
    choice->tokens[choice->count++] = *token;
}
