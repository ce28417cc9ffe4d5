/* upstream_fetch.c: asks, follows redirects, checks while the file arrives, and gives it to the catalog. */
#include "service/upstream_fetch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "service/server.h"

#define URL_MAX         8192
#define HEADERS_LIMIT   ((size_t)64 << 10)
#define REDIRECTS       5
#define CONNECT_SECONDS 5
#define SILENCE_SECONDS 60 /* a debuginfod server may have to unpack a package before the first byte */
#define SOURCE_LIMIT    ((uint64_t)64 << 20)

/* A fetch on its way. */
struct fetching {
    struct sxt_fetch *fetch;
    struct sxt_store_writing *writing;
    struct sxt_buffer headers;
    uint64_t limit;
    sxt_error error; /* of the store; code SXT_OK: none */
};

static void conclude(struct sxt_fetch *fetch, enum sxt_fetch_outcome outcome, const char *text)
{
    fetch->outcome = outcome;
    snprintf(fetch->text, sizeof fetch->text, "%s", text);
}

/* --- URLs --- */

bool sxt_fetch_is_server(const char *url)
{
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    for (const char *at = url; *at != 0; at++)
        if (*at <= ' ' || *at == 127 || *at == '"' || *at == '\\' || *at == '?' || *at == '#')
            return false;
    size_t size;
    sxt_fetch_host(url, &size);
    return scheme != 0 && size > 0 && strlen(url) < URL_MAX / 2;
}

const char *sxt_fetch_host(const char *url, size_t *size)
{
    const char *start = strstr(url, "://");
    start = start != NULL ? start + 3 : url;
    size_t length = strcspn(start, "/?#");
    for (size_t i = length; i > 0; i--)
        if (start[i - 1] == '@') {
            start += i;
            length -= i;
            break;
        }
    *size = length;
    return start;
}

bool sxt_fetch_redirect(const char *url, const char *location, char *out, size_t room)
{
    size_t size;
    bool is_https = strncasecmp(url, "https://", 8) == 0;
    int length;
    if (strncasecmp(location, "https://", 8) == 0 || (strncasecmp(location, "http://", 7) == 0 && !is_https))
        length = snprintf(out, room, "%s", location);
    else if (location[0] == '/' && location[1] == '/')
        length = snprintf(out, room, "http%s:%s", is_https ? "s" : "", location);
    else if (location[0] == '/' && (sxt_fetch_host(url, &size), size > 0))
        length = snprintf(out, room, "http%s://%.*s%s", is_https ? "s" : "", (int)size, sxt_fetch_host(url, &size),
                          location);
    else
        return false;
    return length > 0 && (size_t)length < room;
}

/* Is the host of URL that of a server that was named on the command line? */
static bool is_named(const struct sxt_service_options *options, const char *url)
{
    size_t size, other_size;
    const char *host = sxt_fetch_host(url, &size);
    for (size_t i = 0; i < options->upstream_count; i++) {
        const char *other = sxt_fetch_host(options->upstreams[i], &other_size);
        if (size == other_size && strncasecmp(host, other, size) == 0)
            return true;
    }
    return false;
}

/* Everything but letters, digits and a few signs is escaped; slashes stay. */
static bool append_path(char *url, size_t room, const char *path)
{
    size_t size = strlen(url);
    for (; *path != 0; path++) {
        unsigned char letter = (unsigned char)*path;
        bool is_plain = (letter | 0x20) >= 'a' && (letter | 0x20) <= 'z';
        is_plain |= (letter >= '0' && letter <= '9') || strchr("/-._~", letter) != NULL;
        if (size + 4 > room)
            return false;
        size += (size_t)snprintf(url + size, room - size, is_plain ? "%c" : "%%%02X", letter);
    }
    return true;
}

static bool make_url(const struct sxt_fetch *fetch, char url[URL_MAX])
{
    static const char *const words[] = {
        [SXT_UPSTREAM_DEBUGINFO] = "debuginfo",
        [SXT_UPSTREAM_EXECUTABLE] = "executable",
        [SXT_UPSTREAM_SOURCE] = "source",
    };
    int size = snprintf(url, URL_MAX, "%s/buildid/%s/%s", fetch->server, fetch->id->text + 2, words[fetch->kind]);
    if (size < 0 || size >= URL_MAX)
        return false;
    return fetch->kind != SXT_UPSTREAM_SOURCE || append_path(url, URL_MAX, fetch->path);
}

/* --- receiving --- */

/* A length that is declared is enough to refuse a file when its first bytes arrive. */
static bool is_too_large(struct fetching *fetching, uint64_t offset)
{
    char text[32];
    if (fetching->fetch->bytes > fetching->limit)
        return true;
    return offset == 0 && sxt_http_find_header(&fetching->headers, "Content-Length", text, sizeof text) &&
           strtoull(text, NULL, 10) > fetching->limit;
}

static bool begins_as_elf(uint64_t offset, const uint8_t *bytes, size_t size)
{
    static const char magic[] = "\177ELF";
    for (size_t i = 0; i < size && offset + i < 4; i++)
        if (bytes[i] != (uint8_t)magic[offset + i])
            return false;
    return true;
}

static bool take(void *data, const void *bytes, size_t size)
{
    struct fetching *fetching = data;
    struct sxt_fetch *fetch = fetching->fetch;
    uint64_t offset = fetch->bytes;
    fetch->bytes += size;
    if (is_too_large(fetching, offset)) {
        conclude(fetch, SXT_FETCH_UNUSABLE, "the file is larger than the limit");
        return false;
    }
    if (fetch->kind != SXT_UPSTREAM_SOURCE && !begins_as_elf(offset, bytes, size)) {
        conclude(fetch, SXT_FETCH_UNUSABLE, "not an ELF file");
        fetch->is_servers_fault = true;
        return false;
    }
    if (sxt_store_write(fetching->writing, bytes, size, &fetching->error) != SXT_OK) {
        conclude(fetch, SXT_FETCH_ENDED, fetching->error.text);
        return false;
    }
    return true;
}

/* A server that closes the connection early without saying how long the answer is would not be noticed otherwise. */
static bool is_cut_off(struct fetching *fetching)
{
    char text[32];
    return sxt_http_find_header(&fetching->headers, "X-DEBUGINFOD-SIZE", text, sizeof text) &&
           strtoull(text, NULL, 10) != fetching->fetch->bytes;
}

/* What a complete answer means. 404 with Retry-After is that of a server that could not ask all of its own servers. */
static void judge(struct fetching *fetching)
{
    struct sxt_fetch *fetch = fetching->fetch;
    char text[64];
    if (fetch->status == 200 && is_cut_off(fetching))
        conclude(fetch, SXT_FETCH_FAILED, "the answer is cut off");
    else if (fetch->status == 200)
        conclude(fetch, SXT_FETCH_FOUND, "");
    else if (fetch->status == 404 && sxt_http_find_header(&fetching->headers, "Retry-After", text, sizeof text))
        conclude(fetch, SXT_FETCH_UNDECIDED, "the server does not know yet");
    else if (fetch->status == 404 || fetch->status == 410)
        conclude(fetch, SXT_FETCH_MISSING, "");
    else {
        snprintf(text, sizeof text, "status %ld", fetch->status);
        conclude(fetch, SXT_FETCH_FAILED, text);
    }
}

/* One request. */
static void ask(struct fetching *fetching, struct sxt_http *http, const char *url, unsigned seconds)
{
    struct sxt_fetch *fetch = fetching->fetch;
    const struct sxt_service_options *options = &fetch->service->options;
    const struct sxt_http_request request = {
        .url = url,
        .method = "GET",
        .headers = fetch->headers,
        .header_count = fetch->header_count,
        .connect_seconds = CONNECT_SECONDS,
        .silence_seconds = SILENCE_SECONDS < seconds ? SILENCE_SECONDS : seconds,
        .total_seconds = seconds,
        .public_only = !options->upstream_allow_private || !is_named(options, url),
        .stop = fetch->stop,
    };
    struct sxt_http_answer answer = {.sink = take, .sink_data = fetching, .headers = &fetching->headers};
    sxt_error error;
    fetch->outcome = SXT_FETCH_OUTCOMES;
    int status = sxt_http_send(http, &request, &answer, &error);
    fetch->status = answer.status;
    if (*fetch->stop)
        conclude(fetch, SXT_FETCH_ENDED, "the server ends");
    else if (status == SXT_OK)
        judge(fetching);
    else if (fetch->outcome == SXT_FETCH_OUTCOMES)
        conclude(fetch, SXT_FETCH_FAILED, error.text);
}

static bool is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static int64_t now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void ask_and_follow(struct fetching *fetching, struct sxt_http *http)
{
    struct sxt_fetch *fetch = fetching->fetch;
    const int64_t until = now_seconds() + fetch->service->options.upstream_seconds;
    char url[URL_MAX], next[URL_MAX], location[URL_MAX];
    if (!make_url(fetch, url)) {
        conclude(fetch, SXT_FETCH_UNUSABLE, "the path is too long");
        return;
    }
    for (unsigned i = 0; i <= REDIRECTS; i++) {
        int64_t left = until - now_seconds();
        sxt_buffer_clear(&fetching->headers);
        ask(fetching, http, url, left > 1 ? (unsigned)left : 1);
        if (fetch->outcome != SXT_FETCH_FAILED || !is_redirect(fetch->status))
            return;
        if (!sxt_http_find_header(&fetching->headers, "Location", location, sizeof location) ||
            !sxt_fetch_redirect(url, location, next, sizeof next)) {
            conclude(fetch, SXT_FETCH_FAILED, "a redirect that is not followed");
            return;
        }
        memcpy(url, next, sizeof url);
    }
    conclude(fetch, SXT_FETCH_FAILED, "too many redirects");
}

/* --- storing --- */

/* What is wrong with a file is not a failure of this server; everything else is. */
static void refuse(struct sxt_fetch *fetch, const sxt_error *error)
{
    bool is_files = error->code == SXT_ERROR_USAGE || error->code == SXT_ERROR_FORMAT ||
                    error->code == SXT_ERROR_UNSUPPORTED ||
                    (error->code == SXT_ERROR_LIMIT && error->reason == SXT_REASON_INFLATE_LIMIT);
    fetch->is_servers_fault = error->code == SXT_ERROR_USAGE || error->code == SXT_ERROR_FORMAT;
    conclude(fetch, is_files ? SXT_FETCH_UNUSABLE : SXT_FETCH_ENDED, error->text);
}

static void keep(struct fetching *fetching)
{
    struct sxt_fetch *fetch = fetching->fetch;
    struct sxt_catalog *catalog = fetch->service->catalog;
    struct sxt_catalog_added added;
    sxt_error error;
    int status;
    if (fetch->kind == SXT_UPSTREAM_SOURCE)
        status = sxt_catalog_add_source(catalog, fetch->tenant, fetch->id, fetch->path, &fetching->writing, &error);
    else
        status = sxt_catalog_add_fetched_file(catalog, fetch->tenant, fetch->id, &fetching->writing, &added, &error);
    if (status != SXT_OK)
        refuse(fetch, &error);
    else if (fetch->kind == SXT_UPSTREAM_EXECUTABLE && added.is_debug_file) {
        conclude(fetch, SXT_FETCH_UNUSABLE, "a debug file was sent instead of an executable");
        fetch->is_servers_fault = true;
    }
}

void sxt_fetch_run(struct sxt_fetch *fetch)
{
    struct fetching fetching = {.fetch = fetch, .limit = fetch->service->options.upstream_limit};
    struct sxt_http *http = NULL;
    sxt_error error;
    if (fetch->kind == SXT_UPSTREAM_SOURCE && fetching.limit > SOURCE_LIMIT)
        fetching.limit = SOURCE_LIMIT;
    fetch->status = 0;
    fetch->bytes = 0;
    fetch->is_servers_fault = false;
    sxt_buffer_init(&fetching.headers, HEADERS_LIMIT);
    int status = sxt_store_write_begin(fetch->service->store, &fetching.writing, &error);
    if (status == SXT_OK)
        status = sxt_http_pool_take(fetch->pool, &http, &error);
    if (status != SXT_OK)
        conclude(fetch, SXT_FETCH_ENDED, error.text);
    else
        ask_and_follow(&fetching, http);
    sxt_http_pool_give(fetch->pool, http);
    if (status == SXT_OK && fetch->outcome == SXT_FETCH_FOUND)
        keep(&fetching);
    sxt_store_write_abandon(&fetching.writing);
    sxt_buffer_free(&fetching.headers);
}
