/* place.c: an archive in a bucket that is named by its place, without a store around it. */
#include <stdlib.h>

#include "archive/archive.h"
#include "base/error.h"
#include "base/partial.h"
#include "catalog/catalog.h"
#include "lidia/lidia.h"

struct sxt_catalog_place {
    struct sxt_store *store;
    struct sxt_store_partial remote; /* if it is read by ranges */
    struct sxt_file file;            /* if it is large and was fetched whole */
    void *bytes;                     /* if it is small */
    sxt_archive *archive;
};

/* The end of the object came when it was opened. */
static int read_small(struct sxt_catalog_place *place, struct sxt_store_object *object, sxt_error *error)
{
    uint64_t size = sxt_store_object_size(object), end = size < SXT_STORE_END ? size : SXT_STORE_END;
    uint8_t *bytes = place->bytes = malloc((size_t)size + 1);
    if (bytes == NULL)
        return sxt_fail_memory(error, size);
    const struct sxt_store_range ranges[] = {
        {0, (size_t)(size - end), bytes},
        {size - end, (size_t)end, bytes + (size - end)},
    };
    int status = sxt_store_read(object, ranges, 2, error);
    if (status == SXT_OK)
        sxt_file_from_memory(&place->file, bytes, (size_t)size);
    return status;
}

static int open_whole(struct sxt_catalog_place *place, struct sxt_store_object *object, const sxt_open_options *open,
                      sxt_error *error)
{
    int status = sxt_store_object_size(object) < SXT_LIDIA_RANGED_SIZE ? read_small(place, object, error)
                                                                       : sxt_store_map(object, &place->file, error);
    if (status == SXT_OK)
        status = sxt_archive_open_memory(place->file.data, place->file.size, open, &place->archive, error);
    return status;
}

/* SXT_ERROR_UNSUPPORTED if it is not a Lidia archive. Takes *OBJECT. */
static int open_ranged(struct sxt_catalog_place *place, struct sxt_store_object **object, sxt_error *error)
{
    int status = sxt_store_partial_open(object, &place->remote, error);
    if (status != SXT_OK)
        return status;
    sxt_partial_enter(place->remote.partial);
    return sxt_archive_open_partial(place->remote.partial, &place->archive, error);
}

int sxt_catalog_open_place(const char *where, bool whole, const sxt_open_options *open, struct sxt_catalog_place **out,
                           sxt_error *error)
{
    struct sxt_store_object *object = NULL;
    struct sxt_catalog_place *place = *out = calloc(1, sizeof *place);
    if (place == NULL)
        return sxt_fail_memory(error, sizeof *place);
    sxt_file_from_memory(&place->file, "", 0);
    int status = sxt_store_open_place(where, NULL, &place->store, &object, error);
    if (status == SXT_OK && !whole && sxt_store_object_size(object) >= SXT_LIDIA_RANGED_SIZE) {
        status = open_ranged(place, &object, error);
        if (status == SXT_ERROR_UNSUPPORTED)
            status = open_whole(place, place->remote.object, open, error);
    } else if (status == SXT_OK) {
        status = open_whole(place, object, open, error);
    }
    sxt_store_close_object(&object);
    if (status != SXT_OK)
        sxt_catalog_close_place(out);
    return status;
}

sxt_archive *sxt_catalog_place_archive(const struct sxt_catalog_place *place)
{
    return place->archive;
}

int sxt_catalog_place_load(struct sxt_catalog_place *place, const uint64_t *addresses, size_t count, bool all,
                           sxt_error *error)
{
    return sxt_archive_load(place->archive, addresses, count, all ? SXT_LOAD_ALL : SXT_LOAD_FOLDED, error);
}

void sxt_catalog_close_place(struct sxt_catalog_place **place)
{
    if (*place == NULL)
        return;
    sxt_archive_close(&(*place)->archive);
    if ((*place)->remote.partial != NULL)
        sxt_partial_leave((*place)->remote.partial);
    sxt_store_partial_close(&(*place)->remote);
    sxt_file_close(&(*place)->file);
    free((*place)->bytes);
    sxt_store_close(&(*place)->store);
    free(*place);
    *place = NULL;
}
