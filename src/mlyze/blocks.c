/* blocks.c: blocks: up to 64 KiB of events that can be read alone. The layout is in private.h. */
#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "mlyze/private.h"

int sxt_mlyze_block_read(const uint8_t *data, uint64_t size, uint64_t offset, struct sxt_mlyze_block *out,
                         sxt_error *error)
{
    if (offset > size || size - offset < SXT_MLYZE_BLOCK_HEADER)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "ends inside the header of a block");
    const uint8_t *at = data + offset;
    uint32_t stored = sxt_load_u32le(at + 4);
    *out = (struct sxt_mlyze_block){
        .codec = at[1],
        .is_stored = (stored & SXT_MLYZE_BLOCK_STORED) != 0,
        .stored_size = stored & ~SXT_MLYZE_BLOCK_STORED,
        .size = sxt_load_u32le(at + 8),
        .crc = sxt_load_u32le(at + 12),
        .time = sxt_load_u64le(at + 16),
        .event = sxt_load_u64le(at + 24),
        .stored = at + SXT_MLYZE_BLOCK_HEADER,
    };
    if (at[0] != SXT_MLYZE_BLOCK_MARK || sxt_load_u16le(at + 2) != 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "no block begins here");
    if (!sxt_mlyze_codec_is_known(out->codec))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, offset + 1, "a block of unknown codec %u", out->codec);
    if (size - offset - SXT_MLYZE_BLOCK_HEADER < out->stored_size)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "ends inside a block");
    /* Stored bytes need no buffer, so an event that is larger than a block can be a block by itself. */
    uint32_t most = sxt_mlyze_codec_has_columns(out->codec) ? SXT_MLYZE_COLUMNS_MOST : SXT_MLYZE_BLOCK_MOST;
    bool is_good = out->is_stored ? out->size == out->stored_size && out->codec == SXT_MLYZE_RAW
                                  : out->size <= most && out->codec != SXT_MLYZE_RAW;
    return is_good ? SXT_OK
                   : sxt_fail(error, SXT_ERROR_FORMAT, offset + 4, "the sizes of a block contradict each other");
}

void sxt_mlyze_packer_free(struct ZSTD_CCtx_s **packer)
{
    ZSTD_freeCCtx(*packer);
    *packer = NULL;
}

void sxt_mlyze_unpacker_free(struct ZSTD_DCtx_s **unpacker)
{
    ZSTD_freeDCtx(*unpacker);
    *unpacker = NULL;
}

/* The number of bytes that were made; below 0 if they cannot be. *IS_SHORT: for lack of memory. */
static int decompress(const struct sxt_mlyze_block *block, struct ZSTD_DCtx_s **unpacker, uint8_t *room, bool *is_short)
{
    *is_short = false;
    if (block->codec != SXT_MLYZE_COLUMNS_ZSTD)
        return LZ4_decompress_safe((const char *)block->stored, (char *)room, (int)block->stored_size,
                                   (int)block->size);
    if (*unpacker == NULL)
        *unpacker = ZSTD_createDCtx();
    *is_short = *unpacker == NULL;
    if (*is_short)
        return -1;
    size_t made = ZSTD_decompressDCtx(*unpacker, room, block->size, block->stored, block->stored_size);
    *is_short = ZSTD_getErrorCode(made) == ZSTD_error_memory_allocation;
    return ZSTD_isError(made) ? -1 : (int)made;
}

int sxt_mlyze_block_expand(const struct sxt_mlyze_block *block, struct ZSTD_DCtx_s **unpacker, uint64_t offset,
                           uint8_t *room, const uint8_t **bytes, sxt_error *error)
{
    *bytes = block->stored;
    if (!block->is_stored) {
        bool is_short;
        int made = decompress(block, unpacker, room, &is_short);
        if (is_short)
            return sxt_fail_memory(error, block->size);
        if (made < 0 || (uint32_t)made != block->size)
            return sxt_fail(error, SXT_ERROR_FORMAT, offset, "a block cannot be decompressed");
        *bytes = room;
    }
    if (sxt_crc32c(0, *bytes, block->size) != block->crc)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset + 12, "the checksum of a block is wrong");
    return SXT_OK;
}

static void put_header(uint8_t *to, uint8_t codec, uint32_t stored, uint32_t size, uint32_t crc, uint64_t time,
                       uint64_t event)
{
    to[0] = SXT_MLYZE_BLOCK_MARK;
    to[1] = codec;
    sxt_store_u16le(to + 2, 0);
    sxt_store_u32le(to + 4, stored);
    sxt_store_u32le(to + 8, size);
    sxt_store_u32le(to + 12, crc);
    sxt_store_u64le(to + 16, time);
    sxt_store_u64le(to + 24, event);
}

/* Adds the block with BYTES compressed, unless that is not smaller than LEAST. */
static bool write_compressed(struct sxt_buffer *out, uint8_t codec, const uint8_t *bytes, size_t size, size_t least,
                             uint64_t time, uint64_t event)
{
    int bound = LZ4_compressBound((int)size);
    uint8_t *to = sxt_buffer_reserve(out, SXT_MLYZE_BLOCK_HEADER + (size_t)bound);
    if (to == NULL)
        return false;
    int made = LZ4_compress_default((const char *)bytes, (char *)to + SXT_MLYZE_BLOCK_HEADER, (int)size, bound);
    if (made <= 0 || (size_t)made >= least)
        return false;
    put_header(to, codec, (uint32_t)made, (uint32_t)size, sxt_crc32c(0, bytes, size), time, event);
    out->size += SXT_MLYZE_BLOCK_HEADER + (size_t)made;
    return true;
}

#define ZSTD_LEVEL  1
#define FRAME_LEAST 256 /* bytes: fewer are compressed together with what follows */

/*
 * The same with zstd. Columns differ in what their bytes are, so each is a frame: a reader expands them as one. COLUMNS
 * begins with the sizes of all of them.
 */
static bool write_columns(struct sxt_buffer *out, struct ZSTD_CCtx_s **packer, const struct sxt_buffer *columns,
                          size_t least, uint64_t time, uint64_t event)
{
    size_t bound = ZSTD_compressBound(columns->size) + SXT_MLYZE_COLUMN_COUNT * ZSTD_compressBound(0);
    uint8_t *to = sxt_buffer_reserve(out, SXT_MLYZE_BLOCK_HEADER + bound);
    if (to == NULL)
        return false;
    uint8_t *stored = to + SXT_MLYZE_BLOCK_HEADER;
    size_t size = 0, done = 0, end = SXT_MLYZE_COLUMN_COUNT * sizeof(uint32_t);
    for (unsigned i = 0; i < SXT_MLYZE_COLUMN_COUNT; i++) {
        end += sxt_load_u32le(columns->data + i * sizeof(uint32_t));
        bool is_last = i + 1 == SXT_MLYZE_COLUMN_COUNT;
        if (end == done || (!is_last && (end - done < FRAME_LEAST || columns->size - end < FRAME_LEAST)))
            continue;
        size_t made =
            ZSTD_compressCCtx(*packer, stored + size, bound - size, columns->data + done, end - done, ZSTD_LEVEL);
        if (ZSTD_isError(made))
            return false;
        size += made;
        done = end;
    }
    if (size >= least)
        return false;
    put_header(to, SXT_MLYZE_COLUMNS_ZSTD, (uint32_t)size, (uint32_t)columns->size,
               sxt_crc32c(0, columns->data, columns->size), time, event);
    out->size += SXT_MLYZE_BLOCK_HEADER + size;
    return true;
}

int sxt_mlyze_block_write(struct sxt_buffer *out, enum sxt_mlyze_codec codec, struct ZSTD_CCtx_s **packer,
                          const uint8_t *events, size_t size, uint64_t time, uint64_t event, sxt_error *error)
{
    if (size >= SXT_MLYZE_BLOCK_STORED)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "an event of more than 2 GiB");
    if (sxt_mlyze_codec_has_columns(codec) && size <= SXT_MLYZE_BLOCK_MOST) {
        struct sxt_buffer columns;
        sxt_buffer_init(&columns, SXT_MLYZE_COLUMNS_MOST);
        int status = sxt_mlyze_columns_make(events, size, time, &columns, error);
        if (status == SXT_OK && *packer == NULL && codec == SXT_MLYZE_COLUMNS_ZSTD &&
            (*packer = ZSTD_createCCtx()) == NULL)
            status = sxt_fail_memory(error, size);
        bool written = status == SXT_OK && codec == SXT_MLYZE_COLUMNS_ZSTD &&
                       write_columns(out, packer, &columns, size, time, event);
        if (status == SXT_OK && !written)
            written = write_compressed(out, SXT_MLYZE_COLUMNS, columns.data, columns.size, size, time, event);
        sxt_buffer_free(&columns);
        if (status != SXT_OK && status != SXT_ERROR_UNSUPPORTED && status != SXT_ERROR_LIMIT)
            return status;
        if (written)
            return SXT_OK;
    }
    if (codec != SXT_MLYZE_RAW && size <= SXT_MLYZE_BLOCK_MOST &&
        write_compressed(out, SXT_MLYZE_LZ4, events, size, size, time, event))
        return SXT_OK;
    uint8_t *to = sxt_buffer_extend(out, SXT_MLYZE_BLOCK_HEADER + size);
    if (to != NULL) {
        put_header(to, SXT_MLYZE_RAW, (uint32_t)size | SXT_MLYZE_BLOCK_STORED, (uint32_t)size,
                   sxt_crc32c(0, events, size), time, event);
        memcpy(to + SXT_MLYZE_BLOCK_HEADER, events, size);
    }
    return sxt_buffer_status(out, error);
}

#define TEXT_LEVEL 3

/* No LZ4 block expands to more than this many times its size. */
#define EXPANSION_MOST 256

bool sxt_mlyze_text_pack(sxt_string text, struct sxt_buffer *out)
{
    if (text.size < SXT_MLYZE_TEXT_LEAST || text.size > LZ4_MAX_INPUT_SIZE)
        return false;
    int bound = LZ4_compressBound((int)text.size);
    uint8_t *to = sxt_buffer_reserve(out, sizeof(uint64_t) + (size_t)bound);
    if (to == NULL)
        return false;
    int made = LZ4_compress_HC(text.data, (char *)to + sizeof(uint64_t), (int)text.size, bound, TEXT_LEVEL);
    if (made <= 0 || (size_t)made + sizeof(uint64_t) >= text.size)
        return false;
    sxt_store_u64le(to, text.size);
    out->size += sizeof(uint64_t) + (size_t)made;
    return true;
}

int sxt_mlyze_text_unpack(const uint8_t *data, size_t size, uint64_t offset, char **text, size_t *text_size,
                          sxt_error *error)
{
    uint64_t wanted = size >= sizeof(uint64_t) ? sxt_load_u64le(data) : UINT64_MAX;
    if (wanted > LZ4_MAX_INPUT_SIZE || wanted / EXPANSION_MOST > size || size > LZ4_MAX_INPUT_SIZE)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "metadata: the stated size is impossible");
    *text = malloc(wanted + 1);
    if (*text == NULL)
        return sxt_fail_memory(error, wanted);
    int made =
        LZ4_decompress_safe((const char *)data + sizeof(uint64_t), *text, (int)(size - sizeof(uint64_t)), (int)wanted);
    *text_size = wanted;
    if (made >= 0 && (uint64_t)made == wanted)
        return SXT_OK;
    free(*text);
    *text = NULL;
    return sxt_fail(error, SXT_ERROR_FORMAT, offset, "metadata: cannot be decompressed");
}
