/* test_write.c: the bytes of a symbfile, what goes into its tables, where it is cut, and what it refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/random.h"
#include "support/symbfile_image.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

#define BEGINNING "'symbfile' 00 01 "

static void assert_file(const char *text)
{
    sxt_test_finish_file();
    sxt_test_assert_hex(&sxt_test_out.file, text);
}

/* --- fields --- */

SET_UP()
{
    sxt_test_open_writer();
}

TEAR_DOWN()
{
    sxt_test_close_writer();
}

TEST(an_empty_file_has_a_header_and_a_table)
{
    assert_file("73796d6266696c65 0001 0004");
}

TEST(all_fields_of_a_range_stand_in_the_order_of_the_reference)
{
    const struct sxt_symbfile_line lines[] = {{0, 10}, {4, 300}, {4, 11}, {0x84, 0}};
    struct sxt_symbfile_range range = {
        0x401000, 0x1000, 2, 7, sxt_test_view("f"), sxt_test_view("f.c"), sxt_test_view("main.c"), lines, 4, false};
    assert_int_equal(sxt_symbfile_add_range(sxt_test_out.writer, &range, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_writer_finish(sxt_test_out.writer, NULL), SXT_OK);
    sxt_test_assert_hex(&sxt_test_out.file,
                        BEGINNING "00 04 2c 02"
                                  "60 80a08002  10 8020  1a 01 'f'  22 03 'f.c'  28 07  32 06 'main.c'  38 02"
                                  "42 0e  0a 05 00 04 00 80 01  12 05 0a ac 02 0b 00");
}

TEST(zeros_and_unknown_things_are_left_out_but_not_a_choice)
{
    sxt_test_write_range(0, 0, "", NULL);
    assert_file(BEGINNING "00 04  04 02 60 00 1a 00");

    /* The same address again, and strings that are first in the table. */
    sxt_test_begin_again();
    sxt_test_write_range(5, 1, "f", "f");
    sxt_test_write_range(5, 1, "f", "");
    assert_file(BEGINNING "03 04 0a 01 'f'  08 02 60 05 10 01 48 00 50 00  08 02 08 00 10 01 48 00 22 00");
}

TEST(a_pad_has_its_strings_in_the_table_and_its_lists_packed)
{
    const struct sxt_symbfile_frame frames[] = {{sxt_test_view("main"), sxt_test_view("m.c"), 300},
                                                {sxt_test_view("inner"), sxt_test_view(NULL), 0},
                                                {sxt_test_view("main"), sxt_test_view("m.c"), 5}};
    struct sxt_symbfile_pad pad = {0x1004, frames, 3};
    assert_int_equal(sxt_symbfile_add_pad(sxt_test_out.writer, &pad, NULL), SXT_OK);
    /* Used twice: main, m.c; then those that pads force in, functions before files: inner, "". */
    assert_file(BEGINNING "14 04 0a 04 'main' 0a 03 'm.c' 0a 05 'inner' 0a 00"
                          "13 03 28 8420  12 03 00 02 00  1a 03 01 03 01  22 04 ac02 00 05");
}

TEST(a_pad_without_frames_is_only_an_address)
{
    struct sxt_symbfile_pad pad = {7, NULL, 0};
    assert_int_equal(sxt_symbfile_add_pad(sxt_test_out.writer, &pad, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_writer_finish(sxt_test_out.writer, NULL), SXT_OK);
    sxt_test_assert_hex(&sxt_test_out.file, BEGINNING "00 04 02 03 28 07");
}

/* --- addresses --- */

TEST(a_delta_counts_from_the_record_before_of_either_kind)
{
    sxt_test_write_range(0x1000, 1, "a", NULL);
    sxt_test_write_pad(0x1010, "p", NULL, 1);
    sxt_test_write_range(0x0ff0, 1, "b", NULL);
    sxt_test_write_range(0x0ff0, 1, "c", NULL);
    assert_file(BEGINNING "05 04 0a 01 'p' 0a 00"
                          "08 02 60 8020 10 01 1a 01 'a'"
                          "0b 03 08 20 12 01 00 1a 01 01 22 01 01"
                          "07 02 08 3f 10 01 1a 01 'b'"
                          "07 02 08 00 10 01 1a 01 'c'");
}

TEST(a_delta_that_does_not_fit_is_a_whole_address)
{
    const uint64_t half = UINT64_C(1) << 63;
    sxt_test_write_range(0, 1, "a", NULL);
    sxt_test_write_range(half - 1, 1, "b", NULL);          /* the largest delta */
    sxt_test_write_range(UINT64_MAX, 1, "c", NULL);        /* one too much */
    sxt_test_write_range(UINT64_MAX - half, 1, "d", NULL); /* the smallest delta */
    sxt_test_write_range(UINT64_MAX, 1, "e", NULL);        /* one too much, again */
    sxt_test_write_range(UINT64_MAX - half - 1, 1, "f", NULL);
    assert_file(BEGINNING "00 04"
                          "07 02 60 00 10 01 1a 01 'a'"
                          "10 02 08 feffffffffffffffff01 10 01 1a 01 'b'"
                          "10 02 60 ffffffffffffffffff01 10 01 1a 01 'c'"
                          "10 02 08 ffffffffffffffffff01 10 01 1a 01 'd'"
                          "10 02 60 ffffffffffffffffff01 10 01 1a 01 'e'"
                          "0f 02 60 feffffffffffffff7f 10 01 1a 01 'f'");
}

/* --- which strings go into the table --- */

TEST(strings_used_twice_go_into_the_table_and_those_of_pads)
{
    sxt_test_write_range(1, 1, "abc", NULL);
    sxt_test_write_pad(2, "xyz", "abc", 0);
    sxt_test_write_range(3, 1, "bcd", NULL);
    assert_file(BEGINNING "0a 04 0a 03 'abc' 0a 03 'xyz'"
                          "06 02 60 01 10 01 48 00"
                          "0b 03 08 02 12 01 01 1a 01 00 22 01 00"
                          "09 02 08 02 10 01 1a 03 'bcd'");
}

TEST(the_table_is_in_the_order_of_first_use)
{
    sxt_test_write_pad(1, "once", "z", 0);
    sxt_test_write_range(2, 1, "y", "x");
    sxt_test_write_pad(3, "w", "", 0);
    sxt_test_write_range(4, 1, "x", "y");
    sxt_test_write_pad(5, "z", "", 0);
    /* Used twice, by first use: z, y, x, ""; then once by pads: once, w. */
    assert_file(BEGINNING "14 04 0a 01 'z' 0a 01 'y' 0a 01 'x' 0a 00 0a 04 'once' 0a 01 'w'"
                          "0b 03 28 01 12 01 04 1a 01 00 22 01 00"
                          "08 02 08 02 10 01 48 01 50 02"
                          "0b 03 08 02 12 01 05 1a 01 03 22 01 00"
                          "08 02 08 02 10 01 48 02 50 01"
                          "0b 03 08 02 12 01 00 1a 01 03 22 01 00");
}

TEST(strings_are_what_they_say_not_where_they_lie)
{
    char name[] = "aaaa", same[] = "aaaa";
    sxt_test_write_range(1, 1, name, NULL);
    memcpy(name, "bbbb", 4);
    sxt_test_write_range(2, 1, name, NULL);
    sxt_test_write_range(3, 1, same, NULL);
    assert_file(BEGINNING "06 04 0a 04 'aaaa'"
                          "06 02 60 01 10 01 48 00"
                          "0a 02 08 02 10 01 1a 04 'bbbb'"
                          "06 02 08 02 10 01 48 00");
}

TEST(bytes_that_are_not_utf8_become_replacement_characters)
{
    sxt_test_write_range(1, 1, "a\xff", "\xc3\xa9\xed\xa0\x80");
    sxt_test_write_range(2, 1, "a\xfe", "b\xc3");
    /* Both names are now one string. A surrogate has three bad bytes. */
    assert_file(BEGINNING "06 04 0a 04 61 efbfbd"
                          "13 02 60 01 10 01 48 00 22 0b c3a9 efbfbd efbfbd efbfbd"
                          "0c 02 08 02 10 01 48 00 22 04 62 efbfbd");
}

/* --- failures --- */

TEST(lines_in_disorder_are_refused_and_so_is_all_that_follows)
{
    sxt_error error;
    const struct sxt_symbfile_line lines[] = {{4, 1}, {3, 2}};
    struct sxt_symbfile_range range = {.length = 8, .function = sxt_test_view("f"), .lines = lines, .line_count = 2};
    assert_int_equal(sxt_symbfile_add_range(sxt_test_out.writer, &range, &error), SXT_ERROR_USAGE);
    assert_string_equal(error.text, "line entry at offset 3 comes after one at offset 4");
    range.line_count = 1;
    error.text[0] = 0;
    assert_int_equal(sxt_symbfile_add_range(sxt_test_out.writer, &range, &error), SXT_ERROR_USAGE);
    assert_string_equal(error.text, "line entry at offset 3 comes after one at offset 4");
    struct sxt_symbfile_pad pad = {0};
    assert_int_equal(sxt_symbfile_add_pad(sxt_test_out.writer, &pad, NULL), SXT_ERROR_USAGE);
    assert_int_equal(sxt_symbfile_writer_finish(sxt_test_out.writer, NULL), SXT_ERROR_USAGE);
    assert_int_equal(sxt_test_out.file.size, 10);
}

/* A sink that has room for *CONTEXT bytes. */
static int write_limited(void *context, const void *data, size_t size, sxt_error *error)
{
    size_t *room = context;
    (void)data;
    (void)error;
    if (size > *room)
        return SXT_ERROR_IO;
    *room -= size;
    return SXT_OK;
}

TEST(a_sink_that_fails_is_not_overlooked)
{
    sxt_error error;
    struct sxt_symbfile_writer *other;
    size_t room = 9;
    assert_int_equal(sxt_symbfile_writer_open(&other, (struct sxt_symbfile_sink){write_limited, &room}, &error),
                     SXT_ERROR_IO);
    assert_null(other);

    room = 11;
    assert_int_equal(sxt_symbfile_writer_open(&other, (struct sxt_symbfile_sink){write_limited, &room}, &error),
                     SXT_OK);
    assert_int_equal(sxt_symbfile_writer_finish(other, &error), SXT_ERROR_IO);
    assert_int_equal(error.code, SXT_ERROR_IO);
    assert_int_equal(sxt_symbfile_writer_finish(other, &error), SXT_ERROR_IO);
    sxt_symbfile_writer_close(&other);

    /* While records are added, too: 300,000 bytes are more than a writer keeps. */
    room = 300000;
    assert_int_equal(sxt_symbfile_writer_open(&other, (struct sxt_symbfile_sink){write_limited, &room}, &error),
                     SXT_OK);
    struct sxt_symbfile_range range = {.length = 1, .function = sxt_test_view("f")};
    int status = SXT_OK;
    for (size_t i = 0; i < 441506; i++) {
        assert_int_equal(status, SXT_OK);
        status = sxt_symbfile_add_range(other, &range, &error);
    }
    assert_int_equal(status, SXT_ERROR_IO);
    sxt_symbfile_writer_close(&other);
}

TEST(a_file_appears_through_an_output)
{
    char path[] = "/tmp/sextant-symbfile-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct sxt_output output;
    struct sxt_symbfile_writer *other;
    assert_int_equal(sxt_output_open(&output, path, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_writer_open(&other, sxt_symbfile_to_output(&output), NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_writer_finish(other, NULL), SXT_OK);
    sxt_symbfile_writer_close(&other);
    assert_int_equal(sxt_output_commit(&output, NULL), SXT_OK);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    char bytes[20];
    assert_int_equal(fread(bytes, 1, sizeof bytes, in), 12);
    assert_memory_equal(bytes, "symbfile\0\1\0\4", 12);
    fclose(in);
    unlink(path);
}

/* --- the same again --- */

static void add_random(struct sxt_test_random *random, size_t count)
{
    static const char *const names[] = {"a", "b", "cc", "ddd", "", "\xc3\xa9", "long_name_of_a_function", "x.c", "y.c"};
    struct sxt_symbfile_line lines[8];
    struct sxt_symbfile_frame frames[4];
    for (size_t i = 0; i < count; i++) {
        uint64_t address = sxt_test_next(random) >> sxt_test_below(random, 60);
        if (sxt_test_below(random, 2) == 0) {
            uint32_t frame_count = 1 + sxt_test_below(random, 4);
            for (uint32_t k = 0; k < frame_count; k++)
                frames[k] = (struct sxt_symbfile_frame){sxt_test_view(names[sxt_test_below(random, 9)]),
                                                        sxt_test_view(names[sxt_test_below(random, 9)]),
                                                        sxt_test_below(random, 1000)};
            struct sxt_symbfile_pad pad = {address, frames, frame_count};
            assert_int_equal(sxt_symbfile_add_pad(sxt_test_out.writer, &pad, NULL), SXT_OK);
            continue;
        }
        uint32_t line_count = sxt_test_below(random, 9), offset = 0;
        for (uint32_t k = 0; k < line_count; k++)
            lines[k] = (struct sxt_symbfile_line){offset += sxt_test_below(random, 300), sxt_test_below(random, 70000)};
        struct sxt_symbfile_range range = {.address = address,
                                           .length = sxt_test_next(random) >> 40,
                                           .depth = sxt_test_below(random, 4),
                                           .call_line = sxt_test_below(random, 400),
                                           .function = sxt_test_view(names[sxt_test_below(random, 9)]),
                                           .lines = lines,
                                           .line_count = line_count};
        if (sxt_test_below(random, 2) == 0)
            range.file = sxt_test_view(names[sxt_test_below(random, 9)]);
        if (sxt_test_below(random, 2) == 0)
            range.call_file = sxt_test_view(names[sxt_test_below(random, 9)]);
        assert_int_equal(sxt_symbfile_add_range(sxt_test_out.writer, &range, NULL), SXT_OK);
    }
}

/* Reads the file and writes what it has once more. */
static void copy_file(const uint8_t *data, size_t size)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    assert_int_equal(sxt_symbfile_reader_open(&reader, data, size, NULL), SXT_OK);
    for (;;) {
        assert_int_equal(sxt_symbfile_read(reader, &record, NULL), SXT_OK);
        if (record.kind == SXT_SYMBFILE_END)
            break;
        int status = record.kind == SXT_SYMBFILE_RANGE
                         ? sxt_symbfile_add_range(sxt_test_out.writer, &record.range, NULL)
                         : sxt_symbfile_add_pad(sxt_test_out.writer, &record.pad, NULL);
        assert_int_equal(status, SXT_OK);
    }
    sxt_symbfile_reader_close(&reader);
}

TEST(the_same_records_give_the_same_bytes)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sxt_test_random random = {seed};
        sxt_test_begin_again();
        add_random(&random, 1000);
        assert_int_equal(sxt_symbfile_writer_finish(sxt_test_out.writer, NULL), SXT_OK);
        size_t size;
        uint8_t *first = sxt_buffer_take(&sxt_test_out.file, &size);
        sxt_test_begin_again();
        random.state = seed;
        add_random(&random, 1000);
        assert_int_equal(sxt_symbfile_writer_finish(sxt_test_out.writer, NULL), SXT_OK);
        assert_int_equal(sxt_test_out.file.size, size);
        assert_memory_equal(sxt_test_out.file.data, first, size);

        /* And so do records that were read. */
        sxt_test_begin_again();
        copy_file(first, size);
        assert_int_equal(sxt_symbfile_writer_finish(sxt_test_out.writer, NULL), SXT_OK);
        assert_int_equal(sxt_test_out.file.size, size);
        assert_memory_equal(sxt_test_out.file.data, first, size);
        free(first);
    }
}
