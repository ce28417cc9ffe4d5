/* test_bytes.c: loads and stores in both byte orders at any alignment, and sums at their limits. */
#include "base/bytes.h"
#include "support/test.h"

static const uint8_t sample[] = {0x00, 0x81, 0x02, 0x83, 0x04, 0x85, 0x06, 0x87, 0x08, 0x89, 0x0a};

TEST(loads_little_endian)
{
    assert_int_equal(sxt_load_u16le(sample + 1), 0x0281);
    assert_int_equal(sxt_load_u32le(sample + 1), 0x04830281);
    assert_true(sxt_load_u64le(sample + 1) == UINT64_C(0x0887068504830281));
    assert_int_equal(sxt_load_u16(sample + 2, false), 0x8302);
    assert_int_equal(sxt_load_u32(sample + 2, false), 0x85048302);
    assert_true(sxt_load_u64(sample + 2, false) == UINT64_C(0x8908870685048302));
}

TEST(loads_big_endian)
{
    assert_int_equal(sxt_load_u16(sample + 1, true), 0x8102);
    assert_int_equal(sxt_load_u32(sample + 1, true), 0x81028304);
    assert_true(sxt_load_u64(sample + 1, true) == UINT64_C(0x8102830485068708));
}

TEST(stores_little_endian)
{
    for (size_t shift = 0; shift < 8; shift++) {
        uint8_t place[24];
        memset(place, 0xee, sizeof place);
        sxt_store_u16le(place + shift + 1, 0x0281);
        assert_memory_equal(place + shift + 1, sample + 1, 2);
        assert_int_equal(place[shift + 3], 0xee);
        sxt_store_u32le(place + shift + 1, 0x04830281);
        assert_memory_equal(place + shift + 1, sample + 1, 4);
        assert_int_equal(place[shift + 5], 0xee);
        sxt_store_u64le(place + shift + 1, UINT64_C(0x0887068504830281));
        assert_memory_equal(place + shift + 1, sample + 1, 8);
        assert_int_equal(place[shift], 0xee);
        assert_int_equal(place[shift + 9], 0xee);
    }
}

TEST(notices_sums_that_do_not_fit)
{
    static const struct {
        uint64_t a, b, sum;
        bool fits;
    } cases[] = {
        {0, 0, 0, true},
        {1, 2, 3, true},
        {UINT64_MAX, 0, UINT64_MAX, true},
        {UINT64_MAX - 1, 1, UINT64_MAX, true},
        {UINT64_MAX, 1, 0, false},
        {1, UINT64_MAX, 0, false},
        {UINT64_C(1) << 63, UINT64_C(1) << 63, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t sum = 12345;
        assert_int_equal(sxt_add_u64(cases[i].a, cases[i].b, &sum), cases[i].fits);
        assert_true(sum == (cases[i].fits ? cases[i].sum : 12345));
    }
}

TEST(notices_products_that_do_not_fit)
{
    static const struct {
        uint64_t a, b, product;
        bool fits;
    } cases[] = {
        {0, UINT64_MAX, 0, true},
        {7, 6, 42, true},
        {UINT64_MAX, 1, UINT64_MAX, true},
        {UINT32_MAX, UINT64_C(0x100000001), UINT64_MAX, true},
        {UINT64_C(1) << 32, UINT64_C(1) << 32, 0, false},
        {UINT64_MAX, 2, 0, false},
        {(UINT64_C(1) << 61) + 1, 8, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t product = 12345;
        assert_int_equal(sxt_mul_u64(cases[i].a, cases[i].b, &product), cases[i].fits);
        assert_true(product == (cases[i].fits ? cases[i].product : 12345));
    }
}

TEST(fits_only_what_lies_inside)
{
    static const struct {
        uint64_t offset, count, item_size, size;
        bool fits;
    } cases[] = {
        {0, 0, 0, 0, true},
        {0, 0, 8, 0, true},
        {20, 0, 8, 20, true},
        {21, 0, 8, 20, false},
        {4, 2, 8, 20, true},
        {5, 2, 8, 20, false},
        {4, 3, 8, 20, false},
        {0, 1, 20, 20, true},
        {0, 1, 21, 20, false},
        {0, UINT64_C(1) << 61, 8, UINT64_MAX, false},
        {8, UINT64_C(1) << 62, 4, 100, false},
        {UINT64_MAX, 1, 1, 100, false},
        {UINT64_MAX, 1, 1, UINT64_MAX, false},
        {UINT64_MAX - 1, 1, 1, UINT64_MAX, true},
        {0, UINT64_MAX, 1, UINT64_MAX, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sxt_fits(cases[i].offset, cases[i].count, cases[i].item_size, cases[i].size), cases[i].fits);
}
