/* test_json_writer.c: the three layouts, keys of all kinds, and that what is written reads as what was meant. */
#include "base/json_writer.h"

#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "support/test.h"

static struct sxt_buffer buffer;

SET_UP()
{
    sxt_buffer_init(&buffer, 1 << 20);
}

TEAR_DOWN()
{
    sxt_buffer_free(&buffer);
}

static void assert_written(const char *expected)
{
    assert_int_equal(sxt_buffer_status(&buffer, NULL), SXT_OK);
    sxt_test_assert_text((sxt_string){(const char *)buffer.data, buffer.size}, expected);
}

static void write_sample(enum sxt_json_layout layout)
{
    struct sxt_json_writer json = sxt_json_writer_make(&buffer, layout);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_number(&json, "n", UINT64_MAX);
    sxt_json_write_begin(&json, "empty", '[');
    sxt_json_write_end(&json, ']');
    sxt_json_write_begin(&json, "list", '[');
    sxt_json_write_bool(&json, NULL, true);
    sxt_json_write_null(&json, NULL);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_key_number(&json, 7);
    sxt_json_write_address(&json, NULL, 0x401020);
    sxt_json_write_end(&json, '}');
    sxt_json_write_end(&json, ']');
    sxt_json_write_key(&json, sxt_string_of("a\"b"));
    sxt_json_write_hex(&json, NULL, "\x01\xab", 2);
    sxt_json_write_key_text(&json, sxt_string_of("\"\\u0041\""));
    sxt_json_write_text(&json, NULL, sxt_string_of("1.50"));
    sxt_json_write_end(&json, '}');
}

TEST(writes_compactly)
{
    write_sample(SXT_JSON_COMPACT);
    assert_written("{\"n\":18446744073709551615,\"empty\":[],\"list\":[true,null,{\"7\":\"0x401020\"}],"
                   "\"a\\\"b\":\"01ab\",\"\\u0041\":1.50}");
}

TEST(writes_with_spaces)
{
    write_sample(SXT_JSON_SPACED);
    assert_written("{\"n\": 18446744073709551615, \"empty\": [], \"list\": [true, null, {\"7\": \"0x401020\"}], "
                   "\"a\\\"b\": \"01ab\", \"\\u0041\": 1.50}");
}

TEST(writes_indented)
{
    write_sample(SXT_JSON_INDENTED);
    assert_written("{\n  \"n\": 18446744073709551615,\n  \"empty\": [],\n  \"list\": [\n    true,\n    null,\n    {\n"
                   "      \"7\": \"0x401020\"\n    }\n  ],\n  \"a\\\"b\": \"01ab\",\n  \"\\u0041\": 1.50\n}");
}

TEST(writes_trees_as_python_does)
{
    static const char text[] = "{\"z\":[1.50,-0,1E5,{}],\"b\":{\"y\":null,\"x\":\"\xc3\xa9\xf0\x9f\x98\x80\x7f\\t\"},"
                               "\"a\":[],\"ab\":true}";
    struct sxt_arena arena;
    struct sxt_json *value;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    assert_int_equal(sxt_json_parse(text, sizeof text - 1, (struct sxt_json_limits){8, 50}, &arena, &value, NULL),
                     SXT_OK);
    struct sxt_json_writer json = sxt_json_writer_make(&buffer, SXT_JSON_INDENTED);
    json.escapes = SXT_JSON_ESCAPES_ASCII;
    sxt_json_write_tree_sorted(&json, value);
    assert_written("{\n  \"a\": [],\n  \"ab\": true,\n  \"b\": {\n    \"x\": \"\\u00e9\\ud83d\\ude00\\u007f\\t\",\n"
                   "    \"y\": null\n  },\n  \"z\": [\n    1.50,\n    -0,\n    1E5,\n    {}\n  ]\n}");
    sxt_arena_free(&arena);
}

/* Every byte as a string, with every choice of escapes, is read as itself or, when it is not UTF-8, as U+FFFD. */
TEST(writes_strings_that_read_back)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[40];
        int size = snprintf(text, sizeof text, "sixteen bytes are%c plain \xc3\xa9", (char)byte);
        for (unsigned escapes = 0; escapes <= SXT_JSON_ESCAPES_NUMBERS_WITH_DELETE; escapes++) {
            if (escapes == SXT_JSON_ESCAPES_ASCII && byte >= 0x80)
                continue;
            struct sxt_json_writer json = sxt_json_writer_make(&buffer, SXT_JSON_COMPACT);
            json.escapes = (enum sxt_json_escapes)escapes;
            sxt_buffer_clear(&buffer);
            sxt_json_write_string(&json, NULL, (sxt_string){text, (size_t)size});
            struct sxt_arena arena;
            struct sxt_json_reader reader;
            sxt_string back;
            sxt_arena_init(&arena, 0, sxt_arena_separate_default);
            assert_int_equal(sxt_json_reader_init(&reader, "it", (const char *)buffer.data, buffer.size, &arena, NULL),
                             SXT_OK);
            assert_int_equal(sxt_json_read_string(&reader, "it", &back), SXT_OK);
            assert_int_equal(sxt_json_read_end(&reader), SXT_OK);
            if (byte < 0x80)
                assert_true(sxt_string_equal(back, (sxt_string){text, (size_t)size}));
            else
                assert_true(back.size == (size_t)size + 2 && memcmp(back.data + 17, "\xef\xbf\xbd", 3) == 0);
            sxt_arena_free(&arena);
        }
    }
}

TEST(leaves_a_full_buffer_alone)
{
    struct sxt_buffer small;
    sxt_buffer_init(&small, 10);
    struct sxt_json_writer json = sxt_json_writer_make(&small, SXT_JSON_INDENTED);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "key", sxt_string_of("a value that is too long"));
    sxt_json_write_hex(&json, "key", "abc", 3);
    sxt_json_write_end(&json, '}');
    assert_int_equal(sxt_buffer_status(&small, NULL), SXT_ERROR_LIMIT);
    assert_true(small.size <= 10);
    sxt_buffer_free(&small);
}
