/*
 * framing.h: where a request ends, from its headers. Private to this room.
 *
 * libmicrohttpd is lenient: it takes the first of two Content-Lengths, prefers Transfer-Encoding to Content-Length, and
 * accepts blanks in names. Two servers on the way of a request may then disagree on where it ends, so all of this is
 * refused, and the connection is closed.
 */
#ifndef SXT_SERVICE_FRAMING_H
#define SXT_SERVICE_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SXT_HEADERS_MAX 64

struct sxt_header {
    const char *name, *value;
};

struct sxt_framing {
    bool is_chunked, has_length;
    uint64_t length; /* Content-Length; 0 without */
    /* Why the request is refused; status 0: it is not. */
    unsigned status;
    const char *problem, *header; /* a text, and the header that it is about or NULL */
};

/* Checks the headers of a request. COUNT may be more than SXT_HEADERS_MAX: it is refused then. */
struct sxt_framing sxt_framing_of(const struct sxt_header *headers, size_t count);

/* The value of the first header of that name, in any case; NULL if there is none. */
const char *sxt_header_find(const struct sxt_header *headers, size_t count, const char *name);

#endif
