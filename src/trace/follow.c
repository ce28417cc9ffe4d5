/*
 * follow.c: makes the trace of a recording while the program still runs, so that little is left to do at its end.
 *
 * A thread of the lowest priority looks at the spool from time to time, and writes the events that are complete to a
 * file without a name. The spool stays as it is: if anything goes wrong here, if the program sets markers or executes
 * another program, the trace is made from the spool at the end, as for a short recording. When the recording has ended,
 * the calling thread writes the rest of the events, then the metadata, and gives the file its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "base/output.h"
#include "mlyze/spool.h"
#include "trace/finish_names.h"
#include "trace/trace.h"

#define ROOM     ((size_t)1 << 40) /* of addresses: what the spool may grow to */
#define PAUSE_NS 50000000
#define LEAST    ((uint64_t)8 << 20) /* bytes that are worth a search */
#define PART     16                  /* of the spool: the same */
#define ATTEMPTS 50                  /* at the end, when nothing should move any more */

struct sxt_recording_follower {
    char *spool_path, *output_path;
    sxt_trace_write_options options;
    pthread_t thread;
    bool has_thread;
    atomic_bool stop;
    /* Of the thread, as long as there is one. */
    int fd;
    const uint8_t *data; /* the spool, mapped */
    uint64_t seen;       /* bytes of the spool at the last search */
    struct sxt_spool *spool;
    struct sxt_output output;
    struct sxt_mlyze_writer *writer;
    sxt_recorded recorded;
    int status; /* of everything so far */
};

static void free_follower(sxt_recording_follower **follower)
{
    sxt_recording_follower *all = *follower;
    if (all == NULL)
        return;
    sxt_mlyze_writer_close(&all->writer);
    sxt_spool_close(&all->spool);
    if (all->output.fd > 0)
        close(all->output.fd);
    free(all->output.path);
    free(all->output.temporary);
    if (all->data != NULL)
        munmap((void *)(uintptr_t)all->data, ROOM);
    if (all->fd > 0)
        close(all->fd);
    free(all->spool_path);
    free(all->output_path);
    free(all);
    *follower = NULL;
}

/* A descriptor that is not one of the three standard ones. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

static uint64_t size_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

/* --- while the program runs --- */

/*
 * A file in the folder of the output that has no name yet, so that nothing is left of it if this process is killed. The
 * names are those that a committed output needs.
 */
static int open_unnamed(sxt_recording_follower *follower, sxt_error *error)
{
    struct sxt_output *output = &follower->output;
    int status = sxt_output_open_over_link(output, follower->output_path, error);
    if (status != SXT_OK)
        return status;
    struct stat mode;
    char *slash = output->temporary != NULL ? strrchr(output->temporary, '/') : NULL;
    char *folder = slash != NULL ? strndup(output->temporary, (size_t)(slash + 1 - output->temporary)) : strdup(".");
    bool is_good = folder != NULL && output->temporary != NULL && fstat(output->fd, &mode) == 0;
    int fd = is_good ? above_standard(open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) : -1;
    free(folder);
    if (fd < 0 || fchmod(fd, mode.st_mode & 0777) != 0) {
        if (fd >= 0)
            close(fd);
        sxt_output_abandon(output);
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "the file system has no files without names");
    }
    unlink(output->temporary);
    close(output->fd);
    output->fd = fd;
    return SXT_OK;
}

static int begin(sxt_recording_follower *follower, sxt_error *error)
{
    int status = sxt_spool_follow(follower->data, (size_t)size_of(follower->fd), &follower->spool, error);
    if (status == SXT_OK)
        status = open_unnamed(follower, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_spool_facts *facts = sxt_spool_facts(follower->spool);
    const struct sxt_mlyze_settings settings = {
        .start_us = facts->start_us,
        .codec = SXT_MLYZE_COLUMNS_ZSTD,
        .period = facts->period,
        .pid = facts->pid,
        .threads = 1, /* another thread would keep the priority of this one */
        .keeps_index = !follower->options.no_index,
    };
    return sxt_mlyze_writer_open_early(&follower->output, &settings, &follower->writer, error);
}

/* Writes what is complete by now, if it is enough. */
static int take_more(sxt_recording_follower *follower, sxt_error *error)
{
    uint64_t size = size_of(follower->fd);
    bool is_done;
    if (size < follower->seen + LEAST || size < follower->seen + follower->seen / PART || size > ROOM)
        return SXT_OK;
    int status = follower->spool == NULL ? begin(follower, error) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_spool_catch_up(follower->spool, follower->data, follower->fd, false, &is_done, error);
    if (status != SXT_OK || !is_done)
        return status;
    follower->seen = size;
    sxt_trace_write_options silent = follower->options;
    silent.progress = NULL;
    return sxt_spool_write_events(follower->spool, size, NULL, &silent, &follower->stop, follower->writer,
                                  &follower->recorded, error);
}

static void *run(void *context)
{
    sxt_recording_follower *follower = context;
    const struct sched_param none = {0};
    sxt_error error;
    (void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
    while (!atomic_load(&follower->stop) && follower->status == SXT_OK) {
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        follower->status = take_more(follower, &error);
    }
    return NULL;
}

static bool start(sxt_recording_follower *follower)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    follower->has_thread = pthread_create(&follower->thread, NULL, run, follower) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return follower->has_thread;
}

int sxt_recording_follow(const sxt_recording *recording, const char *output, const sxt_trace_write_options *given,
                         sxt_recording_follower **out, sxt_error *error)
{
    sxt_trace_write_options options;
    *out = NULL;
    int status = sxt_trace_take_write_options(given, &options, error);
    if (status != SXT_OK)
        return status;
    if (!options.compress)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a plain trace cannot be made while the program runs");
    sxt_recording_follower *follower = calloc(1, sizeof *follower);
    if (follower == NULL)
        return sxt_fail_memory(error, sizeof *follower);
    follower->options = options;
    follower->recorded.struct_size = sizeof follower->recorded;
    follower->spool_path = strdup(sxt_recording_path(recording));
    follower->output_path = strdup(output);
    follower->fd = above_standard(open(sxt_recording_path(recording), O_RDONLY | O_CLOEXEC));
    void *data =
        follower->fd >= 0 ? mmap(NULL, ROOM, PROT_READ, MAP_SHARED | MAP_NORESERVE, follower->fd, 0) : MAP_FAILED;
    follower->data = data != MAP_FAILED ? data : NULL;
    if (follower->spool_path == NULL || follower->output_path == NULL || follower->data == NULL || !start(follower)) {
        free_follower(&follower);
        return sxt_fail_memory(error, ROOM);
    }
    *out = follower;
    return SXT_OK;
}

/* --- at the end --- */

/* Until nothing moves: a thread of the program may be in the middle of a copy when the recording is stopped. */
static int catch_up_all(sxt_recording_follower *follower, sxt_error *error)
{
    bool is_done = false;
    int status = SXT_OK;
    for (unsigned i = 0; i < ATTEMPTS && status == SXT_OK && !is_done; i++)
        status = sxt_spool_catch_up(follower->spool, follower->data, follower->fd, true, &is_done, error);
    return status == SXT_OK && !is_done
               ? sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "the recorder does not stop")
               : status;
}

static int write_rest(sxt_recording_follower *follower, struct sxt_mlyze_index *index, sxt_error *error)
{
    struct sxt_spool_metadata metadata;
    int status = catch_up_all(follower, error);
    if (status == SXT_OK)
        status = sxt_spool_write_events(follower->spool, size_of(follower->fd), NULL, &follower->options, NULL,
                                        follower->writer, &follower->recorded, error);
    if (status == SXT_OK)
        status = sxt_spool_names(sxt_spool_facts(follower->spool), &follower->options, &metadata, error);
    if (status != SXT_OK)
        return status;
    sxt_string rest = {(const char *)metadata.rest.data, metadata.rest.size};
    sxt_mlyze_writer_set_dropped(follower->writer, sxt_spool_facts(follower->spool)->dropped);
    follower->recorded.functions = metadata.tables.function_count;
    status = sxt_mlyze_writer_finish_tables(follower->writer, &metadata.tables, rest, error);
    if (status == SXT_OK)
        sxt_mlyze_writer_take_index(follower->writer, index);
    sxt_spool_metadata_free(&metadata);
    return status;
}

/* Gives the file its temporary name, and commits it. */
static int commit(sxt_recording_follower *follower, sxt_error *error)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", follower->output.fd);
    if (linkat(AT_FDCWD, name, AT_FDCWD, follower->output.temporary, AT_SYMLINK_FOLLOW) != 0)
        return sxt_fail_errno(error, errno, "cannot create");
    int status = sxt_output_commit(&follower->output, error);
    follower->output = (struct sxt_output){0};
    return status;
}

int sxt_recording_follow_finish(sxt_recording_follower **given, sxt_recorded *result, sxt_error *error)
{
    sxt_recording_follower *follower = *given;
    struct sxt_mlyze_index index = {0};
    *given = NULL;
    atomic_store(&follower->stop, true);
    pthread_join(follower->thread, NULL);
    int status = follower->status == SXT_OK && follower->writer != NULL
                     ? write_rest(follower, &index, error)
                     : sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "nothing was made of the recording yet");
    if (status == SXT_OK)
        status = commit(follower, error);
    if (status == SXT_OK) {
        sxt_spool_describe(follower->spool, &follower->recorded);
        if (index.count > 0)
            sxt_trace_save_index(follower->output_path, &index);
        if (result != NULL)
            sxt_result_give(result, &follower->recorded, sizeof follower->recorded);
    }
    sxt_mlyze_index_free(&index);
    free_follower(&follower);
    return status;
}
