/* store.c: checks arguments and counts, for every kind of store. */
#include "store/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/output.h"
#include "store/backend.h"
#include "store/key.h"
#include "store/temporary.h"

#define REMOTE_PREFIX "s3://"

bool sxt_store_is_remote(const char *place)
{
    return strncmp(place, REMOTE_PREFIX, strlen(REMOTE_PREFIX)) == 0;
}

int sxt_store_open(const char *place, const struct sxt_store_options *options, struct sxt_store **out, sxt_error *error)
{
    *out = NULL;
    if (sxt_store_is_remote(place))
        return sxt_s3_open(place, options, out, error);
    if (strstr(place, "://") == NULL && *place != 0)
        return sxt_directory_open(place, out, error);
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a directory or s3://BUCKET/PREFIX: '%s'", place);
}

int sxt_store_open_place(const char *place, const struct sxt_store_options *options, struct sxt_store **store,
                         struct sxt_store_object **object, sxt_error *error)
{
    *store = NULL;
    *object = NULL;
    if (sxt_store_is_remote(place))
        return sxt_s3_open_place(place, options, store, object, error);
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not s3://BUCKET/KEY: '%s'", place);
}

void sxt_store_close(struct sxt_store **store)
{
    if (*store != NULL)
        (*store)->backend->close(*store);
    *store = NULL;
}

/* Counts a failure that is not the caller's, and returns STATUS. */
static int finish(struct sxt_store *store, int status)
{
    if (status != SXT_OK && status != SXT_ERROR_NOT_FOUND && status != SXT_ERROR_USAGE)
        store->counts.errors++;
    return status;
}

static int check_key(const char *key, sxt_error *error)
{
    if (sxt_key_is_valid(key))
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a name of an object: '%s'", key);
}

int sxt_store_check(struct sxt_store *store, sxt_error *error)
{
    return finish(store, store->backend->check(store, error));
}

/* --- writing --- */

int sxt_store_put(struct sxt_store *store, const char *key, const void *data, size_t size, sxt_error *error)
{
    int status = check_key(key, error);
    if (status == SXT_OK)
        status = store->backend->put(store, key, data, size, error);
    if (status == SXT_OK) {
        store->counts.writes++;
        store->counts.bytes_written += size;
    }
    return finish(store, status);
}

int sxt_store_write_begin(struct sxt_store *store, struct sxt_store_writing **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_store_writing *writing = malloc(sizeof *writing);
    if (writing == NULL)
        return sxt_fail_memory(error, sizeof *writing);
    int status = store->backend->temporary(store, writing, error);
    if (status != SXT_OK) {
        free(writing);
        return finish(store, status);
    }
    writing->store = store;
    *out = writing;
    return SXT_OK;
}

int sxt_store_write(struct sxt_store_writing *writing, const void *data, size_t size, sxt_error *error)
{
    const char *from = data;
    while (size > 0) {
        ssize_t count = write(writing->descriptor, from, size);
        if (count < 0 && errno != EINTR)
            return finish(writing->store, sxt_store_fail_errno(error, errno, "write", writing->path));
        if (count > 0) {
            from += count;
            size -= (size_t)count;
            writing->size += (size_t)count;
        }
    }
    return SXT_OK;
}

int sxt_store_write_descriptor(struct sxt_store_writing *writing)
{
    return writing->descriptor;
}

const char *sxt_store_write_path(struct sxt_store_writing *writing)
{
    return writing->path;
}

int sxt_store_write_commit(struct sxt_store_writing **writing, const char *key, sxt_error *error)
{
    if (*writing == NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the object is not open for writing");
    struct sxt_store *store = (*writing)->store;
    struct stat file;
    int status = check_key(key, error);
    if (status == SXT_OK && fstat((*writing)->descriptor, &file) != 0)
        status = sxt_fail_errno(error, errno, "cannot read a temporary file");
    if (status == SXT_OK)
        (*writing)->size = (uint64_t)file.st_size; /* others may have written to the descriptor */
    uint64_t size = (*writing)->size;
    if (status == SXT_OK)
        status = store->backend->commit(store, *writing, key, error);
    if (status == SXT_OK) {
        store->counts.writes++;
        store->counts.bytes_written += size;
    }
    sxt_store_write_abandon(writing);
    return finish(store, status);
}

void sxt_store_write_abandon(struct sxt_store_writing **writing)
{
    if (*writing != NULL)
        sxt_temporary_remove(*writing);
    free(*writing);
    *writing = NULL;
}

int sxt_store_remove(struct sxt_store *store, const char *key, sxt_error *error)
{
    int status = check_key(key, error);
    if (status == SXT_OK)
        status = store->backend->remove(store, key, error);
    if (status == SXT_OK)
        store->counts.removals++;
    return finish(store, status);
}

int sxt_store_sweep(struct sxt_store *store, uint64_t age_seconds, uint64_t *bytes, sxt_error *error)
{
    uint64_t freed = 0;
    int status = store->backend->sweep(store, age_seconds, &freed, error);
    if (bytes != NULL)
        *bytes = freed;
    return finish(store, status);
}

/* --- reading --- */

int sxt_store_open_object(struct sxt_store *store, const char *key, struct sxt_store_object **out, sxt_error *error)
{
    *out = NULL;
    int status = check_key(key, error);
    if (status == SXT_OK)
        status = store->backend->open_object(store, key, out, error);
    return finish(store, status);
}

void sxt_store_close_object(struct sxt_store_object **object)
{
    if (*object != NULL)
        (*object)->store->backend->close_object(*object);
    *object = NULL;
}

uint64_t sxt_store_object_size(const struct sxt_store_object *object)
{
    return object->size;
}

int sxt_store_object_descriptor(const struct sxt_store_object *object)
{
    return object->descriptor;
}

int sxt_store_read(struct sxt_store_object *object, const struct sxt_store_range *ranges, size_t count,
                   sxt_error *error)
{
    struct sxt_store *store = object->store;
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (!sxt_fits(ranges[i].offset, ranges[i].size, 1, object->size))
            return sxt_fail(error, SXT_ERROR_USAGE, ranges[i].offset, "the range is not in the object");
        total += ranges[i].size;
    }
    int status = store->backend->read(object, ranges, count, error);
    if (status == SXT_OK) {
        store->counts.reads++;
        store->counts.bytes_read += total;
    }
    return finish(store, status);
}

int sxt_store_map(struct sxt_store_object *object, struct sxt_file *file, sxt_error *error)
{
    sxt_file_from_memory(file, NULL, 0);
    object->store->counts.reads++;
    return finish(object->store, object->store->backend->map(object, file, error));
}

static int get_by_reading(struct sxt_store *store, const char *key, size_t limit, char **data, size_t *size,
                          sxt_error *error)
{
    struct sxt_store_object *object;
    int status = store->backend->open_object(store, key, &object, error);
    if (status != SXT_OK)
        return status;
    if (object->size > limit || object->size >= SIZE_MAX) {
        status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "'%.140s' is larger than the limit of %zu bytes", key,
                          limit);
    } else if ((*data = malloc((size_t)object->size + 1)) == NULL) {
        status = sxt_fail_memory(error, object->size + 1);
    } else {
        *size = (size_t)object->size;
        const struct sxt_store_range whole = {.size = *size, .to = *data};
        status = store->backend->read(object, &whole, 1, error);
    }
    store->backend->close_object(object);
    return status;
}

int sxt_store_get(struct sxt_store *store, const char *key, size_t limit, char **data, size_t *size, sxt_error *error)
{
    *data = NULL;
    *size = 0;
    int status = check_key(key, error);
    if (status == SXT_OK)
        status =
            (store->backend->get != NULL ? store->backend->get : get_by_reading)(store, key, limit, data, size, error);
    if (status == SXT_OK) {
        (*data)[*size] = 0;
        store->counts.reads++;
        store->counts.bytes_read += *size;
    } else {
        free(*data);
        *data = NULL;
        *size = 0;
    }
    return finish(store, status);
}

/* --- listing --- */

static int list(struct sxt_store *store, const char *prefix, bool words, sxt_store_visit *visit, void *data,
                sxt_error *error)
{
    if (!sxt_key_is_prefix(prefix))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a prefix of names of objects: '%s'", prefix);
    store->counts.lists++;
    return store->backend->list(store, prefix, words, visit, data, error);
}

int sxt_store_list(struct sxt_store *store, const char *prefix, sxt_store_visit *visit, void *data, sxt_error *error)
{
    return list(store, prefix, false, visit, data, error);
}

int sxt_store_list_words(struct sxt_store *store, const char *prefix, sxt_store_visit *visit, void *data,
                         sxt_error *error)
{
    return list(store, prefix, true, visit, data, error);
}

void sxt_store_get_figures(struct sxt_store *store, struct sxt_store_figures *out)
{
    struct sxt_store_counts *counts = &store->counts;
    *out = (struct sxt_store_figures){
        .reads = counts->reads,
        .writes = counts->writes,
        .lists = counts->lists,
        .removals = counts->removals,
        .errors = counts->errors,
        .retries = counts->retries,
        .bytes_read = counts->bytes_read,
        .bytes_written = counts->bytes_written,
        .cache_hits = counts->cache_hits,
        .cache_misses = counts->cache_misses,
        .cache_bytes = counts->cache_bytes,
    };
}
