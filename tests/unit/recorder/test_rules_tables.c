/* test_rules_tables.c: which entry of the tables gives the rule for an address, and tables that are damaged. */
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

/* --- CIEs and FDEs --- */

TEST(reads_every_augmentation_that_compilers_write)
{
    const uint8_t relative = RELATIVE | SDATA4;
    const struct {
        const char *letters;
        struct code data;
    } known[] = {
        {"zR", CODE(relative)},
        {"zPLR", CODE(0x9b, 1, 2, 3, 4, relative, relative)},
        {"zPLR", CODE(0x00, 1, 2, 3, 4, 5, 6, 7, 8, relative, relative)},
        {"zLR", CODE(0xff, relative)},
        {"zRB", CODE(relative)},
        {"zBGR", CODE(relative, 1, 2, 3)}, /* data that no letter needs */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct cie_options options = {.letters = known[i].letters, .data = known[i].data, .encoding = relative};
        assert_rule(sxt_image_rule_with(options, CODE(0x0e, 16), 0), STACK(16));
    }
    assert_rule(sxt_image_rule_with((struct cie_options){.letters = "", .encoding = ABSOLUTE}, CODE(0x0e, 16), 0),
                STACK(16));
}

TEST(refuses_augmentations_that_it_does_not_know)
{
    const uint8_t relative = RELATIVE | SDATA4;
    const struct {
        const char *letters;
        struct code data;
    } unknown[] = {
        {"eh", CODE(relative)},
        {"zXR", CODE(relative)},
        {"zPR", CODE(0x50, 1, 2, 3, 4, 5, 6, 7, 8, relative)}, /* a personality that is aligned */
        {"zPR", CODE(0x9b, 1, 2, 3)},                          /* data that is too short */
        {"zPLR", CODE(0x9b, 1, 2, 3, 4, relative)},
        {"zPR", CODE(0xff, relative)},
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct cie_options options = {.letters = unknown[i].letters, .data = unknown[i].data, .encoding = relative};
        assert_rule(sxt_image_rule_with(options, CODE(0x0e, 16), 0), RULE_GUESS);
    }
}

TEST(reads_addresses_in_every_encoding_that_occurs)
{
    for (unsigned encoding = 0; encoding <= 0xff; encoding++) {
        unsigned size = encoding & 0x0f;
        bool is_wide = size == 0 || size == 4 || size == 12, is_narrow = size == 3 || size == 11;
        /* The image is above 4 GiB, so that a narrow absolute address is the address of something else. */
        bool is_known = (encoding & 0xf0) == RELATIVE ? is_wide || is_narrow : (encoding & 0xf0) == 0 && is_wide;
        struct cie_options options = {.letters = "zR", .data = CODE((uint8_t)encoding), .encoding = (uint8_t)encoding};
        assert_rule(sxt_image_rule_with(options, CODE(0x0e, 16), 0), is_known ? STACK(16) : (frame_rule)RULE_GUESS);
    }
}

TEST(reads_the_versions_of_the_section)
{
    for (unsigned version = 1; version <= 5; version++) {
        struct cie_options options = {.version = (uint8_t)version};
        bool is_known = version == 1 || version == 3;
        assert_rule(sxt_image_rule_with(options, NO_CODE, 0), is_known ? STACK(8) : (frame_rule)RULE_GUESS);
    }
}

TEST(refuses_what_is_not_a_cie)
{
    assert_rule(sxt_image_rule_with((struct cie_options){.id = 1}, NO_CODE, 0), RULE_GUESS);
    assert_rule(sxt_image_rule_with((struct cie_options){.return_register = OTHER}, NO_CODE, 0), RULE_GUESS);
    assert_rule(sxt_image_rule_with((struct cie_options){.program = CODE(0x3f)}, NO_CODE, 0), RULE_GUESS);
    assert_rule(sxt_image_rule_with((struct cie_options){.program = CODE(0x0e)}, NO_CODE, 0), RULE_GUESS);
}

TEST(the_program_of_the_cie_has_no_end_address)
{
    const struct cie_options options = {.program = CODE(0x0c, SP, 8, 0x04, 255, 255, 255, 255, OFFSET(RA), 1)};
    assert_rule(sxt_image_rule_with(options, CODE(ADVANCE(4), 0x0e, 16), 3), STACK(8));
    assert_rule(sxt_image_rule_with(options, CODE(ADVANCE(4), 0x0e, 16), 4), STACK(16));
}

/* An image of one function, with the 32-bit number at a place of its FDE changed. */
static frame_rule rule_with_changed(size_t at, uint32_t value)
{
    sxt_image_begin(1);
    size_t cie = sxt_image_add_cie((struct cie_options){.encoding = RELATIVE | SDATA4});
    size_t entry = sxt_image.used;
    sxt_image_add_fde(cie, RELATIVE | SDATA4, true, 0x1000, FUNCTION_SIZE, NO_CODE);
    sxt_image_set_u32(entry + at, value);
    return sxt_rule_find(&sxt_image.module, sxt_image_finish() + 0x1000, true);
}

TEST(refuses_an_fde_without_its_cie)
{
    sxt_image_begin(1);
    size_t cie = sxt_image_add_cie((struct cie_options){.encoding = RELATIVE | SDATA4});
    size_t back = sxt_image.used + 4 - cie;
    assert_rule(rule_with_changed(4, (uint32_t)back), STACK(8));
    const uint32_t others[] = {0,          4,          (uint32_t)back - 1, (uint32_t)back + 1, (uint32_t)back + 4096,
                               0x7fffffff, 0x80000000, 0xffffffff};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_rule(rule_with_changed(4, others[i]), RULE_GUESS);
}

TEST(refuses_lengths_that_cannot_be)
{
    const uint32_t lengths[] = {0, 1, 4, 8, 12, 4096, 0x7fffffff, 0xfffffff0, 0xffffffff};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        assert_rule(rule_with_changed(0, lengths[i]), RULE_GUESS);
}

TEST(signal_frames_have_their_own_rule)
{
    const uint8_t relative = RELATIVE | SDATA4;
    const struct cie_options options = {.letters = "zRS", .data = CODE(relative), .encoding = relative};
    assert_rule(sxt_image_rule_with(options, CODE(0x0f, 2, 0x77, 0x08), 0), RULE_SIGNAL);
    assert_rule(sxt_image_rule_with(options, CODE(0x3f), FUNCTION_SIZE - 1), RULE_SIGNAL);
    assert_rule(sxt_image_rule_with(options, NO_CODE, FUNCTION_SIZE), RULE_GUESS);
}

/* --- which function it is --- */

TEST(a_return_address_belongs_to_the_call_before_it)
{
    sxt_image_begin(2);
    size_t cie = sxt_image_add_cie((struct cie_options){.encoding = RELATIVE | SDATA4});
    sxt_image_add_fde(cie, RELATIVE | SDATA4, true, 0x1000, 16, CODE(ADVANCE(8), 0x0e, 16));
    sxt_image_add_fde(cie, RELATIVE | SDATA4, true, 0x1010, 16, CODE(0x0e, 32));
    uintptr_t code = sxt_image_finish() + 0x1000;
    assert_rule(sxt_rule_find(&sxt_image.module, code + 8, true), STACK(16));
    assert_rule(sxt_rule_find(&sxt_image.module, code + 8, false), STACK(8));
    assert_rule(sxt_rule_find(&sxt_image.module, code + 9, false), STACK(16));
    assert_rule(sxt_rule_find(&sxt_image.module, code + 16, true), STACK(32));
    assert_rule(sxt_rule_find(&sxt_image.module, code + 16, false), STACK(16));
    assert_rule(sxt_rule_find(&sxt_image.module, code + 32, false), STACK(32));
    assert_rule(sxt_rule_find(&sxt_image.module, code + 32, true), RULE_GUESS);
    assert_rule(sxt_rule_find(&sxt_image.module, code + 33, false), RULE_GUESS);
    assert_rule(sxt_rule_find(&sxt_image.module, code - 1, true), RULE_GUESS);
    assert_rule(sxt_rule_find(&sxt_image.module, 0, true), RULE_GUESS);
    assert_rule(sxt_rule_find(&sxt_image.module, 0, false), RULE_GUESS);
    assert_rule(sxt_rule_find(&sxt_image.module, UINTPTR_MAX, true), RULE_GUESS);
}

/* A signal handler returns to the first instruction of a function, which may have nothing before it. */
TEST(a_return_address_after_a_gap_belongs_to_the_function_that_begins_there)
{
    const uint8_t relative = RELATIVE | SDATA4;
    sxt_image_begin(2);
    size_t cie = sxt_image_add_cie((struct cie_options){.encoding = relative});
    size_t of_signals = sxt_image_add_cie((struct cie_options){.letters = "zRS", .data = CODE(relative)});
    sxt_image_add_fde(cie, relative, true, 0x1000, 8, NO_CODE);
    sxt_image_add_fde(of_signals, relative, true, 0x1010, 16, NO_CODE);
    uintptr_t code = sxt_image_finish() + 0x1000;
    assert_rule(sxt_rule_find(&sxt_image.module, code + 0x10, false), RULE_SIGNAL);
    assert_rule(sxt_rule_find(&sxt_image.module, code + 0x0f, false), RULE_GUESS);
    assert_rule(sxt_rule_find(&sxt_image.module, code + 0x08, false), STACK(8));
}

TEST(finds_each_of_many_functions)
{
    enum { COUNT = 100 };
    sxt_image_begin(COUNT);
    size_t cie = sxt_image_add_cie((struct cie_options){.encoding = RELATIVE | SDATA4});
    for (unsigned i = 0; i < COUNT; i++)
        sxt_image_add_fde(cie, RELATIVE | SDATA4, true, 0x10000 + (size_t)i * 32, 16, CODE(0x0e, (uint8_t)(i + 1)));
    uintptr_t code = sxt_image_finish() + 0x10000;
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned offset = 0; offset < 32; offset++)
            assert_rule(sxt_rule_find(&sxt_image.module, code + (size_t)i * 32 + offset, true),
                        offset < 16 ? STACK(i + 1) : (frame_rule)RULE_GUESS);
}

TEST(functions_may_lie_before_their_table)
{
    sxt_image_begin(1);
    size_t cie = sxt_image_add_cie((struct cie_options){.encoding = RELATIVE | SDATA4});
    sxt_image_add_fde(cie, RELATIVE | SDATA4, true, (size_t)-0x2000, 16, NO_CODE);
    uintptr_t image = sxt_image_finish();
    assert_rule(sxt_rule_find(&sxt_image.module, image - 0x2000, true), STACK(8));
    assert_rule(sxt_rule_find(&sxt_image.module, image - 0x2000 - 1, true), RULE_GUESS);
}

/* --- damage --- */

/* The image of a function with a program that is not short; the beginning of its code. */
static uintptr_t make_usual(void)
{
    sxt_image_begin(1);
    size_t cie = sxt_image_add_cie((struct cie_options){.encoding = RELATIVE | SDATA4});
    sxt_image_add_fde(cie, RELATIVE | SDATA4, true, 0x10000, FUNCTION_SIZE,
                      CODE(ADVANCE(1), 0x0e, 16, OFFSET(FP), 2, ADVANCE(3), 0x0d, FP, 0x02, 200, 0x0a, 0x0c, SP, 8,
                           ADVANCE(1), 0x0b, 0x0f, 3, 0x70 + FP, 0x78, 0x06, 0x10, FP, 2, 0x70 + FP, 0));
    return sxt_image_finish() + 0x10000;
}

TEST(unknown_tables_give_no_rule)
{
    uintptr_t code = make_usual();
    uint8_t *table = sxt_image.space + RULES_SPACE - sxt_image.used;
    assert_rule(sxt_rule_find(&sxt_image.module, code, true), STACK(8));
    for (size_t at = 0; at < 4; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            table[at] ^= (uint8_t)(1u << bit);
            assert_rule(sxt_rule_find(&sxt_image.module, code, true), RULE_GUESS);
            table[at] ^= (uint8_t)(1u << bit);
        }
    table[8] = 2; /* functions, in a table with room for one */
    assert_rule(sxt_rule_find(&sxt_image.module, code, true), RULE_GUESS);
    memset(table + 8, 0xff, 4);
    assert_rule(sxt_rule_find(&sxt_image.module, code, true), RULE_GUESS);
    memset(table + 8, 0, 4);
    assert_rule(sxt_rule_find(&sxt_image.module, code, true), RULE_GUESS);
    make_usual();
    for (size_t size = 0; size < HEADER + 8; size++) {
        sxt_image.module.frame_table_size = size;
        assert_rule(sxt_rule_find(&sxt_image.module, code, true), RULE_GUESS);
    }
    sxt_image.module.frame_table = NULL;
    assert_rule(sxt_rule_find(&sxt_image.module, code, true), RULE_GUESS);
}

TEST(entries_outside_of_the_module_are_not_read)
{
    uintptr_t code = make_usual();
    uint8_t *table = sxt_image.space + RULES_SPACE - sxt_image.used;
    const int64_t entries[] = {-1,
                               -4096,
                               INT32_MIN,
                               (int64_t)sxt_image.used,
                               (int64_t)sxt_image.used + 100,
                               INT32_MAX,
                               (int64_t)sxt_image.used - 1,
                               (int64_t)sxt_image.used - 4};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        int32_t entry = (int32_t)entries[i];
        memcpy(table + HEADER + 4, &entry, sizeof entry);
        assert_rule(sxt_rule_find(&sxt_image.module, code, true), RULE_GUESS);
    }
}

TEST(nothing_is_read_after_the_end_of_a_module_that_is_cut)
{
    uintptr_t code = make_usual();
    size_t whole = sxt_image.used;
    for (size_t size = HEADER + 8; size < whole; size++) {
        make_usual();
        uint8_t *image = sxt_image.space + RULES_SPACE - size;
        memcpy(image, sxt_image.written, size);
        sxt_image.module.start = (uintptr_t)image;
        sxt_image.module.end = sxt_image.module.start + size;
        sxt_image.module.frame_table = image;
        code = sxt_image.module.start + 0x10000;
        for (unsigned offset = 0; offset < 256; offset += 5) {
            frame_rule rule = sxt_rule_find(&sxt_image.module, code + offset, true);
            /* Only the padding at the end of the image may be absent. */
            assert_true(rule == RULE_GUESS || size + 8 > whole);
        }
    }
}

/* Every rule has one of the kinds, and only those with offsets have offsets. */
static void assert_valid(frame_rule rule)
{
    enum rule_kind kind = RULE_KIND(rule);
    assert_true(kind > RULE_NONE && kind <= RULE_OUTERMOST);
    if (kind == RULE_FROM_STACK || kind == RULE_FROM_FRAME || kind == RULE_FROM_LOAD)
        assert_true(RULE_LINK_OFFSET(rule) != 0 && rule >> 59 == 0);
    else
        assert_rule(rule, kind);
}

TEST(any_changed_byte_gives_some_rule)
{
    uintptr_t code = make_usual();
    uint8_t *image = sxt_image.space + RULES_SPACE - sxt_image.used;
    for (size_t at = 0; at < sxt_image.used; at++)
        for (unsigned value = 0; value < 256; value++) {
            uint8_t before = image[at];
            image[at] = (uint8_t)value;
            for (unsigned offset = 0; offset < 256; offset += 85)
                assert_valid(sxt_rule_find(&sxt_image.module, code + offset, offset % 2 == 0));
            image[at] = before;
        }
}

TEST(random_programs_give_some_rule)
{
    uint8_t program[40];
    uint64_t state = 1;
    for (unsigned round = 0; round < 20000; round++) {
        for (size_t i = 0; i < sizeof program; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            uint8_t byte = (uint8_t)(state >> 56);
            program[i] = i % 3 == 0 ? byte % 0x18 : byte; /* mostly known instructions */
        }
        assert_valid(sxt_image_rule((struct code){sizeof program, program}, round % FUNCTION_SIZE));
    }
}
