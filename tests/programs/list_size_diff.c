/*
 * list_size_diff.c: what src/size derives, as text that a test compares with what a program of its own derives.
 *
 *     list_size_diff names SECTION < NAMES            flags and the three names of each line
 *     list_size_diff diff BEFORE AFTER [--aliases]    pairs, paddings, and what a .sizediff would hold
 *
 * BEFORE and AFTER are texts as in size_model.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "support/size_model.h"

static int list_names(const char *section);
static int list_diff(char **arguments, bool ignores_aliases);
static struct sxt_size_info *read_size(const char *path, char **text);
static void print_delta(const struct sxt_size_delta *delta);
static void print_half(const char *which, const struct sxt_size_info *size);
static void print_sources(const char *which, const sxt_string *sources, size_t count);

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "names") == 0)
        return list_names(argv[2]);
    if (argc >= 4 && strcmp(argv[1], "diff") == 0)
        return list_diff(argv + 2, argc == 5 && strcmp(argv[4], "--aliases") == 0);
    fprintf(stderr, "usage: list_size_diff names SECTION | diff BEFORE AFTER [--aliases]\n");
    return 2;
}

static int list_names(const char *section)
{
    struct sxt_size_segment segment = {.section = {section, strlen(section)}};
    sxt_size_classify(&segment);
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, SIZE_MAX);
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t size; (size = getline(&line, &capacity, stdin)) > 0;) {
        struct sxt_size_derived_names names;
        sxt_size_derive_names(&segment, (sxt_string){line, (size_t)size - (line[size - 1] == '\n')}, &buffer, &names);
        printf("%u\t%.*s\t%.*s\t%.*s\n", names.flags, (int)names.full_name.size, names.full_name.data,
               (int)names.template_name.size, names.template_name.data, (int)names.name.size, names.name.data);
    }
    free(line);
    sxt_buffer_free(&buffer);
    return 0;
}

static int list_diff(char **arguments, bool ignores_aliases)
{
    char *texts[2];
    struct sxt_size_info *before = read_size(arguments[0], &texts[0]), *after = read_size(arguments[1], &texts[1]);
    struct sxt_size_delta delta;
    struct sxt_sizediff stored = {.before = NULL};
    int status = before != NULL && after != NULL ? sxt_size_delta_make(before, after, ignores_aliases, 0, &delta, NULL)
                                                 : SXT_ERROR_IO;
    if (status == SXT_OK) {
        print_delta(&delta);
        status = sxt_size_make_sizediff(&delta, NULL, &stored, NULL);
        sxt_size_delta_free(&delta);
    }
    /* The copies stand alone. */
    sxt_size_info_free(&before);
    sxt_size_info_free(&after);
    free(texts[0]);
    free(texts[1]);
    if (status == SXT_OK) {
        print_sources("removed", stored.removed_sources, stored.removed_source_count);
        print_sources("added", stored.added_sources, stored.added_source_count);
        print_half("before", stored.before);
        print_half("after", stored.after);
    }
    sxt_sizediff_free(&stored);
    return status == SXT_OK ? 0 : 1;
}

static struct sxt_size_info *read_size(const char *path, char **text)
{
    struct sxt_file file;
    *text = NULL;
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return NULL;
    *text = calloc(1, file.size + 1);
    if (*text != NULL && file.size > 0)
        memcpy(*text, file.data, file.size);
    sxt_file_close(&file);
    return *text == NULL ? NULL : sxt_test_size(*text);
}

static void print_delta(const struct sxt_size_delta *delta)
{
    for (size_t i = 0; i < delta->pair_count; i++) {
        const struct sxt_size_pair *pair = &delta->pairs[i];
        printf("pair\t%d\t%d\t%d\t%" PRId64 "\t%.3f\n", pair->status, (int)pair->before, (int)pair->after,
               sxt_size_pair_size(delta, pair), sxt_size_pair_pss(delta, pair) + 0.0);
    }
    for (size_t i = 0; i < delta->padding_count; i++)
        printf("padding\t%.*s\t%.*s\t%" PRId64 "\n", (int)delta->paddings[i].container.size,
               delta->paddings[i].container.data, (int)delta->paddings[i].section.size, delta->paddings[i].section.data,
               delta->paddings[i].bytes);
}

static void print_half(const char *which, const struct sxt_size_info *size)
{
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        const struct sxt_size_segment *segment = &size->segments[symbol->segment];
        sxt_string container = size->containers[segment->container].name, source = size->paths[symbol->path].source;
        printf("%s\t%.*s\t%.*s\t%.*s\t%.*s\t%" PRId64 "\t%" PRId64 "\t%u\n", which, (int)container.size, container.data,
               (int)segment->section.size, segment->section.data, (int)symbol->full_name_size, symbol->full_name,
               (int)source.size, source.data, symbol->size, symbol->padding, sxt_size_alias_count(size, symbol));
    }
}

static void print_sources(const char *which, const sxt_string *sources, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s\t%.*s\n", which, (int)sources[i].size, sources[i].data);
}
