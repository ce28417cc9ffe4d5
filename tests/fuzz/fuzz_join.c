/*
 * fuzz_join.c: any bytes as the traces of up to three processes, joined into one. The first byte says which process
 * forked which and when they ended; two sizes follow, and then the traces. The joined trace must have every event that
 * the inputs have, in order of time, and be the same when it is made again. With the ends of processes it has more
 * FREEs and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/output.h"
#include "base/unnamed.h"
#include "mlyze/private.h"
#include "property.h"

#define INPUTS 3
#define BATCH  64

/* What a trace has. */
struct content {
    uint64_t counts[SXT_TRACE_OTHER + 1];
    uint64_t all, sum, time;
};

/* Blocks of a process that ends are freed in any order, so the order does not count. */
static uint64_t number_of(const sxt_trace_event *event)
{
    uint64_t number = event->time * 31 + event->kind;
    if (event->kind <= SXT_TRACE_FREE)
        number = (number ^ event->address) * 0x100000001b3;
    if (event->kind == SXT_TRACE_ALLOC)
        number = (number ^ event->size) * 0x100000001b3 ^ event->stack;
    return number;
}

static struct content read_all(const struct sxt_mlyze *trace)
{
    struct content content = {0};
    sxt_trace_event events[BATCH];
    struct sxt_mlyze_cursor *cursor;
    size_t count = 0;
    if (sxt_mlyze_cursor_open(trace, &cursor, NULL) != SXT_OK)
        return content;
    while (sxt_mlyze_read(cursor, events, BATCH, &count, NULL) == SXT_OK && count > 0)
        for (size_t i = 0; i < count; i++) {
            SXT_HOLDS(events[i].kind <= SXT_TRACE_OTHER && events[i].time >= content.time);
            content.counts[events[i].kind]++;
            content.all++;
            content.time = events[i].time;
            content.sum += number_of(&events[i]);
        }
    sxt_mlyze_cursor_close(&cursor);
    return content;
}

/* A plain trace without checksums, so that damage gets further. */
static void mend(uint8_t *data, size_t size, bool same_period)
{
    if (size < SXT_MLYZE_HEADER_SIZE)
        return;
    memcpy(data, "MTRC\1\0\0\0", 8);
    sxt_store_u32le(data + SXT_MLYZE_AT_FLAGS, sxt_load_u32le(data + SXT_MLYZE_AT_FLAGS) & SXT_MLYZE_SAMPLED);
    sxt_store_u32le(data + SXT_MLYZE_AT_HEADER_CRC, 0);
    sxt_store_u32le(data + SXT_MLYZE_AT_METADATA_CRC, 0);
    if (same_period) {
        sxt_store_u32le(data + SXT_MLYZE_AT_FLAGS, 0);
        sxt_store_u64le(data + SXT_MLYZE_AT_PERIOD, 0);
    }
}

static struct content read_output(struct sxt_output *output)
{
    struct sxt_file file;
    struct sxt_mlyze *trace;
    SXT_HOLDS(sxt_unnamed_read(output, &file, NULL) == SXT_OK);
    SXT_HOLDS(sxt_mlyze_open(file.data, file.size, &trace, NULL) == SXT_OK);
    struct content content = read_all(trace);
    sxt_mlyze_close(&trace);
    sxt_file_close(&file);
    return content;
}

/* False if the traces do not fit together. */
static bool join(const struct sxt_mlyze_join_input *given, size_t count, struct content out[2])
{
    struct sxt_mlyze_join_input inputs[INPUTS];
    struct sxt_mlyze_joined joined;
    struct sxt_output outputs[2];
    memcpy(inputs, given, count * sizeof *inputs);
    for (int i = 0; i < 2; i++)
        SXT_HOLDS(sxt_unnamed_open(&outputs[i], NULL) == SXT_OK);
    int status = sxt_mlyze_join(inputs, count, &outputs[0], &outputs[1], &joined, NULL);
    for (int i = 0; i < 2; i++) {
        if (status == SXT_OK)
            out[i] = read_output(&outputs[i]);
        else
            sxt_output_abandon(&outputs[i]);
    }
    for (size_t i = 0; status == SXT_OK && i < joined.thread_count; i++)
        SXT_HOLDS(joined.threads[i].input < count || joined.threads[i].input == SXT_MLYZE_NO_ID);
    SXT_HOLDS(status != SXT_OK || joined.has_ends || out[0].sum == out[1].sum);
    free(joined.threads);
    SXT_HOLDS(status == SXT_OK || status == SXT_ERROR_UNSUPPORTED || status == SXT_ERROR_FORMAT ||
              status == SXT_ERROR_LIMIT);
    return status == SXT_OK;
}

static void check(const struct sxt_mlyze_join_input *inputs, size_t count)
{
    struct content once[2], again[2], sum = {0};
    if (!join(inputs, count, once))
        return;
    SXT_HOLDS(join(inputs, count, again) && memcmp(once, again, sizeof once) == 0);
    for (size_t i = 0; i < count; i++) {
        struct content one = read_all(inputs[i].trace);
        for (size_t kind = 0; kind <= SXT_TRACE_OTHER; kind++)
            sum.counts[kind] += one.counts[kind];
    }
    for (size_t kind = 0; kind <= SXT_TRACE_OTHER; kind++) {
        SXT_HOLDS(kind == SXT_TRACE_OTHER || once[0].counts[kind] == sum.counts[kind]);
        SXT_HOLDS(kind == SXT_TRACE_FREE || once[1].counts[kind] == once[0].counts[kind]);
    }
    SXT_HOLDS(once[1].counts[SXT_TRACE_FREE] >= once[0].counts[SXT_TRACE_FREE]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEAD = 5 };
    if (size < HEAD)
        return 0;
    uint8_t how = data[0];
    size_t sizes[INPUTS] = {sxt_load_u16le(data + 1), sxt_load_u16le(data + 3), size - HEAD};
    struct sxt_mlyze_join_input inputs[INPUTS];
    uint8_t *copies[INPUTS] = {0};
    size_t count = 0, offset = HEAD;
    for (size_t i = 0; i < INPUTS; i++) {
        size_t part = sizes[i] < size - offset ? sizes[i] : size - offset;
        uint8_t *copy = malloc(part + 1);
        struct sxt_mlyze *trace;
        SXT_HOLDS(copy != NULL);
        memcpy(copy, data + offset, part);
        offset += part;
        mend(copy, part, how % 8 != 7);
        copies[i] = copy;
        if (sxt_mlyze_open(copy, part, &trace, NULL) != SXT_OK)
            continue;
        uint64_t start = sxt_mlyze_header(trace)->start_us;
        inputs[count] = (struct sxt_mlyze_join_input){
            .trace = trace,
            .pid = how >> 6 == i ? 0 : i + 1,
            .parent = count > 0 && (how >> count & 1) != 0 ? (uint32_t)count - 1 : SXT_MLYZE_NO_ID,
            .end = (how >> (count + 2) & 1) != 0 ? start + how
                   : (how & 1) != 0              ? SXT_MLYZE_RUNNING
                                                 : 0,
        };
        count++;
    }
    if (count > 0)
        check(inputs, count);
    for (size_t i = 0; i < INPUTS; i++) {
        if (i < count) {
            struct sxt_mlyze *trace = (struct sxt_mlyze *)(uintptr_t)inputs[i].trace;
            sxt_mlyze_close(&trace);
        }
        free(copies[i]);
    }
    return 0;
}
