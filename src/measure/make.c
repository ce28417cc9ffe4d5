/* make.c: binaries, object files and static libraries into one SuperSize file. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "measure/private.h"
#include "source/ar.h"

/* Sections of object files have no addresses yet. All of one name are put together in a window of their own. */
#define WINDOW_BITS 36

void sxt_size_make_options_init(struct sxt_size_make_options *options)
{
    *options = (struct sxt_size_make_options){.map_path = NULL};
    sxt_extract_options_init(&options->extract);
}

void sxt_size_make_utf8(char *text, size_t size)
{
    for (size_t at = size > 0 ? sxt_utf8_valid(text, size) : 0; at < size; at += sxt_utf8_valid(text + at, size - at))
        text[at] = '?';
}

uint32_t sxt_size_maker_name(struct size_maker *maker, sxt_string name)
{
    uint32_t number = sxt_strings_add(&maker->names, name.data, name.size);
    if (number != SXT_STRINGS_FULL)
        return number;
    maker->no_memory = true;
    return 0;
}

uint32_t sxt_size_maker_path(struct size_maker *maker, sxt_string object, sxt_string source)
{
    struct sxt_buffer *key = &maker->key;
    sxt_buffer_clear(key);
    sxt_size_put_path(maker, object, key);
    size_t object_size = key->size;
    sxt_buffer_u8(key, '\t');
    sxt_size_put_path(maker, source, key);
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

uint32_t sxt_size_maker_segment(struct size_maker *maker, uint32_t container, sxt_string section)
{
    for (size_t i = maker->segment_count; i-- > 0;) {
        const struct sxt_size_segment *segment = &maker->segments[i];
        if (segment->container == container && segment->section.size == section.size &&
            memcmp(segment->section.data, section.data, section.size) == 0)
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

void sxt_size_maker_count(struct size_maker *maker, uint32_t container, sxt_string section, uint64_t value)
{
    sxt_buffer_clear(&maker->key);
    sxt_buffer_print(&maker->key, "%u\t", container);
    sxt_buffer_append(&maker->key, section.data, section.size);
    sxt_size_make_utf8((char *)maker->key.data, maker->key.size);
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

void sxt_size_maker_count_memory(struct size_maker *maker, uint32_t container, sxt_string section, uint64_t value)
{
    struct sxt_buffer name;
    sxt_buffer_init(&name, (size_t)1 << 20);
    sxt_buffer_append(&name, section.data, section.size);
    sxt_buffer_append(&name, " (bss)", 6);
    if (!name.failed)
        sxt_size_maker_count(maker, container, (sxt_string){(const char *)name.data, name.size}, value);
    maker->no_memory |= name.failed;
    sxt_buffer_free(&name);
}

/* Puts a number in front of the members of an object: their order does not matter, and there may be many. */
static bool put_number(struct sxt_arena *arena, struct sxt_json *object, const char *key, uint64_t value)
{
    struct sxt_json holder = {.type = SXT_JSON_OBJECT};
    if (!sxt_size_json_add_number(arena, &holder, key, (int64_t)value))
        return false;
    holder.child->next = object->child;
    object->child = holder.child;
    object->count++;
    return true;
}

/* What was counted, into the containers. */
static bool keep_counts(struct size_maker *maker)
{
    struct sxt_arena *arena = &maker->size->arena;
    bool fine = true;
    for (uint32_t i = 1; fine && i < maker->count_keys.count; i++) {
        const char *key = sxt_strings_get(&maker->count_keys, i).data, *section = strchr(key, '\t') + 1;
        struct sxt_size_container *container = &maker->containers[strtoul(key, NULL, 10)];
        fine = *section != 0 ? put_number(arena, container->sections, section, maker->counts[i])
                             : put_number(arena, container->metrics->child, "COUNT/Relocations", maker->counts[i]);
    }
    return fine;
}

/* The symbol becomes one of the aliases of the one before it. */
static void join_group(struct size_maker *maker, size_t index)
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

void sxt_size_maker_add(struct size_maker *maker, uint32_t segment, uint64_t address, uint64_t size, uint32_t name,
                        uint32_t path, uint32_t flags, bool joins)
{
    /* Once one is missing, aliases would join another. */
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

void sxt_size_lay_out(struct size_maker *maker, const struct sxt_elf *elf, struct size_section *sections)
{
    for (size_t i = 1; i < elf->section_count; i++) {
        struct size_section *section = &sections[i];
        if (section->place == SIZE_LEFT_OUT)
            continue;
        section->gap = 0;
        /* What is in .other has no neighbours that would take a gap for padding. */
        sxt_string name = section->place == SIZE_NATIVE ? section->name : (sxt_string){".other", 6};
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

/* A container called like its file; what is known of it comes with its binary. */
static int add_container(struct size_maker *maker, const char *path, sxt_error *error)
{
    struct sxt_arena *arena = &maker->size->arena;
    struct sxt_size_container *containers =
        sxt_array_grow(maker->containers, &maker->container_capacity, maker->container_count + 1, sizeof *containers);
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    char *name = sxt_arena_copy(arena, base, strlen(base));
    struct sxt_json *sections = sxt_size_json_object(arena), *metrics = sxt_size_json_object(arena),
                    *counts = sxt_size_json_object(arena);
    if (name != NULL)
        sxt_size_make_utf8(name, strlen(base));
    if (containers != NULL)
        maker->containers = containers;
    if (containers == NULL || name == NULL || sections == NULL || metrics == NULL || counts == NULL ||
        !sxt_size_json_add(arena, metrics, name, counts))
        return sxt_fail_memory(error, sizeof *containers);
    containers[maker->container_count++] =
        (struct sxt_size_container){.name = {name, strlen(name)}, .sections = sections, .metrics = metrics};
    return SXT_OK;
}

/* What is in a library besides its members: the index, the names and the headers. */
static void add_library_overhead(struct size_maker *maker, uint32_t container, uint64_t bytes)
{
    static const char name[] = "Overhead: library";
    sxt_size_maker_add(maker, sxt_size_maker_segment(maker, container, (sxt_string){".other", 6}), 0, bytes,
                       sxt_size_maker_name(maker, (sxt_string){name, sizeof name - 1}),
                       sxt_size_maker_path(maker, (sxt_string){"", 0}, (sxt_string){"", 0}), 0, false);
}

static int add_library(struct size_maker *maker, const struct size_input *input, sxt_error *error)
{
    struct sxt_ar ar;
    sxt_ar_open(&ar, input->file->data, input->file->size);
    if (ar.is_thin)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "a thin library has no members in it; give the object files themselves");
    const char *base = strrchr(input->path, '/') != NULL ? strrchr(input->path, '/') + 1 : input->path;
    uint64_t rest = input->file->size;
    size_t binaries = 0;
    for (;;) {
        struct sxt_ar_member member;
        int status = sxt_ar_next(&ar, &member, error);
        if (status != SXT_OK)
            return status;
        if (member.name.data == NULL)
            break;
        rest -= member.size;
        if (!sxt_elf_is(member.data, member.size)) {
            rest += member.size;
            continue;
        }
        struct sxt_file file;
        sxt_file_from_memory(&file, member.data, member.size);
        struct sxt_buffer path;
        sxt_buffer_init(&path, (size_t)1 << 20);
        sxt_buffer_print(&path, "%s(%.*s)", base, (int)(member.name.size < 65536 ? member.name.size : 65536),
                         member.name.data);
        struct size_input inside = *input;
        inside.file = &file;
        inside.member = (sxt_string){(const char *)path.data, path.size};
        status = path.failed ? sxt_buffer_status(&path, error) : sxt_size_add_binary(maker, &inside, error);
        sxt_buffer_free(&path);
        if (status != SXT_OK)
            return status;
        binaries++;
    }
    if (binaries == 0)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "no member of the library is an ELF file");
    add_library_overhead(maker, input->container, rest);
    return SXT_OK;
}

static int add_file(struct size_maker *maker, const char *path, const struct sxt_linker_map *map, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_archive_open_file(&file, path, error);
    if (status != SXT_OK)
        return status;
    struct size_input input = {.path = path, .file = &file, .map = map, .container = (uint32_t)maker->container_count};
    if (sxt_elf_is(file.data, file.size) || sxt_ar_is(file.data, file.size))
        status = add_container(maker, path, error);
    else
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "neither an ELF file nor a static library");
    if (status == SXT_OK)
        status = sxt_ar_is(file.data, file.size) ? add_library(maker, &input, error)
                                                 : sxt_size_add_binary(maker, &input, error);
    sxt_file_close(&file);
    return status;
}

/* Everything that was collected, into the arena. */
static void *keep(struct sxt_arena *arena, const void *list, size_t count, size_t size)
{
    void *kept = sxt_arena_calloc(arena, count + 1, size);
    if (kept != NULL && count > 0)
        memcpy(kept, list, count * size);
    return kept;
}

/* The texts of a table of strings live as long as the result: it takes the bytes over. */
static bool keep_names(struct size_maker *maker)
{
    struct sxt_arena *arena = &maker->size->arena;
    const char **moved = calloc((size_t)maker->names.count + 1, sizeof *moved);
    bool fine = moved != NULL;
    for (uint32_t i = 0; fine && i < maker->names.count; i++) {
        sxt_string text = sxt_strings_get(&maker->names, i);
        fine = (moved[i] = sxt_arena_copy(arena, text.data, text.size)) != NULL;
    }
    for (size_t i = 0; fine && i < maker->symbol_count; i++) {
        struct sxt_size_model_symbol *symbol = &maker->symbols[i];
        uint32_t number = sxt_strings_find(&maker->names, symbol->full_name, symbol->full_name_size);
        symbol->full_name = moved[number];
    }
    for (size_t i = 0; fine && i < maker->path_count; i++) {
        struct sxt_size_path *path = &maker->paths[i];
        char *text = sxt_arena_copy(arena, path->object.data, path->object.size + 1 + path->source.size);
        fine = text != NULL;
        path->source.data = fine ? text + path->object.size + 1 : NULL;
        path->object.data = text;
    }
    free((void *)moved);
    return fine;
}

/* A container and the number that it had. */
struct ordered {
    struct sxt_size_container container;
    uint32_t rank, number;
};

static uint32_t rank_of(const struct sxt_size_container *container)
{
    static const char *const algorithms[] = {"linker_map", "dwarf", "sections"};
    const struct sxt_json *found = sxt_json_member(container->metadata, "elf_algorithm");
    uint32_t rank = 0;
    while (rank < 3 && (found == NULL || found->string.size != strlen(algorithms[rank]) ||
                        memcmp(found->string.data, algorithms[rank], found->string.size) != 0))
        rank++;
    return rank;
}

static int by_rank_and_name(const void *a, const void *b)
{
    const struct ordered *first = a;
    const struct ordered *second = b;
    if (first->rank != second->rank)
        return first->rank < second->rank ? -1 : 1;
    int order = strcmp(first->container.name.data, second->container.name.data);
    return order != 0 ? order : first->number < second->number ? -1 : 1;
}

/* The reference has those of which most is known first, and then goes by name. */
static bool order_containers(struct size_maker *maker)
{
    size_t count = maker->container_count;
    struct ordered *list = malloc((count + 1) * sizeof *list);
    uint32_t *moved = malloc((count + 1) * sizeof *moved);
    bool fine = list != NULL && moved != NULL;
    for (size_t i = 0; fine && i < count; i++)
        list[i] = (struct ordered){maker->containers[i], rank_of(&maker->containers[i]), (uint32_t)i};
    if (fine && count > 1)
        qsort(list, count, sizeof *list, by_rank_and_name);
    for (size_t i = 0; fine && i < count; i++) {
        maker->containers[i] = list[i].container;
        moved[list[i].number] = (uint32_t)i;
    }
    for (size_t i = 0; fine && i < maker->segment_count; i++)
        maker->segments[i].container = moved[maker->segments[i].container];
    free(list);
    free(moved);
    return fine;
}

static int finish(struct size_maker *maker, sxt_error *error)
{
    struct sxt_size_info *size = maker->size;
    struct sxt_arena *arena = &size->arena;
    if (maker->no_memory || !keep_names(maker) || !keep_counts(maker) || !order_containers(maker))
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting symbols");
    int status = sxt_size_assign_components(maker, error);
    if (status != SXT_OK)
        return status;
    size->symbols = keep(arena, maker->symbols, maker->symbol_count, sizeof *maker->symbols);
    size->segments = keep(arena, maker->segments, maker->segment_count, sizeof *maker->segments);
    size->containers = keep(arena, maker->containers, maker->container_count, sizeof *maker->containers);
    size->groups = keep(arena, maker->groups, maker->group_count, sizeof *maker->groups);
    size->paths = keep(arena, maker->paths, maker->path_count, sizeof *maker->paths);
    if (size->symbols == NULL || size->segments == NULL || size->containers == NULL || size->groups == NULL ||
        size->paths == NULL)
        return sxt_fail_memory(error, maker->symbol_count * sizeof *maker->symbols);
    size->symbol_count = maker->symbol_count;
    size->segment_count = maker->segment_count;
    size->container_count = maker->container_count;
    size->group_count = maker->group_count;
    size->path_count = maker->path_count;
    size->has_components = size->has_disassembly = true;
    status = sxt_size_sort(size, error);
    uint64_t conflicts = 0;
    if (status == SXT_OK)
        sxt_size_derive_padding(size, &conflicts);
    return status;
}

static void release(struct size_maker *maker)
{
    free(maker->symbols);
    free(maker->segments);
    free(maker->containers);
    free(maker->groups);
    free(maker->paths);
    free(maker->used);
    free(maker->counts);
    sxt_strings_free(&maker->count_keys);
    sxt_strings_free(&maker->names);
    sxt_strings_free(&maker->path_keys);
    sxt_strings_free(&maker->windows);
    sxt_buffer_free(&maker->key);
}

int sxt_size_make(const char *const *paths, size_t count, const struct sxt_size_make_options *options,
                  struct sxt_size_info **out, const char **failed, sxt_error *error)
{
    struct size_maker maker = {.options = options};
    struct sxt_linker_map *map = NULL;
    struct sxt_file map_file; /* the map points into its text */
    bool has_map = false;
    *out = NULL;
    *failed = count > 0 ? paths[0] : "";
    sxt_buffer_init(&maker.key, (size_t)1 << 24);
    int status = sxt_strings_init(&maker.names, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&maker.path_keys, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&maker.windows, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&maker.count_keys, 0, error);
    if (status == SXT_OK)
        status = sxt_size_info_new(&maker.size, error);
    if (status == SXT_OK && options->map_path != NULL) {
        *failed = options->map_path;
        status = sxt_archive_open_file(&map_file, options->map_path, error);
        has_map = status == SXT_OK;
        if (has_map)
            status = sxt_linker_map_read(map_file.data, map_file.size, &map, error);
    }
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        *failed = paths[i];
        status = add_file(&maker, paths[i], map, error);
    }
    if (status == SXT_OK)
        status = sxt_size_describe_build(&maker, error);
    if (status == SXT_OK)
        status = finish(&maker, error);
    if (status == SXT_OK) {
        *out = maker.size;
        maker.size = NULL;
    }
    sxt_linker_map_free(map);
    if (has_map)
        sxt_file_close(&map_file);
    sxt_size_info_free(&maker.size);
    release(&maker);
    return status;
}
