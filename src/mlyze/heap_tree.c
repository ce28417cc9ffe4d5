/* heap_tree.c: stacks that have their beginning in common, as branches of one tree. */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "mlyze/heap.h"

struct tree_maker {
    struct sxt_heap_tree *tree;
    uint32_t *slots; /* number of a node + 1, by parent and frame; 0 where none is */
    size_t slot_count;
};

static size_t home_of(const struct tree_maker *maker, const struct sxt_heap_node *node)
{
    uint64_t hash = ((uint64_t)node->function << 32 | node->file) * 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 29 ^ (uint64_t)node->parent << 1 ^ node->is_stack) * 0xbf58476d1ce4e5b9;
    return (size_t)(hash ^ hash >> 32) & (maker->slot_count - 1);
}

static bool widen(struct tree_maker *maker)
{
    size_t count = maker->slot_count == 0 ? 1024 : maker->slot_count * 2;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return false;
    free(maker->slots);
    maker->slots = slots;
    maker->slot_count = count;
    for (size_t i = 1; i < maker->tree->count; i++) {
        size_t at = home_of(maker, &maker->tree->nodes[i]);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    return true;
}

/* The child of a node that WANTED describes, made if it is new; SXT_HEAP_NO_NODE when memory is short. */
static uint32_t child_of(struct tree_maker *maker, struct sxt_heap_node wanted)
{
    struct sxt_heap_tree *tree = maker->tree;
    if (tree->count * 2 >= maker->slot_count && !widen(maker))
        return SXT_HEAP_NO_NODE;
    size_t at = home_of(maker, &wanted);
    for (; maker->slots[at] != 0; at = (at + 1) & (maker->slot_count - 1)) {
        const struct sxt_heap_node *node = &tree->nodes[maker->slots[at] - 1];
        if (node->parent == wanted.parent && node->function == wanted.function && node->file == wanted.file &&
            node->is_stack == wanted.is_stack)
            return maker->slots[at] - 1;
    }
    struct sxt_heap_node *moved = tree->count >= UINT32_MAX - 1
                                      ? NULL
                                      : sxt_array_grow(tree->nodes, &tree->capacity, tree->count + 1, sizeof *moved);
    if (moved == NULL)
        return SXT_HEAP_NO_NODE;
    tree->nodes = moved;
    wanted.child = wanted.next = SXT_HEAP_NO_NODE;
    tree->nodes[tree->count] = wanted;
    maker->slots[at] = (uint32_t)tree->count + 1;
    return (uint32_t)tree->count++;
}

static bool add_stack(struct tree_maker *maker, const struct sxt_heap_usage *usage, const struct sxt_heap_site *site,
                      enum sxt_heap_cost cost_kind, bool bottom_up)
{
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, site->stack);
    uint64_t cost = sxt_heap_cost_of(&site->sums, cost_kind), blocks = sxt_heap_count_of(&site->sums, cost_kind);
    uint32_t count = stack != NULL ? stack->count : 0, at = 0;
    if ((cost == 0 && blocks == 0) || (cost_kind == SXT_HEAP_LEAKED && site->is_suppressed))
        return true;
    for (uint32_t i = 0; i < (count > 0 ? count : 1); i++) {
        maker->tree->nodes[at].cost += cost;
        maker->tree->nodes[at].count += blocks;
        struct sxt_heap_node wanted = {
            .parent = at, .function = site->stack, .file = SXT_MLYZE_NO_ID, .is_stack = true};
        if (count > 0) {
            const struct sxt_mlyze_frame *frame = &stack->frames[bottom_up ? i : count - 1 - i];
            wanted = (struct sxt_heap_node){.parent = at, .function = frame->function, .file = frame->file};
        }
        at = child_of(maker, wanted);
        if (at == SXT_HEAP_NO_NODE)
            return false;
    }
    maker->tree->nodes[at].cost += cost;
    maker->tree->nodes[at].count += blocks;
    return true;
}

static int compare_nodes(const void *left, const void *right, void *nodes)
{
    uint32_t number_a = *(const uint32_t *)left, number_b = *(const uint32_t *)right;
    const struct sxt_heap_node *a = (struct sxt_heap_node *)nodes + number_a;
    const struct sxt_heap_node *b = (struct sxt_heap_node *)nodes + number_b;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return number_a > number_b ? -1 : 1;
}

/* Every node is put before those that its parent has got so far, so the lowest cost comes first here. */
static bool link_children(struct sxt_heap_tree *tree)
{
    uint32_t *order = malloc(tree->count * sizeof *order);
    if (order == NULL)
        return false;
    for (size_t i = 1; i < tree->count; i++)
        order[i - 1] = (uint32_t)i;
    qsort_r(order, tree->count - 1, sizeof *order, compare_nodes, tree->nodes);
    for (size_t i = 0; i + 1 < tree->count; i++) {
        struct sxt_heap_node *node = &tree->nodes[order[i]], *parent = &tree->nodes[node->parent];
        node->next = parent->child;
        parent->child = order[i];
    }
    free(order);
    return true;
}

int sxt_heap_tree(const struct sxt_heap_usage *usage, enum sxt_heap_cost cost, bool bottom_up,
                  struct sxt_heap_tree *out, sxt_error *error)
{
    struct tree_maker maker = {.tree = out};
    *out = (struct sxt_heap_tree){0};
    out->nodes = sxt_array_grow(NULL, &out->capacity, 1, sizeof *out->nodes);
    bool good = out->nodes != NULL;
    if (good)
        out->nodes[out->count++] =
            (struct sxt_heap_node){.parent = SXT_HEAP_NO_NODE, .child = SXT_HEAP_NO_NODE, .next = SXT_HEAP_NO_NODE};
    for (size_t i = 0; i < usage->site_count && good; i++)
        good = add_stack(&maker, usage, &usage->sites[i], cost, bottom_up);
    good = good && link_children(out);
    free(maker.slots);
    if (good)
        return SXT_OK;
    sxt_heap_tree_free(out);
    return sxt_fail_memory(error, out->capacity * sizeof *out->nodes);
}

void sxt_heap_tree_free(struct sxt_heap_tree *tree)
{
    free(tree->nodes);
    *tree = (struct sxt_heap_tree){0};
}
