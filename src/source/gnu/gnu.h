/*
 * gnu.h: looks up addresses in an ELF file as GNU addr2line (binutils 2.40) does. It is separate from the model because
 * it has other names, other paths, and makes other choices where debug information is ambiguous.
 *
 * An address is looked up in every allocated section that contains it, until one gives an answer. Debug information
 * gives the function, the file and the line. A symbol gives the function if debug information does not, or if that has
 * no linkage name. If the file has no debug information, a separate debug file is used. As in GNU addr2line, an answer
 * may depend on earlier lookups. Only one thread at a time may use an sxt_gnu.
 */
#ifndef SXT_SOURCE_GNU_GNU_H
#define SXT_SOURCE_GNU_GNU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/file.h"
#include "demangle/demangle.h"

struct sxt_gnu;

/* Strings are valid as long as the sxt_gnu. */
struct sxt_gnu_frame {
    sxt_string function; /* absent if unknown */
    sxt_string file;     /* absent if unknown */
    uint32_t line;       /* 0 if unknown */
    uint32_t discriminator;
};

/*
 * FILE is an ELF file, read from PATH; it must stay open as long as *OUT. If SECTION is not NULL, addresses are offsets
 * in that section; fails with SXT_ERROR_NOT_FOUND if the file has no section with that name. THREADS is as in
 * sxt_extract_options.
 */
int sxt_gnu_open(const struct sxt_file *file, const char *path, const char *section, unsigned threads,
                 struct sxt_gnu **out, sxt_error *error);
void sxt_gnu_close(struct sxt_gnu **gnu);

/* Says whether the file has 32-bit addresses. */
bool sxt_gnu_is_narrow(const struct sxt_gnu *gnu);

/* Gets the address of the symbol named NAME, as linked or demangled. Returns false if there is none. */
bool sxt_gnu_symbol(struct sxt_gnu *gnu, sxt_string name, enum sxt_gnu_style style, bool no_limit, uint64_t *address);

/* Reads the debug information that the addresses need, all at once and on several threads. */
int sxt_gnu_load(struct sxt_gnu *gnu, const uint64_t *addresses, size_t count, sxt_error *error);

/* Gets the innermost frame at ADDRESS. Returns false if nothing is known. */
bool sxt_gnu_find(struct sxt_gnu *gnu, uint64_t address, struct sxt_gnu_frame *frame);

/* Replaces the last frame by the one it was inlined into. Returns false if it was the outermost. */
bool sxt_gnu_caller(struct sxt_gnu *gnu, struct sxt_gnu_frame *frame);

#endif
