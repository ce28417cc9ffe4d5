/* partial.c: objects of which only the bytes that are needed are fetched. */
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/partial.h"
#include "store/backend.h"

static int read_ranges(void *data, const struct sxt_partial_range *ranges, size_t count, sxt_error *error)
{
    struct sxt_store_range *wanted = calloc(count + 1, sizeof *wanted);
    if (wanted == NULL)
        return sxt_fail_memory(error, count * sizeof *wanted);
    for (size_t i = 0; i < count; i++)
        wanted[i] = (struct sxt_store_range){ranges[i].offset, ranges[i].size, ranges[i].to};
    int status = sxt_store_read(data, wanted, count, error);
    free(wanted);
    return status;
}

bool sxt_store_object_is_local(struct sxt_store_object *object)
{
    bool (*is_local)(struct sxt_store_object * object) = object->store->backend->is_local;
    return is_local == NULL || is_local(object);
}

int sxt_store_partial_open(struct sxt_store_object **object, struct sxt_store_partial *out, sxt_error *error)
{
    struct sxt_store *store = (*object)->store;
    *out = (struct sxt_store_partial){.object = *object};
    *object = NULL;
    if (store->backend->fix != NULL)
        store->backend->fix(out->object);
    int status = sxt_store_write_begin(store, &out->writing, error);
    if (status == SXT_OK) /* so that a process that is killed leaves nothing */
        unlinkat(out->writing->folder, out->writing->name, 0);
    if (status == SXT_OK)
        status = sxt_partial_open(sxt_store_write_descriptor(out->writing), out->object->size, read_ranges, out->object,
                                  &out->partial, error);
    if (status != SXT_OK)
        sxt_store_partial_close(out);
    return status;
}

void sxt_store_partial_close(struct sxt_store_partial *partial)
{
    sxt_partial_close(&partial->partial);
    sxt_store_write_abandon(&partial->writing);
    sxt_store_close_object(&partial->object);
}
