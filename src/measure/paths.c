/*
 * paths.c: the paths of files in a SuperSize file, and the components that they belong to.
 *
 * Components come from a list of prefixes, of which the longest match counts, and from the DIR_METADATA files of a
 * source tree: the nearest one above a file that names a component counts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "measure/private.h"

#define METADATA_MAX ((size_t)1 << 20)

void sxt_measure_put_path(struct measure_maker *maker, sxt_string path, struct sxt_buffer *out)
{
    path = sxt_measure_below_source(&maker->sources, path);
    while (sxt_string_begins(path, "../") || sxt_string_begins(path, "./")) {
        size_t skipped = path.data[1] == '.' ? 3 : 2;
        path = (sxt_string){path.data + skipped, path.size - skipped};
    }
    for (size_t i = 0; i < path.size; i++) {
        char letter = path.data[i];
        bool is_member = letter == '(' && path.data[path.size - 1] == ')' && i >= 2 && path.data[i - 1] == 'a';
        if (is_member) {
            sxt_buffer_u8(out, '/');
            sxt_buffer_append(out, path.data + i + 1, path.size - i - 2);
            return;
        }
        sxt_buffer_u8(out, letter == '\t' || letter == '\n' ? ' ' : (uint8_t)letter);
    }
}

/* --- components --- */

struct prefix {
    sxt_string path, component;
};

/* A directory of the source tree, and what its DIR_METADATA says. */
struct directory {
    uint32_t component; /* of the directory, or inherited from the one above it */
};

struct components {
    struct measure_maker *maker;
    struct sxt_strings names; /* 0 is "" */
    struct prefix *prefixes;  /* longest first */
    size_t prefix_count, prefix_capacity;
    struct sxt_strings directories;
    struct directory *found; /* by number of the directory */
    size_t found_count, found_capacity;
    struct sxt_buffer text;
    bool no_memory;
};

static int by_length(const void *a, const void *b)
{
    const struct prefix *first = a;
    const struct prefix *second = b;
    if (first->path.size != second->path.size)
        return first->path.size > second->path.size ? -1 : 1;
    return sxt_string_compare(first->path, second->path);
}

/* "PREFIX COMPONENT" a line, with blanks or a tab between; # begins a comment. */
static int read_prefixes(struct components *all, const struct sxt_file *file, sxt_error *error)
{
    const char *at = (const char *)file->data, *end = at + file->size;
    for (size_t line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t size = newline != NULL ? (size_t)(newline - at) : (size_t)(end - at);
        const char *next = at + size + 1;
        while (size > 0 && (*at == ' ' || *at == '\t'))
            at++, size--;
        while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t' || at[size - 1] == '\r'))
            size--;
        size_t path = 0;
        while (path < size && at[path] != ' ' && at[path] != '\t')
            path++;
        size_t name = path;
        while (name < size && (at[name] == ' ' || at[name] == '\t'))
            name++;
        if (size > 0 && *at != '#') {
            if (name == size)
                return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                                "line %zu has no component after the path: expected PREFIX COMPONENT", line);
            struct prefix *prefixes =
                sxt_array_grow(all->prefixes, &all->prefix_capacity, all->prefix_count + 1, sizeof *prefixes);
            if (prefixes == NULL)
                return sxt_fail_memory(error, sizeof *prefixes);
            all->prefixes = prefixes;
            prefixes[all->prefix_count++] = (struct prefix){{at, path}, {at + name, size - name}};
        }
        at = next;
    }
    if (all->prefix_count > 1)
        qsort(all->prefixes, all->prefix_count, sizeof *all->prefixes, by_length);
    return SXT_OK;
}

/* The text of a field, as in: component: "Blink>DOM" */
static sxt_string quoted_field(sxt_string text, const char *field)
{
    size_t size = strlen(field);
    for (size_t i = 0; i + size < text.size; i++) {
        bool begins = i == 0 || text.data[i - 1] == '\n' || text.data[i - 1] == ' ' || text.data[i - 1] == '\t';
        if (!begins || memcmp(text.data + i, field, size) != 0)
            continue;
        size_t at = i + size;
        while (at < text.size && (text.data[at] == ' ' || text.data[at] == '\t'))
            at++;
        const char *end =
            at < text.size && text.data[at] == '"' ? memchr(text.data + at + 1, '"', text.size - at - 1) : NULL;
        if (end != NULL)
            return (sxt_string){text.data + at + 1, (size_t)(end - text.data) - at - 1};
    }
    return (sxt_string){NULL, 0};
}

/* Reads a DIR_METADATA file, and the one that it inherits missing values from. */
static uint32_t read_metadata(struct components *all, const char *path, unsigned depth)
{
    struct sxt_file file;
    uint32_t component = 0;
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return 0;
    sxt_string text = {(const char *)file.data, file.size < METADATA_MAX ? file.size : METADATA_MAX};
    sxt_string name = text.size > 0 ? quoted_field(text, "component:") : (sxt_string){NULL, 0};
    sxt_string mixin = text.size > 0 ? quoted_field(text, "mixins:") : (sxt_string){NULL, 0};
    if (name.size > 0) {
        component = sxt_strings_add(&all->names, name.data, name.size);
        all->no_memory |= component == SXT_STRINGS_FULL;
    } else if (mixin.size > 2 && sxt_string_begins(mixin, "//") && depth < 4) {
        struct sxt_buffer other;
        sxt_buffer_init(&other, 1 << 16);
        sxt_buffer_print(&other, "%s/%.*s", all->maker->options->source_directory, (int)mixin.size - 2, mixin.data + 2);
        sxt_buffer_u8(&other, 0);
        if (!other.failed)
            component = read_metadata(all, (const char *)other.data, depth + 1);
        sxt_buffer_free(&other);
    }
    sxt_file_close(&file);
    return component == SXT_STRINGS_FULL ? 0 : component;
}

/* The component of a directory, relative to the source directory; "" is that one itself. */
static uint32_t component_of_directory(struct components *all, sxt_string path)
{
    uint32_t known = all->directories.count;
    uint32_t number = sxt_strings_add(&all->directories, path.data, path.size);
    if (number == SXT_STRINGS_FULL) {
        all->no_memory = true;
        return 0;
    }
    if (number < known && number < all->found_count)
        return all->found[number].component;
    struct directory *found = sxt_array_grow(all->found, &all->found_capacity, (size_t)number + 1, sizeof *found);
    if (found == NULL) {
        all->no_memory = true;
        return 0;
    }
    all->found = found;
    for (; all->found_count <= number; all->found_count++)
        found[all->found_count].component = 0;
    sxt_buffer_clear(&all->text);
    sxt_buffer_print(&all->text, "%s/%.*s%sDIR_METADATA", all->maker->options->source_directory, (int)path.size,
                     path.data, path.size > 0 ? "/" : "");
    sxt_buffer_u8(&all->text, 0);
    uint32_t component = all->text.failed ? 0 : read_metadata(all, (const char *)all->text.data, 0);
    if (component == 0 && path.size > 0) {
        size_t size = path.size;
        while (size > 0 && path.data[size - 1] != '/')
            size--;
        component = component_of_directory(all, (sxt_string){path.data, size > 0 ? size - 1 : 0});
    }
    all->found[number].component = component;
    return component;
}

static uint32_t component_of_path(struct components *all, sxt_string path)
{
    for (size_t i = 0; i < all->prefix_count; i++) {
        sxt_string prefix = all->prefixes[i].path;
        bool fits = sxt_string_has_prefix(path, prefix) &&
                    (path.size == prefix.size || prefix.data[prefix.size - 1] == '/' || path.data[prefix.size] == '/');
        if (!fits)
            continue;
        uint32_t number =
            sxt_strings_add(&all->names, all->prefixes[i].component.data, all->prefixes[i].component.size);
        all->no_memory |= number == SXT_STRINGS_FULL;
        return number == SXT_STRINGS_FULL ? 0 : number;
    }
    if (all->maker->options->source_directory == NULL || path.size == 0 || path.data[0] == '/' || path.size > 4096)
        return 0;
    size_t size = path.size;
    while (size > 0 && path.data[size - 1] != '/')
        size--;
    return component_of_directory(all, (sxt_string){path.data, size > 0 ? size - 1 : 0});
}

static bool assign(struct components *all)
{
    struct measure_maker *maker = all->maker;
    struct sxt_size_info *size = maker->size;
    uint32_t *of_path = calloc(maker->path_count + 1, sizeof *of_path);
    for (size_t i = 0; of_path != NULL && i < maker->path_count && !all->no_memory; i++) {
        of_path[i] = component_of_path(all, maker->paths[i].source);
        if (of_path[i] == 0)
            of_path[i] = component_of_path(all, maker->paths[i].object);
    }
    for (size_t i = 0; of_path != NULL && i < maker->symbol_count; i++)
        maker->symbols[i].component = of_path[maker->symbols[i].path];
    size->component_count = all->names.count;
    size->components = sxt_arena_calloc(&size->arena, size->component_count, sizeof *size->components);
    bool fine = of_path != NULL && size->components != NULL && !all->no_memory;
    for (uint32_t i = 0; fine && i < size->component_count; i++) {
        sxt_string name = sxt_strings_get(&all->names, i);
        char *copy = sxt_arena_copy(&size->arena, name.data, name.size);
        fine = copy != NULL;
        size->components[i] = (sxt_string){copy, name.size};
    }
    free(of_path);
    return fine;
}

int sxt_measure_assign_components(struct measure_maker *maker, sxt_error *error)
{
    struct components all = {.maker = maker};
    struct sxt_file file = {0};
    const char *path = maker->options->components_path;
    sxt_buffer_init(&all.text, 1 << 16);
    int status = sxt_strings_init(&all.names, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&all.directories, 0, error);
    if (status == SXT_OK && path != NULL) {
        sxt_error problem;
        status = sxt_file_open_inflated(&file, path, SXT_MEASURE_INFLATE_LIMIT, &problem);
        if (status == SXT_OK)
            status = read_prefixes(&all, &file, &problem);
        if (status != SXT_OK)
            sxt_fail(error, (sxt_status)status, SXT_NO_OFFSET, "%s: %s", path, problem.text);
    }
    if (status == SXT_OK && !assign(&all))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while looking for components");
    if (path != NULL)
        sxt_file_close(&file);
    sxt_buffer_free(&all.text);
    sxt_strings_free(&all.names);
    sxt_strings_free(&all.directories);
    free(all.prefixes);
    free(all.found);
    return status;
}
