/*
 * sextant/heap.h: how a program reports markers and its own allocators to `sextant record`.
 *
 * There is no library to link: this header is enough. The functions that it calls are weak; the recorder defines them
 * when it is loaded. In a program that is not recorded, a call only compares an address with zero.
 *
 *     #include <sextant/heap.h>
 *
 *     sextant_mark("loaded");                    // a name for this moment: sextant heap --between loaded saved
 *     sextant_pool_alloc(block, 64);             // a block of an allocator that the recorder does not see
 *     sextant_pool_free(block);
 *
 * The linker must keep weak names undefined until run time, as it does in position-independent programs and in shared
 * libraries.
 */
#ifndef SEXTANT_HEAP_H
#define SEXTANT_HEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Defined by the recorder. Call the functions below instead. */
extern void sextant_heap_marker(const char *name) __attribute__((weak));
extern void sextant_heap_start(void) __attribute__((weak));
extern void sextant_heap_stop(void) __attribute__((weak));
extern void sextant_heap_alloc(const void *block, size_t size) __attribute__((weak));
extern void sextant_heap_free(const void *block) __attribute__((weak));
extern void sextant_heap_gc(uint64_t objects, uint64_t bytes) __attribute__((weak));

/* Whether the recorder is loaded. */
static inline int sextant_is_recording(void)
{
    return sextant_heap_marker != 0;
}

/* Gives this moment a name. At most 1024 bytes of it are recorded. */
static inline void sextant_mark(const char *name)
{
    if (sextant_heap_marker)
        sextant_heap_marker(name);
}

/* Allocations between sextant_stop and sextant_start are not recorded. Frees always are. */
static inline void sextant_stop(void)
{
    if (sextant_heap_stop)
        sextant_heap_stop();
}

static inline void sextant_start(void)
{
    if (sextant_heap_start)
        sextant_heap_start();
}

/*
 * Report that the program's own allocator allocated or freed a block. The first of the two is a macro, so that the
 * recorded stack begins at its caller.
 */
#define sextant_pool_alloc(block, size) (sextant_heap_alloc ? sextant_heap_alloc((block), (size)) : (void)0)

static inline void sextant_pool_free(const void *block)
{
    if (sextant_heap_free)
        sextant_heap_free(block);
}

/* Reports a garbage collection, and its numbers of objects and bytes. */
static inline void sextant_collected(uint64_t objects, uint64_t bytes)
{
    if (sextant_heap_gc)
        sextant_heap_gc(objects, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
