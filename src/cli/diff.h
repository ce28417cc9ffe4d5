/* diff.h: a diff that is to be printed. */
#ifndef SXT_CLI_DIFF_H
#define SXT_CLI_DIFF_H

#include "cli/sizes.h"

struct diff_section {
    sxt_string name;
    double before, after, change; /* proportional sizes */
    double stated_before, stated_after;
    uint64_t symbols; /* of either file; what has none is not shown */
    bool is_bss;
};

struct diff {
    const char *path;
    const struct cli_sizes *sizes;
    const struct sxt_size_query_subject *subject;
    const struct sxt_size_delta *delta;
    struct diff_section *sections;
    size_t section_count, capacity;
    struct sxt_strings names;     /* of sections */
    double before, after, change; /* without what is in memory only */
    uint64_t counts[4];           /* by status */
    uint64_t limit;               /* rows that are printed */
};

int cli_print_diff(struct sxt_emit *emit, enum cli_form form, const struct diff *diff);

#endif
