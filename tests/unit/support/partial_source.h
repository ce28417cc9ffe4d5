/* partial_source.h: bytes in memory that are read by ranges, and what was asked for. */
#ifndef SXT_TESTS_PARTIAL_SOURCE_H
#define SXT_TESTS_PARTIAL_SOURCE_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/partial.h"
#include "support/test.h"

struct sxt_test_source {
    const uint8_t *data;
    size_t size;
    size_t calls, requests, bytes;
    size_t fail_at; /* the number of the call that fails; 0: none */
    int file;
    struct sxt_partial *partial;
};

static inline int sxt_test_read_source(void *data, const struct sxt_partial_range *ranges, size_t count,
                                       sxt_error *error)
{
    struct sxt_test_source *source = data;
    if (++source->calls == source->fail_at)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "the bucket is gone");
    for (size_t i = 0; i < count; i++) {
        assert_true(ranges[i].size > 0 && ranges[i].offset <= source->size &&
                    ranges[i].size <= source->size - ranges[i].offset);
        memcpy(ranges[i].to, source->data + ranges[i].offset, ranges[i].size);
        source->requests++;
        source->bytes += ranges[i].size;
    }
    return SXT_OK;
}

/* Opens DATA in parts, and enters it. */
static inline void sxt_test_open_source(struct sxt_test_source *source, const uint8_t *data, size_t size)
{
    sxt_error error;
    *source = (struct sxt_test_source){.data = data, .size = size, .file = memfd_create("partial", MFD_CLOEXEC)};
    assert_true(source->file >= 0);
    if (sxt_partial_open(source->file, size, sxt_test_read_source, source, &source->partial, &error) != SXT_OK)
        fail_msg("%s", error.text);
    sxt_partial_enter(source->partial);
}

static inline void sxt_test_close_source(struct sxt_test_source *source)
{
    sxt_partial_leave(source->partial);
    sxt_partial_close(&source->partial);
    close(source->file);
}

#endif
