/* file.c: inputs are mapped where that works and read to their end where it does not. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/inflate.h"

#define READ_CHUNK ((size_t)64 << 10)

static const uint8_t nothing[1];

static int map_regular(struct sxt_file *file, int fd, uint64_t size, bool *mapped, sxt_error *error);
static int read_to_end(struct sxt_file *file, int fd, bool from_start, sxt_error *error);

static void make_empty(struct sxt_file *file)
{
    *file = (struct sxt_file){.data = nothing, .size = 0, .owner = SXT_FILE_NOBODY};
}

int sxt_file_open(struct sxt_file *file, const char *path, sxt_error *error)
{
    make_empty(file);
    if (strcmp(path, "-") == 0)
        return sxt_file_open_fd(file, STDIN_FILENO, error);
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return sxt_fail_errno(error, errno, "cannot open");
    int status = sxt_file_open_fd(file, fd, error);
    close(fd);
    return status;
}

int sxt_file_open_fd(struct sxt_file *file, int fd, sxt_error *error)
{
    make_empty(file);
    struct stat attributes;
    if (fstat(fd, &attributes) != 0)
        return sxt_fail_errno(error, errno, "cannot open");
    if (S_ISDIR(attributes.st_mode))
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "is a directory");

    /* Files of /proc say that they are empty and files of /sys cannot be mapped; both can be read. */
    bool regular = S_ISREG(attributes.st_mode), mapped = false;
    if (regular && attributes.st_size > 0) {
        int status = map_regular(file, fd, (uint64_t)attributes.st_size, &mapped, error);
        if (status != SXT_OK || mapped)
            return status;
    }
    return read_to_end(file, fd, regular, error);
}

void sxt_file_drop_pages(const uint8_t *start, size_t size)
{
    long page = sysconf(_SC_PAGESIZE);
    if (page <= 0)
        return;
    uintptr_t first = ((uintptr_t)start + (uintptr_t)page - 1) & ~((uintptr_t)page - 1);
    uintptr_t end = ((uintptr_t)start + size) & ~((uintptr_t)page - 1);
    /* Best effort: failure is ignored. */
    if (first < end)
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
}

void sxt_file_from_memory(struct sxt_file *file, const void *data, size_t size)
{
    make_empty(file);
    if (size > 0) {
        file->data = data;
        file->size = size;
    }
}

int sxt_file_inflate(struct sxt_file *file, uint64_t limit, sxt_error *error)
{
    enum sxt_compression kind = sxt_compression_of(file->data, file->size);
    if (kind == SXT_COMPRESSION_NONE)
        return SXT_OK;
    uint8_t *expanded;
    size_t size;
    int status = sxt_inflate(kind, file->data, file->size, limit, &expanded, &size, error);
    if (status != SXT_OK)
        return status;
    sxt_file_close(file);
    *file = (struct sxt_file){.data = expanded, .size = size, .owner = SXT_FILE_ALLOCATED};
    return SXT_OK;
}

int sxt_file_open_inflated(struct sxt_file *file, const char *path, uint64_t limit, sxt_error *error)
{
    int status = sxt_file_open(file, path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_file_inflate(file, limit, error);
    if (status != SXT_OK)
        sxt_file_close(file);
    return status;
}

void sxt_file_close(struct sxt_file *file)
{
    /* The memory belongs to the file, so it may be freed; the const is for callers. */
    void *memory = (void *)(uintptr_t)file->data;
    if (file->owner == SXT_FILE_MAPPED)
        munmap(memory, file->size);
    else if (file->owner == SXT_FILE_ALLOCATED)
        free(memory);
    make_empty(file);
}

/* Leaves *MAPPED false, without an error, if the file system does not support mappings. */
static int map_regular(struct sxt_file *file, int fd, uint64_t size, bool *mapped, sxt_error *error)
{
    if (size > PTRDIFF_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "too large for this machine");
    void *memory = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    *mapped = memory != MAP_FAILED;
    if (*mapped)
        *file = (struct sxt_file){.data = memory, .size = (size_t)size, .owner = SXT_FILE_MAPPED};
    else if (errno != ENODEV && errno != EACCES && errno != EINVAL)
        return sxt_fail_errno(error, errno, "cannot map");
    return SXT_OK;
}

/* FROM_START reads a regular file from its beginning, and does not move the descriptor. */
static ssize_t read_some(int fd, uint8_t *to, size_t room, bool from_start, size_t position)
{
    for (;;) {
        ssize_t count = from_start ? pread(fd, to, room, (off_t)position) : read(fd, to, room);
        if (count >= 0 || (errno != EINTR && errno != EAGAIN))
            return count;
        if (errno == EAGAIN) {
            struct pollfd wanted = {.fd = fd, .events = POLLIN};
            poll(&wanted, 1, -1);
        }
    }
}

static int read_to_end(struct sxt_file *file, int fd, bool from_start, sxt_error *error)
{
    /* One byte above the limit is enough to know that there is more. */
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, SXT_FILE_STREAM_LIMIT < PTRDIFF_MAX ? (size_t)SXT_FILE_STREAM_LIMIT + 1 : PTRDIFF_MAX);
    int status = SXT_OK;
    while (status == SXT_OK) {
        size_t room = buffer.maximum - buffer.size < READ_CHUNK ? buffer.maximum - buffer.size : READ_CHUNK;
        uint8_t *to = sxt_buffer_reserve(&buffer, room);
        if (to == NULL) {
            status = sxt_buffer_status(&buffer, error);
            break;
        }
        ssize_t count = read_some(fd, to, buffer.capacity - buffer.size, from_start, buffer.size);
        if (count == 0)
            break;
        if (count < 0 && errno == ESPIPE && from_start)
            from_start = false;
        else if (count < 0)
            status = sxt_fail_errno(error, errno, "cannot read");
        else
            sxt_buffer_extend(&buffer, (size_t)count);
        if (buffer.size == buffer.maximum)
            status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "the input is larger than the limit of %llu bytes",
                              (unsigned long long)SXT_FILE_STREAM_LIMIT);
    }
    if (status == SXT_OK && buffer.size > 0) {
        file->data = sxt_buffer_take(&buffer, &file->size);
        file->owner = SXT_FILE_ALLOCATED;
    }
    sxt_buffer_free(&buffer);
    return status;
}
