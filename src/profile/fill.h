/* fill.h: lines for the locations of a profile that was read. Private to this room. */
#ifndef SXT_PROFILE_FILL_H
#define SXT_PROFILE_FILL_H

#include "profile/modules.h"
#include "profile/otlp.h"
#include "profile/pprof.h"

/*
 * Looks all locations up and adds lines to them, from files and, if MODULES has one, a symbol service. With a SOURCE,
 * which is NULL otherwise, only that is asked. Adds to the counts of REPORT.
 */
int sxt_fill_lines(struct sxt_pprof *pprof, struct sxt_modules *modules, const struct sxt_otlp_source *source,
                   const sxt_profile_options *options, sxt_profile_report *report, sxt_error *error);

#endif
