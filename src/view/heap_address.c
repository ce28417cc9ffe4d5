/* heap_address.c: the history of one address in a heap trace, as `heap --address --json` prints it. */
#include "base/hex.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "view/heap.h"

#define EVENTS_MOST 2000 /* that are listed */
#define FRAMES_MOST 256

struct history {
    struct sxt_json_writer json;
    const sxt_trace *trace;
    uint64_t address, count;
};

static void write_frames(struct history *history, uint32_t stack)
{
    struct sxt_json_writer *json = &history->json;
    sxt_trace_frame frame;
    sxt_json_write_begin(json, "frames", '[');
    for (uint32_t i = 0; i < FRAMES_MOST && sxt_trace_get_frame(history->trace, stack, i, &frame); i++) {
        sxt_json_write_begin(json, NULL, '{');
        if (frame.file.data != NULL)
            sxt_json_write_string(json, "file", frame.file);
        else
            sxt_json_write_null(json, "file");
        sxt_json_write_number(json, "line", frame.line);
        if (frame.function.data != NULL)
            sxt_json_write_string(json, "function", frame.function);
        else
            sxt_json_write_null(json, "function");
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
}

static void write_block(struct history *history, const sxt_heap_address_event *event)
{
    struct sxt_json_writer *json = &history->json;
    sxt_json_write_number(json, "size", event->size);
    sxt_json_write_number(json, "offset", history->address - event->address);
    sxt_json_write_number(json, "stack", event->stack);
    sxt_json_write_number(json, "thread", event->thread);
    if (event->is_free)
        sxt_json_write_number(json, "lifetime_us", event->time - event->allocated);
    else
        write_frames(history, event->stack);
}

static bool write_event(void *data, const sxt_heap_address_event *event)
{
    struct history *history = data;
    struct sxt_json_writer *json = &history->json;
    if (history->count++ >= EVENTS_MOST)
        return true;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_string(json, "event", sxt_string_of(event->is_free ? "free" : "alloc"));
    sxt_json_write_number(json, "time_us", event->time);
    sxt_json_write_address(json, "address", event->address);
    if (!event->is_unmatched)
        write_block(history, event);
    if (event->is_free) {
        sxt_json_write_bool(json, "implicit", event->is_implicit);
        sxt_json_write_bool(json, "unmatched", event->is_unmatched);
    }
    sxt_json_write_end(json, '}');
    return true;
}

static bool parse_address(const char *text, uint64_t *out)
{
    if (text != NULL && text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    uint64_t value = 0;
    size_t digits = 0;
    for (; text != NULL && text[digits] != 0; digits++) {
        int digit = sxt_hex_digit(text[digits]);
        if (digit < 0 || digits == 16)
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    *out = value;
    return digits > 0;
}

int sxt_view_heap_address(const sxt_trace *trace, const struct sxt_view_query *query, struct sxt_view_reply *reply,
                          sxt_error *error)
{
    struct history history = {.json = sxt_json_writer_make(&reply->body, SXT_JSON_COMPACT), .trace = trace};
    struct sxt_json_writer *json = &history.json;
    if (!parse_address(sxt_view_query_get(query, "address"), &history.address)) {
        reply->status = 400;
        sxt_buffer_print(&reply->body, "not a hexadecimal address");
        return SXT_OK;
    }
    reply->type = "application/json";
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_address(json, "address", history.address);
    sxt_json_write_begin(json, "events", '[');
    int status = sxt_trace_visit_address(trace, history.address, write_event, &history, error);
    sxt_json_write_end(json, ']');
    sxt_json_write_number(json, "count", history.count);
    sxt_json_write_end(json, '}');
    return status;
}
