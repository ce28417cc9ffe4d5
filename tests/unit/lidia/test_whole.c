/*
 * test_whole.c: where a range begins and ends that is several rows, because its lines come from several files.
 */
#include <stdlib.h>

#include "base/buffer.h"
#include "lidia/lidia.h"
#include "support/lidia_image.h"
#include "support/test.h"

#define ROWS_MOST 16

/* Strings of the image, by their offset. */
static struct sxt_test_strings strings;
static uint64_t f, g, h, a_c, b_c;

static uint8_t *image;
static struct sxt_lidia lidia;

SET_UP()
{
    image = NULL;
    strings.size = 0;
    sxt_test_put_string(&strings, "");
    f = sxt_test_put_string(&strings, "f");
    g = sxt_test_put_string(&strings, "g");
    h = sxt_test_put_string(&strings, "h");
    a_c = sxt_test_put_string(&strings, "a.c");
    b_c = sxt_test_put_string(&strings, "b.c");
}

TEAR_DOWN()
{
    free(image);
}

/* How far back the row is that each one lies in; 0 for a function. */
static void find_parents(const struct sxt_test_row *rows, size_t count, uint32_t *parents)
{
    for (size_t i = 0; i < count; i++) {
        parents[i] = 0;
        for (size_t k = i; k-- > 0 && rows[i].depth > 0 && parents[i] == 0;)
            if (rows[k].depth < rows[i].depth)
                parents[i] = (uint32_t)(i - k);
    }
}

/* CUTS are the numbers of the rows that continue another one. */
static void open_cut_rows(const struct sxt_test_row *rows, size_t count, bool with_index, const uint32_t *cuts,
                          size_t cut_count)
{
    uint32_t parents[ROWS_MOST];
    size_t size;
    sxt_error error;
    assert_true(count <= ROWS_MOST);
    find_parents(rows, count, parents);
    struct sxt_test_lidia content = {
        .rows = rows, .row_count = count, .strings = &strings, .parents = with_index ? parents : NULL};
    free(image);
    image = sxt_test_lidia_image(&content, &size);
    struct sxt_buffer chunk, file;
    sxt_buffer_init(&chunk, SIZE_MAX);
    sxt_buffer_init(&file, SIZE_MAX);
    for (size_t i = 0; i < cut_count; i++)
        sxt_buffer_u32le(&chunk, cuts[i]);
    sxt_buffer_append(&file, image, size);
    if (cut_count > 0)
        sxt_lidia_add_chunk(&file, SXT_LIDIA_CUTS, SXT_LIDIA_CUTS_VERSION, chunk.data, chunk.size);
    sxt_buffer_free(&chunk);
    free(image);
    image = file.data;
    size = file.size;
    if (sxt_lidia_open(&lidia, image, size, true, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(lidia.parents != NULL, with_index);
}

static void open_rows(const struct sxt_test_row *rows, size_t count, bool with_index)
{
    open_cut_rows(rows, count, with_index, NULL, 0);
}

/* The frame of DEPTH at ADDRESS is a part of START-END, and the rest of it stays as it was. */
static void assert_whole(uint64_t address, uint32_t depth, uint64_t from, uint64_t to)
{
    sxt_frame frames[8];
    size_t count = sxt_lidia_lookup(&lidia, address, frames, 8);
    assert_true(depth < count && count <= 8);
    sxt_frame *frame = &frames[count - 1 - depth];
    const sxt_frame before = *frame;
    sxt_lidia_whole_range(&lidia, frame);
    if (frame->start != from || frame->start + frame->length != to)
        fail_msg("%llx-%llx instead of %llx-%llx", (unsigned long long)frame->start,
                 (unsigned long long)(frame->start + frame->length), (unsigned long long)from, (unsigned long long)to);
    assert_int_equal(frame->depth, depth);
    assert_int_equal(frame->line, before.line);
    assert_ptr_equal(frame->function.data, before.function.data);
    assert_ptr_equal(frame->file.data, before.file.data);
}

TEST(pieces_are_found_from_each_of_them)
{
    const struct sxt_test_row rows[] = {
        {0x100, 0x20, 0, f, a_c, 0, 0, 0, 0},   {0x110, 0x10, 1, g, a_c, 0, 0, a_c, 7},
        {0x118, 0x08, 2, h, a_c, 0, 0, a_c, 9}, {0x120, 0x20, 0, f, b_c, 0, 0, 0, 0},
        {0x120, 0x08, 1, g, b_c, 0, 0, a_c, 7}, {0x120, 0x04, 2, h, b_c, 0, 0, a_c, 9},
        {0x130, 0x10, 1, h, b_c, 0, 0, a_c, 8}, {0x140, 0x10, 0, f, a_c, 0, 0, 0, 0},
        {0x150, 0x10, 0, g, a_c, 0, 0, 0, 0},
    };
    const uint32_t cuts[] = {3, 4, 5, 7};
    for (unsigned with_index = 0; with_index < 2; with_index++) {
        open_cut_rows(rows, sizeof rows / sizeof *rows, with_index, cuts, 4);
        for (uint64_t address = 0x100; address < 0x150; address += 4)
            assert_whole(address, 0, 0x100, 0x150);
        for (uint64_t address = 0x110; address < 0x128; address += 4)
            assert_whole(address, 1, 0x110, 0x128);
        for (uint64_t address = 0x118; address < 0x124; address += 4)
            assert_whole(address, 2, 0x118, 0x124);
        assert_whole(0x130, 1, 0x130, 0x140);
        assert_whole(0x158, 0, 0x150, 0x160);
    }
}

TEST(neighbours_of_one_name_are_not_joined)
{
    const struct sxt_test_row rows[] = {
        {0x100, 0x10, 0, f, a_c, 0, 0, 0, 0},   {0x110, 0x10, 0, f, b_c, 0, 0, 0, 0},
        {0x120, 0x20, 0, g, a_c, 0, 0, 0, 0},   {0x120, 0x10, 1, h, a_c, 0, 0, a_c, 7},
        {0x130, 0x10, 1, h, b_c, 0, 0, a_c, 7}, {0x140, 0x10, 0, g, a_c, 0, 0, 0, 0},
    };
    const uint32_t cuts[] = {5};
    for (unsigned with_index = 0; with_index < 2; with_index++) {
        open_rows(rows, sizeof rows / sizeof *rows, with_index);
        assert_whole(0x108, 0, 0x100, 0x110);
        assert_whole(0x118, 0, 0x110, 0x120);
        assert_whole(0x148, 0, 0x140, 0x150);
        open_cut_rows(rows, sizeof rows / sizeof *rows, with_index, cuts, 1);
        assert_whole(0x108, 0, 0x100, 0x110);
        assert_whole(0x118, 0, 0x110, 0x120);
        assert_whole(0x128, 1, 0x120, 0x130);
        assert_whole(0x138, 1, 0x130, 0x140);
        assert_whole(0x128, 0, 0x120, 0x150);
        assert_whole(0x148, 0, 0x120, 0x150);
    }
}

TEST(pieces_that_do_not_adjoin_are_not_contiguous)
{
    const struct sxt_test_row rows[] = {
        {0x100, 0x10, 0, f, a_c, 0, 0, 0, 0},
        {0x110, 0x10, 0, g, a_c, 0, 0, 0, 0},
        {0x120, 0x10, 0, f, a_c, 0, 0, 0, 0},
    };
    const uint32_t cuts[] = {2};
    open_cut_rows(rows, 3, true, cuts, 1);
    assert_whole(0x108, 0, 0x100, 0x110);
    assert_whole(0x128, 0, 0x120, 0x130);
    assert_true(sxt_lidia_row_continues(&lidia, 2));
    assert_false(sxt_lidia_row_continues(&lidia, 1));
}

TEST(wrong_row_numbers_do_no_harm)
{
    const struct sxt_test_row rows[] = {{0x100, 0x10, 0, f, a_c, 0, 0, 0, 0}, {0x110, 0x10, 0, g, b_c, 0, 0, 0, 0}};
    const uint32_t cuts[] = {0, 1, 1, 7, UINT32_MAX};
    open_cut_rows(rows, 2, true, cuts, 5);
    assert_whole(0x108, 0, 0x100, 0x110);
    assert_whole(0x118, 0, 0x110, 0x120);
}

TEST(what_differs_in_more_than_the_file_is_another_range)
{
    const struct sxt_test_row rows[] = {
        {0x100, 0x10, 0, f, a_c, 0, 0, 0, 0},   {0x111, 0x0f, 0, f, b_c, 0, 0, 0, 0}, /* a byte between them */
        {0x120, 0x10, 0, g, a_c, 0, 0, 0, 0},   {0x130, 0x40, 0, f, a_c, 0, 0, 0, 0},
        {0x130, 0x10, 1, g, a_c, 0, 0, a_c, 1}, {0x140, 0x10, 1, g, b_c, 0, 0, a_c, 2}, /* called on another line */
        {0x150, 0x10, 1, g, a_c, 0, 0, b_c, 2},                                         /* and from another file */
        {0x160, 0x10, 1, h, a_c, 0, 0, b_c, 2},
    };
    for (unsigned with_index = 0; with_index < 2; with_index++) {
        open_rows(rows, sizeof rows / sizeof *rows, with_index);
        assert_whole(0x100, 0, 0x100, 0x110);
        assert_whole(0x111, 0, 0x111, 0x120);
        assert_whole(0x120, 0, 0x120, 0x130);
        assert_whole(0x130, 0, 0x130, 0x170);
        for (uint64_t from = 0x130; from < 0x170; from += 0x10)
            assert_whole(from + 8, 1, from, from + 0x10);
    }
}

TEST(a_frame_of_another_file_is_left_alone)
{
    const struct sxt_test_row rows[] = {{0x100, 0x10, 0, f, a_c, 0, 0, 0, 0}, {0x110, 0x10, 0, f, b_c, 0, 0, 0, 0}};
    open_rows(rows, 2, true);
    static const sxt_frame strangers[] = {
        {.start = 0x104, .length = 4},
        {.start = 0x100, .length = 5, .depth = 1},
        {.start = 0xff, .length = 6},
        {.start = 0x111, .length = 7},
    };
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        sxt_frame frame = strangers[i];
        sxt_lidia_whole_range(&lidia, &frame);
        assert_int_equal(frame.start, strangers[i].start);
        assert_int_equal(frame.length, strangers[i].length);
    }
    open_rows(NULL, 0, false);
    sxt_frame frame = strangers[0];
    sxt_lidia_whole_range(&lidia, &frame);
    assert_int_equal(frame.length, 4);
}
