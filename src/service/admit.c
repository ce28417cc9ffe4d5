/*
 * admit.c: decides whether a request is handled, from its first line and its headers.
 *
 * libmicrohttpd is lenient: it takes the first of two Content-Lengths, prefers Transfer-Encoding to Content-Length, and
 * accepts blanks in names. Two servers on the way of a request may then disagree on where it ends, so all of this is
 * refused here, and the connection is closed.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "base/string.h"
#include "service/exchange.h"

#define DROPPED_BODY ((uint64_t)64 << 10) /* the largest body of a request that needs none */

/* Headers that may be there only once. */
static const char *const single[] = {
    "Content-Length", "Transfer-Encoding", "Host",      "Authorization", "Content-Type", "Content-Encoding",
    "FileID",         "FilePart",          "FileParts", "BuildID",       "Generation",   "Range",
    "Origin",         "X-Scope-OrgID",     "Expect",    "If-Range",
};
enum { SINGLE = sizeof single / sizeof *single };

static bool check_headers(struct sxt_exchange *exchange);
static bool check_framing(struct sxt_exchange *exchange);
static bool find_route(struct sxt_exchange *exchange, const char *url, const char *method);
static bool check_key(struct sxt_exchange *exchange);
static bool check_body(struct sxt_exchange *exchange);

bool sxt_exchange_admit(struct sxt_exchange *exchange, const char *url, const char *method)
{
    exchange->request.method = method;
    exchange->raw_path = url;
    return check_headers(exchange) && check_framing(exchange) && find_route(exchange, url, method) &&
           check_key(exchange) && check_body(exchange);
}

/* --- the framing of the message --- */

static bool refuse_framing(struct sxt_exchange *exchange, unsigned status, const char *text)
{
    exchange->must_close = true;
    sxt_reply_failure(&exchange->request, status, SXT_CODE_HEADERS, "%s", text);
    return false;
}

static bool is_token(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    const char *at = name;
    for (; *at != 0; at++) {
        char lower = (char)(*at | 0x20);
        if (!((lower >= 'a' && lower <= 'z') || (*at >= '0' && *at <= '9') || strchr(others, *at) != NULL))
            return false;
    }
    return at > name;
}

/* The number of NAME in `single`; SINGLE if it is not there. */
static unsigned find_single(const char *name)
{
    unsigned i = 0;
    while (i < SINGLE && ((single[i][0] | 0x20) != (name[0] | 0x20) || strcasecmp(single[i], name) != 0))
        i++;
    return i;
}

static bool check_headers(struct sxt_exchange *exchange)
{
    if (exchange->header_count > SXT_HEADERS_MAX) {
        exchange->header_count = SXT_HEADERS_MAX;
        return refuse_framing(exchange, 431, "more than 64 headers");
    }
    uint32_t seen = 0;
    for (size_t i = 0; i < exchange->header_count; i++) {
        const char *name = exchange->headers[i].name;
        if (!is_token(name))
            return refuse_framing(exchange, 400, "a header has a malformed name");
        unsigned which = find_single(name);
        if (which < SINGLE && seen >> which & 1) {
            exchange->must_close = true;
            sxt_reply_failure(&exchange->request, 400, SXT_CODE_HEADERS, "the header %s is there twice", single[which]);
            return false;
        }
        seen |= which < SINGLE ? 1u << which : 0;
    }
    return true;
}

static bool parse_length(const char *text, uint64_t *length)
{
    uint64_t sum = 0;
    size_t size = strspn(text, "0123456789");
    if (size == 0 || text[size] != 0 || size > 18)
        return false;
    for (size_t i = 0; i < size; i++)
        sum = 10 * sum + (uint64_t)(text[i] - '0');
    *length = sum;
    return true;
}

static bool check_framing(struct sxt_exchange *exchange)
{
    const char *length = sxt_request_header(&exchange->request, "Content-Length");
    const char *encoding = sxt_request_header(&exchange->request, "Transfer-Encoding");
    if (encoding != NULL) {
        exchange->is_chunked = true;
        if (strcasecmp(encoding, "chunked") != 0)
            return refuse_framing(exchange, 400, "a Transfer-Encoding other than chunked");
        if (length != NULL)
            return refuse_framing(exchange, 400, "both Content-Length and Transfer-Encoding");
    }
    if (length != NULL) {
        exchange->has_length = true;
        if (!parse_length(length, &exchange->length))
            return refuse_framing(exchange, 400, "Content-Length is malformed");
    }
    return true;
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
    sxt_reply_header(&exchange->request, "WWW-Authenticate", "APIKey, Bearer, Basic realm=\"sextant\"");
    sxt_reply_failure(&exchange->request, 401, code, "%s", text);
    return false;
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
    const char *authorization = sxt_request_header(request, "Authorization");
    if (authorization != NULL)
        exchange->key = sxt_keys_find(service->keys, authorization);
    if (exchange->key == NULL) {
        if (authorization != NULL && route->scope != SXT_SCOPE_NONE)
            return refuse_key(exchange, SXT_CODE_WRONG_KEY, "the API key is not known");
        return is_open || refuse_key(exchange, SXT_CODE_NO_KEY, "an API key is needed");
    }
    request->tenant = exchange->key->tenant;
    request->key_id = exchange->key->id;
    request->scopes = exchange->key->scopes;
    if ((request->scopes & route->scope) == route->scope || is_open)
        return true;
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
