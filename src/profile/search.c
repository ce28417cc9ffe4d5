/* search.c: walking over directories, one list of those that are still to be read. */
#include "profile/search.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"

#define FILES_MAX ((size_t)1 << 22)

/* Directories that are still to be read; the paths are in the arena. */
struct pending {
    const char **paths;
    size_t count, capacity;
};

static bool read_directory(struct sxt_search *search, struct pending *pending, const char *path);
static bool add_path(struct sxt_search *search, struct pending *pending, const char *path, bool is_top);
static int by_base(const void *a, const void *b);

void sxt_search_init(struct sxt_search *search, const char *const *directories, size_t count)
{
    *search = (struct sxt_search){.directories = directories, .directory_count = count};
    sxt_arena_init(&search->arena, 0, sxt_arena_separate_default);
}

void sxt_search_free(struct sxt_search *search)
{
    sxt_arena_free(&search->arena);
    free(search->files);
    free(search->by_id);
    *search = (struct sxt_search){0};
}

bool sxt_search_walk(struct sxt_search *search)
{
    if (search->is_walked)
        return true;
    search->is_walked = true;
    struct pending pending = {0};
    bool fine = true;
    for (size_t i = 0; i < search->directory_count && fine; i++)
        fine = add_path(search, &pending, search->directories[i], true);
    while (pending.count > 0 && fine)
        fine = read_directory(search, &pending, pending.paths[--pending.count]);
    free(pending.paths);
    if (search->count > 1)
        qsort(search->files, search->count, sizeof *search->files, by_base);
    return fine;
}

static int by_base(const void *a, const void *b)
{
    const struct sxt_search_file *left = a, *right = b;
    int order = strcmp(left->base, right->base);
    return order != 0 ? order : strcmp(left->path, right->path);
}

static bool read_directory(struct sxt_search *search, struct pending *pending, const char *path)
{
    DIR *directory = opendir(path);
    bool fine = true;
    for (struct dirent *entry; directory != NULL && fine && (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *child = NULL;
        fine = asprintf(&child, "%s/%s", path, entry->d_name) >= 0 && add_path(search, pending, child, false);
        free(child);
    }
    if (directory != NULL)
        closedir(directory);
    return fine;
}

static bool add_path(struct sxt_search *search, struct pending *pending, const char *path, bool is_top)
{
    struct stat attributes;
    if ((is_top ? stat : lstat)(path, &attributes) != 0)
        return true;
    bool is_directory = S_ISDIR(attributes.st_mode);
    if (S_ISLNK(attributes.st_mode) && stat(path, &attributes) != 0)
        return true;
    if (!is_directory && !S_ISREG(attributes.st_mode))
        return true;
    if (!is_directory && search->count == FILES_MAX) {
        search->is_cut = true;
        return true;
    }
    char *kept = sxt_arena_copy(&search->arena, path, strlen(path));
    if (kept == NULL)
        return false;
    if (is_directory) {
        void *moved = sxt_array_grow(pending->paths, &pending->capacity, pending->count + 1, sizeof *pending->paths);
        if (moved == NULL)
            return false;
        pending->paths = moved;
        pending->paths[pending->count++] = kept;
        return true;
    }
    void *moved = sxt_array_grow(search->files, &search->capacity, search->count + 1, sizeof *search->files);
    if (moved == NULL)
        return false;
    search->files = moved;
    const char *slash = strrchr(kept, '/');
    search->files[search->count++] = (struct sxt_search_file){.path = kept, .base = slash != NULL ? slash + 1 : kept};
    return true;
}

size_t sxt_search_from(const struct sxt_search *search, const char *name)
{
    size_t low = 0, high = search->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(search->files[middle].base, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct sxt_probe *sxt_search_probe(struct sxt_search *search, size_t index)
{
    struct sxt_search_file *file = &search->files[index];
    if (file->probe == NULL) {
        struct sxt_probe *probe = sxt_arena_alloc(&search->arena, sizeof *probe);
        if (probe == NULL)
            return NULL;
        sxt_probe_path(file->path, probe, NULL);
        file->probe = probe;
    }
    return file->probe;
}

static uint64_t id_key(const uint8_t *id, size_t size)
{
    uint64_t key = 0;
    for (size_t i = 0; i < 8; i++)
        key = key << 8 | (i < size ? id[i] : 0);
    return key;
}

/* Leaves by_id NULL when memory is short. */
static void make_id_index(struct sxt_search *search)
{
    struct sxt_sort_item *items = malloc((search->count + 1) * sizeof *items);
    struct sxt_sort_item *scratch = malloc((search->count + 1) * sizeof *scratch);
    size_t count = 0;
    for (size_t i = 0; i < search->count && items != NULL && scratch != NULL; i++) {
        const struct sxt_probe *probe = sxt_search_probe(search, i);
        if (probe != NULL && probe->is_elf && probe->build_id_size > 0)
            items[count++] = (struct sxt_sort_item){id_key(probe->build_id, probe->build_id_size), (uint32_t)i};
    }
    if (items == NULL || scratch == NULL) {
        free(items);
        items = NULL;
    } else {
        sxt_sort(items, scratch, count);
    }
    free(scratch);
    search->by_id = items;
    search->by_id_count = count;
}

size_t sxt_search_by_build_id(struct sxt_search *search, const uint8_t *id, size_t size, size_t *at)
{
    if (search->by_id == NULL)
        make_id_index(search);
    if (search->by_id == NULL)
        return search->count;
    uint64_t key = id_key(id, size);
    if (*at == 0) {
        size_t low = 0, high = search->by_id_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (search->by_id[middle].key < key)
                low = middle + 1;
            else
                high = middle;
        }
        *at = low + 1;
    }
    for (; *at <= search->by_id_count && search->by_id[*at - 1].key == key; ++*at) {
        size_t index = search->by_id[*at - 1].index;
        const struct sxt_probe *probe = search->files[index].probe;
        if (probe->build_id_size == size && memcmp(probe->build_id, id, size) == 0) {
            ++*at;
            return index;
        }
    }
    return search->count;
}

bool sxt_search_has_file_id(struct sxt_search *search, size_t index, const char *id)
{
    struct sxt_search_file *file = &search->files[index];
    const struct sxt_probe *probe = sxt_search_probe(search, index);
    if (probe == NULL || !probe->is_elf)
        return false;
    if (file->file_id == NULL) {
        file->file_id = sxt_arena_calloc(&search->arena, 1, sizeof *file->file_id);
        if (file->file_id == NULL || sxt_file_id(file->path, (*file->file_id)[0], (*file->file_id)[1], NULL) != SXT_OK)
            return false;
    }
    return strcmp((*file->file_id)[0], id) == 0 || strcmp((*file->file_id)[1], id) == 0;
}
