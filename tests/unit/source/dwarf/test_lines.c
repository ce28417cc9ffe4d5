/* Line programs: every opcode, and rows and sequences that contradict each other. */
#include "line_program.h"
#include "support/dwarf_builder.h"
#include "support/test.h"

/* A table with one sequence, of which SIZE bytes belong to the function; PUT writes its rows. */
static void expect_rows(const struct debug_line_shape *shape, uint64_t size, void (*put)(struct debug *debug),
                        const char *expected)
{
    for (unsigned i = 0; i < 5; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = (uint16_t)(i == 4 ? 4 : 2 + i), .big_endian = i == 4});
        debug_begin_lines(&debug, shape, "a.c b.c");
        debug_line_address(&debug, TEXT);
        put(&debug);
        debug_end_lines(&debug);
        put_function(&debug, size);
        debug_expect(&debug, expected);
        debug_free(&debug);
    }
}

/* --- opcodes --- */

static void put_standard(struct debug *debug)
{
    CODE(debug, DW_LNS_copy);
    CODE(debug, DW_LNS_advance_pc, 4, DW_LNS_advance_line, 9, DW_LNS_copy);
    CODE(debug, DW_LNS_set_file, 2, DW_LNS_set_column, 7, DW_LNS_negate_stmt, DW_LNS_set_basic_block);
    /* Special opcode 255 advances by 17 bytes. */
    CODE(debug, DW_LNS_const_add_pc, 10, 11, 12, 5, DW_LNS_copy);
    CODE(debug, DW_LNS_fixed_advance_pc);
    debug_number(debug, LINE, 0x10, 2);
    CODE(debug, DW_LNS_advance_line, 0x7f, DW_LNS_copy);
    debug_line_end(debug, 4);
}

TEST(standard_opcodes_have_their_effects)
{
    expect_rows(NULL, 0x40, put_standard, "f@0-40{0:/src/a.c:1 4:/src/a.c:10 15:/src/b.c:10 25:/src/b.c:9 29::0}");
}

/* With line base -5 and line range 14, opcode 13 + 14 * bytes + 5 + lines. */
static void put_special(struct debug *debug)
{
    CODE(debug, 13 + 5 + 0, 13 + 14 * 2 + 5 + 3, 13 + 14 * 3 + 0, 255);
    debug_line_end(debug, 1);
}

TEST(special_opcodes_advance_address_and_line)
{
    /* 255 is 17 bytes and -1 line. */
    expect_rows(NULL, 0x20, put_special,
                "f@0-20{0:/src/a.c:1 2:/src/a.c:4 5:/src/a.c:4294967295 16:/src/a.c:4294967294 17::0}");
}

static void put_two_bytes(struct debug *debug)
{
    debug_line_row(debug, 0, 5);
    debug_line_row(debug, 1, 6);
    CODE(debug, 13 + 14 * 2 + 5 + 6);
    CODE(debug, DW_LNS_fixed_advance_pc);
    debug_number(debug, LINE, 2, 2);
    CODE(debug, DW_LNS_copy);
    debug_line_end(debug, 1);
}

TEST(advances_count_instructions)
{
    const struct debug_line_shape shape = {.instruction_length = 4};
    /* A fixed advance is in bytes, whatever the instruction length. */
    expect_rows(&shape, 0x20, put_two_bytes, "f@0-20{0:/src/a.c:5 4:/src/a.c:6 c:/src/a.c:7 12::0}");
}

static void put_words(struct debug *debug)
{
    debug_line_row(debug, 0, 1);
    debug_line_row(debug, 1, 2); /* operation 1 of the first word */
    debug_line_row(debug, 1, 3); /* operation 2 */
    debug_line_row(debug, 1, 4); /* the second word */
    debug_line_row(debug, 4, 5); /* operation 1 of the third */
    debug_line_row(debug, 2, 6); /* the fourth */
    debug_line_end(debug, 3);
}

TEST(several_operations_share_a_very_long_instruction_word)
{
    for (uint16_t version = 4; version <= 5; version++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = version});
        debug_begin_lines(&debug, &(struct debug_line_shape){.instruction_length = 16, .operations = 3}, "a.c");
        debug_line_address(&debug, TEXT);
        put_words(&debug);
        debug_end_lines(&debug);
        put_function(&debug, 0x40);
        debug_expect(&debug, "f@0-40{0:/src/a.c:3 10:/src/a.c:4 20:/src/a.c:5 30:/src/a.c:6}");
        debug_free(&debug);
    }
}

TEST(a_fixed_advance_begins_a_word)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_lines(&debug, &(struct debug_line_shape){.instruction_length = 16, .operations = 3}, "a.c");
    debug_line_address(&debug, TEXT);
    debug_line_row(&debug, 2, 1);
    CODE(&debug, DW_LNS_fixed_advance_pc);
    debug_number(&debug, LINE, 16, 2);
    debug_line_row(&debug, 0, 2);
    debug_line_row(&debug, 1, 3); /* in the same word, unless the two previous operations still counted */
    debug_line_end(&debug, 3);
    debug_end_lines(&debug);
    put_function(&debug, 0x20);
    debug_expect(&debug, "f@0-20{0:/src/a.c:1 10:/src/a.c:3}");
    debug_free(&debug);
}

static void put_with_few_opcodes(struct debug *debug)
{
    /* With opcode base 4, 4 is special: 4 + 14 * bytes + 5 + lines. */
    CODE(debug, DW_LNS_advance_line, 4, DW_LNS_copy, 4 + 14 * 4 + 5 + 2, DW_LNS_advance_pc, 4);
    CODE(debug, 0, 1, DW_LNE_end_sequence);
}

TEST(there_may_be_fewer_opcodes)
{
    const struct debug_line_shape shape = {.opcode_base = 4};
    expect_rows(&shape, 8, put_with_few_opcodes, "f@0-8{0:/src/a.c:5 4:/src/a.c:7}");
}

static void put_only_special(struct debug *debug)
{
    CODE(debug, 1 + 5 + 6, 1 + 14 * 4 + 5 + 1, 1 + 14 * 4 + 5 + 1, 0, 1, DW_LNE_end_sequence);
}

TEST(there_may_be_no_standard_opcode)
{
    const struct debug_line_shape shape = {.opcode_base = 1};
    expect_rows(&shape, 8, put_only_special, "f@0-8{0:/src/a.c:7 4:/src/a.c:8}");
}

static void put_with_unknown_opcodes(struct debug *debug)
{
    debug_line_row(debug, 0, 5);
    CODE(debug, 12, 0x81, 1);          /* set_isa has one operand */
    CODE(debug, 10, 11);               /* prologue end and epilogue begin have none */
    CODE(debug, 13, 0x80, 1, 0x7f);    /* here, two */
    CODE(debug, 19, 1, 0x80, 0x80, 0); /* the last one */
    CODE(debug, 20 + 14 * 4 + 5 + 2);
    debug_line_end(debug, 4);
}

TEST(unknown_standard_opcodes_are_skipped)
{
    const struct debug_line_shape shape = {.opcode_base = 20};
    expect_rows(&shape, 8, put_with_unknown_opcodes, "f@0-8{0:/src/a.c:5 4:/src/a.c:3}");
}

static void put_with_unknown_extensions(struct debug *debug)
{
    debug_line_row(debug, 0, 5);
    CODE(debug, 0, 0); /* an empty instruction */
    CODE(debug, 0, 4, 0x80, 1, 2, 3);
    CODE(debug, 0, 1, 0xff);
    CODE(debug, 0, 3, DW_LNE_set_address, 1, 2);    /* an address of two bytes: 0x201 or 0x102 */
    CODE(debug, 0, 4, DW_LNE_set_address, 1, 2, 3); /* an invalid address of three bytes */
    debug_line_address(debug, TEXT + 4);
    debug_line_row(debug, 0, 6);
    debug_line_end(debug, 4);
}

TEST(unknown_extended_opcodes_are_skipped)
{
    expect_rows(NULL, 8, put_with_unknown_extensions, "f@0-8{0:/src/a.c:5 4:/src/a.c:6}");
}

static void put_no_range(struct debug *debug)
{
    debug_line_row(debug, 0, 5);
    CODE(debug, 200, DW_LNS_const_add_pc, 255);
    debug_line_row(debug, 4, 6);
    debug_line_end(debug, 4);
}

TEST(a_line_range_of_0_advances_nothing)
{
    const struct debug_line_shape shape = {.no_line_range = true};
    /* The rows of special opcodes are at address 0 of the function, and say line 1. */
    expect_rows(&shape, 8, put_no_range, "f@0-8{0:/src/a.c:1 4:/src/a.c:6}");
}

TEST(columns_and_discriminators_are_read_on_request)
{
    for (unsigned details = 0; details < 2; details++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_begin_lines(&debug, NULL, "a.c");
        debug_line_address(&debug, TEXT);
        CODE(&debug, DW_LNS_set_column, 7, DW_LNS_copy);
        CODE(&debug, 0, 2, DW_LNE_set_discriminator, 3, DW_LNS_advance_pc, 4, DW_LNS_copy);
        CODE(&debug, DW_LNS_advance_pc, 4, DW_LNS_copy, DW_LNS_set_column, 9, DW_LNS_advance_pc, 4, DW_LNS_copy);
        /* A discriminator of many bytes, and one that is cut off. */
        CODE(&debug, 0, 5, DW_LNE_set_discriminator, 0x80, 0x80, 0x80, 1, DW_LNS_advance_pc, 4, DW_LNS_copy);
        CODE(&debug, 0, 2, DW_LNE_set_discriminator, 0x80, DW_LNS_advance_pc, 4, DW_LNS_copy);
        debug_line_end(&debug, 4);
        debug_end_lines(&debug);
        put_function(&debug, 24);
        sxt_extract_options options;
        sxt_extract_options_init(&options);
        options.flags = details ? SXT_EXTRACT_DETAILS : 0;
        debug_expect_with(&debug, &options,
                          details ? "f@0-18{0:/src/a.c:1:7/0 4:/src/a.c:1:7/3 8:/src/a.c:1:7/0 c:/src/a.c:1:9/0 "
                                    "10:/src/a.c:1:9/2097152 14:/src/a.c:1:9/0}"
                                  : "f@0-18{0:/src/a.c:1}");
        debug_free(&debug);
    }
}

TEST(a_program_can_define_files)
{
    for (uint16_t version = 2; version <= 5; version++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = version});
        debug_begin_lines(&debug, &(struct debug_line_shape){.directory = "sub"}, "a.c");
        debug_line_address(&debug, TEXT);
        CODE(&debug, 0, 8, DW_LNE_define_file, 'n', '.', 'c', 0, 1, 0, 0);
        CODE(&debug, 0, 3, DW_LNE_define_file, 'n', 'o'); /* cut off */
        debug_line_file(&debug, 2);
        debug_line_row(&debug, 0, 5);
        debug_line_end(&debug, 8);
        debug_end_lines(&debug);
        put_function(&debug, 8);
        debug_expect(&debug, version < 5 ? "f@0-8{0:/src/sub/n.c:5}" : "f@0-8{0::5}");
        debug_free(&debug);
    }
}

/* --- sequences --- */

static void sequence(struct debug *debug, uint64_t start, uint64_t size, uint32_t line)
{
    debug_line_address(debug, start);
    debug_line_row(debug, 0, line);
    debug_line_end(debug, size);
}

static void expect_sequences(void (*put)(struct debug *debug), const char *expected)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_lines(&debug, NULL, "a.c");
    put(&debug);
    debug_end_lines(&debug);
    put_function(&debug, 0x20);
    debug_expect(&debug, expected);
    debug_free(&debug);
}

static void put_out_of_order(struct debug *debug)
{
    sequence(debug, TEXT + 16, 8, 3);
    sequence(debug, TEXT, 8, 1);
    sequence(debug, TEXT + 24, 8, 4);
    sequence(debug, TEXT + 8, 8, 2);
}

TEST(sequences_may_come_in_any_order)
{
    expect_sequences(put_out_of_order, "f@0-20{0:/src/a.c:1 8:/src/a.c:2 10:/src/a.c:3 18:/src/a.c:4}");
}

static void put_gaps(struct debug *debug)
{
    sequence(debug, TEXT + 4, 4, 1);
    sequence(debug, TEXT + 16, 4, 2);
}

TEST(between_sequences_nothing_is_known)
{
    expect_sequences(put_gaps, "f@0-20{4:/src/a.c:1 8::0 10:/src/a.c:2 14::0}");
}

static void put_overlapping(struct debug *debug)
{
    sequence(debug, TEXT + 8, 16, 2);
    sequence(debug, TEXT, 16, 1);
    sequence(debug, TEXT + 4, 4, 9);
    sequence(debug, TEXT + 28, 4, 3);
}

static void put_folded(struct debug *debug)
{
    sequence(debug, TEXT, 8, 1);
    sequence(debug, TEXT, 16, 2);
    sequence(debug, TEXT, 8, 3);
    sequence(debug, TEXT, 16, 4);
}

TEST(of_overlapping_sequences_the_first_keeps_its_bytes)
{
    expect_sequences(put_overlapping, "f@0-20{0:/src/a.c:1 10:/src/a.c:2 18::0 1c:/src/a.c:3}");
    /* Of sequences that start together, the longest; of those, the first. */
    expect_sequences(put_folded, "f@0-20{0:/src/a.c:2 10::0}");
}

static void put_empty(struct debug *debug)
{
    sequence(debug, TEXT, 0, 1);
    debug_line_address(debug, TEXT);
    debug_line_end(debug, 0x20);
    debug_line_end(debug, 0);
    sequence(debug, TEXT, 0x20, 2);
}

TEST(sequences_without_rows_or_bytes_are_ignored)
{
    expect_sequences(put_empty, "f@0-20{0:/src/a.c:2}");
}

static void put_dead(struct debug *debug)
{
    sequence(debug, 0, TEXT + 0x1000, 1);
    sequence(debug, 1, TEXT + 0x1000, 2);
    sequence(debug, UINT64_MAX, TEXT + 0x1000, 3);
    sequence(debug, UINT64_MAX - 1, TEXT + 0x1000, 4);
    /* Rows that wrap around. */
    debug_line_address(debug, UINT64_MAX - 1);
    debug_line_row(debug, 0, 5);
    debug_line_row(debug, TEXT + 2, 6);
    debug_line_end(debug, 0x20);
    sequence(debug, TEXT, 0x20, 7);
}

TEST(sequences_of_dropped_code_cover_nothing)
{
    expect_sequences(put_dead, "f@0-20{0:/src/a.c:7}");
}

/* --- rows --- */

static void put_same_address(struct debug *debug)
{
    debug_line_row(debug, 0, 1);
    debug_line_row(debug, 0, 2);
    debug_line_row(debug, 4, 3);
    debug_line_row(debug, 0, 4);
    debug_line_row(debug, 0, 5);
    debug_line_end(debug, 4);
}

TEST(of_rows_at_one_address_the_last_wins)
{
    expect_rows(NULL, 8, put_same_address, "f@0-8{0:/src/a.c:2 4:/src/a.c:5}");
}

static void put_backwards(struct debug *debug)
{
    debug_line_row(debug, 8, 3);
    debug_line_address(debug, TEXT);
    debug_line_row(debug, 0, 1);
    debug_line_address(debug, TEXT + 12);
    debug_line_row(debug, 0, 4);
    debug_line_address(debug, TEXT + 4);
    debug_line_row(debug, 0, 2);
    debug_line_row(debug, 8, 5); /* again at 12: the later one wins */
    debug_line_end(debug, 4);
}

TEST(rows_out_of_order_are_sorted)
{
    expect_rows(NULL, 16, put_backwards, "f@0-10{0:/src/a.c:1 4:/src/a.c:2 8:/src/a.c:3 c:/src/a.c:5}");
}

static void put_end_in_the_middle(struct debug *debug)
{
    debug_line_row(debug, 0, 1);
    debug_line_row(debug, 8, 2);
    debug_line_row(debug, 8, 3);
    debug_line_address(debug, TEXT + 12);
    debug_line_end(debug, 0);
}

TEST(a_sequence_ends_at_its_end_row)
{
    expect_rows(NULL, 0x20, put_end_in_the_middle, "f@0-20{0:/src/a.c:1 8:/src/a.c:2 c::0}");
}

static void put_line_0(struct debug *debug)
{
    debug_line_row(debug, 0, 1);
    debug_line_row(debug, 4, 0);
    debug_line_row(debug, 4, 2);
    debug_line_end(debug, 4);
}

TEST(line_0_is_kept_and_means_unknown)
{
    expect_rows(NULL, 12, put_line_0, "f@0-c{0:/src/a.c:1 4:/src/a.c:0 8:/src/a.c:2}");
}

static void put_repeats(struct debug *debug)
{
    for (unsigned i = 0; i < 4; i++)
        debug_line_row(debug, i > 0 ? 4 : 0, 1 + i / 2);
    debug_line_end(debug, 4);
}

TEST(repeated_rows_are_dropped)
{
    expect_rows(NULL, 16, put_repeats, "f@0-10{0:/src/a.c:1 8:/src/a.c:2}");
}

/* --- options --- */

TEST(lines_and_files_can_be_left_out)
{
    static const struct {
        uint32_t flags;
        const char *expected;
    } cases[] = {{0, "f@0-8{0:/src/a.c:5 4:/src/a.c:6} >g@4-8(/src/a.c:9){0:/src/a.c:6}"},
                 {SXT_EXTRACT_NO_FILES, "f@0-8{0::5} >g@4-8(:9){0::6}"},
                 {SXT_EXTRACT_NO_LINES, "f@0-8 >g@4-8(/src/a.c:0)"},
                 {SXT_EXTRACT_NO_LINES | SXT_EXTRACT_NO_FILES, "f@0-8 >g@4-8(:0)"},
                 {SXT_EXTRACT_NO_INLINES, "f@0-8{0:/src/a.c:5 4:/src/a.c:6}"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_begin_unit(&debug, LINES(debug_plain_lines(&debug, 8, 5)), LOW(TEXT), HIGH(8));
        OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(8));
        ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("g"), LOW(TEXT + 4), HIGH(4), CALL(1, 9));
        debug_close(&debug);
        debug_end_unit(&debug);
        sxt_extract_options options;
        sxt_extract_options_init(&options);
        options.flags = cases[i].flags;
        if (i == 0)
            debug_expect(&debug, "f@0-8{0:/src/a.c:5} >g@4-8(/src/a.c:9){0:/src/a.c:6}");
        else
            debug_expect_with(&debug, &options, cases[i].expected);
        debug_free(&debug);
    }
}

/* An assembler writes lines but no functions; the symbols there get the lines. */
TEST(lines_without_a_function_belong_to_the_symbol_there)
{
    for (uint16_t version = 2; version <= 5; version++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = version});
        sxt_builder_function(&debug.elf, SHT_SYMTAB, "start", TEXT, 8, debug.text);
        sxt_builder_function(&debug.elf, SHT_SYMTAB, "label", TEXT + 8, 0, debug.text);
        sxt_builder_function(&debug.elf, SHT_SYMTAB, "beyond", TEXT + 12, 0x20, debug.text);
        debug_begin_unit(&debug, LINES(debug_plain_lines(&debug, 16, 5)), LOW(TEXT), HIGH(16));
        debug_end_unit(&debug);
        sxt_extract_options options;
        sxt_extract_options_init(&options);
        debug_expect_with(
            &debug, &options,
            "start@0-8{0:/src/a.c:5 4:/src/a.c:6} label@8-c{0:/src/a.c:7} beyond@c-2c{0:/src/a.c:8 4::0}");
        debug_free(&debug);
    }
}
