/* test_json.c: what RFC 8259 allows, all of it and nothing else, within limits. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "support/test.h"

static struct sxt_arena arena;
static const struct sxt_json_limits usual = {16, 1000};

SET_UP()
{
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
}

TEAR_DOWN()
{
    sxt_arena_free(&arena);
}

/* Parses a copy that ends where its memory ends and is gone afterwards: the tree must not need the text. */
static int parse_bytes(const char *text, size_t size, struct sxt_json_limits limits, struct sxt_json **out,
                       sxt_error *error)
{
    char *copy = malloc(size + (size == 0));
    assert_non_null(copy);
    memcpy(copy, text, size);
    int status = sxt_json_parse(copy, size, limits, &arena, out, error);
    free(copy);
    return status;
}

static const struct sxt_json *parsed(const char *text)
{
    struct sxt_json *value;
    sxt_error error;
    if (parse_bytes(text, strlen(text), usual, &value, &error) != SXT_OK)
        fail_msg("%s: %s", text, error.text);
    assert_non_null(value);
    return value;
}

static void assert_refused(const char *text, size_t size, uint64_t offset)
{
    struct sxt_json *value = (struct sxt_json *)1;
    sxt_error error;
    int status = parse_bytes(text, size, usual, &value, &error);
    if (status != SXT_ERROR_FORMAT || error.offset != offset)
        fail_msg("%s: status %d, offset %llu instead of %llu", text, status, (unsigned long long)error.offset,
                 (unsigned long long)offset);
    assert_null(value);
}

static void assert_string(sxt_string value, const char *expected, size_t size)
{
    assert_int_equal(value.size, size);
    assert_memory_equal(value.data, expected, size);
}

TEST(reads_every_type)
{
    assert_int_equal(parsed("null")->type, SXT_JSON_NULL);
    const struct sxt_json *value = parsed(" \t\r\n{ \"a\" : [ true , false , null , \"x\" , -1.5 , { } , [ ] ] } \n");
    assert_int_equal(value->type, SXT_JSON_OBJECT);
    assert_int_equal(value->count, 1);
    const struct sxt_json *array = sxt_json_member(value, "a");
    assert_non_null(array);
    assert_string(array->key, "a", 1);
    assert_int_equal(array->type, SXT_JSON_ARRAY);
    assert_int_equal(array->count, 7);
    assert_null(array->next);

    const struct sxt_json *item = array->child;
    assert_int_equal(item->type, SXT_JSON_BOOL);
    assert_true(item->boolean);
    assert_null(item->key.data);
    item = item->next;
    assert_int_equal(item->type, SXT_JSON_BOOL);
    assert_false(item->boolean);
    item = item->next;
    assert_int_equal(item->type, SXT_JSON_NULL);
    item = item->next;
    assert_int_equal(item->type, SXT_JSON_STRING);
    assert_string(item->string, "x", 1);
    item = item->next;
    assert_int_equal(item->type, SXT_JSON_NUMBER);
    assert_true(item->number == -1.5);
    item = item->next;
    assert_int_equal(item->type, SXT_JSON_OBJECT);
    assert_int_equal(item->count, 0);
    assert_null(item->child);
    item = item->next;
    assert_int_equal(item->type, SXT_JSON_ARRAY);
    assert_int_equal(item->count, 0);
    assert_null(item->child);
    assert_null(item->next);
}

TEST(links_siblings_after_nested_values)
{
    const struct sxt_json *value = parsed("[[1,[2,[]],{\"a\":{\"b\":3}}],4]");
    assert_int_equal(value->count, 2);
    assert_int_equal(value->child->count, 3);
    assert_int_equal(value->child->child->unsigned_value, 1);
    assert_int_equal(value->child->child->next->count, 2);
    assert_int_equal(value->child->child->next->child->next->count, 0);
    const struct sxt_json *object = value->child->child->next->next;
    assert_int_equal(sxt_json_member(sxt_json_member(object, "a"), "b")->unsigned_value, 3);
    assert_null(object->next);
    assert_int_equal(value->child->next->unsigned_value, 4);
    assert_null(value->child->next->next);
    assert_null(value->next);
}

TEST(reads_integers_exactly_where_they_fit)
{
    static const struct {
        const char *text;
        bool is_unsigned, is_signed;
        uint64_t unsigned_value;
        int64_t signed_value;
    } cases[] = {
        {"0", true, true, 0, 0},
        {"-0", true, true, 0, 0},
        {"7", true, true, 7, 7},
        {"-7", false, true, 0, -7},
        {"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
        {"9223372036854775808", true, false, (uint64_t)INT64_MAX + 1, 0},
        {"-9223372036854775808", false, true, 0, INT64_MIN},
        {"-9223372036854775809", false, false, 0, 0},
        {"18446744073709551615", true, false, UINT64_MAX, 0},
        {"18446744073709551616", false, false, 0, 0},
        {"184467440737095516150", false, false, 0, 0},
        {"1.0", false, false, 0, 0},
        {"1e2", false, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct sxt_json *value = parsed(cases[i].text);
        assert_int_equal(value->type, SXT_JSON_NUMBER);
        assert_int_equal(value->is_unsigned, cases[i].is_unsigned);
        assert_int_equal(value->is_signed, cases[i].is_signed);
        assert_true(value->unsigned_value == cases[i].unsigned_value);
        assert_true(value->signed_value == cases[i].signed_value);
        assert_string(value->string, cases[i].text, strlen(cases[i].text));
        assert_true(value->number == strtod(cases[i].text, NULL));
    }
}

TEST(reads_doubles)
{
    assert_true(parsed("0.1")->number == 0.1);
    assert_true(parsed("-1.5e-3")->number == -1.5e-3);
    assert_true(parsed("1E+2")->number == 100);
    assert_true(parsed("1e-400")->number == 0);
    assert_true(parsed("1.7976931348623157e308")->number == 1.7976931348623157e308);
    assert_refused("1e309", 5, 0);
    assert_refused("[-1e999999999999999999999]", 26, 1);
}

TEST(reads_doubles_in_any_language)
{
    static const char *const languages[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "es_ES.UTF-8"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof languages / sizeof languages[0] && found == NULL; i++)
        found = setlocale(LC_NUMERIC, languages[i]);
    if (found == NULL)
        skip();
    double comma = strtod("1,5", NULL);
    double number = parsed("1.5")->number;
    setlocale(LC_NUMERIC, "C");
    assert_true(comma == 1.5);
    assert_true(number == 1.5);
}

TEST(refuses_malformed_numbers)
{
    static const struct {
        const char *text;
        uint64_t offset;
    } cases[] = {
        {"-", 1},    {"+1", 0},       {"01", 1},  {"-01", 2},  {".5", 0},    {"1.", 2},
        {"1.e5", 2}, {"1e", 2},       {"1e+", 3}, {"0x10", 1}, {"1f", 1},    {"NaN", 0},
        {"-Inf", 1}, {"Infinity", 0}, {"1 2", 2}, {"--1", 1},  {"1e5.5", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].offset);
}

TEST(refuses_broken_structure)
{
    static const struct {
        const char *text;
        uint64_t offset;
    } cases[] = {
        {"", 0},          {"   ", 3},
        {"[1,]", 3},      {"[,1]", 1},
        {"[1 2]", 3},     {"[1}", 2},
        {"{\"a\":1]", 6}, {"{\"a\":1,}", 7},
        {"{\"a\" 1}", 5}, {"{a:1}", 1},
        {"{1:2}", 1},     {"{\"a\":}", 5},
        {"{\"a\"}", 4},   {"]", 0},
        {"}", 0},         {"1]", 1},
        {"[]]", 2},       {"[] x", 3},
        {"nul", 0},       {"nulll", 4},
        {"True", 0},      {"'a'", 0},
        {"[1,,2]", 3},    {"// x", 0},
        {"[1]/**/", 3},   {"\xef\xbb\xbf{}", 0},
        {"{,}", 1},       {":", 0},
        {"[\f1]", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].offset);
    assert_refused("1\0", 2, 1);
}

TEST(decodes_escapes)
{
    const struct sxt_json *value = parsed("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00fC\\u20Ac\\ud83d\\uDE00\\u0000z\"");
    assert_string(value->string, "\"\\/\b\f\n\r\tA\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\0z", 20);
    assert_string(parsed("\"\\uffff\\ud7ff\\ue000\\udbff\\udfff\"")->string,
                  "\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", 13);
    assert_string(parsed("\"\xc3\xbc\x7f\"")->string, "\xc3\xbc\x7f", 3);
    assert_string(parsed("\"\"")->string, "", 0);
    assert_string(parsed("\"\\\\\"")->string, "\\", 1);
}

TEST(refuses_malformed_strings)
{
    static const struct {
        const char *text;
        uint64_t offset;
    } cases[] = {
        {"\"", 1},
        {"\"abc", 4},
        {"\"\\\"", 3},
        {"\"\\", 2},
        {"\"\\x41\"", 2},
        {"\"\\u12\"", 5},
        {"\"\\u12g4\"", 5},
        {"\"\\ud800\"", 3},
        {"\"\\udc00\"", 3},
        {"\"\\ud800x\"", 3},
        {"\"\\ud800\\n\"", 3},
        {"\"\\ud800\\u0041\"", 3},
        {"\"\\udc00\\ud800\"", 3},
        {"\"a\nb\"", 2},
        {"\"\t\"", 1},
        {"\"\\u 041\"", 3},
        {"\"\\u+041\"", 3},
        {"\"\\'\"", 2},
        {"\"\\ud800\\u\"", 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i].text, strlen(cases[i].text), cases[i].offset);
    assert_refused("\"a\0b\"", 5, 2);
    assert_refused("\"\\\0\"", 4, 2);
}

TEST(refuses_text_that_is_not_utf8)
{
    assert_refused("[\"a\xff\"]", 6, 3);
    assert_refused("\"\xc3\"", 3, 1);
    assert_refused("\"\xed\xa0\x80\"", 5, 1);
    assert_refused("\"\xc0\x80\"", 4, 1);
    assert_refused("1 \x80", 3, 2);
}

TEST(finds_the_last_of_several_members)
{
    const struct sxt_json *value = parsed("{\"a\":1,\"b\":2,\"a\":3,\"\":4,\"a\\u0000\":5}");
    assert_int_equal(value->count, 5);
    assert_int_equal(sxt_json_member(value, "a")->unsigned_value, 3);
    assert_int_equal(sxt_json_member(value, "b")->unsigned_value, 2);
    assert_int_equal(sxt_json_member(value, "")->unsigned_value, 4);
    assert_null(sxt_json_member(value, "c"));
    assert_null(sxt_json_member(value->child, "a"));
    assert_null(sxt_json_member(parsed("[1]"), "a"));
    assert_null(sxt_json_member(parsed("{}"), "a"));
    assert_null(sxt_json_member(NULL, "a"));
}

TEST(refuses_every_cut_document)
{
    static const char document[] =
        "{\"name\":\"a\\u00e9\\n\\ud83d\\ude00\xc3\xbc\",\"list\":[1,-2.5e+3,true,false,null,"
        "{\"x\":[[],{}]}],\"last\":18446744073709551615}";
    parsed(document);
    for (size_t size = 0; size < sizeof document - 1; size++) {
        struct sxt_json *value;
        sxt_error error;
        assert_int_equal(parse_bytes(document, size, usual, &value, &error), SXT_ERROR_FORMAT);
        assert_null(value);
        assert_true(error.offset <= size);
    }
}

TEST(survives_every_changed_byte)
{
    char document[] = "{\"n\":\"\\u00e9\\ud83d\\ude00\",\"l\":[1,-2.5e+3,true,null,{\"x\":[[],{}]}]}";
    size_t size = sizeof document - 1;
    for (size_t at = 0; at < size; at++) {
        char before = document[at];
        for (unsigned value = 0; value < 256; value++) {
            document[at] = (char)value;
            struct sxt_json *out;
            int status = parse_bytes(document, size, usual, &out, NULL);
            assert_true(status == SXT_OK || status == SXT_ERROR_FORMAT);
            assert_true((out != NULL) == (status == SXT_OK));
        }
        document[at] = before;
        sxt_arena_free(&arena);
    }
}

TEST(stops_at_the_depth_limit)
{
    struct sxt_json *value;
    sxt_error error;
    assert_int_equal(parse_bytes("[{\"a\":[]}]", 10, (struct sxt_json_limits){3, 10}, &value, &error), SXT_OK);
    assert_int_equal(parse_bytes("[{\"a\":[]}]", 10, (struct sxt_json_limits){2, 10}, &value, &error), SXT_ERROR_LIMIT);
    assert_int_equal(error.offset, 6);
    assert_int_equal(parse_bytes("[[1],[1],[[1]]]", 15, (struct sxt_json_limits){3, 10}, &value, &error), SXT_OK);
    assert_int_equal(parse_bytes("1", 1, (struct sxt_json_limits){0, 10}, &value, &error), SXT_OK);
    assert_int_equal(parse_bytes("[]", 2, (struct sxt_json_limits){0, 10}, &value, &error), SXT_ERROR_LIMIT);
}

TEST(does_not_fall_into_deep_nesting)
{
    const size_t levels = 1000000;
    char *text = malloc(2 * levels);
    assert_non_null(text);
    memset(text, '[', levels);
    memset(text + levels, ']', levels);
    struct sxt_json *value;
    assert_int_equal(sxt_json_parse(text, 2 * levels, usual, &arena, &value, NULL), SXT_ERROR_LIMIT);
    /* Even without a limit the stack is not what runs out. */
    struct sxt_json_limits none = {UINT32_MAX, SIZE_MAX};
    assert_int_equal(sxt_json_parse(text, levels, none, &arena, &value, NULL), SXT_ERROR_FORMAT);
    assert_int_equal(sxt_json_parse(text, 2 * levels, none, &arena, &value, NULL), SXT_OK);
    size_t depth = 0;
    for (; value != NULL; value = value->child)
        depth++;
    assert_int_equal(depth, levels);
    free(text);
}

TEST(stops_at_the_value_limit)
{
    struct sxt_json *value;
    sxt_error error;
    assert_int_equal(parse_bytes("[1,2,3]", 7, (struct sxt_json_limits){1, 4}, &value, &error), SXT_OK);
    assert_int_equal(parse_bytes("[1,2,3]", 7, (struct sxt_json_limits){1, 3}, &value, &error), SXT_ERROR_LIMIT);
    assert_int_equal(error.offset, 5);
    assert_null(value);
    assert_int_equal(parse_bytes("1", 1, (struct sxt_json_limits){1, 0}, &value, &error), SXT_ERROR_LIMIT);
}

TEST(stops_at_the_limit_of_the_arena)
{
    static const char document[] = "{\"key\":\"a string\",\"list\":[1,2.5,3]}";
    struct sxt_arena small;
    int status = SXT_ERROR_LIMIT;
    size_t limit = 1;
    for (; status != SXT_OK; limit++) {
        assert_true(limit < 10000);
        struct sxt_json *value;
        sxt_error error;
        sxt_arena_init(&small, limit, true);
        status = sxt_json_parse(document, strlen(document), usual, &small, &value, &error);
        assert_true(status == SXT_OK || status == SXT_ERROR_LIMIT);
        assert_true((value != NULL) == (status == SXT_OK));
        sxt_arena_free(&small);
    }
    assert_true(limit > 6 * sizeof(struct sxt_json));
}

TEST(reads_absurdly_long_numbers_in_no_time)
{
    const size_t size = 1000000;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, '9', size);
    struct sxt_json *value;
    assert_int_equal(sxt_json_parse(text, size, usual, &arena, &value, NULL), SXT_ERROR_FORMAT);
    text[1] = '.';
    assert_int_equal(sxt_json_parse(text, size, usual, &arena, &value, NULL), SXT_OK);
    assert_true(value->number == 10);
    assert_int_equal(value->string.size, size);
    free(text);
}
