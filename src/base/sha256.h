/* sha256.h: SHA-256 (FIPS 180-4), for file identities. */
#ifndef SXT_BASE_SHA256_H
#define SXT_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SXT_SHA256_SIZE 32

struct sxt_sha256 {
    uint32_t state[8];
    uint64_t total; /* bytes so far */
    uint8_t block[64];
};

void sxt_sha256_init(struct sxt_sha256 *hash);
void sxt_sha256_add(struct sxt_sha256 *hash, const void *data, size_t size);
void sxt_sha256_end(struct sxt_sha256 *hash, uint8_t digest[SXT_SHA256_SIZE]);

#endif
