/*
 * window.c: pieces of the spool, mapped for one thread each.
 *
 * What is stored in a mapped window belongs to the file at once, so nothing is lost when the process is killed. The
 * room on the disk is taken before it is mapped: a store into a mapped file that has no room would be a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

#define HIGH_DESCRIPTOR 1000

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

/* The same descriptor at a number that nobody minds. */
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
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
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

/* The control page behind FD, which becomes the spool; closed when it is none. */
static struct sxt_spool_control *take(const char *path, int fd)
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
    spool.fd = fd;
    spool.device = status.st_dev;
    spool.inode = status.st_ino;
    return control;
}

struct sxt_spool_control *sxt_spool_attach(const char *path)
{
    return take(path, open_spool(path, 0));
}

/* A first page as that of LIKE, but empty. */
static bool write_first_page(int fd, const struct sxt_spool_control *like)
{
    uint8_t page[SXT_SPOOL_WINDOWS_OFFSET] = {0};
    memcpy(page, (const uint8_t *)like - SXT_SPOOL_CONTROL_OFFSET, SXT_SPOOL_CONTROL_OFFSET);
    struct sxt_spool_control fresh = {
        .magic = like->magic,
        .version = like->version,
        .options = like->options,
        .period = like->period,
        .tail = SXT_SPOOL_WINDOWS_OFFSET,
        .start_us = like->start_us,
        .first = like->first,
        .last = like->first,
    };
    memcpy(page + SXT_SPOOL_CONTROL_OFFSET, &fresh, sizeof fresh);
    return pwrite(fd, page, sizeof page, 0) == (ssize_t)sizeof page;
}

struct sxt_spool_control *sxt_spool_create(const char *path, const struct sxt_spool_control *like)
{
    struct sxt_spool_control *control = sxt_spool_attach(path); /* this process, before it executed another program */
    if (control != NULL && control->pid == (uint32_t)getpid() && control->start_us == like->start_us)
        return control;
    int fd = open_spool(path, O_CREAT | O_TRUNC);
    if (fd >= 0 && !write_first_page(fd, like)) {
        syscall(SYS_close, fd);
        fd = -1;
    }
    return take(path, fd);
}

/* Room in the file, or why there is none. A limit on the size of files must not be reached: that would be a signal. */
static bool take_room(int fd, uint64_t offset, size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + size > limit.rlim_cur)
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
        if (pwrite(fd, zeros, sizeof zeros, (off_t)(offset + done)) != (ssize_t)sizeof zeros)
            return false;
    return true;
}

/* The first window is small, for the sake of programs with many threads. */
static uint32_t next_size(const struct writer *writer)
{
    uint32_t size = writer->window_size == 0 ? SXT_SPOOL_UNIT : writer->window_size * 4;
    return size > SXT_SPOOL_WINDOW_MOST ? SXT_SPOOL_WINDOW_MOST : size;
}

static bool next_window(struct writer *writer)
{
    struct sxt_spool_control *control = sxt_recording.control;
    uint32_t size = next_size(writer);
    int fd = descriptor();
    if (fd < 0) {
        sxt_stop(SXT_SPOOL_FILE_GONE);
        return false;
    }
    uint64_t offset = __atomic_fetch_add(&control->tail, size, __ATOMIC_RELAXED);
    if (!take_room(fd, offset, size)) {
        sxt_stop(SXT_SPOOL_DISK_FULL);
        return false;
    }
    uint8_t *window = map_file(fd, offset, size, MAP_POPULATE);
    if (window == NULL) {
        sxt_stop(SXT_SPOOL_NO_MEMORY);
        return false;
    }
    syscall(SYS_madvise, window, (size_t)size, MADV_DONTFORK);
    if (writer->window != NULL)
        sxt_unmap_memory(writer->window, writer->window_size);
    struct sxt_spool_window *header = (void *)window;
    header->size = size;
    header->image = sxt_recording.image;
    header->stream = writer->stream;
    header->sequence = writer->sequence++;
    header->thread = writer->thread;
    header->tick = writer->last;
    __atomic_store_n(&header->magic, SXT_SPOOL_WINDOW_MAGIC, __ATOMIC_RELEASE);
    writer->window = window;
    writer->window_size = size;
    writer->at = (void *)(header + 1);
    writer->end = (void *)(window + size);
    sxt_note_moment(&control->last);
    return true;
}

bool sxt_window_next(struct writer *writer)
{
    int kept = errno;
    bool done = next_window(writer);
    errno = kept;
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
