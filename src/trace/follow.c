/*
 * follow.c: consumes a recording while the program still runs, so that little is left to do at its end, and the disk
 * holds the events once. consumer.c does that for one spool: that of the program, or that of a child.
 *
 * A thread of the lowest priority looks at the spools from time to time. Without privileges, it could not get a higher
 * priority later. So there is a second thread of normal priority, which only looks at the sizes of the spools; if more
 * than URGENT bytes are waiting, it does the work itself until there are fewer. The program is never stopped.
 *
 * Spools of children are found in their folder. At most ACTIVE_MOST of them are consumed at the same time, because each
 * needs memory. When a child has ended, everything is taken out of its spool, and what was needed for that is freed:
 * only the metadata is left to do at the end.
 *
 * If anything goes wrong here, the trace is made at the end, from the last checkpoint on.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "base/process.h"
#include "base/task.h"
#include "trace/consumer.h"
#include "trace/trace.h"

#define ROOM        ((size_t)1 << 40) /* of addresses: what the spool of the program may grow to */
#define CHILD_ROOM  ((size_t)1 << 36)
#define PAUSE_NS    50000000
#define LEAST       ((uint64_t)8 << 20)   /* bytes that are worth a search */
#define LEAST_EVER  ((uint64_t)1 << 20)   /* what LEAST may be lowered to */
#define URGENT      ((uint64_t)128 << 20) /* bytes that wait: too many for a thread of low priority */
#define URGENT_MOST ((uint64_t)1 << 50)
#define ENDED_LEAST ((uint64_t)256 << 10) /* bytes of a child that has ended, which are not left for the end */
#define ACTIVE_MOST 16                    /* children */
#define SCAN_SHARE  50                    /* a search for children takes at most this part of the time */
#define SETTLED_S   0.1                   /* all events that are older than this are taken out */

/* A child, as it was found in its folder. */
struct child {
    long pid;
    uint64_t size; /* of its spool */
};

/* A spool of a child that is consumed, or was. */
struct consumed_child {
    long pid;
    struct sxt_consumer *consumer; /* NULL: that failed, or cannot be done any more */
    double ended;                  /* seconds: when the process was found to have ended; 0: it was not */
    bool is_parked;
};

struct sxt_recording_children {
    const sxt_recording *recording;
    char *pattern;
    sxt_recording_follower *follower;
    /* Of the thread of normal priority. */
    double next_scan;
    /* Of both threads. */
    pthread_mutex_t mutex;
    struct child *found; /* at the last search, by process ID */
    size_t found_count;
    uint64_t bytes; /* on the disk, of all their spools */
    /* Of who is working. */
    struct consumed_child *list;
    size_t count, capacity;
};

struct sxt_recording_follower {
    sxt_trace_write_options options;
    pthread_t threads[2];
    size_t thread_count;
    uint64_t urgent, least; /* bytes: see below */
    atomic_bool stop;
    atomic_bool gives_way; /* who is working stops soon */
    atomic_bool is_urgent; /* the thread of normal priority works */
    uint64_t most_bytes;   /* that the spools had on the disk */
    pthread_mutex_t mutex; /* of who is working */
    struct sxt_consumer *program;
    int status; /* of that, so far */
    struct sxt_recording_children *_Atomic children;
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void free_follower(sxt_recording_follower **follower)
{
    if (*follower == NULL)
        return;
    sxt_consumer_close(&(*follower)->program);
    pthread_mutex_destroy(&(*follower)->mutex);
    free(*follower);
    *follower = NULL;
}

/* --- children --- */

/* The paths of a child's trace and of its spool. */
static bool name_child(const struct sxt_recording_children *children, long pid, char output[PATH_MAX],
                       char spool[PATH_MAX])
{
    return sxt_recording_fill_in(children->pattern, pid, output, PATH_MAX) &&
           snprintf(spool, PATH_MAX, "%s%s", output, sxt_recording_suffix(children->recording)) < PATH_MAX;
}

/* Looks for children and at the sizes of their spools, if it is time for that. */
static void scan(struct sxt_recording_children *children)
{
    char output[PATH_MAX], spool[PATH_MAX];
    double began = seconds_now();
    long *pids = NULL;
    size_t count = 0, kept = 0;
    uint64_t bytes = 0;
    if (began < children->next_scan)
        return;
    (void)sxt_recording_find_children(children->recording, children->pattern, &pids, &count, NULL);
    struct child *found = calloc(count + 1, sizeof *found);
    for (size_t i = 0; i < count && found != NULL; i++) {
        struct stat status;
        if (!name_child(children, pids[i], output, spool) || stat(spool, &status) != 0)
            continue;
        bytes += (uint64_t)status.st_blocks * 512;
        found[kept++] = (struct child){pids[i], (uint64_t)status.st_size};
    }
    free(pids);
    if (found != NULL) {
        pthread_mutex_lock(&children->mutex);
        struct child *before = children->found;
        children->found = found;
        children->found_count = kept;
        children->bytes = bytes;
        pthread_mutex_unlock(&children->mutex);
        free(before);
    }
    double now = seconds_now();
    children->next_scan = now + (now - began) * SCAN_SHARE;
}

static struct consumed_child *find_consumed(const struct sxt_recording_children *children, long pid)
{
    for (size_t i = 0; i < children->count; i++)
        if (children->list[i].pid == pid)
            return &children->list[i];
    return NULL;
}

static size_t count_active(const struct sxt_recording_children *children)
{
    size_t count = 0;
    for (size_t i = 0; i < children->count; i++)
        count += children->list[i].consumer != NULL && !children->list[i].is_parked;
    return count;
}

/* Begins to consume a child. */
static void add_child(struct sxt_recording_children *children, long pid)
{
    char output[PATH_MAX], spool[PATH_MAX];
    const sxt_recording_follower *follower = children->follower;
    if (!name_child(children, pid, output, spool) || !sxt_recording_is_attached(children->recording, spool, pid))
        return;
    void *moved = sxt_array_grow(children->list, &children->capacity, children->count + 1, sizeof *children->list);
    if (moved == NULL)
        return;
    children->list = moved;
    children->list[children->count++] = (struct consumed_child){
        .pid = pid,
        .consumer = sxt_consumer_open(spool, output, &follower->options, CHILD_ROOM, &follower->gives_way),
    };
}

/* Begins with those that are worth it, as long as there are not too many. */
static void add_children(struct sxt_recording_children *children)
{
    size_t active = count_active(children);
    pthread_mutex_lock(&children->mutex);
    size_t count = children->found_count;
    struct child *found = malloc((count + 1) * sizeof *found);
    if (found != NULL && count > 0)
        memcpy(found, children->found, count * sizeof *found);
    pthread_mutex_unlock(&children->mutex);
    for (size_t i = 0; i < count && found != NULL && active < ACTIVE_MOST; i++) {
        bool is_worth_it = found[i].size >= children->follower->least ||
                           (found[i].size >= ENDED_LEAST && !sxt_process_is_running(found[i].pid));
        if (!is_worth_it || find_consumed(children, found[i].pid) != NULL)
            continue;
        add_child(children, found[i].pid);
        active++;
    }
    free(found);
}

/* Takes more out of the spool of a child; everything if it has ended. */
static void take_child(const sxt_recording_follower *follower, struct consumed_child *child)
{
    sxt_error error;
    bool is_done;
    double now = seconds_now();
    if (child->ended == 0 && !sxt_process_is_running(child->pid))
        child->ended = now;
    bool has_ended = child->ended != 0 && now - child->ended > SETTLED_S;
    if (sxt_consumer_take(child->consumer, has_ended ? 0 : follower->least, &is_done, &error) != SXT_OK)
        sxt_consumer_close(&child->consumer);
    else if (has_ended && is_done)
        child->is_parked = sxt_consumer_park(child->consumer);
}

static void take_children(sxt_recording_follower *follower)
{
    struct sxt_recording_children *children = atomic_load(&follower->children);
    if (children == NULL)
        return;
    add_children(children);
    for (size_t i = 0; i < children->count && !atomic_load(&follower->gives_way); i++)
        if (children->list[i].consumer != NULL && !children->list[i].is_parked)
            take_child(follower, &children->list[i]);
}

/* --- the threads --- */

/* Works, unless the other thread does. */
static void work(sxt_recording_follower *follower, bool is_urgent)
{
    sxt_error error;
    bool is_done;
    pthread_mutex_lock(&follower->mutex);
    if (!atomic_load(&follower->gives_way) && atomic_load(&follower->is_urgent) == is_urgent) {
        if (follower->status == SXT_OK)
            follower->status = sxt_consumer_take(follower->program, follower->least, &is_done, &error);
        take_children(follower);
    }
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

/* How much of the spools waits to be consumed. */
static uint64_t look(sxt_recording_follower *follower)
{
    struct sxt_recording_children *children = atomic_load(&follower->children);
    uint64_t bytes = 0, others = 0;
    uint64_t waiting = sxt_consumer_look(follower->program, &bytes);
    if (children != NULL) {
        scan(children);
        pthread_mutex_lock(&children->mutex);
        others = children->bytes;
        pthread_mutex_unlock(&children->mutex);
    }
    bytes += others;
    follower->most_bytes = bytes > follower->most_bytes ? bytes : follower->most_bytes;
    return waiting + others;
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
    for (size_t i = 0; i < 2; i++)
        if (follower->thread_count == i && sxt_thread_start(&follower->threads[i], functions[i], follower))
            follower->thread_count++;
    return follower->thread_count > 0;
}

static void end_threads(sxt_recording_follower *follower)
{
    const struct sched_param none = {0};
    atomic_store(&follower->stop, true);
    /* Its work ends soon, but that takes long on a busy machine. Only with privileges, or with a limit that allows it.
     */
    if (follower->thread_count > 0)
        (void)pthread_setschedparam(follower->threads[0], SCHED_OTHER, &none);
    for (size_t i = follower->thread_count; i > 0; i--) {
        atomic_store(&follower->gives_way, true);
        pthread_join(follower->threads[i - 1], NULL);
    }
    follower->thread_count = 0;
    (void)look(follower);
}

/* SEXTANT_CONSUME_AT=BYTES: for disks with little space, and to test what a machine without idle time does not reach.
 */
static void set_limits(sxt_recording_follower *follower)
{
    const char *given = getenv("SEXTANT_CONSUME_AT");
    char *end = NULL;
    unsigned long long bytes = given != NULL ? strtoull(given, &end, 10) : 0;
    bool is_number = given != NULL && end != given && *end == 0 && given[0] != '-';
    follower->urgent = is_number && bytes < URGENT_MOST ? bytes : URGENT;
    follower->least = follower->urgent < LEAST ? follower->urgent : LEAST;
    follower->least = follower->least > LEAST_EVER ? follower->least : LEAST_EVER;
}

int sxt_recording_follow(const sxt_recording *recording, const char *output, const sxt_trace_write_options *given,
                         sxt_recording_follower **out, sxt_error *error)
{
    sxt_trace_write_options options;
    *out = NULL;
    int status = sxt_trace_take_write_options(given, &options, error);
    if (status != SXT_OK)
        return status;
    sxt_recording_follower *follower = calloc(1, sizeof *follower);
    if (follower == NULL)
        return sxt_fail_memory(error, sizeof *follower);
    follower->options = options;
    set_limits(follower);
    pthread_mutex_init(&follower->mutex, NULL);
    follower->program = sxt_consumer_open(sxt_recording_path(recording), output, &options, ROOM, &follower->gives_way);
    if (follower->program == NULL || !start(follower)) {
        free_follower(&follower);
        return sxt_fail_memory(error, ROOM);
    }
    *out = follower;
    return SXT_OK;
}

int sxt_recording_follow_finish(sxt_recording_follower **given, sxt_recorded *result, sxt_error *error)
{
    sxt_recording_follower *follower = *given;
    sxt_recorded recorded = {.struct_size = sizeof recorded};
    *given = NULL;
    end_threads(follower);
    int status = follower->status == SXT_OK
                     ? sxt_consumer_finish(follower->program, &follower->options, &recorded, error)
                     : sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "nothing was made of the recording yet");
    recorded.most_spool_bytes = follower->most_bytes;
    recorded.usual_spool_bytes = 2 * follower->urgent;
    if (result != NULL)
        sxt_result_give(result, &recorded, sizeof recorded);
    if (atomic_load(&follower->children) == NULL) /* otherwise they need it */
        free_follower(&follower);
    return status;
}

/* --- children, for others --- */

int sxt_recording_follow_children(sxt_recording_follower *follower, const sxt_recording *recording, const char *pattern,
                                  sxt_recording_children **out, sxt_error *error)
{
    sxt_recording_children *children = calloc(1, sizeof *children);
    *out = NULL;
    if (children == NULL || (children->pattern = strdup(pattern)) == NULL) {
        free(children);
        return sxt_fail_memory(error, sizeof *children);
    }
    children->recording = recording;
    children->follower = follower;
    pthread_mutex_init(&children->mutex, NULL);
    atomic_store(&follower->children, children);
    *out = children;
    return SXT_OK;
}

int sxt_recording_finish_child(sxt_recording_children *children, long pid, const sxt_trace_write_options *given,
                               sxt_recorded *result, sxt_error *error)
{
    sxt_recorded recorded = {.struct_size = sizeof recorded};
    sxt_trace_write_options options;
    int status = sxt_trace_take_write_options(given, &options, error);
    struct consumed_child *child = find_consumed(children, pid);
    if (status == SXT_OK)
        status = child != NULL && child->consumer != NULL
                     ? sxt_consumer_finish(child->consumer, &options, &recorded, error)
                     : sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "nothing was made of the recording yet");
    if (child != NULL)
        sxt_consumer_close(&child->consumer);
    if (result != NULL)
        sxt_result_give(result, &recorded, sizeof recorded);
    return status;
}

void sxt_recording_children_close(sxt_recording_children **given)
{
    sxt_recording_children *children = *given;
    if (children == NULL)
        return;
    for (size_t i = 0; i < children->count; i++)
        sxt_consumer_close(&children->list[i].consumer);
    free_follower(&children->follower);
    pthread_mutex_destroy(&children->mutex);
    free(children->list);
    free(children->found);
    free(children->pattern);
    free(children);
    *given = NULL;
}
