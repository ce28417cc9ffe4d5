/* read.c: opening a Lidia file and reading its records. */
#include "lidia/lidia.h"

#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/error.h"

#define SHAPE_SAMPLE 64 /* strings that are checked to detect how strings are stored */

static int place_tables(struct sxt_lidia *lidia, sxt_error *error);
static int check_sums(const struct sxt_lidia *lidia, sxt_error *error);
static int check_extra_sums(const struct sxt_lidia *lidia, sxt_error *error);
static bool strings_have_lengths(const struct sxt_lidia *lidia);
static void find_index(struct sxt_lidia *lidia);

bool sxt_lidia_is(const uint8_t *data, size_t size)
{
    return size >= 4 && memcmp(data, ".dia", 4) == 0;
}

int sxt_lidia_open(struct sxt_lidia *lidia, const uint8_t *data, size_t size, bool check_crc, sxt_error *error)
{
    *lidia = (struct sxt_lidia){.data = data, .size = size};
    if (!sxt_lidia_is(data, size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "not a Lidia file");
    if (size < SXT_LIDIA_HEADER_SIZE)
        return sxt_fail(error, SXT_ERROR_FORMAT, size, "header: %zu bytes of %d are there", size,
                        SXT_LIDIA_HEADER_SIZE);
    uint32_t version = sxt_load_u32le(data + 4);
    if (version != 1)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, 4, "version %u; only version 1 is known", version);
    int status = place_tables(lidia, error);
    if (status != SXT_OK)
        return status;
    lidia->nul_strings = !strings_have_lengths(lidia);
    find_index(lidia);
    sxt_lidia_find_cuts(lidia);
    sxt_lidia_find_aliases(lidia);
    return check_crc ? check_sums(lidia, error) : SXT_OK;
}

/* COUNT items of ITEM_SIZE bytes at OFFSET, named WHAT in the message; the header field is at FIELD. */
static int place(const struct sxt_lidia *lidia, const char *what, uint64_t offset, uint64_t count, uint64_t item_size,
                 const uint8_t **table, uint64_t field, sxt_error *error)
{
    if (!sxt_fits(offset, count, item_size, lidia->size))
        return sxt_fail(
            error, SXT_ERROR_FORMAT, field, "%s: %llu entries of %llu bytes at 0x%llx do not fit in %zu bytes", what,
            (unsigned long long)count, (unsigned long long)item_size, (unsigned long long)offset, lidia->size);
    *table = lidia->data + offset;
    return SXT_OK;
}

static int place_tables(struct sxt_lidia *lidia, sxt_error *error)
{
    const uint8_t *header = lidia->data;
    uint64_t address_size = sxt_load_u64le(header + 0x08);
    uint64_t field_size = sxt_load_u64le(header + 0x28);
    uint64_t line_size = sxt_load_u64le(header + 0x60);
    uint64_t row_count = sxt_load_u64le(header + 0x30);
    lidia->count = sxt_load_u64le(header + 0x10);
    lidia->strings_size = sxt_load_u64le(header + 0x48);
    lidia->line_count = sxt_load_u64le(header + 0x68);

    if (address_size != 4 && address_size != 8)
        return sxt_fail(error, SXT_ERROR_FORMAT, 0x08, "va table: entry size %llu is neither 4 nor 8",
                        (unsigned long long)address_size);
    if (field_size != 4 && field_size != 8)
        return sxt_fail(error, SXT_ERROR_FORMAT, 0x28, "range table: field size %llu is neither 4 nor 8",
                        (unsigned long long)field_size);
    if (row_count != lidia->count)
        return sxt_fail(error, SXT_ERROR_FORMAT, 0x30, "range table: %llu entries for %llu addresses",
                        (unsigned long long)row_count, (unsigned long long)lidia->count);
    /* Without line entries, their size and place have no meaning. */
    if (lidia->line_count != 0 && line_size != 2 && line_size != 4)
        return sxt_fail(error, SXT_ERROR_FORMAT, 0x60, "line table: field size %llu is neither 2 nor 4",
                        (unsigned long long)line_size);
    lidia->address_size = (uint8_t)address_size;
    lidia->field_size = (uint8_t)field_size;
    lidia->line_size = line_size == 4 ? 4 : 2;

    int status = place(lidia, "va table", sxt_load_u64le(header + 0x18), lidia->count, address_size, &lidia->addresses,
                       0x10, error);
    if (status == SXT_OK)
        status = place(lidia, "range table", sxt_load_u64le(header + 0x38), lidia->count, SXT_LIDIA_FIELDS * field_size,
                       &lidia->rows, 0x30, error);
    if (status == SXT_OK)
        status = place(lidia, "strings", sxt_load_u64le(header + 0x50), lidia->strings_size, 1, &lidia->strings, 0x48,
                       error);
    if (status == SXT_OK && lidia->line_count != 0)
        status = place(lidia, "line table", sxt_load_u64le(header + 0x70), lidia->line_count,
                       (uint64_t)2 * lidia->line_size, &lidia->lines, 0x68, error);
    return status;
}

void sxt_lidia_tables(const struct sxt_lidia *lidia, struct sxt_lidia_table tables[SXT_LIDIA_TABLES])
{
    uint64_t row_size = (uint64_t)SXT_LIDIA_FIELDS * lidia->field_size, line_size = (uint64_t)2 * lidia->line_size;
    tables[0] = (struct sxt_lidia_table){"va table", lidia->addresses, lidia->count * lidia->address_size, 0x20};
    tables[1] = (struct sxt_lidia_table){"strings", lidia->strings, lidia->strings_size, 0x58};
    tables[2] = (struct sxt_lidia_table){"range table", lidia->rows, lidia->count * row_size, 0x40};
    tables[3] = (struct sxt_lidia_table){"line table", lidia->lines, lidia->line_count * line_size, 0x78};
}

bool sxt_lidia_table_is_whole(const struct sxt_lidia *lidia, const struct sxt_lidia_table *table, uint32_t *found,
                              uint32_t *wanted)
{
    *wanted = sxt_load_u32le(lidia->data + table->crc_at);
    *found = sxt_crc32c(0, table->data, table->size);
    return *found == *wanted;
}

static int check_sums(const struct sxt_lidia *lidia, sxt_error *error)
{
    struct sxt_lidia_table tables[SXT_LIDIA_TABLES];
    uint32_t found, wanted;
    sxt_lidia_tables(lidia, tables);
    for (size_t i = 0; i < SXT_LIDIA_TABLES; i++)
        if (!sxt_lidia_table_is_whole(lidia, &tables[i], &found, &wanted))
            return sxt_fail(error, SXT_ERROR_FORMAT, tables[i].crc_at, "%s: CRC32C is %08x, the header says %08x",
                            tables[i].name, found, wanted);
    return check_extra_sums(lidia, error);
}

/* The sums of the index and of the chunks. */
static int check_extra_sums(const struct sxt_lidia *lidia, sxt_error *error)
{
    if (lidia->buckets != NULL) {
        uint32_t wanted = sxt_load_u32le(lidia->buckets - 8);
        uint32_t found =
            sxt_crc32c(0, lidia->buckets, sxt_lidia_index_size(lidia->count, lidia->bucket_count, lidia->parent_size));
        if (found != wanted)
            return sxt_fail(error, SXT_ERROR_FORMAT, (uint64_t)(lidia->buckets - 8 - lidia->data),
                            "index: CRC32C is %08x, its header says %08x", found, wanted);
    }
    struct sxt_lidia_chunk chunk;
    for (uint64_t at = lidia->chunks_at; sxt_lidia_next_chunk(lidia, &at, &chunk);)
        if (!sxt_lidia_chunk_is_whole(&chunk))
            return sxt_fail(error, SXT_ERROR_FORMAT, chunk.offset + 0x18,
                            "chunk: CRC32C is not %08x as its header says", chunk.crc);
    return SXT_OK;
}

/*
 * Programs store a length before each string; the published description says that strings end with NUL. If each length
 * leads to another string inside the table, strings have lengths: text taken as a length would be far too large.
 */
static bool strings_have_lengths(const struct sxt_lidia *lidia)
{
    uint64_t at = 0;
    for (unsigned i = 0; i < SHAPE_SAMPLE && at < lidia->strings_size; i++) {
        uint64_t left = lidia->strings_size - at;
        if (left < 4 || sxt_load_u32le(lidia->strings + at) > left - 4)
            return lidia->strings[lidia->strings_size - 1] != 0;
        at += 4 + (uint64_t)sxt_load_u32le(lidia->strings + at);
    }
    return true;
}

/* An index that does not fit the file is ignored: lookups work without it. The chunks after it cannot be found then. */
static void find_index(struct sxt_lidia *lidia)
{
    uint64_t line_bytes = lidia->line_count * 2 * lidia->line_size;
    uint64_t end;
    lidia->chunks_at = lidia->size;
    if (!sxt_add_u64(sxt_load_u64le(lidia->data + 0x70), line_bytes, &end) || end >= lidia->size)
        return;
    const uint8_t *header = lidia->data + end;
    if (lidia->size - end < 4 || memcmp(header, "sxti", 4) != 0)
        lidia->chunks_at = end;
    if (lidia->size - end < SXT_LIDIA_INDEX_HEADER_SIZE)
        return;
    uint32_t parent_size = sxt_load_u32le(header + 0x10);
    uint32_t shift = sxt_load_u32le(header + 0x14);
    if (memcmp(header, "sxti", 4) != 0 || sxt_load_u32le(header + 4) != 1 || lidia->count == 0 ||
        sxt_load_u64le(header + 8) != lidia->count || shift > 63 ||
        (parent_size != 0 && parent_size != 1 && parent_size != 2 && parent_size != 4) ||
        sxt_load_u32le(header + 0x1c) != sxt_crc32c(0, header, 0x1c))
        return;
    struct sxt_lidia_row first, last;
    sxt_lidia_row(lidia, 0, &first);
    sxt_lidia_row(lidia, lidia->count - 1, &last);
    uint64_t span = (last.address - first.address) >> shift;
    uint64_t buckets = span + 1;
    if (last.address < first.address || span > lidia->count ||
        !sxt_fits(end + SXT_LIDIA_INDEX_HEADER_SIZE, 1, sxt_lidia_index_size(lidia->count, buckets, parent_size),
                  lidia->size))
        return;
    lidia->first_address = first.address;
    lidia->bucket_count = buckets;
    lidia->shift = (uint8_t)shift;
    lidia->buckets = header + SXT_LIDIA_INDEX_HEADER_SIZE;
    lidia->name_sizes = lidia->buckets + (buckets + 1) * 4;
    lidia->parents = parent_size != 0 ? lidia->name_sizes + lidia->count * 2 : NULL;
    lidia->parent_size = (uint8_t)parent_size;
    lidia->chunks_at = end + SXT_LIDIA_INDEX_HEADER_SIZE + sxt_lidia_index_size(lidia->count, buckets, parent_size);
}

uint64_t sxt_lidia_parent(const struct sxt_lidia *lidia, uint64_t index)
{
    const uint8_t *at = lidia->parents + index * lidia->parent_size;
    return lidia->parent_size == 1 ? *at : lidia->parent_size == 2 ? sxt_load_u16le(at) : sxt_load_u32le(at);
}

void sxt_lidia_row(const struct sxt_lidia *lidia, uint64_t index, struct sxt_lidia_row *row)
{
    if (lidia->address_size == 4)
        row->address = sxt_load_u32le(lidia->addresses + index * 4);
    else
        row->address = sxt_load_u64le(lidia->addresses + index * 8);
    uint64_t fields[SXT_LIDIA_FIELDS];
    const uint8_t *at = lidia->rows + index * SXT_LIDIA_FIELDS * lidia->field_size;
    for (unsigned i = 0; i < SXT_LIDIA_FIELDS; i++)
        fields[i] = lidia->field_size == 4 ? sxt_load_u32le(at + i * 4) : sxt_load_u64le(at + i * 8);
    row->length = fields[0];
    row->depth = fields[1];
    row->function = fields[2];
    row->file = fields[3];
    row->first_line = fields[4];
    row->line_count = fields[5];
    row->call_file = fields[6];
    row->call_line = fields[7];
}

sxt_string sxt_lidia_string(const struct sxt_lidia *lidia, uint64_t offset)
{
    const sxt_string absent = {NULL, 0};
    if (offset >= lidia->strings_size)
        return absent;
    const uint8_t *at = lidia->strings + offset;
    uint64_t left = lidia->strings_size - offset;
    if (lidia->nul_strings) {
        const uint8_t *end = memchr(at, 0, left);
        return end != NULL ? (sxt_string){(const char *)at, (size_t)(end - at)} : absent;
    }
    if (left < 4 || sxt_load_u32le(at) > left - 4)
        return absent;
    return (sxt_string){(const char *)at + 4, sxt_load_u32le(at)};
}

sxt_string sxt_lidia_optional_string(const struct sxt_lidia *lidia, uint64_t offset)
{
    sxt_string text = offset != 0 ? sxt_lidia_string(lidia, offset) : (sxt_string){NULL, 0};
    return text.size != 0 ? text : (sxt_string){NULL, 0};
}

bool sxt_lidia_line(const struct sxt_lidia *lidia, const struct sxt_lidia_row *row, uint64_t index, uint32_t *offset,
                    uint32_t *line)
{
    if (index >= row->line_count || row->first_line >= lidia->line_count ||
        index >= lidia->line_count - row->first_line)
        return false;
    const uint8_t *at = lidia->lines + (row->first_line + index) * 2 * lidia->line_size;
    *offset = lidia->line_size == 2 ? sxt_load_u16le(at) : sxt_load_u32le(at);
    *line = lidia->line_size == 2 ? sxt_load_u16le(at + 2) : sxt_load_u32le(at + 4);
    return true;
}
