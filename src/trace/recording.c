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

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
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

/* Creates a file that did not exist. */
static int create_file(const char *output, sxt_recording *recording)
{
    for (unsigned number = 1; number <= SPOOLS_MOST; number++) {
        snprintf(recording->suffix, sizeof recording->suffix, number > 1 ? SUFFIX "%u" : SUFFIX, number);
        free(recording->path);
        if (asprintf(&recording->path, "%s%s", output, recording->suffix) < 0) {
            recording->path = NULL;
            return -1;
        }
        int fd = open(recording->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
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

void sxt_recording_stop_child(const sxt_recording *recording, const char *path, long pid)
{
    uint8_t *head = map_child(recording, path, pid);
    if (head == NULL)
        return;
    sxt_spool_head_stop(head);
    munmap(head, SXT_SPOOL_HEAD_SIZE);
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
