/* make.c: makes the sizes of one build from binaries, object files and static libraries. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "base/string.h"
#include "measure/measure.h"
#include "measure/package.h"
#include "measure/private.h"
#include "source/ar.h"

static int open_maker(struct measure_maker *maker, sxt_error *error);
static int add_all(struct measure_maker *maker, const char *const *paths, size_t count, struct sxt_file *opened,
                   const char **failed, sxt_error *error);
static int finish(struct measure_maker *maker, sxt_error *error);
static void release(struct measure_maker *maker);

void sxt_size_make_options_init(sxt_size_make_options *options)
{
    *options = (sxt_size_make_options){.struct_size = sizeof *options};
}

int sxt_size_make(const char *const *paths, size_t count, const sxt_size_make_options *options, sxt_size_info **out,
                  const char **failed, sxt_error *error)
{
    return sxt_measure_files(paths, count, NULL, options, out, failed, error);
}

int sxt_measure_files(const char *const *paths, size_t count, struct sxt_file *opened,
                      const sxt_size_make_options *given, sxt_size_info **out, const char **failed, sxt_error *error)
{
    sxt_size_make_options options;
    sxt_extract_options extract;
    const char *nowhere;
    *out = NULL;
    failed = failed != NULL ? failed : &nowhere;
    *failed = count > 0 ? paths[0] : "";
    sxt_size_make_options_init(&options);
    sxt_extract_options_init(&extract);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_size_make_options_init", error);
    if (status == SXT_OK)
        status = sxt_options_take(&extract, sizeof extract, options.extract, "sxt_extract_options_init", error);
    if (status == SXT_OK && options.map_path != NULL && count > 1)
        status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a linker map belongs to a single binary");
    if (status != SXT_OK)
        return status;
    struct measure_maker maker = {.options = &options, .extract = &extract};
    status = open_maker(&maker, error);
    if (status == SXT_OK) {
        *failed = options.source_directory != NULL ? options.source_directory : *failed;
        status = sxt_measure_open_source_tree(&maker, error);
    }
    if (status == SXT_OK)
        status = sxt_measure_describe_build(&maker, error);
    if (status == SXT_OK)
        status = add_all(&maker, paths, count, opened, failed, error);
    if (status == SXT_OK)
        status = finish(&maker, error);
    if (status == SXT_OK) {
        *out = maker.size;
        maker.size = NULL;
    }
    sxt_size_info_free(&maker.size);
    release(&maker);
    return status;
}

static int open_maker(struct measure_maker *maker, sxt_error *error)
{
    sxt_buffer_init(&maker->key, (size_t)1 << 24);
    int status = sxt_strings_init(&maker->names, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&maker->path_keys, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&maker->windows, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&maker->count_keys, 0, error);
    return status == SXT_OK ? sxt_size_info_new(&maker->size, error) : status;
}

int sxt_measure_add_container(struct measure_maker *maker, const char *name, sxt_error *error)
{
    struct sxt_arena *arena = &maker->size->arena;
    struct sxt_size_container *containers =
        sxt_array_grow(maker->containers, &maker->container_capacity, maker->container_count + 1, sizeof *containers);
    if (containers != NULL)
        maker->containers = containers;
    struct sxt_size_container made = {.name = sxt_measure_unique_name(maker, name),
                                      .sections = sxt_json_object(arena),
                                      .metrics = sxt_json_object(arena)};
    if (containers == NULL || made.name.data == NULL || made.sections == NULL || made.metrics == NULL)
        return sxt_fail_memory(error, sizeof *containers);
    containers[maker->container_count++] = made;
    return SXT_OK;
}

/* The bytes of a library besides its members: the index, the names and the headers. */
static void add_library_overhead(struct measure_maker *maker, uint32_t container, uint64_t bytes)
{
    static const char name[] = "Overhead: library";
    sxt_measure_maker_add(maker, sxt_measure_maker_segment(maker, container, (sxt_string){".other", 6}), 0, bytes,
                          sxt_measure_maker_name(maker, (sxt_string){name, sizeof name - 1}),
                          sxt_measure_maker_path(maker, (sxt_string){"", 0}, (sxt_string){"", 0}), 0, false);
}

static int add_library(struct measure_maker *maker, const struct measure_input *input, sxt_error *error)
{
    struct sxt_ar ar;
    sxt_ar_open(&ar, input->file->data, input->file->size);
    if (ar.is_thin)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "a thin library does not contain its members; use the object files");
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
        struct measure_input inside = *input;
        inside.file = &file;
        inside.member = (sxt_string){(const char *)path.data, path.size};
        status = path.failed ? sxt_buffer_status(&path, error) : sxt_measure_add_binary(maker, &inside, error);
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

/* Adds the file at PATH, or OPENED, which was read from there, as a container with that NAME. */
static int add_file(struct measure_maker *maker, const char *path, const char *name, struct sxt_file *opened,
                    const char **failed, sxt_error *error)
{
    struct sxt_file own;
    struct sxt_file *file = opened != NULL ? opened : &own;
    struct measure_map map = {0};
    int status = opened != NULL ? sxt_file_inflate(file, SXT_MEASURE_INFLATE_LIMIT, error)
                                : sxt_file_open_inflated(file, path, SXT_MEASURE_INFLATE_LIMIT, error);
    if (status != SXT_OK)
        return status;
    bool is_library = sxt_ar_is(file->data, file->size), is_package = sxt_zip_is(file->data, file->size);
    if (sxt_elf_is(file->data, file->size) || is_library || is_package)
        status = sxt_measure_add_container(maker, name, error);
    else
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "neither %san ELF file, a static library nor a zip file",
                          opened != NULL ? "a size file, " : "");
    if (status == SXT_OK)
        status = sxt_measure_open_map(maker, path, file, &map, failed, error);
    struct measure_input input = {.path = path,
                                  .file = file,
                                  .map = map.map,
                                  .map_path = map.path,
                                  .container = (uint32_t)maker->container_count - 1};
    if (status == SXT_OK)
        status = is_library   ? add_library(maker, &input, error)
                 : is_package ? sxt_measure_add_package(maker, &input, error)
                              : sxt_measure_add_binary(maker, &input, error);
    sxt_measure_close_map(&map);
    if (opened == NULL)
        sxt_file_close(&own);
    return status;
}

static int add_all(struct measure_maker *maker, const char *const *paths, size_t count, struct sxt_file *opened,
                   const char **failed, sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        *failed = paths[i];
        status = add_file(maker, paths[i], sxt_measure_container_name(paths, count, i), opened, failed, error);
    }
    return status;
}

/* Prepends a number to the members of an object: their order does not matter, and there may be many. */
static bool put_number(struct sxt_arena *arena, struct sxt_json *object, const char *key, uint64_t value)
{
    struct sxt_json holder = {.type = SXT_JSON_OBJECT};
    if (!sxt_json_add_number(arena, &holder, key, (int64_t)value))
        return false;
    holder.child->next = object->child;
    object->child = holder.child;
    object->count++;
    return true;
}

/* The metrics of a file; made when they are new. NULL when memory is short. */
static struct sxt_json *metrics_of(struct sxt_arena *arena, struct sxt_json *files, sxt_string file)
{
    for (struct sxt_json *one = files->child; one != NULL; one = one->next)
        if (sxt_string_equal(one->key, file))
            return one;
    struct sxt_json *made = sxt_json_object(arena);
    char *name = sxt_arena_copy(arena, file.data, file.size);
    return name != NULL && sxt_json_add(arena, files, name, made) ? made : NULL;
}

/* Stores what was counted in the containers. */
static bool keep_counts(struct measure_maker *maker)
{
    struct sxt_arena *arena = &maker->size->arena;
    bool fine = true;
    for (uint32_t i = 1; fine && i < maker->count_keys.count; i++) {
        const char *key = sxt_strings_get(&maker->count_keys, i).data, *name = strchr(key, '\t') + 1;
        const char *tab = strchr(name, '\t');
        struct sxt_size_container *container = &maker->containers[strtoul(key, NULL, 10)];
        struct sxt_json *object = tab == NULL
                                      ? container->sections
                                      : metrics_of(arena, container->metrics, (sxt_string){name, (size_t)(tab - name)});
        fine = object != NULL && put_number(arena, object, tab == NULL ? name : tab + 1, maker->counts[i]);
    }
    return fine;
}

/*
 * The section ".other" is the sum of its symbols: sections without a letter, what they do not cover, and overhead.
 * Readers that add up section_sizes skip the sections that it stands for.
 */
static void count_others(struct measure_maker *maker)
{
    sxt_string other = sxt_string_of(".other");
    uint64_t *sums = calloc(maker->segment_count + 1, sizeof *sums);
    maker->no_memory |= sums == NULL;
    for (size_t i = 0; sums != NULL && i < maker->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &maker->symbols[i];
        if (symbol->group == 0 || maker->groups[symbol->group - 1].first == i)
            sums[symbol->segment] += (uint64_t)symbol->size;
    }
    for (size_t i = 0; sums != NULL && i < maker->segment_count; i++)
        if (sxt_string_equal(maker->segments[i].section, other) && sums[i] > 0)
            sxt_measure_maker_count(maker, maker->segments[i].container, other, sums[i]);
    free(sums);
}

static void set_name_flags(struct measure_maker *maker)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, (size_t)64 << 20);
    for (size_t i = 0; i < maker->symbol_count; i++) {
        struct sxt_size_model_symbol *symbol = &maker->symbols[i];
        symbol->flags |= sxt_size_name_flags(&maker->segments[symbol->segment], sxt_size_full_name(symbol), &buffer);
    }
    sxt_buffer_free(&buffer);
}

/* Moves everything that was collected into the arena. */
static void *keep(struct sxt_arena *arena, const void *list, size_t count, size_t size)
{
    void *kept = sxt_arena_calloc(arena, count + 1, size);
    if (kept != NULL && count > 0)
        memcpy(kept, list, count * size);
    return kept;
}

/* Copies the texts into the arena, where they live as long as the result. */
static bool keep_names(struct measure_maker *maker)
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
    while (rank < 3 && (found == NULL || !sxt_string_is(found->string, algorithms[rank])))
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

/* In the order of the reference: by algorithm (linker map, DWARF, sections, none), and then by name. */
static bool order_containers(struct measure_maker *maker)
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

static int finish(struct measure_maker *maker, sxt_error *error)
{
    struct sxt_size_info *size = maker->size;
    struct sxt_arena *arena = &size->arena;
    count_others(maker);
    set_name_flags(maker);
    if (maker->no_memory || !keep_names(maker) || !keep_counts(maker) || !order_containers(maker))
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while collecting symbols");
    int status = sxt_measure_assign_components(maker, error);
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

static void release(struct measure_maker *maker)
{
    sxt_measure_close_source_tree(&maker->sources);
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
