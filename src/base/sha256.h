/* sha256.h: SHA-256 (FIPS 180-4), for file identities. */
#ifndef SXT_BASE_SHA256_H
#define SXT_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SXT_SHA256_SIZE  32
#define SXT_SHA256_BLOCK 64

struct sxt_sha256 {
    uint32_t state[8];
    uint64_t total; /* bytes so far */
    uint8_t block[SXT_SHA256_BLOCK];
};

void sxt_sha256_init(struct sxt_sha256 *hash);
void sxt_sha256_add(struct sxt_sha256 *hash, const void *data, size_t size);
void sxt_sha256_end(struct sxt_sha256 *hash, uint8_t digest[SXT_SHA256_SIZE]);

/* --- the variants: the fastest one is chosen at run time, and tests compare them --- */

/* Section 4.2.2: the fractional parts of the cube roots of the first 64 primes. */
extern const uint32_t sxt_sha256_constants[64];

/* Adds COUNT blocks of 64 bytes: in plain C, or with instructions for SHA-256, if this processor has them. */
void sxt_sha256_portable(uint32_t state[8], const uint8_t *blocks, size_t count);
void sxt_sha256_hardware(uint32_t state[8], const uint8_t *blocks, size_t count);
bool sxt_sha256_hardware_available(void);

#endif
