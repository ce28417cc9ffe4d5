/* Functions and the calls inlined into them: how entries nest, and what happens if they contradict each other. */
#include <stdlib.h>
#include <string.h>

#include "support/dwarf_builder.h"
#include "support/test.h"
#include "symbols/symbols.h"

#define DW_TAG_lexical_block 0x0b
#define DW_TAG_variable      0x34

static void begin(struct debug *debug)
{
    debug_init(debug, (struct debug_shape){.version = 4});
    debug_begin_unit(debug, LOW(TEXT), HIGH(0x100));
}

static void expect(struct debug *debug, const char *expected)
{
    debug_end_unit(debug);
    debug_expect(debug, expected);
    debug_free(debug);
}

static void function(struct debug *debug, const char *name, uint64_t start, uint64_t size)
{
    OPEN(debug, DW_TAG_subprogram, NAME(name), LOW(TEXT + start), HIGH(size));
}

static void call(struct debug *debug, const char *name, uint64_t start, uint64_t size, uint64_t line)
{
    OPEN(debug, DW_TAG_inlined_subroutine, NAME(name), LOW(TEXT + start), HIGH(size), CALL(1, line));
}

/* --- nesting --- */

TEST(calls_nest_as_their_entries_do)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x40);
    call(&debug, "a", 0x08, 0x20, 1);
    call(&debug, "b", 0x0c, 0x08, 2);
    debug_close(&debug);
    call(&debug, "c", 0x18, 0x08, 3);
    debug_close(&debug);
    debug_close(&debug);
    call(&debug, "d", 0x30, 0x08, 4);
    debug_close(&debug);
    debug_close(&debug);
    function(&debug, "g", 0x40, 0x10);
    debug_close(&debug);
    expect(&debug, "f@0-40 >a@8-28(:1) >>b@c-14(:2) >>c@18-20(:3) >d@30-38(:4) g@40-50");
}

TEST(blocks_and_variables_between_them_do_not_matter)
{
    struct debug debug;
    begin(&debug);
    OPEN(&debug, DW_TAG_lexical_block, LOW(TEXT), HIGH(0x80));
    function(&debug, "f", 0, 0x20);
    ENTRY(&debug, DW_TAG_variable, NAME("v"));
    OPEN(&debug, DW_TAG_lexical_block, LOW(TEXT), HIGH(0x18));
    OPEN(&debug, DW_TAG_lexical_block, NOTHING);
    call(&debug, "a", 0x00, 0x10, 1);
    OPEN(&debug, DW_TAG_lexical_block, LOW(TEXT + 4), HIGH(8));
    call(&debug, "b", 0x04, 0x04, 2);
    for (unsigned i = 0; i < 6; i++)
        debug_close(&debug);
    debug_close(&debug);
    expect(&debug, "f@0-20 >a@0-10(:1) >>b@4-8(:2)");
}

TEST(calls_have_several_ranges)
{
    for (uint16_t version = 4; version <= 5; version++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = version});
        uint64_t outer = RANGE_LIST(&debug, TEXT, TEXT + 0x10, TEXT + 0x80, TEXT + 0x90);
        uint64_t inner = RANGE_LIST(&debug, TEXT + 4, TEXT + 8, TEXT + 0x84, TEXT + 0x90, TEXT + 12, TEXT + 14);
        debug_begin_unit(&debug, LOW(0));
        OPEN(&debug, DW_TAG_subprogram, NAME("f"), LIST(outer));
        ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("g"), LIST(inner), CALL(1, 7));
        debug_close(&debug);
        expect(&debug, "f@0-10 >g@4-8(:7) >g@c-e(:7) f@80-90 >g@84-90(:7)");
    }
}

TEST(nested_functions_are_separate_functions)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "outer", 0, 0x40);
    call(&debug, "a", 0x00, 0x10, 1);
    debug_close(&debug);
    function(&debug, "inner", 0x40, 0x20);
    call(&debug, "b", 0x40, 0x10, 2);
    debug_close(&debug);
    debug_close(&debug);
    call(&debug, "c", 0x20, 0x10, 3);
    debug_close(&debug);
    debug_close(&debug);
    expect(&debug, "outer@0-40 >a@0-10(:1) >c@20-30(:3) inner@40-60 >b@40-50(:2)");
}

TEST(declarations_and_abstract_functions_have_no_code)
{
    struct debug debug;
    begin(&debug);
    ENTRY(&debug, DW_TAG_subprogram, NAME("declared"), DECLARATION);
    OPEN(&debug, DW_TAG_subprogram, NAME("abstract"), VALUE(DW_AT_inline, DW_FORM_data1, 1));
    ENTRY(&debug, DW_TAG_variable, NAME("v"));
    OPEN(&debug, DW_TAG_inlined_subroutine, NAME("inside"), NOTHING);
    debug_close(&debug);
    debug_close(&debug);
    OPEN(&debug, DW_TAG_subprogram, NAME("prototype"), DECLARATION);
    ENTRY(&debug, DW_TAG_variable, NAME("v"));
    debug_close(&debug);
    function(&debug, "f", 0, 0x10);
    debug_close(&debug);
    expect(&debug, "f@0-10");
}

TEST(a_call_outside_any_function_is_dropped)
{
    struct debug debug;
    begin(&debug);
    call(&debug, "lost", 0x00, 0x10, 1);
    call(&debug, "lost too", 0x00, 0x08, 1);
    debug_close(&debug);
    debug_close(&debug);
    function(&debug, "f", 0x20, 0x10);
    debug_close(&debug);
    expect(&debug, "f@20-30");
}

/* --- ranges that contradict the nesting --- */

TEST(a_call_outside_what_it_is_inlined_into_widens_it)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x40);
    call(&debug, "a", 0x08, 0x08, 1);
    call(&debug, "b", 0x10, 0x08, 2); /* after a */
    debug_close(&debug);
    call(&debug, "c", 0x30, 0x08, 3); /* far after it */
    debug_close(&debug);
    debug_close(&debug);
    debug_close(&debug);
    expect(&debug, "f@0-40 >a@8-18(:1) >>b@10-18(:2) >a@30-38(:1) >>c@30-38(:3)");
}

TEST(what_is_outside_the_function_is_dropped)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0x10, 0x10);
    call(&debug, "a", 0x08, 0x10, 1); /* begins before it */
    debug_close(&debug);
    call(&debug, "b", 0x1c, 0x10, 2); /* ends after it */
    debug_close(&debug);
    call(&debug, "c", 0x40, 0x10, 3); /* elsewhere */
    debug_close(&debug);
    debug_close(&debug);
    expect(&debug, "f@10-20 >a@10-18(:1) >b@1c-20(:2)");
}

TEST(a_call_without_ranges_is_a_frame_around_what_is_in_it)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x20);
    OPEN(&debug, DW_TAG_inlined_subroutine, NAME("a"), CALL(1, 5));
    call(&debug, "b", 0x08, 0x08, 2);
    debug_close(&debug);
    debug_close(&debug);
    OPEN(&debug, DW_TAG_inlined_subroutine, NAME("empty"), CALL(1, 6));
    debug_close(&debug);
    debug_close(&debug);
    expect(&debug, "f@0-20 >a@8-10(:5) >>b@8-10(:2)");
}

TEST(of_calls_that_overlap_the_later_one_has_the_bytes)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x40);
    call(&debug, "a", 0x08, 0x10, 1);
    debug_close(&debug);
    call(&debug, "b", 0x10, 0x10, 2);
    debug_close(&debug);
    call(&debug, "c", 0x30, 0x08, 3);
    debug_close(&debug);
    call(&debug, "d", 0x30, 0x08, 4);
    debug_close(&debug);
    debug_close(&debug);
    expect(&debug, "f@0-40 >a@8-10(:1) >b@10-20(:2) >d@30-38(:4)");
}

TEST(a_call_may_be_as_large_as_what_it_is_in)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x10);
    call(&debug, "a", 0, 0x10, 1);
    call(&debug, "b", 0, 0x10, 2);
    for (unsigned i = 0; i < 3; i++)
        debug_close(&debug);
    expect(&debug, "f@0-10 >a@0-10(:1) >>b@0-10(:2)");
}

/* --- lines --- */

TEST(lines_belong_to_the_innermost_call)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_unit(&debug, LINES(debug_plain_lines(&debug, 0x18, 1)), LOW(TEXT), HIGH(0x18));
    function(&debug, "f", 0, 0x18);
    call(&debug, "a", 4, 0x0c, 50);
    call(&debug, "b", 8, 4, 60);
    for (unsigned i = 0; i < 3; i++)
        debug_close(&debug);
    expect(&debug, "f@0-18{0:/src/a.c:1 10:/src/a.c:5 14:/src/a.c:6} >a@4-10(/src/a.c:50){0:/src/a.c:2 8:/src/a.c:4} "
                   ">>b@8-c(/src/a.c:60){0:/src/a.c:3}");
}

TEST(call_file_0_is_a_file_only_in_version_5)
{
    for (uint16_t version = 2; version <= 5; version++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = version});
        debug_begin_lines(&debug, NULL, "a.c b.c");
        debug_end_lines(&debug);
        debug_begin_unit(&debug, LINES(0), LOW(TEXT), HIGH(0x40));
        function(&debug, "f", 0, 0x40);
        static const uint64_t files[] = {0, 2, 3, UINT32_MAX, UINT64_MAX};
        for (unsigned i = 0; i < 5; i++) {
            OPEN(&debug, DW_TAG_inlined_subroutine, NAME("g"), LOW(TEXT + 8 * i), HIGH(8),
                 VALUE(DW_AT_call_file, DW_FORM_udata, files[i]), VALUE(DW_AT_call_line, DW_FORM_udata, i + 1));
            debug_close(&debug);
        }
        debug_close(&debug);
        expect(&debug, version < 5 ? "f@0-40 >g@0-8(:1) >g@8-10(/src/b.c:2) >g@10-18(:3) >g@18-20(:4) >g@20-28(:5)"
                                   : "f@0-40 >g@0-8(/src/a.c:1) >g@8-10(/src/b.c:2) >g@10-18(:3) >g@18-20(:4) "
                                     ">g@20-28(:5)");
    }
}

TEST(invalid_call_lines_are_unknown)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x40);
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("a"), LOW(TEXT), HIGH(8), CALL(1, UINT64_MAX));
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("b"), LOW(TEXT + 8), HIGH(8),
          VALUE(DW_AT_call_line, DW_FORM_sdata, (uint64_t)-1));
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("c"), LOW(TEXT + 16), HIGH(8),
          VALUE(DW_AT_call_line, DW_FORM_udata, UINT32_MAX));
    debug_close(&debug);
    expect(&debug, "f@0-40 >a@0-8(:0) >b@8-10(:0) >c@10-18(:4294967295)");
}

/* --- DW_AT_sibling --- */

/* A structure with the offset of the entry after it, and a function there. */
static void expect_sibling(struct debug_value sibling, bool fits, const char *expected)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_unit(&debug, LOW(TEXT), HIGH(0x100));
    uint64_t at = OPEN(&debug, DW_TAG_structure_type, sibling, NAME("s"));
    ENTRY(&debug, DW_TAG_variable, NAME("member"));
    debug_close(&debug);
    uint64_t next = debug_size(&debug, INFO);
    if (fits)
        debug_poke(&debug, INFO, at + 1, next, 4);
    function(&debug, "f", 0, 0x10);
    debug_close(&debug);
    debug_end_unit(&debug);
    struct debug_result result = debug_read(&debug, NULL);
    assert_int_equal(result.status, SXT_OK);
    char *text = debug_text(&debug, result.symbols);
    if (expected != NULL)
        assert_string_equal(text, expected);
    free(text);
    debug_result_free(&result);
    debug_free(&debug);
}

TEST(a_valid_sibling_is_followed)
{
    expect_sibling((struct debug_value)VALUE(DW_AT_sibling, DW_FORM_ref4, 0), true, "f@0-10");
    /* Other forms need not be followed. */
    expect_sibling((struct debug_value)VALUE(DW_AT_sibling, DW_FORM_ref_udata, 0), false, "f@0-10");
    expect_sibling((struct debug_value)VALUE(DW_AT_sibling, DW_FORM_ref8, 0), false, "f@0-10");
}

TEST(an_invalid_sibling_is_not_followed)
{
    static const uint64_t lies[] = {0, 1, 11, 30, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        expect_sibling((struct debug_value)VALUE(DW_AT_sibling, DW_FORM_ref4, lies[i]), false, "f@0-10");
}

/* It can lead into the middle of any later entry. What is found there is arbitrary, but reading ends. */
TEST(a_wrong_sibling_loses_at_most_the_unit)
{
    for (uint64_t to = 40; to < 120; to++)
        expect_sibling((struct debug_value)VALUE(DW_AT_sibling, DW_FORM_ref4, to), false, NULL);
}

/* --- limits --- */

TEST(calls_more_than_1000_deep_are_cut_off)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x100);
    for (unsigned i = 1; i < 1200; i++)
        call(&debug, "g", 0, 0x100, i);
    for (unsigned i = 0; i < 1200; i++)
        debug_close(&debug);
    function(&debug, "last", 0x100, 0x10);
    debug_close(&debug);
    debug_end_unit(&debug);
    struct debug_result result = debug_read(&debug, NULL);
    assert_int_equal(result.status, SXT_OK);
    assert_int_equal(result.symbols->range_count, 1 + SXT_SYMBOLS_MAX_DEPTH + 1);
    assert_int_equal(result.symbols->ranges[SXT_SYMBOLS_MAX_DEPTH].call_line, SXT_SYMBOLS_MAX_DEPTH);
    assert_int_equal(result.symbols->ranges[SXT_SYMBOLS_MAX_DEPTH + 1].depth, 0);
    debug_result_free(&result);
    debug_free(&debug);
}

/* If nesting is not tracked any more, everything inside belongs to the innermost tracked level. */
TEST(functions_and_scopes_nest_without_end)
{
    static const struct debug_value values[] = {NAME(""), NOTHING};
    static const struct debug_value code[] = {LOW(0), VALUE(DW_AT_high_pc, DW_FORM_data1, 0), NOTHING};
    enum { DEPTH = 70000 };
    for (unsigned kind = 0; kind < 2; kind++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 20});
        debug_begin_unit(&debug, LOW(TEXT), HIGH(0x100000), LANGUAGE(C_PLUS_PLUS));
        debug_abbreviation(&debug, 9, kind == 0 ? DW_TAG_namespace : DW_TAG_subprogram, true,
                           kind == 0 ? values : code);
        for (unsigned i = 0; i < DEPTH; i++) {
            debug_uleb(&debug, INFO, 9);
            if (kind == 0) {
                debug_string(&debug, INFO, "n");
            } else {
                debug_number(&debug, INFO, TEXT + i, 8);
                debug_number(&debug, INFO, 1, 1);
            }
        }
        for (unsigned i = 0; i < DEPTH; i++)
            debug_close(&debug);
        ENTRY(&debug, DW_TAG_subprogram, NAME("last"), LOW(TEXT + 0x80000), HIGH(0x10));
        expect(&debug, "last@80000-80010");
    }
}

TEST(a_million_nested_blocks_are_read)
{
    static const struct debug_value nothing[] = {NOTHING};
    enum { DEPTH = 1000000 };
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x20);
    debug_abbreviation(&debug, 9, DW_TAG_lexical_block, true, nothing);
    for (unsigned i = 0; i < DEPTH; i++)
        debug_number(&debug, INFO, 9, 1);
    debug.codes = 9;
    call(&debug, "deep", 4, 4, 3);
    debug_close(&debug);
    for (unsigned i = 0; i < DEPTH; i++)
        debug_close(&debug);
    call(&debug, "g", 8, 4, 4);
    debug_close(&debug);
    debug_close(&debug);
    expect(&debug, "f@0-20 >deep@4-8(:3) >g@8-c(:4)");
}

/* If the ends of lists of children are missing, the entries end with the unit, and nothing is lost. */
TEST(missing_ends_do_not_matter)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x20);
    call(&debug, "g", 8, 4, 4);
    debug_end_header(&debug);
    debug_begin_unit(&debug, LOW(TEXT + 0x20), HIGH(0x10));
    function(&debug, "h", 0x20, 0x10);
    debug_end_header(&debug);
    debug_expect(&debug, "f@0-20 >g@8-c(:4) h@20-30");
    debug_free(&debug);
}

TEST(entries_after_the_end_of_the_root_are_not_read)
{
    struct debug debug;
    begin(&debug);
    function(&debug, "f", 0, 0x20);
    debug_close(&debug);
    debug_close(&debug);
    function(&debug, "behind", 0x20, 0x20);
    expect(&debug, "f@0-20");
}
