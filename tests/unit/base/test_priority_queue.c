/* test_priority_queue.c: the best comes out first, whatever went in and in which order. */
#include "base/priority_queue.h"
#include "support/random.h"
#include "support/test.h"

#define MOST 200

/* CONTEXT is the worth of each item. */
static bool is_worth_more(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *worth = context;
    return worth[a] > worth[b];
}

static bool is_smaller(const void *context, uint32_t a, uint32_t b)
{
    (void)context;
    return a < b;
}

TEST(what_goes_in_comes_out_in_order)
{
    static const uint32_t items[] = {5, 3, 9, 1, 3, 7, 0, UINT32_MAX, 2};
    static const uint32_t sorted[] = {0, 1, 2, 3, 3, 5, 7, 9, UINT32_MAX};
    enum { COUNT = sizeof items / sizeof *items };
    uint32_t room[COUNT];
    struct sxt_queue heap = {room, 0};
    for (size_t i = 0; i < COUNT; i++)
        sxt_queue_push(&heap, items[i], is_smaller, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(heap.count, COUNT - i);
        assert_int_equal(heap.items[0], sorted[i]);
        sxt_queue_pop(&heap, is_smaller, NULL);
    }
    assert_int_equal(heap.count, 0);
}

TEST(one_item_and_none)
{
    uint32_t room[1];
    struct sxt_queue heap = {room, 0};
    for (uint32_t i = 0; i < 3; i++) {
        sxt_queue_push(&heap, i, is_smaller, NULL);
        assert_int_equal(heap.count, 1);
        assert_int_equal(heap.items[0], i);
        sxt_queue_pop(&heap, is_smaller, NULL);
        assert_int_equal(heap.count, 0);
    }
}

/* The most that any item of the heap is worth. */
static uint32_t best_worth(const uint32_t *worth, const bool *is_in)
{
    uint32_t best = 0;
    for (size_t i = 0; i < MOST; i++)
        if (is_in[i] && worth[i] > best)
            best = worth[i];
    return best;
}

TEST(the_best_is_first_while_some_come_and_some_go)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct sxt_test_random random = {seed};
        uint32_t room[MOST], worth[MOST], next = 0;
        bool is_in[MOST] = {false};
        struct sxt_queue heap = {room, 0};
        /* Few different values, so that many are equal. */
        for (size_t i = 0; i < MOST; i++)
            worth[i] = sxt_test_below(&random, seed % 2 ? 8 : UINT32_MAX);
        while (next < MOST || heap.count > 0) {
            if (next < MOST && sxt_test_below(&random, 5) < 3) {
                is_in[next] = true;
                sxt_queue_push(&heap, next++, is_worth_more, worth);
            } else if (heap.count > 0) {
                uint32_t best = heap.items[0];
                assert_true(is_in[best]);
                assert_int_equal(worth[best], best_worth(worth, is_in));
                is_in[best] = false;
                sxt_queue_pop(&heap, is_worth_more, worth);
            }
        }
        for (size_t i = 0; i < MOST; i++)
            assert_false(is_in[i]);
    }
}
