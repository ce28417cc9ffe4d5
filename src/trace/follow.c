/*
 * follow.c: consumes a recording while the program still runs, so that little is left to do at its end, and the disk
 * holds the events once.
 *
 * A thread looks at the spool from time to time, and writes the events that are complete to a file beside the spool:
 * OUTPUT.part.events, a trace without metadata. Then it saves a checkpoint in the spool, and releases the windows that
 * the events came from (spool_checkpoint.c, spool_consume.c). Whatever is killed, the spool and this file have
 * everything: the trace can be made from them. When the recording has ended, the calling thread writes the rest of the
 * events, then the metadata, and the file becomes the trace.
 *
 * The thread has the lowest priority. Without privileges, it could not get a higher one later. So there is a second
 * thread of normal priority, which only looks at the size of the spool; if more than URGENT bytes are waiting, it does
 * the work itself until there are fewer. The program is never stopped.
 *
 * If anything goes wrong here, the trace is made at the end, from the last checkpoint on.
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

#define ROOM        ((size_t)1 << 40) /* of addresses: what the spool may grow to */
#define PAUSE_NS    50000000
#define LEAST       ((uint64_t)8 << 20)   /* bytes that are worth a search */
#define EVENT_BYTES 12                    /* of the spool; about that many */
#define URGENT      ((uint64_t)128 << 20) /* bytes that wait: too many for a thread of low priority */
#define LEAST_EVER  ((uint64_t)1 << 20)   /* what LEAST may be lowered to */
#define ATTEMPTS    50                    /* at the end, when nothing should move any more */
#define SUFFIX      ".events"
#define NUMBER_MOST 100 /* of files that were there before */

struct sxt_recording_follower {
    char *spool_path, *output_path;
    sxt_trace_write_options options;
    pthread_t threads[2];
    size_t thread_count;
    uint64_t urgent, least; /* bytes: see below */
    atomic_bool stop;
    atomic_bool gives_way;  /* who is working stops soon */
    atomic_bool is_urgent;  /* the thread of normal priority works */
    atomic_ullong released; /* bytes of the spool that were released, or could not be */
    uint64_t most_bytes;    /* that the spool had on the disk */
    /* Of who is working. */
    pthread_mutex_t mutex;
    int fd;
    const uint8_t *data; /* the spool, mapped */
    uint8_t *head;       /* its first page, for writing */
    uint64_t seen;       /* bytes of the spool at the last search */
    struct sxt_spool *spool;
    struct sxt_spool *before; /* of the program that this process was before */
    struct sxt_output output;
    mode_t mode;       /* of the trace */
    char *events_path; /* NULL: there is no such file yet */
    struct sxt_mlyze_writer *writer;
    sxt_recorded recorded;
    uint64_t saved; /* events at the last checkpoint */
    int status;     /* of everything so far */
};

static void close_output(struct sxt_output *output)
{
    if (output->fd > 0)
        close(output->fd);
    free(output->path);
    free(output->temporary);
    *output = (struct sxt_output){0};
}

static void free_follower(sxt_recording_follower **follower)
{
    sxt_recording_follower *all = *follower;
    if (all == NULL)
        return;
    sxt_mlyze_writer_close(&all->writer);
    sxt_spool_close(&all->spool);
    sxt_spool_close(&all->before);
    close_output(&all->output);
    if (all->data != NULL)
        munmap((void *)(uintptr_t)all->data, ROOM);
    if (all->head != NULL)
        munmap(all->head, SXT_SPOOL_HEAD_SIZE);
    if (all->fd > 0)
        close(all->fd);
    pthread_mutex_destroy(&all->mutex);
    free(all->events_path);
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

/* --- the file for events --- */

/* Creates a file that did not exist beside the spool. Nobody else may read it until it is the trace. */
static int create_events(sxt_recording_follower *follower)
{
    for (unsigned number = 1; number <= NUMBER_MOST; number++) {
        char *path = NULL;
        int size = number > 1 ? asprintf(&path, "%s" SUFFIX "%u", follower->spool_path, number)
                              : asprintf(&path, "%s" SUFFIX, follower->spool_path);
        int fd = size > 0 ? above_standard(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)) : -1;
        if (fd >= 0) {
            fchmod(fd, 0600); /* whatever the umask */
            follower->events_path = path;
            return fd;
        }
        int reason = errno;
        if (size > 0)
            free(path);
        if (size <= 0 || reason != EEXIST)
            break;
    }
    return -1;
}

/* The names and the mode are those that the trace needs in the end. */
static int open_events(sxt_recording_follower *follower, sxt_error *error)
{
    struct sxt_output *output = &follower->output;
    struct stat status;
    int result = sxt_output_open_over_link(output, follower->output_path, error);
    if (result != SXT_OK)
        return result;
    bool is_good = output->temporary != NULL && fstat(output->fd, &status) == 0;
    int fd = is_good ? create_events(follower) : -1;
    if (fd < 0) {
        sxt_output_abandon(output);
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "cannot create a file for events");
    }
    follower->mode = status.st_mode & 0777;
    unlink(output->temporary);
    close(output->fd);
    output->fd = fd;
    return SXT_OK;
}

/*
 * The events of an earlier program of the process do not count. They are removed once there is a new file, which so has
 * another name: somebody may be reading the old one.
 */
static int replace_events(sxt_recording_follower *follower, sxt_error *error)
{
    char *before = follower->events_path;
    follower->events_path = NULL;
    close_output(&follower->output);
    int status = open_events(follower, error);
    if (before != NULL)
        unlink(before);
    free(before);
    return status;
}

/* --- while the program runs --- */

static int begin(sxt_recording_follower *follower, sxt_error *error)
{
    int status = sxt_spool_follow(follower->data, (size_t)size_of(follower->fd), &follower->spool, error);
    if (status == SXT_OK)
        status = replace_events(follower, error);
    if (status != SXT_OK)
        return status;
    sxt_spool_consume(follower->spool);
    sxt_spool_set_stop(follower->spool, &follower->gives_way);
    if (follower->before != NULL)
        sxt_spool_inherit(follower->spool, follower->before);
    sxt_spool_close(&follower->before);
    follower->recorded = (sxt_recorded){.struct_size = sizeof follower->recorded};
    follower->saved = 0;
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

/* The process executes another program: what was consumed does not count. */
static void start_again(sxt_recording_follower *follower)
{
    sxt_mlyze_writer_close(&follower->writer);
    sxt_spool_close(&follower->before);
    follower->before = follower->spool;
    follower->spool = NULL;
    follower->seen = 0;
}

static int punch(int fd, int mode, int64_t offset, int64_t size)
{
    return fallocate(fd, mode, (off_t)offset, (off_t)size);
}

/* Saves what was consumed, and releases its windows. If somebody reads the spool, that is done later. */
static int save(sxt_recording_follower *follower, sxt_error *error)
{
    const char *slash = strrchr(follower->events_path, '/'), *name = slash != NULL ? slash + 1 : follower->events_path;
    struct sxt_spool_consumed consumed = {.name = {name, strlen(name)}, .event_count = follower->recorded.events};
    bool is_punched;
    int status = sxt_mlyze_writer_pause(follower->writer, consumed.header, error);
    consumed.size = follower->output.size;
    if (status != SXT_OK || !sxt_spool_lock(follower->fd))
        return status;
    status = sxt_spool_save_checkpoint(follower->spool, follower->head, follower->fd, &consumed, error);
    if (status == SXT_OK)
        status =
            sxt_spool_release(follower->spool, follower->data, follower->head, follower->fd, punch, &is_punched, error);
    sxt_spool_unlock(follower->fd);
    uint64_t size = size_of(follower->fd);
    atomic_store(&follower->released, size - sxt_spool_left(follower->spool, size));
    follower->saved = follower->recorded.events;
    return status;
}

/* Writes what is complete by now, if it is enough. */
static int take_more(sxt_recording_follower *follower, sxt_error *error)
{
    bool is_done;
    if (follower->spool != NULL && sxt_spool_is_over(follower->spool, follower->data))
        start_again(follower);
    uint64_t size = size_of(follower->fd);
    if (size < follower->seen + follower->least || size > ROOM)
        return SXT_OK;
    int status = follower->spool == NULL ? begin(follower, error) : SXT_OK;
    if (status == SXT_OK)
        status = sxt_spool_catch_up(follower->spool, follower->data, follower->fd, false, &is_done, error);
    if (status == SXT_ERROR_UNSUPPORTED && follower->spool != NULL &&
        sxt_spool_is_over(follower->spool, follower->data))
        return SXT_OK; /* since a moment ago: see above */
    if (status != SXT_OK || !is_done)
        return status;
    uint64_t step = follower->least / EVENT_BYTES; /* events between two checkpoints */
    const struct sxt_spool_writing how = {.writer = follower->writer, .stop = &follower->gives_way, .most = step};
    do {
        status = sxt_spool_write_events(follower->spool, &how, &follower->recorded, error);
        is_done = follower->recorded.events < follower->saved + step;
        if (status == SXT_OK && follower->recorded.events > follower->saved)
            status = save(follower, error);
    } while (status == SXT_OK && !is_done && !atomic_load(&follower->gives_way) && !atomic_load(&follower->stop));
    if (is_done)
        follower->seen = size;
    return status;
}

/* Works, unless the other thread does. */
static void work(sxt_recording_follower *follower, bool is_urgent)
{
    sxt_error error;
    pthread_mutex_lock(&follower->mutex);
    if (follower->status == SXT_OK && !atomic_load(&follower->gives_way) &&
        atomic_load(&follower->is_urgent) == is_urgent)
        follower->status = take_more(follower, &error);
    pthread_mutex_unlock(&follower->mutex);
}

static void *run_low(void *context)
{
    sxt_recording_follower *follower = context;
    const struct sched_param none = {0};
    (void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
    while (!atomic_load(&follower->stop)) {
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        work(follower, false);
    }
    return NULL;
}

/* How much of the spool waits to be consumed. */
static uint64_t look(sxt_recording_follower *follower)
{
    struct stat status;
    if (fstat(follower->fd, &status) != 0)
        return 0;
    uint64_t bytes = (uint64_t)status.st_blocks * 512, released = atomic_load(&follower->released);
    follower->most_bytes = bytes > follower->most_bytes ? bytes : follower->most_bytes;
    return (uint64_t)status.st_size > released ? (uint64_t)status.st_size - released : 0;
}

static void *run_normal(void *context)
{
    sxt_recording_follower *follower = context;
    while (!atomic_load(&follower->stop)) {
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        uint64_t waiting = look(follower);
        if (!atomic_load(&follower->is_urgent) && waiting > follower->urgent) {
            atomic_store(&follower->gives_way, true);
            pthread_mutex_lock(&follower->mutex);
            atomic_store(&follower->is_urgent, true);
            atomic_store(&follower->gives_way, atomic_load(&follower->stop));
            pthread_mutex_unlock(&follower->mutex);
        }
        if (!atomic_load(&follower->is_urgent))
            continue;
        work(follower, true);
        if (look(follower) < follower->urgent / 4)
            atomic_store(&follower->is_urgent, false);
    }
    return NULL;
}

static bool start(sxt_recording_follower *follower)
{
    void *(*const functions[])(void *) = {run_low, run_normal};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 0; i < 2; i++)
        if (follower->thread_count == i && pthread_create(&follower->threads[i], NULL, functions[i], follower) == 0)
            follower->thread_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return follower->thread_count > 0;
}

/* SEXTANT_CONSUME_AT=BYTES: for disks with little space, and to test what a machine without idle time does not reach.
 */
static void set_limits(sxt_recording_follower *follower)
{
    const char *given = getenv("SEXTANT_CONSUME_AT");
    char *end = NULL;
    unsigned long long bytes = given != NULL ? strtoull(given, &end, 10) : 0;
    bool is_number = given != NULL && end != given && *end == 0 && given[0] != '-';
    follower->urgent = is_number ? bytes : URGENT;
    follower->least = follower->urgent < LEAST ? follower->urgent : LEAST;
    follower->least = follower->least > LEAST_EVER ? follower->least : LEAST_EVER;
}

static void *map_spool(int fd, size_t size, int protection)
{
    void *data = fd >= 0 ? mmap(NULL, size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0) : MAP_FAILED;
    return data != MAP_FAILED ? data : NULL;
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
    set_limits(follower);
    pthread_mutex_init(&follower->mutex, NULL);
    follower->spool_path = strdup(sxt_recording_path(recording));
    follower->output_path = strdup(output);
    follower->fd = above_standard(open(sxt_recording_path(recording), O_RDWR | O_CLOEXEC));
    follower->data = map_spool(follower->fd, ROOM, PROT_READ);
    follower->head = map_spool(follower->fd, SXT_SPOOL_HEAD_SIZE, PROT_READ | PROT_WRITE);
    if (follower->spool_path == NULL || follower->output_path == NULL || follower->data == NULL ||
        follower->head == NULL || !start(follower)) {
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
    const struct sxt_spool_writing how = {
        .writer = follower->writer, .size = size_of(follower->fd), .options = &follower->options};
    int status = catch_up_all(follower, error);
    if (status == SXT_OK)
        status = sxt_spool_write_events(follower->spool, &how, &follower->recorded, error);
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
    if (fchmod(follower->output.fd, follower->mode) != 0 ||
        linkat(AT_FDCWD, follower->events_path, AT_FDCWD, follower->output.temporary, 0) != 0)
        return sxt_fail_errno(error, errno, "cannot create");
    int status = sxt_output_commit(&follower->output, error);
    follower->output = (struct sxt_output){0};
    if (status == SXT_OK) {
        unlink(follower->events_path);
        sxt_trace_remove_caches(follower->output_path);
    }
    return status;
}

/* The file for events is removed if the spool does not need it. */
static void drop_events(const sxt_recording_follower *follower)
{
    struct sxt_spool *spool = NULL;
    if (follower->events_path == NULL)
        return;
    if (sxt_spool_peek(follower->data, (size_t)size_of(follower->fd), &spool, NULL) == SXT_OK &&
        sxt_spool_get_consumed(spool) == NULL)
        unlink(follower->events_path);
    else if (follower->output.fd > 0)
        fchmod(follower->output.fd, 0600);
    sxt_spool_close(&spool);
}

static void end_threads(sxt_recording_follower *follower)
{
    atomic_store(&follower->stop, true);
    for (size_t i = follower->thread_count; i > 0; i--) {
        atomic_store(&follower->gives_way, true);
        pthread_join(follower->threads[i - 1], NULL);
    }
    (void)look(follower);
}

int sxt_recording_follow_finish(sxt_recording_follower **given, sxt_recorded *result, sxt_error *error)
{
    sxt_recording_follower *follower = *given;
    struct sxt_mlyze_index index = {0};
    *given = NULL;
    end_threads(follower);
    int status = follower->status == SXT_OK && follower->writer != NULL
                     ? write_rest(follower, &index, error)
                     : sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "nothing was made of the recording yet");
    if (status == SXT_OK)
        status = commit(follower, error);
    if (status == SXT_OK) {
        sxt_spool_describe(follower->spool, &follower->recorded);
        follower->recorded.most_spool_bytes = follower->most_bytes;
        if (index.count > 0)
            sxt_trace_save_index(follower->output_path, &index);
        if (result != NULL)
            sxt_result_give(result, &follower->recorded, sizeof follower->recorded);
    } else {
        drop_events(follower);
    }
    sxt_mlyze_index_free(&index);
    free_follower(&follower);
    return status;
}
