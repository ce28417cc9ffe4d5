/*
 * pyroscope.c: the upload of Pyroscope's agents and of profilecli.
 *
 *     POST /debuginfo.v1alpha1.DebuginfoService/ShouldInitiateUpload     is the file wanted?
 *     POST …/Upload/BUILD-ID                                             the file itself
 *     POST …/UploadFinished                                              it is complete
 *     POST …/ListDebuginfo, …/DeleteDebuginfo
 *
 * All but Upload are unary calls of the Connect protocol: the message is the body, as protobuf (application/proto) or
 * JSON, the reply has the same type, and a failure is {"code":…,"message":…}. A file goes the way of PUT
 * /api/v1/files, and answers as soon as Upload is acknowledged; UploadFinished only forgets the announcement.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/protobuf.h"
#include "base/string.h"
#include "service/handlers.h"
#include "service/pyroscope_message.h"
#include "service/receive_file.h"
#include "service/server.h"

#define STALE_SECONDS 300
#define REPLY_LIMIT   ((size_t)64 << 20)
#define ARENA_LIMIT   ((size_t)1 << 20)
#define JSON          "application/json"
#define PROTOBUF      "application/proto"

/* Agents compare the reason with this text: only then do they ask again after some minutes. */
#define IN_PROGRESS "A previous upload is still in-progress and not stale yet (only stale uploads can be retried)."

/* --- failures --- */

static const char *connect_code(unsigned status, enum sxt_code code)
{
    static const struct {
        unsigned status;
        const char *name;
    } names[] = {
        {401, "unauthenticated"},    {403, "permission_denied"},  {404, "not_found"},
        {405, "unimplemented"},      {408, "deadline_exceeded"},  {413, "resource_exhausted"},
        {429, "resource_exhausted"}, {507, "resource_exhausted"}, {502, "unavailable"},
        {503, "unavailable"},
    };
    if (code == SXT_CODE_PRECONDITION)
        return "failed_precondition";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].status == status)
            return names[i].name;
    return status < 500 ? "invalid_argument" : "internal";
}

void sxt_pyroscope_print_failure(struct sxt_buffer *out, const char *uuid, unsigned status, enum sxt_code code,
                                 const char *text)
{
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "code", sxt_string_of(connect_code(status, code)));
    sxt_json_write_string(&json, "message", sxt_string_of(text));
    sxt_json_write_string(&json, "uuid", sxt_string_of(uuid));
    sxt_json_write_end(&json, '}');
}

/* --- a call --- */

struct call {
    struct sxt_request *request;
    bool is_json;
    struct sxt_catalog_id id; /* empty: the message has none */
    struct sxt_catalog_announcement what;
    uint64_t type;
};

static bool is_type(const char *given, const char *type)
{
    size_t size = strcspn(given, "; \t");
    return strlen(type) == size && strncasecmp(given, type, size) == 0;
}

/* Takes the type and the version of the protocol from the headers. False: the reply is made. */
static bool begin_call(struct call *call, struct sxt_request *request)
{
    const char *type = sxt_request_header(request, "Content-Type"),
               *version = sxt_request_header(request, "Connect-Protocol-Version");
    *call = (struct call){.request = request, .is_json = type != NULL && is_type(type, JSON)};
    if (version != NULL && strcmp(version, "1") != 0) {
        sxt_reply_failure(request, 400, SXT_CODE_HEADERS, "Connect-Protocol-Version is not 1: '%.20s'", version);
        return false;
    }
    if (call->is_json || (type != NULL && is_type(type, PROTOBUF)))
        return true;
    sxt_reply_header(request, "Accept-Post", PROTOBUF ", " JSON);
    sxt_reply_failure(request, 415, SXT_CODE_TYPE, "Content-Type is not " PROTOBUF " or " JSON);
    return false;
}

/* Reads the message. False: the reply is made. */
static bool read_call(struct call *call, bool has_file)
{
    struct sxt_request *request = call->request;
    struct sxt_pyroscope_message message;
    struct sxt_arena arena;
    sxt_error error;
    sxt_arena_init(&arena, ARENA_LIMIT, sxt_arena_separate_default);
    int status =
        sxt_pyroscope_read(request->body.data, request->body.size, call->is_json, has_file, &arena, &message, &error);
    if (status == SXT_ERROR_FORMAT)
        sxt_reply_failure(request, 400, call->is_json ? SXT_CODE_JSON : SXT_CODE_PROTOBUF, "%s", error.text);
    else if (status != SXT_OK)
        sxt_reply_error(request, &error);
    else if (has_file && !message.has_file)
        sxt_reply_failure(request, 400, SXT_CODE_BUILD_ID, "file is missing");
    else if (!sxt_catalog_parse_build_id(message.build_id, &call->id))
        sxt_reply_failure(request, 400, SXT_CODE_BUILD_ID, "not a GNU build ID in hexadecimal: '%.*s'",
                          (int)(message.build_id.size < 140 ? message.build_id.size : 140),
                          message.build_id.data != NULL ? message.build_id.data : "");
    else if (message.type > SXT_PYROSCOPE_NO_TEXT)
        sxt_reply_failure(request, 400, SXT_CODE_JSON, "the type of the file is not known");
    call->type = message.type;
    /* These only help: what is malformed is left out. */
    if (!sxt_catalog_parse_file_id(message.file_id, &call->what.file_id))
        call->what.file_id.text[0] = 0;
    if (message.name.size > 0 && message.name.size < sizeof call->what.name &&
        memchr(message.name.data, 0, message.name.size) == NULL)
        memcpy(call->what.name, message.name.data, message.name.size);
    sxt_arena_free(&arena);
    return !sxt_request_is_answered(request);
}

/* Both, on a thread that may wait. False: there is nothing more to do now, and the handler returns *HANDLED. */
static bool take_call(struct call *call, struct sxt_request *request, bool has_file, enum sxt_handled *handled)
{
    *handled = SXT_DONE;
    if (!begin_call(call, request))
        return false;
    if (request->may_wait)
        return read_call(call, has_file);
    *handled = SXT_WAIT;
    return false;
}

static void reply_message(const struct call *call, struct sxt_buffer *body)
{
    sxt_reply_buffer(call->request, 200, call->is_json ? JSON : PROTOBUF, body);
    sxt_buffer_free(body);
}

static enum sxt_handled reply_nothing(const struct call *call)
{
    struct sxt_buffer body;
    sxt_buffer_init(&body, REPLY_LIMIT);
    if (call->is_json)
        sxt_buffer_append(&body, "{}", 2);
    reply_message(call, &body);
    return SXT_DONE;
}

static enum sxt_handled fail(const struct call *call, const sxt_error *error)
{
    sxt_reply_error(call->request, error);
    return SXT_DONE;
}

/* --- what is there --- */

struct there {
    bool has_executable, has_debuginfo, has_lines;
};

static int take_listed(void *data, const struct sxt_catalog_listed *listed)
{
    struct there *there = data;
    there->has_executable |= listed->has_executable;
    there->has_debuginfo |= listed->has_debuginfo;
    there->has_lines |= listed->has_lines;
    return SXT_OK;
}

static int find_there(const struct call *call, struct there *there, sxt_error *error)
{
    const struct sxt_request *request = call->request;
    *there = (struct there){0};
    int status = sxt_catalog_describe(request->service->catalog, request->tenant, &call->id, take_listed, there, error);
    return status == SXT_ERROR_NOT_FOUND ? SXT_OK : status;
}

static void reply_decision(const struct call *call, bool wanted, const char *reason)
{
    struct sxt_buffer body;
    sxt_buffer_init(&body, REPLY_LIMIT);
    if (call->is_json) {
        struct sxt_json_writer json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
        sxt_json_write_begin(&json, NULL, '{');
        sxt_json_write_bool(&json, "shouldInitiateUpload", wanted);
        sxt_json_write_string(&json, "reason", sxt_string_of(reason));
        sxt_json_write_end(&json, '}');
    } else {
        if (wanted)
            sxt_protobuf_write_number(&body, 1, 1);
        sxt_protobuf_write_bytes(&body, 2, reason, strlen(reason));
    }
    reply_message(call, &body);
}

/*
 * A client does not say which file it has, only whether that has code. So a file of each kind is taken once: a program
 * that is stripped everywhere would otherwise be uploaded by every agent, again and again.
 */
static const char *reason_against(const struct call *call, const struct there *there)
{
    if (there->has_lines)
        return "symbols with lines are here";
    if (call->type == SXT_PYROSCOPE_NO_TEXT)
        return there->has_debuginfo ? "a debug file of this build ID is here" : NULL;
    return there->has_executable ? "an executable of this build ID is here" : NULL;
}

enum sxt_handled sxt_pyroscope_should_upload(struct sxt_request *request)
{
    static const char *const reasons[] = {
        [SXT_ANNOUNCED_NOT] = "nothing like it is here",
        [SXT_ANNOUNCED] = IN_PROGRESS,
        [SXT_ANNOUNCED_LONG_AGO] = "an upload was announced some time ago, and was not finished",
        [SXT_ANNOUNCED_FAILED] = "the upload before has failed",
    };
    struct call call;
    struct there there;
    enum sxt_catalog_announced announced = SXT_ANNOUNCED_NOT;
    sxt_error error;
    enum sxt_handled handled;
    if (!take_call(&call, request, true, &handled))
        return handled;
    struct sxt_catalog *catalog = request->service->catalog;
    if (find_there(&call, &there, &error) != SXT_OK)
        return fail(&call, &error);
    const char *against = reason_against(&call, &there);
    if (against != NULL) {
        reply_decision(&call, false, against);
        return SXT_DONE;
    }
    if (sxt_catalog_find_announced(catalog, request->tenant, &call.id, STALE_SECONDS, &announced, &error) != SXT_OK)
        return fail(&call, &error);
    bool is_wanted = announced != SXT_ANNOUNCED;
    if (is_wanted && sxt_catalog_announce(catalog, request->tenant, &call.id, &call.what, &error) != SXT_OK)
        return fail(&call, &error);
    reply_decision(&call, is_wanted, reasons[announced]);
    return SXT_DONE;
}

/* --- the file --- */

enum sxt_handled sxt_pyroscope_begin(struct sxt_request *request)
{
    struct sxt_catalog_id id;
    enum sxt_catalog_announced announced;
    sxt_error error;
    if (!sxt_catalog_parse_build_id(sxt_string_of(request->words[0]), &id))
        sxt_reply_failure(request, 400, SXT_CODE_PATH, "not a GNU build ID: '%.140s'", request->words[0]);
    else if (sxt_catalog_find_announced(request->service->catalog, request->tenant, &id, STALE_SECONDS, &announced,
                                        &error) != SXT_OK)
        sxt_reply_error(request, &error);
    else if (announced == SXT_ANNOUNCED_NOT)
        sxt_reply_failure(request, 412, SXT_CODE_PRECONDITION,
                          "no upload of this build ID was announced by ShouldInitiateUpload");
    else
        return sxt_file_receive(request, &id);
    return SXT_DONE;
}

enum sxt_handled sxt_pyroscope_upload(struct sxt_request *request)
{
    struct sxt_catalog *catalog = request->service->catalog;
    struct sxt_catalog_id id = *sxt_file_wanted(request);
    struct sxt_catalog_announcement what;
    struct sxt_catalog_added added;
    sxt_error error;
    if (sxt_catalog_read_announced(catalog, request->tenant, &id, &what, &error) != SXT_OK)
        sxt_request_log(request, "cannot read the announcement: %s", error.text);
    bool is_added = sxt_file_add(request, *what.name != 0 ? what.name : NULL, &added);
    /* A debug file has no FileID, but the agent knows that of the executable. */
    if (is_added && added.is_debug_file &&
        sxt_catalog_join_announced(catalog, request->tenant, &id, &what, &error) != SXT_OK)
        sxt_request_log(request, "cannot join the build ID with the FileID: %s", error.text);
    if (is_added)
        sxt_file_reply_added(request, &added, 200); /* never 201: clients take only 200 for success */
    else if (sxt_catalog_announce(catalog, request->tenant, &id, NULL, &error) != SXT_OK)
        sxt_request_log(request, "cannot note that the upload failed: %s", error.text);
    return SXT_DONE;
}

/* A client that did not get the reply asks again, so a file that is there is enough. */
enum sxt_handled sxt_pyroscope_finished(struct sxt_request *request)
{
    struct call call;
    struct there there;
    enum sxt_catalog_announced announced = SXT_ANNOUNCED_NOT;
    sxt_error error;
    enum sxt_handled handled;
    if (!take_call(&call, request, false, &handled))
        return handled;
    struct sxt_catalog *catalog = request->service->catalog;
    int status = find_there(&call, &there, &error);
    if (status == SXT_OK)
        status = sxt_catalog_find_announced(catalog, request->tenant, &call.id, STALE_SECONDS, &announced, &error);
    bool is_there = there.has_executable || there.has_debuginfo;
    if (status == SXT_OK && is_there && announced != SXT_ANNOUNCED_NOT)
        status = sxt_catalog_forget_announced(catalog, request->tenant, &call.id, &error);
    if (status != SXT_OK)
        return fail(&call, &error);
    if (is_there)
        return reply_nothing(&call);
    if (announced == SXT_ANNOUNCED_NOT)
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_FILE, "no upload of this build ID was announced");
    else
        sxt_reply_failure(request, 400, SXT_CODE_PRECONDITION, "no file of this build ID was uploaded");
    return SXT_DONE;
}

/* --- listing and deleting --- */

struct listing {
    bool is_json;
    struct sxt_json_writer json;
    struct sxt_buffer *body;
};

/* "2026-11-16T11:05:10.698985Z", as protobuf's JSON has it. */
static void print_time(int64_t microseconds, char out[40])
{
    time_t seconds = (time_t)(microseconds / 1000000);
    struct tm parts = {0};
    char date[24];
    gmtime_r(&seconds, &parts);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(out, 40, "%s.%06dZ", date, (int)(microseconds % 1000000));
}

static void list_json(struct sxt_json_writer *json, const struct sxt_catalog_listed *listed)
{
    char time[40], size[24];
    print_time(listed->created_us, time);
    snprintf(size, sizeof size, "%llu", (unsigned long long)listed->size);
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_begin(json, "file", '{');
    sxt_json_write_string(json, "gnuBuildId", sxt_string_of(listed->build_id));
    if (listed->file_id != NULL)
        sxt_json_write_string(json, "otelFileId", sxt_string_of(listed->file_id));
    if (listed->name != NULL)
        sxt_json_write_string(json, "name", sxt_string_of(listed->name));
    sxt_json_write_string(json, "type",
                          sxt_string_of(listed->has_executable ? "TYPE_EXECUTABLE_FULL" : "TYPE_EXECUTABLE_NO_TEXT"));
    sxt_json_write_end(json, '}');
    sxt_json_write_string(json, "state", sxt_string_of("STATE_UPLOADED"));
    sxt_json_write_string(json, "startedAt", sxt_string_of(time));
    sxt_json_write_string(json, "finishedAt", sxt_string_of(time));
    sxt_json_write_string(json, "sizeBytes", sxt_string_of(size)); /* 64 bits are a string there */
    sxt_json_write_end(json, '}');
}

static void put_text(struct sxt_buffer *to, unsigned number, const char *text)
{
    if (text != NULL)
        sxt_protobuf_write_bytes(to, number, text, strlen(text));
}

static void list_protobuf(struct sxt_buffer *body, const struct sxt_catalog_listed *listed)
{
    struct sxt_buffer object, part;
    sxt_buffer_init(&object, REPLY_LIMIT);
    sxt_buffer_init(&part, REPLY_LIMIT);
    put_text(&part, 1, listed->build_id);
    put_text(&part, 3, listed->file_id);
    put_text(&part, 4, listed->name);
    sxt_protobuf_write_number(&part, 5, listed->has_executable ? SXT_PYROSCOPE_FULL : SXT_PYROSCOPE_NO_TEXT);
    sxt_protobuf_write_bytes(&object, 1, part.data, part.size);
    sxt_protobuf_write_number(&object, 2, 1); /* uploaded */
    sxt_buffer_clear(&part);
    sxt_protobuf_write_number(&part, 1, (uint64_t)(listed->created_us / 1000000));
    sxt_protobuf_write_number(&part, 2, (uint64_t)(listed->created_us % 1000000 * 1000));
    sxt_protobuf_write_bytes(&object, 3, part.data, part.size);
    sxt_protobuf_write_bytes(&object, 4, part.data, part.size);
    sxt_protobuf_write_number(&object, 5, listed->size);
    sxt_protobuf_write_bytes(body, 1, object.data, object.size);
    body->failed |= object.failed || part.failed;
    sxt_buffer_free(&object);
    sxt_buffer_free(&part);
}

/* Pyroscope's list has uploaded files, and names them by build ID. */
static int list_one(void *data, const struct sxt_catalog_listed *listed)
{
    struct listing *listing = data;
    if (listed->build_id == NULL || (!listed->has_executable && !listed->has_debuginfo))
        return SXT_OK;
    if (listing->is_json)
        list_json(&listing->json, listed);
    else
        list_protobuf(listing->body, listed);
    return SXT_OK;
}

enum sxt_handled sxt_pyroscope_list(struct sxt_request *request)
{
    struct call call;
    struct sxt_buffer body;
    sxt_error error;
    if (!begin_call(&call, request))
        return SXT_DONE;
    if (!request->may_wait)
        return SXT_WAIT;
    sxt_buffer_init(&body, REPLY_LIMIT);
    struct listing listing = {call.is_json, sxt_json_writer_make(&body, SXT_JSON_COMPACT), &body};
    if (call.is_json) {
        sxt_json_write_begin(&listing.json, NULL, '{');
        sxt_json_write_begin(&listing.json, "object", '[');
    }
    int status =
        sxt_catalog_list(request->service->catalog, request->tenant, "", "", SIZE_MAX, list_one, &listing, &error);
    if (call.is_json) {
        sxt_json_write_end(&listing.json, ']');
        sxt_json_write_end(&listing.json, '}');
    }
    if (status == SXT_OK)
        reply_message(&call, &body);
    sxt_buffer_free(&body);
    return status == SXT_OK ? SXT_DONE : fail(&call, &error);
}

/* Deleting a file that is not there succeeds, as it does in Pyroscope. */
enum sxt_handled sxt_pyroscope_delete(struct sxt_request *request)
{
    struct call call;
    sxt_error error;
    enum sxt_handled handled;
    if (!take_call(&call, request, false, &handled))
        return handled;
    struct sxt_catalog *catalog = request->service->catalog;
    int status = sxt_catalog_remove(catalog, request->tenant, &call.id, &error);
    if (status == SXT_OK || status == SXT_ERROR_NOT_FOUND)
        status = sxt_catalog_forget_announced(catalog, request->tenant, &call.id, &error);
    return status == SXT_OK ? reply_nothing(&call) : fail(&call, &error);
}
