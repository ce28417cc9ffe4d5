/*
 * fuzz_trace_names.c: any bytes as the metadata of a heap trace whose addresses get names. What comes out is metadata
 * again, with the stacks that were there; names are found once, and not a second time.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/bytes.h"
#include "explain/explain.h"
#include "lidia/lidia.h"
#include "measure/measure.h"
#include "mlyze/mlyze.h"
#include "profile/profile.h"
#include "property.h"
#include "symbols/symbols.h"
#include "trace/trace.h"

/* "outer" has the addresses below 128, and "inner" is inlined into it from 16 to 48. */
static uint8_t *make_archive(size_t *size)
{
    struct sxt_symbols *symbols;
    SXT_HOLDS(sxt_symbols_new(&symbols, NULL) == SXT_OK);
    uint32_t file = sxt_symbols_string(symbols, "x.c", 3);
    const struct sxt_model_range outer = {
        .address = 0, .length = 128, .function = sxt_symbols_string(symbols, "outer", 5), .file = file};
    const struct sxt_model_range inner = {.address = 16,
                                          .length = 32,
                                          .depth = 1,
                                          .function = sxt_symbols_string(symbols, "inner", 5),
                                          .call_file = file,
                                          .call_line = 7};
    sxt_symbols_add_range(symbols, &outer);
    sxt_symbols_add_range(symbols, &inner);
    SXT_HOLDS(sxt_symbols_finish(symbols, NULL) == SXT_OK);
    const struct sxt_lidia_settings settings = {0};
    uint8_t *image;
    SXT_HOLDS(sxt_lidia_encode(symbols, &settings, &image, size, NULL, NULL) == SXT_OK);
    sxt_symbols_free(&symbols);
    return image;
}

struct image {
    uint8_t *data;
    size_t size;
};

static sxt_archive *open_module(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses,
                                size_t count)
{
    const struct image *image = data;
    sxt_archive *archive = NULL;
    SXT_HOLDS(path.size > 0 && count > 0 && build_id.size % 2 == 0);
    for (size_t i = 1; i < count; i++)
        SXT_HOLDS(addresses[i - 1] < addresses[i]);
    if (path.data[0] != '!')
        SXT_HOLDS(sxt_archive_open_memory(image->data, image->size, NULL, &archive, NULL) == SXT_OK);
    return archive;
}

/* A trace with that metadata, and a marker that is called like function 1. */
static bool name_text(const uint8_t *text, size_t size, struct image *image, struct sxt_buffer *json,
                      sxt_trace_named *named, size_t *stacks)
{
    static const uint8_t marker[] = {3, 1, 1};
    const struct sxt_trace_name_source naming = {.open = open_module, .data = image};
    size_t whole = SXT_MLYZE_HEADER_SIZE + size + sizeof marker;
    uint8_t *file = calloc(whole, 1);
    SXT_HOLDS(file != NULL);
    memcpy(file, "MTRC\1", 5);
    sxt_store_u32le(file + 16, (uint32_t)size);
    memcpy(file + SXT_MLYZE_HEADER_SIZE, text, size);
    memcpy(file + SXT_MLYZE_HEADER_SIZE + size, marker, sizeof marker);
    struct sxt_mlyze *trace;
    bool done = sxt_mlyze_open(file, whole, &trace, NULL) == SXT_OK;
    if (done) {
        *stacks = sxt_mlyze_metadata(trace)->stack_count;
        done = sxt_trace_name(trace, &naming, json, named, NULL) == SXT_OK;
        sxt_mlyze_close(&trace);
    }
    free(file);
    return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image image;
    struct sxt_buffer first, second;
    sxt_trace_named named, again;
    size_t stacks, stacks_after;
    if (size > 1 << 20)
        return 0;
    image.data = make_archive(&image.size);
    sxt_buffer_init(&first, (size_t)64 << 20);
    sxt_buffer_init(&second, (size_t)64 << 20);
    if (name_text(data, size, &image, &first, &named, &stacks)) {
        SXT_HOLDS(named.named <= named.addresses);
        SXT_HOLDS((named.named > 0) == (first.size > 0));
        if (first.size > 0) {
            SXT_HOLDS(name_text(first.data, first.size, &image, &second, &again, &stacks_after));
            SXT_HOLDS(stacks_after == stacks && again.named == 0 && again.invalid == 0);
            SXT_HOLDS(again.addresses == named.addresses - named.named);
        }
    }
    sxt_buffer_free(&first);
    sxt_buffer_free(&second);
    free(image.data);
    return 0;
}
