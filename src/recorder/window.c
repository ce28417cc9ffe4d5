/*
 * window.c: pieces of the spool, mapped for one thread each.
 *
 * A store into a mapped window is in the file at once, so nothing is lost if the process is killed. Disk space is
 * reserved before a window is mapped: a store into a mapped file on a full disk would raise a signal.
 *
 * Mapping new pages of a file costs more than copying into it. So a full window is written to the end of the file and
 * reused. For a moment its records are in the file twice; readers of the spool handle that.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "recorder/recorder.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* older kernels take the address as a hint */
#endif

#define HIGH_DESCRIPTOR 1000
#define MAPPED_MOST     65536u /* bytes of a window */
#define SPARE_MOST      16u    /* windows that are mapped ahead */
#define ATTEMPTS_MOST   500    /* to open a file that another process is making */

/* The spool of this process. The program may close its descriptor, and open something else under the number. */
static struct {
    char path[4096];
    int fd;
    dev_t device;
    ino_t inode;
} spool;

static bool is_the_spool(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_dev == spool.device && status.st_ino == spool.inode;
}

/* Moves a descriptor to a high number, where programs do not expect any. */
static int move_up(int fd)
{
    for (int least = HIGH_DESCRIPTOR; least > 100; least /= 2) {
        int moved = fcntl(fd, F_DUPFD_CLOEXEC, least);
        if (moved >= 0) {
            syscall(SYS_close, fd);
            return moved;
        }
    }
    return fd;
}

static int open_spool(const char *path, int flags)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && (flags & O_CREAT) != 0)
        syscall(SYS_fchmod, fd, 0600); /* whatever the umask */
    return fd >= 0 ? move_up(fd) : fd;
}

static int descriptor(void)
{
    if (is_the_spool(spool.fd))
        return spool.fd;
    int fd = open_spool(spool.path, 0);
    if (fd >= 0 && is_the_spool(fd))
        return spool.fd = fd;
    if (fd >= 0)
        syscall(SYS_close, fd);
    return -1;
}

static void *map_file(int fd, uint64_t offset, size_t size, int flags)
{
    long result = syscall(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, (off_t)offset);
    return result == -1 ? NULL : (void *)result;
}

/* Makes FD the spool of this process. Returns its control page; NULL: FD is not a spool, and is closed. */
static struct sxt_spool_control *use_spool(const char *path, int fd)
{
    struct stat status;
    size_t size = strlen(path);
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size < SXT_SPOOL_WINDOWS_OFFSET || size >= sizeof spool.path) {
        if (fd >= 0)
            syscall(SYS_close, fd);
        return NULL;
    }
    uint8_t *page = map_file(fd, 0, SXT_SPOOL_WINDOWS_OFFSET, 0);
    struct sxt_spool_control *control = (void *)(page + SXT_SPOOL_CONTROL_OFFSET);
    if (page == NULL || control->magic != SXT_SPOOL_CONTROL_MAGIC || control->version != SXT_SPOOL_VERSION) {
        syscall(SYS_close, fd);
        return NULL;
    }
    memcpy(spool.path, path, size + 1);
    if (spool.fd > 0 && is_the_spool(spool.fd)) /* of the parent, or of the first process */
        syscall(SYS_close, spool.fd);
    spool.fd = fd;
    spool.device = status.st_dev;
    spool.inode = status.st_ino;
    return control;
}

struct sxt_spool_control *sxt_spool_attach(const char *path)
{
    return use_spool(path, open_spool(path, 0));
}

/* May the file have this size? Exceeding a limit would raise a signal. */
static bool is_within_limit(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/*
 * The trace that is made of the spool is about as large, and needs room beside it. Recording stops in time, since a
 * spool without that room could not be finished. File systems that report no sizes are assumed to have room.
 */
static bool is_room_left(int fd, uint64_t size)
{
    struct statfs status;
    return syscall(SYS_fstatfs, fd, &status) != 0 || status.f_blocks == 0 ||
           (uint64_t)status.f_bavail >= size / (uint64_t)status.f_bsize + 1;
}

/* pwrite of the C library is a cancellation point. malloc must not be one. */
static bool write_at(int fd, const void *data, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        long count = syscall(SYS_pwrite64, fd, (const char *)data + done, size - done, (off_t)(offset + done));
        if (count <= 0 && errno != EINTR)
            return false;
        done += count > 0 ? (size_t)count : 0;
    }
    return true;
}

/* A first page with the settings of LIKE. PAGE is zeroed. */
static void fill_first_page(uint8_t *page, const struct sxt_spool_control *like, uint32_t pid)
{
    memcpy(page, (const uint8_t *)like - SXT_SPOOL_CONTROL_OFFSET, SXT_SPOOL_CONTROL_OFFSET);
    struct sxt_spool_control *fresh = (void *)(page + SXT_SPOOL_CONTROL_OFFSET);
    fresh->magic = like->magic;
    fresh->version = like->version;
    fresh->options = like->options;
    fresh->period = like->period;
    fresh->tail = SXT_SPOOL_WINDOWS_OFFSET;
    fresh->start_us = like->start_us;
    fresh->first = fresh->last = like->first;
    fresh->pid = pid;
}

bool sxt_spool_leave(const char *path, const struct sxt_spool_control *like, uint32_t pid)
{
    uint8_t *page = sxt_map_memory(SXT_SPOOL_WINDOWS_OFFSET);
    int fd = page != NULL
                 ? (int)syscall(SYS_openat, AT_FDCWD, path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    bool done = false;
    if (fd >= 0) {
        syscall(SYS_fchmod, fd, 0600); /* whatever the umask */
        fill_first_page(page, like, pid);
        done = is_within_limit(SXT_SPOOL_WINDOWS_OFFSET) && write_at(fd, page, SXT_SPOOL_WINDOWS_OFFSET, 0);
        syscall(SYS_close, fd);
        if (!done)
            syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    }
    if (page != NULL)
        sxt_unmap_memory(page, SXT_SPOOL_WINDOWS_OFFSET);
    return done;
}

struct sxt_spool_control *sxt_spool_look(const char *path)
{
    struct stat status;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
    if (fd < 0)
        return NULL;
    bool is_whole = fstat(fd, &status) == 0 && status.st_size >= SXT_SPOOL_WINDOWS_OFFSET;
    uint8_t *page = is_whole ? map_file(fd, 0, SXT_SPOOL_WINDOWS_OFFSET, 0) : NULL;
    syscall(SYS_close, fd);
    if (page == NULL)
        return NULL;
    struct sxt_spool_control *control = (void *)(page + SXT_SPOOL_CONTROL_OFFSET);
    if (control->magic == SXT_SPOOL_CONTROL_MAGIC && control->version == SXT_SPOOL_VERSION)
        return control;
    sxt_unmap_memory(page, SXT_SPOOL_WINDOWS_OFFSET);
    return NULL;
}

static bool access_fails(const char *path)
{
    return syscall(SYS_faccessat, AT_FDCWD, path, R_OK | W_OK) != 0;
}

struct sxt_spool_control *sxt_spool_create(const char *path, const struct sxt_spool_control *like)
{
    struct sxt_spool_control *control = sxt_spool_attach(path); /* exists if this process executed another program */
    bool is_own = control != NULL && control->pid == (uint32_t)getpid();
    if (is_own && (like == NULL || control->start_us == like->start_us))
        return control;
    if (like == NULL || is_own)
        return NULL;
    sxt_spool_leave(path, like, (uint32_t)getpid()); /* another recording must not be overwritten */
    /* The process that started this one may be making it. */
    for (unsigned attempt = 0; attempt < ATTEMPTS_MOST; attempt++) {
        control = sxt_spool_attach(path);
        if (control != NULL || access_fails(path))
            break;
        syscall(SYS_nanosleep, &(struct timespec){0, 1000000}, NULL);
    }
    is_own = control != NULL && control->pid == (uint32_t)getpid() && control->start_us == like->start_us;
    return is_own ? control : NULL;
}

/* May SIZE bytes be added at an offset? What was given back to the file system is not part of what a trace needs. */
static bool may_grow(int fd, uint64_t offset, size_t size)
{
    uint64_t released = __atomic_load_n(&sxt_recording.control->released, __ATOMIC_RELAXED);
    return is_within_limit(offset + size) &&
           is_room_left(fd, offset - (released < offset ? released : offset) + 2 * size);
}

static bool reserve_room(int fd, uint64_t offset, size_t size)
{
    if (!may_grow(fd, offset, size))
        return false;
    long status;
    do
        status = syscall(SYS_fallocate, fd, 0, (off_t)offset, (off_t)size);
    while (status != 0 && errno == EINTR);
    if (status == 0)
        return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return false;
    static const char zeros[SXT_SPOOL_UNIT];
    for (size_t done = 0; done < size; done += sizeof zeros)
        if (!write_at(fd, zeros, sizeof zeros, offset + done))
            return false;
    return true;
}

/* Writes the header of an empty window. */
static void begin_window(struct writer *writer)
{
    struct sxt_spool_window *header = (void *)writer->window;
    header->size = writer->window_size;
    header->image = sxt_recording.image;
    header->stream = writer->stream;
    header->sequence = writer->sequence++;
    header->thread = writer->thread;
    header->tick = writer->last;
    __atomic_store_n(&header->magic, SXT_SPOOL_WINDOW_MAGIC, __ATOMIC_RELEASE);
    writer->at = (void *)(header + 1);
    writer->end = (void *)(writer->window + writer->window_size);
}

/* The first window is small, because programs may have many threads. */
static bool map_window(struct writer *writer, int fd)
{
    uint32_t size = writer->window_size == 0 ? SXT_SPOOL_UNIT : MAPPED_MOST;
    uint64_t offset = __atomic_fetch_add(&sxt_recording.control->tail, size, __ATOMIC_RELAXED);
    if (!reserve_room(fd, offset, size)) {
        sxt_stop(SXT_SPOOL_DISK_FULL);
        return false;
    }
    uint8_t *window = map_file(fd, offset, size, MAP_POPULATE);
    if (window == NULL) {
        sxt_stop(SXT_SPOOL_NO_MEMORY);
        return false;
    }
    uint8_t *before = writer->window;
    uint32_t size_before = writer->window_size;
    writer->window = window;
    writer->window_size = size;
    syscall(SYS_madvise, window, (size_t)size, MADV_DONTFORK);
    begin_window(writer);
    if (before != NULL)
        sxt_unmap_memory(before, size_before);
    return true;
}

/* Copies a full window to the end of the file, and empties it. Until the copy is complete, the window counts. */
static bool move_out(struct writer *writer, int fd)
{
    struct sxt_spool_window *header = (void *)writer->window;
    size_t size = writer->window_size;
    uint64_t offset = __atomic_fetch_add(&sxt_recording.control->tail, size, __ATOMIC_RELAXED);
    if (!may_grow(fd, offset, size) || !write_at(fd, writer->window, size, offset)) {
        sxt_stop(SXT_SPOOL_DISK_FULL);
        return false;
    }
    __atomic_store_n(&header->magic, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    memset(header + 1, 0, size - sizeof *header);
    begin_window(writer);
    return true;
}

/* One of the windows that were mapped ahead. The one before it stays mapped. */
static bool take_spare(struct writer *writer)
{
    if (writer->spare_count == 0)
        return false;
    writer->window = writer->spare;
    writer->window_size = SXT_SPOOL_WINDOW_MOST;
    writer->spare += SXT_SPOOL_WINDOW_MOST;
    writer->spare_count--;
    begin_window(writer);
    return true;
}

void sxt_window_ahead(struct writer *writer)
{
    int saved_errno = errno;
    int fd = descriptor();
    for (uint32_t count = SPARE_MOST; fd >= 0 && count > 0 && writer->spare_count == 0; count /= 4) {
        size_t size = (size_t)count * SXT_SPOOL_WINDOW_MOST;
        uint64_t tail = __atomic_load_n(&sxt_recording.control->tail, __ATOMIC_RELAXED);
        if (!may_grow(fd, tail, size))
            continue;
        uint64_t offset = __atomic_fetch_add(&sxt_recording.control->tail, size, __ATOMIC_RELAXED);
        writer->spare = reserve_room(fd, offset, size) ? map_file(fd, offset, size, MAP_POPULATE) : NULL;
        writer->spare_count = writer->spare != NULL ? count : 0;
        if (writer->spare != NULL)
            syscall(SYS_madvise, writer->spare, size, MADV_DONTFORK);
    }
    errno = saved_errno;
}

static bool next_window(struct writer *writer)
{
    if (sxt_recording.alive->is_alive == 0) /* perhaps a forked child */
        return false;
    int fd = descriptor();
    if (fd < 0) {
        sxt_stop(SXT_SPOOL_FILE_GONE);
        return false;
    }
    bool done = writer->window_size == MAPPED_MOST ? move_out(writer, fd) : map_window(writer, fd);
    if (done)
        sxt_note_moment(&sxt_recording.control->last);
    return done;
}

/* Maps private memory where the window would be, which the child does not have; unless the child uses the addresses. */
void sxt_window_detach(const struct writer *writer)
{
    if (writer != NULL && writer->window != NULL && !sxt_recording.is_confined)
        syscall(SYS_mmap, writer->window, (size_t)writer->window_size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, (off_t)0);
}

/* Signals are blocked: a handler could fork, and the child would write the window of its parent a second time. */
bool sxt_window_next(struct writer *writer)
{
    if (UNLIKELY(sxt_recording.is_confined)) {
        if (take_spare(writer))
            return true;
        sxt_stop(SXT_SPOOL_CONFINED);
        return false;
    }
    int saved_errno = errno;
    struct signal_mask mask = sxt_signals_block();
    bool done = next_window(writer);
    sxt_signals_restore(&mask);
    errno = saved_errno;
    return done;
}

void sxt_put_time(struct writer *writer, uint64_t ticks)
{
    *writer->at++ = (uint64_t)SXT_SPOOL_TIME | ticks << SXT_SPOOL_TICKS_SHIFT;
}

void sxt_put_wide(struct writer *writer, uint64_t ticks, unsigned what, uint64_t address, uint64_t size, uint32_t stack)
{
    uint64_t *at = writer->at;
    at[1] = address;
    at[2] = size;
    at[3] = stack;
    __atomic_store_n(&at[0], sxt_spool_word(SXT_SPOOL_WIDE, ticks, what), __ATOMIC_RELEASE);
    writer->at = at + 4;
}

void sxt_put_note(struct writer *writer, enum sxt_spool_note note, const void *first, size_t first_size,
                  const void *second, size_t second_size, const void *third, size_t third_size)
{
    size_t size = first_size + second_size + third_size;
    size_t words = (size + 7) / 8;
    while (writer->at == NULL || (size_t)(writer->end - writer->at) < words + 2)
        if (words + 2 > (SXT_SPOOL_UNIT - sizeof(struct sxt_spool_window)) / 8 || !sxt_window_next(writer))
            return;
    uint8_t *to = (uint8_t *)(writer->at + 1);
    memcpy(to, first, first_size);
    if (second_size > 0)
        memcpy(to + first_size, second, second_size);
    if (third_size > 0)
        memcpy(to + first_size + second_size, third, third_size);
    __atomic_store_n(writer->at, sxt_spool_note_word(note, 0, (uint32_t)size), __ATOMIC_RELEASE);
    writer->at += words + 1;
}

void sxt_put_event(struct writer *writer, uint64_t ticks, enum sxt_spool_note note, const void *data, size_t size)
{
    if (writer->end - writer->at < 4 && !sxt_window_next(writer))
        return;
    if (ticks > writer->last) {
        sxt_put_time(writer, ticks - writer->last);
        writer->last = ticks;
    }
    sxt_put_note(writer, note, data, size, NULL, 0, NULL, 0);
}
