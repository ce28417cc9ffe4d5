/* test_caches.c: FILE.idx and FILE.live are used when they belong to the trace, and ignored otherwise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sextant/trace.h>

#include "base/file.h"
#include "support/folder.h"
#include "support/mlyze_image.h"
#include "support/test.h"

#define EVENTS 50000

static char folder[SXT_TEST_FOLDER_MAX], path[SXT_TEST_FOLDER_MAX + 16];
static char idx[SXT_TEST_FOLDER_MAX + 24], live[SXT_TEST_FOLDER_MAX + 24];

static void put_trace(uint64_t seed)
{
    size_t size;
    sxt_trace_event *events = sxt_test_mlyze_events(seed, EVENTS);
    for (size_t i = 0; i < EVENTS; i++) /* sizes must not add up to more than 64 bits */
        events[i].size &= 0xffff;
    uint8_t *file = sxt_test_mlyze_file(events, EVENTS, SXT_MLYZE_COLUMNS, &size);
    sxt_test_put_file(path, file, size);
    free(file);
    free(events);
}

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(path, sizeof path, "%s/t.mlyze", folder);
    snprintf(idx, sizeof idx, "%s.idx", path);
    snprintf(live, sizeof live, "%s.live", path);
    put_trace(1);
}

TEAR_DOWN()
{
    sxt_test_remove_folder(folder);
}

/* The live bytes in the middle. *IS_QUICK: they came from FILE.live, which has no other sums. */
static uint64_t ask(bool no_index, bool *is_quick)
{
    sxt_trace *trace;
    sxt_trace_options options;
    sxt_heap_options analysis;
    sxt_heap_usage *usage;
    sxt_trace_options_init(&options);
    sxt_heap_options_init(&analysis);
    options.no_index = no_index;
    analysis.only_live = true;
    assert_int_equal(sxt_trace_open_path(path, &options, &trace, NULL), SXT_OK);
    sxt_trace_parse_moment(trace, "500ms", &analysis.to);
    assert_int_equal(sxt_trace_analyse(trace, &analysis, &usage, NULL), SXT_OK);
    uint64_t bytes = sxt_heap_total(usage)->live_bytes;
    *is_quick = sxt_heap_total(usage)->count == 0;
    sxt_heap_usage_free(&usage);
    sxt_trace_close(&trace);
    return bytes;
}

static void save(unsigned caches)
{
    sxt_trace *trace;
    assert_int_equal(sxt_trace_open_path(path, NULL, &trace, NULL), SXT_OK);
    assert_int_equal(sxt_trace_save_caches(trace, caches, NULL), SXT_OK);
    sxt_trace_close(&trace);
}

TEST(answers_from_the_live_file)
{
    bool is_quick;
    uint64_t expected = ask(false, &is_quick);
    assert_false(is_quick);
    save(SXT_TRACE_LIVE);
    assert_int_equal(access(live, F_OK), 0);
    assert_int_not_equal(access(idx, F_OK), 0);
    assert_int_equal(ask(false, &is_quick), expected);
    assert_true(is_quick);
    assert_int_equal(ask(true, &is_quick), expected);
    assert_false(is_quick);
}

TEST(ignores_the_live_file_of_another_trace)
{
    bool is_quick;
    save(SXT_TRACE_LIVE);
    put_trace(2);
    uint64_t found = ask(false, &is_quick);
    assert_false(is_quick);
    assert_int_equal(ask(true, &is_quick), found);
}

static void damage(const char *name)
{
    FILE *file = fopen(name, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 41, SEEK_SET), 0);
    assert_int_equal(fputc(0xee, file), 0xee);
    assert_int_equal(fclose(file), 0);
}

TEST(ignores_damaged_files)
{
    bool is_quick;
    uint64_t expected = ask(true, &is_quick);
    save(SXT_TRACE_IDX | SXT_TRACE_LIVE);
    damage(idx);
    damage(live);
    assert_int_equal(ask(false, &is_quick), expected);
    assert_false(is_quick);
    save(SXT_TRACE_LIVE); /* makes the index again */
    assert_int_equal(ask(false, &is_quick), expected);
    assert_true(is_quick);
}

static off_t size_of(const char *name)
{
    struct stat status;
    assert_int_equal(stat(name, &status), 0);
    return status.st_size;
}

/* Events in the middle are damaged: an index that is made then is shorter, one that is read is as before. */
TEST(reuses_the_index)
{
    sxt_trace_options options;
    sxt_trace *trace;
    struct sxt_file file;
    save(SXT_TRACE_IDX);
    off_t size = size_of(idx);
    assert_int_equal(sxt_file_open(&file, path, NULL), SXT_OK);
    uint8_t *bytes = malloc(file.size);
    assert_non_null(bytes);
    memcpy(bytes, file.data, file.size);
    bytes[file.size / 2] ^= 0x10;
    sxt_test_put_file(path, bytes, file.size);
    free(bytes);
    sxt_file_close(&file);
    save(SXT_TRACE_IDX);
    assert_int_equal(size_of(idx), size);
    sxt_trace_options_init(&options);
    options.no_index = true;
    assert_int_equal(sxt_trace_open_path(path, &options, &trace, NULL), SXT_OK);
    assert_int_equal(sxt_trace_save_caches(trace, SXT_TRACE_IDX, NULL), SXT_OK);
    assert_true(size_of(idx) < size);
    sxt_trace_close(&trace);
}

TEST(needs_a_file)
{
    size_t size;
    uint8_t *data = sxt_test_mlyze_example(&size);
    sxt_trace *trace;
    sxt_error error;
    assert_int_equal(sxt_trace_open_memory(data, size, NULL, &trace, NULL), SXT_OK);
    assert_int_equal(sxt_trace_save_caches(trace, SXT_TRACE_IDX, &error), SXT_ERROR_USAGE);
    assert_int_equal(error.reason, SXT_REASON_NOT_A_FILE);
    sxt_trace_close(&trace);
    free(data);
}
