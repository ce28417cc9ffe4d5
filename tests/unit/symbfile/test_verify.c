/*
 * test_verify.c: every rule of the checker, with the byte where it is broken; one problem is one problem, and
 * what comes after it is checked too; good files pass, the reference's among them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "begun_file.h"
#include "support/symbfile_image.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

static void note(void *context, const sxt_problem *problem)
{
    FILE *out = context;
    assert_true(strlen(problem->message) > 5);
    assert_null(strchr(problem->message, '\n'));
    assert_null(strstr(problem->message, "(offset"));
    fprintf(out, "%s%s%s@%llx", ftell(out) > 0 ? " " : "", problem->severity == SXT_SEVERITY_NOTE ? "note:" : "",
            problem->rule, (unsigned long long)problem->offset);
}

/* The problems are EXPECTED, as "rule@offset", in the order they are reported. The file begins anew. */
static void assert_problems(const char *expected)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    uint64_t count = sxt_symbfile_verify(file.data, file.size, note, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, expected);
    uint64_t listed = text[0] != 0;
    for (const char *at = text; (at = strchr(at, ' ')) != NULL; at++)
        listed++;
    assert_int_equal(count, listed);
    assert_int_equal(sxt_symbfile_verify(file.data, file.size, NULL, NULL), count);
    free(text);
    sxt_test_begin_symbfile(&file);
}

static void assert_bytes(const char *text, const char *expected)
{
    sxt_buffer_clear(&file);
    sxt_test_put_hex(&file, text);
    assert_problems(expected);
}

/* Behind a table and a function from 0x1000 to 0x1080, a message of TYPE (at 0x1d, its body at 0x1f), and a good one.
 */
static void assert_message(uint64_t type, const char *text, const char *expected)
{
    put_message(STRINGS, "0a 01 'f' 0a 00");
    put_message(RANGE, "60 8020 10 8001 48 00 50 01");
    put_message(type, text);
    put_message(RANGE, "60 8040 10 01 48 00");
    assert_problems(expected);
}

TEST(good_files_pass)
{
    assert_bytes("'symbfile' 0001", "");
    assert_bytes("'symbfile' 00010004", "");
    assert_message(RANGE, "08 00 10 8001 48 00 38 01 42 08 0a 02 00 7f 12 02 01 02", "");
    assert_message(PAD, "08 00 12 01 00 1a 01 01 22 01 00", "");
    /* Fields and messages with more in them than is known. */
    assert_message(RANGE, "08 00 48 00 78 05", "");
    /* In no order, at the end of all addresses, and on top of each other. */
    assert_message(RANGE, "60 00 48 00 10 8020", "");
    assert_message(RANGE, "60 80e0ffffffffffffff01 48 00 10 8020", "");
    assert_message(RANGE, "08 00 10 01 48 00", "");
}

TEST(inlined_calls_lie_in_any_piece_of_the_function_before_them)
{
    /* Pieces side by side, under one name: three of 16 bytes, then calls in the first, across, and in the last. */
    put_message(RANGE, "60 8020 10 10 1a 01 'f' 22 01 'a'");
    put_message(RANGE, "08 20 10 10 1a 01 'f' 22 01 'b'");
    put_message(RANGE, "08 20 10 10 1a 01 'f' 22 01 'a'");
    put_message(RANGE, "60 8020 10 04 1a 01 'g' 38 01");
    put_message(RANGE, "60 8820 10 10 1a 01 'g' 38 01");
    put_message(RANGE, "60 a020 10 10 1a 01 'g' 38 02");
    assert_problems("");
    /* As sextant writes them. */
    put_message(RANGE, "60 8020 10 10 1a 01 'f' 22 01 'a'");
    put_message(RANGE, "60 8820 10 08 1a 01 'g' 38 01");
    put_message(RANGE, "08 10 10 10 1a 01 'f' 22 01 'b'");
    put_message(RANGE, "08 00 10 08 1a 01 'g' 38 01");
    assert_problems("");
    /* Another name, or not side by side: another function. */
    put_message(RANGE, "60 8020 10 10 1a 01 'f'");
    put_message(RANGE, "08 20 10 10 1a 01 'h'");
    put_message(RANGE, "60 8820 10 04 1a 01 'g' 38 01");
    assert_problems("nesting@1f");
    put_message(RANGE, "60 8020 10 10 1a 01 'f'");
    put_message(RANGE, "08 22 10 10 1a 01 'f'");
    put_message(RANGE, "60 8820 10 04 1a 01 'g' 38 01");
    assert_problems("nesting@1f");
}

TEST(a_call_outside_its_function_is_a_problem)
{
    assert_message(RANGE, "08 00 10 8101 48 00 38 01", "nesting@1f");
    assert_message(RANGE, "08 01 10 01 48 00 38 01", "nesting@1f");
    assert_message(RANGE, "08 8001 10 8001 48 00 38 01", "nesting@1f");
    put_message(RANGE, "60 01 10 01 1a 01 'f' 38 01");
    put_message(RANGE, "60 01 10 01 1a 01 'f'");
    assert_problems("nesting@c");
}

TEST(the_beginning_of_the_file)
{
    assert_bytes("", "truncated@0");
    assert_bytes("'symb'", "truncated@4");
    assert_bytes("'symbfilx' 0001", "magic@0");
    assert_bytes("'symbfile'", "truncated@8");
    assert_bytes("'symbfile' 0004", "header@8");
    /* What is in a message that should not be there is looked at all the same. */
    assert_bytes("'symbfile' 0202 6001 0102 08", "header@8 missing-field@a field@f");
}

TEST(beginnings_of_messages)
{
    assert_message(HEADER, "", "header@1d");
    assert_message(0, "", "message-type@1d");
    assert_message(0x80000000, "00", "message-type@1d");
    /* Behind a length that is wrong nothing can be found. */
    sxt_test_put_hex(&file, "81808008 02 6001");
    assert_problems("message-size@a");
    sxt_test_put_hex(&file, "8080808080808080808001 02");
    assert_problems("varint@a");
    sxt_test_put_hex(&file, "05");
    assert_problems("truncated@b");
    sxt_test_put_hex(&file, "05 02 60");
    assert_problems("truncated@c");
}

TEST(an_unknown_type_is_noted_and_is_not_a_problem)
{
    sxt_test_put_hex(&file, "03 63 'abc' 00 05");
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(sxt_symbfile_verify(file.data, file.size, note, out), 0);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, "note:unknown-type@a note:unknown-type@f");
    free(text);
}

TEST(fields)
{
    assert_message(RANGE, "08 00 48 00 12 00", "field@24");
    assert_message(RANGE, "08 00 48", "field@22");
    assert_message(RANGE, "08 00 10 05", "missing-field@1f");
    assert_message(RANGE, "10 05 48 00", "missing-field@1f");
    assert_message(PAD, "12 01 00 1a 01 01 22 01 00", "missing-field@1f");
    assert_message(RANGE, "08 00 1a 02 61ff", "utf8@24");
    assert_message(RANGE, "08 00 48 02", "string-reference@22");
    assert_message(PAD, "08 00 12 01 02 1a 01 01 22 01 00", "string-reference@23");
    assert_message(PAD, "08 00 12 01 00 1a 01 01", "columns@1f");
    assert_message(PAD, "08 00", "empty-pad@1f");
    assert_message(RANGE, "08 00 48 00 42 03 0a 01 00", "columns@27");
    assert_message(RANGE, "08 00 10 04 48 00 42 08 0a 02 00 04 12 02 01 02", "line-offset@1f");
    assert_message(RANGE, "08 00 10 04 48 00 42 0c 0a 06 ffffffff0f 01 12 02 01 02", "line-offset@29");
    assert_message(RANGE, "60 ffffffffffffffffff01 10 02 48 00", "length@1f");
    put_message(RANGE, "08 01 1a 01 'f'");
    assert_problems("delta@d");
}

TEST(what_follows_from_a_problem_is_not_another_one)
{
    /* Without the first address none is known, up to the next whole one. */
    put_message(RANGE, "08 01 1a 01 'f'");
    put_message(RANGE, "08 01 10 ffffffffffffffffff01 1a 01 'f'");
    put_message(RANGE, "08 01 10 ffffffffffffffffff01 1a 01 'f' 38 01");
    put_message(RANGE, "60 01 10 01 1a 01 'f'");
    put_message(RANGE, "08 02 10 01 1a 01 'f' 38 01");
    assert_problems("delta@d nesting@42");
    /* Without its table a reference is not known to be wrong, up to the next table. */
    put_message(STRINGS, "0a 01 'f' 0a 01 ff");
    put_message(RANGE, "60 01 48 05");
    put_message(PAD, "08 02 12 01 05 1a 01 01 22 01 00");
    put_message(STRINGS, "0a 01 'f'");
    put_message(RANGE, "08 02 48 01");
    assert_problems("utf8@11 string-reference@2f");
}
