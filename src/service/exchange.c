/*
 * exchange.c: the way of a request through the server.
 *
 * libmicrohttpd calls sxt_exchange_handle when the headers are there, for each piece of the body, and at the end; after
 * a connection was suspended it repeats the last call. A reply can be given to it in the first and in the last of these
 * calls only. A reply in the first one closes the connection, because the body has not been read.
 */
#include "service/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/digits.h"
#include "base/escape.h"
#include "base/hex.h"
#include "base/string.h"
#include "service/log.h"
#include "service/metrics.h"
#include "service/upstream.h"

#define DROPPED ((uint64_t)256 << 10) /* that are read after a refusal, so that the connection can be used again */

static struct sxt_exchange *begin(struct sxt_service *service, struct MHD_Connection *connection);
static enum MHD_Result take_headers(struct sxt_exchange *exchange, const char *url, const char *method);
static void go_on(struct sxt_exchange *exchange);
static void work(struct sxt_job *job);
static void work_again(struct sxt_job *job);
static void log_request(const struct sxt_exchange *exchange, uint64_t nanoseconds);

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool is_waiting(const struct sxt_exchange *exchange)
{
    return atomic_load_explicit(&((struct sxt_exchange *)(uintptr_t)exchange)->is_waiting, memory_order_acquire);
}

/* Is more of the body on its way than is worth reading, for a request that is refused already? */
static bool has_much_to_come(const struct sxt_exchange *exchange)
{
    return exchange->is_chunked || exchange->length - exchange->received > DROPPED;
}

enum MHD_Result sxt_exchange_handle(void *data, struct MHD_Connection *connection, const char *url, const char *method,
                                    const char *version, const char *upload, size_t *upload_size, void **slot)
{
    struct sxt_exchange *exchange = *slot;
    (void)version;
    if (exchange == NULL) {
        exchange = *slot = begin(data, connection);
        return exchange != NULL ? take_headers(exchange, url, method) : MHD_NO;
    }
    if (is_waiting(exchange))
        return MHD_YES; /* nothing is taken; libmicrohttpd calls again */
    if (!sxt_connection_take(exchange->client))
        return MHD_NO;
    if (*upload_size > 0) {
        bool is_enough = sxt_body_take(exchange, upload, *upload_size);
        *upload_size = 0;
        if (is_enough)
            go_on(exchange);
        else if (exchange->stage == SXT_STAGE_DROP && has_much_to_come(exchange))
            return sxt_reply_cut(exchange);
        else
            sxt_connection_expect(exchange->client);
        return MHD_YES;
    }
    if (exchange->stage == SXT_STAGE_HEADERS && exchange->response == NULL) { /* after `begin` on a worker */
        exchange->stage = SXT_STAGE_BODY;
        sxt_connection_expect(exchange->client);
        return MHD_YES;
    }
    if (exchange->response == NULL) {
        exchange->stage = SXT_STAGE_END;
        go_on(exchange);
        if (is_waiting(exchange))
            return MHD_YES;
    }
    return exchange->response != NULL ? sxt_reply_queue(exchange) : MHD_NO;
}

/* --- the beginning --- */

static uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* A UUID of version 4, from a random start and a counter. */
static void make_uuid(struct sxt_service *service, char to[37])
{
    uint64_t number = atomic_fetch_add_explicit(&service->uuid_counter, 1, memory_order_relaxed);
    uint64_t high = mix(service->uuid_start[0] + number), low = mix(service->uuid_start[1] ^ high);
    high = (high & ~UINT64_C(0xf000)) | 0x4000;
    low = (low & ~(UINT64_C(3) << 62)) | UINT64_C(2) << 62;
    for (unsigned i = 0, digit = 0; i < 36; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            to[i] = '-';
            continue;
        }
        uint64_t half = digit < 16 ? high : low;
        to[i] = sxt_hex_letter((unsigned)(half >> (60 - 4 * (digit % 16))));
        digit++;
    }
    to[36] = 0;
}

static enum MHD_Result take_header(void *data, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                   const char *value, size_t value_size)
{
    struct sxt_exchange *exchange = data;
    (void)kind;
    (void)name_size;
    (void)value_size;
    if (exchange->header_count < SXT_HEADERS_MAX)
        exchange->headers[exchange->header_count] = (struct sxt_header){name, value != NULL ? value : ""};
    exchange->header_count++;
    return MHD_YES;
}

static struct sxt_exchange *begin(struct sxt_service *service, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = service->mhd.connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct sxt_connection *client = info != NULL ? info->socket_context : NULL;
    if (client == NULL)
        return NULL;
    struct sxt_exchange *exchange = sxt_connection_exchange(client);
    if (exchange == NULL) {
        exchange = calloc(1, sizeof *exchange);
        if (exchange == NULL)
            return NULL;
        sxt_connection_keep_exchange(client, exchange);
        sxt_buffer_init(&exchange->request.body, SXT_BODY_MEMORY_MAX);
        sxt_buffer_init(&exchange->pending, SXT_BODY_MEMORY_MAX);
        exchange->client = client;
        exchange->request.service = service;
    }
    atomic_fetch_add_explicit(&service->active, 1, memory_order_relaxed);
    exchange->connection = connection;
    exchange->began_ns = now_ns();
    exchange->request.tenant = exchange->request.key_id = "";
    make_uuid(service, exchange->request.uuid);
    service->mhd.connection_values(connection, MHD_HEADER_KIND, take_header, exchange);
    sxt_connection_begin_request(client, exchange->request.uuid);
    return exchange;
}

/* Decides what becomes of the request. A refusal is sent at once if there is a body, which is not read then. */
static enum MHD_Result take_headers(struct sxt_exchange *exchange, const char *url, const char *method)
{
    if (!sxt_exchange_admit(exchange, url, method)) {
        exchange->stage = SXT_STAGE_DROP;
        bool has_body = exchange->is_chunked || exchange->length > 0;
        if (exchange->response == NULL)
            return MHD_NO; /* out of memory */
        return has_body || exchange->must_close ? sxt_reply_queue(exchange) : MHD_YES;
    }
    if (exchange->request.route->begin != NULL)
        go_on(exchange);
    else
        exchange->stage = SXT_STAGE_BODY;
    if (!is_waiting(exchange))
        sxt_connection_expect(exchange->client);
    return MHD_YES;
}

/* --- on a worker or not --- */

/* Does the work take so long that other requests must not wait for it? */
static bool is_long(const struct sxt_exchange *exchange)
{
    return exchange->stage == SXT_STAGE_END &&
           (exchange->request.route->body == SXT_BODY_STREAM || exchange->request.body.size > SXT_SMALL);
}

/* Lets a worker continue, while the connection is suspended. */
static void wait_for_worker(struct sxt_exchange *exchange)
{
    struct sxt_service *service = exchange->request.service;
    exchange->job = (struct sxt_job){.run = work, .is_long = is_long(exchange)};
    atomic_store_explicit(&exchange->is_waiting, true, memory_order_release);
    service->mhd.suspend(exchange->connection);
    if (sxt_workers_post(service->workers, &exchange->job))
        return;
    sxt_reply_header(&exchange->request, "Retry-After", "1");
    sxt_reply_failure(&exchange->request, 503, SXT_CODE_BUSY, "too many requests at once");
    if (exchange->stage == SXT_STAGE_BODY)
        exchange->stage = SXT_STAGE_DROP;
    sxt_connection_expect_again(exchange->client);
    atomic_store_explicit(&exchange->is_waiting, false, memory_order_release);
    service->mhd.resume(exchange->connection);
}

static void go_on(struct sxt_exchange *exchange)
{
    const struct sxt_route *route = exchange->request.route;
    bool is_ready = exchange->stage == SXT_STAGE_END && !is_long(exchange) && exchange->expander == NULL;
    exchange->request.may_wait = false;
    if (!is_ready || route->handle(&exchange->request) == SXT_WAIT)
        wait_for_worker(exchange);
    else if (exchange->response == NULL)
        sxt_reply_failure(&exchange->request, 500, SXT_CODE_INTERNAL, "no reply was made");
}

/* Lets the handler free its state, once. */
static void finish(struct sxt_exchange *exchange)
{
    const struct sxt_route *route = exchange->request.route;
    if (route != NULL && route->finish != NULL && !exchange->is_finished)
        route->finish(&exchange->request);
    exchange->is_finished = true;
}

/* A body has turned out to be large when it was expanded: the job goes to the queue of long ones. */
static bool post_as_long(struct sxt_exchange *exchange)
{
    exchange->job.is_long = true;
    return sxt_workers_post(exchange->request.service->workers, &exchange->job);
}

static struct sxt_exchange *exchange_of_job(struct sxt_job *job)
{
    return (struct sxt_exchange *)(void *)((char *)job - offsetof(struct sxt_exchange, job));
}

/* Gives the connection back to its thread. */
static void end_work(struct sxt_exchange *exchange)
{
    struct sxt_service *service = exchange->request.service;
    struct MHD_Connection *connection = exchange->connection;
    if (exchange->response != NULL) {
        finish(exchange); /* here it may wait for the disk */
        sxt_memory_free_body(exchange);
    }
    if (exchange->stage != SXT_STAGE_END)
        sxt_connection_expect_again(exchange->client);
    atomic_store_explicit(&exchange->is_waiting, false, memory_order_release);
    service->mhd.resume(connection);
}

/* Calls the handler, on a worker. False if the request waits for upstream.c: then it is not to be touched any more. */
static bool handle(struct sxt_exchange *exchange)
{
    struct sxt_request *request = &exchange->request;
    exchange->job.run = work_again;
    request->is_long = exchange->job.is_long;
    while (request->route->handle(request) == SXT_WAIT && exchange->response == NULL && request->upstream != NULL) {
        sxt_memory_free_reply(exchange); /* it begins anew */
        if (sxt_upstream_park(request))
            return false;
    }
    if (exchange->response == NULL && request->wants_long && !request->is_long && post_as_long(exchange))
        return false;
    sxt_upstream_leave(request);
    if (exchange->response == NULL)
        sxt_reply_failure(request, 500, SXT_CODE_INTERNAL, "no reply was made");
    return true;
}

static void work_again(struct sxt_job *job)
{
    struct sxt_exchange *exchange = exchange_of_job(job);
    if (handle(exchange))
        end_work(exchange);
}

void sxt_exchange_resume(struct sxt_request *request)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    if (sxt_workers_post(request->service->workers, &exchange->job))
        return;
    sxt_reply_header(request, "Retry-After", "1");
    sxt_reply_failure(request, 503, SXT_CODE_BUSY, "too many requests at once");
    end_work(exchange);
}

static void work(struct sxt_job *job)
{
    struct sxt_exchange *exchange = exchange_of_job(job);
    struct sxt_request *request = &exchange->request;
    request->may_wait = true;
    if (exchange->stage == SXT_STAGE_HEADERS)
        request->route->begin(request);
    else
        sxt_body_work(exchange, exchange->stage == SXT_STAGE_END);
    if (exchange->stage == SXT_STAGE_BODY && exchange->response != NULL)
        exchange->stage = SXT_STAGE_DROP;
    bool is_ready = exchange->stage == SXT_STAGE_END && exchange->response == NULL;
    if (is_ready && is_long(exchange) && !job->is_long && post_as_long(exchange))
        return;
    if (!is_ready || handle(exchange))
        end_work(exchange);
}

/* --- the end --- */

/* Makes the exchange ready for the next request of its connection. */
static void reset(struct sxt_exchange *exchange)
{
    struct sxt_request *request = &exchange->request;
    struct sxt_service *service = request->service;
    finish(exchange);
    if (exchange->response != NULL)
        service->mhd.release(exchange->response);
    sxt_expander_close(&exchange->expander);
    sxt_memory_free_body(exchange);
    sxt_memory_free_reply(exchange);
    if (exchange->has_arena)
        sxt_arena_free(&exchange->arena);
    const struct sxt_exchange kept = {
        .request = {.service = service, .body = request->body},
        .client = exchange->client,
        .pending = exchange->pending,
    };
    /* The arrays are as large as the rest, and are not read beyond their counts. */
    size_t first = offsetof(struct sxt_exchange, headers), then = offsetof(struct sxt_exchange, header_count);
    memcpy(exchange, &kept, first);
    memcpy((char *)exchange + then, (const char *)&kept + then, offsetof(struct sxt_exchange, path_room) - then);
    size_t rest = offsetof(struct sxt_exchange, arena);
    memcpy((char *)exchange + rest, (const char *)&kept + rest, sizeof kept - rest);
}

void sxt_exchange_completed(void *data, struct MHD_Connection *connection, void **slot,
                            enum MHD_RequestTerminationCode reason)
{
    struct sxt_service *service = data;
    struct sxt_exchange *exchange = *slot;
    (void)connection;
    if (exchange == NULL)
        return;
    *slot = NULL;
    uint64_t nanoseconds = now_ns() - exchange->began_ns;
    if (sxt_connection_was_late(exchange->client)) {
        exchange->status = 408;
        exchange->code = SXT_CODE_TIMEOUT;
        memcpy(exchange->text, SXT_TIMEOUT_TEXT, sizeof SXT_TIMEOUT_TEXT);
    }
    if (exchange->status == 0 || reason != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        exchange->is_cut = true;
    sxt_metrics_request(service->metrics, &(struct sxt_metrics_request){.route = exchange->request.route,
                                                                        .status = exchange->status,
                                                                        .nanoseconds = nanoseconds,
                                                                        .bytes_in = exchange->received,
                                                                        .bytes_out = exchange->body_out});
    log_request(exchange, nanoseconds);
    sxt_connection_end_request(exchange->client, exchange->stage != SXT_STAGE_END || exchange->must_close);
    reset(exchange);
    atomic_fetch_sub_explicit(&service->active, 1, memory_order_relaxed);
}

void sxt_exchange_free(struct sxt_exchange *exchange)
{
    sxt_buffer_free(&exchange->request.body);
    sxt_buffer_free(&exchange->pending);
    free(exchange);
}

/* --- the log --- */

struct line {
    char data[2048];
    size_t used;
};

static void put(struct line *line, const char *text, size_t size)
{
    if (size > sizeof line->data - line->used)
        size = sizeof line->data - line->used;
    memcpy(line->data + line->used, text, size);
    line->used += size;
}

static void put_text(struct line *line, const char *key, const char *value, size_t most)
{
    size_t size = strnlen(value, most);
    put(line, key, strlen(key));
    if (sxt_escape_plain_size(value, size) == size) {
        put(line, value, size);
    } else {
        struct sxt_buffer escaped;
        sxt_buffer_init(&escaped, 6 * most);
        sxt_escape_json(&escaped, (sxt_string){value, size});
        put(line, (const char *)escaped.data, escaped.size < most ? escaped.size : 0);
        sxt_buffer_free(&escaped);
    }
    put(line, "\"", 1);
}

static void put_number(struct line *line, const char *key, uint64_t value)
{
    char digits[SXT_DIGITS_MAX], *end = digits + sizeof digits, *start = sxt_digits_before(end, value);
    put(line, key, strlen(key));
    put(line, start, (size_t)(end - start));
}

static void log_request(const struct sxt_exchange *exchange, uint64_t nanoseconds)
{
    const struct sxt_request *request = &exchange->request;
    struct line line = {.used = 0};
    char now[SXT_LOG_TIME_SIZE];
    sxt_log_time(now);
    put(&line, "{\"time\":\"", 9);
    put(&line, now, sizeof now);
    put_text(&line, "\",\"uuid\":\"", request->uuid, 36);
    put_text(&line, ",\"client\":\"", sxt_connection_address(exchange->client), 64);
    put_text(&line, ",\"method\":\"", request->method != NULL ? request->method : "", 32);
    put_text(&line, ",\"path\":\"", exchange->raw_path != NULL ? exchange->raw_path : "", 512);
    put_text(&line, ",\"route\":\"", request->route != NULL ? request->route->name : "", 32);
    put_number(&line, ",\"status\":", exchange->status);
    if (exchange->code != 0) {
        put_number(&line, ",\"code\":", exchange->code);
        put_text(&line, ",\"text\":\"", exchange->text, sizeof exchange->text);
    }
    if (*request->key_id != 0)
        put_text(&line, ",\"key\":\"", request->key_id, 128);
    if (*request->tenant != 0)
        put_text(&line, ",\"tenant\":\"", request->tenant, 64);
    put_number(&line, ",\"bytes_in\":", exchange->received);
    put_number(&line, ",\"bytes_out\":", exchange->body_out);
    put_number(&line, ",\"microseconds\":", nanoseconds / 1000);
    if (exchange->is_cut)
        put(&line, ",\"cut\":true", 11);
    put(&line, "}\n", 2);
    sxt_log_line(request->service->log, line.data, line.used);
}
