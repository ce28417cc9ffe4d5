/*
 * paths.c: builds the paths of files from the compilation directory, the directories of the line table, and the name.
 *
 * A path is absolute if the compilation directory is; otherwise it is relative to the same directory as that one. A
 * compiler that removes the build directory (-ffile-prefix-map=/build/glibc=.) writes "./csu" for the compilation
 * directory and "./csu" again for a directory in it: a directory with the same first component as the compilation
 * directory is not appended to it.
 */
#include <string.h>

#include "base/string.h"
#include "source/dwarf/names.h"

static bool is_absolute(sxt_string path)
{
    return path.size > 0 && path.data[0] == '/';
}

static sxt_string first_component(sxt_string path)
{
    const char *slash = path.size > 0 ? memchr(path.data, '/', path.size) : NULL;
    return slash != NULL ? (sxt_string){path.data, (size_t)(slash - path.data)} : path;
}

static bool begins_alike(sxt_string a, sxt_string b)
{
    sxt_string first = first_component(a), second = first_component(b);
    return first.size > 0 && second.size < b.size && sxt_string_equal(first, second) && !sxt_string_is(first, "..");
}

static void append_path(struct sxt_buffer *text, sxt_string part)
{
    if (part.size == 0)
        return;
    if (text->size > 0)
        sxt_buffer_append(text, "/", 1);
    sxt_buffer_append(text, part.data, part.size);
}

/* Removes empty and "." components, and "name/.." pairs, in place. */
static size_t normalize(char *path, size_t size)
{
    bool absolute = size > 0 && path[0] == '/';
    size_t out = absolute ? 1 : 0; /* bytes kept */
    size_t floor = out;            /* bytes that ".." cannot remove */
    for (size_t at = 0; at < size;) {
        while (at < size && path[at] == '/')
            at++;
        size_t length = 0;
        while (at + length < size && path[at + length] != '/')
            length++;
        bool dot = length == 1 && path[at] == '.';
        bool up = length == 2 && path[at] == '.' && path[at + 1] == '.';
        if (up && out > floor) {
            while (out > floor && path[out - 1] != '/')
                out--;
            if (out > floor)
                out--; /* the slash before it */
        } else if (length > 0 && !dot && !(up && absolute)) {
            if (out > (absolute ? 1u : 0u))
                path[out++] = '/';
            memmove(path + out, path + at, length);
            out += length;
            if (up)
                floor = out;
        }
        at += length;
    }
    return out;
}

/*
 * Builds paths as GNU's tools do: without normalizing, and always appending a relative directory to the unit's
 * directory.
 */
static void build_gnu(struct sxt_buffer *text, sxt_string own, sxt_string directory, sxt_string name)
{
    if (!is_absolute(name)) {
        if (!is_absolute(directory))
            append_path(text, own);
        append_path(text, directory);
    }
    append_path(text, name);
}

static void build(struct sxt_buffer *text, sxt_string own, sxt_string directory, sxt_string name)
{
    if (!is_absolute(name)) {
        bool rooted = directory.size == 0 ? begins_alike(own, name) && !is_absolute(own) && name.data[0] == '.'
                                          : is_absolute(directory) || begins_alike(own, directory);
        if (!rooted)
            append_path(text, own);
        append_path(text, directory);
    }
    append_path(text, name);
    if (!text->failed)
        text->size = normalize((char *)text->data, text->size);
}

uint32_t sxt_dwarf_file_name(struct dwarf_names *names, const struct dwarf_lines *lines, const struct dwarf_root *root,
                             uint64_t number)
{
    if (number >= lines->file_count || (number == 0 && lines->version < 5))
        return 0;
    const struct dwarf_file_entry *file = &lines->files[number];
    if (file->name.size == 0)
        return 0;
    sxt_string own = root->directory, directory = {NULL, 0};
    if (file->directory < lines->directory_count)
        directory = lines->directories[file->directory];
    /* In DWARF 5, directory 0 is the compilation directory. */
    if (lines->version >= 5 && lines->directory_count > 0 && !names->gnu) {
        if (own.size == 0 || (!is_absolute(own) && is_absolute(lines->directories[0])))
            own = lines->directories[0];
        if (file->directory == 0)
            directory = (sxt_string){NULL, 0};
    }
    if (!dwarf_budget_spend(names->budget, own.size + directory.size + file->name.size))
        return 0;
    names->text.size = 0;
    if (names->gnu)
        build_gnu(&names->text, own, directory, file->name);
    else
        build(&names->text, own, directory, file->name);
    if (names->text.failed) {
        names->no_memory = true;
        return 0;
    }
    uint32_t result = sxt_strings_add(&names->strings, (const char *)names->text.data, names->text.size);
    if (result != SXT_STRINGS_FULL)
        return result;
    names->no_memory = true;
    return 0;
}
