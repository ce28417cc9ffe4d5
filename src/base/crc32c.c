/*
 * crc32c.c: the choice of the variant, and the one that works everywhere: eight bytes a step through eight tables.
 *
 * Table k holds, for every byte, the register after that byte and k zero bytes. The register is a linear function of
 * the byte, so a table is spelled out by its entries for 0x01, 0x02, 0x04 ... 0x80; all others are sums of these. The
 * entry for 0x80 in table 0 is the polynomial itself, and each entry follows from the one before it (going up in the
 * tables, and in each of them from 0x80 down to 0x01) by one zero bit.
 */
#include "base/crc32c.h"

#include <stdatomic.h>

#include "base/bytes.h"

typedef uint32_t crc32c_function(uint32_t crc, const void *data, size_t size);

static uint32_t choose_and_run(uint32_t crc, const void *data, size_t size);

/* Starts at the function that replaces it. Threads that meet there all store the same value. */
static crc32c_function *_Atomic chosen = choose_and_run;

/* The sums (xor) of all subsets of the values after SUM, each with SUM added, in the order of binary counting. */
#define SUMS_1(sum, a)                      (sum), (sum) ^ (a)
#define SUMS_2(sum, a, b)                   SUMS_1(sum, a), SUMS_1((sum) ^ (b), a)
#define SUMS_3(sum, a, b, c)                SUMS_2(sum, a, b), SUMS_2((sum) ^ (c), a, b)
#define SUMS_4(sum, a, b, c, d)             SUMS_3(sum, a, b, c), SUMS_3((sum) ^ (d), a, b, c)
#define SUMS_5(sum, a, b, c, d, e)          SUMS_4(sum, a, b, c, d), SUMS_4((sum) ^ (e), a, b, c, d)
#define SUMS_6(sum, a, b, c, d, e, f)       SUMS_5(sum, a, b, c, d, e), SUMS_5((sum) ^ (f), a, b, c, d, e)
#define SUMS_7(sum, a, b, c, d, e, f, g)    SUMS_6(sum, a, b, c, d, e, f), SUMS_6((sum) ^ (g), a, b, c, d, e, f)
#define SUMS_8(sum, a, b, c, d, e, f, g, h) SUMS_7(sum, a, b, c, d, e, f, g), SUMS_7((sum) ^ (h), a, b, c, d, e, f, g)

static const uint32_t tables[8][256] = {
    {SUMS_8(0, 0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78)},
    {SUMS_8(0, 0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9)},
    {SUMS_8(0, 0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743)},
    {SUMS_8(0, 0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f)},
    {SUMS_8(0, 0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c)},
    {SUMS_8(0, 0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6)},
    {SUMS_8(0, 0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4)},
    {SUMS_8(0, 0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664)},
};

uint32_t sxt_crc32c(uint32_t crc, const void *data, size_t size)
{
    return atomic_load_explicit(&chosen, memory_order_relaxed)(crc, data, size);
}

static uint32_t choose_and_run(uint32_t crc, const void *data, size_t size)
{
    crc32c_function *function = sxt_crc32c_hardware_available() ? sxt_crc32c_hardware : sxt_crc32c_table;
    atomic_store_explicit(&chosen, function, memory_order_relaxed);
    return function(crc, data, size);
}

uint32_t sxt_crc32c_table(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *at = data;
    uint32_t state = ~crc;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word = sxt_load_u64le(at) ^ state;
        state = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^ tables[5][word >> 16 & 0xff] ^
                tables[4][word >> 24 & 0xff] ^ tables[3][word >> 32 & 0xff] ^ tables[2][word >> 40 & 0xff] ^
                tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
    }
    for (; size > 0; size--)
        state = tables[0][(state ^ *at++) & 0xff] ^ state >> 8;
    return ~state;
}

#if !defined(__x86_64__) && !defined(__aarch64__)

bool sxt_crc32c_hardware_available(void)
{
    return false;
}

uint32_t sxt_crc32c_hardware(uint32_t crc, const void *data, size_t size)
{
    return sxt_crc32c_table(crc, data, size);
}

#endif

/* --- joining --- */

#define POLYNOMIAL 0x82f63b78u
#define ONE        0x80000000u /* the highest bit is the coefficient of x^0 */

/* The product of two polynomials, modulo that of the CRC. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = ONE; bit != 0; bit >>= 1) {
        product ^= (a & bit) != 0 ? b : 0;
        b = b >> 1 ^ ((b & 1) != 0 ? POLYNOMIAL : 0);
    }
    return product;
}

/* Data after other data multiplies the CRC of that by x^8 for each byte. */
uint32_t sxt_crc32c_join(uint32_t first, uint32_t second, uint64_t second_size)
{
    uint32_t power = ONE >> 8; /* x^8, x^16, x^32, ... */
    for (uint64_t rest = second_size; rest != 0; rest >>= 1) {
        first = (rest & 1) != 0 ? multiply(first, power) : first;
        power = multiply(power, power);
    }
    return first ^ second;
}
