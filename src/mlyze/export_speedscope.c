/*
 * export_speedscope.c: the JSON of speedscope: frames that all profiles share, then a profile for what was allocated,
 * one for what was live at the peak, and one for what leaked; each stack is a sample whose weight is in bytes.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "base/strings.h"
#include "mlyze/analysis.h"
#include "mlyze/frame_names.h"

static const struct {
    const char *name;
    sxt_heap_cost cost;
} profiles[] = {{"allocated", SXT_HEAP_COST_BYTES}, {"peak", SXT_HEAP_COST_PEAK}, {"leaked", SXT_HEAP_COST_LEAKED}};

struct speedscope {
    const sxt_heap_usage *usage;
    struct sxt_json_writer json;
    struct sxt_frame_names names;
    struct sxt_strings frames;  /* keys of frames: number = index + 1 */
    struct sxt_mlyze_path path; /* of a stack */
    bool no_memory;
};

/* What makes a frame distinct: numbers of names; IS_STACK: FUNCTION is the id of a stack that has no frames. */
struct frame_key {
    uint32_t function, file, line, is_stack;
};

static void put_frame(struct speedscope *scope, const struct frame_key *key)
{
    struct sxt_json_writer *json = &scope->json;
    char room[24];
    sxt_json_write_begin(json, NULL, '{');
    if (key->is_stack) {
        int size = snprintf(room, sizeof room, "stack_%u", key->function);
        sxt_json_write_string(json, "name", (sxt_string){room, (size_t)size});
    } else {
        sxt_json_write_string(json, "name", sxt_strings_get(&scope->names.strings, key->function));
        sxt_string file = sxt_strings_get(&scope->names.strings, key->file);
        if (file.size > 0)
            sxt_json_write_string(json, "file", file);
        if (key->line > 0)
            sxt_json_write_number(json, "line", key->line);
    }
    sxt_json_write_end(json, '}');
}

/* Finds the frames of a stack; returns how many entries it has. */
static uint32_t open_stack(struct speedscope *scope, uint32_t id)
{
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(scope->usage, id);
    scope->path.count = 0;
    if (stack == NULL || stack->count == 0)
        return 1;
    scope->no_memory |= !sxt_heap_find_path(scope->usage, stack, &scope->path);
    return scope->path.count;
}

/* Frame AT of the stack that is open, the outermost being 0. */
static struct frame_key key_at(struct speedscope *scope, uint32_t id, uint32_t at)
{
    if (scope->path.count == 0)
        return (struct frame_key){.function = id, .is_stack = 1};
    uint32_t node = scope->path.nodes[scope->path.count - 1 - at];
    const struct sxt_mlyze_frame *frame = sxt_mlyze_node_frame(sxt_mlyze_metadata(scope->usage->trace), node);
    struct frame_key key = {sxt_frame_names_function(&scope->names, frame->function),
                            sxt_frame_names_file(&scope->names, frame->file), frame->line, 0};
    scope->no_memory |= scope->names.no_memory;
    return key;
}

static void put_frames(struct speedscope *scope)
{
    for (size_t i = 0; i < scope->usage->sites.count; i++) {
        uint32_t id = sxt_heap_record(&scope->usage->sites, i)->stack;
        uint32_t count = open_stack(scope, id);
        for (uint32_t k = 0; k < count && !scope->no_memory; k++) {
            struct frame_key key = key_at(scope, id, k);
            uint32_t known = scope->frames.count;
            uint32_t number = sxt_strings_add(&scope->frames, (const char *)&key, sizeof key);
            scope->no_memory |= number == SXT_STRINGS_FULL;
            if (number == known && !scope->no_memory)
                put_frame(scope, &key);
        }
    }
}

static void put_samples(struct speedscope *scope, sxt_heap_cost cost)
{
    for (size_t i = 0; i < scope->usage->sites.count; i++) {
        uint32_t id = sxt_heap_record(&scope->usage->sites, i)->stack;
        if (sxt_heap_sites_bytes(&scope->usage->sites, i, cost) == 0)
            continue;
        sxt_json_write_begin(&scope->json, NULL, '[');
        uint32_t count = open_stack(scope, id);
        for (uint32_t k = 0; k < count; k++) {
            struct frame_key key = key_at(scope, id, k);
            uint32_t number = sxt_strings_find(&scope->frames, (const char *)&key, sizeof key);
            sxt_json_write_number(&scope->json, NULL, number - 1);
        }
        sxt_json_write_end(&scope->json, ']');
    }
}

static uint64_t put_weights(struct speedscope *scope, sxt_heap_cost cost)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < scope->usage->sites.count; i++) {
        uint64_t bytes = sxt_heap_sites_bytes(&scope->usage->sites, i, cost);
        if (bytes > 0)
            sxt_json_write_number(&scope->json, NULL, bytes);
        sum += bytes;
    }
    return sum;
}

static void put_profile(struct speedscope *scope, const char *name, sxt_heap_cost cost)
{
    struct sxt_json_writer *json = &scope->json;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_string(json, "type", sxt_string_of("sampled"));
    sxt_json_write_string(json, "name", sxt_string_of(name));
    sxt_json_write_string(json, "unit", sxt_string_of("bytes"));
    sxt_json_write_number(json, "startValue", 0);
    sxt_json_write_begin(json, "samples", '[');
    put_samples(scope, cost);
    sxt_json_write_end(json, ']');
    sxt_json_write_begin(json, "weights", '[');
    uint64_t sum = put_weights(scope, cost);
    sxt_json_write_end(json, ']');
    sxt_json_write_number(json, "endValue", sum);
    sxt_json_write_end(json, '}');
}

int sxt_heap_export_speedscope(const sxt_heap_usage *usage, struct sxt_buffer *out, sxt_error *error)
{
    struct speedscope scope = {.usage = usage, .json = sxt_json_writer_make(out, SXT_JSON_COMPACT)};
    struct sxt_json_writer *json = &scope.json;
    json->escapes = SXT_JSON_ESCAPES_NUMBERS_WITH_DELETE;
    int status = sxt_frame_names_init(&scope.names, sxt_mlyze_metadata(usage->trace), false, error);
    if (status == SXT_OK && (status = sxt_strings_init(&scope.frames, 0, error)) != SXT_OK)
        sxt_frame_names_free(&scope.names);
    if (status != SXT_OK)
        return status;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_string(json, "$schema", sxt_string_of("https://www.speedscope.app/file-format-schema.json"));
    sxt_json_write_string(json, "exporter", sxt_string_of("sextant"));
    sxt_json_write_begin(json, "shared", '{');
    sxt_json_write_begin(json, "frames", '[');
    put_frames(&scope);
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
    sxt_json_write_begin(json, "profiles", '[');
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles && !scope.no_memory; i++)
        put_profile(&scope, profiles[i].name, profiles[i].cost);
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
    sxt_buffer_u8(out, '\n');
    status = scope.no_memory ? sxt_fail_memory(error, out->size) : sxt_buffer_status(out, error);
    sxt_strings_free(&scope.frames);
    sxt_frame_names_free(&scope.names);
    sxt_mlyze_path_free(&scope.path);
    return status;
}
