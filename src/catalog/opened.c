/* opened.c: archives that are open, each once, however many binaries use it. */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/error.h"
#include "base/partial.h"
#include "catalog/private.h"
#include "lidia/lidia.h"

static struct sxt_catalog_opened *find(struct sxt_catalog *catalog, const struct sxt_catalog_blob *blob, bool whole)
{
    for (struct sxt_catalog_opened *at = catalog->opened; at != NULL; at = at->next)
        if (strcmp(at->blob.hash, blob->hash) == 0 && !(whole && at->remote.partial != NULL)) {
            at->users++;
            return at;
        }
    return NULL;
}

static void destroy(struct sxt_catalog_opened *opened)
{
    sxt_archive_close(&opened->archive);
    sxt_file_close(&opened->file);
    sxt_store_partial_close(&opened->remote);
    free(opened);
}

/* Takes *OBJECT. */
static int open_ranged(struct sxt_catalog_opened *opened, struct sxt_store_object **object, sxt_error *error)
{
    int status = sxt_store_partial_open(object, &opened->remote, error);
    if (status != SXT_OK)
        return status;
    sxt_partial_enter(opened->remote.partial);
    status = sxt_archive_open_partial(opened->remote.partial, &opened->archive, error);
    sxt_partial_leave(opened->remote.partial);
    return status;
}

static int open_blob(struct sxt_catalog *catalog, struct sxt_catalog_opened *opened, bool whole, sxt_error *error)
{
    struct sxt_store_object *object;
    int status = sxt_catalog_open_blob(catalog, &opened->blob, &object, error);
    if (status != SXT_OK)
        return status;
    if (!whole && opened->blob.size >= SXT_LIDIA_RANGED_SIZE && !sxt_store_object_is_local(object))
        return open_ranged(opened, &object, error);
    status = sxt_store_map(object, &opened->file, error);
    sxt_store_close_object(&object);
    if (status == SXT_OK)
        status = sxt_archive_open_memory(opened->file.data, opened->file.size, NULL, &opened->archive, error);
    return status;
}

int sxt_catalog_open_archive(struct sxt_catalog *catalog, const struct sxt_catalog_blob *blob, bool whole,
                             struct sxt_catalog_opened **out, sxt_error *error)
{
    pthread_mutex_lock(&catalog->opening);
    *out = find(catalog, blob, whole);
    pthread_mutex_unlock(&catalog->opening);
    if (*out != NULL)
        return SXT_OK;
    struct sxt_catalog_opened *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return sxt_fail_memory(error, sizeof *opened);
    opened->blob = *blob;
    opened->users = 1;
    sxt_file_from_memory(&opened->file, "", 0);
    int status = open_blob(catalog, opened, whole, error);
    if (status != SXT_OK) {
        destroy(opened);
        return status;
    }
    pthread_mutex_lock(&catalog->opening);
    *out = find(catalog, blob, whole); /* another thread may have been faster */
    if (*out == NULL) {
        opened->next = catalog->opened;
        catalog->opened = *out = opened;
        opened = NULL;
    }
    pthread_mutex_unlock(&catalog->opening);
    if (opened != NULL)
        destroy(opened);
    return SXT_OK;
}

struct sxt_catalog_opened *sxt_catalog_share_archive(struct sxt_catalog *catalog, struct sxt_catalog_opened *opened)
{
    pthread_mutex_lock(&catalog->opening);
    opened->users++;
    pthread_mutex_unlock(&catalog->opening);
    return opened;
}

void sxt_catalog_close_archive(struct sxt_catalog *catalog, struct sxt_catalog_opened **opened)
{
    struct sxt_catalog_opened *last = *opened;
    *opened = NULL;
    if (last == NULL)
        return;
    pthread_mutex_lock(&catalog->opening);
    if (--last->users > 0) {
        last = NULL;
    } else {
        struct sxt_catalog_opened **at = &catalog->opened;
        while (*at != last)
            at = &(*at)->next;
        *at = last->next;
    }
    pthread_mutex_unlock(&catalog->opening);
    if (last != NULL)
        destroy(last);
}

void sxt_catalog_enter_archive(struct sxt_catalog_opened *opened)
{
    if (opened != NULL && opened->remote.partial != NULL)
        sxt_partial_enter(opened->remote.partial);
}

void sxt_catalog_leave_archive(struct sxt_catalog_opened *opened)
{
    if (opened != NULL && opened->remote.partial != NULL)
        sxt_partial_leave(opened->remote.partial);
}

/* The bytes that all archives keep; *OLDEST is one that has some and was used before TIME, or NULL. */
static uint64_t count_parts(struct sxt_catalog *catalog, int64_t time, struct sxt_partial **oldest)
{
    uint64_t total = 0;
    *oldest = NULL;
    for (struct sxt_catalog_opened *at = catalog->opened; at != NULL; at = at->next) {
        struct sxt_partial *partial = at->remote.partial;
        if (partial == NULL || partial->held == 0)
            continue;
        total += partial->held;
        if (partial->used > time && (*oldest == NULL || partial->used < (*oldest)->used))
            *oldest = partial;
    }
    return total;
}

void sxt_catalog_forget_parts(struct sxt_catalog *catalog)
{
    struct sxt_partial *oldest;
    int64_t time = INT64_MIN;
    pthread_mutex_lock(&catalog->opening);
    /* One that is in use is skipped. */
    while (count_parts(catalog, time, &oldest) > catalog->options.parts_limit && oldest != NULL) {
        time = oldest->used;
        sxt_partial_drop(oldest);
    }
    pthread_mutex_unlock(&catalog->opening);
}
