/*
 * heap.h: what a trace tells about the memory of a program.
 *
 * One pass over the events collects everything, for each stack: what it allocated, what of it was live at the end and
 * at the peak, how long it lived. Memory grows with the blocks that are live at once and with the stacks, not with the
 * events. The rest works on what the pass has collected: rows and trees for people, profiles for other programs, and a
 * comparison of two traces.
 *
 *     live bytes
 *       |            _ peak: the first moment of the maximum
 *       |      /\   / \        _  leaked: live at the end, and for long enough
 *       |  /\_/  \_/   \__/\__/
 *       |_/__________________________ time
 *            [ from     to ]          a window: its own totals, and what grew between its ends
 *
 * A block ends with its FREE, or when its address is allocated again. What a sampled trace says is scaled up: see
 * docs/heap.md.
 */
#ifndef SXT_MLYZE_HEAP_H
#define SXT_MLYZE_HEAP_H

#include "mlyze/mlyze.h"

/* --- heap_moment.c: places in a trace --- */

enum sxt_heap_moment_kind { SXT_HEAP_OPEN, SXT_HEAP_TIME, SXT_HEAP_MARKER };

struct sxt_heap_moment {
    enum sxt_heap_moment_kind kind; /* OPEN: where the trace begins or ends */
    uint64_t time;                  /* microseconds since 1970 */
    sxt_string marker;              /* the first one of that name; for an end, the first behind the beginning */
};

/* "250ms", "1.5s" since START; "1700000000000105", as dump prints it; anything else is the name of a marker. */
struct sxt_heap_moment sxt_heap_moment_of(const char *text, uint64_t start);

/* "10us", "250ms", "1.5s", "2min", "1h"; a number alone is microseconds. False when TEXT is anything else. */
bool sxt_heap_parse_duration(const char *text, uint64_t *microseconds);

/* --- heap.c: the pass --- */

struct sxt_heap_options {
    struct sxt_heap_moment from, to;
    uint64_t min_age;   /* of a leak, in microseconds */
    uint64_t temporary; /* a block is temporary when its thread allocated at most so many others while it lived */
    uint64_t churn;     /* width of the windows whose rates are compared, in microseconds; 0 for none */
    size_t windows;     /* how many of them are kept: the busiest */
    size_t timeline;    /* the most points of a line over time; 0 for none */
    bool by_thread, by_size;
    /* Told now and then that the events before OFFSET of the file are done with; or NULL. */
    void (*passed)(void *context, uint64_t offset);
    void *context;
};

/* What blocks of one stack (thread, size) add up to. What every event changes comes first. */
struct sxt_heap_sums {
    uint64_t bytes, count; /* allocated */
    uint64_t live_bytes, live_count;
    uint64_t peak_bytes, peak_count; /* live when the whole heap was at its peak */
    uint64_t epoch;                  /* the peak that peak_bytes is about */
    uint64_t freed_bytes, freed_count;
    uint64_t lifetime_sum, lifetime_max; /* of those that were freed */
    uint64_t temporary_bytes, temporary_count;
    uint64_t churned_bytes, churned_count; /* freed within `churn` of their allocation */
    uint64_t leaked_bytes, leaked_count;
    uint64_t before_bytes, before_count; /* live when the window began */
};

struct sxt_heap_site {
    uint32_t stack;
    bool is_suppressed;
    struct sxt_heap_sums sums;
};

#define SXT_HEAP_MARKERS_MOST 10000 /* that are kept */

struct sxt_heap_marker {
    uint64_t time;
    uint32_t name;
    uint64_t live_bytes, live_count;
    uint64_t peak_bytes; /* from it up to the next */
};

/* A stretch of time. */
struct sxt_heap_stretch {
    uint64_t start, width; /* microseconds */
    uint64_t bytes, count; /* allocated in it */
    uint64_t freed_bytes, freed_count;
    uint64_t peak_bytes; /* the most that was live in it */
    uint64_t live_bytes; /* at its end */
};

struct sxt_heap_stretches {
    struct sxt_heap_stretch *items;
    size_t count, capacity;
};

#define SXT_HEAP_POWERS 65 /* index 0: the value 0; index N: from 2^(N-1) up to 2^N - 1 */

struct sxt_heap_lifetimes {
    uint64_t count[SXT_HEAP_POWERS], bytes[SXT_HEAP_POWERS]; /* of blocks that were freed, by microseconds */
};

struct sxt_heap_usage {
    const struct sxt_mlyze *trace;
    struct sxt_heap_options options;
    uint64_t start, end; /* of the window, or of the trace: its start time and the time of its last event */
    uint64_t events;
    uint64_t frees; /* FREE events */
    uint64_t unmatched_frees;
    uint64_t implicit_frees; /* blocks that ended because their address was allocated again */
    uint64_t zero_addresses;
    uint64_t dangling; /* allocations whose stack is not in the metadata */
    uint64_t gc_events, gc_objects, gc_bytes;
    uint64_t others;  /* events of types that nobody here knows */
    uint64_t samples; /* allocations that are in the file */
    uint64_t peak_time;
    uint64_t epoch; /* number of the peak so far */
    struct sxt_heap_sums total;
    struct sxt_heap_site *sites; /* in order of first use */
    size_t site_count, site_capacity;
    struct sxt_heap_sums *threads; /* by id, 65536 of them; NULL unless asked for */
    struct sxt_heap_sums *sizes;   /* SXT_HEAP_POWERS of them; NULL unless asked for */
    struct sxt_heap_marker *markers;
    size_t marker_count, marker_capacity;
    uint64_t all_markers;
    struct sxt_heap_lifetimes lifetimes;
    struct sxt_heap_stretches timeline; /* without gaps, from `start` on */
    struct sxt_heap_stretches windows;  /* the busiest, by bytes */
    bool is_sampled;                    /* counts and bytes are estimates */
    bool is_cut;                        /* sizes add up to more than 64 bits hold; sums stop there */
    bool is_damaged;                    /* the rest cannot be read: `damage` says why */
    sxt_error damage;
};

/* Reads the trace, up to where the options say. What can be read of a damaged one is in OUT too. */
int sxt_heap_run(const struct sxt_mlyze *trace, const struct sxt_heap_options *options, struct sxt_heap_usage *out,
                 sxt_error *error);
void sxt_heap_free(struct sxt_heap_usage *usage);

/* --- heap_states.c: what was live at a moment, at once --- */

#define SXT_HEAP_STATE_DISTANCE 1000000 /* events, which take less than 30 ms */

/* The bytes of a file beside the trace, from a pass over its events: a state every DISTANCE events, at blocks of INDEX,
 * which is the trace's. */
int sxt_heap_states_make(const struct sxt_mlyze *trace, const struct sxt_mlyze_index *index, uint64_t distance,
                         struct sxt_buffer *out, sxt_error *error);

/*
 * What was live at TIME, by stack, from the bytes of such a file; nothing else in OUT is filled in. SXT_ERROR_NOT_FOUND
 * when they are damaged or of another trace: then sxt_heap_run has to read everything.
 */
int sxt_heap_states_ask(const struct sxt_mlyze *trace, const uint8_t *data, size_t size, uint64_t time,
                        struct sxt_heap_usage *out, sxt_error *error);

/* --- heap_rows.c: tables --- */

enum sxt_heap_cost {
    SXT_HEAP_BYTES,
    SXT_HEAP_COUNT,
    SXT_HEAP_LIVE,
    SXT_HEAP_PEAK,
    SXT_HEAP_LEAKED,
    SXT_HEAP_TEMPORARY,
    SXT_HEAP_CHURN,
    SXT_HEAP_GROWTH /* of live bytes from the beginning of the window to its end; what shrank has none */
};

enum sxt_heap_key { SXT_HEAP_STACK, SXT_HEAP_FUNCTION, SXT_HEAP_FILE, SXT_HEAP_THREAD, SXT_HEAP_SIZE };

/* What SUMS has of a cost, in bytes (of COUNT and TEMPORARY and CHURN: in allocations), and by number of blocks. */
uint64_t sxt_heap_cost_of(const struct sxt_heap_sums *sums, enum sxt_heap_cost cost);
uint64_t sxt_heap_bytes_of(const struct sxt_heap_sums *sums, enum sxt_heap_cost cost);
uint64_t sxt_heap_count_of(const struct sxt_heap_sums *sums, enum sxt_heap_cost cost);

/* Adds what FROM has to TO, as if their blocks were of one stack. */
void sxt_heap_add_sums(struct sxt_heap_sums *to, const struct sxt_heap_sums *from);

struct sxt_heap_row {
    uint32_t number; /* STACK: site; THREAD: id; SIZE: power of two */
    uint32_t id;     /* STACK: id of the stack; the others: as number */
    sxt_string label;
    struct sxt_heap_sums sums; /* STACK: of the stack; FUNCTION and FILE: of the stacks whose first frame is there */
    uint64_t inclusive;        /* the cost of all stacks that have it anywhere */
};

struct sxt_heap_rows {
    struct sxt_heap_row *rows; /* the highest cost first; none without any */
    size_t count, all, capacity;
    struct sxt_arena arena; /* of labels */
};

int sxt_heap_rows(const struct sxt_heap_usage *usage, enum sxt_heap_key key, enum sxt_heap_cost cost, uint64_t limit,
                  struct sxt_heap_rows *out, sxt_error *error);
void sxt_heap_rows_free(struct sxt_heap_rows *rows);

/* --- heap_suppress.c: leaks that nobody wants to hear of --- */

/*
 * Marks the sites that a line of TEXT is about: "leak:PATTERN", where PATTERN is found in a function or file name of
 * any frame; "*" stands for anything, "^" and "$" for the ends. "#" begins a comment. Fails with the line that is none.
 */
int sxt_heap_suppress(struct sxt_heap_usage *usage, sxt_string text, sxt_error *error);

/* What is suppressed in all. */
void sxt_heap_suppressed(const struct sxt_heap_usage *usage, uint64_t *bytes, uint64_t *count);

/* --- heap_tree.c: callers and callees --- */

#define SXT_HEAP_NO_NODE UINT32_MAX

struct sxt_heap_node {
    uint32_t function, file; /* ids of the metadata; of a stack that is not there, function is its id and file NO_ID */
    uint32_t parent, child, next;
    bool is_stack; /* a stack that is not there */
    uint64_t cost; /* of all that is below it too */
    uint64_t count;
};

struct sxt_heap_tree {
    struct sxt_heap_node *nodes; /* the first is the root of all */
    size_t count, capacity;
};

/* From main to the allocation, or (BOTTOM_UP) from the allocation to its callers. Children have the highest cost first.
 */
int sxt_heap_tree(const struct sxt_heap_usage *usage, enum sxt_heap_cost cost, bool bottom_up,
                  struct sxt_heap_tree *out, sxt_error *error);
void sxt_heap_tree_free(struct sxt_heap_tree *tree);

/* --- heap_names.c --- */

/* The frames of a stack, leaf first; none when it is not there. */
const struct sxt_mlyze_stack *sxt_heap_frames(const struct sxt_heap_usage *usage, uint32_t stack);

/* What stands for a thread in the metadata; absent when nothing does. */
sxt_string sxt_heap_thread_name(const struct sxt_heap_usage *usage, uint32_t thread);

/* --- heap_diff.c: two traces, or one at two moments --- */

struct sxt_heap_change {
    uint32_t before, after; /* sites, or SXT_HEAP_NO_SITE; of several with the same frames, the first */
    struct sxt_heap_sums sums[2];
};
#define SXT_HEAP_NO_SITE UINT32_MAX

struct sxt_heap_changes {
    struct sxt_heap_change *items; /* the largest change of COST first; all stacks, also those that did not change */
    size_t count, capacity;
};

/* Stacks are the same when their functions and files are. */
int sxt_heap_diff(const struct sxt_heap_usage *before, const struct sxt_heap_usage *after, enum sxt_heap_cost cost,
                  struct sxt_heap_changes *out, sxt_error *error);
void sxt_heap_changes_free(struct sxt_heap_changes *changes);

/* --- export_*.c: for other programs --- */

/* "main;f;g 4096", one stack a line, for flame graphs. */
int sxt_heap_export_folded(const struct sxt_heap_usage *usage, enum sxt_heap_cost cost, struct sxt_buffer *out,
                           sxt_error *error);
/* profile.proto, not compressed: objects and bytes allocated, in use at the end, and in use at the peak. */
int sxt_heap_export_pprof(const struct sxt_heap_usage *usage, struct sxt_buffer *out, sxt_error *error);
/* The file format of speedscope: a profile for each of those. */
int sxt_heap_export_speedscope(const struct sxt_heap_usage *usage, struct sxt_buffer *out, sxt_error *error);

#endif
