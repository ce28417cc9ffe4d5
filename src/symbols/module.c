/* module.c: facts about a binary: encoded, decoded and merged. */
#include "symbols/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

enum { FLAG_RELOCATABLE = 1, FLAG_NO_OFFSETS = 2 };

void sxt_module_free(struct sxt_model_module *module)
{
    free(module->segments);
    free(module->path);
    *module = (struct sxt_model_module){0};
}

bool sxt_module_is_known(const struct sxt_model_module *module)
{
    return module->segment_count > 0 || module->build_id_size > 0 || module->has_file_id || module->arch[0] != '\0' ||
           module->path != NULL;
}

bool sxt_module_add_segment(struct sxt_model_module *module, const struct sxt_model_segment *segment)
{
    void *moved = sxt_array_grow(module->segments, &module->segment_capacity, module->segment_count + 1,
                                 sizeof *module->segments);
    if (moved == NULL)
        return false;
    module->segments = moved;
    module->segments[module->segment_count++] = *segment;
    return true;
}

void sxt_module_encode(const struct sxt_model_module *module, const char *path, struct sxt_buffer *out)
{
    size_t path_size = path != NULL ? strlen(path) : 0;
    /* A path that is cut would be another path. */
    if (path_size > SXT_MODULE_PATH_MAX)
        path_size = 0;
    size_t arch_size = strlen(module->arch);
    size_t count = module->segment_count <= SXT_MODULE_ITEMS_MAX ? module->segment_count : 0;
    sxt_buffer_u16le(
        out, (uint16_t)((module->is_relocatable ? FLAG_RELOCATABLE : 0) | (module->no_offsets ? FLAG_NO_OFFSETS : 0)));
    sxt_buffer_u8(out, (uint8_t)module->build_id_size);
    sxt_buffer_u8(out, module->has_file_id ? SXT_FILE_ID_SIZE : 0);
    sxt_buffer_u16le(out, (uint16_t)arch_size);
    sxt_buffer_u16le(out, 0);
    sxt_buffer_u32le(out, (uint32_t)path_size);
    sxt_buffer_u32le(out, (uint32_t)count);
    sxt_buffer_u64le(out, module->text);
    for (size_t i = 0; i < count; i++) {
        const struct sxt_model_segment *segment = &module->segments[i];
        sxt_buffer_u64le(out, segment->offset);
        sxt_buffer_u64le(out, segment->file_size);
        sxt_buffer_u64le(out, segment->address);
        sxt_buffer_u64le(out, segment->memory_size);
        sxt_buffer_u32le(out, segment->flags);
        sxt_buffer_u32le(out, 0);
    }
    sxt_buffer_append(out, module->build_id, module->build_id_size);
    sxt_buffer_append(out, module->file_id, module->has_file_id ? SXT_FILE_ID_SIZE : 0);
    sxt_buffer_append(out, module->arch, arch_size);
    sxt_buffer_append(out, path, path_size);
}

static bool decode_segments(const uint8_t *at, size_t count, struct sxt_model_module *out)
{
    for (size_t i = 0; i < count; i++, at += SXT_MODULE_ITEM_SIZE)
        if (!sxt_module_add_segment(out, &(struct sxt_model_segment){.offset = sxt_load_u64le(at),
                                                                     .file_size = sxt_load_u64le(at + 8),
                                                                     .address = sxt_load_u64le(at + 16),
                                                                     .memory_size = sxt_load_u64le(at + 24),
                                                                     .flags = sxt_load_u32le(at + 32)}))
            return false;
    return true;
}

int sxt_module_decode(const uint8_t *data, size_t size, uint64_t offset, struct sxt_model_module *out, sxt_error *error)
{
    *out = (struct sxt_model_module){0};
    if (size < SXT_MODULE_FIXED)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "facts about the module: %zu bytes of %d are there", size,
                        SXT_MODULE_FIXED);
    uint16_t flags = sxt_load_u16le(data);
    size_t build_id_size = data[2], file_id_size = data[3], arch_size = sxt_load_u16le(data + 4);
    size_t path_size = sxt_load_u32le(data + 8), count = sxt_load_u32le(data + 0xc);
    if (build_id_size > SXT_BUILD_ID_MAX || (file_id_size != 0 && file_id_size != SXT_FILE_ID_SIZE) ||
        arch_size >= SXT_ARCH_ROOM || path_size > SXT_MODULE_PATH_MAX || count > SXT_MODULE_ITEMS_MAX)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "facts about the module: a size is out of range");
    size_t texts_at = SXT_MODULE_FIXED + count * SXT_MODULE_ITEM_SIZE;
    size_t needed = texts_at + build_id_size + file_id_size + arch_size + path_size;
    if (needed > size)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "facts about the module: %zu bytes of %zu are there", size,
                        needed);
    out->is_relocatable = (flags & FLAG_RELOCATABLE) != 0;
    out->no_offsets = (flags & FLAG_NO_OFFSETS) != 0;
    out->text = sxt_load_u64le(data + 0x10);
    const uint8_t *at = data + texts_at;
    memcpy(out->build_id, at, build_id_size);
    out->build_id_size = build_id_size;
    at += build_id_size;
    memcpy(out->file_id, at, file_id_size);
    out->has_file_id = file_id_size != 0;
    at += file_id_size;
    memcpy(out->arch, at, arch_size);
    at += arch_size;
    for (size_t i = 0; i < arch_size; i++)
        if (out->arch[i] <= ' ' || out->arch[i] > '~')
            return sxt_fail(error, SXT_ERROR_FORMAT, offset, "facts about the module: not the name of an architecture");
    out->path = path_size > 0 ? strndup((const char *)at, path_size) : NULL;
    if ((path_size > 0 && out->path == NULL) || !decode_segments(data + SXT_MODULE_FIXED, count, out))
        return sxt_fail_memory(error, needed);
    return SXT_OK;
}

static bool same_segments(const struct sxt_model_module *a, const struct sxt_model_module *b)
{
    if (a->segment_count != b->segment_count || a->is_relocatable != b->is_relocatable || a->text != b->text ||
        a->no_offsets != b->no_offsets)
        return false;
    for (size_t i = 0; i < a->segment_count; i++) {
        const struct sxt_model_segment *left = &a->segments[i], *right = &b->segments[i];
        if (left->offset != right->offset || left->file_size != right->file_size || left->address != right->address ||
            left->memory_size != right->memory_size || left->flags != right->flags)
            return false;
    }
    return true;
}

/* Facts that only one of them has do not contradict. */
static bool contradict(const struct sxt_model_module *a, const struct sxt_model_module *b)
{
    if (a->build_id_size > 0 && b->build_id_size > 0 &&
        (a->build_id_size != b->build_id_size || memcmp(a->build_id, b->build_id, a->build_id_size) != 0))
        return true;
    if (a->has_file_id && b->has_file_id && memcmp(a->file_id, b->file_id, SXT_FILE_ID_SIZE) != 0)
        return true;
    if (a->arch[0] != '\0' && b->arch[0] != '\0' && strcmp(a->arch, b->arch) != 0)
        return true;
    return a->segment_count > 0 && b->segment_count > 0 && a->no_offsets == b->no_offsets && !same_segments(a, b);
}

/* The segments of a binary replace those of its debug file. */
static bool take_segments(struct sxt_model_module *into, const struct sxt_model_module *from)
{
    if (from->segment_count == 0 || (into->segment_count > 0 && !(into->no_offsets && !from->no_offsets)))
        return true;
    struct sxt_model_segment *copy = malloc(from->segment_count * sizeof *copy);
    if (copy == NULL)
        return false;
    memcpy(copy, from->segments, from->segment_count * sizeof *copy);
    free(into->segments);
    into->segments = copy;
    into->segment_count = into->segment_capacity = from->segment_count;
    into->is_relocatable = from->is_relocatable;
    into->no_offsets = from->no_offsets;
    into->text = from->text;
    return true;
}

bool sxt_module_merge(struct sxt_model_module *into, const struct sxt_model_module *from)
{
    if (into->is_ambiguous)
        return true;
    if (from->is_ambiguous || contradict(into, from)) {
        sxt_module_free(into);
        into->is_ambiguous = true;
        return true;
    }
    if (!take_segments(into, from))
        return false;
    if (into->build_id_size == 0) {
        memcpy(into->build_id, from->build_id, from->build_id_size);
        into->build_id_size = from->build_id_size;
    }
    if (!into->has_file_id && from->has_file_id) {
        memcpy(into->file_id, from->file_id, SXT_FILE_ID_SIZE);
        into->has_file_id = true;
    }
    if (into->arch[0] == '\0')
        memcpy(into->arch, from->arch, sizeof into->arch);
    if (into->path == NULL && from->path != NULL)
        into->path = strdup(from->path);
    return into->path != NULL || from->path == NULL;
}

bool sxt_module_address_of(const struct sxt_model_module *module, uint64_t offset, uint64_t *address)
{
    for (size_t i = 0; i < module->segment_count; i++) {
        const struct sxt_model_segment *segment = &module->segments[i];
        if (offset < segment->offset || offset - segment->offset >= segment->file_size)
            continue;
        *address = segment->address + (offset - segment->offset);
        return true;
    }
    return false;
}
