/* http.c: requests through libcurl, which is loaded on first use. */
#include "base/http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"

#define CONNECT_SECONDS 10L
#define SILENCE_SECONDS 60L /* without a byte, the other side is gone */
#define ATTEMPTS        4
#define WAIT_MAX        30 /* seconds, whatever the service says */

struct sxt_http {
    void *library;
    CURL *handle;
    char problem[CURL_ERROR_SIZE];
    __typeof__(curl_easy_init) *init;
    __typeof__(curl_easy_cleanup) *cleanup;
    __typeof__(curl_easy_reset) *reset;
    CURLcode (*set)(CURL *handle, CURLoption option, ...);
    CURLcode (*get)(CURL *handle, CURLINFO what, ...);
    __typeof__(curl_easy_perform) *perform;
    __typeof__(curl_easy_strerror) *describe;
    __typeof__(curl_slist_append) *list_append;
    __typeof__(curl_slist_free_all) *list_free;
};

static bool load(struct sxt_http *http)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && http->library == NULL; i++)
        http->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (http->library == NULL)
        return false;
    /* A function pointer cannot be cast from void * in ISO C; POSIX wants it stored this way. */
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"curl_easy_init", &http->init},           {"curl_easy_cleanup", &http->cleanup},
        {"curl_easy_reset", &http->reset},         {"curl_easy_setopt", &http->set},
        {"curl_easy_getinfo", &http->get},         {"curl_easy_perform", &http->perform},
        {"curl_easy_strerror", &http->describe},   {"curl_slist_append", &http->list_append},
        {"curl_slist_free_all", &http->list_free},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(http->library, wanted[i].name);
        if (found == NULL)
            return false;
        memcpy(wanted[i].place, &found, sizeof found);
    }
    return true;
}

int sxt_http_open(struct sxt_http **out, sxt_error *error)
{
    struct sxt_http *http = calloc(1, sizeof *http);
    *out = http;
    if (http == NULL)
        return sxt_fail_memory(error, sizeof *http);
    int status = SXT_OK;
    if (!load(http))
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                          "cannot load libcurl.so.4 (Debian: apt-get install libcurl4)");
    else if ((http->handle = http->init()) == NULL)
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "cannot initialise libcurl");
    if (status != SXT_OK)
        sxt_http_close(out);
    return status;
}

void sxt_http_close(struct sxt_http **http)
{
    if (*http == NULL)
        return;
    if ((*http)->handle != NULL)
        (*http)->cleanup((*http)->handle);
    if ((*http)->library != NULL)
        dlclose((*http)->library);
    free(*http);
    *http = NULL;
}

static size_t receive(char *data, size_t one, size_t size, void *context)
{
    struct sxt_buffer *answer = context;
    (void)one;
    sxt_buffer_append(answer, data, size);
    return answer->failed ? 0 : size;
}

/* NULL when memory is short. */
static struct curl_slist *list_headers(const struct sxt_http *http, const struct sxt_http_request *request)
{
    /* Without this, curl waits for permission before it sends a large body. */
    struct curl_slist *list = http->list_append(NULL, "Expect:");
    for (size_t i = 0; i < request->header_count && list != NULL; i++) {
        struct curl_slist *longer = http->list_append(list, request->headers[i]);
        if (longer == NULL)
            http->list_free(list);
        list = longer;
    }
    return list;
}

static CURLcode ask(struct sxt_http *http, const struct sxt_http_request *request, struct curl_slist *headers,
                    struct sxt_buffer *answer)
{
    CURL *handle = http->handle;
    http->reset(handle);
    *http->problem = 0;
    http->set(handle, CURLOPT_URL, request->url);
    http->set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    http->set(handle, CURLOPT_NOSIGNAL, 1L);
    http->set(handle, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    http->set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    http->set(handle, CURLOPT_LOW_SPEED_TIME, SILENCE_SECONDS);
    http->set(handle, CURLOPT_ERRORBUFFER, http->problem);
    http->set(handle, CURLOPT_USERAGENT, "sextant/" SXT_VERSION);
    http->set(handle, CURLOPT_HTTPHEADER, headers);
    http->set(handle, CURLOPT_POST, 1L);
    http->set(handle, CURLOPT_POSTFIELDS, request->size > 0 ? request->body : "");
    http->set(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
    http->set(handle, CURLOPT_WRITEFUNCTION, receive);
    http->set(handle, CURLOPT_WRITEDATA, answer);
    return http->perform(handle);
}

static bool is_busy(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Waits as long as the service asks for (Retry-After); otherwise longer each time. */
static void wait_for(struct sxt_http *http, unsigned attempt)
{
    curl_off_t seconds = 0;
    http->get(http->handle, CURLINFO_RETRY_AFTER, &seconds);
    struct timespec time = {.tv_sec =
                                seconds > 0 ? (seconds < WAIT_MAX ? (time_t)seconds : WAIT_MAX) : (time_t)1 << attempt};
    while (nanosleep(&time, &time) != 0)
        continue;
}

int sxt_http_post(struct sxt_http *http, const struct sxt_http_request *request, struct sxt_buffer *answer,
                  long *status, sxt_error *error)
{
    struct curl_slist *headers = list_headers(http, request);
    if (headers == NULL)
        return sxt_fail_memory(error, sizeof *headers);
    CURLcode code;
    for (unsigned attempt = 0;; attempt++) {
        *status = 0;
        sxt_buffer_clear(answer);
        code = ask(http, request, headers, answer);
        if (code == CURLE_OK)
            http->get(http->handle, CURLINFO_RESPONSE_CODE, status);
        if (!is_busy(*status) || attempt + 1 == ATTEMPTS)
            break;
        wait_for(http, attempt);
    }
    http->list_free(headers);
    if (answer->failed)
        return sxt_buffer_status(answer, error);
    if (code != CURLE_OK)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "%s",
                        *http->problem != 0 ? http->problem : http->describe(code));
    return SXT_OK;
}
