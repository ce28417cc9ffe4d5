/*
 * analysis_match_files.c: the files of builds in different folders: /old/src/a.c and /new/src/a.c.
 *
 * Sorted from their ends, paths with the same end are neighbours. So the best partner of a path is next to the place
 * that it would have, and there are several best ones only if that holds for its neighbours too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/search.h"
#include "mlyze/analysis_match.h"

#define ROUNDS 16

/* Numbers of files, sorted from the ends of their names. */
struct file_list {
    uint32_t *items;
    size_t count;
};

/* Byte INDEX from the end. A path has one more separator before its beginning; separators sort first. */
static int byte_from_end(sxt_string path, size_t index)
{
    if (index > path.size)
        return 0;
    return index == path.size || path.data[path.size - 1 - index] == '/'
               ? 1
               : 2 + (unsigned char)path.data[path.size - 1 - index];
}

static int compare_ends(sxt_string a, sxt_string b)
{
    for (size_t i = 0;; i++) {
        int of_a = byte_from_end(a, i), of_b = byte_from_end(b, i);
        if (of_a != of_b)
            return of_a < of_b ? -1 : 1;
        if (of_a == 0)
            return 0;
    }
}

/* How many components two paths have in common at the end. */
static size_t common_components(sxt_string a, sxt_string b)
{
    size_t count = 0;
    for (size_t i = 0;; i++) {
        int of_a = byte_from_end(a, i);
        if (of_a == 0 || of_a != byte_from_end(b, i))
            return count;
        count += of_a == 1;
    }
}

static int by_end(const void *left, const void *right, void *files)
{
    return compare_ends(sxt_strings_get(files, *(const uint32_t *)left),
                        sxt_strings_get(files, *(const uint32_t *)right));
}

static size_t common_at(const struct sxt_strings *files, const struct file_list *list, size_t place, sxt_string path)
{
    return place < list->count ? common_components(sxt_strings_get(files, list->items[place]), path) : 0;
}

/* The place in LIST of the only path that has the most components in common with PATH; SIZE_MAX if there is none. */
static size_t find_partner(const struct sxt_strings *files, const struct file_list *list, sxt_string path)
{
    struct sxt_bisection search = {.high = list->count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, compare_ends(sxt_strings_get(files, list->items[search.middle]), path) < 0);
    size_t next = search.low, before = next - 1; /* SIZE_MAX if there is none before */
    size_t of_next = common_at(files, list, next, path), of_before = common_at(files, list, before, path);
    if (of_next == of_before)
        return SIZE_MAX;
    bool is_next = of_next > of_before;
    size_t best = is_next ? next : before, other = is_next ? next + 1 : before - 1;
    return common_at(files, list, other, path) < (is_next ? of_next : of_before) ? best : SIZE_MAX;
}

/* Files of earlier runs that this run does not have, under their own or another name. */
static void collect_candidates(const struct sxt_matches *matches, uint32_t first, const bool *is_used, bool *is_taken,
                               struct file_list *out)
{
    for (uint32_t i = 1; i < first; i++)
        if (is_used[i])
            is_taken[matches->canonical[i]] = true;
    for (uint32_t i = 1; i < first; i++)
        if (matches->canonical[i] == i && !is_taken[i])
            out->items[out->count++] = i;
}

/* Removes the items at the places that are marked. */
static void remove_marked(struct file_list *list, const bool *is_marked)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (!is_marked[i])
            list->items[kept++] = list->items[i];
    list->count = kept;
}

/* Pairs files that are each other's only best partner, and removes them from both lists. False if there are none. */
static bool pair_up(struct sxt_matches *matches, struct file_list *olds, struct file_list *news, bool *marks[2])
{
    const struct sxt_strings *files = &matches->files;
    bool has_changed = false;
    memset(marks[0], 0, olds->count);
    memset(marks[1], 0, news->count);
    for (size_t i = 0; i < news->count; i++) {
        size_t old = find_partner(files, olds, sxt_strings_get(files, news->items[i]));
        if (old == SIZE_MAX || find_partner(files, news, sxt_strings_get(files, olds->items[old])) != i)
            continue;
        matches->canonical[news->items[i]] = olds->items[old];
        marks[0][old] = marks[1][i] = has_changed = true;
    }
    remove_marked(olds, marks[0]);
    remove_marked(news, marks[1]);
    return has_changed;
}

/* With /old/a/x.c paired, /old/x.c has no rival any more: so several rounds. */
static void pair_all(struct sxt_matches *matches, struct file_list *olds, struct file_list *news, bool *marks[2])
{
    qsort_r(olds->items, olds->count, sizeof *olds->items, by_end, &matches->files);
    qsort_r(news->items, news->count, sizeof *news->items, by_end, &matches->files);
    for (int round = 0; round < ROUNDS && olds->count > 0 && news->count > 0; round++)
        if (!pair_up(matches, olds, news, marks))
            break;
}

int sxt_match_files(struct sxt_matches *matches, uint32_t first, const bool *is_used, sxt_error *error)
{
    uint32_t all = matches->files.count;
    struct file_list olds = {malloc(((size_t)first + 1) * sizeof *olds.items), 0};
    struct file_list news = {malloc(((size_t)(all - first) + 1) * sizeof *news.items), 0};
    bool *marks[2] = {calloc((size_t)first + 1, 1), calloc((size_t)(all - first) + 1, 1)};
    bool is_fine = olds.items != NULL && news.items != NULL && marks[0] != NULL && marks[1] != NULL;
    if (is_fine) {
        collect_candidates(matches, first, is_used, marks[0], &olds);
        for (uint32_t i = first; i < all; i++)
            news.items[news.count++] = i;
        pair_all(matches, &olds, &news, marks);
    }
    free(olds.items);
    free(news.items);
    free(marks[0]);
    free(marks[1]);
    return is_fine ? SXT_OK : sxt_fail_memory(error, (size_t)all * sizeof *olds.items);
}
