/* cursor.c: every read goes through `claim`, the one place that compares with the end. */
#include "base/cursor.h"

#include <string.h>

#include "base/bytes.h"
#include "base/varint.h"

static const uint8_t *claim(struct sxt_cursor *cursor, uint64_t length);

struct sxt_cursor sxt_cursor_make(const void *data, size_t size, uint64_t base, bool big_endian)
{
    return (struct sxt_cursor){.data = data, .size = size, .base = base, .big_endian = big_endian};
}

/* The numbers of a failed cursor cannot be trusted, so slices of it have failed too. */
struct sxt_cursor sxt_cursor_slice(const struct sxt_cursor *parent, uint64_t at, uint64_t length)
{
    struct sxt_cursor slice = sxt_cursor_make(parent->data, 0, parent->base, parent->big_endian);
    if (parent->failed || !sxt_fits(at, length, 1, parent->size)) {
        slice.failed = true;
        return slice;
    }
    if (at > 0)
        slice.data += at;
    slice.size = (size_t)length;
    slice.base += at;
    return slice;
}

uint8_t sxt_cursor_u8(struct sxt_cursor *cursor)
{
    const uint8_t *bytes = claim(cursor, 1);
    return bytes == NULL ? 0 : *bytes;
}

uint16_t sxt_cursor_u16(struct sxt_cursor *cursor)
{
    const uint8_t *bytes = claim(cursor, 2);
    return bytes == NULL ? 0 : sxt_load_u16(bytes, cursor->big_endian);
}

uint32_t sxt_cursor_u32(struct sxt_cursor *cursor)
{
    const uint8_t *bytes = claim(cursor, 4);
    return bytes == NULL ? 0 : sxt_load_u32(bytes, cursor->big_endian);
}

uint64_t sxt_cursor_u64(struct sxt_cursor *cursor)
{
    const uint8_t *bytes = claim(cursor, 8);
    return bytes == NULL ? 0 : sxt_load_u64(bytes, cursor->big_endian);
}

uint64_t sxt_cursor_uint(struct sxt_cursor *cursor, unsigned width)
{
    switch (width) {
    case 1:
        return sxt_cursor_u8(cursor);
    case 2:
        return sxt_cursor_u16(cursor);
    case 4:
        return sxt_cursor_u32(cursor);
    case 8:
        return sxt_cursor_u64(cursor);
    }
    cursor->failed = true;
    return 0;
}

uint64_t sxt_cursor_uleb128(struct sxt_cursor *cursor)
{
    if (cursor->failed)
        return 0;
    uint64_t value = 0;
    size_t size = 0;
    if (cursor->size > cursor->at)
        size = sxt_varint_decode(cursor->data + cursor->at, cursor->size - cursor->at, &value);
    if (size == 0)
        cursor->failed = true;
    cursor->at += size;
    return value;
}

int64_t sxt_cursor_sleb128(struct sxt_cursor *cursor)
{
    if (cursor->failed)
        return 0;
    size_t left = sxt_cursor_left(cursor);
    uint64_t value = 0;
    for (size_t i = 0; i < SXT_VARINT_MAX && i < left; i++) {
        uint8_t byte = cursor->data[cursor->at + i];
        /* The tenth byte has bit 63 and six copies of it. */
        if (i == SXT_VARINT_MAX - 1 && byte != 0x00 && byte != 0x7f)
            break;
        unsigned shift = 7 * (unsigned)i;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            bool is_negative = byte & 0x40;
            if (is_negative && shift + 7 < 64)
                value |= UINT64_MAX << (shift + 7);
            cursor->at += i + 1;
            return (int64_t)value;
        }
    }
    cursor->failed = true;
    return 0;
}

const uint8_t *sxt_cursor_bytes(struct sxt_cursor *cursor, uint64_t length)
{
    return claim(cursor, length);
}

sxt_string sxt_cursor_cstring(struct sxt_cursor *cursor)
{
    sxt_string absent = {NULL, 0};
    if (cursor->failed)
        return absent;
    size_t left = sxt_cursor_left(cursor);
    const uint8_t *end = left == 0 ? NULL : memchr(cursor->data + cursor->at, 0, left);
    if (end == NULL) {
        cursor->failed = true;
        return absent;
    }
    const uint8_t *start = cursor->data + cursor->at;
    cursor->at += (size_t)(end - start) + 1;
    return (sxt_string){(const char *)start, (size_t)(end - start)};
}

void sxt_cursor_skip(struct sxt_cursor *cursor, uint64_t length)
{
    claim(cursor, length);
}

void sxt_cursor_seek(struct sxt_cursor *cursor, uint64_t at)
{
    if (cursor->failed)
        return;
    if (at > cursor->size)
        cursor->failed = true;
    else
        cursor->at = (size_t)at;
}

/*
 * Moves over LENGTH bytes and returns where they begin. NULL when there are fewer; the cursor then stays where it is,
 * for the message. 0 bytes never fail, even without data.
 */
static const uint8_t *claim(struct sxt_cursor *cursor, uint64_t length)
{
    static const uint8_t nothing[1];
    if (cursor->failed || length > sxt_cursor_left(cursor)) {
        cursor->failed = true;
        return NULL;
    }
    if (cursor->data == NULL)
        return nothing;
    const uint8_t *bytes = cursor->data + cursor->at;
    cursor->at += (size_t)length;
    return bytes;
}
