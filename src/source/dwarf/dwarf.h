/*
 * dwarf.h: reads functions, inlined calls, files and lines from DWARF 2 to 5 into the model.
 *
 * Several threads read the units, each with its own memory. The results are added to the model in file order, so that
 * the same file always gives the same model. If a unit is damaged, everything after the damage in that unit is lost.
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
    const char *path; /* path of the file with the debug sections; NULL if unknown: then no other files are searched */
    const sxt_extract_options *options;
    bool details; /* columns and discriminators, with an entry for each change of them */
    bool gnu;     /* names and paths as in GNU addr2line */
    bool calls;   /* read which function each call calls */
};

/* Says whether the file has DWARF. */
bool sxt_dwarf_is_in(const struct sxt_elf *elf);

/* ELF, SETTINGS and everything they point to must outlive *OUT. */
int sxt_dwarf_open(struct sxt_elf *elf, const struct sxt_dwarf_settings *settings, struct sxt_dwarf **out,
                   sxt_error *error);
void sxt_dwarf_close(struct sxt_dwarf **dwarf);

/* Returns the number of units. */
size_t sxt_dwarf_unit_count(const struct sxt_dwarf *dwarf);

/*
 * Sets WANTED, which has an element for each unit, to whether the unit may have code at one of the COUNT addresses. The
 * first call reads the root entries of all units. A unit that does not say which code it has is always wanted.
 */
int sxt_dwarf_select_units(struct sxt_dwarf *dwarf, const uint64_t *addresses, size_t count, bool *wanted,
                           sxt_error *error);

/*
 * Adds the WANTED units (NULL: all) to SYMBOLS, and counts the units there. Problems of single units go to the warning
 * function of the options. Fails only if out of memory.
 */
int sxt_dwarf_read(struct sxt_dwarf *dwarf, const bool *wanted, struct sxt_symbols *symbols, sxt_error *error);

/*
 * --- gnu*.c: lookups as in GNU addr2line ---
 *
 * GNU addr2line treats a unit as a list of functions and inlined calls, each with its ranges. Of those that contain an
 * address, the one with the smallest range wins, and the frames around it follow the nesting of the entries. The line
 * comes from the line table alone. The first unit in file order that has a function or a line at the address gives the
 * answer. Units are read when an address first needs them, and kept. Only one thread at a time may use an
 * sxt_gnu_dwarf.
 */
struct sxt_gnu_dwarf;

/* DWARF must have been opened with the gnu setting, and must outlive *OUT. */
int sxt_gnu_dwarf_open(struct sxt_dwarf *dwarf, struct sxt_gnu_dwarf **out, sxt_error *error);
void sxt_gnu_dwarf_close(struct sxt_gnu_dwarf **view);

/* Reads the units that the addresses need and that were not read before, on several threads. */
int sxt_gnu_dwarf_load(struct sxt_gnu_dwarf *view, const uint64_t *addresses, size_t count, sxt_error *error);

/* A function or an inlined call. */
struct sxt_gnu_dwarf_function {
    struct gnu_unit *unit; /* NULL if there is none */
    uint32_t number;
};

struct sxt_gnu_dwarf_place {
    struct sxt_gnu_dwarf_function function;
    sxt_string file; /* absent if no line is known */
    uint32_t line;
    uint32_t discriminator;
};

/*
 * Looks up ADDRESS, which must have been loaded. Returns false if nothing is known. Strings are valid as long as VIEW.
 */
bool sxt_gnu_dwarf_find(struct sxt_gnu_dwarf *view, uint64_t address, struct sxt_gnu_dwarf_place *place);

/*
 * Returns the name of a function, absent if it has none. *IS_LINKAGE says whether this is the linkage name. If it is
 * not, a symbol may give the linkage name, and set_name stores it.
 */
sxt_string sxt_gnu_dwarf_name(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_function function, bool *is_linkage);
void sxt_gnu_dwarf_set_name(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_function function, sxt_string name);

/* Returns where a function begins: the start of its first range, including ranges that adjoin it. */
uint64_t sxt_gnu_dwarf_start(struct sxt_gnu_dwarf_function function);

/*
 * Replaces an inlined call in *PLACE by the function it was inlined into and the position of the call. Returns false
 * for the outermost function.
 */
bool sxt_gnu_dwarf_caller(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_place *place);

/*
 * Finds the declaration of the variable at ADDRESS if its name is contained in SYMBOL. The first call reads all units.
 * Returns false if there is none.
 */
bool sxt_gnu_dwarf_variable(struct sxt_gnu_dwarf *view, uint64_t address, sxt_string symbol,
                            struct sxt_gnu_dwarf_place *place, sxt_error *error);

/* --- explain.c: what DWARF says about one address, and where --- */

/* A reference from one entry to the next on the way to the entry with the name. */
struct sxt_dwarf_reference {
    uint64_t entry;     /* the target */
    bool specification; /* otherwise an abstract origin */
    bool alternate;     /* the target is in the alternate file */
};

/* A frame at an address, and the entry that it comes from. */
struct sxt_dwarf_frame {
    sxt_string name;     /* as linked */
    uint64_t entry;      /* offset in the section */
    uint64_t start, end; /* of its ranges, the one that contains the address; 0 and 0 if none does */
    const struct sxt_dwarf_reference *references; /* to the entry with the name; none if this entry has it */
    size_t reference_count;
    bool inlined;
    bool linkage;         /* the name is a linkage name, */
    bool qualified;       /* or a plain name, preceded by namespaces and classes */
    bool needs_alternate; /* the name is unknown because the alternate file is missing */
};

/* What DWARF says about an address, and where. Strings are in the caller's arena, or valid as long as the file. */
struct sxt_dwarf_explanation {
    bool has_unit; /* the unit with the function, otherwise the first whose root entry contains the address */
    uint64_t unit; /* its offset in the section */
    sxt_string unit_name;
    sxt_string file; /* the file with its entries; absent if the path is unknown */
    const char *section;
    uint64_t damaged_at; /* offset in the section where the unit is damaged; UINT64_MAX if it is not */

    struct sxt_dwarf_frame *frames; /* innermost first */
    size_t frame_count;
    bool has_nameless; /* the function (the outermost frame) has no name */
    uint64_t nameless; /* its entry */

    bool has_lines; /* the unit has a line table */
    uint64_t lines; /* its offset in .debug_line */
    bool has_row;   /* the table has a row for the address */
    uint64_t row;   /* start address of the row */
    sxt_string row_file;
    uint32_t row_line, row_column;

    sxt_string missing_split;     /* the .dwo file that would say more; absent if none is missing */
    sxt_string missing_alternate; /* the alternate file, if it is missing */
    sxt_string alternate;         /* the path of the alternate file in use */
    const sxt_string *tried;      /* the paths that were tried for missing files */
    size_t tried_count;
};

/* A function before or after an address. */
struct sxt_dwarf_nearby_function {
    sxt_string name; /* absent if there is none */
    uint64_t start, end;
};

/* Explains ADDRESS by the rules by which sxt_dwarf_read makes ranges. Fails only if out of memory. */
int sxt_dwarf_explain(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                      struct sxt_dwarf_explanation *out, sxt_error *error);

/* Finds the last function before ADDRESS and the first one after it, as far as the units around it contain them. */
int sxt_dwarf_find_nearby(struct sxt_dwarf *dwarf, uint64_t address, struct sxt_arena *arena,
                          struct sxt_dwarf_nearby_function *before, struct sxt_dwarf_nearby_function *after,
                          sxt_error *error);

#endif
