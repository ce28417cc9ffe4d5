/* explain.h: `lookup --explain`: behind each answer, where it comes from. */
#ifndef SXT_CLI_EXPLAIN_H
#define SXT_CLI_EXPLAIN_H

#include "cli/answer.h"

struct cli_explain;

/* OPTIONS are those that the archive is opened with. PID is the process that is asked, or NULL. NULL: no memory. */
struct cli_explain *cli_explain_new(const sxt_open_options *options, const char *pid);
void cli_explain_free(struct cli_explain *explain);

/* Explains ANSWER, which FILE gave (NULL: a process). The result is valid until the next call. */
const struct sxt_explanation *cli_explain(struct cli_explain *explain, const char *file,
                                          const struct cli_answer *answer);

/* Adds it to the record at hand. */
void cli_print_explanation(struct sxt_emit *emit, const struct sxt_explanation *explanation);

#endif
