/* mimalloc_hooks.c: the functions of mimalloc, for the default heap and for a heap that is given. */
#include "recorder/library_hooks.h"

#define DEFAULT(...)      (__VA_ARGS__)
#define OF_HEAP(...)      (void *heap, __VA_ARGS__)
#define FROM_DEFAULT(...) (__VA_ARGS__)
#define FROM_HEAP(...)    (heap, __VA_ARGS__)

/* P and A make the lists of parameters and of arguments. */
#define MIMALLOC(PREFIX, P, A)                                                                                         \
    ALLOCATES(PREFIX##malloc_small, P(size_t size), A(size), size, 0, false)                                           \
    ALLOCATES(PREFIX##zalloc, P(size_t size), A(size), size, 0, true)                                                  \
    ALLOCATES(PREFIX##mallocn, P(size_t count, size_t size), A(count, size), product(count, size), 0, false)           \
    ALLOCATES(PREFIX##malloc_aligned, P(size_t size, size_t alignment), A(size, alignment), size, alignment, false)    \
    ALLOCATES(PREFIX##zalloc_aligned, P(size_t size, size_t alignment), A(size, alignment), size, alignment, true)     \
    ALLOCATES(PREFIX##calloc_aligned, P(size_t count, size_t size, size_t alignment), A(count, size, alignment),       \
              product(count, size), alignment, true)                                                                   \
    ALLOCATES(PREFIX##malloc_aligned_at, P(size_t size, size_t alignment, size_t offset), A(size, alignment, offset),  \
              size, alignment, false)                                                                                  \
    ALLOCATES(PREFIX##zalloc_aligned_at, P(size_t size, size_t alignment, size_t offset), A(size, alignment, offset),  \
              size, alignment, true)                                                                                   \
    ALLOCATES(PREFIX##calloc_aligned_at, P(size_t count, size_t size, size_t alignment, size_t offset),                \
              A(count, size, alignment, offset), product(count, size), alignment, true)                                \
    RESIZES(PREFIX##reallocn, P(void *old, size_t count, size_t size), A(old, count, size), product(count, size))      \
    RESIZES_OR_FREES(PREFIX##reallocf, P(void *old, size_t size), A(old, size))                                        \
    RESIZES(PREFIX##rezalloc, P(void *old, size_t size), A(old, size), size)                                           \
    RESIZES(PREFIX##recalloc, P(void *old, size_t count, size_t size), A(old, count, size), product(count, size))      \
    RESIZES(PREFIX##realloc_aligned, P(void *old, size_t size, size_t alignment), A(old, size, alignment), size)       \
    RESIZES(PREFIX##rezalloc_aligned, P(void *old, size_t size, size_t alignment), A(old, size, alignment), size)      \
    RESIZES(PREFIX##recalloc_aligned, P(void *old, size_t count, size_t size, size_t alignment),                       \
            A(old, count, size, alignment), product(count, size))                                                      \
    RESIZES(PREFIX##realloc_aligned_at, P(void *old, size_t size, size_t alignment, size_t offset),                    \
            A(old, size, alignment, offset), size)                                                                     \
    RESIZES(PREFIX##rezalloc_aligned_at, P(void *old, size_t size, size_t alignment, size_t offset),                   \
            A(old, size, alignment, offset), size)                                                                     \
    RESIZES(PREFIX##recalloc_aligned_at, P(void *old, size_t count, size_t size, size_t alignment, size_t offset),     \
            A(old, count, size, alignment, offset), product(count, size))                                              \
    COPIES(PREFIX##strdup, P(const char *text), A(text), SIZE_MAX)                                                     \
    COPIES(PREFIX##strndup, P(const char *text, size_t most), A(text, most), most)

MIMALLOC(mi_, DEFAULT, FROM_DEFAULT)
MIMALLOC(mi_heap_, OF_HEAP, FROM_HEAP)

FAMILY(mi_)
ALLOCATES(mi_heap_malloc, OF_HEAP(size_t size), FROM_HEAP(size), size, 0, false)
ALLOCATES(mi_heap_calloc, OF_HEAP(size_t count, size_t size), FROM_HEAP(count, size), product(count, size), 0, true)
RESIZES(mi_heap_realloc, OF_HEAP(void *old, size_t size), FROM_HEAP(old, size), size)

ALLOCATES(mi_zalloc_small, (size_t size), (size), size, 0, true)
ALLOCATES(mi_aligned_alloc, (size_t alignment, size_t size), (alignment, size), size, alignment, false)
RESIZES(mi_reallocarray, (void *old, size_t count, size_t size), (old, count, size), product(count, size))
RESIZES(mi_aligned_recalloc, (void *old, size_t count, size_t size, size_t alignment), (old, count, size, alignment),
        product(count, size))
RESIZES(mi_aligned_offset_recalloc, (void *old, size_t count, size_t size, size_t alignment, size_t offset),
        (old, count, size, alignment, offset), product(count, size))
RELEASES(mi_cfree, (void *block), (block))
RELEASES(mi_free_size, (void *block, size_t size), (block, size))
RELEASES(mi_free_aligned, (void *block, size_t alignment), (block, alignment))
RELEASES(mi_free_size_aligned, (void *block, size_t size, size_t alignment), (block, size, alignment))

CREATES(mi_new, (size_t size), (size), size, 0)
CREATES(mi_new_n, (size_t count, size_t size), (count, size), product(count, size), 0)
CREATES(mi_new_aligned, (size_t size, size_t alignment), (size, alignment), size, alignment)
ALLOCATES(mi_new_nothrow, (size_t size), (size), size, 0, false)
ALLOCATES(mi_new_aligned_nothrow, (size_t size, size_t alignment), (size, alignment), size, alignment, false)
RESIZES(mi_new_realloc, (void *old, size_t size), (old, size), size)
RESIZES(mi_new_reallocn, (void *old, size_t count, size_t size), (old, count, size), product(count, size))
CREATES(mi_heap_alloc_new, (void *heap, size_t size), (heap, size), size, 0)
CREATES(mi_heap_alloc_new_n, (void *heap, size_t count, size_t size), (heap, count, size), product(count, size), 0)

/* Resizes in place, or returns NULL and leaves the block alone. */
HOOK(void *, mi_expand, (void *old, size_t size))
{
    uintptr_t address = ADDRESS(mi_expand);
    if (PASSES(mi_expand))
        return REAL(mi_expand)(old, size);
    void *block;
    CALL(block, mi_expand, (old, size), NULL);
    if (block != NULL)
        moved((uintptr_t)block, block, size, 0, PLACE_OF_CALLER());
    return block;
}

/* The address of the block is at PLACE, before and after. */
HOOK(int, mi_reallocarr, (void *place, size_t count, size_t size))
{
    uintptr_t address = ADDRESS(mi_reallocarr);
    if (PASSES(mi_reallocarr))
        return REAL(mi_reallocarr)(place, count, size);
    uintptr_t before = 0;
    uint64_t ticks = sxt_recording.alive->is_alive != 0 ? sxt_ticks() : 0;
    if (place != NULL)
        memcpy(&before, place, sizeof before);
    int status;
    CALL(status, mi_reallocarr, (place, count, size), ENOMEM);
    if (status == 0) {
        void *block;
        memcpy(&block, place, sizeof block);
        moved(before, block, product(count, size), ticks, PLACE_OF_CALLER());
    }
    return status;
}

/* --- all blocks of a heap at once --- */

typedef bool visit_block(const void *heap, const void *area, void *block, size_t size, void *data);
typedef bool visit_blocks(const void *heap, bool with_blocks, visit_block *visit, void *data);

static bool release(const void *heap, const void *area, void *block, size_t size, void *data)
{
    (void)heap, (void)area, (void)size, (void)data;
    if (block != NULL)
        give_back(block, 0);
    return true;
}

HOOK(void, mi_heap_destroy, (void *heap))
{
    static struct library_function of_visit = {.name = "mi_heap_visit_blocks"};
    uintptr_t address = ADDRESS(mi_heap_destroy), visit = library_address(&of_visit);
    if (address == MISSING)
        return;
    if (!PASSES(mi_heap_destroy) && visit != MISSING && heap != NULL)
        ((visit_blocks *)visit)(heap, true, release, NULL);
    REAL(mi_heap_destroy)(heap);
}
