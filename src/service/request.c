/* request.c: what handlers ask of a request. */
#include "service/request.h"

#include <stdarg.h>
#include <string.h>

#include "service/exchange.h"
#include "service/log.h"
#include "service/metrics.h"

#define ARENA_LIMIT ((size_t)16 << 20)

const char *sxt_request_header(const struct sxt_request *request, const char *name)
{
    const struct sxt_exchange *exchange = sxt_exchange_of(request);
    return sxt_header_find(exchange->headers, exchange->header_count, name);
}

struct wanted {
    const char *name;
    size_t size;
    const char *value;
};

static enum MHD_Result match_query(void *data, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                   const char *value, size_t value_size)
{
    struct wanted *wanted = data;
    (void)kind;
    (void)value_size;
    if (name_size != wanted->size || memcmp(name, wanted->name, name_size) != 0)
        return MHD_YES;
    wanted->value = value != NULL ? value : "";
    return MHD_NO;
}

const char *sxt_request_query(struct sxt_request *request, const char *name)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    struct wanted wanted = {.name = name, .size = strlen(name)};
    request->service->mhd.connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, match_query, &wanted);
    if (wanted.value == NULL)
        return NULL;
    size_t size = strlen(wanted.value), decoded;
    char *copy = sxt_request_alloc(request, size + 1);
    if (copy == NULL)
        return NULL;
    if (!sxt_route_decode(wanted.value, size, copy, &decoded) || strlen(copy) != decoded)
        memcpy(copy, wanted.value, size + 1);
    return copy;
}

void *sxt_request_alloc(struct sxt_request *request, size_t size)
{
    struct sxt_exchange *exchange = sxt_exchange_of(request);
    if (!exchange->has_arena) {
        sxt_arena_init(&exchange->arena, ARENA_LIMIT, sxt_arena_separate_default);
        exchange->has_arena = true;
    }
    return sxt_arena_alloc(&exchange->arena, size);
}

void sxt_request_count(struct sxt_request *request, enum sxt_metric metric, uint64_t number)
{
    sxt_metrics_count(request->service->metrics, metric, number);
}

void sxt_request_log(struct sxt_request *request, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    sxt_log_message_list(request->service->log, "warning", request->uuid, format, list);
    va_end(list);
}

bool sxt_request_is_answered(const struct sxt_request *request)
{
    return sxt_exchange_of(request)->response != NULL;
}
