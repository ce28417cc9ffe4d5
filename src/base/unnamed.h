/* unnamed.h: temporary files without a name, for data that is too large for memory. They vanish when closed. */
#ifndef SXT_BASE_UNNAMED_H
#define SXT_BASE_UNNAMED_H

#include "base/file.h"
#include "base/output.h"

/* Opens an output without a name, in $TMPDIR or in /tmp. */
int sxt_unnamed_open(struct sxt_output *output, sxt_error *error);

/* Opens what was written for reading. The output is closed, also on failure. */
int sxt_unnamed_read(struct sxt_output *output, struct sxt_file *file, sxt_error *error);

#endif
