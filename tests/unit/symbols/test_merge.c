/*
 * test_merge.c: who owns which bytes when functions and sources overlap, and what becomes of lines and inlined calls
 * that are cut. test_merge_random.c compares with an oracle.
 */
#include <stdio.h>

#include "empty_model.h"
#include "support/model.h"
#include "support/test.h"

#define GO SXT_SOURCE_GO

/* A quadratic algorithm needs far longer, a linear one a tenth of it even under a sanitizer. */
#define PATIENCE_SECONDS 8.0

static void function(const char *name, uint64_t address, uint64_t size)
{
    sxt_test_add_function(model, name, address, size, 'G');
}

static void range(uint8_t source, uint32_t depth, const char *name, uint64_t start, uint64_t end)
{
    sxt_test_add_range(model, source, depth, name, start, end - start);
}

static void line(uint32_t offset, uint32_t number)
{
    sxt_test_add_line(model, offset, "f.c", number);
}

/* --- functions of one source --- */

TEST(a_nested_function_leaves_the_outer_one_on_both_sides)
{
    function("outer", 0x10, 0x30);
    function("inner", 0x20, 0x10);
    expect("outer@10-20 inner@20-30 outer@30-40");
}

TEST(nesting_may_be_deep)
{
    function("a", 0, 0x50);
    function("b", 0x10, 0x30);
    function("c", 0x20, 0x10);
    expect("a@0-10 b@10-20 c@20-30 b@30-40 a@40-50");
}

TEST(of_two_functions_that_overlap_in_part_the_later_one_has_the_shared_bytes)
{
    function("second", 0x18, 0x10);
    function("first", 0x10, 0x10);
    expect("first@10-18 second@18-28");
}

TEST(a_function_that_ends_with_a_nested_one_has_no_empty_rest)
{
    function("outer", 0x10, 0x20);
    function("inner", 0x20, 0x10);
    expect("outer@10-20 inner@20-30");
}

TEST(a_shorter_better_alias_leaves_the_rest_to_the_longer_one)
{
    sxt_test_add_function(model, "weak_long", 0x10, 0x20, 'W');
    sxt_test_add_function(model, "global_short", 0x10, 0x08, 'G');
    expect("global_short@10-18 weak_long@18-30");
}

TEST(functions_side_by_side_stay_as_they_are)
{
    function("b", 0x20, 0x10);
    function("a", 0x10, 0x10);
    function("c", 0x38, 0x08);
    expect("a@10-20 b@20-30 c@38-40");
}

TEST(only_functions_own_bytes)
{
    const char types[] = "FIPONT";
    for (unsigned i = 0; types[i] != 0; i++)
        sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = 0x10 * i,
                                                                 .size = 0x10,
                                                                 .name = sxt_test_string(model, (char[]){types[i], 0}),
                                                                 .type = types[i],
                                                                 .binding = 'G',
                                                                 .source = SXT_SOURCE_SYMTAB});
    expect("F@0-10 I@10-20 P@20-30");
    assert_int_equal(model->symbol_count, 6);
}

/* --- zero-size functions --- */

static void add_zero_size(const char *name, uint64_t address, uint64_t section_end)
{
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = address,
                                                             .name = sxt_test_string(model, name),
                                                             .type = 'F',
                                                             .binding = 'G',
                                                             .source = SXT_SOURCE_SYMTAB,
                                                             .section_end = section_end});
}

TEST(a_zero_size_function_owns_nothing_by_default)
{
    add_zero_size("zero", 0x10, 0x100);
    function("sized", 0x10, 0x10);
    add_zero_size("inside", 0x18, 0x100);
    expect("sized@10-20");
    assert_int_equal(model->symbol_count, 3);
}

TEST(a_zero_size_function_reaches_to_the_next_symbol_when_asked)
{
    model->extend_zero_size = true;
    add_zero_size("a", 0x10, 0x100);
    add_zero_size("b", 0x20, 0x100);
    function("sized", 0x28, 0x10);
    add_zero_size("last", 0x40, 0x48);
    expect("a@10-20 b@20-28 sized@28-38 last@40-48");
}

TEST(data_ends_an_extended_function_too)
{
    model->extend_zero_size = true;
    add_zero_size("a", 0x10, 0x100);
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = 0x14,
                                                             .size = 4,
                                                             .name = sxt_test_string(model, "jump_table"),
                                                             .type = 'N',
                                                             .binding = 'L',
                                                             .source = SXT_SOURCE_SYMTAB});
    expect("a@10-14");
}

TEST(an_extended_function_stays_inside_its_section)
{
    model->extend_zero_size = true;
    add_zero_size("a", 0x10, 0x18);
    add_zero_size("unknown_section", 0x20, 0);
    add_zero_size("behind_its_section", 0x30, 0x28);
    function("far", 0x1000, 0x10);
    expect("a@10-18 far@1000-1010");
}

TEST(of_extended_aliases_the_first_has_the_bytes)
{
    model->extend_zero_size = true;
    add_zero_size("a", 0x10, 0x100);
    add_zero_size("b", 0x10, 0x100);
    function("next", 0x20, 0x10);
    expect("a@10-20 next@20-30");
}

TEST(an_extended_function_gives_way_to_nothing_but_reaches_into_the_rest_of_a_sized_one)
{
    model->extend_zero_size = true;
    function("sized", 0x10, 0x20);
    add_zero_size("label", 0x18, 0x100);
    expect("sized@10-18 label@18-100");
}

TEST(extending_many_aliases_is_not_quadratic)
{
    model->extend_zero_size = true;
    for (unsigned i = 0; i < 200000; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        add_zero_size(name, 0x10, 0x100);
    }
    double start = sxt_test_seconds();
    expect("f0@10-100");
    assert_true(sxt_test_seconds() - start < PATIENCE_SECONDS);
}

/* --- several sources --- */

TEST(a_better_source_wins_where_it_covers_and_only_there)
{
    function("symbol", 0x10, 0x40);
    range(GO, 0, "go", 0x20, 0x40);
    range(DWARF, 0, "dwarf", 0x28, 0x30);
    expect("symbol@10-20 go@20-28 dwarf@28-30 go@30-40 symbol@40-50");
    assert_int_equal(model->ranges[0].source, SXT_SOURCE_SYMTAB);
    assert_int_equal(model->ranges[1].source, GO);
    assert_int_equal(model->ranges[2].source, DWARF);
}

TEST(a_worse_source_never_cuts_a_better_one)
{
    range(DWARF, 0, "dwarf", 0x10, 0x40);
    range(GO, 0, "go", 0x18, 0x20);
    function("symbol", 0x20, 0x08);
    expect("dwarf@10-40");
}

TEST(both_symbol_tables_are_one_source)
{
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = 0x18,
                                                             .size = 8,
                                                             .name = sxt_test_string(model, "dynamic"),
                                                             .type = 'F',
                                                             .binding = 'G',
                                                             .source = SXT_SOURCE_DYNSYM});
    function("static", 0x10, 0x20);
    expect("static@10-18 dynamic@18-20 static@20-30");
}

TEST(the_order_of_adding_does_not_matter_between_sources)
{
    range(DWARF, 0, "dwarf", 0x20, 0x30);
    function("symbol", 0x10, 0x10);
    range(GO, 0, "go", 0x18, 0x28);
    expect("symbol@10-18 go@18-20 dwarf@20-30");
}

TEST(ranges_that_begin_together_go_by_the_order_of_adding)
{
    range(DWARF, 0, "first", 0x10, 0x18);
    range(DWARF, 0, "second", 0x10, 0x20);
    expect("first@10-18 second@18-20");
}

TEST(an_empty_range_owns_nothing_and_takes_its_calls_along)
{
    range(DWARF, 0, "empty", 0x10, 0x10);
    range(DWARF, 1, "call", 0x10, 0x20);
    function("symbol", 0x10, 0x10);
    expect("symbol@10-20");
}

/* --- lines --- */

TEST(lines_follow_a_range_that_is_cut_at_its_front)
{
    range(GO, 0, "f", 0x10, 0x30);
    line(0, 1);
    line(8, 2);
    line(0x14, 3);
    range(DWARF, 0, "d", 0x10, 0x1c);
    expect("d@10-1c f@1c-30{0:f.c:2 8:f.c:3}");
}

TEST(a_cut_at_the_very_start_of_a_line_leaves_the_line_before_out)
{
    range(GO, 0, "f", 0x10, 0x30);
    line(0, 1);
    line(8, 2);
    range(DWARF, 0, "d", 0x10, 0x18);
    expect("d@10-18 f@18-30{0:f.c:2}");
}

TEST(lines_after_a_cut_at_the_end_are_dropped)
{
    range(GO, 0, "f", 0x10, 0x30);
    line(0, 1);
    line(8, 2);
    line(0x10, 3);
    range(DWARF, 0, "d", 0x20, 0x40);
    expect("f@10-20{0:f.c:1 8:f.c:2} d@20-40");
}

TEST(every_piece_of_a_range_has_its_part_of_the_lines)
{
    range(GO, 0, "f", 0, 0x40);
    line(0, 1);
    line(0x10, 2);
    line(0x20, 3);
    line(0x30, 4);
    range(DWARF, 0, "d", 0x18, 0x28);
    expect("f@0-18{0:f.c:1 10:f.c:2} d@18-28 f@28-40{0:f.c:3 8:f.c:4}");
}

TEST(a_line_that_begins_late_stays_where_it_is)
{
    range(GO, 0, "f", 0x10, 0x30);
    line(0x10, 1);
    range(DWARF, 0, "d", 0x10, 0x18);
    expect("d@10-18 f@18-30{8:f.c:1}");
}

TEST(lines_after_the_end_of_their_range_are_ignored)
{
    range(DWARF, 0, "f", 0x10, 0x20);
    line(0, 1);
    line(0x10, 2);
    line(0x20, 3);
    expect("f@10-20{0:f.c:1}");
}

/* A function with as many lines as it has holes must not copy all its lines for each piece. */
TEST(cutting_a_long_line_table_into_many_pieces_is_not_quadratic)
{
    enum { LINES = 12000 };
    range(GO, 0, "f", 0, 16 * LINES);
    for (uint32_t i = 0; i < LINES; i++)
        line(16 * i, i + 1);
    for (uint32_t i = 0; i < LINES; i++)
        range(DWARF, 0, "d", 16 * i + 4, 16 * i + 8);
    double start = sxt_test_seconds();
    sxt_test_finish(model);
    assert_true(sxt_test_seconds() - start < PATIENCE_SECONDS);
    assert_int_equal(model->range_count, 2 * LINES + 1);
    assert_true(model->line_count < 8 * LINES);
}

/* --- inlined calls --- */

TEST(calls_are_cut_with_the_function_around_them)
{
    range(GO, 0, "f", 0, 0x40);
    range(GO, 1, "a", 0x08, 0x38);
    line(0, 1);
    line(0x20, 2);
    range(GO, 2, "b", 0x10, 0x30);
    range(DWARF, 0, "d", 0x18, 0x20);
    expect("f@0-18 >a@8-18{0:f.c:1} >>b@10-18 d@18-20 f@20-40 >a@20-38{0:f.c:1 8:f.c:2} >>b@20-30");
}

TEST(a_call_belongs_to_the_function_added_before_it_even_where_another_owns_the_bytes)
{
    range(DWARF, 0, "f", 0x10, 0x30);
    range(DWARF, 1, "of_f", 0x20, 0x30);
    range(DWARF, 0, "g", 0x20, 0x40);
    expect("f@10-20 g@20-40");
}

/* --- the end of the address space --- */

TEST(functions_at_the_last_addresses_do_not_wrap)
{
    function("a", UINT64_MAX - 0x1f, 0x10);
    function("b", UINT64_MAX - 0x0f, 0x10);
    function("beyond", UINT64_MAX - 0x0b, 0x1000);
    function("at_the_last", UINT64_MAX, 1);
    function("everything", 1, UINT64_MAX);
    expect("everything@1-ffffffffffffffe0 a@ffffffffffffffe0-fffffffffffffff0 b@fffffffffffffff0-fffffffffffffff4 "
           "beyond@fffffffffffffff4-ffffffffffffffff");
}

TEST(a_cut_of_more_than_four_gigabytes_moves_lines_right)
{
    range(GO, 0, "f", 0, (uint64_t)1 << 40);
    line(0, 1);
    line(UINT32_MAX, 2);
    range(DWARF, 0, "d", 0x10, (uint64_t)1 << 33);
    expect("f@0-10{0:f.c:1} d@10-200000000 f@200000000-10000000000{0:f.c:2}");
}
