/*
 * gzip.c: compression of .size files.
 *
 * libdeflate reads. It needs the size of the result, which is in the last four bytes of the stream. The file may state
 * anything there, so no more is allocated than a stream of this size can expand to. What libdeflate refuses (damage,
 * several members, a wrong size) goes to the general decompressor, which says what is wrong.
 */
#define ZLIB_CONST
#include <libdeflate.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/gzip.h"
#include "base/inflate.h"
#include "size/private.h"

#define DEFAULT_LIMIT     ((uint64_t)4 << 30)
#define MOST_RATIO        1032               /* of what comes out of deflate to what goes in */
#define LEAST_SIZE        18                 /* of a gzip stream */
#define PAGE_SIZE         ((size_t)64 << 10) /* a multiple of the page size of any system */
#define WORTH_LARGE_PAGES ((size_t)8 << 20)

static int inflate_quickly(const uint8_t *data, size_t size, uint64_t limit, uint8_t **text, size_t *text_size);
static int inflate_slowly(const uint8_t *data, size_t size, uint64_t limit, uint8_t **text, size_t *text_size,
                          sxt_error *error);

static int over_limit(uint64_t limit, sxt_error *error)
{
    return sxt_fail_reason(error, SXT_ERROR_LIMIT, SXT_REASON_INFLATE_LIMIT, SXT_NO_OFFSET,
                           "the text is larger than the limit of %llu bytes", (unsigned long long)limit);
}

int sxt_size_inflate(const uint8_t *data, size_t size, const struct sxt_size_limits *limits, uint8_t **text,
                     size_t *text_size, sxt_error *error)
{
    *text = NULL;
    *text_size = 0;
    uint64_t limit = limits == NULL || limits->inflated == 0 ? DEFAULT_LIMIT : limits->inflated;
    limit = limit < PTRDIFF_MAX ? limit : PTRDIFF_MAX - 1;
    if (sxt_compression_of(data, size) == SXT_COMPRESSION_GZIP) {
        if (inflate_quickly(data, size, limit, text, text_size) == SXT_OK)
            return SXT_OK;
        return inflate_slowly(data, size, limit, text, text_size, error);
    }
    if (size > limit)
        return over_limit(limit, error);
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL)
        return sxt_fail_memory(error, (uint64_t)size + 1);
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\0';
    *text = copy;
    *text_size = size;
    return SXT_OK;
}

void sxt_size_prefer_large_pages(void *memory, size_t size)
{
    uintptr_t start = ((uintptr_t)memory + PAGE_SIZE - 1) & ~(uintptr_t)(PAGE_SIZE - 1);
    uintptr_t end = ((uintptr_t)memory + size) & ~(uintptr_t)(PAGE_SIZE - 1);
    /* Best effort: failure is ignored. */
    if (size >= WORTH_LARGE_PAGES && start < end)
        (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
}

static int inflate_quickly(const uint8_t *data, size_t size, uint64_t limit, uint8_t **text, size_t *text_size)
{
    if (size < LEAST_SIZE)
        return SXT_ERROR_FORMAT;
    uint64_t claim = sxt_load_u32le(data + size - 4);
    if (claim > limit || claim / MOST_RATIO > size)
        return SXT_ERROR_FORMAT;
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    uint8_t *out = malloc((size_t)claim + 1);
    size_t taken = 0, given = 0;
    if (out != NULL)
        sxt_size_prefer_large_pages(out, (size_t)claim);
    bool good = decompressor != NULL && out != NULL &&
                libdeflate_gzip_decompress_ex(decompressor, data, size, out, (size_t)claim, &taken, &given) ==
                    LIBDEFLATE_SUCCESS &&
                taken == size;
    if (decompressor != NULL)
        libdeflate_free_decompressor(decompressor);
    if (!good) {
        free(out);
        return SXT_ERROR_FORMAT;
    }
    out[given] = '\0';
    *text = out;
    *text_size = given;
    return SXT_OK;
}

static int inflate_slowly(const uint8_t *data, size_t size, uint64_t limit, uint8_t **text, size_t *text_size,
                          sxt_error *error)
{
    uint8_t *out;
    size_t out_size;
    int status = sxt_inflate(SXT_COMPRESSION_GZIP, data, size, limit, &out, &out_size, error);
    if (status == SXT_ERROR_LIMIT)
        return over_limit(limit, error);
    if (status != SXT_OK)
        return status;
    uint8_t *ended = realloc(out, out_size + 1);
    if (ended == NULL) {
        free(out);
        return sxt_fail_memory(error, (uint64_t)out_size + 1);
    }
    ended[out_size] = '\0';
    *text = ended;
    *text_size = out_size;
    return SXT_OK;
}

size_t sxt_size_peek(const uint8_t *data, size_t size, uint8_t *out, size_t capacity)
{
    if (sxt_compression_of(data, size) != SXT_COMPRESSION_GZIP) {
        size_t shown = size < capacity ? size : capacity;
        if (shown > 0)
            memcpy(out, data, shown);
        return shown;
    }
    z_stream stream = {.next_in = data, .avail_in = size < UINT_MAX ? (uInt)size : UINT_MAX};
    if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK)
        return 0;
    stream.next_out = out;
    stream.avail_out = (uInt)capacity;
    inflate(&stream, Z_SYNC_FLUSH);
    inflateEnd(&stream);
    return capacity - stream.avail_out;
}

int sxt_size_deflate(const uint8_t *text, size_t size, enum sxt_size_deflate deflate, struct sxt_buffer *out,
                     sxt_error *error)
{
    return deflate == SXT_SIZE_DEFLATE_FAST ? sxt_gzip_fast(text, size, out, error)
                                            : sxt_gzip_stock(text, size, out, error);
}
