/* Tests of catalog/resume.c, and of which push answers if a binary has several FileIDs. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/string.h"

SET_UP()
{
    sxt_test_open_catalog();
}

TEAR_DOWN()
{
    sxt_test_close_catalog();
}

/* What is there of an upload of ranges for FILE_A: "complete", or the numbers of its parts. */
static const char *there(const char *generation, uint32_t parts)
{
    static char text[64];
    struct sxt_catalog_progress progress;
    const struct sxt_catalog_part upload = {
        .tenant = "", .file_id = sxt_test_file_id(FILE_A), .parts = parts, .generation = sxt_string_of(generation)};
    assert_int_equal(sxt_catalog_find_upload(sxt_test_it.catalog, &upload, &progress, &sxt_test_it.error), SXT_OK);
    size_t size = (size_t)snprintf(text, sizeof text, "%s", progress.is_complete ? "complete" : "");
    for (size_t i = 0; i < progress.count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%u", i > 0 ? " " : "", progress.parts[i]);
    free(progress.parts);
    return text;
}

static void push(const char *generation, uint32_t part, uint32_t parts)
{
    sxt_test_push(&(struct sxt_test_part){
        .generation = generation, .part = part, .parts = parts, .functions = {{0x1000 + 16 * part, "f", 1}}});
}

TEST(parts_that_are_there)
{
    assert_string_equal(there("g", 4), "");
    push("g", 2, 4);
    push("g", 0, 4);
    push("g", 2, 4);
    assert_string_equal(there("g", 4), "0 2");
    assert_string_equal(there("g", 3), "");
    assert_string_equal(there("h", 4), "");
    push("g", 1, 4);
    push("g", 3, 4);
    assert_string_equal(there("g", 4), "complete");
}

TEST(a_set_that_another_replaced_is_not_there)
{
    push("g", 0, 1);
    assert_string_equal(there("g", 1), "complete");
    push("h", 0, 1);
    assert_string_equal(there("g", 1), "");
    assert_string_equal(there("h", 1), "complete");
    push("g", 0, 1);
    assert_string_equal(there("g", 1), "complete");
}

TEST(a_complete_set_that_nobody_merged_counts)
{
    bool is_complete;
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(
            sxt_test_add_part(sxt_test_it.catalog,
                              &(struct sxt_test_part){
                                  .generation = "g", .part = i, .parts = 2, .functions = {{0x1000 + 16 * i, "f", 1}}},
                              &is_complete),
            SXT_OK);
    assert_true(is_complete);
    assert_string_equal(there("g", 2), "complete");
}

TEST(a_set_that_was_given_up_does_not_count)
{
    push("g", 0, 2);
    sxt_test_it.catalog->options.stale_seconds = 3600;
    assert_string_equal(there("g", 2), "0");
    sxt_test_it.catalog->options.stale_seconds = 0;
    assert_string_equal(there("g", 2), "");
}

TEST(the_better_of_two_file_ids_answers)
{
    sxt_test_push(&(struct sxt_test_part){.build_id = BUILD, .functions = {{0x1000, "whole", 7}}});
    sxt_test_push(
        &(struct sxt_test_part){.file_id = FILE_B, .build_id = BUILD, .functions = {{0x1000, "stripped", 0}}});
    const struct sxt_catalog_id ids[] = {sxt_test_file_id(FILE_A), sxt_test_file_id(FILE_B), sxt_test_build_id(BUILD)};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "", &ids[i], 0x1000), "whole a.c:7");
    /* Of one FileID, the newest. */
    sxt_test_push(&(struct sxt_test_part){.build_id = BUILD, .functions = {{0x1000, "again", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "again");
}
