/*
 * varint.h: LEB128 integers of 1 to 10 bytes, as protobuf, .mlyze and DWARF have them. Allocates nothing and calls
 * nothing, so that the recorder can use it.
 */
#ifndef SXT_BASE_VARINT_H
#define SXT_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define SXT_VARINT_MAX 10

/* Writes VALUE to TO (room for SXT_VARINT_MAX bytes) and returns how many bytes it took. */
size_t sxt_varint_encode(uint8_t *to, uint64_t value);

/* How many bytes sxt_varint_encode takes for VALUE. */
size_t sxt_varint_size(uint64_t value);

/*
 * Reads one integer from at most SIZE bytes and returns how many it took; 0 when it is cut off, is longer than 10
 * bytes, or does not fit in 64 bits. Redundant trailing zero groups are accepted.
 */
size_t sxt_varint_decode(const uint8_t *from, size_t size, uint64_t *value);

/* Signed integers in the protobuf "zigzag" mapping. */
static inline uint64_t sxt_zigzag_encode(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t sxt_zigzag_decode(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

#endif
