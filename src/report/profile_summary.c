/* profile_summary.c: what the functions of a profile take, for a summary as text. */
#include <stdlib.h>

#include "base/error.h"
#include "profile/call_tree.h"
#include "report/report.h"

struct sxt_profile_summary {
    struct sxt_call_tree tree;
    struct sxt_profile_function *functions;
    size_t count;
};

/* What is needed for each node, and for each frame, while sums are made. Stacks may have millions of frames. */
struct work {
    uint32_t *child, *sibling; /* the first one in a node, and the next one; 0: none */
    uint32_t *open;            /* by frame: calls around the node */
    bool *is_outermost;        /* no call of the same function is around the node, so its value is counted */
    int64_t *with_callees;
};

static void enter(const struct sxt_call_tree *tree, struct work *work, size_t node)
{
    work->is_outermost[node] = work->open[tree->nodes[node].frame]++ == 0;
}

static void find_outermost(const struct sxt_call_tree *tree, struct work *work)
{
    for (size_t i = tree->node_count; i-- > 1;) {
        work->sibling[i] = work->child[tree->nodes[i].parent];
        work->child[tree->nodes[i].parent] = (uint32_t)i;
    }
    for (size_t at = 0;;) {
        size_t next = work->child[at];
        while (next == 0 && at != 0) {
            work->open[tree->nodes[at].frame]--;
            next = work->sibling[at];
            if (next == 0)
                at = tree->nodes[at].parent;
        }
        if (next == 0)
            return;
        at = next;
        enter(tree, work, at);
    }
}

/* Values come from the file, and their sums may wrap around. */
static void add(int64_t *sum, int64_t value)
{
    *sum = (int64_t)((uint64_t)*sum + (uint64_t)value);
}

static void sum_side(struct sxt_profile_summary *summary, unsigned side, const struct work *work)
{
    const struct sxt_call_tree *tree = &summary->tree;
    for (size_t i = 0; i < tree->node_count; i++)
        work->with_callees[i] = tree->values[side][i * tree->type_count + tree->default_type];
    for (size_t i = tree->node_count; i-- > 1;) {
        struct sxt_profile_function *function = &summary->functions[tree->nodes[i].frame];
        add(&function->self[side], tree->values[side][i * tree->type_count + tree->default_type]);
        if (work->is_outermost[i])
            add(&function->total[side], work->with_callees[i]);
        add(&work->with_callees[tree->nodes[i].parent], work->with_callees[i]);
    }
}

static uint64_t weight(int64_t before, int64_t after)
{
    return after >= before ? (uint64_t)after - (uint64_t)before : (uint64_t)before - (uint64_t)after;
}

/* The largest own value first, or the largest change. Of one profile, the second side is 0. */
static int compare(const void *first, const void *second)
{
    const struct sxt_profile_function *a = first, *b = second;
    uint64_t x = weight(a->self[0], a->self[1]), y = weight(b->self[0], b->self[1]);
    if (x == y) {
        x = weight(a->total[0], a->total[1]);
        y = weight(b->total[0], b->total[1]);
    }
    return x < y ? 1 : x > y ? -1 : a->number < b->number ? -1 : a->number > b->number;
}

static void free_work(struct work *work)
{
    free(work->child);
    free(work->sibling);
    free(work->open);
    free(work->is_outermost);
    free(work->with_callees);
}

static bool make_work(const struct sxt_call_tree *tree, struct work *work)
{
    size_t nodes = tree->node_count + 1;
    *work = (struct work){
        .child = calloc(nodes, sizeof *work->child),
        .sibling = calloc(nodes, sizeof *work->sibling),
        .open = calloc(tree->frame_count + 1, sizeof *work->open),
        .is_outermost = calloc(nodes, sizeof *work->is_outermost),
        .with_callees = calloc(nodes, sizeof *work->with_callees),
    };
    return work->child != NULL && work->sibling != NULL && work->open != NULL && work->is_outermost != NULL &&
           work->with_callees != NULL;
}

static int sum(struct sxt_profile_summary *summary, unsigned sides, sxt_error *error)
{
    const struct sxt_call_tree *tree = &summary->tree;
    struct work work;
    summary->functions = calloc(tree->frame_count + 1, sizeof *summary->functions);
    if (!make_work(tree, &work) || summary->functions == NULL) {
        free_work(&work);
        return sxt_fail_memory(error, tree->node_count);
    }
    for (size_t i = 0; i < tree->frame_count; i++)
        summary->functions[i] = (struct sxt_profile_function){
            .function = sxt_strings_get(&tree->strings, tree->frames[i].function),
            .file = sxt_strings_get(&tree->strings, tree->frames[i].file),
            .number = i,
        };
    summary->count = tree->frame_count;
    find_outermost(tree, &work);
    for (unsigned i = 0; i < sides && tree->type_count > 0; i++)
        sum_side(summary, i, &work);
    free_work(&work);
    qsort(summary->functions, summary->count, sizeof *summary->functions, compare);
    return SXT_OK;
}

int sxt_profile_summary_read(const char *const paths[2], struct sxt_profile_summary **out, const char **failed,
                             sxt_error *error)
{
    struct sxt_profile_summary *summary = calloc(1, sizeof *summary);
    *out = NULL;
    *failed = paths[0];
    if (summary == NULL)
        return sxt_fail_memory(error, sizeof *summary);
    unsigned sides;
    int status = sxt_page_read_calls(paths, &summary->tree, &sides, failed, error);
    if (status == SXT_OK)
        status = sum(summary, sides, error);
    if (status != SXT_OK)
        sxt_profile_summary_free(&summary);
    *out = summary;
    return status;
}

void sxt_profile_summary_free(struct sxt_profile_summary **summary)
{
    if (*summary == NULL)
        return;
    sxt_call_tree_free(&(*summary)->tree);
    free((*summary)->functions);
    free(*summary);
    *summary = NULL;
}

void sxt_profile_summary_totals(const struct sxt_profile_summary *summary, struct sxt_profile_totals *out)
{
    const struct sxt_call_tree *tree = &summary->tree;
    *out = (struct sxt_profile_totals){.functions = summary->count};
    if (tree->type_count > 0) {
        out->type = sxt_strings_get(&tree->strings, tree->types[tree->default_type].name);
        out->unit = sxt_strings_get(&tree->strings, tree->types[tree->default_type].unit);
    }
    for (unsigned i = 0; i < 2; i++) {
        out->samples[i] = tree->samples[i];
        out->values[i] = tree->totals[i][tree->default_type];
    }
}

const struct sxt_profile_function *sxt_profile_summary_get(const struct sxt_profile_summary *summary, size_t index)
{
    return index < summary->count ? &summary->functions[index] : NULL;
}
