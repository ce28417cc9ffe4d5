/* chunk.c: the extra parts after the index of a Lidia file, which other readers do not notice. */
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "lidia/lidia.h"

/* More than any file has; a damaged one could be full of empty chunks. */
#define CHUNKS_MAX 256

bool sxt_lidia_next_chunk(const struct sxt_lidia *lidia, uint64_t *at, struct sxt_lidia_chunk *chunk)
{
    if (!sxt_fits(*at, 1, SXT_LIDIA_CHUNK_HEADER_SIZE, lidia->size))
        return false;
    const uint8_t *header = lidia->data + *at;
    uint64_t left = lidia->size - *at - SXT_LIDIA_CHUNK_HEADER_SIZE;
    if (memcmp(header, "sxtc", 4) != 0 || sxt_load_u32le(header + 0x1c) != sxt_crc32c(0, header, 0x1c) ||
        sxt_load_u64le(header + 0x10) > left)
        return false;
    *chunk = (struct sxt_lidia_chunk){
        .version = sxt_load_u32le(header + 8),
        .data = header + SXT_LIDIA_CHUNK_HEADER_SIZE,
        .size = sxt_load_u64le(header + 0x10),
        .crc = sxt_load_u32le(header + 0x18),
        .offset = *at,
    };
    memcpy(chunk->tag, header + 4, 4);
    *at += SXT_LIDIA_CHUNK_HEADER_SIZE + chunk->size;
    return true;
}

bool sxt_lidia_find_chunk(const struct sxt_lidia *lidia, const char *tag, uint32_t version,
                          struct sxt_lidia_chunk *chunk)
{
    uint64_t at = lidia->chunks_at;
    for (unsigned i = 0; i < CHUNKS_MAX && sxt_lidia_next_chunk(lidia, &at, chunk); i++)
        if (memcmp(chunk->tag, tag, 4) == 0 && chunk->version == version)
            return true;
    return false;
}

bool sxt_lidia_chunk_is_whole(const struct sxt_lidia_chunk *chunk)
{
    return sxt_crc32c(0, chunk->data, chunk->size) == chunk->crc;
}

void sxt_lidia_add_chunk(struct sxt_buffer *chunks, const char *tag, uint32_t version, const void *data, size_t size)
{
    uint8_t header[SXT_LIDIA_CHUNK_HEADER_SIZE] = "sxtc";
    memcpy(header + 4, tag, 4);
    sxt_store_u32le(header + 0x08, version);
    sxt_store_u64le(header + 0x10, size);
    sxt_store_u32le(header + 0x18, sxt_crc32c(0, data, size));
    sxt_store_u32le(header + 0x1c, sxt_crc32c(0, header, 0x1c));
    sxt_buffer_append(chunks, header, sizeof header);
    sxt_buffer_append(chunks, data, size);
}

int sxt_lidia_read_module(const struct sxt_lidia *lidia, struct sxt_model_module *out, sxt_error *error)
{
    *out = (struct sxt_model_module){0};
    struct sxt_lidia_chunk chunk;
    if (!sxt_lidia_find_chunk(lidia, SXT_LIDIA_MODULE, SXT_LIDIA_MODULE_VERSION, &chunk))
        return SXT_OK;
    if (!sxt_lidia_chunk_is_whole(&chunk))
        return sxt_fail(error, SXT_ERROR_FORMAT, chunk.offset + 0x18,
                        "facts about the module: CRC32C is not %08x as the header says", chunk.crc);
    return sxt_module_decode(chunk.data, chunk.size, chunk.offset + SXT_LIDIA_CHUNK_HEADER_SIZE, out, error);
}
