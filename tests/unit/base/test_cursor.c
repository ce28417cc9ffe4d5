/* test_cursor.c: reads inside the bytes give what is there; the first one outside fails for good. */
#include <string.h>

#include "base/cursor.h"
#include "support/test.h"

static const uint8_t sample[] = {0x01, 0x82, 0x03, 0x84, 0x05, 0x86, 0x07, 0x88, 'h', 'i', 0, 'x'};

static struct sxt_cursor over_sample(bool big_endian)
{
    return sxt_cursor_make(sample, sizeof sample, 0x1000, big_endian);
}

TEST(reads_integers_in_either_byte_order)
{
    struct sxt_cursor little = over_sample(false), big = over_sample(true);
    assert_int_equal(sxt_cursor_u8(&little), 0x01);
    assert_int_equal(sxt_cursor_u16(&little), 0x0382);
    assert_int_equal(sxt_cursor_u32(&little), 0x07860584);
    assert_int_equal(sxt_cursor_offset(&little), 0x1007);
    assert_int_equal(sxt_cursor_left(&little), sizeof sample - 7);
    assert_true(sxt_cursor_u64(&big) == UINT64_C(0x0182038405860788));
    sxt_cursor_seek(&big, 1);
    assert_int_equal(sxt_cursor_u16(&big), 0x8203);
    assert_int_equal(sxt_cursor_u32(&big), 0x84058607);
    assert_false(little.failed || big.failed);
}

TEST(reads_integers_of_a_given_width)
{
    static const uint64_t expected[9] = {
        [1] = 0x01, [2] = 0x8201, [4] = 0x84038201, [8] = UINT64_C(0x8807860584038201)};
    for (unsigned width = 0; width < 20; width++) {
        struct sxt_cursor cursor = over_sample(false);
        uint64_t value = sxt_cursor_uint(&cursor, width);
        bool is_width = width == 1 || width == 2 || width == 4 || width == 8;
        assert_int_equal(cursor.failed, !is_width);
        assert_true(value == (is_width ? expected[width] : 0));
        assert_int_equal(cursor.at, is_width ? width : 0);
    }
}

typedef uint64_t read_function(struct sxt_cursor *cursor);

static uint64_t read_u8(struct sxt_cursor *cursor)
{
    return sxt_cursor_u8(cursor);
}
static uint64_t read_u16(struct sxt_cursor *cursor)
{
    return sxt_cursor_u16(cursor);
}
static uint64_t read_u32(struct sxt_cursor *cursor)
{
    return sxt_cursor_u32(cursor);
}
static uint64_t read_u64(struct sxt_cursor *cursor)
{
    return sxt_cursor_u64(cursor);
}
static uint64_t read_four(struct sxt_cursor *cursor)
{
    return sxt_cursor_uint(cursor, 4);
}
static uint64_t read_uleb128(struct sxt_cursor *cursor)
{
    return sxt_cursor_uleb128(cursor);
}
static uint64_t read_sleb128(struct sxt_cursor *cursor)
{
    return (uint64_t)sxt_cursor_sleb128(cursor);
}
static uint64_t read_bytes(struct sxt_cursor *cursor)
{
    return sxt_cursor_bytes(cursor, 3) != NULL;
}
static uint64_t read_cstring(struct sxt_cursor *cursor)
{
    return sxt_cursor_cstring(cursor).data != NULL;
}
static uint64_t skip_three(struct sxt_cursor *cursor)
{
    sxt_cursor_skip(cursor, 3);
    return 0;
}
static uint64_t seek_three(struct sxt_cursor *cursor)
{
    sxt_cursor_seek(cursor, 3);
    return 0;
}

/* Each needs SIZE bytes of 0xff, 0xff ... with a last byte of 0. */
static const struct {
    read_function *read;
    size_t size;
} reads[] = {
    {read_u8, 1},      {read_u16, 2},   {read_u32, 4},     {read_u64, 8},   {read_four, 4},  {read_uleb128, 5},
    {read_sleb128, 5}, {read_bytes, 3}, {read_cstring, 6}, {skip_three, 3}, {seek_three, 3},
};

TEST(refuses_every_read_that_is_cut)
{
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        for (size_t size = 0; size <= reads[i].size; size++) {
            uint8_t bytes[8];
            memset(bytes, 0xff, sizeof bytes);
            bytes[reads[i].size - 1] = 0;
            struct sxt_cursor cursor = sxt_cursor_make(size == 0 ? NULL : bytes, size, 0x40, false);
            uint64_t value = reads[i].read(&cursor);
            bool is_whole = size == reads[i].size;
            assert_int_equal(cursor.failed, !is_whole);
            assert_int_equal(cursor.at, is_whole ? size : 0);
            if (!is_whole)
                assert_true(value == 0);
        }
    }
}

TEST(gives_zero_for_everything_after_a_failure)
{
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        struct sxt_cursor cursor = over_sample(false);
        sxt_cursor_u16(&cursor);
        sxt_cursor_skip(&cursor, UINT64_MAX);
        assert_true(cursor.failed);
        assert_true(reads[i].read(&cursor) == 0);
        assert_true(cursor.failed);
        assert_int_equal(cursor.at, 2);
        assert_int_equal(sxt_cursor_offset(&cursor), 0x1002);
    }
}

TEST(does_not_wrap_around_on_huge_lengths)
{
    static const uint64_t lengths[] = {sizeof sample - 3, SIZE_MAX - 3,           SIZE_MAX, UINT64_MAX - 3, UINT64_MAX,
                                       UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        struct sxt_cursor parent = over_sample(false);
        sxt_cursor_skip(&parent, 4);
        struct sxt_cursor cursor = parent;
        assert_null(sxt_cursor_bytes(&cursor, lengths[i]));
        assert_true(cursor.failed);
        cursor = parent;
        sxt_cursor_skip(&cursor, lengths[i]);
        assert_true(cursor.failed);
        assert_true(sxt_cursor_slice(&parent, 4, lengths[i]).failed);
        if (lengths[i] > sizeof sample) {
            assert_true(sxt_cursor_slice(&parent, lengths[i], 4).failed);
            cursor = parent;
            sxt_cursor_seek(&cursor, lengths[i]);
            assert_true(cursor.failed);
        }
        assert_false(parent.failed);
    }
}

TEST(slices_independently_of_the_position)
{
    struct sxt_cursor parent = over_sample(true);
    sxt_cursor_seek(&parent, sizeof sample);
    struct sxt_cursor slice = sxt_cursor_slice(&parent, 2, 3);
    assert_int_equal(slice.size, 3);
    assert_int_equal(sxt_cursor_offset(&slice), 0x1002);
    assert_int_equal(sxt_cursor_u16(&slice), 0x0384);
    assert_int_equal(sxt_cursor_u16(&slice), 0);
    assert_true(slice.failed);
    assert_false(parent.failed);

    struct sxt_cursor inner = sxt_cursor_slice(&parent, 2, 6);
    inner = sxt_cursor_slice(&inner, 1, 2);
    assert_int_equal(sxt_cursor_offset(&inner), 0x1003);
    assert_int_equal(sxt_cursor_u16(&inner), 0x8405);
    assert_false(inner.failed);

    struct sxt_cursor empty = sxt_cursor_slice(&parent, sizeof sample, 0);
    assert_false(empty.failed);
    assert_int_equal(sxt_cursor_left(&empty), 0);
    struct sxt_cursor nothing = sxt_cursor_make(NULL, 0, 0, false);
    assert_false(sxt_cursor_slice(&nothing, 0, 0).failed);
}

TEST(slices_of_a_failed_cursor_have_failed)
{
    struct sxt_cursor parent = over_sample(false);
    struct sxt_cursor outside = sxt_cursor_slice(&parent, 1, sizeof sample);
    assert_true(outside.failed);
    assert_int_equal(sxt_cursor_u8(&outside), 0);
    assert_true(sxt_cursor_slice(&outside, 0, 0).failed);
}

TEST(reads_unsigned_leb128)
{
    static const struct {
        uint8_t bytes[12];
        size_t size; /* 0: refused */
        uint64_t value;
    } cases[] = {
        {{0x02}, 1, 2},
        {{0x7f}, 1, 127},
        {{0x80, 0x01}, 2, 128},
        {{0xe5, 0x8e, 0x26}, 3, 624485},
        {{0x81, 0x80, 0x80, 0x00}, 4, 1},
        {{0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 10, 1},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, 10, UINT64_MAX},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03}, 0, 0},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_cursor cursor = sxt_cursor_make(cases[i].bytes, sizeof cases[i].bytes, 0, false);
        assert_true(sxt_cursor_uleb128(&cursor) == cases[i].value);
        assert_int_equal(cursor.at, cases[i].size);
        assert_int_equal(cursor.failed, cases[i].size == 0);
    }
}

TEST(reads_signed_leb128)
{
    static const struct {
        uint8_t bytes[12];
        size_t size; /* 0: refused */
        int64_t value;
    } cases[] = {
        {{0x02}, 1, 2},
        {{0x7e}, 1, -2},
        {{0xff, 0x00}, 2, 127},
        {{0x81, 0x7f}, 2, -127},
        {{0x80, 0x01}, 2, 128},
        {{0x80, 0x7f}, 2, -128},
        {{0xc0, 0xbb, 0x78}, 3, -123456},
        {{0xff, 0xff, 0xff, 0x7f}, 4, -1},
        {{0x81, 0x80, 0x00}, 3, 1},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00}, 10, INT64_MAX},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 10, INT64_MIN},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}, 9, INT64_MIN / 2},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, 0, 0},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7e}, 0, 0},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00}, 0, 0},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_cursor cursor = sxt_cursor_make(cases[i].bytes, sizeof cases[i].bytes, 0, false);
        assert_true(sxt_cursor_sleb128(&cursor) == cases[i].value);
        assert_int_equal(cursor.at, cases[i].size);
        assert_int_equal(cursor.failed, cases[i].size == 0);
    }
}

TEST(reads_strings_up_to_their_nul)
{
    struct sxt_cursor cursor = over_sample(false);
    sxt_cursor_seek(&cursor, 8);
    sxt_string string = sxt_cursor_cstring(&cursor);
    assert_int_equal(string.size, 2);
    assert_ptr_equal(string.data, sample + 8);
    assert_int_equal(cursor.at, 11);

    string = sxt_cursor_cstring(&cursor);
    assert_null(string.data);
    assert_int_equal(string.size, 0);
    assert_true(cursor.failed);
    assert_int_equal(cursor.at, 11);

    cursor = sxt_cursor_make("", 1, 0, false);
    string = sxt_cursor_cstring(&cursor);
    assert_non_null(string.data);
    assert_int_equal(string.size, 0);
    assert_int_equal(sxt_cursor_left(&cursor), 0);
}

TEST(finds_no_bytes_even_where_there_is_nothing)
{
    struct sxt_cursor cursor = sxt_cursor_make(NULL, 0, 0, false);
    assert_non_null(sxt_cursor_bytes(&cursor, 0));
    sxt_cursor_skip(&cursor, 0);
    sxt_cursor_seek(&cursor, 0);
    assert_false(cursor.failed);
    cursor = over_sample(false);
    assert_ptr_equal(sxt_cursor_bytes(&cursor, sizeof sample), sample);
    assert_non_null(sxt_cursor_bytes(&cursor, 0));
    assert_false(cursor.failed);
}
