/*
 * fuzz_mlyze_tables.c: any bytes as metadata that is stored as tables: as they are, and as the two parts before they
 * are compressed, of which the first two bytes give the size of the first part. What is taken is consistent, and the
 * same when it is stored again.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "mlyze/private.h"
#include "property.h"

static void check_stacks(const struct sxt_mlyze_metadata *metadata)
{
    char room[24];
    uint64_t frames = 0;
    for (size_t i = 0; i < metadata->stack_count; i++) {
        const struct sxt_mlyze_stack *stack = &metadata->stacks[i];
        uint32_t id = sxt_mlyze_id_at(metadata->stack_ids, i), count = 0;
        SXT_HOLDS(stack->exists || stack->count == 0);
        SXT_HOLDS(sxt_mlyze_same_stack(metadata, id) <= id);
        for (uint32_t node = stack->node; stack->exists && node != SXT_MLYZE_NO_NODE; count++) {
            const struct sxt_mlyze_node *at = sxt_mlyze_node_at(metadata, node);
            SXT_HOLDS(at->parent == SXT_MLYZE_NO_NODE || at->parent < node);
            const struct sxt_mlyze_frame *frame = sxt_mlyze_node_frame(metadata, node);
            SXT_HOLDS(at->frame < metadata->tree.frame_count);
            SXT_HOLDS(sxt_mlyze_file(metadata, frame->file, room).data != NULL);
            SXT_HOLDS(sxt_mlyze_function(metadata, frame->function, room).data != NULL);
            node = at->parent;
        }
        SXT_HOLDS(count == stack->count && count <= SXT_MLYZE_DEEP);
        frames += count;
    }
    SXT_HOLDS(frames == metadata->frame_count);
}

static void check(const uint8_t *data, size_t size)
{
    struct sxt_mlyze_metadata metadata, again;
    struct sxt_buffer packed, texts[2];
    if (sxt_mlyze_tables_unpack(data, size, 256, false, &metadata, NULL) != SXT_OK)
        return;
    check_stacks(&metadata);
    sxt_buffer_init(&packed, SIZE_MAX / 2);
    for (unsigned i = 0; i < 2; i++)
        sxt_buffer_init(&texts[i], (size_t)64 << 20);
    if (sxt_mlyze_tables_pack(&metadata, metadata.rest, &packed)) {
        SXT_HOLDS(sxt_mlyze_tables_unpack(packed.data, packed.size, 256, false, &again, NULL) == SXT_OK);
        int first = sxt_mlyze_text_make(&metadata, metadata.rest, &texts[0], NULL);
        int second = sxt_mlyze_text_make(&again, again.rest, &texts[1], NULL);
        SXT_HOLDS(first == second);
        SXT_HOLDS(first != SXT_OK ||
                  (texts[0].size == texts[1].size &&
                   (texts[0].size == 0 || memcmp(texts[0].data, texts[1].data, texts[0].size) == 0)));
        sxt_mlyze_metadata_free(&again);
    }
    sxt_mlyze_metadata_free(&metadata);
    sxt_buffer_free(&packed);
    for (unsigned i = 0; i < 2; i++)
        sxt_buffer_free(&texts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    if (size < 2)
        return 0;
    size_t parts[2] = {sxt_load_u16le(data), 0}, at = 40;
    parts[0] = parts[0] < size - 2 ? parts[0] : size - 2;
    parts[1] = size - 2 - parts[0];
    size_t room = 40 + ZSTD_compressBound(parts[0]) + ZSTD_compressBound(parts[1]);
    uint8_t *stored = calloc(1, room);
    SXT_HOLDS(stored != NULL);
    stored[0] = 1;
    data += 2;
    for (unsigned i = 0; i < 2; i++) {
        size_t made = ZSTD_compress(stored + at, room - at, data, parts[i], 1);
        SXT_HOLDS(!ZSTD_isError(made));
        sxt_store_u64le(stored + 8 + 16 * i, parts[i]);
        sxt_store_u64le(stored + 16 + 16 * i, made);
        data += parts[i];
        at += made;
    }
    check(stored, at);
    free(stored);
    return 0;
}
