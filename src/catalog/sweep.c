/*
 * sweep.c: removes what is not needed any more. Servers may go on working meanwhile:
 *
 * - Parts that an entry replaces, and sets that nobody completed for a day, are removed before the entries that replace
 *   them, so that no part counts twice.
 * - A blob is removed if it is older than an hour and no entry names it. Blobs are listed before entries: an entry that
 *   is added later has blobs that were written later. Right before a blob is removed, its age is looked at again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"

#define BLOB_AGE_US   ((int64_t)3600 * 1000000)
#define NOTE_AGE_US   ((int64_t)SXT_CATALOG_MISSING_SECONDS * 1000000)
#define PAGE_AGE_US   ((int64_t)7 * 86400 * 1000000) /* a page that is missing is made again */
#define TEMPORARY_AGE 3600                           /* seconds */

/* The SHA-256 of a blob. */
struct digest {
    uint8_t bytes[SXT_SHA256_SIZE];
};

struct sweep {
    struct sxt_catalog *catalog;
    int64_t now, retention_us; /* retention 0: none */
    bool dry_run;
    struct sxt_catalog_swept *out;
    struct digest *used; /* blobs that entries name */
    size_t used_count, used_capacity;
    struct digest *old; /* blobs that were old when they were listed */
    size_t old_count, old_capacity;
};

/* --- removing --- */

static int remove_object(struct sweep *sweep, const char *key, uint64_t size, sxt_error *error)
{
    sweep->out->objects++;
    sweep->out->bytes += size;
    return sweep->dry_run ? SXT_OK : sxt_store_remove(sweep->catalog->store, key, error);
}

static int remove_part(struct sweep *sweep, const char *tenant, const char *id,
                       const struct sxt_catalog_part_name *part, sxt_error *error)
{
    char name[160], key[SXT_CATALOG_KEY_ROOM];
    struct sxt_store_object *object;
    uint64_t size = 0;
    sxt_catalog_print_part(name, sizeof name, part);
    int status = sxt_catalog_key(key, tenant, id, error, "%s", name);
    if (status == SXT_OK && sxt_store_open_object(sweep->catalog->store, key, &object, NULL) == SXT_OK) {
        size = sxt_store_object_size(object);
        sxt_store_close_object(&object);
    }
    return status == SXT_OK ? remove_object(sweep, key, size, error) : status;
}

static int remove_entry(struct sweep *sweep, const char *tenant, const char *id,
                        const struct sxt_catalog_entry_name *entry, sxt_error *error)
{
    char name[128], key[SXT_CATALOG_KEY_ROOM];
    sxt_catalog_print_entry_name(name, sizeof name, entry);
    int status = sxt_catalog_key(key, tenant, id, error, "%s", name);
    return status == SXT_OK ? remove_object(sweep, key, 0, error) : status;
}

static bool is_expired(const struct sweep *sweep, int64_t time)
{
    return sweep->retention_us > 0 && time < sweep->now - sweep->retention_us;
}

/* --- parts --- */

static bool is_stale(const struct sweep *sweep, const struct sxt_catalog_sets *sets,
                     const struct sxt_catalog_part_name *part)
{
    int64_t age = (int64_t)sweep->catalog->options.stale_seconds * 1000000;
    for (size_t i = 0; i < sets->collecting_count; i++) {
        const struct sxt_catalog_set *set = &sets->collecting[i];
        if (set->kind == part->kind && set->generation == part->generation && set->parts == part->parts)
            return set->time < sweep->now - age;
    }
    return false;
}

static int sweep_parts(struct sweep *sweep, const char *tenant, const char *id,
                       const struct sxt_catalog_listing *listing, sxt_error *error)
{
    struct sxt_catalog_sets sets;
    int status = sxt_catalog_find_sets(sweep->catalog, listing, &sets, error);
    for (size_t i = 0; i < listing->part_count && status == SXT_OK; i++) {
        const struct sxt_catalog_part_name *part = &listing->parts[i];
        bool is_settled = part->time <= sxt_catalog_settled_until(listing, part->kind, part->generation, part->parts);
        bool is_complete = false;
        for (size_t k = 0; k < sets.complete_count; k++)
            is_complete |= sets.complete[k].kind == part->kind && sets.complete[k].generation == part->generation &&
                           sets.complete[k].parts == part->parts;
        /* A complete set waits for somebody who merges it. A settled part may be one that is getting a new time. */
        if ((is_settled && part->time < sweep->now - BLOB_AGE_US) ||
            (!is_settled && !is_complete && is_stale(sweep, &sets, part)) || is_expired(sweep, part->time))
            status = remove_part(sweep, tenant, id, part, error);
    }
    sxt_catalog_sets_free(&sets);
    return status;
}

/* --- entries --- */

/* Does B make A superfluous? Of pushes the newest counts, of files the best. */
static bool replaces(const struct sxt_catalog_entry_name *b, const struct sxt_catalog_entry_name *a)
{
    if (a == b || a->kind != b->kind)
        return false;
    bool is_pushed = a->kind == SXT_ENTRY_RANGES || a->kind == SXT_ENTRY_PADS;
    if (!is_pushed && a->quality != b->quality)
        return b->quality > a->quality;
    return b->time != a->time ? b->time > a->time : b->hash > a->hash;
}

static int use_entry(struct sweep *sweep, const char *tenant, const char *id, const struct sxt_catalog_entry_name *name,
                     sxt_error *error);

/* Several debug files of one build ID may have different parts of it: all are kept. */
static bool is_superfluous(const struct sxt_catalog_listing *listing, const struct sxt_catalog_entry_name *entry)
{
    if (entry->kind == SXT_ENTRY_DEBUG)
        return false;
    for (size_t i = 0; i < listing->entry_count; i++)
        if (replaces(&listing->entries[i], entry))
            return true;
    return false;
}

/*
 * Parts of the line of an entry are removed before it. Parts that are not old enough for that keep the entry. The entry
 * that is the newest of its line can go only with its parts.
 */
static bool has_parts(const struct sxt_catalog_listing *listing, const struct sxt_catalog_entry_name *entry)
{
    enum sxt_catalog_kind kind = entry->kind == SXT_ENTRY_PADS ? SXT_CATALOG_PADS : SXT_CATALOG_RANGES;
    if (entry->kind != SXT_ENTRY_RANGES && entry->kind != SXT_ENTRY_PADS)
        return false;
    for (size_t i = 0; i < listing->part_count; i++)
        if (listing->parts[i].kind == kind && listing->parts[i].generation == entry->generation &&
            listing->parts[i].parts == entry->parts && listing->parts[i].time <= entry->time)
            return true;
    return false;
}

/* Links of which both ends have nothing else, and which are not new: the first part of an upload comes after them. */
struct links {
    struct sweep *sweep;
    struct sxt_catalog_words old; /* keys */
};

static bool keep_key(struct sxt_catalog_words *keys, const char *key);

static int visit_link(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    struct links *links = data;
    int64_t age = (int64_t)links->sweep->catalog->options.stale_seconds * 1000000;
    if (modified_us > links->sweep->now - age)
        return SXT_OK;
    return keep_key(&links->old, key) ? SXT_OK : SXT_ERROR_MEMORY;
}

static int sweep_links(struct sweep *sweep, const char *tenant, const char *id, sxt_error *error)
{
    struct links links = {.sweep = sweep};
    struct sxt_catalog_closure closure;
    char key[SXT_CATALOG_KEY_ROOM];
    bool is_empty = true;
    int status = sxt_catalog_list_closure(sweep->catalog, tenant, id, false, &closure, error);
    for (size_t i = 0; i < closure.count && status == SXT_OK; i++)
        is_empty &= closure.list[i].listing.entry_count + closure.list[i].listing.part_count == 0;
    sxt_catalog_closure_free(&closure);
    if (status != SXT_OK || !is_empty)
        return status;
    status = sxt_catalog_key(key, tenant, id, error, "same/");
    if (status == SXT_OK)
        status = sxt_store_list(sweep->catalog->store, key, visit_link, &links, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, sizeof links);
    for (size_t i = 0; i < links.old.count && status == SXT_OK; i++)
        status = remove_object(sweep, links.old.list[i], 0, error);
    sxt_catalog_words_free(&links.old);
    return status;
}

static int sweep_binary(struct sweep *sweep, const char *tenant, const char *id, sxt_error *error)
{
    struct sxt_catalog_listing listing;
    int status = sxt_catalog_list_binary(sweep->catalog, tenant, id, true, &listing, error);
    if (status != SXT_OK)
        return status;
    status = sweep_parts(sweep, tenant, id, &listing, error);
    bool is_changed = false;
    for (size_t i = 0; i < listing.entry_count && status == SXT_OK; i++) {
        const struct sxt_catalog_entry_name *entry = &listing.entries[i];
        if (is_expired(sweep, entry->time) || (is_superfluous(&listing, entry) && !has_parts(&listing, entry))) {
            is_changed = true;
            status = remove_entry(sweep, tenant, id, entry, error);
        } else {
            status = use_entry(sweep, tenant, id, entry, error);
        }
    }
    if (status == SXT_OK && listing.entry_count + listing.part_count == 0 && listing.same_count > 0)
        status = sweep_links(sweep, tenant, id, error);
    sxt_catalog_listing_free(&listing);
    if (is_changed)
        sxt_catalog_changed(sweep->catalog, tenant, id);
    return status;
}

/* --- blobs --- */

static bool add_digest(struct digest **list, size_t *count, size_t *capacity, const char *hex)
{
    void *moved = sxt_array_grow(*list, capacity, *count + 1, sizeof **list);
    if (moved == NULL)
        return false;
    *list = moved;
    struct digest *digest = &(*list)[(*count)++];
    for (size_t i = 0; i < SXT_SHA256_SIZE; i++)
        digest->bytes[i] = (uint8_t)(sxt_hex_digit(hex[2 * i]) << 4 | sxt_hex_digit(hex[2 * i + 1]));
    return true;
}

static int use_blob(struct sweep *sweep, const char *hash, sxt_error *error)
{
    if (hash[0] == 0 || add_digest(&sweep->used, &sweep->used_count, &sweep->used_capacity, hash))
        return SXT_OK;
    return sxt_fail_memory(error, sweep->used_count * sizeof *sweep->used);
}

/* An entry that cannot be read may name any blob: nothing is removed then. */
static int use_entry(struct sweep *sweep, const char *tenant, const char *id, const struct sxt_catalog_entry_name *name,
                     sxt_error *error)
{
    struct sxt_arena arena;
    struct sxt_catalog_entry entry;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    int status = sxt_catalog_get_entry(sweep->catalog, tenant, id, name, &arena, &entry, error);
    if (status == SXT_ERROR_NOT_FOUND)
        status = SXT_OK;
    else
        for (int i = 0; i < SXT_BLOB_KINDS && status == SXT_OK; i++)
            status = use_blob(sweep, entry.blobs[i].hash, error);
    sxt_arena_free(&arena);
    return status;
}

static bool is_blob_key(const char *key)
{
    if (strlen(key) != 8 + 64 || strncmp(key, "blob/", 5) != 0 || key[7] != '/' || memcmp(key + 5, key + 8, 2) != 0)
        return false;
    for (size_t i = 8; i < 72; i++)
        if (sxt_hex_digit(key[i]) < 0)
            return false;
    return true;
}

static int note_old(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    struct sweep *sweep = data;
    if (!is_blob_key(key) || modified_us > sweep->now - BLOB_AGE_US)
        return SXT_OK;
    return add_digest(&sweep->old, &sweep->old_count, &sweep->old_capacity, key + 8) ? SXT_OK : SXT_ERROR_MEMORY;
}

static int compare_digests(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct digest));
}

static bool is_in(const struct digest *list, size_t count, const struct digest *digest)
{
    return count > 0 && bsearch(digest, list, count, sizeof *list, compare_digests) != NULL;
}

/* Blobs of one folder that go, with their sizes. */
struct going {
    struct sweep *sweep;
    struct sxt_catalog_words keys;
    uint64_t *sizes;
    size_t size_capacity;
};

static int note_going(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    struct going *going = data;
    struct sweep *sweep = going->sweep;
    struct digest *digest = NULL;
    size_t count = 0, capacity = 0;
    if (!is_blob_key(key) || modified_us > sweep->now - BLOB_AGE_US)
        return SXT_OK;
    if (!add_digest(&digest, &count, &capacity, key + 8))
        return SXT_ERROR_MEMORY;
    bool is_going = is_in(sweep->old, sweep->old_count, digest) && !is_in(sweep->used, sweep->used_count, digest);
    free(digest);
    if (!is_going)
        return SXT_OK;
    struct sxt_catalog_words *keys = &going->keys;
    void *moved = sxt_array_grow(keys->list, &keys->capacity, keys->count + 1, sizeof *keys->list);
    if (moved != NULL)
        keys->list = moved;
    void *sizes = sxt_array_grow(going->sizes, &going->size_capacity, keys->count + 1, sizeof *going->sizes);
    if (sizes != NULL)
        going->sizes = sizes;
    char *copy = strdup(key);
    if (moved == NULL || sizes == NULL || copy == NULL) {
        free(copy);
        return SXT_ERROR_MEMORY;
    }
    going->sizes[keys->count] = size;
    keys->list[keys->count++] = copy;
    return SXT_OK;
}

static int sweep_folder(struct sweep *sweep, const char *folder, sxt_error *error)
{
    char prefix[SXT_CATALOG_KEY_ROOM];
    struct going going = {.sweep = sweep};
    snprintf(prefix, sizeof prefix, "blob/%s/", folder);
    int status = sxt_store_list(sweep->catalog->store, prefix, note_going, &going, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, going.keys.count * sizeof *going.sizes);
    for (size_t i = 0; i < going.keys.count && status == SXT_OK; i++)
        status = remove_object(sweep, going.keys.list[i], going.sizes[i], error);
    sxt_catalog_words_free(&going.keys);
    free(going.sizes);
    return status;
}

static int sweep_blobs(struct sweep *sweep, sxt_error *error)
{
    struct sxt_catalog_words folders;
    if (sweep->used_count > 0)
        qsort(sweep->used, sweep->used_count, sizeof *sweep->used, compare_digests);
    if (sweep->old_count > 0)
        qsort(sweep->old, sweep->old_count, sizeof *sweep->old, compare_digests);
    int status = sxt_catalog_list_words(sweep->catalog, "blob/", &folders, error);
    for (size_t i = 0; i < folders.count && status == SXT_OK; i++)
        status = sweep_folder(sweep, folders.list[i], error);
    sxt_catalog_words_free(&folders);
    return status;
}

/* --- tenants --- */

struct dated {
    struct sweep *sweep;
    struct sxt_catalog_words old; /* keys */
    int status;
};

static int64_t time_at(const char *word)
{
    uint64_t time;
    size_t size = strcspn(word, "-");
    return sxt_hex_parse((sxt_string){word, size}, &time) && time < INT64_MAX ? (int64_t)time : INT64_MAX;
}

static bool keep_key(struct sxt_catalog_words *keys, const char *key)
{
    void *moved = sxt_array_grow(keys->list, &keys->capacity, keys->count + 1, sizeof *keys->list);
    if (moved == NULL)
        return false;
    keys->list = moved;
    char *copy = strdup(key);
    if (copy == NULL)
        return false;
    keys->list[keys->count++] = copy;
    return true;
}

/* Notes that are about a moment: what upstream servers do not have, uploads that were announced. */
static int visit_note(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct dated *dated = data;
    const char *word = strrchr(key, '/') + 1;
    if (time_at(word) >= dated->sweep->now - NOTE_AGE_US)
        return SXT_OK;
    return keep_key(&dated->old, key) ? SXT_OK : SXT_ERROR_MEMORY;
}

/* A source file is used, or too old. */
static int visit_source(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct dated *dated = data;
    struct sxt_catalog_source source;
    if (!sxt_catalog_parse_source(sxt_string_of(strrchr(key, '/') + 1), &source))
        return SXT_OK;
    if (is_expired(dated->sweep, source.time))
        return keep_key(&dated->old, key) ? SXT_OK : SXT_ERROR_MEMORY;
    return use_blob(dated->sweep, source.blob.hash, NULL);
}

static int sweep_dated(struct sweep *sweep, const char *prefix, sxt_store_visit *visit, sxt_error *error)
{
    struct dated dated = {.sweep = sweep};
    int status = sxt_store_list(sweep->catalog->store, prefix, visit, &dated, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, dated.old.count * sizeof(char *));
    for (size_t i = 0; i < dated.old.count && status == SXT_OK; i++)
        status = remove_object(sweep, dated.old.list[i], 0, error);
    sxt_catalog_words_free(&dated.old);
    return status;
}

/* --- reports --- */

struct reports {
    struct sweep *sweep;
    size_t skipped; /* bytes of the prefix */
    struct sxt_catalog_words old;
    char last_key[SXT_CATALOG_KEY_ROOM];
    struct sxt_catalog_report last;
};

/* One is replaced by the next of its name, or too old. */
static int visit_report(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct reports *reports = data;
    struct sxt_catalog_report report;
    if (!sxt_catalog_parse_report(key + reports->skipped, &report))
        return SXT_OK;
    bool is_replaced = strcmp(report.name, reports->last.name) == 0;
    if (is_replaced && !is_expired(reports->sweep, reports->last.time_us) &&
        !sxt_catalog_words_add(&reports->old, reports->last_key))
        return SXT_ERROR_MEMORY;
    if (is_expired(reports->sweep, report.time_us) && !sxt_catalog_words_add(&reports->old, key))
        return SXT_ERROR_MEMORY;
    reports->last = report;
    snprintf(reports->last_key, sizeof reports->last_key, "%s", key);
    return SXT_OK;
}

static int visit_page(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    struct reports *reports = data;
    if (modified_us >= reports->sweep->now - PAGE_AGE_US && !is_expired(reports->sweep, modified_us))
        return SXT_OK;
    return sxt_catalog_words_add(&reports->old, key) ? SXT_OK : SXT_ERROR_MEMORY;
}

static int sweep_reports(struct sweep *sweep, const char *prefix, sxt_store_visit *visit, sxt_error *error)
{
    struct reports reports = {.sweep = sweep, .skipped = strlen(prefix)};
    int status = sxt_store_list(sweep->catalog->store, prefix, visit, &reports, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, reports.old.count * sizeof(char *));
    for (size_t i = 0; i < reports.old.count && status == SXT_OK; i++)
        status = remove_object(sweep, reports.old.list[i], 0, error);
    sxt_catalog_words_free(&reports.old);
    return status;
}

static int compare_words(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Earlier versions of this program did not write the links of debug ids. IDS are in order. */
static int link_debug_ids(const struct sweep *sweep, const char *tenant, const struct sxt_catalog_words *ids,
                          sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = 0; i < ids->count && status == SXT_OK; i++) {
        struct sxt_catalog_id id, debug_id;
        const char *text = debug_id.text;
        if (!sxt_catalog_debug_id_of_id(ids->list[i], &debug_id) ||
            bsearch(&text, ids->list, ids->count, sizeof *ids->list, compare_words) != NULL)
            continue;
        memcpy(id.text, ids->list[i], strlen(ids->list[i]) + 1);
        status = sxt_catalog_link_debug_id(sweep->catalog, tenant, &debug_id, &id, error);
    }
    return status;
}

static int sweep_tenant(struct sweep *sweep, const char *word, sxt_error *error)
{
    char tenant[SXT_CATALOG_KEY_ROOM], prefix[SXT_CATALOG_KEY_ROOM];
    if (!sxt_catalog_tenant_of(sxt_string_of(word), tenant))
        return SXT_OK;
    struct sxt_catalog_words ids;
    snprintf(prefix, sizeof prefix, "t/%s/id/", word);
    int status = sxt_catalog_list_words(sweep->catalog, prefix, &ids, error);
    for (size_t i = 0; i < ids.count && status == SXT_OK; i++)
        if (sxt_catalog_id_is_valid(sxt_string_of(ids.list[i])))
            status = sweep_binary(sweep, tenant, ids.list[i], error);
    if (status == SXT_OK && !sweep->dry_run)
        status = link_debug_ids(sweep, tenant, &ids, error);
    sxt_catalog_words_free(&ids);
    if (status == SXT_OK) {
        snprintf(prefix, sizeof prefix, "t/%s/missing/", word);
        status = sweep_dated(sweep, prefix, visit_note, error);
    }
    if (status == SXT_OK) {
        snprintf(prefix, sizeof prefix, "t/%s/announced/", word);
        status = sweep_dated(sweep, prefix, visit_note, error);
    }
    if (status == SXT_OK) {
        snprintf(prefix, sizeof prefix, "t/%s/source/", word);
        status = sweep_dated(sweep, prefix, visit_source, error);
    }
    if (status == SXT_OK) {
        snprintf(prefix, sizeof prefix, "t/%s/report/", word);
        status = sweep_reports(sweep, prefix, visit_report, error);
    }
    if (status == SXT_OK) {
        snprintf(prefix, sizeof prefix, "t/%s/page/", word);
        status = sweep_reports(sweep, prefix, visit_page, error);
    }
    return status;
}

int sxt_catalog_sweep(struct sxt_catalog *catalog, uint64_t retention_seconds, bool dry_run,
                      struct sxt_catalog_swept *out, sxt_error *error)
{
    *out = (struct sxt_catalog_swept){0};
    struct sweep sweep = {.catalog = catalog, .now = sxt_catalog_now(), .dry_run = dry_run, .out = out};
    sweep.retention_us = retention_seconds < INT64_MAX / 1000000 ? (int64_t)retention_seconds * 1000000 : INT64_MAX / 2;
    struct sxt_catalog_words tenants = {0};
    uint64_t bytes = 0;
    int status = sxt_store_list(catalog->store, "blob/", note_old, &sweep, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, sweep.old_count * sizeof *sweep.old);
    if (status == SXT_OK)
        status = sxt_catalog_list_words(catalog, "t/", &tenants, error);
    for (size_t i = 0; i < tenants.count && status == SXT_OK; i++)
        status = sweep_tenant(&sweep, tenants.list[i], error);
    if (status == SXT_OK)
        status = sweep_blobs(&sweep, error);
    if (status == SXT_OK && !dry_run) {
        status = sxt_store_sweep(catalog->store, TEMPORARY_AGE, &bytes, error);
        out->bytes += bytes;
    }
    sxt_catalog_words_free(&tenants);
    free(sweep.used);
    free(sweep.old);
    return status;
}
