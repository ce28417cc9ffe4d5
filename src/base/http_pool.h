/* http_pool.h: sxt_http objects for threads that ask the same service. Connections are kept open between requests. */
#ifndef SXT_BASE_HTTP_POOL_H
#define SXT_BASE_HTTP_POOL_H

#include "base/http.h"

struct sxt_http_pool;

int sxt_http_pool_open(struct sxt_http_pool **out, sxt_error *error);

/* Nothing of the pool may be in use. */
void sxt_http_pool_close(struct sxt_http_pool **pool);

/* Gives the caller one of its own, the one that was used last if one is free. May be called from any thread. */
int sxt_http_pool_take(struct sxt_http_pool *pool, struct sxt_http **out, sxt_error *error);

/* Gives it back. HTTP may be NULL. */
void sxt_http_pool_give(struct sxt_http_pool *pool, struct sxt_http *http);

#endif
