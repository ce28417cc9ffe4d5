/*
 * resolve.h: from what a line of text says about an address to a virtual address of a module.
 *
 * Lines of `perf script` do not tell whether an address is one of the process or an offset in the file: perf changed
 * its mind. A symbol that fits settles it: in memory, pages stay what they are in the file, so the address of the
 * symbol and the address in the line have the same last twelve bits. Without a symbol it is a mapping that perf has
 * printed
 * (--show-mmap-events), then an offset in the code of the file, then an address of a file that is not moved.
 */
#ifndef SXT_PROFILE_RESOLVE_H
#define SXT_PROFILE_RESOLVE_H

#include "profile/match.h"
#include "profile/modules.h"

struct sxt_resolver;

int sxt_resolver_open(struct sxt_modules *modules, struct sxt_resolver **out, sxt_error *error);
void sxt_resolver_close(struct sxt_resolver **resolver);

/* A mapping that the text tells of. */
void sxt_resolver_add_mapping(struct sxt_resolver *resolver, sxt_string name, uint64_t start, uint64_t size,
                              uint64_t offset);

/*
 * The archive and the virtual address that MATCH means; NULL when it is not known. IS_RETURN: the address is one that
 * a call returns to, and the one before it is what is wanted. The archive is open until the next call.
 */
const sxt_archive *sxt_resolve(struct sxt_resolver *resolver, const struct sxt_match *match, bool is_return,
                               uint64_t *address);

#endif
