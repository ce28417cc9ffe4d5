/* test_upstream_breaker.c: a server that fails is left alone for a time, and then tried once. */
#include "service/upstream_breaker.h"
#include "support/test.h"

#define PAUSE 1000

static void fail_times(struct sxt_breaker *breaker, unsigned times, int64_t now)
{
    for (unsigned i = 0; i < times; i++) {
        assert_true(sxt_breaker_admit(breaker, now));
        sxt_breaker_report(breaker, SXT_BREAKER_BAD, now, PAUSE);
    }
}

TEST(opens_after_failures_in_a_row)
{
    struct sxt_breaker breaker = {0};
    fail_times(&breaker, SXT_BREAKER_FAILURES - 1, 0);
    sxt_breaker_report(&breaker, SXT_BREAKER_GOOD, 0, PAUSE);
    fail_times(&breaker, SXT_BREAKER_FAILURES - 1, 0);
    sxt_breaker_report(&breaker, SXT_BREAKER_NEITHER, 0, PAUSE);
    assert_int_equal(breaker.state, SXT_BREAKER_CLOSED);
    fail_times(&breaker, 1, 0);
    assert_int_equal(breaker.state, SXT_BREAKER_OPEN);
    assert_false(sxt_breaker_admit(&breaker, PAUSE - 1));
}

TEST(lets_one_request_through_after_the_pause)
{
    struct sxt_breaker breaker = {0};
    fail_times(&breaker, SXT_BREAKER_FAILURES, 0);
    assert_true(sxt_breaker_would_admit(&breaker, PAUSE));
    assert_int_equal(breaker.state, SXT_BREAKER_OPEN);
    assert_true(sxt_breaker_admit(&breaker, PAUSE));
    assert_int_equal(breaker.state, SXT_BREAKER_HALF_OPEN);
    assert_false(sxt_breaker_admit(&breaker, PAUSE));
    /* It fails: the pause begins again. */
    sxt_breaker_report(&breaker, SXT_BREAKER_BAD, PAUSE, PAUSE);
    assert_false(sxt_breaker_admit(&breaker, 2 * PAUSE - 1));
    assert_true(sxt_breaker_admit(&breaker, 2 * PAUSE));
    /* It was ended by this server: another one may try. */
    sxt_breaker_report(&breaker, SXT_BREAKER_NEITHER, 2 * PAUSE, PAUSE);
    assert_true(sxt_breaker_admit(&breaker, 2 * PAUSE));
    assert_false(sxt_breaker_admit(&breaker, 2 * PAUSE));
    /* It works: all may ask. */
    sxt_breaker_report(&breaker, SXT_BREAKER_GOOD, 2 * PAUSE, PAUSE);
    assert_true(sxt_breaker_admit(&breaker, 2 * PAUSE));
    assert_true(sxt_breaker_admit(&breaker, 2 * PAUSE));
    fail_times(&breaker, SXT_BREAKER_FAILURES - 1, 2 * PAUSE);
    assert_int_equal(breaker.state, SXT_BREAKER_CLOSED);
}

TEST(requests_that_were_begun_before_do_not_make_the_pause_longer)
{
    struct sxt_breaker breaker = {0};
    fail_times(&breaker, SXT_BREAKER_FAILURES, 0);
    sxt_breaker_report(&breaker, SXT_BREAKER_BAD, PAUSE - 1, PAUSE);
    assert_true(sxt_breaker_admit(&breaker, PAUSE));
}
