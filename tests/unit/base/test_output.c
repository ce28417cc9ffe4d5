/* test_output.c: a file appears whole or not at all, whatever goes wrong and whatever was there before. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "support/folder.h"
#include "support/test.h"

static char folder[SXT_TEST_FOLDER_MAX];

/* A name in the folder of the running test; valid until the fourth call after it. */
static const char *in_folder(const char *name)
{
    static char paths[4][600];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

SET_UP()
{
    sxt_test_make_folder(folder);
}

TEAR_DOWN()
{
    sxt_test_remove_folder(folder);
}

/* Removes the files of a folder and returns how many there were. */
static unsigned empty_folder(const char *path)
{
    DIR *entries = opendir(path);
    assert_non_null(entries);
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (unlinkat(dirfd(entries), entry->d_name, 0) != 0)
            unlinkat(dirfd(entries), entry->d_name, AT_REMOVEDIR);
    }
    closedir(entries);
    return count;
}

static unsigned count_entries(const char *path)
{
    DIR *entries = opendir(path);
    assert_non_null(entries);
    unsigned count = 0;
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    return count - 2;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(const char *path, const char *text)
{
    char content[100] = "";
    FILE *file = fopen(path, "r");
    if (file == NULL)
        fail_msg("%s: %s", path, strerror(errno));
    size_t size = fread(content, 1, sizeof content - 1, file);
    content[size] = '\0';
    fclose(file);
    assert_string_equal(content, text);
}

static unsigned mode_of(const char *path)
{
    struct stat attributes;
    assert_int_equal(lstat(path, &attributes), 0);
    return attributes.st_mode & 07777;
}

static int write_file(const char *path, const char *text, sxt_error *error)
{
    return sxt_output_save(path, text, strlen(text), error);
}

TEST(appears_only_when_committed)
{
    struct sxt_output output;
    assert_int_equal(sxt_output_open(&output, in_folder("out"), NULL), SXT_OK);
    assert_int_equal(sxt_output_write(&output, "one ", 4, NULL), SXT_OK);
    assert_int_equal(sxt_output_write(&output, "", 0, NULL), SXT_OK);
    assert_int_equal(sxt_output_write(&output, "two", 3, NULL), SXT_OK);
    assert_int_equal(output.size, 7);
    assert_int_equal(access(in_folder("out"), F_OK), -1);
    assert_int_equal(count_entries(folder), 1);
    assert_int_equal(fcntl(output.fd, F_GETFD), FD_CLOEXEC);
    int fd = output.fd;
    assert_int_equal(sxt_output_commit(&output, NULL), SXT_OK);
    assert_content(in_folder("out"), "one two");
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(count_entries(folder), 1);
    assert_int_equal(output.size, 7);
    sxt_output_abandon(&output);
    assert_content(in_folder("out"), "one two");
}

TEST(leaves_nothing_when_abandoned)
{
    struct sxt_output output;
    assert_int_equal(sxt_output_open(&output, in_folder("new"), NULL), SXT_OK);
    assert_int_equal(sxt_output_write(&output, "text", 4, NULL), SXT_OK);
    sxt_output_abandon(&output);
    sxt_output_abandon(&output);
    assert_int_equal(count_entries(folder), 0);

    put(in_folder("old"), "old");
    assert_int_equal(sxt_output_open(&output, in_folder("old"), NULL), SXT_OK);
    assert_int_equal(sxt_output_write(&output, "text", 4, NULL), SXT_OK);
    sxt_output_abandon(&output);
    assert_content(in_folder("old"), "old");
    assert_int_equal(count_entries(folder), 1);
}

TEST(does_nothing_on_an_output_that_is_not_open)
{
    struct sxt_output output;
    memset(&output, 0, sizeof output);
    int flags = fcntl(STDIN_FILENO, F_GETFD);
    sxt_output_abandon(&output);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), flags);
    assert_int_equal(sxt_output_write(&output, "a", 1, NULL), SXT_ERROR_USAGE);
    assert_int_equal(sxt_output_commit(&output, NULL), SXT_ERROR_USAGE);
}

TEST(gives_a_new_file_the_mode_of_a_plain_create)
{
    mode_t before = umask(022);
    int first = write_file(in_folder("a"), "a", NULL);
    umask(077);
    int second = write_file(in_folder("b"), "b", NULL);
    umask(before);
    assert_int_equal(first, SXT_OK);
    assert_int_equal(second, SXT_OK);
    assert_int_equal(mode_of(in_folder("a")), 0644);
    assert_int_equal(mode_of(in_folder("b")), 0600);
}

TEST(keeps_the_mode_of_the_file_it_replaces)
{
    static const mode_t modes[] = {0640, 0600, 0755, 0444, 0666};
    mode_t before = umask(022);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        put(in_folder("out"), "old");
        assert_int_equal(chmod(in_folder("out"), modes[i]), 0);
        int status = write_file(in_folder("out"), "new", NULL);
        assert_int_equal(status, SXT_OK);
        assert_int_equal(mode_of(in_folder("out")), modes[i]);
        assert_content(in_folder("out"), "new");
        assert_int_equal(unlink(in_folder("out")), 0);
    }
    umask(before);
}

TEST(replaces_the_target_of_a_link_and_keeps_the_link)
{
    assert_int_equal(mkdir(in_folder("sub"), 0777), 0);
    put(in_folder("sub/target"), "old");
    assert_int_equal(symlink("sub/middle", in_folder("link")), 0);
    assert_int_equal(symlink("target", in_folder("sub/middle")), 0);
    assert_int_equal(write_file(in_folder("link"), "new", NULL), SXT_OK);
    char link[100] = "";
    assert_true(readlink(in_folder("link"), link, sizeof link - 1) > 0);
    assert_string_equal(link, "sub/middle");
    assert_content(in_folder("sub/target"), "new");
    struct stat attributes;
    assert_int_equal(lstat(in_folder("sub/target"), &attributes), 0);
    assert_true(S_ISREG(attributes.st_mode));
    assert_int_equal(count_entries(folder), 2);
    assert_int_equal(empty_folder(in_folder("sub")), 2);
}

TEST(creates_the_target_of_a_dangling_link)
{
    assert_int_equal(symlink("later", in_folder("relative")), 0);
    assert_int_equal(write_file(in_folder("relative"), "new", NULL), SXT_OK);
    assert_content(in_folder("later"), "new");
    assert_int_equal(symlink(in_folder("much later"), in_folder("absolute")), 0);
    assert_int_equal(write_file(in_folder("absolute"), "newer", NULL), SXT_OK);
    assert_content(in_folder("much later"), "newer");
    assert_int_equal(count_entries(folder), 4);
}

TEST(refuses_links_that_go_round)
{
    assert_int_equal(symlink("b", in_folder("a")), 0);
    assert_int_equal(symlink("a", in_folder("b")), 0);
    sxt_error error;
    assert_int_equal(write_file(in_folder("a"), "x", &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot create: Too many levels of symbolic links");
    assert_int_equal(count_entries(folder), 2);
}

TEST(refuses_what_cannot_be_a_file)
{
    sxt_error error;
    assert_int_equal(write_file(folder, "x", &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "is a directory");
    assert_int_equal(write_file(in_folder("missing/out"), "x", &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot create: No such file or directory");
    assert_int_equal(write_file(in_folder("missing/"), "x", &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot create: Is a directory");
    assert_int_equal(write_file("", "x", &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot create: No such file or directory");
    put(in_folder("file"), "old");
    assert_int_equal(write_file(in_folder("file/out"), "x", &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot create: Not a directory");
    assert_content(in_folder("file"), "old");
    assert_int_equal(count_entries(folder), 1);
}

TEST(leaves_the_old_file_when_the_disk_is_full)
{
    put(in_folder("out"), "old");
    char block[5000];
    memset(block, 'x', sizeof block);
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = before;
    low.rlim_cur = 12000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);

    struct sxt_output output;
    sxt_error error;
    int opened = sxt_output_open(&output, in_folder("out"), NULL);
    setrlimit(RLIMIT_FSIZE, &low);
    int first = sxt_output_write(&output, block, sizeof block, NULL);
    int second = sxt_output_write(&output, block, sizeof block, NULL);
    int third = sxt_output_write(&output, block, sizeof block, &error);
    int committed = sxt_output_commit(&output, NULL);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);

    assert_int_equal(opened, SXT_OK);
    assert_int_equal(first, SXT_OK);
    assert_int_equal(second, SXT_OK);
    assert_int_equal(third, SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot write: File too large");
    assert_int_equal(committed, SXT_ERROR_USAGE);
    assert_content(in_folder("out"), "old");
    assert_int_equal(count_entries(folder), 1);
}

TEST(removes_the_temporary_file_when_the_name_is_taken)
{
    struct sxt_output output;
    sxt_error error;
    assert_int_equal(sxt_output_open(&output, in_folder("out"), NULL), SXT_OK);
    assert_int_equal(mkdir(in_folder("out"), 0777), 0);
    assert_int_equal(sxt_output_commit(&output, &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot rename the temporary file: Is a directory");
    assert_int_equal(count_entries(folder), 1);
}

TEST(writes_devices_and_pipes_in_place)
{
    sxt_error error;
    assert_int_equal(write_file("/dev/null", "gone", NULL), SXT_OK);
    assert_int_equal(write_file("/dev/full", "text", &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "cannot write: No space left on device");
    struct stat attributes;
    assert_int_equal(stat("/dev/full", &attributes), 0);
    assert_true(S_ISCHR(attributes.st_mode));

    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    int reader = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    assert_true(reader >= 0);
    assert_int_equal(write_file(in_folder("pipe"), "through", NULL), SXT_OK);
    char text[10] = "";
    assert_int_equal(read(reader, text, sizeof text), 7);
    assert_string_equal(text, "through");
    close(reader);
    assert_int_equal(count_entries(folder), 1);
}

TEST(writes_standard_output_and_leaves_it_open)
{
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    int file = open(in_folder("stdout"), O_WRONLY | O_CREAT, 0600);
    assert_true(kept >= 0 && file >= 0);
    dup2(file, STDOUT_FILENO);
    close(file);
    int first = write_file("-", "one ", NULL);
    int second = write_file("-", "two", NULL);
    int still_open = fcntl(STDOUT_FILENO, F_GETFD);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    assert_int_equal(first, SXT_OK);
    assert_int_equal(second, SXT_OK);
    assert_true(still_open >= 0);
    assert_content(in_folder("stdout"), "one two");
}

TEST(writes_a_deleted_file_behind_a_descriptor_in_place)
{
    int fd = open(in_folder("gone"), O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(unlink(in_folder("gone")), 0);
    char path[40], text[10] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (access(path, F_OK) != 0)
        skip();
    assert_int_equal(write_file(path, "text", NULL), SXT_OK);
    assert_int_equal(pread(fd, text, sizeof text, 0), 4);
    assert_string_equal(text, "text");
    close(fd);
    assert_int_equal(count_entries(folder), 0);
}

TEST(stays_away_from_the_standard_descriptors)
{
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    close(STDIN_FILENO);
    struct sxt_output file, device;
    int first = sxt_output_open(&file, in_folder("out"), NULL);
    int second = sxt_output_open(&device, "/dev/null", NULL);
    int file_fd = file.fd, device_fd = device.fd;
    int committed = sxt_output_commit(&file, NULL);
    sxt_output_abandon(&device);
    if (kept >= 0) {
        dup2(kept, STDIN_FILENO);
        close(kept);
    }
    assert_int_equal(first, SXT_OK);
    assert_int_equal(second, SXT_OK);
    assert_true(file_fd > STDERR_FILENO && device_fd > STDERR_FILENO);
    assert_int_equal(committed, SXT_OK);
}

TEST(takes_the_longest_name_there_is)
{
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(write_file(in_folder(name), "long", NULL), SXT_OK);
    assert_content(in_folder(name), "long");
    assert_int_equal(count_entries(folder), 1);
}

TEST(works_in_the_current_directory)
{
    int before = open(".", O_RDONLY | O_DIRECTORY);
    assert_true(before >= 0);
    assert_int_equal(chdir(folder), 0);
    int status = write_file("plain", "text", NULL);
    assert_int_equal(fchdir(before), 0);
    close(before);
    assert_int_equal(status, SXT_OK);
    assert_content(in_folder("plain"), "text");
}

TEST(writes_everything_through_a_narrow_pipe)
{
    const size_t size = 1 << 20;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    pid_t reader = fork();
    assert_true(reader >= 0);
    if (reader == 0) {
        close(ends[1]);
        uint8_t piece[1000];
        size_t at = 0;
        bool right = true;
        for (ssize_t count; (count = read(ends[0], piece, sizeof piece)) > 0; at += (size_t)count)
            for (ssize_t i = 0; i < count; i++)
                right = right && piece[i] == (uint8_t)((at + (size_t)i) * 31 / 7);
        _exit(right && at == size ? 0 : 1);
    }
    close(ends[0]);
    uint8_t *data = malloc(size);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)(i * 31 / 7);
    assert_int_equal(sxt_write_all(ends[1], data, size, NULL), SXT_OK);
    close(ends[1]);
    free(data);
    int result;
    assert_int_equal(waitpid(reader, &result, 0), reader);
    assert_int_equal(result, 0);
}
