/* admit.c: decides whether a request is handled, from its first line and its headers. */
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/string.h"
#include "service/exchange.h"
#include "service/pages.h"
#include "service/session.h"

#define DROPPED_BODY ((uint64_t)64 << 10) /* the largest body of a request that needs none */

static bool check_framing(struct sxt_exchange *exchange);
static bool find_route(struct sxt_exchange *exchange, const char *url, const char *method);
static bool check_key(struct sxt_exchange *exchange);
static bool check_body(struct sxt_exchange *exchange);

bool sxt_exchange_admit(struct sxt_exchange *exchange, const char *url, const char *method)
{
    exchange->request.method = method;
    exchange->raw_path = url;
    return check_framing(exchange) && find_route(exchange, url, method) && check_key(exchange) && check_body(exchange);
}

static bool check_framing(struct sxt_exchange *exchange)
{
    struct sxt_framing framing = sxt_framing_of(exchange->headers, exchange->header_count);
    exchange->is_chunked = framing.is_chunked;
    exchange->has_length = framing.has_length;
    exchange->length = framing.length;
    if (framing.status == 0)
        return true;
    if (exchange->header_count > SXT_HEADERS_MAX)
        exchange->header_count = SXT_HEADERS_MAX;
    exchange->must_close = true;
    sxt_reply_failure(&exchange->request, framing.status, SXT_CODE_HEADERS, "%s%s%s", framing.problem,
                      framing.header != NULL ? ": " : "", framing.header != NULL ? framing.header : "");
    return false;
}

/* --- the route --- */

static bool find_route(struct sxt_exchange *exchange, const char *url, const char *method)
{
    struct sxt_request *request = &exchange->request;
    struct sxt_route_match match;
    size_t size = strlen(url), room_size = SXT_ROUTE_ROOM(size);
    char *room = exchange->path_room;
    if (room_size > sizeof exchange->path_room && (room = sxt_request_alloc(request, room_size)) == NULL) {
        sxt_reply_failure(request, 500, SXT_CODE_INTERNAL, "out of memory");
        return false;
    }
    enum sxt_route_found found = sxt_route_find(sxt_routes, method, (sxt_string){url, size}, room, &match);
    request->path = match.path;
    memcpy(request->words, match.words, sizeof request->words);
    switch (found) {
    case SXT_ROUTE_FOUND:
        request->route = match.route;
        sxt_reply_begin_cors(exchange);
        return true;
    case SXT_ROUTE_METHOD:
        if (strcmp(method, "OPTIONS") == 0) {
            sxt_reply_options(exchange, &match);
            return false;
        }
        sxt_reply_header(request, "Allow", match.methods);
        sxt_reply_failure(request, 405, SXT_CODE_METHOD, "the path has other methods: %s", match.methods);
        return false;
    case SXT_ROUTE_MALFORMED:
        sxt_reply_failure(request, 400, SXT_CODE_PATH, "the path is malformed");
        return false;
    case SXT_ROUTE_NONE:
    default:
        sxt_reply_failure(request, 404, SXT_CODE_NO_ROUTE, "no such path");
        return false;
    }
}

/* --- the key --- */

static const char *scope_name(unsigned scope)
{
    return scope == SXT_SCOPE_UPLOAD ? "upload" : scope == SXT_SCOPE_READ ? "read" : "admin";
}

static bool refuse_key(struct sxt_exchange *exchange, enum sxt_code code, const char *text)
{
    const struct sxt_request *request = &exchange->request;
    const char *destination = sxt_request_header(request, "Sec-Fetch-Dest");
    /* Browsers open a window of their own for Basic, also for what a page of ours asks. */
    bool has_form = (request->route->is_page && sxt_request_wants_html(request)) ||
                    (destination != NULL && strcmp(destination, "empty") == 0);
    sxt_reply_header(&exchange->request, "WWW-Authenticate",
                     has_form ? "APIKey, Bearer" : "APIKey, Bearer, Basic realm=\"sextant\"");
    sxt_reply_failure(&exchange->request, 401, code, "%s", text);
    return false;
}

/* Does the method change nothing? */
static bool is_safe(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static bool check_key(struct sxt_exchange *exchange)
{
    struct sxt_request *request = &exchange->request;
    const struct sxt_route *route = request->route;
    const struct sxt_service *service = request->service;
    request->scopes = SXT_SCOPE_UPLOAD | SXT_SCOPE_READ | SXT_SCOPE_ADMIN;
    if (service->keys == NULL)
        return true;
    request->scopes = SXT_SCOPE_NONE;
    bool is_open = route->scope == SXT_SCOPE_NONE || (route->is_public_read && service->options.public_read);
    const char *authorization = sxt_request_header(request, "Authorization"),
               *cookies = sxt_request_header(request, "Cookie");
    if (authorization != NULL) {
        exchange->key = sxt_keys_find(service->keys, authorization);
    } else if (cookies != NULL) {
        exchange->key = sxt_session_find(service->sessions, service->keys, cookies, (uint64_t)time(NULL));
        exchange->is_session = exchange->key != NULL;
    }
    if (exchange->key == NULL) {
        if (authorization != NULL && route->scope != SXT_SCOPE_NONE)
            return refuse_key(exchange, SXT_CODE_WRONG_KEY, "the API key is not known");
        return is_open || refuse_key(exchange, SXT_CODE_NO_KEY, "an API key is needed");
    }
    if (exchange->is_session && !is_safe(request->method) && sxt_request_is_foreign(request)) {
        sxt_reply_failure(request, 403, SXT_CODE_OTHER_SITE,
                          "a cookie is not enough for this, because a page of another site may have asked for it");
        return false;
    }
    request->tenant = exchange->key->tenant;
    request->key_id = exchange->key->id;
    request->scopes = exchange->key->scopes;
    if ((request->scopes & route->scope) == route->scope)
        return true;
    if (is_open) { /* as everybody may, who sees no tenant's files */
        request->tenant = "";
        return true;
    }
    sxt_reply_failure(request, 403, SXT_CODE_NO_SCOPE, "the API key does not permit this: it lacks the scope '%s'",
                      scope_name(route->scope));
    return false;
}

bool sxt_exchange_charge(struct sxt_exchange *exchange, uint64_t size)
{
    uint64_t limit = exchange->request.service->options.key_limit;
    if (exchange->key == NULL || limit == 0 || size == 0)
        return true;
    if (sxt_key_take_bytes(exchange->key, size, limit, (uint64_t)time(NULL) / 86400))
        return true;
    sxt_reply_header(&exchange->request, "Retry-After", "3600");
    sxt_reply_failure(&exchange->request, 429, SXT_CODE_KEY_LIMIT, "the API key has sent its %llu bytes of the day",
                      (unsigned long long)limit);
    return false;
}

/* --- the body --- */

static bool refuse_size(struct sxt_exchange *exchange)
{
    sxt_reply_failure(&exchange->request, 413, SXT_CODE_TOO_LARGE, "a body of %llu bytes; the most is %llu",
                      (unsigned long long)exchange->length, (unsigned long long)exchange->body_limit);
    return false;
}

static bool open_expander(struct sxt_exchange *exchange)
{
    struct sxt_request *request = &exchange->request;
    const char *text = sxt_request_header(request, "Content-Encoding");
    enum sxt_encoding encoding;
    sxt_error error;
    if (!sxt_encoding_parse(text, &encoding)) {
        sxt_reply_header(request, "Accept-Encoding", "identity, gzip, zstd");
        sxt_reply_failure(request, 415, SXT_CODE_ENCODING, "Content-Encoding is not identity, gzip or zstd: '%s'",
                          text);
        return false;
    }
    if (encoding == SXT_ENCODING_IDENTITY)
        return true;
    uint64_t limit = request->service->options.inflate_limit;
    if (request->route->body == SXT_BODY_MEMORY && limit > SXT_BODY_MEMORY_MAX)
        limit = SXT_BODY_MEMORY_MAX;
    if (sxt_expander_open(encoding, limit, &exchange->expander, &error) == SXT_OK)
        return true;
    sxt_reply_error(request, &error);
    return false;
}

static bool check_body(struct sxt_exchange *exchange)
{
    struct sxt_request *request = &exchange->request;
    const struct sxt_route *route = request->route;
    uint64_t most = route->body == SXT_BODY_NONE     ? DROPPED_BODY
                    : route->body == SXT_BODY_MEMORY ? SXT_BODY_MEMORY_MAX
                                                     : UINT64_MAX;
    exchange->body_limit = request->service->options.body_limit < most ? request->service->options.body_limit : most;
    if (route->needs_length && !exchange->has_length) {
        sxt_reply_failure(request, 411, SXT_CODE_NO_LENGTH, "Content-Length is missing");
        return false;
    }
    if (exchange->length > exchange->body_limit)
        return refuse_size(exchange);
    if (route->body != SXT_BODY_NONE && !open_expander(exchange))
        return false;
    return exchange->is_chunked || sxt_exchange_charge(exchange, exchange->length);
}
