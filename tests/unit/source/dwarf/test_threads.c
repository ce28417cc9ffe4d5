/* Many units on several threads give the same model as on one thread. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sextant/sextant.h>

#include "support/dwarf_builder.h"
#include "support/test.h"

enum { UNITS = 600, FUNCTIONS = 40 };

/* Enough units for several threads: functions, calls, names in other units, some damage. */
static void make_file(struct debug *debug)
{
    debug_init(debug, (struct debug_shape){.version = 4, .text_size = 1 << 24});
    uint64_t lines = debug_plain_lines(debug, 0x4000, 1);
    uint64_t origin = 0;
    char name[32];
    for (unsigned unit = 0; unit < UNITS; unit++) {
        uint64_t base = TEXT + unit * FUNCTIONS * 16;
        if (unit > 0)
            debug_new_abbreviations(debug);
        debug_begin_unit(debug, LINES(lines), LOW(base), HIGH(FUNCTIONS * 16), LANGUAGE(C_PLUS_PLUS));
        snprintf(name, sizeof name, "unit%u", unit % 50);
        OPEN(debug, DW_TAG_namespace, NAME(name));
        for (unsigned i = 0; i < FUNCTIONS; i++) {
            snprintf(name, sizeof name, "function%u", unit * FUNCTIONS + i);
            /* Every second one overlaps the one before. */
            uint64_t entry = OPEN(debug, DW_TAG_subprogram, NAME(name), LOW(base + 16 * i - i % 2 * 4), HIGH(16));
            if (origin != 0)
                ENTRY(debug, DW_TAG_inlined_subroutine, ORIGIN(origin), LOW(base + 16 * i + 4), HIGH(8), CALL(1, i));
            if (i % 7 == 0)
                origin = entry;
            debug_close(debug);
        }
        debug_close(debug);
        if (unit % 97 == 5)
            debug_uleb(debug, INFO, 99999);
        debug_end_unit(debug);
    }
    debug_finish(debug);
}

struct bytes {
    void *data;
    size_t size;
    char warnings[2000];
};

static void note_warning(void *data, const sxt_error *problem)
{
    struct bytes *bytes = data;
    size_t size = strlen(bytes->warnings);
    snprintf(bytes->warnings + size, sizeof bytes->warnings - size, "%s\n", problem->text);
}

static struct bytes read_and_write(const struct debug *debug)
{
    struct bytes bytes = {.data = NULL};
    sxt_extract_options options;
    sxt_symbols *symbols;
    sxt_extract_options_init(&options);
    options.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    options.warning = note_warning;
    options.warning_data = &bytes;
    assert_int_equal(sxt_symbols_from_memory(debug->elf.data, debug->elf.size, &options, &symbols, NULL), SXT_OK);
    assert_int_equal(sxt_lidia_write_memory(symbols, NULL, &bytes.data, &bytes.size, NULL, NULL), SXT_OK);
    sxt_symbols_free(&symbols);
    return bytes;
}

/* From now on, only one thread is used. Returns the processors to restore afterwards. */
static cpu_set_t run_on_one_processor(void)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    return all;
}

TEST(one_thread_and_many_read_the_same)
{
    struct debug debug;
    make_file(&debug);
    assert_true(debug_size(&debug, INFO) > (size_t)1 << 19);
    cpu_set_t all = run_on_one_processor();
    struct bytes alone = read_and_write(&debug);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_non_null(strstr(alone.warnings, "7 damaged units in total"));
    for (unsigned i = 0; i < 5; i++) {
        struct bytes together = read_and_write(&debug);
        assert_int_equal(together.size, alone.size);
        assert_memory_equal(together.data, alone.data, alone.size);
        assert_string_equal(together.warnings, alone.warnings);
        sxt_free(together.data);
    }
    sxt_free(alone.data);
    debug_free(&debug);
}

/* The last progress, and how often it was reported. */
struct told {
    pthread_t thread;
    uint64_t done, total;
    unsigned calls;
};

/* Called from inside the library, where a failed assertion must not jump out: it only records what is wrong. */
static void note_progress(void *data, uint64_t done, uint64_t total)
{
    struct told *told = data;
    bool rises = told->calls == 0 || (done > told->done && total == told->total);
    if (!rises || done > total || !pthread_equal(pthread_self(), told->thread))
        abort();
    told->done = done;
    told->total = total;
    told->calls++;
}

static struct told read_with_progress(const struct debug *debug)
{
    struct told told = {.thread = pthread_self()};
    sxt_extract_options options;
    sxt_symbols *symbols;
    sxt_extract_options_init(&options);
    options.progress = note_progress;
    options.progress_data = &told;
    assert_int_equal(sxt_symbols_from_memory(debug->elf.data, debug->elf.size, &options, &symbols, NULL), SXT_OK);
    sxt_symbols_free(&symbols);
    return told;
}

TEST(progress_rises_and_is_reported_on_the_calling_thread)
{
    struct debug debug;
    make_file(&debug);
    for (unsigned i = 0; i < 5; i++) {
        struct told told = read_with_progress(&debug);
        assert_in_range(told.calls, 1, UNITS);
        assert_int_equal(told.total, debug_size(&debug, INFO));
    }
    /* With one thread, progress is reported after each unit, and at the end nearly everything is done. */
    cpu_set_t all = run_on_one_processor();
    struct told told = read_with_progress(&debug);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(told.calls, UNITS);
    assert_true(told.done > told.total / 100 * 99);
    debug_free(&debug);
}

/* For selected addresses, a part of the units gives the same answers as all of them. */
TEST(reading_for_some_addresses_gives_the_same_answers)
{
    struct debug debug;
    make_file(&debug);
    sxt_archive *whole, *part;
    sxt_open_options options;
    sxt_open_options_init(&options);
    sxt_extract_options extract;
    sxt_extract_options_init(&extract);
    options.extract = &extract;
    assert_int_equal(sxt_archive_open_memory(debug.elf.data, debug.elf.size, &options, &whole, NULL), SXT_OK);
    for (unsigned k = 0; k < 20; k++) {
        uint64_t addresses[50];
        for (unsigned i = 0; i < 50; i++)
            addresses[i] = TEXT + (uint64_t)(k * 50 + i) * 7919 % (UNITS * FUNCTIONS * 16);
        extract.addresses = addresses;
        extract.address_count = 50;
        assert_int_equal(sxt_archive_open_memory(debug.elf.data, debug.elf.size, &options, &part, NULL), SXT_OK);
        for (unsigned i = 0; i < 50; i++) {
            sxt_frame all[8], some[8];
            size_t count = sxt_archive_lookup(whole, addresses[i], all, 8);
            assert_int_equal(sxt_archive_lookup(part, addresses[i], some, 8), count);
            for (size_t f = 0; f < count; f++) {
                assert_int_equal(some[f].line, all[f].line);
                assert_int_equal(some[f].function.size, all[f].function.size);
                assert_memory_equal(some[f].function.data, all[f].function.data, all[f].function.size);
            }
        }
        sxt_archive_close(&part);
    }
    sxt_archive_close(&whole);
    debug_free(&debug);
}
