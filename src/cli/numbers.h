/* sizes.h: what the verbs over SuperSize's files share: opening them, and printing numbers, symbols and rows. */
#ifndef SXT_CLI_SIZES_H
#define SXT_CLI_SIZES_H

#include "base/byte_count.h"
#include "cli/cli.h"
#include "size/query.h"

/* One file with its symbols, or two (or a .sizediff, which holds two) with what changed between them. */
struct cli_sizes {
    const char *path; /* of the file, or of the later one */
    struct sxt_size_info *single;
    struct sxt_sizediff pair;
    struct sxt_size_delta delta;
    struct sxt_size_query_subject subject; /* of all that is above */
};

#define CLI_OPTION_MAX_SIZE                                                                                            \
    {                                                                                                                  \
        "max-size", 0, "SIZE", "the most that a compressed file may expand to (default 4G)", NULL                      \
    }

/* These print what is wrong and return the exit status; cli_sizes_close is right in any case. */
int cli_sizes_open(const struct cli_arguments *arguments, const char *path, struct cli_sizes *out);
int cli_sizes_open_two(const struct cli_arguments *arguments, const char *before, const char *after,
                       const struct sxt_size_delta_options *options, struct cli_sizes *out);
void cli_sizes_close(struct cli_sizes *sizes);

enum cli_form { CLI_TABLE, CLI_JSON, CLI_CSV, CLI_MARKDOWN };

/* "12,345", in a buffer of its own. */
struct cli_number {
    char text[32];
};
struct cli_number cli_thousands(double value);
struct cli_number cli_change(double value);               /* "+12,345" */
struct cli_number cli_bytes(double value);                /* "1.2 MB" */
struct cli_number cli_percent(double part, double whole); /* "12.3 %", "" of nothing */

/* JSON numbers that emit.h has no function for; nothing in text. */
void cli_emit_signed(struct sxt_emit *emit, const char *key, int64_t value);
void cli_emit_real(struct sxt_emit *emit, const char *key, double value);
void cli_emit_text_number(struct sxt_emit *emit, sxt_string key, double value); /* a key that has to be escaped */

/* A field of a line of CSV. */
void cli_csv_text(struct sxt_emit *emit, sxt_string value, char behind);
void cli_csv_number(struct sxt_emit *emit, double value, char behind);

/* A name as it may be shown in a line of text, with spaces up to WIDTH. */
void cli_print_padded(struct sxt_emit *emit, sxt_string name, size_t width);

/* The rows of a result, in the form that is asked for. WHOLE is what percentages are of; 0: of the rows. */
void cli_print_rows(struct sxt_emit *emit, enum cli_form form, const struct sxt_size_query_subject *subject,
                    const struct sxt_size_result *result, double whole);

/* What calls that were inlined take in the binary at PATH: at most LIMIT functions. */
int cli_print_inlined(struct sxt_emit *emit, const char *path, uint64_t limit);

/* Runs TEXT, which must be good, unless the user gave it. Returns CLI_DONE, or what it failed with. */
int cli_run_query(const struct cli_sizes *sizes, const char *text, struct sxt_size_result *out);

/* The number that an option was given, or OTHERWISE. */
int cli_count_option(const struct cli_arguments *arguments, const char *name, uint64_t otherwise, uint64_t *out);

#endif
