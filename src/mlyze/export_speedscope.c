/*
 * export_speedscope.c: the JSON of speedscope: frames that all profiles share, then a profile for what was allocated,
 * one for what was live at the peak, and one for what leaked; each stack is a sample whose weight is in bytes.
 */
#include <string.h>

#include "base/error.h"
#include "base/strings.h"
#include "mlyze/heap.h"

static const struct {
    const char *name;
    enum sxt_heap_cost cost;
} profiles[] = {{"allocated", SXT_HEAP_BYTES}, {"peak", SXT_HEAP_PEAK}, {"leaked", SXT_HEAP_LEAKED}};

struct speedscope {
    const struct sxt_heap_usage *usage;
    struct sxt_buffer *out;
    struct sxt_strings frames; /* keys of frames: number = index + 1 */
    bool no_memory;
};

/* Names are UTF-8, as the metadata they come from is. */
static void put_text(struct sxt_buffer *out, sxt_string text)
{
    sxt_buffer_u8(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        unsigned char letter = (unsigned char)text.data[i];
        if (letter < ' ' || letter == 0x7f)
            sxt_buffer_print(out, "\\u%04x", letter);
        else if (letter == '"' || letter == '\\')
            sxt_buffer_print(out, "\\%c", letter);
        else
            sxt_buffer_u8(out, letter);
    }
    sxt_buffer_u8(out, '"');
}

/* A frame as it is told apart from others; IS_STACK: the id of a stack that is not there. */
struct frame_key {
    uint32_t function, file, line, is_stack;
};

static void put_frame(struct speedscope *scope, const struct frame_key *key)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(scope->usage->trace);
    char room[24];
    sxt_buffer_print(scope->out, "%s{\"name\":", scope->frames.count > 2 ? "," : "");
    if (key->is_stack) {
        sxt_buffer_print(scope->out, "\"stack_%u\"}", key->function);
        return;
    }
    put_text(scope->out, sxt_mlyze_function(metadata, key->function, room));
    sxt_string file = sxt_mlyze_file(metadata, key->file, room);
    if (file.size > 0) {
        sxt_buffer_print(scope->out, ",\"file\":");
        put_text(scope->out, file);
    }
    if (key->line > 0)
        sxt_buffer_print(scope->out, ",\"line\":%u", key->line);
    sxt_buffer_u8(scope->out, '}');
}

/* Frame AT of a stack, the outermost being 0. */
static struct frame_key key_at(const struct sxt_mlyze_stack *stack, uint32_t id, uint32_t at)
{
    if (stack == NULL || stack->count == 0)
        return (struct frame_key){.function = id, .is_stack = 1};
    const struct sxt_mlyze_frame *frame = &stack->frames[stack->count - 1 - at];
    return (struct frame_key){frame->function, frame->file, frame->line, 0};
}

static void put_frames(struct speedscope *scope)
{
    for (size_t i = 0; i < scope->usage->site_count; i++) {
        uint32_t id = scope->usage->sites[i].stack;
        const struct sxt_mlyze_stack *stack = sxt_heap_frames(scope->usage, id);
        uint32_t count = stack != NULL && stack->count > 0 ? stack->count : 1;
        for (uint32_t k = 0; k < count && !scope->no_memory; k++) {
            struct frame_key key = key_at(stack, id, k);
            uint32_t known = scope->frames.count;
            uint32_t number = sxt_strings_add(&scope->frames, (const char *)&key, sizeof key);
            scope->no_memory |= number == SXT_STRINGS_FULL;
            if (number == known)
                put_frame(scope, &key);
        }
    }
}

static void put_samples(struct speedscope *scope, enum sxt_heap_cost cost)
{
    bool is_first = true;
    for (size_t i = 0; i < scope->usage->site_count; i++) {
        const struct sxt_heap_site *site = &scope->usage->sites[i];
        const struct sxt_mlyze_stack *stack = sxt_heap_frames(scope->usage, site->stack);
        if (sxt_heap_bytes_of(&site->sums, cost) == 0)
            continue;
        sxt_buffer_print(scope->out, is_first ? "[" : ",[");
        is_first = false;
        uint32_t count = stack != NULL && stack->count > 0 ? stack->count : 1;
        for (uint32_t k = 0; k < count; k++) {
            struct frame_key key = key_at(stack, site->stack, k);
            uint32_t number = sxt_strings_find(&scope->frames, (const char *)&key, sizeof key);
            sxt_buffer_print(scope->out, k == 0 ? "%u" : ",%u", number - 1);
        }
        sxt_buffer_u8(scope->out, ']');
    }
}

static uint64_t put_weights(struct speedscope *scope, enum sxt_heap_cost cost)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < scope->usage->site_count; i++) {
        uint64_t bytes = sxt_heap_bytes_of(&scope->usage->sites[i].sums, cost);
        if (bytes > 0)
            sxt_buffer_print(scope->out, sum == 0 ? "%llu" : ",%llu", (unsigned long long)bytes);
        sum += bytes;
    }
    return sum;
}

int sxt_heap_export_speedscope(const struct sxt_heap_usage *usage, struct sxt_buffer *out, sxt_error *error)
{
    struct speedscope scope = {.usage = usage, .out = out};
    int status = sxt_strings_init(&scope.frames, 0, error);
    if (status != SXT_OK)
        return status;
    sxt_buffer_print(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                          "\"exporter\":\"sextant\",\"shared\":{\"frames\":[");
    put_frames(&scope);
    sxt_buffer_print(out, "]},\"profiles\":[");
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles && !scope.no_memory; i++) {
        sxt_buffer_print(out,
                         "%s{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"bytes\",\"startValue\":0,\"samples\":[",
                         i == 0 ? "" : ",", profiles[i].name);
        put_samples(&scope, profiles[i].cost);
        sxt_buffer_print(out, "],\"weights\":[");
        uint64_t sum = put_weights(&scope, profiles[i].cost);
        sxt_buffer_print(out, "],\"endValue\":%llu}", (unsigned long long)sum);
    }
    sxt_buffer_print(out, "]}\n");
    status = scope.no_memory ? sxt_fail_memory(error, out->size) : sxt_buffer_status(out, error);
    sxt_strings_free(&scope.frames);
    return status;
}
