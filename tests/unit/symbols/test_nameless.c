/* Lines without a function: the symbols that lie there get them, and nothing else is changed. */
#include "support/model.h"
#include "support/test.h"

/* A piece of a line table, with a line every 4 bytes. */
static void add_lines(struct sxt_symbols *model, uint64_t address, uint64_t length, uint32_t line)
{
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, NULL, address, length);
    for (uint32_t at = 0; at < length; at += 4)
        sxt_test_add_line(model, at, "a.s", line++);
}

static void add_label(struct sxt_symbols *model, const char *name, uint64_t address, uint64_t size, char type)
{
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = address,
                                                             .size = size,
                                                             .name = sxt_test_string(model, name),
                                                             .type = type,
                                                             .binding = 'L',
                                                             .source = SXT_SOURCE_SYMTAB,
                                                             .section_end = 0x1000});
}

static void expect(struct sxt_symbols *model, const char *expected)
{
    sxt_test_finish(model);
    sxt_test_assert_model(model, expected);
    sxt_symbols_free(&model);
}

TEST(lines_alone_are_no_range)
{
    struct sxt_symbols *model = sxt_test_model();
    add_lines(model, 0x100, 0x10, 1);
    expect(model, "");
}

TEST(a_symbol_gets_the_lines_at_its_addresses)
{
    struct sxt_symbols *model = sxt_test_model();
    add_lines(model, 0x100, 0x10, 1);
    sxt_test_add_function(model, "whole", 0x100, 0x10, 'G');
    expect(model, "whole@100-110{0:a.s:1 4:a.s:2 8:a.s:3 c:a.s:4}");
}

TEST(a_symbol_in_the_middle_gets_the_line_in_effect)
{
    struct sxt_symbols *model = sxt_test_model();
    add_lines(model, 0x100, 0x10, 1);
    sxt_test_add_function(model, "part", 0x106, 4, 'G');
    expect(model, "part@106-10a{0:a.s:2 2:a.s:3}");
}

TEST(outside_the_lines_nothing_is_known)
{
    struct sxt_symbols *model = sxt_test_model();
    add_lines(model, 0x104, 4, 1);
    add_lines(model, 0x10c, 4, 7);
    sxt_test_add_function(model, "f", 0x100, 0x20, 'G');
    sxt_test_add_function(model, "g", 0x200, 0x20, 'G');
    expect(model, "f@100-120{4:a.s:1 8::0 c:a.s:7 10::0} g@200-220");
}

TEST(labels_without_a_size_reach_to_the_next_symbol_or_the_end_of_the_lines)
{
    struct sxt_symbols *model = sxt_test_model();
    add_lines(model, 0x100, 0x20, 1);
    add_label(model, "first", 0x100, 0, 'N');
    add_label(model, "second", 0x108, 0, 'F');
    add_label(model, "outside", 0x140, 0, 'N');
    expect(model, "first@100-108{0:a.s:1 4:a.s:2} second@108-120{0:a.s:3 4:a.s:4 8:a.s:5 c:a.s:6 10:a.s:7 14:a.s:8}");
}

TEST(labels_of_assemblers_are_not_for_people)
{
    struct sxt_symbols *model = sxt_test_model();
    add_lines(model, 0x100, 8, 1);
    add_label(model, "$x", 0x100, 0, 'N');
    add_label(model, ".Lhere", 0x100, 0, 'N');
    expect(model, "");
}

TEST(labels_where_no_lines_are_own_nothing)
{
    struct sxt_symbols *model = sxt_test_model();
    add_label(model, "label", 0x100, 0, 'N');
    add_label(model, "data", 0x104, 8, 'N');
    sxt_test_add_function(model, "f", 0x200, 4, 'G');
    expect(model, "f@200-204");
}

/* A function of 16 bytes without a name, and a call of 8 bytes that was inlined into it. */
static void add_nameless_function(struct sxt_symbols *model)
{
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, NULL, 0x100, 0x10);
    model->ranges[model->range_count - 1].flags |= SXT_RANGE_KEEP;
    sxt_test_add_line(model, 0, "f.c", 9);
    sxt_test_add_line(model, 0xc, "f.c", 10);
    sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "call", 0x104, 8, "f.h", "f.c", 9);
    sxt_test_add_line(model, 0, "f.h", 3);
}

TEST(a_symbol_gets_the_inlined_calls_at_its_addresses)
{
    struct sxt_symbols *model = sxt_test_model();
    add_nameless_function(model);
    sxt_test_add_function(model, "f", 0x100, 0x10, 'G');
    expect(model, "f@100-110{0:f.c:9 c:f.c:10} >call@104-10c{0:f.h:3}");
}

TEST(two_symbols_share_an_inlined_call)
{
    struct sxt_symbols *model = sxt_test_model();
    add_nameless_function(model);
    sxt_test_add_function(model, "f", 0x100, 8, 'G');
    sxt_test_add_function(model, "g", 0x108, 8, 'G');
    expect(model, "f@100-108{0:f.c:9} >call@104-108{0:f.h:3} g@108-110{0:f.c:9 4:f.c:10} "
                  ">call@108-10c{0:f.h:3}");
}

TEST(a_function_without_a_name_and_a_symbol_is_kept)
{
    struct sxt_symbols *model = sxt_test_model();
    add_nameless_function(model);
    sxt_test_add_function(model, "other", 0x110, 0x10, 'G');
    expect(model, "@100-110{0:f.c:9 c:f.c:10} >call@104-10c{0:f.h:3} other@110-120");
}

TEST(what_symbols_leave_of_a_function_without_a_name_is_padding)
{
    struct sxt_symbols *model = sxt_test_model();
    add_nameless_function(model);
    sxt_test_add_function(model, "f", 0x100, 0xd, 'G');
    expect(model, "f@100-10d{0:f.c:9 c:f.c:10} >call@104-10c{0:f.h:3}");
}

/* Many calls and many symbols: the time must not be the product. */
TEST(many_symbols_share_many_inlined_calls)
{
    enum { COUNT = 60000 };
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, NULL, 0x1000, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        sxt_test_add_range(model, SXT_SOURCE_DWARF, 1, "call", 0x1000 + i, 1);
    for (uint32_t i = 0; i < COUNT; i++)
        sxt_test_add_function(model, "f", 0x1000 + i, COUNT - i, 'G');
    double before = sxt_test_seconds();
    sxt_test_finish(model);
    assert_true(sxt_test_seconds() - before < 3);
    assert_int_equal(model->range_count, 2 * COUNT);
    sxt_symbols_free(&model);
}

TEST(a_function_of_dwarf_keeps_its_own_lines)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, "f", 0x104, 4);
    sxt_test_add_line(model, 0, "f.c", 50);
    add_lines(model, 0x100, 0x10, 1);
    sxt_test_add_function(model, "around", 0x100, 0x10, 'G');
    expect(model, "around@100-104{0:a.s:1} f@104-108{0:f.c:50} around@108-110{0:a.s:3 4:a.s:4}");
}

TEST(where_pieces_overlap_the_first_one_counts)
{
    struct sxt_symbols *model = sxt_test_model();
    add_lines(model, 0x108, 8, 20);
    add_lines(model, 0x100, 0xc, 1);
    add_lines(model, 0x100, 4, 90);
    sxt_test_add_function(model, "f", 0x100, 0x10, 'G');
    expect(model, "f@100-110{0:a.s:1 4:a.s:2 8:a.s:3 c:a.s:21}");
}

/* One piece of many lines, and as many symbols that reach to its end: the time must not be the product. */
TEST(many_symbols_share_a_piece_of_many_lines)
{
    enum { COUNT = 60000 };
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, NULL, 0x1000, COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        sxt_test_add_line(model, i, "a.s", i);
    for (uint32_t i = 0; i < COUNT; i++)
        sxt_test_add_function(model, "f", 0x1000 + i, COUNT - i, 'G');
    double before = sxt_test_seconds();
    sxt_test_finish(model);
    assert_true(sxt_test_seconds() - before < 3);
    assert_int_equal(model->range_count, COUNT);
    assert_int_equal(model->lines[model->ranges[COUNT - 1].first_line].line, COUNT - 1);
    sxt_symbols_free(&model);
}
