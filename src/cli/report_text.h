/* report_text.h: the summary of a file as text. */
#ifndef SXT_CLI_REPORT_TEXT_H
#define SXT_CLI_REPORT_TEXT_H

#include "cli/cli.h"

/* Prints the summary of one file, or of the difference of two. Returns the exit status. */
int cli_report_text(const struct cli_arguments *arguments);

#endif
