/*
 * symbol_search.c: finds functions by a part of a name, or by a regular expression. The names that count are the
 * readable one, the one it is linked by, and the other names of the function.
 */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/string.h"
#include "size/query.h"
#include "view/symbols.h"

/* Functions that a thread takes at once; a multiple of the bits in a word, so that threads do not share words. */
#define PART 4096

/* A search that is running. */
struct search {
    struct sxt_view_functions *functions;
    sxt_string text;          /* in lower case, unless the case counts */
    unsigned char lower[256]; /* how letters are compared */
    regex_t *patterns;        /* one for each thread: regexec locks it; NULL for a plain text */
    unsigned threads;
    uint64_t *bits;
};

static bool contains(const struct search *search, sxt_string name)
{
    const unsigned char *text = (const unsigned char *)search->text.data;
    const unsigned char *data = (const unsigned char *)name.data;
    size_t size = search->text.size;
    if (name.size < size)
        return false;
    for (size_t i = 0; i <= name.size - size; i++) {
        if (search->lower[data[i]] != text[0])
            continue;
        size_t k = 1;
        while (k < size && search->lower[data[i + k]] == text[k])
            k++;
        if (k == size)
            return true;
    }
    return false;
}

static bool matches(const struct search *search, unsigned worker, sxt_string name)
{
    if (name.data == NULL)
        return false;
    return search->patterns != NULL ? sxt_size_query_matches(&search->patterns[worker], name) : contains(search, name);
}

static int search_part(void *context, unsigned worker, size_t part)
{
    const struct search *search = context;
    const struct sxt_view_functions *functions = search->functions;
    size_t end = (part + 1) * PART < functions->count ? (part + 1) * PART : functions->count;
    size_t alias = sxt_view_first_alias(functions, part * PART);
    for (size_t i = part * PART; i < end; i++) {
        bool found = matches(search, worker, sxt_view_function_name(functions, i)) ||
                     matches(search, worker, sxt_view_function_linked(functions, i));
        for (; alias < functions->alias_count && functions->aliases[alias].function == i; alias++)
            found = found || matches(search, worker, functions->aliases[alias].name);
        if (found)
            search->bits[i / 64] |= (uint64_t)1 << (i % 64);
    }
    return 0;
}

static int compile(struct search *search, const struct sxt_view_search *wanted, sxt_error *error)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    sxt_buffer_print(&text, "%s%s", wanted->with_case ? "" : "(?i)", wanted->text);
    int status = sxt_buffer_status(&text, error);
    unsigned threads = search->threads;
    search->threads = 0;
    if (status == SXT_OK && (search->patterns = calloc(threads, sizeof *search->patterns)) == NULL)
        status = sxt_fail_memory(error, threads * sizeof *search->patterns);
    for (; status == SXT_OK && search->threads < threads; search->threads += status == SXT_OK)
        status = sxt_size_query_compile_pattern((sxt_string){(const char *)text.data, text.size},
                                                &search->patterns[search->threads], error);
    sxt_buffer_free(&text);
    return status;
}

static int run(struct search *search, const struct sxt_view_search *wanted, char *lowered, sxt_error *error)
{
    size_t parts = (search->functions->count + PART - 1) / PART;
    int status = SXT_OK;
    for (unsigned i = 0; i < 256; i++)
        search->lower[i] = (unsigned char)(!wanted->with_case && i >= 'A' && i <= 'Z' ? i + 'a' - 'A' : i);
    search->text = (sxt_string){lowered, strlen(lowered)};
    for (char *at = lowered; *at != 0; at++)
        *at = (char)search->lower[(unsigned char)*at];
    if (wanted->is_pattern)
        status = compile(search, wanted, error);
    if (status == SXT_OK)
        (void)sxt_pool_run(search->threads, parts, search_part, search);
    for (unsigned i = 0; search->patterns != NULL && i < search->threads; i++)
        regfree(&search->patterns[i]);
    free(search->patterns);
    return status;
}

static bool is_answered(const struct sxt_view_found *found, const struct sxt_view_search *search)
{
    return found->text != NULL && strcmp(found->text, search->text) == 0 && found->is_pattern == search->is_pattern &&
           found->with_case == search->with_case;
}

/* Lists what was found in an order. */
static int list(struct sxt_view_functions *functions, enum sxt_view_order order, struct sxt_view_found *found,
                sxt_error *error)
{
    const uint32_t *all = sxt_view_functions_order(functions, order);
    size_t count = 0;
    for (size_t i = 0; i < (functions->count + 63) / 64; i++)
        count += (size_t)__builtin_popcountll(found->bits[i]);
    uint32_t *numbers = all != NULL ? realloc(found->list, count * sizeof *numbers + 1) : NULL;
    if (numbers == NULL)
        return sxt_fail_memory(error, count * sizeof *numbers);
    found->list = numbers;
    found->order = order;
    found->count = 0;
    for (size_t i = 0; i < functions->count; i++)
        if (found->bits[all[i] / 64] >> (all[i] % 64) & 1)
            numbers[found->count++] = all[i];
    return SXT_OK;
}

int sxt_view_search(struct sxt_view_functions *functions, const struct sxt_view_search *search,
                    enum sxt_view_order order, unsigned threads, struct sxt_view_found *found, sxt_error *error)
{
    if (is_answered(found, search))
        return found->order == order ? SXT_OK : list(functions, order, found, error);
    sxt_view_found_free(found);
    struct search running = {.functions = functions, .threads = sxt_pool_threads(threads)};
    size_t words = (functions->count + 63) / 64;
    char *lowered = strdup(search->text);
    *found = (struct sxt_view_found){.text = strdup(search->text),
                                     .is_pattern = search->is_pattern,
                                     .with_case = search->with_case,
                                     .bits = calloc(words + 1, sizeof *found->bits)};
    running.bits = found->bits;
    int status = found->text != NULL && found->bits != NULL && lowered != NULL
                     ? run(&running, search, lowered, error)
                     : sxt_fail_memory(error, words * sizeof *found->bits);
    if (status == SXT_OK)
        status = list(functions, order, found, error);
    if (status != SXT_OK)
        sxt_view_found_free(found);
    free(lowered);
    return status;
}

void sxt_view_found_free(struct sxt_view_found *found)
{
    free(found->text);
    free(found->bits);
    free(found->list);
    *found = (struct sxt_view_found){0};
}
