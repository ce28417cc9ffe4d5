/* s3_upload.c: stores an object with one PUT, or above 64 MiB in parts, which are put together or removed at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/s3.h"

#define SINGLE_MAX    ((uint64_t)64 << 20)
#define PARTS_MAX     10000
#define PARTS_AT_ONCE 4
#define UPLOAD_MAX    1024 /* bytes of the id of an upload */
#define LIST_MAX      ((size_t)4 << 20)

struct source {
    const void *data; /* NULL: FILE */
    int file;
    uint64_t size;
};

struct upload {
    struct sxt_s3 *s3;
    const char *key;
    const struct source *source;
    uint64_t part_size;
    size_t count;
    struct sxt_buffer id; /* encoded for a query, NUL after it */
    char (*etags)[SXT_S3_ETAG_MAX];
    sxt_error *error;
};

static int upload_in_parts(struct sxt_s3 *s3, const char *key, const struct source *source, char etag[SXT_S3_ETAG_MAX],
                           sxt_error *error);

static void set_body(struct sxt_s3_call *call, const struct source *source, uint64_t offset, uint64_t size)
{
    call->size = (size_t)size;
    call->body_is_file = source->data == NULL;
    call->file = source->file;
    call->file_offset = offset;
    call->body = source->data != NULL ? (const char *)source->data + offset : NULL;
}

int sxt_s3_upload(struct sxt_s3 *s3, const char *key, const void *data, int file, uint64_t size,
                  char etag[SXT_S3_ETAG_MAX], sxt_error *error)
{
    const struct source source = {data, file, size};
    *etag = 0;
    if (size > SINGLE_MAX)
        return upload_in_parts(s3, key, &source, etag, error);
    struct sxt_s3_call call = {.method = "PUT", .key = key};
    set_body(&call, &source, 0, size);
    int status = sxt_s3_send(s3, &call, 1, error);
    if (status == SXT_OK)
        sxt_http_find_header(&call.headers, "ETag", etag, SXT_S3_ETAG_MAX);
    sxt_s3_call_free(&call);
    return status;
}

static int begin_parts(struct upload *upload)
{
    char id[UPLOAD_MAX];
    struct sxt_s3_call call = {.method = "POST", .key = upload->key, .query = "uploads="};
    int status = sxt_s3_send(upload->s3, &call, 1, upload->error);
    if (status == SXT_OK && (!sxt_s3_find_text(&call.answer, NULL, "UploadId", id, sizeof id) || *id == 0))
        status = sxt_fail(upload->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the bucket %s answers without an UploadId",
                          upload->s3->bucket);
    if (status == SXT_OK) {
        sxt_s3_encode(&upload->id, id, false);
        sxt_buffer_u8(&upload->id, 0);
        status = sxt_buffer_status(&upload->id, upload->error);
    }
    sxt_s3_call_free(&call);
    return status;
}

/* Sends parts FIRST and the following ones. */
static int send_parts(struct upload *upload, size_t first, size_t count)
{
    struct sxt_s3_call calls[PARTS_AT_ONCE] = {0};
    char queries[PARTS_AT_ONCE][3 * UPLOAD_MAX + 60];
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = (first + i) * upload->part_size, left = upload->source->size - offset;
        snprintf(queries[i], sizeof queries[i], "partNumber=%zu&uploadId=%s", first + i + 1,
                 (const char *)upload->id.data);
        calls[i] = (struct sxt_s3_call){.method = "PUT", .key = upload->key, .query = queries[i]};
        set_body(&calls[i], upload->source, offset, left < upload->part_size ? left : upload->part_size);
    }
    int status = sxt_s3_send(upload->s3, calls, count, upload->error);
    for (size_t i = 0; i < count; i++) {
        if (status == SXT_OK &&
            !sxt_http_find_header(&calls[i].headers, "ETag", upload->etags[first + i], SXT_S3_ETAG_MAX))
            status = sxt_fail(upload->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the bucket %s answers without an ETag",
                              upload->s3->bucket);
        sxt_s3_call_free(&calls[i]);
    }
    return status;
}

/* An ETag has quotes, which XML allows in a text; a hostile one could have more. */
static void append_escaped(struct sxt_buffer *to, const char *text)
{
    for (; *text != 0; text++)
        if (strchr("&<>", *text) != NULL)
            sxt_buffer_print(to, "&#%d;", *text);
        else
            sxt_buffer_u8(to, (uint8_t)*text);
}

static int end_parts(struct upload *upload, char etag[SXT_S3_ETAG_MAX])
{
    char query[3 * UPLOAD_MAX + 60], code[80];
    struct sxt_buffer list;
    sxt_buffer_init(&list, LIST_MAX);
    sxt_buffer_print(&list, "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    for (size_t i = 0; i < upload->count; i++) {
        sxt_buffer_print(&list, "<Part><PartNumber>%zu</PartNumber><ETag>", i + 1);
        append_escaped(&list, upload->etags[i]);
        sxt_buffer_print(&list, "</ETag></Part>");
    }
    sxt_buffer_print(&list, "</CompleteMultipartUpload>");
    snprintf(query, sizeof query, "uploadId=%s", (const char *)upload->id.data);
    struct sxt_s3_call call = {
        .method = "POST", .key = upload->key, .query = query, .body = list.data, .size = list.size};
    int status = sxt_buffer_status(&list, upload->error);
    if (status == SXT_OK)
        status = sxt_s3_send(upload->s3, &call, 1, upload->error);
    /* The status is sent before the work is done, so a failure can have status 200. */
    if (status == SXT_OK && sxt_s3_find_text(&call.answer, "Error", "Code", code, sizeof code))
        status = sxt_fail(upload->error, SXT_ERROR_IO, SXT_NO_OFFSET, "the bucket %s cannot put '%.100s' together: %s",
                          upload->s3->bucket, upload->key, code);
    if (status == SXT_OK)
        sxt_s3_find_text(&call.answer, "CompleteMultipartUploadResult", "ETag", etag, SXT_S3_ETAG_MAX);
    sxt_s3_call_free(&call);
    sxt_buffer_free(&list);
    return status;
}

/* Best effort: parts that stay cost space until the bucket's own rule removes them. */
static void abort_parts(struct upload *upload)
{
    char query[3 * UPLOAD_MAX + 60];
    snprintf(query, sizeof query, "uploadId=%s", (const char *)upload->id.data);
    struct sxt_s3_call call = {.method = "DELETE", .key = upload->key, .query = query};
    sxt_s3_send(upload->s3, &call, 1, NULL);
    sxt_s3_call_free(&call);
}

/* A repeated request to put the parts together fails if the first one succeeded and only its answer was lost. */
static bool is_there(struct upload *upload, char etag[SXT_S3_ETAG_MAX])
{
    char length[32], expected[32];
    struct sxt_s3_call call = {.method = "HEAD", .key = upload->key};
    bool found = sxt_s3_send(upload->s3, &call, 1, NULL) == SXT_OK;
    snprintf(expected, sizeof expected, "%" PRIu64, upload->source->size);
    found = found && sxt_http_find_header(&call.headers, "Content-Length", length, sizeof length) &&
            strcmp(length, expected) == 0;
    if (found)
        sxt_http_find_header(&call.headers, "ETag", etag, SXT_S3_ETAG_MAX);
    sxt_s3_call_free(&call);
    return found;
}

static int upload_in_parts(struct sxt_s3 *s3, const char *key, const struct source *source, char etag[SXT_S3_ETAG_MAX],
                           sxt_error *error)
{
    struct upload upload = {.s3 = s3, .key = key, .source = source, .error = error};
    /* Parts of whole MiB, so few that the limit of their number is kept. */
    upload.part_size = source->size / PARTS_MAX < SINGLE_MAX ? SINGLE_MAX : (source->size / PARTS_MAX | 0xfffff) + 1;
    upload.count = (size_t)((source->size + upload.part_size - 1) / upload.part_size);
    upload.etags = calloc(upload.count, sizeof *upload.etags);
    if (upload.etags == NULL)
        return sxt_fail_memory(error, upload.count * sizeof *upload.etags);
    sxt_buffer_init(&upload.id, 3 * UPLOAD_MAX);
    int status = begin_parts(&upload);
    bool begun = status == SXT_OK;
    for (size_t first = 0; first < upload.count && status == SXT_OK; first += PARTS_AT_ONCE)
        status =
            send_parts(&upload, first, upload.count - first < PARTS_AT_ONCE ? upload.count - first : PARTS_AT_ONCE);
    bool ended = status == SXT_OK;
    if (ended)
        status = end_parts(&upload, etag);
    if (status != SXT_OK && begun) {
        bool there = ended && is_there(&upload, etag);
        abort_parts(&upload);
        status = there ? SXT_OK : status;
    }
    sxt_buffer_free(&upload.id);
    free(upload.etags);
    return status;
}
