/* listing.c: what the names of a binary's objects say. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "catalog/private.h"

void sxt_catalog_listing_free(struct sxt_catalog_listing *listing)
{
    free(listing->parts);
    free(listing->entries);
    free(listing->same);
    *listing = (struct sxt_catalog_listing){0};
}

static void note_time(struct sxt_catalog_listing *listing, int64_t time)
{
    if (time > listing->last_time)
        listing->last_time = time;
}

static bool add_part(struct sxt_catalog_listing *listing, const struct sxt_catalog_part_name *part)
{
    void *moved =
        sxt_array_grow(listing->parts, &listing->part_capacity, listing->part_count + 1, sizeof *listing->parts);
    if (moved == NULL)
        return false;
    listing->parts = moved;
    listing->parts[listing->part_count++] = *part;
    note_time(listing, part->time);
    return true;
}

static bool add_entry(struct sxt_catalog_listing *listing, const struct sxt_catalog_entry_name *entry)
{
    void *moved =
        sxt_array_grow(listing->entries, &listing->entry_capacity, listing->entry_count + 1, sizeof *listing->entries);
    if (moved == NULL)
        return false;
    listing->entries = moved;
    listing->entries[listing->entry_count++] = *entry;
    note_time(listing, entry->time);
    return true;
}

static bool add_same(struct sxt_catalog_listing *listing, sxt_string id)
{
    void *moved =
        sxt_array_grow(listing->same, &listing->same_capacity, listing->same_count + 1, sizeof *listing->same);
    if (moved == NULL)
        return false;
    listing->same = moved;
    struct sxt_catalog_id *added = &listing->same[listing->same_count++];
    memcpy(added->text, id.data, id.size);
    added->text[id.size] = 0;
    return true;
}

static sxt_string after(sxt_string text, size_t size)
{
    return (sxt_string){text.data + size, text.size - size};
}

bool sxt_catalog_listing_add(struct sxt_catalog_listing *listing, sxt_string name)
{
    struct sxt_catalog_part_name part;
    struct sxt_catalog_entry_name entry;
    if (sxt_string_begins(name, "part/") && sxt_catalog_parse_part(after(name, 5), &part))
        return add_part(listing, &part);
    if (sxt_string_begins(name, "symbols/") && sxt_catalog_parse_entry_name(after(name, 8), &entry))
        return add_entry(listing, &entry);
    if (sxt_string_begins(name, "same/") && sxt_catalog_id_is_valid(after(name, 5)))
        return add_same(listing, after(name, 5));
    listing->unknown++;
    return true;
}

static int compare_parts(const void *left, const void *right)
{
    const struct sxt_catalog_part_name *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->generation != b->generation)
        return a->generation < b->generation ? -1 : 1;
    if (a->parts != b->parts)
        return a->parts < b->parts ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Names of one line come in this order already. */
static bool is_sorted(const struct sxt_catalog_listing *listing)
{
    for (size_t i = 1; i < listing->part_count; i++)
        if (compare_parts(&listing->parts[i - 1], &listing->parts[i]) > 0)
            return false;
    return true;
}

void sxt_catalog_listing_sort(struct sxt_catalog_listing *listing)
{
    if (!is_sorted(listing))
        qsort(listing->parts, listing->part_count, sizeof *listing->parts, compare_parts);
}

struct visiting {
    struct sxt_catalog_listing *listing;
    size_t prefix; /* of each key, before the name */
};

static int visit(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct visiting *visiting = data;
    return sxt_catalog_listing_add(visiting->listing, sxt_string_of(key + visiting->prefix)) ? SXT_OK
                                                                                             : SXT_ERROR_MEMORY;
}

/* Adds what is in FOLDER of a binary; WORDS: it has no folders, and sizes are not needed. */
static int list_folder(struct sxt_catalog *catalog, const char *tenant, const char *id, const char *folder, bool words,
                       struct sxt_catalog_listing *out, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    int status = sxt_catalog_key(key, tenant, id, error, "%s", folder);
    struct visiting visiting = {out, strlen(key) - strlen(folder)};
    if (status == SXT_OK)
        status = words ? sxt_store_list_words(catalog->store, key, visit, &visiting, error)
                       : sxt_store_list(catalog->store, key, visit, &visiting, error);
    return status == SXT_ERROR_MEMORY ? sxt_fail_memory(error, sizeof *out) : status;
}

static int finish(struct sxt_catalog_listing *out, int status)
{
    if (status == SXT_OK)
        sxt_catalog_listing_sort(out);
    else
        sxt_catalog_listing_free(out);
    return status;
}

int sxt_catalog_list_binary(struct sxt_catalog *catalog, const char *tenant, const char *id, bool exact,
                            struct sxt_catalog_listing *out, sxt_error *error)
{
    *out = (struct sxt_catalog_listing){0};
    if (!exact)
        return finish(out, list_folder(catalog, tenant, id, "", false, out, error));
    int status = list_folder(catalog, tenant, id, "part/", false, out, error);
    if (status == SXT_OK)
        status = list_folder(catalog, tenant, id, "symbols/", true, out, error);
    if (status == SXT_OK)
        status = list_folder(catalog, tenant, id, "same/", true, out, error);
    return finish(out, status);
}

int sxt_catalog_list_line(struct sxt_catalog *catalog, const char *tenant, const char *id,
                          const struct sxt_catalog_part_name *line, struct sxt_catalog_listing *out, sxt_error *error)
{
    char folder[160];
    *out = (struct sxt_catalog_listing){0};
    sxt_catalog_print_line(folder, sizeof folder, line);
    int status = list_folder(catalog, tenant, id, folder, true, out, error);
    if (status == SXT_OK)
        status = list_folder(catalog, tenant, id, "symbols/", true, out, error);
    if (status == SXT_OK)
        status = list_folder(catalog, tenant, id, "same/", true, out, error);
    return finish(out, status);
}
