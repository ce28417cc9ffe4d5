/* test_live.c: the table of live blocks, beside a plain array. */
#include <stdlib.h>

#include "mlyze/live.h"
#include "support/random.h"
#include "support/test.h"

#define KEYS 5000

/* Adds and removes at random; every answer must be that of an array by key. */
static void compare_with_array(uint64_t stride, uint64_t base)
{
    static uint64_t sizes[KEYS]; /* + 1; 0: not there */
    struct sxt_test_random random = {stride ^ base};
    struct sxt_live live;
    size_t count = 0;
    assert_true(sxt_live_init(&live));
    for (size_t i = 0; i < KEYS; i++)
        sizes[i] = 0;
    for (uint64_t step = 1; step <= 200000; step++) {
        uint32_t key = sxt_test_below(&random, KEYS);
        uint64_t address = base + key * stride;
        size_t place = sxt_live_find(&live, address);
        assert_int_equal(place != SXT_LIVE_NOWHERE, sizes[key] != 0);
        if (place != SXT_LIVE_NOWHERE)
            assert_int_equal(sxt_live_at(&live, place)->size, sizes[key] - 1);
        /* Long times in which it grows, then as long ones in which it shrinks. */
        bool growing = step / 20000 % 2 == 0;
        if (sxt_test_below(&random, 4) == 0 ? growing : !growing) {
            if (place == SXT_LIVE_NOWHERE)
                continue;
            sxt_live_remove(&live, place);
            sizes[key] = 0;
            count--;
            continue;
        }
        bool is_new;
        place = sxt_live_add(&live, address, &is_new);
        assert_int_equal(is_new, sizes[key] == 0);
        sxt_live_at(&live, place)->size = step;
        count += is_new;
        sizes[key] = step + 1;
        assert_int_equal(live.count, count);
    }
    size_t walked = 0;
    uint64_t sum = 0, expected = 0;
    for (size_t at = SXT_LIVE_NOWHERE; (at = sxt_live_next(&live, at)) != SXT_LIVE_NOWHERE; walked++)
        sum += sxt_live_at(&live, at)->size;
    for (size_t i = 0; i < KEYS; i++)
        expected += sizes[i] != 0 ? sizes[i] - 1 : 0;
    assert_int_equal(walked, count);
    assert_int_equal(sum, expected);
    sxt_live_free(&live);
}

TEST(answers_are_those_of_an_array)
{
    compare_with_array(16, 0x7f0000000000);
    compare_with_array(1, 0); /* address 0 is one of them */
    compare_with_array((uint64_t)1 << 51, 8);
    compare_with_array(0x100000001, UINT64_MAX - (uint64_t)KEYS * 0x100000001);
}

TEST(address_zero_and_the_highest_are_addresses_too)
{
    struct sxt_live live;
    bool is_new;
    assert_true(sxt_live_init(&live));
    assert_int_equal(sxt_live_find(&live, 0), SXT_LIVE_NOWHERE);
    size_t place = sxt_live_add(&live, 0, &is_new);
    assert_true(is_new);
    assert_int_equal(sxt_live_add(&live, 0, &is_new), place);
    assert_false(is_new);
    assert_true(sxt_live_add(&live, UINT64_MAX, &is_new) < live.mask + 1);
    assert_true(is_new);
    assert_int_equal(live.count, 2);
    sxt_live_remove(&live, sxt_live_find(&live, 0));
    assert_int_equal(sxt_live_find(&live, 0), SXT_LIVE_NOWHERE);
    assert_int_not_equal(sxt_live_find(&live, UINT64_MAX), SXT_LIVE_NOWHERE);
    assert_int_equal(live.count, 1);
    sxt_live_free(&live);
}

/* The multiples of a power of two meet in one place of a table that takes some bits of the address. */
TEST(addresses_with_a_pattern_do_not_pile_up)
{
    for (unsigned bits = 0; bits < 44; bits += 4) {
        struct sxt_live live;
        size_t longest = 0;
        bool is_new;
        assert_true(sxt_live_init(&live));
        for (uint64_t i = 1; i <= 100000; i++) {
            size_t place = sxt_live_add(&live, i << bits, &is_new);
            size_t way = (place - sxt_live_home(&live, live.slots[place].tag)) & live.mask;
            longest = way > longest ? way : longest;
        }
        assert_true(longest < 300);
        sxt_live_free(&live);
    }
}

/* Looked at ahead of time, and then changed before it is asked for: what is found is right all the same. */
TEST(what_was_expected_is_checked)
{
    struct sxt_test_random random = {7};
    struct sxt_live live;
    bool is_new;
    assert_true(sxt_live_init(&live));
    for (unsigned round = 0; round < 50000; round++) {
        uint64_t asked = 16 * (uint64_t)sxt_test_below(&random, 3000), hash = sxt_live_hash(&live, asked);
        size_t expected = sxt_live_expect(&live, hash);
        for (unsigned i = 0; i < 4; i++) {
            uint64_t other = 16 * (uint64_t)sxt_test_below(&random, 3000);
            size_t place = sxt_live_find(&live, other);
            if (place != SXT_LIVE_NOWHERE)
                sxt_live_remove(&live, place);
            else
                sxt_live_at(&live, sxt_live_add(&live, other, &is_new))->size = other;
        }
        size_t found = sxt_live_find_expected(&live, hash, expected);
        assert_int_equal(found, sxt_live_find(&live, asked));
        if (found != SXT_LIVE_NOWHERE)
            assert_int_equal(sxt_live_at(&live, found)->size, asked);
    }
    sxt_live_free(&live);
}

/* Blocks and their weights stay together when the table grows, and places of blocks that ended are used again. */
TEST(weights_stay_with_their_blocks)
{
    struct sxt_live live;
    bool is_new;
    assert_true(sxt_live_init(&live) && sxt_live_keep_weights(&live));
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 20000; i++) {
            size_t place = sxt_live_add(&live, i * 16, &is_new);
            assert_true(is_new);
            live.weights[live.slots[place].number] = (uint32_t)(i + round);
        }
        for (uint64_t i = 0; i < 20000; i++) {
            size_t place = sxt_live_find(&live, i * 16);
            assert_int_equal(sxt_live_weight(&live, place), i + round);
            sxt_live_remove(&live, place);
        }
        assert_int_equal(live.used, 20000);
    }
    sxt_live_free(&live);
}
