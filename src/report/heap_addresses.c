/* heap_addresses.c: the history of some addresses, for the page of a heap trace. */
#include "report/heap_page.h"

#define EVENTS_MOST 10000 /* of an address */

struct history {
    struct sxt_json_writer *json;
    struct sxt_heap_calls *calls;
    const sxt_trace *trace;
    uint64_t start, count;
};

static bool write_event(void *data, const sxt_heap_address_event *event)
{
    struct history *history = data;
    struct sxt_json_writer *json = history->json;
    if (history->count++ >= EVENTS_MOST)
        return true;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_string(json, "event", event->is_free ? (sxt_string){"free", 4} : (sxt_string){"alloc", 5});
    sxt_json_write_number(json, "time", event->time - history->start);
    if (event->is_unmatched) {
        sxt_json_write_bool(json, "unmatched", true);
    } else {
        sxt_json_write_address(json, "block", event->address);
        sxt_json_write_number(json, "size", event->size);
        sxt_json_write_number(json, "thread", event->thread);
        sxt_json_write_number(json, "stack", event->stack);
        sxt_json_write_number(json, "node", sxt_heap_calls_add(history->calls, history->trace, event->stack));
        sxt_json_write_number(json, "lifetime", event->time - event->allocated);
        sxt_json_write_bool(json, "implicit", event->is_implicit);
    }
    sxt_json_write_end(json, '}');
    return true;
}

int sxt_heap_page_write_addresses(struct sxt_json_writer *json, struct sxt_heap_calls *calls,
                                  const struct sxt_page_heap *heap, sxt_error *error)
{
    int status = SXT_OK;
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(heap->trace, &info);
    sxt_json_write_begin(json, "addresses", '[');
    for (size_t i = 0; i < heap->address_count && status == SXT_OK; i++) {
        struct history history = {.json = json, .calls = calls, .trace = heap->trace, .start = info.start_us};
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_address(json, "address", heap->addresses[i]);
        sxt_json_write_begin(json, "events", '[');
        status = sxt_trace_visit_address(heap->trace, heap->addresses[i], write_event, &history, error);
        sxt_json_write_end(json, ']');
        sxt_json_write_number(json, "count", history.count);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    return status;
}
