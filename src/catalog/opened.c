/* opened.c: archives that are open, each once, however many binaries use it. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "catalog/private.h"

static struct sxt_catalog_opened *find(struct sxt_catalog *catalog, const struct sxt_catalog_blob *blob)
{
    for (struct sxt_catalog_opened *at = catalog->opened; at != NULL; at = at->next)
        if (strcmp(at->blob.hash, blob->hash) == 0) {
            at->users++;
            return at;
        }
    return NULL;
}

static void destroy(struct sxt_catalog_opened *opened)
{
    sxt_archive_close(&opened->archive);
    sxt_file_close(&opened->file);
    free(opened);
}

static int open_blob(struct sxt_catalog *catalog, struct sxt_catalog_opened *opened, sxt_error *error)
{
    struct sxt_store_object *object;
    int status = sxt_catalog_open_blob(catalog, &opened->blob, &object, error);
    if (status != SXT_OK)
        return status;
    status = sxt_store_map(object, &opened->file, error);
    sxt_store_close_object(&object);
    if (status == SXT_OK)
        status = sxt_archive_open_memory(opened->file.data, opened->file.size, NULL, &opened->archive, error);
    return status;
}

int sxt_catalog_open_archive(struct sxt_catalog *catalog, const struct sxt_catalog_blob *blob,
                             struct sxt_catalog_opened **out, sxt_error *error)
{
    pthread_mutex_lock(&catalog->opening);
    *out = find(catalog, blob);
    pthread_mutex_unlock(&catalog->opening);
    if (*out != NULL)
        return SXT_OK;
    struct sxt_catalog_opened *opened = calloc(1, sizeof *opened);
    if (opened == NULL)
        return sxt_fail_memory(error, sizeof *opened);
    opened->blob = *blob;
    opened->users = 1;
    sxt_file_from_memory(&opened->file, "", 0);
    int status = open_blob(catalog, opened, error);
    if (status != SXT_OK) {
        destroy(opened);
        return status;
    }
    pthread_mutex_lock(&catalog->opening);
    *out = find(catalog, blob); /* another thread may have been faster */
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
