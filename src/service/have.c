/*
 * have.c: POST /api/v1/have: whether files are worth uploading.
 *
 *     {"files":[{"build_id":"…","sha256":"…"}]}     {"files":[{"upload":false,"reason":"this file is here"}]}
 *
 * A client that pushes parts of symbfiles also says which sets it has, and how good they are. It learns which parts are
 * there, so that a push which was interrupted goes on.
 *
 *     {"files":[{"file_id":"…","ranges":{"generation":"…","parts":3},
 *                "symbols":{"functions":9,"with_lines":9,"inlines":2,"go":false}}]}
 *     {"files":[{"upload":true,"reason":"a part of these symbols is here","ranges":{"upload":true,"parts":[0,2]}}]}
 */
#include <stdlib.h>
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

/* A set of parts that the client has. */
struct set {
    bool is_given;
    sxt_string generation;
    uint64_t parts;
    struct sxt_catalog_progress there;
};

struct file {
    struct sxt_catalog_id ids[2];
    size_t id_count;
    char sha256[65]; /* "" if it was not given */
    bool is_there, is_same, has_lines;
    bool has_files;     /* ELF files, not only what was pushed */
    bool is_of_file;    /* the best is from an ELF file */
    struct set sets[2]; /* ranges, pads */
    bool has_symbols;   /* the client says how good its symbols are: */
    uint64_t functions, with_lines, inlines;
    bool is_go;
    unsigned quality; /* of the best that is here */
};

static const char *const set_names[2] = {"ranges", "returnpads"};

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

static int check_set(struct asking *asking, const struct set *set)
{
    uint32_t limit = asking->request->service->options.parts_limit;
    if (!sxt_upload_is_generation(set->generation))
        return refuse(asking, SXT_CODE_GENERATION, "generation is not a word of at most 128 letters");
    if (set->parts == 0 || set->parts > limit)
        return refuse(asking, SXT_CODE_TOO_MANY_PARTS, "parts is not a number from 1 to the limit of the server");
    return SXT_OK;
}

/* {"generation":"…","parts":3} */
static int read_set(struct asking *asking, struct set *set)
{
    bool more = false;
    sxt_string key;
    int status = sxt_json_read_begin(&asking->json, '{', "a set of parts");
    set->is_given = true;
    while (status == SXT_OK && (status = sxt_json_read_more(&asking->json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&asking->json, &key, NULL);
        if (status != SXT_OK)
            break;
        if (sxt_string_is(key, "generation"))
            status = sxt_json_read_string(&asking->json, "generation", &set->generation);
        else if (sxt_string_is(key, "parts"))
            status = sxt_json_read_unsigned(&asking->json, "parts", &set->parts);
        else
            status = sxt_json_read_skip(&asking->json, NULL);
    }
    return status == SXT_OK ? check_set(asking, set) : status;
}

/* {"functions":9,"with_lines":9,"inlines":2,"go":false} */
static int read_symbols(struct asking *asking, struct file *file)
{
    bool more = false;
    sxt_string key;
    int status = sxt_json_read_begin(&asking->json, '{', "symbols");
    file->has_symbols = true;
    while (status == SXT_OK && (status = sxt_json_read_more(&asking->json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&asking->json, &key, NULL);
        if (status != SXT_OK)
            break;
        if (sxt_string_is(key, "functions"))
            status = sxt_json_read_unsigned(&asking->json, "functions", &file->functions);
        else if (sxt_string_is(key, "with_lines"))
            status = sxt_json_read_unsigned(&asking->json, "with_lines", &file->with_lines);
        else if (sxt_string_is(key, "inlines"))
            status = sxt_json_read_unsigned(&asking->json, "inlines", &file->inlines);
        else if (sxt_string_is(key, "go") && sxt_json_read_word(&asking->json, "true"))
            file->is_go = true;
        else
            status = sxt_json_read_skip(&asking->json, NULL);
    }
    return status;
}

static int read_member(struct asking *asking, struct file *file)
{
    sxt_string key, text;
    int status = sxt_json_read_key(&asking->json, &key, NULL);
    for (int i = 0; i < 2 && status == SXT_OK; i++)
        if (sxt_string_is(key, set_names[i]))
            return read_set(asking, &file->sets[i]);
    if (status == SXT_OK && sxt_string_is(key, "symbols"))
        return read_symbols(asking, file);
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
    if (listed->source != NULL && listed->quality > file->quality) {
        file->quality = listed->quality;
        file->is_of_file = strcmp(listed->source, "ranges") != 0 && strcmp(listed->source, "pads") != 0;
    }
    file->has_files |= listed->has_executable || listed->has_debuginfo;
    for (int i = 0; i < 2; i++)
        file->is_same |= hashes[i] != NULL && strcasecmp(hashes[i], file->sha256) == 0;
    return SXT_OK;
}

/* --- sets of parts --- */

static bool is_push(const struct file *file)
{
    return file->sets[0].is_given || file->sets[1].is_given;
}

/* Uploads go to the FileID. What another FileID of the same binary has does not make this one known. */
static int look_for_sets(struct asking *asking, struct file *file)
{
    int status = SXT_OK;
    if (file->id_count == 0 || file->ids[0].text[0] != 'f')
        return refuse(asking, SXT_CODE_FILE_ID, "a set of parts needs file_id");
    for (int i = 0; i < 2 && status == SXT_OK; i++) {
        if (!file->sets[i].is_given)
            continue;
        const struct sxt_catalog_part upload = {.tenant = asking->request->tenant,
                                                .file_id = file->ids[0],
                                                .kind = i == 0 ? SXT_CATALOG_RANGES : SXT_CATALOG_PADS,
                                                .parts = (uint32_t)file->sets[i].parts,
                                                .generation = file->sets[i].generation};
        status = sxt_catalog_find_upload(asking->request->service->catalog, &upload, &file->sets[i].there,
                                         asking->json.error);
        if (status != SXT_OK)
            asking->code = SXT_CODE_STORE;
    }
    return status;
}

/*
 * What was read from files is not replaced by a push of the same quality, and what is better by none. What was pushed
 * is replaced by a push of the same quality: it is newer.
 */
static bool judge_push(const struct file *file, const char **reason)
{
    bool is_complete = true, has_begun = false;
    for (int i = 0; i < 2; i++) {
        is_complete &= !file->sets[i].is_given || file->sets[i].there.is_complete;
        has_begun |= file->sets[i].there.is_complete || file->sets[i].there.count > 0;
    }
    unsigned quality = sxt_catalog_push_quality(file->functions, file->with_lines, file->inlines, file->is_go);
    bool is_better = file->has_symbols && file->quality > quality;
    bool is_as_good = file->has_symbols && file->quality == quality && file->is_of_file;
    if (is_complete)
        *reason = "these symbols are here";
    else if (is_better)
        *reason = "better symbols are here";
    else if (is_as_good)
        *reason = "symbols of a file that are as good are here";
    else if (has_begun)
        *reason = "a part of these symbols is here";
    else if (file->is_there)
        *reason = file->has_lines ? "other symbols of this binary are here" : "what is here has no lines";
    return !is_complete && !is_better && !is_as_good;
}

/* "ranges":{"upload":true,"parts":[0,2]} */
static void put_sets(struct asking *asking, const struct file *file, bool upload)
{
    for (int i = 0; i < 2; i++) {
        const struct set *set = &file->sets[i];
        if (!set->is_given)
            continue;
        sxt_json_write_begin(&asking->out, set_names[i], '{');
        sxt_json_write_bool(&asking->out, "upload", upload && !set->there.is_complete);
        sxt_json_write_begin(&asking->out, "parts", '[');
        for (size_t k = 0; k < set->there.count; k++)
            sxt_json_write_number(&asking->out, NULL, set->there.parts[k]);
        sxt_json_write_end(&asking->out, ']');
        sxt_json_write_end(&asking->out, '}');
    }
}

/* --- answering --- */

static void put_answer(struct asking *asking, const struct file *file)
{
    bool upload = true;
    const char *reason = "nothing is known of this file";
    if (is_push(file)) {
        upload = judge_push(file, &reason);
    } else if (file->is_same) {
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
    put_sets(asking, file, upload);
    sxt_json_write_end(&asking->out, '}');
}

/* The FileID is first: of a push only that counts. */
static void order_ids(struct file *file)
{
    if (file->id_count == 2 && file->ids[1].text[0] == 'f') {
        struct sxt_catalog_id first = file->ids[0];
        file->ids[0] = file->ids[1];
        file->ids[1] = first;
    }
}

static int look_up_file(struct asking *asking, struct file *file)
{
    int status = SXT_OK;
    size_t count = is_push(file) ? 1 : file->id_count;
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        status = sxt_catalog_describe(asking->request->service->catalog, asking->request->tenant, &file->ids[i],
                                      take_listed, file, asking->json.error);
        if (status == SXT_ERROR_NOT_FOUND)
            status = SXT_OK;
        else if (status != SXT_OK)
            asking->code = SXT_CODE_STORE;
    }
    return status;
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
    order_ids(&file);
    if (status == SXT_OK && is_push(&file))
        status = look_for_sets(asking, &file);
    if (status == SXT_OK)
        status = look_up_file(asking, &file);
    if (status == SXT_OK)
        put_answer(asking, &file);
    for (int i = 0; i < 2; i++)
        free(file.sets[i].there.parts);
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
