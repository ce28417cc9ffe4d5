/*
 * search.h: the files below the directories that the user named, found by name or by what is in them.
 *
 * The directories are walked once, when the first question comes. Files are opened only when their names do not answer
 * it, and then each once. Links to files are followed, links to directories are not, so a walk ends.
 */
#ifndef SXT_PROFILE_SEARCH_H
#define SXT_PROFILE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/sort.h"
#include "profile/probe.h"

struct sxt_search_file {
    const char *path;
    const char *base;        /* the last component of path */
    struct sxt_probe *probe; /* NULL until it is asked for */
    char (*file_id)[2][40];  /* the same; in hex, and in base64url */
};

struct sxt_search {
    const char *const *directories; /* borrowed; a plain file is fine too */
    size_t directory_count;
    bool is_walked;
    bool is_cut; /* there were more files than are kept */
    struct sxt_arena arena;
    struct sxt_search_file *files; /* in order of base, then path */
    size_t count, capacity;
    struct sxt_sort_item *by_id; /* ELF files with a build ID, by its first bytes; NULL until it is asked for */
    size_t by_id_count;
};

void sxt_search_init(struct sxt_search *search, const char *const *directories, size_t count);
void sxt_search_free(struct sxt_search *search);

/* Walks, if that has not been done. What cannot be read is left out. False when memory is short. */
bool sxt_search_walk(struct sxt_search *search);

/* The first file whose base is not before NAME, as an index; search->count when there is none. */
size_t sxt_search_from(const struct sxt_search *search, const char *name);

/* What is in file INDEX; NULL when memory is short. */
const struct sxt_probe *sxt_search_probe(struct sxt_search *search, size_t index);

/*
 * The files with that build ID, one a call: *AT is 0 at first and belongs to this function. Returns an index, or
 * search->count behind the last. The first call opens every file.
 */
size_t sxt_search_by_build_id(struct sxt_search *search, const uint8_t *id, size_t size, size_t *at);

/* Has it that FileID, in hex or in base64url? Only ELF files have one here. */
bool sxt_search_has_file_id(struct sxt_search *search, size_t index, const char *id);

#endif
