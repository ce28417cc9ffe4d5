/*
 * blobs.c: content that is named after itself.
 *
 * A blob is written also if it is there already: that makes it new, so that a sweep which runs at the same time does
 * not take it for something that nobody needs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hex.h"
#include "catalog/private.h"

#define BLOCK ((size_t)1 << 20)

void sxt_catalog_blob_key(char out[SXT_CATALOG_KEY_ROOM], const char *hash)
{
    snprintf(out, SXT_CATALOG_KEY_ROOM, "blob/%.2s/%s", hash, hash);
}

/* Reads all of a file from its beginning, and calls TAKE for each block. */
static int read_file(int fd, int (*take)(void *data, const void *block, size_t size, sxt_error *error), void *data,
                     uint64_t *size, sxt_error *error)
{
    uint8_t *block = malloc(BLOCK);
    if (block == NULL)
        return sxt_fail_memory(error, BLOCK);
    int status = SXT_OK;
    *size = 0;
    for (;;) {
        ssize_t got = pread(fd, block, BLOCK, (off_t)*size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = sxt_fail_errno(error, errno, "cannot read a temporary file");
        if (got <= 0)
            break;
        *size += (uint64_t)got;
        status = take(data, block, (size_t)got, error);
        if (status != SXT_OK)
            break;
    }
    free(block);
    return status;
}

static int take_hash(void *data, const void *block, size_t size, sxt_error *error)
{
    (void)error;
    sxt_sha256_add(data, block, size);
    return SXT_OK;
}

int sxt_catalog_hash_writing(struct sxt_store_writing *writing, uint8_t digest[SXT_SHA256_SIZE], uint64_t *size,
                             sxt_error *error)
{
    struct sxt_sha256 hash;
    sxt_sha256_init(&hash);
    int status = read_file(sxt_store_write_descriptor(writing), take_hash, &hash, size, error);
    sxt_sha256_end(&hash, digest);
    return status;
}

int sxt_catalog_put_blob_writing(struct sxt_catalog *catalog, struct sxt_store_writing **writing,
                                 struct sxt_catalog_blob *out, sxt_error *error)
{
    (void)catalog;
    uint8_t digest[SXT_SHA256_SIZE];
    char key[SXT_CATALOG_KEY_ROOM];
    int status = sxt_catalog_hash_writing(*writing, digest, &out->size, error);
    if (status != SXT_OK) {
        sxt_store_write_abandon(writing);
        out->hash[0] = 0;
        return status;
    }
    sxt_hex_encode(out->hash, digest, sizeof digest);
    sxt_catalog_blob_key(key, out->hash);
    status = sxt_store_write_commit(writing, key, error);
    if (status != SXT_OK)
        out->hash[0] = 0;
    return status;
}

int sxt_catalog_put_blob(struct sxt_catalog *catalog, const void *data, size_t size, struct sxt_catalog_blob *out,
                         sxt_error *error)
{
    uint8_t digest[SXT_SHA256_SIZE];
    struct sxt_sha256 hash;
    char key[SXT_CATALOG_KEY_ROOM];
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, data, size);
    sxt_sha256_end(&hash, digest);
    sxt_hex_encode(out->hash, digest, sizeof digest);
    out->size = size;
    sxt_catalog_blob_key(key, out->hash);
    int status = sxt_store_put(catalog->store, key, data, size, error);
    if (status != SXT_OK)
        out->hash[0] = 0;
    return status;
}

int sxt_catalog_open_blob(struct sxt_catalog *catalog, const struct sxt_catalog_blob *blob,
                          struct sxt_store_object **out, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    *out = NULL;
    if (blob->hash[0] == 0)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "not there");
    sxt_catalog_blob_key(key, blob->hash);
    int status = sxt_store_open_object(catalog->store, key, out, error);
    if (status == SXT_OK && sxt_store_object_size(*out) != blob->size) {
        status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s has %" PRIu64 " bytes instead of %" PRIu64, key,
                          sxt_store_object_size(*out), blob->size);
        sxt_store_close_object(out);
    }
    return status;
}

/* Copies OBJECT, which is in a bucket, to a temporary file. */
static int copy_object(struct sxt_store_object *object, struct sxt_store_writing *writing, sxt_error *error)
{
    uint8_t *block = malloc(BLOCK);
    if (block == NULL)
        return sxt_fail_memory(error, BLOCK);
    uint64_t size = sxt_store_object_size(object);
    int status = SXT_OK;
    for (uint64_t at = 0; at < size && status == SXT_OK; at += BLOCK) {
        size_t part = size - at < BLOCK ? (size_t)(size - at) : BLOCK;
        status = sxt_store_read(object, &(struct sxt_store_range){at, part, block}, 1, error);
        if (status == SXT_OK)
            status = sxt_store_write(writing, block, part, error);
    }
    free(block);
    return status;
}

int sxt_catalog_local_file(struct sxt_catalog *catalog, struct sxt_store_object *object,
                           struct sxt_store_writing **copy, int *fd, sxt_error *error)
{
    *copy = NULL;
    *fd = sxt_store_object_descriptor(object);
    if (*fd >= 0)
        return SXT_OK;
    int status = sxt_store_write_begin(catalog->store, copy, error);
    if (status == SXT_OK)
        status = copy_object(object, *copy, error);
    if (status != SXT_OK) {
        sxt_store_write_abandon(copy);
        return status;
    }
    *fd = sxt_store_write_descriptor(*copy);
    return SXT_OK;
}
