/*
 * fuzz_mlyze_cache.c: any bytes as what may lie beside a trace: its index, or its states. The first byte chooses. What
 * ties them to the trace, and checksums, are put right first. Whatever they say, readers stay within the trace, and a
 * file of either kind that was made from the trace gives the right answers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/varint.h"
#include "mlyze/analysis.h"
#include "mlyze/mlyze.h"
#include "property.h"

#define EVENTS        12000
#define START         1700000000000000u
#define INDEX_CRC     48
#define STATES_HEADER 40
#define STATES_ENTRY  56
#define STATES_CRC    32

/* One trace is enough: it has several blocks, blocks that end, stay, and are replaced. */
static struct subject {
    uint8_t *bytes;
    struct sxt_mlyze *trace;
    struct sxt_buffer index, states;
} subject;

static void make_subject(void);
static void check_index(const uint8_t *data, size_t size);
static void check_states(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (subject.trace == NULL)
        make_subject();
    if (size == 0)
        return 0;
    bool is_index = data[0] % 2 == 0;
    const struct sxt_buffer *whole = is_index ? &subject.index : &subject.states;
    /* The rest is laid over the right file from its end on, so that little input is enough to say something wrong. */
    size_t most = size - 1 < 65536 ? size - 1 : 65536;
    size_t room = data[0] % 4 < 2 || most > whole->size ? most : whole->size;
    uint8_t *made = malloc(room + 1);
    SXT_HOLDS(made != NULL);
    if (room > most)
        memcpy(made, whole->data, room);
    memcpy(made + (room - most), data + 1, most);
    if (is_index)
        check_index(made, room);
    else
        check_states(made, room);
    free(made);
    return 0;
}

/* --- the trace --- */

static void put_event(struct sxt_buffer *out, unsigned number)
{
    uint8_t kind = number % 3 == 2, delta = number % 5;
    uint8_t address[8];
    sxt_store_u64le(address, 0x1000 + 64 * (uint64_t)(number * 7919 % 1501));
    sxt_buffer_append(out, &kind, 1);
    sxt_buffer_append(out, &delta, 1);
    sxt_buffer_append(out, address, 8);
    if (kind == 1)
        return;
    uint8_t rest[] = {(uint8_t)(number % 100), (uint8_t)(number % 11), (uint8_t)(number % 2), 0};
    sxt_buffer_append(out, rest, sizeof rest);
}

static void make_subject(void)
{
    struct sxt_buffer out;
    struct sxt_mlyze_index index;
    sxt_buffer_init(&out, (size_t)1 << 20);
    uint8_t header[256] = "MTRC\1";
    sxt_store_u64le(header + 8, START);
    sxt_store_u32le(header + 16, 2);
    sxt_buffer_append(&out, header, sizeof header);
    sxt_buffer_append(&out, "{}", 2);
    for (unsigned i = 0; i < EVENTS; i++)
        put_event(&out, i);
    SXT_HOLDS(!out.failed);
    subject.bytes = out.data;
    SXT_HOLDS(sxt_mlyze_open(out.data, out.size, &subject.trace, NULL) == SXT_OK);
    SXT_HOLDS(sxt_mlyze_index_make(subject.trace, &index, NULL) == SXT_OK && index.count > 1);
    sxt_buffer_init(&subject.index, (size_t)1 << 20);
    sxt_buffer_init(&subject.states, (size_t)1 << 20);
    SXT_HOLDS(sxt_mlyze_index_write(subject.trace, &index, &subject.index, NULL) == SXT_OK);
    SXT_HOLDS(sxt_heap_states_make(subject.trace, &index, 1, &subject.states, NULL) == SXT_OK);
    sxt_mlyze_index_free(&index);
}

/* --- an index --- */

static void check_index(const uint8_t *data, size_t size)
{
    struct sxt_mlyze_index index;
    uint8_t *mended = malloc(size + 1);
    SXT_HOLDS(mended != NULL);
    memcpy(mended, data, size);
    if (size >= 64) {
        memcpy(mended, subject.index.data, 32);
        sxt_store_u64le(mended + 32, (size - 64) / 48);
        uint32_t crc = sxt_crc32c(0, mended, INDEX_CRC);
        sxt_store_u32le(mended + INDEX_CRC, sxt_crc32c(crc, mended + INDEX_CRC + 4, size - INDEX_CRC - 4));
    }
    if (sxt_mlyze_index_read(subject.trace, mended, size, &index, NULL) == SXT_OK) {
        struct sxt_mlyze_cursor *cursor;
        SXT_HOLDS(sxt_mlyze_cursor_open(subject.trace, &cursor, NULL) == SXT_OK);
        for (size_t i = 0; i < index.count && i < 8; i++) {
            sxt_trace_event events[64];
            size_t count = 1;
            if (sxt_mlyze_seek(cursor, &index.entries[i], NULL) != SXT_OK)
                continue;
            for (unsigned batch = 0; batch < 4 && count > 0; batch++)
                if (sxt_mlyze_read(cursor, events, 64, &count, NULL) != SXT_OK)
                    break;
        }
        sxt_mlyze_cursor_close(&cursor);
        sxt_mlyze_index_free(&index);
    }
    free(mended);
}

/* --- states --- */

static void mend_states(uint8_t *data, size_t size)
{
    memcpy(data, subject.states.data, 24);
    uint64_t count = sxt_load_u64le(data + 24) % 64;
    while (count > 0 && !sxt_fits(STATES_HEADER, count, STATES_ENTRY, size))
        count--;
    sxt_store_u64le(data + 24, count);
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *entry = data + STATES_HEADER + i * STATES_ENTRY;
        uint64_t at = sxt_load_u64le(entry + 32), length = sxt_load_u64le(entry + 40);
        if (sxt_fits(at, length, 1, size))
            sxt_store_u32le(entry + 48, sxt_crc32c(0, data + at, length));
    }
    uint32_t crc = sxt_crc32c(0, data, STATES_CRC);
    sxt_store_u32le(data + STATES_CRC, sxt_crc32c(crc, data + STATES_HEADER, count * STATES_ENTRY));
}

static void check_states(const uint8_t *data, size_t size)
{
    bool is_right = size == subject.states.size && memcmp(data, subject.states.data, size) == 0;
    uint8_t *mended = malloc(size + 1);
    SXT_HOLDS(mended != NULL);
    memcpy(mended, data, size);
    if (size >= STATES_HEADER)
        mend_states(mended, size);
    for (uint64_t time = START; time < START + 2 * EVENTS; time += EVENTS / 2) {
        sxt_heap_usage quick, slow;
        sxt_heap_options options = {.to = {.kind = SXT_HEAP_MOMENT_TIME, .time = time}};
        int status = sxt_heap_states_ask(subject.trace, mended, size, time, &quick, NULL);
        SXT_HOLDS(status == SXT_OK || status == SXT_ERROR_NOT_FOUND);
        if (is_right) {
            SXT_HOLDS(status == SXT_OK && sxt_heap_run(subject.trace, &options, &slow, NULL) == SXT_OK);
            SXT_HOLDS(slow.total.live_bytes == quick.total.live_bytes && slow.sites.count > 0);
            sxt_heap_free(&slow);
        }
        if (status == SXT_OK)
            sxt_heap_free(&quick);
    }
    free(mended);
}
