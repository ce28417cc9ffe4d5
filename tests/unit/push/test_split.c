/* Tests of push/split.c and binary.c: parts are symbfiles, and a function is in one of them with all that belongs to
 * it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "push/push.h"
#include "support/folder.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

static char folder[SXT_TEST_FOLDER_MAX], path[2 * SXT_TEST_FOLDER_MAX];
static struct sxt_push_binary binary;
static sxt_error error;

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(path, sizeof path, "%s/a.symbfile", folder);
    binary = (struct sxt_push_binary){.part_size = 1024};
}

TEAR_DOWN()
{
    sxt_push_binary_free(&binary);
    sxt_test_remove_folder(folder);
}

/* --- a file --- */

typedef void fill(struct sxt_symbfile_writer *writer);

static int call_fill(void *context, struct sxt_symbfile_writer *writer, sxt_error *problem)
{
    (void)problem;
    fill *const *function = context;
    (*function)(writer);
    return SXT_OK;
}

static void write_file(fill *function)
{
    uint64_t size;
    assert_int_equal(
        sxt_symbfile_save(&(struct sxt_symbfile_target){.path = path}, call_fill, &function, &size, &error), SXT_OK);
}

static void add_range(struct sxt_symbfile_writer *writer, uint64_t address, uint64_t length, uint32_t depth,
                      const char *function, const char *file, bool continues)
{
    const struct sxt_symbfile_line lines[] = {{0, 7}};
    const struct sxt_symbfile_range range = {.address = address,
                                             .length = length,
                                             .depth = depth,
                                             .function = {function, strlen(function)},
                                             .file = {file, strlen(file)},
                                             .lines = lines,
                                             .line_count = 1,
                                             .continues = continues};
    assert_int_equal(sxt_symbfile_add_range(writer, &range, NULL), SXT_OK);
}

/* --- what is in the parts --- */

struct seen {
    size_t ranges, pads, inner_first, continued_first;
    uint64_t last; /* address */
};

/* Reads all parts of a set. Records are in the order in which they were written. */
static struct seen read_parts(enum sxt_push_kind kind)
{
    const struct sxt_push_set *set = &binary.sets[kind];
    struct seen seen = {0};
    for (size_t i = 0; i < set->count; i++) {
        static uint8_t bytes[1 << 20];
        struct sxt_symbfile_reader *reader;
        struct sxt_symbfile_record record;
        assert_in_range(set->parts[i].size, 1, sizeof bytes);
        assert_int_equal(pread(set->file.fd, bytes, set->parts[i].size, (off_t)set->parts[i].offset),
                         set->parts[i].size);
        assert_int_equal(sxt_symbfile_reader_open(&reader, bytes, set->parts[i].size, &error), SXT_OK);
        for (size_t k = 0;; k++) {
            assert_int_equal(sxt_symbfile_read(reader, &record, &error), SXT_OK);
            if (record.kind == SXT_SYMBFILE_END)
                break;
            bool is_range = record.kind == SXT_SYMBFILE_RANGE;
            seen.inner_first += is_range && k == 0 && record.range.depth > 0;
            seen.continued_first += is_range && k == 0 && record.range.continues;
            seen.ranges += is_range;
            seen.pads += !is_range;
            uint64_t address = is_range ? record.range.address : record.pad.address;
            assert_true(address >= seen.last);
            seen.last = address;
        }
        sxt_symbfile_reader_close(&reader);
    }
    return seen;
}

static void add(void)
{
    assert_int_equal(sxt_push_add_symbfile(&binary, path, &error), SXT_OK);
    sxt_push_binary_finish(&binary);
}

/* --- tests --- */

static void fill_nested(struct sxt_symbfile_writer *writer)
{
    char name[64];
    for (uint64_t i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "function_number_%d", (int)i);
        add_range(writer, 0x1000 + 16 * i, 16, 0, name, "a.c", false);
        for (uint32_t depth = 1; depth <= 3; depth++)
            add_range(writer, 0x1000 + 16 * i, 16 - depth, depth, "inner", "b.h", false);
    }
}

TEST(a_function_stays_with_what_is_inlined_into_it)
{
    write_file(fill_nested);
    add();
    struct seen seen = read_parts(SXT_PUSH_RANGES);
    assert_in_range(binary.sets[SXT_PUSH_RANGES].count, 10, 100);
    assert_int_equal(seen.ranges, 2000);
    assert_int_equal(seen.inner_first, 0);
    assert_int_equal(binary.functions, 500);
    assert_int_equal(binary.with_lines, 500);
    assert_int_equal(binary.inlines, 1500);
    assert_int_equal(binary.sets[SXT_PUSH_PADS].count, 0);
    assert_string_equal(binary.sets[SXT_PUSH_PADS].generation, "");
}

TEST(parts_have_about_the_size_that_was_asked_for)
{
    write_file(fill_nested);
    binary.part_size = 4096;
    add();
    const struct sxt_push_set *set = &binary.sets[SXT_PUSH_RANGES];
    for (size_t i = 0; i + 1 < set->count; i++)
        assert_in_range(set->parts[i].size, 1500, 5000);
}

static void fill_pieces(struct sxt_symbfile_writer *writer)
{
    for (uint64_t i = 0; i < 500; i++)
        add_range(writer, 0x1000 + 16 * i, 16, 0, "one_long_function", i % 2 == 0 ? "a.c" : "b.c", i > 0);
    add_range(writer, 0x8000, 16, 0, "another", "a.c", false);
}

static void fill_unmarked_pieces(struct sxt_symbfile_writer *writer)
{
    for (uint64_t i = 0; i < 500; i++)
        add_range(writer, 0x1000 + 16 * i, 16, 0, "one_long_function", i % 2 == 0 ? "a.c" : "b.c", false);
    add_range(writer, 0x8000, 16, 0, "another", "a.c", false);
}

TEST(the_pieces_of_a_function_stay_together)
{
    fill *const files[] = {fill_pieces, fill_unmarked_pieces};
    for (size_t i = 0; i < 2; i++) {
        write_file(files[i]);
        add();
        assert_int_equal(binary.sets[SXT_PUSH_RANGES].count, 2);
        assert_int_equal(read_parts(SXT_PUSH_RANGES).continued_first, 0);
        sxt_push_binary_free(&binary);
        binary = (struct sxt_push_binary){.part_size = 1024};
    }
}

static void fill_both(struct sxt_symbfile_writer *writer)
{
    char name[64];
    for (uint64_t i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "function_number_%d", (int)i);
        const struct sxt_symbfile_frame frame = {{name, strlen(name)}, {"a.c", 3}, 7};
        add_range(writer, 0x1000 + 16 * i, 16, 0, name, "a.c", false);
        assert_int_equal(sxt_symbfile_add_pad(writer, &(struct sxt_symbfile_pad){0x1004 + 16 * i, &frame, 1}, NULL),
                         SXT_OK);
    }
}

TEST(a_file_with_both_kinds_becomes_two_sets)
{
    write_file(fill_both);
    add();
    struct seen ranges = read_parts(SXT_PUSH_RANGES), pads = read_parts(SXT_PUSH_PADS);
    assert_int_equal(ranges.ranges, 300);
    assert_int_equal(ranges.pads, 0);
    assert_int_equal(pads.ranges, 0);
    assert_int_equal(pads.pads, 300);
    assert_string_not_equal(binary.sets[0].generation, binary.sets[1].generation);
}

TEST(the_hash_of_a_set_depends_on_content_and_cuts)
{
    char first[65];
    write_file(fill_nested);
    add();
    memcpy(first, binary.sets[0].generation, sizeof first);
    const uint64_t sizes[] = {1024, 2048};
    for (size_t i = 0; i < 2; i++) {
        sxt_push_binary_free(&binary);
        binary = (struct sxt_push_binary){.part_size = sizes[i]};
        add();
        assert_int_equal(strcmp(first, binary.sets[0].generation) == 0, i == 0);
    }
}

TEST(file_ids_have_two_spellings)
{
    char hex[33];
    assert_true(sxt_push_parse_file_id("77EFA716A912A492174457873 29FD29A", hex) == false);
    assert_true(sxt_push_parse_file_id("77EFA716A912A49217445787329FD29A", hex));
    assert_string_equal(hex, "77efa716a912a49217445787329fd29a");
    assert_true(sxt_push_parse_file_id("d--nFqkSpJIXRFeHMp_Smg", hex));
    assert_string_equal(hex, "77efa716a912a49217445787329fd29a");
    assert_true(sxt_push_parse_file_id("d--nFqkSpJIXRFeHMp_Smg==", hex));
    assert_false(sxt_push_parse_file_id("d++nFqkSpJIXRFeHMp/Smg", hex));
    assert_false(sxt_push_parse_file_id("", hex));
}

TEST(damaged_files_fail)
{
    struct sxt_file file;
    write_file(fill_both);
    assert_int_equal(sxt_file_open(&file, path, &error), SXT_OK);
    for (size_t size = 0; size < file.size; size += 97) {
        char cut[sizeof path + 8];
        snprintf(cut, sizeof cut, "%s.cut", path);
        assert_int_equal(sxt_output_save(cut, file.data, size, &error), SXT_OK);
        struct sxt_push_binary damaged = {.part_size = 1024};
        int status = sxt_push_add_symbfile(&damaged, cut, &error);
        /* The table and the records end at messages, and a file may end after one. */
        if (status == SXT_OK)
            assert_true(damaged.functions < 300);
        sxt_push_binary_free(&damaged);
    }
    sxt_file_close(&file);
}
