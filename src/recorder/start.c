/*
 * start.c: is this process to be recorded, and where to?
 *
 * `sextant record` makes the spool and says in the environment where it is and which process is meant. A process that
 * executes another program stays the same process: the new program goes on in the same spool as a new image, and what
 * the old one left does not count. Other processes get a spool of their own when children are to be followed.
 *
 *     SEXTANT_RECORD            path of the spool
 *     SEXTANT_RECORD_PID        the process that it is for
 *     SEXTANT_RECORD_CHILDREN   path of the spools of other processes, with %p for the number; absent: none
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder/hooks.h"
#include "recorder/recorder.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define PATH_MOST 4096

extern char **environ;

static struct alive nobody;

struct process sxt_recording = {.alive = &nobody};

static char spool_path[PATH_MOST], children_path[PATH_MOST];
static bool is_started;

uint64_t sxt_ticks_slow(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sxt_note_moment(struct sxt_spool_moment *moment)
{
    moment->tick = sxt_ticks();
    moment->nanoseconds = sxt_ticks_slow();
}

/* A fork leaves this page zeroed in the child. Where the kernel cannot do that, recording is not safe. */
static struct alive *make_alive(void)
{
    struct alive *alive = sxt_map_memory(4096);
    if (alive == NULL || syscall(SYS_madvise, alive, (size_t)4096, MADV_WIPEONFORK) != 0)
        return NULL;
    return alive;
}

static void begin(struct sxt_spool_control *control, const struct sxt_spool_control *parent)
{
    bool is_sanitized = parent == NULL && sxt_has_sanitizer();
    control->own_allocator = parent != NULL ? parent->own_allocator : is_sanitized || sxt_has_other_malloc();
    if (is_sanitized) {
        control->image++;
        sxt_recording.is_asleep = true;
        return;
    }
    struct alive *alive = sxt_recording.control != NULL ? sxt_recording.alive : make_alive();
    if (alive == NULL || !sxt_tables_make() || !sxt_stacks_make() || (control->period != 0 && !sxt_sample_make())) {
        control->state = SXT_SPOOL_NO_MEMORY;
        sxt_recording.is_asleep = true;
        return;
    }
    sxt_recording.with_mappings = (control->options & SXT_SPOOL_MAPPINGS) != 0;
    sxt_recording.use_counter = (control->options & SXT_SPOOL_TSC) != 0;
    sxt_recording.period = control->period;
    sxt_recording.image = __atomic_add_fetch(&control->image, 1, __ATOMIC_RELAXED);
    control->state = SXT_SPOOL_RECORDING;
    sxt_note_moment(&control->last);
    sxt_recording.control = control;
    sxt_recording.alive = alive;
    __atomic_store_n(&alive->is_alive, 1, __ATOMIC_RELEASE);
}

/* CHILDREN with the process's number for its %p. False when that is too long. */
static bool name_child(char path[PATH_MOST], long pid)
{
    char digits[24];
    size_t count = 0;
    for (long rest = pid; rest > 0 || count == 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    size_t size = 0;
    for (const char *at = children_path; *at != 0; at++) {
        if (size + count + 2 > PATH_MOST)
            return false;
        if (at[0] == '%' && at[1] == 'p') {
            for (size_t i = count; i > 0; i--)
                path[size++] = digits[i - 1];
            at++;
        } else {
            path[size++] = *at;
        }
    }
    path[size] = 0;
    return true;
}

/* Tells the first process's spool of a child. */
static void register_child(struct sxt_spool_control *of_all, uint32_t pid)
{
    uint32_t index = __atomic_fetch_add(&of_all->child_count, 1, __ATOMIC_RELAXED);
    if (index < SXT_SPOOL_CHILDREN_MOST)
        of_all->children[index] = pid;
}

/* In a process other than the first. OF_ALL is the spool of the first one. */
static void begin_child(struct sxt_spool_control *of_all, uint32_t parent)
{
    static char path[PATH_MOST]; /* stacks may be small */
    uint32_t pid = (uint32_t)getpid();
    sxt_recording.is_asleep = true;
    if (children_path[0] == 0 || of_all->stop != 0 || !name_child(path, (long)pid))
        return;
    struct sxt_spool_control *control = sxt_spool_create(path, of_all);
    if (control == NULL || control->image == 0)
        register_child(of_all, pid);
    if (control == NULL)
        return;
    sxt_recording.is_asleep = false;
    control->pid = pid;
    control->parent = parent;
    begin(control, parent != 0 ? of_all : NULL);
}

static bool take_variable(const char *name, char value[PATH_MOST])
{
    const char *text = getenv(name);
    size_t size = text != NULL ? strlen(text) : 0;
    if (size == 0 || size >= PATH_MOST)
        return false;
    memcpy(value, text, size + 1);
    return true;
}

void sxt_start(void)
{
    if (is_started || environ == NULL)
        return;
    is_started = true;
    int kept = errno;
    bool was_busy = sxt_thread.busy;
    sxt_thread.busy = true; /* what is called on the way may allocate */
    const char *pid = getenv("SEXTANT_RECORD_PID");
    bool is_meant = pid != NULL && strtol(pid, NULL, 10) == (long)getpid();
    sxt_recording.is_asleep = true;
    take_variable("SEXTANT_RECORD_CHILDREN", children_path);
    if (take_variable("SEXTANT_RECORD", spool_path) && (is_meant || children_path[0] != 0)) {
        struct sxt_spool_control *control = sxt_spool_attach(spool_path);
        sxt_recording.is_asleep = control == NULL;
        sxt_modules_begin();
        if (control != NULL && is_meant)
            begin(control, NULL);
        else if (control != NULL)
            begin_child(control, 0);
    }
    sxt_thread.busy = was_busy;
    errno = kept;
}

/* The windows are not mapped in a forked child, but its copies of the tables are: they are those of the parent. */
static void after_fork(void)
{
    struct sxt_spool_control *of_parent = sxt_recording.control;
    uint32_t parent = of_parent->pid;
    sxt_writers_forget();
    sxt_stacks_forget();
    sxt_modules_forget();
    struct sxt_spool_control *of_all = children_path[0] != 0 ? sxt_spool_attach(spool_path) : NULL;
    if (of_all == NULL)
        sxt_recording.is_asleep = true;
    else
        begin_child(of_all, parent);
}

bool sxt_wake(void)
{
    if (sxt_thread.busy)
        return false;
    sxt_thread.busy = true;
    int kept = errno;
    if (sxt_recording.control != NULL)
        after_fork();
    else
        sxt_start();
    errno = kept;
    sxt_thread.busy = false;
    return sxt_recording.alive->is_alive != 0;
}

void sxt_stop(enum sxt_spool_state reason)
{
    sxt_recording.control->state = reason;
    sxt_recording.is_asleep = true;
    __atomic_store_n(&sxt_recording.alive->is_alive, 0, __ATOMIC_RELEASE);
}
