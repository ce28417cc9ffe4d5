/* finish_names.h: names for the addresses of a recording. */
#ifndef SXT_TRACE_FINISH_NAMES_H
#define SXT_TRACE_FINISH_NAMES_H

#include "base/buffer.h"
#include "base/strings.h"
#include "mlyze/spool.h"
#include "trace/trace.h"

/* The metadata of a trace. */
struct sxt_spool_metadata {
    struct sxt_mlyze_metadata tables;
    struct sxt_buffer rest; /* JSON, with "{}" for the tables */
    struct sxt_strings files, functions;
    uint32_t *markers; /* by number of a marker: the id of its name among the functions */
};

int sxt_spool_names(const struct sxt_spool_facts *facts, const sxt_trace_write_options *options,
                    struct sxt_spool_metadata *out, sxt_error *error);
void sxt_spool_metadata_free(struct sxt_spool_metadata *metadata);

#endif
