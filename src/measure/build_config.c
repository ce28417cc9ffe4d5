/* build_config.c: the description of the build: title, URL, revision, and the settings that the user gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "measure/private.h"

/* The setting that is a list: one argument of the build an entry, sorted as the reference has them. */
static const char list_key[] = "gn_args";

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The key of "KEY=VALUE", which is checked. */
static sxt_string key_of(const char *setting)
{
    return (sxt_string){setting, (size_t)(strchr(setting, '=') - setting)};
}

static int add_list(struct sxt_arena *arena, struct sxt_json *build, const sxt_size_make_options *options,
                    sxt_error *error)
{
    const char **values = malloc((options->build_config_count + 1) * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values != NULL && i < options->build_config_count; i++)
        if (sxt_string_is(key_of(options->build_config[i]), list_key))
            values[count++] = strchr(options->build_config[i], '=') + 1;
    if (count > 1)
        qsort((void *)values, count, sizeof *values, compare);
    struct sxt_json *list = values != NULL && count > 0 ? sxt_json_array(arena) : NULL;
    bool fine = values != NULL && (count == 0 || list != NULL);
    for (size_t i = 0; fine && i < count; i++)
        fine = sxt_json_add_string(arena, list, NULL, sxt_string_of(values[i]));
    if (fine && count > 0)
        fine = sxt_json_add(arena, build, list_key, list);
    free((void *)values);
    return fine ? SXT_OK : sxt_fail_memory(error, options->build_config_count);
}

static int add_setting(struct sxt_arena *arena, struct sxt_json *build, const char *setting, sxt_error *error)
{
    sxt_string key = key_of(setting);
    if (sxt_string_is(key, list_key))
        return SXT_OK;
    char *copy = sxt_arena_copy(arena, key.data, key.size);
    if (copy != NULL && sxt_json_member(build, copy) != NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "two values for the build setting '%s'", copy);
    bool fine = copy != NULL && sxt_json_add_string(arena, build, copy, sxt_string_of(setting + key.size + 1));
    return fine ? SXT_OK : sxt_fail_memory(error, key.size);
}

static bool has_setting(const sxt_size_make_options *options, const char *key)
{
    for (size_t i = 0; i < options->build_config_count; i++)
        if (sxt_string_is(key_of(options->build_config[i]), key))
            return true;
    return false;
}

int sxt_measure_describe_build(struct measure_maker *maker, sxt_error *error)
{
    const sxt_size_make_options *options = maker->options;
    struct sxt_arena *arena = &maker->size->arena;
    struct sxt_json *build = sxt_json_object(arena);
    for (size_t i = 0; i < options->build_config_count; i++) {
        const char *text = options->build_config[i], *equals = strchr(text, '=');
        if (equals == NULL || equals == text)
            return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a build setting (KEY=VALUE): '%s'", text);
    }
    char revision[128] = "";
    if (options->git_revision != NULL)
        snprintf(revision, sizeof revision, "%s", options->git_revision);
    else if (options->source_directory != NULL && !has_setting(options, "git_revision"))
        sxt_measure_find_revision(options->source_directory, revision, sizeof revision);
    const struct {
        const char *key, *value;
    } known[] = {{"git_revision", *revision != 0 ? revision : NULL}, {"title", options->title}, {"url", options->url}};
    bool fine = build != NULL;
    for (size_t i = 0; fine && i < sizeof known / sizeof *known; i++)
        if (known[i].value != NULL)
            fine = sxt_json_add_string(arena, build, known[i].key, sxt_string_of(known[i].value));
    int status = fine ? add_list(arena, build, options, error) : sxt_fail_memory(error, sizeof *build);
    for (size_t i = 0; status == SXT_OK && i < options->build_config_count; i++)
        status = add_setting(arena, build, options->build_config[i], error);
    maker->size->build_config = build;
    return status;
}
