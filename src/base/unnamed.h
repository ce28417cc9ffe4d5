/* unnamed.h: temporary files without a name, for data that is too large for memory. */
#ifndef SXT_BASE_UNNAMED_H
#define SXT_BASE_UNNAMED_H

#include "base/file.h"
#include "base/output.h"

/* An output in $TMPDIR, or in /tmp, that has no name. */
int sxt_unnamed_open(struct sxt_output *output, sxt_error *error);

/* What was written to it, as a file; the output is closed, also when it fails. */
int sxt_unnamed_read(struct sxt_output *output, struct sxt_file *file, sxt_error *error);

#endif
