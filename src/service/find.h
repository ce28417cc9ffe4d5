/* find.h: the binary that a request asks for. Private to this room. */
#ifndef SXT_SERVICE_FIND_H
#define SXT_SERVICE_FIND_H

#include "service/request.h"

enum sxt_found {
    SXT_FOUND,
    SXT_FOUND_NOTHING, /* nothing is known of the binary */
    SXT_FOUND_LATER,   /* the store, or an upstream server, has to be asked: the handler returns SXT_WAIT */
    SXT_FOUND_ERROR,
};

/*
 * Finds a binary by one of its ids for the tenant of REQUEST. *OUT is to be released if it was found. With upstream
 * servers, SXT_FOUND_LATER is possible on a worker too. A handler that asks for several binaries may then go on to ask
 * for the others before it returns SXT_WAIT, so that they are fetched at the same time; it is called again when they
 * are there, and begins anew.
 */
enum sxt_found sxt_request_find(struct sxt_request *request, const struct sxt_catalog_id *ids, size_t count,
                                struct sxt_catalog_binary **out, sxt_error *error);

#endif
