/*
 * test_ranged.c: archives that are read by ranges give the same answers as whole ones, and little of them is fetched;
 * failures are reported, and damaged ones are survived.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lidia/lidia.h"
#include "support/model.h"
#include "support/partial_source.h"
#include "support/random.h"

#define DWARF      SXT_SOURCE_DWARF
#define FRAMES_MAX 64
#define SPACE      400
#define FUNCTIONS  12000

static struct sxt_symbols *model;
static uint8_t *data;
static size_t size;
static struct sxt_lidia whole, ranged;
static struct sxt_test_source source;

SET_UP()
{
    model = NULL;
    data = NULL;
}

TEAR_DOWN()
{
    free(data);
    sxt_symbols_free(&model);
}

static void encode(struct sxt_lidia_settings settings)
{
    sxt_error error;
    free(data);
    if (sxt_lidia_encode(model, &settings, &data, &size, NULL, &error) != SXT_OK ||
        sxt_lidia_open(&whole, data, size, true, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

static void open_ranged(void)
{
    sxt_error error;
    sxt_test_open_source(&source, data, size);
    if (sxt_lidia_open_partial(&ranged, source.partial, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

static void load(const uint64_t *addresses, size_t count, bool all)
{
    sxt_error error;
    if (sxt_lidia_load(&ranged, addresses, count, all, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

static void assert_same_string(sxt_string a, sxt_string b)
{
    assert_int_equal(a.data == NULL, b.data == NULL);
    assert_int_equal(a.size, b.size);
    if (a.size > 0)
        assert_memory_equal(a.data, b.data, a.size);
}

static void assert_same_frames(uint64_t address, bool all)
{
    sxt_frame a[FRAMES_MAX], b[FRAMES_MAX];
    size_t count = sxt_lidia_lookup(&whole, address, a, FRAMES_MAX), first[2];
    assert_int_equal(sxt_lidia_lookup_batch(&ranged, &address, 1, b, FRAMES_MAX, first), 1);
    assert_int_equal(first[1], count);
    for (size_t i = 0; i < count; i++) {
        assert_same_string(a[i].function, b[i].function);
        assert_same_string(a[i].file, b[i].file);
        assert_true(a[i].line == b[i].line && a[i].depth == b[i].depth);
        assert_true(a[i].start == b[i].start && a[i].length == b[i].length);
        if (!all)
            continue;
        uint64_t start = sxt_lidia_whole_start(&whole, &a[i]);
        assert_int_equal(sxt_lidia_whole_start(&ranged, &b[i]), start);
        if (a[i].depth == 0) {
            struct sxt_lidia_names left = sxt_lidia_names_at(&whole.aliases, start);
            struct sxt_lidia_names right = sxt_lidia_names_at(&ranged.aliases, start);
            assert_true(left.count == right.count && left.ambiguous == right.ambiguous);
            for (uint64_t k = 0; k < left.count; k++)
                assert_same_string(sxt_lidia_alias(&whole.aliases, left.first + k),
                                   sxt_lidia_alias(&ranged.aliases, right.first + k));
        }
        sxt_lidia_whole_range(&whole, &a[i]);
        sxt_lidia_whole_range(&ranged, &b[i]);
        assert_true(a[i].start == b[i].start && a[i].length == b[i].length);
    }
}

/* --- small files, every address --- */

static void add_random_tree(struct sxt_test_random *random, uint32_t depth, uint64_t start, uint64_t end)
{
    static const char *const files[] = {"a.c", "b.h", "c.inc"};
    char name[64];
    snprintf(name, sizeof name, "n%0*zu", (int)sxt_test_below(random, 40), model->range_count);
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
        add_random_tree(random, depth + 1, from, at);
    }
}

static void make_random_model(uint64_t seed)
{
    struct sxt_test_random random = {seed << 16};
    sxt_symbols_free(&model);
    model = sxt_test_model();
    for (unsigned i = sxt_test_below(&random, 6); i > 0; i--) {
        uint64_t start = sxt_test_below(&random, SPACE);
        add_random_tree(&random, 0, start, start + 1 + sxt_test_below(&random, SPACE / 2));
    }
    for (unsigned i = sxt_test_below(&random, 6); i > 0; i--) {
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        sxt_test_add_function(model, name, sxt_test_below(&random, SPACE) / 8 * 8, sxt_test_below(&random, 40), 'G');
    }
    sxt_test_finish(model);
}

TEST(answers_are_those_of_the_whole_file)
{
    uint64_t addresses[2 * SPACE];
    for (uint64_t i = 0; i < 2 * SPACE; i++)
        addresses[i] = i * 7919 % (2 * SPACE); /* in no order */
    addresses[0] = UINT64_MAX;
    for (uint64_t seed = 0; seed < 16; seed++) {
        make_random_model(seed);
        for (unsigned kind = 0; kind < 8; kind++) {
            encode((struct sxt_lidia_settings){.no_index = kind & 1, .nul_strings = kind & 2});
            open_ranged();
            if (kind & 4) {
                load(addresses, 2 * SPACE, true);
            }
            for (size_t i = 0; i < 2 * SPACE; i++) {
                if (!(kind & 4))
                    load(&addresses[i], 1, seed % 2 == 0);
                assert_same_frames(addresses[i], (kind & 4) || seed % 2 == 0);
            }
            assert_true(source.partial->fetched <= size);
            sxt_test_close_source(&source);
        }
    }
}

TEST(what_was_forgotten_is_fetched_again)
{
    make_random_model(3);
    encode((struct sxt_lidia_settings){0});
    open_ranged();
    for (uint64_t address = 0; address < SPACE; address++) {
        sxt_partial_leave(source.partial);
        assert_true(address == 0 || sxt_partial_drop(source.partial) > 0 || source.partial->held == 0);
        sxt_partial_enter(source.partial);
        load(&address, 1, true);
        assert_same_frames(address, true);
    }
    sxt_test_close_source(&source);
}

/* --- a large file --- */

static void make_large_model(void)
{
    struct sxt_test_random random = {42};
    sxt_symbols_free(&model);
    model = sxt_test_model();
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        char name[300], file[80];
        uint64_t start = UINT64_C(0x400000) + (uint64_t)i * 256 + sxt_test_below(&random, 3) * 16;
        snprintf(name, sizeof name, "product::component_%u::detail::function_%u<std::vector<int>, %0*u>", i % 100, i,
                 (int)(80 + i % 60), i);
        snprintf(file, sizeof file, "/build/product/component_%u/file_%u.cpp", i % 100, i / 10);
        sxt_test_add_call(model, DWARF, 0, name, start, 200, file, NULL, 0);
        for (uint32_t at = 0; at < 200; at += 20)
            sxt_test_add_line(model, at, i % 50 == 0 && at >= 100 ? "/build/table.inc" : file, at + i % 1000 + 1);
        for (uint32_t depth = 1; depth <= i % 4; depth++) {
            snprintf(name, sizeof name, "inlined_%u", i * 7 % 5000);
            sxt_test_add_call(model, DWARF, depth, name, start + depth * 10, 100 - depth * 20, file, file, depth);
        }
    }
    sxt_test_finish(model);
}

static void random_addresses(uint64_t *addresses, size_t count)
{
    struct sxt_test_random random = {7};
    for (size_t i = 0; i < count; i++)
        addresses[i] = 0x400000 + sxt_test_below(&random, FUNCTIONS * 256);
}

TEST(little_of_a_large_file_is_fetched)
{
    static uint64_t addresses[1000];
    random_addresses(addresses, 1000);
    make_large_model();
    encode((struct sxt_lidia_settings){.module = true});
    assert_true(size > SXT_LIDIA_RANGED_SIZE);
    assert_int_equal(sxt_lidia_verify(data, size, NULL, NULL), 0);
    open_ranged();
    assert_true(source.requests <= 2);
    assert_true(source.bytes < size / 50 + (64 << 10));
    assert_true(source.bytes < SXT_LIDIA_RANGED_SIZE);
    source.bytes = source.requests = source.calls = 0;
    load(addresses, 1, false);
    assert_true(source.requests <= 6 && source.bytes < 10000);
    assert_same_frames(addresses[0], false);
    load(addresses, 1000, false);
    assert_true(source.bytes < 2000000);
    assert_true(source.calls < 40);
    for (size_t i = 0; i < 1000; i++)
        assert_same_frames(addresses[i], false);
    size_t before = source.calls;
    load(addresses, 1000, false);
    assert_int_equal(source.calls, before);
    load(addresses, 1000, true);
    for (size_t i = 0; i < 1000; i++)
        assert_same_frames(addresses[i], true);
    sxt_test_close_source(&source);
}

TEST(a_file_of_another_writer_takes_a_few_requests_more)
{
    static uint64_t addresses[1000];
    random_addresses(addresses, 1000);
    make_large_model();
    for (unsigned kind = 0; kind < 4; kind++) {
        encode((struct sxt_lidia_settings){.no_index = kind & 1, .nul_strings = kind & 2});
        open_ranged();
        assert_true(source.requests <= 8);
        assert_true(source.bytes <= SXT_LIDIA_RANGED_SIZE);
        assert_int_equal(ranged.nul_strings, (kind & 2) != 0);
        load(addresses, 1000, true);
        for (size_t i = 0; i < 1000; i++)
            assert_same_frames(addresses[i], true);
        sxt_test_close_source(&source);
    }
}

TEST(a_damaged_chunk_is_not_used)
{
    static uint64_t addresses[20];
    random_addresses(addresses, 20);
    make_large_model();
    encode((struct sxt_lidia_settings){.module = true});
    struct sxt_lidia_chunk chunk;
    assert_true(sxt_lidia_find_chunk(&whole, SXT_LIDIA_OPENING, SXT_LIDIA_OPENING_VERSION, &chunk));
    assert_int_equal(chunk.offset + SXT_LIDIA_CHUNK_HEADER_SIZE + chunk.size, size);
    for (uint64_t at = chunk.offset; at < size; at += at < size - 40 ? 97 : 3) {
        data[at] ^= 0x10;
        assert_true(sxt_lidia_verify(data, size, NULL, NULL) > 0);
        open_ranged();
        assert_true(source.requests <= 8);
        load(addresses, 20, false);
        for (size_t i = 0; i < 20; i++)
            assert_same_frames(addresses[i], false);
        sxt_test_close_source(&source);
        data[at] ^= 0x10;
    }
}

/* --- failures --- */

TEST(every_failure_to_read_is_reported)
{
    static uint64_t addresses[100];
    random_addresses(addresses, 100);
    make_large_model();
    encode((struct sxt_lidia_settings){.module = true});
    sxt_error error;
    unsigned failures = 0;
    for (size_t call = 1; call < 40; call++) {
        sxt_test_open_source(&source, data, size);
        source.fail_at = call;
        int status = sxt_lidia_open_partial(&ranged, source.partial, &error);
        if (status == SXT_OK)
            status = sxt_lidia_load(&ranged, addresses, 100, true, &error);
        assert_int_equal(status, call <= source.calls ? SXT_ERROR_IO : SXT_OK);
        failures += status != SXT_OK;
        if (status != SXT_OK)
            assert_string_equal(error.text, "the bucket is gone");
        sxt_test_close_source(&source);
    }
    assert_true(failures >= 5);
}

TEST(anything_else_is_refused)
{
    static uint8_t zeros[5000];
    sxt_error error;
    sxt_test_open_source(&source, zeros, sizeof zeros);
    assert_int_equal(sxt_lidia_open_partial(&ranged, source.partial, &error), SXT_ERROR_UNSUPPORTED);
    sxt_test_close_source(&source);
    memcpy(zeros, ".dia\1", 5);
    zeros[8] = 4;
    zeros[0x10] = zeros[0x30] = 0xff;
    zeros[0x28] = 4;
    zeros[0x17] = zeros[0x37] = 0xff;
    sxt_test_open_source(&source, zeros, sizeof zeros);
    assert_int_equal(sxt_lidia_open_partial(&ranged, source.partial, &error), SXT_ERROR_FORMAT);
    sxt_test_close_source(&source);
    for (size_t bytes = 1; bytes < 200; bytes++) {
        sxt_test_open_source(&source, zeros, bytes);
        assert_true(sxt_lidia_open_partial(&ranged, source.partial, &error) != SXT_OK);
        sxt_test_close_source(&source);
    }
}

/* Any answer is allowed, but it ends, and nothing outside of the file is read. */
TEST(damaged_files_are_survived)
{
    struct sxt_test_random random = {11};
    uint64_t addresses[SPACE / 4];
    for (uint64_t i = 0; i < SPACE / 4; i++)
        addresses[i] = i * 4;
    for (unsigned round = 0; round < 400; round++) {
        sxt_error error;
        if (round % 100 == 0) {
            make_random_model(round / 100 + 1);
            encode((struct sxt_lidia_settings){.no_index = round % 300 == 0, .nul_strings = round % 500 == 0});
        }
        uint8_t *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, data, size);
        for (unsigned k = 0; k < 3; k++)
            copy[sxt_test_below(&random, (uint32_t)size)] = (uint8_t)sxt_test_next(&random);
        sxt_test_open_source(&source, copy, size);
        if (sxt_lidia_open_partial(&ranged, source.partial, &error) == SXT_OK &&
            sxt_lidia_load(&ranged, addresses, SPACE / 4, true, &error) == SXT_OK)
            for (size_t i = 0; i < SPACE / 4; i++) {
                sxt_frame frames[4];
                size_t count = sxt_lidia_lookup(&ranged, addresses[i], frames, 4);
                for (size_t f = 0; f < count && f < 4; f++)
                    sxt_lidia_whole_range(&ranged, &frames[f]);
            }
        assert_true(source.bytes <= 2 * size);
        sxt_test_close_source(&source);
        free(copy);
    }
}
