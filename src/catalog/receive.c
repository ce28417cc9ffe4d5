/* receive.c: parts of uploads come in; complete sets become entries. catalog.h has the rules. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/string.h"
#include "catalog/private.h"

/* How often a part is given a new time because a set was completed without it. */
#define ATTEMPTS 16

int64_t sxt_catalog_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t sxt_catalog_new_time(struct sxt_catalog *catalog, int64_t after)
{
    int64_t now = sxt_catalog_now(), last = atomic_load(&catalog->last_time), time;
    do {
        time = now > after ? now : after + 1;
        if (time <= last)
            time = last + 1;
    } while (!atomic_compare_exchange_weak(&catalog->last_time, &last, time));
    return time;
}

/* --- two ids of one binary --- */

static int put_same(struct sxt_catalog *catalog, const char *tenant, const char *id, const char *other,
                    sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    int status = sxt_catalog_key(key, tenant, id, error, "same/%s", other);
    if (status == SXT_OK)
        status = sxt_store_put(catalog->store, key, "", 0, error);
    sxt_catalog_changed(catalog, tenant, id);
    return status;
}

static bool has_same(const struct sxt_catalog_listing *listing, const char *id)
{
    for (size_t i = 0; i < listing->same_count; i++)
        if (strcmp(listing->same[i].text, id) == 0)
            return true;
    return false;
}

int sxt_catalog_link_debug_id(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *debug_id,
                              const struct sxt_catalog_id *id, sxt_error *error)
{
    if (debug_id->text[0] == 0 || id->text[0] == 0)
        return SXT_OK;
    return put_same(catalog, tenant, debug_id->text, id->text, error);
}

/*
 * The link from the build ID is written first: uploads go to the FileID, so a link from there is found by the next one
 * that looks whether all are there.
 */
int sxt_catalog_join(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *file_id,
                     const struct sxt_catalog_id *build_id, const struct sxt_catalog_listing *of_file_id,
                     sxt_error *error)
{
    if (file_id->text[0] == 0 || build_id->text[0] == 0 || (of_file_id != NULL && has_same(of_file_id, build_id->text)))
        return SXT_OK;
    struct sxt_catalog_id debug_id;
    int status = put_same(catalog, tenant, build_id->text, file_id->text, error);
    if (status == SXT_OK && sxt_catalog_debug_id_of_id(build_id->text, &debug_id))
        status = sxt_catalog_link_debug_id(catalog, tenant, &debug_id, build_id, error);
    if (status == SXT_OK)
        status = put_same(catalog, tenant, file_id->text, build_id->text, error);
    return status;
}

/* --- parts --- */

struct receiving {
    struct sxt_catalog *catalog;
    const char *tenant, *id;
    struct sxt_catalog_part_name name;
    char word[160], key[SXT_CATALOG_KEY_ROOM];
};

static int name_part(struct receiving *receiving, int64_t after, sxt_error *error)
{
    receiving->name.time = sxt_catalog_new_time(receiving->catalog, after);
    sxt_catalog_print_part(receiving->word, sizeof receiving->word, &receiving->name);
    return sxt_catalog_key(receiving->key, receiving->tenant, receiving->id, error, "%s", receiving->word);
}

static bool has_line(const char *text, const char *line)
{
    size_t size = strlen(line);
    for (const char *at = text; (at = strstr(at, line)) != NULL; at++)
        if ((at == text || at[-1] == '\n') && at[size] == '\n')
            return true;
    return false;
}

/* Is the part in an entry, or replaced by another one there? */
static int look_in_entry(const struct receiving *receiving, const struct sxt_catalog_entry_name *name, bool *is_in,
                         sxt_error *error)
{
    struct sxt_arena arena;
    struct sxt_catalog_entry entry;
    char key[SXT_CATALOG_KEY_ROOM], *text = NULL;
    size_t size;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    int status =
        sxt_catalog_get_entry(receiving->catalog, receiving->tenant, receiving->id, name, &arena, &entry, error);
    if (status == SXT_OK && entry.blobs[SXT_BLOB_PARTS].hash[0] != 0) {
        sxt_catalog_blob_key(key, entry.blobs[SXT_BLOB_PARTS].hash);
        status = sxt_store_get(receiving->catalog->store, key, (size_t)1 << 30, &text, &size, error);
        if (status == SXT_OK)
            *is_in = has_line(text, receiving->word);
        free(text);
    }
    sxt_arena_free(&arena);
    return status;
}

/* Is the part one of those that a newer entry replaces? */
static int look_in_newer(const struct receiving *receiving, const struct sxt_catalog_listing *listing, bool *is_in,
                         sxt_error *error)
{
    const struct sxt_catalog_part_name *part = &receiving->name;
    char letter = part->kind == SXT_CATALOG_PADS ? SXT_ENTRY_PADS : SXT_ENTRY_RANGES;
    int status = SXT_OK;
    *is_in = false;
    for (size_t i = 0; i < listing->entry_count && !*is_in && status == SXT_OK; i++) {
        const struct sxt_catalog_entry_name *entry = &listing->entries[i];
        if (entry->kind == letter && entry->generation == part->generation && entry->parts == part->parts &&
            entry->time >= part->time)
            status = look_in_entry(receiving, entry, is_in, error);
        if (status == SXT_ERROR_NOT_FOUND) /* a newer one replaced it */
            status = SXT_OK;
    }
    return status;
}

/*
 * Whether the part counts: an entry replaces it already, or nothing that it must follow is newer: entries, and parts of
 * its line with its number. If not, another server, whose clock is ahead or which was faster, came in between.
 */
static int check_counts(const struct receiving *receiving, const struct sxt_catalog_listing *listing, bool *counts,
                        sxt_error *error)
{
    const struct sxt_catalog_part_name *part = &receiving->name;
    int64_t newest = INT64_MIN;
    for (size_t i = 0; i < listing->entry_count; i++)
        if (listing->entries[i].time > newest)
            newest = listing->entries[i].time;
    for (size_t i = 0; i < listing->part_count; i++)
        if (listing->parts[i].part == part->part && listing->parts[i].hash != part->hash &&
            listing->parts[i].time > newest)
            newest = listing->parts[i].time;
    *counts = part->time > newest;
    return *counts ? SXT_OK : look_in_newer(receiving, listing, counts, error);
}

/*
 * Gives the part another name, later than everything in the listing. A part that is not there any more was merged: it
 * counted, in an entry that was replaced since.
 */
static int move_part(struct receiving *receiving, const struct sxt_catalog_listing *listing, bool *counted,
                     sxt_error *error)
{
    char before[SXT_CATALOG_KEY_ROOM];
    memcpy(before, receiving->key, sizeof before);
    struct sxt_store_object *object = NULL;
    struct sxt_file file;
    int status = sxt_store_open_object(receiving->catalog->store, before, &object, error);
    if (status == SXT_OK)
        status = sxt_store_map(object, &file, error);
    sxt_store_close_object(&object);
    *counted = status == SXT_ERROR_NOT_FOUND;
    if (status != SXT_OK)
        return *counted ? SXT_OK : status;
    status = name_part(receiving, listing->last_time, error);
    if (status == SXT_OK)
        status = sxt_store_put(receiving->catalog->store, receiving->key, file.data, file.size, error);
    sxt_file_close(&file);
    if (status == SXT_OK)
        status = sxt_store_remove(receiving->catalog->store, before, error);
    return status;
}

static int has_complete_set(const struct sxt_catalog *catalog, const struct sxt_catalog_listing *listing,
                            bool *is_complete, sxt_error *error)
{
    struct sxt_catalog_sets sets;
    int status = sxt_catalog_find_sets(catalog, listing, &sets, error);
    *is_complete = status == SXT_OK && sets.complete_count > 0;
    sxt_catalog_sets_free(&sets);
    return status;
}

/* After the part was written: see that it counts, and that its ids are joined. */
static int follow_up(struct receiving *receiving, const struct sxt_catalog_part *part, bool *is_complete,
                     sxt_error *error)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct sxt_catalog_line_listing *shared;
        const struct sxt_catalog_listing *listing;
        bool counts = false;
        int status = sxt_catalog_share_line(receiving->catalog, receiving->tenant, receiving->id, &receiving->name,
                                            &shared, &listing, error);
        if (status == SXT_OK)
            status = check_counts(receiving, listing, &counts, error);
        if (status == SXT_OK && !counts)
            status = move_part(receiving, listing, &counts, error);
        if (status == SXT_OK && counts) {
            status = has_complete_set(receiving->catalog, listing, is_complete, error);
            if (status == SXT_OK)
                status = sxt_catalog_join(receiving->catalog, receiving->tenant, &part->file_id, &part->build_id,
                                          listing, error);
        }
        sxt_catalog_release_line(receiving->catalog, &shared);
        if (status != SXT_OK || counts)
            return status;
    }
    return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "too many uploads of this binary at once");
}

int sxt_catalog_add_part(struct sxt_catalog *catalog, const struct sxt_catalog_part *part,
                         struct sxt_store_writing **writing, bool *is_complete, sxt_error *error)
{
    *is_complete = false;
    struct receiving receiving = {.catalog = catalog, .tenant = part->tenant, .id = part->file_id.text};
    uint8_t digest[SXT_SHA256_SIZE];
    uint64_t size;
    int status = SXT_OK;
    if (part->part >= part->parts)
        status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "part %u of %u", part->part, part->parts);
    if (status == SXT_OK)
        status = sxt_catalog_hash_writing(*writing, digest, &size, error);
    if (status == SXT_OK) {
        receiving.name = (struct sxt_catalog_part_name){.kind = part->kind,
                                                        .generation = sxt_catalog_generation_of(part->generation),
                                                        .parts = part->parts,
                                                        .part = part->part,
                                                        .hash = sxt_catalog_short_hash(digest)};
        status = name_part(&receiving, 0, error);
    }
    if (status != SXT_OK) {
        sxt_store_write_abandon(writing);
        return status;
    }
    status = sxt_store_write_commit(writing, receiving.key, error);
    if (status == SXT_OK)
        status = follow_up(&receiving, part, is_complete, error);
    sxt_catalog_changed(catalog, part->tenant, receiving.id);
    return status;
}

/* --- merging --- */

static int settle_listed(struct sxt_catalog *catalog, const char *tenant, const char *id, sxt_error *error)
{
    struct sxt_catalog_listing listing;
    struct sxt_catalog_sets sets = {0};
    int status = sxt_catalog_list_binary(catalog, tenant, id, true, &listing, error);
    if (status != SXT_OK)
        return status;
    status = sxt_catalog_find_sets(catalog, &listing, &sets, error);
    for (size_t i = 0; i < sets.complete_count && status == SXT_OK; i++)
        status = sxt_catalog_merge(catalog, tenant, id, &listing, &sets.complete[i], error);
    sxt_catalog_sets_free(&sets);
    sxt_catalog_listing_free(&listing);
    return status;
}

/* A part that is not there any more was merged by another server, which the next listing shows. */
int sxt_catalog_settle(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                       sxt_error *error)
{
    pthread_mutex_lock(&catalog->making);
    int status = SXT_ERROR_NOT_FOUND;
    for (int i = 0; i < ATTEMPTS && status == SXT_ERROR_NOT_FOUND; i++)
        status = settle_listed(catalog, tenant, id->text, error);
    pthread_mutex_unlock(&catalog->making);
    return status;
}
