/*
 * protobuf.h: reading and writing the wire format of Protocol Buffers.
 *
 * A message is a list of fields; before each value there is a key: the number of the field and its wire type. A reader
 * that knows its message takes keys and values one by one with sxt_protobuf_get; one that looks at some fields only
 * goes over them with sxt_protobuf_next.
 */
#ifndef SXT_BASE_PROTOBUF_H
#define SXT_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/varint.h"

enum sxt_protobuf_wire {
    SXT_PROTOBUF_VARINT = 0,
    SXT_PROTOBUF_FIXED64 = 1,
    SXT_PROTOBUF_BYTES = 2,
    SXT_PROTOBUF_GROUP = 3,
    SXT_PROTOBUF_GROUP_END = 4,
    SXT_PROTOBUF_FIXED32 = 5,
};

#define SXT_PROTOBUF_KEY(number, wire) ((number) << 3 | (wire))
#define SXT_PROTOBUF_NUMBER(key)       ((key) >> 3)

/* --- single values, on the fast path --- */

/* How many bytes VALUE takes: seven bits a byte. */
static inline size_t sxt_protobuf_size(uint64_t value)
{
    unsigned highest_bit = 63 - (unsigned)__builtin_clzll(value | 1);
    return (highest_bit * 9 + 73) / 64;
}

/* Writes VALUE and returns the place after it. */
static inline uint8_t *sxt_protobuf_put(uint8_t *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

/*
 * Reads a number from AT and returns the place after it; NULL when it is cut off by END, or does not fit in 64 bits.
 * Most have one byte or two, and those need no call.
 */
static inline const uint8_t *sxt_protobuf_get(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (end - at >= 2) {
        if (at[0] < 0x80) {
            *value = at[0];
            return at + 1;
        }
        if (at[1] < 0x80) {
            *value = (uint64_t)at[1] << 7 | (at[0] & 0x7f);
            return at + 2;
        }
    }
    uint64_t number = 0;
    size_t size = sxt_varint_decode(at, (size_t)(end - at), &number);
    *value = number;
    return size > 0 ? at + size : NULL;
}

/*
 * Steps over the value of a field, which begins at AT: a group with all fields in it. Returns the place after it; NULL
 * when it is damaged, cut off by END, or has groups nested more than 100 levels deep.
 */
const uint8_t *sxt_protobuf_skip(const uint8_t *at, const uint8_t *end, uint64_t number, unsigned wire);

/* --- the fields of a message, one after another --- */

struct sxt_protobuf_field {
    uint64_t number;
    unsigned wire;
    uint64_t value;      /* of a varint */
    const uint8_t *data; /* of bytes */
    size_t size;
    size_t start, end; /* all of it, from its key on: positions of the cursor */
};

/* The next field; false at the end of the message, and when it is damaged: then cursor->failed is set. */
bool sxt_protobuf_next(struct sxt_cursor *cursor, struct sxt_protobuf_field *field);

/* A cursor over the bytes of FIELD. */
struct sxt_cursor sxt_protobuf_inside(const struct sxt_cursor *cursor, const struct sxt_protobuf_field *field);

/* --- writing --- */

void sxt_protobuf_write_number(struct sxt_buffer *out, unsigned number, uint64_t value);
void sxt_protobuf_write_bytes(struct sxt_buffer *out, unsigned number, const void *data, size_t size);

#endif
