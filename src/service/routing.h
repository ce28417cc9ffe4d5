/*
 * routing.h: from the path of a request to a route. Private to this room.
 *
 * A path is cut at its slashes, and each word is decoded by itself. A malformed escape, a zero byte or a control
 * character anywhere in it makes the request malformed, and so does a slash, "." or ".." in a word that a colon of the
 * pattern matches. What "::" matches may have anything else, decoded as a whole.
 */
#ifndef SXT_SERVICE_ROUTING_H
#define SXT_SERVICE_ROUTING_H

#include <stdbool.h>
#include <stddef.h>

#include <sextant/string.h>

#include "service/request.h"

#define SXT_ROUTE_WORDS 8

/* The space that sxt_route_match needs for a path of SIZE bytes. */
#define SXT_ROUTE_ROOM(size) (3 * (size) + SXT_ROUTE_WORDS + 3)

enum sxt_route_found {
    SXT_ROUTE_FOUND,
    SXT_ROUTE_NONE,      /* no pattern matches */
    SXT_ROUTE_METHOD,    /* one does, with another method: *METHODS has them */
    SXT_ROUTE_MALFORMED, /* the path is malformed */
};

struct sxt_route_match {
    const struct sxt_route *route;      /* if the method is another one: a route with the path */
    const char *path;                   /* decoded, as a whole */
    const char *words[SXT_ROUTE_WORDS]; /* what the colons matched */
    char methods[64];                   /* of all routes with the path: "GET, HEAD, OPTIONS" */
};

/* Finds the route in ROUTES (which ends with method == NULL). ROOM has SXT_ROUTE_ROOM bytes for the path. */
enum sxt_route_found sxt_route_find(const struct sxt_route *routes, const char *method, sxt_string path, char *room,
                                    struct sxt_route_match *match);

/* Decodes "%2F" in SIZE bytes at TEXT into TO, with a NUL after it. False if an escape is malformed. */
bool sxt_route_decode(const char *text, size_t size, char *to, size_t *decoded);

#endif
