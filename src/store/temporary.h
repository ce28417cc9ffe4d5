/*
 * temporary.h: files that are being written, in a folder ".tmp" with mode 0600. Their writer holds a lock, so a sweep
 * does not remove what another process of this machine is still writing, however old it is.
 */
#ifndef SXT_STORE_TEMPORARY_H
#define SXT_STORE_TEMPORARY_H

#include "store/backend.h"

#define SXT_TEMPORARY_FOLDER ".tmp"

/* Makes a file below ROOT, whose path is PATH, and the folder if it is missing. Fills WRITING except its store. */
int sxt_temporary_make(int root, const char *path, struct sxt_store_writing *writing, sxt_error *error);

/* Removes the file, if it still has its name, and closes it. */
void sxt_temporary_remove(struct sxt_store_writing *writing);

/* Removes files that were changed last AGE_SECONDS ago or earlier, and adds their size to *BYTES. */
int sxt_temporary_sweep(int root, uint64_t age_seconds, uint64_t *bytes, sxt_error *error);

/* "cannot WHAT 'KEY': reason"; SXT_ERROR_LIMIT if the disk or the quota is full. KEY may be NULL. */
int sxt_store_fail_errno(sxt_error *error, int errno_value, const char *what, const char *key);

#endif
