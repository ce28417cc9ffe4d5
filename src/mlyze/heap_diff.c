/* heap_diff.c: the same stacks in two traces, or in one at two moments. Ids differ between traces, so names decide. */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/strings.h"
#include "mlyze/heap.h"

struct diff_maker {
    struct sxt_heap_changes *out;
    struct sxt_strings keys; /* number N + 1 is that of change N */
    struct sxt_buffer key;
};

/* Lines are left out: they move when other code changes. */
static void make_key(struct diff_maker *maker, const struct sxt_heap_usage *usage, uint32_t id)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, id);
    sxt_buffer_clear(&maker->key);
    if (stack == NULL || stack->count == 0) {
        sxt_buffer_print(&maker->key, "stack_%u", id);
        return;
    }
    for (uint32_t i = 0; i < stack->count; i++) {
        char room[24];
        sxt_string name = sxt_mlyze_function(metadata, stack->frames[i].function, room);
        sxt_buffer_append(&maker->key, name.data, name.size);
        sxt_buffer_u8(&maker->key, 0);
        name = sxt_mlyze_file(metadata, stack->frames[i].file, room);
        sxt_buffer_append(&maker->key, name.data, name.size);
        sxt_buffer_u8(&maker->key, 0);
    }
}

static bool add_site(struct diff_maker *maker, const struct sxt_heap_usage *usage, uint32_t number, int side)
{
    struct sxt_heap_changes *out = maker->out;
    make_key(maker, usage, usage->sites[number].stack);
    uint32_t found = maker->key.failed ? SXT_STRINGS_FULL
                                       : sxt_strings_add(&maker->keys, (const char *)maker->key.data, maker->key.size);
    if (found == SXT_STRINGS_FULL)
        return false;
    if (found > out->count) {
        struct sxt_heap_change *moved = sxt_array_grow(out->items, &out->capacity, out->count + 1, sizeof *moved);
        if (moved == NULL)
            return false;
        out->items = moved;
        out->items[out->count++] = (struct sxt_heap_change){.before = SXT_HEAP_NO_SITE, .after = SXT_HEAP_NO_SITE};
    }
    struct sxt_heap_change *change = &out->items[found - 1];
    uint32_t *site = side == 0 ? &change->before : &change->after;
    if (*site == SXT_HEAP_NO_SITE)
        *site = number;
    sxt_heap_add_sums(&change->sums[side], &usage->sites[number].sums);
    return true;
}

static uint64_t size_of_change(const struct sxt_heap_change *change, enum sxt_heap_cost cost)
{
    uint64_t before = sxt_heap_cost_of(&change->sums[0], cost), after = sxt_heap_cost_of(&change->sums[1], cost);
    return before > after ? before - after : after - before;
}

static int compare_changes(const void *left, const void *right, void *cost_of)
{
    const struct sxt_heap_change *a = left, *b = right;
    enum sxt_heap_cost cost = *(enum sxt_heap_cost *)cost_of;
    uint64_t of_a = size_of_change(a, cost), of_b = size_of_change(b, cost);
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    if (a->before != b->before)
        return a->before < b->before ? -1 : 1;
    return (a->after > b->after) - (a->after < b->after);
}

int sxt_heap_diff(const struct sxt_heap_usage *before, const struct sxt_heap_usage *after, enum sxt_heap_cost cost,
                  struct sxt_heap_changes *out, sxt_error *error)
{
    struct diff_maker maker = {.out = out};
    const struct sxt_heap_usage *sides[] = {before, after};
    *out = (struct sxt_heap_changes){0};
    sxt_buffer_init(&maker.key, (size_t)1 << 30);
    int status = sxt_strings_init(&maker.keys, 0, error);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < sides[side]->site_count && status == SXT_OK; i++)
            if (!add_site(&maker, sides[side], i, side))
                status = sxt_fail_memory(error, out->capacity * sizeof *out->items);
    if (status == SXT_OK && out->count > 0)
        qsort_r(out->items, out->count, sizeof *out->items, compare_changes, &cost);
    sxt_strings_free(&maker.keys);
    sxt_buffer_free(&maker.key);
    if (status != SXT_OK)
        sxt_heap_changes_free(out);
    return status;
}

void sxt_heap_changes_free(struct sxt_heap_changes *changes)
{
    free(changes->items);
    *changes = (struct sxt_heap_changes){0};
}
