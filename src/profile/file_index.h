/*
 * file_index.h: the files in the directories that the user gave, by name, build ID or FileID.
 *
 * The directories are walked once, when the first file is looked for. A file is opened only if its name does not
 * decide, and only once. Links to files are followed; links to directories are not, so that a walk ends.
 */
#ifndef SXT_PROFILE_FILE_INDEX_H
#define SXT_PROFILE_FILE_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/sort.h"
#include "profile/elf_summary.h"

struct sxt_indexed_file {
    const char *path;
    const char *base;                /* the last component of path */
    struct sxt_elf_summary *summary; /* NULL until it is needed */
    const uint8_t *file_id;          /* of the ELF file or of the archive's binary; NULL until it is needed */
};

struct sxt_file_index {
    const char *const *directories; /* borrowed; may be plain files too */
    size_t directory_count;
    bool is_filled;
    bool is_cut; /* there are more files than the index keeps */
    struct sxt_arena arena;
    struct sxt_indexed_file *files; /* in order of base, then path */
    size_t count, capacity;
    struct sxt_sort_item *by_id; /* files with a build ID, by its first bytes; NULL until it is needed */
    size_t by_id_count;
    uint32_t *archives; /* archives of binaries whose names are known, by that name; NULL until it is needed */
    size_t archive_count;
};

void sxt_file_index_init(struct sxt_file_index *index, const char *const *directories, size_t count);
void sxt_file_index_free(struct sxt_file_index *index);

/* Walks the directories the first time it is called. Leaves out what cannot be read. False when out of memory. */
bool sxt_file_index_fill(struct sxt_file_index *index);

/* The number of the first file whose base is not before NAME; index->count if there is none. */
size_t sxt_file_index_at(const struct sxt_file_index *index, const char *name);

/* What file NUMBER contains; NULL when out of memory. */
const struct sxt_elf_summary *sxt_file_index_summary(struct sxt_file_index *index, size_t number);

/*
 * Iterates over the files with that build ID: *AT is 0 at first and belongs to this function. Returns the number of a
 * file, or index->count after the last one. The first call opens every file.
 */
size_t sxt_file_index_next_build_id(struct sxt_file_index *index, const uint8_t *id, size_t size, size_t *at);

/*
 * The numbers of the archives of a binary called NAME, and in *COUNT how many. The first call opens every file with the
 * ending of an archive.
 */
const uint32_t *sxt_file_index_archives_of(struct sxt_file_index *index, const char *name, size_t *count);

/* Whether file NUMBER is an ELF file with that FileID (16 bytes), or an archive of one. */
bool sxt_file_index_has_file_id(struct sxt_file_index *index, size_t number, const uint8_t *id);

#endif
