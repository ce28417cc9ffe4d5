/*
 * batch.c: demangles many names at once, in chunks; the next free thread decodes a chunk.
 *
 * The text of all forms is in one block, of which each thread takes a piece when its last one is full. The block is
 * allocated by the calling thread, whose memory is the fastest to fill: threads of their own get theirs in small pages.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "demangle/demangle.h"

#define CHUNK          1024               /* names that one thread takes at a time */
#define THREADS_WANTED 8                  /* more do not help: one thread does the rest of the work */
#define WORTH_A_THREAD 4096               /* names; for fewer, starting threads takes longer than it saves */
#define FORM_SIZE      ((size_t)96)       /* bytes that a form takes, on average */
#define PIECE          ((size_t)64 << 10) /* bytes that one thread takes at a time */
#define AHEAD          8                  /* names that are requested from memory before they are decoded */

/* The names of a chunk may grow by this factor plus this many bytes. The names after that stay mangled. */
#define GROWTH_TIMES 16
#define GROWTH_MORE  ((size_t)4 << 20)

/* What belongs to one thread. */
struct worker {
    struct sxt_buffer form; /* that is being decoded */
    char *free;             /* the rest of its piece */
    size_t left;
    char apart[64]; /* so that no two threads write to one cache line */
};

struct job {
    struct sxt_demangled *out;
    sxt_demangle_name_at *name_at;
    const void *names;
    const struct sxt_strings *table;
    struct worker workers[THREADS_WANTED];
    size_t text_size; /* of the common block */
    _Atomic size_t text_used;
};

/* Room for SIZE bytes; NULL when memory is short. */
static char *take_room(struct job *job, unsigned number, size_t size)
{
    struct worker *worker = &job->workers[number];
    if (size > worker->left) {
        /* In a build for a sanitizer each form is an allocation of its own. */
        size_t piece = size > PIECE || sxt_arena_separate_default ? size : PIECE;
        size_t start = atomic_fetch_add(&job->text_used, piece);
        bool fits = start <= job->text_size && piece <= job->text_size - start;
        worker->free = fits ? job->out->text + start : sxt_arena_alloc(&job->out->more[number], piece);
        worker->left = worker->free != NULL ? piece : 0;
        if (worker->free == NULL)
            return NULL;
    }
    char *room = worker->free;
    worker->free += size;
    worker->left -= size;
    return room;
}

/* Copies the form that the thread decoded to its place. */
static bool keep_form(struct job *job, unsigned worker, size_t index)
{
    const struct sxt_buffer *form = &job->workers[worker].form;
    char *copy = take_room(job, worker, form->size);
    if (copy == NULL)
        return false;
    if (form->size > 0)
        memcpy(copy, form->data, form->size);
    job->out->forms[index] = (sxt_string){copy, form->size};
    if (job->table != NULL)
        job->out->hashes[index] = sxt_strings_hash(job->table, copy, form->size);
    return true;
}

static void prefetch(sxt_string name)
{
    __builtin_prefetch(name.data);
    __builtin_prefetch(name.data + name.size);
}

static int decode_chunk(void *context, unsigned worker, size_t chunk)
{
    struct job *job = context;
    struct sxt_buffer *form = &job->workers[worker].form;
    size_t first = chunk * CHUNK;
    size_t count = job->out->count - first < CHUNK ? job->out->count - first : CHUNK;
    size_t allowed = GROWTH_MORE, used = 0;
    sxt_string names[CHUNK];
    /* The names are all over the memory. These reads do not wait for each other. */
    for (size_t i = 0; i < count; i++)
        names[i] = job->name_at(job->names, first + i);
    for (size_t i = 0; i < count && i < AHEAD; i++)
        prefetch(names[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            prefetch(names[i + AHEAD]);
        allowed += names[i].size * GROWTH_TIMES;
        sxt_buffer_clear(form);
        bool decoded = used <= allowed && sxt_demangle(names[i], form);
        if (form->failed || (decoded && !keep_form(job, worker, first + i)))
            return SXT_ERROR_MEMORY;
        used += form->size;
    }
    return SXT_OK;
}

int sxt_demangle_all(struct sxt_demangled *out, size_t count, sxt_demangle_name_at *name_at, const void *names,
                     const struct sxt_strings *table, unsigned threads, sxt_error *error)
{
    threads = count < WORTH_A_THREAD ? 1 : sxt_pool_threads(threads);
    if (threads > THREADS_WANTED)
        threads = THREADS_WANTED;
    struct job job = {.out = out, .name_at = name_at, .names = names, .table = table};
    *out = (struct sxt_demangled){.count = count};
    out->forms = calloc(count + 1, sizeof *out->forms);
    out->hashes = table != NULL ? calloc(count + 1, sizeof *out->hashes) : NULL;
    out->more = calloc(threads, sizeof *out->more);
    if (out->forms == NULL || (table != NULL && out->hashes == NULL) || out->more == NULL)
        return sxt_fail_memory(error, count * sizeof *out->forms);
    /* The last piece of each thread may remain empty. Without the block, all text is in the arenas. */
    job.text_size = count * FORM_SIZE + threads * PIECE;
    out->text = sxt_arena_separate_default ? NULL : malloc(job.text_size);
    if (out->text == NULL)
        job.text_size = 0;
    out->thread_count = threads;
    for (unsigned i = 0; i < threads; i++) {
        sxt_arena_init(&out->more[i], 0, sxt_arena_separate_default);
        sxt_buffer_init(&job.workers[i].form, SIZE_MAX);
    }
    int status = sxt_pool_run(threads, (count + CHUNK - 1) / CHUNK, decode_chunk, &job);
    for (unsigned i = 0; i < threads; i++)
        sxt_buffer_free(&job.workers[i].form);
    if (status != SXT_OK)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while demangling names");
    return SXT_OK;
}

void sxt_demangled_free(struct sxt_demangled *demangled)
{
    for (unsigned i = 0; i < demangled->thread_count; i++)
        sxt_arena_free(&demangled->more[i]);
    free(demangled->more);
    free(demangled->text);
    free(demangled->hashes);
    free(demangled->forms);
    *demangled = (struct sxt_demangled){.count = 0};
}
