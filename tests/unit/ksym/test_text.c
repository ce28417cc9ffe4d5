/* test_text.c: what becomes of the lines of /proc/kallsyms and nm, good and bad, and of their names. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "ksym/ksym.h"
#include "support/test.h"

struct result {
    struct sxt_ksym_text_report report;
    struct sxt_buffer symbols;  /* "address type name\n" in the order of the list */
    struct sxt_buffer warnings; /* "line: text\n" */
    sxt_error error;
    int status;
};

static void note_warning(void *data, uint64_t line, const char *text)
{
    sxt_buffer_print(data, "%" PRIu64 ": %s\n", line, text);
}

static struct result read_bytes(const char *text, size_t size, struct sxt_ksym_text_options options)
{
    struct result result;
    struct sxt_ksym_list list;
    memset(&result, 0, sizeof result);
    sxt_buffer_init(&result.symbols, SIZE_MAX);
    sxt_buffer_init(&result.warnings, SIZE_MAX);
    options.warning = note_warning;
    options.warning_data = &result.warnings;
    assert_int_equal(sxt_ksym_list_init(&list, NULL), SXT_OK);
    /* A copy without a byte to spare, so that a read beyond the end is noticed. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, text, size);
    result.status = sxt_ksym_read_text(&list, copy, size, &options, &result.report, &result.error);
    free(copy);
    for (size_t i = 0; i < list.count; i++) {
        sxt_string name = sxt_strings_get(&list.strings, list.symbols[i].name);
        sxt_buffer_print(&result.symbols, "%" PRIx64 " %c ", list.symbols[i].address, list.symbols[i].type);
        sxt_buffer_append(&result.symbols, name.data, name.size);
        sxt_buffer_u8(&result.symbols, '\n');
    }
    sxt_buffer_u8(&result.symbols, '\0');
    sxt_buffer_u8(&result.warnings, '\0');
    sxt_ksym_list_free(&list);
    struct sxt_ksym_text_report *report = &result.report;
    assert_true(report->lines == report->blank + report->kept + report->other_types + report->undefined +
                                     report->markers + report->malformed.count + report->nameless.count +
                                     report->not_utf8.count + report->too_long.count ||
                result.status == SXT_ERROR_MEMORY);
    return result;
}

static struct result read_string(const char *text, struct sxt_ksym_text_options options)
{
    return read_bytes(text, strlen(text), options);
}

static void free_result(struct result *result)
{
    sxt_buffer_free(&result->symbols);
    sxt_buffer_free(&result->warnings);
}

static void assert_read(const char *text, struct sxt_ksym_text_options options, const char *symbols,
                        const char *warnings)
{
    struct result result = read_string(text, options);
    assert_int_equal(result.status, SXT_OK);
    assert_string_equal(result.symbols.data, symbols);
    assert_string_equal(result.warnings.data, warnings);
    free_result(&result);
}

static void assert_error(const char *text, const char *types, sxt_status code, const char *reason)
{
    struct result result = read_string(text, (struct sxt_ksym_text_options){.types = types});
    assert_int_equal(result.status, code);
    assert_non_null(strstr(result.error.text, reason));
    free_result(&result);
}

static const struct sxt_ksym_text_options plain = {.types = NULL};
static const struct sxt_ksym_text_options all = {.types = "all"};

/* --- lines --- */

TEST(reads_kallsyms)
{
    assert_read("ffffffff81000000 T _stext\n"
                "ffffffff81000100 t local\n"
                "ffffffff82000000 D data\n"
                "ffffffffc0000000 t in_module\t[ext4]\n",
                plain,
                "ffffffff81000000 T _stext\n"
                "ffffffff81000100 t local\n"
                "ffffffffc0000000 t in_module [ext4]\n",
                "");
}

TEST(reads_nm)
{
    struct result result = read_string("                 U malloc\n"
                                       "                 w __gmon_start__\n"
                                       "0000000000001000 T std::vector<int, std::allocator<int> >::end() const\n"
                                       "0000000000001100 W weak\n",
                                       plain);
    assert_int_equal(result.status, SXT_OK);
    assert_string_equal(result.symbols.data, "1000 T std::vector<int, std::allocator<int> >::end() const\n");
    assert_int_equal(result.report.undefined, 2);
    assert_int_equal(result.report.other_types, 1);
    assert_string_equal(result.warnings.data, "");
    free_result(&result);
}

TEST(takes_white_space_as_it_comes)
{
    assert_read("1 T a \n2 T b ", plain, "1 T a\n2 T b\n", "");
    assert_read("1000 T a\r\n\r\n  \t1001\tT\t b \t c  \r\n1002 T last", plain, "1000 T a\n1001 T b c\n1002 T last\n",
                "");
}

TEST(takes_addresses_of_64_bits)
{
    assert_read("0xAbC T a\n0XFFFFFFFFFFFFFFFF T b\n00000000000000000000001 T c\n0 T d\n", plain,
                "abc T a\nffffffffffffffff T b\n1 T c\n0 T d\n", "");
    assert_read("1 T a\n10000000000000000 T b\n0x T c\n12g4 T d\n-1 T e\n", plain, "1 T a\n",
                "2: 4 lines left out: not an address, a type and a name, this one first\n");
}

TEST(keeps_the_types_that_are_asked_for)
{
    const char *text = "1 T a\n2 t b\n3 D c\n4 d d\n5 ? e\n6 W f\n";
    assert_read(text, (struct sxt_ksym_text_options){.types = "dW?"}, "4 d d\n5 ? e\n6 W f\n", "");
    assert_read(text, all, "1 T a\n2 t b\n3 D c\n4 d d\n5 ? e\n6 W f\n", "");
    assert_error(text, "T,t", SXT_ERROR_USAGE, "','");
    assert_error(text, "", SXT_ERROR_USAGE, "no types");
}

TEST(warns_once_for_each_kind)
{
    assert_read("nonsense\n1 T a\n2\n3 TT b\n4 T\n5 T  \n6 T \xff\n7 T \xc3(\n8 T good\n9 \x80 c\n", plain,
                "1 T a\n8 T good\n",
                "1: 4 lines left out: not an address, a type and a name, this one first\n"
                "5: 2 symbols without a name left out, this one first\n"
                "7: 2 names that are not UTF-8 left out, this one first\n");
    assert_read("1 T a\n2 T\n", plain, "1 T a\n", "2: left out: the symbol has no name\n");
}

TEST(leaves_out_mapping_symbols)
{
    struct result result =
        read_string("1 t $x\n1 t $d.12\n1 t $xrv64i2p1_m2p0\n1 t $a\n1 t $t.x\n1 T $x_is_mine\n1 T $\n", plain);
    assert_int_equal(result.status, SXT_OK);
    assert_int_equal(result.report.markers, 5);
    assert_string_equal(result.symbols.data, "1 T $x_is_mine\n1 T $\n");
    free_result(&result);
}

/* Returns a line with a name of SIZE bytes; to be freed. */
static char *line_with_name(size_t size)
{
    char *line = malloc(size + 20);
    int at = sprintf(line, "1000 T ");
    memset(line + at, 'n', size);
    strcpy(line + at + size, "\n");
    return line;
}

TEST(keeps_long_names_that_fit_a_record)
{
    static const struct {
        size_t size;
        const char *warning;
    } cases[] = {
        {SXT_KSYM_NAME_SIZE_MOST, ""},
        {SXT_KSYM_NAME_SIZE_MOST + 1,
         "0: names longer than 4096 bytes, which other readers will cut: 1, the first at 0x1000\n"},
        {SXT_KSYM_RECORD_MOST,
         "0: names longer than 4096 bytes, which other readers will cut: 1, the first at 0x1000\n"},
        {SXT_KSYM_RECORD_MOST + 1, "1: left out: the name is longer than 65535 bytes\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *line = line_with_name(cases[i].size);
        struct result result = read_string(line, plain);
        assert_string_equal(result.warnings.data, cases[i].warning);
        assert_int_equal(result.report.kept, cases[i].size <= SXT_KSYM_RECORD_MOST);
        free_result(&result);
        free(line);
    }
}

/* A name whose readable form is longer than other readers take: the letters of "f" are in the name once. */
TEST(warns_of_names_that_become_long)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    sxt_buffer_print(&text, "1000 T _Z1f");
    for (unsigned i = 0; i < 900; i++)
        sxt_buffer_u8(&text, 'l');
    sxt_buffer_u8(&text, '\n');
    struct result result =
        read_bytes((const char *)text.data, text.size, (struct sxt_ksym_text_options){.demangle = true});
    assert_int_equal(result.report.long_names, 1);
    free_result(&result);
    sxt_buffer_free(&text);
}

/* --- nothing to keep --- */

TEST(says_why_nothing_is_left)
{
    assert_error("", NULL, SXT_ERROR_NOT_FOUND, "the text is empty");
    assert_error("\n \n", NULL, SXT_ERROR_NOT_FOUND, "the text is empty");
    assert_error("hello\nworld\n", NULL, SXT_ERROR_NOT_FOUND, "no symbols in 2 lines");
    assert_error("1 D a\n2 B b\n", NULL, SXT_ERROR_NOT_FOUND, "no symbols of the types Tt in 2 lines");
    assert_error("1 T a\n2 T b\n", "Dd", SXT_ERROR_NOT_FOUND, "no symbols of the types Dd");
}

TEST(refuses_addresses_that_are_hidden)
{
    assert_error("0000000000000000 T a\n0000000000000000 t b\n", NULL, SXT_ERROR_UNSUPPORTED, "kernel.kptr_restrict=0");
    assert_read("0 T only\n", plain, "0 T only\n", "");
    assert_read("0 T first\n1 T second\n", plain, "0 T first\n1 T second\n", "");
}

/* --- names --- */

TEST(demangles_without_the_module)
{
    const struct sxt_ksym_text_options options = {.demangle = true};
    assert_read("1 T _ZN1aC1Ev\t[m.o]\n2 T _ZN1aC2Ev [m.o]\n3 T b\n4 T _Z\n5 T _Z1fv.cold [m]\n6 T _Z1av\n", options,
                "1 T a::a() [m.o]\n2 T a::a() [m.o]\n3 T b\n4 T _Z\n5 T f() [clone .cold] [m]\n6 T a()\n", "");
    assert_read("1 T _Z1av [m]\n", plain, "1 T _Z1av [m]\n", "");
}

/* Enough for several threads. */
TEST(demangles_many)
{
    struct sxt_buffer text, expected;
    sxt_buffer_init(&text, SIZE_MAX);
    sxt_buffer_init(&expected, SIZE_MAX);
    for (unsigned i = 1; i < 9000; i++) {
        sxt_buffer_print(&text, i / 2 % 10 == 7 ? "%x T n%04u\n" : "%x T _Z5n%04uv\n", i, i / 2);
        sxt_buffer_print(&expected, i / 2 % 10 == 7 ? "%x T n%04u\n" : "%x T n%04u()\n", i, i / 2);
    }
    sxt_buffer_u8(&expected, '\0');
    for (unsigned threads = 1; threads <= 3; threads++) {
        struct result result = read_bytes((const char *)text.data, text.size,
                                          (struct sxt_ksym_text_options){.demangle = true, .threads = threads});
        assert_int_equal(result.status, SXT_OK);
        assert_string_equal(result.symbols.data, expected.data);
        free_result(&result);
    }
    sxt_buffer_free(&text);
    sxt_buffer_free(&expected);
}

TEST(finds_modules_at_the_end_of_names)
{
    static const struct {
        const char *name;
        size_t bare;
    } cases[] = {
        {"name", 4},    {"name [m]", 4}, {"name [ext4]", 4}, {"f() [clone .cold]", 17},
        {"name []", 7}, {"name[m]", 7},  {" [m]", 4},        {"a [m]", 1},
        {"]", 1},       {"a [m] ", 6},   {"a [m] [n]", 5},   {"a [[m]", 6},
        {"a []m]", 6},  {"", 0},         {"operator[]", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *copy = strdup(cases[i].name);
        assert_int_equal(sxt_ksym_bare_size((sxt_string){copy, strlen(copy)}), cases[i].bare);
        free(copy);
    }
}
