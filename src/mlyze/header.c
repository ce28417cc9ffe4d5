/*
 * header.c: the header of a trace.
 *
 *       0  "MTRC"             28  u32 most bytes in a block    68  u32 CRC32C of the metadata
 *       4  u32 version 1      32  u64 offset of the events     72  u64 period of sampling
 *       8  u64 start          40  u64 bytes of all events      80  u64 events that were lost
 *      16  u32 metadata size  48  u64 offset of the metadata   88  u32 process id
 *      20  u32 flags          56  u64 number of events         92  0
 *      24  u32 codec          64  u32 CRC32C of the header    256  metadata, events
 *
 * Version 1 has the first five fields; the others are 0 in a plain file. Of a newer version, what is known is read.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "mlyze/private.h"

bool sxt_mlyze_is(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, "MTRC", 4) == 0;
}

bool sxt_mlyze_is_unclean(const uint8_t *data, size_t size)
{
    return sxt_mlyze_is(data, size) && size >= SXT_MLYZE_HEADER_SIZE &&
           (sxt_load_u32le(data + SXT_MLYZE_AT_FLAGS) & SXT_MLYZE_UNCLEAN) != 0;
}

uint32_t sxt_mlyze_header_crc(const uint8_t header[SXT_MLYZE_HEADER_SIZE])
{
    static const uint8_t nothing[4];
    uint32_t crc = sxt_crc32c(0, header, SXT_MLYZE_AT_HEADER_CRC);
    crc = sxt_crc32c(crc, nothing, sizeof nothing);
    return sxt_crc32c(crc, header + SXT_MLYZE_AT_METADATA_CRC, SXT_MLYZE_HEADER_SIZE - SXT_MLYZE_AT_METADATA_CRC);
}

void sxt_mlyze_header_cut(uint8_t header[SXT_MLYZE_HEADER_SIZE], uint64_t size)
{
    sxt_store_u64le(header + SXT_MLYZE_AT_METADATA, size);
    sxt_store_u64le(header + SXT_MLYZE_AT_EVENT_COUNT, 0); /* not given */
    sxt_store_u32le(header + SXT_MLYZE_AT_HEADER_CRC, sxt_mlyze_header_crc(header));
}

/*
 * The offset of the first bytes that this version does not know, or that need a flag which is not set; 0 if there are
 * none.
 */
static uint32_t find_unknown(const uint8_t *data, const struct sxt_mlyze_header *header)
{
    if ((header->flags & ~SXT_MLYZE_FLAGS_KNOWN) != 0)
        return SXT_MLYZE_AT_FLAGS;
    bool has_blocks = (header->flags & SXT_MLYZE_BLOCKS) != 0;
    bool is_plain = !has_blocks && (header->flags & (SXT_MLYZE_UNCLEAN | SXT_MLYZE_CHECKSUMS)) == 0;
    if (has_blocks ? !sxt_mlyze_codec_is_known(header->codec) : is_plain && header->codec != 0)
        return SXT_MLYZE_AT_CODEC;
    if (is_plain && sxt_load_u32le(data + SXT_MLYZE_AT_BLOCK_SIZE) != 0)
        return SXT_MLYZE_AT_BLOCK_SIZE;
    if (is_plain && sxt_load_u64le(data + SXT_MLYZE_AT_HEADER_CRC) != 0)
        return SXT_MLYZE_AT_HEADER_CRC;
    if (is_plain && header->period != 0 && (header->flags & SXT_MLYZE_SAMPLED) == 0)
        return SXT_MLYZE_AT_PERIOD;
    for (uint32_t i = SXT_MLYZE_AT_UNKNOWN; i < SXT_MLYZE_HEADER_SIZE; i++)
        if (data[i] != 0)
            return i;
    return 0;
}

static int check_places(const struct sxt_mlyze_header *header, uint64_t size, sxt_error *error)
{
    if (!sxt_fits(header->metadata_offset, header->metadata_size, 1, size))
        return sxt_fail(error, SXT_ERROR_FORMAT, size < header->metadata_offset ? SXT_MLYZE_AT_METADATA : size,
                        "the metadata has %u bytes, but the file ends before that", header->metadata_size);
    bool is_at_end = (header->flags & SXT_MLYZE_METADATA_END) != 0;
    uint64_t least = is_at_end ? SXT_MLYZE_HEADER_SIZE : header->metadata_offset + header->metadata_size;
    uint64_t most = is_at_end ? header->metadata_offset : size;
    if (header->metadata_offset < SXT_MLYZE_HEADER_SIZE || header->events_offset < least ||
        header->events_offset > most)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_MLYZE_AT_EVENTS, "events and metadata overlap");
    return SXT_OK;
}

int sxt_mlyze_header_read(const uint8_t *data, size_t size, struct sxt_mlyze_header *out, sxt_error *error)
{
    if (!sxt_mlyze_is(data, size))
        return sxt_fail(error, SXT_ERROR_FORMAT, 0, "not a heap trace: does not begin with MTRC");
    if (size < SXT_MLYZE_HEADER_SIZE)
        return sxt_fail(error, SXT_ERROR_FORMAT, size, "ends inside the header");
    *out = (struct sxt_mlyze_header){
        .version = sxt_load_u32le(data + 4),
        .start_us = sxt_load_u64le(data + 8),
        .metadata_size = sxt_load_u32le(data + 16),
        .flags = sxt_load_u32le(data + SXT_MLYZE_AT_FLAGS),
        .codec = sxt_load_u32le(data + SXT_MLYZE_AT_CODEC),
        .metadata_offset = SXT_MLYZE_HEADER_SIZE,
        .event_count = sxt_load_u64le(data + SXT_MLYZE_AT_EVENT_COUNT),
        .period = sxt_load_u64le(data + SXT_MLYZE_AT_PERIOD),
        .dropped = sxt_load_u64le(data + SXT_MLYZE_AT_DROPPED),
        .pid = sxt_load_u32le(data + SXT_MLYZE_AT_PID),
    };
    if (out->version == 0)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, 4, "version 0 is not supported, only version 1");
    out->unknown_offset = find_unknown(data, out);
    /* A newer version may use bytes that version 1 leaves at 0. Flags and codecs decide how events are read. */
    if (out->version > SXT_MLYZE_VERSION && out->unknown_offset >= SXT_MLYZE_AT_UNKNOWN)
        out->unknown_offset = 0;
    out->has_unknown = out->unknown_offset != 0;
    uint64_t events = sxt_load_u64le(data + SXT_MLYZE_AT_EVENTS);
    bool is_at_end = (out->flags & SXT_MLYZE_METADATA_END) != 0;
    if (is_at_end)
        out->metadata_offset = sxt_load_u64le(data + SXT_MLYZE_AT_METADATA);
    out->events_offset = is_at_end ? SXT_MLYZE_HEADER_SIZE : SXT_MLYZE_HEADER_SIZE + (uint64_t)out->metadata_size;
    if (events != 0 && !out->has_unknown)
        out->events_offset = events;
    if ((out->flags & SXT_MLYZE_CHECKSUMS) != 0 && !out->has_unknown &&
        sxt_mlyze_header_crc(data) != sxt_load_u32le(data + SXT_MLYZE_AT_HEADER_CRC))
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_MLYZE_AT_HEADER_CRC, "the checksum of the header is wrong");
    return check_places(out, size, error);
}
