/*
 * call_tree.h: the samples of pprof profiles as one tree of calls, with the values of each call.
 *
 *     samples  main;work;sort 10   main;work 5   main;idle 2      (leaf last)
 *     nodes    0 root ── 1 main ── 2 work (5) ── 3 sort (10)
 *                               └─ 4 idle (2)
 *
 * A value is that of a call itself, without those below it. Profiles are added as sides: for a comparison, both sides
 * are in one tree, and each node has the values of both.
 */
#ifndef SXT_PROFILE_CALL_TREE_H
#define SXT_PROFILE_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "base/strings.h"

#define SXT_CALL_SIDES     2
#define SXT_CALL_TYPES_MAX 16

/* A function, with what is known of its place; numbers of strings, 0 for unknown. */
struct sxt_call_frame {
    uint32_t function, file, binary;
};

struct sxt_call_node {
    uint32_t parent; /* comes before it; that of the root is 0 */
    uint32_t frame;  /* of the root: none */
};

/* What is counted: "cpu" in "nanoseconds"; numbers of strings. */
struct sxt_call_type {
    uint32_t name, unit;
};

struct sxt_call_tree {
    struct sxt_strings strings;
    struct sxt_call_frame *frames;
    size_t frame_count, frame_capacity;
    struct sxt_call_node *nodes;
    size_t node_count, node_capacity;
    struct sxt_call_type types[SXT_CALL_TYPES_MAX];
    size_t type_count;
    size_t default_type;                                /* the one that the profile shows first */
    int64_t *values[SXT_CALL_SIDES];                    /* node * type_count + type */
    size_t value_capacity[SXT_CALL_SIDES];              /* for its own use */
    uint64_t samples[SXT_CALL_SIDES];                   /* how many there were */
    int64_t totals[SXT_CALL_SIDES][SXT_CALL_TYPES_MAX]; /* sums over all samples */
    uint64_t unnamed[SXT_CALL_SIDES];                   /* locations without a function, in all samples */
    struct sxt_strings frame_keys, node_keys;
};

int sxt_call_tree_init(struct sxt_call_tree *tree, sxt_error *error);
void sxt_call_tree_free(struct sxt_call_tree *tree);

/*
 * Adds a profile, plain or compressed, as SIDE. The second side must count at least one of the same things as the
 * first; what it counts beyond that is left out. Offsets in errors count in the expanded profile.
 */
int sxt_call_tree_add(struct sxt_call_tree *tree, unsigned side, const void *data, size_t size, sxt_error *error);

/*
 * Whether the bytes, plain or compressed, begin as a pprof profile does. It has no magic number: every field must be
 * one that profiles have. Only the first 64 kB are looked at.
 */
bool sxt_profile_is(const void *data, size_t size);

#endif
