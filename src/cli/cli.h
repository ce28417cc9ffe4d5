/*
 * cli.h: verbs and options as data. Parsing, --help, man pages and shell completion all come from these tables.
 *
 * A new verb is a file with a `const struct cli_verb` and its name in the list of verbs.c.
 */
#ifndef SXT_CLI_CLI_H
#define SXT_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sextant/sextant.h>

#include "base/emit.h"

/* Exit status of the program. */
enum { CLI_DONE = 0, CLI_NO = 1, CLI_USAGE = 2 };

struct cli_option {
    const char *name;     /* long name without dashes; NULL ends a table */
    char letter;          /* short name, or 0 */
    const char *argument; /* what it takes, e.g. "FILE"; NULL for a flag */
    const char *help;     /* one line, or several separated by newlines */
    const char *choices;  /* for completion: "lidia symbfile"; NULL for none */
};

struct cli_arguments;

struct cli_example {
    const char *command;
    const char *explanation;
};

struct cli_verb {
    const char *name;
    const char *synopsis; /* after the name: "FILE [ADDRESS...]" */
    const char *summary;  /* one line */
    const char *description;
    const struct cli_option *options;   /* -h, --help and --version are added to every verb */
    const struct cli_example *examples; /* ends with command == NULL */
    bool hidden;                        /* not in lists */
    int (*run)(const struct cli_arguments *arguments);
    /* In place of run, for a verb that parses for itself; argv[0] is its name. */
    int (*run_words)(int argc, char **argv);
};

struct cli_given {
    size_t option; /* index in verb->options */
    const char *argument;
};

/* What was on the command line. */
struct cli_arguments {
    const struct cli_verb *verb;
    unsigned *counts;        /* by index in verb->options: how often it was given */
    struct cli_given *given; /* options with an argument, in the order given */
    size_t given_count;
    const char **words; /* arguments that are not options */
    size_t word_count;
    size_t separator; /* how many words came before "--"; SIZE_MAX if it was not given */
};

extern const struct cli_verb *const cli_verbs[]; /* ends with NULL */

/* Runs VERB with the arguments after its name, which is argv[-1]. Returns the exit status. */
int cli_run(const struct cli_verb *verb, int argc, char **argv);

/* The option's last argument, or NULL when it was not given. NAME must be in the table. */
const char *cli_value(const struct cli_arguments *arguments, const char *name);

/* Argument INDEX of an option that may be given several times; NULL after the last. */
const char *cli_value_at(const struct cli_arguments *arguments, const char *name, size_t index);
bool cli_given(const struct cli_arguments *arguments, const char *name);

void cli_print_help(const struct cli_verb *verb, FILE *stream);
void cli_print_verbs(FILE *stream);
void cli_print_options(const struct cli_option *options, FILE *stream);

/* One line on stderr: "sextant: FILE: text". FILE may be NULL. Returns CLI_NO. */
int cli_fail(const char *file, const sxt_error *error);
/* What the user can do about a failure, for the end of the line; NULL when there is nothing. */
const char *cli_hint(sxt_reason reason);
int cli_fail_text(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_warn(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A problem of the file at PATH, with its hint; for the `warning` of options. DATA is not used. */
void cli_show_warning(void *data, const char *path, const sxt_error *problem);
void cli_note(const char *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Is the value of OPTION a file to write binary data to? Not if it is standard output and that is a terminal. FLAG is
 * how the user gives the option: "-o", "--pprof".
 */
int cli_check_binary(const struct cli_arguments *arguments, const char *option, const char *flag);

/* Parts of a summary on stderr. A file's name may hold anything: control bytes are printed as \xNN. */
void cli_print_name(const char *name);
/* A word of a command that the user may copy: in quotes if a shell needs them. */
void cli_print_word(const char *word);
/* "1 block", "2 blocks" */
void cli_print_count(uint64_t count, const char *noun);

/* "sextant: text; see 'sextant VERB --help'", without a VERB when it is NULL. Returns CLI_USAGE. */
int cli_usage(const struct cli_verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Options that several verbs share; a verb puts them into its own table. */
#define CLI_OPTION_JSON                                                                                                \
    {                                                                                                                  \
        "json", 0, NULL, "print JSON, one object per line", NULL                                                       \
    }
#define CLI_OPTION_THREADS                                                                                             \
    {                                                                                                                  \
        "threads", 0, "N", "use at most N threads (default: SEXTANT_THREADS, or one\nper processor)", NULL             \
    }
#define CLI_OPTIONS_EXTRACT                                                                                            \
    {"debug", 0, "FILE", "also read symbols from this separate debug file", NULL},                                     \
        {"debug-dir", 0, "DIR", "search debug files below DIR instead of /usr/lib/debug", NULL},                       \
        {"no-debug-search", 0, NULL, "do not search for separate debug files", NULL},                                  \
        {"sources", 0, "LIST", "use only these sources: dwarf,go,symtab,dynsym", "dwarf go symtab dynsym"},            \
        {"zero-size", 0, "skip|extend",                                                                                \
         "functions of size 0 own no bytes (skip, the default)\nor reach to the next symbol (extend)", "skip extend"}, \
        {"mangled", 0, NULL, "keep names mangled; by default they are demangled", NULL}, CLI_OPTION_THREADS

/* Fills OPEN, and EXTRACT that it points to, from these. Warnings name FILE. Returns CLI_DONE or CLI_USAGE. */
int cli_open_options(const struct cli_arguments *arguments, const char *file, sxt_open_options *open,
                     sxt_extract_options *extract);

/* Fills *THREADS from --threads, or with 0 if it was not given. Returns CLI_DONE or CLI_USAGE. */
int cli_threads(const struct cli_arguments *arguments, unsigned *threads);

/* "0x401020" or "401020". False when TEXT is anything else. */
bool cli_parse_address(const char *text, uint64_t *address);

/* The part after the last dot of a file's name; "" when it has none. */
const char *cli_extension(const char *path);

/* Called by a verb before it fills tens of megabytes. */
void cli_expect_much_memory(bool of_many_files);

/* Called by a verb that runs for long: large blocks go back to the system as soon as they are freed. */
void cli_expect_long_run(void);

/* Ends a verb that printed results: a failed write is an error. */
int cli_finish(struct sxt_emit *emit, int status);

/*
 * Begins the summary of a verb that wrote OUTPUT, as a JSON record with "output" and "format". It is on standard
 * output, unless OUTPUT is.
 */
void cli_begin_summary(struct sxt_emit *emit, const char *output, const char *format);

#endif
