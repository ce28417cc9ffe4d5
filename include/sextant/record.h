/*
 * sextant/record.h: recording the heap of a program.
 *
 * The recorder is a library, libsextant-record.so, that the dynamic linker loads into the program (LD_PRELOAD). It
 * writes into a file, the spool, which must exist before the program starts. When the program has ended, the spool is
 * turned into a trace (sextant/trace.h):
 *
 *     sxt_recording_create("app.mlyze", NULL, &recording, &error);
 *     (start the program, with LD_PRELOAD=libsextant-record.so SEXTANT_RECORD=sxt_recording_path(recording), and wait)
 *     sxt_recording_note_end(recording);
 *     sxt_recording_finish_path(sxt_recording_path(recording), "app.mlyze", NULL, NULL, &error);
 *     unlink(sxt_recording_path(recording));
 *     sxt_recording_close(&recording);
 *
 * The environment of the program: SEXTANT_RECORD is the absolute path of the spool, SEXTANT_RECORD_PID the ID of the
 * process that the spool is for (if it is not set, the first process that loads the recorder), and
 * SEXTANT_RECORD_CHILDREN the path of the spools of its children, in which "%p" is replaced by the process ID.
 *
 * One thread at a time may use an sxt_recording. Callbacks are called on the thread that called the library.
 */
#ifndef SEXTANT_RECORD_H
#define SEXTANT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a program can be recorded. The first three run under the recorder, the others cannot. */
typedef enum sxt_recordable {
    SXT_RECORDABLE = 0,
    SXT_RECORDABLE_STATIC = 1,         /* linked statically: it runs, but nothing is recorded */
    SXT_RECORDABLE_SANITIZED = 2,      /* its sanitizer has its own allocator and must be loaded first */
    SXT_RECORDABLE_NOT_PRIVILEGED = 3, /* set-user-ID, set-group-ID or capabilities: the system ignores LD_PRELOAD */
    SXT_RECORDABLE_NOT_32_BIT = 4,
    SXT_RECORDABLE_NOT_MACHINE = 5, /* for another processor */
    SXT_RECORDABLE_NOT_LIBRARY = 6  /* uses the dynamic linker of another C library */
} sxt_recordable;

/* Checks the program at PATH, or the interpreter of a script. PRELOAD is the value of LD_PRELOAD, or NULL. */
SXT_API sxt_recordable sxt_check_recordable(const char *path, const char *preload);

typedef struct sxt_recording_options {
    size_t struct_size;   /* set by sxt_recording_options_init */
    uint64_t period;      /* record a sample: one allocation per this many bytes; 0: every allocation */
    bool with_mappings;   /* record mmap and munmap too */
    bool follow_children; /* child processes write spools too */
    uintptr_t reserved[4];
} sxt_recording_options;

SXT_API void sxt_recording_options_init(sxt_recording_options *options);

typedef struct sxt_recording sxt_recording;

/*
 * Creates a spool next to OUTPUT, the path of the trace to be made: OUTPUT with a suffix (".part", ".part2", ...). A
 * file at OUTPUT is left alone. If there is none, OUTPUT is a second name (a hard link) of the spool until the trace
 * replaces it.
 */
SXT_API int sxt_recording_create(const char *output, const sxt_recording_options *options, sxt_recording **out,
                                 sxt_error *error);

/* Frees *RECORDING and sets it to NULL. The spool stays. */
SXT_API void sxt_recording_close(sxt_recording **recording);

/* The path of the spool, and the suffix that it has after OUTPUT. Both live as long as the recording. */
SXT_API const char *sxt_recording_path(const sxt_recording *recording);
SXT_API const char *sxt_recording_suffix(const sxt_recording *recording);

/* Sets the process that the spool is for. */
SXT_API void sxt_recording_set_process(sxt_recording *recording, long pid);

/* Asks the recorder to stop; the program goes on. */
SXT_API void sxt_recording_stop(sxt_recording *recording);

/*
 * Notes the time when the program ended, which makes the times of all events exact. Call it before
 * sxt_recording_finish_path.
 */
SXT_API void sxt_recording_note_end(sxt_recording *recording);

/* Notes how the program ended: the status that waitpid gave. */
SXT_API void sxt_recording_note_status(sxt_recording *recording, int status);

/* Notes how many bytes of private anonymous memory the program had at most, as far as that was seen. */
SXT_API void sxt_recording_note_memory(sxt_recording *recording, uint64_t bytes);

/* Removes OUTPUT if it is still the second name of the spool. */
SXT_API void sxt_recording_release_output(sxt_recording *recording);

/* Removes the spool and its second name. */
SXT_API void sxt_recording_discard(sxt_recording *recording);

/*
 * Whether the file at PATH is the spool of process PID, a child of this recording; whether the recorder was loaded into
 * that process; and a request to stop recording it.
 */
SXT_API bool sxt_recording_has_child(const sxt_recording *recording, const char *path, long pid);
SXT_API bool sxt_recording_is_attached(const sxt_recording *recording, const char *path, long pid);
SXT_API void sxt_recording_stop_child(const sxt_recording *recording, const char *path, long pid);

/*
 * Writes PATTERN to PATH, with PID for each %p. At most SIZE bytes including the NUL; false if that is too little, and
 * PATH is then undefined.
 */
SXT_API bool sxt_recording_fill_in(const char *pattern, long pid, char *path, size_t size);

/*
 * Finds the children of this recording that have a spool: a file whose path is PATTERN with the number of the process
 * for each %p, and the suffix of this recording. %p must be in the last component of PATTERN; without it there are no
 * children. On success *PIDS has *COUNT numbers in ascending order; free it with sxt_free. On failure *PIDS is NULL.
 */
SXT_API int sxt_recording_find_children(const sxt_recording *recording, const char *pattern, long **pids, size_t *count,
                                        sxt_error *error);

#define SXT_RECORDING_CHILDREN_MOST 640

/*
 * The numbers of the child processes that started last, recorded or not, in no order; at most
 * SXT_RECORDING_CHILDREN_MOST are known. PIDS has room for CAPACITY. Returns how many were written. *STARTED, which may
 * be NULL, becomes the number of all that have started so far.
 */
SXT_API size_t sxt_recording_list_children(const sxt_recording *recording, long *pids, size_t capacity,
                                           uint64_t *started);

/* Why a recording ended before the program did. */
typedef enum sxt_recording_end {
    SXT_RECORDING_COMPLETE = 0,
    SXT_RECORDING_DISK_FULL = 1, /* or a limit on the size of files was reached */
    SXT_RECORDING_NO_MEMORY = 2,
    SXT_RECORDING_FILE_GONE = 3, /* the program closed the recorder's file, and it cannot be opened again */
    SXT_RECORDING_CONFINED = 4   /* the program limits its system calls (seccomp) */
} sxt_recording_end;

/* What a spool contained. */
typedef struct sxt_recorded {
    size_t struct_size; /* set by the caller: sizeof(sxt_recorded) */
    uint64_t events, allocations;
    uint64_t stacks, functions;
    uint64_t unmatched; /* frees of blocks that were allocated before the recording began */
    uint64_t dropped;   /* events that the recorder had no room for */
    bool is_attached;   /* the recorder was loaded */
    bool own_allocator; /* the program has its own allocator, which the recorder does not see */
    sxt_recording_end end;
    size_t child_count; /* child processes whose spool could not be created */
    uint32_t children[SXT_RECORDING_CHILDREN_MOST];
    uint64_t started_children;        /* all child processes that are known of, recorded or not */
    uint64_t unknown_children;        /* of these, the ones that the recorder could not be loaded into */
    uint64_t peak_bytes, peak_blocks; /* when most bytes were allocated */
    uint64_t left_bytes, left_blocks; /* that were not freed at the end */
    uint64_t anonymous_bytes;         /* as given to sxt_recording_note_memory; 0: unknown */
    bool is_sampled;                  /* the numbers are those of a sample */
    uint64_t most_spool_bytes;        /* that spools had on the disk; 0: not known, because they were not followed */
    uint64_t sample_period;           /* bytes for each sample; 0: every allocation was recorded */
    double estimated_peak_bytes, estimated_peak_blocks; /* of a sample: of all allocations */
    double estimated_left_bytes, estimated_left_blocks;
    uint64_t usual_spool_bytes; /* if most_spool_bytes is more than that, it is worth a message */
} sxt_recorded;

/*
 * Turns the spool at PATH into a trace at OUTPUT, which may be the same path. Names come from the files as they are now
 * on this machine. OPTIONS and RESULT may be NULL.
 */
SXT_API int sxt_recording_finish_path(const char *path, const char *output, const sxt_trace_write_options *options,
                                      sxt_recorded *result, sxt_error *error);

/*
 * Removes the spool at PATH, and the file beside it that has what was taken out of the spool by sxt_recording_follow.
 * On failure *ERROR says why the spool could not be removed.
 */
SXT_API int sxt_recording_remove_path(const char *path, sxt_error *error);

/*
 * Makes the trace while the program runs, on a thread of the lowest priority, so that little is left to do at the end.
 * Events are taken out of the spool and go to another file beside it, its path with ".events"; the room that they had
 * is given back to the file system. If more than 128 MiB are waiting, a thread of normal priority does it. A plain
 * trace begins with its metadata, so it has to be made at the end, of the same two files. The functions of OPTIONS are
 * called by sxt_recording_follow_finish alone.
 */
typedef struct sxt_recording_follower sxt_recording_follower;

SXT_API int sxt_recording_follow(const sxt_recording *recording, const char *output,
                                 const sxt_trace_write_options *options, sxt_recording_follower **out,
                                 sxt_error *error);

/*
 * Ends the thread and completes the trace, once the recording has ended. If this fails, there is no trace, and
 * sxt_recording_finish_path makes it; SXT_ERROR_NOT_FOUND: because the recording was short, or the trace is plain.
 * RESULT may be NULL; it has most_spool_bytes also on failure, for all spools that were followed.
 */
SXT_API int sxt_recording_follow_finish(sxt_recording_follower **follower, sxt_recorded *result, sxt_error *error);

/*
 * The same for children, while FOLLOWER is at work: their traces have the names that PATTERN gives. RECORDING has to
 * stay open until then. After sxt_recording_follow_finish, sxt_recording_finish_child completes the trace of a child;
 * if it fails, sxt_recording_finish_path makes it. Close this after FOLLOWER was finished.
 */
typedef struct sxt_recording_children sxt_recording_children;

SXT_API int sxt_recording_follow_children(sxt_recording_follower *follower, const sxt_recording *recording,
                                          const char *pattern, sxt_recording_children **out, sxt_error *error);
SXT_API int sxt_recording_finish_child(sxt_recording_children *children, long pid,
                                       const sxt_trace_write_options *options, sxt_recorded *result, sxt_error *error);
SXT_API void sxt_recording_children_close(sxt_recording_children **children);

#ifdef __cplusplus
}
#endif

#endif
