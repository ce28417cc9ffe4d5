/* heap_groups.c: groups of stacks, by what each took in a whole trace. */
#include "report/heap_groups.h"

#include <stdlib.h>

#include "base/error.h"
#include "trace/trace.h"

#define KEPT_MOST 640 /* stacks that are groups of their own */
#define FINE_MOST 256 /* groups of small stacks with the frames that allocated; others have only their caller */
#define ALL_MOST  1024
#define MUCH      1000 /* a caller takes much if it has this part of any metric */

/* What is known of a stack. */
struct site {
    float part; /* the largest that it has of any metric */
    uint32_t stack;
    bool is_suppressed;
};

struct grouping {
    struct sxt_heap_groups *groups;
    const sxt_trace *trace;
    struct sxt_heap_calls *calls;
    struct site *sites; /* those that take most first */
    size_t site_count;
    float *node_parts; /* of each node of the trace's tree: the parts of everything below it */
    uint32_t *node_of; /* by node of the trace's tree: its node in the calls + 1, once it was needed */
    struct sxt_strings keys;
    uint32_t numbers[ALL_MOST + 8]; /* by number of a key: its group */
};

static const sxt_heap_cost metrics[] = {SXT_HEAP_COST_BYTES, SXT_HEAP_COST_PEAK, SXT_HEAP_COST_LEAKED,
                                        SXT_HEAP_COST_TEMPORARY};
#define METRICS (sizeof metrics / sizeof *metrics)

void sxt_heap_groups_free(struct sxt_heap_groups *groups)
{
    free(groups->list);
    free(groups->of);
    *groups = (struct sxt_heap_groups){.list = NULL};
}

/* Where the number of the group of a stack is kept. */
static uint32_t *place_of(const struct sxt_heap_groups *groups, uint32_t stack)
{
    const struct sxt_mlyze_metadata *metadata = groups->metadata;
    size_t place = sxt_mlyze_place(metadata->stack_ids, metadata->stack_count, sxt_mlyze_same_stack(metadata, stack));
    return place != SIZE_MAX ? &groups->of[place] : NULL;
}

const struct sxt_heap_group *sxt_heap_groups_find(const struct sxt_heap_groups *groups, uint32_t stack)
{
    const uint32_t *place = place_of(groups, stack);
    uint32_t number = place != NULL ? *place : groups->unknown;
    return number > 0 ? &groups->list[number - 1] : NULL;
}

uint32_t sxt_heap_groups_stack(void *data, uint32_t stack)
{
    const struct sxt_heap_group *group = sxt_heap_groups_find(data, stack);
    return group != NULL ? group->stack : stack;
}

/* --- what stacks and callers take --- */

/* False if memory is short. */
static bool list_sites(struct grouping *grouping, const struct sxt_heap_sites *sites)
{
    double totals[METRICS] = {0};
    grouping->sites = malloc((sites->count + 1) * sizeof *grouping->sites);
    if (grouping->sites == NULL)
        return false;
    for (size_t i = 0; i < sites->count; i++)
        for (size_t j = 0; j < METRICS; j++)
            totals[j] += (double)sxt_heap_sites_bytes(sites, i, metrics[j]);
    for (size_t i = 0; i < sites->count; i++) {
        const struct sxt_heap_record *record = sxt_heap_record(sites, i);
        double most = 0;
        for (size_t j = 0; j < METRICS; j++) {
            double part = totals[j] > 0 ? (double)sxt_heap_sites_bytes(sites, i, metrics[j]) / totals[j] : 0;
            most = part > most ? part : most;
        }
        grouping->sites[grouping->site_count++] = (struct site){(float)most, record->stack, record->is_suppressed};
    }
    return true;
}

static void sum_nodes(struct grouping *grouping)
{
    const struct sxt_mlyze_metadata *metadata = grouping->groups->metadata;
    for (size_t i = 0; i < grouping->site_count; i++) {
        const struct sxt_mlyze_stack *stack = sxt_mlyze_find_stack(metadata, grouping->sites[i].stack);
        if (stack != NULL && stack->node != SXT_MLYZE_NO_NODE)
            grouping->node_parts[stack->node] += grouping->sites[i].part;
    }
    for (size_t i = metadata->tree.count; i-- > 0;)
        if (metadata->tree.nodes[i].parent != SXT_MLYZE_NO_NODE)
            grouping->node_parts[metadata->tree.nodes[i].parent] += grouping->node_parts[i];
}

static int compare_sites(const void *left, const void *right)
{
    const struct site *a = left, *b = right;
    if (a->part != b->part)
        return a->part > b->part ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

/* --- groups --- */

static uint32_t add_group(struct grouping *grouping, uint32_t stack, uint32_t node, bool is_suppressed)
{
    struct sxt_heap_groups *groups = grouping->groups;
    groups->list[groups->count] = (struct sxt_heap_group){stack, node, is_suppressed};
    return (uint32_t)++groups->count;
}

/* The node in the calls of the innermost caller of a stack that takes much, or the root. */
static uint32_t find_caller(struct grouping *grouping, uint32_t stack)
{
    const struct sxt_mlyze_metadata *metadata = grouping->groups->metadata;
    const struct sxt_mlyze_stack *found = sxt_mlyze_find_stack(metadata, stack);
    uint32_t node = found != NULL ? found->node : SXT_MLYZE_NO_NODE, skipped = 0;
    while (node != SXT_MLYZE_NO_NODE && grouping->node_parts[node] < 1.0f / MUCH) {
        node = metadata->tree.nodes[node].parent;
        skipped++;
    }
    if (node == SXT_MLYZE_NO_NODE)
        return 0;
    if (grouping->node_of[node] == 0)
        grouping->node_of[node] = sxt_heap_calls_add_outer(grouping->calls, grouping->trace, stack, skipped) + 1;
    return grouping->node_of[node] - 1;
}

/* The frames that allocated: the innermost one, and the innermost one that is not of a library. */
static void find_frames(struct grouping *grouping, uint32_t stack, uint32_t *user, uint32_t *leaf)
{
    const struct sxt_heap_calls *calls = grouping->calls;
    sxt_trace_frame frame;
    *user = *leaf = 0;
    for (uint32_t i = 0; *user == 0 && sxt_trace_get_frame(grouping->trace, stack, i, &frame); i++) {
        uint32_t number = sxt_heap_calls_add_frame(grouping->calls, &frame);
        *leaf = i == 0 ? number : *leaf;
        if (!calls->no_memory && !calls->functions[calls->frames[number].function].is_library)
            *user = number;
    }
    *user = *user != 0 ? *user : *leaf;
}

/* The number of the group with a key; a new one gets STACK, and the node that the key describes. */
static uint32_t find_group(struct grouping *grouping, const uint32_t key[4], uint32_t stack)
{
    uint32_t before = grouping->keys.count, number = sxt_strings_add(&grouping->keys, (const char *)key, 16);
    grouping->calls->no_memory |= number == SXT_STRINGS_FULL;
    if (number == SXT_STRINGS_FULL)
        return 0;
    if (number == before) {
        uint32_t node = sxt_heap_calls_add_small(grouping->calls, key[0], key[2], key[3]);
        grouping->numbers[number] = add_group(grouping, stack, node, key[1] != 0);
    }
    return grouping->numbers[number];
}

/* The group of a small stack. When there are many groups, they become coarser. */
static uint32_t fold(struct grouping *grouping, const struct site *site)
{
    uint32_t key[4] = {0, site->is_suppressed, 0, 0};
    size_t count = grouping->groups->count;
    if (count < ALL_MOST - 8)
        key[0] = find_caller(grouping, site->stack);
    if (count < KEPT_MOST + FINE_MOST)
        find_frames(grouping, site->stack, &key[2], &key[3]);
    return find_group(grouping, key, site->stack);
}

static int choose(struct grouping *grouping, sxt_error *error)
{
    struct sxt_heap_groups *groups = grouping->groups;
    qsort(grouping->sites, grouping->site_count, sizeof *grouping->sites, compare_sites);
    for (size_t i = 0; i < grouping->site_count && !grouping->calls->no_memory; i++) {
        const struct site *site = &grouping->sites[i];
        uint32_t *place = place_of(groups, site->stack);
        uint32_t number;
        if (place == NULL && groups->unknown != 0)
            number = groups->unknown;
        else if (i < KEPT_MOST || place == NULL)
            number = add_group(grouping, site->stack, sxt_heap_calls_add(grouping->calls, grouping->trace, site->stack),
                               site->is_suppressed);
        else
            number = fold(grouping, site);
        *(place != NULL ? place : &groups->unknown) = number;
        groups->folded += i >= KEPT_MOST;
    }
    return grouping->calls->no_memory ? sxt_fail_memory(error, groups->count) : SXT_OK;
}

int sxt_heap_groups_make(struct sxt_heap_groups *groups, const sxt_trace *trace, sxt_heap_usage **usage,
                         struct sxt_heap_calls *calls, sxt_error *error)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace->mlyze);
    size_t nodes = metadata->tree.count + 1;
    struct grouping grouping = {.groups = groups, .trace = trace, .calls = calls};
    bool is_listed = list_sites(&grouping, &(*usage)->sites);
    sxt_heap_usage_free(usage);
    *groups = (struct sxt_heap_groups){
        .metadata = metadata,
        .list = calloc(ALL_MOST + 8, sizeof *groups->list),
        .of = calloc(metadata->stack_count + 1, sizeof *groups->of),
    };
    grouping.node_parts = calloc(nodes, sizeof *grouping.node_parts);
    grouping.node_of = calloc(nodes, sizeof *grouping.node_of);
    int status = sxt_strings_init(&grouping.keys, 0, error);
    if (status == SXT_OK && (!is_listed || groups->list == NULL || groups->of == NULL || grouping.node_parts == NULL ||
                             grouping.node_of == NULL))
        status = sxt_fail_memory(error, nodes * sizeof *grouping.node_of);
    if (status == SXT_OK) {
        sum_nodes(&grouping);
        status = choose(&grouping, error);
    }
    sxt_strings_free(&grouping.keys);
    free(grouping.sites);
    free(grouping.node_parts);
    free(grouping.node_of);
    if (status != SXT_OK)
        sxt_heap_groups_free(groups);
    return status;
}
