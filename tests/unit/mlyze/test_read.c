/*
 * test_read.c: traces are read as they were written, in batches of any size and from any block, by all codecs;
 * damage is reported where it is, after everything before it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "support/mlyze_image.h"
#include "support/test.h"

static const enum sxt_mlyze_codec codecs[] = {SXT_MLYZE_RAW, SXT_MLYZE_LZ4, SXT_MLYZE_COLUMNS, SXT_MLYZE_COLUMNS_ZSTD};

static struct sxt_mlyze *open_trace(const uint8_t *file, size_t size)
{
    struct sxt_mlyze *trace;
    sxt_error error = {.text = ""};
    assert_int_equal(sxt_mlyze_open(file, size, &trace, &error), SXT_OK);
    return trace;
}

static struct sxt_mlyze_cursor *open_cursor(const struct sxt_mlyze *trace)
{
    struct sxt_mlyze_cursor *cursor;
    assert_int_equal(sxt_mlyze_cursor_open(trace, &cursor, NULL), SXT_OK);
    return cursor;
}

TEST(worked_example)
{
    static const struct {
        sxt_trace_event event;
        uint64_t offset;
    } expected[] = {
        {{.kind = SXT_TRACE_MARKER, .time = SXT_TEST_START + 5, .stack = 2}, 533},
        {{.kind = SXT_TRACE_ALLOC, .time = SXT_TEST_START + 105, .address = 0x7f0000001000, .size = 128, .thread = 1},
         536},
        {{.kind = SXT_TRACE_ALLOC,
          .time = SXT_TEST_START + 105,
          .address = 0x7f0000002000,
          .size = 16384,
          .stack = 1,
          .thread = 2},
         551},
        {{.kind = SXT_TRACE_FREE, .time = SXT_TEST_START + 1105, .address = 0x7f0000001000}, 567},
        {{.kind = SXT_TRACE_GC, .time = SXT_TEST_START + 1107, .objects = 3, .size = 300}, 578},
    };
    size_t size, count;
    uint8_t *file = sxt_test_mlyze_example(&size);
    assert_int_equal(size, 583);
    assert_int_equal(sxt_mlyze_verify(file, size, NULL, NULL), 0);
    struct sxt_mlyze *trace = open_trace(file, size);
    struct sxt_mlyze_cursor *cursor = open_cursor(trace);
    sxt_trace_event event;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(sxt_mlyze_offset(cursor), expected[i].offset);
        assert_int_equal(sxt_mlyze_position(cursor), i);
        assert_int_equal(sxt_mlyze_read(cursor, &event, 1, &count, NULL), SXT_OK);
        assert_int_equal(count, 1);
        sxt_test_mlyze_same(&event, &expected[i].event);
    }
    assert_int_equal(sxt_mlyze_read(cursor, &event, 1, &count, NULL), SXT_OK);
    assert_int_equal(count, 0);
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace);
    char room[24];
    assert_int_equal(metadata->stack_count, 2);
    assert_int_equal(metadata->stacks[0].count, 2);
    assert_int_equal(sxt_mlyze_frame_at(metadata, &metadata->stacks[0], 1)->line, 123);
    sxt_test_assert_text(
        sxt_mlyze_function(metadata, sxt_mlyze_frame_at(metadata, &metadata->stacks[0], 1)->function, room),
        "process_data");
    sxt_test_assert_text(sxt_mlyze_file(metadata, 7, room), "file_7");
    sxt_test_assert_text(sxt_mlyze_function(metadata, 3, room), "func_3");
    sxt_mlyze_cursor_close(&cursor);
    sxt_mlyze_close(&trace);
    free(file);
}

TEST(batches_of_any_size)
{
    enum { COUNT = 20000 };
    static const size_t batches[] = {1, 2, 7, 64, COUNT + 1};
    sxt_trace_event *events = sxt_test_mlyze_events(1, COUNT), *found = calloc(COUNT + 1, sizeof *found);
    assert_non_null(found);
    for (size_t codec = 0; codec < 3; codec++) {
        size_t size;
        uint8_t *file = sxt_test_mlyze_file(events, COUNT, codecs[codec], &size);
        struct sxt_mlyze *trace = open_trace(file, size);
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            struct sxt_mlyze_cursor *cursor = open_cursor(trace);
            size_t count, all = 0;
            do {
                assert_int_equal(sxt_mlyze_read(cursor, found, batches[i], &count, NULL), SXT_OK);
                for (size_t j = 0; j < count; j++)
                    sxt_test_mlyze_same(&found[j], &events[all + j]);
                all += count;
                assert_int_equal(sxt_mlyze_position(cursor), all);
            } while (count > 0);
            assert_int_equal(all, COUNT);
            sxt_mlyze_cursor_close(&cursor);
        }
        sxt_mlyze_close(&trace);
        free(file);
    }
    free(found);
    free(events);
}

TEST(compression_pays)
{
    enum { COUNT = 20000 };
    sxt_trace_event *events = sxt_test_mlyze_events(2, COUNT);
    size_t sizes[3];
    for (size_t codec = 0; codec < 3; codec++)
        free(sxt_test_mlyze_file(events, COUNT, codecs[codec], &sizes[codec]));
    assert_true(sizes[1] < sizes[0] && sizes[2] < sizes[1]);
    free(events);
}

/* A file cut anywhere gives all whole events and then says where it ends. */
TEST(cut_off)
{
    static const size_t begins[] = {533, 536, 551, 567, 578, 583};
    size_t size, count;
    uint8_t *file = sxt_test_mlyze_example(&size);
    sxt_trace_event events[8];
    for (size_t cut = 533; cut <= size; cut++) {
        uint8_t *part = malloc(cut);
        assert_non_null(part);
        memcpy(part, file, cut);
        size_t whole = 0;
        while (whole < 5 && begins[whole + 1] <= cut)
            whole++;
        struct sxt_mlyze *trace = open_trace(part, cut);
        struct sxt_mlyze_cursor *cursor = open_cursor(trace);
        sxt_error error;
        assert_int_equal(sxt_mlyze_read(cursor, events, 8, &count, &error),
                         whole > 0 || cut == 533 ? SXT_OK : SXT_ERROR_FORMAT);
        if (whole > 0)
            assert_int_equal(count, whole);
        bool is_whole = begins[whole] == cut;
        for (unsigned again = 0; again < 2; again++) {
            assert_int_equal(sxt_mlyze_read(cursor, events, 8, &count, &error), is_whole ? SXT_OK : SXT_ERROR_FORMAT);
            if (!is_whole)
                assert_int_equal(error.offset, begins[whole]);
        }
        sxt_mlyze_cursor_close(&cursor);
        sxt_mlyze_close(&trace);
        free(part);
    }
    free(file);
}

TEST(damaged_block_is_skipped)
{
    enum { COUNT = 20000 };
    sxt_trace_event *events = sxt_test_mlyze_events(3, COUNT), found[100];
    size_t size, count;
    uint8_t *file = sxt_test_mlyze_file(events, COUNT, SXT_MLYZE_COLUMNS, &size);
    struct sxt_mlyze *trace = open_trace(file, size);
    struct sxt_mlyze_index index;
    assert_int_equal(sxt_mlyze_index_make(trace, &index, NULL), SXT_OK);
    assert_true(index.count > 3);
    file[index.entries[1].offset + 50] ^= 0x55;
    struct sxt_mlyze_cursor *cursor = open_cursor(trace);
    uint64_t seen = 0;
    while (sxt_mlyze_read(cursor, found, 100, &count, NULL) == SXT_OK)
        seen += count;
    assert_int_equal(seen, index.entries[1].event);
    assert_int_equal(sxt_mlyze_offset(cursor), index.entries[1].offset);
    struct sxt_mlyze_loss loss;
    assert_true(sxt_mlyze_skip_damage(cursor, &loss));
    assert_int_equal(loss.offset, index.entries[1].offset);
    assert_int_equal(loss.block, 2);
    assert_int_equal(loss.blocks, 1);
    assert_int_equal(loss.events, index.entries[2].event - index.entries[1].event);
    assert_int_equal(sxt_mlyze_position(cursor), index.entries[2].event);
    assert_int_equal(sxt_mlyze_read(cursor, found, 100, &count, NULL), SXT_OK);
    sxt_test_mlyze_same(&found[0], &events[index.entries[2].event]);
    sxt_mlyze_cursor_close(&cursor);
    sxt_mlyze_index_free(&index);
    sxt_mlyze_close(&trace);
    free(file);
    free(events);
}

TEST(unknown_bytes_hide_the_events_only)
{
    size_t size;
    uint8_t *file = sxt_test_mlyze_example(&size);
    file[200] = 1;
    struct sxt_mlyze *trace = open_trace(file, size);
    struct sxt_mlyze_cursor *cursor;
    assert_true(sxt_mlyze_header(trace)->has_unknown);
    assert_int_equal(sxt_mlyze_metadata(trace)->file_count, 2);
    sxt_error error;
    assert_int_equal(sxt_mlyze_cursor_open(trace, &cursor, &error), SXT_ERROR_UNSUPPORTED);
    assert_int_equal(error.offset, 200);
    sxt_mlyze_close(&trace);
    file[200] = 0;
    file[20] = SXT_MLYZE_UNCLEAN;
    assert_int_equal(sxt_mlyze_open(file, size, &trace, NULL), SXT_ERROR_UNSUPPORTED);
    free(file);
}

TEST(writer_refuses_nonsense)
{
    char name[] = "/tmp/sextant-mlyze.XXXXXX";
    struct sxt_output output = {.fd = mkstemp(name)}, closed = {.fd = -1};
    struct sxt_mlyze_settings settings = {.start_us = 100, .codec = SXT_MLYZE_LZ4};
    struct sxt_mlyze_writer *writer;
    assert_true(output.fd > 0 && unlink(name) == 0);
    assert_int_equal(sxt_mlyze_writer_open(&closed, &settings, (sxt_string){"{}", 2}, &writer, NULL), SXT_ERROR_USAGE);
    assert_null(writer);
    settings.codec = 2;
    assert_int_equal(sxt_mlyze_writer_open(&output, &settings, (sxt_string){"{}", 2}, &writer, NULL), SXT_ERROR_USAGE);
    settings.codec = SXT_MLYZE_RAW;
    assert_int_equal(sxt_mlyze_writer_open(&output, &settings, (sxt_string){"{}", 2}, &writer, NULL), SXT_OK);
    sxt_trace_event event = {.kind = SXT_TRACE_FREE, .time = 99};
    assert_int_equal(sxt_mlyze_write(writer, &event, NULL), SXT_ERROR_USAGE);
    event = (sxt_trace_event){.kind = SXT_TRACE_OTHER, .type = 128, .time = 100};
    assert_int_equal(sxt_mlyze_write(writer, &event, NULL), SXT_ERROR_USAGE);
    sxt_mlyze_writer_close(&writer);
    close(output.fd);
}
