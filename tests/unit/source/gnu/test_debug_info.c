/*
 * test_debug_info.c: which unit, function, name and line GNU addr2line selects where debug information is ambiguous.
 *
 * Each file is made in memory. If GNU addr2line 2.40 is installed, it must give the same answers, so that the
 * expectations are not just an opinion.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/gnu/gnu.h"
#include "support/dwarf_builder.h"
#include "support/test.h"

#define ANSWERS_MAX 4096

/* Appends "function file:line" for each frame, with " < " between them, and "; " after the last. */
static void append_answer(char *text, struct sxt_gnu *gnu, uint64_t address)
{
    struct sxt_gnu_frame frame;
    bool more = sxt_gnu_find(gnu, address, &frame);
    if (!more)
        strcat(text, "??");
    for (bool first = true; more; first = false) {
        char line[16] = "?";
        if (frame.line != 0)
            snprintf(line, sizeof line, "%u", frame.line);
        sprintf(text + strlen(text), "%s%.*s %.*s:%s", first ? "" : " < ",
                frame.function.size > 0 ? (int)frame.function.size : 2,
                frame.function.size > 0 ? frame.function.data : "??",
                frame.file.data != NULL ? (int)frame.file.size : 2, frame.file.data != NULL ? frame.file.data : "??",
                line);
        if (frame.discriminator != 0)
            sprintf(text + strlen(text), "/%u", frame.discriminator);
        more = sxt_gnu_caller(gnu, &frame);
    }
    strcat(text, "; ");
}

/* The same from GNU addr2line; false if it is not installed. */
static bool ask_gnu(const struct debug *debug, const uint64_t *addresses, size_t count, char *text)
{
    static int is_there = -1;
    if (is_there < 0)
        is_there = system("addr2line --version 2>/dev/null | head -n 1 | grep -q 'GNU.* 2\\.40'") == 0;
    if (!is_there)
        return false;
    char path[] = "/tmp/sextant-nearest-XXXXXX", command[1024], line[512];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, debug->elf.data, debug->elf.size), (ssize_t)debug->elf.size);
    close(fd);
    int size = snprintf(command, sizeof command, "LC_ALL=C addr2line 2>/dev/null -afi -e %s", path);
    for (size_t i = 0; i < count; i++)
        size += snprintf(command + size, sizeof command - (size_t)size, " %llx", (unsigned long long)addresses[i]);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    *text = 0;
    char name[256] = "";
    bool first = true;
    while (fgets(line, sizeof line, pipe) != NULL) {
        line[strcspn(line, "\n")] = 0;
        unsigned discriminator = 0;
        char *open = strstr(line, " (discriminator ");
        if (open != NULL && sscanf(open, " (discriminator %u)", &discriminator) == 1)
            sprintf(open, "/%u", discriminator);
        if (strncmp(line, "0x", 2) == 0 && strlen(line) == 18) {
            if (*text != 0)
                strcat(text, "; ");
            first = true;
        } else if (name[0] == 0) {
            snprintf(name, sizeof name, "%.250s", line);
        } else {
            if (strcmp(line, "??:0") == 0)
                strcat(text, "??");
            else
                sprintf(text + strlen(text), "%s%s %s", first ? "" : " < ", name, line);
            first = false;
            name[0] = 0;
        }
    }
    strcat(text, "; ");
    assert_int_equal(pclose(pipe), 0);
    unlink(path);
    return true;
}

/* Looks up ADDRESSES, which are relative to TEXT and end with UINT64_MAX, in that order in one open file. */
static void expect_answers(struct debug *debug, const uint64_t *offsets, const char *expected)
{
    if (!debug->is_finished)
        debug_finish(debug);
    uint64_t addresses[32];
    size_t count = 0;
    for (; offsets[count] != UINT64_MAX; count++)
        addresses[count] = TEXT + offsets[count];
    struct sxt_file file;
    struct sxt_gnu *gnu = NULL;
    sxt_file_from_memory(&file, debug->elf.data, debug->elf.size);
    assert_int_equal(sxt_gnu_open(&file, "/nowhere/program", NULL, 0, &gnu, NULL), SXT_OK);
    assert_int_equal(sxt_gnu_load(gnu, addresses, count, NULL), SXT_OK);
    char text[ANSWERS_MAX] = "", gnu_text[ANSWERS_MAX];
    for (size_t i = 0; i < count; i++)
        append_answer(text, gnu, addresses[i]);
    sxt_gnu_close(&gnu);
    assert_string_equal(text, expected);
    if (ask_gnu(debug, addresses, count, gnu_text))
        assert_string_equal(gnu_text, expected);
    debug_free(debug);
}

#define EXPECT(debug, expected, ...) expect_answers(debug, (const uint64_t[]){__VA_ARGS__, UINT64_MAX}, expected)

/* A symbol of .text. */
static void add_symbol(struct debug *debug, const char *name, uint64_t offset, uint64_t size)
{
    sxt_builder_function(&debug->elf, SHT_SYMTAB, name, TEXT + offset, size, debug->text);
}

TEST(the_smallest_range_wins)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t lines = debug_plain_lines(&debug, 64, 10);
    uint64_t pieces = RANGE_LIST(&debug, 4, 8, 16, 48);
    debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(64));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(64));
    OPEN(&debug, DW_TAG_inlined_subroutine, NAME("outer"), LIST(pieces), CALL(1, 20));
    /* Its range is larger than the piece of `outer` around it, so it is not found there. */
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("inner"), LOW(TEXT + 2), HIGH(8), CALL(1, 21));
    debug_close(&debug);
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("same"), LOW(TEXT + 52), HIGH(4), CALL(1, 22));
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("size"), LOW(TEXT + 52), HIGH(4), CALL(1, 23));
    debug_close(&debug);
    debug_end_unit(&debug);
    /* Twice, because a unit with many lookups is searched in another way. */
    EXPECT(&debug,
           "f /src/a.c:10; "
           "inner /src/a.c:10 < outer /src/a.c:21 < f /src/a.c:20; "
           "outer /src/a.c:11 < f /src/a.c:20; "
           "outer /src/a.c:15 < f /src/a.c:20; "
           "size /src/a.c:23 < f /src/a.c:23; "
           "??; "
           "f /src/a.c:10; "
           "inner /src/a.c:10 < outer /src/a.c:21 < f /src/a.c:20; "
           "outer /src/a.c:11 < f /src/a.c:20; "
           "outer /src/a.c:15 < f /src/a.c:20; "
           "size /src/a.c:23 < f /src/a.c:23; "
           "??; ",
           0, 2, 4, 20, 52, 64, 0, 2, 4, 20, 52, 64);
}

TEST(ranges_that_touch_are_one)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t lines = debug_plain_lines(&debug, 64, 10);
    uint64_t pieces = RANGE_LIST(&debug, 0, 8, 8, 32);
    debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(64));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LIST(pieces));
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("g"), LOW(TEXT), HIGH(16), CALL(1, 20));
    debug_close(&debug);
    debug_end_unit(&debug);
    EXPECT(&debug, "g /src/a.c:11 < f /src/a.c:20; g /src/a.c:12 < f /src/a.c:20; f /src/a.c:14; ", 4, 8, 16);
}

TEST(the_first_unit_wins)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t first = debug_plain_lines(&debug, 32, 10);
    uint64_t second = debug_plain_lines(&debug, 64, 50);
    debug_begin_unit(&debug, LINES(first), LOW(TEXT), HIGH(64));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT + 40), HIGH(4));
    debug_end_unit(&debug);
    debug_begin_unit(&debug, LINES(second), LOW(TEXT), HIGH(64));
    ENTRY(&debug, DW_TAG_subprogram, NAME("g"), LOW(TEXT), HIGH(64));
    debug_end_unit(&debug);
    /* A line without a function, a function without a line, and then the other unit. */
    EXPECT(&debug, "?? /src/a.c:11; f ??:?; g /src/a.c:62; ", 4, 40, 48);
}

TEST(a_unit_without_lines_is_ignored)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    debug_begin_unit(&debug, LOW(TEXT), HIGH(16));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(16));
    debug_end_unit(&debug);
    add_symbol(&debug, "symbol", 0, 16);
    EXPECT(&debug, "symbol ??:?; ", 4);
}

TEST(a_unit_without_code_wins_for_a_shared_line_table)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t lines = debug_plain_lines(&debug, 16, 10);
    debug_begin_unit(&debug, LINES(lines));
    debug_end_unit(&debug);
    debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(32));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(32));
    debug_end_unit(&debug);
    add_symbol(&debug, "symbol", 0, 16);
    EXPECT(&debug, "symbol /src/a.c:11; f ??:?; ", 4, 20);
}

/*
 * The first unit refers to the third, so that the second one is skipped in the search for the third. GNU addr2line does
 * all that for the first lookup, whose answer is wrong.
 */
TEST(a_unit_that_is_skipped_gives_no_answer)
{
    for (int decoded = 0; decoded < 2; decoded++) {
        struct debug debug;
        debug_init(&debug, (struct debug_shape){.version = 4});
        uint64_t lines = debug_plain_lines(&debug, 16, 10);
        uint64_t others = debug_begin_lines(&debug, NULL, "b.c");
        debug_end_lines(&debug);
        debug_begin_unit(&debug, LINES(others));
        uint64_t user = ENTRY(&debug, DW_TAG_subprogram, ORIGIN(0));
        debug_end_unit(&debug);
        debug_begin_unit(&debug, LINES(lines));
        uint64_t middle = ENTRY(&debug, DW_TAG_subprogram, NAME("m"), NUMBER(DW_AT_decl_file, 1));
        debug_end_unit(&debug);
        debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(32));
        uint64_t last = ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(32));
        debug_end_unit(&debug);
        /* After the code of the entry, which is one byte. */
        debug_poke(&debug, INFO, user + 1, decoded ? middle : last, 4);
        if (decoded)
            EXPECT(&debug, "??; ?? /src/a.c:11; ", 100, 4);
        else
            EXPECT(&debug, "??; f /src/a.c:11; ", 100, 4);
    }
}

TEST(padding_has_a_line_once_its_unit_was_searched)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t lines = debug_plain_lines(&debug, 32, 10);
    debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(16));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(16));
    debug_end_unit(&debug);
    add_symbol(&debug, "f", 0, 16);
    EXPECT(&debug, "f ??:?; f /src/a.c:11; f /src/a.c:15; f ??:?; ", 20, 4, 20, 40);
}

TEST(a_symbol_replaces_a_plain_name)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t lines = debug_plain_lines(&debug, 64, 10);
    debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(64), LANGUAGE(C_PLUS_PLUS));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(32));
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("g"), LOW(TEXT + 8), HIGH(8), CALL(1, 20));
    debug_close(&debug);
    ENTRY(&debug, DW_TAG_subprogram, NAME("h"), LOW(TEXT + 32), HIGH(32));
    ENTRY(&debug, DW_TAG_subprogram, NAME("k"), LINKAGE("linked"), LOW(TEXT + 48), HIGH(8));
    debug_end_unit(&debug);
    add_symbol(&debug, "_Z1fv", 0, 32);
    /* `g` begins where no symbol does: the symbol's name the first time, its own name after that. */
    EXPECT(&debug,
           "_Z1fv /src/a.c:12 < f /src/a.c:20; "
           "g /src/a.c:13 < f /src/a.c:20; "
           "_Z1fv /src/a.c:10; "
           "g /src/a.c:12 < _Z1fv /src/a.c:20; "
           "_Z1fv /src/a.c:18; "
           "h /src/a.c:19; "
           "linked /src/a.c:22; ",
           8, 12, 0, 8, 32, 36, 48);
}

/* Only one reference to the name is followed. */
TEST(only_one_reference_to_a_name_is_followed)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t lines = debug_plain_lines(&debug, 32, 10);
    debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(32));
    uint64_t named = ENTRY(&debug, DW_TAG_subprogram, NAME("g"));
    uint64_t between = ENTRY(&debug, DW_TAG_subprogram, ORIGIN(named));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(32));
    ENTRY(&debug, DW_TAG_inlined_subroutine, ORIGIN(between), LOW(TEXT + 8), HIGH(8), CALL(1, 20));
    ENTRY(&debug, DW_TAG_inlined_subroutine, ORIGIN(named), LOW(TEXT + 16), HIGH(8), CALL(1, 21));
    debug_close(&debug);
    debug_end_unit(&debug);
    EXPECT(&debug, "?? /src/a.c:12 < f /src/a.c:20; g /src/a.c:14 < f /src/a.c:21; ", 8, 16);
}

/* In version 5, files are numbered from 0, and a sequence begins with file 0. */
TEST(a_sequence_begins_with_the_first_file)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 5});
    uint64_t lines = debug_begin_lines(&debug, NULL, "b.c c.c");
    debug_line_address(&debug, TEXT);
    debug_line_row(&debug, 0, 10);
    debug_line_file(&debug, 2);
    debug_line_row(&debug, 8, 11);
    debug_line_file(&debug, 9);
    debug_line_row(&debug, 8, 12);
    debug_line_end(&debug, 8);
    debug_end_lines(&debug);
    debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(24));
    ENTRY(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(24));
    debug_end_unit(&debug);
    /* File 0 is usually the same as file 1, but need not be. */
    char *name = memmem(debug.sections[LINE].data, debug.sections[LINE].size, "b.c", 3);
    assert_non_null(name);
    name[0] = 'z';
    EXPECT(&debug, "f /src/z.c:10; f /src/c.c:11; f <unknown>:12; ", 0, 8, 16);
}

TEST(a_call_without_a_file_has_none)
{
    struct debug debug;
    debug_init(&debug, (struct debug_shape){.version = 4});
    uint64_t lines = debug_plain_lines(&debug, 32, 10);
    debug_begin_unit(&debug, LINES(lines), LOW(TEXT), HIGH(32));
    OPEN(&debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(32));
    OPEN(&debug, DW_TAG_inlined_subroutine, NAME("g"), LOW(TEXT + 4), HIGH(8), NUMBER(DW_AT_call_line, 20));
    ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("h"), LOW(TEXT + 4), HIGH(4), CALL(0, 21));
    debug_close(&debug);
    debug_close(&debug);
    debug_end_unit(&debug);
    EXPECT(&debug, "h /src/a.c:11 < g <unknown>:21 < f ??:20; ", 4);
}
