/* test_files.c: the public API and the file system: paths, descriptors, and writes that fail. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sextant/sextant.h>

#include "support/elf_image.h"
#include "support/folder.h"
#include "support/lidia_image.h"
#include "support/model.h"
#include "support/test.h"

/* In the order of the worked example of the format. */
static const struct sxt_test_symbol symbols[] = {
    {"helper", 0x401060, 16, 'F', 'G'},
    {"_start", 0x401000, 32, 'F', 'G'},
    {"main", 0x401020, 64, 'F', 'G'},
};

static char folder[SXT_TEST_FOLDER_MAX];
static char path[SXT_TEST_FOLDER_MAX + 40];
static uint8_t *elf;
static size_t elf_size;
static sxt_symbols *model;

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    uint64_t code_offset;
    elf = sxt_test_elf_image(symbols, 3, &elf_size, &code_offset);
    assert_int_equal(sxt_symbols_from_memory(elf, elf_size, NULL, &model, NULL), SXT_OK);
}

/* Nothing else is left in the folder. */
TEAR_DOWN()
{
    sxt_symbols_free(&model);
    free(elf);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* The file at `path` has exactly this content, and there is no other file beside it. */
static void assert_file(const void *data, size_t size)
{
    uint8_t *content = malloc(size + 1);
    assert_non_null(content);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fread(content, 1, size + 1, in), size);
    assert_memory_equal(content, data, size);
    fclose(in);
    free(content);
    unsigned files = 0;
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;)
        files += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(list);
    assert_int_equal(files, 1);
}

static void *encoded(size_t *size)
{
    void *data;
    assert_int_equal(sxt_lidia_write_memory(model, NULL, &data, size, NULL, NULL), SXT_OK);
    assert_non_null(data);
    return data;
}

static void assert_main_is_found(const sxt_archive *archive)
{
    sxt_frame frame;
    assert_int_equal(sxt_archive_lookup(archive, 0x401030, &frame, 1), 1);
    sxt_test_assert_text(frame.function, "main");
}

TEST(a_written_file_is_opened_by_path_and_verified)
{
    assert_int_equal(sxt_lidia_write_path(model, NULL, path, NULL, NULL), SXT_OK);
    size_t size;
    void *data = encoded(&size);
    assert_file(data, size);
    sxt_free(data);
    sxt_archive *archive;
    assert_int_equal(sxt_archive_open_path(path, NULL, &archive, NULL), SXT_OK);
    assert_main_is_found(archive);
    sxt_archive_close(&archive);
    uint64_t count = 9;
    assert_int_equal(sxt_verify_path(path, NULL, NULL, &count, NULL), SXT_OK);
    assert_int_equal(count, 0);
}

TEST(an_open_archive_outlives_its_replacement)
{
    assert_int_equal(sxt_lidia_write_path(model, NULL, path, NULL, NULL), SXT_OK);
    sxt_archive *archive;
    assert_int_equal(sxt_archive_open_path(path, NULL, &archive, NULL), SXT_OK);
    struct sxt_symbols *other = sxt_test_model();
    sxt_test_finish(other);
    assert_int_equal(sxt_lidia_write_path(other, NULL, path, NULL, NULL), SXT_OK);
    sxt_symbols_free(&other);
    assert_main_is_found(archive);
    sxt_archive_close(&archive);
    struct stat attributes;
    assert_int_equal(stat(path, &attributes), 0);
    assert_int_equal(attributes.st_size, 146);
}

TEST(a_binary_is_opened_by_path_and_descriptor)
{
    sxt_test_put_file(path, elf, elf_size);
    sxt_archive *archive;
    assert_int_equal(sxt_archive_open_path(path, NULL, &archive, NULL), SXT_OK);
    assert_main_is_found(archive);
    sxt_archive_close(&archive);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(lseek(fd, 100, SEEK_SET), 100); /* a regular file is taken whole */
    assert_int_equal(sxt_archive_open_fd(fd, NULL, &archive, NULL), SXT_OK);
    sxt_symbols *again;
    assert_int_equal(sxt_symbols_from_fd(fd, NULL, &again, NULL), SXT_OK);
    assert_int_equal(close(fd), 0);
    assert_main_is_found(archive);
    assert_int_equal(sxt_symbols_range_count(again), 3);
    sxt_symbols_free(&again);
    sxt_archive_close(&archive);
    assert_int_equal(sxt_symbols_from_path(path, NULL, &again, NULL), SXT_OK);
    sxt_symbols_free(&again);
}

TEST(an_archive_may_come_through_a_pipe)
{
    int ends[2];
    size_t size;
    void *data = encoded(&size);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], data, size), size);
    assert_int_equal(close(ends[1]), 0);
    sxt_archive *archive;
    assert_int_equal(sxt_archive_open_fd(ends[0], NULL, &archive, NULL), SXT_OK);
    close(ends[0]);
    assert_main_is_found(archive);
    sxt_archive_close(&archive);
    sxt_free(data);
}

TEST(what_cannot_be_opened_says_why)
{
    sxt_archive *archive = (sxt_archive *)&archive;
    sxt_symbols *none = model;
    sxt_error error = {0};
    uint64_t count;
    assert_int_equal(sxt_archive_open_path(path, NULL, &archive, &error), SXT_ERROR_IO);
    assert_null(archive);
    assert_int_equal(error.code, SXT_ERROR_IO);
    assert_non_null(strstr(error.text, "No such file"));
    assert_int_equal(sxt_archive_open_path(folder, NULL, &archive, &error), SXT_ERROR_IO);
    assert_non_null(strstr(error.text, "directory"));
    assert_int_equal(sxt_archive_open_fd(-1, NULL, &archive, &error), SXT_ERROR_IO);
    assert_int_equal(sxt_archive_open_path(path, NULL, &archive, NULL), SXT_ERROR_IO);
    assert_int_equal(sxt_symbols_from_path(path, NULL, &none, NULL), SXT_ERROR_IO);
    assert_null(none);
    assert_int_equal(sxt_symbols_from_fd(-1, NULL, &none, &error), SXT_ERROR_IO);
    assert_int_equal(sxt_verify_path(path, NULL, NULL, &count, &error), SXT_ERROR_IO);
    sxt_test_put_file(path, "", 0);
    assert_int_equal(sxt_archive_open_path(path, NULL, &archive, &error), SXT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "empty"));
}

TEST(a_descriptor_is_written_from_where_it_stands_and_stays_open)
{
    size_t size;
    void *data = encoded(&size);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "abc", 3), 3);
    assert_int_equal(sxt_lidia_write_fd(model, NULL, fd, NULL, NULL), SXT_OK);
    assert_int_equal(write(fd, "xyz", 3), 3);
    uint8_t *content = malloc(size + 6);
    assert_non_null(content);
    assert_int_equal(pread(fd, content, size + 6, 0), size + 6);
    assert_memory_equal(content, "abc", 3);
    assert_memory_equal(content + 3, data, size);
    assert_memory_equal(content + 3 + size, "xyz", 3);
    assert_int_equal(close(fd), 0);
    free(content);
    sxt_free(data);
}

TEST(a_write_that_fails_leaves_the_old_file)
{
    sxt_test_put_file(path, "precious", 8);
    /* Nothing larger than 100 bytes can be written for a while. */
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 100;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    sxt_error error = {0};
    int status = sxt_lidia_write_path(model, NULL, path, NULL, &error);
    int fd = open(path, O_WRONLY | O_APPEND);
    int fd_status = sxt_lidia_write_fd(model, NULL, fd, NULL, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(ftruncate(fd, 8), 0);
    close(fd);
    assert_int_equal(status, SXT_ERROR_IO);
    assert_int_equal(fd_status, SXT_ERROR_IO);
    assert_int_equal(error.code, SXT_ERROR_IO);
    assert_file("precious", 8);
}

TEST(places_that_cannot_be_written_are_refused)
{
    sxt_error error = {0};
    char deeper[300];
    snprintf(deeper, sizeof deeper, "%s/missing/file", folder);
    assert_int_equal(sxt_lidia_write_path(model, NULL, deeper, NULL, &error), SXT_ERROR_IO);
    assert_int_equal(error.code, SXT_ERROR_IO);
    assert_int_equal(sxt_lidia_write_path(model, NULL, folder, NULL, NULL), SXT_ERROR_IO);
    assert_int_equal(sxt_lidia_write_path(model, NULL, "", NULL, &error), SXT_ERROR_IO);
    assert_int_equal(sxt_lidia_write_fd(model, NULL, -1, NULL, &error), SXT_ERROR_IO);
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(sxt_lidia_write_path(model, NULL, "/dev/full", NULL, &error), SXT_ERROR_IO);
    sxt_test_put_file(path, "x", 1);
    int fd = open(path, O_RDONLY);
    assert_int_equal(sxt_lidia_write_fd(model, NULL, fd, NULL, &error), SXT_ERROR_IO);
    close(fd);
    assert_file("x", 1);
}

TEST(wrong_options_write_nothing)
{
    sxt_test_put_file(path, "precious", 8);
    sxt_lidia_options options;
    sxt_lidia_options_init(&options);
    options.struct_size = 1;
    sxt_error error = {0};
    void *data = &error;
    size_t size = 7;
    assert_int_equal(sxt_lidia_write_memory(model, &options, &data, &size, NULL, &error), SXT_ERROR_USAGE);
    assert_null(data);
    assert_int_equal(size, 0);
    assert_int_equal(error.code, SXT_ERROR_USAGE);
    assert_int_equal(sxt_lidia_write_path(model, &options, path, NULL, NULL), SXT_ERROR_USAGE);
    assert_int_equal(sxt_lidia_write_fd(model, &options, 1, NULL, NULL), SXT_ERROR_USAGE);
    assert_file("precious", 8);
}

TEST(options_choose_the_form)
{
    struct sxt_symbols *nested = sxt_test_model();
    sxt_test_add_range(nested, SXT_SOURCE_DWARF, 0, "_ZN3foo3barEi", 0, 0x20);
    sxt_test_add_range(nested, SXT_SOURCE_DWARF, 1, "g", 0, 0x10);
    sxt_test_finish(nested);
    for (unsigned i = 0; i < 8; i++) {
        sxt_lidia_options options;
        sxt_lidia_options_init(&options);
        options.mangled = i & 1;
        options.nul_strings = i & 2;
        options.no_index = i & 4;
        void *data;
        size_t size;
        assert_int_equal(sxt_lidia_write_memory(nested, &options, &data, &size, NULL, NULL), SXT_OK);
        sxt_archive *archive;
        assert_int_equal(sxt_archive_open_memory(data, size, NULL, &archive, NULL), SXT_OK);
        sxt_info info = {.struct_size = sizeof info};
        sxt_archive_info(archive, &info);
        assert_int_equal(info.nul_strings, options.nul_strings);
        assert_int_equal(info.indexed, !options.no_index);
        sxt_frame frame;
        assert_int_equal(sxt_archive_lookup(archive, 0x10, &frame, 1), 1);
        sxt_test_assert_text(frame.function, options.mangled ? "_ZN3foo3barEi" : "foo::bar(int)");
        sxt_archive_close(&archive);
        sxt_free(data);
    }
    sxt_symbols_free(&nested);
}

TEST(paths_are_mapped_by_whole_components_and_the_first_map_counts)
{
    static const char *const paths[][2] = {
        {"/build/a.c", "/src/a.c"},
        {"/build", "/src"},
        {"/builder/a.c", "/builder/a.c"},
        {"/build/sub/a.c", "/src/sub/a.c"},
        {"/tmp/x/a.c", "a.c"},
        {"/tmp/x", "/tmp/x"},
        {"rel/a.c", "rel/a.c"},
        {"/other/a.c", "/src/a.c"},
    };
    enum { COUNT = sizeof paths / sizeof *paths };
    const sxt_path_map maps[] = {
        {"", "never"}, {"/build", "/src"}, {"/build/sub", "late"}, {"/tmp/x/", ""}, {"/other/", "/src/"}};
    struct sxt_symbols *mapped = sxt_test_model();
    for (unsigned i = 0; i < COUNT; i++) {
        sxt_test_add_call(mapped, SXT_SOURCE_DWARF, 0, paths[i][0], 0x10 * i, 0x10, paths[i][0], NULL, 0);
        sxt_test_add_call(mapped, SXT_SOURCE_DWARF, 1, "g", 0x10 * i, 4, NULL, paths[i][0], 5);
    }
    sxt_test_finish(mapped);
    for (unsigned mangled = 0; mangled < 2; mangled++) {
        sxt_lidia_options options;
        sxt_lidia_options_init(&options);
        options.mangled = mangled;
        options.path_maps = maps;
        options.path_map_count = sizeof maps / sizeof *maps;
        void *data;
        size_t size;
        assert_int_equal(sxt_lidia_write_memory(mapped, &options, &data, &size, NULL, NULL), SXT_OK);
        sxt_archive *archive;
        assert_int_equal(sxt_archive_open_memory(data, size, NULL, &archive, NULL), SXT_OK);
        for (unsigned i = 0; i < COUNT; i++) {
            sxt_range row;
            assert_int_equal(sxt_archive_row(archive, 2 * i, &row), SXT_OK);
            sxt_test_assert_text(row.function, paths[i][0]); /* a name is no path */
            sxt_test_assert_text(row.file, paths[i][1]);
            assert_int_equal(sxt_archive_row(archive, 2 * i + 1, &row), SXT_OK);
            sxt_test_assert_text(row.call_file, paths[i][1]);
        }
        sxt_archive_close(&archive);
        sxt_free(data);
    }
    sxt_symbols_free(&mapped);
}

/* The checksums are those of the worked example in the description of the format. */
TEST(the_reference_choice_gives_the_worked_example)
{
    sxt_extract_options options;
    sxt_extract_options_init(&options);
    options.flags = SXT_EXTRACT_REFERENCE;
    sxt_symbols *rows;
    assert_int_equal(sxt_symbols_from_memory(elf, elf_size, &options, &rows, NULL), SXT_OK);
    void *data;
    size_t size;
    assert_int_equal(sxt_lidia_write_memory(rows, NULL, &data, &size, NULL, NULL), SXT_OK);
    assert_int_equal(size, 282);
    assert_int_equal(sxt_test_load((uint8_t *)data + 0x20, 4), 0x27968990);
    assert_int_equal(sxt_test_load((uint8_t *)data + 0x40, 4), 0x74fb572f);
    assert_int_equal(sxt_test_load((uint8_t *)data + 0x58, 4), 0xe3ba7276);
    sxt_free(data);
    sxt_symbols_free(&rows);
}

static void note_problem(void *data, const sxt_problem *problem)
{
    sxt_problem *last = data;
    *last = *problem;
    assert_non_null(problem->message);
}

TEST(a_damaged_file_is_described_by_path)
{
    size_t size;
    uint8_t *data = encoded(&size);
    data[0x24] = 1;
    sxt_test_put_file(path, data, size);
    sxt_free(data);
    sxt_problem last = {0};
    uint64_t count = 0;
    assert_int_equal(sxt_verify_path(path, note_problem, &last, &count, NULL), SXT_OK);
    assert_int_equal(count, 1);
    assert_string_equal(last.rule, "reserved");
    assert_int_equal(last.offset, 0x24);
}
