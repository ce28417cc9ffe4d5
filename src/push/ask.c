/*
 * ask.c: which parts a server has, by POST /api/v1/have.
 *
 *     {"files":[{"file_id":"…","build_id":"…","symbols":{…},"ranges":{"generation":"…","parts":3}}]}
 *     {"files":[{"upload":true,"reason":"…","ranges":{"upload":true,"parts":[0,2]}}]}
 *
 * Other servers do not have this path. They get everything.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "push/private.h"

#define QUESTION_MAX ((size_t)64 << 10)
#define ARENA_MAX    ((size_t)16 << 20)
#define VALUES_MAX   ((size_t)100000)

static const char *const set_names[SXT_PUSH_KINDS] = {"ranges", "returnpads"};

static void write_question(const struct sxt_push_binary *binary, struct sxt_buffer *out)
{
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_begin(&json, "files", '[');
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "file_id", sxt_string_of(binary->file_id));
    if (binary->build_id[0] != 0)
        sxt_json_write_string(&json, "build_id", sxt_string_of(binary->build_id));
    if (binary->sets[SXT_PUSH_RANGES].count > 0) {
        sxt_json_write_begin(&json, "symbols", '{');
        sxt_json_write_number(&json, "functions", binary->functions);
        sxt_json_write_number(&json, "with_lines", binary->with_lines);
        sxt_json_write_number(&json, "inlines", binary->inlines);
        sxt_json_write_bool(&json, "go", binary->is_go);
        sxt_json_write_end(&json, '}');
    }
    for (int i = 0; i < SXT_PUSH_KINDS; i++) {
        if (binary->sets[i].count == 0)
            continue;
        sxt_json_write_begin(&json, set_names[i], '{');
        sxt_json_write_string(&json, "generation", sxt_string_of(binary->sets[i].generation));
        sxt_json_write_number(&json, "parts", binary->sets[i].count);
        sxt_json_write_end(&json, '}');
    }
    sxt_json_write_end(&json, '}');
    sxt_json_write_end(&json, ']');
    sxt_json_write_end(&json, '}');
}

/* --- the answer --- */

static bool is_false(const struct sxt_json *value)
{
    return value != NULL && value->type == SXT_JSON_BOOL && !value->boolean;
}

/* Marks the parts of one set. */
static void take_set(const struct sxt_json *answer, struct sxt_push_set *set)
{
    const struct sxt_json *list = sxt_json_member(answer, "parts");
    bool is_complete = is_false(sxt_json_member(answer, "upload"));
    for (size_t i = 0; i < set->count; i++)
        set->parts[i].is_there = is_complete;
    if (list == NULL || list->type != SXT_JSON_ARRAY)
        return;
    for (const struct sxt_json *number = list->child; number != NULL; number = number->next)
        if (number->type == SXT_JSON_NUMBER && number->is_unsigned && number->unsigned_value < set->count)
            set->parts[number->unsigned_value].is_there = true;
}

/* False if this is not an answer to the question. */
static bool take_answer(const struct sxt_json *root, struct sxt_push_binary *binary, struct sxt_push_outcome *outcome)
{
    const struct sxt_json *files = sxt_json_member(root, "files");
    const struct sxt_json *file = files != NULL && files->type == SXT_JSON_ARRAY ? files->child : NULL;
    const struct sxt_json *upload = sxt_json_member(file, "upload"), *reason = sxt_json_member(file, "reason");
    if (upload == NULL || upload->type != SXT_JSON_BOOL)
        return false;
    if (reason != NULL && reason->type == SXT_JSON_STRING)
        snprintf(outcome->reason, sizeof outcome->reason, "%.*s",
                 (int)(reason->string.size < sizeof outcome->reason ? reason->string.size : sizeof outcome->reason - 1),
                 reason->string.data);
    outcome->is_skipped = !upload->boolean;
    for (int i = 0; i < SXT_PUSH_KINDS; i++)
        take_set(sxt_json_member(file, set_names[i]), &binary->sets[i]);
    return true;
}

static bool read_answer(const struct sxt_buffer *reply, struct sxt_push_binary *binary,
                        struct sxt_push_outcome *outcome)
{
    struct sxt_arena arena;
    struct sxt_json *root;
    const struct sxt_json_limits limits = {.depth = 16, .values = VALUES_MAX};
    sxt_arena_init(&arena, ARENA_MAX, sxt_arena_separate_default);
    bool is_good = reply->size > 0 &&
                   sxt_json_parse((const char *)reply->data, reply->size, limits, &arena, &root, NULL) == SXT_OK &&
                   take_answer(root, binary, outcome);
    sxt_arena_free(&arena);
    return is_good;
}

/*
 * A server without the path refuses it in one way or another, a gateway before it even with 401 or 500. Only a refusal
 * with a Code is one of a symbol service; and such a service may be older than the path, or than a part of the
 * question.
 */
static bool is_without_path(const struct sxt_push_refusal *refusal)
{
    if (refusal->status < 300)
        return false;
    return *refusal->code == 0 || refusal->status == 400 || refusal->status == 404 || refusal->status == 405 ||
           refusal->status == 501;
}

int sxt_push_ask(struct sxt_push *push, const char *file, struct sxt_push_binary *binary,
                 struct sxt_push_outcome *outcome, bool *is_needed, sxt_error *error)
{
    *is_needed = true;
    if (!push->can_ask || push->options.force)
        return SXT_OK;
    struct sxt_push_request request = {.file = file, .path = "/api/v1/have"};
    struct sxt_buffer question, reply;
    sxt_buffer_init(&question, QUESTION_MAX);
    write_question(binary, &question);
    int status = sxt_buffer_status(&question, error);
    if (status != SXT_OK) {
        sxt_buffer_free(&question);
        return status;
    }
    request.body = question.data;
    request.size = question.size;
    sxt_push_header(&request, "Content-Type: application/json");
    status = sxt_push_request_send(push, &request, &reply, &outcome->refusal, error);
    bool is_answer = status == SXT_OK && read_answer(&reply, binary, outcome);
    if (is_answer)
        push->is_known_peer = true;
    if ((status == SXT_OK && !is_answer) || (status != SXT_OK && is_without_path(&outcome->refusal))) {
        push->can_ask = false;
        outcome->refusal = (struct sxt_push_refusal){0};
        status = SXT_OK;
    }
    *is_needed = !outcome->is_skipped;
    sxt_buffer_free(&question);
    sxt_buffer_free(&reply);
    return status;
}
