/* find.c: the binary that a request asks for. */
#include "service/find.h"

#include "service/server.h"

enum sxt_found sxt_request_find(struct sxt_request *request, const struct sxt_catalog_id *ids, size_t count,
                                struct sxt_catalog_binary **out, sxt_error *error)
{
    bool would_wait = false;
    int status = sxt_catalog_find(request->service->catalog, request->tenant, ids, count, request->may_wait,
                                  &would_wait, out, error);
    if (would_wait)
        return SXT_FOUND_LATER;
    if (status == SXT_ERROR_NOT_FOUND)
        return SXT_FOUND_NOTHING;
    return status == SXT_OK ? SXT_FOUND : SXT_FOUND_ERROR;
}
