/*
 * closure.c: all that is listed of a binary under all its ids, and the order of what can answer.
 *
 * A build ID and the FileIDs that were joined to it name one binary: an executable has another FileID before it was
 * stripped than after it, and the same code.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "catalog/private.h"

void sxt_catalog_closure_free(struct sxt_catalog_closure *closure)
{
    for (size_t i = 0; i < closure->count; i++)
        sxt_catalog_listing_free(&closure->list[i].listing);
    closure->count = 0;
}

static void add_id(struct sxt_catalog_closure *closure, const char *id)
{
    for (size_t i = 0; i < closure->count; i++)
        if (strcmp(closure->list[i].id.text, id) == 0)
            return;
    if (closure->count == SXT_CATALOG_IDS_MAX)
        return;
    closure->list[closure->count].listing = (struct sxt_catalog_listing){0};
    memcpy(closure->list[closure->count++].id.text, id, strlen(id) + 1);
}

/* What cannot be merged now (the disk is full, the store is read-only) does not keep older entries from answering. */
static int list_one(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id, bool settle,
                    struct sxt_catalog_listing *listing, sxt_error *error)
{
    int status = sxt_catalog_list_binary(catalog, tenant, id->text, false, listing, error);
    if (status != SXT_OK || !settle || listing->part_count == 0)
        return status;
    struct sxt_catalog_sets sets;
    status = sxt_catalog_find_sets(catalog, listing, &sets, error);
    bool is_complete = sets.complete_count > 0;
    sxt_catalog_sets_free(&sets);
    if (status != SXT_OK || !is_complete || sxt_catalog_is_unmergeable(catalog, tenant, id->text))
        return status;
    if (sxt_catalog_settle(catalog, tenant, id, NULL) != SXT_OK)
        sxt_catalog_note_unmergeable(catalog, tenant, id->text);
    sxt_catalog_listing_free(listing);
    return sxt_catalog_list_binary(catalog, tenant, id->text, false, listing, error);
}

int sxt_catalog_list_closure(struct sxt_catalog *catalog, const char *tenant, const char *id, bool settle,
                             struct sxt_catalog_closure *out, sxt_error *error)
{
    out->count = 0;
    add_id(out, id);
    int status = SXT_OK;
    for (size_t i = 0; i < out->count && status == SXT_OK; i++) {
        out->list[i].change = sxt_catalog_change_count(catalog, tenant, out->list[i].id.text);
        status = list_one(catalog, tenant, &out->list[i].id, settle, &out->list[i].listing, error);
        for (size_t k = 0; k < out->list[i].listing.same_count && status == SXT_OK; k++)
            add_id(out, out->list[i].listing.same[k].text);
    }
    return status;
}

int sxt_catalog_find_build_id(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                              struct sxt_catalog_id *out, sxt_error *error)
{
    struct sxt_catalog_closure closure;
    out->text[0] = 0;
    int status = sxt_catalog_list_closure(catalog, tenant, id->text, false, &closure, error);
    for (size_t i = 0; i < closure.count && status == SXT_OK && out->text[0] == 0; i++)
        if (closure.list[i].id.text[0] == 'b')
            *out = closure.list[i].id;
    sxt_catalog_closure_free(&closure);
    if (status == SXT_OK && out->text[0] == 0)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "its build ID is not known");
    return status;
}

/* --- choosing --- */

static bool is_newer(const struct sxt_catalog_entry_name *a, const struct sxt_catalog_entry_name *b)
{
    return a->time != b->time ? a->time > b->time : a->hash > b->hash;
}

static const struct sxt_catalog_entry_name *newest_of(const struct sxt_catalog_listing *listing, char kind)
{
    const struct sxt_catalog_entry_name *newest = NULL;
    for (size_t i = 0; i < listing->entry_count; i++)
        if (listing->entries[i].kind == kind && (newest == NULL || is_newer(&listing->entries[i], newest)))
            newest = &listing->entries[i];
    return newest;
}

/* What a debug file gives alone does not have the segments of the executable. */
static int compare_candidates(const void *left, const void *right)
{
    const struct sxt_catalog_entry_name *a = ((const struct sxt_catalog_candidate *)left)->name;
    const struct sxt_catalog_entry_name *b = ((const struct sxt_catalog_candidate *)right)->name;
    if (a->quality != b->quality)
        return a->quality > b->quality ? -1 : 1;
    if ((a->kind == SXT_ENTRY_DEBUG) != (b->kind == SXT_ENTRY_DEBUG))
        return a->kind == SXT_ENTRY_DEBUG ? 1 : -1;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    return (a->hash < b->hash) - (a->hash > b->hash);
}

struct sxt_catalog_candidate sxt_catalog_best_push(const struct sxt_catalog_closure *closure, char kind)
{
    struct sxt_catalog_candidate best = {0};
    for (size_t i = 0; i < closure->count; i++) {
        const struct sxt_catalog_entry_name *newest = newest_of(&closure->list[i].listing, kind);
        if (newest == NULL)
            continue;
        struct sxt_catalog_candidate candidate = {closure->list[i].id.text, newest};
        if (best.name == NULL || compare_candidates(&candidate, &best) < 0)
            best = candidate;
    }
    return best;
}

int sxt_catalog_rank(const struct sxt_catalog_closure *closure, struct sxt_catalog_candidate **out, size_t *count,
                     sxt_error *error)
{
    size_t room = 1;
    for (size_t i = 0; i < closure->count; i++)
        room += closure->list[i].listing.entry_count;
    *count = 0;
    *out = malloc(room * sizeof **out);
    if (*out == NULL)
        return sxt_fail_memory(error, room * sizeof **out);
    for (size_t i = 0; i < closure->count; i++) {
        const struct sxt_catalog_listing *listing = &closure->list[i].listing;
        for (size_t k = 0; k < listing->entry_count; k++)
            if (strchr("xdb", listing->entries[k].kind) != NULL)
                (*out)[(*count)++] = (struct sxt_catalog_candidate){closure->list[i].id.text, &listing->entries[k]};
    }
    struct sxt_catalog_candidate pushed = sxt_catalog_best_push(closure, SXT_ENTRY_RANGES);
    if (pushed.name != NULL)
        (*out)[(*count)++] = pushed;
    qsort(*out, *count, sizeof **out, compare_candidates);
    return SXT_OK;
}
