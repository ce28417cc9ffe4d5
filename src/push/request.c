/*
 * request.c: a request that is sent again after failures that may be over soon, and what a refusal says.
 *
 *     {"success":false,"uuid":"f1ad…","error":{"Code":"1000","Text":"…"},"status":400}
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/error.h"
#include "base/json.h"
#include "base/string.h"
#include "push/private.h"

#define REPLY_MAX       ((size_t)1 << 20)
#define HEADERS_MAX     ((size_t)64 << 10)
#define WAIT_FIRST_MS   250U
#define WAIT_LONGEST_MS 16000U
#define WAIT_ASKED_MAX  300U /* seconds; a server that asks for more is not waited for */
#define STEP_MS         100U /* how soon a stop is noticed */

void sxt_push_header(struct sxt_push_request *request, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->headers[request->header_count++], SXT_PUSH_HEADER_ROOM, format, arguments);
    va_end(arguments);
}

static bool is_stopped(const struct sxt_push *push)
{
    return push->options.stop != NULL && *push->options.stop;
}

/* --- what an answer says --- */

static void copy(char *to, size_t room, const struct sxt_json *value)
{
    if (value != NULL && (value->type == SXT_JSON_STRING || value->type == SXT_JSON_NUMBER))
        snprintf(to, room, "%.*s", (int)(value->string.size < room ? value->string.size : room - 1),
                 value->string.data);
}

/* Code, uuid and text of the reply; what it does not have stays "". */
static void read_refusal(const struct sxt_buffer *reply, struct sxt_push_refusal *refusal, char *text, size_t room)
{
    struct sxt_arena arena;
    struct sxt_json *root;
    sxt_arena_init(&arena, (size_t)1 << 20, sxt_arena_separate_default);
    const struct sxt_json_limits limits = {.depth = 16, .values = 1000};
    if (reply->size > 0 &&
        sxt_json_parse((const char *)reply->data, reply->size, limits, &arena, &root, NULL) == SXT_OK) {
        const struct sxt_json *problem = sxt_json_member(root, "error");
        copy(refusal->uuid, sizeof refusal->uuid, sxt_json_member(root, "uuid"));
        copy(refusal->code, sizeof refusal->code, sxt_json_member(problem, "Code"));
        copy(text, room, sxt_json_member(problem, "Text"));
    }
    sxt_arena_free(&arena);
}

/* "503, Code 1001, uuid f1ad…: the store does not answer" */
static int describe_refusal(const struct sxt_http_answer *answer, const struct sxt_push_refusal *refusal,
                            const char *text, sxt_error *error)
{
    char details[160] = "", place[120] = "";
    bool is_key = answer->status == 401 || answer->status == 403;
    snprintf(details, sizeof details, "%s%s%s%s", *refusal->code != 0 ? ", Code " : "", refusal->code,
             *refusal->uuid != 0 ? ", uuid " : "", refusal->uuid);
    if (answer->status >= 300 && answer->status < 400) {
        sxt_http_find_header(answer->headers, "Location", place, sizeof place);
        return sxt_fail(
            error, SXT_ERROR_IO, SXT_NO_OFFSET,
            "the server answers %ld%s: a redirect to '%s', which is not followed; give the URL of the server",
            answer->status, details, place);
    }
    if (*text == 0 && *refusal->code == 0 && (answer->status == 404 || answer->status == 405))
        text = "no symbol service is at this URL";
    return sxt_fail_reason(error, SXT_ERROR_IO, is_key ? SXT_REASON_NOT_AUTHORIZED : SXT_REASON_NONE, SXT_NO_OFFSET,
                           "the server answers %ld%s%s%s", answer->status, details, *text != 0 ? ": " : "", text);
}

/* May the same request succeed later? */
static bool may_help(const struct sxt_http_answer *answer)
{
    long status = answer->status;
    if (answer->result != SXT_OK)
        return answer->again;
    return status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501 && status != 505);
}

/* Will all other requests fail as well? No answer, a wrong key, a busy server, another place. */
static bool is_final(const struct sxt_http_answer *answer)
{
    long status = answer->status;
    return answer->result != SXT_OK || status == 401 || status == 403 || status == 404 || status == 405 ||
           status == 429 || status == 501 || status == 503 || (status >= 300 && status < 400);
}

/* --- sending --- */

/* Waits a quarter of a second, twice as long each time, up or down by a quarter; or as long as the server asks. */
static bool wait_before(const struct sxt_push *push, const struct sxt_push_request *request, unsigned attempt,
                        uint64_t asked, const sxt_error *problem)
{
    uint64_t milliseconds = (uint64_t)WAIT_FIRST_MS << (attempt < 7 ? attempt : 7);
    uint32_t random = 0;
    if (milliseconds > WAIT_LONGEST_MS)
        milliseconds = WAIT_LONGEST_MS;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) == sizeof random)
        milliseconds = milliseconds * 3 / 4 + random % (milliseconds / 2);
    /* Clients that were told the same time do not come back together. */
    if (asked > 0)
        milliseconds = asked * 1000 + random % 250;
    if (push->options.waiting != NULL && !is_stopped(push))
        push->options.waiting(push->options.data, request->file, problem, (double)milliseconds / 1000);
    while (milliseconds > 0 && !is_stopped(push)) {
        uint64_t step = milliseconds < STEP_MS ? milliseconds : STEP_MS;
        struct timespec time = {.tv_nsec = (long)step * 1000000};
        while (nanosleep(&time, &time) != 0 && !is_stopped(push))
            continue;
        milliseconds -= step;
    }
    return !is_stopped(push);
}

/* One attempt. */
static int send_once(struct sxt_push *push, const struct sxt_http_request *request, struct sxt_http_answer *answer,
                     struct sxt_push_refusal *refusal, sxt_error *error)
{
    struct sxt_http *http;
    char text[120] = "";
    sxt_buffer_clear(answer->body);
    sxt_buffer_clear(answer->headers);
    *refusal = (struct sxt_push_refusal){0};
    int status = sxt_http_pool_take(push->pool, &http, error);
    if (status != SXT_OK)
        return status;
    status = sxt_http_send(http, request, answer, error);
    sxt_http_pool_give(push->pool, http);
    refusal->status = answer->status;
    if (status != SXT_OK || (answer->status >= 200 && answer->status < 300))
        return status;
    read_refusal(answer->body, refusal, text, sizeof text);
    return describe_refusal(answer, refusal, text, error);
}

static int send_often(struct sxt_push *push, const struct sxt_push_request *request,
                      const struct sxt_http_request *http, struct sxt_http_answer *answer,
                      struct sxt_push_refusal *refusal, sxt_error *error)
{
    for (unsigned attempt = 0;; attempt++) {
        int status = send_once(push, http, answer, refusal, error);
        if (status == SXT_OK)
            return status;
        refusal->is_final = is_final(answer);
        if (is_stopped(push) || !may_help(answer) || attempt >= push->options.retries ||
            answer->asked_seconds > WAIT_ASKED_MAX)
            return status;
        if (!wait_before(push, request, attempt, answer->asked_seconds, error))
            return status;
    }
}

int sxt_push_request_send(struct sxt_push *push, const struct sxt_push_request *request, struct sxt_buffer *reply,
                          struct sxt_push_refusal *refusal, sxt_error *error)
{
    char url[4200];
    const char *headers[SXT_PUSH_HEADERS_MAX + 2];
    size_t count = 0;
    snprintf(url, sizeof url, "%s%s", push->base, request->path);
    for (size_t i = 0; i < request->header_count; i++)
        headers[count++] = request->headers[i];
    headers[count++] = "Accept: application/json";
    if (push->authorization != NULL)
        headers[count++] = push->authorization;
    const struct sxt_http_request http = {.url = url,
                                          .headers = headers,
                                          .header_count = count,
                                          .body = request->body,
                                          .size = request->size,
                                          .method = "POST",
                                          .ca_file = push->options.ca_file,
                                          .silence_seconds = request->silence_seconds,
                                          .stop = push->options.stop};
    struct sxt_buffer lines;
    sxt_buffer_init(reply, REPLY_MAX);
    sxt_buffer_init(&lines, HEADERS_MAX);
    struct sxt_http_answer answer = {.body = reply, .headers = &lines};
    int status = send_often(push, request, &http, &answer, refusal, error);
    sxt_buffer_free(&lines);
    return status;
}
