/* recording.h: what the files behind the verb `record` know of each other. */
#ifndef SXT_CLI_RECORDING_H
#define SXT_CLI_RECORDING_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "archive/archive.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "trace/trace.h"

/* One run of a program. */
struct session {
    const struct cli_arguments *arguments;
    char output[PATH_MAX];   /* with the number of the process in it */
    char children[PATH_MAX]; /* with %p; "" when they are not followed */
    char recorder[PATH_MAX];
    char program[PATH_MAX];
    enum sxt_recordable recordable;
    double duration;
    struct sxt_recording_options recording_options;
    struct sxt_recording *recording;
    sigset_t mask_before;
    struct sigaction children_before; /* what SIGCHLD does: where it is ignored, nobody can be waited for */
    pid_t child;
    bool is_stopped; /* the recording; the program may go on */
    bool is_finished;
};

/* PATTERN with the number for each %p; false when that is too long. */
bool cli_fill_in(const char *pattern, long pid, char path[PATH_MAX]);

/* --- record_trace.c --- */

/* Asks the recorders of all children to write no more. */
void cli_stop_children(const struct session *session);

/* Turns the spools into traces and says what there is to say. Does nothing the second time. */
void cli_finish_recording(struct session *session);

#endif
