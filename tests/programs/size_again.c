/*
 * size_again.c: a .size or .sizediff file, read and written again, for tests that know what should come out.
 *
 *     size_again save|fast|text|sort|shuffle|list|verify FILE [LIMIT]
 *
 * save and fast print the file as it is stored, text what is in it. sort and shuffle change the order of the model
 * before its text is printed: sort that of symbols, shuffle that of the lists of paths and components, which must not
 * matter. list prints a line a symbol; verify one a problem.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "size/size.h"

static int run(const char *mode, const struct sxt_file *file, const struct sxt_size_limits *limits, sxt_error *error);

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: size_again MODE FILE [LIMIT]\n");
        return 2;
    }
    struct sxt_file file;
    sxt_error error;
    struct sxt_size_limits limits = {argc == 4 ? strtoull(argv[3], NULL, 10) : 0};
    int status = sxt_file_open(&file, argv[2], &error);
    if (status == SXT_OK) {
        status = run(argv[1], &file, &limits, &error);
        sxt_file_close(&file);
    }
    if (status != SXT_OK)
        fprintf(stderr, "%s\n", error.text);
    return status == SXT_OK ? 0 : 1;
}

/* Turns the lists round and stores every item twice, the symbols taking turns with the two. */
static void shuffle(struct sxt_size_info *size)
{
    size_t paths = size->path_count, components = size->component_count;
    struct sxt_size_path *new_paths = sxt_arena_calloc(&size->arena, 2 * paths, sizeof *new_paths);
    sxt_string *new_components = sxt_arena_calloc(&size->arena, 2 * components, sizeof *new_components);
    if (new_paths == NULL || new_components == NULL)
        abort();
    for (size_t i = 0; i < paths; i++)
        new_paths[paths - 1 - i] = new_paths[2 * paths - 1 - i] = size->paths[i];
    for (size_t i = 0; i < components; i++)
        new_components[components - 1 - i] = new_components[2 * components - 1 - i] = size->components[i];
    for (size_t i = 0; i < size->symbol_count; i++) {
        struct sxt_size_model_symbol *symbol = &size->symbols[i];
        symbol->path = (uint32_t)((i % 2 + 1) * paths - 1 - symbol->path);
        symbol->component = (uint32_t)((i / 2 % 2 + 1) * components - 1 - symbol->component);
    }
    size->paths = new_paths;
    size->path_count *= 2;
    size->components = new_components;
    size->component_count *= 2;
}

static void list(const struct sxt_size_info *size)
{
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        printf("%" PRIu64 " %" PRId64 " %" PRId64 " %u %c\n", symbol->address, symbol->size, symbol->padding,
               sxt_size_alias_count(size, symbol), size->segments[symbol->segment].letter);
    }
}

static void print_problem(void *data, const sxt_problem *problem)
{
    (void)data;
    printf("%" PRIu64 " %s %s\n", problem->offset, problem->rule, problem->message);
}

static int run_size(const char *mode, const struct sxt_file *file, const struct sxt_size_limits *limits,
                    struct sxt_buffer *out, sxt_error *error)
{
    struct sxt_size_info *size;
    int status = sxt_size_open(file->data, file->size, limits, &size, error);
    if (status != SXT_OK)
        return status;
    if (strcmp(mode, "sort") == 0)
        status = sxt_size_sort(size, error);
    if (strcmp(mode, "shuffle") == 0)
        shuffle(size);
    if (strcmp(mode, "list") == 0)
        list(size);
    else if (status == SXT_OK && (strcmp(mode, "save") == 0 || strcmp(mode, "fast") == 0))
        status =
            sxt_size_save(size, strcmp(mode, "save") == 0 ? SXT_SIZE_DEFLATE_STOCK : SXT_SIZE_DEFLATE_FAST, out, error);
    else if (status == SXT_OK)
        status = sxt_size_write_text(size, out, error);
    sxt_size_info_free(&size);
    return status;
}

static int run_diff(const char *mode, const struct sxt_file *file, const struct sxt_size_limits *limits,
                    struct sxt_buffer *out, sxt_error *error)
{
    struct sxt_sizediff diff;
    int status = sxt_sizediff_open(file->data, file->size, limits, &diff, error);
    if (status != SXT_OK)
        return status;
    status = sxt_sizediff_save(&diff, strcmp(mode, "fast") == 0 ? SXT_SIZE_DEFLATE_FAST : SXT_SIZE_DEFLATE_STOCK, out,
                               error);
    sxt_sizediff_free(&diff);
    return status;
}

static int run(const char *mode, const struct sxt_file *file, const struct sxt_size_limits *limits, sxt_error *error)
{
    if (strcmp(mode, "verify") == 0) {
        sxt_size_verify(file->data, file->size, limits, print_problem, NULL);
        return SXT_OK;
    }
    struct sxt_buffer out;
    sxt_buffer_init(&out, SIZE_MAX);
    bool is_diff = sxt_sizediff_is(file->data, file->size);
    int status = is_diff ? run_diff(mode, file, limits, &out, error) : run_size(mode, file, limits, &out, error);
    if (status == SXT_OK && out.size > 0)
        fwrite(out.data, 1, out.size, stdout);
    sxt_buffer_free(&out);
    return status;
}
