/*
 * test_spool_follow.c: a spool that is read while it is written gives the same events as one that is read at the end.
 * The recorder is played here: windows fill up, are copied to the end of the file, and are used again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "mlyze/spool.h"
#include "support/test.h"

#define ROOM       ((size_t)64 << 20)
#define STREAMS    5
#define RECORDS    60000
#define LIVE_MOST  500
#define START_US   1700000000000000u
#define START_TICK 1000000u

struct stream {
    uint8_t *window;
    uint64_t *at;
    uint64_t tick; /* of the record before */
    uint32_t sequence;
};

struct recorder {
    int fd;
    uint8_t *data; /* the file, mapped */
    size_t size;
    struct stream streams[STREAMS];
    uint64_t random, tick;
    uint64_t live[LIVE_MOST];
    size_t live_count;
    uint32_t stack_count;
};

struct event {
    sxt_trace_event event;
    uint64_t frame; /* the first one of its stack */
};

struct events {
    struct event list[RECORDS + 16];
    size_t count;
};

static uint64_t draw(struct recorder *recorder, uint64_t most)
{
    recorder->random = recorder->random * 6364136223846793005u + 1442695040888963407u;
    return (recorder->random >> 33) % most;
}

static struct sxt_spool_control *control_of(const struct recorder *recorder)
{
    return (void *)(recorder->data + SXT_SPOOL_CONTROL_OFFSET);
}

/* Others may have added something too. */
static uint8_t *grow(struct recorder *recorder, size_t size)
{
    uint64_t tail = recorder->size == 0 ? 0 : control_of(recorder)->tail;
    uint8_t *added = recorder->data + tail;
    recorder->size = tail + size;
    assert_true(recorder->size <= ROOM);
    assert_int_equal(ftruncate(recorder->fd, (off_t)recorder->size), 0);
    control_of(recorder)->tail = recorder->size;
    return added;
}

static void begin_window(struct stream *stream, uint32_t number)
{
    struct sxt_spool_window header = {SXT_SPOOL_WINDOW_MAGIC, SXT_SPOOL_UNIT, 1,           number,
                                      stream->sequence++,     number,         stream->tick};
    memcpy(stream->window, &header, sizeof header);
    stream->at = (void *)(stream->window + sizeof header);
}

static void make(struct recorder *recorder)
{
    char name[] = "/tmp/sextant-spool.XXXXXX";
    *recorder = (struct recorder){.fd = mkstemp(name), .random = 3, .tick = START_TICK};
    assert_true(recorder->fd > 0 && unlink(name) == 0);
    recorder->data = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, recorder->fd, 0);
    assert_true(recorder->data != MAP_FAILED);
    grow(recorder, SXT_SPOOL_WINDOWS_OFFSET);
    memcpy(recorder->data, "MTRC\1", 5);
    struct sxt_spool_control control = {
        .magic = SXT_SPOOL_CONTROL_MAGIC,
        .version = SXT_SPOOL_VERSION,
        .image = 1,
        .state = SXT_SPOOL_RECORDING,
        .start_us = START_US,
        .first = {START_TICK, START_TICK},
        .last = {START_TICK + 1000000, START_TICK + 1000000},
        .tail = recorder->size,
    };
    memcpy(recorder->data + SXT_SPOOL_CONTROL_OFFSET, &control, sizeof control);
}

static void drop(struct recorder *recorder)
{
    munmap(recorder->data, ROOM);
    close(recorder->fd);
}

/* Room for WORDS words in the window of a stream. */
static uint64_t *room_for(struct recorder *recorder, uint32_t number, size_t words)
{
    struct stream *stream = &recorder->streams[number];
    if (stream->window == NULL) {
        stream->tick = recorder->tick;
        stream->window = grow(recorder, SXT_SPOOL_UNIT);
        begin_window(stream, number);
    } else if ((size_t)((uint64_t *)(void *)(stream->window + SXT_SPOOL_UNIT) - stream->at) < words) {
        memcpy(grow(recorder, SXT_SPOOL_UNIT), stream->window, SXT_SPOOL_UNIT);
        memset(stream->window, 0, SXT_SPOOL_UNIT);
        begin_window(stream, number);
    }
    return stream->at;
}

/* Time passes, and a record of some stream begins. */
static uint64_t ticks_of(struct recorder *recorder, uint32_t number)
{
    recorder->tick += 1 + draw(recorder, 1000);
    struct stream *stream = &recorder->streams[number];
    if (stream->window == NULL)
        return 0;
    uint64_t ticks = recorder->tick - stream->tick;
    if (ticks <= SXT_SPOOL_TICKS_MOST)
        return ticks;
    uint64_t *at = room_for(recorder, number, 10);
    *at = (uint64_t)SXT_SPOOL_TIME | ticks << SXT_SPOOL_TICKS_SHIFT;
    stream->at++;
    return 0;
}

static void write_record(struct recorder *recorder)
{
    uint32_t number = (uint32_t)draw(recorder, STREAMS);
    uint64_t ticks = ticks_of(recorder, number);
    struct stream *stream = &recorder->streams[number];
    bool is_new = recorder->live_count == 0 || (recorder->live_count < LIVE_MOST && draw(recorder, 2) == 0);
    if (is_new && draw(recorder, 100) == 0) {
        uint64_t *at = room_for(recorder, number, 10);
        uint64_t frames[2] = {0x1000 + recorder->stack_count, 0x10};
        at[1] = ++recorder->stack_count;
        memcpy(at + 2, frames, sizeof frames);
        at[0] = sxt_spool_note_word(SXT_SPOOL_STACK, 0, 24);
        stream->at += 4;
    }
    uint64_t *at = room_for(recorder, number, 10);
    stream->tick = recorder->tick;
    if (is_new) {
        uint64_t address = 0x10000 + 16 * (recorder->tick % 100000000);
        recorder->live[recorder->live_count++] = address;
        at[1] = (1 + draw(recorder, 1000)) | (draw(recorder, recorder->stack_count + 2)) << 32;
        at[0] = sxt_spool_word(SXT_SPOOL_ALLOC, ticks, address);
        stream->at += 2;
    } else {
        size_t which = draw(recorder, recorder->live_count);
        at[0] = sxt_spool_word(SXT_SPOOL_FREE, ticks, recorder->live[which]);
        stream->at++;
        recorder->live[which] = recorder->live[--recorder->live_count];
    }
}

static void read_events(struct sxt_spool *spool, struct events *events)
{
    size_t count;
    do {
        sxt_trace_event some[64];
        assert_int_equal(sxt_spool_read(spool, some, 64, &count, NULL), SXT_OK);
        for (size_t i = 0; i < count; i++)
            events->list[events->count++] = (struct event){.event = some[i]};
    } while (count > 0);
}

static void find_frames(const struct sxt_spool *spool, struct events *events)
{
    const struct sxt_spool_facts *facts = sxt_spool_facts(spool);
    for (size_t i = 0; i < events->count; i++) {
        if (events->list[i].event.kind != SXT_TRACE_ALLOC)
            continue;
        const struct sxt_spool_stack *stack = &facts->stacks[events->list[i].event.stack];
        events->list[i].frame = stack->count > 0 ? sxt_load_u64le(stack->frames) : 0;
        events->list[i].event.stack = 0; /* numbers differ */
    }
}

static void catch_up(struct sxt_spool *spool, const struct recorder *recorder, bool is_ended)
{
    bool is_done;
    sxt_error error = {.text = ""};
    if (sxt_spool_catch_up(spool, recorder->data, recorder->fd, is_ended, &is_done, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_true(is_done);
}

/* Reads after every EVERY records. */
static void follow(size_t every, bool is_last_half_copied)
{
    struct recorder recorder;
    struct sxt_spool *spool, *whole;
    struct events *found = calloc(1, sizeof *found), *wanted = calloc(1, sizeof *wanted);
    assert_true(found != NULL && wanted != NULL);
    make(&recorder);
    assert_int_equal(sxt_spool_follow(recorder.data, recorder.size, &spool, NULL), SXT_OK);
    for (size_t i = 1; i <= RECORDS; i++) {
        write_record(&recorder);
        if (i % every == 0) {
            catch_up(spool, &recorder, false);
            read_events(spool, found);
        }
    }
    if (is_last_half_copied)
        memcpy(grow(&recorder, SXT_SPOOL_UNIT), recorder.streams[0].window, SXT_SPOOL_UNIT / 2);
    catch_up(spool, &recorder, true);
    read_events(spool, found);
    find_frames(spool, found);
    assert_int_equal(sxt_spool_open(recorder.data, recorder.size, &whole, NULL), SXT_OK);
    read_events(whole, wanted);
    find_frames(whole, wanted);
    assert_true(wanted->count > RECORDS / 2);
    assert_int_equal(found->count, wanted->count);
    for (size_t i = 0; i < wanted->count; i++)
        assert_memory_equal(&found->list[i], &wanted->list[i], sizeof found->list[i]);
    assert_int_equal(sxt_spool_unmatched(spool), sxt_spool_unmatched(whole));
    assert_int_equal(sxt_spool_facts(spool)->stack_count, sxt_spool_facts(whole)->stack_count);
    sxt_spool_close(&spool);
    sxt_spool_close(&whole);
    drop(&recorder);
    free(found);
    free(wanted);
}

TEST(the_events_are_those_of_a_spool_that_is_read_at_the_end)
{
    follow(7001, false);
    follow(613, false);
}

TEST(a_window_that_was_being_copied_at_the_end)
{
    follow(9973, true);
}

/* --- consuming --- */

static int punch(int fd, int mode, int64_t offset, int64_t size)
{
    return fallocate(fd, mode, offset, size);
}

static int fail_to_punch(int fd, int mode, int64_t offset, int64_t size)
{
    (void)fd, (void)mode, (void)offset, (void)size;
    errno = EOPNOTSUPP;
    return -1;
}

/* The spool as it is after everything was written and nothing consumed. */
static void read_whole(struct events *wanted)
{
    struct recorder recorder;
    struct sxt_spool *whole;
    make(&recorder);
    for (size_t i = 0; i < RECORDS; i++)
        write_record(&recorder);
    assert_int_equal(sxt_spool_open(recorder.data, recorder.size, &whole, NULL), SXT_OK);
    read_events(whole, wanted);
    find_frames(whole, wanted);
    sxt_spool_close(&whole);
    drop(&recorder);
}

static size_t size_of(const struct recorder *recorder)
{
    struct stat file;
    assert_int_equal(fstat(recorder->fd, &file), 0);
    return (size_t)file.st_size;
}

static size_t save(struct sxt_spool *spool, const struct recorder *recorder, const struct events *found,
                   sxt_spool_punch *how)
{
    bool is_punched;
    const struct sxt_spool_consumed consumed = {
        .name = {"x.events", 8}, .size = SXT_MLYZE_HEADER_SIZE, .event_count = found->count};
    assert_int_equal(sxt_spool_save_checkpoint(spool, recorder->data, recorder->fd, &consumed, NULL), SXT_OK);
    assert_int_equal(sxt_spool_release(spool, recorder->data, recorder->data, recorder->fd, how, &is_punched, NULL),
                     SXT_OK);
    assert_true(is_punched || how != punch);
    return found->count;
}

/* The first SAVED events of FOUND and what is left in the spool are the first events of WANTED. */
static void check_rest(const struct recorder *recorder, const struct events *found, size_t saved,
                       const struct events *wanted, bool is_end)
{
    struct sxt_spool *spool;
    sxt_error error = {.text = ""};
    struct events *all = calloc(1, sizeof *all);
    assert_true(all != NULL);
    if (sxt_spool_open(recorder->data, size_of(recorder), &spool, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_non_null(sxt_spool_get_consumed(spool));
    assert_int_equal(sxt_spool_get_consumed(spool)->event_count, saved);
    for (size_t i = 0; i < saved; i++) {
        struct sxt_spool_live live;
        all->list[i] = found->list[i];
        assert_int_equal(sxt_spool_replay(spool, &found->list[i].event, &live, 1, NULL), SXT_OK);
    }
    all->count = saved;
    read_events(spool, all);
    find_frames(spool, all);
    assert_true(all->count <= wanted->count && all->count >= saved);
    for (size_t i = 0; i < all->count; i++)
        if (!is_end && all->list[i].frame == 0)
            assert_memory_equal(&all->list[i].event, &wanted->list[i].event, sizeof all->list[i].event);
        else /* before the end, the frames of a stack may come later */
            assert_memory_equal(&all->list[i], &wanted->list[i], sizeof all->list[i]);
    assert_true(!is_end || all->count == wanted->count);
    sxt_spool_close(&spool);
    free(all);
}

/* Takes events out after every EVERY records; from time to time, and at the end, nobody goes on with that. */
static void consume(size_t every, sxt_spool_punch *how)
{
    struct recorder recorder;
    struct sxt_spool *spool;
    struct events *found = calloc(1, sizeof *found), *wanted = calloc(1, sizeof *wanted);
    size_t saved = 0, checks = 0;
    struct stat file;
    assert_true(found != NULL && wanted != NULL);
    read_whole(wanted);
    make(&recorder);
    assert_int_equal(sxt_spool_follow(recorder.data, recorder.size, &spool, NULL), SXT_OK);
    sxt_spool_consume(spool);
    for (size_t i = 1; i <= RECORDS; i++) {
        write_record(&recorder);
        if (i % every == 0) {
            catch_up(spool, &recorder, false);
            read_events(spool, found);
            saved = save(spool, &recorder, found, how);
        }
        if (saved > 0 && i % 9001 == 0) {
            check_rest(&recorder, found, saved, wanted, false);
            checks++;
        }
    }
    assert_true(checks > 3 && saved > RECORDS / 2);
    check_rest(&recorder, found, saved, wanted, true);
    assert_int_equal(fstat(recorder.fd, &file), 0);
    if (how == punch)
        assert_true((uint64_t)file.st_blocks * 512 < control_of(&recorder)->tail / 2);
    assert_true(sxt_spool_left(spool, control_of(&recorder)->tail) < control_of(&recorder)->tail / 2);
    catch_up(spool, &recorder, true);
    read_events(spool, found);
    find_frames(spool, found);
    assert_int_equal(found->count, wanted->count);
    for (size_t i = 0; i < wanted->count; i++)
        assert_memory_equal(&found->list[i], &wanted->list[i], sizeof found->list[i]);
    sxt_spool_close(&spool);
    drop(&recorder);
    free(found);
    free(wanted);
}

TEST(what_is_left_goes_on_from_a_checkpoint)
{
    consume(5003, punch);
    consume(701, punch);
}

TEST(the_file_system_cannot_take_room_back)
{
    consume(5003, fail_to_punch);
}

/* 9000 records that were taken out, and a checkpoint after them. Returns the events, which the caller frees. */
static struct events *record_and_save(struct recorder *recorder, sxt_spool_punch *how)
{
    struct sxt_spool *spool;
    struct events *found = calloc(1, sizeof *found);
    assert_non_null(found);
    make(recorder);
    assert_int_equal(sxt_spool_follow(recorder->data, recorder->size, &spool, NULL), SXT_OK);
    sxt_spool_consume(spool);
    for (size_t i = 1; i <= 9000; i++)
        write_record(recorder);
    catch_up(spool, recorder, false);
    read_events(spool, found);
    save(spool, recorder, found, how);
    sxt_spool_close(&spool);
    return found;
}

/* Whatever is wrong with what was saved, there is an error, or events. */
TEST(a_damaged_checkpoint)
{
    struct recorder recorder;
    struct sxt_spool *spool;
    struct events *found = record_and_save(&recorder, fail_to_punch);
    size_t size = size_of(&recorder), at = control_of(&recorder)->checkpoint, refused = 0;
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, recorder.data, size);
    for (size_t i = at; i < size; i++) {
        copy[i] ^= (uint8_t)(1u << i % 8);
        if (sxt_spool_open(copy, size, &spool, NULL) != SXT_OK)
            refused++;
        sxt_spool_close(&spool);
        copy[i] = recorder.data[i];
        i += i > at + 256 ? 97 : 0;
    }
    assert_true(refused > 50);
    struct sxt_spool_control *control = (void *)(copy + SXT_SPOOL_CONTROL_OFFSET);
    for (uint64_t offset = 1; offset < 2 * size; offset += 4096 + offset / 7) {
        control->checkpoint = offset == at ? offset + 1 : offset;
        assert_int_equal(sxt_spool_open(copy, size, &spool, NULL), SXT_ERROR_FORMAT);
        assert_null(spool);
    }
    control->checkpoint = at;
    for (size_t cut = at; cut < at + 600; cut++) {
        (void)sxt_spool_open(copy, cut, &spool, NULL);
        sxt_spool_close(&spool);
    }
    free(copy);
    drop(&recorder);
    free(found);
}

/* Another program of the process: what was consumed before does not count. */
TEST(a_checkpoint_of_an_earlier_program)
{
    struct recorder recorder;
    struct sxt_spool *spool;
    struct events *found = record_and_save(&recorder, punch);
    control_of(&recorder)->image++;
    assert_int_equal(sxt_spool_open(recorder.data, size_of(&recorder), &spool, NULL), SXT_OK);
    assert_null(sxt_spool_get_consumed(spool));
    found->count = 0;
    read_events(spool, found);
    assert_int_equal(found->count, 0);
    sxt_spool_close(&spool);
    drop(&recorder);
    free(found);
}

TEST(another_program_cannot_be_followed)
{
    struct recorder recorder;
    struct sxt_spool *spool;
    bool is_done;
    make(&recorder);
    assert_int_equal(sxt_spool_follow(recorder.data, recorder.size, &spool, NULL), SXT_OK);
    ((struct sxt_spool_control *)(void *)(recorder.data + SXT_SPOOL_CONTROL_OFFSET))->image++;
    assert_int_equal(sxt_spool_catch_up(spool, recorder.data, recorder.fd, false, &is_done, NULL),
                     SXT_ERROR_UNSUPPORTED);
    sxt_spool_close(&spool);
    drop(&recorder);
}

/* Not complete: the first window of the stream is missing. */
TEST(a_gap_is_waited_for)
{
    struct recorder recorder;
    struct sxt_spool *spool;
    bool is_done;
    make(&recorder);
    assert_int_equal(sxt_spool_follow(recorder.data, recorder.size, &spool, NULL), SXT_OK);
    for (size_t i = 0; i < 20000; i++)
        write_record(&recorder);
    memset(recorder.data + SXT_SPOOL_WINDOWS_OFFSET + STREAMS * SXT_SPOOL_UNIT, 0, 4);
    assert_int_equal(sxt_spool_catch_up(spool, recorder.data, recorder.fd, false, &is_done, NULL), SXT_OK);
    assert_false(is_done);
    sxt_spool_close(&spool);
    drop(&recorder);
}
