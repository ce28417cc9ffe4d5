/*
 * debuginfod.c: the paths of a debuginfod server, for gdb, debuginfod-find and everything else that speaks to one.
 *
 *     /buildid/ID/debuginfo | executable | section/NAME | source/ABS/PATH      /metadata?key=…&value=…
 *
 * An unknown file is 404 without more: clients keep that answer.
 */
#include <elf.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "service/handlers.h"
#include "service/server.h"
#include "service/upstream.h"
#include "source/elf/elf.h"

#define SIZE_HEADER   "X-DEBUGINFOD-SIZE"
#define INFLATE_LIMIT ((uint64_t)4 << 30)
#define REPLY_LIMIT   ((size_t)64 << 20)
#define LIST_MOST     10000
#define RETRY_SECONDS "60"

static bool read_id(struct sxt_request *request, struct sxt_catalog_id *id)
{
    if (sxt_catalog_parse_build_id(sxt_string_of(request->words[0]), id))
        return true;
    sxt_reply_failure(request, 400, SXT_CODE_PATH, "not a build ID: '%.140s'", request->words[0]);
    return false;
}

/* A file that upstream servers may still turn out to have is 404 too, but others are not to believe that for long. */
static enum sxt_handled fail(struct sxt_request *request, const sxt_error *error)
{
    if (error->code == SXT_ERROR_NOT_FOUND && sxt_upstream_is_undecided(request))
        sxt_reply_header(request, "Retry-After", RETRY_SECONDS);
    sxt_reply_error(request, error);
    return SXT_DONE;
}

static void add_size(struct sxt_request *request, uint64_t size)
{
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)size);
    sxt_reply_header(request, SIZE_HEADER, number);
}

/* A file, or a source file. What is not there is asked of upstream servers. */
static enum sxt_handled reply_whole(struct sxt_request *request, enum sxt_catalog_content content,
                                    enum sxt_upstream_kind kind, const char *path)
{
    struct sxt_catalog_id id;
    struct sxt_store_object *object = NULL;
    char hash[65];
    sxt_error error;
    int status;
    if (!read_id(request, &id))
        return SXT_DONE;
    if (!request->may_wait)
        return SXT_WAIT;
    for (;;) {
        status = sxt_catalog_open_content(request->service->catalog, request->tenant, &id, 1, content, path, &object,
                                          hash, &error);
        if (status != SXT_ERROR_NOT_FOUND)
            break;
        enum sxt_upstream_answer answer = sxt_upstream_ask(request, &id, kind, path);
        if (answer == SXT_UPSTREAM_WAIT)
            return SXT_WAIT;
        if (answer == SXT_UPSTREAM_NOTHING)
            break;
    }
    if (status != SXT_OK)
        return fail(request, &error);
    add_size(request, sxt_store_object_size(object));
    sxt_reply_object(request, "application/octet-stream", hash, &object);
    return SXT_DONE;
}

enum sxt_handled sxt_debuginfod_debuginfo(struct sxt_request *request)
{
    return reply_whole(request, SXT_CATALOG_DEBUGINFO, SXT_UPSTREAM_DEBUGINFO, NULL);
}

enum sxt_handled sxt_debuginfod_executable(struct sxt_request *request)
{
    return reply_whole(request, SXT_CATALOG_EXECUTABLE, SXT_UPSTREAM_EXECUTABLE, NULL);
}

enum sxt_handled sxt_debuginfod_source(struct sxt_request *request)
{
    size_t room = strlen(request->words[1]) + 2;
    char *path = sxt_request_alloc(request, room);
    sxt_error error;
    if (path == NULL) {
        sxt_fail_memory(&error, room);
        return fail(request, &error);
    }
    snprintf(path, room, "/%s", request->words[1]);
    return reply_whole(request, SXT_CATALOG_SOURCE, SXT_UPSTREAM_SOURCE, path);
}

/* --- sections --- */

/* Where a section is in an object. */
struct place {
    struct sxt_store_object *object;
    char hash[65];
    uint64_t start, size;
};

/* Finds a section with content. It is sent as it is in the file: clients expand it. SXT_ERROR_NOT_FOUND otherwise. */
static int locate(const struct sxt_file *file, const char *name, struct place *out, sxt_error *error)
{
    struct sxt_elf elf;
    int status = sxt_elf_open(&elf, file->data, file->size, INFLATE_LIMIT, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_elf_section *section = sxt_elf_section_named(&elf, name);
    if (section == NULL || section->type == SHT_NOBITS || section->offset > file->size ||
        section->size > file->size - section->offset) {
        status = sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no such section");
    } else {
        out->start = section->offset;
        out->size = section->size;
    }
    sxt_elf_close(&elf);
    return status;
}

/* The section in one of the files of a binary. *HAS_FILE says whether there is such a file. */
static int find_in(struct sxt_request *request, const struct sxt_catalog_id *id, enum sxt_catalog_content content,
                   bool *has_file, struct place *out, sxt_error *error)
{
    struct sxt_file file = {.owner = SXT_FILE_NOBODY};
    int status = sxt_catalog_open_content(request->service->catalog, request->tenant, id, 1, content, NULL,
                                          &out->object, out->hash, error);
    *has_file = status == SXT_OK;
    if (status != SXT_OK)
        return status;
    status = sxt_store_map(out->object, &file, error);
    if (status == SXT_OK) {
        status = locate(&file, request->words[1], out, error);
        sxt_file_close(&file);
    }
    if (status != SXT_OK)
        sxt_store_close_object(&out->object);
    return status;
}

/* The debug file comes first, then the executable. What is not there is asked of upstream servers. */
static int find_section(struct sxt_request *request, const struct sxt_catalog_id *id, struct place *out,
                        bool *must_wait, sxt_error *error)
{
    static const struct {
        enum sxt_catalog_content content;
        enum sxt_upstream_kind kind;
    } files[] = {{SXT_CATALOG_DEBUGINFO, SXT_UPSTREAM_DEBUGINFO}, {SXT_CATALOG_EXECUTABLE, SXT_UPSTREAM_EXECUTABLE}};
    int status = SXT_ERROR_NOT_FOUND;
    for (int i = 0; i < 2 && status == SXT_ERROR_NOT_FOUND && !*must_wait;) {
        bool has_file;
        status = find_in(request, id, files[i].content, &has_file, out, error);
        if (status != SXT_ERROR_NOT_FOUND)
            break;
        enum sxt_upstream_answer answer =
            has_file ? SXT_UPSTREAM_NOTHING : sxt_upstream_ask(request, id, files[i].kind, NULL);
        *must_wait = answer == SXT_UPSTREAM_WAIT;
        if (answer == SXT_UPSTREAM_NOTHING)
            i++;
    }
    return status;
}

enum sxt_handled sxt_debuginfod_section(struct sxt_request *request)
{
    struct sxt_catalog_id id;
    struct place place = {.object = NULL};
    bool must_wait = false;
    sxt_error error;
    if (!read_id(request, &id))
        return SXT_DONE;
    if (!request->may_wait)
        return SXT_WAIT;
    int status = find_section(request, &id, &place, &must_wait, &error);
    if (must_wait)
        return SXT_WAIT;
    if (status != SXT_OK)
        return fail(request, &error);
    add_size(request, place.size);
    sxt_reply_object_part(request, "application/octet-stream", place.hash, &place.object, place.start, place.size);
    return SXT_DONE;
}

/* --- metadata --- */

struct matching {
    struct sxt_json_writer json;
    const char *key, *value;
    size_t seen; /* binaries that were looked at */
};

static bool matches(const struct matching *matching, const struct sxt_catalog_listed *listed)
{
    if (listed->build_id == NULL)
        return false;
    if (strcmp(matching->key, "buildid") == 0)
        return strcasecmp(matching->value, listed->build_id) == 0;
    if (listed->name == NULL)
        return false;
    return strcmp(matching->key, "glob") == 0 ? fnmatch(matching->value, listed->name, 0) == 0
                                              : strcmp(matching->value, listed->name) == 0;
}

static int take_listed(void *data, const struct sxt_catalog_listed *listed)
{
    struct matching *matching = data;
    const struct {
        const char *type;
        bool is_there;
    } contents[] = {{"executable", listed->has_executable}, {"debuginfo", listed->has_debuginfo}};
    if (++matching->seen > LIST_MOST || !matches(matching, listed))
        return SXT_OK;
    for (int i = 0; i < 2; i++) {
        if (!contents[i].is_there)
            continue;
        sxt_json_write_begin(&matching->json, NULL, '{');
        sxt_json_write_string(&matching->json, "type", sxt_string_of(contents[i].type));
        sxt_json_write_string(&matching->json, "buildid", sxt_string_of(listed->build_id));
        sxt_json_write_string(&matching->json, "file", sxt_string_of(listed->name != NULL ? listed->name : ""));
        sxt_json_write_end(&matching->json, '}');
    }
    return SXT_OK;
}

/* One build ID is looked for by its name; everything else among all binaries that there are, up to LIST_MOST. */
static int find_matching(struct sxt_request *request, struct matching *matching, sxt_error *error)
{
    struct sxt_catalog *catalog = request->service->catalog;
    struct sxt_catalog_id id;
    bool is_file = strcmp(matching->key, "file") == 0;
    if (strcmp(matching->key, "buildid") != 0)
        return sxt_catalog_list(catalog, request->tenant, is_file ? matching->value : "", "", LIST_MOST + 1,
                                take_listed, matching, error);
    if (!sxt_catalog_parse_build_id(sxt_string_of(matching->value), &id))
        return SXT_OK;
    int status = sxt_catalog_describe(catalog, request->tenant, &id, take_listed, matching, error);
    return status == SXT_ERROR_NOT_FOUND ? SXT_OK : status;
}

enum sxt_handled sxt_debuginfod_metadata(struct sxt_request *request)
{
    struct matching matching = {.key = sxt_request_query(request, "key"), .value = sxt_request_query(request, "value")};
    struct sxt_buffer body;
    sxt_error error;
    if (matching.key == NULL || matching.value == NULL ||
        (strcmp(matching.key, "file") != 0 && strcmp(matching.key, "glob") != 0 &&
         strcmp(matching.key, "buildid") != 0)) {
        sxt_reply_failure(request, 400, SXT_CODE_PATH, "key is not file, glob or buildid, or value is missing");
        return SXT_DONE;
    }
    if (!request->may_wait)
        return SXT_WAIT;
    sxt_buffer_init(&body, REPLY_LIMIT);
    matching.json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&matching.json, NULL, '{');
    sxt_json_write_begin(&matching.json, "results", '[');
    int status = find_matching(request, &matching, &error);
    sxt_json_write_end(&matching.json, ']');
    sxt_json_write_bool(&matching.json, "complete", matching.seen <= LIST_MOST);
    sxt_json_write_end(&matching.json, '}');
    if (status == SXT_OK)
        sxt_reply_buffer(request, 200, "application/json", &body);
    else
        sxt_reply_error(request, &error);
    sxt_buffer_free(&body);
    return SXT_DONE;
}
