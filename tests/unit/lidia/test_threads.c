/* test_threads.c: many threads look up in one open file at the same time. Meant for ThreadSanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <sextant/archive.h>
#include <sextant/lidia.h>

#include "support/model.h"
#include "support/test.h"

#define THREADS 8
#define SPACE   4096
#define BATCH   64

struct question {
    const sxt_archive *archive;
    uint64_t seed;
    uint64_t digest; /* of all answers */
};

/* A function every 64 bytes, each with calls and lines. */
static void *make_file(size_t *size)
{
    struct sxt_symbols *model = sxt_test_model();
    for (uint64_t at = 0; at < SPACE; at += 64) {
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 0, at % 128 ? "odd" : "even", at, 60, "f.c", NULL, 0);
        sxt_test_add_line(model, 0, "f.c", 1 + (uint32_t)at);
        sxt_test_add_line(model, 9, "f.c", 2 + (uint32_t)at);
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "call", at + 8, 40, "g.h", "f.c", 7);
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 2, "_ZN4deep4callEv", at + 16, 4, NULL, NULL, 9);
    }
    sxt_test_finish(model);
    void *data;
    assert_int_equal(sxt_lidia_write_memory(model, NULL, &data, size, NULL, NULL), SXT_OK);
    sxt_symbols_free(&model);
    return data;
}

static uint64_t mix(uint64_t digest, const sxt_frame *frame)
{
    digest = (digest ^ frame->start ^ (uint64_t)frame->line << 32 ^ frame->depth) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < frame->function.size; i++)
        digest = (digest ^ (uint8_t)frame->function.data[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static uint64_t address_number(uint64_t seed, uint64_t i)
{
    return (seed + i) * 2654435761u % SPACE;
}

static void *ask(void *data)
{
    struct question *question = data;
    for (uint64_t i = 0; i < 20 * BATCH; i += BATCH) {
        uint64_t addresses[BATCH];
        size_t first[BATCH + 1];
        sxt_frame frames[3 * BATCH];
        for (uint64_t k = 0; k < BATCH; k++)
            addresses[k] = address_number(question->seed, i + k);
        if (sxt_archive_lookup_batch(question->archive, addresses, BATCH, frames, 3 * BATCH, first) != BATCH)
            abort();
        for (size_t k = 0; k < first[BATCH]; k++)
            question->digest = mix(question->digest, &frames[k]);
        for (uint64_t k = 0; k < BATCH; k++) {
            sxt_range row;
            size_t count = sxt_archive_lookup(question->archive, addresses[k], frames, 3);
            for (size_t j = 0; j < count; j++)
                question->digest = mix(question->digest, &frames[j]);
            if (sxt_archive_row(question->archive, k, &row) != SXT_OK)
                abort();
        }
    }
    sxt_info info = {.struct_size = sizeof info};
    sxt_archive_info(question->archive, &info);
    question->digest ^= info.functions;
    return NULL;
}

TEST(threads_share_an_archive_and_all_get_the_right_answers)
{
    size_t size;
    void *data = make_file(&size);
    sxt_archive *archive;
    assert_int_equal(sxt_archive_open_memory(data, size, NULL, &archive, NULL), SXT_OK);
    struct question questions[THREADS];
    pthread_t threads[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        questions[i] = (struct question){.archive = archive, .seed = i / 2};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &questions[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    /* The same questions once more, alone. */
    for (unsigned i = 0; i < THREADS; i++) {
        struct question alone = {.archive = archive, .seed = questions[i].seed};
        ask(&alone);
        assert_true(alone.digest == questions[i].digest);
        assert_true(i < 2 || questions[i].digest != questions[i - 2].digest);
    }
    sxt_archive_close(&archive);
    sxt_free(data);
}

static void *write_and_open(void *data)
{
    const struct sxt_symbols *model = data;
    for (unsigned i = 0; i < 20; i++) {
        void *bytes;
        size_t size;
        sxt_archive *archive;
        sxt_frame frames[3];
        if (sxt_lidia_write_memory(model, NULL, &bytes, &size, NULL, NULL) != SXT_OK ||
            sxt_archive_open_memory(bytes, size, NULL, &archive, NULL) != SXT_OK ||
            sxt_archive_lookup(archive, 0x14, frames, 3) != 2)
            abort();
        sxt_archive_close(&archive);
        sxt_free(bytes);
    }
    return NULL;
}

TEST(threads_write_one_model_at_the_same_time)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, "_ZN3foo3barEi", 0x10, 0x20);
    sxt_test_add_line(model, 0, "a.c", 1);
    sxt_test_add_line(model, 8, "b.c", 1);
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 1, "g", 0x14, 0x10);
    sxt_test_finish(model);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_and_open, model), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    sxt_symbols_free(&model);
}

/* So many names that they are made readable on several threads; every third is not mangled. */
TEST(many_names_are_made_readable_each_its_own_way)
{
    enum { COUNT = 10000 };
    struct sxt_symbols *model = sxt_test_model();
    char name[64], readable[64];
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, i % 3 ? "_ZN4name6n%05uEv" : "plain_%u", i);
        sxt_test_add_function(model, name, 16 * (uint64_t)i, 16, 'G');
    }
    sxt_test_finish(model);
    void *data;
    size_t size;
    sxt_archive *archive;
    assert_int_equal(sxt_lidia_write_memory(model, NULL, &data, &size, NULL, NULL), SXT_OK);
    assert_int_equal(sxt_archive_open_memory(data, size, NULL, &archive, NULL), SXT_OK);
    for (unsigned i = 0; i < COUNT; i++) {
        sxt_frame frame;
        snprintf(readable, sizeof readable, i % 3 ? "name::n%05u()" : "plain_%u", i);
        assert_int_equal(sxt_archive_lookup(archive, 16 * (uint64_t)i + 7, &frame, 1), 1);
        sxt_test_assert_text(frame.function, readable);
    }
    sxt_archive_close(&archive);
    sxt_free(data);
    sxt_symbols_free(&model);
}
