/*
 * cursor.h: reading untrusted bytes from front to back. Every read is bounds-checked. The first read that does not fit
 * marks the cursor as failed; it and all later reads return zero, so a caller may read a whole structure and ask once.
 */
#ifndef SXT_BASE_CURSOR_H
#define SXT_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

struct sxt_cursor {
    const uint8_t *data; /* first byte */
    size_t size;
    size_t at;     /* position of the next read; never above size */
    uint64_t base; /* offset of data in the file, for messages */
    bool big_endian;
    bool failed;
};

/* A cursor over SIZE bytes at DATA, which begin at offset BASE of the file. */
struct sxt_cursor sxt_cursor_make(const void *data, size_t size, uint64_t base, bool big_endian);

/* A cursor over LENGTH bytes at position AT of PARENT, independent of the position of PARENT; failed when outside. */
struct sxt_cursor sxt_cursor_slice(const struct sxt_cursor *parent, uint64_t at, uint64_t length);

uint8_t sxt_cursor_u8(struct sxt_cursor *cursor);
uint16_t sxt_cursor_u16(struct sxt_cursor *cursor);
uint32_t sxt_cursor_u32(struct sxt_cursor *cursor);
uint64_t sxt_cursor_u64(struct sxt_cursor *cursor);

/* An unsigned integer of WIDTH bytes (1, 2, 4 or 8); any other width fails. */
uint64_t sxt_cursor_uint(struct sxt_cursor *cursor, unsigned width);

/* LEB128. Redundant bytes are accepted; bits beyond 64 that are set fail, and so does the 11th byte. */
uint64_t sxt_cursor_uleb128(struct sxt_cursor *cursor);
int64_t sxt_cursor_sleb128(struct sxt_cursor *cursor);

/* The next LENGTH bytes, or NULL (failed). */
const uint8_t *sxt_cursor_bytes(struct sxt_cursor *cursor, uint64_t length);

/* The bytes up to the next NUL, which is consumed; absent (failed) when there is none. */
sxt_string sxt_cursor_cstring(struct sxt_cursor *cursor);

void sxt_cursor_skip(struct sxt_cursor *cursor, uint64_t length);
void sxt_cursor_seek(struct sxt_cursor *cursor, uint64_t at);

static inline size_t sxt_cursor_left(const struct sxt_cursor *cursor)
{
    return cursor->size - cursor->at;
}

/* The offset in the file of the next read. */
static inline uint64_t sxt_cursor_offset(const struct sxt_cursor *cursor)
{
    return cursor->base + cursor->at;
}

#endif
