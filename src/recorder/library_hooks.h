/*
 * library_hooks.h: makes hooks of the functions that allocator libraries define.
 *
 * Each hook calls the next function of the same name, and records what it did. Where no loaded object defines it (the
 * program may have looked it up by name, or refer to it weakly), the C library's function of the same effect replaces
 * it.
 */
#ifndef SXT_RECORDER_LIBRARY_HOOKS_H
#define SXT_RECORDER_LIBRARY_HOOKS_H

#include <errno.h>
#include <string.h>

#include "recorder/hooks.h"
#include "recorder/library.h"
#include "recorder/note.h"

/* --- the replacements --- */

static inline size_t product(size_t count, size_t size)
{
    size_t all;
    return __builtin_mul_overflow(count, size, &all) ? SIZE_MAX : all;
}

static inline void *plain_alloc(size_t alignment, size_t size, bool is_zeroed)
{
    if (size == SIZE_MAX || !is_ready())
        return NULL;
    if (alignment <= 16)
        return is_zeroed ? sxt_real.calloc(1, size) : sxt_real.malloc(size);
    void *block = sxt_real.memalign(alignment, size);
    if (block != NULL && is_zeroed)
        memset(block, 0, size);
    return block;
}

/* operator new without a C++ library: it cannot throw. */
static inline void *plain_new(size_t alignment, size_t size)
{
    void *block = plain_alloc(alignment, size > 0 ? size : 1, false);
    if (block == NULL)
        __builtin_trap();
    return block;
}

static inline void *plain_resize(void *old, size_t size)
{
    return size != SIZE_MAX && is_ready() ? sxt_real.realloc(old, size) : NULL;
}

static inline void plain_free(void *block)
{
    if (is_ready())
        sxt_real.free(block);
}

static inline void *plain_copy(const char *text, size_t most)
{
    size_t size = 0;
    while (size < most && text[size] != 0)
        size++;
    char *copy = plain_alloc(0, size + 1, false);
    if (copy != NULL) {
        memcpy(copy, text, size);
        copy[size] = 0;
    }
    return copy;
}

/* --- kinds of hooks --- */

/* Declares a hook, and finds the function that it calls. RESULT and PARAMETERS are those of the function. */
#define HOOK(RESULT, NAME, PARAMETERS)                                                                                 \
    EXPORTED RESULT NAME PARAMETERS;                                                                                   \
    static struct library_function of_##NAME = {.name = #NAME};                                                        \
    typedef RESULT type_of_##NAME PARAMETERS;                                                                          \
    EXPORTED RESULT NAME PARAMETERS

#define REAL(NAME)    ((type_of_##NAME *)address)
#define ADDRESS(NAME) library_address(&of_##NAME)
#define PASSES(NAME)  (address != MISSING && library_passes(&of_##NAME, CALLER()))

/* Calls the real function, or evaluates REPLACEMENT, and puts the result into VARIABLE. */
#define CALL(VARIABLE, NAME, ARGUMENTS, REPLACEMENT)                                                                   \
    struct library_call call;                                                                                          \
    LEAVE_ON_EXCEPTION();                                                                                              \
    library_enter(&call, &of_##NAME, false);                                                                           \
    VARIABLE = address == MISSING ? (REPLACEMENT) : REAL(NAME) ARGUMENTS;                                              \
    library_leave(&call)

#define ALLOCATES_BY(NAME, PARAMETERS, ARGUMENTS, SIZE, REPLACEMENT)                                                   \
    HOOK(void *, NAME, PARAMETERS)                                                                                     \
    {                                                                                                                  \
        uintptr_t address = ADDRESS(NAME);                                                                             \
        if (PASSES(NAME))                                                                                              \
            return REAL(NAME) ARGUMENTS;                                                                               \
        void *block;                                                                                                   \
        CALL(block, NAME, ARGUMENTS, REPLACEMENT);                                                                     \
        return block != NULL ? got(block, SIZE, PLACE_OF_CALLER()) : NULL;                                             \
    }

/* An allocation of SIZE bytes; ALIGNMENT 0 is the usual one. */
#define ALLOCATES(NAME, PARAMETERS, ARGUMENTS, SIZE, ALIGNMENT, IS_ZEROED)                                             \
    ALLOCATES_BY(NAME, PARAMETERS, ARGUMENTS, SIZE, plain_alloc(ALIGNMENT, SIZE, IS_ZEROED))

/* operator new: it throws, or calls a new_handler, if there is no memory. */
#define CREATES(NAME, PARAMETERS, ARGUMENTS, SIZE, ALIGNMENT)                                                          \
    ALLOCATES_BY(NAME, PARAMETERS, ARGUMENTS, SIZE, plain_new(ALIGNMENT, SIZE))

/* The parameter BLOCK is freed. */
#define RELEASES(NAME, PARAMETERS, ARGUMENTS)                                                                          \
    HOOK(void, NAME, PARAMETERS)                                                                                       \
    {                                                                                                                  \
        uintptr_t address = ADDRESS(NAME);                                                                             \
        if (PASSES(NAME)) {                                                                                            \
            REAL(NAME) ARGUMENTS;                                                                                      \
            return;                                                                                                    \
        }                                                                                                              \
        if (block != NULL)                                                                                             \
            give_back(block, CALLER());                                                                                \
        struct library_call call;                                                                                      \
        LEAVE_ON_EXCEPTION();                                                                                          \
        library_enter(&call, &of_##NAME, true);                                                                        \
        if (address == MISSING)                                                                                        \
            plain_free(block);                                                                                         \
        else                                                                                                           \
            REAL(NAME) ARGUMENTS;                                                                                      \
        library_leave(&call);                                                                                          \
    }

/* The parameter OLD becomes a block of SIZE bytes. RECORDED is the size to record, from SIZE and the new BLOCK. */
#define RESIZES_BY(NAME, PARAMETERS, ARGUMENTS, SIZE, RECORDED, REPLACEMENT)                                           \
    HOOK(void *, NAME, PARAMETERS)                                                                                     \
    {                                                                                                                  \
        uintptr_t address = ADDRESS(NAME);                                                                             \
        if (PASSES(NAME))                                                                                              \
            return REAL(NAME) ARGUMENTS;                                                                               \
        uintptr_t before = (uintptr_t)old;                                                                             \
        uint64_t ticks = sxt_recording.alive->is_alive != 0 ? sxt_ticks() : 0;                                         \
        void *block;                                                                                                   \
        CALL(block, NAME, ARGUMENTS, REPLACEMENT);                                                                     \
        moved(before, block, RECORDED, ticks, PLACE_OF_CALLER());                                                      \
        return block;                                                                                                  \
    }

#define RESIZES(NAME, PARAMETERS, ARGUMENTS, SIZE)                                                                     \
    RESIZES_BY(NAME, PARAMETERS, ARGUMENTS, SIZE, SIZE, plain_resize(old, SIZE))

/* The same, but the old block is freed when there is no memory. */
static inline void *plain_resize_or_free(void *old, size_t size)
{
    void *block = plain_resize(old, size);
    if (block == NULL && size != 0)
        plain_free(old);
    return block;
}

#define RESIZES_OR_FREES(NAME, PARAMETERS, ARGUMENTS)                                                                  \
    RESIZES_BY(NAME, PARAMETERS, ARGUMENTS, size, block != NULL ? size : 0, plain_resize_or_free(old, size))

/* The block is stored at *PLACE if there is no error. */
static inline int plain_store(void **place, size_t alignment, size_t size)
{
    return is_ready() ? sxt_real.posix_memalign(place, alignment, size) : ENOMEM;
}

#define STORES(NAME)                                                                                                   \
    HOOK(int, NAME, (void **place, size_t alignment, size_t size))                                                     \
    {                                                                                                                  \
        uintptr_t address = ADDRESS(NAME);                                                                             \
        if (PASSES(NAME))                                                                                              \
            return REAL(NAME)(place, alignment, size);                                                                 \
        int status;                                                                                                    \
        CALL(status, NAME, (place, alignment, size), plain_store(place, alignment, size));                             \
        if (status == 0)                                                                                               \
            got(*place, size, PLACE_OF_CALLER());                                                                      \
        return status;                                                                                                 \
    }

/* The result is a copy of a text. */
#define COPIES(NAME, PARAMETERS, ARGUMENTS, MOST)                                                                      \
    ALLOCATES_BY(NAME, PARAMETERS, ARGUMENTS, strlen(block) + 1, plain_copy(text, MOST))

/* The family of malloc, under other names. */
#define FAMILY(PREFIX)                                                                                                 \
    ALLOCATES(PREFIX##malloc, (size_t size), (size), size, 0, false)                                                   \
    ALLOCATES(PREFIX##calloc, (size_t count, size_t size), (count, size), product(count, size), 0, true)               \
    RESIZES(PREFIX##realloc, (void *old, size_t size), (old, size), size)                                              \
    RELEASES(PREFIX##free, (void *block), (block))                                                                     \
    ALLOCATES(PREFIX##memalign, (size_t alignment, size_t size), (alignment, size), size, alignment, false)            \
    ALLOCATES(PREFIX##valloc, (size_t size), (size), size, 4096, false)                                                \
    ALLOCATES(PREFIX##pvalloc, (size_t size), (size), size, 4096, false)                                               \
    STORES(PREFIX##posix_memalign)

#endif
