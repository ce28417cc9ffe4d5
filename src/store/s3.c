/*
 * s3.c: a store in an S3-compatible bucket.
 *
 * An object is read by GETs of ranges. One that is mapped is fetched whole into the cache, and so is one that was
 * written here. No request depends on another server's: there are no conditional writes.
 */
#include "store/s3.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "store/key.h"
#include "store/temporary.h"

#define TIMEOUT_SECONDS 30
#define ATTEMPTS        6
#define CHUNK           ((uint64_t)8 << 20) /* of a large object, with one request */
#define CHUNKS_MAX      1024
#define CHECK_LIFE_MS   2000
/* A part of an object that is read in one request; larger ones in several. */
#define READ_MAX  ((uint64_t)32 << 20)
#define IN_MEMORY ((uint64_t)4 << 20) /* the largest object that is mapped without a cache */

struct object {
    struct sxt_store_object object;
    char etag[SXT_S3_ETAG_MAX]; /* "": the server sends none */
    bool exact;                 /* all parts have to be of one version */
    char *end;                  /* the last bytes, if they came when it was opened; NULL otherwise */
    size_t end_size;
    char key[];
};

static const struct sxt_store_backend backend;

/* --- opening --- */

static bool is_bucket(const char *name, size_t size)
{
    if (size == 0 || size > 255 || *name == '.')
        return false;
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
              c == '_'))
            return false;
    }
    return true;
}

/* Whether a server could take PATH for another one: "." and "..", nothing between two slashes, control characters. */
static bool is_plain_path(const char *path, size_t size)
{
    const char *end = path + size;
    while (path < end) {
        const char *slash = memchr(path, '/', (size_t)(end - path));
        size_t word = (size_t)((slash != NULL ? slash : end) - path);
        if (word == 0 || (word == 1 && *path == '.') || (word == 2 && memcmp(path, "..", 2) == 0))
            return false;
        for (size_t i = 0; i < word; i++)
            if ((unsigned char)path[i] < ' ' || path[i] == 0x7f)
                return false;
        path += word + (slash != NULL);
    }
    return true;
}

/* Reads "s3://BUCKET/PATH"; *PATH is what follows the bucket, without slashes around it. */
static int parse_place(struct sxt_s3 *s3, const char *place, const char **path, size_t *size, sxt_error *error)
{
    const char *bucket = place + strlen("s3://");
    size_t bucket_size = strcspn(bucket, "/");
    *path = bucket + bucket_size;
    while (**path == '/')
        ++*path;
    *size = strlen(*path);
    while (*size > 0 && (*path)[*size - 1] == '/')
        --*size;
    if (!is_bucket(bucket, bucket_size) || !is_plain_path(*path, *size))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not s3://BUCKET/PREFIX: '%s'", place);
    snprintf(s3->bucket, sizeof s3->bucket, "%.*s", (int)bucket_size, bucket);
    return SXT_OK;
}

static int make_store(const struct sxt_store_options *options, struct sxt_store **out, sxt_error *error)
{
    struct sxt_s3 *s3 = calloc(1, sizeof *s3);
    if (s3 == NULL)
        return sxt_fail_memory(error, sizeof *s3);
    *out = &s3->store;
    s3->store.backend = &backend;
    pthread_mutex_init(&s3->mutex, NULL);
    s3->timeout_seconds = TIMEOUT_SECONDS;
    if (options != NULL && options->timeout_seconds != 0)
        s3->timeout_seconds = options->timeout_seconds;
    s3->attempts = options != NULL && options->attempts != 0 ? options->attempts : ATTEMPTS;
    if (options != NULL) {
        s3->stop = options->stop;
        s3->cache_limit = options->cache_limit;
        s3->cache_path = options->cache != NULL ? strdup(options->cache) : NULL;
        if (options->cache != NULL && s3->cache_path == NULL)
            return sxt_fail_memory(error, strlen(options->cache));
    }
    int status = sxt_s3_account_load(&s3->account, error);
    return status == SXT_OK ? sxt_http_pool_open(&s3->pool, error) : status;
}

int sxt_s3_open(const char *place, const struct sxt_store_options *options, struct sxt_store **out, sxt_error *error)
{
    const char *path;
    size_t size;
    int status = make_store(options, out, error);
    struct sxt_s3 *s3 = (struct sxt_s3 *)*out;
    if (status == SXT_OK)
        status = parse_place(s3, place, &path, &size, error);
    if (status == SXT_OK && size > SXT_S3_PREFIX_MAX)
        status =
            sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the prefix is longer than %d bytes", SXT_S3_PREFIX_MAX);
    if (status == SXT_OK && size > 0)
        snprintf(s3->prefix, sizeof s3->prefix, "%.*s/", (int)size, path);
    if (status != SXT_OK)
        sxt_store_close(out);
    return status;
}

static void close_store(struct sxt_store *store)
{
    struct sxt_s3 *s3 = (struct sxt_s3 *)store;
    sxt_http_pool_close(&s3->pool);
    sxt_cache_close(&s3->cache);
    pthread_mutex_destroy(&s3->mutex);
    free(s3->cache_path);
    free(s3);
}

/* The cache is made when it is used for the first time. */
static int use_cache(struct sxt_s3 *s3, struct sxt_cache **cache, sxt_error *error)
{
    pthread_mutex_lock(&s3->mutex);
    int status = SXT_OK;
    if (s3->cache == NULL)
        status = sxt_cache_open(s3->cache_path, s3->cache_limit, &s3->cache, error);
    *cache = s3->cache;
    pthread_mutex_unlock(&s3->mutex);
    if (status == SXT_OK)
        s3->store.counts.cache_bytes = sxt_cache_bytes(*cache);
    return status;
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Lists one object: this needs the bucket, the key and its permission to list, and changes nothing. */
static int ask_bucket(struct sxt_s3 *s3, sxt_error *error)
{
    struct sxt_buffer query;
    sxt_buffer_init(&query, 4096);
    sxt_buffer_print(&query, "list-type=2&max-keys=1&prefix=");
    sxt_s3_encode(&query, s3->prefix, false);
    sxt_buffer_u8(&query, 0);
    struct sxt_s3_call call = {.method = "GET", .query = (const char *)query.data, .once = true};
    int status = sxt_buffer_status(&query, error);
    if (status == SXT_OK)
        status = sxt_s3_send(s3, &call, 1, error);
    sxt_s3_call_free(&call);
    sxt_buffer_free(&query);
    return status;
}

static int check(struct sxt_store *store, sxt_error *error)
{
    struct sxt_s3 *s3 = (struct sxt_s3 *)store;
    struct sxt_cache *cache;
    int status = use_cache(s3, &cache, error);
    if (status == SXT_OK)
        status = sxt_cache_check(cache, error);
    if (status != SXT_OK)
        return status;
    pthread_mutex_lock(&s3->mutex);
    bool known = s3->checked_ms != 0 && now_ms() - s3->checked_ms < CHECK_LIFE_MS;
    status = s3->check_status;
    if (known && status != SXT_OK && error != NULL)
        *error = s3->check_error;
    pthread_mutex_unlock(&s3->mutex);
    if (known)
        return status;
    sxt_error problem;
    sxt_error_clear(&problem);
    status = ask_bucket(s3, &problem);
    pthread_mutex_lock(&s3->mutex);
    s3->checked_ms = now_ms();
    s3->check_status = status;
    s3->check_error = problem;
    pthread_mutex_unlock(&s3->mutex);
    if (status != SXT_OK && error != NULL)
        *error = problem;
    return status;
}

/* --- names in the cache --- */

static void name_in_cache(struct sxt_s3 *s3, const char *key, const char *etag, uint64_t size,
                          char name[SXT_CACHE_NAME_SIZE])
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, (size_t)16 << 10);
    sxt_buffer_print(&text, "%s%s\n%s\n%s%s\n%s\n%" PRIu64, s3->account.origin, s3->account.path, s3->bucket,
                     s3->prefix, key, etag, size);
    sxt_s3_hash(text.data, text.size, name);
    sxt_buffer_free(&text);
}

/* --- writing --- */

static int make_temporary(struct sxt_store *store, struct sxt_store_writing *writing, sxt_error *error)
{
    struct sxt_cache *cache;
    int status = use_cache((struct sxt_s3 *)store, &cache, error);
    return status == SXT_OK ? sxt_cache_write(cache, writing, error) : status;
}

static int put(struct sxt_store *store, const char *key, const void *data, size_t size, sxt_error *error)
{
    char etag[SXT_S3_ETAG_MAX];
    return sxt_s3_upload((struct sxt_s3 *)store, key, data != NULL ? data : "", -1, size, etag, error);
}

static int commit(struct sxt_store *store, struct sxt_store_writing *writing, const char *key, sxt_error *error)
{
    struct sxt_s3 *s3 = (struct sxt_s3 *)store;
    char etag[SXT_S3_ETAG_MAX], name[SXT_CACHE_NAME_SIZE];
    int status = sxt_s3_upload(s3, key, NULL, writing->descriptor, writing->size, etag, error);
    if (status == SXT_OK && *etag != 0 && writing->size > 0) {
        name_in_cache(s3, key, etag, writing->size, name);
        sxt_cache_keep(s3->cache, writing, name);
        store->counts.cache_bytes = sxt_cache_bytes(s3->cache);
    }
    return status;
}

static int remove_object(struct sxt_store *store, const char *key, sxt_error *error)
{
    struct sxt_s3_call call = {.method = "DELETE", .key = key};
    int status = sxt_s3_send((struct sxt_s3 *)store, &call, 1, error);
    sxt_s3_call_free(&call);
    return status == SXT_ERROR_NOT_FOUND ? SXT_OK : status;
}

static int sweep(struct sxt_store *store, uint64_t age_seconds, uint64_t *bytes, sxt_error *error)
{
    struct sxt_cache *cache;
    int status = use_cache((struct sxt_s3 *)store, &cache, error);
    if (status == SXT_OK)
        status = sxt_cache_sweep(cache, age_seconds, bytes, error);
    if (status == SXT_OK)
        store->counts.cache_bytes = sxt_cache_bytes(cache);
    return status;
}

/* --- reading --- */

static bool read_length(const struct sxt_s3_call *call, uint64_t *size)
{
    char text[32], *end;
    if (!sxt_http_find_header(&call->headers, "Content-Length", text, sizeof text) || *text < '0' || *text > '9')
        return false;
    errno = 0;
    *size = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *size <= INT64_MAX;
}

static int open_object(struct sxt_store *store, const char *key, struct sxt_store_object **out, sxt_error *error)
{
    struct sxt_s3 *s3 = (struct sxt_s3 *)store;
    struct object *object = calloc(1, sizeof *object + strlen(key) + 1);
    if (object == NULL)
        return sxt_fail_memory(error, sizeof *object);
    strcpy(object->key, key);
    object->object.store = store;
    object->object.descriptor = -1;
    struct sxt_s3_call call = {.method = "HEAD", .key = key};
    int status = sxt_s3_send(s3, &call, 1, error);
    if (status == SXT_OK && !read_length(&call, &object->object.size))
        status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the bucket %s does not say how large '%.140s' is",
                          s3->bucket, key);
    if (status == SXT_OK)
        sxt_http_find_header(&call.headers, "ETag", object->etag, sizeof object->etag);
    sxt_s3_call_free(&call);
    if (status == SXT_OK)
        *out = &object->object;
    else
        free(object);
    return status;
}

static void close_object(struct sxt_store_object *object)
{
    free(((struct object *)object)->end);
    free(object);
}

/* The size of the whole object, from "bytes FIRST-LAST/SIZE". */
static bool read_total(const struct sxt_s3_call *call, uint64_t *size)
{
    char text[80], *end;
    if (!sxt_http_find_header(&call->headers, "Content-Range", text, sizeof text))
        return false;
    const char *slash = strchr(text, '/');
    if (slash == NULL || slash[1] < '0' || slash[1] > '9')
        return false;
    errno = 0;
    *size = strtoull(slash + 1, &end, 10);
    return errno == 0 && *end == 0 && *size <= INT64_MAX;
}

/* Opens an object with a request for its last bytes. Not every server can do that, and not for an empty object. */
static int open_end(struct sxt_store *store, const char *key, struct sxt_store_object **out, sxt_error *error)
{
    struct sxt_s3_call call = {
        .method = "GET", .key = key, .ranged = true, .from_end = true, .range_size = SXT_STORE_END};
    call.answer_limit = SXT_STORE_END;
    int status = sxt_s3_send((struct sxt_s3 *)store, &call, 1, error);
    uint64_t size = 0;
    bool fits = status == SXT_OK && (call.status == 206 ? read_total(&call, &size) : read_length(&call, &size)) &&
                call.answer.size == (size < SXT_STORE_END ? size : SXT_STORE_END) && size > 0;
    struct object *object = fits ? calloc(1, sizeof *object + strlen(key) + 1) : NULL;
    if (object != NULL) {
        strcpy(object->key, key);
        object->object = (struct sxt_store_object){.store = store, .size = size, .descriptor = -1};
        sxt_http_find_header(&call.headers, "ETag", object->etag, sizeof object->etag);
        object->end = (char *)sxt_buffer_take(&call.answer, &object->end_size);
        *out = &object->object;
    }
    sxt_s3_call_free(&call);
    if (object != NULL)
        return SXT_OK;
    bool is_refused = call.status == 400 || call.status == 416 || call.status == 501 || status == SXT_ERROR_LIMIT;
    return status == SXT_OK || is_refused ? open_object(store, key, out, error) : status;
}

static void fix(struct sxt_store_object *object)
{
    ((struct object *)object)->exact = true;
}

int sxt_s3_open_place(const char *place, const struct sxt_store_options *options, struct sxt_store **store,
                      struct sxt_store_object **object, sxt_error *error)
{
    const char *path;
    size_t size;
    char key[1025];
    *object = NULL;
    int status = make_store(options, store, error);
    if (status == SXT_OK)
        status = parse_place((struct sxt_s3 *)*store, place, &path, &size, error);
    if (status == SXT_OK && (size == 0 || size >= sizeof key))
        status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not s3://BUCKET/KEY: '%s'", place);
    if (status == SXT_OK) {
        snprintf(key, sizeof key, "%.*s", (int)size, path);
        status = open_end(*store, key, object, error);
    }
    if (status == SXT_OK)
        fix(*object);
    else
        sxt_store_close(store);
    return status;
}

/* Requests for parts of an object. */
struct batch {
    struct sxt_s3_call *calls;
    struct sxt_s3_target *targets;
    size_t count;
};

static bool make_batch(struct batch *batch, size_t count)
{
    *batch = (struct batch){.calls = calloc(count + 1, sizeof *batch->calls),
                            .targets = calloc(count + 1, sizeof *batch->targets)};
    return batch->calls != NULL && batch->targets != NULL;
}

static void free_batch(struct batch *batch)
{
    for (size_t i = 0; i < batch->count && batch->calls != NULL; i++)
        sxt_s3_call_free(&batch->calls[i]);
    free(batch->calls);
    free(batch->targets);
}

static void add_to_batch(struct batch *batch, const struct object *object, uint64_t offset, struct sxt_s3_target target)
{
    struct sxt_s3_call *call = &batch->calls[batch->count];
    batch->targets[batch->count] = target;
    *call = (struct sxt_s3_call){
        .method = "GET",
        .key = object->key,
        .ranged = true,
        .range_offset = offset,
        .range_size = target.size,
        .if_match = object->exact && *object->etag != 0 ? object->etag : NULL,
        .target = &batch->targets[batch->count],
    };
    batch->count++;
}

static uint64_t count_chunks(uint64_t size, uint64_t chunk)
{
    return size / chunk + (size % chunk != 0);
}

/* Copies a range from the bytes that came when the object was opened. False if they do not have it. */
static bool copy_end(const struct object *object, const struct sxt_store_range *range)
{
    uint64_t begin = object->object.size - object->end_size;
    if (object->end == NULL || range->offset < begin)
        return false;
    memcpy(range->to, object->end + (range->offset - begin), range->size);
    return true;
}

static int read_object(struct sxt_store_object *base, const struct sxt_store_range *ranges, size_t count,
                       sxt_error *error)
{
    const struct object *object = (const struct object *)base;
    struct batch batch;
    uint64_t needed = 0;
    for (size_t i = 0; i < count; i++)
        needed += count_chunks(ranges[i].size, READ_MAX);
    int status = SXT_OK;
    if (!make_batch(&batch, (size_t)needed))
        status = sxt_fail_memory(error, needed * sizeof *batch.calls);
    for (size_t i = 0; i < count && status == SXT_OK; i++)
        for (uint64_t done = 0; done < ranges[i].size && !copy_end(object, &ranges[i]); done += READ_MAX) {
            uint64_t left = ranges[i].size - done;
            add_to_batch(
                &batch, object, ranges[i].offset + done,
                (struct sxt_s3_target){.to = (char *)ranges[i].to + done, .size = left < READ_MAX ? left : READ_MAX});
        }
    if (status == SXT_OK && batch.count > 0)
        status = sxt_s3_send((struct sxt_s3 *)base->store, batch.calls, batch.count, error);
    free_batch(&batch);
    return status;
}

/* Fetches the whole object into a file. */
static int fetch(const struct object *object, int file, sxt_error *error)
{
    uint64_t size = object->object.size, chunk = size / CHUNKS_MAX < CHUNK ? CHUNK : size / CHUNKS_MAX + 1;
    struct batch batch;
    int status = SXT_OK;
    if (!make_batch(&batch, (size_t)count_chunks(size, chunk)))
        status = sxt_fail_memory(error, sizeof *batch.calls);
    for (uint64_t done = 0; done < size && status == SXT_OK; done += chunk)
        add_to_batch(
            &batch, object, done,
            (struct sxt_s3_target){.file = file, .offset = done, .size = size - done < chunk ? size - done : chunk});
    if (status == SXT_OK)
        status = sxt_s3_send((struct sxt_s3 *)object->object.store, batch.calls, batch.count, error);
    free_batch(&batch);
    return status;
}

/* Fetches the object into the cache, and maps it. *IS_CACHE: it was the cache that failed. */
static int map_fetched(const struct object *object, struct sxt_cache *cache, const char *name, struct sxt_file *file,
                       bool *is_cache, sxt_error *error)
{
    struct sxt_store_writing writing;
    int status = sxt_cache_write(cache, &writing, error);
    *is_cache = status != SXT_OK;
    if (status != SXT_OK)
        return status;
    status = fetch(object, writing.descriptor, error);
    /* A full disk may be full of what nobody uses. */
    if (status == SXT_ERROR_LIMIT && sxt_cache_shrink(cache, 0) > 0)
        status = fetch(object, writing.descriptor, error);
    *is_cache = status == SXT_ERROR_LIMIT;
    if (status == SXT_OK)
        status = sxt_file_open_fd(file, writing.descriptor, error);
    if (status == SXT_OK) {
        object->object.store->counts.bytes_read += object->object.size;
        sxt_cache_keep(cache, &writing, name);
    }
    sxt_temporary_remove(&writing);
    return status;
}

/* Without a cache, small objects are answered from memory: the archives of most binaries. */
static int map_in_memory(struct sxt_store_object *base, struct sxt_file *file, sxt_error *error)
{
    uint8_t *data = malloc((size_t)base->size);
    if (data == NULL)
        return sxt_fail_memory(error, base->size);
    const struct sxt_store_range whole = {.size = (size_t)base->size, .to = data};
    int status = read_object(base, &whole, 1, error);
    if (status == SXT_OK)
        *file = (struct sxt_file){.data = data, .size = (size_t)base->size, .owner = SXT_FILE_ALLOCATED};
    else
        free(data);
    return status;
}

static int map_in_cache(struct sxt_store_object *base, struct sxt_file *file, bool *is_cache, sxt_error *error)
{
    const struct object *object = (const struct object *)base;
    struct sxt_s3 *s3 = (struct sxt_s3 *)base->store;
    struct sxt_cache *cache;
    char name[SXT_CACHE_NAME_SIZE];
    int status = use_cache(s3, &cache, error);
    *is_cache = status != SXT_OK;
    if (status != SXT_OK)
        return status;
    name_in_cache(s3, object->key, object->etag, base->size, name);
    sxt_cache_enter(cache, name);
    int found = sxt_cache_find(cache, name, base->size);
    if (found >= 0) {
        s3->store.counts.cache_hits++;
        status = sxt_file_open_fd(file, found, error);
        close(found);
    } else {
        s3->store.counts.cache_misses++;
        status = map_fetched(object, cache, name, file, is_cache, error);
    }
    sxt_cache_leave(cache, name);
    s3->store.counts.cache_bytes = sxt_cache_bytes(cache);
    return status;
}

static int map(struct sxt_store_object *base, struct sxt_file *file, sxt_error *error)
{
    bool is_cache;
    if (base->size == 0)
        return SXT_OK;
    int status = map_in_cache(base, file, &is_cache, error);
    return status != SXT_OK && is_cache && base->size <= IN_MEMORY ? map_in_memory(base, file, error) : status;
}

static bool is_local(struct sxt_store_object *base)
{
    const struct object *object = (const struct object *)base;
    struct sxt_s3 *s3 = (struct sxt_s3 *)base->store;
    struct sxt_cache *cache;
    char name[SXT_CACHE_NAME_SIZE];
    if (use_cache(s3, &cache, NULL) != SXT_OK)
        return false;
    name_in_cache(s3, object->key, object->etag, base->size, name);
    int found = sxt_cache_find(cache, name, base->size);
    if (found >= 0)
        close(found);
    return found >= 0;
}

/* One GET, without asking for the size first. */
static int get(struct sxt_store *store, const char *key, size_t limit, char **data, size_t *size, sxt_error *error)
{
    struct sxt_s3 *s3 = (struct sxt_s3 *)store;
    struct sxt_s3_call call = {.method = "GET", .key = key, .answer_limit = limit};
    char chunked[32];
    uint64_t length;
    int status = sxt_s3_send(s3, &call, 1, error);
    if (status == SXT_OK && !read_length(&call, &length) &&
        !sxt_http_find_header(&call.headers, "Transfer-Encoding", chunked, sizeof chunked))
        status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the bucket %s does not say how large '%.140s' is",
                          s3->bucket, key);
    if (status == SXT_OK && call.answer.size > limit)
        status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "'%.140s' is larger than the limit of %zu bytes", key,
                          limit);
    if (status == SXT_OK) {
        *data = (char *)sxt_buffer_take(&call.answer, size);
        if (*data == NULL && (*data = malloc(1)) == NULL)
            status = sxt_fail_memory(error, 1);
    }
    sxt_s3_call_free(&call);
    return status;
}

static const struct sxt_store_backend backend = {
    .close = close_store,
    .check = check,
    .temporary = make_temporary,
    .put = put,
    .commit = commit,
    .remove = remove_object,
    .sweep = sweep,
    .open_object = open_object,
    .close_object = close_object,
    .read = read_object,
    .map = map,
    .is_local = is_local,
    .fix = fix,
    .get = get,
    .list = sxt_s3_list,
};
