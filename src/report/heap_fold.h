/*
 * heap_fold.h: the rows of a heap page. A trace may have a hundred thousand stacks, of which most take little; their
 * entries in the bins would make most of the page. If there are too many entries, such stacks are folded: what they
 * take is counted below a node "(small stacks)" of the innermost of their callers that takes much; the frames that
 * allocated stay, and all frames between are left out. No sum changes.
 */
#ifndef SXT_REPORT_HEAP_FOLD_H
#define SXT_REPORT_HEAP_FOLD_H

#include "mlyze/bins.h"
#include "report/heap_calls.h"

struct sxt_heap_fold_row {
    uint32_t node, stack;
    uint16_t thread;
    bool is_suppressed;
};

struct sxt_heap_fold {
    struct sxt_heap_fold_row *rows;
    size_t row_count;
    const struct sxt_heap_bin_entry *entries;
    size_t entry_count;
    size_t *first;                  /* by bin: its first entry, and one more at the end */
    uint64_t folded;                /* how many rows of the bins are folded */
    struct sxt_heap_bin_entry *own; /* for its own use */
};

/*
 * ROWS are those of BINS, and belong to the result afterwards; more than MOST entries are folded. Frees everything on
 * failure.
 */
int sxt_heap_fold_make(struct sxt_heap_fold *fold, const struct sxt_heap_bins *bins, struct sxt_heap_fold_row *rows,
                       struct sxt_heap_calls *calls, size_t most, sxt_error *error);
void sxt_heap_fold_free(struct sxt_heap_fold *fold);

#endif
