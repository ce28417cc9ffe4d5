/* heap_request.h: what the options of `sextant heap` ask for. */
#ifndef SXT_CLI_HEAP_REQUEST_H
#define SXT_CLI_HEAP_REQUEST_H

#include "cli/heap.h"

enum cli_heap_shape {
    CLI_HEAP_SUMMARY,
    CLI_HEAP_TABLE,
    CLI_HEAP_TREE,
    CLI_HEAP_STACK,
    CLI_HEAP_ADDRESS,
    CLI_HEAP_LIFETIMES,
    CLI_HEAP_CHURN,
    CLI_HEAP_TIMELINE,
    CLI_HEAP_MARKERS,
    CLI_HEAP_FOLDED,
    CLI_HEAP_EXPORT
};

struct cli_heap_request {
    enum cli_heap_shape shape;
    struct cli_heap_table table;
    struct cli_heap_look look;
    sxt_heap_options options; /* of the analysis; `filter` below belongs to it */
    sxt_heap_filter filter;
    const char **patterns; /* what the filter points to; to be freed */
    bool bottom_up, all, is_state, keeps_known_leaks;
    uint64_t stack, address;
};

/* Fills in everything but moments. Prints what is wrong and returns the exit status. Free REQUEST in any case. */
int cli_heap_request_parse(const struct cli_arguments *arguments, struct cli_heap_request *request);
void cli_heap_request_free(struct cli_heap_request *request);

/* heap_conflicts.c: refuses options that cannot be used together. */
int cli_heap_check_conflicts(const struct cli_arguments *arguments);

/* The options of the analysis are complete with these, which depend on the trace. */
int cli_heap_request_moments(const struct cli_arguments *arguments, const struct cli_heap *heap,
                             struct cli_heap_request *request);

#endif
