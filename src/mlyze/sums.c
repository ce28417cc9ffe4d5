/*
 * sums.c: the checksums of a plain file, where readers of version 1 skip them: the metadata begins with
 *
 *     { "checksums":"crc32c HEADER METADATA POWER PARTS",     (without the blanks between the last four)
 *
 * in hexadecimal digits: 8 for the CRC32C of the header, 8 for that of the metadata with all these digits taken as 0, 2
 * for the size of a part of the events as a power of 2, and 32 times 8 for the CRC32C of each part; 0 for parts that
 * the file does not have. If all digits are 0, there are no checksums: the file was written to a pipe.
 *
 * The blanks are where programs that write JSON do not put them. So a program that reads the metadata, changes it and
 * writes it again does not leave checksums that are wrong: the key is then one like any other.
 *
 * The writer does not know in advance how many bytes of events there will be. It begins with small parts; when there
 * are more than fit, each two of them become one.
 */
#include <string.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/hex.h"
#include "mlyze/private.h"

#define LEAST_POWER 16
#define MOST_POWER  58
#define VALUE       "crc32c "
#define BEGINNING   "{ \"" SXT_MLYZE_SUMS_KEY "\":\"" VALUE
#define REWRITTEN   "{\"" SXT_MLYZE_SUMS_KEY "\": \"" VALUE
#define CHANGES     4 /* bytes of the beginning that may be damaged */

_Static_assert(sizeof VALUE + SXT_MLYZE_SUMS_DIGITS <= SXT_MLYZE_SUMS_ROOM, "the text has room");

void sxt_mlyze_no_sums(char to[SXT_MLYZE_SUMS_ROOM])
{
    memcpy(to, VALUE, sizeof VALUE - 1);
    memset(to + sizeof VALUE - 1, '0', SXT_MLYZE_SUMS_DIGITS);
    to[sizeof VALUE - 1 + SXT_MLYZE_SUMS_DIGITS] = 0;
}

void sxt_mlyze_mark_sums(char *metadata, size_t size)
{
    _Static_assert(sizeof BEGINNING == sizeof REWRITTEN, "both have the same size");
    if (size >= sizeof REWRITTEN && memcmp(metadata, REWRITTEN, sizeof REWRITTEN - 1) == 0)
        memcpy(metadata, BEGINNING, sizeof BEGINNING - 1);
}

bool sxt_mlyze_has_sums(sxt_string metadata)
{
    return sxt_mlyze_sums_find(metadata) != 0;
}

/* --- writing --- */

static void join_pairs(struct sxt_mlyze_sums *sums)
{
    uint64_t size = (uint64_t)1 << sums->power;
    for (unsigned i = 0; i < SXT_MLYZE_PARTS / 2; i++)
        sums->parts[i] = sxt_crc32c_join(sums->parts[2 * i], sums->parts[2 * i + 1], size);
    memset(sums->parts + SXT_MLYZE_PARTS / 2, 0, sizeof sums->parts / 2);
    sums->power++;
}

void sxt_mlyze_sums_begin(struct sxt_mlyze_sums *sums)
{
    *sums = (struct sxt_mlyze_sums){.power = LEAST_POWER};
}

void sxt_mlyze_sums_add(struct sxt_mlyze_sums *sums, const uint8_t *events, size_t size)
{
    while (size > 0) {
        if (sums->size == (uint64_t)SXT_MLYZE_PARTS << sums->power)
            join_pairs(sums);
        uint64_t index = sums->size >> sums->power;
        uint64_t left = ((index + 1) << sums->power) - sums->size;
        size_t count = size < left ? size : (size_t)left;
        sums->parts[index] = sxt_crc32c(sums->parts[index], events, count);
        sums->size += count;
        events += count;
        size -= count;
    }
}

static char *put_digits(char *to, uint32_t value, unsigned count)
{
    for (unsigned i = count; i > 0; i--)
        *to++ = sxt_hex_letter(value >> 4 * (i - 1));
    return to;
}

void sxt_mlyze_sums_write(const struct sxt_mlyze_sums *sums, char digits[SXT_MLYZE_SUMS_DIGITS + 1])
{
    char *to = put_digits(digits, sums->header, 8);
    to = put_digits(to, sums->metadata, 8);
    to = put_digits(to, sums->power, 2);
    for (unsigned i = 0; i < SXT_MLYZE_PARTS; i++)
        to = put_digits(to, sums->parts[i], 8);
    *to = 0;
}

/* --- reading --- */

/* A few bytes may differ: damage to the key does not hide the checksums, which then report it. */
size_t sxt_mlyze_sums_find(sxt_string metadata)
{
    static const char beginning[] = BEGINNING;
    size_t size = sizeof beginning - 1, changed = 0;
    if (metadata.size < size + SXT_MLYZE_SUMS_DIGITS + 2)
        return 0;
    for (size_t i = 0; i < size; i++)
        changed += metadata.data[i] != beginning[i];
    return changed <= CHANGES ? size : 0;
}

uint32_t sxt_mlyze_sums_of_metadata(sxt_string metadata, size_t at)
{
    char zeros[SXT_MLYZE_SUMS_DIGITS];
    memset(zeros, '0', sizeof zeros);
    uint32_t sum = sxt_crc32c(0, metadata.data, at);
    sum = sxt_crc32c(sum, zeros, sizeof zeros);
    at += sizeof zeros;
    return sxt_crc32c(sum, metadata.data + at, metadata.size - at);
}

static uint32_t take_digits(const char **from, unsigned count)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++) {
        int digit = sxt_hex_digit(*(*from)++);
        value = value << 4 | (digit >= 0 ? (uint32_t)digit : 0);
    }
    return value;
}

bool sxt_mlyze_sums_read(const char *digits, struct sxt_mlyze_sums *out)
{
    bool is_used = false;
    for (size_t i = 0; i < SXT_MLYZE_SUMS_DIGITS; i++)
        is_used |= digits[i] != '0';
    *out = (struct sxt_mlyze_sums){.header = take_digits(&digits, 8)};
    out->metadata = take_digits(&digits, 8);
    out->power = take_digits(&digits, 2);
    for (unsigned i = 0; i < SXT_MLYZE_PARTS; i++)
        out->parts[i] = take_digits(&digits, 8);
    char again[SXT_MLYZE_SUMS_DIGITS + 1];
    sxt_mlyze_sums_write(out, again);
    out->is_damaged = memcmp(again, digits - SXT_MLYZE_SUMS_DIGITS, SXT_MLYZE_SUMS_DIGITS) != 0;
    return is_used;
}

/* Can the power be right, for so many bytes of events? */
static bool is_power(uint32_t power, uint64_t size)
{
    return power >= LEAST_POWER && power <= MOST_POWER && size <= (uint64_t)SXT_MLYZE_PARTS << power;
}

bool sxt_mlyze_check_part(const struct sxt_mlyze *trace, uint32_t number, struct sxt_mlyze_part *out)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(trace);
    sxt_string events = sxt_mlyze_events(trace), text = sxt_mlyze_stored_text(trace);
    struct sxt_mlyze_sums sums;
    if (!header->has_sums || !sxt_mlyze_sums_read(text.data + sxt_mlyze_sums_find(text), &sums))
        return false;
    if (!is_power(sums.power, events.size)) {
        *out = (struct sxt_mlyze_part){.offset = header->events_offset, .end = header->events_offset + events.size};
        return number == 0;
    }
    uint64_t start = (uint64_t)number << sums.power, size = (uint64_t)1 << sums.power;
    if (number >= SXT_MLYZE_PARTS || (start >= events.size && sums.parts[number] == 0))
        return false;
    start = start < events.size ? start : events.size;
    size = events.size - start < size ? events.size - start : size;
    *out = (struct sxt_mlyze_part){
        .offset = header->events_offset + start,
        .end = header->events_offset + start + size,
        .is_right = sxt_crc32c(0, events.data + start, (size_t)size) == sums.parts[number],
    };
    return true;
}

int sxt_mlyze_fail_part(const struct sxt_mlyze_part *part, sxt_error *error)
{
    if (part->offset == part->end)
        return sxt_fail(error, SXT_ERROR_FORMAT, part->offset, "the checksums are those of more events");
    return sxt_fail(error, SXT_ERROR_FORMAT, part->offset, "the checksum of the events up to offset 0x%llx is wrong",
                    (unsigned long long)part->end);
}

int sxt_mlyze_check_sums(const struct sxt_mlyze *trace, sxt_error *error)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(trace);
    struct sxt_mlyze_part part;
    if (header->is_header_wrong)
        return sxt_fail(error, SXT_ERROR_FORMAT, 0, "the checksum of the header is wrong");
    if (header->is_metadata_wrong)
        return sxt_fail(error, SXT_ERROR_FORMAT, header->metadata_offset, "the checksum of the metadata is wrong");
    for (uint32_t i = 0; sxt_mlyze_check_part(trace, i, &part); i++)
        if (!part.is_right)
            return sxt_mlyze_fail_part(&part, error);
    return SXT_OK;
}
