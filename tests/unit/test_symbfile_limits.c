/*
 * test_symbfile_limits.c: where a writer begins another table, what it does with what is too large for a message, and
 * where a string is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "symbfile/symbfile.h"
#include "symbfile_image.h"

static struct sxt_buffer file;
static struct sxt_symbfile_writer *writer;

static int open_writer(void **state)
{
    (void)state;
    sxt_error error;
    sxt_buffer_init(&file, SIZE_MAX);
    return sxt_symbfile_writer_open(&writer, sxt_symbfile_to_buffer(&file), &error);
}

static int close_writer(void **state)
{
    (void)state;
    sxt_symbfile_writer_close(&writer);
    sxt_buffer_free(&file);
    return 0;
}

static void begin_again(void)
{
    close_writer(NULL);
    assert_int_equal(open_writer(NULL), SXT_OK);
}

static sxt_string view(const char *text)
{
    return (sxt_string){text, text != NULL ? strlen(text) : 0};
}

static void add_range(uint64_t address, uint64_t length, const char *function, const char *path)
{
    sxt_error error;
    struct sxt_symbfile_range range = {
        .address = address, .length = length, .function = view(function), .file = view(path)};
    if (sxt_symbfile_add_range(writer, &range, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

static void add_pad(uint64_t address, const char *function, const char *path, uint32_t line)
{
    sxt_error error;
    struct sxt_symbfile_frame frame = {view(function), view(path), line};
    struct sxt_symbfile_pad pad = {address, &frame, 1};
    if (sxt_symbfile_add_pad(writer, &pad, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

static void finish(void)
{
    sxt_error error;
    if (sxt_symbfile_writer_finish(writer, &error) != SXT_OK)
        fail_msg("%s", error.text);
    if (sxt_symbfile_verify(file.data, file.size, NULL, NULL) != 0)
        fail_msg("what was written is not a good file");
}

/* A name of SIZE letters, and a character of two bytes behind them. */
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
    begin_again();
    add_range(1, 1, name, NULL);
    finish();
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    assert_int_equal(sxt_symbfile_reader_open(&reader, file.data, file.size, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_read(reader, &record, NULL), SXT_OK);
    assert_int_equal(record.kind, SXT_SYMBFILE_RANGE);
    size_t size = record.range.function.size;
    assert_memory_equal(record.range.function.data, name, size);
    sxt_symbfile_reader_close(&reader);
    return size;
}

static void a_string_that_is_too_long_is_cut_between_characters(void **state)
{
    (void)state;
    const size_t most = SXT_SYMBFILE_STRING_MAX;
    char *name = long_name(most);
    assert_int_equal(written_name_size(name + 2), most);
    assert_int_equal(written_name_size(name + 1), most - 1);
    assert_int_equal(written_name_size(name), most);
    free(name);

    /* Bad bytes grow first, and then it is cut. */
    name = long_name(most);
    memset(name, '\xff', most);
    begin_again();
    add_range(1, 1, name, name);
    free(name);
    finish();
    assert_in_range(file.size, most, most + 100);
}

/* --- where a window ends --- */

/* How many messages of each type there are. */
static void count_messages(size_t counts[5])
{
    memset(counts, 0, 5 * sizeof *counts);
    for (size_t at = 8; at < file.size;) {
        uint64_t length = 0;
        for (unsigned shift = 0;; shift += 7) {
            length |= (uint64_t)(file.data[at] & 0x7f) << shift;
            if (file.data[at++] < 0x80)
                break;
        }
        assert_in_range(file.data[at], 1, 4);
        assert_true(length <= SXT_SYMBFILE_MESSAGE_MAX);
        counts[file.data[at]]++;
        at += 1 + length;
    }
}

static void the_record_441506_ends_a_window(void **state)
{
    (void)state;
    size_t counts[5];
    for (uint64_t i = 0; i < 441505; i++)
        add_range(i, 1, "f", NULL);
    assert_int_equal(file.size, 10);
    finish();
    count_messages(counts);
    assert_int_equal(counts[4], 1);

    begin_again();
    for (uint64_t i = 0; i < 441506; i++)
        add_range(i, 1, "f", NULL);
    assert_true(file.size > 441506);
    /* The last table is empty. */
    finish();
    count_messages(counts);
    assert_int_equal(counts[4], 2);
    assert_memory_equal(file.data + file.size - 2, "\0\4", 2);

    /* One more: it counts from the one before, and does not share its name. */
    begin_again();
    for (uint64_t i = 0; i < 441507; i++)
        add_range(i, 1, "f", NULL);
    finish();
    assert_memory_equal(file.data + file.size - 11, "\0\4\7\2\10\2\20\1\32\1f", 11);

    /* Nothing of a window is left in the next one. */
    begin_again();
    const char *name = "f";
    for (uint64_t i = 0; i < 441506; i++)
        add_range(i, 1, name, NULL);
    add_range(441506, 1, "g", NULL);
    add_range(441507, 1, name, NULL);
    finish();
    assert_memory_equal(file.data + file.size - 18, "\7\2\10\2\20\1\32\1g\7\2\10\2\20\1\32\1f", 18);
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
        add_range(i, 1, name, NULL);
        estimate -= size + 5;
    }
}

static void strings_of_16711680_bytes_end_a_window(void **state)
{
    (void)state;
    add_estimate(16711679);
    assert_int_equal(file.size, 10);
    /* A string that is there already adds nothing. */
    char known[1020];
    memset(known, 'n', 1019);
    memcpy(known, "00000000", 8);
    known[1019] = 0;
    add_range(0, 1, known, NULL);
    assert_int_equal(file.size, 10);
    finish();

    begin_again();
    add_estimate(16711680);
    assert_true(file.size > 16 << 20);
    finish();
    size_t counts[5];
    count_messages(counts);
    assert_int_equal(counts[4], 2);
}

/* A range of the two names, twice, so that both go into the table. */
static void add_twice(const char *function, const char *path)
{
    add_range(1, 1, function, path);
    add_range(2, 1, function, path);
}

static void a_window_ends_before_strings_that_a_table_has_no_room_for(void **state)
{
    (void)state;
    /* Each name is in the table in the end, so it would have 17 MiB. */
    char *names[5];
    for (size_t i = 0; i < 5; i++) {
        names[i] = long_name(SXT_SYMBFILE_STRING_MAX - 2 - (i == 4 ? 0 : 100000));
        names[i][0] = (char)('a' + i);
    }
    for (size_t i = 0; i < 4; i++)
        add_twice(names[i], NULL);
    assert_int_equal(file.size, 10);
    add_twice(names[4], NULL);
    assert_true(file.size > 12 << 20);
    finish();
    size_t counts[5];
    count_messages(counts);
    assert_int_equal(counts[4], 2);
    assert_int_equal(counts[2], 10);

    /* The same for pads. */
    begin_again();
    for (size_t i = 0; i < 4; i++)
        add_pad(i, names[i], NULL, 0);
    assert_int_equal(file.size, 10);
    add_pad(4, names[4], NULL, 0);
    finish();
    count_messages(counts);
    assert_int_equal(counts[4], 2);
    assert_int_equal(counts[3], 5);

    /* Bad bytes become three each, and then it is too much. */
    begin_again();
    for (size_t i = 0; i < 3; i++)
        add_pad(i, names[i], names[3] + (SXT_SYMBFILE_STRING_MAX >> 1), 0);
    char *bad = names[4] + SXT_SYMBFILE_STRING_MAX - 1300000;
    memset(bad, '\xff', 1299990);
    add_pad(4, bad, NULL, 0);
    finish();
    count_messages(counts);
    assert_int_equal(counts[4], 2);
    assert_int_equal(counts[3], 4);
    for (size_t i = 0; i < 5; i++)
        free(names[i]);
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
                                       .function = view("f"),
                                       .file = view("f.c"),
                                       .call_file = view("g.c"),
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
    assert_int_equal(sxt_symbfile_reader_open(&reader, file.data, file.size, NULL), SXT_OK);
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
    begin_again();
    if (sxt_symbfile_add_range(writer, range, &error) != SXT_OK)
        fail_msg("%s", error.text);
    if (sxt_symbfile_writer_finish(writer, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

static void a_line_table_that_is_too_large_is_cut_at_an_entry(void **state)
{
    (void)state;
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

static void the_largest_line_table_fills_a_message(void **state)
{
    (void)state;
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

static void only_entries_that_a_lookup_finds_are_in_the_pieces(void **state)
{
    (void)state;
    /* All pairs at one offset, and the last third behind the end. */
    struct entries entries = make_entries(9000000, 2);
    for (size_t i = 1; i < entries.count; i += 2)
        entries.lines[i].offset = entries.lines[i - 1].offset;
    struct sxt_symbfile_range range = range_with(&entries, entries.lines[6000000].offset);
    write_one(&range);
    assert_int_equal(check_pieces(&range), 1);

    /* All at one offset, and all behind the end. */
    for (size_t i = 0; i < entries.count; i++)
        entries.lines[i].offset = 4;
    range.length = 8;
    write_one(&range);
    sxt_test_assert_records(&file, "> 10000+8 f f.c < g.c:9 {4:20999}\n");
    range.length = 4;
    write_one(&range);
    sxt_test_assert_records(&file, "> 10000+4 f f.c < g.c:9\n");
    free(entries.lines);
}

static void a_pad_that_fits_in_no_message_is_refused(void **state)
{
    (void)state;
    sxt_error error;
    static struct sxt_symbfile_frame frames[SXT_SYMBFILE_FRAMES_MAX + 1];
    for (size_t i = 0; i <= SXT_SYMBFILE_FRAMES_MAX; i++)
        frames[i] = (struct sxt_symbfile_frame){view("f"), view("f.c"), UINT32_MAX};
    struct sxt_symbfile_pad pad = {1, frames, SXT_SYMBFILE_FRAMES_MAX};
    assert_int_equal(sxt_symbfile_add_pad(writer, &pad, &error), SXT_OK);
    finish();

    begin_again();
    pad.frame_count++;
    assert_int_equal(sxt_symbfile_add_pad(writer, &pad, &error), SXT_ERROR_LIMIT);
    assert_string_equal(error.text, "return pad with 65537 frames; the most is 65536");

    /* The same long name again and again takes room only once; five of them are too much. */
    begin_again();
    char *names[5];
    for (size_t i = 0; i < 5; i++) {
        names[i] = long_name(SXT_SYMBFILE_STRING_MAX - 2);
        names[i][0] = (char)('a' + i);
        frames[i].function = view(names[0]);
    }
    pad.frame_count = 5;
    assert_int_equal(sxt_symbfile_add_pad(writer, &pad, &error), SXT_OK);
    for (size_t i = 0; i < 5; i++)
        frames[i].function = view(names[i]);
    assert_int_equal(sxt_symbfile_add_pad(writer, &pad, &error), SXT_ERROR_LIMIT);
    assert_string_equal(error.text,
                        "return pad whose strings do not fit in a table: 20971553 bytes; the most is 16777216");
    for (size_t i = 0; i < 5; i++)
        free(names[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_writer, close_writer)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_string_that_is_too_long_is_cut_between_characters),
        TEST(the_record_441506_ends_a_window),
        TEST(strings_of_16711680_bytes_end_a_window),
        TEST(a_window_ends_before_strings_that_a_table_has_no_room_for),
        TEST(a_line_table_that_is_too_large_is_cut_at_an_entry),
        TEST(the_largest_line_table_fills_a_message),
        TEST(only_entries_that_a_lookup_finds_are_in_the_pieces),
        TEST(a_pad_that_fits_in_no_message_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
