/* Names of functions: by origins and specifications, with the scopes around them, and errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dwarf_builder.h"
#include "support/test.h"
#include "symbols/symbols.h"

static void begin(struct debug *debug, uint16_t language)
{
    debug_init(debug, (struct debug_shape){.version = 4});
    debug_begin_unit(debug, LOW(TEXT), HIGH(0x100), LANGUAGE(language));
}

static void expect(struct debug *debug, const char *expected)
{
    debug_end_unit(debug);
    debug_expect(debug, expected);
    debug_free(debug);
}

TEST(the_linkage_name_comes_first)
{
    struct debug debug;
    begin(&debug, C_PLUS_PLUS);
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LINKAGE("_Z1fv"), LOW(TEXT), HIGH(4));
    ENTRY(&debug, DW_TAG_subprogram, TEXT_VALUE(DW_AT_MIPS_linkage_name, "_Z1gv"), NAME("g"), LOW(TEXT + 4), HIGH(4));
    /* An empty name is not used. */
    ENTRY(&debug, DW_TAG_subprogram, NAME("h"), LINKAGE(""), LOW(TEXT + 8), HIGH(4));
    expect(&debug, "_Z1fv@0-4 _Z1gv@4-8 h@8-c");
}

TEST(names_are_found_along_origins_and_specifications)
{
    struct debug debug;
    begin(&debug, DW_LANG_C99);
    uint64_t declaration = ENTRY(&debug, DW_TAG_subprogram, NAME("name"), DECLARATION);
    uint64_t abstract = ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(declaration));
    uint64_t linked = ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(declaration), LINKAGE("linked"));
    uint64_t far = ENTRY(&debug, DW_TAG_subprogram, ORIGIN(abstract));
    ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(declaration), LOW(TEXT), HIGH(4));
    ENTRY(&debug, DW_TAG_subprogram, ORIGIN(abstract), LOW(TEXT + 4), HIGH(4));
    ENTRY(&debug, DW_TAG_subprogram, ORIGIN(linked), LOW(TEXT + 8), HIGH(4));
    ENTRY(&debug, DW_TAG_subprogram, ORIGIN(linked), NAME("own"), LOW(TEXT + 12), HIGH(4));
    OPEN(&debug, DW_TAG_subprogram, ORIGIN(far), LINKAGE("mine"), LOW(TEXT + 16), HIGH(16));
    ENTRY(&debug, DW_TAG_inlined_subroutine, ORIGIN(far), LOW(TEXT + 16), HIGH(4), CALL(1, 1));
    ENTRY(&debug, DW_TAG_inlined_subroutine, ORIGIN(linked), LOW(TEXT + 20), HIGH(4), CALL(1, 2));
    debug_close(&debug);
    expect(&debug, "name@0-4 name@4-8 linked@8-c linked@c-10 mine@10-20 >name@10-14(:1) >linked@14-18(:2)");
}

TEST(names_are_found_in_other_units)
{
    for (unsigned before = 0; before < 2; before++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 5});
        uint64_t name = 0, place = 0, number_at = 0;
        for (unsigned unit = 0; unit < 2; unit++) {
            debug_begin_unit(&debug, LOW(TEXT), HIGH(0x100), LANGUAGE(C_PLUS_PLUS));
            if (unit == before) {
                OPEN(&debug, DW_TAG_namespace, NAME("other"));
                name = ENTRY(&debug, DW_TAG_subprogram, NAME("f"));
                debug_close(&debug);
            } else {
                place = ENTRY(&debug, DW_TAG_subprogram, LOW(TEXT), HIGH(4), ORIGIN(0));
                number_at = place + 1 + 8 + 1;
            }
            debug_end_unit(&debug);
        }
        debug_poke(&debug, INFO, number_at, name, 4);
        debug_expect(&debug, "other::f@0-4");
        debug_free(&debug);
    }
}

/* More units than the cache holds, each with the name and the scope of a function of another unit. */
TEST(names_are_found_in_hundreds_of_other_units)
{
    enum { UNITS = 300 };
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t names[UNITS][2];
    char text[20], *expected = calloc(UNITS * 2, 40), *at = expected;
    for (unsigned i = 0; i < UNITS; i++) {
        if (i % 3 == 0 && i > 0)
            debug_new_abbreviations(&debug);
        debug_begin_unit(&debug, LANGUAGE(C_PLUS_PLUS));
        snprintf(text, sizeof text, "n%u", i);
        OPEN(&debug, DW_TAG_namespace, NAME(text));
        names[i][0] = ENTRY(&debug, DW_TAG_subprogram, NAME("f"));
        names[i][1] = ENTRY(&debug, DW_TAG_subprogram, NAME("g"));
        debug_close(&debug);
        debug_end_unit(&debug);
    }
    debug_new_abbreviations(&debug);
    debug_begin_unit(&debug, LOW(TEXT), HIGH(0x1000), LANGUAGE(C_PLUS_PLUS));
    for (unsigned i = 0; i < 2 * UNITS; i++) {
        unsigned unit = i * 64 % UNITS; /* consecutive units use the same slot of the cache */
        ENTRY(&debug, DW_TAG_subprogram, LOW(TEXT + 4 * i), HIGH(4), ORIGIN(names[unit][i / UNITS]));
        at += sprintf(at, "%sn%u::%c@%x-%x", i > 0 ? " " : "", unit, i < UNITS ? 'f' : 'g', 4 * i, 4 * i + 4);
    }
    debug_end_unit(&debug);
    debug_expect(&debug, expected);
    free(expected);
    debug_free(&debug);
}

/* --- scopes --- */

TEST(scopes_come_before_names)
{
    struct debug debug;
    begin(&debug, C_PLUS_PLUS);
    OPEN(&debug, DW_TAG_namespace, NAME("outer"));
    OPEN(&debug, DW_TAG_class_type, NAME("Class"));
    uint64_t method = ENTRY(&debug, DW_TAG_subprogram, NAME("method"), DECLARATION);
    OPEN(&debug, DW_TAG_structure_type, NAME("Inner"));
    uint64_t inner = ENTRY(&debug, DW_TAG_subprogram, NAME("inner"), DECLARATION);
    uint64_t linked = ENTRY(&debug, DW_TAG_subprogram, NAME("linked"), LINKAGE("_Zlinked"), DECLARATION);
    debug_close(&debug);
    debug_close(&debug);
    ENTRY(&debug, DW_TAG_subprogram, NAME("free"), LOW(TEXT), HIGH(4));
    debug_close(&debug);
    OPEN(&debug, DW_TAG_union_type, NAME("Union"));
    ENTRY(&debug, DW_TAG_subprogram, NAME("u"), LOW(TEXT + 4), HIGH(4));
    debug_close(&debug);
    OPEN(&debug, DW_TAG_module, NAME("mod"));
    ENTRY(&debug, DW_TAG_subprogram, NAME("m"), LOW(TEXT + 8), HIGH(4));
    debug_close(&debug);
    OPEN(&debug, DW_TAG_interface_type, NAME("If"));
    ENTRY(&debug, DW_TAG_subprogram, NAME("i"), LOW(TEXT + 12), HIGH(4));
    debug_close(&debug);
    ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(method), LOW(TEXT + 16), HIGH(4));
    ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(inner), LOW(TEXT + 20), HIGH(4));
    ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(linked), LOW(TEXT + 24), HIGH(4));
    ENTRY(&debug, DW_TAG_subprogram, NAME("plain"), LOW(TEXT + 28), HIGH(4));
    expect(&debug, "outer::free@0-4 Union::u@4-8 mod::m@8-c If::i@c-10 outer::Class::method@10-14 "
                   "outer::Class::Inner::inner@14-18 _Zlinked@18-1c plain@1c-20");
}

TEST(scopes_without_a_name_have_one)
{
    static const struct {
        uint16_t tag;
        const char *expected;
    } scopes[] = {{DW_TAG_namespace, "(anonymous namespace)::f@0-4"},
                  {DW_TAG_class_type, "(anonymous class)::f@0-4"},
                  {DW_TAG_structure_type, "(anonymous struct)::f@0-4"},
                  {DW_TAG_union_type, "(anonymous union)::f@0-4"}};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        struct debug debug;
        begin(&debug, C_PLUS_PLUS);
        OPEN(&debug, scopes[i].tag, NOTHING);
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
        debug_close(&debug);
        expect(&debug, scopes[i].expected);
    }
}

TEST(a_function_is_not_a_scope)
{
    struct debug debug;
    begin(&debug, C_PLUS_PLUS);
    OPEN(&debug, DW_TAG_namespace, NAME("n"));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(0x10));
    OPEN(&debug, DW_TAG_structure_type, NAME("Local"));
    uint64_t method = ENTRY(&debug, DW_TAG_subprogram, NAME("method"), DECLARATION);
    debug_close(&debug);
    ENTRY(&debug, DW_TAG_subprogram, NAME("nested"), LOW(TEXT + 0x20), HIGH(4));
    debug_close(&debug);
    debug_close(&debug);
    ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(method), LOW(TEXT + 0x10), HIGH(4));
    expect(&debug, "n::f@0-10 n::f::Local::method@10-14 n::nested@20-24");
}

TEST(languages_without_scopes_have_none)
{
    static const uint16_t languages[] = {DW_LANG_C89, DW_LANG_C,   DW_LANG_C99, DW_LANG_C11,           DW_LANG_C17,
                                         DW_LANG_C23, DW_LANG_UPC, DW_LANG_Go,  DW_LANG_Mips_Assembler};
    for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
        struct debug debug;
        begin(&debug, languages[i]);
        OPEN(&debug, DW_TAG_structure_type, NAME("s"));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
        debug_close(&debug);
        expect(&debug, "f@0-4");
    }
}

TEST(more_than_64_scopes_lose_the_outermost)
{
    struct debug debug;
    begin(&debug, C_PLUS_PLUS);
    char name[8], expected[64 * 5 + 10] = "";
    for (unsigned i = 0; i < 80; i++) {
        snprintf(name, sizeof name, "n%02u", i);
        OPEN(&debug, DW_TAG_namespace, NAME(name));
        if (i >= 16)
            strcat(strcat(expected, name), "::");
    }
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
    for (unsigned i = 0; i < 80; i++)
        debug_close(&debug);
    expect(&debug, strcat(expected, "f@0-4"));
}

/* --- errors --- */

TEST(functions_without_a_name_leave_the_code_to_others)
{
    struct debug debug;
    begin(&debug, C_PLUS_PLUS);
    ENTRY(&debug, DW_TAG_subprogram, LOW(TEXT), HIGH(4));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT + 4), HIGH(8));
    ENTRY(&debug, DW_TAG_inlined_subroutine, LOW(TEXT + 4), HIGH(4), CALL(1, 5));
    debug_close(&debug);
    /* The frame is there, with or without a name. */
    expect(&debug, "f@4-c >@4-8(:5)");
}

TEST(cycles_have_an_end)
{
    for (unsigned length = 1; length <= 40; length++) {
        struct debug debug;
        begin(&debug, C_PLUS_PLUS);
        uint64_t first = debug_size(&debug, INFO), places[40];
        for (unsigned i = 0; i < length; i++)
            places[i] = ENTRY(&debug, DW_TAG_subprogram, ORIGIN(0)) + 1;
        for (unsigned i = 0; i < length; i++)
            debug_poke(&debug, INFO, places[i], places[(i + 1) % length] - 1, 4);
        ENTRY(&debug, DW_TAG_subprogram, ORIGIN(first), LOW(TEXT), HIGH(4));
        ENTRY(&debug, DW_TAG_subprogram, ORIGIN(first), NAME("f"), LOW(TEXT + 4), HIGH(4));
        ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(first), NAME("g"), LOW(TEXT + 8), HIGH(4));
        /* The name comes before the cycle, but an origin is followed first; a specification is followed last. */
        expect(&debug, "g@8-c");
    }
}

TEST(an_entry_that_is_its_own_origin_has_its_own_name)
{
    struct debug debug;
    begin(&debug, C_PLUS_PLUS);
    OPEN(&debug, DW_TAG_namespace, NAME("n"));
    uint64_t entry = ENTRY(&debug, DW_TAG_subprogram, ORIGIN(0), NAME("f"), LOW(TEXT), HIGH(4));
    debug_poke(&debug, INFO, entry + 1, entry, 4);
    debug_close(&debug);
    expect(&debug, "n::f@0-4");
}

TEST(chains_of_more_than_16_are_not_followed)
{
    for (unsigned length = 10; length < 24; length++) {
        struct debug debug;
        begin(&debug, DW_LANG_C99);
        uint64_t last = ENTRY(&debug, DW_TAG_subprogram, NAME("f"));
        for (unsigned i = 1; i < length; i++)
            last = ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(last));
        ENTRY(&debug, DW_TAG_subprogram, ORIGIN(last), LOW(TEXT), HIGH(4));
        expect(&debug, length <= 16 ? "f@0-4" : "");
    }
}

TEST(an_invalid_reference_loses_only_its_name)
{
    static const uint64_t nowhere[] = {0, 5, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        struct debug debug;
        begin(&debug, C_PLUS_PLUS);
        OPEN(&debug, DW_TAG_namespace, NAME("n"));
        ENTRY(&debug, DW_TAG_subprogram, ORIGIN(nowhere[i]), LOW(TEXT), HIGH(4));
        /* The name in the entry itself is used. */
        ENTRY(&debug, DW_TAG_subprogram, SPECIFICATION(nowhere[i]), NAME("f"), LOW(TEXT + 4), HIGH(4));
        ENTRY(&debug, DW_TAG_subprogram, VALUE(DW_AT_specification, DW_FORM_ref_sig8, 42), NAME("g"), LOW(TEXT + 8),
              HIGH(4));
        ENTRY(&debug, DW_TAG_subprogram, VALUE(DW_AT_specification, DW_FORM_GNU_ref_alt, 42), NAME("h"), LOW(TEXT + 12),
              HIGH(4));
        debug_close(&debug);
        expect(&debug, "n::f@4-8 n::g@8-c n::h@c-10");
    }
}

/* References into the middle of entries of this and of other units: no name, or a wrong one, but reading ends. */
TEST(accepts_references_to_anywhere)
{
    for (uint64_t to = 0; to < 220; to++) {
        struct debug debug;
        begin(&debug, C_PLUS_PLUS);
        ENTRY(&debug, DW_TAG_subprogram, ORIGIN(to), LOW(TEXT), HIGH(4));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT + 4), HIGH(4));
        debug_end_unit(&debug);
        debug_new_abbreviations(&debug);
        debug_begin_unit(&debug, LOW(TEXT), LANGUAGE(C_PLUS_PLUS));
        OPEN(&debug, DW_TAG_namespace, NAME("n"));
        ENTRY(&debug, DW_TAG_subprogram, NAME("g"), LOW(TEXT + 8), HIGH(4));
        debug_close(&debug);
        debug_end_unit(&debug);
        struct debug_result result = debug_read(&debug, NULL);
        assert_int_equal(result.status, SXT_OK);
        char *text = debug_text(&debug, result.symbols);
        assert_non_null(strstr(text, "f@4-8 n::g@8-c"));
        free(text);
        debug_result_free(&result);
        debug_free(&debug);
    }
}

TEST(names_from_a_damaged_unit_are_lost)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t abbreviations = debug.abbrev_offset;
    debug.abbrev_offset = 0x7fffffff;
    debug_begin_unit(&debug, LANGUAGE(C_PLUS_PLUS));
    uint64_t lost = ENTRY(&debug, DW_TAG_subprogram, NAME("f"));
    debug_end_unit(&debug);
    debug.abbrev_offset = abbreviations;
    debug_begin_unit(&debug, LOW(TEXT), LANGUAGE(C_PLUS_PLUS));
    ENTRY(&debug, DW_TAG_subprogram, ORIGIN(lost), LOW(TEXT), HIGH(4));
    ENTRY(&debug, DW_TAG_subprogram, NAME("g"), LOW(TEXT + 4), HIGH(4));
    debug_end_unit(&debug);
    debug_expect_damage(&debug, 1, "is damaged at", "g@4-8");
    debug_free(&debug);
}
