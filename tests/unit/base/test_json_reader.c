/* test_json_reader.c: pulling values out of JSON text, what is a view and what a copy, and where hostile text stops. */
#include "base/json_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "support/test.h"

static struct sxt_arena arena;
static sxt_error error;

SET_UP()
{
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
}

TEAR_DOWN()
{
    sxt_arena_free(&arena);
}

static struct sxt_json_reader open_text(const char *text)
{
    struct sxt_json_reader reader;
    error = (sxt_error){.code = SXT_OK};
    assert_int_equal(sxt_json_reader_init(&reader, "text", text, strlen(text), &arena, &error), SXT_OK);
    return reader;
}

static void assert_failed(int status, uint64_t offset, const char *words)
{
    assert_int_equal(status, SXT_ERROR_FORMAT);
    assert_int_equal(error.offset, offset);
    if (strstr(error.text, words) == NULL || strncmp(error.text, "text: ", 6) != 0)
        fail_msg("'%s' does not contain '%s'", error.text, words);
}

/* "key=value|key=value|", with the values as they are in the text. */
static int list_members(struct sxt_json_reader *reader, char close, char *out)
{
    bool more;
    int status;
    *out = 0;
    while ((status = sxt_json_read_more(reader, close, &more)) == SXT_OK && more) {
        sxt_string key = {"", 0}, value;
        if (close == '}' && (status = sxt_json_read_key(reader, &key, NULL)) != SXT_OK)
            return status;
        if ((status = sxt_json_read_skip(reader, &value)) != SXT_OK)
            return status;
        strncat(strncat(out, key.data, key.size), "=", 1);
        strncat(strncat(out, value.data, value.size), "|", 1);
    }
    return status;
}

TEST(gives_the_text_of_members_and_elements)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"{}", ""},
        {" [ ]", ""},
        {"[1, -2.5e3 ,null,\"a,]\\\"\"]", "=1|=-2.5e3|=null|=\"a,]\\\"\"|"},
        {"\n{ \"a\" : 1 , \"b\\\"}\":[{\"}\":[]},2]\n}", "a=1|b\"}=[{\"}\":[]},2]|"},
        {"[[],{},[[[]]],true,false]", "=[]|={}|=[[[]]]|=true|=false|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_json_reader reader = open_text(cases[i].text);
        char found[200];
        bool is_object = sxt_json_read_peek(&reader) == '{';
        assert_int_equal(sxt_json_read_begin(&reader, is_object ? '{' : '[', "it"), SXT_OK);
        assert_int_equal(list_members(&reader, is_object ? '}' : ']', found), SXT_OK);
        assert_string_equal(found, cases[i].expected);
        assert_int_equal(sxt_json_read_end(&reader), SXT_OK);
    }
}

TEST(reads_one_container_inside_another)
{
    struct sxt_json_reader reader = open_text("{\"a\": [[], [7]], \"b\": {}}");
    bool more;
    sxt_string key, quoted;
    uint64_t number = 0;
    assert_int_equal(sxt_json_read_begin(&reader, '{', "it"), SXT_OK);
    assert_true(sxt_json_read_more(&reader, '}', &more) == SXT_OK && more);
    assert_int_equal(sxt_json_read_key(&reader, &key, &quoted), SXT_OK);
    assert_true(sxt_string_is(key, "a") && sxt_string_is(quoted, "\"a\""));
    assert_int_equal(sxt_json_read_begin(&reader, '[', "a"), SXT_OK);
    assert_true(sxt_json_read_more(&reader, ']', &more) == SXT_OK && more);
    assert_int_equal(sxt_json_read_begin(&reader, '[', "x"), SXT_OK);
    assert_true(sxt_json_read_more(&reader, ']', &more) == SXT_OK && !more);
    assert_true(sxt_json_read_more(&reader, ']', &more) == SXT_OK && more);
    assert_int_equal(sxt_json_read_begin(&reader, '[', "x"), SXT_OK);
    assert_true(sxt_json_read_more(&reader, ']', &more) == SXT_OK && more);
    assert_int_equal(sxt_json_read_unsigned(&reader, "x", &number), SXT_OK);
    assert_int_equal(number, 7);
    assert_true(sxt_json_read_more(&reader, ']', &more) == SXT_OK && !more);
    assert_true(sxt_json_read_more(&reader, ']', &more) == SXT_OK && !more);
    assert_true(sxt_json_read_more(&reader, '}', &more) == SXT_OK && more);
    assert_int_equal(sxt_json_read_key(&reader, &key, NULL), SXT_OK);
    assert_int_equal(sxt_json_read_skip(&reader, NULL), SXT_OK);
    assert_true(sxt_json_read_more(&reader, '}', &more) == SXT_OK && !more);
    assert_int_equal(sxt_json_read_end(&reader), SXT_OK);
}

TEST(copies_only_strings_with_escapes)
{
    struct sxt_json_reader reader = open_text("\"plain\" \"a\\u00e9\\n\"");
    sxt_string text;
    assert_int_equal(sxt_json_read_string(&reader, "it", &text), SXT_OK);
    assert_ptr_equal(text.data, reader.text + 1);
    assert_int_equal(arena.used, 0);
    assert_int_equal(sxt_json_read_string(&reader, "it", &text), SXT_OK);
    assert_true(sxt_string_is(text, "a\xc3\xa9\n"));
    assert_true(arena.used > 0);
}

TEST(replaces_or_refuses_half_surrogate_pairs)
{
    static const struct {
        const char *text, *replaced;
        uint64_t offset;
    } cases[] = {
        {"\"\\udc80x\"", "\xef\xbf\xbdx", 3},
        {"\"\\ud800\\u0041\"",
         "\xef\xbf\xbd"
         "A",
         3},
        {"\"\\ud800\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80", 3},
        {"\"\\ud800\\\\udc00\"", "\xef\xbf\xbd\\udc00", 3},
        {"\"\\ud83d\\ude00\\ud800\"", "\xf0\x9f\x98\x80\xef\xbf\xbd", 15},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_json_reader reader = open_text(cases[i].text), again = reader;
        sxt_string text;
        assert_failed(sxt_json_read_string(&reader, "it", &text), cases[i].offset, "half of a surrogate pair");
        again.replace_surrogates = true;
        assert_int_equal(sxt_json_read_string(&again, "it", &text), SXT_OK);
        assert_true(sxt_string_is(text, cases[i].replaced));
    }
}

TEST(reads_integers_up_to_the_largest)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"0", 0},
        {"18446744073709551615", UINT64_MAX},
        {"18446744073709551616", UINT64_MAX},
        {"99999999999999999999999999999999999999999999", UINT64_MAX},
        {"null", 42},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_json_reader reader = open_text(cases[i].text);
        uint64_t value = 42;
        assert_int_equal(sxt_json_read_unsigned(&reader, "n", &value), SXT_OK);
        assert_true(value == cases[i].value);
        assert_int_equal(sxt_json_read_end(&reader), SXT_OK);
    }
    uint64_t value;
    struct sxt_json_reader reader = open_text(" -1");
    assert_failed(sxt_json_read_unsigned(&reader, "n", &value), 1, "n is not a number of 0 or more");
    reader = open_text(" 1.5");
    assert_failed(sxt_json_read_unsigned(&reader, "n", &value), 1, "n is not an integer");
}

TEST(says_what_is_of_another_type)
{
    struct sxt_json_reader reader = open_text(" []");
    sxt_string text;
    assert_failed(sxt_json_read_begin(&reader, '{', "the answer"), 1, "the answer is not an object");
    assert_failed(sxt_json_read_string(&reader, "the name", &text), 1, "the name is not a string");
    assert_failed(sxt_json_read_key(&reader, &text, NULL), 1, "expected a key in quotes");
    reader = open_text("[] x");
    assert_int_equal(sxt_json_read_skip(&reader, NULL), SXT_OK);
    assert_failed(sxt_json_read_end(&reader), 3, "unexpected text after the value");
}

TEST(refuses_hostile_text)
{
    static const struct {
        const char *text;
        uint64_t offset;
    } cases[] = {
        {"", 0},          {"\"", 1},       {"\"\\", 2},      {"\"\\u", 3},       {"\"\\u12", 5}, {"\"\\u12g4\"", 5},
        {"\"\\x41\"", 2}, {"\"a\nb\"", 2}, {"\"\\ud8", 5},   {"[1,]", 3},        {"[,]", 1},     {"{\"a\"}", 4},
        {"{\"a\":}", 5},  {"{a:1}", 1},    {"01", 1},        {"-", 1},           {"1.", 2},      {"1e+", 3},
        {"tru", 0},       {"[1}", 2},      {"{\"a\":1]", 6}, {"[\"\\u00\"]", 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_json_reader reader = open_text(cases[i].text);
        int status = sxt_json_read_skip(&reader, NULL);
        if (status == SXT_OK)
            status = sxt_json_read_end(&reader);
        assert_failed(status, cases[i].offset, "");
    }
    struct sxt_json_reader reader;
    assert_failed(sxt_json_reader_init(&reader, "text", "\"\xc0\x80\"", 4, &arena, &error), 1, "not UTF-8");
}

TEST(stops_at_deep_nesting)
{
    char text[2 * SXT_JSON_SKIP_DEPTH + 3] = "";
    memset(text, '[', SXT_JSON_SKIP_DEPTH);
    memset(text + SXT_JSON_SKIP_DEPTH, ']', SXT_JSON_SKIP_DEPTH);
    struct sxt_json_reader reader = open_text(text);
    assert_int_equal(sxt_json_read_skip(&reader, NULL), SXT_OK);
    memset(text, '[', SXT_JSON_SKIP_DEPTH + 1);
    reader = open_text(text);
    assert_int_equal(sxt_json_read_skip(&reader, NULL), SXT_ERROR_LIMIT);
    assert_int_equal(error.offset, SXT_JSON_SKIP_DEPTH);
}

/* Each prefix in memory of its own, so that a sanitizer sees a step too far. */
TEST(refuses_text_that_is_cut_off)
{
    static const char whole[] = "{\"a\": [1, {\"b\\\\\": \"c\\\"\"}, []], \"d\": -1.5, \"e\": \"\\ud83d\\ude00\"}";
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        char *part = malloc(size + (size == 0));
        assert_non_null(part);
        memcpy(part, whole, size);
        struct sxt_json_reader reader, again;
        char found[400];
        assert_int_equal(sxt_json_reader_init(&reader, "text", part, size, &arena, &error), SXT_OK);
        again = reader;
        assert_int_equal(sxt_json_read_skip(&reader, NULL), SXT_ERROR_FORMAT);
        if (sxt_json_read_begin(&again, '{', "it") == SXT_OK)
            assert_int_equal(list_members(&again, '}', found), SXT_ERROR_FORMAT);
        assert_true(error.offset <= size);
        free(part);
    }
}

TEST(names_the_limit_of_the_arena)
{
    struct sxt_arena small;
    sxt_arena_init(&small, 8, true);
    struct sxt_json_reader reader;
    static const char text[] = "\"\\n a string that does not fit\"";
    sxt_string out;
    assert_int_equal(sxt_json_reader_init(&reader, "text", text, sizeof text - 1, &small, &error), SXT_OK);
    assert_int_equal(sxt_json_read_string(&reader, "it", &out), SXT_ERROR_LIMIT);
    sxt_arena_free(&small);
}
