/*
 * thread.c: a writer for every thread.
 *
 * When a thread ends, the next new thread gets its writer, with the rest of its window. The destructor of a
 * thread-specific key notices the end; what a thread frees after that goes to a writer that all ended threads share. A
 * signal handler that interrupts the recorder and allocates uses a second writer of the thread.
 *
 * Signals are blocked wherever a handler could not record, or a fork in a handler would leave the child without what
 * the interrupted code needs: while writers are made and returned, under locks, and while the second writer is in use.
 * The usual event, with the thread's own writer, needs no system call.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

#define THREADS_MOST  65535 /* the format has 16 bits for them */
#define ROUNDS        3     /* of destructors, in which those of other keys may still use memory */
#define SIGNAL_SETXID 33    /* of the C library: a thread that changes its user waits until all threads did */

__thread struct thread sxt_thread __attribute__((tls_model("initial-exec")));

static struct {
    int lock; /* held for a few instructions */
    struct writer *unused;
    uint32_t streams;
    uint32_t threads;
    pthread_key_t key;
    bool has_key;
    int late_lock;
    struct writer *late; /* of threads that have ended */
} writers;

static void lock(int *which)
{
    while (__atomic_exchange_n(which, 1, __ATOMIC_ACQUIRE) != 0)
        if (!sxt_recording.is_confined)
            syscall(SYS_sched_yield);
}

static void unlock(int *which)
{
    __atomic_store_n(which, 0, __ATOMIC_RELEASE);
}

struct signal_mask sxt_signals_block(void)
{
    struct signal_mask mask = {0};
    if (sxt_recording.is_confined)
        return mask;
    uint64_t most = ~((uint64_t)1 << (SIGNAL_SETXID - 1));
    int saved_errno = errno;
    mask.is_changed = syscall(SYS_rt_sigprocmask, SIG_BLOCK, &most, &mask.before, sizeof most) == 0;
    errno = saved_errno;
    return mask;
}

void sxt_signals_restore(const struct signal_mask *mask)
{
    int saved_errno = errno;
    if (mask->is_changed)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask->before, NULL, sizeof mask->before);
    errno = saved_errno;
}

static void give_back(struct writer *writer, struct writer *inner)
{
    lock(&writers.lock);
    writer->next_free = writers.unused;
    writers.unused = writer;
    if (inner != NULL) {
        inner->next_free = writers.unused;
        writers.unused = inner;
    }
    unlock(&writers.lock);
}

/* The value of the key counts the rounds of destructors. */
static void thread_ends(void *value)
{
    if (sxt_recording.is_confined)
        return;
    uintptr_t round = (uintptr_t)value;
    struct thread *thread = &sxt_thread;
    struct signal_mask mask = sxt_signals_block();
    struct writer *writer = thread->writer, *inner = thread->inner;
    if (sxt_recording.alive->is_alive != 0 && writer != NULL) { /* otherwise perhaps a forked child */
        thread->busy = thread->is_blocked = true;
        if (round < ROUNDS) {
            pthread_setspecific(writers.key, (void *)(round + 1));
        } else {
            sxt_thread_name(writer);
            thread->writer = thread->inner = NULL;
            thread->ended = true;
            give_back(writer, inner);
        }
        thread->busy = thread->is_blocked = false;
    }
    sxt_signals_restore(&mask);
}

void sxt_thread_name(struct writer *writer)
{
    char name[17] = {0};
    int saved_errno = errno;
    syscall(SYS_prctl, PR_GET_NAME, name, 0, 0, 0);
    uint32_t numbers[2] = {writer->thread, (uint32_t)syscall(SYS_gettid)};
    errno = saved_errno;
    size_t size = 0;
    while (name[size] != 0)
        size++;
    sxt_put_note(writer, SXT_SPOOL_THREAD, numbers, sizeof numbers, name, size, NULL, 0);
}

extern void *__libc_stack_end __attribute__((weak));

/* The control block of a thread is above its stack, in the same mapping, except for the first thread. */
static uintptr_t top_of_stack(void)
{
    if (syscall(SYS_gettid) != getpid())
        return (uintptr_t)__builtin_thread_pointer();
    return &__libc_stack_end != NULL ? (uintptr_t)__libc_stack_end : 0;
}

/* A writer for a new thread; or a second one for the thread of OF. */
static struct writer *unused_writer(const struct writer *of)
{
    lock(&writers.lock);
    struct writer *writer = writers.unused;
    if (writer != NULL)
        writers.unused = writer->next_free;
    uint32_t stream = writer == NULL ? writers.streams++ : 0;
    uint32_t thread = of != NULL ? of->thread : writers.threads < THREADS_MOST ? writers.threads++ : THREADS_MOST;
    unlock(&writers.lock);
    if (writer == NULL) {
        writer = sxt_map_memory(sizeof *writer);
        if (writer == NULL)
            return NULL;
        writer->stream = stream;
    }
    writer->thread = thread;
    writer->frames_are_usable = false; /* they are from the stack of another thread */
    writer->stack_top = writer->stack_low = 0;
    uint64_t now = sxt_ticks();
    if (writer->last == 0 || writer->last > now)
        writer->last = now;
    writer->random = now * 0x9e3779b97f4a7c15u + writer->stream + 1;
    writer->until_sample = 0;
    return writer;
}

/* With late_lock held; NULL, without the lock: out of memory. */
static struct writer *late_writer(void)
{
    lock(&writers.late_lock);
    struct writer *writer = writers.late;
    if (writer == NULL && (writer = unused_writer(NULL)) != NULL) {
        uint32_t numbers[2] = {writer->thread, 0};
        sxt_put_note(writer, SXT_SPOOL_THREAD, numbers, sizeof numbers, "(ended)", 7, NULL, 0);
        writers.late = writer;
    }
    if (writer == NULL)
        unlock(&writers.late_lock);
    return writer;
}

static struct writer *first_writer(void)
{
    struct writer *writer = unused_writer(NULL);
    if (writer == NULL) {
        sxt_stop(SXT_SPOOL_NO_MEMORY);
        return NULL;
    }
    writer->stack_top = writer->stack_low = top_of_stack();
    sxt_thread_name(writer);
    if (!writers.has_key)
        writers.has_key = pthread_key_create(&writers.key, thread_ends) == 0;
    if (writers.has_key)
        pthread_setspecific(writers.key, (void *)1);
    sxt_thread.writer = writer;
    if (writer->thread == 0) {
        sxt_modules_scan(writer);
        sxt_put_command(writer);
    }
    return writer;
}

static struct writer *inner_writer(struct thread *thread)
{
    if (thread->inner == NULL) {
        thread->inner = unused_writer(thread->writer);
        if (thread->inner != NULL)
            sxt_thread_name(thread->inner);
        else
            __atomic_fetch_add(&sxt_recording.control->dropped, 1, __ATOMIC_RELAXED);
    }
    return thread->inner;
}

/* The writer for an event, made if necessary; NULL: nothing is recorded. Signals are blocked. */
static struct writer *find_writer(struct thread *thread, bool is_inner)
{
    if (sxt_recording.alive->is_alive == 0 && !sxt_start())
        return NULL;
    if (sxt_recording.control->stop != 0) {
        sxt_stop(SXT_SPOOL_ASKED);
        return NULL;
    }
    struct writer *writer;
    if (thread->ended)
        writer = late_writer();
    else if ((writer = thread->writer) == NULL)
        writer = first_writer();
    if (is_inner && writer != NULL && !thread->ended)
        writer = inner_writer(thread);
    return writer;
}

/* Signals remain blocked until sxt_leave if the event needs a lock, or a writer that is not the thread's own. */
static struct writer *enter_blocked(struct thread *thread, bool is_inner)
{
    if (sxt_recording.is_confined) { /* only threads that have a writer record */
        if (sxt_recording.alive->is_alive != 0 && sxt_recording.control->stop != 0)
            sxt_stop(SXT_SPOOL_ASKED);
        thread->busy = is_inner;
        return NULL;
    }
    struct signal_mask mask = sxt_signals_block();
    int saved_errno = errno;
    thread->is_blocked = true;
    struct writer *writer = find_writer(thread, is_inner);
    if (writer != NULL && sxt_recording.alive->is_alive == 0) { /* it has failed, and recording has stopped */
        if (writer == writers.late)
            unlock(&writers.late_lock);
        writer = NULL;
    }
    errno = saved_errno;
    if (writer != NULL && writer != thread->writer) {
        thread->mask = mask;
        thread->is_inner = is_inner;
        return writer;
    }
    thread->is_blocked = false;
    thread->busy = is_inner || writer != NULL;
    sxt_signals_restore(&mask);
    return writer;
}

struct writer *sxt_enter_slow(void)
{
    struct thread *thread = &sxt_thread;
    if (sxt_recording.alive->is_alive == 0 && sxt_recording.is_disabled) {
        thread->busy = false;
        return NULL;
    }
    return enter_blocked(thread, false);
}

struct writer *sxt_enter_interrupted(uintptr_t caller, bool frees)
{
    struct thread *thread = &sxt_thread;
    bool is_alive = sxt_recording.alive->is_alive != 0;
    /*
     * An allocator calls itself: only the outer call counts. But operator new may catch an exception, and what frees
     * that seems to be called by it.
     */
    bool is_inner_call = thread->call != NULL && (thread->call_frees || !frees);
    if (is_inner_call && (caller - thread->call_low < thread->call_size || sxt_is_own_code(caller)))
        return NULL;
    if (thread->is_blocked || (!is_alive && (thread->is_stale || sxt_recording.is_disabled)))
        return NULL;
    return enter_blocked(thread, true);
}

void sxt_leave_slow(struct writer *writer)
{
    struct thread *thread = &sxt_thread;
    struct signal_mask mask = thread->mask;
    if (writer == writers.late)
        unlock(&writers.late_lock);
    thread->busy = thread->is_inner;
    thread->is_blocked = false;
    sxt_signals_restore(&mask);
}

void sxt_thread_forked(const struct writer *writer)
{
    int saved_errno = errno;
    sxt_window_detach(writer);
    sxt_thread.is_stale = sxt_thread.busy;
    errno = saved_errno;
}

/* The child has only this thread, and the windows of the parent are not mapped in it. */
void sxt_writers_forget(void)
{
    writers.lock = writers.late_lock = 0;
    writers.unused = writers.late = NULL;
    writers.streams = writers.threads = 0;
    sxt_thread.writer = sxt_thread.inner = NULL;
    sxt_thread.ended = sxt_thread.is_stale = false;
}
