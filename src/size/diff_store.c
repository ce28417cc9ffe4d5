/*
 * diff_store.c: what a .sizediff file holds of a comparison: the symbols of both sides that are not the same, in the
 * order of the pairs, and the source files all of whose symbols were added or removed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/strings.h"
#include "size/private.h"
#include "size/sparse.h"

/* Source paths, and which statuses their symbols have. */
struct sources {
    struct sxt_strings paths;
    uint32_t *numbers[2]; /* by path of before and of after: its number in `paths` */
    uint8_t *statuses;    /* by number: a bit for each status */
};

static int copy_sides(const struct sxt_size_delta *delta, const struct sxt_size_disassembly *disassembly,
                      struct sxt_sizediff *out, sxt_error *error);
static int copy_sources(const struct sxt_size_delta *delta, struct sxt_sizediff *out, sxt_error *error);
static int number_paths(struct sources *sources, const struct sxt_size_delta *delta, sxt_error *error);
static void collect(struct sources *sources, const struct sxt_size_delta *delta);
static int keep_sources(const struct sources *sources, unsigned status, struct sxt_arena *arena, sxt_string **out,
                        size_t *count, sxt_error *error);

int sxt_size_make_sizediff(const struct sxt_size_delta *delta, const struct sxt_size_disassembly *disassembly,
                           struct sxt_sizediff *out, sxt_error *error)
{
    *out = (struct sxt_sizediff){.before = NULL};
    int status = copy_sides(delta, disassembly, out, error);
    if (status == SXT_OK)
        status = copy_sources(delta, out, error);
    if (status != SXT_OK)
        sxt_sizediff_free(out);
    return status;
}

static int copy_sides(const struct sxt_size_delta *delta, const struct sxt_size_disassembly *disassembly,
                      struct sxt_sizediff *out, sxt_error *error)
{
    struct sxt_size_selection before = {.from = NULL}, after = {.from = NULL};
    int status = sxt_size_selection_open(&before, delta->before, error);
    if (status == SXT_OK)
        status = sxt_size_selection_open(&after, delta->after, error);
    for (size_t i = 0; i < delta->pair_count && status == SXT_OK; i++) {
        const struct sxt_size_pair *pair = &delta->pairs[i];
        if (pair->status == SXT_SIZE_UNCHANGED)
            continue;
        if (pair->before != SXT_SIZE_NONE)
            sxt_size_select(&before, pair->before);
        if (pair->after != SXT_SIZE_NONE)
            sxt_size_select(&after, pair->after);
    }
    after.paddings = delta->paddings;
    after.padding_count = delta->padding_count;
    if (disassembly != NULL) {
        after.disassemblies = disassembly->items;
        after.disassembly_count = disassembly->count;
    }
    if (status == SXT_OK)
        status = sxt_size_selection_copy(&before, &out->before, error);
    if (status == SXT_OK)
        status = sxt_size_selection_copy(&after, &out->after, error);
    sxt_size_selection_close(&before);
    sxt_size_selection_close(&after);
    return status;
}

static int copy_sources(const struct sxt_size_delta *delta, struct sxt_sizediff *out, sxt_error *error)
{
    struct sources sources = {.statuses = NULL};
    int status = sxt_strings_init(&sources.paths, 0, error);
    if (status != SXT_OK)
        return status;
    status = number_paths(&sources, delta, error);
    if (status == SXT_OK) {
        collect(&sources, delta);
        status = keep_sources(&sources, 1U << SXT_SIZE_REMOVED, &out->before->arena, &out->removed_sources,
                              &out->removed_source_count, error);
    }
    if (status == SXT_OK)
        status = keep_sources(&sources, 1U << SXT_SIZE_ADDED, &out->after->arena, &out->added_sources,
                              &out->added_source_count, error);
    sxt_strings_free(&sources.paths);
    free(sources.numbers[0]);
    free(sources.numbers[1]);
    free(sources.statuses);
    return status;
}

static int number_paths(struct sources *sources, const struct sxt_size_delta *delta, sxt_error *error)
{
    const struct sxt_size_info *sizes[] = {delta->before, delta->after};
    for (int side = 0; side < 2; side++) {
        sources->numbers[side] = malloc((sizes[side]->path_count + 1) * sizeof *sources->numbers[side]);
        if (sources->numbers[side] == NULL)
            return sxt_fail_memory(error, sizes[side]->path_count * sizeof *sources->numbers[side]);
        for (size_t i = 0; i < sizes[side]->path_count; i++) {
            sxt_string source = sizes[side]->paths[i].source;
            sources->numbers[side][i] =
                sxt_strings_add(&sources->paths, source.size == 0 ? "" : source.data, source.size);
            if (sources->numbers[side][i] == SXT_STRINGS_FULL)
                return sxt_fail_memory(error, source.size);
        }
    }
    sources->statuses = calloc(sources->paths.count, 1);
    return sources->statuses == NULL ? sxt_fail_memory(error, sources->paths.count) : SXT_OK;
}

static void collect(struct sources *sources, const struct sxt_size_delta *delta)
{
    for (size_t i = 0; i < delta->pair_count; i++) {
        const struct sxt_size_pair *pair = &delta->pairs[i];
        uint32_t number = pair->after != SXT_SIZE_NONE ? sources->numbers[1][delta->after->symbols[pair->after].path]
                                                       : sources->numbers[0][delta->before->symbols[pair->before].path];
        sources->statuses[number] |= (uint8_t)(1U << pair->status);
    }
    /* Summed up padding has no source, and comes as a symbol that was added. */
    if (delta->padding_count > 0)
        sources->statuses[0] |= 1U << SXT_SIZE_ADDED;
}

static int by_bytes(const void *a, const void *b)
{
    return sxt_string_compare(*(const sxt_string *)a, *(const sxt_string *)b);
}

/* Those that have symbols of this status and of no other, sorted. */
static int keep_sources(const struct sources *sources, unsigned status, struct sxt_arena *arena, sxt_string **out,
                        size_t *count, sxt_error *error)
{
    size_t wanted = 0;
    for (uint32_t i = 0; i < sources->paths.count; i++)
        wanted += sources->statuses[i] == status;
    *out = sxt_arena_calloc(arena, wanted, sizeof **out);
    if (*out == NULL)
        return sxt_fail_memory(error, wanted * sizeof **out);
    for (uint32_t i = 0; i < sources->paths.count; i++)
        if (sources->statuses[i] == status) {
            sxt_string path = sxt_strings_get(&sources->paths, i);
            const char *copy = sxt_arena_copy(arena, path.data, path.size);
            if (copy == NULL)
                return sxt_fail_memory(error, path.size);
            (*out)[(*count)++] = (sxt_string){copy, path.size};
        }
    qsort(*out, *count, sizeof **out, by_bytes);
    return SXT_OK;
}
