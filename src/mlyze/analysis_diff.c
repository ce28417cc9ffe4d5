/*
 * analysis_diff.c: the same stacks in two traces, or in one at two moments. Ids differ between traces, so names are
 * compared.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/strings.h"
#include "mlyze/analysis.h"

struct diff_maker {
    sxt_heap_diff *out;
    struct sxt_strings keys; /* number N + 1 is that of change N */
    struct sxt_buffer key;
};

/* Lines are left out: they move when other code changes. */
static void make_key(struct diff_maker *maker, const sxt_heap_usage *usage, uint32_t id)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, id);
    sxt_buffer_clear(&maker->key);
    if (stack == NULL || stack->count == 0) {
        sxt_buffer_print(&maker->key, "stack_%u", id);
        return;
    }
    for (uint32_t node = stack->node; node != SXT_MLYZE_NO_NODE; node = sxt_mlyze_node_at(metadata, node)->parent) {
        const struct sxt_mlyze_frame *frame = &sxt_mlyze_node_at(metadata, node)->frame;
        char room[24];
        sxt_string name = sxt_mlyze_function(metadata, frame->function, room);
        sxt_buffer_append(&maker->key, name.data, name.size);
        sxt_buffer_u8(&maker->key, 0);
        name = sxt_mlyze_file(metadata, frame->file, room);
        sxt_buffer_append(&maker->key, name.data, name.size);
        sxt_buffer_u8(&maker->key, 0);
    }
}

static bool add_site(struct diff_maker *maker, const sxt_heap_usage *usage, uint32_t number, int side)
{
    sxt_heap_diff *out = maker->out;
    make_key(maker, usage, usage->sites[number].stack);
    uint32_t found = maker->key.failed ? SXT_STRINGS_FULL
                                       : sxt_strings_add(&maker->keys, (const char *)maker->key.data, maker->key.size);
    if (found == SXT_STRINGS_FULL)
        return false;
    if (found > out->count) {
        struct sxt_heap_pair *moved = sxt_array_grow(out->items, &out->capacity, out->count + 1, sizeof *moved);
        if (moved == NULL)
            return false;
        out->items = moved;
        out->items[out->count++] = (struct sxt_heap_pair){.sites = {SXT_HEAP_NO_SITE, SXT_HEAP_NO_SITE}};
    }
    struct sxt_heap_pair *change = &out->items[found - 1];
    uint32_t *site = &change->sites[side];
    if (*site == SXT_HEAP_NO_SITE)
        *site = number;
    sxt_heap_add_sums(&change->sums[side], &usage->sites[number].sums);
    return true;
}

static uint64_t size_of_change(const struct sxt_heap_pair *change, sxt_heap_cost cost)
{
    uint64_t before = sxt_heap_cost_of(&change->sums[0], cost), after = sxt_heap_cost_of(&change->sums[1], cost);
    return before > after ? before - after : after - before;
}

static int compare_changes(const void *left, const void *right, void *cost_of)
{
    const struct sxt_heap_pair *a = left, *b = right;
    sxt_heap_cost cost = *(sxt_heap_cost *)cost_of;
    uint64_t of_a = size_of_change(a, cost), of_b = size_of_change(b, cost);
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    if (a->sites[0] != b->sites[0])
        return a->sites[0] < b->sites[0] ? -1 : 1;
    return (a->sites[1] > b->sites[1]) - (a->sites[1] < b->sites[1]);
}

int sxt_heap_diff_make(const sxt_heap_usage *before, const sxt_heap_usage *after, sxt_heap_cost cost,
                       sxt_heap_diff **out, sxt_error *error)
{
    *out = NULL;
    sxt_heap_diff *diff = calloc(1, sizeof *diff);
    if (diff == NULL)
        return sxt_fail_memory(error, sizeof *diff);
    struct diff_maker maker = {.out = diff};
    diff->sides[0] = before;
    diff->sides[1] = after;
    sxt_buffer_init(&maker.key, (size_t)1 << 30);
    int status = sxt_strings_init(&maker.keys, 0, error);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < diff->sides[side]->site_count && status == SXT_OK; i++)
            if (!add_site(&maker, diff->sides[side], i, side))
                status = sxt_fail_memory(error, diff->capacity * sizeof *diff->items);
    if (status == SXT_OK && diff->count > 0)
        qsort_r(diff->items, diff->count, sizeof *diff->items, compare_changes, &cost);
    sxt_strings_free(&maker.keys);
    sxt_buffer_free(&maker.key);
    if (status == SXT_OK)
        *out = diff;
    else
        sxt_heap_diff_free(&diff);
    return status;
}

void sxt_heap_diff_free(sxt_heap_diff **diff)
{
    if (*diff == NULL)
        return;
    free((*diff)->items);
    free(*diff);
    *diff = NULL;
}

size_t sxt_heap_diff_count(const sxt_heap_diff *diff)
{
    return diff->count;
}

static uint32_t stack_of(const sxt_heap_diff *diff, const struct sxt_heap_pair *pair, int side)
{
    uint32_t site = pair->sites[side];
    return site == SXT_HEAP_NO_SITE ? SXT_TRACE_NO_ID : diff->sides[side]->sites[site].stack;
}

bool sxt_heap_diff_get(const sxt_heap_diff *diff, size_t index, sxt_heap_change *out)
{
    if (index >= diff->count)
        return false;
    const struct sxt_heap_pair *pair = &diff->items[index];
    *out = (sxt_heap_change){
        .before = stack_of(diff, pair, 0),
        .after = stack_of(diff, pair, 1),
        .sums_before = &pair->sums[0],
        .sums_after = &pair->sums[1],
    };
    return true;
}
