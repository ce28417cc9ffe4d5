/* heap_diff.h: a comparison of heap traces that is to be printed. */
#ifndef SXT_CLI_HEAP_DIFF_H
#define SXT_CLI_HEAP_DIFF_H

#include "cli/heap.h"

/* A run of one side: FILE, or FILE@MOMENT for what was live then. */
struct cli_heap_run {
    struct cli_heap heap;
    char *path;
    bool is_moment;
};

/* A budget of --fail-if. */
struct cli_heap_budget {
    const char *text;
    sxt_heap_budget budget;
    sxt_heap_budget_result result;
};

struct cli_heap_diff {
    struct cli_heap_run *runs; /* those before, then those after */
    size_t run_count, before_count;
    struct cli_heap_budget *budgets;
    size_t budget_count;
    sxt_path_map *path_maps; /* two strings of one allocation each, which begins with the old prefix */
    size_t path_map_count;
    sxt_heap_diff *diff;
    enum cli_form form;
    uint64_t limit;   /* rows that are printed */
    bool are_moments; /* what is live is compared, not what was allocated */
    struct {
        uint64_t unchanged, changed, added, removed; /* stacks */
        uint64_t noise;                              /* how many of those that changed are only noise */
    } counts;
};

/* Whether the figures of a stack are the same on both sides. What is suppressed does not count. */
bool cli_heap_is_same(const sxt_heap_change *change);

/* "added", "removed" or "changed" */
const char *cli_heap_status(const sxt_heap_change *change);

/* What a budget limits: "peak", "leaked in stacks with 'f'". */
void cli_heap_budget_subject(const struct cli_heap_budget *budget, char *text, size_t size);

void cli_heap_print_diff(struct sxt_emit *emit, const struct cli_heap_diff *diff);

#endif
