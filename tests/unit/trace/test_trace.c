/* test_trace.c: the public API of heap traces, as a C caller uses it, on good files and on hostile ones. */
#include <stdlib.h>
#include <string.h>

#include <sextant/trace.h>

#include "base/gzip.h"
#include "support/mlyze_image.h"
#include "support/test.h"

static uint8_t *data;
static size_t size;

SET_UP()
{
    data = sxt_test_mlyze_example(&size);
}

TEAR_DOWN()
{
    free(data);
}

static sxt_trace *open_example(void)
{
    sxt_trace *trace;
    sxt_error error;
    assert_int_equal(sxt_trace_open_memory(data, size, NULL, &trace, &error), SXT_OK);
    return trace;
}

TEST(says_what_a_trace_is)
{
    sxt_trace *trace = open_example();
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace_get_info(trace, &info);
    assert_int_equal(info.version, 1);
    assert_string_equal(info.codec, "plain");
    assert_int_equal(info.start_us, SXT_TEST_START);
    assert_int_equal(info.stacks, 2);
    assert_int_equal(info.size, size);
    assert_false(info.is_cut_off || info.is_compressed || info.is_sampled);
    assert_int_equal(strlen(info.file_id), 32);
    sxt_trace_close(&trace);
    assert_null(trace);
}

TEST(fills_the_smaller_info_of_an_older_caller)
{
    sxt_trace *trace = open_example();
    sxt_trace_info info;
    memset(&info, 0x55, sizeof info);
    info.struct_size = offsetof(sxt_trace_info, stacks);
    sxt_trace_get_info(trace, &info);
    assert_int_equal(info.start_us, SXT_TEST_START);
    assert_int_equal(info.stacks, UINT64_C(0x5555555555555555));
    sxt_trace_close(&trace);
}

TEST(gives_out_stacks_and_names)
{
    sxt_trace *trace = open_example();
    sxt_trace_frame frame;
    uint32_t count;
    assert_int_equal(sxt_trace_stack_limit(trace), 2);
    assert_true(sxt_trace_stack(trace, 0, &count));
    assert_int_equal(count, 2);
    assert_true(sxt_trace_get_frame(trace, 0, 1, &frame));
    sxt_test_assert_text(frame.function, "process_data");
    sxt_test_assert_text(frame.file, "/app/data.py");
    assert_int_equal(frame.line, 123);
    assert_false(sxt_trace_get_frame(trace, 0, 2, &frame));
    assert_false(sxt_trace_stack(trace, 2, &count));
    assert_false(sxt_trace_get_frame(trace, UINT32_MAX, 0, &frame));
    sxt_test_assert_text(sxt_trace_function_name(trace, 2), "phase-1");
    sxt_test_assert_text(sxt_trace_function_name(trace, 3), NULL);
    sxt_test_assert_text(sxt_trace_file_name(trace, SXT_TRACE_NO_ID), NULL);
    sxt_test_assert_text(sxt_trace_thread_name(trace, 1), NULL);
    assert_true(sxt_trace_metadata(trace).size > 100);
    sxt_trace_close(&trace);
}

struct seen {
    size_t events, most;
    uint64_t kinds[SXT_TRACE_OTHER + 1];
};

static bool see(void *context, const sxt_trace_event *events, size_t count)
{
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++)
        seen->kinds[events[i].kind]++;
    seen->events += count;
    return seen->events < seen->most;
}

TEST(visits_events_until_asked_to_stop)
{
    sxt_trace *trace = open_example();
    sxt_trace_oddities oddities = {0};
    struct seen all = {.most = SIZE_MAX};
    assert_int_equal(sxt_trace_visit_events(trace, see, &all, &oddities, NULL), SXT_OK);
    assert_int_equal(all.events, 5);
    assert_int_equal(all.kinds[SXT_TRACE_ALLOC], 2);
    assert_int_equal(oddities.dangling_stacks + oddities.dangling_names + oddities.zero_addresses, 0);
    sxt_trace_close(&trace);
    size_t file_size;
    sxt_trace_event *events = sxt_test_mlyze_events(3, 10000);
    uint8_t *file = sxt_test_mlyze_file(events, 10000, SXT_MLYZE_COLUMNS, &file_size);
    assert_int_equal(sxt_trace_open_memory(file, file_size, NULL, &trace, NULL), SXT_OK);
    struct seen some = {.most = 1};
    assert_int_equal(sxt_trace_visit_events(trace, see, &some, NULL, NULL), SXT_OK);
    assert_true(some.events < 10000);
    sxt_trace_close(&trace);
    free(file);
    free(events);
}

TEST(finds_leaks_peak_and_tree)
{
    sxt_trace *trace = open_example();
    sxt_heap_usage *usage;
    sxt_heap_table *leaks;
    sxt_heap_tree *tree;
    assert_int_equal(sxt_trace_analyse(trace, NULL, &usage, NULL), SXT_OK);
    assert_int_equal(sxt_heap_total(usage)->bytes, 16512);
    assert_int_equal(sxt_heap_total(usage)->leaked_bytes, 16384);
    assert_int_equal(sxt_heap_table_make(usage, SXT_HEAP_BY_STACK, SXT_HEAP_COST_LEAKED, UINT64_MAX, &leaks, NULL),
                     SXT_OK);
    assert_int_equal(sxt_heap_table_count(leaks), 1);
    assert_int_equal(sxt_heap_table_row(leaks, 0)->id, 1);
    assert_null(sxt_heap_table_row(leaks, 1));
    sxt_heap_table_free(&leaks);
    assert_int_equal(sxt_heap_table_make(usage, SXT_HEAP_BY_STACK, SXT_HEAP_COST_BYTES, 1, &leaks, NULL), SXT_OK);
    assert_int_equal(sxt_heap_table_count(leaks), 1);
    assert_int_equal(sxt_heap_table_unlimited_count(leaks), 2);
    sxt_heap_table_free(&leaks);
    assert_int_equal(sxt_heap_tree_make(usage, SXT_HEAP_COST_PEAK, false, &tree, NULL), SXT_OK);
    assert_int_equal(sxt_heap_tree_node(tree, 0)->cost, 16512);
    assert_null(sxt_heap_tree_node(tree, 100));
    sxt_heap_tree_free(&tree);
    const sxt_heap_site *site = sxt_heap_find_site(usage, 0), *leak = sxt_heap_find_site(usage, 1);
    assert_int_equal(site->sums.freed_bytes, 128);
    assert_int_equal(leak->sums.leaked_bytes, 16384);
    assert_ptr_equal(sxt_heap_find_site(usage, 0), site);
    assert_false(leak->is_suppressed);
    assert_int_equal(sxt_heap_suppress(usage, (sxt_string){"leak:*", 6}, NULL), SXT_OK);
    assert_true(sxt_heap_find_site(usage, 1)->is_suppressed);
    assert_null(sxt_heap_find_site(usage, 7));
    assert_non_null(sxt_heap_get_marker(usage, 0));
    assert_null(sxt_heap_get_marker(usage, 1));
    sxt_heap_usage_free(&usage);
    assert_null(usage);
    sxt_trace_close(&trace);
}

TEST(hides_known_leaks)
{
    sxt_trace *trace = open_example();
    sxt_heap_usage *usage;
    sxt_heap_table *leaks;
    sxt_heap_summary summary = {.struct_size = sizeof summary};
    assert_int_equal(sxt_trace_analyse(trace, NULL, &usage, NULL), SXT_OK);
    sxt_string bad = {"leak:main\nnonsense\n", 19}, good = {"leak:main\n", 10};
    sxt_error error;
    assert_int_equal(sxt_heap_suppress(usage, bad, &error), SXT_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "line 2"));
    assert_int_equal(sxt_heap_suppress(usage, good, NULL), SXT_OK);
    assert_int_equal(sxt_heap_table_make(usage, SXT_HEAP_BY_STACK, SXT_HEAP_COST_LEAKED, UINT64_MAX, &leaks, NULL),
                     SXT_OK);
    assert_int_equal(sxt_heap_table_count(leaks), 0);
    sxt_heap_get_summary(usage, &summary);
    assert_int_equal(summary.suppressed_bytes, 16384);
    assert_int_equal(summary.stacks, 2);
    sxt_heap_table_free(&leaks);
    sxt_heap_usage_free(&usage);
    sxt_trace_close(&trace);
}

TEST(analyses_a_window_and_compares_it)
{
    sxt_trace *trace = open_example();
    sxt_heap_usage *whole, *window;
    sxt_heap_options options;
    sxt_heap_diff *diff;
    sxt_heap_change change;
    sxt_heap_options_init(&options);
    sxt_trace_parse_moment(trace, "phase-1", &options.from);
    assert_int_equal(options.from.kind, SXT_HEAP_MOMENT_MARKER);
    sxt_trace_parse_moment(trace, "200us", &options.to);
    assert_int_equal(options.to.time, SXT_TEST_START + 200);
    assert_int_equal(sxt_trace_analyse(trace, &options, &window, NULL), SXT_OK);
    assert_int_equal(sxt_heap_total(window)->live_bytes, 16512);
    assert_int_equal(sxt_trace_analyse(trace, NULL, &whole, NULL), SXT_OK);
    assert_int_equal(sxt_heap_diff_make(window, whole, SXT_HEAP_COST_LIVE, &diff, NULL), SXT_OK);
    assert_int_equal(sxt_heap_diff_count(diff), 2);
    assert_true(sxt_heap_diff_get(diff, 0, &change));
    assert_int_equal(change.before, 0);
    assert_int_equal(change.after, 0);
    assert_int_equal(change.sums_before->live_bytes - change.sums_after->live_bytes, 128);
    assert_false(sxt_heap_diff_get(diff, 2, &change));
    sxt_heap_diff_free(&diff);
    sxt_heap_usage_free(&window);
    sxt_heap_usage_free(&whole);
    sxt_trace_parse_moment(trace, "nowhere", &options.from);
    assert_int_equal(sxt_trace_analyse(trace, &options, &window, NULL), SXT_ERROR_NOT_FOUND);
    assert_null(window);
    sxt_trace_close(&trace);
}

TEST(exports_profiles_to_memory)
{
    sxt_trace *trace = open_example();
    sxt_heap_usage *usage;
    void *bytes;
    size_t length;
    assert_int_equal(sxt_trace_analyse(trace, NULL, &usage, NULL), SXT_OK);
    assert_int_equal(sxt_heap_write_memory(usage, SXT_HEAP_FOLDED, SXT_HEAP_COST_LEAKED, &bytes, &length, NULL),
                     SXT_OK);
    assert_int_equal(length, strlen("main 16384\n"));
    assert_memory_equal(bytes, "main 16384\n", length);
    sxt_free(bytes);
    for (sxt_heap_format format = SXT_HEAP_PPROF; format <= SXT_HEAP_SPEEDSCOPE; format++) {
        assert_int_equal(sxt_heap_write_memory(usage, format, SXT_HEAP_COST_BYTES, &bytes, &length, NULL), SXT_OK);
        assert_true(length > 50);
        sxt_free(bytes);
    }
    assert_int_equal(sxt_heap_write_memory(usage, (sxt_heap_format)77, SXT_HEAP_COST_BYTES, &bytes, &length, NULL),
                     SXT_ERROR_USAGE);
    sxt_heap_usage_free(&usage);
    sxt_trace_close(&trace);
}

TEST(inflates_up_to_the_limit)
{
    struct sxt_buffer packed;
    sxt_trace_options options;
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace *trace;
    sxt_error error;
    sxt_buffer_init(&packed, 1 << 20);
    assert_int_equal(sxt_gzip_fast(data, size, &packed, NULL), SXT_OK);
    sxt_trace_options_init(&options);
    options.inflate_limit = size;
    assert_int_equal(sxt_trace_open_memory(packed.data, packed.size, &options, &trace, NULL), SXT_OK);
    sxt_trace_get_info(trace, &info);
    assert_true(info.is_compressed);
    assert_int_equal(info.size, size);
    sxt_trace_close(&trace);
    options.inflate_limit = size - 1;
    assert_int_equal(sxt_trace_open_memory(packed.data, packed.size, &options, &trace, &error), SXT_ERROR_LIMIT);
    assert_null(trace);
    sxt_buffer_free(&packed);
}

TEST(refuses_what_is_not_a_trace)
{
    sxt_trace *trace;
    sxt_error error;
    assert_int_equal(sxt_trace_open_memory("", 0, NULL, &trace, &error), SXT_ERROR_FORMAT);
    assert_non_null(strstr(error.text, "nothing has been recorded"));
    assert_int_equal(sxt_trace_open_memory("\177ELF", 4, NULL, &trace, &error), SXT_ERROR_UNSUPPORTED);
    assert_string_equal(error.text, "not a heap trace (.mlyze)");
    assert_int_equal(sxt_trace_open_path("/nonexistent", NULL, &trace, &error), SXT_ERROR_IO);
    assert_int_equal(sxt_trace_open_path("/", NULL, &trace, &error), SXT_ERROR_IO);
    assert_null(trace);
}

TEST(refuses_options_that_are_not_initialised)
{
    sxt_trace *trace;
    sxt_trace_options options = {0};
    sxt_heap_options analysis = {0};
    sxt_heap_usage *usage;
    sxt_error error;
    assert_int_equal(sxt_trace_open_memory(data, size, &options, &trace, &error), SXT_ERROR_USAGE);
    assert_non_null(strstr(error.text, "sxt_trace_options_init"));
    trace = open_example();
    assert_int_equal(sxt_trace_analyse(trace, &analysis, &usage, &error), SXT_ERROR_USAGE);
    assert_non_null(strstr(error.text, "sxt_heap_options_init"));
    sxt_trace_close(&trace);
}

/* Opens and uses bytes that may be anything; returns whether they could be opened. */
static bool use(const uint8_t *bytes, size_t length)
{
    sxt_trace *trace;
    sxt_heap_usage *usage;
    sxt_heap_summary summary = {.struct_size = sizeof summary};
    struct seen seen = {.most = SIZE_MAX};
    if (sxt_trace_open_memory(bytes, length, NULL, &trace, NULL) != SXT_OK) {
        assert_null(trace);
        return false;
    }
    (void)sxt_trace_visit_events(trace, see, &seen, NULL, NULL);
    if (sxt_trace_analyse(trace, NULL, &usage, NULL) == SXT_OK) {
        sxt_heap_get_summary(usage, &summary);
        assert_int_equal(summary.is_damaged, summary.damage != NULL);
        assert_int_equal(summary.events, seen.events);
        sxt_heap_usage_free(&usage);
    }
    sxt_trace_close(&trace);
    return true;
}

TEST(survives_every_truncation_and_every_changed_byte)
{
    size_t opened = 0;
    for (size_t length = 0; length < size; length++) {
        uint8_t *part = malloc(length + 1);
        memcpy(part, data, length);
        opened += use(part, length);
        free(part);
    }
    assert_true(opened > 10);
    for (size_t i = 0; i < size; i++) {
        data[i] ^= 0x28;
        (void)use(data, size);
        data[i] ^= 0x28;
    }
    assert_true(use(data, size));
}
