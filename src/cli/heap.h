/* heap.h: what the verbs over heap traces share: opening one, and what of it is to be printed how. */
#ifndef SXT_CLI_HEAP_H
#define SXT_CLI_HEAP_H

#include "base/file.h"
#include "base/progress.h"
#include "cli/numbers.h"
#include "mlyze/heap.h"

/* A trace that is open. */
struct cli_trace {
    const char *path;
    struct sxt_file file;
    bool is_packed; /* the file is compressed as a whole */
    bool is_cut;    /* the recording did not end, and `file` is what was made of it */
    struct sxt_mlyze *mlyze;
    struct sxt_progress progress;
    uint64_t passed; /* bytes that are done with */
};

/* Print what is wrong and return the exit status; cli_trace_close is right in any case. */
int cli_trace_open(const char *path, struct cli_trace *out);
void cli_trace_close(struct cli_trace *trace);

/* sxt_heap_run with a bar, and with no more of the file in memory than is needed. */
int cli_trace_run(struct cli_trace *trace, struct sxt_heap_options *options, struct sxt_heap_usage *out);

/* What was live at TIME, from the file beside the trace; false when there is none that is of use. */
bool cli_trace_ask(struct cli_trace *trace, uint64_t time, struct sxt_heap_usage *out);

/* Writes PATH.live, from which --at is answered at once. Prints what is wrong and returns the exit status. */
int cli_trace_save_states(const char *path);

/* heap_symbolize.c: gives names to what has none, in the file or in that of -o; TRACE becomes the result. Prints what
 * is wrong and returns the exit status. */
int cli_trace_symbolize(const struct cli_arguments *arguments, struct cli_trace *trace);

/* A bar for a recording that is being finished, for sxt_recover_options. It begins all zero; its end is right in any
 * case. */
struct cli_finishing {
    struct sxt_progress bar;
    uint64_t done;
    bool has_begun;
};
void cli_show_finishing(void *finishing, uint64_t done, uint64_t all);
void cli_end_finishing(struct cli_finishing *finishing);

/* Says what is odd about a trace that was read. Returns CLI_NO when the rest of it could not be read. */
int cli_trace_warn(const struct cli_trace *trace, const struct sxt_heap_usage *usage);

/* How a table is printed. */
struct cli_heap_table {
    enum sxt_heap_key key;
    enum sxt_heap_cost cost;
    enum cli_form form;
    uint64_t limit;
    bool only_live; /* no other sums */
};

const char *cli_heap_cost_name(enum sxt_heap_cost cost);

/* "1.5 s", "250 ms" */
struct cli_number cli_duration(uint64_t microseconds);

/* heap_print.c */
void cli_heap_emit_frames(struct sxt_emit *emit, const struct sxt_heap_usage *usage, uint32_t stack);
void cli_heap_print_frames(struct sxt_emit *emit, const struct sxt_heap_usage *usage, uint32_t stack, unsigned indent,
                           uint32_t most);
void cli_heap_print_summary(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage);
int cli_heap_print_table(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage,
                         const struct cli_heap_table *table);
int cli_heap_print_stack(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage,
                         uint64_t stack);

/* heap_time.c: everything along the time */
void cli_heap_print_timeline(struct sxt_emit *emit, const struct sxt_heap_usage *usage);
void cli_heap_print_windows(struct sxt_emit *emit, const struct sxt_heap_usage *usage);
void cli_heap_print_lifetimes(struct sxt_emit *emit, const struct sxt_heap_usage *usage);
void cli_heap_print_markers(struct sxt_emit *emit, const struct sxt_heap_usage *usage);
void cli_heap_print_state(struct sxt_emit *emit, const struct sxt_heap_usage *usage); /* at the end of the window */

/* heap_tree.c */
int cli_heap_print_tree(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage,
                        enum sxt_heap_cost cost, bool bottom_up, bool all);

#endif
