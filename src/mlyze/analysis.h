/*
 * analysis.h: what the events of a trace say about the memory of a program. sextant/trace.h has the types and the
 * functions that the public API offers; this header adds what other rooms need.
 *
 * One pass over the events collects everything, for each stack: what it allocated, what of it was live at the end and
 * at the peak, how long it lived. Memory grows with the blocks that are live at once and with the stacks, not with the
 * events. Tables, trees, profiles and comparisons are made from what the pass has collected.
 *
 *     live bytes
 *       |            _ peak: the first moment of the maximum
 *       |      /\   / \        _  leaked: live at the end, and for long enough
 *       |  /\_/  \_/   \__/\__/
 *       |_/__________________________ time
 *            [ from     to ]          a window: its own totals, and what grew between its ends
 *
 * A block ends with its FREE, or when its address is allocated again. Figures of a sampled trace are scaled up: see
 * docs/heap.md.
 */
#ifndef SXT_MLYZE_ANALYSIS_H
#define SXT_MLYZE_ANALYSIS_H

#include <sextant/trace_view.h>

#include "mlyze/bins.h"
#include "mlyze/mlyze.h"
#include "mlyze/sites.h"

/* --- moment.c --- */

/* As sxt_trace_parse_moment, for a trace that begins at START. */
sxt_heap_moment sxt_heap_moment_of(const char *text, uint64_t start);

/* --- analysis.c: the pass --- */

struct sxt_heap_intervals {
    sxt_heap_interval *items;
    size_t count, capacity;
};

struct sxt_heap_usage {
    const struct sxt_mlyze *trace;
    sxt_heap_options options;
    uint64_t start, end; /* of the window, or of the trace: its start time and the time of its last event */
    uint64_t events;
    uint64_t frees; /* FREE events */
    uint64_t unmatched_frees;
    uint64_t implicit_frees; /* blocks that ended because their address was allocated again */
    uint64_t zero_addresses;
    uint64_t dangling; /* allocations whose stack is not in the metadata */
    uint64_t gc_events, gc_objects, gc_bytes;
    uint64_t others;  /* events of unknown types */
    uint64_t samples; /* allocations that are in the file */
    uint64_t peak_time;
    uint64_t epoch;      /* number of the peak so far */
    sxt_heap_sums total; /* of what the filter keeps */
    sxt_heap_sums whole; /* of all blocks; only if there is a filter */
    bool is_filtered;
    struct {
        uint64_t samples;        /* allocations that are in the file */
        uint64_t ends;           /* of blocks */
        uint64_t implicit_frees; /* of these, by another allocation at the same address */
    } kept;                      /* by the filter; 0 without one */
    struct sxt_heap_sites sites;
    sxt_heap_sums *threads; /* by id, 65536 of them; NULL unless asked for */
    sxt_heap_sums *sizes;   /* SXT_HEAP_POWERS of them; NULL unless asked for */
    sxt_heap_marker *markers;
    size_t marker_count, marker_capacity;
    uint64_t all_markers;
    sxt_heap_lifetimes lifetimes;
    struct sxt_heap_intervals timeline; /* without gaps, from `start` on */
    struct sxt_heap_intervals windows;  /* the busiest, by bytes */
    struct sxt_heap_bins *bins;         /* belongs to the caller; NULL unless asked for */
    bool is_sampled;                    /* counts and bytes are estimates */
    bool is_saturated;                  /* sizes add up to more than 64 bits hold; sums stop there */
    bool is_damaged;                    /* the rest cannot be read: `damage` says why */
    sxt_error damage;
    sxt_heap_damage *damages; /* blocks that were left out; the first SXT_HEAP_DAMAGES_MOST */
    size_t damage_count, damage_capacity;
    uint64_t damaged_blocks, lost_events;
    struct sxt_arena damage_texts;
};

/* PASSED is called now and then: the events before OFFSET of the file are not needed any more. May be NULL. */
struct sxt_heap_watcher {
    void (*passed)(void *data, uint64_t offset);
    void *data;
    struct sxt_heap_bins *bins;              /* new ones, to be filled; NULL: none. With a window, they begin with it */
    struct sxt_heap_checkpoints *save;       /* gets states; NULL: none are kept */
    const struct sxt_heap_checkpoints *from; /* of the same trace, with `from` of the options as a time; may be NULL */
};

/* --- analysis_checkpoints.c: states of a pass, from which a window is analysed without what is before it --- */

/*
 * To be freed. NULL: there is no memory, or no place for a temporary file. States are at least DISTANCE events apart; 0
 * is the default.
 */
struct sxt_heap_checkpoints *sxt_heap_checkpoints_new(uint64_t distance);
void sxt_heap_checkpoints_free(struct sxt_heap_checkpoints **checkpoints);

/* How many events and live blocks are read to analyse a window. */
uint64_t sxt_heap_checkpoints_effort(const struct sxt_heap_checkpoints *checkpoints, uint64_t from, uint64_t until);

/*
 * Reads the trace, up to where the options say. OUT also has what can be read of a damaged one. WATCHER may be NULL.
 * THREADS: see sxt_heap_sieve_open.
 */
int sxt_heap_run_watched(const struct sxt_mlyze *trace, const sxt_heap_options *options, const bool *threads,
                         const struct sxt_heap_watcher *watcher, sxt_heap_usage *out, sxt_error *error);
int sxt_heap_run(const struct sxt_mlyze *trace, const sxt_heap_options *options, sxt_heap_usage *out, sxt_error *error);
void sxt_heap_free(sxt_heap_usage *usage);

/* --- live_states.c: what was live at a moment, without a pass over all events --- */

#define SXT_HEAP_STATE_DISTANCE 400000 /* events, which take 20 ms with 360,000 stacks */

/*
 * Makes the bytes of FILE.live from a pass over the events: a state every DISTANCE events, at blocks of INDEX. States
 * of many stacks are further apart.
 */
int sxt_heap_states_make(const struct sxt_mlyze *trace, const struct sxt_mlyze_index *index, uint64_t distance,
                         struct sxt_buffer *out, sxt_error *error);

/*
 * What was live at TIME, by stack, from the bytes of such a file; nothing else in OUT is filled in. SXT_ERROR_NOT_FOUND
 * if they are damaged or belong to another trace: then sxt_heap_run has to read everything.
 */
int sxt_heap_states_ask(const struct sxt_mlyze *trace, const uint8_t *data, size_t size, uint64_t time,
                        sxt_heap_usage *out, sxt_error *error);

/* --- analysis_table.c --- */

struct sxt_heap_table {
    sxt_heap_row *rows; /* the highest cost first */
    size_t count, all, capacity;
    struct sxt_arena arena; /* of labels */
};

/* Adds FROM to TO, as if their blocks were of one stack. */
void sxt_heap_add_sums(sxt_heap_sums *to, const sxt_heap_sums *from);

/* Whether a cost is a number of blocks, and not of bytes. */
static inline bool sxt_heap_is_count(sxt_heap_cost cost)
{
    return cost == SXT_HEAP_COST_COUNT || cost == SXT_HEAP_COST_TEMPORARY || cost == SXT_HEAP_COST_CHURN;
}

/* Whether a row with these sums belongs to a table of COST. */
bool sxt_heap_has_any(const sxt_heap_sums *sums, sxt_heap_cost cost);

/* Whether A comes before B in a table of COST (below 0) or after it (above 0); 0: neither. */
int sxt_heap_compare_sums(const sxt_heap_sums *a, const sxt_heap_sums *b, sxt_heap_cost cost);

/* --- analysis_view.c: what is shown of a stack --- */

struct sxt_heap_chosen {
    const struct sxt_mlyze_frame *frame;
    uint32_t index;  /* in the stack */
    uint32_t folded; /* library frames inside of it that are not shown */
    bool is_library;
};

/*
 * The frames of a stack that VIEW shows, at most CAPACITY; returns how many. KIND says what a frame is (frame_kind.h).
 * LEFT may be NULL; otherwise *LEFT is how many more would be shown.
 */
size_t sxt_heap_choose_frames(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_stack *stack,
                              const sxt_heap_view *view,
                              unsigned (*kind)(void *data, const struct sxt_mlyze_frame *frame), void *data,
                              struct sxt_heap_chosen *out, size_t capacity, uint32_t *left);

/* The last frame of a stack that the recorder cut. */
#define SXT_TRUNCATED "[truncated]"

/* For sxt_heap_choose_frames: what a frame with these names is. */
unsigned sxt_heap_frame_kind(sxt_string function, sxt_string file);

/* A table by stack for a view: see sxt_heap_table_make_view. */
int sxt_heap_view_stacks(const sxt_heap_usage *usage, sxt_heap_cost cost, uint64_t limit, const sxt_heap_view *view,
                         sxt_heap_table **out, sxt_error *error);

/* --- analysis_leaks.c --- */

/* What is suppressed in total. */
void sxt_heap_suppressed(const sxt_heap_usage *usage, uint64_t *bytes, uint64_t *count);

/* --- analysis_filter.c: which allocations count --- */

struct sxt_heap_sieve;

/*
 * OUT is NULL if the options have no filter. SXT_ERROR_USAGE if a pattern is wrong; SXT_ERROR_NOT_FOUND for a thread.
 * THREADS are the threads that count, by number, if the filter names any; NULL: they are searched by their names.
 */
int sxt_heap_sieve_open(const struct sxt_mlyze *trace, const sxt_heap_options *options, const bool *threads,
                        struct sxt_heap_sieve **out, sxt_error *error);
void sxt_heap_sieve_close(struct sxt_heap_sieve **sieve);

/* Whether allocations of a stack count. Not for several threads at a time: the sieve keeps what it has found out. */
bool sxt_heap_sieve_keeps(struct sxt_heap_sieve *sieve, uint32_t stack);

/* By number of a thread, whether its allocations count; NULL if all do. */
const bool *sxt_heap_sieve_threads(const struct sxt_heap_sieve *sieve);

/* The key of a joined trace for the names of threads in their processes; "threads" has the process too. */
#define SXT_JOIN_OWN_THREADS "own_threads"

/* The threads that a filter names, by number; NULL if it names none. To be freed. SXT_ERROR_NOT_FOUND for a name. */
int sxt_heap_choose_threads(const struct sxt_mlyze *trace, const sxt_heap_filter *filter, bool **out, sxt_error *error);

/* --- function_modules.c: the loaded files that functions are in --- */

#define SXT_FUNCTION_NO_MODULE UINT32_MAX

/* Begins as {0}. Best effort: what does not fit in memory is unknown. */
struct sxt_function_modules {
    uint32_t *list; /* by id of a function: number of the loaded file */
    size_t count, capacity;
};

void sxt_function_modules_add(struct sxt_function_modules *modules, uint32_t function, uint32_t module);

/* The loaded file of a function; SXT_FUNCTION_NO_MODULE if it is unknown, or if there are several. */
uint32_t sxt_function_modules_find(const struct sxt_function_modules *modules, uint32_t function);

/* From and to the text in the metadata. Only functions below LIMIT are read. */
void sxt_function_modules_read(struct sxt_function_modules *modules, sxt_string text, size_t limit);
void sxt_function_modules_write(const struct sxt_function_modules *modules, struct sxt_buffer *out);
void sxt_function_modules_free(struct sxt_function_modules *modules);

/* By place of a function: the path of its loaded file, absent if that is unknown. To be freed; NULL: no memory. */
sxt_string *sxt_function_modules_paths(const struct sxt_mlyze_metadata *metadata);

/* --- analysis_merge.c: equal stacks are one site --- */

/* Drops the sites that are left out, and makes one site of equal stacks, with the lowest of their ids. */
int sxt_heap_merge_sites(sxt_heap_usage *usage, sxt_error *error);

/* How many frames of a stack count: all, or as many as the options say. */
uint32_t sxt_heap_depth(const sxt_heap_usage *usage, const struct sxt_mlyze_stack *stack);

/* The nodes of these frames, innermost first: see sxt_mlyze_find_path. False if memory is short. */
bool sxt_heap_find_path(const sxt_heap_usage *usage, const struct sxt_mlyze_stack *stack, struct sxt_mlyze_path *path);

/* --- analysis_address.c: the history of one address --- */

struct sxt_live;

/* The caller fills in the first four. */
struct sxt_heap_watch {
    const struct sxt_mlyze_metadata *metadata;
    uint64_t address;
    bool (*visit)(void *data, const sxt_heap_address_event *event);
    void *data;
    struct sxt_live *live; /* the blocks that the address is in, by their addresses */
    bool no_memory;
};

/* False if memory is short. */
bool sxt_heap_watch_open(struct sxt_heap_watch *watch);
void sxt_heap_watch_close(struct sxt_heap_watch *watch);

/* For sxt_trace_visit_events. False if memory is short, or VISIT has returned false. */
bool sxt_heap_watch_take(void *watch, const sxt_trace_event *events, size_t count);

/* --- analysis_tree.c --- */

struct sxt_heap_tree {
    sxt_heap_node *nodes; /* the first is the root */
    size_t count, capacity;
};

/* --- analysis_names.c --- */

/* The frames of a stack, innermost first; NULL if the metadata does not have it. */
const struct sxt_mlyze_stack *sxt_heap_frames(const sxt_heap_usage *usage, uint32_t stack);

/* --- analysis_processes.c --- */

/* Takes peaks, the timeline and what was live at moments from ENDED: see join.c. ENDED gets what USAGE had. */
void sxt_heap_take_peaks(sxt_heap_usage *usage, sxt_heap_usage *ended);

/* --- export_*.c: profiles, appended to a buffer --- */

int sxt_heap_export_folded(const sxt_heap_usage *usage, sxt_heap_cost cost, struct sxt_buffer *out, sxt_error *error);
int sxt_heap_export_pprof(const sxt_heap_usage *usage, struct sxt_buffer *out, sxt_error *error);
int sxt_heap_export_speedscope(const sxt_heap_usage *usage, struct sxt_buffer *out, sxt_error *error);

#endif
