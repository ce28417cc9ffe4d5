/* problems.h: what a check of a file finds, one problem at a time. The type is public, in sextant/error.h. */
#ifndef SXT_BASE_PROBLEMS_H
#define SXT_BASE_PROBLEMS_H

#include <sextant/error.h>

struct sxt_problems {
    void (*found)(void *context, const sxt_problem *problem); /* NULL when only the count is of interest */
    void *context;
    uint64_t count;
};

/* Counts a problem and calls `found`. The text is cut after 240 bytes. */
void sxt_problems_add(struct sxt_problems *problems, uint64_t offset, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Calls `found` with a note: something that is worth knowing, but not wrong. It is not counted. */
void sxt_problems_add_note(struct sxt_problems *problems, uint64_t offset, const char *rule, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same as sxt_problems_add for the error of a reader. The offset is removed from its text, because it is reported
 * separately. */
void sxt_problems_add_error(struct sxt_problems *problems, const char *rule, const sxt_error *error);

#endif
