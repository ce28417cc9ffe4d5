/*
 * fuzz_size_make.c: any bytes as a binary, an object file or a static library whose bytes are to have owners. Whatever
 * is made of it can be stored and read, and is the same when it is made again; symbols of a section add up to it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "property.h"
#include "size/size.h"

static void make(const char *path, uint8_t choice, struct sxt_size_info **out)
{
    sxt_size_make_options options;
    sxt_extract_options extract;
    const char *failed;
    sxt_error error;
    sxt_size_make_options_init(&options);
    sxt_extract_options_init(&extract);
    options.extract = &extract;
    extract.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    extract.inflate_limit = SXT_FUZZ_INFLATE_LIMIT;
    options.with_debug = choice & 1;
    options.git_revision = "";
    int status = sxt_size_make((const char *const[]){path}, 1, &options, out, &failed, &error);
    SXT_HOLDS((status == SXT_OK) == (*out != NULL));
    SXT_HOLDS(status == SXT_OK || error.text[0] != 0);
}

static void save(const struct sxt_size_info *size, struct sxt_buffer *out)
{
    sxt_buffer_init(out, SIZE_MAX);
    SXT_HOLDS(sxt_size_save(size, SXT_SIZE_DEFLATE_FAST, out, NULL) == SXT_OK);
}

static void check_sizes(const struct sxt_size_info *size)
{
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        SXT_HOLDS(symbol->size >= 0 && symbol->padding >= 0 && symbol->padding <= symbol->size);
        SXT_HOLDS(symbol->segment < size->segment_count && symbol->path < size->path_count);
        SXT_HOLDS(memchr(symbol->full_name, '\t', symbol->full_name_size) == NULL);
        SXT_HOLDS(memchr(symbol->full_name, '\n', symbol->full_name_size) == NULL);
    }
}

/* Names may be any bytes, and a section whose name has a parenthesis is none to a reader. All else is in order. */
static void check_problem(void *data, const sxt_problem *problem)
{
    const bool *has_parenthesis = data;
    SXT_HOLDS(strcmp(problem->rule, "text") == 0 || (strcmp(problem->rule, "section-sum") == 0 && *has_parenthesis));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 16)
        return 0;
    /* The library takes paths: a file in memory has one. */
    int descriptor = memfd_create("input", 0);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    SXT_HOLDS(descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size);
    struct sxt_size_info *first, *second;
    make(path, data[size - 1], &first);
    if (first != NULL) {
        struct sxt_buffer once, again;
        check_sizes(first);
        make(path, data[size - 1], &second);
        SXT_HOLDS(second != NULL);
        save(first, &once);
        save(second, &again);
        SXT_HOLDS(once.size == again.size && memcmp(once.data, again.data, once.size) == 0);
        sxt_size_info_free(&second);
        SXT_HOLDS(sxt_size_open(once.data, once.size, NULL, &second, NULL) == SXT_OK);
        SXT_HOLDS(second->symbol_count == first->symbol_count);
        bool has_parenthesis = memchr(data, '(', size) != NULL;
        sxt_size_verify(once.data, once.size, NULL, check_problem, &has_parenthesis);
        sxt_size_info_free(&second);
        sxt_buffer_free(&once);
        sxt_buffer_free(&again);
    }
    sxt_size_info_free(&first);
    close(descriptor);
    return 0;
}
