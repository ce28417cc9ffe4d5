/*
 * test_read.c: what a .size file holds comes out of it, and an error in one is reported in a line with its place.
 * Every beginning of a file is refused, and no byte that is changed does harm.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "size/size.h"
#include "support/size_image.h"
#include "support/test.h"

TEST(everything_is_read)
{
    char *text = sxt_test_size_plain();
    struct sxt_size_info *size = sxt_test_size_open(text);
    assert_int_equal(size->container_count, 1);
    assert_int_equal(size->containers[0].name.size, 0);
    assert_int_equal(sxt_json_member(size->containers[0].sections, ".text")->unsigned_value, 36);
    assert_int_equal(size->segment_count, 3);
    assert_int_equal(size->symbol_count, 6);
    assert_int_equal(size->group_count, 1);
    assert_false(size->is_sparse);

    const struct sxt_size_model_symbol *symbol = &size->symbols[1];
    sxt_test_assert_text(sxt_size_full_name(symbol), "g");
    assert_int_equal(symbol->address, 4120);
    assert_int_equal(symbol->padding, 8);
    assert_int_equal(symbol->size, 16);
    assert_int_equal(symbol->flags, SXT_SIZE_ANONYMOUS);
    assert_int_equal(sxt_size_alias_count(size, symbol), 2);
    sxt_test_assert_text(size->paths[symbol->path].object, "a.o");
    sxt_test_assert_text(size->paths[symbol->path].source, "a.cc");
    sxt_test_assert_text(size->components[symbol->component], "Blink");
    sxt_test_assert_text(size->components[symbol[1].component], "");
    assert_int_equal(size->symbols[3].flags, 0x7ff);
    assert_int_equal(size->symbols[3].address, 4128);
    assert_int_equal(sxt_size_alias_count(size, &size->symbols[3]), 1);
    sxt_test_assert_text(size->segments[1].section, ".bss");
    assert_true(size->segments[1].is_bss && size->segments[1].is_native && size->segments[1].letter == 'b');
    assert_int_equal(size->symbols[5].padding, 50);
    assert_int_equal(size->disassembly_count, 1);
    assert_int_equal(size->disassemblies[0].symbol, 3);
    sxt_test_assert_text(size->disassemblies[0].text, "mov\n\n");
    sxt_size_info_free(&size);
    assert_null(size);
    free(text);
}

TEST(proportional_size)
{
    char *text = sxt_test_size_plain();
    struct sxt_size_info *size = sxt_test_size_open(text);
    assert_true(sxt_size_pss(size, &size->symbols[1]) == 8.0);
    assert_true(sxt_size_pss(size, &size->symbols[0]) == 16.0);
    sxt_size_info_free(&size);
    free(text);
}

TEST(build_configuration_is_taken_out_of_metadata)
{
    char *text = sxt_test_size_text(
        "1", "{\"metadata\": {\"git_revision\": \"abc\", \"title\": \"t\"}, \"section_sizes\": {}}", "0\n\n\n");
    struct sxt_size_info *size = sxt_test_size_open(text);
    sxt_test_assert_text(sxt_json_member(size->build_config, "git_revision")->string, "abc");
    assert_null(sxt_json_member(size->build_config, "title"));
    assert_null(sxt_json_member(size->containers[0].metadata, "git_revision"));
    assert_non_null(sxt_json_member(size->containers[0].metadata, "title"));
    sxt_size_info_free(&size);
    free(text);
}

TEST(files_are_recognised)
{
    char *text = sxt_test_size_plain();
    struct sxt_size_info *size = sxt_test_size_open(text);
    struct sxt_buffer out;
    sxt_buffer_init(&out, SIZE_MAX);
    assert_int_equal(sxt_size_save(size, SXT_SIZE_DEFLATE_FAST, &out, NULL), SXT_OK);
    assert_true(sxt_size_is(out.data, out.size));
    assert_false(sxt_sizediff_is(out.data, out.size));
    assert_true(sxt_size_is((const uint8_t *)text, strlen(text)));
    assert_false(sxt_size_is((const uint8_t *)text, 40));
    assert_false(sxt_size_is((const uint8_t *)"", 0));
    static const char diff[] = "# Created by //tools/binary_size\nDIFF\n2\n{}\n";
    assert_true(sxt_sizediff_is((const uint8_t *)diff, sizeof diff - 1));
    assert_false(sxt_size_is((const uint8_t *)diff, sizeof diff - 1));
    sxt_buffer_free(&out);
    sxt_size_info_free(&size);
    free(text);
}

/* In the plain file, NEW in place of OLD is refused with EXPECTED. */
static void assert_refused(const char *old, const char *new, const char *expected)
{
    char *text = sxt_test_size_replace(sxt_test_size_plain(), old, new);
    struct sxt_size_info *size;
    sxt_error error = {0};
    int status = sxt_size_open((const uint8_t *)text, strlen(text), NULL, &size, &error);
    if (status == SXT_OK)
        fail_msg("'%s' is accepted", new);
    assert_null(size);
    if (strncmp(error.text, expected, strlen(expected)) != 0)
        fail_msg("'%s' instead of '%s'", error.text, expected);
    free(text);
}

TEST(errors_say_what_and_where)
{
    assert_refused("v1\n", "v2\n", "line 2: the version is 'Size File Format v2'");
    assert_refused("Size File", "Any File", "line 2: 'Any File Format v1'");
    assert_refused("\n{", "0\n{", "line 4: the JSON of 1990 bytes reaches beyond the end");
    assert_refused("199\n", "99\n", "line 4: the JSON of 99 bytes does not end a line");
    assert_refused("199\n", "-1\n", "line 3: '-1' is not the number of bytes of the JSON");
    assert_refused("true", "tr?e", "header: JSON: ");
    assert_refused("true", "  17", "header: 'has_components' is neither true nor false");
    assert_refused("section_sizes", "section_sizas", "header: there are no 'section_sizes'");
    assert_refused(".text\": 36", ".text\": []", "header: the size of section '.text' is not a number");
    assert_refused("}\n3\n\t", "}\n9999\n\t", "line 16: the number of paths is 9999, but there is room for 183");
    assert_refused("}\n3\n\t", "}\n4\n\t", "line 21: '' is not the number of components");
    assert_refused("a.o\ta.cc", "a.o\ta\tcc", "line 18: path 1 has more than one tab");
    assert_refused("2\n\nBlink", "999\n\nBlink", "line 20: the number of components is 999");
    assert_refused(".text\t.bss", ".text\t", "line 23: a segment without a name");
    assert_refused("4\t1\t1", "4\t1", "line 24: 2 counts for 3 segments");
    assert_refused("4\t1\t1", "4\t1\t1\t1", "line 24: more counts than the 3 segments");
    assert_refused("4\t1\t1", "4\t1\tx", "line 24: 'x' is not a number of symbols");
    assert_refused("4\t1\t1", "4\t1\t-1", "line 24: '-1' is not a number of symbols");
    assert_refused("4\t1\t1", "4000000000\t1\t1", "line 24: the file is too short for 4000000000 symbols");
    assert_refused("4\t1\t1", "15\t15\t1", "line 24: the file is too short for 15 symbols");
    assert_refused("4096 24 0 8", "4096 24 0", "line 25: 3 addresses where 4 are expected");
    assert_refused("4096 24 0 8", "4096 24 0 8 8", "line 25: more addresses than the 4 that are expected");
    assert_refused("4096 24 0 8", "4096 24 x 8", "line 25: not a number among the addresses");
    assert_refused("16 8 8 4", "16 8  4", "line 28: not a number among the sizes");
    assert_refused("16 8 8 4", "16 8 9223372036854775808 4",
                   "line 28: not a number among the sizes, or one that is too");
    assert_refused("4096 24", "18446744073709551615 24", "line 25: an address that does not fit in 64 bits");
    assert_refused("1 0 1 0", "1 0 2 0", "line 31: path 3 is out of range: there are 3");
    assert_refused("1 0 1 0", "-1 0 1 0", "line 31: path -1 is out of range: there are 3");
    assert_refused("1 0 -1 1", "1 0 1 1", "line 34: component 2 is out of range: there are 2");
    assert_refused("g\t02\t1", "g\t05\t1", "line 38: 5 aliases, but the segment has only 3 symbols left");
    assert_refused("g\t02\t1", "g\t00\t1", "line 38: '00' is not a number of aliases");
    assert_refused("g\t02\t1", "g\t02\t1\t1", "line 38: a symbol has more than three fields");
    assert_refused("g\t02\t1", "g\t0g\t1", "line 38: '0g' is not a number of aliases");
    assert_refused("\nh\n", "\nh\t02\n", "line 39: aliases begin where 1 of the group before are missing");
    assert_refused("last\t7ff", "last\t7fz", "line 40: '7fz' is not a set of flags");
    assert_refused("last\t7ff", "last\t100000000", "line 40: '100000000' is not a set of flags");
    assert_refused("\n3\n5\n", "\n6\n5\n", "line 43: disassembly of symbol 6, which is out of range: there are 6");
    assert_refused("\n3\n5\n", "\n3,\n5\n", "line 43: not a number among the symbols with disassembly");
    assert_refused("\n3\n5\n", "\n3\n50\n", "line 45: a disassembly of 50 bytes reaches beyond the end");
    assert_refused("\n3\n5\n", "\n3\n2\n", "line 45: more text after the end");
}

TEST(offset_is_that_of_the_text)
{
    char *text = sxt_test_size_replace(sxt_test_size_plain(), "4096 24 0 8", "4096 24 x 8");
    struct sxt_size_info *size;
    sxt_error error;
    assert_int_equal(sxt_size_open((const uint8_t *)text, strlen(text), NULL, &size, &error), SXT_ERROR_FORMAT);
    assert_int_equal(error.offset, strstr(text, "x 8") - text);
    free(text);
}

TEST(containers)
{
    static const char json[] = "{\"build_config\": {}, \"containers\": [{\"name\": \"a\", \"section_sizes\": {}}, "
                               "{\"name\": \"b\", \"section_sizes\": {}}]}";
    char *text = sxt_test_size_text("1.1", json, "1\n\t\n<1>.text\t<0>.text\n1\t1\n1\n2\n3\n4\n0\n0\nf\ng\n");
    struct sxt_size_info *size = sxt_test_size_open(text);
    assert_int_equal(size->segments[0].container, 1);
    assert_int_equal(size->segments[1].container, 0);
    sxt_test_assert_text(size->containers[1].name, "b");
    sxt_test_assert_text(size->components[size->symbols[1].component], "");
    sxt_size_info_free(&size);
    static const struct {
        const char *old, *new, *expected;
    } wrong[] = {{"<1>.text", "<2>.text", "line 7: container 2 of 2"},
                 {"<1>.text", "<-1>.text", "line 7: container -1 of 2"},
                 {"<1>.text", ".text", "line 7: a segment has no <container> before it"},
                 {"<1>.text", "<1>", "line 7: a segment without a name"},
                 {"\"name\": \"b\"", "\"nome\": \"b\"", "header: container 1 has no name"},
                 {"build_config", "build_canfig", "header: there is no 'build_config'"},
                 {"v1.1", "v1", "header: 'containers' does not belong in a file of v1"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *changed = sxt_test_size_replace(strdup(text), wrong[i].old, wrong[i].new);
        sxt_error error = {0};
        assert_int_equal(sxt_size_open((const uint8_t *)changed, strlen(changed), NULL, &size, &error),
                         SXT_ERROR_FORMAT);
        if (strncmp(error.text, wrong[i].expected, strlen(wrong[i].expected)) != 0)
            fail_msg("'%s' instead of '%s'", error.text, wrong[i].expected);
        free(changed);
    }
    free(text);
}

TEST(every_beginning_is_refused)
{
    char *text = sxt_test_size_plain();
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        /* A copy of exactly that size, so that AddressSanitizer sees every step too far. */
        uint8_t *part = malloc(i + 1);
        memcpy(part, text, i);
        struct sxt_size_info *size;
        sxt_error error = {0};
        int status = sxt_size_open(part, i, NULL, &size, &error);
        if (status == SXT_OK)
            fail_msg("the first %zu bytes are accepted", i);
        assert_true(strlen(error.text) > 10 && strchr(error.text, '\n') == NULL);
        free(part);
    }
    free(text);
}

/* What is accepted can be written, and read again as the same. */
static void assert_stable(struct sxt_size_info **size)
{
    struct sxt_buffer written, again;
    sxt_buffer_init(&written, SIZE_MAX);
    sxt_buffer_init(&again, SIZE_MAX);
    assert_int_equal(sxt_size_write_text(*size, &written, NULL), SXT_OK);
    sxt_size_info_free(size);
    assert_int_equal(sxt_size_open(written.data, written.size, NULL, size, NULL), SXT_OK);
    assert_int_equal(sxt_size_write_text(*size, &again, NULL), SXT_OK);
    sxt_size_info_free(size);
    assert_int_equal(again.size, written.size);
    assert_memory_equal(again.data, written.data, written.size);
    sxt_buffer_free(&written);
    sxt_buffer_free(&again);
}

TEST(no_changed_byte_does_harm)
{
    static const char values[] = {'\0', '\n', '\t', ' ', '0', '1', '9', '-', 'x', '"', '}', (char)0x80, (char)0xff};
    char *text = sxt_test_size_plain();
    size_t length = strlen(text);
    unsigned accepted = 0;
    for (size_t i = 0; i < length; i++) {
        for (size_t k = 0; k < sizeof values; k++) {
            char before = text[i];
            text[i] = values[k];
            struct sxt_size_info *size;
            if (sxt_size_open((const uint8_t *)text, length, NULL, &size, NULL) == SXT_OK) {
                assert_stable(&size);
                accepted++;
            }
            text[i] = before;
        }
    }
    assert_true(accepted > 100);
    free(text);
}
