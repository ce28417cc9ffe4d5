/*
 * analysis_tree.c: stacks as a tree: stacks with the same outer frames share branches.
 *
 * If small nodes are left out, the tree grows a few levels at a time, and after each round the nodes that are too small
 * are dropped with everything that would be below them. So memory grows with the stacks, and not with their frames.
 */
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
    const sxt_heap_usage *usage;
    sxt_heap_cost cost;
    bool bottom_up;
    size_t first, levels; /* that this round adds */
    /* By site: its node at the level before this round, and after it; SXT_HEAP_NO_NODE: nothing is below it. */
    uint32_t *before, *after; /* NULL if nothing is left out */
};

#define LEVELS_MOST 64

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

/* Finds the frames of a stack that are shown, as far as this round needs them; false if memory is short. */
static bool choose_frames(struct tree_maker *maker, const struct sxt_mlyze_stack *stack, size_t *count)
{
    size_t most = sxt_heap_depth(maker->usage, stack), needed = maker->first + maker->levels + 1;
    if (maker->bottom_up && maker->after != NULL && needed < most)
        most = needed;
    struct sxt_heap_chosen *moved = sxt_array_grow(maker->shown, &maker->capacity, most + 1, sizeof *moved);
    if (moved == NULL)
        return false;
    maker->shown = moved;
    *count = sxt_heap_choose_frames(maker->names.metadata, stack, &maker->view, kind_of, &maker->names, maker->shown,
                                    most, NULL);
    return true;
}

/* Adds the levels of a site that this round has. */
static bool add_levels(struct tree_maker *maker, size_t site, uint64_t cost, uint64_t blocks)
{
    uint32_t id = sxt_heap_record(&maker->usage->sites, site)->stack;
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(maker->usage, id);
    uint32_t at = maker->before != NULL && maker->first > 0 ? maker->before[site] : 0;
    sxt_heap_tree *tree = maker->tree;
    size_t count, i = maker->first;
    if (!choose_frames(maker, stack, &count))
        return false;
    for (; i < (count > 0 ? count : 1) && i - maker->first < maker->levels; i++) {
        if (count > 0)
            at = child_of(maker, at, &maker->shown[maker->bottom_up ? i : count - 1 - i]);
        else /* each stack has one site, so this node is new */
            at = new_node(tree, (sxt_heap_node){.function = id, .file = SXT_MLYZE_NO_ID, .is_stack = true});
        if (at == SXT_HEAP_NO_NODE)
            return false;
        tree->nodes[at].cost += cost;
        tree->nodes[at].count += blocks;
    }
    if (maker->after != NULL)
        maker->after[site] = i < count ? at : SXT_HEAP_NO_NODE;
    return true;
}

static bool add_stack(struct tree_maker *maker, size_t site)
{
    const struct sxt_heap_sites *sites = &maker->usage->sites;
    bool is_open = maker->first == 0 || maker->before[site] != SXT_HEAP_NO_NODE;
    if (maker->after != NULL)
        maker->after[site] = SXT_HEAP_NO_NODE;
    if (!is_open)
        return true;
    uint64_t cost = sxt_heap_sites_cost(sites, site, maker->cost);
    uint64_t blocks = sxt_heap_sites_count(sites, site, maker->cost);
    if ((cost == 0 && blocks == 0) || !sxt_heap_sites_is_shown(sites, site, maker->cost))
        return true;
    if (maker->first == 0) {
        maker->tree->nodes[0].cost += cost;
        maker->tree->nodes[0].count += blocks;
    }
    return add_levels(maker, site, cost, blocks);
}

/* --- rounds --- */

/* Adds the levels of one round. *IS_DONE is false if they have too many nodes: then nothing has changed. */
static bool add_round(struct tree_maker *maker, size_t open, bool *is_done)
{
    sxt_heap_tree *tree = maker->tree;
    const sxt_heap_node root = tree->nodes[0];
    size_t known = tree->count;
    *is_done = true;
    sxt_live_free(&maker->children);
    if (!sxt_live_init(&maker->children))
        return false;
    for (size_t i = 0; i < maker->usage->sites.count && *is_done; i++) {
        if (!add_stack(maker, i))
            return false;
        *is_done = maker->after == NULL || maker->levels == 1 || tree->count - known <= open / 8 + LEVELS_MOST;
    }
    if (!*is_done) {
        tree->count = known;
        tree->nodes[0] = root;
    }
    return true;
}

/* Drops nodes from number KNOWN on that are too small. *OPEN becomes the number of sites that go on. */
static bool drop_small(struct tree_maker *maker, size_t known, size_t *open)
{
    sxt_heap_tree *tree = maker->tree;
    uint64_t least = tree->nodes[0].cost / maker->view.least_part;
    uint32_t *moved = malloc((tree->count - known + 1) * sizeof *moved);
    size_t kept = known;
    if (moved == NULL)
        return false;
    for (size_t i = known; i < tree->count; i++) {
        sxt_heap_node node = tree->nodes[i];
        bool is_small = node.cost < least;
        moved[i - known] = is_small ? SXT_HEAP_NO_NODE : (uint32_t)kept;
        if (is_small)
            continue;
        /* What is above a node has at least its cost, so it was kept. */
        node.parent = node.parent < known ? node.parent : moved[node.parent - known];
        tree->nodes[kept++] = node;
    }
    *open = 0;
    for (size_t i = 0; i < maker->usage->sites.count; i++) {
        if (maker->after[i] != SXT_HEAP_NO_NODE)
            maker->after[i] = moved[maker->after[i] - known];
        *open += maker->after[i] != SXT_HEAP_NO_NODE;
    }
    tree->count = kept;
    free(moved);
    return true;
}

/* Levels with few nodes are added many at a time, since each round looks at the frames again. */
static bool add_large(struct tree_maker *maker)
{
    size_t open = maker->usage->sites.count, known;
    bool is_done;
    maker->before = malloc((open + 1) * sizeof *maker->before);
    maker->after = malloc((open + 1) * sizeof *maker->after);
    maker->levels = 1;
    bool is_good = maker->before != NULL && maker->after != NULL;
    while (is_good && open > 0) {
        known = maker->tree->count;
        is_good = add_round(maker, open, &is_done);
        if (is_good && !is_done) {
            maker->levels = 1;
            continue;
        }
        bool has_few = (maker->tree->count - known) * LEVELS_MOST <= open;
        is_good = is_good && drop_small(maker, known, &open);
        maker->first += maker->levels;
        maker->levels = has_few && maker->levels < LEVELS_MOST ? maker->levels * 2 : 1;
        uint32_t *before = maker->before;
        maker->before = maker->after;
        maker->after = before;
    }
    free(maker->before);
    free(maker->after);
    return is_good;
}

static bool add_all(struct tree_maker *maker)
{
    bool is_done;
    maker->levels = SIZE_MAX;
    return add_round(maker, 0, &is_done);
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
    struct tree_maker maker = {.tree = tree, .view = *view, .usage = usage, .cost = cost, .bottom_up = bottom_up};
    if (view->depth == 0)
        maker.view.depth = usage->options.depth;
    int status = sxt_frame_names_init(&maker.names, sxt_mlyze_metadata(usage->trace), view->shortens_names, error);
    if (status != SXT_OK) {
        free(tree);
        return status;
    }
    bool good = sxt_live_init(&maker.frames) && sxt_live_init(&maker.children) &&
                new_node(tree, (sxt_heap_node){.parent = SXT_HEAP_NO_NODE}) != SXT_HEAP_NO_NODE;
    good = good && (view->least_part > 0 ? add_large(&maker) : add_all(&maker)) && link_children(tree);
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
