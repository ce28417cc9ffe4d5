/*
 * stack_tree.c: the stacks of a trace as one tree. A node is a frame and the node of its caller, so stacks that begin
 * with the same calls share them; a stack is the node of its innermost frame.
 *
 *     main ── parse ── read ── grow      stack 0: grow, read, parse, main
 *        │       └── build               stack 1: build, parse, main
 *        └── grow                        stack 2: grow, main
 *
 * Nodes with the same frame and caller are one. Callers come before what they call, so there are no cycles.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "base/strings.h"
#include "mlyze/private.h"

#define FIRST_SLOTS 256

/* A hostile file must not get all its frames into one slot. */
static void draw_secrets(struct sxt_mlyze_tree *tree)
{
    const void *random = (const void *)getauxval(AT_RANDOM); /* NOLINT: an address */
    tree->secrets[0] = UINT64_C(0xa0761d6478bd642f);
    tree->secrets[1] = UINT64_C(0xe7037ed1a0b428db);
    if (random != NULL)
        memcpy(tree->secrets, random, sizeof tree->secrets);
    tree->secrets[1] |= 1;
}

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline size_t slot_of(const struct sxt_mlyze_tree *tree, const struct sxt_mlyze_node *node)
{
    uint64_t first = (uint64_t)node->parent << 32 | node->frame.function;
    uint64_t second = (uint64_t)node->frame.file << 32 | node->frame.line;
    uint64_t hash = fold(first ^ tree->secrets[0], second ^ tree->secrets[1]);
    return (size_t)fold(hash ^ tree->secrets[1], tree->secrets[0] | 1) & (tree->slot_count - 1);
}

static inline bool is_same_node(const struct sxt_mlyze_node *a, const struct sxt_mlyze_node *b)
{
    return a->parent == b->parent && a->frame.function == b->frame.function && a->frame.line == b->frame.line &&
           a->frame.file == b->frame.file;
}

static bool grow_slots(struct sxt_mlyze_tree *tree)
{
    size_t count = tree->slot_count > 0 ? tree->slot_count * 2 : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (slots == NULL)
        return false;
    if (tree->slot_count == 0)
        draw_secrets(tree);
    free(tree->slots);
    tree->slots = slots;
    tree->slot_count = count;
    for (size_t i = 0; i < tree->count; i++) {
        size_t slot = slot_of(tree, &tree->nodes[i]);
        while (slots[slot] != 0)
            slot = (slot + 1) & (count - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    return true;
}

uint32_t sxt_mlyze_tree_add(struct sxt_mlyze_tree *tree, uint32_t parent, const struct sxt_mlyze_frame *frame)
{
    struct sxt_mlyze_node node = {parent, *frame};
    if (tree->count >= tree->slot_count / 2 && !grow_slots(tree))
        return SXT_MLYZE_NO_NODE;
    size_t slot = slot_of(tree, &node);
    for (; tree->slots[slot] != 0; slot = (slot + 1) & (tree->slot_count - 1))
        if (is_same_node(&tree->nodes[tree->slots[slot] - 1], &node))
            return tree->slots[slot] - 1;
    struct sxt_mlyze_node *moved = tree->count >= UINT32_MAX - 1
                                       ? NULL
                                       : sxt_array_grow(tree->nodes, &tree->capacity, tree->count + 1, sizeof *moved);
    if (moved == NULL)
        return SXT_MLYZE_NO_NODE;
    tree->nodes = moved;
    tree->nodes[tree->count] = node;
    tree->slots[slot] = (uint32_t)tree->count + 1;
    return (uint32_t)tree->count++;
}

void sxt_mlyze_tree_seal(struct sxt_mlyze_tree *tree)
{
    free(tree->slots);
    tree->slots = NULL;
    tree->slot_count = 0;
    struct sxt_mlyze_node *shrunk = tree->count > 0 ? realloc(tree->nodes, tree->count * sizeof *shrunk) : NULL;
    if (shrunk != NULL) {
        tree->nodes = shrunk;
        tree->capacity = tree->count;
    }
}

void sxt_mlyze_tree_free(struct sxt_mlyze_tree *tree)
{
    free(tree->nodes);
    free(tree->slots);
    memset(tree, 0, sizeof *tree);
}

bool sxt_mlyze_add_stack(struct sxt_mlyze_metadata *metadata, uint32_t id, const struct sxt_mlyze_frame *frames,
                         size_t count)
{
    uint32_t node = SXT_MLYZE_NO_NODE;
    for (size_t i = count; i > 0; i--) {
        node = sxt_mlyze_tree_add(&metadata->tree, node, &frames[i - 1]);
        if (node == SXT_MLYZE_NO_NODE)
            return false;
    }
    metadata->stacks[id] = (struct sxt_mlyze_stack){.node = node, .count = (uint32_t)count, .exists = true};
    metadata->frame_count += count;
    return true;
}

/* --- frames of a stack --- */

bool sxt_mlyze_find_path(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_stack *stack,
                         struct sxt_mlyze_path *path)
{
    uint32_t *moved = sxt_array_grow(path->nodes, &path->capacity, (size_t)stack->count + 1, sizeof *moved);
    if (moved == NULL)
        return false;
    path->nodes = moved;
    path->count = 0;
    for (uint32_t node = stack->node; node != SXT_MLYZE_NO_NODE; node = metadata->tree.nodes[node].parent)
        path->nodes[path->count++] = node;
    return true;
}

void sxt_mlyze_path_free(struct sxt_mlyze_path *path)
{
    free(path->nodes);
    *path = (struct sxt_mlyze_path){0};
}

/* The nodes of a stack that is too deep to be walked for each of its frames; NULL if it is not. */
static const uint32_t *find_deep(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_stack *stack)
{
    if (stack->count <= SXT_MLYZE_DEEP || metadata->deep_count == 0)
        return NULL;
    size_t place = (size_t)(stack - metadata->stacks);
    struct sxt_bisection search = {.high = metadata->deep_count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, metadata->deep[search.middle].place < place);
    if (search.low == metadata->deep_count || metadata->deep[search.low].place != place)
        return NULL;
    return metadata->deep_nodes + metadata->deep[search.low].first;
}

const struct sxt_mlyze_frame *sxt_mlyze_frame_at(const struct sxt_mlyze_metadata *metadata,
                                                 const struct sxt_mlyze_stack *stack, uint32_t index)
{
    const uint32_t *nodes = find_deep(metadata, stack);
    if (nodes != NULL)
        return &metadata->tree.nodes[nodes[index]].frame;
    uint32_t node = stack->node;
    while (index-- > 0)
        node = metadata->tree.nodes[node].parent;
    return &metadata->tree.nodes[node].frame;
}

/* Makes the lists of nodes for find_deep. */
static bool list_deep(struct sxt_mlyze_metadata *metadata)
{
    size_t count = 0, node_count = 0;
    for (size_t i = 0; i < metadata->stack_count; i++) {
        count += metadata->stacks[i].count > SXT_MLYZE_DEEP;
        node_count += metadata->stacks[i].count > SXT_MLYZE_DEEP ? metadata->stacks[i].count : 0;
    }
    if (count == 0)
        return true;
    metadata->deep = calloc(count, sizeof *metadata->deep);
    metadata->deep_nodes = calloc(node_count, sizeof *metadata->deep_nodes);
    if (metadata->deep == NULL || metadata->deep_nodes == NULL)
        return false;
    size_t next = 0;
    for (size_t i = 0; i < metadata->stack_count; i++) {
        if (metadata->stacks[i].count <= SXT_MLYZE_DEEP)
            continue;
        metadata->deep[metadata->deep_count++] = (struct sxt_mlyze_deep_stack){.place = i, .first = next};
        for (uint32_t node = metadata->stacks[i].node; node != SXT_MLYZE_NO_NODE;
             node = metadata->tree.nodes[node].parent)
            metadata->deep_nodes[next++] = node;
    }
    return true;
}

/* --- equal stacks --- */

/* Files or functions by what is shown for them. */
struct shown {
    struct sxt_strings texts;
    uint32_t *numbers; /* by place: of its text */
    bool has_equal;    /* two ids have one text */
    sxt_string (*name)(const struct sxt_mlyze_metadata *metadata, uint32_t id, char room[24]);
    const uint32_t *ids;
    size_t count;
};

static bool open_shown(struct shown *shown, const sxt_string *list)
{
    shown->numbers = calloc(shown->count + 1, sizeof *shown->numbers);
    if (shown->numbers == NULL || sxt_strings_init(&shown->texts, 0, NULL) != SXT_OK)
        return false;
    bool has_empty = false;
    for (size_t i = 0; i < shown->count; i++) {
        uint32_t known = shown->texts.count;
        if (list[i].data == NULL)
            continue;
        shown->numbers[i] = sxt_strings_add(&shown->texts, list[i].data, list[i].size);
        if (shown->numbers[i] == SXT_STRINGS_FULL)
            return false;
        shown->has_equal |= list[i].size == 0 ? has_empty : shown->numbers[i] < known;
        has_empty |= list[i].size == 0;
    }
    return true;
}

static void close_shown(struct shown *shown)
{
    free(shown->numbers);
    sxt_strings_free(&shown->texts);
}

/* The number of the text of an id, which may be missing from the metadata; SXT_STRINGS_FULL if memory is short. */
static uint32_t number_of(struct shown *shown, const struct sxt_mlyze_metadata *metadata, uint32_t id)
{
    char room[24];
    size_t place = id != SXT_MLYZE_NO_ID ? sxt_mlyze_place(shown->ids, shown->count, id) : SIZE_MAX;
    if (id == SXT_MLYZE_NO_ID)
        return SXT_STRINGS_FULL - 1;
    sxt_string name = shown->name(metadata, id, room);
    if (place != SIZE_MAX && name.data != room)
        return shown->numbers[place];
    return sxt_strings_add(&shown->texts, name.data, name.size);
}

/* By node: the first node whose frames are shown as those of this one. NULL if memory is short. */
static uint32_t *match_nodes(const struct sxt_mlyze_metadata *metadata, struct shown *files, struct shown *functions)
{
    struct sxt_mlyze_tree merged = {0};
    uint32_t *match = malloc((metadata->tree.count + 1) * sizeof *match);
    bool is_good = match != NULL;
    for (size_t i = 0; i < metadata->tree.count && is_good; i++) {
        const struct sxt_mlyze_node *node = &metadata->tree.nodes[i];
        struct sxt_mlyze_frame frame = {.file = number_of(files, metadata, node->frame.file),
                                        .function = number_of(functions, metadata, node->frame.function),
                                        .line = node->frame.line};
        uint32_t parent = node->parent != SXT_MLYZE_NO_NODE ? match[node->parent] : SXT_MLYZE_NO_NODE;
        is_good = frame.file != SXT_STRINGS_FULL && frame.function != SXT_STRINGS_FULL;
        match[i] = is_good ? sxt_mlyze_tree_add(&merged, parent, &frame) : SXT_MLYZE_NO_NODE;
        is_good = match[i] != SXT_MLYZE_NO_NODE;
    }
    sxt_mlyze_tree_free(&merged);
    if (is_good)
        return match;
    free(match);
    return NULL;
}

/* MATCH may be NULL: then each node is only like itself. */
static bool find_lowest(struct sxt_mlyze_metadata *metadata, const uint32_t *match)
{
    uint32_t *lowest = calloc(metadata->tree.count + 1, sizeof *lowest); /* by node: place of a stack + 1 */
    uint32_t *same = malloc((metadata->stack_count + 1) * sizeof *same);
    bool has_equal = false, is_good = lowest != NULL && same != NULL;
    for (size_t i = 0; is_good && i < metadata->stack_count; i++) {
        const struct sxt_mlyze_stack *stack = &metadata->stacks[i];
        same[i] = sxt_mlyze_id_at(metadata->stack_ids, i);
        if (stack->count == 0)
            continue;
        uint32_t node = match != NULL ? match[stack->node] : stack->node;
        if (lowest[node] == 0)
            lowest[node] = (uint32_t)i + 1;
        else
            has_equal = true;
        same[i] = sxt_mlyze_id_at(metadata->stack_ids, lowest[node] - 1);
    }
    free(lowest);
    if (is_good && has_equal)
        metadata->same = same;
    else
        free(same);
    return is_good;
}

/* Whether a frame has an id that the metadata does not have, and that is shown as a name which another may have. */
static bool has_missing_name(const struct sxt_mlyze_metadata *metadata)
{
    for (size_t i = 0; i < metadata->tree.count; i++) {
        const struct sxt_mlyze_frame *frame = &metadata->tree.nodes[i].frame;
        if ((frame->file != SXT_MLYZE_NO_ID && sxt_mlyze_find_file(metadata, frame->file).data == NULL) ||
            (frame->function != SXT_MLYZE_NO_ID && sxt_mlyze_find_function(metadata, frame->function).data == NULL))
            return true;
    }
    return false;
}

int sxt_mlyze_finish_stacks(struct sxt_mlyze_metadata *metadata, sxt_error *error)
{
    struct shown files = {.name = sxt_mlyze_file, .ids = metadata->file_ids, .count = metadata->file_count};
    struct shown functions = {
        .name = sxt_mlyze_function, .ids = metadata->function_ids, .count = metadata->function_count};
    uint32_t *match = NULL;
    sxt_mlyze_tree_seal(&metadata->tree);
    bool is_good =
        list_deep(metadata) && open_shown(&files, metadata->files) && open_shown(&functions, metadata->functions);
    if (is_good && (files.has_equal || functions.has_equal || has_missing_name(metadata))) {
        match = match_nodes(metadata, &files, &functions);
        is_good = match != NULL;
    }
    is_good = is_good && find_lowest(metadata, match);
    free(match);
    close_shown(&files);
    close_shown(&functions);
    return is_good ? SXT_OK : sxt_fail_memory(error, metadata->tree.count * sizeof *metadata->tree.nodes);
}

uint32_t sxt_mlyze_same_stack(const struct sxt_mlyze_metadata *metadata, uint32_t id)
{
    size_t place = metadata->same != NULL ? sxt_mlyze_place(metadata->stack_ids, metadata->stack_count, id) : SIZE_MAX;
    return place != SIZE_MAX && metadata->stacks[place].exists ? metadata->same[place] : id;
}
