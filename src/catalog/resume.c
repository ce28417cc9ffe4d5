/* resume.c: what is there of an upload that a client began. */
#include <stdlib.h>

#include "base/error.h"
#include "catalog/private.h"

/* Whether the newest complete upload of the kind is one of this line. */
static bool is_newest(const struct sxt_catalog_listing *listing, const struct sxt_catalog_sets *sets,
                      const struct sxt_catalog_part_name *line)
{
    char letter = line->kind == SXT_CATALOG_PADS ? SXT_ENTRY_PADS : SXT_ENTRY_RANGES;
    const struct sxt_catalog_entry_name *newest = NULL;
    for (size_t i = 0; i < listing->entry_count; i++)
        if (listing->entries[i].kind == letter && (newest == NULL || listing->entries[i].time > newest->time))
            newest = &listing->entries[i];
    if (sets->complete_count > 0 && (newest == NULL || sets->complete[sets->complete_count - 1].time > newest->time))
        return true;
    return newest != NULL && newest->generation == line->generation && newest->parts == line->parts;
}

/* A set that the next part would not continue does not count. */
static bool is_given_up(const struct sxt_catalog *catalog, const struct sxt_catalog_set *set)
{
    uint64_t stale = catalog->options.stale_seconds;
    int64_t age = sxt_catalog_now() - set->time;
    return age > 0 && (uint64_t)age / 1000000 >= stale;
}

static int take_parts(const struct sxt_catalog_set *set, struct sxt_catalog_progress *out, sxt_error *error)
{
    out->parts = calloc(set->there, sizeof *out->parts);
    if (out->parts == NULL)
        return sxt_fail_memory(error, set->there * sizeof *out->parts);
    for (uint32_t i = 0; i < set->parts; i++)
        if (set->items[i] != NULL)
            out->parts[out->count++] = i;
    return SXT_OK;
}

int sxt_catalog_find_upload(struct sxt_catalog *catalog, const struct sxt_catalog_part *upload,
                            struct sxt_catalog_progress *out, sxt_error *error)
{
    const struct sxt_catalog_part_name line = {
        .kind = upload->kind, .generation = sxt_catalog_generation_of(upload->generation), .parts = upload->parts};
    struct sxt_catalog_listing listing;
    struct sxt_catalog_sets sets = {0};
    *out = (struct sxt_catalog_progress){0};
    int status = sxt_catalog_list_line(catalog, upload->tenant, upload->file_id.text, &line, &listing, error);
    if (status == SXT_OK)
        status = sxt_catalog_find_sets(catalog, &listing, &sets, error);
    if (status == SXT_OK)
        out->is_complete = is_newest(&listing, &sets, &line);
    if (status == SXT_OK && !out->is_complete && sets.collecting_count > 0) {
        const struct sxt_catalog_set *set = &sets.collecting[sets.collecting_count - 1];
        if (set->items != NULL && !is_given_up(catalog, set))
            status = take_parts(set, out, error);
    }
    sxt_catalog_sets_free(&sets);
    sxt_catalog_listing_free(&listing);
    return status;
}
