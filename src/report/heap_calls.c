/* heap_calls.c: the stacks of heap traces as a tree of calls. */
#include "report/heap_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "mlyze/analysis.h"
#include "report/columns.h"

#define SMALL "(small stacks)"

/* Number 0 of each list is none, as the empty string is number 0 of its keys. */
int sxt_heap_calls_init(struct sxt_heap_calls *calls, sxt_error *error)
{
    *calls = (struct sxt_heap_calls){.function_count = 1, .frame_count = 1, .node_count = 1};
    struct sxt_strings *const tables[] = {&calls->strings, &calls->function_keys, &calls->frame_keys,
                                          &calls->node_keys};
    int status = SXT_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && status == SXT_OK; i++)
        status = sxt_strings_init(tables[i], 0, error);
    calls->functions = sxt_array_grow(NULL, &calls->function_capacity, 1, sizeof *calls->functions);
    calls->frames = sxt_array_grow(NULL, &calls->frame_capacity, 1, sizeof *calls->frames);
    calls->nodes = sxt_array_grow(NULL, &calls->node_capacity, 1, sizeof *calls->nodes);
    if (calls->functions == NULL || calls->frames == NULL || calls->nodes == NULL)
        return status == SXT_OK ? sxt_fail_memory(error, sizeof *calls) : status;
    calls->functions[0] = (struct sxt_heap_calls_function){.name = 0};
    calls->frames[0] = (struct sxt_heap_calls_frame){0, 0};
    calls->nodes[0] = (struct sxt_heap_calls_node){0, 0};
    return status;
}

void sxt_heap_calls_free(struct sxt_heap_calls *calls)
{
    sxt_strings_free(&calls->strings);
    sxt_strings_free(&calls->function_keys);
    sxt_strings_free(&calls->frame_keys);
    sxt_strings_free(&calls->node_keys);
    free(calls->functions);
    free(calls->frames);
    free(calls->nodes);
    free(calls->shortened);
}

/* The number of the two numbers among KEYS. */
static uint32_t number_of(struct sxt_heap_calls *calls, struct sxt_strings *keys, uint32_t first, uint32_t second)
{
    uint32_t key[2] = {first, second};
    uint32_t number = sxt_strings_add(keys, (const char *)key, sizeof key);
    calls->no_memory |= number == SXT_STRINGS_FULL;
    return number;
}

static uint32_t add_string(struct sxt_heap_calls *calls, sxt_string text)
{
    uint32_t number = text.size == 0 ? 0 : sxt_strings_add(&calls->strings, text.data, text.size);
    calls->no_memory |= number == SXT_STRINGS_FULL;
    return number;
}

static uint32_t shorten(struct sxt_heap_calls *calls, sxt_string name)
{
    char *room = sxt_array_grow(calls->shortened, &calls->shortened_capacity, name.size + 1, 1);
    calls->no_memory |= room == NULL;
    if (room == NULL)
        return 0;
    calls->shortened = room;
    return add_string(calls, (sxt_string){room, sxt_trace_shorten_name(name, room)});
}

/* What stands for a file in the key of a function: the number of its name, or of its name without folders. */
static uint32_t file_key(struct sxt_heap_calls *calls, sxt_string name, uint32_t file)
{
    const char *slash = calls->ignores_folders && name.size > 0 ? memrchr(name.data, '/', name.size) : NULL;
    size_t folders = slash != NULL ? (size_t)(slash - name.data) + 1 : 0;
    return slash == NULL ? file : add_string(calls, (sxt_string){name.data + folders, name.size - folders});
}

static uint32_t add_function(struct sxt_heap_calls *calls, const sxt_trace_frame *frame)
{
    char room[32];
    sxt_string name = frame->function;
    if (name.data == NULL)
        name = (sxt_string){room, frame->function_id == SXT_TRACE_NO_ID
                                      ? (size_t)snprintf(room, sizeof room, "?")
                                      : (size_t)snprintf(room, sizeof room, "func_%u", frame->function_id)};
    uint32_t text = add_string(calls, name), file = add_string(calls, frame->file);
    uint32_t number =
        calls->no_memory ? 0 : number_of(calls, &calls->function_keys, text, file_key(calls, frame->file, file));
    if (calls->no_memory || number < calls->function_count)
        return number;
    struct sxt_heap_calls_function *moved =
        sxt_array_grow(calls->functions, &calls->function_capacity, (size_t)number + 1, sizeof *moved);
    calls->no_memory |= moved == NULL;
    if (moved == NULL)
        return 0;
    calls->functions = moved;
    calls->functions[calls->function_count++] = (struct sxt_heap_calls_function){
        .name = text,
        .shorter = shorten(calls, name),
        .file = file,
        .is_library =
            sxt_trace_is_library_frame(frame) || sxt_string_is(name, SXT_TRUNCATED) || sxt_string_is(name, SMALL)};
    return number;
}

static uint32_t add_frame(struct sxt_heap_calls *calls, const sxt_trace_frame *frame)
{
    uint32_t function = add_function(calls, frame);
    uint32_t number = calls->no_memory ? 0 : number_of(calls, &calls->frame_keys, function, frame->line);
    if (calls->no_memory || number < calls->frame_count)
        return number;
    struct sxt_heap_calls_frame *moved =
        sxt_array_grow(calls->frames, &calls->frame_capacity, (size_t)number + 1, sizeof *moved);
    calls->no_memory |= moved == NULL;
    if (moved == NULL)
        return 0;
    calls->frames = moved;
    calls->frames[calls->frame_count++] = (struct sxt_heap_calls_frame){function, frame->line};
    return number;
}

static uint32_t add_node_of(struct sxt_heap_calls *calls, uint32_t parent, uint32_t frame)
{
    uint32_t number = calls->no_memory ? 0 : number_of(calls, &calls->node_keys, parent, frame);
    if (calls->no_memory || number < calls->node_count)
        return number;
    struct sxt_heap_calls_node *moved =
        sxt_array_grow(calls->nodes, &calls->node_capacity, (size_t)number + 1, sizeof *moved);
    calls->no_memory |= moved == NULL;
    if (moved == NULL)
        return 0;
    calls->nodes = moved;
    calls->nodes[calls->node_count++] = (struct sxt_heap_calls_node){parent, frame};
    return number;
}

static uint32_t add_node(struct sxt_heap_calls *calls, uint32_t parent, const sxt_trace_frame *called)
{
    return add_node_of(calls, parent, add_frame(calls, called));
}

uint32_t sxt_heap_calls_add_frame(struct sxt_heap_calls *calls, const sxt_trace_frame *frame)
{
    return add_frame(calls, frame);
}

uint32_t sxt_heap_calls_add_outer(struct sxt_heap_calls *calls, const sxt_trace *trace, uint32_t stack,
                                  uint32_t skipped)
{
    uint32_t count = 0, node = 0;
    sxt_trace_frame frame;
    sxt_trace_stack(trace, stack, &count);
    for (uint32_t i = count; i > skipped && !calls->no_memory; i--)
        if (sxt_trace_get_frame(trace, stack, i - 1, &frame))
            node = add_node(calls, node, &frame);
    return node;
}

uint32_t sxt_heap_calls_add(struct sxt_heap_calls *calls, const sxt_trace *trace, uint32_t stack)
{
    uint32_t count;
    sxt_trace_frame frame;
    if (!sxt_trace_stack(trace, stack, &count) || count == 0) {
        char name[48];
        int size = snprintf(name, sizeof name, "stack %u, without frames", stack);
        frame = (sxt_trace_frame){.function = {name, (size_t)size}, .file_id = SXT_TRACE_NO_ID};
        return add_node(calls, 0, &frame);
    }
    return sxt_heap_calls_add_outer(calls, trace, stack, 0);
}

uint32_t sxt_heap_calls_user_frame(const struct sxt_heap_calls *calls, uint32_t node)
{
    uint32_t at = node;
    while (at != 0 && calls->functions[calls->frames[calls->nodes[at].frame].function].is_library)
        at = calls->nodes[at].parent;
    return calls->nodes[at != 0 ? at : node].frame;
}

uint32_t sxt_heap_calls_add_small(struct sxt_heap_calls *calls, uint32_t parent, uint32_t user, uint32_t leaf)
{
    const sxt_trace_frame frame = {.function = {SMALL, sizeof SMALL - 1}, .file_id = SXT_TRACE_NO_ID};
    uint32_t node = add_node(calls, parent, &frame);
    if (user == 0)
        return node;
    node = add_node_of(calls, node, user);
    return leaf != user ? add_node_of(calls, node, leaf) : node;
}

int sxt_heap_calls_prune(struct sxt_heap_calls *calls, uint32_t *to, sxt_error *error)
{
    size_t count = calls->node_count;
    for (size_t i = count; i-- > 1;)
        if (to[i] != 0)
            to[calls->nodes[i].parent] = 1;
    sxt_strings_free(&calls->node_keys);
    int status = sxt_strings_init(&calls->node_keys, 0, error);
    if (status != SXT_OK)
        return status;
    to[0] = 0;
    calls->node_count = 1;
    /* A caller comes before what it calls, so nodes only move to places that were read. */
    for (size_t i = 1; i < count && !calls->no_memory; i++)
        if (to[i] != 0)
            to[i] = add_node_of(calls, to[calls->nodes[i].parent], calls->nodes[i].frame);
    return calls->no_memory ? sxt_fail_memory(error, count * sizeof *calls->nodes) : SXT_OK;
}

/* --- tables --- */

static void write_functions(const struct sxt_heap_calls *calls, struct sxt_buffer *table)
{
    struct sxt_column columns[4];
    for (int i = 0; i < 4; i++)
        sxt_column_init(&columns[i]);
    for (size_t i = 1; i < calls->function_count; i++) {
        sxt_column_add_next(&columns[0], calls->functions[i].name);
        sxt_column_add_next(&columns[1], calls->functions[i].shorter);
        sxt_column_add_next(&columns[2], calls->functions[i].file);
        sxt_column_add(&columns[3], calls->functions[i].is_library);
    }
    for (int i = 0; i < 4; i++)
        sxt_column_finish(&columns[i], table);
}

static void write_frames(const struct sxt_heap_calls *calls, struct sxt_buffer *table)
{
    struct sxt_column functions, lines;
    sxt_column_init(&functions);
    sxt_column_init(&lines);
    for (size_t i = 1; i < calls->frame_count; i++) {
        sxt_column_add_next(&functions, calls->frames[i].function);
        sxt_column_add(&lines, calls->frames[i].line);
    }
    sxt_column_finish(&functions, table);
    sxt_column_finish(&lines, table);
}

static void write_nodes(const struct sxt_heap_calls *calls, struct sxt_buffer *table)
{
    struct sxt_column parents, frames;
    sxt_column_init(&parents);
    sxt_column_init(&frames);
    for (size_t i = 1; i < calls->node_count; i++) {
        sxt_column_add(&parents, i - calls->nodes[i].parent);
        sxt_column_add_next(&frames, calls->nodes[i].frame);
    }
    sxt_column_finish(&parents, table);
    sxt_column_finish(&frames, table);
}

void sxt_heap_calls_write(const struct sxt_heap_calls *calls, struct sxt_buffer *table)
{
    struct sxt_string_column strings;
    sxt_string_column_init(&strings);
    for (uint32_t i = 0; i < calls->strings.count; i++)
        sxt_string_column_add(&strings, sxt_strings_get(&calls->strings, i));
    sxt_string_column_finish(&strings, table);
    write_functions(calls, table);
    write_frames(calls, table);
    write_nodes(calls, table);
}
