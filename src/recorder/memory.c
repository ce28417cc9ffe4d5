/* memory.c: the recorder's own memory. It uses neither the program's allocator nor mmap, which is hooked. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

void *sxt_map_memory(size_t size)
{
    if (sxt_recording.is_confined)
        return NULL;
    int saved_errno = errno;
    long result = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                          (off_t)0);
    /* Most pages of a table are never touched. They should cost no memory. */
    if (result != -1)
        syscall(SYS_madvise, result, size, MADV_NOHUGEPAGE);
    errno = saved_errno;
    return result == -1 ? NULL : (void *)result;
}

void sxt_unmap_memory(void *memory, size_t size)
{
    if (sxt_recording.is_confined)
        return;
    int saved_errno = errno;
    syscall(SYS_munmap, memory, size);
    errno = saved_errno;
}
