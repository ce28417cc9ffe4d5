/*
 * output.h: a file that is written completely or not at all.
 *
 * The content goes to a temporary name in the same folder; commit flushes, fsyncs, gives it the mode that a plain
 * create would have given (or the mode of the file it replaces) and renames it. Anything else leaves what was there
 * before. "-" is standard output: bytes go out as they come.
 * A symbolic link at PATH is followed, so the link stays and its target is replaced. An existing target that is not a
 * regular file (/dev/null, a pipe) is written to in place.
 */
#ifndef SXT_BASE_OUTPUT_H
#define SXT_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

struct sxt_output {
    int fd;
    char *path;      /* final name; NULL when written in place */
    char *temporary; /* NULL when written in place */
    uint64_t size;   /* bytes written */
};

/* A file that is replaced gives its mode to the new one. */
int sxt_output_open(struct sxt_output *output, const char *path, sxt_error *error);

/* The same, but a file that has other names too does not: PATH may be a second name of a private file. */
int sxt_output_open_over_link(struct sxt_output *output, const char *path, sxt_error *error);

/* Writes everything or fails (short writes and EINTR are handled). */
int sxt_output_write(struct sxt_output *output, const void *data, size_t size, sxt_error *error);

/* Makes the file appear under its name. On failure the temporary file is removed. Either way the output is closed. */
int sxt_output_commit(struct sxt_output *output, sxt_error *error);

/* Gives up: removes the temporary file. Does nothing after commit or on a zeroed output. */
void sxt_output_abandon(struct sxt_output *output);

/* Open, write and commit in one call, for content that is in memory. */
int sxt_output_save(const char *path, const void *data, size_t size, sxt_error *error);

/* Writes all SIZE bytes to FD. */
int sxt_write_all(int fd, const void *data, size_t size, sxt_error *error);

/* FD, or if it is one of the three standard descriptors, another one for the same file, and FD is closed. -1 stays. */
int sxt_output_above_standard(int fd);

#endif
