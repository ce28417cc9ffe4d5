/*
 * upload.c: parts of symbfiles. The body goes to a temporary file of the store while it is checked; it is acknowledged
 * when the catalog has it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "service/handlers.h"
#include "service/server.h"
#include "symbfile/symbfile.h"

#define GENERATION_MAX 128

struct upload {
    struct sxt_catalog_part part;
    struct sxt_store_writing *writing;
    struct sxt_symbfile_checker *checker;
    bool is_stored;
};

static bool read_headers(struct sxt_request *request, struct sxt_catalog_part *part);

static enum sxt_handled begin(struct sxt_request *request, enum sxt_catalog_kind kind)
{
    struct upload *upload = request->state = calloc(1, sizeof *upload);
    sxt_error error;
    if (upload == NULL) {
        sxt_fail_memory(&error, sizeof *upload);
        sxt_reply_error(request, &error);
        return SXT_DONE;
    }
    upload->part.tenant = request->tenant;
    upload->part.kind = kind;
    if (read_headers(request, &upload->part) &&
        (sxt_symbfile_checker_open(&upload->checker, &error) != SXT_OK ||
         sxt_store_write_begin(request->service->store, &upload->writing, &error) != SXT_OK))
        sxt_reply_error(request, &error);
    return SXT_DONE;
}

enum sxt_handled sxt_upload_begin_ranges(struct sxt_request *request)
{
    return begin(request, SXT_CATALOG_RANGES);
}

enum sxt_handled sxt_upload_begin_pads(struct sxt_request *request)
{
    return begin(request, SXT_CATALOG_PADS);
}

/* --- the headers --- */

/* "12": digits and nothing else. */
static bool parse_count(const char *text, uint32_t *out)
{
    uint64_t sum = 0;
    size_t size = strspn(text, "0123456789");
    if (size == 0 || size > 10 || text[size] != 0)
        return false;
    for (size_t i = 0; i < size; i++)
        sum = 10 * sum + (uint64_t)(text[i] - '0');
    *out = (uint32_t)sum;
    return sum <= UINT32_MAX;
}

static bool read_number(struct sxt_request *request, const char *name, uint32_t *out)
{
    const char *text = sxt_request_header(request, name);
    if (text == NULL)
        sxt_reply_failure(request, 400, SXT_CODE_PART, "the header %s is missing", name);
    else if (!parse_count(text, out))
        sxt_reply_failure(request, 400, SXT_CODE_PART, "%s is not a number: '%.40s'", name, text);
    else
        return true;
    return false;
}

static bool read_part(struct sxt_request *request, struct sxt_catalog_part *part)
{
    uint32_t limit = request->service->options.parts_limit;
    if (!read_number(request, "FilePart", &part->part) || !read_number(request, "FileParts", &part->parts))
        return false;
    if (part->part >= part->parts)
        sxt_reply_failure(request, 400, SXT_CODE_PART, "FilePart is not below FileParts: %u of %u", part->part,
                          part->parts);
    else if (part->parts > limit)
        sxt_reply_failure(request, 400, SXT_CODE_TOO_MANY_PARTS, "%u parts; the most is %u", part->parts, limit);
    else
        return true;
    return false;
}

static bool read_ids(struct sxt_request *request, struct sxt_catalog_part *part)
{
    const char *file_id = sxt_request_header(request, "FileID"), *build_id = sxt_request_header(request, "BuildID");
    if (file_id == NULL)
        sxt_reply_failure(request, 400, SXT_CODE_FILE_ID, "the header FileID is missing");
    else if (!sxt_catalog_parse_file_id(sxt_string_of(file_id), &part->file_id))
        sxt_reply_failure(request, 400, SXT_CODE_FILE_ID, "FileID is not 16 bytes in base64url or hexadecimal: '%.80s'",
                          file_id);
    else if (build_id != NULL && !sxt_catalog_parse_build_id(sxt_string_of(build_id), &part->build_id))
        sxt_reply_failure(request, 400, SXT_CODE_BUILD_ID, "BuildID is not hexadecimal: '%.140s'", build_id);
    else
        return true;
    return false;
}

bool sxt_upload_is_generation(sxt_string text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~+/=:-";
    for (size_t i = 0; i < text.size; i++)
        if (memchr(letters, text.data[i], sizeof letters - 1) == NULL)
            return false;
    return text.size > 0 && text.size <= GENERATION_MAX;
}

static bool read_generation(struct sxt_request *request, struct sxt_catalog_part *part)
{
    const char *text = sxt_request_header(request, "Generation");
    if (text == NULL)
        return true;
    if (!sxt_upload_is_generation(sxt_string_of(text))) {
        sxt_reply_failure(request, 400, SXT_CODE_GENERATION, "Generation is not a word of at most %d letters: '%.40s'",
                          GENERATION_MAX, text);
        return false;
    }
    part->generation = sxt_string_of(text);
    return true;
}

static bool read_headers(struct sxt_request *request, struct sxt_catalog_part *part)
{
    return read_ids(request, part) && read_part(request, part) && read_generation(request, part);
}

/* --- the body --- */

/* The file is not what it should be. */
static int refuse(struct sxt_request *request, const sxt_error *error)
{
    if (error->code == SXT_ERROR_MEMORY)
        sxt_reply_error(request, error);
    else
        sxt_reply_failure(request, 400, SXT_CODE_NOT_SYMBFILE, "%s", error->text);
    return error->code;
}

int sxt_upload_piece(struct sxt_request *request, const void *data, size_t size, sxt_error *error)
{
    struct upload *upload = request->state;
    if (sxt_symbfile_checker_feed(upload->checker, data, size, error) != SXT_OK)
        return refuse(request, error);
    return sxt_store_write(upload->writing, data, size, error);
}

enum sxt_handled sxt_upload_handle(struct sxt_request *request)
{
    struct upload *upload = request->state;
    struct sxt_catalog *catalog = request->service->catalog;
    struct sxt_symbfile_counts counts;
    bool is_complete = false;
    sxt_error error;
    if (sxt_symbfile_checker_finish(upload->checker, &counts, &error) != SXT_OK) {
        refuse(request, &error);
        return SXT_DONE;
    }
    if (sxt_catalog_add_part(catalog, &upload->part, &upload->writing, &is_complete, &error) != SXT_OK) {
        sxt_reply_error(request, &error);
        return SXT_DONE;
    }
    upload->is_stored = true;
    /* The part is safe. If the set cannot be merged now, whoever asks for the binary does it. */
    if (is_complete) {
        if (sxt_catalog_settle(catalog, upload->part.tenant, &upload->part.file_id, &error) == SXT_OK)
            sxt_request_count(request, SXT_METRIC_MERGES, 1);
        else
            sxt_request_log(request, "cannot merge the parts: %s", error.text);
    }
    sxt_reply_text(request, 200, "application/json", "{\"success\":true,\"status\":200}");
    return SXT_DONE;
}

void sxt_upload_finish(struct sxt_request *request)
{
    struct upload *upload = request->state;
    if (upload == NULL)
        return;
    sxt_request_count(request, upload->is_stored ? SXT_METRIC_PARTS : SXT_METRIC_PARTS_REFUSED, 1);
    sxt_symbfile_checker_close(&upload->checker);
    sxt_store_write_abandon(&upload->writing);
    free(upload);
    request->state = NULL;
}
