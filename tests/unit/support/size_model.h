/*
 * size_model.h: a size from a text, so that a test or another program can say in a line what a symbol is:
 *
 *     container TAB section TAB full name TAB source TAB object TAB size without padding TAB padding TAB group
 *
 * Symbols of a container and section are together. Lines that follow each other and have the same group, which is not
 * 0, are aliases. A line "sparse" makes a sparse one.
 */
#ifndef SXT_TESTS_SIZE_MODEL_H
#define SXT_TESTS_SIZE_MODEL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "size/size.h"

enum {
    SXT_TEST_CONTAINER,
    SXT_TEST_SECTION,
    SXT_TEST_NAME,
    SXT_TEST_SOURCE,
    SXT_TEST_OBJECT,
    SXT_TEST_SIZE,
    SXT_TEST_PADDING,
    SXT_TEST_GROUP,
    SXT_TEST_FIELDS
};

static inline bool sxt_test_same(sxt_string a, sxt_string b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline void sxt_test_add_size_symbol(struct sxt_size_info *size, const sxt_string *fields)
{
    if (size->container_count == 0 ||
        !sxt_test_same(size->containers[size->container_count - 1].name, fields[SXT_TEST_CONTAINER])) {
        struct sxt_size_container *container = &size->containers[size->container_count++];
        container->name = fields[SXT_TEST_CONTAINER];
        container->sections = sxt_json_object(&size->arena);
        container->metadata = sxt_json_object(&size->arena);
    }
    uint32_t container = (uint32_t)size->container_count - 1;
    struct sxt_size_segment *segment = size->segment_count == 0 ? NULL : &size->segments[size->segment_count - 1];
    if (segment == NULL || segment->container != container ||
        !sxt_test_same(segment->section, fields[SXT_TEST_SECTION])) {
        segment = &size->segments[size->segment_count++];
        *segment = (struct sxt_size_segment){
            .container = container, .section = fields[SXT_TEST_SECTION], .first = size->symbol_count};
        sxt_size_classify(segment);
    }
    segment->count++;
    size->paths[size->path_count++] = (struct sxt_size_path){fields[SXT_TEST_OBJECT], fields[SXT_TEST_SOURCE]};
    int64_t padding = strtoll(fields[SXT_TEST_PADDING].data, NULL, 10);
    size->symbols[size->symbol_count++] =
        (struct sxt_size_model_symbol){.size = strtoll(fields[SXT_TEST_SIZE].data, NULL, 10) + padding,
                                       .padding = padding,
                                       .full_name = fields[SXT_TEST_NAME].data,
                                       .full_name_size = (uint32_t)fields[SXT_TEST_NAME].size,
                                       .path = (uint32_t)size->path_count - 1,
                                       .segment = (uint32_t)size->segment_count - 1};
}

/* TEXT must stay as long as the size does. NULL when memory is short or a line has too few fields. */
static inline struct sxt_size_info *sxt_test_size(const char *text)
{
    struct sxt_size_info *size;
    if (sxt_size_info_new(&size, NULL) != SXT_OK)
        return NULL;
    size_t lines = 1;
    for (const char *at = text; *at != 0; at++)
        lines += *at == '\n';
    size->containers = sxt_arena_calloc(&size->arena, lines, sizeof *size->containers);
    size->segments = sxt_arena_calloc(&size->arena, lines, sizeof *size->segments);
    size->paths = sxt_arena_calloc(&size->arena, lines, sizeof *size->paths);
    size->symbols = sxt_arena_calloc(&size->arena, lines, sizeof *size->symbols);
    size->groups = sxt_arena_calloc(&size->arena, lines, sizeof *size->groups);
    size->components = sxt_arena_calloc(&size->arena, 1, sizeof *size->components);
    size->components[0] = (sxt_string){"", 0};
    size->component_count = 1;
    long long group_before = 0;
    for (const char *end; *text != 0; text = end + (*end != 0)) {
        end = text + strcspn(text, "\n");
        if (strncmp(text, "sparse\n", 7) == 0) {
            size->is_sparse = true;
            continue;
        }
        sxt_string fields[SXT_TEST_FIELDS];
        for (int i = 0; i < SXT_TEST_FIELDS; i++) {
            fields[i] = (sxt_string){text, strcspn(text, "\t\n")};
            if (i + 1 < SXT_TEST_FIELDS && text[fields[i].size] != '\t') {
                sxt_size_info_free(&size);
                return NULL;
            }
            text += fields[i].size + (i + 1 < SXT_TEST_FIELDS);
        }
        sxt_test_add_size_symbol(size, fields);
        long long group = strtoll(fields[SXT_TEST_GROUP].data, NULL, 10);
        if (group != 0) {
            if (group != group_before)
                size->groups[size->group_count++].first = (uint32_t)size->symbol_count - 1;
            size->groups[size->group_count - 1].count++;
            size->symbols[size->symbol_count - 1].group = (uint32_t)size->group_count;
        }
        group_before = group;
    }
    return size;
}

#endif
