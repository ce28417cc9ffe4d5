/* private.h: what the files of this room share. */
#ifndef SXT_PUSH_PRIVATE_H
#define SXT_PUSH_PRIVATE_H

#include "base/buffer.h"
#include "base/http_pool.h"
#include "push/push.h"

/* How bodies are compressed, in the order in which they are tried. */
enum sxt_push_encoding { SXT_PUSH_ZSTD, SXT_PUSH_GZIP, SXT_PUSH_IDENTITY };

struct sxt_push {
    struct sxt_push_options options;
    char *base;          /* of all URLs, without a slash at the end */
    char *authorization; /* the header; NULL without a key */
    struct sxt_http_pool *pool;
    _Atomic int encoding;       /* an sxt_push_encoding */
    _Atomic bool can_ask;       /* has not refused /api/v1/have */
    _Atomic bool is_known_peer; /* has answered /api/v1/have, so it reads Content-Encoding */
};

#define SXT_PUSH_HEADERS_MAX 12
#define SXT_PUSH_HEADER_ROOM 200

/* A request to the server. */
struct sxt_push_request {
    const char *file; /* for messages */
    const char *path; /* "/api/…" */
    const void *body;
    size_t size;
    unsigned silence_seconds; /* the longest time without a byte; 0: as usual */
    char headers[SXT_PUSH_HEADERS_MAX][SXT_PUSH_HEADER_ROOM];
    size_t header_count;
};

void sxt_push_header(struct sxt_push_request *request, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Sends it, and again if that may help. SXT_OK: there was an answer of 2xx, and REPLY has it. Otherwise *REFUSAL and
 * ERROR say why.
 */
int sxt_push_request_send(struct sxt_push *push, const struct sxt_push_request *request, struct sxt_buffer *reply,
                          struct sxt_push_refusal *refusal, sxt_error *error);

/*
 * Asks which parts are there, and marks them. *IS_NEEDED: something has to be sent; if not, *OUTCOME says why. A server
 * that cannot be asked needs everything.
 */
int sxt_push_ask(struct sxt_push *push, const char *file, struct sxt_push_binary *binary,
                 struct sxt_push_outcome *outcome, bool *is_needed, sxt_error *error);

#endif
