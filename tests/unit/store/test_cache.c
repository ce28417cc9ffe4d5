/* Tests of store/cache.c: objects on the local disk, up to a limit. */
#include "store/cache.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/temporary.h"
#include "support/folder.h"
#include "support/test.h"

static char folder[SXT_TEST_FOLDER_MAX];
static char path[SXT_TEST_FOLDER_MAX + 20];
static struct sxt_cache *cache;
static sxt_error error;

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(path, sizeof path, "%s/cache", folder);
    assert_int_equal(sxt_cache_open(path, 1000, &cache, &error), SXT_OK);
}

TEAR_DOWN()
{
    sxt_cache_close(&cache);
    sxt_test_remove_folder(folder);
}

/* A name of 64 digits that ends with NUMBER. */
static const char *name_of(int number)
{
    static _Thread_local char name[SXT_CACHE_NAME_SIZE];
    snprintf(name, SXT_CACHE_NAME_SIZE, "%064d", number);
    return name;
}

static void keep(struct sxt_cache *in, int number, size_t size)
{
    struct sxt_store_writing writing;
    static char data[2000];
    assert_int_equal(sxt_cache_write(in, &writing, &error), SXT_OK);
    assert_int_equal(write(writing.descriptor, data, size), size);
    sxt_cache_keep(in, &writing, name_of(number));
    sxt_temporary_remove(&writing);
}

static bool has(struct sxt_cache *in, int number, uint64_t size)
{
    int file = sxt_cache_find(in, name_of(number), size);
    if (file >= 0)
        close(file);
    return file >= 0;
}

static void set_age(int number, int seconds)
{
    char file[300];
    struct timespec times[2] = {{.tv_sec = 1700000000 - seconds}, {.tv_sec = 1700000000 - seconds}};
    snprintf(file, sizeof file, "%s/%s", path, name_of(number));
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

TEST(finds_what_was_kept)
{
    assert_false(has(cache, 1, 100));
    keep(cache, 1, 100);
    assert_true(has(cache, 1, 100));
    assert_int_equal(sxt_cache_bytes(cache), 100);
}

TEST(a_file_of_another_size_is_not_used)
{
    keep(cache, 1, 100);
    assert_false(has(cache, 1, 101));
    assert_false(has(cache, 1, 100));
}

TEST(removes_what_was_used_least_recently)
{
    for (int i = 1; i <= 4; i++) {
        keep(cache, i, 240);
        set_age(i, 100 - i);
    }
    assert_true(has(cache, 1, 240));
    keep(cache, 5, 240);
    assert_true(has(cache, 1, 240));
    assert_false(has(cache, 2, 240));
    assert_true(has(cache, 5, 240));
    assert_true(sxt_cache_bytes(cache) <= 1000);
}

TEST(what_is_larger_than_the_limit_is_not_kept)
{
    keep(cache, 1, 500);
    keep(cache, 2, 1001);
    assert_true(has(cache, 1, 500));
    assert_false(has(cache, 2, 1001));
}

TEST(an_open_file_outlives_its_removal)
{
    keep(cache, 1, 100);
    int file = sxt_cache_find(cache, name_of(1), 100);
    assert_int_equal(sxt_cache_shrink(cache, 0), 100);
    assert_false(has(cache, 1, 100));
    char data[100];
    assert_int_equal(read(file, data, 100), 100);
    close(file);
}

TEST(another_process_sees_the_same_objects_and_the_limit_holds_for_both)
{
    struct sxt_cache *other;
    keep(cache, 1, 100);
    assert_int_equal(sxt_cache_open(path, 1000, &other, &error), SXT_OK);
    assert_int_equal(sxt_cache_bytes(other), 100);
    assert_true(has(other, 1, 100));
    for (int i = 2; i < 40; i++)
        keep(i % 2 == 0 ? cache : other, i, 100);
    uint64_t bytes = 0;
    for (int i = 1; i < 40; i++)
        bytes += has(cache, i, 100) ? 100 : 0;
    assert_true(bytes <= 1000);
    assert_true(bytes >= 500);
    sxt_cache_close(&other);
}

TEST(a_sweep_removes_what_killed_processes_left)
{
    char left[300];
    keep(cache, 1, 100);
    snprintf(left, sizeof left, "%s/.tmp/left", path);
    sxt_test_put_file(left, "x", 1);
    uint64_t bytes = 0;
    assert_int_equal(sxt_cache_sweep(cache, 3600, &bytes, &error), SXT_OK);
    assert_int_equal(access(left, F_OK), 0);
    assert_int_equal(sxt_cache_sweep(cache, 0, &bytes, &error), SXT_OK);
    assert_int_equal(access(left, F_OK), -1);
    assert_true(has(cache, 1, 100));
}

TEST(a_cache_that_others_can_write_to_is_refused)
{
    struct sxt_cache *other;
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(sxt_cache_open(path, 1000, &other, &error), SXT_ERROR_IO);
    assert_null(other);
    assert_non_null(strstr(error.text, "other users"));
    assert_int_equal(chmod(path, 0700), 0);
}

TEST(other_files_in_the_folder_stay)
{
    char file[300];
    snprintf(file, sizeof file, "%s/README", path);
    sxt_test_put_file(file, "text", 4);
    sxt_cache_shrink(cache, 0);
    assert_int_equal(access(file, F_OK), 0);
}

static _Atomic int inside, most, fetched;

static void *fetch_once(void *unused)
{
    sxt_cache_enter(cache, name_of(7));
    int now = ++inside;
    if (now > most)
        most = now;
    if (!has(cache, 7, 10)) {
        keep(cache, 7, 10);
        fetched++;
    }
    inside--;
    sxt_cache_leave(cache, name_of(7));
    return unused;
}

TEST(an_object_is_fetched_by_one_thread_at_a_time)
{
    pthread_t threads[4];
    inside = most = fetched = 0;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fetch_once, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(most, 1);
    assert_int_equal(fetched, 1);
}
