/* external_paths.h: the paths where other files with DWARF are searched. Private to this folder. */
#ifndef SXT_SOURCE_DWARF_EXTERNAL_PATHS_H
#define SXT_SOURCE_DWARF_EXTERNAL_PATHS_H

#include "base/arena.h"
#include "source/dwarf/private.h"

#define DWARF_PATHS_MAX 4

/* Paths, in the order in which they are tried. */
struct dwarf_paths {
    sxt_string list[DWARF_PATHS_MAX];
    size_t count;
};

/* Gets the paths of the package and the .dwo file of the skeleton whose root entry is ROOT; the package comes first. */
void sxt_dwarf_split_paths(const struct sxt_dwarf *dwarf, const struct dwarf_root *root, struct sxt_arena *arena,
                           struct dwarf_paths *paths);

/* Gets the paths of the alternate file, and its *NAME. There are none if the file names no alternate file. */
void sxt_dwarf_alternate_paths(const struct sxt_dwarf *dwarf, struct sxt_arena *arena, sxt_string *name,
                               struct dwarf_paths *paths);

/* Returns the path of the open file EXTERNAL: the first of PATHS with the same content. Absent if none has it. */
sxt_string sxt_dwarf_external_path(const struct dwarf_external *external, const struct dwarf_paths *paths,
                                   uint64_t inflate_limit);

#endif
