/* upstream_private.h: a debuginfod server, and figures and log lines about it. Private to upstream.c and its helpers.
 */
#ifndef SXT_SERVICE_UPSTREAM_PRIVATE_H
#define SXT_SERVICE_UPSTREAM_PRIVATE_H

#include "base/buffer.h"
#include "service/log.h"
#include "service/upstream_breaker.h"
#include "service/upstream_fetch.h"

#define SXT_UPSTREAM_LIMITS 12 /* of latencies */

struct sxt_upstream_server {
    char *url;  /* without a slash at its end */
    char *name; /* the same without a user name and password, for logs and figures */
    struct sxt_breaker breaker;
    uint64_t outcomes[SXT_FETCH_OUTCOMES];
    uint64_t skipped; /* not asked, because it had failed */
    uint64_t bytes;
    uint64_t by_time[SXT_UPSTREAM_LIMITS + 1];
    uint64_t milliseconds;
};

/* Counts a fetch, which took some MILLISECONDS. */
void sxt_upstream_count(struct sxt_upstream_server *server, const struct sxt_fetch *fetch, int64_t milliseconds);

/* A line about it, under the uuid of the request that began it. */
void sxt_upstream_log(struct sxt_log *log, const char *uuid, const struct sxt_upstream_server *server,
                      const struct sxt_fetch *fetch, int64_t milliseconds);

struct sxt_upstream_gauges {
    size_t fetching, waiting;
    uint64_t known;
};
void sxt_upstream_print_servers(const struct sxt_upstream_server *servers, size_t count, struct sxt_buffer *out);
void sxt_upstream_print_gauges(const struct sxt_upstream_gauges *gauges, struct sxt_buffer *out);

#endif
