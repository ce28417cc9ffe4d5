/*
 * Small files that require much work: thousands of entries that share one large object. Each ends soon and with little
 * memory, gives a warning, and does not affect other units. The sizes are such that doing all the work would take
 * minutes or gigabytes.
 */
#include <stdlib.h>
#include <string.h>

#include "support/dwarf_builder.h"
#include "support/test.h"
#include "symbols/symbols.h"

#define SECONDS 20
/* Ranges and lines of the model, in bytes; files are below 4 MiB. */
#define MEMORY ((size_t)512 << 20)

static void put_honest_unit(struct debug *debug)
{
    debug_new_abbreviations(debug);
    debug_begin_unit(debug, LOW(TEXT + 0x800000), HIGH(16));
    ENTRY(debug, DW_TAG_subprogram, NAME("honest"), LOW(TEXT + 0x800000), HIGH(16));
    debug_end_unit(debug);
}

/* Reads the file, which has a valid unit at the end that must be found. */
static void expect_end(struct debug *debug, bool cut)
{
    put_honest_unit(debug);
    double before = sxt_test_seconds();
    struct debug_result result = debug_read(debug, NULL);
    double seconds = sxt_test_seconds() - before;
    if (seconds > SECONDS)
        fail_msg("%.1f s", seconds);
    assert_int_equal(result.status, SXT_OK);
    const struct sxt_symbols *symbols = result.symbols;
    assert_true(symbols->range_count * sizeof *symbols->ranges + symbols->line_count * sizeof *symbols->lines < MEMORY);
    assert_true(symbols->strings.bytes < MEMORY);
    sxt_string last = sxt_symbols_view(symbols, symbols->ranges[symbols->range_count - 1].function);
    sxt_test_assert_text(last, "honest");
    if (cut)
        assert_non_null(strstr(result.warnings, "refers to too much data"));
    assert_int_equal(symbols->units.damaged > 0, cut);
    debug_result_free(&result);
    debug_free(debug);
}

static uint64_t put_long_list(struct debug *debug, unsigned count)
{
    uint64_t list = debug_size(debug, RNGLISTS);
    for (unsigned i = 0; i < count; i++) {
        debug_number(debug, RNGLISTS, DW_RLE_offset_pair, 1);
        debug_uleb(debug, RNGLISTS, 4 * i);
        debug_uleb(debug, RNGLISTS, 4 * i + 2);
    }
    debug_number(debug, RNGLISTS, 0, 1);
    return list;
}

TEST(deep_calls_share_one_list_of_ranges)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 5, .text_size = 1 << 24});
    uint64_t list = put_long_list(&debug, 100000);
    debug_begin_unit(&debug, LOW(TEXT), HIGH(400000));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(400000));
    for (unsigned i = 0; i < 1000; i++)
        OPEN(&debug, DW_TAG_inlined_subroutine, NAME("g"), LIST(list));
    for (unsigned i = 0; i < 1001; i++)
        debug_close(&debug);
    debug_end_unit(&debug);
    expect_end(&debug, true);
}

TEST(units_share_one_list_of_ranges)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 5, .text_size = 1 << 24});
    uint64_t list = put_long_list(&debug, 100000);
    debug_begin_unit(&debug, LOW(TEXT));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LIST(list));
    debug_end_unit(&debug);
    size_t size = debug_size(&debug, INFO);
    uint8_t *unit = malloc(size);
    assert_non_null(unit);
    memcpy(unit, debug.sections[INFO].data, size);
    for (unsigned i = 0; i < 10000; i++)
        debug_bytes(&debug, INFO, unit, size);
    free(unit);
    expect_end(&debug, true);
}

/* A table with ROWS rows. */
static uint64_t put_long_table(struct debug *debug, unsigned rows)
{
    uint64_t table = debug_begin_lines(debug, NULL, "a.c");
    debug_line_address(debug, TEXT);
    for (unsigned i = 0; i < rows; i++)
        debug_number(debug, LINE, i % 2 ? 0x20 : 0x21, 1);
    debug_line_end(debug, 1);
    debug_end_lines(debug);
    return table;
}

static void put_units_with_tables(struct debug *debug, const uint64_t *tables, unsigned count, unsigned units)
{
    static const struct debug_value root[] = {LOW(0), LINES(0), NOTHING};
    debug_abbreviation(debug, ++debug->codes, DW_TAG_compile_unit, false, root);
    for (unsigned i = 0; i < units; i++) {
        debug_begin_header(debug, DW_UT_compile, 0);
        debug_uleb(debug, INFO, 1);
        debug_number(debug, INFO, TEXT, 8);
        debug_number(debug, INFO, tables[i % count], 4);
        debug_end_header(debug);
    }
}

TEST(units_share_line_tables)
{
    for (unsigned count = 1; count <= 2; count++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
        uint64_t tables[] = {put_long_table(&debug, 500000), put_long_table(&debug, 500000)};
        put_units_with_tables(&debug, tables, count, 20000);
        expect_end(&debug, true);
    }
}

TEST(functions_share_all_rows)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
    debug_begin_unit(&debug, LINES(put_long_table(&debug, 500000)), LOW(TEXT), HIGH(1 << 20));
    static const struct debug_value function[] = {LOW(0), VALUE(DW_AT_high_pc, DW_FORM_data4, 0), NAME(""), NOTHING};
    debug_abbreviation(&debug, 99, DW_TAG_subprogram, false, function);
    for (unsigned i = 0; i < 20000; i++) {
        debug_uleb(&debug, INFO, 99);
        debug_number(&debug, INFO, TEXT, 8);
        debug_number(&debug, INFO, 1 << 20, 4);
        debug_string(&debug, INFO, "f");
    }
    debug_end_unit(&debug);
    expect_end(&debug, true);
}

TEST(units_share_abbreviations)
{
    static const struct debug_value nothing[] = {NOTHING}, root[] = {LOW(0), NOTHING};
    for (unsigned count = 1; count <= 2; count++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
        uint64_t tables[2];
        for (unsigned table = 0; table < 2; table++) {
            tables[table] = debug_size(&debug, ABBREV);
            debug_abbreviation(&debug, 1, DW_TAG_compile_unit, false, root);
            for (unsigned i = 0; i < 100000; i++)
                debug_abbreviation(&debug, 2 + i, 0x24, false, nothing);
            debug_number(&debug, ABBREV, 0, 1);
        }
        for (unsigned i = 0; i < 50000; i++) {
            debug.abbrev_offset = tables[i % count];
            debug_begin_header(&debug, DW_UT_compile, 0);
            debug_uleb(&debug, INFO, 1);
            debug_number(&debug, INFO, TEXT, 8);
            debug_end_header(&debug);
        }
        expect_end(&debug, true);
    }
}

/* Names that are tails of one long string. */
TEST(names_overlap)
{
    enum { COUNT = 60000 };
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
    for (unsigned i = 0; i < COUNT; i++)
        debug_number(&debug, STR, 'x', 1);
    debug_number(&debug, STR, 0, 1);
    static const struct debug_value values[] = {VALUE(DW_AT_linkage_name, DW_FORM_strp, 0), LOW(0),
                                                VALUE(DW_AT_high_pc, DW_FORM_data1, 0), NOTHING};
    debug_begin_unit(&debug, LOW(TEXT), HIGH(1 << 20));
    debug_abbreviation(&debug, 99, DW_TAG_subprogram, false, values);
    for (unsigned i = 0; i < COUNT; i++) {
        debug_uleb(&debug, INFO, 99);
        debug_number(&debug, INFO, i, 4);
        debug_number(&debug, INFO, TEXT + 16 * i, 8);
        debug_number(&debug, INFO, 16, 1);
    }
    debug_end_unit(&debug);
    expect_end(&debug, true);
}

/* Each function has a long scope, each file a long directory. */
TEST(scopes_and_directories_are_long)
{
    enum { COUNT = 30000, LENGTH = 60000 };
    char *name = malloc(LENGTH + 1);
    assert_non_null(name);
    memset(name, 'n', LENGTH);
    name[LENGTH] = 0;
    name[0] = '/';
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
    debug_begin_lines(&debug, &(struct debug_line_shape){.directory = name, .directory_index = 1}, "a.c");
    debug_line_address(&debug, TEXT);
    for (unsigned i = 0; i < COUNT; i++) {
        static const uint8_t define[] = {0, 6, DW_LNE_define_file};
        debug_bytes(&debug, LINE, define, sizeof define);
        debug_bytes(&debug, LINE, (const uint8_t[]){(uint8_t)(1 + i % 250), (uint8_t)(1 + i / 250), 0, 1, 0}, 5);
        debug_line_file(&debug, 2 + i);
        debug_line_row(&debug, 16, 1);
    }
    debug_line_end(&debug, 1);
    debug_end_lines(&debug);
    debug_begin_unit(&debug, LINES(0), LOW(TEXT), HIGH(1 << 20), LANGUAGE(C_PLUS_PLUS));
    OPEN(&debug, DW_TAG_namespace, NAME(name));
    static const struct debug_value values[] = {NAME(""), LOW(0), VALUE(DW_AT_high_pc, DW_FORM_data1, 0), NOTHING};
    debug_abbreviation(&debug, 99, DW_TAG_subprogram, false, values);
    for (unsigned i = 0; i < COUNT; i++) {
        debug_uleb(&debug, INFO, 99);
        debug_string(&debug, INFO,
                     (const char[]){(char)('a' + i % 20), (char)('a' + i / 20 % 20), (char)('a' + i / 400), 0});
        debug_number(&debug, INFO, TEXT + 16 * i, 8);
        debug_number(&debug, INFO, 16, 1);
    }
    debug_close(&debug);
    debug_end_unit(&debug);
    free(name);
    expect_end(&debug, true);
}

/* Origins in thousands of units, so that a cached unit is replaced before it is needed again. */
TEST(origins_jump_between_units)
{
    enum { UNITS = 1280, NAMES = 20 };
    static const struct debug_value nothing[] = {NOTHING};
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
    uint64_t tables[2];
    for (unsigned table = 0; table < 2; table++) {
        static const struct debug_value root[] = {LANGUAGE(0), NOTHING}, function[] = {NAME(""), NOTHING};
        tables[table] = debug_size(&debug, ABBREV);
        debug_abbreviation(&debug, 1, DW_TAG_compile_unit, true, root);
        debug_abbreviation(&debug, 2, DW_TAG_subprogram, false, function);
        for (unsigned i = 0; i < 100000; i++)
            debug_abbreviation(&debug, 3 + i, 0x24, false, nothing);
        debug_number(&debug, ABBREV, 0, 1);
    }
    static uint64_t first[UNITS];
    for (unsigned unit = 0; unit < UNITS; unit++) {
        debug.abbrev_offset = tables[unit / 64 % 2];
        debug_begin_header(&debug, DW_UT_compile, 0);
        debug_uleb(&debug, INFO, 1);
        debug_number(&debug, INFO, C_PLUS_PLUS, 2);
        first[unit] = debug_size(&debug, INFO);
        for (unsigned i = 0; i < NAMES; i++)
            debug_bytes(&debug, INFO, "\2f", 3);
        debug_end_unit(&debug);
    }
    debug_new_abbreviations(&debug);
    debug_begin_unit(&debug, LOW(TEXT), HIGH(1 << 20), LANGUAGE(C_PLUS_PLUS));
    static const struct debug_value values[] = {ORIGIN(0), LOW(0), VALUE(DW_AT_high_pc, DW_FORM_data1, 0), NOTHING};
    debug_abbreviation(&debug, 99, DW_TAG_subprogram, false, values);
    for (unsigned i = 0; i < UNITS * NAMES; i++) {
        debug_uleb(&debug, INFO, 99);
        debug_number(&debug, INFO, first[i * 64 % UNITS + i / (UNITS / 64) % 64] + 3 * (i * 64 / UNITS / 64 % NAMES),
                     4);
        debug_number(&debug, INFO, TEXT + 16 * i, 8);
        debug_number(&debug, INFO, 16, 1);
    }
    debug_end_unit(&debug);
    expect_end(&debug, true);
}

/* Every scope points into a string without an end. */
TEST(searching_for_the_end_of_a_string_has_a_limit)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
    for (unsigned i = 0; i < 3000000; i++)
        debug_number(&debug, STR, 'x', 1);
    static const struct debug_value values[] = {VALUE(DW_AT_name, DW_FORM_strp, 0), NOTHING};
    debug_begin_unit(&debug, LOW(TEXT), LANGUAGE(C_PLUS_PLUS));
    debug_abbreviation(&debug, 99, DW_TAG_namespace, true, values);
    for (unsigned i = 0; i < 150000; i++) {
        debug_uleb(&debug, INFO, 99);
        debug_number(&debug, INFO, i, 4);
        debug_close(&debug);
    }
    debug_end_unit(&debug);
    expect_end(&debug, false);
}

TEST(a_long_line_program_ends_with_its_table)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
    debug_begin_lines(&debug, NULL, "a.c");
    debug_line_address(&debug, TEXT);
    for (unsigned i = 0; i < 3000000; i++)
        debug_number(&debug, LINE, DW_LNS_copy, 1);
    debug_end_lines(&debug);
    debug_begin_unit(&debug, LINES(0), LOW(TEXT), HIGH(16));
    debug_end_unit(&debug);
    put_honest_unit(&debug);
    debug_expect_damage(&debug, 1, "has a damaged line table", "honest@800000-800010");
    debug_free(&debug);
}
