/* test_pprof.c: a profile is taken apart, and put together again with lines. */
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/inflate.h"
#include "profile/pprof.h"
#include "profile/profile.h"
#include "support/random.h"
#include "support/test.h"

/* Profiles are short here, so every tag, length and number is one byte, unless it is written out. */
#define STRINGS       "\x32\0\x32\4/bin"
#define LOCATION_ONE  "\x22\6\x08\1\x10\1\x18\x20"
#define LOCATION_TWO  "\x22\6\x08\2\x10\1\x18\x30"
#define MAPPING       "\x1a\x0c\x08\1\x10\x10\x18\x50\x20\5\x28\1\x48\0"
#define SAMPLE(first) "\x12\4\x0a\2" first
#define BYTES(text)   (const uint8_t *)(text), sizeof(text) - 1

TEST(reads_mappings_locations_and_strings)
{
    struct sxt_pprof pprof;
    assert_int_equal(sxt_pprof_read(&pprof, BYTES(MAPPING LOCATION_ONE LOCATION_TWO STRINGS), NULL), SXT_OK);
    assert_int_equal(pprof.mapping_count, 1);
    const struct sxt_pprof_mapping *mapping = &pprof.mappings[0];
    assert_int_equal(mapping->id, 1);
    assert_int_equal(mapping->start, 0x10);
    assert_int_equal(mapping->limit, 0x50);
    assert_int_equal(mapping->offset, 5);
    sxt_test_assert_text(mapping->name, "/bin");
    sxt_test_assert_text(mapping->build_id, "");
    assert_int_equal(pprof.location_count, 2);
    assert_int_equal(pprof.locations[1].id, 2);
    assert_int_equal(pprof.locations[1].address, 0x30);
    assert_int_equal(pprof.locations[1].mapping, 0);
    assert_false(pprof.locations[1].has_lines);
    sxt_pprof_free(&pprof);
}

TEST(a_location_after_the_first_of_a_sample_is_a_return_address)
{
    static const struct {
        const char *data;
        size_t size;
        bool first, second;
    } cases[] = {
        {SAMPLE("\1\2") LOCATION_ONE LOCATION_TWO STRINGS, sizeof SAMPLE("\1\2") LOCATION_ONE LOCATION_TWO STRINGS - 1,
         false, true},
        {SAMPLE("\2\1") LOCATION_ONE LOCATION_TWO STRINGS, sizeof SAMPLE("\2\1") LOCATION_ONE LOCATION_TWO STRINGS - 1,
         true, false},
        /* Not packed: each id is a field. */
        {"\x12\4\x08\1\x08\2" LOCATION_ONE LOCATION_TWO STRINGS,
         sizeof "\x12\4\x08\1\x08\2" LOCATION_ONE LOCATION_TWO STRINGS - 1, false, true},
        /* A leaf in one sample and not in another. */
        {SAMPLE("\1\2") SAMPLE("\2\1") LOCATION_ONE LOCATION_TWO STRINGS,
         sizeof SAMPLE("\1\2") SAMPLE("\2\1") LOCATION_ONE LOCATION_TWO STRINGS - 1, true, true},
        /* Ids that nobody has. */
        {SAMPLE("\7\x09") LOCATION_ONE LOCATION_TWO STRINGS,
         sizeof SAMPLE("\7\x09") LOCATION_ONE LOCATION_TWO STRINGS - 1, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_pprof pprof;
        assert_int_equal(sxt_pprof_read(&pprof, (const uint8_t *)cases[i].data, cases[i].size, NULL), SXT_OK);
        assert_int_equal(pprof.locations[0].is_return, cases[i].first);
        assert_int_equal(pprof.locations[1].is_return, cases[i].second);
        sxt_pprof_free(&pprof);
    }
}

TEST(ids_may_be_any_numbers)
{
    /* Location UINT64_MAX before location 1; mapping 77 that is not there. */
    static const char data[] = "\x22\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\1" LOCATION_ONE
                               "\x22\4\x08\2\x10\x4d\x12\x0d\x0a\x0b\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1" STRINGS;
    struct sxt_pprof pprof;
    assert_int_equal(sxt_pprof_read(&pprof, BYTES(data), NULL), SXT_OK);
    assert_int_equal(pprof.locations[0].id, UINT64_MAX);
    assert_true(pprof.locations[0].is_return);
    assert_false(pprof.locations[1].is_return);
    assert_int_equal(pprof.locations[2].mapping, SXT_PPROF_NONE);
    sxt_pprof_free(&pprof);
}

static void add_line(struct sxt_pprof *pprof, size_t location, const char *name, const char *file, uint32_t line)
{
    struct sxt_pprof_function function = {
        .name = sxt_pprof_name(pprof, name, strlen(name)),
        .system_name = sxt_pprof_name(pprof, name, strlen(name)),
        .file = sxt_pprof_name(pprof, file, strlen(file)),
    };
    assert_true(sxt_pprof_add_line(pprof, location, &function, line));
}

static void assert_written(const struct sxt_pprof *pprof, const uint8_t *expected, size_t size)
{
    struct sxt_buffer out;
    sxt_buffer_init(&out, 4096);
    assert_int_equal(sxt_pprof_write(pprof, &out, NULL), SXT_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, expected, size);
    sxt_buffer_free(&out);
}

TEST(writes_what_it_read)
{
    /* With a field that nobody knows, a group, and a tag and a length that are longer than they need to be. */
    static const char data[] = MAPPING "\xa3\6\x08\1\xa4\6" LOCATION_ONE "\xa2\x80\0\x82\0xy" STRINGS "\x79"
                                       "12345678";
    struct sxt_pprof pprof;
    assert_int_equal(sxt_pprof_read(&pprof, BYTES(data), NULL), SXT_OK);
    assert_written(&pprof, BYTES(data));
    sxt_pprof_free(&pprof);
}

TEST(adds_lines_functions_strings_and_flags)
{
    static const char before[] = "\x2a\2\x08\7" MAPPING LOCATION_ONE LOCATION_TWO STRINGS "\x48\1";
    struct sxt_pprof pprof;
    assert_int_equal(sxt_pprof_read(&pprof, BYTES(before), NULL), SXT_OK);
    add_line(&pprof, 1, "in", "", 0);
    add_line(&pprof, 1, "out", "/bin", 300);
    add_line(&pprof, 0, "in", "", 9);
    pprof.mappings[0].resolved = true;
    /* New functions are 8 and 9; strings "in" and "out" are 2 and 3, and "/bin" was there. */
    static const char after[] = "\x2a\2\x08\7"
                                "\x1a\x12\x08\1\x10\x10\x18\x50\x20\5\x28\1\x38\1\x40\1\x48\1\x50\1"
                                "\x22\x0c\x08\1\x10\1\x18\x20\x22\4\x08\x08\x10\x09"
                                "\x22\x11\x08\2\x10\1\x18\x30\x22\2\x08\x08\x22\5\x08\x09\x10\xac\2" STRINGS "\x48\1"
                                "\x2a\6\x08\x08\x10\2\x18\2\x2a\x08\x08\x09\x10\3\x18\3\x20\1"
                                "\x32\2in\x32\3out";
    assert_written(&pprof, BYTES(after));
    sxt_pprof_free(&pprof);
}

TEST(new_lines_take_the_place_of_old_ones)
{
    static const char before[] = "\x22\x0c\x22\2\x08\1\x08\1\x22\2\x08\2\x28\1" STRINGS;
    struct sxt_pprof pprof;
    assert_int_equal(sxt_pprof_read(&pprof, BYTES(before), NULL), SXT_OK);
    assert_true(pprof.locations[0].has_lines);
    add_line(&pprof, 0, "x", "", 1);
    assert_written(&pprof, BYTES("\x22\x08\x08\1\x22\4\x08\1\x10\1" STRINGS "\x2a\6\x08\1\x10\2\x18\2\x32\1x"));
    sxt_pprof_free(&pprof);
}

TEST(a_location_is_marked_as_folded)
{
    struct sxt_pprof pprof;
    assert_int_equal(sxt_pprof_read(&pprof, BYTES("\x22\2\x08\1" STRINGS), NULL), SXT_OK);
    add_line(&pprof, 0, "x", "", 1);
    pprof.locations[0].is_folded = true;
    assert_written(&pprof, BYTES("\x22\x0a\x08\1\x22\4\x08\1\x10\1\x28\1" STRINGS "\x2a\6\x08\1\x10\2\x18\2\x32\1x"));
    sxt_pprof_free(&pprof);
}

TEST(a_string_table_that_is_missing_begins_with_the_empty_string)
{
    struct sxt_pprof pprof;
    assert_int_equal(sxt_pprof_read(&pprof, BYTES("\x0a\0\x22\2\x08\1"), NULL), SXT_OK);
    add_line(&pprof, 0, "x", "", 0);
    assert_written(&pprof, BYTES("\x0a\0\x22\6\x08\1\x22\2\x08\1\x2a\6\x08\1\x10\1\x18\1\x32\0\x32\1x"));
    sxt_pprof_free(&pprof);
}

TEST(refuses_what_is_damaged)
{
    static const char whole[] = SAMPLE("\1\2") MAPPING LOCATION_ONE LOCATION_TWO "\x2a\2\x08\7" STRINGS;
    struct sxt_pprof pprof;
    sxt_error error;
    unsigned refused = 0;
    for (size_t size = 1; size < sizeof whole - 1; size++) {
        int status = sxt_pprof_read(&pprof, (const uint8_t *)whole, size, &error);
        refused += status != SXT_OK;
        sxt_pprof_free(&pprof);
    }
    /* A cut between two fields leaves a profile, if there are strings in it. */
    assert_int_equal(refused, sizeof whole - 1 - 2);
    static const char *const damaged[] = {"\x22\2\x08\x80",  "\x32\0\x1a\2\x08\x80", "\x32\0\x12\3\x0a\1\x80",
                                          "\x32\0\xa3\6",    "\x32\0\xa4\6",         "\x32\0\7",
                                          "\x32\0\x2a\1\x08"};
    static const size_t sizes[] = {4, 6, 7, 4, 4, 3, 5};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        assert_int_equal(sxt_pprof_read(&pprof, (const uint8_t *)damaged[i], sizes[i], &error), SXT_ERROR_FORMAT);
    assert_int_equal(sxt_pprof_read(&pprof, (const uint8_t *)"", 0, &error), SXT_ERROR_UNSUPPORTED);
    assert_int_equal(sxt_pprof_read(&pprof, BYTES("\x48\1"), &error), SXT_ERROR_UNSUPPORTED);
}

TEST(ids_of_functions_may_run_out)
{
    static const char data[] = "\x2a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\1" LOCATION_ONE STRINGS;
    struct sxt_pprof pprof;
    struct sxt_buffer out;
    sxt_buffer_init(&out, 4096);
    assert_int_equal(sxt_pprof_read(&pprof, BYTES(data), NULL), SXT_OK);
    assert_written(&pprof, BYTES(data));
    add_line(&pprof, 0, "x", "", 0);
    assert_int_equal(sxt_pprof_write(&pprof, &out, NULL), SXT_ERROR_LIMIT);
    sxt_pprof_free(&pprof);
    sxt_buffer_free(&out);
}

TEST(gzip_comes_back)
{
    size_t size = (size_t)3 << 20;
    uint8_t *data = malloc(size);
    assert_non_null(data);
    struct sxt_test_random random = {.state = 11};
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)sxt_test_below(&random, 200);
    const size_t sizes[] = {0, 1, 1000, size};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sxt_buffer packed;
        sxt_buffer_init(&packed, 2 * size);
        assert_int_equal(sxt_gzip_fast(data, sizes[i], &packed, NULL), SXT_OK);
        uint8_t *unpacked;
        size_t unpacked_size;
        assert_int_equal(
            sxt_inflate(SXT_COMPRESSION_GZIP, packed.data, packed.size, size, &unpacked, &unpacked_size, NULL), SXT_OK);
        assert_int_equal(unpacked_size, sizes[i]);
        if (sizes[i] > 0)
            assert_memory_equal(unpacked, data, sizes[i]);
        free(unpacked);
        sxt_buffer_free(&packed);
    }
    struct sxt_buffer small;
    sxt_buffer_init(&small, 1000);
    assert_int_equal(sxt_gzip_fast(data, size, &small, NULL), SXT_ERROR_LIMIT);
    sxt_buffer_free(&small);
    free(data);
}
