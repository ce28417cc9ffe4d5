/*
 * exchange.h: a request and its reply, as the files of the server see them. Private to this room; handlers see only the
 * request, which is the first member.
 *
 * An exchange belongs to the thread of its connection, or to a worker while is_waiting is true. It is used again for
 * the next request of the connection.
 */
#ifndef SXT_SERVICE_EXCHANGE_H
#define SXT_SERVICE_EXCHANGE_H

#include <stdatomic.h>

#include "base/arena.h"
#include "service/connections.h"
#include "service/expand.h"
#include "service/framing.h"
#include "service/keys.h"
#include "service/routing.h"
#include "service/server.h"
#include "service/workers.h"

#define SXT_REPLY_HEADERS_MAX 12

enum sxt_stage {
    SXT_STAGE_HEADERS, /* they are here, nothing of the body */
    SXT_STAGE_BODY,    /* it arrives */
    SXT_STAGE_DROP,    /* it arrives, and nobody wants it: the reply is made already */
    SXT_STAGE_END,     /* the whole request is here */
};

struct sxt_exchange {
    struct sxt_request request;
    struct MHD_Connection *connection;
    struct sxt_connection *client;
    struct MHD_Response *response; /* NULL: none yet */
    unsigned status;
    enum sxt_code code; /* of a failure; 0: none */
    char text[320];     /* of a failure, for the log */

    enum sxt_stage stage;
    _Atomic bool is_waiting; /* on a worker */
    bool must_close;         /* the framing of the request is in doubt, or the server ends */
    bool is_finished;        /* the handler has freed its state */
    bool is_cut;             /* the connection ended before the reply was sent */
    struct sxt_job job;

    struct sxt_header headers[SXT_HEADERS_MAX];
    size_t header_count;
    struct sxt_header reply_headers[SXT_REPLY_HEADERS_MAX]; /* in the arena */
    size_t reply_header_count;

    const struct sxt_key *key;
    bool is_session; /* a cookie, and nothing else, says so */
    const char *raw_path;
    char path_room[512];
    struct sxt_arena arena;
    bool has_arena;

    bool is_chunked, has_length;
    uint64_t length;               /* Content-Length */
    uint64_t body_limit;           /* of what is sent */
    uint64_t received;             /* bytes of the body */
    uint64_t expanded;             /* the same without Content-Encoding */
    uint64_t body_memory;          /* counted in service->memory: of the body */
    uint64_t reply_memory;         /* and of the reply, while it is made and sent */
    uint64_t body_out;             /* bytes of the reply's body */
    struct sxt_expander *expander; /* NULL: identity */
    struct sxt_buffer pending;     /* of a stream: bytes for the worker */
    uint64_t began_ns;
};

static inline struct sxt_exchange *sxt_exchange_of(const struct sxt_request *request)
{
    return (struct sxt_exchange *)(uintptr_t)request;
}

/* --- exchange.c: called by libmicrohttpd; DATA is the service --- */

enum MHD_Result sxt_exchange_handle(void *data, struct MHD_Connection *connection, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **slot);
void sxt_exchange_completed(void *data, struct MHD_Connection *connection, void **slot,
                            enum MHD_RequestTerminationCode reason);
void sxt_exchange_free(struct sxt_exchange *exchange);

/* Calls the handler of a request again that sxt_upstream_park took, on a worker. From any thread. */
void sxt_exchange_resume(struct sxt_request *request);

/* --- admit.c: may this request be handled? --- */

/* Finds the route, and checks framing, key, and size. If it returns false, the reply is made. */
bool sxt_exchange_admit(struct sxt_exchange *exchange, const char *url, const char *method);

/* Charges SIZE bytes to the key of the request. Makes the reply and returns false if that is too much. */
bool sxt_exchange_charge(struct sxt_exchange *exchange, uint64_t size);

/* --- body.c --- */

/* Takes bytes of the body, on the thread of the connection. True if a worker should look at them now. */
bool sxt_body_take(struct sxt_exchange *exchange, const char *data, size_t size);

/* Gives what was taken to the handler, on a worker. IS_END: it is the end of the body. */
void sxt_body_work(struct sxt_exchange *exchange, bool is_end);

/* --- memory.c --- */

#define SXT_SMALL ((size_t)64 << 10) /* what is not larger is not counted, and is worked on at once */

/* Counts that the body takes SIZE bytes by now. If it returns false, there is too much, and the reply is made. */
bool sxt_memory_of_body(struct sxt_exchange *exchange, uint64_t size);
void sxt_memory_free_body(struct sxt_exchange *exchange);

/* The reply is made, and takes SIZE bytes; until it is sent. */
void sxt_memory_keep_reply(struct sxt_exchange *exchange, uint64_t size);
void sxt_memory_free_reply(struct sxt_exchange *exchange);

/* --- reply.c, cors.c --- */

/* Makes RESPONSE the reply, with the headers that were added; SIZE is that of its body. NULL: memory was short. */
void sxt_reply_finish(struct sxt_exchange *exchange, unsigned status, const char *type, struct MHD_Response *response,
                      uint64_t size);
void sxt_reply_begin_cors(struct sxt_exchange *exchange);

/* The reply to OPTIONS. */
void sxt_reply_options(struct sxt_exchange *exchange, const struct sxt_route_match *match);

#define SXT_TIMEOUT_TEXT "the body did not arrive in time"

/* Appends the JSON of a failure. */
sxt_print_failure sxt_reply_print_failure;

/* Sends the failure that is the reply past libmicrohttpd, in the middle of a body, and closes the connection. */
enum MHD_Result sxt_reply_cut(struct sxt_exchange *exchange);

/* Gives the reply to libmicrohttpd. */
enum MHD_Result sxt_reply_queue(struct sxt_exchange *exchange);

#endif
