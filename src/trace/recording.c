/*
 * recording.c: a spool, made for a recorder to write to.
 *
 * It is a file of its own beside the trace that it will become, OUTPUT.part: so what is at OUTPUT stays there until
 * there is something whole to replace it. A file of that name may be what another process is writing to right now, or
 * what is left of a recording that was cut off. It is never touched; the next one is OUTPUT.part2, and so on.
 *
 * Where nothing is at OUTPUT, the spool has that name too, until the trace takes it: who looks for OUTPUT while the
 * program runs, or after everything was killed, finds what there is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "mlyze/spool.h"
#include "trace/trace.h"

#define SUFFIX      ".part"
#define SPOOLS_MOST 100 /* beside one output */

struct sxt_recording {
    uint8_t *page; /* the first of the spool, mapped */
    struct sxt_spool_control *control;
    char *path;
    char suffix[16]; /* what the path has behind that of the output */
    char *output;    /* the other name of the spool; NULL when it has none */
};

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct sxt_spool_moment moment(const struct sxt_spool_control *control)
{
    uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    return (struct sxt_spool_moment){(control->options & SXT_SPOOL_TSC) != 0 ? sxt_spool_counter() : now, now};
}

/* Does the kernel itself keep time by the processor's counter? Then it runs evenly, and is the same everywhere. */
static bool counter_is_good(void)
{
#if defined(__aarch64__)
    return true;
#else
    char text[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    return size > 0 && (strncmp(text, "tsc\n", 4) == 0 || strncmp(text, "kvm-clock\n", 10) == 0);
#endif
}

static void fill_page(uint8_t page[SXT_SPOOL_WINDOWS_OFFSET], const struct sxt_recording_options *options)
{
    struct sxt_spool_control control = {
        .magic = SXT_SPOOL_CONTROL_MAGIC,
        .version = SXT_SPOOL_VERSION,
        .options = (options->with_mappings ? SXT_SPOOL_MAPPINGS : 0u) | (options->follow ? SXT_SPOOL_FOLLOW : 0u) |
                   (counter_is_good() ? SXT_SPOOL_TSC : 0u),
        .period = options->period,
        .tail = SXT_SPOOL_WINDOWS_OFFSET,
        .start_us = nanoseconds(CLOCK_REALTIME) / 1000,
    };
    control.first = control.last = moment(&control);
    memset(page, 0, SXT_SPOOL_WINDOWS_OFFSET);
    memcpy(page, "MTRC", 4);
    sxt_store_u32le(page + 4, 1);
    sxt_store_u64le(page + 8, control.start_us);
    sxt_store_u32le(page + 20, SXT_MLYZE_UNCLEAN | (options->period != 0 ? SXT_MLYZE_SAMPLED : 0u));
    sxt_store_u32le(page + 24, SXT_MLYZE_SPOOL);
    sxt_store_u64le(page + 72, options->period);
    memcpy(page + SXT_SPOOL_CONTROL_OFFSET, &control, sizeof control);
}

static int write_and_map(int fd, const struct sxt_recording_options *options, struct sxt_recording *recording,
                         sxt_error *error)
{
    uint8_t page[SXT_SPOOL_WINDOWS_OFFSET];
    fill_page(page, options);
    ssize_t written = pwrite(fd, page, sizeof page, 0);
    if (written != (ssize_t)sizeof page)
        return sxt_fail_errno(error, written < 0 ? errno : ENOSPC, "cannot write");
    void *mapped = mmap(NULL, sizeof page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return sxt_fail_errno(error, errno, "cannot be mapped");
    recording->page = mapped;
    recording->control = (void *)(recording->page + SXT_SPOOL_CONTROL_OFFSET);
    return SXT_OK;
}

/* A file that was not there before. */
static int create_file(const char *output, struct sxt_recording *recording)
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

/* Better now than when the program has run for hours. */
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

int sxt_recording_create(const char *output, const struct sxt_recording_options *options, struct sxt_recording **out,
                         sxt_error *error)
{
    *out = NULL;
    int result = check_output(output, error);
    if (result != SXT_OK)
        return result;
    struct sxt_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL)
        return sxt_fail_memory(error, sizeof *recording);
    int fd = create_file(output, recording);
    if (fd < 0) {
        result = sxt_fail_errno(error, errno, "cannot create the file to record into");
    } else {
        result = write_and_map(fd, options, recording, error);
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

void sxt_recording_unname(struct sxt_recording *recording)
{
    struct stat spool, other;
    if (recording->output != NULL && stat(recording->path, &spool) == 0 && lstat(recording->output, &other) == 0 &&
        spool.st_dev == other.st_dev && spool.st_ino == other.st_ino)
        unlink(recording->output);
}

void sxt_recording_discard(struct sxt_recording *recording)
{
    sxt_recording_unname(recording);
    unlink(recording->path);
}

const char *sxt_recording_path(const struct sxt_recording *recording)
{
    return recording->path;
}

const char *sxt_recording_suffix(const struct sxt_recording *recording)
{
    return recording->suffix;
}

/* The first page of the spool at PATH, if it is one that a child of this recording made. */
static struct sxt_spool_control *map_child(const struct sxt_recording *recording, const char *path, long pid)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    void *page = MAP_FAILED;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= SXT_SPOOL_WINDOWS_OFFSET)
        page = mmap(NULL, SXT_SPOOL_WINDOWS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (page == MAP_FAILED)
        return NULL;
    struct sxt_spool_control *control = (void *)((uint8_t *)page + SXT_SPOOL_CONTROL_OFFSET);
    if (control->magic == SXT_SPOOL_CONTROL_MAGIC && control->start_us == recording->control->start_us &&
        control->pid == (uint32_t)pid)
        return control;
    munmap(page, SXT_SPOOL_WINDOWS_OFFSET);
    return NULL;
}

bool sxt_recording_has_child(const struct sxt_recording *recording, const char *path, long pid)
{
    struct sxt_spool_control *control = map_child(recording, path, pid);
    if (control == NULL)
        return false;
    munmap((uint8_t *)control - SXT_SPOOL_CONTROL_OFFSET, SXT_SPOOL_WINDOWS_OFFSET);
    return true;
}

void sxt_recording_stop_child(const struct sxt_recording *recording, const char *path, long pid)
{
    struct sxt_spool_control *control = map_child(recording, path, pid);
    if (control == NULL)
        return;
    __atomic_store_n(&control->stop, 1, __ATOMIC_RELAXED);
    munmap((uint8_t *)control - SXT_SPOOL_CONTROL_OFFSET, SXT_SPOOL_WINDOWS_OFFSET);
}

void sxt_recording_of(struct sxt_recording *recording, long pid)
{
    recording->control->pid = (uint32_t)pid;
    sxt_store_u32le(recording->page + 88, (uint32_t)pid);
}

void sxt_recording_stop(struct sxt_recording *recording)
{
    __atomic_store_n(&recording->control->stop, 1, __ATOMIC_RELAXED);
}

void sxt_recording_note_end(struct sxt_recording *recording)
{
    recording->control->last = moment(recording->control);
}

void sxt_recording_close(struct sxt_recording **recording)
{
    if (*recording == NULL)
        return;
    if ((*recording)->page != NULL)
        munmap((*recording)->page, SXT_SPOOL_WINDOWS_OFFSET);
    free((*recording)->path);
    free((*recording)->output);
    free(*recording);
    *recording = NULL;
}
