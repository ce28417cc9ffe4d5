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
            size_t above = 0, from = 0, above_large = 0;
            while (above < count && items[above].small <= value)
                above++;
            while (from < count && items[from].small < value)
                from++;
            while (above_large < count && items[above_large].large <= high)
                above_large++;
            const size_t size = sizeof *items, small = offsetof(struct item, small),
                         large = offsetof(struct item, large);
            assert_int_equal(sxt_search_above(items, count, size, small, 32, value), above);
            assert_int_equal(sxt_search_from(items, count, size, small, 32, value), from);
            assert_int_equal(sxt_search_above(items, count, size, large, 64, high), above_large);
        }
}

TEST(compares_a_field_of_32_bits_with_larger_values)
{
    const struct item items[] = {{UINT32_MAX, 0}};
    assert_int_equal(sxt_search_above(items, 1, sizeof *items, 0, 32, (uint64_t)UINT32_MAX + 1), 1);
    assert_int_equal(sxt_search_from(items, 1, sizeof *items, 0, 32, (uint64_t)UINT32_MAX), 0);
    assert_int_equal(sxt_search_from(NULL, 0, sizeof *items, 0, 32, 7), 0);
}
