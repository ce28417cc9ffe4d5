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

#include "source/elf.h"
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

#endif
