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

#include "base/error.h"
#include "service/byte_range.h"
#include "service/exchange.h"
#include "service/log.h"

#define BLOCK ((size_t)1 << 20)

/* The bytes that are asked for. */
struct part {
    uint64_t start, size;
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

static struct MHD_Response *open_response(struct sxt_exchange *exchange, struct sxt_store_object **object,
                                          const struct part *part);

void sxt_reply_object(struct sxt_request *request, const char *type, const char *hash, struct sxt_store_object **object)
{
    sxt_reply_object_part(request, type, hash, object, 0, sxt_store_object_size(*object));
}

void sxt_reply_object_part(struct sxt_request *request, const char *type, const char *hash,
                           struct sxt_store_object **object, uint64_t start, uint64_t size)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    struct part part = {.size = size};
    char etag[128], text[80];
    enum sxt_byte_range asked = SXT_RANGE_WHOLE;
    const char *tags = sxt_request_header(request, "If-None-Match"), *range = sxt_request_header(request, "Range"),
               *if_range = sxt_request_header(request, "If-Range");
    if (start == 0 && size == sxt_store_object_size(*object))
        snprintf(etag, sizeof etag, "\"%.64s\"", hash);
    else
        snprintf(etag, sizeof etag, "\"%.64s-%llx-%llx\"", hash, (unsigned long long)start, (unsigned long long)size);
    sxt_reply_header(request, MHD_HTTP_HEADER_ETAG, etag);
    sxt_reply_header(request, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
    if (tags != NULL && sxt_etag_is_in(tags, etag)) {
        sxt_store_close_object(object);
        sxt_reply_text(request, 304, NULL, "");
        return;
    }
    if (range != NULL && (if_range == NULL || strcmp(if_range, etag) == 0))
        asked = sxt_byte_range_parse(range, size, &part.start, &part.size);
    if (asked == SXT_RANGE_BEYOND) {
        snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)size);
        sxt_reply_header(request, MHD_HTTP_HEADER_CONTENT_RANGE, text);
        sxt_store_close_object(object);
        sxt_reply_failure(request, 416, SXT_CODE_RANGE, "the range is not in the object, which has %llu bytes",
                          (unsigned long long)size);
        return;
    }
    if (asked == SXT_RANGE_PART) {
        snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)part.start,
                 (unsigned long long)(part.start + part.size - 1), (unsigned long long)size);
        sxt_reply_header(request, MHD_HTTP_HEADER_CONTENT_RANGE, text);
    }
    part.start += start;
    if (exchange->response == NULL)
        sxt_reply_finish(exchange, asked == SXT_RANGE_PART ? 206 : 200, type, open_response(exchange, object, &part),
                         part.size);
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
    struct remote *remote =
        sxt_request_count_memory(&exchange->request, sizeof *remote) ? malloc(sizeof *remote) : NULL;
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
