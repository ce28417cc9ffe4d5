/* test_symbolize.c: sextant/profile.h as a C caller uses it: options, output, callbacks that stop. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/sextant.h>

#include "support/test.h"

/* A pprof profile: the string table "", "/nowhere"; mapping 1; location 1 at 0x1010 of it. */
static const uint8_t profile[] = {0x32, 0x00, 0x32, 0x08, '/',  'n',  'o',  'w',  'h',  'e',  'r',
                                  'e',  0x1a, 0x0a, 0x08, 0x01, 0x10, 0x80, 0x20, 0x18, 0x80, 0x40,
                                  0x28, 0x01, 0x22, 0x07, 0x08, 0x01, 0x10, 0x01, 0x18, 0x90, 0x20};

static sxt_modules *open_nothing(void)
{
    sxt_modules_options options;
    sxt_modules *modules;
    sxt_modules_options_init(&options);
    options.no_local = true;
    assert_int_equal(sxt_modules_open(&options, &modules, NULL), SXT_OK);
    return modules;
}

static bool count_mappings(void *data, const sxt_profile_mapping *mapping)
{
    size_t *count = data;
    sxt_test_assert_text(mapping->name, "/nowhere");
    assert_int_equal(mapping->unresolved[SXT_UNRESOLVED_FILE], 1);
    return ++*count > 1;
}

TEST(a_profile_without_files_is_unchanged_and_counted)
{
    sxt_modules *modules = open_nothing();
    sxt_profile_report report = {.struct_size = sizeof report};
    void *out;
    size_t size;
    assert_int_equal(sxt_profile_symbolize(modules, profile, sizeof profile, NULL, &out, &size, &report, NULL), SXT_OK);
    assert_int_equal(size, sizeof profile);
    assert_memory_equal(out, profile, size);
    assert_int_equal(report.locations, 1);
    assert_int_equal(report.unresolved[SXT_UNRESOLVED_FILE], 1);
    sxt_free(out);
    sxt_modules_close(&modules);
    assert_null(modules);
}

TEST(a_gzipped_profile_comes_out_gzipped_unless_the_caller_wants_another_form)
{
    sxt_modules *modules = open_nothing();
    sxt_profile_options options;
    void *packed, *again, *plain;
    size_t packed_size, again_size, plain_size;
    sxt_profile_options_init(&options);
    options.form = SXT_PROFILE_GZIP;
    assert_int_equal(
        sxt_profile_symbolize(modules, profile, sizeof profile, &options, &packed, &packed_size, NULL, NULL), SXT_OK);
    assert_memory_equal(packed, "\x1f\x8b", 2);
    assert_int_equal(sxt_profile_symbolize(modules, packed, packed_size, NULL, &again, &again_size, NULL, NULL),
                     SXT_OK);
    assert_memory_equal(again, "\x1f\x8b", 2);
    options.form = SXT_PROFILE_PLAIN;
    assert_int_equal(sxt_profile_symbolize(modules, packed, packed_size, &options, &plain, &plain_size, NULL, NULL),
                     SXT_OK);
    assert_int_equal(plain_size, sizeof profile);
    assert_memory_equal(plain, profile, sizeof profile);

    sxt_error error;
    void *none;
    options.inflate_limit = 8;
    assert_int_equal(sxt_profile_symbolize(modules, packed, packed_size, &options, &none, &plain_size, NULL, &error),
                     SXT_ERROR_LIMIT);
    assert_int_equal(error.reason, SXT_REASON_INFLATE_LIMIT);
    assert_null(none);
    sxt_free(packed);
    sxt_free(again);
    sxt_free(plain);
    sxt_modules_close(&modules);
}

TEST(a_mapping_callback_that_returns_false_stops)
{
    sxt_modules *modules = open_nothing();
    sxt_profile_options options;
    size_t count = 0, size;
    void *out;
    sxt_profile_options_init(&options);
    options.mapping = count_mappings;
    options.mapping_data = &count;
    assert_int_equal(sxt_profile_symbolize(modules, profile, sizeof profile, &options, &out, &size, NULL, NULL),
                     SXT_ERROR_IO);
    assert_int_equal(count, 1);
    assert_null(out);
    sxt_modules_close(&modules);
}

static bool refuse(void *data, const char *text, size_t size)
{
    (void)text;
    *(size_t *)data += size;
    return false;
}

TEST(a_write_callback_that_returns_false_stops_the_filter)
{
    sxt_modules *modules = open_nothing();
    sxt_text_filter *filter;
    size_t written = 0;
    assert_int_equal(sxt_text_filter_open(modules, refuse, &written, &filter, NULL), SXT_OK);
    assert_int_equal(sxt_text_filter_feed(filter, "half", 4, NULL), SXT_OK);
    assert_int_equal(written, 0);
    assert_int_equal(sxt_text_filter_feed(filter, " a line\n", 8, NULL), SXT_ERROR_IO);
    assert_int_equal(written, 12);
    sxt_text_filter_close(&filter);
    assert_null(filter);
    sxt_modules_close(&modules);
}

TEST(options_that_are_not_initialised_are_refused)
{
    sxt_modules_options options = {.struct_size = 0};
    sxt_modules *modules;
    assert_int_equal(sxt_modules_open(&options, &modules, NULL), SXT_ERROR_USAGE);
    assert_null(modules);
}
