/*
 * stack_tree.c: the stacks of a trace as one tree. A node is a frame and the node of its caller, so stacks that begin
 * with the same calls share them; a stack is the node of its innermost frame.
 *
 *     main ── parse ── read ── grow      stack 0: grow, read, parse, main
 *        │       └── build               stack 1: build, parse, main
 *        └── grow                        stack 2: grow, main
 *
 * Nodes with the same frame and caller are one. Callers come before what they call, so there are no cycles. There are
 * far fewer frames than nodes, so a node has only the number of its frame.
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

static inline uint64_t mix(const struct sxt_mlyze_tree *tree, uint64_t first, uint64_t second)
{
    uint64_t hash = fold(first ^ tree->secrets[0], second ^ tree->secrets[1]);
    return fold(hash ^ tree->secrets[1], tree->secrets[0] | 1);
}

static inline uint64_t hash_node(const struct sxt_mlyze_tree *tree, const struct sxt_mlyze_node *node)
{
    return mix(tree, node->parent, node->frame);
}

static inline uint64_t hash_frame(const struct sxt_mlyze_tree *tree, const struct sxt_mlyze_frame *frame)
{
    return mix(tree, frame->function, (uint64_t)frame->file << 32 | frame->line);
}

static inline bool is_same_frame(const struct sxt_mlyze_frame *a, const struct sxt_mlyze_frame *b)
{
    return a->function == b->function && a->line == b->line && a->file == b->file;
}

/* Twice as many slots, all empty. */
static bool grow_slots(struct sxt_mlyze_tree *tree, struct sxt_mlyze_slots *slots)
{
    size_t count = slots->count > 0 ? slots->count * 2 : FIRST_SLOTS;
    uint32_t *list = calloc(count, sizeof *list);
    if (list == NULL)
        return false;
    if (tree->secrets[1] == 0)
        draw_secrets(tree);
    free(slots->list);
    *slots = (struct sxt_mlyze_slots){list, count};
    return true;
}

static void fill_slot(struct sxt_mlyze_slots *slots, uint64_t hash, size_t number)
{
    size_t slot = hash & (slots->count - 1);
    while (slots->list[slot] != 0)
        slot = (slot + 1) & (slots->count - 1);
    slots->list[slot] = (uint32_t)number + 1;
}

static bool grow_frame_slots(struct sxt_mlyze_tree *tree)
{
    bool is_good = grow_slots(tree, &tree->frame_slots);
    for (size_t i = 0; is_good && i < tree->frame_count; i++)
        fill_slot(&tree->frame_slots, hash_frame(tree, &tree->frames[i]), i);
    return is_good;
}

static bool grow_node_slots(struct sxt_mlyze_tree *tree)
{
    bool is_good = grow_slots(tree, &tree->node_slots);
    for (size_t i = 0; is_good && i < tree->count; i++)
        fill_slot(&tree->node_slots, hash_node(tree, &tree->nodes[i]), i);
    return is_good;
}

uint32_t sxt_mlyze_tree_add_frame(struct sxt_mlyze_tree *tree, const struct sxt_mlyze_frame *frame)
{
    struct sxt_mlyze_slots *slots = &tree->frame_slots;
    if (tree->frame_count >= slots->count / 2 && !grow_frame_slots(tree))
        return SXT_MLYZE_NO_NODE;
    size_t slot = hash_frame(tree, frame) & (slots->count - 1);
    for (; slots->list[slot] != 0; slot = (slot + 1) & (slots->count - 1))
        if (is_same_frame(&tree->frames[slots->list[slot] - 1], frame))
            return slots->list[slot] - 1;
    struct sxt_mlyze_frame *moved =
        tree->frame_count >= UINT32_MAX - 1
            ? NULL
            : sxt_array_grow(tree->frames, &tree->frame_capacity, tree->frame_count + 1, sizeof *moved);
    if (moved == NULL)
        return SXT_MLYZE_NO_NODE;
    tree->frames = moved;
    tree->frames[tree->frame_count] = *frame;
    slots->list[slot] = (uint32_t)tree->frame_count + 1;
    return (uint32_t)tree->frame_count++;
}

/* The node, which is added if it is new; SXT_MLYZE_NO_NODE if memory is short. */
static uint32_t add_node(struct sxt_mlyze_tree *tree, struct sxt_mlyze_node node)
{
    struct sxt_mlyze_slots *slots = &tree->node_slots;
    if (node.frame == SXT_MLYZE_NO_NODE || (tree->count >= slots->count / 2 && !grow_node_slots(tree)))
        return SXT_MLYZE_NO_NODE;
    size_t slot = hash_node(tree, &node) & (slots->count - 1);
    for (; slots->list[slot] != 0; slot = (slot + 1) & (slots->count - 1)) {
        const struct sxt_mlyze_node *other = &tree->nodes[slots->list[slot] - 1];
        if (other->parent == node.parent && other->frame == node.frame)
            return slots->list[slot] - 1;
    }
    struct sxt_mlyze_node *moved = tree->count >= UINT32_MAX - 1
                                       ? NULL
                                       : sxt_array_grow(tree->nodes, &tree->capacity, tree->count + 1, sizeof *moved);
    if (moved == NULL)
        return SXT_MLYZE_NO_NODE;
    tree->nodes = moved;
    tree->nodes[tree->count] = node;
    slots->list[slot] = (uint32_t)tree->count + 1;
    return (uint32_t)tree->count++;
}

uint32_t sxt_mlyze_tree_add(struct sxt_mlyze_tree *tree, uint32_t parent, const struct sxt_mlyze_frame *frame)
{
    return add_node(tree, (struct sxt_mlyze_node){parent, sxt_mlyze_tree_add_frame(tree, frame)});
}

static void free_slots(struct sxt_mlyze_slots *slots)
{
    free(slots->list);
    *slots = (struct sxt_mlyze_slots){0};
}

void sxt_mlyze_tree_seal(struct sxt_mlyze_tree *tree)
{
    free_slots(&tree->node_slots);
    free_slots(&tree->frame_slots);
    struct sxt_mlyze_node *nodes = tree->count > 0 ? realloc(tree->nodes, tree->count * sizeof *nodes) : NULL;
    if (nodes != NULL) {
        tree->nodes = nodes;
        tree->capacity = tree->count;
    }
    struct sxt_mlyze_frame *frames =
        tree->frame_count > 0 ? realloc(tree->frames, tree->frame_count * sizeof *frames) : NULL;
    if (frames != NULL) {
        tree->frames = frames;
        tree->frame_capacity = tree->frame_count;
    }
}

void sxt_mlyze_tree_free(struct sxt_mlyze_tree *tree)
{
    free(tree->nodes);
    free(tree->frames);
    free_slots(&tree->node_slots);
    free_slots(&tree->frame_slots);
    memset(tree, 0, sizeof *tree);
}

/* A stack that is being added, from its outermost frame on. */
struct growing {
    const struct sxt_mlyze_frame *frames;
    size_t left;   /* frames that are not added yet */
    uint32_t node; /* of the last one that was added */
    struct sxt_mlyze_node next;
    bool has_next;
};

static uint32_t first_in_slot(const struct sxt_mlyze_tree *tree, const struct sxt_mlyze_node *node)
{
    return tree->node_slots.list[hash_node(tree, node) & (tree->node_slots.count - 1)];
}

/*
 * Requests the memory that adding the next node of each stack will read. A compiler drops calls of a function that only
 * prefetches, unless it has to inline it.
 */
__attribute__((always_inline)) static inline void expect_level(const struct sxt_mlyze_tree *tree,
                                                               const struct growing *stacks, size_t count)
{
    const struct sxt_mlyze_slots *slots = &tree->node_slots;
    if (slots->count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(&slots->list[hash_node(tree, &stacks[i].next) & (slots->count - 1)]);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = stacks[i].has_next ? first_in_slot(tree, &stacks[i].next) : 0;
        if (number != 0)
            __builtin_prefetch(&tree->nodes[number - 1]);
    }
}

/* Adds one frame to each stack that has one left. Returns how many had; SIZE_MAX if memory is short. */
static size_t add_level(struct sxt_mlyze_tree *tree, struct growing *stacks, size_t count)
{
    size_t busy = 0;
    for (size_t i = 0; i < count; i++) {
        struct growing *stack = &stacks[i];
        stack->has_next = stack->left > 0;
        if (stack->has_next)
            stack->next =
                (struct sxt_mlyze_node){stack->node, sxt_mlyze_tree_add_frame(tree, &stack->frames[--stack->left])};
    }
    expect_level(tree, stacks, count);
    for (size_t i = 0; i < count; i++) {
        if (!stacks[i].has_next)
            continue;
        busy++;
        stacks[i].node = add_node(tree, stacks[i].next);
        if (stacks[i].node == SXT_MLYZE_NO_NODE)
            return SIZE_MAX;
    }
    return busy;
}

static bool add_together(struct sxt_mlyze_metadata *metadata, uint32_t id, const struct sxt_mlyze_new_stack *stacks,
                         size_t count)
{
    struct growing growing[SXT_MLYZE_STACKS_AT_ONCE];
    for (size_t i = 0; i < count; i++)
        growing[i] = (struct growing){.frames = stacks[i].frames, .left = stacks[i].count, .node = SXT_MLYZE_NO_NODE};
    size_t busy = 1;
    while (busy > 0 && busy != SIZE_MAX)
        busy = add_level(&metadata->tree, growing, count);
    for (size_t i = 0; i < count; i++) {
        metadata->stacks[id + i] =
            (struct sxt_mlyze_stack){.node = growing[i].node, .count = (uint32_t)stacks[i].count, .exists = true};
        metadata->frame_count += stacks[i].count;
    }
    return busy == 0;
}

bool sxt_mlyze_add_stacks(struct sxt_mlyze_metadata *metadata, uint32_t id, const struct sxt_mlyze_new_stack *stacks,
                          size_t count)
{
    bool is_good = true;
    for (size_t i = 0; i < count && is_good; i += SXT_MLYZE_STACKS_AT_ONCE)
        is_good = add_together(metadata, id + (uint32_t)i, stacks + i,
                               count - i < SXT_MLYZE_STACKS_AT_ONCE ? count - i : SXT_MLYZE_STACKS_AT_ONCE);
    return is_good;
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
        return sxt_mlyze_node_frame(metadata, nodes[index]);
    uint32_t node = stack->node;
    while (index-- > 0)
        node = metadata->tree.nodes[node].parent;
    return sxt_mlyze_node_frame(metadata, node);
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

/* By frame: a frame with the numbers of its texts. NULL if memory is short. */
static struct sxt_mlyze_frame *number_frames(const struct sxt_mlyze_metadata *metadata, struct shown *files,
                                             struct shown *functions)
{
    const struct sxt_mlyze_tree *tree = &metadata->tree;
    struct sxt_mlyze_frame *numbers = malloc((tree->frame_count + 1) * sizeof *numbers);
    bool is_good = numbers != NULL;
    for (size_t i = 0; i < tree->frame_count && is_good; i++) {
        numbers[i] = (struct sxt_mlyze_frame){.file = number_of(files, metadata, tree->frames[i].file),
                                              .function = number_of(functions, metadata, tree->frames[i].function),
                                              .line = tree->frames[i].line};
        is_good = numbers[i].file != SXT_STRINGS_FULL && numbers[i].function != SXT_STRINGS_FULL;
    }
    if (is_good)
        return numbers;
    free(numbers);
    return NULL;
}

/* By node: the first node whose frames are shown as those of this one. NULL if memory is short. */
static uint32_t *match_nodes(const struct sxt_mlyze_metadata *metadata, struct shown *files, struct shown *functions)
{
    const struct sxt_mlyze_tree *tree = &metadata->tree;
    struct sxt_mlyze_tree merged = {0};
    struct sxt_mlyze_frame *numbers = number_frames(metadata, files, functions);
    uint32_t *match = malloc((tree->count + 1) * sizeof *match);
    bool is_good = match != NULL && numbers != NULL;
    for (size_t i = 0; i < tree->count && is_good; i++) {
        uint32_t parent = tree->nodes[i].parent;
        match[i] = sxt_mlyze_tree_add(&merged, parent != SXT_MLYZE_NO_NODE ? match[parent] : SXT_MLYZE_NO_NODE,
                                      &numbers[tree->nodes[i].frame]);
        is_good = match[i] != SXT_MLYZE_NO_NODE;
    }
    sxt_mlyze_tree_free(&merged);
    free(numbers);
    if (is_good)
        return match;
    free(match);
    return NULL;
}

/* A set of numbers below COUNT. NULL if memory is short. */
static uint64_t *new_set(size_t count)
{
    return calloc(count / 64 + 1, sizeof(uint64_t));
}

/* Whether two stacks are the same node. MATCH may be NULL: then each node is only like itself. */
static bool has_equal_stacks(const struct sxt_mlyze_metadata *metadata, const uint32_t *match, uint64_t *seen)
{
    for (size_t i = 0; i < metadata->stack_count; i++) {
        const struct sxt_mlyze_stack *stack = &metadata->stacks[i];
        if (stack->count == 0)
            continue;
        uint32_t node = match != NULL ? match[stack->node] : stack->node;
        if ((seen[node / 64] >> node % 64 & 1) != 0)
            return true;
        seen[node / 64] |= (uint64_t)1 << node % 64;
    }
    return false;
}

static bool find_lowest(struct sxt_mlyze_metadata *metadata, const uint32_t *match)
{
    uint64_t *seen = new_set(metadata->tree.count);
    bool is_good = seen != NULL, has_equal = is_good && has_equal_stacks(metadata, match, seen);
    free(seen);
    if (!has_equal)
        return is_good;
    uint32_t *lowest = calloc(metadata->tree.count + 1, sizeof *lowest); /* by node: place of a stack + 1 */
    uint32_t *same = malloc((metadata->stack_count + 1) * sizeof *same);
    is_good = lowest != NULL && same != NULL;
    for (size_t i = 0; is_good && i < metadata->stack_count; i++) {
        const struct sxt_mlyze_stack *stack = &metadata->stacks[i];
        same[i] = sxt_mlyze_id_at(metadata->stack_ids, i);
        if (stack->count == 0)
            continue;
        uint32_t node = match != NULL ? match[stack->node] : stack->node;
        if (lowest[node] == 0)
            lowest[node] = (uint32_t)i + 1;
        same[i] = sxt_mlyze_id_at(metadata->stack_ids, lowest[node] - 1);
    }
    free(lowest);
    if (is_good)
        metadata->same = same;
    else
        free(same);
    return is_good;
}

/* Whether a frame has an id that the metadata does not have, and that is shown as a name which another may have. */
static bool has_missing_name(const struct sxt_mlyze_metadata *metadata)
{
    for (size_t i = 0; i < metadata->tree.frame_count; i++) {
        const struct sxt_mlyze_frame *frame = &metadata->tree.frames[i];
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
