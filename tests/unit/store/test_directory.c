/* Tests of store/directory.c: what only a directory has. */
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/test.h"

static char folder[SXT_TEST_FOLDER_MAX];
static char place[2 * SXT_TEST_FOLDER_MAX];
static struct sxt_store *store;
static sxt_error error;

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(place, sizeof place, "%s/store", folder);
    assert_int_equal(sxt_store_open(place, NULL, &store, &error), SXT_OK);
}

TEAR_DOWN()
{
    sxt_store_close(&store);
    sxt_test_remove_folder(folder);
}

static const char *path_of(const char *name)
{
    static char path[3 * SXT_TEST_FOLDER_MAX];
    snprintf(path, sizeof path, "%s/%s", place, name);
    return path;
}

static size_t count_files(const char *name)
{
    DIR *names = opendir(path_of(name));
    size_t count = 0;
    struct dirent *entry;
    while (names != NULL && (entry = readdir(names)) != NULL)
        count += *entry->d_name != '.';
    if (names != NULL)
        closedir(names);
    return count;
}

static int count_it(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)key;
    (void)size;
    (void)modified_us;
    ++*(size_t *)data;
    return SXT_OK;
}

static size_t count_listed(bool words)
{
    size_t count = 0;
    assert_int_equal((words ? sxt_store_list_words : sxt_store_list)(store, "", count_it, &count, &error), SXT_OK);
    return count;
}

TEST(creates_the_directory_but_not_its_parent)
{
    struct stat made;
    assert_int_equal(stat(place, &made), 0);
    assert_int_equal(made.st_mode & 0777, 0700);
    struct sxt_store *other;
    assert_int_equal(sxt_store_open(path_of("no/such"), NULL, &other, &error), SXT_ERROR_IO);
    assert_null(other);
    assert_non_null(strstr(error.text, "No such file or directory"));
    sxt_test_put_file(path_of("file"), "x", 1);
    assert_int_equal(sxt_store_open(path_of("file"), NULL, &other, &error), SXT_ERROR_IO);
    assert_non_null(strstr(error.text, "Not a directory"));
}

TEST(objects_are_private_files_and_nothing_else_is_left)
{
    assert_int_equal(sxt_store_put(store, "a/b", "x", 1, &error), SXT_OK);
    struct stat made;
    assert_int_equal(stat(path_of("a/b"), &made), 0);
    assert_int_equal(made.st_mode & 0777, 0600);
    assert_int_equal(stat(path_of("a"), &made), 0);
    assert_int_equal(made.st_mode & 0777, 0700);
    assert_int_equal(count_files(".tmp"), 0);
    assert_int_equal(sxt_store_remove(store, "a/b", &error), SXT_OK);
    assert_int_equal(access(path_of("a"), F_OK), -1);
}

TEST(links_and_special_files_are_not_objects)
{
    char outside[2 * SXT_TEST_FOLDER_MAX];
    snprintf(outside, sizeof outside, "%s/outside", folder);
    assert_int_equal(mkdir(outside, 0700), 0);
    snprintf(outside, sizeof outside, "%s/outside/secret", folder);
    sxt_test_put_file(outside, "secret", 6);
    assert_int_equal(symlink(outside, path_of("link")), 0);
    assert_int_equal(symlink("../outside", path_of("folder")), 0);
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    const char *bad[] = {"link", "folder/secret", "pipe"};
    for (size_t i = 0; i < 3; i++) {
        struct sxt_store_object *object;
        assert_int_equal(sxt_store_open_object(store, bad[i], &object, &error), SXT_ERROR_IO);
        assert_null(object);
    }
    assert_int_equal(count_listed(false), 0);
    assert_int_equal(count_listed(true), 0);
    size_t count = 0;
    assert_int_not_equal(sxt_store_put(store, "folder/new", "x", 1, &error), SXT_OK);
    sxt_store_remove(store, "folder/secret", &error);
    assert_int_equal(sxt_store_list(store, "folder/", count_it, &count, NULL) == SXT_OK ? count : 0, 0);
    assert_int_equal(access(outside, F_OK), 0);
    /* A link at the name of an object is replaced, not followed. */
    assert_int_equal(sxt_store_put(store, "link", "new", 3, &error), SXT_OK);
    char text[7] = "";
    int file = open(outside, O_RDONLY);
    assert_int_equal(read(file, text, 6), 6);
    close(file);
    assert_string_equal(text, "secret");
}

TEST(a_link_in_place_of_the_temporary_folder_is_refused)
{
    assert_int_equal(symlink("/tmp", path_of(".tmp")), 0);
    assert_int_equal(sxt_store_put(store, "a", "x", 1, &error), SXT_ERROR_IO);
}

TEST(files_with_other_names_are_not_listed)
{
    sxt_test_put_file(path_of("not a key"), "x", 1);
    sxt_test_put_file(path_of(".hidden"), "x", 1);
    sxt_test_put_file(path_of("backup:1"), "x", 1);
    assert_int_equal(count_listed(false), 0);
    assert_int_equal(count_listed(true), 0);
}

TEST(empty_folders_are_not_words)
{
    assert_int_equal(mkdir(path_of("a"), 0700), 0);
    assert_int_equal(mkdir(path_of("a/b"), 0700), 0);
    assert_int_equal(count_listed(true), 0);
    assert_int_equal(sxt_store_put(store, "a/b/c", "x", 1, &error), SXT_OK);
    assert_int_equal(count_listed(true), 1);
}

TEST(a_folder_cannot_be_an_object_and_an_object_cannot_be_a_folder)
{
    assert_int_equal(sxt_store_put(store, "a/b", "x", 1, &error), SXT_OK);
    assert_int_equal(sxt_store_put(store, "a", "x", 1, &error), SXT_ERROR_IO);
    assert_int_equal(sxt_store_put(store, "a/b/c", "x", 1, &error), SXT_ERROR_IO);
    assert_int_equal(sxt_store_remove(store, "a", &error), SXT_OK);
    assert_int_equal(count_files(".tmp"), 0);
    assert_int_equal(count_listed(false), 1);
}

static void *put_and_remove(void *number)
{
    char key[40];
    snprintf(key, sizeof key, "p/q/r/%zu", *(size_t *)number);
    for (size_t i = 0; i < 40; i++)
        if (sxt_store_put(store, key, "x", 1, NULL) != SXT_OK || sxt_store_remove(store, key, NULL) != SXT_OK)
            return NULL;
    return number;
}

TEST(a_folder_that_is_removed_while_an_object_is_put_is_made_again)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    size_t numbers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_remove, &numbers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    assert_int_equal(count_files(""), 0);
}

TEST(an_open_object_outlives_its_removal)
{
    assert_int_equal(sxt_store_put(store, "a", "text", 4, &error), SXT_OK);
    struct sxt_store_object *object;
    assert_int_equal(sxt_store_open_object(store, "a", &object, &error), SXT_OK);
    assert_true(sxt_store_object_descriptor(object) >= 0);
    assert_int_equal(sxt_store_remove(store, "a", &error), SXT_OK);
    char text[4];
    const struct sxt_store_range whole = {.size = 4, .to = text};
    assert_int_equal(sxt_store_read(object, &whole, 1, &error), SXT_OK);
    assert_memory_equal(text, "text", 4);
    sxt_store_close_object(&object);
}

TEST(a_file_that_was_cut_is_an_error)
{
    assert_int_equal(sxt_store_put(store, "a", "text", 4, &error), SXT_OK);
    struct sxt_store_object *object;
    assert_int_equal(sxt_store_open_object(store, "a", &object, &error), SXT_OK);
    assert_int_equal(truncate(path_of("a"), 2), 0);
    char text[4];
    const struct sxt_store_range whole = {.size = 4, .to = text};
    assert_int_equal(sxt_store_read(object, &whole, 1, &error), SXT_ERROR_IO);
    assert_non_null(strstr(error.text, "cut off"));
    sxt_store_close_object(&object);
}

TEST(a_sweep_removes_old_temporary_files_that_nobody_writes)
{
    struct sxt_store_writing *writing;
    assert_int_equal(sxt_store_write_begin(store, &writing, &error), SXT_OK);
    sxt_test_put_file(path_of(".tmp/left"), "0123456789", 10);
    uint64_t bytes = 7;
    assert_int_equal(sxt_store_sweep(store, 3600, &bytes, &error), SXT_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(count_files(".tmp"), 2);
    assert_int_equal(sxt_store_sweep(store, UINT64_MAX, &bytes, &error), SXT_OK);
    assert_int_equal(count_files(".tmp"), 2);
    assert_int_equal(sxt_store_sweep(store, 0, &bytes, &error), SXT_OK);
    assert_int_equal(count_files(".tmp"), 1);
    assert_int_equal(sxt_store_write(writing, "x", 1, &error), SXT_OK);
    assert_int_equal(sxt_store_write_commit(&writing, "a", &error), SXT_OK);
    assert_int_equal(count_listed(false), 1);
}

TEST(a_temporary_file_that_somebody_removed_is_an_error)
{
    struct sxt_store_writing *writing;
    assert_int_equal(sxt_store_write_begin(store, &writing, &error), SXT_OK);
    assert_int_equal(unlink(sxt_store_write_path(writing)), 0);
    assert_int_equal(sxt_store_write_commit(&writing, "a", &error), SXT_ERROR_IO);
    assert_non_null(strstr(error.text, "temporary file"));
    assert_int_equal(count_listed(false), 0);
}

TEST(a_directory_that_was_removed_fails_the_check)
{
    assert_int_equal(rmdir(place), 0);
    assert_int_equal(sxt_store_check(store, &error), SXT_ERROR_IO);
    assert_int_equal(sxt_store_put(store, "a", "x", 1, &error), SXT_ERROR_IO);
    assert_int_equal(mkdir(place, 0700), 0);
}

/* Objects "k/N" whose content is N, 5000 times: each is written in several pieces. */
static void write_until_killed(unsigned seed)
{
    struct sxt_store *mine;
    if (sxt_store_open(place, NULL, &mine, NULL) != SXT_OK)
        _exit(1);
    for (unsigned i = seed;; i++) {
        unsigned content[1000];
        char key[40];
        for (size_t j = 0; j < 1000; j++)
            content[j] = i;
        snprintf(key, sizeof key, "k/%u/%u", i % 3, i);
        struct sxt_store_writing *writing;
        if (sxt_store_write_begin(mine, &writing, NULL) != SXT_OK)
            _exit(1);
        for (int piece = 0; piece < 5; piece++)
            if (sxt_store_write(writing, content, sizeof content, NULL) != SXT_OK)
                _exit(1);
        if (sxt_store_write_commit(&writing, key, NULL) != SXT_OK)
            _exit(1);
        if (i % 2 == 0 && sxt_store_remove(mine, key, NULL) != SXT_OK)
            _exit(1);
    }
}

static int check_whole(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)modified_us;
    assert_int_equal(size, 20000);
    char *content;
    size_t content_size;
    int status = sxt_store_get(store, key, 20000, &content, &content_size, NULL);
    if (status == SXT_ERROR_NOT_FOUND)
        return SXT_OK; /* removed meanwhile */
    assert_int_equal(status, SXT_OK);
    unsigned expected = (unsigned)strtoul(strrchr(key, '/') + 1, NULL, 10);
    for (size_t i = 0; i < 5000; i++)
        assert_memory_equal(content + i * sizeof expected, &expected, sizeof expected);
    free(content);
    ++*(size_t *)data;
    return SXT_OK;
}

TEST(kill_9_at_any_moment_leaves_whole_objects)
{
    uint64_t random = 1;
    for (unsigned round = 0; round < 12; round++) {
        pid_t writers[2];
        for (unsigned i = 0; i < 2; i++)
            if ((writers[i] = fork()) == 0)
                write_until_killed(round * 100000 + i * 50000);
        random = random * 6364136223846793005u + 1442695040888963407u;
        usleep(1000 + (useconds_t)((random >> 33) % 20000));
        size_t seen = 0;
        assert_int_equal(sxt_store_list(store, "k/", check_whole, &seen, &error), SXT_OK);
        for (unsigned i = 0; i < 2; i++) {
            int status;
            kill(writers[i], SIGKILL);
            assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
            assert_true(WIFSIGNALED(status));
        }
        seen = 0;
        assert_int_equal(sxt_store_list(store, "k/", check_whole, &seen, &error), SXT_OK);
    }
    uint64_t bytes;
    assert_int_equal(sxt_store_sweep(store, 0, &bytes, &error), SXT_OK);
    assert_int_equal(count_files(".tmp"), 0);
}

/* Mounts a tmpfs of SIZE bytes over the store in a namespace of the child that this runs in; false: not allowed. */
static bool mount_small(const char *options, unsigned long flags)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", place, "tmpfs", flags, options) == 0;
}

/* Exit codes of the child. */
enum { GOOD = 0, SKIPPED = 77 };

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            _exit(__LINE__ % 70 + 1);                                                                                  \
    } while (0)

static void run_in_child(void (*run)(void), const char *why_skipped)
{
    pid_t child = fork();
    if (child == 0) {
        run();
        _exit(GOOD);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED) {
        print_message("# %s\n", why_skipped);
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), GOOD);
}

static void fill_disk(void)
{
    if (!mount_small("size=256k", 0))
        _exit(SKIPPED);
    struct sxt_store *small;
    static char block[16384];
    REQUIRE(sxt_store_open(place, NULL, &small, &error) == SXT_OK);
    REQUIRE(sxt_store_check(small, &error) == SXT_OK);
    int status = SXT_OK;
    size_t count = 0, listed = 0;
    while (status == SXT_OK && count < 100) {
        char key[20];
        snprintf(key, sizeof key, "a/%zu", count);
        status = sxt_store_put(small, key, block, sizeof block, &error);
        count += status == SXT_OK;
    }
    REQUIRE(status == SXT_ERROR_LIMIT && error.code == SXT_ERROR_LIMIT);
    REQUIRE(strstr(error.text, "No space left on device") != NULL);
    REQUIRE(count > 5 && count < 20);
    REQUIRE(sxt_store_list(small, "", count_it, &listed, &error) == SXT_OK && listed == count);
    REQUIRE(count_files(".tmp") == 0);
    struct sxt_store_writing *writing;
    REQUIRE(sxt_store_write_begin(small, &writing, &error) == SXT_OK);
    status = SXT_OK;
    for (size_t i = 0; i < 100 && status == SXT_OK; i++)
        status = sxt_store_write(writing, block, sizeof block, &error);
    REQUIRE(status == SXT_ERROR_LIMIT);
    REQUIRE(sxt_store_check(small, &error) == SXT_ERROR_LIMIT);
    sxt_store_write_abandon(&writing);
    REQUIRE(sxt_store_remove(small, "a/0", &error) == SXT_OK);
    REQUIRE(sxt_store_put(small, "b", block, sizeof block, &error) == SXT_OK);
    sxt_store_close(&small);
}

TEST(a_full_disk_is_reported_and_leaves_whole_objects)
{
    run_in_child(fill_disk, "skipped: mounting a small tmpfs is not allowed");
}

static void use_read_only(void)
{
    if (!mount_small("size=256k", 0))
        _exit(SKIPPED);
    struct sxt_store *mine;
    REQUIRE(sxt_store_open(place, NULL, &mine, &error) == SXT_OK);
    REQUIRE(sxt_store_put(mine, "a/b", "text", 4, &error) == SXT_OK);
    sxt_store_close(&mine);
    REQUIRE(mount("none", place, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
    REQUIRE(sxt_store_open(place, NULL, &mine, &error) == SXT_OK);
    char *data;
    size_t size, listed = 0;
    REQUIRE(sxt_store_get(mine, "a/b", 10, &data, &size, &error) == SXT_OK && size == 4);
    free(data);
    REQUIRE(sxt_store_list(mine, "", count_it, &listed, &error) == SXT_OK && listed == 1);
    REQUIRE(sxt_store_put(mine, "c", "x", 1, &error) == SXT_ERROR_IO);
    REQUIRE(strstr(error.text, "Read-only file system") != NULL);
    REQUIRE(sxt_store_remove(mine, "a/b", &error) == SXT_ERROR_IO);
    REQUIRE(strstr(error.text, "Read-only file system") != NULL);
    REQUIRE(sxt_store_check(mine, &error) == SXT_ERROR_IO);
    REQUIRE(strstr(error.text, "Read-only file system") != NULL);
    sxt_store_close(&mine);
}

TEST(a_read_only_store_can_be_read)
{
    run_in_child(use_read_only, "skipped: mounting a tmpfs is not allowed");
}

static void lack_permission(void)
{
    REQUIRE(chmod(place, 0500) == 0);
    /* Without capabilities, root has to obey permissions too. */
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    REQUIRE(syscall(SYS_capset, &header, none) == 0);
    struct sxt_store *mine;
    REQUIRE(sxt_store_open(place, NULL, &mine, &error) == SXT_OK);
    REQUIRE(sxt_store_put(mine, "c", "x", 1, &error) == SXT_ERROR_IO);
    REQUIRE(strstr(error.text, "Permission denied") != NULL);
    REQUIRE(sxt_store_check(mine, &error) == SXT_ERROR_IO);
    REQUIRE(chmod(place, 0700) == 0);
    REQUIRE(sxt_store_check(mine, &error) == SXT_OK);
    sxt_store_close(&mine);
}

TEST(a_store_without_permission_says_so)
{
    run_in_child(lack_permission, "");
}
