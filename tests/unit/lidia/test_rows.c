/* test_rows.c: files with so many rows that they are written in parts, on several threads. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "lidia/lidia.h"
#include "support/model.h"
#include "support/test.h"

struct archive {
    uint8_t *data;
    size_t size;
    struct sxt_lidia lidia;
};

static void encode(const struct sxt_symbols *model, const struct sxt_lidia_settings *settings, struct archive *archive)
{
    sxt_error error;
    if (sxt_lidia_encode(model, settings, &archive->data, &archive->size, NULL, &error) != SXT_OK ||
        sxt_lidia_open(&archive->lidia, archive->data, archive->size, true, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

/* Functions with calls and lines. Every 1000th also covers the 50 after it, which only archives of others can have. */
static struct sxt_symbols *make_model(size_t functions, bool overlapping)
{
    struct sxt_symbols *model = sxt_test_model();
    for (uint64_t i = 0; i < functions; i++) {
        char name[24];
        snprintf(name, sizeof name, "_ZN1a%u%.*sEv", 1 + (unsigned)(i % 9), 1 + (int)(i % 9), "ffffffffff");
        uint64_t length = overlapping && i % 1000 == 0 ? 64 * 50 : 48 + i % 16;
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 0, name, i * 64, length, "f.c", NULL, 0);
        for (uint32_t k = 0; k < i % 5; k++)
            sxt_test_add_line(model, k * 8, "f.c", 1 + (uint32_t)(i + k / 2));
        if (i % 3 == 0) {
            sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "call", i * 64 + 8, 24, "g.h", "f.c", 7);
            sxt_test_add_line(model, 0, "g.h", 70000);
            sxt_test_add_call(model, SXT_SOURCE_DWARF, 2, "_ZN4deep4callEv", i * 64 + 16, 4, NULL, "g.h", 9);
        }
    }
    if (sxt_symbols_finish_sorted(model, NULL) != SXT_OK)
        fail();
    return model;
}

TEST(the_bytes_do_not_depend_on_the_number_of_threads)
{
    for (int overlapping = 0; overlapping < 2; overlapping++) {
        struct sxt_symbols *model = make_model(40000, overlapping);
        struct archive one, many;
        encode(model, &(struct sxt_lidia_settings){.demangle = true, .threads = 1}, &one);
        encode(model, &(struct sxt_lidia_settings){.demangle = true, .threads = 4}, &many);
        assert_int_equal(one.size, many.size);
        assert_memory_equal(one.data, many.data, one.size);
        free(one.data);
        free(many.data);
        sxt_symbols_free(&model);
    }
}

/* How far before row INDEX the nearest row is that covers its address; 0 if there is none. */
static uint64_t parent_of(const struct sxt_lidia *lidia, uint64_t index)
{
    struct sxt_lidia_row row, before;
    sxt_lidia_row(lidia, index, &row);
    for (uint64_t back = 1; back <= index && back <= 4000; back++) {
        sxt_lidia_row(lidia, index - back, &before);
        if (row.address - before.address < before.length)
            return back;
    }
    return 0;
}

TEST(rows_of_all_parts_are_those_of_the_model)
{
    for (int overlapping = 0; overlapping < 2; overlapping++) {
        struct sxt_symbols *model = make_model(9000, overlapping);
        struct archive archive;
        encode(model, &(struct sxt_lidia_settings){.threads = 3}, &archive);
        assert_int_equal(archive.lidia.count, model->range_count);
        assert_true(model->range_count > 8192);
        for (uint64_t i = 0; i < archive.lidia.count; i++) {
            struct sxt_lidia_row row;
            sxt_lidia_row(&archive.lidia, i, &row);
            assert_int_equal(row.address, model->ranges[i].address);
            assert_int_equal(row.length, model->ranges[i].length);
            assert_int_equal(row.depth, model->ranges[i].depth);
            assert_int_equal(row.call_line, model->ranges[i].call_line);
        }
        /* A multiple of nothing else: the rows around the boundary between two parts are all compared. */
        for (uint64_t i = 0; i<archive.lidia.count; i += i> 8100 && i < 8300 ? 1 : 7)
            assert_int_equal(sxt_lidia_parent(&archive.lidia, i), parent_of(&archive.lidia, i));
        free(archive.data);
        sxt_symbols_free(&model);
    }
}
