/*
 * consumed.c: reads a spool from which `record` takes events, perhaps at this moment.
 *
 * What was taken out is in a file beside the spool; the spool has its name. A reader holds a shared lock (flock) on the
 * spool while it copies it, or while it reads one that no program writes to any more. `record` takes the lock for
 * itself while it writes a checkpoint and releases windows; if a reader has it, `record` does that later. A lock ends
 * with its process, and does not stop the program that is recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/unnamed.h"
#include "mlyze/spool.h"
#include "trace/trace.h"

#define BATCH         512
#define LOCK_ATTEMPTS 500 /* of 10 ms */

/* --- the lock --- */

bool sxt_spool_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void sxt_spool_unlock(int fd)
{
    (void)flock(fd, LOCK_UN);
}

/* The descriptor of a spool that `record` leaves alone until it is closed; -1 if that cannot be had. */
static int hold(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    for (unsigned i = 0; fd >= 0 && i < LOCK_ATTEMPTS && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    return fd;
}

/* --- a view --- */

static int write_part(int fd, const uint8_t *data, uint64_t start, uint64_t end, sxt_error *error)
{
    while (start < end) {
        ssize_t count = pwrite(fd, data + start, (size_t)(end - start), (off_t)start);
        if (count > 0)
            start += (uint64_t)count;
        else if (count == 0 || errno != EINTR)
            return sxt_fail_errno(error, count == 0 ? EIO : errno, "cannot write a temporary file");
    }
    return SXT_OK;
}

/* Copies the parts of a spool that have content. */
static int copy_parts(const struct sxt_file *file, int fd, sxt_error *error)
{
    struct sxt_spool *spool;
    uint64_t start = 0, end;
    int status = sxt_spool_peek(file->data, file->size, &spool, error);
    for (; status == SXT_OK && sxt_spool_next_part(spool, file->size, &start, &end); start = end)
        status = write_part(fd, file->data, start, end, error);
    if (status == SXT_OK && ftruncate(fd, (off_t)file->size) != 0)
        status = sxt_fail_errno(error, errno, "cannot write a temporary file");
    sxt_spool_close(&spool);
    return status;
}

/*
 * Copies a spool that a program is still writing to, so that it does not change while it is read. A window that was
 * emptied before it was copied is at the end of the file: so what was added since the file was opened is copied last.
 */
static int take_snapshot(const struct sxt_file *file, int fd, struct sxt_file *snapshot, sxt_error *error)
{
    struct sxt_output output;
    struct sxt_file longer;
    int status = sxt_unnamed_open(&output, error);
    if (status != SXT_OK)
        return status;
    status = copy_parts(file, output.fd, error);
    if (status == SXT_OK && fd >= 0 && sxt_file_open_fd(&longer, fd, NULL) == SXT_OK) {
        if (longer.size > file->size)
            status = write_part(output.fd, longer.data, file->size, longer.size, error);
        sxt_file_close(&longer);
    }
    if (status == SXT_OK)
        return sxt_unnamed_read(&output, snapshot, error);
    sxt_output_abandon(&output);
    return status;
}

int sxt_spool_view_open(struct sxt_spool_view *view, const struct sxt_file *file, const char *path, sxt_error *error)
{
    struct sxt_file now;
    view->lock = -1;
    sxt_file_from_memory(&view->file, file->data, file->size);
    if (file->owner != SXT_FILE_MAPPED)
        return SXT_OK;
    int lock = path != NULL ? hold(path) : -1;
    bool is_new = lock >= 0 && sxt_file_open_fd(&now, lock, NULL) == SXT_OK;
    /* It may have become a trace since it was opened. */
    if (is_new && !sxt_spool_is(now.data, now.size)) {
        sxt_file_close(&now);
        is_new = false;
    }
    if (is_new)
        view->file = now;
    view->lock = lock;
    if (!sxt_spool_is_growing(view->file.data))
        return SXT_OK;
    now = view->file;
    sxt_file_from_memory(&view->file, "", 0);
    int status = take_snapshot(&now, lock, &view->file, error);
    if (is_new)
        sxt_file_close(&now);
    if (lock >= 0)
        close(lock);
    view->lock = -1;
    return status;
}

void sxt_spool_view_close(struct sxt_spool_view *view)
{
    sxt_file_close(&view->file);
    if (view->lock >= 0)
        close(view->lock);
    view->lock = -1;
}

/* --- events that were taken out --- */

/* Opens NAME in the folder of PATH. */
static int open_beside(const char *path, sxt_string name, struct sxt_file *file, sxt_error *error)
{
    const char *slash = strrchr(path, '/');
    int folder = slash != NULL ? (int)(slash + 1 - path) : 0;
    char *beside = NULL;
    if (asprintf(&beside, "%.*s%.*s", folder, path, (int)name.size, name.data) < 0)
        return sxt_fail_memory(error, strlen(path) + name.size);
    int status = sxt_file_open(file, beside, error);
    free(beside);
    return status;
}

/* Opens the file that the spool at PATH names. */
static int open_named(const struct sxt_spool_consumed *consumed, const char *path, struct sxt_file *file,
                      sxt_error *error)
{
    int size = (int)consumed->name.size;
    sxt_error reason;
    if (path == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "a part of the recording is in the file '%.*s', so it needs a path", size, consumed->name.data);
    int status = open_beside(path, consumed->name, file, &reason);
    char *real = status != SXT_OK ? realpath(path, NULL) : NULL;
    if (real != NULL)
        status = open_beside(real, consumed->name, file, &reason);
    free(real);
    return status == SXT_OK
               ? SXT_OK
               : sxt_fail(error, status, SXT_NO_OFFSET, "a part of the recording is in the file '%.*s' beside it: %s",
                          size, consumed->name.data, reason.text);
}

/* Gives the file, which is mapped privately, the header that the spool has for it. A shorter file has fewer events. */
static int set_header(const struct sxt_spool_consumed *consumed, const struct sxt_file *file, sxt_error *error)
{
    uint8_t *to = (uint8_t *)(uintptr_t)file->data;
    if (file->owner == SXT_FILE_MAPPED && mprotect(to, SXT_MLYZE_HEADER_SIZE, PROT_READ | PROT_WRITE) != 0)
        return sxt_fail_errno(error, errno, "cannot change the protection of memory");
    memcpy(to, consumed->header, sizeof consumed->header);
    if (file->size < consumed->size)
        sxt_mlyze_header_cut(to, file->size);
    return SXT_OK;
}

static int open_consumed(const struct sxt_spool_consumed *consumed, const char *path, bool is_salvaged,
                         struct sxt_file *file, sxt_error *error)
{
    int status = open_named(consumed, path, file, error);
    if (status != SXT_OK)
        return status;
    if (file->size < (is_salvaged ? SXT_MLYZE_HEADER_SIZE : consumed->size))
        status =
            sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "'%.*s', which has a part of the recording, is cut off",
                     (int)consumed->name.size, consumed->name.data);
    if (status == SXT_OK)
        status = set_header(consumed, file, error);
    if (status != SXT_OK)
        sxt_file_close(file);
    return status;
}

/* Whether an event of the file fits to the spool. A MARKER gets its id. */
static bool adapt(const struct sxt_spool_facts *facts, const struct sxt_spool_writing *how, sxt_trace_event *event)
{
    if (event->kind == SXT_TRACE_MARKER) {
        if ((uint64_t)event->stack + 1 >= facts->marker_count)
            return false;
        event->stack = how->markers[event->stack + 1];
    }
    return event->kind <= SXT_TRACE_MARKER && (event->kind != SXT_TRACE_ALLOC || event->stack < facts->stack_count);
}

/* Where the events are written to. */
struct replaying {
    struct sxt_spool *spool;
    const struct sxt_spool_writing *how;
    sxt_recorded *recorded;
    uint64_t count;    /* events that were read */
    uint64_t unfit;    /* of these: that do not fit to the spool */
    uint64_t unpaired; /* of these: frees whose allocation is lost */
    uint64_t time;     /* of the last one */
};

/* False: something before it is lost, so it has no meaning. */
static bool is_whole(struct replaying *replaying, const sxt_trace_event *event, uint64_t live_before, uint64_t live)
{
    bool is_unpaired = event->kind == SXT_TRACE_FREE && live == live_before;
    replaying->unpaired += is_unpaired;
    return !is_unpaired;
}

static int write_one(struct replaying *replaying, sxt_trace_event *event, sxt_error *error)
{
    const struct sxt_spool_writing *how = replaying->how;
    struct sxt_spool_live live;
    uint64_t before = replaying->recorded->left_blocks;
    if (!adapt(sxt_spool_facts(replaying->spool), how, event)) {
        replaying->unfit++;
        return how->is_salvaged ? SXT_OK
                                : sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                                           "the events beside the recording are not those of this recording");
    }
    int status = sxt_spool_replay(replaying->spool, event, &live, 1, error);
    if (status != SXT_OK || (how->is_salvaged && !is_whole(replaying, event, before, live.count)))
        return status;
    if (how->is_salvaged && event->time < replaying->time)
        event->time = replaying->time;
    replaying->time = event->time;
    status = sxt_mlyze_write(how->writer, event, error);
    sxt_mlyze_writer_live(how->writer, live.bytes, live.count);
    sxt_spool_count_event(event, &live, replaying->recorded);
    return status;
}

/* Reads all events. Damage is skipped if what is whole is to be salvaged. */
static int replay(struct replaying *replaying, struct sxt_mlyze_cursor *cursor, sxt_error *error)
{
    sxt_trace_event events[BATCH];
    for (;;) {
        size_t count = 0;
        int status = sxt_mlyze_read(cursor, events, BATCH, &count, error);
        if (status != SXT_OK && replaying->how->is_salvaged && status != SXT_ERROR_MEMORY) {
            if (!sxt_mlyze_skip_damage(cursor, NULL))
                return SXT_OK;
            continue;
        }
        for (size_t i = 0; i < count && status == SXT_OK; i++)
            status = write_one(replaying, &events[i], error);
        replaying->count += count;
        if (status != SXT_OK || count == 0)
            return status;
    }
}

/* Says how much is lost. */
static void report_loss(const struct sxt_spool_consumed *consumed, const struct replaying *replaying, const char *path)
{
    const sxt_trace_write_options *options = replaying->how->options;
    uint64_t whole = replaying->count - replaying->unfit;
    char text[200];
    if (whole >= consumed->event_count || options == NULL || options->warning == NULL)
        return;
    int size = snprintf(text, sizeof text, "%llu of %llu events cannot be read and were left out",
                        (unsigned long long)(consumed->event_count - whole), (unsigned long long)consumed->event_count);
    if (replaying->unpaired > 0 && size > 0 && (size_t)size < sizeof text)
        snprintf(text + size, sizeof text - (size_t)size, ", and so were %llu frees of blocks that they had",
                 (unsigned long long)replaying->unpaired);
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    char *beside = NULL;
    if (asprintf(&beside, "%.*s%.*s", slash != NULL ? (int)(slash + 1 - path) : 0, path != NULL ? path : "",
                 (int)consumed->name.size, consumed->name.data) < 0)
        return;
    options->warning(options->data, beside, text);
    free(beside);
}

static int replay_file(struct replaying *replaying, const struct sxt_file *file, uint64_t size, sxt_error *error)
{
    struct sxt_mlyze *trace = NULL;
    struct sxt_mlyze_cursor *cursor = NULL;
    int status = sxt_mlyze_open(file->data, (size_t)(size < file->size ? size : file->size), &trace, error);
    if (status == SXT_OK)
        status = sxt_mlyze_cursor_open(trace, &cursor, error);
    if (status == SXT_OK)
        status = replay(replaying, cursor, error);
    else if (replaying->how->is_salvaged && status != SXT_ERROR_MEMORY)
        status = SXT_OK; /* all of it is lost */
    sxt_mlyze_cursor_close(&cursor);
    sxt_mlyze_close(&trace);
    return status;
}

int sxt_spool_write_consumed(struct sxt_spool *spool, const char *path, const struct sxt_spool_writing *how,
                             sxt_recorded *recorded, sxt_error *error)
{
    const struct sxt_spool_consumed *consumed = sxt_spool_get_consumed(spool);
    struct replaying replaying = {.spool = spool, .how = how, .recorded = recorded};
    struct sxt_file file;
    recorded->sample_period = sxt_spool_facts(spool)->period;
    int status = open_consumed(consumed, path, how->is_salvaged, &file, error);
    if (status == SXT_OK) {
        status = replay_file(&replaying, &file, consumed->size, error);
        sxt_file_close(&file);
    } else if (how->is_salvaged && status != SXT_ERROR_MEMORY) {
        status = SXT_OK; /* all of it is lost */
    }
    if (how->is_salvaged) {
        report_loss(consumed, &replaying, path);
        return status;
    }
    if (status == SXT_OK && replaying.count != consumed->event_count)
        status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "'%.*s' has %llu events of the recording, not %llu",
                          (int)consumed->name.size, consumed->name.data, (unsigned long long)replaying.count,
                          (unsigned long long)consumed->event_count);
    return status;
}
