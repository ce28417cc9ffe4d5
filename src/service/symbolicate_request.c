/* symbolicate_request.c: reads what POST /symbolicate/v5 is asked. What Tecken and samply accept is accepted. */
#include <string.h>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/string.h"
#include "service/symbolicate.h"

#define ARENA_LIMIT ((size_t)16 << 20)
#define KEYS_LIMIT  ((size_t)64 << 20)

struct reading {
    struct sxt_json_reader json;
    struct sxt_symbolicate *out;
    enum sxt_code *code;
    struct sxt_buffer key; /* of a module */
};

/* A job that is being read. */
struct job {
    struct sxt_symbolicate_job job;
    size_t first_frame;
    bool has_map, has_stacks;
};

static int refuse(struct reading *reading, enum sxt_code code, const char *text)
{
    *reading->code = code;
    return sxt_json_read_fail(&reading->json, reading->json.position, "%s", text);
}

static int append(struct reading *reading, struct sxt_buffer *list, const void *item, size_t size, const char *problem)
{
    sxt_buffer_append(list, item, size);
    if (list->failed && !list->memory_was_short)
        return refuse(reading, SXT_CODE_TOO_LARGE, problem);
    return sxt_buffer_status(list, reading->json.error);
}

/* The next element of an array that has COUNT of them; INDEX is that of the element, or COUNT at the end. */
static int expect(struct reading *reading, size_t index, size_t count, const char *problem)
{
    bool more = false;
    int status = sxt_json_read_more(&reading->json, ']', &more);
    if (status == SXT_OK && more != (index < count))
        status = refuse(reading, SXT_CODE_JSON, problem);
    return status;
}

/* --- memory maps --- */

static int add_module(struct reading *reading, sxt_string name, sxt_string id)
{
    struct sxt_symbolicate *out = reading->out;
    sxt_buffer_clear(&reading->key);
    sxt_buffer_append(&reading->key, name.data, name.size);
    sxt_buffer_u8(&reading->key, 0);
    sxt_buffer_append(&reading->key, id.data, id.size);
    int status = sxt_buffer_status(&reading->key, reading->json.error);
    if (status != SXT_OK)
        return status;
    /* Number 0 is the empty string, which no key is. */
    uint32_t number = sxt_strings_add(&out->keys, (const char *)reading->key.data, reading->key.size);
    if (number == SXT_STRINGS_FULL)
        return refuse(reading, SXT_CODE_TOO_LARGE, "too many modules in one request");
    number--;
    if (number == out->modules_memory.size / sizeof(struct sxt_symbolicate_module)) {
        sxt_string key = sxt_strings_get(&out->keys, number + 1);
        struct sxt_symbolicate_module module = {{key.data, name.size}, {key.data + name.size + 1, id.size}};
        status =
            append(reading, &out->modules_memory, &module, sizeof module, "too many different modules in one request");
    }
    return status == SXT_OK ? append(reading, &out->map_memory, &number, sizeof number,
                                     "the memory maps of one request are too long")
                            : status;
}

static int read_module(struct reading *reading)
{
    static const char problem[] = "an entry of memoryMap is not [debugName, debugId]";
    sxt_string name = {NULL, 0}, id = {NULL, 0};
    int status = sxt_json_read_begin(&reading->json, '[', "an entry of memoryMap");
    if (status == SXT_OK)
        status = expect(reading, 0, 2, problem);
    if (status == SXT_OK)
        status = sxt_json_read_string(&reading->json, "the name of a module", &name);
    if (status == SXT_OK)
        status = expect(reading, 1, 2, problem);
    if (status == SXT_OK)
        status = sxt_json_read_string(&reading->json, "the id of a module", &id);
    if (status == SXT_OK)
        status = expect(reading, 2, 2, problem);
    return status == SXT_OK ? add_module(reading, name, id) : status;
}

static int read_memory_map(struct reading *reading, struct job *job)
{
    const struct sxt_buffer *map = &reading->out->map_memory;
    bool more = false;
    if (job->has_map)
        return refuse(reading, SXT_CODE_JSON, "memoryMap is there twice");
    job->has_map = true;
    job->job.first_entry = map->size / sizeof(uint32_t);
    int status = sxt_json_read_begin(&reading->json, '[', "memoryMap");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, ']', &more)) == SXT_OK && more)
        status = read_module(reading);
    job->job.entry_count = map->size / sizeof(uint32_t) - job->job.first_entry;
    return status;
}

/* --- stacks --- */

/* An integer from -1 on. */
static int read_integer(struct reading *reading, const char *problem, uint64_t *value, bool *is_negative)
{
    sxt_string text;
    bool is_integer;
    int next = sxt_json_read_peek(&reading->json);
    if (next != '-' && (next < '0' || next > '9'))
        return refuse(reading, SXT_CODE_ADDRESS, problem);
    int status = sxt_json_read_number(&reading->json, &text, &is_integer);
    if (status != SXT_OK)
        return status;
    *value = 0;
    *is_negative = sxt_string_is(text, "-1");
    bool is_good = is_integer && (*is_negative || text.data[0] != '-');
    for (size_t i = 0; i < text.size && is_good && !*is_negative; i++)
        is_good = !__builtin_mul_overflow(*value, 10, value) &&
                  !__builtin_add_overflow(*value, (uint64_t)(text.data[i] - '0'), value);
    return is_good ? SXT_OK : refuse(reading, SXT_CODE_ADDRESS, problem);
}

/* The index of the module is checked when the memory map is known. */
static int read_frame(struct reading *reading)
{
    static const char problem[] = "a frame is not [module, offset], two integers";
    struct sxt_symbolicate_frame frame = {0};
    uint64_t module = 0;
    bool is_none = false;
    int status = sxt_json_read_begin(&reading->json, '[', "a frame");
    if (status == SXT_OK)
        status = expect(reading, 0, 2, problem);
    if (status == SXT_OK)
        status = read_integer(reading, problem, &module, &is_none);
    if (status == SXT_OK)
        status = expect(reading, 1, 2, problem);
    if (status == SXT_OK)
        status = read_integer(reading, problem, &frame.offset, &frame.is_negative);
    if (status == SXT_OK)
        status = expect(reading, 2, 2, problem);
    if (status != SXT_OK)
        return status;
    frame.module = is_none || module >= SXT_SYMBOLICATE_NO_MODULE ? SXT_SYMBOLICATE_NO_MODULE : (uint32_t)module;
    if (!is_none && frame.module == SXT_SYMBOLICATE_NO_MODULE)
        return refuse(reading, SXT_CODE_JSON, "a frame has a module that is not in memoryMap");
    return append(reading, &reading->out->frames_memory, &frame, sizeof frame, "too many frames in one request");
}

static int read_stack(struct reading *reading)
{
    const struct sxt_buffer *frames = &reading->out->frames_memory;
    struct sxt_symbolicate_stack stack = {.first = frames->size / sizeof(struct sxt_symbolicate_frame)};
    bool more = false;
    int status = sxt_json_read_begin(&reading->json, '[', "a stack");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, ']', &more)) == SXT_OK && more)
        status = read_frame(reading);
    stack.count = frames->size / sizeof(struct sxt_symbolicate_frame) - stack.first;
    return status == SXT_OK
               ? append(reading, &reading->out->stacks_memory, &stack, sizeof stack, "too many stacks in one request")
               : status;
}

static int read_stacks(struct reading *reading, struct job *job)
{
    const struct sxt_symbolicate *out = reading->out;
    bool more = false;
    if (job->has_stacks)
        return refuse(reading, SXT_CODE_JSON, "stacks is there twice");
    job->has_stacks = true;
    job->job.first_stack = out->stacks_memory.size / sizeof(struct sxt_symbolicate_stack);
    job->first_frame = out->frames_memory.size / sizeof(struct sxt_symbolicate_frame);
    int status = sxt_json_read_begin(&reading->json, '[', "stacks");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, ']', &more)) == SXT_OK && more)
        status = read_stack(reading);
    job->job.stack_count = out->stacks_memory.size / sizeof(struct sxt_symbolicate_stack) - job->job.first_stack;
    return status;
}

/* --- jobs --- */

/* From indices of the memory map to numbers of modules. */
static int resolve_frames(struct reading *reading, const struct job *job)
{
    struct sxt_symbolicate *out = reading->out;
    struct sxt_symbolicate_frame *frames = (void *)out->frames_memory.data;
    const uint32_t *map = (const void *)out->map_memory.data;
    size_t count = out->frames_memory.size / sizeof *frames;
    for (size_t i = job->first_frame; i < count; i++) {
        if (frames[i].module == SXT_SYMBOLICATE_NO_MODULE)
            continue;
        if (frames[i].module >= job->job.entry_count)
            return refuse(reading, SXT_CODE_JSON, "a frame has a module that is not in memoryMap");
        frames[i].module = map[job->job.first_entry + frames[i].module];
    }
    return SXT_OK;
}

static int end_job(struct reading *reading, const struct job *job)
{
    if (!job->has_map || !job->has_stacks)
        return refuse(reading, SXT_CODE_JSON, job->has_map ? "stacks are missing" : "memoryMap is missing");
    int status = resolve_frames(reading, job);
    return status == SXT_OK
               ? append(reading, &reading->out->jobs_memory, &job->job, sizeof job->job, "too many jobs in one request")
               : status;
}

static int read_member(struct reading *reading, struct job *job, sxt_string key)
{
    if (sxt_string_is(key, "memoryMap"))
        return read_memory_map(reading, job);
    if (sxt_string_is(key, "stacks"))
        return read_stacks(reading, job);
    return sxt_json_read_skip(&reading->json, NULL);
}

static int read_job(struct reading *reading)
{
    struct job job = {.has_map = false};
    bool more = false;
    sxt_string key;
    int status = sxt_json_read_begin(&reading->json, '{', "a job");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&reading->json, &key, NULL);
        if (status == SXT_OK)
            status = read_member(reading, &job, key);
    }
    return status == SXT_OK ? end_job(reading, &job) : status;
}

static int read_jobs(struct reading *reading)
{
    bool more = false;
    int status = sxt_json_read_begin(&reading->json, '[', "jobs");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, ']', &more)) == SXT_OK && more)
        status = read_job(reading);
    return status;
}

static int read_request(struct reading *reading)
{
    struct job alone = {.has_map = false};
    bool more = false, has_jobs = false;
    sxt_string key;
    int status = sxt_json_read_begin(&reading->json, '{', "the request");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&reading->json, &key, NULL);
        bool is_jobs = status == SXT_OK && sxt_string_is(key, "jobs");
        if (is_jobs && has_jobs)
            status = refuse(reading, SXT_CODE_JSON, "jobs is there twice");
        else if (is_jobs)
            status = read_jobs(reading);
        else if (status == SXT_OK)
            status = read_member(reading, &alone, key);
        has_jobs |= is_jobs;
        if (status == SXT_OK && has_jobs && (alone.has_map || alone.has_stacks))
            status = refuse(reading, SXT_CODE_JSON, "jobs, and memoryMap or stacks beside them");
    }
    if (status == SXT_OK)
        status = sxt_json_read_end(&reading->json);
    return status == SXT_OK && !has_jobs ? end_job(reading, &alone) : status;
}

int sxt_symbolicate_read(struct sxt_symbolicate *out, const char *text, size_t size, enum sxt_code *code,
                         sxt_error *error)
{
    struct reading reading = {.out = out, .code = code};
    *out = (struct sxt_symbolicate){0};
    *code = SXT_CODE_JSON;
    sxt_arena_init(&out->arena, ARENA_LIMIT, sxt_arena_separate_default);
    sxt_buffer_init(&out->jobs_memory, SXT_SYMBOLICATE_JOBS * sizeof(struct sxt_symbolicate_job));
    sxt_buffer_init(&out->modules_memory, SXT_SYMBOLICATE_MODULES * sizeof(struct sxt_symbolicate_module));
    sxt_buffer_init(&out->map_memory, SXT_SYMBOLICATE_FRAMES * sizeof(uint32_t));
    sxt_buffer_init(&out->stacks_memory, SXT_SYMBOLICATE_FRAMES * sizeof(struct sxt_symbolicate_stack));
    sxt_buffer_init(&out->frames_memory, SXT_SYMBOLICATE_FRAMES * sizeof(struct sxt_symbolicate_frame));
    sxt_buffer_init(&reading.key, size + 1);
    int status = sxt_strings_init(&out->keys, KEYS_LIMIT, error);
    if (status == SXT_OK)
        status = sxt_json_reader_init(&reading.json, "the request", text, size, &out->arena, error);
    if (status == SXT_OK)
        status = read_request(&reading);
    sxt_buffer_free(&reading.key);
    out->jobs = (void *)out->jobs_memory.data;
    out->job_count = out->jobs_memory.size / sizeof *out->jobs;
    out->modules = (void *)out->modules_memory.data;
    out->module_count = out->modules_memory.size / sizeof *out->modules;
    out->memory_map = (const void *)out->map_memory.data;
    out->stacks = (const void *)out->stacks_memory.data;
    out->frames = (const void *)out->frames_memory.data;
    out->frame_count = out->frames_memory.size / sizeof *out->frames;
    return status;
}

size_t sxt_symbolicate_memory(const struct sxt_symbolicate *asked)
{
    return asked->jobs_memory.capacity + asked->modules_memory.capacity + asked->map_memory.capacity +
           asked->stacks_memory.capacity + asked->frames_memory.capacity + asked->keys.bytes;
}

void sxt_symbolicate_free(struct sxt_symbolicate *asked)
{
    sxt_buffer_free(&asked->jobs_memory);
    sxt_buffer_free(&asked->modules_memory);
    sxt_buffer_free(&asked->map_memory);
    sxt_buffer_free(&asked->stacks_memory);
    sxt_buffer_free(&asked->frames_memory);
    sxt_strings_free(&asked->keys);
    sxt_arena_free(&asked->arena);
}
