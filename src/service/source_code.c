/*
 * source_code.c: POST /source/v1.
 *
 *     {"debugName":"a","debugId":"…","moduleOffset":"0x1139","file":"/src/a.c"}
 *     {"symbolsLastModified":null,"sourceLastModified":null,"file":"/src/a.c","source":"int main …"}
 *
 * A file is given only if it is in the symbols of that offset, and only from what was uploaded for the binary: whoever
 * asks cannot try paths.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "service/find.h"
#include "service/handlers.h"
#include "service/module_question.h"
#include "service/server.h"

#define SOURCE_LIMIT ((uint64_t)32 << 20)
#define REPLY_LIMIT  ((size_t)256 << 20) /* a byte takes up to six in JSON */

struct search {
    sxt_string file;
    bool has_files, is_there;
};

static int take_chain(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct search *search = data;
    (void)index;
    for (size_t i = 0; i < count; i++) {
        search->has_files |= frames[i].file.data != NULL;
        search->is_there |= frames[i].file.data != NULL && sxt_string_equal(frames[i].file, search->file);
    }
    return SXT_OK;
}

/* Whether the file is in the symbols of the offset. Otherwise the reply is made. */
static bool check_file(struct sxt_request *request, struct sxt_catalog_binary *binary,
                       const struct sxt_module_question *question)
{
    struct search search = {.file = question->file};
    uint64_t address = sxt_catalog_base_address(binary) + question->offset;
    struct sxt_catalog_question asked = {.addresses = &address, .count = 1};
    sxt_error error;
    if (sxt_catalog_lookup(binary, &asked, take_chain, &search, &error) != SXT_OK)
        sxt_reply_error(request, &error);
    else if (!search.is_there)
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_FILE, "%s",
                          search.has_files ? "the file is not in the symbols of this offset"
                                           : "the symbols of this offset have no files");
    return search.is_there;
}

static void reply_source(struct sxt_request *request, const struct sxt_module_question *question,
                         const struct sxt_file *source)
{
    struct sxt_buffer body;
    sxt_buffer_init(&body, REPLY_LIMIT);
    struct sxt_json_writer json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_null(&json, "symbolsLastModified");
    sxt_json_write_null(&json, "sourceLastModified");
    sxt_json_write_string(&json, "file", question->file);
    sxt_json_write_string(&json, "source", (sxt_string){(const char *)source->data, source->size});
    sxt_json_write_end(&json, '}');
    sxt_reply_buffer(request, 200, "application/json", &body);
    sxt_buffer_free(&body);
}

static void answer(struct sxt_request *request, const struct sxt_module_question *question,
                   const struct sxt_catalog_id *ids, size_t id_count, struct sxt_catalog_binary *binary)
{
    if (!check_file(request, binary, question))
        return;
    struct sxt_store_object *object = NULL;
    struct sxt_file source;
    char hash[65], *path = strndup(question->file.data, question->file.size);
    sxt_error error;
    int status = path == NULL ? sxt_fail_memory(&error, question->file.size + 1)
                              : sxt_catalog_open_content(request->service->catalog, request->tenant, ids, id_count,
                                                         SXT_CATALOG_SOURCE, path, &object, hash, &error);
    free(path);
    if (status == SXT_OK && sxt_store_object_size(object) > SOURCE_LIMIT)
        sxt_reply_failure(request, 413, SXT_CODE_TOO_LARGE, "the source file is too long");
    else if (status == SXT_OK && (status = sxt_store_map(object, &source, &error)) == SXT_OK) {
        if (sxt_request_count_memory(request, source.size))
            reply_source(request, question, &source);
        sxt_file_close(&source);
    }
    sxt_store_close_object(&object);
    if (status == SXT_ERROR_NOT_FOUND || status == SXT_ERROR_USAGE) /* a relative path cannot be stored */
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_FILE, "the source file is not stored");
    else if (status != SXT_OK)
        sxt_reply_error(request, &error);
}

static bool is_complete(const struct sxt_module_question *question)
{
    return question->has_offset && question->file.data != NULL;
}

enum sxt_handled sxt_handle_source_code(struct sxt_request *request)
{
    static const struct sxt_module_handler handler = {is_complete, "the request lacks debugId, moduleOffset or file",
                                                      answer};
    return sxt_module_question_handle(request, &handler);
}
