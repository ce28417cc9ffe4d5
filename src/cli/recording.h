/* recording.h: what the files of the verb `record` share. */
#ifndef SXT_CLI_RECORDING_H
#define SXT_CLI_RECORDING_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/heap.h"
#include "cli/verbs.h"

/* How much anonymous memory a program had; see record_memory.c. */
struct memory_watch {
    uint64_t most;           /* bytes; 0: unknown */
    bool has_missed;         /* there was more at another time */
    uint64_t counter_kb;     /* of the system, when `most` was found */
    uint64_t rss_kb, hwm_kb; /* resident memory then, and the most that there was */
    uint64_t last_kb;        /* the counter at the last look */
    double began, next;      /* seconds */
    double spent;            /* on /proc/PID/smaps */
};

/* One run of a program. */
struct session {
    const struct cli_arguments *arguments;
    unsigned threads;        /* from --threads */
    char output[PATH_MAX];   /* with the number of the process in it */
    char children[PATH_MAX]; /* with %p; "" if they are not followed */
    char recorder[PATH_MAX];
    char program[PATH_MAX];
    sxt_recordable recordable;
    double duration;
    sxt_recording_options recording_options;
    sxt_recording *recording;
    char spool[PATH_MAX];             /* as the mappings of processes name it; set when it is finished */
    sxt_recording_follower *follower; /* NULL if the trace is made at the end */
    sxt_recording_children *followed_children;
    uint64_t most_spool_bytes;  /* that all spools had on the disk; 0: not known */
    uint64_t usual_spool_bytes; /* more than that is reported */
    sigset_t mask_before;
    struct sigaction children_before; /* what SIGCHLD did: while it is ignored, children cannot be waited for */
    pid_t child;
    struct memory_watch memory;
    struct cli_progress progress; /* of the follower, when it finishes */
    bool is_stopped;              /* the recording; the program may continue */
    bool is_finished;
    bool has_failed; /* a trace could not be made */
};

/* --- record_memory.c --- */

double cli_seconds_now(void);

/* The anonymous memory in kB that an allocator may have, by the text of /proc/PID/smaps; 0: unknown. */
uint64_t cli_memory_of(FILE *smaps);

void cli_memory_begin(struct memory_watch *watch);
/* Looks at process PID, if it is time for that. */
void cli_memory_look(struct memory_watch *watch, pid_t pid);
/* The process has ended; MOST_KB is the most resident memory that it had, if it is known. */
void cli_memory_end(struct memory_watch *watch, uint64_t most_kb);

/* --- record_children.c --- */

/* Asks the recorders of all children to stop. */
void cli_stop_children(const struct session *session);

/* Makes the traces of children, and says what became of them. RECORDED is that of the program. */
void cli_finish_children(struct session *session, const sxt_recorded *recorded);

/* --- record_trace.c --- */

/* Completes what was made of a child's recording while the program ran. False if its spool has to be made a trace. */
bool cli_complete_child(struct session *session, long pid, const char *spool, sxt_recorded *recorded);

/* Makes a trace from a spool, which is then removed. False, with a message, if that fails. */
bool cli_make_trace(struct session *session, const char *spool, const char *output, sxt_recorded *recorded);

/* Why a recording ended early. */
const char *cli_reason_of(sxt_recording_end end);

/* "N events, N allocations". */
void cli_print_recorded(const sxt_recorded *recorded);

/* Begins to make the trace of the program while it runs. Best effort. */
void cli_follow_recording(struct session *session);

/* Turns the spools into traces and prints a summary. Does nothing the second time. */
void cli_finish_recording(struct session *session);

#endif
