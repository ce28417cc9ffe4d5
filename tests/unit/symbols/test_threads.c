/*
 * test_threads.c: models that are large enough for several threads and several parts. Many copies of small models side
 * by side must give what each gives alone.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/model.h"
#include "support/random.h"
#include "support/test.h"

#define COPIES    9000
#define SPACE     64 /* addresses of a copy */
#define NAMES     40
#define DEPTH_MAX 4

/* The strings get the same numbers in every model. */
static struct sxt_symbols *new_model(unsigned threads)
{
    struct sxt_symbols *model = sxt_test_model();
    char name[16];
    for (unsigned i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "n%u", i);
        sxt_test_string(model, name);
    }
    model->threads = threads;
    return model;
}

static uint32_t some_name(struct sxt_test_random *random)
{
    return 1 + sxt_test_below(random, NAMES);
}

/* A range from START to END, or a bit too long, with lines of up to three files and calls inside. */
static void add_range(struct sxt_symbols *model, struct sxt_test_random *random, uint32_t depth, uint64_t start,
                      uint64_t end)
{
    bool is_nameless = depth == 0 && sxt_test_below(random, 8) == 0;
    uint64_t beyond = sxt_test_below(random, 12) == 0;
    uint32_t file = some_name(random);
    sxt_symbols_add_range(model, &(struct sxt_model_range){.address = start,
                                                           .length = end - start + beyond,
                                                           .depth = depth,
                                                           .function = is_nameless ? 0 : some_name(random),
                                                           .file = file,
                                                           .call_file = depth > 0 ? some_name(random) : 0,
                                                           .call_line = depth,
                                                           .source = SXT_SOURCE_DWARF,
                                                           .flags = SXT_RANGE_KEEP});
    bool one_file = sxt_test_below(random, 4) != 0;
    for (uint64_t at = start; at < end; at += 1 + sxt_test_below(random, 9))
        sxt_symbols_add_line(model, &(struct sxt_model_line){.offset = (uint32_t)(at - start),
                                                             .file = one_file ? file : some_name(random),
                                                             .line = 1 + sxt_test_below(random, 90)});
    for (uint64_t at = start; depth + 1 < DEPTH_MAX && sxt_test_below(random, 3) != 0;) {
        uint64_t from = at + sxt_test_below(random, 4);
        at = from + 1 + sxt_test_below(random, 20);
        if (at > end)
            break;
        add_range(model, random, depth + 1, from, at);
    }
}

/* Functions and symbols of one copy, some of them on top of each other. All are inside its space. */
static void add_copy(struct sxt_symbols *model, uint64_t number)
{
    struct sxt_test_random random = {number << 20};
    uint64_t base = number * SPACE;
    for (uint64_t at = sxt_test_below(&random, 6); at + 12 < SPACE;) {
        uint64_t end = at + 1 + sxt_test_below(&random, (uint32_t)(SPACE - 2 - at));
        add_range(model, &random, 0, base + at, base + end);
        at = sxt_test_below(&random, 5) == 0 ? at + 3 : end + sxt_test_below(&random, 10);
    }
    for (unsigned i = sxt_test_below(&random, 3); i > 0; i--) {
        uint64_t start = sxt_test_below(&random, SPACE - 8);
        sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = base + start,
                                                                 .size = sxt_test_below(&random, 8),
                                                                 .name = some_name(&random),
                                                                 .type = 'F',
                                                                 .binding = 'G',
                                                                 .source = SXT_SOURCE_SYMTAB});
    }
}

static void assert_same_lines(const struct sxt_model_line *a, const struct sxt_model_line *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_memory_equal(&a[i], &b[i], sizeof *a);
}

/* The ranges of SMALL must be those of LARGE from AT on. Returns where they end. */
static size_t assert_same_ranges(const struct sxt_range_list *large, size_t at, const struct sxt_range_list *small)
{
    assert_true(small->range_count <= large->range_count - at);
    for (size_t i = 0; i < small->range_count; i++, at++) {
        const struct sxt_model_range *a = &large->ranges[at], *b = &small->ranges[i];
        assert_int_equal(a->address, b->address);
        assert_int_equal(a->length, b->length);
        assert_int_equal(a->depth, b->depth);
        assert_int_equal(a->function, b->function);
        assert_int_equal(a->file, b->file);
        assert_int_equal(a->call_file, b->call_file);
        assert_int_equal(a->call_line, b->call_line);
        assert_int_equal(a->flags, b->flags);
        assert_int_equal(a->line_count, b->line_count);
        assert_same_lines(sxt_range_list_lines(large, a), sxt_range_list_lines(small, b), a->line_count);
    }
    return at;
}

static struct sxt_range_list list_of(const struct sxt_symbols *model)
{
    return (struct sxt_range_list){.ranges = model->ranges, .range_count = model->range_count, .lines = model->lines};
}

/* All copies in another order than that of their addresses, as units are in a file. */
static struct sxt_symbols *large_model(unsigned threads)
{
    struct sxt_symbols *large = new_model(threads);
    for (uint64_t i = 0; i < COPIES; i++)
        add_copy(large, i * 1013 % COPIES);
    sxt_test_finish(large);
    return large;
}

TEST(a_large_model_is_the_sum_of_its_parts_whatever_the_number_of_threads)
{
    static const unsigned threads[] = {1, 2, 5};
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        struct sxt_symbols *large = large_model(threads[k]);
        struct sxt_range_list all = list_of(large), all_cut;
        assert_true(large->range_count > 33000);
        assert_int_equal(sxt_ranges_one_file(large, threads[k], &all_cut, NULL), SXT_OK);
        size_t at = 0, cut_at = 0;
        for (uint64_t i = 0; i < COPIES; i++) {
            struct sxt_symbols *small = new_model(1);
            add_copy(small, i);
            sxt_test_finish(small);
            struct sxt_range_list list = list_of(small), cut;
            at = assert_same_ranges(&all, at, &list);
            assert_int_equal(sxt_ranges_one_file(small, 1, &cut, NULL), SXT_OK);
            cut_at = assert_same_ranges(&all_cut, cut_at, &cut);
            sxt_range_list_free(&cut);
            sxt_symbols_free(&small);
        }
        assert_int_equal(at, all.range_count);
        assert_int_equal(cut_at, all_cut.range_count);
        assert_true(all_cut.range_count > all.range_count + 1000);
        sxt_range_list_free(&all_cut);
        sxt_symbols_free(&large);
    }
}

/* Archives of other writers may have functions that overlap. All pieces must be in order. */
TEST(pieces_of_functions_that_overlap_are_in_order)
{
    struct sxt_symbols *model = new_model(3);
    for (uint64_t i = 0; i < 40000; i++) {
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 0, "n1", i * 16, i % 50 == 0 ? 400 : 16, "n2", NULL, 0);
        sxt_test_add_line(model, 0, "n2", 1);
        if (i % 50 == 0)
            sxt_test_add_line(model, 200, "n3", 2);
    }
    assert_int_equal(sxt_symbols_finish_sorted(model, NULL), SXT_OK);
    struct sxt_range_list list;
    assert_int_equal(sxt_ranges_one_file(model, 3, &list, NULL), SXT_OK);
    assert_int_equal(list.range_count, 40000 + 800);
    for (size_t i = 1; i < list.range_count; i++)
        assert_true(list.ranges[i - 1].address <= list.ranges[i].address);
    sxt_range_list_free(&list);
    sxt_symbols_free(&model);
}

TEST(appending_gives_the_same_as_adding_one_after_the_other)
{
    struct sxt_symbols *together = new_model(1), *first = new_model(1), *second = sxt_test_model();
    /* Other numbers than in the first model. */
    for (unsigned i = NAMES; i > 0; i--) {
        char name[16];
        snprintf(name, sizeof name, "n%u", i - 1);
        sxt_test_string(second, name);
    }
    sxt_test_string(second, "not in the first");
    for (uint64_t i = 0; i < 20; i++) {
        add_copy(together, i);
        add_copy(i < 10 ? first : second, i);
    }
    /* The copies in the second model have the reverse names. */
    for (size_t i = 0; i < second->range_count; i++) {
        struct sxt_model_range *range = &second->ranges[i];
        uint32_t *names[] = {&range->function, &range->file, &range->call_file};
        for (size_t k = 0; k < 3; k++)
            *names[k] = *names[k] != 0 ? NAMES + 1 - *names[k] : 0;
    }
    for (size_t i = 0; i < second->line_count; i++)
        second->lines[i].file = NAMES + 1 - second->lines[i].file;
    for (size_t i = 0; i < second->symbol_count; i++)
        second->symbols[i].name = NAMES + 1 - second->symbols[i].name;
    assert_int_equal(sxt_symbols_order(second, NULL), SXT_OK);
    sxt_symbols_append(first, second);
    sxt_symbols_free(&second);
    sxt_test_finish(together);
    sxt_test_finish(first);
    assert_int_equal(first->symbol_count, together->symbol_count);
    for (size_t i = 0; i < first->symbol_count; i++) {
        assert_int_equal(first->symbols[i].address, together->symbols[i].address);
        assert_int_equal(first->symbols[i].name, together->symbols[i].name);
    }
    struct sxt_range_list a = list_of(first), b = list_of(together);
    assert_int_equal(assert_same_ranges(&a, 0, &b), a.range_count);
    assert_true(sxt_strings_find(&first->strings, "not in the first", 16) != SXT_STRINGS_FULL);
    sxt_symbols_free(&first);
    sxt_symbols_free(&together);
}
