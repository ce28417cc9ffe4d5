/*
 * crc32c_x86.c: CRC32C with the crc32 instruction of SSE4.2.
 *
 * The instruction takes three cycles but one can begin in each, so three neighbouring streams of equal length are
 * computed side by side. The register is linear: that of stream A followed by stream B is the register of A moved over
 * as many zero bytes as B has, plus (xor) that of B. Moving over a fixed length is a table for each four bits of the
 * register, again spelled out by its entries for one set bit.
 */
#include "base/crc32c.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <nmmintrin.h>

#include "base/bytes.h"

#define LONG_STREAM  2048
#define SHORT_STREAM 128

typedef const uint32_t zeros_table[8][16];

static uint64_t three_streams(uint64_t state, const uint8_t *data, size_t stream, zeros_table over_stream);

/* All 16 entries, from those for one set bit each, lowest bit first. */
#define FOUR_BITS(a, b, c, d)                                                                                          \
    {                                                                                                                  \
        0, (a), (b), (a) ^ (b), (c), (a) ^ (c), (b) ^ (c), (a) ^ (b) ^ (c), (d), (a) ^ (d), (b) ^ (d),                 \
            (a) ^ (b) ^ (d), (c) ^ (d), (a) ^ (c) ^ (d), (b) ^ (c) ^ (d), (a) ^ (b) ^ (c) ^ (d)                        \
    }

static zeros_table over_long_stream = {
    FOUR_BITS(0xf7506984, 0xeb4ca5f9, 0xd3753d03, 0xa3060cf7),
    FOUR_BITS(0x43e06f1f, 0x87c0de3e, 0x0a6dca8d, 0x14db951a),
    FOUR_BITS(0x29b72a34, 0x536e5468, 0xa6dca8d0, 0x48552751),
    FOUR_BITS(0x90aa4ea2, 0x24b8ebb5, 0x4971d76a, 0x92e3aed4),
    FOUR_BITS(0x202b2b59, 0x405656b2, 0x80acad64, 0x04b52c39),
    FOUR_BITS(0x096a5872, 0x12d4b0e4, 0x25a961c8, 0x4b52c390),
    FOUR_BITS(0x96a58720, 0x28a778b1, 0x514ef162, 0xa29de2c4),
    FOUR_BITS(0x40d7b379, 0x81af66f2, 0x06b2bb15, 0x0d65762a),
};

static zeros_table over_short_stream = {
    FOUR_BITS(0x6992cea2, 0xd3259d44, 0xa3a74c79, 0x42a2ee03),
    FOUR_BITS(0x8545dc06, 0x0f67cefd, 0x1ecf9dfa, 0x3d9f3bf4),
    FOUR_BITS(0x7b3e77e8, 0xf67cefd0, 0xe915a951, 0xd7c72453),
    FOUR_BITS(0xaa623e57, 0x51280a5f, 0xa25014be, 0x414c5f8d),
    FOUR_BITS(0x8298bf1a, 0x00dd08c5, 0x01ba118a, 0x03742314),
    FOUR_BITS(0x06e84628, 0x0dd08c50, 0x1ba118a0, 0x37423140),
    FOUR_BITS(0x6e846280, 0xdd08c500, 0xbffdfcf1, 0x7a178f13),
    FOUR_BITS(0xf42f1e26, 0xedb24abd, 0xde88e38b, 0xb8fdb1e7),
};

bool sxt_crc32c_hardware_available(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_SSE4_2);
}

__attribute__((target("sse4.2"))) uint32_t sxt_crc32c_hardware(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *at = data;
    uint64_t state = ~crc;
    for (; size >= 3 * LONG_STREAM; size -= 3 * LONG_STREAM, at += 3 * LONG_STREAM)
        state = three_streams(state, at, LONG_STREAM, over_long_stream);
    for (; size >= 3 * SHORT_STREAM; size -= 3 * SHORT_STREAM, at += 3 * SHORT_STREAM)
        state = three_streams(state, at, SHORT_STREAM, over_short_stream);
    for (; size >= 8; size -= 8, at += 8)
        state = _mm_crc32_u64(state, sxt_load_u64le(at));
    for (; size > 0; size--)
        state = _mm_crc32_u8((uint32_t)state, *at++);
    return ~(uint32_t)state;
}

/* The register after the number of zero bytes that TABLE represents. */
static inline uint32_t move_over_zeros(uint64_t state, zeros_table table)
{
    uint32_t moved = 0;
    for (unsigned i = 0; i < 8; i++)
        moved ^= table[i][state >> (4 * i) & 15];
    return moved;
}

/* The register after 3 * STREAM bytes. */
__attribute__((target("sse4.2"))) static uint64_t three_streams(uint64_t state, const uint8_t *data, size_t stream,
                                                                zeros_table over_stream)
{
    uint64_t first = state, second = 0, third = 0;
    for (const uint8_t *end = data + stream; data < end; data += 8) {
        first = _mm_crc32_u64(first, sxt_load_u64le(data));
        second = _mm_crc32_u64(second, sxt_load_u64le(data + stream));
        third = _mm_crc32_u64(third, sxt_load_u64le(data + 2 * stream));
    }
    return move_over_zeros(move_over_zeros(first, over_stream) ^ second, over_stream) ^ third;
}

#endif
