/* gzip.c: zlib where the bytes must equal those of other programs, libdeflate for speed. */
#define ZLIB_CONST
#include "base/gzip.h"

#include <libdeflate.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"

#define ROOM         ((size_t)1 << 20)
#define STOCK_LEVEL  9
#define STOCK_MEMORY 8
#define FAST_LEVEL   2

/* No name and no time of the file, the slowest compression, an unknown system: as Python writes it. */
int sxt_gzip_stock(const uint8_t *data, size_t size, struct sxt_buffer *out, sxt_error *error)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff};
    sxt_buffer_append(out, header, sizeof header);
    z_stream stream = {.next_in = data};
    if (deflateInit2(&stream, STOCK_LEVEL, Z_DEFLATED, -MAX_WBITS, STOCK_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return sxt_fail_memory(error, 256 << 10);
    int result = Z_OK;
    size_t left = size;
    while (result == Z_OK) {
        uint8_t *to = sxt_buffer_reserve(out, ROOM);
        if (to == NULL)
            break;
        if (stream.avail_in == 0) {
            stream.avail_in = left < UINT_MAX ? (uInt)left : UINT_MAX;
            left -= stream.avail_in;
        }
        stream.next_out = to;
        stream.avail_out = (uInt)ROOM;
        result = deflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
        sxt_buffer_extend(out, ROOM - stream.avail_out);
    }
    deflateEnd(&stream);
    sxt_buffer_u32le(out, libdeflate_crc32(0, data, size));
    sxt_buffer_u32le(out, (uint32_t)size);
    int status = sxt_buffer_status(out, error);
    return status == SXT_OK && result != Z_STREAM_END ? sxt_fail_memory(error, size) : status;
}

int sxt_gzip_fast(const uint8_t *data, size_t size, struct sxt_buffer *out, sxt_error *error)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(FAST_LEVEL);
    if (compressor == NULL)
        return sxt_fail_memory(error, (uint64_t)1 << 20);
    /* The bound is a little more than the data; unused memory is released below. */
    size_t bound = libdeflate_gzip_compress_bound(compressor, size), written = 0;
    uint8_t *to = malloc(bound);
    if (to != NULL)
        written = libdeflate_gzip_compress(compressor, data, size, to, bound);
    libdeflate_free_compressor(compressor);
    if (written > 0)
        sxt_buffer_append(out, to, written);
    free(to);
    return written == 0 ? sxt_fail_memory(error, bound) : sxt_buffer_status(out, error);
}
