/* variables.h: variables with a fixed address. Private to this folder. */
#ifndef SXT_SOURCE_DWARF_VARIABLES_H
#define SXT_SOURCE_DWARF_VARIABLES_H

#include "source/dwarf/private.h"

/*
 * Gets the address if the location of FORM at AT consists of an address alone, otherwise returns false. INDEXED allows
 * an index in the table of addresses as well.
 */
bool sxt_dwarf_plain_address(const struct dwarf_context *context, uint16_t form, bool indexed, const uint8_t *at,
                             const uint8_t *end, uint64_t *address);

/* The same for the offset of a thread-local variable. */
bool sxt_dwarf_thread_local_offset(const struct dwarf_context *context, uint16_t form, const uint8_t *at,
                                   const uint8_t *end, uint64_t *offset);

/* Adds the variables of the unit that the worker has entered to its output. LINES may be NULL. */
void sxt_dwarf_walk_variables(struct dwarf_worker *worker, const struct dwarf_lines *lines);

#endif
