/*
 * sextant/trace.h: heap traces (.mlyze): open one, read its events, and find out where the memory of a program went.
 *
 * A trace records every allocation and every free of a process. An sxt_trace opens one in any state: plain, compressed
 * in blocks, compressed as a whole (gzip, xz, zstd), or cut off because the recording did not finish. An analysis is
 * one pass over its events; tables, trees, comparisons and exports are made from the result.
 *
 *     sxt_trace *trace;
 *     sxt_heap_usage *usage;
 *     if (sxt_trace_open_path("app.mlyze", NULL, &trace, &error) == SXT_OK &&
 *         sxt_trace_analyse(trace, NULL, &usage, &error) == SXT_OK)
 *         printf("%llu bytes leaked\n", (unsigned long long)sxt_heap_total(usage)->leaked_bytes);
 *
 * Ownership: what a function returns through a `**out` belongs to the caller and is NULL on failure. An sxt_heap_usage
 * borrows its trace, and tables, trees and diffs borrow the usage: free the borrower first. Strings are views that live
 * as long as the object that they came from. Structs that are returned by pointer may get more fields at the end in
 * later versions.
 *
 * Threads: an open trace and a finished analysis do not change, so any number of threads may read them, except while
 * sxt_trace_symbolize or sxt_heap_suppress runs. Callbacks are called on the thread that called the library.
 *
 * Times are in microseconds since 1970 unless stated otherwise. docs/heap.md defines every figure.
 */
#ifndef SEXTANT_TRACE_H
#define SEXTANT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/profile.h>
#include <sextant/string.h>
#include <sextant/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- opening a trace --- */

typedef struct sxt_trace sxt_trace;

typedef struct sxt_trace_options {
    size_t struct_size;     /* set by sxt_trace_options_init */
    uint64_t inflate_limit; /* the most bytes that a compressed file may expand to; default 16 GiB */
    bool no_index;          /* ignore FILE.idx and FILE.live */
    bool no_recovery;       /* refuse a recording that was cut off, with SXT_REASON_CUT_OFF */
    bool root_first;        /* stacks are stored from the root to the leaf, whatever "stack_order" says */
    uintptr_t reserved[4];
} sxt_trace_options;

SXT_API void sxt_trace_options_init(sxt_trace_options *options);

/*
 * Opens the trace at PATH; "-" is standard input. OPTIONS may be NULL. A recording that was cut off is read as far as
 * it is complete, even while the program is still running: it is turned into a trace in a temporary file without a name
 * (in $TMPDIR). open_memory borrows the bytes until sxt_trace_close.
 */
SXT_API int sxt_trace_open_path(const char *path, const sxt_trace_options *options, sxt_trace **out, sxt_error *error);
SXT_API int sxt_trace_open_memory(const void *data, size_t size, const sxt_trace_options *options, sxt_trace **out,
                                  sxt_error *error);

/* Frees *TRACE and sets it to NULL. *TRACE may be NULL. */
SXT_API void sxt_trace_close(sxt_trace **trace);

/* The newest version of the format that this library knows. Of a newer trace, it reads what it knows. */
#define SXT_TRACE_VERSION 1

/* What the header and the metadata of a trace say. */
typedef struct sxt_trace_info {
    size_t struct_size; /* set by the caller: sizeof(sxt_trace_info) */
    uint32_t version;
    uint32_t flags;    /* as stored; docs/formats/mlyze.md lists them */
    const char *codec; /* "plain", "lz4" or "columns" */
    uint64_t start_us;
    uint64_t metadata_size; /* in the file */
    uint64_t stacks;
    uint64_t sample_period; /* bytes per sample; 0: every allocation was recorded */
    uint64_t dropped;       /* events that were lost while recording */
    uint64_t pid;           /* of the recorded process; 0: unknown */
    uint64_t size;          /* of the file in bytes, after decompression */
    bool is_sampled;        /* sizes and counts are estimates */
    bool is_cut_off;        /* the recording was cut off */
    bool is_compressed;     /* as a whole, with gzip, xz or zstd */
    char file_id[33];       /* FileID of the file, in hexadecimal; see sextant/archive.h */
    size_t word_count;      /* of the command line; 0: unknown. See sxt_trace_command_word */
    bool has_exit_status, has_signal;
    uint32_t exit_status, signal; /* how the process ended */
    uint64_t duration_us;         /* of the process; 0: unknown */
    uint64_t anonymous_bytes;     /* most private anonymous memory that was seen; 0: unknown */
    uint64_t parent;              /* process that forked this one; 0: unknown, or the process executed a program */
    sxt_string stopped;           /* why recording stopped before the process ended; absent if it did not */
} sxt_trace_info;

SXT_API void sxt_trace_get_info(const sxt_trace *trace, sxt_trace_info *out);

/* A word of the command line of the recorded program; absent (data is NULL) from word_count on. */
SXT_API sxt_string sxt_trace_command_word(const sxt_trace *trace, size_t index);

/* --- stacks and names --- */

#define SXT_TRACE_NO_ID UINT32_MAX

/* A frame of a stack. A name is absent (data is NULL) if the frame has none, or if its id is not in the metadata. */
typedef struct sxt_trace_frame {
    sxt_string function;
    sxt_string file;
    uint32_t function_id; /* SXT_TRACE_NO_ID: none */
    uint32_t file_id;
    uint32_t line; /* 0: unknown */
    uint32_t reserved[3];
} sxt_trace_frame;

/*
 * All ids of stacks are below this number (but 2^32 - 1, if that is one); there may be large gaps. next_stack sets *ID
 * to the first id that is not below it; false if there is none.
 */
SXT_API uint32_t sxt_trace_stack_limit(const sxt_trace *trace);
SXT_API bool sxt_trace_next_stack(const sxt_trace *trace, uint32_t *id);

/* The number of frames of a stack. False if the metadata has no stack with this id. */
SXT_API bool sxt_trace_stack(const sxt_trace *trace, uint32_t id, uint32_t *frame_count);

/* Frame INDEX of a stack; 0 is the innermost. False if there is none. */
SXT_API bool sxt_trace_get_frame(const sxt_trace *trace, uint32_t stack, uint32_t index, sxt_trace_frame *out);

/*
 * The lowest id of the stacks that are shown like this one: the same functions, files and lines, as text. Recorders
 * give such stacks several ids, for example when a library was loaded again at another address. Any id may be given.
 */
SXT_API uint32_t sxt_trace_same_stack(const sxt_trace *trace, uint32_t stack);

/* Names by id; absent if the metadata has none. The name of a marker is stored as a function. */
SXT_API sxt_string sxt_trace_function_name(const sxt_trace *trace, uint32_t id);
SXT_API sxt_string sxt_trace_file_name(const sxt_trace *trace, uint32_t id);
SXT_API sxt_string sxt_trace_thread_name(const sxt_trace *trace, uint32_t thread);

/* The metadata as stored: JSON. */
SXT_API sxt_string sxt_trace_metadata(const sxt_trace *trace);

/* --- events --- */

typedef enum sxt_trace_kind {
    SXT_TRACE_ALLOC = 0,
    SXT_TRACE_FREE = 1,
    SXT_TRACE_GC = 2,
    SXT_TRACE_MARKER = 3,
    SXT_TRACE_OTHER = 4 /* of another type: object types, references, snapshots (4 to 6), and what is not known */
} sxt_trace_kind;

typedef struct sxt_trace_event {
    uint8_t kind; /* an sxt_trace_kind */
    uint8_t type; /* OTHER: as stored, 4 or more */
    uint16_t thread;
    uint32_t stack; /* ALLOC: id of the stack; MARKER: id of the function that names it */
    uint64_t time;
    uint64_t address;       /* OTHER, in sxt_trace_visit_events: offset of the event, or of its block, in the file */
    uint64_t size;          /* ALLOC and GC: bytes; OTHER: bytes of the payload */
    uint64_t objects;       /* GC */
    const uint8_t *payload; /* OTHER; valid during the call only */
} sxt_trace_event;

/* Irregularities in events that do not prevent reading them. */
typedef struct sxt_trace_oddities {
    uint64_t dangling_stacks; /* allocations whose stack is not in the metadata */
    uint64_t dangling_names;  /* markers whose name is not in the metadata */
    uint64_t zero_addresses;
    uint64_t unknown_types; /* events of types above 6 */
    uint64_t reserved[4];
} sxt_trace_oddities;

/*
 * Calls VISIT for all events, in order and many at a time, until it returns false. If a part of the trace cannot be
 * read, what can be read before and after it is visited, then the call fails; so it does if all were visited and a
 * checksum is wrong. Adds to *ODDITIES; ODDITIES may be NULL.
 */
SXT_API int sxt_trace_visit_events(const sxt_trace *trace,
                                   bool (*visit)(void *data, const sxt_trace_event *events, size_t count), void *data,
                                   sxt_trace_oddities *oddities, sxt_error *error);

/* --- analyses --- */

/* Sums over the blocks of a stack, a thread, a size or the whole trace. */
typedef struct sxt_heap_sums {
    uint64_t bytes, count; /* allocated */
    uint64_t live_bytes, live_count;
    uint64_t peak_bytes, peak_count; /* live when the whole heap was at its peak */
    uint64_t epoch;                  /* for the library's use */
    uint64_t freed_bytes, freed_count;
    uint64_t lifetime_sum, lifetime_max; /* of freed blocks, in microseconds */
    uint64_t temporary_bytes, temporary_count;
    uint64_t churned_bytes, churned_count; /* freed within `churn` of their allocation */
    uint64_t leaked_bytes, leaked_count;
    uint64_t before_bytes, before_count; /* live when the window began */
} sxt_heap_sums;

/* A place in a trace. */
typedef enum sxt_heap_moment_kind {
    SXT_HEAP_MOMENT_NONE = 0, /* where the trace begins or ends */
    SXT_HEAP_MOMENT_TIME = 1,
    SXT_HEAP_MOMENT_MARKER = 2
} sxt_heap_moment_kind;

typedef struct sxt_heap_moment {
    sxt_heap_moment_kind kind;
    uint64_t time;
    sxt_string marker; /* the first marker of that name; as an end, the first one after the beginning */
} sxt_heap_moment;

/*
 * Parses "250ms" or "1.5s" (since the start of the trace), "1700000000000105" (absolute), or the name of a marker,
 * which is then a view of TEXT.
 */
SXT_API void sxt_trace_parse_moment(const sxt_trace *trace, const char *text, sxt_heap_moment *out);

/* Parses "10us", "250ms", "1.5s", "2min", "1h", or a number of microseconds. False if TEXT is anything else. */
SXT_API bool sxt_heap_parse_duration(const char *text, uint64_t *microseconds);

/*
 * Which allocations count. Tables, trees, timelines and profiles have only these, and sxt_heap_total their sums; the
 * peak stays the moment when the whole heap was largest. A pattern is a POSIX extended regular expression, which is
 * searched in the function (as stored, and as sxt_trace_shorten_name gives it) and in the file of a frame.
 */
typedef struct sxt_heap_filter {
    size_t struct_size;       /* set by sxt_heap_filter_init */
    const char *const *focus; /* only stacks in which a frame matches one of these */
    size_t focus_count;
    const char *const *ignore; /* no stacks in which a frame matches one of these */
    size_t ignore_count;
    const char *const *modules; /* only allocations by code of these loaded files: names, or whole paths */
    size_t module_count;
    const char *const *threads; /* only allocations by these threads: numbers, or names */
    size_t thread_count;
} sxt_heap_filter;

SXT_API void sxt_heap_filter_init(sxt_heap_filter *filter);

typedef struct sxt_heap_options {
    size_t struct_size;       /* set by sxt_heap_options_init */
    sxt_heap_moment from, to; /* only this window is analysed */
    uint64_t min_age;         /* leaks: only blocks that were live for at least this many microseconds */
    uint64_t temporary;       /* a block is temporary if its thread allocated at most this many others while it lived */
    uint64_t churn;           /* width in microseconds of the windows whose rates are compared; 0: none */
    uint64_t windows;         /* how many of the busiest of them are kept */
    uint64_t timeline;        /* the most points of the timeline; 0: none */
    bool by_thread, by_size;  /* collect sums for tables by thread or by size */
    bool only_live;           /* only live_bytes and live_count at `to`; fast if there is a FILE.live */
    /* Called from time to time: about DONE of ALL bytes have been read. May be NULL. */
    void (*progress)(void *data, uint64_t done, uint64_t all);
    void *progress_data;
    uintptr_t reserved[4];
    const sxt_heap_filter *filter; /* NULL: everything counts */
    uint32_t depth;                /* stacks are cut to this many frames, the innermost ones; 0: they are not */
} sxt_heap_options;

SXT_API void sxt_heap_options_init(sxt_heap_options *options);

/* The result of an analysis. */
typedef struct sxt_heap_usage sxt_heap_usage;

/*
 * Reads all events of the window. Memory grows with the blocks that are live at once and with the stacks, not with the
 * events. A damaged block is left out and counted; a plain trace is analysed up to the damage: sxt_heap_summary says
 * so. SXT_ERROR_NOT_FOUND if the
 * trace has no marker of a given name. OPTIONS may be NULL.
 */
SXT_API int sxt_trace_analyse(const sxt_trace *trace, const sxt_heap_options *options, sxt_heap_usage **out,
                              sxt_error *error);
SXT_API void sxt_heap_usage_free(sxt_heap_usage **usage);

typedef struct sxt_heap_summary {
    size_t struct_size;  /* set by the caller: sizeof(sxt_heap_summary) */
    uint64_t start, end; /* of the window; of the trace: its start and the time of its last event */
    uint64_t peak_time;
    uint64_t events;
    uint64_t frees;
    uint64_t unmatched_frees; /* of blocks whose allocation is not in the trace */
    uint64_t implicit_frees;  /* blocks that ended because their address was allocated again */
    uint64_t gc_events, gc_objects, gc_bytes;
    uint64_t samples; /* allocations that are in the file */
    uint64_t stacks;  /* that allocated something */
    uint64_t markers;
    uint64_t dangling_stacks; /* allocations whose stack is not in the metadata */
    uint64_t dangling_names;  /* markers without a name, among the first SXT_HEAP_MARKERS_MOST */
    uint64_t zero_addresses;
    uint64_t unknown_events;
    uint64_t suppressed_bytes, suppressed_count; /* leaks that sxt_heap_suppress has hidden */
    bool is_sampled;                             /* counts and bytes are estimates */
    bool is_saturated;                           /* sizes add up to more than 64 bits can hold; sums stop there */
    bool is_damaged;                             /* the events after these cannot be read, */
    const char *damage;                          /* because of this; lives as long as the usage */
    uint64_t damaged_blocks;                     /* that were left out; see sxt_heap_get_damage */
    uint64_t lost_events;                        /* in them */
    uint64_t duration;     /* of the window; of the trace: to the end of the process if that is known, or to `end` */
    uint64_t kept_samples; /* allocations that are in the file and that the filter keeps */
    uint64_t kept_frees;   /* FREEs of blocks that the filter keeps; without a filter `frees` */
    uint64_t kept_implicit_frees;
} sxt_heap_summary;

SXT_API void sxt_heap_get_summary(const sxt_heap_usage *usage, sxt_heap_summary *out);

/* Blocks of a trace that cannot be read, one after the other. The analysis goes on after them. */
typedef struct sxt_heap_damage {
    uint64_t offset;  /* in the file */
    uint64_t block;   /* number of the first of them; the first of the file is 1 */
    uint64_t blocks;  /* how many */
    uint64_t events;  /* that are lost */
    const char *text; /* what is wrong with the first */
} sxt_heap_damage;

/* At most the first SXT_HEAP_DAMAGES_MOST. NULL if there is no such index. */
#define SXT_HEAP_DAMAGES_MOST 100
SXT_API const sxt_heap_damage *sxt_heap_get_damage(const sxt_heap_usage *usage, size_t index);

/* Sums over the whole window. */
SXT_API const sxt_heap_sums *sxt_heap_total(const sxt_heap_usage *usage);

/* The same without the filter; NULL if there was none. */
SXT_API const sxt_heap_sums *sxt_heap_unfiltered(const sxt_heap_usage *usage);

/* A stack that allocated something. Stacks with the same frames are one site. */
typedef struct sxt_heap_site {
    uint32_t stack; /* the lowest id of those with these frames */
    bool is_suppressed;
    bool is_left_out; /* for the library's use */
    sxt_heap_sums sums;
} sxt_heap_site;

/* The site of a stack, by any of its ids; NULL if it allocated nothing. O(sites). */
SXT_API const sxt_heap_site *sxt_heap_find_site(const sxt_heap_usage *usage, uint32_t stack);

/* Markers in order, at most the first SXT_HEAP_MARKERS_MOST. NULL if there is no such index. */
#define SXT_HEAP_MARKERS_MOST 10000

typedef struct sxt_heap_marker {
    uint64_t time;
    uint32_t name; /* id of the function that names it */
    uint64_t live_bytes, live_count;
    uint64_t peak_bytes; /* up to the next marker */
} sxt_heap_marker;

SXT_API const sxt_heap_marker *sxt_heap_get_marker(const sxt_heap_usage *usage, size_t index);

/* A span of time: a point of the timeline, or a window of churn. */
typedef struct sxt_heap_interval {
    uint64_t start, width; /* width in microseconds */
    uint64_t bytes, count; /* allocated in it */
    uint64_t freed_bytes, freed_count;
    uint64_t peak_bytes; /* the most bytes that were live in it */
    uint64_t live_bytes; /* at its end */
} sxt_heap_interval;

/* Points of the timeline, without gaps, and windows of churn, the busiest first. NULL if there is no such index. */
SXT_API const sxt_heap_interval *sxt_heap_get_point(const sxt_heap_usage *usage, size_t index);
SXT_API const sxt_heap_interval *sxt_heap_get_window(const sxt_heap_usage *usage, size_t index);

/* Numbers by power of two. Index 0 is the value 0; index N holds the values from 2^(N-1) to 2^N - 1. */
#define SXT_HEAP_POWERS 65

/* Freed blocks by lifetime in microseconds. */
typedef struct sxt_heap_lifetimes {
    uint64_t count[SXT_HEAP_POWERS], bytes[SXT_HEAP_POWERS];
} sxt_heap_lifetimes;

SXT_API const sxt_heap_lifetimes *sxt_heap_get_lifetimes(const sxt_heap_usage *usage);

/*
 * Hides known leaks. Each line of TEXT is "leak:PATTERN", where PATTERN is found in a function or file name of any
 * frame; "*" matches anything, "^" and "$" the ends. "#" begins a comment. Fails with the number of a bad line.
 */
SXT_API int sxt_heap_suppress(sxt_heap_usage *usage, sxt_string text, sxt_error *error);

/*
 * Hides leaks that every program has: memory that libc, libstdc++ and the loader keep until the end (buffers of stdio,
 * locales, time zones, the pool for exceptions, loaded files).
 */
SXT_API int sxt_heap_suppress_known(sxt_heap_usage *usage, sxt_error *error);

/* --- tables, trees and comparisons --- */

typedef enum sxt_heap_cost {
    SXT_HEAP_COST_BYTES = 0,
    SXT_HEAP_COST_COUNT = 1,
    SXT_HEAP_COST_LIVE = 2,
    SXT_HEAP_COST_PEAK = 3,
    SXT_HEAP_COST_LEAKED = 4,
    SXT_HEAP_COST_TEMPORARY = 5,
    SXT_HEAP_COST_CHURN = 6,
    SXT_HEAP_COST_GROWTH = 7 /* of live bytes from the beginning of the window to its end; 0 if they shrank */
} sxt_heap_cost;

/* The value of a cost in SUMS: in its own unit (COUNT, TEMPORARY and CHURN: allocations), in bytes, and in blocks. */
SXT_API uint64_t sxt_heap_cost_of(const sxt_heap_sums *sums, sxt_heap_cost cost);
SXT_API uint64_t sxt_heap_bytes_of(const sxt_heap_sums *sums, sxt_heap_cost cost);
SXT_API uint64_t sxt_heap_count_of(const sxt_heap_sums *sums, sxt_heap_cost cost);

typedef enum sxt_heap_key {
    SXT_HEAP_BY_STACK = 0,
    SXT_HEAP_BY_FUNCTION = 1,
    SXT_HEAP_BY_FILE = 2,
    SXT_HEAP_BY_THREAD = 3, /* needs by_thread in the options */
    SXT_HEAP_BY_SIZE = 4    /* needs by_size */
} sxt_heap_key;

typedef struct sxt_heap_row {
    uint32_t id;        /* STACK: id of the stack; THREAD: number; SIZE: power of two */
    sxt_string label;   /* FUNCTION and FILE: the name */
    uint64_t inclusive; /* FUNCTION and FILE: the cost of all stacks that have it in any frame */
    sxt_heap_sums sums; /* FUNCTION and FILE: of the stacks that have it in the innermost frame */
    uint64_t stacks;    /* STACK: how many stacks it is the sum of; 1 unless a view shows several alike */
} sxt_heap_row;

typedef struct sxt_heap_table sxt_heap_table;

/* The rows with the highest cost, at most LIMIT of them. Suppressed leaks are left out. */
SXT_API int sxt_heap_table_make(const sxt_heap_usage *usage, sxt_heap_key key, sxt_heap_cost cost, uint64_t limit,
                                sxt_heap_table **out, sxt_error *error);
SXT_API void sxt_heap_table_free(sxt_heap_table **table);
SXT_API size_t sxt_heap_table_count(const sxt_heap_table *table);
SXT_API size_t sxt_heap_table_unlimited_count(const sxt_heap_table *table); /* how many rows there are without LIMIT */
SXT_API const sxt_heap_row *sxt_heap_table_row(const sxt_heap_table *table, size_t index);

#define SXT_HEAP_NO_NODE UINT32_MAX

/* A function with its callers above it and its callees below, or the other way round. */
typedef struct sxt_heap_node {
    uint32_t function, file;      /* ids */
    uint32_t parent, child, next; /* numbers of nodes, or SXT_HEAP_NO_NODE */
    bool is_stack;                /* a stack that is not in the metadata: `function` is its id */
    uint64_t cost;                /* with all nodes below it */
    uint64_t count;
} sxt_heap_node;

typedef struct sxt_heap_tree sxt_heap_tree;

/* From main to the allocations, or with BOTTOM_UP from the allocations to their callers; highest cost first. */
SXT_API int sxt_heap_tree_make(const sxt_heap_usage *usage, sxt_heap_cost cost, bool bottom_up, sxt_heap_tree **out,
                               sxt_error *error);
SXT_API void sxt_heap_tree_free(sxt_heap_tree **tree);

/* Node 0 is the root and has no function. NULL if there is no such number. */
SXT_API const sxt_heap_node *sxt_heap_tree_node(const sxt_heap_tree *tree, uint32_t number);

/*
 * A stack on both sides of a comparison. Stacks are the same if their functions and files are; lines do not count, and
 * builds may be in different folders (docs/heap.md). If a side has several runs, the sums are their medians: of bytes,
 * peak, live and leaked; other sums are 0.
 */
typedef struct sxt_heap_change {
    uint32_t before, after; /* ids of the stacks, or SXT_TRACE_NO_ID; of several equal stacks, the lowest id */
    const sxt_heap_sums *sums_before, *sums_after;
} sxt_heap_change;

typedef struct sxt_heap_diff sxt_heap_diff;

/* All stacks of both, including those that did not change; the largest change of COST first. */
SXT_API int sxt_heap_diff_make(const sxt_heap_usage *before, const sxt_heap_usage *after, sxt_heap_cost cost,
                               sxt_heap_diff **out, sxt_error *error);
SXT_API void sxt_heap_diff_free(sxt_heap_diff **diff);
SXT_API size_t sxt_heap_diff_count(const sxt_heap_diff *diff);
SXT_API bool sxt_heap_diff_get(const sxt_heap_diff *diff, size_t index, sxt_heap_change *out);

typedef struct sxt_heap_diff_options {
    size_t struct_size;            /* set by sxt_heap_diff_options_init */
    sxt_heap_cost cost;            /* the largest change of it comes first; default BYTES */
    const sxt_path_map *path_maps; /* applied to the files of all runs; the first that matches is used */
    size_t path_map_count;
    uintptr_t reserved[4];
} sxt_heap_diff_options;

SXT_API void sxt_heap_diff_options_init(sxt_heap_diff_options *options);

/* The most runs of a side. */
#define SXT_HEAP_RUNS_MOST 100

/* The same with several runs of each side. Changes that are not noise come first. OPTIONS may be NULL. */
SXT_API int sxt_heap_diff_runs(const sxt_heap_usage *const *before, size_t before_count,
                               const sxt_heap_usage *const *after, size_t after_count,
                               const sxt_heap_diff_options *options, sxt_heap_diff **out, sxt_error *error);

/* Which run has the stack of an sxt_heap_change, and whether the change is only noise. */
typedef struct sxt_heap_origin {
    size_t struct_size;             /* set by the caller: sizeof(sxt_heap_origin) */
    uint32_t run_before, run_after; /* index of the first run of the side that has it; 0 if none has */
    bool is_noise;                  /* everything that changed is noise: see sxt_heap_figure */
} sxt_heap_origin;

SXT_API bool sxt_heap_diff_get_origin(const sxt_heap_diff *diff, size_t index, sxt_heap_origin *out);

typedef enum sxt_heap_metric {
    SXT_HEAP_METRIC_PEAK = 0,        /* bytes at the peak of the whole heap */
    SXT_HEAP_METRIC_LEAKED = 1,      /* bytes that are live at the end, without suppressed leaks */
    SXT_HEAP_METRIC_ALLOCATED = 2,   /* bytes */
    SXT_HEAP_METRIC_ALLOCATIONS = 3, /* blocks */
    SXT_HEAP_METRIC_LEAKED_BLOCKS = 4
} sxt_heap_metric;

/*
 * A metric on both sides: medians and ranges of the runs. A change is noise if the ranges overlap, or if one of them is
 * at least as wide as the distance of the medians. With one run on each side, no change is noise.
 */
typedef struct sxt_heap_figure {
    size_t struct_size; /* set by the caller: sizeof(sxt_heap_figure) */
    uint64_t before, before_least, before_most;
    uint64_t after, after_least, after_most;
    bool is_noise;
} sxt_heap_figure;

/* Of a stack (false if there is no such INDEX), and of all of them. */
SXT_API bool sxt_heap_diff_figure(const sxt_heap_diff *diff, size_t index, sxt_heap_metric metric,
                                  sxt_heap_figure *out);
SXT_API void sxt_heap_diff_total(const sxt_heap_diff *diff, sxt_heap_metric metric, sxt_heap_figure *out);

/*
 * Of the stacks that have FUNCTION in any frame: its whole name, or its name without the parameters.
 * SXT_ERROR_NOT_FOUND if no stack has it; the figure is 0 then.
 */
SXT_API int sxt_heap_diff_function(const sxt_heap_diff *diff, sxt_string function, sxt_heap_metric metric,
                                   sxt_heap_figure *out, sxt_error *error);

/* How much a metric may grow. */
typedef struct sxt_heap_budget {
    size_t struct_size; /* set by the caller: sizeof(sxt_heap_budget) */
    sxt_heap_metric metric;
    sxt_string function; /* absent: all stacks */
    double limit;        /* bytes or blocks, or percent of what it was */
    bool is_percent;
} sxt_heap_budget;

/*
 * Parses "peak=+10%", "leaked:parse=+0", "allocated=+1.5M", "allocations=+2k"; k, M and G are 1000, 1000^2 and 1000^3.
 * The function is a view of TEXT and may contain "=": the last one ends it. SXT_ERROR_USAGE for anything else.
 */
SXT_API int sxt_heap_budget_parse(const char *text, sxt_heap_budget *out, sxt_error *error);

typedef struct sxt_heap_budget_result {
    size_t struct_size; /* set by the caller: sizeof(sxt_heap_budget_result) */
    uint64_t before, after;
    double allowed;   /* growth, in bytes or blocks; some percent of 0 are 0 */
    bool is_known;    /* false: no stack has the function */
    bool is_noise;    /* the change is noise, so the budget holds */
    bool is_exceeded; /* it grew by more than is allowed, and not by noise */
} sxt_heap_budget_result;

SXT_API int sxt_heap_budget_check(const sxt_heap_diff *diff, const sxt_heap_budget *budget, sxt_heap_budget_result *out,
                                  sxt_error *error);

/* --- several processes --- */

/*
 * One trace of the traces of several processes, on a common clock, in temporary files without a name. Equal stacks are
 * one. Its peak is that of all processes together: a block is live while a process has it, so a block that forked
 * children share counts once, and those of a process end with its last event. What it did not free still counts as
 * leaked. TRACES are needed only during the call. Fails if they are sampled with different periods.
 */
SXT_API int sxt_trace_join(const sxt_trace *const *traces, size_t count, sxt_trace **out, sxt_error *error);

/* A process of a joined trace. */
typedef struct sxt_trace_process {
    size_t struct_size;      /* set by the caller: sizeof(sxt_trace_process) */
    uint64_t pid;            /* 0: unknown */
    uint64_t parent_pid;     /* 0: unknown */
    uint32_t parent;         /* index of the parent, or SXT_TRACE_NO_ID */
    sxt_string command_line; /* absent: unknown */
    uint64_t start_us;
    uint64_t inherited_bytes, inherited_count; /* of the parent, live there when it forked the process */
} sxt_trace_process;

/* In the order of the traces that were joined. False if there is no such index. */
SXT_API bool sxt_trace_get_process(const sxt_trace *trace, size_t index, sxt_trace_process *out);

/*
 * Analyses TRACE, which is the one at INDEX of those that JOINED was made of. The threads of the filter are those of
 * JOINED: a number is that of one thread there; a name means the threads of that name in all processes.
 */
SXT_API int sxt_trace_analyse_process(const sxt_trace *joined, size_t index, const sxt_trace *trace,
                                      const sxt_heap_options *options, sxt_heap_usage **out, sxt_error *error);

/* --- profiles for other programs --- */

typedef enum sxt_heap_format {
    SXT_HEAP_FOLDED = 0,    /* "main;f;g COST", one stack per line, for flame graphs */
    SXT_HEAP_PPROF = 1,     /* profile.proto; COST is not used */
    SXT_HEAP_SPEEDSCOPE = 2 /* JSON; COST is not used */
} sxt_heap_format;

/*
 * Writes a profile: to PATH, whole or not at all ("-" is standard output), or to memory, which the caller frees with
 * sxt_free. A PATH that ends in ".gz" gets a gzip file.
 */
SXT_API int sxt_heap_write_path(const sxt_heap_usage *usage, sxt_heap_format format, sxt_heap_cost cost,
                                const char *path, sxt_error *error);
SXT_API int sxt_heap_write_memory(const sxt_heap_usage *usage, sxt_heap_format format, sxt_heap_cost cost, void **out,
                                  size_t *size, sxt_error *error);

/* --- writing traces --- */

typedef struct sxt_trace_write_options {
    size_t struct_size;     /* set by sxt_trace_write_options_init */
    bool compress;          /* in blocks, with FILE.idx and FILE.live beside the output; default: plain */
    bool recover;           /* finish a recording that was cut off; leave out unreadable parts of any other trace */
    bool no_symbols;        /* leave the addresses of a recording unresolved */
    unsigned threads;       /* the most threads; 0: see sxt_extract_options */
    uint64_t inflate_limit; /* as in sxt_trace_options */
    void (*warning)(void *data, const char *path, const char *text); /* a file that cannot be used; may be NULL */
    void (*progress)(void *data, uint64_t done, uint64_t all);       /* from time to time, in bytes; may be NULL */
    void *data;
    uintptr_t reserved[4];
    bool no_index; /* no FILE.idx beside a recording that is compressed */
    /*
     * sxt_trace_convert_path: plain or compressed like the input, without FILE.idx; a recording that was cut off
     * becomes compressed. `compress` and `no_index` are ignored. Standard output is plain.
     */
    bool keep_form;
} sxt_trace_write_options;

SXT_API void sxt_trace_write_options_init(sxt_trace_write_options *options);

typedef struct sxt_trace_converted {
    size_t struct_size; /* set by the caller: sizeof(sxt_trace_converted) */
    uint64_t lost;      /* bytes of the input that cannot be read and were left out */
    bool output_failed; /* on failure: the output could not be written */
    sxt_trace_oddities oddities;
    uint32_t version; /* of the input; if it is above SXT_TRACE_VERSION, only what is known of it was read */
} sxt_trace_converted;

/*
 * Writes a copy of the trace at INPUT, plain or compressed, to OUTPUT. FILE.idx and FILE.live of a trace that was there
 * before are replaced or removed. RESULT may be NULL.
 */
SXT_API int sxt_trace_convert_path(const char *input, const char *output, const sxt_trace_write_options *options,
                                   sxt_trace_converted *result, sxt_error *error);

/* The files beside a trace that make answers faster. They are caches: stale ones are ignored. */
typedef enum sxt_trace_cache {
    SXT_TRACE_IDX = 1, /* FILE.idx: time and live bytes at each block */
    SXT_TRACE_LIVE = 2 /* FILE.live: what is live at many moments */
} sxt_trace_cache;

/*
 * Writes some of these files (CACHES is a set of sxt_trace_cache). The trace must be opened by path and not be cut off.
 */
SXT_API int sxt_trace_save_caches(const sxt_trace *trace, unsigned caches, sxt_error *error);

/*
 * Checks a trace completely, and calls PROBLEM (may be NULL) for everything that is wrong. *COUNT is the number of
 * problems. Fails if the file cannot be read at all or is not a trace. OPTIONS may be NULL.
 */
SXT_API int sxt_trace_verify_path(const char *path, const sxt_trace_options *options,
                                  void (*problem)(void *data, const sxt_problem *problem), void *data, uint64_t *count,
                                  sxt_error *error);

/* --- names for addresses that the recording left unresolved --- */

typedef struct sxt_trace_naming {
    size_t struct_size;             /* set by sxt_trace_naming_init */
    const char *const *directories; /* searched first, with everything below them; a plain file may be given too */
    size_t directory_count;
    const char *debug_directory; /* of separate debug files; NULL: /usr/lib/debug */
    unsigned threads;            /* the most threads; 0: see sxt_extract_options */
    void (*warning)(void *data, const char *path, const sxt_error *problem); /* may be NULL */
    /* Called for each loaded file whose addresses stay without names, until it returns false. May be NULL. */
    bool (*missing)(void *data, const sxt_missing_module *missing);
    void *data;
    const char *url;               /* a symbol service, asked by build ID for what no file here has; NULL: none */
    const char *api_key, *ca_file; /* for it: see sextant/remote.h */
    uintptr_t reserved[1];
} sxt_trace_naming;

SXT_API void sxt_trace_naming_init(sxt_trace_naming *naming);

typedef struct sxt_trace_named {
    size_t struct_size; /* set by the caller: sizeof(sxt_trace_named) */
    uint64_t addresses; /* that had no name */
    uint64_t named;     /* that have one now */
    uint64_t invalid;   /* entries of the metadata that are invalid and were dropped */
} sxt_trace_named;

/*
 * Looks up the addresses that have no names, in files with the build IDs that the trace recorded. From then on the
 * trace has the new names; sxt_trace_save stores them. RESULT may be NULL. Free all analyses of the trace before the
 * call. If a symbol service is given and fails, the trace is not changed.
 */
SXT_API int sxt_trace_symbolize(sxt_trace *trace, const sxt_trace_naming *naming, sxt_trace_named *result,
                                sxt_error *error);

/* Writes the trace to PATH in the form it has, with its names as they are now: whole or not at all. */
SXT_API int sxt_trace_save(const sxt_trace *trace, const char *path, sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
