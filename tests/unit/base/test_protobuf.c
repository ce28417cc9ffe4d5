/* test_protobuf.c: numbers, fields and groups of the wire format, cut off, overlong and nested too deep. */
#include "base/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static struct sxt_buffer message;

SET_UP()
{
    sxt_buffer_init(&message, 1 << 20);
}

TEAR_DOWN()
{
    sxt_buffer_free(&message);
}

static struct sxt_cursor over(const void *data, size_t size)
{
    return sxt_cursor_make(data, size, 0x100, false);
}

/* Goes over a copy that ends where its memory ends. Returns how many fields there are, or -1. */
static int count_fields(const char *bytes, size_t size)
{
    uint8_t *copy = malloc(size + (size == 0));
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    struct sxt_cursor cursor = over(copy, size);
    struct sxt_protobuf_field field;
    int count = 0;
    while (sxt_protobuf_next(&cursor, &field)) {
        assert_true(field.start < field.end && field.end == cursor.at);
        count++;
    }
    free(copy);
    return cursor.failed ? -1 : count;
}

TEST(reads_back_what_is_written)
{
    sxt_protobuf_write_number(&message, 1, UINT64_MAX);
    sxt_protobuf_write_bytes(&message, 200, "abc", 3);
    sxt_protobuf_write_bytes(&message, 3, NULL, 0);
    struct sxt_cursor cursor = over(message.data, message.size);
    struct sxt_protobuf_field field;
    assert_true(sxt_protobuf_next(&cursor, &field));
    assert_true(field.number == 1 && field.wire == SXT_PROTOBUF_VARINT && field.value == UINT64_MAX);
    assert_true(field.start == 0 && field.end == 11);
    assert_true(sxt_protobuf_next(&cursor, &field));
    assert_true(field.number == 200 && field.wire == SXT_PROTOBUF_BYTES && field.size == 3);
    assert_memory_equal(field.data, "abc", 3);
    struct sxt_cursor inside = sxt_protobuf_inside(&cursor, &field);
    assert_int_equal(inside.size, 3);
    assert_int_equal(inside.base, 0x100 + field.end - 3);
    assert_true(sxt_protobuf_next(&cursor, &field));
    assert_true(field.number == 3 && field.size == 0);
    assert_false(sxt_protobuf_next(&cursor, &field));
    assert_false(cursor.failed);
}

TEST(steps_over_every_wire_type)
{
    assert_int_equal(count_fields("\x08\x01\x11"
                                  "12345678"
                                  "\x1a\x02xy\x25"
                                  "1234",
                                  20),
                     4);
    /* A group with a varint, bytes and another group in it. */
    assert_int_equal(count_fields("\x0b\x10\x01\x1a\x01z\x23\x24\x0c\x08\x07", 11), 2);
    assert_int_equal(count_fields("", 0), 0);
}

TEST(refuses_every_field_that_is_cut_off)
{
    static const char *const fields[] = {"\x08\xff\x01",
                                         "\x11"
                                         "12345678",
                                         "\x1a\x02xy",
                                         "\x25"
                                         "1234",
                                         "\x0b\x10\x01\x1a\x01z\x23\x24\x0c",
                                         "\xc2\x0c\x02xy"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        size_t whole = strlen(fields[i]);
        assert_int_equal(count_fields(fields[i], whole), 1);
        for (size_t size = 1; size < whole; size++)
            assert_int_equal(count_fields(fields[i], size), -1);
    }
}

TEST(takes_overlong_numbers_that_fit_and_no_others)
{
    uint64_t value;
    static const uint8_t overlong[] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
    static const uint8_t largest[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    static const uint8_t too_large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    static const uint8_t too_long[] = {0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
    assert_ptr_equal(sxt_protobuf_get(overlong, overlong + 10, &value), overlong + 10);
    assert_int_equal(value, 1);
    assert_ptr_equal(sxt_protobuf_get(largest, largest + 10, &value), largest + 10);
    assert_true(value == UINT64_MAX);
    assert_null(sxt_protobuf_get(too_large, too_large + 10, &value));
    assert_null(sxt_protobuf_get(too_long, too_long + 11, &value));
    assert_null(sxt_protobuf_get(overlong, overlong + 9, &value));
    assert_null(sxt_protobuf_get(overlong, overlong, &value));
}

TEST(refuses_keys_and_sizes_that_make_no_sense)
{
    assert_int_equal(count_fields("\x00\x01", 2), -1);         /* field 0 */
    assert_int_equal(count_fields("\x0e\x01", 2), -1);         /* wire type 6 */
    assert_int_equal(count_fields("\x0f\x01", 2), -1);         /* wire type 7 */
    assert_int_equal(count_fields("\x0c", 1), -1);             /* the end of no group */
    assert_int_equal(count_fields("\x0b\x14", 2), -1);         /* the end of another group */
    assert_int_equal(count_fields("\x0b\x00\x01\x0c", 4), -1); /* field 0 in a group */
    assert_int_equal(count_fields("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11), -1); /* 2^64 - 1 bytes */
}

TEST(bounds_groups_in_groups)
{
    char bytes[300];
    for (size_t depth = 99; depth <= 102; depth++) {
        memset(bytes, 0x0b, depth);
        memset(bytes + depth, 0x0c, depth);
        assert_int_equal(count_fields(bytes, 2 * depth), depth <= 100 ? 1 : -1);
    }
}
