/* test_read.c: opening Lidia files of any writer, good and bad, and reading their records. */
#include <stdlib.h>
#include <string.h>

#include "lidia/lidia.h"
#include "support/lidia_image.h"
#include "support/test.h"

static uint8_t *image;
static size_t image_size;
static struct sxt_lidia lidia;

SET_UP()
{
    image = NULL;
}

TEAR_DOWN()
{
    free(image);
}

/* A file with everything: two functions, calls in one of them, lines, an index. */
static void make_image(struct sxt_test_lidia sizes)
{
    static struct sxt_test_strings strings;
    strings.size = 0;
    sxt_test_put_string(&strings, "");
    sxt_test_put_string(&strings, "[overflow]");
    uint64_t f = sxt_test_put_string(&strings, "f"), f_c = sxt_test_put_string(&strings, "f.c");
    uint64_t g = sxt_test_put_string(&strings, "g"), g_h = sxt_test_put_string(&strings, "g.h");
    uint64_t last = sxt_test_put_string(&strings, "last");
    const struct sxt_test_row rows[] = {
        {0x1000, 0x40, 0, f, f_c, 0, 2, 0, 0},
        {0x1010, 0x20, 1, g, g_h, 2, 1, f_c, 11},
        {0x1018, 0x08, 2, last, 0, 0, 0, g_h, 3},
        {0x1040, 0x10, 0, last, f_c, 3, 1, 0, 0},
    };
    const uint32_t lines[][2] = {{0, 10}, {0x30, 12}, {4, 2}, {0, 20}};
    const uint32_t parents[] = {0, 1, 1, 0};
    sizes.rows = rows;
    sizes.row_count = 4;
    sizes.strings = &strings;
    sizes.lines = lines;
    sizes.line_count = 4;
    sizes.parents = parents;
    free(image);
    image = sxt_test_lidia_image(&sizes, &image_size);
}

static int open_image(bool check_crc, sxt_error *error)
{
    return sxt_lidia_open(&lidia, image, image_size, check_crc, error);
}

static void assert_opens(void)
{
    sxt_error error;
    if (open_image(true, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

/* Opening fails with CODE, because of what stands at OFFSET. */
static void assert_refused(int code, uint64_t offset)
{
    sxt_error error = {0};
    assert_int_equal(open_image(false, &error), code);
    assert_int_equal(error.code, code);
    assert_int_equal(error.offset, offset);
    assert_true(strlen(error.text) > 10);
    assert_int_equal(open_image(false, NULL), code);
}

TEST(every_combination_of_sizes_reads_the_same)
{
    static const unsigned parents[] = {1, 2, 4};
    for (unsigned i = 0; i < 24; i++) {
        make_image((struct sxt_test_lidia){.address_size = i % 2 ? 8 : 4,
                                           .field_size = i / 2 % 2 ? 8 : 4,
                                           .line_size = i / 4 % 2 ? 4 : 2,
                                           .parent_size = parents[i / 8]});
        assert_opens();
        assert_int_equal(lidia.count, 4);
        assert_int_equal(lidia.line_count, 4);
        assert_false(lidia.nul_strings);
        assert_non_null(lidia.parents);
        struct sxt_lidia_row row;
        sxt_lidia_row(&lidia, 1, &row);
        assert_true(row.address == 0x1010 && row.length == 0x20 && row.depth == 1 && row.call_line == 11);
        sxt_test_assert_text(sxt_lidia_string(&lidia, row.function), "g");
        sxt_test_assert_text(sxt_lidia_optional_string(&lidia, row.file), "g.h");
        sxt_test_assert_text(sxt_lidia_optional_string(&lidia, row.call_file), "f.c");
        uint32_t offset, line;
        assert_true(sxt_lidia_line(&lidia, &row, 0, &offset, &line));
        assert_true(offset == 4 && line == 2);
        assert_false(sxt_lidia_line(&lidia, &row, 1, &offset, &line));
        sxt_lidia_row(&lidia, 0, &row);
        assert_true(sxt_lidia_line(&lidia, &row, 1, &offset, &line));
        assert_true(offset == 0x30 && line == 12);
    }
}

TEST(what_does_not_begin_with_the_magic_is_not_lidia)
{
    assert_true(sxt_lidia_is((const uint8_t *)".dia", 4));
    assert_false(sxt_lidia_is((const uint8_t *)".dia", 3));
    assert_false(sxt_lidia_is((const uint8_t *)"ldia", 4));
    make_image((struct sxt_test_lidia){0});
    for (unsigned i = 0; i < 4; i++) {
        image[i] ^= 0x20;
        assert_refused(SXT_ERROR_UNSUPPORTED, 0);
        image[i] ^= 0x20;
    }
}

TEST(no_truncation_is_read_beyond_its_end)
{
    make_image((struct sxt_test_lidia){0});
    size_t index_at = sxt_test_index_at(image);
    for (size_t size = 0; size < image_size; size++) {
        uint8_t *cut = malloc(size + !size); /* of its own, so that a sanitizer sees its end */
        assert_non_null(cut);
        memcpy(cut, image, size);
        sxt_error error = {0};
        int status = sxt_lidia_open(&lidia, cut, size, true, &error);
        if (size < index_at) {
            assert_int_equal(status, size < 4 ? SXT_ERROR_UNSUPPORTED : SXT_ERROR_FORMAT);
            assert_true(error.offset <= size || error.offset < SXT_LIDIA_HEADER_SIZE);
        } else {
            /* Without its index the file is whole. */
            assert_int_equal(status, SXT_OK);
            assert_null(lidia.parents);
            sxt_frame frames[4];
            assert_int_equal(sxt_lidia_lookup(&lidia, 0x1018, frames, 4), 3);
        }
        free(cut);
    }
}

TEST(other_versions_are_refused)
{
    make_image((struct sxt_test_lidia){0});
    const uint32_t versions[] = {0, 2, 0x100, 0x1000000, UINT32_MAX};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        sxt_test_store(image + 4, versions[i], 4);
        assert_refused(SXT_ERROR_UNSUPPORTED, 4);
    }
}

TEST(sizes_that_the_format_does_not_have_are_refused)
{
    const struct {
        unsigned at;
        unsigned first_good, second_good;
    } fields[] = {{0x08, 4, 8}, {0x28, 4, 8}, {0x60, 2, 4}};
    const uint64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 0x104, 0x100000004, UINT64_MAX};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            make_image((struct sxt_test_lidia){0});
            sxt_test_store(image + fields[i].at, sizes[k], 8);
            if (sizes[k] != fields[i].first_good && sizes[k] != fields[i].second_good)
                assert_refused(SXT_ERROR_FORMAT, fields[i].at);
        }
}

TEST(counts_and_offsets_that_do_not_fit_are_refused_without_overflow)
{
    /* The field that is set, and the one that the message points to: the count. */
    const struct {
        unsigned at, reported;
    } fields[] = {{0x18, 0x10}, {0x38, 0x30}, {0x48, 0x48}, {0x50, 0x48}, {0x68, 0x68}, {0x70, 0x68}};
    const uint64_t values[] = {UINT64_MAX,        UINT64_MAX - 3,
                               (uint64_t)1 << 63, (uint64_t)1 << 62,
                               (uint64_t)1 << 61, ((uint64_t)1 << 61) - 1,
                               (uint64_t)1 << 60, (uint64_t)1 << 33,
                               (uint64_t)1 << 32, 100000};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            make_image((struct sxt_test_lidia){0});
            sxt_test_store(image + fields[i].at, values[k], 8);
            assert_refused(SXT_ERROR_FORMAT, fields[i].reported);
        }
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        make_image((struct sxt_test_lidia){0});
        sxt_test_store(image + 0x10, values[k], 8);
        assert_refused(SXT_ERROR_FORMAT, 0x30); /* not as many rows as addresses */
        sxt_test_store(image + 0x30, values[k], 8);
        assert_refused(SXT_ERROR_FORMAT, 0x10);
    }
}

TEST(a_part_may_end_exactly_with_the_file)
{
    make_image((struct sxt_test_lidia){0});
    image_size = sxt_test_index_at(image);
    assert_opens();
    sxt_test_store(image + 0x70, sxt_test_lines_at(image) + 1, 8);
    assert_refused(SXT_ERROR_FORMAT, 0x68);
}

TEST(without_line_entries_their_size_and_place_do_not_matter)
{
    make_image((struct sxt_test_lidia){0});
    sxt_test_store(image + 0x68, 0, 8);
    sxt_test_store(image + 0x60, 7, 8);
    sxt_test_store(image + 0x70, (uint64_t)1 << 60, 8);
    assert_int_equal(open_image(false, NULL), SXT_OK);
    struct sxt_lidia_row row;
    uint32_t offset, line;
    sxt_lidia_row(&lidia, 0, &row);
    assert_false(sxt_lidia_line(&lidia, &row, 0, &offset, &line));
    sxt_frame frame;
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x1000, &frame, 1), 1);
    assert_int_equal(frame.line, 0);
}

TEST(parts_may_stand_in_another_order)
{
    make_image((struct sxt_test_lidia){0});
    /* The strings once more, after everything. */
    size_t strings_at = sxt_test_strings_at(image), strings_size = (size_t)sxt_test_load(image + 0x48, 8);
    image = realloc(image, image_size + strings_size);
    assert_non_null(image);
    memcpy(image + image_size, image + strings_at, strings_size);
    memset(image + strings_at, 0xee, strings_size);
    sxt_test_store(image + 0x50, image_size, 8);
    image_size += strings_size;
    assert_opens();
    sxt_frame frame;
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x1000, &frame, 1), 1);
    sxt_test_assert_text(frame.function, "f");
}

TEST(checksums_are_compared_only_when_asked_and_in_the_reference_order)
{
    make_image((struct sxt_test_lidia){0});
    const struct {
        size_t damaged;
        uint64_t reported;
    } cases[] = {
        {sxt_test_lines_at(image) + 2, 0x78},
        {sxt_test_rows_at(image) + 28, 0x40},
        {sxt_test_strings_at(image) + 23, 0x58},
        {0x80, 0x20},
    };
    /* The damage adds up; each time the one reported is the first of those that are checked. */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        image[cases[i].damaged] ^= 1;
        assert_int_equal(open_image(false, NULL), SXT_OK);
        sxt_error error = {0};
        assert_int_equal(open_image(true, &error), SXT_ERROR_FORMAT);
        assert_int_equal(error.offset, cases[i].reported);
    }
}

TEST(a_damaged_index_is_noticed_when_checksums_are_asked_for)
{
    make_image((struct sxt_test_lidia){0});
    size_t index_at = sxt_test_index_at(image);
    image[sxt_test_parents_at(image) + 2] = 2; /* row 2 leads to row 0 now, past row 1 */
    sxt_error error = {0};
    assert_int_equal(open_image(true, &error), SXT_ERROR_FORMAT);
    assert_int_equal(error.offset, index_at + 0x18);
}

TEST(an_index_with_a_damaged_header_is_not_used)
{
    make_image((struct sxt_test_lidia){0});
    size_t index_at = sxt_test_index_at(image);
    for (size_t i = 0; i < SXT_LIDIA_INDEX_HEADER_SIZE; i++) {
        image[index_at + i] ^= 0x10;
        assert_int_equal(open_image(false, NULL), SXT_OK);
        assert_null(lidia.parents);
        image[index_at + i] ^= 0x10;
    }
    assert_opens();
    assert_non_null(lidia.parents);
}

TEST(an_index_of_another_shape_is_not_used_even_with_a_right_checksum)
{
    const struct {
        unsigned at, width;
        uint64_t value;
    } changes[] = {{0x04, 4, 2}, {0x08, 8, 3}, {0x08, 8, 5}, {0x08, 8, (uint64_t)1 << 63},
                   {0x10, 4, 0}, {0x10, 4, 3}, {0x10, 4, 8}, {0x10, 4, 2} /* longer than the file */};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        make_image((struct sxt_test_lidia){0});
        uint8_t *index = image + sxt_test_index_at(image);
        sxt_test_store(index + changes[i].at, changes[i].value, changes[i].width);
        sxt_test_store(index + 0x1c, sxt_test_crc32c(index, 0x1c), 4);
        assert_int_equal(open_image(false, NULL), SXT_OK);
        assert_null(lidia.parents);
    }
}

/* From the first address to the last there are 2^64 buckets of one address: one more than a number can say. */
TEST(an_index_of_more_buckets_than_can_be_counted_is_not_used)
{
    const struct sxt_test_row rows[] = {{.address = 0, .length = 16}, {.address = UINT64_MAX, .length = 1}};
    const uint32_t parents[2] = {0};
    image = sxt_test_lidia_image(
        &(struct sxt_test_lidia){.rows = rows, .row_count = 2, .parents = parents, .address_size = 8}, &image_size);
    assert_opens();
    assert_non_null(lidia.buckets);
    sxt_test_store(image + sxt_test_index_at(image) + 0x14, 0, 4);
    sxt_test_lidia_seal(image, image_size);
    assert_int_equal(open_image(false, NULL), SXT_OK);
    assert_null(lidia.buckets);
    assert_int_equal(sxt_lidia_lookup(&lidia, 4, NULL, 0), 1);
}

/* --- strings --- */

/* Opens a file of one row whose string table is BYTES, and returns what the reader takes the strings for. */
static bool has_nul_strings(const char *bytes, size_t size)
{
    static struct sxt_test_strings strings;
    assert_true(size <= sizeof strings.bytes);
    memcpy(strings.bytes, bytes, size);
    strings.size = size;
    free(image);
    image = sxt_test_lidia_image(
        &(struct sxt_test_lidia){.rows = &(struct sxt_test_row){.length = 16}, .row_count = 1, .strings = &strings},
        &image_size);
    assert_opens();
    return lidia.nul_strings;
}

#define HAS_NUL_STRINGS(text) has_nul_strings(text, sizeof(text) - 1)

TEST(strings_that_end_with_nul_are_recognised)
{
    assert_true(HAS_NUL_STRINGS("\0main\0helper\0"));
    sxt_test_assert_text(sxt_lidia_string(&lidia, 0), "");
    sxt_test_assert_text(sxt_lidia_string(&lidia, 1), "main");
    sxt_test_assert_text(sxt_lidia_string(&lidia, 3), "in");
    sxt_test_assert_text(sxt_lidia_string(&lidia, 6), "helper");
    sxt_test_assert_text(sxt_lidia_optional_string(&lidia, 0), NULL);
    sxt_test_assert_text(sxt_lidia_string(&lidia, 13), NULL);
    assert_true(HAS_NUL_STRINGS("\0a\0"));
    assert_true(HAS_NUL_STRINGS("\0"));
    assert_true(HAS_NUL_STRINGS("\0a\0b\0c\0d\0"));
    assert_true(HAS_NUL_STRINGS("\0[overflow]\0main\0"));
}

TEST(a_writer_need_not_begin_with_an_empty_string)
{
    assert_true(HAS_NUL_STRINGS("main\0helper\0"));
    /* The one row names the string at 0. */
    sxt_frame frame;
    assert_int_equal(sxt_lidia_lookup(&lidia, 4, &frame, 1), 1);
    sxt_test_assert_text(frame.function, "main");
    sxt_test_assert_text(frame.file, NULL);
    assert_true(HAS_NUL_STRINGS("f\0"));
    assert_true(HAS_NUL_STRINGS("ab\0cd\0"));
}

TEST(strings_with_lengths_are_recognised)
{
    assert_false(HAS_NUL_STRINGS("\0\0\0\0\x0a\0\0\0[overflow]\4\0\0\0main"));
    assert_false(HAS_NUL_STRINGS("\4\0\0\0main\0\0\0\0"));
    assert_false(HAS_NUL_STRINGS("\4\0\0\0ma\0n"));
    assert_false(HAS_NUL_STRINGS(""));
    /* Cut or damaged, but not text either. */
    assert_false(HAS_NUL_STRINGS("\0\0\0\0\x0a\0\0\0[overflow]\5\0\0\0main"));
}

TEST(a_string_outside_the_table_is_absent)
{
    assert_false(HAS_NUL_STRINGS("\0\0\0\0\4\0\0\0main\1\0\0\0x"));
    sxt_test_assert_text(sxt_lidia_string(&lidia, 4), "main");
    sxt_test_assert_text(sxt_lidia_string(&lidia, 12), "x");
    sxt_test_assert_text(sxt_lidia_string(&lidia, 8), NULL);  /* "main" is no length */
    sxt_test_assert_text(sxt_lidia_string(&lidia, 14), NULL); /* not even room for one */
    sxt_test_assert_text(sxt_lidia_string(&lidia, 17), NULL);
    sxt_test_assert_text(sxt_lidia_string(&lidia, UINT64_MAX), NULL);
    sxt_test_assert_text(sxt_lidia_optional_string(&lidia, UINT64_MAX), NULL);
    /* A length that leads beyond the table does not reach into what follows it. */
    sxt_test_store(image + sxt_test_strings_at(image) + 12, 2, 4);
    sxt_test_assert_text(sxt_lidia_string(&lidia, 12), NULL);
}

TEST(a_row_may_point_anywhere_and_reading_stays_inside)
{
    const uint64_t values[] = {0, 1, 3, 4, 5, 100, UINT32_MAX, (uint64_t)1 << 32, UINT64_MAX - 1, UINT64_MAX};
    const size_t count = sizeof values / sizeof *values;
    make_image((struct sxt_test_lidia){.field_size = 8});
    for (size_t i = 0; i < count * count; i++) {
        uint8_t *row_at = image + sxt_test_rows_at(image);
        sxt_test_store(row_at + 4 * 8, values[i / count], 8);
        sxt_test_store(row_at + 5 * 8, values[i % count], 8);
        sxt_test_store(row_at + 2 * 8, values[i % count], 8);
        sxt_test_store(row_at + 3 * 8, values[i / count], 8);
        assert_int_equal(open_image(false, NULL), SXT_OK);
        struct sxt_lidia_row row;
        uint32_t offset, line;
        sxt_lidia_row(&lidia, 0, &row);
        for (size_t k = 0; k < count; k++)
            if (sxt_lidia_line(&lidia, &row, values[k], &offset, &line))
                assert_true(values[k] < row.line_count && row.first_line + values[k] < 4);
        sxt_frame frames[2];
        assert_int_equal(sxt_lidia_lookup(&lidia, 0x100c, frames, 2), 1);
        assert_non_null(frames[0].function.data);
    }
}
