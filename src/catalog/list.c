/* list.c: what a store has of each binary; removing one; what upstream servers do not have. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"

/* --- words below a prefix --- */

struct collecting {
    struct sxt_catalog_words *words;
    size_t prefix;
};

static int collect_word(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct collecting *collecting = data;
    struct sxt_catalog_words *words = collecting->words;
    const char *word = key + collecting->prefix;
    void *moved = sxt_array_grow(words->list, &words->capacity, words->count + 1, sizeof *words->list);
    if (moved == NULL)
        return SXT_ERROR_MEMORY;
    words->list = moved;
    char *copy = strndup(word, strcspn(word, "/"));
    if (copy == NULL)
        return SXT_ERROR_MEMORY;
    words->list[words->count++] = copy;
    return SXT_OK;
}

int sxt_catalog_list_words(struct sxt_catalog *catalog, const char *prefix, struct sxt_catalog_words *out,
                           sxt_error *error)
{
    *out = (struct sxt_catalog_words){0};
    struct collecting collecting = {out, strlen(prefix)};
    int status = sxt_store_list_words(catalog->store, prefix, collect_word, &collecting, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, out->count * sizeof *out->list);
    return status;
}

void sxt_catalog_words_free(struct sxt_catalog_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->list[i]);
    free(words->list);
    *words = (struct sxt_catalog_words){0};
}

/* --- listing --- */

struct listing {
    struct sxt_catalog *catalog;
    const char *tenant, *prefix;
    sxt_catalog_visit *visit;
    void *data;
    size_t left;
};

/* Adds what one entry says. The best one gives the name and the qualities. */
static void add_entry(struct sxt_catalog_listed *listed, const struct sxt_catalog_entry *entry)
{
    for (int i = 0; i < SXT_BLOB_KINDS; i++)
        if (entry->blobs[i].hash[0] != 0 &&
            !(entry->name.kind == SXT_ENTRY_BOTH && (i == SXT_BLOB_EXECUTABLE || i == SXT_BLOB_DEBUGINFO)))
            listed->size += entry->blobs[i].size;
    listed->has_executable |= entry->blobs[SXT_BLOB_EXECUTABLE].hash[0] != 0;
    listed->has_debuginfo |= entry->blobs[SXT_BLOB_DEBUGINFO].hash[0] != 0;
    if (listed->executable_hash == NULL && entry->blobs[SXT_BLOB_EXECUTABLE].hash[0] != 0)
        listed->executable_hash = entry->blobs[SXT_BLOB_EXECUTABLE].hash;
    if (listed->debuginfo_hash == NULL && entry->blobs[SXT_BLOB_DEBUGINFO].hash[0] != 0)
        listed->debuginfo_hash = entry->blobs[SXT_BLOB_DEBUGINFO].hash;
    listed->has_pads |= entry->blobs[SXT_BLOB_RETURNPADS].hash[0] != 0;
    if (listed->created_us == 0 || entry->name.time < listed->created_us)
        listed->created_us = entry->name.time;
    if (listed->name == NULL)
        listed->name = entry->module_name;
    if (listed->arch == NULL)
        listed->arch = entry->arch;
    if (listed->file_id == NULL && entry->file_id.text[0] != 0)
        listed->file_id = entry->file_id.text + 2;
    if (listed->build_id == NULL && entry->build_id.text[0] != 0)
        listed->build_id = entry->build_id.text + 2;
}

static const char *source_of(const struct sxt_catalog_entry *entry)
{
    if (entry->is_upstream)
        return "upstream";
    switch (entry->name.kind) {
    case SXT_ENTRY_RANGES:
        return "ranges";
    case SXT_ENTRY_PADS:
        return "pads";
    case SXT_ENTRY_EXECUTABLE:
        return "elf";
    default:
        return "debug";
    }
}

static void add_best(struct sxt_catalog_listed *listed, const struct sxt_catalog_entry *entry)
{
    if (listed->source != NULL)
        return;
    listed->source = source_of(entry);
    listed->has_symtab = entry->has_symtab;
    listed->has_dwarf = entry->has_dwarf;
    listed->has_lines = entry->has_lines;
    listed->has_inlines = entry->has_inlines;
    listed->has_go = entry->has_go;
    listed->functions = entry->functions;
    listed->quality = entry->name.quality;
}

static const char *missing_of(const struct sxt_catalog_listed *listed, bool is_unmerged)
{
    if (listed->source == NULL && is_unmerged)
        return "the upload is complete, but not merged: the next question for it does that";
    if (listed->source == NULL && listed->parts_wanted > 0)
        return "the upload is not complete";
    if (listed->source == NULL)
        return "no symbols";
    if (strcmp(listed->source, "pads") == 0)
        return "no ranges: only return addresses are answered";
    if (listed->functions == 0)
        return "no functions: the file is stripped, and its debug file is not there";
    if (!listed->has_lines)
        return "no lines: debug information is not there";
    return NULL;
}

/* The entries of a binary, best first; then the newest pads. The caller frees *OUT. */
static int rank_all(const struct sxt_catalog_closure *closure, struct sxt_catalog_candidate **out, size_t *count,
                    sxt_error *error)
{
    int status = sxt_catalog_rank(closure, out, count, error);
    if (status != SXT_OK)
        return status;
    struct sxt_catalog_candidate pads = sxt_catalog_best_push(closure, SXT_ENTRY_PADS);
    void *moved = realloc(*out, (*count + 1) * sizeof **out);
    if (moved == NULL) {
        free(*out);
        return sxt_fail_memory(error, (*count + 1) * sizeof **out);
    }
    *out = moved;
    if (pads.name != NULL)
        (*out)[(*count)++] = pads;
    return SXT_OK;
}

/* What is being uploaded. */
static int add_sets(const struct sxt_catalog *catalog, const struct sxt_catalog_closure *closure,
                    struct sxt_catalog_listed *listed, bool *is_unmerged, sxt_error *error)
{
    int64_t time = -1;
    *is_unmerged = false;
    int status = SXT_OK;
    for (size_t i = 0; i < closure->count && status == SXT_OK; i++) {
        struct sxt_catalog_sets sets;
        status = sxt_catalog_find_sets(catalog, &closure->list[i].listing, &sets, error);
        *is_unmerged |= sets.complete_count > 0;
        for (size_t k = 0; k < sets.collecting_count; k++) {
            if (sets.collecting[k].time < time)
                continue;
            time = sets.collecting[k].time;
            listed->parts_there = sets.collecting[k].there;
            listed->parts_wanted = sets.collecting[k].parts;
        }
        sxt_catalog_sets_free(&sets);
    }
    return status;
}

static bool matches(const struct sxt_catalog_listed *listed, const char *prefix)
{
    size_t size = strlen(prefix);
    return (listed->file_id != NULL && strncasecmp(listed->file_id, prefix, size) == 0) ||
           (listed->build_id != NULL && strncasecmp(listed->build_id, prefix, size) == 0) ||
           (listed->name != NULL && strcasestr(listed->name, prefix) != NULL);
}

/* Ids come from the names of objects, if no entry has them. */
static void add_ids(const struct sxt_catalog_closure *closure, struct sxt_catalog_listed *listed)
{
    for (size_t i = 0; i < closure->count; i++) {
        const char *id = closure->list[i].id.text;
        if (id[0] == 'f' && listed->file_id == NULL)
            listed->file_id = id + 2;
        if (id[0] == 'b' && listed->build_id == NULL)
            listed->build_id = id + 2;
    }
}

static int list_closure(struct listing *listing, const struct sxt_catalog_closure *closure, sxt_error *error)
{
    struct sxt_catalog_listed listed = {.tenant = listing->tenant, .id = closure->list[0].id.text};
    struct sxt_catalog_candidate *candidates = NULL;
    struct sxt_catalog_entry *entries = NULL;
    struct sxt_arena arena;
    size_t count = 0;
    bool is_unmerged = false;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    int status = rank_all(closure, &candidates, &count, error);
    if (status == SXT_OK) {
        entries = calloc(count + 1, sizeof *entries);
        if (entries == NULL)
            status = sxt_fail_memory(error, count * sizeof *entries);
    }
    for (size_t i = 0; i < count && status == SXT_OK; i++)
        if (sxt_catalog_get_entry(listing->catalog, listing->tenant, candidates[i].id, candidates[i].name, &arena,
                                  &entries[i], NULL) == SXT_OK) {
            add_best(&listed, &entries[i]);
            add_entry(&listed, &entries[i]);
        }
    if (status == SXT_OK)
        status = add_sets(listing->catalog, closure, &listed, &is_unmerged, error);
    add_ids(closure, &listed);
    listed.missing = missing_of(&listed, is_unmerged);
    if (status == SXT_OK && matches(&listed, listing->prefix)) {
        listing->left--;
        status = listing->visit(listing->data, &listed);
    }
    free(candidates);
    free(entries);
    sxt_arena_free(&arena);
    return status;
}

/* A binary with several ids is listed under the first of them. */
static int list_id(struct listing *listing, const char *id, sxt_error *error)
{
    struct sxt_catalog_closure closure;
    int status = sxt_catalog_list_closure(listing->catalog, listing->tenant, id, false, &closure, error);
    bool is_first = true, is_empty = true;
    for (size_t i = 0; i < closure.count && status == SXT_OK; i++) {
        is_first &= strcmp(closure.list[i].id.text, id) >= 0;
        is_empty &= closure.list[i].listing.entry_count + closure.list[i].listing.part_count == 0;
    }
    if (status == SXT_OK && is_first && !is_empty)
        status = list_closure(listing, &closure, error);
    sxt_catalog_closure_free(&closure);
    return status;
}

int sxt_catalog_list(struct sxt_catalog *catalog, const char *tenant, const char *prefix, const char *after,
                     size_t limit, sxt_catalog_visit *visit, void *data, sxt_error *error)
{
    struct listing listing = {catalog, tenant, prefix != NULL ? prefix : "", visit, data, limit};
    struct sxt_catalog_words ids = {0};
    char key[SXT_CATALOG_KEY_ROOM];
    int status = sxt_catalog_tenant_prefix(key, tenant, error);
    if (status == SXT_OK) {
        strcat(key, "id/");
        status = sxt_catalog_list_words(catalog, key, &ids, error);
    }
    for (size_t i = 0; i < ids.count && status == SXT_OK && listing.left > 0; i++)
        if (sxt_catalog_id_is_valid(sxt_string_of(ids.list[i])) && ids.list[i][0] != 'd' &&
            (after == NULL || strcmp(ids.list[i], after) > 0))
            status = list_id(&listing, ids.list[i], error);
    sxt_catalog_words_free(&ids);
    return status;
}

int sxt_catalog_describe(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         sxt_catalog_visit *visit, void *data, sxt_error *error)
{
    struct listing listing = {catalog, tenant, "", visit, data, 1};
    struct sxt_catalog_closure closure;
    int status = sxt_catalog_list_closure(catalog, tenant, id->text, false, &closure, error);
    bool is_empty = true;
    for (size_t i = 0; i < closure.count && status == SXT_OK; i++)
        is_empty &= closure.list[i].listing.entry_count + closure.list[i].listing.part_count == 0;
    if (status == SXT_OK)
        status = is_empty ? sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "nothing is known of this binary")
                          : list_closure(&listing, &closure, error);
    sxt_catalog_closure_free(&closure);
    return status;
}

/* --- removing --- */

bool sxt_catalog_words_add(struct sxt_catalog_words *words, const char *word)
{
    void *moved = sxt_array_grow(words->list, &words->capacity, words->count + 1, sizeof *words->list);
    char *copy = moved != NULL ? strdup(word) : NULL;
    if (moved != NULL)
        words->list = moved;
    if (copy != NULL)
        words->list[words->count++] = copy;
    return copy != NULL;
}

static int collect_key(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    return sxt_catalog_words_add(data, key) ? SXT_OK : SXT_ERROR_MEMORY;
}

int sxt_catalog_remove_below(struct sxt_catalog *catalog, const char *prefix, sxt_error *error)
{
    struct sxt_catalog_words keys = {0};
    int status = sxt_store_list(catalog->store, prefix, collect_key, &keys, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, keys.count * sizeof *keys.list);
    for (size_t i = 0; i < keys.count && status == SXT_OK; i++)
        status = sxt_store_remove(catalog->store, keys.list[i], error);
    sxt_catalog_words_free(&keys);
    return status;
}

/* Parts first: without the entries that replace them they would count again. */
static int remove_id(struct sxt_catalog *catalog, const char *tenant, const char *id, sxt_error *error)
{
    static const char *const folders[] = {"part/", "symbols/", "same/"};
    char key[SXT_CATALOG_KEY_ROOM];
    int status = SXT_OK;
    for (size_t i = 0; i < 3 && status == SXT_OK; i++) {
        status = sxt_catalog_key(key, tenant, id, error, "%s", folders[i]);
        if (status == SXT_OK)
            status = sxt_catalog_remove_below(catalog, key, error);
    }
    static const char *const others[] = {"source", "missing", "announced"};
    for (size_t i = 0; i < 3 && status == SXT_OK; i++) {
        status = sxt_catalog_tenant_prefix(key, tenant, error);
        size_t size = strlen(key);
        snprintf(key + size, sizeof key - size, "%s/%s/", others[i], id);
        if (status == SXT_OK)
            status = sxt_catalog_remove_below(catalog, key, error);
    }
    sxt_catalog_changed(catalog, tenant, id);
    return status;
}

static int list_existing(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         struct sxt_catalog_closure *out, sxt_error *error)
{
    int status = sxt_catalog_list_closure(catalog, tenant, id->text, false, out, error);
    bool is_there = false;
    for (size_t i = 0; i < out->count && status == SXT_OK; i++) {
        const struct sxt_catalog_listing *listing = &out->list[i].listing;
        is_there |= listing->entry_count + listing->part_count + listing->same_count + listing->unknown > 0;
    }
    if (status == SXT_OK && !is_there)
        status = sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "nothing of this binary is there");
    return status;
}

int sxt_catalog_has(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id, sxt_error *error)
{
    struct sxt_catalog_closure closure;
    int status = list_existing(catalog, tenant, id, &closure, error);
    sxt_catalog_closure_free(&closure);
    return status;
}

int sxt_catalog_remove(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                       sxt_error *error)
{
    struct sxt_catalog_closure closure;
    int status = list_existing(catalog, tenant, id, &closure, error);
    /* The id that was asked for is the last: what is left after a failure is found again. */
    for (size_t i = closure.count; i-- > 0 && status == SXT_OK;) {
        struct sxt_catalog_id debug_id;
        if (sxt_catalog_debug_id_of_id(closure.list[i].id.text, &debug_id))
            status = remove_id(catalog, tenant, debug_id.text, error);
        if (status == SXT_OK)
            status = remove_id(catalog, tenant, closure.list[i].id.text, error);
    }
    sxt_catalog_closure_free(&closure);
    return status;
}

int sxt_catalog_tenants(struct sxt_catalog *catalog, int (*visit)(void *data, const char *tenant), void *data,
                        sxt_error *error)
{
    struct sxt_catalog_words words;
    int status = sxt_catalog_list_words(catalog, "t/", &words, error);
    for (size_t i = 0; i < words.count && status == SXT_OK; i++) {
        char tenant[SXT_CATALOG_KEY_ROOM];
        if (sxt_catalog_tenant_of(sxt_string_of(words.list[i]), tenant))
            status = visit(data, tenant);
    }
    sxt_catalog_words_free(&words);
    return status;
}

/* --- what upstream servers do not have --- */

static int missing_prefix(char out[SXT_CATALOG_KEY_ROOM], const char *tenant, const char *id, sxt_error *error)
{
    int status = sxt_catalog_tenant_prefix(out, tenant, error);
    if (status == SXT_OK && !sxt_catalog_id_is_valid(sxt_string_of(id)))
        status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not the id of a binary: '%s'", id);
    size_t size = strlen(out);
    if (status == SXT_OK)
        snprintf(out + size, SXT_CATALOG_KEY_ROOM - size, "missing/%s/", id);
    return status;
}

int sxt_catalog_note_missing(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                             const char *what, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    int status = missing_prefix(key, tenant, id->text, error);
    size_t size = strlen(key);
    if (status != SXT_OK)
        return status;
    snprintf(key + size, sizeof key - size, "%016" PRIx64 "-%s", (uint64_t)sxt_catalog_now(), what);
    return sxt_store_put(catalog->store, key, "", 0, error);
}

struct newest_time {
    size_t prefix;
    const char *what;
    int64_t limit; /* a later time is that of a wrong clock */
    int64_t time;
};

static int visit_time(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct newest_time *newest = data;
    const char *word = key + newest->prefix;
    size_t digits = strcspn(word, "-");
    uint64_t time;
    if (word[digits] == '-' && strcmp(word + digits + 1, newest->what) == 0 &&
        sxt_hex_parse((sxt_string){word, digits}, &time) && time < (uint64_t)newest->limit &&
        (int64_t)time > newest->time)
        newest->time = (int64_t)time;
    return SXT_OK;
}

int sxt_catalog_is_missing(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                           const char *what, uint64_t seconds, uint64_t *left, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    *left = 0;
    int status = missing_prefix(key, tenant, id->text, error);
    const int64_t now = sxt_catalog_now();
    if (seconds > SXT_CATALOG_MISSING_SECONDS)
        seconds = SXT_CATALOG_MISSING_SECONDS;
    struct newest_time newest = {strlen(key), what, now + (int64_t)seconds * 1000000, -1};
    if (status == SXT_OK)
        status = sxt_store_list(catalog->store, key, visit_time, &newest, error);
    if (status != SXT_OK || newest.time < 0)
        return status;
    int64_t age = now > newest.time ? (now - newest.time) / 1000000 : 0;
    *left = (uint64_t)age < seconds ? seconds - (uint64_t)age : 0;
    return SXT_OK;
}
