/* test_rules.c: what the instructions of a CIE and an FDE make of a frame. */
#include <string.h>

#include "rules_image.h"

SET_UP()
{
    sxt_image_map();
}

TEAR_DOWN()
{
    sxt_image_unmap();
}

TEST(takes_the_row_of_the_cie)
{
    assert_rule(sxt_image_rule(NO_CODE, 0), STACK(8));
    assert_rule(sxt_image_rule(CODE(0, 0, 0), FUNCTION_SIZE - 1), STACK(8));
}

TEST(defines_the_cfa)
{
    assert_rule(sxt_image_rule(CODE(0x0c, FP, 16), 0), RULE_MAKE(RULE_FROM_FRAME, 16, 0, 8));
    assert_rule(sxt_image_rule(CODE(0x0d, FP), 0), RULE_MAKE(RULE_FROM_FRAME, 8, 0, 8));
    assert_rule(sxt_image_rule(CODE(0x0e, 48), 0), STACK(48));
    assert_rule(sxt_image_rule(CODE(0x0e, 0x80, 0x02), 0), STACK(256));
    assert_rule(sxt_image_rule(CODE(0x12, FP, 0x7e), 0), RULE_MAKE(RULE_FROM_FRAME, 16, 0, 8)); /* -2 * -8 */
    assert_rule(sxt_image_rule(CODE(0x13, 0x7d), 0), STACK(24));
    assert_rule(sxt_image_rule(CODE(0x13, 0x03), 0), RULE_GUESS); /* below the stack pointer */
    assert_rule(sxt_image_rule(CODE(0x0c, OTHER, 16), 0), RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(0x0c, OTHER, 16, 0x0d, SP), 0), STACK(16));
}

TEST(notes_where_registers_are_saved)
{
    frame_rule pushed = RULE_MAKE(RULE_FROM_STACK, 8, 16, 8);
    assert_rule(sxt_image_rule(CODE(OFFSET(FP), 2), 0), pushed);
    assert_rule(sxt_image_rule(CODE(0x05, FP, 2), 0), pushed);
    assert_rule(sxt_image_rule(CODE(0x11, FP, 2), 0), pushed);
    assert_rule(sxt_image_rule(CODE(0x11, FP, 0x7e), 0), RULE_GUESS); /* above the CFA */
    assert_rule(sxt_image_rule(CODE(OFFSET(OTHER), 3, 0x05, OTHER, 3, 0x11, OTHER, 3), 0), STACK(8));
    assert_rule(sxt_image_rule(CODE(OFFSET(RA), 4), 0), RULE_MAKE(RULE_FROM_STACK, 8, 0, 32));
    assert_rule(sxt_image_rule(CODE(OFFSET(FP), 0), 0), RULE_GUESS); /* at the CFA, where the caller's frame begins */
}

TEST(restores_registers_to_the_row_of_the_cie)
{
    assert_rule(sxt_image_rule(CODE(OFFSET(FP), 2, RESTORE(FP)), 0), STACK(8));
    assert_rule(sxt_image_rule(CODE(OFFSET(FP), 2, 0x06, FP), 0), STACK(8));
    assert_rule(sxt_image_rule(CODE(OFFSET(RA), 9, RESTORE(RA), OFFSET(FP), 2, RESTORE(OTHER)), 0),
                RULE_MAKE(RULE_FROM_STACK, 8, 16, 8));
    assert_rule(sxt_image_rule(CODE(OFFSET(RA), 9, 0x06, RA), 0), STACK(8));
}

TEST(knows_the_other_ways_to_save_a_register)
{
    assert_rule(sxt_image_rule(CODE(OFFSET(FP), 2, 0x08, FP), 0), STACK(8));
    assert_rule(sxt_image_rule(CODE(0x07, RA), 0), RULE_OUTERMOST);
    assert_rule(sxt_image_rule(CODE(0x07, FP), 0), RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(0x08, RA), 0), RULE_GUESS); /* still in a register: nothing was called */
    const struct code others[] = {
        CODE(0x09, FP, OTHER), CODE(0x14, FP, 2), CODE(0x15, FP, 0x7e), CODE(0x16, FP, 2, 0x70 + FP, 0),
        CODE(0x09, RA, OTHER), CODE(0x14, RA, 2), CODE(0x15, RA, 0x7e), CODE(0x16, RA, 2, 0x70 + FP, 0),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_rule(sxt_image_rule(others[i], 0), RULE_GUESS);
    /* For registers that do not matter, they are skipped with their operands. */
    assert_rule(sxt_image_rule(CODE(0x09, OTHER, 0x80, 0x01, 0x14, OTHER, 2, 0x15, OTHER, 0x7e, 0x16, OTHER, 1, 0x96,
                                    0x07, OTHER, 0x08, OTHER, 0x2e, 0x80, 0x01, 0x0e, 64),
                               0),
                STACK(64));
}

TEST(ignores_signed_return_addresses)
{
    assert_rule(sxt_image_rule(CODE(0x2d, 0x0e, 16, 0x2d), 0), STACK(16));
}

TEST(remembers_and_restores_rows)
{
    const struct code program = CODE(ADVANCE(1), 0x0e, 16, OFFSET(FP), 2, ADVANCE(1), 0x0a, 0x0c, FP, 24, 0x07, RA,
                                     ADVANCE(1), 0x0b, ADVANCE(1), 0x0e, 8, RESTORE(FP));
    assert_rule(sxt_image_rule(program, 0), STACK(8));
    assert_rule(sxt_image_rule(program, 1), RULE_MAKE(RULE_FROM_STACK, 16, 16, 8));
    assert_rule(sxt_image_rule(program, 2), RULE_OUTERMOST);
    assert_rule(sxt_image_rule(program, 3), RULE_MAKE(RULE_FROM_STACK, 16, 16, 8));
    assert_rule(sxt_image_rule(program, 4), STACK(8));
}

TEST(remembers_eight_rows)
{
    uint8_t bytes[64];
    for (unsigned depth = 1; depth <= 9; depth++) {
        size_t size = 0;
        for (unsigned i = 0; i < depth; i++) {
            bytes[size++] = 0x0e;
            bytes[size++] = (uint8_t)(16 + i);
            bytes[size++] = 0x0a;
        }
        for (unsigned i = 0; i < depth; i++)
            bytes[size++] = 0x0b;
        assert_rule(sxt_image_rule((struct code){size, bytes}, 0), depth <= 8 ? STACK(16) : (frame_rule)RULE_GUESS);
    }
    assert_rule(sxt_image_rule(CODE(0x0b), 0), RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(0x0a, 0x0b, 0x0b), 0), RULE_GUESS);
}

TEST(a_row_begins_at_its_address)
{
    const struct code program = CODE(ADVANCE(4), 0x0e, 16, 0x02, 0x10, 0x0e, 24, 0x03, 0x00, 0x01, 0x0e, 32, 0x04, 0x00,
                                     0x02, 0x00, 0x00, 0x0e, 40);
    const struct {
        size_t offset;
        uint8_t cfa;
    } rows[] = {{0, 8}, {3, 8}, {4, 16}, {0x13, 16}, {0x14, 24}, {0x113, 24}, {0x114, 32}, {0x313, 32}, {0x314, 40}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_rule(sxt_image_rule(program, rows[i].offset), STACK(rows[i].cfa));
}

TEST(advances_by_units_of_code)
{
    const struct cie_options options = {.code_factor = 4};
    const struct code program = CODE(ADVANCE(2), 0x0e, 16, 0x02, 2, 0x0e, 24);
    assert_rule(sxt_image_rule_with(options, program, 7), STACK(8));
    assert_rule(sxt_image_rule_with(options, program, 8), STACK(16));
    assert_rule(sxt_image_rule_with(options, program, 15), STACK(16));
    assert_rule(sxt_image_rule_with(options, program, 16), STACK(24));
}

TEST(sets_the_location)
{
    uint8_t program[] = {0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16};
    const struct cie_options options = {.encoding = ABSOLUTE, .letters = "zR", .data = CODE(ABSOLUTE)};
    for (size_t offset = 7; offset < 10; offset++) {
        /* The same image twice: its place depends on its size alone. */
        sxt_image_rule_with(options, (struct code){sizeof program, program}, 0);
        uint64_t location = sxt_image.module.start + 0x100000 + 8;
        memcpy(program + 1, &location, sizeof location);
        assert_rule(sxt_image_rule_with(options, (struct code){sizeof program, program}, offset),
                    STACK(offset < 8 ? 8 : 16));
    }
}

TEST(an_advance_beyond_all_addresses_ends_the_search)
{
    const struct code factor = CODE(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
    assert_rule(sxt_image_rule_with((struct cie_options){.long_factor = factor}, CODE(ADVANCE(1), 0x0e, 16), 9),
                STACK(8));
    assert_rule(sxt_image_rule_with((struct cie_options){.long_factor = factor}, CODE(ADVANCE(2), 0x0e, 16), 9),
                STACK(8));
    assert_rule(
        sxt_image_rule_with((struct cie_options){.long_factor = factor}, CODE(0x04, 255, 255, 255, 255, 0x0e, 16), 9),
        STACK(8));
    assert_rule(sxt_image_rule(CODE(0x04, 255, 255, 255, 255, 0x07, RA), FUNCTION_SIZE - 1), STACK(8));
}

TEST(knows_the_expressions_of_realigned_stacks)
{
    const struct code realigned = CODE(0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x10, FP, 2, 0x70 + FP, 0);
    assert_rule(sxt_image_rule(realigned, 0), RULE_MAKE(RULE_FROM_LOAD, 8, 0, 8));
    const struct code others[] = {
        CODE(0x0f, 3, 0x70 + FP, 0x78, 0x06),                                     /* the frame pointer is not saved */
        CODE(0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x10, FP, 2, 0x70 + FP, 8),          /* it is saved elsewhere */
        CODE(0x0f, 3, 0x70 + FP, 0x08, 0x06, 0x10, FP, 2, 0x70 + FP, 0),          /* the CFA is stored above */
        CODE(0x0f, 3, 0x70 + OTHER, 0x78, 0x06, 0x10, FP, 2, 0x70 + FP, 0),       /* another register */
        CODE(0x0f, 2, 0x70 + FP, 0x78, 0x10, FP, 2, 0x70 + FP, 0),                /* no load */
        CODE(0x0f, 4, 0x70 + FP, 0x78, 0x06, 0x06, 0x10, FP, 2, 0x70 + FP, 0),    /* two loads */
        CODE(0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x10, FP, 3, 0x70 + FP, 0, 0x06),    /* a load of the frame pointer */
        CODE(0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x10, FP, 2, 0x70 + FP, 0, 0x0e, 8), /* an offset without a register */
        CODE(0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x10, FP, 2, 0x70 + FP, 0, 0x13,
             2),                                                   /* the same, below the frame pointer */
        CODE(0x0f, 0, 0x10, FP, 2, 0x70 + FP, 0),                  /* an empty expression */
        CODE(0x0f, 2, 0x70 + FP, 0x80, 0x10, FP, 2, 0x70 + FP, 0), /* a number that does not end */
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_rule(sxt_image_rule(others[i], 0), RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x0c, SP, 32), 0), STACK(32));
    assert_rule(sxt_image_rule(CODE(0x0f, 1, 0x96, 0x0c, SP, 32), 0), STACK(32));
    assert_rule(sxt_image_rule(CODE(0x10, OTHER, 2, 0x96, 0x96), 0), STACK(8));
}

TEST(unknown_instructions_are_refused_where_they_are_reached)
{
    for (unsigned code = 0x17; code < 0x40; code++) {
        if (code == 0x2d || code == 0x2e)
            continue;
        const uint8_t program[] = {ADVANCE(4), (uint8_t)code, 0x0e, 16};
        assert_rule(sxt_image_rule((struct code){sizeof program, program}, 3), STACK(8));
        assert_rule(sxt_image_rule((struct code){sizeof program, program}, 4), RULE_GUESS);
    }
}

TEST(offsets_that_fit_in_no_rule_are_refused)
{
    assert_rule(sxt_image_rule(CODE(0x0e, 0xff, 0xff, 0xff, 0x07), 0), STACK(0xffffff));
    assert_rule(sxt_image_rule(CODE(0x0e, 0x80, 0x80, 0x80, 0x08), 0), RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), 0), RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(OFFSET(RA), 0xff, 0x3f), 0), RULE_MAKE(RULE_FROM_STACK, 8, 0, 0xfff8));
    assert_rule(sxt_image_rule(CODE(OFFSET(RA), 0x80, 0x40), 0), RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(OFFSET(FP), 0xff, 0x3f), 0), RULE_MAKE(RULE_FROM_STACK, 8, 0xfff8, 8));
    assert_rule(sxt_image_rule(CODE(OFFSET(FP), 0x80, 0x40), 0), RULE_GUESS);
    /* 2^60 * -8 is the smallest 64-bit number, which has no counterpart above 0. */
    assert_rule(sxt_image_rule(CODE(OFFSET(RA), 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10), 0), RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(0x0f, 12, 0x70 + FP, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f,
                                    0x06, 0x10, FP, 2, 0x70 + FP, 0),
                               0),
                RULE_GUESS);
    assert_rule(sxt_image_rule(CODE(0x13, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f), 0), RULE_GUESS);
}

TEST(a_program_of_any_length_ends)
{
    static uint8_t program[150000]; /* nop */
    memcpy(program, (const uint8_t[]){0x0e, 16}, 2);
    assert_rule(sxt_image_rule((struct code){90000, program}, 0), STACK(16));
    assert_rule(sxt_image_rule((struct code){sizeof program, program}, 0), RULE_GUESS);
    static uint8_t digits[100000]; /* of one number */
    memset(digits, 0x80, sizeof digits - 1);
    digits[0] = 0x0e;
    digits[1] = 0x90;
    assert_rule(sxt_image_rule((struct code){sizeof digits, digits}, 0), STACK(16));
}

TEST(operands_that_are_cut_off_are_refused)
{
    const struct code whole[] = {
        CODE(0x02, 1),
        CODE(0x03, 1, 0),
        CODE(0x04, 1, 0, 0, 0),
        CODE(0x05, OTHER, 1),
        CODE(0x06, OTHER),
        CODE(0x07, OTHER),
        CODE(0x08, OTHER),
        CODE(0x09, OTHER, 1),
        CODE(0x0c, SP, 8),
        CODE(0x0d, SP),
        CODE(0x0e, 8),
        CODE(0x0f, 2, 0x96, 0x96),
        CODE(0x10, OTHER, 1, 0x96),
        CODE(0x11, OTHER, 1),
        CODE(0x12, SP, 0x7f),
        CODE(0x13, 0x7f),
        CODE(0x14, OTHER, 1),
        CODE(0x15, OTHER, 1),
        CODE(0x16, OTHER, 1, 0x96),
        CODE(0x2e, 1),
        CODE(OFFSET(OTHER), 1),
        CODE(0x01, 0, 0, 0, 0),
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        for (size_t size = 1; size < whole[i].size; size++)
            assert_rule(sxt_image_rule((struct code){size, whole[i].bytes}, FUNCTION_SIZE - 1), RULE_GUESS);
}
