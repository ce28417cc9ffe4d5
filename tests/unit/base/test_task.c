/* test_task.c: work beside the caller's own, once, whether or not there is a thread for it. */
#include <signal.h>
#include <string.h>

#include "base/task.h"
#include "support/test.h"

struct work {
    unsigned times;
    bool blocks_signals;
    pthread_t thread;
};

static void do_work(void *context)
{
    struct work *work = context;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    work->blocks_signals = sigismember(&blocked, SIGTERM) == 1;
    work->thread = pthread_self();
    work->times++;
}

TEST(runs_on_a_thread_of_its_own_that_gets_no_signals)
{
    struct work work = {0};
    struct sxt_task task;
    sxt_task_start(&task, 2, do_work, &work);
    sxt_task_finish(&task);
    assert_int_equal(work.times, 1);
    if (task.is_started) {
        assert_true(work.blocks_signals);
        assert_false(pthread_equal(work.thread, pthread_self()));
    }
}

TEST(runs_when_it_is_finished_if_there_may_be_no_second_thread)
{
    struct work work = {0};
    struct sxt_task task;
    sxt_task_start(&task, 1, do_work, &work);
    assert_int_equal(work.times, 0);
    sxt_task_finish(&task);
    assert_int_equal(work.times, 1);
    assert_false(work.blocks_signals);
    assert_true(pthread_equal(work.thread, pthread_self()));
}

TEST(work_that_is_dropped_is_not_begun)
{
    struct work work = {0};
    struct sxt_task task;
    sxt_task_start(&task, 1, do_work, &work);
    sxt_task_drop(&task);
    assert_int_equal(work.times, 0);
}

TEST(work_that_has_begun_ends_before_it_is_dropped)
{
    struct work work = {0};
    struct sxt_task task;
    sxt_task_start(&task, 2, do_work, &work);
    sxt_task_drop(&task);
    assert_int_equal(work.times, task.is_started);
}
