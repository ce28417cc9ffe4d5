/*
 * text_address.h: turns what a line of text says about an address into a virtual address of a module.
 *
 * A line of `perf script` does not say whether its address is one of the process or an offset in the file; versions of
 * perf differ. A symbol decides: pages are mapped as they are in the file, so the symbol's address and the address in
 * the line have the same lowest twelve bits. Without a symbol, the first of these decides: a mapping that perf printed
 * (--show-mmap-events), an offset in the code of the file, an address of a file that is loaded where it is linked.
 */
#ifndef SXT_PROFILE_TEXT_ADDRESS_H
#define SXT_PROFILE_TEXT_ADDRESS_H

#include "profile/modules.h"
#include "profile/text_patterns.h"

struct sxt_text_addresses;

int sxt_text_addresses_open(struct sxt_modules *modules, struct sxt_text_addresses **out, sxt_error *error);
void sxt_text_addresses_close(struct sxt_text_addresses **addresses);

/* Adds a mapping that the text contains. */
void sxt_text_addresses_add_mapping(struct sxt_text_addresses *addresses, sxt_string name, uint64_t start,
                                    uint64_t size, uint64_t offset);

/* Reads what a line says about where the kernel was loaded. */
void sxt_text_addresses_note_kernel(struct sxt_text_addresses *addresses, const char *line, size_t size);

/* Whether a later line may say where the kernel was loaded, which decides what this match means. */
bool sxt_text_address_may_change(struct sxt_text_addresses *addresses, const struct sxt_text_match *match);

/*
 * The archive and the virtual address that MATCH means; NULL if unknown. IS_RETURN: it is the address that a call
 * returns to, so the one before it is looked up. The archive is open until the next call.
 */
const sxt_archive *sxt_text_address(struct sxt_text_addresses *addresses, const struct sxt_text_match *match,
                                    bool is_return, uint64_t *address);

#endif
