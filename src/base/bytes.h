/* bytes.h: unaligned loads and stores in either byte order, and sums that cannot overflow unnoticed. */
#ifndef SXT_BASE_BYTES_H
#define SXT_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t sxt_load_u16(const void *from, bool big_endian)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? value : __builtin_bswap16(value);
}

static inline uint32_t sxt_load_u32(const void *from, bool big_endian)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? value : __builtin_bswap32(value);
}

static inline uint64_t sxt_load_u64(const void *from, bool big_endian)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? value : __builtin_bswap64(value);
}

static inline uint16_t sxt_load_u16le(const void *from)
{
    return sxt_load_u16(from, false);
}
static inline uint32_t sxt_load_u32le(const void *from)
{
    return sxt_load_u32(from, false);
}
static inline uint64_t sxt_load_u64le(const void *from)
{
    return sxt_load_u64(from, false);
}

static inline void sxt_store_u16le(void *to, uint16_t value)
{
    value = sxt_load_u16le(&value);
    memcpy(to, &value, sizeof value);
}

static inline void sxt_store_u32le(void *to, uint32_t value)
{
    value = sxt_load_u32le(&value);
    memcpy(to, &value, sizeof value);
}

static inline void sxt_store_u64le(void *to, uint64_t value)
{
    value = sxt_load_u64le(&value);
    memcpy(to, &value, sizeof value);
}

/* Each returns false, and leaves *RESULT alone, when the result does not fit. */
static inline bool sxt_add_u64(uint64_t a, uint64_t b, uint64_t *result)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *result = sum;
    return true;
}

static inline bool sxt_mul_u64(uint64_t a, uint64_t b, uint64_t *result)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *result = product;
    return true;
}

/* Do COUNT items of ITEM_SIZE bytes at OFFSET lie inside SIZE bytes? No intermediate result can overflow. */
static inline bool sxt_fits(uint64_t offset, uint64_t count, uint64_t item_size, uint64_t size)
{
    uint64_t bytes;
    return offset <= size && sxt_mul_u64(count, item_size, &bytes) && bytes <= size - offset;
}

#endif
