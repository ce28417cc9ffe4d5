/* task.c: one piece of work on a thread of its own. */
#include "base/task.h"

#include <signal.h>

#include "base/pool.h"

bool sxt_thread_start(pthread_t *thread, void *(*work)(void *context), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = pthread_create(thread, NULL, work, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static void *task_main(void *argument)
{
    struct sxt_task *task = argument;
    task->work(task->context);
    return NULL;
}

void sxt_task_start(struct sxt_task *task, unsigned threads, void (*work)(void *context), void *context)
{
    *task = (struct sxt_task){.work = work, .context = context};
    if (sxt_pool_threads(threads) > 1)
        task->is_started = sxt_thread_start(&task->thread, task_main, task);
}

void sxt_task_finish(struct sxt_task *task)
{
    if (task->is_started)
        pthread_join(task->thread, NULL);
    else
        task->work(task->context);
}

void sxt_task_drop(struct sxt_task *task)
{
    if (task->is_started)
        pthread_join(task->thread, NULL);
}
