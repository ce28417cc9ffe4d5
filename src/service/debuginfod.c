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

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "service/content.h"
#include "service/handlers.h"
#include "service/server.h"
#include "source/elf/elf.h"

#define SIZE_HEADER   "X-DEBUGINFOD-SIZE"
#define INFLATE_LIMIT ((uint64_t)4 << 30)
#define REPLY_LIMIT   ((size_t)64 << 20)
#define LIST_MOST     10000

static bool read_id(struct sxt_request *request, struct sxt_catalog_id *id)
{
    if (sxt_catalog_parse_build_id(sxt_string_of(request->words[0]), id))
        return true;
    sxt_reply_failure(request, 400, SXT_CODE_PATH, "not a build ID: '%.140s'", request->words[0]);
    return false;
}

static enum sxt_handled reply_whole(struct sxt_request *request, enum sxt_catalog_content content)
{
    struct sxt_catalog_id id;
    return read_id(request, &id) ? sxt_reply_content(request, &id, 1, content, NULL, SIZE_HEADER) : SXT_DONE;
}

enum sxt_handled sxt_debuginfod_debuginfo(struct sxt_request *request)
{
    return reply_whole(request, SXT_CATALOG_DEBUGINFO);
}

enum sxt_handled sxt_debuginfod_executable(struct sxt_request *request)
{
    return reply_whole(request, SXT_CATALOG_EXECUTABLE);
}

enum sxt_handled sxt_debuginfod_source(struct sxt_request *request)
{
    struct sxt_catalog_id id;
    size_t room = strlen(request->words[1]) + 2;
    char *path = sxt_request_alloc(request, room);
    sxt_error error;
    if (!read_id(request, &id))
        return SXT_DONE;
    if (path == NULL) {
        sxt_fail_memory(&error, room);
        sxt_reply_error(request, &error);
        return SXT_DONE;
    }
    snprintf(path, room, "/%s", request->words[1]);
    return sxt_reply_content(request, &id, 1, SXT_CATALOG_SOURCE, path, SIZE_HEADER);
}

/* --- sections --- */

/* Appends a section of a file that has it with content. SXT_ERROR_NOT_FOUND otherwise. */
static int read_section(const struct sxt_file *file, const char *name, struct sxt_buffer *out, sxt_error *error)
{
    struct sxt_elf elf;
    int status = sxt_elf_open(&elf, file->data, file->size, INFLATE_LIMIT, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_elf_section *section = sxt_elf_section_named(&elf, name);
    if (section == NULL || section->type == SHT_NOBITS || section->offset > file->size ||
        section->size > file->size - section->offset)
        status = sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no such section");
    else
        sxt_buffer_append(out, file->data + section->offset, section->size); /* as it is: clients expand it */
    sxt_elf_close(&elf);
    return status;
}

static int find_section(struct sxt_request *request, const struct sxt_catalog_id *id, struct sxt_buffer *out,
                        sxt_error *error)
{
    static const enum sxt_catalog_content places[] = {SXT_CATALOG_DEBUGINFO, SXT_CATALOG_EXECUTABLE};
    int status = SXT_ERROR_NOT_FOUND;
    for (int i = 0; i < 2 && status == SXT_ERROR_NOT_FOUND; i++) {
        struct sxt_store_object *object = NULL;
        struct sxt_file file = {.owner = SXT_FILE_NOBODY};
        char hash[65];
        status = sxt_catalog_open_content(request->service->catalog, request->tenant, id, 1, places[i], NULL, &object,
                                          hash, error);
        if (status != SXT_OK)
            continue;
        status = sxt_store_map(object, &file, error);
        if (status == SXT_OK) {
            status = read_section(&file, request->words[1], out, error);
            sxt_file_close(&file);
        }
        sxt_store_close_object(&object);
    }
    return status;
}

enum sxt_handled sxt_debuginfod_section(struct sxt_request *request)
{
    struct sxt_catalog_id id;
    struct sxt_buffer section;
    char number[24];
    sxt_error error;
    if (!read_id(request, &id))
        return SXT_DONE;
    if (!request->may_wait)
        return SXT_WAIT;
    sxt_buffer_init(&section, SIZE_MAX / 2);
    int status = find_section(request, &id, &section, &error);
    snprintf(number, sizeof number, "%zu", section.size);
    sxt_reply_header(request, SIZE_HEADER, number);
    if (status == SXT_OK)
        sxt_reply_buffer(request, 200, "application/octet-stream", &section);
    else
        sxt_reply_error(request, &error);
    sxt_buffer_free(&section);
    return SXT_DONE;
}

/* --- metadata --- */

struct matching {
    struct sxt_json_writer json;
    const char *key, *value;
};

static bool matches(const struct matching *matching, const struct sxt_catalog_listed *listed)
{
    if (listed->build_id == NULL)
        return false;
    if (strcmp(matching->key, "buildid") == 0)
        return strcmp(matching->value, listed->build_id) == 0;
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
    if (!matches(matching, listed))
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
    int status =
        sxt_catalog_list(request->service->catalog, request->tenant, "", "", LIST_MOST, take_listed, &matching, &error);
    sxt_json_write_end(&matching.json, ']');
    sxt_json_write_bool(&matching.json, "complete", true);
    sxt_json_write_end(&matching.json, '}');
    if (status == SXT_OK)
        sxt_reply_buffer(request, 200, "application/json", &body);
    else
        sxt_reply_error(request, &error);
    sxt_buffer_free(&body);
    return SXT_DONE;
}
