/* Tests of a catalog that many threads use at the same time, over two servers. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "symbfile/symbfile.h"

enum { PARTS = 4, ROUNDS = 6 };

static struct sxt_store *stores[2];
static struct sxt_catalog *catalogs[2];
static pthread_barrier_t barrier;
static _Atomic bool has_ended;
static _Atomic unsigned failures, completed, answered;

SET_UP()
{
    sxt_test_open_catalog();
    for (int i = 0; i < 2; i++)
        sxt_test_another_catalog(&stores[i], &catalogs[i]);
}

TEAR_DOWN()
{
    for (int i = 0; i < 2; i++) {
        sxt_catalog_close(&catalogs[i]);
        sxt_store_close(&stores[i]);
    }
    sxt_test_close_catalog();
}

/* cmocka's checks may be used on the thread of the test only, so what fails is printed and counted. */
static void check(bool is_good, const char *what, int line, const sxt_error *error)
{
    if (is_good)
        return;
    fprintf(stderr, "line %d: %s: %s\n", line, what, error == NULL ? "" : error->text);
    atomic_fetch_add(&failures, 1);
}
#define expect(is_good) check(is_good, #is_good, __LINE__, NULL)
#define expect_ok(call) check((call) == SXT_OK, #call, __LINE__, &error)

/* Fills the part of a push: a function whose name says which push it is. */
static int add_part(struct sxt_catalog *catalog, unsigned part, const char *name, const char *generation,
                    bool *is_complete)
{
    struct sxt_buffer content;
    struct sxt_symbfile_writer *writer;
    struct sxt_store_writing *writing;
    sxt_error error = {0};
    sxt_buffer_init(&content, SIZE_MAX);
    expect_ok(sxt_symbfile_writer_open(&writer, sxt_symbfile_to_buffer(&content), &error));
    const struct sxt_symbfile_range range = {
        .address = 0x1000 * (part + 1), .length = 16, .function = sxt_string_of(name)};
    expect_ok(sxt_symbfile_add_range(writer, &range, &error));
    expect_ok(sxt_symbfile_writer_finish(writer, &error));
    sxt_symbfile_writer_close(&writer);
    expect_ok(sxt_store_write_begin(catalog->store, &writing, &error));
    expect_ok(sxt_store_write(writing, content.data, content.size, &error));
    sxt_buffer_free(&content);
    struct sxt_catalog_part given = {
        .tenant = "", .part = part, .parts = PARTS, .generation = sxt_string_of(generation)};
    sxt_catalog_parse_file_id(sxt_string_of(FILE_A), &given.file_id);
    int status = sxt_catalog_add_part(catalog, &given, &writing, is_complete, &error);
    check(status == SXT_OK, "sxt_catalog_add_part", __LINE__, &error);
    return status;
}

struct pusher {
    unsigned number;
    bool has_generation;
};

/* Each pusher sends all parts, beginning with another one, to both servers in turn. */
static void *push(void *data)
{
    const struct pusher *pusher = data;
    struct sxt_catalog_id id;
    sxt_error error;
    sxt_catalog_parse_file_id(sxt_string_of(FILE_A), &id);
    for (unsigned round = 0; round < ROUNDS; round++) {
        char name[32];
        snprintf(name, sizeof name, "push%u-%u", pusher->has_generation ? pusher->number : 0,
                 pusher->has_generation ? round : 0);
        pthread_barrier_wait(&barrier);
        for (unsigned i = 0; i < PARTS; i++) {
            unsigned part = (i + pusher->number) % PARTS;
            struct sxt_catalog *catalog = catalogs[(i + pusher->number / 2) % 2];
            bool is_complete = false;
            add_part(catalog, part, name, pusher->has_generation ? name : NULL, &is_complete);
            if (is_complete) {
                atomic_fetch_add(&completed, 1);
                expect_ok(sxt_catalog_settle(catalog, "", &id, &error));
            }
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

struct names {
    char text[PARTS][32];
};

static int note_name(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct names *names = data;
    if (count > 0)
        snprintf(names->text[index], sizeof names->text[index], "%.*s", (int)frames[0].function.size,
                 frames[0].function.data);
    return SXT_OK;
}

/* All parts of an answer are from one push. */
static void ask(struct sxt_catalog *catalog, bool may_wait)
{
    static const uint64_t addresses[PARTS] = {0x1000, 0x2000, 0x3000, 0x4000};
    struct sxt_catalog_id id;
    struct sxt_catalog_binary *binary;
    bool would_wait;
    sxt_error error = {0};
    sxt_catalog_parse_file_id(sxt_string_of(FILE_A), &id);
    int status = sxt_catalog_find(catalog, "", &id, 1, may_wait, &would_wait, &binary, &error);
    if (status != SXT_OK || would_wait) {
        check(status == SXT_ERROR_NOT_FOUND || (would_wait && !may_wait), "sxt_catalog_find", __LINE__, &error);
        return;
    }
    struct names names = {.text = {""}};
    const struct sxt_catalog_question question = {.addresses = addresses, .count = PARTS};
    expect_ok(sxt_catalog_lookup(binary, &question, note_name, &names, &error));
    for (int i = 0; i < PARTS; i++)
        expect(strcmp(names.text[i], names.text[0]) == 0 && names.text[0][0] == 'p');
    atomic_fetch_add(&answered, 1);
    sxt_catalog_release(catalog, &binary);
}

static void *ask_often(void *data)
{
    for (unsigned i = 0; !has_ended; i++)
        ask(data, i % 4 == 0);
    return NULL;
}

/* Somebody cleans up meanwhile. */
static void *sweep_often(void *data)
{
    struct sxt_catalog_swept swept;
    sxt_error error;
    while (!has_ended)
        expect_ok(sxt_catalog_sweep(data, 0, false, &swept, &error));
    return NULL;
}

static void run(bool has_generation)
{
    pthread_t pushers[3], askers[2], sweeper;
    struct pusher given[3];
    has_ended = false;
    failures = completed = answered = 0;
    pthread_barrier_init(&barrier, NULL, 3);
    for (unsigned i = 0; i < 3; i++) {
        given[i] = (struct pusher){i, has_generation};
        assert_int_equal(pthread_create(&pushers[i], NULL, push, &given[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, ask_often, catalogs[i]), 0);
    assert_int_equal(pthread_create(&sweeper, NULL, sweep_often, sxt_test_it.catalog), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(pushers[i], NULL);
    has_ended = true;
    for (int i = 0; i < 2; i++)
        pthread_join(askers[i], NULL);
    pthread_join(sweeper, NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(failures, 0);
    assert_true(completed > 0);
}

TEST(pushes_with_a_generation_do_not_mix)
{
    run(true);
    char last[16];
    snprintf(last, sizeof last, "-%u", ROUNDS - 1);
    assert_non_null(strstr(sxt_test_answer(0x1000), last));
}

TEST(clients_that_push_the_same_complete_it)
{
    run(false);
    assert_string_equal(sxt_test_answer(0x1000), "push0-0");
    /* Whatever was left over, one more push of one client is complete. */
    bool is_complete = false;
    for (unsigned i = 0; i < PARTS && !is_complete; i++)
        assert_int_equal(add_part(sxt_test_it.catalog, i, "push0-0", NULL, &is_complete), SXT_OK);
    assert_true(is_complete);
}
