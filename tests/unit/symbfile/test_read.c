/*
 * test_read.c: what a reader takes, from memory and from streams alike: the reference's files, and all that
 * protobuf allows beside; what it refuses, and in which words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "begun_file.h"
#include "support/symbfile_image.h"
#include "support/test.h"
#include "symbfile/fields.h"
#include "symbfile/symbfile.h"

static void put(const char *text)
{
    sxt_test_put_hex(&file, text);
}

/* The file reads as EXPECTED; it begins anew. */
static void assert_records(const char *expected)
{
    sxt_test_assert_records(&file, expected);
    sxt_test_begin_symbfile(&file);
}

/* A file of nothing but the bytes of TEXT. */
static void assert_bytes(const char *text, const char *expected)
{
    sxt_buffer_clear(&file);
    put(text);
    assert_records(expected);
}

/* A file whose only record is a range with the body TEXT. */
static void assert_range(const char *text, const char *expected)
{
    put_message(STRINGS, "0a 01 'a' 0a 01 'b' 0a 00");
    put_message(RANGE, text);
    assert_records(expected);
}

static void assert_pad(const char *text, const char *expected)
{
    put_message(STRINGS, "0a 01 'a' 0a 01 'b' 0a 00");
    put_message(PAD, text);
    assert_records(expected);
}

/* --- integers --- */

static void assert_number(const char *text, size_t size, uint64_t value)
{
    struct sxt_buffer bytes;
    sxt_buffer_init(&bytes, SIZE_MAX);
    sxt_test_put_hex(&bytes, text);
    uint64_t found = 0;
    const uint8_t *end = sxt_protobuf_get(bytes.data, bytes.data + bytes.size, &found);
    assert_int_equal(end != NULL ? (size_t)(end - bytes.data) : 0, size);
    if (size > 0)
        assert_int_equal(found, value);
    sxt_buffer_free(&bytes);
}

TEST(numbers_have_seven_bits_a_byte)
{
    assert_number("95 9a ef 3a", 4, 123456789);
    assert_number("ff ff ff ff ff ff ff ff ff 01", 10, UINT64_MAX);
    assert_number("80 02", 2, 256);
    assert_number("7f", 1, 127);
    assert_number("7f 80", 1, 127);
    assert_number("00", 1, 0);
    /* Longer than they need to be. */
    assert_number("85 00", 2, 5);
    assert_number("85 80 00 ff", 3, 5);
    assert_number("85 80 80 80 80 80 80 80 80 00", 10, 5);
    /* Cut off, too long, too large. */
    assert_number("e5 8e a6", 0, 0);
    assert_number("80", 0, 0);
    assert_number("80 80 80 80 80 80 80 80 80 80 00", 0, 0);
    assert_number("ff ff ff ff ff ff ff ff ff 02", 0, 0);
    uint64_t value;
    assert_null(sxt_protobuf_get((const uint8_t *)"", (const uint8_t *)"", &value));
}

TEST(numbers_take_as_many_bytes_as_they_need)
{
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t value = UINT64_C(1) << bit, i = 0; i < 2; i++, value = (UINT64_C(2) << bit) - 1) {
            uint8_t bytes[SXT_VARINT_MAX];
            uint64_t back;
            size_t size = (size_t)(sxt_protobuf_put(bytes, value) - bytes);
            assert_int_equal(size, bit / 7 + 1);
            assert_int_equal(sxt_protobuf_size(value), size);
            assert_ptr_equal(sxt_protobuf_get(bytes, bytes + size, &back), bytes + size);
            assert_int_equal(back, value);
        }
    assert_int_equal(sxt_protobuf_size(0), 1);
}

/* --- the beginning of a file, and of a message --- */

TEST(a_file_begins_with_magic_and_header)
{
    assert_bytes("", "! the file ends inside the magic, after 0 bytes (offset 0x0)\n");
    assert_bytes("'symbfil'", "! the file ends inside the magic, after 7 bytes (offset 0x7)\n");
    assert_bytes("'symbfilf' 0001", "! not a symbfile (offset 0x0)\n");
    assert_bytes("'elf'", "! not a symbfile (offset 0x0)\n");
    assert_bytes("'symbfile'", "! the file ends after the magic, without a header (offset 0x8)\n");
    assert_bytes("'symbfile' 00", "! the file ends between the length of a message and its type (offset 0x9)\n");
    assert_bytes("'symbfile' 0002", "! the first message is of type 2, and not a header (offset 0x8)\n");
    assert_bytes("'symbfile' 0004", "! the first message is of type 4, and not a header (offset 0x8)\n");
    assert_bytes("'symbfile' 0009", "! the first message is of type 9, and not a header (offset 0x8)\n");
    assert_bytes("'symbfile' 0001", "");
    assert_bytes("'symbfile' 00010004", "");
    /* What later versions might put there. */
    assert_bytes("'symbfile' 0301 0a0178", "");

    assert_true(sxt_symbfile_is((const uint8_t *)"symbfile", 8));
    assert_false(sxt_symbfile_is((const uint8_t *)"symbfile", 7));
    assert_false(sxt_symbfile_is((const uint8_t *)"symbfilE", 8));
    struct sxt_symbfile_reader *reader;
    assert_int_equal(sxt_symbfile_reader_open(&reader, (const uint8_t *)"\177ELF....", 8, NULL), SXT_ERROR_UNSUPPORTED);
    assert_int_equal(sxt_symbfile_reader_open(&reader, NULL, 0, NULL), SXT_ERROR_FORMAT);
}

TEST(types_of_messages)
{
    put_message(HEADER, "");
    assert_records("! a second header (offset 0xa)\n");
    put_message(0, "");
    assert_records("! not a message type: 0 (offset 0xa)\n");
    put_message(0x80000000, "");
    assert_records("! not a message type: 2147483648 (offset 0xa)\n");
    /* Others are for later versions, and skipped by their length, whatever is in them. */
    put_message(5, "");
    put_message(RANGE, "6001 1a01'f'");
    put_message(7, "00 01 ff ff ff");
    put_message(0x7fffffff, "01 02 60");
    put_message(RANGE, "0802 1a01'g'");
    assert_records("1+0 f -\n2+0 g -\n");
}

TEST(the_end_comes_between_messages_only)
{
    put("05");
    assert_records("! the file ends between the length of a message and its type (offset 0xb)\n");
    put("85");
    assert_records("! the file ends inside the length of a message (offset 0xa)\n");
    put("05 80 80");
    assert_records("! the file ends inside the type of a message (offset 0xb)\n");
    put("05 02");
    assert_records("! the file ends inside a message: 0 of 5 bytes are there (offset 0xc)\n");
    put("05 02 60 01 1a 01");
    assert_records("! the file ends inside a message: 4 of 5 bytes are there (offset 0xc)\n");
    put("80808080808080808080 00");
    assert_records("! the length of a message does not fit in 64 bits (offset 0xa)\n");
    put("00 ffffffffffffffffff02");
    assert_records("! the type of a message does not fit in 64 bits (offset 0xb)\n");
    put("81808008 02");
    assert_records("! message of 16777217 bytes; the most is 16777216 (offset 0xa)\n");
    put("80808008 02");
    assert_records("! the file ends inside a message: 0 of 16777216 bytes are there (offset 0xf)\n");
    /* A length and a type that are longer than they need to be. */
    put("858000 828000 60 01 1a 01 'f'");
    assert_records("1+0 f -\n");
}

/* --- ranges --- */

TEST(all_fields_of_a_range)
{
    assert_range("60 8020 10 40 1a 01 'f' 22 03 'f.c' 28 07 32 03 'g.c' 38 02 42 0a 0a 03 00 04 8001 12 03 0a 0b ac02",
                 "! line table: a field is cut off, or has a number that does not fit in 64 bits (offset 0x32)\n");
    assert_range("60 8020 10 40 1a 01 'f' 22 03 'f.c' 28 07 32 03 'g.c' 38 02 42 0c 0a 04 00 04 8001 12 04 0a 0b ac02",
                 ">> 1000+40 f f.c < g.c:7 {0:10 4:11 84:300}\n");
    assert_range("60 01 48 00 50 01 58 02", "1+0 a b < \"\":0\n");
    assert_range("60 01 1a 00 22 00 32 00", "1+0 \"\" \"\" < \"\":0\n");
}

TEST(fields_may_come_in_any_order_and_the_last_one_counts)
{
    assert_range("42 06 12 01 05 0a 01 03 38 01 38 02 58 00 32 01 'c' 28 01 28 09 22 01 'x' 50 01 48 01 1a 01 'f'"
                 "10 05 10 06 08 02 60 07",
                 ">> 7+6 f b < c:9 {3:5}\n");
    /* A whole address and a delta are one field, too. */
    put_message(RANGE, "60 8020 1a 01 'f'");
    put_message(RANGE, "60 07 08 02 1a 01 'g'");
    put_message(RANGE, "08 02 60 07 1a 01 'h'");
    assert_records("1000+0 f -\n1001+0 g -\n7+0 h -\n");
    /* Lists go on where they ended. */
    assert_range("60 01 1a 01 'f' 42 06 0a 01 01 12 01 05 42 08 0a 02 02 03 12 02 06 07", "1+0 f - {1:5 3:6 6:7}\n");
}

TEST(lists_may_be_packed_or_not)
{
    assert_range("60 01 1a 01 'f' 42 0d 08 01 08 02 10 05 10 06 0a 01 03 10 07", "1+0 f - {1:5 3:6 6:7}\n");
    assert_range("60 01 1a 01 'f' 42 00", "1+0 f -\n");
    assert_range("60 01 1a 01 'f' 42 04 0a 00 12 00", "1+0 f -\n");
    assert_pad("28 01 10 00 18 01 20 05 12 01 01 1a 01 02 22 02 8600", "1 a b 5, b - 6\n");
}

TEST(numbers_are_cut_to_the_size_of_their_field)
{
    assert_range("60 01 1a 01 'f' 28 81808080f0ffffffff01 38 8180808010", "> 1+0 f - < -:1\n");
    assert_range("60 01 48 8180808010", "1+0 b -\n");
    /* A length has 64 bits. */
    assert_range("60 01 1a 01 'f' 10 80808080808001", "1+40000000000 f -\n");
}

TEST(unknown_fields_are_skipped)
{
    /* Each wire type, with numbers near and far; groups in groups. */
    assert_range("68 ac02 72 03 010203 79 0102030405060708 8501 01020304 60 01 1a 01 'f' f8ffffff0f 05", "1+0 f -\n");
    assert_range("60 01 6b 08 01 6b 6c 12 01 ff 6c 1a 01 'f'", "1+0 f -\n");
    assert_range("60 01 1a 01 'f' 42 08 18 05 0a 01 01 12 01 02", "1+0 f - {1:2}\n");
    assert_pad("28 01 32 02 ffff 12 01 00 1a 01 01 22 01 05", "1 a b 5\n");
    put_message(STRINGS, "10 05 0a 01 'a' 1a 00 0a 01 'b'");
    put_message(RANGE, "60 01 48 01");
    assert_records("1+0 b -\n");
}

TEST(fields_that_cannot_be_are_refused)
{
    assert_range("60 01 1a 01 'f' 12 01 05", "! range: field 2 cannot be of wire type 2 (offset 0x1c)\n");
    assert_range("60 01 1d 00000000", "! range: field 3 cannot be of wire type 5 (offset 0x19)\n");
    assert_range("60 01 40 01", "! range: field 8 cannot be of wire type 0 (offset 0x19)\n");
    assert_range("60 01 05", "! range: a field without a valid number (offset 0x19)\n");
    assert_range("60 01 00 00", "! range: a field without a valid number (offset 0x19)\n");
    assert_range("60 01 f8ffffffff01 05", "! range: a field without a valid number (offset 0x1e)\n");
    assert_range("60 01 6e", "! range: field 13 is cut off, or cannot be skipped (offset 0x19)\n");
    assert_range("60 01 6c", "! range: field 13 is cut off, or cannot be skipped (offset 0x19)\n");
    assert_range("60 01 6b 74", "! range: field 13 is cut off, or cannot be skipped (offset 0x19)\n");
    assert_range("60 01 6b", "! range: field 13 is cut off, or cannot be skipped (offset 0x19)\n");
    assert_range("60 01 6b 00 6c", "! range: field 13 is cut off, or cannot be skipped (offset 0x19)\n");
    assert_range("60 01 72 05 00", "! range: field 14 is cut off, or cannot be skipped (offset 0x19)\n");
    assert_range("60 80", "! range: a field is cut off, or has a number that does not fit in 64 bits (offset 0x17)\n");
    assert_range("60 01 80",
                 "! range: a field is cut off, or has a number that does not fit in 64 bits (offset 0x18)\n");
    assert_range("60 01 1a 02 'f'",
                 "! range: a field is cut off, or has a number that does not fit in 64 bits (offset 0x19)\n");
    assert_range("60 01 1a ffffffffffffffffff01 'f'",
                 "! range: a field is cut off, or has a number that does not fit in 64 bits (offset 0x19)\n");
    assert_pad("28 01 12 02 80 80",
               "! return pad: a field is cut off, or has a number that does not fit in 64 bits (offset 0x1a)\n");
    assert_pad("28 01 15 00000000", "! return pad: field 2 cannot be of wire type 5 (offset 0x19)\n");
    put_message(STRINGS, "08 01");
    assert_records("! string table: field 1 cannot be of wire type 0 (offset 0xd)\n");
}

TEST(a_range_needs_an_address_and_a_function)
{
    assert_range("", "! range without an address (offset 0x16)\n");
    assert_range("10 05 1a 01 'f'", "! range without an address (offset 0x16)\n");
    assert_range("60 05", "! range without a function (offset 0x16)\n");
    assert_range("08 05 1a 01 'f'",
                 "! range: the first address of the file is relative to one before it (offset 0x17)\n");
    assert_pad("", "! return pad without an address (offset 0x16)\n");
    assert_pad("08 05", "! return pad: the first address of the file is relative to one before it (offset 0x17)\n");
    assert_pad("28 05", "5\n");
}

TEST(addresses_go_on_from_record_to_record)
{
    put_message(STRINGS, "0a 01 'a' 0a 00");
    put_message(RANGE, "60 8020 1a 01 'f'");
    put_message(PAD, "08 20 12 01 00 1a 01 01 22 01 00");
    put_message(STRINGS, "0a 01 'b'");
    put_message(RANGE, "08 3f 48 00");
    /* Beyond the last address it begins again at the first. */
    put_message(RANGE, "60 ffffffffffffffffff01 1a 01 'x'");
    put_message(RANGE, "08 06 1a 01 'y'");
    put_message(RANGE, "08 05 1a 01 'z'");
    assert_records("1000+0 f -\n1010 a - 0\nff0+0 b -\nffffffffffffffff+0 x -\n2+0 y -\nffffffffffffffff+0 z -\n");
}

TEST(lists_of_different_lengths_are_refused)
{
    assert_range("60 01 1a 01 'f' 42 07 0a 02 01 02 12 01 05",
                 "! line table with 2 offsets and 1 lines (offset 0x1f)\n");
    assert_range("60 01 1a 01 'f' 42 03 12 01 05", "! line table with 0 offsets and 1 lines (offset 0x1f)\n");
    assert_pad("28 01 12 01 00 1a 01 01", "! return pad with 1 functions, 1 files and 0 lines (offset 0x16)\n");
    assert_pad("28 01 12 01 00 22 01 01", "! return pad with 1 functions, 0 files and 1 lines (offset 0x16)\n");
    assert_pad("28 01 1a 01 00 22 01 01", "! return pad with 0 functions, 1 files and 1 lines (offset 0x16)\n");
}

TEST(offsets_of_lines_add_up_to_32_bits)
{
    assert_range("60 01 1a 01 'f' 42 0c 0a 06 feffffff0f 01 12 02 05 06", "1+0 f - {fffffffe:5 ffffffff:6}\n");
    assert_range("60 01 1a 01 'f' 42 0c 0a 06 feffffff0f 02 12 02 05 06",
                 "! line table: the offsets add up to 4294967296, which does not fit in 32 bits (offset 0x1f)\n");
}

/* --- strings --- */

TEST(references_lead_into_the_last_table)
{
    assert_range("60 01 48 03", "! range: string 3 of a table that has 3 (offset 0x19)\n");
    assert_range("60 01 48 00 50 03", "! range: string 3 of a table that has 3 (offset 0x1b)\n");
    assert_range("60 01 48 00 58 ffffffff0f", "! range: string 4294967295 of a table that has 3 (offset 0x1b)\n");
    assert_pad("28 01 12 02 00 03 1a 02 00 00 22 02 00 00",
               "! return pad: string 3 of a table that has 3 (offset 0x1a)\n");
    assert_pad("28 01 12 02 00 00 1a 02 00 03 22 02 00 00",
               "! return pad: string 3 of a table that has 3 (offset 0x1e)\n");
    put_message(RANGE, "60 01 48 00");
    assert_records("! range: string 0 of a table that has 0 (offset 0xf)\n");
    /* A table replaces the one before it. */
    put_message(STRINGS, "0a 01 'a' 0a 01 'b'");
    put_message(RANGE, "60 01 48 01");
    put_message(STRINGS, "0a 01 'c'");
    put_message(RANGE, "60 01 48 00");
    put_message(RANGE, "60 01 48 01");
    assert_records("1+0 b -\n1+0 c -\n! range: string 1 of a table that has 1 (offset 0x28)\n");
}

TEST(strings_are_utf8)
{
    assert_range("60 01 1a 02 c3a9", "1+0 \\c3\\a9 -\n");
    assert_range("60 01 1a 03 61c328", "! range: a string is not UTF-8 (offset 0x1b)\n");
    put_message(STRINGS, "0a 03 61ff62");
    assert_records("! string table: a string is not UTF-8 (offset 0xf)\n");
}

TEST(what_is_read_is_what_was_written)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    put_message(STRINGS, "0a 01 'a' 0a 00");
    put_message(RANGE, "60 01 1a 01 'f' 50 00");
    put_message(PAD, "08 02 12 01 00 1a 01 01 22 01 09");
    assert_int_equal(sxt_symbfile_reader_open(&reader, file.data, file.size, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_read(reader, &record, NULL), SXT_OK);
    assert_int_equal(record.kind, SXT_SYMBFILE_RANGE);
    assert_int_equal(record.offset, 0x11);
    sxt_test_assert_text(record.range.file, "a");
    sxt_test_assert_text(record.range.call_file, NULL);
    assert_null(record.range.lines);
    assert_int_equal(sxt_symbfile_read(reader, &record, NULL), SXT_OK);
    assert_int_equal(record.kind, SXT_SYMBFILE_PAD);
    assert_int_equal(record.offset, 0x1a);
    assert_int_equal(record.pad.address, 2);
    assert_int_equal(record.pad.frame_count, 1);
    sxt_test_assert_text(record.pad.frames[0].file, NULL);
    sxt_symbfile_reader_close(&reader);
    sxt_symbfile_reader_close(&reader);
}

/* --- lines --- */

TEST(the_line_is_that_of_the_last_entry_at_or_before)
{
    const struct sxt_symbfile_line lines[] = {{2, 2}, {4, 5}, {100, 99}};
    const struct sxt_symbfile_range range = {.address = 0x123, .length = 50, .lines = lines, .line_count = 3};
    static const struct {
        int64_t offset;
        uint32_t line;
    } cases[] = {{-1, 0}, {0, 0}, {1, 0}, {2, 2}, {3, 2}, {4, 5}, {99, 5}, {100, 99}, {10000, 99}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sxt_symbfile_line_at(&range, 0x123 + (uint64_t)cases[i].offset), cases[i].line);
    assert_int_equal(sxt_symbfile_line_at(&range, 0), 0);
    assert_int_equal(sxt_symbfile_line_at(&range, UINT64_MAX), 99);

    /* Of several at one offset the last; none at all. */
    const struct sxt_symbfile_line same[] = {{0, 1}, {0, 2}, {8, 3}, {8, 4}};
    const struct sxt_symbfile_range other = {.address = 0x10, .lines = same, .line_count = 4};
    assert_int_equal(sxt_symbfile_line_at(&other, 0x10), 2);
    assert_int_equal(sxt_symbfile_line_at(&other, 0x18), 4);
    assert_int_equal(sxt_symbfile_line_at(&(struct sxt_symbfile_range){.address = 0x10}, 0x10), 0);
}

/* --- streams --- */

TEST(a_stream_may_be_longer_than_what_is_kept_of_it)
{
    /* The table is needed long after it has passed by, and offsets count from the beginning. */
    put_message(STRINGS, "0a 05 'named'");
    put_message(RANGE, "60 01 48 00");
    for (unsigned i = 0; i < 20000; i++)
        put_message(9, "'seven b'");
    put_message(RANGE, "08 00 48 00");
    put_message(RANGE, "08 00 48 01");
    assert_records("1+0 named -\n1+0 named -\n! range: string 1 of a table that has 1 (offset 0x2bf44)\n");
}

static int fail_to_read(void *context, void *to, size_t size, size_t *got, sxt_error *error)
{
    unsigned *left = context;
    (void)size;
    (void)error;
    if (*left == 0)
        return SXT_ERROR_IO;
    memcpy(to, &"symbfile\0\1"[10 - *left], 1);
    *left -= 1;
    *got = 1;
    return SXT_OK;
}

TEST(a_stream_that_cannot_be_read_is_a_failure)
{
    struct sxt_symbfile_reader *reader;
    sxt_error error;
    unsigned left = 10;
    /* The next message is asked for before its first bytes are known. */
    assert_int_equal(sxt_symbfile_reader_open_stream(&reader, fail_to_read, &left, &error), SXT_ERROR_IO);
    assert_int_equal(error.code, SXT_ERROR_IO);
    assert_null(reader);
}
