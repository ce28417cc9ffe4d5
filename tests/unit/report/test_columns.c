/* test_columns.c: tables for pages. */
#include "base/string.h"
#include "report/columns.h"
#include "support/test.h"

static struct sxt_buffer table;

SET_UP()
{
    sxt_buffer_init(&table, SIZE_MAX);
}

TEAR_DOWN()
{
    sxt_buffer_free(&table);
}

static void assert_table(const void *bytes, size_t size)
{
    assert_false(table.failed);
    assert_int_equal(table.size, size);
    assert_memory_equal(table.data, bytes, size);
}

TEST(a_column_has_its_size_and_varints)
{
    struct sxt_column column;
    sxt_column_init(&column);
    sxt_column_add(&column, 1);
    sxt_column_add(&column, 300);
    sxt_column_add_signed(&column, -1);
    sxt_column_finish(&column, &table);
    assert_table("\x04\0\0\0\x01\xac\x02\x01", 8);
}

TEST(differences_are_from_the_number_before)
{
    struct sxt_column column;
    sxt_column_init(&column);
    sxt_column_add_next(&column, 10);
    sxt_column_add_next(&column, 12);
    sxt_column_add_next(&column, 11);
    sxt_column_finish(&column, &table);
    assert_table("\x03\0\0\0\x14\x04\x01", 7);
}

TEST(strings_share_the_beginning_of_the_one_before)
{
    struct sxt_string_column column;
    sxt_string_column_init(&column);
    sxt_string_column_add(&column, sxt_string_of("abc"));
    sxt_string_column_add(&column, sxt_string_of("abd"));
    sxt_string_column_add(&column, sxt_string_of(""));
    sxt_string_column_finish(&column, &table);
    assert_table("\x03\0\0\0\x0a\0\0\0\0\x03"
                 "abc\x02\x01"
                 "d\0\0",
                 18);
}

TEST(an_empty_column_is_its_size)
{
    struct sxt_column column;
    sxt_column_init(&column);
    sxt_column_finish(&column, &table);
    assert_table("\0\0\0\0", 4);
}
