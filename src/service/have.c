/*
 * have.c: POST /api/v1/have: whether files are worth uploading.
 *
 *     {"files":[{"build_id":"…","sha256":"…"}]}     {"files":[{"upload":false,"reason":"this file is here"}]}
 */
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "service/handlers.h"
#include "service/server.h"

#define FILES_MAX   10000
#define ARENA_LIMIT ((size_t)16 << 20)
#define REPLY_LIMIT ((size_t)64 << 20)

struct asking {
    struct sxt_request *request;
    struct sxt_json_reader json;
    struct sxt_json_writer out;
    enum sxt_code code;
    size_t count;
};

struct file {
    struct sxt_catalog_id ids[2];
    size_t id_count;
    char sha256[65]; /* "" if it was not given */
    bool is_there, is_same, has_lines;
    bool has_files; /* ELF files, not only what was pushed */
};

static int refuse(struct asking *asking, enum sxt_code code, const char *text)
{
    asking->code = code;
    return sxt_json_read_fail(&asking->json, asking->json.position, "%s", text);
}

static int read_hash(struct asking *asking, struct file *file, sxt_string text)
{
    if (text.size != 64)
        return refuse(asking, SXT_CODE_JSON, "sha256 does not have 64 digits");
    memcpy(file->sha256, text.data, text.size);
    return SXT_OK;
}

static int read_member(struct asking *asking, struct file *file)
{
    sxt_string key, text;
    int status = sxt_json_read_key(&asking->json, &key, NULL);
    bool is_build_id = sxt_string_is(key, "build_id"), is_file_id = sxt_string_is(key, "file_id"),
         is_hash = sxt_string_is(key, "sha256");
    if (status != SXT_OK)
        return status;
    if (!is_build_id && !is_file_id && !is_hash)
        return sxt_json_read_skip(&asking->json, NULL);
    if (sxt_json_read_word(&asking->json, "null"))
        return SXT_OK;
    status = sxt_json_read_string(&asking->json, is_hash ? "sha256" : is_build_id ? "build_id" : "file_id", &text);
    if (status != SXT_OK)
        return status;
    if (is_hash)
        return read_hash(asking, file, text);
    struct sxt_catalog_id *id = &file->ids[file->id_count < 2 ? file->id_count : 1];
    if (!(is_build_id ? sxt_catalog_parse_build_id(text, id) : sxt_catalog_parse_file_id(text, id)))
        return is_build_id ? refuse(asking, SXT_CODE_BUILD_ID, "build_id is not a build ID in hexadecimal")
                           : refuse(asking, SXT_CODE_FILE_ID, "file_id is not a FileID in hexadecimal or base64url");
    file->id_count += file->id_count < 2;
    return SXT_OK;
}

static int take_listed(void *data, const struct sxt_catalog_listed *listed)
{
    struct file *file = data;
    const char *hashes[] = {listed->executable_hash, listed->debuginfo_hash};
    file->is_there |= listed->source != NULL;
    file->has_lines |= listed->has_lines;
    file->has_files |= listed->has_executable || listed->has_debuginfo;
    for (int i = 0; i < 2; i++)
        file->is_same |= hashes[i] != NULL && strcasecmp(hashes[i], file->sha256) == 0;
    return SXT_OK;
}

static void put_answer(struct asking *asking, const struct file *file)
{
    bool upload = true;
    const char *reason = "nothing is known of this file";
    if (file->is_same) {
        upload = false;
        reason = "this file is here";
    } else if (file->is_there && !file->has_lines) {
        reason = "what is here has no lines";
    } else if (file->is_there && file->sha256[0] != 0 && file->has_files) {
        reason = "another file of this binary is here";
    } else if (file->is_there) {
        upload = false;
        reason = "symbols with lines are here";
    }
    sxt_json_write_begin(&asking->out, NULL, '{');
    sxt_json_write_bool(&asking->out, "upload", upload);
    sxt_json_write_string(&asking->out, "reason", sxt_string_of(reason));
    sxt_json_write_end(&asking->out, '}');
}

static int answer_file(struct asking *asking)
{
    struct file file = {0};
    bool more = false;
    int status = sxt_json_read_begin(&asking->json, '{', "a file");
    while (status == SXT_OK && (status = sxt_json_read_more(&asking->json, '}', &more)) == SXT_OK && more)
        status = read_member(asking, &file);
    if (status == SXT_OK && file.id_count == 0)
        return refuse(asking, SXT_CODE_FILE_ID, "file_id or build_id is missing");
    if (status == SXT_OK && asking->count++ >= FILES_MAX)
        return refuse(asking, SXT_CODE_JSON, "too many files in one request");
    for (size_t i = 0; i < file.id_count && status == SXT_OK; i++) {
        status = sxt_catalog_describe(asking->request->service->catalog, asking->request->tenant, &file.ids[i],
                                      take_listed, &file, asking->json.error);
        if (status == SXT_ERROR_NOT_FOUND)
            status = SXT_OK;
        else if (status != SXT_OK)
            asking->code = SXT_CODE_STORE;
    }
    if (status == SXT_OK)
        put_answer(asking, &file);
    return status;
}

static int answer_files(struct asking *asking)
{
    bool more = false, has_files = false;
    sxt_string key;
    int status = sxt_json_read_begin(&asking->json, '{', "the request");
    while (status == SXT_OK && (status = sxt_json_read_more(&asking->json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&asking->json, &key, NULL);
        if (status == SXT_OK && (has_files || !sxt_string_is(key, "files"))) {
            status = sxt_json_read_skip(&asking->json, NULL);
            continue;
        }
        has_files = true;
        bool another = false;
        if (status == SXT_OK)
            status = sxt_json_read_begin(&asking->json, '[', "files");
        while (status == SXT_OK && (status = sxt_json_read_more(&asking->json, ']', &another)) == SXT_OK && another)
            status = answer_file(asking);
    }
    if (status == SXT_OK)
        status = sxt_json_read_end(&asking->json);
    return status == SXT_OK && !has_files ? refuse(asking, SXT_CODE_JSON, "files are missing") : status;
}

enum sxt_handled sxt_handle_have(struct sxt_request *request)
{
    struct asking asking = {.request = request, .code = SXT_CODE_JSON};
    struct sxt_arena arena;
    struct sxt_buffer body;
    sxt_error error;
    if (!request->may_wait)
        return SXT_WAIT;
    sxt_arena_init(&arena, ARENA_LIMIT, sxt_arena_separate_default);
    sxt_buffer_init(&body, REPLY_LIMIT);
    asking.out = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&asking.out, NULL, '{');
    sxt_json_write_begin(&asking.out, "files", '[');
    int status = sxt_json_reader_init(&asking.json, "the request", (const char *)request->body.data, request->body.size,
                                      &arena, &error);
    if (status == SXT_OK)
        status = answer_files(&asking);
    sxt_json_write_end(&asking.out, ']');
    sxt_json_write_end(&asking.out, '}');
    if (status == SXT_OK)
        sxt_reply_buffer(request, 200, "application/json", &body);
    else if (asking.code == SXT_CODE_STORE || status == SXT_ERROR_MEMORY)
        sxt_reply_error(request, &error);
    else
        sxt_reply_failure(request, 400, asking.code, "%s", error.text);
    sxt_buffer_free(&body);
    sxt_arena_free(&arena);
    return SXT_DONE;
}
