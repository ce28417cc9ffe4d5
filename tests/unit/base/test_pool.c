/* test_pool.c: every item once, in order of handing out, whatever the number of threads. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/pool.h"
#include "support/sanitized.h"
#include "support/test.h"

#define ITEMS_MAX 20000

struct tally {
    unsigned threads;
    _Atomic unsigned char seen[ITEMS_MAX];
    size_t per_worker[64]; /* each belongs to one thread; TSan would report it if not */
    atomic_bool wrong;
    size_t fail_at; /* this item and every third after it fail */
};

static int count_item(void *context, unsigned worker, size_t item)
{
    struct tally *tally = context;
    if (worker >= tally->threads || item >= ITEMS_MAX || atomic_fetch_add(&tally->seen[item], 1) != 0)
        atomic_store(&tally->wrong, true);
    else
        tally->per_worker[worker]++;
    return 0;
}

/* The first case: once threads have run, the C library keeps their stacks and needs no memory for new ones. */
TEST(does_without_threads_that_cannot_be_started)
{
    if (SANITIZED)
        skip();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        /* Less address space than one stack. */
        struct rlimit limit = {1 << 20, 1 << 20};
        static struct tally tally;
        tally.threads = 1;
        bool right = setrlimit(RLIMIT_AS, &limit) == 0 && sxt_pool_run(8, 1000, count_item, &tally) == 0 &&
                     !tally.wrong && tally.per_worker[0] == 1000;
        _exit(right ? 0 : 1);
    }
    int result;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
}

TEST(hands_out_every_item_once)
{
    static const unsigned threads[] = {1, 2, 3, 8, 64};
    static const size_t counts[] = {0, 1, 2, 7, 1000, ITEMS_MAX};
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            static struct tally tally;
            memset(&tally, 0, sizeof tally);
            tally.threads = threads[t];
            assert_int_equal(sxt_pool_run(threads[t], counts[c], count_item, &tally), 0);
            assert_false(tally.wrong);
            size_t sum = 0;
            for (unsigned w = 0; w < threads[t]; w++)
                sum += tally.per_worker[w];
            assert_int_equal(sum, counts[c]);
            for (size_t i = 0; i < ITEMS_MAX; i++)
                assert_int_equal(tally.seen[i], i < counts[c]);
        }
    }
}

TEST(copes_with_absurd_thread_counts)
{
    static struct tally tally;
    memset(&tally, 0, sizeof tally);
    tally.threads = 64;
    assert_int_equal(sxt_pool_run(4000000000u, 5000, count_item, &tally), 0);
    assert_int_equal(sxt_pool_run(0, 0, count_item, &tally), 0);
    assert_false(tally.wrong);
    memset(&tally, 0, sizeof tally);
    tally.threads = 1;
    assert_int_equal(sxt_pool_run(0, 10, count_item, &tally), 0);
    assert_false(tally.wrong);
    assert_int_equal(tally.per_worker[0], 10);
}

struct order {
    pthread_t caller;
    size_t next;
    bool right;
};

static int check_order(void *context, unsigned worker, size_t item)
{
    struct order *order = context;
    order->right = order->right && worker == 0 && item == order->next && pthread_equal(pthread_self(), order->caller);
    order->next++;
    return item == 5 ? 42 : 0;
}

TEST(runs_one_thread_on_the_caller_in_order)
{
    struct order order = {pthread_self(), 0, true};
    assert_int_equal(sxt_pool_run(1, 5, check_order, &order), 0);
    assert_true(order.right);
    assert_int_equal(order.next, 5);
}

TEST(hands_out_nothing_after_a_failure)
{
    struct order order = {pthread_self(), 0, true};
    assert_int_equal(sxt_pool_run(1, 1000, check_order, &order), 42);
    assert_int_equal(order.next, 6);
}

static int fail_often(void *context, unsigned worker, size_t item)
{
    (void)worker;
    struct tally *tally = context;
    if (item < tally->fail_at || (item - tally->fail_at) % 3 != 0)
        return 0;
    /* The lowest one takes longest, so that others fail before it. */
    if (item == tally->fail_at)
        usleep(200);
    return -(int)item - 1;
}

TEST(returns_the_failure_of_the_lowest_item)
{
    static struct tally tally;
    for (size_t round = 0; round < 200; round++) {
        tally.fail_at = round % 50;
        assert_int_equal(sxt_pool_run(4, 100, fail_often, &tally), -(int)tally.fail_at - 1);
    }
}

static int wait_for_company(void *context, unsigned worker, size_t item)
{
    (void)worker;
    (void)item;
    atomic_uint *present = context;
    atomic_fetch_add(present, 1);
    for (unsigned i = 0; i < 10000 && atomic_load(present) < 4; i++)
        usleep(1000);
    return atomic_load(present) >= 4 ? 0 : 1;
}

TEST(works_on_items_at_the_same_time)
{
    atomic_uint present = 0;
    assert_int_equal(sxt_pool_run(4, 4, wait_for_company, &present), 0);
}

static int see_signal_mask(void *context, unsigned worker, size_t item)
{
    (void)item;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    bool blocked = sigismember(&mask, SIGINT) == 1;
    return blocked == (worker != 0) ? wait_for_company(context, worker, item) : 2;
}

TEST(leaves_signals_to_the_caller)
{
    atomic_uint present = 0;
    assert_int_equal(sxt_pool_run(4, 4, see_signal_mask, &present), 0);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGINT), 0);
}

TEST(counts_the_processors_that_may_be_used)
{
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    unsigned all = sxt_pool_threads(0);
    assert_true(all >= 1 && all <= 64);
    assert_int_equal(all, CPU_COUNT(&before) < 64 ? CPU_COUNT(&before) : 64);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(sxt_pool_threads(0), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}
