/* explain.h: `lookup --explain`: after each answer, the records it comes from, or why there is none. */
#ifndef SXT_CLI_EXPLAIN_H
#define SXT_CLI_EXPLAIN_H

#include <sextant/explain.h>

#include "cli/answer.h"

struct cli_explain;

/* OPTIONS are those of the archive. PID is the process, or NULL. NULL when out of memory. */
struct cli_explain *cli_explain_new(const sxt_open_options *options, const char *pid);
void cli_explain_free(struct cli_explain *explain);

/* An explanation of the library, or a reason of the program itself. */
struct cli_explanation {
    const sxt_explanation *found; /* NULL if nothing was looked up in a file */
    const char *why;              /* then: the reason and what helps; either may be NULL */
    const char *advice;
};

/* Explains ANSWER, which FILE gave (NULL: a process). The result is valid until the next call. */
const struct cli_explanation *cli_explain(struct cli_explain *explain, const char *file,
                                          const struct cli_answer *answer);

/* Adds it to the current record of EMIT. */
void cli_print_explanation(struct sxt_emit *emit, const struct cli_explanation *explanation);

#endif
