/* merge.h: what the two steps of merging share: finding out who has which bytes, and making ranges of it. Private to
 * this room. */
#ifndef SXT_SYMBOLS_MERGE_H
#define SXT_SYMBOLS_MERGE_H

#include "base/priority_queue.h"
#include "base/sort.h"
#include "symbols/nameless.h"
#include "symbols/trees.h"

/* A range of depth 0 that competes for its bytes. */
struct sxt_candidate {
    uint64_t start;
    uint64_t end;
    uint32_t range;       /* index of the added range, or SXT_NO_RANGE */
    uint32_t symbol;      /* index of the symbol when there is no range */
    uint32_t range_count; /* of the tree that begins with the range */
    uint8_t rank;         /* of its source; lower is better */
};

#define SXT_NO_RANGE      UINT32_MAX
#define SXT_NAMELESS_RANK 4

/* Addresses that a candidate was picked for. */
struct sxt_piece {
    uint64_t start;
    uint64_t end;
    uint32_t candidate;
};

struct sxt_merge {
    struct sxt_symbols *symbols;
    struct sxt_trees trees;           /* of the ranges that were added */
    struct sxt_candidate *candidates; /* in order of adding; among symbols in order of the alias rule */
    size_t candidate_count;
    struct sxt_sort_item *order; /* candidates by start */
    struct sxt_sort_item *scratch;
    struct sxt_queue open;    /* candidates that cover the current address */
    struct sxt_piece *pieces; /* ascending */
    size_t piece_count, piece_capacity;
    struct sxt_nameless nameless;

    struct sxt_model_range *ranges; /* the result */
    size_t range_count;
};

/* Makes the ranges of all pieces, in order of (address, depth). */
int sxt_pieces_emit(struct sxt_merge *merge, sxt_error *error);

#endif
