/* sha256.c: the choice of the variant, and the one in plain C. Names follow FIPS 180-4, section 6.2. */
#include "base/sha256.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bytes.h"

#define LENGTH_OFFSET 56 /* of the message length in the last block */

const uint32_t sxt_sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

typedef void blocks_function(uint32_t state[8], const uint8_t *blocks, size_t count);

static void choose_and_run(uint32_t state[8], const uint8_t *blocks, size_t count);

/* Starts at the function that replaces it. Threads that meet there all store the same value. */
static blocks_function *_Atomic chosen = choose_and_run;

static void add_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    atomic_load_explicit(&chosen, memory_order_relaxed)(state, blocks, count);
}

static void choose_and_run(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    blocks_function *function = sxt_sha256_hardware_available() ? sxt_sha256_hardware : sxt_sha256_portable;
    atomic_store_explicit(&chosen, function, memory_order_relaxed);
    function(state, blocks, count);
}

void sxt_sha256_init(struct sxt_sha256 *hash)
{
    static const uint32_t initial[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, initial, sizeof initial);
    hash->total = 0;
}

void sxt_sha256_add(struct sxt_sha256 *hash, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    size_t pending = hash->total % SXT_SHA256_BLOCK;
    if (size == 0)
        return;
    hash->total += size;

    if (pending > 0) {
        size_t missing = SXT_SHA256_BLOCK - pending;
        size_t part = size < missing ? size : missing;
        memcpy(hash->block + pending, bytes, part);
        if (part < missing)
            return;
        add_blocks(hash->state, hash->block, 1);
        bytes += part;
        size -= part;
    }
    size_t blocks = size / SXT_SHA256_BLOCK;
    if (blocks > 0)
        add_blocks(hash->state, bytes, blocks);
    memcpy(hash->block, bytes + blocks * SXT_SHA256_BLOCK, size % SXT_SHA256_BLOCK);
}

void sxt_sha256_end(struct sxt_sha256 *hash, uint8_t digest[SXT_SHA256_SIZE])
{
    size_t pending = hash->total % SXT_SHA256_BLOCK;
    hash->block[pending++] = 0x80;
    memset(hash->block + pending, 0, SXT_SHA256_BLOCK - pending);
    if (pending > LENGTH_OFFSET) {
        add_blocks(hash->state, hash->block, 1);
        memset(hash->block, 0, SXT_SHA256_BLOCK);
    }
    uint64_t bits = hash->total * 8;
    for (int i = 0; i < 8; i++)
        hash->block[LENGTH_OFFSET + i] = (uint8_t)(bits >> (56 - 8 * i));
    add_blocks(hash->state, hash->block, 1);

    for (int i = 0; i < 8; i++)
        for (int byte = 0; byte < 4; byte++)
            digest[4 * i + byte] = (uint8_t)(hash->state[i] >> (24 - 8 * byte));
}

static inline uint32_t rotate_right(uint32_t value, unsigned by)
{
    return value >> by | value << (32 - by);
}

static void add_block(uint32_t state[8], const uint8_t block[SXT_SHA256_BLOCK])
{
    uint32_t w[64];
    for (int t = 0; t < 16; t++)
        w[t] = sxt_load_u32(block + 4 * t, true);
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }

    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t choice = (e & f) ^ (~e & g);
        uint32_t t1 = h + sum1 + choice + sxt_sha256_constants[t] + w[t];
        uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t t2 = sum0 + majority;
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void sxt_sha256_portable(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_block(state, blocks + i * SXT_SHA256_BLOCK);
}

#if !defined(__x86_64__) && !defined(__aarch64__)

bool sxt_sha256_hardware_available(void)
{
    return false;
}

void sxt_sha256_hardware(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    sxt_sha256_portable(state, blocks, count);
}

#endif
