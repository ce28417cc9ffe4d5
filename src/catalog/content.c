/* content.c: what can be downloaded of a binary; source files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"

/* --- source files --- */

/*
 * An absolute path without ".", ".." and empty words, as RFC 3986 removes them. False if it is not absolute or too
 * long. OUT has room for PATH_ROOM bytes.
 */
#define PATH_ROOM 4096

static bool normalise(const char *path, char *out)
{
    if (path == NULL || *path != '/' || strlen(path) >= PATH_ROOM)
        return false;
    size_t size = 0;
    while (*path != 0) {
        path += strspn(path, "/");
        size_t word = strcspn(path, "/");
        if (word == 2 && memcmp(path, "..", 2) == 0) {
            while (size > 0 && out[--size] != '/')
                continue;
        } else if (word > 0 && !(word == 1 && *path == '.')) {
            out[size++] = '/';
            memcpy(out + size, path, word);
            size += word;
        }
        path += word;
    }
    out[size] = 0;
    return size > 0;
}

/* "t/TENANT/source/ID/PATHHASH/": the source files of a binary are not listed when its symbols are. */
static int source_prefix(char out[SXT_CATALOG_KEY_ROOM], const char *tenant, const char *id, const char *path,
                         sxt_error *error)
{
    char plain[PATH_ROOM];
    int status = sxt_catalog_tenant_prefix(out, tenant, error);
    if (status != SXT_OK)
        return status;
    if (!normalise(path, plain))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not an absolute path of a source file");
    size_t size = strlen(out);
    snprintf(out + size, SXT_CATALOG_KEY_ROOM - size, "source/%s/%016" PRIx64 "/", id,
             sxt_catalog_generation_of(sxt_string_of(plain)));
    return SXT_OK;
}

struct newest_source {
    size_t prefix;
    struct sxt_catalog_blob blob;
    int64_t time;
};

/* Names are in order of time; the last one is the newest. */
static int visit_source(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct newest_source *newest = data;
    struct sxt_catalog_source source;
    if (sxt_catalog_parse_source(sxt_string_of(key + newest->prefix), &source)) {
        newest->blob = source.blob;
        newest->time = source.time;
    }
    return SXT_OK;
}

bool sxt_catalog_parse_source(sxt_string text, struct sxt_catalog_source *out)
{
    uint64_t time;
    *out = (struct sxt_catalog_source){0};
    if (text.size < 16 + 1 + 64 + 1 + 1 || text.data[16] != '-' || text.data[81] != '-' ||
        !sxt_hex_parse((sxt_string){text.data, 16}, &time) || time > INT64_MAX / 2)
        return false;
    for (size_t i = 0; i < 64; i++) {
        int digit = sxt_hex_digit(text.data[17 + i]);
        if (digit < 0)
            return false;
        out->blob.hash[i] = sxt_hex_letter((unsigned)digit);
    }
    out->time = (int64_t)time;
    return sxt_hex_parse((sxt_string){text.data + 82, text.size - 82}, &out->blob.size);
}

/* The newest file of that path, of any id of the binary. */
static int find_source(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_closure *closure,
                       const char *path, struct sxt_catalog_blob *out, sxt_error *error)
{
    int64_t time = -1;
    for (size_t i = 0; i < closure->count; i++) {
        char prefix[SXT_CATALOG_KEY_ROOM];
        int status = source_prefix(prefix, tenant, closure->list[i].id.text, path, error);
        struct newest_source newest = {.prefix = strlen(prefix), .time = -1};
        if (status == SXT_OK)
            status = sxt_store_list(catalog->store, prefix, visit_source, &newest, error);
        if (status != SXT_OK)
            return status;
        if (newest.time > time) {
            time = newest.time;
            *out = newest.blob;
        }
    }
    return SXT_OK;
}

int sxt_catalog_add_source(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                           const char *path, struct sxt_store_writing **writing, sxt_error *error)
{
    char prefix[SXT_CATALOG_KEY_ROOM], key[SXT_CATALOG_KEY_ROOM + 128], plain[PATH_ROOM];
    struct newest_source newest = {.time = 0};
    struct sxt_catalog_blob blob;
    int status = SXT_OK;
    if (!sxt_catalog_id_is_valid(sxt_string_of(id->text)))
        status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not the id of a binary: '%s'", id->text);
    if (status == SXT_OK)
        status = source_prefix(prefix, tenant, id->text, path, error);
    if (status == SXT_OK) {
        newest.prefix = strlen(prefix);
        status = sxt_store_list(catalog->store, prefix, visit_source, &newest, error);
    }
    if (status == SXT_OK)
        status = sxt_catalog_put_blob_writing(catalog, writing, &blob, error);
    if (status == SXT_OK) {
        snprintf(key, sizeof key, "%s%016" PRIx64 "-%s-%" PRIx64, prefix,
                 (uint64_t)sxt_catalog_new_time(catalog, newest.time), blob.hash, blob.size);
        normalise(path, plain);
        status = sxt_store_put(catalog->store, key, plain, strlen(plain), error);
    }
    sxt_store_write_abandon(writing);
    return status;
}

/* --- all contents --- */

struct content {
    struct sxt_catalog *catalog;
    const char *tenant, *id;
    const struct sxt_catalog_closure *closure;
    struct sxt_arena arena;
};

static bool read_entry(struct content *content, const char *id, const struct sxt_catalog_entry_name *name,
                       struct sxt_catalog_entry *out)
{
    return name != NULL &&
           sxt_catalog_get_entry(content->catalog, content->tenant, id, name, &content->arena, out, NULL) == SXT_OK;
}

/* A file of the binary: the one that has the id that was asked for, or else the newest. */
static void find_file(struct content *content, char kind, enum sxt_catalog_blob_kind blob, bool with_dwarf,
                      struct sxt_catalog_blob *out)
{
    int64_t time = -1;
    for (size_t i = 0; i < content->closure->count; i++) {
        const struct sxt_catalog_listing *listing = &content->closure->list[i].listing;
        bool is_exact = content->id[0] == 'f' && i == 0;
        for (size_t k = 0; k < listing->entry_count; k++) {
            const struct sxt_catalog_entry_name *name = &listing->entries[k];
            struct sxt_catalog_entry entry;
            if (name->kind != kind || name->time <= time ||
                !read_entry(content, content->closure->list[i].id.text, name, &entry) ||
                entry.blobs[blob].hash[0] == 0 || (with_dwarf && !entry.has_dwarf))
                continue;
            time = name->time;
            *out = entry.blobs[blob];
        }
        if (is_exact && time >= 0)
            return;
    }
}

/* Return pads that were pushed, unless what answers has better ones: as in sxt_catalog_load. */
static int find_symbols(struct content *content, enum sxt_catalog_blob_kind blob, struct sxt_catalog_blob *out,
                        sxt_error *error)
{
    struct sxt_catalog_candidate *candidates;
    size_t count;
    int status = sxt_catalog_rank(content->closure, &candidates, &count, error);
    if (status != SXT_OK)
        return status;
    struct sxt_catalog_entry entry;
    const struct sxt_catalog_entry_name *chosen = NULL;
    for (size_t i = 0; i < count && chosen == NULL; i++)
        if (read_entry(content, candidates[i].id, candidates[i].name, &entry) &&
            entry.blobs[SXT_BLOB_LIDIA].hash[0] != 0) {
            chosen = candidates[i].name;
            *out = entry.blobs[blob];
        }
    struct sxt_catalog_candidate pads = {0};
    if (blob == SXT_BLOB_RETURNPADS)
        pads = sxt_catalog_best_push(content->closure, SXT_ENTRY_PADS);
    if (pads.name != NULL && (out->hash[0] == 0 || pads.name->quality >= chosen->quality) &&
        read_entry(content, pads.id, pads.name, &entry))
        *out = entry.blobs[blob];
    free(candidates);
    return SXT_OK;
}

static int find_blob(struct content *content, enum sxt_catalog_content kind, const char *path,
                     struct sxt_catalog_blob *out, sxt_error *error)
{
    switch (kind) {
    case SXT_CATALOG_LIDIA:
        return find_symbols(content, SXT_BLOB_LIDIA, out, error);
    case SXT_CATALOG_SYMBFILE:
        return find_symbols(content, SXT_BLOB_SYMBFILE, out, error);
    case SXT_CATALOG_RETURNPADS:
        return find_symbols(content, SXT_BLOB_RETURNPADS, out, error);
    case SXT_CATALOG_EXECUTABLE:
        find_file(content, SXT_ENTRY_EXECUTABLE, SXT_BLOB_EXECUTABLE, false, out);
        return SXT_OK;
    case SXT_CATALOG_DEBUGINFO:
        find_file(content, SXT_ENTRY_DEBUG, SXT_BLOB_DEBUGINFO, false, out);
        if (out->hash[0] == 0) /* an executable that was not stripped has it */
            find_file(content, SXT_ENTRY_EXECUTABLE, SXT_BLOB_EXECUTABLE, true, out);
        return SXT_OK;
    case SXT_CATALOG_SOURCE:
        return find_source(content->catalog, content->tenant, content->closure, path, out, error);
    }
    return SXT_OK;
}

static int open_one(struct sxt_catalog *catalog, const char *tenant, const char *id, enum sxt_catalog_content kind,
                    const char *path, struct sxt_store_object **out, char hash[65], sxt_error *error)
{
    struct sxt_catalog_closure closure;
    struct sxt_catalog_blob blob = {.size = 0};
    int status = sxt_catalog_list_closure(catalog, tenant, id, true, &closure, error);
    if (status == SXT_OK) {
        struct content content = {.catalog = catalog, .tenant = tenant, .id = id, .closure = &closure};
        sxt_arena_init(&content.arena, 0, sxt_arena_separate_default);
        status = find_blob(&content, kind, path, &blob, error);
        sxt_arena_free(&content.arena);
    }
    sxt_catalog_closure_free(&closure);
    if (status == SXT_OK)
        status = sxt_catalog_open_blob(catalog, &blob, out, error);
    if (status == SXT_OK)
        memcpy(hash, blob.hash, sizeof blob.hash);
    return status;
}

int sxt_catalog_open_content(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *ids,
                             size_t id_count, enum sxt_catalog_content content, const char *path,
                             struct sxt_store_object **out, char hash[65], sxt_error *error)
{
    *out = NULL;
    hash[0] = 0;
    int status = sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "not there");
    for (size_t i = 0; i < id_count && status == SXT_ERROR_NOT_FOUND; i++)
        status = open_one(catalog, tenant, ids[i].text, content, path, out, hash, error);
    return status;
}
