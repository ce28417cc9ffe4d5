/* maker.c: what is collected from all inputs: names, paths, segments, symbols, and the sizes of sections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "base/utf8.h"
#include "measure/private.h"

/* Sections of object files have no addresses yet. All sections of one name share a window of addresses. */
#define WINDOW_BITS 36

void sxt_measure_make_utf8(char *text, size_t size)
{
    for (size_t at = size > 0 ? sxt_utf8_valid(text, size) : 0; at < size; at += sxt_utf8_valid(text + at, size - at))
        text[at] = '?';
}

uint32_t sxt_measure_maker_name(struct measure_maker *maker, sxt_string name)
{
    uint32_t number = sxt_strings_add(&maker->names, name.data, name.size);
    if (number != SXT_STRINGS_FULL)
        return number;
    maker->no_memory = true;
    return 0;
}

uint32_t sxt_measure_maker_path(struct measure_maker *maker, sxt_string object, sxt_string source)
{
    struct sxt_buffer *key = &maker->key;
    sxt_buffer_clear(key);
    sxt_measure_put_path(maker, object, key);
    size_t object_size = key->size;
    sxt_buffer_u8(key, '\t');
    sxt_measure_put_path(maker, source, key);
    uint32_t known = maker->path_keys.count;
    uint32_t number =
        key->failed ? SXT_STRINGS_FULL : sxt_strings_add(&maker->path_keys, (const char *)key->data, key->size);
    if (number == SXT_STRINGS_FULL) {
        maker->no_memory = true;
        return 0;
    }
    if (number < known)
        return number - 1;
    struct sxt_size_path *paths =
        sxt_array_grow(maker->paths, &maker->path_capacity, maker->path_count + 1, sizeof *paths);
    if (paths == NULL) {
        maker->no_memory = true;
        return 0;
    }
    maker->paths = paths;
    sxt_string kept = sxt_strings_get(&maker->path_keys, number);
    paths[maker->path_count++] =
        (struct sxt_size_path){{kept.data, object_size}, {kept.data + object_size + 1, kept.size - object_size - 1}};
    return number - 1;
}

uint32_t sxt_measure_maker_segment(struct measure_maker *maker, uint32_t container, sxt_string section)
{
    for (size_t i = maker->segment_count; i-- > 0;) {
        const struct sxt_size_segment *segment = &maker->segments[i];
        if (segment->container == container && sxt_string_equal(segment->section, section))
            return (uint32_t)i;
    }
    struct sxt_size_segment *segments =
        sxt_array_grow(maker->segments, &maker->segment_capacity, maker->segment_count + 1, sizeof *segments);
    char *name = sxt_arena_copy(&maker->size->arena, section.data, section.size);
    if (segments != NULL)
        maker->segments = segments;
    if (segments == NULL || name == NULL) {
        maker->no_memory = true;
        return 0;
    }
    segments[maker->segment_count] = (struct sxt_size_segment){.container = container, .section = {name, section.size}};
    sxt_size_classify(&segments[maker->segment_count]);
    return (uint32_t)maker->segment_count++;
}

/* Adds to what is counted under the key that is in maker->key. */
static void count_key(struct measure_maker *maker, uint64_t value)
{
    sxt_measure_make_utf8((char *)maker->key.data, maker->key.size);
    uint32_t number = maker->key.failed
                          ? SXT_STRINGS_FULL
                          : sxt_strings_add(&maker->count_keys, (const char *)maker->key.data, maker->key.size);
    uint64_t *counts = number != SXT_STRINGS_FULL
                           ? sxt_array_grow(maker->counts, &maker->count_capacity, (size_t)number + 1, sizeof *counts)
                           : NULL;
    if (counts == NULL) {
        maker->no_memory = true;
        return;
    }
    maker->counts = counts;
    for (; maker->count_count <= number; maker->count_count++)
        counts[maker->count_count] = 0;
    counts[number] += value;
}

/* Appends a name to the key: a tab or a NUL would end it. */
static void put_key(struct measure_maker *maker, sxt_string name)
{
    for (size_t i = 0; i < name.size; i++)
        sxt_buffer_u8(&maker->key, name.data[i] == '\t' || name.data[i] == 0 ? ' ' : (uint8_t)name.data[i]);
}

void sxt_measure_maker_count(struct measure_maker *maker, uint32_t container, sxt_string section, uint64_t value)
{
    sxt_buffer_clear(&maker->key);
    sxt_buffer_print(&maker->key, "%u\t", container);
    put_key(maker, section);
    count_key(maker, value);
}

void sxt_measure_maker_metric(struct measure_maker *maker, uint32_t container, sxt_string file, const char *prefix,
                              sxt_string name, uint64_t value)
{
    sxt_buffer_clear(&maker->key);
    sxt_buffer_print(&maker->key, "%u\t", container);
    put_key(maker, file);
    sxt_buffer_print(&maker->key, "\t%s", prefix);
    put_key(maker, name);
    count_key(maker, value);
}

void sxt_measure_maker_count_memory(struct measure_maker *maker, uint32_t container, sxt_string section, uint64_t value)
{
    struct sxt_buffer name;
    sxt_buffer_init(&name, (size_t)1 << 20);
    sxt_buffer_append(&name, section.data, section.size);
    sxt_buffer_append(&name, " (bss)", 6);
    if (!name.failed)
        sxt_measure_maker_count(maker, container, (sxt_string){(const char *)name.data, name.size}, value);
    maker->no_memory |= name.failed;
    sxt_buffer_free(&name);
}

/* The symbol becomes one of the aliases of the one before it. */
static void join_group(struct measure_maker *maker, size_t index)
{
    struct sxt_size_model_symbol *before = &maker->symbols[index - 1];
    if (before->group == 0) {
        struct sxt_size_group *groups =
            sxt_array_grow(maker->groups, &maker->group_capacity, maker->group_count + 1, sizeof *groups);
        if (groups == NULL) {
            maker->no_memory = true;
            return;
        }
        maker->groups = groups;
        groups[maker->group_count++] = (struct sxt_size_group){(uint32_t)index - 1, 1};
        before->group = (uint32_t)maker->group_count;
    }
    maker->symbols[index].group = before->group;
    maker->groups[before->group - 1].count++;
}

void sxt_measure_maker_add(struct measure_maker *maker, uint32_t segment, uint64_t address, uint64_t size,
                           uint32_t name, uint32_t path, uint32_t flags, bool joins)
{
    /* Once a symbol is missing, the next aliases would join the wrong one. */
    if (maker->no_memory)
        return;
    struct sxt_size_model_symbol *symbols =
        sxt_array_grow(maker->symbols, &maker->symbol_capacity, maker->symbol_count + 1, sizeof *symbols);
    if (symbols == NULL || maker->symbol_count >= UINT32_MAX - 1) {
        maker->no_memory = true;
        return;
    }
    maker->symbols = symbols;
    sxt_string text = sxt_strings_get(&maker->names, name);
    symbols[maker->symbol_count] = (struct sxt_size_model_symbol){
        .address = address,
        .size = (int64_t)size,
        .full_name = text.data,
        .full_name_size = (uint32_t)text.size,
        .path = path,
        .segment = segment,
        .flags = flags,
    };
    if (joins)
        join_group(maker, maker->symbol_count);
    maker->symbol_count++;
}

void sxt_measure_lay_out(struct measure_maker *maker, const struct sxt_elf *elf, struct measure_section *sections)
{
    for (size_t i = 1; i < elf->section_count; i++) {
        struct measure_section *section = &sections[i];
        if (section->place == MEASURE_LEFT_OUT)
            continue;
        section->gap = 0;
        /* Symbols in .other have no neighbours, so that a gap is not taken for padding. */
        sxt_string name = section->place == MEASURE_NATIVE ? section->name : (sxt_string){".other", 6};
        uint32_t window = sxt_strings_add(&maker->windows, name.data, name.size);
        uint64_t *used = window != SXT_STRINGS_FULL
                             ? sxt_array_grow(maker->used, &maker->used_capacity, (size_t)window + 1, sizeof *used)
                             : NULL;
        if (used == NULL) {
            maker->no_memory = true;
            return;
        }
        maker->used = used;
        for (; maker->used_count <= window; maker->used_count++)
            used[maker->used_count] = 0;
        section->address = ((uint64_t)window << WINDOW_BITS) + used[window];
        used[window] += section->size;
    }
}
