/* http.c: requests through libcurl, one or several at a time. Its connections belong to the multi handle. */
#include "base/http.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/http_address.h"
#include "base/http_curl.h"

#define CONNECT_SECONDS 10U
#define SILENCE_SECONDS 60U /* without a byte, the other side is gone */
#define ATTEMPTS        4
#define WAIT_MAX        30 /* seconds, whatever the service says */
#define WAIT_FIRST_MS   100U
#define POLL_MS         200 /* how soon a stop is noticed */
#define PARALLEL_MAX    32
#define HANDLES_KEPT    16

/* A request on its way. */
struct transfer {
    struct sxt_http *http;
    CURL *handle;
    struct curl_slist *headers;
    const struct sxt_http_request *request;
    struct sxt_http_answer *answer;
    size_t sent;  /* of the body */
    bool refused; /* by the sink, or the address */
    char problem[CURL_ERROR_SIZE];
};

struct sxt_http {
    struct sxt_curl curl;
    CURLM *multi;
    CURL *idle[HANDLES_KEPT];
    size_t idle_count;
};

static bool begin(struct sxt_http *http, struct transfer *transfer);
static void end(struct transfer *transfer, CURLcode code);

/* --- an sxt_http --- */

int sxt_http_open(struct sxt_http **out, sxt_error *error)
{
    struct sxt_http *http = calloc(1, sizeof *http);
    *out = http;
    if (http == NULL)
        return sxt_fail_memory(error, sizeof *http);
    int status = SXT_OK;
    if (!sxt_curl_load(&http->curl))
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                          "cannot load libcurl.so.4 (Debian: apt-get install libcurl4)");
    else if ((http->multi = http->curl.multi_init()) == NULL)
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "cannot initialise libcurl");
    if (status != SXT_OK)
        sxt_http_close(out);
    return status;
}

void sxt_http_close(struct sxt_http **http)
{
    if (*http == NULL)
        return;
    for (size_t i = 0; i < (*http)->idle_count; i++)
        (*http)->curl.easy_cleanup((*http)->idle[i]);
    if ((*http)->multi != NULL)
        (*http)->curl.multi_cleanup((*http)->multi);
    if ((*http)->curl.library != NULL)
        dlclose((*http)->curl.library);
    free(*http);
    *http = NULL;
}

static CURL *take_handle(struct sxt_http *http)
{
    return http->idle_count > 0 ? http->idle[--http->idle_count] : http->curl.easy_init();
}

static void give_handle(struct sxt_http *http, CURL *handle)
{
    http->curl.easy_reset(handle);
    if (http->idle_count < HANDLES_KEPT)
        http->idle[http->idle_count++] = handle;
    else
        http->curl.easy_cleanup(handle);
}

/* --- sending --- */

static bool is_stopped(const struct sxt_http_request *request)
{
    return request->stop != NULL && *request->stop;
}

static struct transfer *find_transfer(struct sxt_http *http, CURL *handle)
{
    char *found = NULL;
    http->curl.easy_getinfo(handle, CURLINFO_PRIVATE, &found);
    return (struct transfer *)(void *)found;
}

/* Ends what has finished. Returns how many. */
static size_t collect(struct sxt_http *http)
{
    size_t count = 0;
    int left;
    CURLMsg *message;
    while ((message = http->curl.multi_info_read(http->multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result;
        end(find_transfer(http, message->easy_handle), code);
        count++;
    }
    return count;
}

/* Ends all of the COUNT transfers that are under way. */
static void cancel(struct transfer *transfers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (transfers[i].handle != NULL)
            end(&transfers[i], CURLE_ABORTED_BY_CALLBACK);
}

/* Finds a transfer that is free. */
static struct transfer *free_transfer(struct transfer *transfers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (transfers[i].handle == NULL)
            return &transfers[i];
    return NULL;
}

static void send_all(struct sxt_http *http, const struct sxt_http_request *requests, struct sxt_http_answer *answers,
                     size_t count, struct transfer *transfers, size_t parallel)
{
    size_t next = 0, running = 0;
    while (next < count || running > 0) {
        for (; next < count && running < parallel; next++) {
            struct transfer *transfer = free_transfer(transfers, parallel);
            *transfer = (struct transfer){.http = http, .request = &requests[next], .answer = &answers[next]};
            running += begin(http, transfer);
        }
        int active;
        if (running > 0 && http->curl.multi_perform(http->multi, &active) != CURLM_OK) {
            cancel(transfers, parallel);
            running = 0;
            continue;
        }
        running -= collect(http);
        if (count > 0 && is_stopped(&requests[0])) {
            cancel(transfers, parallel);
            running = 0;
        }
        if (running > 0 && (next == count || running == parallel))
            http->curl.multi_poll(http->multi, NULL, 0, POLL_MS, NULL);
    }
}

int sxt_http_send_many(struct sxt_http *http, const struct sxt_http_request *requests, struct sxt_http_answer *answers,
                       size_t count, size_t parallel, sxt_error *error)
{
    if (parallel > PARALLEL_MAX)
        parallel = PARALLEL_MAX;
    if (parallel > count)
        parallel = count;
    if (parallel == 0)
        parallel = 1;
    struct transfer *transfers = calloc(parallel, sizeof *transfers);
    if (transfers == NULL)
        return sxt_fail_memory(error, parallel * sizeof *transfers);
    send_all(http, requests, answers, count, transfers, parallel);
    free(transfers);
    for (size_t i = 0; i < count; i++)
        if (answers[i].result != SXT_OK) {
            if (error != NULL)
                *error = answers[i].error;
            return answers[i].result;
        }
    return SXT_OK;
}

int sxt_http_send(struct sxt_http *http, const struct sxt_http_request *request, struct sxt_http_answer *answer,
                  sxt_error *error)
{
    return sxt_http_send_many(http, request, answer, 1, 1, error);
}

/* --- one transfer --- */

static size_t send_body(char *to, size_t one, size_t room, void *context)
{
    struct transfer *transfer = context;
    const struct sxt_http_request *request = transfer->request;
    (void)one;
    size_t size = request->size - transfer->sent < room ? request->size - transfer->sent : room;
    if (!request->body_is_file) {
        if (size > 0)
            memcpy(to, (const char *)request->body + transfer->sent, size);
    } else if (size > 0) {
        ssize_t count = pread(request->file, to, size, (off_t)(request->offset + transfer->sent));
        if (count <= 0)
            return CURL_READFUNC_ABORT;
        size = (size_t)count;
    }
    transfer->sent += size;
    return size;
}

static int seek_body(void *context, curl_off_t offset, int origin)
{
    struct transfer *transfer = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > transfer->request->size)
        return CURL_SEEKFUNC_FAIL;
    transfer->sent = (size_t)offset;
    return CURL_SEEKFUNC_OK;
}

static void find_status(struct transfer *transfer)
{
    transfer->http->curl.easy_getinfo(transfer->handle, CURLINFO_RESPONSE_CODE, &transfer->answer->status);
}

static size_t receive_body(char *data, size_t one, size_t size, void *context)
{
    struct transfer *transfer = context;
    struct sxt_http_answer *answer = transfer->answer;
    (void)one;
    find_status(transfer);
    bool good = answer->status >= 200 && answer->status < 300;
    if (good && answer->sink != NULL) {
        transfer->refused = !answer->sink(answer->sink_data, data, size);
        return transfer->refused ? 0 : size;
    }
    if (answer->body == NULL)
        return size;
    size_t room = answer->body->maximum - answer->body->size;
    answer->full = answer->full || size > room;
    sxt_buffer_append(answer->body, data, size < room ? size : room);
    return answer->body->failed || (good && answer->full) ? 0 : size;
}

static size_t receive_header(char *data, size_t one, size_t size, void *context)
{
    struct transfer *transfer = context;
    struct sxt_buffer *headers = transfer->answer->headers;
    (void)one;
    /* Each answer begins with its status line: "100 Continue" is not the one that counts. */
    if (headers != NULL && size > 5 && memcmp(data, "HTTP/", 5) == 0)
        sxt_buffer_clear(headers);
    if (headers != NULL)
        sxt_buffer_append(headers, data, size);
    return size;
}

/* Sees the address after the name was resolved, so a name cannot lead elsewhere than where it was checked. */
static curl_socket_t open_public_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *transfer = context;
    (void)purpose;
    if (sxt_http_is_private(&address->addr)) {
        transfer->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* NULL when memory is short. */
static struct curl_slist *list_headers(const struct sxt_curl *curl, const struct sxt_http_request *request)
{
    /* Without this, curl waits for permission before it sends a large body. */
    struct curl_slist *list = curl->slist_append(NULL, "Expect:");
    for (size_t i = 0; i < request->header_count && list != NULL; i++) {
        struct curl_slist *longer = curl->slist_append(list, request->headers[i]);
        if (longer == NULL)
            curl->slist_free_all(list);
        list = longer;
    }
    return list;
}

static void set_method(struct sxt_http *http, struct transfer *transfer)
{
    __typeof__(http->curl.easy_setopt) set = http->curl.easy_setopt;
    CURL *handle = transfer->handle;
    const char *method = transfer->request->method != NULL ? transfer->request->method : "POST";
    if (strcmp(method, "HEAD") == 0)
        set(handle, CURLOPT_NOBODY, 1L);
    else if (strcmp(method, "PUT") == 0)
        set(handle, CURLOPT_UPLOAD, 1L);
    else if (strcmp(method, "POST") == 0)
        set(handle, CURLOPT_POST, 1L);
    else if (strcmp(method, "GET") != 0)
        set(handle, CURLOPT_CUSTOMREQUEST, method);
    if (strcmp(method, "PUT") == 0)
        set(handle, CURLOPT_INFILESIZE_LARGE, (curl_off_t)transfer->request->size);
    if (strcmp(method, "POST") == 0)
        set(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)transfer->request->size);
    set(handle, CURLOPT_READFUNCTION, send_body);
    set(handle, CURLOPT_READDATA, transfer);
    set(handle, CURLOPT_SEEKFUNCTION, seek_body);
    set(handle, CURLOPT_SEEKDATA, transfer);
}

static void set_options(struct sxt_http *http, struct transfer *transfer)
{
    __typeof__(http->curl.easy_setopt) set = http->curl.easy_setopt;
    CURL *handle = transfer->handle;
    const struct sxt_http_request *request = transfer->request;
    unsigned connect = request->connect_seconds != 0 ? request->connect_seconds : CONNECT_SECONDS;
    unsigned silence = request->silence_seconds != 0 ? request->silence_seconds : SILENCE_SECONDS;
    set(handle, CURLOPT_PRIVATE, transfer);
    set(handle, CURLOPT_URL, request->url);
    set(handle, CURLOPT_PATH_AS_IS, 1L);
    set(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    set(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    set(handle, CURLOPT_NOSIGNAL, 1L);
    set(handle, CURLOPT_CONNECTTIMEOUT, (long)connect);
    set(handle, CURLOPT_TIMEOUT, (long)request->total_seconds);
    set(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(handle, CURLOPT_LOW_SPEED_TIME, (long)silence);
    set(handle, CURLOPT_ERRORBUFFER, transfer->problem);
    set(handle, CURLOPT_USERAGENT, "sextant/" SXT_VERSION);
    set(handle, CURLOPT_HTTPHEADER, transfer->headers);
    set(handle, CURLOPT_WRITEFUNCTION, receive_body);
    set(handle, CURLOPT_WRITEDATA, transfer);
    set(handle, CURLOPT_HEADERFUNCTION, receive_header);
    set(handle, CURLOPT_HEADERDATA, transfer);
    if (request->ca_file != NULL)
        set(handle, CURLOPT_CAINFO, request->ca_file);
    if (request->public_only) {
        set(handle, CURLOPT_OPENSOCKETFUNCTION, open_public_socket);
        set(handle, CURLOPT_OPENSOCKETDATA, transfer);
    }
}

/* Starts a request. If it cannot be started, its answer says why, and false is returned. */
static bool begin(struct sxt_http *http, struct transfer *transfer)
{
    struct sxt_http_answer *answer = transfer->answer;
    answer->result = SXT_OK;
    answer->status = 0;
    answer->again = answer->full = false;
    answer->seconds = 0;
    answer->asked_seconds = 0;
    sxt_error_clear(&answer->error);
    transfer->handle = take_handle(http);
    transfer->headers = list_headers(&http->curl, transfer->request);
    if (transfer->handle != NULL && transfer->headers != NULL) {
        set_options(http, transfer);
        set_method(http, transfer);
        if (http->curl.multi_add_handle(http->multi, transfer->handle) == CURLM_OK)
            return true;
    }
    if (transfer->headers != NULL)
        http->curl.slist_free_all(transfer->headers);
    if (transfer->handle != NULL)
        give_handle(http, transfer->handle);
    transfer->handle = NULL;
    answer->result = sxt_fail_memory(&answer->error, sizeof *transfer);
    return false;
}

static bool is_lost(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_FAIL_REWIND:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
        return true;
    default:
        return false;
    }
}

static bool is_over_soon(long status)
{
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

static void describe_failure(struct transfer *transfer, CURLcode code)
{
    struct sxt_http_answer *answer = transfer->answer;
    if (is_stopped(transfer->request))
        answer->result = sxt_fail(&answer->error, SXT_ERROR_IO, SXT_NO_OFFSET, "the request was ended");
    else if (answer->body != NULL && answer->body->failed)
        answer->result = sxt_buffer_status(answer->body, &answer->error);
    else if (answer->full)
        answer->result = sxt_fail(&answer->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                                  "the answer is larger than the limit of %zu bytes", answer->body->maximum);
    else if (transfer->refused && code != CURLE_WRITE_ERROR)
        answer->result =
            sxt_fail(&answer->error, SXT_ERROR_IO, SXT_NO_OFFSET, "refusing to connect to a private address");
    else
        answer->result =
            sxt_fail(&answer->error, SXT_ERROR_IO, SXT_NO_OFFSET, "%s",
                     *transfer->problem != 0 ? transfer->problem : transfer->http->curl.easy_strerror(code));
    answer->again = is_lost(code) && !transfer->refused && !is_stopped(transfer->request);
}

/* Fills in the answer, and frees what the transfer has. */
static void end(struct transfer *transfer, CURLcode code)
{
    struct sxt_http *http = transfer->http;
    struct sxt_http_answer *answer = transfer->answer;
    find_status(transfer);
    curl_off_t seconds = 0;
    http->curl.easy_getinfo(transfer->handle, CURLINFO_RETRY_AFTER, &seconds);
    answer->asked_seconds = seconds > 0 ? (uint64_t)seconds : 0;
    answer->seconds = seconds > 0 ? (unsigned)(seconds < WAIT_MAX ? seconds : WAIT_MAX) : 0;
    if (code == CURLE_OK)
        answer->again = is_over_soon(answer->status);
    else
        describe_failure(transfer, code);
    http->curl.multi_remove_handle(http->multi, transfer->handle);
    http->curl.slist_free_all(transfer->headers);
    give_handle(http, transfer->handle);
    transfer->handle = NULL;
}

bool sxt_http_find_header(const struct sxt_buffer *headers, const char *name, char *value, size_t size)
{
    bool found = false;
    *value = 0;
    size_t name_size = strlen(name);
    const char *line = (const char *)headers->data, *limit = headers->size > 0 ? line + headers->size : line;
    while (line < limit) {
        const char *newline = memchr(line, '\n', (size_t)(limit - line));
        const char *last = newline != NULL ? newline : limit, *next = newline != NULL ? newline + 1 : limit;
        if ((size_t)(last - line) > name_size && line[name_size] == ':' && strncasecmp(line, name, name_size) == 0) {
            const char *first = line + name_size + 1;
            while (first < last && (*first == ' ' || *first == '\t'))
                first++;
            while (last > first && (last[-1] == '\r' || last[-1] == ' ' || last[-1] == '\t'))
                last--;
            found = (size_t)(last - first) < size;
            if (found)
                snprintf(value, size, "%.*s", (int)(last - first), first);
            else
                *value = 0;
        }
        line = next;
    }
    return found;
}

bool sxt_http_wait(unsigned attempt, unsigned seconds, const _Atomic bool *stop)
{
    uint64_t milliseconds = (uint64_t)(seconds < WAIT_MAX ? seconds : WAIT_MAX) * 1000;
    if (seconds == 0) {
        /* Clients that failed together do not come back together. */
        uint32_t random = 0;
        milliseconds = (uint64_t)WAIT_FIRST_MS << (attempt > 8 ? 7 : attempt > 0 ? attempt - 1 : 0);
        if (getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random)
            milliseconds = milliseconds * 3 / 4 + random % (milliseconds / 2);
    }
    while (milliseconds > 0) {
        if (stop != NULL && *stop)
            return false;
        uint64_t step = milliseconds < POLL_MS ? milliseconds : POLL_MS;
        struct timespec time = {.tv_sec = (time_t)(step / 1000), .tv_nsec = (long)(step % 1000) * 1000000};
        while (nanosleep(&time, &time) != 0)
            continue;
        milliseconds -= step;
    }
    return stop == NULL || !*stop;
}

/* --- a POST that is tried again --- */

static bool is_busy(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

int sxt_http_post(struct sxt_http *http, const struct sxt_http_request *request, struct sxt_buffer *answer,
                  long *status, sxt_error *error)
{
    struct sxt_http_request post = *request;
    post.method = "POST";
    for (unsigned attempt = 0;; attempt++) {
        struct sxt_http_answer got = {.body = answer};
        sxt_buffer_clear(answer);
        int result = sxt_http_send(http, &post, &got, error);
        *status = result == SXT_OK ? got.status : 0;
        if (!is_busy(*status) || attempt + 1 == ATTEMPTS)
            return result;
        sxt_http_wait(0, got.seconds > 0 ? got.seconds : 1U << attempt, NULL);
    }
}
