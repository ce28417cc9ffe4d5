/* extract.h: the model of an ELF file that is open already. The public ways in are in sextant/symbols.h. */
#ifndef SXT_SOURCE_EXTRACT_H
#define SXT_SOURCE_EXTRACT_H

#include <sextant/symbols.h>

#include "base/file.h"

/* The defaults in *OUT, with what GIVEN (may be NULL) has over them; see base/options.h. */
int sxt_extract_options_take(sxt_extract_options *out, const sxt_extract_options *given, sxt_error *error);

/* FILE holds the (inflated) ELF file, read from PATH (NULL when unknown). OPTIONS are complete. */
int sxt_extract(const struct sxt_file *file, const char *path, const sxt_extract_options *options, sxt_symbols **out,
                sxt_error *error);

struct sxt_elf;

/* The same for a file that is taken apart already, with the bounds that it was opened with. */
int sxt_extract_elf(struct sxt_elf *elf, const char *path, const sxt_extract_options *options, sxt_symbols **out,
                    sxt_error *error);

#endif
