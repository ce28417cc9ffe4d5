/*
 * fuzz_lidia.c: any bytes as a Lidia file, once as they are, and once with checksums made right, so that a fuzzer gets
 * past them. What verify finds good must give the same answers with its index and without it, and read by ranges.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sextant/sextant.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/partial.h"
#include "lidia/lidia.h"
#include "property.h"

#define CHAIN 64

static void use(const uint8_t *data, size_t size);
static void correct_checksums(uint8_t *data, size_t size);
static void compare_without_index(const uint8_t *data, size_t size);
static void use_ranges(const uint8_t *data, size_t size, bool is_good);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!sxt_lidia_is(data, size))
        return 0;
    use(data, size);
    /* A copy of exactly that size, so that AddressSanitizer sees every step too far. */
    uint8_t *copy = malloc(size);
    if (copy == NULL)
        return 0;
    memcpy(copy, data, size);
    correct_checksums(copy, size);
    use(copy, size);
    free(copy);
    return 0;
}

static void use(const uint8_t *data, size_t size)
{
    sxt_archive *archive;
    sxt_open_options options;
    uint64_t problems = 0;
    sxt_open_options_init(&options);
    bool opened = sxt_archive_open_memory(data, size, &options, &archive, NULL) == SXT_OK;
    if (opened) {
        sxt_fuzz_exercise(archive);
        sxt_archive_close(&archive);
    }
    SXT_HOLDS(sxt_verify_memory(data, size, NULL, NULL, &problems, NULL) == SXT_OK);
    SXT_HOLDS(opened || problems > 0);
    options.check_crc = true;
    bool checked = sxt_archive_open_memory(data, size, &options, &archive, NULL) == SXT_OK;
    SXT_HOLDS(checked || problems > 0);
    sxt_archive_close(&archive);
    if (problems == 0)
        compare_without_index(data, size);
    use_ranges(data, size, problems == 0);
}

static void put_checksum(uint8_t *data, size_t size, unsigned field, uint64_t offset, uint64_t count, uint64_t item)
{
    uint64_t bytes;
    if (sxt_mul_u64(count, item, &bytes) && sxt_fits(offset, bytes, 1, size))
        sxt_store_u32le(data + field, sxt_crc32c(0, data + offset, (size_t)bytes));
}

static void correct_checksums(uint8_t *data, size_t size)
{
    if (size < SXT_LIDIA_HEADER_SIZE)
        return;
    static const struct {
        unsigned item, count, offset, crc, fields;
    } tables[] = {{0x08, 0x10, 0x18, 0x20, 1}, {0x28, 0x30, 0x38, 0x40, 8}, {0x60, 0x68, 0x70, 0x78, 2}};
    put_checksum(data, size, 0x58, sxt_load_u64le(data + 0x50), sxt_load_u64le(data + 0x48), 1);
    for (size_t i = 0; i < 3; i++) {
        uint64_t item = sxt_load_u64le(data + tables[i].item);
        if (item <= 8)
            put_checksum(data, size, tables[i].crc, sxt_load_u64le(data + tables[i].offset),
                         sxt_load_u64le(data + tables[i].count), item * tables[i].fields);
    }
    /* The index has a checksum of its header, which must be right before anybody looks at the one of its content. */
    uint64_t lines = sxt_load_u64le(data + 0x68), width = sxt_load_u64le(data + 0x60), end;
    if (width > 8 || !sxt_mul_u64(lines, 2 * width, &end) || !sxt_add_u64(end, sxt_load_u64le(data + 0x70), &end) ||
        !sxt_fits(end, 1, SXT_LIDIA_INDEX_HEADER_SIZE, size))
        return;
    uint8_t *header = data + end;
    sxt_store_u32le(header + 0x1c, sxt_crc32c(0, header, 0x1c));
    struct sxt_lidia lidia;
    if (sxt_lidia_open(&lidia, data, size, false, NULL) != SXT_OK || lidia.buckets == NULL)
        return;
    uint64_t content = sxt_lidia_index_size(lidia.count, lidia.bucket_count, lidia.parent_size);
    sxt_store_u32le(header + 0x18, sxt_crc32c(0, lidia.buckets, (size_t)content));
    sxt_store_u32le(header + 0x1c, sxt_crc32c(0, header, 0x1c));
}

/* The index is after everything else, so a shorter file is the same one without it. */
static void compare_without_index(const uint8_t *data, size_t size)
{
    struct sxt_lidia indexed, plain;
    SXT_HOLDS(sxt_lidia_open(&indexed, data, size, true, NULL) == SXT_OK);
    if (indexed.buckets == NULL)
        return;
    size_t end = (size_t)(indexed.buckets - data) - SXT_LIDIA_INDEX_HEADER_SIZE;
    SXT_HOLDS(sxt_lidia_open(&plain, data, end, true, NULL) == SXT_OK && plain.buckets == NULL);
    uint64_t step = indexed.count / 100 + 1;
    for (uint64_t i = 0; i < indexed.count; i += step) {
        struct sxt_lidia_row row;
        sxt_lidia_row(&indexed, i, &row);
        const uint64_t near[] = {row.address - 1, row.address, row.address + row.length - 1, row.address + row.length};
        for (unsigned k = 0; k < 4; k++) {
            sxt_frame with[CHAIN], without[CHAIN];
            size_t count = sxt_lidia_lookup(&indexed, near[k], with, CHAIN);
            SXT_HOLDS(sxt_lidia_lookup(&plain, near[k], without, CHAIN) == count);
            for (size_t f = 0; f < count && f < CHAIN; f++) {
                SXT_HOLDS(with[f].start == without[f].start && with[f].depth == without[f].depth);
                SXT_HOLDS(with[f].line == without[f].line && with[f].function.size == without[f].function.size);
                SXT_HOLDS(with[f].function.size == 0 || with[f].function.data == without[f].function.data);
            }
        }
    }
}

/* --- by ranges --- */

static int read_ranges(void *data, const struct sxt_partial_range *ranges, size_t count, sxt_error *error)
{
    (void)error;
    for (size_t i = 0; i < count; i++)
        memcpy(ranges[i].to, (const uint8_t *)data + ranges[i].offset, ranges[i].size);
    return SXT_OK;
}

static bool is_same_text(sxt_string a, sxt_string b)
{
    return (a.data == NULL) == (b.data == NULL) && a.size == b.size &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void compare_frames(const struct sxt_lidia *whole, const struct sxt_lidia *ranged, uint64_t address)
{
    sxt_frame a[CHAIN], b[CHAIN];
    size_t count = sxt_lidia_lookup(whole, address, a, CHAIN);
    SXT_HOLDS(sxt_lidia_lookup(ranged, address, b, CHAIN) == count);
    for (size_t i = 0; i < count && i < CHAIN; i++) {
        SXT_HOLDS(is_same_text(a[i].function, b[i].function) && is_same_text(a[i].file, b[i].file));
        SXT_HOLDS(a[i].line == b[i].line && a[i].depth == b[i].depth && a[i].start == b[i].start);
        sxt_lidia_whole_range(whole, &a[i]);
        sxt_lidia_whole_range(ranged, &b[i]);
        SXT_HOLDS(a[i].start == b[i].start && a[i].length == b[i].length);
    }
}

static void look_up_ranges(const struct sxt_lidia *whole, const struct sxt_lidia *ranged, bool is_good)
{
    uint64_t step = whole->count / 50 + 1;
    for (uint64_t i = 0; i < whole->count; i += step) {
        struct sxt_lidia_row row;
        sxt_lidia_row(whole, i, &row);
        const uint64_t near[] = {row.address - 1, row.address, row.address + row.length - 1, row.address + row.length};
        bool is_loaded = sxt_lidia_load(ranged, near, 4, true, NULL) == SXT_OK;
        SXT_HOLDS(is_loaded || !is_good);
        for (unsigned k = 0; k < 4 && is_loaded; k++) {
            sxt_frame frames[CHAIN];
            if (is_good)
                compare_frames(whole, ranged, near[k]);
            else
                sxt_lidia_lookup(ranged, near[k], frames, CHAIN);
        }
    }
}

static void use_ranges(const uint8_t *data, size_t size, bool is_good)
{
    struct sxt_partial *partial;
    struct sxt_lidia whole, ranged;
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0)
        return;
    if (sxt_partial_open(file, size, read_ranges, (void *)(uintptr_t)data, &partial, NULL) == SXT_OK) {
        sxt_partial_enter(partial);
        bool opened = sxt_lidia_open(&whole, data, size, false, NULL) == SXT_OK;
        bool same = (sxt_lidia_open_partial(&ranged, partial, NULL) == SXT_OK) == opened;
        SXT_HOLDS(same || !is_good);
        if (opened && same)
            look_up_ranges(&whole, &ranged, is_good);
        sxt_partial_leave(partial);
        sxt_partial_close(&partial);
    }
    close(file);
}
