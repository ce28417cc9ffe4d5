/* gzip.c: a profile as it is usually stored. */
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"
#include "profile/profile.h"

#define LEVEL     1 /* names repeat so much that more effort gains little */
#define ROOM      ((size_t)256 << 10)
#define GZIP_FORM (15 + 16) /* the largest window, and a gzip header */

int sxt_profile_gzip(const uint8_t *data, size_t size, struct sxt_buffer *out, sxt_error *error)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, GZIP_FORM, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        return sxt_fail_memory(error, 256 << 10);
    int result = Z_OK;
    size_t left = size;
    /* zlib does not change its input, but says so only when it is told to; and it counts in unsigned ints. */
    stream.next_in = (Bytef *)(uintptr_t)data;
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
    if (sxt_buffer_status(out, error) != SXT_OK)
        return out->memory_was_short ? SXT_ERROR_MEMORY : SXT_ERROR_LIMIT;
    return result == Z_STREAM_END ? SXT_OK : sxt_fail_memory(error, size);
}
