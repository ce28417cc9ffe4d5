/* heap_live_rows.h: the rows of a table of `heap --live`. */
#ifndef SXT_CLI_HEAP_LIVE_ROWS_H
#define SXT_CLI_HEAP_LIVE_ROWS_H

#include "cli/heap_live.h"

#define CLI_LIVE_COURSE_MOST 1024

/* What is a row. */
struct cli_live_row {
    uint64_t key; /* rows with the same key are one */
    sxt_watch_site sums;
    int64_t growth; /* since the mark */
    const sxt_trace *names;
    uint32_t stack; /* of the names */
    char label[64]; /* of a thread */
};

struct cli_live_rows {
    struct cli_live_row *list;
    size_t count;
    sxt_watch_figures figures; /* of the moment when they were read */
    sxt_watch_point course[CLI_LIVE_COURSE_MOST];
    size_t course_count;
    char marker[64]; /* the last that the program has set */
};

struct cli_live_mark {
    sxt_watch_site *sites; /* by process and stack */
    size_t site_count;
    sxt_watch_thread *threads;
    size_t thread_count;
    uint64_t time_us, live_bytes, live_blocks;
};

#endif
