/*
 * mappings.c: the calls that change what is mapped, recorded on request. Only anonymous memory counts. The C library's
 * own calls for its allocator do not reach these hooks.
 *
 * A call may concern parts of mappings, or several of them. So the calls are recorded as the program made them, and the
 * reader of the spool finds out which blocks begin and end: see mlyze/spool_mappings.c.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/hooks.h"
#include "recorder/recorder.h"

static bool is_wanted(void)
{
    return sxt_recording.with_mappings && sxt_recording.alive->is_alive != 0;
}

/* The kernel maps whole pages. */
static size_t whole_pages(size_t size)
{
    static size_t page;
    if (page == 0)
        page = getauxval(AT_PAGESZ);
    return (size + page - 1) & ~(page - 1);
}

/* Does it begin blocks? Then it has a stack. */
static bool has_stack(const struct sxt_spool_mapping *mapping)
{
    return mapping->call != SXT_SPOOL_UNMAP && mapping->call != SXT_SPOOL_MOVE_OUT &&
           (mapping->call != SXT_SPOOL_PROTECT || mapping->is_accessible != 0);
}

/* While the program has stopped the recording, new memory does not count, but what was there before ends. */
static bool is_left_out(struct sxt_spool_mapping *mapping)
{
    if (!has_stack(mapping) || !__atomic_load_n(&sxt_recording.paused, __ATOMIC_RELAXED))
        return false;
    if (mapping->call == SXT_SPOOL_PROTECT || mapping->call == SXT_SPOOL_GROW)
        return true;
    mapping->call = SXT_SPOOL_UNMAP;
    return false;
}

/* Records a call; TICKS is its time. */
static void note(struct sxt_spool_mapping mapping, uint64_t ticks, const struct place *place)
{
    int saved_errno = errno;
    struct writer *writer = mapping.size > 0 ? sxt_enter(0, false) : NULL;
    if (writer != NULL) {
        bool is_needed = !is_left_out(&mapping);
        if (is_needed && has_stack(&mapping)) {
            sxt_walk(writer, place);
            mapping.stack = sxt_stack_number(writer);
        }
        if (is_needed)
            sxt_put_event(writer, ticks, SXT_SPOOL_MAPPING, &mapping, sizeof mapping);
        sxt_leave(writer);
    }
    errno = saved_errno;
}

/* --- mmap, munmap, mprotect --- */

static void *real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (sxt_real_ready && sxt_real.mmap != NULL)
        return sxt_real.mmap(at, size, protection, flags, fd, offset);
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

/* A file does not count. In a fixed place, it may replace memory that does. */
static void note_mmap(const void *block, size_t size, int protection, int flags, struct place place)
{
    bool is_anonymous = (flags & MAP_ANONYMOUS) != 0;
    if (block != MAP_FAILED && (is_anonymous || (flags & MAP_FIXED) != 0) && is_wanted())
        note((struct sxt_spool_mapping){.call = is_anonymous ? SXT_SPOOL_MAP : SXT_SPOOL_UNMAP,
                                        .is_accessible = protection != PROT_NONE,
                                        .address = (uintptr_t)block,
                                        .size = whole_pages(size)},
             sxt_ticks(), &place);
}

EXPORTED void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *block = real_mmap(at, size, protection, flags, fd, offset);
    note_mmap(block, size, protection, flags, PLACE_OF_CALLER());
    return block;
}

EXPORTED void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
    void *block = real_mmap(at, size, protection, flags, fd, offset);
    note_mmap(block, size, protection, flags, PLACE_OF_CALLER());
    return block;
}

EXPORTED int munmap(void *block, size_t size)
{
    uint64_t before = is_wanted() ? sxt_ticks() : 0;
    int status = sxt_real_ready && sxt_real.munmap != NULL ? sxt_real.munmap(block, size)
                                                           : (int)syscall(SYS_munmap, block, size);
    if (status == 0 && is_wanted())
        note(
            (struct sxt_spool_mapping){.call = SXT_SPOOL_UNMAP, .address = (uintptr_t)block, .size = whole_pages(size)},
            before, NULL);
    return status;
}

static void note_mprotect(const void *block, size_t size, int protection, struct place place)
{
    if (is_wanted())
        note((struct sxt_spool_mapping){.call = SXT_SPOOL_PROTECT,
                                        .is_accessible = (protection & (PROT_READ | PROT_WRITE | PROT_EXEC)) != 0,
                                        .address = (uintptr_t)block,
                                        .size = whole_pages(size)},
             sxt_ticks(), &place);
}

EXPORTED int mprotect(void *block, size_t size, int protection)
{
    int status = sxt_real_ready && sxt_real.mprotect != NULL ? sxt_real.mprotect(block, size, protection)
                                                             : (int)syscall(SYS_mprotect, block, size, protection);
    if (status == 0)
        note_mprotect(block, size, protection, PLACE_OF_CALLER());
    return status;
}

EXPORTED int pkey_mprotect(void *block, size_t size, int protection, int key)
{
    int status = sxt_real_ready && sxt_real.pkey_mprotect != NULL
                     ? sxt_real.pkey_mprotect(block, size, protection, key)
                     : (int)syscall(SYS_pkey_mprotect, block, size, protection, key);
    if (status == 0)
        note_mprotect(block, size, protection, PLACE_OF_CALLER());
    return status;
}

/* --- mremap --- */

struct remapping {
    uintptr_t old, new;
    size_t old_size, size; /* whole pages */
    uint64_t before;       /* ticks, before the call */
    bool keeps_old;        /* the old mapping stays */
};

static void note_in_place(const struct remapping *remapping, const struct place *place)
{
    if (remapping->size < remapping->old_size)
        note((struct sxt_spool_mapping){.call = SXT_SPOOL_UNMAP,
                                        .address = remapping->new + remapping->size,
                                        .size = remapping->old_size - remapping->size},
             remapping->before, NULL);
    else if (remapping->size > remapping->old_size)
        note((struct sxt_spool_mapping){.call = SXT_SPOOL_GROW,
                                        .address = remapping->new,
                                        .size = remapping->size,
                                        .old_address = remapping->old,
                                        .old_size = remapping->old_size},
             sxt_ticks(), place);
}

/* Between both times, another thread may map something where the memory was. */
static void note_moved(const struct remapping *remapping, const struct place *place)
{
    struct sxt_spool_mapping out = {.call = SXT_SPOOL_MOVE_OUT, .address = remapping->old, .size = remapping->old_size};
    struct sxt_spool_mapping in = {.call = SXT_SPOOL_MOVE_IN, .address = remapping->new, .size = remapping->size};
    if (!remapping->keeps_old) {
        note(out, remapping->before, NULL);
    } else {
        in.call = SXT_SPOOL_COPY;
        in.old_address = remapping->old;
        in.old_size = remapping->old_size > 0 ? remapping->old_size : remapping->size;
    }
    note(in, sxt_ticks(), place);
}

EXPORTED void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
    void *new_address = NULL;
    uintptr_t old_address = (uintptr_t)old;
    if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) {
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
        struct place place = PLACE_OF_CALLER();
        struct remapping remapping = {.old = old_address,
                                      .new = (uintptr_t)block,
                                      .old_size = whole_pages(old_size),
                                      .size = whole_pages(size),
                                      .before = before,
                                      .keeps_old = old_size == 0 || (flags & MREMAP_DONTUNMAP) != 0};
        if (remapping.old == remapping.new)
            note_in_place(&remapping, &place);
        else
            note_moved(&remapping, &place);
    }
    return block;
}

/* --- brk --- */

/* The program moved the end of its data by CHANGE bytes. */
static void note_break(uintptr_t old, intptr_t change, uint64_t before, const struct place *place)
{
    if (change > 0 && is_wanted())
        note(
            (struct sxt_spool_mapping){
                .call = SXT_SPOOL_MAP, .is_accessible = 1, .address = old, .size = (uintptr_t)change},
            sxt_ticks(), place);
    else if (change < 0 && is_wanted())
        note((struct sxt_spool_mapping){.call = SXT_SPOOL_UNMAP,
                                        .address = old - (uintptr_t)-change,
                                        .size = (uintptr_t)-change},
             before, NULL);
}

EXPORTED void *sbrk(intptr_t change)
{
    struct place place = PLACE_OF_CALLER();
    if (!sxt_real_find() || sxt_real.sbrk == NULL) {
        errno = ENOMEM;
        return (void *)-1;
    }
    uint64_t before = is_wanted() ? sxt_ticks() : 0;
    void *old = sxt_real.sbrk(change);
    if ((intptr_t)old != -1)
        note_break((uintptr_t)old, change, before, &place);
    return old;
}

EXPORTED int brk(void *end)
{
    struct place place = PLACE_OF_CALLER();
    if (!sxt_real_find() || sxt_real.sbrk == NULL || sxt_real.brk == NULL) {
        errno = ENOMEM;
        return -1;
    }
    uint64_t before = is_wanted() ? sxt_ticks() : 0;
    uintptr_t old = (uintptr_t)sxt_real.sbrk(0);
    int status = sxt_real.brk(end);
    if (status == 0)
        note_break(old, (intptr_t)((uintptr_t)end - old), before, &place);
    return status;
}
