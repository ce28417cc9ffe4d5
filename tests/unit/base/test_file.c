/* test_file.c: inputs of every kind that a user may name. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/output.h"
#include "support/folder.h"
#include "support/test.h"

static char folder[SXT_TEST_FOLDER_MAX];
static char input_path[SXT_TEST_FOLDER_MAX + 40]; /* of a file in it */

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(input_path, sizeof input_path, "%s/input", folder);
}

/* Nothing else is left in the folder. */
TEAR_DOWN()
{
    unlink(input_path);
    assert_int_equal(rmdir(folder), 0);
}

static void assert_content(const struct sxt_file *file, const void *data, size_t size)
{
    assert_int_equal(file->size, size);
    assert_memory_equal(file->data, data, size);
}

static void assert_empty(const struct sxt_file *file)
{
    assert_non_null(file->data);
    assert_int_equal(file->size, 0);
    assert_int_equal(file->owner, SXT_FILE_NOBODY);
}

TEST(maps_a_regular_file)
{
    sxt_test_put_file(input_path, "content", 7);
    struct sxt_file file;
    assert_int_equal(sxt_file_open(&file, input_path, NULL), SXT_OK);
    assert_int_equal(file.owner, SXT_FILE_MAPPED);
    assert_content(&file, "content", 7);
    /* A file is only ever replaced by rename: the mapping keeps the old content. */
    char other[260];
    snprintf(other, sizeof other, "%s.new", input_path);
    sxt_test_put_file(other, "replaced", 8);
    assert_int_equal(rename(other, input_path), 0);
    assert_content(&file, "content", 7);
    sxt_file_close(&file);
    assert_empty(&file);
    sxt_file_close(&file);
}

TEST(dropped_pages_come_back)
{
    enum { SIZE = 300000 };
    uint8_t *content = malloc(SIZE);
    assert_non_null(content);
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (uint8_t)(i * 7 + i / 251);
    sxt_test_put_file(input_path, content, SIZE);
    struct sxt_file file;
    assert_int_equal(sxt_file_open(&file, input_path, NULL), SXT_OK);
    static const size_t parts[][2] = {{0, SIZE}, {1, 5000}, {4095, 2}, {100, 0}, {8192, 4096}, {SIZE - 1, 1}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        sxt_file_drop_pages(file.data + parts[i][0], parts[i][1]);
        assert_content(&file, content, SIZE);
    }
    sxt_file_close(&file);
    free(content);
}

TEST(gives_an_empty_file_a_valid_pointer)
{
    sxt_test_put_file(input_path, "", 0);
    struct sxt_file file;
    assert_int_equal(sxt_file_open(&file, input_path, NULL), SXT_OK);
    assert_empty(&file);
    sxt_file_close(&file);
    sxt_file_from_memory(&file, NULL, 0);
    assert_empty(&file);
    sxt_file_close(&file);
}

TEST(says_why_it_cannot_open)
{
    struct sxt_file file;
    sxt_error error;
    assert_int_equal(sxt_file_open(&file, input_path, &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot open: No such file or directory");
    assert_empty(&file);
    assert_int_equal(sxt_file_open(&file, "", &error), SXT_ERROR_IO);
    assert_int_equal(sxt_file_open_fd(&file, -1, &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot open: Bad file descriptor");
    assert_empty(&file);
}

TEST(refuses_a_directory)
{
    struct sxt_file file;
    sxt_error error;
    assert_int_equal(sxt_file_open(&file, folder, &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "is a directory");
    assert_empty(&file);
}

TEST(takes_a_file_whole_from_a_descriptor_that_stands_elsewhere)
{
    sxt_test_put_file(input_path, "0123456789", 10);
    int fd = open(input_path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(lseek(fd, 4, SEEK_SET), 4);
    struct sxt_file file;
    assert_int_equal(sxt_file_open_fd(&file, fd, NULL), SXT_OK);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 4);
    assert_int_equal(close(fd), 0);
    assert_content(&file, "0123456789", 10);
    sxt_file_close(&file);
}

TEST(reads_files_that_say_they_are_empty)
{
    struct sxt_file file;
    sxt_error error;
    int status = sxt_file_open(&file, "/proc/self/status", &error);
    if (status == SXT_ERROR_IO)
        skip();
    assert_int_equal(status, SXT_OK);
    assert_int_equal(file.owner, SXT_FILE_ALLOCATED);
    assert_true(file.size > 100);
    assert_memory_equal(file.data, "Name:\t", 6);
    sxt_file_close(&file);

    char beginning[10];
    int fd = open("/proc/self/status", O_RDONLY);
    assert_int_equal(read(fd, beginning, sizeof beginning), sizeof beginning);
    assert_int_equal(sxt_file_open_fd(&file, fd, NULL), SXT_OK);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), sizeof beginning);
    assert_memory_equal(file.data, "Name:\t", 6);
    close(fd);
    sxt_file_close(&file);
}

struct feed {
    int fd;
    const uint8_t *data;
    size_t size;
};

static void *feed_pipe(void *argument)
{
    struct feed *feed = argument;
    /* In odd pieces, so that reads come up short. */
    for (size_t at = 0; at < feed->size;) {
        size_t piece = feed->size - at < 7001 ? feed->size - at : 7001;
        if (sxt_write_all(feed->fd, feed->data + at, piece, NULL) != SXT_OK)
            break;
        at += piece;
    }
    close(feed->fd);
    return NULL;
}

TEST(reads_standard_input_to_its_end)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 1000003};
    uint8_t *data = malloc(1000003);
    assert_non_null(data);
    for (size_t i = 0; i < 1000003; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    int old_input = dup(STDIN_FILENO);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        /* Once with a pipe that says "nothing yet" instead of waiting. */
        for (int blocking = 0; blocking < 2; blocking++) {
            int ends[2];
            assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
            if (!blocking)
                assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
            assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
            close(ends[0]);
            struct feed feed = {ends[1], data, sizes[s]};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, feed_pipe, &feed), 0);
            struct sxt_file file;
            int status = sxt_file_open(&file, "-", NULL);
            pthread_join(thread, NULL);
            assert_int_equal(status, SXT_OK);
            assert_content(&file, data, sizes[s]);
            assert_int_equal(file.owner, sizes[s] > 0 ? SXT_FILE_ALLOCATED : SXT_FILE_NOBODY);
            sxt_file_close(&file);
        }
    }
    if (old_input >= 0) {
        dup2(old_input, STDIN_FILENO);
        close(old_input);
    }
    free(data);
}

TEST(keeps_no_descriptor)
{
    sxt_test_put_file(input_path, "content", 7);
    int before = open("/dev/null", O_RDONLY);
    close(before);
    struct sxt_file mapped, read, none;
    assert_int_equal(sxt_file_open(&mapped, input_path, NULL), SXT_OK);
    assert_int_equal(sxt_file_open(&read, "/dev/null", NULL), SXT_OK);
    assert_int_equal(sxt_file_open(&none, folder, NULL), SXT_ERROR_IO);
    int after = open("/dev/null", O_RDONLY);
    close(after);
    assert_int_equal(after, before);
    sxt_file_close(&mapped);
    sxt_file_close(&read);
}

TEST(reads_devices)
{
    struct sxt_file file;
    assert_int_equal(sxt_file_open(&file, "/dev/null", NULL), SXT_OK);
    assert_empty(&file);
    sxt_file_close(&file);
}

TEST(reports_a_read_that_fails)
{
    struct sxt_file file;
    sxt_error error;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(sxt_file_open_fd(&file, ends[1], &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot read: Bad file descriptor");
    assert_empty(&file);
    close(ends[0]);
    close(ends[1]);
}

TEST(borrows_memory)
{
    static const char text[] = "text";
    struct sxt_file file;
    sxt_file_from_memory(&file, text, 4);
    assert_ptr_equal(file.data, text);
    assert_int_equal(file.size, 4);
    sxt_file_close(&file);
    assert_empty(&file);
}

static size_t write_gzip(const char *path, const char *text)
{
    gzFile out = gzopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(gzwrite(out, text, (unsigned)strlen(text)), (int)strlen(text));
    assert_int_equal(gzclose(out), Z_OK);
    struct stat attributes;
    assert_int_equal(stat(path, &attributes), 0);
    return (size_t)attributes.st_size;
}

TEST(inflates_what_is_compressed_and_nothing_else)
{
    struct sxt_file file;
    sxt_test_put_file(input_path, "plain", 5);
    assert_int_equal(sxt_file_open(&file, input_path, NULL), SXT_OK);
    assert_int_equal(sxt_file_inflate(&file, 0, NULL), SXT_OK);
    assert_int_equal(file.owner, SXT_FILE_MAPPED);
    assert_content(&file, "plain", 5);
    sxt_file_close(&file);

    write_gzip(input_path, "what was in it");
    assert_int_equal(sxt_file_open(&file, input_path, NULL), SXT_OK);
    assert_int_equal(sxt_file_inflate(&file, 14, NULL), SXT_OK);
    assert_int_equal(file.owner, SXT_FILE_ALLOCATED);
    assert_content(&file, "what was in it", 14);
    sxt_file_close(&file);
}

TEST(keeps_the_file_when_inflating_fails)
{
    size_t size = write_gzip(input_path, "what was in it");
    struct sxt_file file;
    sxt_error error;
    assert_int_equal(sxt_file_open(&file, input_path, NULL), SXT_OK);
    assert_int_equal(sxt_file_inflate(&file, 13, &error), SXT_ERROR_LIMIT);
    assert_int_equal(file.owner, SXT_FILE_MAPPED);
    assert_int_equal(file.size, size);
    assert_memory_equal(file.data, "\x1f\x8b", 2);
    sxt_file_close(&file);
}
