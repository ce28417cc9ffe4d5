/* test_debug_file.c: where separate debug files are found, and which are refused. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/output.h"
#include "source/debug_file.h"
#include "support/elf_builder.h"
#include "support/failing_allocations.h"
#include "support/folder.h"
#include "support/test.h"

#define BUILD_ID "\xab\xcd\xef\x01\x23\x45"
#define OTHER_ID "\xab\xcd\xef\x01\x23\x46"

/* A directory with the binary in it, the options for the search, and the result. */
struct search {
    char folder[SXT_TEST_FOLDER_MAX];
    char binary[SXT_TEST_FOLDER_MAX + 40];
    char root[SXT_TEST_FOLDER_MAX + 40]; /* replaces /usr/lib/debug */
    struct sxt_builder program;
    struct sxt_elf elf;
    sxt_extract_options options;
    struct sxt_debug_file debug;
    unsigned warnings;
    char warning[240];
};

static struct search search;

static void note_warning(void *data, const sxt_error *problem)
{
    (void)data;
    search.warnings++;
    snprintf(search.warning, sizeof search.warning, "%s", problem->text);
}

SET_UP()
{
    memset(&search, 0, sizeof search);
    sxt_test_make_folder(search.folder);
    snprintf(search.binary, sizeof search.binary, "%s/program", search.folder);
    snprintf(search.root, sizeof search.root, "%s/root", search.folder);
    sxt_extract_options_init(&search.options);
    search.options.debug_directory = search.root;
    search.options.warning = note_warning;
}

TEAR_DOWN()
{
    sxt_debug_file_close(&search.debug);
    sxt_elf_close(&search.elf);
    sxt_builder_free(&search.program);
    sxt_test_remove_folder(search.folder);
}

/* Writes a file, and creates its directories. */
static void put(const char *path, const void *data, size_t size)
{
    char folder[PATH_MAX];
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        assert_true(mkdir(folder, 0755) == 0 || errno == EEXIST);
    }
    sxt_test_put_file(path, data, size);
}

static void begin_file(struct sxt_builder *builder, const char *id)
{
    sxt_builder_init(builder, true, false, ET_DYN, EM_X86_64);
    unsigned text = sxt_builder_section(builder, ".text", SHT_PROGBITS, SHF_ALLOC, "code", 4);
    if (id != NULL)
        sxt_builder_build_id(builder, id, 6);
    sxt_builder_at(builder, text)->address = 0x1000;
}

/* A debug file with a build ID (NULL for none) at PATH. Returns the CRC of its bytes. */
static uint32_t put_debug_file(const char *path, const char *id)
{
    struct sxt_builder builder;
    begin_file(&builder, id);
    sxt_builder_function(&builder, SHT_SYMTAB, "found", 0x1000, 4, 1);
    sxt_builder_finish(&builder);
    put(path, builder.data, builder.size);
    uint32_t crc = (uint32_t)crc32(0, builder.data, (uInt)builder.size);
    sxt_builder_free(&builder);
    return crc;
}

/* The program itself, with a build ID and a .gnu_debuglink if given. */
static void put_program(const char *id, const char *link, uint32_t crc)
{
    begin_file(&search.program, id);
    if (link != NULL) {
        unsigned section = sxt_builder_section(&search.program, ".gnu_debuglink", SHT_PROGBITS, 0, NULL, 0);
        struct sxt_buffer *bytes = &sxt_builder_at(&search.program, section)->bytes;
        sxt_buffer_append(bytes, link, strlen(link) + 1);
        while (bytes->size % 4 != 0)
            sxt_buffer_u8(bytes, 0);
        sxt_builder_word(&search.program, section, crc, 4);
    }
    sxt_builder_finish(&search.program);
    put(search.binary, search.program.data, search.program.size);
}

static int look(const char *path, sxt_error *error)
{
    assert_int_equal(sxt_elf_open(&search.elf, search.program.data, search.program.size, 1 << 20, NULL), SXT_OK);
    return sxt_debug_file_open(&search.elf, path, &search.options, &search.debug, error);
}

static void expect_found(void)
{
    sxt_error error = {0};
    if (look(search.binary, &error) != SXT_OK)
        fail_msg("%s", error.text);
    if (!search.debug.found)
        fail_msg("nothing found; %s", search.warning);
    assert_non_null(sxt_elf_section_typed(&search.debug.elf, SHT_SYMTAB));
    assert_int_equal(search.warnings, 0);
}

/* Nothing is found, and a warning contains WORDS; no warning if WORDS is NULL. */
static void expect_nothing(const char *words)
{
    sxt_error error = {0};
    assert_int_equal(look(search.binary, &error), SXT_OK);
    assert_false(search.debug.found);
    assert_int_equal(search.warnings > 0, words != NULL);
    if (words != NULL && strstr(search.warning, words) == NULL)
        fail_msg("'%s' does not contain '%s'", search.warning, words);
}

static const char *below(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", search.folder, name);
    return path;
}

TEST(finds_a_file_by_build_id)
{
    put_program(BUILD_ID, NULL, 0);
    put_debug_file(below("root/.build-id/ab/cdef012345.debug"), BUILD_ID);
    expect_found();
}

TEST(finds_a_file_by_build_id_without_knowing_the_path_of_the_binary)
{
    sxt_error error;
    put_program(BUILD_ID, NULL, 0);
    put_debug_file(below("root/.build-id/ab/cdef012345.debug"), BUILD_ID);
    assert_int_equal(look(NULL, &error), SXT_OK);
    assert_true(search.debug.found);
}

TEST(refuses_a_file_with_another_build_id)
{
    put_program(BUILD_ID, NULL, 0);
    put_debug_file(below("root/.build-id/ab/cdef012345.debug"), OTHER_ID);
    expect_nothing("another build ID");
}

TEST(refuses_a_build_id_that_is_only_the_beginning_of_the_other)
{
    struct sxt_builder builder;
    put_program(BUILD_ID, NULL, 0);
    sxt_builder_init(&builder, true, false, ET_DYN, EM_X86_64);
    sxt_builder_build_id(&builder, BUILD_ID "more", 10);
    sxt_builder_finish(&builder);
    put(below("root/.build-id/ab/cdef012345.debug"), builder.data, builder.size);
    sxt_builder_free(&builder);
    expect_nothing("another build ID");
}

TEST(refuses_a_file_of_another_architecture)
{
    const struct {
        bool is_64, big_endian;
        uint16_t machine;
    } others[] = {{true, false, EM_AARCH64}, {false, false, EM_X86_64}, {true, true, EM_X86_64}};
    put_program(BUILD_ID, NULL, 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct sxt_builder builder;
        sxt_builder_init(&builder, others[i].is_64, others[i].big_endian, ET_DYN, others[i].machine);
        sxt_builder_build_id(&builder, BUILD_ID, 6);
        sxt_builder_finish(&builder);
        put(below("root/.build-id/ab/cdef012345.debug"), builder.data, builder.size);
        sxt_builder_free(&builder);
        search.warnings = 0;
        expect_nothing("another architecture");
        sxt_elf_close(&search.elf);
    }
}

TEST(a_damaged_debug_file_is_a_warning)
{
    put_program(BUILD_ID, NULL, 0);
    put(below("root/.build-id/ab/cdef012345.debug"),
        "\x7f"
        "ELF",
        4);
    expect_nothing("cut off");
    assert_non_null(strstr(search.warning, "cdef012345.debug"));
}

TEST(a_directory_or_a_pipe_instead_of_a_debug_file_is_skipped)
{
    put_program(BUILD_ID, "program.debug", 0);
    put(below("root/.build-id/ab/cdef012345.debug/inside"), "x", 1);
    assert_int_equal(mkfifo(below("program.debug"), 0600), 0);
    expect_nothing(NULL);
}

TEST(a_build_id_of_one_byte_names_no_file)
{
    sxt_builder_init(&search.program, true, false, ET_DYN, EM_X86_64);
    sxt_builder_build_id(&search.program, "\xab", 1);
    sxt_builder_finish(&search.program);
    put_debug_file(below("root/.build-id/ab/.debug"), NULL);
    expect_nothing(NULL);
}

TEST(finds_the_linked_file_next_to_the_binary)
{
    uint32_t crc = put_debug_file(below("program.debug"), NULL);
    put_program(NULL, "program.debug", crc);
    expect_found();
}

TEST(finds_the_linked_file_in_the_debug_subdirectory)
{
    uint32_t crc = put_debug_file(below(".debug/program.debug"), NULL);
    put_program(NULL, "program.debug", crc);
    expect_found();
}

TEST(finds_the_linked_file_below_the_root_of_debug_files)
{
    char path[600];
    snprintf(path, sizeof path, "%s%s/program.debug", search.root, search.folder);
    uint32_t crc = put_debug_file(path, NULL);
    put_program(NULL, "program.debug", crc);
    expect_found();
}

TEST(finds_the_linked_file_of_a_binary_through_a_symbolic_link)
{
    uint32_t crc = put_debug_file(below("program.debug"), NULL);
    put_program(NULL, "program.debug", crc);
    put(below("elsewhere/x"), "x", 1);
    char link[400];
    snprintf(link, sizeof link, "%s", below("elsewhere/link"));
    assert_int_equal(symlink(search.binary, link), 0);
    sxt_error error;
    assert_int_equal(look(link, &error), SXT_OK);
    assert_true(search.debug.found);
}

TEST(refuses_a_linked_file_with_another_crc_and_continues)
{
    uint32_t crc = put_debug_file(below(".debug/program.debug"), NULL);
    put_debug_file(below("program.debug"), BUILD_ID);
    put_program(NULL, "program.debug", crc);
    sxt_error error;
    assert_int_equal(look(search.binary, &error), SXT_OK);
    assert_true(search.debug.found);
    assert_int_equal(search.warnings, 1);
    assert_non_null(strstr(search.warning, "CRC"));
}

TEST(refuses_a_linked_file_with_another_build_id)
{
    uint32_t crc = put_debug_file(below("program.debug"), OTHER_ID);
    put_program(BUILD_ID, "program.debug", crc);
    expect_nothing("another build ID");
}

TEST(a_link_to_the_binary_itself_is_not_followed)
{
    put_program(NULL, "program", 0);
    expect_nothing(NULL);
}

/* A name with a slash would lead to other directories. */
TEST(a_link_that_leaves_the_directory_is_not_followed)
{
    uint32_t crc = put_debug_file(below("root/secret"), NULL);
    const char *const names[] = {"../root/secret", "/etc/passwd", "root/secret", "./program.debug", "..", ".", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put_program(NULL, names[i], crc);
        expect_nothing(NULL);
        sxt_elf_close(&search.elf);
        sxt_builder_free(&search.program);
    }
    put_program(NULL, NULL, 0);
}

TEST(damaged_links_are_ignored)
{
    put_debug_file(below("program.debug"), NULL);
    put_program(NULL, "program.debug", 0);
    unsigned link = 2;
    for (uint64_t size = 0; size < 20; size++) {
        sxt_builder_lie_section(&search.program, link, SXT_SECTION_SIZE, size);
        assert_int_equal(look(search.binary, NULL), SXT_OK);
        assert_false(search.debug.found);
        assert_int_equal(search.warnings, 0);
        sxt_elf_close(&search.elf);
    }
}

TEST(the_search_can_be_turned_off)
{
    uint32_t crc = put_debug_file(below("program.debug"), BUILD_ID);
    put_debug_file(below("root/.build-id/ab/cdef012345.debug"), BUILD_ID);
    put_program(BUILD_ID, "program.debug", crc);
    search.options.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    expect_nothing(NULL);
}

TEST(a_named_debug_file_is_taken_and_nothing_else_is_searched)
{
    put_debug_file(below("root/.build-id/ab/cdef012345.debug"), OTHER_ID);
    put_debug_file(below("mine.debug"), BUILD_ID);
    put_program(BUILD_ID, NULL, 0);
    search.options.debug_path = below("mine.debug");
    search.options.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    expect_found();
}

/* Whichever allocation fails, the search fails with it; a file that is found always has a path. */
TEST(a_failed_allocation_is_an_error)
{
    put_debug_file(below("mine.debug"), BUILD_ID);
    put_program(BUILD_ID, NULL, 0);
    search.options.debug_path = below("mine.debug");
    assert_int_equal(sxt_elf_open(&search.elf, search.program.data, search.program.size, 1 << 20, NULL), SXT_OK);
    int status = SXT_ERROR_MEMORY;
    for (unsigned long number = 1; status != SXT_OK; number++) {
        sxt_error error = {0};
        counted = 0;
        failing = number;
        status = sxt_debug_file_open(&search.elf, search.binary, &search.options, &search.debug, &error);
        failing = 0;
        assert_true(status == SXT_OK || status == SXT_ERROR_MEMORY);
        assert_int_equal(search.debug.found, status == SXT_OK);
    }
    assert_string_equal(search.debug.path, search.options.debug_path);
    assert_true(counted > 1);
}

TEST(a_named_debug_file_without_build_id_is_taken)
{
    put_debug_file(below("mine.debug"), NULL);
    put_program(BUILD_ID, NULL, 0);
    search.options.debug_path = below("mine.debug");
    expect_found();
}

TEST(a_named_debug_file_that_does_not_match_is_an_error)
{
    sxt_error error;
    put_program(BUILD_ID, NULL, 0);
    search.options.debug_path = below("mine.debug");
    assert_int_equal(look(search.binary, &error), SXT_ERROR_IO);
    assert_non_null(strstr(error.text, "mine.debug"));
    sxt_elf_close(&search.elf);

    put_debug_file(below("mine.debug"), OTHER_ID);
    assert_int_equal(look(search.binary, &error), SXT_ERROR_NOT_FOUND);
    assert_non_null(strstr(error.text, "another build ID"));
    assert_false(search.debug.found);
    sxt_elf_close(&search.elf);

    put(below("mine.debug"), "some text", 9);
    assert_int_equal(look(search.binary, &error), SXT_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.text, "not an ELF file"));
    assert_int_equal(search.warnings, 0);
}

/* The path comes from the binary, so it can contain anything. */
TEST(accepts_a_link_with_a_long_or_strange_name)
{
    char name[6000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    put_program(NULL, name, 0);
    expect_nothing(NULL);
    sxt_elf_close(&search.elf);
    sxt_builder_free(&search.program);
    put_debug_file(below("a\033[31m\nb"), NULL);
    put_program(NULL, "a\033[31m\nb", 0);
    expect_nothing("CRC");
    assert_null(strchr(search.warning, '\033'));
    assert_null(strchr(search.warning, '\n'));
}
