/*
 * Tests of store/store.c that hold for every kind of store. They run over a directory, or over the store in
 * SEXTANT_TEST_STORE (s3://BUCKET/PREFIX), where they leave nothing.
 */
#include "store/store.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/test.h"

static char folder[SXT_TEST_FOLDER_MAX];
static char place[2 * SXT_TEST_FOLDER_MAX];
static struct sxt_store *store;
static sxt_error error;
static struct sxt_store_options options;
static char cache[2 * SXT_TEST_FOLDER_MAX];

/* Says why something failed. */
static void assert_ok(int status)
{
    if (status != SXT_OK)
        fail_msg("%s", error.text);
}

SET_UP()
{
    sxt_test_make_folder(folder);
    const char *given = getenv("SEXTANT_TEST_STORE");
    snprintf(place, sizeof place, "%s%s", given != NULL ? given : folder, given != NULL ? "" : "/store");
    snprintf(cache, sizeof cache, "%s/cache", folder);
    options = (struct sxt_store_options){.cache = cache};
    assert_ok(sxt_store_open(place, &options, &store, &error));
}

static int remove_it(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    return sxt_store_remove(data, key, &error);
}

static int count_it(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)key;
    (void)size;
    (void)modified_us;
    ++*(size_t *)data;
    return SXT_OK;
}

TEAR_DOWN()
{
    size_t left = 0;
    assert_ok(sxt_store_list(store, "", remove_it, store, &error));
    assert_ok(sxt_store_list(store, "", count_it, &left, &error));
    assert_int_equal(left, 0);
    sxt_store_close(&store);
    assert_null(store);
    sxt_test_remove_folder(folder);
}

static void put(const char *key, const char *text)
{
    assert_ok(sxt_store_put(store, key, text, strlen(text), &error));
}

static void assert_content(const char *key, const void *expected, size_t expected_size)
{
    char *data;
    size_t size;
    assert_ok(sxt_store_get(store, key, 100 << 20, &data, &size, &error));
    assert_int_equal(size, expected_size);
    assert_memory_equal(data, expected, size);
    assert_int_equal(data[size], 0);
    free(data);
}

/* Lines of a listing. */
static int append_line(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    char *lines = data;
    (void)modified_us;
    sprintf(lines + strlen(lines), "%s %llu\n", key, (unsigned long long)size);
    return SXT_OK;
}

static void assert_list(const char *prefix, bool words, const char *expected)
{
    char lines[4096] = "";
    assert_ok((words ? sxt_store_list_words : sxt_store_list)(store, prefix, append_line, lines, &error));
    assert_string_equal(lines, expected);
}

TEST(an_object_is_read_as_it_was_written)
{
    put("a", "text");
    put("b/c-d/e_f.g~h=i", "");
    char binary[70000];
    for (size_t i = 0; i < sizeof binary; i++)
        binary[i] = (char)(i * 7 + i / 256);
    assert_ok(sxt_store_put(store, "x/y", binary, sizeof binary, &error));
    assert_content("a", "text", 4);
    assert_content("b/c-d/e_f.g~h=i", "", 0);
    assert_content("x/y", binary, sizeof binary);
}

TEST(a_later_object_replaces_an_earlier_one)
{
    put("a/b", "first");
    put("a/b", "the second");
    assert_content("a/b", "the second", 10);
    assert_list("", false, "a/b 10\n");
}

TEST(a_missing_object_is_not_found)
{
    struct sxt_store_object *object;
    char *data;
    size_t size;
    put("a/b", "text");
    const char *missing[] = {"b", "a", "a/c", "a/b/c", "c/d/e/f"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        assert_int_equal(sxt_store_open_object(store, missing[i], &object, &error), SXT_ERROR_NOT_FOUND);
        assert_null(object);
        assert_int_equal(sxt_store_get(store, missing[i], 100, &data, &size, &error), SXT_ERROR_NOT_FOUND);
        assert_null(data);
        assert_non_null(strstr(error.text, "no object named"));
    }
}

TEST(names_that_are_not_keys_are_refused)
{
    const char *bad[] = {"", "..", "../a", "/etc/passwd", "a//b", "a/", ".tmp/x", "a/../../b", "a b", "a\nb"};
    struct sxt_store_object *object;
    struct sxt_store_writing *writing;
    char *data;
    size_t size;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sxt_store_put(store, bad[i], "", 0, &error), SXT_ERROR_USAGE);
        assert_int_equal(sxt_store_remove(store, bad[i], &error), SXT_ERROR_USAGE);
        assert_int_equal(sxt_store_open_object(store, bad[i], &object, &error), SXT_ERROR_USAGE);
        assert_int_equal(sxt_store_get(store, bad[i], 1, &data, &size, &error), SXT_ERROR_USAGE);
        assert_ok(sxt_store_write_begin(store, &writing, &error));
        assert_int_equal(sxt_store_write_commit(&writing, bad[i], &error), SXT_ERROR_USAGE);
        assert_null(writing);
    }
    size_t count = 0;
    assert_int_equal(sxt_store_list(store, "a", count_it, &count, &error), SXT_ERROR_USAGE);
    assert_int_equal(sxt_store_list_words(store, "../", count_it, &count, &error), SXT_ERROR_USAGE);
}

TEST(an_object_can_be_written_in_pieces)
{
    struct sxt_store_writing *writing;
    assert_ok(sxt_store_write_begin(store, &writing, &error));
    assert_ok(sxt_store_write(writing, "one ", 4, &error));
    assert_list("", false, "");
    assert_ok(sxt_store_write(writing, "two", 3, &error));
    struct stat file;
    assert_int_equal(stat(sxt_store_write_path(writing), &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_int_equal(file.st_size, 7);
    char again[7];
    assert_int_equal(pread(sxt_store_write_descriptor(writing), again, 7, 0), 7);
    assert_memory_equal(again, "one two", 7);
    char path[500];
    snprintf(path, sizeof path, "%s", sxt_store_write_path(writing));
    assert_ok(sxt_store_write_commit(&writing, "p/q", &error));
    assert_null(writing);
    assert_int_equal(access(path, F_OK), -1);
    assert_content("p/q", "one two", 7);
}

TEST(an_object_can_be_written_through_the_descriptor)
{
    struct sxt_store_writing *writing;
    assert_ok(sxt_store_write_begin(store, &writing, &error));
    assert_int_equal(write(sxt_store_write_descriptor(writing), "one ", 4), 4);
    assert_ok(sxt_store_write(writing, "two", 3, &error));
    assert_int_equal(pwrite(sxt_store_write_descriptor(writing), "END", 3, 7), 3);
    assert_ok(sxt_store_write_commit(&writing, "p/q", &error));
    assert_content("p/q", "one twoEND", 10);
    assert_list("", false, "p/q 10\n");
}

TEST(an_abandoned_object_is_not_there)
{
    struct sxt_store_writing *writing;
    assert_ok(sxt_store_write_begin(store, &writing, &error));
    assert_ok(sxt_store_write(writing, "text", 4, &error));
    char path[500];
    snprintf(path, sizeof path, "%s", sxt_store_write_path(writing));
    sxt_store_write_abandon(&writing);
    assert_null(writing);
    sxt_store_write_abandon(&writing);
    assert_int_equal(access(path, F_OK), -1);
    assert_list("", false, "");
}

TEST(ranges_of_an_object_are_read_in_any_order)
{
    enum { SIZE = 100000, COUNT = 40 };
    char *data = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i ^ (i >> 8));
    assert_ok(sxt_store_put(store, "o", data, SIZE, &error));
    struct sxt_store_object *object;
    assert_ok(sxt_store_open_object(store, "o", &object, &error));
    assert_int_equal(sxt_store_object_size(object), SIZE);
    static char to[COUNT][3000];
    struct sxt_store_range ranges[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        ranges[i] = (struct sxt_store_range){.offset = (i * 7919) % (SIZE - 3000), .size = i * 71, .to = to[i]};
    ranges[1] = (struct sxt_store_range){.offset = SIZE - 1, .size = 1, .to = to[1]};
    ranges[2] = (struct sxt_store_range){.offset = SIZE, .size = 0, .to = to[2]};
    assert_ok(sxt_store_read(object, ranges, COUNT, &error));
    for (size_t i = 0; i < COUNT; i++)
        assert_memory_equal(to[i], data + ranges[i].offset, ranges[i].size);
    assert_ok(sxt_store_read(object, NULL, 0, &error));
    ranges[0] = (struct sxt_store_range){.offset = SIZE - 1, .size = 2, .to = to[0]};
    assert_int_equal(sxt_store_read(object, ranges, 1, &error), SXT_ERROR_USAGE);
    ranges[0] = (struct sxt_store_range){.offset = UINT64_MAX, .size = 2, .to = to[0]};
    assert_int_equal(sxt_store_read(object, ranges, 1, &error), SXT_ERROR_USAGE);
    sxt_store_close_object(&object);
    assert_null(object);
    free(data);
}

TEST(an_object_can_be_mapped)
{
    put("m/full", "content of it");
    put("m/empty", "");
    const char *keys[] = {"m/full", "m/empty", "m/full"};
    const char *texts[] = {"content of it", "", "content of it"};
    for (size_t i = 0; i < 3; i++) {
        struct sxt_store_object *object;
        struct sxt_file file;
        assert_ok(sxt_store_open_object(store, keys[i], &object, &error));
        assert_ok(sxt_store_map(object, &file, &error));
        sxt_store_close_object(&object);
        assert_int_equal(file.size, strlen(texts[i]));
        assert_memory_equal(file.data, texts[i], file.size);
        sxt_file_close(&file);
    }
}

TEST(a_mapped_object_outlives_its_removal)
{
    put("m", "content");
    struct sxt_store_object *object;
    struct sxt_file file;
    assert_ok(sxt_store_open_object(store, "m", &object, &error));
    assert_ok(sxt_store_map(object, &file, &error));
    assert_ok(sxt_store_remove(store, "m", &error));
    assert_memory_equal(file.data, "content", 7);
    sxt_store_close_object(&object);
    sxt_file_close(&file);
}

TEST(get_refuses_an_object_above_the_limit)
{
    put("a", "12345");
    char *data;
    size_t size;
    assert_int_equal(sxt_store_get(store, "a", 4, &data, &size, &error), SXT_ERROR_LIMIT);
    assert_null(data);
    assert_ok(sxt_store_get(store, "a", 5, &data, &size, &error));
    assert_int_equal(size, 5);
    free(data);
}

TEST(removing_an_object_twice_succeeds)
{
    put("a/b/c", "x");
    put("a/d", "y");
    assert_ok(sxt_store_remove(store, "a/b/c", &error));
    assert_ok(sxt_store_remove(store, "a/b/c", &error));
    assert_ok(sxt_store_remove(store, "never/was", &error));
    assert_list("", false, "a/d 1\n");
}

TEST(listings_are_in_the_order_of_bytes)
{
    const char *keys[] = {"b", "a/x", "a-b/x", "a=/x", "a.b", "a0", "A/z", "a/y/z", "a/y-z", "a/~/0", "_", "a/x.y"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        put(keys[i], "12");
    assert_list("", false,
                "A/z 2\n_ 2\na-b/x 2\na.b 2\na/x 2\na/x.y 2\na/y-z 2\na/y/z 2\na/~/0 2\na0 2\na=/x 2\nb 2\n");
    assert_list("a/", false, "a/x 2\na/x.y 2\na/y-z 2\na/y/z 2\na/~/0 2\n");
    assert_list("a/y/", false, "a/y/z 2\n");
    assert_list("none/", false, "");
    assert_list("b/", false, "");
    assert_list("", true, "A/ 0\n_ 0\na-b/ 0\na.b 0\na/ 0\na0 0\na=/ 0\nb 0\n");
    assert_list("a/", true, "a/x 0\na/x.y 0\na/y-z 0\na/y/ 0\na/~/ 0\n");
    assert_list("none/", true, "");
}

TEST(a_word_without_objects_is_not_listed)
{
    put("a/b/c", "x");
    assert_ok(sxt_store_remove(store, "a/b/c", &error));
    assert_list("", true, "");
    assert_list("a/", true, "");
    assert_list("", false, "");
}

static int note_times(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)key;
    (void)size;
    *(int64_t *)data = modified_us;
    return SXT_OK;
}

TEST(a_listing_has_times_in_microseconds)
{
    put("a", "x");
    int64_t modified = 0;
    assert_ok(sxt_store_list(store, "", note_times, &modified, &error));
    int64_t now = (int64_t)time(NULL) * 1000000;
    assert_true(modified > now - 3600 * (int64_t)1000000 && modified < now + 3600 * (int64_t)1000000);
}

static int stop_at_b(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    ++*(size_t *)data;
    return *key == 'b' ? SXT_ERROR_LIMIT : SXT_OK;
}

TEST(a_visitor_ends_a_listing)
{
    put("a", "x");
    put("b", "x");
    put("c", "x");
    size_t count = 0;
    assert_int_equal(sxt_store_list(store, "", stop_at_b, &count, &error), SXT_ERROR_LIMIT);
    assert_int_equal(count, 2);
    assert_int_equal(sxt_store_list_words(store, "", stop_at_b, &count, &error), SXT_ERROR_LIMIT);
    assert_int_equal(count, 4);
}

TEST(a_listing_of_many_objects_is_complete)
{
    enum { COUNT = 120 };
    char key[60], lines[4096] = "", found[4096] = "";
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(key, sizeof key, "many/%03zu/%zu", i * 37 % COUNT, i * 37 % COUNT);
        put(key, "1");
        sprintf(lines + strlen(lines), "many/%03zu/%zu 1\n", i, i);
    }
    assert_ok(sxt_store_list(store, "many/", append_line, found, &error));
    assert_string_equal(found, lines);
    size_t count = 0;
    assert_ok(sxt_store_list_words(store, "many/", count_it, &count, &error));
    assert_int_equal(count, COUNT);
}

static void *write_and_list(void *number)
{
    for (size_t i = 0; i < 10; i++) {
        char key[40], text[40];
        size_t count = 0, size;
        char *data;
        snprintf(key, sizeof key, "p/%zu/%zu", i % 2, *(size_t *)number);
        snprintf(text, sizeof text, "%zu", *(size_t *)number);
        if (sxt_store_put(store, key, text, strlen(text), NULL) != SXT_OK)
            return NULL;
        if (sxt_store_list(store, "p/", count_it, &count, NULL) != SXT_OK || count == 0)
            return NULL;
        if (sxt_store_get(store, key, 100, &data, &size, NULL) != SXT_OK)
            return NULL;
        int order = strcmp(data, text);
        free(data);
        if (order != 0 || sxt_store_remove(store, key, NULL) != SXT_OK)
            return NULL;
    }
    return number;
}

TEST(threads_write_list_and_remove_in_the_same_folders)
{
    enum { THREADS = 4 };
    put("p/0/keep", "");
    put("p/1/keep", "");
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_and_list, &numbers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    assert_list("", false, "p/0/keep 0\np/1/keep 0\n");
}

TEST(figures_count_what_was_done)
{
    put("a", "12345");
    assert_content("a", "12345", 5);
    assert_list("", false, "a 5\n");
    assert_ok(sxt_store_remove(store, "a", &error));
    struct sxt_store_figures figures;
    sxt_store_get_figures(store, &figures);
    assert_int_equal(figures.writes, 1);
    assert_int_equal(figures.reads, 1);
    assert_int_equal(figures.lists, 1);
    assert_int_equal(figures.removals, 1);
    assert_int_equal(figures.errors, 0);
    assert_int_equal(figures.bytes_read, 5);
    assert_int_equal(figures.bytes_written, 5);
}

TEST(a_good_store_passes_the_check)
{
    assert_ok(sxt_store_check(store, &error));
    put("a", "x");
    assert_ok(sxt_store_check(store, &error));
}

TEST(a_second_store_at_the_same_place_has_the_same_objects)
{
    struct sxt_store *other;
    assert_ok(sxt_store_open(place, &options, &other, &error));
    put("a/b", "x");
    char *data;
    size_t size;
    assert_ok(sxt_store_get(other, "a/b", 10, &data, &size, &error));
    free(data);
    assert_ok(sxt_store_remove(other, "a/b", &error));
    assert_list("", false, "");
    sxt_store_close(&other);
}

TEST(a_place_that_is_neither_a_directory_nor_a_bucket_is_refused)
{
    struct sxt_store *none;
    const char *bad[] = {"", "http://host/x", "S3://bucket", "s3://", "s3:///x", "file:///tmp"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sxt_store_open(bad[i], NULL, &none, &error), SXT_ERROR_USAGE);
        assert_null(none);
    }
    assert_true(sxt_store_is_remote("s3://bucket/x"));
    assert_false(sxt_store_is_remote("/s3/x"));
}
