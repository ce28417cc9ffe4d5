/* live_find.c: which running recordings a name means: a trace, a spool, a folder, or a process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "trace/live.h"

#define SUFFIX      ".part"
#define SPOOLS_MOST 100 /* beside one trace */

void sxt_live_paths_free(struct sxt_live_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->list[i]);
    free(paths->list);
    *paths = (struct sxt_live_paths){0};
}

static bool add_path(struct sxt_live_paths *paths, const char *path)
{
    char **moved = sxt_array_grow(paths->list, &paths->capacity, paths->count + 1, sizeof *moved);
    if (moved == NULL)
        return false;
    paths->list = moved;
    paths->list[paths->count] = strdup(path);
    return paths->list[paths->count++] != NULL;
}

/* Reads the first page of a spool. False if PATH is not one. */
static bool read_head(const char *path, uint8_t head[SXT_SPOOL_HEAD_SIZE], struct stat *status)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_good = fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode) &&
                   pread(fd, head, SXT_SPOOL_HEAD_SIZE, 0) == SXT_SPOOL_HEAD_SIZE &&
                   sxt_spool_is(head, SXT_SPOOL_HEAD_SIZE);
    if (fd >= 0)
        close(fd);
    return is_good;
}

static bool is_spool(const char *path, bool *is_growing)
{
    uint8_t head[SXT_SPOOL_HEAD_SIZE];
    struct stat status;
    bool is_one = read_head(path, head, &status);
    *is_growing = is_one && sxt_spool_is_growing(head);
    return is_one;
}

/* The path of the trace that the spool at PATH becomes. */
static char *trace_of(const char *path)
{
    size_t size = strlen(path), end = size;
    while (end > 0 && path[end - 1] >= '0' && path[end - 1] <= '9')
        end--;
    size_t suffix = strlen(SUFFIX);
    bool has_suffix = end > suffix && memcmp(path + end - suffix, SUFFIX, suffix) == 0;
    return strndup(path, has_suffix ? end - suffix : size);
}

/* --- a folder --- */

/* An open spool has several names: only one counts. */
struct seen {
    dev_t device;
    ino_t inode;
};

static bool is_seen(const struct seen *seen, size_t count, const struct stat *status)
{
    for (size_t i = 0; i < count; i++)
        if (seen[i].device == status->st_dev && seen[i].inode == status->st_ino)
            return true;
    return false;
}

int sxt_live_find_in_folder(const char *folder, struct sxt_live_paths *paths, sxt_error *error)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort), status = SXT_OK;
    if (count < 0)
        return sxt_fail_errno(error, errno, "cannot read the folder");
    struct seen *seen = calloc((size_t)count + 1, sizeof *seen);
    size_t seen_count = 0;
    for (int i = 0; i < count; i++) {
        uint8_t head[SXT_SPOOL_HEAD_SIZE];
        char path[PATH_MAX];
        struct stat of;
        bool is_name = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name) < PATH_MAX;
        if (is_name && seen != NULL && read_head(path, head, &of) && sxt_spool_is_growing(head) &&
            !is_seen(seen, seen_count, &of)) {
            seen[seen_count++] = (struct seen){of.st_dev, of.st_ino};
            if (!add_path(paths, path))
                status = sxt_fail_memory(error, sizeof path);
        }
        free(entries[i]);
    }
    free(entries);
    bool is_short = seen == NULL;
    free(seen);
    return is_short ? sxt_fail_memory(error, (size_t)count * sizeof *seen) : status;
}

/* --- a process --- */

static uint32_t parent_of(uint32_t pid)
{
    char path[64];
    struct sxt_file file;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return 0;
    const char *end = file.size > 0 ? memrchr(file.data, ')', file.size) : NULL;
    unsigned parent = 0;
    char text[64] = "";
    if (end != NULL) {
        size_t left = file.size - (size_t)(end - (const char *)file.data);
        memcpy(text, end, left < sizeof text - 1 ? left : sizeof text - 1);
        if (sscanf(text, ") %*c %u", &parent) != 1)
            parent = 0;
    }
    sxt_file_close(&file);
    return parent;
}

/* How well the spool at PATH fits to a process: 2 it is its own, 1 that of its child (it is `record`), 0 not at all. */
static int judge(const char *path, uint32_t pid)
{
    uint8_t head[SXT_SPOOL_HEAD_SIZE];
    struct stat status;
    if (!read_head(path, head, &status))
        return 0;
    uint32_t own = sxt_spool_read_control(head).pid;
    return own == pid ? 2 : own != 0 && sxt_spool_is_growing(head) && parent_of(own) == pid ? 1 : 0;
}

/* PATH as the process names it; it may have another root. */
static void consider(const char *path, uint32_t pid, char best[PATH_MAX], int *value)
{
    char other[PATH_MAX];
    const char *candidates[] = {path, other};
    if (path[0] != '/' || snprintf(other, sizeof other, "/proc/%u/root%s", pid, path) >= PATH_MAX)
        return;
    for (size_t i = 0; i < 2; i++) {
        int here = judge(candidates[i], pid);
        if (here > *value) {
            *value = here;
            snprintf(best, PATH_MAX, "%s", candidates[i]);
        }
    }
}

/* Files that it has mapped for others to see. */
static void search_maps(const struct sxt_file *maps, uint32_t pid, char best[PATH_MAX], int *value)
{
    char last[PATH_MAX] = "";
    const char *at = (const char *)maps->data, *end = at + maps->size;
    while (at < end && *value < 2) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        const char *slash = memchr(at, '/', (size_t)(line_end - at));
        const char *blank = memchr(at, ' ', (size_t)(line_end - at));
        size_t size = slash != NULL ? (size_t)(line_end - slash) : 0;
        bool is_shared = blank != NULL && line_end - blank > 4 && blank[4] == 's';
        if (is_shared && size > 0 && size < sizeof last && (strlen(last) != size || memcmp(last, slash, size) != 0)) {
            memcpy(last, slash, size);
            last[size] = 0;
            consider(last, pid, best, value);
        }
        at = line_end + 1;
    }
}

/* A process that has not allocated yet has mapped nothing. */
static void search_environment(uint32_t pid, char best[PATH_MAX], int *value)
{
    static const char key[] = "SEXTANT_RECORD=";
    char path[64];
    struct sxt_file file;
    snprintf(path, sizeof path, "/proc/%u/environ", pid);
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return;
    const char *at = (const char *)file.data, *end = at + file.size;
    while (at < end) {
        size_t size = strnlen(at, (size_t)(end - at));
        if (size > strlen(key) && size < PATH_MAX && memcmp(at, key, strlen(key)) == 0) {
            char found[PATH_MAX];
            memcpy(found, at + strlen(key), size - strlen(key));
            found[size - strlen(key)] = 0;
            consider(found, pid, best, value);
        }
        at += size + 1;
    }
    sxt_file_close(&file);
}

static int find_process(uint32_t pid, struct sxt_live_paths *paths, sxt_error *error)
{
    char path[64], best[PATH_MAX] = "";
    struct sxt_file maps;
    int value = 0;
    snprintf(path, sizeof path, "/proc/%u", pid);
    if (access(path, F_OK) != 0)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no process has this ID");
    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    int status = sxt_file_open(&maps, path, error);
    if (status != SXT_OK)
        return sxt_fail(error, status, SXT_NO_OFFSET,
                        "the memory map of the process cannot be read: it belongs to another user");
    search_maps(&maps, pid, best, &value);
    sxt_file_close(&maps);
    if (value < 2)
        search_environment(pid, best, &value);
    if (value == 0)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET,
                        "the process is not recorded: start it with 'sextant record'");
    return add_path(paths, best) ? SXT_OK : sxt_fail_memory(error, sizeof best);
}

/* --- a name --- */

static bool is_number(const char *name, uint32_t *number)
{
    char *end;
    if (name[0] < '1' || name[0] > '9')
        return false;
    errno = 0;
    unsigned long value = strtoul(name, &end, 10);
    *number = (uint32_t)value;
    return errno == 0 && *end == 0 && value <= INT_MAX;
}

/* The newest recording that runs and becomes the trace at NAME. */
static bool find_beside(const char *name, char path[PATH_MAX])
{
    bool is_found = false, is_growing;
    for (unsigned number = 1; number <= SPOOLS_MOST; number++) {
        char candidate[PATH_MAX];
        int size = number > 1 ? snprintf(candidate, sizeof candidate, "%s" SUFFIX "%u", name, number)
                              : snprintf(candidate, sizeof candidate, "%s" SUFFIX, name);
        if (size >= PATH_MAX || !is_spool(candidate, &is_growing))
            break;
        if (is_growing) {
            memcpy(path, candidate, sizeof candidate);
            is_found = true;
        }
    }
    return is_found;
}

static int find_file(const char *name, struct sxt_live_paths *paths, sxt_error *error)
{
    struct stat status;
    char path[PATH_MAX];
    bool is_growing, is_there = stat(name, &status) == 0;
    bool is_recording = is_there && is_spool(name, &is_growing);
    if (is_recording && is_growing)
        return add_path(paths, name) ? SXT_OK : sxt_fail_memory(error, strlen(name));
    if (find_beside(name, path))
        return add_path(paths, path) ? SXT_OK : sxt_fail_memory(error, sizeof path);
    if (is_recording)
        return add_path(paths, name) ? SXT_OK : sxt_fail_memory(error, strlen(name));
    if (!is_there)
        return sxt_fail_errno(error, errno, "cannot be opened");
    struct sxt_file file;
    int result = sxt_file_open(&file, name, error);
    if (result != SXT_OK)
        return result;
    bool is_trace = sxt_mlyze_is(file.data, file.size);
    sxt_file_close(&file);
    return is_trace ? sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "the recording has ended")
                    : sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "not a heap trace (.mlyze)");
}

int sxt_live_find(const char *name, struct sxt_live_paths *paths, char **trace, bool *is_folder, sxt_error *error)
{
    struct stat status;
    uint32_t pid;
    *trace = NULL;
    *is_folder = stat(name, &status) == 0 && S_ISDIR(status.st_mode);
    if (*is_folder)
        return sxt_live_find_in_folder(name, paths, error);
    int result = is_number(name, &pid) ? find_process(pid, paths, error) : find_file(name, paths, error);
    if (result == SXT_OK && (*trace = trace_of(paths->list[0])) == NULL)
        result = sxt_fail_memory(error, strlen(paths->list[0]));
    return result;
}
