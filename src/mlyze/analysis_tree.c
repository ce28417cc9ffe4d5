/* analysis_tree.c: stacks as a tree: stacks with the same outer frames share branches. */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "mlyze/analysis.h"
#include "mlyze/frame_names.h"
#include "mlyze/live.h"

/* The hashes of these tables are random, so a hostile file cannot choose frames that collide. */
struct tree_maker {
    sxt_heap_tree *tree;
    struct sxt_frame_names names;
    struct sxt_live frames;   /* texts of function and file: in `site`, a number for both */
    struct sxt_live children; /* number of the parent and of the frame: in `site`, that of the node */
    sxt_heap_view view;
    struct sxt_heap_chosen *shown; /* frames of a stack */
    size_t capacity;
};

static uint32_t new_node(sxt_heap_tree *tree, sxt_heap_node node)
{
    sxt_heap_node *moved = tree->count >= UINT32_MAX - 1
                               ? NULL
                               : sxt_array_grow(tree->nodes, &tree->capacity, tree->count + 1, sizeof *moved);
    if (moved == NULL)
        return SXT_HEAP_NO_NODE;
    tree->nodes = moved;
    node.child = node.next = SXT_HEAP_NO_NODE;
    tree->nodes[tree->count] = node;
    return (uint32_t)tree->count++;
}

/* The child of PARENT for FRAME, created if it is new; SXT_HEAP_NO_NODE if memory is short. */
static uint32_t child_of(struct tree_maker *maker, uint32_t parent, const struct sxt_heap_chosen *shown)
{
    const struct sxt_mlyze_frame *frame = shown->frame;
    bool is_new;
    uint64_t text = (uint64_t)sxt_frame_names_function(&maker->names, frame->function) << 32;
    text |= shown->is_library ? 0 : sxt_frame_names_file(&maker->names, frame->file);
    size_t place = maker->names.no_memory ? SXT_LIVE_NOWHERE : sxt_live_add(&maker->frames, text, &is_new);
    if (place == SXT_LIVE_NOWHERE)
        return SXT_HEAP_NO_NODE;
    if (is_new)
        sxt_live_at(&maker->frames, place)->site = (uint32_t)maker->frames.count;
    uint32_t number = sxt_live_at(&maker->frames, place)->site;
    place = sxt_live_add(&maker->children, (uint64_t)parent << 32 | number, &is_new);
    if (place == SXT_LIVE_NOWHERE)
        return SXT_HEAP_NO_NODE;
    struct sxt_live_block *child = sxt_live_at(&maker->children, place);
    if (is_new)
        child->site =
            new_node(maker->tree, (sxt_heap_node){.parent = parent, .function = frame->function, .file = frame->file});
    return child->site;
}

static unsigned kind_of(void *names, const struct sxt_mlyze_frame *frame)
{
    return sxt_frame_names_kind(names, frame);
}

/* Finds the frames of a stack that are shown; false if memory is short. */
static bool choose_frames(struct tree_maker *maker, const sxt_heap_usage *usage, const struct sxt_mlyze_stack *stack,
                          size_t *count)
{
    size_t most = sxt_heap_depth(usage, stack);
    struct sxt_heap_chosen *moved = sxt_array_grow(maker->shown, &maker->capacity, most + 1, sizeof *moved);
    if (moved == NULL)
        return false;
    maker->shown = moved;
    *count = sxt_heap_choose_frames(maker->names.metadata, stack, &maker->view, kind_of, &maker->names, maker->shown,
                                    most, NULL);
    return true;
}

static bool add_stack(struct tree_maker *maker, const sxt_heap_usage *usage, size_t site, sxt_heap_cost cost_kind,
                      bool bottom_up)
{
    uint32_t id = sxt_heap_record(&usage->sites, site)->stack;
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, id);
    uint64_t cost = sxt_heap_sites_cost(&usage->sites, site, cost_kind);
    uint64_t blocks = sxt_heap_sites_count(&usage->sites, site, cost_kind);
    uint32_t at = 0;
    size_t count;
    if ((cost == 0 && blocks == 0) || !sxt_heap_sites_is_shown(&usage->sites, site, cost_kind))
        return true;
    sxt_heap_tree *tree = maker->tree;
    if (!choose_frames(maker, usage, stack, &count))
        return false;
    for (size_t i = 0; i < (count > 0 ? count : 1); i++) {
        tree->nodes[at].cost += cost;
        tree->nodes[at].count += blocks;
        if (count > 0)
            at = child_of(maker, at, &maker->shown[bottom_up ? i : count - 1 - i]);
        else /* each stack has one site, so this node is new */
            at = new_node(tree, (sxt_heap_node){.function = id, .file = SXT_MLYZE_NO_ID, .is_stack = true});
        if (at == SXT_HEAP_NO_NODE)
            return false;
    }
    tree->nodes[at].cost += cost;
    tree->nodes[at].count += blocks;
    return true;
}

static int compare_nodes(const void *left, const void *right, void *nodes)
{
    uint32_t number_a = *(const uint32_t *)left, number_b = *(const uint32_t *)right;
    const sxt_heap_node *a = (sxt_heap_node *)nodes + number_a;
    const sxt_heap_node *b = (sxt_heap_node *)nodes + number_b;
    if (a->cost != b->cost)
        return a->cost < b->cost ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return number_a > number_b ? -1 : 1;
}

/* Nodes are inserted at the front of their parent's list, so the loop starts with the lowest cost. */
static bool link_children(sxt_heap_tree *tree)
{
    uint32_t *order = malloc(tree->count * sizeof *order);
    if (order == NULL)
        return false;
    for (size_t i = 1; i < tree->count; i++)
        order[i - 1] = (uint32_t)i;
    qsort_r(order, tree->count - 1, sizeof *order, compare_nodes, tree->nodes);
    for (size_t i = 0; i + 1 < tree->count; i++) {
        sxt_heap_node *node = &tree->nodes[order[i]], *parent = &tree->nodes[node->parent];
        node->next = parent->child;
        parent->child = order[i];
    }
    free(order);
    return true;
}

int sxt_heap_tree_make(const sxt_heap_usage *usage, sxt_heap_cost cost, bool bottom_up, sxt_heap_tree **out,
                       sxt_error *error)
{
    const sxt_heap_view everything = {0};
    return sxt_heap_tree_make_view(usage, cost, bottom_up, &everything, out, error);
}

int sxt_heap_tree_make_view(const sxt_heap_usage *usage, sxt_heap_cost cost, bool bottom_up, const sxt_heap_view *view,
                            sxt_heap_tree **out, sxt_error *error)
{
    *out = NULL;
    sxt_heap_tree *tree = calloc(1, sizeof *tree);
    if (tree == NULL)
        return sxt_fail_memory(error, sizeof *tree);
    struct tree_maker maker = {.tree = tree, .view = *view};
    if (view->depth == 0)
        maker.view.depth = usage->options.depth;
    int status = sxt_frame_names_init(&maker.names, sxt_mlyze_metadata(usage->trace), view->shortens_names, error);
    if (status != SXT_OK) {
        free(tree);
        return status;
    }
    bool good = sxt_live_init(&maker.frames) && sxt_live_init(&maker.children) &&
                new_node(tree, (sxt_heap_node){.parent = SXT_HEAP_NO_NODE}) != SXT_HEAP_NO_NODE;
    for (size_t i = 0; i < usage->sites.count && good; i++)
        good = add_stack(&maker, usage, i, cost, bottom_up);
    good = good && link_children(tree);
    sxt_frame_names_free(&maker.names);
    sxt_live_free(&maker.frames);
    sxt_live_free(&maker.children);
    free(maker.shown);
    if (good) {
        *out = tree;
        return SXT_OK;
    }
    size_t wanted = tree->capacity * sizeof *tree->nodes;
    sxt_heap_tree_free(&tree);
    return sxt_fail_memory(error, wanted);
}

void sxt_heap_tree_free(sxt_heap_tree **tree)
{
    if (*tree == NULL)
        return;
    free((*tree)->nodes);
    free(*tree);
    *tree = NULL;
}

const sxt_heap_node *sxt_heap_tree_node(const sxt_heap_tree *tree, uint32_t number)
{
    return number < tree->count ? &tree->nodes[number] : NULL;
}
