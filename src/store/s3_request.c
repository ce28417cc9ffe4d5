/* s3_request.c: signs and sends calls, tries them again, and says in one line why one failed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "store/s3.h"
#include "store/temporary.h"
#include "store/xml.h"

#define ANSWER_MAX    ((size_t)64 << 10)
#define HEADERS_MAX   ((size_t)64 << 10)
#define URL_MAX       ((size_t)16 << 10)
#define LINES_MAX     ((size_t)16 << 10)
#define CODE_MAX      80
#define SKEW_REPORTED 60 /* seconds between the clocks that are worth a word */

static bool prepare(struct sxt_s3 *s3, struct sxt_s3_call *call, struct sxt_http_request *request);
static void judge(struct sxt_s3 *s3, struct sxt_s3_call *call, const struct sxt_http_answer *answer);

/* --- sending --- */

static bool receive(void *data, const void *bytes, size_t size)
{
    struct sxt_s3_target *target = data;
    if (size > target->size - target->done)
        return false;
    if (target->to != NULL) {
        memcpy(target->to + target->done, bytes, size);
        target->done += size;
        return true;
    }
    const char *from = bytes;
    while (size > 0) {
        ssize_t count = pwrite(target->file, from, size, (off_t)(target->offset + target->done));
        if (count < 0 && errno != EINTR) {
            target->file_error = errno;
            return false;
        }
        if (count > 0) {
            from += count;
            size -= (size_t)count;
            target->done += (size_t)count;
        }
    }
    return true;
}

static void begin_attempt(struct sxt_s3_call *call, struct sxt_http_answer *answer)
{
    /* An error needs some room, also where a good answer is small. */
    if (call->answer.maximum == 0)
        sxt_buffer_init(&call->answer, call->answer_limit > ANSWER_MAX ? call->answer_limit : ANSWER_MAX);
    if (call->headers.maximum == 0)
        sxt_buffer_init(&call->headers, HEADERS_MAX);
    sxt_buffer_clear(&call->answer);
    sxt_buffer_clear(&call->headers);
    *answer = (struct sxt_http_answer){.body = &call->answer, .headers = &call->headers};
    if (call->target != NULL) {
        call->target->done = 0;
        call->target->file_error = 0;
        answer->sink = receive;
        answer->sink_data = call->target;
    }
}

/* One attempt at the calls that are not done. Returns how many are to be tried again. */
static size_t attempt(struct sxt_s3 *s3, struct sxt_http *http, struct sxt_s3_call *calls, size_t count,
                      struct sxt_http_request *requests, struct sxt_http_answer *answers)
{
    size_t pending = 0, again = 0;
    for (size_t i = 0; i < count; i++) {
        if (!calls[i].again)
            continue;
        begin_attempt(&calls[i], &answers[pending]);
        if (prepare(s3, &calls[i], &requests[pending]))
            pending++;
        else
            calls[i].again = false;
    }
    size_t parallel = pending > 2 * (size_t)SXT_S3_MANY ? SXT_S3_MANY : SXT_S3_PARALLEL;
    sxt_http_send_many(http, requests, answers, pending, parallel, NULL);
    for (size_t i = 0, j = 0; i < count && j < pending; i++) {
        if (!calls[i].again)
            continue;
        judge(s3, &calls[i], &answers[j++]);
        again += calls[i].again;
    }
    return again;
}

static int send_with_retries(struct sxt_s3 *s3, struct sxt_http *http, struct sxt_s3_call *calls, size_t count,
                             struct sxt_http_request *requests, struct sxt_http_answer *answers)
{
    for (size_t i = 0; i < count; i++)
        calls[i].again = true;
    for (unsigned number = 1;; number++) {
        size_t again = attempt(s3, http, calls, count, requests, answers);
        unsigned seconds = 0;
        bool once = false;
        for (size_t i = 0; i < count; i++)
            if (calls[i].again) {
                seconds = calls[i].seconds > seconds ? calls[i].seconds : seconds;
                once = once || calls[i].once;
            }
        if (again == 0 || once || number >= s3->attempts || !sxt_http_wait(number, seconds, s3->stop))
            return SXT_OK;
        s3->store.counts.retries += again;
    }
}

int sxt_s3_send(struct sxt_s3 *s3, struct sxt_s3_call *calls, size_t count, sxt_error *error)
{
    struct sxt_http *http = NULL;
    struct sxt_http_request *requests = calloc(count + 1, sizeof *requests);
    struct sxt_http_answer *answers = calloc(count + 1, sizeof *answers);
    int status = SXT_OK;
    if (requests == NULL || answers == NULL)
        status = sxt_fail_memory(error, count * sizeof *answers);
    else
        status = sxt_http_pool_take(s3->pool, &http, error);
    if (status == SXT_OK)
        status = send_with_retries(s3, http, calls, count, requests, answers);
    for (size_t i = 0; i < count && status == SXT_OK; i++)
        if (calls[i].result != SXT_OK) {
            status = calls[i].result;
            if (error != NULL)
                *error = calls[i].error;
        }
    sxt_http_pool_give(s3->pool, http);
    free(requests);
    free(answers);
    return status;
}

void sxt_s3_call_free(struct sxt_s3_call *call)
{
    sxt_buffer_free(&call->answer);
    sxt_buffer_free(&call->headers);
    sxt_buffer_free(&call->url);
    sxt_buffer_free(&call->lines);
}

/* --- a request --- */

/* The hash of the body is made once: the body does not change. */
static bool hash_body(struct sxt_s3_call *call)
{
    if (call->hashed)
        return true;
    if (!call->body_is_file)
        sxt_s3_hash(call->body != NULL ? call->body : "", call->size, call->payload_hash);
    else if (!sxt_s3_hash_file(call->file, call->file_offset, call->size, call->payload_hash)) {
        call->result = sxt_store_fail_errno(&call->error, errno, "read", call->key);
        return false;
    }
    call->hashed = true;
    return true;
}

/* Fills call->url with the path of the call, then the query. Returns where the query begins. */
static size_t make_url(const struct sxt_s3 *s3, const struct sxt_s3_account *account, struct sxt_s3_call *call)
{
    struct sxt_buffer *url = &call->url;
    if (url->maximum == 0)
        sxt_buffer_init(url, URL_MAX);
    sxt_buffer_clear(url);
    sxt_buffer_print(url, "%s%s/", account->origin, account->path);
    sxt_s3_encode(url, s3->bucket, false);
    if (call->key != NULL) {
        sxt_buffer_u8(url, '/');
        sxt_s3_encode(url, s3->prefix, true);
        sxt_s3_encode(url, call->key, true);
    }
    size_t path_end = url->size;
    if (call->query != NULL)
        sxt_buffer_print(url, "?%s", call->query);
    sxt_buffer_u8(url, 0);
    return path_end;
}

static size_t make_lines(struct sxt_s3_call *call, const struct sxt_s3_account *account, const char *path)
{
    struct sxt_buffer *lines = &call->lines;
    if (lines->maximum == 0)
        sxt_buffer_init(lines, LINES_MAX);
    sxt_buffer_clear(lines);
    const struct sxt_s3_signed_request request = {
        .method = call->method,
        .host = account->host,
        .path = path,
        .query = call->query != NULL ? call->query : "",
        .payload_hash = call->payload_hash,
    };
    size_t count = sxt_s3_sign(&account->identity, &request, time(NULL), lines);
    sxt_buffer_print(lines, "Content-Type:%s%c", call->size > 0 ? " application/octet-stream" : "", 0);
    count++;
    if (call->from_end) {
        sxt_buffer_print(lines, "Range: bytes=-%" PRIu64 "%c", call->range_size, 0);
        count++;
    } else if (call->ranged) {
        sxt_buffer_print(lines, "Range: bytes=%" PRIu64 "-%" PRIu64 "%c", call->range_offset,
                         call->range_offset + call->range_size - 1, 0);
        count++;
    }
    if (call->if_match != NULL) {
        sxt_buffer_print(lines, "If-Match: %s%c", call->if_match, 0);
        count++;
    }
    const char *line = (const char *)lines->data;
    for (size_t i = 0; i < count && !lines->failed; i++) {
        call->header_lines[i] = line;
        line += strlen(line) + 1;
    }
    return count;
}

static bool prepare(struct sxt_s3 *s3, struct sxt_s3_call *call, struct sxt_http_request *request)
{
    if (!hash_body(call))
        return false;
    pthread_mutex_lock(&s3->mutex);
    const struct sxt_s3_account account = s3->account;
    pthread_mutex_unlock(&s3->mutex);
    size_t path_end = make_url(s3, &account, call);
    char path[URL_MAX];
    size_t origin = strlen(account.origin);
    *path = 0;
    if (!call->url.failed)
        snprintf(path, sizeof path, "%.*s", (int)(path_end - origin), (const char *)call->url.data + origin);
    size_t count = make_lines(call, &account, path);
    if (call->url.failed || call->lines.failed) {
        call->result = sxt_buffer_status(call->url.failed ? &call->url : &call->lines, &call->error);
        return false;
    }
    *request = (struct sxt_http_request){
        .url = (const char *)call->url.data,
        .headers = call->header_lines,
        .header_count = count,
        .body = call->body,
        .size = call->size,
        .method = call->method,
        .body_is_file = call->body_is_file,
        .file = call->file,
        .offset = call->file_offset,
        .ca_file = *s3->account.ca_file != 0 ? s3->account.ca_file : NULL,
        .connect_seconds = s3->timeout_seconds < 10 ? s3->timeout_seconds : 10,
        .silence_seconds = s3->timeout_seconds,
        .stop = s3->stop,
    };
    return true;
}

/* --- answers --- */

struct search {
    const char *outermost, *name;
    char *text;
    size_t size;
    bool inside, found;
};

static int find_text(void *data, enum sxt_xml_event event, unsigned depth, const char *name, const char *text)
{
    struct search *search = data;
    if (event == SXT_XML_OPEN && depth == 0)
        search->inside = search->outermost == NULL || strcmp(name, search->outermost) == 0;
    if (event == SXT_XML_CLOSE && depth == 1 && search->inside && strcmp(name, search->name) == 0 &&
        strlen(text) < search->size) {
        snprintf(search->text, search->size, "%s", text);
        search->found = true;
    }
    return SXT_OK;
}

bool sxt_s3_find_text(const struct sxt_buffer *answer, const char *outermost, const char *name, char *text, size_t size)
{
    struct search search = {.outermost = outermost, .name = name, .text = text, .size = size};
    *text = 0;
    return answer->size > 0 &&
           sxt_xml_read((const char *)answer->data, answer->size, find_text, &search, NULL) == SXT_OK && search.found;
}

/* Seconds that the clock of the server is ahead of ours, or 0 if it does not say. */
static int64_t find_skew(const struct sxt_s3_call *call)
{
    char date[64];
    struct tm time_there = {0};
    if (!sxt_http_find_header(&call->headers, "Date", date, sizeof date) ||
        strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &time_there) == NULL)
        return 0;
    return (int64_t)timegm(&time_there) - (int64_t)time(NULL);
}

static int fail_skewed(struct sxt_s3_call *call)
{
    int64_t skew = find_skew(call);
    if (skew > -SKEW_REPORTED && skew < SKEW_REPORTED)
        return sxt_fail(&call->error, SXT_ERROR_IO, SXT_NO_OFFSET,
                        "the bucket refuses the request: the clock of this machine is wrong");
    return sxt_fail(&call->error, SXT_ERROR_IO, SXT_NO_OFFSET,
                    "the bucket refuses the request: the clock of this machine is %" PRId64 " seconds %s",
                    skew < 0 ? -skew : skew, skew < 0 ? "ahead" : "behind");
}

static int fail_elsewhere(const struct sxt_s3 *s3, struct sxt_s3_call *call)
{
    char region[80];
    if (sxt_http_find_header(&call->headers, "x-amz-bucket-region", region, sizeof region))
        return sxt_fail(&call->error, SXT_ERROR_IO, SXT_NO_OFFSET, "the bucket %s is in region %s: set AWS_REGION",
                        s3->bucket, region);
    return sxt_fail(&call->error, SXT_ERROR_IO, SXT_NO_OFFSET,
                    "the bucket %s is elsewhere (status %ld): check AWS_REGION and AWS_ENDPOINT_URL", s3->bucket,
                    call->status);
}

static bool is_full(long status, const char *code)
{
    return status == 507 || strcmp(code, "QuotaExceeded") == 0 || strcmp(code, "XMinioStorageFull") == 0 ||
           strcmp(code, "EntityTooLarge") == 0 || strcmp(code, "XMinioAdminBucketQuotaExceeded") == 0;
}

/* Servers answer with 404 for other reasons too: the upload, or the user, does not exist. HEAD gives no reason. */
static bool is_about_object(const char *code)
{
    return *code == 0 || strcmp(code, "NoSuchKey") == 0 || strcmp(code, "NotFound") == 0 ||
           strcmp(code, "NoSuchObject") == 0;
}

/* Describes an answer that is not 2xx. */
static int describe_refusal(const struct sxt_s3 *s3, struct sxt_s3_call *call, const char *code)
{
    char message[160];
    sxt_s3_find_text(&call->answer, "Error", "Message", message, sizeof message);
    const char *key = call->key != NULL ? call->key : "";
    if (strcmp(code, "NoSuchBucket") == 0)
        return sxt_fail(&call->error, SXT_ERROR_IO, SXT_NO_OFFSET, "no bucket named '%s'", s3->bucket);
    if (call->status == 404 && call->key != NULL && is_about_object(code))
        return sxt_fail(&call->error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no object named '%s'", key);
    if (call->status == 412)
        return sxt_fail(&call->error, SXT_ERROR_IO, SXT_NO_OFFSET, "'%.140s' was replaced while it was read", key);
    if (strcmp(code, "RequestTimeTooSkewed") == 0)
        return fail_skewed(call);
    if (call->status == 301 || call->status == 307 || strcmp(code, "AuthorizationHeaderMalformed") == 0)
        return fail_elsewhere(s3, call);
    const char *hint = *code != 0 ? "" : call->status == 403 ? " (the key is wrong, or has no permission)" : "";
    return sxt_fail(&call->error, is_full(call->status, code) ? SXT_ERROR_LIMIT : SXT_ERROR_IO, SXT_NO_OFFSET,
                    "the bucket %s refuses %s%s%.80s: status %ld%s%s%s%s%s", s3->bucket, call->method,
                    *key != 0 ? " " : "", key, call->status, *code != 0 ? " " : "", code, *message != 0 ? ": " : "",
                    message, hint);
}

/* Keys that expire are renewed in the files that they come from. Returns whether others are there now. */
static bool renew_keys(struct sxt_s3 *s3, const char *code)
{
    if (strcmp(code, "ExpiredToken") != 0 && strcmp(code, "InvalidAccessKeyId") != 0 &&
        strcmp(code, "InvalidToken") != 0 && strcmp(code, "TokenRefreshRequired") != 0)
        return false;
    struct sxt_s3_account fresh;
    if (sxt_s3_account_load(&fresh, NULL) != SXT_OK)
        return false;
    pthread_mutex_lock(&s3->mutex);
    struct sxt_s3_identity *current = &s3->account.identity;
    bool changed = strcmp(current->access_key, fresh.identity.access_key) != 0 ||
                   strcmp(current->secret_key, fresh.identity.secret_key) != 0 ||
                   strcmp(current->session_token, fresh.identity.session_token) != 0;
    *current = fresh.identity;
    pthread_mutex_unlock(&s3->mutex);
    return changed;
}

static void judge_refusal(struct sxt_s3 *s3, struct sxt_s3_call *call)
{
    char code[CODE_MAX];
    sxt_s3_find_text(&call->answer, "Error", "Code", code, sizeof code);
    call->result = describe_refusal(s3, call, code);
    call->again =
        call->again || strcmp(code, "RequestTimeout") == 0 || strcmp(code, "SlowDown") == 0 || renew_keys(s3, code);
}

/* Fills in the result of a call from an answer, and whether to try again. */
static void judge(struct sxt_s3 *s3, struct sxt_s3_call *call, const struct sxt_http_answer *answer)
{
    const struct sxt_s3_target *target = call->target;
    call->status = answer->status;
    call->again = answer->again;
    call->seconds = answer->seconds;
    call->result = SXT_OK;
    sxt_error_clear(&call->error);
    bool good = answer->status >= 200 && answer->status < 300;
    if (target != NULL && target->file_error != 0)
        call->result = sxt_store_fail_errno(&call->error, target->file_error, "write to the cache", NULL);
    else if (answer->result == SXT_ERROR_LIMIT && answer->full && call->answer_limit != 0)
        call->result = sxt_fail(&call->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                                "'%.140s' is larger than the limit of %zu bytes", call->key, call->answer_limit);
    else if (answer->result != SXT_OK && good && target != NULL && !answer->again)
        call->result = sxt_fail(&call->error, SXT_ERROR_IO, SXT_NO_OFFSET,
                                "the bucket %s sends more of '%.140s' than was asked for", s3->bucket, call->key);
    else if (answer->result != SXT_OK)
        call->result = sxt_fail(&call->error, (sxt_status)answer->result, SXT_NO_OFFSET, "cannot use the bucket %s: %s",
                                s3->bucket, answer->error.text);
    else if (!good)
        judge_refusal(s3, call);
    else if (target != NULL && target->done != target->size) {
        /* Without a length in the answer, a lost connection looks like its end. */
        call->again = true;
        call->result = sxt_fail(&call->error, SXT_ERROR_IO, SXT_NO_OFFSET,
                                "the bucket %s sends less of '%.140s' than was asked for", s3->bucket, call->key);
    }
}
