/*
 * memory.c: counts what all requests together have in memory: bodies, what is read from them, and replies.
 *
 * Small requests are not counted. A body is given back as soon as the reply is made; a reply, when it was sent.
 */
#include "service/exchange.h"

/* Raises *COUNTED to SIZE. False if all requests together have too much. */
static bool count_up_to(struct sxt_service *service, uint64_t *counted, uint64_t size)
{
    if (size <= *counted || size <= SXT_SMALL)
        return true;
    uint64_t more = size - *counted;
    if (atomic_fetch_add_explicit(&service->memory, more, memory_order_relaxed) + more >
        service->options.memory_limit) {
        atomic_fetch_sub_explicit(&service->memory, more, memory_order_relaxed);
        return false;
    }
    *counted = size;
    return true;
}

static void give_back(struct sxt_service *service, uint64_t *counted)
{
    if (*counted > 0)
        atomic_fetch_sub_explicit(&service->memory, *counted, memory_order_relaxed);
    *counted = 0;
}

static bool refuse(struct sxt_request *request)
{
    sxt_reply_header(request, "Retry-After", "1");
    sxt_reply_failure(request, 503, SXT_CODE_BUSY, "too many large requests at once");
    return false;
}

bool sxt_memory_of_body(struct sxt_exchange *exchange, uint64_t size)
{
    return count_up_to(exchange->request.service, &exchange->body_memory, size) || refuse(&exchange->request);
}

bool sxt_request_count_memory(struct sxt_request *request, uint64_t size)
{
    return count_up_to(request->service, &sxt_exchange_of(request)->reply_memory, size) || refuse(request);
}

void sxt_memory_free_body(struct sxt_exchange *exchange)
{
    struct sxt_buffer *const buffers[] = {&exchange->request.body, &exchange->pending};
    for (size_t i = 0; i < 2; i++) {
        if (buffers[i]->capacity > SXT_SMALL)
            sxt_buffer_free(buffers[i]);
        sxt_buffer_clear(buffers[i]);
    }
    give_back(exchange->request.service, &exchange->body_memory);
}

void sxt_memory_keep_reply(struct sxt_exchange *exchange, uint64_t size)
{
    if (exchange->reply_memory > size) {
        atomic_fetch_sub_explicit(&exchange->request.service->memory, exchange->reply_memory - size,
                                  memory_order_relaxed);
        exchange->reply_memory = size;
    }
}

void sxt_memory_free_reply(struct sxt_exchange *exchange)
{
    give_back(exchange->request.service, &exchange->reply_memory);
}
