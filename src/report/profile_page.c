/*
 * profile_page.c: the data of a page about a profile, or about two.
 *
 * Block "calls" has the list of strings; of each function the numbers of its name, file and binary (differences); of
 * each call below the root how far its parent is before it, and its function (differences); and for each side and each
 * kind of value a column: the value of the root, and of each call.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "profile/call_tree.h"
#include "report/columns.h"
#include "report/report.h"

static void write_strings(const struct sxt_call_tree *tree, struct sxt_buffer *table)
{
    struct sxt_string_column column;
    sxt_string_column_init(&column);
    for (uint32_t i = 0; i < tree->strings.count; i++)
        sxt_string_column_add(&column, sxt_strings_get(&tree->strings, i));
    sxt_string_column_finish(&column, table);
}

static void write_frames(const struct sxt_call_tree *tree, struct sxt_buffer *table)
{
    struct sxt_column columns[3];
    for (int i = 0; i < 3; i++)
        sxt_column_init(&columns[i]);
    for (size_t i = 0; i < tree->frame_count; i++) {
        sxt_column_add_next(&columns[0], tree->frames[i].function);
        sxt_column_add_next(&columns[1], tree->frames[i].file);
        sxt_column_add_next(&columns[2], tree->frames[i].binary);
    }
    for (int i = 0; i < 3; i++)
        sxt_column_finish(&columns[i], table);
}

static void write_nodes(const struct sxt_call_tree *tree, struct sxt_buffer *table)
{
    struct sxt_column parents, frames;
    sxt_column_init(&parents);
    sxt_column_init(&frames);
    for (size_t i = 1; i < tree->node_count; i++) {
        sxt_column_add(&parents, i - tree->nodes[i].parent);
        sxt_column_add_next(&frames, tree->nodes[i].frame);
    }
    sxt_column_finish(&parents, table);
    sxt_column_finish(&frames, table);
}

static void write_values(const struct sxt_call_tree *tree, unsigned sides, struct sxt_buffer *table)
{
    for (unsigned side = 0; side < sides; side++)
        for (size_t type = 0; type < tree->type_count; type++) {
            struct sxt_column column;
            sxt_column_init(&column);
            for (size_t i = 0; i < tree->node_count; i++)
                sxt_column_add_signed(&column, tree->values[side][i * tree->type_count + type]);
            sxt_column_finish(&column, table);
        }
}

static void write_totals(const struct sxt_call_tree *tree, struct sxt_json_writer *json, const char *key, unsigned side)
{
    sxt_json_write_begin(json, key, '{');
    sxt_json_write_number(json, "samples", tree->samples[side]);
    sxt_json_write_number(json, "unnamed", tree->unnamed[side]);
    sxt_json_write_begin(json, "values", '[');
    for (size_t i = 0; i < tree->type_count; i++) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)tree->totals[side][i]);
        sxt_json_write_text(json, NULL, sxt_string_of(text));
    }
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
}

static void write_json(const struct sxt_call_tree *tree, const char *name, const char *before_name,
                       struct sxt_buffer *text)
{
    unsigned sides = before_name != NULL ? 2 : 1;
    struct sxt_json_writer json = sxt_json_writer_make(text, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "kind", sxt_string_of(sides > 1 ? "profilediff" : "profile"));
    sxt_json_write_string(&json, "name", sxt_string_of(name));
    if (before_name != NULL)
        sxt_json_write_string(&json, "before_name", sxt_string_of(before_name));
    sxt_json_write_number(&json, "frames", tree->frame_count);
    sxt_json_write_number(&json, "nodes", tree->node_count);
    sxt_json_write_number(&json, "default_type", tree->default_type);
    sxt_json_write_begin(&json, "types", '[');
    for (size_t i = 0; i < tree->type_count; i++) {
        sxt_json_write_begin(&json, NULL, '{');
        sxt_json_write_string(&json, "name", sxt_strings_get(&tree->strings, tree->types[i].name));
        sxt_json_write_string(&json, "unit", sxt_strings_get(&tree->strings, tree->types[i].unit));
        sxt_json_write_end(&json, '}');
    }
    sxt_json_write_end(&json, ']');
    sxt_json_write_begin(&json, "sides", '[');
    for (unsigned i = 0; i < sides; i++)
        write_totals(tree, &json, NULL, i);
    sxt_json_write_end(&json, ']');
    sxt_json_write_end(&json, '}');
}

int sxt_page_make_profile(struct sxt_page *page, const struct sxt_call_tree *tree, const char *name,
                          const char *before_name, sxt_error *error)
{
    struct sxt_buffer json, table;
    sxt_buffer_init(&json, SIZE_MAX);
    sxt_buffer_init(&table, SIZE_MAX);
    write_json(tree, name, before_name, &json);
    write_strings(tree, &table);
    write_frames(tree, &table);
    write_nodes(tree, &table);
    write_values(tree, before_name != NULL ? 2 : 1, &table);
    sxt_page_add_json(page, &json);
    int status = sxt_page_add_block(page, "calls", &table, error);
    sxt_buffer_free(&json);
    sxt_buffer_free(&table);
    return status;
}

bool sxt_page_is_profile(const char *path)
{
    struct sxt_file file;
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return false;
    bool is_profile = sxt_profile_is(file.data, file.size);
    sxt_file_close(&file);
    return is_profile;
}

static int read_side(struct sxt_call_tree *tree, unsigned side, const char *path, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_call_tree_add(tree, side, file.data, file.size, error);
    sxt_file_close(&file);
    return status;
}

int sxt_page_read_calls(const char *const paths[2], struct sxt_call_tree *tree, unsigned *sides, const char **failed,
                        sxt_error *error)
{
    *sides = paths[1] != NULL ? 2 : 1;
    int status = sxt_call_tree_init(tree, error);
    *failed = paths[0];
    for (unsigned i = 0; i < *sides && status == SXT_OK; i++) {
        *failed = paths[i];
        status = read_side(tree, i, paths[i], error);
    }
    return status;
}

int sxt_page_read_profiles(struct sxt_page *page, const char *const paths[2], const char *name, const char **failed,
                           sxt_error *error)
{
    struct sxt_call_tree tree;
    unsigned sides;
    const char *slash = paths[1] != NULL ? strrchr(paths[0], '/') : NULL;
    const char *before_name = paths[1] == NULL ? NULL : slash != NULL ? slash + 1 : paths[0];
    int status = sxt_page_read_calls(paths, &tree, &sides, failed, error);
    bool is_ambiguous = before_name != NULL && strcmp(before_name, name) == 0;
    if (status == SXT_OK)
        status = sxt_page_make_profile(page, &tree, is_ambiguous ? paths[1] : name,
                                       is_ambiguous ? paths[0] : before_name, error);
    sxt_call_tree_free(&tree);
    return status;
}
