/* The values of attributes: every form is read where it is needed and skipped where it is not. */
#include <stdlib.h>
#include <string.h>

#include "support/dwarf_builder.h"
#include "support/test.h"

#define DW_AT_unknown 0x3fff

static const struct debug_shape shapes[] = {
    {.version = 5},
    {.version = 5, .narrow = true, .big_endian = true},
    {.version = 5, .wide_offsets = true},
    {.version = 5, .wide_offsets = true, .big_endian = true},
    {.version = 4},
    {.version = 4, .narrow = true},
};
#define SHAPE_COUNT (sizeof shapes / sizeof *shapes)

static const uint16_t all_forms[] = {
    DW_FORM_addr,        DW_FORM_block2,       DW_FORM_block4,       DW_FORM_data2,          DW_FORM_data4,
    DW_FORM_data8,       DW_FORM_string,       DW_FORM_block,        DW_FORM_block1,         DW_FORM_data1,
    DW_FORM_flag,        DW_FORM_sdata,        DW_FORM_strp,         DW_FORM_udata,          DW_FORM_ref_addr,
    DW_FORM_ref1,        DW_FORM_ref2,         DW_FORM_ref4,         DW_FORM_ref8,           DW_FORM_ref_udata,
    DW_FORM_indirect,    DW_FORM_exprloc,      DW_FORM_flag_present, DW_FORM_sec_offset,     DW_FORM_strx,
    DW_FORM_addrx,       DW_FORM_ref_sup4,     DW_FORM_strp_sup,     DW_FORM_data16,         DW_FORM_line_strp,
    DW_FORM_ref_sig8,    DW_FORM_loclistx,     DW_FORM_rnglistx,     DW_FORM_implicit_const, DW_FORM_ref_sup8,
    DW_FORM_strx1,       DW_FORM_strx2,        DW_FORM_strx3,        DW_FORM_strx4,          DW_FORM_addrx1,
    DW_FORM_addrx2,      DW_FORM_addrx3,       DW_FORM_addrx4,       DW_FORM_GNU_addr_index, DW_FORM_GNU_str_index,
    DW_FORM_GNU_ref_alt, DW_FORM_GNU_strp_alt,
};
#define FORM_COUNT (sizeof all_forms / sizeof *all_forms)

/* A value of FORM of an attribute that is not read. */
static struct debug_value anything(uint16_t form)
{
    return (struct debug_value){
        .attribute = DW_AT_unknown, .form = form, .number = 3, .text = "abc", .following = DW_FORM_block1};
}

/* An attribute of the form precedes every attribute that is read, in entries of every kind that is read or skipped. */
TEST(every_form_is_skipped)
{
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t i = 0; i < FORM_COUNT; i++) {
            struct debug debug;
            debug_init(&debug, shapes[s]);
            struct debug_value any = anything(all_forms[i]);
            debug_begin_unit(&debug, any, LANGUAGE(C_PLUS_PLUS), LOW(TEXT), HIGH(32));
            ENTRY(&debug, 0x34 /* DW_TAG_variable */, any, NAME("v"), any);
            OPEN(&debug, DW_TAG_namespace, any, NAME("n"), any);
            OPEN(&debug, DW_TAG_subprogram, any, NAME("f"), any, LOW(TEXT), any, HIGH(16), any);
            OPEN(&debug, DW_TAG_inlined_subroutine, any, NAME("g"), any, LOW(TEXT), any, HIGH(8), any, CALL(1, 7), any);
            debug_close(&debug);
            debug_close(&debug);
            debug_close(&debug);
            ENTRY(&debug, DW_TAG_array_type, any);
            ENTRY(&debug, DW_TAG_subprogram, any, DECLARATION, any);
            ENTRY(&debug, DW_TAG_subprogram, NAME("last"), LOW(TEXT + 16), HIGH(16));
            debug_end_unit(&debug);
            debug_expect(&debug, "n::f@0-10 >g@0-8(:7) last@10-20");
            debug_free(&debug);
        }
}

/* The tables of indexed forms: string number 3 is "name", address number 3 is TEXT. */
static void put_tables(struct debug *debug)
{
    uint64_t name = debug_string(debug, STR, "!") + 2;
    debug_string(debug, STR, "name");
    debug_string(debug, LINE_STR, "?");
    debug_string(debug, LINE_STR, "name");
    for (unsigned i = 0; i < 4; i++) {
        debug_number(debug, STR_OFFSETS, i == 3 ? name : 9999, debug->offset_size);
        debug_number(debug, ADDR, i == 3 ? TEXT : 0, debug->address_size);
    }
}

TEST(a_name_can_have_every_form_of_strings)
{
    static const struct {
        uint16_t form;
        uint64_t number;
    } forms[] = {{DW_FORM_string, 0}, {DW_FORM_strp, 2},  {DW_FORM_line_strp, 2},
                 {DW_FORM_strx, 3},   {DW_FORM_strx1, 3}, {DW_FORM_strx2, 3},
                 {DW_FORM_strx3, 3},  {DW_FORM_strx4, 3}, {DW_FORM_GNU_str_index, 3}};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t i = 0; i < 2 * sizeof forms / sizeof *forms; i++) {
            struct debug debug;
            debug_init(&debug, shapes[s]);
            put_tables(&debug);
            bool indirect = i & 1;
            struct debug_value name = {.attribute = DW_AT_name,
                                       .form = indirect ? DW_FORM_indirect : forms[i / 2].form,
                                       .following = forms[i / 2].form,
                                       .number = forms[i / 2].number,
                                       .text = "name"};
            debug_begin_unit(&debug, LOW(TEXT), HIGH(32), VALUE(DW_AT_str_offsets_base, DW_FORM_sec_offset, 0));
            ENTRY(&debug, DW_TAG_subprogram, name, LOW(TEXT), HIGH(16));
            debug_end_unit(&debug);
            debug_expect(&debug, "name@0-10");
            debug_free(&debug);
        }
}

TEST(an_address_can_have_every_form_of_addresses)
{
    static const uint16_t forms[] = {DW_FORM_addr,   DW_FORM_addrx,  DW_FORM_addrx1,        DW_FORM_addrx2,
                                     DW_FORM_addrx3, DW_FORM_addrx4, DW_FORM_GNU_addr_index};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t i = 0; i < 2 * sizeof forms / sizeof *forms; i++) {
            struct debug debug;
            debug_init(&debug, shapes[s]);
            put_tables(&debug);
            uint16_t form = forms[i / 2];
            struct debug_value low = {.attribute = DW_AT_low_pc,
                                      .form = i & 1 ? DW_FORM_indirect : form,
                                      .following = form,
                                      .number = form == DW_FORM_addr ? TEXT : 3};
            debug_begin_unit(&debug, LOW(TEXT), HIGH(32), VALUE(DW_AT_addr_base, DW_FORM_sec_offset, 0));
            ENTRY(&debug, DW_TAG_subprogram, NAME("f"), low, HIGH(16));
            debug_end_unit(&debug);
            debug_expect(&debug, "f@0-10");
            debug_free(&debug);
        }
}

TEST(an_end_is_an_address_or_a_distance)
{
    static const uint16_t distances[] = {DW_FORM_data1, DW_FORM_data2, DW_FORM_data4,         DW_FORM_data8,
                                         DW_FORM_udata, DW_FORM_sdata, DW_FORM_implicit_const};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t i = 0; i <= sizeof distances / sizeof *distances; i++) {
            struct debug debug;
            debug_init(&debug, shapes[s]);
            struct debug_value high = i == 0 ? (struct debug_value)VALUE(DW_AT_high_pc, DW_FORM_addr, TEXT + 16)
                                             : (struct debug_value)VALUE(DW_AT_high_pc, distances[i - 1], 16);
            debug_begin_unit(&debug, LOW(TEXT), HIGH(32));
            /* The end may come before the start. */
            ENTRY(&debug, DW_TAG_subprogram, NAME("f"), high, LOW(TEXT));
            debug_end_unit(&debug);
            debug_expect(&debug, "f@0-10");
            debug_free(&debug);
        }
}

TEST(call_sites_can_have_every_form_of_numbers)
{
    static const uint16_t forms[] = {DW_FORM_data1, DW_FORM_data2, DW_FORM_data4,         DW_FORM_data8,
                                     DW_FORM_udata, DW_FORM_sdata, DW_FORM_implicit_const};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 5});
        debug_begin_unit(&debug, LINES(debug_plain_lines(&debug, 4, 1)), LOW(TEXT), HIGH(4));
        OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
        ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("g"), LOW(TEXT), HIGH(4), VALUE(DW_AT_call_file, forms[i], 1),
              VALUE(DW_AT_call_line, forms[i], 100));
        debug_close(&debug);
        debug_end_unit(&debug);
        debug_expect(&debug, "f@0-4 >g@0-4(/src/a.c:100){0:/src/a.c:1}");
        debug_free(&debug);
    }
}

TEST(entries_are_referred_to_in_every_form)
{
    static const uint16_t forms[] = {DW_FORM_ref1, DW_FORM_ref2,      DW_FORM_ref4,
                                     DW_FORM_ref8, DW_FORM_ref_udata, DW_FORM_ref_addr};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t i = 0; i < 2 * sizeof forms / sizeof *forms; i++) {
            struct debug debug;
            debug_init(&debug, shapes[s]);
            /* Not the first unit, so that the base of the number matters. */
            debug_begin_unit(&debug, NAME("other"));
            debug_end_unit(&debug);
            uint64_t start = debug_size(&debug, INFO);
            debug_begin_unit(&debug, LOW(TEXT), HIGH(32));
            uint64_t origin = ENTRY(&debug, DW_TAG_subprogram, NAME("f"));
            uint16_t form = forms[i / 2];
            struct debug_value reference = {.attribute = DW_AT_abstract_origin,
                                            .form = i & 1 ? DW_FORM_indirect : form,
                                            .following = form,
                                            .number = form == DW_FORM_ref_addr ? origin : origin - start};
            ENTRY(&debug, DW_TAG_subprogram, reference, LOW(TEXT), HIGH(16));
            debug_end_unit(&debug);
            debug_expect(&debug, "f@0-10");
            debug_free(&debug);
        }
}

TEST(a_line_table_is_referred_to_in_every_form)
{
    static const uint16_t forms[] = {DW_FORM_data4, DW_FORM_data8, DW_FORM_sec_offset};
    for (size_t i = 0; i < 3; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_plain_lines(&debug, 4, 1);
        uint64_t lines = debug_plain_lines(&debug, 4, 9);
        debug_begin_unit(&debug, VALUE(DW_AT_stmt_list, forms[i], lines), LOW(TEXT), HIGH(4));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
        debug_end_unit(&debug);
        debug_expect(&debug, "f@0-4{0:/src/a.c:9}");
        debug_free(&debug);
    }
}

/* The bases may come after the attributes that need them. */
TEST(a_root_entry_says_its_bases_anywhere)
{
    for (unsigned indirect = 0; indirect < 2; indirect++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 5});
        put_tables(&debug);
        debug_bytes(&debug, ADDR, "12345678", 8);
        debug_number(&debug, ADDR, TEXT, 8);
        debug_string(&debug, STR, "/there");
        debug_number(&debug, STR_OFFSETS, 7, 4);
        uint64_t lines = debug_plain_lines(&debug, 4, 1);
        debug_begin_header(&debug, DW_UT_compile, 0);
        struct debug_value directory = {.attribute = DW_AT_comp_dir,
                                        .form = indirect ? DW_FORM_indirect : DW_FORM_strx,
                                        .following = DW_FORM_strx,
                                        .number = 1};
        struct debug_value low = {.attribute = DW_AT_low_pc,
                                  .form = indirect ? DW_FORM_indirect : DW_FORM_addrx,
                                  .following = DW_FORM_addrx,
                                  .number = 1};
        OPEN(&debug, DW_TAG_compile_unit, directory, low, LANGUAGE(DW_LANG_C99), LINES(lines),
             VALUE(DW_AT_str_offsets_base, DW_FORM_sec_offset, 12), VALUE(DW_AT_addr_base, DW_FORM_sec_offset, 32));
        /* Offsets of a range list are relative to the unit's low address. */
        debug_number(&debug, RNGLISTS, DW_RLE_offset_pair, 1);
        debug_uleb(&debug, RNGLISTS, 0);
        debug_uleb(&debug, RNGLISTS, 4);
        debug_number(&debug, RNGLISTS, 0, 1);
        ENTRY(&debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strx, 0), LIST(0));
        debug_end_unit(&debug);
        debug_expect(&debug, "name@0-4{0:/there/a.c:1}");
        debug_free(&debug);
    }
}

TEST(indexes_out_of_range_have_no_value)
{
    static const uint64_t outside[] = {4, 5, UINT32_MAX, UINT64_MAX, UINT64_MAX / 8 + 2, UINT64_MAX / 4 + 2};
    for (size_t s = 0; s < SHAPE_COUNT; s++)
        for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
            struct debug debug;
            debug_init(&debug, shapes[s]);
            put_tables(&debug);
            debug_begin_unit(&debug, LOW(TEXT), HIGH(32));
            ENTRY(&debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strx, outside[i]), LOW(TEXT), HIGH(16));
            ENTRY(&debug, DW_TAG_subprogram, NAME("no"), VALUE(DW_AT_low_pc, DW_FORM_addrx, outside[i]), HIGH(16));
            ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(16));
            debug_end_unit(&debug);
            debug_expect(&debug, "f@0-10");
            debug_free(&debug);
        }
}

TEST(bases_out_of_range_give_no_value)
{
    static const uint64_t bases[] = {1000, UINT32_MAX, UINT64_MAX, UINT64_MAX - 12, UINT64_MAX - 24};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 5});
        put_tables(&debug);
        debug_begin_unit(&debug, LOW(TEXT), HIGH(32), VALUE(DW_AT_str_offsets_base, DW_FORM_data8, bases[i]),
                         VALUE(DW_AT_addr_base, DW_FORM_data8, bases[i]),
                         VALUE(DW_AT_rnglists_base, DW_FORM_data8, bases[i]));
        ENTRY(&debug, DW_TAG_subprogram, NAME("no"), VALUE(DW_AT_low_pc, DW_FORM_addrx, 3), HIGH(16));
        ENTRY(&debug, DW_TAG_subprogram, NAME("no"), VALUE(DW_AT_ranges, DW_FORM_rnglistx, 3));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), VALUE(DW_AT_linkage_name, DW_FORM_strx, 3), LOW(TEXT), HIGH(16));
        debug_end_unit(&debug);
        debug_expect_damage(&debug, 1, "has a damaged list of ranges", "f@0-10");
        debug_free(&debug);
    }
}

TEST(unterminated_strings_are_not_names)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_string(&debug, STR, "good");
    debug_bytes(&debug, STR, "cut", 3);
    debug_begin_unit(&debug, LOW(TEXT), HIGH(64));
    for (uint64_t offset = 5; offset < 10; offset++)
        ENTRY(&debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strp, offset), LOW(TEXT + offset), HIGH(1));
    ENTRY(&debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strp, UINT32_MAX), LOW(TEXT + 10), HIGH(1));
    ENTRY(&debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strp, 0), LOW(TEXT), HIGH(1));
    debug_end_unit(&debug);
    debug_expect(&debug, "good@0-1");
    debug_free(&debug);
}

TEST(a_string_of_64_kib_is_not_a_name)
{
    for (int more = -1; more <= 0; more++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        for (int i = 0; i < 65536 + more; i++)
            debug_number(&debug, STR, 'x', 1);
        debug_number(&debug, STR, 0, 1);
        debug_begin_unit(&debug, LOW(TEXT), HIGH(64));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), VALUE(DW_AT_linkage_name, DW_FORM_strp, 0), LOW(TEXT), HIGH(1));
        debug_end_unit(&debug);
        struct debug_result result = debug_read(&debug, NULL);
        char *text = debug_text(&debug, result.symbols);
        assert_int_equal(strlen(text), more < 0 ? 65535 + 4 : 5);
        free(text);
        debug_result_free(&result);
        debug_free(&debug);
    }
}

TEST(an_unknown_form_ends_the_unit)
{
    static const struct {
        uint16_t form, following;
    } forms[] = {{0x02, 0},
                 {0x2d, 0},
                 {0x1f03, 0},
                 {0x1f22, 0},
                 {0x7fff, 0},
                 {DW_FORM_indirect, 0x2d},
                 {DW_FORM_indirect, DW_FORM_implicit_const}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        debug_begin_unit(&debug, LOW(TEXT), HIGH(32));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(16));
        struct debug_value odd = {.attribute = DW_AT_unknown, .form = forms[i].form, .following = forms[i].following};
        ENTRY(&debug, 0x34, odd);
        ENTRY(&debug, DW_TAG_subprogram, NAME("lost"), LOW(TEXT + 16), HIGH(16));
        debug_end_unit(&debug);
        debug_expect_damage(&debug, 1, "is damaged at", "f@0-10");
        debug_free(&debug);
    }
}

TEST(nested_indirect_forms_have_a_limit)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_unit(&debug, LOW(TEXT), HIGH(32));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(16));
    struct debug_value odd = {.attribute = DW_AT_unknown, .form = DW_FORM_indirect, .following = DW_FORM_indirect};
    odd.number = 0;
    /* The builder writes one level; the rest by hand. */
    debug_abbreviation(&debug, ++debug.codes, 0x34, false, (const struct debug_value[]){odd, NOTHING});
    debug_uleb(&debug, INFO, debug.codes);
    for (unsigned i = 0; i < 10000; i++)
        debug_uleb(&debug, INFO, DW_FORM_indirect);
    debug_end_unit(&debug);
    debug_expect_damage(&debug, 1, "is damaged at", "f@0-10");
    debug_free(&debug);
}

/* Numbers with more bytes than necessary, and with more bits than fit. */
TEST(numbers_of_any_length_are_read)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    static const struct debug_value values[] = {NAME(""), LOW(0), VALUE(DW_AT_high_pc, DW_FORM_udata, 0), NOTHING};
    debug_begin_unit(&debug, LOW(TEXT), HIGH(32));
    debug_abbreviation(&debug, 77, DW_TAG_subprogram, false, values);
    debug_bytes(&debug, INFO, "\xcd\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 16);
    debug_string(&debug, INFO, "f");
    debug_number(&debug, INFO, TEXT, 8);
    debug_bytes(&debug, INFO, "\x90\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 12);
    debug_end_unit(&debug);
    debug_expect(&debug, "f@0-10");
    debug_free(&debug);
}
