/*
 * thread.c: a writer for every thread.
 *
 * When a thread ends, the next new thread gets its writer, with the rest of its window. The destructor of a
 * thread-specific key notices the end; what a thread frees after that goes to a writer that all ended threads share. A
 * signal handler that interrupts the recorder and allocates uses a second writer of the thread.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

#define THREADS_MOST 65535 /* the format has 16 bits for them */
#define ROUNDS       3     /* of destructors, in which those of other keys may still use memory */

__thread struct thread sxt_thread __attribute__((tls_model("initial-exec")));

static struct {
    int lock; /* held for a few instructions */
    struct writer *unused;
    uint32_t streams;
    uint32_t threads;
    uint32_t fork_mark;
    pthread_key_t key;
    bool has_key;
    int late_lock;
    struct writer *late; /* of threads that have ended */
} writers;

static void lock(int *which)
{
    while (__atomic_exchange_n(which, 1, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_sched_yield);
}

static void unlock(int *which)
{
    __atomic_store_n(which, 0, __ATOMIC_RELEASE);
}

/* The value of the key counts the rounds of destructors. */
static void thread_ends(void *value)
{
    uintptr_t round = (uintptr_t)value;
    struct writer *writer = sxt_thread.writer;
    if (writer == NULL || writer->fork_mark != writers.fork_mark)
        return;
    sxt_thread.busy = true;
    if (round < ROUNDS) {
        pthread_setspecific(writers.key, (void *)(round + 1));
        sxt_thread.busy = false;
        return;
    }
    if (sxt_recording.alive->is_alive != 0)
        sxt_thread_name(writer);
    struct writer *inner = sxt_thread.inner;
    sxt_thread.writer = sxt_thread.inner = NULL;
    sxt_thread.ended = sxt_thread.leaves_slowly = true;
    lock(&writers.lock);
    writer->next_free = writers.unused;
    writers.unused = writer;
    if (inner != NULL) {
        inner->next_free = writers.unused;
        writers.unused = inner;
    }
    unlock(&writers.lock);
    sxt_thread.busy = false;
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
    writer->fork_mark = writers.fork_mark;
    writer->frames_are_usable = false; /* they are from the stack of another thread */
    writer->stack_top = writer->stack_low = 0;
    uint64_t now = sxt_ticks();
    if (writer->last == 0 || writer->last > now)
        writer->last = now;
    writer->random = now * 0x9e3779b97f4a7c15u + writer->stream + 1;
    writer->until_sample = 0;
    return writer;
}

static struct writer *late_writer(void)
{
    lock(&writers.late_lock);
    if (writers.late == NULL) {
        writers.late = unused_writer(NULL);
        if (writers.late != NULL) {
            uint32_t numbers[2] = {writers.late->thread, 0};
            sxt_put_note(writers.late, SXT_SPOOL_THREAD, numbers, sizeof numbers, "(ended)", 7, NULL, 0);
        }
    }
    if (writers.late == NULL)
        unlock(&writers.late_lock);
    return writers.late;
}

/* A handler inside a handler, or while the thread begins or ends, gets no writer and is not recorded. */
struct writer *sxt_writer_inner(void)
{
    struct thread *thread = &sxt_thread;
    const struct writer *outer = thread->writer;
    if (outer == NULL || sxt_recording.control->stop != 0)
        return NULL;
    if (thread->inner_busy) {
        __atomic_fetch_add(&sxt_recording.control->dropped, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    thread->inner_busy = true;
    if (thread->inner == NULL) {
        int saved_errno = errno;
        thread->inner = unused_writer(outer);
        if (thread->inner != NULL)
            sxt_thread_name(thread->inner);
        errno = saved_errno;
    }
    if (thread->inner == NULL || sxt_recording.alive->is_alive == 0) {
        thread->inner_busy = false;
        return NULL;
    }
    thread->leaves_slowly = true;
    return thread->inner;
}

void sxt_leave_slow(struct writer *writer)
{
    struct thread *thread = &sxt_thread;
    if (thread->inner_busy && writer == thread->inner) {
        thread->leaves_slowly = false;
        thread->inner_busy = false;
        return;
    }
    if (writer == writers.late)
        unlock(&writers.late_lock);
    thread->busy = false;
}

static struct writer *first_event(void)
{
    if (sxt_thread.ended)
        return late_writer();
    struct writer *writer = unused_writer(NULL);
    if (writer == NULL) {
        sxt_stop(SXT_SPOOL_NO_MEMORY);
        return NULL;
    }
    sxt_thread.upcoming = writer;
    writer->stack_top = writer->stack_low = top_of_stack();
    sxt_thread_name(writer);
    if (!writers.has_key)
        writers.has_key = pthread_key_create(&writers.key, thread_ends) == 0;
    if (writers.has_key)
        pthread_setspecific(writers.key, (void *)1);
    sxt_thread.writer = writer;
    if (writer->thread == 0)
        sxt_modules_scan(writer);
    return writer;
}

struct writer *sxt_writer_make(void)
{
    sxt_thread.busy = true;
    int saved_errno = errno;
    struct writer *writer = first_event();
    errno = saved_errno;
    if (writer == NULL || sxt_recording.alive->is_alive == 0) {
        sxt_thread.busy = false;
        return NULL;
    }
    return writer;
}

void sxt_thread_detach(void)
{
    int saved_errno = errno;
    sxt_window_detach(sxt_thread.writer != NULL ? sxt_thread.writer : sxt_thread.upcoming);
    sxt_window_detach(sxt_thread.inner);
    sxt_window_detach(writers.late);
    errno = saved_errno;
}

/* In a forked child, which has only this thread. The windows belong to the parent and are not mapped here. */
void sxt_writers_forget(void)
{
    writers.fork_mark++;
    writers.lock = writers.late_lock = 0;
    writers.unused = writers.late = NULL;
    writers.streams = writers.threads = 0;
    sxt_thread.writer = sxt_thread.inner = NULL;
    sxt_thread.inner_busy = sxt_thread.ended = sxt_thread.leaves_slowly = false;
}
