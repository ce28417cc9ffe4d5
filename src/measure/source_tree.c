/*
 * source_tree.c: the directory of the sources: which paths are below it, and which revision of git is checked out.
 *
 * A path in DWARF has the directory as the compiler saw it: with or without symbolic links. So the directory is known
 * in several forms: as it was given, from the directory that the shell says it is in, and without links.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/string.h"
#include "measure/private.h"

static bool add_form(struct measure_source_tree *tree, const char *base, const char *path);

int sxt_measure_open_source_tree(struct measure_maker *maker, sxt_error *error)
{
    struct measure_source_tree *tree = &maker->sources;
    const char *given = maker->options->source_directory, *shell = getenv("PWD");
    char real[PATH_MAX], here[PATH_MAX];
    struct stat of_given, of_shell, of_here;
    sxt_buffer_init(&tree->text, (size_t)1 << 20);
    if (given == NULL)
        return SXT_OK;
    bool is_absolute = given[0] == '/', is_there = realpath(given, real) != NULL && stat(real, &of_given) == 0;
    /* Sources need not be on this machine: their paths can still be made relative. */
    if (!is_there && !is_absolute)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "cannot open the source directory: %s", strerror(errno));
    if (is_there && !S_ISDIR(of_given.st_mode))
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "not a directory");
    bool fine = true;
    if (is_absolute)
        fine = add_form(tree, "", given);
    else if (shell != NULL && shell[0] == '/' && stat(shell, &of_shell) == 0 && stat(".", &of_here) == 0 &&
             of_shell.st_dev == of_here.st_dev && of_shell.st_ino == of_here.st_ino)
        fine = add_form(tree, shell, given);
    if (fine && !is_absolute && getcwd(here, sizeof here) != NULL)
        fine = add_form(tree, here, given);
    if (fine && is_there)
        fine = add_form(tree, "", real);
    return fine ? SXT_OK : sxt_fail_memory(error, PATH_MAX);
}

void sxt_measure_close_source_tree(struct measure_source_tree *tree)
{
    for (size_t i = 0; i < tree->form_count; i++)
        free(tree->forms[i]);
    sxt_buffer_free(&tree->text);
}

/* Appends PATH, which is absolute, without empty, "." and ".." parts. The root is "". */
static void put_plain(struct sxt_buffer *out, sxt_string path)
{
    size_t begin = out->size;
    for (size_t at = 0; at < path.size && !out->failed;) {
        const char *slash = memchr(path.data + at, '/', path.size - at);
        size_t end = slash != NULL ? (size_t)(slash - path.data) : path.size;
        sxt_string part = {path.data + at, end - at};
        if (sxt_string_is(part, "..")) {
            while (out->size > begin && out->data[out->size - 1] != '/')
                out->size--;
            out->size -= out->size > begin;
        } else if (part.size > 0 && !sxt_string_is(part, ".")) {
            sxt_buffer_u8(out, '/');
            sxt_buffer_append(out, part.data, part.size);
        }
        at = end + 1;
    }
}

static bool add_form(struct measure_source_tree *tree, const char *base, const char *path)
{
    struct sxt_buffer whole;
    sxt_buffer_init(&whole, (size_t)1 << 20);
    sxt_buffer_print(&whole, "%s/%s", base, path);
    sxt_buffer_clear(&tree->text);
    put_plain(&tree->text, (sxt_string){(const char *)whole.data, whole.size});
    sxt_buffer_u8(&tree->text, 0);
    bool fine = !whole.failed && !tree->text.failed;
    char *form = fine ? strdup((const char *)tree->text.data) : NULL;
    if (form != NULL)
        tree->forms[tree->form_count++] = form;
    sxt_buffer_free(&whole);
    return form != NULL;
}

static bool is_plain(sxt_string path)
{
    return memmem(path.data, path.size, "/.", 2) == NULL && memmem(path.data, path.size, "//", 2) == NULL;
}

sxt_string sxt_measure_below_source(struct measure_source_tree *tree, sxt_string path)
{
    sxt_string plain = path;
    if (tree->form_count == 0 || path.size == 0 || path.data[0] != '/')
        return path;
    if (!is_plain(path)) {
        sxt_buffer_clear(&tree->text);
        put_plain(&tree->text, path);
        plain = (sxt_string){(const char *)tree->text.data, tree->text.size};
    }
    for (size_t i = 0; i < tree->form_count; i++) {
        size_t size = strlen(tree->forms[i]);
        if (plain.size > size + 1 && memcmp(plain.data, tree->forms[i], size) == 0 && plain.data[size] == '/')
            return (sxt_string){plain.data + size + 1, plain.size - size - 1};
    }
    return path;
}

/* --- git --- */

/* The first line of a file, without its end; "" when there is none. */
static void read_line(const char *folder, const char *name, char *out, size_t capacity)
{
    char path[PATH_MAX];
    *out = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(out, (int)capacity, file) == NULL)
        *out = 0;
    out[strcspn(out, "\r\n")] = 0;
    fclose(file);
}

/* The line of packed-refs that ends in the name of the branch. */
static void read_packed(const char *folder, const char *branch, char *out, size_t capacity)
{
    char path[PATH_MAX], line[1024];
    *out = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/packed-refs", folder) >= sizeof path)
        return;
    FILE *file = fopen(path, "re");
    while (file != NULL && *out == 0 && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\r\n")] = 0;
        char *space = strchr(line, ' ');
        if (space != NULL && strcmp(space + 1, branch) == 0)
            snprintf(out, capacity, "%.*s", (int)(space - line < 64 ? space - line : 64), line);
    }
    if (file != NULL)
        fclose(file);
}

/* FOLDER/NAME if NAME is relative. */
static bool resolve(const char *folder, const char *name, char *out, size_t capacity)
{
    return (size_t)snprintf(out, capacity, "%s%s%s", name[0] == '/' ? "" : folder, name[0] == '/' ? "" : "/", name) <
           capacity;
}

/* Finds the folder of git of the nearest directory that has one: DIRECTORY, or one above it. */
static bool find_git(const char *directory, char *out, size_t capacity)
{
    char at[PATH_MAX], line[PATH_MAX];
    struct stat of_git;
    if (realpath(directory, at) == NULL)
        return false;
    for (;;) {
        if ((size_t)snprintf(out, capacity, "%s/.git", at) >= capacity)
            return false;
        if (stat(out, &of_git) == 0 && S_ISDIR(of_git.st_mode))
            return true;
        /* A working tree has a file that names the folder: "gitdir: PATH". */
        read_line(at, ".git", line, sizeof line);
        if (strncmp(line, "gitdir: ", 8) == 0)
            return resolve(at, line + 8, out, capacity);
        char *slash = strrchr(at, '/');
        if (slash == NULL || at[1] == 0)
            return false;
        slash[slash == at] = 0;
    }
}

void sxt_measure_find_revision(const char *directory, char *out, size_t capacity)
{
    char git[PATH_MAX], shared[PATH_MAX], head[1024], line[PATH_MAX];
    *out = 0;
    if (!find_git(directory, git, sizeof git))
        return;
    read_line(git, "HEAD", head, sizeof head);
    /* Branches of a working tree are in the folder of the repository. */
    read_line(git, "commondir", line, sizeof line);
    if (*line == 0 || !resolve(git, line, shared, sizeof shared))
        snprintf(shared, sizeof shared, "%s", git);
    if (strncmp(head, "ref: ", 5) != 0) {
        snprintf(out, capacity, "%.64s", head);
    } else if (strstr(head, "..") == NULL) {
        read_line(git, head + 5, out, capacity);
        if (*out == 0)
            read_line(shared, head + 5, out, capacity);
        if (*out == 0)
            read_packed(shared, head + 5, out, capacity);
    }
    if (strspn(out, "0123456789abcdef") != strlen(out))
        *out = 0;
}
