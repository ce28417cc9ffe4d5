/*
 * test_index.c: files as we write them: the answers are the model's, with and without the index, and with it a
 * function with 100,000 inlined calls is as quick as any other.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lidia/lidia.h"
#include "support/model.h"
#include "support/random.h"
#include "support/test.h"

#define DWARF      SXT_SOURCE_DWARF
#define FRAMES_MAX 32
#define SPACE      200

struct archive {
    uint8_t *data;
    size_t size;
    struct sxt_lidia lidia;
};

static void encode(const struct sxt_symbols *model, bool no_index, bool nul_strings, struct archive *archive)
{
    sxt_error error;
    struct sxt_lidia_settings settings = {.no_index = no_index, .nul_strings = nul_strings};
    if (sxt_lidia_encode(model, &settings, &archive->data, &archive->size, NULL, &error) != SXT_OK ||
        sxt_lidia_open(&archive->lidia, archive->data, archive->size, true, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_true(archive->lidia.parents == NULL || !no_index);
}

/* --- random models --- */

static void add_random_tree(struct sxt_symbols *model, struct sxt_test_random *random, uint32_t depth, uint64_t start,
                            uint64_t end)
{
    static const char *const files[] = {"a.c", "b.h", "c.inc"};
    char name[16];
    snprintf(name, sizeof name, "n%zu", model->range_count);
    sxt_test_add_call(model, DWARF, depth, name, start, end - start, sxt_test_below(random, 3) ? "own.c" : NULL,
                      depth > 0 && sxt_test_below(random, 3) ? files[start % 3] : NULL,
                      depth > 0 ? sxt_test_below(random, 90000) : 0);
    if (sxt_test_below(random, 4) != 0)
        for (uint64_t at = start; at < end; at += 1 + sxt_test_below(random, 9))
            sxt_test_add_line(model, (uint32_t)(at - start), files[sxt_test_below(random, 3)],
                              sxt_test_below(random, 9));
    for (uint64_t at = start; depth < 8 && sxt_test_below(random, 4) != 0;) {
        uint64_t from = at + sxt_test_below(random, 4);
        at = from + 1 + sxt_test_below(random, 25);
        if (at > end)
            break;
        add_random_tree(model, random, depth + 1, from, at);
    }
}

static struct sxt_symbols *random_model(uint64_t seed)
{
    struct sxt_symbols *model = sxt_test_model();
    struct sxt_test_random random = {seed << 16};
    for (unsigned i = sxt_test_below(&random, 4); i > 0; i--) {
        uint64_t start = sxt_test_below(&random, SPACE);
        add_random_tree(model, &random, 0, start, start + 1 + sxt_test_below(&random, SPACE / 2));
    }
    for (unsigned i = sxt_test_below(&random, 4); i > 0; i--) {
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        sxt_test_add_function(model, name, sxt_test_below(&random, SPACE), sxt_test_below(&random, 40), 'G');
    }
    sxt_test_finish(model);
    return model;
}

static void assert_same_text(const struct sxt_symbols *model, sxt_string found, uint32_t expected)
{
    sxt_test_assert_text(found, expected != 0 ? sxt_symbols_view(model, expected).data : NULL);
}

/* The frames at ADDRESS against the ranges of the model, from the deepest outwards. */
static void assert_model_chain(const struct sxt_symbols *model, uint64_t address, const sxt_frame *frames, size_t count)
{
    size_t found = 0;
    const struct sxt_model_range *inner = NULL;
    for (size_t i = model->range_count; i-- > 0;) {
        const struct sxt_model_range *range = &model->ranges[i];
        if (address < range->address || address - range->address >= range->length)
            continue;
        assert_true(found < count);
        const sxt_frame *frame = &frames[found++];
        const struct sxt_model_line *entry = sxt_test_line_at(model->lines, range, address);
        uint32_t own_file = entry != NULL ? entry->file : range->file;
        assert_same_text(model, frame->function, range->function);
        assert_int_equal(frame->depth, range->depth);
        if (inner == NULL) {
            assert_same_text(model, frame->file, own_file);
            assert_int_equal(frame->line, entry != NULL ? entry->line : 0);
        } else {
            assert_same_text(model, frame->file, inner->call_file != 0 ? inner->call_file : own_file);
            assert_int_equal(frame->line, inner->call_line);
        }
        inner = range;
    }
    assert_int_equal(count, found);
}

TEST(what_is_looked_up_is_what_the_model_has)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct sxt_symbols *model = random_model(seed);
        for (unsigned form = 0; form < 4; form++) {
            struct archive archive;
            encode(model, form % 2, form / 2, &archive);
            assert_int_equal(sxt_lidia_verify(archive.data, archive.size, NULL, NULL), 0);
            for (uint64_t address = 0; address < 2 * SPACE; address++) {
                sxt_frame frames[FRAMES_MAX];
                size_t count = sxt_lidia_lookup(&archive.lidia, address, frames, FRAMES_MAX);
                assert_true(count <= FRAMES_MAX);
                assert_model_chain(model, address, frames, count);
            }
            free(archive.data);
        }
        sxt_symbols_free(&model);
    }
}

TEST(two_entries_for_one_address_make_a_good_file_where_the_last_one_counts)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_range(model, DWARF, 0, "f", 0, 0x20);
    sxt_test_add_line(model, 0, "a.c", 1);
    sxt_test_add_line(model, 8, "a.c", 2);
    sxt_test_add_line(model, 8, "a.c", 3);
    sxt_test_finish(model);
    struct archive archive;
    encode(model, false, false, &archive);
    assert_int_equal(sxt_lidia_verify(archive.data, archive.size, NULL, NULL), 0);
    sxt_frame frame;
    assert_int_equal(sxt_lidia_lookup(&archive.lidia, 9, &frame, 1), 1);
    assert_int_equal(frame.line, 3);
    free(archive.data);
    sxt_symbols_free(&model);
}

/* --- speed --- */

#define CALLS 100000

static struct sxt_symbols *wide_model(void)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_range(model, DWARF, 0, "f", 0x1000, 4 * CALLS + 0x100);
    for (uint64_t i = 0; i < CALLS; i++)
        sxt_test_add_range(model, DWARF, 1, "g", 0x1000 + 4 * i, 4);
    sxt_test_finish(model);
    return model;
}

/* Seconds for one lookup, on the average of COUNT addresses at the end of the function. */
static double seconds_each(const struct sxt_lidia *lidia, size_t count)
{
    double start = sxt_test_seconds();
    for (size_t i = 0; i < count; i++) {
        sxt_frame frames[2];
        uint64_t address = 0x1000 + 4 * CALLS - 400 + i % 800;
        assert_int_equal(sxt_lidia_lookup(lidia, address, frames, 2), address < 0x1000 + 4 * CALLS   ? 2
                                                                      : address < 0x1100 + 4 * CALLS ? 1
                                                                                                     : 0);
    }
    return (sxt_test_seconds() - start) / (double)count;
}

TEST(the_index_makes_a_wide_function_at_least_twenty_times_as_quick)
{
    struct sxt_symbols *model = wide_model();
    struct archive indexed, walked;
    encode(model, false, false, &indexed);
    encode(model, true, false, &walked);
    seconds_each(&indexed.lidia, 1000);
    double with_index = seconds_each(&indexed.lidia, 40000);
    double without = seconds_each(&walked.lidia, 200);
    print_message("# %.0f ns a lookup with the index, %.0f ns without: %.0f times\n", with_index * 1e9, without * 1e9,
                  without / with_index);
    assert_true(without >= 20 * with_index);
    free(indexed.data);
    free(walked.data);
    sxt_symbols_free(&model);
}

TEST(the_deepest_nesting_is_answered_in_full)
{
    struct sxt_symbols *model = sxt_test_model();
    for (uint32_t depth = 0; depth <= SXT_SYMBOLS_MAX_DEPTH; depth++)
        sxt_test_add_range(model, DWARF, depth, "f", depth, 4000 - 2 * depth);
    sxt_test_finish(model);
    struct archive archive;
    encode(model, false, false, &archive);
    sxt_frame *frames = calloc(SXT_SYMBOLS_MAX_DEPTH + 1, sizeof *frames);
    assert_non_null(frames);
    assert_int_equal(sxt_lidia_lookup(&archive.lidia, 1500, frames, SXT_SYMBOLS_MAX_DEPTH + 1),
                     SXT_SYMBOLS_MAX_DEPTH + 1);
    for (uint32_t i = 0; i <= SXT_SYMBOLS_MAX_DEPTH; i++)
        assert_int_equal(frames[i].depth, SXT_SYMBOLS_MAX_DEPTH - i);
    assert_int_equal(sxt_lidia_lookup(&archive.lidia, 500, frames, 1), 501);
    assert_int_equal(sxt_lidia_verify(archive.data, archive.size, NULL, NULL), 0);
    free(frames);
    free(archive.data);
    sxt_symbols_free(&model);
}
