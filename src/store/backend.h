/*
 * backend.h: what a kind of store implements. The functions of store.h check their arguments, count, and call these.
 * A backend embeds struct sxt_store, struct sxt_store_object as its first member.
 */
#ifndef SXT_STORE_BACKEND_H
#define SXT_STORE_BACKEND_H

#include <stdatomic.h>

#include "store/store.h"

struct sxt_store_backend {
    void (*close)(struct sxt_store *store);
    int (*check)(struct sxt_store *store, sxt_error *error);
    int (*temporary)(struct sxt_store *store, struct sxt_store_writing *writing, sxt_error *error);
    int (*put)(struct sxt_store *store, const char *key, const void *data, size_t size, sxt_error *error);
    /* Gives the temporary file its name in the store. Its own name may be there afterwards, or not. */
    int (*commit)(struct sxt_store *store, struct sxt_store_writing *writing, const char *key, sxt_error *error);
    int (*remove)(struct sxt_store *store, const char *key, sxt_error *error);
    int (*sweep)(struct sxt_store *store, uint64_t age_seconds, uint64_t *bytes, sxt_error *error);
    int (*open_object)(struct sxt_store *store, const char *key, struct sxt_store_object **out, sxt_error *error);
    void (*close_object)(struct sxt_store_object *object);
    int (*read)(struct sxt_store_object *object, const struct sxt_store_range *ranges, size_t count, sxt_error *error);
    int (*map)(struct sxt_store_object *object, struct sxt_file *file, sxt_error *error);
    /* NULL: an object is always here. */
    bool (*is_local)(struct sxt_store_object *object);
    /* From now on, all that is read of the object has to be of one version; NULL: it always is. */
    void (*fix)(struct sxt_store_object *object);
    /* NULL: open, read and close do it. */
    int (*get)(struct sxt_store *store, const char *key, size_t limit, char **data, size_t *size, sxt_error *error);
    int (*list)(struct sxt_store *store, const char *prefix, bool words, sxt_store_visit *visit, void *data,
                sxt_error *error);
};

struct sxt_store_counts {
    _Atomic uint64_t reads, writes, lists, removals, errors, retries, bytes_read, bytes_written, cache_hits,
        cache_misses, cache_bytes;
};

struct sxt_store {
    const struct sxt_store_backend *backend;
    struct sxt_store_counts counts;
};

struct sxt_store_object {
    struct sxt_store *store;
    uint64_t size;
    int descriptor; /* of the whole object, or -1 */
};

/* A temporary file, made by sxt_temporary_make. */
struct sxt_store_writing {
    struct sxt_store *store;
    int descriptor;
    int folder; /* of the temporary file */
    char *path; /* of the temporary file; the name in the folder is NAME */
    const char *name;
    uint64_t size;
};

int sxt_directory_open(const char *place, struct sxt_store **out, sxt_error *error);
int sxt_s3_open(const char *place, const struct sxt_store_options *options, struct sxt_store **out, sxt_error *error);
int sxt_s3_open_place(const char *place, const struct sxt_store_options *options, struct sxt_store **store,
                      struct sxt_store_object **object, sxt_error *error);

#endif
