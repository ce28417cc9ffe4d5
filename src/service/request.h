/*
 * request.h: one request, as handlers see it.
 *
 * A handler reads what it needs, calls one of the sxt_reply functions, and returns. It keeps its state in
 * request->state; the finish function of its route frees it.
 */
#ifndef SXT_SERVICE_REQUEST_H
#define SXT_SERVICE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "base/buffer.h"
#include "service/codes.h"
#include "service/service.h"

struct sxt_service; /* the catalog, the store, the options: server.h */
struct sxt_route;

/* The largest body of a route with SXT_BODY_MEMORY, as it is sent and expanded. */
#define SXT_BODY_MEMORY_MAX ((uint64_t)64 << 20)

enum sxt_scope { SXT_SCOPE_NONE = 0, SXT_SCOPE_UPLOAD = 1, SXT_SCOPE_READ = 2, SXT_SCOPE_ADMIN = 4 };

struct sxt_request {
    struct sxt_service *service;
    const struct sxt_route *route;
    const char *method, *path;   /* path: decoded, without the query */
    const char *words[8];        /* what the colons of the pattern of the route matched, decoded */
    char uuid[37];               /* of this request: in the log, in replies of failures */
    const char *tenant, *key_id; /* of the key; "" for none */
    unsigned scopes;
    bool may_wait;                       /* on a worker thread */
    bool wants_long, is_long;            /* the handler waits for a thread for long work; it has one */
    struct sxt_buffer body;              /* of routes with SXT_BODY_MEMORY: whole, expanded; not NUL-terminated */
    void *state;                         /* the handler's */
    struct sxt_upstream_visit *upstream; /* upstream.c; NULL: nothing was asked */
    const char *missing;                 /* after sxt_request_find: why there is not more; NULL: nothing to say */
};

/*
 * The header or query parameter NAME; NULL if it is not there. Of headers that are there twice, those that this service
 * reads are refused before. A query parameter is decoded; the first one of that name counts. Both live as long as the
 * request.
 */
const char *sxt_request_header(const struct sxt_request *request, const char *name);
const char *sxt_request_query(struct sxt_request *request, const char *name);

/* Memory that lives as long as the request, for small things; NULL when there is none. */
void *sxt_request_alloc(struct sxt_request *request, size_t size);

/*
 * Counts that the handler has SIZE bytes in memory by now, for its reply and to make it; to be called as that grows. If
 * it returns false, all requests together have too much, the reply is made, and the handler gives up.
 */
bool sxt_request_count_memory(struct sxt_request *request, uint64_t size);

/* What handlers count for /metrics. */
enum sxt_metric {
    SXT_METRIC_LOOKUP_FOUND,   /* addresses with a function */
    SXT_METRIC_LOOKUP_NOTHING, /* addresses of a known file without one */
    SXT_METRIC_LOOKUP_UNKNOWN, /* addresses of an unknown file */
    SXT_METRIC_PARTS,          /* parts of uploads that were acknowledged */
    SXT_METRIC_PARTS_REFUSED,
    SXT_METRIC_MERGES, /* sets of parts that became an archive here */
    SXT_METRIC_FILES,  /* ELF files that were acknowledged */
    SXT_METRIC_FILES_REFUSED,
    SXT_METRIC_REPORTS, /* reports that were acknowledged */
    SXT_METRIC_REPORTS_REFUSED,
    SXT_METRIC_FORWARDED, /* OTLP requests that were sent on */
    SXT_METRIC_FORWARD_FAILED,
    SXT_METRIC_LEAF_AND_CALLER, /* locations of OTLP profiles that are both, and were looked up as callers */
    SXT_METRIC_COUNT
};
void sxt_request_count(struct sxt_request *request, enum sxt_metric metric, uint64_t number);

/* A line in the log under the uuid of this request, for what the reply does not say. */
void sxt_request_log(struct sxt_request *request, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * What a handler returns: SXT_DONE after a reply; SXT_WAIT if it must be called again with may_wait (before any reply,
 * and with nothing changed but its state). With may_wait, it may return SXT_WAIT after SXT_FOUND_LATER or
 * SXT_UPSTREAM_WAIT, and is called again when what it asked for is there, or is not going to come. With may_wait and
 * without is_long, it may set wants_long and return SXT_WAIT, and is called again with is_long: for work that takes so
 * long that other requests must not wait for it.
 */
enum sxt_handled { SXT_DONE, SXT_WAIT };
typedef enum sxt_handled sxt_handler(struct sxt_request *request);

/* How the body of a request is taken. */
enum sxt_body {
    SXT_BODY_NONE,   /* a body is read and dropped if it is small, and refused otherwise */
    SXT_BODY_MEMORY, /* whole, at most SXT_BODY_MEMORY_MAX bytes, expanded by Content-Encoding */
    SXT_BODY_STREAM, /* in pieces, expanded by Content-Encoding, on a worker thread: see sxt_route.piece */
};

/* Prints the body of a failure, as JSON. */
typedef void sxt_print_failure(struct sxt_buffer *out, const char *uuid, unsigned status, enum sxt_code code,
                               const char *text);

struct sxt_route {
    const char *method;  /* "GET" also answers HEAD */
    const char *pattern; /* "/a/:/b": a colon matches a word; at the end, "::" matches all that follows */
    unsigned scope;      /* that a key needs; SXT_SCOPE_NONE: no key at all */
    enum sxt_body body;
    bool needs_length;   /* 411 without Content-Length; without this, chunked alone is accepted too */
    bool is_public_read; /* open to everybody with --public-read */
    bool has_cors;
    bool is_page;       /* for browsers: failures are HTML for those that ask for it */
    sxt_handler *begin; /* of a stream, on a worker thread: when the headers are there; may refuse. NULL: none */
    /*
     * Of a stream: the next bytes of the body. After a failure the rest of the body is dropped; the reply is the one
     * that the function made, or else that of sxt_reply_error.
     */
    int (*piece)(struct sxt_request *request, const void *data, size_t size, sxt_error *error);
    sxt_handler *handle;                         /* when the body is complete */
    void (*finish)(struct sxt_request *request); /* frees state; called once, after the reply was made, or without
                                                    one if the client is gone; NULL: nothing to free */
    const char *name;                            /* in metrics and logs */
    sxt_print_failure *print_failure;            /* how failures look there; NULL: see sxt_reply_failure */
};

extern const struct sxt_route sxt_routes[]; /* ends with method == NULL */

/* Has a reply been made? */
bool sxt_request_is_answered(const struct sxt_request *request);

/* --- replies --- */

/*
 * TYPE is a content type, NULL for a reply without a body. BODY is taken over, and freed even on failure; if it has
 * failed, the reply is a failure. The first reply of a request counts.
 */
void sxt_reply_buffer(struct sxt_request *request, unsigned status, const char *type, struct sxt_buffer *body);
void sxt_reply_text(struct sxt_request *request, unsigned status, const char *type, const char *text);

/* An object, or the part of it that the request's Range asks for; ETag, If-None-Match and HEAD are seen to. */
void sxt_reply_object(struct sxt_request *request, const char *type, const char *hash,
                      struct sxt_store_object **object);

/* The same for SIZE bytes from START of an object, which is as if they were an object. */
void sxt_reply_object_part(struct sxt_request *request, const char *type, const char *hash,
                           struct sxt_store_object **object, uint64_t start, uint64_t size);

/* Another header of the reply; before the reply. */
void sxt_reply_header(struct sxt_request *request, const char *name, const char *value);

/*
 * A failure: {"success":false,"uuid":…,"error":{"Code":"CODE","Text":…},"status":STATUS}, or as print_failure of the
 * route prints it. The codes are in codes.h and docs/service.md.
 */
void sxt_reply_failure(struct sxt_request *request, unsigned status, enum sxt_code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The failure for an error of the catalog or the store. */
void sxt_reply_error(struct sxt_request *request, const sxt_error *error);

#endif
