/*
 * fuzz_size.c: any bytes as a .size or .sizediff file, compressed or not. What can be read can be checked, sorted and
 * written, and what was written is read as the same.
 */
#include <stdlib.h>
#include <string.h>

#include "property.h"
#include "size/size.h"

static const struct sxt_size_limits limits = {SXT_FUZZ_INFLATE_LIMIT};

static void use_size(const uint8_t *data, size_t size);
static void use_diff(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sxt_size_is(data, size);
    uint64_t problems = sxt_size_verify(data, size, &limits, NULL, NULL);
    if (sxt_sizediff_is(data, size)) {
        use_diff(data, size);
        return 0;
    }
    struct sxt_size_info *opened;
    if (sxt_size_open(data, size, &limits, &opened, NULL) != SXT_OK)
        SXT_HOLDS(problems > 0);
    sxt_size_info_free(&opened);
    use_size(data, size);
    return 0;
}

/* Everything that a model points to is inside of it. */
static void walk(const struct sxt_size_info *size)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
        SXT_HOLDS(symbol->path < size->path_count && symbol->component < size->component_count);
        SXT_HOLDS(symbol->segment < size->segment_count && symbol->group <= size->group_count);
        const struct sxt_size_segment *segment = &size->segments[symbol->segment];
        SXT_HOLDS(i >= segment->first && i - segment->first < segment->count);
        SXT_HOLDS(segment->container < size->container_count);
        SXT_HOLDS(sxt_size_alias_count(size, symbol) > 0);
        for (uint32_t k = 0; k < symbol->full_name_size; k++)
            sum += (unsigned char)symbol->full_name[k];
    }
    for (size_t i = 0; i < size->disassembly_count; i++)
        SXT_HOLDS(size->disassemblies[i].symbol < size->symbol_count);
    SXT_HOLDS(sum != UINT64_MAX);
}

static void use_size(const uint8_t *data, size_t size)
{
    struct sxt_size_info *first, *second;
    struct sxt_buffer written, again;
    if (sxt_size_open(data, size, &limits, &first, NULL) != SXT_OK)
        return;
    walk(first);
    sxt_buffer_init(&written, SIZE_MAX);
    sxt_buffer_init(&again, SIZE_MAX);
    /* Nearly all that is read can be stored; a key that is in the metadata twice is an exception. */
    if (sxt_size_write_text(first, &written, NULL) == SXT_OK) {
        SXT_HOLDS(sxt_size_open(written.data, written.size, NULL, &second, NULL) == SXT_OK);
        SXT_HOLDS(second->symbol_count == first->symbol_count);
        SXT_HOLDS(sxt_size_write_text(second, &again, NULL) == SXT_OK);
        SXT_HOLDS(again.size == written.size && memcmp(again.data, written.data, again.size) == 0);
        sxt_size_info_free(&second);
        sxt_buffer_clear(&again);
        SXT_HOLDS(sxt_size_sort(first, NULL) == SXT_OK);
        walk(first);
        SXT_HOLDS(sxt_size_save(first, SXT_SIZE_DEFLATE_FAST, &again, NULL) == SXT_OK);
        SXT_HOLDS(sxt_size_open(again.data, again.size, NULL, &second, NULL) == SXT_OK);
        sxt_size_info_free(&second);
    }
    sxt_buffer_free(&written);
    sxt_buffer_free(&again);
    sxt_size_info_free(&first);
}

static void use_diff(const uint8_t *data, size_t size)
{
    struct sxt_sizediff first, second;
    if (sxt_sizediff_open(data, size, &limits, &first, NULL) != SXT_OK)
        return;
    walk(first.before);
    walk(first.after);
    struct sxt_buffer written;
    sxt_buffer_init(&written, SIZE_MAX);
    if (sxt_sizediff_save(&first, SXT_SIZE_DEFLATE_FAST, &written, NULL) == SXT_OK) {
        SXT_HOLDS(sxt_sizediff_open(written.data, written.size, NULL, &second, NULL) == SXT_OK);
        SXT_HOLDS(second.removed_source_count == first.removed_source_count);
        SXT_HOLDS(second.added_source_count == first.added_source_count);
        SXT_HOLDS(second.after->symbol_count == first.after->symbol_count);
        sxt_sizediff_free(&second);
    }
    sxt_buffer_free(&written);
    sxt_sizediff_free(&first);
}
