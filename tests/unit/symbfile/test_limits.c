/*
 * test_limits.c: where a writer begins another table, what it does with what is too large for a message, and
 * where a string is cut.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/symbfile_image.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

/* A name of SIZE letters, and a character of two bytes after them. */
static char *long_name(size_t size)
{
    char *name = malloc(size + 3);
    assert_non_null(name);
    memset(name, 'n', size);
    memcpy(name + size, "\xc3\xa9", 3);
    return name;
}

static size_t written_name_size(const char *name)
{
    sxt_test_begin_again();
    sxt_test_write_range(1, 1, name, NULL);
    sxt_test_finish_file();
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    assert_int_equal(sxt_symbfile_reader_open(&reader, sxt_test_out.file.data, sxt_test_out.file.size, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_read(reader, &record, NULL), SXT_OK);
    assert_int_equal(record.kind, SXT_SYMBFILE_RANGE);
    size_t size = record.range.function.size;
    assert_memory_equal(record.range.function.data, name, size);
    sxt_symbfile_reader_close(&reader);
    return size;
}

SET_UP()
{
    sxt_test_open_writer();
}

TEAR_DOWN()
{
    sxt_test_close_writer();
}

TEST(a_string_that_is_too_long_is_cut_between_characters)
{
    const size_t most = SXT_SYMBFILE_STRING_MAX;
    char *name = long_name(most);
    assert_int_equal(written_name_size(name + 2), most);
    assert_int_equal(written_name_size(name + 1), most - 1);
    assert_int_equal(written_name_size(name), most);
    free(name);

    /* Bad bytes grow first, and then it is cut. */
    name = long_name(most);
    memset(name, '\xff', most);
    sxt_test_begin_again();
    sxt_test_write_range(1, 1, name, name);
    free(name);
    sxt_test_finish_file();
    assert_in_range(sxt_test_out.file.size, most, most + 100);
}

/* --- where a window ends --- */

/* How many messages of each type there are. */
static void count_messages(size_t counts[5])
{
    memset(counts, 0, 5 * sizeof *counts);
    for (size_t at = 8; at < sxt_test_out.file.size;) {
        uint64_t length = 0;
        for (unsigned shift = 0;; shift += 7) {
            length |= (uint64_t)(sxt_test_out.file.data[at] & 0x7f) << shift;
            if (sxt_test_out.file.data[at++] < 0x80)
                break;
        }
        assert_in_range(sxt_test_out.file.data[at], 1, 4);
        assert_true(length <= SXT_SYMBFILE_MESSAGE_MAX);
        counts[sxt_test_out.file.data[at]]++;
        at += 1 + length;
    }
}

TEST(the_record_441506_ends_a_window)
{
    size_t counts[5];
    for (uint64_t i = 0; i < 441505; i++)
        sxt_test_write_range(i, 1, "f", NULL);
    assert_int_equal(sxt_test_out.file.size, 10);
    sxt_test_finish_file();
    count_messages(counts);
    assert_int_equal(counts[4], 1);

    sxt_test_begin_again();
    for (uint64_t i = 0; i < 441506; i++)
        sxt_test_write_range(i, 1, "f", NULL);
    assert_true(sxt_test_out.file.size > 441506);
    /* The last table is empty. */
    sxt_test_finish_file();
    count_messages(counts);
    assert_int_equal(counts[4], 2);
    assert_memory_equal(sxt_test_out.file.data + sxt_test_out.file.size - 2, "\0\4", 2);

    /* One more: it counts from the one before, and does not share its name. */
    sxt_test_begin_again();
    for (uint64_t i = 0; i < 441507; i++)
        sxt_test_write_range(i, 1, "f", NULL);
    sxt_test_finish_file();
    assert_memory_equal(sxt_test_out.file.data + sxt_test_out.file.size - 11, "\0\4\7\2\10\2\20\1\32\1f", 11);

    /* Nothing of a window is left in the next one. */
    sxt_test_begin_again();
    const char *name = "f";
    for (uint64_t i = 0; i < 441506; i++)
        sxt_test_write_range(i, 1, name, NULL);
    sxt_test_write_range(441506, 1, "g", NULL);
    sxt_test_write_range(441507, 1, name, NULL);
    sxt_test_finish_file();
    assert_memory_equal(sxt_test_out.file.data + sxt_test_out.file.size - 18,
                        "\7\2\10\2\20\1\32\1g\7\2\10\2\20\1\32\1f", 18);
}

/* Adds ranges whose names take ESTIMATE bytes by the rule of the reference: 5 more than they have. */
static void add_estimate(uint64_t estimate)
{
    char name[1025];
    for (uint64_t i = 0; estimate > 0; i++) {
        size_t size = estimate >= 2048 ? 1019 : (size_t)estimate - 5;
        if (estimate < 2048 && estimate > 1024)
            size = 512;
        memset(name, 'n', size);
        size_t digits = (size_t)snprintf(name, 9, "%08u", (unsigned)i);
        name[digits] = 'n';
        name[size] = 0;
        sxt_test_write_range(i, 1, name, NULL);
        estimate -= size + 5;
    }
}

TEST(strings_of_16711680_bytes_end_a_window)
{
    add_estimate(16711679);
    assert_int_equal(sxt_test_out.file.size, 10);
    /* A string that is there already adds nothing. */
    char known[1020];
    memset(known, 'n', 1019);
    memcpy(known, "00000000", 8);
    known[1019] = 0;
    sxt_test_write_range(0, 1, known, NULL);
    assert_int_equal(sxt_test_out.file.size, 10);
    sxt_test_finish_file();

    sxt_test_begin_again();
    add_estimate(16711680);
    assert_true(sxt_test_out.file.size > 16 << 20);
    sxt_test_finish_file();
    size_t counts[5];
    count_messages(counts);
    assert_int_equal(counts[4], 2);
}

/* A range of the two names, twice, so that both go into the table. */
static void add_twice(const char *function, const char *path)
{
    sxt_test_write_range(1, 1, function, path);
    sxt_test_write_range(2, 1, function, path);
}

TEST(a_window_ends_before_strings_that_a_table_has_no_room_for)
{
    /* Each name is in the table in the end, so it would have 17 MiB. */
    char *names[5];
    for (size_t i = 0; i < 5; i++) {
        names[i] = long_name(SXT_SYMBFILE_STRING_MAX - 2 - (i == 4 ? 0 : 100000));
        names[i][0] = (char)('a' + i);
    }
    for (size_t i = 0; i < 4; i++)
        add_twice(names[i], NULL);
    assert_int_equal(sxt_test_out.file.size, 10);
    add_twice(names[4], NULL);
    assert_true(sxt_test_out.file.size > 12 << 20);
    sxt_test_finish_file();
    size_t counts[5];
    count_messages(counts);
    assert_int_equal(counts[4], 2);
    assert_int_equal(counts[2], 10);

    /* The same for pads. */
    sxt_test_begin_again();
    for (size_t i = 0; i < 4; i++)
        sxt_test_write_pad(i, names[i], NULL, 0);
    assert_int_equal(sxt_test_out.file.size, 10);
    sxt_test_write_pad(4, names[4], NULL, 0);
    sxt_test_finish_file();
    count_messages(counts);
    assert_int_equal(counts[4], 2);
    assert_int_equal(counts[3], 5);

    /* Bad bytes become three each, and then it is too much. */
    sxt_test_begin_again();
    for (size_t i = 0; i < 3; i++)
        sxt_test_write_pad(i, names[i], names[3] + (SXT_SYMBFILE_STRING_MAX >> 1), 0);
    char *bad = names[4] + SXT_SYMBFILE_STRING_MAX - 1300000;
    memset(bad, '\xff', 1299990);
    sxt_test_write_pad(4, bad, NULL, 0);
    sxt_test_finish_file();
    count_messages(counts);
    assert_int_equal(counts[4], 2);
    assert_int_equal(counts[3], 4);
    for (size_t i = 0; i < 5; i++)
        free(names[i]);
}

/* A pad whose strings take BYTES bytes in a table: four long names, and no other string. */
static int write_pad_with_table_of(size_t bytes, sxt_error *error)
{
    const size_t key_and_length = 5;
    struct sxt_symbfile_frame frames[4];
    char *names[4];
    for (size_t i = 0; i < 4; i++) {
        size_t size = (i < 3 ? SXT_SYMBFILE_STRING_MAX : bytes) - key_and_length;
        bytes -= size + key_and_length;
        names[i] = long_name(size - 2);
        names[i][0] = (char)('a' + i);
        frames[i] = (struct sxt_symbfile_frame){sxt_test_view(names[i]), sxt_test_view(names[i]), 0};
    }
    int status = sxt_symbfile_add_pad(sxt_test_out.writer, &(struct sxt_symbfile_pad){0, frames, 4}, error);
    for (size_t i = 0; i < 4; i++)
        free(names[i]);
    return status;
}

TEST(a_message_of_just_16_mib_is_written)
{
    sxt_error error;
    assert_int_equal(write_pad_with_table_of(SXT_SYMBFILE_MESSAGE_MAX, &error), SXT_OK);
    sxt_test_finish_file();
    assert_memory_equal(sxt_test_out.file.data + 10, "\x80\x80\x80\x08\x04", 5);
    size_t counts[5];
    count_messages(counts);
    assert_int_equal(counts[3], 1);

    sxt_test_begin_again();
    assert_int_equal(write_pad_with_table_of(SXT_SYMBFILE_MESSAGE_MAX + 1, &error), SXT_ERROR_LIMIT);
    assert_string_equal(error.text,
                        "return pad whose strings do not fit in a table: 16777217 bytes; the most is 16777216");
}

/* --- what is too large for a message --- */

struct entries {
    struct sxt_symbfile_line *lines;
    size_t count;
};

/* COUNT entries, STEP bytes apart, whose lines take three bytes each. */
static struct entries make_entries(size_t count, uint32_t step)
{
    struct entries entries = {calloc(count, sizeof *entries.lines), count};
    assert_non_null(entries.lines);
    for (size_t i = 0; i < count; i++)
        entries.lines[i] = (struct sxt_symbfile_line){(uint32_t)(i / 2 * 2) * step + (uint32_t)(i & 1) * step,
                                                      (uint32_t)(20000 + i % 1000)};
    return entries;
}

static struct sxt_symbfile_range range_with(const struct entries *entries, uint64_t length)
{
    return (struct sxt_symbfile_range){.address = 0x10000,
                                       .length = length,
                                       .depth = 1,
                                       .call_line = 9,
                                       .function = sxt_test_view("f"),
                                       .file = sxt_test_view("f.c"),
                                       .call_file = sxt_test_view("g.c"),
                                       .lines = entries->lines,
                                       .line_count = entries->count};
}

/* The pieces of the file lie side by side, and every entry of ENTRIES that counts is in the piece that it belongs to.
 */
static size_t check_pieces(const struct sxt_symbfile_range *whole)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    sxt_error error;
    uint64_t address = whole->address;
    size_t pieces = 0, line = 0;
    assert_int_equal(sxt_symbfile_reader_open(&reader, sxt_test_out.file.data, sxt_test_out.file.size, NULL), SXT_OK);
    for (;; pieces++) {
        if (sxt_symbfile_read(reader, &record, &error) != SXT_OK)
            fail_msg("%s", error.text);
        if (record.kind == SXT_SYMBFILE_END)
            break;
        const struct sxt_symbfile_range *piece = &record.range;
        assert_int_equal(piece->address, address);
        assert_int_equal(piece->depth, whole->depth);
        assert_int_equal(piece->call_line, whole->call_line);
        sxt_test_assert_text(piece->function, "f");
        sxt_test_assert_text(piece->file, "f.c");
        sxt_test_assert_text(piece->call_file, "g.c");
        for (size_t i = 0; i < piece->line_count; i++, line++) {
            while (line + 1 < whole->line_count && whole->lines[line + 1].offset == whole->lines[line].offset)
                line++;
            assert_int_equal(piece->address + piece->lines[i].offset, whole->address + whole->lines[line].offset);
            assert_int_equal(piece->lines[i].line, whole->lines[line].line);
            assert_true(piece->lines[i].offset < piece->length);
        }
        address += piece->length;
    }
    assert_int_equal(address, whole->address + whole->length);
    assert_true(line == whole->line_count || whole->lines[line].offset >= whole->length);
    sxt_symbfile_reader_close(&reader);
    return pieces;
}

static void write_one(const struct sxt_symbfile_range *range)
{
    sxt_error error;
    sxt_test_begin_again();
    if (sxt_symbfile_add_range(sxt_test_out.writer, range, &error) != SXT_OK)
        fail_msg("%s", error.text);
    if (sxt_symbfile_writer_finish(sxt_test_out.writer, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

TEST(a_line_table_that_is_too_large_is_cut_at_an_entry)
{
    /* 4 bytes an entry: 4 million are just enough, 9 million take three messages. */
    struct entries entries = make_entries(9000000, 2);
    entries.count = 4000000;
    struct sxt_symbfile_range range = range_with(&entries, (uint64_t)1 << 32);
    write_one(&range);
    assert_int_equal(check_pieces(&range), 1);
    range.line_count = 9000000;
    write_one(&range);
    assert_int_equal(check_pieces(&range), 3);
    free(entries.lines);
}

TEST(the_largest_line_table_fills_a_message)
{
    /* Where the cut begins to be needed, messages are nearly full. */
    struct entries entries = make_entries(4300000, 2);
    struct sxt_symbfile_range range = range_with(&entries, (uint64_t)1 << 32);
    size_t low = 4194100, high = 4194310;
    while (low + 1 < high) {
        range.line_count = low + (high - low) / 2;
        write_one(&range);
        if (check_pieces(&range) == 1)
            low = range.line_count;
        else
            high = range.line_count;
    }
    assert_in_range(low * 4, SXT_SYMBFILE_MESSAGE_MAX - 120, SXT_SYMBFILE_MESSAGE_MAX);
    free(entries.lines);
}

TEST(only_entries_that_a_lookup_finds_are_in_the_pieces)
{
    /* All pairs at one offset, and the last third after the end. */
    struct entries entries = make_entries(9000000, 2);
    for (size_t i = 1; i < entries.count; i += 2)
        entries.lines[i].offset = entries.lines[i - 1].offset;
    struct sxt_symbfile_range range = range_with(&entries, entries.lines[6000000].offset);
    write_one(&range);
    assert_int_equal(check_pieces(&range), 1);

    /* All at one offset, and all after the end. */
    for (size_t i = 0; i < entries.count; i++)
        entries.lines[i].offset = 4;
    range.length = 8;
    write_one(&range);
    sxt_test_assert_records(&sxt_test_out.file, "> 10000+8 f f.c < g.c:9 {4:20999}\n");
    range.length = 4;
    write_one(&range);
    sxt_test_assert_records(&sxt_test_out.file, "> 10000+4 f f.c < g.c:9\n");
    free(entries.lines);
}

TEST(a_pad_that_fits_in_no_message_is_refused)
{
    sxt_error error;
    static struct sxt_symbfile_frame frames[SXT_SYMBFILE_FRAMES_MAX + 1];
    for (size_t i = 0; i <= SXT_SYMBFILE_FRAMES_MAX; i++)
        frames[i] = (struct sxt_symbfile_frame){sxt_test_view("f"), sxt_test_view("f.c"), UINT32_MAX};
    struct sxt_symbfile_pad pad = {1, frames, SXT_SYMBFILE_FRAMES_MAX};
    assert_int_equal(sxt_symbfile_add_pad(sxt_test_out.writer, &pad, &error), SXT_OK);
    sxt_test_finish_file();

    sxt_test_begin_again();
    pad.frame_count++;
    assert_int_equal(sxt_symbfile_add_pad(sxt_test_out.writer, &pad, &error), SXT_ERROR_LIMIT);
    assert_string_equal(error.text, "return pad with 65537 frames; the most is 65536");

    /* The same long name again and again takes room only once; five of them are too much. */
    sxt_test_begin_again();
    char *names[5];
    for (size_t i = 0; i < 5; i++) {
        names[i] = long_name(SXT_SYMBFILE_STRING_MAX - 2);
        names[i][0] = (char)('a' + i);
        frames[i].function = sxt_test_view(names[0]);
    }
    pad.frame_count = 5;
    assert_int_equal(sxt_symbfile_add_pad(sxt_test_out.writer, &pad, &error), SXT_OK);
    for (size_t i = 0; i < 5; i++)
        frames[i].function = sxt_test_view(names[i]);
    assert_int_equal(sxt_symbfile_add_pad(sxt_test_out.writer, &pad, &error), SXT_ERROR_LIMIT);
    assert_string_equal(error.text,
                        "return pad whose strings do not fit in a table: 20971553 bytes; the most is 16777216");
    for (size_t i = 0; i < 5; i++)
        free(names[i]);
}
