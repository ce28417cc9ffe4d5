/*
 * parts.c: which sets the parts of uploads make. It follows from the names alone, so every server comes to the same
 * result.
 *
 * The parts of one kind, generation and number of parts are a line. Walking along a line in the order of times, each
 * part goes into the set that is being collected, in place of an earlier one with its number. When every number is
 * there, the set is complete, and the next part begins another one. Parts up to the time of the line's newest entry
 * are in that entry already, or were replaced before, and do not count. A set to which nothing was added for a day (or
 * what else the options say) was given up: the next part begins another one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "catalog/private.h"

/* What a client says about the number of parts does not decide how much memory is taken. */
#define PARTS_TRUSTED 65536

int64_t sxt_catalog_settled_until(const struct sxt_catalog_listing *listing, enum sxt_catalog_kind kind,
                                  uint64_t generation, uint32_t parts)
{
    char letter = kind == SXT_CATALOG_PADS ? SXT_ENTRY_PADS : SXT_ENTRY_RANGES;
    int64_t time = INT64_MIN;
    for (size_t i = 0; i < listing->entry_count; i++) {
        const struct sxt_catalog_entry_name *entry = &listing->entries[i];
        if (entry->kind == letter && entry->generation == generation && entry->parts == parts && entry->time > time)
            time = entry->time;
    }
    return time;
}

bool sxt_catalog_same_line(const struct sxt_catalog_part_name *a, const struct sxt_catalog_part_name *b)
{
    return a->kind == b->kind && a->generation == b->generation && a->parts == b->parts;
}

static bool add_set(struct sxt_catalog_set **list, size_t *count, size_t *capacity, const struct sxt_catalog_set *set)
{
    void *moved = sxt_array_grow(*list, capacity, *count + 1, sizeof **list);
    if (moved == NULL)
        return false;
    *list = moved;
    (*list)[(*count)++] = *set;
    return true;
}

/* Walks along COUNT parts of one line, which begin at PARTS. */
static bool walk(const struct sxt_catalog_part_name *parts, size_t count, int64_t settled, int64_t stale_us,
                 struct sxt_catalog_set *complete, struct sxt_catalog_set *set)
{
    if (set->parts <= PARTS_TRUSTED || count >= set->parts) {
        set->items = calloc(set->parts, sizeof(*set->items));
        if (set->items == NULL)
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (parts[i].time <= settled)
            continue;
        if (set->there > 0 && parts[i].time - set->time > stale_us) {
            set->there = 0;
            if (set->items != NULL)
                memset(set->items, 0, set->parts * sizeof(*set->items));
        }
        set->time = parts[i].time;
        set->there += set->items == NULL || set->items[parts[i].part] == NULL;
        if (set->items == NULL)
            continue;
        set->items[parts[i].part] = &parts[i];
        if (set->there < set->parts)
            continue;
        free(complete->items);
        *complete = *set;
        set->there = 0;
        set->items = calloc(set->parts, sizeof(*set->items));
        if (set->items == NULL)
            return false;
    }
    return true;
}

static int compare_sets(const void *left, const void *right)
{
    const struct sxt_catalog_set *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->parts != b->parts)
        return a->parts < b->parts ? -1 : 1;
    return (a->generation > b->generation) - (a->generation < b->generation);
}

/* Adds the sets of one line. */
static bool add_line(const struct sxt_catalog_listing *listing, const struct sxt_catalog_part_name *parts, size_t count,
                     int64_t stale_us, struct sxt_catalog_sets *out)
{
    int64_t settled = sxt_catalog_settled_until(listing, parts->kind, parts->generation, parts->parts);
    struct sxt_catalog_set set = {.kind = parts->kind, .generation = parts->generation, .parts = parts->parts};
    struct sxt_catalog_set complete = {0};
    bool is_good = walk(parts, count, settled, stale_us, &complete, &set);
    if (is_good && complete.items != NULL) {
        is_good = add_set(&out->complete, &out->complete_count, &out->complete_capacity, &complete);
        if (is_good)
            complete.items = NULL;
    }
    if (is_good && set.there > 0) {
        is_good = add_set(&out->collecting, &out->collecting_count, &out->collecting_capacity, &set);
        if (is_good)
            set.items = NULL;
    }
    free(complete.items);
    free(set.items);
    return is_good;
}

int sxt_catalog_find_sets(const struct sxt_catalog *catalog, const struct sxt_catalog_listing *listing,
                          struct sxt_catalog_sets *out, sxt_error *error)
{
    uint64_t stale = catalog->options.stale_seconds;
    int64_t stale_us = stale < INT64_MAX / 2000000 ? (int64_t)stale * 1000000 : INT64_MAX / 2;
    *out = (struct sxt_catalog_sets){0};
    bool is_good = true;
    for (size_t first = 0, end; first < listing->part_count && is_good; first = end) {
        const struct sxt_catalog_part_name *parts = &listing->parts[first];
        for (end = first + 1; end < listing->part_count && sxt_catalog_same_line(parts, &listing->parts[end]);)
            end++;
        is_good = add_line(listing, parts, end - first, stale_us, out);
    }
    if (out->complete_count > 0)
        qsort(out->complete, out->complete_count, sizeof *out->complete, compare_sets);
    if (out->collecting_count > 0)
        qsort(out->collecting, out->collecting_count, sizeof *out->collecting, compare_sets);
    return is_good ? SXT_OK : sxt_fail_memory(error, listing->part_count * sizeof(void *));
}

void sxt_catalog_sets_free(struct sxt_catalog_sets *sets)
{
    for (size_t i = 0; i < sets->complete_count; i++)
        free(sets->complete[i].items);
    for (size_t i = 0; i < sets->collecting_count; i++)
        free(sets->collecting[i].items);
    free(sets->complete);
    free(sets->collecting);
    *sets = (struct sxt_catalog_sets){0};
}
