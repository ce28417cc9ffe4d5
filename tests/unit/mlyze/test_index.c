/*
 * test_index.c: an index leads to every block, knows what was live there, and is not believed when it is of
 * another trace, damaged, or contradicts itself.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/output.h"
#include "support/mlyze_image.h"
#include "support/test.h"

enum { COUNT = 30000 };

struct fixture {
    sxt_trace_event *events;
    uint8_t *file;
    struct sxt_mlyze *trace;
    struct sxt_mlyze_index index;
    struct sxt_buffer bytes;
};

static void make(struct fixture *fixture, enum sxt_mlyze_codec codec)
{
    size_t size;
    fixture->events = sxt_test_mlyze_events(7, COUNT);
    fixture->file = sxt_test_mlyze_file(fixture->events, COUNT, codec, &size);
    assert_int_equal(sxt_mlyze_open(fixture->file, size, &fixture->trace, NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_index_make(fixture->trace, &fixture->index, NULL), SXT_OK);
    sxt_buffer_init(&fixture->bytes, SIZE_MAX / 2);
    assert_int_equal(sxt_mlyze_index_write(fixture->trace, &fixture->index, &fixture->bytes, NULL), SXT_OK);
}

static void end(struct fixture *fixture)
{
    sxt_buffer_free(&fixture->bytes);
    sxt_mlyze_index_free(&fixture->index);
    sxt_mlyze_close(&fixture->trace);
    free(fixture->file);
    free(fixture->events);
}

/* What is live after the first COUNT events, the slow way. */
static void count_live(const sxt_trace_event *events, size_t count, uint64_t *bytes, uint32_t *blocks)
{
    static uint64_t sizes[5000];
    static bool is_live[5000];
    memset(is_live, 0, sizeof is_live);
    for (size_t i = 0; i < count; i++) {
        size_t place = (events[i].address - 0x7f0000000000) / 16;
        if (events[i].kind == SXT_TRACE_ALLOC) {
            is_live[place] = true;
            sizes[place] = events[i].size;
        } else if (events[i].kind == SXT_TRACE_FREE) {
            is_live[place] = false;
        }
    }
    *bytes = 0;
    *blocks = 0;
    for (size_t i = 0; i < 5000; i++) {
        *bytes += is_live[i] ? sizes[i] : 0;
        *blocks += is_live[i];
    }
}

TEST(leads_to_every_block)
{
    static const enum sxt_mlyze_codec codecs[] = {SXT_MLYZE_RAW, SXT_MLYZE_LZ4, SXT_MLYZE_COLUMNS,
                                                  SXT_MLYZE_COLUMNS_ZSTD};
    for (unsigned codec = 0; codec < 3; codec++) {
        struct fixture fixture;
        make(&fixture, codecs[codec]);
        const struct sxt_mlyze_index *index = &fixture.index;
        assert_true(index->count > 4);
        assert_int_equal(index->event_count, COUNT);
        assert_int_equal(index->last_time, fixture.events[COUNT - 1].time);
        struct sxt_mlyze_cursor *cursor;
        assert_int_equal(sxt_mlyze_cursor_open(fixture.trace, &cursor, NULL), SXT_OK);
        for (size_t i = index->count; i-- > 0;) {
            const struct sxt_mlyze_index_entry *entry = &index->entries[i];
            sxt_trace_event event;
            size_t count;
            uint64_t bytes;
            uint32_t blocks;
            assert_int_equal(sxt_mlyze_seek(cursor, entry, NULL), SXT_OK);
            assert_int_equal(sxt_mlyze_read(cursor, &event, 1, &count, NULL), SXT_OK);
            sxt_test_mlyze_same(&event, &fixture.events[entry->event]);
            assert_int_equal(entry->time, entry->event > 0 ? fixture.events[entry->event - 1].time : SXT_TEST_START);
            count_live(fixture.events, entry->event, &bytes, &blocks);
            assert_int_equal(entry->live_bytes, bytes);
            assert_int_equal(entry->live_count, blocks);
            assert_true(codecs[codec] != SXT_MLYZE_RAW || entry->size <= SXT_MLYZE_BLOCK_MOST);
        }
        sxt_mlyze_cursor_close(&cursor);
        end(&fixture);
    }
}

TEST(comes_back_from_its_file)
{
    struct fixture fixture;
    struct sxt_mlyze_index again;
    make(&fixture, SXT_MLYZE_COLUMNS);
    assert_int_equal(sxt_mlyze_index_read(fixture.trace, fixture.bytes.data, fixture.bytes.size, &again, NULL), SXT_OK);
    assert_int_equal(again.count, fixture.index.count);
    assert_int_equal(again.event_count, COUNT);
    assert_int_equal(again.last_time, fixture.index.last_time);
    for (size_t i = 0; i < again.count; i++)
        assert_memory_equal(&again.entries[i], &fixture.index.entries[i], sizeof *again.entries);
    sxt_mlyze_index_free(&again);
    end(&fixture);
}

static void assert_useless(const struct fixture *fixture, size_t size)
{
    struct sxt_mlyze_index again;
    assert_int_equal(sxt_mlyze_index_read(fixture->trace, fixture->bytes.data, size, &again, NULL),
                     SXT_ERROR_NOT_FOUND);
    assert_null(again.entries);
}

TEST(damage_is_noticed)
{
    struct fixture fixture;
    make(&fixture, SXT_MLYZE_LZ4);
    for (size_t i = 0; i < fixture.bytes.size; i++) {
        /* How large a block is, is of no importance. */
        if (i >= 12 && i < 16)
            continue;
        fixture.bytes.data[i] ^= 0x10;
        assert_useless(&fixture, fixture.bytes.size);
        fixture.bytes.data[i] ^= 0x10;
        assert_useless(&fixture, i);
    }
    end(&fixture);
}

TEST(another_trace_is_noticed)
{
    struct fixture fixture;
    make(&fixture, SXT_MLYZE_RAW);
    size_t size = sxt_mlyze_bytes(fixture.trace).size;
    fixture.file[size - 1] ^= 1;
    assert_useless(&fixture, fixture.bytes.size);
    fixture.file[size - 1] ^= 1;
    fixture.file[9] ^= 1;
    struct sxt_mlyze *other;
    struct sxt_mlyze_index again;
    assert_int_equal(sxt_mlyze_open(fixture.file, size, &other, NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_index_read(other, fixture.bytes.data, fixture.bytes.size, &again, NULL),
                     SXT_ERROR_NOT_FOUND);
    sxt_mlyze_close(&other);
    end(&fixture);
}

/* With sums that are right, what an index says may still be impossible. */
TEST(lies_are_noticed)
{
    struct fixture fixture;
    make(&fixture, SXT_MLYZE_RAW);
    static const struct {
        size_t offset;
        uint64_t value;
    } lies[] = {
        {64, 0},                      /* the first block begins in the header */
        {64 + 8, 5},                  /* not with the first event */
        {64 + 16, 0},                 /* before the start */
        {64 + 48, UINT64_MAX},        /* the second one is outside of the file */
        {64 + 48, 258},               /* or where the first one is */
        {64 + 48 + 8, 0},             /* events go backwards */
        {64 + 48 + 16, 0},            /* time does */
        {64 + 48 + 32, (uint64_t)-1}, /* reaches beyond the end */
        {40, 1},                      /* fewer events than entries say */
        {56, 0},                      /* ends before it begins */
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint8_t *data = fixture.bytes.data;
        uint64_t truth = sxt_load_u64le(data + lies[i].offset);
        sxt_store_u64le(data + lies[i].offset, lies[i].value);
        uint32_t crc = sxt_crc32c(0, data, 48);
        sxt_store_u32le(data + 48, sxt_crc32c(crc, data + 52, fixture.bytes.size - 52));
        assert_useless(&fixture, fixture.bytes.size);
        sxt_store_u64le(data + lies[i].offset, truth);
    }
    /* A block has its own time and number. */
    end(&fixture);
    make(&fixture, SXT_MLYZE_LZ4);
    struct sxt_mlyze_cursor *cursor;
    struct sxt_mlyze_index_entry entry = fixture.index.entries[1];
    assert_int_equal(sxt_mlyze_cursor_open(fixture.trace, &cursor, NULL), SXT_OK);
    entry.event++;
    assert_int_equal(sxt_mlyze_seek(cursor, &entry, NULL), SXT_ERROR_FORMAT);
    entry.event--;
    entry.time++;
    assert_int_equal(sxt_mlyze_seek(cursor, &entry, NULL), SXT_ERROR_FORMAT);
    entry.time--;
    assert_int_equal(sxt_mlyze_seek(cursor, &entry, NULL), SXT_OK);
    sxt_mlyze_cursor_close(&cursor);
    end(&fixture);
}

/* A file of EVENTS whose writer makes the index; what is live is given with each event. Returns what writing said. */
static int write_with_index(const sxt_trace_event *events, enum sxt_mlyze_codec codec, bool disk_is_full,
                            struct sxt_mlyze_index *index, sxt_error *error)
{
    char name[] = "/tmp/sextant-mlyze.XXXXXX";
    struct sxt_output output = {.fd = mkstemp(name)};
    struct sxt_mlyze_settings settings = {.start_us = SXT_TEST_START, .codec = codec, .keeps_index = true};
    struct sxt_mlyze_writer *writer;
    assert_true(output.fd > 0 && unlink(name) == 0);
    assert_int_equal(sxt_mlyze_writer_open(&output, &settings, (sxt_string){"{}", 2}, &writer, NULL), SXT_OK);
    int full = disk_is_full ? open("/dev/full", O_WRONLY) : -1;
    if (full >= 0)
        assert_int_equal(dup2(full, output.fd), output.fd);
    int status = SXT_OK;
    for (size_t i = 0; i < COUNT && status == SXT_OK; i++) {
        uint64_t bytes = i, count = 2 * i;
        status = sxt_mlyze_write(writer, &events[i], error);
        sxt_mlyze_writer_live(writer, bytes, count);
    }
    if (status == SXT_OK)
        status = sxt_mlyze_writer_finish(writer, error);
    sxt_mlyze_writer_take_index(writer, index);
    sxt_mlyze_writer_close(&writer);
    close(output.fd);
    if (full >= 0)
        close(full);
    return status;
}

TEST(the_writer_knows_the_index_too)
{
    static const enum sxt_mlyze_codec codecs[] = {SXT_MLYZE_LZ4, SXT_MLYZE_COLUMNS, SXT_MLYZE_COLUMNS_ZSTD};
    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        struct sxt_mlyze_index index;
        make(&fixture, codecs[i]);
        assert_int_equal(write_with_index(fixture.events, codecs[i], false, &index, NULL), SXT_OK);
        assert_int_equal(index.count, fixture.index.count);
        assert_int_equal(index.event_count, COUNT);
        assert_int_equal(index.last_time, fixture.index.last_time);
        for (size_t k = 0; k < index.count; k++) {
            const struct sxt_mlyze_index_entry *found = &index.entries[k], *expected = &fixture.index.entries[k];
            assert_int_equal(found->offset, expected->offset);
            assert_int_equal(found->event, expected->event);
            assert_int_equal(found->time, expected->time);
            assert_int_equal(found->stored_size, expected->stored_size);
            assert_int_equal(found->size, expected->size);
            assert_int_equal(found->live_bytes, k == 0 ? 0 : expected->event - 1);
            assert_int_equal(found->live_count, k == 0 ? 0 : 2 * (expected->event - 1));
        }
        assert_true(index.count > 3);
        sxt_mlyze_index_free(&index);
        end(&fixture);
    }
}

/* Also when another thread does the writing. */
TEST(a_full_disk_is_reported)
{
    static const enum sxt_mlyze_codec codecs[] = {SXT_MLYZE_RAW, SXT_MLYZE_LZ4, SXT_MLYZE_COLUMNS,
                                                  SXT_MLYZE_COLUMNS_ZSTD};
    sxt_trace_event *events = sxt_test_mlyze_events(1, COUNT);
    for (size_t i = 0; i < 3; i++) {
        struct sxt_mlyze_index index;
        sxt_error error;
        assert_int_equal(write_with_index(events, codecs[i], true, &index, &error), SXT_ERROR_IO);
        assert_non_null(strstr(error.text, "No space left"));
        sxt_mlyze_index_free(&index);
    }
    free(events);
}
