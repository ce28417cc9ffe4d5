/*
 * otlp.c: POST /v1development/profiles. An export request of OpenTelemetry's profiles gets functions, files and lines
 * for its native locations. The filled request is the reply; with --forward it is sent there, and the reply of that is
 * passed on.
 */
#include "profile/otlp.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/gzip.h"
#include "base/string.h"
#include "service/find.h"
#include "service/handlers.h"
#include "service/server.h"

#define FILLED_LIMIT  ((size_t)512 << 20)
#define REPLY_LIMIT   ((size_t)64 << 20) /* of the server that it is forwarded to */
#define HEADERS_LIMIT ((size_t)64 << 10)
#define URL_MAX       4096
#define DEFAULT_PATH  "/v1development/profiles"
#define WORK_MEMORY   8 /* times the size of a message: what its tables take, and those of the reply */
/* Each unknown binary costs a question to the store, so a message must not name any number of them. */
#define BINARIES_MAX 10000

struct work {
    struct sxt_request *request;
    sxt_error error; /* of the store; code SXT_OK: none */
    size_t binaries;
    bool is_later; /* binaries are being fetched: what is made meanwhile is not the reply */
};

static int find(void *data, const struct sxt_otlp_ids *given, void **binary, const sxt_archive **archive,
                sxt_error *error)
{
    struct work *work = data;
    struct sxt_catalog_id ids[3];
    struct sxt_catalog_binary *found = NULL;
    size_t count = 0;
    if (work->binaries++ == BINARIES_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "it names more than %d binaries", BINARIES_MAX);
    /* The build ID is first: it is one, even if it could be a FileID by its length. */
    if (sxt_catalog_parse_build_id(given->build_id, &ids[count]))
        count++;
    if (sxt_catalog_parse_file_id(given->build_id, &ids[count]))
        count++;
    if (sxt_catalog_parse_file_id(given->file_id, &ids[count]))
        count++;
    enum sxt_found outcome =
        count > 0 ? sxt_request_find(work->request, ids, count, &found, &work->error) : SXT_FOUND_NOTHING;
    if (outcome == SXT_FOUND_ERROR) {
        *error = work->error;
        return work->error.code;
    }
    work->error.code = SXT_OK;
    work->is_later |= outcome == SXT_FOUND_LATER;
    if (outcome != SXT_FOUND)
        return SXT_OK;
    *binary = found;
    *archive = sxt_catalog_layout(found);
    return SXT_OK;
}

static int look_up(void *data, void *binary, const uint64_t *addresses, size_t count, bool are_offsets,
                   sxt_otlp_answer *answer, void *answer_data, sxt_error *error)
{
    const struct sxt_catalog_question question = {.addresses = addresses, .count = count, .are_offsets = are_offsets};
    struct work *work = data;
    int status = sxt_catalog_lookup(binary, &question, answer, answer_data, error);
    if (status != SXT_OK && error->code == SXT_ERROR_IO)
        work->error = *error;
    return status;
}

static void release(void *data, void *binary)
{
    struct work *work = data;
    struct sxt_catalog_binary *found = binary;
    sxt_catalog_release(work->request->service->catalog, &found);
}

static void count_lookups(struct sxt_request *request, const sxt_profile_report *report)
{
    const uint64_t *unresolved = report->unresolved;
    sxt_request_count(request, SXT_METRIC_LOOKUP_FOUND, report->symbolized);
    sxt_request_count(request, SXT_METRIC_LOOKUP_UNKNOWN, unresolved[SXT_UNRESOLVED_FILE]);
    sxt_request_count(request, SXT_METRIC_LOOKUP_NOTHING,
                      unresolved[SXT_UNRESOLVED_UNKNOWN] + unresolved[SXT_UNRESOLVED_OUTSIDE] +
                          unresolved[SXT_UNRESOLVED_SEGMENTS]);
    sxt_request_count(request, SXT_METRIC_LEAF_AND_CALLER, report->leaf_and_caller);
}

static void fail(struct sxt_request *request, bool is_json, const struct work *work, const sxt_error *error)
{
    if (work->error.code != SXT_OK)
        sxt_reply_error(request, &work->error);
    else if (error->code == SXT_ERROR_LIMIT)
        sxt_reply_failure(request, 413, SXT_CODE_TOO_LARGE, "the message is too large: %s", error->text);
    else if (error->code == SXT_ERROR_FORMAT || error->code == SXT_ERROR_UNSUPPORTED)
        sxt_reply_failure(request, 400, is_json ? SXT_CODE_JSON : SXT_CODE_PROTOBUF, "%s", error->text);
    else
        sxt_reply_error(request, error);
}

/* --- forwarding --- */

/* A URL without a path gets that of OTLP, as exporters do it. */
static void target_url(const char *given, char url[URL_MAX])
{
    const char *host = strstr(given, "://") + 3;
    snprintf(url, URL_MAX, "%s%s", given, strpbrk(host, "/?#") == NULL ? DEFAULT_PATH : "");
}

/* The body is sent with the compression that it came with, if that is gzip. */
static bool is_gzip(const struct sxt_request *request)
{
    const char *encoding = sxt_request_header(request, "Content-Encoding");
    return encoding != NULL && (strcasecmp(encoding, "gzip") == 0 || strcasecmp(encoding, "x-gzip") == 0);
}

static int send_on(struct sxt_request *request, const char *type, const struct sxt_buffer *body,
                   struct sxt_http_answer *answer, sxt_error *error)
{
    struct sxt_service *service = request->service;
    struct sxt_http *http = NULL;
    struct sxt_buffer packed;
    char url[URL_MAX], type_line[256];
    const char *headers[] = {type_line, "Content-Encoding: gzip"};
    bool packs = is_gzip(request);
    snprintf(type_line, sizeof type_line, "Content-Type: %s", type);
    target_url(service->options.forward, url);
    sxt_buffer_init(&packed, FILLED_LIMIT);
    int status = packs ? sxt_gzip_fast(body->data, body->size, &packed, error) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_http_pool_take(service->forward, &http, error);
    const struct sxt_http_request outgoing = {
        .url = url,
        .headers = headers,
        .header_count = packs ? 2 : 1,
        .body = packs ? packed.data : body->data,
        .size = packs ? packed.size : body->size,
        .stop = &service->is_stopping,
    };
    if (status == SXT_OK)
        status = sxt_http_send(http, &outgoing, answer, error);
    sxt_http_pool_give(service->forward, http);
    sxt_buffer_free(&packed);
    return status;
}

static void forward(struct sxt_request *request, const char *type, const struct sxt_buffer *body)
{
    struct sxt_buffer reply, headers;
    char reply_type[256], again[64];
    sxt_error error;
    sxt_buffer_init(&reply, REPLY_LIMIT);
    sxt_buffer_init(&headers, HEADERS_LIMIT);
    struct sxt_http_answer answer = {.body = &reply, .headers = &headers};
    if (send_on(request, type, body, &answer, &error) != SXT_OK || answer.status < 200 || answer.status > 599) {
        sxt_request_count(request, SXT_METRIC_FORWARD_FAILED, 1);
        sxt_reply_failure(request, 502, SXT_CODE_UPSTREAM, "the server that profiles are forwarded to failed: %s",
                          answer.result != SXT_OK ? error.text : "it gave no answer");
        sxt_buffer_free(&reply);
    } else {
        sxt_request_count(request, SXT_METRIC_FORWARDED, 1);
        if (sxt_http_find_header(&headers, "Retry-After", again, sizeof again))
            sxt_reply_header(request, "Retry-After", again);
        bool has_type = sxt_http_find_header(&headers, "Content-Type", reply_type, sizeof reply_type);
        sxt_reply_buffer(request, (unsigned)answer.status, has_type ? reply_type : NULL, &reply);
    }
    sxt_buffer_free(&headers);
}

/* --- the request --- */

/* The type without its parameters. */
static bool is_type(const char *given, const char *type)
{
    size_t size = strcspn(given, "; \t");
    return strlen(type) == size && strncasecmp(given, type, size) == 0;
}

/* NULL for a type that is not taken. Without a type, the content decides. */
static const char *type_of(const struct sxt_request *request, bool *is_json)
{
    const char *given = sxt_request_header(request, "Content-Type");
    if (given == NULL || *given == 0) {
        *is_json = sxt_otlp_is_json(request->body.data, request->body.size);
        return *is_json ? "application/json" : "application/x-protobuf";
    }
    *is_json = is_type(given, "application/json");
    return *is_json || is_type(given, "application/x-protobuf") || is_type(given, "application/protobuf") ? given
                                                                                                          : NULL;
}

enum sxt_handled sxt_handle_otlp(struct sxt_request *request)
{
    bool is_json;
    const char *type = type_of(request, &is_json);
    if (type == NULL) {
        sxt_reply_failure(request, 415, SXT_CODE_TYPE,
                          "Content-Type is not application/x-protobuf or application/json");
        return SXT_DONE;
    }
    /* A message has thousands of locations, and it may have to be sent on. */
    if (!request->may_wait)
        return SXT_WAIT;
    /* Those who may only ask do not send anything to others. */
    if (request->service->forward != NULL && (request->scopes & SXT_SCOPE_READ) == 0) {
        sxt_reply_failure(request, 401, SXT_CODE_NO_KEY, "an API key is needed to send profiles on");
        return SXT_DONE;
    }
    if (!sxt_request_count_memory(request, (uint64_t)request->body.size * WORK_MEMORY))
        return SXT_DONE;
    struct work work = {.request = request};
    const struct sxt_otlp_source source = {&work, find, look_up, release};
    sxt_profile_report report = {0};
    struct sxt_buffer out;
    sxt_error error;
    sxt_buffer_init(&out, FILLED_LIMIT);
    int status = sxt_otlp_fill(request->body.data, request->body.size, is_json, &source, &out, &report, &error);
    if (work.is_later) {
        sxt_buffer_free(&out);
        return SXT_WAIT;
    }
    if (status != SXT_OK) {
        fail(request, is_json, &work, &error);
        sxt_buffer_free(&out);
        return SXT_DONE;
    }
    count_lookups(request, &report);
    if (!sxt_request_count_memory(request, out.size)) {
        sxt_buffer_free(&out);
        return SXT_DONE;
    }
    if (request->service->forward != NULL) {
        forward(request, type, &out);
        sxt_buffer_free(&out);
    } else {
        sxt_reply_buffer(request, 200, type, &out);
    }
    return SXT_DONE;
}
