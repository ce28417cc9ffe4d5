/*
 * start.c: decides whether this process is recorded, and where to.
 *
 * `sextant record` makes the spool, and passes its path and the number of the process in the environment. If that
 * process executes another program, the program continues in the same spool as a new image, and the events of the old
 * image do not count. Other processes get their own spools if children are followed.
 *
 *     SEXTANT_RECORD            path of the spool
 *     SEXTANT_RECORD_PID        the process that it is for
 *     SEXTANT_RECORD_CHILDREN   path of the spools of other processes, with %p for the process number; absent: none
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

static struct alive inactive;

struct process sxt_recording = {.alive = &inactive};

static char spool_path[PATH_MOST], children_path[PATH_MOST];
static bool is_started;

uint64_t sxt_ticks_slow(void)
{
    if (sxt_recording.last_ticks != 0)
        return sxt_recording.last_ticks;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sxt_note_moment(struct sxt_spool_moment *moment)
{
    moment->tick = sxt_ticks();
    moment->nanoseconds = sxt_ticks_slow();
}

/* A page that is zeroed in a forked child. If the kernel cannot do that, recording is not safe. */
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
        sxt_recording.is_disabled = true;
        return;
    }
    struct alive *alive = sxt_recording.control != NULL ? sxt_recording.alive : make_alive();
    if (alive == NULL || !sxt_rules_make() || !sxt_stacks_make() || (control->period != 0 && !sxt_sample_make())) {
        control->state = SXT_SPOOL_NO_MEMORY;
        sxt_recording.is_disabled = true;
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

/* The path for children, with the process number for %p. False: it is too long. */
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

/* Adds a child to the list in the spool of the first process. */
static void register_child(struct sxt_spool_control *of_first, uint32_t pid)
{
    uint32_t index = __atomic_fetch_add(&of_first->child_count, 1, __ATOMIC_RELAXED);
    if (index < SXT_SPOOL_CHILDREN_MOST)
        of_first->children[index] = pid;
}

/* In a process other than the first. OF_FIRST is the control page of the first one. */
static void begin_child(struct sxt_spool_control *of_first, uint32_t parent)
{
    static char path[PATH_MOST]; /* stacks may be small */
    uint32_t pid = (uint32_t)getpid();
    sxt_recording.is_disabled = true;
    if (children_path[0] == 0 || of_first->stop != 0 || !name_child(path, (long)pid))
        return;
    struct sxt_spool_control *control = sxt_spool_create(path, of_first);
    if (control == NULL || control->image == 0)
        register_child(of_first, pid);
    if (control == NULL)
        return;
    sxt_recording.is_disabled = false;
    control->pid = pid;
    control->parent = parent;
    begin(control, parent != 0 ? of_first : NULL);
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

static void read_environment(void)
{
    if (is_started || environ == NULL)
        return;
    is_started = true;
    const char *pid = getenv("SEXTANT_RECORD_PID");
    bool is_target = pid != NULL && strtol(pid, NULL, 10) == (long)getpid();
    sxt_recording.is_disabled = true;
    take_variable("SEXTANT_RECORD_CHILDREN", children_path);
    if (take_variable("SEXTANT_RECORD", spool_path) && (is_target || children_path[0] != 0)) {
        struct sxt_spool_control *control = sxt_spool_attach(spool_path);
        sxt_recording.is_disabled = control == NULL;
        sxt_modules_begin();
        if (control != NULL && is_target)
            begin(control, NULL);
        else if (control != NULL)
            begin_child(control, 0);
    }
}

/* A forked child has copies of the tables of its parent, but the windows are not mapped in it. */
static void after_fork(void)
{
    struct sxt_spool_control *of_parent = sxt_recording.control;
    uint32_t parent = of_parent->pid;
    sxt_writers_forget();
    sxt_stacks_forget();
    sxt_modules_forget();
    struct sxt_spool_control *of_first = children_path[0] != 0 ? sxt_spool_attach(spool_path) : NULL;
    if (of_first == NULL)
        sxt_recording.is_disabled = true;
    else
        begin_child(of_first, parent);
}

bool sxt_start(void)
{
    if (!sxt_recording.is_disabled && sxt_recording.control != NULL)
        after_fork();
    else if (!sxt_recording.is_disabled)
        read_environment();
    return sxt_recording.alive->is_alive != 0;
}

void sxt_start_early(void)
{
    int saved_errno = errno;
    struct signal_mask mask = sxt_signals_block();
    sxt_thread.busy = sxt_thread.is_blocked = true; /* what is called here may allocate */
    if (sxt_recording.alive->is_alive == 0)
        sxt_start();
    sxt_thread.busy = sxt_thread.is_blocked = false;
    sxt_signals_restore(&mask);
    errno = saved_errno;
}

void sxt_stop(enum sxt_spool_state reason)
{
    sxt_recording.control->state = reason;
    sxt_recording.is_disabled = true;
    __atomic_store_n(&sxt_recording.alive->is_alive, 0, __ATOMIC_RELEASE);
}
