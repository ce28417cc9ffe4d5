/*
 * http.h: requests to a web service. Nothing else uses the network, and this does only if the user gives a URL.
 *
 * libcurl is loaded when the first sxt_http is opened: linked in the usual way it would cost every run of the program
 * more than most of its work takes. An sxt_http is used by one thread at a time; its connections are kept from one
 * request to the next. Threads that share a service share a pool (http_pool.h).
 */
#ifndef SXT_BASE_HTTP_H
#define SXT_BASE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "base/buffer.h"

struct sxt_http;

/* SXT_ERROR_UNSUPPORTED when this machine has no libcurl. */
int sxt_http_open(struct sxt_http **out, sxt_error *error);
void sxt_http_close(struct sxt_http **http);

struct sxt_http_request {
    const char *url;            /* http or https */
    const char *const *headers; /* "Name: value" */
    size_t header_count;
    const void *body;
    size_t size;

    /* What follows is for sxt_http_send and sxt_http_send_many. */
    const char *method; /* "GET", "HEAD", "PUT", "POST", "DELETE"; NULL: "POST" */
    bool body_is_file;  /* the SIZE bytes of the body are at OFFSET of the open FILE */
    int file;
    uint64_t offset;
    const char *ca_file;      /* PEM, instead of the authorities of the system; may be NULL */
    unsigned connect_seconds; /* 0: 10 */
    unsigned silence_seconds; /* without a byte; 0: 60 */
    unsigned total_seconds;   /* for all of it; 0: no limit */
    bool public_only;         /* refuse to connect to loopback, link-local and private addresses */
    const _Atomic bool *stop; /* ends the request when it becomes true; may be NULL */
};

/* Takes the next SIZE bytes of an answer. Returns false to end the request. */
typedef bool sxt_http_sink(void *data, const void *bytes, size_t size);

struct sxt_http_answer {
    /* Given. The bytes of a 2xx answer go to SINK, if there is one. All others go to BODY, if it is not NULL: up to its
     * maximum, beyond which a 2xx answer fails and another is cut off. */
    sxt_http_sink *sink;
    void *sink_data;
    struct sxt_buffer *body;
    struct sxt_buffer *headers; /* the lines of the header; NULL: not wanted */

    /* Result. */
    int result;      /* SXT_OK: the answer is complete, whatever its status is */
    sxt_error error; /* otherwise the reason */
    long status;     /* of the answer; 0: none */
    bool again; /* failed or refused in a way that may be over soon: lost connection, 408, 429, 500, 502, 503, 504 */
    unsigned seconds;       /* to wait before asking again, as the service says; 0: it does not say */
    bool full;              /* BODY reached its maximum */
    uint64_t asked_seconds; /* like SECONDS, but as long as the service says */
};

/* One request, tried once. Returns answer->result. Redirects (3xx) are not followed. */
int sxt_http_send(struct sxt_http *http, const struct sxt_http_request *request, struct sxt_http_answer *answer,
                  sxt_error *error);

/* COUNT requests, each tried once, up to PARALLEL at a time. Returns SXT_OK, or the first result that is not. */
int sxt_http_send_many(struct sxt_http *http, const struct sxt_http_request *requests, struct sxt_http_answer *answers,
                       size_t count, size_t parallel, sxt_error *error);

/* Finds the last header called NAME. Returns false, and VALUE is "", if there is none or it does not fit. */
bool sxt_http_find_header(const struct sxt_buffer *headers, const char *name, char *value, size_t size);

/*
 * Sleeps before attempt number ATTEMPT (1 is the second one): SECONDS (at most 30), or if that is 0 about a tenth of a
 * second, doubled with each attempt. Returns false at once if STOP is or becomes true; it may be NULL.
 */
bool sxt_http_wait(unsigned attempt, unsigned seconds, const _Atomic bool *stop);

/*
 * POSTs REQUEST; the answer is appended to ANSWER, up to its maximum, and its status is *STATUS. A service that is busy
 * (429, 502, 503, 504) is asked again a few times, after the time that it asks for. Fails when there is no answer.
 * Redirects (3xx) are not followed.
 */
int sxt_http_post(struct sxt_http *http, const struct sxt_http_request *request, struct sxt_buffer *answer,
                  long *status, sxt_error *error);

#endif
