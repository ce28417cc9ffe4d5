/*
 * pages.c: HTML for browsers. The page of the service is a template with a little data; it asks for all else with the
 * API. The form for a key and failures are plain HTML, which also a program without templates has.
 */
#include "service/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sextant/version.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/sha256.h"
#include "base/string.h"
#include "service/exchange.h"
#include "service/handlers.h"

#define HTML        "text/html; charset=utf-8"
#define HTML_LIMIT  ((size_t)4 << 20)
#define POLICY_ROOM 1024
#define NO_PAGES                                                                                                       \
    "this program was built without pages: npm was missing when it was built. The API works all the same: "            \
    "see /openapi.json"

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--text:#1b1f24;--dim:#57606a;--line:#8b949e;--accent:#0b5cad;"
    "--on-accent:#fff;--bad:#b03a00;font:16px/1.5 system-ui,'Segoe UI','DejaVu Sans',sans-serif}"
    "@media(prefers-color-scheme:dark){:root{--back:#14171b;--text:#e6e9ed;--dim:#a2abb6;--line:#6b7480;"
    "--accent:#6cb6ff;--on-accent:#0b1a2b;--bad:#ff9b66}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--text)}"
    "main{max-width:32rem;margin:14vh auto 2rem;padding:0 1.25rem}h1{font-size:1.5rem;margin:0 0 .5rem}"
    "p{margin:.5rem 0}.dim{color:var(--dim)}.bad{color:var(--bad)}label{display:block;margin:1.25rem 0 .25rem}"
    "input{font:inherit;width:100%;padding:.5rem .6rem;color:inherit;background:var(--back);"
    "border:1px solid var(--line);border-radius:5px}"
    "button{font:inherit;margin-top:1rem;padding:.5rem 1.25rem;border:0;border-radius:5px;cursor:pointer;"
    "background:var(--accent);color:var(--on-accent)}a{color:var(--accent)}code{overflow-wrap:anywhere}"
    ":focus-visible{outline:2px solid var(--accent);outline-offset:2px}";

/* A server does not see the fragment of an address: the form takes it along. */
static const char script[] =
    "var next=document.querySelector('input[name=next]');if(next.value.indexOf('#')<0)next.value+=location.hash";

struct sxt_pages {
    bool has_templates;
    char version[40];
    char policies[SXT_PAGE_KINDS][POLICY_ROOM]; /* of the templates, for the header */
    char plain_policy[384];                     /* of plain HTML */
    struct sxt_page home;                       /* the beginning of the page, and its rest */
};

/* --- templates --- */

/* What the template itself says, and what only a header can say. */
static bool read_policy(const struct sxt_page *page, char *out)
{
    static const char mark[] = "http-equiv=\"Content-Security-Policy\" content=\"";
    const char *at = memmem(page->html.data, page->html.size, mark, sizeof mark - 1);
    if (at == NULL)
        return false;
    at += sizeof mark - 1;
    const char *end = memchr(at, '"', page->html.size - (size_t)(at - (const char *)page->html.data));
    if (end == NULL)
        return false;
    int size = snprintf(out, POLICY_ROOM, "%.*s; frame-ancestors 'none'", (int)(end - at), at);
    return size > 0 && size < POLICY_ROOM;
}

static int read_templates(struct sxt_pages *pages, sxt_error *error)
{
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE];
    int status = SXT_OK;
    sxt_sha256_init(&hash);
    for (int kind = 0; kind < SXT_PAGE_KINDS && status == SXT_OK; kind++) {
        struct sxt_page page;
        status = sxt_page_begin(&page, (enum sxt_page_kind)kind, error);
        if (status == SXT_OK && !read_policy(&page, pages->policies[kind]))
            status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "a template of pages has no policy");
        sxt_sha256_add(&hash, page.html.data, page.html.size);
        sxt_page_free(&page);
    }
    sxt_sha256_end(&hash, digest);
    snprintf(pages->version, sizeof pages->version, "%s-%02x%02x%02x%02x%02x%02x", sxt_version(), digest[0], digest[1],
             digest[2], digest[3], digest[4], digest[5]);
    return status == SXT_OK ? sxt_page_begin(&pages->home, SXT_PAGE_SERVICE, error) : status;
}

/* What a policy calls a style or a script. */
static void hash_source(const char *text, char out[SXT_BASE64_ROOM(SXT_SHA256_SIZE)])
{
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE];
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, text, strlen(text));
    sxt_sha256_end(&hash, digest);
    sxt_base64_encode(out, digest, sizeof digest);
}

int sxt_pages_open(struct sxt_pages **out, sxt_error *error)
{
    struct sxt_pages *pages = *out = calloc(1, sizeof *pages);
    char style_hash[SXT_BASE64_ROOM(SXT_SHA256_SIZE)], script_hash[sizeof style_hash];
    if (pages == NULL)
        return sxt_fail_memory(error, sizeof *pages);
    hash_source(style, style_hash);
    hash_source(script, script_hash);
    snprintf(pages->plain_policy, sizeof pages->plain_policy,
             "default-src 'none'; style-src 'sha256-%s'; script-src 'sha256-%s'; img-src data:; base-uri 'none'; "
             "form-action 'self'; frame-ancestors 'none'",
             style_hash, script_hash);
    int status = read_templates(pages, error);
    pages->has_templates = status == SXT_OK;
    if (status == SXT_ERROR_UNSUPPORTED)
        return SXT_OK;
    if (status != SXT_OK)
        sxt_pages_close(out);
    return status;
}

void sxt_pages_close(struct sxt_pages **pages)
{
    if (*pages == NULL)
        return;
    sxt_page_free(&(*pages)->home);
    free(*pages);
    *pages = NULL;
}

const char *sxt_pages_version(const struct sxt_pages *pages)
{
    return pages->has_templates ? pages->version : NULL;
}

/* --- headers --- */

static void add_headers(struct sxt_request *request, const char *policy)
{
    sxt_reply_header(request, "Content-Security-Policy", policy);
    sxt_reply_header(request, "X-Content-Type-Options", "nosniff");
    sxt_reply_header(request, "Referrer-Policy", "no-referrer");
    sxt_reply_header(request, "Cross-Origin-Opener-Policy", "same-origin");
    sxt_reply_header(request, "Vary", "Accept, Authorization, Cookie");
}

void sxt_pages_add_headers(struct sxt_request *request, enum sxt_page_kind kind)
{
    add_headers(request, request->service->pages->policies[kind]);
}

bool sxt_request_wants_html(const struct sxt_request *request)
{
    const char *accept = sxt_request_header(request, "Accept");
    return accept != NULL && strcasestr(accept, "text/html") != NULL;
}

/* Is the host of ORIGIN the one that was asked? The scheme is not compared: a proxy may speak TLS for this server. */
static bool is_same_host(const char *origin, const char *host)
{
    const char *mark = strstr(origin, "://");
    return mark != NULL && host != NULL && strcasecmp(mark + 3, host) == 0;
}

bool sxt_request_is_foreign(const struct sxt_request *request)
{
    const char *site = sxt_request_header(request, "Sec-Fetch-Site"), *origin = sxt_request_header(request, "Origin");
    if (site != NULL)
        return strcmp(site, "same-origin") != 0;
    return origin == NULL || !is_same_host(origin, sxt_request_header(request, "Host"));
}

/* --- plain HTML --- */

static void put_html(struct sxt_buffer *out, const char *text)
{
    for (; *text != 0; text++)
        switch (*text) {
        case '<':
            sxt_buffer_print(out, "&lt;");
            break;
        case '>':
            sxt_buffer_print(out, "&gt;");
            break;
        case '&':
            sxt_buffer_print(out, "&amp;");
            break;
        case '"':
            sxt_buffer_print(out, "&quot;");
            break;
        default:
            sxt_buffer_u8(out, (uint8_t)*text);
        }
}

/* A message of the API begins with a small letter, and has no full stop. */
static void put_sentence(struct sxt_buffer *out, const char *text)
{
    size_t size = strlen(text);
    bool is_small = *text >= 'a' && *text <= 'z';
    if (is_small)
        sxt_buffer_u8(out, (uint8_t)(*text - 'a' + 'A'));
    put_html(out, text + is_small);
    if (size > 0 && text[size - 1] != '.')
        sxt_buffer_u8(out, '.');
}

static void put_escaped(struct sxt_buffer *out, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    for (; *text != 0; text++)
        if (strchr(plain, *text) != NULL)
            sxt_buffer_u8(out, (uint8_t)*text);
        else
            sxt_buffer_print(out, "%%%02X", (unsigned char)*text);
}

/* Where the request wanted to go: its path, and the one parameter that pages have. */
static void put_address(struct sxt_buffer *out, struct sxt_request *request)
{
    const char *before = sxt_request_query(request, "before");
    if (strcmp(request->path, "/login") == 0 || strcmp(request->path, "/logout") == 0) {
        sxt_buffer_print(out, "%s", sxt_login_place(request));
        return;
    }
    put_escaped(out, request->path);
    if (before != NULL) {
        sxt_buffer_print(out, "?before=");
        put_escaped(out, before);
    }
}

/*
 * A browser does not send a cookie of a strict site when somebody follows a link from another site. The form then loads
 * the page again, which is not from another site any more.
 */
static bool may_have_cookie(const struct sxt_request *request)
{
    const char *site = sxt_request_header(request, "Sec-Fetch-Site"),
               *mode = sxt_request_header(request, "Sec-Fetch-Mode");
    return site != NULL && mode != NULL && strcmp(mode, "navigate") == 0 &&
           (strcmp(site, "cross-site") == 0 || strcmp(site, "same-site") == 0) &&
           sxt_request_header(request, "Cookie") == NULL && strcmp(request->method, "GET") == 0;
}

static void put_form(struct sxt_buffer *out, struct sxt_request *request)
{
    struct sxt_buffer next;
    sxt_buffer_init(&next, HTML_LIMIT);
    put_address(&next, request);
    sxt_buffer_u8(&next, 0);
    sxt_buffer_print(out, "<form method=\"post\" action=\"/login\">\n"
                          "<input type=\"hidden\" name=\"next\" value=\"");
    put_html(out, next.failed ? "/" : (const char *)next.data);
    sxt_buffer_print(
        out,
        "\">\n<input type=\"text\" name=\"username\" value=\"sextant\" autocomplete=\"username\" hidden>\n"
        "<label for=\"key\">API key</label>\n"
        "<input id=\"key\" name=\"key\" type=\"password\" required autofocus autocomplete=\"current-password\" "
        "spellcheck=\"false\" aria-describedby=\"about\">\n"
        "<p id=\"about\" class=\"dim\">As <code>id:key</code>, one line of the key file of this server. "
        "It is asked for once a week and not kept in the page.</p>\n"
        "<button type=\"submit\">Log in</button>\n</form>\n<script>%s</script>\n",
        script);
    sxt_buffer_free(&next);
}

void sxt_pages_reply_html(struct sxt_request *request, unsigned status, const char *title, const char *text,
                          bool is_bad, bool has_form)
{
    struct sxt_buffer out;
    sxt_buffer_init(&out, HTML_LIMIT);
    sxt_buffer_print(&out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                           "<link rel=\"icon\" href=\"data:,\">\n");
    if (has_form && may_have_cookie(request)) {
        sxt_buffer_print(&out, "<meta http-equiv=\"refresh\" content=\"0;url=");
        put_address(&out, request);
        sxt_buffer_print(&out, "\">\n");
    }
    sxt_buffer_print(
        &out, "<title>%s \xe2\x80\x94 sextant</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n<h1>%s</h1>\n",
        title, style, title);
    sxt_buffer_print(&out, "<p%s>", is_bad ? " class=\"bad\" role=\"alert\"" : "");
    put_sentence(&out, text);
    sxt_buffer_print(&out, "</p>\n");
    if (has_form)
        put_form(&out, request);
    else
        sxt_buffer_print(&out, "<p><a href=\"/\">Start page</a></p>\n");
    sxt_buffer_print(&out, "</main>\n</body>\n</html>\n");
    add_headers(request, request->service->pages->plain_policy);
    sxt_reply_header(request, "Cache-Control", "no-store");
    sxt_reply_buffer(request, status, HTML, &out);
    sxt_buffer_free(&out);
}

void sxt_pages_reply_failure(struct sxt_request *request, unsigned status, const char *text)
{
    const struct sxt_exchange *exchange = sxt_exchange_of(request);
    bool is_about_key =
        (status == 401 || status == 403) && request->service->keys != NULL && exchange->code != SXT_CODE_OTHER_SITE;
    bool is_first = exchange->code == SXT_CODE_NO_KEY;
    const char *title = is_about_key ? "Log in" : status == 404 ? "Not found" : "This did not work";
    sxt_pages_reply_html(request, status, title, is_first ? "This symbol service asks for an API key." : text,
                         !is_first, is_about_key);
}

/* --- the page of the service --- */

static void write_about(struct sxt_json_writer *json, const struct sxt_request *request)
{
    static const struct {
        const char *name;
        unsigned scope;
    } scopes[] = {{"upload", SXT_SCOPE_UPLOAD}, {"read", SXT_SCOPE_READ}, {"admin", SXT_SCOPE_ADMIN}};
    const struct sxt_service *service = request->service;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_string(json, "kind", sxt_string_of("service"));
    sxt_json_write_string(json, "version", sxt_string_of(sxt_version()));
    sxt_json_write_bool(json, "has_keys", service->keys != NULL);
    sxt_json_write_string(json, "key", sxt_string_of(request->key_id));
    sxt_json_write_string(json, "tenant", sxt_string_of(request->tenant));
    sxt_json_write_bool(json, "has_upstream", service->upstream != NULL);
    sxt_json_write_number(json, "retention_seconds", service->options.retention_seconds);
    sxt_json_write_begin(json, "scopes", '[');
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if ((request->scopes & scopes[i].scope) != 0)
            sxt_json_write_string(json, NULL, sxt_string_of(scopes[i].name));
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
}

enum sxt_handled sxt_pages_reports(struct sxt_request *request)
{
    sxt_reply_header(request, "Location", "/#view=reports");
    sxt_reply_text(request, 303, NULL, "");
    return SXT_DONE;
}

enum sxt_handled sxt_pages_home(struct sxt_request *request)
{
    const struct sxt_pages *pages = request->service->pages;
    struct sxt_page page = {.template = NULL};
    struct sxt_buffer about;
    if (!pages->has_templates) {
        sxt_reply_failure(request, 501, SXT_CODE_NO_PAGES, NO_PAGES);
        return SXT_DONE;
    }
    sxt_buffer_init(&page.html, HTML_LIMIT);
    sxt_buffer_init(&about, HTML_LIMIT);
    struct sxt_json_writer json = sxt_json_writer_make(&about, SXT_JSON_COMPACT);
    write_about(&json, request);
    sxt_buffer_append(&page.html, pages->home.html.data, pages->home.html.size);
    sxt_page_add_json(&page, &about);
    sxt_buffer_append(&page.html, pages->home.rest, pages->home.rest_size);
    sxt_pages_add_headers(request, SXT_PAGE_SERVICE);
    sxt_reply_header(request, "Cache-Control", "no-store");
    sxt_reply_buffer(request, 200, HTML, &page.html);
    sxt_buffer_free(&about);
    sxt_buffer_free(&page.html);
    return SXT_DONE;
}
