/*
 * files.c: whole files. ELF files and sources come by PUT, archives that were made of them go by GET.
 *
 * A body goes to a temporary file of the store. It is acknowledged when the catalog has it and its symbols were read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "service/content.h"
#include "service/handlers.h"
#include "service/receive_file.h"
#include "service/server.h"

#define REPLY_LIMIT ((size_t)64 << 20)
#define LIST_MOST   1000

struct file_upload {
    struct sxt_catalog_id id;
    struct sxt_store_writing *writing;
    bool is_stored;
};

static enum sxt_handled fail(struct sxt_request *request, const sxt_error *error)
{
    sxt_reply_error(request, error);
    return SXT_DONE;
}

static bool read_id(struct sxt_request *request, struct sxt_catalog_id ids[2], size_t *count)
{
    if (sxt_catalog_parse_id(sxt_string_of(request->words[0]), ids, count))
        return true;
    sxt_reply_failure(request, 400, SXT_CODE_PATH, "not a build ID or FileID: '%.140s'", request->words[0]);
    return false;
}

/* --- receiving --- */

enum sxt_handled sxt_file_receive(struct sxt_request *request, const struct sxt_catalog_id *id)
{
    struct file_upload *upload = request->state = calloc(1, sizeof *upload);
    sxt_error error;
    if (upload == NULL) {
        sxt_fail_memory(&error, sizeof *upload);
        return fail(request, &error);
    }
    upload->id = *id;
    if (sxt_store_write_begin(request->service->store, &upload->writing, &error) != SXT_OK)
        return fail(request, &error);
    return SXT_DONE;
}

const struct sxt_catalog_id *sxt_file_wanted(const struct sxt_request *request)
{
    return &((const struct file_upload *)request->state)->id;
}

enum sxt_handled sxt_files_begin(struct sxt_request *request)
{
    struct sxt_catalog_id ids[2];
    size_t count;
    return read_id(request, ids, &count) ? sxt_file_receive(request, &ids[0]) : SXT_DONE;
}

int sxt_files_piece(struct sxt_request *request, const void *data, size_t size, sxt_error *error)
{
    struct file_upload *upload = request->state;
    return sxt_store_write(upload->writing, data, size, error);
}

/* Says why a file was not taken. What is wrong with the file is the client's to know, the rest is not. */
static void refuse(struct sxt_request *request, const sxt_error *error)
{
    if (error->code == SXT_ERROR_USAGE)
        sxt_reply_failure(request, 400, SXT_CODE_OTHER_FILE, "%s", error->text);
    else if (error->code == SXT_ERROR_FORMAT || error->code == SXT_ERROR_UNSUPPORTED)
        sxt_reply_failure(request, 400, SXT_CODE_NOT_ELF, "%s", error->text);
    else if (error->code == SXT_ERROR_LIMIT && error->reason == SXT_REASON_INFLATE_LIMIT)
        sxt_reply_failure(request, 413, SXT_CODE_EXTRACTION_LIMIT, "%s", error->text);
    else
        sxt_reply_error(request, error);
}

static void write_id(struct sxt_json_writer *json, const char *key, const struct sxt_catalog_id *id)
{
    if (id->text[0] != 0)
        sxt_json_write_string(json, key, sxt_string_of(id->text + 2));
    else
        sxt_json_write_null(json, key);
}

void sxt_file_reply_added(struct sxt_request *request, const struct sxt_catalog_added *added, unsigned status)
{
    struct sxt_buffer body;
    sxt_buffer_init(&body, REPLY_LIMIT);
    struct sxt_json_writer json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_bool(&json, "success", true);
    sxt_json_write_number(&json, "status", status);
    write_id(&json, "file_id", &added->file_id);
    write_id(&json, "build_id", &added->build_id);
    sxt_json_write_string(&json, "kind", sxt_string_of(added->is_debug_file ? "debuginfo" : "executable"));
    sxt_json_write_end(&json, '}');
    sxt_reply_buffer(request, status, "application/json", &body);
    sxt_buffer_free(&body);
}

bool sxt_file_add(struct sxt_request *request, const char *name, struct sxt_catalog_added *added)
{
    struct file_upload *upload = request->state;
    sxt_error error;
    upload->is_stored = sxt_catalog_add_file(request->service->catalog, request->tenant, &upload->id, name,
                                             &upload->writing, added, &error) == SXT_OK;
    if (!upload->is_stored)
        refuse(request, &error);
    return upload->is_stored;
}

enum sxt_handled sxt_files_handle(struct sxt_request *request)
{
    struct sxt_catalog_added added;
    if (sxt_file_add(request, sxt_request_query(request, "name"), &added))
        sxt_file_reply_added(request, &added, added.was_there ? 200 : 201);
    return SXT_DONE;
}

enum sxt_handled sxt_files_handle_source(struct sxt_request *request)
{
    struct file_upload *upload = request->state;
    char *path = sxt_request_alloc(request, strlen(request->words[1]) + 2);
    sxt_error error;
    if (path == NULL) {
        sxt_fail_memory(&error, strlen(request->words[1]) + 2);
        return fail(request, &error);
    }
    *path = '/';
    strcpy(path + 1, request->words[1]);
    if (sxt_catalog_add_source(request->service->catalog, request->tenant, &upload->id, path, &upload->writing,
                               &error) != SXT_OK)
        return fail(request, &error);
    upload->is_stored = true;
    sxt_reply_text(request, 201, "application/json", "{\"success\":true,\"status\":201}");
    return SXT_DONE;
}

void sxt_files_finish(struct sxt_request *request)
{
    struct file_upload *upload = request->state;
    if (upload == NULL)
        return;
    sxt_request_count(request, upload->is_stored ? SXT_METRIC_FILES : SXT_METRIC_FILES_REFUSED, 1);
    sxt_store_write_abandon(&upload->writing);
    free(upload);
    request->state = NULL;
}

/* --- giving --- */

enum sxt_handled sxt_files_get(struct sxt_request *request)
{
    static const struct {
        const char *word;
        enum sxt_catalog_content content;
    } contents[] = {
        {"lidia", SXT_CATALOG_LIDIA},
        {"symbfile", SXT_CATALOG_SYMBFILE},
        {"returnpads", SXT_CATALOG_RETURNPADS},
    };
    struct sxt_catalog_id ids[2];
    size_t count;
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (strcmp(request->words[1], contents[i].word) == 0)
            return read_id(request, ids, &count)
                       ? sxt_reply_content(request, ids, count, contents[i].content, NULL, NULL)
                       : SXT_DONE;
    sxt_reply_failure(request, 404, SXT_CODE_NO_ROUTE, "there are lidia, symbfile and returnpads of a file");
    return SXT_DONE;
}

enum sxt_handled sxt_reply_content(struct sxt_request *request, const struct sxt_catalog_id *ids, size_t count,
                                   enum sxt_catalog_content content, const char *path, const char *size_header)
{
    struct sxt_store_object *object = NULL;
    char hash[65], number[24];
    sxt_error error;
    if (!request->may_wait)
        return SXT_WAIT;
    if (sxt_catalog_open_content(request->service->catalog, request->tenant, ids, count, content, path, &object, hash,
                                 &error) != SXT_OK)
        return fail(request, &error);
    if (size_header != NULL) {
        snprintf(number, sizeof number, "%llu", (unsigned long long)sxt_store_object_size(object));
        sxt_reply_header(request, size_header, number);
    }
    sxt_reply_object(request, "application/octet-stream", hash, &object);
    return SXT_DONE;
}

/* --- lists --- */

static void write_text(struct sxt_json_writer *json, const char *key, const char *text)
{
    if (text != NULL)
        sxt_json_write_string(json, key, sxt_string_of(text));
    else
        sxt_json_write_null(json, key);
}

struct list {
    struct sxt_json_writer json;
    char next[SXT_CATALOG_ID_MAX];
    size_t count;
};

static int write_listed(void *data, const struct sxt_catalog_listed *listed)
{
    struct list *list = data;
    struct sxt_json_writer *json = &list->json;
    sxt_json_write_begin(json, NULL, '{');
    sxt_catalog_write_listed(json, listed);
    sxt_json_write_end(json, '}');
    snprintf(list->next, sizeof list->next, "%s", listed->id);
    list->count++;
    return SXT_OK;
}

/* Digits and nothing else; 0 if it is not a number from 1 to LIST_MOST. */
size_t sxt_files_read_limit(const char *text)
{
    size_t size = strspn(text, "0123456789"), sum = 0;
    for (size_t i = 0; i < size && sum <= LIST_MOST; i++)
        sum = 10 * sum + (size_t)(text[i] - '0');
    return size > 0 && text[size] == 0 && sum <= LIST_MOST ? sum : 0;
}

enum sxt_handled sxt_files_list(struct sxt_request *request)
{
    const char *search = sxt_request_query(request, "search"), *after = sxt_request_query(request, "after"),
               *limit = sxt_request_query(request, "limit");
    struct list list = {0};
    struct sxt_buffer body;
    sxt_error error;
    size_t most = limit != NULL ? sxt_files_read_limit(limit) : LIST_MOST;
    if (!request->may_wait)
        return SXT_WAIT;
    if (most == 0) {
        sxt_reply_failure(request, 400, SXT_CODE_PATH, "limit is not a number from 1 to %d", LIST_MOST);
        return SXT_DONE;
    }
    sxt_buffer_init(&body, REPLY_LIMIT);
    list.json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&list.json, NULL, '{');
    sxt_json_write_begin(&list.json, "files", '[');
    int status =
        sxt_catalog_list(request->service->catalog, request->tenant, search, after, most, write_listed, &list, &error);
    sxt_json_write_end(&list.json, ']');
    write_text(&list.json, "next", list.count == most ? list.next : NULL);
    sxt_json_write_end(&list.json, '}');
    if (status == SXT_OK)
        sxt_reply_buffer(request, 200, "application/json", &body);
    sxt_buffer_free(&body);
    return status == SXT_OK ? SXT_DONE : fail(request, &error);
}

/* What is there of one file. */
enum sxt_handled sxt_files_describe(struct sxt_request *request)
{
    struct sxt_catalog_id ids[2];
    size_t count;
    struct list list = {0};
    struct sxt_buffer body;
    sxt_error error;
    int status = SXT_ERROR_NOT_FOUND;
    if (!read_id(request, ids, &count))
        return SXT_DONE;
    if (!request->may_wait)
        return SXT_WAIT;
    sxt_buffer_init(&body, REPLY_LIMIT);
    list.json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    for (size_t i = 0; i < count && status == SXT_ERROR_NOT_FOUND; i++)
        status = sxt_catalog_describe(request->service->catalog, request->tenant, &ids[i], write_listed, &list, &error);
    if (status == SXT_OK)
        sxt_reply_buffer(request, 200, "application/json", &body);
    sxt_buffer_free(&body);
    return status == SXT_OK ? SXT_DONE : fail(request, &error);
}
