/* evidence_places.h: where the other files of DWARF are looked for, and which of them was it. Private to this folder.
 */
#ifndef SXT_SOURCE_DWARF_EVIDENCE_PLACES_H
#define SXT_SOURCE_DWARF_EVIDENCE_PLACES_H

#include "base/arena.h"
#include "source/dwarf/private.h"

#define DWARF_PLACES_MAX 4

/* Paths, in the order in which they are tried. */
struct dwarf_places {
    sxt_string paths[DWARF_PLACES_MAX];
    size_t count;
};

/* Of the package and the .dwo of the skeleton whose root entry is ROOT; the package comes first. */
void sxt_dwarf_places_of_split(const struct sxt_dwarf *dwarf, const struct dwarf_root *root, struct sxt_arena *arena,
                               struct dwarf_places *places);

/* Of the alternate file, whose *NAME is set; there are none when no such file is named. */
void sxt_dwarf_places_of_alternate(const struct sxt_dwarf *dwarf, struct sxt_arena *arena, sxt_string *name,
                                   struct dwarf_places *places);

/* The path, among PLACES, of the file that is open as EXTRA: the first with the same content. Absent: none has. */
sxt_string sxt_dwarf_place_of(const struct dwarf_extra *extra, const struct dwarf_places *places,
                              uint64_t inflate_limit);

#endif
