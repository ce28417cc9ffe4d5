/*
 * output.c: where an output goes (in place, or under a temporary name beside its target), and how it gets its name.
 *
 * Descriptors are kept above the three standard ones, so that a program that was started without them does not write an
 * archive to a descriptor that other code prints messages to. That also makes 0 a sign of an output that is not open.
 */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define LINKS_FOLLOWED_MAX 40
#define ATTEMPTS_MAX       100
#define SUFFIX_LENGTH      6
/* A file name has at most 255 bytes; the temporary one has a part of the final one, a few dots and the suffix. */
#define NAME_PART_MAX 200

static int open_in_place(struct sxt_output *output, const char *path, sxt_error *error);
static int open_beside(struct sxt_output *output, const char *target, const struct stat *replaced, sxt_error *error);
static int above_standard(int fd);
static char *follow_links(const char *path);
static size_t directory_length(const char *path);
static void forget(struct sxt_output *output);
static void sync_directory_of(const char *path);

static int open_output(struct sxt_output *output, const char *path, bool keeps_mode_of_link, sxt_error *error)
{
    *output = (struct sxt_output){.fd = -1};
    if (strcmp(path, "-") == 0) {
        output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        return output->fd >= 0 ? SXT_OK : sxt_fail_errno(error, errno, "cannot write to standard output");
    }

    struct stat existing, resolved;
    bool exists = stat(path, &existing) == 0;
    if (!exists && errno != ENOENT)
        return sxt_fail_errno(error, errno, "cannot create");
    if (exists && S_ISDIR(existing.st_mode))
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "is a directory");
    if (exists && !S_ISREG(existing.st_mode))
        return open_in_place(output, path, error);

    char *target = follow_links(path);
    if (target == NULL)
        return sxt_fail_errno(error, errno, "cannot create");
    /* A link of /proc/self/fd may lead to a file whose name says otherwise, for instance because it was deleted. */
    bool misleading = exists && (stat(target, &resolved) != 0 || resolved.st_dev != existing.st_dev ||
                                 resolved.st_ino != existing.st_ino);
    const struct stat *replaced = exists && (keeps_mode_of_link || existing.st_nlink == 1) ? &existing : NULL;
    int status = misleading ? open_in_place(output, path, error) : open_beside(output, target, replaced, error);
    free(target);
    return status;
}

int sxt_output_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

int sxt_output_open(struct sxt_output *output, const char *path, sxt_error *error)
{
    return open_output(output, path, true, error);
}

int sxt_output_open_over_link(struct sxt_output *output, const char *path, sxt_error *error)
{
    return open_output(output, path, false, error);
}

int sxt_output_write(struct sxt_output *output, const void *data, size_t size, sxt_error *error)
{
    if (output->fd <= 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the output is not open");
    int status = sxt_write_all(output->fd, data, size, error);
    /* Abandoned immediately: a commit by mistake must not publish a half-written file. */
    if (status != SXT_OK)
        sxt_output_abandon(output);
    else
        output->size += size;
    return status;
}

int sxt_output_commit(struct sxt_output *output, sxt_error *error)
{
    if (output->fd <= 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the output is not open");
    bool failed = output->temporary != NULL && fsync(output->fd) != 0 && errno != EINVAL && errno != ENOSYS;
    int reason = failed ? errno : 0;
    if (close(output->fd) != 0 && !failed && errno != EINTR) {
        failed = true;
        reason = errno;
    }
    output->fd = -1;
    if (failed) {
        sxt_output_abandon(output);
        return sxt_fail_errno(error, reason, "cannot write");
    }
    if (output->temporary == NULL)
        return SXT_OK;
    if (rename(output->temporary, output->path) != 0) {
        reason = errno;
        sxt_output_abandon(output);
        return sxt_fail_errno(error, reason, "cannot rename the temporary file");
    }
    sync_directory_of(output->path);
    forget(output);
    return SXT_OK;
}

void sxt_output_abandon(struct sxt_output *output)
{
    if (output->fd > 0)
        close(output->fd);
    if (output->temporary != NULL)
        unlink(output->temporary);
    forget(output);
}

int sxt_output_save(const char *path, const void *data, size_t size, sxt_error *error)
{
    struct sxt_output output;
    int status = sxt_output_open(&output, path, error);
    if (status == SXT_OK)
        status = sxt_output_write(&output, data, size, error);
    return status == SXT_OK ? sxt_output_commit(&output, error) : status;
}

int sxt_write_all(int fd, const void *data, size_t size, sxt_error *error)
{
    const uint8_t *from = data;
    while (size > 0) {
        ssize_t count = write(fd, from, size < SSIZE_MAX ? size : SSIZE_MAX);
        if (count > 0) {
            from += count;
            size -= (size_t)count;
        } else if (count < 0 && errno == EAGAIN) {
            struct pollfd wanted = {.fd = fd, .events = POLLOUT};
            poll(&wanted, 1, -1);
        } else if (count == 0 || errno != EINTR) {
            return sxt_fail_errno(error, count == 0 ? EIO : errno, "cannot write");
        }
    }
    return SXT_OK;
}

static int open_in_place(struct sxt_output *output, const char *path, sxt_error *error)
{
    int fd;
    do
        fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    output->fd = above_standard(fd);
    return output->fd >= 0 ? SXT_OK : sxt_fail_errno(error, errno, "cannot open for writing");
}

/* Fills the last SUFFIX_LENGTH characters of NAME, which ends at END, with something that is probably new. */
static void randomise_suffix(char *end, unsigned attempt)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        random = ((uint64_t)now.tv_nsec << 32) ^ ((uint64_t)now.tv_sec << 16) ^ ((uint64_t)getpid() << 8) ^ attempt;
    }
    for (unsigned i = 1; i <= SUFFIX_LENGTH; i++) {
        end[-(ptrdiff_t)i] = letters[random % (sizeof letters - 1)];
        random /= sizeof letters - 1;
    }
}

/*
 * Creates the file with a plain open rather than mkostemp, so that the kernel itself applies the umask: a process
 * cannot ask for its umask without changing it for all threads. A file that replaces another is private until it has
 * its mode.
 */
static int create_temporary(char *temporary, bool replaces)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        randomise_suffix(temporary + strlen(temporary), attempt);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, replaces ? 0600 : 0666);
        if (fd >= 0 || errno != EEXIST)
            return above_standard(fd);
    }
    return -1;
}

static int open_beside(struct sxt_output *output, const char *target, const struct stat *replaced, sxt_error *error)
{
    size_t directory = directory_length(target);
    const char *name = target + directory;
    if (*name == '\0')
        return sxt_fail_errno(error, *target == '\0' ? ENOENT : EISDIR, "cannot create");

    output->path = strdup(target);
    if (asprintf(&output->temporary, "%.*s.%.*s.XXXXXX", (int)directory, target, NAME_PART_MAX, name) < 0)
        output->temporary = NULL;
    if (output->path == NULL || output->temporary == NULL) {
        forget(output);
        return sxt_fail_memory(error, strlen(target));
    }
    output->fd = create_temporary(output->temporary, replaced != NULL);
    if (output->fd < 0) {
        int reason = errno;
        forget(output);
        return sxt_fail_errno(error, reason, "cannot create");
    }
    if (replaced != NULL && fchmod(output->fd, replaced->st_mode & 0777) != 0) {
        int reason = errno;
        sxt_output_abandon(output);
        return sxt_fail_errno(error, reason, "cannot set the mode");
    }
    return SXT_OK;
}

/* FD, or a copy of it with a number above the standard streams; keeps -1 and errno. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int reason = errno;
    close(fd);
    errno = reason;
    return copy;
}

/*
 * The name that all symbolic links at the end of PATH lead to, whether or not something is there (realpath wants it to
 * be). NULL with errno on failure.
 */
static char *follow_links(const char *path)
{
    char *current = strdup(path);
    for (unsigned links = 0; current != NULL; links++) {
        char link[PATH_MAX];
        ssize_t length = readlink(current, link, sizeof link);
        if (length < 0 && (errno == EINVAL || errno == ENOENT))
            return current;
        bool too_long = length == (ssize_t)sizeof link;
        if (length < 0 || too_long || links == LINKS_FOLLOWED_MAX) {
            int reason = length < 0 ? errno : too_long ? ENAMETOOLONG : ELOOP;
            free(current);
            errno = reason;
            return NULL;
        }
        int directory = link[0] == '/' ? 0 : (int)directory_length(current);
        char *next;
        if (asprintf(&next, "%.*s%.*s", directory, current, (int)length, link) < 0)
            next = NULL;
        free(current);
        current = next;
    }
    errno = ENOMEM;
    return NULL;
}

/* How much of PATH is its directory, with the last slash. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static void forget(struct sxt_output *output)
{
    free(output->temporary);
    free(output->path);
    output->temporary = output->path = NULL;
    output->fd = -1;
}

/* Best effort: the file has its name already, so failure is ignored. */
static void sync_directory_of(const char *path)
{
    size_t length = directory_length(path);
    char *directory = length == 0 ? strdup(".") : strndup(path, length);
    int fd = directory == NULL ? -1 : open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(directory);
}
