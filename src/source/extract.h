/* extract.h: makes the model of an ELF file that is already open. See sextant/symbols.h for the public functions. */
#ifndef SXT_SOURCE_EXTRACT_H
#define SXT_SOURCE_EXTRACT_H

#include <sextant/symbols.h>

#include "base/file.h"

/* Sets *OUT to the defaults, then copies the members that GIVEN (may be NULL) has; see base/options.h. */
int sxt_extract_options_take(sxt_extract_options *out, const sxt_extract_options *given, sxt_error *error);

/* FILE holds the (inflated) ELF file, read from PATH (NULL if unknown). All members of OPTIONS must be set. */
int sxt_extract(const struct sxt_file *file, const char *path, const sxt_extract_options *options, sxt_symbols **out,
                sxt_error *error);

struct sxt_elf;

/* The same for an ELF file that is already open; its own inflate limit applies. */
int sxt_extract_elf(struct sxt_elf *elf, const char *path, const sxt_extract_options *options, sxt_symbols **out,
                    sxt_error *error);

#endif
