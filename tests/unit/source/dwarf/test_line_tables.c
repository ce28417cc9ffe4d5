/* Headers, directories and files of line tables in every version, and the effect of damage. */
#include "line_program.h"
#include "support/dwarf_builder.h"
#include "support/test.h"

static void sequence(struct debug *debug, uint64_t start, uint64_t size, uint32_t line)
{
    debug_line_address(debug, start);
    debug_line_row(debug, 0, line);
    debug_line_end(debug, size);
}

/* --- files --- */

TEST(file_numbers_out_of_range_are_unknown)
{
    static const uint64_t numbers[] = {0, 3, 1000, UINT32_MAX - 2, UINT32_MAX - 1, UINT32_MAX, UINT64_MAX};
    for (uint16_t version = 2; version <= 5; version++)
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            struct debug debug;
            debug_init(&debug, (struct debug_shape){.version = version});
            debug_begin_lines(&debug, NULL, "a.c b.c");
            debug_line_address(&debug, TEXT);
            debug_line_file(&debug, numbers[i]);
            debug_line_row(&debug, 0, 5);
            debug_line_end(&debug, 8);
            debug_end_lines(&debug);
            put_function(&debug, 8);
            debug_expect(&debug, version >= 5 && i == 0 ? "f@0-8{0:/src/a.c:5}" : "f@0-8{0::5}");
            debug_free(&debug);
        }
}

/* A version 5 table by hand: DIRECTORIES and FILES come after the counts of formats. */
static void put_version_5(struct debug *debug, const void *tables, size_t size)
{
    debug_begin_lines(debug, NULL, "a.c");
    /* Replaces what the builder wrote after the operand counts. */
    uint64_t start = debug->length_at + 4 + 2 + 2 + 4 + 6 + 12;
    debug->sections[LINE].size = start;
    debug_bytes(debug, LINE, tables, size);
    debug_poke(debug, LINE, debug->length_at + 4 + 2 + 2, debug_size(debug, LINE) - debug->length_at - 12, 4);
    debug_line_address(debug, TEXT);
    debug_line_row(debug, 0, 5);
    debug_line_end(debug, 8);
    debug_end_lines(debug);
}
#define TABLES(debug, text) put_version_5(debug, text, sizeof(text) - 1)

TEST(version_5_tables_say_what_they_contain)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 5});
    debug_string(&debug, LINE_STR, "/src");
    debug_string(&debug, LINE_STR, "sub");
    debug_string(&debug, STR, "b.c");
    /* Paths in two other sections, a directory of one byte, an MD5 sum, a time, a size, and a vendor extension. */
    TABLES(&debug, "\1\1\x1f\2\0\0\0\0\5\0\0\0"
                   "\6\1\x0e\2\x0b\5\x1e\3\x0f\4\x06\x80\x40\x09\2"
                   "\0\0\0\0\0----------------\x80\1----\2xx"
                   "\0\0\0\0\1----------------\x80\1----\0");
    put_function(&debug, 8);
    debug_expect(&debug, "f@0-8{0:/src/sub/b.c:5}");
    debug_free(&debug);
}

TEST(damage_in_version_5_tables_loses_what_comes_after)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *expected;
    } tables[] = {
#define CASE(text, expected) {text, sizeof(text) - 1, expected}
        CASE("\1\1\x08\1/src\0\2\1\x08\2\x0f\5x.c\0\0y.c\0\0z.c", "f@0-8{0:/src/y.c:5}"),
        CASE("\1\1\x08\1/src\0\2\1\x08\2\x0f\xff\xff\xff\xff\x0fx.c\0\0y.c\0\0", "f@0-8{0:/src/y.c:5}"),
        CASE("\1\1\x08\1/src\0\0\5", "f@0-8{0::5}"),           /* files without content */
        CASE("\1\1\x08\1/src\0\1\1\x19\5", "f@0-8{0::5}"),     /* of a form without bytes */
        CASE("\1\1\x08\1/src\0\1\1\x21\5", "f@0-8{0::5}"),     /* of a form whose value is elsewhere */
        CASE("\1\1\x08\1/src\0\1\1\xff\x7f\5", "f@0-8{0::5}"), /* of an unknown form */
        CASE("\xff\1\x08\1/src\0", "f@0-8{0::5}"),             /* 255 formats */
        CASE("\1\1\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\1/src", "f@0-8{0::5}"), /* 2^64 - 1 directories */
        CASE("", "f@0-8{0::5}"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 5});
        put_version_5(&debug, tables[i].bytes, tables[i].size);
        put_function(&debug, 8);
        debug_expect_damage(&debug, 1, "has a damaged line table", tables[i].expected);
        debug_free(&debug);
    }
}

/* --- damage --- */

TEST(rows_without_an_end_are_dropped)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_lines(&debug, NULL, "a.c");
    sequence(&debug, TEXT, 8, 1);
    debug_line_address(&debug, TEXT + 8);
    debug_line_row(&debug, 0, 2);
    debug_line_row(&debug, 4, 3);
    debug_end_lines(&debug);
    put_function(&debug, 0x10);
    debug_expect_damage(&debug, 1, "the unit at 0x0 of .debug_info has a damaged line table",
                        "f@0-10{0:/src/a.c:1 8::0}");
    debug_free(&debug);
}

/* If the table is cut off anywhere, the function is there, and the lines of complete sequences. */
TEST(a_table_cut_anywhere_keeps_what_is_before)
{
    for (uint16_t version = 2; version <= 5; version++)
        for (uint64_t size = 0;; size++) {
            struct debug debug;
            debug_init(&debug, (struct debug_shape){.version = version});
            debug_begin_lines(&debug, NULL, "a.c b.c");
            uint64_t header = debug_size(&debug, LINE);
            sequence(&debug, TEXT, 8, 1);
            uint64_t first = debug_size(&debug, LINE);
            sequence(&debug, TEXT + 8, 8, 2);
            debug_end_lines(&debug);
            uint64_t whole = debug_size(&debug, LINE);
            if (size >= whole) {
                debug_free(&debug);
                break;
            }
            debug.sections[LINE].size = size;
            put_function(&debug, 0x10);
            bool has_first = size >= first;
            debug_expect_damage(&debug, 1, "has a damaged line table",
                                has_first ? "f@0-10{0:/src/a.c:1 8::0}" : "f@0-10");
            assert_true(header < first);
            debug_free(&debug);
        }
}

TEST(instructions_that_extend_beyond_the_table_end_it)
{
    static const struct {
        uint8_t bytes[12];
        size_t size;
    } ends[] = {{{0, 100, DW_LNE_end_sequence}, 3},
                {{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1}, 12},
                {{DW_LNS_advance_pc, 0x80}, 2},
                {{DW_LNS_advance_line, 0xff}, 2},
                {{DW_LNS_fixed_advance_pc, 1}, 2},
                {{12}, 1},
                {{0}, 1}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_begin_lines(&debug, NULL, "a.c");
        sequence(&debug, TEXT, 8, 1);
        code(&debug, ends[i].bytes, ends[i].size);
        debug_end_lines(&debug);
        put_function(&debug, 8);
        debug_expect_damage(&debug, 1, "has a damaged line table", "f@0-8{0:/src/a.c:1}");
        debug_free(&debug);
    }
}

TEST(a_damaged_header_loses_the_table)
{
    static const struct {
        uint64_t at, value;
        unsigned width;
    } lies[] = {{4, 1, 2}, {4, 6, 2},  {4, 0xffff, 2}, {6, 0xffffffff, 4}, {6, 0x7fffffff, 4},
                {6, 3, 4}, {15, 0, 1}, {15, 255, 1},   {0, 0, 4},          {0, 0xffffffff, 4}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_plain_lines(&debug, 4, 1);
        debug_poke(&debug, LINE, lies[i].at, lies[i].value, lies[i].width);
        put_function(&debug, 4);
        debug_expect_damage(&debug, 1, "has a damaged line table", "f@0-4");
        debug_free(&debug);
    }
}

TEST(a_table_outside_its_section_is_damage)
{
    static const uint64_t offsets[] = {1000, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < 3; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_plain_lines(&debug, 4, 1);
        debug_begin_unit(&debug, LINES(offsets[i]), LOW(TEXT), HIGH(4));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
        debug_end_unit(&debug);
        debug_expect_damage(&debug, 1, "has a damaged line table", "f@0-4");
        debug_free(&debug);
    }
}

/* --- a table may have another version than its unit, and be shared --- */

TEST(a_table_has_its_own_version)
{
    for (unsigned i = 0; i < 16; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = (uint16_t)(2 + i % 4)});
        debug_plain_lines(&debug, 8, 3);
        debug.shape.version = (uint16_t)(2 + i / 4);
        put_function(&debug, 8);
        debug_expect(&debug, "f@0-8{0:/src/a.c:3 4:/src/a.c:4}");
        debug_free(&debug);
    }
}

TEST(units_can_share_a_table)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t lines = debug_plain_lines(&debug, 16, 1);
    for (unsigned i = 0; i < 4; i++) {
        debug_begin_unit(&debug, LINES(lines), LOW(TEXT + 4 * i), HIGH(4));
        ENTRY(&debug, DW_TAG_subprogram, NAME(((const char *[]){"a", "b", "c", "d"})[i]), LOW(TEXT + 4 * i), HIGH(4));
        debug_end_unit(&debug);
    }
    debug_expect(&debug, "a@0-4{0:/src/a.c:1} b@4-8{0:/src/a.c:2} c@8-c{0:/src/a.c:3} d@c-10{0:/src/a.c:4}");
    debug_free(&debug);
}
