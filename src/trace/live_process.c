/*
 * live_process.c: the heap of one process while it is recorded.
 *
 * The figures are those of the events that `record` took out of the spool (`base`), and of those that are still in it.
 * The latter are kept as a list of changes: when `record` has saved a new checkpoint, they are taken back, and read
 * again from the file that `record` writes, where they have the order and the numbers of stacks of the finished trace.
 * So an event is read twice, and never more often. While `record` takes out many events between two updates, those in
 * the spool are only read at the end, or when there are fewer: the figures are then a moment older, for half the
 * effort.
 *
 * The spool is locked (shared, flock) from the moment when it is known that there is no newer checkpoint until its
 * windows were read: `record` then saves none, and releases none of them. The file with the events is only added to, so
 * it is read without the lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/output.h"
#include "base/process.h"
#include "trace/live.h"

#define BATCH         512
#define ROOM_MOST     ((size_t)1 << 40) /* of addresses: what the spool may grow to */
#define ROOM_LEAST    ((size_t)1 << 26)
#define CHANGES_MOST  ((size_t)2 << 20) /* more are not kept */
#define CHANGES_KEPT  ((size_t)64 << 10)
#define PAGES_KEPT    ((uint64_t)16 << 20) /* bytes of a spool */
#define WAITS_S       10                   /* for `record` to take events out, when there are too many */
#define LOCK_ATTEMPTS 500                  /* of 10 ms */
#define SEARCHES      20                   /* that are made at once while the recorder is busy */
#define ROUNDS        8                    /* after that, events are read while the spool is locked */
#define FEW_EVENTS    100000               /* that may be read while it is */
#define MANY_EVENTS   500000 /* that were taken out since the last update: the rest can wait until the next */

struct sxt_live_change {
    uint64_t address, size;
    uint32_t stack;
    uint16_t thread;
    uint8_t kind;
    struct sxt_spool_ended ended;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t size_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size : 0;
}

/* --- opening --- */

/* Addresses may be limited: then the spool may grow less. */
static bool map_spool(struct sxt_live_process *process)
{
    for (process->room = ROOM_MOST; process->room >= ROOM_LEAST; process->room /= 4) {
        void *data = mmap(NULL, process->room, PROT_READ, MAP_SHARED | MAP_NORESERVE, process->fd, 0);
        if (data != MAP_FAILED) {
            process->data = data;
            return true;
        }
    }
    return false;
}

static int open_spool(struct sxt_live_process *process, sxt_error *error)
{
    struct stat status;
    uint8_t head[SXT_SPOOL_HEAD_SIZE];
    process->fd = sxt_output_above_standard(open(process->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (process->fd < 0 || fstat(process->fd, &status) != 0)
        return sxt_fail_errno(error, errno, "cannot be opened");
    process->device = status.st_dev;
    process->inode = status.st_ino;
    if (!S_ISREG(status.st_mode))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "is not a regular file");
    ssize_t size = pread(process->fd, head, sizeof head, 0);
    if (size != (ssize_t)sizeof head || !sxt_spool_is(head, sizeof head))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not a recording that is running");
    process->pid = sxt_spool_read_control(head).pid;
    return map_spool(process) ? SXT_OK : sxt_fail_errno(error, errno, "cannot be mapped");
}

int sxt_live_process_open(const char *path, struct sxt_live_process **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_live_process *process = calloc(1, sizeof *process);
    if (process == NULL)
        return sxt_fail_memory(error, sizeof *process);
    process->fd = process->events_fd = -1;
    process->path = strdup(path);
    process->threads = calloc(SXT_LIVE_THREADS, sizeof *process->threads);
    int status = process->path != NULL && process->threads != NULL
                     ? open_spool(process, error)
                     : sxt_fail_memory(error, SXT_LIVE_THREADS * sizeof *process->threads);
    if (status != SXT_OK)
        sxt_live_process_close(&process);
    *out = process;
    return status;
}

void sxt_live_process_close(struct sxt_live_process **given)
{
    struct sxt_live_process *process = *given;
    if (process == NULL)
        return;
    sxt_spool_close(&process->spool);
    if (process->data != NULL)
        munmap((void *)(uintptr_t)process->data, process->room);
    if (process->fd >= 0)
        close(process->fd);
    if (process->events_fd >= 0)
        close(process->events_fd);
    free(process->events_name);
    free(process->changes);
    free(process->stacks);
    free(process->threads);
    free(process->path);
    free(process);
    *given = NULL;
}

/* --- figures --- */

void sxt_live_course_add(struct sxt_live_course *course, uint64_t time, uint64_t bytes, uint64_t allocations)
{
    sxt_watch_point *last = course->count > 0 ? &course->points[course->count - 1] : NULL;
    if (last != NULL && time < last->time_us + course->step) {
        last->live_bytes = bytes > last->live_bytes ? bytes : last->live_bytes;
        last->allocations = allocations;
        return;
    }
    if (course->count == SXT_LIVE_POINTS) {
        for (size_t i = 0; i < SXT_LIVE_POINTS / 2; i++) {
            const sxt_watch_point *pair = &course->points[2 * i];
            course->points[i] = pair[0];
            course->points[i].allocations = pair[1].allocations;
            if (pair[1].live_bytes > pair[0].live_bytes)
                course->points[i].live_bytes = pair[1].live_bytes;
        }
        course->count /= 2;
        course->step = course->step > 0 ? course->step * 2 : 1;
    }
    course->points[course->count++] = (sxt_watch_point){time, bytes, allocations};
}

/* The bytes and parts that a block of SIZE bytes counts as. */
static uint64_t scale(uint64_t period, uint64_t size, uint64_t *parts)
{
    *parts = SXT_LIVE_PARTS;
    if (__builtin_expect(period == 0, 1))
        return size;
    double weight = sxt_spool_weight(period, size), bytes = (double)size * weight;
    *parts = weight < 9e15 ? (uint64_t)(weight * SXT_LIVE_PARTS + 0.5) : (uint64_t)9e18;
    return bytes < 9e18 ? (uint64_t)(bytes + 0.5) : (uint64_t)9e18;
}

static void begin_block(struct sxt_live_sums *sums, uint64_t bytes, uint64_t parts)
{
    sums->live_bytes += bytes;
    sums->live_parts += parts;
    sums->allocated_bytes += bytes;
    sums->allocated_parts += parts;
}

static void forget_block(struct sxt_live_sums *sums, uint64_t bytes, uint64_t parts)
{
    sums->live_bytes -= bytes;
    sums->live_parts -= parts;
    sums->allocated_bytes -= bytes;
    sums->allocated_parts -= parts;
}

/* DIRECTION is -1, or 1 if it is taken back. */
static void end_block(struct sxt_live_process *process, const struct sxt_spool_ended *ended, uint64_t period,
                      uint64_t direction)
{
    uint64_t parts, bytes = scale(period, ended->size, &parts) * direction;
    struct sxt_live_sums *all[] = {&process->now.sums, &process->stacks[ended->stack],
                                   &process->threads[ended->thread]};
    for (size_t i = 0; i < 3; i++) {
        all[i]->live_bytes += bytes;
        all[i]->live_parts += parts * direction;
    }
}

static void count_event(struct sxt_live_process *process, const sxt_trace_event *event,
                        const struct sxt_spool_ended *ended, uint64_t period)
{
    struct sxt_live_totals *now = &process->now;
    uint64_t parts, bytes;
    now->events++;
    now->time = event->time;
    if (ended->is_there)
        end_block(process, ended, period, (uint64_t)-1);
    if (event->kind == SXT_TRACE_ALLOC) {
        bytes = scale(period, event->size, &parts);
        begin_block(&now->sums, bytes, parts);
        begin_block(&process->stacks[event->stack], bytes, parts);
        begin_block(&process->threads[event->thread], bytes, parts);
        if (now->sums.live_bytes > now->peak_bytes) {
            now->peak_bytes = now->sums.live_bytes;
            now->peak_time = event->time;
        }
    } else if (event->kind == SXT_TRACE_FREE) {
        now->frees++;
    } else if (event->kind == SXT_TRACE_MARKER) {
        now->markers++;
        now->marker = event->stack;
        now->marker_time = event->time;
    }
    sxt_live_course_add(&process->course, event->time, now->sums.live_bytes,
                        now->sums.allocated_parts / SXT_LIVE_PARTS);
}

/* Room for the sums of all stacks that events may have. */
static int make_stacks(struct sxt_live_process *process, sxt_error *error)
{
    size_t count = sxt_spool_facts(process->spool)->stack_count;
    if (count <= process->stack_count)
        return SXT_OK;
    void *moved = sxt_array_grow(process->stacks, &process->stack_capacity, count, sizeof *process->stacks);
    if (moved == NULL)
        return sxt_fail_memory(error, count * sizeof *process->stacks);
    process->stacks = moved;
    memset(process->stacks + process->stack_count, 0, (count - process->stack_count) * sizeof *process->stacks);
    process->stack_count = count;
    return SXT_OK;
}

/* The process executed another program, or the figures cannot be continued: everything is read again. */
static void start_again(struct sxt_live_process *process)
{
    sxt_spool_close(&process->spool);
    if (process->events_fd >= 0)
        close(process->events_fd);
    free(process->events_name);
    process->events_fd = -1;
    process->events_name = NULL;
    process->events_offset = 0;
    process->base = process->now = (struct sxt_live_totals){0};
    process->last_events = 0;
    process->change_count = 0;
    process->full_since = 0;
    process->cannot_go_back = process->is_final = process->is_whole = false;
    process->stack_count = 0;
    memset(process->threads, 0, SXT_LIVE_THREADS * sizeof *process->threads);
    process->course.count = 0;
    process->course.step = 0;
}

/* --- changes --- */

/* False if there is no room: then the event must not be counted. */
static bool has_room(struct sxt_live_process *process)
{
    if (process->cannot_go_back)
        return true;
    void *moved = process->change_count + BATCH <= CHANGES_MOST
                      ? sxt_array_grow(process->changes, &process->change_capacity, process->change_count + BATCH,
                                       sizeof *process->changes)
                      : NULL;
    if (moved != NULL)
        process->changes = moved;
    return moved != NULL;
}

static void keep(struct sxt_live_process *process, const sxt_trace_event *event, const struct sxt_spool_ended *ended)
{
    if (!process->cannot_go_back && event->kind <= SXT_TRACE_FREE)
        process->changes[process->change_count++] =
            (struct sxt_live_change){event->address, event->size, event->stack, event->thread, event->kind, *ended};
}

/* Takes back everything that was read from the spool. */
static int go_back(struct sxt_live_process *process, sxt_error *error)
{
    uint64_t period = sxt_spool_facts(process->spool)->period;
    while (process->change_count > 0) {
        const struct sxt_live_change *change = &process->changes[--process->change_count];
        const sxt_trace_event event = {.kind = change->kind, .address = change->address};
        if (!sxt_spool_watch_undo(process->spool, &event, &change->ended))
            return sxt_fail_memory(error, sizeof *change);
        if (change->kind == SXT_TRACE_ALLOC) {
            uint64_t parts, bytes = scale(period, change->size, &parts);
            forget_block(&process->stacks[change->stack], bytes, parts);
            forget_block(&process->threads[change->thread], bytes, parts);
        }
        if (change->ended.is_there)
            end_block(process, &change->ended, period, 1);
    }
    process->now = process->base;
    process->full_since = 0;
    return SXT_OK;
}

/* --- what was taken out of the spool --- */

/* The descriptor stays valid when `record` makes the trace of this file. */
static int open_events(struct sxt_live_process *process, sxt_string name, sxt_error *error)
{
    const char *slash = strrchr(process->path, '/');
    int folder = slash != NULL ? (int)(slash + 1 - process->path) : 0;
    char *path = NULL;
    if (process->events_name != NULL && strlen(process->events_name) == name.size &&
        memcmp(process->events_name, name.data, name.size) == 0)
        return SXT_OK;
    if (process->events_fd >= 0)
        close(process->events_fd);
    free(process->events_name);
    process->events_fd = -1;
    process->events_name = strndup(name.data, name.size);
    if (process->events_name == NULL || asprintf(&path, "%.*s%s", folder, process->path, process->events_name) < 0)
        return sxt_fail_memory(error, name.size);
    process->events_fd = sxt_output_above_standard(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    int status =
        process->events_fd >= 0 ? SXT_OK : sxt_fail_errno(error, errno, "a part of the recording cannot be opened");
    free(path);
    if (status != SXT_OK) {
        free(process->events_name);
        process->events_name = NULL;
    }
    return status;
}

/* Gives the file the header that the spool has for it. The file is mapped privately. */
static int map_events(struct sxt_live_process *process, const struct sxt_spool_consumed *consumed,
                      struct sxt_file *file, sxt_error *error)
{
    int status = sxt_file_open_fd(file, process->events_fd, error);
    if (status != SXT_OK)
        return status;
    uint8_t *head = (uint8_t *)(uintptr_t)file->data;
    if (file->owner != SXT_FILE_MAPPED || file->size < consumed->size || consumed->size < sizeof consumed->header)
        status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "'%s', which has a part of the recording, is cut off",
                          process->events_name);
    else if (mprotect(head, sizeof consumed->header, PROT_READ | PROT_WRITE) != 0)
        status = sxt_fail_errno(error, errno, "cannot change the protection of memory");
    else
        memcpy(head, consumed->header, sizeof consumed->header);
    if (status != SXT_OK)
        sxt_file_close(file);
    return status;
}

/* In the file, a MARKER has the number of its name less 1. */
static bool adapt(const struct sxt_live_process *process, sxt_trace_event *event)
{
    if (event->kind == SXT_TRACE_MARKER)
        event->stack++;
    return event->kind <= SXT_TRACE_MARKER && (event->kind != SXT_TRACE_ALLOC || event->stack < process->stack_count);
}

static int replay_all(struct sxt_live_process *process, struct sxt_mlyze_cursor *cursor, sxt_error *error)
{
    const struct sxt_spool_facts *facts = sxt_spool_facts(process->spool);
    struct sxt_spool_ended ended[BATCH];
    sxt_trace_event events[BATCH];
    size_t count;
    do {
        int status = sxt_mlyze_read(cursor, events, BATCH, &count, error);
        for (size_t i = 0; i < count && status == SXT_OK; i++)
            if (!adapt(process, &events[i]))
                status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                                  "the events beside the recording are not those of this recording");
        if (status == SXT_OK)
            status = sxt_spool_watch_replay(process->spool, events, ended, count, error);
        if (status != SXT_OK)
            return status;
        for (size_t i = 0; i < count; i++)
            count_event(process, &events[i], &ended[i], facts->period);
    } while (count > 0);
    return SXT_OK;
}

/* Reads the events that were added to the file since the last time. */
static int replay(struct sxt_live_process *process, const struct sxt_spool_consumed *consumed, sxt_error *error)
{
    struct sxt_mlyze *trace = NULL;
    struct sxt_mlyze_cursor *cursor = NULL;
    struct sxt_file file;
    int status = make_stacks(process, error);
    if (status == SXT_OK)
        status = open_events(process, consumed->name, error);
    if (status == SXT_OK)
        status = map_events(process, consumed, &file, error);
    if (status != SXT_OK)
        return status;
    status = sxt_mlyze_open_unread(file.data, (size_t)consumed->size, &trace, error);
    if (status == SXT_OK)
        status = sxt_mlyze_cursor_open(trace, &cursor, error);
    if (status == SXT_OK && process->events_offset > 0)
        status = sxt_mlyze_seek(cursor,
                                &(struct sxt_mlyze_index_entry){.offset = process->events_offset,
                                                                .event = process->base.events,
                                                                .time = process->base.time},
                                error);
    if (status == SXT_OK)
        status = replay_all(process, cursor, error);
    if (status == SXT_OK && process->now.events != consumed->event_count)
        status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "'%s' does not have the events of the recording",
                          process->events_name);
    if (status == SXT_OK) {
        process->events_offset = sxt_mlyze_offset(cursor);
        process->base = process->now;
    }
    sxt_mlyze_cursor_close(&cursor);
    sxt_mlyze_close(&trace);
    sxt_file_close(&file);
    return status;
}

/* --- the spool --- */

/* `record` saves no checkpoint until it is unlocked. If the lock cannot be had, the reader goes on without. */
static void lock(const struct sxt_live_process *process)
{
    for (unsigned i = 0;
         i < LOCK_ATTEMPTS && flock(process->fd, LOCK_SH | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR);
         i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static void unlock(const struct sxt_live_process *process)
{
    (void)flock(process->fd, LOCK_UN);
}

/*
 * Opens the spool at its newest checkpoint. A short recording that has ended is read as `record` does it, so that its
 * stacks get the same numbers.
 */
static int open_at_checkpoint(struct sxt_live_process *process, bool has_ended, sxt_error *error)
{
    struct sxt_spool_control control = sxt_spool_read_control(process->data);
    struct sxt_spool *opened = NULL;
    size_t size = (size_t)size_of(process->fd);
    if (process->has_image && (control.image != process->image || process->cannot_go_back))
        start_again(process);
    process->image = control.image;
    process->has_image = true;
    process->is_whole = has_ended && control.checkpoint == 0;
    int status = size > process->room
                     ? sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "the recording is too large to be followed")
                 : process->is_whole ? sxt_spool_watch_whole(process->data, size, &opened, error)
                                     : sxt_spool_watch(process->data, size, &opened, error);
    if (status == SXT_OK && process->spool != NULL) {
        status = go_back(process, error);
        sxt_spool_watch_move(opened, process->spool);
        sxt_spool_close(&process->spool);
    }
    process->spool = opened;
    process->is_final = has_ended;
    return status;
}

/* Reads what the last search found. */
static int read_found(struct sxt_live_process *process, sxt_error *error)
{
    struct sxt_spool_ended ended[BATCH];
    sxt_trace_event events[BATCH];
    uint64_t period = sxt_spool_facts(process->spool)->period;
    size_t count = 1;
    int status = make_stacks(process, error);
    process->is_behind = false;
    while (status == SXT_OK && count > 0) {
        if (!has_room(process)) {
            process->is_behind = true;
            return SXT_OK;
        }
        status = sxt_spool_watch_read(process->spool, events, ended, BATCH, &count, error);
        for (size_t i = 0; i < count; i++) {
            keep(process, &events[i], &ended[i]);
            count_event(process, &events[i], &ended[i], period);
        }
    }
    return status;
}

/* If nobody takes the events out, it is not necessary to be able to take them back. */
static void stop_waiting(struct sxt_live_process *process, bool has_ended)
{
    double now = seconds_now();
    if (!process->is_behind)
        return;
    if (process->full_since == 0)
        process->full_since = now;
    if (has_ended || now - process->full_since > WAITS_S) {
        process->cannot_go_back = true;
        process->change_count = 0;
    }
}

/* Searches the windows. *IS_DONE is false if the recorder was too busy. The spool is locked. */
static int read_spool(struct sxt_live_process *process, bool has_ended, bool *is_done, sxt_error *error)
{
    int status = SXT_OK;
    *is_done = process->is_whole;
    for (unsigned i = 0; i < SEARCHES && status == SXT_OK && !*is_done; i++)
        status = sxt_spool_catch_up(process->spool, process->data, process->fd, has_ended, is_done, error);
    if (status == SXT_OK && *is_done)
        status = read_found(process, error);
    while (status == SXT_OK && *is_done && process->is_behind && has_ended) {
        stop_waiting(process, true);
        status = read_found(process, error);
    }
    stop_waiting(process, false);
    return status;
}

/* Whether the spool has to be opened again. */
static bool is_outdated(const struct sxt_live_process *process, bool has_ended)
{
    return process->spool == NULL || sxt_spool_is_stale(process->spool, process->data) ||
           (has_ended && !process->is_final && !process->cannot_go_back);
}

/* One attempt, with the spool locked. *IS_DONE is false if there is another checkpoint already. */
static int update_locked(struct sxt_live_process *process, bool has_ended, unsigned round, bool *is_done,
                         sxt_error *error)
{
    *is_done = false;
    int status = is_outdated(process, has_ended) ? open_at_checkpoint(process, has_ended, error) : SXT_OK;
    if (status != SXT_OK)
        return status;
    const struct sxt_spool_consumed *consumed = sxt_spool_get_consumed(process->spool);
    uint64_t wanted = consumed != NULL ? consumed->event_count : 0;
    if (wanted > process->base.events) {
        bool is_much = wanted - process->base.events > FEW_EVENTS && round < ROUNDS;
        if (is_much)
            unlock(process);
        status = replay(process, consumed, error);
        if (is_much || status != SXT_OK)
            return status;
    }
    if (!has_ended && process->base.events - process->last_events >= MANY_EVENTS) {
        *is_done = true;
        return SXT_OK;
    }
    bool was_done;
    status = read_spool(process, has_ended, &was_done, error);
    *is_done = true;
    process->has_ended = status == SXT_OK && has_ended && was_done;
    return status;
}

/* A process that was not waited for does not write any more. One that is not known yet has not begun. */
static bool has_process_ended(const uint8_t *data)
{
    uint32_t pid = sxt_spool_read_control(data).pid;
    return pid != 0 && (!sxt_spool_is_growing(data) || !sxt_process_is_running((long)pid));
}

bool sxt_live_process_is_running(const struct sxt_live_process *process)
{
    return !process->has_ended && !has_process_ended(process->data);
}

static int update(struct sxt_live_process *process, sxt_error *error)
{
    bool is_done = false, has_ended = has_process_ended(process->data);
    int status = SXT_OK;
    process->last_events = process->base.events;
    for (unsigned round = 0; status == SXT_OK && !is_done; round++) {
        lock(process);
        status = update_locked(process, has_ended, round, &is_done, error);
        unlock(process);
    }
    if (status == SXT_ERROR_UNSUPPORTED && process->spool != NULL && sxt_spool_is_over(process->spool, process->data))
        return SXT_OK; /* another program since a moment ago: the next update begins with it */
    return status;
}

/* Memory that was needed for many events at once. The system reads pages of the spool again if they are needed. */
static void give_back(struct sxt_live_process *process)
{
    if (process->change_count == 0 && process->change_capacity > CHANGES_KEPT) {
        free(process->changes);
        process->changes = NULL;
        process->change_capacity = 0;
    }
    uint64_t size = size_of(process->fd);
    if (size > PAGES_KEPT && size <= process->room)
        (void)madvise((void *)(uintptr_t)process->data, (size_t)size, MADV_DONTNEED);
}

int sxt_live_process_update(struct sxt_live_process *process, sxt_error *error)
{
    if (process->has_ended)
        return SXT_OK;
    if (size_of(process->fd) < SXT_SPOOL_HEAD_SIZE)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the recording was cut off");
    int status = update(process, error);
    if (status == SXT_ERROR_FORMAT) { /* perhaps locks have no effect here: once more from the beginning */
        start_again(process);
        status = update(process, error);
    }
    give_back(process);
    process->facts = status == SXT_OK && process->spool != NULL ? sxt_spool_watch_facts(process->spool) : NULL;
    return status;
}
