/*
 * service.h: the symbol service, over a catalog.
 *
 * Threads. libmicrohttpd's threads (one a processor) read requests and send replies; they never wait for a disk or a
 * network. A handler that would have to wait says so, and is called again on one of the worker threads while the
 * connection is suspended.
 *
 * A route is a line of the table in routes.c: method, path pattern, scope that a key must have, how the body is taken,
 * handler. The table is also what the OpenAPI document is checked against.
 */
#ifndef SXT_SERVICE_SERVICE_H
#define SXT_SERVICE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "catalog/catalog.h"

struct sxt_service_options {
    const char *store;
    const char *listen; /* "127.0.0.1:8240", "[::1]:8240", ":0"; port 0: any, printed */
    const char *api_key_file;
    bool public_read;
    bool trust_proxy; /* believe X-Forwarded-Proto */
    const char *const *cors_origins;
    size_t cors_origin_count;
    const char *tls_cert, *tls_key;
    const char *forward;          /* OTLP profiles are sent there */
    const char *const *upstreams; /* URLs of debuginfod servers */
    size_t upstream_count;
    bool upstream_allow_private;
    uint64_t upstream_limit;                       /* the largest file; 0: body_limit */
    uint32_t upstream_seconds;                     /* for fetching a file; 0: 300 */
    uint32_t upstream_wait_seconds;                /* that a request waits for files; 0: 20 */
    uint32_t upstream_pause_seconds;               /* that a server which fails is not asked; 0: 60 */
    uint64_t upstream_recheck_seconds;             /* that a file which is missing is not asked for again; 0: 3600 */
    uint64_t body_limit, inflate_limit, key_limit; /* bytes of a request; expanded; of a key in a day; 0: defaults */
    uint64_t memory_limit;                         /* of large bodies and replies in memory; 0: the default */
    uint32_t parts_limit, connection_limit, timeout_seconds, threads, workers; /* 0: defaults */
    uint32_t drain_seconds; /* how long what was begun may take after SIGTERM; 0: 30 */
    uint64_t retention_seconds, stale_seconds;
    struct sxt_store_options store_options;
    struct sxt_catalog_options catalog_options;
};

/*
 * Serves until SIGTERM or SIGINT, then finishes what was begun. Prints one line with the address on standard output
 * when it is ready, and a line of JSON on standard error for each request. SIGHUP reads the keys again. It blocks these
 * signals in the calling thread. SXT_ERROR_USAGE for options that contradict each other.
 */
int sxt_service_run(const struct sxt_service_options *options, sxt_error *error);

#endif
