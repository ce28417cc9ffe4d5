/* test_convert.c: copies of traces: from plain to compressed and back, and what is said when it fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/record.h>

#include "base/file.h"
#include "support/folder.h"
#include "support/mlyze_image.h"
#include "support/test.h"

static char folder[SXT_TEST_FOLDER_MAX];
static char plain[SXT_TEST_FOLDER_MAX + 16], packed[SXT_TEST_FOLDER_MAX + 16], again[SXT_TEST_FOLDER_MAX + 16];

SET_UP()
{
    size_t size;
    uint8_t *data = sxt_test_mlyze_example(&size);
    sxt_test_make_folder(folder);
    snprintf(plain, sizeof plain, "%s/plain.mlyze", folder);
    snprintf(packed, sizeof packed, "%s/packed.mlyze", folder);
    snprintf(again, sizeof again, "%s/again.mlyze", folder);
    sxt_test_put_file(plain, data, size);
    free(data);
}

TEAR_DOWN()
{
    sxt_test_remove_folder(folder);
}

static void assert_same(const char *first, const char *second)
{
    struct sxt_file a, b;
    assert_int_equal(sxt_file_open(&a, first, NULL), SXT_OK);
    assert_int_equal(sxt_file_open(&b, second, NULL), SXT_OK);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    sxt_file_close(&a);
    sxt_file_close(&b);
}

TEST(compresses_and_comes_back_byte_for_byte)
{
    sxt_trace_write_options options;
    char idx[SXT_TEST_FOLDER_MAX + 32], live[SXT_TEST_FOLDER_MAX + 32];
    uint64_t problems;
    sxt_trace_write_options_init(&options);
    options.compress = true;
    assert_int_equal(sxt_trace_convert_path(plain, packed, &options, NULL, NULL), SXT_OK);
    snprintf(idx, sizeof idx, "%s.idx", packed);
    snprintf(live, sizeof live, "%s.live", packed);
    assert_int_equal(access(idx, F_OK), 0);
    assert_int_equal(access(live, F_OK), 0);
    assert_int_equal(sxt_trace_verify_path(packed, NULL, NULL, NULL, &problems, NULL), SXT_OK);
    assert_int_equal(problems, 0);
    assert_int_equal(sxt_trace_convert_path(packed, again, NULL, NULL, NULL), SXT_OK);
    assert_same(plain, again);
}

TEST(saves_in_the_form_it_has)
{
    sxt_trace *trace;
    assert_int_equal(sxt_trace_open_path(plain, NULL, &trace, NULL), SXT_OK);
    assert_int_equal(sxt_trace_save(trace, again, NULL), SXT_OK);
    sxt_trace_close(&trace);
    assert_same(plain, again);
}

TEST(says_which_file_failed)
{
    sxt_trace_converted result = {.struct_size = sizeof result};
    sxt_error error;
    assert_int_equal(sxt_trace_convert_path("/nonexistent", again, NULL, &result, &error), SXT_ERROR_IO);
    assert_false(result.output_failed);
    assert_int_equal(sxt_trace_convert_path(plain, "/nonexistent/x", NULL, &result, &error), SXT_ERROR_IO);
    assert_true(result.output_failed);
}

TEST(leaves_out_what_cannot_be_read_if_asked)
{
    sxt_trace_converted result = {.struct_size = sizeof result};
    sxt_trace_write_options options;
    size_t size;
    uint8_t *data = sxt_test_mlyze_example(&size);
    sxt_test_put_file(plain, data, size - 3);
    free(data);
    assert_int_equal(sxt_trace_convert_path(plain, again, NULL, &result, NULL), SXT_ERROR_FORMAT);
    assert_false(result.output_failed);
    assert_int_not_equal(access(again, F_OK), 0);
    sxt_trace_write_options_init(&options);
    options.recover = true;
    assert_int_equal(sxt_trace_convert_path(plain, again, &options, &result, NULL), SXT_OK);
    assert_int_equal(result.lost, 2); /* an event of 5 bytes, of which 3 are missing */
}

TEST(a_recording_that_was_cut_off_needs_to_be_recovered)
{
    sxt_recording *recording;
    sxt_trace_write_options options;
    sxt_error error;
    assert_int_equal(sxt_recording_create(packed, NULL, &recording, NULL), SXT_OK);
    assert_int_equal(sxt_trace_convert_path(sxt_recording_path(recording), again, NULL, NULL, &error),
                     SXT_ERROR_UNSUPPORTED);
    assert_int_equal(error.reason, SXT_REASON_CUT_OFF);
    sxt_trace_write_options_init(&options);
    options.recover = true;
    assert_int_equal(sxt_trace_convert_path(sxt_recording_path(recording), again, &options, NULL, NULL), SXT_OK);
    sxt_recording_close(&recording);
}

static void count_problem(void *data, const sxt_problem *problem)
{
    assert_non_null(problem->rule);
    ++*(uint64_t *)data;
}

TEST(verify_reports_every_problem)
{
    size_t size;
    uint64_t count, seen = 0;
    uint8_t *data = sxt_test_mlyze_example(&size);
    data[size - 1] = 0xff;
    sxt_test_put_file(plain, data, size);
    free(data);
    assert_int_equal(sxt_trace_verify_path(plain, NULL, count_problem, &seen, &count, NULL), SXT_OK);
    assert_true(count > 0);
    assert_int_equal(count, seen);
    sxt_test_put_file(plain, "hello", 5);
    assert_int_equal(sxt_trace_verify_path(plain, NULL, NULL, NULL, &count, NULL), SXT_ERROR_UNSUPPORTED);
}

TEST(a_trace_without_addresses_gets_no_names)
{
    sxt_trace_named named = {.struct_size = sizeof named};
    sxt_trace *trace;
    assert_int_equal(sxt_trace_open_path(plain, NULL, &trace, NULL), SXT_OK);
    assert_int_equal(sxt_trace_symbolize(trace, NULL, &named, NULL), SXT_OK);
    assert_int_equal(named.addresses + named.named + named.invalid, 0);
    sxt_trace_close(&trace);
}
