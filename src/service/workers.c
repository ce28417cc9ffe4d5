/* workers.c: two queues, of short and of long jobs, and the threads that serve them. */
#include "service/workers.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/task.h"

#define QUEUE_LIMIT 4096 /* jobs that wait: a request has one at most */

struct queue {
    struct sxt_job *first, **end;
};

struct sxt_workers {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct queue queues[2]; /* short, long */
    unsigned waiting;
    unsigned running_long, most_long;
    bool is_ending;
    unsigned thread_count;
    pthread_t threads[];
};

static void *work(void *context);

int sxt_workers_start(unsigned threads, struct sxt_workers **out, sxt_error *error)
{
    struct sxt_workers *workers = calloc(1, sizeof *workers + threads * sizeof *workers->threads);
    *out = workers;
    if (workers == NULL)
        return sxt_fail_memory(error, sizeof *workers);
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->wake, NULL);
    for (size_t i = 0; i < 2; i++)
        workers->queues[i].end = &workers->queues[i].first;
    workers->most_long = threads > 1 ? threads / 2 : 1;
    while (workers->thread_count < threads && sxt_thread_start(&workers->threads[workers->thread_count], work, workers))
        workers->thread_count++;
    if (workers->thread_count == threads)
        return SXT_OK;
    sxt_workers_stop(out);
    return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "cannot start a thread");
}

void sxt_workers_stop(struct sxt_workers **pointer)
{
    struct sxt_workers *workers = *pointer;
    if (workers == NULL)
        return;
    pthread_mutex_lock(&workers->lock);
    workers->is_ending = true;
    pthread_cond_broadcast(&workers->wake);
    pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < workers->thread_count; i++)
        pthread_join(workers->threads[i], NULL);
    pthread_cond_destroy(&workers->wake);
    pthread_mutex_destroy(&workers->lock);
    free(workers);
    *pointer = NULL;
}

bool sxt_workers_post(struct sxt_workers *workers, struct sxt_job *job)
{
    pthread_mutex_lock(&workers->lock);
    bool fits = workers->waiting < QUEUE_LIMIT;
    if (fits) {
        struct queue *queue = &workers->queues[job->is_long];
        job->next = NULL;
        *queue->end = job;
        queue->end = &job->next;
        workers->waiting++;
        pthread_cond_signal(&workers->wake);
    }
    pthread_mutex_unlock(&workers->lock);
    return fits;
}

/* The next job that may run; NULL if there is none. */
static struct sxt_job *take(struct sxt_workers *workers)
{
    bool may_be_long = workers->running_long < workers->most_long;
    for (size_t i = 0; i < 2; i++) {
        struct queue *queue = &workers->queues[i];
        struct sxt_job *job = queue->first;
        if (job == NULL || (i == 1 && !may_be_long))
            continue;
        queue->first = job->next;
        if (queue->first == NULL)
            queue->end = &queue->first;
        workers->waiting--;
        return job;
    }
    return NULL;
}

static void *work(void *context)
{
    struct sxt_workers *workers = context;
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        struct sxt_job *job = take(workers);
        if (job == NULL) {
            if (workers->is_ending && workers->waiting == 0)
                break;
            pthread_cond_wait(&workers->wake, &workers->lock);
            continue;
        }
        bool is_long = job->is_long; /* the job may be gone afterwards */
        workers->running_long += is_long;
        pthread_mutex_unlock(&workers->lock);
        job->run(job);
        pthread_mutex_lock(&workers->lock);
        workers->running_long -= is_long;
        if (is_long || workers->is_ending)
            pthread_cond_broadcast(&workers->wake);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}
