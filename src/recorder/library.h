/*
 * library.h: calls of the functions that allocator libraries define beside malloc and its family.
 *
 * Such a function may call malloc, or another one of them, through the dynamic linker, and so arrives in a hook again.
 * Only the outermost call is recorded. A new_handler that the function calls is not part of it: what that does is
 * recorded.
 */
#ifndef SXT_RECORDER_LIBRARY_H
#define SXT_RECORDER_LIBRARY_H

#include "recorder/recorder.h"

/* A function that a hook calls. */
struct library_function {
    const char *name;
    uintptr_t address; /* 0: not known yet; MISSING: no object defines it */
    uintptr_t low, size;
    bool calls_malloc;  /* operator new of the C++ library: the hook of malloc records it */
    bool is_allocators; /* calls from its own object do not count */
    bool is_listed;
    struct library_function *next;
};

#define MISSING ((uintptr_t)1)

/* A call that has not returned yet. */
struct library_call {
    struct library_call *self; /* its own address, as long as it is valid */
    struct library_call *outer;
    uintptr_t outer_low, outer_size;
    bool outer_frees;
    bool was_busy;
};

/* Returns the address. */
uintptr_t sxt_library_find(struct library_function *function);

/* Its address, or MISSING. Another thread may unload libraries, so it is read once for each call. */
static inline uintptr_t library_address(struct library_function *function)
{
    uintptr_t address = __atomic_load_n(&function->address, __ATOMIC_ACQUIRE);
    return LIKELY(address != 0) ? address : sxt_library_find(function);
}

/*
 * Is the call recorded by another hook, or part of a call that is recorded? A function whose last act is such a call
 * jumps there, and the return address is that of the hook which called the function.
 */
static inline bool library_passes(const struct library_function *function, uintptr_t caller)
{
    return function->calls_malloc || sxt_is_own_code(caller) ||
           (function->is_allocators && caller - function->low < function->size) ||
           caller - sxt_thread.call_low < sxt_thread.call_size;
}

/* FREES: the function frees a block. */
static inline void library_enter(struct library_call *call, const struct library_function *function, bool frees)
{
    struct thread *thread = &sxt_thread;
    *call = (struct library_call){.self = call,
                                  .outer = thread->call,
                                  .outer_low = thread->call_low,
                                  .outer_size = thread->call_size,
                                  .outer_frees = thread->call_frees,
                                  .was_busy = thread->busy};
    thread->call = call;
    thread->call_low = function->low;
    thread->call_size = function->size;
    thread->call_frees = frees;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->busy = true;
}

static inline void library_leave(struct library_call *call)
{
    struct thread *thread = &sxt_thread;
    thread->busy = call->was_busy;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    thread->call = call->outer;
    thread->call_low = call->outer_low;
    thread->call_size = call->outer_size;
    thread->call_frees = call->outer_frees;
    call->self = NULL;
}

/*
 * To be used in a hook that has a library_call. operator new may throw: the unwinder then calls sxt_library_unwind for
 * the frame of the hook, as its personality routine.
 */
#define LEAVE_ON_EXCEPTION() __asm__ volatile(".cfi_personality 0x1b, sxt_library_unwind")

#endif
