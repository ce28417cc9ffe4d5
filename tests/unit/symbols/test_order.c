/* test_order.c: ranges come out by (address, depth), and equal ones in the order they went in. */
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/test.h"
#include "symbols/symbols.h"

static bool comes_before(const struct sxt_model_range *a, const struct sxt_model_range *b)
{
    return a->address < b->address || (a->address == b->address && a->depth < b->depth);
}

/* Sorts COUNT ranges that carry their number in `function`, and compares with an insertion sort. */
static void assert_sorts(struct sxt_model_range *ranges, size_t count)
{
    struct sxt_model_range *expected = malloc((count + 1) * sizeof *expected);
    assert_non_null(expected);
    for (size_t i = 0; i < count; i++) {
        ranges[i].function = (uint32_t)i;
        size_t place = i;
        for (; place > 0 && comes_before(&ranges[i], &expected[place - 1]); place--)
            expected[place] = expected[place - 1];
        expected[place] = ranges[i];
    }
    assert_int_equal(sxt_ranges_sort(ranges, count, NULL), SXT_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(ranges[i].address == expected[i].address && ranges[i].depth == expected[i].depth);
        assert_int_equal(ranges[i].function, expected[i].function);
        assert_int_equal(ranges[i].call_line, expected[i].call_line);
    }
    free(expected);
}

TEST(nothing_and_a_single_range_are_sorted)
{
    assert_int_equal(sxt_ranges_sort(NULL, 0, NULL), SXT_OK);
    struct sxt_model_range one = {.address = 7};
    assert_sorts(&one, 1);
}

TEST(depth_decides_at_one_address_and_the_order_of_adding_at_one_depth)
{
    struct sxt_model_range ranges[] = {
        {.address = 5, .depth = 2}, {.address = 5, .depth = 0}, {.address = 1, .depth = 9},
        {.address = 5, .depth = 0}, {.address = 5, .depth = 1}, {.address = 0, .depth = 3},
    };
    assert_sorts(ranges, sizeof ranges / sizeof *ranges);
    assert_int_equal(ranges[2].function, 1);
    assert_int_equal(ranges[3].function, 3);
}

TEST(the_whole_width_of_addresses_and_depths_counts)
{
    struct sxt_model_range ranges[] = {
        {.address = UINT64_MAX, .depth = 0},          {.address = 0, .depth = UINT32_MAX},
        {.address = (uint64_t)1 << 63, .depth = 0},   {.address = (uint64_t)1 << 32, .depth = 0},
        {.address = UINT32_MAX, .depth = 0},          {.address = UINT64_MAX, .depth = UINT32_MAX},
        {.address = UINT64_MAX, .depth = UINT16_MAX}, {.address = 0, .depth = 0},
    };
    assert_sorts(ranges, sizeof ranges / sizeof *ranges);
}

TEST(random_ranges_agree_with_an_insertion_sort)
{
    static const uint64_t masks[] = {0x3, 0xff, 0xfff, UINT32_MAX, UINT64_MAX};
    struct sxt_test_random random = {42};
    for (unsigned trial = 0; trial < 400; trial++) {
        size_t count = sxt_test_below(&random, trial % 20 == 0 ? 1500 : 120);
        uint64_t mask = masks[trial % 5];
        uint32_t depths = 1 + sxt_test_below(&random, trial % 3 == 0 ? 1000 : 3);
        struct sxt_model_range *ranges = calloc(count + 1, sizeof *ranges);
        assert_non_null(ranges);
        for (size_t i = 0; i < count; i++) {
            ranges[i].address = sxt_test_next(&random) & mask;
            ranges[i].depth = sxt_test_below(&random, depths);
            ranges[i].call_line = (uint32_t)sxt_test_next(&random);
        }
        assert_sorts(ranges, count);
        assert_sorts(ranges, count); /* and what is sorted stays so */
        free(ranges);
    }
}

/* Ranges that are almost in order, with some that have to go near or far. */
TEST(ranges_that_are_almost_in_order_agree_too)
{
    enum { COUNT = 3000 };
    struct sxt_test_random random = {7};
    struct sxt_model_range *ranges = calloc(COUNT, sizeof *ranges);
    assert_non_null(ranges);
    static const uint32_t distances[] = {1, 20, 511, 512, 513, 2900};
    for (unsigned trial = 0; trial < 60; trial++) {
        for (size_t i = 0; i < COUNT; i++)
            ranges[i] = (struct sxt_model_range){.address = i / (1 + trial % 3), .depth = (uint32_t)(i % 2)};
        for (unsigned k = 0; k < 1 + trial % 40; k++) {
            size_t far = distances[trial % 6], at = far + sxt_test_below(&random, (uint32_t)(COUNT - far));
            struct sxt_model_range moved = ranges[at];
            memmove(&ranges[at - far + 1], &ranges[at - far], far * sizeof *ranges);
            ranges[at - far] = moved;
        }
        assert_sorts(ranges, COUNT);
    }
    free(ranges);
}
