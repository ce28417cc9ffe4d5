/* list.c: the symbols that will go into a blob, and other forms of their names. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "base/utf8.h"
#include "ksym/ksym.h"

#define CHUNK          1024 /* names that one thread takes at a time */
#define THREADS_WANTED 8
#define WORTH_A_THREAD 4096 /* names; below, starting threads takes longer than it saves */

/* What the names of a chunk may become: so many times their size, and so much more. Beyond that they stay. */
#define GROWTH_TIMES 16
#define GROWTH_MORE  ((size_t)4 << 20)

/* The names of a list while they get other forms; chunk by chunk, each in a buffer of its own. */
struct renaming {
    const struct sxt_strings *strings;
    bool (*rename)(sxt_string name, struct sxt_buffer *out);
    struct sxt_buffer *chunks;
    size_t chunk_count;
    size_t *sizes; /* by the number of the string: of its other form, or KEPT */
};
#define KEPT SIZE_MAX

static int rename_chunk(void *context, unsigned worker, size_t chunk);
static int take_forms(struct sxt_ksym_list *list, const struct renaming *work, sxt_error *error);
static bool put_forms(struct sxt_strings *strings, const struct renaming *work, size_t chunk, uint32_t *number_of);

int sxt_ksym_list_init(struct sxt_ksym_list *list, sxt_error *error)
{
    *list = (struct sxt_ksym_list){.count = 0};
    return sxt_strings_init(&list->strings, 0, error);
}

void sxt_ksym_list_free(struct sxt_ksym_list *list)
{
    sxt_strings_free(&list->strings);
    free(list->symbols);
    *list = (struct sxt_ksym_list){.strings = list->strings};
}

int sxt_ksym_list_add(struct sxt_ksym_list *list, uint64_t address, char type, sxt_string name, sxt_error *error)
{
    if (list->count >= UINT32_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "more than %u symbols", UINT32_MAX);
    struct sxt_ksym_input *symbols =
        sxt_array_grow(list->symbols, &list->capacity, list->count + 1, sizeof *list->symbols);
    if (symbols == NULL)
        return sxt_fail_memory(error, (list->count + 1) * sizeof *symbols);
    list->symbols = symbols;
    uint32_t number = sxt_strings_add(&list->strings, name.data, name.size);
    if (number == SXT_STRINGS_FULL)
        return sxt_fail_memory(error, name.size);
    symbols[list->count++] = (struct sxt_ksym_input){address, number, type};
    return SXT_OK;
}

enum sxt_ksym_fit sxt_ksym_name_fit(sxt_string name)
{
    if (name.size == 0)
        return SXT_KSYM_EMPTY;
    if (name.size > SXT_KSYM_RECORD_MOST)
        return SXT_KSYM_TOO_LONG;
    return sxt_utf8_valid(name.data, name.size) == name.size ? SXT_KSYM_FITS : SXT_KSYM_NOT_UTF8;
}

size_t sxt_ksym_bare_size(sxt_string name)
{
    if (name.size < 5 || name.data[name.size - 1] != ']')
        return name.size;
    size_t at = name.size - 1;
    while (at > 0 && name.data[at - 1] != ' ' && name.data[at - 1] != '[' && name.data[at - 1] != ']')
        at--;
    bool is_module = at >= 3 && at < name.size - 1 && name.data[at - 1] == '[' && name.data[at - 2] == ' ';
    return is_module ? at - 2 : name.size;
}

int sxt_ksym_list_rename(struct sxt_ksym_list *list, bool (*rename)(sxt_string name, struct sxt_buffer *out),
                         sxt_error *error)
{
    size_t count = list->strings.count;
    struct renaming work = {&list->strings, rename, NULL, (count + CHUNK - 1) / CHUNK, NULL};
    work.chunks = calloc(work.chunk_count, sizeof *work.chunks);
    work.sizes = malloc(count * sizeof *work.sizes);
    int status = SXT_ERROR_MEMORY;
    if (work.chunks != NULL && work.sizes != NULL) {
        unsigned threads = count < WORTH_A_THREAD ? 1 : sxt_pool_threads(0);
        if (threads > THREADS_WANTED)
            threads = THREADS_WANTED;
        status = sxt_pool_run(threads, work.chunk_count, rename_chunk, &work);
    }
    if (status == SXT_OK)
        status = take_forms(list, &work, error);
    else
        sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while making names readable");
    for (size_t i = 0; work.chunks != NULL && i < work.chunk_count; i++)
        sxt_buffer_free(&work.chunks[i]);
    free(work.chunks);
    free(work.sizes);
    return status;
}

static size_t chunk_end(const struct renaming *work, size_t chunk)
{
    size_t first = chunk * CHUNK;
    return work->strings->count - first < CHUNK ? work->strings->count : first + CHUNK;
}

static int rename_chunk(void *context, unsigned worker, size_t chunk)
{
    (void)worker;
    const struct renaming *work = context;
    struct sxt_buffer *text = &work->chunks[chunk];
    sxt_buffer_init(text, SIZE_MAX);
    size_t allowed = GROWTH_MORE;
    for (size_t i = chunk * CHUNK; i < chunk_end(work, chunk); i++) {
        size_t start = text->size;
        sxt_string name = sxt_strings_get(work->strings, (uint32_t)i);
        size_t bare_size = sxt_ksym_bare_size(name);
        allowed += name.size * GROWTH_TIMES;
        bool renamed = name.size > 0 && start <= allowed && work->rename((sxt_string){name.data, bare_size}, text);
        renamed = renamed && text->size > start;
        if (renamed)
            sxt_buffer_append(text, name.data + bare_size, name.size - bare_size);
        if (text->failed)
            return SXT_ERROR_MEMORY;
        sxt_string form = {renamed ? (const char *)text->data + start : NULL, text->size - start};
        work->sizes[i] = KEPT;
        if (renamed && sxt_ksym_name_fit(form) == SXT_KSYM_FITS)
            work->sizes[i] = form.size;
        else
            text->size = start;
    }
    return SXT_OK;
}

/* Two names may have become one, so the strings are made anew. */
static int take_forms(struct sxt_ksym_list *list, const struct renaming *work, sxt_error *error)
{
    struct sxt_strings strings;
    int status = sxt_strings_init(&strings, 0, error);
    if (status != SXT_OK)
        return status;
    uint32_t *number_of = malloc(work->strings->count * sizeof *number_of);
    bool done = number_of != NULL;
    for (size_t chunk = 0; done && chunk < work->chunk_count; chunk++)
        done = put_forms(&strings, work, chunk, number_of);
    if (!done) {
        sxt_strings_free(&strings);
        free(number_of);
        return sxt_fail_memory(error, work->strings->bytes);
    }
    for (size_t i = 0; i < list->count; i++)
        list->symbols[i].name = number_of[list->symbols[i].name];
    sxt_strings_free(&list->strings);
    list->strings = strings;
    free(number_of);
    return SXT_OK;
}

static bool put_forms(struct sxt_strings *strings, const struct renaming *work, size_t chunk, uint32_t *number_of)
{
    const char *at = (const char *)work->chunks[chunk].data;
    for (size_t i = chunk * CHUNK; i < chunk_end(work, chunk); i++) {
        sxt_string form = sxt_strings_get(work->strings, (uint32_t)i);
        if (work->sizes[i] != KEPT) {
            form = (sxt_string){at, work->sizes[i]};
            at += form.size;
        }
        number_of[i] = sxt_strings_add(strings, form.data, form.size);
        if (number_of[i] == SXT_STRINGS_FULL)
            return false;
    }
    return true;
}
