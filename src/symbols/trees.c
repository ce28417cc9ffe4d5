/* trees.c: finds the trees of a list of ranges, and copies them in another order, on several threads. */
#include "symbols/trees.h"

#include <stdlib.h>
#include <string.h>

#include "base/pool.h"

/* Ranges that justify a thread. */
#define WORTH_A_THREAD ((size_t)1 << 14)
/* What one item of work has, if there are not more items than PARTS_MAX. */
#define RANGES_A_PART ((size_t)1 << 13)
#define RUNS_A_PART   ((size_t)1 << 10)
#define PARTS_MAX     ((size_t)256)

unsigned sxt_threads_for_ranges(unsigned threads, size_t count)
{
    size_t worth = count / WORTH_A_THREAD + 1;
    if (worth == 1)
        return 1;
    threads = sxt_pool_threads(threads);
    return threads < worth ? threads : (unsigned)worth;
}

/* How many of COUNT things one item of work has: LEAST, or more if there would be too many items. */
static size_t part_size_of(size_t count, size_t least)
{
    size_t size = count / PARTS_MAX + 1;
    return size < least ? least : size;
}

/* The search for trees. A part notes the trees that begin in it at its own place in the arrays. */
struct search {
    struct sxt_trees *trees;
    const struct sxt_model_range *ranges;
    size_t count;
    sxt_tree_check *check;
    const void *context;
    size_t part_size;
    size_t found[PARTS_MAX];
};

static int search_part(void *context, unsigned worker, size_t part)
{
    (void)worker;
    struct search *search = context;
    size_t start = part * search->part_size;
    size_t end = search->count - start < search->part_size ? search->count : start + search->part_size;
    size_t found = start, first = start;
    while (first < end && first > 0 && search->ranges[first].depth > 0)
        first++;
    while (first < end) {
        size_t next = first + 1;
        while (next < search->count && search->ranges[next].depth > 0)
            next++;
        search->trees->first[found] = (uint32_t)first;
        search->trees->marked[found++] = search->check != NULL && search->check(search->context, first, next);
        first = next;
    }
    search->found[part] = found - start;
    return SXT_OK;
}

bool sxt_trees_find(struct sxt_trees *trees, const struct sxt_model_range *ranges, size_t count, sxt_tree_check *check,
                    const void *context, unsigned threads)
{
    *trees = (struct sxt_trees){.first = malloc((count + 1) * sizeof *trees->first),
                                .marked = malloc((count + 1) * sizeof *trees->marked)};
    if (trees->first == NULL || trees->marked == NULL)
        return false;
    struct search search = {
        .trees = trees,
        .ranges = ranges,
        .count = count,
        .check = check,
        .context = context,
        .part_size = part_size_of(count, RANGES_A_PART),
    };
    size_t parts = (count + search.part_size - 1) / search.part_size;
    sxt_pool_run(sxt_threads_for_ranges(threads, count), parts, search_part, &search);
    /* A part has at most as many trees as ranges, so what is moved goes to the front. */
    for (size_t part = 0; part < parts; part++) {
        size_t start = part * search.part_size, found = search.found[part];
        memmove(trees->first + trees->count, trees->first + start, found * sizeof *trees->first);
        memmove(trees->marked + trees->count, trees->marked + start, found * sizeof *trees->marked);
        trees->count += found;
    }
    trees->first[trees->count] = (uint32_t)count;
    for (size_t i = 0; i < trees->count; i++)
        trees->marked_count += trees->marked[i];
    return true;
}

void sxt_trees_free(struct sxt_trees *trees)
{
    free(trees->first);
    free(trees->marked);
    memset(trees, 0, sizeof *trees);
}

/* Where each part of the runs begins, also in the other ranges and in the output. */
struct copying {
    const struct sxt_range_mix *mix;
    struct sxt_model_range *out;
    struct place {
        size_t run, other, out;
    } places[PARTS_MAX + 1];
};

static int copy_part(void *context, unsigned worker, size_t part)
{
    (void)worker;
    const struct copying *copying = context;
    const struct sxt_range_mix *mix = copying->mix;
    struct place at = copying->places[part];
    for (; at.run < copying->places[part + 1].run; at.run++) {
        const struct sxt_range_run *run = &mix->runs[at.run];
        const struct sxt_model_range *from = &mix->source[run->first];
        for (; at.other < mix->other_count && mix->others[at.other].address < from->address; at.other++)
            copying->out[at.out++] = mix->others[at.other];
        memcpy(&copying->out[at.out], from, run->count * sizeof *from);
        at.out += run->count;
    }
    return SXT_OK;
}

void sxt_ranges_mix(const struct sxt_range_mix *mix, unsigned threads, struct sxt_model_range *out)
{
    struct copying copying = {.mix = mix, .out = out};
    size_t part_size = part_size_of(mix->run_count, RUNS_A_PART), parts = 0;
    struct place at = {0, 0, 0};
    for (; at.run < mix->run_count; at.run++) {
        if (at.run % part_size == 0)
            copying.places[parts++] = at;
        const struct sxt_range_run *run = &mix->runs[at.run];
        uint64_t address = mix->source[run->first].address;
        for (; at.other < mix->other_count && mix->others[at.other].address < address; at.other++)
            at.out++;
        at.out += run->count;
    }
    copying.places[parts] = at;
    sxt_pool_run(sxt_threads_for_ranges(threads, at.out), parts, copy_part, &copying);
    if (at.other < mix->other_count)
        memcpy(&out[at.out], &mix->others[at.other], (mix->other_count - at.other) * sizeof *out);
}
