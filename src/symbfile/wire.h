/*
 * wire.h: protobuf as far as symbfiles need it: types of messages, keys of fields, and integers on the fast way.
 * Private to this room.
 */
#ifndef SXT_SYMBFILE_WIRE_H
#define SXT_SYMBFILE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"

#define SXT_SYMBFILE_MAGIC      "symbfile"
#define SXT_SYMBFILE_MAGIC_SIZE 8

enum {
    SXT_SYMBFILE_TYPE_HEADER = 1,
    SXT_SYMBFILE_TYPE_RANGE = 2,
    SXT_SYMBFILE_TYPE_PAD = 3,
    SXT_SYMBFILE_TYPE_STRINGS = 4,
};

enum {
    SXT_WIRE_VARINT = 0,
    SXT_WIRE_FIXED64 = 1,
    SXT_WIRE_BYTES = 2,
    SXT_WIRE_GROUP = 3,
    SXT_WIRE_GROUP_END = 4,
    SXT_WIRE_FIXED32 = 5,
};

/* What stands before the value of a field. All keys of this format take one byte. */
#define SXT_KEY(number, wire) ((number) << 3 | (wire))
#define SXT_FIELD(key)        ((key) >> 3) /* the number */

enum {
    SXT_RANGE_DELTA = SXT_KEY(1, SXT_WIRE_VARINT),
    SXT_RANGE_LENGTH = SXT_KEY(2, SXT_WIRE_VARINT),
    SXT_RANGE_FUNCTION_TEXT = SXT_KEY(3, SXT_WIRE_BYTES),
    SXT_RANGE_FILE_TEXT = SXT_KEY(4, SXT_WIRE_BYTES),
    SXT_RANGE_CALL_LINE = SXT_KEY(5, SXT_WIRE_VARINT),
    SXT_RANGE_CALL_FILE_TEXT = SXT_KEY(6, SXT_WIRE_BYTES),
    SXT_RANGE_DEPTH = SXT_KEY(7, SXT_WIRE_VARINT),
    SXT_RANGE_LINES = SXT_KEY(8, SXT_WIRE_BYTES),
    SXT_RANGE_FUNCTION = SXT_KEY(9, SXT_WIRE_VARINT),
    SXT_RANGE_FILE = SXT_KEY(10, SXT_WIRE_VARINT),
    SXT_RANGE_CALL_FILE = SXT_KEY(11, SXT_WIRE_VARINT),
    SXT_RANGE_ADDRESS = SXT_KEY(12, SXT_WIRE_VARINT),

    SXT_LINES_OFFSETS = SXT_KEY(1, SXT_WIRE_BYTES),
    SXT_LINES_NUMBERS = SXT_KEY(2, SXT_WIRE_BYTES),

    SXT_PAD_DELTA = SXT_KEY(1, SXT_WIRE_VARINT),
    SXT_PAD_FUNCTIONS = SXT_KEY(2, SXT_WIRE_BYTES),
    SXT_PAD_FILES = SXT_KEY(3, SXT_WIRE_BYTES),
    SXT_PAD_LINES = SXT_KEY(4, SXT_WIRE_BYTES),
    SXT_PAD_ADDRESS = SXT_KEY(5, SXT_WIRE_VARINT),

    SXT_STRINGS_TEXT = SXT_KEY(1, SXT_WIRE_BYTES),
};

/* How many bytes VALUE takes: seven bits a byte. */
static inline size_t sxt_wire_size(uint64_t value)
{
    unsigned highest_bit = 63 - (unsigned)__builtin_clzll(value | 1);
    return (highest_bit * 9 + 73) / 64;
}

/* Writes VALUE and returns the place behind it. */
static inline uint8_t *sxt_wire_put(uint8_t *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

/*
 * Reads a number from AT and returns the place behind it; NULL when it is cut off by END, or does not fit in 64 bits.
 * Most have one byte or two, and those need no call.
 */
static inline const uint8_t *sxt_wire_get(const uint8_t *at, const uint8_t *end, uint64_t *value)
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

#endif
