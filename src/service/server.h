/*
 * server.h: the service as its own files see it. Private to this room.
 *
 * Handlers read `options`, `catalog` and `store`; the rest belongs to the files named in the comments.
 */
#ifndef SXT_SERVICE_SERVER_H
#define SXT_SERVICE_SERVER_H

#include <stdatomic.h>

#include "base/http_pool.h"
#include "base/mhd.h"
#include "service/request.h"
#include "service/service.h"

struct sxt_service {
    struct sxt_service_options options; /* with defaults filled in */
    struct sxt_store *store;
    struct sxt_catalog *catalog;

    struct sxt_keys *keys;               /* keys.c; NULL: no key file, everybody may do everything */
    struct sxt_sessions *sessions;       /* session.c; NULL without keys */
    struct sxt_pages *pages;             /* pages.c */
    struct sxt_log *log;                 /* log.c */
    struct sxt_metrics *metrics;         /* metrics.c */
    struct sxt_workers *workers;         /* workers.c */
    struct sxt_connections *connections; /* connections.c */
    struct sxt_http_pool *forward;       /* for otlp.c; NULL without --forward */
    struct sxt_upstream *upstream;       /* upstream.c; NULL without --upstream */
    struct sxt_mhd mhd;
    struct MHD_Daemon *daemon;

    _Atomic bool is_draining; /* no new connections */
    _Atomic bool is_stopping; /* the time to drain is over: nothing is tried again */
    _Atomic uint32_t active;  /* requests whose reply is not sent yet */
    _Atomic uint64_t memory;  /* bytes of bodies and replies in memory, of all requests: memory.c */
    _Atomic uint64_t uuid_counter;
    uint64_t uuid_start[2]; /* random */
};

#endif
