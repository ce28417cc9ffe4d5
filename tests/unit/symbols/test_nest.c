/*
 * test_nest.c: inlined calls that do not lie where they should: sticking out, overlapping, without a parent, too deep.
 * test_merge_random.c compares with an oracle.
 */
#include "empty_model.h"
#include "support/model.h"
#include "support/test.h"

static void range(uint32_t depth, const char *name, uint64_t start, uint64_t end)
{
    sxt_test_add_range(model, DWARF, depth, name, start, end - start);
}

static void line(uint32_t offset, uint32_t number)
{
    sxt_test_add_line(model, offset, "f.c", number);
}

TEST(a_call_that_sticks_out_at_the_back_is_cut_off)
{
    range(0, "f", 0x10, 0x20);
    range(1, "a", 0x18, 0x28);
    line(0, 1);
    line(8, 2);
    range(2, "b", 0x1c, 0x2c);
    expect("f@10-20 >a@18-20{0:f.c:1} >>b@1c-20");
}

TEST(a_call_that_sticks_out_at_the_front_is_cut_off)
{
    range(0, "f", 0x10, 0x40);
    range(1, "a", 0x08, 0x30);
    range(1, "b", 0x30, 0x38);
    expect("f@10-40 >a@10-30 >b@30-38");
}

TEST(a_nested_call_that_sticks_out_at_the_front_is_cut_off)
{
    range(0, "f", 0x10, 0x40);
    range(1, "a", 0x20, 0x30);
    range(2, "b", 0x18, 0x28);
    line(0, 1);
    line(8, 2);
    expect("f@10-40 >a@20-30 >>b@20-28{0:f.c:2}");
}

TEST(a_call_outside_of_its_function_is_dropped)
{
    range(0, "f", 0x10, 0x20);
    range(1, "before", 0x00, 0x10);
    range(1, "behind", 0x20, 0x30);
    range(2, "behind_too", 0x24, 0x28);
    range(1, "empty", 0x18, 0x18);
    expect("f@10-20");
}

TEST(a_call_without_the_level_above_it_is_dropped)
{
    range(0, "f", 0x10, 0x40);
    range(2, "orphan", 0x18, 0x20);
    range(1, "a", 0x20, 0x30);
    range(3, "orphan", 0x24, 0x28);
    range(2, "b", 0x28, 0x2c);
    expect("f@10-40 >a@20-30 >>b@28-2c");
}

TEST(calls_in_front_of_the_first_function_are_dropped)
{
    range(1, "a", 0x10, 0x20);
    range(2, "b", 0x10, 0x20);
    range(0, "f", 0x10, 0x20);
    expect("f@10-20");
}

TEST(of_two_calls_that_overlap_the_later_one_keeps_its_bytes)
{
    range(0, "f", 0, 0x40);
    range(1, "a", 0x08, 0x20);
    line(0, 1);
    line(0x10, 2);
    range(1, "b", 0x10, 0x28);
    expect("f@0-40 >a@8-10{0:f.c:1} >b@10-28");
}

TEST(what_is_inside_a_call_is_cut_together_with_it)
{
    range(0, "f", 0, 0x40);
    range(1, "a", 0x08, 0x20);
    range(2, "in_a", 0x0c, 0x1c);
    range(3, "deep_in_a", 0x0e, 0x18);
    range(1, "b", 0x10, 0x28);
    expect("f@0-40 >a@8-10 >>in_a@c-10 >>>deep_in_a@e-10 >b@10-28");
}

TEST(what_lies_in_the_lost_part_of_a_call_is_not_given_to_its_neighbour)
{
    range(0, "f", 0, 0x40);
    range(1, "a", 0x08, 0x30);
    range(2, "in_a", 0x14, 0x18);
    range(2, "in_the_lost_end_of_a", 0x2a, 0x2c);
    range(1, "b", 0x10, 0x28);
    range(2, "in_b", 0x20, 0x24);
    expect("f@0-40 >a@8-10 >b@10-28 >>in_b@20-24");
}

TEST(siblings_may_be_added_in_any_order)
{
    range(0, "f", 0, 0x40);
    range(1, "late", 0x20, 0x30);
    range(2, "in_late", 0x20, 0x28);
    range(1, "early", 0x08, 0x10);
    range(2, "in_early", 0x08, 0x10);
    expect("f@0-40 >early@8-10 >>in_early@8-10 >late@20-30 >>in_late@20-28");
}

TEST(of_two_calls_that_begin_together_the_first_is_kept)
{
    range(0, "f", 0, 0x40);
    range(1, "a", 0x08, 0x10);
    range(1, "b", 0x08, 0x20);
    expect("f@0-40 >a@8-10");
}

static void add_deep_calls(uint32_t levels)
{
    range(0, "f", 0, 0x10);
    for (uint32_t depth = 1; depth <= levels; depth++)
        range(depth, "call", 0, 0x10);
}

TEST(calls_are_kept_to_the_greatest_depth_and_deeper_ones_dropped)
{
    add_deep_calls(SXT_SYMBOLS_MAX_DEPTH + 5);
    range(UINT32_MAX, "deepest", 0, 0x10);
    sxt_test_finish(model);
    assert_int_equal(model->range_count, SXT_SYMBOLS_MAX_DEPTH + 1);
    for (size_t i = 0; i < model->range_count; i++)
        assert_int_equal(model->ranges[i].depth, i);
}

TEST(calls_at_the_last_addresses_do_not_wrap)
{
    range(0, "f", UINT64_MAX - 0x20, UINT64_MAX);
    sxt_test_add_range(model, DWARF, 1, "a", UINT64_MAX - 0x10, UINT64_MAX);
    line(0, 1);
    line(0xf, 2);
    line(0x10, 3);
    line(UINT32_MAX, 4);
    sxt_test_add_range(model, DWARF, 2, "wraps", UINT64_MAX - 8, 0x10);
    expect("f@ffffffffffffffdf-ffffffffffffffff >a@ffffffffffffffef-ffffffffffffffff{0:f.c:1 f:f.c:2} "
           ">>wraps@fffffffffffffff7-ffffffffffffffff");
}
