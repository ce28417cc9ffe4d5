/* record_names.h: names for the addresses of a recording. */
#ifndef SXT_ARCHIVE_RECORD_NAMES_H
#define SXT_ARCHIVE_RECORD_NAMES_H

#include "archive/archive.h"
#include "base/buffer.h"
#include "mlyze/spool.h"

/* The metadata of a trace, as JSON. *FUNCTIONS is how many there are; *MARKERS, to be freed, has the ids of the
 * markers' names among them. */
int sxt_record_names(const struct sxt_spool_facts *facts, const struct sxt_recover_options *options,
                     struct sxt_buffer *json, uint64_t *functions, uint32_t **markers, sxt_error *error);

#endif
