/* terminal.h: how wide the terminal is, and names that are cut to fit on a line of it. */
#ifndef SXT_CLI_TERMINAL_H
#define SXT_CLI_TERMINAL_H

#include "cli/cli.h"

#define CLI_OPTION_WIDE                                                                                                \
    {                                                                                                                  \
        "wide", 0, NULL, "do not cut names to the width of the terminal", NULL                                         \
    }

/* The columns of the terminal that standard output is; 0 if it is not one, or with --wide: nothing is cut. */
size_t cli_terminal_width(const struct cli_arguments *arguments);

/* How many columns NAME takes: characters of UTF-8, and those that are escaped. */
size_t cli_columns(sxt_string name);

/*
 * The name, cut to WIDTH columns: its beginning and "...", or for a path "..." and its end. 0: it is not cut. No name
 * is cut to less than a few letters.
 */
void cli_print_cut(struct sxt_emit *emit, sxt_string name, size_t width);
void cli_print_cut_path(struct sxt_emit *emit, sxt_string path, size_t width);

#endif
