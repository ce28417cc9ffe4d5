/*
 * analysis_view.c: what is shown of a stack, and a table in which stacks that look the same are one row.
 *
 *     stack                          shown
 *     operator new          lib
 *     vector<>::_M_grow     lib
 *     vector<>::push_back   lib      vector<>::push_back     what the user's code called
 *     load                  user     load
 *     main                  user     main
 *     __libc_start_main     lib
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "mlyze/analysis.h"
#include "mlyze/frame_kind.h"
#include "mlyze/frame_names.h"
#include "mlyze/live.h"

#define SHOWN_MOST 4096 /* frames that make a row different from others */

/* --- frames --- */

typedef unsigned kind_function(void *data, const struct sxt_mlyze_frame *frame);

static bool has_user_code(const struct sxt_mlyze_metadata *metadata, uint32_t node, uint32_t count, kind_function *kind,
                          void *data)
{
    for (uint32_t i = 0; i < count; i++, node = sxt_mlyze_node_at(metadata, node)->parent)
        if (kind(data, sxt_mlyze_node_frame(metadata, node)) == 0)
            return true;
    return false;
}

size_t sxt_heap_choose_frames(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_stack *stack,
                              const sxt_heap_view *view, kind_function *kind, void *data, struct sxt_heap_chosen *out,
                              size_t capacity, uint32_t *left)
{
    uint32_t count = stack != NULL ? stack->count : 0, node = stack != NULL ? stack->node : SXT_MLYZE_NO_NODE;
    size_t most = view->frames > 0 && view->frames < capacity ? view->frames : capacity, shown = 0, all = 0;
    struct sxt_heap_chosen library = {0};
    count = view->depth > 0 && view->depth < count ? view->depth : count;
    bool folds = view->folds_library && has_user_code(metadata, node, count, kind, data);
    for (uint32_t i = 0; i < count && (left != NULL || shown < most); i++) {
        const struct sxt_mlyze_frame *of = sxt_mlyze_node_frame(metadata, node);
        struct sxt_heap_chosen frame = {.frame = of, .index = i};
        frame.is_library = view->folds_library && (kind(data, of) & SXT_FRAME_LIBRARY) != 0;
        node = sxt_mlyze_node_at(metadata, node)->parent;
        if (folds && frame.is_library) {
            frame.folded = library.frame != NULL ? library.folded + 1 : 0;
            library = frame;
            continue;
        }
        if (library.frame != NULL && all++ < most)
            out[shown++] = library;
        library.frame = NULL;
        if (all++ < most)
            out[shown++] = frame;
    }
    if (left != NULL)
        *left = (uint32_t)(all - shown);
    return shown;
}

/* --- the table --- */

/* Stacks that look the same. */
struct group {
    uint64_t gained, lost; /* the cost is the difference; only growth has two parts */
    uint32_t stack;        /* the lowest id */
    uint32_t stacks;       /* how many; once rows are made: number of the row + 1, or 0 */
};

struct view_maker {
    const sxt_heap_usage *usage;
    sxt_heap_view view;
    sxt_heap_cost cost;
    struct sxt_frame_names names;
    struct sxt_heap_chosen *frames; /* room for those of one stack */
    struct sxt_live places;         /* by hash of what is shown: number of the group */
    struct group *groups;
    size_t group_count, group_capacity;
    uint32_t *of_site; /* by site: number of its group + 1, or 0 */
    uint32_t cut;      /* the function that ends stacks which were cut; SXT_MLYZE_NO_ID: there is none */
};

static unsigned kind_of(void *names, const struct sxt_mlyze_frame *frame)
{
    return sxt_frame_names_kind(names, frame);
}

/* The secrets of the table are random, so a hostile file cannot choose stacks that seem to look the same. */
static uint64_t mix(const struct view_maker *maker, uint64_t hash, uint64_t word)
{
    return sxt_live_hash(&maker->places, hash ^ word * 0x9e3779b97f4a7c15) + (hash << 7 | hash >> 57);
}

static uint32_t find_cut(const struct sxt_mlyze_metadata *metadata)
{
    for (size_t i = 0; i < metadata->function_count; i++)
        if (sxt_string_is(metadata->functions[i], SXT_TRUNCATED))
            return sxt_mlyze_id_at(metadata->function_ids, i);
    return SXT_MLYZE_NO_ID;
}

/* That a stack was cut is always shown. */
static bool is_cut(const struct view_maker *maker, const struct sxt_mlyze_stack *stack)
{
    const struct sxt_mlyze_metadata *metadata = maker->names.metadata;
    if (maker->cut == SXT_MLYZE_NO_ID || stack == NULL || stack->count == 0 || maker->view.depth != 0)
        return false;
    uint32_t node = stack->node;
    while (sxt_mlyze_node_at(metadata, node)->parent != SXT_MLYZE_NO_NODE)
        node = sxt_mlyze_node_at(metadata, node)->parent;
    return sxt_mlyze_node_frame(metadata, node)->function == maker->cut;
}

/* A hash of what is shown of a stack. Of a library frame only the name is shown, of code without lines no folder. */
static uint64_t hash_shown(struct view_maker *maker, uint32_t id)
{
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(maker->usage, id);
    size_t count = sxt_heap_choose_frames(maker->names.metadata, stack, &maker->view, kind_of, &maker->names,
                                          maker->frames, SHOWN_MOST, NULL);
    uint64_t hash = mix(maker, count, count > 0 ? is_cut(maker, stack) : id);
    for (size_t i = 0; i < count; i++) {
        const struct sxt_mlyze_frame *frame = maker->frames[i].frame;
        uint32_t function = sxt_frame_names_function(&maker->names, frame->function), file = 0;
        if (!maker->frames[i].is_library)
            file = frame->line == 0 ? sxt_frame_names_base(&maker->names, frame->file)
                                    : sxt_frame_names_file(&maker->names, frame->file);
        hash = mix(maker, hash, (uint64_t)function << 32 | file);
        hash = mix(maker, hash, maker->frames[i].is_library ? UINT64_MAX : frame->line);
    }
    return hash;
}

/* The group of stacks that look like HASH; NULL if memory is short. */
static struct group *group_of(struct view_maker *maker, uint64_t hash, uint32_t *number)
{
    bool is_new;
    size_t place = sxt_live_add(&maker->places, hash, &is_new);
    if (place == SXT_LIVE_NOWHERE)
        return NULL;
    if (is_new) {
        struct group *moved =
            sxt_array_grow(maker->groups, &maker->group_capacity, maker->group_count + 1, sizeof *moved);
        if (moved == NULL)
            return NULL;
        maker->groups = moved;
        maker->groups[maker->group_count] = (struct group){.stack = UINT32_MAX};
        sxt_live_at(&maker->places, place)->site = (uint32_t)maker->group_count++;
    }
    *number = sxt_live_at(&maker->places, place)->site;
    return &maker->groups[*number];
}

static bool group_sites(struct view_maker *maker)
{
    const sxt_heap_usage *usage = maker->usage;
    bool is_growth = maker->cost == SXT_HEAP_COST_GROWTH;
    for (size_t i = 0; i < usage->sites.count; i++) {
        uint32_t stack = sxt_heap_record(&usage->sites, i)->stack, number;
        if (!sxt_heap_sites_is_shown(&usage->sites, i, maker->cost))
            continue;
        struct group *group = group_of(maker, hash_shown(maker, stack), &number);
        if (group == NULL || maker->names.no_memory)
            return false;
        maker->of_site[i] = number + 1;
        group->gained += sxt_heap_sites_cost(&usage->sites, i, is_growth ? SXT_HEAP_COST_LIVE : maker->cost);
        group->lost += is_growth ? sxt_heap_sites_pair(&usage->sites, i, SXT_HEAP_BEFORE).bytes : 0;
        group->stack = stack < group->stack ? stack : group->stack;
        group->stacks++;
    }
    return true;
}

static int compare_groups(const void *left, const void *right, void *list)
{
    const struct group *groups = list, *a = &groups[*(const uint32_t *)left], *b = &groups[*(const uint32_t *)right];
    bool fell_a = a->gained < a->lost, fell_b = b->gained < b->lost;
    uint64_t of_a = a->gained - a->lost, of_b = b->gained - b->lost;
    if (fell_a != fell_b)
        return fell_a ? 1 : -1;
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

/* Makes rows of the first groups, and adds up their sites. */
static bool make_rows(struct view_maker *maker, uint64_t limit, sxt_heap_table *table)
{
    uint32_t *order = malloc((maker->group_count + 1) * sizeof *order);
    size_t count = maker->group_count < limit ? maker->group_count : (size_t)limit;
    table->rows = calloc(count + 1, sizeof *table->rows);
    if (order == NULL || table->rows == NULL) {
        free(order);
        return false;
    }
    for (size_t i = 0; i < maker->group_count; i++)
        order[i] = (uint32_t)i;
    if (maker->group_count > 0)
        qsort_r(order, maker->group_count, sizeof *order, compare_groups, maker->groups);
    for (size_t i = 0; i < maker->group_count; i++) {
        struct group *group = &maker->groups[order[i]];
        if (i < count)
            table->rows[i] = (sxt_heap_row){.id = group->stack, .stacks = group->stacks};
        group->stacks = i < count ? (uint32_t)i + 1 : 0;
    }
    free(order);
    for (size_t i = 0; i < maker->usage->sites.count; i++) {
        uint32_t row = maker->of_site[i] > 0 ? maker->groups[maker->of_site[i] - 1].stacks : 0;
        sxt_heap_sums sums;
        if (row == 0)
            continue;
        sxt_heap_sites_get(&maker->usage->sites, i, &sums);
        sxt_heap_add_sums(&table->rows[row - 1].sums, &sums);
    }
    table->count = count;
    table->all = maker->group_count;
    return true;
}

int sxt_heap_view_stacks(const sxt_heap_usage *usage, sxt_heap_cost cost, uint64_t limit, const sxt_heap_view *view,
                         sxt_heap_table **out, sxt_error *error)
{
    struct view_maker maker = {.usage = usage, .view = *view, .cost = cost};
    *out = NULL;
    if (maker.view.depth == 0)
        maker.view.depth = usage->options.depth;
    int status = sxt_frame_names_init(&maker.names, sxt_mlyze_metadata(usage->trace), view->shortens_names, error);
    if (status != SXT_OK)
        return status;
    maker.cut = find_cut(maker.names.metadata);
    sxt_heap_table *table = calloc(1, sizeof *table);
    maker.frames = calloc(SHOWN_MOST, sizeof *maker.frames);
    maker.of_site = calloc(usage->sites.count + 1, sizeof *maker.of_site);
    if (table != NULL)
        sxt_arena_init(&table->arena, 0, sxt_arena_separate_default);
    if (table == NULL || maker.frames == NULL || maker.of_site == NULL || !sxt_live_init(&maker.places) ||
        !group_sites(&maker) || !make_rows(&maker, limit, table)) {
        status = sxt_fail_memory(error, usage->sites.count * sizeof *maker.of_site);
        sxt_heap_table_free(&table);
    }
    *out = table;
    sxt_live_free(&maker.places);
    sxt_frame_names_free(&maker.names);
    free(maker.frames);
    free(maker.of_site);
    free(maker.groups);
    return status;
}
