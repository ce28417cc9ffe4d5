/*
 * task.h: one piece of work that runs on a thread of its own while the caller does something else.
 *
 * sxt_task_start begins the work, sxt_task_finish waits for it. If THREADS (see sxt_pool_threads) allows no second
 * thread, or if none can be started, sxt_task_finish does the work itself. The work must not depend on what the caller
 * does in between.
 */
#ifndef SXT_BASE_TASK_H
#define SXT_BASE_TASK_H

#include <pthread.h>
#include <stdbool.h>

struct sxt_task {
    void (*work)(void *context);
    void *context;
    pthread_t thread;
    bool is_started;
};

void sxt_task_start(struct sxt_task *task, unsigned threads, void (*work)(void *context), void *context);
void sxt_task_finish(struct sxt_task *task);

/* Instead of sxt_task_finish, if the result is not needed: work that has begun ends, other work is not done. */
void sxt_task_drop(struct sxt_task *task);

/* Starts a thread that gets no signals: a signal of the program is for the program's own threads. */
bool sxt_thread_start(pthread_t *thread, void *(*work)(void *context), void *context);

#endif
