/*
 * directory.c: a store in a directory. An object is a file with mode 0600 whose path below the directory is its key.
 *
 *     DIR/.tmp/NAME      an object that is being written
 *     DIR/word/word      an object
 *
 * An object is synced, then renamed to its key, then its folder is synced, and every folder that may be new. A process
 * that is killed leaves a file in .tmp and perhaps empty folders, which listings do not show. Folders are removed with
 * their last object; a writer whose folder was removed under its hands makes it again.
 */
#include "store/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "store/key.h"
#include "store/temporary.h"

#define ATTEMPTS_MAX 1000

static const struct sxt_store_backend backend;

static int open_root(struct sxt_directory *directory, const char *place, sxt_error *error)
{
    if (mkdir(place, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
        return sxt_store_fail_errno(error, errno, "create the store", place);
    directory->root = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory->root < 0)
        return sxt_store_fail_errno(error, errno, "open the store", place);
    directory->path = realpath(place, NULL);
    if (directory->path == NULL)
        return sxt_store_fail_errno(error, errno, "open the store", place);
    return SXT_OK;
}

int sxt_directory_open(const char *place, struct sxt_store **out, sxt_error *error)
{
    struct sxt_directory *directory = calloc(1, sizeof *directory);
    if (directory == NULL)
        return sxt_fail_memory(error, sizeof *directory);
    directory->store.backend = &backend;
    directory->root = -1;
    int status = open_root(directory, place, error);
    *out = &directory->store;
    if (status != SXT_OK)
        sxt_store_close(out);
    return status;
}

static void close_directory(struct sxt_store *store)
{
    struct sxt_directory *directory = (struct sxt_directory *)store;
    if (directory->root >= 0)
        close(directory->root);
    free(directory->path);
    free(directory);
}

static int check_directory(struct sxt_store *store, sxt_error *error)
{
    struct sxt_directory *directory = (struct sxt_directory *)store;
    struct stat root;
    struct statvfs space;
    if (fstat(directory->root, &root) != 0 || fstatvfs(directory->root, &space) != 0)
        return sxt_store_fail_errno(error, errno, "use the store", directory->path);
    if (root.st_nlink == 0)
        return sxt_store_fail_errno(error, ENOENT, "use the store", directory->path);
    if (faccessat(directory->root, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        return sxt_store_fail_errno(error, errno, "write to the store", directory->path);
    if (space.f_bavail == 0 && space.f_blocks > 0)
        return sxt_store_fail_errno(error, ENOSPC, "write to the store", directory->path);
    return SXT_OK;
}

/* --- paths --- */

/* For kernels and sandboxes without openat2: opens one folder after another. */
static int open_by_steps(int root, const char *path, int flags)
{
    int folder = root;
    const char *slash;
    while ((slash = strchr(path, '/')) != NULL && slash[1] != 0) {
        char word[SXT_KEY_WORD_MAX + 1];
        snprintf(word, sizeof word, "%.*s", (int)(slash - path), path);
        int next = openat(folder, word, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int reason = errno;
        if (folder != root)
            close(folder);
        errno = reason;
        if (next < 0)
            return -1;
        folder = next;
        path = slash + 1;
    }
    int file = openat(folder, *path != 0 ? path : ".", flags | O_NOFOLLOW | O_CLOEXEC);
    int reason = errno;
    if (folder != root)
        close(folder);
    errno = reason;
    return file;
}

int sxt_directory_open_below(int root, const char *path, int flags)
{
    struct open_how how = {
        .flags = (uint64_t)(flags | O_NOFOLLOW | O_CLOEXEC),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    /* EAGAIN: something was renamed at the same time. */
    long file;
    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        file = syscall(SYS_openat2, root, *path != 0 ? path : ".", &how, sizeof how);
        if (file >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    if (file < 0 && (errno == ENOSYS || errno == EPERM))
        return open_by_steps(root, path, flags);
    return (int)file;
}

/* --- writing --- */

static int temporary(struct sxt_store *store, struct sxt_store_writing *writing, sxt_error *error)
{
    struct sxt_directory *directory = (struct sxt_directory *)store;
    return sxt_temporary_make(directory->root, directory->path, writing, error);
}

/* Some file systems cannot sync a folder; they have no other way to make it durable either. */
static bool sync_folder(int folder)
{
    return fsync(folder) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP;
}

/* A new folder may have the inode of one that was removed; their times of birth differ. */
static uint64_t hash_folder(const struct statx *folder)
{
    const uint64_t parts[] = {folder->stx_ino, ((uint64_t)folder->stx_dev_major << 32) | folder->stx_dev_minor,
                              (uint64_t)folder->stx_btime.tv_sec, folder->stx_btime.tv_nsec};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = (hash ^ parts[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash | 1;
}

/* Another process may have made FOLDER a moment ago and not have synced PARENT yet, so EEXIST is not enough to know. */
static bool make_durable(struct sxt_directory *directory, int parent, int folder)
{
    struct statx attributes = {0};
    if (statx(folder, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &attributes) != 0)
        return false;
    uint64_t hash = hash_folder(&attributes);
    _Atomic uint64_t *slot = &directory->known[hash / 2 % SXT_DIRECTORY_KNOWN];
    if (*slot == hash)
        return true;
    if (!sync_folder(parent))
        return false;
    *slot = hash;
    return true;
}

/* Opens WORD in PARENT, and makes it if it is missing. Returns -1 with errno. */
static int enter(struct sxt_directory *directory, int parent, const char *word)
{
    int folder = -1;
    for (int attempt = 0; folder < 0 && attempt < ATTEMPTS_MAX; attempt++) {
        if (mkdirat(parent, word, 0700) != 0 && errno != EEXIST)
            return -1;
        folder = openat(parent, word, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0 && errno != ENOENT)
            return -1;
    }
    if (folder >= 0 && !make_durable(directory, parent, folder)) {
        int reason = errno;
        close(folder);
        errno = reason;
        return -1;
    }
    return folder;
}

/* Opens the folder of KEY, and makes it if it is missing. Returns -1 with errno. *NAME is the last word. */
static int enter_parent(struct sxt_directory *directory, const char *key, const char **name)
{
    int folder = fcntl(directory->root, F_DUPFD_CLOEXEC, 0);
    const char *slash;
    while (folder >= 0 && (slash = strchr(key, '/')) != NULL) {
        char word[SXT_KEY_WORD_MAX + 1];
        snprintf(word, sizeof word, "%.*s", (int)(slash - key), key);
        int next = enter(directory, folder, word);
        int reason = errno;
        close(folder);
        errno = reason;
        folder = next;
        key = slash + 1;
    }
    *name = key;
    return folder;
}

/* Returns 0 or an errno. ENOENT: the folder was removed at the same time. */
static int rename_to(struct sxt_directory *directory, struct sxt_store_writing *writing, const char *key)
{
    const char *name;
    int folder = enter_parent(directory, key, &name);
    if (folder < 0)
        return errno;
    int reason = 0;
    if (renameat(writing->folder, writing->name, folder, name) != 0 || !sync_folder(folder))
        reason = errno;
    close(folder);
    return reason;
}

static int commit(struct sxt_store *store, struct sxt_store_writing *writing, const char *key, sxt_error *error)
{
    if (fsync(writing->descriptor) != 0)
        return sxt_store_fail_errno(error, errno, "write", key);
    struct sxt_directory *directory = (struct sxt_directory *)store;
    int reason = ENOENT;
    struct stat file;
    for (int attempt = 0; reason == ENOENT && attempt < ATTEMPTS_MAX; attempt++) {
        reason = rename_to(directory, writing, key);
        if (reason == ENOENT && fstatat(writing->folder, writing->name, &file, AT_SYMLINK_NOFOLLOW) != 0)
            return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "cannot write '%.140s': its temporary file was removed",
                            key);
    }
    return reason == 0 ? SXT_OK : sxt_store_fail_errno(error, reason, "write", key);
}

static int put(struct sxt_store *store, const char *key, const void *data, size_t size, sxt_error *error)
{
    struct sxt_store_writing writing;
    int status = temporary(store, &writing, error);
    if (status != SXT_OK)
        return status;
    writing.store = store;
    status = sxt_store_write(&writing, data, size, error);
    if (status == SXT_OK)
        status = commit(store, &writing, key, error);
    sxt_temporary_remove(&writing);
    return status;
}

/* Removes folders of KEY that are empty, from the innermost on. */
static void remove_empty_folders(int root, const char *key)
{
    char path[SXT_KEY_MAX + 1];
    snprintf(path, sizeof path, "%s", key);
    char *slash;
    while ((slash = strrchr(path, '/')) != NULL) {
        *slash = 0;
        char *name = strrchr(path, '/');
        char empty[] = "";
        if (name != NULL)
            *name++ = 0;
        int parent = sxt_directory_open_below(root, name != NULL ? path : empty, O_PATH | O_DIRECTORY);
        bool removed = parent >= 0 && unlinkat(parent, name != NULL ? name : path, AT_REMOVEDIR) == 0;
        if (parent >= 0)
            close(parent);
        if (!removed || name == NULL)
            return;
        name[-1] = '/';
    }
}

static int remove_object(struct sxt_store *store, const char *key, sxt_error *error)
{
    struct sxt_directory *directory = (struct sxt_directory *)store;
    char path[SXT_KEY_MAX + 1];
    snprintf(path, sizeof path, "%s", key);
    char *name = strrchr(path, '/');
    if (name != NULL)
        *name++ = 0;
    int parent = sxt_directory_open_below(directory->root, name != NULL ? path : "", O_PATH | O_DIRECTORY);
    int reason = 0;
    struct stat found;
    if (parent < 0 || unlinkat(parent, name != NULL ? name : path, 0) != 0)
        reason = errno;
    /* A folder is not an object, and POSIX allows two errors for it. */
    if ((reason == EISDIR || reason == EPERM) &&
        fstatat(parent, name != NULL ? name : path, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode))
        reason = ENOENT;
    if (parent >= 0)
        close(parent);
    if (reason != 0 && reason != ENOENT && reason != ENOTDIR)
        return sxt_store_fail_errno(error, reason, "remove", key);
    if (reason == 0)
        remove_empty_folders(directory->root, key);
    return SXT_OK;
}

static int sweep(struct sxt_store *store, uint64_t age_seconds, uint64_t *bytes, sxt_error *error)
{
    return sxt_temporary_sweep(((struct sxt_directory *)store)->root, age_seconds, bytes, error);
}

/* --- reading --- */

static int fail_to_open(sxt_error *error, int reason, const char *key)
{
    if (reason == ENOENT || reason == ENOTDIR)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no object named '%s'", key);
    if (reason == ELOOP || reason == EXDEV)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "cannot open '%.140s': a symbolic link is in its path",
                        key);
    return sxt_store_fail_errno(error, reason, "open", key);
}

static int open_object(struct sxt_store *store, const char *key, struct sxt_store_object **out, sxt_error *error)
{
    struct sxt_directory *directory = (struct sxt_directory *)store;
    int file = sxt_directory_open_below(directory->root, key, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return fail_to_open(error, errno, key);
    struct stat attributes;
    int reason = fstat(file, &attributes) != 0 ? errno : 0;
    if (reason == 0 && !S_ISREG(attributes.st_mode))
        reason = S_ISDIR(attributes.st_mode) ? ENOENT : EINVAL;
    struct sxt_store_object *object = reason == 0 ? malloc(sizeof *object) : NULL;
    if (object == NULL) {
        close(file);
        return reason != 0 ? fail_to_open(error, reason, key) : sxt_fail_memory(error, sizeof *object);
    }
    *object = (struct sxt_store_object){.store = store, .size = (uint64_t)attributes.st_size, .descriptor = file};
    *out = object;
    return SXT_OK;
}

static void close_object(struct sxt_store_object *object)
{
    close(object->descriptor);
    free(object);
}

static int read_range(int file, const struct sxt_store_range *range, sxt_error *error)
{
    for (size_t done = 0; done < range->size;) {
        ssize_t count = pread(file, (char *)range->to + done, range->size - done, (off_t)(range->offset + done));
        if (count < 0 && errno != EINTR)
            return sxt_fail_errno(error, errno, "cannot read the object");
        if (count == 0)
            return sxt_fail(error, SXT_ERROR_IO, range->offset + done, "the object is cut off");
        if (count > 0)
            done += (size_t)count;
    }
    return SXT_OK;
}

static int read_object(struct sxt_store_object *object, const struct sxt_store_range *ranges, size_t count,
                       sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = 0; i < count && status == SXT_OK; i++)
        status = read_range(object->descriptor, &ranges[i], error);
    return status;
}

static int map(struct sxt_store_object *object, struct sxt_file *file, sxt_error *error)
{
    return sxt_file_open_fd(file, object->descriptor, error);
}

static const struct sxt_store_backend backend = {
    .close = close_directory,
    .check = check_directory,
    .temporary = temporary,
    .put = put,
    .commit = commit,
    .remove = remove_object,
    .sweep = sweep,
    .open_object = open_object,
    .close_object = close_object,
    .read = read_object,
    .map = map,
    .list = sxt_directory_list,
};
