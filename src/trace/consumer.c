/* consumer.c: takes the events out of one spool, and makes a trace of them. */
#include "trace/consumer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output.h"
#include "mlyze/spool.h"
#include "trace/finish_names.h"
#include "trace/trace.h"

#define EVENT_BYTES 12                  /* of the spool; about that many */
#define STEP_MOST   ((uint64_t)8 << 20) /* bytes of the spool between two checkpoints; about that many */
#define STEP_LEAST  ((uint64_t)1 << 20)
#define SEARCHES    20 /* that are made at once while the recorder is busy */
#define ATTEMPTS    50 /* at the end, when nothing should move any more */
#define SUFFIX      ".events"
#define NUMBER_MOST 100 /* of files that were there before */

struct sxt_consumer {
    char *spool_path, *output_path;
    bool is_plain; /* the trace is not made of the events file alone */
    bool keeps_index;
    const atomic_bool *gives_way;
    atomic_ullong released; /* bytes of the spool that were released, or could not be */
    int fd;
    size_t room;
    const uint8_t *data; /* the spool, mapped */
    uint8_t *head;       /* its first page, for writing */
    uint64_t seen;       /* bytes of the spool at the last search */
    uint64_t last_size;  /* the same at the last call */
    bool is_unsettled;   /* what was new at the last search was not taken out then */
    struct sxt_spool *spool;
    struct sxt_spool *before; /* of the program that this process was before */
    struct sxt_output output; /* the file for events */
    mode_t mode;              /* of the trace */
    char *events_path;        /* NULL: the file has no name yet */
    char *old_path;           /* the file of an earlier program, which is to be removed */
    struct sxt_mlyze_writer *writer;
    sxt_recorded recorded;
    uint64_t saved;                        /* events at the last checkpoint */
    uint8_t header[SXT_MLYZE_HEADER_SIZE]; /* of the events up to there */
    bool is_parked;
    struct sxt_mlyze_index index; /* if it is parked */
};

static void close_output(struct sxt_output *output)
{
    if (output->fd > 0)
        close(output->fd);
    free(output->path);
    free(output->temporary);
    *output = (struct sxt_output){0};
}

/* Frees what is needed only as long as events come. */
static void release(struct sxt_consumer *consumer)
{
    sxt_mlyze_writer_close(&consumer->writer);
    sxt_spool_close(&consumer->spool);
    sxt_spool_close(&consumer->before);
    if (consumer->data != NULL)
        munmap((void *)(uintptr_t)consumer->data, consumer->room);
    if (consumer->head != NULL)
        munmap(consumer->head, SXT_SPOOL_HEAD_SIZE);
    if (consumer->fd > 0)
        close(consumer->fd);
    consumer->data = NULL;
    consumer->head = NULL;
    consumer->fd = -1;
}

void sxt_consumer_close(struct sxt_consumer **given)
{
    struct sxt_consumer *consumer = *given;
    if (consumer == NULL)
        return;
    release(consumer);
    close_output(&consumer->output);
    sxt_mlyze_index_free(&consumer->index);
    free(consumer->events_path);
    free(consumer->old_path);
    free(consumer->spool_path);
    free(consumer->output_path);
    free(consumer);
    *given = NULL;
}

static uint64_t size_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

static void *map_spool(int fd, size_t size, int protection)
{
    void *data = fd >= 0 ? mmap(NULL, size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0) : MAP_FAILED;
    return data != MAP_FAILED ? data : NULL;
}

struct sxt_consumer *sxt_consumer_open(const char *spool, const char *output, const sxt_trace_write_options *options,
                                       size_t room, const atomic_bool *gives_way)
{
    struct sxt_consumer *consumer = calloc(1, sizeof *consumer);
    if (consumer == NULL)
        return NULL;
    consumer->is_plain = !options->compress;
    consumer->keeps_index = !options->no_index && options->compress;
    consumer->gives_way = gives_way;
    consumer->room = room;
    consumer->spool_path = strdup(spool);
    consumer->output_path = strdup(output);
    consumer->fd = sxt_output_above_standard(open(spool, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    consumer->data = map_spool(consumer->fd, room, PROT_READ);
    consumer->head = map_spool(consumer->fd, SXT_SPOOL_HEAD_SIZE, PROT_READ | PROT_WRITE);
    if (consumer->spool_path == NULL || consumer->output_path == NULL || consumer->data == NULL ||
        consumer->head == NULL)
        sxt_consumer_close(&consumer);
    return consumer;
}

/* --- the file for events --- */

/*
 * It has no name until the first checkpoint, which is what refers to it. So nothing is left of it if `record` is killed
 * before. Nobody else may read it until it is the trace.
 */
static int create_unnamed(const char *spool_path)
{
    const char *slash = strrchr(spool_path, '/');
    char *folder = slash != NULL ? strndup(spool_path, (size_t)(slash + 1 - spool_path)) : strdup(".");
    int fd =
        folder != NULL && access("/proc/self/fd", X_OK) == 0 ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    free(folder);
    return fd;
}

static char *name_number(const struct sxt_consumer *consumer, unsigned number)
{
    char *path = NULL;
    int size = number > 1 ? asprintf(&path, "%s" SUFFIX "%u", consumer->spool_path, number)
                          : asprintf(&path, "%s" SUFFIX, consumer->spool_path);
    return size > 0 ? path : NULL;
}

/* Gives the file another name. */
static bool link_file(const struct sxt_consumer *consumer, const char *path)
{
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", consumer->output.fd);
    return consumer->events_path != NULL ? linkat(AT_FDCWD, consumer->events_path, AT_FDCWD, path, 0) == 0
                                         : linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* Gives the file a name that does not exist. FD is the file; -1: there is none yet, and it is created. */
static int name_file(struct sxt_consumer *consumer, int fd)
{
    for (unsigned number = 1; number <= NUMBER_MOST; number++) {
        char *path = name_number(consumer, number);
        if (path == NULL)
            return -1;
        int made =
            fd >= 0 ? (link_file(consumer, path) ? fd : -1)
                    : sxt_output_above_standard(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (made >= 0) {
            consumer->events_path = path;
            return made;
        }
        int reason = errno;
        free(path);
        errno = reason;
        if (reason != EEXIST)
            return -1;
    }
    return -1;
}

/* The names and the mode are those that the trace needs in the end. */
static int open_events(struct sxt_consumer *consumer, sxt_error *error)
{
    struct sxt_output *output = &consumer->output;
    struct stat status;
    int result = sxt_output_open_over_link(output, consumer->output_path, error);
    if (result != SXT_OK)
        return result;
    bool is_good = output->temporary != NULL && fstat(output->fd, &status) == 0;
    int fd = is_good ? sxt_output_above_standard(create_unnamed(consumer->spool_path)) : -1;
    if (is_good && fd < 0)
        fd = name_file(consumer, -1);
    if (fd < 0) {
        sxt_output_abandon(output);
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "cannot create a file for events");
    }
    fchmod(fd, 0600); /* whatever the umask */
    consumer->mode = status.st_mode & 0777;
    unlink(output->temporary);
    close(output->fd);
    output->fd = fd;
    return SXT_OK;
}

static void remove_old(struct sxt_consumer *consumer)
{
    if (consumer->old_path != NULL)
        unlink(consumer->old_path);
    free(consumer->old_path);
    consumer->old_path = NULL;
}

/*
 * The events of an earlier program of the process do not count. They are removed once the new file has a name, which so
 * is another one: somebody may be reading the old file.
 */
static int replace_events(struct sxt_consumer *consumer, sxt_error *error)
{
    if (consumer->events_path != NULL) {
        remove_old(consumer);
        consumer->old_path = consumer->events_path;
    }
    consumer->events_path = NULL;
    close_output(&consumer->output);
    return open_events(consumer, error);
}

/* --- while the program runs --- */

static struct sxt_mlyze_settings settings_of(const struct sxt_consumer *consumer, const struct sxt_spool_facts *facts)
{
    return (struct sxt_mlyze_settings){
        .start_us = facts->start_us,
        .codec = SXT_MLYZE_COLUMNS_ZSTD,
        .period = facts->period,
        .pid = facts->pid,
        .threads = 1, /* another thread would keep the priority of this one */
        .keeps_index = consumer->keeps_index,
    };
}

static int begin(struct sxt_consumer *consumer, sxt_error *error)
{
    int status = sxt_spool_follow(consumer->data, (size_t)size_of(consumer->fd), &consumer->spool, error);
    if (status == SXT_OK)
        status = replace_events(consumer, error);
    if (status != SXT_OK)
        return status;
    sxt_spool_consume(consumer->spool);
    sxt_spool_set_stop(consumer->spool, consumer->gives_way);
    if (consumer->before != NULL)
        sxt_spool_inherit(consumer->spool, consumer->before);
    sxt_spool_close(&consumer->before);
    consumer->recorded = (sxt_recorded){.struct_size = sizeof consumer->recorded};
    consumer->saved = 0;
    const struct sxt_mlyze_settings settings = settings_of(consumer, sxt_spool_facts(consumer->spool));
    return sxt_mlyze_writer_open_early(&consumer->output, &settings, &consumer->writer, error);
}

/* The process executes another program: what was consumed does not count. */
static void start_again(struct sxt_consumer *consumer)
{
    sxt_mlyze_writer_close(&consumer->writer);
    sxt_spool_close(&consumer->before);
    consumer->before = consumer->spool;
    consumer->spool = NULL;
    consumer->seen = 0;
    consumer->is_unsettled = false;
}

static int punch(int fd, int mode, int64_t offset, int64_t size)
{
    return fallocate(fd, mode, (off_t)offset, (off_t)size);
}

static int save_locked(struct sxt_consumer *consumer, uint64_t size, sxt_error *error)
{
    if (consumer->events_path == NULL && name_file(consumer, consumer->output.fd) < 0)
        return sxt_fail_errno(error, errno, "cannot create a file for events");
    const char *slash = strrchr(consumer->events_path, '/'), *name = slash != NULL ? slash + 1 : consumer->events_path;
    struct sxt_spool_consumed consumed = {
        .name = {name, strlen(name)}, .size = size, .event_count = consumer->recorded.events};
    memcpy(consumed.header, consumer->header, sizeof consumed.header);
    int status = sxt_spool_save_checkpoint(consumer->spool, consumer->head, consumer->fd, &consumed, error);
    if (status != SXT_OK)
        return status;
    remove_old(consumer);
    consumer->saved = consumer->recorded.events;
    bool is_punched;
    return sxt_spool_release(consumer->spool, consumer->data, consumer->head, consumer->fd, punch, &is_punched, error);
}

/* Saves what was consumed, and releases its windows. If somebody reads the spool, that is done later. */
static int save(struct sxt_consumer *consumer, sxt_error *error)
{
    uint64_t before = consumer->output.size;
    int status = sxt_mlyze_writer_pause(consumer->writer, consumer->header, error);
    if (status != SXT_OK || !sxt_spool_lock(consumer->fd))
        return status;
    status = save_locked(consumer, consumer->output.size, error);
    sxt_spool_unlock(consumer->fd);
    uint64_t size = size_of(consumer->fd);
    atomic_store(&consumer->released, size - sxt_spool_left(consumer->spool, size));
    /* What is on its way to the disk now need not be waited for in the end. */
    (void)sync_file_range(consumer->output.fd, (off_t)before, 0, SYNC_FILE_RANGE_WRITE);
    return status;
}

static bool is_over(const struct sxt_consumer *consumer)
{
    return consumer->spool != NULL && sxt_spool_is_over(consumer->spool, consumer->data);
}

/* Searches again at once if the recorder was too busy. */
static int search(struct sxt_consumer *consumer, bool *is_done, sxt_error *error)
{
    int status = SXT_OK;
    *is_done = false;
    for (unsigned i = 0; i < SEARCHES && status == SXT_OK && !*is_done && !atomic_load(consumer->gives_way); i++)
        status = sxt_spool_catch_up(consumer->spool, consumer->data, consumer->fd, false, is_done, error);
    return status;
}

/* Writes what a search found, a part at a time. */
static int take_found(struct sxt_consumer *consumer, uint64_t least, bool *is_done, sxt_error *error)
{
    uint64_t step = least < STEP_LEAST ? STEP_LEAST : least > STEP_MOST ? STEP_MOST : least;
    const struct sxt_spool_writing how = {
        .writer = consumer->writer, .stop = consumer->gives_way, .most = step / EVENT_BYTES};
    int status;
    do {
        uint64_t before = consumer->recorded.events;
        status = sxt_spool_write_events(consumer->spool, &how, &consumer->recorded, error);
        *is_done = consumer->recorded.events < before + how.most && !atomic_load(consumer->gives_way);
        if (status == SXT_OK && consumer->recorded.events > consumer->saved)
            status = save(consumer, error);
    } while (status == SXT_OK && !*is_done && !atomic_load(consumer->gives_way));
    return status;
}

/* Whether to search. A search leaves the newest events in the spool: when it is quiet, one more takes them out. */
static bool is_worth_it(struct sxt_consumer *consumer, uint64_t size, uint64_t least)
{
    bool is_quiet = size == consumer->last_size;
    consumer->last_size = size;
    return size <= consumer->room && (size >= consumer->seen + least || (is_quiet && consumer->is_unsettled));
}

int sxt_consumer_take(struct sxt_consumer *consumer, uint64_t least, bool *is_done, sxt_error *error)
{
    *is_done = false;
    if (is_over(consumer))
        start_again(consumer);
    uint64_t size = size_of(consumer->fd);
    if (!is_worth_it(consumer, size, least))
        return SXT_OK;
    int status = consumer->spool == NULL ? begin(consumer, error) : SXT_OK;
    if (status == SXT_OK)
        status = search(consumer, is_done, error);
    if (status == SXT_ERROR_UNSUPPORTED && is_over(consumer))
        return SXT_OK; /* since a moment ago: see above */
    if (status != SXT_OK || !*is_done)
        return status;
    status = take_found(consumer, least, is_done, error);
    if (*is_done) {
        consumer->is_unsettled = size >= consumer->seen + least;
        consumer->seen = size;
    }
    return status;
}

uint64_t sxt_consumer_look(const struct sxt_consumer *consumer, uint64_t *most)
{
    struct stat status;
    if (fstat(consumer->fd, &status) != 0)
        return 0;
    uint64_t bytes = (uint64_t)status.st_blocks * 512, released = atomic_load(&consumer->released);
    *most = bytes > *most ? bytes : *most;
    return (uint64_t)status.st_size > released ? (uint64_t)status.st_size - released : 0;
}

/* --- at the end --- */

bool sxt_consumer_park(struct sxt_consumer *consumer)
{
    if (consumer->is_plain || consumer->writer == NULL || consumer->recorded.events == 0 ||
        consumer->saved != consumer->recorded.events)
        return false;
    if (consumer->keeps_index)
        sxt_mlyze_writer_take_index(consumer->writer, &consumer->index);
    release(consumer);
    close(consumer->output.fd);
    consumer->output.fd = -1;
    consumer->is_parked = true;
    return true;
}

/* Until nothing moves: a thread of the program may be in the middle of a copy when the recording is stopped. */
static int catch_up_all(struct sxt_consumer *consumer, sxt_error *error)
{
    bool is_done = false;
    int status = SXT_OK;
    for (unsigned i = 0; i < ATTEMPTS && status == SXT_OK && !is_done; i++)
        status = sxt_spool_catch_up(consumer->spool, consumer->data, consumer->fd, true, &is_done, error);
    return status == SXT_OK && !is_done
               ? sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "the recorder does not stop")
               : status;
}

/* Adds the metadata. FACTS are those of the end. */
static int complete(struct sxt_consumer *consumer, const struct sxt_spool *spool,
                    const sxt_trace_write_options *options, sxt_error *error)
{
    const struct sxt_spool_facts *facts = sxt_spool_facts(spool);
    struct sxt_spool_metadata metadata;
    int status = sxt_spool_names(facts, options, &metadata, error);
    if (status != SXT_OK)
        return status;
    sxt_string rest = {(const char *)metadata.rest.data, metadata.rest.size};
    sxt_mlyze_writer_set_dropped(consumer->writer, facts->dropped);
    consumer->recorded.functions = metadata.tables.function_count;
    status = sxt_mlyze_writer_finish_tables(consumer->writer, &metadata.tables, rest, error);
    sxt_spool_metadata_free(&metadata);
    sxt_spool_describe(spool, &consumer->recorded);
    return status;
}

static int write_rest(struct sxt_consumer *consumer, const sxt_trace_write_options *options, sxt_error *error)
{
    const struct sxt_spool_writing how = {
        .writer = consumer->writer, .size = size_of(consumer->fd), .options = options};
    int status = catch_up_all(consumer, error);
    if (status == SXT_OK)
        status = sxt_spool_write_events(consumer->spool, &how, &consumer->recorded, error);
    if (status == SXT_OK)
        status = complete(consumer, consumer->spool, options, error);
    if (status == SXT_OK && consumer->keeps_index)
        sxt_mlyze_writer_take_index(consumer->writer, &consumer->index);
    return status;
}

/* Whether a spool has nothing but what was taken out of it before the consumer was parked. */
static bool is_the_same(const struct sxt_consumer *consumer, struct sxt_spool *spool)
{
    const struct sxt_spool_consumed *consumed = sxt_spool_get_consumed(spool);
    sxt_trace_event event;
    size_t count = 0;
    return consumed != NULL && consumed->event_count == consumer->saved &&
           memcmp(consumed->header, consumer->header, sizeof consumed->header) == 0 &&
           sxt_spool_read(spool, &event, 1, &count, NULL) == SXT_OK && count == 0;
}

/* Goes on where it was parked. */
static int resume(struct sxt_consumer *consumer, const sxt_trace_write_options *options, sxt_error *error)
{
    struct sxt_spool *spool = NULL;
    struct sxt_file file;
    int status = sxt_file_open(&file, consumer->spool_path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_spool_open(file.data, file.size, &spool, error);
    if (status == SXT_OK && !is_the_same(consumer, spool))
        status = sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the process went on");
    if (status == SXT_OK) {
        consumer->output.fd = sxt_output_above_standard(open(consumer->events_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
        const struct sxt_mlyze_settings settings = settings_of(consumer, sxt_spool_facts(spool));
        status = consumer->output.fd >= 0
                     ? sxt_mlyze_writer_resume(&consumer->output, &settings, consumer->header, &consumer->writer, error)
                     : sxt_fail_errno(error, errno, "cannot be opened");
    }
    if (status == SXT_OK)
        status = complete(consumer, spool, options, error);
    sxt_spool_close(&spool);
    sxt_file_close(&file);
    return status;
}

/* Gives the file its temporary name, and commits it. */
static int commit(struct sxt_consumer *consumer, sxt_error *error)
{
    if (fchmod(consumer->output.fd, consumer->mode) != 0 || !link_file(consumer, consumer->output.temporary))
        return sxt_fail_errno(error, errno, "cannot create");
    int status = sxt_output_commit(&consumer->output, error);
    consumer->output = (struct sxt_output){0};
    if (status == SXT_OK && consumer->events_path != NULL)
        unlink(consumer->events_path);
    if (status == SXT_OK) {
        remove_old(consumer);
        sxt_trace_remove_caches(consumer->output_path);
    }
    return status;
}

/* The file for events is removed if the spool does not need it. */
static void drop_events(struct sxt_consumer *consumer)
{
    struct sxt_spool *spool = NULL;
    struct sxt_file file;
    remove_old(consumer);
    if (consumer->events_path == NULL || sxt_file_open(&file, consumer->spool_path, NULL) != SXT_OK)
        return;
    if (sxt_spool_peek(file.data, file.size, &spool, NULL) == SXT_OK && sxt_spool_get_consumed(spool) == NULL)
        unlink(consumer->events_path);
    else if (consumer->output.fd > 0)
        fchmod(consumer->output.fd, 0600);
    sxt_spool_close(&spool);
    sxt_file_close(&file);
}

int sxt_consumer_finish(struct sxt_consumer *consumer, const sxt_trace_write_options *options, sxt_recorded *recorded,
                        sxt_error *error)
{
    int status;
    if (consumer->is_plain || (consumer->writer == NULL && !consumer->is_parked))
        status = sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the trace is not made of these events alone");
    else
        status = consumer->is_parked ? resume(consumer, options, error) : write_rest(consumer, options, error);
    if (status == SXT_OK)
        status = commit(consumer, error);
    if (status != SXT_OK) {
        drop_events(consumer);
        return status;
    }
    *recorded = consumer->recorded;
    if (consumer->index.count > 0)
        sxt_trace_save_index(consumer->output_path, &consumer->index);
    return SXT_OK;
}
