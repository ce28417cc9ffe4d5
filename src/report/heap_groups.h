/*
 * heap_groups.h: the stacks of a trace that has too many of them for bins, in groups: those that take most by
 * themselves, and the others as heap_fold.h describes. The groups are made from the sums of a first pass, before there
 * are bins, so that memory does not grow with stacks times bins. No sum of the whole trace changes.
 */
#ifndef SXT_REPORT_HEAP_GROUPS_H
#define SXT_REPORT_HEAP_GROUPS_H

#include "mlyze/analysis.h"
#include "report/heap_calls.h"

struct sxt_heap_group {
    uint32_t stack; /* that stands for the group */
    uint32_t node;  /* of the calls */
    bool is_suppressed;
};

struct sxt_heap_groups {
    const struct sxt_mlyze_metadata *metadata;
    struct sxt_heap_group *list;
    size_t count;
    uint32_t *of;     /* by place of a stack: number of its group + 1, or 0 */
    uint32_t unknown; /* the same for stacks that are not in the metadata */
    uint64_t folded;  /* how many stacks are not groups of their own */
};

/*
 * *USAGE has no bins; its known leaks are suppressed. It is freed: it takes more memory than the groups do. Adds the
 * nodes to CALLS. Frees everything on failure.
 */
int sxt_heap_groups_make(struct sxt_heap_groups *groups, const sxt_trace *trace, sxt_heap_usage **usage,
                         struct sxt_heap_calls *calls, sxt_error *error);
void sxt_heap_groups_free(struct sxt_heap_groups *groups);

/* The group of a stack; NULL for a stack that USAGE did not have. */
const struct sxt_heap_group *sxt_heap_groups_find(const struct sxt_heap_groups *groups, uint32_t stack);

/* For sxt_heap_bins_set_groups. */
uint32_t sxt_heap_groups_stack(void *groups, uint32_t stack);

#endif
