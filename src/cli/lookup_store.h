/* lookup_store.h: lookups in the store of a symbol service, without a server. */
#ifndef SXT_CLI_LOOKUP_STORE_H
#define SXT_CLI_LOOKUP_STORE_H

#include "cli/cli.h"

/* Runs lookup PLACE --file-id ID or --build-id ID. Returns the exit status. */
int cli_lookup_store(const struct cli_arguments *arguments);

#endif
