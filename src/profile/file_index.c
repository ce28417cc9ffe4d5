/* file_index.c: walks directories, and finds files by name, build ID and FileID. */
#include "profile/file_index.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/file.h"
#include "base/file_id.h"
#include "base/search.h"

#define FILES_MAX ((size_t)1 << 22)

/* Directories that have not been read yet; the paths are in the arena. */
struct pending {
    const char **paths;
    size_t count, capacity;
};

static bool read_directory(struct sxt_file_index *index, struct pending *pending, const char *path);
static bool add_path(struct sxt_file_index *index, struct pending *pending, const char *path, bool is_top);
static int by_base(const void *a, const void *b);

void sxt_file_index_init(struct sxt_file_index *index, const char *const *directories, size_t count)
{
    *index = (struct sxt_file_index){.directories = directories, .directory_count = count};
    sxt_arena_init(&index->arena, 0, sxt_arena_separate_default);
}

void sxt_file_index_free(struct sxt_file_index *index)
{
    sxt_arena_free(&index->arena);
    free(index->files);
    free(index->by_id);
    free(index->archives);
    *index = (struct sxt_file_index){0};
}

bool sxt_file_index_fill(struct sxt_file_index *index)
{
    if (index->is_filled)
        return true;
    index->is_filled = true;
    struct pending pending = {0};
    bool fine = true;
    for (size_t i = 0; i < index->directory_count && fine; i++)
        fine = add_path(index, &pending, index->directories[i], true);
    while (pending.count > 0 && fine)
        fine = read_directory(index, &pending, pending.paths[--pending.count]);
    free(pending.paths);
    if (index->count > 1)
        qsort(index->files, index->count, sizeof *index->files, by_base);
    return fine;
}

static int by_base(const void *a, const void *b)
{
    const struct sxt_indexed_file *left = a, *right = b;
    int order = strcmp(left->base, right->base);
    return order != 0 ? order : strcmp(left->path, right->path);
}

static bool read_directory(struct sxt_file_index *index, struct pending *pending, const char *path)
{
    DIR *directory = opendir(path);
    bool fine = true;
    for (struct dirent *entry; directory != NULL && fine && (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *child = NULL;
        fine = asprintf(&child, "%s/%s", path, entry->d_name) >= 0 && add_path(index, pending, child, false);
        free(child);
    }
    if (directory != NULL)
        closedir(directory);
    return fine;
}

static bool add_path(struct sxt_file_index *index, struct pending *pending, const char *path, bool is_top)
{
    struct stat attributes;
    if ((is_top ? stat : lstat)(path, &attributes) != 0)
        return true;
    bool is_directory = S_ISDIR(attributes.st_mode);
    if (S_ISLNK(attributes.st_mode) && stat(path, &attributes) != 0)
        return true;
    if (!is_directory && !S_ISREG(attributes.st_mode))
        return true;
    if (!is_directory && index->count == FILES_MAX) {
        index->is_cut = true;
        return true;
    }
    char *kept = sxt_arena_copy(&index->arena, path, strlen(path));
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
    void *moved = sxt_array_grow(index->files, &index->capacity, index->count + 1, sizeof *index->files);
    if (moved == NULL)
        return false;
    index->files = moved;
    const char *slash = strrchr(kept, '/');
    index->files[index->count++] = (struct sxt_indexed_file){.path = kept, .base = slash != NULL ? slash + 1 : kept};
    return true;
}

size_t sxt_file_index_at(const struct sxt_file_index *index, const char *name)
{
    struct sxt_bisection search = {.high = index->count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, strcmp(index->files[search.middle].base, name) < 0);
    return search.low;
}

const struct sxt_elf_summary *sxt_file_index_summary(struct sxt_file_index *index, size_t number)
{
    struct sxt_indexed_file *file = &index->files[number];
    if (file->summary == NULL) {
        struct sxt_elf_summary *summary = sxt_arena_alloc(&index->arena, sizeof *summary);
        if (summary == NULL)
            return NULL;
        sxt_elf_summary_read(file->path, summary, NULL);
        file->summary = summary;
    }
    return file->summary;
}

static uint64_t id_key(const uint8_t *id, size_t size)
{
    uint64_t key = 0;
    for (size_t i = 0; i < 8; i++)
        key = key << 8 | (i < size ? id[i] : 0);
    return key;
}

/* Leaves by_id NULL when out of memory. */
static void make_id_index(struct sxt_file_index *index)
{
    struct sxt_sort_item *items = malloc((index->count + 1) * sizeof *items);
    struct sxt_sort_item *scratch = malloc((index->count + 1) * sizeof *scratch);
    size_t count = 0;
    for (size_t i = 0; i < index->count && items != NULL && scratch != NULL; i++) {
        const struct sxt_elf_summary *summary = sxt_file_index_summary(index, i);
        if (summary != NULL && summary->build_id_size > 0)
            items[count++] = (struct sxt_sort_item){id_key(summary->build_id, summary->build_id_size), (uint32_t)i};
    }
    if (items == NULL || scratch == NULL) {
        free(items);
        items = NULL;
    } else {
        sxt_sort(items, scratch, count);
    }
    free(scratch);
    index->by_id = items;
    index->by_id_count = count;
}

size_t sxt_file_index_next_build_id(struct sxt_file_index *index, const uint8_t *id, size_t size, size_t *at)
{
    if (index->by_id == NULL)
        make_id_index(index);
    if (index->by_id == NULL)
        return index->count;
    uint64_t key = id_key(id, size);
    if (*at == 0)
        *at = SXT_SEARCH_FROM(index->by_id, index->by_id_count, key, key) + 1;
    for (; *at <= index->by_id_count && index->by_id[*at - 1].key == key; ++*at) {
        size_t number = index->by_id[*at - 1].index;
        const struct sxt_elf_summary *summary = index->files[number].summary;
        if (summary->build_id_size == size && memcmp(summary->build_id, id, size) == 0) {
            ++*at;
            return number;
        }
    }
    return index->count;
}

bool sxt_file_index_has_file_id(struct sxt_file_index *index, size_t number, const uint8_t *id)
{
    struct sxt_indexed_file *file = &index->files[number];
    const struct sxt_elf_summary *summary = sxt_file_index_summary(index, number);
    if (summary == NULL)
        return false;
    if (summary->is_archive)
        return summary->has_file_id && memcmp(summary->file_id, id, sizeof summary->file_id) == 0;
    if (!summary->is_elf)
        return false;
    if (file->file_id == NULL) {
        uint8_t *computed = sxt_arena_calloc(&index->arena, 1, SXT_FILE_ID_SIZE);
        struct sxt_file opened;
        if (computed == NULL || sxt_file_open(&opened, file->path, NULL) != SXT_OK)
            return false;
        sxt_file_id_compute(opened.data, opened.size, computed);
        sxt_file_close(&opened);
        file->file_id = computed;
    }
    return memcmp(file->file_id, id, SXT_FILE_ID_SIZE) == 0;
}

static bool ends_like_an_archive(const char *base)
{
    static const char *const endings[] = {".lidia", ".symbfile"};
    size_t size = strlen(base);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (size > strlen(endings[i]) && strcmp(base + size - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

static int by_binary(const void *a, const void *b, void *context)
{
    const struct sxt_file_index *index = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int order = strcmp(index->files[left].summary->name, index->files[right].summary->name);
    return order != 0 ? order : left < right ? -1 : left > right;
}

/* Leaves it NULL when out of memory. */
static void list_archives(struct sxt_file_index *index)
{
    index->archives = malloc((index->count + 1) * sizeof *index->archives);
    for (size_t i = 0; i < index->count && index->archives != NULL; i++) {
        const struct sxt_elf_summary *summary =
            ends_like_an_archive(index->files[i].base) ? sxt_file_index_summary(index, i) : NULL;
        if (summary != NULL && summary->is_archive && summary->name[0] != '\0')
            index->archives[index->archive_count++] = (uint32_t)i;
    }
    if (index->archive_count > 1)
        qsort_r(index->archives, index->archive_count, sizeof *index->archives, by_binary, index);
}

const uint32_t *sxt_file_index_archives_of(struct sxt_file_index *index, const char *name, size_t *count)
{
    *count = 0;
    if (index->archives == NULL)
        list_archives(index);
    if (index->archives == NULL)
        return NULL;
    size_t low = 0, high = index->archive_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->files[index->archives[middle]].summary->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + *count < index->archive_count &&
           strcmp(index->files[index->archives[low + *count]].summary->name, name) == 0)
        ++*count;
    return index->archives + low;
}
