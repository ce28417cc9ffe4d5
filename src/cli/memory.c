/*
 * memory.c: memory for a verb that fills tens of megabytes once and ends, and for one that runs for days.
 *
 * By default each large block is mapped, touched page by page and unmapped again, which takes longer than filling it.
 * So memory is taken from one heap that never shrinks, in large pages if the kernel has them. Its address space is
 * reserved in a large step; what is not used takes no memory.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cli.h"

/* How much address space is reserved at first and later, and if there is a limit on it. */
#define FIRST_STEP   ((size_t)256 << 20)
#define NEXT_STEP    ((size_t)64 << 20)
#define LIMITED_STEP ((size_t)1 << 20)
#define LARGE_PAGE   ((uintptr_t)2 << 20)

#ifdef __GLIBC__
/* Is there a limit on the address space, or on the heap? */
static bool is_limited(void)
{
    struct rlimit space, heap;
    return getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY || getrlimit(RLIMIT_DATA, &heap) != 0 ||
           heap.rlim_cur != RLIM_INFINITY;
}
#endif

void cli_expect_much_memory(bool of_many_files)
{
#ifdef __GLIBC__
    bool limited = is_limited();
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    /* The threads that work on one file share the heap. Those that work on several would wait for each other. */
    if (!of_many_files)
        mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, (int)(limited ? LIMITED_STEP : FIRST_STEP));
    uintptr_t start = (uintptr_t)sbrk(0);
    /* The heap grows by a step with the first block that does not fit in what there is. */
    void *volatile block = malloc((size_t)1 << 20);
    mallopt(M_TOP_PAD, (int)(limited || block == NULL ? LIMITED_STEP : NEXT_STEP));
    free(block);
    uintptr_t end = (uintptr_t)sbrk(0) & ~(LARGE_PAGE - 1);
    start = (start + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    if (start < end)
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE); /* Best effort: failure is ignored. */
#endif
}

void cli_expect_long_run(void)
{
#ifdef __GLIBC__
    /* Without this, the first large block that is freed makes the C library keep all later ones up to 32 MiB. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}
