/* memory.c: memory of the recorder's own. The program's allocator is not for it, and the hook on mmap is not either. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

void *sxt_map_memory(size_t size)
{
    int kept = errno;
    long result = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                          (off_t)0);
    /* Most of a table is never touched, and should cost nothing. */
    if (result != -1)
        syscall(SYS_madvise, result, size, MADV_NOHUGEPAGE);
    errno = kept;
    return result == -1 ? NULL : (void *)result;
}

void sxt_unmap_memory(void *memory, size_t size)
{
    int kept = errno;
    syscall(SYS_munmap, memory, size);
    errno = kept;
}
