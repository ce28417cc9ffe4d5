/*
 * folded.h: functions that a linker folded into one. Private to this room.
 *
 * The address of folded code does not say which function was called, but the call may: DWARF describes the call, and
 * the address that it returns to is that of the next location in a sample.
 */
#ifndef SXT_PROFILE_FOLDED_H
#define SXT_PROFILE_FOLDED_H

#include <sextant/archive.h>

#include "profile/pprof.h"

/* A location whose function may be one of several. */
struct sxt_folded {
    uint32_t location;
    sxt_frame frame; /* the outermost */
};

/*
 * Looks at the callers of the COUNT locations, all of one file, and chooses the functions that they call. VIRTUAL_OF
 * has the virtual address that was looked up for each location, 0 for none; a return address was looked up minus one.
 */
int sxt_choose_folded(struct sxt_pprof *pprof, const sxt_archive *archive, const uint64_t *virtual_of,
                      const struct sxt_folded *folded, size_t count, bool mangled, sxt_error *error);

#endif
