/* test_join.c: traces of several processes as one, from hostile files, and when memory is short. */
#include "base/output.h"
#include "base/unnamed.h"
#include "heap_trace.h"
#include "support/failing_allocations.h"
#include "support/test.h"

#define INPUTS 3

static int join(struct sxt_mlyze *const traces[INPUTS], sxt_heap_usage *usage)
{
    struct sxt_mlyze_join_input inputs[INPUTS];
    struct sxt_output outputs[2];
    struct sxt_file file;
    struct sxt_mlyze *joined = NULL;
    sxt_heap_options options = {0};
    struct sxt_mlyze_joined result;
    for (uint32_t i = 0; i < INPUTS; i++)
        inputs[i] = (struct sxt_mlyze_join_input){.trace = traces[i],
                                                  .pid = i + 1,
                                                  .parent = i == 0 ? SXT_MLYZE_NO_ID : i - 1,
                                                  .end = i == 1 ? HEAP_START + 9 : 0};
    int status = sxt_unnamed_open(&outputs[0], NULL);
    if (status != SXT_OK)
        return status;
    status = sxt_unnamed_open(&outputs[1], NULL);
    if (status != SXT_OK) {
        sxt_output_abandon(&outputs[0]);
        return status;
    }
    status = sxt_mlyze_join(inputs, INPUTS, &outputs[0], &outputs[1], &result, NULL);
    sxt_output_abandon(&outputs[1]);
    free(result.threads);
    if (status != SXT_OK) {
        sxt_output_abandon(&outputs[0]);
        return status;
    }
    status = sxt_unnamed_read(&outputs[0], &file, NULL);
    if (status == SXT_OK)
        status = sxt_mlyze_open(file.data, file.size, &joined, NULL);
    if (status == SXT_OK)
        status = sxt_heap_run(joined, &options, usage, NULL);
    if (status == SXT_OK)
        sxt_heap_free(usage);
    sxt_mlyze_close(&joined);
    sxt_file_close(&file);
    return status;
}

/* Every byte of one of the inputs is changed. What can be opened can be joined. */
TEST(joins_damaged_traces)
{
    struct sxt_buffer bytes, changed;
    struct sxt_mlyze *good;
    heap_trace_begin(&bytes);
    heap_trace_random(&bytes, 5, 40);
    assert_int_equal(sxt_mlyze_open(bytes.data, bytes.size, &good, NULL), SXT_OK);
    for (size_t at = 0; at < bytes.size; at++) {
        struct sxt_mlyze *bad;
        sxt_heap_usage usage;
        sxt_buffer_init(&changed, bytes.size);
        sxt_buffer_append(&changed, bytes.data, bytes.size);
        changed.data[at] ^= 0x81;
        if (sxt_mlyze_open(changed.data, changed.size, &bad, NULL) == SXT_OK) {
            struct sxt_mlyze *traces[INPUTS] = {good, bad, bad};
            int status = join(traces, &usage);
            assert_true(status == SXT_OK || status == SXT_ERROR_UNSUPPORTED || status == SXT_ERROR_FORMAT);
            sxt_mlyze_close(&bad);
        }
        sxt_buffer_free(&changed);
    }
    sxt_mlyze_close(&good);
    sxt_buffer_free(&bytes);
}

TEST(memory_that_is_short_is_an_error)
{
    struct sxt_buffer bytes[INPUTS];
    struct sxt_mlyze *traces[INPUTS];
    for (unsigned i = 0; i < INPUTS; i++) {
        heap_trace_begin(&bytes[i]);
        heap_trace_random(&bytes[i], i, 500);
        assert_int_equal(sxt_mlyze_open(bytes[i].data, bytes[i].size, &traces[i], NULL), SXT_OK);
    }
    int status = SXT_ERROR_MEMORY;
    long denied = 0;
    for (; status != SXT_OK && denied < 5000; denied += denied < 100 ? 1 : 17) {
        sxt_heap_usage usage;
        counted = 0;
        failing = (unsigned long)denied + 1;
        status = join(traces, &usage);
        failing = 0;
        assert_true(status == SXT_OK || status == SXT_ERROR_MEMORY);
    }
    assert_true(denied > 10 && denied < 5000);
    for (unsigned i = 0; i < INPUTS; i++) {
        sxt_mlyze_close(&traces[i]);
        sxt_buffer_free(&bytes[i]);
    }
}
