/* test_check_stream.c: a file in pieces of any size is refused exactly if a reader refuses it, and in the same words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "begun_file.h"
#include "support/symbfile_image.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

struct outcome {
    struct sxt_symbfile_counts counts;
    sxt_error error;
};

static struct outcome check(const uint8_t *data, size_t size, size_t piece)
{
    struct outcome outcome = {.error = {.code = SXT_OK}};
    struct sxt_symbfile_checker *checker;
    assert_int_equal(sxt_symbfile_checker_open(&checker, NULL), SXT_OK);
    for (size_t at = 0; at < size; at += piece) {
        /* A copy of its own, so that a tool sees if it is used afterwards. */
        size_t some = size - at < piece ? size - at : piece;
        uint8_t *copy = malloc(some);
        memcpy(copy, data + at, some);
        sxt_symbfile_checker_feed(checker, copy, some, &outcome.error);
        free(copy);
    }
    sxt_symbfile_checker_finish(checker, &outcome.counts, &outcome.error);
    sxt_symbfile_checker_close(&checker);
    return outcome;
}

static struct outcome read_file(const uint8_t *data, size_t size)
{
    struct outcome outcome = {.error = {.code = SXT_OK}};
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    if (sxt_symbfile_reader_open(&reader, data, size, &outcome.error) != SXT_OK)
        return outcome;
    while (sxt_symbfile_read(reader, &record, &outcome.error) == SXT_OK && record.kind != SXT_SYMBFILE_END) {
        outcome.counts.ranges += record.kind == SXT_SYMBFILE_RANGE;
        outcome.counts.pads += record.kind == SXT_SYMBFILE_PAD;
    }
    sxt_symbfile_reader_close(&reader);
    return outcome;
}

static void assert_same(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = {1, 3, 16, SIZE_MAX / 2};
    struct outcome expected = read_file(data, size);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct outcome found = check(data, size, pieces[i]);
        assert_int_equal(found.error.code, expected.error.code);
        assert_int_equal(found.counts.ranges, expected.counts.ranges);
        assert_int_equal(found.counts.pads, expected.counts.pads);
        if (expected.error.code != SXT_OK)
            assert_string_equal(found.error.text, expected.error.text);
    }
}

static void put_sample(void)
{
    put_message(STRINGS, "0a 01 'a' 0a 03 'b.c' 0a 00");
    put_message(RANGE, "60 80 20 10 10 48 00 50 01 42 08 0a 02 00 04 12 02 05 06");
    put_message(RANGE, "08 20 10 08 1a 05 'inner' 38 01 28 07");
    put_message(PAD, "08 02 12 02 00 01 1a 02 01 02 22 02 05 06");
    put_message(STRINGS, "0a 04 'last'");
    put_message(0x7378, "41");
    put_message(99, "00 00 00");
    put_message(RANGE, "08 40 10 08 48 00");
}

TEST(agrees_with_a_reader)
{
    put_sample();
    struct outcome outcome = check(file.data, file.size, 5);
    assert_int_equal(outcome.error.code, SXT_OK);
    assert_int_equal(outcome.counts.ranges, 3);
    assert_int_equal(outcome.counts.pads, 1);
    assert_same(file.data, file.size);
}

TEST(agrees_on_every_cut)
{
    put_sample();
    for (size_t size = 0; size < file.size; size++)
        assert_same(file.data, size);
}

TEST(agrees_on_every_changed_byte)
{
    put_sample();
    static const uint8_t changes[] = {0x01, 0x80, 0xff, 0x7f};
    for (size_t at = 0; at < file.size; at++)
        for (size_t i = 0; i < sizeof changes; i++) {
            file.data[at] ^= changes[i];
            assert_same(file.data, file.size);
            file.data[at] ^= changes[i];
        }
}

TEST(refuses_as_soon_as_it_knows)
{
    struct sxt_symbfile_checker *checker;
    sxt_error error;
    assert_int_equal(sxt_symbfile_checker_open(&checker, &error), SXT_OK);
    assert_int_equal(sxt_symbfile_checker_feed(checker, "sym", 3, &error), SXT_OK);
    assert_int_equal(sxt_symbfile_checker_feed(checker, "x", 1, &error), SXT_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "not a symbfile (offset 0x0)");
    /* The first failure is sticky. */
    assert_int_equal(sxt_symbfile_checker_feed(checker, "symbfile", 8, &error), SXT_ERROR_UNSUPPORTED);
    sxt_symbfile_checker_close(&checker);
    /* A message that is too long is not waited for. */
    assert_int_equal(sxt_symbfile_checker_open(&checker, &error), SXT_OK);
    assert_int_equal(sxt_symbfile_checker_feed(checker, "symbfile\0\1\x81\x80\x80\x08", 14, &error), SXT_ERROR_FORMAT);
    sxt_symbfile_checker_close(&checker);
}

TEST(takes_a_large_message_in_pieces)
{
    enum { SIZE = 3 << 20 };
    uint8_t *body = calloc(1, SIZE);
    sxt_buffer_append(&file, "\x80\x80\xc0\x01\x63", 5);
    sxt_buffer_append(&file, body, SIZE);
    free(body);
    struct outcome outcome = check(file.data, file.size, 1000);
    assert_int_equal(outcome.error.code, SXT_OK);
    assert_int_equal(check(file.data, file.size - 1, 1000).error.code, SXT_ERROR_FORMAT);
}
