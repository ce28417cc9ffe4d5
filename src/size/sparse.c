/*
 * sparse.c: copies with some of the symbols, and what a .sizediff file holds of a comparison.
 *
 * A copy shares nothing with what it was made from, and can outlive it. Containers with their section sizes and
 * metadata are complete; paths and components are those that are used. All aliases of a group are copied, or none,
 * since a file stores only where a group begins.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/strings.h"
#include "size/private.h"
#include "size/sparse.h"

#define AGGREGATE_NAME "Overhead: aggregate padding of diff'ed symbols"

/* While a copy is made. */
struct copying {
    const struct sxt_size_selection *selection;
    const struct sxt_size_info *from;
    struct sxt_size_info *to;
    struct sxt_strings keys;      /* of containers, then of segments */
    struct sxt_buffer text;       /* a key */
    uint32_t *container_of_name;  /* by number of its name among the keys: one that has it, plus 1 */
    uint32_t *segment_of_key;     /* by number of its key, plus 1 */
    uint32_t *segment_of;         /* by segment of FROM, plus 1 */
    uint32_t *padding_segments;   /* by padding */
    uint32_t *paths, *components; /* by number in FROM: in TO, plus 1 */
    uint32_t *symbols;            /* by number in FROM: in TO, plus 1; NULL when there is no disassembly */
    size_t *next;                 /* by segment of TO: where its next symbol goes */
    size_t name_bytes;
    char *names;
};

static int no_memory(const struct sxt_size_info *size, sxt_error *error)
{
    return sxt_fail_memory(error, size->symbol_count * sizeof *size->symbols);
}

int sxt_size_make_sparse(const struct sxt_size_info *size, const bool *keep, struct sxt_size_info **out,
                         sxt_error *error)
{
    struct sxt_size_selection selection;
    *out = NULL;
    int status = sxt_size_selection_open(&selection, size, error);
    if (status != SXT_OK)
        return status;
    for (size_t i = 0; i < size->symbol_count; i++)
        if (keep[i])
            sxt_size_select(&selection, (uint32_t)i);
    status = sxt_size_selection_copy(&selection, out, error);
    sxt_size_selection_close(&selection);
    return status;
}

int sxt_size_selection_open(struct sxt_size_selection *selection, const struct sxt_size_info *from, sxt_error *error)
{
    *selection = (struct sxt_size_selection){.from = from,
                                             .symbols = malloc((from->symbol_count + 1) * sizeof *selection->symbols),
                                             .has_group = calloc(from->group_count + 1, sizeof *selection->has_group),
                                             .disassemblies = from->disassemblies,
                                             .disassembly_count = from->disassembly_count};
    if (selection->symbols != NULL && selection->has_group != NULL)
        return SXT_OK;
    sxt_size_selection_close(selection);
    return no_memory(from, error);
}

void sxt_size_selection_close(struct sxt_size_selection *selection)
{
    free(selection->symbols);
    free(selection->has_group);
    *selection = (struct sxt_size_selection){.from = NULL};
}

void sxt_size_select(struct sxt_size_selection *selection, uint32_t symbol)
{
    uint32_t group = selection->from->symbols[symbol].group;
    if (group != 0 && selection->has_group[group - 1])
        return;
    if (group != 0)
        selection->has_group[group - 1] = true;
    selection->symbols[selection->count++] = symbol;
}

/* The symbols that entry I of a selection selects. */
static struct sxt_size_group symbols_of_entry(const struct sxt_size_selection *selection, size_t i)
{
    uint32_t group = selection->from->symbols[selection->symbols[i]].group;
    return group == 0 ? (struct sxt_size_group){selection->symbols[i], 1} : selection->from->groups[group - 1];
}

/* --- the copy, in the order in which it is made --- */

static int copy_header(struct sxt_size_info *to, const struct sxt_size_info *from, sxt_error *error);
static int open_copying(struct copying *copying, sxt_error *error);
static void close_copying(struct copying *copying);
static int count_symbols(struct copying *copying, sxt_error *error);
static int copy_tables(struct copying *copying, sxt_error *error);
static int copy_symbols(struct copying *copying, sxt_error *error);
static int copy_disassemblies(struct copying *copying, sxt_error *error);

int sxt_size_selection_copy(const struct sxt_size_selection *selection, struct sxt_size_info **out, sxt_error *error)
{
    struct copying copying = {.selection = selection, .from = selection->from};
    int status = sxt_size_info_new(&copying.to, error);
    if (status != SXT_OK)
        return status;
    copying.to->is_sparse = true;
    copying.to->is_multiple = copying.from->is_multiple;
    status = copy_header(copying.to, copying.from, error);
    if (status == SXT_OK)
        status = open_copying(&copying, error);
    if (status == SXT_OK) {
        status = count_symbols(&copying, error);
        if (status == SXT_OK)
            status = copy_tables(&copying, error);
        if (status == SXT_OK)
            status = copy_symbols(&copying, error);
        if (status == SXT_OK)
            status = copy_disassemblies(&copying, error);
        close_copying(&copying);
    }
    if (status != SXT_OK)
        sxt_size_info_free(&copying.to);
    *out = copying.to;
    return status;
}

/* False when memory is short. */
static bool copy_string(struct sxt_arena *arena, sxt_string from, sxt_string *to)
{
    *to = (sxt_string){sxt_arena_copy(arena, from.size == 0 ? "" : from.data, from.size), from.size};
    return to->data != NULL;
}

static bool copy_json(struct sxt_arena *arena, const struct sxt_json *from, struct sxt_json **to)
{
    *to = from == NULL ? NULL : sxt_json_copy(arena, from);
    return from == NULL || *to != NULL;
}

static int copy_header(struct sxt_size_info *to, const struct sxt_size_info *from, sxt_error *error)
{
    struct sxt_arena *arena = &to->arena;
    to->containers = sxt_arena_calloc(arena, from->container_count, sizeof *to->containers);
    if (to->containers == NULL || !copy_json(arena, from->build_config, &to->build_config) ||
        !copy_json(arena, from->extra, &to->extra))
        return no_memory(from, error);
    to->container_count = from->container_count;
    for (size_t i = 0; i < from->container_count; i++) {
        const struct sxt_size_container *old = &from->containers[i];
        struct sxt_size_container *made = &to->containers[i];
        if (!copy_string(arena, old->name, &made->name) || !copy_json(arena, old->metadata, &made->metadata) ||
            !copy_json(arena, old->sections, &made->sections) || !copy_json(arena, old->metrics, &made->metrics) ||
            !copy_json(arena, old->extra, &made->extra))
            return no_memory(from, error);
    }
    return SXT_OK;
}

static int open_copying(struct copying *copying, sxt_error *error)
{
    const struct sxt_size_info *from = copying->from;
    size_t paddings = copying->selection->padding_count, segments = from->segment_count + paddings;
    int status = sxt_strings_init(&copying->keys, 0, error);
    if (status != SXT_OK)
        return status;
    sxt_buffer_init(&copying->text, SIZE_MAX);
    copying->container_of_name = calloc(from->container_count + 1, sizeof *copying->container_of_name);
    copying->segment_of_key = calloc(from->container_count + segments + 1, sizeof *copying->segment_of_key);
    copying->segment_of = calloc(from->segment_count + 1, sizeof *copying->segment_of);
    copying->padding_segments = calloc(paddings + 1, sizeof *copying->padding_segments);
    copying->paths = calloc(from->path_count + 1, sizeof *copying->paths);
    copying->components = calloc(from->component_count + 1, sizeof *copying->components);
    copying->next = calloc(segments + 1, sizeof *copying->next);
    if (copying->selection->disassembly_count > 0)
        copying->symbols = calloc(from->symbol_count + 1, sizeof *copying->symbols);
    copying->to->segments = sxt_arena_calloc(&copying->to->arena, segments, sizeof *copying->to->segments);
    if (copying->container_of_name != NULL && copying->segment_of_key != NULL && copying->segment_of != NULL &&
        copying->padding_segments != NULL && copying->paths != NULL && copying->components != NULL &&
        copying->next != NULL && (copying->selection->disassembly_count == 0 || copying->symbols != NULL) &&
        copying->to->segments != NULL)
        return SXT_OK;
    close_copying(copying);
    return no_memory(from, error);
}

static void close_copying(struct copying *copying)
{
    sxt_strings_free(&copying->keys);
    sxt_buffer_free(&copying->text);
    free(copying->container_of_name);
    free(copying->segment_of_key);
    free(copying->segment_of);
    free(copying->padding_segments);
    free(copying->paths);
    free(copying->components);
    free(copying->symbols);
    free(copying->next);
}

/* The segment of the copy with that container and section, which becomes its last one when it is new. */
static int find_segment(struct copying *copying, uint32_t container, sxt_string section, uint32_t *found,
                        sxt_error *error)
{
    struct sxt_size_info *to = copying->to;
    sxt_buffer_clear(&copying->text);
    sxt_buffer_print(&copying->text, "\n%u ", container);
    sxt_buffer_append(&copying->text, section.data, section.size);
    uint32_t key = copying->text.failed
                       ? SXT_STRINGS_FULL
                       : sxt_strings_add(&copying->keys, (const char *)copying->text.data, copying->text.size);
    if (key == SXT_STRINGS_FULL)
        return no_memory(to, error);
    if (copying->segment_of_key[key] == 0) {
        struct sxt_size_segment *segment = &to->segments[to->segment_count++];
        copying->segment_of_key[key] = (uint32_t)to->segment_count;
        segment->container = container;
        if (!copy_string(&to->arena, section, &segment->section))
            return no_memory(to, error);
        sxt_size_classify(segment);
    }
    *found = copying->segment_of_key[key] - 1;
    return SXT_OK;
}

/* Numbers the names of the containers. A name that two of them share refers to the first one. */
static int number_containers(struct copying *copying, sxt_error *error)
{
    for (size_t i = 0; i < copying->from->container_count; i++) {
        sxt_string name = copying->to->containers[i].name;
        uint32_t number = sxt_strings_add(&copying->keys, name.data, name.size);
        if (number == SXT_STRINGS_FULL)
            return no_memory(copying->from, error);
        if (copying->container_of_name[number] == 0)
            copying->container_of_name[number] = (uint32_t)i + 1;
    }
    return SXT_OK;
}

/* Finds the segments, in the order in which symbols come, and how many symbols each has. */
static int count_symbols(struct copying *copying, sxt_error *error)
{
    const struct sxt_size_selection *selection = copying->selection;
    struct sxt_size_info *to = copying->to;
    int status = number_containers(copying, error);
    uint32_t names = copying->keys.count;
    for (size_t i = 0; i < selection->count && status == SXT_OK; i++) {
        struct sxt_size_group group = symbols_of_entry(selection, i);
        uint32_t old = copying->from->symbols[group.first].segment;
        uint32_t segment = copying->segment_of[old] - 1;
        if (copying->segment_of[old] == 0) {
            const struct sxt_size_segment *from = &copying->from->segments[old];
            status = find_segment(copying, from->container, from->section, &segment, error);
            if (status != SXT_OK)
                break;
            copying->segment_of[old] = segment + 1;
        }
        to->segments[segment].count += group.count;
        to->group_count += copying->from->symbols[group.first].group != 0;
        for (uint32_t j = 0; j < group.count; j++)
            copying->name_bytes += copying->from->symbols[group.first + j].full_name_size;
    }
    for (size_t i = 0; i < selection->padding_count && status == SXT_OK; i++) {
        sxt_string container = selection->paddings[i].container;
        uint32_t name = sxt_strings_find(&copying->keys, container.size == 0 ? "" : container.data, container.size);
        uint32_t number =
            name < names && copying->container_of_name[name] > 0 ? copying->container_of_name[name] - 1 : 0;
        status = find_segment(copying, number, selection->paddings[i].section, &copying->padding_segments[i], error);
        if (status == SXT_OK)
            to->segments[copying->padding_segments[i]].count++;
    }
    for (size_t i = 0; i < to->segment_count; i++) {
        to->segments[i].first = copying->next[i] = to->symbol_count;
        to->symbol_count += to->segments[i].count;
    }
    return status;
}

/* Copies the paths and components that are used; the last of each is the empty one that paddings have. */
static int copy_tables(struct copying *copying, sxt_error *error)
{
    const struct sxt_size_info *from = copying->from;
    struct sxt_size_info *to = copying->to;
    for (size_t i = 0; i < copying->selection->count; i++) {
        struct sxt_size_group group = symbols_of_entry(copying->selection, i);
        for (uint32_t j = group.first; j < group.first + group.count; j++) {
            copying->paths[from->symbols[j].path] = 1;
            copying->components[from->symbols[j].component] = 1;
        }
    }
    size_t paths = 1, components = 1;
    for (size_t i = 0; i < from->path_count; i++)
        paths += copying->paths[i];
    for (size_t i = 0; i < from->component_count; i++)
        components += copying->components[i];
    to->paths = sxt_arena_calloc(&to->arena, paths, sizeof *to->paths);
    to->components = sxt_arena_calloc(&to->arena, components, sizeof *to->components);
    if (to->paths == NULL || to->components == NULL)
        return no_memory(from, error);
    for (size_t i = 0; i < from->path_count; i++)
        if (copying->paths[i] != 0) {
            struct sxt_size_path *path = &to->paths[to->path_count++];
            copying->paths[i] = (uint32_t)to->path_count;
            if (!copy_string(&to->arena, from->paths[i].object, &path->object) ||
                !copy_string(&to->arena, from->paths[i].source, &path->source))
                return no_memory(from, error);
        }
    for (size_t i = 0; i < from->component_count; i++)
        if (copying->components[i] != 0) {
            copying->components[i] = (uint32_t)to->component_count + 1;
            if (!copy_string(&to->arena, from->components[i], &to->components[to->component_count++]))
                return no_memory(from, error);
        }
    if (copying->selection->padding_count > 0) {
        to->paths[to->path_count++] = (struct sxt_size_path){{"", 0}, {"", 0}};
        to->components[to->component_count++] = (sxt_string){"", 0};
    }
    return SXT_OK;
}

static void copy_symbol(struct copying *copying, uint32_t old, uint32_t segment, uint32_t group)
{
    struct sxt_size_model_symbol symbol = copying->from->symbols[old];
    size_t place = copying->next[segment]++;
    if (symbol.full_name_size > 0)
        memcpy(copying->names, symbol.full_name, symbol.full_name_size);
    symbol.full_name = copying->names;
    copying->names += symbol.full_name_size;
    symbol.path = copying->paths[symbol.path] - 1;
    symbol.component = copying->components[symbol.component] - 1;
    symbol.segment = segment;
    symbol.group = group;
    copying->to->symbols[place] = symbol;
    if (copying->symbols != NULL)
        copying->symbols[old] = (uint32_t)place + 1;
}

static int copy_symbols(struct copying *copying, sxt_error *error)
{
    struct sxt_size_info *to = copying->to;
    const struct sxt_size_selection *selection = copying->selection;
    to->symbols = sxt_arena_calloc(&to->arena, to->symbol_count, sizeof *to->symbols);
    to->groups = sxt_arena_calloc(&to->arena, to->group_count, sizeof *to->groups);
    copying->names = sxt_arena_alloc(&to->arena, copying->name_bytes);
    if (to->symbols == NULL || to->groups == NULL || copying->names == NULL)
        return no_memory(copying->from, error);
    uint32_t groups = 0;
    for (size_t i = 0; i < selection->count; i++) {
        struct sxt_size_group group = symbols_of_entry(selection, i);
        uint32_t segment = copying->segment_of[copying->from->symbols[group.first].segment] - 1;
        bool is_group = copying->from->symbols[group.first].group != 0;
        if (is_group)
            to->groups[groups++] = (struct sxt_size_group){(uint32_t)copying->next[segment], group.count};
        for (uint32_t j = 0; j < group.count; j++)
            copy_symbol(copying, group.first + j, segment, is_group ? groups : 0);
    }
    for (size_t i = 0; i < selection->padding_count; i++) {
        uint32_t segment = copying->padding_segments[i];
        to->symbols[copying->next[segment]++] =
            (struct sxt_size_model_symbol){.size = selection->paddings[i].bytes,
                                           .padding = selection->paddings[i].bytes,
                                           .full_name = AGGREGATE_NAME,
                                           .full_name_size = sizeof AGGREGATE_NAME - 1,
                                           .path = (uint32_t)to->path_count - 1,
                                           .component = (uint32_t)to->component_count - 1,
                                           .segment = segment};
    }
    return SXT_OK;
}

static int by_symbol(const void *a, const void *b)
{
    const struct sxt_size_model_disassembly *left = a, *right = b;
    return (left->symbol > right->symbol) - (left->symbol < right->symbol);
}

static int copy_disassemblies(struct copying *copying, sxt_error *error)
{
    const struct sxt_size_selection *selection = copying->selection;
    struct sxt_size_info *to = copying->to;
    to->disassemblies = sxt_arena_calloc(&to->arena, selection->disassembly_count, sizeof *to->disassemblies);
    if (to->disassemblies == NULL)
        return no_memory(copying->from, error);
    for (size_t i = 0; i < selection->disassembly_count; i++) {
        uint32_t symbol = copying->symbols[selection->disassemblies[i].symbol];
        if (symbol == 0)
            continue;
        struct sxt_size_model_disassembly *made = &to->disassemblies[to->disassembly_count++];
        made->symbol = symbol - 1;
        if (!copy_string(&to->arena, selection->disassemblies[i].text, &made->text))
            return no_memory(copying->from, error);
    }
    qsort(to->disassemblies, to->disassembly_count, sizeof *to->disassemblies, by_symbol);
    return SXT_OK;
}
