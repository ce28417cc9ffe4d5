/* pak.c: reads resource packs. */
#include "source/pak.h"

#include "base/bytes.h"
#include "base/error.h"

#define ENTRY_SIZE 6
#define ALIAS_SIZE 4

struct pack {
    uint64_t header;
    uint64_t count, aliases;
};

static bool read_header(const uint8_t *data, size_t size, struct pack *pack)
{
    if (size < 15)
        return false;
    uint32_t version = sxt_load_u32le(data);
    if (version == 4)
        *pack = (struct pack){9, sxt_load_u32le(data + 4), 0};
    else if (version == 5)
        *pack = (struct pack){12, sxt_load_u16le(data + 8), sxt_load_u16le(data + 10)};
    else
        return false;
    return true;
}

bool sxt_pak_is(const uint8_t *data, size_t size)
{
    struct pack pack;
    return read_header(data, size, &pack) && sxt_fits(pack.header, pack.count + 1, ENTRY_SIZE, size);
}

static int check(const uint8_t *data, size_t size, const struct pack *pack, sxt_error *error)
{
    if (!sxt_fits(pack->header, pack->count + 1, ENTRY_SIZE, size) ||
        !sxt_fits(pack->header + (pack->count + 1) * ENTRY_SIZE, pack->aliases, ALIAS_SIZE, size))
        return sxt_fail(error, SXT_ERROR_FORMAT, 4, "the table of the resource pack reaches beyond it");
    uint64_t aliases = pack->header + (pack->count + 1) * ENTRY_SIZE, before = aliases + pack->aliases * ALIAS_SIZE;
    for (uint64_t i = 0; i <= pack->count; i++) {
        uint64_t at = pack->header + i * ENTRY_SIZE, offset = sxt_load_u32le(data + at + 2);
        if (offset < before || offset > size)
            return sxt_fail(error, SXT_ERROR_FORMAT, at, "a resource of the pack is not where its entry says");
        before = offset;
    }
    for (uint64_t i = 0; i < pack->aliases; i++)
        if (sxt_load_u16le(data + aliases + i * ALIAS_SIZE + 2) >= pack->count)
            return sxt_fail(error, SXT_ERROR_FORMAT, aliases + i * ALIAS_SIZE, "an alias of the pack has no resource");
    return SXT_OK;
}

int sxt_pak_read(const uint8_t *data, size_t size, const struct sxt_pak_reader *reader, sxt_error *error)
{
    struct pack pack;
    if (!read_header(data, size, &pack))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "not a resource pack of version 4 or 5");
    int status = check(data, size, &pack, error);
    if (status != SXT_OK)
        return status;
    const uint8_t *entries = data + pack.header;
    for (uint64_t i = 0; i < pack.count; i++) {
        const uint8_t *entry = entries + i * ENTRY_SIZE;
        uint32_t start = sxt_load_u32le(entry + 2), end = sxt_load_u32le(entry + ENTRY_SIZE + 2);
        reader->resource(reader->data, sxt_load_u16le(entry), data + start, end - start, ENTRY_SIZE);
    }
    const uint8_t *aliases = entries + (pack.count + 1) * ENTRY_SIZE;
    for (uint64_t i = 0; i < pack.aliases; i++) {
        uint64_t number = sxt_load_u16le(aliases + i * ALIAS_SIZE + 2);
        reader->resource(reader->data, sxt_load_u16le(entries + number * ENTRY_SIZE), NULL, 0, ALIAS_SIZE);
    }
    return SXT_OK;
}
