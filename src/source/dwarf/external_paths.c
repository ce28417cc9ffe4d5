/*
 * external_paths.c: lists the paths that external_files.c tries. An open file does not store its path; it is found by
 * comparing contents.
 */
#include "source/dwarf/external_paths.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/hex.h"
#include "source/debug_file.h"

/* Two files of equal size that agree up to here are considered equal. */
#define COMPARE_MAX ((size_t)1 << 20)

__attribute__((format(printf, 3, 4))) static void add(struct dwarf_paths *paths, struct sxt_arena *arena,
                                                      const char *format, ...);

static void add(struct dwarf_paths *paths, struct sxt_arena *arena, const char *format, ...)
{
    char path[PATH_MAX];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(path, sizeof path, format, values);
    va_end(values);
    if (length <= 0 || length >= PATH_MAX || paths->count == DWARF_PATHS_MAX)
        return;
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->list[i].data, path) == 0)
            return;
    char *copy = sxt_arena_copy(arena, path, (size_t)length);
    if (copy != NULL)
        paths->list[paths->count++] = (sxt_string){copy, (size_t)length};
}

/* Gets the directory of the main file, with links resolved. */
static bool folder_of(const struct sxt_dwarf *dwarf, char folder[PATH_MAX])
{
    if (dwarf->settings.path == NULL || realpath(dwarf->settings.path, folder) == NULL)
        return false;
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = 0;
    return slash != NULL;
}

static int printable(sxt_string text)
{
    return text.size < PATH_MAX ? (int)text.size : PATH_MAX;
}

void sxt_dwarf_split_paths(const struct sxt_dwarf *dwarf, const struct dwarf_root *root, struct sxt_arena *arena,
                           struct dwarf_paths *paths)
{
    char folder[PATH_MAX];
    sxt_string name = root->split_name, directory = root->directory;
    paths->count = 0;
    if (dwarf->settings.path == NULL)
        return;
    add(paths, arena, "%s.dwp", dwarf->settings.path);
    if (name.size == 0 || (dwarf->settings.options->flags & SXT_EXTRACT_NO_DEBUG_SEARCH))
        return;
    bool absolute = name.data[0] == '/';
    if (absolute || directory.size == 0)
        add(paths, arena, "%.*s", printable(name), name.data);
    else
        add(paths, arena, "%.*s/%.*s", printable(directory), directory.data, printable(name), name.data);
    if (!folder_of(dwarf, folder))
        return;
    if (!absolute)
        add(paths, arena, "%s/%.*s", folder, printable(name), name.data);
    size_t last = name.size;
    while (last > 0 && name.data[last - 1] != '/')
        last--;
    add(paths, arena, "%s/%.*s", folder, printable(name) - (int)last, name.data + last);
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool sxt_dwarf_supplementary(struct sxt_elf *elf, bool is_supplementary, struct dwarf_link *link)
{
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".debug_sup");
    struct sxt_elf_bytes bytes;
    if (section == NULL || sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
        return false;
    struct sxt_cursor at = sxt_elf_cursor(elf, &bytes);
    if (sxt_cursor_u16(&at) != 5 || sxt_cursor_u8(&at) != is_supplementary)
        return false;
    link->path = sxt_cursor_cstring(&at);
    link->id_size = (size_t)sxt_cursor_uleb128(&at);
    link->id = sxt_cursor_bytes(&at, link->id_size);
    return !at.failed;
}

/* .gnu_debugaltlink is a NUL-terminated path and the build ID of the file. */
static bool read_gnu_link(struct sxt_elf *elf, const struct sxt_elf_section *section, struct dwarf_link *link)
{
    struct sxt_elf_bytes bytes;
    if (sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
        return false;
    struct sxt_cursor at = sxt_elf_cursor(elf, &bytes);
    link->path = sxt_cursor_cstring(&at);
    link->id_size = sxt_cursor_left(&at);
    link->id = sxt_cursor_bytes(&at, link->id_size);
    return !at.failed;
}

bool sxt_dwarf_alternate_link(struct sxt_elf *elf, struct dwarf_link *link)
{
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".gnu_debugaltlink");
    bool found = section != NULL ? read_gnu_link(elf, section, link) : sxt_dwarf_supplementary(elf, false, link);
    return found && link->path.size > 0 && link->path.size < PATH_MAX;
}

/*
 * Adds the places of a link below the debug directory. A link into the default directory of this system leads to the
 * same place in DIRECTORY, whether that takes its place or contains a copy of a whole file system.
 */
static void add_below(const struct dwarf_link *link, const char *directory, struct sxt_arena *arena,
                      struct dwarf_paths *paths)
{
    const char *path = link->path.data;
    size_t length = strlen(SXT_DEBUG_DIRECTORY);
    if (strncmp(path, SXT_DEBUG_DIRECTORY "/", length + 1) == 0)
        add(paths, arena, "%s%s", directory, path + length);
    if (path[0] == '/' && strcmp(directory, SXT_DEBUG_DIRECTORY) != 0)
        add(paths, arena, "%s%s", directory, path);
    if (link->id_size >= 2 && link->id_size <= DWARF_ID_MAX) {
        char hex[SXT_HEX_ROOM(DWARF_ID_MAX)];
        sxt_hex_encode(hex, link->id, link->id_size);
        add(paths, arena, "%s/.build-id/%.2s/%s.debug", directory, hex, hex + 2);
    }
    /* dwz files are in a directory of this name; the link may lead to it from elsewhere. */
    const char *inside = strstr(path, ".dwz/");
    if (inside != NULL && (inside == path || inside[-1] == '/'))
        add(paths, arena, "%s/%s", directory, inside);
    add(paths, arena, "%s/.dwz/%s", directory, last_component(path));
}

void sxt_dwarf_alternate_paths(const struct sxt_dwarf *dwarf, const struct dwarf_link *link, struct sxt_arena *arena,
                               struct dwarf_paths *paths)
{
    const char *directory = dwarf->settings.options->debug_directory;
    char folder[PATH_MAX];
    paths->count = 0;
    bool is_absolute = link->path.data[0] == '/';
    if (!is_absolute && folder_of(dwarf, folder))
        add(paths, arena, "%s/%s", folder, link->path.data);
    /* A directory that the caller gave comes before this system's. */
    if (directory != NULL)
        add_below(link, directory, arena, paths);
    if (is_absolute || paths->count == 0)
        add(paths, arena, "%s", link->path.data);
    if (directory == NULL)
        add_below(link, SXT_DEBUG_DIRECTORY, arena, paths);
}

static bool has_content_of(const char *path, const struct sxt_file *file, uint64_t inflate_limit)
{
    struct stat status;
    struct sxt_file other;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || sxt_file_open(&other, path, NULL) != SXT_OK)
        return false;
    bool same = sxt_file_inflate(&other, inflate_limit, NULL) == SXT_OK && other.size == file->size &&
                memcmp(other.data, file->data, file->size < COMPARE_MAX ? file->size : COMPARE_MAX) == 0;
    sxt_file_close(&other);
    return same;
}

sxt_string sxt_dwarf_external_path(const struct dwarf_external *external, const struct dwarf_paths *paths,
                                   uint64_t inflate_limit)
{
    for (size_t i = 0; i < paths->count; i++)
        if (has_content_of(paths->list[i].data, &external->file, inflate_limit))
            return paths->list[i];
    return (sxt_string){NULL, 0};
}
