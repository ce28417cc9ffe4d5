/* test_write.c: the bytes of a Lidia file, from the worked example to every choice of sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lidia/lidia.h"
#include "support/lidia_image.h"
#include "support/model.h"
#include "support/test.h"
#include "written_file.h"

static void finish_and_encode(void)
{
    sxt_test_finish(model);
    encode((struct sxt_lidia_settings){0});
}

static uint64_t word(size_t at)
{
    return sxt_test_load(file + at, 8);
}

/* Field FIELD of row ROW. */
static uint64_t field(size_t row, unsigned number)
{
    unsigned width = (unsigned)word(0x28);
    return sxt_test_load(file + sxt_test_rows_at(file) + (row * 8 + number) * width, width);
}

static uint64_t address(size_t row)
{
    unsigned width = (unsigned)word(0x08);
    return sxt_test_load(file + 0x80 + row * width, width);
}

/* The bytes of the file are those that TEXT has in hexadecimal; spaces do not count. */
static void assert_bytes(const char *text)
{
    size_t count = 0;
    for (const char *at = text; *at != 0;) {
        if (*at == ' ') {
            at++;
            continue;
        }
        unsigned byte;
        assert_int_equal(sscanf(at, "%2x", &byte), 1);
        assert_true(count < file_size);
        if (file[count] != byte)
            fail_msg("byte 0x%zx is %02x, not %02x", count, file[count], byte);
        count++;
        at += 2;
    }
    assert_int_equal(file_size, count);
}

/* --- the reference writer's bytes --- */

TEST(the_worked_example_comes_out_bit_for_bit)
{
    sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, "helper", 0x401060, 16);
    sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, "_start", 0x401000, 32);
    sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, "main", 0x401020, 64);
    assert_int_equal(sxt_symbols_finish_raw(model, NULL), SXT_OK);
    encode((struct sxt_lidia_settings){.reference = true});
    assert_bytes("2e646961 01000000 04000000 00000000 03000000 00000000 80000000 00000000"
                 "90899627 00000000 04000000 00000000 03000000 00000000 8c000000 00000000"
                 "2f57fb74 00000000 2e000000 00000000 ec000000 00000000 7672bae3 00000000"
                 "02000000 00000000 00000000 00000000 1a010000 00000000 00000000 00000000"
                 "00104000 20104000 60104000"
                 "20000000 00000000 1c000000 00000000 00000000 00000000 00000000 00000000"
                 "40000000 00000000 26000000 00000000 00000000 00000000 00000000 00000000"
                 "10000000 00000000 12000000 00000000 00000000 00000000 00000000 00000000"
                 "00000000 0a000000 5b6f766572666c6f775d"
                 "06000000 68656c706572 06000000 5f7374617274 04000000 6d61696e");
}

TEST(an_empty_table_has_146_bytes)
{
    sxt_test_finish(model);
    const struct sxt_lidia_settings settings[] = {{0}, {.reference = true}, {.no_index = true}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        encode(settings[i]);
        assert_bytes("2e646961 01000000 0400000000000000 0000000000000000 8000000000000000 00000000 00000000"
                     "0400000000000000 0000000000000000 8000000000000000 00000000 00000000"
                     "1200000000000000 8000000000000000 e812d716 00000000"
                     "0200000000000000 0000000000000000 9200000000000000 00000000 00000000"
                     "00000000 0a000000 5b6f766572666c6f775d");
        assert_int_equal(file_size, 146);
    }
}

TEST(the_reference_keeps_doubles_zero_sizes_and_their_order)
{
    static const char *const names[] = {"b", "a", "b", "zero", "a"};
    for (unsigned i = 0; i < 5; i++)
        sxt_test_add_range(model, SXT_SOURCE_SYMTAB, 0, names[i], i == 1 ? 0 : 0x10, i == 3 ? 0 : 8);
    assert_int_equal(sxt_symbols_finish_raw(model, NULL), SXT_OK);
    encode((struct sxt_lidia_settings){.reference = true});
    assert_int_equal(word(0x10), 5);
    /* "b" was used first, so it stands at 18; "a" at 23, "zero" at 28. */
    const uint64_t functions[] = {23, 18, 18, 28, 23};
    const uint64_t lengths[] = {8, 8, 8, 0, 8};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(field(i, 0), lengths[i]);
        assert_int_equal(field(i, 2), functions[i]);
    }
    assert_int_equal(file_size, sxt_test_index_at(file));
}

/* --- sizes of fields --- */

TEST(addresses_take_four_bytes_until_one_needs_eight)
{
    sxt_test_add_range(model, DWARF, 0, "low", 0, 4);
    sxt_test_add_range(model, DWARF, 0, "high", UINT32_MAX, 4);
    finish_and_encode();
    assert_int_equal(word(0x08), 4);
    assert_int_equal(address(1), UINT32_MAX);

    sxt_symbols_free(&model);
    model = sxt_test_model();
    sxt_test_add_range(model, DWARF, 0, "low", 0, 4);
    sxt_test_add_range(model, DWARF, 0, "high", (uint64_t)UINT32_MAX + 1, 4);
    finish_and_encode();
    assert_int_equal(word(0x08), 8);
    assert_int_equal(word(0x28), 4);
    assert_int_equal(address(0), 0);
    assert_int_equal(address(1), (uint64_t)UINT32_MAX + 1);
}

TEST(fields_take_four_bytes_until_a_length_needs_eight)
{
    sxt_test_add_call(model, DWARF, 0, "f", 0, UINT32_MAX, "f.c", NULL, 0);
    sxt_test_add_call(model, DWARF, 1, "g", 0, 8, "g.c", "f.c", UINT32_MAX);
    finish_and_encode();
    assert_int_equal(word(0x28), 4);
    assert_int_equal(field(0, 0), UINT32_MAX);
    assert_int_equal(field(1, 7), UINT32_MAX);

    sxt_symbols_free(&model);
    model = sxt_test_model();
    sxt_test_add_call(model, DWARF, 0, "f", 0, (uint64_t)UINT32_MAX + 1, "f.c", NULL, 0);
    sxt_test_add_line(model, 0, "f.c", 3);
    sxt_test_add_call(model, DWARF, 1, "g", 0, 8, "g.c", "f.c", UINT32_MAX);
    finish_and_encode();
    assert_int_equal(word(0x28), 8);
    assert_int_equal(word(0x08), 4);
    assert_int_equal(field(0, 0), (uint64_t)UINT32_MAX + 1);
    assert_int_equal(field(1, 1), 1);
    assert_int_equal(field(1, 7), UINT32_MAX);
}

/* The line field size for a function with an entry {OFFSET, LINE} after the first one. */
static uint64_t line_size_for(uint32_t offset, uint32_t line)
{
    sxt_symbols_free(&model);
    model = sxt_test_model();
    sxt_test_add_range(model, DWARF, 0, "f", 0, 0x100000000);
    sxt_test_add_line(model, 0, "f.c", 1);
    sxt_test_add_line(model, offset, "f.c", line);
    finish_and_encode();
    unsigned width = (unsigned)word(0x60);
    if (word(0x68) == 2) {
        assert_int_equal(sxt_test_load(file + sxt_test_lines_at(file) + 2 * width, width), offset);
        assert_int_equal(sxt_test_load(file + sxt_test_lines_at(file) + 3 * width, width), line);
    }
    return width;
}

TEST(line_fields_take_two_bytes_until_one_needs_four)
{
    assert_int_equal(line_size_for(0xffff, 0xffff), 2);
    assert_int_equal(line_size_for(0x10000, 2), 4);
    assert_int_equal(line_size_for(2, 0x10000), 4);
    assert_int_equal(line_size_for(UINT32_MAX, UINT32_MAX), 4);
    /* An entry that says the same as the one before it is not written and needs no room. */
    assert_int_equal(line_size_for(0x10000, 1), 2);
    assert_int_equal(word(0x68), 1);
}

/* --- rows and lines --- */

TEST(rows_hold_what_the_model_has)
{
    sxt_test_add_call(model, DWARF, 0, "plain", 0x200, 0x10, NULL, NULL, 0);
    sxt_test_add_call(model, DWARF, 0, "f", 0x100, 0x40, "f.c", NULL, 0);
    sxt_test_add_line(model, 0, "f.c", 10);
    sxt_test_add_line(model, 8, "f.c", 11);
    sxt_test_add_line(model, 0xc, "f.c", 11);
    sxt_test_add_call(model, DWARF, 1, "g", 0x110, 0x20, "g.h", "f.c", 12);
    sxt_test_add_line(model, 0, "g.h", 3);
    finish_and_encode();
    /* Behind "" and "[overflow]": f 18, f.c 23, g 30, g.h 35, plain 42. */
    const uint64_t rows[3][9] = {
        {0x100, 0x40, 0, 18, 23, 0, 2, 0, 0},
        {0x110, 0x20, 1, 30, 35, 2, 1, 23, 12},
        {0x200, 0x10, 0, 42, 0, 0, 0, 0, 0},
    };
    assert_int_equal(word(0x10), 3);
    assert_int_equal(word(0x30), 3);
    assert_int_equal(word(0x68), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(address(i), rows[i][0]);
        for (unsigned k = 0; k < 8; k++)
            assert_int_equal(field(i, k), rows[i][k + 1]);
    }
    const uint8_t lines[] = {0, 0, 10, 0, 8, 0, 11, 0, 0, 0, 3, 0};
    assert_memory_equal(file + sxt_test_lines_at(file), lines, sizeof lines);
}

TEST(a_function_of_several_files_becomes_several_rows)
{
    sxt_test_add_range(model, DWARF, 0, "f", 0, 0x20);
    sxt_test_add_line(model, 0, "a.c", 5);
    sxt_test_add_line(model, 0x10, "b.c", 5);
    finish_and_encode();
    assert_int_equal(word(0x10), 2);
    assert_int_equal(field(0, 2), field(1, 2));
    assert_int_not_equal(field(0, 3), field(1, 3));
    /* The same line in another file is an entry of its own. */
    assert_int_equal(field(0, 5), 1);
    assert_int_equal(field(1, 5), 1);
}

/* --- the index --- */

TEST(there_is_no_index_in_an_empty_file_or_when_it_is_not_wanted)
{
    finish_and_encode();
    assert_int_equal(file_size, sxt_test_index_at(file));

    sxt_symbols_free(&model);
    model = sxt_test_model();
    sxt_test_add_range(model, DWARF, 0, "f", 0, 0x20);
    sxt_test_add_range(model, DWARF, 0, "g", 0x20, 0x20);
    finish_and_encode();
    /* One bucket and the end, two name sizes, and no parents where nothing is inlined. */
    assert_int_equal(sxt_test_load(file + sxt_test_index_at(file) + 0x10, 4), 0);
    assert_int_equal(file_size, sxt_test_index_at(file) + 0x20 + 2 * 4 + 2 * 2);

    sxt_symbols_free(&model);
    model = sxt_test_model();
    sxt_test_add_range(model, DWARF, 0, "f", 0, 0x20);
    sxt_test_add_range(model, DWARF, 1, "g", 0, 0x20);
    finish_and_encode();
    assert_int_equal(file_size, sxt_test_index_at(file) + 0x20 + 2 * 4 + 2 * 2 + 2);
    encode((struct sxt_lidia_settings){.no_index = true});
    assert_int_equal(file_size, sxt_test_index_at(file));
    encode((struct sxt_lidia_settings){.nul_strings = true});
    assert_int_equal(file_size, sxt_test_index_at(file) + 0x20 + 2 * 4 + 2 * 2 + 2);
}

TEST(buckets_count_the_rows_before_them_and_names_have_their_sizes)
{
    enum { COUNT = 40 };
    char name[COUNT + 1] = {0};
    for (unsigned i = 0; i < COUNT; i++) {
        memset(name, 'n', i + 1);
        /* Closer together at first: 16 bytes apart, then 256. */
        sxt_test_add_range(model, DWARF, 0, name, i < 20 ? 16 * i : 256 * (uint64_t)i, 16);
    }
    finish_and_encode();
    const uint8_t *index = file + sxt_test_index_at(file);
    unsigned shift = (unsigned)sxt_test_load(index + 0x14, 4);
    uint64_t buckets = ((uint64_t)256 * (COUNT - 1) >> shift) + 1;
    assert_in_range(buckets, COUNT / 8, COUNT / 4 + 1);
    for (uint64_t bucket = 0; bucket <= buckets; bucket++) {
        uint64_t before = 0;
        for (unsigned i = 0; i < COUNT; i++)
            before += (i < 20 ? 16 * i : 256 * (uint64_t)i) >> shift < bucket;
        assert_int_equal(sxt_test_load(index + 0x20 + bucket * 4, 4), before);
    }
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(sxt_test_load(file + sxt_test_name_sizes_at(file) + i * 2, 2), i + 1);
}

TEST(a_name_that_is_too_long_for_the_index_is_marked)
{
    static const size_t sizes[] = {65534, 65535, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sxt_symbols_free(&model);
        model = sxt_test_model();
        char *name = calloc(1, sizes[i] + 1);
        assert_non_null(name);
        memset(name, 'n', sizes[i]);
        sxt_test_add_range(model, DWARF, 0, name, 0, 16);
        free(name);
        finish_and_encode();
        assert_int_equal(sxt_test_load(file + sxt_test_name_sizes_at(file), 2), sizes[i] < 65535 ? sizes[i] : 65535);
        struct sxt_lidia lidia;
        sxt_frame frame;
        assert_int_equal(sxt_lidia_open(&lidia, file, file_size, true, NULL), SXT_OK);
        assert_int_equal(sxt_lidia_lookup(&lidia, 4, &frame, 1), 1);
        assert_int_equal(frame.function.size, sizes[i]);
    }
}

/* A function with CALLS calls side by side; the last one is CALLS rows after its function. */
static void encode_calls(uint32_t calls)
{
    sxt_symbols_free(&model);
    model = sxt_test_model();
    sxt_test_add_range(model, DWARF, 0, "f", 0, 4 * (uint64_t)calls);
    for (uint32_t i = 0; i < calls; i++)
        sxt_test_add_range(model, DWARF, 1, "g", 4 * (uint64_t)i, 4);
    finish_and_encode();
}

TEST(entries_of_the_index_take_as_many_bytes_as_the_farthest_one_needs)
{
    const struct {
        uint32_t calls;
        unsigned width;
    } cases[] = {{1, 1}, {255, 1}, {256, 2}, {65535, 2}, {65536, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        encode_calls(cases[i].calls);
        const uint8_t *index = file + sxt_test_index_at(file);
        assert_memory_equal(index, "sxti\1\0\0\0", 8);
        assert_int_equal(sxt_test_load(index + 0x08, 8), cases[i].calls + 1);
        assert_int_equal(sxt_test_load(index + 0x10, 4), cases[i].width);
        size_t bytes = (size_t)(cases[i].calls + 1) * cases[i].width;
        size_t parents_at = sxt_test_parents_at(file);
        assert_int_equal(file_size, parents_at + bytes);
        size_t content_at = sxt_test_index_at(file) + 0x20;
        assert_int_equal(sxt_test_load(index + 0x18, 4), sxt_test_crc32c(file + content_at, file_size - content_at));
        assert_int_equal(sxt_test_load(index + 0x1c, 4), sxt_test_crc32c(index, 0x1c));
        for (uint32_t k = 0; k <= cases[i].calls; k++)
            assert_int_equal(sxt_test_load(file + parents_at + k * cases[i].width, cases[i].width), k);
    }
}

TEST(the_index_leads_to_the_row_around_each_row)
{
    sxt_test_add_range(model, DWARF, 0, "f", 0, 0x40);
    sxt_test_add_range(model, DWARF, 1, "a", 0, 0x10);
    sxt_test_add_range(model, DWARF, 2, "b", 0, 0x8);
    sxt_test_add_range(model, DWARF, 2, "c", 0x8, 0x8);
    sxt_test_add_range(model, DWARF, 1, "d", 0x20, 0x10);
    sxt_test_add_range(model, DWARF, 0, "g", 0x40, 0x10);
    finish_and_encode();
    const uint8_t parents[] = {0, 1, 1, 2, 4, 0};
    assert_memory_equal(file + sxt_test_parents_at(file), parents, sizeof parents);
}
