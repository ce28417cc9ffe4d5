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

struct sxt_service; /* the catalog, the keys, figures, options: server.h */
struct sxt_route;

enum sxt_scope { SXT_SCOPE_NONE = 0, SXT_SCOPE_UPLOAD = 1, SXT_SCOPE_READ = 2, SXT_SCOPE_ADMIN = 4 };

struct sxt_request {
    struct sxt_service *service;
    const struct sxt_route *route;
    const char *method, *path;   /* path: decoded, without the query */
    const char *words[8];        /* what the colons of the pattern of the route matched, decoded */
    char uuid[37];               /* of this request: in the log, in replies of failures */
    const char *tenant, *key_id; /* of the key; "" for none */
    unsigned scopes;
    bool may_wait;          /* on a worker thread */
    struct sxt_buffer body; /* of routes with SXT_BODY_MEMORY: whole, expanded */
    void *state;            /* the handler's */
};

/* The header or query parameter NAME; NULL if it is not there. A header that is there twice is refused before. */
const char *sxt_request_header(const struct sxt_request *request, const char *name);
const char *sxt_request_query(const struct sxt_request *request, const char *name);

/*
 * What a handler returns: SXT_DONE after a reply; SXT_WAIT if it must be called again with may_wait (before any reply,
 * and with nothing changed but its state).
 */
enum sxt_handled { SXT_DONE, SXT_WAIT };
typedef enum sxt_handled sxt_handler(struct sxt_request *request);

/* How the body of a request is taken. */
enum sxt_body {
    SXT_BODY_NONE,
    SXT_BODY_MEMORY, /* whole, at most SXT_BODY_MEMORY_MAX bytes, expanded by Content-Encoding */
    SXT_BODY_STREAM, /* in pieces, expanded by Content-Encoding, on a worker thread: see sxt_route.piece */
};

struct sxt_route {
    const char *method;  /* "GET" also answers HEAD */
    const char *pattern; /* "/a/:/b": a colon matches a word; at the end, "::" matches all that follows */
    unsigned scope;      /* that a key needs; SXT_SCOPE_NONE: no key at all */
    enum sxt_body body;
    bool needs_length;   /* 411 without Content-Length */
    bool is_public_read; /* open to everybody with --public-read */
    bool has_cors;
    sxt_handler *begin; /* of a stream: when the headers are there; may refuse. NULL: none */
    int (*piece)(struct sxt_request *request, const void *data, size_t size, sxt_error *error); /* of a stream */
    sxt_handler *handle;                         /* when the body is complete */
    void (*finish)(struct sxt_request *request); /* frees state, always called; NULL: nothing to free */
    const char *name;                            /* in metrics and logs */
};

extern const struct sxt_route sxt_routes[]; /* ends with method == NULL */

/* --- replies --- */

/* TYPE is a content type. BODY is taken over, and freed even on failure. */
void sxt_reply_buffer(struct sxt_request *request, unsigned status, const char *type, struct sxt_buffer *body);
void sxt_reply_text(struct sxt_request *request, unsigned status, const char *type, const char *text);

/* An object, or the part of it that the request's Range asks for; ETag, If-None-Match and HEAD are seen to. */
void sxt_reply_object(struct sxt_request *request, const char *type, const char *hash,
                      struct sxt_store_object **object);

/* Another header of the reply; before the reply. */
void sxt_reply_header(struct sxt_request *request, const char *name, const char *value);

/*
 * A failure: {"success":false,"uuid":…,"error":{"Code":"CODE","Text":…},"status":STATUS}. The codes are in codes.h and
 * docs/service.md.
 */
void sxt_reply_failure(struct sxt_request *request, unsigned status, enum sxt_code code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The failure for an error of the catalog or the store. */
void sxt_reply_error(struct sxt_request *request, const sxt_error *error);

#endif
