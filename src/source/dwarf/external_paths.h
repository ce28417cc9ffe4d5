/* external_paths.h: the paths where other files with DWARF are searched. Private to this folder. */
#ifndef SXT_SOURCE_DWARF_EXTERNAL_PATHS_H
#define SXT_SOURCE_DWARF_EXTERNAL_PATHS_H

#include "base/arena.h"
#include "source/dwarf/private.h"

#define DWARF_PATHS_MAX 8
#define DWARF_ID_MAX    64

/* Paths, in the order in which they are tried. */
struct dwarf_paths {
    sxt_string list[DWARF_PATHS_MAX];
    size_t count;
};

/* Gets the paths of the package and the .dwo file of the skeleton whose root entry is ROOT; the package comes first. */
void sxt_dwarf_split_paths(const struct sxt_dwarf *dwarf, const struct dwarf_root *root, struct sxt_arena *arena,
                           struct dwarf_paths *paths);

/* The name of an alternate file, and its build ID. */
struct dwarf_link {
    sxt_string path; /* NUL-terminated */
    const uint8_t *id;
    size_t id_size;
};

/* Reads .gnu_debugaltlink or .debug_sup. Returns false if the file names no alternate file. */
bool sxt_dwarf_alternate_link(struct sxt_elf *elf, struct dwarf_link *link);

/*
 * Reads the ID of an alternate file: from .debug_sup (IS_SUPPLEMENTARY is its flag), where it follows the path of a
 * file that is not the alternate file itself.
 */
bool sxt_dwarf_supplementary(struct sxt_elf *elf, bool is_supplementary, struct dwarf_link *link);

/* Gets the paths of the alternate file. */
void sxt_dwarf_alternate_paths(const struct sxt_dwarf *dwarf, const struct dwarf_link *link, struct sxt_arena *arena,
                               struct dwarf_paths *paths);

/* Returns the path of the open file EXTERNAL: the first of PATHS with the same content. Absent if none has it. */
sxt_string sxt_dwarf_external_path(const struct dwarf_external *external, const struct dwarf_paths *paths,
                                   uint64_t inflate_limit);

#endif
