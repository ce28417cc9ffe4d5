/*
 * trace.h: heap traces, from the recording of a program to a finished trace with names. The functions that others use
 * are in sextant/trace.h and sextant/record.h; this header is for the files of this room.
 */
#ifndef SXT_TRACE_TRACE_H
#define SXT_TRACE_TRACE_H

#include <stdatomic.h>

#include <sextant/archive.h>
#include <sextant/record.h>
#include <sextant/remote.h>
#include <sextant/trace.h>
#include <sextant/trace_view.h>

#include "base/file.h"
#include "mlyze/analysis.h"
#include "mlyze/mlyze.h"

struct sxt_trace {
    char *path;            /* NULL: a stream or memory, so that nothing can be beside it */
    struct sxt_file file;  /* what was read, inflated */
    struct sxt_file whole; /* is_cut_off: the trace that it makes */
    struct sxt_mlyze *mlyze;
    bool is_compressed; /* the file is compressed as a whole */
    bool is_cut_off;    /* the recording did not end */
    bool is_growing;    /* is_cut_off: the program was still running */
    bool no_index;      /* ignore what is beside the file */

    /* Several processes, joined: see processes.c. */
    struct sxt_file ended_file;
    /* The same events, but blocks are freed when their process ends. NULL if no process ends before the last event. */
    struct sxt_mlyze *ended;
    struct sxt_trace_part *parts;
    size_t part_count;
    struct sxt_mlyze_joined joined; /* where its threads come from */
};

/* --- trace.c --- */

/* Reads and inflates the file at PATH. Refuses what is not a trace. *FILE is to be closed, also on failure. */
int sxt_trace_load(const char *path, uint64_t inflate_limit, struct sxt_file *file, bool *is_compressed,
                   sxt_error *error);

/* A trace without a file. NULL if memory is short. */
sxt_trace *sxt_trace_new(const sxt_trace_options *options, sxt_error *error);

/* --- processes.c --- */

/* Frees what a joined trace has and others do not. */
void sxt_trace_free_parts(sxt_trace *trace);

/* --- analyse.c --- */

/* As sxt_trace_analyse. THREADS, if not NULL, are those that the filter names, by number. */
int sxt_trace_analyse_threads(const sxt_trace *trace, const sxt_heap_options *options, const bool *threads,
                              sxt_heap_usage **out, sxt_error *error);

/* The same with BINS, which are new and are filled, of a trace that is not joined; NULL: none. */
int sxt_trace_analyse_bins(const sxt_trace *trace, const sxt_heap_options *options, struct sxt_heap_bins *bins,
                           sxt_heap_usage **out, sxt_error *error);

/* The same with what else MORE has: bins, and states to keep or to go on from. Its `passed` is not used. */
int sxt_trace_analyse_watched(const sxt_trace *trace, const sxt_heap_options *options,
                              const struct sxt_heap_watcher *more, sxt_heap_usage **out, sxt_error *error);

/* --- caches.c: FILE.idx and FILE.live --- */

/* Writes PATH.idx for the trace in the file PATH. Best effort: failure is ignored, because nothing depends on it. */
void sxt_trace_save_index(const char *path, const struct sxt_mlyze_index *index);

/* Another trace is at PATH now: removes PATH.idx and PATH.live. */
void sxt_trace_remove_caches(const char *path);

/* What was live at TIME, from FILE.live. False if there is no such file, or if it belongs to another trace. */
bool sxt_trace_ask_live(const sxt_trace *trace, uint64_t time, sxt_heap_usage *out);

/* --- convert.c --- */

/* The options that a caller gave, with defaults for the rest. */
int sxt_trace_take_write_options(const sxt_trace_write_options *given, sxt_trace_write_options *out, sxt_error *error);

/* --- finish.c: from a spool to a trace --- */

struct sxt_spool;

struct sxt_spool_live;

/* How events of a spool are written. */
struct sxt_spool_writing {
    struct sxt_mlyze_writer *writer;
    uint64_t size;                          /* of the spool, for progress */
    const sxt_trace_write_options *options; /* for progress; may be NULL */
    const uint32_t *markers;                /* by number of a marker: its id; NULL: the number less 1 */
    const atomic_bool *stop;                /* ends early when it is set; may be NULL */
    uint64_t most;                          /* events, or a few more; 0: all */
    bool is_salvaged;                       /* what was taken out of the spool may be damaged, and a part of it lost */
};

/* Writes the events that SPOOL has by now. */
int sxt_spool_write_events(struct sxt_spool *spool, const struct sxt_spool_writing *how, sxt_recorded *recorded,
                           sxt_error *error);

/* Counts an event, after which LIVE is live. */
void sxt_spool_count_event(const sxt_trace_event *event, const struct sxt_spool_live *live, sxt_recorded *recorded);

/* Fills in what RECORDED does not have from the events. */
void sxt_spool_describe(const struct sxt_spool *spool, sxt_recorded *recorded);

/* Makes a trace at OUTPUT of the spool in FILE, which was opened at PATH. A compressed one gets its index beside it. */
int sxt_spool_finish(const struct sxt_file *file, const char *path, const char *output,
                     const sxt_trace_write_options *options, sxt_recorded *recorded, sxt_error *error);

/*
 * Makes a trace of the spool in FILE, as far as it is complete, in a file without a name: *WHOLE is to be closed. The
 * program may still be running; PATH is then where the rest of the spool is read from, and may be NULL.
 */
int sxt_spool_finish_unnamed(const struct sxt_file *file, const char *path, struct sxt_file *whole, sxt_error *error);

/* --- consumed.c: what `record` took out of a spool while the program was running --- */

/* A spool that does not change while it is read. */
struct sxt_spool_view {
    struct sxt_file file;
    int lock; /* as long as it is held, `record` takes nothing out of the spool; -1: none */
};

/* FILE was opened at PATH, which may be NULL, and stays the caller's. */
int sxt_spool_view_open(struct sxt_spool_view *view, const struct sxt_file *file, const char *path, sxt_error *error);
void sxt_spool_view_close(struct sxt_spool_view *view);

/* Writes the events that were taken out of a spool that was opened at PATH. */
int sxt_spool_write_consumed(struct sxt_spool *spool, const char *path, const struct sxt_spool_writing *how,
                             sxt_recorded *recorded, sxt_error *error);

/* Locks a spool against readers that are making a copy of it. Returns false if there is one; FD is then not locked. */
bool sxt_spool_lock(int fd);
void sxt_spool_unlock(int fd);

/* --- names.c: new metadata, with names for addresses that a recording left unresolved --- */

struct sxt_trace_name_source {
    /* The file that was loaded from PATH and has BUILD_ID (hexadecimal, may be empty), for these addresses, or NULL. */
    sxt_archive *(*open)(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses, size_t count);
    /* Answers for addresses that this file does not have, as sxt_remote_ask does. NULL: nobody else knows more. */
    int (*ask)(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses, size_t count,
               sxt_remote_answer *answer, void *answer_data, sxt_error *error);
    void *data;
};

/* METADATA becomes that of the trace with all names that were found; it stays empty if there are no new ones. */
int sxt_trace_name(const struct sxt_mlyze *mlyze, const struct sxt_trace_name_source *source,
                   struct sxt_buffer *metadata, sxt_trace_named *named, sxt_error *error);

#endif
