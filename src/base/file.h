/*
 * file.h: the bytes of an input, whatever it is: a mapped regular file, a pipe that was read to its end, or memory of
 * the caller's. A compressed input (gzip, xz or zstd, detected from the content) can be inflated in place.
 */
#ifndef SXT_BASE_FILE_H
#define SXT_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

enum sxt_file_owner { SXT_FILE_NOBODY, SXT_FILE_MAPPED, SXT_FILE_ALLOCATED };

struct sxt_file {
    const uint8_t *data; /* never NULL, also when size is 0 */
    size_t size;
    enum sxt_file_owner owner;
};

/* The most that is read from something that cannot be mapped (pipe, terminal, /proc file). */
#define SXT_FILE_STREAM_LIMIT ((uint64_t)4 << 30)

/* Open PATH ("-" is standard input) for reading. A directory is refused. On failure *FILE is empty. */
int sxt_file_open(struct sxt_file *file, const char *path, sxt_error *error);

/* The same from a descriptor, which stays the caller's and may be closed at once. A regular file is taken whole. */
int sxt_file_open_fd(struct sxt_file *file, int fd, sxt_error *error);

/*
 * Removes pages of a mapped file that lie within SIZE bytes at START from memory; when they are used again, the system
 * reads them again. Only for bytes of a file whose owner is SXT_FILE_MAPPED: other memory would be lost. Any thread may
 * call it, also while another one uses the pages.
 */
void sxt_file_drop_pages(const uint8_t *start, size_t size);

/* Borrow memory; nothing is freed by sxt_file_close. */
void sxt_file_from_memory(struct sxt_file *file, const void *data, size_t size);

/* Opens PATH and inflates it, to at most LIMIT bytes, if the content is compressed. */
int sxt_file_open_inflated(struct sxt_file *file, const char *path, uint64_t limit, sxt_error *error);

/* If the content is compressed, replace it by what it expands to, at most LIMIT bytes; otherwise do nothing. */
int sxt_file_inflate(struct sxt_file *file, uint64_t limit, sxt_error *error);

void sxt_file_close(struct sxt_file *file);

#endif
