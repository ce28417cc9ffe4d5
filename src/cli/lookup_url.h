/* lookup_url.h: what lookup does with --url. */
#ifndef SXT_CLI_LOOKUP_URL_H
#define SXT_CLI_LOOKUP_URL_H

#include "cli/cli.h"

/* Asks a symbol service for addresses, and prints what lookup prints for a file. Returns the exit status. */
int cli_lookup_url(const struct cli_arguments *arguments);

#endif
