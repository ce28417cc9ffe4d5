/* test_workers.c: every job runs once, and long jobs leave threads for short ones. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "service/workers.h"
#include "support/test.h"

struct counted {
    struct sxt_job job;
    _Atomic unsigned runs;
};

static void count(struct sxt_job *job)
{
    struct counted *counted = (struct counted *)(void *)job;
    atomic_fetch_add(&counted->runs, 1);
}

TEST(runs_every_job_once)
{
    enum { JOBS = 1000 };
    static struct counted jobs[JOBS];
    struct sxt_workers *workers;
    sxt_error error;
    assert_int_equal(sxt_workers_start(4, &workers, &error), SXT_OK);
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i].job = (struct sxt_job){.run = count, .is_long = i % 3 == 0};
        assert_true(sxt_workers_post(workers, &jobs[i].job));
    }
    sxt_workers_stop(&workers);
    assert_null(workers);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(atomic_load(&jobs[i].runs), 1);
}

static _Atomic bool may_end;
static _Atomic unsigned waiting;

static void wait_for_end(struct sxt_job *job)
{
    (void)job;
    atomic_fetch_add(&waiting, 1);
    while (!atomic_load(&may_end))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

TEST(leaves_threads_for_short_jobs)
{
    struct sxt_workers *workers;
    sxt_error error;
    struct sxt_job jobs[8];
    struct counted quick = {.job = {.run = count}};
    assert_int_equal(sxt_workers_start(4, &workers, &error), SXT_OK);
    for (size_t i = 0; i < 8; i++) {
        jobs[i] = (struct sxt_job){.run = wait_for_end, .is_long = true};
        assert_true(sxt_workers_post(workers, &jobs[i]));
    }
    assert_true(sxt_workers_post(workers, &quick.job));
    while (atomic_load(&quick.runs) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_true(atomic_load(&waiting) <= 2);
    atomic_store(&may_end, true);
    sxt_workers_stop(&workers);
    assert_int_equal(atomic_load(&waiting), 8);
}

TEST(refuses_jobs_when_too_many_wait)
{
    enum { JOBS = 5000 };
    static struct sxt_job jobs[JOBS];
    struct sxt_workers *workers;
    sxt_error error;
    atomic_store(&may_end, false);
    assert_int_equal(sxt_workers_start(1, &workers, &error), SXT_OK);
    unsigned taken = 0;
    for (size_t i = 0; i < JOBS; i++) {
        jobs[i] = (struct sxt_job){.run = wait_for_end};
        taken += sxt_workers_post(workers, &jobs[i]);
    }
    assert_true(taken < JOBS);
    unsigned before = atomic_load(&waiting);
    atomic_store(&may_end, true);
    sxt_workers_stop(&workers);
    assert_true(atomic_load(&waiting) >= before);
}
