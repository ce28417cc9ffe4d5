/* http_pool.c: a stack of idle sxt_http objects. */
#include "base/http_pool.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

#define IDLE_MAX 32

struct sxt_http_pool {
    pthread_mutex_t mutex;
    struct sxt_http *idle[IDLE_MAX];
    size_t count;
};

int sxt_http_pool_open(struct sxt_http_pool **out, sxt_error *error)
{
    struct sxt_http_pool *pool = *out = calloc(1, sizeof *pool);
    if (pool == NULL)
        return sxt_fail_memory(error, sizeof *pool);
    pthread_mutex_init(&pool->mutex, NULL);
    /* The first one says whether there is a libcurl. */
    int status = sxt_http_open(&pool->idle[0], error);
    if (status == SXT_OK)
        pool->count = 1;
    else
        sxt_http_pool_close(out);
    return status;
}

void sxt_http_pool_close(struct sxt_http_pool **pool)
{
    if (*pool == NULL)
        return;
    for (size_t i = 0; i < (*pool)->count; i++)
        sxt_http_close(&(*pool)->idle[i]);
    pthread_mutex_destroy(&(*pool)->mutex);
    free(*pool);
    *pool = NULL;
}

int sxt_http_pool_take(struct sxt_http_pool *pool, struct sxt_http **out, sxt_error *error)
{
    pthread_mutex_lock(&pool->mutex);
    *out = pool->count > 0 ? pool->idle[--pool->count] : NULL;
    pthread_mutex_unlock(&pool->mutex);
    return *out != NULL ? SXT_OK : sxt_http_open(out, error);
}

void sxt_http_pool_give(struct sxt_http_pool *pool, struct sxt_http *http)
{
    pthread_mutex_lock(&pool->mutex);
    if (http != NULL && pool->count < IDLE_MAX) {
        pool->idle[pool->count++] = http;
        http = NULL;
    }
    pthread_mutex_unlock(&pool->mutex);
    sxt_http_close(&http);
}
