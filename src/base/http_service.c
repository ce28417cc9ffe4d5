/* http_service.c: URLs, keys and refusals of a symbol service. */
#include "base/http_service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"

#define KEY_MAX      1024
#define REPLY_DEPTH  8
#define REPLY_VALUES 1000

int sxt_http_service_url(const char *base, const char *path, char **out, sxt_error *error)
{
    *out = NULL;
    size_t size = strlen(base), path_size = strlen(path);
    if (strncmp(base, "http://", 7) != 0 && strncmp(base, "https://", 8) != 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "not the URL of a symbol service (http://… or https://…): '%s'", base);
    while (size > 0 && base[size - 1] == '/')
        size--;
    *out = malloc(size + path_size + 1);
    if (*out == NULL)
        return sxt_fail_memory(error, size + path_size + 1);
    memcpy(*out, base, size);
    memcpy(*out + size, path, path_size + 1);
    return SXT_OK;
}

int sxt_http_service_authorization(const char *key, char **out, sxt_error *error)
{
    static const char name[] = "Authorization: APIKey ";
    size_t size = strlen(key);
    *out = NULL;
    if (size == 0 || size > KEY_MAX || strpbrk(key, "\r\n") != NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not an API key (id:key, or its base64 form)");
    *out = malloc(sizeof name + SXT_BASE64_ROOM(size));
    if (*out == NULL)
        return sxt_fail_memory(error, size);
    memcpy(*out, name, sizeof name);
    char *value = *out + sizeof name - 1;
    if (strchr(key, ':') != NULL)
        sxt_base64_encode(value, (const uint8_t *)key, size);
    else
        memcpy(value, key, size + 1);
    return SXT_OK;
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

int sxt_http_service_refused(const char *url, long status, const void *body, size_t size, sxt_error *error)
{
    const struct sxt_json_limits limits = {.depth = REPLY_DEPTH, .values = REPLY_VALUES};
    struct sxt_arena arena;
    struct sxt_json *reply = NULL;
    struct sxt_buffer details;
    char room[32];
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    sxt_buffer_init(&details, 1024);
    if (size > 0 && sxt_json_parse(body, size, limits, &arena, &reply, NULL) != SXT_OK)
        reply = NULL;
    const struct sxt_json *problem = sxt_json_member(reply, "error");
    sxt_string text = string_of(sxt_json_member(problem, "Text"));
    /* The text comes last: it may be cut. */
    add_part(&details, "code ", code_of(sxt_json_member(problem, "Code"), room), 40);
    add_part(&details, details.size > 0 ? ", uuid " : "uuid ", string_of(sxt_json_member(reply, "uuid")), 40);
    sxt_buffer_print(&details, "%sstatus %ld", details.size > 0 ? ", " : "", status);
    add_part(&details, ": ", text.data != NULL ? text : string_of(problem), 200);
    sxt_reason reason = status == 401 || status == 403 ? SXT_REASON_NOT_AUTHORIZED : SXT_REASON_NONE;
    int failed = sxt_fail_reason(error, SXT_ERROR_IO, reason, SXT_NO_OFFSET, "%.90s answers with %.*s", url,
                                 (int)details.size, details.size > 0 ? (const char *)details.data : "");
    sxt_buffer_free(&details);
    sxt_arena_free(&arena);
    return failed;
}
