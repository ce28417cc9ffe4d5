/*
 * partial.h: a file of which only some bytes are here. The others are somewhere else, and are fetched when they are
 * needed.
 *
 * The bytes that were fetched are in a sparse local file, which is mapped. What is not here reads as zeros, so who
 * reads asks sxt_partial_has first. A file is cut into grains of 32 bytes; a grain is here as a whole or not at all.
 *
 *     sxt_partial_enter(partial);
 *     do {
 *         struct sxt_partial_wants wants = {0};
 *         ... sxt_partial_want(partial, &wants, offset, size), for all that is known to be needed
 *         status = sxt_partial_fetch(partial, &wants, &error);
 *     } while (...);
 *     ... read partial->data
 *     sxt_partial_leave(partial);
 *
 * Any number of threads may do that at once. What they need does not vanish between enter and leave.
 */
#ifndef SXT_BASE_PARTIAL_H
#define SXT_BASE_PARTIAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#define SXT_PARTIAL_GRAIN 32

/* SIZE bytes at OFFSET, to be written to TO. */
struct sxt_partial_range {
    uint64_t offset;
    size_t size;
    void *to;
};

/* Reads ranges of the file from where it is. */
typedef int sxt_partial_read(void *data, const struct sxt_partial_range *ranges, size_t count, sxt_error *error);

struct sxt_partial {
    const uint8_t *data; /* as long as the file */
    uint64_t size;
    _Atomic uint64_t held;    /* bytes of the local file that are in use */
    _Atomic uint64_t fetched; /* bytes that were fetched so far */
    _Atomic int64_t used;     /* when it was entered last, in milliseconds */

    /* Private. */
    int file;
    sxt_partial_read *read;
    void *read_data;
    _Atomic uint64_t *grains; /* a bit each */
    pthread_rwlock_t lock;
};

/* FILE is an empty file that can be read and written; it stays the caller's, and open. */
int sxt_partial_open(int file, uint64_t size, sxt_partial_read *read, void *data, struct sxt_partial **out,
                     sxt_error *error);
void sxt_partial_close(struct sxt_partial **partial);

void sxt_partial_enter(struct sxt_partial *partial);
void sxt_partial_leave(struct sxt_partial *partial);

/* Are SIZE bytes at OFFSET here? Bytes after the end of the file are. */
bool sxt_partial_has(const struct sxt_partial *partial, uint64_t offset, uint64_t size);

/* What is to be fetched together. All zero at first; sxt_partial_fetch frees it. */
struct sxt_partial_wants {
    struct sxt_partial_want {
        uint64_t first, end; /* grains */
    } * list;
    size_t count, capacity;
    bool failed; /* memory is short */
};

/* Wants SIZE bytes at OFFSET, as far as they are in the file and not here. Returns whether nothing is missing. */
bool sxt_partial_want(const struct sxt_partial *partial, struct sxt_partial_wants *wants, uint64_t offset,
                      uint64_t size);

/* Fetches all that is wanted, in few pieces. */
int sxt_partial_fetch(struct sxt_partial *partial, struct sxt_partial_wants *wants, sxt_error *error);

/* Puts bytes in place that are known from elsewhere; of grains only those that are complete. */
int sxt_partial_put(struct sxt_partial *partial, uint64_t offset, const void *bytes, size_t size, sxt_error *error);

/* Forgets all bytes, unless somebody is reading them. Returns how many bytes of the local file that frees. */
uint64_t sxt_partial_drop(struct sxt_partial *partial);

#endif
