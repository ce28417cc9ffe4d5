/* answer.h: one answer of lookup, as it is printed. */
#ifndef SXT_CLI_ANSWER_H
#define SXT_CLI_ANSWER_H

#include "archive/archive.h"
#include "cli/cli.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "trace/trace.h"

struct cli_answer {
    sxt_string text;   /* the question as it was put */
    bool is_address;   /* it is an address: */
    uint64_t asked;    /* this one */
    bool is_placed;    /* it means an address of the file: */
    uint64_t address;  /* this one; otherwise an offset of the file */
    sxt_frame *frames; /* innermost first */
    size_t count;
    const char *module; /* of a process; NULL when there is none */
    uint64_t module_address;
    const char *problem;                       /* why the module cannot be asked; NULL when it can */
    const struct sxt_explanation *explanation; /* NULL when it is not asked for */
};

/* Prints a record of EMIT. */
void cli_print_answer(struct sxt_emit *emit, const struct cli_answer *answer);

#endif
