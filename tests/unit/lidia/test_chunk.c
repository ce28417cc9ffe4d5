/* test_chunk.c: extra parts after the index: found by tag, skipped when unknown, and damage is noticed. */
#include <stdio.h>
#include <string.h>

#include "lidia/written_file.h"

static struct sxt_buffer chunks;

/* A file with two functions, and after it what is in `chunks`. */
static void write_file(bool no_index)
{
    sxt_symbols_free(&model);
    model = sxt_test_model();
    sxt_test_add_range(model, DWARF, 0, "f", 0x1000, 0x40);
    sxt_test_add_range(model, DWARF, 0, "g", 0x1040, 0x10);
    sxt_test_finish(model);
    encode((struct sxt_lidia_settings){.no_index = no_index});
    file = realloc(file, file_size + chunks.size);
    assert_non_null(file);
    if (chunks.size > 0)
        memcpy(file + file_size, chunks.data, chunks.size);
    file_size += chunks.size;
}

static void begin(void)
{
    sxt_buffer_free(&chunks);
    sxt_buffer_init(&chunks, 1 << 20);
}

static void open_file(struct sxt_lidia *lidia, bool check_crc)
{
    sxt_error error;
    if (sxt_lidia_open(lidia, file, file_size, check_crc, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

struct found {
    unsigned problems, notes;
    char rule[32];
    uint64_t offset;
};

static void note(void *context, const sxt_problem *problem)
{
    struct found *found = context;
    if (problem->severity == SXT_SEVERITY_NOTE)
        found->notes++;
    else
        found->problems++;
    snprintf(found->rule, sizeof found->rule, "%s", problem->rule);
    found->offset = problem->offset;
}

static struct found verify(void)
{
    struct found found = {0};
    uint64_t count = sxt_lidia_verify(file, file_size, note, &found);
    assert_int_equal(count, found.problems);
    return found;
}

TEST(a_chunk_is_found_by_its_tag_and_version)
{
    for (int no_index = 0; no_index < 2; no_index++) {
        begin();
        sxt_lidia_add_chunk(&chunks, "aaaa", 1, "first", 5);
        sxt_lidia_add_chunk(&chunks, "bbbb", 7, "", 0);
        sxt_lidia_add_chunk(&chunks, "aaaa", 2, "second", 6);
        write_file(no_index != 0);
        struct sxt_lidia lidia;
        struct sxt_lidia_chunk chunk;
        open_file(&lidia, true);
        assert_int_equal(lidia.buckets == NULL, no_index);
        assert_true(sxt_lidia_find_chunk(&lidia, "aaaa", 1, &chunk));
        sxt_test_assert_text((sxt_string){(const char *)chunk.data, chunk.size}, "first");
        assert_true(sxt_lidia_chunk_is_whole(&chunk));
        assert_true(sxt_lidia_find_chunk(&lidia, "aaaa", 2, &chunk));
        sxt_test_assert_text((sxt_string){(const char *)chunk.data, chunk.size}, "second");
        assert_true(sxt_lidia_find_chunk(&lidia, "bbbb", 7, &chunk));
        assert_int_equal(chunk.size, 0);
        assert_false(sxt_lidia_find_chunk(&lidia, "bbbb", 1, &chunk));
        assert_false(sxt_lidia_find_chunk(&lidia, "cccc", 1, &chunk));
        sxt_frame frame;
        assert_int_equal(sxt_lidia_lookup(&lidia, 0x1044, &frame, 1), 1);
        sxt_test_assert_text(frame.function, "g");
    }
    sxt_buffer_free(&chunks);
}

TEST(an_unknown_chunk_is_noted_and_is_not_a_problem)
{
    begin();
    sxt_lidia_add_chunk(&chunks, "a\nb\xff", 3, "content", 7);
    write_file(false);
    struct found found = verify();
    assert_int_equal(found.problems, 0);
    assert_int_equal(found.notes, 1);
    assert_string_equal(found.rule, "unknown-chunk");
    sxt_buffer_free(&chunks);
}

TEST(row_numbers_of_cuts_must_ascend_and_exist)
{
    static const struct {
        uint8_t content[12];
        size_t size;
        unsigned problems;
    } cases[] = {
        {{1}, 4, 0},
        {{0}, 4, 1},               /* row 0 has nothing before it */
        {{1, 0, 0, 0, 1}, 8, 1},   /* twice */
        {{1, 0, 0, 0, 200}, 8, 1}, /* no such row */
        {{1, 0, 0, 0, 2}, 5, 1},   /* not whole */
        {{0}, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        sxt_lidia_add_chunk(&chunks, SXT_LIDIA_CUTS, SXT_LIDIA_CUTS_VERSION, cases[i].content, cases[i].size);
        write_file(false);
        struct found found = verify();
        assert_int_equal(found.problems, cases[i].problems);
        assert_int_equal(found.notes, 0);
        if (cases[i].problems > 0)
            assert_string_equal(found.rule, "cuts");
        sxt_buffer_free(&chunks);
    }
}

/* A chunk of names: f and g begin at 0x1000, which are folded, and two calls. COUNTED: as the header has it. */
static void add_names(struct sxt_buffer *to, uint8_t counted)
{
    const uint8_t content[] = {
        1,    0,    0, 0, 2,   0, 0, 0, 2, 0,   0, 0, counted, 0, 0, 0, /* groups, entries, calls */
        0,    0x10, 0, 0, 0,   0, 0, 0, 0, 0,   0, 0, 1,       0, 0, 0, /* 0x1000, the first entry, ambiguous */
        0,    0,    0, 0, 5,   0, 0, 0,                                 /* entries */
        0x20, 0,    0, 0, 0,   0, 0, 0, 5, 0,   0, 0, 0,       0, 0, 0, /* calls */
        0x30, 0,    0, 0, 0,   0, 0, 0, 0, 0,   0, 0, 0,       0, 0, 0, /**/
        1,    0,    0, 0, 'f', 1, 0, 0, 0, 'g',                         /* strings */
    };
    sxt_lidia_add_chunk(to, SXT_LIDIA_ALIASES, SXT_LIDIA_ALIASES_VERSION, content, sizeof content);
}

TEST(names_of_one_address_and_calls_are_found)
{
    begin();
    add_names(&chunks, 2);
    write_file(false);
    struct sxt_lidia lidia;
    open_file(&lidia, false);
    struct sxt_lidia_names names = sxt_lidia_names_at(&lidia.aliases, 0x1000);
    assert_int_equal(names.count, 2);
    assert_true(names.ambiguous);
    sxt_test_assert_text(sxt_lidia_alias(&lidia.aliases, names.first), "f");
    sxt_test_assert_text(sxt_lidia_alias(&lidia.aliases, names.first + 1), "g");
    assert_int_equal(sxt_lidia_names_at(&lidia.aliases, 0x1001).count, 0);
    sxt_test_assert_text(sxt_lidia_called(&lidia.aliases, 0x20), "g");
    sxt_test_assert_text(sxt_lidia_called(&lidia.aliases, 0x30), "f");
    assert_null(sxt_lidia_called(&lidia.aliases, 0x21).data);
    struct found found = verify();
    assert_int_equal(found.problems, 0);
    assert_int_equal(found.notes, 0);
    sxt_buffer_free(&chunks);
}

/* 0: older files do not count ambiguous names. The count is for speed, and verify compares it with the names. */
TEST(the_count_of_ambiguous_names_is_checked)
{
    for (uint8_t counted = 0; counted < 4; counted++) {
        begin();
        add_names(&chunks, counted);
        write_file(false);
        struct found found = verify();
        assert_int_equal(found.problems, counted % 2);
        if (counted % 2 != 0)
            assert_string_equal(found.rule, "aliases");
        sxt_archive *archive;
        sxt_frame frame;
        assert_int_equal(sxt_archive_open_memory(file, file_size, NULL, &archive, NULL), SXT_OK);
        assert_int_equal(sxt_archive_lookup(archive, 0x1004, &frame, 1), 1);
        assert_int_equal(sxt_archive_is_ambiguous(archive, &frame), counted != 1);
        assert_int_equal(sxt_archive_lookup(archive, 0x1044, &frame, 1), 1);
        assert_false(sxt_archive_is_ambiguous(archive, &frame));
        sxt_archive_close(&archive);
        sxt_buffer_free(&chunks);
    }
}

/* Every byte of the content is set to every edge, with a right checksum: nothing is read outside of the chunk. */
TEST(wrong_numbers_in_a_chunk_of_names_do_no_harm)
{
    static const uint8_t edges[] = {0, 1, 2, 0x7f, 0xff};
    struct sxt_buffer good;
    sxt_buffer_init(&good, SIZE_MAX);
    add_names(&good, 2);
    size_t size = good.size - SXT_LIDIA_CHUNK_HEADER_SIZE;
    uint8_t *content = good.data + SXT_LIDIA_CHUNK_HEADER_SIZE;
    for (size_t at = 0; at < size; at++)
        for (size_t edge = 0; edge < sizeof edges; edge++) {
            uint8_t before = content[at];
            content[at] = edges[edge];
            uint8_t *exact = malloc(size);
            assert_non_null(exact);
            memcpy(exact, content, size);
            for (size_t cut = 0; cut < 2; cut++) {
                struct sxt_lidia_aliases aliases;
                if (!sxt_lidia_aliases_open(&aliases, exact, cut == 0 ? size : at))
                    continue;
                for (uint64_t i = 0; i < aliases.group_count; i++) {
                    struct sxt_lidia_names names = sxt_lidia_names_of(&aliases, i);
                    for (uint64_t k = 0; k < names.count; k++)
                        (void)sxt_lidia_alias(&aliases, names.first + k);
                }
                (void)sxt_lidia_names_at(&aliases, 0x1000);
                (void)sxt_lidia_called(&aliases, 0x20);
            }
            free(exact);
            content[at] = before;
        }
    sxt_buffer_free(&good);
}

TEST(no_changed_byte_of_a_chunk_goes_unnoticed)
{
    begin();
    sxt_lidia_add_chunk(&chunks, "aaaa", 1, "first", 5);
    sxt_lidia_add_chunk(&chunks, "bbbb", 1, "second", 6);
    write_file(false);
    for (size_t at = file_size - chunks.size; at < file_size; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            file[at] ^= (uint8_t)(1u << bit);
            if (verify().problems == 0)
                fail_msg("a change of bit %u of byte %zu is not noticed", bit, at);
            struct sxt_lidia lidia;
            struct sxt_lidia_chunk chunk;
            open_file(&lidia, false);
            sxt_lidia_find_chunk(&lidia, "bbbb", 1, &chunk);
            file[at] ^= (uint8_t)(1u << bit);
        }
    }
    sxt_buffer_free(&chunks);
}

TEST(a_cut_chunk_is_a_problem_and_the_ones_before_it_are_read)
{
    begin();
    sxt_lidia_add_chunk(&chunks, "aaaa", 1, "first", 5);
    size_t first = chunks.size;
    sxt_lidia_add_chunk(&chunks, "bbbb", 1, "second", 6);
    write_file(false);
    size_t whole = file_size, chunks_at = file_size - chunks.size;
    for (file_size = chunks_at + first + 1; file_size < whole; file_size++) {
        uint8_t *cut = malloc(file_size);
        assert_non_null(cut);
        memcpy(cut, file, file_size);
        uint8_t *all = file;
        file = cut;
        struct found found = verify();
        assert_int_equal(found.problems, 1);
        assert_string_equal(found.rule, file_size - chunks_at - first < 4 ? "trailing-bytes" : "chunk");
        assert_int_equal(found.offset, chunks_at + first);
        struct sxt_lidia lidia;
        struct sxt_lidia_chunk chunk;
        open_file(&lidia, true);
        assert_true(sxt_lidia_find_chunk(&lidia, "aaaa", 1, &chunk));
        assert_false(sxt_lidia_find_chunk(&lidia, "bbbb", 1, &chunk));
        file = all;
        free(cut);
    }
    sxt_buffer_free(&chunks);
}

TEST(a_damaged_index_hides_the_chunks_but_not_the_functions)
{
    begin();
    sxt_lidia_add_chunk(&chunks, "aaaa", 1, "first", 5);
    write_file(false);
    struct sxt_lidia lidia;
    struct sxt_lidia_chunk chunk;
    open_file(&lidia, false);
    file[lidia.buckets - file - 4] ^= 1;
    open_file(&lidia, true);
    assert_null(lidia.buckets);
    assert_false(sxt_lidia_find_chunk(&lidia, "aaaa", 1, &chunk));
    sxt_frame frame;
    assert_int_equal(sxt_lidia_lookup(&lidia, 0x1000, &frame, 1), 1);
    assert_string_equal(verify().rule, "index");
    sxt_buffer_free(&chunks);
}

TEST(a_wrong_checksum_of_a_chunk_fails_only_if_checksums_are_checked)
{
    begin();
    sxt_lidia_add_chunk(&chunks, "aaaa", 1, "first", 5);
    write_file(false);
    file[file_size - 1] ^= 1;
    struct sxt_lidia lidia;
    sxt_error error;
    open_file(&lidia, false);
    assert_int_equal(sxt_lidia_open(&lidia, file, file_size, true, &error), SXT_ERROR_FORMAT);
    assert_int_equal(error.offset, lidia.chunks_at + 0x18);
    sxt_buffer_free(&chunks);
}
