/* cors.c: what browsers ask before a page of another origin may read a reply. */
#include <string.h>
#include <strings.h>

#include "service/exchange.h"

/* The value for Access-Control-Allow-Origin; NULL if the origin of the request may not read the reply. */
static const char *allowed_origin(const struct sxt_exchange *exchange)
{
    const struct sxt_service_options *options = &exchange->request.service->options;
    const char *origin = sxt_request_header(&exchange->request, "Origin");
    for (size_t i = 0; origin != NULL && i < options->cors_origin_count; i++) {
        if (strcmp(options->cors_origins[i], "*") == 0)
            return "*";
        if (strcasecmp(options->cors_origins[i], origin) == 0)
            return origin;
    }
    return NULL;
}

static bool add_origin(struct sxt_exchange *exchange, const struct sxt_route *route)
{
    struct sxt_request *request = &exchange->request;
    if (!route->has_cors || request->service->options.cors_origin_count == 0)
        return false;
    const char *origin = allowed_origin(exchange);
    sxt_reply_header(request, "Vary", "Origin");
    if (origin != NULL)
        sxt_reply_header(request, "Access-Control-Allow-Origin", origin);
    return origin != NULL;
}

void sxt_reply_begin_cors(struct sxt_exchange *exchange)
{
    if (exchange->request.route->has_cors)
        add_origin(exchange, exchange->request.route);
}

void sxt_reply_options(struct sxt_exchange *exchange, const struct sxt_route_match *match)
{
    struct sxt_request *request = &exchange->request;
    struct sxt_buffer nothing;
    sxt_buffer_init(&nothing, 0);
    sxt_reply_header(request, "Allow", match->methods);
    if (add_origin(exchange, match->route)) {
        const char *headers = sxt_request_header(request, "Access-Control-Request-Headers");
        sxt_reply_header(request, "Access-Control-Allow-Methods", match->methods);
        sxt_reply_header(request, "Access-Control-Allow-Headers",
                         headers != NULL ? headers : "Authorization, Content-Type, Content-Encoding");
        sxt_reply_header(request, "Access-Control-Max-Age", "86400");
        if (sxt_request_header(request, "Access-Control-Request-Private-Network") != NULL)
            sxt_reply_header(request, "Access-Control-Allow-Private-Network", "true");
    }
    sxt_reply_buffer(request, 204, NULL, &nothing);
}
