/* file_id.c: computes a FileID. */
#include "base/file_id.h"

#include <string.h>

#include "base/sha256.h"

#define BLOCK 4096

void sxt_file_id_compute(const uint8_t *data, size_t size, uint8_t id[SXT_FILE_ID_SIZE])
{
    size_t block = size < BLOCK ? size : BLOCK;
    uint8_t length[8];
    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)size >> (56 - 8 * i));
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE];
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, data, block);
    sxt_sha256_add(&hash, data + size - block, block);
    sxt_sha256_add(&hash, length, sizeof length);
    sxt_sha256_end(&hash, digest);
    memcpy(id, digest, SXT_FILE_ID_SIZE);
}
