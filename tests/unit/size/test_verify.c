/*
 * test_verify.c: every rule of the checker, with the byte of the text where it is broken; one problem is one
 * problem, and good files pass.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "size/size.h"
#include "support/size_image.h"
#include "support/test.h"

struct notes {
    char text[400];    /* "rule rule" */
    uint64_t offset;   /* of the last one */
    char message[300]; /* of the last one */
};

static void note(void *data, const sxt_problem *problem)
{
    struct notes *notes = data;
    size_t used = strlen(notes->text);
    snprintf(notes->text + used, sizeof notes->text - used, "%s%s", used > 0 ? " " : "", problem->rule);
    notes->offset = problem->offset;
    assert_null(strchr(problem->message, '\n'));
    assert_null(strstr(problem->message, "(offset"));
    snprintf(notes->message, sizeof notes->message, "%s", problem->message);
}

/* The problems of TEXT, which is freed, are RULES; the last one is at the first PLACE in it, unless that is NULL. */
static void assert_problems(char *text, const char *rules, const char *place)
{
    struct notes notes = {0};
    sxt_size_verify((const uint8_t *)text, strlen(text), NULL, note, &notes);
    if (strcmp(notes.text, rules) != 0)
        fail_msg("'%s' instead of '%s': %s", notes.text, rules, notes.message);
    if (place != NULL)
        assert_int_equal(notes.offset, strstr(text, place) - text);
    free(text);
}

static char *with(const char *old, const char *new)
{
    return sxt_test_size_replace(sxt_test_size_plain(), old, new);
}

TEST(good_file)
{
    assert_problems(sxt_test_size_plain(), "", NULL);
    assert_problems(sxt_test_size_text("1", "{\"section_sizes\": {}}", "0\n\n\n"), "", NULL);
}

TEST(file_that_cannot_be_read)
{
    assert_problems(with("4096 24 0 8", "4096 24 x 8"), "unreadable", "x 8");
    assert_problems(strdup("nothing"), "unreadable", NULL);
}

TEST(lists)
{
    assert_problems(with("b.o\tb.cc", "A.o\tb.cc"), "list-order", "A.o\tb.cc");
    assert_problems(with("b.o\tb.cc", "a.o\ta.cc"), "list-duplicate", NULL);
    assert_problems(with("2\n\nBlink", "3\n\nBlink\nBlink"), "list-duplicate list-unused", NULL);
    assert_problems(with("3\n\tb.cc\na.o\ta.cc\nb.o\tb.cc", "4\n\tb.cc\na.o\ta.cc\nb.o\tb.cc\nz\tz"), "list-unused",
                    "z\tz");
    assert_problems(with("b.o\tb.cc", "b\x1b.o\tb.cc"), "text", "b\x1b.o");
    assert_problems(with("b.o\tb.cc", "b.o\tb\xff.cc"), "text", "b\xff.cc");
    assert_problems(with("Blink", "Bl\rnk"), "text", "Bl\rnk");
}

TEST(symbols)
{
    assert_problems(with("first\n", "f\x7frst\n"), "text", "f\x7frst");
    assert_problems(with("last\t7ff", "last\tfff"), "symbol-flags", "last\t");
    assert_problems(with("4096 24 0 8", "4096 24 0 -8"), "symbol-order", "last\t");
    assert_problems(with("4096 24 0 8", "4096 24 0 0"), "symbol-overlap", "last\t");
    assert_problems(with("4096 24 0 8", "4096 24 1 7"), "alias-differs section-sum", NULL);
    assert_problems(with("16 8 8 4\n", "16 8 7 4\n"), "alias-differs section-sum", NULL);
    assert_problems(with("\n100\n", "\n-1\n"), "unreadable", "-1\n");
    assert_problems(with("g\t02\t1\nh\n", "h\t02\t1\ng\n"), "symbol-order", "g\nlast");
}

TEST(segments)
{
    assert_problems(with(".bss\t", ".odd\t"), "segment-unknown", ".odd");
    assert_problems(with(".bss\t", ".text\t"), "segment-repeated section-sum", NULL);
}

TEST(sums)
{
    assert_problems(with(".text\": 36", ".text\": 35"), "section-sum", ".text\"");
    assert_problems(with(".text\": 36", ".txtt\": 36"), "section-sum", NULL);
    /* Memory only, and what is no section, are not counted; a section without symbols of its own belongs to .other. */
    assert_problems(with(".bss\": 999", ".bss\": 998"), "", NULL);
    assert_problems(with(".bss\": 999", ".x (\": 999"), "", NULL);
    assert_problems(with(".other\": 50", ".shstr\": 50"), "", NULL);
    char *text = sxt_test_size_replace(with(".other\": 50", ".shstr\": 50"), "Overhead: ELF file", "** .shstr");
    assert_problems(text, "", NULL);
    text = sxt_test_size_replace(with(".other\": 50", ".shs(r\": 50"), "Overhead: ELF file", "** .shstr");
    assert_problems(text, "section-sum", NULL);
    assert_problems(with(".other\": 50", ".other\": 60"), "section-sum", ".other\"");
}

TEST(containers)
{
    static const char json[] = "{\"build_config\": {}, \"containers\": ["
                               "{\"name\": \"a\", \"section_sizes\": {\".text\": 3}}, "
                               "{\"name\": \"b\", \"section_sizes\": {\".text\": 4}}]}";
    static const char body[] = "1\n\t\n<0>.text\t<1>.text\n1\t1\n1\n2\n3\n4\n0\n0\nf\ng\n";
    assert_problems(sxt_test_size_text("1.1", json, body), "", NULL);
    char *text = sxt_test_size_replace(sxt_test_size_text("1.1", json, body), "\"b\"", "\"a\"");
    assert_problems(text, "container-name", NULL);
    text = sxt_test_size_replace(sxt_test_size_text("1.1", json, body), ".text\": 4", ".text\": 5");
    assert_problems(text, "section-sum", ".text\": 5");
}

/* A sparse file has symbols in any order, and not all of them. */
TEST(sparse_file)
{
    static const char json[] = "{\"has_padding\": true, \"section_sizes\": {\".text\": 300}}";
    char *text = sxt_test_size_text("1", json, "1\n\t\n.text\n2\n9 -3\n-5 6\n-5 -1\n0 0\nOverhead: x\na\n");
    assert_problems(text, "", NULL);
    text = sxt_test_size_text("1", json, "1\n\t\n.text\n2\n9 -3\n-5 6\n1 -1\n0 0\nz\na\n");
    assert_problems(text, "unreadable", "-5 6");
}

TEST(halves_of_a_diff)
{
    static const char json[] = "{\"has_padding\": true, \"section_sizes\": {}}";
    char *sparse = sxt_test_size_text("1", json, "1\n\t\n.text\n1\n9\n5\n1\n0\nz\n");
    char *full = sxt_test_size_text("1", "{\"section_sizes\": {}}", "1\n\t\n.odd\n1\n9\n5\n0\nz\n"), *diff = NULL,
         *header;
    assert_true(asprintf(&header, "{\"before_length\": %zu, \"version\": 1}", strlen(sparse)) > 0);
    assert_true(asprintf(&diff, "# x\nDIFF\n%zu\n%s\n%s%s", strlen(header), header, sparse, full) > 0);
    struct notes notes = {0};
    sxt_size_verify((const uint8_t *)diff, strlen(diff), NULL, note, &notes);
    assert_string_equal(notes.text, "half-not-sparse segment-unknown");
    assert_int_equal(strncmp(notes.message, "after: ", 7), 0);
    assert_int_equal(notes.offset, strstr(full, ".odd") - full);
    free(sparse);
    free(full);
    free(header);
    free(diff);
}
