/* test_spool.c: spools that are made here, byte for byte: the order of events across threads, notes, and damage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlyze/spool.h"
#include "support/test.h"

#define WINDOWS_MOST 8
#define SPOOL_SIZE   (SXT_SPOOL_WINDOWS_OFFSET + WINDOWS_MOST * SXT_SPOOL_UNIT)
#define START_US     1700000000000000u
#define START_TICK   1000000u

/* A spool with ticks of a nanosecond. */
struct made {
    uint8_t *data;
    size_t windows;
    uint64_t *at;  /* the next word of the window that is being filled */
    uint64_t tick; /* of the record before */
};

static struct sxt_spool_control *control_of(struct made *made)
{
    return (void *)(made->data + SXT_SPOOL_CONTROL_OFFSET);
}

static struct made make(void)
{
    struct made made = {.data = calloc(1, SPOOL_SIZE)};
    assert_non_null(made.data);
    memcpy(made.data, "MTRC\1", 5);
    *control_of(&made) = (struct sxt_spool_control){
        .magic = SXT_SPOOL_CONTROL_MAGIC,
        .version = SXT_SPOOL_VERSION,
        .image = 1,
        .state = SXT_SPOOL_RECORDING,
        .start_us = START_US,
        .first = {START_TICK, START_TICK},
        .last = {START_TICK + 1000000, START_TICK + 1000000},
    };
    return made;
}

static void window(struct made *made, uint32_t stream, uint32_t sequence, uint32_t thread)
{
    uint8_t *start = made->data + SXT_SPOOL_WINDOWS_OFFSET + made->windows++ * SXT_SPOOL_UNIT;
    struct sxt_spool_window header = {SXT_SPOOL_WINDOW_MAGIC, SXT_SPOOL_UNIT, 1, stream, sequence, thread, START_TICK};
    memcpy(start, &header, sizeof header);
    made->at = (void *)(start + sizeof header);
    made->tick = START_TICK;
}

/* Ticks are from the start. */
static uint64_t since(struct made *made, uint64_t tick)
{
    uint64_t ticks = START_TICK + tick - made->tick;
    made->tick = START_TICK + tick;
    if (ticks <= SXT_SPOOL_TICKS_MOST)
        return ticks;
    *made->at++ = (uint64_t)SXT_SPOOL_TIME | ticks << SXT_SPOOL_TICKS_SHIFT;
    return 0;
}

static void alloc(struct made *made, uint64_t tick, uint64_t address, uint32_t size, uint32_t stack)
{
    *made->at++ = sxt_spool_word(SXT_SPOOL_ALLOC, since(made, tick), address);
    *made->at++ = size | (uint64_t)stack << 32;
}

static void release(struct made *made, uint64_t tick, uint64_t address)
{
    *made->at++ = sxt_spool_word(SXT_SPOOL_FREE, since(made, tick), address);
}

static void note(struct made *made, enum sxt_spool_note kind, const void *data, size_t size)
{
    *made->at++ = sxt_spool_note_word(kind, 0, (uint32_t)size);
    memcpy(made->at, data, size);
    made->at += (size + 7) / 8;
}

/* "a1000 f1000 ...": kinds and addresses of all events, in hexadecimal; freed by the caller. */
static char *story(struct sxt_spool *spool)
{
    static const char letters[] = "afgm";
    char *text = calloc(1, 4096);
    sxt_trace_event event;
    size_t count;
    uint64_t time = 0;
    while (sxt_spool_read(spool, &event, 1, &count, NULL) == SXT_OK && count > 0) {
        assert_true(event.time >= time);
        time = event.time;
        sprintf(text + strlen(text), "%s%c%llx", text[0] != 0 ? " " : "", letters[event.kind],
                (unsigned long long)event.address);
    }
    return text;
}

static void expect_and_leave_out(struct made *made, const char *wanted, uint64_t left_out)
{
    struct sxt_spool *spool;
    sxt_error error;
    assert_int_equal(sxt_spool_open(made->data, SPOOL_SIZE, &spool, &error), SXT_OK);
    char *told = story(spool);
    assert_string_equal(told, wanted);
    assert_int_equal(sxt_spool_unmatched(spool), left_out);
    free(told);
    sxt_spool_close(&spool);
    free(made->data);
}

static void expect(struct made *made, const char *wanted)
{
    expect_and_leave_out(made, wanted, 0);
}

TEST(streams_are_merged_by_time)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    alloc(&made, 10, 0x1000, 1, 5);
    release(&made, 50000, 0x1000);
    window(&made, 1, 0, 1);
    alloc(&made, 5, 0x2000, 2, 5);
    release(&made, 20, 0x2000);
    alloc(&made, 60000, 0x1000, 1, 5);
    expect(&made, "a2000 a1000 f2000 f1000 a1000");
}

TEST(windows_of_a_stream_are_in_sequence)
{
    struct made made = make();
    window(&made, 3, 1, 0);
    release(&made, 30, 0x1000);
    window(&made, 3, 0, 0);
    alloc(&made, 20, 0x1000, 1, 5);
    expect(&made, "a1000 f1000");
}

/* As when the recorder was killed between writing a window out and emptying it; or half way through writing it out. */
TEST(a_window_that_is_there_twice_counts_once)
{
    struct made made = make();
    window(&made, 0, 1, 0);
    alloc(&made, 30, 0x3000, 16, 0);
    for (int whole = 1; whole >= 0; whole--) {
        window(&made, 0, 0, 0);
        alloc(&made, 10, 0x1000, 16, 0);
        if (whole)
            release(&made, 20, 0x1000);
    }
    window(&made, 0, 2, 0);
    release(&made, 40, 0x3000);
    window(&made, 0, 1, 0);
    alloc(&made, 30, 0x3000, 16, 0);
    alloc(&made, 35, 0x4000, 16, 0);
    expect(&made, "a1000 f1000 a3000 a4000 f3000");
}

/* The clocks of two processors may differ a little. */
TEST(a_free_waits_for_its_allocation)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    release(&made, 100, 0x1000);
    alloc(&made, 101, 0x3000, 1, 5);
    window(&made, 1, 0, 1);
    alloc(&made, 110, 0x1000, 1, 5);
    alloc(&made, 120, 0x2000, 1, 5);
    expect(&made, "a1000 f1000 a3000 a2000");
}

TEST(an_allocation_waits_for_the_free_of_the_address)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    alloc(&made, 50, 0x1000, 1, 5);
    alloc(&made, 150, 0x4000, 1, 5);
    release(&made, 160, 0x1000);
    window(&made, 1, 0, 1);
    alloc(&made, 155, 0x1000, 9, 5);
    expect(&made, "a1000 a4000 f1000 a1000");
}

TEST(a_free_of_a_strange_block_is_left_out)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    release(&made, 100, 0x9000);
    alloc(&made, 101, 0x1000, 1, 5);
    window(&made, 1, 0, 1);
    alloc(&made, 100000, 0x2000, 1, 5);
    alloc(&made, 100001, 0x9000, 1, 5);
    expect_and_leave_out(&made, "a1000 a2000 a9000", 1);
}

/* The second thread got the block that the first one allocated anew, but its clock says that it freed the old one. */
TEST(a_free_that_seems_to_be_of_the_block_before)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    alloc(&made, 10, 0x1000, 1, 5);
    release(&made, 126, 0x1000);
    alloc(&made, 230, 0x1000, 1, 5);
    alloc(&made, 240, 0x3000, 1, 5);
    window(&made, 1, 0, 1);
    release(&made, 100, 0x1000);
    alloc(&made, 235, 0x2000, 1, 5);
    expect(&made, "a1000 f1000 a1000 f1000 a2000 a3000");
}

/* ... but nothing is allocated there: nobody waits, and after a while it is of no account. */
TEST(a_block_that_is_freed_by_two_threads)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    alloc(&made, 10, 0x1000, 1, 5);
    release(&made, 126, 0x1000);
    alloc(&made, 230, 0x3000, 1, 5);
    alloc(&made, 30000, 0x1000, 1, 5);
    window(&made, 1, 0, 1);
    release(&made, 100, 0x1000);
    alloc(&made, 240, 0x2000, 1, 5);
    expect_and_leave_out(&made, "a1000 f1000 a3000 a2000 a1000", 1);
}

/* There are more frees to postpone than there is room for: the others wait like any other record. */
TEST(many_blocks_that_are_freed_by_two_threads)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    for (uint64_t i = 1; i <= 100; i++)
        alloc(&made, i, i << 12, 1, 5);
    for (uint64_t i = 1; i <= 100; i++)
        release(&made, 2000 + i, i << 12);
    alloc(&made, 100000, 0x1000, 1, 5);
    window(&made, 1, 0, 1);
    for (uint64_t i = 1; i <= 100; i++)
        release(&made, 1000 + i, i << 12);
    struct sxt_spool *spool;
    assert_int_equal(sxt_spool_open(made.data, SPOOL_SIZE, &spool, NULL), SXT_OK);
    sxt_trace_event events[301];
    struct sxt_spool_live live[301];
    size_t count;
    assert_int_equal(sxt_spool_read_live(spool, events, live, 301, &count, NULL), SXT_OK);
    assert_int_equal(count, 201);
    assert_int_equal(sxt_spool_unmatched(spool), 100);
    assert_int_equal(live[99].bytes, 100);
    assert_int_equal(live[99].count, 100);
    assert_int_equal(live[199].bytes, 0);
    assert_int_equal(live[200].count, 1);
    sxt_spool_close(&spool);
    free(made.data);
}

TEST(times_are_microseconds)
{
    struct made made = make();
    window(&made, 0, 0, 7);
    alloc(&made, 2500, 0x1000, 44, 5);
    struct sxt_spool *spool;
    sxt_trace_event event;
    size_t count;
    assert_int_equal(sxt_spool_open(made.data, SPOOL_SIZE, &spool, NULL), SXT_OK);
    assert_int_equal(sxt_spool_read(spool, &event, 1, &count, NULL), SXT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(event.time, START_US + 2);
    assert_int_equal(event.size, 44);
    assert_int_equal(event.thread, 7);
    assert_int_equal(event.stack, 0);
    sxt_spool_close(&spool);
    free(made.data);
}

TEST(what_is_too_wide_for_a_word)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    *made.at++ = sxt_spool_word(SXT_SPOOL_WIDE, 1, 1);
    *made.at++ = 0xfff0000000001000u;
    *made.at++ = (uint64_t)1 << 40;
    *made.at++ = 5;
    *made.at++ = sxt_spool_word(SXT_SPOOL_WIDE, 1, 2);
    *made.at++ = 0xfff0000000001000u;
    made.at += 2;
    alloc(&made, 10, 0x2000, 1, 5);
    expect(&made, "afff0000000001000 ffff0000000001000 a2000");
}

TEST(notes_give_stacks_files_and_threads)
{
    struct made made = make();
    struct {
        uint32_t number, generation;
        uint64_t frames[2];
    } stack = {77, 3, {0x401000, 0x402000}};
    struct {
        struct sxt_spool_module module;
        char rest[10];
    } file = {{0x400000, 0x500000, 0x400000, 0, 4, 2}, "/a/b\xab\xcd"};
    uint64_t unload[3] = {0x400000, 0x500000, 4};
    struct {
        uint32_t number, system;
        char name[4];
    } thread = {1, 4711, "work"};
    window(&made, 0, 0, 0);
    note(&made, SXT_SPOOL_UNLOAD, unload, sizeof unload);
    note(&made, SXT_SPOOL_MODULE, &file, sizeof file.module + 6);
    note(&made, SXT_SPOOL_STACK, &stack, sizeof stack);
    note(&made, SXT_SPOOL_THREAD, &thread, sizeof thread);
    note(&made, SXT_SPOOL_MARKER, "here", 4);
    struct sxt_spool *spool;
    assert_int_equal(sxt_spool_open(made.data, SPOOL_SIZE, &spool, NULL), SXT_OK);
    const struct sxt_spool_facts *facts = sxt_spool_facts(spool);
    assert_int_equal(facts->stack_count, 1);
    assert_int_equal(facts->stacks[0].count, 2);
    assert_int_equal(facts->stacks[0].generation, 3);
    assert_int_equal(facts->file_count, 1);
    assert_int_equal(facts->files[0].end_generation, 4);
    assert_memory_equal(facts->files[0].path.data, "/a/b", 4);
    assert_int_equal(facts->files[0].build_id.size, 2);
    assert_int_equal(facts->thread_count, 1);
    assert_int_equal(facts->threads[0].system_number, 4711);
    char *told = story(spool);
    assert_string_equal(told, "m0");
    free(told);
    sxt_spool_close(&spool);
    free(made.data);
}

TEST(only_the_last_image_counts)
{
    struct made made = make();
    window(&made, 0, 0, 0);
    alloc(&made, 1, 0x1000, 1, 5);
    ((struct sxt_spool_window *)(void *)(made.data + SXT_SPOOL_WINDOWS_OFFSET))->image = 0;
    window(&made, 0, 0, 0);
    alloc(&made, 2, 0x2000, 1, 5);
    expect(&made, "a2000");
}

/* Every byte after the first page becomes something else, one after another; and the file may end anywhere. */
TEST(damage_costs_events_and_nothing_else)
{
    struct made made = make();
    uint64_t stack[3] = {5, 0x401000, 0x402000};
    window(&made, 0, 0, 0);
    note(&made, SXT_SPOOL_STACK, stack, sizeof stack);
    for (uint64_t i = 0; i < 20; i++)
        alloc(&made, i * 3000, 0x1000 + i * 16, 8, 5);
    window(&made, 1, 0, 1);
    for (uint64_t i = 0; i < 20; i++)
        release(&made, i * 3000 + 1, 0x1000 + i * 16);
    size_t used = SXT_SPOOL_UNIT + 500;
    for (size_t at = SXT_SPOOL_CONTROL_OFFSET + 8; at < SXT_SPOOL_WINDOWS_OFFSET + used; at++) {
        struct sxt_spool *spool;
        uint8_t kept = made.data[at];
        if (at > SXT_SPOOL_WINDOWS_OFFSET + 1000 && at < SXT_SPOOL_WINDOWS_OFFSET + SXT_SPOOL_UNIT)
            continue;
        if (at > SXT_SPOOL_CONTROL_OFFSET + 200 && at < SXT_SPOOL_WINDOWS_OFFSET)
            continue;
        for (unsigned bit = 0; bit < 8; bit += 7) {
            made.data[at] = kept ^ (uint8_t)(1u << bit);
            if (sxt_spool_open(made.data, at % 3 == 0 ? at + 1 : SPOOL_SIZE, &spool, NULL) == SXT_OK) {
                free(story(spool));
                sxt_spool_close(&spool);
            }
        }
        made.data[at] = kept;
    }
    free(made.data);
}

TEST(other_files_are_refused)
{
    struct made made = make();
    struct sxt_spool *spool;
    assert_int_equal(sxt_spool_open(made.data, 100, &spool, NULL), SXT_ERROR_FORMAT);
    control_of(&made)->version = 9;
    assert_int_equal(sxt_spool_open(made.data, SPOOL_SIZE, &spool, NULL), SXT_ERROR_UNSUPPORTED);
    made.data[0] = 'X';
    assert_int_equal(sxt_spool_open(made.data, SPOOL_SIZE, &spool, NULL), SXT_ERROR_FORMAT);
    free(made.data);
}
