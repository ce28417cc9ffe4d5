/*
 * live.h: reads recordings that are running. sextant/live.h has the functions for others.
 *
 *     live_process.c   one process: its spool, and what `record` took out of it
 *     live_find.c      which recordings a name means
 *     live_names.c     names for some stacks, on another thread
 *     live.c           several processes
 */
#ifndef SXT_TRACE_LIVE_H
#define SXT_TRACE_LIVE_H

#include <pthread.h>
#include <sys/types.h>

#include <sextant/live.h>

#include "base/buffer.h"
#include "mlyze/spool.h"
#include "trace/trace.h"

/* Counts are stored in parts: an allocation of a sample counts as more than one. */
#define SXT_LIVE_PARTS 1024u

/* Of a stack, or of a thread. */
struct sxt_live_sums {
    uint64_t live_bytes, live_parts;
    uint64_t allocated_bytes, allocated_parts;
};

/* Of a process. */
struct sxt_live_totals {
    struct sxt_live_sums sums;
    uint64_t peak_bytes, peak_time;
    uint64_t events, frees, markers;
    uint64_t time; /* of the last event */
    uint64_t marker_time;
    uint32_t marker; /* the last one; 0: none */
};

/* The course of live bytes: when it is full, every second point is left out. */
#define SXT_LIVE_POINTS 1024
struct sxt_live_course {
    sxt_watch_point points[SXT_LIVE_POINTS];
    size_t count;
    uint64_t step; /* microseconds between two points */
};
void sxt_live_course_add(struct sxt_live_course *course, uint64_t time, uint64_t bytes, uint64_t allocations);

/* --- live_process.c --- */

/* A number of parts as a number of blocks. */
static inline uint64_t sxt_live_count_of(uint64_t parts)
{
    return (parts + SXT_LIVE_PARTS / 2) / SXT_LIVE_PARTS;
}

struct sxt_live_change; /* an event that may have to be taken back */

struct sxt_live_process {
    char *path; /* of the spool */
    dev_t device;
    ino_t inode;
    int fd;
    const uint8_t *data; /* the spool, mapped */
    size_t room;
    struct sxt_spool *spool;
    const struct sxt_spool_facts *facts; /* after the last update; NULL: it failed */
    uint32_t image;                      /* of the program that the figures are of */
    uint32_t pid;
    bool has_image;
    bool is_final;  /* the spool was opened after the end */
    bool is_whole;  /* and reads it without searching again */
    bool has_ended; /* everything was read */
    bool is_behind;
    /* What `record` took out of the spool, as far as it was read. */
    int events_fd;
    char *events_name;
    uint64_t events_offset;
    struct sxt_live_totals base; /* of these events */
    uint64_t last_events;        /* at the update before */
    /* What was read from the spool after it. */
    struct sxt_live_change *changes;
    size_t change_count, change_capacity;
    double full_since;   /* seconds: since when there are too many; 0: there are not */
    bool cannot_go_back; /* some were forgotten */
    struct sxt_live_totals now;
    struct sxt_live_sums *stacks, *threads; /* by number */
    size_t stack_count, stack_capacity;
    struct sxt_live_course course;
};

/* Opens the spool at PATH. SXT_ERROR_UNSUPPORTED if it is not one. */
int sxt_live_process_open(const char *path, struct sxt_live_process **out, sxt_error *error);
void sxt_live_process_close(struct sxt_live_process **process);
int sxt_live_process_update(struct sxt_live_process *process, sxt_error *error);

/* Whether it still writes. */
bool sxt_live_process_is_running(const struct sxt_live_process *process);

#define SXT_LIVE_THREADS 65536 /* numbers of threads are below */

/* --- live_find.c --- */

/* Paths of spools. Begins as {0}. */
struct sxt_live_paths {
    char **list;
    size_t count, capacity;
};
void sxt_live_paths_free(struct sxt_live_paths *paths);

/* Finds the spool that NAME means. *TRACE becomes the path of its trace, or NULL. IS_FOLDER: there may be several. */
int sxt_live_find(const char *name, struct sxt_live_paths *paths, char **trace, bool *is_folder, sxt_error *error);

/* Finds the spools in a folder whose processes are running. */
int sxt_live_find_in_folder(const char *folder, struct sxt_live_paths *paths, sxt_error *error);

/* --- live_names.c --- */

struct sxt_live_names;

/* NULL if memory is short. */
struct sxt_live_names *sxt_live_names_new(void);
void sxt_live_names_close(struct sxt_live_names **names);

/* Asks for names of stacks of one process. FACTS are copied. */
void sxt_live_names_ask(struct sxt_live_names *names, const struct sxt_spool_facts *facts, uint32_t process,
                        const uint32_t *stacks, size_t count);

/* Waits until everything that was asked for is known, but not longer than that. */
void sxt_live_names_wait(struct sxt_live_names *names, unsigned milliseconds);

/* The trace that has the frames of a stack, and its number there; NULL if they are not known. */
const sxt_trace *sxt_live_names_find(const struct sxt_live_names *names, const struct sxt_spool_facts *facts,
                                     uint32_t process, uint32_t stack, uint32_t *number);

#endif
