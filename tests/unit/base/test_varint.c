/* test_varint.c: every length of integer there and back, and everything that must be refused. */
#include <string.h>

#include "base/varint.h"
#include "support/test.h"

struct encoding {
    uint64_t value;
    size_t size;
    uint8_t bytes[SXT_VARINT_MAX];
};

static const struct encoding encodings[] = {
    {0, 1, {0x00}},
    {1, 1, {0x01}},
    {127, 1, {0x7f}},
    {128, 2, {0x80, 0x01}},
    {256, 2, {0x80, 0x02}},
    {300, 2, {0xac, 0x02}},
    {16383, 2, {0xff, 0x7f}},
    {16384, 3, {0x80, 0x80, 0x01}},
    {123456789, 4, {0x95, 0x9a, 0xef, 0x3a}},
    {UINT32_MAX, 5, {0xff, 0xff, 0xff, 0xff, 0x0f}},
    {INT64_MAX, 9, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
    {UINT64_C(1) << 63, 10, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}},
    {UINT64_MAX, 10, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}},
};

TEST(writes_the_bytes_that_others_write)
{
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        uint8_t bytes[SXT_VARINT_MAX + 1];
        memset(bytes, 0xee, sizeof bytes);
        assert_int_equal(sxt_varint_encode(bytes, encodings[i].value), encodings[i].size);
        assert_memory_equal(bytes, encodings[i].bytes, encodings[i].size);
        assert_int_equal(bytes[encodings[i].size], 0xee);
        assert_int_equal(sxt_varint_size(encodings[i].value), encodings[i].size);
    }
}

TEST(reads_what_it_wrote)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int64_t near = -1; near <= 1; near++) {
            uint64_t value = (UINT64_C(1) << bit) + (uint64_t)near;
            uint8_t bytes[SXT_VARINT_MAX];
            uint64_t read = 0;
            size_t size = sxt_varint_encode(bytes, value);
            assert_int_equal(sxt_varint_size(value), size);
            assert_int_equal(sxt_varint_decode(bytes, size, &read), size);
            assert_true(read == value);
        }
    }
}

TEST(leaves_what_follows_alone)
{
    uint64_t value = 0;
    assert_int_equal(sxt_varint_decode((const uint8_t[]){0xac, 0x02, 0xff, 0xff}, 4, &value), 2);
    assert_int_equal(value, 300);
}

TEST(refuses_every_cut)
{
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        for (size_t size = 0; size < encodings[i].size; size++) {
            uint64_t value = 4711;
            assert_int_equal(sxt_varint_decode(encodings[i].bytes, size, &value), 0);
            assert_int_equal(value, 4711);
        }
    }
    uint64_t value = 4711;
    assert_int_equal(sxt_varint_decode((const uint8_t[]){0xe5, 0x8e, 0xa6}, 3, &value), 0);
    assert_int_equal(value, 4711);
}

TEST(refuses_more_than_64_bits)
{
    uint8_t bytes[12];
    for (unsigned last = 0; last < 256; last++) {
        memset(bytes, 0x80, sizeof bytes);
        bytes[9] = (uint8_t)last;
        bytes[11] = 0;
        uint64_t value = 4711;
        size_t size = sxt_varint_decode(bytes, sizeof bytes, &value);
        assert_int_equal(size, last <= 1 ? 10 : 0);
        assert_true(value == (last <= 1 ? (uint64_t)last << 63 : 4711));
    }
}

TEST(accepts_redundant_zero_groups)
{
    for (size_t size = 2; size <= SXT_VARINT_MAX; size++) {
        uint8_t bytes[SXT_VARINT_MAX];
        memset(bytes, 0x80, sizeof bytes);
        bytes[0] = 0x85;
        bytes[size - 1] = 0;
        uint64_t value = 0;
        assert_int_equal(sxt_varint_decode(bytes, size, &value), size);
        assert_int_equal(value, 5);
    }
}

TEST(maps_signs_in_zigzag)
{
    static const struct {
        int64_t value;
        uint64_t mapped;
    } cases[] = {{0, 0},
                 {-1, 1},
                 {1, 2},
                 {-2, 3},
                 {2147483647, 4294967294},
                 {-2147483648, 4294967295},
                 {INT64_MAX, UINT64_MAX - 1},
                 {INT64_MIN, UINT64_MAX}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(sxt_zigzag_encode(cases[i].value) == cases[i].mapped);
        assert_true(sxt_zigzag_decode(cases[i].mapped) == cases[i].value);
    }
}
