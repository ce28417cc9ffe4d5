/*
 * hooks.c: the functions that a program calls for memory, in front of the real ones.
 *
 * An allocation is stamped after the real function returned, and a free before it is called. So the
 * lifetimes of two blocks at the same address never overlap, whatever the threads do.
 *
 * A realloc is a FREE and an ALLOC. In place, both have the same time; if the block moved, the FREE is earlier.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "recorder/hooks.h"
#include "recorder/library.h"
#include "recorder/note.h"
#include "recorder/recorder.h"

void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t alignment, size_t size);

EXPORTED void *malloc(size_t size)
{
    if (!is_ready())
        return sxt_early_alloc(0, size);
    return got(sxt_real.malloc(size), size, PLACE_OF_CALLER());
}

EXPORTED void *calloc(size_t count, size_t size)
{
    size_t all;
    if (!is_ready())
        return __builtin_mul_overflow(count, size, &all) ? NULL : sxt_early_alloc(0, all);
    return got(sxt_real.calloc(count, size), count * size, PLACE_OF_CALLER());
}

EXPORTED void free(void *block)
{
    if (block == NULL || UNLIKELY(sxt_early_has(block)) || !is_ready())
        return;
    give_back(block, CALLER());
    sxt_real.free(block);
}

EXPORTED void free_sized(void *block, size_t size)
{
    if (block == NULL || UNLIKELY(sxt_early_has(block)) || !is_ready())
        return;
    give_back(block, CALLER());
    static struct library_function of_free_sized = {.name = "free_sized"};
    uintptr_t address = library_address(&of_free_sized);
    if (address != MISSING)
        ((void (*)(void *, size_t))address)(block, size);
    else
        sxt_real.free(block);
}

EXPORTED void free_aligned_sized(void *block, size_t alignment, size_t size)
{
    if (block == NULL || UNLIKELY(sxt_early_has(block)) || !is_ready())
        return;
    give_back(block, CALLER());
    static struct library_function of_free_aligned_sized = {.name = "free_aligned_sized"};
    uintptr_t address = library_address(&of_free_aligned_sized);
    if (address != MISSING)
        ((void (*)(void *, size_t, size_t))address)(block, alignment, size);
    else
        sxt_real.free(block);
}

static void *move_out_of_pool(const void *old, size_t size)
{
    size_t old_size = sxt_early_size(old);
    void *block = is_ready() ? sxt_real.malloc(size) : sxt_early_alloc(0, size);
    if (block != NULL)
        memcpy(block, old, old_size < size ? old_size : size);
    return block;
}

static inline void *resize(void *old, size_t size, struct place place)
{
    if (UNLIKELY(old != NULL && sxt_early_has(old)))
        return got(move_out_of_pool(old, size), size, place);
    if (!is_ready())
        return old == NULL ? sxt_early_alloc(0, size) : NULL;
    uintptr_t before_address = (uintptr_t)old;
    uint64_t before = sxt_recording.alive->is_alive != 0 ? sxt_ticks() : 0;
    void *block = sxt_real.realloc(old, size);
    moved(before_address, block, size, before, place);
    return block;
}

EXPORTED void *realloc(void *old, size_t size)
{
    return resize(old, size, PLACE_OF_CALLER());
}

EXPORTED void *reallocarray(void *old, size_t count, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(count, size, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return resize(old, all, PLACE_OF_CALLER());
}

EXPORTED int posix_memalign(void **block, size_t alignment, size_t size)
{
    if (!is_ready())
        return (*block = sxt_early_alloc(alignment, size)) != NULL ? 0 : ENOMEM;
    int status = sxt_real.posix_memalign(block, alignment, size);
    if (status == 0)
        got(*block, size, PLACE_OF_CALLER());
    return status;
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
    if (!is_ready())
        return sxt_early_alloc(alignment, size);
    return got(sxt_real.aligned_alloc(alignment, size), size, PLACE_OF_CALLER());
}

EXPORTED void *memalign(size_t alignment, size_t size)
{
    if (!is_ready())
        return sxt_early_alloc(alignment, size);
    return got(sxt_real.memalign(alignment, size), size, PLACE_OF_CALLER());
}

EXPORTED void *valloc(size_t size)
{
    if (!is_ready())
        return sxt_early_alloc(4096, size);
    return got(sxt_real.valloc(size), size, PLACE_OF_CALLER());
}

/* It rounds up to whole pages, but the requested size is recorded. */
EXPORTED void *pvalloc(size_t size)
{
    if (!is_ready())
        return sxt_early_alloc(4096, size);
    return got(sxt_real.pvalloc(size), size, PLACE_OF_CALLER());
}

/* The addresses of a closed library may be reused. dlopen cannot be hooked: its result depends on its caller. */
EXPORTED int dlclose(void *handle)
{
    if (!is_ready() || sxt_real.dlclose == NULL)
        return -1;
    int status = sxt_real.dlclose(handle);
    int saved_errno = errno;
    struct writer *writer = sxt_enter(0, false);
    if (writer != NULL) {
        sxt_modules_scan(writer);
        sxt_leave(writer);
    }
    sxt_libraries_forget();
    errno = saved_errno;
    return status;
}

/* The real fork calls functions of the program in the child, which may allocate: it then has a writer of its own. */
static pid_t fork_with(pid_t (*real)(void))
{
    const struct writer *writer = sxt_thread.writer;
    pid_t child = real();
    if (child == 0)
        sxt_thread_forked(writer);
    else if (child > 0)
        sxt_child_add(child);
    return child;
}

EXPORTED pid_t fork(void)
{
    if (is_ready() && sxt_real.fork != NULL)
        return fork_with(sxt_real.fork);
    errno = ENOSYS;
    return -1;
}

EXPORTED pid_t _Fork(void)
{
    return is_ready() && sxt_real._Fork != NULL ? fork_with(sxt_real._Fork) : fork();
}

static void end(int status, void *data)
{
    (void)data;
    sxt_note_end(status);
}

__attribute__((constructor)) static void start(int count, char **words)
{
    if (!sxt_real_find())
        return;
    sxt_start_early(count, words);
    if (sxt_recording.first != NULL)
        on_exit(end, NULL);
}
