/* remote.c: requests to a symbol service and its answers, as JSON. */
#include "profile/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/http.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/string.h"

/* Addresses in one request; an answer has some hundred bytes for each. */
#define BATCH        2000
#define QUESTION_MAX ((size_t)1 << 20)
#define ANSWER_MAX   ((size_t)64 << 20)
#define VALUES_MAX   ((size_t)1 << 20)
#define DEPTH_MAX    8
#define KEY_MAX      1024
#define ID_MAX       128

struct sxt_remote {
    struct sxt_http *http;
    char *url;           /* of the request */
    char *authorization; /* the header; NULL without a key */
    struct sxt_buffer question, answer;
    sxt_frame *frames;
    size_t frame_capacity;
};

static int make_authorization(struct sxt_remote *remote, const char *key, sxt_error *error)
{
    static const char name[] = "Authorization: APIKey ";
    size_t size = strlen(key);
    if (size == 0 || size > KEY_MAX || strpbrk(key, "\r\n") != NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not an API key (id:key, or its base64 form)");
    remote->authorization = malloc(sizeof name + SXT_BASE64_ROOM(size));
    if (remote->authorization == NULL)
        return sxt_fail_memory(error, size);
    memcpy(remote->authorization, name, sizeof name);
    char *value = remote->authorization + sizeof name - 1;
    if (strchr(key, ':') != NULL)
        sxt_base64_encode(value, (const uint8_t *)key, size);
    else
        memcpy(value, key, size + 1);
    return SXT_OK;
}

static int make_url(struct sxt_remote *remote, const char *url, sxt_error *error)
{
    static const char path[] = "/api/symbolize";
    size_t size = strlen(url);
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "not the URL of a symbol service (http://… or https://…): '%s'", url);
    while (size > 0 && url[size - 1] == '/')
        size--;
    remote->url = malloc(size + sizeof path);
    if (remote->url == NULL)
        return sxt_fail_memory(error, size);
    memcpy(remote->url, url, size);
    memcpy(remote->url + size, path, sizeof path);
    return SXT_OK;
}

int sxt_remote_open(const char *url, const char *api_key, struct sxt_remote **out, sxt_error *error)
{
    struct sxt_remote *remote = calloc(1, sizeof *remote);
    *out = remote;
    if (remote == NULL)
        return sxt_fail_memory(error, sizeof *remote);
    sxt_buffer_init(&remote->question, QUESTION_MAX);
    sxt_buffer_init(&remote->answer, ANSWER_MAX);
    int status = make_url(remote, url, error);
    if (status == SXT_OK && api_key != NULL)
        status = make_authorization(remote, api_key, error);
    if (status == SXT_OK)
        status = sxt_http_open(&remote->http, error);
    if (status != SXT_OK)
        sxt_remote_close(out);
    return status;
}

void sxt_remote_close(struct sxt_remote **remote)
{
    struct sxt_remote *all = *remote;
    if (all == NULL)
        return;
    sxt_http_close(&all->http);
    sxt_buffer_free(&all->question);
    sxt_buffer_free(&all->answer);
    free(all->frames);
    free(all->authorization);
    free(all->url);
    free(all);
    *remote = NULL;
}

/* Hexadecimal, or base64 for URLs. */
static bool is_id(sxt_string id)
{
    for (size_t i = 0; i < id.size; i++) {
        char letter = id.data[i];
        bool is_digit = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                        (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_';
        if (!is_digit)
            return false;
    }
    return id.size > 0 && id.size <= ID_MAX;
}

static int write_question(struct sxt_remote *remote, const struct sxt_remote_question *question, size_t first,
                          size_t count, sxt_error *error)
{
    struct sxt_buffer *text = &remote->question;
    sxt_buffer_clear(text);
    struct sxt_json_writer json = sxt_json_writer_make(text, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "file_id", question->id);
    if (question->are_offsets)
        sxt_json_write_string(&json, "kind", sxt_string_of("file_offset"));
    sxt_json_write_begin(&json, "addresses", '[');
    for (size_t i = 0; i < count; i++)
        sxt_json_write_address(&json, NULL, question->addresses[first + i]);
    sxt_json_write_end(&json, ']');
    sxt_json_write_end(&json, '}');
    return sxt_buffer_status(text, error);
}

static sxt_string string_of(const struct sxt_json *value)
{
    return value != NULL && value->type == SXT_JSON_STRING ? value->string : (sxt_string){NULL, 0};
}

/* Appends at most MOST bytes of TEXT after BEFORE. Does nothing if TEXT is absent or empty. */
static void add_part(struct sxt_buffer *to, const char *before, sxt_string text, size_t most)
{
    if (text.size == 0)
        return;
    sxt_buffer_append(to, before, strlen(before));
    sxt_buffer_append(to, text.data, text.size < most ? text.size : most);
}

/* The code of an error is a string; a number is taken too. */
static sxt_string code_of(const struct sxt_json *value, char room[32])
{
    if (value != NULL && value->is_unsigned) {
        int size = snprintf(room, 32, "%llu", (unsigned long long)value->unsigned_value);
        return (sxt_string){room, (size_t)size};
    }
    return string_of(value);
}

/*
 * Fails with what the service says about the refusal, in the format of the profiler's service:
 * {"success":false,"uuid":…,"error":{"Code":…,"Text":…},"status":…}. The uuid names the request in the service's log.
 */
static int fail_refused(const struct sxt_remote *remote, long status, const struct sxt_json *reply, sxt_error *error)
{
    const struct sxt_json *problem = sxt_json_member(reply, "error");
    sxt_string text = string_of(sxt_json_member(problem, "Text"));
    char room[32];
    struct sxt_buffer details;
    sxt_buffer_init(&details, 1024);
    sxt_string code = code_of(sxt_json_member(problem, "Code"), room);
    sxt_string uuid = string_of(sxt_json_member(reply, "uuid"));
    /* The text comes last: it may be cut. */
    add_part(&details, "code ", code, 40);
    add_part(&details, details.size > 0 ? ", uuid " : "uuid ", uuid, 40);
    sxt_buffer_print(&details, "%sstatus %ld", details.size > 0 ? ", " : "", status);
    add_part(&details, ": ", text.data != NULL ? text : string_of(problem), 200);
    sxt_reason reason = status == 401 || status == 403 ? SXT_REASON_NOT_AUTHORIZED : SXT_REASON_NONE;
    int failed = sxt_fail_reason(error, SXT_ERROR_IO, reason, SXT_NO_OFFSET, "%.90s answers with %.*s", remote->url,
                                 (int)details.size, details.size > 0 ? (const char *)details.data : "");
    sxt_buffer_free(&details);
    return failed;
}

/* One chain as frames. */
static int read_chain(struct sxt_remote *remote, const struct sxt_json *chain, uint64_t address, sxt_error *error)
{
    sxt_frame *frames = sxt_array_grow(remote->frames, &remote->frame_capacity, chain->count + 1, sizeof *frames);
    if (frames == NULL)
        return sxt_fail_memory(error, chain->count * sizeof *frames);
    remote->frames = frames;
    size_t at = 0;
    for (const struct sxt_json *frame = chain->child; frame != NULL; frame = frame->next, at++) {
        const struct sxt_json *line = sxt_json_member(frame, "line");
        bool has_line = line != NULL && line->is_unsigned && line->unsigned_value <= UINT32_MAX;
        frames[at] = (sxt_frame){
            .function = string_of(sxt_json_member(frame, "function")),
            .file = string_of(sxt_json_member(frame, "file")),
            .line = has_line ? (uint32_t)line->unsigned_value : 0,
            .depth = (uint32_t)(chain->count - 1 - at),
            .start = address,
        };
        if (frames[at].function.data == NULL)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s answers with a frame without a function",
                            remote->url);
    }
    return SXT_OK;
}

static int read_answer(struct sxt_remote *remote, const struct sxt_json *reply, const uint64_t *addresses, size_t first,
                       size_t count, sxt_remote_answer *answer, void *data, sxt_error *error)
{
    const struct sxt_json *all = sxt_json_member(reply, "frames");
    if (all == NULL || all->type != SXT_JSON_ARRAY || all->count != count)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s does not answer with a chain for each address",
                        remote->url);
    int status = SXT_OK;
    const struct sxt_json *chain = all->child;
    for (size_t i = 0; i < count && status == SXT_OK; i++, chain = chain->next) {
        if (chain->type != SXT_JSON_ARRAY)
            status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s answers with something that is not a chain",
                              remote->url);
        else
            status = read_chain(remote, chain, addresses[i], error);
        if (status == SXT_OK)
            status = answer(data, first + i, remote->frames, chain->count);
    }
    return status;
}

/* Sends the request, and reads the answer into *REPLY (NULL if it is not JSON) and *ANSWER_STATUS. */
static int send_request(struct sxt_remote *remote, struct sxt_arena *arena, struct sxt_json **reply,
                        long *answer_status, sxt_error *error)
{
    const char *headers[] = {"Content-Type: application/json", remote->authorization};
    const struct sxt_http_request request = {
        .url = remote->url,
        .headers = headers,
        .header_count = remote->authorization != NULL ? 2 : 1,
        .body = remote->question.data,
        .size = remote->question.size,
    };
    *reply = NULL;
    sxt_error problem;
    int status = sxt_http_post(remote->http, &request, &remote->answer, answer_status, &problem);
    if (status != SXT_OK)
        return sxt_fail(error, (sxt_status)status, SXT_NO_OFFSET, "%s: %s", remote->url, problem.text);
    const struct sxt_json_limits limits = {.depth = DEPTH_MAX, .values = VALUES_MAX};
    status = sxt_json_parse((const char *)remote->answer.data, remote->answer.size, limits, arena, reply, &problem);
    if (status != SXT_OK && *answer_status == 200)
        return sxt_fail(error, (sxt_status)status, SXT_NO_OFFSET, "%s: invalid answer: %s", remote->url, problem.text);
    return SXT_OK;
}

/* Whether the service says that it did not answer, whatever the status. */
static bool is_refused(long status, const struct sxt_json *reply)
{
    const struct sxt_json *success = sxt_json_member(reply, "success");
    return status != 200 || (success != NULL && success->type == SXT_JSON_BOOL && !success->boolean);
}

int sxt_remote_ask(struct sxt_remote *remote, const struct sxt_remote_question *question, sxt_remote_answer *answer,
                   void *data, bool *is_known, sxt_error *error)
{
    int status = SXT_OK;
    *is_known = is_id(question->id);
    for (size_t done = 0; done < question->count && *is_known && status == SXT_OK;) {
        size_t batch = question->count - done < BATCH ? question->count - done : BATCH;
        struct sxt_arena arena;
        struct sxt_json *reply;
        long answer_status = 0;
        sxt_arena_init(&arena, 0, sxt_arena_separate_default);
        status = write_question(remote, question, done, batch, error);
        if (status == SXT_OK)
            status = send_request(remote, &arena, &reply, &answer_status, error);
        if (status == SXT_OK && answer_status == 404 && done == 0)
            *is_known = false;
        else if (status == SXT_OK && is_refused(answer_status, reply))
            status = fail_refused(remote, answer_status, reply, error);
        else if (status == SXT_OK)
            status = read_answer(remote, reply, question->addresses + done, done, batch, answer, data, error);
        sxt_arena_free(&arena);
        done += batch;
    }
    return status;
}
