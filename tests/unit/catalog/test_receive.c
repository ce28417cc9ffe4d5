/* Tests of catalog/receive.c, merge.c and what answers afterwards. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#include "symbfile/symbfile.h"

SET_UP()
{
    sxt_test_open_catalog();
}

TEAR_DOWN()
{
    sxt_test_close_catalog();
}

TEST(answers_after_one_part)
{
    assert_string_equal(sxt_test_answer(0x1000), "-");
    sxt_test_push(&(struct sxt_test_part){.functions = {{0x1000, "main", 10}, {0x1010, "helper", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "main a.c:10");
    assert_string_equal(sxt_test_answer(0x1015), "helper");
    assert_string_equal(sxt_test_answer(0x1020), "?");
    assert_int_equal(sxt_test_count("t/-/id/f." FILE_A "/part/"), 0);
    assert_int_equal(sxt_test_count("t/-/id/f." FILE_A "/symbols/"), 1);
    assert_int_equal(sxt_test_count("blob/"), 3);
}

TEST(answers_when_every_part_is_there)
{
    sxt_test_push(&(struct sxt_test_part){.part = 2, .parts = 3, .functions = {{0x3000, "c", 3}}});
    sxt_test_push(&(struct sxt_test_part){.part = 0, .parts = 3, .functions = {{0x1000, "a", 1}}});
    sxt_test_push(&(struct sxt_test_part){.part = 0, .parts = 3, .functions = {{0x1000, "a", 1}}});
    assert_string_equal(sxt_test_answer(0x1000), "-");
    sxt_test_push(&(struct sxt_test_part){.part = 1, .parts = 3, .functions = {{0x2000, "b", 2}}});
    assert_string_equal(sxt_test_answer(0x1000), "a a.c:1");
    assert_string_equal(sxt_test_answer(0x2000), "b a.c:2");
    assert_string_equal(sxt_test_answer(0x3000), "c a.c:3");
}

TEST(the_old_generation_answers_until_the_new_one_is_complete)
{
    sxt_test_push(&(struct sxt_test_part){.functions = {{0x1000, "old", 1}}});
    sxt_test_push(&(struct sxt_test_part){.part = 1, .parts = 2, .functions = {{0x1000, "new", 1}}});
    assert_string_equal(sxt_test_answer(0x1000), "old a.c:1");
    sxt_test_push(&(struct sxt_test_part){.part = 0, .parts = 2, .functions = {{0x2000, "more", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "new a.c:1");
    sxt_test_push(&(struct sxt_test_part){.functions = {{0x1000, "newer", 1}}});
    assert_string_equal(sxt_test_answer(0x1000), "newer a.c:1");
}

TEST(parts_of_two_named_generations_do_not_mix)
{
    sxt_test_push(&(struct sxt_test_part){.part = 0, .parts = 2, .generation = "g1", .functions = {{0x1000, "a1", 0}}});
    sxt_test_push(&(struct sxt_test_part){.part = 0, .parts = 2, .generation = "g2", .functions = {{0x1000, "a2", 0}}});
    sxt_test_push(&(struct sxt_test_part){.part = 1, .parts = 2, .functions = {{0x2000, "b0", 0}}});
    sxt_test_push(&(struct sxt_test_part){.part = 1, .parts = 2, .generation = "g1", .functions = {{0x2000, "b1", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "a1");
    assert_string_equal(sxt_test_answer(0x2000), "b1");
    sxt_test_push(&(struct sxt_test_part){.part = 1, .parts = 2, .generation = "g2", .functions = {{0x2000, "b2", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "a2");
    assert_string_equal(sxt_test_answer(0x2000), "b2");
}

TEST(a_generation_that_is_pushed_again_is_the_newest)
{
    sxt_test_push(&(struct sxt_test_part){.generation = "g1", .functions = {{0x1000, "one", 0}}});
    sxt_test_push(&(struct sxt_test_part){.generation = "g2", .functions = {{0x1000, "two", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "two");
    sxt_test_push(&(struct sxt_test_part){.generation = "g1", .functions = {{0x1000, "one", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "one");
}

TEST(pads_win_for_their_address)
{
    sxt_test_push(&(struct sxt_test_part){.functions = {{0x1000, "range", 1}}});
    sxt_test_push(&(struct sxt_test_part){.kind = SXT_CATALOG_PADS, .functions = {{0x1004, "pad", 2}}});
    assert_string_equal(sxt_test_answer(0x1003), "range a.c:1");
    assert_string_equal(sxt_test_answer(0x1004), "pad a.c:2");
    assert_string_equal(sxt_test_answer(0x1005), "range a.c:1");
}

TEST(pads_answer_without_ranges)
{
    sxt_test_push(
        &(struct sxt_test_part){.kind = SXT_CATALOG_PADS, .part = 1, .parts = 2, .functions = {{0x1004, "pad", 2}}});
    assert_string_equal(sxt_test_answer(0x1004), "-");
    sxt_test_push(&(struct sxt_test_part){
        .kind = SXT_CATALOG_PADS, .part = 0, .parts = 2, .functions = {{0x1004, "other", 2}, {0x2000, "two", 0}}});
    assert_string_equal(sxt_test_answer(0x1004), "pad a.c:2");
    assert_string_equal(sxt_test_answer(0x1005), "?");
    assert_string_equal(sxt_test_answer(0x2000), "two");
}

TEST(either_id_finds_the_binary)
{
    struct sxt_catalog_id build_id = sxt_test_build_id(BUILD), other = sxt_test_file_id(FILE_B);
    assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "", &build_id, 0x1000), "-");
    sxt_test_push(&(struct sxt_test_part){.build_id = BUILD, .functions = {{0x1000, "main", 10}}});
    assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "", &build_id, 0x1000), "main a.c:10");
    assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "", &other, 0x1000), "-");
    sxt_test_push(&(struct sxt_test_part){
        .file_id = FILE_B, .build_id = BUILD, .kind = SXT_CATALOG_PADS, .functions = {{0x1008, "pad", 0}}});
    assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "", &other, 0x1000), "main a.c:10");
    assert_string_equal(sxt_test_answer(0x1008), "pad");
}

TEST(tenants_do_not_see_each_other)
{
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    sxt_test_push(&(struct sxt_test_part){.tenant = "a/b ~", .functions = {{0x1000, "theirs", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "-");
    assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "a", &id, 0x1000), "-");
    assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "a/b ~", &id, 0x1000), "theirs");
    sxt_test_push(&(struct sxt_test_part){.tenant = "a", .functions = {{0x1000, "theirs", 0}}});
    assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "a", &id, 0x1000), "theirs");
}

TEST(whoever_asks_finishes_a_merge)
{
    bool is_complete;
    struct sxt_store *store;
    struct sxt_catalog *other;
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    sxt_test_another_catalog(&store, &other);
    assert_int_equal(
        sxt_test_add_part(other, &(struct sxt_test_part){.parts = 2, .functions = {{0x1000, "a", 0}}}, &is_complete),
        SXT_OK);
    assert_false(is_complete);
    assert_int_equal(sxt_test_add_part(sxt_test_it.catalog,
                                       &(struct sxt_test_part){.part = 1, .parts = 2, .functions = {{0x2000, "b", 0}}},
                                       &is_complete),
                     SXT_OK);
    assert_true(is_complete);
    assert_string_equal(sxt_test_ask(other, "", &id, 0x2000), "b");
    assert_string_equal(sxt_test_answer(0x1000), "a");
    sxt_catalog_close(&other);
    sxt_store_close(&store);
}

static int take_count(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    (void)frames;
    ((size_t *)data)[index] = count;
    return SXT_OK;
}

TEST(takes_offsets_and_return_addresses)
{
    sxt_test_push(&(struct sxt_test_part){.segment = 0x401000, .functions = {{0x401100, "main", 10}}});
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    struct sxt_catalog_binary *binary;
    assert_int_equal(sxt_catalog_find(sxt_test_it.catalog, "", &id, 1, true, NULL, &binary, NULL), SXT_OK);
    const uint64_t addresses[] = {0x100, 0x110, 0xff, 0x401100, 0x401110, 0, UINT64_MAX};
    const size_t expected[4][7] = {
        {0, 0, 0, 1, 0, 0, 0}, {0, 0, 0, 0, 1, 0, 0}, {1, 0, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0, 0}};
    for (int i = 0; i < 4; i++) {
        size_t counts[7];
        memset(counts, 0xff, sizeof counts);
        const struct sxt_catalog_question question = {addresses, 7, i >= 2, i % 2 == 1, false};
        assert_int_equal(sxt_catalog_lookup(binary, &question, take_count, counts, NULL), SXT_OK);
        assert_memory_equal(counts, expected[i], sizeof counts);
    }
    sxt_info info = {.struct_size = sizeof info};
    sxt_archive_info(sxt_catalog_archive(binary), &info);
    assert_string_equal(info.file_id, FILE_A);
    assert_string_equal(info.path, "/opt/app/program");
    sxt_catalog_release(sxt_test_it.catalog, &binary);
}

TEST(an_unknown_binary_would_not_wait_twice)
{
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    struct sxt_catalog_binary *binary;
    bool would_wait;
    assert_int_equal(sxt_catalog_find(sxt_test_it.catalog, "", &id, 1, false, &would_wait, &binary, NULL), SXT_OK);
    assert_true(would_wait);
    assert_null(binary);
    assert_string_equal(sxt_test_answer(0x1000), "-");
    assert_int_equal(sxt_catalog_find(sxt_test_it.catalog, "", &id, 1, false, &would_wait, &binary, NULL),
                     SXT_ERROR_NOT_FOUND);
    assert_false(would_wait);
    sxt_test_push(&(struct sxt_test_part){.functions = {{0x1000, "main", 10}}});
    assert_int_equal(sxt_catalog_find(sxt_test_it.catalog, "", &id, 1, false, &would_wait, &binary, NULL), SXT_OK);
    assert_true(would_wait);
}

static int note_listed(void *data, const struct sxt_catalog_listed *listed)
{
    char *out = data;
    snprintf(out, 200, "%s %s %s %s%s%s %llu", listed->file_id, listed->build_id, listed->source,
             listed->has_lines ? "lines " : "", listed->has_pads ? "pads " : "",
             listed->missing != NULL ? listed->missing : "", (unsigned long long)listed->functions);
    return SXT_OK;
}

TEST(describes_one_binary)
{
    char text[200];
    struct sxt_catalog_id id = sxt_test_build_id(BUILD);
    assert_int_equal(sxt_catalog_describe(sxt_test_it.catalog, "", &id, note_listed, text, NULL), SXT_ERROR_NOT_FOUND);
    sxt_test_push(&(struct sxt_test_part){.build_id = BUILD, .functions = {{0x1000, "f", 1}, {0x2000, "g", 0}}});
    assert_int_equal(sxt_catalog_describe(sxt_test_it.catalog, "", &id, note_listed, text, NULL), SXT_OK);
    assert_string_equal(text, FILE_A " " BUILD " ranges lines  2");
    assert_int_equal(sxt_catalog_describe(sxt_test_it.catalog, "x", &id, note_listed, text, NULL), SXT_ERROR_NOT_FOUND);
    assert_int_equal(sxt_catalog_list(sxt_test_it.catalog, "", FILE_A, "", 10, note_listed, text, NULL), SXT_OK);
}

TEST(notes_what_upstream_servers_do_not_have)
{
    struct sxt_catalog_id id = sxt_test_build_id(BUILD);
    struct sxt_catalog *catalog = sxt_test_it.catalog;
    uint64_t left;
    assert_int_equal(sxt_catalog_is_missing(catalog, "", &id, "debuginfo", 60, &left, NULL), SXT_OK);
    assert_int_equal(left, 0);
    assert_int_equal(sxt_catalog_note_missing(catalog, "", &id, "debuginfo", NULL), SXT_OK);
    assert_int_equal(sxt_catalog_is_missing(catalog, "", &id, "debuginfo", 600, &left, NULL), SXT_OK);
    assert_in_range(left, 1, 600);
    assert_int_equal(sxt_catalog_is_missing(catalog, "", &id, "executable", 600, &left, NULL), SXT_OK);
    assert_int_equal(left, 0);
    assert_int_equal(sxt_catalog_is_missing(catalog, "", &id, "debuginfo", 0, &left, NULL), SXT_OK);
    assert_int_equal(left, 0);
    assert_string_equal(sxt_test_ask(sxt_test_it.catalog, "", &id, 0x1000), "-");
}

static void count_problem(void *data, const char *key, const char *text)
{
    (void)key;
    (void)text;
    ++*(int *)data;
}

TEST(notes_uploads_that_are_announced)
{
    struct sxt_catalog_id id = sxt_test_build_id(BUILD), other = sxt_test_file_id(FILE_A);
    struct sxt_catalog_announcement what = {.name = ""};
    struct sxt_catalog *catalog = sxt_test_it.catalog;
    enum sxt_catalog_announced announced;
    uint64_t checked;
    int problems = 0;
    assert_int_equal(sxt_catalog_find_announced(catalog, "", &id, 60, &announced, NULL), SXT_OK);
    assert_int_equal(announced, SXT_ANNOUNCED_NOT);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(sxt_catalog_announce(catalog, "", &id, &what, NULL), SXT_OK);
        sxt_catalog_find_announced(catalog, "", &id, 60, &announced, NULL);
        assert_int_equal(announced, SXT_ANNOUNCED);
        sxt_catalog_find_announced(catalog, "", &id, 0, &announced, NULL);
        assert_int_equal(announced, SXT_ANNOUNCED_LONG_AGO);
        assert_int_equal(sxt_catalog_announce(catalog, "", &id, NULL, NULL), SXT_OK);
        sxt_catalog_find_announced(catalog, "", &id, 60, &announced, NULL);
        assert_int_equal(announced, SXT_ANNOUNCED_FAILED);
    }
    sxt_catalog_find_announced(catalog, "blue", &id, 60, &announced, NULL);
    assert_int_equal(announced, SXT_ANNOUNCED_NOT);
    sxt_catalog_find_announced(catalog, "", &other, 60, &announced, NULL);
    assert_int_equal(announced, SXT_ANNOUNCED_NOT);
    assert_int_equal(sxt_catalog_verify(catalog, count_problem, &problems, &checked, NULL), SXT_OK);
    assert_int_equal(problems, 0);
    assert_int_equal(checked, 4);
    assert_int_equal(sxt_catalog_forget_announced(catalog, "", &id, NULL), SXT_OK);
    sxt_catalog_find_announced(catalog, "", &id, 60, &announced, NULL);
    assert_int_equal(announced, SXT_ANNOUNCED_NOT);
    struct sxt_catalog_id wrong = {.text = "../x"};
    assert_int_equal(sxt_catalog_announce(catalog, "", &wrong, &what, NULL), SXT_ERROR_USAGE);
    struct sxt_catalog_closure closure;
    for (int is_known = 0; is_known < 2; is_known++) {
        struct sxt_catalog_announcement again;
        what = (struct sxt_catalog_announcement){.name = "program"};
        if (is_known)
            what.file_id = other;
        assert_int_equal(sxt_catalog_announce(catalog, "", &id, &what, NULL), SXT_OK);
        assert_int_equal(sxt_catalog_read_announced(catalog, "", &id, &again, NULL), SXT_OK);
        assert_string_equal(again.name, "program");
        assert_string_equal(again.file_id.text, what.file_id.text);
        assert_int_equal(sxt_catalog_join_announced(catalog, "", &id, &again, NULL), SXT_OK);
        assert_int_equal(sxt_catalog_list_closure(catalog, "", id.text, false, &closure, NULL), SXT_OK);
        assert_int_equal(closure.count, 1 + is_known);
        sxt_catalog_closure_free(&closure);
    }
}

TEST(the_pages_of_a_list_have_every_binary_once)
{
    static const char *const ids[] = {FILE_A, FILE_B, "0123456789abcdef0123456789abcdef"};
    for (int i = 0; i < 3; i++)
        sxt_test_push(&(struct sxt_test_part){
            .file_id = ids[i], .build_id = i == 1 ? BUILD : NULL, .functions = {{0x1000, "f", 1}}});
    char all[800] = "", after[SXT_CATALOG_ID_MAX] = "", text[200];
    for (int i = 0; i < 4; i++) {
        text[0] = 0;
        assert_int_equal(sxt_catalog_list(sxt_test_it.catalog, "", "", after, 1, note_listed, text, NULL), SXT_OK);
        text[strcspn(text, " ")] = 0;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s", text);
        snprintf(after, sizeof after, "%c.%.*s", i == 0 ? 'b' : 'f', i == 0 ? 40 : 32, i == 0 ? BUILD : text);
    }
    assert_string_equal(all, FILE_B FILE_A "0123456789abcdef0123456789abcdef");
}

/* A pad may have more frames than lookups usually have room for. */
TEST(answers_long_chains_whole)
{
    enum { DEPTH = 700 };
    static struct sxt_symbfile_frame frames[DEPTH];
    struct sxt_buffer content;
    struct sxt_symbfile_writer *writer;
    struct sxt_store_writing *writing;
    for (size_t i = 0; i < DEPTH; i++)
        frames[i] = (struct sxt_symbfile_frame){.function = {"f", 1}, .line = (uint32_t)i + 1};
    sxt_buffer_init(&content, SIZE_MAX);
    assert_int_equal(sxt_symbfile_writer_open(&writer, sxt_symbfile_to_buffer(&content), NULL), SXT_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            sxt_symbfile_add_pad(writer, &(struct sxt_symbfile_pad){0x1000 + i, frames, DEPTH - 340 * i}, NULL),
            SXT_OK);
    assert_int_equal(sxt_symbfile_writer_finish(writer, NULL), SXT_OK);
    sxt_symbfile_writer_close(&writer);
    assert_int_equal(sxt_store_write_begin(sxt_test_it.store, &writing, NULL), SXT_OK);
    assert_int_equal(sxt_store_write(writing, content.data, content.size, NULL), SXT_OK);
    sxt_buffer_free(&content);
    const struct sxt_catalog_part part = {
        .tenant = "", .file_id = sxt_test_file_id(FILE_A), .kind = SXT_CATALOG_PADS, .parts = 1};
    bool is_complete;
    assert_int_equal(sxt_catalog_add_part(sxt_test_it.catalog, &part, &writing, &is_complete, NULL), SXT_OK);
    struct sxt_catalog_binary *binary;
    assert_int_equal(sxt_catalog_find(sxt_test_it.catalog, "", &part.file_id, 1, true, NULL, &binary, NULL), SXT_OK);
    const uint64_t addresses[] = {0x1002, 0xfff, 0x1000, 0x1001};
    size_t counts[4] = {9, 9, 9, 9};
    const struct sxt_catalog_question question = {.addresses = addresses, .count = 4};
    assert_int_equal(sxt_catalog_lookup(binary, &question, take_count, counts, NULL), SXT_OK);
    assert_int_equal(counts[0], DEPTH - 680);
    assert_int_equal(counts[1], 0);
    assert_int_equal(counts[2], DEPTH);
    assert_int_equal(counts[3], DEPTH - 340);
    sxt_catalog_release(sxt_test_it.catalog, &binary);
}
