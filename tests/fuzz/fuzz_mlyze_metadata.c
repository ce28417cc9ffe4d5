/*
 * fuzz_mlyze_metadata.c: any bytes as the metadata of a heap trace. What is taken is JSON to the general parser too,
 * and every id leads to a name or to nothing. The same bytes are an index of some trace, too, which must not be
 * believed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/json.h"
#include "mlyze/private.h"
#include "property.h"

static void check_tables(const struct sxt_mlyze_metadata *metadata)
{
    char room[24];
    size_t frames = 0;
    for (size_t i = 0; i < metadata->stack_count; i++) {
        const struct sxt_mlyze_stack *stack = &metadata->stacks[i];
        SXT_HOLDS(stack->exists || stack->count == 0);
        for (uint32_t j = 0; j < stack->count; j++) {
            SXT_HOLDS(sxt_mlyze_file(metadata, sxt_mlyze_frame_at(metadata, stack, j)->file, room).data != NULL);
            SXT_HOLDS(sxt_mlyze_function(metadata, sxt_mlyze_frame_at(metadata, stack, j)->function, room).data !=
                      NULL);
        }
        frames += stack->count;
    }
    SXT_HOLDS(frames == metadata->frame_count);
}

/* What is taken is JSON to the tree as well, but for limits. */
static void check_json(const uint8_t *data, size_t size)
{
    struct sxt_arena arena;
    struct sxt_json_reader reader;
    struct sxt_json_limits limits = {80, 1 << 24};
    struct sxt_json *root;
    sxt_error error;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    SXT_HOLDS(sxt_json_reader_init(&reader, "it", (const char *)data, size, &arena, &error) == SXT_OK);
    reader.replace_surrogates = true;
    int status = sxt_json_read_tree(&reader, &limits, &root);
    SXT_HOLDS(status == SXT_OK || strstr(error.text, "too large for a double") != NULL);
    SXT_HOLDS(status != SXT_OK || sxt_json_read_end(&reader) == SXT_OK);
    sxt_arena_free(&arena);
}

/* A trace of one event, and DATA as its index, with sums that are right. */
static void check_index(const uint8_t *data, size_t size)
{
    static const uint8_t tail[] = {'{', '}', 3, 1, 0, 3, 1, 0};
    uint8_t file[SXT_MLYZE_HEADER_SIZE + sizeof tail] = "MTRC\1";
    file[16] = 2;
    memcpy(file + SXT_MLYZE_HEADER_SIZE, tail, sizeof tail);
    struct sxt_mlyze *trace;
    struct sxt_mlyze_index good, index;
    struct sxt_mlyze_cursor *cursor;
    struct sxt_buffer bytes;
    sxt_buffer_init(&bytes, SIZE_MAX / 2);
    SXT_HOLDS(sxt_mlyze_open(file, sizeof file, &trace, NULL) == SXT_OK);
    SXT_HOLDS(sxt_mlyze_index_make(trace, &good, NULL) == SXT_OK);
    SXT_HOLDS(sxt_mlyze_index_write(trace, &good, &bytes, NULL) == SXT_OK);
    /* The header says which trace it is; the rest is DATA's. */
    bytes.size = 32;
    sxt_buffer_append(&bytes, data, size);
    if (bytes.size >= 64) {
        uint32_t crc = sxt_crc32c(0, bytes.data, 48);
        sxt_store_u32le(bytes.data + 48, sxt_crc32c(crc, bytes.data + 52, bytes.size - 52));
    }
    if (sxt_mlyze_index_read(trace, bytes.data, bytes.size, &index, NULL) == SXT_OK) {
        SXT_HOLDS(sxt_mlyze_cursor_open(trace, &cursor, NULL) == SXT_OK);
        for (size_t i = 0; i < index.count; i++) {
            sxt_trace_event event;
            size_t count;
            SXT_HOLDS(sxt_mlyze_seek(cursor, &index.entries[i], NULL) == SXT_OK);
            sxt_mlyze_read(cursor, &event, 1, &count, NULL);
        }
        sxt_mlyze_cursor_close(&cursor);
        sxt_mlyze_index_free(&index);
    }
    sxt_mlyze_index_free(&good);
    sxt_mlyze_close(&trace);
    sxt_buffer_free(&bytes);
}

/* If it can be stored as tables, they give the same text again. */
static void check_packing(const uint8_t *data, size_t size)
{
    struct sxt_mlyze_metadata metadata;
    struct sxt_buffer packed, back;
    sxt_buffer_init(&packed, SIZE_MAX / 2);
    sxt_buffer_init(&back, SIZE_MAX / 2);
    if (sxt_mlyze_text_to_tables((sxt_string){(const char *)data, size}, &packed)) {
        SXT_HOLDS(sxt_mlyze_tables_unpack(packed.data, packed.size, 0, false, &metadata, NULL) == SXT_OK);
        SXT_HOLDS(sxt_mlyze_text_make(&metadata, metadata.rest, &back, NULL) == SXT_OK);
        SXT_HOLDS(back.size == size && memcmp(back.data, data, size) == 0);
        check_tables(&metadata);
        sxt_mlyze_metadata_free(&metadata);
    }
    sxt_buffer_free(&packed);
    sxt_buffer_free(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sxt_mlyze_metadata metadata;
    if (sxt_mlyze_metadata_read((const char *)data, size, false, &metadata, NULL) == SXT_OK) {
        check_tables(&metadata);
        if (size > 0) {
            check_json(data, size);
            check_packing(data, size);
        }
        sxt_mlyze_metadata_free(&metadata);
    }
    check_index(data, size);
    return 0;
}
