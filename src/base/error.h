/* error.h: filling an sxt_error. The type itself is public, in sextant/error.h. */
#ifndef SXT_BASE_ERROR_H
#define SXT_BASE_ERROR_H

#include <sextant/error.h>

/*
 * Describes a failure and returns CODE, so that a caller can `return sxt_fail(...)`. ERROR may be NULL. When OFFSET is
 * not SXT_NO_OFFSET, " (offset 0x...)" is added to the text; a text that is too long is cut before it, at a UTF-8
 * boundary. Control characters in the formatted text are replaced by '?', so that it stays one line.
 */
int sxt_fail(sxt_error *error, sxt_status code, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Like sxt_fail, with a reason that a program can act on. */
int sxt_fail_reason(sxt_error *error, sxt_status code, sxt_reason reason, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Like sxt_fail with SXT_ERROR_IO (SXT_ERROR_MEMORY for ENOMEM), and ": strerror(errno_value)" after the text. */
int sxt_fail_errno(sxt_error *error, int errno_value, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* sxt_fail for an allocation of SIZE bytes that did not succeed. */
int sxt_fail_memory(sxt_error *error, uint64_t size);

/* Sets *ERROR to "nothing failed". ERROR may be NULL. */
void sxt_error_clear(sxt_error *error);

#endif
