/*
 * export_pprof.c: a heap profile for pprof. Every distinct frame is a location; those without an address are allowed.
 *
 *     Profile   1 sample type  2 sample  4 location  5 function  6 string table  9 time  10 duration  14 default type
 *     Sample    1 location ids, the leaf first  2 values
 *     Location  1 id  4 line;   Line  1 function id  2 line;   Function  1 id  2 name  3 system name  4 file name
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/protobuf.h"
#include "base/strings.h"
#include "mlyze/analysis.h"

static const char *const types[][2] = {
    {"alloc_objects", "count"}, {"alloc_space", "bytes"},  {"inuse_objects", "count"},
    {"inuse_space", "bytes"},   {"peak_objects", "count"}, {"peak_space", "bytes"},
};

struct profile {
    struct sxt_buffer *out;
    struct sxt_strings strings;   /* as in the string table */
    struct sxt_strings functions; /* keys of functions: number = id */
    struct sxt_strings locations; /* keys of locations: number = id */
    struct sxt_buffer message, inner, key;
    bool no_memory;
};

static uint32_t number_of(struct profile *profile, struct sxt_strings *table, const void *data, size_t size)
{
    uint32_t number = sxt_strings_add(table, data, size);
    profile->no_memory |= number == SXT_STRINGS_FULL;
    return number == SXT_STRINGS_FULL ? 0 : number;
}

static uint32_t text_of(struct profile *profile, sxt_string text)
{
    return text.size == 0 ? 0 : number_of(profile, &profile->strings, text.data, text.size);
}

static void put_types(struct profile *profile)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        sxt_buffer_clear(&profile->message);
        for (unsigned k = 0; k < 2; k++)
            sxt_protobuf_write_number(&profile->message, k + 1,
                                      text_of(profile, (sxt_string){types[i][k], strlen(types[i][k])}));
        sxt_protobuf_write_bytes(profile->out, 1, profile->message.data, profile->message.size);
    }
}

static uint32_t function_of(struct profile *profile, sxt_string name, sxt_string file)
{
    uint32_t pair[2] = {text_of(profile, name), text_of(profile, file)}, known = profile->functions.count;
    uint32_t id = number_of(profile, &profile->functions, pair, sizeof pair);
    if (id < known)
        return id;
    sxt_buffer_clear(&profile->inner);
    sxt_protobuf_write_number(&profile->inner, 1, id);
    sxt_protobuf_write_number(&profile->inner, 2, pair[0]);
    sxt_protobuf_write_number(&profile->inner, 3, pair[0]);
    sxt_protobuf_write_number(&profile->inner, 4, pair[1]);
    sxt_protobuf_write_bytes(profile->out, 5, profile->inner.data, profile->inner.size);
    return id;
}

static uint32_t location_of(struct profile *profile, sxt_string name, sxt_string file, uint32_t line)
{
    uint32_t pair[2] = {function_of(profile, name, file), line}, known = profile->locations.count;
    uint32_t id = number_of(profile, &profile->locations, pair, sizeof pair);
    if (id < known)
        return id;
    sxt_buffer_clear(&profile->inner);
    sxt_protobuf_write_number(&profile->inner, 1, pair[0]);
    sxt_protobuf_write_number(&profile->inner, 2, line);
    sxt_buffer_clear(&profile->key);
    sxt_protobuf_write_number(&profile->key, 1, id);
    sxt_protobuf_write_bytes(&profile->key, 4, profile->inner.data, profile->inner.size);
    sxt_protobuf_write_bytes(profile->out, 4, profile->key.data, profile->key.size);
    return id;
}

static void put_sample(struct profile *profile, const sxt_heap_usage *usage, size_t site)
{
    uint32_t id = sxt_heap_record(&usage->sites, site)->stack;
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, id);
    sxt_heap_sums sums;
    sxt_heap_sites_get(&usage->sites, site, &sums);
    uint64_t values[] = {sums.count, sums.bytes, sums.live_count, sums.live_bytes, sums.peak_count, sums.peak_bytes};
    char room[24], other[24];
    sxt_buffer_clear(&profile->message);
    if (stack == NULL || stack->count == 0) {
        sxt_string name = {room, (size_t)snprintf(room, sizeof room, "stack_%u", id)};
        sxt_protobuf_write_number(&profile->message, 1, location_of(profile, name, (sxt_string){NULL, 0}, 0));
    }
    uint32_t node = stack != NULL ? stack->node : SXT_MLYZE_NO_NODE, count = sxt_heap_depth(usage, stack);
    for (uint32_t i = 0; i < count; i++, node = sxt_mlyze_node_at(metadata, node)->parent) {
        const struct sxt_mlyze_frame *frame = sxt_mlyze_node_frame(metadata, node);
        sxt_protobuf_write_number(&profile->message, 1,
                                  location_of(profile, sxt_mlyze_function(metadata, frame->function, room),
                                              sxt_mlyze_file(metadata, frame->file, other), frame->line));
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sxt_protobuf_write_number(&profile->message, 2, values[i] <= INT64_MAX ? values[i] : INT64_MAX);
    sxt_protobuf_write_bytes(profile->out, 2, profile->message.data, profile->message.size);
}

static void put_rest(struct profile *profile, const sxt_heap_usage *usage)
{
    uint32_t standard = text_of(profile, (sxt_string){"inuse_space", 11});
    for (uint32_t i = 0; i < profile->strings.count; i++) {
        sxt_string text = sxt_strings_get(&profile->strings, i);
        sxt_protobuf_write_bytes(profile->out, 6, text.data, text.size);
    }
    sxt_protobuf_write_number(profile->out, 9, usage->start <= INT64_MAX / 1000 ? usage->start * 1000 : INT64_MAX);
    uint64_t duration = usage->end - usage->start;
    sxt_protobuf_write_number(profile->out, 10, duration <= INT64_MAX / 1000 ? duration * 1000 : INT64_MAX);
    sxt_protobuf_write_number(profile->out, 14, standard);
}

int sxt_heap_export_pprof(const sxt_heap_usage *usage, struct sxt_buffer *out, sxt_error *error)
{
    struct profile profile = {.out = out};
    struct sxt_buffer *buffers[] = {&profile.message, &profile.inner, &profile.key};
    struct sxt_strings *tables[] = {&profile.strings, &profile.functions, &profile.locations};
    int status = SXT_OK;
    for (size_t i = 0; i < 3; i++) {
        sxt_buffer_init(buffers[i], (size_t)1 << 30);
        if (status == SXT_OK)
            status = sxt_strings_init(tables[i], 0, error);
    }
    if (status == SXT_OK) {
        put_types(&profile);
        for (size_t i = 0; i < usage->sites.count; i++)
            put_sample(&profile, usage, i);
        put_rest(&profile, usage);
        for (size_t i = 0; i < 3; i++)
            profile.no_memory |= buffers[i]->failed;
        status = profile.no_memory ? sxt_fail_memory(error, out->size) : sxt_buffer_status(out, error);
    }
    for (size_t i = 0; i < 3; i++) {
        sxt_buffer_free(buffers[i]);
        sxt_strings_free(tables[i]);
    }
    return status;
}
