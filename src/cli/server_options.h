/* server_options.h: which symbol service a verb asks, and the key it sends. The same options for all such verbs. */
#ifndef SXT_CLI_SERVER_OPTIONS_H
#define SXT_CLI_SERVER_OPTIONS_H

#include "cli/cli.h"

/* For the table of a verb, after its own "url". */
#define CLI_OPTIONS_SERVER                                                                                             \
    {"api-key", 0, "KEY", "its API key, id:key (default: the variable SEXTANT_API_KEY)", NULL},                        \
        {"api-key-file", 0, "FILE", "the same, from the first line of FILE that has a key", NULL},                     \
    {                                                                                                                  \
        "ca", 0, "FILE", "for https: trust the authorities in FILE (PEM) instead of\nthose of the system", NULL        \
    }

struct cli_server {
    const char *url;     /* NULL: no service was given */
    const char *api_key; /* "id:key", or its base64 form; NULL: none */
    const char *ca_file; /* NULL: the authorities of the system */
    char *from_file;     /* what api_key points to, if it was in a file */
};

/*
 * Fills SERVER from --url, --api-key, --api-key-file, --ca and SEXTANT_API_KEY. Prints what is wrong and returns the
 * exit status. Free it in any case.
 */
int cli_server_options(const struct cli_arguments *arguments, struct cli_server *server);
void cli_server_free(struct cli_server *server);

#endif
