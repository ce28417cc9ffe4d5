/* answer.h: prints one answer of lookup. */
#ifndef SXT_CLI_ANSWER_H
#define SXT_CLI_ANSWER_H

#include "cli/cli.h"

struct cli_explanation;

struct cli_answer {
    sxt_string text;   /* the word that was given */
    bool is_address;   /* it is an address: */
    uint64_t asked;    /* this one */
    bool is_placed;    /* it belongs to an address of the file: */
    uint64_t address;  /* this one; otherwise it is an offset of the file */
    sxt_frame *frames; /* innermost first */
    size_t count;
    bool has_no_starts;         /* where the ranges of the frames begin is unknown */
    const sxt_archive *archive; /* the file that they come from; NULL for a process */
    const sxt_archive *blob;    /* the same if it is a ksym blob; NULL if it is not */
    const char *module;         /* of a process; NULL if there is none */
    uint64_t module_address;
    const char *problem;                       /* why the module cannot be read; NULL if it can */
    const struct cli_explanation *explanation; /* NULL without --explain */
};

/* Prints a record of EMIT. */
void cli_print_answer(struct sxt_emit *emit, const struct cli_answer *answer);

#endif
