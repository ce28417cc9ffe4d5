/* heap_processes.h: the traces of several processes, and what they add up to. */
#ifndef SXT_CLI_HEAP_PROCESSES_H
#define SXT_CLI_HEAP_PROCESSES_H

#include <sys/types.h>

#include "cli/heap.h"

struct cli_heap_process {
    char *path;
    ino_t inode;
    dev_t device;
    sxt_trace *trace;
    sxt_trace_process process; /* its command line is borrowed from the joined trace */
    sxt_heap_summary summary;
    sxt_heap_sums total;
    sxt_heap_sums whole;     /* without the filter, if there is one */
    uint32_t child, sibling; /* the first child, and the next process with the same parent, or SXT_TRACE_NO_ID */
    unsigned depth;
};

struct cli_heap_processes {
    struct cli_heap_process *items;
    size_t count, capacity;
    uint32_t *order; /* parents before their children, which follow in the order of their start */
    bool is_filtered;
    bool is_damaged; /* not all of a trace could be read; a message says so */
};

/* Whether the words are several traces, or a folder of them. */
bool cli_heap_are_several(const struct cli_arguments *arguments);

/*
 * Opens all traces, and makes HEAP one of all of them. Prints what is wrong and returns the exit status.
 * HEAP and PROCESSES are to be closed also after a failure.
 */
int cli_heap_processes_open(const struct cli_arguments *arguments, struct cli_heap_processes *processes,
                            struct cli_heap *heap);

/* Analyses each process as ALL was analysed, which joins them. Prints what is wrong, and warnings about each. */
int cli_heap_processes_analyse(const struct cli_arguments *arguments, const struct cli_heap *all);
void cli_heap_processes_close(struct cli_heap_processes *processes);

/* The tree of processes with the figures of each. In JSON an object for each, and one for the sums. */
void cli_heap_print_processes(struct sxt_emit *emit, const struct cli_heap *heap);

#endif
