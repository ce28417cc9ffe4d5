/*
 * gnu.h: an ELF file as GNU addr2line (binutils 2.40) looks at it. A policy of its own beside the model: other names,
 * other paths, and other choices where debug information is ambiguous.
 *
 * An address is looked up in every allocated section that has it, until one answers. Debug information tells the
 * function, the file and the line; a symbol tells the function where it does not, or where its name is not the one that
 * the linker knows. A separate debug file is asked when the file itself has no debug information. Answers may depend on
 * what was asked before, as they do there. One thread at a time.
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

/* Strings live as long as the sxt_gnu. */
struct sxt_gnu_frame {
    sxt_string function; /* absent when unknown */
    sxt_string file;     /* absent when unknown */
    uint32_t line;       /* 0 when unknown */
    uint32_t discriminator;
};

/*
 * FILE is an ELF file, read from PATH; it must stay open as long as *OUT. With SECTION, addresses are offsets in that
 * section; SXT_ERROR_NOT_FOUND when there is none of that name.
 */
int sxt_gnu_open(const struct sxt_file *file, const char *path, const char *section, struct sxt_gnu **out,
                 sxt_error *error);
void sxt_gnu_close(struct sxt_gnu **gnu);

/* Has the file addresses of 32 bits? */
bool sxt_gnu_is_narrow(const struct sxt_gnu *gnu);

/* The address of the symbol called NAME, as linked or demangled; false when there is none. */
bool sxt_gnu_symbol(struct sxt_gnu *gnu, sxt_string name, enum sxt_gnu_style style, bool no_limit, uint64_t *address);

/* Reads what the addresses need, all at once and on several threads. */
int sxt_gnu_load(struct sxt_gnu *gnu, const uint64_t *addresses, size_t count, sxt_error *error);

/* The innermost frame at ADDRESS; false when nothing is known. */
bool sxt_gnu_find(struct sxt_gnu *gnu, uint64_t address, struct sxt_gnu_frame *frame);

/* From the frame that was given last to the one it was inlined into; false when it is the outermost. */
bool sxt_gnu_caller(struct sxt_gnu *gnu, struct sxt_gnu_frame *frame);

#endif
