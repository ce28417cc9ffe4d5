/* verbs.h: one verb a file. */
#ifndef SXT_CLI_VERBS_H
#define SXT_CLI_VERBS_H

#include "cli/cli.h"

extern const struct cli_verb cli_addr2line;
extern const struct cli_verb cli_archive;
extern const struct cli_verb cli_lookup;
extern const struct cli_verb cli_convert;
extern const struct cli_verb cli_dump;
extern const struct cli_verb cli_fileid;
extern const struct cli_verb cli_info;
extern const struct cli_verb cli_symbolize;
extern const struct cli_verb cli_verify;
extern const struct cli_verb cli_generate;

/* What archive and convert do for ksym: the words of the command line into a blob. */
int cli_make_ksym(const struct cli_arguments *arguments, bool archives_only);

#endif
