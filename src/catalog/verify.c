/* verify.c: reads everything in a store, and reports what is wrong. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"
#include "lidia/lidia.h"
#include "symbfile/symbfile.h"

#define TEXT_ROOM 400

struct check {
    struct sxt_catalog *catalog;
    sxt_catalog_problem *problem;
    void *data;
    uint64_t *checked;
};

__attribute__((format(printf, 3, 4))) static void report(struct check *check, const char *key, const char *format, ...)
{
    char text[TEXT_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (check->problem != NULL)
        check->problem(check->data, key, text);
}

/* --- blobs and parts --- */

struct first_problem {
    char text[TEXT_ROOM];
};

static void keep_first(void *data, const sxt_problem *problem)
{
    struct first_problem *first = data;
    if (first->text[0] == 0 && problem->severity == SXT_SEVERITY_PROBLEM)
        snprintf(first->text, sizeof first->text, "%s", problem->message);
}

/* Maps an object. False if it cannot be read, which is reported unless it was removed meanwhile. */
static bool map_object(struct check *check, const char *key, struct sxt_file *file)
{
    struct sxt_store_object *object;
    sxt_error error;
    int status = sxt_store_open_object(check->catalog->store, key, &object, &error);
    if (status == SXT_OK) {
        status = sxt_store_map(object, file, &error);
        sxt_store_close_object(&object);
    }
    if (status != SXT_OK && status != SXT_ERROR_NOT_FOUND)
        report(check, key, "%s", error.text);
    return status == SXT_OK;
}

static void digest_of(const struct sxt_file *file, uint8_t digest[SXT_SHA256_SIZE])
{
    struct sxt_sha256 hash;
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, file->data, file->size);
    sxt_sha256_end(&hash, digest);
}

/* A Lidia archive or a symbfile; other content has no structure that is ours. */
static void check_format(struct check *check, const char *key, const struct sxt_file *file)
{
    bool is_ours = sxt_lidia_is(file->data, file->size) || sxt_symbfile_is(file->data, file->size);
    struct first_problem first = {.text = ""};
    uint64_t count = 0;
    sxt_error error;
    if (!is_ours)
        return;
    if (sxt_verify_memory(file->data, file->size, keep_first, &first, &count, &error) != SXT_OK)
        report(check, key, "%s", error.text);
    else if (count > 0)
        report(check, key, "%s", first.text);
}

static int check_blob(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct check *check = data;
    struct sxt_file file;
    uint8_t digest[SXT_SHA256_SIZE];
    char hex[65], wanted[SXT_CATALOG_KEY_ROOM];
    ++*check->checked;
    if (!map_object(check, key, &file))
        return SXT_OK;
    digest_of(&file, digest);
    sxt_hex_encode(hex, digest, sizeof digest);
    sxt_catalog_blob_key(wanted, hex);
    if (strcmp(wanted, key) != 0)
        report(check, key, "the content has SHA-256 %s", hex);
    else
        check_format(check, key, &file);
    sxt_file_close(&file);
    return SXT_OK;
}

static void check_part(struct check *check, const char *key, const struct sxt_catalog_part_name *name)
{
    struct sxt_file file;
    uint8_t digest[SXT_SHA256_SIZE];
    if (!map_object(check, key, &file))
        return;
    digest_of(&file, digest);
    if (sxt_catalog_short_hash(digest) != name->hash)
        report(check, key, "the content is not the one that the name says");
    else
        check_format(check, key, &file);
    sxt_file_close(&file);
}

/* --- entries --- */

static void check_entry_blobs(struct check *check, const char *key, const struct sxt_catalog_entry *entry)
{
    for (int i = 0; i < SXT_BLOB_KINDS; i++) {
        struct sxt_store_object *object;
        sxt_error error;
        if (entry->blobs[i].hash[0] == 0)
            continue;
        int status = sxt_catalog_open_blob(check->catalog, &entry->blobs[i], &object, &error);
        if (status == SXT_ERROR_NOT_FOUND)
            report(check, key, "a blob is not there: %s", entry->blobs[i].hash);
        else if (status != SXT_OK)
            report(check, key, "%s", error.text);
        sxt_store_close_object(&object);
    }
}

static void check_entry(struct check *check, const char *key, const struct sxt_catalog_entry_name *name)
{
    struct sxt_arena arena;
    struct sxt_catalog_entry entry;
    struct sxt_file file;
    sxt_error error;
    uint8_t digest[SXT_SHA256_SIZE];
    if (!map_object(check, key, &file))
        return;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    digest_of(&file, digest);
    if (sxt_catalog_short_hash(digest) != name->hash)
        report(check, key, "the content is not the one that the name says");
    else if (file.size > SXT_CATALOG_ENTRY_MAX)
        report(check, key, "too large for an entry");
    else if (sxt_catalog_entry_read((const char *)file.data, file.size, &arena, &entry, &error) != SXT_OK)
        report(check, key, "%s", error.text);
    else
        check_entry_blobs(check, key, &entry);
    sxt_arena_free(&arena);
    sxt_file_close(&file);
}

/* --- names --- */

/* The other direction of a link. */
static int check_same(struct check *check, const char *key, const char *tenant, const char *id, const char *other)
{
    char back[SXT_CATALOG_KEY_ROOM];
    struct sxt_store_object *object = NULL;
    sxt_error error;
    int status = sxt_catalog_key(back, tenant, other, &error, "same/%s", id);
    if (status == SXT_OK)
        status = sxt_store_open_object(check->catalog->store, back, &object, &error);
    sxt_store_close_object(&object);
    if (status == SXT_ERROR_NOT_FOUND)
        report(check, key, "there is no link back");
    return SXT_OK;
}

static int check_source(struct check *check, const char *key)
{
    struct sxt_catalog_source source;
    struct sxt_store_object *object = NULL;
    if (!sxt_catalog_parse_source(sxt_string_of(strrchr(key, '/') + 1), &source))
        report(check, key, "not a name that this program writes");
    else if (sxt_catalog_open_blob(check->catalog, &source.blob, &object, NULL) != SXT_OK)
        report(check, key, "a blob is not there: %s", source.blob.hash);
    sxt_store_close_object(&object);
    return SXT_OK;
}

static int check_report(struct check *check, const char *key, const char *text)
{
    struct sxt_catalog_report named;
    struct sxt_file file;
    uint8_t digest[SXT_SHA256_SIZE];
    char hex[65];
    if (!sxt_catalog_parse_report(text, &named)) {
        report(check, key, "not a name that this program writes");
        return SXT_OK;
    }
    if (!map_object(check, key, &file))
        return SXT_OK;
    digest_of(&file, digest);
    sxt_hex_encode(hex, digest, sizeof digest);
    if (strcmp(hex, named.hash) != 0)
        report(check, key, "the content has SHA-256 %s", hex);
    sxt_file_close(&file);
    return SXT_OK;
}

/* Cuts the word up to the next '/' off *AT. */
static sxt_string take_word(const char **at)
{
    sxt_string word = {*at, strcspn(*at, "/")};
    *at += word.size + ((*at)[word.size] == '/');
    return word;
}

static int check_name(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct check *check = data;
    char tenant[SXT_CATALOG_KEY_ROOM];
    struct sxt_catalog_id id = {.text = ""};
    struct sxt_catalog_listing listing = {0};
    const char *at = key + 2;
    ++*check->checked;
    sxt_string tenant_word = take_word(&at), kind = take_word(&at);
    bool is_tenant = sxt_catalog_tenant_of(tenant_word, tenant);
    if (is_tenant && sxt_string_is(kind, "report"))
        return check_report(check, key, at);
    if (is_tenant && sxt_string_is(kind, "page"))
        return SXT_OK;
    sxt_string id_word = take_word(&at);
    bool is_good = is_tenant && sxt_catalog_id_is_valid(id_word);
    if (is_good)
        memcpy(id.text, id_word.data, id_word.size);
    if (is_good && sxt_string_is(kind, "source"))
        return check_source(check, key);
    if (is_good && sxt_string_is(kind, "missing"))
        return SXT_OK;
    if (is_good && sxt_string_is(kind, "announced") &&
        sxt_catalog_parse_announced(sxt_string_of(at), &(int64_t){0}, &(bool){false}))
        return SXT_OK;
    if (!is_good || !sxt_string_is(kind, "id")) {
        report(check, key, "not a name that this program writes");
        return SXT_OK;
    }
    if (!sxt_catalog_listing_add(&listing, sxt_string_of(at)))
        return SXT_ERROR_MEMORY;
    if (listing.part_count > 0)
        check_part(check, key, &listing.parts[0]);
    else if (listing.entry_count > 0)
        check_entry(check, key, &listing.entries[0]);
    else if (listing.same_count > 0 && id.text[0] != 'd') /* a link from a debug id has none back */
        check_same(check, key, tenant, id.text, listing.same[0].text);
    else if (listing.same_count == 0)
        report(check, key, "not a name that this program writes");
    sxt_catalog_listing_free(&listing);
    return SXT_OK;
}

int sxt_catalog_verify(struct sxt_catalog *catalog, sxt_catalog_problem *problem, void *data, uint64_t *checked,
                       sxt_error *error)
{
    *checked = 0;
    struct check check = {.catalog = catalog, .problem = problem, .data = data, .checked = checked};
    int status = sxt_store_list(catalog->store, "blob/", check_blob, &check, error);
    if (status == SXT_OK)
        status = sxt_store_list(catalog->store, "t/", check_name, &check, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, sizeof check);
    return status;
}
