/* test_sort.c: order and stability, against the C library's sort made stable by the index. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "support/test.h"

#define LARGEST 3000

/* A small generator of its own, so that a failure can be repeated. */
static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed ^ *seed >> 29;
}

static int by_key_then_index(const void *a, const void *b)
{
    const struct sxt_sort_item *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* Sorts COUNT items whose keys are in place and whose indexes are given here, in order. */
static void check_sorted(struct sxt_sort_item *items, size_t count)
{
    struct sxt_sort_item *expected = calloc(count + 1, sizeof *expected);
    struct sxt_sort_item *scratch = calloc(count + 1, sizeof *scratch);
    assert_true(expected != NULL && scratch != NULL);
    for (size_t i = 0; i < count; i++) {
        items[i].index = (uint32_t)i;
        expected[i] = items[i];
    }
    memset(&scratch[count], 0xee, sizeof *scratch);
    qsort(expected, count, sizeof *expected, by_key_then_index);

    sxt_sort(items, scratch, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(items[i].key == expected[i].key);
        assert_int_equal(items[i].index, expected[i].index);
    }
    assert_int_equal(scratch[count].index, 0xeeeeeeee);
    free(expected);
    free(scratch);
}

TEST(sorts_every_small_count)
{
    static struct sxt_sort_item items[200];
    uint64_t seed = 1;
    for (size_t count = 0; count < sizeof items / sizeof *items; count++) {
        for (size_t i = 0; i < count; i++)
            items[i].key = next_random(&seed);
        check_sorted(items, count);
        for (size_t i = 0; i < count; i++)
            items[i].key = next_random(&seed) % 5;
        check_sorted(items, count);
    }
}

TEST(keeps_the_order_of_equal_keys)
{
    static struct sxt_sort_item items[LARGEST];
    uint64_t seed = 2;
    for (size_t i = 0; i < LARGEST; i++)
        items[i].key = next_random(&seed) % 40 << 32 | 7;
    check_sorted(items, LARGEST);
    for (size_t i = 0; i < LARGEST; i++)
        items[i].key = 42;
    check_sorted(items, LARGEST);
}

TEST(sorts_keys_that_differ_in_any_set_of_bytes)
{
    static struct sxt_sort_item items[300];
    uint64_t seed = 3;
    for (unsigned bytes = 0; bytes < 256; bytes++) {
        uint64_t mask = 0;
        for (unsigned i = 0; i < 8; i++)
            if (bytes >> i & 1)
                mask |= UINT64_C(0xff) << (8 * i);
        for (size_t i = 0; i < sizeof items / sizeof *items; i++)
            items[i].key = (next_random(&seed) & mask) | (UINT64_C(0x1122334455667788) & ~mask);
        check_sorted(items, sizeof items / sizeof *items);
    }
}

TEST(sorts_what_is_sorted_or_reversed)
{
    static struct sxt_sort_item items[LARGEST];
    for (size_t i = 0; i < LARGEST; i++)
        items[i].key = UINT64_C(0x401000) + 16 * i;
    check_sorted(items, LARGEST);
    for (size_t i = 0; i < LARGEST; i++)
        items[i].key = UINT64_MAX - 16 * i;
    check_sorted(items, LARGEST);
    for (size_t i = 0; i < LARGEST; i++)
        items[i].key = i == LARGEST - 1 ? 0 : i;
    check_sorted(items, LARGEST);
}
