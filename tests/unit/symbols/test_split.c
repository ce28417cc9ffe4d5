/* test_split.c: ranges with one file each say, address for address, what the ranges of several files said. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "empty_model.h"
#include "support/model.h"
#include "support/random.h"
#include "support/test.h"

#define DEPTH_MAX        6
#define SPACE            96
#define PATIENCE_SECONDS 8.0

static void range(uint32_t depth, const char *name, uint64_t start, uint64_t end)
{
    sxt_test_add_call(model, DWARF, depth, name, start, end - start, NULL, depth > 0 ? "call.c" : NULL, depth);
}

static void line(uint32_t offset, const char *file, uint32_t number)
{
    sxt_test_add_line(model, offset, file, number);
}

static struct sxt_range_list split(void)
{
    struct sxt_range_list list;
    sxt_error error;
    sxt_test_finish(model);
    if (sxt_ranges_one_file(model, 2, &list, &error) != SXT_OK)
        fail_msg("%s", error.text);
    return list;
}

/* The pieces read as EXPECTED; each is followed by "=" and its file. */
/* The array that first_line of RANGE counts in. */
static const struct sxt_model_line *line_array(const struct sxt_range_list *list, const struct sxt_model_range *range)
{
    return range->flags & SXT_RANGE_OWN_LINES ? list->own_lines : list->lines;
}

static void expect_split(const char *expected)
{
    struct sxt_range_list list = split();
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < list.range_count; i++) {
        char *piece = sxt_test_ranges_text(model, &list.ranges[i], 1, line_array(&list, &list.ranges[i]));
        fprintf(out, "%s%s=%s", i > 0 ? " " : "", piece, sxt_symbols_view(model, list.ranges[i].file).data);
        free(piece);
    }
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
    sxt_range_list_free(&list);
    assert_null(list.ranges);
    assert_int_equal(list.range_count, 0);
}

TEST(an_empty_model_gives_an_empty_list)
{
    expect_split("");
}

TEST(ranges_of_one_file_are_not_cut_and_take_the_file_of_their_lines)
{
    sxt_test_add_call(model, DWARF, 0, "f", 0, 0x20, "declared.h", NULL, 0);
    line(0, "a.c", 1);
    line(8, "a.c", 2);
    sxt_test_add_call(model, DWARF, 0, "g", 0x20, 0x10, "g.c", NULL, 0);
    expect_split("f@0-20{0:a.c:1 8:a.c:2}=a.c g@20-30=g.c");
}

TEST(a_range_is_cut_where_its_file_changes)
{
    range(0, "f", 0, 0x30);
    line(0, "a.c", 1);
    line(8, "a.c", 2);
    line(0x10, "table.inc", 7);
    line(0x20, "a.c", 3);
    expect_split("f@0-10{0:a.c:1 8:a.c:2}=a.c f@10-20{0:table.inc:7}=table.inc f@20-30{0:a.c:3}=a.c");
}

TEST(a_cut_goes_through_everything_inlined_there)
{
    range(0, "f", 0, 0x30);
    line(0, "a.c", 1);
    line(0x10, "table.inc", 7);
    line(0x20, "a.c", 3);
    range(1, "g", 8, 0x28);
    line(0, "a.h", 4);
    line(4, "a.h", 5);
    range(2, "h", 0x0c, 0x14);
    expect_split("f@0-10{0:a.c:1}=a.c >g@8-10{0:a.h:4 4:a.h:5}=a.h >>h@c-10= "
                 "f@10-20{0:table.inc:7}=table.inc >g@10-20{0:a.h:5}=a.h >>h@10-14= "
                 "f@20-30{0:a.c:3}=a.c >g@20-28{0:a.h:5}=a.h");
}

TEST(a_cut_of_an_inlined_call_leaves_what_is_around_it_whole)
{
    range(0, "f", 0, 0x30);
    line(0, "a.c", 1);
    range(1, "g", 8, 0x28);
    line(0, "a.h", 4);
    line(0x10, "b.h", 5);
    range(1, "other", 0x28, 0x2c);
    expect_split("f@0-30{0:a.c:1}=a.c >g@8-18{0:a.h:4}=a.h >g@18-28{0:b.h:5}=b.h >other@28-2c=");
}

TEST(cuts_of_several_levels_are_each_made_once)
{
    range(0, "f", 0, 0x30);
    line(0, "a.c", 1);
    line(0x10, "b.c", 2);
    line(0x20, "a.c", 3);
    range(1, "g", 0, 0x30);
    line(0, "x.h", 4);
    line(0x08, "y.h", 5);
    line(0x10, "x.h", 6);
    line(0x28, "y.h", 7);
    expect_split(
        "f@0-10{0:a.c:1}=a.c >g@0-8{0:x.h:4}=x.h >g@8-10{0:y.h:5}=y.h f@10-20{0:b.c:2}=b.c >g@10-20{0:x.h:6}=x.h "
        "f@20-30{0:a.c:3}=a.c >g@20-28{0:x.h:6}=x.h >g@28-30{0:y.h:7}=y.h");
}

TEST(entries_of_an_unknown_file_cut_nothing)
{
    range(0, "f", 0, 0x30);
    line(0, "a.c", 1);
    line(0x10, NULL, 0);
    line(0x20, "a.c", 3);
    expect_split("f@0-30{0:a.c:1 10::0 20:a.c:3}=a.c");
}

TEST(an_entry_after_the_end_cuts_nothing)
{
    range(0, "f", 0, 0x10);
    line(0, "a.c", 1);
    line(0x10, "b.c", 2);
    expect_split("f@0-10{0:a.c:1}=a.c");
}

/* Compilers give several entries for one address; the last one counts. */
TEST(entries_at_one_address_make_no_empty_piece)
{
    range(0, "f", 0, 0x20);
    line(0, "a.c", 1);
    line(8, "b.c", 2);
    line(8, "a.c", 3);
    line(0x10, "b.c", 4);
    struct sxt_range_list list = split();
    for (size_t i = 0; i < list.range_count; i++)
        assert_true(list.ranges[i].length > 0);
    sxt_range_list_free(&list);
}

TEST(the_model_itself_stays_as_it_was)
{
    range(0, "f", 0, 0x30);
    line(0, "a.c", 1);
    line(0x10, "b.c", 2);
    range(1, "g", 8, 0x20);
    struct sxt_range_list list = split();
    sxt_range_list_free(&list);
    sxt_test_assert_model(model, "f@0-30{0:a.c:1 10:b.c:2} >g@8-20");
}

TEST(a_range_at_the_end_of_the_address_space_is_cut_right)
{
    range(0, "f", UINT64_MAX - 0x20, UINT64_MAX);
    line(0, "a.c", 1);
    line(0x1f, "b.c", 2);
    expect_split("f@ffffffffffffffdf-fffffffffffffffe{0:a.c:1}=a.c f@fffffffffffffffe-ffffffffffffffff{0:b.c:2}=b.c");
}

TEST(many_cuts_and_many_calls_are_not_quadratic)
{
    enum { COUNT = 400000 };
    range(0, "f", 0, 16 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        line(16 * i, i % 2 ? "a.c" : "b.c", 1 + i);
    for (uint32_t i = 0; i < COUNT; i++)
        range(1, "g", 16 * i + 4, 16 * i + 8);
    sxt_test_finish(model);
    double start = sxt_test_seconds();
    struct sxt_range_list list;
    assert_int_equal(sxt_ranges_one_file(model, 2, &list, NULL), SXT_OK);
    assert_true(sxt_test_seconds() - start < PATIENCE_SECONDS);
    assert_int_equal(list.range_count, 2 * COUNT);
    sxt_range_list_free(&list);
}

/* --- random models --- */

/* What is known at one address on one level. */
struct frame {
    uint32_t function, file, line, call_file, call_line;
};

static size_t frames_at(const struct sxt_range_list *list, bool one_file, uint64_t address, struct frame *frames)
{
    size_t depth = 0;
    for (size_t i = 0; i < list->range_count; i++) {
        const struct sxt_model_range *here = &list->ranges[i];
        if (address < here->address || address - here->address >= here->length)
            continue;
        const struct sxt_model_line *entry = sxt_test_line_at(line_array(list, here), here, address);
        assert_int_equal(here->depth, depth);
        frames[depth++] = (struct frame){
            .function = here->function,
            .file = entry != NULL && !one_file ? entry->file : here->file,
            .line = entry != NULL ? entry->line : 0,
            .call_file = here->call_file,
            .call_line = here->call_line,
        };
    }
    return depth;
}

/* Every range has lines from its first byte on, so that every address has a file. */
static void add_random_range(struct sxt_test_random *random, uint32_t depth, uint64_t start, uint64_t end)
{
    static const char *const files[] = {"a.c", "b.h", "c.inc"};
    char name[16];
    snprintf(name, sizeof name, "n%zu", model->range_count);
    sxt_test_add_call(model, DWARF, depth, name, start, end - start, "a.c", depth > 0 ? files[start % 3] : NULL,
                      depth * 100 + (uint32_t)start);
    uint32_t kinds = 1 + sxt_test_below(random, 3);
    for (uint64_t at = start; at < end; at += 1 + sxt_test_below(random, 12))
        line((uint32_t)(at - start), files[sxt_test_below(random, kinds)], 1 + sxt_test_below(random, 50));
    for (uint64_t at = start; depth + 1 < DEPTH_MAX && sxt_test_below(random, 4) != 0;) {
        uint64_t from = at + sxt_test_below(random, 5);
        at = from + 1 + sxt_test_below(random, 30);
        if (at > end)
            break;
        add_random_range(random, depth + 1, from, at);
    }
}

static void assert_pieces_are_in_order_and_inside(const struct sxt_range_list *list)
{
    const struct sxt_model_range *open[DEPTH_MAX] = {NULL};
    for (size_t i = 0; i < list->range_count; i++) {
        const struct sxt_model_range *piece = &list->ranges[i];
        assert_true(piece->length > 0);
        if (i > 0)
            assert_true(piece[-1].address < piece->address ||
                        (piece[-1].address == piece->address && piece[-1].depth < piece->depth));
        if (piece->depth > 0) {
            const struct sxt_model_range *around = open[piece->depth - 1];
            assert_true(piece->address >= around->address &&
                        piece->address + piece->length <= around->address + around->length);
        }
        open[piece->depth] = piece;
        for (uint32_t k = 0; k < piece->line_count; k++) {
            assert_true(sxt_range_list_lines(list, piece)[k].offset < piece->length);
            assert_int_equal(sxt_range_list_lines(list, piece)[k].file, piece->file);
        }
    }
}

TEST(random_models_say_the_same_before_and_after)
{
    size_t cut = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct sxt_test_random random = {seed << 20};
        for (uint64_t at = 0; at < SPACE;) {
            uint64_t end = at + 1 + sxt_test_below(&random, SPACE / 2);
            add_random_range(&random, 0, at, end);
            at = end + sxt_test_below(&random, 10);
        }
        struct sxt_range_list list = split();
        const struct sxt_range_list whole = {
            .ranges = model->ranges, .range_count = model->range_count, .lines = model->lines};
        assert_pieces_are_in_order_and_inside(&list);
        for (uint64_t address = 0; address < 2 * SPACE; address++) {
            struct frame before[DEPTH_MAX], after[DEPTH_MAX];
            size_t depth = frames_at(&whole, false, address, before);
            assert_int_equal(frames_at(&list, true, address, after), depth);
            assert_memory_equal(before, after, depth * sizeof *before);
        }
        cut += list.range_count - model->range_count;
        sxt_range_list_free(&list);
        sxt_symbols_free(&model);
        model = sxt_test_model();
    }
    assert_true(cut > 10000);
}

/* Which of the pieces continue another one: a digit each. */
static void expect_flags(const char *expected)
{
    struct sxt_range_list list = split();
    char found[32] = "";
    assert_true(list.range_count < sizeof found);
    for (size_t i = 0; i < list.range_count; i++)
        found[i] = list.ranges[i].flags & SXT_RANGE_CONTINUES ? '1' : '0';
    assert_string_equal(found, expected);
    sxt_range_list_free(&list);
}

TEST(pieces_after_the_first_continue_it)
{
    range(0, "f", 0, 16);
    line(0, "a.c", 1);
    line(8, "b.c", 2);
    range(1, "g", 4, 12);
    line(0, "a.h", 1);
    range(0, "f", 16, 24);
    line(0, "b.c", 1);
    expect_flags("00110");
}

TEST(pieces_of_a_range_that_is_only_assumed_to_be_one_do_not)
{
    range(0, "f", 0, 16);
    line(0, "a.c", 1);
    line(8, "b.c", 2);
    model->ranges[0].flags = SXT_RANGE_ASSUMED;
    expect_flags("00");
}

TEST(what_is_left_of_a_function_around_another_continues_it)
{
    sxt_test_add_function(model, "outer", 0, 16, 'G');
    sxt_test_add_function(model, "inner", 4, 4, 'G');
    sxt_test_add_function(model, "outer", 16, 4, 'G');
    expect_flags("0010");
}
