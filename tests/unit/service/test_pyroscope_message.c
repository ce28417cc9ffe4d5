/* test_pyroscope_message.c: requests of Pyroscope's clients, in protobuf and JSON, whole and damaged. */
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "service/pyroscope_message.h"
#include "support/test.h"

static struct sxt_arena arena;
static struct sxt_pyroscope_message message;
static sxt_error error;

/* From a copy of exactly this size, so that a sanitizer sees reads beyond it. */
static int read_bytes(const void *data, size_t size, bool is_json, bool has_file)
{
    static uint8_t *copy;
    free(copy);
    copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, data, size);
    sxt_arena_free(&arena);
    sxt_arena_init(&arena, (size_t)1 << 20, sxt_arena_separate_default);
    int status = sxt_pyroscope_read(copy, size, is_json, has_file, &arena, &message, &error);
    if (status == SXT_OK && message.build_id.size > 0)
        assert_true(memchr(message.build_id.data, 0, message.build_id.size) != &error); /* all of it can be read */
    return status;
}

static int read_json(const char *text, bool has_file)
{
    return read_bytes(text, strlen(text), true, has_file);
}

/* file {gnu_build_id "abcd", otel_file_id "ff", name "program", type 2}, and a field that is not known */
static const uint8_t file[] = "\x0a\x15\x0a\x04"
                              "abcd"
                              "\x1a\x02"
                              "ff"
                              "\x22\x07"
                              "program"
                              "\x28\x02"
                              "\x78\x05";
static const uint8_t id_only[] = "\x0a\x04"
                                 "abcd"
                                 "\x12\x01"
                                 "x";

TEST(reads_protobuf)
{
    assert_int_equal(read_bytes(file, sizeof file - 1, false, true), SXT_OK);
    assert_true(message.has_file && sxt_string_is(message.build_id, "abcd"));
    assert_int_equal(message.type, SXT_PYROSCOPE_NO_TEXT);
    assert_int_equal(read_bytes(id_only, sizeof id_only - 1, false, false), SXT_OK);
    assert_true(!message.has_file && sxt_string_is(message.build_id, "abcd"));
    assert_int_equal(read_bytes("", 0, false, true), SXT_OK);
    assert_true(!message.has_file && message.build_id.size == 0);
}

TEST(reads_json)
{
    assert_int_equal(read_json("{\"file\":{\"gnuBuildId\":\"ab\\u0063d\",\"type\":\"TYPE_EXECUTABLE_FULL\"}}", true),
                     SXT_OK);
    assert_true(message.has_file && sxt_string_is(message.build_id, "abcd"));
    assert_int_equal(message.type, SXT_PYROSCOPE_FULL);
    assert_int_equal(read_json(" {\"other\":[{}],\"file\":{\"gnu_build_id\":\"ef\",\"type\":2,\"x\":null}} ", true),
                     SXT_OK);
    assert_true(sxt_string_is(message.build_id, "ef"));
    assert_int_equal(message.type, SXT_PYROSCOPE_NO_TEXT);
    assert_int_equal(read_json("{\"gnuBuildId\":\"ef\",\"file\":{}}", false), SXT_OK);
    assert_true(sxt_string_is(message.build_id, "ef"));
    assert_int_equal(read_json("{\"file\":null,\"gnuBuildId\":\"ef\"}", true), SXT_OK);
    assert_true(!message.has_file && message.build_id.size == 0);
    assert_int_equal(read_json("{\"file\":{\"gnuBuildId\":null,\"type\":null}}", true), SXT_OK);
    assert_true(message.has_file && message.build_id.size == 0 && message.type == 0);
}

TEST(refuses_what_is_not_a_request)
{
    static const char *const wrong[] = {"",
                                        "x",
                                        "[]",
                                        "{",
                                        "{\"file\":[]}",
                                        "{\"file\":{\"gnuBuildId\":5}}",
                                        "{}x",
                                        "{\"file\":{\"type\":\"TYPE_OTHER\"}}",
                                        "{\"file\":{\"type\":-1}}",
                                        "{\"file\":{\"type\":{}}}",
                                        "{\"file\":{\"gnuBuildId\":\"\\ud800\"}}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (read_json(wrong[i], true) != SXT_ERROR_FORMAT)
            fail_msg("%s", wrong[i]);
    static const char *const damaged[] = {"\xff",
                                          "\x0a",
                                          ("\x0a\x05"
                                           "abcd"),
                                          "\x0a\x02\x0a\x05",
                                          "\x0b",
                                          "\x07"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        assert_int_equal(read_bytes(damaged[i], strlen(damaged[i]), false, true), SXT_ERROR_FORMAT);
}

/* Every truncation and every changed byte is read or refused. */
TEST(survives_damage)
{
    static const char text[] =
        "{\"file\":{\"gnuBuildId\":\"abcd\",\"name\":\"\\u00e4\",\"type\":\"TYPE_EXECUTABLE_FULL\"}}";
    const struct {
        const void *data;
        size_t size;
        bool is_json;
    } inputs[] = {{file, sizeof file - 1, false}, {text, sizeof text - 1, true}};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < inputs[k].size; i++) {
            uint8_t copy[256];
            memcpy(copy, inputs[k].data, inputs[k].size);
            read_bytes(copy, i, inputs[k].is_json, true);
            for (unsigned change = 1; change < 256; change++) {
                copy[i] = (uint8_t)(((const uint8_t *)inputs[k].data)[i] ^ change);
                int status = read_bytes(copy, inputs[k].size, inputs[k].is_json, true);
                assert_true(status == SXT_OK || status == SXT_ERROR_FORMAT);
            }
        }
}
