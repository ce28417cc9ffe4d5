/*
 * container_names.c: the names of containers. A container is named like its file. Files with the same name get as much
 * of their paths as distinguishes them: "old/app" and "new/app".
 */
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "measure/private.h"

/* Where the last COUNT parts of a path begin; parts that are ".." and "." do not count, and end it. */
static size_t last_parts(const char *path, size_t count)
{
    size_t at = strlen(path);
    while (at > 0 && count > 0) {
        size_t end = at;
        while (end > 0 && path[end - 1] == '/')
            end--;
        size_t begin = end;
        while (begin > 0 && path[begin - 1] != '/')
            begin--;
        sxt_string part = {path + begin, end - begin};
        if (part.size == 0 || sxt_string_is(part, ".") || sxt_string_is(part, ".."))
            break;
        at = begin;
        count--;
    }
    return at;
}

static size_t count_parts(const char *path)
{
    size_t count = 1;
    while (last_parts(path, count) != last_parts(path, count + 1))
        count++;
    return count;
}

/* Has another path the same last COUNT parts? */
static bool is_shared(const char *const *paths, size_t path_count, size_t index, size_t count)
{
    const char *own = paths[index] + last_parts(paths[index], count);
    for (size_t i = 0; i < path_count; i++)
        if (i != index && strcmp(paths[i] + last_parts(paths[i], count), own) == 0)
            return true;
    return false;
}

/* A binary is rarely one of thousands; then its name alone has to do, and a number. */
#define COMPARED_MOST 4096

const char *sxt_measure_container_name(const char *const *paths, size_t path_count, size_t index)
{
    const char *path = paths[index];
    size_t parts = 1, most = path_count > 1 && path_count <= COMPARED_MOST ? count_parts(path) : 1;
    while (parts < most && is_shared(paths, path_count, index, parts))
        parts++;
    return path + last_parts(path, parts);
}

static bool is_taken(const struct measure_maker *maker, sxt_string name)
{
    for (size_t i = 0; i < maker->container_count; i++)
        if (sxt_string_equal(maker->containers[i].name, name))
            return true;
    return false;
}

sxt_string sxt_measure_unique_name(struct measure_maker *maker, const char *wanted)
{
    struct sxt_buffer text;
    sxt_string name = {NULL, 0};
    sxt_buffer_init(&text, (size_t)1 << 20);
    for (size_t number = 1; number <= maker->container_count + 1 && !text.failed; number++) {
        sxt_buffer_clear(&text);
        sxt_buffer_print(&text, "%s", wanted);
        if (number > 1)
            sxt_buffer_print(&text, " (%zu)", number);
        /* The reference gives these characters a meaning. */
        for (size_t i = 0; i < text.size; i++)
            if (strchr("<>?", text.data[i]) != NULL)
                text.data[i] = '_';
        sxt_measure_make_utf8((char *)text.data, text.size);
        name = (sxt_string){(const char *)text.data, text.size};
        if (!is_taken(maker, name))
            break;
    }
    char *kept = text.failed ? NULL : sxt_arena_copy(&maker->size->arena, name.data, name.size);
    name.data = kept;
    sxt_buffer_free(&text);
    return name;
}
