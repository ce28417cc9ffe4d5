/*
 * test_lookup.c: the chain of frames at an address: what each frame says, the walking rule for files of other
 * writers, and random files against a brute-force oracle, with and without the index, one by one and in batches.
 */
#include <stdlib.h>
#include <string.h>

#include "lidia/lidia.h"
#include "support/lidia_image.h"
#include "support/random.h"
#include "support/test.h"

#define FRAMES_MAX 64

static struct sxt_test_strings strings;
static uint8_t *image;
static size_t image_size;
static struct sxt_lidia lidia;

SET_UP()
{
    image = NULL;
    strings.size = 0;
    sxt_test_put_string(&strings, "");
}

TEAR_DOWN()
{
    free(image);
}

static void open_content(struct sxt_test_lidia content)
{
    sxt_error error;
    free(image);
    content.strings = &strings;
    image = sxt_test_lidia_image(&content, &image_size);
    if (sxt_lidia_open(&lidia, image, image_size, true, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(lidia.buckets != NULL, content.parents != NULL);
    assert_int_equal(lidia.parents != NULL, content.parents != NULL);
}

static uint64_t text(const char *string)
{
    return sxt_test_put_string(&strings, string);
}

/* The function names at ADDRESS, innermost first, are those of EXPECTED, each a letter. */
static void assert_functions(uint64_t address, const char *expected)
{
    sxt_frame frames[FRAMES_MAX];
    size_t count = sxt_lidia_lookup(&lidia, address, frames, FRAMES_MAX);
    assert_int_equal(count, strlen(expected));
    for (size_t i = 0; i < count; i++)
        sxt_test_assert_text(frames[i].function, (char[]){expected[i], 0});
}

static void assert_frame(const sxt_frame *frame, const char *function, const char *file, uint32_t line)
{
    sxt_test_assert_text(frame->function, function);
    sxt_test_assert_text(frame->file, file);
    assert_int_equal(frame->line, line);
}

/* --- what a frame says --- */

static void open_nested(unsigned field_size, bool with_index)
{
    strings.size = 0;
    text("");
    uint64_t f = text("f"), g = text("g"), h = text("h"), f_c = text("f.c"), g_h = text("g.h"), other = text("other.c");
    const struct sxt_test_row rows[] = {
        {0x100, 0x40, 0, f, f_c, 0, 2, 0, 0},
        {0x110, 0x20, 1, g, g_h, 2, 2, other, 12},
        {0x118, 0x08, 2, h, 0, 4, 1, 0, 3},
    };
    const uint32_t lines[][2] = {{4, 10}, {0x30, 0}, {0, 20}, {4, 21}, {2, 30}};
    const uint32_t parents[] = {0, 1, 1};
    open_content((struct sxt_test_lidia){.rows = rows,
                                         .row_count = 3,
                                         .lines = lines,
                                         .line_count = 5,
                                         .parents = with_index ? parents : NULL,
                                         .field_size = field_size});
}

TEST(the_innermost_frame_stands_at_its_line_and_outer_ones_at_their_calls)
{
    for (unsigned i = 0; i < 4; i++) {
        open_nested(i % 2 ? 8 : 4, i / 2);
        sxt_frame frames[3];
        assert_int_equal(sxt_lidia_lookup(&lidia, 0x11c, frames, 3), 3);
        assert_frame(&frames[0], "h", NULL, 30);
        assert_frame(&frames[1], "g", "g.h", 3); /* the call has no file, so its own */
        assert_frame(&frames[2], "f", "other.c", 12);
        assert_true(frames[0].depth == 2 && frames[1].depth == 1 && frames[2].depth == 0);
        assert_true(frames[0].start == 0x118 && frames[0].length == 8);
        assert_true(frames[2].start == 0x100 && frames[2].length == 0x40);
        assert_int_equal(sxt_lidia_lookup(&lidia, 0x120, frames, 3), 2);
        assert_frame(&frames[0], "g", "g.h", 21);
        assert_frame(&frames[1], "f", "other.c", 12);
    }
}

TEST(a_line_holds_from_its_entry_to_the_next_one)
{
    open_nested(4, true);
    const struct {
        uint64_t address;
        uint32_t line;
    } cases[] = {{0x100, 0}, {0x103, 0}, {0x104, 10}, {0x10f, 10}, {0x110, 20}, {0x113, 20}, {0x114, 21},
                 {0x118, 0}, {0x119, 0}, {0x11a, 30}, {0x11f, 30}, {0x12f, 21}, {0x130, 0},  {0x13f, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sxt_frame frame;
        assert_true(sxt_lidia_lookup(&lidia, cases[i].address, &frame, 1) > 0);
        assert_int_equal(frame.line, cases[i].line);
    }
}

TEST(a_small_buffer_gets_the_innermost_frames_and_the_full_count)
{
    open_nested(4, true);
    for (size_t capacity = 0; capacity <= 4; capacity++) {
        sxt_frame frames[4];
        memset(frames, 0x5a, sizeof frames);
        assert_int_equal(sxt_lidia_lookup(&lidia, 0x11c, frames, capacity), 3);
        for (size_t i = 0; i < 3 && i < capacity; i++)
            assert_int_equal(frames[i].depth, 2 - i);
        for (size_t i = capacity; i < 4; i++)
            assert_int_equal(frames[i].depth, 0x5a5a5a5a);
    }
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x11c, NULL, 0), 3);
    assert_int_equal(sxt_lidia_lookup(&lidia, 0xff, NULL, 0), 0);
}

TEST(numbers_that_do_not_fit_a_frame_are_unknown)
{
    const uint64_t large = (uint64_t)1 << 32;
    uint64_t f = text("f");
    const struct sxt_test_row rows[] = {
        {0, 0x10, 0, f, 0, 0, 0, 0, 0},
        {0, 0x10, large + 1, large, large, large, large, large, large + 7},
    };
    open_content((struct sxt_test_lidia){.rows = rows, .row_count = 2, .field_size = 8});
    sxt_frame frames[2];
    assert_int_equal(sxt_lidia_lookup(&lidia, 0, frames, 2), 2);
    assert_frame(&frames[0], "", NULL, 0);
    assert_int_equal(frames[0].depth, UINT32_MAX);
    assert_frame(&frames[1], "f", NULL, 0);
}

TEST(the_worked_example_answers_as_written)
{
    uint64_t helper = text("h"), start_name = text("s"), main_name = text("m");
    const struct sxt_test_row rows[] = {{0x401000, 32, 0, start_name, 0, 0, 0, 0, 0},
                                        {0x401020, 64, 0, main_name, 0, 0, 0, 0, 0},
                                        {0x401060, 16, 0, helper, 0, 0, 0, 0, 0}};
    open_content((struct sxt_test_lidia){.rows = rows, .row_count = 3});
    assert_functions(0, "");
    assert_functions(0x400fff, "");
    assert_functions(0x401000, "s");
    assert_functions(0x40101f, "s");
    assert_functions(0x401020, "m");
    assert_functions(0x40105f, "m");
    assert_functions(0x401060, "h");
    assert_functions(0x40106f, "h");
    assert_functions(0x401070, "");
    assert_functions(UINT64_MAX, "");
}

TEST(an_empty_file_knows_nothing)
{
    open_content((struct sxt_test_lidia){.row_count = 0});
    assert_functions(0, "");
    assert_functions(UINT64_MAX, "");
    const uint64_t addresses[] = {0, 5, UINT64_MAX};
    size_t first[4];
    sxt_frame frame;
    assert_int_equal(sxt_lidia_lookup_batch(&lidia, addresses, 3, &frame, 1, first), 3);
    assert_int_equal(first[3], 0);
}

TEST(a_function_may_reach_beyond_four_gigabytes_from_a_short_address)
{
    uint64_t f = text("f");
    open_content(
        (struct sxt_test_lidia){.rows = &(struct sxt_test_row){0xfffffff0, 0x20, 0, f, 0, 0, 0, 0, 0}, .row_count = 1});
    assert_functions(0xffffffef, "");
    assert_functions(0xfffffff0, "f");
    assert_functions(UINT32_MAX, "f");
    assert_functions((uint64_t)1 << 32, "f");
    assert_functions(0x10000000f, "f");
    assert_functions(0x100000010, "");
    assert_functions(0x1fffffff8, "");
}

/* --- the walking rule, for files without our index --- */

TEST(of_aliases_the_last_row_wins_and_an_empty_one_hides_the_rest)
{
    uint64_t a = text("a"), b = text("b"), z = text("z");
    const struct sxt_test_row rows[] = {
        {0x10, 8, 0, a, 0, 0, 0, 0, 0},
        {0x10, 8, 0, b, 0, 0, 0, 0, 0},
        {0x20, 8, 0, a, 0, 0, 0, 0, 0},
        {0x20, 0, 0, z, 0, 0, 0, 0, 0},
    };
    open_content((struct sxt_test_lidia){.rows = rows, .row_count = 4});
    assert_functions(0x10, "b");
    assert_functions(0x20, "");
    assert_functions(0x27, "");
}

TEST(a_nested_function_hides_the_rest_of_the_outer_one)
{
    uint64_t a = text("a"), b = text("b");
    const struct sxt_test_row rows[] = {{0x10, 0x20, 0, a, 0, 0, 0, 0, 0}, {0x18, 8, 0, b, 0, 0, 0, 0, 0}};
    open_content((struct sxt_test_lidia){.rows = rows, .row_count = 2});
    assert_functions(0x17, "a");
    assert_functions(0x18, "b");
    assert_functions(0x20, "");
}

TEST(rows_that_do_not_cover_are_passed_over_until_depth_zero)
{
    uint64_t a = text("a"), b = text("b"), c = text("c"), d = text("d");
    const struct sxt_test_row rows[] = {
        {0x00, 0x100, 0, d, 0, 0, 0, 0, 0}, {0x10, 0x40, 0, a, 0, 0, 0, 0, 0}, {0x10, 0x04, 5, b, 0, 0, 0, 0, 0},
        {0x14, 0x20, 1, c, 0, 0, 0, 0, 0},  {0x18, 0x04, 9, b, 0, 0, 0, 0, 0},
    };
    open_content((struct sxt_test_lidia){.rows = rows, .row_count = 5});
    assert_functions(0x30, "ca");
    assert_functions(0x4f, "a");
    assert_functions(0x50, "");
}

TEST(without_a_function_the_walk_ends_at_the_first_row)
{
    uint64_t a = text("a"), b = text("b");
    const struct sxt_test_row rows[] = {{0x10, 0x40, 1, a, 0, 0, 0, 0, 0}, {0x20, 0x08, 2, b, 0, 0, 0, 0, 0}};
    open_content((struct sxt_test_lidia){.rows = rows, .row_count = 2});
    assert_functions(0x20, "ba");
    assert_functions(0x30, "a");
    assert_functions(0x0f, "");
}

/* --- random files --- */

#define ROWS_MAX 400
#define NAMES    7 /* of different sizes */
#define SPACE    600

struct random_file {
    struct sxt_test_row rows[ROWS_MAX];
    uint32_t parents[ROWS_MAX];
    uint32_t lines[ROWS_MAX * 3][2];
    size_t row_count, line_count;
};

static uint64_t names[NAMES];

static void add_row(struct random_file *file, struct sxt_test_random *random, size_t parent, uint64_t from, uint64_t to,
                    uint64_t depth)
{
    if (file->row_count == ROWS_MAX)
        return;
    size_t self = file->row_count++;
    struct sxt_test_row *row = &file->rows[self];
    *row = (struct sxt_test_row){.address = from,
                                 .length = to - from,
                                 .depth = depth,
                                 .function = names[self % NAMES],
                                 .first_line = file->line_count,
                                 .call_line = depth > 0 ? 1 + sxt_test_below(random, 50) : 0};
    file->parents[self] = depth > 0 ? (uint32_t)(self - parent) : 0;
    for (uint32_t offset = sxt_test_below(random, 3); offset < to - from && row->line_count < 3;
         offset += 1 + sxt_test_below(random, 9)) {
        file->lines[file->line_count][0] = offset;
        file->lines[file->line_count++][1] = sxt_test_below(random, 100);
        row->line_count++;
    }
    for (uint64_t at = from; sxt_test_below(random, 5) != 0;) {
        uint64_t inner = at + sxt_test_below(random, 4);
        at = inner + 1 + sxt_test_below(random, 40);
        if (at > to)
            break;
        add_row(file, random, self, inner, at, depth + 1);
    }
}

/* The rows are made in tree order, which is the file's order. */
static void make_random_file(struct random_file *file, uint64_t seed)
{
    struct sxt_test_random random = {seed * 1000003};
    file->row_count = file->line_count = 0;
    strings.size = 0;
    for (unsigned i = 0; i < NAMES; i++)
        names[i] = sxt_test_put_string(&strings, &"number"[i]);
    for (uint64_t at = sxt_test_below(&random, 5); at < SPACE - 100;) {
        uint64_t end = at + 1 + sxt_test_below(&random, 100);
        add_row(file, &random, 0, at, end, 0);
        at = end + sxt_test_below(&random, 10) / 3;
    }
}

/* Compares a chain with all rows of the file, deepest first. */
static void assert_chain(const struct random_file *file, uint64_t address, const sxt_frame *frames, size_t count)
{
    size_t found = 0;
    const struct sxt_test_row *inner = NULL;
    for (size_t i = file->row_count; i-- > 0;) {
        const struct sxt_test_row *row = &file->rows[i];
        if (address < row->address || address >= row->address + row->length)
            continue;
        assert_true(found < count);
        const sxt_frame *frame = &frames[found++];
        assert_true(frame->start == row->address && frame->length == row->length && frame->depth == row->depth);
        sxt_test_assert_text(frame->function, &"number"[i % NAMES]);
        uint32_t line = 0;
        for (uint64_t k = row->first_line; k < row->first_line + row->line_count; k++)
            if (file->lines[k][0] <= address - row->address)
                line = file->lines[k][1];
        assert_int_equal(frame->line, inner == NULL ? line : inner->call_line);
        inner = row;
    }
    assert_int_equal(count, found);
}

static void assert_batch(const struct random_file *file, const uint64_t *addresses, size_t count, size_t capacity)
{
    sxt_frame *frames = calloc(capacity, sizeof *frames); /* exactly, so that a sanitizer sees its end */
    size_t *first = calloc(count + 1, sizeof *first);
    assert_true(frames != NULL && first != NULL);
    for (size_t done = 0; done < count;) {
        size_t answered = sxt_lidia_lookup_batch(&lidia, addresses + done, count - done, frames, capacity, first);
        assert_int_equal(first[0], 0);
        assert_true(answered > 0 && answered <= count - done);
        for (size_t i = 0; i < answered; i++)
            assert_chain(file, addresses[done + i], frames + first[i], first[i + 1] - first[i]);
        /* It stopped because the next chain has no room, and for no other reason. */
        if (answered < count - done)
            assert_true(sxt_lidia_lookup(&lidia, addresses[done + answered], NULL, 0) > capacity - first[answered]);
        done += answered;
    }
    free(frames);
    free(first);
}

TEST(random_files_agree_with_brute_force_in_every_way_of_asking)
{
    static struct random_file file;
    static const unsigned parent_sizes[] = {2, 4};
    for (uint64_t seed = 1; seed <= 150; seed++) {
        make_random_file(&file, seed);
        struct sxt_test_random random = {seed};
        for (unsigned form = 0; form < 4; form++) {
            open_content((struct sxt_test_lidia){.rows = file.rows,
                                                 .row_count = file.row_count,
                                                 .lines = (const uint32_t(*)[2])file.lines,
                                                 .line_count = file.line_count,
                                                 .parents = form % 2 ? file.parents : NULL,
                                                 .address_size = form / 2 ? 8 : 4,
                                                 .line_size = form / 2 ? 4 : 2,
                                                 .parent_size = parent_sizes[form / 2]});
            uint64_t sorted[SPACE + 10], shuffled[SPACE + 10];
            for (uint64_t address = 0; address < SPACE + 10; address++) {
                sxt_frame frames[FRAMES_MAX];
                size_t count = sxt_lidia_lookup(&lidia, address, frames, FRAMES_MAX);
                assert_true(count <= FRAMES_MAX);
                assert_chain(&file, address, frames, count);
                sorted[address] = address;
                shuffled[address] = sxt_test_below(&random, SPACE + 10);
            }
            assert_batch(&file, sorted, SPACE + 10, FRAMES_MAX * SPACE);
            assert_batch(&file, sorted, SPACE + 10, FRAMES_MAX);
            assert_batch(&file, shuffled, SPACE + 10, FRAMES_MAX * SPACE);
            assert_batch(&file, shuffled, SPACE + 10, FRAMES_MAX + 13);
        }
    }
}

/* --- batches --- */

TEST(a_batch_of_nothing_and_a_batch_without_room)
{
    open_nested(4, true);
    const uint64_t addresses[] = {0, 0x50, 0x11c, 0x100};
    size_t first[5] = {9, 9, 9, 9, 9};
    sxt_frame frames[3];
    assert_int_equal(sxt_lidia_lookup_batch(&lidia, addresses, 0, frames, 3, first), 0);
    assert_int_equal(first[0], 0);
    assert_int_equal(sxt_lidia_lookup_batch(&lidia, addresses, 4, NULL, 0, first), 2);
    assert_true(first[0] == 0 && first[1] == 0 && first[2] == 0);
    assert_int_equal(sxt_lidia_lookup_batch(&lidia, addresses, 4, frames, 2, first), 2);
    assert_int_equal(sxt_lidia_lookup_batch(&lidia, addresses, 4, frames, 3, first), 3);
    assert_int_equal(first[3], 3);
}

TEST(an_index_that_lies_never_leads_outside_or_in_circles)
{
    static struct random_file file;
    make_random_file(&file, 77);
    for (size_t i = 0; i < file.row_count; i++)
        file.rows[i].function = 0;
    struct sxt_test_random random = {78};
    for (unsigned trial = 0; trial < 60; trial++) {
        for (size_t i = 0; i < file.row_count; i++)
            file.parents[i] = sxt_test_below(&random, trial % 2 ? 300 : 3);
        open_content((struct sxt_test_lidia){
            .rows = file.rows, .row_count = file.row_count, .parents = file.parents, .parent_size = trial % 2 ? 2 : 1});
        uint32_t largest = trial % 3 == 0 ? (uint32_t)file.row_count + 2 : trial % 3 == 1 ? UINT32_MAX : 20;
        for (size_t at = sxt_test_index_at(image) + SXT_LIDIA_INDEX_HEADER_SIZE; at < sxt_test_name_sizes_at(image);
             at += 4)
            sxt_test_store(image + at, sxt_test_below(&random, largest), 4);
        for (size_t at = sxt_test_name_sizes_at(image); at < sxt_test_parents_at(image); at += 2)
            sxt_test_store(image + at, sxt_test_next(&random), 2);
        uint64_t addresses[SPACE];
        size_t first[SPACE + 1];
        for (uint64_t address = 0; address < SPACE; address++) {
            sxt_frame frames[FRAMES_MAX];
            size_t count = sxt_lidia_lookup(&lidia, address, frames, FRAMES_MAX);
            assert_true(count <= file.row_count);
            for (size_t i = 0; i < count && i < FRAMES_MAX; i++)
                assert_true(frames[i].function.size <= strings.size);
            addresses[address] = trial % 2 ? address : sxt_test_below(&random, SPACE);
        }
        static sxt_frame many[SPACE * FRAMES_MAX];
        assert_true(sxt_lidia_lookup_batch(&lidia, addresses, SPACE, many, SPACE * FRAMES_MAX, first) > 0);
    }
}

TEST(an_index_knows_no_better_than_the_file_where_rows_share_addresses)
{
    struct sxt_test_row rows[100];
    const uint32_t parents[100] = {0};
    uint64_t a = text("a");
    for (size_t i = 0; i < 100; i++)
        rows[i] = (struct sxt_test_row){i < 50 ? 0x10 : i < 99 ? 0x30 : 0x1000000, i + 1, 0, a, 0, 0, 0, 0, 0};
    open_content((struct sxt_test_lidia){.rows = rows, .row_count = 100, .parents = parents});
    sxt_frame frame;
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x10, &frame, 1), 1);
    assert_int_equal(frame.length, 50);
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x2f, &frame, 1), 1);
    assert_int_equal(frame.length, 50);
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x30, &frame, 1), 1);
    assert_int_equal(frame.length, 99);
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x93, &frame, 1), 0);
    assert_int_equal(sxt_lidia_lookup(&lidia, 0xffffff, &frame, 1), 0);
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x1000063, &frame, 1), 1);
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x0f, &frame, 1), 0);
}
