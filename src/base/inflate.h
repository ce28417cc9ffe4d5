/* inflate.h: decompression with a limit. The format is detected from the first bytes. */
#ifndef SXT_BASE_INFLATE_H
#define SXT_BASE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

enum sxt_compression {
    SXT_COMPRESSION_NONE,
    SXT_COMPRESSION_GZIP,
    SXT_COMPRESSION_ZLIB, /* never recognised by content: it has no magic */
    SXT_COMPRESSION_XZ,
    SXT_COMPRESSION_ZSTD
};

/* The format by its first bytes: gzip, xz or zstd; otherwise none. */
enum sxt_compression sxt_compression_of(const void *data, size_t size);

/* "gzip", "xz", ... */
const char *sxt_compression_name(enum sxt_compression kind);

/*
 * Expands a whole stream into *OUT (malloc, the caller frees it) and *OUT_SIZE. Concatenated gzip members, xz streams
 * and zstd frames are all expanded; other bytes after the last one are an error. Fails with SXT_ERROR_LIMIT as soon as
 * more than LIMIT bytes would come out, with SXT_ERROR_FORMAT for a damaged or cut stream (offset: how far the input
 * was read). Memory grows with what really comes out, never with a size that the stream only claims. Decoder memory of
 * xz and zstd is bounded too (128 MiB window).
 */
int sxt_inflate(enum sxt_compression kind, const void *data, size_t size, uint64_t limit, uint8_t **out,
                size_t *out_size, sxt_error *error);

/*
 * Expands the beginning of a stream, at most ROOM bytes of it, to TO, and returns how many bytes came out. A stream
 * that is damaged gives what comes before the damage.
 */
size_t sxt_inflate_start(enum sxt_compression kind, const void *data, size_t size, uint8_t *to, size_t room);

/* Expands into exactly EXPECTED bytes at TO; any other length is an error. */
int sxt_inflate_exactly(enum sxt_compression kind, const void *data, size_t size, uint8_t *to, size_t expected,
                        sxt_error *error);

#endif
