/*
 * test_merge_random.c: thousands of small random models, merged, and compared address by address with an oracle that
 * asks for each single address who should own it. The oracle follows the rules in symbols.h and shares nothing with
 * merge.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/model.h"
#include "support/random.h"
#include "support/test.h"

#define SPACE      48 /* addresses 0 to 47 */
#define ITEMS_MAX  200
#define LINES_MAX  4
#define DEPTH_MAX  12
#define NO_PARENT  (-1)
#define CHAIN_DONE (-1)

/* A symbol or a range as it was added. */
struct item {
    bool is_symbol;
    uint64_t start, end;
    uint32_t depth;
    uint8_t source;
    char binding;
    uint32_t name; /* in the model; no two ranges share one */
    bool is_double;
    int parent; /* item around it, for depth > 0 */
    unsigned line_count;
    struct sxt_model_line lines[LINES_MAX];
};

/* How the random trees are damaged. */
struct damage {
    bool sticks_out, orphans, overlaps;
};

struct trial {
    struct sxt_test_random random;
    struct damage damage;
    struct sxt_symbols *model;
    struct item items[ITEMS_MAX];
    int count;
};

static uint32_t below(struct trial *trial, uint32_t bound)
{
    return sxt_test_below(&trial->random, bound);
}

static struct item *new_item(struct trial *trial, uint64_t start, uint64_t end)
{
    assert_true(trial->count < ITEMS_MAX);
    struct item *item = &trial->items[trial->count];
    char name[16];
    snprintf(name, sizeof name, "n%d", trial->count++);
    *item = (struct item){.start = start, .end = end, .parent = NO_PARENT};
    item->name = sxt_test_string(trial->model, name);
    return item;
}

static void add_symbol(struct trial *trial)
{
    uint64_t start = below(trial, SPACE - 1);
    uint64_t size = below(trial, 4) == 0 ? 0 : below(trial, (uint32_t)(SPACE - start) + 1);
    struct item *item = new_item(trial, start, start + size);
    item->is_symbol = true;
    item->binding = "GUWL"[below(trial, 4)];
    item->source = below(trial, 2) ? SXT_SOURCE_SYMTAB : SXT_SOURCE_DYNSYM;
    /* Now and then a double of another symbol, perhaps of another size. */
    int other = (int)below(trial, (uint32_t)trial->count);
    if (below(trial, 4) == 0 && trial->items[other].is_symbol) {
        item->name = trial->items[other].name;
        item->start = trial->items[other].start;
        if (item->end < item->start)
            item->end = item->start;
    }
    sxt_symbols_add_symbol(trial->model, &(struct sxt_model_symbol){.address = item->start,
                                                                    .size = item->end - item->start,
                                                                    .name = item->name,
                                                                    .type = 'F',
                                                                    .binding = item->binding,
                                                                    .source = item->source});
}

/* A range, its lines and, inside it, its calls, in tree order. PARENTS are the ranges around it, by depth. */
static void add_tree(struct trial *trial, uint8_t source, uint32_t depth, uint64_t start, uint64_t end, int *parents,
                     uint32_t levels)
{
    if (depth >= DEPTH_MAX - 2 || trial->count > ITEMS_MAX - 20)
        return;
    int self = trial->count;
    struct item *item = new_item(trial, start, end);
    item->depth = depth;
    item->source = source;
    if (depth > 0 && depth <= levels)
        item->parent = parents[depth - 1];
    sxt_symbols_add_range(trial->model, &(struct sxt_model_range){.address = start,
                                                                  .length = end - start,
                                                                  .depth = depth,
                                                                  .function = item->name,
                                                                  .call_line = (uint32_t)self,
                                                                  .source = source,
                                                                  .flags = SXT_RANGE_LINKAGE_NAME});
    uint32_t offset = below(trial, 3);
    for (unsigned wanted = below(trial, LINES_MAX + 1); item->line_count < wanted; offset += 1 + below(trial, 6)) {
        struct sxt_model_line line = {offset, 1 + below(trial, 3), 1 + below(trial, 100), below(trial, 9),
                                      below(trial, 9)};
        item->lines[item->line_count++] = line;
        sxt_symbols_add_line(trial->model, &line);
    }
    if (depth == 0 || item->parent != NO_PARENT) {
        parents[depth] = self;
        levels = depth + 1;
    }
    for (uint64_t at = start; at < end && below(trial, 3) != 0;) {
        uint64_t from = at + below(trial, 4);
        uint64_t to = from + 1 + below(trial, 12);
        /* Only the first and the last call may stick out, so that they stay apart from the others. */
        bool out_in_front = trial->damage.sticks_out && at == start && below(trial, 4) == 0;
        bool out_behind = trial->damage.sticks_out && below(trial, 4) == 0;
        if (out_in_front)
            from = start - below(trial, start < 6 ? (uint32_t)start + 1 : 7);
        if (out_behind)
            to = end + below(trial, 7);
        else if (to > end)
            break;
        if (from >= to)
            break;
        uint32_t deeper = depth + 1 + (trial->damage.orphans && below(trial, 6) == 0 ? 1 + below(trial, 2) : 0);
        add_tree(trial, source, deeper, from, to, parents, levels);
        at = trial->damage.overlaps ? from + 1 + below(trial, (uint32_t)(to - from)) : to;
    }
}

static void make_trial(struct trial *trial, uint64_t seed, struct damage damage)
{
    trial->random.state = seed;
    trial->damage = damage;
    trial->count = 0;
    trial->model = sxt_test_model();
    for (unsigned i = 0; i < 4; i++)
        sxt_test_string(trial->model, (char[]){'f', (char)('0' + i), 0});
    for (uint32_t i = below(trial, 9); i > 0; i--) {
        if (below(trial, 2)) {
            add_symbol(trial);
            continue;
        }
        uint64_t start = below(trial, SPACE - 1);
        uint64_t end = start + below(trial, (uint32_t)(SPACE - start) + 1);
        int parents[DEPTH_MAX];
        add_tree(trial, below(trial, 2) ? SXT_SOURCE_DWARF : SXT_SOURCE_GO, 0, start, end, parents, 0);
    }
}

/* --- the oracle --- */

static int source_rank(uint8_t source)
{
    return source == SXT_SOURCE_DWARF ? 0 : source == SXT_SOURCE_GO ? 1 : 2;
}

static int alias_rank(const struct item *item)
{
    int binding = item->binding == 'G' || item->binding == 'U' ? 0 : item->binding == 'W' ? 1 : 2;
    return (item->start == item->end ? 3 : 0) + binding;
}

/* Of symbols that agree in address and name, only the one that the alias rule puts first counts. */
static void mark_doubles(struct trial *trial)
{
    for (int i = 0; i < trial->count; i++)
        for (int k = 0; k < trial->count; k++) {
            struct item *one = &trial->items[i];
            const struct item *other = &trial->items[k];
            if (i == k || !one->is_symbol || !other->is_symbol || one->name != other->name)
                continue;
            int difference = alias_rank(one) - alias_rank(other);
            one->is_double |= difference > 0 || (difference == 0 && i > k);
        }
}

static bool is_better(const struct trial *trial, int a, int b)
{
    const struct item *first = &trial->items[a];
    const struct item *second = &trial->items[b];
    if (source_rank(first->source) != source_rank(second->source))
        return source_rank(first->source) < source_rank(second->source);
    if (first->start != second->start)
        return first->start > second->start;
    if (first->is_symbol && alias_rank(first) != alias_rank(second))
        return alias_rank(first) < alias_rank(second);
    return a < b;
}

static bool covers(const struct item *item, uint64_t address)
{
    return item->start <= address && address < item->end;
}

/* The items at ADDRESS from the function inwards, ended by CHAIN_DONE. */
static void expected_chain(const struct trial *trial, uint64_t address, int *chain)
{
    int length = 0, owner = NO_PARENT;
    for (int i = 0; i < trial->count; i++)
        if (trial->items[i].depth == 0 && !trial->items[i].is_double && covers(&trial->items[i], address) &&
            (owner == NO_PARENT || is_better(trial, i, owner)))
            owner = i;
    while (owner != NO_PARENT) {
        chain[length++] = owner;
        int inside = NO_PARENT;
        for (int i = 0; i < trial->count; i++)
            if (trial->items[i].depth > 0 && trial->items[i].parent == owner && covers(&trial->items[i], address))
                inside = i;
        owner = inside;
    }
    chain[length] = CHAIN_DONE;
}

static void assert_same_line(const struct trial *trial, const struct item *item, const struct sxt_model_range *range,
                             uint64_t address)
{
    const struct sxt_model_line *expected = NULL;
    for (unsigned i = 0; i < item->line_count; i++)
        if (item->start + item->lines[i].offset <= address)
            expected = &item->lines[i];
    const struct sxt_model_line *found = sxt_test_line_at(trial->model->lines, range, address);
    assert_int_equal(found != NULL, expected != NULL);
    if (found == NULL)
        return;
    assert_int_equal(found->file, expected->file);
    assert_int_equal(found->line, expected->line);
    assert_int_equal(found->column, expected->column);
    assert_int_equal(found->discriminator, expected->discriminator);
}

static void assert_chain(const struct trial *trial, uint64_t address)
{
    int chain[DEPTH_MAX + 1];
    expected_chain(trial, address, chain);
    int length = 0;
    for (size_t i = 0; i < trial->model->range_count; i++) {
        const struct sxt_model_range *range = &trial->model->ranges[i];
        if (address < range->address || address - range->address >= range->length)
            continue;
        assert_int_not_equal(chain[length], CHAIN_DONE);
        const struct item *item = &trial->items[chain[length++]];
        assert_int_equal(range->function, item->name);
        assert_int_equal(range->source, item->source);
        assert_int_equal(range->depth, item->depth);
        assert_int_equal(range->call_line, item->is_symbol ? 0 : item - trial->items);
        assert_same_line(trial, item, range, address);
    }
    assert_int_equal(chain[length], CHAIN_DONE);
}

/* --- what holds for every finished model, however bad its input --- */

static void assert_lines_in_order(const struct sxt_symbols *model, const struct sxt_model_range *range)
{
    assert_true((size_t)range->first_line + range->line_count <= model->line_count || range->line_count == 0);
    for (uint32_t i = 0; i < range->line_count; i++) {
        const struct sxt_model_line *line = &model->lines[range->first_line + i];
        assert_true(line->offset < range->length);
        assert_true(i == 0 || line[-1].offset < line->offset);
    }
}

static void assert_nested(const struct sxt_symbols *model)
{
    const struct sxt_model_range *open[DEPTH_MAX + 1] = {NULL};
    uint32_t levels = 0;
    for (size_t i = 0; i < model->range_count; i++) {
        const struct sxt_model_range *range = &model->ranges[i];
        assert_true(range->length > 0);
        if (i > 0)
            assert_true(range[-1].address < range->address ||
                        (range[-1].address == range->address && range[-1].depth < range->depth));
        assert_true(range->depth <= levels);
        /* Everything that is open at its level or deeper has ended. */
        for (uint32_t depth = range->depth; depth < levels; depth++)
            assert_true(open[depth]->address + open[depth]->length <= range->address);
        if (range->depth > 0) {
            const struct sxt_model_range *around = open[range->depth - 1];
            assert_true(range->address >= around->address &&
                        range->address + range->length <= around->address + around->length);
        } else if (levels > 0 && open[0]->address + open[0]->length == range->address) {
            /* Nothing is cut without need. */
            assert_int_not_equal(open[0]->function, range->function);
        }
        open[range->depth] = range;
        levels = range->depth + 1;
        assert_lines_in_order(model, range);
    }
}

/* A frame that is in the result was in the input, at that address and depth. */
static void assert_nothing_invented(const struct trial *trial)
{
    for (size_t i = 0; i < trial->model->range_count; i++) {
        const struct sxt_model_range *range = &trial->model->ranges[i];
        bool found = false;
        for (int k = 0; k < trial->count && !found; k++)
            found = trial->items[k].name == range->function && trial->items[k].depth == range->depth &&
                    trial->items[k].start <= range->address && range->address + range->length <= trial->items[k].end;
        assert_true(found);
    }
}

static void run(uint64_t seed, unsigned count, struct damage damage)
{
    struct trial *trial = malloc(sizeof *trial);
    assert_non_null(trial);
    for (unsigned i = 0; i < count; i++) {
        make_trial(trial, seed + i, damage);
        sxt_test_finish(trial->model);
        mark_doubles(trial);
        assert_nested(trial->model);
        assert_nothing_invented(trial);
        for (uint64_t address = 0; address < SPACE + 8 && !damage.overlaps; address++)
            assert_chain(trial, address);
        sxt_symbols_free(&trial->model);
    }
    free(trial);
}

TEST(well_formed_trees_give_the_oracles_chain_and_lines_at_every_address)
{
    run(1000000, 6000, (struct damage){0});
}

TEST(calls_that_stick_out_are_clipped_to_what_is_around_them)
{
    run(2000000, 6000, (struct damage){.sticks_out = true});
}

TEST(orphans_are_dropped_and_harm_nobody)
{
    run(3000000, 6000, (struct damage){.orphans = true});
}

TEST(hopeless_trees_still_give_a_nested_model)
{
    run(4000000, 6000, (struct damage){.sticks_out = true, .orphans = true, .overlaps = true});
}
