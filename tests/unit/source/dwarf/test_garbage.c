/*
 * A file with a little of everything, truncated, with flipped bits and with exchanged sections: there is always a
 * model, it is in order, and the same bytes always give the same model. AddressSanitizer detects reads beyond the end.
 */
#include <stdlib.h>
#include <string.h>

#include "support/dwarf_builder.h"
#include "support/random.h"
#include "support/test.h"
#include "symbols/symbols.h"

/* A little of everything that is read. */
static void make_rich(struct debug *debug, struct debug_shape shape)
{
    debug_init(debug, shape);
    debug_begin_lines(debug, &(struct debug_line_shape){.directory = "sub", .directory_index = 1}, "a.c b.h");
    for (unsigned i = 0; i < 3; i++) {
        debug_line_address(debug, TEXT + 0x40 * (2 - i));
        for (uint32_t row = 0; row < 8; row++) {
            debug_line_file(debug, 1 + row % 2);
            debug_line_row(debug, row > 0 ? 4 : 0, row * 3);
        }
        debug_line_end(debug, 0x24);
    }
    debug_end_lines(debug);
    uint64_t list = RANGE_LIST(debug, TEXT, TEXT + 0x20, TEXT + 0x40, TEXT + 0x60);
    uint64_t inner = RANGE_LIST(debug, TEXT + 4, TEXT + 8, TEXT + 0x44, TEXT + 0x60);
    uint64_t name = debug_string(debug, STR, "name in .debug_str");
    debug_string(debug, LINE_STR, "name in .debug_line_str");
    for (unsigned i = 0; i < 4; i++) {
        debug_number(debug, STR_OFFSETS, name, debug->offset_size);
        debug_number(debug, ADDR, TEXT + 0x80 + 8 * i, debug->address_size);
    }
    debug_begin_unit(debug, LINES(0), LOW(0), LANGUAGE(C_PLUS_PLUS),
                     VALUE(DW_AT_str_offsets_base, DW_FORM_sec_offset, 0),
                     VALUE(DW_AT_addr_base, DW_FORM_sec_offset, 0));
    OPEN(debug, DW_TAG_namespace, NAME("n"));
    uint64_t declared = ENTRY(debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strp, name), DECLARATION);
    uint64_t abstract = ENTRY(debug, DW_TAG_subprogram, SPECIFICATION(declared), VALUE(DW_AT_inline, DW_FORM_data1, 1));
    debug_close(debug);
    OPEN(debug, DW_TAG_structure_type, NAME("s"), VALUE(DW_AT_sibling, DW_FORM_ref4, 0xffff));
    ENTRY(debug, 0x0d, NAME("member"), VALUE(0x38, DW_FORM_exprloc, 3));
    debug_close(debug);
    OPEN(debug, DW_TAG_subprogram, ORIGIN(abstract), LIST(list));
    OPEN(debug, DW_TAG_inlined_subroutine, ORIGIN(abstract), LIST(inner), CALL(2, 5));
    ENTRY(debug, DW_TAG_inlined_subroutine, NAME("g"), LOW(TEXT + 0x48), HIGH(4), CALL(1, 6));
    debug_close(debug);
    debug_close(debug);
    if (shape.version >= 5)
        ENTRY(debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strx1, 1), VALUE(DW_AT_low_pc, DW_FORM_addrx1, 2),
              HIGH(8));
    debug_end_unit(debug);
    debug_new_abbreviations(debug);
    debug_begin_unit(debug, LINES(0), LOW(TEXT + 0xc0), HIGH(0x10));
    ENTRY(debug, DW_TAG_subprogram, ORIGIN(abstract), LOW(TEXT + 0xc0), HIGH(0x10));
    debug_end_unit(debug);
}

static void check_order(const struct sxt_symbols *symbols)
{
    uint64_t end = 0;
    for (size_t i = 0; i < symbols->range_count; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        assert_true(range->length > 0 && range->address + range->length - 1 >= range->address);
        assert_true(range->depth <= SXT_SYMBOLS_MAX_DEPTH);
        if (range->depth == 0) {
            assert_true(range->address >= end);
            end = range->address + range->length;
        } else {
            assert_true(range->address + range->length <= end);
        }
        assert_true((uint64_t)range->first_line + range->line_count <= symbols->line_count);
        for (uint32_t k = 1; k < range->line_count; k++)
            assert_true(symbols->lines[range->first_line + k].offset >
                        symbols->lines[range->first_line + k - 1].offset);
    }
}

/* Reads it twice. */
static void check(struct debug *debug)
{
    char *text[2];
    for (unsigned i = 0; i < 2; i++) {
        struct debug_result result = debug_read(debug, NULL);
        assert_int_equal(result.status, SXT_OK);
        check_order(result.symbols);
        text[i] = debug_text(debug, result.symbols);
        debug_result_free(&result);
    }
    assert_string_equal(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

static struct debug_shape shape_of(uint32_t number)
{
    struct debug_shape shape = {.version = (uint16_t)(2 + number % 4),
                                .narrow = number & 4,
                                .big_endian = number & 8,
                                .wide_offsets = number & 16};
    if (shape.version == 2)
        shape.wide_offsets = false;
    return shape;
}

TEST(the_undamaged_file_has_everything)
{
    for (uint32_t i = 0; i < 32; i++) {
        struct debug debug;
        make_rich(&debug, shape_of(i));
        struct debug_result result = debug_read(&debug, NULL);
        assert_int_equal(result.symbols->units.damaged, 0);
        assert_true(result.symbols->range_count >= 6 && result.symbols->line_count >= 10);
        debug_result_free(&result);
        check(&debug);
        debug_free(&debug);
    }
}

TEST(every_section_can_be_cut_anywhere)
{
    for (uint32_t shape = 0; shape < 32; shape += 3)
        for (unsigned section = 0; section < DEBUG_SECTION_COUNT; section++)
            for (uint64_t size = 0;; size += 1 + shape / 3) {
                struct debug debug;
                make_rich(&debug, shape_of(shape));
                bool done = size >= debug_size(&debug, (enum debug_section)section);
                if (!done) {
                    debug.sections[section].size = size;
                    check(&debug);
                }
                debug_free(&debug);
                if (done)
                    break;
            }
}

static void change(struct debug *debug, struct sxt_test_random *random)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    struct sxt_buffer *section;
    do
        section = &debug->sections[sxt_test_below(random, DEBUG_SECTION_COUNT)];
    while (section->size == 0);
    uint8_t *at = &section->data[sxt_test_below(random, (uint32_t)section->size)];
    switch (sxt_test_below(random, 3)) {
    case 0:
        *at ^= (uint8_t)(1 << sxt_test_below(random, 8));
        break;
    case 1:
        *at = values[sxt_test_below(random, sizeof values)];
        break;
    default:
        *at = (uint8_t)sxt_test_next(random);
    }
}

TEST(bits_can_be_flipped_anywhere)
{
    struct sxt_test_random random = {2026};
    for (unsigned i = 0; i < 6000; i++) {
        struct debug debug;
        make_rich(&debug, shape_of(i));
        for (uint32_t k = 1 + sxt_test_below(&random, i % 3 == 0 ? 30 : 3); k > 0; k--)
            change(&debug, &random);
        check(&debug);
        debug_free(&debug);
    }
}

TEST(sections_can_be_noise)
{
    struct sxt_test_random random = {7};
    for (unsigned i = 0; i < 600; i++) {
        struct debug debug;
        make_rich(&debug, shape_of(i));
        unsigned section = i % DEBUG_SECTION_COUNT;
        for (size_t k = 12; k < debug.sections[section].size; k++)
            debug.sections[section].data[k] = (uint8_t)sxt_test_next(&random);
        check(&debug);
        debug_free(&debug);
    }
}

TEST(sections_can_be_exchanged)
{
    for (unsigned a = 0; a < DEBUG_SECTION_COUNT; a++)
        for (unsigned b = 0; b < DEBUG_SECTION_COUNT; b++) {
            struct debug debug;
            make_rich(&debug, shape_of(a + b));
            struct sxt_buffer first = debug.sections[a];
            debug.sections[a] = debug.sections[b];
            debug.sections[b] = first;
            check(&debug);
            debug_free(&debug);
        }
}
