/*
 * test_memory.c: every single allocation fails once while a trace is opened, checked, indexed, compressed and
 * read back. Each run ends with an error or with what a run without failures gives, and leaves nothing behind.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "support/failing_allocations.h"
#include "support/mlyze_image.h"
#include "support/test.h"

/* Copies a trace into FD, which is emptied first. */
static int copy(const struct sxt_mlyze *trace, enum sxt_mlyze_codec codec, int fd, uint64_t *size)
{
    struct sxt_output output = {.fd = fd};
    struct sxt_mlyze_settings settings = {.start_us = sxt_mlyze_header(trace)->start_us, .codec = codec};
    struct sxt_mlyze_writer *writer;
    if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        return SXT_ERROR_IO;
    int status = sxt_mlyze_writer_open(&output, &settings, sxt_mlyze_metadata_text(trace), &writer, NULL);
    if (status == SXT_OK)
        status = sxt_mlyze_copy(trace, writer, NULL, NULL, NULL);
    if (status == SXT_OK)
        status = sxt_mlyze_writer_finish(writer, NULL);
    sxt_mlyze_writer_close(&writer);
    *size = output.size;
    return status;
}

static int make_index(const struct sxt_mlyze *trace, uint64_t *count)
{
    struct sxt_mlyze_index index, again;
    struct sxt_buffer bytes;
    sxt_buffer_init(&bytes, SIZE_MAX / 2);
    int status = sxt_mlyze_index_make(trace, &index, NULL);
    if (status == SXT_OK)
        status = sxt_mlyze_index_write(trace, &index, &bytes, NULL);
    if (status == SXT_OK) {
        status = sxt_mlyze_index_read(trace, bytes.data, bytes.size, &again, NULL);
        *count = again.event_count;
        sxt_mlyze_index_free(&again);
    }
    sxt_mlyze_index_free(&index);
    sxt_buffer_free(&bytes);
    return status;
}

/* Everything that a trace is for; *SIZES are those of the copies, and the number of events. */
static int run(const uint8_t *file, size_t size, int fd, uint64_t sizes[3])
{
    struct sxt_mlyze *trace;
    int status = sxt_mlyze_open(file, size, &trace, NULL);
    if (status != SXT_OK)
        return status;
    status = copy(trace, SXT_MLYZE_LZ4, fd, &sizes[0]);
    if (status == SXT_OK)
        status = copy(trace, SXT_MLYZE_COLUMNS, fd, &sizes[1]);
    if (status == SXT_OK)
        status = make_index(trace, &sizes[2]);
    sxt_mlyze_close(&trace);
    return status;
}

static void fail_each_allocation(const uint8_t *file, size_t size)
{
    char name[] = "/tmp/sextant-mlyze.XXXXXX";
    int fd = mkstemp(name);
    uint64_t good[3], found[3];
    assert_true(fd > 0 && unlink(name) == 0);
    failing = counted = 0;
    assert_int_equal(run(file, size, fd, good), SXT_OK);
    unsigned long needed = counted;
    assert_true(needed > 10 && needed < 5000);
    for (unsigned long i = 1; i <= needed; i++) {
        failing = i;
        counted = 0;
        int status = run(file, size, fd, found);
        failing = 0;
        assert_true(status == SXT_OK || status == SXT_ERROR_MEMORY);
        if (status == SXT_OK) /* metadata that could not be compressed is stored without that */
            assert_true(found[0] >= good[0] && found[1] >= good[1] && found[2] == good[2]);
    }
    close(fd);
}

TEST(example)
{
    size_t size;
    uint8_t *file = sxt_test_mlyze_example(&size);
    fail_each_allocation(file, size);
    free(file);
}

TEST(several_blocks)
{
    static const enum sxt_mlyze_codec codecs[] = {SXT_MLYZE_RAW, SXT_MLYZE_LZ4, SXT_MLYZE_COLUMNS,
                                                  SXT_MLYZE_COLUMNS_ZSTD};
    sxt_trace_event *events = sxt_test_mlyze_events(5, 8000);
    for (unsigned i = 0; i < 3; i++) {
        size_t size;
        uint8_t *file = sxt_test_mlyze_file(events, 8000, codecs[i], &size);
        fail_each_allocation(file, size);
        free(file);
    }
    free(events);
}
