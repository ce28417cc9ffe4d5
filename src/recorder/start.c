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
#include <fcntl.h>
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
static long first_process; /* that `record` started */
static bool is_started;

/* The command line; no words while it is not known. */
static struct {
    char **words;
    int count;
    bool is_written;
} command;

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
    control->began = control->last;
    control->has_status = 0;
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

bool sxt_is_first(long pid)
{
    return pid == first_process;
}

bool sxt_is_followed(long pid)
{
    return children_path[0] != 0 || sxt_is_first(pid);
}

bool sxt_child_prepare(long pid)
{
    const struct sxt_spool_control *first = sxt_recording.first;
    if (first == NULL || children_path[0] == 0 || sxt_is_first(pid) || first->stop != 0)
        return false;
    int saved_errno = errno;
    char *path = sxt_map_memory(PATH_MOST);
    bool done = path != NULL && name_child(path, pid) && sxt_spool_leave(path, first, (uint32_t)pid);
    if (path != NULL)
        sxt_unmap_memory(path, PATH_MOST);
    errno = saved_errno;
    return done;
}

void sxt_child_abandon(long pid)
{
    char *path = sxt_map_memory(PATH_MOST);
    if (path != NULL && name_child(path, pid))
        syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (path != NULL)
        sxt_unmap_memory(path, PATH_MOST);
}

/* In a process other than the first, whose control page may be out of reach. */
static void begin_child(uint32_t parent)
{
    static char path[PATH_MOST]; /* stacks may be small */
    struct sxt_spool_control *of_first = sxt_recording.first;
    uint32_t pid = (uint32_t)getpid();
    sxt_recording.is_disabled = true;
    sxt_child_add((long)pid);
    if (children_path[0] == 0 || (of_first != NULL && of_first->stop != 0) || !name_child(path, (long)pid))
        return;
    struct sxt_spool_control *control = sxt_spool_create(path, of_first);
    if (control == NULL) {
        sxt_child_add_failed((long)pid);
        return;
    }
    if (of_first == NULL)
        sxt_recording.first = control; /* for the settings of its children */
    sxt_recording.is_disabled = false;
    control->pid = pid;
    control->parent = parent;
    control->started_by = parent == 0 ? (uint32_t)syscall(SYS_getppid) : 0;
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
    first_process = pid != NULL ? strtol(pid, NULL, 10) : 0;
    sxt_recording.is_disabled = true;
    take_variable("SEXTANT_RECORD_CHILDREN", children_path);
    if (!take_variable("SEXTANT_RECORD", spool_path))
        return;
    sxt_environment_keep();
    if (!sxt_is_first((long)getpid())) {
        sxt_recording.first = sxt_spool_look(spool_path);
        sxt_modules_begin();
        begin_child(0);
        return;
    }
    struct sxt_spool_control *control = sxt_recording.first = sxt_spool_attach(spool_path);
    sxt_recording.is_disabled = control == NULL;
    sxt_modules_begin();
    if (control != NULL)
        begin(control, NULL);
}

/* A forked child has copies of the tables of its parent, but the windows are not mapped in it. */
static void after_fork(void)
{
    struct sxt_spool_control *of_parent = sxt_recording.control;
    uint32_t parent = of_parent->pid;
    sxt_writers_forget();
    sxt_stacks_forget();
    sxt_modules_forget();
    command.is_written = false;
    begin_child(parent);
}

#define WORD_PART  8192  /* bytes in a note */
#define WORDS_MOST 65536 /* bytes that are kept */

void sxt_put_command(struct writer *writer)
{
    size_t all = 0;
    if (command.words == NULL || command.is_written)
        return;
    command.is_written = true;
    for (int i = 0; i < command.count && command.words[i] != NULL; i++) {
        size_t size = strlen(command.words[i]) + 1;
        if ((all += size) > WORDS_MOST)
            return;
        for (size_t at = 0; at < size; at += WORD_PART)
            sxt_put_note(writer, SXT_SPOOL_COMMAND, command.words[i] + at,
                         size - at < WORD_PART ? size - at : WORD_PART, NULL, 0, NULL, 0);
    }
}

static void write_command(void)
{
    struct writer *writer = sxt_enter(0, false);
    if (writer == NULL)
        return;
    sxt_put_command(writer);
    sxt_leave(writer);
}

void sxt_note_end(int status)
{
    struct sxt_spool_control *control = sxt_recording.control;
    if (sxt_recording.alive->is_alive == 0 || control->has_status == 1)
        return;
    if (!command.is_written)
        write_command();
    sxt_note_moment(&control->last);
    control->status = (uint32_t)(status & 0xff) << 8;
    control->has_status = 2;
}

bool sxt_start(void)
{
    if (!sxt_recording.is_disabled && sxt_recording.control != NULL)
        after_fork();
    else if (!sxt_recording.is_disabled)
        read_environment();
    return sxt_recording.alive->is_alive != 0;
}

void sxt_start_early(int count, char **words)
{
    int saved_errno = errno;
    struct signal_mask mask = sxt_signals_block();
    sxt_thread.busy = sxt_thread.is_blocked = true; /* what is called here may allocate */
    if (sxt_recording.alive->is_alive == 0)
        sxt_start();
    command.words = words;
    command.count = count;
    sxt_thread.busy = sxt_thread.is_blocked = false;
    sxt_signals_restore(&mask);
    if (sxt_thread.writer != NULL) /* otherwise the first event writes it */
        write_command();
    errno = saved_errno;
}

void sxt_stop(enum sxt_spool_state reason)
{
    sxt_recording.control->state = reason;
    sxt_recording.is_disabled = true;
    __atomic_store_n(&sxt_recording.alive->is_alive, 0, __ATOMIC_RELEASE);
}
