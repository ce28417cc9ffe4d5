/*
 * store.h: objects under names, in a directory or in an S3-compatible bucket.
 *
 *     "DIR"                   a directory: an object is a file; several servers may share it
 *     "s3://BUCKET/PREFIX"    a bucket: the endpoint, region and keys come from the usual AWS variables
 *
 * A store knows nothing of symbols. An object is written whole or not at all, and is durable when the call returns. Two
 * writers may put the same name at the same time: the caller gives names such that both mean the same, so it does not
 * matter which one wins. An object that was written is listed and read by every server from then on.
 *
 * A key is "word/word/word" of at most 512 bytes. A word has 1 to 255 letters, digits and "._~=-", and does not begin
 * with '.'. Functions that take a key refuse any other with SXT_ERROR_USAGE. A key must not be a folder of another one:
 * there is no "a/b" next to "a/b/c".
 *
 * Failures: SXT_ERROR_NOT_FOUND if there is no such object; SXT_ERROR_LIMIT if the disk or the quota is full;
 * SXT_ERROR_IO for everything else that the system or the bucket refused, after the retries that make sense. An object
 * that is cut off in transit is an error, never a short object. All functions may be called from any thread.
 */
#ifndef SXT_STORE_STORE_H
#define SXT_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "base/file.h"

struct sxt_store;

struct sxt_store_options {
    const char *cache;        /* of a bucket: a local directory for what was fetched; NULL: below $TMPDIR */
    uint64_t cache_limit;     /* bytes in it; 0: 4 GiB */
    unsigned timeout_seconds; /* of a request to a bucket, without a byte; 0: 30 */
    const _Atomic bool *stop; /* if it becomes true, retries end; may be NULL */
    unsigned attempts;        /* at a request to a bucket that fails in a way that may be over soon; 0: 6 */
};

/* Opens the store at PLACE. A directory is created if its parent exists, with mode 0700. OPTIONS may be NULL. */
int sxt_store_open(const char *place, const struct sxt_store_options *options, struct sxt_store **out,
                   sxt_error *error);
void sxt_store_close(struct sxt_store **store);

/* Whether PLACE is the name of a bucket or of an object in one. */
bool sxt_store_is_remote(const char *place);

/* Reads and writes can be expected to work now. Cheap enough to be asked every second. */
int sxt_store_check(struct sxt_store *store, sxt_error *error);

/* --- writing --- */

/* An object of SIZE bytes that are in memory. */
int sxt_store_put(struct sxt_store *store, const char *key, const void *data, size_t size, sxt_error *error);

/*
 * An object that arrives in pieces. It is a temporary local file until commit gives it its name; what a killed server
 * leaves is removed by sxt_store_sweep. Commit and abandon free *WRITING in any case, and take NULL.
 */
struct sxt_store_writing;
int sxt_store_write_begin(struct sxt_store *store, struct sxt_store_writing **out, sxt_error *error);
int sxt_store_write(struct sxt_store_writing *writing, const void *data, size_t size, sxt_error *error);
int sxt_store_write_descriptor(struct sxt_store_writing *writing); /* of the temporary file, to read and write it */
const char *sxt_store_write_path(struct sxt_store_writing *writing);
int sxt_store_write_commit(struct sxt_store_writing **writing, const char *key, sxt_error *error);
void sxt_store_write_abandon(struct sxt_store_writing **writing);

/* Succeeds if there is no such object. After a power failure, an object that was removed may be there again. */
int sxt_store_remove(struct sxt_store *store, const char *key, sxt_error *error);

/*
 * Removes temporary files that were written last AGE_SECONDS ago, except those that a process of this machine still has
 * open for writing, and the cache beyond its limit. *BYTES, if not NULL, is what was freed.
 */
int sxt_store_sweep(struct sxt_store *store, uint64_t age_seconds, uint64_t *bytes, sxt_error *error);

/* --- reading --- */

/* An open object. It can be read until it is closed, also if it is removed meanwhile (of a bucket: it may then fail).
 */
struct sxt_store_object;
int sxt_store_open_object(struct sxt_store *store, const char *key, struct sxt_store_object **out, sxt_error *error);
void sxt_store_close_object(struct sxt_store_object **object);

/*
 * Opens one object by its place, "s3://BUCKET/KEY", whose KEY may be any that S3 allows. If it is replaced while it is
 * read, reading fails. One request gets its size and its last 64 KiB, which are not fetched again. *STORE is for this
 * object alone: close it after the object.
 */
int sxt_store_open_place(const char *place, const struct sxt_store_options *options, struct sxt_store **store,
                         struct sxt_store_object **object, sxt_error *error);

/* How many of its last bytes that fetches. */
#define SXT_STORE_END ((size_t)64 << 10)

uint64_t sxt_store_object_size(const struct sxt_store_object *object);

/* A file descriptor of the whole object for sendfile, or -1 if it is not a local file. It stays the object's. */
int sxt_store_object_descriptor(const struct sxt_store_object *object);

struct sxt_store_range {
    uint64_t offset;
    size_t size;
    void *to;
};

/* Reads ranges that lie within the object, from a bucket with several requests at once. */
int sxt_store_read(struct sxt_store_object *object, const struct sxt_store_range *ranges, size_t count,
                   sxt_error *error);

/* The whole content, mapped; of a bucket it is fetched into the cache first. The caller closes *FILE. */
int sxt_store_map(struct sxt_store_object *object, struct sxt_file *file, sxt_error *error);

/* Is the whole content on this machine, so that mapping it fetches nothing? */
bool sxt_store_object_is_local(struct sxt_store_object *object);

/* An object of which only the bytes that are needed are fetched, into a temporary file. */
struct sxt_partial;
struct sxt_store_partial {
    struct sxt_partial *partial;
    /* Private. */
    struct sxt_store_object *object;
    struct sxt_store_writing *writing;
};

/* Takes *OBJECT, which is not empty, also if it fails. If it is replaced while it is read, reading fails. */
int sxt_store_partial_open(struct sxt_store_object **object, struct sxt_store_partial *out, sxt_error *error);
void sxt_store_partial_close(struct sxt_store_partial *partial);

/* The whole of a small object, at most LIMIT bytes, NUL after it. The caller frees *DATA. */
int sxt_store_get(struct sxt_store *store, const char *key, size_t limit, char **data, size_t *size, sxt_error *error);

/* --- listing --- */

/* Returns SXT_OK to go on; anything else ends the listing, which returns it. */
typedef int sxt_store_visit(void *data, const char *key, uint64_t size, int64_t modified_us);

/* Every object whose key begins with PREFIX, in ascending order of bytes. PREFIX ends with '/', or is "". */
int sxt_store_list(struct sxt_store *store, const char *prefix, sxt_store_visit *visit, void *data, sxt_error *error);

/* The words that follow PREFIX, as "PREFIXword/" or "PREFIXword", each once, in ascending order; their size is 0. */
int sxt_store_list_words(struct sxt_store *store, const char *prefix, sxt_store_visit *visit, void *data,
                         sxt_error *error);

/* --- figures for /metrics --- */

struct sxt_store_figures {
    uint64_t reads, writes, lists, removals, errors, retries, bytes_read, bytes_written, cache_hits, cache_misses,
        cache_bytes;
};
void sxt_store_get_figures(struct sxt_store *store, struct sxt_store_figures *out);

#endif
