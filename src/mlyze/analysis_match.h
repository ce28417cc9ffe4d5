/*
 * analysis_match.h: which stacks of several runs are the same. Private to analysis_match*.c, analysis_diff.c and
 * analysis_budget.c of this room.
 *
 * Ids differ between traces, so names are compared. Lines do not count: they move when other code changes. Two stacks
 * are the same if, in this order,
 *
 *   1. all their functions and files are equal, after the path maps;
 *   2. the same, where a file that only one run has is taken for the file in another folder that only earlier runs
 *      have: the one with the most components in common at the end, if there is only one such file; the program
 *      itself is always taken for the program of the first run;
 *   3. all their functions are equal, and the modules that they are in, where these are known; an address without
 *      a name counts as its module. Only if exactly one stack on each side is left over with these functions.
 */
#ifndef SXT_MLYZE_ANALYSIS_MATCH_H
#define SXT_MLYZE_ANALYSIS_MATCH_H

#include "base/strings.h"
#include "mlyze/analysis.h"
#include "symbols/symbols.h"

/* What is kept of a stack in a run. */
enum sxt_match_figure {
    SXT_MATCH_BYTES,
    SXT_MATCH_COUNT,
    SXT_MATCH_PEAK_BYTES,
    SXT_MATCH_PEAK_COUNT,
    SXT_MATCH_LIVE_BYTES,
    SXT_MATCH_LIVE_COUNT,
    SXT_MATCH_LEAKED_BYTES, /* without what is suppressed */
    SXT_MATCH_LEAKED_COUNT,
    SXT_MATCH_FIGURES
};

struct sxt_match_row {
    uint32_t node;      /* of its innermost frame, as the first run with it has it */
    uint32_t stacks[2]; /* of both sides: the lowest id in the first run that has it, or SXT_TRACE_NO_ID */
    uint32_t runs[2];   /* that run */
};

struct sxt_matches {
    const sxt_heap_usage **runs; /* those of the first side, then those of the second */
    size_t run_count, before_count;
    struct sxt_path_maps maps;
    struct sxt_strings functions, files; /* names of all runs */
    uint32_t *canonical;                 /* by number of a file: the file that it is taken for */
    uint32_t *modules;                   /* by number of a file: the number of its name in `functions`, if a module */
    uint32_t program;                    /* number of the file of the first run's program, 0 if unknown */
    uint32_t program_names[2 * SXT_HEAP_RUNS_MOST]; /* of the programs of all runs, in `functions`; they are the same */
    size_t program_count;
    size_t canonical_capacity, modules_capacity;
    struct sxt_strings nodes; /* frames with their callers: see analysis_match.c */
    uint32_t *loaded;         /* by number of a node: the number of its loaded file in `functions`, or 0 */
    size_t loaded_capacity;
    uint32_t *row_of; /* by number of a node: the row of the stack that it is the innermost frame of */
    size_t row_of_capacity;
    struct sxt_match_row *rows;
    size_t row_count, row_capacity;
    uint64_t *values; /* SXT_MATCH_FIGURES for each run of each row */
    size_t value_capacity;
};

/* RUNS and MAPS are borrowed. Free also what was not made. */
int sxt_matches_make(struct sxt_matches *matches, sxt_error *error);
void sxt_matches_free(struct sxt_matches *matches);

static inline uint64_t sxt_match_value(const struct sxt_matches *matches, size_t row, size_t run,
                                       enum sxt_match_figure figure)
{
    return matches->values[(row * matches->run_count + run) * SXT_MATCH_FIGURES + figure];
}

/* By number of a node: whether it or one of its callers has one of FUNCTIONS, a set of numbers of functions. */
bool *sxt_match_find_functions(const struct sxt_matches *matches, const bool *functions);

/* --- analysis_match_files.c --- */

/*
 * Sets the canonical files of those from FIRST on, which only the present run has. IS_USED is by number of a file:
 * whether the run has it.
 */
int sxt_match_files(struct sxt_matches *matches, uint32_t first, const bool *is_used, sxt_error *error);

#endif
