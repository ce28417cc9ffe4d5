/*
 * sextant/record.h: recording the heap of a program.
 *
 * The recorder is a library, libsextant-record.so, that the dynamic linker loads into the program (LD_PRELOAD). It
 * writes into a file, the spool, that has to be there before the program starts. Afterwards the spool is turned into a
 * trace (sextant/trace.h):
 *
 *     sxt_recording_create("app.mlyze", NULL, &recording, &error);
 *     (start the program, with LD_PRELOAD=libsextant-record.so SEXTANT_RECORD=sxt_recording_path(recording), and wait)
 *     sxt_recording_note_end(recording);
 *     sxt_recording_finish_path(sxt_recording_path(recording), "app.mlyze", NULL, NULL, &error);
 *     unlink(sxt_recording_path(recording));
 *     sxt_recording_close(&recording);
 *
 * The environment of the program: SEXTANT_RECORD is the absolute path of the spool, SEXTANT_RECORD_PID the number of
 * the process that the spool is for (without it, the first process that has the recorder), and SEXTANT_RECORD_CHILDREN
 * the path of the spools of its children, in which "%p" becomes the number of the process.
 *
 * An sxt_recording belongs to one thread at a time. Callbacks are called on the calling thread.
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

/* Checks the program in the file PATH; of a script, its interpreter. PRELOAD is LD_PRELOAD as it is, or NULL. */
SXT_API sxt_recordable sxt_check_recordable(const char *path, const char *preload);

typedef struct sxt_recording_options {
    size_t struct_size;   /* set by sxt_recording_options_init */
    uint64_t period;      /* record a sample: one allocation for so many bytes; 0: every allocation */
    bool with_mappings;   /* record mmap and munmap too */
    bool follow_children; /* child processes write spools too */
    uintptr_t reserved[4];
} sxt_recording_options;

SXT_API void sxt_recording_options_init(sxt_recording_options *options);

typedef struct sxt_recording sxt_recording;

/*
 * Makes a spool beside OUTPUT, the trace to be: OUTPUT with a suffix (".part", ".part2", ...). What is at OUTPUT stays.
 * If nothing is there, OUTPUT is a second name of the spool until the trace replaces it.
 */
SXT_API int sxt_recording_create(const char *output, const sxt_recording_options *options, sxt_recording **out,
                                 sxt_error *error);
SXT_API void sxt_recording_close(sxt_recording **recording); /* the spool stays */

SXT_API const char *sxt_recording_path(const sxt_recording *recording);
SXT_API const char *sxt_recording_suffix(const sxt_recording *recording);

/* Says which process the spool is for. */
SXT_API void sxt_recording_set_process(sxt_recording *recording, long pid);

/* Asks the recorder to stop; the program goes on. */
SXT_API void sxt_recording_stop(sxt_recording *recording);

/* Notes the time at the end, which makes the times of all events exact. Call it before the spool is finished. */
SXT_API void sxt_recording_note_end(sxt_recording *recording);

/* Removes the second name of the spool, if OUTPUT still is one. */
SXT_API void sxt_recording_release_output(sxt_recording *recording);

/* Removes the spool and its second name. */
SXT_API void sxt_recording_discard(sxt_recording *recording);

/* Whether the file at PATH is the spool of a child of this recording, process PID; and a request to stop for it. */
SXT_API bool sxt_recording_has_child(const sxt_recording *recording, const char *path, long pid);
SXT_API void sxt_recording_stop_child(const sxt_recording *recording, const char *path, long pid);

/* Why a recording ended before the program did. */
typedef enum sxt_recording_end {
    SXT_RECORDING_COMPLETE = 0,
    SXT_RECORDING_DISK_FULL = 1, /* or a limit on the size of files was reached */
    SXT_RECORDING_NO_MEMORY = 2,
    SXT_RECORDING_FILE_GONE = 3 /* the program closed the recorder's file, and it cannot be opened again */
} sxt_recording_end;

#define SXT_RECORDING_CHILDREN_MOST 640

/* What a spool holds. */
typedef struct sxt_recorded {
    size_t struct_size; /* set by the caller: sizeof(sxt_recorded) */
    uint64_t events, allocations;
    uint64_t stacks, functions;
    uint64_t unmatched; /* frees of blocks that were allocated before the recording began */
    uint64_t dropped;   /* events that the recorder had no room for */
    bool is_attached;   /* the recorder was loaded */
    bool own_allocator; /* the program has an allocator linked in, which the recorder does not see */
    sxt_recording_end end;
    size_t child_count; /* processes that have spools, or should have */
    uint32_t children[SXT_RECORDING_CHILDREN_MOST];
} sxt_recorded;

/*
 * Turns the spool at PATH into a trace at OUTPUT, which may be the same path. Names come from the files as they are now
 * on this machine. OPTIONS and RESULT may be NULL.
 */
SXT_API int sxt_recording_finish_path(const char *path, const char *output, const sxt_trace_write_options *options,
                                      sxt_recorded *result, sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
