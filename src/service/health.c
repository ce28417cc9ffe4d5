/* health.c: whether the server lives and works, and its figures. */
#include "base/error.h"
#include "service/handlers.h"
#include "service/metrics.h"
#include "service/server.h"

#define METRICS_LIMIT ((size_t)4 << 20)

enum sxt_handled sxt_handle_healthy(struct sxt_request *request)
{
    sxt_reply_text(request, 200, "text/plain; charset=utf-8", "ok\n");
    return SXT_DONE;
}

enum sxt_handled sxt_handle_ready(struct sxt_request *request)
{
    sxt_error error;
    if (atomic_load(&request->service->is_draining)) {
        sxt_reply_failure(request, 503, SXT_CODE_DRAINING, "the server is about to end");
        return SXT_DONE;
    }
    if (!request->may_wait)
        return SXT_WAIT;
    if (sxt_store_check(request->service->store, &error) != SXT_OK) {
        sxt_request_log(request, "%s", error.text);
        sxt_reply_failure(request, 503, SXT_CODE_STORE, "the store does not work");
        return SXT_DONE;
    }
    sxt_reply_text(request, 200, "text/plain; charset=utf-8", "ready\n");
    return SXT_DONE;
}

enum sxt_handled sxt_handle_metrics(struct sxt_request *request)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, METRICS_LIMIT);
    sxt_metrics_print(request->service, &text);
    sxt_reply_buffer(request, 200, "text/plain; version=0.0.4; charset=utf-8", &text);
    return SXT_DONE;
}
