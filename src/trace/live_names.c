/*
 * live_names.c: names for some stacks of running programs, on another thread.
 *
 * What is asked for at once becomes a request, and its result a small trace without events, which is kept: a stack is
 * named once. The number of a stack that `record` has not taken out of the spool yet may change, so the frames
 * themselves identify it.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/task.h"
#include "base/unnamed.h"
#include "trace/finish_names.h"
#include "trace/live.h"

/* What is asked for: copies of stacks and files, so that the spool may change. */
struct request {
    struct request *next;
    struct sxt_spool_facts facts;
    struct sxt_arena arena;
    uint32_t process;
    /* The result. */
    struct sxt_file file;
    sxt_trace *trace; /* NULL: that failed */
    atomic_bool is_done;
};

/* A stack that was asked for. */
struct known {
    uint64_t mark; /* of process and frames; 0: empty */
    uint32_t number;
    struct request *request;
};

struct sxt_live_names {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stop;
    struct request *waiting, *last_waiting;
    struct request *current;
    struct request *done;
    /* Of the caller's thread. */
    struct known *known; /* open addressing */
    size_t known_count, known_size;
};

/* --- looking up --- */

static int write_trace(struct request *request, sxt_error *error)
{
    const struct sxt_mlyze_settings settings = {.codec = SXT_MLYZE_COLUMNS_ZSTD, .threads = 1};
    struct sxt_mlyze_writer *writer = NULL;
    struct sxt_spool_metadata metadata;
    sxt_trace_write_options options;
    struct sxt_output output;
    sxt_trace_write_options_init(&options);
    options.threads = 1;
    int status = sxt_spool_names(&request->facts, &options, &metadata, error);
    if (status != SXT_OK)
        return status;
    sxt_string rest = {(const char *)metadata.rest.data, metadata.rest.size};
    status = sxt_unnamed_open(&output, error);
    if (status == SXT_OK) {
        status = sxt_mlyze_writer_open_tables(&output, &settings, &metadata.tables, rest, &writer, error);
        if (status == SXT_OK)
            status = sxt_mlyze_writer_finish(writer, error);
        sxt_mlyze_writer_close(&writer);
        if (status == SXT_OK)
            status = sxt_unnamed_read(&output, &request->file, error);
        else
            sxt_output_abandon(&output);
    }
    sxt_spool_metadata_free(&metadata);
    return status;
}

static void look_up(struct request *request)
{
    sxt_error error;
    sxt_file_from_memory(&request->file, "", 0);
    int status = write_trace(request, &error);
    if (status == SXT_OK)
        (void)sxt_trace_open_memory(request->file.data, request->file.size, NULL, &request->trace, &error);
    sxt_arena_free(&request->arena);
}

static void *run(void *context)
{
    struct sxt_live_names *names = context;
    pthread_mutex_lock(&names->mutex);
    while (!names->stop) {
        struct request *request = names->waiting;
        if (request == NULL) {
            pthread_cond_wait(&names->changed, &names->mutex);
            continue;
        }
        names->waiting = request->next;
        names->current = request;
        pthread_mutex_unlock(&names->mutex);
        look_up(request);
        pthread_mutex_lock(&names->mutex);
        names->current = NULL;
        request->next = names->done;
        names->done = request;
        atomic_store(&request->is_done, true);
        pthread_cond_broadcast(&names->changed);
    }
    pthread_mutex_unlock(&names->mutex);
    return NULL;
}

/* --- for others --- */

struct sxt_live_names *sxt_live_names_new(void)
{
    struct sxt_live_names *names = calloc(1, sizeof *names);
    if (names == NULL)
        return NULL;
    pthread_condattr_t monotonic;
    pthread_mutex_init(&names->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&names->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return names;
}

static void free_requests(struct request *request)
{
    while (request != NULL) {
        struct request *next = request->next;
        sxt_trace_close(&request->trace);
        sxt_file_close(&request->file);
        sxt_arena_free(&request->arena);
        free(request);
        request = next;
    }
}

void sxt_live_names_close(struct sxt_live_names **given)
{
    struct sxt_live_names *names = *given;
    if (names == NULL)
        return;
    pthread_mutex_lock(&names->mutex);
    names->stop = true;
    pthread_cond_broadcast(&names->changed);
    pthread_mutex_unlock(&names->mutex);
    if (names->has_thread)
        pthread_join(names->thread, NULL);
    free_requests(names->waiting);
    free_requests(names->done);
    pthread_mutex_destroy(&names->mutex);
    pthread_cond_destroy(&names->changed);
    free(names->known);
    free(names);
    *given = NULL;
}

/* Identifies a stack by its frames. */
static uint64_t mark_of(const struct sxt_spool_facts *facts, uint32_t process, uint32_t stack)
{
    const struct sxt_spool_stack *one = &facts->stacks[stack];
    uint64_t hash = ((uint64_t)process << 32 | one->generation) * 0x9e3779b97f4a7c15u + one->count;
    for (uint32_t i = 0; i < one->count; i++)
        hash = (hash ^ hash >> 29 ^ sxt_load_u64le(one->frames + (size_t)i * 8)) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 32;
    return hash != 0 ? hash : 1;
}

/* The entry of a mark, or the empty one where it would be. */
static struct known *search(const struct sxt_live_names *names, uint64_t mark)
{
    size_t at = (size_t)mark & (names->known_size - 1);
    while (names->known[at].mark != 0 && names->known[at].mark != mark)
        at = (at + 1) & (names->known_size - 1);
    return &names->known[at];
}

static bool grow(struct sxt_live_names *names)
{
    if (names->known_size > 0 && names->known_count * 2 < names->known_size)
        return true;
    struct sxt_live_names more = {.known_size = names->known_size > 0 ? names->known_size * 2 : 256};
    more.known = calloc(more.known_size, sizeof *more.known);
    if (more.known == NULL)
        return false;
    for (size_t i = 0; i < names->known_size; i++)
        if (names->known[i].mark != 0)
            *search(&more, names->known[i].mark) = names->known[i];
    free(names->known);
    names->known = more.known;
    names->known_size = more.known_size;
    return true;
}

static sxt_string copy(struct sxt_arena *arena, sxt_string text)
{
    const char *data = sxt_arena_copy(arena, text.data, text.size);
    return data != NULL ? (sxt_string){data, text.size} : (sxt_string){"", 0};
}

static bool copy_files(struct request *request, const struct sxt_spool_facts *facts)
{
    struct sxt_spool_file *files = sxt_arena_calloc(&request->arena, facts->file_count + 1, sizeof *files);
    for (size_t i = 0; i < facts->file_count && files != NULL; i++) {
        files[i] = facts->files[i];
        files[i].path = copy(&request->arena, files[i].path);
        files[i].build_id = copy(&request->arena, files[i].build_id);
    }
    request->facts.files = files;
    request->facts.file_count = facts->file_count;
    return files != NULL;
}

/* Copies the stacks that are not known, and notes that they were asked for. */
static bool copy_stacks(struct sxt_live_names *names, struct request *request, const struct sxt_spool_facts *facts,
                        const uint32_t *stacks, size_t count)
{
    struct sxt_spool_stack *copies = sxt_arena_calloc(&request->arena, count + 1, sizeof *copies);
    for (size_t i = 0; i < count && copies != NULL; i++) {
        if (stacks[i] >= facts->stack_count || facts->stacks[stacks[i]].count == 0 || !grow(names))
            continue;
        struct known *known = search(names, mark_of(facts, request->process, stacks[i]));
        if (known->mark != 0)
            continue;
        struct sxt_spool_stack one = facts->stacks[stacks[i]];
        one.frames = (const uint8_t *)sxt_arena_copy(&request->arena, one.frames, (size_t)one.count * 8);
        if (one.frames == NULL)
            return false;
        *known =
            (struct known){mark_of(facts, request->process, stacks[i]), (uint32_t)request->facts.stack_count, request};
        names->known_count++;
        copies[request->facts.stack_count++] = one;
    }
    request->facts.stacks = copies;
    return copies != NULL;
}

/* Whether any of the stacks has to be looked up. */
static bool is_new(const struct sxt_live_names *names, const struct sxt_spool_facts *facts, uint32_t process,
                   const uint32_t *stacks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (stacks[i] < facts->stack_count && facts->stacks[stacks[i]].count > 0 &&
            (names->known_size == 0 || search(names, mark_of(facts, process, stacks[i]))->mark == 0))
            return true;
    return false;
}

void sxt_live_names_ask(struct sxt_live_names *names, const struct sxt_spool_facts *facts, uint32_t process,
                        const uint32_t *stacks, size_t count)
{
    if (!is_new(names, facts, process, stacks, count))
        return;
    struct request *request = calloc(1, sizeof *request);
    if (request == NULL)
        return;
    request->process = process;
    request->facts.pid = facts->pid;
    sxt_file_from_memory(&request->file, "", 0);
    sxt_arena_init(&request->arena, 0, sxt_arena_separate_default);
    /* What was noted stays noted: a request without a result is not made again. */
    bool is_good = copy_files(request, facts) && copy_stacks(names, request, facts, stacks, count);
    pthread_mutex_lock(&names->mutex);
    if (is_good) {
        if (names->waiting == NULL)
            names->waiting = request;
        else
            names->last_waiting->next = request;
        names->last_waiting = request;
        pthread_cond_broadcast(&names->changed);
    } else {
        request->next = names->done;
        names->done = request;
    }
    pthread_mutex_unlock(&names->mutex);
    if (!names->has_thread)
        names->has_thread = sxt_thread_start(&names->thread, run, names);
}

void sxt_live_names_wait(struct sxt_live_names *names, unsigned milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += (long)(milliseconds % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&names->mutex);
    while (names->has_thread && (names->waiting != NULL || names->current != NULL) &&
           pthread_cond_timedwait(&names->changed, &names->mutex, &until) != ETIMEDOUT)
        continue;
    pthread_mutex_unlock(&names->mutex);
}

const sxt_trace *sxt_live_names_find(const struct sxt_live_names *names, const struct sxt_spool_facts *facts,
                                     uint32_t process, uint32_t stack, uint32_t *number)
{
    if (names->known_size == 0 || stack >= facts->stack_count)
        return NULL;
    const struct known *known = search(names, mark_of(facts, process, stack));
    if (known->mark == 0 || !atomic_load(&known->request->is_done))
        return NULL;
    *number = known->number;
    return known->request->trace;
}
