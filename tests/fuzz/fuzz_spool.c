/*
 * fuzz_spool.c: any bytes as what a recorder left behind. The first byte says how: as the file itself, as the contents
 * of windows of two threads, whose headers a fuzzer would not find, or as windows and a checkpoint, whose checksum it
 * would not find. Batches of any size must give the same events, in order of time, and everything that they refer to
 * must be there.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "mlyze/spool.h"
#include "property.h"

#define WINDOWS    4
#define BATCH      32
#define SPOOL_SIZE (SXT_SPOOL_WINDOWS_OFFSET + WINDOWS * SXT_SPOOL_UNIT)
#define CHUNK_MOST 65536
#define FRAME_HEAD 12 /* bytes of a zstd frame before what it has */

/* The bytes go to the windows in turn, in equal parts. */
static void fill_windows(uint8_t *spool, const uint8_t *data, size_t size)
{
    struct sxt_spool_control control = {
        .magic = SXT_SPOOL_CONTROL_MAGIC,
        .version = SXT_SPOOL_VERSION,
        .state = SXT_SPOOL_RECORDING,
        .image = 1,
        .start_us = 1700000000000000u,
        .first = {1000, 1000},
        .last = {1000000, 1000000},
    };
    memcpy(spool, "MTRC\1", 5);
    memcpy(spool + SXT_SPOOL_CONTROL_OFFSET, &control, sizeof control);
    for (uint32_t i = 0; i < WINDOWS; i++) {
        struct sxt_spool_window window = {SXT_SPOOL_WINDOW_MAGIC, SXT_SPOOL_UNIT, 1, i % 2, i / 2, i % 2, 1000};
        uint8_t *start = spool + SXT_SPOOL_WINDOWS_OFFSET + i * (size_t)SXT_SPOOL_UNIT;
        size_t part = size / WINDOWS & ~(size_t)7, most = SXT_SPOOL_UNIT - sizeof window;
        memcpy(start, &window, sizeof window);
        memcpy(start + sizeof window, data + i * part, part < most ? part : most);
    }
}

/* Adds the bytes as a chunk that is stored without compression. Returns its offset. */
static uint64_t add_chunk(uint8_t *spool, size_t *size, enum sxt_spool_chunk_kind kind, uint64_t previous,
                          const uint8_t *data, size_t data_size)
{
    data_size = data_size < CHUNK_MOST ? data_size : CHUNK_MOST;
    struct sxt_spool_chunk chunk = {.magic = SXT_SPOOL_CHUNK_MAGIC,
                                    .kind = (uint32_t)kind,
                                    .image = 1,
                                    .size = data_size,
                                    .stored_size = FRAME_HEAD + data_size,
                                    .previous = previous};
    uint64_t offset = *size;
    uint8_t *frame = spool + offset + sizeof chunk;
    memcpy(frame, (const uint8_t[]){0x28, 0xb5, 0x2f, 0xfd, 0xa0}, 5);
    sxt_store_u32le(frame + 5, (uint32_t)data_size);
    sxt_store_u32le(frame + 9, (uint32_t)data_size << 3 | 1); /* 3 bytes: the last block, uncompressed */
    memcpy(frame + FRAME_HEAD, data, data_size);
    chunk.crc = sxt_crc32c(sxt_crc32c(0, &chunk, sizeof chunk), frame, chunk.stored_size);
    memcpy(spool + offset, &chunk, sizeof chunk);
    *size += (sizeof chunk + chunk.stored_size + SXT_SPOOL_UNIT - 1) / SXT_SPOOL_UNIT * SXT_SPOOL_UNIT;
    return offset;
}

static void check_event(const struct sxt_spool_facts *facts, const sxt_trace_event *event, uint64_t *time)
{
    SXT_HOLDS(event->time >= *time);
    *time = event->time;
    SXT_HOLDS(event->kind <= SXT_TRACE_MARKER);
    SXT_HOLDS(event->kind != SXT_TRACE_ALLOC || event->stack < facts->stack_count);
    SXT_HOLDS(event->kind != SXT_TRACE_MARKER || event->stack < facts->marker_count);
}

/* All events as a number. */
static uint64_t read_all(const uint8_t *data, size_t size, size_t batch, bool *is_spool)
{
    struct sxt_spool *spool;
    uint64_t sum = 0, time = 0;
    *is_spool = sxt_spool_open(data, size, &spool, NULL) == SXT_OK;
    if (!*is_spool)
        return 0;
    const struct sxt_spool_facts *facts = sxt_spool_facts(spool);
    for (size_t i = 0; i < facts->stack_count; i++)
        for (uint32_t k = 0; k < facts->stacks[i].count * 8; k++)
            sum += facts->stacks[i].frames[k];
    sxt_trace_event events[BATCH];
    size_t count = 1;
    while (count > 0 && sxt_spool_read(spool, events, batch, &count, NULL) == SXT_OK)
        for (size_t i = 0; i < count; i++) {
            check_event(facts, &events[i], &time);
            sum = sum * 31 + events[i].address + events[i].size + events[i].time + events[i].kind;
        }
    sxt_spool_close(&spool);
    return sum;
}

/* The same spool as one that others consume: after everything was taken back, nothing is live. */
static void watch(const uint8_t *data, size_t size)
{
    struct sxt_spool *spool = NULL;
    struct sxt_spool_ended ended[BATCH];
    sxt_trace_event events[BATCH];
    size_t count = 1, all = 0;
    bool is_done = false;
    int fd = memfd_create("spool", MFD_CLOEXEC);
    SXT_HOLDS(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    const uint8_t *mapped = mmap(NULL, size + SXT_SPOOL_WINDOW_MOST, PROT_READ, MAP_SHARED, fd, 0);
    SXT_HOLDS(mapped != MAP_FAILED);
    int status = sxt_spool_watch(mapped, size, &spool, NULL);
    if (status == SXT_OK)
        status = sxt_spool_catch_up(spool, mapped, fd, true, &is_done, NULL);
    while (status == SXT_OK && is_done && count > 0 && all < 100000) {
        status = sxt_spool_watch_read(spool, events, ended, BATCH, &count, NULL);
        const struct sxt_spool_facts *facts = sxt_spool_watch_facts(spool);
        for (size_t i = 0; i < count; i++) {
            SXT_HOLDS(events[i].kind != SXT_TRACE_ALLOC || events[i].stack < facts->stack_count);
            SXT_HOLDS(!ended[i].is_there || ended[i].stack < facts->stack_count);
        }
        for (size_t i = count; i > 0; i--)
            SXT_HOLDS(sxt_spool_watch_undo(spool, &events[i - 1], &ended[i - 1]));
        SXT_HOLDS(sxt_spool_watch_replay(spool, events, ended, count, NULL) == SXT_OK);
        all += count;
    }
    sxt_spool_close(&spool);
    munmap((void *)(uintptr_t)mapped, size + SXT_SPOOL_WINDOW_MOST);
    close(fd);
}

/* A third of the bytes becomes windows, a third notes, and the rest a checkpoint. */
static void read_checkpoint(const uint8_t *data, size_t size)
{
    size_t part = size / 3 & ~(size_t)7, made_size = SPOOL_SIZE;
    uint8_t *made = calloc(SPOOL_SIZE + 4 * (size_t)CHUNK_MOST, 1);
    SXT_HOLDS(made != NULL);
    fill_windows(made, data, part);
    uint64_t notes = add_chunk(made, &made_size, SXT_SPOOL_NOTES, 0, data + part, part);
    uint64_t offset = add_chunk(made, &made_size, SXT_SPOOL_CHECKPOINT, notes, data + 2 * part, size - 2 * part);
    ((struct sxt_spool_control *)(void *)(made + SXT_SPOOL_CONTROL_OFFSET))->checkpoint = offset;
    bool is_spool;
    (void)read_all(made, made_size, BATCH, &is_spool);
    watch(made, made_size);
    free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (data[0] % 8 == 5) {
        read_checkpoint(data + 1, size - 1);
        return 0;
    }
    bool as_file = data[0] % 4 == 0;
    size_t made_size = as_file ? size - 1 : SPOOL_SIZE;
    uint8_t *made = calloc(made_size + 1, 1);
    SXT_HOLDS(made != NULL);
    if (as_file)
        memcpy(made, data + 1, size - 1);
    else
        fill_windows(made, data + 1, size - 1);
    bool first, second;
    uint64_t sum = read_all(made, made_size, BATCH, &first);
    SXT_HOLDS(sum == read_all(made, made_size, 1 + size % 5, &second) && first == second);
    SXT_HOLDS(as_file || first);
    if (first)
        watch(made, made_size);
    free(made);
    return 0;
}
