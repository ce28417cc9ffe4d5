/* Paths of files, built from the compilation directory, the directory of the line table and the name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dwarf_builder.h"
#include "support/test.h"
#include "symbols/symbols.h"

/* The path of a file NAME in directory number INDEX, which is DIRECTORY if it is 1, of a unit compiled in UNIT. */
static void expect(uint16_t version, const char *unit, const char *directory, uint64_t index, const char *name,
                   const char *expected)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = version});
    struct debug_line_shape shape = {.directory = directory, .own_directory = unit, .directory_index = index};
    debug_begin_lines(&debug, &shape, name);
    debug_line_address(&debug, TEXT);
    debug_line_row(&debug, 0, 7);
    debug_line_end(&debug, 4);
    debug_end_lines(&debug);
    debug_begin_unit(&debug, LINES(0), LOW(TEXT), HIGH(4), TEXT_VALUE(DW_AT_comp_dir, unit));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
    debug_end_unit(&debug);
    char text[300];
    snprintf(text, sizeof text, "f@0-4{0:%s:7}", expected);
    debug_expect(&debug, text);
    debug_free(&debug);
}

static void expect_all_versions(const char *unit, const char *directory, uint64_t index, const char *name,
                                const char *expected)
{
    for (uint16_t version = 2; version <= 5; version++)
        expect(version, unit, directory, index, name, expected);
}

TEST(relative_parts_follow_the_compilation_directory)
{
    expect_all_versions("/build", NULL, 0, "a.c", "/build/a.c");
    expect_all_versions("/build", "sub", 0, "a.c", "/build/a.c");
    expect_all_versions("/build", "sub", 1, "a.c", "/build/sub/a.c");
    expect_all_versions("/build/", "sub/", 1, "x/a.c", "/build/sub/x/a.c");
}

TEST(absolute_parts_replace_the_parts_before)
{
    expect_all_versions("/build", "/usr/include", 1, "a.h", "/usr/include/a.h");
    expect_all_versions("/build", "/usr/include", 1, "/abs/a.h", "/abs/a.h");
    expect_all_versions("/build", "sub", 1, "/abs/a.h", "/abs/a.h");
    expect_all_versions("/build", NULL, 0, "/a.h", "/a.h");
}

TEST(dots_and_double_slashes_are_removed)
{
    expect_all_versions("/build", NULL, 0, "./a.c", "/build/a.c");
    expect_all_versions("/build/x", "..", 1, "a.c", "/build/a.c");
    expect_all_versions("/build/x", "../../y", 1, ".//b/../a.c", "/y/a.c");
    expect_all_versions("/", "../../..", 1, "a.c", "/a.c");
    expect_all_versions("//a///b//", NULL, 0, "c//d.c", "/a/b/c/d.c");
    expect_all_versions("/a", NULL, 0, "..a/...", "/a/..a/...");
}

TEST(without_an_absolute_directory_paths_stay_relative)
{
    expect_all_versions("", "sub", 1, "a.c", "sub/a.c");
    expect_all_versions("rel", "sub", 1, "a.c", "rel/sub/a.c");
    expect_all_versions("rel", "..", 1, "a.c", "a.c");
    expect_all_versions("rel", "../..", 1, "../a.c", "../../a.c");
    expect_all_versions(".", "./sub", 1, "a.c", "sub/a.c");
}

/* A version 5 table also has the compilation directory, and may have a better one. */
TEST(directory_0_of_version_5_is_used_if_the_unit_has_none)
{
    static const char *const units[] = {"", "rel", "."};
    for (unsigned i = 0; i < 3; i++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 5});
        debug_begin_lines(&debug, &(struct debug_line_shape){.directory = "sub", .directory_index = 1}, "a.c");
        debug_line_address(&debug, TEXT);
        debug_line_row(&debug, 0, 7);
        debug_line_end(&debug, 4);
        debug_end_lines(&debug);
        debug_begin_unit(&debug, LINES(0), LOW(TEXT), HIGH(4), TEXT_VALUE(DW_AT_comp_dir, units[i]));
        ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
        debug_end_unit(&debug);
        debug_expect(&debug, "f@0-4{0:/src/sub/a.c:7}");
        debug_free(&debug);
    }
}

TEST(a_directory_that_begins_as_the_compilation_directory_is_not_appended)
{
    expect_all_versions("./csu", "./csu", 1, "init.c", "csu/init.c");
    expect_all_versions("./csu", "../sysdeps", 1, "start.S", "sysdeps/start.S");
    expect_all_versions("./csu", NULL, 0, "init.c", "csu/init.c");
}

TEST(directory_numbers_out_of_range_are_the_compilation_directory)
{
    static const uint64_t outside[] = {2, 1000, UINT32_MAX, UINT64_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        expect_all_versions("/build", "sub", outside[i], "a.c", "/build/a.c");
}

TEST(accepts_names_of_all_kinds)
{
    static const char *const names[] = {"/",  "//",  ".",      "..",   "../", "./",
                                        "a/", "/..", "/../..", "a/..", "...", "\xff\xfe"};
    static const char *const directories[] = {"", "/", "//", ".", "..", "../", "./", "a/..", "/..", "\x80"};
    for (size_t d = 0; d < sizeof directories / sizeof *directories; d++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            for (uint16_t version = 4; version <= 5; version++) {
                struct debug debug;
                debug_init(&debug, (struct debug_shape){.version = version});
                debug_begin_lines(
                    &debug,
                    &(struct debug_line_shape){.directory = d > 0 ? directories[d] : NULL, .directory_index = 1},
                    names[i]);
                debug_line_address(&debug, TEXT);
                debug_line_row(&debug, 0, 7);
                debug_line_end(&debug, 4);
                debug_end_lines(&debug);
                debug_begin_unit(&debug, LINES(0), LOW(TEXT), HIGH(4),
                                 TEXT_VALUE(DW_AT_comp_dir, directories[(d + i) % 10]));
                ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(4));
                debug_end_unit(&debug);
                struct debug_result result = debug_read(&debug, NULL);
                assert_int_equal(result.status, SXT_OK);
                assert_int_equal(result.symbols->range_count, 1);
                sxt_string file = sxt_symbols_view(result.symbols, result.symbols->ranges[0].file);
                assert_null(strstr(file.data, "//"));
                assert_null(strstr(file.data, "/./"));
                debug_result_free(&result);
                debug_free(&debug);
            }
}
