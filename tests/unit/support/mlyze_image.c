/* mlyze_image.c: heap traces in memory. */
#include "support/mlyze_image.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "support/random.h"
#include "support/test.h"

static const char example_metadata[] =
    "{\"stack_traces\": {\"0\": [{\"file_id\": 0, \"line\": 42, \"func_id\": 0}, {\"file_id\": 1, \"line\": 123, "
    "\"func_id\": 1}], \"1\": [{\"file_id\": 0, \"line\": 50, \"func_id\": 0}]}, \"files\": {\"0\": \"/app/main.py\", "
    "\"1\": \"/app/data.py\"}, \"functions\": {\"0\": \"main\", \"1\": \"process_data\", \"2\": \"phase-1\"}}";

static const uint8_t example_events[] = {0x03, 0x05, 0x02, 0x00, 0x64, 0x00, 0x10, 0x00, 0x00, 0x00, 0x7f, 0x00, 0x00,
                                         0x80, 0x01, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x20, 0x00, 0x00, 0x00, 0x7f,
                                         0x00, 0x00, 0x80, 0x80, 0x01, 0x01, 0x02, 0x00, 0x01, 0xe8, 0x07, 0x00, 0x10,
                                         0x00, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x02, 0x02, 0x03, 0xac, 0x02};

uint8_t *sxt_test_mlyze_example(size_t *size)
{
    static const uint8_t header[] = "MTRC\1\0\0\0\x00\x40\x1e\x18\x24\x0a\x06\x00\x15\x01";
    size_t text = sizeof example_metadata - 1;
    *size = SXT_MLYZE_HEADER_SIZE + text + sizeof example_events;
    uint8_t *file = calloc(1, *size);
    assert_non_null(file);
    memcpy(file, header, sizeof header - 1);
    memcpy(file + SXT_MLYZE_HEADER_SIZE, example_metadata, text);
    memcpy(file + SXT_MLYZE_HEADER_SIZE + text, example_events, sizeof example_events);
    return file;
}

sxt_trace_event *sxt_test_mlyze_events(uint64_t seed, size_t count)
{
    struct sxt_test_random random = {seed};
    sxt_trace_event *events = calloc(count + 1, sizeof *events);
    uint64_t *live = calloc(count + 1, sizeof *live), time = SXT_TEST_START;
    size_t live_count = 0;
    assert_true(events != NULL && live != NULL);
    for (size_t i = 0; i < count; i++) {
        uint32_t draw = sxt_test_below(&random, 100);
        time += draw % 3 == 0 ? sxt_test_below(&random, 200) : 0;
        events[i] = (sxt_trace_event){.kind = SXT_TRACE_ALLOC, .time = time};
        if (draw < 50 || live_count == 0) {
            events[i].address = live[live_count++] = 0x7f0000000000 + (uint64_t)sxt_test_below(&random, 5000) * 16;
            events[i].stack = sxt_test_below(&random, 2000);
            events[i].size = draw < 10 ? sxt_test_next(&random) : events[i].stack % 9 * 16;
            events[i].thread = (uint16_t)(draw % 7 == 0 ? sxt_test_next(&random) : 3);
        } else if (draw < 98) {
            events[i].kind = SXT_TRACE_FREE;
            size_t which = sxt_test_below(&random, (uint32_t)live_count);
            events[i].address = live[which];
            live[which] = live[--live_count];
        } else if (draw == 98) {
            events[i].kind = SXT_TRACE_GC;
            events[i].objects = sxt_test_next(&random);
            events[i].size = draw;
        } else {
            events[i].kind = SXT_TRACE_MARKER;
            events[i].stack = sxt_test_below(&random, 1 << 20);
        }
    }
    free(live);
    return events;
}

uint8_t *sxt_test_mlyze_file(const sxt_trace_event *events, size_t count, enum sxt_mlyze_codec codec, size_t *size)
{
    char name[] = "/tmp/sextant-mlyze.XXXXXX";
    struct sxt_output output = {.fd = mkstemp(name)};
    struct sxt_mlyze_settings settings = {.start_us = SXT_TEST_START, .codec = codec};
    struct sxt_mlyze_writer *writer;
    assert_true(output.fd > 0 && unlink(name) == 0);
    assert_int_equal(sxt_mlyze_writer_open(&output, &settings, (sxt_string){"{}", 2}, &writer, NULL), SXT_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sxt_mlyze_write(writer, &events[i], NULL), SXT_OK);
    assert_int_equal(sxt_mlyze_writer_finish(writer, NULL), SXT_OK);
    sxt_mlyze_writer_close(&writer);
    *size = output.size;
    uint8_t *file = malloc(*size);
    assert_non_null(file);
    assert_int_equal(pread(output.fd, file, *size, 0), *size);
    close(output.fd);
    return file;
}

void sxt_test_mlyze_same(const sxt_trace_event *found, const sxt_trace_event *expected)
{
    assert_int_equal(found->kind, expected->kind);
    assert_int_equal(found->type, expected->type);
    assert_int_equal(found->thread, expected->thread);
    assert_int_equal(found->stack, expected->stack);
    assert_int_equal(found->time, expected->time);
    assert_int_equal(found->address, expected->address);
    assert_int_equal(found->size, expected->size);
    assert_int_equal(found->objects, expected->objects);
    if (expected->kind == SXT_TRACE_OTHER && expected->size > 0)
        assert_memory_equal(found->payload, expected->payload, expected->size);
}
