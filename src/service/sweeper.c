/* sweeper.c: sweeps the catalog every hour, and temporary files too. */
#include "service/sweeper.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/task.h"
#include "service/log.h"
#include "service/server.h"

#define FIRST_SECONDS  60 /* servers that are started together do not sweep together: see first_wait */
#define PERIOD_SECONDS 3600
#define TEMPORARY_AGE  86400

struct sxt_sweeper {
    struct sxt_service *service;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_ending;
};

static void *work(void *context);

int sxt_sweeper_start(struct sxt_service *service, struct sxt_sweeper **out, sxt_error *error)
{
    struct sxt_sweeper *sweeper = *out = calloc(1, sizeof *sweeper);
    if (sweeper == NULL)
        return sxt_fail_memory(error, sizeof *sweeper);
    sweeper->service = service;
    pthread_mutex_init(&sweeper->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&sweeper->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (sxt_thread_start(&sweeper->thread, work, sweeper))
        return SXT_OK;
    free(sweeper);
    *out = NULL;
    return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "cannot start a thread");
}

void sxt_sweeper_stop(struct sxt_sweeper **pointer)
{
    struct sxt_sweeper *sweeper = *pointer;
    if (sweeper == NULL)
        return;
    pthread_mutex_lock(&sweeper->lock);
    sweeper->is_ending = true;
    pthread_cond_signal(&sweeper->wake);
    pthread_mutex_unlock(&sweeper->lock);
    pthread_join(sweeper->thread, NULL);
    pthread_cond_destroy(&sweeper->wake);
    pthread_mutex_destroy(&sweeper->lock);
    free(sweeper);
    *pointer = NULL;
}

static void sweep(struct sxt_service *service)
{
    struct sxt_catalog_swept swept = {0};
    uint64_t bytes = 0;
    sxt_error error;
    if (sxt_store_sweep(service->store, TEMPORARY_AGE, &bytes, &error) != SXT_OK ||
        sxt_catalog_sweep(service->catalog, service->options.retention_seconds, false, &swept, &error) != SXT_OK)
        sxt_log_message(service->log, "error", NULL, "cannot sweep the store: %s", error.text);
    else if (swept.objects > 0 || bytes > 0)
        sxt_log_message(service->log, "info", NULL, "swept the store: %llu objects, %llu bytes",
                        (unsigned long long)swept.objects, (unsigned long long)(swept.bytes + bytes));
}

/* False if the server ends meanwhile. */
static bool wait_seconds(struct sxt_sweeper *sweeper, time_t seconds)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    pthread_mutex_lock(&sweeper->lock);
    int result = 0;
    while (!sweeper->is_ending && result == 0)
        result = pthread_cond_timedwait(&sweeper->wake, &sweeper->lock, &end);
    bool goes_on = !sweeper->is_ending;
    pthread_mutex_unlock(&sweeper->lock);
    return goes_on;
}

static void *work(void *context)
{
    struct sxt_sweeper *sweeper = context;
    time_t first_wait = FIRST_SECONDS + (time_t)(sweeper->service->uuid_start[0] % FIRST_SECONDS);
    for (time_t seconds = first_wait; wait_seconds(sweeper, seconds); seconds = PERIOD_SECONDS)
        sweep(sweeper->service);
    return NULL;
}
