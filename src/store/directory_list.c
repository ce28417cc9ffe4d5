/*
 * directory_list.c: the objects of a directory in the order of their keys.
 *
 * One folder on the way is in memory at a time for each level, with a '/' after the names of folders: "a-b" is before
 * "a/x" and "a/x" before "a0", as in a bucket. Names that cannot be words of a key, links and special files are not
 * shown. An object that is removed while the listing runs may be missing in it, one that was there before is not.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "store/directory.h"
#include "store/key.h"
#include "store/temporary.h"

#define NAMES_MAX ((size_t)1 << 32) /* bytes of the names in one folder */

/* A folder on the way to the current object. */
struct level {
    int folder;
    size_t key_size; /* of the folder's own key, with '/' */
    struct sxt_buffer names;
    const char **sorted; /* in NAMES */
    size_t count, next;
};

struct walk {
    struct level *levels;
    size_t depth, capacity;
    char key[SXT_KEY_MAX + 1];
    bool words; /* do not enter folders */
    struct sxt_store *store;
    sxt_store_visit *visit;
    void *data;
    sxt_error *error;
};

static int enter(struct walk *walk, int folder, size_t key_size);
static int visit_next(struct walk *walk);

static void leave(struct walk *walk)
{
    struct level *level = &walk->levels[--walk->depth];
    close(level->folder);
    sxt_buffer_free(&level->names);
    free(level->sorted);
}

static int fail(struct walk *walk, int reason, const char *what)
{
    walk->store->counts.errors++;
    return sxt_store_fail_errno(walk->error, reason, what, walk->key);
}

int sxt_directory_list(struct sxt_store *store, const char *prefix, bool words, sxt_store_visit *visit, void *data,
                       sxt_error *error)
{
    struct sxt_directory *directory = (struct sxt_directory *)store;
    struct walk walk = {.words = words, .store = store, .visit = visit, .data = data, .error = error};
    snprintf(walk.key, sizeof walk.key, "%s", prefix);
    int folder = sxt_directory_open_below(directory->root, prefix, O_RDONLY | O_DIRECTORY);
    if (folder < 0)
        return errno == ENOENT || errno == ENOTDIR ? SXT_OK : fail(&walk, errno, "list");
    int status = enter(&walk, folder, strlen(prefix));
    while (status == SXT_OK && walk.depth > 0)
        status = visit_next(&walk);
    while (walk.depth > 0)
        leave(&walk);
    free(walk.levels);
    return status;
}

/* 'd' is a folder, 'f' a file, 0 anything else. */
static char kind_of(int folder, const struct dirent *entry)
{
    if (entry->d_type == DT_DIR)
        return 'd';
    if (entry->d_type == DT_REG)
        return 'f';
    struct stat found;
    if (entry->d_type != DT_UNKNOWN || fstatat(folder, entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    return S_ISDIR(found.st_mode) ? 'd' : S_ISREG(found.st_mode) ? 'f' : 0;
}

/* Reads the names of a folder. Returns 0 or an errno. */
static int read_names(struct level *level)
{
    int copy = openat(level->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *names = copy >= 0 ? fdopendir(copy) : NULL;
    if (names == NULL) {
        int reason = errno;
        if (copy >= 0)
            close(copy);
        return reason;
    }
    struct dirent *entry;
    for (errno = 0; (entry = readdir(names)) != NULL; errno = 0) {
        size_t size = strlen(entry->d_name);
        char kind = sxt_key_is_word(entry->d_name, size) ? kind_of(level->folder, entry) : 0;
        if (kind == 0)
            continue;
        sxt_buffer_append(&level->names, entry->d_name, size);
        sxt_buffer_append(&level->names, "/", kind == 'd' ? 2 : 0);
        sxt_buffer_append(&level->names, "", kind == 'd' ? 0 : 1);
        level->count++;
    }
    int reason = level->names.failed ? ENOMEM : errno;
    closedir(names);
    /* A folder that was removed under us is empty. */
    return reason == ENOENT ? 0 : reason;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool sort_names(struct level *level)
{
    level->sorted = calloc(level->count + 1, sizeof *level->sorted);
    if (level->sorted == NULL)
        return false;
    const char *name = (const char *)level->names.data;
    for (size_t i = 0; i < level->count; i++) {
        level->sorted[i] = name;
        name += strlen(name) + 1;
    }
    qsort(level->sorted, level->count, sizeof *level->sorted, compare_names);
    return true;
}

/* Adds a level. FOLDER is closed with it, or on failure. */
static int enter(struct walk *walk, int folder, size_t key_size)
{
    struct level *levels = sxt_array_grow(walk->levels, &walk->capacity, walk->depth + 1, sizeof *levels);
    if (levels == NULL) {
        close(folder);
        return sxt_fail_memory(walk->error, sizeof *levels);
    }
    walk->levels = levels;
    struct level *level = &levels[walk->depth++];
    *level = (struct level){.folder = folder, .key_size = key_size};
    sxt_buffer_init(&level->names, NAMES_MAX);
    int reason = read_names(level);
    if (reason != 0)
        return fail(walk, reason, "list");
    return sort_names(level) ? SXT_OK : sxt_fail_memory(walk->error, level->count * sizeof *level->sorted);
}

/* Words need no size, and the folder said that it is a file. */
static int visit_file(struct walk *walk, int folder, const char *name)
{
    struct stat found;
    if (walk->words)
        return walk->visit(walk->data, walk->key, 0, 0);
    if (fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? SXT_OK : fail(walk, errno, "list");
    if (!S_ISREG(found.st_mode))
        return SXT_OK;
    int64_t modified = (int64_t)found.st_mtim.tv_sec * 1000000 + found.st_mtim.tv_nsec / 1000;
    return walk->visit(walk->data, walk->key, (uint64_t)found.st_size, modified);
}

static int stop_at_first(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)key;
    (void)size;
    (void)modified_us;
    *(bool *)data = true;
    return SXT_ERROR_LIMIT;
}

/* A folder is a word only if it has an object: a writer that was killed may have left an empty one. */
static int visit_folder(struct walk *walk, int folder, const char *name)
{
    if (walk->words) {
        bool found = false;
        int status = sxt_directory_list(walk->store, walk->key, false, stop_at_first, &found, walk->error);
        return found ? walk->visit(walk->data, walk->key, 0, 0) : status;
    }
    char word[SXT_KEY_WORD_MAX + 1];
    snprintf(word, sizeof word, "%.*s", (int)(strlen(name) - 1), name);
    int next = openat(folder, word, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? SXT_OK : fail(walk, errno, "list");
    return enter(walk, next, strlen(walk->key));
}

static int visit_next(struct walk *walk)
{
    struct level *level = &walk->levels[walk->depth - 1];
    if (level->next == level->count) {
        leave(walk);
        return SXT_OK;
    }
    const char *name = level->sorted[level->next++];
    size_t size = strlen(name);
    bool is_folder = name[size - 1] == '/';
    /* Only files of somebody else are that deep. */
    if (level->key_size + size > SXT_KEY_MAX)
        return SXT_OK;
    memcpy(walk->key + level->key_size, name, size + 1);
    return is_folder ? visit_folder(walk, level->folder, name) : visit_file(walk, level->folder, name);
}
