/*
 * cache.h: whole objects of a bucket on the local disk, up to a limit of bytes; those that were used least recently are
 * removed. Several processes may share a cache: files are only ever added by rename and removed by unlink, so a file
 * that is there is whole, and one that is open stays readable.
 *
 *     CACHE/.tmp/NAME     being fetched or written
 *     CACHE/SHA256        an object; the name has the endpoint, bucket, key, size and ETag in it
 */
#ifndef SXT_STORE_CACHE_H
#define SXT_STORE_CACHE_H

#include <stdint.h>

#include "store/backend.h"

#define SXT_CACHE_NAME_SIZE 65

struct sxt_cache;

/* PATH NULL is sextant-cache-UID in $TMPDIR. The folder is made with mode 0700; one that others can write to is
 * refused. */
int sxt_cache_open(const char *path, uint64_t limit, struct sxt_cache **out, sxt_error *error);
void sxt_cache_close(struct sxt_cache **cache);

/* Makes a temporary file in the cache. */
int sxt_cache_write(struct sxt_cache *cache, struct sxt_store_writing *writing, sxt_error *error);

/* Whether files can be made now. */
int sxt_cache_check(struct sxt_cache *cache, sxt_error *error);

/* Opens the object NAME of SIZE bytes for reading, and marks it as used now. -1: it is not in the cache. */
int sxt_cache_find(struct sxt_cache *cache, const char *name, uint64_t size);

/* Keeps a temporary file as the object NAME. Best effort; what is larger than the limit is not kept. */
void sxt_cache_keep(struct sxt_cache *cache, struct sxt_store_writing *writing, const char *name);

/* Waits until no other thread fetches NAME; then others wait for this one, until it leaves. */
void sxt_cache_enter(struct sxt_cache *cache, const char *name);
void sxt_cache_leave(struct sxt_cache *cache, const char *name);

/* Removes objects beyond LIMIT bytes, and returns how many bytes were freed. */
uint64_t sxt_cache_shrink(struct sxt_cache *cache, uint64_t limit);

/* Removes temporary files that are old, and objects beyond the limit. */
int sxt_cache_sweep(struct sxt_cache *cache, uint64_t age_seconds, uint64_t *bytes, sxt_error *error);

/* Bytes of the objects, as far as this process knows. */
uint64_t sxt_cache_bytes(struct sxt_cache *cache);

#endif
