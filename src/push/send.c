/* send.c: sends the parts of a binary that the server does not have, several at a time. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/file_id.h"
#include "base/gzip.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/pool.h"
#include "base/string.h"
#include "push/private.h"

#define ZSTD_LEVEL 3
#define SILENCE    300 /* seconds: a server may merge the parts of a large binary before it answers the last one */
#define ROUNDS     3   /* of sending what is missing; a second one is needed only if the server lost parts */

/* A part that is to be sent. */
struct job {
    enum sxt_push_kind kind;
    size_t part;
};

struct sending {
    struct sxt_push *push;
    const char *file;
    struct sxt_push_binary *binary;
    struct job *jobs;
    size_t count, capacity;
    char file_id[SXT_BASE64_ROOM(SXT_FILE_ID_SIZE)];
    pthread_mutex_t lock; /* guards what follows */
    int status;           /* of the first that failed */
    sxt_error error;
    struct sxt_push_refusal refusal;
};

/* --- bodies --- */

static int read_part(const struct sxt_push_set *set, const struct sxt_push_part *part, uint8_t *to, sxt_error *error)
{
    for (uint64_t at = 0; at < part->size;) {
        ssize_t count = pread(set->file.fd, to + at, part->size - at, (off_t)(part->offset + at));
        if (count <= 0)
            return sxt_fail_errno(error, count < 0 ? errno : EIO, "cannot read a temporary file");
        at += (uint64_t)count;
    }
    return SXT_OK;
}

static int compress_zstd(const uint8_t *data, size_t size, struct sxt_buffer *out, sxt_error *error)
{
    size_t room = ZSTD_compressBound(size);
    uint8_t *to = sxt_buffer_extend(out, room);
    if (to == NULL)
        return sxt_buffer_status(out, error);
    size_t packed = ZSTD_compress(to, room, data, size, ZSTD_LEVEL);
    if (ZSTD_isError(packed))
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "cannot compress: %s", ZSTD_getErrorName(packed));
    out->size = packed;
    return SXT_OK;
}

/* --- one part --- */

static void add_headers(const struct sending *sending, const struct job *job, int encoding,
                        struct sxt_push_request *request)
{
    const struct sxt_push_binary *binary = sending->binary;
    const struct sxt_push_set *set = &binary->sets[job->kind];
    request->header_count = 0;
    sxt_push_header(request, "Content-Type: application/octet-stream");
    sxt_push_header(request, "FileID: %s", sending->file_id);
    sxt_push_header(request, "FilePart: %zu", job->part);
    sxt_push_header(request, "FileParts: %zu", set->count);
    sxt_push_header(request, "Generation: %s", set->generation);
    if (binary->build_id[0] != 0)
        sxt_push_header(request, "BuildID: %s", binary->build_id);
    if (encoding != SXT_PUSH_IDENTITY)
        sxt_push_header(request, "Content-Encoding: %s", encoding == SXT_PUSH_ZSTD ? "zstd" : "gzip");
}

/* {"success":true,"status":200}; anything else is not an acknowledgement. */
static int check_reply(const struct sxt_buffer *reply, sxt_error *error)
{
    struct sxt_arena arena;
    struct sxt_json *root;
    const struct sxt_json_limits limits = {.depth = 16, .values = 1000};
    sxt_arena_init(&arena, (size_t)1 << 20, sxt_arena_separate_default);
    bool is_good = false;
    if (reply->size > 0 &&
        sxt_json_parse((const char *)reply->data, reply->size, limits, &arena, &root, NULL) == SXT_OK) {
        const struct sxt_json *success = sxt_json_member(root, "success");
        is_good = success != NULL && success->type == SXT_JSON_BOOL && success->boolean;
    }
    sxt_arena_free(&arena);
    return is_good ? SXT_OK
                   : sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the reply is not that of a symbol service");
}

/* Sends a body in one encoding. */
static int send_encoded(struct sending *sending, const struct job *job, int encoding, const struct sxt_buffer *plain,
                        struct sxt_push_refusal *refusal, sxt_error *error)
{
    struct sxt_push_set *set = &sending->binary->sets[job->kind];
    struct sxt_buffer packed, reply;
    struct sxt_push_request request = {.file = sending->file,
                                       .path = job->kind == SXT_PUSH_RANGES ? "/api/symbols-ranges"
                                                                            : "/api/symbols-returnpads",
                                       .body = plain->data,
                                       .size = plain->size,
                                       .silence_seconds = SILENCE};
    sxt_buffer_init(&packed, SIZE_MAX);
    int status = encoding == SXT_PUSH_ZSTD   ? compress_zstd(plain->data, plain->size, &packed, error)
                 : encoding == SXT_PUSH_GZIP ? sxt_gzip_fast(plain->data, plain->size, &packed, error)
                                             : SXT_OK;
    if (status == SXT_OK) {
        if (encoding != SXT_PUSH_IDENTITY) {
            request.body = packed.data;
            request.size = packed.size;
        }
        add_headers(sending, job, encoding, &request);
        status = sxt_push_request_send(sending->push, &request, &reply, refusal, error);
        if (status == SXT_OK) {
            status = check_reply(&reply, error);
            refusal->is_final = status != SXT_OK;
        }
        sxt_buffer_free(&reply);
    }
    if (status == SXT_OK) {
        set->sent++;
        set->sent_bytes += request.size;
    }
    sxt_buffer_free(&packed);
    return status;
}

/*
 * The next encoding to try after a refusal: gzip, then none. A server that is not known to read Content-Encoding may
 * have taken a compressed body for a damaged symbfile.
 */
static int next_encoding(const struct sxt_push *push, int encoding, const struct sxt_push_refusal *refusal)
{
    if (push->options.compression != NULL || encoding == SXT_PUSH_IDENTITY)
        return -1;
    if (refusal->status == 415)
        return encoding + 1;
    bool is_bad_body = refusal->status == 400 || refusal->status == 422 || refusal->status == 500;
    return is_bad_body && !push->is_known_peer ? SXT_PUSH_IDENTITY : -1;
}

static int send_part(struct sending *sending, const struct job *job, struct sxt_push_refusal *refusal, sxt_error *error)
{
    struct sxt_push_set *set = &sending->binary->sets[job->kind];
    struct sxt_push_part *part = &set->parts[job->part];
    struct sxt_buffer plain;
    sxt_buffer_init(&plain, SIZE_MAX);
    uint8_t *to = sxt_buffer_extend(&plain, part->size);
    int status = to != NULL ? read_part(set, part, to, error) : sxt_buffer_status(&plain, error);
    int encoding = sending->push->encoding;
    while (status == SXT_OK) {
        int result = send_encoded(sending, job, encoding, &plain, refusal, error);
        int next = result != SXT_OK ? next_encoding(sending->push, encoding, refusal) : -1;
        if (result == SXT_OK && encoding > sending->push->encoding)
            sending->push->encoding = encoding;
        if (next < 0) {
            status = result;
            break;
        }
        encoding = next;
    }
    sxt_buffer_free(&plain);
    if (status != SXT_OK)
        return status;
    part->is_there = true;
    if (sending->push->options.advanced != NULL)
        sending->push->options.advanced(sending->push->options.data, part->size);
    return SXT_OK;
}

/* --- all parts --- */

static int send_job(void *context, unsigned worker, size_t item)
{
    struct sending *sending = context;
    const struct job *job = &sending->jobs[item];
    struct sxt_push_refusal refusal = {0};
    sxt_error error;
    (void)worker;
    int status = send_part(sending, job, &refusal, &error);
    if (status == SXT_OK)
        return SXT_OK;
    pthread_mutex_lock(&sending->lock);
    if (sending->status == SXT_OK) {
        sending->status = status;
        sending->refusal = refusal;
        sxt_fail_reason(&sending->error, error.code, error.reason, SXT_NO_OFFSET, "part %zu of %zu of the %s: %s",
                        job->part + 1, sending->binary->sets[job->kind].count, sxt_push_kind_name(job->kind),
                        error.text);
    }
    pthread_mutex_unlock(&sending->lock);
    return status;
}

/*
 * Return pads are first. They win over ranges, so if the push ends in between, old pads would hide new ranges; new pads
 * over old ranges are never worse than what was there.
 */
static bool list_jobs(struct sending *sending)
{
    sending->count = 0;
    for (int i = SXT_PUSH_KINDS - 1; i >= 0; i--)
        for (size_t k = 0; k < sending->binary->sets[i].count; k++) {
            if (sending->binary->sets[i].parts[k].is_there)
                continue;
            void *moved = sxt_array_grow(sending->jobs, &sending->capacity, sending->count + 1, sizeof *sending->jobs);
            if (moved == NULL)
                return false;
            sending->jobs = moved;
            sending->jobs[sending->count++] = (struct job){(enum sxt_push_kind)i, k};
        }
    return true;
}

/* How many parts are there, and what that means for those who watch. */
static uint64_t count_there(const struct sending *sending, bool is_first)
{
    uint64_t there = 0, bytes = 0;
    for (int i = 0; i < SXT_PUSH_KINDS; i++) {
        struct sxt_push_set *set = &sending->binary->sets[i];
        size_t count = 0;
        for (size_t k = 0; k < set->count; k++) {
            count += set->parts[k].is_there;
            bytes += set->parts[k].is_there ? set->parts[k].size : 0;
        }
        if (is_first)
            set->there = count;
        there += count;
    }
    if (is_first && bytes > 0 && sending->push->options.advanced != NULL)
        sending->push->options.advanced(sending->push->options.data, bytes);
    return there;
}

static int send_missing(struct sending *sending, sxt_error *error)
{
    const struct sxt_push_options *options = &sending->push->options;
    if (!list_jobs(sending))
        return sxt_fail_memory(error, sending->count * sizeof *sending->jobs);
    unsigned threads = options->parallel > 0 ? options->parallel : 1;
    if (threads > sending->count)
        threads = (unsigned)sending->count;
    if (sending->count == 0)
        return SXT_OK;
    int status = sxt_pool_run(threads, sending->count, send_job, sending);
    if (status != SXT_OK && error != NULL)
        *error = sending->error;
    return status;
}

/*
 * Parts that an earlier push has sent may have been given up by the server meanwhile. So if there were any, the server
 * is asked again at the end.
 */
static int send_all(struct sending *sending, struct sxt_push_outcome *outcome, sxt_error *error)
{
    for (int round = 0; round < ROUNDS; round++) {
        bool is_needed;
        int status = sxt_push_ask(sending->push, sending->file, sending->binary, outcome, &is_needed, error);
        if (status != SXT_OK)
            return status;
        if (!is_needed) {
            outcome->is_skipped = round == 0;
            return SXT_OK;
        }
        uint64_t there = count_there(sending, round == 0);
        status = send_missing(sending, error);
        outcome->refusal = sending->refusal;
        if (status != SXT_OK || there == 0)
            return status;
    }
    return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "the server does not keep the parts that it took");
}

int sxt_push_send(struct sxt_push *push, const char *file, struct sxt_push_binary *binary,
                  struct sxt_push_outcome *outcome, sxt_error *error)
{
    struct sending sending = {.push = push, .file = file, .binary = binary};
    uint8_t id[SXT_FILE_ID_SIZE];
    *outcome = (struct sxt_push_outcome){0};
    for (size_t i = 0; i < SXT_FILE_ID_SIZE; i++)
        id[i] = (uint8_t)(sxt_hex_digit(binary->file_id[2 * i]) << 4 | sxt_hex_digit(binary->file_id[2 * i + 1]));
    sxt_base64url_encode(sending.file_id, id, sizeof id);
    pthread_mutex_init(&sending.lock, NULL);
    int status = send_all(&sending, outcome, error);
    pthread_mutex_destroy(&sending.lock);
    free(sending.jobs);
    return status;
}
