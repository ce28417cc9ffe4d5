/* test_metadata_pack.c: metadata as tables gives the same text again, and what is damaged is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "mlyze/private.h"
#include "support/test.h"

#define FRAME(file, line, function) "{\"file_id\": " #file ", \"line\": " #line ", \"func_id\": " #function "}"

static const char text[] = "{\"threads\": {\"0\": \"main\"}, \"stack_traces\": {\"0\": [" FRAME(0, 7, 1) ", " FRAME(
    1, 4294967295,
    0) "], "
       "\"1\": [], \"5\": [" FRAME(1, 9, 1) ", " FRAME(1, 4294967295, 0) "], \"6\": [" FRAME(
           0, 7, 9) "]}, "
                    "\"functions\": {\"0\": \"main\", \"1\": \"\", \"9\": \"g\\\"\\u0001\"}, \"x\": [1.50, {}], "
                    "\"files\": {\"0\": \"a.c\", \"1\": \"/b\"}}";

static struct sxt_buffer packed;

static bool pack(const char *what)
{
    sxt_buffer_init(&packed, SIZE_MAX / 2);
    return sxt_mlyze_text_to_tables((sxt_string){what, strlen(what)}, &packed);
}

static void assert_round_trip(const char *what)
{
    struct sxt_mlyze_metadata metadata;
    struct sxt_buffer back;
    sxt_error error = {.text = ""};
    assert_true(pack(what));
    sxt_buffer_init(&back, SIZE_MAX / 2);
    if (sxt_mlyze_tables_unpack(packed.data, packed.size, 256, false, &metadata, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_int_equal(sxt_mlyze_text_make(&metadata, metadata.rest, &back, NULL), SXT_OK);
    assert_int_equal(back.size, strlen(what));
    assert_memory_equal(back.data, what, back.size);
    sxt_mlyze_metadata_free(&metadata);
    sxt_buffer_free(&back);
    sxt_buffer_free(&packed);
}

TEST(the_text_comes_back)
{
    assert_round_trip(text);
    assert_round_trip("{}");
    assert_round_trip("{\"stack_traces\": {}}");
    assert_round_trip("{\"stack_traces\": {\"4294967293\": [], \"4294967295\": []}}");
}

TEST(ids_that_are_far_apart)
{
    assert_round_trip("{\"stack_traces\": {\"3\": [" FRAME(
        4000000000, 1, 3000000000) "], \"2000000\": []}, "
                                   "\"functions\": {\"3000000000\": \"f\"}, \"files\": {\"4000000000\": \"a\"}}");
}

TEST(tables_are_those_of_the_text)
{
    struct sxt_mlyze_metadata metadata;
    char room[24];
    assert_true(pack(text));
    assert_int_equal(sxt_mlyze_tables_unpack(packed.data, packed.size, 256, false, &metadata, NULL), SXT_OK);
    assert_int_equal(metadata.frame_count, 5);
    assert_int_equal(metadata.tree.count, 4);
    assert_null(sxt_mlyze_find_stack(&metadata, 2));
    const struct sxt_mlyze_stack *stack = sxt_mlyze_find_stack(&metadata, 5);
    assert_non_null(stack);
    assert_int_equal(stack->count, 2);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, stack, 0)->line, 9);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, stack, 1)->line, UINT32_MAX);
    sxt_test_assert_text(sxt_mlyze_function(&metadata, 9, room), "g\"\001");
    sxt_test_assert_text(sxt_mlyze_function(&metadata, 2, room), "func_2");
    sxt_test_assert_text(sxt_mlyze_file(&metadata, 1, room), "/b");
    assert_non_null(sxt_json_member(metadata.root, "threads"));
    sxt_mlyze_metadata_free(&metadata);
    assert_int_equal(sxt_mlyze_tables_unpack(packed.data, packed.size, 256, true, &metadata, NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_frame_at(&metadata, sxt_mlyze_find_stack(&metadata, 5), 1)->line, 9);
    sxt_mlyze_metadata_free(&metadata);
    sxt_buffer_free(&packed);
}

TEST(text_that_would_not_come_back_is_not_packed)
{
    static const char *const texts[] = {
        "{\"stack_traces\":{}, \"files\": {\"0\": \"a\"},\"functions\": {\"1\":\"f\"}}",
        "{\"files\": {\"1\": \"a\", \"0\": \"b\"}}",
        "{\"files\": {\"0\": \"\\u0061\"}}",
        "{\"files\": {\"0\": \"\\udc80\"}}",
        "{\"stack_traces\": {\"0\": [{}]}}",
        "{\"stack_traces\": {\"0\": [{\"line\": 1, \"file_id\": 0, \"func_id\": 0}]}}",
        "{\"stack_traces\": {\"0\": [" FRAME(0, 1, 0) "]}, \"stack_order\": \"root_first\"}",
        "{\"stack_traces\": {\"0\": [" FRAME(4294967295, 1, 0) "]}}",
        "{\"stack_traces\": { }}",
        "{\"files\": {}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (pack(texts[i]))
            fail_msg("%s", texts[i]);
        sxt_buffer_free(&packed);
    }
}

static char *deep_text(unsigned frames)
{
    char *made = malloc(frames * 60 + 100);
    assert_non_null(made);
    size_t size = (size_t)sprintf(made, "{\"stack_traces\": {\"0\": [");
    for (unsigned i = 0; i < frames; i++)
        size += (size_t)sprintf(made + size, "%s{\"file_id\": 0, \"line\": %u, \"func_id\": 0}", i > 0 ? ", " : "", i);
    strcpy(made + size, "]}}");
    return made;
}

TEST(stacks_that_are_too_deep_are_not_packed)
{
    char *deep = deep_text(SXT_MLYZE_DEEP), *deeper = deep_text(SXT_MLYZE_DEEP + 1);
    assert_round_trip(deep);
    assert_false(pack(deeper));
    sxt_buffer_free(&packed);
    free(deep);
    free(deeper);
}

/* --- damage --- */

/* A file that is read anyway must be consistent; that is checked by reading all of it. */
static void read_all(const uint8_t *data, size_t size)
{
    struct sxt_mlyze_metadata metadata;
    sxt_error error;
    int status = sxt_mlyze_tables_unpack(data, size, 256, false, &metadata, &error);
    if (status != SXT_OK) {
        assert_true(status == SXT_ERROR_FORMAT || status == SXT_ERROR_UNSUPPORTED || status == SXT_ERROR_LIMIT);
        assert_int_equal(error.offset, 256);
        return;
    }
    struct sxt_buffer back;
    sxt_buffer_init(&back, (size_t)1 << 24);
    (void)sxt_mlyze_text_make(&metadata, metadata.rest, &back, NULL);
    for (uint32_t i = 0; i < 10; i++)
        assert_true(sxt_mlyze_same_stack(&metadata, i) <= i);
    sxt_buffer_free(&back);
    sxt_mlyze_metadata_free(&metadata);
}

TEST(every_cut_and_every_changed_byte)
{
    assert_true(pack(text));
    for (size_t size = 0; size < packed.size; size++) {
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, packed.data, size);
        read_all(cut, size);
        free(cut);
    }
    for (size_t i = 0; i < packed.size; i++) {
        for (unsigned change = 1; change < 256; change = change * 2 + 1) {
            packed.data[i] ^= (uint8_t)change;
            read_all(packed.data, packed.size);
            packed.data[i] ^= (uint8_t)change;
        }
    }
    sxt_buffer_free(&packed);
}

/* Packs two parts as they are. */
static void store_parts(const uint8_t *names, size_t name_size, const uint8_t *tree, size_t tree_size)
{
    static uint8_t stored[1 << 16];
    size_t first = ZSTD_compress(stored + 40, sizeof stored - 40, names, name_size, 1);
    assert_false(ZSTD_isError(first));
    size_t second = ZSTD_compress(stored + 40 + first, sizeof stored - 40 - first, tree, tree_size, 1);
    assert_false(ZSTD_isError(second));
    memset(stored, 0, 40);
    stored[0] = 1;
    sxt_store_u64le(stored + 8, name_size);
    sxt_store_u64le(stored + 16, first);
    sxt_store_u64le(stored + 24, tree_size);
    sxt_store_u64le(stored + 32, second);
    read_all(stored, 40 + first + second);
}

/* The same inside of what is compressed. */
TEST(every_changed_byte_of_the_expanded_parts)
{
    uint8_t parts[2][4096];
    size_t sizes[2];
    assert_true(pack(text));
    const uint8_t *stored = packed.data + 40;
    for (unsigned i = 0; i < 2; i++) {
        size_t size = (size_t)sxt_load_u64le(packed.data + 16 + 16 * i);
        sizes[i] = ZSTD_decompress(parts[i], sizeof parts[i], stored, size);
        assert_int_equal(sizes[i], sxt_load_u64le(packed.data + 8 + 16 * i));
        stored += size;
    }
    for (unsigned i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizes[i]; k++) {
            for (unsigned change = 1; change < 256; change = change * 2 + 1) {
                parts[i][k] ^= (uint8_t)change;
                store_parts(parts[0], sizes[0], parts[1], sizes[1]);
                parts[i][k] ^= (uint8_t)change;
            }
        }
        for (size_t k = 0; k < sizes[i]; k++)
            store_parts(parts[0], i == 0 ? k : sizes[0], parts[1], i == 1 ? k : sizes[1]);
    }
    sxt_buffer_free(&packed);
}

TEST(a_size_that_is_impossible)
{
    struct sxt_mlyze_metadata metadata;
    assert_true(pack(text));
    sxt_store_u64le(packed.data + 24, UINT64_C(1) << 31);
    assert_int_equal(sxt_mlyze_tables_unpack(packed.data, packed.size, 256, false, &metadata, NULL), SXT_ERROR_FORMAT);
    sxt_store_u64le(packed.data + 24, UINT64_MAX);
    assert_int_equal(sxt_mlyze_tables_unpack(packed.data, packed.size, 256, false, &metadata, NULL), SXT_ERROR_FORMAT);
    sxt_buffer_free(&packed);
}
