/*
 * http.h: requests to a web service. Nothing else uses the network, and this does only if the user gives a URL.
 *
 * libcurl is loaded when the first sxt_http is opened: linked in the usual way it would cost every run of the program
 * more than most of its work takes. One thread at a time; the connection is kept from one request to the next.
 */
#ifndef SXT_BASE_HTTP_H
#define SXT_BASE_HTTP_H

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
};

/*
 * POSTs REQUEST; the answer is appended to ANSWER, up to its maximum, and its status is *STATUS. A service that is busy
 * (429, 502, 503, 504) is asked again a few times, after the time that it asks for. Fails when there is no answer.
 * Redirects (3xx) are not followed.
 */
int sxt_http_post(struct sxt_http *http, const struct sxt_http_request *request, struct sxt_buffer *answer,
                  long *status, sxt_error *error);

#endif
