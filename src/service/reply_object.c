/*
 * reply_object.c: replies with an object of the store, or a part of it.
 *
 * The system sends local files by itself. Of a bucket, a worker reads a block at a time while the connection is
 * suspended, so that no thread of a connection waits for the network.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "service/exchange.h"
#include "service/log.h"

#define BLOCK ((size_t)1 << 20)

/* The bytes that are asked for. */
struct part {
    uint64_t start, size;
    bool is_range;
};

/* A reply that is read from a bucket. */
struct remote {
    struct sxt_job job;
    struct sxt_service *service;
    struct MHD_Connection *connection;
    struct sxt_store_object *object;
    uint64_t start; /* of the reply in the object */
    uint64_t size;
    uint64_t at;  /* of the block in the reply */
    size_t there; /* bytes of it */
    _Atomic bool is_waiting, has_failed;
    uint8_t block[BLOCK];
};

static bool parse_number(const char **text, uint64_t *value)
{
    const char *at = *text;
    uint64_t sum = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        if (!sxt_mul_u64(sum, 10, &sum) || !sxt_add_u64(sum, (uint64_t)(*at - '0'), &sum))
            return false;
    bool is_number = at > *text;
    *text = at;
    *value = sum;
    return is_number;
}

/* "bytes=1-2", "bytes=1-", "bytes=-2". False if it is malformed or has several ranges: it is ignored then. */
static bool parse_range(const char *text, uint64_t size, struct part *part, bool *is_satisfiable)
{
    uint64_t first = 0, last = UINT64_MAX;
    if (strncmp(text, "bytes=", 6) != 0)
        return false;
    text += 6;
    bool has_first = parse_number(&text, &first);
    if (*text++ != '-')
        return false;
    bool has_last = parse_number(&text, &last);
    if (*text != 0 || (!has_first && !has_last) || (has_first && has_last && last < first))
        return false;
    if (!has_last)
        last = UINT64_MAX;
    *is_satisfiable = has_first ? first < size : last > 0 && size > 0;
    if (!*is_satisfiable)
        return true;
    part->is_range = true;
    part->start = has_first ? first : last < size ? size - last : 0;
    part->size = size - part->start;
    if (has_first && last - first < part->size)
        part->size = last - first + 1;
    return true;
}

/* Is the quoted ETAG one of LIST, as If-None-Match has it? */
static bool has_tag(const char *list, const char *etag)
{
    if (strcmp(list, "*") == 0)
        return true;
    size_t size = strlen(etag);
    for (const char *at = list; (at = strstr(at, etag)) != NULL; at += size)
        if ((at == list || strchr(", /", at[-1]) != NULL) && (at[size] == 0 || strchr(", ", at[size]) != NULL))
            return true;
    return false;
}

static struct MHD_Response *open_response(struct sxt_exchange *exchange, struct sxt_store_object **object,
                                          const struct part *part);

void sxt_reply_object(struct sxt_request *request, const char *type, const char *hash, struct sxt_store_object **object)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    const uint64_t size = sxt_store_object_size(*object);
    struct part part = {.size = size};
    char etag[80], text[80];
    bool is_satisfiable = true;
    const char *tags = sxt_request_header(request, "If-None-Match"), *range = sxt_request_header(request, "Range"),
               *if_range = sxt_request_header(request, "If-Range");
    snprintf(etag, sizeof etag, "\"%.64s\"", hash);
    sxt_reply_header(request, MHD_HTTP_HEADER_ETAG, etag);
    sxt_reply_header(request, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
    if (tags != NULL && has_tag(tags, etag)) {
        sxt_store_close_object(object);
        sxt_reply_text(request, 304, NULL, "");
        return;
    }
    if (range != NULL && (if_range == NULL || strcmp(if_range, etag) == 0))
        parse_range(range, size, &part, &is_satisfiable);
    if (!is_satisfiable) {
        snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)size);
        sxt_reply_header(request, MHD_HTTP_HEADER_CONTENT_RANGE, text);
        sxt_store_close_object(object);
        sxt_reply_failure(request, 416, SXT_CODE_RANGE, "the range is not in the object, which has %llu bytes",
                          (unsigned long long)size);
        return;
    }
    if (part.is_range) {
        snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)part.start,
                 (unsigned long long)(part.start + part.size - 1), (unsigned long long)size);
        sxt_reply_header(request, MHD_HTTP_HEADER_CONTENT_RANGE, text);
    }
    if (exchange->response == NULL)
        sxt_reply_finish(exchange, part.is_range ? 206 : 200, type, open_response(exchange, object, &part), part.size);
    sxt_store_close_object(object);
    if (exchange->response == NULL)
        sxt_reply_failure(request, 500, SXT_CODE_INTERNAL, "out of memory");
}

/* --- from a bucket --- */

static void read_block(struct sxt_job *job)
{
    struct remote *remote = (struct remote *)(void *)job;
    struct sxt_service *service = remote->service;
    struct MHD_Connection *connection = remote->connection;
    struct sxt_store_range range = {.offset = remote->start + remote->at, .size = BLOCK, .to = remote->block};
    if (range.size > remote->size - remote->at)
        range.size = (size_t)(remote->size - remote->at);
    sxt_error error;
    if (sxt_store_read(remote->object, &range, 1, &error) != SXT_OK) {
        sxt_log_message(service->log, "error", NULL, "%s", error.text);
        atomic_store(&remote->has_failed, true);
    }
    remote->there = range.size;
    atomic_store(&remote->is_waiting, false);
    service->mhd.resume(connection);
}

static ssize_t give(void *data, uint64_t position, char *to, size_t most)
{
    struct remote *remote = data;
    if (atomic_load(&remote->is_waiting))
        return 0;
    if (atomic_load(&remote->has_failed))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (position >= remote->at && position - remote->at < remote->there) {
        size_t skip = (size_t)(position - remote->at), size = remote->there - skip;
        size = size < most ? size : most;
        memcpy(to, remote->block + skip, size);
        return (ssize_t)size;
    }
    remote->at = position;
    remote->there = 0;
    atomic_store(&remote->is_waiting, true);
    remote->service->mhd.suspend(remote->connection);
    if (!sxt_workers_post(remote->service->workers, &remote->job)) {
        atomic_store(&remote->has_failed, true);
        atomic_store(&remote->is_waiting, false);
        remote->service->mhd.resume(remote->connection);
    }
    return 0;
}

static void end_remote(void *data)
{
    struct remote *remote = data;
    sxt_store_close_object(&remote->object);
    free(remote);
}

static struct MHD_Response *open_response(struct sxt_exchange *exchange, struct sxt_store_object **object,
                                          const struct part *part)
{
    struct sxt_service *service = exchange->request.service;
    int descriptor = sxt_store_object_descriptor(*object);
    if (part->size == 0)
        return service->mhd.response_static(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    if (descriptor >= 0) {
        int copy = dup(descriptor);
        struct MHD_Response *response =
            copy >= 0 ? service->mhd.response_descriptor(part->size, copy, part->start) : NULL;
        if (response == NULL && copy >= 0)
            close(copy);
        return response;
    }
    struct remote *remote = malloc(sizeof *remote);
    if (remote == NULL)
        return NULL;
    remote->job = (struct sxt_job){.run = read_block};
    remote->service = service;
    remote->connection = exchange->connection;
    remote->object = *object;
    remote->start = part->start;
    remote->size = part->size;
    remote->at = remote->there = 0;
    atomic_init(&remote->is_waiting, false);
    atomic_init(&remote->has_failed, false);
    *object = NULL;
    struct MHD_Response *response =
        service->mhd.response_callback(part->size, (size_t)64 << 10, give, remote, end_remote);
    if (response == NULL)
        end_remote(remote);
    return response;
}
