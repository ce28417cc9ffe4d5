/*
 * analysis_merge.c: equal stacks are one site. A recorder gives equal stacks several ids: after a library was loaded
 * again, or for calls at several addresses of one line. People see the same frames, so they get one row.
 */
#include "base/error.h"
#include "mlyze/analysis.h"
#include "mlyze/frame_names.h"
#include "mlyze/live.h"
#include "mlyze/private.h"

/* Of one merge. */
struct merger {
    sxt_heap_usage *usage;
    struct sxt_live sites;        /* by what identifies equal stacks: the number of their site */
    struct sxt_mlyze_tree cut;    /* stacks that are cut, from the innermost frame on */
    struct sxt_frame_names names; /* for these */
};

uint32_t sxt_heap_depth(const sxt_heap_usage *usage, const struct sxt_mlyze_stack *stack)
{
    uint32_t count = stack != NULL ? stack->count : 0, depth = usage->options.depth;
    return depth > 0 && depth < count ? depth : count;
}

bool sxt_heap_find_path(const sxt_heap_usage *usage, const struct sxt_mlyze_stack *stack, struct sxt_mlyze_path *path)
{
    if (!sxt_mlyze_find_path(sxt_mlyze_metadata(usage->trace), stack, path))
        return false;
    path->count = sxt_heap_depth(usage, stack);
    return true;
}

/* The node of a stack that is cut; SXT_MLYZE_NO_NODE if memory is short. */
static uint32_t find_cut(struct merger *merger, const struct sxt_mlyze_stack *stack)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(merger->usage->trace);
    uint32_t node = stack->node, at = SXT_MLYZE_NO_NODE, count = sxt_heap_depth(merger->usage, stack);
    for (uint32_t i = 0; i < count; i++) {
        const struct sxt_mlyze_frame *of = sxt_mlyze_node_frame(metadata, node);
        struct sxt_mlyze_frame frame = {sxt_frame_names_file(&merger->names, of->file),
                                        sxt_frame_names_function(&merger->names, of->function), of->line};
        at = merger->names.no_memory ? SXT_MLYZE_NO_NODE : sxt_mlyze_tree_add(&merger->cut, at, &frame);
        if (at == SXT_MLYZE_NO_NODE)
            break;
        node = sxt_mlyze_node_at(metadata, node)->parent;
    }
    return at;
}

/* What equal stacks have in common. Stacks without frames have only their ids. False if memory is short. */
static bool identify(struct merger *merger, uint32_t id, uint64_t *out)
{
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(merger->usage, id);
    *out = sxt_mlyze_same_stack(sxt_mlyze_metadata(merger->usage->trace), id);
    if (merger->usage->options.depth == 0 || stack == NULL || stack->count == 0)
        return true;
    uint32_t node = find_cut(merger, stack);
    *out = (uint64_t)1 << 32 | node;
    return node != SXT_MLYZE_NO_NODE;
}

/* The sums of one site become those of another, alone or with what that has. */
static void move_sums(struct sxt_heap_sites *sites, size_t from, size_t to, bool adds)
{
    sxt_heap_sums sums, others;
    sxt_heap_sites_get(sites, from, &sums);
    if (adds) {
        sxt_heap_sites_get(sites, to, &others);
        sxt_heap_add_sums(&sums, &others);
    }
    sxt_heap_sites_set(sites, to, &sums);
}

static bool merge(struct merger *merger)
{
    struct sxt_heap_sites *sites = &merger->usage->sites;
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(merger->usage->trace);
    size_t kept = 0;
    for (size_t i = 0; i < sites->count; i++) {
        const struct sxt_heap_record *site = sxt_heap_record(sites, i);
        uint64_t identity;
        bool is_new;
        if (site->is_left_out)
            continue;
        size_t place = identify(merger, site->stack, &identity) ? sxt_live_add(&merger->sites, identity, &is_new)
                                                                : SXT_LIVE_NOWHERE;
        if (place == SXT_LIVE_NOWHERE)
            return false;
        uint32_t stack = sxt_mlyze_same_stack(metadata, site->stack);
        if (is_new)
            sxt_live_at(&merger->sites, place)->site = (uint32_t)kept++;
        uint32_t to = sxt_live_at(&merger->sites, place)->site;
        struct sxt_heap_record *same = sxt_heap_record(sites, to);
        if (i != to)
            move_sums(sites, i, to, !is_new);
        same->stack = is_new || stack < same->stack ? stack : same->stack;
        same->is_left_out = same->is_suppressed = false;
    }
    sites->count = kept;
    return !sites->no_memory;
}

int sxt_heap_merge_sites(sxt_heap_usage *usage, sxt_error *error)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    struct merger merger = {.usage = usage};
    if (metadata->same == NULL && usage->options.depth == 0 && !usage->is_filtered)
        return SXT_OK;
    int status = sxt_live_init(&merger.sites) ? SXT_OK : sxt_fail_memory(error, sizeof merger);
    if (status == SXT_OK && usage->options.depth > 0)
        status = sxt_frame_names_init(&merger.names, metadata, false, error);
    if (status == SXT_OK && !merge(&merger))
        status = sxt_fail_memory(error, usage->sites.count * sizeof(struct sxt_heap_record));
    sxt_live_free(&merger.sites);
    sxt_mlyze_tree_free(&merger.cut);
    if (usage->options.depth > 0)
        sxt_frame_names_free(&merger.names);
    return status;
}
