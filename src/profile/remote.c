/* remote.c: requests to a symbol service and its answers, as JSON. */
#include <sextant/remote.h>

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/http.h"
#include "base/http_service.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/options.h"
#include "base/string.h"

/* Addresses in one request; an answer has some hundred bytes for each. */
#define BATCH        2000
#define QUESTION_MAX ((size_t)1 << 20)
#define ANSWER_MAX   ((size_t)64 << 20)
#define VALUES_MAX   ((size_t)1 << 20)
#define DEPTH_MAX    8
#define ID_MAX       128
#define NO_SUCH_PATH "3000" /* the Code of a service */

struct sxt_remote {
    struct sxt_http *http;
    char *url;           /* of the request */
    char *authorization; /* the header; NULL without a key */
    char *ca_file;       /* NULL: the authorities of the system */
    struct sxt_buffer question, answer;
    sxt_frame *frames;
    size_t frame_capacity;
};

void sxt_remote_options_init(sxt_remote_options *options)
{
    *options = (sxt_remote_options){.struct_size = sizeof *options};
}

void sxt_remote_question_init(sxt_remote_question *question)
{
    *question = (sxt_remote_question){.struct_size = sizeof *question};
}

int sxt_remote_open(const sxt_remote_options *given, struct sxt_remote **out, sxt_error *error)
{
    *out = NULL;
    sxt_remote_options options;
    sxt_remote_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_remote_options_init", error);
    if (status != SXT_OK)
        return status;
    if (options.url == NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "no URL of a symbol service given");
    struct sxt_remote *remote = calloc(1, sizeof *remote);
    *out = remote;
    if (remote == NULL)
        return sxt_fail_memory(error, sizeof *remote);
    sxt_buffer_init(&remote->question, QUESTION_MAX);
    sxt_buffer_init(&remote->answer, ANSWER_MAX);
    status = sxt_http_service_url(options.url, "/api/symbolize", &remote->url, error);
    if (status == SXT_OK && options.api_key != NULL)
        status = sxt_http_service_authorization(options.api_key, &remote->authorization, error);
    if (status == SXT_OK && options.ca_file != NULL && (remote->ca_file = strdup(options.ca_file)) == NULL)
        status = sxt_fail_memory(error, strlen(options.ca_file));
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
    free(all->ca_file);
    free(all->url);
    free(all);
    *remote = NULL;
}

/* Hexadecimal, or base64 for URLs with or without padding. */
static bool is_id(sxt_string id)
{
    for (size_t i = 0; i < id.size; i++) {
        char letter = id.data[i];
        bool is_digit = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                        (letter >= 'A' && letter <= 'Z') || letter == '-' || letter == '_' || letter == '=';
        if (!is_digit)
            return false;
    }
    return id.size <= ID_MAX;
}

static int write_question(struct sxt_remote *remote, const sxt_remote_question *question, size_t first, size_t count,
                          sxt_error *error)
{
    struct sxt_buffer *text = &remote->question;
    sxt_buffer_clear(text);
    struct sxt_json_writer json = sxt_json_writer_make(text, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    if (question->file_id.size > 0)
        sxt_json_write_string(&json, "file_id", question->file_id);
    if (question->build_id.size > 0)
        sxt_json_write_string(&json, "build_id", question->build_id);
    if (question->are_offsets)
        sxt_json_write_string(&json, "kind", sxt_string_of("file_offset"));
    if (question->are_returns)
        sxt_json_write_bool(&json, "return_addresses", true);
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
        .ca_file = remote->ca_file,
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

/* Whether the service does not know the file; 404 with another code is for a path that does not exist. */
static bool is_unknown_file(long status, const struct sxt_json *reply)
{
    const struct sxt_json *problem = sxt_json_member(reply, "error");
    return status == 404 && !sxt_string_is(string_of(sxt_json_member(problem, "Code")), NO_SUCH_PATH);
}

/* Asks for COUNT addresses, from number FIRST on. *IS_SENT: the answers were given to ANSWER. */
static int ask_batch(struct sxt_remote *remote, const sxt_remote_question *question, size_t first, size_t count,
                     sxt_remote_answer *answer, void *data, bool *is_known, bool *is_sent, sxt_error *error)
{
    struct sxt_arena arena;
    struct sxt_json *reply;
    long answer_status = 0;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    *is_sent = false;
    int status = write_question(remote, question, first, count, error);
    if (status == SXT_OK)
        status = send_request(remote, &arena, &reply, &answer_status, error);
    if (status == SXT_OK && is_refused(answer_status, reply)) {
        *is_known = !is_unknown_file(answer_status, reply);
        status = sxt_http_service_refused(remote->url, answer_status, remote->answer.data, remote->answer.size, error);
    } else if (status == SXT_OK) {
        *is_sent = true;
        status = read_answer(remote, reply, question->addresses + first, first, count, answer, data, error);
    }
    sxt_arena_free(&arena);
    return status;
}

int sxt_remote_ask(sxt_remote *remote, const sxt_remote_question *given, sxt_remote_answer *answer, void *data,
                   bool *is_known, sxt_error *error)
{
    sxt_remote_question question;
    *is_known = true;
    sxt_remote_question_init(&question);
    int status = sxt_options_take(&question, sizeof question, given, "sxt_remote_question_init", error);
    if (status != SXT_OK)
        return status;
    if (question.file_id.size + question.build_id.size == 0 || !is_id(question.file_id) || !is_id(question.build_id)) {
        *is_known = false;
        (void)sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "not an ID that a symbol service knows");
        return SXT_OK;
    }
    size_t batch = BATCH;
    for (size_t done = 0; done < question.count && status == SXT_OK;) {
        size_t count = question.count - done < batch ? question.count - done : batch;
        bool is_sent;
        status = ask_batch(remote, &question, done, count, answer, data, is_known, &is_sent, error);
        /* Long names and deep chains: fewer at once. */
        if (status == SXT_ERROR_LIMIT && !is_sent && count > 1) {
            batch = count / 2;
            status = SXT_OK;
        } else {
            done += count;
        }
        if (!*is_known)
            return done <= count ? SXT_OK : status;
    }
    return status;
}
