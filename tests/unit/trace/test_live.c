/*
 * test_live.c: a recording that is read while it is written, and while `record` takes events out of it, has the figures
 * of the recorder at every moment, and those of the finished trace at the end. The recorder is played here.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/test.h"
#include "trace/consumer.h"
#include "trace/live.h"

#define ROOM      ((size_t)64 << 20)
#define STREAMS   3
#define STACKS    40
#define ADDRESSES 600

struct stream {
    uint8_t *window;
    uint64_t *at;
    uint64_t tick;
    uint32_t sequence;
};

struct block {
    uint64_t size;
    uint32_t stack; /* 0: not live */
};

struct recorder {
    char folder[SXT_TEST_FOLDER_MAX], path[PATH_MAX], output[PATH_MAX];
    int fd;
    uint8_t *data;
    struct stream streams[STREAMS];
    uint64_t random, tick;
    uint32_t stack_count;
    struct block blocks[ADDRESSES];
    /* What is true. */
    uint64_t live_bytes, live_blocks, allocations, frees, peak_bytes;
    uint64_t by_stack[STACKS + 1];
};

static struct recorder recorder;

static uint64_t draw(uint64_t most)
{
    recorder.random = recorder.random * 6364136223846793005u + 1442695040888963407u;
    return (recorder.random >> 33) % most;
}

static struct sxt_spool_control *control_of(void)
{
    return (void *)(recorder.data + SXT_SPOOL_CONTROL_OFFSET);
}

static uint8_t *grow(size_t size)
{
    uint64_t tail = __atomic_fetch_add(&control_of()->tail, size, __ATOMIC_RELAXED);
    assert_true(tail + size <= ROOM);
    assert_int_equal(ftruncate(recorder.fd, (off_t)(tail + size)), 0);
    return recorder.data + tail;
}

static void begin_recording(uint64_t seed, uint64_t period)
{
    recorder = (struct recorder){.random = seed, .tick = 1000000};
    sxt_test_make_folder(recorder.folder);
    snprintf(recorder.path, sizeof recorder.path, "%s/x.mlyze.part", recorder.folder);
    snprintf(recorder.output, sizeof recorder.output, "%s/x.mlyze", recorder.folder);
    recorder.fd = open(recorder.path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(recorder.fd > 0);
    uint8_t head[SXT_SPOOL_HEAD_SIZE];
    sxt_spool_head_init(head, period, 0);
    assert_int_equal(write(recorder.fd, head, sizeof head), sizeof head);
    recorder.data = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.fd, 0);
    assert_true(recorder.data != MAP_FAILED);
    struct sxt_spool_control *control = control_of();
    control->options = 0; /* ticks are nanoseconds, and all of them have passed */
    control->state = SXT_SPOOL_RECORDING;
    control->image = 1;
    control->pid = (uint32_t)getpid();
    control->first = control->last = control->began = (struct sxt_spool_moment){recorder.tick, recorder.tick};
}

static size_t file_size(void)
{
    struct stat status;
    assert_int_equal(fstat(recorder.fd, &status), 0);
    return (size_t)status.st_size;
}

static void end_recording(void)
{
    munmap(recorder.data, ROOM);
    close(recorder.fd);
    sxt_test_remove_folder(recorder.folder);
}

static void begin_window(struct stream *stream, uint32_t number)
{
    struct sxt_spool_window header = {SXT_SPOOL_WINDOW_MAGIC, SXT_SPOOL_UNIT, control_of()->image, number,
                                      stream->sequence++,     number,         stream->tick};
    memcpy(stream->window, &header, sizeof header);
    stream->at = (void *)(stream->window + sizeof header);
}

static uint64_t *room_for(uint32_t number, size_t words)
{
    struct stream *stream = &recorder.streams[number];
    if (stream->window == NULL) {
        stream->tick = recorder.tick;
        stream->window = grow(SXT_SPOOL_UNIT);
        begin_window(stream, number);
    } else if ((size_t)((uint64_t *)(void *)(stream->window + SXT_SPOOL_UNIT) - stream->at) < words) {
        memcpy(grow(SXT_SPOOL_UNIT), stream->window, SXT_SPOOL_UNIT);
        memset(stream->window, 0, SXT_SPOOL_UNIT);
        begin_window(stream, number);
    }
    return stream->at;
}

static void write_note(uint32_t number, enum sxt_spool_note note, const void *data, uint32_t size)
{
    uint64_t *at = room_for(number, 20);
    memcpy(at + 1, data, size);
    at[0] = sxt_spool_note_word(note, 0, size);
    recorder.streams[number].at += 1 + (size + 7) / 8;
}

/* One that is used gets its note first. */
static uint32_t choose_stack(uint32_t number)
{
    uint32_t stack = 1 + (uint32_t)draw(STACKS);
    if (stack > recorder.stack_count) {
        stack = ++recorder.stack_count;
        uint64_t note[3] = {stack, 0x1000 + stack, 0x10};
        write_note(number, SXT_SPOOL_STACK, note, sizeof note);
    }
    return stack;
}

/* The truth counts what the figures of a sample are made of only without one. */
static void write_record(void)
{
    uint32_t number = (uint32_t)draw(STREAMS), place = (uint32_t)draw(ADDRESSES);
    struct block *block = &recorder.blocks[place];
    uint32_t stack = block->stack == 0 ? choose_stack(number) : 0;
    recorder.tick += 30000 + draw(100000); /* more than records wait for each other */
    uint64_t *at = room_for(number, 20);
    struct stream *stream = &recorder.streams[number];
    uint64_t ticks = recorder.tick - stream->tick;
    *at++ = (uint64_t)SXT_SPOOL_TIME | ticks << SXT_SPOOL_TICKS_SHIFT;
    stream->tick = recorder.tick;
    if (block->stack == 0) {
        *block = (struct block){1 + draw(5000), stack};
        at[1] = block->size | (uint64_t)stack << 32;
        at[0] = sxt_spool_word(SXT_SPOOL_ALLOC, 0, 0x10000 + 16 * (uint64_t)place);
        stream->at = at + 2;
        recorder.allocations++;
        recorder.live_blocks++;
        recorder.live_bytes += block->size;
        recorder.by_stack[stack] += block->size;
        if (recorder.live_bytes > recorder.peak_bytes)
            recorder.peak_bytes = recorder.live_bytes;
    } else {
        at[0] = sxt_spool_word(SXT_SPOOL_FREE, 0, 0x10000 + 16 * (uint64_t)place);
        stream->at = at + 1;
        recorder.frees++;
        recorder.live_blocks--;
        recorder.live_bytes -= block->size;
        recorder.by_stack[block->stack] -= block->size;
        block->stack = 0;
    }
}

static struct sxt_live_process *open_process(void)
{
    struct sxt_live_process *process;
    sxt_error error = {.text = ""};
    if (sxt_live_process_open(recorder.path, &process, &error) != SXT_OK)
        fail_msg("%s", error.text);
    return process;
}

static void update(struct sxt_live_process *process)
{
    sxt_error error = {.text = ""};
    if (sxt_live_process_update(process, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

/* The first frame of a stack says which it is. */
static uint32_t stack_of(const struct sxt_live_process *process, size_t number)
{
    uint64_t frame;
    const struct sxt_spool_stack *stack = &process->facts->stacks[number];
    assert_true(stack->count == 2);
    memcpy(&frame, stack->frames, sizeof frame);
    return (uint32_t)(frame - 0x1000);
}

static void check_truth(const struct sxt_live_process *process)
{
    assert_int_equal(process->now.sums.live_bytes, recorder.live_bytes);
    assert_int_equal(sxt_live_count_of(process->now.sums.live_parts), recorder.live_blocks);
    assert_int_equal(sxt_live_count_of(process->now.sums.allocated_parts), recorder.allocations);
    assert_int_equal(process->now.frees, recorder.frees);
    assert_int_equal(process->now.peak_bytes, recorder.peak_bytes);
    uint64_t threads = 0;
    for (size_t i = 0; i < STREAMS; i++)
        threads += process->threads[i].live_bytes;
    assert_int_equal(threads, recorder.live_bytes);
    for (size_t i = 0; i < process->facts->stack_count; i++)
        assert_int_equal(process->stacks[i].live_bytes, recorder.by_stack[stack_of(process, i)]);
}

static struct sxt_consumer *open_consumer(const atomic_bool *gives_way)
{
    sxt_trace_write_options options;
    sxt_trace_write_options_init(&options);
    options.compress = true;
    return sxt_consumer_open(recorder.path, recorder.output, &options, ROOM, gives_way);
}

/* What `record` does at the end. */
static void finish(struct sxt_consumer *consumer)
{
    sxt_trace_write_options options;
    sxt_recorded recorded = {.struct_size = sizeof recorded};
    sxt_error error = {.text = ""};
    sxt_trace_write_options_init(&options);
    options.compress = true;
    int status = consumer != NULL ? sxt_consumer_finish(consumer, &options, &recorded, &error) : SXT_ERROR_NOT_FOUND;
    if (status == SXT_ERROR_NOT_FOUND)
        status = sxt_recording_finish_path(recorder.path, recorder.output, &options, &recorded, &error);
    if (status != SXT_OK)
        fail_msg("%s", error.text);
}

/* The figures are those of the trace, also by stack. */
static void check_trace(const struct sxt_live_process *process, const char *path)
{
    sxt_trace *trace;
    sxt_heap_usage *usage;
    sxt_heap_options options;
    sxt_heap_summary summary = {.struct_size = sizeof summary};
    sxt_error error = {.text = ""};
    sxt_heap_options_init(&options);
    assert_int_equal(sxt_trace_open_path(path, NULL, &trace, &error), SXT_OK);
    assert_int_equal(sxt_trace_analyse(trace, &options, &usage, &error), SXT_OK);
    sxt_heap_get_summary(usage, &summary);
    const sxt_heap_sums *total = sxt_heap_total(usage);
    assert_int_equal(process->now.sums.live_bytes, total->leaked_bytes);
    assert_int_equal(process->now.events, summary.events);
    assert_int_equal(process->now.frees, summary.frees);
    assert_int_equal(process->now.sums.allocated_bytes, total->bytes);
    assert_int_equal(process->now.peak_bytes, total->peak_bytes);
    if (!summary.is_sampled)
        assert_int_equal(sxt_live_count_of(process->now.sums.live_parts), total->leaked_count);
    for (uint32_t i = 0; i < process->stack_count; i++) {
        const sxt_heap_site *site = sxt_heap_find_site(usage, i);
        uint64_t leaked = site != NULL ? site->sums.leaked_bytes : 0;
        if (sxt_trace_same_stack(trace, i) == i)
            assert_int_equal(process->stacks[i].live_bytes, leaked);
    }
    sxt_heap_usage_free(&usage);
    sxt_trace_close(&trace);
}

/* Writes, updates and consumes at random. */
static void run(uint64_t seed, uint64_t period, size_t records, unsigned updates, unsigned takes)
{
    atomic_bool gives_way = false;
    sxt_error error = {.text = ""};
    bool is_done;
    begin_recording(seed, period);
    struct sxt_live_process *process = open_process();
    struct sxt_consumer *consumer = takes > 0 ? open_consumer(&gives_way) : NULL;
    for (size_t i = 0; i < records; i++) {
        write_record();
        if (takes > 0 && draw(takes) == 0 && sxt_consumer_take(consumer, 0, &is_done, &error) != SXT_OK)
            fail_msg("%s", error.text);
        if (draw(updates) == 0) {
            update(process);
            if (period == 0)
                check_truth(process);
        }
    }
    control_of()->state = SXT_SPOOL_ASKED;
    update(process);
    assert_true(process->has_ended);
    if (period == 0)
        check_truth(process);
    finish(consumer);
    check_trace(process, recorder.output);
    sxt_consumer_close(&consumer);
    sxt_live_process_close(&process);
    end_recording();
}

TEST(the_figures_of_a_short_recording)
{
    run(1, 0, 3000, 50, 0);
    run(2, 0, 20000, 3000, 0);
}

TEST(the_figures_while_events_are_taken_out)
{
    for (uint64_t seed = 0; seed < 6; seed++)
        run(seed, 0, 20000, 20 + (unsigned)(seed * 211), 100 + (unsigned)(seed % 5 * 997));
}

TEST(the_figures_of_a_sample)
{
    run(5, 4096, 20000, 700, 900);
    run(6, 100, 5000, 100, 0);
}

/* A reader that is opened late reads what was taken out, and one that sleeps misses many checkpoints. */
TEST(a_reader_that_is_late)
{
    atomic_bool gives_way = false;
    bool is_done;
    begin_recording(7, 0);
    struct sxt_consumer *consumer = open_consumer(&gives_way);
    for (size_t i = 0; i < 50000; i++) {
        write_record();
        if (i % 1000 == 0)
            assert_int_equal(sxt_consumer_take(consumer, 0, &is_done, NULL), SXT_OK);
    }
    struct sxt_live_process *process = open_process();
    update(process);
    check_truth(process);
    for (size_t i = 0; i < 50000; i++) {
        write_record();
        if (i % 1000 == 0)
            assert_int_equal(sxt_consumer_take(consumer, 0, &is_done, NULL), SXT_OK);
    }
    update(process);
    check_truth(process);
    /* The trace is finished before the reader has seen the end. */
    control_of()->state = SXT_SPOOL_ASKED;
    finish(consumer);
    update(process);
    assert_true(process->has_ended);
    check_truth(process);
    check_trace(process, recorder.output);
    sxt_consumer_close(&consumer);
    sxt_live_process_close(&process);
    end_recording();
}

TEST(a_process_that_executes_another_program)
{
    begin_recording(8, 0);
    struct sxt_live_process *process = open_process();
    for (size_t i = 0; i < 2000; i++)
        write_record();
    update(process);
    check_truth(process);
    control_of()->image = 2;
    update(process);
    assert_int_equal(process->now.sums.live_bytes, 0);
    assert_int_equal(process->now.events, 0);
    struct recorder before = recorder;
    memset(recorder.streams, 0, sizeof recorder.streams);
    memset(recorder.blocks, 0, sizeof recorder.blocks);
    memset(recorder.by_stack, 0, sizeof recorder.by_stack);
    recorder.live_bytes = recorder.live_blocks = recorder.allocations = recorder.frees = recorder.peak_bytes = 0;
    recorder.stack_count = 0;
    recorder.tick = before.tick;
    for (size_t i = 0; i < 2000; i++)
        write_record();
    update(process);
    check_truth(process);
    sxt_live_process_close(&process);
    end_recording();
}

/* A spool that is cut off anywhere has the figures of the trace that can be made of it, or is refused like it. */
static void cut_off(bool is_consumed)
{
    atomic_bool gives_way = false;
    bool is_done;
    begin_recording(9, 0);
    struct sxt_consumer *consumer = open_consumer(&gives_way);
    for (size_t i = 0; i < 6000; i++) {
        write_record();
        if (is_consumed && i % 2000 == 1999)
            assert_int_equal(sxt_consumer_take(consumer, 0, &is_done, NULL), SXT_OK);
    }
    control_of()->state = SXT_SPOOL_ASKED;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/cut.part", recorder.folder);
    size_t size = file_size(), opened = 0, refused = 0;
    for (size_t cut = 0; cut <= size; cut += 1 + draw(9000)) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, recorder.data, cut), cut);
        close(fd);
        struct sxt_live_process *process = NULL;
        sxt_trace *trace = NULL;
        bool is_trace = sxt_trace_open_path(path, NULL, &trace, NULL) == SXT_OK;
        int status = sxt_live_process_open(path, &process, NULL);
        if (status == SXT_OK)
            status = sxt_live_process_update(process, NULL);
        assert_int_equal(status == SXT_OK && process->has_ended, is_trace);
        if (is_trace)
            check_trace(process, path);
        opened += status == SXT_OK;
        refused += status != SXT_OK;
        sxt_trace_close(&trace);
        sxt_live_process_close(&process);
    }
    assert_true(refused > 0 && (is_consumed ? refused : opened) > 10);
    sxt_consumer_close(&consumer);
    end_recording();
}

TEST(a_spool_that_is_cut_off)
{
    cut_off(false);
    cut_off(true);
}

/* Bytes that change do not make it read outside of the file. */
TEST(a_spool_that_is_damaged)
{
    atomic_bool gives_way = false;
    bool is_done;
    begin_recording(10, 0);
    struct sxt_consumer *consumer = open_consumer(&gives_way);
    for (size_t i = 0; i < 4000; i++) {
        write_record();
        if (i == 2500)
            assert_int_equal(sxt_consumer_take(consumer, 0, &is_done, NULL), SXT_OK);
    }
    control_of()->state = SXT_SPOOL_ASKED;
    size_t size = file_size();
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/bad.part", recorder.folder);
    for (unsigned i = 0; i < 100; i++) {
        memcpy(copy, recorder.data, size);
        for (unsigned k = 0; k < 1 + i % 5; k++)
            copy[SXT_SPOOL_CONTROL_OFFSET + 64 + draw(size - SXT_SPOOL_CONTROL_OFFSET - 64)] = (uint8_t)draw(256);
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, copy, size), size);
        close(fd);
        struct sxt_live_process *process = NULL;
        if (sxt_live_process_open(path, &process, NULL) == SXT_OK)
            (void)sxt_live_process_update(process, NULL);
        sxt_live_process_close(&process);
    }
    free(copy);
    sxt_consumer_close(&consumer);
    end_recording();
}

/* --- for others --- */

TEST(the_functions_for_others)
{
    sxt_watch *watch;
    sxt_error error = {.text = ""};
    sxt_watch_figures figures = {.struct_size = sizeof figures};
    sxt_watch_site sites[STACKS];
    sxt_watch_thread threads[STREAMS + 1];
    sxt_watch_point points[2000];
    begin_recording(11, 0);
    for (size_t i = 0; i < 5000; i++)
        write_record();
    write_note(0, SXT_SPOOL_MARKER, "loaded", 6);
    /* By the name of the trace, which does not exist yet; and by the folder. */
    assert_int_equal(sxt_watch_open(recorder.folder, &watch, &error), SXT_OK);
    sxt_watch_close(&watch);
    if (sxt_watch_open(recorder.output, &watch, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_string_equal(sxt_watch_trace_path(watch), recorder.output);
    assert_int_equal(sxt_watch_update(watch, &error), SXT_OK);
    sxt_watch_get_figures(watch, &figures);
    assert_int_equal(figures.live_bytes, recorder.live_bytes);
    assert_int_equal(figures.live_blocks, recorder.live_blocks);
    assert_int_equal(figures.pid, getpid());
    assert_false(figures.has_ended);
    assert_true(sxt_watch_is_running(watch));
    uint64_t time, sum = 0;
    sxt_string marker = sxt_watch_last_marker(watch, &time);
    assert_int_equal(marker.size, 6);
    assert_memory_equal(marker.data, "loaded", 6);
    size_t count = sxt_watch_list_sites(watch, SXT_WATCH_BY_LIVE_BYTES, sites, STACKS);
    assert_int_equal(count, figures.site_count);
    for (size_t i = 0; i < count; i++) {
        sum += sites[i].live_bytes;
        assert_true(i == 0 || sites[i].live_bytes <= sites[i - 1].live_bytes);
    }
    assert_int_equal(sum, figures.live_bytes);
    sxt_watch_site first[3];
    assert_int_equal(sxt_watch_list_sites(watch, SXT_WATCH_BY_LIVE_BYTES, first, 3), 3);
    assert_memory_equal(first, sites, sizeof first);
    assert_int_equal(sxt_watch_list_sites(watch, SXT_WATCH_BY_LIVE_BYTES, first, 0), 0);
    assert_int_equal(sxt_watch_get_site(watch, 0, sites[0].stack).live_bytes, sites[0].live_bytes);
    assert_int_equal(sxt_watch_get_site(watch, 9, 9).live_bytes, 0);
    assert_int_equal(sxt_watch_list_threads(watch, SXT_WATCH_BY_LIVE_BYTES, threads, STREAMS + 1), STREAMS);
    assert_int_equal(threads[0].live_bytes + threads[1].live_bytes + threads[2].live_bytes, figures.live_bytes);
    /* Names come from another thread; a stack is asked for once. */
    assert_int_equal(sxt_watch_name_sites(watch, sites, count, 60000), count);
    assert_int_equal(sxt_watch_name_sites(watch, sites, count, 0), count);
    uint32_t stack;
    const sxt_trace *names = sxt_watch_find_names(watch, &sites[0], &stack);
    sxt_trace_frame frame;
    assert_true(names != NULL && sxt_trace_get_frame(names, stack, 0, &frame));
    assert_true(frame.function.size > 0);
    assert_int_equal(sxt_watch_merge_sites(watch, SXT_WATCH_BY_LIVE_BYTES, sites, count), count);
    /* A second of the same look is the same site. */
    sxt_watch_site twice[2] = {sites[0], sites[0]};
    assert_int_equal(sxt_watch_merge_sites(watch, SXT_WATCH_BY_LIVE_BYTES, twice, 2), 1);
    assert_int_equal(twice[0].live_bytes, 2 * sites[0].live_bytes);
    size_t point_count = sxt_watch_get_course(watch, points, 2000);
    assert_true(point_count > 100 && point_count <= 1024);
    uint64_t most = 0;
    for (size_t i = 0; i < point_count; i++) {
        assert_true(i == 0 || points[i].time_us >= points[i - 1].time_us);
        most = points[i].live_bytes > most ? points[i].live_bytes : most;
    }
    assert_int_equal(most, recorder.peak_bytes);
    control_of()->state = SXT_SPOOL_ASKED;
    assert_false(sxt_watch_is_running(watch));
    assert_int_equal(sxt_watch_update(watch, &error), SXT_OK);
    sxt_watch_get_figures(watch, &figures);
    assert_true(figures.has_ended);
    assert_int_equal(figures.live_bytes, recorder.live_bytes);
    sxt_watch_close(&watch);
    assert_null(watch);
    finish(NULL);
    unlink(recorder.path);
    assert_int_equal(sxt_watch_open(recorder.output, &watch, &error), SXT_ERROR_UNSUPPORTED);
    assert_int_equal(sxt_watch_open(recorder.folder, &watch, &error), SXT_ERROR_NOT_FOUND);
    assert_int_equal(sxt_watch_open("/no/such/file", &watch, &error), SXT_ERROR_IO);
    end_recording();
}

/* Closing waits for names that are being looked up, and drops those that are not. */
TEST(closing_while_names_are_looked_up)
{
    begin_recording(12, 0);
    for (size_t i = 0; i < 1000; i++)
        write_record();
    for (unsigned i = 0; i < 20; i++) {
        sxt_watch *watch;
        sxt_watch_site sites[STACKS];
        assert_int_equal(sxt_watch_open(recorder.path, &watch, NULL), SXT_OK);
        assert_int_equal(sxt_watch_update(watch, NULL), SXT_OK);
        size_t count = sxt_watch_list_sites(watch, SXT_WATCH_BY_ALLOCATIONS, sites, STACKS);
        for (size_t k = 0; k < count; k++)
            (void)sxt_watch_name_sites(watch, &sites[k], 1, 0);
        sxt_watch_close(&watch);
    }
    end_recording();
}
