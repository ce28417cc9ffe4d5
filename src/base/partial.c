/* partial.c: which bytes of a file are here, and how the others get here. */
#include "base/partial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define GRAIN SXT_PARTIAL_GRAIN
#define WORD  ((uint64_t)64 * GRAIN) /* bytes whose grains are in one word */

/* Grains between two wanted ones that are fetched too, because another request costs more. */
#define GAP 16

static uint64_t grain_count(const struct sxt_partial *partial)
{
    return (partial->size + GRAIN - 1) / GRAIN;
}

static size_t word_count(const struct sxt_partial *partial)
{
    return (size_t)(grain_count(partial) / 64 + 1);
}

int sxt_partial_open(int file, uint64_t size, sxt_partial_read *read, void *data, struct sxt_partial **out,
                     sxt_error *error)
{
    *out = NULL;
    if (size == 0 || size > INT64_MAX || size > SIZE_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "a file of %llu bytes cannot be read in parts",
                        (unsigned long long)size);
    struct sxt_partial *partial = calloc(1, sizeof *partial);
    if (partial == NULL)
        return sxt_fail_memory(error, sizeof *partial);
    partial->size = size;
    partial->file = file;
    partial->read = read;
    partial->read_data = data;
    partial->grains = calloc(word_count(partial), sizeof *partial->grains);
    void *mapped = partial->grains != NULL && ftruncate(file, (off_t)size) == 0
                       ? mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, file, 0)
                       : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        int status = partial->grains == NULL ? sxt_fail_memory(error, size / 512)
                                             : sxt_fail_errno(error, errno, "cannot map a temporary file");
        free(partial->grains);
        free(partial);
        return status;
    }
    partial->data = mapped;
    pthread_rwlock_init(&partial->lock, NULL);
    *out = partial;
    return SXT_OK;
}

void sxt_partial_close(struct sxt_partial **partial)
{
    if (*partial == NULL)
        return;
    munmap((void *)(uintptr_t)(*partial)->data, (size_t)(*partial)->size);
    pthread_rwlock_destroy(&(*partial)->lock);
    free((*partial)->grains);
    free(*partial);
    *partial = NULL;
}

void sxt_partial_enter(struct sxt_partial *partial)
{
    struct timespec now;
    pthread_rwlock_rdlock(&partial->lock);
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    partial->used = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sxt_partial_leave(struct sxt_partial *partial)
{
    pthread_rwlock_unlock(&partial->lock);
}

/* --- grains --- */

static bool has_grain(const struct sxt_partial *partial, uint64_t grain)
{
    return (atomic_load_explicit(&partial->grains[grain / 64], memory_order_acquire) >> grain % 64 & 1) != 0;
}

static void note_grains(struct sxt_partial *partial, uint64_t first, uint64_t end)
{
    while (first < end) {
        uint64_t until = first / 64 * 64 + 64 < end ? first / 64 * 64 + 64 : end;
        uint64_t bits = (until - first == 64 ? UINT64_MAX : (UINT64_C(1) << (until - first)) - 1) << first % 64;
        if (atomic_fetch_or_explicit(&partial->grains[first / 64], bits, memory_order_release) == 0)
            partial->held += WORD;
        first = until;
    }
}

/* The grains that SIZE bytes at OFFSET are in; none if they are not in the file. */
static struct sxt_partial_want grains_of(const struct sxt_partial *partial, uint64_t offset, uint64_t size)
{
    if (offset >= partial->size || size == 0)
        return (struct sxt_partial_want){0, 0};
    if (size > partial->size - offset)
        size = partial->size - offset;
    return (struct sxt_partial_want){offset / GRAIN, (offset + size - 1) / GRAIN + 1};
}

bool sxt_partial_has(const struct sxt_partial *partial, uint64_t offset, uint64_t size)
{
    struct sxt_partial_want range = grains_of(partial, offset, size);
    while (range.first < range.end && has_grain(partial, range.first))
        range.first++;
    return range.first >= range.end;
}

/* --- fetching --- */

static void add_want(struct sxt_partial_wants *wants, struct sxt_partial_want range)
{
    if (wants->count == wants->capacity) {
        size_t capacity = wants->capacity > 0 ? 2 * wants->capacity : 64;
        struct sxt_partial_want *moved = realloc(wants->list, capacity * sizeof *moved);
        if (moved == NULL) {
            wants->failed = true;
            return;
        }
        wants->list = moved;
        wants->capacity = capacity;
    }
    wants->list[wants->count++] = range;
}

bool sxt_partial_want(const struct sxt_partial *partial, struct sxt_partial_wants *wants, uint64_t offset,
                      uint64_t size)
{
    struct sxt_partial_want range = grains_of(partial, offset, size);
    while (range.first < range.end && has_grain(partial, range.first))
        range.first++;
    while (range.first < range.end && has_grain(partial, range.end - 1))
        range.end--;
    if (range.first >= range.end)
        return true;
    add_want(wants, range);
    return false;
}

static int compare(const void *a, const void *b)
{
    const struct sxt_partial_want *left = a, *right = b;
    return (left->first > right->first) - (left->first < right->first);
}

/* Puts them in order, and joins those that are close to each other. */
static void join(struct sxt_partial_wants *wants)
{
    size_t kept = 0;
    qsort(wants->list, wants->count, sizeof *wants->list, compare);
    for (size_t i = 1; i < wants->count; i++) {
        struct sxt_partial_want *last = &wants->list[kept], next = wants->list[i];
        if (next.first <= last->end + GAP)
            last->end = next.end > last->end ? next.end : last->end;
        else
            wants->list[++kept] = next;
    }
    wants->count = kept + 1;
}

static int write_all(const struct sxt_partial *partial, uint64_t offset, const void *bytes, size_t size,
                     sxt_error *error)
{
    const char *from = bytes;
    while (size > 0) {
        ssize_t done = pwrite(partial->file, from, size, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return sxt_fail(error, errno == ENOSPC || errno == EDQUOT ? SXT_ERROR_LIMIT : SXT_ERROR_IO, SXT_NO_OFFSET,
                            "cannot write to a temporary file: %s", strerror(errno));
        from += done;
        offset += (uint64_t)done;
        size -= (size_t)done;
    }
    return SXT_OK;
}

/* Reads all of them into one block of memory. RANGES has room for as many. */
static int read_wants(struct sxt_partial *partial, const struct sxt_partial_wants *wants,
                      struct sxt_partial_range *ranges, uint8_t *block, sxt_error *error)
{
    for (size_t i = 0; i < wants->count; i++) {
        uint64_t from = wants->list[i].first * GRAIN, to = wants->list[i].end * GRAIN;
        to = to < partial->size ? to : partial->size;
        ranges[i] = (struct sxt_partial_range){from, (size_t)(to - from), block};
        block += to - from;
    }
    int status = partial->read(partial->read_data, ranges, wants->count, error);
    for (size_t i = 0; i < wants->count && status == SXT_OK; i++) {
        status = write_all(partial, ranges[i].offset, ranges[i].to, ranges[i].size, error);
        if (status == SXT_OK) {
            note_grains(partial, wants->list[i].first, wants->list[i].end);
            partial->fetched += ranges[i].size;
        }
    }
    return status;
}

int sxt_partial_fetch(struct sxt_partial *partial, struct sxt_partial_wants *wants, sxt_error *error)
{
    int status = SXT_OK;
    if (wants->count > 0 && !wants->failed) {
        uint64_t grains = 0;
        join(wants);
        for (size_t i = 0; i < wants->count; i++)
            grains += wants->list[i].end - wants->list[i].first;
        uint8_t *block = malloc((size_t)grains * GRAIN);
        struct sxt_partial_range *ranges = malloc(wants->count * sizeof *ranges);
        status = block != NULL && ranges != NULL ? read_wants(partial, wants, ranges, block, error)
                                                 : sxt_fail_memory(error, grains * GRAIN);
        free(block);
        free(ranges);
    } else if (wants->failed) {
        status = sxt_fail_memory(error, wants->capacity * sizeof *wants->list);
    }
    free(wants->list);
    *wants = (struct sxt_partial_wants){0};
    return status;
}

int sxt_partial_put(struct sxt_partial *partial, uint64_t offset, const void *bytes, size_t size, sxt_error *error)
{
    if (offset > partial->size || size > partial->size - offset)
        return SXT_OK;
    int status = write_all(partial, offset, bytes, size, error);
    uint64_t first = (offset + GRAIN - 1) / GRAIN, end = (offset + size) / GRAIN;
    if (offset + size == partial->size)
        end = grain_count(partial);
    if (status == SXT_OK && first < end)
        note_grains(partial, first, end);
    return status;
}

uint64_t sxt_partial_drop(struct sxt_partial *partial)
{
    uint64_t held = 0;
    if (pthread_rwlock_trywrlock(&partial->lock) != 0)
        return 0;
    /* Making the file empty and long again frees its bytes on every file system. */
    if (ftruncate(partial->file, 0) == 0 && ftruncate(partial->file, (off_t)partial->size) == 0) {
        held = partial->held;
        partial->held = 0;
        for (size_t i = 0; i < word_count(partial); i++)
            partial->grains[i] = 0;
    }
    pthread_rwlock_unlock(&partial->lock);
    return held;
}
