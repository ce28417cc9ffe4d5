/*
 * explain.h: what stands behind the answers of an ELF file, for people who want to know: the files that they are read
 * from, and what DWARF says of one address and where it says so.
 */
#ifndef SXT_SOURCE_EXPLAIN_H
#define SXT_SOURCE_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "source/debug_file.h"
#include "source/elf.h"

struct sxt_dwarf;

/* The files beside a binary that an extraction with all sources reads. */
struct sxt_origins {
    struct sxt_debug_file debug;
    struct sxt_dwarf *dwarf; /* NULL when there is none */
    const char *dwarf_path;  /* of the file that has it */
    sxt_error dwarf_problem; /* why it cannot be read; code SXT_OK: it can, or there is none */
};

/* ELF was read from PATH. All that is given, strings too, must outlive *OUT. On failure *OUT is empty. */
int sxt_origins_open(struct sxt_elf *elf, const char *path, const sxt_extract_options *options, struct sxt_origins *out,
                     sxt_error *error);
void sxt_origins_close(struct sxt_origins *origins);

/* One step from an entry towards the one that tells its name. */
struct sxt_dwarf_hop {
    uint64_t entry;     /* where it leads */
    bool specification; /* otherwise: abstract origin */
    bool alternate;     /* the entry is in the alternate file */
};

/* A frame of the chain at an address, and the entry that it comes from. */
struct sxt_dwarf_frame {
    sxt_string name;                  /* as linked */
    uint64_t entry;                   /* offset in the section */
    uint64_t start, end;              /* of its ranges the one that covers the address; 0 and 0 when none does */
    const struct sxt_dwarf_hop *hops; /* to the entry that has the name; none when it is this one */
    size_t hop_count;
    bool inlined;
    bool linkage;   /* the name is a linkage name... */
    bool qualified; /* ...otherwise a plain one, here with namespaces and classes before it */
};

/* What DWARF says of an address, and where. Strings are in the arena that was given, or live as long as the file. */
struct sxt_dwarf_explanation {
    bool has_unit; /* the one with the function; where there is none, the first whose root entry has the address */
    uint64_t unit; /* its offset in the section */
    sxt_string unit_name;
    sxt_string file; /* that has its entries; absent when the path is not known */
    const char *section;
    uint64_t damaged_at; /* where in the section the unit makes no sense any more; UINT64_MAX: nowhere */

    struct sxt_dwarf_frame *frames; /* innermost first */
    size_t frame_count;
    bool has_nameless; /* a function has the address, but no name was found for it */
    uint64_t nameless; /* its entry */

    bool has_lines; /* the unit has a line table */
    uint64_t lines; /* its offset in .debug_line */
    bool has_row;   /* and the table has a row for the address */
    uint64_t row;   /* where that begins */
    sxt_string row_file;
    uint32_t row_line, row_column;

    sxt_string missing_split;     /* the .dwo file that would tell more; absent: none is missing */
    sxt_string missing_alternate; /* the same for the alternate file */
    sxt_string alternate;         /* the path of the one that is used */
    const sxt_string *tried;      /* where the missing ones were looked for */
    size_t tried_count;
};

/* A function near an address. */
struct sxt_dwarf_near {
    sxt_string name; /* absent when there is none */
    uint64_t start, end;
};

/* The chain at ADDRESS by the rules by which sxt_dwarf_read makes ranges. Fails only when memory is short. */
int sxt_dwarf_explain(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                      struct sxt_dwarf_explanation *out, sxt_error *error);

/* The last function before ADDRESS and the first one behind it, as far as the units around it have them. */
int sxt_dwarf_around(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena, struct sxt_dwarf_near *before,
                     struct sxt_dwarf_near *after, sxt_error *error);

#endif
