/*
 * join_names.c: the functions, files, stacks and threads of several traces under common ids. Stacks that have the same
 * functions, files and lines get one id: the nodes of all trees are in one, as strings of four numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "mlyze/join.h"

#define THREADS_MOST ((uint32_t)UINT16_MAX + 1)

struct node {
    uint32_t parent, function, file, line; /* numbers of a node and of names; 0 for none */
};

/* --- ids --- */

/* The number of a name, which is not empty in the table so that number 0 means that there is none. */
static bool number_names(struct sxt_strings *strings, const sxt_string *names, size_t count, uint32_t *numbers)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i].data == NULL)
            continue;
        numbers[i] = sxt_strings_add(strings, names[i].data, names[i].size);
        if (numbers[i] == SXT_STRINGS_FULL)
            return false;
    }
    return true;
}

static uint32_t number_of(const uint32_t *numbers, const uint32_t *ids, size_t count, uint32_t id)
{
    size_t place = sxt_mlyze_place(ids, count, id);
    return place == SIZE_MAX ? 0 : numbers[place];
}

/* The number of a node; SXT_STRINGS_FULL if memory is short. */
static uint32_t add_node(struct sxt_join_names *names, struct node node)
{
    uint32_t known = names->nodes.count, number = sxt_strings_add(&names->nodes, (const char *)&node, sizeof node);
    if (number == SXT_STRINGS_FULL || names->nodes.count == known)
        return number;
    uint32_t *moved = sxt_array_grow(names->stack_of, &names->stack_of_capacity, names->nodes.count, sizeof *moved);
    if (moved == NULL)
        return SXT_STRINGS_FULL;
    names->stack_of = moved;
    names->stack_of[number] = 0;
    return number;
}

static bool add_nodes(struct sxt_join_names *names, const struct sxt_mlyze_metadata *metadata,
                      const struct sxt_join_ids *ids, uint32_t *nodes)
{
    for (size_t i = 0; i < metadata->tree.count; i++) {
        const struct sxt_mlyze_node *from = &metadata->tree.nodes[i];
        const struct sxt_mlyze_frame *frame = &metadata->tree.frames[from->frame];
        struct node node = {
            .parent = from->parent == SXT_MLYZE_NO_NODE ? 0 : nodes[from->parent],
            .function = number_of(ids->functions, metadata->function_ids, metadata->function_count, frame->function),
            .file = number_of(ids->files, metadata->file_ids, metadata->file_count, frame->file),
            .line = frame->line,
        };
        nodes[i] = add_node(names, node);
        if (nodes[i] == SXT_STRINGS_FULL)
            return false;
    }
    return true;
}

static bool add_stacks(struct sxt_join_names *names, const struct sxt_mlyze_metadata *metadata,
                       const struct sxt_join_ids *ids, const uint32_t *nodes)
{
    for (size_t i = 0; i < metadata->stack_count; i++) {
        const struct sxt_mlyze_stack *stack = &metadata->stacks[i];
        if (!stack->exists)
            continue;
        uint32_t leaf = stack->count == 0 ? 0 : nodes[stack->node]; /* 0: all stacks without frames are one */
        if (names->stack_of[leaf] == 0) {
            uint32_t *moved =
                sxt_array_grow(names->leaves, &names->leaf_capacity, (size_t)names->stack_count + 1, sizeof *moved);
            if (moved == NULL)
                return false;
            names->leaves = moved;
            names->leaves[names->stack_count++] = leaf;
            names->stack_of[leaf] = names->stack_count;
        }
        ids->stacks[i] = names->stack_of[leaf];
    }
    return true;
}

uint16_t sxt_join_thread(struct sxt_join_names *names, size_t input, uint16_t thread)
{
    uint16_t *numbers = names->inputs[input].threads;
    if (numbers[thread] == 0) {
        bool is_shared = names->thread_count == THREADS_MOST - 1;
        struct sxt_mlyze_join_thread *moved = sxt_array_grow(names->origins, &names->origin_capacity,
                                                             (size_t)names->thread_count + !is_shared, sizeof *moved);
        names->no_memory |= moved == NULL;
        if (moved == NULL)
            return 0;
        names->origins = moved;
        names->thread_count += !is_shared;
        moved[names->thread_count - 1] =
            (struct sxt_mlyze_join_thread){is_shared ? SXT_MLYZE_NO_ID : (uint32_t)input, is_shared ? 0 : thread};
        numbers[thread] = (uint16_t)names->thread_count;
    }
    return (uint16_t)(numbers[thread] - 1);
}

/* The loaded files of the functions of an input. Best effort: what does not fit in memory is unknown. */
static void add_modules(struct sxt_join_names *names, const struct sxt_mlyze_metadata *metadata,
                        const struct sxt_join_ids *ids)
{
    const struct sxt_json *text = sxt_json_member(metadata->root, "function_modules");
    const struct sxt_json *list = sxt_json_member(metadata->root, "modules");
    struct sxt_function_modules modules = {0};
    if (text == NULL || text->type != SXT_JSON_STRING || list == NULL || list->type != SXT_JSON_ARRAY)
        return;
    uint32_t *numbers = calloc(list->count + 1, sizeof *numbers), count = 0;
    for (const struct sxt_json *one = list->child; one != NULL && numbers != NULL; one = one->next, count++) {
        const struct sxt_json *path = one->type == SXT_JSON_OBJECT ? sxt_json_member(one, "path") : NULL;
        if (path != NULL && path->type == SXT_JSON_STRING && path->string.size > 0)
            numbers[count] = sxt_strings_add(&names->paths, path->string.data, path->string.size);
    }
    sxt_function_modules_read(&modules, text->string, metadata->function_count);
    for (size_t i = 0; i < metadata->function_count && numbers != NULL; i++) {
        uint32_t module = sxt_function_modules_find(&modules, sxt_mlyze_id_at(metadata->function_ids, i));
        if (ids->functions[i] != 0 && module < count && numbers[module] != 0 && numbers[module] != SXT_STRINGS_FULL)
            sxt_function_modules_add(&names->modules, ids->functions[i], numbers[module] - 1);
    }
    sxt_function_modules_free(&modules);
    free(numbers);
}

static const struct sxt_json *threads_of(const struct sxt_mlyze_join_input *input)
{
    const struct sxt_json *threads = sxt_json_member(sxt_mlyze_metadata(input->trace)->root, "threads");
    return threads != NULL && threads->type == SXT_JSON_OBJECT ? threads->child : NULL;
}

static bool thread_number(const struct sxt_json *thread, uint16_t *number)
{
    uint32_t id;
    if (thread->type != SXT_JSON_STRING || !sxt_mlyze_parse_id(thread->key, &id) || id > UINT16_MAX)
        return false;
    *number = (uint16_t)id;
    return true;
}

static bool add_input(struct sxt_join_names *names, const struct sxt_mlyze_join_input *input, size_t number)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(input->trace);
    struct sxt_join_ids *ids = &names->inputs[number];
    ids->functions = calloc(metadata->function_count + 1, sizeof *ids->functions);
    ids->files = calloc(metadata->file_count + 1, sizeof *ids->files);
    ids->stacks = calloc(metadata->stack_count + 1, sizeof *ids->stacks);
    ids->threads = calloc(THREADS_MOST, sizeof *ids->threads);
    uint32_t *nodes = calloc(metadata->tree.count + 1, sizeof *nodes);
    bool is_fine = ids->functions != NULL && ids->files != NULL && ids->stacks != NULL && ids->threads != NULL &&
                   nodes != NULL &&
                   number_names(&names->functions, metadata->functions, metadata->function_count, ids->functions) &&
                   number_names(&names->files, metadata->files, metadata->file_count, ids->files) &&
                   add_nodes(names, metadata, ids, nodes) && add_stacks(names, metadata, ids, nodes);
    uint16_t thread;
    for (const struct sxt_json *one = threads_of(input); is_fine && one != NULL; one = one->next)
        if (thread_number(one, &thread))
            (void)sxt_join_thread(names, number, thread);
    if (is_fine)
        add_modules(names, metadata, ids);
    free(nodes);
    return is_fine && !names->no_memory;
}

int sxt_join_names_make(const struct sxt_mlyze_join_input *inputs, size_t count, struct sxt_join_names *out,
                        sxt_error *error)
{
    *out = (struct sxt_join_names){.inputs = calloc(count + 1, sizeof *out->inputs)};
    int status = out->inputs == NULL ? sxt_fail_memory(error, count * sizeof *out->inputs)
                                     : sxt_strings_init(&out->functions, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&out->files, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&out->nodes, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&out->paths, 0, error);
    if (status == SXT_OK) {
        out->stack_of = sxt_array_grow(NULL, &out->stack_of_capacity, 1, sizeof *out->stack_of);
        if (out->stack_of == NULL)
            return sxt_fail_memory(error, sizeof *out->stack_of);
        out->stack_of[0] = 0;
    }
    for (size_t i = 0; i < count && status == SXT_OK; i++)
        if (!add_input(out, &inputs[i], i))
            status = sxt_fail_memory(error, out->stack_of_capacity * sizeof *out->stack_of);
    return status;
}

void sxt_join_names_free(struct sxt_join_names *names, size_t count)
{
    for (size_t i = 0; names->inputs != NULL && i < count; i++) {
        free(names->inputs[i].functions);
        free(names->inputs[i].files);
        free(names->inputs[i].stacks);
        free(names->inputs[i].threads);
    }
    sxt_strings_free(&names->functions);
    sxt_strings_free(&names->files);
    sxt_strings_free(&names->nodes);
    sxt_strings_free(&names->paths);
    sxt_function_modules_free(&names->modules);
    free(names->stack_of);
    free(names->leaves);
    free(names->origins);
    free(names->inputs);
    *names = (struct sxt_join_names){0};
}

uint32_t sxt_join_stack(const struct sxt_join_names *names, const struct sxt_mlyze_join_input *inputs, size_t input,
                        uint32_t id)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(inputs[input].trace);
    uint32_t number = number_of(names->inputs[input].stacks, metadata->stack_ids, metadata->stack_count, id);
    return number == 0 ? names->stack_count : number - 1;
}

uint32_t sxt_join_function(const struct sxt_join_names *names, const struct sxt_mlyze_join_input *inputs, size_t input,
                           uint32_t id)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(inputs[input].trace);
    return number_of(names->inputs[input].functions, metadata->function_ids, metadata->function_count, id);
}

/* --- the metadata --- */

static void write_stacks(const struct sxt_join_names *names, struct sxt_json_writer *json)
{
    sxt_json_write_begin(json, "stack_traces", '{');
    for (uint32_t i = 0; i < names->stack_count; i++) {
        struct node node;
        sxt_json_write_key_number(json, i);
        sxt_json_write_begin(json, NULL, '[');
        for (uint32_t at = names->leaves[i]; at != 0; at = node.parent) {
            memcpy(&node, sxt_strings_get(&names->nodes, at).data, sizeof node);
            sxt_json_write_begin(json, NULL, '{');
            if (node.file != 0)
                sxt_json_write_number(json, "file_id", node.file);
            sxt_json_write_number(json, "line", node.line);
            if (node.function != 0)
                sxt_json_write_number(json, "func_id", node.function);
            sxt_json_write_end(json, '}');
        }
        sxt_json_write_end(json, ']');
    }
    sxt_json_write_end(json, '}');
}

static void write_strings(const char *key, const struct sxt_strings *strings, struct sxt_json_writer *json)
{
    sxt_json_write_begin(json, key, '{');
    for (uint32_t i = 1; i < strings->count; i++) {
        sxt_json_write_key_number(json, i);
        sxt_json_write_string(json, NULL, sxt_strings_get(strings, i));
    }
    sxt_json_write_end(json, '}');
}

static void write_modules(const struct sxt_join_names *names, struct sxt_json_writer *json)
{
    struct sxt_buffer text;
    sxt_json_write_begin(json, "modules", '[');
    for (uint32_t i = 1; i < names->paths.count; i++) {
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_string(json, "path", sxt_strings_get(&names->paths, i));
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    sxt_buffer_init(&text, (size_t)1 << 30);
    sxt_function_modules_write(&names->modules, &text);
    if (text.size > 0 && !text.failed)
        sxt_json_write_string(json, "function_modules", (sxt_string){(const char *)text.data, text.size});
    sxt_buffer_free(&text);
}

/* Threads of different processes have the same names. IS_OWN: just these; otherwise they begin with the process. */
static void write_threads(const struct sxt_join_names *names, const struct sxt_mlyze_join_input *inputs, size_t count,
                          bool is_own, struct sxt_json_writer *json)
{
    sxt_json_write_begin(json, is_own ? SXT_JOIN_OWN_THREADS : "threads", '{');
    uint32_t last = 0;
    for (size_t i = 0; i < count; i++) {
        for (const struct sxt_json *one = threads_of(&inputs[i]); one != NULL; one = one->next) {
            char name[200];
            uint16_t thread;
            if (!thread_number(one, &thread) || names->inputs[i].threads[thread] <= last)
                continue;
            last = names->inputs[i].threads[thread];
            int size = snprintf(name, sizeof name, "%llu %.*s", (unsigned long long)inputs[i].pid,
                                (int)(one->string.size < 150 ? one->string.size : 150), one->string.data);
            sxt_json_write_key_number(json, last - 1);
            sxt_json_write_string(json, NULL, is_own ? one->string : (sxt_string){name, (size_t)size});
        }
    }
    sxt_json_write_end(json, '}');
}

void sxt_join_write_names(const struct sxt_join_names *names, const struct sxt_mlyze_join_input *inputs, size_t count,
                          uint64_t duration, struct sxt_buffer *out)
{
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_COMPACT);
    json.escapes = SXT_JSON_ESCAPES_NUMBERS;
    sxt_json_write_begin(&json, NULL, '{');
    write_stacks(names, &json);
    write_strings("files", &names->files, &json);
    write_strings("functions", &names->functions, &json);
    sxt_json_write_string(&json, "stack_order", sxt_string_of("leaf_first"));
    if (duration != 0)
        sxt_json_write_number(&json, "duration_us", duration);
    write_threads(names, inputs, count, false, &json);
    write_threads(names, inputs, count, true, &json);
    write_modules(names, &json);
    sxt_json_write_end(&json, '}');
}
