/* size_input.h: what the verbs for sizes share: opening files, running queries, printing rows. */
#ifndef SXT_CLI_SIZE_INPUT_H
#define SXT_CLI_SIZE_INPUT_H

#include "cli/numbers.h"
#include "cli/terminal.h"

/* The sizes of one build, or a diff. */
struct cli_size_input {
    const char *path;              /* of the file, or of the later one */
    sxt_size_info *info;           /* NULL for a diff */
    sxt_size_diff *diff;           /* NULL for the sizes of one build */
    sxt_size_info *before, *after; /* of a diff of two files */
    size_t width;                  /* of the terminal, to which names in tables are cut; 0: they are not */
};

#define CLI_OPTION_MAX_SIZE                                                                                            \
    {                                                                                                                  \
        "max-size", 0, "SIZE", "the most that a compressed file may expand to (default 4G)", NULL                      \
    }

#define CLI_OPTION_NO_MAP                                                                                              \
    {                                                                                                                  \
        "no-map", 0, NULL, "do not look for a linker map beside a binary", NULL                                        \
    }

/* Says which linker map was found beside a binary, and whether it is used. DATA is not used. */
void cli_note_map(void *data, const char *path, const char *text);

/* These print what is wrong and return the exit status. Call cli_size_close also after a failure. */
int cli_size_open(const struct cli_arguments *arguments, const char *path, struct cli_size_input *out);
int cli_size_open_two(const struct cli_arguments *arguments, const char *before, const char *after,
                      const sxt_size_diff_options *options, struct cli_size_input *out);
void cli_size_close(struct cli_size_input *input);

/* The number in --max-size, 0 without it. */
int cli_max_size(const struct cli_arguments *arguments, uint64_t *out);

/* --deflate stock|fast. */
int cli_deflate_option(const struct cli_arguments *arguments, sxt_size_write_options *out);

/* Checks a query that the user gave. */
int cli_check_query(const char *text);

/* Runs a query. */
int cli_run_query(const struct cli_size_input *input, const char *text, sxt_size_result **out);

/* Symbol INDEX of the input, which must exist. */
void cli_size_symbol(const struct cli_size_input *input, size_t index, sxt_size_symbol *out);

/* How rows are printed. */
struct cli_row_options {
    enum cli_form form;
    double whole;          /* what percentages are of; 0: the sum of the rows */
    bool with_disassembly; /* of rows that are symbols, if it is stored */
};

void cli_print_rows(struct sxt_emit *emit, const struct cli_row_options *options, const struct cli_size_input *input,
                    const sxt_size_result *result);

/* For each package of the file: what its entries take, stored and expanded. Prints nothing if there is none. */
int cli_print_packages(struct sxt_emit *emit, const struct cli_size_input *input, uint64_t limit);

/* What inlined functions take in the binary at PATH: at most LIMIT functions. */
int cli_print_inlined(const struct cli_arguments *arguments, struct sxt_emit *emit, const char *path, uint64_t limit);

/* The disassembly that is stored with symbol INDEX of the input; absent if there is none. */
sxt_string cli_size_stored_disassembly(const struct cli_size_input *input, size_t index);

#endif
