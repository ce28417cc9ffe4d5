/* test_recording.c: spools: made, read while they are cut off, and finished. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sextant/record.h>

#include "base/file.h"
#include "support/folder.h"
#include "support/test.h"

static char folder[SXT_TEST_FOLDER_MAX], output[SXT_TEST_FOLDER_MAX + 16];

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(output, sizeof output, "%s/t.mlyze", folder);
}

TEAR_DOWN()
{
    sxt_test_remove_folder(folder);
}

static sxt_recording *create(const sxt_recording_options *options)
{
    sxt_recording *recording;
    sxt_error error;
    assert_int_equal(sxt_recording_create(output, options, &recording, &error), SXT_OK);
    return recording;
}

TEST(an_empty_recording_becomes_an_empty_trace)
{
    sxt_recording *recording = create(NULL);
    sxt_recorded recorded = {.struct_size = sizeof recorded};
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace *trace;
    sxt_recording_note_end(recording);
    assert_int_equal(sxt_recording_finish_path(sxt_recording_path(recording), output, NULL, &recorded, NULL), SXT_OK);
    assert_int_equal(recorded.events, 0);
    assert_false(recorded.is_attached);
    assert_int_equal(recorded.end, SXT_RECORDING_COMPLETE);
    assert_int_equal(sxt_trace_open_path(output, NULL, &trace, NULL), SXT_OK);
    sxt_trace_get_info(trace, &info);
    assert_false(info.is_cut_off);
    sxt_trace_close(&trace);
    sxt_recording_close(&recording);
    assert_null(recording);
}

TEST(the_output_is_a_second_name_until_it_is_released)
{
    struct stat spool, other;
    sxt_recording *recording = create(NULL);
    assert_string_equal(sxt_recording_suffix(recording), ".part");
    assert_int_equal(stat(sxt_recording_path(recording), &spool), 0);
    assert_int_equal(stat(output, &other), 0);
    assert_int_equal(spool.st_ino, other.st_ino);
    sxt_recording_release_output(recording);
    assert_int_not_equal(access(output, F_OK), 0);
    sxt_recording_discard(recording);
    assert_int_not_equal(access(sxt_recording_path(recording), F_OK), 0);
    sxt_recording_close(&recording);
}

TEST(a_second_recording_does_not_touch_the_first)
{
    sxt_recording *first = create(NULL), *second = create(NULL);
    assert_string_equal(sxt_recording_suffix(second), ".part2");
    sxt_recording_release_output(second);
    assert_int_equal(access(output, F_OK), 0);
    sxt_recording_close(&first);
    sxt_recording_close(&second);
}

TEST(a_spool_that_was_cut_off_opens_or_is_refused_as_asked)
{
    sxt_recording_options recording_options;
    sxt_recording_options_init(&recording_options);
    recording_options.period = 4096;
    sxt_recording *recording = create(&recording_options);
    sxt_trace_options options;
    sxt_trace_info info = {.struct_size = sizeof info};
    sxt_trace *trace;
    sxt_error error;
    assert_int_equal(sxt_trace_open_path(sxt_recording_path(recording), NULL, &trace, NULL), SXT_OK);
    sxt_trace_get_info(trace, &info);
    assert_true(info.is_cut_off && info.is_sampled);
    assert_int_equal(info.sample_period, 4096);
    assert_int_equal(sxt_trace_save_caches(trace, SXT_TRACE_LIVE, &error), SXT_ERROR_UNSUPPORTED);
    assert_int_equal(error.reason, SXT_REASON_CUT_OFF);
    sxt_trace_close(&trace);
    sxt_trace_options_init(&options);
    options.no_recovery = true;
    assert_int_equal(sxt_trace_open_path(sxt_recording_path(recording), &options, &trace, &error),
                     SXT_ERROR_UNSUPPORTED);
    assert_int_equal(error.reason, SXT_REASON_CUT_OFF);
    sxt_recording_close(&recording);
}

/* Any part of a spool, and any with a changed byte, is read or refused. */
TEST(survives_damaged_spools)
{
    sxt_recording *recording = create(NULL);
    struct sxt_file file;
    sxt_trace *trace;
    size_t opened = 0;
    assert_int_equal(sxt_file_open(&file, sxt_recording_path(recording), NULL), SXT_OK);
    uint8_t *bytes = malloc(file.size);
    assert_non_null(bytes);
    memcpy(bytes, file.data, file.size);
    for (size_t size = 0; size <= file.size; size += size < 400 ? 1 : 84) {
        opened += sxt_trace_open_memory(bytes, size, NULL, &trace, NULL) == SXT_OK;
        sxt_trace_close(&trace);
    }
    assert_int_equal(opened, 1); /* the whole of it */
    for (size_t i = 0; i < 400; i++) {
        bytes[i] ^= 0x41;
        (void)sxt_trace_open_memory(bytes, file.size, NULL, &trace, NULL);
        sxt_trace_close(&trace);
        bytes[i] ^= 0x41;
    }
    free(bytes);
    sxt_file_close(&file);
    sxt_recording_close(&recording);
}

TEST(a_child_is_known_by_its_number)
{
    sxt_recording *recording = create(NULL);
    sxt_recording_set_process(recording, 4711);
    assert_true(sxt_recording_has_child(recording, sxt_recording_path(recording), 4711));
    assert_false(sxt_recording_has_child(recording, sxt_recording_path(recording), 4712));
    assert_false(sxt_recording_has_child(recording, "/nonexistent", 4711));
    sxt_recording_close(&recording);
}

/* Copies the spool to FOLDER/NAME, as that of process PID. */
static void copy_spool(sxt_recording *recording, const char *name, long pid)
{
    char copy[SXT_TEST_FOLDER_MAX + 40];
    struct sxt_file file;
    snprintf(copy, sizeof copy, "%s/%s", folder, name);
    sxt_recording_set_process(recording, pid);
    assert_int_equal(sxt_file_open(&file, sxt_recording_path(recording), NULL), SXT_OK);
    sxt_test_put_file(copy, file.data, file.size);
    sxt_file_close(&file);
}

TEST(children_are_found_by_the_pattern_of_their_files)
{
    sxt_recording *recording = create(NULL);
    char pattern[SXT_TEST_FOLDER_MAX + 40];
    long *pids;
    size_t count;
    sxt_error error;
    copy_spool(recording, "child.700.mlyze.part", 700);
    copy_spool(recording, "child.12.mlyze.part", 12);
    copy_spool(recording, "child.9.mlyze.part", 8);       /* of another process */
    copy_spool(recording, "child.5.mlyze.part2", 5);      /* of another recording */
    copy_spool(recording, "child.x3.mlyze.part", 3);      /* not a number */
    copy_spool(recording, "child.4711.mlyze.part", 4711); /* the program itself */
    snprintf(pattern, sizeof pattern, "%s/child.%%p.mlyze", folder);
    assert_int_equal(sxt_recording_find_children(recording, pattern, &pids, &count, &error), SXT_OK);
    assert_int_equal(count, 2);
    assert_int_equal(pids[0], 12);
    assert_int_equal(pids[1], 700);
    sxt_free(pids);
    snprintf(pattern, sizeof pattern, "%s/other.%%p.mlyze", folder);
    assert_int_equal(sxt_recording_find_children(recording, pattern, &pids, &count, &error), SXT_OK);
    assert_int_equal(count, 0);
    sxt_free(pids);
    assert_int_equal(sxt_recording_find_children(recording, "/%p/a.mlyze", &pids, &count, &error), SXT_OK);
    assert_int_equal(count, 0);
    assert_int_equal(sxt_recording_find_children(recording, "/none/%p", &pids, &count, &error), SXT_ERROR_IO);
    assert_null(pids);
    sxt_recording_close(&recording);
}

TEST(a_pattern_is_filled_in_if_there_is_room)
{
    char path[12];
    assert_true(sxt_recording_fill_in("a%p.%p%", 123, path, sizeof path));
    assert_string_equal(path, "a123.123%");
    assert_true(sxt_recording_fill_in("abcdefgh%p", 123, path, sizeof path));
    assert_string_equal(path, "abcdefgh123");
    assert_false(sxt_recording_fill_in("abcdefghi%p", 123, path, sizeof path));
    assert_false(sxt_recording_fill_in("abcdefghijkl", 1, path, sizeof path));
    assert_false(sxt_recording_fill_in("", 1, path, 0));
    assert_true(sxt_recording_fill_in("", 1, path, 1));
}

TEST(refuses_a_place_where_a_trace_cannot_be)
{
    sxt_recording *recording;
    sxt_error error;
    assert_int_equal(sxt_recording_create("", NULL, &recording, &error), SXT_ERROR_USAGE);
    assert_int_equal(sxt_recording_create(folder, NULL, &recording, &error), SXT_ERROR_IO);
    assert_int_equal(sxt_recording_create("/nonexistent/x", NULL, &recording, &error), SXT_ERROR_IO);
    assert_null(recording);
}

TEST(programs_are_checked_before_they_run)
{
    char script[SXT_TEST_FOLDER_MAX + 16];
    snprintf(script, sizeof script, "%s/script", folder);
    sxt_test_put_file(script, "#!/bin/sh\n", 10);
    assert_int_equal(sxt_check_recordable(script, NULL), sxt_check_recordable("/bin/sh", NULL));
    assert_int_equal(sxt_check_recordable("/nonexistent", "/usr/lib/libasan.so.8"), SXT_RECORDABLE_SANITIZED);
    assert_int_equal(sxt_check_recordable("/nonexistent", "/usr/lib/libx.so"), SXT_RECORDABLE);
}
