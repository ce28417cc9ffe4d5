/* report_text.h: the summary of a file as text. */
#ifndef SXT_CLI_REPORT_TEXT_H
#define SXT_CLI_REPORT_TEXT_H

#include "cli/cli.h"

/* Prints the summary of one file, or of the difference of two. Returns the exit status. */
int cli_report_text(const struct cli_arguments *arguments);

/* The same for pprof profiles. */
int cli_report_profile(const struct cli_arguments *arguments);
bool cli_is_profile(const char *path);

#endif
