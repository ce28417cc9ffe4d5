/*
 * test_query.c: the query language over a small size that is made here: parsing and its limits, tests, groups,
 * sums with aliases, and what no expression may do, however odd it is.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_count.h"
#include "size/query.h"
#include "support/test.h"

#define VIEW(text)                                                                                                     \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }

/* .text: f, then g and h for the same bytes, then a template; .bss: a buffer. */
static struct sxt_size_container container = {.name = VIEW("app")};
static struct sxt_size_segment segments[] = {
    {.section = VIEW(".text"), .letter = 't', .is_native = true, .first = 0, .count = 4},
    {.section = VIEW(".bss"), .letter = 'b', .is_native = true, .is_bss = true, .first = 4, .count = 1},
};
static struct sxt_size_path paths[] = {
    {VIEW("obj/a.o"), VIEW("dir/sub/a.c")},
    {VIEW("obj/b.o"), VIEW("")},
};
static sxt_string components[] = {VIEW(""), VIEW("Core")};
static struct sxt_size_group alias_groups[] = {{1, 2}};
#define NAME(text) .full_name = text, .full_name_size = sizeof(text) - 1
static struct sxt_size_model_symbol symbols[] = {
    {.address = 0x1000, .size = 100, NAME("f(int)"), .path = 0, .component = 1, .segment = 0},
    {.address = 0x1070, .size = 61, .padding = 1, NAME("ns::g()"), .path = 0, .segment = 0, .group = 1},
    {.address = 0x1070, .size = 61, .padding = 1, NAME("ns::h()"), .path = 1, .segment = 0, .group = 1, .flags = 128},
    {.address = 0x2000, .size = 4096, NAME("std::list<int>::sort()"), .path = 1, .segment = 0},
    {.address = 0x9000, .size = 5000, NAME("buffer"), .path = 0, .segment = 1},
};
static const struct sxt_size_info size = {
    .containers = &container,
    .container_count = 1,
    .segments = segments,
    .segment_count = 2,
    .paths = paths,
    .path_count = 2,
    .components = components,
    .component_count = 2,
    .symbols = symbols,
    .symbol_count = 5,
    .groups = alias_groups,
    .group_count = 1,
};
static const struct sxt_size_query_subject subject = {.size = &size};

static struct sxt_size_result ask(const char *text)
{
    struct sxt_size_query *query;
    struct sxt_size_result result;
    sxt_error error;
    if (sxt_size_query_parse(text, strlen(text), &query, &error) != SXT_OK)
        fail_msg("%s: %s", text, error.text);
    assert_int_equal(sxt_size_query_run(query, &subject, &result, &error), SXT_OK);
    sxt_size_query_free(&query);
    return result;
}

/* The numbers of the items that pass, as one text: "0134". */
static void assert_items(const char *text, const char *wanted)
{
    struct sxt_size_result result = ask(text);
    char found[8] = "";
    for (size_t i = 0; i < result.row_count; i++)
        found[result.rows[i].item] = 'x';
    char list[8] = "";
    for (size_t i = 0, at = 0; i < size.symbol_count; i++)
        if (found[i] != 0)
            list[at++] = (char)('0' + i);
    if (strcmp(list, wanted) != 0)
        fail_msg("%s: %s, not %s", text, list, wanted);
    sxt_size_result_clear(&result);
}

TEST(conditions_choose)
{
    assert_items("all", "01234");
    assert_items("section:t", "0123");
    assert_items("section:.bss", "4");
    assert_items("size>100", "34");
    assert_items("size>=100", "034");
    assert_items("pss<31", "12");
    assert_items("padding", "12");
    assert_items("path:dir", "014");
    assert_items("path:obj/b", "23");
    assert_items("source=''", "23");
    assert_items("component=Core", "0");
    assert_items("name=f", "0");
    assert_items("full='f(int)'", "0");
    assert_items("namespace=ns", "12");
    assert_items("is:template", "3");
    assert_items("flags:hot", "2");
    assert_items("aliases>1 and not flags:hot", "1");
    assert_items("size:61-100", "012");
    assert_items("container=app section~'^.b'", "4");
    assert_items("size>100 or aliases=2 section:t", "1234");
}

TEST(addresses_have_all_their_bits)
{
    assert_items("address:1000-2000", "012");
    assert_items("address:0x1070", "12");
    assert_items("address:0x10ab", "12");
    assert_items("address:0x10ac", "");
    assert_items("address>1070", "34");
    assert_items("address<0", "");
    assert_items("address>ffffffffffffffff", "");
    assert_items("address:0-0", "");
    symbols[3].address = (int64_t)0xffffffff81000001;
    assert_items("address=ffffffff81000001", "3");
    assert_items("address=ffffffff81000000", "");
    assert_items("address:ffffffff81000000-ffffffffffffffff", "3");
    symbols[3].address = 0x2000;
}

TEST(a_group_has_aliases_once_and_memory_only_alone)
{
    struct sxt_size_result result = ask("| group section | sort name");
    assert_int_equal(result.row_count, 2);
    assert_int_equal(result.rows[0].size, 5000);
    assert_int_equal(result.rows[1].size, 100 + 61 + 4096);
    assert_true(fabs(result.rows[1].pss - (100 + 61 + 4096)) < 1e-9);
    assert_int_equal(result.rows[1].padding, 1);
    assert_int_equal(result.rows[1].count, 4);
    assert_int_equal(result.total.size, 100 + 61 + 4096);
    sxt_size_result_clear(&result);

    result = ask("| group path | sort name");
    assert_int_equal(result.row_count, 2);
    assert_string_equal(sxt_size_row_label(&result, &result.rows[0], 0).data, "dir/sub/a.c");
    assert_int_equal(result.rows[0].size, 100 + 61);
    assert_true(fabs(result.rows[0].pss - (100 + 30.5)) < 1e-9);
    assert_int_equal(result.rows[0].count, 3);
    assert_int_equal(result.rows[1].size, 61 + 4096);
    assert_int_equal(result.total.size, 100 + 61 + 4096);
    sxt_size_result_clear(&result);
}

static void assert_label(const char *text, const char *wanted)
{
    struct sxt_size_result result = ask(text);
    assert_int_equal(result.row_count, 1);
    assert_string_equal(sxt_size_row_label(&result, &result.rows[0], 0).data, wanted);
    sxt_size_result_clear(&result);
}

TEST(labels)
{
    assert_label("name=f | group path:1", "dir");
    assert_label("name=f | group path:2", "dir/sub");
    assert_label("name=f | group path:9", "dir/sub/a.c");
    assert_label("name=f | group path:-1", "a.c");
    assert_label("name=f | group directory", "dir/sub");
    assert_label("name=f | group directory:1", "dir");
    assert_label("flags:hot | group source", "{no source}");
    assert_label("flags:hot | group source else none", "none");
    assert_label("flags:hot | group namespace", "ns");
    assert_label("flags:hot | group aliases", "0x1070 ns::g()");
    assert_label("flags:hot | group flags", "hot");
    assert_label("template | group name", "std::list<>::sort");
    assert_label("template | group name:1", "std");
    assert_label("template | group name:-1", "sort");
    assert_label("template | group template", "std::list<int>::sort");
    assert_label("template | group crate", "std");
}

TEST(errors_have_a_place)
{
    static const struct {
        const char *text;
        uint64_t offset;
        int status;
    } wrong[] = {
        {"size>1k and siez<2", 12, SXT_ERROR_USAGE},
        {"size>1k)", 7, SXT_ERROR_USAGE},
        {"section:t | group", 17, SXT_ERROR_USAGE},
        {"name~[", 5, SXT_ERROR_USAGE},
        {"name~a{1001}", 5, SXT_ERROR_LIMIT},
        {"name~(a{40}){40}", 5, SXT_ERROR_LIMIT},
        {"name~a{40}{40}", 5, SXT_ERROR_LIMIT},
        {"name~(a|b\\1)", 5, SXT_ERROR_USAGE},
        {"size>1e9", 5, SXT_ERROR_USAGE},
        {"size>inf", 5, SXT_ERROR_USAGE},
        {"size>1kk", 5, SXT_ERROR_USAGE},
        {"'name'", 0, SXT_ERROR_USAGE},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sxt_size_query *query;
        sxt_error error;
        int status = sxt_size_query_parse(wrong[i].text, strlen(wrong[i].text), &query, &error);
        if (status != wrong[i].status || error.offset != wrong[i].offset || query != NULL)
            fail_msg("%s: %d, %s", wrong[i].text, status, error.text);
    }
}

TEST(numbers)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},        {"12", 12},    {"-3", -3},     {"+3", 3},      {"4k", 4096},
                {"4K", 4096},    {"4kb", 4096}, {"4KiB", 4096}, {"1.5k", 1536}, {"2M", 2097152},
                {"1g", 1 << 30}, {"7b", 7},     {"0x10", 16},   {"-0xf", -15},  {"0.25", 0.25}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value;
        assert_true(sxt_byte_count_parse(good[i].text, strlen(good[i].text), &value));
        assert_true(value == good[i].value);
    }
    static const char *const bad[] = {
        "", "-", "k", "1kx", "1.", ".5", "1..2", "0x", "0xg", "nan", "1 k", "0x11112222333344445", "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value;
        assert_false(sxt_byte_count_parse(bad[i], strlen(bad[i]), &value));
    }
}

TEST(named_queries_are_good)
{
    for (const struct sxt_size_canned_query *one = sxt_size_canned_queries; one->name != NULL; one++) {
        char text[100];
        snprintf(text, sizeof text, "@%s | limit 3", one->name);
        struct sxt_size_result result = ask(text);
        assert_true(result.row_count <= 3);
        sxt_size_result_clear(&result);
    }
}

/* Pieces of queries in any order: most are refused, some run; nothing else may happen. */
TEST(random_expressions_do_no_harm)
{
    static const char *const pieces[] = {
        "size",   ">",         "1k",    " and ",    " or ", "not ",      "(",        ")",          "|", "group ",
        "path",   ":2",        "sort ", "limit ",   "name", "~",         "^a.*b",    "[[:alpha:]", "'", "\"",
        "@",      "templates", "is:",   "template", "\\1",  "{9}",       "(a|b)",    "*",          "?", " ",
        "where ", "count",     "=",     ":",        ",",    "section",   "!",        "0x",         "-", "else ",
        "drop",   "flags:",    "hot",   "\xff\xfe", "(?i)", "namespace", "padding ", "address:",
    };
    uint64_t seed = 12345;
    size_t good = 0;
    for (size_t round = 0; round < 60000; round++) {
        char text[400] = "";
        size_t at = 0;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        for (size_t count = 1 + (seed >> 40) % 14; count > 0; count--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            const char *piece = pieces[(seed >> 33) % (sizeof pieces / sizeof *pieces)];
            at += (size_t)snprintf(text + at, sizeof text - at, "%s", piece);
        }
        struct sxt_size_query *query;
        sxt_error error;
        int status = sxt_size_query_parse(text, at, &query, &error);
        assert_true((status == SXT_OK) == (query != NULL));
        if (status != SXT_OK) {
            assert_true(status == SXT_ERROR_USAGE || status == SXT_ERROR_LIMIT);
            assert_true(error.offset <= at);
            continue;
        }
        struct sxt_size_result result;
        status = sxt_size_query_run(query, &subject, &result, &error);
        assert_int_equal(status, SXT_OK);
        assert_true(result.row_count <= size.symbol_count);
        sxt_size_result_clear(&result);
        sxt_size_query_free(&query);
        good++;
    }
    assert_true(good > 100);
}

TEST(long_and_deep_queries_are_refused)
{
    struct sxt_size_query *query;
    sxt_error error;
    size_t room = 1 << 20;
    char *text = malloc(room);
    assert_non_null(text);
    memset(text, '(', room);
    assert_int_equal(sxt_size_query_parse(text, room, &query, &error), SXT_ERROR_LIMIT);
    assert_int_equal(sxt_size_query_parse(text, 60000, &query, &error), SXT_ERROR_LIMIT);
    memset(text, '!', room);
    assert_int_equal(sxt_size_query_parse(text, 60000, &query, &error), SXT_ERROR_LIMIT);
    for (size_t i = 0; i + 8 < 60000; i += 8)
        memcpy(text + i, "all and ", 8);
    assert_int_equal(sxt_size_query_parse(text, 60000 - 60000 % 8 - 5, &query, &error), SXT_ERROR_LIMIT);
    assert_int_equal(sxt_size_query_parse(text, 8 * 400 - 5, &query, &error), SXT_OK);
    sxt_size_query_free(&query);
    free(text);
}
