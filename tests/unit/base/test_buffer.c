/* test_buffer.c: growth, the maximum to the byte, and failures that stay. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/varint.h"
#include "huge_allocations.h"
#include "support/test.h"

static void assert_content(const struct sxt_buffer *buffer, const void *bytes, size_t size)
{
    assert_int_equal(buffer->size, size);
    if (size > 0)
        assert_memory_equal(buffer->data, bytes, size);
}

TEST(holds_what_was_appended)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, 1000);
    assert_null(buffer.data);
    sxt_buffer_append(&buffer, "ab", 2);
    sxt_buffer_append(&buffer, NULL, 0);
    sxt_buffer_u8(&buffer, 0x01);
    sxt_buffer_u16le(&buffer, 0x0302);
    sxt_buffer_u32le(&buffer, 0x07060504);
    sxt_buffer_u64le(&buffer, UINT64_C(0x0f0e0d0c0b0a0908));
    sxt_buffer_varint(&buffer, 300);
    sxt_buffer_print(&buffer, "%d %s", -5, "x");
    assert_content(&buffer, "ab\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\xac\2-5 x", 23);
    assert_int_equal(sxt_buffer_status(&buffer, NULL), SXT_OK);
    sxt_buffer_free(&buffer);
}

TEST(grows_to_any_size_below_the_maximum)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, SIZE_MAX);
    size_t allocations = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = buffer.capacity;
        sxt_buffer_u32le(&buffer, i);
        allocations += buffer.capacity != before;
    }
    assert_int_equal(buffer.size, 400000);
    assert_in_range(allocations, 1, 16);
    for (uint32_t i = 0; i < 100000; i++) {
        uint8_t expected[4] = {(uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16), 0};
        assert_memory_equal(buffer.data + 4 * (size_t)i, expected, 4);
    }
    sxt_buffer_free(&buffer);
    assert_null(buffer.data);
    assert_int_equal(buffer.size, 0);
}

TEST(fills_up_to_the_maximum_and_no_further)
{
    for (size_t maximum = 0; maximum < 200; maximum++) {
        struct sxt_buffer buffer;
        sxt_buffer_init(&buffer, maximum);
        for (size_t i = 0; i < maximum; i++)
            sxt_buffer_u8(&buffer, (uint8_t)i);
        assert_false(buffer.failed);
        assert_int_equal(buffer.size, maximum);
        sxt_buffer_append(&buffer, "", 0);
        assert_false(buffer.failed);
        sxt_buffer_u8(&buffer, 0xff);
        assert_true(buffer.failed);
        assert_int_equal(buffer.size, maximum);
        for (size_t i = 0; i < maximum; i++)
            assert_int_equal(buffer.data[i], i);
        sxt_buffer_free(&buffer);
    }
}

TEST(refuses_sizes_that_wrap_around)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 2, SIZE_MAX - 3, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sxt_buffer buffer;
        sxt_buffer_init(&buffer, 100);
        sxt_buffer_append(&buffer, "abc", 3);
        assert_null(sxt_buffer_extend(&buffer, sizes[i]));
        assert_content(&buffer, "abc", 3);
        assert_int_equal(sxt_buffer_status(&buffer, NULL), SXT_ERROR_LIMIT);
        sxt_buffer_free(&buffer);
    }
}

static void append_long(struct sxt_buffer *buffer)
{
    sxt_buffer_append(buffer, "0123456789", 10);
}
static void append_u16(struct sxt_buffer *buffer)
{
    sxt_buffer_u16le(buffer, 1);
}
static void append_u32(struct sxt_buffer *buffer)
{
    sxt_buffer_u32le(buffer, 1);
}
static void append_u64(struct sxt_buffer *buffer)
{
    sxt_buffer_u64le(buffer, 1);
}
static void append_varint(struct sxt_buffer *buffer)
{
    sxt_buffer_varint(buffer, 300);
}
static void append_print(struct sxt_buffer *buffer)
{
    sxt_buffer_print(buffer, "%d", 42);
}
static void append_extend(struct sxt_buffer *buffer)
{
    assert_null(sxt_buffer_extend(buffer, 2));
}
static void append_reserve(struct sxt_buffer *buffer)
{
    assert_null(sxt_buffer_reserve(buffer, 2));
}

TEST(stays_failed_until_it_is_cleared)
{
    static void (*const appends[])(struct sxt_buffer *) = {append_long,   append_u16,   append_u32,    append_u64,
                                                           append_varint, append_print, append_extend, append_reserve};
    for (size_t i = 0; i < sizeof appends / sizeof *appends; i++) {
        struct sxt_buffer buffer;
        sxt_buffer_init(&buffer, 4);
        sxt_buffer_append(&buffer, "abc", 3);
        appends[i](&buffer);
        assert_true(buffer.failed);
        assert_content(&buffer, "abc", 3);

        sxt_buffer_u8(&buffer, 'd');
        sxt_buffer_print(&buffer, "e");
        assert_null(sxt_buffer_reserve(&buffer, 0));
        assert_null(sxt_buffer_extend(&buffer, 1));
        assert_content(&buffer, "abc", 3);

        sxt_error error;
        assert_int_equal(sxt_buffer_status(&buffer, &error), SXT_ERROR_LIMIT);
        assert_int_equal(error.code, SXT_ERROR_LIMIT);
        assert_non_null(strstr(error.text, "4 bytes"));

        sxt_buffer_clear(&buffer);
        assert_int_equal(sxt_buffer_status(&buffer, NULL), SXT_OK);
        sxt_buffer_append(&buffer, "wxyz", 4);
        assert_content(&buffer, "wxyz", 4);
        assert_false(buffer.failed);
        sxt_buffer_free(&buffer);
    }
}

TEST(says_when_memory_is_short)
{
    static const size_t sizes[] = {HUGE_SIZE, SIZE_MAX - 3, SIZE_MAX - 4};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct sxt_buffer buffer;
        sxt_buffer_init(&buffer, SIZE_MAX);
        sxt_buffer_append(&buffer, "abc", 3);
        assert_null(sxt_buffer_extend(&buffer, sizes[i]));
        assert_true(buffer.failed);
        assert_content(&buffer, "abc", 3);
        sxt_error error;
        assert_int_equal(sxt_buffer_status(&buffer, &error), SXT_ERROR_MEMORY);
        assert_int_equal(error.code, SXT_ERROR_MEMORY);
        sxt_buffer_u8(&buffer, 'd');
        assert_content(&buffer, "abc", 3);

        sxt_buffer_clear(&buffer);
        for (size_t n = 0; n < 1000; n++)
            sxt_buffer_append(&buffer, "more", 4);
        assert_int_equal(buffer.size, 4000);
        assert_int_equal(sxt_buffer_status(&buffer, NULL), SXT_OK);
        sxt_buffer_free(&buffer);
    }
}

TEST(says_when_the_first_memory_is_short)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, SIZE_MAX);
    assert_null(sxt_buffer_reserve(&buffer, HUGE_SIZE));
    assert_int_equal(sxt_buffer_status(&buffer, NULL), SXT_ERROR_MEMORY);
    size_t size = 1;
    assert_null(sxt_buffer_take(&buffer, &size));
    assert_int_equal(size, 0);
    assert_int_equal(sxt_buffer_status(&buffer, NULL), SXT_ERROR_MEMORY);
    sxt_buffer_clear(&buffer);
    sxt_buffer_u8(&buffer, 'x');
    assert_content(&buffer, "x", 1);
    sxt_buffer_free(&buffer);
}

TEST(reserves_without_changing_the_size)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, 1000);
    assert_non_null(sxt_buffer_reserve(&buffer, 0));
    sxt_buffer_append(&buffer, "ab", 2);
    uint8_t *place = sxt_buffer_reserve(&buffer, 998);
    assert_ptr_equal(place, buffer.data + 2);
    memset(place, 'z', 998);
    assert_content(&buffer, "ab", 2);
    assert_ptr_equal(sxt_buffer_extend(&buffer, 5), place);
    assert_content(&buffer, "abzzzzz", 7);
    sxt_buffer_free(&buffer);

    sxt_buffer_init(&buffer, 0);
    assert_non_null(sxt_buffer_reserve(&buffer, 0));
    assert_non_null(sxt_buffer_extend(&buffer, 0));
    assert_int_equal(buffer.size, 0);
    assert_false(buffer.failed);
    sxt_buffer_free(&buffer);
}

TEST(prints_text_of_every_length)
{
    char text[301];
    for (size_t size = 0; size < sizeof text; size++) {
        memset(text, 't', size);
        text[size] = '\0';
        struct sxt_buffer buffer;
        sxt_buffer_init(&buffer, size + 1);
        sxt_buffer_u8(&buffer, '>');
        sxt_buffer_print(&buffer, "%s", text);
        assert_false(buffer.failed);
        assert_int_equal(buffer.size, size + 1);
        assert_memory_equal(buffer.data + 1, text, size);
        sxt_buffer_print(&buffer, "%s", "");
        assert_false(buffer.failed);
        sxt_buffer_print(&buffer, "%c", 'x');
        assert_true(buffer.failed);
        assert_int_equal(buffer.size, size + 1);
        sxt_buffer_free(&buffer);
    }
}

TEST(hands_its_content_over)
{
    struct sxt_buffer buffer;
    size_t size = 99;
    sxt_buffer_init(&buffer, 100);
    assert_null(sxt_buffer_take(&buffer, &size));
    assert_int_equal(size, 0);

    sxt_buffer_append(&buffer, "content", 7);
    uint8_t *content = sxt_buffer_take(&buffer, &size);
    assert_int_equal(size, 7);
    assert_memory_equal(content, "content", 7);
    free(content);
    assert_null(buffer.data);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(buffer.capacity, 0);

    sxt_buffer_append(&buffer, "again", 5);
    assert_content(&buffer, "again", 5);
    sxt_buffer_clear(&buffer);
    assert_null(sxt_buffer_take(&buffer, &size));
    assert_int_equal(size, 0);
    sxt_buffer_free(&buffer);
}

TEST(keeps_its_memory_when_cleared)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, 1000);
    sxt_buffer_extend(&buffer, 500);
    uint8_t *data = buffer.data;
    sxt_buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_ptr_equal(sxt_buffer_extend(&buffer, 500), data);
    sxt_buffer_free(&buffer);
}
