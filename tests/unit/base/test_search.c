/* test_search.c: the first item above or from a value, at every place of arrays of every small size. */
#include "base/search.h"

#include "support/test.h"

struct item {
    uint32_t small;
    uint64_t large;
};

TEST(agrees_with_a_search_from_the_start)
{
    struct item items[12];
    for (size_t i = 0; i < 12; i++)
        items[i] = (struct item){(uint32_t)(i / 2 * 10), UINT64_MAX - 100 + i / 3 * 10};
    for (size_t count = 0; count <= 12; count++)
        for (uint64_t value = 0; value <= 61; value++) {
            uint64_t high = UINT64_MAX - 105 + value;
            size_t above = 0, from = 0, above_large = 0, from_large = 0;
            while (above < count && items[above].small <= value)
                above++;
            while (from < count && items[from].small < value)
                from++;
            while (above_large < count && items[above_large].large <= high)
                above_large++;
            while (from_large < count && items[from_large].large < high)
                from_large++;
            assert_int_equal(SXT_SEARCH_ABOVE(items, count, small, value), above);
            assert_int_equal(SXT_SEARCH_FROM(items, count, small, value), from);
            assert_int_equal(SXT_SEARCH_ABOVE(items, count, large, high), above_large);
            assert_int_equal(SXT_SEARCH_FROM(items, count, large, high), from_large);
        }
}

TEST(compares_a_field_of_32_bits_with_larger_values)
{
    const struct item items[] = {{UINT32_MAX, 0}};
    assert_int_equal(SXT_SEARCH_ABOVE(items, 1, small, (uint64_t)UINT32_MAX + 1), 1);
    assert_int_equal(SXT_SEARCH_FROM(items, 1, small, (uint64_t)UINT32_MAX), 0);
}

TEST(finds_nothing_in_an_absent_array)
{
    const struct item *items = NULL;
    assert_int_equal(SXT_SEARCH_ABOVE(items, 0, large, 7), 0);
    assert_int_equal(SXT_SEARCH_FROM(items, 0, small, 7), 0);
}

TEST(searches_an_array_of_plain_numbers)
{
    const uint64_t numbers[] = {3, 5, 5, 9};
    assert_int_equal(sxt_search_above(numbers, 4, sizeof *numbers, sizeof *numbers, 5), 3);
    assert_int_equal(sxt_search_from(numbers, 4, sizeof *numbers, sizeof *numbers, 5), 1);
}

TEST(asks_the_caller_and_ends_at_the_first_item_that_is_not_before)
{
    for (size_t count = 0; count <= 20; count++)
        for (size_t place = 0; place <= count; place++) {
            struct sxt_bisection search = {.high = count};
            unsigned steps = 0;
            while (sxt_bisect(&search)) {
                assert_true(search.middle < count);
                sxt_bisect_after(&search, search.middle < place);
                assert_true(++steps <= 5);
            }
            assert_int_equal(search.low, place);
        }
}

TEST(begins_and_ends_where_the_caller_says)
{
    struct sxt_bisection search = {.low = SIZE_MAX - 9, .high = SIZE_MAX};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, search.middle < SIZE_MAX - 2);
    assert_int_equal(search.low, SIZE_MAX - 2);
}
