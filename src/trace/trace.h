/* trace.h: heap traces, from the recording of a program to a finished trace with names. */
#ifndef SXT_TRACE_TRACE_H
#define SXT_TRACE_TRACE_H

#include <sextant/archive.h>

struct sxt_buffer;
struct sxt_file;
struct sxt_mlyze;
struct sxt_mlyze_index;
struct sxt_mlyze_oddities;

/* A trace in a file, with the index that is beside it. */
struct sxt_trace;

int sxt_trace_open(const char *path, struct sxt_trace **out, sxt_error *error);
void sxt_trace_close(struct sxt_trace **trace);
const struct sxt_mlyze *sxt_trace_mlyze(const struct sxt_trace *trace);

/* Is there an index that is of use? */
bool sxt_trace_has_index(const struct sxt_trace *trace);

/* The index: the one beside the file, or one that is made now, which takes a pass over all events. It is the trace's.
 */
int sxt_trace_index(struct sxt_trace *trace, const struct sxt_mlyze_index **out, sxt_error *error);

/* Writes PATH.idx for the trace at PATH. */
int sxt_trace_save_index(const char *path, sxt_error *error);

/*
 * A copy of a trace, by the codec of OPTIONS. With LOST, what cannot be read is left out, *LOST is how many bytes that
 * is, and a recording that did not end is recovered. ODDITIES may be NULL. *FAILED is the file that could not be read
 * or written.
 */
struct sxt_recover_options;
int sxt_trace_convert(const char *input, const char *output, const struct sxt_recover_options *options, uint64_t *lost,
                      struct sxt_mlyze_oddities *oddities, const char **failed, sxt_error *error);

/*
 * If FILE, as it is at PATH, is what a recorder left when its recording did not end, it is replaced by the trace that
 * it makes, as far as it goes, in a file without a name (in $TMPDIR); *WAS_CUT tells. The program may still be running.
 */
int sxt_trace_take_cut(const char *path, struct sxt_file *file, bool *was_cut, sxt_error *error);

/* --- names.c: names for what a recording left unresolved --- */

struct sxt_trace_naming {
    /* The file that was loaded from PATH and has BUILD_ID (hexadecimal digits, or nothing), for these addresses; NULL
     * when it is not to be had. */
    sxt_archive *(*open)(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses, size_t count);
    void *data;
};

struct sxt_trace_named {
    uint64_t addresses; /* that had no names */
    uint64_t named;
    uint64_t odd; /* entries that make no sense; new metadata does not have them */
};

/* METADATA becomes that of the trace with all names that can be had; it stays empty when there are no new ones. */
int sxt_trace_name(const struct sxt_mlyze *mlyze, const struct sxt_trace_naming *naming, struct sxt_buffer *metadata,
                   struct sxt_trace_named *named, sxt_error *error);

/* A copy of a trace in the same form, with other metadata, at PATH: whole or not at all. */
int sxt_trace_save(const struct sxt_mlyze *mlyze, sxt_string metadata, const char *path, sxt_error *error);

/* The same in a file without a name (in $TMPDIR); *FILE is to be closed. */
int sxt_trace_save_aside(const struct sxt_mlyze *mlyze, sxt_string metadata, struct sxt_file *file, sxt_error *error);

/* --- record.c: recording a heap. The recorder writes a spool while the program runs; see mlyze/spool.h --- */

/* Why a program cannot be recorded, or what will be missing. */
enum sxt_recordable {
    SXT_RECORDABLE,
    SXT_RECORDABLE_STATIC,         /* nothing can be loaded into it; it may run, but nothing is seen */
    SXT_RECORDABLE_SANITIZED,      /* its sanitizer has an allocator of its own, and wants to be loaded first */
    SXT_RECORDABLE_NOT_PRIVILEGED, /* set-user-ID, set-group-ID, or with capabilities: the system ignores the recorder
                                    */
    SXT_RECORDABLE_NOT_32_BIT,
    SXT_RECORDABLE_NOT_MACHINE, /* for another processor */
    SXT_RECORDABLE_NOT_LIBRARY  /* another C library's dynamic linker */
};

/* Looks at the program in the file PATH; a script counts as its interpreter. */
enum sxt_recordable sxt_recordable(const char *path);

/* Is the runtime of a sanitizer named in this text, which is a library's name or a list of them? */
bool sxt_is_sanitizer(const char *text, size_t size);

struct sxt_recording_options {
    uint64_t period;    /* of sampling in bytes; 0: every allocation */
    bool with_mappings; /* mmap and munmap too */
    bool follow;        /* children get spools of their own */
};

/* A spool that is being written to. */
struct sxt_recording;

/* A new spool beside OUTPUT, which is not touched; the spool's path is that of OUTPUT and a suffix. */
int sxt_recording_create(const char *output, const struct sxt_recording_options *options, struct sxt_recording **out,
                         sxt_error *error);
const char *sxt_recording_path(const struct sxt_recording *recording);
void sxt_recording_unname(struct sxt_recording *recording);  /* takes the name of the output from the spool */
void sxt_recording_discard(struct sxt_recording *recording); /* removes the spool */
const char *sxt_recording_suffix(const struct sxt_recording *recording);
/* Is the file at PATH the spool of a child of this recording, which is process PID? */
bool sxt_recording_has_child(const struct sxt_recording *recording, const char *path, long pid);
void sxt_recording_stop_child(const struct sxt_recording *recording, const char *path, long pid);
void sxt_recording_of(struct sxt_recording *recording, long pid); /* the process that it is for */
void sxt_recording_stop(struct sxt_recording *recording);         /* asks the recorder to write no more */
void sxt_recording_note_end(struct sxt_recording *recording);     /* takes the time once more, for the clock's sake */
void sxt_recording_close(struct sxt_recording **recording);

struct sxt_recover_options {
    unsigned codec;  /* of mlyze.h; SXT_MLYZE_RAW (0) makes a plain file */
    bool no_symbols; /* leave addresses as they are */
    void (*warning)(void *data, const char *path, const char *text); /* what could not be opened; may be NULL */
    /* Now and then, while events are written: about so many bytes of the spool are done. May be NULL. */
    void (*progress)(void *data, uint64_t done, uint64_t all);
    void *data;
};

enum sxt_recovered_end {
    SXT_RECOVERED_WHOLE,
    SXT_RECOVERED_DISK_FULL,
    SXT_RECOVERED_NO_MEMORY,
    SXT_RECOVERED_FILE_GONE
};

#define SXT_RECOVERED_CHILDREN 640

/* What was in a spool. */
struct sxt_recovered {
    uint64_t events, allocations;
    uint64_t stacks, functions;
    uint64_t unmatched;                        /* frees of blocks that were there before */
    uint64_t dropped;                          /* events that the recorder had no room for */
    bool is_attached;                          /* was the recorder ever loaded? */
    bool own_allocator;                        /* the program has an allocator linked in */
    enum sxt_recovered_end end;                /* why the recording ended before the program did */
    uint32_t children[SXT_RECOVERED_CHILDREN]; /* processes that have spools of their own */
    size_t child_count;
};

/*
 * Makes a finished trace of the spool at PATH: OUTPUT may be the same path. Functions, files and lines are looked up in
 * the modules as they are now on this machine. A compressed one has its index beside it.
 */
int sxt_mlyze_recover(const char *path, const char *output, const struct sxt_recover_options *options,
                      struct sxt_recovered *recovered, sxt_error *error);

#endif
