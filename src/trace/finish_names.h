/* finish_names.h: names for the addresses of a recording. */
#ifndef SXT_TRACE_FINISH_NAMES_H
#define SXT_TRACE_FINISH_NAMES_H

#include "base/buffer.h"
#include "mlyze/spool.h"
#include "trace/trace.h"

/*
 * The metadata of a trace, as JSON. *FUNCTIONS is how many there are; *MARKERS, to be freed, has the ids of the
 * markers' names among them.
 */
int sxt_spool_names(const struct sxt_spool_facts *facts, const sxt_trace_write_options *options,
                    struct sxt_buffer *json, uint64_t *functions, uint32_t **markers, sxt_error *error);

#endif
