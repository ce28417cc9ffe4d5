/* names.c: chunks of names, each renamed into a buffer of its own by whichever thread is free. */
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"

#define CHUNK          1024 /* names that one thread takes at a time */
#define THREADS_WANTED 8    /* more do not help: the rest of the work is done by one */
#define WORTH_A_THREAD 4096 /* names; below, starting threads takes longer than it saves */

/* What the names of a chunk may become: so many times their size, and so much more. Beyond that they stay as linked. */
#define GROWTH_TIMES 16
#define GROWTH_MORE  ((size_t)4 << 20)

struct job {
    struct sxt_names *names;
    const struct sxt_symbols *symbols;
    bool (*rename)(sxt_string name, struct sxt_buffer *out);
};

static int rename_chunk(void *context, unsigned worker, size_t chunk);

static bool allocate(struct sxt_names *names, const struct sxt_symbols *symbols, const struct sxt_range_list *list)
{
    size_t most = list->range_count < symbols->strings.count ? list->range_count : symbols->strings.count;
    names->numbers = malloc((most + 1) * sizeof *names->numbers);
    names->place_of = calloc(symbols->strings.count, sizeof *names->place_of);
    if (names->numbers == NULL || names->place_of == NULL)
        return false;
    for (size_t i = 0; i < list->range_count; i++) {
        /* place_of is one more than the place until all are found, so that 0 means "not yet". */
        uint32_t number = list->ranges[i].function;
        if (names->place_of[number] == 0) {
            names->numbers[names->count++] = number;
            names->place_of[number] = (uint32_t)names->count;
        }
    }
    for (size_t i = 0; i < names->count; i++)
        names->place_of[names->numbers[i]] = (uint32_t)i;
    names->chunk_count = (names->count + CHUNK - 1) / CHUNK;
    names->forms = calloc(names->count + 1, sizeof *names->forms);
    names->chunks = calloc(names->chunk_count + 1, sizeof *names->chunks);
    return names->forms != NULL && names->chunks != NULL;
}

int sxt_names_make(struct sxt_names *names, const struct sxt_symbols *symbols, const struct sxt_range_list *list,
                   bool (*rename)(sxt_string name, struct sxt_buffer *out), sxt_error *error)
{
    memset(names, 0, sizeof *names);
    if (rename == NULL)
        return SXT_OK;
    if (!allocate(names, symbols, list))
        return sxt_fail_memory(error, symbols->strings.count * sizeof *names->place_of);
    struct job job = {names, symbols, rename};
    unsigned threads = names->count < WORTH_A_THREAD ? 1 : sxt_pool_threads(0);
    if (threads > THREADS_WANTED)
        threads = THREADS_WANTED;
    if (sxt_pool_run(threads, names->chunk_count, rename_chunk, &job) != SXT_OK)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while making names readable");
    return SXT_OK;
}

void sxt_names_free(struct sxt_names *names)
{
    for (size_t i = 0; i < names->chunk_count && names->chunks != NULL; i++)
        sxt_buffer_free(&names->chunks[i]);
    free(names->chunks);
    free(names->forms);
    free(names->numbers);
    free(names->place_of);
    memset(names, 0, sizeof *names);
}

sxt_string sxt_names_get(const struct sxt_names *names, uint32_t number)
{
    return names->forms != NULL ? names->forms[names->place_of[number]] : (sxt_string){NULL, 0};
}

static int rename_chunk(void *context, unsigned worker, size_t chunk)
{
    (void)worker;
    const struct job *job = context;
    struct sxt_names *names = job->names;
    struct sxt_buffer *text = &names->chunks[chunk];
    size_t first = chunk * CHUNK;
    size_t end = names->count - first < CHUNK ? names->count : first + CHUNK;
    sxt_buffer_init(text, SIZE_MAX);
    size_t allowed = GROWTH_MORE;
    for (size_t i = first; i < end; i++) {
        size_t start = text->size;
        sxt_string name = sxt_symbols_view(job->symbols, names->numbers[i]);
        allowed += name.size * GROWTH_TIMES;
        bool renamed = start <= allowed && job->rename(name, text);
        if (text->failed)
            return SXT_ERROR_MEMORY;
        /* The buffer may still move: until it is full, a form is known by its size alone. */
        names->forms[i].size = renamed ? text->size - start : SIZE_MAX;
    }
    const char *at = (const char *)text->data;
    for (size_t i = first; i < end; i++) {
        sxt_string *form = &names->forms[i];
        if (form->size == SIZE_MAX) {
            *form = (sxt_string){NULL, 0};
        } else {
            form->data = at;
            at += form->size;
        }
    }
    return SXT_OK;
}
