/* making.h: how archives are made, for one input and for many. */
#ifndef SXT_CLI_MAKING_H
#define SXT_CLI_MAKING_H

#include "cli/cli.h"

/* The options on the command line. */
struct cli_making {
    const char *format; /* "lidia", "symbfile", "returnpads", "ksym" or "size" */
    sxt_extract_options extract;
    sxt_lidia_options lidia; /* its path maps are for symbfiles too */
    sxt_ksym_options ksym;
    sxt_size_make_options size;
    sxt_size_write_options size_write;
    const char **build_config; /* of size; to be freed */
};

/* One archive. */
struct cli_job {
    const char *input, *output;
    const char *pads;  /* with symbfile: where return pads go too; or NULL */
    const char *debug; /* a debug file, in addition to the options; or NULL */
    unsigned threads;
    const char *failed; /* is set to the file that a failure is about */
};

/* What was written. */
struct cli_made {
    sxt_written written; /* of size: size and symbols */
    sxt_units units;
    double seconds;
    bool has_ranges; /* functions, inlined calls and lines; otherwise symbols */
};

/* Makes an archive. May be called from any thread. Prints nothing but warnings. */
int cli_make_one(const struct cli_making *making, struct cli_job *job, struct cli_made *made, sxt_error *error);

/* Makes an archive of each input in the directory of --out-dir. Returns the exit status. */
int cli_archive_many(const struct cli_arguments *arguments, const struct cli_making *making);

/* The counts of an archive as members of a JSON record, and the summary on stderr. INPUT may be NULL. */
void cli_emit_made(struct sxt_emit *emit, const struct cli_made *made);
void cli_print_made(const char *input, const char *output, const struct cli_made *made);

/* Warns about functions in FILE (may be NULL) that WRITER left out by default. */
void cli_warn_of_functions(const char *file, const sxt_ksym_writer *writer);

/* Options of ksym and size; see the files named like them. Return CLI_DONE or CLI_USAGE. */
int cli_ksym_options(const struct cli_arguments *arguments, sxt_ksym_options *options, sxt_extract_options *extract);
int cli_size_options(const struct cli_arguments *arguments, struct cli_making *making);

#endif
