/* test_stack_tree.c: stacks share their callers, and stacks that are shown alike have one id. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlyze/private.h"
#include "support/test.h"

static struct sxt_mlyze_metadata metadata;

static void read_text(const char *text)
{
    sxt_error error = {.text = ""};
    if (sxt_mlyze_metadata_read(text, strlen(text), false, &metadata, &error) != SXT_OK)
        fail_msg("%s: %s", text, error.text);
}

TEST(stacks_share_their_callers)
{
    read_text(
        "{\"stack_traces\": {\"0\": [{\"func_id\": 2}, {\"func_id\": 1}, {\"func_id\": 0}],"
        "\"1\": [{\"func_id\": 3}, {\"func_id\": 1}, {\"func_id\": 0}], \"2\": [{\"func_id\": 1}, {\"func_id\": 0}]}}");
    assert_int_equal(metadata.tree.count, 4);
    assert_int_equal(metadata.frame_count, 8);
    assert_int_equal(sxt_mlyze_node_at(&metadata, metadata.stacks[0].node)->parent, metadata.stacks[2].node);
    assert_int_equal(sxt_mlyze_node_at(&metadata, metadata.stacks[1].node)->parent, metadata.stacks[2].node);
    for (uint32_t i = 0; i < metadata.tree.count; i++)
        assert_true(metadata.tree.nodes[i].parent == SXT_MLYZE_NO_NODE || metadata.tree.nodes[i].parent < i);
    struct sxt_mlyze_path path = {0};
    assert_true(sxt_mlyze_find_path(&metadata, &metadata.stacks[1], &path));
    assert_int_equal(path.count, 3);
    assert_int_equal(sxt_mlyze_node_frame(&metadata, path.nodes[0])->function, 3);
    assert_int_equal(sxt_mlyze_node_frame(&metadata, path.nodes[2])->function, 0);
    sxt_mlyze_path_free(&path);
    sxt_mlyze_metadata_free(&metadata);
}

/* There are many nodes, so each is small: frames that several nodes have are kept once. */
TEST(nodes_share_their_frames)
{
    read_text("{\"stack_traces\": {\"0\": [{\"func_id\": 1, \"line\": 3}, {\"func_id\": 2, \"line\": 4}],"
              "\"1\": [{\"func_id\": 1, \"line\": 3}, {\"func_id\": 1, \"line\": 4}, {\"func_id\": 1, \"line\": 3}],"
              "\"2\": [{\"func_id\": 1, \"line\": 3, \"file_id\": 0}]}}");
    assert_int_equal(sizeof(struct sxt_mlyze_node), 8);
    assert_int_equal(metadata.tree.count, 6);
    assert_int_equal(metadata.tree.frame_count, 4);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[1], 0)->line, 3);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[1], 1)->line, 4);
    assert_ptr_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[1], 0),
                     sxt_mlyze_frame_at(&metadata, &metadata.stacks[1], 2));
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[0], 0)->file, SXT_MLYZE_NO_ID);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[2], 0)->file, 0);
    assert_null(metadata.tree.node_slots.list);
    assert_null(metadata.tree.frame_slots.list);
    sxt_mlyze_metadata_free(&metadata);
}

static void assert_same(const uint32_t *expected, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(sxt_mlyze_same_stack(&metadata, i), expected[i]);
    sxt_mlyze_metadata_free(&metadata);
}

TEST(equal_stacks_have_the_lowest_id)
{
    read_text("{\"stack_traces\": {\"4\": [{\"func_id\": 0, \"line\": 1}], \"1\": [{\"func_id\": 0, \"line\": 1}],"
              "\"2\": [{\"func_id\": 0, \"line\": 2}], \"3\": [{\"func_id\": 0, \"line\": 1}]}}");
    assert_same((const uint32_t[]){0, 1, 2, 1, 1, 5}, 6);
}

TEST(text_decides_what_is_equal)
{
    read_text("{\"functions\": {\"0\": \"f\", \"1\": \"g\", \"2\": \"f\", \"3\": \"func_9\", \"4\": \"\", \"5\": \"\"},"
              "\"files\": {\"0\": \"a.c\", \"1\": \"a.c\", \"2\": \"b.c\"}, \"stack_traces\": {"
              "\"0\": [{\"func_id\": 1, \"file_id\": 0, \"line\": 1}, {\"func_id\": 0, \"file_id\": 0}],"
              "\"1\": [{\"func_id\": 1, \"file_id\": 1, \"line\": 1}, {\"func_id\": 2, \"file_id\": 0}],"
              "\"2\": [{\"func_id\": 1, \"file_id\": 2, \"line\": 1}, {\"func_id\": 2, \"file_id\": 0}],"
              "\"3\": [{\"func_id\": 3}], \"4\": [{\"func_id\": 9}], \"5\": [{\"func_id\": 8}],"
              "\"6\": [{\"func_id\": 4}], \"7\": [{\"func_id\": 5}], \"8\": [{}], \"9\": [{}]}}");
    assert_same((const uint32_t[]){0, 0, 2, 3, 3, 5, 6, 6, 8, 8}, 10);
}

TEST(stacks_without_frames_are_all_different)
{
    read_text("{\"stack_traces\": {\"0\": [], \"1\": [], \"2\": [{}], \"3\": [{}]}}");
    assert_same((const uint32_t[]){0, 1, 2, 2}, 4);
}

TEST(equal_stacks_of_ids_that_are_far_apart)
{
    read_text(
        "{\"stack_traces\": {\"4294967295\": [{\"line\": 1}], \"5\": [{\"line\": 2}], \"2000000\": [{\"line\": 1}]}}");
    assert_int_equal(sxt_mlyze_same_stack(&metadata, 4294967295), 2000000);
    assert_int_equal(sxt_mlyze_same_stack(&metadata, 2000000), 2000000);
    assert_int_equal(sxt_mlyze_same_stack(&metadata, 5), 5);
    assert_int_equal(sxt_mlyze_same_stack(&metadata, 6), 6);
    sxt_mlyze_metadata_free(&metadata);
}

TEST(turned_stacks_share_their_callers_too)
{
    read_text("{\"stack_order\": \"root_first\", \"stack_traces\": {\"0\": [{\"line\": 1}, {\"line\": 2}],"
              "\"1\": [{\"line\": 1}, {\"line\": 3}], \"2\": [{\"line\": 1}, {\"line\": 2}]}}");
    assert_int_equal(metadata.tree.count, 3);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[1], 0)->line, 3);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[1], 1)->line, 1);
    assert_same((const uint32_t[]){0, 1, 0}, 3);
}

/* Each of the frames of a deep stack is found without a walk from the leaf. */
TEST(deep_stacks_are_not_slow)
{
    enum { FRAMES = 200000 };
    char *text = malloc(FRAMES * 16 + 100);
    assert_non_null(text);
    size_t size = (size_t)sprintf(text, "{\"stack_traces\": {\"7\": [{}], \"9\": [");
    for (unsigned i = 0; i < FRAMES; i++)
        size += (size_t)sprintf(text + size, "{\"line\":%u},", i);
    strcpy(text + size - 1, "]}}");
    read_text(text);
    for (uint32_t i = 0; i < FRAMES; i++)
        assert_int_equal(sxt_mlyze_frame_at(&metadata, &metadata.stacks[9], i)->line, i);
    sxt_mlyze_metadata_free(&metadata);
    free(text);
}
