/* batch.c: demangles many names at once, in chunks; the next free thread decodes a chunk into a buffer. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "demangle/demangle.h"

#define CHUNK          1024 /* names that one thread takes at a time */
#define THREADS_WANTED 8    /* more do not help: one thread does the rest of the work */
#define WORTH_A_THREAD 4096 /* names; for fewer, starting threads takes longer than it saves */

/* The names of a chunk may grow by this factor plus this many bytes. The names after that stay mangled. */
#define GROWTH_TIMES 16
#define GROWTH_MORE  ((size_t)4 << 20)

struct job {
    struct sxt_demangled *out;
    sxt_demangle_name_at *name_at;
    const void *names;
};

static int decode_chunk(void *context, unsigned worker, size_t chunk)
{
    (void)worker;
    const struct job *job = context;
    struct sxt_demangled *out = job->out;
    struct sxt_buffer *text = &out->chunks[chunk];
    size_t first = chunk * CHUNK;
    size_t end = out->count - first < CHUNK ? out->count : first + CHUNK;
    sxt_buffer_init(text, SIZE_MAX);
    size_t allowed = GROWTH_MORE;
    for (size_t i = first; i < end; i++) {
        size_t start = text->size;
        sxt_string name = job->name_at(job->names, i);
        allowed += name.size * GROWTH_TIMES;
        bool decoded = start <= allowed && sxt_demangle(name, text);
        if (text->failed)
            return SXT_ERROR_MEMORY;
        /* The buffer may still move, so until it is complete only the size of a form is stored. */
        out->forms[i].size = decoded ? text->size - start : SIZE_MAX;
    }
    const char *at = (const char *)text->data;
    for (size_t i = first; i < end; i++) {
        sxt_string *form = &out->forms[i];
        if (form->size == SIZE_MAX) {
            *form = (sxt_string){NULL, 0};
        } else {
            form->data = at;
            at += form->size;
        }
    }
    return SXT_OK;
}

int sxt_demangle_all(struct sxt_demangled *out, size_t count, sxt_demangle_name_at *name_at, const void *names,
                     unsigned threads, sxt_error *error)
{
    *out = (struct sxt_demangled){.count = count, .chunk_count = (count + CHUNK - 1) / CHUNK};
    out->forms = calloc(count + 1, sizeof *out->forms);
    out->chunks = calloc(out->chunk_count + 1, sizeof *out->chunks);
    if (out->forms == NULL || out->chunks == NULL)
        return sxt_fail_memory(error, count * sizeof *out->forms);
    struct job job = {out, name_at, names};
    threads = count < WORTH_A_THREAD ? 1 : sxt_pool_threads(threads);
    if (threads > THREADS_WANTED)
        threads = THREADS_WANTED;
    if (sxt_pool_run(threads, out->chunk_count, decode_chunk, &job) != SXT_OK)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while demangling names");
    return SXT_OK;
}

void sxt_demangled_free(struct sxt_demangled *demangled)
{
    for (size_t i = 0; i < demangled->chunk_count && demangled->chunks != NULL; i++)
        sxt_buffer_free(&demangled->chunks[i]);
    free(demangled->chunks);
    free(demangled->forms);
    *demangled = (struct sxt_demangled){.count = 0};
}
