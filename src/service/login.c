/*
 * login.c: people log in with a key once, and are known by a cookie from then on.
 *
 * The cookie is HttpOnly and SameSite=Strict. Requests that change something are not accepted with the cookie alone if
 * they may come from a page of another site: see sxt_request_is_foreign and admit.c.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "service/exchange.h"
#include "service/handlers.h"
#include "service/pages.h"
#include "service/session.h"

/* A field of a form (application/x-www-form-urlencoded), decoded; NULL if it is not there, or malformed. */
static const char *find_field(struct sxt_request *request, const char *name)
{
    const char *at = (const char *)request->body.data, *end = at + request->body.size;
    size_t name_size = strlen(name), size;
    while (at < end) {
        const char *stop = memchr(at, '&', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        if ((size_t)(stop - at) > name_size && memcmp(at, name, name_size) == 0 && at[name_size] == '=') {
            at += name_size + 1;
            char *spaced = sxt_request_alloc(request, (size_t)(stop - at) + 1);
            char *value = sxt_request_alloc(request, (size_t)(stop - at) + 1);
            if (spaced == NULL || value == NULL)
                return NULL;
            for (size_t i = 0; i < (size_t)(stop - at); i++)
                spaced[i] = at[i] == '+' ? ' ' : at[i];
            bool is_good = sxt_route_decode(spaced, (size_t)(stop - at), value, &size) && strlen(value) == size;
            return is_good ? value : NULL;
        }
        at = stop < end ? stop + 1 : end;
    }
    return NULL;
}

/* A place of this server to go to: never "//host" or "/\host". */
static const char *safe_place(const char *next)
{
    if (next == NULL || next[0] != '/' || next[1] == '/' || next[1] == '\\')
        return "/";
    for (const char *at = next; *at != 0; at++)
        if ((unsigned char)*at <= 0x20 || (unsigned char)*at >= 0x7f || *at == '\\')
            return "/";
    return next;
}

const char *sxt_login_place(struct sxt_request *request)
{
    bool is_sent = strcmp(request->method, "POST") == 0;
    return safe_place(is_sent ? find_field(request, "next") : sxt_request_query(request, "next"));
}

static bool is_secure(const struct sxt_request *request)
{
    const struct sxt_service_options *options = &request->service->options;
    const char *scheme = sxt_request_header(request, "X-Forwarded-Proto");
    return options->tls_cert != NULL ||
           (options->trust_proxy && scheme != NULL && strncasecmp(scheme, "https", 5) == 0);
}

static void set_cookie(struct sxt_request *request, const char *value, uint64_t seconds)
{
    char text[SXT_SESSION_SIZE + 128];
    snprintf(text, sizeof text, SXT_SESSION_COOKIE "=%s; Path=/; Max-Age=%llu; HttpOnly; SameSite=Strict%s", value,
             (unsigned long long)seconds, is_secure(request) ? "; Secure" : "");
    sxt_reply_header(request, "Set-Cookie", text);
}

static void go_to(struct sxt_request *request, const char *place)
{
    sxt_reply_header(request, "Location", place);
    sxt_reply_header(request, "Cache-Control", "no-store");
    sxt_reply_text(request, 303, NULL, "");
}

enum sxt_handled sxt_login_form(struct sxt_request *request)
{
    if (request->service->keys == NULL)
        go_to(request, "/");
    else
        sxt_pages_reply_html(request, 200, "Log in", "This symbol service knows people by their API key.", false, true);
    return SXT_DONE;
}

/* The key as a person types it: id:key, or that as base64. */
static const struct sxt_key *find_typed(const struct sxt_service *service, const char *text)
{
    char authorization[1024];
    size_t size;
    text += strspn(text, " \t\r\n");
    size = strcspn(text, " \t\r\n");
    int written = snprintf(authorization, sizeof authorization, "Bearer %.*s", (int)(size < 1000 ? size : 1000), text);
    return written > 0 && (size_t)written < sizeof authorization ? sxt_keys_find(service->keys, authorization) : NULL;
}

enum sxt_handled sxt_login(struct sxt_request *request)
{
    const struct sxt_service *service = request->service;
    const char *text = find_field(request, "key"), *place = sxt_login_place(request);
    bool names_site =
        sxt_request_header(request, "Origin") != NULL || sxt_request_header(request, "Sec-Fetch-Site") != NULL;
    char value[SXT_SESSION_SIZE];
    if (service->keys == NULL) {
        go_to(request, place);
        return SXT_DONE;
    }
    if (names_site && sxt_request_is_foreign(request)) {
        sxt_reply_failure(request, 403, SXT_CODE_OTHER_SITE, "a page of another site asked for this");
        return SXT_DONE;
    }
    const struct sxt_key *key = text != NULL ? find_typed(service, text) : NULL;
    if (key == NULL) {
        sxt_reply_failure(request, 401, SXT_CODE_WRONG_KEY, "the API key is not known");
        return SXT_DONE;
    }
    sxt_session_print(service->sessions, key, (uint64_t)time(NULL), value);
    set_cookie(request, value, SXT_SESSION_SECONDS);
    go_to(request, place);
    return SXT_DONE;
}

enum sxt_handled sxt_logout(struct sxt_request *request)
{
    set_cookie(request, "", 0);
    go_to(request, "/login");
    return SXT_DONE;
}
