/* Units of DWARF: all versions and sizes, and the effect of damage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dwarf_builder.h"
#include "support/test.h"
#include "symbols/symbols.h"

/* A unit with a function of 16 bytes at AT. */
static void put_unit(struct debug *debug, const char *name, uint64_t at)
{
    debug_begin_unit(debug, LOW(at), HIGH(16));
    ENTRY(debug, DW_TAG_subprogram, NAME(name), LOW(at), HIGH(16));
    debug_end_unit(debug);
}

TEST(every_version_width_and_byte_order_reads_the_same)
{
    for (unsigned i = 0; i < 32; i++) {
        struct debug_shape shape = {
            .version = (uint16_t)(2 + i % 4), .narrow = i & 4, .big_endian = i & 8, .wide_offsets = i & 16};
        if (shape.wide_offsets && shape.version == 2)
            continue;
        struct debug debug;
        debug_init(&debug, shape);
        debug_begin_lines(&debug, NULL, "a.c b.h");
        debug_line_address(&debug, TEXT);
        debug_line_row(&debug, 0, 10);
        debug_line_file(&debug, 2);
        debug_line_row(&debug, 4, 3);
        debug_line_file(&debug, 1);
        debug_line_row(&debug, 4, 12);
        debug_line_end(&debug, 8);
        debug_end_lines(&debug);
        debug_begin_unit(&debug, LINES(0), LOW(TEXT), HIGH(16));
        uint64_t helper = ENTRY(&debug, DW_TAG_subprogram, NAME("helper"), VALUE(DW_AT_inline, DW_FORM_data1, 1));
        OPEN(&debug, DW_TAG_subprogram, NAME("main"), LOW(TEXT), HIGH(16));
        ENTRY(&debug, DW_TAG_inlined_subroutine, ORIGIN(helper), LOW(TEXT + 4), HIGH(4), CALL(1, 11));
        debug_close(&debug);
        debug_end_unit(&debug);
        debug_expect(&debug, "main@0-10{0:/src/a.c:10 8:/src/a.c:12} >helper@4-8(/src/a.c:11){0:/src/b.h:3}");
        debug_free(&debug);
    }
}

TEST(compressed_sections_read_the_same)
{
    for (unsigned i = 0; i < 8; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.narrow = i & 2, .big_endian = i & 4});
        debug.compression = i & 1 ? ELFCOMPRESS_ZLIB : 2 /* zstd */;
        debug_begin_unit(&debug, LINES(debug_plain_lines(&debug, 8, 5)), LOW(TEXT), HIGH(8));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(8));
        debug_end_unit(&debug);
        debug_expect(&debug, "f@0-8{0:/src/a.c:5 4:/src/a.c:6}");
        debug_free(&debug);
    }
}

/* GNU's format from before ELF had one: "ZLIB", the size in big endian, and the stream, in a section .zdebug_info. */
TEST(sections_in_the_older_compressed_format_are_found)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    put_unit(&debug, "f", TEXT);
    debug.compression = ELFCOMPRESS_ZLIB;
    debug_finish(&debug);
    struct sxt_builder old;
    sxt_builder_init(&old, true, false, ET_EXEC, EM_X86_64);
    for (unsigned i = 0; i < 2; i++) {
        const struct sxt_builder_section *from = sxt_builder_at(&debug.elf, debug.numbers[i]);
        unsigned section = sxt_builder_section(&old, i == INFO ? ".zdebug_info" : ".zdebug_abbrev", SHT_PROGBITS, 0,
                                               "ZLIB\0\0\0\0", 8);
        uint64_t size = debug.sections[i].size;
        const uint8_t low[] = {(uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size};
        sxt_buffer_append(&sxt_builder_at(&old, section)->bytes, low, 4);
        sxt_buffer_append(&sxt_builder_at(&old, section)->bytes, from->bytes.data + 24, from->bytes.size - 24);
    }
    sxt_builder_finish(&old);
    sxt_symbols *symbols;
    sxt_error error;
    assert_int_equal(sxt_symbols_from_memory(old.data, old.size, NULL, &symbols, &error), SXT_OK);
    char *text = debug_text(&debug, symbols);
    assert_string_equal(text, "f@0-10");
    free(text);
    sxt_symbols_free(&symbols);
    sxt_builder_free(&old);
    debug_free(&debug);
}

TEST(padding_between_and_after_units_is_skipped)
{
    for (unsigned between = 0; between <= 12; between += 4)
        for (unsigned after = 0; after < 6; after++) {
            struct debug debug;
            debug_init(&debug, (struct debug_shape){.version = 5});
            put_unit(&debug, "f", TEXT);
            for (unsigned i = 0; i < between; i++)
                debug_number(&debug, INFO, 0, 1);
            put_unit(&debug, "g", TEXT + 16);
            for (unsigned i = 0; i < after; i++)
                debug_number(&debug, INFO, 0, 1);
            debug_expect(&debug, "f@0-10 g@10-20");
            debug_free(&debug);
        }
}

/* What is put between two valid units, the expected warning, and how many units it is. */
static void expect_only_it_is_lost(void (*put)(struct debug *debug), const char *warning, uint64_t units)
{
    for (uint16_t version = 4; version <= 5; version++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = version});
        put_unit(&debug, "before", TEXT);
        uint64_t offset = debug_size(&debug, INFO);
        put(&debug);
        put_unit(&debug, "after", TEXT + 32);
        char expected[200];
        snprintf(expected, sizeof expected, "DWARF: the unit at 0x%llx of .debug_info %s", (unsigned long long)offset,
                 warning);
        debug_expect_damage(&debug, 1, expected, "before@0-10 after@20-30");
        struct debug_result result = debug_read(&debug, NULL);
        assert_int_equal(result.symbols->units.read, 2 + units);
        debug_result_free(&result);
        debug_free(&debug);
    }
}

static void put_unknown_version(struct debug *debug)
{
    uint64_t offset = debug_size(debug, INFO);
    put_unit(debug, "future", TEXT + 16);
    debug_poke(debug, INFO, offset + 4, 6, 2);
}

static void put_ancient_version(struct debug *debug)
{
    uint64_t offset = debug_size(debug, INFO);
    put_unit(debug, "past", TEXT + 16);
    debug_poke(debug, INFO, offset + 4, 1, 2);
}

static void put_odd_address_size(struct debug *debug)
{
    uint64_t offset = debug_size(debug, INFO);
    put_unit(debug, "odd", TEXT + 16);
    debug_poke(debug, INFO, offset + (debug->shape.version >= 5 ? 7 : 10), 3, 1);
}

static void put_short_header(struct debug *debug)
{
    debug_number(debug, INFO, 3, 4);
    debug_number(debug, INFO, debug->shape.version, 3);
}

TEST(a_unit_with_an_invalid_header_does_not_affect_others)
{
    expect_only_it_is_lost(put_unknown_version, "has an invalid header", 0);
    expect_only_it_is_lost(put_ancient_version, "has an invalid header", 0);
    expect_only_it_is_lost(put_odd_address_size, "has an invalid header", 0);
    expect_only_it_is_lost(put_short_header, "has an invalid header", 0);
}

static void put_no_root(struct debug *debug)
{
    debug_begin_header(debug, DW_UT_compile, 0);
    debug_end_header(debug);
}

static void put_unknown_code(struct debug *debug)
{
    debug_begin_header(debug, DW_UT_compile, 0);
    debug_uleb(debug, INFO, 9999);
    debug_end_header(debug);
}

static void put_abbreviations_outside(struct debug *debug)
{
    uint64_t here = debug->abbrev_offset;
    debug->abbrev_offset = 0x7fffffff;
    debug_begin_header(debug, DW_UT_compile, 0);
    debug_uleb(debug, INFO, 1);
    debug_end_header(debug);
    debug->abbrev_offset = here;
}

static void put_root_that_is_cut(struct debug *debug)
{
    debug_begin_header(debug, DW_UT_compile, 0);
    ENTRY(debug, DW_TAG_compile_unit, LOW(TEXT));
    debug->sections[INFO].size -= 1;
    debug_end_header(debug);
}

TEST(a_unit_without_a_root_entry_does_not_affect_others)
{
    expect_only_it_is_lost(put_no_root, "is damaged at", 1);
    expect_only_it_is_lost(put_unknown_code, "is damaged at", 1);
    expect_only_it_is_lost(put_abbreviations_outside, "is damaged at", 1);
    expect_only_it_is_lost(put_root_that_is_cut, "is damaged at", 1);
}

TEST(a_unit_that_extends_beyond_the_section_is_the_last_one)
{
    static const uint64_t lengths[] = {0x7fffffff, 0xfffffff0, 0xfffffffe, 0xffffffff};
    for (size_t i = 0; i < 4; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        put_unit(&debug, "before", TEXT);
        uint64_t offset = debug_size(&debug, INFO);
        put_unit(&debug, "lost", TEXT + 16);
        debug_poke(&debug, INFO, offset, lengths[i], 4);
        put_unit(&debug, "after", TEXT + 32);
        debug_expect_damage(&debug, 1, "has an invalid header", "before@0-10");
        debug_free(&debug);
    }
}

TEST(what_comes_before_the_damage_is_kept)
{
    for (uint16_t version = 2; version <= 5; version++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = version});
        debug_begin_unit(&debug, LOW(TEXT), HIGH(0x30));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(16));
        uint64_t damage = debug_size(&debug, INFO);
        debug_uleb(&debug, INFO, 12345);
        ENTRY(&debug, DW_TAG_subprogram, NAME("lost"), LOW(TEXT + 16), HIGH(16));
        debug_end_unit(&debug);
        put_unit(&debug, "g", TEXT + 32);
        char warning[200];
        snprintf(warning, sizeof warning, "the unit at 0x0 of .debug_info is damaged at 0x%llx; the rest is ignored",
                 (unsigned long long)damage);
        debug_expect_damage(&debug, 1, warning, "f@0-10 g@20-30");
        debug_free(&debug);
    }
}

/* If a unit is cut off anywhere, the functions before the cut are there, and so is the next unit. */
TEST(a_unit_cut_anywhere_keeps_what_is_before)
{
    struct debug whole;
    debug_init(&whole, (struct debug_shape){.version = 4});
    put_unit(&whole, "f", TEXT);
    uint64_t size = debug_size(&whole, INFO);
    debug_free(&whole);
    for (uint64_t kept = 11; kept < size - 1; kept++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        put_unit(&debug, "f", TEXT);
        debug.sections[INFO].size = kept;
        debug_poke(&debug, INFO, 0, kept - 4, 4);
        put_unit(&debug, "g", TEXT + 32);
        struct debug_result result = debug_read(&debug, NULL);
        assert_int_equal(result.status, SXT_OK);
        char *text = debug_text(&debug, result.symbols);
        assert_non_null(strstr(text, "g@20-30"));
        assert_true(result.symbols->units.damaged <= 1);
        free(text);
        debug_result_free(&result);
        debug_free(&debug);
    }
}

TEST(many_damaged_units_are_counted_and_a_few_are_reported)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    for (unsigned i = 0; i < 9; i++)
        put_unknown_code(&debug);
    put_unit(&debug, "f", TEXT);
    debug_expect_damage(&debug, 9, "DWARF: 9 damaged units in total", "f@0-10");
    struct debug_result result = debug_read(&debug, NULL);
    unsigned lines = 0;
    for (const char *at = result.warnings; *at != 0; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 6);
    debug_result_free(&result);
    debug_free(&debug);
}

TEST(type_units_have_no_code)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 5});
    debug_begin_header(&debug, DW_UT_type, 42);
    OPEN(&debug, 0x41 /* DW_TAG_type_unit */, LANGUAGE(C_PLUS_PLUS));
    ENTRY(&debug, DW_TAG_subprogram, NAME("no"), LOW(TEXT), HIGH(16));
    debug_end_unit(&debug);
    put_unit(&debug, "f", TEXT + 16);
    debug_expect(&debug, "f@10-20");
    debug_free(&debug);
}

TEST(the_section_of_types_has_no_code)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    put_unit(&debug, "no", TEXT + 16);
    debug_bytes(&debug, TYPES, debug.sections[INFO].data, debug.sections[INFO].size);
    debug.sections[INFO].size = 0;
    put_unit(&debug, "f", TEXT);
    debug_expect(&debug, "f@0-10");
    debug_free(&debug);
}

TEST(partial_units_are_read_when_they_have_code)
{
    for (unsigned has_code = 0; has_code < 2; has_code++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 5});
        debug_begin_header(&debug, DW_UT_partial, 0);
        if (has_code)
            OPEN(&debug, DW_TAG_partial_unit, LOW(TEXT), HIGH(16));
        else
            OPEN(&debug, DW_TAG_partial_unit, NAME("shared"));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(16));
        debug_end_unit(&debug);
        debug_expect(&debug, has_code ? "f@0-10" : "");
        debug_free(&debug);
    }
}

TEST(a_unit_without_lines_has_functions)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_unit(&debug, LOW(TEXT), HIGH(16));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(16));
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("g"), LOW(TEXT + 4), HIGH(4), CALL(1, 9));
    debug_close(&debug);
    debug_end_unit(&debug);
    debug_expect(&debug, "f@0-10 >g@4-8(:9)");
    debug_free(&debug);
}

TEST(a_root_without_children_is_the_whole_unit)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_header(&debug, DW_UT_compile, 0);
    ENTRY(&debug, DW_TAG_compile_unit, NAME("a.c"), LOW(TEXT), HIGH(16));
    debug_end_header(&debug);
    put_unit(&debug, "f", TEXT);
    debug_expect(&debug, "f@0-10");
    debug_free(&debug);
}

/* --- abbreviations --- */

static const struct debug_value unit_values[] = {LOW(0), NOTHING};
static const struct debug_value function_values[] = {NAME(""), LOW(0), VALUE(DW_AT_high_pc, DW_FORM_data1, 0), NOTHING};

static void put_values(struct debug *debug, uint64_t unit_code, uint64_t function_code)
{
    debug_begin_header(debug, DW_UT_compile, 0);
    debug_uleb(debug, INFO, unit_code);
    debug_number(debug, INFO, TEXT, 8);
    debug_uleb(debug, INFO, function_code);
    debug_string(debug, INFO, "f");
    debug_number(debug, INFO, TEXT, 8);
    debug_number(debug, INFO, 16, 1);
    debug_end_unit(debug);
}

TEST(abbreviations_are_found_by_code_in_any_order)
{
    static const uint64_t codes[][2] = {{1, 2},     {2, 1},          {7, 3},          {3, 7},
                                        {1, 70000}, {70000, 200000}, {UINT64_MAX, 1}, {1, UINT64_MAX}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_abbreviation(&debug, codes[i][0], DW_TAG_compile_unit, true, unit_values);
        debug_abbreviation(&debug, codes[i][1], DW_TAG_subprogram, false, function_values);
        debug_number(&debug, ABBREV, 0, 1);
        put_values(&debug, codes[i][0], codes[i][1]);
        debug_expect(&debug, "f@0-10");
        debug_free(&debug);
    }
}

TEST(of_two_abbreviations_with_one_code_the_first_wins)
{
    static const struct debug_value nothing[] = {NOTHING};
    for (unsigned more = 0; more < 40; more++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_abbreviation(&debug, 1, DW_TAG_compile_unit, true, unit_values);
        debug_abbreviation(&debug, 2, DW_TAG_subprogram, false, function_values);
        for (unsigned i = 0; i < more; i++)
            debug_abbreviation(&debug, 2 - i % 2, DW_TAG_namespace, true, nothing);
        debug_number(&debug, ABBREV, 0, 1);
        put_values(&debug, 1, 2);
        debug_expect(&debug, "f@0-10");
        debug_free(&debug);
    }
}

TEST(a_table_of_abbreviations_may_end_with_its_section)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_abbreviation(&debug, 1, DW_TAG_compile_unit, true, unit_values);
    debug_abbreviation(&debug, 2, DW_TAG_subprogram, false, function_values);
    put_values(&debug, 1, 2);
    debug_expect(&debug, "f@0-10");
    debug_free(&debug);
}

TEST(oversized_abbreviations_are_damage)
{
    struct debug_value many[300];
    for (unsigned i = 0; i < 299; i++)
        many[i] = (struct debug_value)VALUE(0x87 /* DW_AT_noreturn */, DW_FORM_flag_present, 1);
    many[299] = (struct debug_value)NOTHING;
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    put_unit(&debug, "f", TEXT);
    debug_new_abbreviations(&debug);
    debug_begin_unit(&debug, LOW(TEXT));
    debug_entry(&debug, DW_TAG_subprogram, false, many);
    debug_end_unit(&debug);
    debug_expect_damage(&debug, 1, "is damaged at", "f@0-10");
    debug_free(&debug);
}

TEST(units_share_abbreviations_and_have_their_own)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    put_unit(&debug, "a", TEXT);
    put_unit(&debug, "b", TEXT + 16);
    debug_new_abbreviations(&debug);
    put_unit(&debug, "c", TEXT + 32);
    put_unit(&debug, "d", TEXT + 48);
    debug_expect(&debug, "a@0-10 b@10-20 c@20-30 d@30-40");
    debug_free(&debug);
}

/* The same table gives different sizes in units with other parameters. */
TEST(units_with_different_parameters_share_abbreviations)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    static const struct debug_value root[] = {VALUE(DW_AT_stmt_list, DW_FORM_sec_offset, 0), NOTHING};
    static const struct debug_value function[] = {LOW(0), VALUE(DW_AT_high_pc, DW_FORM_data1, 0), NAME(""), NOTHING};
    debug_abbreviation(&debug, 1, DW_TAG_compile_unit, true, root);
    debug_abbreviation(&debug, 2, DW_TAG_subprogram, false, function);
    debug_number(&debug, ABBREV, 0, 1);
    uint64_t at = TEXT;
    debug_plain_lines(&debug, 4, 1);
    for (unsigned i = 0; i < 8; i++, at += 16) {
        debug.address_size = i & 1 ? 4 : 8;
        debug.offset_size = i & 2 ? 8 : 4;
        debug.shape.wide_offsets = i & 2;
        debug.shape.version = i & 4 ? 5 : 4;
        debug_begin_header(&debug, DW_UT_compile, 0);
        debug_uleb(&debug, INFO, 1);
        debug_number(&debug, INFO, 0, debug.offset_size);
        debug_uleb(&debug, INFO, 2);
        debug_number(&debug, INFO, at, debug.address_size);
        debug_number(&debug, INFO, 16, 1);
        debug_string(&debug, INFO, (char[]){(char)('a' + i), 0});
        debug_end_unit(&debug);
    }
    debug_expect(&debug, "a@0-10{0:a.c:1 4::0} b@10-20 c@20-30 d@30-40 e@40-50 f@50-60 g@60-70 h@70-80");
    debug_free(&debug);
}

TEST(a_file_without_units_is_not_damaged)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_number(&debug, INFO, 0, 3);
    debug_expect(&debug, "");
    debug_free(&debug);
}
