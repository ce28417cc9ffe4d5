/*
 * sextant/heap.h: what a program can tell `sextant record` about its memory.
 *
 * This header is all there is: nothing is linked. When the program is not recorded, a call is a test of an address that
 * is zero. The names below are weak; the recorder, when it is loaded, has them.
 *
 *     #include <sextant/heap.h>
 *
 *     sextant_mark("loaded");                    // a name for this moment: sextant heap --between loaded saved
 *     sextant_pool_alloc(block, 64);             // a block of an allocator that the recorder does not see
 *     sextant_pool_free(block);
 *
 * Programs must be linked so that weak names stay open: position-independent ones and shared libraries are.
 */
#ifndef SEXTANT_HEAP_H
#define SEXTANT_HEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The recorder's side. Call the functions below instead. */
extern void sextant_heap_marker(const char *name) __attribute__((weak));
extern void sextant_heap_start(void) __attribute__((weak));
extern void sextant_heap_stop(void) __attribute__((weak));
extern void sextant_heap_alloc(const void *block, size_t size) __attribute__((weak));
extern void sextant_heap_free(const void *block) __attribute__((weak));
extern void sextant_heap_gc(uint64_t objects, uint64_t bytes) __attribute__((weak));

/* Is the recorder there? */
static inline int sextant_is_recording(void)
{
    return sextant_heap_marker != 0;
}

/* A name for this moment. At most 1024 bytes of it are kept. */
static inline void sextant_mark(const char *name)
{
    if (sextant_heap_marker)
        sextant_heap_marker(name);
}

/* From here on allocations are not recorded, and from there on they are again. Frees always are. */
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
 * A block that an allocator of the program's own gave out, and took back. The first one is a macro, so that the stack
 * begins where it stands.
 */
#define sextant_pool_alloc(block, size) (sextant_heap_alloc ? sextant_heap_alloc((block), (size)) : (void)0)

static inline void sextant_pool_free(const void *block)
{
    if (sextant_heap_free)
        sextant_heap_free(block);
}

/* A garbage collection that found so much. */
static inline void sextant_collected(uint64_t objects, uint64_t bytes)
{
    if (sextant_heap_gc)
        sextant_heap_gc(objects, bytes);
}

#ifdef __cplusplus
}
#endif

#endif
