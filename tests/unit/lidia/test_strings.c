/* test_strings.c: the string table that is written: order, each string once, renamed names, NUL at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lidia/lidia.h"
#include "support/lidia_image.h"
#include "support/model.h"
#include "support/random.h"
#include "support/test.h"
#include "written_file.h"

static void finish_and_encode(struct sxt_lidia_settings settings)
{
    sxt_test_finish(model);
    encode(settings);
}

/* The string table is exactly these bytes. */
static void assert_table(const char *bytes, size_t size)
{
    assert_int_equal(sxt_test_load(file + 0x48, 8), size);
    assert_memory_equal(file + sxt_test_strings_at(file), bytes, size);
}

#define ASSERT_TABLE(text) assert_table(text, sizeof(text) - 1)

static uint64_t function_of(size_t row)
{
    return sxt_test_load(file + sxt_test_rows_at(file) + row * 32 + 8, 4);
}

static uint64_t file_of(size_t row)
{
    return sxt_test_load(file + sxt_test_rows_at(file) + row * 32 + 12, 4);
}

static uint64_t call_file_of(size_t row)
{
    return sxt_test_load(file + sxt_test_rows_at(file) + row * 32 + 24, 4);
}

#define START "\0\0\0\0\x0a\0\0\0[overflow]"

TEST(strings_stand_in_order_of_use_row_by_row)
{
    sxt_test_string(model, "never used");
    sxt_test_add_call(model, DWARF, 0, "late", 0x100, 8, "l.c", NULL, 0);
    sxt_test_add_call(model, DWARF, 0, "early", 0, 8, "e.c", NULL, 0);
    sxt_test_add_call(model, DWARF, 1, "in", 0, 8, "i.h", "c.c", 1);
    finish_and_encode((struct sxt_lidia_settings){0});
    ASSERT_TABLE(START "\5\0\0\0early\3\0\0\0e.c\2\0\0\0in\3\0\0\0i.h\3\0\0\0c.c\4\0\0\0late\3\0\0\0l.c");
}

TEST(a_text_is_stored_once_whatever_it_is_used_for)
{
    sxt_test_add_call(model, DWARF, 0, "same", 0, 8, "same", NULL, 0);
    sxt_test_add_call(model, DWARF, 1, "same", 0, 8, NULL, "same", 1);
    finish_and_encode((struct sxt_lidia_settings){0});
    ASSERT_TABLE(START "\4\0\0\0same");
    assert_int_equal(function_of(0), 18);
    assert_int_equal(file_of(0), 18);
    assert_int_equal(function_of(1), 18);
    assert_int_equal(file_of(1), 0);
    assert_int_equal(call_file_of(1), 18);
}

TEST(unknown_strings_have_offset_zero)
{
    sxt_test_add_range(model, DWARF, 0, "[overflow]", 0, 8);
    sxt_test_add_range(model, DWARF, 1, NULL, 2, 4);
    finish_and_encode((struct sxt_lidia_settings){0});
    ASSERT_TABLE(START);
    assert_int_equal(function_of(1), 0);
}

TEST(a_function_called_overflow_uses_the_string_that_is_there)
{
    sxt_test_add_range(model, DWARF, 0, "[overflow]", 0, 8);
    finish_and_encode((struct sxt_lidia_settings){0});
    ASSERT_TABLE(START);
    assert_int_equal(function_of(0), 4);
    finish_and_encode((struct sxt_lidia_settings){.demangle = true});
    ASSERT_TABLE(START);
    assert_int_equal(function_of(0), 4);
    finish_and_encode((struct sxt_lidia_settings){.nul_strings = true});
    ASSERT_TABLE("\0[overflow]\0");
    assert_int_equal(function_of(0), 1);
}

TEST(names_that_become_equal_are_stored_once)
{
    sxt_test_add_range(model, DWARF, 0, "_ZN1fC1Ev", 0, 8);
    sxt_test_add_range(model, DWARF, 0, "_ZN1fC2Ev", 8, 8);
    sxt_test_add_range(model, DWARF, 0, "f::f()", 16, 8);
    sxt_test_add_range(model, DWARF, 0, "_ZN1fC1Ev", 24, 8);
    finish_and_encode((struct sxt_lidia_settings){.demangle = true});
    ASSERT_TABLE(START "\6\0\0\0f::f()");
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(function_of(i), 18);
}

TEST(only_function_names_are_demangled)
{
    sxt_test_add_call(model, DWARF, 0, "_Z1fv", 0, 8, "_Z1fv", NULL, 0);
    sxt_test_add_call(model, DWARF, 1, "g", 0, 8, "f()", "_Z1fv", 1);
    finish_and_encode((struct sxt_lidia_settings){.demangle = true});
    /* The demangled function and the path "f()" are one text. */
    ASSERT_TABLE(START "\3\0\0\0f()\5\0\0\0_Z1fv\1\0\0\0g");
    assert_int_equal(function_of(0), 18);
    assert_int_equal(file_of(0), 25);
    assert_int_equal(file_of(1), 18);
    assert_int_equal(call_file_of(1), 25);
}

TEST(a_path_may_become_empty_or_overflow)
{
    static const sxt_path_map maps[] = {{"/empty", ""}, {"/over", "[overflow]"}};
    sxt_test_add_call(model, DWARF, 0, "f", 0, 8, "/empty", NULL, 0);
    sxt_test_add_call(model, DWARF, 0, "f", 8, 8, "/over", NULL, 0);
    finish_and_encode((struct sxt_lidia_settings){.path_maps = {maps, 2}});
    ASSERT_TABLE(START "\1\0\0\0f");
    assert_int_equal(file_of(0), 0);
    assert_int_equal(file_of(1), 4);
}

TEST(many_demangled_names_each_keep_their_own_text)
{
    for (unsigned i = 0; i < 5000; i++) {
        /* Two constructors of a class have one readable name. */
        char name[24] = {'_',
                         'Z',
                         'N',
                         '3',
                         (char)('a' + i % 26),
                         (char)('a' + i / 26 % 26),
                         (char)('a' + i / 676 % 26),
                         'C',
                         (char)('1' + i % 2),
                         'E',
                         'v'};
        sxt_test_add_range(model, DWARF, 0, name, 8 * i, 8);
    }
    for (unsigned threads = 1; threads <= 3; threads++) {
        finish_and_encode((struct sxt_lidia_settings){.demangle = true, .threads = threads});
        struct sxt_lidia lidia;
        assert_int_equal(sxt_lidia_open(&lidia, file, file_size, true, NULL), SXT_OK);
        for (unsigned i = 0; i < 5000; i++) {
            const char of_class[] = {(char)('a' + i % 26), (char)('a' + i / 26 % 26), (char)('a' + i / 676 % 26), 0};
            char name[16];
            snprintf(name, sizeof name, "%s::%s()", of_class, of_class);
            sxt_test_assert_text(sxt_lidia_string(&lidia, function_of(i)), name);
        }
    }
}

TEST(strings_may_end_with_nul_instead)
{
    sxt_test_add_call(model, DWARF, 0, "main", 0, 8, "main.c", NULL, 0);
    sxt_test_add_call(model, DWARF, 1, "_Z3fooi", 0, 8, NULL, "main.c", 7);
    finish_and_encode((struct sxt_lidia_settings){.nul_strings = true, .demangle = true});
    ASSERT_TABLE("\0main\0main.c\0foo(int)\0");
    assert_int_equal(function_of(0), 1);
    assert_int_equal(file_of(0), 6);
    assert_int_equal(function_of(1), 13);
    assert_int_equal(file_of(1), 0);
    assert_int_equal(call_file_of(1), 6);
}

TEST(an_empty_table_of_nul_strings_has_one_byte)
{
    finish_and_encode((struct sxt_lidia_settings){.nul_strings = true});
    ASSERT_TABLE("\0");
    assert_int_equal(file_size, 129);
}

TEST(a_name_with_nul_inside_is_kept_whole_or_cut_as_the_form_demands)
{
    sxt_symbols_add_range(model, &(struct sxt_model_range){.length = 8,
                                                           .function = sxt_symbols_string(model, "ab\0cd", 5),
                                                           .source = SXT_SOURCE_DWARF});
    sxt_test_add_range(model, DWARF, 0, "next", 8, 8);
    finish_and_encode((struct sxt_lidia_settings){0});
    ASSERT_TABLE(START "\5\0\0\0ab\0cd\4\0\0\0next");
    finish_and_encode((struct sxt_lidia_settings){.nul_strings = true});
    ASSERT_TABLE("\0ab\0next\0");
    assert_int_equal(function_of(1), 4);
}

/* Every form of a model is read back as it was written, and known for what it is. */
TEST(both_forms_are_recognised_when_read_back)
{
    struct sxt_test_random random = {7};
    for (unsigned trial = 0; trial < 500; trial++) {
        sxt_symbols_free(&model);
        model = sxt_test_model();
        unsigned count = sxt_test_below(&random, 8);
        char names[8][8] = {{0}};
        for (unsigned i = 0; i < count; i++) {
            for (unsigned k = 0, size = 1 + sxt_test_below(&random, trial % 2 ? 2 : 6); k < size; k++)
                names[i][k] = (char)(1 + sxt_test_below(&random, trial % 3 ? 255 : 2));
            sxt_test_add_range(model, DWARF, 0, names[i], 8 * i, 8);
        }
        for (unsigned form = 0; form < 2; form++) {
            finish_and_encode((struct sxt_lidia_settings){.nul_strings = form == 1});
            struct sxt_lidia lidia;
            assert_int_equal(sxt_lidia_open(&lidia, file, file_size, true, NULL), SXT_OK);
            assert_int_equal(lidia.nul_strings, form == 1);
            for (unsigned i = 0; i < count; i++)
                sxt_test_assert_text(sxt_lidia_string(&lidia, function_of(i)), names[i]);
        }
    }
}
