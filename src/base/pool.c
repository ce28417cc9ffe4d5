/* pool.c: threads that take the next item from one shared counter until there is none. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/task.h"

#define THREADS_MAX 64

struct pool {
    sxt_pool_work *work;
    void *context;
    size_t count;
    _Atomic size_t next;
    atomic_bool stopped;
    pthread_mutex_t failure_lock; /* guards the two below */
    size_t failed_item;
    int failure;
};

struct worker {
    pthread_t thread;
    struct pool *pool;
    unsigned number;
};

static unsigned start_helpers(struct pool *pool, struct worker *workers, unsigned wanted);
static void *helper_main(void *argument);
static void take_items(struct pool *pool, unsigned worker);

int sxt_pool_run(unsigned threads, size_t count, sxt_pool_work *work, void *context)
{
    if (threads > THREADS_MAX)
        threads = THREADS_MAX;
    if (threads > count)
        threads = (unsigned)count;
    struct pool pool = {.work = work, .context = context, .count = count};
    pthread_mutex_init(&pool.failure_lock, NULL);

    struct worker workers[THREADS_MAX];
    unsigned started = threads > 1 ? start_helpers(&pool, workers, threads - 1) : 0;
    take_items(&pool, 0);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&pool.failure_lock);
    return pool.failure;
}

/* The number in SEXTANT_THREADS; 0 if it is not set, or not a number of 1 or more. */
static unsigned threads_of_environment(void)
{
    const char *text = getenv("SEXTANT_THREADS");
    if (text == NULL || *text < '0' || *text > '9')
        return 0;
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*end != '\0')
        return 0;
    return number < THREADS_MAX ? (unsigned)number : THREADS_MAX;
}

static unsigned processors(void)
{
    cpu_set_t allowed;
    long count =
        sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : (unsigned)count;
}

unsigned sxt_pool_threads(unsigned wanted)
{
    if (wanted == 0)
        wanted = threads_of_environment();
    if (wanted == 0)
        wanted = processors();
    return wanted < THREADS_MAX ? wanted : THREADS_MAX;
}

/* Returns how many could be started; worker numbers have no gaps. */
static unsigned start_helpers(struct pool *pool, struct worker *workers, unsigned wanted)
{
    unsigned started = 0;
    while (started < wanted) {
        workers[started].pool = pool;
        workers[started].number = started + 1;
        if (!sxt_thread_start(&workers[started].thread, helper_main, &workers[started]))
            break;
        started++;
    }
    return started;
}

static void *helper_main(void *argument)
{
    struct worker *worker = argument;
    take_items(worker->pool, worker->number);
    return NULL;
}

/*
 * Items are handed out in order, so every item below one that failed has been taken already: the lowest failure
 * that is seen here is the lowest there is, however the threads are scheduled.
 */
static void take_items(struct pool *pool, unsigned worker)
{
    while (!atomic_load(&pool->stopped)) {
        size_t item = atomic_fetch_add(&pool->next, 1);
        if (item >= pool->count)
            return;
        int result = pool->work(pool->context, worker, item);
        if (result == 0)
            continue;
        atomic_store(&pool->stopped, true);
        pthread_mutex_lock(&pool->failure_lock);
        if (pool->failure == 0 || item < pool->failed_item) {
            pool->failure = result;
            pool->failed_item = item;
        }
        pthread_mutex_unlock(&pool->failure_lock);
    }
}
