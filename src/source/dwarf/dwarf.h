/*
 * dwarf.h: functions, inlined calls, files and lines from DWARF 2 to 5, into the model.
 *
 * Units are read by several threads, each with memory of its own, and put into the model in the order of the file, so
 * that the same file always gives the same model. A unit that is damaged costs what is behind the damage.
 */
#ifndef SXT_SOURCE_DWARF_DWARF_H
#define SXT_SOURCE_DWARF_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/elf/elf.h"
#include "symbols/symbols.h"

struct sxt_dwarf;

struct sxt_dwarf_settings {
    const char *path; /* of the file with the debug sections; NULL when unknown: then no other file is looked for */
    const sxt_extract_options *options;
    bool details; /* columns and discriminators, and an entry for each change of them */
    bool gnu;     /* names and paths as GNU addr2line gives them */
};

/* Does the file have DWARF? */
bool sxt_dwarf_is_in(const struct sxt_elf *elf);

/* ELF, SETTINGS and what they point to must outlive *OUT. */
int sxt_dwarf_open(struct sxt_elf *elf, const struct sxt_dwarf_settings *settings, struct sxt_dwarf **out,
                   sxt_error *error);
void sxt_dwarf_close(struct sxt_dwarf **dwarf);

/* How many units there are. */
size_t sxt_dwarf_unit_count(const struct sxt_dwarf *dwarf);

/*
 * Notes in WANTED, which has a place for each unit, those that may have code at one of the COUNT addresses. The first
 * call looks at the root entries of all units. Units that do not say which code they have are always wanted.
 */
int sxt_dwarf_choose(struct sxt_dwarf *dwarf, const uint64_t *addresses, size_t count, bool *wanted, sxt_error *error);

/*
 * Adds what is in the units that are WANTED (NULL: in all) to SYMBOLS, and counts units there. What is wrong with
 * single units goes to the options' warning function. Fails only when memory is short.
 */
int sxt_dwarf_read(struct sxt_dwarf *dwarf, const bool *wanted, struct sxt_symbols *symbols, sxt_error *error);

/*
 * What GNU addr2line finds. It looks at a unit as a heap of functions and inlined calls, each with ranges of its own:
 * of those that have an address the one with the smallest range counts, and the frames around it are those around its
 * entry. The line comes from the line table alone. The first unit, in the order of the file, that has a function or a
 * line at the address answers. Units are read when an address first needs them, and kept. One thread at a time.
 */
struct sxt_gnu_dwarf;

/* DWARF must have been opened with the gnu setting and must outlive *OUT. */
int sxt_gnu_dwarf_open(struct sxt_dwarf *dwarf, struct sxt_gnu_dwarf **out, sxt_error *error);
void sxt_gnu_dwarf_close(struct sxt_gnu_dwarf **view);

/* Reads the units that the addresses need and that were not read yet, on several threads. */
int sxt_gnu_dwarf_load(struct sxt_gnu_dwarf *view, const uint64_t *addresses, size_t count, sxt_error *error);

/* A function or an inlined call. */
struct sxt_gnu_dwarf_function {
    struct gnu_unit *unit; /* NULL for none */
    uint32_t number;
};

struct sxt_gnu_dwarf_place {
    struct sxt_gnu_dwarf_function function;
    sxt_string file; /* absent when no line is known */
    uint32_t line;
    uint32_t discriminator;
};

/* False when nothing is known of ADDRESS, which must have been loaded. Strings live as long as NEAREST. */
bool sxt_gnu_dwarf_find(struct sxt_gnu_dwarf *view, uint64_t address, struct sxt_gnu_dwarf_place *place);

/*
 * The name of a function, absent when it has none. *IS_LINKAGE tells whether the linker knows it by that name; where it
 * does not, a symbol may tell the name that it does know, and set_name keeps it.
 */
sxt_string sxt_gnu_dwarf_name(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_function function, bool *is_linkage);
void sxt_gnu_dwarf_set_name(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_function function, sxt_string name);

/* Where it begins: its first range, with those that touch it. */
uint64_t sxt_gnu_dwarf_start(struct sxt_gnu_dwarf_function function);

/* From an inlined call to what it was inlined into; *PLACE gets that and where the call is. False at the outermost. */
bool sxt_gnu_dwarf_caller(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_place *place);

/*
 * Where the variable at ADDRESS is declared, if its name is part of SYMBOL. The first call looks through all units.
 * False when there is none.
 */
bool sxt_gnu_dwarf_variable(struct sxt_gnu_dwarf *view, uint64_t address, sxt_string symbol,
                            struct sxt_gnu_dwarf_place *place, sxt_error *error);

/* --- evidence.c: what DWARF says of one address, and where it says so --- */

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
