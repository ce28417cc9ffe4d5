/* reply.c: makes replies. The first reply of a request counts. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "service/exchange.h"
#include "service/pages.h"

#define FAILURE_LIMIT 4096
#define JSON          "application/json"

void sxt_reply_header(struct sxt_request *request, const char *name, const char *value)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    size_t size = strlen(value) + 1;
    char *copy = sxt_request_alloc(request, size);
    if (copy == NULL || exchange->reply_header_count == SXT_REPLY_HEADERS_MAX || exchange->response != NULL)
        return;
    memcpy(copy, value, size);
    exchange->reply_headers[exchange->reply_header_count++] = (struct sxt_header){name, copy};
}

void sxt_reply_finish(struct sxt_exchange *exchange, unsigned status, const char *type, struct MHD_Response *response,
                      uint64_t size)
{
    const struct sxt_mhd *mhd = &exchange->request.service->mhd;
    if (response == NULL)
        return;
    if (type != NULL)
        mhd->add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    for (size_t i = 0; i < exchange->reply_header_count; i++)
        mhd->add_header(response, exchange->reply_headers[i].name, exchange->reply_headers[i].value);
    if (exchange->must_close || atomic_load_explicit(&exchange->request.service->is_draining, memory_order_relaxed))
        mhd->add_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    exchange->response = response;
    exchange->status = status;
    exchange->body_out = strcmp(exchange->request.method, "HEAD") != 0 ? size : 0;
}

void sxt_reply_buffer(struct sxt_request *request, unsigned status, const char *type, struct sxt_buffer *body)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    const struct sxt_mhd *mhd = &request->service->mhd;
    if (exchange->response != NULL) {
        sxt_buffer_free(body);
        return;
    }
    if (body->failed) {
        sxt_error error;
        sxt_buffer_status(body, &error);
        sxt_buffer_free(body);
        sxt_reply_failure(request, 500, SXT_CODE_INTERNAL, "cannot make the reply: %s", error.text);
        return;
    }
    if (!sxt_request_count_memory(request, body->size)) {
        sxt_buffer_free(body);
        return;
    }
    sxt_memory_keep_reply(exchange, body->size);
    size_t size;
    uint8_t *data = sxt_buffer_take(body, &size);
    struct MHD_Response *response = mhd->response_static(size, data != NULL ? (void *)data : (void *)(uintptr_t) "",
                                                         data != NULL ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        free(data);
    sxt_reply_finish(exchange, status, type, response, size);
}

void sxt_reply_text(struct sxt_request *request, unsigned status, const char *type, const char *text)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    if (exchange->response != NULL)
        return;
    size_t size = strlen(text);
    sxt_reply_finish(exchange, status, type,
                     request->service->mhd.response_static(size, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY), size);
}

/* In the form of the protocol that the route belongs to. */
static void print_failure(const struct sxt_exchange *exchange, struct sxt_buffer *out, unsigned status)
{
    const struct sxt_route *route = exchange->request.route;
    sxt_print_failure *print =
        route != NULL && route->print_failure != NULL ? route->print_failure : sxt_reply_print_failure;
    print(out, exchange->request.uuid, status, exchange->code, exchange->text);
}

void sxt_reply_failure(struct sxt_request *request, unsigned status, enum sxt_code code, const char *format, ...)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    if (exchange->response != NULL)
        return;
    char *text = exchange->text;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof exchange->text, format, list);
    va_end(list);
    exchange->code = code;
    if (request->route != NULL && request->route->is_page && sxt_request_wants_html(request)) {
        sxt_pages_reply_failure(request, status, text);
        return;
    }
    struct sxt_buffer body;
    sxt_buffer_init(&body, FAILURE_LIMIT);
    print_failure(exchange, &body, status);
    if (body.failed) /* out of memory */
        sxt_reply_text(request, status, JSON, "{\"success\":false}");
    else
        sxt_reply_buffer(request, status, JSON, &body);
    sxt_buffer_free(&body);
}

void sxt_reply_print_failure(struct sxt_buffer *out, const char *uuid, unsigned status, enum sxt_code code,
                             const char *text)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)code);
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_bool(&json, "success", false);
    sxt_json_write_string(&json, "uuid", sxt_string_of(uuid));
    sxt_json_write_begin(&json, "error", '{');
    sxt_json_write_string(&json, "Code", sxt_string_of(number));
    sxt_json_write_string(&json, "Text", sxt_string_of(text));
    sxt_json_write_end(&json, '}');
    sxt_json_write_number(&json, "status", status);
    sxt_json_write_end(&json, '}');
}

enum MHD_Result sxt_reply_cut(struct sxt_exchange *exchange)
{
    struct sxt_buffer body, whole;
    sxt_buffer_init(&body, FAILURE_LIMIT);
    sxt_buffer_init(&whole, 2 * FAILURE_LIMIT);
    print_failure(exchange, &body, exchange->status);
    sxt_buffer_print(&whole, "HTTP/1.1 %u %s\r\nContent-Type: " JSON "\r\nConnection: close\r\nContent-Length: %zu\r\n",
                     exchange->status, exchange->request.service->mhd.reason(exchange->status), body.size);
    for (size_t i = 0; i < exchange->reply_header_count; i++)
        sxt_buffer_print(&whole, "%s: %s\r\n", exchange->reply_headers[i].name, exchange->reply_headers[i].value);
    sxt_buffer_print(&whole, "\r\n");
    sxt_buffer_append(&whole, body.data, body.size);
    if (!whole.failed)
        sxt_connection_send(exchange->client, whole.data, whole.size);
    sxt_buffer_free(&body);
    sxt_buffer_free(&whole);
    exchange->must_close = true;
    return MHD_NO;
}

void sxt_reply_error(struct sxt_request *request, const sxt_error *error)
{
    switch (error->code) {
    case SXT_ERROR_NOT_FOUND:
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_FILE, "nothing is known of the file");
        return;
    case SXT_ERROR_LIMIT:
        sxt_request_log(request, "%s", error->text);
        sxt_reply_failure(request, 507, SXT_CODE_STORE_FULL, "no space is left in the store");
        return;
    case SXT_ERROR_IO:
        sxt_request_log(request, "%s", error->text);
        sxt_reply_header(request, "Retry-After", "5");
        sxt_reply_failure(request, 503, SXT_CODE_STORE, "the store does not work");
        return;
    case SXT_ERROR_USAGE:
        sxt_reply_failure(request, 400, SXT_CODE_PATH, "%s", error->text);
        return;
    case SXT_ERROR_FORMAT:
    case SXT_ERROR_UNSUPPORTED:
    case SXT_ERROR_MEMORY:
    case SXT_OK:
    default:
        sxt_request_log(request, "%s", error->text);
        sxt_reply_failure(request, 500, SXT_CODE_INTERNAL, "something went wrong; the log has it under the uuid");
        return;
    }
}

enum MHD_Result sxt_reply_queue(struct sxt_exchange *exchange)
{
    sxt_connection_reply(exchange->client, exchange->reply_memory);
    return exchange->request.service->mhd.queue(exchange->connection, exchange->status, exchange->response);
}
