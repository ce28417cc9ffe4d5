/* Tests of uploads through servers that die, or that work at the same moment. */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "support/store_calls.h"

SET_UP()
{
    sxt_test_open_catalog();
    sxt_test_last_call = sxt_test_calls = 0;
}

TEAR_DOWN()
{
    sxt_test_close_catalog();
}

/* Two generations of ranges in two parts each, pads, and a third generation with a name. */
static const struct sxt_test_part uploads[] = {
    {.part = 0, .parts = 2, .build_id = BUILD, .functions = {{0x1000, "a1", 1}}},
    {.part = 1, .parts = 2, .build_id = BUILD, .functions = {{0x2000, "b1", 1}}},
    {.part = 1, .parts = 2, .build_id = BUILD, .functions = {{0x2000, "b2", 2}}},
    {.part = 0, .parts = 2, .build_id = BUILD, .functions = {{0x1000, "a2", 2}}},
    {.kind = SXT_CATALOG_PADS, .functions = {{0x1004, "pad", 3}}},
    {.part = 0, .parts = 2, .generation = "g", .functions = {{0x1000, "a3", 3}}},
    {.part = 1, .parts = 2, .generation = "g", .functions = {{0x2000, "b3", 3}}},
};
enum { UPLOADS = sizeof uploads / sizeof *uploads };

/* What is answered at 0x1000, 0x2000 and 0x1004 after each number of uploads. */
static const char *const answers[UPLOADS + 1] = {
    "- - -",
    "- - -",
    "a1 a.c:1 b1 a.c:1 a1 a.c:1",
    "a1 a.c:1 b1 a.c:1 a1 a.c:1",
    "a2 a.c:2 b2 a.c:2 a2 a.c:2",
    "a2 a.c:2 b2 a.c:2 pad a.c:3",
    "a2 a.c:2 b2 a.c:2 pad a.c:3",
    "a3 a.c:3 b3 a.c:3 pad a.c:3",
};

static const char *ask_all(struct sxt_catalog *catalog, const struct sxt_catalog_id *id)
{
    static char text[200];
    char one[60], two[60];
    snprintf(one, sizeof one, "%s", sxt_test_ask(catalog, "", id, 0x1000));
    snprintf(two, sizeof two, "%s", sxt_test_ask(catalog, "", id, 0x2000));
    snprintf(text, sizeof text, "%s %s %s", one, two, sxt_test_ask(catalog, "", id, 0x1004));
    return text;
}

/* Uploads from FIRST on; *ACKNOWLEDGED counts them. The server asks too, as it would be asked. */
static void upload_all(size_t first, volatile int *acknowledged)
{
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    for (size_t i = first; i < UPLOADS; i++) {
        bool is_complete;
        assert_int_equal(sxt_test_add_part(sxt_test_it.catalog, &uploads[i], &is_complete), SXT_OK);
        *acknowledged = (int)i + 1;
        if (is_complete)
            assert_int_equal(sxt_catalog_settle(sxt_test_it.catalog, "", &id, NULL), SXT_OK);
    }
}

static void note_problem(void *data, const char *key, const char *text)
{
    (void)data;
    fail_msg("%s: %s", key, text);
}

/* Dies before call LAST of the store. Returns false if it does not come to that. */
static bool check_crash(long last)
{
    volatile int *acknowledged =
        mmap(NULL, sizeof *acknowledged, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(acknowledged != MAP_FAILED);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sxt_test_last_call = last;
        upload_all(0, acknowledged);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));

    /* The upload that was not acknowledged may be there, whole. */
    struct sxt_store *store;
    struct sxt_catalog *fresh;
    struct sxt_catalog_id ids[2] = {sxt_test_file_id(FILE_A), sxt_test_build_id(BUILD)};
    int count = *acknowledged;
    bool has_ended = WEXITSTATUS(status) == 1;
    sxt_test_another_catalog(&store, &fresh);
    for (int i = 0; i < (count > 0 ? 2 : 1); i++) {
        const char *found = ask_all(fresh, &ids[i]);
        if (strcmp(found, answers[count]) != 0 && (has_ended || strcmp(found, answers[count + 1]) != 0))
            fail_msg("before call %ld, after %d uploads: %s", last, count, found);
    }

    /* No repair is needed: the client sends what was not acknowledged, and goes on. */
    struct sxt_catalog *before = sxt_test_it.catalog;
    sxt_test_it.catalog = fresh;
    upload_all((size_t)count, acknowledged);
    sxt_test_it.catalog = before;
    assert_string_equal(ask_all(fresh, &ids[0]), answers[UPLOADS]);
    uint64_t checked;
    assert_int_equal(sxt_catalog_verify(fresh, note_problem, NULL, &checked, NULL), SXT_OK);
    struct sxt_catalog_swept swept;
    assert_int_equal(sxt_catalog_sweep(fresh, 0, false, &swept, NULL), SXT_OK);
    assert_string_equal(ask_all(fresh, &ids[0]), answers[UPLOADS]);
    sxt_catalog_close(&fresh);
    sxt_store_close(&store);
    munmap((void *)(uintptr_t)acknowledged, sizeof *acknowledged);
    return !has_ended;
}

TEST(a_server_that_dies_loses_nothing)
{
    /* A few of the moments; all of them with SEXTANT_TEST_ALL. */
    long step = getenv("SEXTANT_TEST_ALL") != NULL ? 1 : 7;
    for (long last = 1;; last += step) {
        sxt_test_close_catalog();
        sxt_test_open_catalog();
        if (!check_crash(last))
            break;
        assert_true(last < 1000);
    }
}

/* --- at the same moment --- */

static struct sxt_store *other_store;
static struct sxt_catalog *other;

static void push_to_other(void)
{
    bool is_complete;
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    assert_int_equal(sxt_test_add_part(other, &uploads[0], &is_complete), SXT_OK);
    assert_int_equal(sxt_test_add_part(other, &uploads[1], &is_complete), SXT_OK);
    assert_true(is_complete);
    assert_int_equal(sxt_catalog_settle(other, "", &id, NULL), SXT_OK);
}

/*
 * While a server writes part 1 of the second push, under a time that it has chosen, another one receives and merges the
 * whole first push. The part counts all the same.
 */
TEST(a_part_that_is_too_early_gets_a_new_time)
{
    bool is_complete;
    sxt_test_another_catalog(&other_store, &other);
    sxt_test_before_commit = push_to_other;
    assert_int_equal(sxt_test_add_part(sxt_test_it.catalog, &uploads[2], &is_complete), SXT_OK);
    assert_null(sxt_test_before_commit);
    assert_false(is_complete);
    assert_string_equal(sxt_test_answer(0x2000), "b1 a.c:1");
    assert_int_equal(sxt_test_add_part(other, &uploads[3], &is_complete), SXT_OK);
    assert_true(is_complete);
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    assert_string_equal(sxt_test_ask(other, "", &id, 0x1000), "a2 a.c:2");
    assert_string_equal(sxt_test_ask(other, "", &id, 0x2000), "b2 a.c:2");
    assert_int_equal(sxt_test_count("t/-/id/f." FILE_A "/part/"), 0);
    sxt_catalog_close(&other);
    sxt_store_close(&other_store);
}

/* Merges what is there, receives another push, and removes the entry that this one replaces. */
static void merge_and_replace(void)
{
    bool is_complete;
    struct sxt_catalog_swept swept;
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    assert_int_equal(sxt_catalog_settle(other, "", &id, NULL), SXT_OK);
    assert_int_equal(sxt_test_add_part(other, &uploads[2], &is_complete), SXT_OK);
    assert_int_equal(sxt_test_add_part(other, &uploads[3], &is_complete), SXT_OK);
    assert_int_equal(sxt_catalog_settle(other, "", &id, NULL), SXT_OK);
    assert_int_equal(sxt_catalog_sweep(other, 0, false, &swept, NULL), SXT_OK);
    assert_true(swept.objects > 0);
}

/* Before a server sees that its part counts, the part was merged, and the entry that names it was replaced. */
TEST(a_part_that_was_replaced_meanwhile_is_acknowledged)
{
    bool is_complete;
    sxt_test_another_catalog(&other_store, &other);
    assert_int_equal(sxt_test_add_part(sxt_test_it.catalog, &uploads[0], &is_complete), SXT_OK);
    sxt_test_after_commit = merge_and_replace;
    assert_int_equal(sxt_test_add_part(sxt_test_it.catalog, &uploads[1], &is_complete), SXT_OK);
    assert_null(sxt_test_after_commit);
    assert_string_equal(sxt_test_answer(0x1000), "a2 a.c:2");
    assert_string_equal(sxt_test_answer(0x2000), "b2 a.c:2");
    assert_int_equal(sxt_test_count("t/-/id/f." FILE_A "/part/"), 0);
    sxt_catalog_close(&other);
    sxt_store_close(&other_store);
}

/* The clock of the other server is a day ahead. */
TEST(the_order_of_uploads_counts_not_the_clocks)
{
    bool is_complete;
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    sxt_test_another_catalog(&other_store, &other);
    atomic_store(&other->last_time, sxt_catalog_now() + (int64_t)86400 * 1000000);
    sxt_test_push(&(struct sxt_test_part){.functions = {{0x1000, "first", 0}}});
    assert_int_equal(
        sxt_test_add_part(other, &(struct sxt_test_part){.functions = {{0x1000, "second", 0}}}, &is_complete), SXT_OK);
    assert_string_equal(sxt_test_ask(other, "", &id, 0x1000), "second");
    sxt_test_push(&(struct sxt_test_part){.generation = "g", .functions = {{0x1000, "third", 0}}});
    assert_string_equal(sxt_test_answer(0x1000), "third");
    sxt_test_push(&(struct sxt_test_part){.part = 0, .parts = 2, .functions = {{0x1000, "fourth", 0}}});
    assert_int_equal(
        sxt_test_add_part(other,
                          &(struct sxt_test_part){.part = 1, .parts = 2, .functions = {{0x2000, "fourth too", 0}}},
                          &is_complete),
        SXT_OK);
    assert_true(is_complete);
    assert_string_equal(sxt_test_answer(0x1000), "fourth");
    sxt_catalog_close(&other);
    sxt_store_close(&other_store);
}

/* A listing that shows nothing new costs nothing but the listing. */
TEST(what_did_not_change_is_not_read_again)
{
    struct sxt_catalog *catalog;
    struct sxt_catalog_id id = sxt_test_file_id(FILE_A);
    const struct sxt_catalog_options options = {.list_life_ms = 1};
    assert_int_equal(sxt_catalog_open(sxt_test_it.store, &options, &catalog, NULL), SXT_OK);
    sxt_test_push(&(struct sxt_test_part){.functions = {{0x1000, "first", 0}}});
    assert_string_equal(sxt_test_ask(catalog, "", &id, 0x1000), "first");
    usleep(20000);
    sxt_test_calls = 0;
    assert_string_equal(sxt_test_ask(catalog, "", &id, 0x1000), "first");
    assert_int_equal(sxt_test_calls, 1);
    sxt_test_push(&(struct sxt_test_part){.functions = {{0x1000, "second", 0}}});
    usleep(20000);
    assert_string_equal(sxt_test_ask(catalog, "", &id, 0x1000), "second");
    sxt_catalog_close(&catalog);
}

/* --- ELF files --- */

static char program[4096];

static void open_with_program(struct sxt_store **store, struct sxt_catalog **catalog)
{
    const char *built = getenv("SEXTANT");
    assert_non_null(built);
    assert_non_null(realpath(built, program));
    sxt_test_another_catalog(store, catalog);
    sxt_catalog_close(catalog);
    const struct sxt_catalog_options options = {.program = program};
    assert_int_equal(sxt_catalog_open(*store, &options, catalog, NULL), SXT_OK);
}

static void add_file(struct sxt_catalog *catalog, const char *name)
{
    char path[2 * SXT_TEST_FOLDER_MAX];
    struct sxt_file file;
    struct sxt_store_writing *writing;
    struct sxt_catalog_added added;
    sxt_binary binary = {.struct_size = sizeof binary};
    snprintf(path, sizeof path, "%s/%s", sxt_test_it.folder, name);
    assert_int_equal(sxt_identify_binary(path, &binary, NULL), SXT_OK);
    struct sxt_catalog_id id = sxt_test_build_id(binary.build_id);
    assert_int_equal(sxt_file_open(&file, path, NULL), SXT_OK);
    assert_int_equal(sxt_store_write_begin(catalog->store, &writing, NULL), SXT_OK);
    assert_int_equal(sxt_store_write(writing, file.data, file.size, NULL), SXT_OK);
    sxt_file_close(&file);
    assert_int_equal(sxt_catalog_add_file(catalog, "", &id, NULL, &writing, &added, &sxt_test_it.error), SXT_OK);
}

/* Dies before call LAST of the store while it adds an executable and its debug file; another server gets both again. */
static bool check_file_crash(long last)
{
    struct sxt_store *store;
    struct sxt_catalog *catalog;
    char command[1000];
    snprintf(command, sizeof command,
             "cd '%s' && echo 'int main(void) { return 0; }' >p.c && cc -g -Wl,--build-id=sha1 -o p p.c && "
             "objcopy --only-keep-debug p debug && objcopy --strip-all p stripped",
             sxt_test_it.folder);
    assert_int_equal(system(command), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        open_with_program(&store, &catalog);
        sxt_test_calls = 0;
        sxt_test_last_call = last;
        add_file(catalog, "stripped");
        add_file(catalog, "debug");
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    open_with_program(&store, &catalog);
    add_file(catalog, "debug");
    add_file(catalog, "stripped");
    struct sxt_catalog_listing listing;
    char path[2 * SXT_TEST_FOLDER_MAX];
    sxt_binary binary = {.struct_size = sizeof binary};
    snprintf(path, sizeof path, "%s/stripped", sxt_test_it.folder);
    assert_int_equal(sxt_identify_binary(path, &binary, NULL), SXT_OK);
    struct sxt_catalog_id id = sxt_test_build_id(binary.build_id);
    assert_int_equal(sxt_catalog_list_binary(catalog, "", id.text, true, &listing, NULL), SXT_OK);
    bool has_both = false;
    for (size_t i = 0; i < listing.entry_count; i++)
        has_both |= listing.entries[i].kind == SXT_ENTRY_BOTH && listing.entries[i].quality >= 75;
    assert_true(has_both);
    sxt_catalog_listing_free(&listing);
    uint64_t checked;
    assert_int_equal(sxt_catalog_verify(catalog, note_problem, NULL, &checked, NULL), SXT_OK);
    sxt_catalog_close(&catalog);
    sxt_store_close(&store);
    return WEXITSTATUS(status) == 0;
}

TEST(a_server_that_dies_with_a_file_leaves_nothing_to_repair)
{
    bool is_long = getenv("SEXTANT_TEST_ALL") != NULL;
    for (long last = is_long ? 1 : 9; last < 1000; last += is_long ? 1 : 17) {
        sxt_test_close_catalog();
        sxt_test_open_catalog();
        if (!check_file_crash(last))
            break;
    }
}
