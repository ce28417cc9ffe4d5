/* openapi.c: GET /openapi.json: the description of all paths, docs/openapi.json, which is part of the program. */
#include "service/handlers.h"

extern const char sxt_openapi_document[];
extern const size_t sxt_openapi_document_size;

enum sxt_handled sxt_handle_openapi(struct sxt_request *request)
{
    struct sxt_buffer body;
    sxt_buffer_init(&body, sxt_openapi_document_size);
    sxt_buffer_append(&body, sxt_openapi_document, sxt_openapi_document_size);
    sxt_reply_buffer(request, 200, "application/json", &body);
    return SXT_DONE;
}
