/*
 * body.c: takes the body of a request, in memory or in pieces.
 *
 * The thread of the connection only collects bytes. What has to be expanded, and what goes to a handler in pieces, is
 * worked on by a worker when enough of it is there.
 */
#include "service/exchange.h"

#include "base/error.h"

#define PIECE ((size_t)256 << 10)

static void refuse(struct sxt_exchange *exchange)
{
    exchange->stage = SXT_STAGE_DROP;
}

/* Counts what is in memory, and MORE bytes. If it returns false, the reply is made. */
static bool count_memory(struct sxt_exchange *exchange, size_t more)
{
    size_t size = exchange->request.body.size + exchange->pending.size + more;
    if (exchange->expander != NULL)
        size += sxt_expander_memory(exchange->expander);
    return sxt_memory_of_body(exchange, size);
}

/* Appends to a body in memory. If it returns false, the reply is made. */
static bool append(struct sxt_exchange *exchange, struct sxt_buffer *to, const void *data, size_t size)
{
    if (!count_memory(exchange, size))
        return false;
    sxt_buffer_append(to, data, size);
    if (to->failed)
        sxt_reply_failure(&exchange->request, 503, SXT_CODE_BUSY, "out of memory");
    return !to->failed;
}

/* Charges a chunked body, whose length is not known before, to the key. */
static bool charge(struct sxt_exchange *exchange, size_t size)
{
    return !exchange->is_chunked || sxt_exchange_charge(exchange, size);
}

bool sxt_body_take(struct sxt_exchange *exchange, const char *data, size_t size)
{
    struct sxt_request *request = &exchange->request;
    exchange->received += size;
    sxt_connection_received(exchange->client, size);
    if (exchange->stage == SXT_STAGE_DROP)
        return false;
    if (exchange->received > exchange->body_limit) {
        sxt_reply_failure(request, 413, SXT_CODE_TOO_LARGE, "the body is larger than %llu bytes",
                          (unsigned long long)exchange->body_limit);
        refuse(exchange);
        return false;
    }
    if (!charge(exchange, size)) {
        refuse(exchange);
        return false;
    }
    if (request->route->body == SXT_BODY_NONE)
        return false;
    bool is_collected = request->route->body == SXT_BODY_STREAM || exchange->expander != NULL;
    struct sxt_buffer *to = is_collected ? &exchange->pending : &request->body;
    if (!append(exchange, to, data, size)) {
        refuse(exchange);
        return false;
    }
    return is_collected && to->size >= PIECE;
}

/* --- on a worker --- */

static int give_piece(void *context, const void *data, size_t size, sxt_error *error)
{
    struct sxt_exchange *exchange = context;
    struct sxt_request *request = &exchange->request;
    bool is_stream = request->route->body == SXT_BODY_STREAM;
    exchange->expanded += size;
    if (is_stream && count_memory(exchange, 0))
        return request->route->piece(request, data, size, error);
    if (!is_stream && append(exchange, &request->body, data, size))
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "too many large requests at once");
}

static void reply_expansion(struct sxt_request *request, const sxt_error *error)
{
    if (error->code == SXT_ERROR_LIMIT)
        sxt_reply_failure(request, 413, SXT_CODE_INFLATE_LIMIT, "%s", error->text);
    else if (error->code == SXT_ERROR_FORMAT)
        sxt_reply_failure(request, 400, SXT_CODE_DAMAGED_BODY, "%s", error->text);
    else
        sxt_reply_error(request, error);
}

void sxt_body_work(struct sxt_exchange *exchange, bool is_end)
{
    struct sxt_request *request = &exchange->request;
    struct sxt_buffer *pending = &exchange->pending;
    struct sxt_expander *expander = exchange->expander;
    sxt_error error;
    sxt_error_clear(&error);
    int status = SXT_OK;
    bool is_expansion = false;
    if (expander == NULL && pending->size > 0)
        status = give_piece(exchange, pending->data, pending->size, &error);
    else if (expander != NULL) {
        status = sxt_expander_feed(expander, pending->data, pending->size, give_piece, exchange, &error);
        if (status == SXT_OK && is_end && exchange->received > 0)
            status = sxt_expander_finish(expander, &error);
        is_expansion = !sxt_expander_sink_failed(expander);
    }
    sxt_buffer_clear(pending);
    if (status == SXT_OK || exchange->response != NULL)
        return;
    if (is_expansion)
        reply_expansion(request, &error);
    else
        sxt_reply_error(request, &error);
}
