/* Which addresses an entry covers, in every form, and what happens to code that a linker discarded. */
#include "support/dwarf_builder.h"
#include "support/test.h"

/* A file with one function f, whose ranges are in the list that PUT writes. */
static void expect_list_with(struct debug_shape shape, uint64_t base, void (*put)(struct debug *debug), bool damaged,
                             const char *expected)
{
    struct debug debug;
    debug_init(&debug, shape);
    /* The list does not begin at 0. */
    debug_number(&debug, RANGES, 0, 16);
    debug_number(&debug, RNGLISTS, 0, 8);
    uint64_t list = debug_size(&debug, shape.version >= 5 ? RNGLISTS : RANGES);
    for (unsigned i = 0; i < 4; i++)
        debug_number(&debug, ADDR, TEXT + 16 * i, debug.address_size);
    put(&debug);
    debug_begin_unit(&debug, LOW(base));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LIST(list));
    debug_end_unit(&debug);
    if (damaged)
        debug_expect_damage(&debug, 1, "the unit at 0x0 of .debug_info has a damaged list of ranges", expected);
    else
        debug_expect(&debug, expected);
    debug_free(&debug);
}

static void expect_list(struct debug_shape shape, uint64_t base, void (*put)(struct debug *debug), const char *expected)
{
    expect_list_with(shape, base, put, false, expected);
}

static void expect_damaged_list(uint16_t version, void (*put)(struct debug *debug), const char *expected)
{
    expect_list_with((struct debug_shape){.version = version}, 0, put, true, expected);
}

static void pair(struct debug *debug, uint64_t start, uint64_t end)
{
    debug_number(debug, RANGES, start, debug->address_size);
    debug_number(debug, RANGES, end, debug->address_size);
}

/* --- .debug_ranges --- */

static void put_plain(struct debug *debug)
{
    pair(debug, TEXT, TEXT + 8);
    pair(debug, TEXT + 16, TEXT + 24);
    pair(debug, 0, 0);
    pair(debug, TEXT + 32, TEXT + 40);
}

static void put_relative(struct debug *debug)
{
    pair(debug, 0, 8);
    pair(debug, 16, 24);
    pair(debug, 0, 0);
}

static void put_based(struct debug *debug)
{
    pair(debug, 0, 8);
    pair(debug, UINT64_MAX, TEXT + 0x100);
    pair(debug, 0, 8);
    pair(debug, UINT64_MAX, 0);
    pair(debug, TEXT + 0x200, TEXT + 0x208);
    pair(debug, 0, 0);
}

TEST(old_lists_are_relative_to_the_unit_or_to_their_base)
{
    for (unsigned i = 0; i < 12; i++) {
        struct debug_shape shape = {.version = (uint16_t)(2 + i % 3), .narrow = i & 4, .big_endian = i >= 8};
        expect_list(shape, 0, put_plain, "f@0-8 f@10-18");
        expect_list(shape, TEXT, put_relative, "f@0-8 f@10-18");
        expect_list(shape, TEXT, put_based, "f@0-8 f@100-108 f@200-208");
    }
}

/* --- .debug_rnglists --- */

static void entry(struct debug *debug, uint8_t kind)
{
    debug_number(debug, RNGLISTS, kind, 1);
}

static void address(struct debug *debug, uint64_t value)
{
    debug_number(debug, RNGLISTS, value, debug->address_size);
}

static void small(struct debug *debug, uint64_t value)
{
    debug_uleb(debug, RNGLISTS, value);
}

static void put_all_kinds(struct debug *debug)
{
    entry(debug, DW_RLE_offset_pair); /* relative to the unit's low address */
    small(debug, 0);
    small(debug, 4);
    entry(debug, DW_RLE_startx_endx);
    small(debug, 1);
    small(debug, 2);
    entry(debug, DW_RLE_startx_length);
    small(debug, 3);
    small(debug, 8);
    entry(debug, DW_RLE_start_end);
    address(debug, TEXT + 0x100);
    address(debug, TEXT + 0x110);
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT + 0x200);
    small(debug, 16);
    entry(debug, DW_RLE_base_address);
    address(debug, TEXT + 0x300);
    entry(debug, DW_RLE_offset_pair);
    small(debug, 1);
    small(debug, 5);
    entry(debug, DW_RLE_base_addressx);
    small(debug, 3);
    entry(debug, DW_RLE_offset_pair);
    small(debug, 0x400);
    small(debug, 0x404);
    entry(debug, DW_RLE_end_of_list);
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT + 0x500);
    small(debug, 16);
}

TEST(new_lists_have_all_kinds_of_entries)
{
    for (unsigned i = 0; i < 8; i++) {
        struct debug_shape shape = {.version = 5, .narrow = i & 1, .big_endian = i & 2, .wide_offsets = i & 4};
        expect_list(shape, TEXT, put_all_kinds, "f@0-4 f@10-20 f@30-38 f@100-110 f@200-210 f@301-305 f@430-434");
    }
}

TEST(lists_are_found_by_index)
{
    for (unsigned i = 0; i < 8; i++) {
        struct debug debug;
        debug_init(&debug,
                   (struct debug_shape){.version = 5, .narrow = i & 1, .big_endian = i & 2, .wide_offsets = i & 4});
        debug_number(&debug, RNGLISTS, 0, 12);
        uint64_t table = debug_size(&debug, RNGLISTS);
        debug_number(&debug, RNGLISTS, 0, debug.offset_size);
        debug_number(&debug, RNGLISTS, 2 * debug.offset_size, debug.offset_size);
        entry(&debug, DW_RLE_start_length);
        address(&debug, TEXT + 8);
        small(&debug, 8);
        entry(&debug, DW_RLE_end_of_list);
        debug_begin_unit(&debug, LOW(TEXT), VALUE(DW_AT_rnglists_base, DW_FORM_sec_offset, table));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), VALUE(DW_AT_ranges, DW_FORM_rnglistx, 1));
        debug_end_unit(&debug);
        debug_expect(&debug, "f@8-10");
        debug_free(&debug);
    }
}

/* --- damage --- */

static void put_cut(struct debug *debug)
{
    pair(debug, TEXT, TEXT + 8);
    debug_number(debug, RANGES, TEXT + 16, debug->address_size);
}

static void put_unknown_kind(struct debug *debug)
{
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT);
    small(debug, 8);
    entry(debug, 8);
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT + 16);
    small(debug, 8);
    entry(debug, DW_RLE_end_of_list);
}

static void put_index_outside(struct debug *debug)
{
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT);
    small(debug, 8);
    entry(debug, DW_RLE_startx_length);
    small(debug, 1000);
    small(debug, 8);
    entry(debug, DW_RLE_end_of_list);
}

static void put_new_cut(struct debug *debug)
{
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT);
    small(debug, 8);
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT + 16);
    debug_number(debug, RNGLISTS, 0xff, 1);
}

TEST(ranges_before_the_damage_of_a_list_are_kept)
{
    expect_damaged_list(4, put_cut, "f@0-8");
    expect_damaged_list(5, put_unknown_kind, "f@0-8");
    expect_damaged_list(5, put_index_outside, "f@0-8");
    expect_damaged_list(5, put_new_cut, "f@0-8");
}

TEST(a_list_outside_its_section_is_empty)
{
    static const uint64_t offsets[] = {100000, UINT32_MAX};
    for (uint16_t version = 4; version <= 5; version++)
        for (size_t i = 0; i < 2; i++) {
            struct debug debug;
            debug_init(&debug, (struct debug_shape){.version = version});
            debug_begin_unit(&debug, LOW(TEXT));
            ENTRY(&debug, DW_TAG_subprogram, NAME("no"), LIST(offsets[i]));
            ENTRY(&debug, DW_TAG_subprogram, NAME("no"), VALUE(DW_AT_ranges, DW_FORM_rnglistx, offsets[i]));
            ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
            debug_end_unit(&debug);
            debug_expect_damage(&debug, 1, "has a damaged list of ranges", "f@0-4");
            debug_free(&debug);
        }
}

/* --- discarded code --- */

static void expect_low_high(struct debug_shape shape, uint64_t low, uint64_t size, const char *expected)
{
    struct debug debug;
    debug_init(&debug, shape);
    debug_begin_unit(&debug, LOW(0));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(low), HIGH(size));
    debug_end_unit(&debug);
    debug_expect(&debug, expected);
    debug_free(&debug);
}

TEST(functions_that_the_linker_discarded_are_dropped)
{
    static const uint64_t tombstones[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    for (uint16_t version = 2; version <= 5; version++)
        for (size_t i = 0; i < 4; i++) {
            expect_low_high((struct debug_shape){.version = version}, tombstones[i], 0x20, "");
            expect_low_high((struct debug_shape){.version = version, .narrow = true}, (uint32_t)tombstones[i], 0x20,
                            "");
        }
}

TEST(addresses_near_a_tombstone_are_addresses)
{
    struct debug_shape low = {.version = 4, .code_at_zero = true};
    expect_low_high(low, 2, 6, "f@2-8");
    expect_low_high(low, UINT64_MAX - 2, 1, "f@fffffffffffffffd-fffffffffffffffe");
    low.narrow = true;
    expect_low_high(low, UINT32_MAX - 2, 1, "f@fffffffd-fffffffe");
    /* In a file with 64-bit addresses, it is a normal address. */
    low.narrow = false;
    expect_low_high(low, UINT32_MAX, 1, "f@ffffffff-100000000");
}

TEST(zero_is_an_address_if_there_is_code)
{
    for (uint16_t version = 2; version <= 5; version++) {
        expect_low_high((struct debug_shape){.version = version, .code_at_zero = true}, 0, 0x20, "f@0-20");
        expect_low_high((struct debug_shape){.version = version, .code_at_zero = true}, 1, 0x20, "f@1-21");
        expect_low_high((struct debug_shape){.version = version, .type = ET_REL}, 0, 0x20, "f@0-20");
    }
}

TEST(empty_and_inverted_ranges_are_dropped)
{
    expect_low_high((struct debug_shape){.version = 4}, TEXT, 0, "");
    expect_low_high((struct debug_shape){.version = 4}, TEXT, UINT64_MAX, "");
    expect_low_high((struct debug_shape){.version = 4}, TEXT, UINT64_MAX - TEXT + 1, "");
    expect_low_high((struct debug_shape){.version = 3}, TEXT, 0, "");
    expect_low_high((struct debug_shape){.version = 3}, TEXT, (uint64_t)-16, "");
}

static void put_old_garbage(struct debug *debug)
{
    pair(debug, TEXT, TEXT + 4);
    pair(debug, 1, 1);
    pair(debug, 1, 0x20);
    pair(debug, TEXT + 8, TEXT + 8);
    pair(debug, TEXT + 12, TEXT + 8);
    pair(debug, UINT64_MAX, 1);
    pair(debug, 0x10, 0x20);
    pair(debug, UINT64_MAX, UINT64_MAX - 1);
    pair(debug, 0x10, 0x20);
    pair(debug, UINT64_MAX, UINT64_MAX);
    pair(debug, 0x10, 0x20);
    pair(debug, UINT64_MAX, TEXT);
    pair(debug, 16, 20);
    pair(debug, 0, 0);
}

static void put_new_garbage(struct debug *debug)
{
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT);
    small(debug, 4);
    static const uint64_t dead[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    for (unsigned i = 0; i < 4; i++) {
        entry(debug, DW_RLE_start_length);
        address(debug, dead[i]);
        small(debug, 0x20);
        entry(debug, DW_RLE_start_end);
        address(debug, dead[i]);
        address(debug, dead[i] + 0x20);
        entry(debug, DW_RLE_base_address);
        address(debug, dead[i]);
        entry(debug, DW_RLE_offset_pair);
        small(debug, i == 0 ? 0 : 0x10);
        small(debug, 0x20);
    }
    entry(debug, DW_RLE_start_end);
    address(debug, TEXT + 12);
    address(debug, TEXT + 8);
    entry(debug, DW_RLE_start_length);
    address(debug, TEXT + 8);
    small(debug, 0);
    entry(debug, DW_RLE_base_address);
    address(debug, TEXT);
    entry(debug, DW_RLE_offset_pair);
    small(debug, 16);
    small(debug, 20);
    entry(debug, DW_RLE_end_of_list);
}

TEST(lists_lose_only_what_is_dead_in_them)
{
    for (unsigned narrow = 0; narrow < 2; narrow++) {
        expect_list((struct debug_shape){.version = 4, .narrow = narrow}, 0, put_old_garbage, "f@0-4 f@10-14");
        expect_list((struct debug_shape){.version = 5, .narrow = narrow}, 0, put_new_garbage, "f@0-4 f@10-14");
    }
}

/* --- overlaps --- */

static void put_overlaps(struct debug *debug)
{
    pair(debug, TEXT + 16, TEXT + 32);
    pair(debug, TEXT, TEXT + 8);
    pair(debug, TEXT, TEXT + 8);
    pair(debug, TEXT + 4, TEXT + 12);
    pair(debug, TEXT + 20, TEXT + 24);
    pair(debug, 0, 0);
}

TEST(ranges_of_one_function_that_overlap_are_one)
{
    expect_list((struct debug_shape){.version = 4}, 0, put_overlaps, "f@0-c f@10-20");
}

static void put_touching(struct debug *debug)
{
    pair(debug, TEXT + 8, TEXT + 16);
    pair(debug, TEXT, TEXT + 8);
    pair(debug, 0, 0);
}

TEST(ranges_that_touch_are_one)
{
    expect_list((struct debug_shape){.version = 4}, 0, put_touching, "f@0-10");
}

TEST(of_functions_with_the_same_code_the_first_has_it)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    for (unsigned i = 0; i < 3; i++) {
        debug_begin_unit(&debug, LOW(TEXT), HIGH(16));
        OPEN(&debug, DW_TAG_subprogram, NAME(((const char *[]){"a", "c", "e"})[i]), LOW(TEXT), HIGH(16));
        ENTRY(&debug, DW_TAG_inlined_subroutine, NAME(((const char *[]){"x", "y", "z"})[i]), LOW(TEXT), HIGH(8));
        debug_close(&debug);
        ENTRY(&debug, DW_TAG_subprogram, NAME(((const char *[]){"b", "d", "f"})[i]), LOW(TEXT), HIGH(16));
        debug_end_unit(&debug);
    }
    debug_expect(&debug, "a@0-10 >x@0-8(:0)");
    debug_free(&debug);
}

TEST(of_functions_that_overlap_the_one_that_starts_last_has_the_bytes)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_unit(&debug, LOW(TEXT), HIGH(32));
    ENTRY(&debug, DW_TAG_subprogram, NAME("inner"), LOW(TEXT + 8), HIGH(8));
    OPEN(&debug, DW_TAG_subprogram, NAME("outer"), LOW(TEXT), HIGH(32));
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("call"), LOW(TEXT + 4), HIGH(16));
    debug_close(&debug);
    debug_end_unit(&debug);
    debug_expect(&debug, "outer@0-8 >call@4-8(:0) inner@8-10 outer@10-20 >call@10-14(:0)");
    debug_free(&debug);
}
