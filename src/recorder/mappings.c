/*
 * mappings.c: mmap, munmap and mremap, recorded on request. Only anonymous memory counts: a mapping is an ALLOC and its
 * munmap a FREE. The C library's own calls for its allocator do not reach these hooks. Unmapping the beginning of a
 * mapping ends the whole mapping; unmapping another part of it is ignored.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/hooks.h"
#include "recorder/recorder.h"

static void note_mapped(const void *block, size_t size, struct place place)
{
    int saved_errno = errno;
    struct writer *writer = sxt_enter();
    if (writer != NULL) {
        sxt_record_alloc(writer, block, size, &place);
        sxt_leave(writer);
    }
    errno = saved_errno;
}

static void note_unmapped(const void *block, uint64_t ticks)
{
    int saved_errno = errno;
    struct writer *writer = sxt_enter();
    if (writer != NULL) {
        sxt_record_free(writer, block, ticks);
        sxt_leave(writer);
    }
    errno = saved_errno;
}

static bool is_wanted(void)
{
    return sxt_recording.with_mappings && sxt_recording.alive->is_alive != 0;
}

static void *real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (sxt_real_ready && sxt_real.mmap != NULL)
        return sxt_real.mmap(at, size, protection, flags, fd, offset);
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

EXPORTED void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *block = real_mmap(at, size, protection, flags, fd, offset);
    if (block != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0 && is_wanted())
        note_mapped(block, size, PLACE_OF_CALLER());
    return block;
}

EXPORTED void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
    void *block = real_mmap(at, size, protection, flags, fd, offset);
    if (block != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0 && is_wanted())
        note_mapped(block, size, PLACE_OF_CALLER());
    return block;
}

EXPORTED int munmap(void *block, size_t size)
{
    uint64_t before = is_wanted() ? sxt_ticks() : 0;
    int status = sxt_real_ready && sxt_real.munmap != NULL ? sxt_real.munmap(block, size)
                                                           : (int)syscall(SYS_munmap, block, size);
    if (status == 0 && is_wanted())
        note_unmapped(block, before);
    return status;
}

EXPORTED void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
    void *new_address = NULL;
    if ((flags & MREMAP_FIXED) != 0) {
        va_list more;
        va_start(more, flags);
        new_address = va_arg(more, void *);
        va_end(more);
    }
    uint64_t before = is_wanted() ? sxt_ticks() : 0;
    void *block = sxt_real_ready && sxt_real.mremap != NULL
                      ? sxt_real.mremap(old, old_size, size, flags, new_address)
                      : (void *)syscall(SYS_mremap, old, old_size, size, flags, new_address);
    if (block != MAP_FAILED && is_wanted()) {
        note_unmapped(old, before);
        note_mapped(block, size, PLACE_OF_CALLER());
    }
    return block;
}
