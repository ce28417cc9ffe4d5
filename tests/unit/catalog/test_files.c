/* Tests of catalog/files.c, extract.c, worker.c and content.c, with programs that are compiled for them. */
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/string.h"

static char program[4096], source[600], elf[600], stripped[600], debug[600];

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
    char command[3000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_int_equal(system(command), 0);
}

static char programs[SXT_TEST_FOLDER_MAX];

__attribute__((destructor)) static void remove_programs(void)
{
    if (programs[0] != 0)
        sxt_test_remove_folder(programs);
}

/* Compiled once for all tests. */
static void make_programs(void)
{
    static const char text[] =
        "int twice(int x)\n{\n    return 2 * x;\n}\nint main(void)\n{\n    return twice(0);\n}\n";
    if (programs[0] != 0)
        return;
    sxt_test_make_folder(programs);
    snprintf(source, sizeof source, "%s/program.c", programs);
    snprintf(elf, sizeof elf, "%s/program", programs);
    snprintf(stripped, sizeof stripped, "%s/stripped", programs);
    snprintf(debug, sizeof debug, "%s/program.debug", programs);
    sxt_test_put_file(source, text, sizeof text - 1);
    run("cd '%s' && cc -g -O0 -Wl,--build-id=sha1 -o program program.c", programs);
    run("cd '%s' && objcopy --only-keep-debug program program.debug && objcopy --strip-all program stripped", programs);
}

SET_UP()
{
    sxt_test_open_catalog();
    const char *built = getenv("SEXTANT");
    assert_non_null(built);
    assert_non_null(realpath(built, program));
    sxt_catalog_close(&sxt_test_it.catalog);
    const struct sxt_catalog_options options = {.program = program};
    assert_int_equal(sxt_catalog_open(sxt_test_it.store, &options, &sxt_test_it.catalog, NULL), SXT_OK);

    make_programs();
}

TEAR_DOWN()
{
    sxt_test_close_catalog();
}

static struct sxt_store_writing *write_file(const char *path)
{
    struct sxt_store_writing *writing;
    struct sxt_file file;
    assert_int_equal(sxt_file_open(&file, path, NULL), SXT_OK);
    assert_int_equal(sxt_store_write_begin(sxt_test_it.store, &writing, NULL), SXT_OK);
    assert_int_equal(sxt_store_write(writing, file.data, file.size, NULL), SXT_OK);
    sxt_file_close(&file);
    return writing;
}

static sxt_binary identify(const char *path)
{
    sxt_binary binary = {.struct_size = sizeof binary};
    assert_int_equal(sxt_identify_binary(path, &binary, NULL), SXT_OK);
    return binary;
}

static int add(const char *path, const struct sxt_catalog_id *id, struct sxt_catalog_added *added)
{
    struct sxt_store_writing *writing = write_file(path);
    return sxt_catalog_add_file(sxt_test_it.catalog, "", id, NULL, &writing, added, &sxt_test_it.error);
}

static void add_by_build_id(const char *path, bool was_there)
{
    sxt_binary binary = identify(path);
    struct sxt_catalog_id id = sxt_test_build_id(binary.build_id);
    struct sxt_catalog_added added;
    assert_int_equal(add(path, &id, &added), SXT_OK);
    assert_int_equal(added.was_there, was_there);
    assert_string_equal(added.build_id.text, id.text);
    assert_int_equal(added.is_debug_file, !binary.has_code);
}

/* The address of a function, from the file that was not stripped. */
static uint64_t address_of(const char *name)
{
    char command[1500], line[200];
    snprintf(command, sizeof command, "nm '%s' | grep ' T %s$'", elf, name);
    FILE *output = popen(command, "r");
    assert_non_null(fgets(line, sizeof line, output));
    pclose(output);
    return strtoull(line, NULL, 16);
}

static const char *ask(const char *build_id, uint64_t address)
{
    struct sxt_catalog_id id = sxt_test_build_id(build_id);
    return sxt_test_ask(sxt_test_it.catalog, "", &id, address);
}

static bool has_line(const char *answer)
{
    return strncmp(answer, "twice ", 6) == 0 && strstr(answer, "program.c:3") != NULL;
}

static int open_content(const char *build_id, enum sxt_catalog_content content, const char *path, struct sxt_file *file)
{
    struct sxt_catalog_id id = sxt_test_build_id(build_id);
    struct sxt_store_object *object;
    char hash[65];
    int status = sxt_catalog_open_content(sxt_test_it.catalog, "", &id, 1, content, path, &object, hash, NULL);
    if (status != SXT_OK)
        return status;
    assert_int_equal(strlen(hash), 64);
    assert_int_equal(sxt_store_map(object, file, NULL), SXT_OK);
    sxt_store_close_object(&object);
    return SXT_OK;
}

static void assert_content(const char *build_id, enum sxt_catalog_content content, const char *path)
{
    struct sxt_file found, wanted;
    assert_int_equal(open_content(build_id, content, NULL, &found), SXT_OK);
    assert_int_equal(sxt_file_open(&wanted, path, NULL), SXT_OK);
    assert_int_equal(found.size, wanted.size);
    assert_memory_equal(found.data, wanted.data, wanted.size);
    sxt_file_close(&found);
    sxt_file_close(&wanted);
}

TEST(an_executable_answers_with_its_lines)
{
    sxt_binary binary = identify(elf);
    struct sxt_catalog_id id = sxt_test_file_id(binary.file_id);
    add_by_build_id(elf, false);
    uint64_t address = address_of("twice") + 8;
    assert_true(has_line(ask(binary.build_id, address)));
    assert_true(has_line(sxt_test_ask(sxt_test_it.catalog, "", &id, address)));
    assert_content(binary.build_id, SXT_CATALOG_EXECUTABLE, elf);
    assert_content(binary.build_id, SXT_CATALOG_DEBUGINFO, elf);
    struct sxt_file file;
    assert_int_equal(open_content(binary.build_id, SXT_CATALOG_LIDIA, NULL, &file), SXT_OK);
    sxt_file_close(&file);
    assert_int_equal(open_content(binary.build_id, SXT_CATALOG_SYMBFILE, NULL, &file), SXT_OK);
    assert_memory_equal(file.data, "symbfile", 8);
    sxt_file_close(&file);
#if defined __x86_64__ || defined __aarch64__
    assert_int_equal(open_content(binary.build_id, SXT_CATALOG_RETURNPADS, NULL, &file), SXT_OK);
    sxt_file_close(&file);
#endif
    add_by_build_id(elf, true);
}

/* In either order the executable has the lines of its debug file in the end, and its own segments. */
static void add_both(const char *first, const char *second)
{
    sxt_binary binary = identify(stripped);
    uint64_t address = address_of("twice") + 8;
    add_by_build_id(first, false);
    assert_int_equal(has_line(ask(binary.build_id, address)), first == debug);
    add_by_build_id(second, false);
    assert_true(has_line(ask(binary.build_id, address)));
    assert_content(binary.build_id, SXT_CATALOG_EXECUTABLE, stripped);
    assert_content(binary.build_id, SXT_CATALOG_DEBUGINFO, debug);
    add_by_build_id(first, true);
    add_by_build_id(second, true);

    struct sxt_catalog_id id = sxt_test_file_id(binary.file_id);
    struct sxt_catalog_binary *found;
    assert_int_equal(sxt_catalog_find(sxt_test_it.catalog, "", &id, 1, true, NULL, &found, NULL), SXT_OK);
    sxt_info info = {.struct_size = sizeof info};
    sxt_archive_info(sxt_catalog_archive(found), &info);
    assert_true(info.has_offsets);
    assert_null(info.path);
    sxt_catalog_release(sxt_test_it.catalog, &found);
}

TEST(a_debug_file_joins_the_executable_before_it)
{
    add_both(stripped, debug);
}

TEST(an_executable_joins_the_debug_file_before_it)
{
    add_both(debug, stripped);
}

TEST(refuses_a_file_that_is_not_the_one_of_the_id)
{
    struct sxt_catalog_added added;
    struct sxt_catalog_id id = sxt_test_build_id(BUILD), file_id = sxt_test_file_id(identify(debug).file_id);
    assert_int_equal(add(elf, &id, &added), SXT_ERROR_USAGE);
    assert_non_null(strstr(sxt_test_it.error.text, identify(elf).build_id));
    assert_int_equal(add(debug, &file_id, &added), SXT_ERROR_USAGE);
    assert_int_equal(sxt_test_count("t/"), 0);
}

TEST(refuses_what_is_not_an_elf_file)
{
    struct sxt_catalog_added added;
    struct sxt_catalog_id id = sxt_test_build_id(BUILD);
    char path[700];
    assert_int_not_equal(add(source, &id, &added), SXT_OK);
    run("gzip -k '%s'", elf);
    snprintf(path, sizeof path, "%s.gz", elf);
    assert_int_equal(add(path, &id, &added), SXT_ERROR_UNSUPPORTED);
    run("head -c 200 '%s' >'%s.cut'", elf, elf);
    snprintf(path, sizeof path, "%s.cut", elf);
    assert_int_not_equal(add(path, &id, &added), SXT_OK);
    assert_int_equal(sxt_test_count(""), 0);
}

TEST(a_push_with_lines_is_better_than_a_stripped_file)
{
    sxt_binary binary = identify(stripped);
    uint64_t address = address_of("twice");
    sxt_test_push(&(struct sxt_test_part){
        .file_id = binary.file_id, .build_id = binary.build_id, .functions = {{address, "pushed", 7}}});
    assert_string_equal(ask(binary.build_id, address), "pushed a.c:7");
    add_by_build_id(stripped, false);
    assert_string_equal(ask(binary.build_id, address), "pushed a.c:7");
    sxt_test_push(&(struct sxt_test_part){.file_id = binary.file_id, .functions = {{address, "names_only", 0}}});
    add_by_build_id(debug, false);
    assert_true(has_line(ask(binary.build_id, address + 8)));
}

static const struct sxt_catalog_options slow = {
    .worker_seconds = 1, .inflate_limit = 1000, .worker_memory = (uint64_t)1 << 30};

TEST(a_worker_that_takes_too_much_is_ended)
{
    struct sxt_catalog_options options = slow;
    char script[600];
    snprintf(script, sizeof script, "%s/worker", sxt_test_it.folder);
    options.program = script;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    char output[600];
    snprintf(output, sizeof output, "%s/output", sxt_test_it.folder);
    int file = open(output, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    static const char *const arguments[] = {NULL};
    struct sxt_catalog_work work = {.arguments = arguments, .inputs = &null, .input_count = 1, .output = file};
    bool is_long = getenv("SEXTANT_TEST_ALL") != NULL;
    const struct {
        const char *script;
        int status;
        const char *message;
    } cases[] = {
        {"#!/bin/sh\nexit 0\n", SXT_OK, ""},
        {"#!/bin/sh\necho \"sextant: /proc/self/fd/3: it is broken\" >&2\nexit 1\n", SXT_ERROR_FORMAT, "it is broken"},
        {is_long ? "#!/bin/sh\nwhile :; do :; done\n" : "#!/bin/sh\nkill -XCPU $$\n", SXT_ERROR_LIMIT,
         "reading its symbols takes more than 1 seconds"},
        {"#!/bin/sh\nhead -c 5000 /dev/zero\nkill -XFSZ $$\n", SXT_ERROR_LIMIT,
         "its symbols take more than 1000 bytes"},
        {"#!/bin/sh\nkill -SEGV $$\n", SXT_ERROR_FORMAT, "reading its symbols ended with signal 11"},
        {"#!/bin/sh\ncat; ls /proc/self/fd | wc -l >&2; exit 1\n", SXT_ERROR_FORMAT, "5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sxt_test_put_file(script, cases[i].script, strlen(cases[i].script));
        assert_int_equal(chmod(script, 0700), 0);
        sxt_test_it.error.text[0] = 0;
        int status = sxt_catalog_run(&options, &work, &sxt_test_it.error);
        assert_int_equal(status, cases[i].status);
        assert_string_equal(sxt_test_it.error.text, cases[i].message);
    }
    struct stat state;
    assert_int_equal(fstat(file, &state), 0);
    assert_true(state.st_size <= 1000);
    options.program = "/nonexistent";
    assert_int_equal(sxt_catalog_run(&options, &work, &sxt_test_it.error), SXT_ERROR_IO);
    close(null);
    close(file);
}

TEST(keeps_source_files_under_their_paths)
{
    struct sxt_catalog_id id = sxt_test_build_id(BUILD);
    struct sxt_file file;
    sxt_test_push(&(struct sxt_test_part){.build_id = BUILD, .functions = {{0x1000, "main", 1}}});
    struct sxt_store_writing *writing = write_file(source);
    assert_int_equal(sxt_catalog_add_source(sxt_test_it.catalog, "", &id, "/src/./a/../program.c", &writing, NULL),
                     SXT_OK);
    assert_null(writing);
    assert_int_equal(open_content(BUILD, SXT_CATALOG_SOURCE, "/src//program.c", &file), SXT_OK);
    assert_memory_equal(file.data, "int twice", 9);
    sxt_file_close(&file);
    assert_int_equal(open_content(BUILD, SXT_CATALOG_SOURCE, "/src/other.c", &file), SXT_ERROR_NOT_FOUND);
    assert_int_equal(open_content(BUILD, SXT_CATALOG_SOURCE, "src/program.c", &file), SXT_ERROR_USAGE);
    writing = write_file(elf);
    assert_int_equal(sxt_catalog_add_source(sxt_test_it.catalog, "", &id, "/src/program.c", &writing, NULL), SXT_OK);
    assert_int_equal(open_content(BUILD, SXT_CATALOG_SOURCE, "/src/program.c", &file), SXT_OK);
    assert_memory_equal(file.data, "\177ELF", 4);
    sxt_file_close(&file);
    writing = write_file(elf);
    assert_int_equal(sxt_catalog_add_source(sxt_test_it.catalog, "", &id, "../x", &writing, NULL), SXT_ERROR_USAGE);
}

/* Two servers that receive one file at the same moment make an entry each; a sweep leaves one. */
TEST(a_sweep_removes_entries_that_say_the_same)
{
    sxt_binary binary = identify(elf);
    struct sxt_catalog_id id = sxt_test_file_id(binary.file_id);
    add_by_build_id(elf, false);
    struct sxt_catalog_listing listing;
    struct sxt_catalog_entry entry;
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, false);
    assert_int_equal(sxt_catalog_list_binary(sxt_test_it.catalog, "", id.text, true, &listing, NULL), SXT_OK);
    assert_int_equal(listing.entry_count, 1);
    assert_int_equal(sxt_catalog_get_entry(sxt_test_it.catalog, "", id.text, &listing.entries[0], &arena, &entry, NULL),
                     SXT_OK);
    entry.name.time++;
    assert_int_equal(sxt_catalog_put_entry(sxt_test_it.catalog, "", id.text, &entry, NULL), SXT_OK);
    sxt_catalog_listing_free(&listing);
    sxt_arena_free(&arena);

    struct sxt_catalog_swept swept;
    assert_int_equal(sxt_catalog_sweep(sxt_test_it.catalog, 0, true, &swept, NULL), SXT_OK);
    assert_int_equal(swept.objects, 1);
    assert_int_equal(sxt_catalog_sweep(sxt_test_it.catalog, 0, false, &swept, NULL), SXT_OK);
    assert_int_equal(swept.objects, 1);
    assert_int_equal(sxt_catalog_sweep(sxt_test_it.catalog, 0, false, &swept, NULL), SXT_OK);
    assert_int_equal(swept.objects, 0);
    assert_true(has_line(ask(binary.build_id, address_of("twice") + 8)));
    assert_content(binary.build_id, SXT_CATALOG_EXECUTABLE, elf);
}
