/* analysis_filter.c: which allocations an analysis counts: by frames, by the file that the code is in, by thread. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "mlyze/analysis_private.h"

struct patterns {
    regex_t *list;
    size_t count;
};

/* Bits of what is known about a name. */
enum { KNOWN = 1, FOCUSED = 2, IGNORED = 4 };

struct sxt_heap_sieve {
    const struct sxt_mlyze_metadata *metadata;
    sxt_heap_filter filter;
    struct patterns focus, ignore;
    uint8_t *functions, *files; /* by place: bits */
    sxt_string *modules;        /* by place of a function: the loaded file that it is in, if that is known */
    bool *threads;              /* by number; NULL: all */
    char *shortened, *text;     /* room for a name */
    size_t shortened_capacity, text_capacity;
};

void sxt_heap_filter_init(sxt_heap_filter *filter)
{
    *filter = (sxt_heap_filter){.struct_size = sizeof *filter};
}

/* --- patterns --- */

static int compile(struct patterns *patterns, const char *const *texts, size_t count, sxt_error *error)
{
    patterns->list = calloc(count + 1, sizeof *patterns->list);
    if (patterns->list == NULL)
        return sxt_fail_memory(error, count * sizeof *patterns->list);
    for (size_t i = 0; i < count; i++) {
        int problem = regcomp(&patterns->list[i], texts[i], REG_EXTENDED | REG_NOSUB);
        char why[128];
        if (problem != 0) {
            regerror(problem, &patterns->list[i], why, sizeof why);
            return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a regular expression: '%.200s' (%s)", texts[i],
                            why);
        }
        patterns->count++;
    }
    return SXT_OK;
}

static bool matches(const struct patterns *patterns, const char *text)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (regexec(&patterns->list[i], text, 0, NULL, 0) == 0)
            return true;
    return false;
}

/* regexec needs a NUL after the text. If memory is short, nothing matches. */
static unsigned judge(struct sxt_heap_sieve *sieve, sxt_string text)
{
    char *moved = sxt_array_grow(sieve->text, &sieve->text_capacity, text.size + 1, 1);
    if (moved == NULL)
        return 0;
    sieve->text = moved;
    if (text.size > 0)
        memcpy(moved, text.data, text.size);
    moved[text.size] = 0;
    return (matches(&sieve->focus, moved) ? FOCUSED : 0) | (matches(&sieve->ignore, moved) ? IGNORED : 0);
}

/* A function is matched by its name as stored, or as it is shown. */
static unsigned judge_function(struct sxt_heap_sieve *sieve, sxt_string name)
{
    unsigned found = judge(sieve, name);
    char *moved = sxt_array_grow(sieve->shortened, &sieve->shortened_capacity, name.size + 1, 1);
    if (moved == NULL)
        return found;
    sieve->shortened = moved;
    size_t size = sxt_trace_shorten_name(name, moved);
    return size < name.size ? found | judge(sieve, (sxt_string){moved, size}) : found;
}

static unsigned judge_frame(struct sxt_heap_sieve *sieve, const struct sxt_mlyze_frame *frame)
{
    const struct sxt_mlyze_metadata *metadata = sieve->metadata;
    size_t function = sxt_mlyze_place(metadata->function_ids, metadata->function_count, frame->function);
    size_t file = sxt_mlyze_place(metadata->file_ids, metadata->file_count, frame->file);
    char room[24];
    unsigned of_function = function != SIZE_MAX ? sieve->functions[function] : 0;
    unsigned of_file = file != SIZE_MAX ? sieve->files[file] : 0;
    if (of_function == 0)
        of_function = KNOWN | judge_function(sieve, sxt_mlyze_function(metadata, frame->function, room));
    if (of_file == 0)
        of_file = KNOWN | judge(sieve, sxt_mlyze_file(metadata, frame->file, room));
    if (function != SIZE_MAX)
        sieve->functions[function] = (uint8_t)of_function;
    if (file != SIZE_MAX)
        sieve->files[file] = (uint8_t)of_file;
    return of_function | of_file;
}

static bool passes_patterns(struct sxt_heap_sieve *sieve, const struct sxt_mlyze_stack *stack)
{
    unsigned found = 0;
    if (sieve->focus.count == 0 && sieve->ignore.count == 0)
        return true;
    uint32_t node = stack != NULL ? stack->node : SXT_MLYZE_NO_NODE;
    for (; node != SXT_MLYZE_NO_NODE && (found & IGNORED) == 0; node = sxt_mlyze_node_at(sieve->metadata, node)->parent)
        found |= judge_frame(sieve, sxt_mlyze_node_frame(sieve->metadata, node));
    return (found & IGNORED) == 0 && (sieve->focus.count == 0 || (found & FOCUSED) != 0);
}

/* --- modules --- */

/* Whether PATH is the module that the user means: its name, a beginning of its name before ".so", or its whole path. */
static bool is_module(sxt_string path, const char *wanted)
{
    if (path.size == 0)
        return wanted[0] == 0;
    const char *slash = memrchr(path.data, '/', path.size);
    size_t start = slash != NULL && strchr(wanted, '/') == NULL ? (size_t)(slash - path.data) + 1 : 0;
    sxt_string name = {path.data + start, path.size - start};
    size_t size = strlen(wanted);
    if (!sxt_string_begins(name, wanted))
        return false;
    return name.size == size || sxt_string_begins((sxt_string){name.data + size, name.size - size}, ".so");
}

/* The loaded file that a frame is in; absent if it is not known. The file of code without lines is the loaded one. */
static sxt_string module_of(const struct sxt_heap_sieve *sieve, const struct sxt_mlyze_frame *frame)
{
    const struct sxt_mlyze_metadata *metadata = sieve->metadata;
    size_t place = sxt_mlyze_place(metadata->function_ids, metadata->function_count, frame->function);
    if (place != SIZE_MAX && sieve->modules[place].size > 0)
        return sieve->modules[place];
    return frame->line == 0 ? sxt_mlyze_find_file(metadata, frame->file) : (sxt_string){NULL, 0};
}

/* The code that allocated is in the file of the innermost frame whose file is known. */
static bool passes_modules(const struct sxt_heap_sieve *sieve, const struct sxt_mlyze_stack *stack)
{
    if (sieve->filter.module_count == 0)
        return true;
    sxt_string module = {NULL, 0};
    uint32_t node = stack != NULL ? stack->node : SXT_MLYZE_NO_NODE;
    for (; node != SXT_MLYZE_NO_NODE && module.size == 0; node = sxt_mlyze_node_at(sieve->metadata, node)->parent)
        module = module_of(sieve, sxt_mlyze_node_frame(sieve->metadata, node));
    for (size_t i = 0; i < sieve->filter.module_count; i++)
        if (is_module(module, sieve->filter.modules[i]))
            return true;
    return false;
}

bool sxt_heap_sieve_keeps(struct sxt_heap_sieve *sieve, uint32_t id)
{
    const struct sxt_mlyze_stack *stack = sxt_mlyze_find_stack(sieve->metadata, id);
    return passes_modules(sieve, stack) && passes_patterns(sieve, stack);
}

/* --- threads --- */

/* The number in TEXT, if it is one and a thread can have it. */
static bool parse_thread(sxt_string text, size_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || *number >= SXT_HEAP_THREADS)
            return false;
        *number = *number * 10 + (size_t)(text.data[i] - '0');
    }
    return text.size > 0 && *number < SXT_HEAP_THREADS;
}

/* Threads with the name WANTED in the object KEY of the metadata; false if there are none. */
static bool find_threads(const struct sxt_mlyze_metadata *metadata, const char *key, const char *wanted, bool *found)
{
    const struct sxt_json *threads = sxt_json_member(metadata->root, key);
    bool is_found = false;
    size_t number;
    if (parse_thread(sxt_string_of(wanted), &number))
        return found[number] = true;
    const struct sxt_json *thread = threads != NULL && threads->type == SXT_JSON_OBJECT ? threads->child : NULL;
    for (; thread != NULL; thread = thread->next) {
        if (thread->type != SXT_JSON_STRING || !sxt_string_is(thread->string, wanted) ||
            !parse_thread(thread->key, &number))
            continue;
        is_found = found[number] = true;
    }
    return is_found;
}

int sxt_heap_choose_threads(const struct sxt_mlyze *trace, const sxt_heap_filter *filter, bool **out, sxt_error *error)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace);
    *out = NULL;
    if (filter == NULL || filter->thread_count == 0)
        return SXT_OK;
    bool *found = calloc(SXT_HEAP_THREADS, sizeof *found);
    if (found == NULL)
        return sxt_fail_memory(error, SXT_HEAP_THREADS);
    for (size_t i = 0; i < filter->thread_count; i++) {
        bool is_one = find_threads(metadata, "threads", filter->threads[i], found);
        if (find_threads(metadata, SXT_JOIN_OWN_THREADS, filter->threads[i], found) || is_one)
            continue;
        free(found);
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no thread named '%.100s'", filter->threads[i]);
    }
    *out = found;
    return SXT_OK;
}

/* Takes GIVEN, or searches the threads that the filter names. */
static int take_threads(struct sxt_heap_sieve *sieve, const struct sxt_mlyze *trace, const bool *given,
                        sxt_error *error)
{
    if (given == NULL || sieve->filter.thread_count == 0)
        return sxt_heap_choose_threads(trace, &sieve->filter, &sieve->threads, error);
    sieve->threads = malloc(SXT_HEAP_THREADS * sizeof *sieve->threads);
    if (sieve->threads == NULL)
        return sxt_fail_memory(error, SXT_HEAP_THREADS);
    memcpy(sieve->threads, given, SXT_HEAP_THREADS * sizeof *sieve->threads);
    return SXT_OK;
}

const bool *sxt_heap_sieve_threads(const struct sxt_heap_sieve *sieve)
{
    return sieve->threads;
}

/* --- both --- */

int sxt_heap_sieve_open(const struct sxt_mlyze *trace, const sxt_heap_options *options, const bool *threads,
                        struct sxt_heap_sieve **out, sxt_error *error)
{
    const sxt_heap_filter *filter = options->filter;
    *out = NULL;
    if (filter == NULL || filter->focus_count + filter->ignore_count + filter->module_count + filter->thread_count == 0)
        return SXT_OK;
    struct sxt_heap_sieve *sieve = calloc(1, sizeof *sieve);
    if (sieve == NULL)
        return sxt_fail_memory(error, sizeof *sieve);
    sieve->metadata = sxt_mlyze_metadata(trace);
    sieve->filter = *filter;
    sieve->functions = calloc(sieve->metadata->function_count + 1, 1);
    sieve->files = calloc(sieve->metadata->file_count + 1, 1);
    sieve->modules = sxt_function_modules_paths(sieve->metadata);
    int status = sieve->functions != NULL && sieve->files != NULL && sieve->modules != NULL
                     ? SXT_OK
                     : sxt_fail_memory(error, sieve->metadata->function_count);
    if (status == SXT_OK)
        status = compile(&sieve->focus, filter->focus, filter->focus_count, error);
    if (status == SXT_OK)
        status = compile(&sieve->ignore, filter->ignore, filter->ignore_count, error);
    if (status == SXT_OK)
        status = take_threads(sieve, trace, threads, error);
    *out = sieve;
    if (status != SXT_OK)
        sxt_heap_sieve_close(out);
    return status;
}

static void free_patterns(struct patterns *patterns)
{
    for (size_t i = 0; i < patterns->count; i++)
        regfree(&patterns->list[i]);
    free(patterns->list);
}

void sxt_heap_sieve_close(struct sxt_heap_sieve **sieve)
{
    if (*sieve == NULL)
        return;
    free_patterns(&(*sieve)->focus);
    free_patterns(&(*sieve)->ignore);
    free((*sieve)->functions);
    free((*sieve)->files);
    free((*sieve)->modules);
    free((*sieve)->threads);
    free((*sieve)->shortened);
    free((*sieve)->text);
    free(*sieve);
    *sieve = NULL;
}
