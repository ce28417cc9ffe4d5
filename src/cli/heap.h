/* heap.h: what the verbs for heap traces share: opening and analysing a trace, and printing the result. */
#ifndef SXT_CLI_HEAP_H
#define SXT_CLI_HEAP_H

#include "base/progress.h"
#include "cli/numbers.h"

/* How stacks are shown to people. All zero: every frame, with short names. */
struct cli_heap_look {
    sxt_heap_view view;
    size_t width; /* of the terminal; 0: nothing is cut */
    bool is_wide; /* whole names */
};

/* A trace, and an analysis of it. */
struct cli_heap {
    const char *path;
    sxt_trace *trace;
    bool root_first; /* how it was opened */
    sxt_trace_info info;
    sxt_heap_options options;
    sxt_heap_usage *usage;    /* NULL until it is analysed */
    sxt_heap_summary summary; /* of the usage */
    struct cli_heap_look look;
    struct cli_heap_processes *processes; /* whose traces it joins; NULL for one file */
};

/* The totals of an analysis. */
struct cli_heap_totals {
    const sxt_heap_summary *summary;
    const sxt_heap_sums *total;
    const sxt_heap_sums *whole; /* without the filter; NULL if there is none */
    uint64_t sample_period;
};

/* --- trace.c: print what is wrong and return the exit status; call cli_heap_close also after a failure --- */

/* The options are the defaults, for the caller to change. */
int cli_heap_open(const char *path, bool root_first, struct cli_heap *out);
void cli_heap_close(struct cli_heap *heap);

/* Reads the events, with a progress bar. */
int cli_heap_analyse(struct cli_heap *heap);

/* Leaves out what the files of --suppressions name and, WITH_KNOWN, the known leaks of libraries. */
int cli_heap_suppress(const struct cli_arguments *arguments, struct cli_heap *heap, bool with_known);

/* Warns about what is wrong with an analysed trace. Returns CLI_NO if not all of it can be read. */
int cli_heap_warn(const struct cli_heap *heap);

/* heap_symbolize.c: gives names to addresses that have none, in the file or in that of -o. HEAP becomes the result. */
int cli_heap_symbolize(const struct cli_arguments *arguments, struct cli_heap *heap);

/* A progress bar that begins with the first report. It starts all zero; end it also if nothing was reported. */
struct cli_progress {
    const char *phase;
    struct sxt_progress bar;
    uint64_t done;
    bool has_begun;
};
void cli_progress_show(void *progress, uint64_t done, uint64_t all);
void cli_progress_end(struct cli_progress *progress);

/* --- heap_frames.c --- */

/* A name to print: NAME, "?" if there is no ID, or PREFIX_ID if the metadata does not have it. */
sxt_string cli_heap_name(sxt_string name, uint32_t id, const char *prefix, char room[24]);

/* For people: the name of a function, cut to WIDTH columns; 0: it is not cut. */
void cli_heap_print_function(struct sxt_emit *emit, sxt_string name, const struct cli_heap_look *look, size_t width);

/*
 * For people: the frames of a stack, a line each. The first begins where the line is, the others at column INDENT.
 * STACKS is how many stacks look like this one.
 */
void cli_heap_print_stack_of(struct sxt_emit *emit, const sxt_trace *trace, uint32_t stack,
                             const struct cli_heap_look *look, unsigned indent, uint64_t stacks);

/* The same with at most MOST frames, library frames folded, names shortened; the others begin two columns further. */
void cli_heap_print_frames(struct sxt_emit *emit, const sxt_trace *trace, uint32_t stack, unsigned indent,
                           uint32_t most);

/* The last frame of a stack that the recorder cut, and whether STACK is one. */
#define CLI_HEAP_CUT "[truncated]"
bool cli_heap_is_cut(const sxt_trace *trace, uint32_t stack);

/* As JSON: all frames, or the first DEPTH (0: all). */
void cli_heap_emit_frames(struct sxt_emit *emit, const sxt_trace *trace, uint32_t stack);
void cli_heap_emit_cut_frames(struct sxt_emit *emit, const sxt_trace *trace, uint32_t stack, uint32_t depth);

/* As fields of a line of CSV: the function, file and line that allocated. */
void cli_heap_print_csv_site(struct sxt_emit *emit, const sxt_trace *trace, uint32_t stack);

/* --- heap_print.c --- */

/* How a table is printed. */
struct cli_heap_table {
    sxt_heap_key key;
    sxt_heap_cost cost;
    enum cli_form form;
    uint64_t limit;
    bool only_live; /* no other sums */
};

const char *cli_heap_cost_name(sxt_heap_cost cost);

/* "1.5 s", "250 ms" */
struct cli_number cli_duration(uint64_t microseconds);

/* JSON: what was live at the beginning of the window, and how it changed. */
void cli_heap_emit_growth(struct sxt_emit *emit, const sxt_heap_sums *sums);
int cli_heap_print_table(struct sxt_emit *emit, const struct cli_heap *heap, const struct cli_heap_table *table);
int cli_heap_print_stack(struct sxt_emit *emit, const struct cli_heap *heap, uint64_t stack);

/* --- heap_summary.c --- */

/* "peak    19.6 MB   19,600,000 bytes in 1 block", without the end of the line. */
void cli_heap_print_amount(struct sxt_emit *emit, const char *name, uint64_t bytes, uint64_t count);
/* A line that says so if the trace is a sample. */
void cli_heap_print_estimated(struct sxt_emit *emit, const struct cli_heap *heap);
/* null if the trace is a sample, which does not show them. */
void cli_heap_emit_temporary(struct sxt_emit *emit, bool is_sampled, const sxt_heap_sums *sums);

/* The keys that the totals of one trace, of one process and of several have in JSON. */
void cli_heap_emit_totals(struct sxt_emit *emit, const struct cli_heap_totals *totals);
struct cli_heap_totals cli_heap_totals_of(const struct cli_heap *heap);

/* The totals, and for people the stacks with the most at the peak, leaked and allocated: LIMIT of each. */
int cli_heap_print_summary(struct sxt_emit *emit, const struct cli_heap *heap, uint64_t limit);

/* For people: that a filter is in effect, and how much it keeps. Nothing without a filter. */
void cli_heap_print_filter(struct sxt_emit *emit, const struct cli_heap *heap);

/* The same on standard error, for output that programs read. */
void cli_heap_note_filter(const struct cli_heap *heap);

/* How much of the leaks is suppressed. Nothing if none is. */
void cli_heap_print_suppressed(struct sxt_emit *emit, const struct cli_heap *heap);

/* --- heap_time.c: everything over time --- */

void cli_heap_print_timeline(struct sxt_emit *emit, const struct cli_heap *heap, enum cli_form form);
void cli_heap_print_windows(struct sxt_emit *emit, const struct cli_heap *heap);
void cli_heap_print_lifetimes(struct sxt_emit *emit, const struct cli_heap *heap);
void cli_heap_print_markers(struct sxt_emit *emit, const struct cli_heap *heap);
void cli_heap_print_state(struct sxt_emit *emit, const struct cli_heap *heap); /* at the end of the window */

/* --- heap_address.c --- */

/* Every allocation and every free of a block that has ADDRESS. */
int cli_heap_print_address(struct sxt_emit *emit, const struct cli_heap *heap, uint64_t address);

/* --- heap_tree.c --- */

int cli_heap_print_tree(struct sxt_emit *emit, const struct cli_heap *heap, sxt_heap_cost cost, bool bottom_up,
                        bool all);

#endif
