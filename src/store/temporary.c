/* temporary.c: makes, removes and sweeps files that are being written. */
#include "store/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define ATTEMPTS_MAX 100
#define NAME_SIZE    24 /* 16 digits, with room to spare */

int sxt_store_fail_errno(sxt_error *error, int errno_value, const char *what, const char *key)
{
    bool full = errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG;
    const char *mark = key != NULL ? "'" : "";
    const char *space = key != NULL ? " " : "";
    sxt_error described;
    int status = sxt_fail_errno(&described, errno_value, "cannot %s%s%s%.140s%s", what, space, mark,
                                key != NULL ? key : "", mark);
    if (full)
        status = described.code = SXT_ERROR_LIMIT;
    if (error != NULL)
        *error = described;
    return status;
}

/* The folder is opened anew each time: it may have been removed and made again. Returns -1 with errno. */
static int open_folder(int root, bool make)
{
    for (int attempt = 0;; attempt++) {
        int folder = openat(root, SXT_TEMPORARY_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder >= 0 || errno != ENOENT || !make || attempt == ATTEMPTS_MAX)
            return folder;
        if (mkdirat(root, SXT_TEMPORARY_FOLDER, 0700) != 0 && errno != EEXIST)
            return -1;
    }
}

static bool choose_name(char name[NAME_SIZE])
{
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(name, NAME_SIZE, "%016" PRIx64, random);
    return true;
}

/* Returns the descriptor of a file that is new and locked, or -1 with errno. */
static int make_file(int folder, char name[NAME_SIZE])
{
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        if (!choose_name(name))
            return -1;
        int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file < 0 && errno == EEXIST)
            continue;
        /* Best effort: not every file system has locks, and the age protects the file too. */
        if (file >= 0)
            (void)flock(file, LOCK_SH | LOCK_NB);
        return file;
    }
    return -1;
}

int sxt_temporary_make(int root, const char *path, struct sxt_store_writing *writing, sxt_error *error)
{
    *writing = (struct sxt_store_writing){.descriptor = -1, .folder = -1};
    size_t size = strlen(path) + sizeof SXT_TEMPORARY_FOLDER + NAME_SIZE + 2;
    writing->path = malloc(size);
    if (writing->path == NULL)
        return sxt_fail_memory(error, size);
    char name[NAME_SIZE] = "";
    writing->folder = open_folder(root, true);
    if (writing->folder >= 0)
        writing->descriptor = make_file(writing->folder, name);
    if (writing->descriptor < 0) {
        int reason = errno;
        sxt_temporary_remove(writing);
        return sxt_store_fail_errno(error, reason, "write to the store", path);
    }
    snprintf(writing->path, size, "%s/" SXT_TEMPORARY_FOLDER "/%s", path, name);
    writing->name = strrchr(writing->path, '/') + 1;
    return SXT_OK;
}

void sxt_temporary_remove(struct sxt_store_writing *writing)
{
    if (writing->folder >= 0 && writing->name != NULL)
        unlinkat(writing->folder, writing->name, 0);
    if (writing->descriptor >= 0)
        close(writing->descriptor);
    if (writing->folder >= 0)
        close(writing->folder);
    free(writing->path);
    *writing = (struct sxt_store_writing){.descriptor = -1, .folder = -1};
}

static bool is_old(const struct stat *file, uint64_t age_seconds, time_t now)
{
    return file->st_mtime <= now && (uint64_t)(now - file->st_mtime) >= age_seconds;
}

/* Returns the bytes that were freed. */
static uint64_t sweep_one(int folder, const char *name, uint64_t age_seconds, time_t now)
{
    struct stat found;
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode) ||
        !is_old(&found, age_seconds, now))
        return 0;
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return 0;
    bool in_use = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    bool removed = !in_use && unlinkat(folder, name, 0) == 0;
    close(file);
    return removed ? (uint64_t)found.st_blocks * 512 : 0;
}

int sxt_temporary_sweep(int root, uint64_t age_seconds, uint64_t *bytes, sxt_error *error)
{
    int folder = open_folder(root, false);
    if (folder < 0 && errno == ENOENT)
        return SXT_OK;
    DIR *names = folder >= 0 ? fdopendir(folder) : NULL;
    if (names == NULL) {
        int reason = errno;
        if (folder >= 0)
            close(folder);
        return sxt_store_fail_errno(error, reason, "read the folder of temporary files", NULL);
    }
    time_t now = time(NULL);
    struct dirent *entry;
    while ((entry = readdir(names)) != NULL)
        if (*entry->d_name != '.')
            *bytes += sweep_one(dirfd(names), entry->d_name, age_seconds, now);
    closedir(names);
    return SXT_OK;
}
