/* varint.c: seven bits a byte, lowest first, the top bit set on every byte but the last. */
#include "base/varint.h"

size_t sxt_varint_encode(uint8_t *to, uint64_t value)
{
    size_t size = 0;
    while (value >= 0x80) {
        to[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[size++] = (uint8_t)value;
    return size;
}

size_t sxt_varint_size(uint64_t value)
{
    size_t size = 1;
    while (value >= 0x80) {
        size++;
        value >>= 7;
    }
    return size;
}

size_t sxt_varint_decode(const uint8_t *from, size_t size, uint64_t *value)
{
    uint64_t result = 0;
    size_t most = size < SXT_VARINT_MAX ? size : SXT_VARINT_MAX;
    for (size_t i = 0; i < most; i++) {
        uint8_t byte = from[i];
        /* Nine bytes hold 63 bits: the tenth has one bit of the value, and an eleventh is not allowed. */
        if (i == SXT_VARINT_MAX - 1 && byte > 1)
            return 0;
        result |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *value = result;
            return i + 1;
        }
    }
    return 0;
}
