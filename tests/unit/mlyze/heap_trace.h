/* heap_trace.h: small traces for the tests of heap analyses, made in memory. */
#ifndef SXT_TESTS_HEAP_TRACE_H
#define SXT_TESTS_HEAP_TRACE_H

#include <stdlib.h>
#include <string.h>

#include "mlyze/analysis.h"
#include "support/random.h"

#define HEAP_START ((uint64_t)1700000000000000)

/* A plain file with the functions "main" and "f" to "i", of which stack N has main and the Nth. */
static inline void heap_trace_begin(struct sxt_buffer *out)
{
    static const char metadata[] =
        "{\"stack_traces\":{\"0\":[{\"file_id\":0,\"line\":1,\"func_id\":1},{\"file_id\":0,\"line\":9,\"func_id\":0}],"
        "\"1\":[{\"file_id\":0,\"line\":2,\"func_id\":2},{\"file_id\":0,\"line\":9,\"func_id\":0}],"
        "\"2\":[{\"file_id\":0,\"line\":3,\"func_id\":3}]},"
        "\"files\":{\"0\":\"/a.c\"},\"functions\":{\"0\":\"main\",\"1\":\"f\",\"2\":\"g\",\"3\":\"h\"}}";
    sxt_buffer_init(out, (size_t)1 << 30);
    sxt_buffer_append(out, "MTRC", 4);
    sxt_buffer_u32le(out, 1);
    sxt_buffer_u64le(out, HEAP_START);
    sxt_buffer_u32le(out, sizeof metadata - 1);
    memset(sxt_buffer_extend(out, SXT_MLYZE_HEADER_SIZE - 20), 0, SXT_MLYZE_HEADER_SIZE - 20);
    sxt_buffer_append(out, metadata, sizeof metadata - 1);
}

static inline void heap_trace_alloc(struct sxt_buffer *out, uint64_t delta, uint64_t address, uint64_t size,
                                    uint32_t stack, uint16_t thread)
{
    sxt_buffer_u8(out, 0);
    sxt_buffer_varint(out, delta);
    sxt_buffer_u64le(out, address);
    sxt_buffer_varint(out, size);
    sxt_buffer_varint(out, stack);
    sxt_buffer_u16le(out, thread);
}

static inline void heap_trace_free(struct sxt_buffer *out, uint64_t delta, uint64_t address)
{
    sxt_buffer_u8(out, 1);
    sxt_buffer_varint(out, delta);
    sxt_buffer_u64le(out, address);
}

/* Blocks that come and go, some allocated or freed twice. */
static inline void heap_trace_random(struct sxt_buffer *out, uint64_t seed, uint32_t events)
{
    struct sxt_test_random random = {seed};
    for (uint32_t i = 0; i < events; i++) {
        uint64_t address = 16 * (uint64_t)(1 + sxt_test_below(&random, 400)), delta = sxt_test_below(&random, 4);
        if (sxt_test_below(&random, 2) == 0)
            heap_trace_free(out, delta, address);
        else
            heap_trace_alloc(out, delta, address, sxt_test_below(&random, 5000), sxt_test_below(&random, 5),
                             (uint16_t)sxt_test_below(&random, 3));
    }
}

#endif
