/* cache.c: see cache.h. The time of a file's last change is the time of its last use. */
#include "store/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "store/temporary.h"

#define LIMIT_DEFAULT  ((uint64_t)4 << 30)
#define KEPT_IN_TENTHS 9 /* of the limit, after objects were removed */

/* An object that a thread of this process fetches. */
struct fetch {
    char name[SXT_CACHE_NAME_SIZE];
    struct fetch *next;
};

struct sxt_cache {
    int root;
    char *path;
    uint64_t limit;
    _Atomic uint64_t bytes;    /* of objects: what the last look into the folder found, and what was added since */
    _Atomic uint64_t added;    /* since that look: other processes add too */
    pthread_mutex_t shrinking; /* one thread looks into the folder */
    pthread_mutex_t fetching;  /* for FETCHES */
    pthread_cond_t fetched;
    struct fetch *fetches;
};

static uint64_t look(struct sxt_cache *cache, uint64_t limit, uint64_t goal);

static char *usual_path(void)
{
    const char *place = getenv("TMPDIR");
    char *path = NULL;
    int size = asprintf(&path, "%s/sextant-cache-%u", place != NULL && *place != 0 ? place : "/tmp", geteuid());
    return size >= 0 ? path : NULL;
}

static int open_folder(struct sxt_cache *cache, bool usual, sxt_error *error)
{
    if (mkdir(cache->path, 0700) != 0 && errno != EEXIST)
        return sxt_store_fail_errno(error, errno, "create the cache", cache->path);
    cache->root = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (usual ? O_NOFOLLOW : 0));
    struct stat folder;
    if (cache->root < 0 || fstat(cache->root, &folder) != 0)
        return sxt_store_fail_errno(error, errno, "open the cache", cache->path);
    if (folder.st_uid != geteuid() || (folder.st_mode & 022) != 0)
        return sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET,
                        "cannot use the cache '%.140s': other users can write to it", cache->path);
    return SXT_OK;
}

int sxt_cache_open(const char *path, uint64_t limit, struct sxt_cache **out, sxt_error *error)
{
    struct sxt_cache *cache = *out = calloc(1, sizeof *cache);
    if (cache == NULL)
        return sxt_fail_memory(error, sizeof *cache);
    pthread_mutex_init(&cache->shrinking, NULL);
    pthread_mutex_init(&cache->fetching, NULL);
    pthread_cond_init(&cache->fetched, NULL);
    cache->root = -1;
    cache->limit = limit != 0 ? limit : LIMIT_DEFAULT;
    cache->path = path != NULL ? strdup(path) : usual_path();
    int status = cache->path != NULL ? open_folder(cache, path == NULL, error) : sxt_fail_memory(error, 1);
    if (status == SXT_OK)
        look(cache, cache->limit, cache->limit);
    else
        sxt_cache_close(out);
    return status;
}

void sxt_cache_close(struct sxt_cache **cache)
{
    if (*cache == NULL)
        return;
    if ((*cache)->root >= 0)
        close((*cache)->root);
    pthread_mutex_destroy(&(*cache)->shrinking);
    pthread_mutex_destroy(&(*cache)->fetching);
    pthread_cond_destroy(&(*cache)->fetched);
    free((*cache)->path);
    free(*cache);
    *cache = NULL;
}

int sxt_cache_write(struct sxt_cache *cache, struct sxt_store_writing *writing, sxt_error *error)
{
    return sxt_temporary_make(cache->root, cache->path, writing, error);
}

int sxt_cache_check(struct sxt_cache *cache, sxt_error *error)
{
    if (faccessat(cache->root, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        return sxt_store_fail_errno(error, errno, "write to the cache", cache->path);
    return SXT_OK;
}

/* --- objects --- */

int sxt_cache_find(struct sxt_cache *cache, const char *name, uint64_t size)
{
    int file = openat(cache->root, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat found;
    if (file < 0)
        return -1;
    if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || (uint64_t)found.st_size != size) {
        close(file);
        unlinkat(cache->root, name, 0);
        return -1;
    }
    (void)futimens(file, NULL);
    return file;
}

void sxt_cache_keep(struct sxt_cache *cache, struct sxt_store_writing *writing, const char *name)
{
    struct stat file;
    if (fstat(writing->descriptor, &file) != 0 || (uint64_t)file.st_size > cache->limit)
        return;
    /* After a power failure, a file must not have its name without its content. */
    if (fdatasync(writing->descriptor) != 0 || renameat(writing->folder, writing->name, cache->root, name) != 0)
        return;
    cache->bytes += (uint64_t)file.st_size;
    cache->added += (uint64_t)file.st_size;
    if (cache->bytes > cache->limit || cache->added > cache->limit / 16)
        look(cache, cache->limit, cache->limit / 10 * KEPT_IN_TENTHS);
}

static struct fetch **find_fetch(struct sxt_cache *cache, const char *name)
{
    struct fetch **place = &cache->fetches;
    while (*place != NULL && strcmp((*place)->name, name) != 0)
        place = &(*place)->next;
    return place;
}

void sxt_cache_enter(struct sxt_cache *cache, const char *name)
{
    struct fetch *fetch = calloc(1, sizeof *fetch);
    pthread_mutex_lock(&cache->fetching);
    while (*find_fetch(cache, name) != NULL)
        pthread_cond_wait(&cache->fetched, &cache->fetching);
    /* Without memory, an object may be fetched twice. */
    if (fetch != NULL) {
        snprintf(fetch->name, sizeof fetch->name, "%s", name);
        fetch->next = cache->fetches;
        cache->fetches = fetch;
    }
    pthread_mutex_unlock(&cache->fetching);
}

void sxt_cache_leave(struct sxt_cache *cache, const char *name)
{
    pthread_mutex_lock(&cache->fetching);
    struct fetch **place = find_fetch(cache, name), *fetch = *place;
    if (fetch != NULL)
        *place = fetch->next;
    pthread_cond_broadcast(&cache->fetched);
    pthread_mutex_unlock(&cache->fetching);
    free(fetch);
}

/* --- the limit --- */

struct cached {
    char name[SXT_CACHE_NAME_SIZE];
    uint64_t size;
    struct timespec used;
};

struct contents {
    struct cached *files;
    size_t count, capacity;
    uint64_t bytes;
};

static int compare_use(const void *a, const void *b)
{
    const struct cached *first = a, *second = b;
    if (first->used.tv_sec != second->used.tv_sec)
        return first->used.tv_sec < second->used.tv_sec ? -1 : 1;
    return (first->used.tv_nsec > second->used.tv_nsec) - (first->used.tv_nsec < second->used.tv_nsec);
}

static void read_contents(struct sxt_cache *cache, struct contents *contents)
{
    int folder = openat(cache->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = folder >= 0 ? fdopendir(folder) : NULL;
    if (names == NULL && folder >= 0)
        close(folder);
    struct dirent *entry;
    struct stat found;
    while (names != NULL && (entry = readdir(names)) != NULL) {
        if (strlen(entry->d_name) != SXT_CACHE_NAME_SIZE - 1 ||
            fstatat(cache->root, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode))
            continue;
        struct cached *files = sxt_array_grow(contents->files, &contents->capacity, contents->count + 1, sizeof *files);
        if (files == NULL)
            break;
        contents->files = files;
        struct cached *file = &files[contents->count++];
        memcpy(file->name, entry->d_name, SXT_CACHE_NAME_SIZE);
        file->size = (uint64_t)found.st_size;
        file->used = found.st_mtim;
        contents->bytes += file->size;
    }
    if (names != NULL)
        closedir(names);
}

/* Counts what is in the cache; beyond LIMIT, removes files until GOAL is reached. Returns the bytes that were freed. */
static uint64_t look(struct sxt_cache *cache, uint64_t limit, uint64_t goal)
{
    struct contents contents = {0};
    uint64_t freed = 0;
    pthread_mutex_lock(&cache->shrinking);
    cache->added = 0;
    read_contents(cache, &contents);
    if (contents.bytes > limit)
        qsort(contents.files, contents.count, sizeof *contents.files, compare_use);
    for (size_t i = 0; i < contents.count && contents.bytes > limit && contents.bytes - freed > goal; i++)
        if (unlinkat(cache->root, contents.files[i].name, 0) == 0 || errno == ENOENT)
            freed += contents.files[i].size;
    cache->bytes = contents.bytes - freed;
    pthread_mutex_unlock(&cache->shrinking);
    free(contents.files);
    return freed;
}

uint64_t sxt_cache_shrink(struct sxt_cache *cache, uint64_t limit)
{
    return look(cache, limit, limit);
}

int sxt_cache_sweep(struct sxt_cache *cache, uint64_t age_seconds, uint64_t *bytes, sxt_error *error)
{
    *bytes += look(cache, cache->limit, cache->limit);
    return sxt_temporary_sweep(cache->root, age_seconds, bytes, error);
}

uint64_t sxt_cache_bytes(struct sxt_cache *cache)
{
    return cache->bytes;
}
