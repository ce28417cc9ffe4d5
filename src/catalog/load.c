/* load.c: opens the best that the store has of a binary. */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/error.h"
#include "catalog/private.h"

struct loading {
    struct sxt_catalog *catalog;
    const char *tenant;
    struct sxt_catalog_binary *binary;
    const struct sxt_catalog_entry_name *chosen; /* gave the ranges */
    bool has_failed;                             /* something could not be opened, which may pass */
};

/* Opens the archive of an entry. */
static int open_candidate(struct loading *loading, const struct sxt_catalog_candidate *candidate,
                          enum sxt_catalog_blob_kind kind, struct sxt_catalog_opened **out, sxt_error *error)
{
    struct sxt_arena arena;
    struct sxt_catalog_entry entry;
    *out = NULL;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    int status =
        sxt_catalog_get_entry(loading->catalog, loading->tenant, candidate->id, candidate->name, &arena, &entry, error);
    if (status == SXT_OK)
        status = sxt_catalog_open_archive(loading->catalog, &entry.blobs[kind], false, out, error);
    sxt_arena_free(&arena);
    return status;
}

/* Takes *OPENED for what is missing in the binary, and otherwise closes it. */
static void use(struct loading *loading, struct sxt_catalog_opened **opened, struct sxt_catalog_opened **place)
{
    if (loading->binary->layout == NULL && sxt_archive_has_offsets((*opened)->archive))
        loading->binary->layout = sxt_catalog_share_archive(loading->catalog, *opened);
    if (*place != NULL) {
        sxt_catalog_close_archive(loading->catalog, opened);
        return;
    }
    *place = *opened;
    *opened = NULL;
}

/* The best one that can be opened gives the ranges, and the best one that has segments the layout. */
static int open_ranges(struct loading *loading, const struct sxt_catalog_candidate *candidates, size_t count,
                       sxt_error *error)
{
    int status = SXT_OK;
    for (size_t i = 0; i < count && (loading->binary->ranges == NULL || loading->binary->layout == NULL); i++) {
        struct sxt_catalog_opened *opened;
        int failed = open_candidate(loading, &candidates[i], SXT_BLOB_LIDIA, &opened, error);
        if (failed != SXT_OK) {
            loading->has_failed = true;
            status = failed;
            continue;
        }
        if (loading->chosen == NULL)
            loading->chosen = candidates[i].name;
        use(loading, &opened, &loading->binary->ranges);
    }
    return loading->binary->ranges != NULL ? SXT_OK : status;
}

/*
 * Return pads that were pushed win over ranges that were pushed. Ranges that were read from files have the same frames
 * at the same addresses, so pads of a lower quality would only hide something better.
 */
static int open_pads(struct loading *loading, const struct sxt_catalog_candidate *pads, sxt_error *error)
{
    const struct sxt_catalog_entry_name *chosen = loading->chosen;
    if (pads->name == NULL ||
        (chosen != NULL && chosen->kind != SXT_ENTRY_RANGES && pads->name->quality < chosen->quality))
        return SXT_OK;
    struct sxt_catalog_opened *opened;
    int status = open_candidate(loading, pads, SXT_BLOB_PADS, &opened, error);
    loading->has_failed |= status != SXT_OK;
    if (status == SXT_OK)
        use(loading, &opened, &loading->binary->pads);
    return status;
}

/* A failure counts if nothing else can answer. */
static int open_best(struct loading *loading, const struct sxt_catalog_closure *closure, sxt_error *error)
{
    struct sxt_catalog_candidate *candidates;
    size_t count;
    int status = sxt_catalog_rank(closure, &candidates, &count, error);
    if (status != SXT_OK)
        return status;
    status = open_ranges(loading, candidates, count, error);
    struct sxt_catalog_candidate pads = sxt_catalog_best_push(closure, SXT_ENTRY_PADS);
    int pads_status = open_pads(loading, &pads, status == SXT_OK ? error : NULL);
    free(candidates);
    if (loading->binary->ranges != NULL || loading->binary->pads != NULL)
        return SXT_OK;
    if (status == SXT_OK)
        status = pads_status;
    if (status != SXT_OK)
        return status;
    return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no symbols of this binary");
}

/* A hash of the names of all entries under all ids. */
static uint64_t hash_entries(const struct sxt_catalog_closure *closure)
{
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE];
    char name[128];
    sxt_sha256_init(&hash);
    for (size_t i = 0; i < closure->count; i++) {
        const struct sxt_catalog_listing *listing = &closure->list[i].listing;
        sxt_sha256_add(&hash, closure->list[i].id.text, strlen(closure->list[i].id.text) + 1);
        for (size_t k = 0; k < listing->entry_count; k++) {
            sxt_catalog_print_entry_name(name, sizeof name, &listing->entries[k]);
            sxt_sha256_add(&hash, name, strlen(name) + 1);
        }
    }
    sxt_sha256_end(&hash, digest);
    return sxt_catalog_short_hash(digest);
}

/* An entry of that quality has lines for most functions: see sxt_catalog_quality. */
#define QUALITY_WITH_LINES 70

static void note_lack(struct loading *loading, const struct sxt_catalog_closure *closure)
{
    struct sxt_catalog_lack *lack = &loading->binary->lack;
    const struct sxt_catalog_entry_name *chosen = loading->chosen;
    for (size_t i = 0; i < closure->count && lack->build_id.text[0] == 0; i++)
        if (closure->list[i].id.text[0] == 'b')
            lack->build_id = closure->list[i].id;
    lack->debuginfo = chosen == NULL || chosen->quality < QUALITY_WITH_LINES;
    lack->executable = chosen != NULL && chosen->kind == SXT_ENTRY_DEBUG && loading->binary->layout == NULL;
}

static int load_once(struct sxt_catalog *catalog, const char *tenant, const char *id,
                     const struct sxt_catalog_loaded *before, struct sxt_catalog_closure *closure,
                     struct sxt_catalog_loaded *out, sxt_error *error)
{
    *out = (struct sxt_catalog_loaded){0};
    int status = sxt_catalog_list_closure(catalog, tenant, id, true, closure, error);
    if (status != SXT_OK)
        return status;
    out->entries = hash_entries(closure);
    if (before->binary != NULL && before->entries == out->entries) {
        out->binary = before->binary;
        atomic_fetch_add(&out->binary->users, 1);
        return SXT_OK;
    }
    struct sxt_catalog_binary *binary = calloc(1, sizeof *binary);
    if (binary == NULL)
        return sxt_fail_memory(error, sizeof *binary);
    binary->catalog = catalog;
    binary->users = 1;
    struct loading loading = {.catalog = catalog, .tenant = tenant, .binary = binary};
    status = open_best(&loading, closure, error);
    if (loading.has_failed)
        out->entries = 0; /* so that it is tried again */
    if (status == SXT_OK) {
        note_lack(&loading, closure);
        out->binary = binary;
    } else {
        sxt_catalog_release(catalog, &binary);
    }
    return status;
}

static bool has_entries(const struct sxt_catalog_closure *closure)
{
    for (size_t i = 0; i < closure->count; i++)
        if (closure->list[i].listing.entry_count > 0)
            return true;
    return false;
}

/* What was listed may have been replaced before it was opened: then a new listing has what replaced it. */
int sxt_catalog_load(struct sxt_catalog *catalog, const char *tenant, const char *id,
                     const struct sxt_catalog_loaded *before, struct sxt_catalog_closure *closure,
                     struct sxt_catalog_loaded *out, sxt_error *error)
{
    int status = load_once(catalog, tenant, id, before, closure, out, error);
    if (status != SXT_ERROR_NOT_FOUND || !has_entries(closure))
        return status;
    sxt_catalog_closure_free(closure);
    return load_once(catalog, tenant, id, before, closure, out, error);
}

void sxt_catalog_release(struct sxt_catalog *catalog, struct sxt_catalog_binary **binary)
{
    struct sxt_catalog_binary *last = *binary;
    *binary = NULL;
    if (last == NULL || atomic_fetch_sub(&last->users, 1) > 1)
        return;
    sxt_catalog_close_archive(catalog, &last->ranges);
    sxt_catalog_close_archive(catalog, &last->pads);
    sxt_catalog_close_archive(catalog, &last->layout);
    free(last);
}

const struct sxt_catalog_lack *sxt_catalog_lack_of(const struct sxt_catalog_binary *binary)
{
    const struct sxt_catalog_lack *lack = &binary->lack;
    return lack->build_id.text[0] != 0 && (lack->debuginfo || lack->executable) ? lack : NULL;
}

const sxt_archive *sxt_catalog_archive(const struct sxt_catalog_binary *binary)
{
    return binary->ranges != NULL && binary->ranges->remote.partial == NULL ? binary->ranges->archive : NULL;
}

const sxt_archive *sxt_catalog_layout(const struct sxt_catalog_binary *binary)
{
    const struct sxt_catalog_opened *opened = binary->layout != NULL ? binary->layout : binary->ranges;
    return opened != NULL ? opened->archive : NULL;
}

bool sxt_catalog_is_ranged(const struct sxt_catalog_binary *binary)
{
    return (binary->ranges != NULL && binary->ranges->remote.partial != NULL) ||
           (binary->pads != NULL && binary->pads->remote.partial != NULL);
}
