/*
 * test_model.c: ranges of the model into a symbfile and back, and what a Lidia file keeps on the way through a
 * symbfile: all of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lidia/lidia.h"
#include "support/model.h"
#include "support/random.h"
#include "support/symbfile_image.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

#define DWARF SXT_SOURCE_DWARF

enum { RANGE = 2, PAD, STRINGS };

static struct sxt_symbols *model;
static struct sxt_buffer file;

SET_UP()
{
    model = sxt_test_model();
    sxt_buffer_init(&file, SIZE_MAX);
    sxt_test_begin_symbfile(&file);
}

TEAR_DOWN()
{
    sxt_symbols_free(&model);
    sxt_buffer_free(&file);
}

static int write_model(const struct sxt_symbols *symbols, struct sxt_symbfile_settings settings, sxt_error *error)
{
    struct sxt_symbfile_writer *writer;
    sxt_buffer_clear(&file);
    assert_int_equal(sxt_symbfile_writer_open(&writer, sxt_symbfile_to_buffer(&file), error), SXT_OK);
    int status = sxt_symbfile_write_ranges(symbols, &settings, writer, error);
    if (status == SXT_OK)
        status = sxt_symbfile_writer_finish(writer, error);
    sxt_symbfile_writer_close(&writer);
    return status;
}

static void assert_written(struct sxt_symbfile_settings settings, const char *expected)
{
    sxt_error error;
    sxt_test_finish(model);
    if (write_model(model, settings, &error) != SXT_OK)
        fail_msg("%s", error.text);
    sxt_test_assert_records(&file, expected);
    assert_int_equal(sxt_symbfile_verify(file.data, file.size, NULL, NULL), 0);
}

/* --- from the model --- */

TEST(ranges_are_written_by_address_and_depth)
{
    sxt_test_add_call(model, DWARF, 0, "plain", 0x200, 0x10, NULL, NULL, 0);
    sxt_test_add_call(model, DWARF, 0, "f", 0x100, 0x40, "f.c", NULL, 0);
    sxt_test_add_line(model, 0, "f.c", 10);
    sxt_test_add_line(model, 8, "f.c", 11);
    sxt_test_add_call(model, DWARF, 1, "g", 0x100, 0x20, "g.h", "f.c", 12);
    sxt_test_add_line(model, 0, "g.h", 3);
    sxt_test_add_call(model, DWARF, 2, "h", 0x110, 0x10, NULL, "g.h", 4);
    sxt_test_add_call(model, DWARF, 1, "h", 0x130, 0x10, NULL, NULL, 13);
    assert_written((struct sxt_symbfile_settings){0}, "100+40 f f.c {0:10 8:11}\n"
                                                      "> 100+20 g g.h < f.c:12 {0:3}\n"
                                                      ">> 110+10 h - < g.h:4\n"
                                                      "> 130+10 h - < -:13\n"
                                                      "200+10 plain -\n");
}

TEST(an_empty_model_is_an_empty_file)
{
    assert_written((struct sxt_symbfile_settings){0}, "");
    assert_int_equal(file.size, 12);
}

TEST(lines_that_say_nothing_are_left_out)
{
    sxt_test_add_call(model, DWARF, 0, "f", 0, 0x20, "f.c", NULL, 0);
    sxt_test_add_line(model, 0, "f.c", 1);
    sxt_test_add_line(model, 4, "f.c", 1);
    sxt_test_add_line(model, 8, "f.c", 2);
    sxt_test_add_line(model, 8, "f.c", 3);
    sxt_test_add_line(model, 0xc, NULL, 0);
    assert_written((struct sxt_symbfile_settings){0}, "0+20 f f.c {0:1 8:3 c:0}\n");
}

TEST(a_range_of_several_files_is_cut_with_all_in_it)
{
    sxt_test_add_call(model, DWARF, 0, "f", 0, 0x30, "a.c", NULL, 0);
    sxt_test_add_line(model, 0, "a.c", 1);
    sxt_test_add_line(model, 0x10, "b.c", 2);
    sxt_test_add_line(model, 0x20, "a.c", 3);
    sxt_test_add_call(model, DWARF, 1, "g", 8, 0x10, "g.h", "a.c", 7);
    sxt_test_add_line(model, 0, "g.h", 4);
    assert_written((struct sxt_symbfile_settings){0}, "0+10 f a.c {0:1}\n"
                                                      "> 8+8 g g.h < a.c:7 {0:4}\n"
                                                      "10+10 f b.c {0:2}\n"
                                                      "> 10+8 g g.h < a.c:7 {0:4}\n"
                                                      "20+10 f a.c {0:3}\n");
}

TEST(names_are_demangled_and_paths_mapped)
{
    static const sxt_path_map maps[] = {{"/src", "src"}, {"/gone", ""}};
    sxt_test_add_call(model, DWARF, 0, "_Z1fv", 0, 0x10, "/src/a.c", NULL, 0);
    sxt_test_add_call(model, DWARF, 1, "_Z1fv", 0, 0x8, "b.c", "/src/a.c", 2);
    sxt_test_add_call(model, DWARF, 1, "g", 8, 0x8, "/gone", "/src/a.c", 3);
    /* The same text is a name here and a path there. */
    sxt_test_add_call(model, DWARF, 0, "/src/a.c", 0x10, 0x8, "_Z1fv", NULL, 0);
    const struct sxt_symbfile_settings settings = {.demangle = true, .path_maps = {maps, 2}};
    assert_written(settings, "0+10 f() src/a.c\n> 0+8 f() b.c < src/a.c:2\n> 8+8 g \"\" < src/a.c:3\n"
                             "10+8 /src/a.c _Z1fv\n");
    assert_written((struct sxt_symbfile_settings){.demangle = true},
                   "0+10 f() /src/a.c\n> 0+8 f() b.c < /src/a.c:2\n> 8+8 g /gone < /src/a.c:3\n10+8 /src/a.c _Z1fv\n");
}

/* --- into the model --- */

static void put_range(const char *text)
{
    sxt_test_put_message(&file, RANGE, text);
}

/* Adds the ranges of the file to a model, which is EXPECTED before it is finished. */
static void read_model(const char *expected)
{
    struct sxt_symbfile_reader *reader;
    sxt_error error;
    sxt_symbols_free(&model);
    model = sxt_test_model();
    assert_int_equal(sxt_symbfile_reader_open(&reader, file.data, file.size, NULL), SXT_OK);
    if (sxt_symbfile_read_ranges(reader, model, &error) != SXT_OK)
        fail_msg("%s", error.text);
    sxt_symbfile_reader_close(&reader);
    if (expected != NULL)
        sxt_test_assert_model(model, expected);
    sxt_test_begin_symbfile(&file);
}

TEST(ranges_are_added_as_they_come)
{
    sxt_test_put_message(&file, STRINGS, "0a 01 'f' 0a 00");
    put_range("60 8020 10 20 48 00 22 03 'f.c' 42 08 0a 02 00 08 12 02 05 06");
    put_range("08 10 10 10 1a 01 'g' 32 03 'f.c' 28 09 38 01");
    sxt_test_put_message(&file, PAD, "08 00 12 01 00 1a 01 01 22 01 00");
    put_range("60 10 10 04 1a 01 'h'");
    read_model("f@1000-1020{0:f.c:5 8:f.c:6} >g@1008-1018 h@10-14");
    assert_int_equal(model->ranges[1].call_line, 9);
    assert_int_equal(model->ranges[1].call_file, sxt_test_string(model, "f.c"));
    assert_int_equal(model->ranges[0].file, sxt_test_string(model, "f.c"));
    assert_int_equal(model->ranges[2].file, 0);
    sxt_test_finish(model);
    sxt_test_assert_model(model, "h@10-14 f@1000-1020{0:f.c:5 8:f.c:6} >g@1008-1018");
}

#define LINE_AT_0 "42 06 0a 01 00 12 01 "

TEST(pieces_of_one_range_are_put_together)
{
    /* As the reference cuts at a change of file: all pieces, then what is inlined into any of them. */
    put_range("60 00 10 10 1a 01 'f' 22 01 'a' " LINE_AT_0 "01");
    put_range("08 20 10 10 1a 01 'f' 22 01 'b' " LINE_AT_0 "02");
    put_range("08 20 10 10 1a 01 'f' 22 01 'a' " LINE_AT_0 "03");
    put_range("60 04 10 18 1a 01 'g' 22 01 'c' 28 07 38 01 " LINE_AT_0 "04");
    put_range("60 1c 10 04 1a 01 'g' 22 01 'd' 28 07 38 01 " LINE_AT_0 "05");
    put_range("60 06 10 02 1a 01 'h' 38 02");
    put_range("60 30 10 08 1a 01 'i'");
    read_model("f@0-30{0:a:1 10:b:2 20:a:3} >g@4-20{0:c:4 18:d:5} >>h@6-8 i@30-38");
    sxt_test_finish(model);
    sxt_test_assert_model(model, "f@0-30{0:a:1 10:b:2 20:a:3} >g@4-20{0:c:4 18:d:5} >>h@6-8 i@30-38");
}

TEST(what_only_looks_like_pieces_stays_apart)
{
    static const char *const others[] = {
        "08 20 10 10 1a 01 'f' 22 01 'a' " LINE_AT_0 "02",           /* the same file */
        "08 22 10 10 1a 01 'f' 22 01 'b' " LINE_AT_0 "02",           /* a gap */
        "08 1e 10 10 1a 01 'f' 22 01 'b' " LINE_AT_0 "02",           /* an overlap */
        "08 20 10 10 1a 01 'g' 22 01 'b' " LINE_AT_0 "02",           /* another function */
        "08 20 10 10 1a 01 'f' 22 01 'b' 38 01 " LINE_AT_0 "02",     /* another depth */
        "08 20 10 10 1a 01 'f' 22 01 'b' 28 05 " LINE_AT_0 "02",     /* another call */
        "08 20 10 10 1a 01 'f' 22 01 'b' 32 01 'c' " LINE_AT_0 "02", /* from another file */
        "08 20 10 10 1a 01 'f' 22 01 'b'",                           /* no lines */
        "08 20 10 10 1a 01 'f' " LINE_AT_0 "02",                     /* no file */
        "08 20 10 10 1a 01 'f' 22 01 'b' 42 06 0a 01 01 12 01 02"    /* no line at its beginning */
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put_range("60 00 10 10 1a 01 'f' 22 01 'a' " LINE_AT_0 "01");
        put_range(others[i]);
        read_model(NULL);
        assert_int_equal(model->range_count, 2);
    }
    /* The first has no lines, lines after its end, or no file; offsets would not fit in 32 bits. */
    static const char *const firsts[] = {
        "60 00 10 10 1a 01 'f' 22 01 'a'",
        "60 00 10 10 1a 01 'f' 22 01 'a' 42 06 0a 01 10 12 01 01",
        "60 00 10 10 1a 01 'f' " LINE_AT_0 "01",
    };
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        put_range(firsts[i]);
        put_range("08 20 10 10 1a 01 'f' 22 01 'b' " LINE_AT_0 "02");
        read_model(NULL);
        assert_int_equal(model->range_count, 2);
    }
    for (unsigned i = 0; i < 2; i++) {
        put_range("60 00 10 f0ffffff0f 1a 01 'f' 22 01 'a' " LINE_AT_0 "01");
        put_range(i == 0 ? "08 e0ffffff1f 10 20 1a 01 'f' 22 01 'b' 42 08 0a 02 00 0f 12 02 02 03"
                         : "08 e0ffffff1f 10 20 1a 01 'f' 22 01 'b' 42 08 0a 02 00 10 12 02 02 03");
        read_model(i == 0 ? "f@0-100000010{0:a:1 fffffff0:b:2 ffffffff:b:3}"
                          : "f@0-fffffff0{0:a:1} f@fffffff0-100000010{0:b:2 10:b:3}");
    }
}

TEST(where_a_depth_is_left_out_deeper_ranges_move_up)
{
    put_range("60 00 10 40 1a 01 'f'");
    put_range("60 00 10 10 1a 01 'g' 38 01");
    put_range("60 20 10 10 1a 01 'h' 38 02");
    put_range("60 22 10 04 1a 01 'i' 38 05");
    put_range("60 22 10 04 1a 01 'j' 38 06");
    put_range("60 30 10 04 1a 01 'k' 38 01");
    read_model("f@0-40 >g@0-10 >h@20-30 >>i@22-26 >>>j@22-26 >k@30-34");
    sxt_test_finish(model);
    sxt_test_assert_model(model, "f@0-40 >g@0-10 >h@20-30 >>i@22-26 >>>j@22-26 >k@30-34");
}

TEST(a_call_without_a_function_around_it_is_dropped_in_the_end)
{
    put_range("60 00 10 10 1a 01 'a' 38 01");
    put_range("60 10 10 10 1a 01 'f'");
    put_range("60 30 10 10 1a 01 'b' 38 01");
    put_range("60 32 10 04 1a 01 'c' 38 02");
    read_model(">a@0-10 f@10-20 >b@30-40 >c@32-36");
    sxt_test_finish(model);
    sxt_test_assert_model(model, "f@10-20");
}

TEST(very_deep_calls_are_bounded)
{
    put_range("60 00 10 8020 1a 01 'f'");
    for (unsigned depth = 1; depth < 3000; depth++) {
        char text[60];
        snprintf(text, sizeof text, "08 00 10 8020 1a 01 'g' 38 %02x%02x", 0x80 | (depth & 0x7f), depth >> 7);
        put_range(text);
    }
    read_model(NULL);
    assert_int_equal(model->range_count, 3000);
    sxt_test_finish(model);
    assert_int_equal(model->range_count, SXT_SYMBOLS_MAX_DEPTH + 1);
}

TEST(a_damaged_file_is_a_failure)
{
    struct sxt_symbfile_reader *reader;
    sxt_error error;
    put_range("60 00 10 10 1a 01 'f'");
    put_range("60 00 10 10");
    assert_int_equal(sxt_symbfile_reader_open(&reader, file.data, file.size, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_read_ranges(reader, model, &error), SXT_ERROR_FORMAT);
    assert_string_equal(error.text, "range without a function (offset 0x15)");
    sxt_symbfile_reader_close(&reader);
}

/* --- from a Lidia file to a Lidia file --- */

/* The rows of a Lidia file as ranges of a model. */
static struct sxt_symbols *load_lidia(const uint8_t *data, size_t size)
{
    struct sxt_symbols *loaded = sxt_test_model();
    struct sxt_lidia lidia;
    struct sxt_lidia_row row;
    assert_int_equal(sxt_lidia_open(&lidia, data, size, true, NULL), SXT_OK);
    for (uint64_t i = 0; i < lidia.count; i++) {
        sxt_lidia_row(&lidia, i, &row);
        sxt_string function = sxt_lidia_string(&lidia, row.function), path = sxt_lidia_string(&lidia, row.file),
                   call_file = sxt_lidia_string(&lidia, row.call_file);
        struct sxt_model_range range = {
            .address = row.address,
            .length = row.length,
            .depth = (uint32_t)row.depth,
            .function = sxt_symbols_string(loaded, function.data, function.size),
            .file = sxt_symbols_string(loaded, path.data, path.size),
            .call_file = sxt_symbols_string(loaded, call_file.data, call_file.size),
            .call_line = (uint32_t)row.call_line,
            .flags = sxt_lidia_row_continues(&lidia, i) ? SXT_RANGE_CONTINUES : 0,
        };
        sxt_symbols_add_range(loaded, &range);
        struct sxt_model_line line = {.file = range.file};
        for (uint64_t k = 0; sxt_lidia_line(&lidia, &row, k, &line.offset, &line.line); k++)
            sxt_symbols_add_line(loaded, &line);
    }
    return loaded;
}

/* Ranges as they are, in order. */
static void finish_as_is(struct sxt_symbols *symbols)
{
    assert_int_equal(sxt_symbols_finish_raw(symbols, NULL), SXT_OK);
    assert_int_equal(sxt_ranges_sort(symbols->ranges, symbols->range_count, NULL), SXT_OK);
}

/* The Lidia file, through a model, a symbfile and another model, comes out as it was. */
static void assert_lossless(const uint8_t *lidia, size_t size, void (*finish)(struct sxt_symbols *symbols))
{
    sxt_error error;
    struct sxt_symbols *loaded = load_lidia(lidia, size);
    finish(loaded);
    if (write_model(loaded, (struct sxt_symbfile_settings){0}, &error) != SXT_OK)
        fail_msg("%s", error.text);
    sxt_symbols_free(&loaded);
    read_model(NULL);
    finish(model);
    uint8_t *again;
    size_t again_size;
    const struct sxt_lidia_settings settings = {0};
    assert_int_equal(sxt_lidia_encode(model, &settings, &again, &again_size, NULL, &error), SXT_OK);
    assert_int_equal(again_size, size);
    assert_memory_equal(again, lidia, size);
    free(again);
}

/* A call inside [start, end) of RANDOM length, and calls inside it. */
static void add_random_calls(struct sxt_test_random *random, uint32_t depth, uint64_t start, uint64_t end)
{
    static const char *const files[] = {"a.c", "b.c", "c.h", NULL};
    static const char *const names[] = {"f", "g", "h", "long_name"};
    while (start + 8 < end && depth < 6) {
        start += sxt_test_below(random, 8);
        uint64_t length = 4 + sxt_test_below(random, (uint32_t)(end - start));
        if (start + length > end)
            length = end - start;
        const char *path = files[sxt_test_below(random, 4)];
        sxt_test_add_call(model, DWARF, depth, names[sxt_test_below(random, 4)], start, length, path,
                          depth > 0 ? files[sxt_test_below(random, 4)] : NULL,
                          depth > 0 ? sxt_test_below(random, 50) : 0);
        uint32_t offset = sxt_test_below(random, 3);
        for (uint32_t i = sxt_test_below(random, 4); path != NULL && i > 0 && offset < length; i--) {
            sxt_test_add_line(model, offset, files[sxt_test_below(random, 3)], sxt_test_below(random, 90));
            offset += 1 + sxt_test_below(random, 10);
        }
        if (sxt_test_below(random, 2) == 0)
            add_random_calls(random, depth + 1, start, start + length);
        start += length;
    }
}

TEST(a_lidia_file_loses_nothing)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct sxt_test_random random = {seed};
        sxt_symbols_free(&model);
        model = sxt_test_model();
        add_random_calls(&random, 0, 0x1000, 0x1800);
        sxt_test_finish(model);
        uint8_t *lidia;
        size_t size;
        const struct sxt_lidia_settings settings = {0};
        assert_int_equal(sxt_lidia_encode(model, &settings, &lidia, &size, NULL, NULL), SXT_OK);
        assert_lossless(lidia, size, sxt_test_finish);
        assert_lossless(lidia, size, finish_as_is);
        free(lidia);
    }
}

TEST(ranges_that_a_finished_model_would_not_have_are_kept_as_they_are)
{
    /* On top of each other, twice, without length, and without a name; as the reference's Lidia files have them. */
    sxt_test_add_call(model, DWARF, 0, "", 0x10, 0x10, "n.c", NULL, 0);
    sxt_test_add_call(model, DWARF, 0, "outer", 0x20, 0x40, "a.c", NULL, 0);
    sxt_test_add_call(model, DWARF, 0, "outer", 0x20, 0x40, "a.c", NULL, 0);
    sxt_test_add_call(model, DWARF, 0, "inner", 0x28, 0x80, NULL, NULL, 0);
    sxt_test_add_call(model, DWARF, 0, "label", 0x30, 0, NULL, NULL, 0);
    finish_as_is(model);
    uint8_t *lidia;
    size_t size;
    const struct sxt_lidia_settings settings = {0};
    assert_int_equal(sxt_lidia_encode(model, &settings, &lidia, &size, NULL, NULL), SXT_OK);
    assert_lossless(lidia, size, finish_as_is);
    assert_int_equal(model->range_count, 5);
    free(lidia);
}
