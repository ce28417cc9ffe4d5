/*
 * recording.c: makes a spool, which the recorder writes to.
 *
 * The spool is the file OUTPUT.part; an existing OUTPUT stays until a complete trace replaces it. If OUTPUT.part
 * exists, another process may be writing to it, or a recording was cut off. It is never touched: the next name is
 * OUTPUT.part2, and so on.
 *
 * If OUTPUT does not exist, it becomes a second name of the spool until the trace replaces it: OUTPUT can be read while
 * the program runs, and after everything was killed.
 */
#include <sextant/record.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "mlyze/spool.h"

#define SUFFIX      ".part"
#define SPOOLS_MOST 100 /* beside one output */

struct sxt_recording {
    uint8_t *head; /* of the spool, mapped */
    char *path;
    char suffix[16]; /* the path is that of the output and this */
    char *output;    /* the second name of the spool; NULL if it has none */
};

static int write_and_map(int fd, const sxt_recording_options *options, sxt_recording *recording, sxt_error *error)
{
    uint8_t head[SXT_SPOOL_HEAD_SIZE];
    uint32_t flags =
        (options->with_mappings ? SXT_SPOOL_MAPPINGS : 0u) | (options->follow_children ? SXT_SPOOL_FOLLOW : 0u);
    sxt_spool_head_init(head, options->period, flags);
    ssize_t written = pwrite(fd, head, sizeof head, 0);
    if (written != (ssize_t)sizeof head)
        return sxt_fail_errno(error, written < 0 ? errno : ENOSPC, "cannot write");
    void *mapped = mmap(NULL, sizeof head, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return sxt_fail_errno(error, errno, "cannot be mapped");
    recording->head = mapped;
    return SXT_OK;
}

void sxt_recording_options_init(sxt_recording_options *options)
{
    *options = (sxt_recording_options){.struct_size = sizeof *options};
}

/* Creates a file that did not exist. It holds what the program did, so nobody else may read it. */
static int create_file(const char *output, sxt_recording *recording)
{
    for (unsigned number = 1; number <= SPOOLS_MOST; number++) {
        snprintf(recording->suffix, sizeof recording->suffix, number > 1 ? SUFFIX "%u" : SUFFIX, number);
        free(recording->path);
        if (asprintf(&recording->path, "%s%s", output, recording->suffix) < 0) {
            recording->path = NULL;
            return -1;
        }
        int fd = open(recording->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
            fchmod(fd, 0600); /* whatever the umask */
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* An error should be found before the program has run for hours. */
static int check_output(const char *output, sxt_error *error)
{
    struct stat status;
    if (output[0] == 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the name of the trace is empty");
    if (stat(output, &status) != 0)
        return errno == ENOENT ? SXT_OK : sxt_fail_errno(error, errno, "cannot create");
    if (S_ISDIR(status.st_mode))
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "is a directory");
    if (!S_ISREG(status.st_mode))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "is not a regular file");
    return SXT_OK;
}

int sxt_recording_create(const char *output, const sxt_recording_options *given, sxt_recording **out, sxt_error *error)
{
    sxt_recording_options options;
    *out = NULL;
    sxt_recording_options_init(&options);
    int result = sxt_options_take(&options, sizeof options, given, "sxt_recording_options_init", error);
    if (result == SXT_OK)
        result = check_output(output, error);
    if (result != SXT_OK)
        return result;
    sxt_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL)
        return sxt_fail_memory(error, sizeof *recording);
    int fd = create_file(output, recording);
    if (fd < 0) {
        result = sxt_fail_errno(error, errno, "cannot create the file to record into");
    } else {
        result = write_and_map(fd, &options, recording, error);
        close(fd);
        if (result != SXT_OK)
            unlink(recording->path);
    }
    if (result == SXT_OK && link(recording->path, output) == 0)
        recording->output = strdup(output);
    if (result == SXT_OK)
        *out = recording;
    else
        sxt_recording_close(&recording);
    return result;
}

void sxt_recording_release_output(sxt_recording *recording)
{
    struct stat spool, other;
    if (recording->output != NULL && stat(recording->path, &spool) == 0 && lstat(recording->output, &other) == 0 &&
        spool.st_dev == other.st_dev && spool.st_ino == other.st_ino)
        unlink(recording->output);
}

void sxt_recording_discard(sxt_recording *recording)
{
    sxt_recording_release_output(recording);
    unlink(recording->path);
}

/* The path of the file that has what was taken out of the spool at PATH; NULL if there is none. */
static char *events_of(const char *path)
{
    struct sxt_file file;
    struct sxt_spool *spool = NULL;
    char *events = NULL;
    const char *slash = strrchr(path, '/');
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return NULL;
    sxt_string name = {NULL, 0};
    if (sxt_spool_peek(file.data, file.size, &spool, NULL) == SXT_OK)
        name = sxt_spool_events_name(spool);
    if (name.size > 0 &&
        asprintf(&events, "%.*s%.*s", slash != NULL ? (int)(slash + 1 - path) : 0, path, (int)name.size, name.data) < 0)
        events = NULL;
    sxt_spool_close(&spool);
    sxt_file_close(&file);
    return events;
}

int sxt_recording_remove_path(const char *path, sxt_error *error)
{
    char *events = events_of(path);
    int status = unlink(path) == 0 ? SXT_OK : sxt_fail_errno(error, errno, "cannot be removed");
    if (status == SXT_OK && events != NULL)
        unlink(events);
    free(events);
    return status;
}

const char *sxt_recording_path(const sxt_recording *recording)
{
    return recording->path;
}

const char *sxt_recording_suffix(const sxt_recording *recording)
{
    return recording->suffix;
}

/* The head of the spool at PATH, mapped, if a child of this recording made it; NULL otherwise. */
static uint8_t *map_child(const sxt_recording *recording, const char *path, long pid)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    void *head = MAP_FAILED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= SXT_SPOOL_HEAD_SIZE)
        head = mmap(NULL, SXT_SPOOL_HEAD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (head == MAP_FAILED)
        return NULL;
    if (sxt_spool_head_is_child(head, recording->head, (uint32_t)pid))
        return head;
    munmap(head, SXT_SPOOL_HEAD_SIZE);
    return NULL;
}

bool sxt_recording_has_child(const sxt_recording *recording, const char *path, long pid)
{
    uint8_t *head = map_child(recording, path, pid);
    if (head != NULL)
        munmap(head, SXT_SPOOL_HEAD_SIZE);
    return head != NULL;
}

bool sxt_recording_is_attached(const sxt_recording *recording, const char *path, long pid)
{
    uint8_t *head = map_child(recording, path, pid);
    bool is_attached = head != NULL && sxt_spool_head_is_attached(head);
    if (head != NULL)
        munmap(head, SXT_SPOOL_HEAD_SIZE);
    return is_attached;
}

void sxt_recording_stop_child(const sxt_recording *recording, const char *path, long pid)
{
    uint8_t *head = map_child(recording, path, pid);
    if (head == NULL)
        return;
    sxt_spool_head_stop(head);
    munmap(head, SXT_SPOOL_HEAD_SIZE);
}

bool sxt_recording_fill_in(const char *pattern, long pid, char *path, size_t size)
{
    char number[24];
    size_t digits = (size_t)snprintf(number, sizeof number, "%ld", pid), used = 0;
    for (const char *at = pattern; *at != 0; at++) {
        bool is_number = at[0] == '%' && at[1] == 'p';
        size_t more = is_number ? digits : 1;
        if (used + more >= size)
            return false;
        memcpy(path + used, is_number ? number : at, more);
        used += more;
        at += is_number;
    }
    if (used >= size)
        return false;
    path[used] = 0;
    return true;
}

static bool has_spool(const sxt_recording *recording, const char *pattern, long pid)
{
    char path[PATH_MAX];
    if (!sxt_recording_fill_in(pattern, pid, path, sizeof path))
        return false;
    size_t size = strlen(path);
    if (size + strlen(recording->suffix) >= sizeof path)
        return false;
    strcpy(path + size, recording->suffix);
    return sxt_recording_has_child(recording, path, pid);
}

static int by_number(const void *a, const void *b)
{
    long first = *(const long *)a, second = *(const long *)b;
    return first < second ? -1 : first > second;
}

/* Sorts the numbers and removes those that occur twice. Returns how many are left. */
static size_t sort_numbers(long *pids, size_t count)
{
    size_t kept = 0;
    if (count > 1)
        qsort(pids, count, sizeof *pids, by_number);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || pids[i] != pids[kept - 1])
            pids[kept++] = pids[i];
    return kept;
}

/* The process whose spool may be the file called NAME; 0 if there is none. BEFORE bytes of the name precede %p. */
static long number_in(const char *name, const char *last, size_t before)
{
    if (strncmp(name, last, before) != 0 || name[before] < '1' || name[before] > '9')
        return 0;
    return strtol(name + before, NULL, 10);
}

int sxt_recording_find_children(const sxt_recording *recording, const char *pattern, long **pids, size_t *count,
                                sxt_error *error)
{
    const char *slash = strrchr(pattern, '/'), *last = slash != NULL ? slash + 1 : pattern;
    const char *number = strstr(last, "%p");
    uint32_t own = sxt_spool_read_control(recording->head).pid;
    size_t capacity = 0;
    *pids = NULL;
    *count = 0;
    if (number == NULL)
        return SXT_OK;
    char *folder = slash != NULL ? strndup(pattern, (size_t)(last - pattern)) : strdup(".");
    if (folder == NULL)
        return sxt_fail_memory(error, strlen(pattern));
    DIR *entries = opendir(folder);
    int status = entries != NULL ? SXT_OK : sxt_fail_errno(error, errno, "cannot read the folder");
    for (struct dirent *entry; status == SXT_OK && (entry = readdir(entries)) != NULL;) {
        long pid = number_in(entry->d_name, last, (size_t)(number - last));
        if (pid <= 0 || (uint64_t)pid == own || !has_spool(recording, pattern, pid))
            continue;
        long *moved = sxt_array_grow(*pids, &capacity, *count + 1, sizeof *moved);
        if (moved == NULL) {
            status = sxt_fail_memory(error, (*count + 1) * sizeof *moved);
            break;
        }
        *pids = moved;
        (*pids)[(*count)++] = pid;
    }
    if (entries != NULL)
        closedir(entries);
    free(folder);
    *count = status == SXT_OK ? sort_numbers(*pids, *count) : 0;
    if (status != SXT_OK) {
        free(*pids);
        *pids = NULL;
    }
    return status;
}

size_t sxt_recording_list_children(const sxt_recording *recording, long *pids, size_t capacity, uint64_t *started)
{
    struct sxt_spool_control control = sxt_spool_read_control(recording->head);
    size_t count = 0;
    if (started != NULL)
        *started = control.child_count > control.double_children ? control.child_count - control.double_children : 0;
    for (size_t i = 0; i < SXT_SPOOL_CHILDREN_MOST && count < capacity; i++)
        if ((control.children[i] & ~SXT_SPOOL_CHILD_FAILED) != 0)
            pids[count++] = (long)(control.children[i] & ~SXT_SPOOL_CHILD_FAILED);
    return count;
}

void sxt_recording_set_process(sxt_recording *recording, long pid)
{
    sxt_spool_head_set_process(recording->head, (uint32_t)pid);
}

void sxt_recording_stop(sxt_recording *recording)
{
    sxt_spool_head_stop(recording->head);
}

void sxt_recording_note_end(sxt_recording *recording)
{
    sxt_spool_head_note_time(recording->head);
}

void sxt_recording_note_status(sxt_recording *recording, int status)
{
    sxt_spool_head_note_status(recording->head, status);
}

void sxt_recording_note_memory(sxt_recording *recording, uint64_t bytes)
{
    sxt_spool_head_note_anonymous(recording->head, bytes);
}

void sxt_recording_close(sxt_recording **recording)
{
    if (*recording == NULL)
        return;
    if ((*recording)->head != NULL)
        munmap((*recording)->head, SXT_SPOOL_HEAD_SIZE);
    free((*recording)->path);
    free((*recording)->output);
    free(*recording);
    *recording = NULL;
}
