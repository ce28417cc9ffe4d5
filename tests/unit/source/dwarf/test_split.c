/* Debug information in several files: .dwo, .dwp, and the alternate file of dwz. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/dwarf_builder.h"
#include "support/folder.h"
#include "support/test.h"
#include "symbols/symbols.h"

#define ID UINT64_C(0x1122334455667788)

static char folder[SXT_TEST_FOLDER_MAX];

SET_UP()
{
    sxt_test_make_folder(folder);
}

TEAR_DOWN()
{
    sxt_test_remove_folder(folder);
}

static void save(struct debug *debug, const char *name)
{
    char path[300];
    debug_finish(debug);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    sxt_test_put_file(path, debug->elf.data, debug->elf.size);
}

static void note_warning(void *data, const sxt_error *problem)
{
    snprintf(data, 300, "%s", problem->text);
}

/* Saves the file as "program", reads it from there, and compares. MISSING: units whose split unit is missing. */
static void expect_file(struct debug *debug, uint64_t missing, const char *warning, const char *expected)
{
    char path[300], said[300] = "";
    sxt_extract_options options;
    sxt_symbols *symbols;
    sxt_error error;
    save(debug, "program");
    snprintf(path, sizeof path, "%s/program", folder);
    sxt_extract_options_init(&options);
    options.sources = SXT_SOURCE_DWARF;
    options.debug_directory = folder;
    options.warning = note_warning;
    options.warning_data = said;
    if (sxt_symbols_from_path(path, &options, &symbols, &error) != SXT_OK)
        fail_msg("%s", error.text);
    char *text = debug_text(debug, symbols);
    assert_string_equal(text, expected);
    assert_int_equal(symbols->units.missing, missing);
    if (strstr(said, warning) == NULL || (warning[0] == 0 && said[0] != 0))
        fail_msg("\"%s\" was expected, \"%s\" was said", warning, said);
    free(text);
    sxt_symbols_free(&symbols);
}

/* The skeleton, with lines and addresses. Address 1 is TEXT, address 2 is TEXT + 8. */
static void make_skeleton(struct debug *debug, uint16_t version, const char *name, uint64_t id)
{
    debug_init(debug, (struct debug_shape){.version = version});
    debug_number(debug, ADDR, 0, 8);
    debug_number(debug, ADDR, TEXT, 8);
    debug_number(debug, ADDR, TEXT + 8, 8);
    uint64_t lines = debug_plain_lines(debug, 16, 5);
    debug_begin_header(debug, DW_UT_skeleton, id);
    if (version >= 5)
        ENTRY(debug, DW_TAG_skeleton_unit, TEXT_VALUE(DW_AT_dwo_name, name), TEXT_VALUE(DW_AT_comp_dir, folder),
              LINES(lines), LOW(TEXT), HIGH(16), VALUE(DW_AT_addr_base, DW_FORM_sec_offset, 8));
    else
        ENTRY(debug, DW_TAG_compile_unit, TEXT_VALUE(DW_AT_GNU_dwo_name, name), TEXT_VALUE(DW_AT_comp_dir, folder),
              LINES(lines), LOW(TEXT), HIGH(16), VALUE(DW_AT_GNU_dwo_id, DW_FORM_data8, id),
              VALUE(DW_AT_GNU_addr_base, DW_FORM_sec_offset, 8));
    debug_end_header(debug);
}

/* The split unit, with functions: f is at address 0, and g inlined into it at address 1. */
static void put_split_unit(struct debug *debug, uint64_t id)
{
    uint16_t version = debug->shape.version;
    uint16_t address = version >= 5 ? DW_FORM_addrx : DW_FORM_GNU_addr_index;
    uint16_t string = version >= 5 ? DW_FORM_strx1 : DW_FORM_GNU_str_index;
    debug_number(debug, STR_OFFSETS, 0, version >= 5 ? 8 : 0);
    debug_number(debug, STR_OFFSETS, debug_string(debug, STR, "f"), 4);
    debug_number(debug, STR_OFFSETS, debug_string(debug, STR, "g"), 4);
    debug_begin_header(debug, DW_UT_split_compile, id);
    if (version >= 5)
        OPEN(debug, DW_TAG_compile_unit, LANGUAGE(DW_LANG_C99));
    else
        OPEN(debug, DW_TAG_compile_unit, LANGUAGE(DW_LANG_C99), VALUE(DW_AT_GNU_dwo_id, DW_FORM_data8, id));
    OPEN(debug, DW_TAG_subprogram, VALUE(DW_AT_name, string, 0), VALUE(DW_AT_low_pc, address, 0), HIGH(16));
    ENTRY(debug, DW_TAG_inlined_subroutine, VALUE(DW_AT_name, string, 1), VALUE(DW_AT_low_pc, address, 1), HIGH(4),
          CALL(1, 9));
    debug_close(debug);
    debug_end_unit(debug);
}

static void make_split(struct debug *debug, uint16_t version, uint64_t id)
{
    debug_init(debug, (struct debug_shape){.version = version, .split = true});
    put_split_unit(debug, id);
}

/* The expected result. The compilation directory is the temporary directory. */
static const char *whole(void)
{
    static char text[1400];
    snprintf(text, sizeof text, "f@0-10{0:%s/a.c:5 4:%s/a.c:6 c:%s/a.c:8} >g@8-c(%s/a.c:9){0:%s/a.c:7}", folder, folder,
             folder, folder, folder);
    return text;
}

TEST(a_dwo_next_to_the_file_has_the_functions)
{
    for (uint16_t version = 4; version <= 5; version++) {
        struct debug skeleton, split;
        make_skeleton(&skeleton, version, "part.dwo", ID);
        make_split(&split, version, ID);
        save(&split, "part.dwo");
        expect_file(&skeleton, 0, "", whole());
        debug_free(&skeleton);
        debug_free(&split);
    }
}

/* What the skeleton has itself: lines, but no name. */
static const char *lines_only(void)
{
    static char text[1400];
    snprintf(text, sizeof text, "@0-10{0:%s/a.c:5 4:%s/a.c:6 8:%s/a.c:7 c:%s/a.c:8}", folder, folder, folder, folder);
    return text;
}

TEST(without_its_dwo_a_unit_has_the_lines_of_its_skeleton)
{
    for (uint16_t version = 4; version <= 5; version++)
        for (unsigned other = 0; other < 2; other++) {
            struct debug skeleton, split;
            make_skeleton(&skeleton, version, other ? "other.dwo" : "absent.dwo", ID);
            make_split(&split, version, ID + 1);
            save(&split, "other.dwo");
            expect_file(&skeleton, 1,
                        other ? "found no matching .dwo or .dwp file for 1 unit ('other.dwo')"
                              : "found no matching .dwo or .dwp file for 1 unit ('absent.dwo')",
                        lines_only());
            debug_free(&skeleton);
            debug_free(&split);
        }
}

TEST(a_damaged_split_unit_leaves_the_lines_of_its_skeleton)
{
    for (uint16_t version = 4; version <= 5; version++) {
        struct debug skeleton, split;
        make_skeleton(&skeleton, version, "part.dwo", ID);
        make_split(&split, version, ID);
        /* DWARF 4 has the number that a split unit is found by in the entries themselves. */
        if (version >= 5)
            debug_poke(&split, ABBREV, 0, 0, 1);
        save(&split, "part.dwo");
        expect_file(&skeleton, 0, version >= 5 ? "damaged" : "", version >= 5 ? lines_only() : whole());
        debug_free(&skeleton);
        debug_free(&split);
    }
}

/* A package with one unit in row 2 of its index. */
static void make_package(struct debug *debug, uint16_t version)
{
    make_split(debug, version, ID);
    static const uint8_t columns[2][4] = {{1, 3, 6, 4}, {1, 3, 6, 8}};
    static const enum debug_section sections[] = {INFO, ABBREV, STR_OFFSETS};
    debug_number(debug, ABBREV, 0, 1);
    debug->codes = 0;
    debug_number(debug, CU_INDEX, version >= 5 ? 5 : 2, 4);
    debug_number(debug, CU_INDEX, 4, 4); /* columns */
    debug_number(debug, CU_INDEX, 2, 4); /* units */
    debug_number(debug, CU_INDEX, 4, 4); /* slots */
    for (unsigned slot = 0; slot < 4; slot++)
        debug_number(debug, CU_INDEX, slot == (ID & 3) ? ID : slot == 1 ? 5 : 0, 8);
    for (unsigned slot = 0; slot < 4; slot++)
        debug_number(debug, CU_INDEX, slot == (ID & 3) ? 2 : slot == 1 ? 1 : 0, 4);
    for (unsigned i = 0; i < 4; i++)
        debug_number(debug, CU_INDEX, columns[version >= 5][i], 4);
    debug_number(debug, CU_INDEX, 0, 16); /* offsets of rows 1 and 2 */
    debug_number(debug, CU_INDEX, 0, 16);
    debug_number(debug, CU_INDEX, 0, 16); /* their sizes */
    for (unsigned i = 0; i < 4; i++)
        debug_number(debug, CU_INDEX, i < 3 ? debug_size(debug, sections[i]) : 0, 4);
}

TEST(a_package_has_the_functions_of_all_units)
{
    for (uint16_t version = 4; version <= 5; version++) {
        struct debug skeleton, package;
        make_skeleton(&skeleton, version, "nowhere.dwo", ID);
        make_package(&package, version);
        save(&package, "program.dwp");
        expect_file(&skeleton, 0, "", whole());
        debug_free(&skeleton);
        debug_free(&package);
    }
}

/* Every number of the index is changed: the unit is missing or found, and nothing else happens. */
TEST(accepts_a_damaged_index)
{
    static const uint64_t lies[] = {0, 1, 3, 0x7fffffff, 0x80000000, 0xffffffff};
    struct debug skeleton;
    make_skeleton(&skeleton, 5, "nowhere.dwo", ID);
    save(&skeleton, "program");
    char path[300];
    snprintf(path, sizeof path, "%s/program", folder);
    for (uint64_t at = 0; at < 144; at += 4)
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            struct debug package;
            make_package(&package, 5);
            debug_poke(&package, CU_INDEX, at, lies[i], 4);
            save(&package, "program.dwp");
            sxt_symbols *symbols;
            assert_int_equal(sxt_symbols_from_path(path, NULL, &symbols, NULL), SXT_OK);
            assert_true(symbols->units.missing <= 1);
            sxt_symbols_free(&symbols);
            debug_free(&package);
        }
    debug_free(&skeleton);
}

/* --- the alternate file of dwz --- */

#define BUILD_ID "\1\2\3\4\5\6\7\10"

static void put_link(struct debug *debug, const char *name, const char *id)
{
    unsigned section = sxt_builder_section(&debug->elf, ".gnu_debugaltlink", SHT_PROGBITS, 0, name, strlen(name) + 1);
    sxt_buffer_append(&sxt_builder_at(&debug->elf, section)->bytes, id, 8);
}

/* Functions whose names are in the alternate file, in forms of dwz and of DWARF 5. */
static void make_user(struct debug *debug, uint64_t origin, uint64_t string)
{
    debug_init(debug, (struct debug_shape){.version = 5});
    debug_begin_unit(debug, LOW(TEXT), HIGH(64), LANGUAGE(C_PLUS_PLUS));
    ENTRY(debug, DW_TAG_subprogram, VALUE(DW_AT_abstract_origin, DW_FORM_GNU_ref_alt, origin), LOW(TEXT), HIGH(4));
    ENTRY(debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_GNU_strp_alt, string), LOW(TEXT + 4), HIGH(4));
    ENTRY(debug, DW_TAG_subprogram, VALUE(DW_AT_specification, DW_FORM_ref_sup4, origin), LOW(TEXT + 8), HIGH(4));
    ENTRY(debug, DW_TAG_subprogram, VALUE(DW_AT_abstract_origin, DW_FORM_ref_sup8, origin), LOW(TEXT + 12), HIGH(4));
    ENTRY(debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strp_sup, string), LOW(TEXT + 16), HIGH(4));
    ENTRY(debug, DW_TAG_subprogram, NAME("own"), LOW(TEXT + 20), HIGH(4));
    debug_end_unit(debug);
}

static void make_alternate(struct debug *debug, const char *id, uint64_t *origin, uint64_t *string)
{
    debug_init(debug, (struct debug_shape){.version = 5});
    sxt_builder_build_id(&debug->elf, id, 8);
    debug_string(debug, STR, "-");
    *string = debug_string(debug, STR, "text");
    debug_begin_header(debug, DW_UT_partial, 0);
    OPEN(debug, DW_TAG_partial_unit, LANGUAGE(C_PLUS_PLUS));
    OPEN(debug, DW_TAG_namespace, NAME("n"));
    *origin = ENTRY(debug, DW_TAG_subprogram, VALUE(DW_AT_name, DW_FORM_strp, *string));
    debug_close(debug);
    debug_end_unit(debug);
}

TEST(names_come_from_the_alternate_file)
{
    struct debug alternate, user;
    uint64_t origin, string;
    make_alternate(&alternate, BUILD_ID, &origin, &string);
    save(&alternate, "common.debug");
    make_user(&user, origin, string);
    put_link(&user, "common.debug", BUILD_ID);
    expect_file(&user, 0, "", "n::text@0-4 text@4-8 n::text@8-c n::text@c-10 text@10-14 own@14-18");
    debug_free(&user);
    debug_free(&alternate);
}

TEST(an_alternate_file_with_another_build_id_is_refused)
{
    struct debug alternate, user;
    uint64_t origin, string;
    make_alternate(&alternate, "\1\2\3\4\5\6\7\11", &origin, &string);
    save(&alternate, "wrong.debug");
    for (unsigned missing = 0; missing < 2; missing++) {
        make_user(&user, origin, string);
        put_link(&user, missing ? "missing.debug" : "wrong.debug", BUILD_ID);
        expect_file(&user, 0, "DWARF: alternate file", "own@14-18");
        debug_free(&user);
    }
    debug_free(&alternate);
}

/* A function f in a namespace, with a call inlined into it; the names of both are in the alternate file. */
static void make_caller(struct debug *debug, uint64_t origin, uint64_t string)
{
    debug_init(debug, (struct debug_shape){.version = 5});
    uint64_t lines = debug_plain_lines(debug, 16, 5);
    debug_begin_unit(debug, LOW(TEXT), HIGH(64), LANGUAGE(C_PLUS_PLUS), LINES(lines));
    OPEN(debug, DW_TAG_subprogram, VALUE(DW_AT_abstract_origin, DW_FORM_GNU_ref_alt, origin), LOW(TEXT), HIGH(16));
    ENTRY(debug, DW_TAG_inlined_subroutine, VALUE(DW_AT_abstract_origin, DW_FORM_GNU_ref_alt, origin), LOW(TEXT + 8),
          HIGH(4), CALL(1, 9));
    debug_close(debug);
    OPEN(debug, DW_TAG_namespace, VALUE(DW_AT_name, DW_FORM_GNU_strp_alt, string));
    ENTRY(debug, DW_TAG_subprogram, NAME("known"), LOW(TEXT + 20), HIGH(4));
    debug_close(debug);
    OPEN(debug, DW_TAG_namespace, VALUE(DW_AT_decl_line, DW_FORM_data1, 1));
    ENTRY(debug, DW_TAG_subprogram, NAME("known"), LOW(TEXT + 24), HIGH(4));
    debug_close(debug);
    debug_end_unit(debug);
}

TEST(without_the_alternate_file_only_names_are_unknown)
{
    struct debug alternate, user;
    uint64_t origin, string;
    make_alternate(&alternate, BUILD_ID, &origin, &string);
    save(&alternate, "common.debug");
    for (unsigned missing = 0; missing < 2; missing++) {
        make_caller(&user, origin, string);
        put_link(&user, missing ? "missing.debug" : "common.debug", BUILD_ID);
        if (missing)
            expect_file(&user, 0, "alternate file 'missing.debug' not found",
                        "@0-10{0:/src/a.c:5 4:/src/a.c:6 c:/src/a.c:8} >@8-c(/src/a.c:9){0:/src/a.c:7} ??::known@14-18 "
                        "(anonymous namespace)::known@18-1c");
        else
            expect_file(&user, 0, "",
                        "n::text@0-10{0:/src/a.c:5 4:/src/a.c:6 c:/src/a.c:8} "
                        ">n::text@8-c(/src/a.c:9){0:/src/a.c:7} text::known@14-18 "
                        "(anonymous namespace)::known@18-1c");
        debug_free(&user);
    }
    debug_free(&alternate);
}

/* The directory that options name is searched for a link into the system's directory. */
TEST(an_absolute_link_is_found_below_the_debug_directory)
{
    static const char *const places[] = {".dwz/x86/common.debug", "usr/lib/debug/.dwz/x86/common.debug",
                                         ".dwz/common.debug", ".build-id/01/02030405060708.debug"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct debug alternate, user;
        uint64_t origin, string;
        char place[400];
        snprintf(place, sizeof place, "%s/%s", folder, places[i]);
        for (char *slash = strchr(place + strlen(folder) + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
            *slash = 0;
            (void)mkdir(place, 0777);
            *slash = '/';
        }
        make_alternate(&alternate, BUILD_ID, &origin, &string);
        save(&alternate, places[i]);
        make_user(&user, origin, string);
        put_link(&user, "/usr/lib/debug/.dwz/x86/common.debug", BUILD_ID);
        expect_file(&user, 0, "", "n::text@0-4 text@4-8 n::text@8-c n::text@c-10 text@10-14 own@14-18");
        debug_free(&user);
        debug_free(&alternate);
        assert_int_equal(unlink(place), 0);
    }
}

TEST(accepts_references_to_anywhere_in_the_alternate_file)
{
    struct debug alternate, user;
    uint64_t origin, string;
    make_alternate(&alternate, BUILD_ID, &origin, &string);
    save(&alternate, "common.debug");
    char path[300];
    snprintf(path, sizeof path, "%s/program", folder);
    for (uint64_t to = 0; to < 80; to++) {
        make_user(&user, to == 79 ? UINT32_MAX : to, to == 79 ? UINT32_MAX : to);
        put_link(&user, "common.debug", BUILD_ID);
        save(&user, "program");
        sxt_symbols *symbols;
        assert_int_equal(sxt_symbols_from_path(path, NULL, &symbols, NULL), SXT_OK);
        assert_true(symbols->range_count >= 1);
        sxt_symbols_free(&symbols);
        debug_free(&user);
    }
    debug_free(&alternate);
}
