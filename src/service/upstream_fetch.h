/*
 * upstream_fetch.h: one question to one debuginfod server, and storing what it gives. Private to this room.
 *
 * Redirects are followed a few times. They may lead to public addresses, and with --upstream-allow-private also to the
 * servers that were named on the command line, but to no other private address: a server elsewhere cannot make this one
 * read from machines that only this one can reach.
 */
#ifndef SXT_SERVICE_UPSTREAM_FETCH_H
#define SXT_SERVICE_UPSTREAM_FETCH_H

#include "base/http_pool.h"
#include "service/upstream.h"

enum sxt_fetch_outcome {
    SXT_FETCH_FOUND,     /* and stored */
    SXT_FETCH_MISSING,   /* the server says that it does not have it */
    SXT_FETCH_UNDECIDED, /* the server does not know yet: it asks others */
    SXT_FETCH_UNUSABLE,  /* too large, not an ELF file, another file than the one that was asked for */
    SXT_FETCH_FAILED,    /* no answer, one that is cut off, a status that says nothing */
    SXT_FETCH_ENDED,     /* this server ends, or its store does not work */
    SXT_FETCH_OUTCOMES
};

struct sxt_fetch {
    struct sxt_service *service;
    struct sxt_http_pool *pool;
    const char *server; /* URL without a slash at its end */
    const char *tenant;
    const struct sxt_catalog_id *id; /* a build ID */
    enum sxt_upstream_kind kind;
    const char *path;           /* of a source file */
    const char *const *headers; /* that are sent */
    size_t header_count;
    const _Atomic bool *stop;

    /* Result. */
    enum sxt_fetch_outcome outcome;
    bool is_servers_fault; /* of what is unusable */
    long status;           /* of the last answer; 0: none */
    uint64_t bytes;
    char text[256]; /* why it was not found; "" for nothing more to say */
};

void sxt_fetch_run(struct sxt_fetch *fetch);

/* Is URL one that a server can have: http or https, a host, and no query? */
bool sxt_fetch_is_server(const char *url);

/* Where the host of URL begins, and how long the part up to its path is: without a user name and password. */
const char *sxt_fetch_host(const char *url, size_t *size);

/*
 * The URL that a redirect from URL to LOCATION leads to. False if it does not fit, is not http or https, or would leave
 * https.
 */
bool sxt_fetch_redirect(const char *url, const char *location, char *out, size_t room);

#endif
