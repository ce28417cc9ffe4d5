/*
 * memory.c: memory for a verb that fills tens of megabytes once and ends.
 *
 * By default each large block is mapped, touched page by page and unmapped again, which takes longer than filling it.
 * So memory is taken from one heap that never shrinks, in large pages if the kernel has them.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"

#define HEAP_STEP  ((size_t)64 << 20)
#define LARGE_PAGE ((uintptr_t)2 << 20)

void cli_expect_much_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, (int)HEAP_STEP);
    uintptr_t start = (uintptr_t)sbrk(0);
    /* The heap grows by a step with the first block that does not fit in what there is. */
    void *volatile block = malloc((size_t)1 << 20);
    free(block);
    uintptr_t end = (uintptr_t)sbrk(0) & ~(LARGE_PAGE - 1);
    start = (start + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    if (start < end)
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE); /* Best effort: failure is ignored. */
#endif
}
