/* test_partial.c: a file of which only some bytes are here. */
#include <stdlib.h>

#include "support/partial_source.h"
#include "support/random.h"

#define SIZE 100001

static uint8_t bytes[SIZE];
static struct sxt_test_source source;

SET_UP()
{
    struct sxt_test_random random = {1};
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(sxt_test_next(&random) | 1);
    sxt_test_open_source(&source, bytes, SIZE);
}

TEAR_DOWN()
{
    sxt_test_close_source(&source);
}

static void fetch(uint64_t offset, uint64_t size)
{
    struct sxt_partial_wants wants = {0};
    sxt_error error;
    bool had = sxt_partial_has(source.partial, offset, size);
    assert_int_equal(sxt_partial_want(source.partial, &wants, offset, size), had);
    assert_int_equal(sxt_partial_fetch(source.partial, &wants, &error), SXT_OK);
    assert_true(sxt_partial_has(source.partial, offset, size));
}

TEST(nothing_is_here_at_first)
{
    assert_false(sxt_partial_has(source.partial, 0, 1));
    assert_false(sxt_partial_has(source.partial, SIZE - 1, 1));
    assert_int_equal(source.partial->data[5], 0);
    assert_int_equal(source.partial->held, 0);
    assert_true(sxt_partial_has(source.partial, 7, 0));
    assert_true(sxt_partial_has(source.partial, SIZE, 100)); /* not in the file */
    assert_true(sxt_partial_has(source.partial, UINT64_MAX, UINT64_MAX));
}

TEST(what_is_fetched_is_here_and_is_fetched_once)
{
    fetch(40, 3);
    assert_memory_equal(source.partial->data + 32, bytes + 32, 32);
    assert_int_equal(source.bytes, 32);
    fetch(32, 32);
    assert_int_equal(source.requests, 1);
    fetch(0, 1000);
    assert_int_equal(source.requests, 2);
    assert_memory_equal(source.partial->data, bytes, 1000);
    fetch(SIZE - 1, 50000); /* the last grain is not whole */
    assert_int_equal(source.partial->data[SIZE - 1], bytes[SIZE - 1]);
    assert_true(sxt_partial_has(source.partial, SIZE - 1, 1));
}

TEST(what_is_close_together_is_fetched_together)
{
    struct sxt_partial_wants wants = {0};
    sxt_error error;
    static const uint64_t offsets[] = {50000, 100, 0, 50100, 90000};
    for (size_t i = 0; i < 5; i++)
        assert_false(sxt_partial_want(source.partial, &wants, offsets[i], 4));
    assert_int_equal(sxt_partial_fetch(source.partial, &wants, &error), SXT_OK);
    assert_int_equal(source.calls, 1);
    assert_int_equal(source.requests, 3);
    for (size_t i = 0; i < 5; i++)
        assert_memory_equal(source.partial->data + offsets[i], bytes + offsets[i], 4);
}

TEST(random_wants_against_the_bytes)
{
    struct sxt_test_random random = {2};
    for (unsigned round = 0; round < 300; round++) {
        uint64_t offset = sxt_test_below(&random, SIZE), size = sxt_test_below(&random, 300);
        fetch(offset, size);
        uint64_t inside = size < SIZE - offset ? size : SIZE - offset;
        assert_memory_equal(source.partial->data + offset, bytes + offset, inside);
        for (unsigned k = 0; k < 20; k++) { /* what is said to be here is */
            uint64_t at = sxt_test_below(&random, SIZE);
            if (sxt_partial_has(source.partial, at, 1))
                assert_int_equal(source.partial->data[at], bytes[at]);
            else
                assert_true(source.partial->data[at] == 0);
        }
    }
    assert_true(source.bytes <= SIZE);
}

TEST(a_failure_leaves_it_missing)
{
    struct sxt_partial_wants wants = {0};
    sxt_error error;
    source.fail_at = 1;
    sxt_partial_want(source.partial, &wants, 0, 100);
    assert_int_equal(sxt_partial_fetch(source.partial, &wants, &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "the bucket is gone");
    assert_false(sxt_partial_has(source.partial, 0, 1));
    fetch(0, 100);
}

TEST(bytes_that_are_known_are_put_in_place)
{
    sxt_error error;
    assert_int_equal(sxt_partial_put(source.partial, 10, bytes + 10, 100, &error), SXT_OK);
    assert_memory_equal(source.partial->data + 10, bytes + 10, 100);
    assert_false(sxt_partial_has(source.partial, 10, 1)); /* only part of its grain is known */
    assert_true(sxt_partial_has(source.partial, 32, 64));
    assert_false(sxt_partial_has(source.partial, 96, 32));
    assert_int_equal(sxt_partial_put(source.partial, SIZE, bytes, 100, &error), SXT_OK); /* not in the file: ignored */
    assert_int_equal(source.requests, 0);
}

TEST(what_nobody_reads_is_forgotten)
{
    fetch(0, SIZE);
    assert_true(source.partial->held >= SIZE);
    assert_int_equal(sxt_partial_drop(source.partial), 0); /* this thread has entered it */
    sxt_partial_leave(source.partial);
    assert_true(sxt_partial_drop(source.partial) >= SIZE);
    sxt_partial_enter(source.partial);
    assert_int_equal(source.partial->held, 0);
    assert_false(sxt_partial_has(source.partial, 0, 1));
    assert_int_equal(source.partial->data[SIZE - 1], 0);
    fetch(SIZE - 10, 10);
    assert_memory_equal(source.partial->data + SIZE - 10, bytes + SIZE - 10, 10);
}
