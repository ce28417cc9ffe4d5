/* test_ar.c: members of static libraries, with the names of GNU and BSD, and damaged libraries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "source/ar.h"
#include "support/test.h"

#define GNU  "!<arch>\n"
#define THIN "!<thin>\n"

static struct sxt_buffer library;

static void begin(const char *magic)
{
    sxt_buffer_init(&library, SIZE_MAX);
    sxt_buffer_append(&library, magic, 8);
}

/* A header as `ar` writes it, with the size as text, so that it can be anything. */
static void header(const char *name, const char *size)
{
    char text[80];
    snprintf(text, sizeof text, "%-16s%-12s%-6s%-6s%-8s%-10s`\n", name, "0", "0", "0", "100644", size);
    sxt_buffer_append(&library, text, 60);
}

static void member(const char *name, const char *content)
{
    char size[24];
    snprintf(size, sizeof size, "%zu", strlen(content));
    header(name, size);
    sxt_buffer_append(&library, content, strlen(content));
    if (strlen(content) % 2 != 0)
        sxt_buffer_u8(&library, '\n');
}

/* Members as text: "NAME=CONTENT", in a thin library "NAME:SIZE", and the error at the end. */
static void check(const char *expected)
{
    /* A copy of the exact size, so that a sanitizer detects reads beyond the end. */
    assert_false(library.failed);
    uint8_t *data = malloc(library.size);
    assert_non_null(data);
    memcpy(data, library.data, library.size);
    assert_true(sxt_ar_is(data, library.size));
    struct sxt_ar ar;
    sxt_ar_open(&ar, data, library.size);
    char text[1000] = "";
    size_t size = 0;
    for (;;) {
        struct sxt_ar_member found;
        sxt_error error;
        int status = sxt_ar_next(&ar, &found, &error);
        if (status != SXT_OK)
            size += (size_t)snprintf(text + size, sizeof text - size, "! %s", error.text);
        if (status != SXT_OK || found.name.data == NULL)
            break;
        size += (size_t)snprintf(text + size, sizeof text - size, "%.*s", (int)found.name.size, found.name.data);
        size += found.data != NULL ? (size_t)snprintf(text + size, sizeof text - size, "=%.*s ", (int)found.size,
                                                      (const char *)found.data)
                                   : (size_t)snprintf(text + size, sizeof text - size, ":%zu ", found.size);
    }
    assert_string_equal(text, expected);
    free(data);
    sxt_buffer_free(&library);
}

TEST(recognizes_libraries_by_their_magic)
{
    assert_true(sxt_ar_is((const uint8_t *)GNU, 8));
    assert_true(sxt_ar_is((const uint8_t *)THIN, 8));
    assert_false(sxt_ar_is((const uint8_t *)GNU, 7));
    assert_false(sxt_ar_is((const uint8_t *)"!<arch> ", 8));
    begin(GNU);
    check("");
}

TEST(members_begin_at_even_offsets)
{
    begin(GNU);
    member("a.o/", "odd");
    member("b.o/", "even");
    member("c.o/", "");
    member("plain.o", "x");
    check("a.o=odd b.o=even c.o= plain.o=x ");
    /* The padding byte may be missing after the last member. */
    begin(GNU);
    header("a.o/", "3");
    sxt_buffer_append(&library, "odd", 3);
    check("a.o=odd ");
}

TEST(tables_of_the_library_are_not_members)
{
    begin(GNU);
    member("/", "index");
    member("/SYM64/", "index");
    member("//", "a_long_name_of_a_member.o/\nanother_long_name.o/\n");
    member("/0", "first");
    member("/27", "second");
    check("a_long_name_of_a_member.o=first another_long_name.o=second ");
    begin(GNU);
    member("__.SYMDEF", "index");
    member("#1/20", "__.SYMDEF SORTED    ");
    check("");
}

TEST(bsd_stores_names_before_the_content)
{
    begin(GNU);
    member("#1/12", "long name.o content");
    member("b.o", "next");
    check("long name.o=content b.o=next ");
    /* The name is longer than the member. */
    begin(GNU);
    member("#1/30", "short");
    check("#1/30=short ");
}

TEST(thin_libraries_have_names_only)
{
    begin(THIN);
    member("/", "index");
    member("//", "folder/a.o/\nfolder/b.o/\n");
    header("/0", "1234");
    header("/12", "99999999");
    check("folder/a.o:1234 folder/b.o:99999999 ");
}

TEST(damaged_headers_are_errors)
{
    begin(GNU);
    member("a.o/", "even");
    header("b.o/", "5");
    sxt_buffer_append(&library, "four", 4);
    check("a.o=even ! member of 5 bytes does not fit in the library (offset 0x48)");
    begin(GNU);
    header("a.o/", "9999999999");
    check("! member of 9999999999 bytes does not fit in the library (offset 0x8)");
    static const char *const sizes[] = {"", "-1", "1x", "0x10", " 1"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        begin(GNU);
        header("a.o/", sizes[i]);
        sxt_buffer_append(&library, "content", 7);
        check("! not a member of a library (offset 0x8)");
    }
    begin(GNU);
    member("a.o/", "even");
    sxt_buffer_append(&library, "rest", 4);
    check("a.o=even ! not a member of a library (offset 0x48)");
    begin(GNU);
    member("a.o/", "even");
    library.data[8 + 58] = '?';
    check("! not a member of a library (offset 0x8)");
}

TEST(missing_names_are_errors)
{
    static const char *const names[] = {"/0", "/999999999999999", "", "#1/0"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin(GNU);
        member(names[i], "content");
        check("! member of the library has no name (offset 0x8)");
    }
    begin(GNU);
    member("//", "a.o/\n");
    member("/5", "content");
    check("! member of the library has no name (offset 0x4a)");
    /* A name without a terminator ends with the table. */
    begin(GNU);
    member("//", "name");
    member("/1", "content");
    check("ame=content ");
}
