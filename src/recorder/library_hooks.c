/*
 * library_hooks.c: the functions that allocator libraries define beside malloc and its family: operator new and delete,
 * and the names of jemalloc and tcmalloc. A program is linked with them, or they are preloaded.
 */
#include "recorder/library_hooks.h"

/* --- C++ --- */

#define NOTHROW const void *nothrow

CREATES(_Znwm, (size_t size), (size), size, 0)
CREATES(_Znam, (size_t size), (size), size, 0)
CREATES(_ZnwmSt11align_val_t, (size_t size, size_t alignment), (size, alignment), size, alignment)
CREATES(_ZnamSt11align_val_t, (size_t size, size_t alignment), (size, alignment), size, alignment)
ALLOCATES(_ZnwmRKSt9nothrow_t, (size_t size, NOTHROW), (size, nothrow), size, 0, false)
ALLOCATES(_ZnamRKSt9nothrow_t, (size_t size, NOTHROW), (size, nothrow), size, 0, false)
ALLOCATES(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, NOTHROW), (size, alignment, nothrow),
          size, alignment, false)
ALLOCATES(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, NOTHROW), (size, alignment, nothrow),
          size, alignment, false)
RELEASES(_ZdlPv, (void *block), (block))
RELEASES(_ZdlPvm, (void *block, size_t size), (block, size))
RELEASES(_ZdlPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
RELEASES(_ZdlPvmSt11align_val_t, (void *block, size_t size, size_t alignment), (block, size, alignment))
RELEASES(_ZdlPvRKSt9nothrow_t, (void *block, NOTHROW), (block, nothrow))
RELEASES(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, NOTHROW), (block, alignment, nothrow))
RELEASES(_ZdaPv, (void *block), (block))
RELEASES(_ZdaPvm, (void *block, size_t size), (block, size))
RELEASES(_ZdaPvSt11align_val_t, (void *block, size_t alignment), (block, alignment))
RELEASES(_ZdaPvmSt11align_val_t, (void *block, size_t size, size_t alignment), (block, size, alignment))
RELEASES(_ZdaPvRKSt9nothrow_t, (void *block, NOTHROW), (block, nothrow))
RELEASES(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t alignment, NOTHROW), (block, alignment, nothrow))

/* --- functions that several allocators define --- */

RESIZES_OR_FREES(reallocf, (void *old, size_t size), (old, size))
RELEASES(cfree, (void *block), (block))

/* --- jemalloc --- */

#define FLAG_ZERO         0x40
#define FLAGS_ALIGNMENT() ((flags & 0x3f) != 0 ? (size_t)1 << (flags & 0x3f) : 0)

/* Resizes in place. Returns the size that the block has then, which is less than SIZE if that was not possible. */
#define RESIZES_IN_PLACE(NAME)                                                                                         \
    HOOK(size_t, NAME, (void *old, size_t size, size_t extra, int flags))                                              \
    {                                                                                                                  \
        uintptr_t address = ADDRESS(NAME);                                                                             \
        if (PASSES(NAME))                                                                                              \
            return REAL(NAME)(old, size, extra, flags);                                                                \
        size_t now;                                                                                                    \
        CALL(now, NAME, (old, size, extra, flags), 0);                                                                 \
        if (now >= size)                                                                                               \
            moved((uintptr_t)old, old, now - size < extra ? now : size + extra, 0, PLACE_OF_CALLER());                 \
        return now;                                                                                                    \
    }

#define JEMALLOC_EXTENSIONS(PREFIX)                                                                                    \
    ALLOCATES(PREFIX##mallocx, (size_t size, int flags), (size, flags), size, FLAGS_ALIGNMENT(),                       \
              (flags & FLAG_ZERO) != 0)                                                                                \
    RESIZES(PREFIX##rallocx, (void *old, size_t size, int flags), (old, size, flags), size)                            \
    RESIZES_IN_PLACE(PREFIX##xallocx)                                                                                  \
    RELEASES(PREFIX##dallocx, (void *block, int flags), (block, flags))                                                \
    RELEASES(PREFIX##sdallocx, (void *block, size_t size, int flags), (block, size, flags))

#define JEMALLOC(PREFIX)                                                                                               \
    FAMILY(PREFIX)                                                                                                     \
    ALLOCATES(PREFIX##aligned_alloc, (size_t alignment, size_t size), (alignment, size), size, alignment, false)       \
    RESIZES(PREFIX##reallocarray, (void *old, size_t count, size_t size), (old, count, size), product(count, size))    \
    RELEASES(PREFIX##free_sized, (void *block, size_t size), (block, size))                                            \
    RELEASES(PREFIX##free_aligned_sized, (void *block, size_t alignment, size_t size), (block, alignment, size))       \
    JEMALLOC_EXTENSIONS(PREFIX)

JEMALLOC_EXTENSIONS()
JEMALLOC(je_)
JEMALLOC(_rjem_)

/* --- tcmalloc --- */

FAMILY(tc_)
ALLOCATES(tc_malloc_skip_new_handler, (size_t size), (size), size, 0, false)
RELEASES(tc_cfree, (void *block), (block))
RELEASES(tc_free_sized, (void *block, size_t size), (block, size))

#define TCMALLOC_OPERATORS(NEW, DELETE)                                                                                \
    CREATES(NEW, (size_t size), (size), size, 0)                                                                       \
    CREATES(NEW##_aligned, (size_t size, size_t alignment), (size, alignment), size, alignment)                        \
    ALLOCATES(NEW##_nothrow, (size_t size, NOTHROW), (size, nothrow), size, 0, false)                                  \
    ALLOCATES(NEW##_aligned_nothrow, (size_t size, size_t alignment, NOTHROW), (size, alignment, nothrow), size,       \
              alignment, false)                                                                                        \
    RELEASES(DELETE, (void *block), (block))                                                                           \
    RELEASES(DELETE##_sized, (void *block, size_t size), (block, size))                                                \
    RELEASES(DELETE##_nothrow, (void *block, NOTHROW), (block, nothrow))                                               \
    RELEASES(DELETE##_aligned, (void *block, size_t alignment), (block, alignment))                                    \
    RELEASES(DELETE##_sized_aligned, (void *block, size_t size, size_t alignment), (block, size, alignment))           \
    RELEASES(DELETE##_aligned_nothrow, (void *block, size_t alignment, NOTHROW), (block, alignment, nothrow))

TCMALLOC_OPERATORS(tc_new, tc_delete)
TCMALLOC_OPERATORS(tc_newarray, tc_deletearray)
