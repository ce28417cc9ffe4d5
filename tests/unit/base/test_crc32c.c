/* test_crc32c.c: all variants against the definition of the CRC, bit by bit. */
#include <pthread.h>

#include <string.h>

#include "base/crc32c.h"
#include "support/test.h"

#define LONGEST 600
#define SHIFTS  16

typedef uint32_t variant_function(uint32_t crc, const void *data, size_t size);

static uint32_t bitwise(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
    return ~crc;
}

static void fill(uint8_t *bytes, size_t size)
{
    uint32_t seed = 12345;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
}

static void check_known_values(variant_function *variant)
{
    static const uint8_t zeros[32];
    uint8_t ones[32], rising[32], falling[32];
    for (size_t i = 0; i < 32; i++) {
        ones[i] = 0xff;
        rising[i] = (uint8_t)i;
        falling[i] = (uint8_t)(31 - i);
    }
    assert_int_equal(variant(0, NULL, 0), 0);
    assert_int_equal(variant(0, "a", 1), 0xc1d04330);
    assert_int_equal(variant(0, "123456789", 9), 0xe3069283);
    /* RFC 3720, appendix B.4 */
    assert_int_equal(variant(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(variant(0, ones, 32), 0x62a8ab43);
    assert_int_equal(variant(0, rising, 32), 0x46dd794e);
    assert_int_equal(variant(0, falling, 32), 0x113fdb5c);
}

static void check_every_length_and_alignment(variant_function *variant)
{
    static uint8_t bytes[LONGEST + SHIFTS];
    fill(bytes, sizeof bytes);
    for (size_t shift = 0; shift < SHIFTS; shift++) {
        uint32_t expected = 0;
        for (size_t size = 0; size <= LONGEST; size++) {
            assert_int_equal(variant(0, bytes + shift, size), expected);
            expected = bitwise(expected, bytes + shift + size, 1);
        }
    }
}

static void check_every_split(variant_function *variant)
{
    static uint8_t bytes[LONGEST];
    fill(bytes, sizeof bytes);
    uint32_t whole = bitwise(0, bytes, sizeof bytes);
    for (size_t first = 0; first <= sizeof bytes; first++)
        assert_int_equal(variant(variant(0, bytes, first), bytes + first, sizeof bytes - first), whole);
}

/* Long enough for every way of splitting the work inside a variant. */
static void check_long_inputs(variant_function *variant)
{
    static uint8_t bytes[100003];
    fill(bytes, sizeof bytes);
    static const size_t sizes[] = {383,  384,  385,   1151,  1152,  6143,  6144,  6145,
                                   6527, 6528, 12287, 12288, 18432, 65536, 99999, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(variant(0, bytes + 3, sizes[i]), bitwise(0, bytes + 3, sizes[i]));
        assert_int_equal(variant(0xdeadbeef, bytes, sizes[i]), bitwise(0xdeadbeef, bytes, sizes[i]));
    }
}

static void check_variant(variant_function *variant)
{
    check_known_values(variant);
    check_every_length_and_alignment(variant);
    check_every_split(variant);
    check_long_inputs(variant);
}

static void *compute_in_thread(void *result)
{
    *(uint32_t *)result = sxt_crc32c(0, "123456789", 9);
    return NULL;
}

/* Runs first, so that the threads meet at the choice of the variant. */
/* The first case, so that nothing has called it before. */
TEST(the_first_calls_may_come_from_many_threads)
{
    pthread_t threads[4];
    uint32_t results[4] = {0};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compute_in_thread, &results[i]), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(results[i], 0xe3069283);
}

TEST(the_bitwise_definition_gives_the_known_values)
{
    check_known_values(bitwise);
}

TEST(the_table_agrees_with_the_definition)
{
    check_variant(sxt_crc32c_table);
}

TEST(the_instruction_agrees_with_the_definition)
{
    if (!sxt_crc32c_hardware_available())
        skip();
    check_variant(sxt_crc32c_hardware);
}

TEST(the_chosen_variant_agrees_with_the_definition)
{
    check_variant(sxt_crc32c);
}

TEST(sums_of_two_pieces_are_joined)
{
    uint8_t data[300];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37 + i / 7);
    for (size_t split = 0; split <= sizeof data; split++)
        assert_int_equal(sxt_crc32c_join(sxt_crc32c(0, data, split), sxt_crc32c(0, data + split, sizeof data - split),
                                         sizeof data - split),
                         sxt_crc32c(0, data, sizeof data));
}
