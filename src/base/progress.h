/*
 * progress.h: a bar for work that takes long.
 *
 *     reading symbols  [#########---------]  52 %  1.2 s
 *
 * Drawn only when it was opened on a terminal, at most ten times a second, and only once the work has taken 0.3 s;
 * wiped at the end. All functions accept NULL, so library code can report without asking. Advance is safe from any
 * thread.
 */
#ifndef SXT_BASE_PROGRESS_H
#define SXT_BASE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sxt_progress {
    FILE *stream;
    bool enabled;
    const char *label;
    uint64_t total;
    _Atomic uint64_t done;
    _Atomic uint64_t drawn_at; /* nanoseconds of the monotonic clock */
    uint64_t started_at;
    atomic_flag drawing;
};

/* STREAM is usually stderr. Drawn when it is a terminal, TERM is not "dumb", and FORCE or not (for tests). */
void sxt_progress_open(struct sxt_progress *progress, FILE *stream, bool force);

/* A new phase with TOTAL steps (0: unknown, only the label and the time are shown). LABEL must stay valid. */
void sxt_progress_phase(struct sxt_progress *progress, const char *label, uint64_t total);
void sxt_progress_advance(struct sxt_progress *progress, uint64_t steps);

/* Wipes the bar. */
void sxt_progress_close(struct sxt_progress *progress);

#endif
