/*
 * test_hostile.c: symbfiles that were cut off, changed, or made to cost more than they are: each ends with
 * records and a failure that memory and stream agree on, in time and in memory that the size of the file justifies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "begun_file.h"
#include "support/random.h"
#include "support/symbfile_image.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

#define PATIENCE_SECONDS 8.0

/* --- memory: these come first, because they look at the memory that was ever used --- */

/* The most memory that this process has had, in KiB. */
static long peak_memory(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

TEST(a_promise_of_many_bytes_takes_no_memory)
{
    sxt_test_put_hex(&file, "80808008 02 60 01");
    long before = peak_memory();
    char *text = sxt_test_symbfile_text(file.data, file.size, 1);
    assert_string_equal(text, "! the file ends inside a message: 2 of 16777216 bytes are there (offset 0xf)\n");
    free(text);
    assert_true(peak_memory() - before < 4096);
}

/* A stream of 100 MB: a beginning, and then the same range again and again. */
struct endless {
    size_t given;
};

static int read_endless(void *context, void *to, size_t size, size_t *got, sxt_error *error)
{
    static const char beginning[] = "symbfile\0\1\5\4\12\3abc\4\2\140\1\110\0";
    static const char range[] = "\4\2\10\2\110\0";
    const size_t first = sizeof beginning - 1, each = sizeof range - 1;
    struct endless *endless = context;
    (void)error;
    if (size > 100000000 - endless->given)
        size = 100000000 - endless->given;
    for (size_t i = 0; i < size; i++, endless->given++)
        ((char *)to)[i] = endless->given < first ? beginning[endless->given] : range[(endless->given - first) % each];
    *got = size;
    return SXT_OK;
}

TEST(a_long_stream_takes_no_more_memory_than_a_short_one)
{
    struct endless endless = {0};
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    long before = peak_memory();
    uint64_t count = 0;
    assert_int_equal(sxt_symbfile_reader_open_stream(&reader, read_endless, &endless, NULL), SXT_OK);
    while (sxt_symbfile_read(reader, &record, NULL) == SXT_OK && record.kind != SXT_SYMBFILE_END)
        assert_int_equal(record.range.address, ++count);
    assert_int_equal(count, (100000000 - 23) / 6 + 1);
    sxt_symbfile_reader_close(&reader);
    assert_true(peak_memory() - before < 4096);
}

/* --- files that are cut off or changed --- */

/* Records of all kinds, two tables, unknown fields and an unknown message. Returns where each message ends. */
static size_t put_sample(size_t ends[16])
{
    size_t count = 0;
    sxt_test_begin_symbfile(&file);
    static const struct {
        uint64_t type;
        const char *body;
    } messages[] = {
        {STRINGS, "0a 04 'main' 0a 03 'a.c' 0a 00"},
        {RANGE, "60 8020 10 8002 48 00 50 01 42 0c 0a 04 00 04 8001 12 04 0a 0b ac02"},
        {RANGE, "08 10 10 20 1a 05 'inner' 22 03 'a.h' 28 0c 58 01 38 01 42 06 0a 01 00 12 01 03"},
        {9, "'later'"},
        {PAD, "08 02 12 02 00 00 1a 02 01 02 22 03 ac02 00"},
        {STRINGS, "0a 02 c3a9 78 05"},
        {RANGE, "08 8001 48 00 6b 08 05 6c 72 01 ff"},
        {PAD, "28 ffffffffffffffffff01 12 00"},
    };
    ends[count++] = file.size;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        sxt_test_put_message(&file, messages[i].type, messages[i].body);
        ends[count++] = file.size;
    }
    return count;
}

#define SAMPLE                                                                                                         \
    "1000+100 main a.c {0:10 4:11 84:300}\n> 1008+20 inner a.h < a.c:12 {0:3}\n1009 main a.c 300, main - 0\n"          \
    "1049+0 \\c3\\a9 -\nffffffffffffffff\n"

TEST(the_sample_is_good)
{
    size_t ends[16];
    put_sample(ends);
    sxt_test_assert_records(&file, SAMPLE);
}

/* The first SIZE bytes, in memory of just that size. */
static char *text_of_copy(size_t size, size_t block)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, file.data, size);
    char *text = sxt_test_symbfile_text(copy, size, block);
    free(copy);
    return text;
}

TEST(a_file_that_is_cut_off_anywhere_says_so)
{
    size_t ends[16], count = put_sample(ends), next = 0;
    for (size_t size = 0; size < file.size; size++) {
        char *text = text_of_copy(size, 0), *streamed = text_of_copy(size, 3);
        assert_string_equal(text, streamed);
        bool between = next < count && ends[next] == size;
        next += between;
        assert_int_equal(strstr(text, "! ") == NULL, between);
        assert_true(between || strstr(text, "the file ends") != NULL);
        /* What came before is as it was. */
        const char *end = strstr(text, "! ");
        assert_memory_equal(text, SAMPLE, end != NULL ? (size_t)(end - text) : strlen(text));
        assert_int_equal(sxt_symbfile_verify(file.data, size, NULL, NULL) > 0, !between);
        free(text);
        free(streamed);
    }
    assert_int_equal(next, count - 1);
}

TEST(a_file_with_any_byte_changed_is_read_or_refused)
{
    size_t ends[16];
    put_sample(ends);
    for (size_t at = 0; at < file.size; at++) {
        uint8_t right = file.data[at];
        for (unsigned value = 0; value < 256; value++) {
            file.data[at] = (uint8_t)value;
            char *text = text_of_copy(file.size, 0), *streamed = text_of_copy(file.size, 5);
            assert_string_equal(text, streamed);
            /* What a reader refuses, a check must not pass. */
            if (strstr(text, "! ") != NULL)
                assert_true(sxt_symbfile_verify(file.data, file.size, NULL, NULL) > 0);
            free(text);
            free(streamed);
        }
        file.data[at] = right;
    }
}

TEST(random_bodies_are_read_or_refused)
{
    struct sxt_test_random random = {11};
    for (unsigned round = 0; round < 20000; round++) {
        sxt_test_begin_symbfile(&file);
        sxt_test_put_message(&file, STRINGS, "0a 01 'a' 0a 01 'b'");
        for (unsigned i = 0; i < 4; i++) {
            uint32_t size = sxt_test_below(&random, 24);
            sxt_test_put_varint(&file, size);
            sxt_test_put_varint(&file, 2 + sxt_test_below(&random, 3));
            /* Small numbers, so that fields are often known and sizes often right. */
            for (uint32_t k = 0; k < size; k++)
                sxt_buffer_u8(&file, (uint8_t)(sxt_test_next(&random) >> (56 + sxt_test_below(&random, 8))));
        }
        char *text = text_of_copy(file.size, 0), *streamed = text_of_copy(file.size, 1);
        assert_string_equal(text, streamed);
        free(text);
        free(streamed);
        sxt_symbfile_verify(file.data, file.size, NULL, NULL);
    }
}

/* --- what is small and costs much --- */

TEST(groups_are_followed_a_hundred_deep)
{
    for (unsigned depth = 100; depth <= 101; depth++) {
        sxt_test_begin_symbfile(&file);
        sxt_test_put_varint(&file, 2 * depth + 5);
        sxt_test_put_hex(&file, "02 60 01 1a 01 'f'");
        for (unsigned i = 0; i < 2 * depth; i++)
            sxt_buffer_u8(&file, i < depth ? 0x6b : 0x6c);
        sxt_test_assert_records(
            &file, depth == 100 ? "1+0 f -\n" : "! range: field 13 is cut off, or cannot be skipped (offset 0x13)\n");
    }
}

TEST(many_groups_take_no_more_time_than_other_bytes)
{
    sxt_test_put_varint(&file, 16000005);
    sxt_test_put_hex(&file, "02 60 01 1a 01 'f'");
    for (unsigned i = 0; i < 16000000; i++)
        sxt_buffer_u8(&file, i % 200 < 100 ? 0x6b : 0x6c);
    double start = sxt_test_seconds();
    char *text = sxt_test_symbfile_text(file.data, file.size, 0);
    assert_string_equal(text, "1+0 f -\n");
    free(text);
    assert_true(sxt_test_seconds() - start < PATIENCE_SECONDS);
}

/* A message of the largest size, all of it BYTES again and again after BEGINNING. */
static void put_largest(uint64_t type, const char *beginning, const char *bytes)
{
    struct sxt_buffer body, part;
    sxt_buffer_init(&body, SIZE_MAX);
    sxt_buffer_init(&part, SIZE_MAX);
    sxt_test_put_hex(&body, beginning);
    sxt_test_put_hex(&part, bytes);
    while (body.size + part.size <= SXT_SYMBFILE_MESSAGE_MAX)
        sxt_buffer_append(&body, part.data, part.size);
    sxt_test_put_varint(&file, body.size);
    sxt_test_put_varint(&file, type);
    sxt_buffer_append(&file, body.data, body.size);
    sxt_buffer_free(&body);
    sxt_buffer_free(&part);
}

TEST(the_largest_messages_are_read)
{
    double start = sxt_test_seconds();
    /* 8 million empty strings, 8 million offsets that come one by one and have no lines, a list of one pad. */
    put_largest(STRINGS, "", "0a 00");
    put_largest(RANGE, "60 01 48 ffffff03", "68 05");
    char *text = sxt_test_symbfile_text(file.data, file.size, 65536);
    assert_string_equal(text, "1+0 \"\" -\n");
    free(text);

    sxt_test_begin_symbfile(&file);
    put_largest(RANGE, "60 01 1a 00", "42 02 08 00");
    text = sxt_test_symbfile_text(file.data, file.size, 0);
    assert_string_equal(text, "! line table with 4194303 offsets and 0 lines (offset 0x16)\n");
    free(text);

    sxt_test_begin_symbfile(&file);
    sxt_test_put_message(&file, STRINGS, "0a 01 'a'");
    put_largest(PAD, "28 01", "10 00 18 00 20 00");
    text = sxt_test_symbfile_text(file.data, file.size, 0);
    assert_string_equal(text, "! return pad with 2796202 frames; the most is 65536 (offset 0x14)\n");
    free(text);
    assert_true(sxt_test_seconds() - start < PATIENCE_SECONDS);
}

TEST(a_table_is_not_searched_again_for_each_reference)
{
    put_largest(STRINGS, "", "0a 00");
    sxt_test_put_message(&file, RANGE, "60 01 1a 00");
    for (unsigned i = 0; i < 300000; i++)
        sxt_test_put_message(&file, RANGE, "08 00 48 feffff03 50 fdffff03");
    double start = sxt_test_seconds();
    assert_int_equal(sxt_symbfile_verify(file.data, file.size, NULL, NULL), 0);
    assert_true(sxt_test_seconds() - start < PATIENCE_SECONDS);
}
