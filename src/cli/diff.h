/* diff.h: a diff that is to be printed. */
#ifndef SXT_CLI_DIFF_H
#define SXT_CLI_DIFF_H

#include "cli/size_input.h"

struct diff {
    const struct cli_size_input *input;
    sxt_size_section_changes *sections;
    sxt_size_section_change total;
    sxt_size_disassembly *disassembly; /* NULL when it is not asked for */
    uint64_t limit;                    /* rows that are printed */
};

int cli_print_diff(struct sxt_emit *emit, enum cli_form form, const struct diff *diff);

#endif
