/* numbers.h: numbers and names in the output of verbs, and numbers in their options. */
#ifndef SXT_CLI_NUMBERS_H
#define SXT_CLI_NUMBERS_H

#include "cli/cli.h"

enum cli_form { CLI_TABLE, CLI_JSON, CLI_CSV, CLI_MARKDOWN };

/* A number as text: "12,345". */
struct cli_number {
    char text[32];
};
struct cli_number cli_thousands(double value);
struct cli_number cli_change(double value);               /* "+12,345" */
struct cli_number cli_bytes(double value);                /* "1.2 MB"; kB is 1000 */
struct cli_number cli_percent(double part, double whole); /* "12.3 %", "" of nothing */

/* JSON numbers that emit.h has no function for; nothing in text. */
void cli_emit_signed(struct sxt_emit *emit, const char *key, int64_t value);
void cli_emit_real(struct sxt_emit *emit, const char *key, double value);
void cli_emit_text_number(struct sxt_emit *emit, sxt_string key, double value); /* a key that has to be escaped */

/* A field of a line of CSV, and the character after it. */
void cli_csv_text(struct sxt_emit *emit, sxt_string value, char after);
void cli_csv_number(struct sxt_emit *emit, double value, char after);

/* A name as code in a cell of a Markdown table. */
void cli_markdown_code(struct sxt_emit *emit, sxt_string name);

/* A name as it may be shown in a line of text, with spaces up to WIDTH. */
void cli_print_padded(struct sxt_emit *emit, sxt_string name, size_t width);

/* The number that an option was given, or OTHERWISE. */
int cli_count_option(const struct cli_arguments *arguments, const char *name, uint64_t otherwise, uint64_t *out);

/* The time that an option was given, such as 12h or 90d, in seconds; 0 if it was not given. */
int cli_time_option(const struct cli_arguments *arguments, const char *name, uint64_t *out);

#endif
