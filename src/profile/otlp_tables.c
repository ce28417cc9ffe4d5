/* otlp_tables.c: the tables of an OTLP message, filled by the readers of its two forms. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/sha256.h"
#include "base/string.h"
#include "profile/otlp_message.h"

#define INDICES_MAX ((size_t)1 << 24)
#define GNU_ID_SIZE 20
#define GO_ID_MAX   256 /* they have 83 bytes */

static const struct {
    const char *key;
    enum sxt_otlp_meaning meaning;
} id_keys[] = {
    {"process.executable.build_id.gnu", SXT_OTLP_BUILD_ID},
    {"process.executable.build_id.htlhash", SXT_OTLP_FILE_ID},
    {"process.executable.build_id.profiling", SXT_OTLP_FILE_ID}, /* the name before htlhash */
    {"process.executable.build_id.go", SXT_OTLP_GO_ID},
};

/* Values of profile.frame.type whose addresses are those of machine code in a file. */
static const char *const native_types[] = {"native", "kernel", "go", "rust"};

int sxt_otlp_init(struct sxt_otlp *otlp, const void *data, size_t size, size_t most, sxt_error *error)
{
    *otlp = (struct sxt_otlp){.profile = {.data = data, .size = size, .is_otlp = true}, .most = most};
    sxt_arena_init(&otlp->arena, 0, sxt_arena_separate_default);
    int status = sxt_strings_init(&otlp->profile.names, 0, error);
    return status == SXT_OK ? sxt_strings_init(&otlp->profile.function_keys, 0, error) : status;
}

void sxt_otlp_free(struct sxt_otlp *otlp)
{
    sxt_pprof_free(&otlp->profile);
    sxt_arena_free(&otlp->arena);
    free(otlp->attributes);
    free(otlp->indices);
    free(otlp->depths);
    free(otlp->leaves);
    free(otlp->places);
    *otlp = (struct sxt_otlp){0};
}

/* Room for one more record of a table. ITEMS is the address of the array. */
static int make_room(const struct sxt_otlp *otlp, void *items, size_t *capacity, size_t count, size_t size,
                     const char *what, sxt_error *error)
{
    void *old, *moved;
    if (count >= otlp->most)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has more than %zu %s", otlp->most, what);
    memcpy(&old, items, sizeof old);
    moved = sxt_array_grow(old, capacity, count + 1, size);
    if (moved == NULL)
        return sxt_fail_memory(error, (count + 1) * size);
    memcpy(items, &moved, sizeof moved);
    return SXT_OK;
}

static enum sxt_otlp_meaning meaning_of(sxt_string key, sxt_string value)
{
    for (size_t i = 0; i < sizeof id_keys / sizeof *id_keys; i++)
        if (sxt_string_is(key, id_keys[i].key))
            return id_keys[i].meaning;
    if (!sxt_string_is(key, "profile.frame.type"))
        return SXT_OTLP_NOTHING;
    for (size_t i = 0; i < sizeof native_types / sizeof *native_types; i++)
        if (sxt_string_is(value, native_types[i]))
            return SXT_OTLP_NOTHING;
    return value.size > 0 ? SXT_OTLP_OTHER_CODE : SXT_OTLP_NOTHING;
}

int sxt_otlp_take_attribute(struct sxt_otlp *otlp, sxt_string key, sxt_string value, sxt_error *error)
{
    int status = make_room(otlp, &otlp->attributes, &otlp->attribute_capacity, otlp->attribute_count,
                           sizeof *otlp->attributes, "attributes", error);
    if (status == SXT_OK)
        otlp->attributes[otlp->attribute_count++] = (struct sxt_otlp_attribute){meaning_of(key, value), value};
    return status;
}

/* The number in names of a string of the table; SXT_STRINGS_FULL if it is not in the table. */
static uint32_t number_of(const struct sxt_pprof *profile, uint64_t index)
{
    if (index == 0)
        return 0;
    if (index >= profile->string_count)
        return SXT_STRINGS_FULL;
    return sxt_strings_find(&profile->names, profile->strings[index].data, profile->strings[index].size);
}

int sxt_otlp_take_function(struct sxt_otlp *otlp, const uint64_t strings[3], bool has_start, sxt_error *error)
{
    struct sxt_pprof *profile = &otlp->profile;
    int status = make_room(otlp, &profile->functions, &profile->function_capacity, profile->function_count,
                           sizeof *profile->functions, "functions", error);
    if (status != SXT_OK)
        return status;
    struct sxt_pprof_function function = {number_of(profile, strings[0]), number_of(profile, strings[1]),
                                          number_of(profile, strings[2])};
    bool is_usable = !has_start && function.name != SXT_STRINGS_FULL && function.system_name != SXT_STRINGS_FULL &&
                     function.file != SXT_STRINGS_FULL;
    size_t count = profile->function_count;
    uint32_t number = SXT_STRINGS_FULL;
    if (is_usable)
        number = sxt_strings_add(&profile->function_keys, (const char *)&function, sizeof function);
    /* One that is there twice, or that no new function can equal, gets a key that nothing else has. */
    if (number != count + 1) {
        uint64_t key[2] = {count, 0};
        number = sxt_strings_add(&profile->function_keys, (const char *)key, sizeof key);
    }
    if (number != count + 1)
        return sxt_fail_memory(error, sizeof function);
    profile->functions[profile->function_count++] = function;
    return SXT_OK;
}

struct sxt_pprof_mapping *sxt_otlp_take_mapping(struct sxt_otlp *otlp, sxt_error *error)
{
    struct sxt_pprof *profile = &otlp->profile;
    if (make_room(otlp, &profile->mappings, &profile->mapping_capacity, profile->mapping_count,
                  sizeof *profile->mappings, "mappings", error) != SXT_OK)
        return NULL;
    struct sxt_pprof_mapping *mapping = &profile->mappings[profile->mapping_count];
    *mapping = (struct sxt_pprof_mapping){.id = profile->mapping_count++};
    return mapping;
}

void sxt_otlp_describe_mapping(const struct sxt_otlp *otlp, struct sxt_pprof_mapping *mapping, uint64_t index,
                               sxt_string *go_id)
{
    if (index >= otlp->attribute_count)
        return;
    const struct sxt_otlp_attribute *attribute = &otlp->attributes[index];
    if (attribute->meaning == SXT_OTLP_BUILD_ID)
        mapping->build_id = attribute->value;
    else if (attribute->meaning == SXT_OTLP_FILE_ID)
        mapping->file_id = attribute->value;
    else if (attribute->meaning == SXT_OTLP_GO_ID)
        *go_id = attribute->value;
}

/*
 * Since Go 1.24 a binary has a GNU build ID that is made from its Go build ID "ACTION/…/CONTENT" before the linker knew
 * the content: the hash of "ACTION/…/ACTION", with the first byte inverted.
 */
int sxt_otlp_finish_mapping(struct sxt_otlp *otlp, struct sxt_pprof_mapping *mapping, sxt_string go_id,
                            sxt_error *error)
{
    const char *first = go_id.size > 0 && go_id.size <= GO_ID_MAX ? memchr(go_id.data, '/', go_id.size) : NULL;
    const char *last = first != NULL ? memrchr(go_id.data, '/', go_id.size) : NULL;
    if (last == NULL || mapping->build_id.size > 0)
        return SXT_OK;
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE];
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, go_id.data, (size_t)(last + 1 - go_id.data));
    sxt_sha256_add(&hash, go_id.data, (size_t)(first - go_id.data));
    sxt_sha256_end(&hash, digest);
    digest[0] ^= 0xff;
    char *hex = sxt_arena_alloc(&otlp->arena, SXT_HEX_ROOM(GNU_ID_SIZE));
    if (hex == NULL)
        return sxt_fail_memory(error, SXT_HEX_ROOM(GNU_ID_SIZE));
    mapping->build_id = (sxt_string){hex, sxt_hex_encode(hex, digest, GNU_ID_SIZE)};
    return SXT_OK;
}

struct sxt_pprof_location *sxt_otlp_take_location(struct sxt_otlp *otlp, sxt_error *error)
{
    struct sxt_pprof *profile = &otlp->profile;
    if (make_room(otlp, &profile->locations, &profile->location_capacity, profile->location_count,
                  sizeof *profile->locations, "locations", error) != SXT_OK)
        return NULL;
    struct sxt_pprof_location *location = &profile->locations[profile->location_count];
    *location = (struct sxt_pprof_location){.id = profile->location_count++, .mapping = SXT_PPROF_NONE};
    return location;
}

void sxt_otlp_describe_location(const struct sxt_otlp *otlp, struct sxt_pprof_location *location, uint64_t index)
{
    if (index < otlp->attribute_count && otlp->attributes[index].meaning == SXT_OTLP_OTHER_CODE)
        location->is_other = true;
}

void sxt_otlp_finish_location(const struct sxt_otlp *otlp, struct sxt_pprof_location *location, bool has_mapping,
                              uint64_t mapping)
{
    location->is_null = location->id == 0 && !otlp->is_old;
    if (has_mapping && mapping < otlp->profile.mapping_count && (mapping > 0 || otlp->is_old))
        location->mapping = (uint32_t)mapping;
}

void sxt_otlp_mark(struct sxt_otlp *otlp, uint64_t index, bool is_leaf)
{
    if (index >= otlp->profile.location_count)
        return;
    if (is_leaf)
        otlp->profile.locations[index].is_leaf = true;
    else
        otlp->profile.locations[index].is_return = true;
}

int sxt_otlp_take_index(struct sxt_otlp *otlp, uint64_t index, sxt_error *error)
{
    if (otlp->index_count == INDICES_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "has more than %zu locations in a profile", INDICES_MAX);
    uint32_t *moved =
        sxt_array_grow(otlp->indices, &otlp->index_capacity, otlp->index_count + 1, sizeof *otlp->indices);
    if (moved == NULL)
        return sxt_fail_memory(error, otlp->index_count * sizeof *moved);
    otlp->indices = moved;
    otlp->indices[otlp->index_count++] = index < UINT32_MAX ? (uint32_t)index : UINT32_MAX;
    return SXT_OK;
}

int sxt_otlp_begin_samples(struct sxt_otlp *otlp, sxt_error *error)
{
    otlp->depths = calloc(otlp->index_count + 1, sizeof *otlp->depths);
    otlp->leaves = calloc(otlp->index_count + 1, sizeof *otlp->leaves);
    if (otlp->depths == NULL || otlp->leaves == NULL)
        return sxt_fail_memory(error, otlp->index_count * sizeof *otlp->depths);
    return SXT_OK;
}

/* Samples may overlap, and any number of them may have all indices: only where they begin and end is noted. */
void sxt_otlp_take_sample(struct sxt_otlp *otlp, uint64_t start, uint64_t length)
{
    if (start >= otlp->index_count || length == 0)
        return;
    uint64_t end = length < otlp->index_count - start ? start + length : otlp->index_count;
    otlp->leaves[start] = 1;
    if (otlp->depths[start + 1] < INT32_MAX && otlp->depths[end] > INT32_MIN && end > start + 1) {
        otlp->depths[start + 1]++;
        otlp->depths[end]--;
    }
}

void sxt_otlp_end_samples(struct sxt_otlp *otlp)
{
    int64_t depth = 0;
    for (size_t i = 0; i < otlp->index_count && otlp->depths != NULL && otlp->leaves != NULL; i++) {
        depth += otlp->depths[i];
        if (otlp->leaves[i] != 0)
            sxt_otlp_mark(otlp, otlp->indices[i], true);
        if (depth > 0)
            sxt_otlp_mark(otlp, otlp->indices[i], false);
    }
    otlp->index_count = 0;
    free(otlp->depths);
    free(otlp->leaves);
    otlp->depths = NULL;
    otlp->leaves = NULL;
}
