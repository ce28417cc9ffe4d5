/* test_metadata.c: what is taken as metadata, what is refused and where, and how names are given. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlyze/mlyze.h"
#include "support/test.h"

static struct sxt_mlyze_metadata metadata;

static void read_text(const char *text)
{
    sxt_error error = {.text = ""};
    if (sxt_mlyze_metadata_read(text, strlen(text), false, &metadata, &error) != SXT_OK)
        fail_msg("%s: %s", text, error.text);
}

static void assert_refused(const char *text, int code, uint64_t offset)
{
    sxt_error error;
    assert_int_equal(sxt_mlyze_metadata_read(text, strlen(text), false, &metadata, &error), code);
    assert_int_equal(error.offset, offset);
    assert_int_equal(strncmp(error.text, "metadata: ", 10), 0);
}

TEST(empty)
{
    static const char *const texts[] = {"", "{}", " {\n} ", "{\"files\":{},\"functions\":{},\"stack_traces\":{}}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        read_text(texts[i]);
        assert_int_equal(metadata.file_count + metadata.function_count + metadata.stack_count, 0);
        assert_int_equal(metadata.root->count, 0);
        sxt_mlyze_metadata_free(&metadata);
    }
}

TEST(tables_have_gaps)
{
    char room[24];
    read_text("{\"stack_traces\": {\"3\": [{\"func_id\": 2, \"line\": 7, \"file_id\": 1}], \"1\": []},"
              "\"functions\": {\"2\": \"f\"}, \"files\": {\"1\": \"a.c\", \"0\": \"\"}}");
    assert_int_equal(metadata.stack_count, 4);
    assert_false(metadata.stacks[0].exists || metadata.stacks[2].exists);
    assert_true(metadata.stacks[1].exists && metadata.stacks[3].exists);
    assert_int_equal(metadata.stacks[1].count, 0);
    const struct sxt_mlyze_frame *frame = sxt_mlyze_frame_at(&metadata, &metadata.stacks[3], 0);
    assert_int_equal(frame->line, 7);
    sxt_test_assert_text(sxt_mlyze_function(&metadata, frame->function, room), "f");
    sxt_test_assert_text(sxt_mlyze_file(&metadata, frame->file, room), "a.c");
    sxt_test_assert_text(sxt_mlyze_file(&metadata, 0, room), "");
    sxt_test_assert_text(sxt_mlyze_function(&metadata, 0, room), "func_0");
    sxt_test_assert_text(sxt_mlyze_function(&metadata, 4000000000, room), "func_4000000000");
    sxt_mlyze_metadata_free(&metadata);
}

TEST(frames_may_lack_anything)
{
    read_text("{\"stack_traces\": {\"0\": [{}, {\"line\": null, \"x\": [{}]}, {\"line\": 4294967295}]}}");
    assert_int_equal(metadata.stacks[0].count, 3);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[0], 0)->file, SXT_MLYZE_NO_ID);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[0], 1)->function, SXT_MLYZE_NO_ID);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[0], 1)->line, 0);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[0], 2)->line, UINT32_MAX);
    sxt_mlyze_metadata_free(&metadata);
}

TEST(strings)
{
    read_text("{\"fi\\u006ces\": {\"0\": \"a\\n\\\"\\u00e9\", \"1\": \"\\ud83d\\ude00\", \"2\": \"\\udc80x\", "
              "\"3\": \"\\ud800\\u0041\", \"4\": \"\\\\udc80\"}}");
    sxt_test_assert_text(metadata.files[0], "a\n\"\xc3\xa9");
    sxt_test_assert_text(metadata.files[1], "\xf0\x9f\x98\x80");
    sxt_test_assert_text(metadata.files[2], "\xef\xbf\xbdx");
    sxt_test_assert_text(metadata.files[3], "\xef\xbf\xbd"
                                            "A");
    sxt_test_assert_text(metadata.files[4], "\\udc80");
    sxt_mlyze_metadata_free(&metadata);
}

TEST(the_rest_is_kept)
{
    read_text("{\"threads\": {\"0\": \"main\\udc80\"}, \"files\": {}, \"order\": \"leaf_first\"}");
    const struct sxt_json *threads = sxt_json_member(metadata.root, "threads");
    assert_non_null(threads);
    sxt_test_assert_text(sxt_json_member(threads, "0")->string, "main\xef\xbf\xbd");
    sxt_test_assert_text(sxt_json_member(metadata.root, "order")->string, "leaf_first");
    assert_null(sxt_json_member(metadata.root, "files"));
    assert_int_equal(metadata.root->count, 2);
    sxt_mlyze_metadata_free(&metadata);
}

TEST(refused)
{
    static const struct {
        const char *text;
        uint64_t offset;
    } cases[] = {
        {" ", 1},
        {"null", 0},
        {"{\"stack_traces\": {\"0\": [{\"line\": 4294967296}]}}", 33},
        {"{\"stack_traces\": {\"0\": [{\"line\": 99999999999999999999}]}}", 33},
        {"{", 1},
        {"{}}", 2},
        {"{\"files\" {}}", 9},
        {"{\"files\": []}", 10},
        {"{\"files\": {\"0\": \"a\" \"1\": \"b\"}}", 20},
        {"{\"files\": {\"0\": \"a\",}}", 20},
        {"{\"files\": {\"\": \"a\"}}", 11},
        {"{\"files\": {\"01\": \"a\"}}", 11},
        {"{\"files\": {\"x\": \"a\"}}", 11},
        {"{\"files\": {\"4294967296\": \"a\"}}", 11},
        {"{\"files\": {\"4000000000\": \"a\", \"4000000000\": \"b\"}}", 30},
        {"{\"files\": {\"1\": \"a\", \"2\": \"b\", \"1\": \"a\"}}", 31},
        {"{\"stack_traces\": {\"1\": [], \"1\": []}}", 27},
        {"{\"stack_traces\": {\"1\": {}}}", 23},
        {"{\"stack_traces\": {\"1\": [[]]}}", 24},
        {"{\"stack_traces\": {\"1\": [{\"line\": 1, \"line\": 1}]}}", 36},
        {"{\"stack_traces\": {\"1\": [{\"line\": \"1\"}]}}", 33},
        {"{\"stack_traces\": {\"1\": [{\"line\": 1e3}]}}", 33},
        {"{\"stack_traces\": {\"1\": [{\"line\": 01}]}}", 34},
        {"{\"x\": [1, 2,]}", 12},
        {"{\"x\": {\"y\"}}", 10},
        {"{\"x\": tru}", 6},
        {"{\"x\": -}", 7},
        {"{\"x\": 1.}", 8},
        {"{\"x\": \"\\u12g4\"}", 11},
        {"{\"x\": \"a\tb\"}", 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, SXT_ERROR_FORMAT, cases[i].offset);
}

TEST(ids_may_be_far_apart)
{
    char room[24];
    read_text("{\"stack_traces\": {\"4294967295\": [], \"5\": [{\"func_id\": 4000000000}], \"2000000\": []},"
              "\"functions\": {\"4000000000\": \"f\", \"1\": \"g\"}}");
    assert_int_equal(metadata.stack_count, 3);
    assert_int_equal(metadata.function_count, 2);
    assert_null(sxt_mlyze_find_stack(&metadata, 4));
    assert_null(sxt_mlyze_find_stack(&metadata, 4294967294));
    assert_non_null(sxt_mlyze_find_stack(&metadata, 4294967295));
    assert_non_null(sxt_mlyze_find_stack(&metadata, 2000000));
    const struct sxt_mlyze_stack *stack = sxt_mlyze_find_stack(&metadata, 5);
    assert_non_null(stack);
    sxt_test_assert_text(sxt_mlyze_function(&metadata, sxt_mlyze_frame_at(&metadata, stack, 0)->function, room), "f");
    sxt_test_assert_text(sxt_mlyze_function(&metadata, 1, room), "g");
    sxt_test_assert_text(sxt_mlyze_function(&metadata, 2, room), "func_2");
    sxt_mlyze_metadata_free(&metadata);
}

TEST(stacks_may_begin_with_the_root)
{
    static const char text[] = "{\"stack_traces\": {\"0\": [{\"line\": 1}, {\"line\": 2}, {\"line\": 3}], \"1\": [], "
                               "\"2\": [{\"line\": 4}]}, \"stack_order\": \"root_first\"}";
    read_text(text);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[0], 0)->line, 3);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[0], 2)->line, 1);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[2], 0)->line, 4);
    assert_true(metadata.is_root_first);
    sxt_mlyze_metadata_free(&metadata);
    assert_int_equal(sxt_mlyze_metadata_read(text, sizeof text - 30, true, &metadata, NULL), SXT_ERROR_FORMAT);
    static const char other[] = "{\"stack_traces\": {\"0\": [{\"line\": 1}, {\"line\": 2}]}}";
    assert_int_equal(sxt_mlyze_metadata_read(other, sizeof other - 1, true, &metadata, NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[0], 0)->line, 2);
    sxt_mlyze_metadata_free(&metadata);
}

TEST(depth)
{
    enum { DEPTH = 64 };
    char text[2 * DEPTH + 40];
    size_t size = 0;
    size += (size_t)sprintf(text, "{\"x\": ");
    for (unsigned i = 0; i < DEPTH; i++)
        text[size++] = '[';
    for (unsigned i = 0; i < DEPTH; i++)
        text[size++] = ']';
    text[size++] = '}';
    text[size] = 0;
    read_text(text);
    sxt_mlyze_metadata_free(&metadata);
    memmove(text + 7, text + 6, size - 5);
    text[6] = '[';
    assert_refused(text, SXT_ERROR_LIMIT, 6 + DEPTH);
}

/* As many frames as a large program has: time and memory in proportion. */
TEST(many_frames)
{
    enum { FRAMES = 300000 };
    static const char frame[] = "{\"file_id\": 0, \"line\": 42, \"func_id\": 0},";
    char *text = malloc(FRAMES * sizeof frame + 100);
    assert_non_null(text);
    size_t size = (size_t)sprintf(text, "{\"stack_traces\": {\"0\": [");
    for (unsigned i = 0; i < FRAMES; i++, size += sizeof frame - 1)
        memcpy(text + size, frame, sizeof frame);
    strcpy(text + size - 1, "]}}");
    double start = sxt_test_seconds();
    read_text(text);
    assert_true(sxt_test_seconds() - start < 2);
    assert_int_equal(metadata.frame_count, FRAMES);
    assert_true(metadata.arena.used < 10000);
    sxt_mlyze_metadata_free(&metadata);
    free(text);
}
